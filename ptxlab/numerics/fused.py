"""The fused dot product with its alignment and rounding, and exact integers."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType, dtype
from .compiled import fused_codes, serves
from .models import ByWay, Fused

__all__ = ["block_scaled_dot", "converted", "dot_by_way", "fused_dot", "integer_add", "rounded"]

Array = NDArray[Any]

_ABSENT = -4096  # exponent of a zero: it takes no part in the alignment
_BLOCK = 1 << 15  # elements of D worked on at a time, so that what is read again is still in cache


# -- floats -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def _table(name: str) -> tuple[Array, Array]:
    """Value and exponent of every code of a type of at most 8 bits."""
    kind = dtype(name)
    codes = np.arange(1 << kind.bits)
    field = codes >> kind.fraction_bits & ((1 << kind.exponent_bits) - 1)
    with np.errstate(invalid="ignore"):
        values = kind.decode(codes).astype(np.float64)
    lowest = 0 if kind.fraction_bits == 0 else 1  # ue8m0 has no subnormals
    return values, np.where(values == 0, _ABSENT, np.maximum(field, lowest) - kind.bias).astype(np.int16)


def _split(codes: Array, kind: DType) -> tuple[Array, Array]:
    """Codes -> (values as float64, exponents); the exponent of a subnormal is that of the smallest normal."""
    if kind.bits <= 8:
        values, exponents = _table(kind.name)
        return values[codes], exponents[codes]
    with np.errstate(invalid="ignore"):  # a signalling NaN
        if kind.name == "f16":
            values = np.ascontiguousarray(codes).view(np.float16).astype(np.float64)
        elif kind.name == "bf16":
            values = (codes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        else:
            values = kind.decode(codes).astype(np.float64)
    low = codes.dtype.type(kind.fraction_bits + kind.ignored_bits)
    field = (codes >> low & codes.dtype.type((1 << kind.exponent_bits) - 1)).astype(np.int16)
    exponents = np.maximum(field, np.int16(1)) - np.int16(kind.bias)
    exponents[values == 0] = _ABSENT
    return values, exponents


def _power(exponent: Array) -> Array:
    """2.0 ** exponent by building the bits, held inside the range of float64's normal numbers."""
    field = np.clip(exponent.astype(np.int64) + 1023, 1, 2046)
    return (field << 52).view(np.float64)


Kinds = tuple[DType, DType, DType, DType]


def fused_dot(
    a: Array,
    b: Array,
    c: Array,
    kinds: Kinds,
    rule: Fused,
    stored: Array | None = None,
    scales: tuple[Array, Array] | None = None,
) -> Array:
    """Codes of D for codes a [..., M, K], b [..., K, N], c [..., M, N].

    `stored` [..., M, K] says which elements of A there are; the others make no products. `scales` are ue8m0 codes for the rows of
    A [..., M, 1] and the columns of B [..., 1, N]: powers of two that every product is multiplied with.

    >>> f16, f32 = dtype("f16"), dtype("f32")
    >>> a, b, c = f16.encode([[1, 1]]), f16.encode([[1], [1]]), f32.encode([[2**24]])
    >>> int(f32.decode(fused_dot(a, b, c, (f16, f16, f32, f32), Fused(25, 23, -133)))[0, 0])   # added one by one in f32, both would be lost
    16777218
    """
    c_kind, d_kind = kinds[2], kinds[3]
    if (
        c_kind.name != d_kind.name
    ):  # the step itself is in f32: C is widened before it, or D narrowed after it
        if c_kind.name == "f16":
            return fused_dot(
                a, b, converted(c, c_kind, d_kind), (*kinds[:2], d_kind, d_kind), rule, stored, scales
            )
        return converted(
            fused_dot(a, b, c, (*kinds[:2], c_kind, c_kind), rule, stored, scales), c_kind, d_kind
        )
    depth = rule.depth and (
        rule.depth if stored is None else 2 * rule.depth
    )  # of a sparse A half of the columns are stored
    if depth and depth < a.shape[-1]:
        for k in range(0, a.shape[-1], depth):
            part = slice(k, k + depth)
            there = None if stored is None else stored[..., part]
            c = fused_dot(a[..., part], b[..., part, :], c, kinds, replace(rule, depth=None), there, scales)
        return c
    given = (a, b, c, stored, *(scales or (None, None)))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in given if x is not None))
    flat: list[Any] = [
        None if x is None else np.broadcast_to(x, batch + x.shape[-2:]).reshape(-1, *x.shape[-2:])
        for x in given
    ]
    shape = (*batch, *c.shape[-2:])
    if scales is None and serves(kinds, int(np.prod(shape, dtype=np.int64)) * a.shape[-1], b.shape[-2]):
        return fused_codes(flat[0], flat[1], flat[2], flat[3], kinds, rule).reshape(shape)
    out = np.empty((int(np.prod(batch, dtype=np.int64)), *c.shape[-2:]), dtype=kinds[3].code_type)
    at_a_time = max(1, _BLOCK // max(1, out[:1].size))
    for first in range(0, len(out), at_a_time):
        part = slice(first, first + at_a_time)
        given_part: list[Any] = [None if x is None else x[part] for x in flat]
        out[part] = _fused_block(kinds, rule, *given_part)
    return out.reshape(shape)


def converted(codes: Array, kind: DType, to: DType) -> Array:
    """Codes of one float type as codes of another, to nearest even.

    >>> hex(converted(dtype("f32").encode([0.1]), dtype("f32"), dtype("f16"))[0])
    '0x2e66'
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = kind.decode(codes)
        return np.where(np.isnan(values), to.code_type((1 << to.bits - 1) - 1), to.encode(values))


def _fused_block(
    kinds: Kinds,
    rule: Fused,
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
        _split(turned(x), kind) for x, kind in zip((a, b, c), kinds, strict=False)
    )
    if scale_a is not None and scale_b is not None:
        (sa_value, sa_exp), (sb_value, sb_exp) = (
            _split(turned(x), dtype("ue8m0")) for x in (scale_a, scale_b)
        )
        a_value, a_exp, b_value, b_exp = (
            a_value * sa_value,
            a_exp + sa_exp,
            b_value * sb_value,
            b_exp + sb_exp,
        )
    odd = None
    if not all(np.isfinite(x).all() for x in (a_value, b_value, c_value)):
        with np.errstate(invalid="ignore"):
            odd = _odd(back(a_value), back(b_value), stored) + np.where(
                np.isfinite(back(c_value)), 0.0, back(c_value)
            )
        a_value, b_value, c_value = (np.where(np.isfinite(x), x, 0.0) for x in (a_value, b_value, c_value))
    if by_count:  # [M, K, count], [K, N, count] -> terms [M, N, count]
        a_value, a_exp = (x.swapaxes(0, 1)[:, :, None] for x in (a_value, a_exp))
        b_value, b_exp = (x[:, None] for x in (b_value, b_exp))
    else:  # [count, M, K], [count, K, N] -> terms [count, M, N]
        a_value, a_exp = (np.moveaxis(x, -1, 0)[..., None] for x in (a_value, a_exp))
        b_value, b_exp = (np.moveaxis(x, 1, 0)[:, :, None] for x in (b_value, b_exp))
    value = back(_aligned_sums(a_value, a_exp, b_value, b_exp, c_value, c_exp, rule))
    return rounded(value if odd is None else np.where(odd == 0, value, odd), kinds[3], rule.result_bits)


def _aligned_sums(
    a: Array, a_exp: Array, b: Array, b_exp: Array, c: Array, c_exp: Array, rule: Fused
) -> Array:
    """c plus the products a[k] b[k] of finite values, each term cut where the largest of its sum says."""
    top, summed, product = (
        np.maximum(c_exp, np.int16(rule.floor)),
        np.empty(c_exp.shape, dtype=np.int16),
        np.empty(c.shape),
    )
    for x, y in zip(a_exp, b_exp, strict=True):
        np.add(x, y, out=summed)
        np.maximum(top, summed, out=top)
    scale = _power(rule.fraction_bits - top)
    with np.errstate(over="ignore", under="ignore"):
        total = np.trunc(c * scale)
        for x, y in zip(a, b, strict=True):
            np.multiply(x, y, out=product)
            np.multiply(product, scale, out=product)
            np.trunc(product, out=product)
            total += product
        total /= scale
    return np.asarray(total)


def _odd(a: Array, b: Array, stored: Array | None) -> Array:
    """What products that are not finite add up to: 0 where all are, an infinity, or NaN. Counted by matrix products of signs.

    `stored` says which elements of A there are: a zero that is not stored makes no NaN of an infinity.
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
    signed, every = left @ right, abs(left) @ abs(right)
    invalid = np.concatenate([there, abs(a_inf), a_zero * there], axis=-1) @ np.concatenate(
        [b_nan, b_zero, abs(b_inf)], axis=-2
    )
    invalid += a_nan.sum(axis=-1, keepdims=True)
    both = (every > 0) & (abs(signed) < every)
    return np.where((invalid > 0) | both, np.nan, np.where(every > 0, np.copysign(np.inf, signed), 0.0))


def dot_by_way(
    a: Array, b: Array, c: Array, kinds: Kinds, rule: ByWay, upper: Array, stored: Array | None = None
) -> Array:
    """As `fused_dot`, by the compiler's way; `upper` [..., M, K] says which elements of A come from upper pairs of their registers.

    >>> e4m3, f32 = dtype("e4m3"), dtype("f32")
    >>> a, b, c = e4m3.encode([[1, 2, 3, 4]]), e4m3.encode([[1], [1], [1], [1]]), f32.encode([[0.5]])
    >>> f32.decode(dot_by_way(a, b, c, (e4m3, e4m3, f32, f32), ByWay("f16", Fused(25, 23, -133)), np.array([0, 0, 1, 1], bool)))
    array([[10.5]], dtype=float32)
    """
    via, d_kind = dtype(rule.via), kinds[3]
    a, b = (_as(via.name, kind.name)[x] for x, kind in ((a, kinds[0]), (b, kinds[1])))
    total: Array = np.zeros((a.shape[-2], b.shape[-1]), dtype=d_kind.code_type)
    for half in (~upper, upper):
        if stored is None:
            total = fused_dot(a[..., half], b[..., half, :], total, (via, via, d_kind, d_kind), rule.step)
        else:
            total = fused_dot(
                np.where(half, a, 0), b, total, (via, via, d_kind, d_kind), rule.step, stored & half
            )
    with np.errstate(invalid="ignore", over="ignore"):
        added = d_kind.decode(total) + d_kind.decode(c)
    nan = d_kind.code_type(0x7FFF if d_kind.bits == 16 else 0x7FFFFFFF)
    return np.where(np.isnan(added), nan, added.view(d_kind.code_type))


@lru_cache(maxsize=None)
def _as(to: str, name: str) -> Array:
    """Every code of a small type as a code of another that holds its value."""
    with np.errstate(invalid="ignore"):
        return dtype(to).encode(dtype(name).decode(np.arange(1 << dtype(name).bits)))


def rounded(value: Array, kind: DType, result_bits: int) -> Array:
    """Exact values -> codes of f32, cut to `result_bits` of fraction, or of f16, to nearest even: how a fused step ends.

    >>> [hex(code) for code in rounded(np.array([1 + 2.0**-14, -(2.0**-200)]), dtype("f32"), 13)]
    ['0x3f800000', '0x0']
    """
    nan = np.isnan(value)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        if kind.name == "f16":
            codes = (value.astype(np.float16) + np.float16(0)).view(np.uint16)  # + 0: a zero has no sign
            return np.where(nan, np.uint16(0x7FFF), codes)
        _, exponent = np.frexp(value)
        grain = _power(np.maximum(exponent - 1, -126) - result_bits)
        finite = np.isfinite(value)
        cut = np.where(finite, np.trunc(np.where(finite, value, 0.0) / grain) * grain, value)
        codes = (cut.astype(np.float32) + np.float32(0)).view(np.uint32)
    return np.where(nan, np.uint32(0x7FFFFFFF), codes)


def block_scaled_dot(
    a: Array, b: Array, c: Array, scale_a: Array, scale_b: Array, kinds: Kinds, rule: Fused, group: int = 16
) -> Array:
    """Codes of D for e2m1 codes a [..., M, K], b [..., K, N], f32 codes c, and scale codes [..., M, V], [..., V, N].

    Sums of 16 products are exact; each, times the significands of its two scales, is one term, aligned by the scales' exponents.
    `group` columns of A make such a sum: 16, or 32 where half of them are zeros that a sparse instruction does not store.

    >>> e2m1, f32, scale = dtype("e2m1"), dtype("f32"), dtype("ue8m0")
    >>> a, b = e2m1.encode(np.ones((1, 32))), e2m1.encode(np.ones((32, 1)))
    >>> d = block_scaled_dot(a, b, f32.encode([[0]]), scale.encode([[4]]), scale.encode([[0.5]]), (e2m1, e2m1, f32, scale), Fused(35, 23, -133))
    >>> f32.decode(d)   # 32 * 4 * 0.5
    array([[64.]], dtype=float32)
    """
    a_value, b_value = kinds[0].decode(a).astype(np.float64), kinds[1].decode(b).astype(np.float64)
    c_value, c_exp = _split(c, kinds[2])
    (sa_value, sa_exp), (sb_value, sb_exp) = _split(scale_a, kinds[3]), _split(scale_b, kinds[3])
    blocks, vectors = a.shape[-1] // group, scale_a.shape[-1]
    top = np.maximum(c_exp, rule.floor)
    for v in range(vectors):
        top = np.maximum(top, sa_exp[..., v, None] + sb_exp[..., None, v, :])
    scale = _power(rule.fraction_bits - top)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        odd = np.where(np.isfinite(c_value), 0.0, c_value)
        total = np.trunc(np.where(np.isfinite(c_value), c_value, 0.0) * scale)
        for block in range(blocks):
            part, v = slice(group * block, group * block + group), block * vectors // blocks
            factor = sa_value[..., v, None] * sb_value[..., None, v, :]
            odd = odd + np.where(np.isnan(factor), np.nan, 0.0)
            total = total + np.trunc(
                a_value[..., part] @ b_value[..., part, :] * np.where(np.isnan(factor), 0.0, factor) * scale
            )
        value = np.where(odd == 0, total / scale, odd)
    return rounded(value, kinds[2], rule.result_bits)


# -- integers -----------------------------------------------------------------------------------------------------------


def integer_add(products: Array, c: Array, satfinite: bool) -> Array:
    """Exact sums of products plus s32 codes c -> s32 codes, wrapped or clamped.

    >>> products, c = np.array([5, 5]), np.array([1, 0x7FFFFFFF], dtype=np.uint32)
    >>> [hex(code) for code in integer_add(products, c, satfinite=False)], hex(integer_add(products, c, satfinite=True)[1])
    (['0x6', '0x80000004'], '0x7fffffff')
    """
    if not satfinite:
        return products.astype(np.int32).view(np.uint32) + c
    total = products.astype(np.int64) + c.view(np.int32)
    return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32)
