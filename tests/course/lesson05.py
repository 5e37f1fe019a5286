"""Answers to the exercises of lesson 05: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def gathered(chunk: list[int]) -> int:
    """A nibble for a chunk of eight, written down from the ISA text."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in range(4) if p not in pairs)][:2])
    return first | second << 2


def spare_last(chunk: list[int]) -> int:
    """As `gathered`, but with the last free pair in a free place."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in (3, 2, 1, 0) if p not in pairs)][:2])
    return second << 2 | first


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "05.1": "0b1101",
    "05.2": "(lambda free: min(free[:2]) | max(free[:2]) << 2)(sorted(range(4), key=lambda pair: not any(chunk[2 * pair : 2 * pair + 2])))",
    "05.3": "29",
    "05.4": "[2, 3, 6, 7]",
    "05.5": "(15, 24, 27)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "05.1": [0b1101, 13, "0b1101", np.uint8(13)],
    "05.2": [gathered, spare_last],
    "05.3": [29, np.array(29)],
    "05.4": [[2, 3, 6, 7], {7, 6, 3, 2}, (2, 3, 6, 7), np.array([2, 3, 6, 7])],
    "05.5": [(15, 24, 27)],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "05.1": [(0b0111, "low"), (0b1010, "one bit each"), (77, "pairs"), (0b1111, "equal"), (0b0100, "other pairs"), (0b0010, "four pairs")],
    "05.2": [
        (lambda chunk: 0, "equal"),
        (lambda chunk: 99, "more than four bits"),
        (lambda chunk: (gathered(chunk) & 3) << 2 | gathered(chunk) >> 2, "descend"),
        (lambda chunk: gathered([v if chunk[i - i % 2] and chunk[i - i % 2 + 1] else 0 for i, v in enumerate(chunk)]), "one zero in it"),
        (lambda chunk: 0b0100, "does not keep all"),
    ],
    "05.3": [(13, "stored column"), (26, "Twice"), (31, "second pair"), (24, "chunk is right"), (0, "Four stored columns")],
    "05.4": [
        ([0, 1, 4, 5], "selector 0"),
        ([2, 3], "not they alone"),
        ([4, 5, 6, 7], "within every group"),
        ([1, 3, 5, 7], "odd"),
        ([2, 3, 6, 7, 10], "lanes 0 to 7"),
        ([0], "T2 and T3"),
    ],
    "05.5": [
        ((13, 24, 27), "selector is 0"),
        ((14, 24, 27), "eight higher"),
        ((15, 4, 7), "from the top"),
        ((15, 8, 11), "lane is right"),
        ((31, 24, 27), "bits are right"),
        ((45, 0, 3), "32 lanes"),
        ((0, 0, 3), "groupID"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "05.1": r"1101|\b13\b",
    "05.3": r"\b29\b",
    "05.5": r"\b15\b(?! share)|\b24\b|\b27\b",
}
