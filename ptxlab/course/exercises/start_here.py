"""Lesson 00: why tensor cores; lane, register, fragment."""

from __future__ import annotations

import numpy as np

from ...instruction import mma_instruction
from ...isa.dtypes import dtype
from ...views.charts import bars
from ...views.picture import Picture
from ..answers import first_wrong, function_table, whole_numbers
from ..checking import Sentences, checks, correct, drawn, first_register, otherwise, when
from .from_instruction_to_gemm import RATES, SIZE

INS = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
_ROW, _COL = drawn("00.1", "`C[{}][{}]`", (9, 3), (10, 3), (12, 3), (13, 6), (11, 1), (14, 7))
_VALUES = drawn(
    "00.4",
    "{}, {}, {}, {}, {}, {}, {}, {}",
    (1, 2, 3, 4, 5, 6, 7, -1),
    (7, 1, 6, 2, 5, 3, 4, -1),
    (2, 4, 6, 1, 3, 5, 7, -1),
    (3, 1, 4, 1, 5, 2, 6, -1),
    (5, 4, 3, 2, 1, 7, 6, -1),
)

#: TFLOP/s on an H200 without tensor cores, in float32: the kernel of the lesson, and cuBLAS.
PLAIN, BEST_PLAIN = 5.2, 51
#: Kernels of the slider: TFLOP/s, and what each does.
_SPEEDS = {
    "float units, one element a thread": (PLAIN, "every thread loads all that it multiplies from memory"),
    "float units, cuBLAS": (BEST_PLAIN, "NVIDIA's library: as fast as it gets without tensor cores"),
    "tensor cores, one tile a warp": (
        RATES[1],
        "rung 1 of lesson 13: they nearly always wait for memory",
    ),
    "tensor cores, fed": (RATES[12], "rung 12 of lesson 13, which you can write by then"),
}


def speed(kernel: int) -> Picture:
    """The first kernels of the slider: how fast an H200 multiplies two large matrices with each.

    >>> speed(1).title
    'float units, one element a thread: 5.2 TFLOP/s, 211 ms'
    """
    shown = list(_SPEEDS.items())[:kernel]
    name, (rate, idea) = shown[-1]
    size = f"two matrices of {SIZE} x {SIZE} on an H200; float units: f32, tensor cores: f16 with f32 sums"
    return bars(
        {words: rate for words, (rate, _) in shown},
        f"{name}: {rate:g} TFLOP/s, {2 * SIZE**3 / rate / 1e9:.3g} ms",
        (idea, size),
        most=RATES[12],
    )


@checks("00.1")
def _where_c(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, element)`")
    expected = lane, element = INS.c.where(_ROW, _COL)[0][:2]
    above = INS.c.where(_ROW - 8, _COL)[0][:2]
    return {
        correct(submitted == expected): f"Row {_ROW} is row {_ROW - 8} of the lower half, so the same lanes "
        f"hold it as row {_ROW - 8}. Each lane's lower-half elements come after its upper-half ones, so this "
        f"is element {element}.",
        when(submitted == above): f"That is `C[{_ROW - 8}][{_COL}]`, eight rows above. The same lane holds "
        "both, but as different elements.",
        when(submitted == expected[::-1]): "Both numbers are right, in the wrong order: lane first, then "
        "element.",
        when(submitted[0] == lane): "The lane is right. Elements 0 and 1 are adjacent, in the upper eight "
        "rows. Where are 2 and 3?",
        when(submitted[0] >= INS.lanes): "There are only 32 lanes: eight rows use them up, and then the "
        "pattern repeats, eight rows lower.",
        when(submitted[0] == _ROW): "The lane is not the row number: four lanes share a row, and each holds "
        "two adjacent columns.",
        otherwise: "Lanes 0 to 3 share row 0, lanes 4 to 7 share row 1, and each holds two adjacent "
        "columns. After row 7 the pattern begins again.",
    }


@checks("00.2")
def lane_of(answer: object) -> Sentences:
    submitted = function_table(answer, *INS.c.shape, form="`lane_of(row, col)` returns a lane")
    expected = np.array([[INS.c.where(row, col)[0].lane for col in range(INS.n)] for row in range(INS.m)])
    where = first_wrong(submitted, expected, "`C[{}][{}]`")
    outside = first_wrong(submitted, np.clip(submitted, 0, INS.lanes - 1), "`C[{}][{}]`")
    return {
        correct(not where): "`row % 8` is what the PTX ISA calls groupID and `col // 2` is "
        "threadID_in_group; the lane is 4 * groupID + threadID_in_group.",
        when(outside): f"For {outside} your function returns a lane that does not exist: a warp has "
        "lanes 0 to 31. What happens after row 7?",
        when((submitted[:8] == expected[:8]).all()): f"The upper eight rows are right; {where} is the first "
        "cell that is not. The lower half repeats the upper one.",
        when((submitted[:, 0] == expected[:, 0]).all()): "The first column is right, so you handle the row "
        f"correctly; {where} is the first cell that is wrong. How many columns does one lane hold?",
        otherwise: f"The first cell that goes wrong is {where}. Point at cells of the picture: how many "
        "lanes share a row, and how many columns does a lane hold?",
    }


@checks("00.3")
def share(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "`elements`")
    rows, columns = INS.a.shape
    return {
        correct(submitted == INS.a.registers * INS.a.elements_per_register): f"{rows} x {columns} elements "
        f"divided by {INS.lanes} lanes. Eight 4-bit elements fill a register, so a lane needs "
        f"{INS.a.registers} registers for A.",
        when(submitted == INS.a.registers): "That is the number of *registers* that a lane uses for A; each "
        "of them holds several elements.",
        when(submitted == INS.a.elements_per_register): "That is how many elements fit into *one* register; "
        "a lane has several registers for A.",
        when(submitted == rows * columns): "That is the whole matrix. Divide it among the lanes.",
        when(submitted in (INS.k * INS.n // INS.lanes, INS.m * INS.n // INS.lanes)): "That is a lane's "
        "share of a smaller matrix. A is the 16 x 64 one.",
        otherwise: "Count the elements of A, then divide them evenly among the lanes of one warp.",
    }


@checks("00.4")
def nibbles(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one 32-bit number, `0x...`")
    submitted &= 0xFFFFFFFF if submitted < 0 else -1
    codes = dtype("s4").encode(_VALUES)
    expected = first_register(INS.a, codes)
    minus = f"{codes[-1]:X}"
    return {
        correct(submitted == expected): "One hexadecimal digit is one element. Read from the right: the "
        f"rightmost digit is the first element, the leftmost `{minus}` is -1.",
        when(
            submitted == first_register(INS.a, codes[::-1])
        ): "You wrote the elements as we write text, with the first "
        "one on the left. In a register the first element takes the lowest bits.",
        when(submitted & 0x0FFFFFFF == expected & 0x0FFFFFFF and submitted >> 32 == 0): "Everything but -1 "
        "is right. In two's complement, -1 is 0 - 1 in four bits, which is 16 - 1.",
        when(submitted > 0xFFFFFFFF): "That has more than eight hexadecimal digits; a register has 32 bits.",
        otherwise: "Write one hexadecimal digit for each element, starting at the right-hand end.",
    }
