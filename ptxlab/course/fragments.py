"""Exercises of lesson 01: how to read a fragment layout; dense mma.m16n8k64, then every other dense shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..instruction import mma_instruction
from ..isa.operand import Operand, Place
from .checking import exercise, function_table, judge, result_of, whole_number_set, whole_numbers

INS = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
FP8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16")
HALF = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
BITS = mma_instruction("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
QUADS = mma_instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
ROW, COL = 9, 37
LANE, ELEMENT = 25, 6  # of the accumulator of QUADS


def _place(operand: Operand, row: int, col: int) -> Place:
    return operand.where(row, col)[0]


def _places(answer: object, operand: Operand, form: str) -> NDArray[np.int64]:
    """(row, column) that a reader's function returns for every lane and element: [lanes, elements, 2]."""
    table = operand.coords() * 0
    for lane, i in np.ndindex(table.shape[:2]):
        table[lane, i] = whole_numbers(result_of(answer, lane, i, form=form), 2, form)
    return table


@exercise(
    "01.1",
    f"**Which lane holds `A[{ROW}][{COL}]`, and which of its 32 elements a0 ... a31 is it?** The picture "
    "names the run; find the position in it.",
    "place = ...  # (lane, element)",
)
def where_a(answer: object) -> tuple[bool, str]:
    submitted = whole_numbers(answer, 2, "`(lane, element)`")
    right = _place(INS.a, ROW, COL)
    lane, element = right.lane, right.element
    return judge(
        submitted == (lane, element),
        f"Row {ROW} is groupID 1 plus 8, and column {COL} is 32 + 5: the lower half of the rows and the "
        "right half of the columns, so the element is 16 + 8 + 5.",
        (
            submitted == (lane, _place(INS.a, ROW - 8, COL).element),
            "The lane and the column are right, but your element is eight rows higher.",
        ),
        (
            submitted == (lane, _place(INS.a, ROW, COL - 32).element),
            "The lane and the row are right, but your element is in columns 0 to 31. A lane holds columns "
            "of both halves.",
        ),
        (
            submitted == (lane, _place(INS.a, ROW - 8, COL - 32).element),
            "The lane is right, but your element is eight rows too high and 32 columns too far left.",
        ),
        (
            submitted[0] == lane,
            "The lane is right. The element number has three parts: the position in the run of eight, "
            "upper or lower rows, left or right columns.",
        ),
        (
            submitted[0] >= 32,
            "There are 32 lanes, 0 to 31: groupID goes from 0 to 7, so rows 8 to 15 are held by the same "
            "lanes as rows 0 to 7.",
        ),
        (
            submitted[0] in ((ROW % 8) * 4 + 1, (ROW % 8) * 4 + COL // 8),
            "groupID is right. For threadID_in_group, first subtract 32 from the column, then count runs "
            "of eight.",
        ),
        otherwise=(
            "Start with groupID = row % 8: lanes 4 * groupID to 4 * groupID + 3 share the row. Which of "
            "the four holds the column?"
        ),
    )


@exercise(
    "01.2",
    f"**Which register of that lane holds `A[{ROW}][{COL}]`, and in which bits?** Registers are numbered "
    "from 0, and bit 0 is the lowest.",
    "bits = ...  # (register, lowest bit, highest bit)",
)
def _bits_a(answer: object) -> tuple[bool, str]:
    submitted = whole_numbers(answer, 3, "`(register, lowest bit, highest bit)`")
    right = _place(INS.a, ROW, COL)
    expected = (right.register, right.low, right.high)
    upside = (right.register, 31 - right.high, 31 - right.low)
    return judge(
        submitted == expected,
        f"a{right.element} is element {right.element % 8} of register {right.register}, and every element "
        "before it takes four bits.",
        (
            submitted in (upside, (upside[0], upside[2], upside[1])),
            'You counted elements from the top of the register. The PTX ISA lists elements "low to high": '
            "the first one is in the lowest bits.",
        ),
        (
            submitted == (expected[0], expected[2], expected[1]),
            "The bits are right, but give the lowest first.",
        ),
        (
            submitted == (expected[0], right.low, right.low + 4),
            "Almost. An element has four bits, starting at the lowest one, and the highest bit is the last "
            "of these four.",
        ),
        (
            submitted[1:] == expected[1:],
            "The bits are right. Eight elements fill a register; which register holds this element number?",
        ),
        (
            submitted[0] == expected[0],
            "The register is right. Within it, how many elements come before this one, at four bits each?",
        ),
        (submitted[0] >= INS.a.registers, f"A lane has registers 0 to {INS.a.registers - 1} for A."),
        otherwise=(
            "Divide the element number by 8, the elements per register: the quotient is the register, the "
            "remainder the position in it."
        ),
    )


@exercise(
    "01.3",
    "Now the third form, the formula. Follow one lane through the picture: a0 to a7 are in the upper half, "
    "a8 to a15 eight rows lower, a16 to a23 ...? **Write the row formula of A:** for `lane` 0 to 31 and "
    "element number `i` 0 to 31, return the row of a_i.",
    "def row_of(lane, i):\n    return ...",
)
def row_of(answer: object) -> tuple[bool, str]:
    submitted = function_table(answer, INS.lanes, 32, form="`row_of(lane, i)` returns a row")
    expected = INS.a.coords()[..., 0]
    lanes, elements = np.indices(expected.shape)
    wrong = np.argwhere(submitted != expected)
    where = f"lane {wrong[0][0]}, a{wrong[0][1]}" if len(wrong) else ""
    return judge(
        not len(wrong),
        "Right for all 1,024 elements. Bit 3 of i alone decides the half: `lane // 4 + 8 * (i // 8 % 2)` "
        "is equivalent to the manual's condition.",
        (
            bool((submitted == lanes // 4).all()),
            "groupID is right, but every lane holds rows of both halves; the first wrong element is "
            f"{where}.",
        ),
        (
            bool((submitted == lanes // 4 + 8 * (elements >= 8)).all()),
            f"Right for a0 to a15. But the later elements are not all in the lower half: look at {where}.",
        ),
        (
            bool((submitted == lanes // 4 + 8 * (elements >= 16)).all()),
            "You changed rows halfway through the elements. That is where the *columns* change; the rows "
            f"change more often. The first wrong element is {where}.",
        ),
        (
            bool(
                (submitted[:, 8:16] == expected[:, 0:8]).all()
                and (submitted[:, 0:8] == expected[:, 8:16]).all()
            ),
            "The upper and lower halves are exchanged.",
        ),
        (
            bool((submitted // 8 == expected // 8).all()),
            "The halves are right; groupID is not. How many lanes share a row? The first wrong element is "
            f"{where}.",
        ),
        otherwise=(
            f"The first wrong element is {where}. groupID is `lane >> 2`. Eight elements are in the upper "
            "half, the next eight in the lower half, and so on."
        ),
    )


@exercise(
    "01.4",
    "Lane 6 has two registers of B. **Which rows of B does its register 1 hold?** Give all eight.",
    "rows = ...  # a list of eight row numbers",
)
def _rows_b(answer: object) -> tuple[bool, str]:
    submitted = whole_number_set(answer, "a list of row numbers")
    expected = frozenset(row for _, row, _ in INS.b.holds(6, 1))
    column = next(col for _, _, col in INS.b.holds(6, 1))
    return judge(
        submitted == expected,
        "threadID_in_group is 6 % 4 = 2, so the run in register 0 begins at row 2 * 8, and the one in "
        f"register 1 is 32 rows lower. All are in column groupID = {column}.",
        (
            submitted == frozenset(row for _, row, _ in INS.b.holds(6, 0)),
            "Those are the rows of register 0, in the first of the manual's two figures for B. Register 1 "
            "is in the second.",
        ),
        (
            submitted == frozenset(range(6 * 8 % 64, 6 * 8 % 64 + 8)),
            "The run does not begin at 8 times the lane: only threadID_in_group = lane % 4 moves down the "
            "rows, groupID moves along the columns.",
        ),
        (
            len(submitted) != len(expected),
            "A register of B holds eight elements of one column: eight different rows.",
        ),
        (
            expected == frozenset(row + 1 for row in submitted)
            or expected == frozenset(row - 1 for row in submitted),
            "Off by one: rows are numbered from 0.",
        ),
        otherwise="Take threadID_in_group = lane % 4, then the formula for b_i with i from 8 to 15.",
    )


@exercise(
    "01.5",
    "Another instruction: `mma.m16n8k32` with `.e4m3` (an 8-bit float) in A and B, and `.f16` (16 bits) in "
    "C and D. **How many registers does a lane use for A, for B and for C?** Count elements first, then "
    "bits.",
    "registers = ...  # (for A, for B, for C)",
)
def registers(answer: object) -> tuple[bool, str]:
    submitted = whole_numbers(answer, 3, "`(for A, for B, for C)`")
    operands = (FP8.a, FP8.b, FP8.c)
    expected = tuple(each.registers for each in operands)
    elements = tuple(each.registers * each.elements_per_register for each in operands)
    wide, narrow = (*expected[:2], elements[2]), tuple(-(-each.registers // 2) for each in operands)
    return judge(
        submitted == expected,
        f"A lane holds {elements[0]}, {elements[1]} and {elements[2]} elements; four 8-bit elements or two "
        "16-bit elements share a register.",
        (
            submitted == elements,
            "Those are the numbers of *elements* in a lane. How many of them share one 32-bit register?",
        ),
        (
            submitted == wide,
            "A and B are right. You gave each element of C a register of its own, but here C has 16-bit "
            "elements.",
        ),
        (
            submitted[:2] == narrow[:2],
            "You packed eight elements into a register, as with `s4`. Here an element of A or B has 8 bits.",
        ),
        (submitted[:2] == expected[:2], "A and B are right. C is 16 x 8, and its elements have 16 bits."),
        (
            submitted == expected[::-1] or submitted == (expected[1], expected[0], expected[2]),
            "The numbers are right, but in the wrong order: A first, then B, then C.",
        ),
        (
            submitted in tuple(tuple(total // share for total in (512, 256, 128)) for share in (1, 4, 8)),
            "Those are for the whole matrix. Thirty-two lanes share it.",
        ),
        otherwise=(
            "For each matrix: rows times columns, divided by 32 lanes, gives the elements per lane. "
            "Multiply by the bits per element and divide by 32 bits per register."
        ),
    )


@exercise(
    "01.6",
    "From the picture alone, **write the function that returns the row and column of a_i for A of "
    "`mma.m16n8k16` with `.f16`.** `lane` goes from 0 to 31, `i` from 0 to 7.",
    "def place(lane, i):\n    return ...  # (row, column)",
)
def place(answer: object) -> tuple[bool, str]:
    submitted = _places(answer, HALF.a, "`place(lane, i)` returns `(row, column)`")
    expected = HALF.a.coords()
    lanes, elements = np.indices(expected.shape[:2])
    wrong = np.argwhere((submitted != expected).any(axis=-1))
    where = f"lane {wrong[0][0]}, a{wrong[0][1]}" if len(wrong) else ""
    rows, columns = (bool((submitted[..., axis] == expected[..., axis]).all()) for axis in (0, 1))
    swapped = submitted[:, [0, 1, 4, 5, 2, 3, 6, 7]]
    return judge(
        not len(wrong),
        "Right for all 256 elements. Two adjacent elements, then eight rows lower, then eight columns to "
        "the right: the same steps as in `m16n8k64`, with a shorter run.",
        (
            bool((submitted == expected[..., ::-1]).all()),
            "Both numbers are right, but in the wrong order: the row comes first.",
        ),
        (
            bool((swapped == expected).all()),
            "You go right before you go down. In the picture, where is a2 of lane 0, and where is a4? The "
            f"first wrong element is {where}.",
        ),
        (
            rows and bool((submitted[..., 1] == lanes % 4 * 2 + elements % 2).all()),
            "The rows are right, but all your columns are in the left half; the first wrong element is "
            f"{where}.",
        ),
        (
            rows and bool((submitted[..., 1] >= 16).any()),
            "The rows are right, but one of your columns is beyond 15. Only one bit of i is the position "
            "in a run.",
        ),
        (
            rows,
            "The rows are right. A run has two elements here, and the runs of lanes 0 to 3 are side by "
            f"side; the first wrong column is at {where}.",
        ),
        (
            columns and bool((submitted[..., 0] == lanes // 4).all()),
            "The columns are right, but your rows stay in the upper half; the first wrong element is "
            f"{where}.",
        ),
        (
            columns,
            f"The columns are right. The first wrong row is at {where}: which elements of a lane are eight "
            "rows lower?",
        ),
        otherwise=(
            f"The first wrong element is {where}. Follow one lane through the picture and write down the "
            "row and column of a0 to a7."
        ),
    )


@exercise(
    "01.7",
    "The formula above, as printed in the manual, has a mistake; the picture does not. **For which i does "
    "the formula give a wrong column?**",
    "elements = ...  # all such i, e.g. range(10, 20)",
)
def _misprint(answer: object) -> tuple[bool, str]:
    submitted = whole_number_set(answer, "all such i, as a range or a list")
    lane, i = np.arange(32)[:, None], np.arange(128)
    printed = lane % 4 * 32 + np.where(i < 64, i, (i & 0x1F) + 128)
    expected = frozenset(np.flatnonzero((printed != BITS.a.coords()[..., 1]).any(axis=0)).tolist())
    first, last = min(expected), max(expected)
    return judge(
        submitted == expected,
        "In the second register i no longer starts at 0, and nothing removes the excess: the second line "
        "has `& 0x1F` for that, the first line lacks it. Taken literally, the formula assigns some "
        "elements of A to no lane and others to two lanes.",
        (
            not submitted,
            "There are some. Evaluate the formula for lane 0 and every i; a lane's run must begin again in "
            "each register.",
        ),
        (submitted < expected, "Those are wrong, but there are more: take all elements of the register."),
        (
            submitted == frozenset(range(64)),
            "Half of those are correct in the manual: where i is itself the position in its register, the "
            "formula works.",
        ),
        (
            min(submitted, default=0) > last,
            "There the formula has its `& 0x1F` and is right. The mistake is in the other line.",
        ),
        (
            max(submitted, default=first) < first,
            "In the first register i is the position in the register, so the formula is right there.",
        ),
        (
            submitted > expected,
            "You have all the wrong ones, but for some of yours the formula is right: compare a few with "
            "the picture.",
        ),
        (
            bool(submitted & expected),
            "Some of those are wrong indeed. A register starts at a multiple of the number of elements per "
            "register; check both ends.",
        ),
        otherwise=(
            "Compare the two lines for the column: what does the second do with i that the first does not, "
            "and when does it matter?"
        ),
    )


@exercise(
    "01.8",
    f"A formula without a picture. **Lane {LANE} holds c{ELEMENT}: to which of the four products does it "
    "belong (counting from 0), and to which row and column of that product's 8 x 8 C?**",
    "at = ...  # (product, row, column)",
)
def quads(answer: object) -> tuple[bool, str]:
    submitted = whole_numbers(answer, 3, "`(product, row, column)`")
    stacked, col = (int(each) for each in QUADS.c.coords()[LANE, ELEMENT])
    expected = product, row, col = stacked // QUADS.m, stacked % QUADS.m, col
    return judge(
        submitted == expected,
        f"Lane {LANE} is not below 16, so four rows are added. The masks keep bits where they are, so each "
        "one adds 1, 2, 4 or nothing.",
        (
            submitted == (product, row - 4, col),
            "Nearly: X is right, but the row is not always X. What does the formula say from lane 16 on?",
        ),
        (
            submitted == (product + 1, row, col),
            "Right, but you counted the products from 1, as the manual does; count from 0.",
        ),
        (
            submitted == (LANE // 4, row, col),
            "Row and column are right. That is groupID; here two groups of four lanes, 16 apart, work on "
            "one product.",
        ),
        (
            submitted == (product, stacked, col),
            "That is the row in the picture, where all four are stacked one below the other. Count rows "
            "within the product.",
        ),
        (submitted[1:] == (col, row), "The row and the column are exchanged."),
        (
            submitted[1:] in ((row - 1, col), (row, 1), (row - 1, 1)),
            "A mask such as `i & 0b10` gives 0 or 2, not 0 or 1: the bit stays where it is.",
        ),
        (
            submitted[1:] == (row, col),
            "Row and column are right. Which product do lanes 8 to 11 and 24 to 27 work on?",
        ),
        (
            submitted[0] == product,
            "The product is right. Write the lane and i in binary, then go through the masks one by one.",
        ),
        otherwise=(
            "Start with the table of products, then write the lane and i in binary and go through the masks."
        ),
    )
