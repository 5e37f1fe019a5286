"""Floating-point formats as data, their values in float64, and rounding to them in every mode.

A value that a narrow format cannot hold arrives here as a float64 rounded to odd, whose last bit says that
something is missing: rounding it again, in any mode, is then exact (Boldo and Melquiond 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arithmetic import two_product, two_sum
from .opcode import Array


@dataclass(frozen=True)
class Format:
    """A format: the bits of exponent and fraction, where they lie in a register, and its special codes.

    >>> f16 = FORMATS["f16"]
    >>> hex(f16.infinity), hex(f16.largest), f16.decode(np.uint16([0x3C00, 0x0001])).tolist()
    ('0x7c00', '0x7bff', [1.0, 5.960464477539063e-08])
    """

    name: str
    bits: int  # of a value in a register
    exponent: int
    fraction: int
    nan: int  # what an operation returns for NaN
    infinite: bool = True  # whether the largest exponent is for infinities and NaNs
    largest_code: int | None = None
    padding: int = 0  # bits below the fraction that are 0: tf32 is an f32 in a register

    @property
    def bias(self) -> int:
        """What the exponent field adds to the exponent."""
        return (1 << self.exponent - 1) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a register that holds one value."""
        return np.dtype(f"u{max(self.bits // 8, 1)}")

    @property
    def sign(self) -> int:
        """The sign bit, as a code."""
        return 1 << (self.exponent + self.fraction + self.padding)

    @property
    def infinity(self) -> int:
        """The code of infinity, or the first code above the largest number."""
        if not self.infinite:
            return self.largest + 1
        return (((1 << self.exponent) - 1) << self.fraction) << self.padding

    @property
    def largest(self) -> int:
        """The code of the largest finite number."""
        if self.largest_code is not None:
            return self.largest_code
        return ((((1 << self.exponent) - 1) << self.fraction) - 1) << self.padding

    @property
    def smallest_normal(self) -> int:
        """The code of the smallest normal number."""
        return 1 << self.fraction + self.padding

    def is_nan(self, codes: Array) -> Array:
        """Where codes are NaN."""
        magnitude = codes & self.dtype.type(self.sign - 1)
        return np.asarray(magnitude > self.dtype.type(self.infinity if self.infinite else self.largest))

    def flush(self, codes: Array) -> Array:
        """Codes with subnormal numbers replaced by zeros of their sign."""
        number = self.dtype.type
        # 0 - 1 wraps around, so that zeros do not count
        subnormal = (codes & number(self.sign - 1)) - number(1) < number(self.smallest_normal - 1)
        return np.where(subnormal, codes & number(self.sign), codes) if subnormal.any() else codes

    def decode(self, codes: Array) -> Array:
        """The values of codes, in float64."""
        if self.name in ("f32", "tf32"):
            return codes.view(np.float32).astype(np.float64)
        if self.name == "f64":
            return codes.view(np.float64)
        if self.name == "f16":
            return codes.view(np.float16).astype(np.float64)
        if self.name == "bf16":
            return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return np.asarray(self._values[codes])

    @cached_property
    def _values(self) -> Array:
        """The value of every code of a format of at most 8 bits; bits above the sign are ignored."""
        codes = np.arange(256) & (2 * self.sign - 1)
        magnitude = codes & (self.sign - 1)
        field, fraction = magnitude >> self.fraction, magnitude & (1 << self.fraction) - 1
        significand = np.where(field > 0, fraction + (1 << self.fraction), fraction)
        values = np.ldexp(significand.astype(np.float64), np.maximum(field, 1) - self.bias - self.fraction)
        if self.infinite:
            values = np.where(magnitude == self.infinity, np.inf, values)
            values = np.where(magnitude > self.infinity, np.nan, values)
        else:
            values = np.where(magnitude > self.largest, np.nan, values)
        return np.where(codes & self.sign != 0, -values, values)

    def encode(
        self,
        values: Array,
        rounding: str = "rn",
        *,
        finite: bool = False,
        random: Array | None = None,
        random_bits: int = 0,
    ) -> Array:
        """The codes of values, rounded rn, rz, rm, rp, rna or rs; `finite` gives the largest for infinity.

        `rs` adds `random`, numbers of `random_bits` bits, to the upper bits of what is cut off; a carry
        rounds up.

        >>> FORMATS["e4m3"].encode(np.float64([1.0625, 500.0]), finite=True).tolist()
        [56, 126]
        """
        if self.name == "f64":
            codes = values.view(np.uint64)
        elif rounding == "rn" and not finite and self.name in ("f16", "f32"):  # NumPy rounds once, to even
            codes = values.astype(f"f{self.bits // 8}").view(self.dtype)
        elif rounding == "rn" and not finite and self.name == "bf16":
            codes = _to_bfloat16(values)
        else:
            codes = self._round(values, rounding, finite, random, random_bits)
        nan = np.isnan(values)
        return np.where(nan, self.dtype.type(self.nan), codes) if nan.any() else codes

    def _round(
        self, values: Array, rounding: str, finite: bool, random: Array | None, random_bits: int
    ) -> Array:
        raw = np.ascontiguousarray(values).view(np.int64)
        negative, magnitude = raw < 0, raw & np.int64((1 << 63) - 1)
        field = magnitude >> np.int64(52)
        significand = magnitude & np.int64((1 << 52) - 1) | np.int64(1 << 52)
        first = 1024 - self.bias  # float64's field of the smallest normal exponent
        cut_off = 52 - self.fraction + np.maximum(first - field, 0)
        drop = np.minimum(cut_off, 60)
        truncated = significand >> drop
        rest = significand - (truncated << drop)
        half = np.int64(1) << drop - 1
        if rounding == "rn":
            up = (rest > half) | (rest == half) & (truncated & 1 != 0)
        elif rounding == "rna":
            up = rest >= half
        elif rounding == "rz":
            up = np.zeros_like(negative)
        elif random is not None:
            up = (rest >> np.minimum(cut_off - random_bits, 63)) + random.astype(np.int64) >= 1 << random_bits
        else:
            up = (rest != 0) & (negative == (rounding == "rm"))
        code = (np.maximum(field - first, 0) << np.int64(self.fraction)) + truncated + up
        code = np.where(magnitude == 0, 0, code) << np.int64(self.padding)

        infinite = field == 2047
        over = (code > self.largest) | infinite
        if over.any():
            limit = np.full(code.shape, self.largest if finite else self.infinity, np.int64)
            if rounding == "rz":
                limit = np.where(infinite, limit, self.largest)
            elif rounding in ("rm", "rp"):
                limit = np.where(infinite | (negative == (rounding == "rm")), limit, self.largest)
            code = np.where(over, limit, code)
        return np.asarray((code | negative * np.int64(self.sign)).astype(self.dtype))


def _to_bfloat16(values: Array) -> Array:
    """bf16 codes of float64 values, rounded to nearest even by way of float32 rounded to odd."""
    nearest = values.astype(np.float32)
    codes, lost = nearest.view(np.uint32), values - nearest
    inexact_even = (lost != 0) & (codes & np.uint32(1) == 0) & np.isfinite(nearest)
    if inexact_even.any():
        inward = (lost < 0) != (values < 0)
        codes = np.where(inexact_even, codes + np.where(inward, np.uint32(0xFFFFFFFF), np.uint32(1)), codes)
    even = codes >> np.uint32(16) & np.uint32(1)
    return np.asarray((codes + (even + np.uint32(0x7FFF)) >> np.uint32(16)).astype(np.uint16))


#: The formats that PTX computes with. The codes of NaN are those that an H200 returns.
FORMATS = {
    f.name: f
    for f in (
        Format("f16", 16, 5, 10, 0x7FFF),
        Format("bf16", 16, 8, 7, 0x7FFF),
        Format("tf32", 32, 8, 10, 0x7FFFE000, padding=13),
        Format("f32", 32, 8, 23, 0x7FFFFFFF),
        Format("f64", 64, 11, 52, 0xFFF8000000000000),
        Format("e4m3", 8, 4, 3, 0x7F, infinite=False, largest_code=0x7E),
        Format("e5m2", 8, 5, 2, 0x7F),
        Format("e2m3", 8, 2, 3, 0x1F, infinite=False, largest_code=0x1F),
        Format("e3m2", 8, 3, 2, 0x1F, infinite=False, largest_code=0x1F),
        Format("e2m1", 4, 2, 1, 0x7, infinite=False, largest_code=0x7),
    )
}


def _to_odd(total: Array, lost: Array) -> Array:
    """A rounded result and the sign of what it lost -> the result rounded to odd."""
    codes = np.ascontiguousarray(total).view(np.int64)
    inexact_even = (lost != 0) & (codes & 1 == 0) & np.isfinite(total) & ~np.isnan(lost)
    if not inexact_even.any():
        return total
    step = np.where((lost < 0) == (codes < 0), np.int64(1), np.int64(-1))
    return np.asarray(np.where(inexact_even, codes + step, codes).view(np.float64))


def sum_to_odd(x: Array, y: Array) -> Array:
    """x + y in float64, rounded to odd."""
    return _to_odd(*two_sum(x, y))


def remainder(dividend: Array, x: Array, y: Array) -> Array:
    """dividend - x * y if that is small: exact for factors of at most 53 and 24 bits, and for squares."""
    product, lost = two_product(x, y)
    return np.asarray((dividend - product) - lost)


def quotient_to_odd(x: Array, y: Array) -> Array:
    """x / y of values of f32's range, rounded to odd in float64."""
    quotient = np.asarray(x / y)
    lost = remainder(x, quotient, y)
    return _to_odd(quotient, np.where(np.isfinite(quotient) & (y < 0), -lost, lost))


def root_to_odd(x: Array) -> Array:
    """The square root of values of f32's range, rounded to odd in float64."""
    root = np.asarray(np.sqrt(x))
    return _to_odd(root, remainder(x, root, root))
