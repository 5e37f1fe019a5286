"""The layouts of all operands, each made by one of a few makers from its sizes.

Almost all belong to one family (`layout.fragment`: 8 rows of 4 lanes); the makers here are for the rest: the quad pairs of
mma.m8n8k4, sparsity metadata, block scales, and WMMA, whose fragments the ISA leaves open.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from .layout import Layout, Mode, fragment

__all__ = ["block", "metadata", "quad_pairs", "scales", "wmma"]

#: `layout.fragment`, kept: layouts are compared and built thousands of times.
block = lru_cache(maxsize=None)(fragment)


@lru_cache(maxsize=None)
def quad_pairs(name: str, order: Literal["row", "col"], wide: bool = False) -> Layout:
    """mma.m8n8k4: lanes 4q..4q+3 and 16 more make quad pair q, which computes a product of its own.

    The four matrices are stacked: A, C and D below each other, B side by side. `order` is that of A or B; C and D are
    held by rows, except that f32 ones (`wide`) are spread in squares of two.

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
def wmma(name: str, m: int, n: int, k: int, run: int, held: int = 0) -> Layout:
    """WMMA as an H200 loads it (the ISA leaves it open): the fragments of mma, several of them where the matrix is larger.

    m8n32k16 is the transposed product: there B is cut as A is elsewhere. Where a lane has room for `held` elements and the
    matrix has fewer, they are held again. Row- or column-major in memory makes no difference in the registers.

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
    copies = held // layout.elements if held else 1
    return layout if copies == 1 else Layout(layout.shape, layout.lane, (*layout.element, (copies, 0, 0)))


@lru_cache(maxsize=None)
def metadata(rows: int, chunks: int, wide: bool) -> Layout:
    """Nibbles over (row, chunk). Elements of 16 bits and more (`wide`): a lane speaks for four chunks of rows g and g + 8;
    narrower ones: for eight chunks of one row, the next lane for the row 8 below.

    With few chunks only some lanes of each four are needed; the others hold a copy, and the sparsity selector says which
    copy is read. Found on an H200 by flipping one nibble at a time (tests/test_gpu.py); the manual has it as pictures.

    >>> metadata(16, 8, wide=False).holders(9, 3)   # m16n8k64 with s4: selector 0 reads lane 5, selector 1 lane 7
    [(5, 3), (7, 3)]
    """
    if wide:
        address_lanes: list[Mode] = [(chunks // 4, 0, 4), (16 // chunks, 0, 0)]
        nibbles: tuple[Mode, ...] = ((4, 0, 1), (2, 8, 0))
    else:
        address_lanes = [(2, 8, 0), (chunks // 8, 0, 8), (16 // chunks, 0, 0)]
        nibbles = ((8, 0, 1),)
    lane = [*address_lanes, (8, 1, 0), (rows // 16, 16, 0)]
    return Layout((rows, chunks), tuple(m for m in lane if m[0] != 1), nibbles)


@lru_cache(maxsize=None)
def scales(vec: int) -> tuple[Layout, Layout]:
    """Block scales of A and B: one byte a block. thread-id picks among the lanes that hold copies, byte-id among the bytes.

    PTX ISA, "Block Scaling for mma.sync": lane 4g (+2 with thread-id-a 1) speaks for row g, the next lane for row g + 8;
    lane 4g + thread-id-b speaks for column g.

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
