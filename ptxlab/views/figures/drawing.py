"""A picture in pixels: rectangles, lines and words, computed once for whoever draws them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import palette
from ..picture import Cell, Grid, Picture, Role

__all__ = ["MONO", "PAGE", "SANS", "Drawing", "Panel", "Word", "draw", "fill", "ink", "paint"]

MONO = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
SANS = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
_WIDE, _LINE = 0.605, 1.35  # a monospaced letter and a line, in font sizes
_BOLD, _PLAIN = 0.68, 0.54  # letters of the widest of the sans-serif fonts, on the average
_SIZES = range(12, 8, -1)  # of text, from the usual to the smallest
_MARGIN, _GAP, _BUTTONS = 18.0, 34.0, 70.0  # the buttons are Plotly's, right of the title
_SLIDE, _TALL = 1400 - 2 * _MARGIN, 900  # of a product: small text, but all of it in one picture
PAGE = 848  # what an output of JupyterLab shows in a window of 1280 pixels with the list of files open
_ROOM = PAGE - 2 * _MARGIN


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
    on: Cell | None = None  # what it stands on, if not on paper


@dataclass(frozen=True)
class Panel:
    """A grid with the pixel positions of its row and column edges and the size of its text."""

    grid: Grid
    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    size: float = _SIZES[0]

    @property
    def heated(self) -> bool:
        """Whether it is a map of numbers, without letters."""
        return not self.grid.lettered and any(cell.heat is not None for cell in self.grid.cells)

    @property
    def frames(self) -> list[tuple[float, float, float, float]]:
        """Left, top, width, height of the lines around it, or around its parts."""
        boxes = self.grid.boxes or (((0, 0, *self.grid.shape),) if self.grid.framed else ())
        return [self.box(Cell(*box, ())) for box in boxes]

    def box(self, cell: Cell) -> tuple[float, float, float, float]:
        """Left, top, width, height."""
        left, top = self.x[cell.column], self.y[cell.row]
        return (
            float(left),
            float(top),
            float(self.x[cell.column + cell.width] - left),
            float(self.y[cell.row + cell.height] - top),
        )


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


def paint(cell: Cell) -> tuple[str, float]:
    """The colour of a cell, and how much of it is in its background; the rest is paper."""
    if cell.role:
        hue = _ROLES.get(cell.role)
        return (
            (_HUES[hue], 0.62 if cell.text == "1" and hue != "grey" else 0.34 if cell.text == "1" else 0.16)
            if hue
            else (palette.PAPER, 0.0)
        )
    part = 0.18 if cell.state == "dim" else 1.0
    if cell.heat is not None:
        return _HUES["vermilion" if cell.heat > 0 else "blue"], 0.82 * part * round(16 * abs(cell.heat)) / 16
    return (_HUES["grey"], 0.12) if cell.lane is None else (palette.lane_colour(cell.lane), part)


def fill(cell: Cell) -> str:
    """Background of a cell, on paper."""
    return palette.mix(*paint(cell))


def ink(cell: Cell) -> str:
    """Text on a cell."""
    if cell.role:
        return (
            palette.mix(palette.INK, 0.78)
            if cell.role in ("lost", "rounded")
            else palette.text_colour(fill(cell))
        )
    faint = cell.state == "dim" or (cell.lane is None and cell.heat is None)
    return palette.DIM if faint else palette.text_colour(fill(cell))


def draw(picture: Picture) -> Drawing:
    """Place the grids of a picture under its title, no wider than a page: what is too wide is set smaller, then folded."""
    out = Drawing()
    if any(grid.spot is not None for grid in picture.grids):
        return _arrange(out, picture)
    lines, size = _fold(picture.grids)
    wide, bottom = _headed(out, picture, max(_line_width(line) for line in lines))
    for line in lines:
        left, top = _MARGIN, bottom + _GAP * (1.5 if any(grid.title for grid, _ in line) else 0.85)
        for grid, measure in line:
            bottom = max(bottom, _place(out, grid, measure, left, top, size))
            left += measure.width + _GAP
    out.width, out.height = float(np.ceil(wide + 2 * _MARGIN)), float(np.ceil(bottom + _MARGIN))
    return out


def _headed(out: Drawing, picture: Picture, wide: float) -> tuple[float, float]:
    """Write title and subtitle over grids of that width; gives the width of all, and where the first grid may begin."""
    heading = min(15.0, (_ROOM - _BUTTONS) / (_BOLD * len(picture.title)))
    wide = max(min(_BOLD * heading * len(picture.title) + _BUTTONS, _ROOM), wide)
    out.words.append(
        Word(_MARGIN, _MARGIN + 8, picture.title, heading, anchor="start", bold=True, mono=False)
    )
    said = _wrapped(picture.subtitle, int(wide / (_PLAIN * 12)))
    for i, words in enumerate(said):
        out.words.append(Word(_MARGIN, _MARGIN + 30 + 16 * i, words, 12, palette.DIM, "start", mono=False))
    return wide, _MARGIN + 22 + 16 * len(said) - _GAP / 2


def _arrange(out: Drawing, picture: Picture) -> Drawing:
    """Place grids by their spots: columns of the first column of spots have one width, those right of it another, rows of a row one height."""
    spots = [grid.spot or (0, 0) for grid in picture.grids]
    pixels = [grid for grid in picture.grids if not grid.lettered]
    sizes = _SIZES if len(pixels) < len(picture.grids) else _SIZES[:1]
    for size in sizes:
        measures = _aligned(picture.grids, spots, [_measure(grid, size) for grid in picture.grids])
        widths = {
            column: max(m.width for m, spot in zip(measures, spots, strict=True) if spot[1] == column)
            for _, column in spots
        }
        if sum(widths.values()) + _GAP * (len(widths) - 1) <= _SLIDE:
            break
    high = [m.above + m.down * grid.shape[0] for grid, m in zip(picture.grids, measures, strict=True)]
    heights = {
        row: max(
            sum(h + _GAP for h, s in zip(high, spots, strict=True) if s == spot)
            for spot in spots
            if spot[0] == row
        )
        for row, _ in spots
    }
    wide, top = _headed(out, picture, sum(widths.values()) + _GAP * (len(widths) - 1))
    top += _GAP / 2
    for row in sorted(heights):
        left, top = _MARGIN, top + heights[row]
        for column in sorted(widths):
            here = [i for i, spot in enumerate(spots) if spot == (row, column)]
            at = top - sum(high[i] + _GAP for i in here) + _GAP
            for i in here:
                _place(out, picture.grids[i], measures[i], left, at, size)
                at += high[i] + _GAP
            left += widths[column] + _GAP
    out.width, out.height = float(np.ceil(wide + 2 * _MARGIN)), float(np.ceil(top + _MARGIN))
    return out


def _aligned(
    grids: tuple[Grid, ...], spots: list[tuple[int, int]], measures: list[_Measure]
) -> list[_Measure]:
    """The measures of grids with as many columns, or rows, as one above or beside them made one: the largest of them."""
    found = []
    maps = [(grid, spot) for grid, spot in zip(grids, spots, strict=True) if not grid.lettered]
    columns = sum({spot[1]: grid.shape[1] for grid, spot in maps}.values())
    rows = max(
        (sum(grid.shape[0] for grid, spot in maps if spot[1] == column) for _, (_, column) in maps), default=1
    )
    square = max(
        3.0,
        min(12.0, (_SLIDE - 160) // max(columns, 1), _TALL // rows),
        *(_headings(grid, _head(_SIZES[0])) for grid, _ in maps),
    )
    own = [
        m if grid.lettered else m._replace(across=square, down=square)
        for grid, m in zip(grids, measures, strict=True)
    ]
    for grid, spot, measure in zip(grids, spots, own, strict=True):
        beside = [
            m
            for g, s, m in zip(grids, spots, own, strict=True)
            if s[0] == spot[0] and g.shape[0] == grid.shape[0]
        ]
        side = max(m.side for s, m in zip(spots, own, strict=True) if s[1] == spot[1])
        across = max(
            m.across
            for g, s, m in zip(grids, spots, own, strict=True)
            if g.shape[1] == grid.shape[1] and (s[1] > 0) == (spot[1] > 0)
        )
        down = max(m.down for m in beside)
        width = side + max(across * grid.shape[1], _BOLD * 12 * len(grid.title))
        found.append(_Measure(side, measure.above, across, down, width))
    return found


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
    """The lines of grids, and the size of their text: the largest at which they fit, or, if 10 is still too large, at which few are folded.

    What fits at no size, because it cannot be folded, is set in the smallest.
    """
    groups: list[list[Grid]] = []
    for grid in grids:
        if grid.below or not groups:
            groups.append([])
        groups[-1].append(grid)
    for size in range(_SIZES[0], 9, -1):
        lines = [[(grid, _measure(grid, size)) for grid in group] for group in groups]
        if max(_line_width(line) for line in lines) <= _ROOM:
            return lines, size
    smallest = _folded(groups, _SIZES[-1])
    for size in _SIZES:
        lines = _folded(groups, size)
        if len(lines) == len(smallest) and max(_line_width(line) for line in lines) <= _ROOM:
            return lines, size
    return smallest, _SIZES[-1]


def _folded(groups: list[list[Grid]], size: int) -> list[_Line]:
    """Lines that fit a page; the grids of one that does not stand below each other, in bands."""
    lines: list[_Line] = []
    for group in groups:
        line = [(grid, _measure(grid, size)) for grid in group]
        fits = _line_width(line) <= _ROOM
        lines += [line] if fits else [[band] for grid in group for band in _bands(grid, size)]
    return lines


def _line_width(line: _Line) -> float:
    return sum(measure.width for _, measure in line) + _GAP * (len(line) - 1)


def _bands(grid: Grid, size: int) -> _Line:
    """A grid cut into as few bands of columns, of nearly one width, as fit a page."""
    whole = _measure(grid, size)
    room = _ROOM - whole.side
    least = int(np.ceil(whole.across * grid.shape[1] / room))
    ruled = (
        []
        if grid.tight
        else sorted({0, grid.shape[1], *({at for at, *_ in grid.column_rules} & set(grid.cuts))})
    )
    tries = [
        (ruled, least),
        (ruled, least + 1),
        *((list(grid.cuts), count) for count in range(least, len(grid.cuts))),
    ]
    for cuts, count in tries:
        wanted = np.linspace(0, grid.shape[1], count + 1)
        edges = (
            [cuts[i] for i in np.abs(np.subtract.outer(wanted, cuts)).argmin(axis=1)]
            if cuts
            else [0, grid.shape[1]]
        )
        if max(stop - start for start, stop in pairwise(edges)) * whole.across <= room:
            parts = [
                grid.part(range(grid.shape[0]), range(start, stop))
                for start, stop in pairwise(edges)
                if start < stop
            ]
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
    across, down = (
        (3.0, 3.0)
        if grid.lettered
        else (min(max((_ROOM - side) // columns, 2), 16), min(max(480 // rows, 4), 16))
    )
    sides, ends = (0.4, 0.15) if grid.tight else (0.7, 0.3) if grid.close else (0.9, 0.75)
    for cell in grid.cells if grid.lettered else ():
        across = max(across, (_width(cell.lines, size) + sides * size) / cell.width)
        down = max(down, (len(cell.lines) * size * _LINE + ends * size) / cell.height)
    across = max(across, _headings(grid, head))
    down = max(down, *(len(h.lines) * head * _LINE / h.size for h in grid.rows))
    side, across, down = (float(np.ceil(pixels)) for pixels in (side, across, down))
    title = _BOLD * 12 * len(grid.title)
    return _Measure(
        side,
        above,
        across,
        down,
        max(side + across * columns, title) if grid.tight else side + max(across * columns, title),
    )


def _headings(grid: Grid, head: float) -> float:
    """Pixels from column to column that the headings need."""
    return float(np.ceil(max((_width(h.lines, head) + 5) / h.size for h in grid.columns)))


def _head(size: float) -> float:
    """Size of the headings of a grid."""
    return max(size - 1, _SIZES[-1])


def _place(out: Drawing, grid: Grid, measure: _Measure, left: float, top: float, size: float) -> float:
    """Add one grid at a corner; gives its lower edge."""
    head = _head(size)
    x0, y0 = float(round(left + measure.side)), float(round(top + measure.above))
    panel = Panel(
        grid,
        x0 + measure.across * np.arange(grid.shape[1] + 1),
        y0 + measure.down * np.arange(grid.shape[0] + 1),
        size,
    )
    out.panels.append(panel)
    if grid.title:
        out.words.append(
            Word(left if grid.tight else x0, top - 10, grid.title, 12, anchor="start", bold=True, mono=False)
        )
    if grid.axes[1]:
        out.words.append(Word(x0, top + head * _LINE / 2, f"{grid.axes[1]} →", head, palette.DIM, "start"))
    if grid.axes[0]:
        out.words.append(
            Word(x0 - 8, y0 - head * _LINE / 2 - 3, f"{grid.axes[0]} ↓", head, palette.DIM, "end")
        )
    for top_head in grid.columns:
        middle = float(panel.x[top_head.start] + panel.x[top_head.start + top_head.size]) / 2
        _lines(
            out,
            top_head.lines,
            middle,
            y0 - 3 - len(top_head.lines) * head * _LINE / 2,
            head,
            palette.DIM,
            "middle",
        )
    for row_head in grid.rows:
        middle = float(panel.y[row_head.start] + panel.y[row_head.start + row_head.size]) / 2
        _lines(out, row_head.lines, x0 - 8, middle, head, palette.DIM, "end")
    for cell in grid.cells:
        if cell.lines:
            x, y, width, height = panel.box(cell)
            _lines(out, cell.lines, x + width / 2, y + height / 2, size, ink(cell), "middle", cell)
    return float(panel.y[-1])


def _lines(
    out: Drawing,
    lines: tuple[str, ...],
    x: float,
    y: float,
    size: float,
    colour: str,
    anchor: Literal["start", "middle", "end"],
    on: Cell | None = None,
) -> None:
    first = y - (len(lines) - 1) * size * _LINE / 2
    for i, line in enumerate(lines):
        out.words.append(
            Word(
                x,
                first + i * size * _LINE,
                line,
                size,
                colour,
                anchor,
                on is not None and on.state == "mark",
                on=on,
            )
        )


def _width(lines: tuple[str, ...], size: float) -> float:
    return max((len(line) for line in lines), default=0) * size * _WIDE
