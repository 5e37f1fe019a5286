"""Answers to the exercises of lesson 07: worked out by hand from the ISA's formulas and figures."""

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
    "07.1": "(4, 4, 1)",
    "07.2": "(8, 8, 1)",
    "07.3": "(21, 3)",
    "07.4": "(23, 12, 15)",
    "07.5": "(4, 4, 1)",
    "07.6": "lane % 4 * (64 // bits) + i // (64 // bits) * (256 // bits)",
    "07.7": (
        "row % 8 * 4 + (selector * k * bits // 256 + column * bits // 256 if bits >= 16 else selector * k "
        "* bits // 128 + row // 8 + 2 * (column * bits // 256))"
    ),
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "07.1": [(4, 4, 1), [4, 4, 1], np.array([4, 4, 1])],
    "07.2": [(8, 8, 1), ["8", "8", "1"]],
    "07.3": [(21, 3), np.array([21, 3])],
    "07.4": [(23, 12, 15), [23, 12, 15]],
    "07.5": [(4, 4, 1), (4.0, 4.0, 1.0)],
    "07.6": [first_column, lambda bits, lane, i: np.int64(first_column(bits, lane, i))],
    "07.7": [
        metadata_lane,
        lambda *at: np.array(metadata_lane(*at)),
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, selector),
    ],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "07.1": [
        ((2, 2, 2), "twice as wide"),
        ((8, 4, 1), "Only half"),
        ((4, 4, 2), "registers are right"),
        ((4, 2, 1), "B is dense"),
        ((4, 4, 0), "also a value"),
        ((1, 1, 1), "Count bits"),
    ],
    "07.2": [
        ((4, 4, 2), "K is twice"),
        ((4, 4, 1), "with s8"),
        ((8, 8, 2), "registers are right"),
        ((8, 8, 0), "also a value"),
        ((16, 8, 1), "Only half"),
        ((2, 2, 1), "selectors are right"),
        ((2, 2, 4), "two rows"),
    ],
    "07.3": [
        ((21, 2), "eight higher"),
        ((21, 1), "columns 0 to 31"),
        ((21, 0), "left half of the columns"),
        ((23, 3), "compressed"),
        ((22, 3), "rule for s4"),
        ((53, 3), "share the lanes"),
        ((0, 0), "firstcol"),
    ],
    "07.4": [
        ((22, 12, 15), "eight higher"),
        ((21, 12, 15), "different lanes"),
        ((23, 16, 19), "counted from the top"),
        ((23, 15, 12), "lowest bit before"),
        ((23, 8, 11), "lane is right"),
        ((55, 12, 15), "share the lanes"),
        ((3, 12, 15), "bits are right"),
        ((0, 0, 3), "four columns wide"),
    ],
    "07.5": [
        ((2, 8, 2), "with s4"),
        ((4, 8, 1), "Pair-wise"),
        ((2, 4, 1), "takes a byte"),
        ((4, 4, 2), "first two are right"),
        ((4, 4, 0), "also a value"),
        ((8, 2, 1), "container"),
    ],
    "07.6": [
        (lambda bits, lane, i: first_column(bits, lane, i) // 2, "compressed"),
        (lambda bits, lane, i: lane % 4 * (64 // bits), "next pair"),
        (lambda bits, lane, i: lane % 4 * (64 // bits) + i // (64 // bits) * (64 // bits), "next pair"),
        (
            lambda bits, lane, i: lane % 4 * (64 // bits) + i // (32 // bits) * (256 // bits),
            "eight rows lower",
        ),
        (lambda bits, lane, i: lane * (64 // bits) + i // (64 // bits) * (256 // bits), "column 0 again"),
        (lambda bits, lane, i: lane * (64 // bits), "column 0 again"),
        (lambda bits, lane, i: lane % 4 * 8 + i // 8 * 32, "some widths"),
        (lambda bits, lane, i: first_column(bits, lane, i) + 2 * (i % (32 // bits)), "same for all elements"),
        (lambda bits, lane, i: 999, "Start with s8"),
    ],
    "07.7": [
        (lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, 0), "selector 0"),
        (
            lambda bits, k, row, column, selector: row * 4 + metadata_lane(bits, k, 0, column, selector),
            "32 lanes",
        ),
        (
            lambda bits, k, row, column, selector: metadata_lane(
                bits, k, row, column * (bits >= 16), selector
            ),
            "sixteen chunks",
        ),
        (
            lambda bits, k, row, column, selector: metadata_lane(
                bits, k, row, column * (bits < 16), selector
            ),
            "eight chunks",
        ),
        (as_wide, "16 bits and more are right"),
        (as_narrow, "Narrow elements are right"),
        (
            lambda bits, k, row, column, selector: (
                metadata_lane(bits, k, row, column, selector) if k != 8 and k != 128 else 0
            ),
            "shapes are right",
        ),
        (lambda bits, k, row, column, selector: -1, "First the chunk"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "07.1": r"\(4, 4, 1\)",
    "07.2": r"\(8, 8, 1\)",
    "07.3": r"\b21\b",
    "07.4": r"\b23\b|\b12\b",
    "07.5": r"\(4, 4, 1\)",
}
