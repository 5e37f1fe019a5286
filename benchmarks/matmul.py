"""A 512 x 512 x 512 product through tiles of one instruction, against np.matmul; memory of a million MMAs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab import Instruction
from ptxlab.instruction import mma_instruction
from ptxlab.numerics.fused_dispatch import backend

from .emulate import backends, by_turns

FORMS = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
)

MILLION = """
import resource, sys, time
import numpy as np, ptxlab
from ptxlab import inputs
ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
given = inputs.make(ins, "moderate", 1000)
many = np.empty((1_000_000, *given.b.shape[1:]), dtype=given.b.dtype)
for first in range(0, len(many), 1000):
    many[first : first + 1000] = given.b
start = time.perf_counter()
found = ins.emulate(given.a[0], many, given.c[0])
taken = time.perf_counter() - start
same = all((found[first : first + 1000] == found[:1000]).all() for first in range(0, len(many), 1000))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(peak, taken, found.nbytes + many.nbytes, same)
"""


def product(mnemonic: str, size: int = 512) -> dict[str, Any]:
    ins = mma_instruction(mnemonic)
    rng = np.random.default_rng(0)
    if ins.a.dtype.is_float:
        A, B = rng.normal(size=(2, size, size))
    else:
        A, B = rng.integers(-128, 128, (2, size, size))
    left, right = A.astype(np.float32), B.astype(np.float32)
    works: dict[str, Callable[[], object]] = {"matmul": lambda: left @ right}
    for name in backends():
        works[name] = partial(_multiply_with, name, A, B, ins)
    return {"instruction": mnemonic, "size": size, **by_turns(works, 3.0)}


def _multiply_with(name: str, A: NDArray[Any], B: NDArray[Any], ins: Instruction) -> None:
    with backend(name):
        ptxlab.matmul(A, B, instruction=ins, show=False)


def million() -> dict[str, Any]:
    """Peak memory of a fresh process that emulates a million MMAs, with its arrays."""
    done = subprocess.run([sys.executable, "-c", MILLION], check=True, capture_output=True, text=True)
    peak, seconds, arrays, same = done.stdout.split()
    if same != "True":
        raise AssertionError("parts of the batch differ")
    return {"peak MB": int(peak) / 1e6, "seconds": float(seconds), "arrays MB": int(arrays) / 1e6}


def measure(tell: Callable[[str], None] = print) -> dict[str, Any]:
    rows = []
    for mnemonic in FORMS:
        row = product(mnemonic)
        rows.append(row)
        times = [f"{name} {row[name]:.2f} s ({row[name] / row['matmul']:.0f}x)" for name in backends()]
        tell(f"  {'  '.join(times)}  512 x 512 x 512, {mnemonic}")
    start = time.perf_counter()
    memory = million()
    megabytes = f"peak {memory['peak MB']:.0f} MB, of which arrays {memory['arrays MB']:.0f} MB"
    tell(f"  a million MMAs: {memory['seconds']:.1f} s, {megabytes}")
    memory["with start"] = time.perf_counter() - start
    return {"products": rows, "million": memory}
