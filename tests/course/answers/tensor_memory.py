"""Answers to the exercises of lesson 26: lanes, columns and registers, counted by hand."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "26.1": "(224, 256, 2)",
    "26.2": "[2, 6, 10]",
    "26.3": "(37, 100, 85, 36, 117, 4)",
    "26.4": "(77, 13, 86, 7)",
    "26.5": "(88, 38, 24)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("26.2", {10, 2, 6}),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("26.1", (128, 128, 4), "two accumulators"),
    ("26.1", (256, 256, 2), "share a word"),
    ("26.1", (192, 256, 2), "A is also there"),
    ("26.1", (100, 128, 4), "one for each f32"),
    ("26.1", (224, 224, 2), "powers of two"),
    ("26.1", (224, 512, 1), "next power"),
    ("26.1", (224, 256, 4), "How many times"),
    ("26.2", [], "Some warps"),
    ("26.2", [2, 14], "the block has warps 0 to 11"),
    ("26.2", range(12), "No warp reaches all"),
    ("26.2", [2], "in common"),
    ("26.2", [1, 5, 9], "hexadecimal"),
    ("26.2", [2, 6], "Not all of them"),
    ("26.2", [0, 3], "Divide it by 32"),
    ("26.3", (21, 100, 85, 36, 117, 4), "row r is not in lane r. Each 32 lanes"),
    ("26.3", (42, 100, 85, 36, 117, 4), "every second lane"),
    ("26.3", (53, 100, 85, 36, 117, 4), "number 5 of its 16"),
    ("26.3", (37, 100, 37, 100, 117, 4), "no lane is left free"),
    ("26.3", (37, 100, 21, 100, 117, 4), "in lanes 64 and above"),
    ("26.3", (37, 100, 85, 100, 117, 4), "begin at column 0"),
    ("26.3", (37, 100, 64, 0, 117, 4), "rows in lanes 0 to 63"),
    ("26.3", (37, 100, 85, 36, 85, 36), "four groups"),
    ("26.3", (37, 100, 85, 36, 117, 100), "All lanes are right"),
    ("26.3", (37, 100, 85, 36, 21, 4), "which quarter"),
    ("26.4", (13, 13, 86, 7), "all four warps"),
    ("26.4", (13, 77, 86, 7), "not the other way"),
    ("26.4", (76, 13, 86, 7), "a lane of its own"),
    ("26.4", (77, 13, 22, 7), "64 to 95"),
    ("26.4", (77, 13, 100, 7), "no other warp"),
    ("26.4", (77, 13, 85, 7), "row 13 of 16"),
    ("26.4", (77, 13, 86, 3), "next four registers"),
    ("26.4", (77, 13, 86, 5), "row 13, column 5"),
    ("26.5", (72, 38, 24), "upper half of the address"),
    ("26.5", (40, 38, 24), "not r lanes"),
    ("26.5", (56, 38, 24), "not r lanes"),
    ("26.5", (80, 38, 24), "32 lanes further"),
    ("26.5", (88, 6, 24), "not at 0"),
    ("26.5", (88, 59, 24), "share a column"),
    ("26.5", (88, 45, 24), "share a column"),
    ("26.5", (88, 38, 0), "bits 0 to 7"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
