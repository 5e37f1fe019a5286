"""Answers to the exercises of lesson 29: scales, bits of descriptors and bytes, counted by hand."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "29.1": "(1 / 32, 28, 2, -4)",
    "29.2": "2 << 4 | 1 << 7 | 1 << 10 | 128 // 8 << 17 | 1 << 23 | 256 // 128 << 27 | 2 << 29",
    "29.3": "0x08100480",
    "29.4": "(1222, 12, 73, 2, -1.5 * 0.375 * 4 * 2.25)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("29.1", (0.03125, 28.0, 2.0, -4.0)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("29.1", (32, 28, 2, -4), "the inverse"),
    ("29.1", (14, 28, 2, -4), "go up to 448"),
    ("29.1", (84 / 448, 28, 2, -4), "forgets the 6"),
    ("29.1", (1, 0.875, 2, -4), "becomes 2688"),
    ("29.1", (1 / 32, 0.875, 2, -4), "divide the block by the tensor scale first"),
    ("29.1", (1 / 32, 168, 2, -4), "maps it to 6"),
    ("29.1", (1 / 32, 27, 2, -4), "then by 6"),
    ("29.1", (1 / 32, 28, 1.75, -3.2), "Divide each element"),
    ("29.1", (1 / 32, 28, 2, 4), "has a sign"),
    ("29.1", (1 / 32, 28, 2, -3), "nearest"),
    ("29.2", 1 << 33, "has 32 bits"),
    ("29.2", 0x48A004A0, "but one: M"),
    ("29.2", 0x50A00490, "type of D"),
    ("29.2", 0x10A004A0, "but one: the id of SFA"),
    ("29.2", 0x502004A0, "type of the scales"),
    ("29.2", 0x10A00480, "These fields"),
    ("29.2", 0x50A004A1, "another bit"),
    ("29.3", 0x08100490, "that the kernel has"),
    ("29.3", -1, "has 32 bits"),
    ("29.3", 0x08900480, "`ue8m0`"),
    ("29.3", 0x10100480, "M is right"),
    ("29.3", 0x081004A0, "still not 0"),
    ("29.3", 0x08000480, "Too much"),
    ("29.4", (22 * 512 + 70000, 12, 73, 2, -5.0625), "Begin with the tile"),
    ("29.4", (2 * 32 * 512 + 26 * 512 + 198, 12, 73, 2, -5.0625), "all of A"),
    ("29.4", (1220, 12, 73, 2, -5.0625), "four scales"),
    ("29.4", (1024 + 44 * 4 + 2, 12, 73, 2, -5.0625), "which 16 bytes"),
    ("29.4", (1222, 44, 73, 2, -5.0625), "32 lanes"),
    ("29.4", (1222, 13, 73, 2, -5.0625), "% 32"),
    ("29.4", (1222, 12, 9, 2, -5.0625), "not at 0"),
    ("29.4", (1222, 12, 67, 2, -5.0625), "4t further"),
    ("29.4", (1222, 12, 72, 2, -5.0625), "rows 0 to 31"),
    ("29.4", (1222, 12, 90, 2, -5.0625), "each of its four"),
    ("29.4", (1222, 12, 73, 1, -5.0625), "in order"),
    ("29.4", (1222, 12, 73, 2, -6), "without their scales"),
    ("29.4", (1222, 12, 73, 2, 5.0625), "sign"),
    ("29.4", (1222, 12, 73, 2, -2.25), "Both elements have a scale"),
    ("29.4", (1222, 12, 73, 2, 1), "bias 7"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "29.2": r"(?i)50a004a0",
    "29.3": r"(?i)8100480",
}
