"""Rows of mma, mma.sp, wgmma, wgmma.sp and wmma.

PTX ISA, "Multiply-and-Accumulate Instruction: mma" and "Multiply-and-Accumulate Instruction: mma.sp /
mma.sp::ordered_metadata", "Asynchronous warpgroup-level matrix instructions", "Warp-level Matrix
Multiply-and-Accumulate Instruction: wmma.mma".

What a row does not say: the PTX version is in `_INTRODUCED` of `../mma.py`, the fragments are in
`../layout.py`, and the arithmetic is in `ptxlab.numerics.models`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal

from ..mma import Instruction
from ..targets import SM_75, SM_80, SM_89, SM_90, SM_90A, SM_100A, SM_120A, SM_120A_WITHOUT_F

INT4 = ("s4", "u4")
INT8 = ("s8", "u8")
FP8 = ("e4m3", "e5m2")
_F8F6F4 = (*FP8, "e3m2", "e2m3", "e2m1")
PLAIN_OR_SAT = (False, True)
_SP_OR_ORDERED = (False, True)
ROUNDINGS: tuple[Literal["rz", "rm", "rp"] | None, ...] = (None, "rz", "rm", "rp")  # None is .rn, the default
LAYOUTS: tuple[Literal["row", "col"], ...] = ("row", "col")

#: D and C of mma.m8n8k4: f16 results need f16 accumulators.
_QUAD_PAIR_ACCUMULATORS = (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
#: type -> accumulators, and k with targets; C has the type of D.
_FLOAT_MMA = {
    "f16": (("f16", "f32"), {8: SM_75, 16: SM_80}),
    "bf16": (("f32",), {8: SM_80, 16: SM_80}),
    "tf32": (("f32",), {4: SM_80, 8: SM_80}),
}
#: Shapes (m, k), all with n = 8, and the targets that have them.
_DOUBLE_MMA = {(8, 4): SM_80, (16, 4): SM_90, (16, 8): SM_90, (16, 16): SM_90}
_INTEGER_MMA = (
    (INT8, {(8, 16): SM_75, (16, 16): SM_80, (16, 32): SM_80}),
    (INT4, {(8, 32): SM_75, (16, 32): SM_80, (16, 64): SM_80}),
)
_BIT_MMA = {(8, 128): SM_75, (16, 128): SM_80, (16, 256): SM_80}
_INTEGER_SP = ((INT8, (32, 64)), (INT4, (64, 128)))
_FLOAT_SP = {"f16": (("f16", "f32"), (16, 32)), "bf16": (("f32",), (16, 32)), "tf32": (("f32",), (8, 16))}

#: Types of D, A, B and C of block-scaled products of e2m1.
_FP4 = ("f32", "e2m1", "e2m1", "f32")
#: kind, scale_vec, scale type.
_BLOCK_SCALES = (
    ("mxf4", 2, "ue8m0"),
    ("mxf4nvf4", 2, "ue8m0"),
    ("mxf4nvf4", 4, "ue4m3"),
    ("mxf4nvf4", 4, "ue8m0"),
)


def _f8f6f4_targets(a: str, b: str, sparse_f16: bool = False) -> tuple[str, ...]:
    """kind::f8f6f4 over FP8 alone equals the plain instruction; sm_100a and family targets have it too."""
    return SM_100A if a in FP8 and b in FP8 and not sparse_f16 else SM_120A


def dense() -> Iterator[Instruction]:
    """Every form of mma.

    >>> next(dense())
    <mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16>
    """
    for a_layout, b_layout, (d, c) in product(LAYOUTS, LAYOUTS, _QUAD_PAIR_ACCUMULATORS):
        yield Instruction("mma", 8, 8, 4, d, "f16", "f16", c, SM_75, a_layout=a_layout, b_layout=b_layout)
    for factor, (accumulators, shapes) in _FLOAT_MMA.items():
        for (k, targets), d in product(shapes.items(), accumulators):
            yield Instruction("mma", 16, 8, k, d, factor, factor, d, targets)
    for ((m, k), targets), rounding in product(_DOUBLE_MMA.items(), ROUNDINGS):
        yield Instruction("mma", m, 8, k, "f64", "f64", "f64", "f64", targets, rounding=rounding)
    for k, d, a, b in product((16, 32), ("f16", "f32"), FP8, FP8):
        yield Instruction("mma", 16, 8, k, d, a, b, d, SM_89)
    for d, a, b in product(("f16", "f32"), _F8F6F4, _F8F6F4):
        yield Instruction("mma", 16, 8, 32, d, a, b, d, _f8f6f4_targets(a, b), kind="f8f6f4")
    for types, integer_shapes in _INTEGER_MMA:
        for ((m, k), targets), a, b, sat in product(integer_shapes.items(), types, types, PLAIN_OR_SAT):
            yield Instruction("mma", m, 8, k, "s32", a, b, "s32", targets, satfinite=sat)
    for (m, k), targets in _BIT_MMA.items():
        yield Instruction("mma", m, 8, k, "s32", "b1", "b1", "s32", targets, bit_op="xor")
        yield Instruction("mma", m, 8, k, "s32", "b1", "b1", "s32", SM_80, bit_op="and")
    for a, b in product(_F8F6F4, _F8F6F4):
        yield Instruction(
            "mma", 16, 8, 32, "f32", a, b, "f32", SM_120A, kind="mxf8f6f4", scale_vec=1, scale_type="ue8m0"
        )
    for kind, vec, scale in _BLOCK_SCALES:
        yield Instruction("mma", 16, 8, 64, *_FP4, SM_120A, kind=kind, scale_vec=vec, scale_type=scale)


def sparse() -> Iterator[Instruction]:
    """Every form of mma.sp and mma.sp::ordered_metadata.

    >>> next(sparse())
    <mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16>
    """
    for factor, (accumulators, depths) in _FLOAT_SP.items():
        for k, d, ordered in product(depths, accumulators, _SP_OR_ORDERED):
            yield Instruction("mma.sp", 16, 8, k, d, factor, factor, d, SM_80, ordered=ordered)
    for ordered, a, b in product(_SP_OR_ORDERED, FP8, FP8):
        yield Instruction("mma.sp", 16, 8, 64, "f32", a, b, "f32", SM_89, ordered=ordered)
    for a, b in product(FP8, FP8):
        yield Instruction("mma.sp", 16, 8, 64, "f16", a, b, "f16", SM_120A, ordered=True)
    for d, a, b in product(("f16", "f32"), _F8F6F4, _F8F6F4):
        yield Instruction(
            "mma.sp", 16, 8, 64, d, a, b, d, _f8f6f4_targets(a, b, d == "f16"), ordered=True, kind="f8f6f4"
        )
    for types, depths in _INTEGER_SP:
        for k, ordered, a, b, sat in product(depths, _SP_OR_ORDERED, types, types, PLAIN_OR_SAT):
            yield Instruction("mma.sp", 16, 8, k, "s32", a, b, "s32", SM_80, satfinite=sat, ordered=ordered)
    for a, b in product(_F8F6F4, _F8F6F4):
        yield Instruction(
            "mma.sp", 16, 8, 64, "f32", a, b, "f32", SM_120A,
            ordered=True, kind="mxf8f6f4", scale_vec=1, scale_type="ue8m0",
        )  # fmt: skip
    for kind, vec, scale in _BLOCK_SCALES:
        yield Instruction(
            "mma.sp", 16, 8, 128, *_FP4, SM_120A_WITHOUT_F,
            ordered=True, kind=kind, scale_vec=vec, scale_type=scale,
        )  # fmt: skip


# -- wgmma ---------------------------------------------------------------------------------------------------


_WGMMA_N = tuple(range(8, 257, 8))
#: The manual's list for dense s8 ends at 224; the assembler takes 240 and 256, which the other integer forms
#: also have.
_WGMMA_N_INTEGER = (8, 16, 24, 32, *range(48, 257, 16))

#: type -> results, and k of the dense form; that of the sparse form is twice as large.
_WGMMA_FLOATS = {"f16": (("f16", "f32"), 16), "bf16": (("f32",), 16), "tf32": (("f32",), 8)}


def _wgmma_rows(family: Literal["wgmma", "wgmma.sp"], k_factor: int) -> Iterator[Instruction]:
    for factor, (results, k) in _WGMMA_FLOATS.items():
        for n, d in product(_WGMMA_N, results):
            yield Instruction(family, 64, n, k_factor * k, d, factor, factor, d, SM_90A)
    for n, d, a, b in product(_WGMMA_N, ("f16", "f32"), FP8, FP8):
        yield Instruction(family, 64, n, k_factor * 32, d, a, b, d, SM_90A)
    for n, a, b, sat in product(_WGMMA_N_INTEGER, INT8, INT8, PLAIN_OR_SAT):
        yield Instruction(family, 64, n, k_factor * 32, "s32", a, b, "s32", SM_90A, satfinite=sat)


def wgmma_dense() -> Iterator[Instruction]:
    """Every form of wgmma.mma_async.

    >>> sum(1 for _ in wgmma_dense())
    546
    """
    yield from _wgmma_rows("wgmma", 1)
    for n in _WGMMA_N_INTEGER:
        yield Instruction("wgmma", 64, n, 256, "s32", "b1", "b1", "s32", SM_90A, bit_op="and")


def wgmma_sparse() -> Iterator[Instruction]:
    """Every form of wgmma.mma_async.sp: K is twice that of the dense forms, and there is none for b1."""
    yield from _wgmma_rows("wgmma.sp", 2)


# -- wmma ----------------------------------------------------------------------------------------------------


_WMMA_ORDERS = tuple(product(LAYOUTS, LAYOUTS))
_WMMA_SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))


def wmma_rows() -> Iterator[Instruction]:
    """Every form of wmma.mma.

    >>> next(wmma_rows())
    <wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16>
    """
    for shape, (a_layout, b_layout), d, c in product(
        _WMMA_SHAPES, _WMMA_ORDERS, ("f16", "f32"), ("f16", "f32")
    ):
        yield Instruction("wmma", *shape, d, "f16", "f16", c, SM_75, a_layout=a_layout, b_layout=b_layout)
    for shape, (a_layout, b_layout) in product(_WMMA_SHAPES, _WMMA_ORDERS):
        yield Instruction(
            "wmma", *shape, "f32", "bf16", "bf16", "f32", SM_80, a_layout=a_layout, b_layout=b_layout
        )
    for a_layout, b_layout in _WMMA_ORDERS:
        yield Instruction(
            "wmma", 16, 16, 8, "f32", "tf32", "tf32", "f32", SM_80, a_layout=a_layout, b_layout=b_layout
        )
    for (a_layout, b_layout), rounding in product(_WMMA_ORDERS, ROUNDINGS):
        yield Instruction(
            "wmma", 8, 8, 4, "f64", "f64", "f64", "f64", SM_80,
            rounding=rounding, a_layout=a_layout, b_layout=b_layout,
        )  # fmt: skip
    # A and B have one type: there are no mixed pairs.
    for shape, (a_layout, b_layout), ab, sat in product(_WMMA_SHAPES, _WMMA_ORDERS, INT8, PLAIN_OR_SAT):
        yield Instruction(
            "wmma", *shape, "s32", ab, ab, "s32", SM_75, satfinite=sat, a_layout=a_layout, b_layout=b_layout
        )
    for ab, sat in product(INT4, PLAIN_OR_SAT):
        yield Instruction("wmma", 8, 8, 32, "s32", ab, ab, "s32", SM_75, satfinite=sat)
    yield Instruction("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_75, bit_op="xor")
    yield Instruction("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_80, bit_op="and")
