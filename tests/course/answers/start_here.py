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

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("00.2", lambda row, col: row % 8 * 4 + col // 2),
    ("00.2", lambda row, col: np.int32(4 * (row & 7) + (col >> 1))),
    ("00.4", 0xF7654321 - 2**32),
    ("00.4", np.int32(0xF7654321 - 2**32)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("00.1", (5, 1), "eight rows"),
    ("00.1", (3, 5), "order"),
    ("00.1", (37, 1), "32 lanes"),
    ("00.1", (9, 3), "four lanes share"),
    ("00.1", (5, 2), "lane is right"),
    ("00.1", (1, 1), "begins again"),
    ("00.2", lambda row, col: row * 4 + col // 2, "after row 7"),
    ("00.2", lambda row, col: row % 8 * 4 + col % 4, "How many columns"),
    ("00.2", lambda row, col: min(row, 7) * 4 + col // 2, "upper eight rows are right"),
    ("00.2", lambda row, col: 0, "first cell that goes wrong"),
    ("00.3", 4, "registers"),
    ("00.3", 8, "one"),
    ("00.3", 1024, "whole matrix"),
    ("00.3", 16, "smaller matrix"),
    ("00.3", 7, "divide them evenly"),
    ("00.4", 0x1234567F, "lowest bits"),
    ("00.4", 0x97654321, "two's complement"),
    ("00.4", 0x17654321, "two's complement"),
    ("00.4", 0x1F7654321, "eight hexadecimal digits"),
    ("00.4", 0x7654321, "two's complement"),
    ("00.4", 0x87654320, "right-hand end"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "00.1": r"\b5\b",
    "00.3": r"\b32\b",
    "00.4": r"(?i)f7654321",
}
