"""Answers to the exercises of lesson 08: worked out by hand from the ISA's rules for boxes."""

from __future__ import annotations

from typing import Any

import numpy as np


def by_bits(row: int, column: int) -> int:
    """Where TMA wrote the element on an H200: rows 128 bytes apart, bits 7 to 9 XORed into bits 4 to 6."""
    offset = 128 * row + 2 * column
    for bit in (4, 5, 6):
        offset ^= (offset >> bit + 3 & 1) << bit
    return offset


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "08.1": "(504, 512)",
    "08.2": "(36, 40, 64 * 64 * 2)",
    "08.3": "row * 128 + (column // 8 ^ row % 8) * 16 + column % 8 * 2",
    "08.4": "(64, 2, 128 * 128 * 2)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("08.3", by_bits),
    ("08.3", lambda row, column: np.int64(by_bits(row, column))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("08.1", (512, 504), "wrong order"),
    ("08.1", (500, 500), "Without padding"),
    ("08.1", (1008, 512), "in bytes"),
    ("08.1", (512, 512), "16 elements for both"),
    ("08.1", (504, 504), "8 elements for both"),
    ("08.1", (512, 528), "less padding"),
    ("08.1", (504, 510), "`f16` is right"),
    ("08.1", (501, 512), "`e4m3` is right"),
    ("08.1", (1, 1), "next multiple of 16"),
    ("08.2", (36, 40, 2880), "as zeros"),
    ("08.2", (28, 24, 8192), "lies outside"),
    ("08.2", (40, 36, 8192), "Rows come first"),
    ("08.2", (36, 40, 4096), "one byte"),
    ("08.2", (36, 40, 64), "The first two are right"),
    ("08.2", (64, 64, 8192), "bytes are right"),
    ("08.2", (1, 1, 1), "row 99"),
    ("08.3", lambda row, column: row * 64 + column * 2, "without gaps"),
    ("08.3", lambda row, column: row * 128 + column * 2, "Now the swizzle"),
    (
        "08.3",
        lambda row, column: row * 64 + (column // 8 ^ row // 2 % 4) * 16 + column % 8 * 2,
        "64-byte swizzle",
    ),
    ("08.3", lambda row, column: row * 128 + (column // 8 ^ row % 4) * 16 + column % 8 * 2, "two bits"),
    ("08.3", lambda row, column: row * 128 + (column // 8 ^ row) * 16 + column % 8 * 2, "three bits"),
    ("08.3", lambda row, column: row * 128 + (column // 8 ^ row % 8) * 16, "vector is right"),
    ("08.3", lambda row, column: row * 256 + column * 2, "Row 0 is right"),
    ("08.3", lambda row, column: 7, "Start with"),
    ("08.4", (128, 1, 32768), "at most as wide"),
    ("08.4", (32, 4, 32768), "fit into 128 bytes"),
    ("08.4", (64, 4, 32768), "The box is right"),
    ("08.4", (64, 2, 16384), "one copy"),
    ("08.4", (64, 2, 8192), "two copies"),
    ("08.4", (64, 2, 128), "Multiply"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "08.1": r"\b504\b|\b512\b",
    "08.2": r"\b36\b|\b40\b|\b8192\b",
    "08.4": r"\b32768\b|\b64, 2\b",
}
