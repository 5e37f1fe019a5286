"""Answers to the exercises of lesson 24: counted by hand, or found by other probes than the lesson's."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxlab
from ptxlab.course.exercises.on_a_real_gpu import COL, ROW, OtherMachine, mystery

INS = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
ZERO = np.zeros((32, 4), dtype=np.uint32)


def found_by_halves(machine: OtherMachine, column: int = COL) -> tuple[int, int]:
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


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "24.1": "9",
    "24.2": "250",
    "24.3": "(x.view(np.uint32) != y.view(np.uint32)).sum()",
    "24.4": "[k % 8, k // 8, 1, 0, 0, 0, 0, 0]",
    "24.5": "divmod(int(np.argmax(ins.d.unpack(mystery(probes, b, c))[:, 9, 0] == 5 + 1)), 16)",
    "24.6": (
        "np.stack(np.divmod(machine(ins.a.pack(np.outer(np.arange(16), np.arange(32) == 0) + "
        "(np.arange(32) == 1)), ins.b.pack(np.outer(np.arange(32) == 0, [8] * 8) + np.outer(np.arange(32) "
        "== 1, np.arange(8))), c), 8), axis=-1)"
    ),
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("24.1", "%9"),
    ("24.3", _bits),
    ("24.3", lambda x, y: sum(p.tobytes() != q.tobytes() for p, q in zip(x.ravel(), y.ravel(), strict=True))),
    ("24.4", lambda k: [k % 8, k // 8, 1, 0, 0, 0, 0, 0]),
    ("24.4", lambda k: (np.array([k + 1] * 8) >> np.arange(8)) & 1),
    ("24.4", lambda k: (k % 16 - 8, k // 16 + 1, *[0] * 6)),
    ("24.5", PLACE),
    ("24.5", list(PLACE)),
    ("24.5", np.array(PLACE)),
    ("24.6", in_one_launch),
    ("24.6", one_at_a_time),
    ("24.6", lambda machine: in_one_launch(machine).astype(float)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("24.1", 10, "begin with %0"),
    ("24.1", 5, "D also has numbers"),
    ("24.1", 8, "counted from 0"),
    ("24.1", 7, "one of A"),
    ("24.1", 13, "C comes last"),
    ("24.1", 1, "within B"),
    ("24.1", 99, "Count the registers"),
    ("24.2", 1000, "one warp"),
    ("24.2", 8, "each thread"),
    ("24.2", 4000, "other way round"),
    ("24.2", 32, "as a warp has lanes"),
    ("24.2", 1000 / 32, "as a warp has lanes"),
    ("24.2", 7, "32 lanes"),
    ("24.3", lambda x, y: (x != y).sum(), "NaN is not equal to itself"),
    ("24.3", lambda x, y: (~((x == y) | (np.isnan(x) & np.isnan(y)))).sum(), "sign bit"),
    ("24.3", lambda x, y: ((np.signbit(x) != np.signbit(y)) | ~((x == y) | np.isnan(x))).sum(), "0x7FFFFFFF"),
    ("24.3", lambda x, y: 0, "1 and 2"),
    ("24.3", lambda x, y: (x.view(np.uint32) == y.view(np.uint32)).sum(), "two equal arrays"),
    ("24.3", lambda x, y: (x.astype(np.int64) != y.astype(np.int64)).sum(), "conversion"),
    ("24.3", lambda x, y: (x.view(np.uint32) >> 1 != y.view(np.uint32) >> 1).sum(), "last bit"),
    ("24.3", lambda x, y: (x.view(np.uint32) != y.view(np.uint32)).any(axis=-1).sum(), "not rows"),
    ("24.3", lambda x, y: (x.view(np.uint32) != y.view(np.uint32)).any(), "not only whether"),
    ("24.3", lambda x, y: None, "return"),
    ("24.4", lambda k: [k] * 8, "cannot hold"),
    ("24.4", lambda k: [1] * 8, "All rows are the same"),
    ("24.4", lambda k: [k % 8, 1, 0, 0, 0, 0, 0, 0], "are the same"),
    ("24.4", lambda k: [k % 8, k // 8, 0, 0, 0, 0, 0, 0], "looks like no answer"),
    ("24.4", lambda k: [k % 8, k // 8], "8 whole numbers"),
    ("24.4", lambda k: 1 // 0, "ZeroDivisionError"),
    ("24.5", (5, 5), "manual"),
    ("24.5", PLACE[::-1], "lane comes first"),
    ("24.5", (40, 0), "from 0 to 31"),
    ("24.5", found_by_halves(mystery(), COL - 1), "column before"),
    ("24.5", (PLACE[0], (PLACE[1] + 5) % 16), "lane is right"),
    ("24.5", ((PLACE[0] + 1) % 32, PLACE[1]), "That slot holds"),
    ("24.6", through_c, "layout of the manual"),
    ("24.6", lambda machine: INS.d.coords(), "layout of the manual"),
    ("24.6", lambda machine: in_one_launch(machine)[..., ::-1], "exchanged"),
    ("24.6", lambda machine: in_one_launch(machine) * [1, 0], "rows are right"),
    ("24.6", lambda machine: in_one_launch(machine) * [0, 1], "columns are right"),
    ("24.6", lambda machine: in_one_launch(machine)[::-1], "another register"),
    ("24.6", lambda machine: in_one_launch(machine) + 100, "16 rows"),
    ("24.6", lambda machine: np.zeros((32, 2)), "shape (32, 2)"),
    ("24.6", lambda machine: None, "nothing"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "24.1": r"%?\b9\b",
    "24.2": r"\b250\b",
    "24.5": rf"\({PLACE[0]}, {PLACE[1]}\)|lane {PLACE[0]}\b",
}
