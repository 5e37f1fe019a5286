"""Answers to the exercises of lessons 04 to 07.

Lesson 04: worked out by hand from the ISA's text and figures.
Lesson 05: worked out by hand from the ISA's formulas and figures.
Lesson 06: worked out by hand from the ISA's formulas and figures.
Lesson 07: worked out by hand from the ISA's formulas and figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def place(row: int, chunk: int, selector: int) -> tuple[int, int]:
    """Lane and lowest bit of a nibble of m16n8k32 with f16, read off the ISA's figure."""
    return row % 8 * 4 + selector * 2 + chunk // 4, chunk % 4 * 4 + row // 8 * 16


def narrow(row: int, chunk: int, selector: int) -> tuple[int, int]:
    """The same for s8."""
    return row % 8 * 4 + selector * 2 + row // 8, chunk * 4


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
    "04.1": "[9, 10]",
    "04.2": "0x4ECD",
    "04.3": "[16, 17, 22, 23]",
    "04.4": "(19, 20, 23)",
    "04.5": "(9, 8)",
    "04.6": "row % 8 * 4 + 2 * selector + chunk // 4, chunk % 4 * 4 + row // 8 * 16",
    "05.1": "0b1101",
    "05.2": "29",
    "05.3": "[2, 3, 6, 7]",
    "05.4": "(15, 24, 27)",
    "05.5": (
        "sum((lambda keep: min(keep) | max(keep) << 2)(sorted(range(4), key=lambda pair: not any(row[8 * "
        "chunk + 2 * pair :][:2]))[:2]) << 4 * chunk for chunk in range(8))"
    ),
    "06.1": "1 + 2**-10",
    "06.2": "0xEE4E",
    "06.3": "(10, 3)",
    "06.4": "lane % 4 * 2 + (8 if i >= 2 else 0)",
    "06.5": "(11, 24, 27)",
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

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("04.1", (10, 9)),
    ("04.1", {9, 10}),
    ("04.3", {23, 22, 17, 16}),
    ("04.6", place),
    ("04.6", lambda row, chunk, selector: list(place(row, chunk, selector))),
    ("04.6", lambda row, chunk, selector: np.array(place(row, chunk, selector))),
    (
        "04.6",
        lambda row, chunk, selector: (
            ((row & 7) << 2 | selector << 1 | chunk >> 2),
            4 * (chunk & 3) | (row & 8) << 1,
        ),
    ),
    ("05.3", {7, 6, 3, 2}),
    ("05.5", written),
    ("05.5", lambda row: written(row, spare_last)),
    ("05.5", lambda row: np.uint32(written(list(row)))),
    ("05.5", lambda row: hex(written(row))),
    ("05.5", lambda row: np.array(written(row), dtype=np.uint32).view(np.int32)),
    ("06.4", lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)),
    ("07.6", first_column),
    ("07.6", lambda bits, lane, i: np.int64(first_column(bits, lane, i))),
    ("07.7", metadata_lane),
    ("07.7", lambda *at: np.array(metadata_lane(*at))),
    ("07.7", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, selector)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("04.1", [1, 2], "inside the chunk"),
    ("04.1", [8, 11], "not a mask"),
    ("04.1", [5, 6], "from 0"),
    ("04.1", [9], "two columns"),
    ("04.1", [8, 9], "right chunk"),
    ("04.1", [0, 15], "four columns wide"),
    ("04.2", 0xDCE4, "other way round"),
    ("04.2", 0x1B37, "low two bits"),
    ("04.2", 0b0011_1100_1001_1010, "one bit each"),
    ("04.2", 0b1100_0011_1001_0101, "one bit each"),
    ("04.2", 0x24ECD, "16 bits"),
    ("04.2", 0x4ECF, "chunk 0 names one column twice"),
    ("04.2", 0x4E8D, "Chunk 1 is the first"),
    ("04.3", [16, 19], "count pairs"),
    ("04.3", [16, 22], "first columns"),
    ("04.3", [0, 1, 6, 7], "chunk begin"),
    ("04.3", [8, 9, 14, 15], "eight columns wide"),
    ("04.3", [16, 17], "Half of"),
    ("04.3", [16, 17, 18, 19], "four parts"),
    ("04.4", (16, 20, 23), "another selector"),
    ("04.4", (19, 4, 7), "eight higher"),
    ("04.4", (19, 23, 20), "lowest bit before"),
    ("04.4", (19, 8, 11), "counted from the top"),
    ("04.4", (19, 24, 27), "lane is right"),
    ("04.4", (51, 20, 23), "32 lanes"),
    ("04.4", (7, 20, 23), "bits are right"),
    ("04.4", (0, 0, 3), "groupID"),
    ("04.5", (1, 24), "layout for f16"),
    ("04.5", (1, 8), "second of its pair"),
    ("04.5", (9, 2), "number of the chunk"),
    ("04.5", (9, 16), "four columns wide"),
    ("04.5", (9, 12), "which chunk begins"),
    ("04.5", (5, 8), "T1 has row groupID + 8"),
    ("04.6", narrow, "layout for s8"),
    ("04.6", lambda r, c, s: (place(r, c, 1 - s)[0], place(r, c, s)[1]), "other pair"),
    ("04.6", lambda r, c, s: (place(r, c, s)[0], place((r + 8) % 16, c, s)[1]), "swapped"),
    ("04.6", lambda r, c, s: (place(r, c, s)[0], c % 4 * 4), "upper half"),
    ("04.6", lambda r, c, s: (r % 8 * 4 + 2 * (c // 4) + s, place(r, c, s)[1]), "neighbours"),
    ("04.6", lambda r, c, s: (r % 8 * 4 + 2 * s + c % 2, c // 2 * 4 + r // 8 * 16), "alternate"),
    ("04.6", lambda r, c, s: (r // 2 * 4 + 2 * s + c // 4, c % 4 * 4 + r % 2 * 16), "eight apart"),
    ("04.6", lambda r, c, s: (place(r, c, s)[0], place(r, c, s)[1] // 4), "counted nibbles"),
    ("04.6", lambda r, c, s: (place(r, c, s)[0], c * 4), "Every lane is right"),
    ("04.6", lambda r, c, s: (r * 4 + s, place(r, c, s)[1]), "Every bit is right"),
    ("04.6", lambda r, c, s: (0, 0), "by hand"),
    ("04.6", lambda r, c, s: 7, "found one number"),
    ("05.1", 0b0111, "low"),
    ("05.1", 0b1010, "one bit each"),
    ("05.1", 77, "pairs"),
    ("05.1", 1010, "Start it with"),
    ("05.1", 0b1111, "equal"),
    ("05.1", 0b0100, "other pairs"),
    ("05.1", 0b0010, "four pairs"),
    ("05.2", 13, "column of compressed A"),
    ("05.2", 26, "Doubling"),
    ("05.2", 31, "second pair"),
    ("05.2", 27, "counts *pairs*"),
    ("05.2", 28, "pair is right"),
    ("05.2", 24, "chunk is right"),
    ("05.2", 0, "Four columns"),
    ("05.3", [0, 1, 4, 5], "selector 0"),
    ("05.3", [2, 3], "own metadata lanes"),
    ("05.3", [2, 6], "two of every four"),
    ("05.3", [3, 7], "two of every four"),
    ("05.3", [4, 5, 6, 7], "within every group"),
    ("05.3", [1, 3, 5, 7], "odd"),
    ("05.3", [2, 3, 6, 7, 10], "lanes 0 to 7"),
    ("05.3", [0], "T2 and T3"),
    ("05.4", (13, 24, 27), "selector is 0"),
    ("05.4", (14, 24, 27), "eight higher"),
    ("05.4", (15, 4, 7), "from the top"),
    ("05.4", (15, 27, 24), "lowest bit before"),
    ("05.4", (15, 8, 11), "lane is right"),
    ("05.4", (31, 24, 27), "bits are right"),
    ("05.4", (45, 0, 3), "32 lanes"),
    ("05.4", (0, 0, 3), "groupID"),
    ("05.5", lambda row: 0, "equal"),
    ("05.5", lambda row: 2**32 - 1, "equal"),
    ("05.5", lambda row: 2**40, "32 bits"),
    ("05.5", lambda row: gathered(row[:8]), "nothing else"),
    ("05.5", lambda row: written(row[::-1].reshape(8, 8)[:, ::-1].ravel()), "reverse order"),
    (
        "05.5",
        lambda row: written(row, lambda chunk: (gathered(chunk) & 3) << 2 | gathered(chunk) >> 2),
        "descend",
    ),
    ("05.5", lambda row: written(np.repeat(row.reshape(32, 2).all(axis=1), 2)), "one zero in it"),
    ("05.5", lambda row: 0x44444444, "does not keep all non-zero"),
    (
        "05.5",
        lambda row: written(
            row,
            lambda chunk: (lambda kept: kept[0] | kept[1] << 2)(
                [p for p in range(4) if any(chunk[2 * p :][:2])]
            ),
        ),
        "fewer than two non-zero pairs",
    ),
    ("05.5", lambda row: row.nothing, "raised AttributeError"),
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
    ("07.1", (2, 2, 2), "twice as wide"),
    ("07.1", (8, 4, 1), "Only half"),
    ("07.1", (4, 4, 2), "registers are right"),
    ("07.1", (4, 2, 1), "B is dense"),
    ("07.1", (4, 4, 0), "also a value"),
    ("07.1", (1, 1, 1), "Count bits"),
    ("07.2", (4, 4, 2), "K is twice"),
    ("07.2", (4, 4, 1), "with s8"),
    ("07.2", (8, 8, 2), "registers are right"),
    ("07.2", (8, 8, 0), "also a value"),
    ("07.2", (16, 8, 1), "Only half"),
    ("07.2", (2, 2, 1), "selectors are right"),
    ("07.2", (2, 2, 4), "two rows"),
    ("07.3", (21, 2), "eight higher"),
    ("07.3", (21, 1), "columns 0 to 31"),
    ("07.3", (21, 0), "left half of the columns"),
    ("07.3", (21, 4), "in each pair"),
    ("07.3", (23, 3), "compressed"),
    ("07.3", (22, 3), "rule for s4"),
    ("07.3", (53, 3), "share the lanes"),
    ("07.3", (0, 0), "firstcol"),
    ("07.4", (22, 12, 15), "eight higher"),
    ("07.4", (21, 12, 15), "different lanes"),
    ("07.4", (23, 16, 19), "counted from the top"),
    ("07.4", (23, 15, 12), "lowest bit before"),
    ("07.4", (23, 8, 11), "lane is right"),
    ("07.4", (55, 12, 15), "share the lanes"),
    ("07.4", (3, 12, 15), "bits are right"),
    ("07.4", (0, 0, 3), "four columns wide"),
    ("07.5", (2, 8, 2), "with s4"),
    ("07.5", (4, 8, 1), "Pair-wise"),
    ("07.5", (2, 4, 1), "takes a byte"),
    ("07.5", (4, 4, 2), "first two are right"),
    ("07.5", (4, 4, 0), "also a value"),
    ("07.5", (8, 2, 1), "container"),
    ("07.6", lambda bits, lane, i: first_column(bits, lane, i) // 2, "compressed"),
    ("07.6", lambda bits, lane, i: lane % 4 * (64 // bits), "next pair"),
    ("07.6", lambda bits, lane, i: lane % 4 * (64 // bits) + i // (64 // bits) * (64 // bits), "next pair"),
    (
        "07.6",
        lambda bits, lane, i: lane % 4 * (64 // bits) + i // (32 // bits) * (256 // bits),
        "eight rows lower",
    ),
    ("07.6", lambda bits, lane, i: lane * (64 // bits) + i // (64 // bits) * (256 // bits), "column 0 again"),
    ("07.6", lambda bits, lane, i: lane * (64 // bits), "column 0 again"),
    ("07.6", lambda bits, lane, i: lane % 4 * 8 + i // 8 * 32, "some widths"),
    (
        "07.6",
        lambda bits, lane, i: first_column(bits, lane, i) + 2 * (i % (32 // bits)),
        "same for all elements",
    ),
    ("07.6", lambda bits, lane, i: 999, "Start with s8"),
    ("07.7", lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column, 0), "selector 0"),
    (
        "07.7",
        lambda bits, k, row, column, selector: row * 4 + metadata_lane(bits, k, 0, column, selector),
        "32 lanes",
    ),
    (
        "07.7",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits >= 16), selector),
        "sixteen chunks",
    ),
    (
        "07.7",
        lambda bits, k, row, column, selector: metadata_lane(bits, k, row, column * (bits < 16), selector),
        "eight chunks",
    ),
    ("07.7", as_wide, "16 bits and more are right"),
    ("07.7", as_narrow, "Narrow elements are right"),
    (
        "07.7",
        lambda bits, k, row, column, selector: (
            metadata_lane(bits, k, row, column, selector) if k != 8 and k != 128 else 0
        ),
        "shapes are right",
    ),
    ("07.7", lambda bits, k, row, column, selector: -1, "First the chunk"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "04.1": r"\b9\b|\b10\b",
    "04.2": r"(?i)4ECD|20173",
    "04.3": r"\b16\b|\b17\b|\b22\b|\b23\b",
    "04.4": r"\b19\b|\b20\b|\b23\b",
    "04.5": r"\b9\b",
    "05.1": r"1101|\b13\b",
    "05.2": r"\b29\b",
    "05.4": r"\b15\b(?! share)|\b24\b|\b27\b",
    "06.1": r"1\.0009",
    "06.2": r"(?i)EE4E|0b1110",
    "06.3": r"\b10\b|\ba3\b\.$",
    "06.5": r"\b11\b|\b24\b|\b27\b",
    "07.1": r"\(4, 4, 1\)",
    "07.2": r"\(8, 8, 1\)",
    "07.3": r"\b21\b",
    "07.4": r"\b23\b|\b12\b",
    "07.5": r"\(4, 4, 1\)",
}
