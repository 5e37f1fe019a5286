"""Lesson 08: boxes of a matrix that TMA copies into shared memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import PtxlabError, wrapped
from ...memory import tensor_map
from ..answers import first_wrong, function_table, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

# -- what the lesson shows -----------------------------------------------------------------------------------


def mistakes() -> dict[str, str]:
    """The errors of `ptxlab.tensor_map` for settings that TMA does not accept.

    >>> list(mistakes())[0]
    'rows of 200 bytes'
    """
    array = np.zeros((64, 256), dtype=np.float16)
    attempts: dict[str, Callable[[], object]] = {
        "rows of 200 bytes": lambda: tensor_map(np.zeros((64, 100), dtype=np.float16), (64, 32)),
        "box of 64x128, swizzle 128": lambda: tensor_map(array, (64, 128), 128),
        "box of 512x64": lambda: tensor_map(np.zeros((512, 64), dtype=np.float16), (512, 64)),
        "box of 64x4": lambda: tensor_map(array, (64, 4)),
        "start at column 4": lambda: tensor_map(array, (64, 64), 128).load(0, 4),
    }
    sentences = {}
    for name, attempt in attempts.items():
        try:
            attempt()
        except PtxlabError as error:
            sentences[name] = wrapped(f"    {error}")
    return sentences


# -- exercises ---------------------------------------------------------------------------------------------

_WIDTH = drawn("08.1", "rows of {} elements", 500, 420, 340, 260, 180)


@checks("08.1")
def _padded(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(f16, e4m3)`, two numbers of elements")
    expected = -(-_WIDTH // 8) * 8, -(-_WIDTH // 16) * 16
    return {
        correct(submitted == expected): "Rows begin at multiples of 16 bytes: 8 elements of `f16`, or 16 of "
        f"`e4m3`. So {_WIDTH} grows to {expected[0]} and to {expected[1]}.",
        when(submitted == expected[::-1]): "Both numbers are right, but in the wrong order.",
        when(submitted == (_WIDTH, _WIDTH)): "Without padding, do all rows begin at a multiple of 16 bytes?",
        when(submitted == (2 * expected[0], expected[1])): "The first one is in bytes. How many elements is "
        "that?",
        when(submitted == (expected[1], expected[1])): "You took 16 elements for both types. The rule is in "
        "bytes, and an `f16` has two.",
        when(submitted == (expected[0], expected[0])): "You took 8 elements for both types. An `e4m3` has "
        "one byte.",
        when(submitted[0] % 8 == 0 and submitted[1] % 16 == 0): "TMA would accept these rows. But less "
        "padding is enough.",
        when(submitted[0] == expected[0]): "`f16` is right. For `e4m3`, which multiple of 16 comes next?",
        when(submitted[1] == expected[1]): "`e4m3` is right. For `f16`, how many elements are 16 bytes?",
        otherwise: "How many bytes does a row have? Go up to the next multiple of 16, then count elements.",
    }


_EDGE = tensor_map(np.zeros((100, 200), dtype=np.float16), (64, 64), 128)
_AT = 64, 160


@checks("08.2")
def _over_the_edge(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(rows inside, columns inside, bytes)`")
    rows, columns = (size - start for size, start in zip((100, 200), _AT, strict=True))
    expected = rows, columns, _EDGE.expect_tx
    return {
        correct(submitted == expected): "TMA fills the rest with zeros and counts them: the bytes of a box "
        "do not depend on where it is.",
        when(submitted == (rows, columns, rows * columns * 2)): "The first two are right. But the elements "
        "outside arrive as well, as zeros, and they are counted.",
        when(submitted[:2] == (64 - rows, 64 - columns)): "That is how much lies outside.",
        when(submitted[:2] == (columns, rows)): "Rows come first: the copy starts at row 64 of 100.",
        when(submitted == (rows, columns, expected[2] // 2)): "The first two are right. You counted one "
        "byte for each element.",
        when(submitted[:2] == (rows, columns)): "The first two are right. The box has 64 rows of 64 "
        "elements: how many bytes is that?",
        when(submitted[2] == expected[2]): "The bytes are right. Where does the matrix end, and where does "
        "the box start?",
        otherwise: "The matrix ends after row 99 and column 199. Count what is left from the start of the "
        "box, then the bytes of the whole box.",
    }


_NARROW = tensor_map(np.zeros((16, 32), dtype=np.float16), (16, 32), 128)


@checks("08.3")
def _place_in_box(answer: object) -> Sentences:
    rows, columns = _NARROW.box
    table = function_table(answer, rows, columns, form="`place(row, column)` returns one number of bytes")
    row, column = np.indices((rows, columns))
    expected = _NARROW.tile().offset(row, column)
    vector, rest = column // 8, column % 8 * 2
    first = first_wrong(table, expected, "[{}][{}]")
    return {
        correct(not first): "Rows are 128 bytes apart, however narrow the box is. A row has eight places "
        "for vectors, and the XOR uses all of them, so the four vectors of row 4 are in its right half.",
        when((table == row * 64 + column * 2).all()): "That is the box without gaps and without a swizzle.",
        when((table == row * 128 + column * 2).all()): "The rows are right. Now the swizzle: which place "
        "of its row does each vector go to?",
        when((table == row * 64 + (vector ^ row // 2 % 4) * 16 + rest).all()): "That is the 64-byte swizzle, "
        "with rows 64 bytes apart. This box has the 128-byte swizzle.",
        when((table == row * 128 + (vector ^ row % 4) * 16 + rest).all()): f"Look at {first}. You used two "
        "bits of the row. The 128-byte swizzle uses three, even if the row has four vectors.",
        when((table == row * 128 + (vector ^ row) * 16 + rest).all()): f"Look at {first}. The swizzle uses "
        "three bits of the row: the pattern repeats after eight rows.",
        when((table == row * 128 + (vector ^ row % 8) * 16).all()): f"Look at {first}. The vector is right. "
        "Where in its vector is the element?",
        when(not (table[0] != expected[0]).any()): f"Row 0 is right. Look at {first}: how far apart are the "
        "rows, and with what is the vector XORed?",
        otherwise: f"Look at {first}. Start with row * 128, then the vector, eight elements wide, XOR row % "
        "8, then the element within its vector.",
    }


@checks("08.4")
def _boxes(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(elements of K in a box, copies, bytes)`")
    tma = tensor_map(np.zeros((128, 128), dtype=np.float16), (128, 64), 128)
    expected = tma.box[1], 128 // tma.box[1], 2 * tma.expect_tx
    return {
        correct(submitted == expected): "A box is at most as wide as the swizzle: 128 bytes, 64 elements of "
        'f16. Each copy makes a column of atoms, which is `order="MN"`, so wgmma finds the second copy one '
        "column of atoms further.",
        when(submitted[0] == 128): "With a swizzle a row of the box is at most as wide as the swizzle, in "
        "bytes.",
        when(submitted[0] * 2 != 128): "How many f16 fit into 128 bytes?",
        when(submitted[1] != expected[1]): "The box is right. How many of them make 128 of K?",
        when(submitted[2] == expected[2] // 2): "Box and copies are right. That is what one copy brings, or "
        "you counted one byte for each element.",
        when(submitted[2] == expected[2] // 4): "Box and copies are right. An f16 has two bytes, and there "
        "are two copies.",
        otherwise: "Box and copies are right. Multiply: rows, elements of K in all, bytes of an element.",
    }
