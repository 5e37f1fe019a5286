"""The first row of A of several instructions, one below the other: how many neighbours a lane holds."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from ..errors import PtxlabError, counted
from ..isa.mma import MmaForm
from ..isa.parse import parse_mma
from .grid import Cell, Grid, Header, headers
from .labels import owners
from .picture import Picture

__all__ = ["runs"]

_COLUMNS = 32  # of A that are drawn
_MOST = 24  # instructions


def runs(*instructions: MmaForm | str) -> Picture:
    """Row 0 of A of each instruction, coloured by lane: neighbours that one lane holds are one cell.

    >>> picture = runs("mma.m16n8k32.s8", "mma.m16n8k16.f32.f16")
    >>> [cell.text for cell in picture.grids[0].cells if cell.row == 0]
    ['T0', 'T1', 'T2', 'T3', 'T0', 'T1', 'T2', 'T3']
    """
    forms = [parse_mma(each) for each in instructions]
    if not 0 < len(forms) <= _MOST:
        raise PtxlabError(f"runs: found {counted(len(forms), 'instruction')}; it draws 1 to {_MOST}")
    cells: list[Cell] = []
    hover = np.full((len(forms), _COLUMNS), "", dtype=object)
    for row, form in enumerate(forms):
        if form.a.layout is None or form.lanes != 32:
            raise PtxlabError(f"runs: {form.mnemonic} has no A in the registers of one warp")
        lanes, elements = owners(form.a.layout)
        shown = min(_COLUMNS, form.a.shape[1])
        for lane, group in groupby(range(shown), key=lambda column: int(lanes[0, column])):
            columns = list(group)
            cells.append(Cell(row, columns[0], 1, len(columns), (f"T{lane}",), lane=lane))
            for column in columns:
                hover[row, column] = f"A[0][{column}]\nlane {lane}, element a{elements[0, column]}"
        if shown < _COLUMNS:
            cells.append(Cell(row, shown, 1, _COLUMNS - shown, (), role="blank"))
    names = tuple(
        Header(row, 1, (f"{form.a.width}-bit {form.a_type}, {form.shape}",)) for row, form in enumerate(forms)
    )
    boxes = tuple((row, 0, 1, min(_COLUMNS, form.a.shape[1])) for row, form in enumerate(forms))
    grid = Grid(
        (len(forms), _COLUMNS),
        tuple(cells),
        hover,
        names,
        headers(_COLUMNS, 4),
        axes=("", "k"),
        density="close",
        name="A",
        boxes=boxes,
    )
    notes = (f"the first {_COLUMNS} columns at most", "T0 is lane 0", "a lane's neighbours are one cell")
    return Picture("Row 0 of A", notes, (grid,))
