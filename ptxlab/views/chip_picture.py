"""A GPU from its tensor cores down to its memory, with the instructions that move data between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.arguments import as_flag, is_name
from ..errors import PtxlabError, listing, quoted
from .grid import Cell, Grid, Header, Role, State
from .picture import Picture

#: Columns of the picture: four quarters of an SM, and beside them what only Blackwell has.
_QUARTER, _QUARTERS, _WIDTH = 12, 48, 66
#: The lane whose colour a way has when it is marked.
_WAY = 2


@dataclass(frozen=True)
class _Part:
    """A unit, a memory or a way between two: where it stands, its words, and what its tooltip says."""

    box: tuple[int, int, int, int]  # row, column, height, width
    lines: tuple[str, ...]
    lane: int | None  # whose colour it has; a way has none
    says: str
    copies: int = 1  # side by side


_PARTS: dict[str, _Part] = {
    "warps": _Part(
        (0, 0, 1, _QUARTER), ("warp scheduler",), 10,
        "each quarter of an SM holds up to 16 warps, and issues one instruction of one of them in a cycle", 4,
    ),
    "float units": _Part(
        (1, 0, 1, _QUARTER), ("32 float units",), 21,
        "one multiply-add each in a cycle: what a kernel uses without tensor cores", 4,
    ),
    "tensor cores": _Part(
        (2, 0, 2, _QUARTER), ("tensor core", "A x B + D"), 25,
        "multiplies small matrices; Hopper's does 512 multiply-adds of f16 in a cycle", 4,
    ),
    "mma": _Part((4, 0, 1, 16), ("↑ mma: A, B and C",), None, "mma takes all operands from registers"),
    "wgmma": _Part(
        (4, 16, 1, 32), ("↑ wgmma: A and B from shared memory",), None,
        "wgmma (Hopper) reads B, and mostly A, from shared memory, by a descriptor; D is in registers",
    ),
    "tcgen05": _Part(
        (4, _QUARTERS, 1, 18), ("↕ tcgen05: D",), None,
        "tcgen05.mma (Blackwell) reads A and B from shared memory and keeps D in tensor memory",
    ),
    "registers": _Part(
        (5, 0, 2, _QUARTER), ("registers", "64 KB"), 14,
        "a quarter has 16,384 registers of 32 bits, at most 255 for each thread", 4,
    ),
    "tensor memory": _Part(
        (5, _QUARTERS, 2, 18), ("tensor memory", "256 KB, Blackwell"), 18,
        "128 lanes x 512 columns of 32 bits; Hopper and older chips have none",
    ),
    "ldmatrix": _Part(
        (7, 0, 1, 24), ("↑ ldmatrix, ld.shared",), None, "from shared memory to registers, 128 bytes a cycle",
    ),
    "st.shared": _Part(
        (7, 24, 1, 24), ("↓ stmatrix, st.shared",), None, "from registers to shared memory",
    ),
    "tcgen05.cp": _Part(
        (7, _QUARTERS, 1, 18), ("↑ tcgen05.cp",), None, "from shared memory to tensor memory: scale factors",
    ),
    "shared memory": _Part(
        (8, 0, 2, 36), ("shared memory", "227 KB in 32 banks, for the threads of a block"), 5,
        "a block's own memory; together with L1 it has 256 KB",
    ),
    "mbarriers": _Part(
        (8, 36, 2, 12), ("mbarriers", "in it"), 6,
        "count arrivals and bytes: they say when a copy has arrived",
    ),
    "L1": _Part(
        (8, _QUARTERS, 2, 18), ("L1 cache", "what is left of 256 KB"), 4,
        "a load that finds its bytes here takes some 30 cycles",
    ),
    "ld.global": _Part(
        (10, 0, 1, 20), ("↑ ld.global, ↓ st.global",), None,
        "between global memory and registers, through L1",
    ),
    "cp.async": _Part(
        (10, 20, 1, 14), ("↑ cp.async",), None, "16 bytes a thread, past the registers, into shared memory",
    ),
    "TMA": _Part(
        (10, 34, 1, 14), ("↕ TMA",), None,
        "one thread starts the copy of a whole tile; an mbarrier says when it has arrived",
    ),
    "L2": _Part(
        (11, 0, 2, _WIDTH), ("L2 cache", "50 MB, for all 132 SMs"), 22,
        "a load from it takes some 300 cycles",
    ),
    "global memory": _Part(
        (13, 0, 2, _WIDTH), ("global memory (DRAM)", "141 GB, 4.8 TB/s: where a kernel's arrays are"), 29,
        "the GPU's main memory; a load from it takes some 700 cycles",
    ),
}  # fmt: skip

#: Who can read and write what stands in these rows.
_SHARED_BY = (
    Header(0, 5, ("",)),
    Header(5, 2, ("of a thread",)),
    Header(7, 1, ("",)),
    Header(8, 2, ("of a block",)),
    Header(10, 1, ("",)),
    Header(11, 4, ("of all blocks",)),
)


def chip(*here: str, title: bool = True) -> Picture:
    """An SM of an H200 with its tensor cores and memories, what is below it, and the ways between them.

    Parts that are named stand out, the others are pale: where a lesson is at work.

    >>> picture = chip("wgmma", "shared memory")
    >>> [cell.text for cell in picture.grids[0].cells if cell.state == "mark"]
    ['↑ wgmma: A and B from shared memory', 'shared memory 227 KB in 32 banks, for the threads of a block']
    """
    for name in here:
        if not is_name(name, _PARTS):
            raise PtxlabError(f"{quoted(name)} is no part of the picture; there are {listing(_PARTS, 20)}")
    shape = max(part.box[0] + part.box[2] for part in _PARTS.values()), _WIDTH
    cells: list[Cell] = []
    hover = np.full(shape, "", dtype=object)
    covered = np.zeros(shape, dtype=bool)
    for name, part in _PARTS.items():
        row, column, height, width = part.box
        for copy in range(part.copies):
            left = column + copy * width
            if name in here:
                lane = _WAY if part.lane is None else part.lane
                cells.append(Cell(row, left, height, width, lines=part.lines, lane=lane, state="mark"))
            else:
                state: State = "dim" if here else "plain"
                role: Role = "blank" if part.lane is None else ""
                cells.append(
                    Cell(row, left, height, width, lines=part.lines, lane=part.lane, state=state, role=role)
                )
            hover[row : row + height, left : left + width] = part.says
            covered[row : row + height, left : left + width] = True
    for row in range(shape[0]):
        free = np.flatnonzero(~covered[row])
        if len(free):
            cells.append(Cell(row, int(free[0]), 1, len(free), (), role="blank"))
    sm = (0, 0, 10, _WIDTH)
    grid = Grid(
        shape, tuple(cells), hover, _SHARED_BY, (Header(0, _WIDTH, ("",)),), name="chip", density="tight",
        boxes=(sm,),
    )  # fmt: skip
    marked = f"You are here: {listing(here)}" if here else "An SM, and the memory below it"
    notes = ("the frame is one of the 132 SMs of an H200", "a block of threads runs on one of them")
    return Picture(marked, notes, (grid,)).with_title(as_flag(title, "title"))
