"""Launches with figures of an H200: for test_timing.py, and for `tools.record.timing` on a GPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from benchmarks import predict
from ptxlab.simulator.kernel import Kernel
from tests.texts import replaced

RECORD = Path(__file__).parents[1] / "golden" / "h200_figures.json"


@dataclass(frozen=True)
class Launch:
    """A kernel, its launch, and its arguments, of which arrays are read or written."""

    kernel: Kernel
    grid: int
    block: int
    arguments: tuple[Any, ...]
    shared: int = 0

    def profile(self) -> Any:
        """Its predicted time."""
        return self.kernel.profile(self.grid, self.block, *self.arguments, shared=self.shared)


def figures(kind: str) -> dict[str, float]:
    """What `python -m tools.record timing` recorded, of one kind: "microseconds", for example."""
    record: dict[str, dict[str, float]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record[kind]


#: Kernels of `benchmarks/predict.py` whose instructions Nsight Compute counted.
COUNTED = ("copy of 64 MB, 4 bytes a thread", "atomics on 32 words", "ldmatrix, 132 x 128")
#: Kernels of tests/kernels that were timed, and what is special about them.
TIMED = {
    "local_array": "it has local memory",
    "layer_norm": "its module declares functions before it defines them",
    "calls": "it calls functions",
    "scan": "blocks wait for others",
    "ring": "st.async signals an mbarrier",
}

_COPIES = r"""extern "C" __global__ void copies(const char* from, unsigned* out, int apart, int rounds) {
  extern __shared__ char tile[];
  unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned to = (unsigned)__cvta_generic_to_shared(tile) + warp * 8192 + lane * apart;
  const char* row = from + (size_t)blockIdx.x * 131072 + warp * 16384 + lane * 16;
  for (int i = 0; i < rounds; i++) {
#pragma unroll
    for (int j = 0; j < 8; j++)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                   ::"r"(to ^ (j * 4)), "l"(row + (i & 1) * 8192 + j * 4));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 2;" ::: "memory");
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}"""
#: Two rows of banks for the lanes of each line that is read: the lanes of two lines do not share a bank.
TWO_ROWS = replaced(_COPIES, "lane * apart", "(lane & 7) * 128 + (lane >> 3) * 4")
#: Bytes between the words that neighbouring lanes of `copies` write.
APART = (32, 64, 128)
_COPIES_OF_A_ROUND = 8 * 8  # 8 of each of 8 warps


def copies(apart: int, rounds: int, source: str = _COPIES) -> Launch:
    """Each warp copies words from four lines, eight words each, to shared memory."""
    arguments = np.zeros(132 << 17, np.uint8), np.zeros(4, np.uint32), apart, rounds
    return Launch(ptxlab.kernel(source), 132, 256, arguments, shared=65536)


def cycles_of_a_copy(few: float, many: float, rounds: int) -> float:
    """Of a warp, from the cycles of two launches of `copies`, one with so many rounds more."""
    return (many - few) / (rounds * _COPIES_OF_A_ROUND)


_READS = """extern "C" __global__ void reads(const uint4* x, unsigned* out, int n) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::POLICY.b64 %0, 1.0;" : "=l"(policy));
  unsigned sum = 0;
  int all = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * all) {
#pragma unroll
    for (int j = 0; j < 4; j++)
      if (i + j * all < n) {
        uint4 v;
        asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(x + i + j * all), "l"(policy));
        sum += v.x ^ v.y ^ v.z ^ v.w;
      }
  }
  if (sum == 12345) *out = sum;
}"""
#: Policies of L2, the megabytes that are read with each, launch after launch, and whether DRAM has them.
READ = (("evict_first", 32, True), ("evict_last", 32, False), ("evict_last", 56, True))
#: Megabytes that a copy reads and writes together; the H200's L2 has 50.
COPIED = (32, 40, 56)


def reads(policy: str, megabytes: int) -> Launch:
    """Every thread reads 16 bytes at a time, with a policy for L2."""
    kernel = ptxlab.kernel(replaced(_READS, "POLICY", policy))
    arguments = np.zeros(megabytes << 18, np.uint32), np.zeros(1, np.uint32), megabytes << 16
    return Launch(kernel, 1056, 256, arguments)


def copy(megabytes: int) -> Launch:
    """A copy of half of that, 16 bytes a thread."""
    words = megabytes << 17  # of each array
    arguments = np.zeros(words, np.float32), np.zeros(words, np.float32), words // 4
    return Launch(ptxlab.kernel(predict.PROBES, "copy"), words // 1024, 256, arguments)
