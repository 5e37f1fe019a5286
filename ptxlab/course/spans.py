"""What takes some time, in rows of a picture: tiles on their way, products, waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..views import Cell, Grid, Header
from ..views.grid import State, named_headers


class Span(NamedTuple):
    """Something that takes some time in a row of a picture."""

    row: int
    start: int  # first column
    stop: int  # the column after the last
    text: str
    lane: int  # chooses the colour, as a lane's number does in other pictures
    tooltip: str
    state: State = "plain"


def over_time(
    spans: Iterable[Span], idle: Mapping[str, str], heads: Sequence[str], step: int, unit: int = 1
) -> Grid:
    """Spans in rows, with a heading every `step` columns.

    `idle` has the name of each row with its tooltip for idle times, and `heads` the text of each heading. A
    column stands for `unit` cycles.
    """
    time = step * len(heads)
    cells, hover = [], np.full((len(idle), time), "", dtype=object)
    for row, start, stop, text, lane, tooltip, state in spans:
        shown_stop = min(stop, time)
        if start < shown_stop:
            cells.append(Cell(row, start, 1, shown_stop - start, (text,) if text else (), lane, state))
            hover[row, start:shown_stop] = f"{unit * start} to {unit * stop}: {tooltip}"
    for row, column in np.argwhere(hover == "").tolist():
        cells.append(Cell(row, column, 1, 1, (), role="blank"))
        hover[row, column] = list(idle.values())[row]
    columns = tuple(Header(step * at, step, (text,), edge=True) for at, text in enumerate(heads))
    shape = (len(idle), time)
    return Grid(shape, tuple(cells), hover, named_headers(idle), columns, ("", "cycle"), density="tight")
