"""Numbers as bars, and texts as tables with shaded cells: what a lesson draws instead of printing rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

import numpy as np

from ..errors import PtxlabError
from .grid import Cell, Grid, Header
from .picture import Picture

_LENGTH = 56  # columns of the grid that the longest bar takes
_LETTERS = 1.15  # columns that a letter beside a bar takes
#: Hues of the bars of a group, as lanes: they differ in lightness, too.
_SERIES = (2, 29, 25, 14)


def bars(
    values: Mapping[str, float] | Mapping[str, Mapping[str, float]],
    title: str,
    notes: Sequence[str] = (),
    *,
    text: Callable[[float], str] = "{:g}".format,
    most: float | None = None,
) -> Picture:
    """A bar for each number, with the number beside it; a mapping of mappings makes groups of bars.

    `text` writes a number; `most` is what the longest bar stands for, by default the largest number.

    >>> grid = bars({"f32": 128, "f16": 64}, "Registers of D").grids[0]
    >>> [(cell.width, cell.text) for cell in grid.cells if cell.lane is not None or cell.lines]
    [(56, ''), (4, '128'), (28, ''), (3, '64')]
    """
    groups = {
        label: dict(group) if isinstance(group, Mapping) else {"": group} for label, group in values.items()
    }
    numbers = [number for group in groups.values() for number in group.values()]
    if not numbers or min(numbers) < 0:
        raise PtxlabError(f"bars of {title!r}: found {numbers}; bars stand for numbers from 0 on")
    longest = max(most or 0.0, *numbers) or 1.0
    series_names = {tuple(group) for group in groups.values()}
    hues = _SERIES if len(series_names) == 1 else _SERIES[:1]  # a colour means the same in every group
    grouped = any(len(group) > 1 for group in groups.values())
    width = _LENGTH + max(_room(text(number)) for number in numbers)
    cells: list[Cell] = []
    tooltips: list[str] = []
    names: list[Header] = []
    labels: list[Header] = []
    row = 0
    for label, group in groups.items():
        if grouped and row:  # some room between groups
            cells.append(Cell(row, 0, 1, width, (), role="blank"))
            tooltips.append("")
            row += 1
        labels.append(Header(row, len(group), (label,)))
        for series, (name, number) in enumerate(group.items()):
            length = max(round(_LENGTH * number / longest), 1 if number else 0)
            words = text(number)
            end = length + _room(words)
            if length:
                cells.append(Cell(row, 0, 1, length, (), hues[series % len(hues)]))
            cells.append(Cell(row, length, 1, end - length, (words,), role="blank"))
            if end < width:
                cells.append(Cell(row, end, 1, width - end, (), role="blank"))
            tooltips.append(f"{' '.join(filter(None, (label, name)))}: {words}")
            names.append(Header(row, 1, (name if grouped else label,)))
            row += 1
    grid = Grid(
        (row, width),
        tuple(cells),
        np.array([[tooltip] * width for tooltip in tooltips], dtype=object),
        tuple(names),
        (Header(0, width, ("",)),),
        density="tight",
        column_rules=((0, 0, row),),
        row_groups=tuple(labels) if grouped else (),
    )
    return Picture(title, tuple(notes), (grid,))


def _room(words: str) -> int:
    """Columns of the grid that a text beside a bar takes."""
    return ceil(_LETTERS * len(words))


def table(
    texts: Mapping[str, Sequence[str]],
    columns: Sequence[str],
    title: str,
    notes: Sequence[str] = (),
    *,
    shades: Mapping[str, float] | None = None,
    axes: tuple[str, str] = ("", ""),
) -> Picture:
    """Rows of texts under headings; `shades` colours a text from -1 (blue) over 0 (none) to 1 (vermilion).

    A text may have several lines; an empty one leaves its cell grey.

    >>> picture = table({"2^-24": ["kept", "lost"]}, ["sm_90", "sm_80"], "Bits", shades={"lost": 0.5})
    >>> [(cell.text, cell.heat) for cell in picture.grids[0].cells]
    [('kept', 0.0), ('lost', 0.5)]
    """
    shape = len(texts), len(columns)
    for row, line in texts.items():
        if len(line) != len(columns):
            raise PtxlabError(
                f"table {title!r}, row {row!r}: found {len(line)} texts; it has {shape[1]} columns"
            )
    cells, hover = [], np.full(shape, "", dtype=object)
    for at, (row, line) in enumerate(texts.items()):
        for column, text in enumerate(line):
            heat = (shades or {}).get(text, 0.0) if text else None
            cells.append(Cell(at, column, 1, 1, tuple(text.splitlines()), heat=heat))
            hover[at, column] = f"{row}, {columns[column]}: {text or 'none'}".replace("\n", " ")
    grid = Grid(
        shape,
        tuple(cells),
        hover,
        tuple(Header(at, 1, tuple(row.splitlines())) for at, row in enumerate(texts)),
        tuple(Header(at, 1, tuple(column.splitlines())) for at, column in enumerate(columns)),
        axes,
    )
    return Picture(title, tuple(notes), (grid,))
