"""The fused dot product.

Exact products and C, aligned, truncated, summed and rounded in one step, over whole batches. `fused_plain.py`
states the rule, one element at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType, dtype
from .arithmetic import exact_product

ABSENT = -4096  # exponents from here down belong to zeros, which take no part in the alignment
_BLOCK = 1 << 17  # elements of D at a time: long loops whose data still fits the cache


Array: TypeAlias = NDArray[Any]

#: The types of A, B, C and D.
DTypes: TypeAlias = tuple[DType, DType, DType, DType]


class Alignment(NamedTuple):
    """The numbers of one fused step: see `rules.Fused`."""

    fraction_bits: int
    result_bits: int
    floor: int


class FusedStep(NamedTuple):
    """The types of A, B, C and D, and how products and C are aligned and cut."""

    dtypes: DTypes
    alignment: Alignment

    @property
    def numbers(self) -> tuple[int, int, int, bool]:
        """Fraction bits of the aligned terms, the floor, fraction bits of D, and whether D is rounded."""
        nearest = self.dtypes[3].name == "f16"
        result_bits = self.dtypes[3].fraction_bits if nearest else self.alignment.result_bits
        return self.alignment.fraction_bits, self.alignment.floor, result_bits, nearest


class FusedCodes(NamedTuple):
    """Codes of A [..., M, K], B [..., K, N] and C [..., M, N], and of block scales.

    `stored` [..., M, K] says which elements of A exist; None if all do. `scales` are ue8m0 codes for the rows
    of A [..., M, blocks of K] and the columns of B [..., blocks, N].
    """

    a: Array
    b: Array
    c: Array
    stored: Array | None = None
    scales: tuple[Array, Array] | None = None

    @property
    def batch(self) -> tuple[int, ...]:
        """The common batch axes."""
        arrays = (self.a, self.b, self.c, self.stored, *(self.scales or ()))
        return np.broadcast_shapes(*(codes.shape[:-2] for codes in arrays if codes is not None))

    def flat(self) -> FusedCodes:
        """The same with one batch axis."""
        batch = self.batch
        return self._map(
            lambda codes: np.broadcast_to(codes, batch + codes.shape[-2:]).reshape(-1, *codes.shape[-2:])
        )

    def select(self, which: slice | Array) -> FusedCodes:
        """The codes of some MMAs, for codes with one batch axis."""
        return self._map(lambda codes: codes[which])

    def divided(self, down: int, across: int) -> FusedCodes:
        """Smaller MMAs: rows in `down` parts, columns in `across` parts; one batch axis, without scales."""
        count, rows, columns = self.c.shape

        def of_rows(codes: Array) -> Array:
            parts = codes.reshape(count, down, 1, rows // down, -1)
            repeated = np.broadcast_to(parts, (count, down, across, *parts.shape[3:]))
            return repeated.reshape(-1, *parts.shape[3:])

        b = np.moveaxis(self.b.reshape(count, 1, -1, across, columns // across), 2, 3)
        b = np.broadcast_to(b, (count, down, *b.shape[2:])).reshape(-1, *b.shape[3:])
        c = self.c.reshape(count, down, rows // down, across, columns // across).swapaxes(2, 3)
        stored = None if self.stored is None else of_rows(self.stored)
        return FusedCodes(of_rows(self.a), b, c.reshape(-1, *c.shape[3:]), stored)

    def _map(self, change: Callable[[Array], Array]) -> FusedCodes:
        stored = None if self.stored is None else change(self.stored)
        scales = None if self.scales is None else (change(self.scales[0]), change(self.scales[1]))
        return FusedCodes(change(self.a), change(self.b), change(self.c), stored, scales)


class _Numbers(NamedTuple):
    """Values, and the exponents that they are aligned by: those of a product are the sum of its factors'."""

    value: Array
    exponent: Array
    is_finite: bool = True

    def map(self, change: Callable[[Array], Array]) -> _Numbers:
        """The same with both arrays changed."""
        return _Numbers(change(self.value), change(self.exponent), self.is_finite)

    def times(self, other: _Numbers) -> _Numbers:
        """Products with other numbers, element by element, in float64."""
        value = self.value * other.value.astype(np.float64)
        return _Numbers(value, self.exponent + other.exponent, self.is_finite and other.is_finite)

    def finite(self) -> _Numbers:
        """The same with 0 for infinities and NaN."""
        if self.is_finite:
            return self
        return _Numbers(np.where(np.isfinite(self.value), self.value, 0), self.exponent)

    def is_moderate(self, lowest: int, highest: int | None = None) -> bool:
        """Whether all numbers are from 2^-lowest to below 2^(highest + 1); `highest` defaults to `lowest`."""
        exponent = self.exponent
        if exponent.max(initial=ABSENT) > (lowest if highest is None else highest):
            return False
        smallest = exponent.min(initial=0)
        return bool(smallest >= -lowest or not ((exponent < -lowest) & (exponent > ABSENT // 2)).any())


@lru_cache(maxsize=None)
def _table(float_type: DType) -> _Numbers:
    """Value and exponent of every code of a type of at most 8 bits."""
    codes = np.arange(1 << float_type.bits)
    field = codes >> float_type.fraction_bits & ((1 << float_type.exponent_bits) - 1)
    with np.errstate(invalid="ignore"):
        values = float_type.decode(codes).astype(np.float32)
    lowest = 0 if float_type.fraction_bits == 0 else 1  # ue8m0 has no subnormals
    exponents = np.where(values == 0, ABSENT, np.maximum(field, lowest) - float_type.bias)
    return _Numbers(values, exponents.astype(np.int16), bool(np.isfinite(values).all()))


def _decoded(codes: Array, float_type: DType) -> _Numbers:
    """The numbers that codes stand for, in float32; the exponent of a subnormal is the smallest normal's."""
    if float_type.bits <= 8:
        numbers = _table(float_type).map(lambda column: np.take(column, codes, mode="clip"))
        return numbers._replace(is_finite=numbers.is_finite or bool(np.isfinite(numbers.value).all()))
    highest = (1 << float_type.exponent_bits) - 1
    exponents = np.empty(codes.shape, np.int16)
    values: Array = np.empty(codes.shape, np.int32)
    shifted = codes >> codes.dtype.type(float_type.fraction_bits + float_type.ignored_bits)
    np.bitwise_and(shifted, codes.dtype.type(highest), out=exponents, casting="unsafe")
    is_finite = bool(exponents.max(initial=0) < highest)
    if float_type.name == "f16" and not is_finite:
        values = codes.view(np.float16).astype(np.float32)
    elif float_type.name == "f16":  # by integer arithmetic: four times as fast as a conversion
        np.copyto(values, codes.view(np.int16))
        values <<= 13
        values &= ~0x7000_0000  # copies of the sign below it
        values = values.view(np.float32)
        values *= np.float32(2.0**112)  # the bias of f32 less that of f16
    elif float_type.name == "bf16":
        np.copyto(values, codes.view(np.int16))
        values <<= 16
    else:
        np.bitwise_and(codes.view(np.int32), -1 << float_type.ignored_bits, out=values)
    values = values.view(np.float32)
    if exponents.min(initial=1) == 0:
        np.maximum(exponents, np.int16(1), out=exponents)
        exponents += (values == 0) * np.int16(ABSENT)  # a zero may also be below ABSENT
    exponents -= np.int16(float_type.bias)
    return _Numbers(values, exponents, is_finite)


def _power(exponent: Array) -> Array:
    """2.0 ** exponent from its bits, clamped to the range of float64's normal numbers."""
    field = np.clip(exponent.astype(np.int64) + 1023, 1, 2046)
    return (field << 52).view(np.float64)


def fused_blocks(codes: FusedCodes, step: FusedStep, c_shift: int = 0) -> Array:
    """Codes of D for codes with one batch axis, block by block."""
    out = np.empty(codes.c.shape, dtype=step.dtypes[3].code_type)
    at_a_time = max(1, _BLOCK // max(1, out[:1].size))
    for first in range(0, len(out), at_a_time):
        part = slice(first, first + at_a_time)
        out[part] = _fused_block(codes.select(part), step, c_shift)
    return out


def convert_codes(codes: Array, float_type: DType, to: DType) -> Array:
    """Codes of one float type as codes of another, to nearest even.

    >>> hex(convert_codes(dtype("f32").encode([0.1]), dtype("f32"), dtype("f16"))[0])
    '0x2e66'
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = float_type.decode(codes)
        return np.where(np.isnan(values), to.code_type((1 << to.bits - 1) - 1), to.encode(values))


def _fused_block(codes: FusedCodes, step: FusedStep, c_shift: int) -> Array:
    """The fused sums of a part of the batch; infinities and NaN are added apart from the other numbers."""
    by_count = codes.b.shape[-1] < 32  # the batch, not N, runs innermost: then NumPy's loops are long

    def batch_last(x: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(x, 0, -1) if by_count else x)

    def batch_first(x: Array) -> Array:
        return np.moveaxis(x, -1, 0) if by_count else x

    a, b, c = (
        _decoded(batch_last(x), float_type)
        for x, float_type in zip((codes.a, codes.b, codes.c), step.dtypes, strict=False)
    )
    if c_shift:
        with np.errstate(invalid="ignore"):  # NaN
            value = c.value.astype(np.float64) * 2.0**-c_shift
            c = _Numbers(value, c.exponent - np.int16(c_shift), c.is_finite)
    scales = _element_scales(codes)
    if scales is not None:
        scale_a, scale_b = (_decoded(batch_last(x), dtype("ue8m0")) for x in scales)
        a, b = a.times(scale_a), b.times(scale_b)
    special = None  # infinities and NaN
    if not (a.is_finite and b.is_finite and c.is_finite):
        c_value = batch_first(c.value)
        with np.errstate(invalid="ignore"):
            special = _special(batch_first(a.value), batch_first(b.value), codes.stored)
            special = special + np.where(np.isfinite(c_value), 0.0, c_value)
        a, b, c = a.finite(), b.finite(), c.finite()
    a, b = _along_k(a, b, by_count)
    if scales is None and _fit_float32(a, b, c, step):
        sums = _float32_sums(a, b, c, step.alignment)
        if special is None and step.dtypes[3].name == "f32":  # none of these sums is subnormal
            return batch_first(_truncated(sums, step.alignment.result_bits))
    else:
        sums = _aligned_sums(a, b, c, step.alignment)
    value = batch_first(sums)
    if special is not None:
        value = np.where(special == 0, value, special)
    return round_sum(value, step.dtypes[3], step.alignment.result_bits)


def _element_scales(codes: FusedCodes) -> tuple[Array, Array] | None:
    """Codes of the scales that multiply A and B: one for each row of A, or for each element."""
    if codes.scales is None:
        return None
    scale_a, scale_b = codes.scales
    if scale_a.shape[-1] > 1:  # one for each block of K
        scale_a = np.repeat(scale_a, codes.a.shape[-1] // scale_a.shape[-1], axis=-1)
        scale_b = np.repeat(scale_b, codes.b.shape[-2] // scale_b.shape[-2], axis=-2)
    return scale_a, scale_b


def _along_k(a: _Numbers, b: _Numbers, by_count: bool) -> tuple[_Numbers, _Numbers]:
    """A and B with K first, so that the factors of one k broadcast to the shape of D."""
    if by_count:  # [M, K, count], [K, N, count] -> terms [M, N, count]
        return a.map(lambda x: x.swapaxes(0, 1)[:, :, None]), b.map(lambda x: x[:, None])
    # [count, M, K], [count, K, N] -> terms [count, M, N]
    a = a.map(lambda x: np.moveaxis(x, -1, 0)[..., None])
    return a, b.map(lambda x: np.moveaxis(x, 1, 0)[:, :, None])


def _fit_float32(a: _Numbers, b: _Numbers, c: _Numbers, step: FusedStep) -> bool:
    """Whether float32 holds all products, and 32-bit integers all terms: see `_float32_sums`."""
    for float_type, factors in ((step.dtypes[0], a), (step.dtypes[1], b)):
        if float_type.exponent_bits >= 8 and not factors.is_moderate(50):
            return False
    return c.is_moderate(100, 200)


def _top_exponents(a: _Numbers, b: _Numbers, c: _Numbers, floor: int) -> Array:
    """The largest exponent among C and the products, never below the floor."""
    top = np.maximum(c.exponent, np.int16(floor))
    summed = np.empty_like(top)
    for x, y in zip(a.exponent, b.exponent, strict=True):
        np.add(x, y, out=summed)
        np.maximum(top, summed, out=top)
    return top


def _aligned_sums(a: _Numbers, b: _Numbers, c: _Numbers, alignment: Alignment) -> Array:
    """C plus the products a[k] b[k] of finite values, each truncated relative to the largest term."""
    a_value, b_value, c_value = (x.value.astype(np.float64, copy=False) for x in (a, b, c))
    scale = _power(alignment.fraction_bits - _top_exponents(a, b, c, alignment.floor))
    product = np.empty(c_value.shape)
    with np.errstate(over="ignore", under="ignore"):
        total = np.trunc(c_value * scale)
        for x, y in zip(a_value, b_value, strict=True):
            np.multiply(x, y, out=product)
            np.multiply(product, scale, out=product)
            np.trunc(product, out=product)
            total += product
        total /= scale
    return np.asarray(total)


def _float32_sums(a: _Numbers, b: _Numbers, c: _Numbers, alignment: Alignment) -> Array:
    """Like `_aligned_sums`, for products that float32 holds and at most 25 fraction bits.

    Terms of 27 bits become integers, which truncates them; the sum of 16 terms fits 32 bits.
    """
    top = _top_exponents(a, b, c, alignment.floor)
    # where the power is out of range, all terms are zero
    biased = np.minimum(np.int16(127 + alignment.fraction_bits) - top, np.int16(127 + 126), out=top)
    power = np.left_shift(biased, 23, dtype=np.int32)
    scale = power.view(np.float32)
    total = np.empty_like(power)
    at_once = 1 << 29 - alignment.fraction_bits
    with np.errstate(under="ignore"):
        product = (c.value * scale).astype(np.float32, copy=False)
        sums = np.trunc(product).astype(np.float64)
        for k in range(0, len(a.value), at_once):
            total[...] = 0
            for x, y in zip(a.value[k : k + at_once], b.value[k : k + at_once], strict=True):
                np.multiply(x, y, out=product)
                np.multiply(product, scale, out=product)
                np.add(total, product, out=total, dtype=np.int32, casting="unsafe")
            sums += total
        np.subtract(254 << 23, power, out=power)
        sums *= scale
    return sums


def _special(a: Array, b: Array, stored: Array | None) -> Array:
    """The sum of products that are not finite: an infinity or NaN; 0 where all are finite.

    Matrix products of signs count them. `stored` says which elements of A exist: infinity times a zero that
    is not stored is not NaN.
    """

    def parts(x: Array) -> tuple[Array, Array, Array, Array]:
        """Sign, sign of infinities, zeros, NaN."""
        nan = np.isnan(x)
        sign = np.where(nan, 0.0, np.sign(x)).astype(np.float32)
        return sign, sign * np.isinf(x), (x == 0).astype(np.float32), nan.astype(np.float32)

    (a_sign, a_inf, a_zero, a_nan), (b_sign, b_inf, b_zero, b_nan) = (
        parts(np.ascontiguousarray(a)),
        parts(np.ascontiguousarray(b)),
    )
    present = np.ones_like(a_sign) if stored is None else stored.astype(np.float32)
    left, right = np.concatenate([a_inf, a_sign], axis=-1), np.concatenate([b_sign - b_inf, b_inf], axis=-2)
    signed, count = exact_product(left, right), exact_product(abs(left), abs(right))
    invalid = exact_product(
        np.concatenate([present, abs(a_inf), a_zero * present], axis=-1),
        np.concatenate([b_nan, b_zero, abs(b_inf)], axis=-2),
    )
    invalid += a_nan.sum(axis=-1, keepdims=True)
    both_signs = (count > 0) & (abs(signed) < count)
    infinity = np.where(count > 0, np.copysign(np.inf, signed), 0.0)
    return np.where((invalid > 0) | both_signs, np.nan, infinity)


def round_sum(value: Array, float_type: DType, result_bits: int) -> Array:
    """The end of a fused step: exact values -> codes of f32 or f16.

    f32 is truncated to `result_bits` of fraction, f16 rounded to nearest even.

    >>> [hex(code) for code in round_sum(np.array([1 + 2.0**-14, -(2.0**-200)]), dtype("f32"), 13)]
    ['0x3f800000', '0x0']
    """
    nan = np.isnan(value)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        if float_type.name == "f16":
            codes = (value.astype(np.float16) + np.float16(0)).view(np.uint16)  # + 0 turns -0 into +0
            return np.where(nan, np.uint16(0x7FFF), codes)
        magnitude = np.abs(value)
        subnormal = (magnitude < 2.0**-126) & (magnitude > 0)
        if magnitude.size and magnitude.max() < np.inf and not subnormal.any():
            return _truncated(value, result_bits)
        _, exponent = np.frexp(value)
        grain = _power(np.maximum(exponent - 1, -126) - result_bits)
        finite = np.isfinite(value)
        cut = np.where(finite, np.trunc(np.where(finite, value, 0.0) / grain) * grain, value)
        codes = (cut.astype(np.float32) + np.float32(0)).view(np.uint32)
    return np.where(nan, np.uint32(0x7FFFFFFF), codes)


def _truncated(value: Array, result_bits: int) -> Array:
    """Finite values, none of them subnormal, as codes of f32 truncated to `result_bits` of fraction."""
    cut = np.ascontiguousarray(value).view(np.int64) & np.int64(-1 << 52 - result_bits)
    with np.errstate(over="ignore"):
        return (cut.view(np.float64).astype(np.float32) + np.float32(0)).view(np.uint32)


def block_scaled_dot(
    a: Array,
    b: Array,
    c: Array,
    scales: tuple[Array, Array],
    scale_type: DType,
    alignment: Alignment,
    group: int = 16,
) -> Array:
    """Codes of D for e2m1 codes a [..., M, K], b [..., K, N], f32 codes c, and scale codes.

    Scales are [..., M, V] and [..., V, N]. Sums of 16 products are exact; each, times its two scales, is one
    term, aligned by the exponents of the scales. A sum takes `group` columns of A: 16, or 32 where half of
    them are zeros that a sparse instruction does not store.

    >>> e2m1, f32, ue8m0 = dtype("e2m1"), dtype("f32"), dtype("ue8m0")
    >>> a, b, c = e2m1.encode(np.ones((1, 32))), e2m1.encode(np.ones((32, 1))), f32.encode([[0]])
    >>> scales = ue8m0.encode([[4]]), ue8m0.encode([[0.5]])
    >>> f32.decode(block_scaled_dot(a, b, c, scales, ue8m0, Alignment(35, 23, -133)))   # 32 * 4 * 0.5
    array([[64.]], dtype=float32)
    """
    e2m1, f32 = dtype("e2m1"), dtype("f32")
    a_value, b_value = e2m1.decode(a).astype(np.float32), e2m1.decode(b).astype(np.float32)
    c_value, c_exp, _ = _decoded(c, f32)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        c_value = c_value.astype(np.float64)
    (sa_value, sa_exp, _), (sb_value, sb_exp, _) = (_decoded(scale, scale_type) for scale in scales)
    blocks, vectors = a.shape[-1] // group, scales[0].shape[-1]
    top = np.maximum(c_exp, alignment.floor)
    for v in range(vectors):
        top = np.maximum(top, sa_exp[..., v, None] + sb_exp[..., None, v, :])
    scale = _power(alignment.fraction_bits - top)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        special = np.where(np.isfinite(c_value), 0.0, c_value)
        total = np.trunc(np.where(np.isfinite(c_value), c_value, 0.0) * scale)
        for block in range(blocks):
            part, v = slice(group * block, group * block + group), block * vectors // blocks
            factor = sa_value[..., v, None].astype(np.float64) * sb_value[..., None, v, :]
            special = special + np.where(np.isnan(factor), np.nan, 0.0)
            sums = exact_product(a_value[..., part], b_value[..., part, :]).astype(np.float64)
            total = total + np.trunc(sums * np.where(np.isnan(factor), 0.0, factor) * scale)
        value = np.where(special == 0, total / scale, special)
    return round_sum(value, f32, alignment.result_bits)
