"""Answers to the exercises of lesson 06: worked out by hand from the ISA's address arithmetic."""

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
    "06.1": "11 * 128 + (5 ^ 3) * 16 + 4",
    "06.2": "offset ^ (offset >> 7 & width // 16 - 1) << 4",
    "06.3": "0x40000040000102C4",
    "06.4": "(8 * 1024 - 96, 1024 - 96)",
    "06.5": "0x4000004000010180",
    "06.6": "(64, 2, 128 * 128 * 2)",
    "06.7": "[12, 13]",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("06.2", by_bits),
    ("06.2", lambda offset, width: np.int64(by_bits(offset, width))),
    ("06.3", "0x40000040000002c4"),
    ("06.5", 0x4000004000000180),
    ("06.7", {12, 13}),
    ("06.7", (13, 12)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("06.1", 1492, "without the swizzle"),
    ("06.1", 1412, "rotated"),
    ("06.1", 1636, "three bits"),
    ("06.1", 1504, "in the chunk"),
    ("06.1", 1434, "two"),
    ("06.1", 754, "elements"),
    ("06.1", 84, "row first"),
    ("06.1", 1410, "in binary"),
    ("06.2", lambda offset, width: offset, "changes nothing"),
    ("06.2", lambda offset, width: by_bits(offset, 128), "every width"),
    ("06.2", lambda offset, width: offset ^ (offset // width % (width // 16)) * 16, "starting at bit 7"),
    (
        "06.2",
        lambda offset, width: offset // width * width + (offset % width + (offset >> 7) * 16) % width,
        "rotated",
    ),
    ("06.2", lambda offset, width: offset ^ offset >> 7 & 7, "never change"),
    ("06.2", lambda offset, width: by_bits(offset, width) if width == 128 else offset, "128 bytes are right"),
    ("06.2", lambda offset, width: offset ^ 16, "XOR them into"),
    ("06.3", 0x40000040000102C0, "still the first"),
    ("06.3", 0x4000004000010300, "units of 16"),
    ("06.3", 0x40000040000102C8, "two bytes"),
    ("06.3", 0x40000040000102C2, "k = 32"),
    ("06.3", 0x40000020000102C4, "upper fields"),
    ("06.3", 0x4000004000010340, "How many bytes"),
    ("06.3", 0x4000004000014000, "not a descriptor"),
    ("06.4", (928, 8096), "wrong order"),
    ("06.4", (8192, 1024), "k = 48 already"),
    ("06.4", (32, 32), "leaves the atom"),
    ("06.4", (506, 58), "units of 16"),
    ("06.4", (8096, 32), "Rows first is right"),
    ("06.4", (32, 928), "K first is right"),
    ("06.4", (0, 0), "Find where"),
    ("06.5", 0x8000002000010180, "unchanged"),
    ("06.5", 0x4000004000010181, "lowest 14 bits"),
    ("06.5", 0x4002004000010180, "base offset"),
    ("06.5", 0xC000004000010180, "do not grow"),
    ("06.5", 0x4000002000010180, "Now SBO"),
    ("06.5", 0x8000004000010180, "SBO is right"),
    ("06.5", 0x4000008000010180, "units of 16"),
    ("06.5", 0x8000001000010180, "Two fields"),
    ("06.6", (128, 1, 32768), "at most as wide"),
    ("06.6", (32, 4, 32768), "fit into 128 bytes"),
    ("06.6", (64, 4, 32768), "The box is right"),
    ("06.6", (64, 2, 16384), "one copy"),
    ("06.6", (64, 2, 8192), "two copies"),
    ("06.6", (64, 2, 128), "Multiply"),
    ("06.7", [14], "no shuffles"),
    ("06.7", [14, 15], "12 to 15"),
    ("06.7", [12], "two lanes"),
    ("06.7", [8, 9], "group of four"),
    ("06.7", [12, 15], "upper half"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "06.1": r"\b1508\b|0x5e4|\b6\b",
    "06.3": r"(?i)2c4",
    "06.4": r"\b8096\b|\b928\b",
    "06.5": r"(?i)0x40000040|0x40\b",
    "06.6": r"\b32768\b|\b64, 2\b",
    "06.7": r"\b12 and 13\b|\b13\b",
}
