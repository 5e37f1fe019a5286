"""Arithmetic over arrays that NumPy does not have.

Fused multiply-adds in float64, in every rounding mode, and in float32; exact products of small matrices,
computed in the calling thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_FAR = 120  # powers of two: an addend that much smaller acts only as a sticky bit
#: Multiplications in a product up to which OpenBLAS, which NumPy's wheels contain, starts no other threads
#: (SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD in its interface/gemm.c).
_ONE_THREAD = 65536 * 4


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y as a rounded sum and what it lost, exactly (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
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

    The product and the sum are split without error (Boldo and Melquiond 2008) in a range where nothing
    overflows; the remainder is rounded to the grid of the result, which subnormals make coarser.

    >>> x = 1 + 2.0**-30
    >>> float(fma(x, x, -1 - 2.0**-29)) == 2.0**-60   # x * x, rounded first, would leave 0
    True
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (a, b, c)))
    with np.errstate(all="ignore"):
        product = a * b
        zero = (a == 0) | (b == 0)
        not_finite = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
        cancelled = -0.0 if rounding == "rm" else 0.0  # what x - x gives
        plain = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, product + c)
        opposite_zeros = zero & ~not_finite & (c == 0) & (np.signbit(product) != np.signbit(c))
        plain = np.where(opposite_zeros, cancelled, plain)
        plain = np.where(zero & ~not_finite & (c != 0), c, plain)

        (ma, ea), (mb, eb), (mc, ec) = np.frexp(a), np.frexp(b), np.frexp(c)
        shift = np.where(c == 0, 0, ec - (ea + eb))
        base = ea + eb + np.maximum(shift - _FAR, 0)
        high, low = two_product(ma, mb)
        near, far = two_sum(np.ldexp(mc, np.clip(shift, -_FAR, _FAR)), low)
        total, lost = two_sum(high, near)
        total, rest = two_sum(total, _to_odd(*two_sum(far, lost)))
        rounded = round_scaled(total, rest, base, rounding)
        rounded = np.where(total == 0, cancelled, rounded)
    return np.where(zero | not_finite, plain, rounded)


def round_scaled(total: Array, rest: Array, base: Array, rounding: str | None) -> Array:
    """(total + rest) * 2^base, rounded to float64; |rest| is at most half a unit of total's last place."""
    negative, magnitude, rest = np.signbit(total), np.abs(total), np.copysign(1.0, total) * rest
    fraction, exponent = np.frexp(magnitude)
    exponent = exponent - ((fraction == 0.5) & (rest < 0))
    grid = np.maximum(exponent - 53, -1074 - base)
    near = np.minimum(grid, 200)  # coarser than any number here
    whole = np.floor(np.ldexp(magnitude, -near))
    part, tail = two_sum(np.ldexp(magnitude, -near) - whole, np.ldexp(rest, -near))

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
    if rounding is not None:  # overflow gives infinity only in the direction of rounding
        outward = {"rz": np.zeros_like(negative), "rm": negative, "rp": ~negative}[rounding]
        value = np.where(np.isinf(value) & ~outward, np.finfo(np.float64).max, value)
    return np.asarray(np.where(negative, -value, value))


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """float32 a * b + c, rounded once, for factors whose product float64 holds exactly.

    >>> one = np.float32([1])
    >>> float(fma_f32(one + np.float32(2**-12), one + np.float32(2**-12), -one)[0]) == 2**-11 + 2**-24
    True
    """
    wide = _to_odd(*two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)))
    return wide.astype(np.float32)


def exact_product(a: Array, b: Array) -> Array:
    """a [..., M, K] times b [..., K, N], in parts so small that BLAS uses no other threads.

    The emulator has its own threads, as many as the process may use. BLAS would take every core of the
    machine, and is many times slower with them for products of this size. Sums must be exact, so that the
    bits do not depend on how rows are divided.

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
