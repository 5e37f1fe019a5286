"""Answers to the exercises of lesson 10: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def metadata_lane(row: int, chunk: int) -> int:
    """The lane that describes a chunk, written down from the ISA's two figures."""
    warp, group, below = row // 16, row % 8, row % 16 >= 8
    return 32 * warp + 4 * group + (2 if chunk >= 8 else 0) + int(below)


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "10.1": "[8, 24, 48, 256]",
    "10.2": "(84, 5)",
    "10.3": "(200, 192)",
    "10.4": "(20, 85)",
    "10.5": "(87, 8, 11)",
    "10.6": "row // 16 * 32 + row % 8 * 4 + row % 16 // 8 + chunk // 8 * 2",
    "10.7": "692",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("10.1", (256, 48, 24, 8)),
    ("10.6", metadata_lane),
    ("10.6", lambda row, chunk: np.int64(metadata_lane(row, chunk))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("10.1", [8, 24, 40, 48, 56, 256], "FP8"),
    ("10.1", [48, 256], "among the small values"),
    ("10.1", [8, 16], "Choose"),
    ("10.1", [8, 256], "there are more"),
    ("10.1", [40], "catalog"),
    ("10.2", (20, 5), "inside its warp"),
    ("10.2", (84, 7), "eight rows lower"),
    ("10.2", (84, 1), "eight columns"),
    ("10.2", (84, 0), "lane is right"),
    ("10.2", (37, 5), "Another warp"),
    ("10.2", (85, 5), "group of four"),
    ("10.3", (192, 200), "other way round"),
    ("10.3", (200, 200), "every multiple of 8"),
    ("10.3", (256, 256), "registers in every lane"),
    ("10.3", (100, 96), "Not every number"),
    ("10.3", (96, 96), "may be larger"),
    ("10.3", (48, 48), "128 lanes share"),
    ("10.3", (200, 184), "does not accept that N"),
    ("10.3", (200, 176), "near it"),
    ("10.4", (21, 85), "nibble decides"),
    ("10.4", (42, 85), "logical A"),
    ("10.4", (20, 21), "inside its warp"),
    ("10.4", (20, 84), "group of four"),
    ("10.4", (20, 3), "column is right"),
    ("10.4", (22, 85), "lane is right"),
    ("10.4", (0, 0), "four columns wide"),
    ("10.5", (23, 8, 11), "inside its warp"),
    ("10.5", (86, 8, 11), "eight higher"),
    ("10.5", (85, 8, 11), "eight to the left"),
    ("10.5", (87, 24, 27), "lane is right"),
    ("10.5", (0, 8, 11), "bits are right"),
    ("10.5", (0, 0, 3), "two halves"),
    ("10.6", lambda row, chunk: metadata_lane(row, chunk) % 32, "inside each warp"),
    ("10.6", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row % 16 // 8 * 2 + chunk // 8, "exchanged"),
    ("10.6", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row % 16 // 8, "right half"),
    ("10.6", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + chunk // 8 * 2, "odd lanes"),
    ("10.6", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + chunk % 4, "group of four"),
    ("10.6", lambda row, chunk: row * 4 + chunk // 8 * 2, "first eight rows"),
    ("10.6", lambda row, chunk: row // 16 * 32 + row % 8 * 4 + row // 8 + chunk // 8 * 2, "first warp"),
    ("10.6", lambda row, chunk: 0, "First find the warp"),
    ("10.7", 331, "row-major"),
    ("10.7", 724, "in one piece"),
    ("10.7", 180, "second eight"),
    ("10.7", 564, "second one"),
    ("10.7", 1099, "exchanged"),
    ("10.7", 52, "core matrix is right"),
    ("10.7", 640, "Inside it"),
    ("10.7", 3, "Which core matrix"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "10.2": r"\b84\b|\b5\b",
    "10.3": r"\b200\b|\b192\b",
    "10.4": r"\b20\b|\b85\b",
    "10.5": r"\b87\b|\b11\b",
    "10.6": r"\* 32|\* 4|>>",
    "10.7": r"\b692\b",
}
