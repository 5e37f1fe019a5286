"""Answers to the exercises of lesson 19: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def metadata_lane(row: int, chunk: int) -> int:
    """The lane that describes a chunk, written down from the ISA's two figures."""
    warp, group, below = row // 16, row % 8, row % 16 >= 8
    return 32 * warp + 4 * group + (2 if chunk >= 8 else 0) + int(below)


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "19.1": "[8, 24, 48, 256]",
    "19.2": "(200, 192)",
    "19.3": "(20, 85)",
    "19.4": "row // 16 * 32 + row % 8 * 4 + row % 16 // 8 + chunk // 8 * 2",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("19.1", (256, 48, 24, 8)),
    ("19.4", metadata_lane),
    ("19.4", lambda row, chunk: np.int64(metadata_lane(row, chunk))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("19.1", [8, 24, 40, 48, 56, 256], "FP8"),
    ("19.1", [48, 256], "among the small values"),
    ("19.1", [8, 16], "Choose"),
    ("19.1", [8, 256], "there are more"),
    ("19.1", [40], "catalog"),
    ("19.2", (192, 200), "other way round"),
    ("19.2", (200, 200), "every multiple of 8"),
    ("19.2", (256, 256), "registers in every thread"),
    ("19.2", (100, 96), "Not every number"),
    ("19.2", (96, 96), "may be larger"),
    ("19.2", (48, 48), "128 threads share"),
    ("19.2", (200, 184), "does not accept that N"),
    ("19.2", (200, 176), "near it"),
    ("19.3", (21, 85), "nibble decides"),
    ("19.3", (42, 85), "logical A"),
    ("19.3", (20, 21), "inside its warp"),
    ("19.3", (20, 84), "group of four"),
    ("19.3", (20, 3), "column is right"),
    ("19.3", (22, 85), "thread is right"),
    ("19.3", (0, 0), "four columns wide"),
    ("19.4", lambda row, chunk: metadata_lane(row, chunk) % 32, "inside each warp"),
    ("19.4", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row % 16 // 8 * 2 + chunk // 8, "exchanged"),
    ("19.4", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row % 16 // 8, "right half"),
    ("19.4", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + chunk // 8 * 2, "odd lanes"),
    ("19.4", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + chunk % 4, "group of four"),
    ("19.4", lambda row, chunk: row * 4 + chunk // 8 * 2, "first eight rows"),
    ("19.4", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row // 8 + chunk // 8 * 2, "first warp"),
    ("19.4", lambda row, chunk: 0, "First find the warp"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "19.2": r"\b200\b|\b192\b",
    "19.3": r"\b20\b|\b85\b",
    "19.4": r"\* 32|\* 4|>>",
}
