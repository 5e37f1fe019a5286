"""The layouts of all operands, each derived from a few sizes.

Almost all belong to one family (`layout.fragment`: 8 rows of 4 lanes). The functions here give the others:
the quad pairs of mma.m8n8k4, sparsity metadata, block scales, and WMMA, whose fragments the ISA leaves
unspecified.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from .layout import Layout, Mode, fragment

#: `layout.fragment`, kept: layouts are compared and built thousands of times.
block = lru_cache(maxsize=None)(fragment)


@lru_cache(maxsize=None)
def quad_pairs(name: str, order: Literal["row", "col"], wide: bool = False) -> Layout:
    """mma.m8n8k4.

    Lanes 4q..4q+3 and the four lanes 16 above them form quad pair q, which computes its own MMA.

    The four matrices are stacked: A, C and D below each other, B side by side. `order` is the layout of A or
    B. C and D are held by rows, except that f32 ones (`wide`) are spread over 2x2 squares.

    >>> quad_pairs("A", "row").holders(9, 2)   # row 1 of the second matrix
    [(5, 2)]
    """
    if name == "A":
        return Layout(
            (32, 4),
            ((4, 1, 0), (4, 8, 0), (2, 4, 0)) if order == "row" else ((4, 0, 1), (4, 8, 0), (2, 4, 0)),
            ((4, *_along(order)),),
        )
    if name == "B":
        return Layout(
            (4, 32),
            ((4, 1, 0), (4, 0, 8), (2, 0, 4)) if order == "row" else ((4, 0, 1), (4, 0, 8), (2, 0, 4)),
            ((4, *_along(order)),),
        )
    if wide:
        return Layout(
            (32, 8), ((2, 1, 0), (2, 0, 2), (4, 8, 0), (2, 4, 0)), ((2, 0, 1), (2, 2, 0), (2, 0, 4))
        )
    return Layout((32, 8), ((4, 1, 0), (4, 8, 0), (2, 4, 0)), ((8, 0, 1),))


def _along(order: str) -> tuple[int, int]:
    return (0, 1) if order == "row" else (1, 0)


@lru_cache(maxsize=None)
def wmma(name: str, m: int, n: int, k: int, run: int, room: int = 0) -> Layout:
    """WMMA fragments as an H200 loads them (the ISA leaves them unspecified).

    Those of mma, repeated for larger matrices.

    m8n32k16 is the transposed product: there B is divided as A is elsewhere. Where a lane has room for `room`
    elements and the matrix has fewer, each is held several times. Row- or column-major in memory makes no
    difference.

    >>> wmma("A", 16, 16, 16, 2, 16).holders(0, 0)   # f16: lane 0 holds it twice
    [(0, 0), (0, 8)]
    """
    turned = m < n and n > 16
    if name in "CD":
        layout = block(n, m, run).T if turned else block(m, n, run)
    elif name == "A":
        layout = block(m, k, run, 8 if turned else 16)
    else:
        layout = block(n, k, run, 16 if turned else 8).T
    copies = room // layout.elements if room else 1
    return layout if copies == 1 else Layout(layout.shape, layout.lane, (*layout.element, (copies, 0, 0)))


@lru_cache(maxsize=None)
def metadata(rows: int, chunks: int, wide: bool) -> Layout:
    """Nibbles over (row, chunk).

    With elements of 16 bits and more (`wide`) a lane holds four chunks of rows g and g + 8; with narrower
    ones it holds eight chunks of one row, and the next lane those of the row 8 below. With few chunks only
    some lanes in each group of four supply metadata; the others hold a copy, and the sparsity selector says
    which copy is read. Found on an H200 by flipping one nibble at a time (tests/gpu/test_instructions.py);
    the manual shows it in pictures.

    >>> metadata(16, 8, wide=False).holders(9, 3)   # m16n8k64 s4: selector 0 reads lane 5, selector 1 lane 7
    [(5, 3), (7, 3)]
    """
    if wide:
        metadata_lanes: list[Mode] = [(chunks // 4, 0, 4), (16 // chunks, 0, 0)]
        nibbles: tuple[Mode, ...] = ((4, 0, 1), (2, 8, 0))
    else:
        metadata_lanes = [(2, 8, 0), (chunks // 8, 0, 8), (16 // chunks, 0, 0)]
        nibbles = ((8, 0, 1),)
    lane = [*metadata_lanes, (8, 1, 0), (rows // 16, 16, 0)]
    return Layout((rows, chunks), tuple(m for m in lane if m[0] != 1), nibbles)


@lru_cache(maxsize=None)
def scales(vec: int) -> tuple[Layout, Layout]:
    """Block scales of A and B: one byte per block.

    thread-id picks among the lanes that hold copies, byte-id among the bytes. PTX ISA, "Block Scaling for
    mma.sync": lane 4g (4g + 2 with thread-id-a 1) holds the scales of row g, the next lane those of row g +
    8; lane 4g + thread-id-b holds those of column g.

    >>> a, b = scales(4)
    >>> a.holders(9, 2), b.locate(2, 3)   # thread-id-a 0 reads lane 5, thread-id-a 1 lane 7
    ([(5, 2), (7, 2)], (12, 2))
    """
    copies: tuple[Mode, ...] = ((4 // vec, 0, 0),) if vec < 4 else ()
    a_bytes: tuple[Mode, ...] = ((vec, 0, 1),) if vec > 1 else ()
    b_bytes: tuple[Mode, ...] = ((vec, 1, 0),) if vec > 1 else ()
    a = Layout((16, vec), ((2, 8, 0), (2, 0, 0), (8, 1, 0)), a_bytes + copies)
    b = Layout((vec, 8), ((4, 0, 0), (8, 0, 1)), b_bytes + copies)
    return a, b
