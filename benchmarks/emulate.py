"""Emulation from registers against a float32 np.matmul of the same shapes: what a user would write instead, without the bits.

python benchmarks/emulate.py [--batch 4096]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from ptxlab import inputs, instruction

FORMS = (
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8",
)


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    batch = parser.parse_args().batch
    print(f"batch of {batch} MMAs\n{'emulate':>10} {'matmul':>10} {'ratio':>7}  instruction")
    for name in FORMS:
        ins = instruction(name)
        given = inputs.make(ins, "bits", batch)
        A = np.random.default_rng(0).random((batch, ins.m, ins.k), dtype=np.float32)
        B = np.random.default_rng(1).random((batch, ins.k, ins.n), dtype=np.float32)
        emulated = best(lambda ins=ins, given=given: ins.emulate(given.a, given.b, given.c, given.e))
        plain = best(lambda A=A, B=B: A @ B)
        print(f"{emulated * 1e3:8.1f}ms {plain * 1e3:8.1f}ms {emulated / plain:6.1f}x  {name}")


if __name__ == "__main__":
    main()
