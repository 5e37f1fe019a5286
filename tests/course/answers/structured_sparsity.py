"""Answers to the exercises of lesson 14: worked out by hand from the ISA's definition of the structures."""

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
    "14.1": "[3, 5]",
    "14.2": '{"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}',
    "14.3": "[3, -1, 0, 0, 0, 3, 0, 0]",
    "14.4": "[5, 7, 0, 3, 0, 0, 2, -1]",
    "14.5": "(32, 16, 4)",
    "14.6": "(64, 128)",
    "14.7": (
        "[n if i in sorted(range(4), key=lambda i: abs(chunk[i]))[2:] else 0 for i, n in enumerate(chunk)]"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("14.1", {5, 3}),
    ("14.2", {"4:8 pair-wise": {3, 2, 1}, "2:4": (3, 1, 0), "1:2": np.array([0, 3])}),
    ("14.2", [[0, 3], [0, 1, 3], [1, 2, 3]]),
    ("14.7", pruned),
    ("14.7", by_numpy),
    ("14.7", lambda chunk: tuple(pruned(chunk))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("14.1", [3, 4, 5], "At most"),
    ("14.1", [1, 2, 3, 5], "border"),
    ("14.1", [1, 2, 5], "border"),
    ("14.1", [4, 6], "from 1"),
    ("14.1", [12, 20], "columns"),
    ("14.1", [5], "as well"),
    ("14.1", [3], "others do"),
    ("14.1", [9], "chunks 0 to 5"),
    ("14.1", [0], "into fours"),
    ("14.2", {"1:2": [0], "2:4": [0, 1], "4:8": [1, 2]}, "Fewer"),
    ("14.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 4], "4:8": [0, 1, 2, 3]}, "Fewer"),
    ("14.2", {"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [0, 1, 2, 3]}, "pairs"),
    ("14.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 3], "4:8": [1, 2, 3]}, "two fours"),
    ("14.2", {"1:2": [0, 1, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "four twos"),
    ("14.2", {"1:2": [3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "missing"),
    ("14.2", {"1:2": [3], "2:4": [0, 3], "4:8": [1, 3]}, "none"),
    ("14.2", {"1:2": [0, 3], "2:4": [0, 1, 3]}, "for each of"),
    ("14.2", [1, 2, 3], "for each of"),
    ("14.3", [3, -1, 2, 2, 0, 0, 0, 0], "squares"),
    ("14.3", [3, 0, 2, 0, 0, 3, -2, 0], "2:4"),
    ("14.3", [3, 0, 2, 2, 0, 3, 0, 0], "apart"),
    ("14.3", [3, -1, 2, 2, 0, 3, 0, 0], "More than two"),
    ("14.3", [3, -1, 0, 0, 0, 0, -2, 1], "more than it must"),
    ("14.3", [3, 1, 0, 0, 0, 3, 0, 0], "1 is new"),
    ("14.3", [3, -1, 0, 3], "keeps its zeros"),
    ("14.4", [5, 7, 3, 2, -1], "two"),
    ("14.4", [5, 7, 3, 0, 0, 0, 2, -1], "wrong side"),
    ("14.4", [0, 5, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0, 0, -1], "row itself"),
    ("14.4", [5, 7], "Four chunks"),
    ("14.4", [0, 0, 0, 0, 0, 0, 2, 0], "every other"),
    ("14.4", [0, 5, 0, 0, 0, 0, 2, 0], "first two"),
    ("14.4", [7, 5, 0, 3, 0, 0, 2, -1], "another order"),
    ("14.4", [5, 7, 0, 3, 0, 0, 2, 1], "chunk to chunk"),
    ("14.5", (8, 4, 4), "elements"),
    ("14.5", (8, 4, 2), "elements"),
    ("14.5", (32, 16, 8), "pair"),
    ("14.5", (32, 16, 2), "two pairs are named"),
    ("14.5", (32, 16, 6), "from 0 to 3"),
    ("14.5", (32, 8, 4), "two pairs"),
    ("14.5", (64, 32, 4), "eight elements"),
    ("14.6", (128, 64), "other way"),
    ("14.6", (32, 64), "dense"),
    ("14.6", (64, 64), "first is right"),
    ("14.6", (128, 128), "second is right"),
    ("14.6", (16, 16), "Try"),
    ("14.7", lambda chunk: [n for n in pruned(chunk) if n] or [0, 0], "stored"),
    ("14.7", lambda chunk: chunk[:3], "four numbers"),
    ("14.7", lambda chunk: [abs(n) for n in pruned(chunk)], "sign"),
    ("14.7", lambda chunk: [9, 9, 0, 0], "stays as it is"),
    ("14.7", lambda chunk: sorted(pruned(chunk)), "own place"),
    ("14.7", above, "ties"),
    ("14.7", lambda chunk: chunk, "more than two"),
    ("14.7", lambda chunk: [n if i in np.argsort(chunk)[2:] else 0 for i, n in enumerate(chunk)], "negative"),
    ("14.7", lambda chunk: [*chunk[:2], 0, 0], "first two"),
    ("14.7", lambda chunk: [0, *chunk[1:3], 0], "larger numbers"),
    ("14.7", lambda chunk: [n if n == max(chunk) else 0 for n in chunk], "Two may stay"),
    ("14.7", lambda chunk: None, "return"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "14.1": r"\b3\b(?! of)|\b5\b(?!\.)",
    "14.3": r"3, -1, 0",
    "14.4": r"\b7, 0|5, 7",
    "14.5": r"\b32\b|\b16\b",
    "14.6": r"\b64\b|\b128\b",
}
