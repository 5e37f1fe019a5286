"""Exercises of lesson 00: lane, register, fragment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instruction import mma_instruction
from ..isa.dtypes import dtype
from .core import exercise, function_table, judge, whole

INS = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
VALUES = (1, 2, 3, 4, 5, 6, 7, -1)


@exercise(
    "00.1",
    "Look at the picture of C. **Which lane holds `C[9][3]`, and as which of its four elements?**",
    "place = ...  # (lane, element)",
)
def where_c(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, element)`")
    expected = lane, element = INS.c.where(9, 3)[0][:2]
    above = INS.c.where(1, 3)[0][:2]
    return judge(
        found == expected,
        f"Row 9 is row 1 of the lower half, so the lanes are those of row 1, and each holds its lower-half elements "
        f"after its upper-half ones: element {element}.",
        (
            found == above,
            "That is `C[1][3]`, eight rows higher. The same lane holds both, but not as the same element.",
        ),
        (found == expected[::-1], "Both numbers are right, in the wrong order: lane first, then element."),
        (
            found[0] == lane,
            "The lane is right. Elements 0 and 1 are neighbours in the upper eight rows; where do 2 and 3 go?",
        ),
        (
            found[0] >= INS.lanes,
            "There are only 32 lanes: after eight rows they are used up and the pattern repeats, eight rows lower.",
        ),
        (
            found[0] == 9,
            "The lane is not the row: four lanes share a row, each with two neighbouring columns.",
        ),
        otherwise="Lanes 0 to 3 share row 0, lanes 4 to 7 share row 1; each takes two neighbouring columns. After row 7 it begins again.",
    )


@exercise(
    "00.2",
    "Now for all of C at once: **complete the function that gives the lane that holds `C[row][col]`.** "
    "You need `//` (how often it fits) and `%` (what is left).",
    "def lane_of(row, col):\n    return ...",
)
def lane_of(answer: Any) -> tuple[bool, str]:
    found = function_table(answer, *INS.c.shape, form="`lane_of(row, col)` gives a lane")
    expected = np.array([[INS.c.where(row, col)[0].lane for col in range(INS.n)] for row in range(INS.m)])
    wrong = np.argwhere(found != expected)
    beyond = np.argwhere((found < 0) | (found >= INS.lanes))
    where, outside = (f"`C[{at[0][0]}][{at[0][1]}]`" if len(at) else "" for at in (wrong, beyond))
    return judge(
        not len(wrong),
        "`row % 8` is what the ISA calls groupID and `col // 2` is threadID_in_group; the lane is four times the first plus the second.",
        (
            len(beyond) > 0,
            f"For {outside} your lane does not exist: a warp has lanes 0 to 31. What happens after row 7?",
        ),
        (
            bool((found[:8] == expected[:8]).all()),
            f"The upper eight rows are right; {where} is the first that is not. The lower half repeats the upper one.",
        ),
        (
            bool((found[:, 0] == expected[:, 0]).all()),
            f"The first column is right, so the row is treated well; {where} is the first that is not. How many columns does one lane take?",
        ),
        otherwise=f"The first cell that goes wrong is {where}. Hover over the picture: how many lanes to a row, how many columns to a lane?",
    )


@exercise(
    "00.3",
    "A has 16 x 64 elements and a warp has 32 lanes; every element is held exactly once, and every lane holds equally many. "
    "**How many elements of A does one lane hold?**",
    "elements = ...",
)
def share(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "`elements`")
    rows, columns = INS.a.shape
    return judge(
        found == INS.a.registers * INS.a.elements_per_register,
        f"{rows} x {columns} elements over {INS.lanes} lanes; eight 4-bit elements fill a register, so they take {INS.a.registers} registers.",
        (
            found == INS.a.registers,
            "That is the number of *registers* a lane spends on A; each of them holds several elements.",
        ),
        (
            found == INS.a.elements_per_register,
            "That is what fits into *one* register; a lane has several for A.",
        ),
        (found == rows * columns, "That is the whole matrix. Divide it among the lanes."),
        (
            found in (INS.k * INS.n // INS.lanes, INS.m * INS.n // INS.lanes),
            "That is another operand's share. A is the 16 x 64 one.",
        ),
        otherwise="Count the elements of A, then share them out evenly among the lanes of one warp.",
    )


@exercise(
    "00.4",
    "A register holds eight `s4` elements. The first one sits in the **lowest** four bits. "
    f"**Write down the register that holds {', '.join(map(str, VALUES))}** (first element first) as a hexadecimal number `0x...`. "
    "A negative `s4` is written in two's complement: its four bits are those of the value plus 16.",
    "register = ...",
)
def nibbles(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "one 32-bit number, `0x...`")
    found &= 0xFFFFFFFF if found < 0 else -1
    codes = dtype("s4").encode(VALUES)
    expected = _register(codes)
    minus = f"{codes[-1]:X}"
    return judge(
        found == expected,
        f"One hexadecimal digit is one element. Read from the right: the rightmost digit is the first element, the leftmost `{minus}` is -1.",
        (
            found == _register(codes[::-1]),
            "You wrote the elements as we read text, first one leftmost. In a register the first element takes the lowest bits.",
        ),
        (
            found in (_register([*codes[:-1], 9]), _register([*codes[:-1], 1])),
            "All but -1 are right. In two's complement -1 is the pattern just below 0: 0 - 1 in four bits.",
        ),
        (
            found == _register(np.array([c << 4 & 15 | c >> 4 for c in codes])),
            "An element keeps its four bits together.",
        ),
        (found > 0xFFFFFFFF, "That has more than eight hexadecimal digits; a register has 32 bits."),
        otherwise="Take one hexadecimal digit for each element and begin at the right-hand end.",
    )


def _register(codes: Any) -> int:
    return int(INS.a.join(np.asarray(codes, dtype=np.uint8))[0])
