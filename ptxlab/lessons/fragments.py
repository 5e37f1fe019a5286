"""Exercises of lesson 01: dense mma.m16n8k64 with s4, u4 and block-scaled e2m1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype
from ..mnemonic import instruction
from ..operand import Operand, Place
from .core import call, exercise, function_table, judge, whole, whole_set

INS = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
SCALED = instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
ROW, COL = 9, 37


def _place(operand: Operand, row: int, col: int) -> Place:
    return operand.where(row, col)[0]


@exercise(
    "01.1",
    f"**Which lane holds `A[{ROW}][{COL}]`, and which of its 32 elements a0 ... a31 is it?** The picture names the run; you find the place in it.",
    "place = ...  # (lane, element)",
)
def where_a(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, element)`")
    right = _place(INS.a, ROW, COL)
    lane, element = right.lane, right.element
    return judge(
        found == (lane, element),
        f"Row {ROW} is groupID 1 plus 8, column {COL} is 32 + 5: both halves are the upper ones, so the element is 16 + 8 + 5.",
        (found == (lane, _place(INS.a, ROW - 8, COL).element), "The lane is right, and so is the column. But your element lies eight rows higher."),
        (
            found == (lane, _place(INS.a, ROW, COL - 32).element),
            "The lane and the row are right. But your element lies in columns 0 to 31; a lane holds columns of both halves.",
        ),
        (
            found == (lane, _place(INS.a, ROW - 8, COL - 32).element),
            "The lane is right. But your element is eight rows too high and 32 columns too far left.",
        ),
        (
            found[0] == lane,
            "The lane is right. Build the element from three digits: the column within a run of eight, upper or lower rows, left or right columns.",
        ),
        (found[0] >= 32, "There are 32 lanes, 0 to 31: groupID goes from 0 to 7, so rows 8 to 15 have the lanes of rows 0 to 7."),
        (
            found[0] in ((ROW % 8) * 4 + 1, (ROW % 8) * 4 + COL // 8),
            "groupID is right. For threadID_in_group, take 32 away from the column first, then count runs of eight.",
        ),
        otherwise="Begin with groupID = row % 8: lanes 4 * groupID to 4 * groupID + 3 share the row. Which of the four has the column?",
    )


@exercise(
    "01.2",
    f"**In which register of that lane is `A[{ROW}][{COL}]`, and in which bits?** Registers count from 0, bit 0 is the lowest.",
    "bits = ...  # (register, lowest bit, highest bit)",
)
def bits_a(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 3, "`(register, lowest bit, highest bit)`")
    right = _place(INS.a, ROW, COL)
    expected = (right.register, right.low, right.high)
    upside = (right.register, 31 - right.high, 31 - right.low)
    return judge(
        found == expected,
        f"a{right.element} is element {right.element % 8} of register {right.register}, and every element before it takes four bits.",
        (
            found in (upside, (upside[0], upside[2], upside[1])),
            'You counted elements from the top of the register. The ISA lists elements "low to high": the first sits in the lowest bits.',
        ),
        (found == (expected[0], expected[2], expected[1]), "Right bits, but give the lowest first."),
        (
            found == (expected[0], right.low, right.low + 4),
            "Almost: four bits from the lowest one on; the highest of them belongs to the element, the one after it does not.",
        ),
        (found[1:] == expected[1:], "The bits are right. Eight elements fill a register; which register comes to the element's number?"),
        (found[0] == expected[0], "The register is right. Within it, how many elements come before this one, at four bits each?"),
        (found[0] >= INS.a.registers, f"A lane has registers 0 to {INS.a.registers - 1} for A."),
        otherwise="Divide the element's number by the eight elements of a register: the quotient is the register, the remainder the place in it.",
    )


@exercise(
    "01.3",
    "**Write the row formula of A yourself:** for `lane` 0 to 31 and element number `i` 0 to 31, the row of a_i. "
    "Check it against the picture before you check it here: which elements are in the lower half?",
    "def row_of(lane, i):\n    return ...",
)
def row_of(answer: Any) -> tuple[bool, str]:
    found = function_table(answer, INS.lanes, 32, form="`row_of(lane, i)` gives a row")
    expected = INS.a.coords()[..., 0]
    lanes, elements = np.indices(expected.shape)
    wrong = np.argwhere(found != expected)
    where = f"lane {wrong[0][0]}, a{wrong[0][1]}" if len(wrong) else ""
    return judge(
        not len(wrong),
        "Right for all 1,024 elements. Bit 3 of i alone decides the half: `lane // 4 + 8 * (i // 8 % 2)` says the same as the ISA's condition.",
        (bool((found == lanes // 4).all()), f"groupID is right, but every lane holds rows of both halves; the first wrong one is {where}."),
        (
            bool((found == lanes // 4 + 8 * (elements >= 8)).all()),
            f"Right for a0 to a15. But the lower half does not go on for ever: look at {where}.",
        ),
        (
            bool((found == lanes // 4 + 8 * (elements >= 16)).all()),
            f"You changed rows halfway through the elements. That is where the *columns* jump; the rows change more often. First wrong: {where}.",
        ),
        (bool((found[:, 8:16] == expected[:, 0:8]).all() and (found[:, 0:8] == expected[:, 8:16]).all()), "Upper and lower half are exchanged."),
        (bool((found // 8 == expected // 8).all()), f"The halves are right; groupID is not. How many lanes share a row? First wrong: {where}."),
        otherwise=f"The first wrong one is {where}. groupID is `lane >> 2`; the elements go eight in the upper half, eight in the lower, and again.",
    )


@exercise(
    "01.4",
    "Lane 6 has two registers of B. **Which rows of B are in its register 1?** Give all eight.",
    "rows = ...  # a list of eight row numbers",
)
def rows_b(answer: Any) -> tuple[bool, str]:
    found = whole_set(answer, "a list of row numbers")
    expected = frozenset(row for _, row, _ in INS.b.holds(6, 1))
    column = next(col for _, _, col in INS.b.holds(6, 1))
    return judge(
        found == expected,
        f"threadID_in_group is 6 % 4 = 2, so the run begins at 2 * 8, and register 1 lies 32 rows lower. All are in column groupID = {column}.",
        (
            found == frozenset(row for _, row, _ in INS.b.holds(6, 0)),
            "Those are the rows of register 0, Figure 94 of the ISA. Register 1 is in the other figure.",
        ),
        (
            found == frozenset(range(6 * 8 % 64, 6 * 8 % 64 + 8)),
            "The run does not begin at 8 times the lane: only threadID_in_group = lane % 4 moves down the rows, groupID moves along the columns.",
        ),
        (len(found) != len(expected), "A register of B holds eight elements, all of one column: eight different rows."),
        (expected == frozenset(row + 1 for row in found) or expected == frozenset(row - 1 for row in found), "Off by one: rows count from 0."),
        otherwise="Take threadID_in_group = lane % 4, then the formula for b_i with i from 8 to 15.",
    )


@exercise(
    "01.5",
    "`C[0][0]` is the largest `s32`, 2147483647, and A and B are such that `(A B)[0][0]` is 49. **What is `D[0][0]` without and with `.satfinite`?**",
    "results = ...  # (without, with .satfinite)",
)
def overflow(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(without, with .satfinite)`")
    s32 = dtype("s32")
    wrapped = int(s32.decode((s32.maximum + 49) & 0xFFFFFFFF))
    expected = (wrapped, s32.maximum)
    return judge(
        found == expected,
        "Without it the 32 bits wrap round, as integers do on every processor; `.satfinite` stops at the largest value.",
        (found == expected[::-1], "The other way round: `.satfinite` is the one that stops at the end of the range."),
        (found[0] == s32.maximum + 49, "The true sum does not fit into 32 bits. What do the lowest 32 bits of it mean as a signed number?"),
        (found[0] == wrapped - 1 or found[0] == wrapped + 1, "Off by one: the step from the largest to the smallest value is one step of the 49."),
        (found[0] == wrapped, "The first is right. `.satfinite` clamps the result to the range of `s32`."),
        (found[1] == s32.maximum, "The second is right. Without the clamp the sum goes round: one above the largest is the smallest."),
        otherwise="Without `.satfinite` only the lowest 32 bits of the sum are kept; with it the sum is clamped to the range of `s32`.",
    )


@exercise(
    "01.6",
    "The sixteen codes of `e2m1` are one sign bit, two exponent bits, one fraction bit. **Complete the function that "
    "gives twice the value of a code** "
    "(twice, so that 0.5 becomes a whole number). Exponent 0 means: no hidden one.",
    "def twice(code):\n    return ...",
)
def e2m1(answer: Any) -> tuple[bool, str]:
    form = "`twice(code)` gives a whole number"
    found = [call(answer, code, form=form) for code in range(16)]
    expected = [int(2 * v) for v in dtype("e2m1").decode(np.arange(16)).tolist()]
    wrong = [code for code in range(16) if found[code] != expected[code]]
    where = f"code 0b{wrong[0]:04b}" if wrong else ""
    return judge(
        not wrong,
        "0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives: that is all e2m1 has. No infinity, no NaN.",
        (found == list(range(16)), "You took the code for the value. Split it: sign, two exponent bits, one fraction bit."),
        (
            found[2:8] == expected[2:8] and found[:2] != expected[:2],
            "The normal numbers are right. With exponent 0 the value is the fraction alone, on the scale of exponent 1.",
        ),
        (found[:8] == expected[:8], "The positive half is right. The highest bit is the sign; nothing else changes."),
        (
            found[:2] == expected[:2],
            f"The first two are right; {where} is the first that is not. A normal number is (1 + fraction / 2) * 2^(exponent - 1).",
        ),
        otherwise=f"{where} is the first that is wrong. The exponent is `code >> 1 & 3`, its bias is 1, the fraction `code & 1` counts a half.",
    )


@exercise(
    "01.7",
    f"With `scale_vec::2X` every row of `A` has two scale factors, one for columns 0 to 31 and one for columns 32 to 63. "
    f"**Which lane gives the factor of `A[{ROW}][{COL}]`, and in which byte of its register**, when byte-id-a and thread-id-a are both 0?",
    "place = ...  # (lane, byte)",
)
def scale(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, byte)`")
    factors = SCALED.operand("SFA")
    block = COL // (SCALED.k // factors.shape[1])
    right = _place(factors, ROW, block)
    expected = (right.lane, right.element)
    upper = _place(factors, ROW - 8, block)
    return judge(
        found == expected,
        f"In the quad of groupID {ROW % 8} the first lane speaks for row {ROW % 8} and the second for row {ROW}; block "
        f"{block} is byte {right.element}.",
        (
            found == (upper.lane, upper.element),
            "That lane speaks for the row eight higher. Within a quad one lane has the upper row, its neighbour the lower.",
        ),
        (found[0] in (right.lane + 2, upper.lane + 2), "Those lanes speak when thread-id-a is 1; here it is 0."),
        (found == (right.lane, right.element + 2), "Those bytes are read when byte-id-a is 2; here it is 0."),
        (found[0] == right.lane, "The lane is right. The lowest byte scales the first block of the row."),
        (found[1] == right.element, "The byte is right. Which two lanes of a quad give the factors of A, and for which rows?"),
        otherwise="Find the quad with groupID = row % 8; thread-id-a 0 picks its lower two lanes, one for each of the two rows.",
    )
