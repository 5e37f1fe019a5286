"""A picture: grids under one title, which draws itself."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._util.arguments import as_flag
from ..errors import PtxlabError
from .drawing import Drawing
from .grid import Arrow, Grid
from .placing import draw
from .svg import svg_document

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def require_plotly() -> None:
    """An error that says what to install, where Plotly is missing."""
    try:
        importlib.import_module("plotly.graph_objects")
    except ImportError:
        raise PtxlabError('figures need plotly, which is not installed; pip install "ptxlab[lab]"') from None


@dataclass(frozen=True)
class Picture:
    """Grids under a title and notes: side by side except where one starts a new line, or arranged by spots.

    A notebook shows it as SVG; `ptxlab.figures.save` writes it to a file.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> picture = ptxlab.views.fragment(ins, "C")
    >>> picture.title, picture.grids[0].shape
    ('C of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32', (16, 8))
    """

    title: str
    notes: tuple[str, ...]  # what is shown and how to read it, one clause each
    grids: tuple[Grid, ...]
    titled: bool = True  # whether title and notes are drawn
    keys: tuple[Grid, ...] = ()  # what the colours mean, below the grids
    arrows: tuple[Arrow, ...] = ()

    def with_title(self, title: bool) -> Picture:
        """The picture with its title and notes, or without them, as papers want it that have captions.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> [word.text for word in ptxlab.views.fragment(ins, "C").with_title(False).drawing().words[:2]]
        ['n →', 'm ↓']
        """
        return replace(self, titled=as_flag(title, "title"))

    @property
    def subtitle(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)

    def drawing(self) -> Drawing:
        """The picture in pixels."""
        return draw(self)

    def svg(self) -> str:
        """The picture as one SVG document on white paper; it needs no other library.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> "T5:{c2,c3}" in ptxlab.views.fragment(ins, "C").svg()
        True
        """
        return svg_document(self.drawing())

    def figure(self) -> Figure:
        """The picture as a Plotly figure, at its natural size in pixels."""
        require_plotly()
        from .plotly_figure import chart

        return chart(self.drawing())

    def _repr_html_(self) -> str:
        """As part of a notebook: paper and ink follow JupyterLab's theme, and what is too wide scrolls."""
        return f'<div style="overflow-x: auto">{svg_document(self.drawing(), themed=True)}</div>'
