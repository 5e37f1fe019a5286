"""Answers to the exercises of lesson 23: bytes, lanes and bits of block scales, counted by hand."""

from __future__ import annotations

from typing import Any


def _scale_byte(row: int, k: int, K: int) -> int:
    tile = row // 128 * (K // 64) + k // 64
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "23.1": "(4096 * 14336 // 2, 4096 * 14336 // 16, (128 + 192) * 4)",
    "23.2": "(1 / 32, 28, 2, -4)",
    "23.3": "(row // 128 * (K // 64) + k // 64) * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4",
    "23.4": "(2, 3, 13, 45, 77, 109)",
    "23.5": "(1, 2, 6, 2)",
    "23.6": "(32, 0, 32, 2, 40, 0, 40, 2)",
    "23.7": "2 << 4 | 1 << 7 | 1 << 10 | 128 // 8 << 17 | 1 << 23 | 256 // 128 << 27 | 2 << 29",
    "23.8": "0x08100480",
    "23.9": "(1222, 12, 73, 2, -1.5 * 0.375 * 4 * 2.25)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("23.3", _scale_byte),
    ("23.4", ((2, 3), [109, 77, 45, 13])),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("23.1", (4096 * 14336, 3670016, 1280), "one byte for each element"),
    ("23.1", (7, 3670016, 1280), "share a byte"),
    ("23.1", (29360128, 1835008, 1280), "mx formats"),
    ("23.1", (29360128, 58720256, 1280), "scale of its own"),
    ("23.1", (29360128, 7340032, 1280), "16 elements share it"),
    ("23.1", (29360128, 5, 1280), "One byte"),
    ("23.1", (29360128, 3670016, 512), "B has its own"),
    ("23.1", (29360128, 3670016, 768), "A has its own"),
    ("23.1", (29360128, 3670016, 128 * 192 * 4), "for each element of D"),
    ("23.1", (29360128, 3670016, 320), "more than one block"),
    ("23.1", (29360128, 3670016, 20480), "How many blocks"),
    ("23.2", (32, 28, 2, -4), "the inverse"),
    ("23.2", (14, 28, 2, -4), "room up to 448"),
    ("23.2", (84 / 448, 28, 2, -4), "forgets the 6"),
    ("23.2", (1, 0.875, 2, -4), "becomes 2688"),
    ("23.2", (1 / 32, 0.875, 2, -4), "divide the block by the factor first"),
    ("23.2", (1 / 32, 168, 2, -4), "maps it to 6"),
    ("23.2", (1 / 32, 27, 2, -4), "then by 6"),
    ("23.2", (1 / 32, 28, 1.75, -3.2), "Divide each element"),
    ("23.2", (1 / 32, 28, 2, 4), "has a sign"),
    ("23.2", (1 / 32, 28, 2, -3), "nearest"),
    ("23.3", lambda row, k, K: row * (K // 16) + k // 16, "row by row"),
    ("23.3", lambda row, k, K: _scale_byte(row, k // 2, K), "not 32"),
    (
        "23.3",
        lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 128 * 4 + k // 16 % 4,
        "within the tile",
    ),
    ("23.3", lambda row, k, K: _scale_byte(row % 128, k, K), "another tile"),
    ("23.3", lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 4, "in the right tile"),
    ("23.3", lambda row, k, K: 3 * _scale_byte(row, k, K) + 1000, "how many are before it"),
    ("23.3", 7, "is a function"),
    ("23.4", (3, 3, 13, 45, 77, 109), "number of the scale"),
    ("23.4", (2, 3, 77, 109, 45, 14), "as it would be in D"),
    ("23.4", (1, 3, 13, 45, 77, 109), "32 rows"),
    ("23.4", (2, 24, 13, 45, 77, 109), "lowest bit"),
    ("23.4", (2, 1, 13, 45, 77, 109), "16 elements"),
    ("23.4", (2, 0, 13, 45, 77, 109), "block of 16"),
    ("23.4", (2, 3, 13, 13, 13, 13), "one lane"),
    ("23.4", (2, 3, 13, 14, 15, 16), "each warp's"),
    ("23.5", (0, 6, 6, 1), "rows 0 to 127"),
    ("23.5", (2, 2, 6, 2), "CTA 0 and CTA 1"),
    ("23.5", (1, 6, 6, 2), "all 256 rows"),
    ("23.5", (1, 3, 6, 2), "its row 72"),
    ("23.5", (1, 2, 2, 1), "like SFA"),
    ("23.5", (1, 2, 5, 2), "32 columns of B"),
    ("23.5", (1, 2, 6, 1), "half of the rows"),
    ("23.6", (32, 0, 32, 1, 40, 0, 40, 1), "first byte"),
    ("23.6", (32, 0, 32, 1, 32, 2, 32, 3), "first byte"),
    ("23.6", (32, 0, 32, 0, 40, 0, 40, 0), "bytes 2 and 3"),
    ("23.6", (32, 2, 32, 2, 40, 2, 40, 2), "byte 0 or from byte 2"),
    ("23.6", (32, 0, 32, 2, 36, 0, 36, 2), "There are 256"),
    ("23.6", (0, 0, 0, 2, 8, 0, 8, 2), "begins at column 32"),
    ("23.6", (32, 0, 32, 2, 33, 0, 33, 2), "next 32 columns"),
    ("23.6", (32, 0, 40, 2, 48, 0, 56, 2), "serve two"),
    ("23.6", (40, 0, 40, 2, 32, 0, 32, 2), "How many columns"),
    ("23.7", 1 << 33, "has 32 bits"),
    ("23.7", 0x48A004A0, "but one: M"),
    ("23.7", 0x50A00490, "type of D"),
    ("23.7", 0x10A004A0, "but one: the id of SFA"),
    ("23.7", 0x502004A0, "type of the scales"),
    ("23.7", 0x10A00480, "These fields"),
    ("23.7", 0x50A004A1, "another bit"),
    ("23.8", 0x08100490, "that the kernel has"),
    ("23.8", -1, "has 32 bits"),
    ("23.8", 0x08900480, "`ue8m0`"),
    ("23.8", 0x10100480, "M is right"),
    ("23.8", 0x081004A0, "still not 0"),
    ("23.8", 0x08000480, "Too much"),
    ("23.9", (22 * 512 + 70000, 12, 73, 2, -5.0625), "Begin with the tile"),
    ("23.9", (2 * 32 * 512 + 26 * 512 + 198, 12, 73, 2, -5.0625), "all of A"),
    ("23.9", (1220, 12, 73, 2, -5.0625), "four scales"),
    ("23.9", (1024 + 44 * 4 + 2, 12, 73, 2, -5.0625), "which line"),
    ("23.9", (1222, 44, 73, 2, -5.0625), "32 lanes"),
    ("23.9", (1222, 13, 73, 2, -5.0625), "% 32"),
    ("23.9", (1222, 12, 9, 2, -5.0625), "not at 0"),
    ("23.9", (1222, 12, 67, 2, -5.0625), "4t further"),
    ("23.9", (1222, 12, 72, 2, -5.0625), "rows 0 to 31"),
    ("23.9", (1222, 12, 90, 2, -5.0625), "each of its four"),
    ("23.9", (1222, 12, 73, 1, -5.0625), "in order"),
    ("23.9", (1222, 12, 73, 2, -6), "without their scales"),
    ("23.9", (1222, 12, 73, 2, 5.0625), "sign"),
    ("23.9", (1222, 12, 73, 2, -2.25), "Both elements have a scale"),
    ("23.9", (1222, 12, 73, 2, 1), "bias 7"),
]

#: What a hint must not give away.
SECRET: dict[str, str] = {
    "23.7": r"(?i)50a004a0",
    "23.8": r"(?i)8100480",
}
