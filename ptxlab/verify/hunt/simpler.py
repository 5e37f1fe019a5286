"""Which codes are simpler than others: what a search for the smallest case tries in place of a code."""

from __future__ import annotations

from typing import NamedTuple

from ...isa.dtypes import DType

#: Complexity of the largest and of the smallest integer of a type, where these are large: an accumulator at
#: the end of its range tells more than one nearby.
_END_OF_RANGE = 1000


class FloatParts(NamedTuple):
    """A float code in parts: sign bit, exponent field, fraction, ignored bits.

    >>> from ptxlab import dtype
    >>> FloatParts.of(dtype("f16"), 0xC100)   # -2.5
    FloatParts(sign=1, exponent=16, fraction=256, ignored=0)
    """

    sign: int
    exponent: int
    fraction: int
    ignored: int = 0

    @classmethod
    def of(cls, dtype: DType, code: int) -> FloatParts:
        """The parts of a code."""
        used = code >> dtype.ignored_bits
        return cls(
            sign=used >> (dtype.fraction_bits + dtype.exponent_bits) & 1,
            exponent=used >> dtype.fraction_bits & ((1 << dtype.exponent_bits) - 1),
            fraction=used & ((1 << dtype.fraction_bits) - 1),
            ignored=code & ((1 << dtype.ignored_bits) - 1),
        )

    def code(self, dtype: DType) -> int:
        """The code that has these parts."""
        used = (self.sign << dtype.exponent_bits | self.exponent) << dtype.fraction_bits | self.fraction
        return used << dtype.ignored_bits | self.ignored


def is_normal(dtype: DType, *exponents: int) -> bool:
    """Whether all exponent fields are those of normal numbers."""
    return all(0 < exponent < (1 << dtype.exponent_bits) - 1 for exponent in exponents)


def complexity(dtype: DType, code: int) -> int:
    """0 for zero, otherwise more for everything that makes a number less plain.

    Of a float: every bit of the fraction, the distance of the exponent from 0, a sign. Of an integer: the
    distance from 0 or from the end of the range, a sign.

    >>> from ptxlab import dtype
    >>> [complexity(dtype("f16"), code) for code in (0x0000, 0x3C00, 0x4000, 0x4200)]   # 0, 1, 2, 3
    [0, 1, 3, 7]
    """
    if code == 0:
        return 0
    if dtype.is_float:
        sign, exponent, fraction, ignored = FloatParts.of(dtype, code)
        distance = abs(exponent - dtype.bias)
        return 1 + sign + 4 * fraction.bit_count() + 2 * distance + ignored.bit_count()
    value = _integer(dtype, code)
    from_end = _END_OF_RANGE + 2 * abs(_end_of_range(dtype, value) - value)
    return min(2 * abs(value), from_end) + (1 if value < 0 else 0)


def simpler_codes(dtype: DType, code: int) -> list[int]:
    """Codes of less complexity that are worth a trial."""
    candidates = _float_candidates(dtype, code) if dtype.is_float else _integer_candidates(dtype, code)
    limit = complexity(dtype, code)
    return [candidate for candidate in dict.fromkeys(candidates) if complexity(dtype, candidate) < limit]


def _integer(dtype: DType, code: int) -> int:
    """The value of an integer code."""
    is_negative = dtype.signed and code >> (dtype.bits - 1)
    return code - (1 << dtype.bits) if is_negative else code


def _end_of_range(dtype: DType, value: int) -> int:
    return dtype.minimum if value < 0 else dtype.maximum


def _integer_candidates(dtype: DType, code: int) -> list[int]:
    value = _integer(dtype, code)
    sign, magnitude, end = (-1 if value < 0 else 1), abs(value), _end_of_range(dtype, value)
    values = [
        0,
        1,
        -1,
        -value,
        sign * (magnitude // 2),
        sign * (magnitude // 16),
        sign * (magnitude - 1),
        sign * (1 << max(magnitude.bit_length() - 1, 0)),
        magnitude & -magnitude,
        end,
        end - (end - value) // 2,
        value + sign,
    ]
    mask = (1 << dtype.bits) - 1
    return [candidate & mask for candidate in values if dtype.minimum <= candidate <= dtype.maximum]


def _float_candidates(dtype: DType, code: int) -> list[int]:
    parts = FloatParts.of(dtype, code)
    fraction, exponent = parts.fraction, parts.exponent
    candidates = [FloatParts(0, dtype.bias, 0), parts._replace(sign=0), parts._replace(ignored=0)]
    lowest_bit, highest_bit = fraction & -fraction, 1 << max(fraction.bit_length() - 1, 0)
    half = dtype.fraction_bits // 2
    fractions = {
        0,
        fraction & ~lowest_bit,
        fraction & ~highest_bit,
        fraction >> half << half,
        fraction & highest_bit,
        lowest_bit,
        fraction & ((1 << half) - 1),
    }
    candidates += [parts._replace(fraction=other) for other in fractions]
    direction = 1 if exponent < dtype.bias else -1
    distance = abs(exponent - dtype.bias)
    for step in {1, 2, distance // 8, distance // 4, distance // 2, distance * 3 // 4, distance}:
        nearer = exponent + direction * step
        if nearer >= 0:
            candidates += [FloatParts(parts.sign, nearer, other) for other in (fraction, 0)]
    return [0, *(candidate.code(dtype) for candidate in candidates)]
