"""Answers to the exercises of lesson 09: worked out by hand from the ISA's formulas, tables and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def by_parts(row: int, col: int) -> int:
    """The lane of an element of D, written down from the ISA's figures: warp, groupID, threadID_in_group."""
    warp, group, thread = row // 16, row % 8, (col % 8) // 2
    return warp * 32 + group * 4 + thread


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "09.1": "(35, 43)",
    "09.2": "row // 16 * 32 + row % 8 * 4 + col % 8 // 2",
    "09.3": "(8, 16, 32, 256)",
    "09.4": "0x0000_0008_0040_0140",
    "09.5": "(2, 1)",
    "09.6": "(0x2C00, 512, 64)",
    "09.7": "(5, 6)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "09.1": [(35, 43), [43, 35], np.array([35, 43])],
    "09.2": [
        by_parts,
        lambda row, col: np.int64(by_parts(row, col)),
        lambda row, col: (row >> 4 << 5) | (row & 7) << 2 | (col & 7) >> 1,
    ],
    "09.3": [(8, 16, 32, 256), [8, 16, 32, 256]],
    "09.4": [0x800400140, "0x0000000800400140", np.uint64(0x800400140), 0x140 | 64 << 16 | 8 << 32],
    "09.5": [(2, 1), [2, 1], np.array([2, 1])],
    "09.6": [(0x2C00, 512, 64), ("0x2c00", 0x200, 64), (11264, 512, 64)],
    "09.7": [(5, 6), [5, 6]],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "09.1": [
        ((3, 11), "inside a warp"),
        ((19, 27), "across all warps"),
        ((35, 36), "not the next row"),
        ((35, 51), "upper row is right"),
        ((27, 43), "lower row is right"),
        ((77, 85), "64 rows"),
        ((45, 53), "used the lane as the row"),
        ((0, 8), "First find the warp"),
    ],
    "09.2": [
        (lambda row, col: by_parts(row, col) % 32, "inside each warp"),
        (lambda row, col: row // 32 * 32 + row % 8 * 4 + col % 8 // 2, "first warp"),
        (lambda row, col: row * 4 + col % 8 // 2, "eight rows lower"),
        (lambda row, col: row // 16 * 32 + row % 8 * 4 + col // 2, "eight columns further"),
        (lambda row, col: row // 16 * 32 + row % 8 * 4 + col % 4, "two adjacent"),
        (lambda row, col: 5, "groupID"),
    ],
    "09.3": [
        ((256, 32, 16, 8), "other way round"),
        ((16, 32, 64, 512), "sparse"),
        ((8, 16, 32, 32), "single bits"),
        ((8, 16, 32, 64), "All but b1"),
        ((4, 8, 16, 128), "16 bytes"),
        ((13, 16, 32, 256), "tf32"),
        ((1, 2, 4, 32), "32 *bits*"),
        ((1, 1, 1, 1), "Divide"),
    ],
    "09.4": [
        (0x4000080140, "exchanged"),
        (0x1400 | 1024 << 16 | 128 << 32, "16 bytes"),
        (0x8004000140, "right in bytes"),
        (0x1000080140, "along k first"),
        (0x140 | 64 << 14 | 8 << 28, "not contiguous"),
        (0x4000000800400140, "swizzle"),
        (0x800401400, "lowest 14 bits"),
        (0x800080140, "bits 16 to 29"),
        (0x1000400140, "bits 32 to 45"),
        (0x800400140 | 1 << 49, "All other bits"),
    ],
    "09.5": [
        ((1, 3), "where it was"),
        ((1, 2), "order"),
        ((3, 2), "with every row"),
        ((0, 2), "32-byte"),
        ((0, 1), "rotated"),
        ((7, 14), "0 to 3"),
        ((2, 5), "two bits of the row"),
        ((2, 3), "first is right"),
        ((3, 1), "second is right"),
        ((0, 0), "in binary"),
    ],
    "09.6": [
        ((0x2C0, 32, 64), "raw fields"),
        ((0x2C0, 512, 64), "units of 16"),
        ((0x102C0, 512, 64), "lowest 14 bits"),
        ((0x2C00, 32, 64), "too, counts"),
        ((0x2C00, 16, 64), "leading offset"),
        ((0x2C00, 320, 64), "hexadecimal"),
        ((0x2C00, 1024, 64), "bits 32 to 45"),
        ((0x2C00, 512, 2), "code"),
        ((0x2C00, 512, 128), "do not increase"),
    ],
    "09.7": [
        ((6, 5), "other way round"),
        ((1, 3), "issued"),
        ((2, 4), "does not wait"),
        ((6, 6), "Safe"),
        ((5, 5), "still be pending"),
        ((7, 8), "numbered"),
        ((4, 6), "Only a `wait_group`"),
        ((0, 0), "Only a `wait_group`"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "09.1": r"\b35\b|\b43\b",
    "09.3": r"\b8, 16\b|\b256\b",
    "09.4": r"(?i)800400140|0x140|0x40\b|\b1024\b",
    "09.5": r"\b2, 1\b|//|>>",
    "09.6": r"(?i)2c00|11264|\b512\b|\b64\b",
    "09.7": r"line 5|line 6",
}
