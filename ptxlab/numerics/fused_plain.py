"""The fused sum in plain Python: one element of D at a time, in exact fractions.

This is the rule. `fused_numpy.py` (NumPy, whole batches) and `fused_numba.py` (numba) give the same bits, and
`Fused` of `rules/fused.py` has the numbers of each chip. Only Python's own numbers are used here, so that
tests compare forms that were written apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

#: What a code stands for: a fraction; infinities and NaN are Python's.
Value = Fraction | float


class FloatFields(NamedTuple):
    """The fields of a float type, below its sign bit if it has one."""

    exponent_bits: int
    fraction_bits: int
    #: What the largest exponent field means:
    #: "infinity": infinity if the fraction is 0, else NaN, as in IEEE 754;
    #: "nan": NaN if the fraction is the largest as well, else a number;
    #: "number": a number, whatever the fraction is.
    largest: str = "infinity"
    ignored_bits: int = 0


FORMATS = {
    "f16": FloatFields(5, 10),
    "bf16": FloatFields(8, 7),
    "tf32": FloatFields(8, 10, ignored_bits=13),
    "f32": FloatFields(8, 23),
    "f64": FloatFields(11, 52),
    "e5m2": FloatFields(5, 2),
    "e4m3": FloatFields(4, 3, "nan"),
    "e3m2": FloatFields(3, 2, "number"),
    "e2m3": FloatFields(2, 3, "number"),
    "e2m1": FloatFields(2, 1, "number"),
    "ue8m0": FloatFields(8, 0, "nan"),
    "ue4m3": FloatFields(4, 3, "nan"),
    "ue5m3": FloatFields(5, 3, "nan"),
}
#: Types without a sign bit; `ue4m3` ignores its eighth bit.
_UNSIGNED = ("ue8m0", "ue4m3", "ue5m3")

#: Codes of what tensor cores give: NaN, infinity, and the bit of a negative sign.
NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF}
INFINITY = {"f16": 0x7C00, "f32": 0x7F800000}
NEGATIVE = {"f16": 0x8000, "f32": 0x80000000}


@lru_cache(maxsize=None)
def power(exponent: int) -> Fraction:
    """2^exponent."""
    return Fraction(2) ** exponent


@lru_cache(maxsize=1 << 16)
def decode(code: int, dtype: str) -> tuple[Value, int]:
    """The value of a code, and its exponent; a subnormal has the exponent of the least normal number."""
    exponent_bits, fraction_bits, largest, ignored_bits = FORMATS[dtype]
    code >>= ignored_bits
    fraction = code & (1 << fraction_bits) - 1
    field = code >> fraction_bits & (1 << exponent_bits) - 1
    is_negative = dtype not in _UNSIGNED and code >> exponent_bits + fraction_bits & 1
    bias = (1 << exponent_bits - 1) - 1
    top_field, top_fraction = (1 << exponent_bits) - 1, (1 << fraction_bits) - 1
    if largest == "infinity" and field == top_field:
        return (math.nan if fraction else -math.inf if is_negative else math.inf), field - bias
    if largest == "nan" and (field, fraction) == (top_field, top_fraction):
        return math.nan, field - bias
    if dtype == "ue8m0":  # it has neither zero nor subnormals
        return power(field - bias), field - bias
    exponent = max(field, 1) - bias
    units = fraction + (1 << fraction_bits if field else 0)
    return (-1 if is_negative else 1) * units * power(exponent - fraction_bits), exponent


def fused(
    products: Sequence[tuple[int, int]],
    c: int,
    types: tuple[str, str, str],
    numbers: tuple[int, int, int],
    *,
    scales: Sequence[tuple[int, int]] = (),
    scale_type: str = "ue8m0",
    block: int = 1,
    c_shift: int = 0,
) -> int:
    """The code of D = C * 2^-c_shift + the sum of products, which are pairs of codes of A and B.

    `types` are those of A, of B, and of C and D. `numbers` are the fraction bits of aligned terms, those of D
    if it is f32, and the least exponent that terms are aligned to. `scales` are pairs of codes, each for an
    equal part of the products. With a `block`, so many products are added exactly and make one term.

    >>> one, large = 0x3C00, 0x4B800000   # 1 in f16, 2^24 in f32
    >>> hex(fused([(one, one), (one, one)], large, ("f16", "f16", "f32"), (25, 23, -133)))   # 2^24 + 2
    '0x4b800001'
    """
    fraction_bits, result_bits, floor = numbers
    a_type, b_type, d_type = types
    start, start_exponent = decode(c, d_type)
    terms = [multiply(start, power(-c_shift))]
    exponents = [start_exponent - c_shift] if start else []
    for first in range(0, len(products), block):
        term: Value = Fraction(0)
        exponent = 0
        for a, b in products[first : first + block]:
            (x, x_exponent), (y, y_exponent) = decode(a, a_type), decode(b, b_type)
            term = add([term, multiply(x, y)])
            if block == 1:  # a product has the exponents of its factors, a block those of its scales
                exponent = x_exponent + y_exponent
        scaled_by_zero = False
        if scales:
            for code in scales[first * len(scales) // len(products)]:
                scale, scale_exponent = decode(code, scale_type)
                term, exponent = multiply(term, scale), exponent + scale_exponent
                scaled_by_zero |= scale == 0
        terms.append(term)
        # A product that is zero does not count; a block whose sum is zero does, unless a scale is zero.
        counts = bool(term) or (block > 1 and not scaled_by_zero)
        if counts:
            exponents.append(exponent)
    grain = power(max([floor, *exponents]) - fraction_bits)
    total = add(truncate(term, grain) for term in terms)
    if d_type == "f32":
        total = truncate(total, power(max(exponent_of(total), -126) - result_bits))
    return rounded(total, d_type)


def truncate(value: Value, grain: Fraction) -> Value:
    """Toward zero to a multiple of the grain; infinities and NaN stay."""
    return math.trunc(value / grain) * grain if isinstance(value, Fraction) else value


def add(values: Iterable[Value]) -> Value:
    """An exact sum; with infinities or NaN, what IEEE 754 says of these."""
    terms = list(values)
    specials = [value for value in terms if isinstance(value, float)]
    return sum(specials) if specials else sum(terms, Fraction(0))


def multiply(x: Value, y: Value) -> Value:
    """An exact product; with infinities or NaN, what IEEE 754 says of these."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return sign(x) * sign(y) * math.inf


def sign(value: Value) -> float:
    """1, -1, 0 or NaN; times infinity, it is the product with an infinite factor."""
    if value != value or value == 0:
        return float(value)
    return 1.0 if value > 0 else -1.0


def rounded(value: Value, dtype: str) -> int:
    """The nearest code of f16 or f32, ties to even; a zero is +0, and what is too large is infinity."""
    if not value:
        return 0
    if math.isnan(value):
        return NAN[dtype]
    negative = NEGATIVE[dtype] if value < 0 else 0
    if isinstance(value, float):
        return INFINITY[dtype] | negative
    exponent_bits, fraction_bits, *_ = FORMATS[dtype]
    lowest = 2 - (1 << exponent_bits - 1)
    exponent = max(exponent_of(value), lowest)
    units = round(abs(value) / power(exponent - fraction_bits))
    # the next exponent follows the largest fraction, so that a carry needs no case of its own
    code = min(units + (exponent - lowest << fraction_bits), INFINITY[dtype])
    return code | negative if code else 0


def exponent_of(value: Value) -> int:
    """The exponent of the leading bit; 0 where there is none."""
    if not value or isinstance(value, float):
        return 0
    value = abs(value)
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= power(guess) else guess - 1
