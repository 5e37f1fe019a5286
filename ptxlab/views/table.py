"""Tables as plain data, ready for a terminal, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import PtxlabError, quoted
from .grid import Grid, Header
from .labels import index_range

#: What stands in a cell of a table.
Value = int | str


@dataclass(frozen=True)
class Table:
    """Named columns and rows of plain values; `lanes` has the lane of every value, or None, for its colour.

    >>> Table(("lane", "bits"), ((4, "[23..20]"),)).records()
    [{'lane': 4, 'bits': '[23..20]'}]
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    lanes: tuple[tuple[int | None, ...], ...] = ()

    def records(self) -> list[dict[str, Value]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def grid_table(grid: Grid) -> Table:
    """A grid of a picture as a table: its cells by row and column.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> grid_table(ptxlab.views.fragment(ins, "C").grids[0]).rows[0][:3]
    ('0', 'T0:{c0,c1}', 'T1:{c0,c1}')
    """
    if not isinstance(grid, Grid):
        raise PtxlabError(f"found {quoted(grid)} where a Grid is expected; picture.grids has them")
    tops, lefts = sorted({cell.row for cell in grid.cells}), sorted({cell.column for cell in grid.cells})
    at = {(cell.row, cell.column): cell for cell in grid.cells}
    first = grid.cells[0]
    corner = "\\".join(axis for axis in grid.axes if axis)
    columns = (corner, *(_heading(grid.columns, left, first.width) for left in lefts))
    rows = tuple(
        (_heading(grid.rows, top, first.height), *(at[top, left].text for left in lefts)) for top in tops
    )
    return Table(columns, rows, tuple((None, *(at[top, left].lane for left in lefts)) for top in tops))


def _heading(headings: Sequence[Header], start: int, size: int) -> str:
    for header in headings:
        if header.start == start and header.size == size:
            return header.text
    return index_range(start, size)
