"""Answers to the exercises of lesson 01: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

BIG = 2**31 - 1


def e2m1_twice(code: int) -> int:
    exponent, fraction = code >> 1 & 3, code & 1
    size = fraction if exponent == 0 else (2 + fraction) << (exponent - 1)
    return -size if code & 8 else size


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "01.1": "(4, 29)",
    "01.2": "(3, 20, 23)",
    "01.3": "lane // 4 + 8 * (i // 8 % 2)",
    "01.4": "list(range(48, 56))",
    "01.5": "(-2147483600, 2147483647)",
    "01.6": "[0, 1, 2, 3, 4, 6, 8, 12][code % 8] * (-1 if code >= 8 else 1)",
    "01.7": "(5, 1)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "01.1": [(4, 29), [4, 29], np.array([[4, 29]])],
    "01.2": [(3, 20, 23), [3, 20, 23]],
    "01.3": [lambda lane, i: lane // 4 + 8 * (i // 8 % 2), lambda lane, i: (lane >> 2) if (0 <= i < 8 or 16 <= i < 24) else (lane >> 2) + 8],
    "01.4": [range(48, 56), list(range(48, 56)), {*range(48, 56)}, np.arange(55, 47, -1)],
    "01.5": [(-2147483600, BIG), [np.int64(-2147483600), np.int32(BIG)]],
    "01.6": [e2m1_twice, lambda code: np.float32([0, 1, 2, 3, 4, 6, 8, 12][code % 8] * (-1) ** (code // 8))],
    "01.7": [(5, 1), [5, 1]],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "01.1": [
        ((4, 21), "eight rows higher"),
        ((4, 13), "columns 0 to 31"),
        ((4, 5), "eight rows too high"),
        ((36, 29), "32 lanes"),
        ((5, 29), "threadID_in_group"),
        ((0, 0), "groupID"),
    ],
    "01.2": [
        ((3, 8, 11), "from the top"),
        ((3, 23, 20), "lowest first"),
        ((3, 20, 24), "Almost"),
        ((1, 20, 23), "bits are right"),
        ((3, 0, 3), "register is right"),
        ((7, 0, 3), "registers 0 to 3"),
    ],
    "01.3": [
        (lambda lane, i: lane // 4, "both halves"),
        (lambda lane, i: lane // 4 + 8 * (i >= 8), "Right for a0 to a15"),
        (lambda lane, i: lane // 4 + 8 * (i >= 16), "columns"),
        (lambda lane, i: lane // 4 + 8 * (1 - i // 8 % 2), "exchanged"),
        (lambda lane, i: lane % 8 + 8 * (i // 8 % 2), "groupID is not"),
    ],
    "01.4": [(range(16, 24), "register 0"), ([48], "eight different rows"), (range(49, 57), "Off by one"), (range(8), "threadID_in_group")],
    "01.5": [
        ((BIG, -2147483600), "other way round"),
        ((BIG + 49, BIG), "does not fit"),
        ((-2147483601, BIG), "Off by one"),
        ((-2147483600, 0), "first is right"),
        ((0, BIG), "second is right"),
    ],
    "01.6": [
        (lambda code: code, "code for the value"),
        (lambda code: e2m1_twice(code) if code & 6 else code & 1 and 7, "normal numbers are right"),
        (lambda code: e2m1_twice(code & 7), "positive half"),
        (lambda code: 0, "first that is wrong"),
    ],
    "01.7": [
        ((4, 1), "eight higher"),
        ((7, 1), "thread-id-a is 1"),
        ((5, 3), "byte-id-a is 2"),
        ((5, 0), "lane is right"),
        ((9, 1), "byte is right"),
        ((0, 0), "quad"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "01.1": r"\b29\b",
    "01.2": r"\b20\b|\b23\b",
    "01.4": r"\b48\b|\b55\b",
    "01.5": r"2147483600",
    "01.7": r"lane 5\b|byte 1\b",
}
