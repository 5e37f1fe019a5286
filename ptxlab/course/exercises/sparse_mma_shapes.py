"""Lesson 18: sparse mma with s4 and with tf32, and the two numbers that give every other shape."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ...instruction import Instruction, mma_instruction, mma_instructions
from ...isa.dtypes import dtype
from ...isa.sparsity import STRUCTURES
from ...numerics.models import Evidence, models
from ...views import Picture
from ...views.charts import table
from ..answers import WrongForm, numbers, whole_numbers, whole_result_of
from ..checking import Sentences, binary_hint, checks, correct, drawn, otherwise, when

INT4 = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
TF32 = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
BYTES = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32")
PADDED = mma_instruction(
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
)
PAIRS = STRUCTURES["4:8"]
STORED, NIBBLE = drawn(
    "18.1",
    "column {} of compressed A** belongs, in some row, to a chunk whose nibble is `0b{:04b}`",
    *((13, 0b1110), (9, 0b1101), (17, 0b1110), (21, 0b1001), (5, 0b1100)),
)
_HALVES = STRUCTURES["1:2"]
_TF32_ROW, _TF32_COLUMN = 10, 13
_EIGHT = (0, 2.5, -1, 0, 0, 4, 0, 0.5)  # four chunks
_RAW = 1 + 2.0**-10 + 2.0**-11
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


# -- exercises ---------------------------------------------------------------------------------------------


@checks("18.1")
def _logical_column(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a column from 0 to 63")
    kept = PAIRS.keep * PAIRS.group
    chunk = STORED // kept
    columns = PAIRS.positions(np.full((1, 8), NIBBLE))[0]
    expected = int(columns[STORED])
    return {
        correct(submitted == expected): f"Columns {chunk * kept} to {chunk * kept + kept - 1} of compressed "
        f"A are chunk {chunk}, which is columns {chunk * 8} to {chunk * 8 + 7} of logical A; the nibble "
        f"keeps pairs {NIBBLE & 3} and {NIBBLE >> 2} of it.",
        when(submitted == STORED): "That is the column of compressed A, which is half as wide. The nibble "
        "tells you the column of logical A.",
        when(submitted == 2 * STORED): "Doubling the column gives the right chunk, but the nibble decides "
        "the position within the chunk.",
        when(submitted == int(columns[STORED + 2])): "That is the second pair of the nibble. This column "
        "belongs to the first pair, and the first index is in the low bits.",
        when(submitted in (chunk * 8 + NIBBLE % 4, chunk * 8 + NIBBLE % 4 + STORED % 2)): "The chunk is "
        "right, but you used the index to count columns: an index counts *pairs*, and a pair has two "
        "columns.",
        when(submitted == expected - STORED % 2): "The pair is right. A pair has two columns: is this the "
        "first of them or the second?",
        when(submitted // 8 == chunk): "The chunk is right. Four columns of compressed A belong to it: two "
        "for the first index, two for the second.",
        otherwise: "Four columns of compressed A come from each chunk of eight. Which chunk is it, and does "
        "this column belong to the first or the second kept pair?",
    }


@checks("18.2")
def encode(answer: object) -> Sentences:
    form = "`metadata(row)` returns a 32-bit number"
    for kept, pattern in _ROWS:
        row = np.zeros((len(kept), 4, 2), dtype=np.int64)
        for chunk, pairs in enumerate(kept):
            row[chunk, list(pairs)] = pattern
        try:
            submitted = whole_result_of(answer, row.ravel(), form=form)
        except WrongForm as error:
            if all(len(pairs) == 2 for pairs in kept):
                raise
            raise WrongForm(f"{error} This row has chunks with fewer than two non-zero pairs.") from None
        if -(2**31) <= submitted < 0:  # the same bits, read as a signed number
            submitted += 2**32
        nibbles = [submitted >> 4 * chunk & 15 for chunk in range(len(kept))]
        good = [_keeps(nibble, pairs) for nibble, pairs in zip(nibbles, kept, strict=True)]
        if submitted < 2**32 and all(good):
            continue
        chunk = good.index(False) if False in good else 0
        nibble, shown = nibbles[chunk], row[chunk].ravel().tolist()
        return {
            when(not 0 <= submitted < 2**32): f"Your function returned {submitted:,}, which does not fit "
            "into 32 bits. Eight nibbles have 32 bits: are you counting elements instead of pairs?",
            when(all(map(_keeps, reversed(nibbles), kept))): "The nibbles are right, but in reverse order: "
            "chunk 0 belongs in the lowest four bits.",
            when(good[0] and not any(nibbles[1:])): "The nibble of chunk 0 is right, but nothing else is "
            "there. Each chunk has its own four bits, above the four bits of the chunk before.",
            when(nibble in (0, 5, 10, 15)): f"Chunk {chunk} is `{shown}` and got 0b{nibble:04b}, with two "
            "equal indices. A nibble must name two different pairs, even if they are all zero.",
            when(nibble in PAIRS.unordered and nibble not in PAIRS.nibbles): f"Chunk {chunk} is `{shown}`, "
            f"and the indices of 0b{nibble:04b} descend. The smaller index goes into the low bits (ordered "
            "metadata).",
            when(0 in pattern): f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} drops a pair with one zero "
            "in it: a pair may be dropped only if both of its elements are zero.",
            otherwise: f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} does not keep all non-zero pairs.",
        }
    return {
        correct(True): "Your encoder keeps every non-zero pair. Where there was a choice, `ins.compress` "
        "may choose another pair than you do: both expand to the same A."
    }


_TWO = tuple(combinations(range(4), 2))
_FEWER: tuple[tuple[int, ...], ...] = (*((pair,) for pair in range(4)), ())
#: Rows that test the encoder: the pairs that each of eight chunks must keep, and the values of those pairs.
_ROWS = [
    *(((*_TWO[2:], *_TWO[:4]), pattern) for pattern in ((3, 1), (0, 5), (-2, 0))),
    *((tuple(_FEWER[(at + step) % len(_FEWER)] for at in range(8)), (3, 1)) for step in range(3)),
    (((),) * 8, (3, 1)),
]


def _keeps(nibble: int, pairs: tuple[int, ...]) -> bool:
    """Whether a nibble is legal and names all these pairs."""
    return nibble in PAIRS.nibbles and set(pairs) <= set(PAIRS.nibbles[nibble])


@checks("18.3")
def truncated(answer: object) -> Sentences:
    (submitted,) = numbers(answer, "one number, for example `1 + 2**-9`", 1)
    tf32 = dtype("tf32")
    seen = float(tf32.decode(np.array([_RAW], dtype=np.float32).view(np.uint32))[0])
    rounded = float(tf32.decode(tf32.encode([_RAW]))[0])
    return {
        correct(submitted == seen): "The lower 13 bits are not read at all, so the value is truncated, not "
        "rounded. `ins.a.pack` rounds for you before the bits go in.",
        when(submitted == rounded): "That is the nearest tf32, as `pack` would give it. But here nothing is "
        "rounded: the lower 13 bits are simply not read.",
        when(submitted == _RAW): "That needs 11 fraction bits; tf32 has 10.",
        when(submitted == 1.0): "Ten fraction bits reach down to 2**-10.",
        when(submitted == seen - 1): "That is only the fraction. The 1 in front of it is part of the value.",
        otherwise: "Write the fraction in binary. The tensor core reads the first 10 bits and ignores the "
        "rest.",
    }


@checks("18.4")
def _four_nibbles(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of 16 bits, such as 0x1234")
    keeps_second = [value != 0 for value in _EIGHT[1::2]]
    nibbles = [int(nibble) for nibble in _HALVES.compress([_EIGHT])[1][0]]
    first, second = (int(_HALVES.compress([chunk])[1][0, 0]) for chunk in ([2.5, 0], [0, 2.5]))

    def row(*parts: int) -> int:
        return sum(part << 4 * chunk for chunk, part in enumerate(parts))

    parts = [submitted >> 4 * chunk & 15 for chunk in range(4)]
    turned = [part >> 2 | (part & 3) << 2 for part in nibbles]
    swapped = submitted in (row(*turned), row(*reversed(turned)))
    bits = [sum(bit << at for at, bit in enumerate(order)) for order in (keeps_second, keeps_second[::-1])]
    one_bit_each = submitted in bits
    return {
        correct(submitted == row(*nibbles)): "The second element is halves 2 and 3 of its chunk: index 2 in "
        "the low two bits, index 3 in the high two. The first element is halves 0 and 1.",
        when(submitted == row(*reversed(nibbles))): "Every nibble is right, but the first chunk belongs in "
        "the *lowest* bits: on the right when you write the number down.",
        when(submitted == row(*(first + second - nibble for nibble in nibbles))): "The first and second "
        "elements are exchanged: that would keep the zeros.",
        when(swapped): "Each nibble has the right indices, but the first one belongs in its low two bits.",
        **binary_hint(submitted, 16),
        when(submitted > 0xFFFF): "That has more than 16 bits. Four chunks have four nibbles.",
        when(one_bit_each): "One bit for each chunk would be enough, but the hardware counts 16-bit halves: "
        "an element is *two* adjacent halves out of four, so a chunk takes four bits.",
        when(submitted in (first, second)): "That is one nibble. There are four chunks, and each has its "
        "own four bits.",
        when(set(parts) <= {first, second}): "Both kinds of nibble are right. Go through the chunks once "
        "more: which of the two elements is non-zero?",
        otherwise: "A tf32 element is two 16-bit halves. Number the four halves of a chunk 0 to 3 and write "
        "down the two that are kept, the first in the low bits. Do that for each of the four chunks.",
    }


@checks("18.5")
def where_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, register)`")
    stored = TF32.a.where(_TF32_ROW, _TF32_COLUMN // 2)[0]
    expected = (stored.lane, stored.register)
    above = TF32.a.where(_TF32_ROW - 8, _TF32_COLUMN // 2)[0].register
    left = TF32.a.where(_TF32_ROW, (_TF32_COLUMN - 8) // 2)[0].register
    naive = TF32.a.where(_TF32_ROW, _TF32_COLUMN % 8)[0].lane
    return {
        correct(
            submitted == expected
        ): f"Row {_TF32_ROW} is groupID {_TF32_ROW % 8} + 8, so it is a1 or a3. Column "
        f"{_TF32_COLUMN} is in chunk {_TF32_COLUMN // 2}, the third of the right half: threadID_in_group "
        f"{_TF32_COLUMN % 8 // 2}, and the register is a3.",
        when(submitted == (stored.lane, above)): "The lane is right, but that register holds the row eight "
        "higher up.",
        when(submitted == (stored.lane, left)): "The lane is right, but that register holds columns 0 to 7.",
        when(submitted[0] == stored.lane): "The lane is right. a0 and a2 are in row groupID, a1 and a3 in "
        "row groupID + 8; a2 and a3 in the right-hand columns.",
        when(
            submitted[0] in (naive, (_TF32_ROW % 8) * 4 + _TF32_COLUMN % 4, (_TF32_ROW % 8) * 4 + 3)
        ): "groupID is right. But "
        f"column {_TF32_COLUMN} is a column of logical A: a lane covers *two* of them and stores one.",
        when(submitted[0] > 31): "Rows 8 to 15 share the lanes of rows 0 to 7.",
        otherwise: "groupID = row % 8. For threadID_in_group look at firstcol: it increases by two columns "
        "of logical A per lane, and starts again at column 8.",
    }


@checks("18.6")
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


@checks("18.7")
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


@checks("18.8")
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


@checks("18.9")
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
