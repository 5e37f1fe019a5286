"""Answers to the exercises of lesson 05: worked out by hand from the ISA's formulas, tables and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def by_parts(row: int, col: int) -> int:
    """The lane of an element of D, written down from the ISA's figures: warp, groupID, threadID_in_group."""
    warp, group, thread = row // 16, row % 8, (col % 8) // 2
    return warp * 32 + group * 4 + thread


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "05.1": "(35, 43)",
    "05.2": "row // 16 * 32 + row % 8 * 4 + col % 8 // 2",
    "05.3": "(8, 16, 32, 256)",
    "05.4": "(5, 6)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("05.1", [43, 35]),
    ("05.2", by_parts),
    ("05.2", lambda row, col: np.int64(by_parts(row, col))),
    ("05.2", lambda row, col: (row >> 4 << 5) | (row & 7) << 2 | (col & 7) >> 1),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("05.1", (3, 11), "inside a warp"),
    ("05.1", (19, 27), "across all warps"),
    ("05.1", (35, 36), "not the next row"),
    ("05.1", (35, 51), "upper row is right"),
    ("05.1", (27, 43), "lower row is right"),
    ("05.1", (77, 85), "64 rows"),
    ("05.1", (45, 53), "used the lane as the row"),
    ("05.1", (0, 8), "First find the warp"),
    ("05.2", lambda row, col: by_parts(row, col) % 32, "inside each warp"),
    ("05.2", lambda row, col: row // 32 * 32 + row % 8 * 4 + col % 8 // 2, "first warp"),
    ("05.2", lambda row, col: row * 4 + col % 8 // 2, "eight rows lower"),
    ("05.2", lambda row, col: row // 16 * 32 + row % 8 * 4 + col // 2, "eight columns further"),
    ("05.2", lambda row, col: row // 16 * 32 + row % 8 * 4 + col % 4, "two adjacent"),
    ("05.2", lambda row, col: 5, "groupID"),
    ("05.3", (256, 32, 16, 8), "other way round"),
    ("05.3", (16, 32, 64, 512), "sparse"),
    ("05.3", (8, 16, 32, 32), "single bits"),
    ("05.3", (8, 16, 32, 64), "All but b1"),
    ("05.3", (4, 8, 16, 128), "16 bytes"),
    ("05.3", (13, 16, 32, 256), "tf32"),
    ("05.3", (1, 2, 4, 32), "32 *bits*"),
    ("05.3", (1, 1, 1, 1), "Divide"),
    ("05.4", (6, 5), "other way round"),
    ("05.4", (1, 3), "issued"),
    ("05.4", (2, 4), "does not wait"),
    ("05.4", (6, 6), "Safe"),
    ("05.4", (5, 5), "still be pending"),
    ("05.4", (7, 8), "numbered"),
    ("05.4", (4, 6), "Only a `wait_group`"),
    ("05.4", (0, 0), "Only a `wait_group`"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "05.1": r"\b35\b|\b43\b",
    "05.3": r"\b8, 16\b|\b256\b",
    "05.4": r"line 5|line 6",
}
