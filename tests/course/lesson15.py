"""Answers to the exercises of lesson 15: worked out by hand from the 32 banks and the ISA's figures."""

from __future__ import annotations

from typing import Any


def by_matrix(lane: int, pitch: int) -> int:
    """Matrices 0 and 1 below each other, 2 and 3 to the right of them."""
    matrix, row = divmod(lane, 8)
    return (row + 8 * (matrix % 2)) * pitch + 2 * (8 * (matrix // 2))


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "15.1": "(1, 2, 4, 1)",
    "15.2": "(8, 2, 4)",
    "15.3": "(208, 80, 272, 80)",
    "15.4": "(4, 2, 1, 1)",
    "15.5": "(27, 14, 3)",
    "15.6": "lane % 16 * pitch + lane // 16 * 16",
    "15.7": "(11, 0)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("15.6", by_matrix),
    ("15.6", lambda lane, pitch: (lane & 15) * pitch + (lane >> 4) * 16),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("15.1", (1, 2, 4, 32), "share it"),
    ("15.1", (4, 8, 16, 1), "4 bytes wide"),
    ("15.1", (32, 16, 8, 1), "banks that the lanes touch"),
    ("15.1", (5, 2, 4, 1), "first load"),
    ("15.1", (1, 6, 4, 1), "For the second"),
    ("15.1", (1, 2, 12, 1), "For the third"),
    ("15.1", (1, 2, 4, 2), "In the fourth"),
    ("15.2", (8, 1, 1), "to the lanes"),
    ("15.2", (2, 2, 4), "first eight lanes"),
    ("15.2", (4, 2, 4), "lanes 0, 1, 2, 3 and 4"),
    ("15.2", (16, 2, 4), "bank 0"),
    ("15.2", (8, 4, 4), "exception"),
    ("15.2", (8, 1, 4), "twice as many"),
    ("15.2", (8, 2, 2), "i ^ 2"),
    ("15.2", (8, 2, 1), "not served"),
    ("15.2", (8, 8, 8), "how many lanes"),
    ("15.3", (192, 80, 256, 64), "Without padding"),
    ("15.3", (208, 96, 272, 80), "no padding at all"),
    ("15.3", (104, 40, 136, 80), "elements"),
    ("15.3", (104, 40, 136, 40), "elements"),
    ("15.3", (196, 84, 260, 68), "multiple of 16"),
    ("15.3", (208, 80, 240, 80), "smaller than the row"),
    ("15.3", (208, 80, 272, 112), "smallest possible"),
    ("15.3", (224, 80, 272, 80), "Look at 224"),
    ("15.4", (8, 4, 2, 1), "rows of 128 bytes"),
    ("15.4", (8, 2, 1, 1), "the same place"),
    ("15.4", (2, 2, 1, 1), "How many rows"),
    ("15.4", (4, 4, 1, 1), "odd lines"),
    ("15.4", (4, 2, 2, 1), "four lines"),
    ("15.4", (4, 2, 1, 2), "one more bit"),
    ("15.5", (14, 27, 3), "swapped"),
    ("15.5", (11, 14, 3), "left"),
    ("15.5", (3, 14, 3), "matrix 0"),
    ("15.5", (14, 14, 3), "for both"),
    ("15.5", (19, 14, 2), "Find the matrix"),
    ("15.5", (27, 27, 3), "goes elsewhere"),
    ("15.5", (27, 46, 3), "inside the matrix, 0 to 7"),
    ("15.5", (27, 13, 3), "column // 2"),
    ("15.5", (27, 14, 7), "counted elements"),
    ("15.5", (27, 14, 1), "one register"),
    (
        "15.6",
        lambda lane, pitch: lane % 8 * pitch + lane // 16 * 8 * pitch + lane // 8 % 2 * 16,
        "matrices 1 and 2",
    ),
    ("15.6", lambda lane, pitch: lane % 8 * pitch + lane // 8 * 16, "side by side"),
    ("15.6", lambda lane, pitch: lane * pitch, "32 rows"),
    ("15.6", lambda lane, pitch: lane % 16 * pitch + lane // 16 * 8, "are bytes"),
    ("15.6", lambda lane, pitch: 2 * (lane % 16 * pitch + lane // 16 * 8), "in bytes already"),
    ("15.6", lambda lane, pitch: lane % 16 * pitch, "left half is right"),
    ("15.6", lambda lane, pitch: lane % 8 * pitch, "lane 8"),
    ("15.6", lambda lane, pitch: 0, "lane 1"),
    ("15.7", (25, 0), "without `.trans`"),
    ("15.7", (6, 0), "supplies the address"),
    ("15.7", (11, 2), "two halves"),
    ("15.7", (11, 1), "comes first"),
    ("15.7", (8, 0), "four lanes are right"),
    ("15.7", (9, 0), "group of four"),
    ("15.7", (22, 0), "counts elements"),
    ("15.7", (0, 0), "on the right"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "15.1": r"\b1, 2\b|\b2, 4\b",
    "15.2": r"\b8, 2\b|\b2, 4\b",
    "15.3": r"\b208\b|\b272\b",
    "15.4": r"\b4, 2\b|\b2, 1\b|one wavefront",
    "15.5": r"\b27\b|\b14\b",
    "15.6": r"lane % 16|lane // 16",
    "15.7": r"\b11\b",
}
