"""The fused dot product.

Exact products and C, aligned, truncated, summed and rounded in one step, over whole batches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType, dtype
from .compiled import Alignment, fused_codes, serves
from .products import exact_product

__all__ = ["Alignment", "block_scaled_dot", "convert_codes", "fused_dot", "round_sum"]

Array = NDArray[Any]

_ABSENT = -4096  # exponent of a zero, or less: it takes no part in the alignment
_BLOCK = 1 << 18  # elements of D worked on at a time: few enough for the cache, and NumPy's loops are long


@lru_cache(maxsize=None)
def _table(float_type: DType) -> tuple[Array, Array]:
    """Value and exponent of every code of a type of at most 8 bits."""
    codes = np.arange(1 << float_type.bits)
    field = codes >> float_type.fraction_bits & ((1 << float_type.exponent_bits) - 1)
    with np.errstate(invalid="ignore"):
        values = float_type.decode(codes).astype(np.float64)
    lowest = 0 if float_type.fraction_bits == 0 else 1  # ue8m0 has no subnormals
    return values, np.where(values == 0, _ABSENT, np.maximum(field, lowest) - float_type.bias).astype(
        np.int16
    )


def _split(codes: Array, float_type: DType) -> tuple[Array, Array]:
    """Codes -> (values, exponents); the exponent of a subnormal is that of the smallest normal.

    Values are float32, or float64 of types of at most 8 bits, among which is ue8m0.
    """
    if float_type.bits <= 8:
        values, exponents = _table(float_type)
        return values[codes], exponents[codes]
    with np.errstate(invalid="ignore"):  # a signalling NaN
        if float_type.name == "f16":
            values = np.ascontiguousarray(codes).view(np.float16).astype(np.float32)
        elif float_type.name == "bf16":
            values = (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
        else:
            values = float_type.decode(codes).astype(np.float32, copy=False)
    low = codes.dtype.type(float_type.fraction_bits + float_type.ignored_bits)
    field = (codes >> low & codes.dtype.type((1 << float_type.exponent_bits) - 1)).astype(np.int16)
    exponents = np.maximum(field, np.int16(1)) - np.int16(float_type.bias)
    exponents += (values == 0).astype(np.int16) * np.int16(_ABSENT)  # less than that, after all
    return values, exponents


def _power(exponent: Array) -> Array:
    """2.0 ** exponent by building the bits, held inside the range of float64's normal numbers."""
    field = np.clip(exponent.astype(np.int64) + 1023, 1, 2046)
    return (field << 52).view(np.float64)


#: Of A, B, C and D.
_DTypes = tuple[DType, DType, DType, DType]


def fused_dot(
    a: Array,
    b: Array,
    c: Array,
    dtypes: _DTypes,
    alignment: Alignment,
    stored: Array | None = None,
    scales: tuple[Array, Array] | None = None,
    c_shift: int = 0,
) -> Array:
    """Codes of D for codes a [..., M, K], b [..., K, N], c [..., M, N], in one step; C and D have one type.

    `stored` [..., M, K] says which elements of A exist; the others make no products. `scales` are ue8m0 codes
    for the rows of A [..., M, blocks of K] and the columns of B [..., blocks, N]: powers of two that multiply
    every product. C counts 2^-c_shift times.

    >>> f16, f32 = dtype("f16"), dtype("f32")
    >>> a, b, c = f16.encode([[1, 1]]), f16.encode([[1], [1]]), f32.encode([[2**24]])
    >>> d = fused_dot(a, b, c, (f16, f16, f32, f32), Alignment(fraction_bits=25, result_bits=23, floor=-133))
    >>> int(f32.decode(d)[0, 0])   # added one by one in f32, both would be lost
    16777218
    """
    arrays = (a, b, c, stored, *(scales or (None, None)))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays if x is not None))
    flat: list[Any] = [
        None if x is None else np.broadcast_to(x, batch + x.shape[-2:]).reshape(-1, *x.shape[-2:])
        for x in arrays
    ]
    count = int(np.prod(batch, dtype=np.int64))
    compiled = not c_shift and serves(dtypes, count * c.shape[-2] * c.shape[-1] * a.shape[-1], b.shape[-2])
    if compiled and scales is None:
        codes = fused_codes(flat[0], flat[1], flat[2], flat[3], dtypes, alignment)
    elif compiled and dtypes[2].name == "f32" and flat[4].shape[-1] == 1:
        moves = _are_moderate(flat[2], flat[4], flat[5])
        codes = np.empty(flat[2].shape, dtype=np.uint32)
        for which, compute in ((moves, _moved_by_scales), (~moves, _fused_blocks)):
            if which.any():
                codes[which] = compute(dtypes, alignment, [None if x is None else x[which] for x in flat])
    else:
        codes = _fused_blocks(dtypes, alignment, flat, c_shift)
    return codes.reshape(*batch, *c.shape[-2:])


def _are_moderate(c: Array, scale_a: Array, scale_b: Array) -> Array:
    """MMAs whose C, in f32, and ue8m0 scales are far from the ends of f32: [count]."""
    field = c >> np.uint32(23) & np.uint32(0xFF)
    is_far = ((field < 127 - 60) | (field > 127 + 60)) & ((c << np.uint32(1)) != 0)
    return np.asarray(~((np.abs(_shifts(scale_a, scale_b)) > 40) | is_far).any(axis=(1, 2)))


def _shifts(scale_a: Array, scale_b: Array) -> Array:
    """Exponents of the products of two ue8m0 scales."""
    return np.asarray(scale_a.astype(np.int32) + scale_b.astype(np.int32) - 2 * dtype("ue8m0").bias)


def _moved_by_scales(dtypes: _DTypes, alignment: Alignment, arrays: list[Any]) -> Array:
    """Codes of D where ue8m0 scales multiply products, of MMAs that `_are_moderate`.

    Powers of two multiply C instead, by their inverse, and then the result: so far from the ends of f32 and
    from the floor no bit depends on that.
    """
    a, b, c, stored, scale_a, scale_b = arrays
    shift = _shifts(scale_a, scale_b)
    moved = np.ldexp(np.ascontiguousarray(c).view(np.float32), -shift).view(np.uint32)
    sums = fused_codes(a, b, moved, stored, dtypes, alignment).view(np.float32)
    with np.errstate(invalid="ignore"):
        codes = np.ldexp(sums, shift).view(np.uint32)
    return np.where(np.isnan(sums), np.uint32(0x7FFFFFFF), codes)


def _fused_blocks(dtypes: _DTypes, alignment: Alignment, arrays: list[Any], c_shift: int = 0) -> Array:
    """Codes of D for arrays with one batch axis, so many at a time that they stay in cache."""
    c = arrays[2]
    out = np.empty(c.shape, dtype=dtypes[3].code_type)
    at_a_time = max(1, _BLOCK // max(1, out[:1].size))
    for first in range(0, len(out), at_a_time):
        part = slice(first, first + at_a_time)
        parts: list[Any] = [None if x is None else x[part] for x in arrays]
        out[part] = _fused_block(dtypes, alignment, c_shift, *parts)
    return out


def convert_codes(codes: Array, float_type: DType, to: DType) -> Array:
    """Codes of one float type as codes of another, to nearest even.

    >>> hex(convert_codes(dtype("f32").encode([0.1]), dtype("f32"), dtype("f16"))[0])
    '0x2e66'
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = float_type.decode(codes)
        return np.where(np.isnan(values), to.code_type((1 << to.bits - 1) - 1), to.encode(values))


def _fused_block(
    dtypes: _DTypes,
    alignment: Alignment,
    c_shift: int,
    a: Array,
    b: Array,
    c: Array,
    stored: Array | None,
    scale_a: Array | None,
    scale_b: Array | None,
) -> Array:
    by_count = b.shape[-1] < 32  # the longer of N and count runs innermost, so that NumPy's loops are long

    def turned(x: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(x, 0, -1)) if by_count else x

    def back(x: Array) -> Array:
        return np.moveaxis(x, -1, 0) if by_count else x

    (a_value, a_exp), (b_value, b_exp), (c_value, c_exp) = (
        _split(turned(x), each) for x, each in zip((a, b, c), dtypes, strict=False)
    )
    if c_shift:
        with np.errstate(invalid="ignore"):  # NaN
            c_value, c_exp = c_value.astype(np.float64) * 2.0**-c_shift, c_exp - np.int16(c_shift)
    if scale_a is not None and scale_b is not None:
        if scale_a.shape[-1] > 1:  # one for each block of K
            scale_a = np.repeat(scale_a, a.shape[-1] // scale_a.shape[-1], axis=-1)
            scale_b = np.repeat(scale_b, b.shape[-2] // scale_b.shape[-2], axis=-2)
        (sa_value, sa_exp), (sb_value, sb_exp) = (
            _split(turned(x), dtype("ue8m0")) for x in (scale_a, scale_b)
        )
        a_value, a_exp = a_value * sa_value, a_exp + sa_exp
        b_value, b_exp = b_value * sb_value, b_exp + sb_exp
    special = None  # infinities and NaN
    if not all(np.isfinite(x).all() for x in (a_value, b_value, c_value)):
        with np.errstate(invalid="ignore"):
            special = _special(back(a_value), back(b_value), stored) + np.where(
                np.isfinite(back(c_value)), 0.0, back(c_value)
            )
        a_value, b_value, c_value = (np.where(np.isfinite(x), x, 0.0) for x in (a_value, b_value, c_value))
    if by_count:  # [M, K, count], [K, N, count] -> terms [M, N, count]
        a_value, a_exp = (x.swapaxes(0, 1)[:, :, None] for x in (a_value, a_exp))
        b_value, b_exp = (x[:, None] for x in (b_value, b_exp))
    else:  # [count, M, K], [count, K, N] -> terms [count, M, N]
        a_value, a_exp = (np.moveaxis(x, -1, 0)[..., None] for x in (a_value, a_exp))
        b_value, b_exp = (np.moveaxis(x, 1, 0)[:, :, None] for x in (b_value, b_exp))
    factors = a_value, a_exp, b_value, b_exp
    short = scale_a is None and alignment.fraction_bits <= 25
    for float_type, exponents in ((dtypes[0], a_exp), (dtypes[1], b_exp)):
        short = short and (float_type.exponent_bits < 8 or _is_moderate(exponents, 50))
    if short and _is_moderate(c_exp, 100, 200):
        sums = _short_sums(*factors, c_value, c_exp, alignment)
        if special is None and dtypes[3].name == "f32":  # which none of these sums is too small for
            return back(_cut(sums, alignment.result_bits))
        value = back(sums)
    else:
        a_value, b_value, c_value = (x.astype(np.float64, copy=False) for x in (a_value, b_value, c_value))
        value = back(_aligned_sums(a_value, a_exp, b_value, b_exp, c_value, c_exp, alignment))
    return round_sum(
        value if special is None else np.where(special == 0, value, special), dtypes[3], alignment.result_bits
    )


def _aligned_sums(
    a: Array, a_exp: Array, b: Array, b_exp: Array, c: Array, c_exp: Array, alignment: Alignment
) -> Array:
    """c plus the products a[k] b[k] of finite values, each truncated relative to the largest term."""
    top = np.maximum(c_exp, np.int16(alignment.floor))
    summed = np.empty(c_exp.shape, dtype=np.int16)
    product = np.empty(c.shape)
    for x, y in zip(a_exp, b_exp, strict=True):
        np.add(x, y, out=summed)
        np.maximum(top, summed, out=top)
    scale = _power(alignment.fraction_bits - top)
    with np.errstate(over="ignore", under="ignore"):
        total = np.trunc(c * scale)
        for x, y in zip(a, b, strict=True):
            np.multiply(x, y, out=product)
            np.multiply(product, scale, out=product)
            np.trunc(product, out=product)
            total += product
        total /= scale
    return np.asarray(total)


def _is_moderate(exponents: Array, lowest: int, highest: int | None = None) -> bool:
    """Whether no number is below 2^-lowest or from 2^(highest + 1) on."""
    highest = lowest if highest is None else highest
    return not ((exponents > highest) | ((exponents < -lowest) & (exponents > _ABSENT // 2))).any()


def _short_sums(
    a: Array, a_exp: Array, b: Array, b_exp: Array, c: Array, c_exp: Array, alignment: Alignment
) -> Array:
    """`_aligned_sums` of numbers whose products float32 holds, with at most 25 fraction bits.

    Terms of 27 bits become integers, eight of which have a sum of 32; conversion truncates.
    """
    top = np.maximum(c_exp, np.int16(alignment.floor))
    summed = np.empty(c_exp.shape, dtype=np.int16)
    for x, y in zip(a_exp, b_exp, strict=True):
        np.add(x, y, out=summed)
        np.maximum(top, summed, out=top)
    # where it is out of range, all terms are zero
    power = np.minimum(np.int16(alignment.fraction_bits) - top, np.int16(126)).astype(np.int32)
    scale, grain = (((127 + each) << 23).view(np.float32) for each in (power, -power))
    product, integer = np.empty(c.shape, dtype=np.float32), np.empty(c.shape, dtype=np.int32)
    part = np.empty(c.shape, dtype=np.int32)
    factors = [x.astype(np.float32, copy=False) for x in (a, b)]
    with np.errstate(under="ignore"):
        total = np.trunc(c.astype(np.float32, copy=False) * scale).astype(np.float64)
        for first in range(0, len(a), 8):
            part[...] = 0
            for x, y in zip(*(each[first : first + 8] for each in factors), strict=True):
                np.multiply(x, y, out=product)
                np.multiply(product, scale, out=product)
                np.copyto(integer, product, casting="unsafe")
                part += integer
            total += part
        total *= grain
    return np.asarray(total)


def _special(a: Array, b: Array, stored: Array | None) -> Array:
    """What products that are not finite add up to: 0 where all are finite, an infinity, or NaN.

    They are counted by matrix products of signs. `stored` says which elements of A exist: a zero that is not
    stored times infinity is not NaN.
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
    there = np.ones_like(a_sign) if stored is None else stored.astype(np.float32)
    left, right = np.concatenate([a_inf, a_sign], axis=-1), np.concatenate([b_sign - b_inf, b_inf], axis=-2)
    signed, every = exact_product(left, right), exact_product(abs(left), abs(right))
    invalid = exact_product(
        np.concatenate([there, abs(a_inf), a_zero * there], axis=-1),
        np.concatenate([b_nan, b_zero, abs(b_inf)], axis=-2),
    )
    invalid += a_nan.sum(axis=-1, keepdims=True)
    both = (every > 0) & (abs(signed) < every)
    return np.where((invalid > 0) | both, np.nan, np.where(every > 0, np.copysign(np.inf, signed), 0.0))


def round_sum(value: Array, float_type: DType, result_bits: int) -> Array:
    """Exact values -> codes of f32, cut to `result_bits` of fraction, or of f16, to nearest even.

    How a fused step ends.

    >>> [hex(code) for code in round_sum(np.array([1 + 2.0**-14, -(2.0**-200)]), dtype("f32"), 13)]
    ['0x3f800000', '0x0']
    """
    nan = np.isnan(value)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        if float_type.name == "f16":
            codes = (value.astype(np.float16) + np.float16(0)).view(np.uint16)  # + 0: a zero has no sign
            return np.where(nan, np.uint16(0x7FFF), codes)
        size = np.abs(value)
        if size.size and size.max() < np.inf and not ((size < 2.0**-126) & (size > 0)).any():
            return _cut(value, result_bits)
        _, exponent = np.frexp(value)
        grain = _power(np.maximum(exponent - 1, -126) - result_bits)
        finite = np.isfinite(value)
        cut = np.where(finite, np.trunc(np.where(finite, value, 0.0) / grain) * grain, value)
        codes = (cut.astype(np.float32) + np.float32(0)).view(np.uint32)
    return np.where(nan, np.uint32(0x7FFFFFFF), codes)


def _cut(value: Array, result_bits: int) -> Array:
    """Values that are finite and not subnormal as codes of f32, cut to `result_bits` of fraction."""
    cut = np.ascontiguousarray(value).view(np.int64) & ~((1 << 52 - result_bits) - 1)
    with np.errstate(over="ignore"):
        return np.asarray((cut.view(np.float64).astype(np.float32) + np.float32(0)).view(np.uint32))


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

    Scales are [..., M, V] and [..., V, N]. Sums of 16 products are exact; each, times the significands of its
    two scales, is one term, aligned by the scales' exponents. `group` columns of A make such a sum: 16, or 32
    where half of them are zeros that a sparse instruction does not store.

    >>> e2m1, f32, ue8m0 = dtype("e2m1"), dtype("f32"), dtype("ue8m0")
    >>> a, b, c = e2m1.encode(np.ones((1, 32))), e2m1.encode(np.ones((32, 1))), f32.encode([[0]])
    >>> scales = ue8m0.encode([[4]]), ue8m0.encode([[0.5]])
    >>> f32.decode(block_scaled_dot(a, b, c, scales, ue8m0, Alignment(35, 23, -133)))   # 32 * 4 * 0.5
    array([[64.]], dtype=float32)
    """
    e2m1, f32 = dtype("e2m1"), dtype("f32")
    scale_a, scale_b = scales
    a_value, b_value = e2m1.decode(a).astype(np.float32), e2m1.decode(b).astype(np.float32)
    c_value, c_exp = _split(c, f32)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        c_value = c_value.astype(np.float64)
    (sa_value, sa_exp), (sb_value, sb_exp) = _split(scale_a, scale_type), _split(scale_b, scale_type)
    blocks, vectors = a.shape[-1] // group, scale_a.shape[-1]
    top = np.maximum(c_exp, alignment.floor)
    for v in range(vectors):
        top = np.maximum(top, sa_exp[..., v, None] + sb_exp[..., None, v, :])
    scale = _power(alignment.fraction_bits - top)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        odd = np.where(np.isfinite(c_value), 0.0, c_value)
        total = np.trunc(np.where(np.isfinite(c_value), c_value, 0.0) * scale)
        for block in range(blocks):
            part, v = slice(group * block, group * block + group), block * vectors // blocks
            factor = sa_value[..., v, None] * sb_value[..., None, v, :]
            odd = odd + np.where(np.isnan(factor), np.nan, 0.0)
            sums = exact_product(a_value[..., part], b_value[..., part, :]).astype(np.float64)
            total = total + np.trunc(sums * np.where(np.isnan(factor), 0.0, factor) * scale)
        value = np.where(odd == 0, total / scale, odd)
    return round_sum(value, f32, alignment.result_bits)
