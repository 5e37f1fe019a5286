"""Answers to the exercises of lesson 23: from tools/data/sass.txt, the record of all forms, and the ISA."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxlab
from ptxlab.course.exercises import what_the_chip_runs
from tools.record import sass as runs

U4 = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32")
U8 = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32")
M = 0x0F0F0F0F
_RECORD = runs.read()
_WORDS = [_RECORD[key].how for key in what_the_chip_runs.CLASSIFIED]


def chained(a: Any, b: Any, c: Any) -> Any:
    """The second product begins with the first one's D."""
    return U8.emulate(a >> 4 & M, b >> 4 & M, U8.emulate(a & M, b & M, c))


def added(a: Any, b: Any, c: Any) -> Any:
    """As Hopper does it: both begin at zero, and C is added by ordinary additions."""
    zero = np.zeros_like(c)
    return c + U8.emulate(a & M, b & M, zero) + U8.emulate((a & 0xF0F0F0F0) >> 4, (b & 0xF0F0F0F0) >> 4, zero)


def by_matrices(a: Any, b: Any, c: Any) -> Any:
    """Without any instruction."""
    return U4.d.pack(U4.a.unpack(a).astype(int) @ U4.b.unpack(b).astype(int) + U4.c.unpack(c)).astype(
        np.int64
    )


def _zero(c: Any) -> Any:
    return np.zeros_like(c)


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "23.1": "14",
    "23.2": "4",
    "23.3": "[8, 10, 12, 14]",
    "23.4": (
        "u8.emulate(a >> 4 & 0x0F0F0F0F, b >> 4 & 0x0F0F0F0F, u8.emulate(a & 0x0F0F0F0F, b & 0x0F0F0F0F, c))"
    ),
    "23.5": '["native", "emulated", "split", "emulated", "native"]',
    "23.6": '["sm_90a"]',
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("23.1", "R14"),
    ("23.1", "r14"),
    ("23.3", {14, 12, 10, 8}),
    ("23.3", range(8, 16, 2)),
    ("23.4", chained),
    ("23.4", added),
    ("23.5", tuple(word.upper() for word in _WORDS)),
    ("23.6", {"sm_90a"}),
    ("23.6", ("SM_90a",)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("23.1", 12, "begins"),
    ("23.1", 15, "One too far"),
    ("23.1", 13, "c1"),
    ("23.1", "R6", "first two operands"),
    ("23.1", 8, "third operand"),
    ("23.1", 2, "within C"),
    ("23.1", 99, "D, A, B, C"),
    ("23.2", 2, "only one dimension"),
    ("23.2", 1, "m16, n8, k8"),
    ("23.2", 8, "all three"),
    ("23.2", 16, "single 8 x 8 matrices"),
    ("23.2", 3, "boxes"),
    ("23.3", [9, 11, 13, 15], "others"),
    ("23.3", [8, 9, 10, 11], "middle"),
    ("23.3", [12, 13, 14, 15], "middle"),
    ("23.3", range(8, 16), "masked away"),
    ("23.3", [0, 2, 4, 6], "numbers of the elements"),
    ("23.3", [8], "there are more"),
    ("23.3", [40, 42], "Two steps"),
    ("23.4", lambda a, b, c: U8.emulate(a & M, b & M, c), "low halves alone"),
    ("23.4", lambda a, b, c: U8.emulate(a >> 4 & M, b >> 4 & M, c), "high halves alone"),
    (
        "23.4",
        lambda a, b, c: U8.emulate(a & M, b & M, _zero(c)) + U8.emulate(a >> 4 & M, b >> 4 & M, _zero(c)),
        "C is not",
    ),
    ("23.4", lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a >> 4 & M, b >> 4 & M, c), "twice"),
    (
        "23.4",
        lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a & 0xF0F0F0F0, b & 0xF0F0F0F0, _zero(c)),
        "shifted down",
    ),
    (
        "23.4",
        lambda a, b, c: (
            U8.emulate(a & M, b & M, c) + U8.emulate(a & 0xF0F0F0F0 >> 4, b & 0xF0F0F0F0 >> 4, _zero(c))
        ),
        "shifts the mask",
    ),
    (
        "23.4",
        lambda a, b, c: U8.emulate(a & M, b & M, c) + U8.emulate(a >> 4, b >> 4, _zero(c)),
        "Mask again",
    ),
    ("23.4", lambda a, b, c: U8.emulate(a, b, c), "as they are"),
    ("23.4", lambda a, b, c: U4.emulate(a, b, c), "4-bit instruction itself"),
    ("23.4", by_matrices, "not by `u8.emulate` alone"),
    ("23.4", lambda a, b, c: chained(a, b, c) + 0 * U4.emulate(a, b, c), "4-bit instruction itself"),
    ("23.4", lambda a, b, c: c, "Split A and B in the same way"),
    ("23.4", lambda a, b, c: None, "nothing"),
    ("23.4", lambda a, b, c: 1 // 0, "ZeroDivisionError"),
    ("23.4", lambda a, b, c: U4.d.unpack(c), "shape"),
    ("23.5", ["native", "emulated", "split", "native", "native"], "around it"),
    ("23.5", ["native", "split", "split", "emulated", "native"], "also other instructions"),
    ("23.5", ["native", "emulated", "emulated", "emulated", "native"], "nothing but"),
    ("23.5", ["native", "emulated", "native", "emulated", "native"], "count"),
    ("23.5", ["split", "emulated", "split", "emulated", "native"], "nothing else"),
    ("23.5", ["native", "native", "split", "emulated", "native"], "two questions"),
    ("23.5", ["native", "split"], "five words"),
    ("23.6", ["sm_90", "sm_90a"], "plain target"),
    ("23.6", ["sm_90"], "plain target"),
    ("23.6", ["sm_90a", "sm_100a", "sm_120a"], "of this chip alone"),
    ("23.6", ["sm_80"], "Ampere"),
    ("23.6", [], "One of them"),
    ("23.6", ["sm_75"], "out of"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "23.1": r"\bR?14\b",
    "23.2": r"\b4\b|\bfour\b",
    "23.3": r"\b10\b|\b12\b|\b14\b|even",
    "23.4": r"emulate\(",
}
