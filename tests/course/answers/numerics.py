"""Answers to the exercises of lesson 21: worked out by hand from the published rule of the fused sum."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np


def exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def truncate(x: float, place: int) -> float:
    return math.trunc(x * 2.0**-place) * 2.0**place


def to_nearest(x: float, place: int) -> float:
    return round(x * 2.0**-place) * 2.0**place


def downwards(x: float, place: int) -> float:
    return math.floor(x * 2.0**-place) * 2.0**place


def exponents(c: float, a: list[float], b: list[float]) -> list[int]:
    """The exponents of all terms that are not zero."""
    products = [exponent(x) + exponent(y) for x, y in zip(a, b, strict=True) if x * y != 0]
    return [*products, exponent(c)] if c else products


Cut = Callable[[float, int], float]


def fused(
    c: float, a: list[float], b: list[float], bits: int = 25, cut: Cut = truncate, last: Cut = truncate
) -> float:
    """As the task says it; with other cuts of the terms, or a last one of the sum, as readers write them."""
    tops = exponents(c, a, b)
    if not tops:
        return 0
    total = sum(cut(term, max(tops) - bits) for term in [c, *(x * y for x, y in zip(a, b, strict=True))])
    return last(total, exponent(total) - 23) if total else 0.0


def fused_by_fractions(c: float, a: list[float], b: list[float]) -> np.float32:
    """The same with exact fractions and integers."""
    terms = [
        (Fraction(c), exponent(c)),
        *((Fraction(x) * Fraction(y), exponent(x) + exponent(y)) for x, y in zip(a, b, strict=True)),
    ]
    top = max((place for value, place in terms if value), default=0)
    units = sum(int(value * Fraction(2) ** (25 - top)) for value, _ in terms)
    spare = max(0, abs(units).bit_length() - 24)
    sign = -1 if units < 0 else 1
    return np.float32(sign * (abs(units) >> spare << spare) * 2.0 ** (top - 25))


def chain(c: float, a: list[float], b: list[float]) -> float:
    total = np.float32(c)
    for x, y in zip(a, b, strict=True):
        total = total + np.float32(x * y)
    return float(total)


def normalised(c: float, a: list[float], b: list[float]) -> float:
    return fused(c, [x * y for x, y in zip(a, b, strict=True)], [1.0] * 4)


def aligned_to_products(c: float, a: list[float], b: list[float]) -> float:
    tops = exponents(0, a, b) or exponents(c, a, b)
    total = sum(truncate(term, max(tops, default=0) - 25) for term in [c, *map(operator.mul, a, b)])
    return truncate(total, exponent(total) - 23) if total else 0.0


def with_zeros(c: float, a: list[float], b: list[float]) -> float:
    top = max(exponent(c), *(exponent(x) + exponent(y) for x, y in zip(a, b, strict=True)))
    total = sum(truncate(term, top - 25) for term in [c, *(x * y for x, y in zip(a, b, strict=True))])
    return truncate(total, exponent(total) - 23) if total else 0.0


def exact(c: float, a: list[float], b: list[float]) -> float:
    return c + sum(x * y for x, y in zip(a, b, strict=True))


def last_truncation(
    c: float, a: list[float], b: list[float], fraction: int, of_sum: bool = True, c_too: bool = True
) -> float:
    """The rule with another last cut, or with C left whole."""
    tops = exponents(c, a, b)
    if not tops:
        return 0.0
    total = truncate(c, max(tops) - 25) if c_too else c
    total += sum(truncate(x * y, max(tops) - 25) for x, y in zip(a, b, strict=True))
    if not total:
        return 0.0
    top = exponent(total) if of_sum else max(tops)
    return truncate(total, top - fraction)


def added_exactly(c: float, a: list[float], b: list[float]) -> float:
    total = float(sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(c)))
    return truncate(total, exponent(total) - 23) if total else 0.0


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "21.1": "(16777216, 16777218)",
    "21.2": "0x3F800001",
    "21.3": "(26, 25)",
    "21.4": "(2**24 + 2, 2**24)",
    "21.5": "([1, -1, 2**-10, 2**-12], [1, 1, 2**-10, 2**-13], 0)",
    "21.6": "32768",
    "21.7": (
        "(lambda terms, top: (lambda s: truncate(s, exponent(s) - 23) if s else 0.0)(sum(truncate(t, top - "
        "25) for t in terms)))([c, *(x * y for x, y in zip(a, b))], max([exponent(x) + exponent(y) for x, "
        "y in zip(a, b) if x * y] + [exponent(c)] * (c != 0), default=0))"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("21.5", [np.array([128, -1.0]), np.array([256, 1 + 2**-10]), np.float32(0)]),
    ("21.5", ([1, 2**-12, 0, 0, 0, 0, 0, 1], [-1, 2**-13, 0, 0, 0, 0, 0, 2**-9], 1.0)),
    ("21.7", fused),
    ("21.7", fused_by_fractions),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("21.1", (2**24 + 2, 2**24), "wrong order"),
    ("21.1", (2**24, 2**24 + 3), "odd"),
    ("21.1", (2**24, 2**24 + 4), "nearest even"),
    ("21.1", (2**24 + 4, 2**24 + 2), "after every addition"),
    ("21.1", (2**24, 2**24), "chain is right"),
    ("21.1", (2**24 + 2, 2**24 + 2), "core is right"),
    ("21.1", (0, 0), "truncates once"),
    ("21.2", 0x3F800000, "None is lost"),
    ("21.2", 0x3F800002, "rounded"),
    ("21.2", 0x3F800003, "half"),
    ("21.2", 0x34400000, "about 1"),
    ("21.2", 2**32, "32 bits"),
    ("21.2", 0x3F800004, "how many halves"),
    ("21.2", 1, "exactly"),
    ("21.3", (25, 24), "one lower"),
    ("21.3", (25, 26), "other way round"),
    ("21.3", (27, 26), "not the first"),
    ("21.3", (24, 23), "23 fraction bits"),
    ("21.3", (26, 26), "by one bit"),
    ("21.3", (126, 125), "beside it"),
    ("21.3", (11, 10), "largest exponent"),
    ("21.4", (2**24, 2**24 + 2), "other way round"),
    ("21.4", (2**24 + 2, 2**24 + 2), "before the second step"),
    ("21.4", (2**24, 2**24), "same step"),
    ("21.4", (2**24 + 2, 2**24 + 1), "even numbers"),
    ("21.4", (2**24 + 2, 2**24 + 4), "sm_90 is right"),
    ("21.4", (2**24 + 4, 2**24), "sm_80 is right"),
    ("21.4", (2, 2), "carry"),
    ("21.5", ([1, 2], [3, 4], 0), "keep every bit"),
    ("21.5", ([1, -1, 2**-12], [1, 1, 2**-13], 0), "as in the table"),
    ("21.5", ([1, -1, 2**-12], [1, 1, 2**-12], 0), "keep every bit"),
    ("21.5", ([1, -1, 2**-12], [1, 1], 0), "equally long"),
    ("21.5", ([1], [1], 0), "single term"),
    ("21.5", ([1, -1, 2**-30], [1, 1, 1], 0), "became 0"),
    ("21.5", ([1, -1, 2**-14], [1, 1, 2**-14], 0), "lost on both"),
    ("21.5", ([1, 2**-12], [1, 2**-13], 0), "does not show"),
    ("21.5", ([1e6], [1], 0), "65504"),
    ("21.5", ([1] * 9, [1] * 9, 0), "at most 8"),
    ("21.5", (1, 2), "three parts"),
    ("21.5", (["x"], [1], 0), "not numbers"),
    ("21.5", ([float("inf")], [1], 0), "finite"),
    ("21.6", 2048, "single 1"),
    ("21.6", 65504, "half a step"),
    ("21.6", 16384, "at most 16 apart"),
    ("21.6", 2**24, "float32"),
    ("21.6", 32784, "tie"),
    ("21.6", 32752, "goes on"),
    ("21.6", 5000, "2^(e-10)"),
    ("21.7", chain, "chain of float32"),
    ("21.7", added_exactly, "truncated first"),
    ("21.7", exact, "exact sum"),
    ("21.7", lambda c, a, b: float(np.float32(exact(c, a, b))), "round to nearest"),
    ("21.7", lambda c, a, b: last_truncation(c, a, b, 24), "24 fraction bits"),
    ("21.7", lambda c, a, b: last_truncation(c, a, b, 23, of_sum=False), "exponent of the *sum*"),
    ("21.7", lambda c, a, b: last_truncation(c, a, b, 23, c_too=False), "C is a term"),
    ("21.7", normalised, "normalised"),
    ("21.7", with_zeros, "A zero must not"),
    ("21.7", aligned_to_products, "C takes part"),
    ("21.7", lambda c, a, b: fused(c, a, b, cut=to_nearest), "every term to nearest"),
    ("21.7", lambda c, a, b: fused(c, a, b, cut=downwards), "toward zero"),
    ("21.7", lambda c, a, b: fused(c, a, b, last=to_nearest), "result to nearest"),
    ("21.7", lambda c, a, b: fused(c, a, b, last=lambda total, _: total), "too many bits"),
    ("21.7", lambda c, a, b: fused(c, a, b, 24), "Ampere"),
    ("21.7", lambda c, a, b: fused(c, a, b, 23), "keep 23 bits"),
    ("21.7", lambda c, a, b: -fused(c, a, b), "sign"),
    ("21.7", lambda c, a, b: fused(c, a, b) + 1, "zeros"),
    ("21.7", lambda c, a, b: 0.0, "trace"),
    ("21.7", lambda c, a, b: math.log2(max(abs(x) for x in (c, *a))), "Zeros do not count"),
    ("21.7", lambda c, a, b: None, "return"),
    ("21.7", lambda c, a, b: "x", "not a number"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "21.1": r"16777218|is 2\^24 \+ 2",
    "21.2": r"0001",
    "21.3": r"\b26\b|\b25\b",
    "21.4": r"16777218|2\^24 \+ 2",
    "21.6": r"32768|2\^15",
    "21.7": r"\bmax\(|\bsum\(",
}
