"""A picture in pixels: cells, lines and words, and the colours of a theme.

`svg.py` writes it with tooltips, `static_image.py` in a few kilobytes, `plotly_figure.py` as a Plotly figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import palette
from .grid import Cell, FieldRole, Grid, Role
from .palette import LIGHT, Theme

MONO = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
SANS = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
PAGE = 848  # pixels: the width of JupyterLab's output in a window of 1280 with the file browser open

_TextRole = Literal["title", "note", "grid title", "axis", "header", "label"]
_Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class TextLine:
    """One line of text; y is the middle of its height, x its left end, middle or right end.

    `role` says what it is: the picture's title or one of its notes, or a grid's title, axis, heading or cell
    label.
    """

    x: float
    y: float
    text: str
    size: float
    role: _TextRole
    anchor: _Anchor = "middle"
    on: Cell | None = None  # the cell that the text labels
    field: FieldRole | None = None  # the field of a float that it shows, on its own tint

    @property
    def bold(self) -> bool:
        return self.role in ("title", "grid title") or (self.on is not None and self.on.state == "mark")

    @property
    def mono(self) -> bool:
        """Whether it is set in a monospaced font; titles and notes are not."""
        return self.role not in ("title", "note", "grid title")


@dataclass(frozen=True)
class Tint:
    """A rectangle (left, top, width, height) behind bits of a float, in the colour of their field.

    A rectangle without bits in it has a `strong` colour.
    """

    box: tuple[float, float, float, float]
    field: FieldRole
    strong: bool


@dataclass(frozen=True)
class Panel:
    """A grid with the pixel positions of its row and column edges and the size of its text."""

    grid: Grid
    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    size: float  # of labels

    @property
    def heated(self) -> bool:
        """Whether it is a heat map: numbers as colours, without labels."""
        return not self.grid.labelled and any(cell.heat is not None for cell in self.grid.cells)

    @property
    def frames(self) -> list[tuple[float, float, float, float]]:
        """Left, top, width, height of the frames around the grid or its parts."""
        boxes = self.grid.boxes
        if self.grid.framed:
            boxes = ((0, 0, *self.grid.shape),)
        return [self.box(Cell(*box, ())) for box in boxes]

    @property
    def outlines(self) -> list[tuple[float, float, float, float]]:
        """Left, top, width, height of the heavy outlines, just outside the cells."""
        boxes = [self.box(Cell(*box, ())) for box in self.grid.outlines]
        return [(left - 1, top - 1, width + 2, height + 2) for left, top, width, height in boxes]

    @property
    def marks(self) -> list[tuple[float, float, float, float]]:
        """Left, top, width, height of the cells that are marked."""
        return [self.box(cell) for cell in self.grid.cells if cell.state == "mark"]

    @property
    def row_rules(self) -> list[str]:
        """Lines from the left end to the right, as data of an SVG path."""
        return [f"M{self.x[0]:g} {self.y[row]:g}H{self.x[-1]:g}" for row in self.grid.row_rules]

    @property
    def column_rules(self) -> list[str]:
        """Lines between two rows, as data of an SVG path."""
        return [
            f"M{self.x[column]:g} {self.y[first]:g}V{self.y[stop]:g}"
            for column, first, stop in self.grid.column_rules
        ]

    def box(self, cell: Cell) -> tuple[float, float, float, float]:
        """Left, top, width, height of a cell."""
        left, top = self.x[cell.column], self.y[cell.row]
        right, bottom = self.x[cell.column + cell.width], self.y[cell.row + cell.height]
        return float(left), float(top), float(right - left), float(bottom - top)


@dataclass
class Drawing:
    """Everything that a picture shows, in pixels."""

    title: str
    subtitle: str
    width: float = 0.0
    height: float = 0.0
    panels: list[Panel] = field(default_factory=list)
    words: list[TextLine] = field(default_factory=list)
    tints: list[Tint] = field(default_factory=list)
    #: Each is one polyline: shaft, then head.
    arrows: list[list[tuple[float, float]]] = field(default_factory=list)


# -- colours ---------------------------------------------------------------------------------------------

#: The hues of bits by role; a 1 is stronger than a 0.
_ROLES: dict[Role, str] = {
    "kept": "sky",
    "lost": "grey",
    "sum": "orange",
    "rounded": "grey",
    "result": "green",
    "exponent": "yellow",
    "odd": "purple",
    "sign field": "blue",
    "exponent field": "orange",
}
#: The strength of the colour behind bits of a float, as in the Explorer.
_TINTED = 0.55


def paint(cell: Cell, theme: Theme = LIGHT) -> tuple[str, float]:
    """The colour of a cell, and its strength in the background; the rest is paper."""
    if cell.role:
        return _paint_bit(cell, theme)
    part = 0.18 if cell.state == "dim" else 1.0
    if cell.heat is not None:
        hue = "vermilion" if cell.heat > 0 else "blue"
        return palette.HUES[hue], 0.82 * part * round(16 * abs(cell.heat)) / 16
    if cell.lane is None:
        return palette.HUES["grey"], 0.12
    return theme.lanes[cell.lane % 32], part


def _paint_bit(cell: Cell, theme: Theme) -> tuple[str, float]:
    hue = _ROLES.get(cell.role)
    if hue is None:
        return theme.paper, 0.0
    if cell.role in ("sign field", "exponent field"):
        return palette.HUES[hue], _TINTED
    if cell.text != "1":
        return palette.HUES[hue], 0.16
    return palette.HUES[hue], 0.34 if hue == "grey" else 0.62


def fill(cell: Cell, theme: Theme = LIGHT) -> str:
    """The background of a cell on paper."""
    return palette.mix(*paint(cell, theme), theme.paper)


def ink(cell: Cell, theme: Theme = LIGHT) -> str:
    """The colour of text on a cell."""
    if cell.role in ("lost", "rounded"):
        return palette.mix(theme.ink, 0.78, theme.paper)
    if not cell.role and (cell.state == "dim" or (cell.lane is None and cell.heat is None)):
        return theme.dim
    return theme.text_on(fill(cell, theme))


def tint_fill(tint: Tint, theme: Theme = LIGHT) -> str:
    """The colour behind bits of a float: blue for the sign, orange for the exponent, paper for the rest."""
    if tint.field not in ("sign", "exponent"):
        return theme.paper
    hue = palette.HUES["orange"]
    if tint.field == "sign":
        hue = theme.sign if tint.strong else palette.HUES["blue"]
    return hue if tint.strong else palette.mix(hue, _TINTED, theme.paper)


def word_colour(word: TextLine, theme: Theme = LIGHT) -> str:
    """The colour of a line of text."""
    if word.field is not None:
        return theme.dim if word.field == "ignored" else theme.ink
    if word.on is not None:
        return ink(word.on, theme)
    return theme.ink if word.role in ("title", "grid title") else theme.dim
