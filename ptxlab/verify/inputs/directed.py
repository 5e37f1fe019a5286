"""Inputs for hunts beyond those that recorded results are keyed by: the corners where models of the arithmetic have been wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.dtypes import DType
from ...isa.mma import MmaForm
from ...isa.operand import Operand
from . import draws
from .stream import Stream

__all__ = ["FLOAT", "INTEGER", "accumulator", "multiplicand"]

#: wide: all exponents, yet no overflow; in half of the MMAs A is large and B small, or the reverse. few: almost all elements are zeros.
#: abyss: products at the bottom of the range and far below. ties: sums halfway between two results. brink: results at the largest
#: finite number. payloads: NaN of many kinds, infinities, -0. countered: C against the sum of the products, or nearly. faint: the smallest
#: result or half of it, and products so far below that they may not count.
FLOAT = ("wide", "few", "abyss", "ties", "brink", "payloads", "countered", "faint")
#: brink: sums at the ends of s32 and just beyond.
INTEGER = ("brink",)


def multiplicand(
    stream: Stream, ins: MmaForm, operand: Operand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of A or B, K last."""
    kind = operand.dtype
    if not kind.is_float:
        return draws.integer_multiplicand(
            stream, operand, "extremes" if stream.chance(50, (1,))[0] else "bits", shape
        )
    bias, top = kind.bias, (1 << kind.exponent_bits) - 1
    raw = stream.raw(1 + kind.fraction_bits + kind.ignored_bits, shape)
    sign, fraction, noise = (
        raw & 1,
        raw >> 1 & ((1 << kind.fraction_bits) - 1),
        raw >> (1 + kind.fraction_bits),
    )
    field = stream.between(bias - 3, bias + 3, shape)
    if category == "wide":
        index = (
            np.arange(shape[0])[:, None, None] if operand.name == "A" else np.arange(shape[1])[:, None]
        )  # of the MMA: both know it
        shift = np.where(index % 2, index * 37 % bias - bias // 2, 0) * (1 if operand.name == "A" else -1)
        reach = np.where(index % 2, bias // 5, bias // 2 - 1)
        field = bias + shift + (stream.below(1 << 16, shape) * (2 * reach + 1) >> 16) - reach
    elif category == "few":
        field = np.where(stream.chance(85, shape), 0, stream.between(0, top, shape))
        fraction = np.where((field == 0) & stream.chance(95, shape), 0, fraction)
    elif category == "abyss":
        field = stream.between(0, max(bias // 4, 1), shape)
        field = np.where(stream.chance(20, shape), 0, field)
    elif category == "ties":
        fraction = fraction & (3 << max(kind.fraction_bits - 2, 0))
    elif category == "brink":
        result = ins.c.dtype
        field = bias + (result.bias - result.fraction_bits) // 2 + stream.between(-2, 2, shape)
    elif category == "countered":
        wide = stream.chance(50, (shape[0], 1, 1))
        field = np.where(wide, stream.between(bias - bias // 2, bias + max(bias // 2 - 3, 1), shape), field)
    elif category == "faint":
        result, first = (
            ins.c.dtype,
            np.arange(shape[-1]) < (1 if operand.name == "A" else 4),
        )  # a sparse A's first may meet any of four
        tie = (
            result.name == "f16"
        )  # f32 is cut: there it is a whole unit, and less when something is taken from it
        half = (1 - result.bias - result.fraction_bits - tie + (operand.name == "A")) // 2
        below = stream.between(9, 13, shape) if tie else stream.between(3, 7, shape)
        field = bias + half - np.where(first, 0, below)
        short = fraction & (1 << kind.fraction_bits - 1) if kind.fraction_bits else fraction
        fraction = np.where(first, short, fraction & -fraction)  # few bits, so that sums fall on ties
        gone = stream.chance(85, shape) & ~first if operand.name == "A" else np.zeros(shape, dtype=np.bool_)
        field, fraction = _below_normal(kind, np.where(gone, -99, field), fraction)
    codes = draws.compose(kind, sign, field, fraction, noise)
    if category == "payloads":
        odd = stream.chance(max(40 // shape[-1], 1), shape)
        codes = np.where(odd, _special(stream, kind, shape), codes).astype(kind.code_type)
    return codes


def _below_normal(
    kind: DType, field: NDArray[Any], fraction: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Field and fraction of numbers whose exponent field would be 0 or less: subnormal."""
    shift = np.clip(1 - field, 0, kind.fraction_bits + 2)
    small = (fraction | 1 << kind.fraction_bits) >> shift
    return np.where(field < 1, 0, field), np.where(field < 1, small, fraction)


def _special(stream: Stream, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """NaN with one bit, with random bits or with none (an infinity, where the type has one), and zeros, of both signs."""
    fraction = np.where(
        stream.chance(40, shape),
        1 << stream.below(max(kind.fraction_bits, 1), shape),
        stream.raw(kind.fraction_bits, shape),
    )
    fraction = np.where(stream.chance(25, shape), 0, fraction)
    field = np.where(stream.chance(15, shape), 0, (1 << kind.exponent_bits) - 1)
    fraction = np.where(field == 0, 0, fraction)
    sign = stream.below(2, shape) if kind.signed else np.zeros(shape, dtype=np.int64)
    return np.asarray(
        ((sign << kind.exponent_bits | field) << kind.fraction_bits | fraction) << kind.ignored_bits
    ).astype(kind.code_type)


def accumulator(
    stream: Stream,
    ins: MmaForm,
    category: str,
    shape: tuple[int, ...],
    a: NDArray[Any],
    b: NDArray[Any],
    nibbles: NDArray[Any] | None,
) -> NDArray[Any]:
    """Codes of C; what A and B are is known, since C may be aimed at their product. Shape [..., M, N]."""
    kind = ins.c.dtype
    if not kind.is_float:
        total = _product(ins, a, b, nibbles).astype(np.int64)
        edge = np.where(stream.chance(50, shape), 0x7FFFFFFF, 0x80000000)
        return ((edge - total + stream.between(-2, 2, shape)) & 0xFFFFFFFF).astype(np.uint32)
    bias, top = kind.bias, (1 << kind.exponent_bits) - 1
    raw = stream.raw(1 + kind.fraction_bits, shape)
    sign, fraction = raw & 1, raw >> 1
    if category == "countered":
        return _against(stream, kind, _product(ins, a, b, nibbles))
    field = stream.between(bias - 6, bias + 6, shape)
    if category == "wide":
        reach = ins.a.dtype.bias // 2 + ins.b.dtype.bias // 2
        field = stream.between(max(bias - reach - 4, 0), min(bias + reach, top - 1), shape)
    elif category == "few":
        field = stream.between(0, top, shape)
        empty = stream.chance(50, shape)
        field, fraction = np.where(empty, 0, field), np.where(empty, 0, fraction)
    elif category == "abyss":
        field = stream.between(-2, 2, shape)  # half of them are clipped to 0
        fraction = np.where(
            stream.chance(40, shape),
            0,
            np.where(stream.chance(40, shape), 1 << stream.below(kind.fraction_bits, shape), fraction),
        )
    elif category == "ties":
        field = stream.between(bias - 2, bias + kind.fraction_bits + 4, shape)
        fraction = np.where(stream.chance(50, shape), fraction & 3, fraction)
    elif category == "faint":
        field, fraction = np.zeros(shape, dtype=np.int64), stream.below(3, shape)
    elif category == "brink":
        field = np.full(shape, top - 1)
        fraction = (1 << kind.fraction_bits) - 1 - stream.below(8, shape)
    codes = draws.compose(kind, sign, field, fraction)
    if category == "payloads":
        codes = np.where(stream.chance(20, shape), _special(stream, kind, shape), codes).astype(
            kind.code_type
        )
    return codes


def _against(stream: Stream, kind: DType, total: NDArray[np.float64]) -> NDArray[Any]:
    """Codes of the opposite of the sum, most of them off by a few units in the last place."""
    with np.errstate(all="ignore"):
        codes = kind.encode(-np.where(np.isnan(total), 1.0, total)).astype(np.uint64)
    slip = np.where(stream.chance(30, total.shape), 0, stream.between(-3, 3, total.shape))
    magnitude = (np.uint64(1) << np.uint64(kind.bits - 1)) - np.uint64(1)
    largest = ((1 << kind.exponent_bits) - 1 << kind.fraction_bits) - 1
    moved = np.clip((codes & magnitude).astype(np.int64) + slip, 0, largest).astype(np.uint64)
    return np.asarray((codes & ~magnitude) | moved).astype(kind.code_type)


def _product(
    ins: MmaForm, a: NDArray[Any], b: NDArray[Any], nibbles: NDArray[Any] | None
) -> NDArray[np.float64]:
    """A B in float64 (exact for integers), sparse A expanded; four products for stacked operands."""
    with np.errstate(all="ignore"):
        left, right = (o.dtype.decode(x).astype(np.float64) for o, x in ((ins.a, a), (ins.b, b)))
        if ins.structure is not None and nibbles is not None:
            left = ins.structure.expand(left, nibbles, ins.metadata_ordered)
        if ins.mma_count > 1:
            size = ins.mma_count
            left = left.reshape(*left.shape[:-2], size, left.shape[-2] // size, left.shape[-1])
            right = np.moveaxis(right.reshape(*right.shape[:-1], size, right.shape[-1] // size), -2, -3)
            stacked = left @ right
            return stacked.reshape(*stacked.shape[:-3], *ins.c.shape)
        total = left @ right
        if ins.bit_op == "xor":
            total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
        return np.asarray(total)
