"""Answers to the exercises of lesson 07: worked out by hand from the ISA's address arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

_PATTERN = {32: 1, 64: 3, 128: 7}


def by_bits(offset: int, width: int) -> int:
    """The swizzle, bit by bit as PTX ISA, "Shared Memory Matrix Layout", draws its patterns."""
    for bit in range(3):
        if _PATTERN[width] >> bit & 1 and offset >> 7 + bit & 1:
            offset ^= 16 << bit
    return offset


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "07.1": "11 * 128 + (5 ^ 3) * 16 + 4",
    "07.2": "offset ^ (offset >> 7 & width // 16 - 1) << 4",
    "07.3": "0x40000040000102C4",
    "07.4": "(8 * 1024 - 96, 1024 - 96)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("07.2", by_bits),
    ("07.2", lambda offset, width: np.int64(by_bits(offset, width))),
    ("07.3", "0x40000040000002c4"),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("07.1", 1492, "without the swizzle"),
    ("07.1", 1412, "rotated"),
    ("07.1", 1636, "three bits"),
    ("07.1", 1504, "in the vector"),
    ("07.1", 1434, "two"),
    ("07.1", 754, "elements"),
    ("07.1", 84, "row first"),
    ("07.1", 1410, "in binary"),
    ("07.2", lambda offset, width: offset, "changes nothing"),
    ("07.2", lambda offset, width: by_bits(offset, 128), "every width"),
    ("07.2", lambda offset, width: offset ^ (offset // width % (width // 16)) * 16, "starting at bit 7"),
    (
        "07.2",
        lambda offset, width: offset // width * width + (offset % width + (offset >> 7) * 16) % width,
        "rotated",
    ),
    ("07.2", lambda offset, width: offset ^ offset >> 7 & 7, "never change"),
    ("07.2", lambda offset, width: by_bits(offset, width) if width == 128 else offset, "128 bytes are right"),
    ("07.2", lambda offset, width: offset ^ 16, "XOR them into"),
    ("07.3", 0x40000040000102C0, "still the first"),
    ("07.3", 0x4000004000010300, "units of 16"),
    ("07.3", 0x40000040000102C8, "two bytes"),
    ("07.3", 0x40000040000102C2, "k = 32"),
    ("07.3", 0x40000020000102C4, "upper fields"),
    ("07.3", 0x4000004000010340, "How many bytes"),
    ("07.3", 0x4000004000014000, "not a descriptor"),
    ("07.4", (928, 8096), "wrong order"),
    ("07.4", (8192, 1024), "k = 48 already"),
    ("07.4", (32, 32), "leaves the atom"),
    ("07.4", (506, 58), "units of 16"),
    ("07.4", (8096, 32), "Rows first is right"),
    ("07.4", (32, 928), "K first is right"),
    ("07.4", (0, 0), "Find where"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "07.1": r"\b1508\b|0x5e4|\b6\b",
    "07.3": r"(?i)2c4",
    "07.4": r"\b8096\b|\b928\b",
}
