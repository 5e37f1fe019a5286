"""Lesson 01: how to read a fragment layout; dense mma.m16n8k64, then every other dense shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...instruction import mma_instruction
from ...isa.location import Place
from ...isa.mma import Instruction
from ...isa.operand import Operand
from ..answers import first_wrong, function_table, result_of, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

INS = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
FP8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16")
HALF = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
BITS = mma_instruction("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
QUADS = mma_instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
ROW, COL = drawn(
    "01.1 01.2", "`A[{}][{}]`", (9, 37), (10, 35), (13, 38), (12, 34), (14, 36), (11, 39), (15, 33)
)
_LANE_OF_B = drawn("01.4", "Lane {} has two", 6, 10, 14, 7, 13, 21, 27)
#: Of the accumulator of QUADS.
LANE, ELEMENT = drawn("01.8", "Lane {} holds c{}", (25, 6), (29, 6), (21, 6), (23, 7), (31, 2), (27, 6))


# -- formulas of fragments, tried on every element -----------------------------------------------------------

#: Row and column of element i of a lane.
Formula = Callable[[int, int], tuple[int, int]]


class RunRule(Protocol):
    """The same for any number of neighbours, `run`, that share a register."""

    def __call__(self, lane: int, i: int, run: int) -> tuple[int, int]: ...


def agrees(operand: Operand, formula: Formula) -> bool:
    """Whether `formula(lane, i)` is the row and column of a_i in that lane, for all lanes and all elements.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.m8n8k16.s8")
    >>> agrees(ins.a, lambda lane, i: (lane // 4, lane % 4 * 4 + i))
    True
    """
    lanes, elements = operand.coords().shape[:2]
    places = operand.coords().tolist()
    return all(formula(lane, i) == tuple(places[lane][i]) for lane in range(lanes) for i in range(elements))


def holders(operand: Operand, formula: Formula) -> NDArray[np.int64]:
    """How many times a formula names each element of the matrix: once each, if it is right.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.m8n8k16.s8")
    >>> holders(ins.a, lambda lane, i: (lane // 4, 0))[0, :3]
    array([16,  0,  0])
    """
    count = np.zeros(operand.shape, dtype=np.int64)
    lanes, elements = operand.coords().shape[:2]
    for lane in range(lanes):
        for i in range(elements):
            count[formula(lane, i)] += 1
    return count


def following(rule: RunRule, forms: Iterable[Instruction], operand: str = "A") -> list[Instruction]:
    """The instructions whose A (or another operand) follows `rule(lane, i, run)`.

    The run is as long as a register has room for.

    >>> import ptxlab
    >>> forms = [ptxlab.instruction(name) for name in ("mma.m8n8k16.s8", "mma.m8n8k32.s4", "mma.m16n8k16.s8")]
    >>> [form.shape for form in following(lambda lane, i, run: (lane // 4, lane % 4 * run + i), forms)]
    ['m8n8k16', 'm8n8k32']
    """

    def fits(fragment: Operand) -> bool:
        return agrees(fragment, partial(rule, run=fragment.elements_per_register))

    return [form for form in forms if fits(form.operand(operand))]


# -- its exercises -------------------------------------------------------------------------------------------


def _place(operand: Operand, row: int, col: int) -> Place:
    return operand.where(row, col)[0]


def _places(answer: object, operand: Operand, form: str) -> NDArray[np.int64]:
    """(row, column) that a reader's function returns for every lane and element: [lanes, elements, 2]."""
    table = operand.coords() * 0
    for lane, i in np.ndindex(table.shape[:2]):
        table[lane, i] = whole_numbers(result_of(answer, lane, i, form=form), 2, form)
    return table


@checks("01.1")
def where_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, element)`")
    right = _place(INS.a, ROW, COL)
    lane, element = right.lane, right.element
    return {
        correct(submitted == (lane, element)): f"Row {ROW} is groupID {ROW % 8} plus 8, and column {COL} is "
        f"32 + {COL % 32}: the lower half of the rows and the right half of the columns, so the element is "
        f"16 + 8 + {COL % 32}.",
        when(submitted == (lane, _place(INS.a, ROW - 8, COL).element)): "The lane and the column are right, "
        "but your element is eight rows higher.",
        when(submitted == (lane, _place(INS.a, ROW, COL - 32).element)): "The lane and the row are right, "
        "but your element is in columns 0 to 31. A lane holds columns of both halves.",
        when(submitted == (lane, _place(INS.a, ROW - 8, COL - 32).element)): "The lane is right, but your "
        "element is eight rows too high and 32 columns too far left.",
        when(submitted[0] == lane): "The lane is right. The element number has three parts: the position in "
        "the run of eight, upper or lower rows, left or right columns.",
        when(submitted[0] >= 32): "There are 32 lanes, 0 to 31: groupID goes from 0 to 7, so rows 8 to 15 "
        "are held by the same lanes as rows 0 to 7.",
        when(submitted[0] in ((ROW % 8) * 4 + 1, (ROW % 8) * 4 + COL // 8)): "groupID is right. For "
        "threadID_in_group, first subtract 32 from the column, then count runs of eight.",
        otherwise: "Start with groupID = row % 8: lanes 4 * groupID to 4 * groupID + 3 share the row. Which "
        "of the four holds the column?",
    }


@checks("01.2")
def _bits_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(register, lowest bit, highest bit)`")
    right = _place(INS.a, ROW, COL)
    expected = (right.register, right.low, right.high)
    upside = (right.register, 31 - right.high, 31 - right.low)
    return {
        correct(submitted == expected): f"a{right.element} is element {right.element % 8} of register "
        f"{right.register}, and every element before it takes four bits.",
        when(submitted in (upside, (upside[0], upside[2], upside[1]))): "You counted elements from the top "
        'of the register. The PTX ISA lists elements "low to high": the first one is in the lowest bits.',
        when(submitted == (expected[0], expected[2], expected[1])): "The bits are right, but give the "
        "lowest first.",
        when(submitted == (expected[0], right.low, right.low + 4)): "Almost. An element has four bits, "
        "starting at the lowest one, and the highest bit is the last of these four.",
        when(submitted[1:] == expected[1:]): "The bits are right. Eight elements fill a register; which "
        "register holds this element number?",
        when(submitted[0] == expected[0]): "The register is right. Within it, how many elements come before "
        "this one, at four bits each?",
        when(submitted[0] >= INS.a.registers): f"A lane has registers 0 to {INS.a.registers - 1} for A.",
        otherwise: "Divide the element number by 8, the elements per register: the quotient is the "
        "register, the remainder the position in it.",
    }


@checks("01.3")
def row_of(answer: object) -> Sentences:
    submitted = function_table(answer, INS.lanes, 32, form="`row_of(lane, i)` returns a row")
    expected = INS.a.coords()[..., 0]
    lanes, elements = np.indices(expected.shape)
    where = first_wrong(submitted, expected, "lane {}, a{}")
    exchanged = (submitted[:, 8:16] == expected[:, 0:8]).all() and (
        submitted[:, 0:8] == expected[:, 8:16]
    ).all()
    return {
        correct(not where): "Right for all 1,024 elements. Bit 3 of i alone decides the half: `lane // "
        "4 + 8 * (i // 8 % 2)` is equivalent to the manual's condition.",
        when((submitted == lanes // 4).all()): "groupID is right, but every lane holds rows of both halves; "
        f"the first wrong element is {where}.",
        when((submitted == lanes // 4 + 8 * (elements >= 8)).all()): "Right for a0 to a15. But the later "
        f"elements are not all in the lower half: look at {where}.",
        when((submitted == lanes // 4 + 8 * (elements >= 16)).all()): "You changed rows halfway through the "
        "elements. That is where the *columns* change; the rows change more often. The first wrong element "
        f"is {where}.",
        when(exchanged): "The upper and lower halves are exchanged.",
        when((submitted == lanes >> 2 + 8 * (elements // 8 % 2)).all()): "Python adds before it shifts: "
        "write `(lane >> 2)` in brackets, or `lane // 4`.",
        when((submitted // 8 == expected // 8).all()): "The halves are right; groupID is not. How many "
        f"lanes share a row? The first wrong element is {where}.",
        otherwise: f"The first wrong element is {where}. groupID is `lane // 4`. Eight elements are in the "
        "upper half, the next eight in the lower half, and so on.",
    }


@checks("01.4")
def _rows_b(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of row numbers")
    lane = _LANE_OF_B
    expected = frozenset(row for _, row, _ in INS.b.holds(lane, 1))
    column = next(col for _, _, col in INS.b.holds(lane, 1))
    off_by_one = any(expected == frozenset(row + step for row in submitted) for step in (1, -1))
    return {
        correct(submitted == expected): f"threadID_in_group is {lane} % 4 = {lane % 4}, so the run in "
        f"register 0 begins at row {lane % 4} * 8, and the one in register 1 is 32 rows lower. All are in "
        f"column groupID = {column}.",
        when(submitted == frozenset(row for _, row, _ in INS.b.holds(lane, 0))): "Those are the rows of "
        f"register 0. Find `T{lane}:{{b8..b15}}` in the picture of B and read the row numbers at its left.",
        when(len(submitted) != len(expected)): "A register of B holds eight elements of one column: eight "
        "different rows.",
        when(off_by_one): "Off by one: rows are numbered from 0.",
        otherwise: f"Find `T{lane}:{{b8..b15}}` in the picture of B and read the row numbers at its left.",
    }


@checks("01.5")
def registers(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(for A, for B, for C)`")
    operands = (FP8.a, FP8.b, FP8.c)
    expected = tuple(operand.registers for operand in operands)
    elements = tuple(operand.registers * operand.elements_per_register for operand in operands)
    wide, narrow = (*expected[:2], elements[2]), tuple(-(-operand.registers // 2) for operand in operands)
    of_matrix = submitted in tuple(tuple(total // share for total in (512, 256, 128)) for share in (1, 4, 8))
    return {
        correct(submitted == expected): f"A lane holds {elements[0]}, {elements[1]} and {elements[2]} "
        "elements; four 8-bit elements or two 16-bit elements share a register.",
        when(submitted == elements): "Those are the numbers of *elements* in a lane. How many of them share "
        "one 32-bit register?",
        when(submitted == wide): "A and B are right. You gave each element of C a register of its own, but "
        "here C has 16-bit elements.",
        when(submitted[:2] == narrow[:2]): "You packed eight elements into a register, as with `s4`. Here "
        "an element of A or B has 8 bits.",
        when(submitted[:2] == expected[:2]): "A and B are right. C is 16 x 8, and its elements have 16 bits.",
        when(submitted != expected and sorted(submitted) == sorted(expected)): "The numbers are right, but "
        "in the wrong order: A first, then B, then C.",
        when(of_matrix): "Those are for the whole matrix. Thirty-two lanes share it.",
        otherwise: "For each matrix: rows times columns, divided by 32 lanes, gives the elements per lane. "
        "Multiply by the bits per element and divide by 32 bits per register.",
    }


@checks("01.6")
def place(answer: object) -> Sentences:
    submitted = _places(answer, HALF.a, "`place(lane, i)` returns `(row, column)`")
    expected = HALF.a.coords()
    lanes, elements = np.indices(expected.shape[:2])
    where = first_wrong(submitted, expected, "lane {}, a{}")
    rows, columns = (bool((submitted[..., axis] == expected[..., axis]).all()) for axis in (0, 1))
    swapped = submitted[:, [0, 1, 4, 5, 2, 3, 6, 7]]
    return {
        correct(not where): "Right for all 256 elements. Two adjacent elements, then eight rows lower, "
        "then eight columns to the right: the same steps as in `m16n8k64`, with a shorter run.",
        when((submitted == expected[..., ::-1]).all()): "Both numbers are right, but in the wrong order: "
        "the row comes first.",
        when((swapped == expected).all()): "You go right before you go down. In the picture, where is a2 of "
        f"lane 0, and where is a4? The first wrong element is {where}.",
        when(rows and bool((submitted[..., 1] == lanes % 4 * 2 + elements % 2).all())): "The rows are "
        f"right, but all your columns are in the left half; the first wrong element is {where}.",
        when(rows and bool((submitted[..., 1] >= 16).any())): "The rows are right, but one of your columns "
        "is beyond 15. Only one bit of i is the position in a run.",
        when(rows): "The rows are right. A run has two elements here, and the runs of lanes 0 to 3 are side "
        f"by side; the first wrong column is at {where}.",
        when(columns and bool((submitted[..., 0] == lanes // 4).all())): "The columns are right, but your "
        f"rows stay in the upper half; the first wrong element is {where}.",
        when(columns): f"The columns are right. The first wrong row is at {where}: which elements of a lane "
        "are eight rows lower?",
        otherwise: f"The first wrong element is {where}. Follow one lane through the picture and write down "
        "the row and column of a0 to a7.",
    }


@checks("01.7")
def _misprint(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "all such i, as a range or a list")
    lane, i = np.arange(32)[:, None], np.arange(128)
    printed = lane % 4 * 32 + np.where(i < 64, i, (i & 0x1F) + 128)
    expected = frozenset(np.flatnonzero((printed != BITS.a.coords()[..., 1]).any(axis=0)).tolist())
    first, last = min(expected), max(expected)
    return {
        correct(submitted == expected): "In the second register i no longer starts at 0, and nothing "
        "removes the excess: the second line has `& 0x1F` for that, the first line lacks it. Taken "
        "literally, the formula assigns some elements of A to no lane and others to two lanes.",
        when(not submitted): "There are some. Evaluate the formula for lane 0 and every i; a lane's run "
        "must begin again in each register.",
        when(submitted == {first, last}): "Both are wrong. If you mean all between them as well, write "
        "`range(first, last + 1)`.",
        when(submitted < expected): "Those are wrong, but there are more: take all elements of the register.",
        when(submitted == frozenset(range(64))): "Half of those are correct in the manual: where i is "
        "itself the position in its register, the formula works.",
        when(min(submitted, default=0) > last): "There the formula has its `& 0x1F` and is right. The "
        "mistake is in the other line.",
        when(max(submitted, default=first) < first): "In the first register i is the position in the "
        "register, so the formula is right there.",
        when(submitted > expected): "You have all the wrong ones, but for some of yours the formula is "
        "right: compare a few with the picture.",
        when(submitted & expected): "Some of those are wrong indeed. A register starts at a multiple of the "
        "number of elements per register; check both ends.",
        otherwise: "Compare the two lines for the column: what does the second do with i that the first "
        "does not, and when does it matter?",
    }


@checks("01.8")
def quads(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(product, row, column)`")
    stacked, col = (int(coord) for coord in QUADS.c.coords()[LANE, ELEMENT])
    expected = product, row, col = stacked // QUADS.m, stacked % QUADS.m, col
    first = LANE // 4 * 4  # of the four lanes of its group
    return {
        correct(submitted == expected): f"Lane {LANE} is not below 16, so four rows are added. The masks "
        "keep bits where they are, so each one adds 1, 2, 4 or nothing.",
        when(submitted == (product, row - 4, col)): "Nearly: X is right, but the row is not always X. What "
        "does the formula say for lanes 16 and up?",
        when(submitted == (product + 1, row, col)): "Right, but you counted the products from 1, as the "
        "manual does; count from 0.",
        when(submitted == (LANE // 4, row, col)): "Row and column are right. That is groupID; here two "
        "groups of four lanes, 16 apart, work on one product.",
        when(submitted == (product, stacked, col)): "That is the row in the picture, where all four are "
        "stacked vertically. Count rows within the product.",
        when(submitted[1:] == (col, row)): "The row and the column are exchanged.",
        when(submitted[1:] in ((row - 1, col), (row, 1), (row - 1, 1))): "A mask such as `i & 0b10` gives 0 "
        "or 2, not 0 or 1: the bit stays where it is.",
        when(submitted[1:] == (row, col)): "Row and column are right. Which product do lanes "
        f"{first - 16} to {first - 13} and {first} to {first + 3} work on?",
        when(submitted[0] == product): "The product is right. Write the lane and i in binary, then go "
        "through the masks one by one.",
        otherwise: "Start with the table of products, then write the lane and i in binary and go through "
        "the masks.",
    }
