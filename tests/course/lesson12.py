"""Answers to the exercises of lesson 12: worked out by hand from the published rule of the fused sum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np


def exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def truncate(x: float, place: int) -> float:
    return math.trunc(x * 2.0**-place) * 2.0**place


def exponents(c: float, a: list[float], b: list[float]) -> list[int]:
    """The exponents of all terms that are not zero."""
    products = [exponent(x) + exponent(y) for x, y in zip(a, b, strict=True) if x * y != 0]
    return [*products, exponent(c)] if c else products


def fused(c: float, a: list[float], b: list[float], bits: int = 25) -> float:
    """As the task says it."""
    tops = exponents(c, a, b)
    if not tops:
        return 0
    total = sum(truncate(term, max(tops) - bits) for term in [c, *(x * y for x, y in zip(a, b, strict=True))])
    return truncate(total, exponent(total) - 23) if total else 0.0


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
    "12.1": "(16777216, 16777218)",
    "12.2": "0x3F800001",
    "12.3": "(26, 25)",
    "12.4": "(2**24 + 2, 2**24)",
    "12.5": "([1, -1, 2**-10, 2**-12], [1, 1, 2**-10, 2**-13], 0)",
    "12.6": "32768",
    "12.7": (
        "(lambda terms, top: (lambda s: truncate(s, exponent(s) - 23) if s else 0.0)(sum(truncate(t, top - "
        "25) for t in terms)))([c, *(x * y for x, y in zip(a, b))], max([exponent(x) + exponent(y) for x, "
        "y in zip(a, b) if x * y] + [exponent(c)] * (c != 0), default=0))"
    ),
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "12.1": [(16777216, 16777218), [2**24, 2**24 + 2], np.array([2.0**24, 2.0**24 + 2], dtype=np.float32)],
    "12.2": [0x3F800001, "0x3f800001", 1065353217],
    "12.3": [(26, 25), [26, 25], np.array([26, 25])],
    "12.4": [(16777218, 16777216), (2.0**24 + 2, 2.0**24)],
    "12.5": [
        ([1, -1, 2**-10, 2**-12], [1, 1, 2**-10, 2**-13], 0),
        [
            np.array([128, -1.0]),
            np.array([256, 1 + 2**-10]),
            np.float32(0),
        ],  # crosses a power of two downward
        ([1, 2**-12, 0, 0, 0, 0, 0, 1], [-1, 2**-13, 0, 0, 0, 0, 0, 2**-9], 1.0),  # C cancels
    ],
    "12.6": [32768, 2**15, np.float16(32768), "0x8000"],
    "12.7": [fused, fused_by_fractions],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "12.1": [
        ((2**24 + 2, 2**24), "wrong order"),
        ((2**24, 2**24 + 3), "odd"),
        ((2**24, 2**24 + 4), "nearest even"),
        ((2**24 + 4, 2**24 + 2), "after every addition"),
        ((2**24, 2**24), "chain is right"),
        ((2**24 + 2, 2**24 + 2), "core is right"),
        ((0, 0), "truncates once"),
    ],
    "12.2": [
        (0x3F800000, "None is lost"),
        (0x3F800002, "rounded"),
        (0x3F800003, "half"),
        (0x34400000, "about 1"),
        (2**32, "32 bits"),
        (0x3F800004, "how many halves"),
        (1, "exactly"),
    ],
    "12.3": [
        ((25, 24), "one lower"),
        ((25, 26), "other way round"),
        ((27, 26), "not the first"),
        ((24, 23), "23 fraction bits"),
        ((26, 26), "by one bit"),
        ((126, 125), "beside it"),
        ((11, 10), "largest exponent"),
    ],
    "12.4": [
        ((2**24, 2**24 + 2), "other way round"),
        ((2**24 + 2, 2**24 + 2), "before the second step"),
        ((2**24, 2**24), "same step"),
        ((2**24 + 2, 2**24 + 1), "even numbers"),
        ((2**24 + 2, 2**24 + 4), "sm_90 is right"),
        ((2**24 + 4, 2**24), "sm_80 is right"),
        ((2, 2), "carry"),
    ],
    "12.5": [
        (([1, 2], [3, 4], 0), "keep every bit"),
        (([1, -1, 2**-12], [1, 1, 2**-13], 0), "as in the table"),
        (([1, -1, 2**-12], [1, 1, 2**-12], 0), "keep every bit"),
        (([1, -1, 2**-12], [1, 1], 0), "equally long"),
        (([1], [1], 0), "single term"),
        (([1, -1, 2**-30], [1, 1, 1], 0), "became 0"),
        (([1, -1, 2**-14], [1, 1, 2**-14], 0), "lost on both"),
        (([1, 2**-12], [1, 2**-13], 0), "does not show"),
        (([1e6], [1], 0), "65504"),
        (([1] * 9, [1] * 9, 0), "at most 8"),
        ((1, 2), "three parts"),
        ((["x"], [1], 0), "not numbers"),
        (([float("inf")], [1], 0), "finite"),
    ],
    "12.6": [
        (2048, "single 1"),
        (65504, "half a step"),
        (16384, "at most 16 apart"),
        (2**24, "float32"),
        (32784, "tie"),
        (32752, "goes on"),
        (5000, "2^(e-10)"),
    ],
    "12.7": [
        (chain, "chain of float32"),
        (added_exactly, "truncated first"),
        (exact, "exact sum"),
        (lambda c, a, b: float(np.float32(exact(c, a, b))), "round to nearest"),
        (lambda c, a, b: last_truncation(c, a, b, 24), "24 fraction bits"),
        (lambda c, a, b: last_truncation(c, a, b, 23, of_sum=False), "exponent of the *sum*"),
        (lambda c, a, b: last_truncation(c, a, b, 23, c_too=False), "C is a term"),
        (normalised, "normalised"),
        (with_zeros, "A zero must not"),
        (lambda c, a, b: fused(c, a, b, 24), "Ampere"),
        (lambda c, a, b: fused(c, a, b, 23), "keep 23 bits"),
        (lambda c, a, b: -fused(c, a, b), "sign"),
        (lambda c, a, b: fused(c, a, b) + 1, "zeros"),
        (lambda c, a, b: 0.0, "trace"),
        (lambda c, a, b: math.log2(max(abs(x) for x in (c, *a))), "Zeros do not count"),
        (lambda c, a, b: None, "return"),
        (lambda c, a, b: "x", "not a number"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "12.1": r"16777218|is 2\^24 \+ 2",
    "12.2": r"0001",
    "12.3": r"\b26\b|\b25\b",
    "12.4": r"16777218|2\^24 \+ 2",
    "12.6": r"32768|2\^15",
    "12.7": r"\bmax\(|\bsum\(",
}
