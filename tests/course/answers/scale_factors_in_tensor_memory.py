"""Answers to the exercises of lesson 28: bytes, lanes and columns of scale factors, counted by hand."""

from __future__ import annotations

from typing import Any


def _scale_byte(row: int, k: int, K: int) -> int:
    tile = row // 128 * (K // 64) + k // 64
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "28.1": "(4096 * 14336 // 2, 4096 * 14336 // 16, (128 + 192) * 4)",
    "28.2": "(row // 128 * (K // 64) + k // 64) * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4",
    "28.3": "(2, 3, 13, 45, 77, 109)",
    "28.4": "(1, 2, 6, 2)",
    "28.5": "(32, 0, 32, 2, 40, 0, 40, 2)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("28.2", _scale_byte),
    ("28.3", ((2, 3), [109, 77, 45, 13])),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("28.1", (4096 * 14336, 3670016, 1280), "one byte for each element"),
    ("28.1", (7, 3670016, 1280), "share a byte"),
    ("28.1", (29360128, 1835008, 1280), "mx formats"),
    ("28.1", (29360128, 58720256, 1280), "scale of its own"),
    ("28.1", (29360128, 7340032, 1280), "16 elements share it"),
    ("28.1", (29360128, 5, 1280), "One byte"),
    ("28.1", (29360128, 3670016, 512), "B has its own"),
    ("28.1", (29360128, 3670016, 768), "A has its own"),
    ("28.1", (29360128, 3670016, 128 * 192 * 4), "for each element of D"),
    ("28.1", (29360128, 3670016, 320), "more than one block"),
    ("28.1", (29360128, 3670016, 20480), "How many blocks"),
    ("28.2", lambda row, k, K: row * (K // 16) + k // 16, "row by row"),
    ("28.2", lambda row, k, K: _scale_byte(row, k // 2, K), "not 32"),
    (
        "28.2",
        lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 128 * 4 + k // 16 % 4,
        "within the tile",
    ),
    ("28.2", lambda row, k, K: _scale_byte(row % 128, k, K), "another tile"),
    ("28.2", lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 4, "in the right tile"),
    ("28.2", lambda row, k, K: 3 * _scale_byte(row, k, K) + 1000, "how many are before it"),
    ("28.2", 7, "is a function"),
    ("28.3", (3, 3, 13, 45, 77, 109), "number of the scale"),
    ("28.3", (2, 3, 77, 109, 45, 14), "as it would be in D"),
    ("28.3", (1, 3, 13, 45, 77, 109), "32 rows"),
    ("28.3", (2, 24, 13, 45, 77, 109), "lowest bit"),
    ("28.3", (2, 1, 13, 45, 77, 109), "16 elements"),
    ("28.3", (2, 0, 13, 45, 77, 109), "block of 16"),
    ("28.3", (2, 3, 13, 13, 13, 13), "one lane"),
    ("28.3", (2, 3, 13, 14, 15, 16), "each warp's"),
    ("28.4", (0, 6, 6, 1), "rows 0 to 127"),
    ("28.4", (2, 2, 6, 2), "CTA 0 and CTA 1"),
    ("28.4", (1, 6, 6, 2), "all 256 rows"),
    ("28.4", (1, 3, 6, 2), "its row 72"),
    ("28.4", (1, 2, 2, 1), "like SFA"),
    ("28.4", (1, 2, 5, 2), "32 columns of B"),
    ("28.4", (1, 2, 6, 1), "half of the rows"),
    ("28.5", (32, 0, 32, 1, 40, 0, 40, 1), "first byte"),
    ("28.5", (32, 0, 32, 1, 32, 2, 32, 3), "first byte"),
    ("28.5", (32, 0, 32, 0, 40, 0, 40, 0), "bytes 2 and 3"),
    ("28.5", (32, 2, 32, 2, 40, 2, 40, 2), "byte 0 or from byte 2"),
    ("28.5", (32, 0, 32, 2, 36, 0, 36, 2), "There are 256"),
    ("28.5", (0, 0, 0, 2, 8, 0, 8, 2), "begins at column 32"),
    ("28.5", (32, 0, 32, 2, 33, 0, 33, 2), "next 32 columns"),
    ("28.5", (32, 0, 40, 2, 48, 0, 56, 2), "serve two"),
    ("28.5", (40, 0, 40, 2, 32, 0, 32, 2), "How many columns"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
