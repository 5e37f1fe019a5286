"""Exercises of lesson 06: sparse mma.m16n8k16 with tf32."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype
from ..mnemonic import instruction
from ..sparsity import STRUCTURES
from .core import Unreadable, call, exercise, judge, whole

INS = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
HALVES = STRUCTURES["1:2"]
ROW, COL = 10, 13
RAW = 1 + 2.0**-10 + 2.0**-11


@exercise(
    "06.1",
    "You copy the float32 number `1 + 2**-10 + 2**-11` bit for bit into a register of A. **Which value does the tensor core multiply with?**",
    "value = ...",
)
def truncated(answer: Any) -> tuple[bool, str]:
    try:
        found = float(np.asarray(answer).item())
    except (ValueError, TypeError):
        raise Unreadable("the answer is one number, for example `1 + 2**-9`.") from None
    tf32 = dtype("tf32")
    seen = float(tf32.decode(np.array([RAW], dtype=np.float32).view(np.uint32))[0])
    rounded = float(tf32.decode(tf32.encode([RAW]))[0])
    return judge(
        found == seen,
        "The lower 13 bits are not read at all, so the value is cut off, not rounded. `ins.a.pack` rounds for you before the bits go in.",
        (found == rounded, "That is the nearest tf32, as `pack` would give it. But here nobody rounds: the lower 13 bits are simply not read."),
        (found == RAW, "That needs 11 fraction bits; tf32 has 10."),
        (found == 1.0, "10 fraction bits reach down to 2**-10."),
        otherwise="Write the fraction in binary. The tensor core reads its first 10 bits and ignores the rest.",
    )


@exercise(
    "06.2",
    "A chunk of two is `[0, 2.5]`. **Which nibble describes it?**",
    "nibble = ...",
)
def one_nibble(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a number from 0 to 15")
    expected = int(HALVES.compress([[0, 2.5]])[1][0, 0])
    other = int(HALVES.compress([[2.5, 0]])[1][0, 0])
    return judge(
        found == expected,
        "The second element is the halves 2 and 3 of the chunk: index 2 in the low two bits, index 3 in the high two.",
        (found == other, "That is the nibble of `[2.5, 0]`: it keeps the first element."),
        (found == 0b1011, "The right two indices, but the first one belongs into the low bits."),
        (
            found in (0, 1, 2),
            "One index bit would be enough, but the hardware counts in 16-bit halves: an element of 32 bits is *two* neighbours out of four.",
        ),
        (found > 15, "A nibble has four bits."),
        otherwise="A tf32 element is two 16-bit halves. Number the four halves of the chunk 0 to 3 and name the two "
        "that are kept, the first in the low bits.",
    )


@exercise(
    "06.3",
    f"`A[{ROW}][{COL}]` is not zero (row and column of the **full** A). **Which lane stores it, and in which register, a0 to a3?**",
    "place = ...  # (lane, register)",
)
def where_a(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, register)`")
    stored = INS.a.where(ROW, COL // 2)[0]
    expected = (stored.lane, stored.register)
    above = INS.a.where(ROW - 8, COL // 2)[0].register
    left = INS.a.where(ROW, (COL - 8) // 2)[0].register
    naive = INS.a.where(ROW, COL % 8)[0].lane
    return judge(
        found == expected,
        f"Column {COL} is in chunk {COL // 2}, so it is stored in column {COL // 2} of the half: threadID_in_group "
        f"{COL % 8 // 2}, second column half, lower rows.",
        (found == (stored.lane, above), "The lane is right, but that register holds the row eight higher."),
        (found == (stored.lane, left), "The lane is right, but that register holds columns 0 to 7."),
        (found[0] == stored.lane, "The lane is right. a0 and a2 are the upper rows, a1 and a3 the lower; a2 and a3 the right-hand columns."),
        (
            found[0] in (naive, (ROW % 8) * 4 + COL % 4, (ROW % 8) * 4 + 3),
            f"groupID is right. But column {COL} is a column of the full A: a lane answers for *two* of them and stores one.",
        ),
        (found[0] > 31, "Rows 8 to 15 share the lanes of rows 0 to 7."),
        otherwise="groupID = row % 8. For threadID_in_group look at firstcol: it steps by two columns of the full A, and begins again at column 8.",
    )


@exercise(
    "06.4",
    "**Write the column formula of A:** `first_column(lane, i)` gives firstcol, the first of the two columns of the "
    "full A that a_i of that lane may come from.",
    "def first_column(lane, i):\n    return ...",
)
def first_column(answer: Any) -> tuple[bool, str]:
    form = "`first_column(lane, i)` gives a column"
    found = np.array([[call(answer, lane, i, form=form) for i in range(4)] for lane in range(INS.lanes)])
    stored = INS.a.coords()[..., 1]
    wrong = np.argwhere(found != 2 * stored)
    where = f"lane {wrong[0][0]}, a{wrong[0][1]}" if len(wrong) else ""
    return judge(
        not len(wrong),
        "Twice the stored column, for every lane and register.",
        (bool((found == stored).all()), "That is the column of the *stored* half. In the full A every stored column answers for two."),
        (bool((found[:, 0] == 2 * stored[:, 0]).all()), f"a0 is right; {where} is the first that is not. Which of a0 to a3 lie in columns 8 to 15?"),
        otherwise=f"The first wrong one is {where}. threadID_in_group = lane % 4 steps by two columns.",
    )


@exercise(
    "06.5",
    f"**Which lane's metadata register says where `A[{ROW}][{COL}]` sits, and in which bits**, with sparsity selector 0?",
    "place = ...  # (lane, lowest bit, highest bit)",
)
def nibble_place(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 3, "`(lane, lowest bit, highest bit)`")
    held = INS.operand("E").where(ROW, COL // 2)
    right = held[0]
    expected = (right.lane, right.low, right.high)
    return judge(
        found == expected,
        f"Chunk {COL // 2} is one of chunks 4 to 7: the second lane of the pair. Row {ROW} is a lower row: upper half of the register.",
        (found == (held[1].lane, right.low, right.high), "The bits are right, but that lane is read when the selector is 1."),
        (found == (right.lane, right.low - 16, right.high - 16), "The lane is right. Those bits are of the row eight higher."),
        (found[0] == right.lane - 1, "That lane has chunks 0 to 3. A chunk is two columns wide."),
        (found[0] == right.lane, "The lane is right. Four chunks of the upper row come first, then four of the lower."),
        (found[0] == INS.a.where(ROW, COL // 2)[0].lane, "That lane stores the *value*. The lane that stores its position is another one."),
        (found[1:] == expected[1:], "The bits are right. The selector chooses two lanes of each four; which of the two has this chunk?"),
        otherwise="groupID = row % 8 gives four lanes, the selector the pair, the chunk (column // 2: 0 to 3 or 4 to 7) the lane in it.",
    )
