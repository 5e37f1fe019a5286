"""Answers to the exercises of lesson 04: worked out by hand from the 32 banks and the ISA's figures."""

from __future__ import annotations

from typing import Any


def place(expression: str) -> str:
    """CUDA C++ of the function that exercise 04.8 asks for."""
    return f"__device__ int place(int row, int vector) {{ return {expression}; }}"


def by_matrix(lane: int, pitch: int) -> int:
    """Matrices 0 and 1 below each other, 2 and 3 to the right of them."""
    matrix, row = divmod(lane, 8)
    return (row + 8 * (matrix % 2)) * pitch + 2 * (8 * (matrix // 2))


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "04.1": "(1, 2, 4, 1)",
    "04.2": "(8, 2, 4)",
    "04.3": "(208, 80, 272, 80)",
    "04.4": "(4, 2, 1, 1)",
    "04.5": "(27, 14, 3)",
    "04.6": "lane % 16 * pitch + lane // 16 * 16",
    "04.7": "(11, 0)",
    "04.8": "return row * 128 + (vector ^ row % 8) * 16;",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("04.6", by_matrix),
    ("04.6", lambda lane, pitch: (lane & 15) * pitch + (lane >> 4) * 16),
    ("04.8", place("row * 128 + (vector + row) % 8 * 16")),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("04.1", (1, 2, 4, 32), "share it"),
    ("04.1", (4, 8, 16, 1), "4 bytes wide"),
    ("04.1", (32, 16, 8, 1), "banks that the lanes touch"),
    ("04.1", (5, 2, 4, 1), "first load"),
    ("04.1", (1, 6, 4, 1), "For the second"),
    ("04.1", (1, 2, 12, 1), "For the third"),
    ("04.1", (1, 2, 4, 2), "In the fourth"),
    ("04.2", (8, 1, 1), "to the lanes"),
    ("04.2", (2, 2, 4), "first eight lanes"),
    ("04.2", (4, 2, 4), "lanes 0, 1, 2, 3 and 4"),
    ("04.2", (16, 2, 4), "bank 0"),
    ("04.2", (8, 4, 4), "exception"),
    ("04.2", (8, 1, 4), "twice as many"),
    ("04.2", (8, 2, 2), "i ^ 2"),
    ("04.2", (8, 2, 1), "not served"),
    ("04.2", (8, 8, 8), "how many lanes"),
    ("04.3", (192, 80, 256, 64), "Without padding"),
    ("04.3", (208, 96, 272, 80), "no padding at all"),
    ("04.3", (104, 40, 136, 80), "elements"),
    ("04.3", (104, 40, 136, 40), "elements"),
    ("04.3", (196, 84, 260, 68), "multiple of 16"),
    ("04.3", (208, 80, 240, 80), "smaller than the row"),
    ("04.3", (208, 80, 272, 112), "smallest possible"),
    ("04.3", (224, 80, 272, 80), "Look at 224"),
    ("04.4", (8, 4, 2, 1), "rows of 128 bytes"),
    ("04.4", (8, 2, 1, 1), "the same place"),
    ("04.4", (2, 2, 1, 1), "How many rows"),
    ("04.4", (4, 4, 1, 1), "what is in odd ones"),
    ("04.4", (4, 2, 2, 1), "four such rows"),
    ("04.4", (4, 2, 1, 2), "one more bit"),
    ("04.5", (14, 27, 3), "swapped"),
    ("04.5", (11, 14, 3), "left"),
    ("04.5", (3, 14, 3), "matrix 0"),
    ("04.5", (14, 14, 3), "for both"),
    ("04.5", (19, 14, 2), "Find the matrix"),
    ("04.5", (27, 27, 3), "goes elsewhere"),
    ("04.5", (27, 46, 3), "inside the matrix, 0 to 7"),
    ("04.5", (27, 13, 3), "column // 2"),
    ("04.5", (27, 14, 7), "counted elements"),
    ("04.5", (27, 14, 1), "one register"),
    (
        "04.6",
        lambda lane, pitch: lane % 8 * pitch + lane // 16 * 8 * pitch + lane // 8 % 2 * 16,
        "matrices 1 and 2",
    ),
    ("04.6", lambda lane, pitch: lane % 8 * pitch + lane // 8 * 16, "side by side"),
    ("04.6", lambda lane, pitch: lane * pitch, "32 rows"),
    ("04.6", lambda lane, pitch: lane % 16 * pitch + lane // 16 * 8, "are bytes"),
    ("04.6", lambda lane, pitch: 2 * (lane % 16 * pitch + lane // 16 * 8), "in bytes already"),
    ("04.6", lambda lane, pitch: lane % 16 * pitch, "left half is right"),
    ("04.6", lambda lane, pitch: lane % 8 * pitch, "lane 8"),
    ("04.6", lambda lane, pitch: 0, "lane 1"),
    ("04.7", (25, 0), "without `.trans`"),
    ("04.7", (6, 0), "supplies the address"),
    ("04.7", (11, 2), "two halves"),
    ("04.7", (11, 1), "comes first"),
    ("04.7", (8, 0), "four lanes are right"),
    ("04.7", (9, 0), "group of four"),
    ("04.7", (22, 0), "counts elements"),
    ("04.7", (0, 0), "on the right"),
    ("04.8", place("row * 128 + vector * 16"), "nothing is gained"),
    ("04.8", place("row * 144 + vector * 16"), "no room to pad"),
    ("04.8", place("row * 128 + (vector ^ row % 4) * 16"), "at the same place in their row"),
    ("04.8", place("row * 128 + (vector ^ row % 2) * 16"), "some rows of every eight"),
    ("04.8", place("row * 128 + (vector | row % 8) * 16"), "needs its own"),
    ("04.8", place("row * 128 + (vector ^ row % 8)"), "multiple of 16"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "04.1": r"\b1, 2\b|\b2, 4\b",
    "04.2": r"\b8, 2\b|\b2, 4\b",
    "04.3": r"\b208\b|\b272\b",
    "04.4": r"\b4, 2\b|\b2, 1\b|one wavefront",
    "04.5": r"\b27\b|\b14\b",
    "04.6": r"lane % 16|lane // 16",
    "04.7": r"\b11\b",
    "04.8": r"vector \^|XOR",
}
