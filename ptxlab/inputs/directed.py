"""Codes aimed at the corners in which models of the arithmetic have been wrong; hunts use them.

Floats
    wide           every exponent, and yet no overflow: in half of the MMAs A is large where B is small
    mostly_zero    almost all elements are zero
    underflow      products at the bottom of the range and far below it
    ties           sums halfway between two results
    overflow_edge  results at the largest finite number
    nan_payloads   NaN with many payloads, infinities, -0
    cancelling_c   C is the opposite of the sum of the products, or nearly
    sticky         the smallest result or half of it, and products so small that they may not count

Integers
    overflow_edge  sums at the ends of s32 and just beyond
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType
from ..isa.operand import MatrixOperand
from ..isa.product_form import ProductForm
from . import sampling
from .sampling import RandomStream

FLOAT = (
    "wide",
    "mostly_zero",
    "underflow",
    "ties",
    "overflow_edge",
    "nan_payloads",
    "cancelling_c",
    "sticky",
)
INTEGER = ("overflow_edge",)


# -- A and B ---------------------------------------------------------------------------------------------


def multiplicand(
    stream: RandomStream, ins: ProductForm, operand: MatrixOperand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of A or B, K last."""
    dtype = operand.dtype
    if not dtype.is_float:
        like = "extremes" if stream.chance(50, (1,))[0] else "bits"
        return sampling.integer_multiplicand(stream, operand, like, shape)
    raw = stream.bits(1 + dtype.fraction_bits + dtype.ignored_bits, shape)
    sign, fraction = raw & 1, raw >> 1 & ((1 << dtype.fraction_bits) - 1)
    ignored, bias = raw >> (1 + dtype.fraction_bits), dtype.bias
    exponent = stream.between(bias - 3, bias + 3, shape)
    match category:
        case "wide":
            exponent = _wide(stream, operand, shape)
        case "mostly_zero":
            top = (1 << dtype.exponent_bits) - 1
            exponent = np.where(stream.chance(85, shape), 0, stream.between(0, top, shape))
            fraction = np.where((exponent == 0) & stream.chance(95, shape), 0, fraction)
        case "underflow":
            exponent = stream.between(0, max(bias // 4, 1), shape)
            exponent = np.where(stream.chance(20, shape), 0, exponent)
        case "ties":  # fractions of two bits, so that sums have few bits too
            fraction = fraction & (3 << max(dtype.fraction_bits - 2, 0))
        case "overflow_edge":  # products as large as the last bits of the largest result
            centre = bias + (ins.c.dtype.bias - ins.c.dtype.fraction_bits) // 2
            exponent = centre + stream.between(-2, 2, shape)
        case "cancelling_c":  # half of the MMAs have a wide range of exponents
            is_wide = stream.chance(50, (shape[0], 1, 1))
            wide = stream.between(bias - bias // 2, bias + max(bias // 2 - 3, 1), shape)
            exponent = np.where(is_wide, wide, exponent)
        case "sticky":
            exponent, fraction = _sticky(stream, ins, operand, fraction)
    codes = sampling.compose(dtype, sign, exponent, fraction, ignored)
    if category == "nan_payloads":
        replaced = stream.chance(max(40 // shape[-1], 1), shape)
        codes = np.where(replaced, _nan_payloads(stream, dtype, shape), codes).astype(dtype.code_type)
    return codes


def _wide(stream: RandomStream, operand: MatrixOperand, shape: tuple[int, ...]) -> NDArray[Any]:
    """Exponent fields; by the number of an MMA, A and B agree on how far they are moved apart."""
    bias = operand.dtype.bias
    if operand.name == "A":
        index, direction = np.arange(shape[0])[:, None, None], 1
    else:
        index, direction = np.arange(shape[1])[:, None], -1
    is_shifted = index % 2
    shift = np.where(is_shifted, index * 37 % bias - bias // 2, 0) * direction
    reach = np.where(is_shifted, bias // 5, bias // 2 - 1)
    offset = (stream.below(1 << 16, shape) * (2 * reach + 1) >> 16) - reach
    return np.asarray(bias + shift + offset)


def _sticky(
    stream: RandomStream, ins: ProductForm, operand: MatrixOperand, fraction: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first product is the last bit of a subnormal result, or half of it; most others are far below.

    Half of it where the result is rounded to nearest (f16): a product far below then decides about a tie. f32
    is truncated: there it decides whether a whole unit is reached. Gives exponent fields and fractions.
    """
    dtype, result, shape = operand.dtype, ins.c.dtype, fraction.shape
    is_a, to_nearest = operand.name == "A", result.name == "f16"
    product = 1 - result.bias - result.fraction_bits
    if to_nearest:
        product -= 1
    factor = (product + 1) // 2 if is_a else product // 2
    # the first stored element of a sparse A may meet any of four rows of B
    is_first = np.arange(shape[-1]) < (1 if is_a else 4)
    distance = stream.between(9, 13, shape) if to_nearest else stream.between(3, 7, shape)
    exponent = dtype.bias + factor - np.where(is_first, 0, distance)
    first_fraction = fraction
    if dtype.fraction_bits:
        first_fraction = first_fraction & (1 << dtype.fraction_bits - 1)
    lowest_bit = fraction & -fraction  # few bits, so that sums fall on ties
    if is_a:
        is_zero = stream.chance(85, shape) & ~is_first
        exponent = np.where(is_zero, -99, exponent)
    return _as_subnormal(dtype, exponent, np.where(is_first, first_fraction, lowest_bit))


def _as_subnormal(
    dtype: DType, exponent: NDArray[Any], fraction: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Exponent field and fraction, where the field would be 0 or less: that number as a subnormal."""
    shift = np.clip(1 - exponent, 0, dtype.fraction_bits + 2)
    significand = (fraction | 1 << dtype.fraction_bits) >> shift
    return np.where(exponent < 1, 0, exponent), np.where(exponent < 1, significand, fraction)


def _nan_payloads(stream: RandomStream, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """NaN with one bit or random bits of payload, infinities where the type has them, zeros of both signs."""
    has_one_bit = stream.chance(40, shape)
    one_bit = 1 << stream.below(max(dtype.fraction_bits, 1), shape)
    fraction = np.where(has_one_bit, one_bit, stream.bits(dtype.fraction_bits, shape))
    fraction = np.where(stream.chance(25, shape), 0, fraction)
    exponent = np.where(stream.chance(15, shape), 0, (1 << dtype.exponent_bits) - 1)
    fraction = np.where(exponent == 0, 0, fraction)
    sign = stream.below(2, shape) if dtype.signed else np.zeros(shape, dtype=np.int64)
    code = (sign << dtype.exponent_bits | exponent) << dtype.fraction_bits | fraction
    return np.asarray(code << dtype.ignored_bits).astype(dtype.code_type)


# -- C ---------------------------------------------------------------------------------------------------


def accumulator(
    stream: RandomStream,
    ins: ProductForm,
    category: str,
    shape: tuple[int, ...],
    a: NDArray[Any],
    b: NDArray[Any],
    nibbles: NDArray[Any] | None,
) -> NDArray[Any]:
    """Codes of C [..., M, N]. The codes of A and B are known: C may be aimed at their product."""
    dtype = ins.c.dtype
    if not dtype.is_float:
        total = _product(ins, a, b, nibbles).astype(np.int64)
        edge = np.where(stream.chance(50, shape), 0x7FFFFFFF, 0x80000000)
        return ((edge - total + stream.between(-2, 2, shape)) & 0xFFFFFFFF).astype(np.uint32)
    raw = stream.bits(1 + dtype.fraction_bits, shape)
    if category == "cancelling_c":
        return _opposite(stream, dtype, _product(ins, a, b, nibbles))
    sign, fraction, bias = raw & 1, raw >> 1, dtype.bias
    exponent = stream.between(bias - 6, bias + 6, shape)
    top = (1 << dtype.exponent_bits) - 1
    match category:
        case "wide":  # as far from 1 as products are
            reach = ins.a.dtype.bias // 2 + ins.b.dtype.bias // 2
            exponent = stream.between(max(bias - reach - 4, 0), min(bias + reach, top - 1), shape)
        case "mostly_zero":
            exponent = stream.between(0, top, shape)
            is_zero = stream.chance(50, shape)
            exponent, fraction = np.where(is_zero, 0, exponent), np.where(is_zero, 0, fraction)
        case "underflow":  # half are subnormal: exponents are clipped to 0; many have one bit or none
            exponent = stream.between(-2, 2, shape)
            is_power, has_one_bit = stream.chance(40, shape), stream.chance(40, shape)
            one_bit = 1 << stream.below(dtype.fraction_bits, shape)
            fraction = np.where(is_power, 0, np.where(has_one_bit, one_bit, fraction))
        case "ties":  # up to so large that the products are half of the last bit
            exponent = stream.between(bias - 2, bias + dtype.fraction_bits + 4, shape)
            fraction = np.where(stream.chance(50, shape), fraction & 3, fraction)
        case "overflow_edge":  # the largest finite number and its neighbours
            fraction = (1 << dtype.fraction_bits) - 1 - stream.below(8, shape)
            exponent = np.full(shape, top - 1)
        case "sticky":  # 0, 1 or 2 units of the last place of a subnormal
            exponent, fraction = np.zeros(shape, dtype=np.int64), stream.below(3, shape)
    codes = sampling.compose(dtype, sign, exponent, fraction)
    if category == "nan_payloads":
        replaced = stream.chance(20, shape)
        codes = np.where(replaced, _nan_payloads(stream, dtype, shape), codes).astype(dtype.code_type)
    return codes


def _opposite(stream: RandomStream, dtype: DType, total: NDArray[np.float64]) -> NDArray[Any]:
    """Codes of the opposite of the sum, most of them off by a few units in the last place."""
    with np.errstate(all="ignore"):
        codes = dtype.encode(-np.where(np.isnan(total), 1.0, total)).astype(np.uint64)
    is_exact = stream.chance(30, total.shape)
    units = np.where(is_exact, 0, stream.between(-3, 3, total.shape))
    magnitude_mask = (np.uint64(1) << np.uint64(dtype.bits - 1)) - np.uint64(1)
    largest = ((1 << dtype.exponent_bits) - 1 << dtype.fraction_bits) - 1
    magnitude = np.clip((codes & magnitude_mask).astype(np.int64) + units, 0, largest).astype(np.uint64)
    return np.asarray((codes & ~magnitude_mask) | magnitude).astype(dtype.code_type)


def _product(
    ins: ProductForm, a: NDArray[Any], b: NDArray[Any], nibbles: NDArray[Any] | None
) -> NDArray[np.float64]:
    """A B in float64, exact for integers: sparse A expanded, stacked operands multiplied one by one."""
    with np.errstate(all="ignore"):
        left = ins.a.dtype.decode(a).astype(np.float64)
        right = ins.b.dtype.decode(b).astype(np.float64)
        if ins.structure is not None and nibbles is not None:
            left = ins.structure.expand(left, nibbles, ins.metadata_ordered)
        if ins.mma_count > 1:
            count = ins.mma_count
            left = left.reshape(*left.shape[:-2], count, left.shape[-2] // count, left.shape[-1])
            right = np.moveaxis(right.reshape(*right.shape[:-1], count, right.shape[-1] // count), -2, -3)
            stacked = left @ right
            return stacked.reshape(*stacked.shape[:-3], *ins.c.shape)
        total = left @ right
        if ins.bit_op == "xor":
            total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
        return np.asarray(total)
