"""python -m benchmarks.repack [REGISTERS] [--threads N]: plans on arrays, beside NumPy's copies.

For each plan: nanoseconds a register of the source, and how many times as long as a copy it takes. One that
only renames registers is a copy; the others read, convert, gather, and write. Plans run in as many
threads as there are cores, a copy in one. With --threads 1 one thread is compared with one, in time of the
processor, which other programs do not add to.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator

import numpy as np

import ptxlab
from ptxlab._util.threads import thread_count
from ptxlab.isa.repack import Repack

_ROUNDS = 40


def plans() -> Iterator[tuple[str, Repack]]:
    """What attention kernels and loads with ldmatrix need."""
    f16 = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    half = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    s8 = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    s4 = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    fp8 = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    fp4 = ptxlab.instruction(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
    )
    trans = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.trans.b16").operand("R")
    load = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.b16").operand("R")
    yield "ldmatrix -> A f16 (renames)", ptxlab.repack(load, f16.operand("A"))
    yield "D f16 -> A f16 (renames)", ptxlab.repack([half.operand("D")] * 2, f16.operand("A"))
    yield "D f16 -> B f16", ptxlab.repack(half.operand("D"), f16.operand("B"))
    yield "ldmatrix.trans -> B s8", ptxlab.repack(trans, [s8.operand("B")] * 2)
    yield "ldmatrix.trans -> B s4", ptxlab.repack([trans] * 2, [s4.operand("B")] * 4)
    yield "D f32 -> A f16", ptxlab.repack([f16.operand("D")] * 2, f16.operand("A"))
    yield "D f32 -> A e4m3 (wgmma)", ptxlab.repack(fp8.operand("D"), fp8.operand("A"))
    yield "D f32 -> A e2m1 (mxf4)", ptxlab.repack([f16.operand("D")] * 8, fp4.operand("A"))
    yield "D s32 -> A s8", ptxlab.repack([s8.operand("D")] * 4, s8.operand("A"))
    yield "D s32 -> A s4", ptxlab.repack([s4.operand("D")] * 8, s4.operand("A"))


def seconds(operation: Callable[[], object]) -> float:
    """The shortest of several rounds."""
    clock = time.thread_time if thread_count() == 1 else time.perf_counter
    times = []
    for _ in range(_ROUNDS):
        start = clock()
        operation()
        times.append(clock() - start)
    return min(times)


def measure(registers: int = 1_000_000) -> dict[str, tuple[float, float]]:
    """Nanoseconds a register, and the ratio to a copy, by plan."""
    rng = np.random.default_rng(0)
    results: dict[str, tuple[float, float]] = {}
    for name, plan in plans():
        width = sum(tile.registers for tile in plan.sources)
        count = max(registers // (plan.lanes * width), 1)
        values = rng.normal(0, 100, (count, plan.lanes, width)).astype(np.float32)
        source = values.view(np.uint32)
        if plan.sources[0].dtype.name == "s32":
            source = values.astype(np.int32).view(np.uint32)
        taken = seconds(lambda: plan(source))  # noqa: B023
        results[name] = taken / source.size * 1e9, taken / seconds(source.copy)
        print(f"{name:28} {results[name][0]:5.2f} ns, {results[name][1]:4.1f} copies", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("registers", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--threads", type=int, default=thread_count())
    arguments = parser.parse_args()
    os.environ["PTXLAB_THREADS"] = str(arguments.threads)
    measure(arguments.registers)
