"""Pictures as plain data: labelled cells over a grid, with headers and a hover text for every place.

Whoever draws (Plotly, SVG, the terminal) decides on sizes, fonts and colours; here is only what is to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.layout import Layout

__all__ = ["Cell", "Grid", "Header", "Picture", "Role", "bits", "headers", "names", "owners", "runs"]

#: What a bit of a trace is: of a term, kept or lost; of the sum, or rounded off it; of the result, or of what that is compared with.
Role = Literal[
    "", "sign", "kept", "lost", "sum", "rounded", "result", "exact", "other", "exponent", "odd", "blank"
]


@dataclass(frozen=True)
class Cell:
    """A rectangle of the grid with its label. It has the colour of its lane (in shared memory: of its core matrix), of its role, or none;
    or that of a number, `heat`: from -1, the least, by 0, which is paper, to 1, the largest.

    >>> Cell(row=1, column=2, height=1, width=2, lines=("T5:{c0,c1}",), lane=5).text
    'T5:{c0,c1}'
    """

    row: int
    column: int
    height: int
    width: int
    lines: tuple[str, ...]
    lane: int | None = None
    state: Literal["plain", "dim", "mark"] = "plain"
    role: Role = ""
    heat: float | None = None

    @property
    def text(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True)
class Header:
    """A heading over `size` rows or columns from `start` on.

    >>> Header(start=8, size=8, lines=("chunk 1", "k 8..15")).text
    'chunk 1 k 8..15'
    """

    start: int
    size: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True)
class Grid:
    """Cells that tile a grid; `hover` has one text for every place, "" where there is nothing to say.

    >>> import ptxlab
    >>> (grid,) = ptxlab.views.fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C").grids
    >>> grid.at(9, 3).text, grid.hover[9, 3].splitlines()[1:]
    ('T5:{c2,c3}', ['lane 5, element c3', 'register 3, bits [31..0]'])
    """

    shape: tuple[int, int]
    cells: tuple[Cell, ...]
    hover: NDArray[Any]
    rows: tuple[Header, ...]
    columns: tuple[Header, ...]
    axes: tuple[str, str] = ("", "")
    title: str = ""
    row_rules: tuple[int, ...] = ()  # heavier lines above these rows
    below: bool = False  # starts a new line of grids
    column_rules: tuple[
        tuple[int, int, int], ...
    ] = ()  # heavier lines before a column, from a row to the one it ends above
    boxes: tuple[
        tuple[int, int, int, int], ...
    ] = ()  # frames around parts, as (row, column, height, width), in the place of its own
    tight: bool = False  # one letter a cell, close together, without a frame
    close: bool = False  # little air around the labels
    spot: tuple[int, int] | None = (
        None  # its place where grids are arranged in rows and columns; those of one place stand on each other
    )

    def __post_init__(self) -> None:
        covered = np.zeros(self.shape, dtype=np.int64)
        for cell in self.cells:
            covered[cell.row : cell.row + cell.height, cell.column : cell.column + cell.width] += 1
        if (covered != 1).any() or self.hover.shape != self.shape:
            row, column = np.argwhere(covered != 1)[0] if (covered != 1).any() else (0, 0)
            raise PtxlabError(
                f"picture {self.title!r}: the cells do not tile the {self.shape[0]}x{self.shape[1]} grid at row {row}, column {column}"
            )

    @cached_property
    def lettered(self) -> bool:
        """Whether cells are labelled, and so outlined one by one."""
        return any(cell.lines for cell in self.cells)

    @property
    def framed(self) -> bool:
        """Whether a line goes around it."""
        return not self.tight and not self.boxes

    def at(self, row: int, column: int) -> Cell:
        """The cell that covers this place."""
        return next(c for c in self.cells if 0 <= row - c.row < c.height and 0 <= column - c.column < c.width)

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Columns before which the grid can be cut without parting a cell or a heading; 0 and the width among them."""
        inside = {
            at
            for span in (*self.columns, *_spans(self.cells))
            for at in range(span.start + 1, span.start + span.size)
        }
        return tuple(at for at in range(self.shape[1] + 1) if at not in inside)

    def part(self, rows: range, columns: range) -> Grid:
        """Some neighbouring rows and columns of it, under their own headings; no cell may lie across the edge."""
        cells = tuple(
            replace(cell, row=cell.row - rows.start, column=cell.column - columns.start)
            for cell in self.cells
            if cell.row in rows and cell.column in columns
        )
        return replace(
            self,
            shape=(len(rows), len(columns)),
            cells=cells,
            hover=self.hover[rows.start : rows.stop, columns.start : columns.stop],
            rows=tuple(
                replace(head, start=head.start - rows.start) for head in self.rows if head.start in rows
            ),
            columns=tuple(
                replace(head, start=head.start - columns.start)
                for head in self.columns
                if head.start in columns
            ),
            row_rules=tuple(row - rows.start for row in self.row_rules if row in rows and row != rows.start),
            column_rules=tuple(
                (at - columns.start, max(a, rows.start) - rows.start, min(b, rows.stop) - rows.start)
                for at, a, b in self.column_rules
                if columns.start < at <= columns.stop and a < rows.stop and b > rows.start
            ),
        )


@dataclass(frozen=True)
class Picture:
    """Grids under one title, side by side except where one starts a new line; or arranged by their spots. A notebook shows it as SVG.

    >>> import ptxlab
    >>> picture = ptxlab.views.fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C")
    >>> picture.title, picture.grids[0].shape
    ('C of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32', (16, 8))
    """

    title: str
    subtitle: str
    grids: tuple[Grid, ...]

    def _repr_html_(self) -> str:
        from .figures.svg import inline

        return inline(self)


def bits(low: int, high: int) -> str:
    """``[7..4]``, or ``[7]`` for a single bit."""
    return f"[{high}]" if low == high else f"[{high}..{low}]"


def names(prefix: str, indices: Sequence[int]) -> str:
    """``{a0}``, ``{a0,a1}`` or ``{a0..a7}``, as the manual labels its fragments."""
    first, last = f"{prefix}{indices[0]}", f"{prefix}{indices[-1]}"
    if len(indices) == 1:
        return f"{{{first}}}"
    return f"{{{first},{last}}}" if len(indices) == 2 else f"{{{first}..{last}}}"


def headers(size: int, step: int) -> tuple[Header, ...]:
    """A heading for every `step` rows or columns: ``0``, or ``0..7``."""
    spans = [(at, min(step, size - at)) for at in range(0, size, step)]
    return tuple(
        Header(at, span, (str(at) if span == 1 else f"{at}..{at + span - 1}",)) for at, span in spans
    )


def _spans(cells: Sequence[Cell]) -> list[Header]:
    """The columns that cells cover, each span once."""
    return [Header(start, size, ()) for start, size in {(cell.column, cell.width) for cell in cells}]


def owners(layout: Layout, copy: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lane and element that hold each place of the matrix."""
    lane, element = np.divmod(layout.scatter(copy), layout.elements)
    return lane, element


def runs(lane: NDArray[np.int64], element: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Neighbours that one lane holds as consecutive elements, as (row, column, height, width).

    They lie along a row, or, where no row has any (B), along a column.
    """
    along = _runs(lane, element)
    if any(width > 1 for _, _, _, width in along):
        return along
    return [(row, column, height, width) for column, row, width, height in _runs(lane.T, element.T)]


def _runs(lane: NDArray[np.int64], element: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    joined = (lane[:, 1:] == lane[:, :-1]) & (element[:, 1:] == element[:, :-1] + 1)
    found = []
    for row, links in enumerate(joined):
        starts = [0, *(int(i) + 1 for i in np.flatnonzero(~links)), lane.shape[1]]
        found += [(row, start, 1, stop - start) for start, stop in pairwise(starts)]
    return found
