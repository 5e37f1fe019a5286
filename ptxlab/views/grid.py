"""What a picture is made of: labelled cells over a grid, with headings and a tooltip for every place.

Nothing here knows sizes, fonts or colours; `picture` and `drawing` decide on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_integers
from ..errors import PtxlabError, quoted

#: What a bit of a trace is: part of a term (kept or lost), of the sum (or rounded off it), of the result, or
#: of a number that the result is compared with. A field of a type has the colour of its bits in a register.
Role = Literal[
    "", "sign", "kept", "lost", "sum", "rounded", "result", "exact", "other", "exponent", "odd", "blank",
    "sign field", "exponent field",
]  # fmt: skip
#: What neighbouring bits of a float are.
FieldRole = Literal["sign", "exponent", "fraction", "ignored"]
#: How a cell is emphasised: not at all, faded because another lane is in focus, or outlined.
State = Literal["plain", "dim", "mark"]
#: Row, column, height and width of a rectangle.
Box = tuple[int, int, int, int]
#: The rows and columns of a matrix to show.
Part = tuple[range, range]
#: Room around the labels: "tight" is one letter a cell without a frame, as bits are drawn.
_Density = Literal["normal", "close", "tight"]


@dataclass(frozen=True)
class FloatField:
    """Neighbouring bits of a float with one meaning; `text` has their values where they are known."""

    role: FieldRole
    bits: int
    text: str = ""


@dataclass(frozen=True)
class Cell:
    """A rectangle of the grid with its label.

    Its colour is that of its `lane` (in shared memory: of its core matrix), of its `role` in a trace, or of a
    number, `heat`, from -1 (the lowest) over 0 (the colour of paper) to 1 (the highest); a cell with none of
    them is grey.

    >>> Cell(row=1, column=2, height=1, width=2, lines=("T5:{c0,c1}",), lane=5).text
    'T5:{c0,c1}'
    """

    row: int
    column: int
    height: int
    width: int
    lines: tuple[str, ...]
    lane: int | None = None
    state: State = "plain"
    role: Role = ""
    heat: float | None = None
    fields: tuple[FloatField, ...] = ()  # of a float, highest first: its sign and exponent are tinted

    @property
    def text(self) -> str:
        return " ".join(line for line in self.lines if line)


@dataclass(frozen=True)
class Arrow:
    """From the lower edge of a cell of one grid to the upper edge of a cell of the next."""

    start: Cell
    end: Cell


@dataclass(frozen=True)
class Header:
    """A heading over `size` rows or columns from `start` on; the number of an instant stands over its `edge`.

    >>> Header(start=8, size=8, lines=("chunk 1", "k 8..15")).text
    'chunk 1 k 8..15'
    """

    start: int
    size: int
    lines: tuple[str, ...]
    edge: bool = False  # over the left edge of its columns instead of their middle
    names: tuple[str, ...] = ()  # of the terms of a trace that a row stands for

    @property
    def text(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True)
class Grid:
    """Cells that tile a rectangle; `hover` has one text for every place, "" where there is nothing to say.

    `name` says what the grid shows: an operand ("A", "E"), "compressed A", the "lanes" that explain the
    colours, or a part of a trace.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> (grid,) = ptxlab.views.fragment(ins, "C").grids
    >>> grid.at(9, 3).text, grid.hover[9, 3].splitlines()[1:]
    ('T5:{c2,c3}', ['lane 5, element c3', 'register 3, bits [31..0]'])
    """

    shape: tuple[int, int]
    cells: tuple[Cell, ...]
    hover: NDArray[Any]  # of str
    rows: tuple[Header, ...]
    columns: tuple[Header, ...]
    axes: tuple[str, str] = ("", "")
    title: str = ""
    name: str = ""
    density: _Density = "normal"
    row_rules: tuple[int, ...] = ()  # heavier lines above these rows
    column_rules: tuple[tuple[int, int, int], ...] = ()  # heavier lines: before a column, from row to row
    boxes: tuple[Box, ...] = ()  # frames around parts instead of one around all
    outlines: tuple[Box, ...] = ()  # heavy lines around what matters most, such as a row
    row_groups: tuple[Header, ...] = ()  # headings left of those of the rows, such as warps
    new_line: bool = False  # starts a new line of grids
    spot: tuple[int, int] | None = None  # row and column in a table of grids; equal spots stack

    @cached_property
    def labelled(self) -> bool:
        """Whether cells have labels, and so an outline each."""
        return any(cell.lines for cell in self.cells)

    @property
    def framed(self) -> bool:
        """Whether a line goes around it."""
        return self.density != "tight" and not self.boxes

    def at(self, row: int, column: int) -> Cell:
        """The cell that covers this place."""
        return next(c for c in self.cells if 0 <= row - c.row < c.height and 0 <= column - c.column < c.width)

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Columns before which the grid can be cut without splitting a cell or a heading, with both ends."""
        spans = {(cell.column, cell.width) for cell in self.cells}
        spans |= {(header.start, header.size) for header in self.columns}
        inside = {column for start, size in spans for column in range(start + 1, start + size)}
        return tuple(column for column in range(self.shape[1] + 1) if column not in inside)

    def part(self, rows: range, columns: range) -> Grid:
        """Adjacent rows and columns of the grid, with their headings; no cell may cross the edge."""
        cells = tuple(
            replace(cell, row=cell.row - rows.start, column=cell.column - columns.start)
            for cell in self.cells
            if cell.row in rows and cell.column in columns
        )
        column_rules = tuple(
            (column - columns.start, max(first, rows.start) - rows.start, min(stop, rows.stop) - rows.start)
            for column, first, stop in self.column_rules
            if columns.start < column <= columns.stop and first < rows.stop and stop > rows.start
        )
        return replace(
            self,
            shape=(len(rows), len(columns)),
            cells=cells,
            hover=self.hover[rows.start : rows.stop, columns.start : columns.stop],
            rows=_shifted(self.rows, rows),
            columns=_shifted(self.columns, columns),
            row_groups=clipped_groups(self.row_groups, rows),
            row_rules=tuple(row - rows.start for row in self.row_rules if row in rows and row != rows.start),
            column_rules=column_rules,
            boxes=_clipped_boxes(self.boxes, rows, columns),
            outlines=_clipped_boxes(self.outlines, rows, columns),
        )


def _clipped_boxes(boxes: Iterable[Box], rows: range, columns: range) -> tuple[Box, ...]:
    """The parts of rectangles inside a range, without those of which nothing is."""
    return tuple(inside for box in boxes if (inside := clipped(box, rows, columns)) is not None)


def clipped(box: Box, rows: range, columns: range) -> Box | None:
    """The part of a rectangle inside a range, relative to its start; None if nothing is."""
    row, column, height, width = box
    top, bottom = max(row, rows.start), min(row + height, rows.stop)
    left, right = max(column, columns.start), min(column + width, columns.stop)
    if top >= bottom or left >= right:
        return None
    return top - rows.start, left - columns.start, bottom - top, right - left


def clipped_groups(groups: Iterable[Header], rows: range, tall: int = 1) -> tuple[Header, ...]:
    """Headings of groups, clipped to these rows and counted from the first; a row takes `tall` places."""
    return tuple(
        Header(box[0] * tall, box[2] * tall, group.lines)
        for group in groups
        if (box := clipped((group.start, 0, group.size, 1), rows, range(1))) is not None
    )


def _shifted(headings: Sequence[Header], part: range) -> tuple[Header, ...]:
    """The headings that start in a part, relative to its start."""
    return tuple(replace(head, start=head.start - part.start) for head in headings if head.start in part)


def as_part(part: object, name: str, size: int) -> range:
    """A range of rows, columns or lanes to show; all of them for None.

    >>> as_part(None, "rows", 128), as_part(range(8, 16), "rows", 128)
    (range(0, 128), range(8, 16))
    """
    if part is None:
        return range(size)
    if not isinstance(part, range) or part.step != 1 or not 0 <= part.start < part.stop <= size:
        raise PtxlabError(f"{name}={quoted(part)}: it is a range of 0 to {size}, such as range(0, {size})")
    return part


def as_element(element: object, name: str, of: str = "") -> tuple[int, int]:
    """A row and a column, as an argument of that name.

    >>> as_element([3, 5], "marked")
    (3, 5)
    """
    numbers = as_integers(element, name)
    if numbers.shape != (2,):
        raise PtxlabError(f"{name}={quoted(element)}: it is a row and a column{of}, such as (0, 0)")
    row, column = numbers.tolist()
    return row, column


def hover_texts(shape: tuple[int, int], text: Callable[[int, int], str]) -> NDArray[Any]:
    """The text of every place of a grid."""
    hover = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        hover[place] = text(*place)
    return hover


def headers(size: int, step: int, first: int = 0) -> tuple[Header, ...]:
    """A heading for every `step` rows or columns: ``0``, or ``0..7``; they may begin with another number.

    >>> [head.text for head in headers(10, 8, first=12)]
    ['12..15', '16..21']
    """
    heads = []
    start = 0
    while start < size:
        span = min(step - (first + start) % step, size - start)
        number = first + start
        text = str(number) if span == 1 else f"{number}..{number + span - 1}"
        heads.append(Header(start, span, (text,)))
        start += span
    return tuple(heads)


def numbered_grid(
    cells: Iterable[Cell],
    hover: NDArray[Any],
    axes: tuple[str, str] = ("row", "column"),
    title: str = "",
    density: _Density = "normal",
) -> Grid:
    """A grid whose rows and columns are numbered one by one."""
    rows, columns = hover.shape
    row_headers, column_headers = headers(rows, 1), headers(columns, 1)
    shape = (rows, columns)
    return Grid(
        shape,
        tuple(cells),
        hover,
        rows=row_headers,
        columns=column_headers,
        axes=axes,
        title=title,
        density=density,
    )


@dataclass(frozen=True)
class Entry:
    """The cell at one place of a grid, and its tooltip."""

    lines: tuple[str, ...] = ()
    lane: int | None = None
    tooltip: str = ""
    state: State = "plain"
    heat: float | None = None
    role: Role = ""


def uniform_grid(
    shape: tuple[int, int],
    entry: Callable[[int, int], Entry],
    rows: int | Sequence[str],
    columns: int | Sequence[str],
    axes: tuple[str, str] = ("", ""),
    title: str = "",
    name: str = "",
    density: _Density = "normal",
    row_rules: tuple[int, ...] = (),
) -> Grid:
    """A grid with a cell at every place; headings are texts, one each, or a number n for one every n.

    >>> uniform_grid((1, 2), lambda row, column: Entry((f"{row}.{column}",)), 1, ["a", "b"]).at(0, 1).text
    '0.1'
    """
    cells, hover = [], np.empty(shape, dtype=object)
    for row, column in np.ndindex(*shape):
        shown = entry(row, column)
        cells.append(
            Cell(
                row,
                column,
                1,
                1,
                lines=shown.lines,
                lane=shown.lane,
                state=shown.state,
                role=shown.role,
                heat=shown.heat,
            )
        )
        hover[row, column] = shown.tooltip
    down = headers(shape[0], rows) if isinstance(rows, int) else named_headers(rows)
    across = headers(shape[1], columns) if isinstance(columns, int) else named_headers(columns)
    return Grid(
        shape,
        tuple(cells),
        hover,
        rows=down,
        columns=across,
        axes=axes,
        title=title,
        name=name,
        density=density,
        row_rules=row_rules,
    )


def named_headers(names: Iterable[str]) -> tuple[Header, ...]:
    """A heading for each row or column, in as many lines as its name has."""
    return tuple(Header(start, 1, tuple(name.splitlines())) for start, name in enumerate(names))
