"""Answers to the exercises of lesson 16: worked out by hand from the ISA's definition of the structures."""

from __future__ import annotations

from typing import Any

import numpy as np


def pruned(chunk: list[float]) -> list[float]:
    """The two largest in size stay; of equal ones the last."""
    kept = sorted(range(4), key=lambda i: (abs(chunk[i]), i))[2:]
    return [number if i in kept else 0 for i, number in enumerate(chunk)]


def by_numpy(chunk: list[float]) -> Any:
    """The same as an array; of equal ones the first."""
    found = np.array(chunk, dtype=float)
    found[np.argsort(-np.abs(found), kind="stable")[2:]] = 0
    return found


def above(chunk: list[float]) -> list[float]:
    """All that are as large as the second largest: too many where several are."""
    return [number if abs(number) >= sorted(map(abs, chunk))[2] else 0 for number in chunk]


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "16.1": "[3, 5]",
    "16.2": '{"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}',
    "16.3": "[3, -1, 0, 0, 0, 3, 0, 0]",
    "16.4": "[5, 7, 0, 3, 0, 0, 2, -1]",
    "16.5": "(32, 16, 4)",
    "16.6": "(64, 128)",
    "16.7": (
        "[n if i in sorted(range(4), key=lambda i: abs(chunk[i]))[2:] else 0 for i, n in enumerate(chunk)]"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("16.1", {5, 3}),
    ("16.2", {"4:8 pair-wise": {3, 2, 1}, "2:4": (3, 1, 0), "1:2": np.array([0, 3])}),
    ("16.2", [[0, 3], [0, 1, 3], [1, 2, 3]]),
    ("16.7", pruned),
    ("16.7", by_numpy),
    ("16.7", lambda chunk: tuple(pruned(chunk))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("16.1", [3, 4, 5], "At most"),
    ("16.1", [1, 2, 3, 5], "border"),
    ("16.1", [1, 2, 5], "border"),
    ("16.1", [4, 6], "from 1"),
    ("16.1", [12, 20], "columns"),
    ("16.1", [5], "as well"),
    ("16.1", [3], "others do"),
    ("16.1", [9], "chunks 0 to 5"),
    ("16.1", [0], "into fours"),
    ("16.2", {"1:2": [0], "2:4": [0, 1], "4:8": [1, 2]}, "Fewer"),
    ("16.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 4], "4:8": [0, 1, 2, 3]}, "Fewer"),
    ("16.2", {"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [0, 1, 2, 3]}, "pairs"),
    ("16.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 3], "4:8": [1, 2, 3]}, "two fours"),
    ("16.2", {"1:2": [0, 1, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "four twos"),
    ("16.2", {"1:2": [3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "missing"),
    ("16.2", {"1:2": [3], "2:4": [0, 3], "4:8": [1, 3]}, "none"),
    ("16.2", {"1:2": [0, 3], "2:4": [0, 1, 3]}, "for each of"),
    ("16.2", [1, 2, 3], "for each of"),
    ("16.3", [3, -1, 2, 2, 0, 0, 0, 0], "squares"),
    ("16.3", [3, 0, 2, 0, 0, 3, -2, 0], "2:4"),
    ("16.3", [3, 0, 2, 2, 0, 3, 0, 0], "apart"),
    ("16.3", [3, -1, 2, 2, 0, 3, 0, 0], "More than two"),
    ("16.3", [3, -1, 0, 0, 0, 0, -2, 1], "more than it must"),
    ("16.3", [3, 1, 0, 0, 0, 3, 0, 0], "1 is new"),
    ("16.3", [3, -1, 0, 3], "keeps its zeros"),
    ("16.4", [5, 7, 3, 2, -1], "two"),
    ("16.4", [5, 7, 3, 0, 0, 0, 2, -1], "wrong side"),
    ("16.4", [0, 5, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0, 0, -1], "row itself"),
    ("16.4", [5, 7], "Four chunks"),
    ("16.4", [0, 0, 0, 0, 0, 0, 2, 0], "every other"),
    ("16.4", [0, 5, 0, 0, 0, 0, 2, 0], "first two"),
    ("16.4", [7, 5, 0, 3, 0, 0, 2, -1], "another order"),
    ("16.4", [5, 7, 0, 3, 0, 0, 2, 1], "chunk to chunk"),
    ("16.5", (8, 4, 4), "elements"),
    ("16.5", (8, 4, 2), "elements"),
    ("16.5", (32, 16, 8), "pair"),
    ("16.5", (32, 16, 2), "two pairs are named"),
    ("16.5", (32, 16, 6), "from 0 to 3"),
    ("16.5", (32, 8, 4), "two pairs"),
    ("16.5", (64, 32, 4), "eight elements"),
    ("16.6", (128, 64), "other way"),
    ("16.6", (32, 64), "dense"),
    ("16.6", (64, 64), "first is right"),
    ("16.6", (128, 128), "second is right"),
    ("16.6", (16, 16), "Try"),
    ("16.7", lambda chunk: [n for n in pruned(chunk) if n] or [0, 0], "stored"),
    ("16.7", lambda chunk: chunk[:3], "four numbers"),
    ("16.7", lambda chunk: [abs(n) for n in pruned(chunk)], "sign"),
    ("16.7", lambda chunk: [9, 9, 0, 0], "stays as it is"),
    ("16.7", lambda chunk: sorted(pruned(chunk)), "own place"),
    ("16.7", above, "ties"),
    ("16.7", lambda chunk: chunk, "more than two"),
    ("16.7", lambda chunk: [n if i in np.argsort(chunk)[2:] else 0 for i, n in enumerate(chunk)], "negative"),
    ("16.7", lambda chunk: [*chunk[:2], 0, 0], "first two"),
    ("16.7", lambda chunk: [0, *chunk[1:3], 0], "larger numbers"),
    ("16.7", lambda chunk: [n if n == max(chunk) else 0 for n in chunk], "Two may stay"),
    ("16.7", lambda chunk: None, "return"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "16.1": r"\b3\b(?! of)|\b5\b(?!\.)",
    "16.3": r"3, -1, 0",
    "16.4": r"\b7, 0|5, 7",
    "16.5": r"\b32\b|\b16\b",
    "16.6": r"\b64\b|\b128\b",
}
