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

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("09.1", [43, 35]),
    ("09.2", by_parts),
    ("09.2", lambda row, col: np.int64(by_parts(row, col))),
    ("09.2", lambda row, col: (row >> 4 << 5) | (row & 7) << 2 | (col & 7) >> 1),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("09.1", (3, 11), "inside a warp"),
    ("09.1", (19, 27), "across all warps"),
    ("09.1", (35, 36), "not the next row"),
    ("09.1", (35, 51), "upper row is right"),
    ("09.1", (27, 43), "lower row is right"),
    ("09.1", (77, 85), "64 rows"),
    ("09.1", (45, 53), "used the lane as the row"),
    ("09.1", (0, 8), "First find the warp"),
    ("09.2", lambda row, col: by_parts(row, col) % 32, "inside each warp"),
    ("09.2", lambda row, col: row // 32 * 32 + row % 8 * 4 + col % 8 // 2, "first warp"),
    ("09.2", lambda row, col: row * 4 + col % 8 // 2, "eight rows lower"),
    ("09.2", lambda row, col: row // 16 * 32 + row % 8 * 4 + col // 2, "eight columns further"),
    ("09.2", lambda row, col: row // 16 * 32 + row % 8 * 4 + col % 4, "two adjacent"),
    ("09.2", lambda row, col: 5, "groupID"),
    ("09.3", (256, 32, 16, 8), "other way round"),
    ("09.3", (16, 32, 64, 512), "sparse"),
    ("09.3", (8, 16, 32, 32), "single bits"),
    ("09.3", (8, 16, 32, 64), "All but b1"),
    ("09.3", (4, 8, 16, 128), "16 bytes"),
    ("09.3", (13, 16, 32, 256), "tf32"),
    ("09.3", (1, 2, 4, 32), "32 *bits*"),
    ("09.3", (1, 1, 1, 1), "Divide"),
    ("09.4", 0x4000080140, "exchanged"),
    ("09.4", 0x1400 | 1024 << 16 | 128 << 32, "16 bytes"),
    ("09.4", 0x8004000140, "right in bytes"),
    ("09.4", 0x1000080140, "along k first"),
    ("09.4", 0x140 | 64 << 14 | 8 << 28, "not contiguous"),
    ("09.4", 0x4000000800400140, "swizzle"),
    ("09.4", 0x800401400, "lowest 14 bits"),
    ("09.4", 0x800080140, "bits 16 to 29"),
    ("09.4", 0x1000400140, "bits 32 to 45"),
    ("09.4", 0x800400140 | 1 << 49, "All other bits"),
    ("09.5", (1, 3), "where it was"),
    ("09.5", (1, 2), "order"),
    ("09.5", (3, 2), "with every row"),
    ("09.5", (0, 2), "32-byte"),
    ("09.5", (0, 1), "rotated"),
    ("09.5", (7, 14), "0 to 3"),
    ("09.5", (2, 5), "two bits of the row"),
    ("09.5", (2, 3), "first is right"),
    ("09.5", (3, 1), "second is right"),
    ("09.5", (0, 0), "in binary"),
    ("09.6", (0x2C0, 32, 64), "raw fields"),
    ("09.6", (0x2C0, 512, 64), "units of 16"),
    ("09.6", (0x102C0, 512, 64), "lowest 14 bits"),
    ("09.6", (0x2C00, 32, 64), "too, counts"),
    ("09.6", (0x2C00, 16, 64), "leading offset"),
    ("09.6", (0x2C00, 320, 64), "hexadecimal"),
    ("09.6", (0x2C00, 1024, 64), "bits 32 to 45"),
    ("09.6", (0x2C00, 512, 2), "code"),
    ("09.6", (0x2C00, 512, 128), "do not increase"),
    ("09.7", (6, 5), "other way round"),
    ("09.7", (1, 3), "issued"),
    ("09.7", (2, 4), "does not wait"),
    ("09.7", (6, 6), "Safe"),
    ("09.7", (5, 5), "still be pending"),
    ("09.7", (7, 8), "numbered"),
    ("09.7", (4, 6), "Only a `wait_group`"),
    ("09.7", (0, 0), "Only a `wait_group`"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "09.1": r"\b35\b|\b43\b",
    "09.3": r"\b8, 16\b|\b256\b",
    "09.4": r"(?i)800400140|0x140|0x40\b|\b1024\b",
    "09.5": r"\b2, 1\b|//|>>",
    "09.6": r"(?i)2c00|11264|\b512\b|\b64\b",
    "09.7": r"line 5|line 6",
}
