"""Answers to the exercises of lesson 06: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "06.1": "1 + 2**-10",
    "06.2": "0xEE4E",
    "06.3": "(10, 3)",
    "06.4": "lane % 4 * 2 + (8 if i >= 2 else 0)",
    "06.5": "(11, 24, 27)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "06.1": [1 + 2**-10, np.float32(1 + 2**-10), 1.0009765625],
    "06.2": [0xEE4E, 0b1110_1110_0100_1110, "0b1110111001001110", "0xEE4E"],
    "06.3": [(10, 3)],
    "06.4": [lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)],
    "06.5": [(11, 24, 27)],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "06.1": [
        (1 + 2**-9, "nothing is rounded"),
        (1 + 2**-10 + 2**-11, "11 fraction bits"),
        (1.0, "reach down"),
        (2**-10, "1 in front"),
        (2.0, "binary"),
    ],
    "06.2": [
        (0xE4EE, "*lowest* bits"),
        (0x44E4, "exchanged"),
        (0xBB1B, "low two bits"),
        (1110111001001110, "Start it with"),
        (0xEE4E0, "more than 16"),
        (0b1101, "One bit for each"),
        (0b1011, "One bit for each"),
        (0b1110, "one nibble"),
        (0xEEEE, "Both kinds"),
        (7, "Number the four halves"),
    ],
    "06.3": [
        ((10, 2), "eight higher"),
        ((10, 1), "columns 0 to 7"),
        ((10, 0), "lane is right"),
        ((9, 3), "two"),
        ((42, 3), "share the lanes"),
        ((31, 3), "groupID"),
    ],
    "06.4": [
        (lambda lane, i: lane % 4 + (4 if i >= 2 else 0), "compressed"),
        (lambda lane, i: lane % 4 * 2, "a0 is right"),
        (lambda lane, i: lane * 2, "four lanes share a row"),
        (lambda lane, i: 99, "steps by two"),
    ],
    "06.5": [
        ((9, 24, 27), "selector is 0"),
        ((11, 27, 24), "lowest bit before"),
        ((11, 8, 11), "eight higher"),
        ((11, 16, 19), "half of its register"),
        ((11, 0, 3), "lower 16 bits"),
        ((10, 24, 27), "chunks 0 to 3"),
        ((10, 8, 11), "same lane"),
        ((43, 24, 27), "share the lanes"),
        ((3, 24, 27), "bits are right"),
        ((0, 0, 3), "groupID"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "06.1": r"1\.0009",
    "06.2": r"(?i)EE4E|0b1110",
    "06.3": r"\b10\b|\ba3\b\.$",
    "06.5": r"\b11\b|\b24\b|\b27\b",
}
