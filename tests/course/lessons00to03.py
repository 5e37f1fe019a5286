"""Answers to the exercises of lessons 00 to 03.

Lesson 00: worked out by hand from the ISA's formulas and figures.
Lesson 01: worked out by hand from the ISA's formulas and figures.
Lesson 02: worked out by hand from the definitions of the types.
Lesson 03: worked out by hand from the ISA's definition of the structures.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def half(lane: int, i: int) -> tuple[int, int]:
    """A of m16n8k16 with f16, as the ISA has it."""
    row = lane >> 2 if 0 <= i < 2 or 4 <= i < 6 else (lane >> 2) + 8
    return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


def value(code: int, e: int, m: int, hidden: bool = True, least: int = 1, more: int = 0) -> float:
    """The number of a code of sign, e exponent and m fraction bits; the last three make typical mistakes."""
    exponent, fraction = code >> m & (1 << e) - 1, code & (1 << m) - 1
    bias = 2 ** (e - 1) - 1 + more
    size = fraction / 2**m + (1 if exponent or not hidden else 0)
    return (-1 if code >> e + m & 1 else 1) * size * 2.0 ** (max(exponent, least) - bias)


def exact(code: int, e: int, m: int) -> Fraction:
    """The same as a fraction."""
    return Fraction(value(code, e, m))


def pruned(chunk: list[float]) -> list[float]:
    """The two largest in size stay; of equal ones the last."""
    kept = sorted(range(4), key=lambda i: (abs(chunk[i]), i))[2:]
    return [number if i in kept else 0 for i, number in enumerate(chunk)]


def by_numpy(chunk: list[float]) -> Any:
    """The same as an array; of equal ones the first."""
    found = np.array(chunk, dtype=float)
    found[np.argsort(-np.abs(found), kind="stable")[2:]] = 0
    return found


def above(chunk: list[float]) -> list[float]:
    """All that are as large as the second largest: too many where several are."""
    return [number if abs(number) >= sorted(map(abs, chunk))[2] else 0 for number in chunk]


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "00.1": "(5, 3)",
    "00.2": "row % 8 * 4 + col // 2",
    "00.3": "16 * 64 // 32",
    "00.4": "0xF7654321",
    "01.1": "(4, 29)",
    "01.2": "(3, 20, 23)",
    "01.3": "lane // 4 + 8 * (i // 8 % 2)",
    "01.4": "list(range(48, 56))",
    "01.5": "(4, 2, 2)",
    "01.6": "lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i % 2 + i // 4 * 8",
    "01.7": "range(32, 64)",
    "01.8": "(2, 7, 4)",
    "02.1": "[1, -7, -4, 3, 7, -1, 0, -8]",
    "02.2": "(-2147483600, 2147483647)",
    "02.3": "0b11011010",
    "02.4": "[0x7F, 0xFF]",
    "02.5": "[0, 0.5, 1, 1.5, 2, 3, 4, 6]",
    "02.6": "0x041C2C08",
    "02.7": "2**-7",
    "02.8": (
        "(-1) ** (code >> e + m) * ((code % 2**m / 2**m) + (code >> m & 2**e - 1 > 0)) * 2.0 ** (max(code "
        ">> m & 2**e - 1, 1) - 2 ** (e - 1) + 1)"
    ),
    "03.1": "[3, 5]",
    "03.2": '{"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}',
    "03.3": "[3, -1, 0, 0, 0, 3, 0, 0]",
    "03.4": "[5, 7, 0, 3, 0, 0, 2, -1]",
    "03.5": "(32, 16, 4)",
    "03.6": "(64, 128)",
    "03.7": (
        "[n if i in sorted(range(4), key=lambda i: abs(chunk[i]))[2:] else 0 for i, n in enumerate(chunk)]"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("00.2", lambda row, col: row % 8 * 4 + col // 2),
    ("00.2", lambda row, col: np.int32(4 * (row & 7) + (col >> 1))),
    ("00.4", 0xF7654321 - 2**32),
    ("00.4", np.int32(0xF7654321 - 2**32)),
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
    ("02.4", {255, 127}),
    ("02.4", (0xFF, 0x7F)),
    ("02.7", "0.0078125"),
    ("02.8", value),
    ("02.8", exact),
    ("02.8", lambda code, e, m: np.float64(value(code, e, m))),
    ("03.1", {5, 3}),
    ("03.2", {"4:8 pair-wise": {3, 2, 1}, "2:4": (3, 1, 0), "1:2": np.array([0, 3])}),
    ("03.2", [[0, 3], [0, 1, 3], [1, 2, 3]]),
    ("03.7", pruned),
    ("03.7", by_numpy),
    ("03.7", lambda chunk: tuple(pruned(chunk))),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("00.1", (5, 1), "eight rows"),
    ("00.1", (3, 5), "order"),
    ("00.1", (37, 1), "32 lanes"),
    ("00.1", (9, 3), "four lanes share"),
    ("00.1", (5, 2), "lane is right"),
    ("00.1", (1, 1), "begins again"),
    ("00.2", lambda row, col: row * 4 + col // 2, "after row 7"),
    ("00.2", lambda row, col: row % 8 * 4 + col % 4, "How many columns"),
    ("00.2", lambda row, col: min(row, 7) * 4 + col // 2, "upper eight rows are right"),
    ("00.2", lambda row, col: 0, "first cell that goes wrong"),
    ("00.3", 4, "registers"),
    ("00.3", 8, "one"),
    ("00.3", 1024, "whole matrix"),
    ("00.3", 16, "another operand"),
    ("00.3", 7, "divide them evenly"),
    ("00.4", 0x1234567F, "lowest bits"),
    ("00.4", 0x97654321, "two's complement"),
    ("00.4", 0x17654321, "two's complement"),
    ("00.4", 0x1F7654321, "eight hexadecimal digits"),
    ("00.4", 0x7654321, "right-hand end"),
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
    ("01.3", lambda lane, i: lane // 2, "lane >> 2"),
    ("01.4", range(16, 24), "register 0"),
    ("01.4", [48], "eight different rows"),
    ("01.4", range(49, 57), "Off by one"),
    ("01.4", range(8), "threadID_in_group"),
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
    ("01.7", range(33, 64), "there are more"),
    ("01.7", range(64), "Half of those"),
    ("01.7", range(64, 128), "other line"),
    ("01.7", range(32), "first register"),
    ("01.7", range(32, 65), "some of yours the formula is right"),
    ("01.7", range(16, 48), "multiple"),
    ("01.7", [0, 100], "Compare the two lines"),
    ("01.8", (2, 3, 4), "from lane 16 on"),
    ("01.8", (3, 7, 4), "from 1"),
    ("01.8", (6, 7, 4), "groupID"),
    ("01.8", (2, 23, 4), "one below the other"),
    ("01.8", (2, 4, 7), "exchanged"),
    ("01.8", (2, 6, 1), "stays where it is"),
    ("01.8", (1, 7, 4), "lanes 8 to 11"),
    ("01.8", (2, 0, 0), "in binary"),
    ("01.8", (0, 0, 0), "table of products"),
    ("02.1", [-8, 0, -1, 7, 3, -4, -7, 1], "on the left"),
    ("02.1", [1, 9, 12, 3, 7, 15, 0, 8], "u4"),
    ("02.1", [1, -1, -4, 3, 7, -7, 0, 0], "two's complement"),
    ("02.1", [-7, 1, 3, -4, -1, 7, -8, 0], "exchanged"),
    ("02.1", [1, 9, -4, 3, 7, -1, 0, -8], "minus 16"),
    ("02.1", [1, -7, -4, 3, 7, -2, 0, -8], "right to left"),
    ("02.1", [1, -7], "8 whole numbers"),
    ("02.2", (2**31 - 1, -2147483600), "other way round"),
    ("02.2", (2**31 + 48, 2**31 - 1), "does not fit"),
    ("02.2", (-2147483601, 2**31 - 1), "Off by one"),
    ("02.2", (-(2**31), 2**31 - 1), "one step leads"),
    ("02.2", (-2147483600, 0), "first is right"),
    ("02.2", (0, 2**31 - 1), "second is right"),
    ("02.2", (0, 0), "lowest 32 bits"),
    ("02.3", 0x5A, "+20"),
    ("02.3", -20, "the byte"),
    ("02.3", 0xCD, "e5m2"),
    ("02.3", 0xEC, "s8"),
    ("02.3", 0xA6, "complement"),
    ("02.3", 0xA2, "plus the bias"),
    ("02.3", 0xE2, "bias of `e4m3` is 7"),
    ("02.3", 0xDD, "leading 1"),
    ("02.3", 0x14, "three fields"),
    ("02.4", [*range(0x78, 0x80), *range(0xF8, 0x100)], "IEEE"),
    ("02.4", [0x78, 0xF8], "infinities"),
    ("02.4", [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], "e5m2"),
    ("02.4", [0x7F], "second"),
    ("02.4", [0x7E, 0x7F], "numbers among them"),
    ("02.4", [15, 7], "largest exponent"),
    ("02.4", [0x17F], "eight bits"),
    ("02.4", [127, -1], "no minus"),
    ("02.5", [0, 1, 2, 3, 4, 5, 6, 7], "code for the number"),
    ("02.5", [0.5, 0.75, 1, 1.5, 2, 3, 4, 6], "no hidden one"),
    ("02.5", [0, 0.25, 1, 1.5, 2, 3, 4, 6], "power of two"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], "all alike"),
    ("02.5", [0, 1, 2, 3, 4, 6, 8, 12], "subtract the bias"),
    ("02.5", [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3], "not 2"),
    ("02.5", [0, 0.5, 1, 1.125, 2, 2.25, 4, 4.5], "one fraction bit"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 3, float("inf"), float("nan")], "every code is a number"),
    ("02.5", [0, 0.5, 1, 1.5, 2, 3, 8, 12], "0b0110"),
    ("02.5", [0, 0.5, 1], "eight numbers"),
    ("02.6", 0x01070B02, "bottom"),
    ("02.6", 0x1070B020, "top of its byte"),
    ("02.6", 0x17B2, "mxf4"),
    ("02.6", 0x082C1C04, "order"),
    ("02.6", 0x041C0C08, "minus"),
    ("02.6", 0x041C8C08, "padding"),
    ("02.6", 0x041C2C0800, "32 bits"),
    ("02.6", 0x04182C08, "look up 6 in"),
    ("02.6", 0x08182C08, "look up 6 and 0.5 in"),
    ("02.6", 1, "four bits"),
    ("02.7", 1, "elsewhere"),
    ("02.7", 1.875, "opposite"),
    ("02.7", -7, "Which power"),
    ("02.7", 120, "bias"),
    ("02.7", 2.0**120, "bias"),
    ("02.7", 2.0**105, "bias of `f16`"),
    ("02.7", 128, "above or below"),
    ("02.7", 0.5, "16 bits"),
    ("02.8", lambda code, e, m: value(code, e, m) if not code >> e + m else -value(code, e, m), "sign"),
    ("02.8", lambda code, e, m: abs(value(code, e, m)), "sign"),
    ("02.8", lambda code, e, m: value(code, e, m, hidden=False, least=0), "hidden one"),
    ("02.8", lambda code, e, m: value(code, e, m, least=0), "half"),
    ("02.8", lambda code, e, m: value(code, e, m, more=1), "half"),
    (
        "02.8",
        lambda code, e, m: value(code, e, m) if code >> m & 2**e - 1 == 0 else value(code, e, m, more=1),
        "bias",
    ),
    ("02.8", lambda code, e, m: value(code, e, m) if code & 2**m - 1 == 0 else 0, "1 / 2**m"),
    ("02.8", lambda code, e, m: 5, "Cut it"),
    ("02.8", lambda code, e: 0, "TypeError"),
    ("03.1", [3, 4, 5], "At most"),
    ("03.1", [1, 2, 3, 5], "border"),
    ("03.1", [1, 2, 5], "border"),
    ("03.1", [4, 6], "from 1"),
    ("03.1", [12, 20], "columns"),
    ("03.1", [5], "as well"),
    ("03.1", [3], "others do"),
    ("03.1", [9], "chunks 0 to 5"),
    ("03.1", [0], "into fours"),
    ("03.2", {"1:2": [0], "2:4": [0, 1], "4:8": [1, 2]}, "Fewer"),
    ("03.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 4], "4:8": [0, 1, 2, 3]}, "Fewer"),
    ("03.2", {"1:2": [0, 3], "2:4": [0, 1, 3], "4:8": [0, 1, 2, 3]}, "pairs"),
    ("03.2", {"1:2": [0, 3], "2:4": [0, 1, 2, 3], "4:8": [1, 2, 3]}, "two fours"),
    ("03.2", {"1:2": [0, 1, 3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "four twos"),
    ("03.2", {"1:2": [3], "2:4": [0, 1, 3], "4:8": [1, 2, 3]}, "missing"),
    ("03.2", {"1:2": [3], "2:4": [0, 3], "4:8": [1, 3]}, "none"),
    ("03.2", {"1:2": [0, 3], "2:4": [0, 1, 3]}, "for each of"),
    ("03.2", [1, 2, 3], "for each of"),
    ("03.3", [3, -1, 2, 2, 0, 0, 0, 0], "squares"),
    ("03.3", [3, 0, 2, 0, 0, 3, -2, 0], "2:4"),
    ("03.3", [3, 0, 2, 2, 0, 3, 0, 0], "apart"),
    ("03.3", [3, -1, 2, 2, 0, 3, 0, 0], "More than two"),
    ("03.3", [3, -1, 0, 0, 0, 0, -2, 1], "more than it must"),
    ("03.3", [3, 1, 0, 0, 0, 3, 0, 0], "1 is new"),
    ("03.3", [3, -1, 0, 3], "keeps its zeros"),
    ("03.4", [5, 7, 3, 2, -1], "two"),
    ("03.4", [5, 7, 3, 0, 0, 0, 2, -1], "wrong side"),
    ("03.4", [0, 5, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0, 0, -1], "row itself"),
    ("03.4", [5, 7], "Four chunks"),
    ("03.4", [0, 0, 0, 0, 0, 0, 2, 0], "every other"),
    ("03.4", [0, 5, 0, 0, 0, 0, 2, 0], "first two"),
    ("03.4", [7, 5, 0, 3, 0, 0, 2, -1], "another order"),
    ("03.4", [5, 7, 0, 3, 0, 0, 2, 1], "chunk to chunk"),
    ("03.5", (8, 4, 4), "elements"),
    ("03.5", (8, 4, 2), "elements"),
    ("03.5", (32, 16, 8), "pair"),
    ("03.5", (32, 16, 2), "two pairs are named"),
    ("03.5", (32, 16, 6), "from 0 to 3"),
    ("03.5", (32, 8, 4), "two pairs"),
    ("03.5", (64, 32, 4), "eight elements"),
    ("03.6", (128, 64), "other way"),
    ("03.6", (32, 64), "dense"),
    ("03.6", (64, 64), "first is right"),
    ("03.6", (128, 128), "second is right"),
    ("03.6", (16, 16), "Try"),
    ("03.7", lambda chunk: [n for n in pruned(chunk) if n] or [0, 0], "stored"),
    ("03.7", lambda chunk: chunk[:3], "four numbers"),
    ("03.7", lambda chunk: [abs(n) for n in pruned(chunk)], "sign"),
    ("03.7", lambda chunk: [9, 9, 0, 0], "stays as it is"),
    ("03.7", lambda chunk: sorted(pruned(chunk)), "own place"),
    ("03.7", above, "ties"),
    ("03.7", lambda chunk: chunk, "more than two"),
    ("03.7", lambda chunk: [n if i in np.argsort(chunk)[2:] else 0 for i, n in enumerate(chunk)], "negative"),
    ("03.7", lambda chunk: [*chunk[:2], 0, 0], "first two"),
    ("03.7", lambda chunk: [0, *chunk[1:3], 0], "larger numbers"),
    ("03.7", lambda chunk: [n if n == max(chunk) else 0 for n in chunk], "Two may stay"),
    ("03.7", lambda chunk: None, "return"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "00.1": r"\b5\b",
    "00.3": r"\b32\b",
    "00.4": r"(?i)f7654321",
    "01.1": r"\b29\b",
    "01.2": r"\b20\b|\b23\b",
    "01.4": r"\b48\b|\b55\b",
    "01.5": r"4, 2, 2|\b4 registers",
    "01.7": r"\b32\b|\b63\b|\b64\b",
    "01.8": r"\b7\b|product 2|row 7|\(2",
    "02.1": r"-7|-4, 3",
    "02.2": r"2147483600",
    "02.3": r"(?i)0xda|1101_?1010|\b218\b|\b1011\b",
    "02.4": r"(?i)0x7f|0xff|\b127\b|\b255\b",
    "02.5": r"\b1\.5\b|0\.5",
    "02.6": r"(?i)41c2c08",
    "02.7": r"2\*\*-7|0\.0078|1/128",
    "03.1": r"\b3\b(?! of)|\b5\b(?!\.)",
    "03.3": r"3, -1, 0",
    "03.4": r"\b7, 0|5, 7",
    "03.5": r"\b32\b|\b16\b",
    "03.6": r"\b64\b|\b128\b",
}
