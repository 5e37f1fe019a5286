"""Answers to the exercises of lesson 18: worked out by hand from the ISA's formulas and figures."""

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
    "18.1": "29",
    "18.2": (
        "sum((lambda keep: min(keep) | max(keep) << 2)(sorted(range(4), key=lambda pair: not any(row[8 * "
        "chunk + 2 * pair :][:2]))[:2]) << 4 * chunk for chunk in range(8))"
    ),
    "18.3": "1 + 2**-10",
    "18.4": "0xEE4E",
    "18.5": "(10, 3)",
    "18.6": "(4, 4, 1)",
    "18.7": "(4, 4, 1)",
    "18.8": "lane % 4 * (64 // bits) + i // (64 // bits) * (256 // bits)",
    "18.9": (
        "row % 8 * 4 + (selector * k * bits // 256 + column * bits // 256 if bits >= 16 else selector * k "
        "* bits // 128 + row // 8 + 2 * (column * bits // 256))"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("18.2", written),
    ("18.2", lambda row: written(row, spare_last)),
    ("18.2", lambda row: np.uint32(written(list(row)))),
    ("18.2", lambda row: hex(written(row))),
    ("18.2", lambda row: np.array(written(row), dtype=np.uint32).view(np.int32)),
    ("18.8", first_column),
    ("18.8", lambda bits, lane, i: np.int64(first_column(bits, lane, i))),
    ("18.9", metadata_lane),
    ("18.9", lambda *at: np.array(metadata_lane(*at))),
    ("18.9", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, selector)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("18.1", 13, "column of compressed A"),
    ("18.1", 26, "Doubling"),
    ("18.1", 31, "second pair"),
    ("18.1", 27, "counts *pairs*"),
    ("18.1", 28, "pair is right"),
    ("18.1", 24, "chunk is right"),
    ("18.1", 0, "Four columns"),
    ("18.2", lambda row: 0, "equal"),
    ("18.2", lambda row: 2**32 - 1, "equal"),
    ("18.2", lambda row: 2**40, "32 bits"),
    ("18.2", lambda row: gathered(row[:8]), "nothing else"),
    ("18.2", lambda row: written(row[::-1].reshape(8, 8)[:, ::-1].ravel()), "reverse order"),
    (
        "18.2",
        lambda row: written(row, lambda chunk: (gathered(chunk) & 3) << 2 | gathered(chunk) >> 2),
        "descend",
    ),
    ("18.2", lambda row: written(np.repeat(row.reshape(32, 2).all(axis=1), 2)), "one zero in it"),
    ("18.2", lambda row: 0x44444444, "does not keep all non-zero"),
    (
        "18.2",
        lambda row: written(
            row,
            lambda chunk: (lambda kept: kept[0] | kept[1] << 2)(
                [p for p in range(4) if any(chunk[2 * p :][:2])]
            ),
        ),
        "fewer than two non-zero pairs",
    ),
    ("18.2", lambda row: row.nothing, "raised AttributeError"),
    ("18.3", 1 + 2**-9, "nothing is rounded"),
    ("18.3", 1 + 2**-10 + 2**-11, "11 fraction bits"),
    ("18.3", 1.0, "reach down"),
    ("18.3", 2**-10, "1 in front"),
    ("18.3", 2.0, "binary"),
    ("18.4", 0xE4EE, "*lowest* bits"),
    ("18.4", 0x44E4, "exchanged"),
    ("18.4", 0xBB1B, "low two bits"),
    ("18.4", 1110111001001110, "Start it with"),
    ("18.4", 0xEE4E0, "more than 16"),
    ("18.4", 0b1101, "One bit for each"),
    ("18.4", 0b1011, "One bit for each"),
    ("18.4", 0b1110, "one nibble"),
    ("18.4", 0xEEEE, "Both kinds"),
    ("18.4", 7, "Number the four halves"),
    ("18.5", (10, 2), "eight higher"),
    ("18.5", (10, 1), "columns 0 to 7"),
    ("18.5", (10, 0), "lane is right"),
    ("18.5", (9, 3), "two"),
    ("18.5", (42, 3), "share the lanes"),
    ("18.5", (31, 3), "groupID"),
    ("18.6", (2, 2, 2), "twice as wide"),
    ("18.6", (8, 4, 1), "Only half"),
    ("18.6", (4, 4, 2), "registers are right"),
    ("18.6", (4, 2, 1), "B is dense"),
    ("18.6", (4, 4, 0), "also a value"),
    ("18.6", (1, 1, 1), "Count bits"),
    ("18.7", (2, 8, 2), "with s4"),
    ("18.7", (4, 8, 1), "Pair-wise"),
    ("18.7", (2, 4, 1), "takes a byte"),
    ("18.7", (4, 4, 2), "first two are right"),
    ("18.7", (4, 4, 0), "also a value"),
    ("18.7", (8, 2, 1), "container"),
    ("18.8", lambda bits, lane, i: first_column(bits, lane, i) // 2, "compressed"),
    ("18.8", lambda bits, lane, i: lane % 4 * (64 // bits), "next pair"),
    ("18.8", lambda bits, lane, i: lane % 4 * (64 // bits) + i // (64 // bits) * (64 // bits), "next pair"),
    (
        "18.8",
        lambda bits, lane, i: lane % 4 * (64 // bits) + i // (32 // bits) * (256 // bits),
        "eight rows lower",
    ),
    ("18.8", lambda bits, lane, i: lane * (64 // bits) + i // (64 // bits) * (256 // bits), "column 0 again"),
    ("18.8", lambda bits, lane, i: lane * (64 // bits), "column 0 again"),
    ("18.8", lambda bits, lane, i: lane % 4 * 8 + i // 8 * 32, "some widths"),
    (
        "18.8",
        lambda bits, lane, i: first_column(bits, lane, i) + 2 * (i % (32 // bits)),
        "same for all elements",
    ),
    ("18.8", lambda bits, lane, i: 999, "Start with s8"),
    ("18.9", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, 0), "selector 0"),
    (
        "18.9",
        lambda bits, k, row, column, selector: row * 4 + metadata_lane(bits, k, 0, column, selector),
        "32 lanes",
    ),
    (
        "18.9",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits >= 16), selector),
        "sixteen chunks",
    ),
    (
        "18.9",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits < 16), selector),
        "eight chunks",
    ),
    ("18.9", as_wide, "16 bits and more are right"),
    ("18.9", as_narrow, "Narrow elements are right"),
    (
        "18.9",
        lambda bits, k, row, column, selector: (
            metadata_lane(bits, k, row, column, selector) if k != 8 and k != 128 else 0
        ),
        "shapes are right",
    ),
    ("18.9", lambda bits, k, row, column, selector: -1, "First the chunk"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "18.1": r"\b29\b",
    "18.3": r"1\.0009",
    "18.4": r"(?i)EE4E|0b1110",
    "18.5": r"\b10\b|\ba3\b\.$",
    "18.6": r"\(4, 4, 1\)",
    "18.7": r"\(4, 4, 1\)",
}
