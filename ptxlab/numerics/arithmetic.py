"""Arithmetic over arrays that NumPy does not have.

Fused multiply-adds in float64 in every rounding mode and in float32, and exact products of small matrices,
computed in the thread that asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_FAR = 120  # powers of two: an addend that much smaller is a sticky bit and no more
#: Multiplications in a product up to which OpenBLAS, which NumPy's wheels contain, starts no other threads
#: (SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD in its interface/gemm.c).
_ONE_THREAD = 65536 * 4


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y as a rounded sum and what it lost, exactly (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """x * y as a rounded product and what it lost, exactly (Dekker), for factors of moderate size."""

    def halves(v: Array) -> tuple[Array, Array]:
        wide = v * 134217729.0  # 2^27 + 1
        high = wide - (wide - v)
        return high, v - high

    product = x * y
    (xh, xl), (yh, yl) = halves(x), halves(y)
    return product, ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _to_odd(total: Array, lost: Array) -> Array:
    """A sum rounded to odd: the last bit is set where something was lost, so that rounding again is safe."""
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    return np.where(
        (lost != 0) & even & np.isfinite(total),
        np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)),
        total,
    )


def fma(a: Array, b: Array, c: Array, rounding: str | None = None) -> Array:
    """a * b + c in float64, rounded once: to nearest even, or toward zero (rz), down (rm), up (rp).

    NumPy has none. The product and the sum are split without error (Boldo and Melquiond 2008) in a range
    where nothing overflows; what is left is rounded to the grid of the result, which subnormals make coarser.

    >>> x = 1 + 2.0**-30
    >>> float(fma(x, x, -1 - 2.0**-29)) == 2.0**-60   # x * x, rounded first, would leave 0
    True
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c)))
    with np.errstate(all="ignore"):
        product = a * b
        zero = (a == 0) | (b == 0)
        odd = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
        unsigned = -0.0 if rounding == "rm" else 0.0  # what x - x gives
        plain = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, product + c)
        plain = np.where(zero & ~odd & (c == 0) & (np.signbit(product) != np.signbit(c)), unsigned, plain)
        plain = np.where(zero & ~odd & (c != 0), c, plain)

        (ma, ea), (mb, eb), (mc, ec) = np.frexp(a), np.frexp(b), np.frexp(c)
        shift = np.where(c == 0, 0, ec - (ea + eb))
        base = ea + eb + np.maximum(shift - _FAR, 0)
        high, low = _two_product(ma, mb)
        near, far = _two_sum(np.ldexp(mc, np.clip(shift, -_FAR, _FAR)), low)
        total, lost = _two_sum(high, near)
        total, rest = _two_sum(total, _to_odd(*_two_sum(far, lost)))
        rounded = round_scaled(total, rest, base, rounding)
        rounded = np.where(total == 0, unsigned, rounded)
    return np.where(zero | odd, plain, rounded)


def round_scaled(total: Array, rest: Array, base: Array, rounding: str | None) -> Array:
    """(total + rest) * 2^base, rounded to float64; |rest| is at most half a unit of total's last place."""
    negative, size, rest = np.signbit(total), np.abs(total), np.copysign(1.0, total) * rest
    fraction, exponent = np.frexp(size)
    exponent = exponent - ((fraction == 0.5) & (rest < 0))
    grid = np.maximum(exponent - 53, -1074 - base)
    near = np.minimum(grid, 200)  # a grid that coarse is coarser than anything
    whole = np.floor(np.ldexp(size, -near))
    part, tail = _two_sum(np.ldexp(size, -near) - whole, np.ldexp(rest, -near))

    def above(limit: Array | float) -> Array:
        """1, 0 or -1: part + tail compared with a limit."""
        return np.where(part == limit, np.sign(tail), np.sign(part - limit))

    carry = np.where(above(0.0) < 0, -1.0, np.where(above(1.0) >= 0, 1.0, 0.0))
    whole = whole + carry
    inexact, half = above(carry) != 0, above(carry + 0.5)
    away = {
        None: (half > 0) | ((half == 0) & (np.mod(whole, 2) == 1)),
        "rz": np.zeros_like(inexact),
        "rm": inexact & negative,
        "rp": inexact & ~negative,
    }[rounding]
    value = np.ldexp(whole + away, grid + base)
    if rounding is not None:  # what is too large becomes infinite only in the direction of rounding
        outward = {"rz": np.zeros_like(negative), "rm": negative, "rp": ~negative}[rounding]
        value = np.where(np.isinf(value) & ~outward, np.finfo(np.float64).max, value)
    return np.asarray(np.where(negative, -value, value))


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """float32 a * b + c, rounded once, for factors whose product float64 holds exactly.

    >>> one = np.float32([1])
    >>> float(fma_f32(one + np.float32(2**-12), one + np.float32(2**-12), -one)[0]) == 2**-11 + 2**-24
    True
    """
    wide = _to_odd(*_two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)))
    return wide.astype(np.float32)


def exact_product(a: Array, b: Array) -> Array:
    """a [..., M, K] times b [..., K, N], so few rows at once that BLAS does not spread them over threads.

    The emulator has threads of its own, as many as the process may use. BLAS would take every core of the
    machine instead, and for products of this size is many times slower with them. Sums must be exact: then
    the bits do not depend on the division.

    >>> exact_product(np.ones((2, 64, 32)), np.ones((2, 32, 256)))[1, 63, 255]
    np.float64(32.0)
    """
    rows, depth = a.shape[-2:]
    columns = b.shape[-1]
    if rows * depth * columns <= _ONE_THREAD:
        return np.asarray(a @ b)
    most = max(1, _ONE_THREAD // (depth * columns))
    step = max(size for size in range(1, min(most, rows) + 1) if rows % size == 0)
    parts = np.asarray(a.reshape(*a.shape[:-2], rows // step, step, depth) @ b[..., None, :, :])
    return parts.reshape(*parts.shape[:-3], rows, columns)
