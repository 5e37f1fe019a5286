"""Answers to the exercises of lesson 18: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np


def first_column(bits: int, lane: int, i: int) -> int:
    """firstcol of the ISA, in one formula."""
    run = 32 // bits
    return lane % 4 * 2 * run + i // (2 * run) * 8 * run


def metadata_lane(bits: int, k: int, row: int, column: int, selector: int) -> int:
    """Lane that holds the nibble, read off the ISA's figures."""
    part = 16 if bits >= 16 else 8
    chunk = column * bits // (4 * part)
    speaking = k * bits // (4 * part) // 4
    inside = chunk // 4 if bits >= 16 else row // 8 + 2 * (chunk // 8)
    return row % 8 * 4 + selector * speaking + inside


def as_wide(bits: int, k: int, row: int, column: int, selector: int) -> int:
    """As if every type had the metadata layout of f16."""
    part = 16 if bits >= 16 else 8
    return row % 8 * 4 + selector * (k * bits // (4 * part) // 4) + column * bits // (4 * part) // 4


def as_narrow(bits: int, k: int, row: int, column: int, selector: int) -> int:
    """As if every type had the metadata layout of s8."""
    return (
        metadata_lane(bits, k, row, column, selector) if bits < 16 else row % 8 * 4 + selector * 2 + row // 8
    )


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "18.1": "(4, 4, 1)",
    "18.2": "(8, 8, 1)",
    "18.3": "(21, 3)",
    "18.4": "(23, 12, 15)",
    "18.5": "(4, 4, 1)",
    "18.6": "lane % 4 * (64 // bits) + i // (64 // bits) * (256 // bits)",
    "18.7": (
        "row % 8 * 4 + (selector * k * bits // 256 + column * bits // 256 if bits >= 16 else selector * k "
        "* bits // 128 + row // 8 + 2 * (column * bits // 256))"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("18.6", first_column),
    ("18.6", lambda bits, lane, i: np.int64(first_column(bits, lane, i))),
    ("18.7", metadata_lane),
    ("18.7", lambda *at: np.array(metadata_lane(*at))),
    ("18.7", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, selector)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("18.1", (2, 2, 2), "twice as wide"),
    ("18.1", (8, 4, 1), "Only half"),
    ("18.1", (4, 4, 2), "registers are right"),
    ("18.1", (4, 2, 1), "B is dense"),
    ("18.1", (4, 4, 0), "also a value"),
    ("18.1", (1, 1, 1), "Count bits"),
    ("18.2", (4, 4, 2), "K is twice"),
    ("18.2", (4, 4, 1), "with s8"),
    ("18.2", (8, 8, 2), "registers are right"),
    ("18.2", (8, 8, 0), "also a value"),
    ("18.2", (16, 8, 1), "Only half"),
    ("18.2", (2, 2, 1), "selectors are right"),
    ("18.2", (2, 2, 4), "two rows"),
    ("18.3", (21, 2), "eight higher"),
    ("18.3", (21, 1), "columns 0 to 31"),
    ("18.3", (21, 0), "left half of the columns"),
    ("18.3", (21, 4), "in each pair"),
    ("18.3", (23, 3), "compressed"),
    ("18.3", (22, 3), "rule for s4"),
    ("18.3", (53, 3), "share the lanes"),
    ("18.3", (0, 0), "firstcol"),
    ("18.4", (22, 12, 15), "eight higher"),
    ("18.4", (21, 12, 15), "different lanes"),
    ("18.4", (23, 16, 19), "counted from the top"),
    ("18.4", (23, 15, 12), "lowest bit before"),
    ("18.4", (23, 8, 11), "lane is right"),
    ("18.4", (55, 12, 15), "share the lanes"),
    ("18.4", (3, 12, 15), "bits are right"),
    ("18.4", (0, 0, 3), "four columns wide"),
    ("18.5", (2, 8, 2), "with s4"),
    ("18.5", (4, 8, 1), "Pair-wise"),
    ("18.5", (2, 4, 1), "takes a byte"),
    ("18.5", (4, 4, 2), "first two are right"),
    ("18.5", (4, 4, 0), "also a value"),
    ("18.5", (8, 2, 1), "container"),
    ("18.6", lambda bits, lane, i: first_column(bits, lane, i) // 2, "compressed"),
    ("18.6", lambda bits, lane, i: lane % 4 * (64 // bits), "next pair"),
    ("18.6", lambda bits, lane, i: lane % 4 * (64 // bits) + i // (64 // bits) * (64 // bits), "next pair"),
    (
        "18.6",
        lambda bits, lane, i: lane % 4 * (64 // bits) + i // (32 // bits) * (256 // bits),
        "eight rows lower",
    ),
    ("18.6", lambda bits, lane, i: lane * (64 // bits) + i // (64 // bits) * (256 // bits), "column 0 again"),
    ("18.6", lambda bits, lane, i: lane * (64 // bits), "column 0 again"),
    ("18.6", lambda bits, lane, i: lane % 4 * 8 + i // 8 * 32, "some widths"),
    (
        "18.6",
        lambda bits, lane, i: first_column(bits, lane, i) + 2 * (i % (32 // bits)),
        "same for all elements",
    ),
    ("18.6", lambda bits, lane, i: 999, "Start with s8"),
    ("18.7", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, 0), "selector 0"),
    (
        "18.7",
        lambda bits, k, row, column, selector: row * 4 + metadata_lane(bits, k, 0, column, selector),
        "32 lanes",
    ),
    (
        "18.7",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits >= 16), selector),
        "sixteen chunks",
    ),
    (
        "18.7",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits < 16), selector),
        "eight chunks",
    ),
    ("18.7", as_wide, "16 bits and more are right"),
    ("18.7", as_narrow, "Narrow elements are right"),
    (
        "18.7",
        lambda bits, k, row, column, selector: (
            metadata_lane(bits, k, row, column, selector) if k != 8 and k != 128 else 0
        ),
        "shapes are right",
    ),
    ("18.7", lambda bits, k, row, column, selector: -1, "First the chunk"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "18.1": r"\(4, 4, 1\)",
    "18.2": r"\(8, 8, 1\)",
    "18.3": r"\b21\b",
    "18.4": r"\b23\b|\b12\b",
    "18.5": r"\(4, 4, 1\)",
}
