"""Measure what `ChipTiming` says of a chip on this machine's GPU: python -m tools.probe_units (half a minute)

Prints each figure beside the one in `ptxlab/simulator/timing/chip_timings.py`; those of barriers, bulk copies
and the first access are of a loop or a kernel with a few instructions more. `--stalls FILE` asks Nsight
Compute instead what warps wait for, launch by launch of `benchmarks.predict`, and keeps it in per cent.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from benchmarks import predict
from ptxlab.memory import tensor_map
from ptxlab.simulator.timing.chip_timings import CHIP_TIMINGS

CHIP = CHIP_TIMINGS["H200"]
CODE = r"""
#define TIMED(body)                 \
  long long start = clock64();      \
  body;                             \
  if (threadIdx.x == 0) out[0] = clock64() - start;
#define WAIT(bar, phase)                                                                            \
  asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W%=;}" \
               ::"r"(bar), "r"(phase) : "memory")
extern "C" __global__ void chase(long long* out, const unsigned long long* next, int count) {
  unsigned long long at = 0;
  TIMED(for (int i = 0; i < count; i++)
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(next + at)))
  out[1] = at;
}
extern "C" __global__ void chase_l1(long long* out, const unsigned long long* next, int count) {
  unsigned long long at = 0;
  TIMED(for (int i = 0; i < count; i++)
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(at) : "l"(next + at)))
  out[1] = at;
}
extern "C" __global__ void barriers(long long* out, int count) {
  TIMED(for (int i = 0; i < count; i++) __syncthreads())
}
extern "C" __global__ void mbarriers(long long* out, int count) {
  __shared__ unsigned long long bar;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
  TIMED(for (int i = 0; i < count; i++) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    WAIT(at, i & 1);
  })
}
extern "C" __global__ void bulk(long long* out, const unsigned* from, int count) {
  __shared__ __align__(128) unsigned to[32];
  __shared__ unsigned long long bar;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar), there = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at) : "memory");
  TIMED(for (int i = 0; i < count; i++) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                 ::"r"(there), "l"(from), "r"(at) : "memory");
    WAIT(at, i & 1);
  })
}
struct alignas(64) TensorMap { unsigned long long words[16]; };
extern "C" __global__ void boxes(long long* out, const __grid_constant__ TensorMap map, int rows, int count) {
  extern __shared__ __align__(1024) unsigned char tile[];
  unsigned from = (unsigned)__cvta_generic_to_shared(tile);
  TIMED(for (int i = 0; i < count; i++) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {0, %2}], [%0];"
                 ::"r"(from), "l"(&map), "r"(i * rows & 8191) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 3;" ::: "memory");
  } asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"))
}
extern "C" __global__ void loads(unsigned* out, const unsigned* from, int stride, int count, unsigned mask) {
  unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, sum = 0;
#pragma unroll 4
  for (int i = 0; i < count; i++) {
    unsigned word, at = ((warp * 131 + i * 7919) * 32 + lane) * stride & mask;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(from + at));
    sum += word;
  }
  if (sum == 12345) out[0] = sum;
}
extern "C" __global__ void stores(unsigned* out, const unsigned* from, int stride, int count, unsigned mask) {
  unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
#pragma unroll 4
  for (int i = 0; i < count; i++) out[((warp * 131 + i * 7919) * 32 + lane) * stride & mask] = i;
}
extern "C" __global__ void stream(unsigned* out, const uint4* from, long n) {
  unsigned sum = 0;
  long step = (long)gridDim.x * blockDim.x;
#pragma unroll 4
  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) sum += from[i].x;
  if (sum == 12345) out[0] = sum;
}
extern "C" __global__ void updates(unsigned* out, int count, unsigned mask) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < count; i++)
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(out + ((at + i * 977) & mask)) : "memory");
}
extern "C" __global__ void nothing(unsigned* out) {}
extern "C" __global__ void one_load(unsigned* out) { if (out[threadIdx.x] == 12345) out[0] = 1; }
"""


def figures() -> Iterator[tuple[str, float]]:
    """The figures of this machine's GPU, by their names in `ChipTiming`."""
    import torch

    def kernel(name: str) -> Any:
        return ptxlab.kernel(CODE, name)

    def zeros(words: int) -> Any:
        return torch.zeros(words, dtype=torch.int32, device="cuda")

    def cycles(
        name: str, threads: int, *arguments: Any, count: int, launches: int = 3, shared: int = 0
    ) -> float:
        out = torch.zeros(2, dtype=torch.int64, device="cuda")
        for _ in range(launches):
            kernel(name).launch(1, threads, out, *arguments, np.int32(count), shared=shared)
        torch.cuda.synchronize()
        return float(out[0].item()) / count

    def chain(megabytes: int, count: int) -> Any:
        places = np.random.default_rng(1).permutation(megabytes << 13)[: count + 1].astype(np.int64) * 16
        places[0] = 0
        words = torch.zeros(megabytes << 17, dtype=torch.int64, device="cuda")
        words[torch.tensor(places[:-1], device="cuda")] = torch.tensor(places[1:], device="cuda")
        return words

    def us(name: str, grid: int, block: int, *arguments: Any) -> float:
        launched = kernel(name)
        return 1e6 * predict.seconds_of(lambda: launched.launch(grid, block, *arguments))

    yield "l1_latency", cycles("chase_l1", 1, torch.zeros(64, dtype=torch.int64, device="cuda"), count=4096)
    yield "l2_latency", cycles("chase", 1, chain(8, 2048), count=2048)
    far = chain(4000, 2048)
    zeros(1 << 28).add_(1)  # L2 has something else
    yield "dram_latency", cycles("chase", 1, far, count=2048, launches=1)
    del far
    yield "barrier", cycles("barriers", 256, count=256)
    yield "mbarrier", cycles("mbarriers", 1, count=64)
    yield "bulk_latency", cycles("bulk", 1, zeros(64), count=64)
    tall = torch.zeros((8192, 128), dtype=torch.uint8, device="cuda")
    few, many = (
        cycles("boxes", 1, tensor_map(tall, (rows, 128)), np.int32(rows), count=64, shared=128 * rows)
        for rows in (64, 256)
    )
    yield "tma_store", (many - few) / (256 - 64) / 4  # sectors of a row
    data, out, mask, count = zeros(1 << 22), zeros(1 << 22), np.uint32((1 << 22) - 1), 256
    for name, rows in (("loads", ("load_sector", "load_line")), ("stores", ("store_sector", "store_line"))):
        spent = {}
        for stride in (1, 8, 32):
            for blocks in (1, CHIP.sms):
                time = us(name, blocks, 1024, out, data, np.int32(stride), np.int32(count), mask)
                spent[stride, blocks] = (time - 2) * CHIP.clock / (32 * count)  # of a warp's access
        all_sms = [spent[stride, CHIP.sms] for stride in (1, 8, 32)]
        if name == "stores":
            yield "full_store", all_sms[0] / 4
        else:
            yield "least", spent[8, 1] / spent[8, CHIP.sms]
        line = (all_sms[2] - all_sms[1]) / 24  # 32 sectors in 8 lines, and in 32
        yield from zip(rows, ((all_sms[1] - 8 * line) / 32, line), strict=True)
    words = 1 << 30
    time = us("stream", CHIP.sms * 4, 512, out, zeros(words), np.int64(words // 4))
    yield "dram_rate", 4 * words / time / CHIP.clock
    time = us("updates", 264, 256, out, np.int32(64), np.uint32(0))
    yield "atomic_word", time * CHIP.clock / (264 * 8 * 64 * 31)
    empty = us("nothing", CHIP.sms, 32, out)
    yield "launch", empty
    yield "first_access", us("one_load", CHIP.sms, 32, out) - empty
    yield "block_start", (us("nothing", CHIP.sms * 65, 32, out) - empty) * CHIP.clock / 64


def launches() -> None:
    """Every launch of `benchmarks.predict` once, for a profiler that listens."""
    import torch

    times = json.loads(predict.RECORDED.read_text())
    runtime = torch.cuda.cudart()
    for case in predict.cases():
        if case.ptx or case.name not in times or times[case.name] > 1000:
            continue
        launch = predict.on_gpu(case)
        for _ in range(2):
            launch()
        torch.cuda.synchronize()
        runtime.cudaProfilerStart()
        launch()
        torch.cuda.synchronize()
        runtime.cudaProfilerStop()
        print("launched", case.name, flush=True)


NAMES = {
    "imc miss": "IMC miss",
    "lg throttle": "LG throttle",
    "mio throttle": "MIO throttle",
    "no instructions": "no instruction",
    "warpgroup arrive": "wgmma",
}


def stalls() -> dict[str, dict[str, int]]:
    """What warps of each launch wait for, in per cent, from Nsight Compute."""
    command = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--section", "SourceCounters"]
    command += ["--csv", "--page", "raw", sys.executable, "-m", "tools.probe_units", "--launches"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("launched ")]
    rows = list(csv.DictReader(io.StringIO(text[text.index('"ID"') :])))[1:]
    result = {}
    for name, row in zip(names, rows, strict=True):
        counts = {}
        for key, value in row.items():
            reason = key.partition("pcsamp_warps_issue_stalled_")[2].replace("_", " ")
            if reason and "not issued" not in reason:
                counts[NAMES.get(reason, reason)] = float(value.replace(",", ""))
        total = sum(counts.values()) or 1
        largest = sorted(counts, key=lambda reason: -counts[reason])
        parts = {reason: round(100 * counts[reason] / total) for reason in largest}
        result[name] = {reason: part for reason, part in parts.items() if part > 2}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.probe_units", description=__doc__)
    parser.add_argument("--stalls", type=Path, metavar="FILE", help="what Nsight Compute says of each launch")
    parser.add_argument("--launches", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.launches:
        launches()
    elif args.stalls:
        args.stalls.write_text(json.dumps(stalls(), indent=1) + "\n")
    else:
        for name, value in figures():
            print(
                f"{name:14} {value:8.3g}   {CHIP.name}: {getattr(CHIP, name):g} ({CHIP.evidence(name)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
