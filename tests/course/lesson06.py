"""Answers to the exercises of lesson 06: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "06.1": "1 + 2**-10",
    "06.2": "0xEE4E",
    "06.3": "(10, 3)",
    "06.4": "lane % 4 * 2 + (8 if i >= 2 else 0)",
    "06.5": "(11, 24, 27)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("06.4", lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("06.1", 1 + 2**-9, "nothing is rounded"),
    ("06.1", 1 + 2**-10 + 2**-11, "11 fraction bits"),
    ("06.1", 1.0, "reach down"),
    ("06.1", 2**-10, "1 in front"),
    ("06.1", 2.0, "binary"),
    ("06.2", 0xE4EE, "*lowest* bits"),
    ("06.2", 0x44E4, "exchanged"),
    ("06.2", 0xBB1B, "low two bits"),
    ("06.2", 1110111001001110, "Start it with"),
    ("06.2", 0xEE4E0, "more than 16"),
    ("06.2", 0b1101, "One bit for each"),
    ("06.2", 0b1011, "One bit for each"),
    ("06.2", 0b1110, "one nibble"),
    ("06.2", 0xEEEE, "Both kinds"),
    ("06.2", 7, "Number the four halves"),
    ("06.3", (10, 2), "eight higher"),
    ("06.3", (10, 1), "columns 0 to 7"),
    ("06.3", (10, 0), "lane is right"),
    ("06.3", (9, 3), "two"),
    ("06.3", (42, 3), "share the lanes"),
    ("06.3", (31, 3), "groupID"),
    ("06.4", lambda lane, i: lane % 4 + (4 if i >= 2 else 0), "compressed"),
    ("06.4", lambda lane, i: lane % 4 * 2, "a0 is right"),
    ("06.4", lambda lane, i: lane * 2, "four lanes share a row"),
    ("06.4", lambda lane, i: 99, "steps by two"),
    ("06.5", (9, 24, 27), "selector is 0"),
    ("06.5", (11, 27, 24), "lowest bit before"),
    ("06.5", (11, 8, 11), "eight higher"),
    ("06.5", (11, 16, 19), "half of its register"),
    ("06.5", (11, 0, 3), "lower 16 bits"),
    ("06.5", (10, 24, 27), "chunks 0 to 3"),
    ("06.5", (10, 8, 11), "same lane"),
    ("06.5", (43, 24, 27), "share the lanes"),
    ("06.5", (3, 24, 27), "bits are right"),
    ("06.5", (0, 0, 3), "groupID"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "06.1": r"1\.0009",
    "06.2": r"(?i)EE4E|0b1110",
    "06.3": r"\b10\b|\ba3\b\.$",
    "06.5": r"\b11\b|\b24\b|\b27\b",
}
