"""A 512 x 512 x 512 product through tiles of one instruction, against np.matmul; and a million MMAs in little memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ptxlab
from ptxlab.numerics.compiled import backend

from .emulate import backends, best

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


def product(name: str, size: int = 512) -> dict[str, Any]:
    ins, rng = ptxlab.instruction(name), np.random.default_rng(0)
    draw = (
        (lambda: rng.normal(size=(size, size)))
        if ins.a.dtype.is_float
        else (lambda: rng.integers(-128, 128, (size, size)))
    )
    A, B = draw(), draw()
    left, right = A.astype(np.float32), B.astype(np.float32)
    row: dict[str, Any] = {"instruction": name, "size": size, "matmul": best(lambda: left @ right)}
    for with_ in backends():
        with backend(with_):
            row[with_] = best(lambda: ptxlab.matmul(A, B, instruction=ins, show=False), 1.0)
    return row


def million() -> dict[str, Any]:
    """Peak memory of a fresh process that emulates a million MMAs, with its arrays."""
    said = subprocess.run(
        [sys.executable, "-c", MILLION], check=True, capture_output=True, text=True
    ).stdout.split()
    if said[3] != "True":
        raise AssertionError("parts of the batch differ")
    return {"peak MB": int(said[0]) / 1e6, "seconds": float(said[1]), "arrays MB": int(said[2]) / 1e6}


def measure(tell: Callable[[str], None] = print) -> dict[str, Any]:
    rows = []
    for name in FORMS:
        row = product(name)
        rows.append(row)
        tell(
            "  "
            + "  ".join(
                f"{with_} {row[with_]:.2f} s ({row[with_] / row['matmul']:.0f}x)" for with_ in backends()
            )
            + f"  512 x 512 x 512, {name}"
        )
    start = time.perf_counter()
    memory = million()
    tell(
        f"  a million MMAs: {memory['seconds']:.1f} s, peak {memory['peak MB']:.0f} MB, of which arrays {memory['arrays MB']:.0f} MB"
    )
    memory["with start"] = time.perf_counter() - start
    return {"products": rows, "million": memory}
