"""Answers to the exercises of lesson 03: worked out by hand from the definitions of the types."""

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
    "03.1": "[1, -7, -4, 3, 7, -1, 0, -8]",
    "03.2": "(-2147483600, 2147483647)",
    "03.3": "0b11011010",
    "03.4": "[0x7F, 0xFF]",
    "03.5": "[0, 0.5, 1, 1.5, 2, 3, 4, 6]",
    "03.6": "0x041C2C08",
    "03.7": "2**-7",
    "03.8": (
        "(-1) ** (code >> e + m) * ((code % 2**m / 2**m) + (code >> m & 2**e - 1 > 0)) * 2.0 ** (max(code "
        ">> m & 2**e - 1, 1) - 2 ** (e - 1) + 1)"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("03.4", {255, 127}),
    ("03.4", (0xFF, 0x7F)),
    ("03.7", "0.0078125"),
    ("03.8", value),
    ("03.8", exact),
    ("03.8", lambda code, e, m: np.float64(value(code, e, m))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("03.1", [-8, 0, -1, 7, 3, -4, -7, 1], "on the left"),
    ("03.1", [1, 9, 12, 3, 7, 15, 0, 8], "u4"),
    ("03.1", [1, -1, -4, 3, 7, -7, 0, 0], "two's complement"),
    ("03.1", [-7, 1, 3, -4, -1, 7, -8, 0], "exchanged"),
    ("03.1", [1, 9, -4, 3, 7, -1, 0, -8], "minus 16"),
    ("03.1", [1, -7, -4, 3, 7, -2, 0, -8], "right to left"),
    ("03.1", [1, -7], "8 whole numbers"),
    ("03.2", (2**31 - 1, -2147483600), "other way round"),
    ("03.2", (2**31 + 48, 2**31 - 1), "does not fit"),
    ("03.2", (-2147483601, 2**31 - 1), "Off by one"),
    ("03.2", (-(2**31), 2**31 - 1), "one step leads"),
    ("03.2", (-2147483600, 0), "first is right"),
    ("03.2", (0, 2**31 - 1), "second is right"),
    ("03.2", (0, 0), "lowest 32 bits"),
    ("03.3", 0x5A, "+20"),
    ("03.3", -20, "the byte"),
    ("03.3", 0xCD, "e5m2"),
    ("03.3", 0xEC, "s8"),
    ("03.3", 0xA6, "complement"),
    ("03.3", 0xA2, "plus the bias"),
    ("03.3", 0xE2, "bias of `e4m3` is 7"),
    ("03.3", 0xDD, "leading 1"),
    ("03.3", 0x14, "three fields"),
    ("03.4", [*range(0x78, 0x80), *range(0xF8, 0x100)], "IEEE"),
    ("03.4", [0x78, 0xF8], "infinities"),
    ("03.4", [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], "e5m2"),
    ("03.4", [0x7F], "second"),
    ("03.4", [0x7E, 0x7F], "numbers among them"),
    ("03.4", [15, 7], "add 8 to the number of its row"),
    ("03.4", [0x17F], "eight bits"),
    ("03.4", [127, -1], "no minus"),
    ("03.5", [0, 1, 2, 3, 4, 5, 6, 7], "code for the number"),
    ("03.5", [0.5, 0.75, 1, 1.5, 2, 3, 4, 6], "no hidden one"),
    ("03.5", [0, 0.25, 1, 1.5, 2, 3, 4, 6], "power of two"),
    ("03.5", [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], "all alike"),
    ("03.5", [0, 1, 2, 3, 4, 6, 8, 12], "subtract the bias"),
    ("03.5", [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3], "not 2"),
    ("03.5", [0, 0.5, 1, 1.125, 2, 2.25, 4, 4.5], "one fraction bit"),
    ("03.5", [0, 0.5, 1, 1.5, 2, 3, float("inf"), float("nan")], "every code is a number"),
    ("03.5", [0, 0.5, 1, 1.5, 2, 3, 8, 12], "0b0110"),
    ("03.5", [0, 0.5, 1], "eight numbers"),
    ("03.6", 0x01070B02, "bottom"),
    ("03.6", 0x1070B020, "top of its byte"),
    ("03.6", 0x17B2, "mxf4"),
    ("03.6", 0x082C1C04, "order"),
    ("03.6", 0x041C0C08, "minus"),
    ("03.6", 0x041C8C08, "padding"),
    ("03.6", 0x041C2C0800, "32 bits"),
    ("03.6", 0x04182C08, "look up 6 in"),
    ("03.6", 0x08182C08, "look up 6 and 0.5 in"),
    ("03.6", 0x041C2C02, "Three bytes are right"),
    ("03.6", 1, "four bits"),
    ("03.7", 1, "elsewhere"),
    ("03.7", 1.875, "opposite"),
    ("03.7", -7, "Which power"),
    ("03.7", 120, "bias"),
    ("03.7", 2.0**120, "bias"),
    ("03.7", 2.0**105, "bias of `f16`"),
    ("03.7", 128, "above or below"),
    ("03.7", 0.5, "16 bits"),
    ("03.8", lambda code, e, m: value(code, e, m) if not code >> e + m else -value(code, e, m), "sign"),
    ("03.8", lambda code, e, m: abs(value(code, e, m)), "sign"),
    ("03.8", lambda code, e, m: value(code, e, m, hidden=False, least=0), "hidden one"),
    ("03.8", lambda code, e, m: value(code, e, m, least=0), "half"),
    ("03.8", lambda code, e, m: value(code, e, m, more=1), "half"),
    (
        "03.8",
        lambda code, e, m: value(code, e, m) if code >> m & 2**e - 1 == 0 else value(code, e, m, more=1),
        "bias",
    ),
    ("03.8", lambda code, e, m: value(code, e, m) if code & 2**m - 1 == 0 else 0, "1 / 2**m"),
    ("03.8", lambda code, e, m: 5, "Cut it"),
    ("03.8", lambda code, e: 0, "TypeError"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "03.1": r"-7|-4, 3",
    "03.2": r"2147483600",
    "03.3": r"(?i)0xda|1101_?1010|\b218\b|\b1011\b",
    "03.4": r"(?i)0x7f|0xff|\b127\b|\b255\b",
    "03.5": r"\b1\.5\b|0\.5",
    "03.6": r"(?i)41c2c08",
    "03.7": r"2\*\*-7|0\.0078|1/128",
}
