"""Answers to the exercises of lesson 17: worked out by hand from the ISA's text and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def place(row: int, chunk: int, selector: int) -> tuple[int, int]:
    """Lane and lowest bit of a nibble of m16n8k32 with f16, read off the ISA's figure."""
    return row % 8 * 4 + selector * 2 + chunk // 4, chunk % 4 * 4 + row // 8 * 16


def narrow(row: int, chunk: int, selector: int) -> tuple[int, int]:
    """The same for s8."""
    return row % 8 * 4 + selector * 2 + row // 8, chunk * 4


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "17.1": "[9, 10]",
    "17.2": "0x4ECD",
    "17.3": "[16, 17, 22, 23]",
    "17.4": "(19, 20, 23)",
    "17.5": "(9, 8)",
    "17.6": "row % 8 * 4 + 2 * selector + chunk // 4, chunk % 4 * 4 + row // 8 * 16",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("17.1", (10, 9)),
    ("17.1", {9, 10}),
    ("17.3", {23, 22, 17, 16}),
    ("17.6", place),
    ("17.6", lambda row, chunk, selector: list(place(row, chunk, selector))),
    ("17.6", lambda row, chunk, selector: np.array(place(row, chunk, selector))),
    (
        "17.6",
        lambda row, chunk, selector: (
            ((row & 7) << 2 | selector << 1 | chunk >> 2),
            4 * (chunk & 3) | (row & 8) << 1,
        ),
    ),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("17.1", [1, 2], "inside the chunk"),
    ("17.1", [8, 11], "not a mask"),
    ("17.1", [5, 6], "from 0"),
    ("17.1", [9], "two columns"),
    ("17.1", [8, 9], "right chunk"),
    ("17.1", [0, 15], "four columns wide"),
    ("17.2", 0xDCE4, "other way round"),
    ("17.2", 0x1B37, "low two bits"),
    ("17.2", 0b0011_1100_1001_1010, "one bit each"),
    ("17.2", 0b1100_0011_1001_0101, "one bit each"),
    ("17.2", 0x24ECD, "16 bits"),
    ("17.2", 0x4ECF, "chunk 0 names one column twice"),
    ("17.2", 0x4E8D, "Chunk 1 is the first"),
    ("17.3", [16, 19], "count pairs"),
    ("17.3", [16, 22], "first columns"),
    ("17.3", [0, 1, 6, 7], "chunk begin"),
    ("17.3", [8, 9, 14, 15], "eight columns wide"),
    ("17.3", [16, 17], "Half of"),
    ("17.3", [16, 17, 18, 19], "four parts"),
    ("17.4", (16, 20, 23), "another selector"),
    ("17.4", (19, 4, 7), "eight higher"),
    ("17.4", (19, 23, 20), "lowest bit before"),
    ("17.4", (19, 8, 11), "counted from the top"),
    ("17.4", (19, 24, 27), "lane is right"),
    ("17.4", (51, 20, 23), "32 lanes"),
    ("17.4", (7, 20, 23), "bits are right"),
    ("17.4", (0, 0, 3), "groupID"),
    ("17.5", (1, 24), "layout for f16"),
    ("17.5", (1, 8), "second of its pair"),
    ("17.5", (9, 2), "number of the chunk"),
    ("17.5", (9, 16), "four columns wide"),
    ("17.5", (9, 12), "which chunk begins"),
    ("17.5", (5, 8), "T1 has row groupID + 8"),
    ("17.6", narrow, "layout for s8"),
    ("17.6", lambda r, c, s: (place(r, c, 1 - s)[0], place(r, c, s)[1]), "other pair"),
    ("17.6", lambda r, c, s: (place(r, c, s)[0], place((r + 8) % 16, c, s)[1]), "swapped"),
    ("17.6", lambda r, c, s: (place(r, c, s)[0], c % 4 * 4), "upper half"),
    ("17.6", lambda r, c, s: (r % 8 * 4 + 2 * (c // 4) + s, place(r, c, s)[1]), "neighbours"),
    ("17.6", lambda r, c, s: (r % 8 * 4 + 2 * s + c % 2, c // 2 * 4 + r // 8 * 16), "alternate"),
    ("17.6", lambda r, c, s: (r // 2 * 4 + 2 * s + c // 4, c % 4 * 4 + r % 2 * 16), "eight apart"),
    ("17.6", lambda r, c, s: (place(r, c, s)[0], place(r, c, s)[1] // 4), "counted nibbles"),
    ("17.6", lambda r, c, s: (place(r, c, s)[0], c * 4), "Every lane is right"),
    ("17.6", lambda r, c, s: (r * 4 + s, place(r, c, s)[1]), "Every bit is right"),
    ("17.6", lambda r, c, s: (0, 0), "by hand"),
    ("17.6", lambda r, c, s: 7, "Found one number"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "17.1": r"\b9\b|\b10\b",
    "17.2": r"(?i)4ECD|20173",
    "17.3": r"\b16\b|\b17\b|\b22\b|\b23\b",
    "17.4": r"\b19\b|\b20\b|\b23\b",
    "17.5": r"\b9\b",
}
