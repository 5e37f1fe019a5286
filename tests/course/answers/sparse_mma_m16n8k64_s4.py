"""Answers to the exercises of lesson 16: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def gathered(chunk: list[int]) -> int:
    """A nibble for a chunk of eight, written down from the ISA text."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in range(4) if p not in pairs)][:2])
    return first | second << 2


def written(row: Any, one: Any = gathered) -> int:
    """E of a row of 64, from a function for one chunk."""
    return sum(one(row[8 * chunk : 8 * chunk + 8]) << 4 * chunk for chunk in range(8))


def spare_last(chunk: list[int]) -> int:
    """As `gathered`, but with the last free pair in a free place."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in (3, 2, 1, 0) if p not in pairs)][:2])
    return second << 2 | first


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "16.1": "0b1101",
    "16.2": "29",
    "16.3": "[2, 3, 6, 7]",
    "16.4": "(15, 24, 27)",
    "16.5": (
        "sum((lambda keep: min(keep) | max(keep) << 2)(sorted(range(4), key=lambda pair: not any(row[8 * "
        "chunk + 2 * pair :][:2]))[:2]) << 4 * chunk for chunk in range(8))"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("16.3", {7, 6, 3, 2}),
    ("16.5", written),
    ("16.5", lambda row: written(row, spare_last)),
    ("16.5", lambda row: np.uint32(written(list(row)))),
    ("16.5", lambda row: hex(written(row))),
    ("16.5", lambda row: np.array(written(row), dtype=np.uint32).view(np.int32)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("16.1", 0b0111, "low"),
    ("16.1", 0b1010, "one bit each"),
    ("16.1", 77, "pairs"),
    ("16.1", 1010, "Start it with"),
    ("16.1", 0b1111, "equal"),
    ("16.1", 0b0100, "other pairs"),
    ("16.1", 0b0010, "four pairs"),
    ("16.2", 13, "column of compressed A"),
    ("16.2", 26, "Doubling"),
    ("16.2", 31, "second pair"),
    ("16.2", 27, "counts *pairs*"),
    ("16.2", 28, "pair is right"),
    ("16.2", 24, "chunk is right"),
    ("16.2", 0, "Four columns"),
    ("16.3", [0, 1, 4, 5], "selector 0"),
    ("16.3", [2, 3], "own metadata lanes"),
    ("16.3", [2, 6], "two of every four"),
    ("16.3", [3, 7], "two of every four"),
    ("16.3", [4, 5, 6, 7], "within every group"),
    ("16.3", [1, 3, 5, 7], "odd"),
    ("16.3", [2, 3, 6, 7, 10], "lanes 0 to 7"),
    ("16.3", [0], "T2 and T3"),
    ("16.4", (13, 24, 27), "selector is 0"),
    ("16.4", (14, 24, 27), "eight higher"),
    ("16.4", (15, 4, 7), "from the top"),
    ("16.4", (15, 27, 24), "lowest bit before"),
    ("16.4", (15, 8, 11), "lane is right"),
    ("16.4", (31, 24, 27), "bits are right"),
    ("16.4", (45, 0, 3), "32 lanes"),
    ("16.4", (0, 0, 3), "groupID"),
    ("16.5", lambda row: 0, "equal"),
    ("16.5", lambda row: 2**32 - 1, "equal"),
    ("16.5", lambda row: 2**40, "32 bits"),
    ("16.5", lambda row: gathered(row[:8]), "nothing else"),
    ("16.5", lambda row: written(row[::-1].reshape(8, 8)[:, ::-1].ravel()), "reverse order"),
    (
        "16.5",
        lambda row: written(row, lambda chunk: (gathered(chunk) & 3) << 2 | gathered(chunk) >> 2),
        "descend",
    ),
    ("16.5", lambda row: written(np.repeat(row.reshape(32, 2).all(axis=1), 2)), "one zero in it"),
    ("16.5", lambda row: 0x44444444, "does not keep all non-zero"),
    (
        "16.5",
        lambda row: written(
            row,
            lambda chunk: (lambda kept: kept[0] | kept[1] << 2)(
                [p for p in range(4) if any(chunk[2 * p :][:2])]
            ),
        ),
        "fewer than two non-zero pairs",
    ),
    ("16.5", lambda row: row.nothing, "raised AttributeError"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "16.1": r"1101|\b13\b",
    "16.2": r"\b29\b",
    "16.4": r"\b15\b(?! share)|\b24\b|\b27\b",
}
