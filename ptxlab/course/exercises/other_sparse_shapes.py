"""Lesson 18: the rules of two sparse shapes, applied to all sparse shapes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ...instruction import Instruction, mma_instruction, mma_instructions
from ...numerics.models import Evidence, models
from ...views import Picture
from ...views.charts import table
from ..answers import whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, otherwise, place_hints, when

BYTES = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32")
FP8 = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32")
PADDED = mma_instruction(
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
)
HALF = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
INT4 = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
ROW, COLUMN = 13, 45
_SELECTOR_HINT = (
    "The first two are right. For the third, count the legal values of the selector: if only 0 is legal, "
    "that is also a value."
)


# -- what the lesson shows -----------------------------------------------------------------------------------


def family(forms: Iterable[Instruction]) -> Picture:
    """Structure, registers and selectors of sparse instructions, by the width of an element and by K.

    >>> family(mma_instructions("mma.sp")).grids[0].rows[0].text
    '32 bits, m16n8k8'
    """
    members: dict[tuple[int, int, str], list[Instruction]] = {}
    for form in forms:
        members.setdefault((-form.a.width, form.k, form.kind or ""), []).append(form)
    rows = {}
    for (width, _, kind), alike in sorted(members.items()):
        first, types = alike[0], sorted({form.a_type for form in alike})
        counts = first.a.registers, first.b.registers, len(first.selectors)
        name = " ".join(filter(None, (f"{-width} bits, {first.shape}", kind)))
        structure = "" if first.structure is None else first.structure.title
        size = 4 if len(types) <= 4 else 3  # types on a line, so that none is too wide
        lines = [" ".join(types[start : start + size]) for start in range(0, len(types), size)]
        rows[name] = [structure, *map(str, counts), "\n".join(lines)]
    columns = ["structure", "A", "B", "selectors", "types of A"]
    return table(rows, columns, "Sparse mma", ("A and B: registers in each lane",))


def evidence(form: Instruction) -> str:
    """How the arithmetic of an instruction is known, and of which chips.

    >>> evidence(PADDED)
    'assumed: sm_120'
    """
    chips: dict[str, list[str]] = {}
    for model in models():
        if model.fits(form):
            chips.setdefault(model.evidence, []).append(model.chip)
    order = [known for known in get_args(Evidence) if known in chips]
    return "; ".join(f"{known}: {', '.join(chips[known])}" for known in order)


@cache
def shapes() -> dict[tuple[int, int], Instruction]:
    """One sparse mma for every width of an element in its register, in bits, and every K."""
    return {(ins.a.width, ins.k): ins for ins in mma_instructions("mma.sp")}


def _chunk(ins: Instruction) -> int:
    """Columns of logical A that one nibble describes."""
    return ins.structure.chunk if ins.structure else 1


@checks("18.1")
def predict(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(registers of A, registers of B, selectors)`")
    expected = (BYTES.a.registers, BYTES.b.registers, len(BYTES.selectors))
    as_s4 = (INT4.a.registers, INT4.b.registers, len(INT4.selectors))
    return {
        correct(submitted == expected): "Compressed A is 16 x 32 bytes, B is 64 x 8 bytes: the same size, "
        "so the same number of registers. The nibbles of 16 rows with 16 chunks each fill the metadata "
        "registers of all lanes, so there is nothing to select.",
        when(submitted == as_s4): "That is `m16n8k64` with s4. The shape is the same, but every element is "
        "twice as wide.",
        when(submitted[0] == 2 * expected[0]): "That is all of A. Only half of it is stored.",
        when(submitted[:2] == expected[:2] and not submitted[2]): _SELECTOR_HINT,
        when(submitted[:2] == expected[:2]): "The registers are right. The structure is 2:4: how many "
        "chunks does a row have, how many nibbles does A have, and how many lanes does it take to hold them?",
        when(submitted[0] == expected[0]): "A is right. B is dense: 64 x 8 elements over 32 lanes, with "
        "four in a register.",
        otherwise: "Count bits: the number of stored elements, times eight, divided by 32 lanes and by 32 "
        "bits per register. Then count nibbles: eight fit into a lane's register.",
    }


@checks("18.2")
def _unseen(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(registers of A, registers of B, selectors)`")
    bits, k = HALF.a.width, 64
    registers = HALF.a.registers * k // HALF.k
    expected = (registers, registers, len(HALF.selectors) * HALF.k // k)
    known = (HALF.a.registers, HALF.b.registers, len(HALF.selectors))
    return {
        correct(submitted == expected): f"K x bits / 128 = {k} x {bits} / 128 registers for A and for B. "
        "There are twice as many chunks as in `m16n8k32`, so all four lanes of a group supply metadata, and "
        "only one selector is left.",
        when(submitted == known): "That is `m16n8k32`. K is twice as large here.",
        when(submitted == (BYTES.a.registers, BYTES.b.registers, len(BYTES.selectors))): "That is "
        "`m16n8k64` with s8. An f16 has twice as many bits.",
        when(submitted[:2] == expected[:2] and not submitted[2]): _SELECTOR_HINT,
        when(submitted[:2] == expected[:2]): "The registers are right. With twice as many chunks as in "
        "`m16n8k32`, how many lanes in each group of four must supply metadata?",
        when(submitted[0] == 2 * expected[0]): "That would be all of A. Only half is stored.",
        when(submitted[2] == expected[2]): "The selectors are right. How many registers does `m16n8k32` "
        "use, and what happens to that number when K doubles?",
        otherwise: "Look at the two rows of the table with 16 bits. What does doubling K do to each number?",
    }


@checks("18.3")
def where_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, register)`")
    right = BYTES.a.where(ROW, COLUMN // 2)[0]
    above, left = BYTES.a.where(ROW - 8, COLUMN // 2)[0], BYTES.a.where(ROW, (COLUMN - 32) // 2)[0]
    both = BYTES.a.where(ROW - 8, (COLUMN - 32) // 2)[0]
    unhalved = ROW % 8 * 4 + COLUMN // 4 % 4
    dense16 = ROW % 8 * 4 + COLUMN // 16
    return {
        correct(submitted == (right.lane, right.register)): "Each lane covers eight columns of logical A. "
        f"Column {COLUMN} is column {COLUMN - 32} of the right half, so threadID_in_group is "
        f"{COLUMN % 32 // 8}. The right half of row groupID + 8 is in the last register.",
        when(submitted == (above.lane, above.register)): "The lane is right, but that register holds the "
        "row eight higher up.",
        when(submitted == (left.lane, left.register)): "The lane is right, but that register holds columns "
        "0 to 31.",
        when(submitted == (both.lane, both.register)): "The lane is right, but that register holds row "
        "groupID and the left half of the columns.",
        when(submitted[0] == unhalved): f"groupID is right. But you used {COLUMN} as a column of "
        "*compressed* A: a register covers eight columns of logical A and stores four of them.",
        when(submitted[0] == dense16): "groupID is right. Sixteen columns per lane is the rule for s4: a "
        "register of s8 holds four elements, out of eight columns.",
        when(submitted[0] > 31): "Rows 8 to 15 share the lanes of rows 0 to 7.",
        when(submitted[0] == right.lane): "The lane is right. Registers 0 and 1 hold columns 0 to 31, and "
        "in each pair the first register holds row groupID.",
        otherwise: "groupID = row % 8. firstcol = threadID_in_group * 8, and at column 32 it starts again.",
    }


@checks("18.4")
def _where_e(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(lane, lowest bit, highest bit)`")
    e, chunk = FP8.operand("E"), COLUMN // 4
    right, above, left = e.where(ROW, chunk)[0], e.where(ROW - 8, chunk)[0], e.where(ROW, chunk - 8)[0]
    value = FP8.a.where(ROW, COLUMN // 2)[0].lane
    return {
        correct(submitted == (right.lane, right.low, right.high)): f"Column {COLUMN} is in chunk {chunk}, "
        f"and T2 and T3 have chunks 8 to 15. Row {ROW} is groupID + 8, which the second of the two has.",
        **place_hints(submitted, right),
        when(submitted == (above.lane, above.low, above.high)): "That is the right place for the row eight "
        "higher up.",
        when(submitted[0] in (left.lane, value)): "That lane has chunks 0 to 7. (It also stores the value: "
        "here a value and its metadata are in different lanes.)",
        when(submitted[0] == right.lane): "The lane is right. It has chunks 8 to 15 of its row, with the "
        "first in the lowest bits.",
        when(submitted[1:] == (right.low, right.high)): "The bits are right. T0 and T1 have chunks 0 to 7, "
        "T2 and T3 the others; which of the two has row groupID + 8?",
        otherwise: "A chunk is four columns wide, and all four lanes of the group supply metadata: T0 and "
        "T1 for chunks 0 to 7 of their rows, T2 and T3 for chunks 8 to 15.",
    }


@checks("18.5")
def padded(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(registers of A, columns in a chunk, selectors)`")
    expected, as_s4 = ((ins.a.registers, _chunk(ins), len(ins.selectors)) for ins in (PADDED, INT4))
    return {
        correct(submitted == expected): "The size of the container counts, not the size of the element. So "
        "all three numbers are the same as for `m16n8k64` with s8.",
        when(submitted == as_s4): "That is `m16n8k64` with s4, with eight elements in a register. Here only "
        "four fit.",
        when(submitted[1] == as_s4[1]): "Pair-wise 4:8 is for elements that are packed two to a byte. Here "
        "each element has its own byte, and a part of a chunk is one byte.",
        when(submitted[0] == as_s4[0]): "How many elements fit into a register if each takes a byte?",
        when(submitted[:2] == expected[:2] and not submitted[2]): _SELECTOR_HINT,
        when(submitted[:2] == expected[:2]): "The first two are right. Count the chunks of a row, and then "
        "the lanes that their nibbles need.",
        otherwise: "Use the width of the container, 8 bits, wherever a rule says *bits*.",
    }


@checks("18.6")
def first_column(answer: object) -> Sentences:
    form = "`first_column(bits, lane, i)` returns a column"
    cases = [
        (bits, lane, i)
        for bits, k in sorted(shapes())
        for lane in range(32)
        for i in range(shapes()[bits, k].a.registers * 32 // bits)
    ]
    submitted = {at: whole_result_of(answer, *at, form=form) for at in cases}

    def first(bits: int, lane: int, i: int) -> int:
        return 2 * stored(bits, lane, i)

    def stored(bits: int, lane: int, i: int) -> int:
        run = 32 // bits
        return int(_columns(bits)[lane, i]) // run * run

    wrong = [at for at in cases if submitted[at] != first(*at)]
    bits, lane, i = wrong[0] if wrong else (0, 0, 0)
    where = f"The first wrong result is for bits = {bits}, lane {lane}, a{i}."
    return {
        correct(not wrong): "One register holds 32 / bits stored elements out of twice as many columns. "
        "Four lanes are side by side, and after two registers (rows groupID and groupID + 8) the pattern "
        "repeats further right. That covers all eight sections of the manual.",
        when(all(submitted[at] == stored(*at) for at in cases)): "Those are columns of *compressed* A. In "
        "logical A every register covers twice as many columns.",
        when(all(submitted[at] == int(2 * _columns(at[0])[at[1], at[2]]) for at in cases)): "Close: "
        "firstcol is the same for all elements of one register.",
        when({at[1] >= 4 for at in wrong if at[2] == 0} == {True}): f"{where} In lanes 0 to 3, a0 is right "
        "in every shape. The next four lanes hold the next row, and start at column 0 again.",
        when(all(at[2] >= 64 // at[0] for at in wrong)): f"{where} The first two registers of every shape "
        "are right. Where does the next pair of registers begin?",
        when(all(at[2] >= 32 // at[0] for at in wrong)): f"{where} The first register of every lane is "
        "right. The second one has the *same* columns, eight rows lower.",
        when(len({at[0] for at in wrong}) < 4): f"{where} For some widths your formula is right: what "
        "changes with the number of elements in a register?",
        otherwise: f"{where} Start with s8: a register holds four elements out of eight columns, so T0 has "
        "columns 0 to 7, T1 columns 8 to 15.",
    }


@cache
def _columns(bits: int) -> NDArray[np.int64]:
    """The column of compressed A for every lane and element, in the longest shape of that width."""
    longest = max((ins for (width, _), ins in shapes().items() if width == bits), key=lambda ins: ins.k)
    return np.asarray(longest.a.coords())[..., 1]


@checks("18.7")
def metadata_lane(answer: object) -> Sentences:
    form = "`metadata_lane(bits, k, row, column, selector)` returns a lane"
    cases = [
        (bits, k, row, column, selector)
        for (bits, k), ins in sorted(shapes().items())
        for selector in ins.selectors
        for row in range(ins.m)
        for column in range(0, k, 1 if k < 64 else 3)
    ]
    submitted = {at: whole_result_of(answer, *at, form=form) for at in cases}
    right = {at: _metadata_lane(*at) for at in cases}
    wrong = [at for at in cases if submitted[at] != right[at]]
    failing = sorted({at[:2] for at in wrong})
    first = wrong[0] if wrong else (0, 0, 0, 0, 0)
    where = f"`metadata_lane{first}` returns {submitted.get(first, 0)}, which is not right."
    long_and_narrow = set(failing) <= {
        at for at in shapes() if at[0] < 16 and len(shapes()[at].selectors) == 1
    }
    long_and_wide = set(failing) <= {
        at for at in shapes() if at[0] >= 16 and len(shapes()[at].selectors) == 2
    }
    return {
        correct(not wrong): f"{len(shapes())} shapes, {len(cases):,} calls, all right. The width gives the "
        "part, the part gives the chunk, and the number of chunks gives the metadata lanes. You can now "
        "read every metadata figure in the manual.",
        when(all(submitted[at] == right[(*at[:4], 0)] for at in cases)): f"{where} With selector 0 "
        "everything is right. Each step of the selector moves by the number of metadata lanes in a group.",
        when(all(at[2] >= 8 and submitted[at] > 31 for at in wrong)): f"{where} There are 32 lanes: rows 8 "
        "to 15 share the lanes of rows 0 to 7.",
        when(long_and_narrow): f"{where} Only the long shapes with narrow elements are wrong. Their rows "
        "have sixteen chunks, and a lane has room for eight.",
        when(long_and_wide): f"{where} Only the long shapes with 16 bits and more are wrong. Their rows "
        "have eight chunks, and a lane has four chunks of each of its two rows.",
        when(bool(failing) and all(bits < 16 for bits, _ in failing)): f"{where} 16 bits and more are "
        "right. With narrower elements all nibbles of a lane belong to *one* row, and the next lane has the "
        "row eight rows below.",
        when(bool(failing) and all(bits >= 16 for bits, _ in failing)): f"{where} Narrow elements are "
        "right. With 16 bits and more a lane has four chunks of *both* rows.",
        when(len(failing) < len(shapes())): f"{where} But {len(shapes()) - len(failing)} of {len(shapes())} "
        "shapes are right. How wide is a chunk here, and how many lanes in each group of four supply "
        "metadata?",
        otherwise: f"{where} First the chunk: four parts of 16 bits, or of 8 bits if elements are narrower. "
        "Then the group of four lanes: row % 8.",
    }


@cache
def _metadata_lane(bits: int, k: int, row: int, column: int, selector: int) -> int:
    ins = shapes()[bits, k]
    return ins.operand("E").where(row, column // _chunk(ins))[selector].lane
