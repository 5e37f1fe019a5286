"""Answers to the exercises of lesson 06: worked out by hand from the ISA's tables and figures."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "06.1": "0x0000_0008_0040_0140",
    "06.2": "(2, 1)",
    "06.3": "(0x2C00, 512, 64)",
    "06.4": "0x4000004000010180",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("06.4", 0x4000004000000180),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("06.1", 0x4000080140, "exchanged"),
    ("06.1", 0x1400 | 1024 << 16 | 128 << 32, "16 bytes"),
    ("06.1", 0x8004000140, "right in bytes"),
    ("06.1", 0x1000080140, "along k first"),
    ("06.1", 0x140 | 64 << 14 | 8 << 28, "not contiguous"),
    ("06.1", 0x4000000800400140, "swizzle"),
    ("06.1", 0x800401400, "lowest 14 bits"),
    ("06.1", 0x800080140, "bits 16 to 29"),
    ("06.1", 0x1000400140, "bits 32 to 45"),
    ("06.1", 0x800400140 | 1 << 49, "All other bits"),
    ("06.2", (1, 3), "where it was"),
    ("06.2", (1, 2), "order"),
    ("06.2", (3, 2), "with every row"),
    ("06.2", (0, 2), "32-byte"),
    ("06.2", (0, 1), "rotated"),
    ("06.2", (7, 14), "0 to 3"),
    ("06.2", (2, 5), "two bits of the row"),
    ("06.2", (2, 3), "first is right"),
    ("06.2", (3, 1), "second is right"),
    ("06.2", (0, 0), "in binary"),
    ("06.3", (0x2C0, 32, 64), "raw fields"),
    ("06.3", (0x2C0, 512, 64), "units of 16"),
    ("06.3", (0x102C0, 512, 64), "lowest 14 bits"),
    ("06.3", (0x2C00, 32, 64), "also counts"),
    ("06.3", (0x2C00, 16, 64), "leading offset"),
    ("06.3", (0x2C00, 320, 64), "hexadecimal"),
    ("06.3", (0x2C00, 1024, 64), "bits 32 to 45"),
    ("06.3", (0x2C00, 512, 2), "code"),
    ("06.3", (0x2C00, 512, 128), "do not increase"),
    ("06.4", 0x8000002000010180, "unchanged"),
    ("06.4", 0x4000004000010181, "lowest 14 bits"),
    ("06.4", 0x4002004000010180, "base offset"),
    ("06.4", 0xC000004000010180, "do not grow"),
    ("06.4", 0x4000002000010180, "Now SBO"),
    ("06.4", 0x8000004000010180, "SBO is right"),
    ("06.4", 0x4000008000010180, "units of 16"),
    ("06.4", 0x8000001000010180, "Two fields"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "06.1": r"(?i)800400140|0x140|0x40\b|\b1024\b",
    "06.2": r"\b2, 1\b|//|>>",
    "06.3": r"(?i)2c00|11264|\b512\b|\b64\b",
    "06.4": r"(?i)0x40000040|0x40\b",
}
