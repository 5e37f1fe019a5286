"""Rows of wmma.mma. PTX ISA, "Warp-level Matrix Multiply-and-Accumulate Instruction: wmma.mma"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..mma import MmaForm
from ..targets import SM_75, SM_80
from .mma import INT4, INT8, LAYOUTS, PLAIN_OR_SAT, ROUNDINGS

_ORDERS = tuple(product(LAYOUTS, LAYOUTS))
_SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))


def rows() -> Iterator[MmaForm]:
    """Every form of wmma.mma.

    >>> next(rows())
    <wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16>
    """
    for shape, (a_layout, b_layout), d, c in product(_SHAPES, _ORDERS, ("f16", "f32"), ("f16", "f32")):
        yield MmaForm("wmma", *shape, d, "f16", "f16", c, SM_75, a_layout=a_layout, b_layout=b_layout)
    for shape, (a_layout, b_layout) in product(_SHAPES, _ORDERS):
        yield MmaForm(
            "wmma", *shape, "f32", "bf16", "bf16", "f32", SM_80, a_layout=a_layout, b_layout=b_layout
        )
    for a_layout, b_layout in _ORDERS:
        yield MmaForm(
            "wmma", 16, 16, 8, "f32", "tf32", "tf32", "f32", SM_80, a_layout=a_layout, b_layout=b_layout
        )
    for (a_layout, b_layout), rounding in product(_ORDERS, ROUNDINGS):
        yield MmaForm(
            "wmma", 8, 8, 4, "f64", "f64", "f64", "f64", SM_80,
            rounding=rounding, a_layout=a_layout, b_layout=b_layout,
        )  # fmt: skip
    # A and B have one type: there are no mixed pairs.
    for shape, (a_layout, b_layout), ab, sat in product(_SHAPES, _ORDERS, INT8, PLAIN_OR_SAT):
        yield MmaForm(
            "wmma", *shape, "s32", ab, ab, "s32", SM_75, satfinite=sat, a_layout=a_layout, b_layout=b_layout
        )
    for ab, sat in product(INT4, PLAIN_OR_SAT):
        yield MmaForm("wmma", 8, 8, 32, "s32", ab, ab, "s32", SM_75, satfinite=sat)
    yield MmaForm("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_75, bit_op="xor")
    yield MmaForm("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_80, bit_op="and")
