"""Answers to the exercises of lessons 12 to 15.

Lesson 12: worked out by hand from the published rule of the fused sum.
Lesson 13: from tools/data/sass.txt, the record of all forms, and the ISA.
Lesson 14: counted by hand, or found by other probes than the lesson's.
Lesson 15: worked out by hand from the 32 banks and the ISA's figures.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import ptxlab
from ptxlab.course import machine_code
from ptxlab.course.real_gpu import COL, ROW, Machine, mystery
from tools.record import sass as runs


def exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def truncate(x: float, place: int) -> float:
    return math.trunc(x * 2.0**-place) * 2.0**place


def to_nearest(x: float, place: int) -> float:
    return round(x * 2.0**-place) * 2.0**place


def downwards(x: float, place: int) -> float:
    return math.floor(x * 2.0**-place) * 2.0**place


def exponents(c: float, a: list[float], b: list[float]) -> list[int]:
    """The exponents of all terms that are not zero."""
    products = [exponent(x) + exponent(y) for x, y in zip(a, b, strict=True) if x * y != 0]
    return [*products, exponent(c)] if c else products


Cut = Callable[[float, int], float]


def fused(
    c: float, a: list[float], b: list[float], bits: int = 25, cut: Cut = truncate, last: Cut = truncate
) -> float:
    """As the task says it; with other cuts of the terms, or a last one of the sum, as readers write them."""
    tops = exponents(c, a, b)
    if not tops:
        return 0
    total = sum(cut(term, max(tops) - bits) for term in [c, *(x * y for x, y in zip(a, b, strict=True))])
    return last(total, exponent(total) - 23) if total else 0.0


def fused_by_fractions(c: float, a: list[float], b: list[float]) -> np.float32:
    """The same with exact fractions and integers."""
    terms = [
        (Fraction(c), exponent(c)),
        *((Fraction(x) * Fraction(y), exponent(x) + exponent(y)) for x, y in zip(a, b, strict=True)),
    ]
    top = max((place for value, place in terms if value), default=0)
    units = sum(int(value * Fraction(2) ** (25 - top)) for value, _ in terms)
    spare = max(0, abs(units).bit_length() - 24)
    sign = -1 if units < 0 else 1
    return np.float32(sign * (abs(units) >> spare << spare) * 2.0 ** (top - 25))


def chain(c: float, a: list[float], b: list[float]) -> float:
    total = np.float32(c)
    for x, y in zip(a, b, strict=True):
        total = total + np.float32(x * y)
    return float(total)


def normalised(c: float, a: list[float], b: list[float]) -> float:
    return fused(c, [x * y for x, y in zip(a, b, strict=True)], [1.0] * 4)


def aligned_to_products(c: float, a: list[float], b: list[float]) -> float:
    tops = exponents(0, a, b) or exponents(c, a, b)
    total = sum(truncate(term, max(tops, default=0) - 25) for term in [c, *map(operator.mul, a, b)])
    return truncate(total, exponent(total) - 23) if total else 0.0


def with_zeros(c: float, a: list[float], b: list[float]) -> float:
    top = max(exponent(c), *(exponent(x) + exponent(y) for x, y in zip(a, b, strict=True)))
    total = sum(truncate(term, top - 25) for term in [c, *(x * y for x, y in zip(a, b, strict=True))])
    return truncate(total, exponent(total) - 23) if total else 0.0


def exact(c: float, a: list[float], b: list[float]) -> float:
    return c + sum(x * y for x, y in zip(a, b, strict=True))


def last_truncation(
    c: float, a: list[float], b: list[float], fraction: int, of_sum: bool = True, c_too: bool = True
) -> float:
    """The rule with another last cut, or with C left whole."""
    tops = exponents(c, a, b)
    if not tops:
        return 0.0
    total = truncate(c, max(tops) - 25) if c_too else c
    total += sum(truncate(x * y, max(tops) - 25) for x, y in zip(a, b, strict=True))
    if not total:
        return 0.0
    top = exponent(total) if of_sum else max(tops)
    return truncate(total, top - fraction)


def added_exactly(c: float, a: list[float], b: list[float]) -> float:
    total = float(sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(c)))
    return truncate(total, exponent(total) - 23) if total else 0.0


U4 = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32")
U8 = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32")
M = 0x0F0F0F0F
_RECORD = runs.read()
_WORDS = [_RECORD[key].how for key in machine_code.CLASSIFIED]


def chained(a: Any, b: Any, c: Any) -> Any:
    """The second product begins with the first one's D."""
    return U8.emulate(a >> 4 & M, b >> 4 & M, U8.emulate(a & M, b & M, c))


def added(a: Any, b: Any, c: Any) -> Any:
    """As Hopper does it: both begin at zero, and C is added by ordinary additions."""
    zero = np.zeros_like(c)
    return c + U8.emulate(a & M, b & M, zero) + U8.emulate((a & 0xF0F0F0F0) >> 4, (b & 0xF0F0F0F0) >> 4, zero)


def by_matrices(a: Any, b: Any, c: Any) -> Any:
    """Without the 8-bit instruction: signed numbers are fine, too."""
    return U4.d.pack(U4.a.unpack(a).astype(int) @ U4.b.unpack(b).astype(int) + U4.c.unpack(c)).astype(
        np.int64
    )


def _zero(c: Any) -> Any:
    return np.zeros_like(c)


INS = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
ZERO = np.zeros((32, 4), dtype=np.uint32)


def found_by_halves(machine: Machine, column: int = COL) -> tuple[int, int]:
    """Where the mystery machine has A[ROW][column]: B selects it, and bisection finds the slot."""
    B = np.zeros(INS.b.shape)
    B[column] = 1
    slots = np.arange(512)
    while len(slots) > 1:
        half = np.zeros(512, dtype=np.uint8)
        half[slots[: len(slots) // 2]] = 1
        D = INS.d.unpack(machine(half.reshape(32, 16).view(np.uint32), INS.b.pack(B), ZERO))
        slots = slots[: len(slots) // 2] if D[ROW, 0] else slots[len(slots) // 2 :]
    return int(slots[0]) // 16, int(slots[0]) % 16


PLACE = found_by_halves(mystery())


def in_one_launch(machine: Any) -> Any:
    A, B = np.zeros(INS.a.shape), np.zeros(INS.b.shape)
    A[:, 0], B[0], A[:, 1], B[1] = np.arange(16), 8, 1, np.arange(8)
    return np.stack(np.divmod(machine(INS.a.pack(A), INS.b.pack(B), ZERO), 8), axis=-1)


def one_at_a_time(machine: Any) -> Any:
    """A launch for every element of D; a list comes back."""
    table: list[list[Any]] = [[None] * 4 for _ in range(32)]
    for row, col in np.ndindex(16, 8):
        A, B = np.zeros(INS.a.shape), np.zeros(INS.b.shape)
        A[row, 7], B[7, col] = 3, -2
        ((lane, register),) = np.argwhere(machine(INS.a.pack(A), INS.b.pack(B), ZERO))
        table[lane][register] = (row, col)
    return table


def through_c(machine: Any) -> Any:
    d = machine(ZERO, np.zeros((32, 2), dtype=np.uint32), INS.c.pack(np.arange(128).reshape(16, 8)))
    return np.stack(np.divmod(d, 8), axis=-1)


def _bits(x: Any, y: Any) -> Any:
    return (x.view(np.uint32) != y.view(np.uint32)).sum()


def place(expression: str) -> str:
    """CUDA C++ of the function that exercise 15.8 asks for."""
    return f"__device__ int place(int row, int chunk) {{ return {expression}; }}"


def by_matrix(lane: int, pitch: int) -> int:
    """Matrices 0 and 1 below each other, 2 and 3 to the right of them."""
    matrix, row = divmod(lane, 8)
    return (row + 8 * (matrix % 2)) * pitch + 2 * (8 * (matrix // 2))


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "12.1": "(16777216, 16777218)",
    "12.2": "0x3F800001",
    "12.3": "(26, 25)",
    "12.4": "(2**24 + 2, 2**24)",
    "12.5": "([1, -1, 2**-10, 2**-12], [1, 1, 2**-10, 2**-13], 0)",
    "12.6": "32768",
    "12.7": (
        "(lambda terms, top: (lambda s: truncate(s, exponent(s) - 23) if s else 0.0)(sum(truncate(t, top - "
        "25) for t in terms)))([c, *(x * y for x, y in zip(a, b))], max([exponent(x) + exponent(y) for x, "
        "y in zip(a, b) if x * y] + [exponent(c)] * (c != 0), default=0))"
    ),
    "13.1": "14",
    "13.2": "4",
    "13.3": "[8, 10, 12, 14]",
    "13.4": (
        "u8.emulate(a >> 4 & 0x0F0F0F0F, b >> 4 & 0x0F0F0F0F, u8.emulate(a & 0x0F0F0F0F, b & 0x0F0F0F0F, c))"
    ),
    "13.5": '["native", "emulated", "split", "emulated", "native"]',
    "13.6": '["sm_90a"]',
    "14.1": "9",
    "14.2": "250",
    "14.3": "(x.view(np.uint32) != y.view(np.uint32)).sum()",
    "14.4": "[k % 8, k // 8, 1, 0, 0, 0, 0, 0]",
    "14.5": "divmod(int(np.argmax(ins.d.unpack(mystery(probes, b, c))[:, 9, 0] == 5 + 1)), 16)",
    "14.6": (
        "np.stack(np.divmod(machine(ins.a.pack(np.outer(np.arange(16), np.arange(32) == 0) + "
        "(np.arange(32) == 1)), ins.b.pack(np.outer(np.arange(32) == 0, [8] * 8) + np.outer(np.arange(32) "
        "== 1, np.arange(8))), c), 8), axis=-1)"
    ),
    "15.1": "(1, 2, 4, 1)",
    "15.2": "(8, 2, 4)",
    "15.3": "(208, 80, 272, 80)",
    "15.4": "(4, 2, 1, 1)",
    "15.5": "(27, 14, 3)",
    "15.6": "lane % 16 * pitch + lane // 16 * 16",
    "15.7": "(11, 0)",
    "15.8": "return row * 128 + (chunk ^ row % 8) * 16;",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("12.5", [np.array([128, -1.0]), np.array([256, 1 + 2**-10]), np.float32(0)]),
    ("12.5", ([1, 2**-12, 0, 0, 0, 0, 0, 1], [-1, 2**-13, 0, 0, 0, 0, 0, 2**-9], 1.0)),
    ("12.7", fused),
    ("12.7", fused_by_fractions),
    ("13.1", "R14"),
    ("13.1", "r14"),
    ("13.3", {14, 12, 10, 8}),
    ("13.3", range(8, 16, 2)),
    ("13.4", chained),
    ("13.4", added),
    ("13.4", by_matrices),
    ("13.5", tuple(word.upper() for word in _WORDS)),
    ("13.6", {"sm_90a"}),
    ("13.6", ("SM_90a",)),
    ("14.1", "%9"),
    ("14.3", _bits),
    ("14.3", lambda x, y: sum(p.tobytes() != q.tobytes() for p, q in zip(x.ravel(), y.ravel(), strict=True))),
    ("14.4", lambda k: [k % 8, k // 8, 1, 0, 0, 0, 0, 0]),
    ("14.4", lambda k: (np.array([k + 1] * 8) >> np.arange(8)) & 1),
    ("14.4", lambda k: (k % 16 - 8, k // 16 + 1, *[0] * 6)),
    ("14.5", PLACE),
    ("14.5", list(PLACE)),
    ("14.5", np.array(PLACE)),
    ("14.6", in_one_launch),
    ("14.6", one_at_a_time),
    ("14.6", lambda machine: in_one_launch(machine).astype(float)),
    ("15.6", by_matrix),
    ("15.6", lambda lane, pitch: (lane & 15) * pitch + (lane >> 4) * 16),
    ("15.8", place("row * 128 + (chunk + row) % 8 * 16")),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("12.1", (2**24 + 2, 2**24), "wrong order"),
    ("12.1", (2**24, 2**24 + 3), "odd"),
    ("12.1", (2**24, 2**24 + 4), "nearest even"),
    ("12.1", (2**24 + 4, 2**24 + 2), "after every addition"),
    ("12.1", (2**24, 2**24), "chain is right"),
    ("12.1", (2**24 + 2, 2**24 + 2), "core is right"),
    ("12.1", (0, 0), "truncates once"),
    ("12.2", 0x3F800000, "None is lost"),
    ("12.2", 0x3F800002, "rounded"),
    ("12.2", 0x3F800003, "half"),
    ("12.2", 0x34400000, "about 1"),
    ("12.2", 2**32, "32 bits"),
    ("12.2", 0x3F800004, "how many halves"),
    ("12.2", 1, "exactly"),
    ("12.3", (25, 24), "one lower"),
    ("12.3", (25, 26), "other way round"),
    ("12.3", (27, 26), "not the first"),
    ("12.3", (24, 23), "23 fraction bits"),
    ("12.3", (26, 26), "by one bit"),
    ("12.3", (126, 125), "beside it"),
    ("12.3", (11, 10), "largest exponent"),
    ("12.4", (2**24, 2**24 + 2), "other way round"),
    ("12.4", (2**24 + 2, 2**24 + 2), "before the second step"),
    ("12.4", (2**24, 2**24), "same step"),
    ("12.4", (2**24 + 2, 2**24 + 1), "even numbers"),
    ("12.4", (2**24 + 2, 2**24 + 4), "sm_90 is right"),
    ("12.4", (2**24 + 4, 2**24), "sm_80 is right"),
    ("12.4", (2, 2), "carry"),
    ("12.5", ([1, 2], [3, 4], 0), "keep every bit"),
    ("12.5", ([1, -1, 2**-12], [1, 1, 2**-13], 0), "as in the table"),
    ("12.5", ([1, -1, 2**-12], [1, 1, 2**-12], 0), "keep every bit"),
    ("12.5", ([1, -1, 2**-12], [1, 1], 0), "equally long"),
    ("12.5", ([1], [1], 0), "single term"),
    ("12.5", ([1, -1, 2**-30], [1, 1, 1], 0), "became 0"),
    ("12.5", ([1, -1, 2**-14], [1, 1, 2**-14], 0), "lost on both"),
    ("12.5", ([1, 2**-12], [1, 2**-13], 0), "does not show"),
    ("12.5", ([1e6], [1], 0), "65504"),
    ("12.5", ([1] * 9, [1] * 9, 0), "at most 8"),
    ("12.5", (1, 2), "three parts"),
    ("12.5", (["x"], [1], 0), "not numbers"),
    ("12.5", ([float("inf")], [1], 0), "finite"),
    ("12.6", 2048, "single 1"),
    ("12.6", 65504, "half a step"),
    ("12.6", 16384, "at most 16 apart"),
    ("12.6", 2**24, "float32"),
    ("12.6", 32784, "tie"),
    ("12.6", 32752, "goes on"),
    ("12.6", 5000, "2^(e-10)"),
    ("12.7", chain, "chain of float32"),
    ("12.7", added_exactly, "truncated first"),
    ("12.7", exact, "exact sum"),
    ("12.7", lambda c, a, b: float(np.float32(exact(c, a, b))), "round to nearest"),
    ("12.7", lambda c, a, b: last_truncation(c, a, b, 24), "24 fraction bits"),
    ("12.7", lambda c, a, b: last_truncation(c, a, b, 23, of_sum=False), "exponent of the *sum*"),
    ("12.7", lambda c, a, b: last_truncation(c, a, b, 23, c_too=False), "C is a term"),
    ("12.7", normalised, "normalised"),
    ("12.7", with_zeros, "A zero must not"),
    ("12.7", aligned_to_products, "C takes part"),
    ("12.7", lambda c, a, b: fused(c, a, b, cut=to_nearest), "every term to nearest"),
    ("12.7", lambda c, a, b: fused(c, a, b, cut=downwards), "toward zero"),
    ("12.7", lambda c, a, b: fused(c, a, b, last=to_nearest), "result to nearest"),
    ("12.7", lambda c, a, b: fused(c, a, b, last=lambda total, _: total), "too many bits"),
    ("12.7", lambda c, a, b: fused(c, a, b, 24), "Ampere"),
    ("12.7", lambda c, a, b: fused(c, a, b, 23), "keep 23 bits"),
    ("12.7", lambda c, a, b: -fused(c, a, b), "sign"),
    ("12.7", lambda c, a, b: fused(c, a, b) + 1, "zeros"),
    ("12.7", lambda c, a, b: 0.0, "trace"),
    ("12.7", lambda c, a, b: math.log2(max(abs(x) for x in (c, *a))), "Zeros do not count"),
    ("12.7", lambda c, a, b: None, "return"),
    ("12.7", lambda c, a, b: "x", "not a number"),
    ("13.1", 12, "begins"),
    ("13.1", 15, "One too far"),
    ("13.1", 13, "c1"),
    ("13.1", "R6", "first two operands"),
    ("13.1", 8, "third operand"),
    ("13.1", 2, "within C"),
    ("13.1", 99, "D, A, B, C"),
    ("13.2", 2, "only one dimension"),
    ("13.2", 1, "m16, n8, k8"),
    ("13.2", 8, "all three"),
    ("13.2", 16, "single 8 x 8 matrices"),
    ("13.2", 3, "boxes"),
    ("13.3", [9, 11, 13, 15], "others"),
    ("13.3", [8, 9, 10, 11], "middle"),
    ("13.3", [12, 13, 14, 15], "middle"),
    ("13.3", range(8, 16), "masked away"),
    ("13.3", [0, 2, 4, 6], "numbers of the elements"),
    ("13.3", [8], "there are more"),
    ("13.3", [40, 42], "Two steps"),
    ("13.4", lambda a, b, c: U8.emulate(a & M, b & M, c), "low halves alone"),
    ("13.4", lambda a, b, c: U8.emulate(a >> 4 & M, b >> 4 & M, c), "high halves alone"),
    (
        "13.4",
        lambda a, b, c: U8.emulate(a & M, b & M, _zero(c)) + U8.emulate(a >> 4 & M, b >> 4 & M, _zero(c)),
        "C is not",
    ),
    ("13.4", lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a >> 4 & M, b >> 4 & M, c), "twice"),
    (
        "13.4",
        lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a & 0xF0F0F0F0, b & 0xF0F0F0F0, _zero(c)),
        "shifted down",
    ),
    (
        "13.4",
        lambda a, b, c: (
            U8.emulate(a & M, b & M, c) + U8.emulate(a & 0xF0F0F0F0 >> 4, b & 0xF0F0F0F0 >> 4, _zero(c))
        ),
        "shifts the mask",
    ),
    (
        "13.4",
        lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a >> 4, b >> 4, _zero(c)),
        "Mask again",
    ),
    ("13.4", lambda a, b, c: U8.emulate(a, b, c), "as they are"),
    ("13.4", lambda a, b, c: c, "Split A and B in the same way"),
    ("13.4", lambda a, b, c: None, "nothing"),
    ("13.4", lambda a, b, c: 1 // 0, "ZeroDivisionError"),
    ("13.4", lambda a, b, c: U4.d.unpack(c), "shape"),
    ("13.5", ["native", "emulated", "split", "native", "native"], "around it"),
    ("13.5", ["native", "split", "split", "emulated", "native"], "also other instructions"),
    ("13.5", ["native", "emulated", "emulated", "emulated", "native"], "nothing but"),
    ("13.5", ["native", "emulated", "native", "emulated", "native"], "count"),
    ("13.5", ["split", "emulated", "split", "emulated", "native"], "nothing else"),
    ("13.5", ["native", "native", "split", "emulated", "native"], "two questions"),
    ("13.5", ["native", "split"], "five words"),
    ("13.6", ["sm_90", "sm_90a"], "plain target"),
    ("13.6", ["sm_90"], "plain target"),
    ("13.6", ["sm_90a", "sm_100a", "sm_120a"], "of this chip alone"),
    ("13.6", ["sm_80"], "Ampere"),
    ("13.6", [], "One of them"),
    ("13.6", ["sm_75"], "out of"),
    ("14.1", 10, "begin with %0"),
    ("14.1", 5, "D has numbers"),
    ("14.1", 8, "counted from 0"),
    ("14.1", 7, "one of A"),
    ("14.1", 13, "C comes last"),
    ("14.1", 1, "within B"),
    ("14.1", 99, "Count the registers"),
    ("14.2", 1000, "one warp"),
    ("14.2", 8, "each thread"),
    ("14.2", 4000, "other way round"),
    ("14.2", 32, "as a warp has lanes"),
    ("14.2", 1000 / 32, "as a warp has lanes"),
    ("14.2", 7, "32 lanes"),
    ("14.3", lambda x, y: (x != y).sum(), "NaN is not equal to itself"),
    ("14.3", lambda x, y: (~((x == y) | (np.isnan(x) & np.isnan(y)))).sum(), "sign bit"),
    ("14.3", lambda x, y: ((np.signbit(x) != np.signbit(y)) | ~((x == y) | np.isnan(x))).sum(), "0x7FFFFFFF"),
    ("14.3", lambda x, y: 0, "1 and 2"),
    ("14.3", lambda x, y: (x.view(np.uint32) == y.view(np.uint32)).sum(), "two equal arrays"),
    ("14.3", lambda x, y: (x.astype(np.int64) != y.astype(np.int64)).sum(), "conversion"),
    ("14.3", lambda x, y: (x.view(np.uint32) >> 1 != y.view(np.uint32) >> 1).sum(), "last bit"),
    ("14.3", lambda x, y: (x.view(np.uint32) != y.view(np.uint32)).any(axis=-1).sum(), "not rows"),
    ("14.3", lambda x, y: (x.view(np.uint32) != y.view(np.uint32)).any(), "not only whether"),
    ("14.3", lambda x, y: None, "return"),
    ("14.4", lambda k: [k] * 8, "cannot hold"),
    ("14.4", lambda k: [1] * 8, "All rows are the same"),
    ("14.4", lambda k: [k % 8, 1, 0, 0, 0, 0, 0, 0], "are the same"),
    ("14.4", lambda k: [k % 8, k // 8, 0, 0, 0, 0, 0, 0], "looks like no answer"),
    ("14.4", lambda k: [k % 8, k // 8], "8 whole numbers"),
    ("14.4", lambda k: 1 // 0, "ZeroDivisionError"),
    ("14.5", (5, 5), "manual"),
    ("14.5", PLACE[::-1], "lane comes first"),
    ("14.5", (40, 0), "from 0 to 31"),
    ("14.5", found_by_halves(mystery(), COL - 1), "column before"),
    ("14.5", (PLACE[0], (PLACE[1] + 5) % 16), "lane is right"),
    ("14.5", ((PLACE[0] + 1) % 32, PLACE[1]), "That slot holds"),
    ("14.6", through_c, "layout of the manual"),
    ("14.6", lambda machine: INS.d.coords(), "layout of the manual"),
    ("14.6", lambda machine: in_one_launch(machine)[..., ::-1], "exchanged"),
    ("14.6", lambda machine: in_one_launch(machine) * [1, 0], "rows are right"),
    ("14.6", lambda machine: in_one_launch(machine) * [0, 1], "columns are right"),
    ("14.6", lambda machine: in_one_launch(machine)[::-1], "another register"),
    ("14.6", lambda machine: in_one_launch(machine) + 100, "16 rows"),
    ("14.6", lambda machine: np.zeros((32, 2)), "shape (32, 2)"),
    ("14.6", lambda machine: None, "nothing"),
    ("15.1", (1, 2, 4, 32), "share it"),
    ("15.1", (4, 8, 16, 1), "4 bytes wide"),
    ("15.1", (32, 16, 8, 1), "banks that the lanes touch"),
    ("15.1", (5, 2, 4, 1), "first load"),
    ("15.1", (1, 6, 4, 1), "For the second"),
    ("15.1", (1, 2, 12, 1), "For the third"),
    ("15.1", (1, 2, 4, 2), "In the fourth"),
    ("15.2", (8, 1, 1), "to the lanes"),
    ("15.2", (2, 2, 4), "first eight lanes"),
    ("15.2", (4, 2, 4), "lanes 0, 1, 2, 3 and 4"),
    ("15.2", (16, 2, 4), "bank 0"),
    ("15.2", (8, 4, 4), "exception"),
    ("15.2", (8, 1, 4), "twice as many"),
    ("15.2", (8, 2, 2), "i ^ 2"),
    ("15.2", (8, 2, 1), "not served"),
    ("15.2", (8, 8, 8), "how many lanes"),
    ("15.3", (192, 80, 256, 64), "Without padding"),
    ("15.3", (208, 96, 272, 80), "no padding at all"),
    ("15.3", (104, 40, 136, 80), "elements"),
    ("15.3", (104, 40, 136, 40), "elements"),
    ("15.3", (196, 84, 260, 68), "multiple of 16"),
    ("15.3", (208, 80, 240, 80), "smaller than the row"),
    ("15.3", (208, 80, 272, 112), "smallest possible"),
    ("15.3", (224, 80, 272, 80), "Look at 224"),
    ("15.4", (8, 4, 2, 1), "rows of 128 bytes"),
    ("15.4", (8, 2, 1, 1), "the same place"),
    ("15.4", (2, 2, 1, 1), "How many rows"),
    ("15.4", (4, 4, 1, 1), "what is in odd ones"),
    ("15.4", (4, 2, 2, 1), "four such rows"),
    ("15.4", (4, 2, 1, 2), "one more bit"),
    ("15.5", (14, 27, 3), "swapped"),
    ("15.5", (11, 14, 3), "left"),
    ("15.5", (3, 14, 3), "matrix 0"),
    ("15.5", (14, 14, 3), "for both"),
    ("15.5", (19, 14, 2), "Find the matrix"),
    ("15.5", (27, 27, 3), "goes elsewhere"),
    ("15.5", (27, 46, 3), "inside the matrix, 0 to 7"),
    ("15.5", (27, 13, 3), "column // 2"),
    ("15.5", (27, 14, 7), "counted elements"),
    ("15.5", (27, 14, 1), "one register"),
    (
        "15.6",
        lambda lane, pitch: lane % 8 * pitch + lane // 16 * 8 * pitch + lane // 8 % 2 * 16,
        "matrices 1 and 2",
    ),
    ("15.6", lambda lane, pitch: lane % 8 * pitch + lane // 8 * 16, "side by side"),
    ("15.6", lambda lane, pitch: lane * pitch, "32 rows"),
    ("15.6", lambda lane, pitch: lane % 16 * pitch + lane // 16 * 8, "are bytes"),
    ("15.6", lambda lane, pitch: 2 * (lane % 16 * pitch + lane // 16 * 8), "in bytes already"),
    ("15.6", lambda lane, pitch: lane % 16 * pitch, "left half is right"),
    ("15.6", lambda lane, pitch: lane % 8 * pitch, "lane 8"),
    ("15.6", lambda lane, pitch: 0, "lane 1"),
    ("15.7", (25, 0), "without `.trans`"),
    ("15.7", (6, 0), "supplies the address"),
    ("15.7", (11, 2), "two halves"),
    ("15.7", (11, 1), "comes first"),
    ("15.7", (8, 0), "four lanes are right"),
    ("15.7", (9, 0), "group of four"),
    ("15.7", (22, 0), "counts elements"),
    ("15.7", (0, 0), "on the right"),
    ("15.8", place("row * 128 + chunk * 16"), "nothing is gained"),
    ("15.8", place("row * 144 + chunk * 16"), "no room to pad"),
    ("15.8", place("row * 128 + (chunk ^ row % 4) * 16"), "at the same place in their row"),
    ("15.8", place("row * 128 + (chunk ^ row % 2) * 16"), "some rows of every eight"),
    ("15.8", place("row * 128 + (chunk | row % 8) * 16"), "needs its own"),
    ("15.8", place("row * 128 + (chunk ^ row % 8)"), "multiple of 16"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "12.1": r"16777218|is 2\^24 \+ 2",
    "12.2": r"0001",
    "12.3": r"\b26\b|\b25\b",
    "12.4": r"16777218|2\^24 \+ 2",
    "12.6": r"32768|2\^15",
    "12.7": r"\bmax\(|\bsum\(",
    "13.1": r"\bR?14\b",
    "13.2": r"\b4\b|\bfour\b",
    "13.3": r"\b10\b|\b12\b|\b14\b|even",
    "13.4": r"emulate\(",
    "14.1": r"%?\b9\b",
    "14.2": r"\b250\b",
    "14.5": rf"\({PLACE[0]}, {PLACE[1]}\)|lane {PLACE[0]}\b",
    "15.1": r"\b1, 2\b|\b2, 4\b",
    "15.2": r"\b8, 2\b|\b2, 4\b",
    "15.3": r"\b208\b|\b272\b",
    "15.4": r"\b4, 2\b|\b2, 1\b|one wavefront",
    "15.5": r"\b27\b|\b14\b",
    "15.6": r"lane % 16|lane // 16",
    "15.7": r"\b11\b",
    "15.8": r"chunk \^|XOR",
}
