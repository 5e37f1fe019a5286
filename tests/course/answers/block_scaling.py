"""Answers to the exercises of lesson 25: worked out by hand from the ISA's text about block scaling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def lane_by_hand(row: int, thread_id: int) -> int:
    """The quad of the row, the pair of lanes, the lane of the pair."""
    quad = row % 8
    return 4 * quad + 2 * thread_id + (1 if row >= 8 else 0)


def byte_by_frexp(block: list[float]) -> int:
    """Exponent of the largest size, less 2, plus the bias."""
    return math.frexp(max(abs(value) for value in block))[1] - 1 - 2 + 127


def byte_by_search(block: list[float]) -> np.int64:
    """The only byte whose scale brings the largest size to between 4 and 8."""
    amax = np.abs(block).max()
    return np.flatnonzero([4 <= amax / 2.0 ** (code - 127) < 8 for code in range(255)])[0]


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "25.1": "32 * 4 * 2 + 32 * 0.5 * 8 + 100",
    "25.2": "(0x7D, 0x28)",
    "25.3": "(5, 1)",
    "25.4": "(23, 3)",
    "25.5": "row % 8 * 4 + 2 * thread_id + row // 8",
    "25.6": "(0.5, 2, -6, 0, 3)",
    "25.7": "math.frexp(max(map(abs, block)))[1] - 1 - 2 + 127",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("25.5", lane_by_hand),
    ("25.5", lambda row, thread_id: np.int64((row & 7) << 2 | thread_id << 1 | row >> 3)),
    ("25.7", byte_by_frexp),
    ("25.7", byte_by_search),
    ("25.7", lambda block: math.floor(math.log2(max(map(abs, block)))) + 125),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("25.1", 384, "C is still"),
    ("25.1", 32 * 4.5 + 100, "only the scales of A"),
    ("25.1", 64 * 4.5 * 10 + 100, "different blocks"),
    ("25.1", 64 * 12 + 100, "half of the columns"),
    ("25.1", 32 * 14.5 + 100, "not added"),
    ("25.1", 12 * 132, "C has no scale"),
    ("25.1", 112, "How many products"),
    ("25.1", 64, "one block at a time"),
    ("25.2", (40, 125), "wrong order"),
    ("25.2", (125, 5), "exponent field"),
    ("25.2", (125, 0x30), "shift the field"),
    ("25.2", (129, 40), "negative"),
    ("25.2", (126, 40), "second is right"),
    ("25.2", (0xFE, 0xFE), "two's complement"),
    ("25.2", (0xFE, 40), "two's complement"),
    ("25.2", (-2, 5), "neither with a minus"),
    ("25.2", (2, 2), "power of two"),
    ("25.3", (4, 1), "scales of row 1"),
    ("25.3", (7, 1), "thread-id-a is 1"),
    ("25.3", (5, 3), "byte-id-a is 2"),
    ("25.3", (5, 0), "first block"),
    ("25.3", (5, 8), "number of a bit"),
    ("25.3", (5, 15), "number of a bit"),
    ("25.3", (37, 1), "32 lanes"),
    ("25.3", (9, 1), "byte is right"),
    ("25.3", (0, 0), "groupID"),
    ("25.4", (22, 3), "byte-id, the second"),
    ("25.4", (23, 1), "upper two bytes"),
    ("25.4", (23, 2), "Which of the two"),
    ("25.4", (23, 0), "first byte of the pair"),
    ("25.4", (23, 24), "number of a bit"),
    ("25.4", (20, 3), "one column"),
    ("25.4", (40, 3), "32 lanes"),
    ("25.4", (11, 3), "byte is right"),
    ("25.4", (0, 0), "Four lanes"),
    ("25.5", lambda row, thread_id: row * 4 + 2 * thread_id, "32 lanes"),
    ("25.5", lambda row, thread_id: row % 8 * 4 + 2 * thread_id, "rows 0 to 7"),
    ("25.5", lambda row, thread_id: row % 8 * 4 + row // 8, "thread-id 0"),
    ("25.5", lambda row, thread_id: row % 8 * 4 + row // 8 * 2 + thread_id, "exchanged"),
    ("25.5", lambda row, thread_id: row % 8 * 4 + 3, "quads are right"),
    ("25.5", lambda row, thread_id: row, "first wrong"),
    ("25.6", (2, 2, -6, 0, 3), "inverse"),
    ("25.6", (2.6 / 6, 2, -6, 0, 3), "powers of two only"),
    ("25.6", (0.25, 4, -6, 0.5, 6), "neighbours"),
    ("25.6", (-1, 2, -6, 0, 3), "exponent of the scale"),
    ("25.6", (0.5, 1, -3, 0, 1.5), "come *back*"),
    ("25.6", (0.5, 1.8, -5.2, 0.2, 3.2), "not a value of e2m1"),
    ("25.6", (0.5, 2, 6, 0, 3), "has a sign"),
    ("25.6", (0.5, 2, -4, 0, 3), "element 1"),
    ("25.6", (0.5, 2, -6, 0.5, 3), "nearest"),
    ("25.7", lambda block: 2.0 ** (byte_by_frexp(block) - 127), "scale itself"),
    ("25.7", lambda block: byte_by_frexp(block) - 127, "bias"),
    ("25.7", lambda block: byte_by_frexp(block) + 2, "between 1 and 2"),
    ("25.7", lambda block: math.frexp(max(block))[1] - 3 + 127, "negative element"),
    ("25.7", lambda block: math.ceil(math.log2(max(map(abs, block)))) - 2 + 127, "not up"),
    ("25.7", lambda block: byte_by_frexp(block) - 1, "too small"),
    ("25.7", lambda block: math.floor(math.log2(max(map(abs, block)) / 6)) + 127, "not from 6"),
    ("25.7", lambda block: 300, "255 means NaN"),
    ("25.7", lambda block: math.log2(-1), "ValueError"),
    ("25.7", lambda block: None, "return"),
    ("25.7", lambda block: 7, "subtract 2"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "25.1": r"\b484\b|\b384\b|\b256\b",
    "25.2": r"\b125\b|0x7d|\b40\b|0x28",
    "25.3": r"\b5\b",
    "25.4": r"\b23\b|byte 3",
    "25.5": r"\* 2|2 \*|>> 3|// 8",
    "25.6": r"\b0\.5,? 2|scale is 0\.5|-6",
    "25.7": r"frexp|- 3",
}
