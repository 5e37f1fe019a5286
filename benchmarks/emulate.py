"""Emulation from registers against a float32 np.matmul of the same shapes, what one would write instead.

Each form is measured with numba where it is installed and with NumPy alone, the first form also with a
simulator in plain Python. On a machine that others use, OPENBLAS_NUM_THREADS=1 PTXLAB_THREADS=1 compares
processor time of one thread each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from ptxlab import Instruction, inputs
from ptxlab.instruction import mma_instruction
from ptxlab.isa.operation import Operation
from ptxlab.numerics import Fused
from ptxlab.numerics.emulate import emulate, model_of
from ptxlab.numerics.fused_dispatch import backend

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


def by_turns(works: dict[str, Callable[[], object]], seconds: float = 2.0) -> dict[str, float]:
    """The median of each, in seconds, after a run that does not count.

    They take turns, so that whatever else the machine does slows all of them.
    """
    clock = time.process_time if os.environ.get("PTXLAB_THREADS") == "1" else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    begin = time.perf_counter()
    while len(next(iter(times.values()))) < 5 or time.perf_counter() - begin < seconds:
        for name, work in works.items():
            start = clock()
            work()
            times[name].append(clock() - start)
    return {name: median(taken) for name, taken in times.items()}


def backends() -> list[str]:
    return ["numba", "numpy"] if find_spec("numba") is not None else ["numpy"]


def form(mnemonic: str, batch: int) -> dict[str, Any]:
    """Milliseconds of the matmul, and of each backend on random bits and, for floats, on moderate values."""
    ins = mma_instruction(mnemonic)
    rng = np.random.default_rng(0)
    A = rng.random((batch, ins.m, ins.k), dtype=np.float32)
    B = rng.random((batch, ins.k, ins.n), dtype=np.float32)
    works: dict[str, Callable[[], object]] = {"matmul": lambda: A @ B}
    for category in ("bits", "moderate"):
        if category in inputs.categories(ins):
            operands = inputs.make(ins, category, batch)
            for name in backends():
                works[f"{name} {category}"] = partial(_emulate_with, name, operands)
    times = {name: 1e3 * taken for name, taken in by_turns(works).items()}
    return {"instruction": mnemonic, "products": ins.m * ins.n * ins.k, **times}


def _emulate_with(name: str, operands: Operation) -> None:
    with backend(name):
        emulate(operands)


def plain_python(ins: Instruction, count: int = 8) -> float:
    """MMAs a second of the scalar simulator; its results are checked on the way."""
    rule = model_of(ins).rule
    if not isinstance(rule, Fused):
        raise TypeError(f"{ins.mnemonic} is not a fused sum")
    operands = inputs.make(ins, "moderate", count)
    codes = [
        ins.a.unpack_codes(operands.a).tolist(),
        ins.b.unpack_codes(operands.b).tolist(),
        ins.c.unpack_codes(operands.c).tolist(),
    ]
    types, numbers = (ins.a_type, ins.b_type, ins.c_type), (rule.fraction_bits, rule.result_bits, rule.floor)

    def simulate() -> list[Any]:
        return [scalar.mma(a, b, c, types, *numbers) for a, b, c in zip(*codes, strict=True)]

    if not np.array_equal(simulate(), ins.d.unpack_codes(emulate(operands))):
        raise AssertionError("the scalar simulator and the emulator disagree")
    return count / by_turns({"plain Python": simulate})["plain Python"]


def measure(batch: int = 4096, tell: Callable[[str], None] = print) -> dict[str, Any]:
    tell(f"batch of {batch} MMAs; times a float32 matmul of the same batch")
    rows = []
    for mnemonic in FORMS:
        row = form(mnemonic, batch)
        rows.append(row)
        ratios = "  ".join(
            f"{key} {row[key] / row['matmul']:5.1f}x" for key in row if key.startswith(("numba", "numpy"))
        )
        tell(f"  {ratios}  {mnemonic}")
    python = plain_python(mma_instruction(FORMS[0]))
    fastest = batch / rows[0][f"{backends()[0]} moderate"] * 1e3
    tell(
        f"  {fastest / python:,.0f} times the MMAs per second of a simulator in plain Python "
        f"({fastest:,.0f} against {python:.1f})"
    )
    return {"batch": batch, "forms": rows, "plain Python, MMAs a second": python}
