"""A chart of lines as it is drawn: what `line_chart` describes and Plotly shows."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PtxlabError


@dataclass(frozen=True)
class Line:
    """One line: its name, its points, and the text that pointing at each shows.

    >>> Line("f16", (8, 16), (61.0, 122.0)).colour
    ''
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    tips: tuple[str, ...] = ()
    colour: str = ""  # a name of `palette.HUES`; lines without one take turns
    dashed: bool = False

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or not self.x:
            raise PtxlabError(f"line {self.name!r}: found {len(self.x)} x and {len(self.y)} y")


@dataclass(frozen=True)
class LineDrawing:
    """Lines, each in its colour, over two axes; title and subtitle are empty where they are not drawn."""

    lines: tuple[tuple[Line, str], ...]
    title: str
    subtitle: str
    axes: tuple[str, str]  # names of x and y
    x_step: float  # between two ticks; 0: a round number
    svg: str  # the same chart as a document
