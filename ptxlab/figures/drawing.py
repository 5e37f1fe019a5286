"""A picture in pixels: rectangles, lines and words, computed once for whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import palette
from ..describe.picture import Cell, Grid, Header, Picture

__all__ = ["MONO", "SANS", "Drawing", "Panel", "Word", "draw"]

MONO = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
SANS = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
_WIDE, _LINE = 0.605, 1.35  # a monospaced letter and a line, in font sizes
_SIZE, _HEAD = 12.0, 11.0
_MARGIN, _GAP = 18.0, 34.0


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
    """A grid with the pixel positions of its row and column edges."""

    grid: Grid
    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]

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


def fill(cell: Cell) -> str:
    """Background of a cell."""
    if cell.lane is None:
        return palette.SILENT
    colour = palette.lane_colour(cell.lane)
    return palette.mix(colour, 0.18) if cell.state == "dim" else colour


def ink(cell: Cell) -> str:
    """Text on a cell."""
    return palette.DIM if cell.lane is None or cell.state == "dim" else palette.text_colour(fill(cell))


def draw(picture: Picture) -> Drawing:
    """Place the grids of a picture under its title."""
    out = Drawing()
    out.words.append(Word(_MARGIN, _MARGIN + 8, picture.title, 15, anchor="start", bold=True, mono=False))
    out.words.append(Word(_MARGIN, _MARGIN + 30, picture.subtitle, 12, palette.DIM, "start", mono=False))
    titled = any(grid.title for grid in picture.grids)
    left, top, bottom = _MARGIN, _MARGIN + (70 if titled else 50), 0.0
    right = _MARGIN + max(0.62 * 15 * len(picture.title), 0.56 * 12 * len(picture.subtitle))
    for grid in picture.grids:
        if grid.below:
            left, top = _MARGIN, bottom + 1.5 * _GAP
        edge, low = _place(out, grid, left, top)
        left, right, bottom = edge + _GAP, max(right, edge, left + 0.62 * 12 * len(grid.title)), max(bottom, low)
    out.width, out.height = float(np.ceil(right + _MARGIN)), float(np.ceil(bottom + _MARGIN))
    return out


def _place(out: Drawing, grid: Grid, left: float, top: float) -> tuple[float, float]:
    """Add one grid at a corner; gives its right and lower edge."""
    side = max(_width(h.lines, _HEAD) for h in grid.rows) + 10
    side = max(side, _width((grid.axes[0] + "  ",), _HEAD) + 10)
    above = max(len(h.lines) for h in grid.columns) * _HEAD * _LINE + 6 + (_HEAD * _LINE if grid.axes[1] else 0)
    across, down = _pitch(grid)
    x0, y0 = float(round(left + side)), float(round(top + above))
    panel = Panel(grid, x0 + across * np.arange(grid.shape[1] + 1), y0 + down * np.arange(grid.shape[0] + 1))
    out.panels.append(panel)
    if grid.title:
        out.words.append(Word(x0, top - 10, grid.title, 12, anchor="start", bold=True, mono=False))
    if grid.axes[1]:
        out.words.append(Word(x0, top + _HEAD * _LINE / 2, f"{grid.axes[1]} →", _HEAD, palette.DIM, "start"))
    if grid.axes[0]:
        out.words.append(Word(x0 - 8, y0 - _HEAD * _LINE / 2 - 3, f"{grid.axes[0]} ↓", _HEAD, palette.DIM, "end"))
    for head in grid.columns:
        middle = float(panel.x[head.start] + panel.x[head.start + head.size]) / 2
        _lines(out, head.lines, middle, y0 - 3 - len(head.lines) * _HEAD * _LINE / 2, _HEAD, palette.DIM, "middle")
    for head in grid.rows:
        _lines(out, head.lines, x0 - 8, float(panel.y[head.start] + panel.y[head.start + head.size]) / 2, _HEAD, palette.DIM, "end")
    for cell in grid.cells:
        if cell.lines:
            x, y, width, height = panel.box(cell)
            _lines(out, cell.lines, x + width / 2, y + height / 2, _SIZE, ink(cell), "middle", cell.state == "mark")
    return float(panel.x[-1]), float(panel.y[-1])


def _lines(
    out: Drawing, lines: tuple[str, ...], x: float, y: float, size: float, colour: str, anchor: Literal["start", "middle", "end"], bold: bool = False
) -> None:
    first = y - (len(lines) - 1) * size * _LINE / 2
    for i, line in enumerate(lines):
        out.words.append(Word(x, first + i * size * _LINE, line, size, colour, anchor, bold))


def _width(lines: tuple[str, ...], size: float) -> float:
    return max((len(line) for line in lines), default=0) * size * _WIDE


def _pitch(grid: Grid) -> tuple[float, float]:
    """Pixels of a column and of a row: enough for every label and heading, whole numbers for crisp lines."""
    rows, columns = grid.shape
    across, down = (3.0, 3.0) if grid.lettered else (min(max(960 / columns, 4), 16), min(max(640 / rows, 4), 16))
    for cell in grid.cells if grid.lettered else ():
        across = max(across, (_width(cell.lines, _SIZE) + 12) / cell.width)
        down = max(down, (len(cell.lines) * _SIZE * _LINE + 9) / cell.height)
    across = max(across, *(_needs(h, _width(h.lines, _HEAD) + 5) for h in grid.columns))
    down = max(down, *(_needs(h, len(h.lines) * _HEAD * _LINE) for h in grid.rows))
    return float(np.ceil(across)), float(np.ceil(down))


def _needs(head: Header, pixels: float) -> float:
    return pixels / head.size
