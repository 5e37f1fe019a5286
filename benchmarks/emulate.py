"""Emulation from registers against a float32 np.matmul of the same shapes: what a user would write instead, without the bits.

Compiled by numba where it is installed, and by NumPy alone; and, for the first form, a simulator in plain Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from ptxlab import Instruction, instruction
from ptxlab.numerics import Fused
from ptxlab.numerics.compiled import backend
from ptxlab.numerics.emulate import model_of
from ptxlab.verify import inputs

from . import scalar

FORMS = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
)


def best(work: Callable[[], object], seconds: float = 0.5) -> float:
    """Seconds of the fastest of several runs, after one that does not count."""
    work()
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def backends() -> list[str]:
    return ["numba", "numpy"] if find_spec("numba") is not None else ["numpy"]


def form(name: str, batch: int) -> dict[str, Any]:
    """Milliseconds of the matmul and of every backend on random bits and on moderate values (integers: random bits alone)."""
    ins = instruction(name)
    rng = np.random.default_rng(0)
    A, B = (
        rng.random((batch, ins.m, ins.k), dtype=np.float32),
        rng.random((batch, ins.k, ins.n), dtype=np.float32),
    )
    row: dict[str, Any] = {
        "instruction": name,
        "products": ins.m * ins.n * ins.k,
        "matmul": 1e3 * best(lambda: A @ B),
    }
    for category in ("bits", "moderate"):
        if category in inputs.categories(ins):
            given = inputs.make(ins, category, batch)
            for with_ in backends():
                with backend(with_):
                    row[f"{with_} {category}"] = 1e3 * best(lambda g=given: ins.emulate(g.a, g.b, g.c, g.e))
    return row


def plain_python(ins: Instruction, count: int = 8) -> float:
    """MMAs a second of the scalar simulator; its results are checked on the way."""
    rule = model_of(ins).rule
    if not isinstance(rule, Fused):
        raise TypeError(f"{ins.mnemonic} is no fused sum")
    given = inputs.make(ins, "moderate", count)
    codes = [o.unpack_codes(x).tolist() for o, x in ((ins.a, given.a), (ins.b, given.b), (ins.c, given.c))]
    start = time.perf_counter()
    found = [
        scalar.mma(
            a, b, c, (ins.a_type, ins.b_type, ins.c_type), rule.fraction_bits, rule.result_bits, rule.floor
        )
        for a, b, c in zip(*codes, strict=True)
    ]
    taken = time.perf_counter() - start
    if not np.array_equal(found, ins.d.unpack_codes(ins.emulate(given.a, given.b, given.c))):
        raise AssertionError("the scalar simulator and the emulator disagree")
    return count / taken


def measure(batch: int = 4096, tell: Callable[[str], None] = print) -> dict[str, Any]:
    tell(f"batch of {batch} MMAs; times a float32 matmul of the same batch")
    rows = []
    for name in FORMS:
        row = form(name, batch)
        rows.append(row)
        ratios = "  ".join(
            f"{key} {row[key] / row['matmul']:5.1f}x" for key in row if key.startswith(("numba", "numpy"))
        )
        tell(f"  {ratios}  {name}")
    ins = instruction(FORMS[0])
    python = plain_python(ins)
    fastest = batch / rows[0][f"{backends()[0]} moderate"] * 1e3
    tell(
        f"  {fastest / python:,.0f} times the MMAs a second of a simulator in plain Python ({fastest:,.0f} against {python:.1f})"
    )
    return {"batch": batch, "forms": rows, "plain Python, MMAs a second": python}
