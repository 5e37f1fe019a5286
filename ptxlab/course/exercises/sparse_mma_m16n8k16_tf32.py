"""Lesson 17: sparse mma.m16n8k16 with tf32."""

from __future__ import annotations

import numpy as np

from ...instruction import mma_instruction
from ...isa.dtypes import dtype
from ...isa.sparsity import STRUCTURES
from ..answers import first_wrong, function_table, numbers, whole_numbers
from ..checking import Sentences, binary_hint, checks, correct, otherwise, place_hints, when

INS = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
_HALVES = STRUCTURES["1:2"]
ROW, COL = 10, 13
_EIGHT = (0, 2.5, -1, 0, 0, 4, 0, 0.5)  # four chunks
_RAW = 1 + 2.0**-10 + 2.0**-11


@checks("17.1")
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


@checks("17.2")
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


@checks("17.3")
def where_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, register)`")
    stored = INS.a.where(ROW, COL // 2)[0]
    expected = (stored.lane, stored.register)
    above = INS.a.where(ROW - 8, COL // 2)[0].register
    left = INS.a.where(ROW, (COL - 8) // 2)[0].register
    naive = INS.a.where(ROW, COL % 8)[0].lane
    return {
        correct(submitted == expected): f"Row {ROW} is groupID {ROW % 8} + 8, so it is a1 or a3. Column "
        f"{COL} is in chunk {COL // 2}, the third of the right half: threadID_in_group {COL % 8 // 2}, and "
        "the register is a3.",
        when(submitted == (stored.lane, above)): "The lane is right, but that register holds the row eight "
        "higher up.",
        when(submitted == (stored.lane, left)): "The lane is right, but that register holds columns 0 to 7.",
        when(submitted[0] == stored.lane): "The lane is right. a0 and a2 are in row groupID, a1 and a3 in "
        "row groupID + 8; a2 and a3 in the right-hand columns.",
        when(submitted[0] in (naive, (ROW % 8) * 4 + COL % 4, (ROW % 8) * 4 + 3)): "groupID is right. But "
        f"column {COL} is a column of logical A: a lane covers *two* of them and stores one.",
        when(submitted[0] > 31): "Rows 8 to 15 share the lanes of rows 0 to 7.",
        otherwise: "groupID = row % 8. For threadID_in_group look at firstcol: it increases by two columns "
        "of logical A per lane, and starts again at column 8.",
    }


@checks("17.4")
def first_column(answer: object) -> Sentences:
    submitted = function_table(answer, INS.lanes, 4, form="`first_column(lane, i)` returns a column")
    stored = INS.a.coords()[..., 1]
    where = first_wrong(submitted, 2 * stored, "lane {}, a{}")
    lane = int(np.argmax(submitted[:, 0] != 2 * stored[:, 0]))  # the first whose a0 is wrong
    return {
        correct(not where): "It is twice the column of compressed A, for every lane and register.",
        when((submitted == stored).all()): "That is the column of *compressed* A. Each of its columns "
        "covers two columns of logical A.",
        when((submitted[:, 0] == 2 * stored[:, 0]).all()): f"a0 is right; {where} is the first that is not. "
        "Which of a0 to a3 are in columns 8 to 15?",
        when(lane >= 4): f"a0 of lane {lane} is wrong: four lanes share a row, and the next four start at "
        "column 0 again.",
        otherwise: f"Start with a0: it is wrong in lane {lane}. For each threadID_in_group = lane % 4, "
        "firstcol steps by two columns.",
    }


@checks("17.5")
def nibble_place(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(lane, lowest bit, highest bit)`")
    other, right = INS.operand("E").where(ROW, COL // 2)
    expected = (right.lane, right.low, right.high)
    return {
        correct(submitted == expected): f"Selector 1 chooses T2 and T3. Chunk {COL // 2} is one of chunks 4 "
        f"to 7, which the second of the two has. Row {ROW} is groupID + 8: the upper 16 bits.",
        **place_hints(submitted, right),
        when(submitted == (other.lane, right.low, right.high)): "The bits are right, but that lane supplies "
        "the nibble when the selector is 0.",
        when(submitted == (right.lane, right.low - 16, right.high - 16)): "The lane is right, but those "
        "bits belong to the row eight higher up.",
        when(submitted[0] == INS.a.where(ROW, COL // 2)[0].lane): "That lane has the metadata of chunks 0 "
        "to 3, and a chunk is two columns wide. (It is also the lane that stores the *value*: a value and "
        "its metadata need not be in the same lane.)",
        when(submitted[0] == right.lane and submitted[1] >= 16): "The lane is right, and so is the half of "
        "its register. That half holds four chunks: which of them is this one?",
        when(submitted[0] == right.lane): "The lane is right. The lower 16 bits hold four chunks of row "
        "groupID, the upper 16 four chunks of row groupID + 8.",
        when(submitted[1:] == expected[1:]): "The bits are right. The selector chooses two lanes in each "
        "group of four; which one has this chunk?",
        otherwise: "groupID = row % 8 gives four lanes, the selector chooses a pair of them, and the chunk "
        "(column // 2: 0 to 3 or 4 to 7) gives the lane within the pair.",
    }
