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

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("02.4", {255, 127}),
    ("02.4", (0xFF, 0x7F)),
    ("02.7", "0.0078125"),
    ("02.8", value),
    ("02.8", exact),
    ("02.8", lambda code, e, m: np.float64(value(code, e, m))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("02.1", [-8, 0, -1, 7, 3, -4, -7, 1], "on the left"),
    ("02.1", [1, 9, 12, 3, 7, 15, 0, 8], "u4"),
    ("02.1", [1, -1, -4, 3, 7, -7, 0, 0], "two's complement"),
    ("02.1", [-7, 1, 3, -4, -1, 7, -8, 0], "exchanged"),
    ("02.1", [1, 9, -4, 3, 7, -1, 0, -8], "minus 16"),
    ("02.1", [1, -7, -4, 3, 7, -2, 0, -8], "right to left"),
    ("02.1", [1, -7], "8 whole numbers"),
    ("02.2", (2**31 - 1, -2147483600), "other way round"),
    ("02.2", (2**31 + 48, 2**31 - 1), "does not fit"),
    ("02.2", (-2147483601, 2**31 - 1), "Off by one"),
    ("02.2", (-(2**31), 2**31 - 1), "one step leads"),
    ("02.2", (-2147483600, 0), "first is right"),
    ("02.2", (0, 2**31 - 1), "second is right"),
    ("02.2", (0, 0), "lowest 32 bits"),
    ("02.3", 0x5A, "+20"),
    ("02.3", -20, "the byte"),
    ("02.3", 0xCD, "e5m2"),
    ("02.3", 0xEC, "s8"),
    ("02.3", 0xA6, "complement"),
    ("02.3", 0xA2, "plus the bias"),
    ("02.3", 0xE2, "bias of `e4m3` is 7"),
    ("02.3", 0xDD, "leading 1"),
    ("02.3", 0x14, "three fields"),
    ("02.4", [*range(0x78, 0x80), *range(0xF8, 0x100)], "IEEE"),
    ("02.4", [0x78, 0xF8], "infinities"),
    ("02.4", [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], "e5m2"),
    ("02.4", [0x7F], "second"),
    ("02.4", [0x7E, 0x7F], "numbers among them"),
    ("02.4", [15, 7], "add 8 to the number of its row"),
    ("02.4", [0x17F], "eight bits"),
    ("02.4", [127, -1], "no minus"),
    ("02.5", [0, 1, 2, 3, 4, 5, 6, 7], "code for the number"),
    ("02.5", [0.5, 0.75, 1, 1.5, 2, 3, 4, 6], "no hidden one"),
    ("02.5", [0, 0.25, 1, 1.5, 2, 3, 4, 6], "power of two"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], "all alike"),
    ("02.5", [0, 1, 2, 3, 4, 6, 8, 12], "subtract the bias"),
    ("02.5", [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3], "not 2"),
    ("02.5", [0, 0.5, 1, 1.125, 2, 2.25, 4, 4.5], "one fraction bit"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 3, float("inf"), float("nan")], "every code is a number"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 3, 8, 12], "0b0110"),
    ("02.5", [0, 0.5, 1], "eight numbers"),
    ("02.6", 0x01070B02, "bottom"),
    ("02.6", 0x1070B020, "top of its byte"),
    ("02.6", 0x17B2, "mxf4"),
    ("02.6", 0x082C1C04, "order"),
    ("02.6", 0x041C0C08, "minus"),
    ("02.6", 0x041C8C08, "padding"),
    ("02.6", 0x041C2C0800, "32 bits"),
    ("02.6", 0x04182C08, "look up 6 in"),
    ("02.6", 0x08182C08, "look up 6 and 0.5 in"),
    ("02.6", 0x041C2C02, "Three bytes are right"),
    ("02.6", 1, "four bits"),
    ("02.7", 1, "elsewhere"),
    ("02.7", 1.875, "opposite"),
    ("02.7", -7, "Which power"),
    ("02.7", 120, "bias"),
    ("02.7", 2.0**120, "bias"),
    ("02.7", 2.0**105, "bias of `f16`"),
    ("02.7", 128, "above or below"),
    ("02.7", 0.5, "16 bits"),
    ("02.8", lambda code, e, m: value(code, e, m) if not code >> e + m else -value(code, e, m), "sign"),
    ("02.8", lambda code, e, m: abs(value(code, e, m)), "sign"),
    ("02.8", lambda code, e, m: value(code, e, m, hidden=False, least=0), "hidden one"),
    ("02.8", lambda code, e, m: value(code, e, m, least=0), "half"),
    ("02.8", lambda code, e, m: value(code, e, m, more=1), "half"),
    (
        "02.8",
        lambda code, e, m: value(code, e, m) if code >> m & 2**e - 1 == 0 else value(code, e, m, more=1),
        "bias",
    ),
    ("02.8", lambda code, e, m: value(code, e, m) if code & 2**m - 1 == 0 else 0, "1 / 2**m"),
    ("02.8", lambda code, e, m: 5, "Cut it"),
    ("02.8", lambda code, e: 0, "TypeError"),
]

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
