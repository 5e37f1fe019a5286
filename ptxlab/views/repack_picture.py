"""A plan from one operand's registers to another's: where every element is before and after."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import is_a
from ..errors import PtxlabError, quoted
from ..isa.repack import RepackPlan
from .grid import Cell, Grid, State, headers
from .picture import Picture

__all__ = ["repack"]

_WARP = 32
_MOST_COLUMNS = 128  # of a matrix that a picture shows


def repack(plan: RepackPlan) -> Picture:
    """The matrix twice: lane and register of each element in the source, and in the target.

    Colours are those of the source's lanes on both sides; what changes its lane is outlined. Of a warpgroup
    the first warp is shown: the others do the same.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    >>> before, after = repack(ptxlab.repack(ins.d, ins.a)).grids
    >>> before.at(0, 2).text, after.at(0, 2).text, after.at(0, 2).state
    ('T1 in0,in1', 'T0 out0', 'mark')
    """
    if not is_a(plan, RepackPlan):
        raise PtxlabError(f"found {quoted(plan)}; ptxlab.repack(source, target) gives a plan")
    columns = plan.target_side.shape[1]
    if columns > _MOST_COLUMNS:
        raise PtxlabError(f"a matrix of {columns} columns: a picture shows {_MOST_COLUMNS}")
    lanes, slots = plan.origins
    cells = plan.target_side.cells
    first_warp = np.arange(len(lanes)) < _WARP
    rows = sorted({*(cells[first_warp] // columns).ravel().tolist()})
    row_of = {row: index for index, row in enumerate(rows)}
    before = np.full((len(rows), columns, 2), -1)  # lane and register
    after = np.full((len(rows), columns, 2), -1)
    per_register = [32 // side.bits if side.bits < 32 else 1 for side in (plan.source_side, plan.target_side)]
    for lane, slot in np.ndindex(_WARP, cells.shape[1]):
        row, column = divmod(int(cells[lane, slot]), columns)
        place = row_of[row], column
        if after[place][0] < 0 or lanes[lane, slot] == lane:  # of copies the one that moves least
            before[place] = lanes[lane, slot], slots[lane, slot] // per_register[0]
            after[place] = lane, slot // per_register[1]
    title = plan.describe()
    moved = f"{plan.moved} of {plan.elements}" if plan.moved else "no"
    notes = [f"{moved} elements change lanes", "colours: the lane that holds it before"]
    if plan.moved:
        notes.append("outlined: it comes from another lane")
    if plan.lanes > _WARP:
        notes.append("the first warp")
    grids = (
        _grid(before, after, before[..., 0], "in", "before", rows),
        _grid(after, before, before[..., 0], "out", "after", rows),
    )
    return Picture(title, tuple(notes), grids)


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
    return Grid(
        shape,
        tuple(cells),
        hover,
        headers(shape[0], 1),
        headers(shape[1], 1),
        ("row", "column"),
        title=title,
        density="close",
        new_line=stem == "out",
    )


def _alike(places: NDArray[np.int64], others: NDArray[np.int64], row: int, column: int) -> bool:
    """Whether a place and its neighbour to the right have the same lanes, before and after."""
    same_place = places[row, column, 0] == places[row, column + 1, 0]
    return bool(same_place and others[row, column, 0] == others[row, column + 1, 0])
