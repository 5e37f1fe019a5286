"""Answers to the exercises of lesson 17: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "17.1": "1 + 2**-10",
    "17.2": "0xEE4E",
    "17.3": "(10, 3)",
    "17.4": "lane % 4 * 2 + (8 if i >= 2 else 0)",
    "17.5": "(11, 24, 27)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("17.4", lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("17.1", 1 + 2**-9, "nothing is rounded"),
    ("17.1", 1 + 2**-10 + 2**-11, "11 fraction bits"),
    ("17.1", 1.0, "reach down"),
    ("17.1", 2**-10, "1 in front"),
    ("17.1", 2.0, "binary"),
    ("17.2", 0xE4EE, "*lowest* bits"),
    ("17.2", 0x44E4, "exchanged"),
    ("17.2", 0xBB1B, "low two bits"),
    ("17.2", 1110111001001110, "Start it with"),
    ("17.2", 0xEE4E0, "more than 16"),
    ("17.2", 0b1101, "One bit for each"),
    ("17.2", 0b1011, "One bit for each"),
    ("17.2", 0b1110, "one nibble"),
    ("17.2", 0xEEEE, "Both kinds"),
    ("17.2", 7, "Number the four halves"),
    ("17.3", (10, 2), "eight higher"),
    ("17.3", (10, 1), "columns 0 to 7"),
    ("17.3", (10, 0), "lane is right"),
    ("17.3", (9, 3), "two"),
    ("17.3", (42, 3), "share the lanes"),
    ("17.3", (31, 3), "groupID"),
    ("17.4", lambda lane, i: lane % 4 + (4 if i >= 2 else 0), "compressed"),
    ("17.4", lambda lane, i: lane % 4 * 2, "a0 is right"),
    ("17.4", lambda lane, i: lane * 2, "four lanes share a row"),
    ("17.4", lambda lane, i: 99, "steps by two"),
    ("17.5", (9, 24, 27), "selector is 0"),
    ("17.5", (11, 27, 24), "lowest bit before"),
    ("17.5", (11, 8, 11), "eight higher"),
    ("17.5", (11, 16, 19), "half of its register"),
    ("17.5", (11, 0, 3), "lower 16 bits"),
    ("17.5", (10, 24, 27), "chunks 0 to 3"),
    ("17.5", (10, 8, 11), "same lane"),
    ("17.5", (43, 24, 27), "share the lanes"),
    ("17.5", (3, 24, 27), "bits are right"),
    ("17.5", (0, 0, 3), "groupID"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "17.1": r"1\.0009",
    "17.2": r"(?i)EE4E|0b1110",
    "17.3": r"\b10\b|\ba3\b\.$",
    "17.5": r"\b11\b|\b24\b|\b27\b",
}
