"""Answers to the exercises of lesson 01: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def half(lane: int, i: int) -> tuple[int, int]:
    """A of m16n8k16 with f16, as the ISA has it."""
    row = lane >> 2 if 0 <= i < 2 or 4 <= i < 6 else (lane >> 2) + 8
    return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "01.1": "(4, 29)",
    "01.2": "(3, 20, 23)",
    "01.3": "lane // 4 + 8 * (i // 8 % 2)",
    "01.4": "list(range(48, 56))",
    "01.5": "(4, 2, 2)",
    "01.6": "lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i % 2 + i // 4 * 8",
    "01.7": "range(32, 64)",
    "01.8": "(2, 7, 4)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("01.3", lambda lane, i: lane // 4 + 8 * (i // 8 % 2)),
    ("01.3", lambda lane, i: (lane >> 2) if (0 <= i < 8 or 16 <= i < 24) else (lane >> 2) + 8),
    ("01.4", range(48, 56)),
    ("01.4", {*range(48, 56)}),
    ("01.4", np.arange(55, 47, -1)),
    ("01.6", half),
    ("01.6", lambda lane, i: list(half(lane, i))),
    ("01.6", lambda lane, i: np.array(half(lane, i))),
    ("01.6", lambda lane, i: tuple(map(np.int8, half(lane, i)))),
    ("01.7", {*range(32, 64)}),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("01.1", (4, 21), "eight rows higher"),
    ("01.1", (4, 13), "columns 0 to 31"),
    ("01.1", (4, 5), "eight rows too high"),
    ("01.1", (36, 29), "32 lanes"),
    ("01.1", (5, 29), "threadID_in_group"),
    ("01.1", (4, 37), "three parts"),
    ("01.1", (0, 0), "groupID"),
    ("01.2", (3, 8, 11), "from the top"),
    ("01.2", (3, 23, 20), "lowest first"),
    ("01.2", (3, 20, 24), "Almost"),
    ("01.2", (1, 20, 23), "bits are right"),
    ("01.2", (3, 0, 3), "register is right"),
    ("01.2", (7, 0, 3), "registers 0 to 3"),
    ("01.2", (0, 29, 32), "quotient"),
    ("01.3", lambda lane, i: lane // 4, "both halves"),
    ("01.3", lambda lane, i: lane // 4 + 8 * (i >= 8), "Right for a0 to a15"),
    ("01.3", lambda lane, i: lane // 4 + 8 * (i >= 16), "columns"),
    ("01.3", lambda lane, i: lane // 4 + 8 * (1 - i // 8 % 2), "exchanged"),
    ("01.3", lambda lane, i: lane % 8 + 8 * (i // 8 % 2), "groupID is not"),
    ("01.3", lambda lane, i: lane >> 2 + 8 * (i // 8 % 2), "adds before it shifts"),
    ("01.3", lambda lane, i: lane // 2, "lane // 4"),
    ("01.4", range(16, 24), "register 0"),
    ("01.4", [48], "eight different rows"),
    ("01.4", range(49, 57), "Off by one"),
    ("01.4", range(8), "T6:{b8..b15}"),
    ("01.5", (16, 8, 4), "elements"),
    ("01.5", (4, 2, 4), "register of its own"),
    ("01.5", (2, 1, 4), "as with"),
    ("01.5", (4, 2, 1), "A and B are right"),
    ("01.5", (2, 4, 2), "wrong order"),
    ("01.5", (128, 64, 32), "whole matrix"),
    ("01.5", (1, 2, 3), "divided by 32 lanes"),
    ("01.6", lambda lane, i: half(lane, i)[::-1], "row comes first"),
    ("01.6", lambda lane, i: half(lane, i & 1 | (i & 2) << 1 | (i & 4) >> 1), "right before you go down"),
    ("01.6", lambda lane, i: (half(lane, i)[0], lane % 4 * 2 + i % 2), "left half"),
    ("01.6", lambda lane, i: (half(lane, i)[0], lane % 4 * 2 + i + (8 if i >= 4 else 0)), "beyond 15"),
    ("01.6", lambda lane, i: (half(lane, i)[0], lane % 4 * 4 + i % 2), "run has two"),
    ("01.6", lambda lane, i: (lane // 4, half(lane, i)[1]), "upper half"),
    ("01.6", lambda lane, i: (lane // 4 + 8 * (i >= 4), half(lane, i)[1]), "eight rows lower"),
    ("01.6", lambda lane, i: (0, 0), "Follow one lane"),
    ("01.7", [], "begin again"),
    ("01.7", [40], "there are more"),
    ("01.7", (32, 63), "all between them"),
    ("01.7", range(33, 64), "there are more"),
    ("01.7", range(64), "Half of those"),
    ("01.7", range(64, 128), "other line"),
    ("01.7", range(32), "first register"),
    ("01.7", range(32, 65), "some of yours the formula is right"),
    ("01.7", range(16, 48), "multiple"),
    ("01.7", [0, 100], "Compare the two lines"),
    ("01.8", (2, 3, 4), "for lanes 16 and up"),
    ("01.8", (3, 7, 4), "from 1"),
    ("01.8", (6, 7, 4), "groupID"),
    ("01.8", (2, 23, 4), "vertically"),
    ("01.8", (2, 4, 7), "exchanged"),
    ("01.8", (2, 6, 1), "stays where it is"),
    ("01.8", (1, 7, 4), "lanes 8 to 11"),
    ("01.8", (2, 0, 0), "in binary"),
    ("01.8", (0, 0, 0), "table of products"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "01.1": r"\b29\b",
    "01.2": r"\b20\b|\b23\b",
    "01.4": r"\b48\b|\b55\b",
    "01.5": r"4, 2, 2|\b4 registers",
    "01.7": r"\b32\b|\b63\b|\b64\b",
    "01.8": r"\b7\b|product 2|row 7|\(2",
}
