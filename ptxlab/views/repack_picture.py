"""A plan from one operand's registers to another's: where every element is before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, is_a
from ..errors import PtxlabError, quoted
from ..isa.repack import Repack
from .grid import Cell, Grid, State, numbered_grid
from .picture import Picture

_WARP = 32
_MOST_COLUMNS = 128  # of a matrix that a picture shows


def repack(
    plan: Repack, rows: int | None = None, columns: int | None = None, *, title: bool = True
) -> Picture:
    """The matrix twice: lane and register of each element in the source, and in the target.

    Colours are those of the source's lanes on both sides; what changes its lane is outlined. Of a warpgroup
    the first warp is shown: the others do the same. `rows` and `columns` show so many of the matrix.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    >>> before, after = repack(ptxlab.repack(ins.d, ins.a)).grids
    >>> before.at(0, 2).text, after.at(0, 2).text, after.at(0, 2).state
    ('T1 in0,in1', 'T0 out0', 'mark')
    """
    if not is_a(plan, Repack):
        raise PtxlabError(f"found {quoted(plan)}; ptxlab.repack(source, target) gives a plan")
    width = plan.target_side.shape[1]
    if width > _MOST_COLUMNS:
        raise PtxlabError(f"a matrix of {width} columns: a picture shows {_MOST_COLUMNS}")
    lanes, slots = plan.origins
    cells = plan.target_side.cells
    first_warp = np.arange(len(lanes)) < _WARP
    places = sorted({*(cells[first_warp] // width).ravel().tolist()})
    row_of = {row: index for index, row in enumerate(places)}
    before = np.full((len(places), width, 2), -1)  # lane and register
    after = np.full((len(places), width, 2), -1)
    per_register = [32 // side.bits if side.bits < 32 else 1 for side in (plan.source_side, plan.target_side)]
    for lane, slot in np.ndindex(_WARP, cells.shape[1]):
        row, column = divmod(int(cells[lane, slot]), width)
        place = row_of[row], column
        if after[place][0] < 0 or lanes[lane, slot] == lane:  # of copies the one that moves least
            before[place] = lanes[lane, slot], slots[lane, slot] // per_register[0]
            after[place] = lane, slot // per_register[1]
    moved = f"{plan.moved} of {plan.elements}" if plan.moved else "no"
    notes = [f"{moved} elements change lanes", "colours: the lane that holds it before"]
    if plan.moved:
        notes.append("outlined: it comes from another lane")
    if plan.lanes > _WARP:
        notes.append("the first warp")
    if rows is not None or columns is not None:
        shown = _as_part(rows, len(places), "rows"), _as_part(columns, width, "columns")
        notes.append(f"{shown[0]} of {len(places)} rows, {shown[1]} of {width} columns")
        before, after = (side[: shown[0], : shown[1]] for side in (before, after))
        places = places[: shown[0]]
    grids = (
        _grid(before, after, before[..., 0], "in", "before", places),
        _grid(after, before, before[..., 0], "out", "after", places),
    )
    return Picture(plan.describe(), tuple(notes), grids).with_title(title)


def _as_part(count: int | None, size: int, name: str) -> int:
    """How many rows or columns are shown."""
    if count is None:
        return size
    number = as_int(count, name)
    if not 1 <= number <= size:
        raise PtxlabError(f"{name}={quoted(number)}: the matrix has 1 to {size}")
    return number


def _grid(
    places: NDArray[np.int64],
    others: NDArray[np.int64],
    hues: NDArray[np.int64],
    stem: str,
    title: str,
    rows: list[int],
) -> Grid:
    """One side: neighbours of a row that share lane, colour and outline are one cell."""
    shape = places.shape[0], places.shape[1]
    hover = np.full(shape, "", dtype=object)
    cells = []
    for row in range(shape[0]):
        start = 0
        for column in range(shape[1]):
            lane, register = places[row, column].tolist()
            other_lane, other_register = others[row, column].tolist()
            word = "goes to" if stem == "in" else "comes from"
            other = "out" if stem == "in" else "in"
            hover[row, column] = (
                f"row {rows[row]}, column {column}\nlane {lane}, register {stem}{register}\n"
                f"{word} lane {other_lane}, register {other}{other_register}"
            )
            last = column == shape[1] - 1
            if not last and _alike(places, others, row, column):
                continue
            registers = dict.fromkeys(places[row, start : column + 1, 1].tolist())
            names = ",".join(f"{stem}{number}" for number in registers)
            state: State = "mark" if stem == "out" and lane != other_lane else "plain"
            hue = int(hues[row, column]) % _WARP
            cells.append(Cell(row, start, 1, column + 1 - start, (f"T{lane}", names), hue, state))
            start = column + 1
    return replace(numbered_grid(cells, hover, title=title, density="close"), new_line=stem == "out")


def _alike(places: NDArray[np.int64], others: NDArray[np.int64], row: int, column: int) -> bool:
    """Whether a place and its neighbour to the right have the same lanes, before and after."""
    same_place = places[row, column, 0] == places[row, column + 1, 0]
    return bool(same_place and others[row, column, 0] == others[row, column + 1, 0])
