"""Rows of wgmma.mma_async and wgmma.mma_async.sp.

PTX ISA, "Asynchronous warpgroup-level matrix instructions".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal

from ..mma import MmaForm
from ..targets import SM_90A
from .mma import FP8, INT8, PLAIN_OR_SAT

N = tuple(range(8, 257, 8))
#: The manual's list for dense s8 ends at 224; the assembler takes 240 and 256, which the other integer forms
#: also have.
_N_INTEGER = (8, 16, 24, 32, *range(48, 257, 16))

#: type -> results, and k of the dense form; the sparse one is twice as deep.
_FLOATS = {"f16": (("f16", "f32"), 16), "bf16": (("f32",), 16), "tf32": (("f32",), 8)}


def _rows(family: Literal["wgmma", "wgmma.sp"], deep: int) -> Iterator[MmaForm]:
    for factor, (results, k) in _FLOATS.items():
        for n, d in product(N, results):
            yield MmaForm(family, 64, n, deep * k, d, factor, factor, d, SM_90A)
    for n, d, a, b in product(N, ("f16", "f32"), FP8, FP8):
        yield MmaForm(family, 64, n, deep * 32, d, a, b, d, SM_90A)
    for n, a, b, sat in product(_N_INTEGER, INT8, INT8, PLAIN_OR_SAT):
        yield MmaForm(family, 64, n, deep * 32, "s32", a, b, "s32", SM_90A, satfinite=sat)


def dense() -> Iterator[MmaForm]:
    """Every form of wgmma.mma_async.

    >>> sum(1 for _ in dense())
    546
    """
    yield from _rows("wgmma", 1)
    for n in _N_INTEGER:
        yield MmaForm("wgmma", 64, n, 256, "s32", "b1", "b1", "s32", SM_90A, bit_op="and")


def sparse() -> Iterator[MmaForm]:
    """Every form of wgmma.mma_async.sp: twice as deep, and none of single bits."""
    yield from _rows("wgmma.sp", 2)
