"""Answers to the exercises of lesson 00: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "00.1": "(5, 3)",
    "00.2": "row % 8 * 4 + col // 2",
    "00.3": "16 * 64 // 32",
    "00.4": "0xF7654321",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "00.1": [(5, 3), [5, 3], np.array([5, 3]), (np.int64(5), np.uint8(3))],
    "00.2": [lambda row, col: row % 8 * 4 + col // 2, lambda row, col: np.int32(4 * (row & 7) + (col >> 1))],
    "00.3": [32, 32.0, np.int16(32), [32], "32"],
    "00.4": [
        0xF7654321,
        "0xF7654321",
        np.uint32(0xF7654321),
        0xF7654321 - 2**32,
        np.int32(0xF7654321 - 2**32),
    ],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "00.1": [
        ((5, 1), "eight rows"),
        ((3, 5), "order"),
        ((37, 1), "32 lanes"),
        ((9, 3), "four lanes share"),
        ((5, 2), "lane is right"),
        ((1, 1), "begins again"),
    ],
    "00.2": [
        (lambda row, col: row * 4 + col // 2, "after row 7"),
        (lambda row, col: row % 8 * 4 + col % 4, "How many columns"),
        (lambda row, col: min(row, 7) * 4 + col // 2, "upper eight rows are right"),
        (lambda row, col: 0, "first cell that goes wrong"),
    ],
    "00.3": [
        (4, "registers"),
        (8, "one"),
        (1024, "whole matrix"),
        (16, "another operand"),
        (7, "divide them evenly"),
    ],
    "00.4": [
        (0x1234567F, "lowest bits"),
        (0x97654321, "two's complement"),
        (0x17654321, "two's complement"),
        (0x1F7654321, "eight hexadecimal digits"),
        (0x7654321, "right-hand end"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "00.1": r"\b5\b",
    "00.3": r"\b32\b",
    "00.4": r"(?i)f7654321",
}
