"""Answers to the exercises of lesson 02: worked out by hand from the definitions of the types."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def value(code: int, e: int, m: int, hidden: bool = True, least: int = 1, more: int = 0) -> float:
    """The number of a code of sign, e exponent and m fraction bits; the last three make typical mistakes."""
    exponent, fraction = code >> m & (1 << e) - 1, code & (1 << m) - 1
    bias = 2 ** (e - 1) - 1 + more
    size = fraction / 2**m + (1 if exponent or not hidden else 0)
    return (-1 if code >> e + m & 1 else 1) * size * 2.0 ** (max(exponent, least) - bias)


def exact(code: int, e: int, m: int) -> Fraction:
    """The same as a fraction."""
    return Fraction(value(code, e, m))


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "02.1": "[1, -7, -4, 3, 7, -1, 0, -8]",
    "02.2": "(-2147483600, 2147483647)",
    "02.3": "0b11011010",
    "02.4": "[0x7F, 0xFF]",
    "02.5": "[0, 0.5, 1, 1.5, 2, 3, 4, 6]",
    "02.6": "0x041C2C08",
    "02.7": "2**-7",
    "02.8": (
        "(-1) ** (code >> e + m) * ((code % 2**m / 2**m) + (code >> m & 2**e - 1 > 0)) * 2.0 ** (max(code "
        ">> m & 2**e - 1, 1) - 2 ** (e - 1) + 1)"
    ),
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "02.1": [
        (1, -7, -4, 3, 7, -1, 0, -8),
        np.array([1, -7, -4, 3, 7, -1, 0, -8]),
        [1.0, -7.0, -4.0, 3.0, 7.0, -1.0, 0.0, -8.0],
    ],
    "02.2": [(-2147483600, 2**31 - 1), [np.int64(-2147483600), np.int32(2**31 - 1)]],
    "02.3": [0xDA, 218, "0xDA", "0b1101_1010", np.uint8(218)],
    "02.4": [[0x7F, 0xFF], {255, 127}, (0xFF, 0x7F), ["0x7F", "0xFF"], np.array([127, 255])],
    "02.5": [
        (0, 0.5, 1, 1.5, 2, 3, 4, 6),
        np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float32),
        [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)],
    ],
    "02.6": [0x041C2C08, "0x041C2C08", "0x41c2c08", np.uint32(0x041C2C08)],
    "02.7": [2**-7, 0.0078125, Fraction(1, 128), np.float16(2**-7), "0.0078125"],
    "02.8": [value, exact, lambda code, e, m: np.float64(value(code, e, m))],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "02.1": [
        ([-8, 0, -1, 7, 3, -4, -7, 1], "on the left"),
        ([1, 9, 12, 3, 7, 15, 0, 8], "u4"),
        ([1, -1, -4, 3, 7, -7, 0, 0], "two's complement"),
        ([-7, 1, 3, -4, -1, 7, -8, 0], "exchanged"),
        ([1, 9, -4, 3, 7, -1, 0, -8], "minus 16"),
        ([1, -7, -4, 3, 7, -2, 0, -8], "right to left"),
        ([1, -7], "8 whole numbers"),
    ],
    "02.2": [
        ((2**31 - 1, -2147483600), "other way round"),
        ((2**31 + 48, 2**31 - 1), "does not fit"),
        ((-2147483601, 2**31 - 1), "Off by one"),
        ((-(2**31), 2**31 - 1), "one step leads"),
        ((-2147483600, 0), "first is right"),
        ((0, 2**31 - 1), "second is right"),
        ((0, 0), "lowest 32 bits"),
    ],
    "02.3": [
        (0x5A, "+20"),
        (-20, "the byte"),
        (0xCD, "e5m2"),
        (0xEC, "s8"),
        (0xA6, "complement"),
        (0xA2, "plus the bias"),
        (0xE2, "bias of `e4m3` is 7"),
        (0xDD, "leading 1"),
        (0x14, "three fields"),
    ],
    "02.4": [
        ([*range(0x78, 0x80), *range(0xF8, 0x100)], "IEEE"),
        ([0x78, 0xF8], "infinities"),
        ([0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], "e5m2"),
        ([0x7F], "second"),
        ([0x7E, 0x7F], "numbers among them"),
        ([15, 7], "largest exponent"),
        ([0x17F], "eight bits"),
        ([127, -1], "no minus"),
    ],
    "02.5": [
        ([0, 1, 2, 3, 4, 5, 6, 7], "code for the number"),
        ([0.5, 0.75, 1, 1.5, 2, 3, 4, 6], "no hidden one"),
        ([0, 0.25, 1, 1.5, 2, 3, 4, 6], "power of two"),
        ([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], "all alike"),
        ([0, 1, 2, 3, 4, 6, 8, 12], "subtract the bias"),
        ([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3], "not 2"),
        ([0, 0.5, 1, 1.125, 2, 2.25, 4, 4.5], "one fraction bit"),
        ([0, 0.5, 1, 1.5, 2, 3, float("inf"), float("nan")], "every code is a number"),
        ([0, 0.5, 1, 1.5, 2, 3, 8, 12], "0b0110"),
        ([0, 0.5, 1], "eight numbers"),
    ],
    "02.6": [
        (0x01070B02, "bottom"),
        (0x1070B020, "top of its byte"),
        (0x17B2, "mxf4"),
        (0x082C1C04, "order"),
        (0x041C0C08, "minus"),
        (0x041C8C08, "padding"),
        (0x041C2C0800, "32 bits"),
        (0x04182C08, "look up 6 in"),
        (0x08182C08, "look up 6 and 0.5 in"),
        (1, "four bits"),
    ],
    "02.7": [
        (1, "elsewhere"),
        (1.875, "opposite"),
        (-7, "Which power"),
        (120, "bias"),
        (2.0**120, "bias"),
        (2.0**105, "bias of `f16`"),
        (128, "above or below"),
        (0.5, "16 bits"),
    ],
    "02.8": [
        (lambda code, e, m: value(code, e, m) if not code >> e + m else -value(code, e, m), "sign"),
        (lambda code, e, m: abs(value(code, e, m)), "sign"),
        (lambda code, e, m: value(code, e, m, hidden=False, least=0), "hidden one"),
        (lambda code, e, m: value(code, e, m, least=0), "half"),
        (lambda code, e, m: value(code, e, m, more=1), "half"),
        (
            lambda code, e, m: value(code, e, m) if code >> m & 2**e - 1 == 0 else value(code, e, m, more=1),
            "bias",
        ),
        (lambda code, e, m: value(code, e, m) if code & 2**m - 1 == 0 else 0, "1 / 2**m"),
        (lambda code, e, m: 5, "Cut it"),
        (lambda code, e: 0, "TypeError"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "02.1": r"-7|-4, 3",
    "02.2": r"2147483600",
    "02.3": r"(?i)0xda|1101_?1010|\b218\b|\b1011\b",
    "02.4": r"(?i)0x7f|0xff|\b127\b|\b255\b",
    "02.5": r"\b1\.5\b|0\.5",
    "02.6": r"(?i)41c2c08",
    "02.7": r"2\*\*-7|0\.0078|1/128",
}
