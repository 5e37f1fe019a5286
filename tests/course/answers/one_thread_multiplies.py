"""Answers to the exercises of lesson 27: bits of descriptors, steps and elements of D, counted by hand."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "27.1": "1 << 4 | 1 << 7 | 1 << 10 | 160 // 8 << 17 | 128 // 16 << 24",
    "27.2": "0x08300490",
    "27.3": "[2, 8, 3, 6, 1, 5, 9, 0, 7, 4]",
    "27.4": "(77, 37, 22, 53, 6, 75)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("27.3", [8, 3, 2, 6, 1, 5, 9, 0, 7, 4]),
    ("27.3", [8, 2, 3, 6, 1, 5, 9, 0, 7, 4]),
    ("27.4", ((77, 37), (22, 53), (6, 75))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("27.1", 0x490 | 160 << 17 | 128 << 24, "not stored as they are"),
    ("27.1", 0x490 | 20 << 17 | 8 << 23, "begins at bit 24"),
    ("27.1", 0x490 | 20 << 17 | 16 << 24, "only N counts"),
    ("27.1", 0x490 | 10 << 17 | 8 << 24, "only M counts"),
    ("27.1", 0x4D0 | 20 << 17 | 8 << 24, "bit 6 is 1"),
    ("27.1", 0x490 | 20 << 17 | 7 << 24, "M = 112"),
    ("27.1", 0x490 | 32 << 17 | 8 << 24, "N = 256"),
    ("27.1", 0x010 | 20 << 17 | 8 << 24, "code of bf16"),
    ("27.1", 0x480 | 20 << 17 | 8 << 24, "D would be f16"),
    ("27.1", 0x8490 | 20 << 17 | 8 << 24, "some other bit"),
    ("27.2", 0x04300490, "that the kernel has"),
    ("27.2", 0xFFFFFFFF, "not a descriptor"),
    ("27.2", 0x04300010, "still 64"),
    ("27.2", 0x10300490, "two CTAs"),
    ("27.2", 0x0C300490, "M = 192"),
    ("27.2", 0x08400490, "N = 256"),
    ("27.2", 0x08300010, "lower 16 bits"),
    ("27.3", list(range(10)), "in the list"),
    ("27.3", [0] * 10, "appears once"),
    ("27.3", [8, 3, 6, 2, 1, 5, 9, 0, 7, 4], "D needs a place"),
    ("27.3", [2, 3, 8, 6, 1, 5, 9, 0, 7, 4], "makes the stores"),
    ("27.3", [2, 8, 6, 3, 1, 5, 9, 0, 7, 4], "old contents of shared memory"),
    ("27.3", [2, 8, 3, 1, 6, 5, 9, 0, 7, 4], "issued before it"),
    ("27.3", [2, 8, 3, 6, 5, 1, 9, 0, 7, 4], "nothing arrives"),
    ("27.3", [2, 8, 3, 6, 1, 0, 5, 9, 7, 4], "when the wait is over"),
    ("27.3", [2, 8, 3, 6, 1, 9, 5, 0, 7, 4], "this fence comes after the wait"),
    ("27.3", [2, 8, 3, 6, 1, 5, 0, 9, 7, 4], "asynchronous"),
    ("27.3", [2, 8, 3, 6, 1, 5, 9, 7, 0, 4], "already been issued"),
    ("27.3", [2, 8, 3, 6, 1, 5, 9, 0, 4, 7], "has been loaded"),
    ("27.4", (77, 5, 22, 53, 6, 75), "0x20 columns after the start"),
    ("27.4", (77, 101, 22, 53, 6, 75), "begins at column 0x40"),
    ("27.4", (13, 37, 22, 53, 6, 75), "threads are lanes"),
    ("27.4", (77, 37, 54, 53, 6, 75), "that is the lane"),
    ("27.4", (77, 37, 38, 53, 6, 75), "subtract the 16"),
    ("27.4", (77, 37, 22, 21, 6, 75), "after the start of D"),
    ("27.4", (77, 37, 22, 41, 6, 75), "four registers"),
    ("27.4", (77, 37, 22, 53, 70, 11), "no row 70"),
    ("27.4", (77, 37, 22, 53, 7, 75), "have all rows"),
    ("27.4", (77, 37, 22, 53, 6, 11), "group of columns"),
    ("27.4", (77, 37, 22, 53, 6, 27), "N = 128"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "27.1": r"(?i)8280490",
    "27.2": r"(?i)8300490",
}
