"""The first row of a matrix of several instructions, one below the other: neighbours that a lane holds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from .._util.arguments import as_text
from ..errors import PtxlabError, counted, listing
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import LANES, TensorOperand
from ..isa.transfer import TransferForm
from .grid import Cell, Grid, Header, headers
from .holders import AnyOperand, Holders, figures_of, holders_of, product_operand
from .labels import index_range
from .picture import Picture

_COLUMNS = 32  # that are drawn one by one; of longer rows, places stand for several
_MOST = 24  # instructions


def runs(*instructions: Form | str, operand: str = "A", title: bool = True) -> Picture:
    """Row 0 of A of each instruction, or of another matrix: neighbours that one lane holds are one cell.

    Of tcgen05.mma they are the pieces of a row in the lanes of tensor memory; of tcgen05.ld and .st, whose
    only matrix is R, the threads that hold lane 0 of tensor memory, column by column.

    >>> picture = runs("mma.m16n8k32.s8", "mma.m16n8k16.f32.f16")
    >>> [cell.text for cell in picture.grids[0].cells if cell.row == 0]
    ['T0', 'T1', 'T2', 'T3', 'T0', 'T1', 'T2', 'T3']
    >>> [cell.text for cell in runs("tcgen05.ld.sync.aligned.16x128b.x2.b32").grids[0].cells]
    ['T0', 'T1', 'T2', 'T3', 'T0', 'T1', 'T2', 'T3']
    """
    name = as_text(operand, "operand")
    forms = [parse_any(each) for each in instructions]
    if not 0 < len(forms) <= _MOST:
        raise PtxlabError(f"runs: found {counted(len(forms), 'instruction')}; it draws 1 to {_MOST}")
    rows = [_row(form, name) for form in forms]
    unit = _unit(rows)
    places = min(_COLUMNS, max(holders.lanes.shape[1] for holders in rows))
    if unit > 1:
        places = max(holders.lanes.shape[1] for holders in rows) // unit
    cells: list[Cell] = []
    hover = np.full((len(forms), places), "", dtype=object)
    boxes = []
    for row, holders in enumerate(rows):
        shown = min(places, holders.lanes.shape[1] // unit)
        lanes, matrix = holders.lanes[0, : shown * unit], holders.operand.name
        for start, stop in pairwise([0, *(np.flatnonzero(np.diff(lanes)) + 1).tolist(), shown * unit]):
            lane = int(lanes[start])
            cells.append(
                Cell(row, start // unit, 1, (stop - start) // unit, (_lane_name(holders, lane),), lane=lane)
            )
        for place in range(shown):
            columns = index_range(place * unit, unit)
            text = "\n".join(holders.place(0, place * unit)[:1])
            if unit > 1:
                text = _lane_name(holders, int(lanes[place * unit]))
            hover[row, place] = f"{matrix}[0][{columns}]\n{text}"
        if shown < places:
            cells.append(Cell(row, shown, 1, places - shown, (), role="blank"))
        boxes.append((row, 0, 1, shown))
    grid = Grid(
        (len(forms), places),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (_form_name(form, name),)) for row, form in enumerate(forms)),
        _headings(places, unit),
        axes=("", _axis(rows)),
        density="close",
        name=rows[0].operand.name,
        boxes=tuple(boxes),
    )
    return Picture(_title(rows), _notes(rows, places, unit), (grid,)).with_title(title)


def _row(form: Form, name: str) -> Holders:
    """Who holds the matrix whose first row is drawn."""
    operand: AnyOperand | None = None
    if isinstance(form, Tcgen05Transfer | TransferForm) and form.operands:
        operand = next(iter(form.operands.values()))
    elif isinstance(form, Tcgen05Mma) and (name != "A" or form.a_space == "tensor"):
        operand = form.a if name == "A" else product_operand(form, name)
    elif isinstance(form, MmaForm):
        operand = form.operand(name)
    if operand is None or operand.layout is None:
        raise PtxlabError(
            f"runs: {form.mnemonic} has no {name} in lanes of registers or of tensor memory; "
            f"{_instead(form, name)}"
        )
    return holders_of(operand)


def _instead(form: Form, name: str) -> str:
    """What to look at where no lanes hold a matrix."""
    if isinstance(form, Tcgen05Mma):
        return f"operand='D' draws D, and figures.fragment its {name} in shared memory"
    if isinstance(form, MmaForm):
        return f"figures.fragment draws {name} in shared memory"
    return figures_of(form)


def _unit(rows: list[Holders]) -> int:
    """How many columns share a place: one, or as many as all pieces of long rows are multiples of.

    Of registers the first columns say everything, since lanes repeat.
    """
    longest = max(holders.lanes.shape[1] for holders in rows)
    if longest <= _COLUMNS or not any(isinstance(holders.operand, TensorOperand) for holders in rows):
        return 1
    edges: list[int] = []
    for holders in rows:
        edges += [*(np.flatnonzero(np.diff(holders.lanes[0])) + 1).tolist(), holders.lanes.shape[1]]
    unit = math.gcd(*edges)
    while unit % 2 == 0 and longest // unit < _COLUMNS // 2:
        unit //= 2
    return unit if longest // unit <= 2 * _COLUMNS else 1


def _lane_name(holders: Holders, lane: int) -> str:
    """``T5``, or ``lane 5`` of tensor memory."""
    if not isinstance(holders.operand, TensorOperand):
        return f"T{lane}"
    pair = f"CTA {lane // LANES}, " if holders.operand.ctas > 1 else ""
    return f"{pair}lane {lane % LANES}"


def _form_name(form: Form, name: str) -> str:
    if isinstance(form, MmaForm):
        operand = form.operand(name)
        return f"{operand.width}-bit {operand.dtype}, {form.shape}"
    if isinstance(form, Tcgen05Mma):
        dtype = product_operand(form, name).dtype
        return f"{form.family}, layout {form.path.name}, {dtype}, {form.shape}"
    if isinstance(form, Tcgen05Transfer):
        return f"{form.family}, {form.shape}.x{form.count}"
    return f"{form.family}, {form.shape}"


def _headings(places: int, unit: int) -> tuple[Header, ...]:
    if unit == 1:
        return headers(places, 4)
    step = next(step for step in (8, 4, 2, 1) if step == 1 or places % step == 0)
    return tuple(
        Header(at, min(step, places - at), (index_range(at * unit, min(step, places - at) * unit),))
        for at in range(0, places, step)
    )


def _axis(rows: list[Holders]) -> str:
    axes = {holders.operand.axes[1] for holders in rows}
    return axes.pop() if len(axes) == 1 else "column"


def _title(rows: list[Holders]) -> str:
    names = list(dict.fromkeys(holders.operand.name for holders in rows))
    if all(holders.operand.axes == ("lane", "column") for holders in rows):
        return "Lane 0 of tensor memory in registers"
    return f"Row 0 of {listing(names)}"


def _notes(rows: list[Holders], places: int, unit: int) -> tuple[str, ...]:
    tensor = [isinstance(holders.operand, TensorOperand) for holders in rows]
    notes = [f"one place: {unit} columns" if unit > 1 else f"the first {places} columns at most"]
    if all(holders.operand.axes == ("lane", "column") for holders in rows):
        notes.append("T0 is thread 0 of a warp")
    elif not all(tensor):
        notes.append("T0 is lane 0")
    if any(tensor):
        notes.append("lanes with their number are those of tensor memory")
    return (*notes, "neighbours with one holder are one cell")
