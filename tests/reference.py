"""The tensor core one number at a time, in exact fractions: slow, plain, and written apart from ptxlab.arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

Term = tuple[Fraction, int]  # exact value, exponent as the hardware sees it


def decode(code: int, exponent_bits: int, fraction_bits: int, *, ieee: bool = True, ignored: int = 0) -> tuple[Fraction | float, int]:
    """(value, exponent) of a float code; infinities and NaN as floats. `ieee`: the top exponent is for infinity and NaN."""
    code >>= ignored
    fraction = code & ((1 << fraction_bits) - 1)
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1 if code >> (fraction_bits + exponent_bits) & 1 else 1
    bias = (1 << (exponent_bits - 1)) - 1
    if field == (1 << exponent_bits) - 1 and (ieee or (exponent_bits == 4 and fraction == 7)):
        return (math.inf * sign if fraction == 0 and ieee else math.nan), field - bias
    exponent = max(field, 1) - bias
    significand = Fraction(fraction + (1 << fraction_bits if field else 0), 1 << fraction_bits)
    return sign * significand * Fraction(2) ** exponent, exponent


FORMATS = {
    "tf32": {"exponent_bits": 8, "fraction_bits": 10, "ignored": 13},
    "f32": {"exponent_bits": 8, "fraction_bits": 23},
    "f16": {"exponent_bits": 5, "fraction_bits": 10},
    "bf16": {"exponent_bits": 8, "fraction_bits": 7},
    "e5m2": {"exponent_bits": 5, "fraction_bits": 2},
    "e4m3": {"exponent_bits": 4, "fraction_bits": 3, "ieee": False},
    "e2m1": {"exponent_bits": 2, "fraction_bits": 1, "ieee": False},
}


def cut(value: Fraction, grain: Fraction) -> Fraction:
    """Toward zero to a multiple of the grain."""
    return Fraction(math.trunc(value / grain)) * grain


def aligned_sum(terms: list[Term], fraction_bits: int, floor: int) -> Fraction:
    present = [exponent for value, exponent in terms if value]
    grain = Fraction(2) ** (max([floor, *present]) - fraction_bits)
    return sum((cut(value, grain) for value, _ in terms), Fraction(0))


def exponent_of(value: Fraction) -> int:
    """Exponent of the leading bit."""
    value = abs(value)
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def to_f32(value: Fraction, result_bits: int) -> int:
    """Code of f32, cut toward zero to `result_bits` of fraction."""
    if value == 0:
        return 0
    grain = Fraction(2) ** (max(exponent_of(value), -126) - result_bits)
    kept = abs(cut(value, grain))
    if kept == 0:
        return 0
    if kept >= Fraction(2) ** 128:
        return 0x7F800000 | (value < 0) << 31
    exponent = max(exponent_of(kept), -126)
    units = int(kept / Fraction(2) ** (exponent - 23))
    return (units + ((exponent + 126) << 23)) | (value < 0) << 31


def to_f16(value: Fraction) -> int:
    """Code of f16, to nearest, ties to even."""
    if value == 0:
        return 0
    exponent = max(exponent_of(value), -14)
    units = abs(value) / Fraction(2) ** (exponent - 10)
    code = round(units) + ((exponent + 14) << 10)
    if code == 0:
        return 0
    return min(code, 0x7C00) | (value < 0) << 15


def _sign(value: Fraction | float) -> float:
    """1, -1, 0 or NaN; times infinity that is what a product with an infinite factor comes to."""
    return value if value != value else float((value > 0) - (value < 0))


def fused(products: list[tuple[int, int]], c: int, types: tuple[str, str, str], fraction_bits: int, result_bits: int, floor: int = -133) -> int:
    """Code of D for pairs of codes (a, b) and the code of C."""
    terms: list[Term] = []
    odd = 0.0
    start, at = decode(c, **FORMATS[types[2]])
    if isinstance(start, float):
        odd += start
    else:
        terms.append((start, at))
    for a, b in products:
        (x, ex), (y, ey) = decode(a, **FORMATS[types[0]]), decode(b, **FORMATS[types[1]])
        if isinstance(x, float) or isinstance(y, float):
            odd += _sign(x) * _sign(y) * math.inf
        else:
            terms.append((x * y, ex + ey))
    if odd:
        if math.isnan(odd):
            return 0x7FFF if types[2] == "f16" else 0x7FFFFFFF
        infinite = 0x7C00 if types[2] == "f16" else 0x7F800000
        return infinite | (odd < 0) << (15 if types[2] == "f16" else 31)
    total = aligned_sum(terms, fraction_bits, floor)
    return to_f16(total) if types[2] == "f16" else to_f32(total, result_bits)


def nearest(value: Fraction, kind: str) -> int:
    """Code of f32 or f16 nearest to a value, ties to even; a zero is +0."""
    if kind == "f16":
        return to_f16(value)
    if value == 0:
        return 0
    exponent = max(exponent_of(value), -126)
    code = round(abs(value) / Fraction(2) ** (exponent - 23)) + ((exponent + 126) << 23)
    return min(code, 0x7F800000) | (value < 0) << 31 if code else 0


def as_f16(code: int, kind: str) -> int:
    """The f16 code of an FP8 code; exact, for f16 holds every FP8 value."""
    value, _ = decode(code, **FORMATS[kind])
    sign = code >> 7 << 15
    if isinstance(value, float):
        return 0x7FFF if value != value else 0x7C00 | sign
    return to_f16(value) | sign


def by_way_of_f16(products: list[tuple[int, int]], c: int, types: tuple[str, str, str]) -> int:
    """FP8 mma.sync on sm_90: lower pairs, then upper pairs of every register through fused steps of f16 from zero, then + C."""
    accumulator = types[2]
    total = 0
    for half in (0, 1):
        pairs = [(as_f16(a, types[0]), as_f16(b, types[1])) for k, (a, b) in enumerate(products) if k // 2 % 2 == half]
        total = fused(pairs, total, ("f16", "f16", accumulator), 25, 23)
    (x, _), (y, _) = decode(total, **FORMATS[accumulator]), decode(c, **FORMATS[accumulator])
    if isinstance(x, float) or isinstance(y, float):
        odd = float(x) + float(y) if x == x and y == y and (isinstance(x, float) and isinstance(y, float)) else x if isinstance(x, float) else y
        if odd != odd or x != x or y != y:
            return 0x7FFF if accumulator == "f16" else 0x7FFFFFFF
        return (0x7C00 if accumulator == "f16" else 0x7F800000) | (odd < 0) << (15 if accumulator == "f16" else 31)
    return nearest(x + y, accumulator)
