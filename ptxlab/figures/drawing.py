"""A picture in pixels: rectangles, lines and words, computed once for whoever draws them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import palette
from ..describe.picture import Cell, Grid, Picture, Role

__all__ = ["MONO", "SANS", "Drawing", "Panel", "Word", "draw"]

MONO = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
SANS = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
_WIDE, _LINE = 0.605, 1.35  # a monospaced letter and a line, in font sizes
_BOLD, _PLAIN = 0.68, 0.54  # letters of the widest of the sans-serif fonts, on the average
_SIZES = range(12, 8, -1)  # of text, from the usual to the smallest
_MARGIN, _GAP, _BUTTONS = 18.0, 34.0, 70.0  # the buttons are Plotly's, right of the title
_ROOM = 1000 - 2 * _MARGIN  # what an output of JupyterLab shows of a picture in a window of 1280 pixels, and some air


@dataclass(frozen=True)
class Word:
    """One line of text; x and y are the middle of its height and its left, middle or right end."""

    x: float
    y: float
    text: str
    size: float
    colour: str = palette.INK
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False
    mono: bool = True


@dataclass(frozen=True)
class Panel:
    """A grid with the pixel positions of its row and column edges and the size of its text."""

    grid: Grid
    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    size: float = _SIZES[0]

    def box(self, cell: Cell) -> tuple[float, float, float, float]:
        """Left, top, width, height."""
        left, top = self.x[cell.column], self.y[cell.row]
        return float(left), float(top), float(self.x[cell.column + cell.width] - left), float(self.y[cell.row + cell.height] - top)


@dataclass
class Drawing:
    """Everything that is to be seen, in pixels."""

    width: float = 0.0
    height: float = 0.0
    panels: list[Panel] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)


#: Hues of the roles of bits; a 1 has more of it than a 0.
_ROLES: dict[Role, str] = {
    "kept": "sky", "lost": "grey", "sum": "orange", "rounded": "grey", "result": "green", "exponent": "yellow", "odd": "purple",
}  # fmt: skip
_HUES = dict(palette.HUES)


def fill(cell: Cell) -> str:
    """Background of a cell."""
    if cell.role:
        hue = _ROLES.get(cell.role)
        return palette.mix(_HUES[hue], 0.62 if cell.text == "1" and hue != "grey" else 0.34 if cell.text == "1" else 0.16) if hue else palette.PAPER
    if cell.lane is None:
        return palette.SILENT
    colour = palette.lane_colour(cell.lane)
    return palette.mix(colour, 0.18) if cell.state == "dim" else colour


def ink(cell: Cell) -> str:
    """Text on a cell."""
    if cell.role:
        return palette.mix(palette.INK, 0.78) if cell.role in ("lost", "rounded") else palette.text_colour(fill(cell))
    return palette.DIM if cell.lane is None or cell.state == "dim" else palette.text_colour(fill(cell))


def draw(picture: Picture) -> Drawing:
    """Place the grids of a picture under its title, no wider than a page: what is too wide is set smaller, then folded."""
    lines, size = _fold(picture.grids)
    out = Drawing()
    heading = min(15.0, _ROOM / (_BOLD * len(picture.title)))
    wide = max(min(_BOLD * heading * len(picture.title) + _BUTTONS, _ROOM), *(_line_width(line) for line in lines))
    out.words.append(Word(_MARGIN, _MARGIN + 8, picture.title, heading, anchor="start", bold=True, mono=False))
    said = _wrapped(picture.subtitle, int(wide / (_PLAIN * 12)))
    for i, words in enumerate(said):
        out.words.append(Word(_MARGIN, _MARGIN + 30 + 16 * i, words, 12, palette.DIM, "start", mono=False))
    bottom = _MARGIN + 22 + 16 * len(said) - _GAP / 2
    for line in lines:
        left, top = _MARGIN, bottom + _GAP * (1.5 if any(grid.title for grid, _ in line) else 0.85)
        for grid, measure in line:
            bottom = max(bottom, _place(out, grid, measure, left, top, size))
            left += measure.width + _GAP
    out.width, out.height = float(np.ceil(wide + 2 * _MARGIN)), float(np.ceil(bottom + _MARGIN))
    return out


def _wrapped(text: str, letters: int) -> list[str]:
    """Lines of at most so many letters, broken between clauses where that is possible."""
    lines: list[str] = []
    for clause in text.split("; "):
        if lines and len(lines[-1]) + len(clause) + 3 <= letters:
            lines[-1] += f"; {clause}"
        else:
            lines += textwrap.wrap(clause, letters)
    return lines


def _fold(grids: tuple[Grid, ...]) -> tuple[list[_Line], int]:
    """The lines of grids, and the size of their text: the largest at which they fit, side by side if 10 is enough for that."""
    for size in range(_SIZES[0], 9, -1):
        lines: list[_Line] = []
        for grid in grids:
            if grid.below or not lines:
                lines.append([])
            lines[-1].append((grid, _measure(grid, size)))
        if max(_line_width(line) for line in lines) <= _ROOM:
            return lines, size
    bands = [len(_bands(grid, _SIZES[-1])) for grid in grids]
    for size in _SIZES:
        folded = [_bands(grid, size) for grid in grids]
        if size == _SIZES[-1] or [len(found) for found in folded] == bands:
            break
    return [[band] for found in folded for band in found], size


def _line_width(line: _Line) -> float:
    return sum(measure.width for _, measure in line) + _GAP * (len(line) - 1)


def _bands(grid: Grid, size: int) -> _Line:
    """A grid cut into as few bands of columns, of nearly one width, as fit a page."""
    whole = _measure(grid, size)
    room = _ROOM - whole.side
    for count in range(int(np.ceil(whole.across * grid.shape[1] / room)), len(grid.cuts)):
        wanted = np.linspace(0, grid.shape[1], count + 1)
        edges = [grid.cuts[i] for i in np.abs(np.subtract.outer(wanted, grid.cuts)).argmin(axis=1)]
        if max(stop - start for start, stop in pairwise(edges)) * whole.across <= room:
            parts = [grid.part(range(grid.shape[0]), range(start, stop)) for start, stop in pairwise(edges) if start < stop]
            return [(part, whole._replace(width=whole.side + whole.across * part.shape[1])) for part in parts]
    return [(grid, whole)]


class _Measure(NamedTuple):
    """Pixels that a grid takes: its row headings, its column headings, the pitch of its columns and rows, and its width."""

    side: float
    above: float
    across: float
    down: float
    width: float


_Line = list[tuple[Grid, _Measure]]


def _measure(grid: Grid, size: float) -> _Measure:
    head = _head(size)
    side = max(*(_width(h.lines, head) for h in grid.rows), _width((grid.axes[0] + "  ",), head)) + 10
    above = max(len(h.lines) for h in grid.columns) * head * _LINE + 6 + (head * _LINE if grid.axes[1] else 0)
    rows, columns = grid.shape
    across, down = (3.0, 3.0) if grid.lettered else (min(max((_ROOM - side) // columns, 2), 16), min(max(480 // rows, 4), 16))
    sides, ends = (0.4, 0.15) if grid.tight else (0.9, 0.75)
    for cell in grid.cells if grid.lettered else ():
        across = max(across, (_width(cell.lines, size) + sides * size) / cell.width)
        down = max(down, (len(cell.lines) * size * _LINE + ends * size) / cell.height)
    across = max(across, *((_width(h.lines, head) + 5) / h.size for h in grid.columns))
    down = max(down, *(len(h.lines) * head * _LINE / h.size for h in grid.rows))
    side, across, down = (float(np.ceil(pixels)) for pixels in (side, across, down))
    title = _BOLD * 12 * len(grid.title)
    return _Measure(side, above, across, down, max(side + across * columns, title) if grid.tight else side + max(across * columns, title))


def _head(size: float) -> float:
    """Size of the headings of a grid."""
    return max(size - 1, _SIZES[-1])


def _place(out: Drawing, grid: Grid, measure: _Measure, left: float, top: float, size: float) -> float:
    """Add one grid at a corner; gives its lower edge."""
    head = _head(size)
    x0, y0 = float(round(left + measure.side)), float(round(top + measure.above))
    panel = Panel(grid, x0 + measure.across * np.arange(grid.shape[1] + 1), y0 + measure.down * np.arange(grid.shape[0] + 1), size)
    out.panels.append(panel)
    if grid.title:
        out.words.append(Word(left if grid.tight else x0, top - 10, grid.title, 12, anchor="start", bold=True, mono=False))
    if grid.axes[1]:
        out.words.append(Word(x0, top + head * _LINE / 2, f"{grid.axes[1]} →", head, palette.DIM, "start"))
    if grid.axes[0]:
        out.words.append(Word(x0 - 8, y0 - head * _LINE / 2 - 3, f"{grid.axes[0]} ↓", head, palette.DIM, "end"))
    for top_head in grid.columns:
        middle = float(panel.x[top_head.start] + panel.x[top_head.start + top_head.size]) / 2
        _lines(out, top_head.lines, middle, y0 - 3 - len(top_head.lines) * head * _LINE / 2, head, palette.DIM, "middle")
    for row_head in grid.rows:
        middle = float(panel.y[row_head.start] + panel.y[row_head.start + row_head.size]) / 2
        _lines(out, row_head.lines, x0 - 8, middle, head, palette.DIM, "end")
    for cell in grid.cells:
        if cell.lines:
            x, y, width, height = panel.box(cell)
            _lines(out, cell.lines, x + width / 2, y + height / 2, size, ink(cell), "middle", cell.state == "mark")
    return float(panel.y[-1])


def _lines(
    out: Drawing, lines: tuple[str, ...], x: float, y: float, size: float, colour: str, anchor: Literal["start", "middle", "end"], bold: bool = False
) -> None:
    first = y - (len(lines) - 1) * size * _LINE / 2
    for i, line in enumerate(lines):
        out.words.append(Word(x, first + i * size * _LINE, line, size, colour, anchor, bold))


def _width(lines: tuple[str, ...], size: float) -> float:
    return max((len(line) for line in lines), default=0) * size * _WIDE
