"""Answers to the exercises of lesson 06: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "06.1": "1 + 2**-10",
    "06.2": "0b1110",
    "06.3": "(10, 3)",
    "06.4": "lane % 4 * 2 + (8 if i >= 2 else 0)",
    "06.5": "(9, 24, 27)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "06.1": [1 + 2**-10, np.float32(1 + 2**-10), 1.0009765625],
    "06.2": [0b1110, 14],
    "06.3": [(10, 3)],
    "06.4": [lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)],
    "06.5": [(9, 24, 27)],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "06.1": [(1 + 2**-9, "nobody rounds"), (1 + 2**-10 + 2**-11, "11 fraction bits"), (1.0, "reach down"), (2.0, "binary")],
    "06.2": [(0b0100, "first element"), (0b1011, "low bits"), (1, "halves"), (16, "four bits"), (7, "Number the four halves")],
    "06.3": [
        ((10, 2), "eight higher"),
        ((10, 1), "columns 0 to 7"),
        ((10, 0), "lane is right"),
        ((9, 3), "two"),
        ((42, 3), "share the lanes"),
        ((31, 3), "groupID"),
    ],
    "06.4": [
        (lambda lane, i: lane % 4 + (4 if i >= 2 else 0), "stored"),
        (lambda lane, i: lane % 4 * 2, "a0 is right"),
        (lambda lane, i: 99, "first wrong"),
    ],
    "06.5": [
        ((11, 24, 27), "selector is 1"),
        ((9, 8, 11), "eight higher"),
        ((8, 24, 27), "chunks 0 to 3"),
        ((9, 0, 3), "lane is right"),
        ((10, 24, 27), "value"),
        ((1, 24, 27), "bits are right"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "06.1": r"1\.0009",
    "06.2": r"1110|\b14\b",
    "06.3": r"\b10\b|\ba3\b\.$",
    "06.5": r"\b9\b|\b24\b|\b27\b",
}
