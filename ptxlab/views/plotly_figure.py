"""A drawing as a Plotly figure: a heat map for each grid, a trace of lines, one of words; no slow shapes.

The only module that imports Plotly; it is loaded at the first figure.
"""

from __future__ import annotations

import base64
import hashlib
import html
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from numpy.typing import NDArray

from . import palette
from .drawing import (
    MONO,
    PAGE,
    SANS,
    Drawing,
    Panel,
    fill,
    paint,
    tint_fill,
    word_colour,
)
from .grid import Cell
from .labels import number_text
from .palette import DARK, DARK_PAGES, LIGHT, Theme
from .static_image import image, static_image
from .svg import svg_document

_Points = list[tuple[float | None, float | None]]  # (None, None) lifts the pen

# On a dark page every figure with dark colours of its own lets the page through.
_DARK_PAGE_RULES = {
    "main-svg": "background: transparent !important",
    "bg": "fill-opacity: 0 !important",
    "hoverlayer .hovertext path": f"fill: {DARK.paper} !important; stroke: {DARK.ink} !important",
    "modebar-group": "background: transparent !important",
    "modebar-btn path": f"fill: {DARK.dim} !important",
}
# Plotly takes colours as numbers, so a figure cannot ask for those of the page. A notebook gets it drawn
# twice, in the colours of a light page and, with no opacity, in those of a dark one. A style sheet swaps
# them on a dark page, and paper lets the page through. Where style sheets are removed, the light one is seen.
# The style asks for a class that Plotly makes of the `uid` of an empty trace, and so leaves other figures
# alone: what stands before that trace is light, what stands after it is dark. Heat maps get no such class;
# theirs are light and dark in turn.
_THEMED = "ptxlabthemed"
_THEMED_RULES = {
    **_DARK_PAGE_RULES,
    "heatmaplayer .hm:nth-child(odd) image": "opacity: 0 !important",
    "heatmaplayer .hm:nth-child(even) image": "opacity: 1 !important",
    f"scatterlayer .trace:has(~ .trace{_THEMED})": "opacity: 0 !important",
    f"scatterlayer .trace{_THEMED} ~ .trace": "opacity: 1 !important",
    "hoverlayer .hovertext text": f"fill: {DARK.ink} !important",
}
# A matrix of numbers has two heat maps, the dark one below the light one, and two colour bars likewise; its
# text can be read on all colours of the dark one.
_MATRIX = "ptxlabmatrix"
_MATRIX_RULES = {
    **_DARK_PAGE_RULES,
    "main-svg text": f"fill: {DARK.ink} !important",
    "heatmaplayer .hm:nth-child(odd) image": "opacity: 1 !important",
    "heatmaplayer .hm:nth-child(even) image": "opacity: 0 !important",
    "colorbar ~ .colorbar .cbfills": "display: none",
}
# A figure that was changed has only its own colours: on a dark page, lightness is inverted and hues are kept,
# and the cells let the page through by as much as text on them needs to be read.
_INVERTED = "ptxlab"
_INVERTED_RULES = {
    "svg-container": "filter: invert(0.95) hue-rotate(180deg)",
    "main-svg": "background: transparent !important",
    "bg": "fill-opacity: 0 !important",
    "heatmaplayer image": "opacity: 0.65 !important",
}


def _dark_style(uid: str, rules: dict[str, str]) -> str:
    figure = f":is({DARK_PAGES}) .js-plotly-plot:has(.trace{uid})"
    return "".join(f"{figure} .{part} {{ {rule}; }}\n" for part, rule in rules.items())


#: Buttons that Plotly need not show; a camera and a way back stay.
BUTTONS = ["select2d", "lasso2d", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"]
_BESIDE = 170  # pixels of a heat map that are not cells
_ROOM = PAGE - _BESIDE
_ANCHOR = {"start": "middle right", "middle": "middle center", "end": "middle left"}


_PLOTLY = "application/vnd.plotly.v1+json"
_MAX_PIXELS = 1 << 16  # of a matrix of numbers that a saved notebook shows without Plotly


class _Source(Protocol):
    """What draws itself, such as a chart of lines."""

    @property
    def title(self) -> str: ...
    def figure(self) -> go.Figure: ...
    def svg(self) -> str: ...


class Chart(go.Figure):  # type: ignore[misc]
    """A Plotly figure that is dark where the notebook is.

    >>> Chart(layout={"width": 300}).layout.width
    300
    """

    _source: Drawing | NumberMatrix | _Source | None = None
    _made = b""

    @property
    def source(self) -> Drawing | NumberMatrix | _Source | None:
        """What it was made from; None for others. It is set when the figure is complete."""
        return self._source

    @source.setter
    def source(self, source: Drawing | NumberMatrix | _Source) -> None:
        self._source, self._made = source, self._digest()

    @property
    def unchanged(self) -> bool:
        """Whether it still is what it was made as."""
        if self.source is None:
            return False
        return self._digest() == self._made or bool(self == _made_of(self.source))

    def _digest(self) -> bytes:
        """Of all that Plotly keeps of it: to make and compare another one takes twenty times as long."""
        kept = self._data, self._layout, [frame.to_plotly_json() for frame in self.frames]
        return hashlib.sha256(pickle.dumps(kept)).digest()

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        shown = self.to_dict()
        uid, rules, data = _INVERTED, _INVERTED_RULES, [*shown["data"], _marker(_INVERTED)]
        source = self.source if self.unchanged else None
        if isinstance(source, Drawing):
            dark = chart(source, DARK)
            uid, rules, data = _THEMED, _THEMED_RULES, _in_both_themes(shown["data"], dark)
        elif isinstance(source, NumberMatrix):
            dark = heat_map(source, DARK)
            dark.update_traces(opacity=0, hoverinfo="skip", hovertemplate=None, texttemplate=None)
            dark.update_traces(colorbar_showticklabels=False)
            uid, rules, data = _MATRIX, _MATRIX_RULES, [*dark.to_dict()["data"], *data[:-1], _marker(_MATRIX)]
        display(HTML(f"<style>{_dark_style(uid, rules)}</style>"))
        figure = {**shown, "data": data}  # of valid parts, which another Figure would only copy
        static = "" if source is None else _static_html(source)
        bundle = pio.renderers._build_mime_bundle(figure, pio.renderers.default) if static else {}
        if list(bundle) == [_PLOTLY]:
            display({**bundle, "text/html": static}, raw=True)
        else:
            go.Figure(figure)._ipython_display_()


def _static_html(source: Drawing | NumberMatrix | _Source) -> str:
    """An image for readers of the notebook that do not draw Plotly's figures, such as GitHub and nbviewer."""
    if isinstance(source, NumberMatrix):
        return static_image(source.drawing()) if 0 < source.values.size <= _MAX_PIXELS else ""
    if isinstance(source, Drawing):
        return static_image(source)
    return image(source.svg(), PAGE, source.title)


def _made_of(source: Drawing | NumberMatrix | _Source) -> go.Figure:
    """The figure of a source."""
    if isinstance(source, Drawing):
        return chart(source)
    return heat_map(source) if isinstance(source, NumberMatrix) else source.figure()


def _marker(uid: str) -> dict[str, Any]:
    """An empty trace by which the style sheet knows a figure."""
    style = {"mode": "lines", "hoverinfo": "skip", "showlegend": False, "uid": uid}
    return {"type": "scatter", "x": [None], "y": [None], **style}


def _in_both_themes(light: list[dict[str, Any]], dark: Chart) -> list[dict[str, Any]]:
    """The traces of both figures in the order that the style sheet expects, those of the dark one unseen."""
    dark.update_traces(opacity=0, hoverinfo="skip")
    dark.update_traces(text=None, hovertemplate=None, selector={"type": "heatmap"})
    both = light, dark.to_dict()["data"]
    light_maps, dark_maps = ([trace for trace in traces if trace["type"] == "heatmap"] for traces in both)
    light_lines, dark_lines = ([trace for trace in traces if trace["type"] != "heatmap"] for traces in both)
    maps = [trace for pair in zip(light_maps, dark_maps, strict=True) for trace in pair]
    return [*maps, *light_lines, _marker(_THEMED), *dark_lines]


def chart(drawing: Drawing, theme: Theme = LIGHT) -> Chart:
    """The drawing as a Plotly figure, at its natural size in pixels."""
    traces = [_backgrounds(panel, theme) for panel in drawing.panels]
    for width, colour, points in _outlines(drawing, theme):
        if points:
            traces.append(_lines(points, line={"width": width, "color": colour}))
    for colour, points in _tints(drawing, theme).items():
        line = {"width": 0, "color": colour}
        traces.append(_lines(points, line=line, fill="toself", fillcolor=colour))
    traces.append(_words(drawing, theme))
    labelled = all(panel.grid.labelled for panel in drawing.panels)
    layout = {
        "width": drawing.width,
        "height": drawing.height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "paper_bgcolor": theme.paper,
        "plot_bgcolor": theme.paper,
        "showlegend": False,
        "hoverlabel": {
            "font": {"family": MONO, "size": 12, "color": theme.ink},
            "bgcolor": theme.paper,
            "bordercolor": theme.ink,
            "align": "left",
        },
        "xaxis": {"range": [0, drawing.width], "visible": False},
        "yaxis": {"range": [drawing.height, 0], "visible": False},
        "dragmode": False if labelled else "zoom",
        "modebar": {"remove": BUTTONS},
        "meta": {"title": drawing.title, "subtitle": drawing.subtitle},
    }
    figure = Chart(traces, layout)  # in one go: every change of a figure is checked and copied
    figure.source = drawing
    return figure


def _lines(points: _Points, **style: Any) -> dict[str, Any]:
    """A trace of lines. Coordinates are arrays, in which Plotly does not look at every element."""
    xs, ys = zip(*points, strict=True)
    x, y = np.array(xs, dtype=object), np.array(ys, dtype=object)
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip", **style}


def svg_carrier(drawing: Drawing) -> go.Figure:
    """A figure that holds nothing but the SVG, for kaleido to write: lines and letters stay what they are."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg_document(drawing).encode()).decode()}"
    over = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1, "sizing": "stretch"}
    margin = {"l": 0, "r": 0, "t": 0, "b": 0}
    figure = go.Figure(layout={"width": drawing.width, "height": drawing.height, "margin": margin})
    figure.update_layout(
        xaxis={"visible": False}, yaxis={"visible": False}, images=[{"source": source, **over}]
    )
    return figure


def _backgrounds(panel: Panel, theme: Theme) -> dict[str, Any]:
    """The backgrounds as indices into a list of colours, which the heat map shows without blending."""
    grid = panel.grid
    number_of = {
        colour: i for i, colour in enumerate(dict.fromkeys(_shade(cell, theme) for cell in grid.cells))
    }
    z = np.zeros(grid.shape, dtype=np.int16)
    for cell in grid.cells:
        colour = number_of[_shade(cell, theme)]
        z[cell.row : cell.row + cell.height, cell.column : cell.column + cell.width] = colour
    stops = [
        (stop, colour)
        for colour, i in number_of.items()
        for stop in (i / len(number_of), (i + 1) / len(number_of))
    ]
    hover = [[str(text).replace("\n", "<br>") for text in row] for row in grid.hover]
    return {
        "type": "heatmap",
        "x": panel.x,
        "y": panel.y,
        "z": z,
        "zmin": -0.5,
        "zmax": len(number_of) - 0.5,
        "colorscale": stops,
        "showscale": False,
        "text": np.array(hover, dtype=object),
        "hovertemplate": "%{text}<extra></extra>",
        "name": grid.title,
    }


def _shade(cell: Cell, theme: Theme) -> str:
    """The background of a cell; on a dark page, whose colour is not known, paper is transparent."""
    if theme is DARK and not paint(cell, theme)[1]:
        return palette.TRANSPARENT
    return fill(cell, theme)


def _outlines(drawing: Drawing, theme: Theme) -> list[tuple[float, str, _Points]]:
    """Width, colour and points of gaps between bits, cell borders, rules and frames, and marked cells."""
    gaps: _Points = []
    borders: _Points = []
    rules: _Points = []
    marks: _Points = []
    for panel in drawing.panels:
        left, right = float(panel.x[0]), float(panel.x[-1])
        for frame in panel.frames:
            rules += _box(*frame)
        for row in panel.grid.row_rules:
            y = float(panel.y[row])
            rules += [(left, y), (right, y), (None, None)]
        for column, first, stop in panel.grid.column_rules:
            x = float(panel.x[column])
            rules += [(x, float(panel.y[first])), (x, float(panel.y[stop])), (None, None)]
        for outline in panel.outlines:
            marks += _box(*outline)
        thin = gaps if panel.grid.density == "tight" else borders
        for cell in panel.grid.cells:
            if cell.state == "mark":
                marks += _box(*panel.box(cell))
            elif panel.grid.labelled and cell.role != "blank":
                thin += _box(*panel.box(cell))
    for arrow in drawing.arrows:
        rules += [*arrow, (None, None)]
    return [
        (1, theme.paper, gaps),
        (0.75, theme.rule, borders),
        (1.5, theme.ink, rules),
        (2.5, theme.ink, marks),
    ]


def _tints(drawing: Drawing, theme: Theme) -> dict[str, _Points]:
    """The rectangles behind bits of floats, by colour."""
    boxes: dict[str, _Points] = {}
    for tint in drawing.tints:
        boxes.setdefault(tint_fill(tint, theme), []).extend(_box(*tint.box))
    return boxes


def _box(x: float, y: float, width: float, height: float) -> _Points:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y), (None, None)]


def _words(drawing: Drawing, theme: Theme) -> dict[str, Any]:
    words = drawing.words
    texts = [f"<b>{word.text}</b>" if word.bold else word.text for word in words]
    return {
        "type": "scatter",
        "x": np.array([word.x for word in words], dtype=object),
        "y": np.array([word.y for word in words], dtype=object),
        "text": np.array(texts, dtype=object),
        "mode": "text",
        "textposition": [_ANCHOR[word.anchor] for word in words],
        "textfont": {
            "size": [word.size for word in words],
            "color": [word_colour(word, theme) for word in words],
            "family": [MONO if word.mono else SANS for word in words],
        },
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


# -- matrices of numbers ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberMatrix:
    """A matrix of numbers that is drawn as a heat map, with names of its rows and columns.

    `centred`: its colours run from blue over white at zero to vermilion, otherwise from light to blue.
    """

    values: NDArray[np.float64]
    title: str
    axes: tuple[str, str]
    centred: bool
    drawing: Callable[[], Drawing]  # the same without Plotly


def heading(title: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The title of a figure, and notes below it, as pictures have them."""
    return {
        "text": f"<b>{html.escape(title, quote=False)}</b>" if title else "",
        "font": {"size": 15},
        "subtitle": {
            "text": "<br>".join(html.escape(note, quote=False) for note in notes),
            "font": {"size": 12, "color": palette.DIM},
        },
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"l": 4, "t": 8},
    }


def heat_map(matrix: NumberMatrix, theme: Theme = LIGHT) -> Chart:
    """A matrix of numbers as a heat map, with the numbers where they fit."""
    values, axes = matrix.values, matrix.axes
    rows, columns = values.shape
    size = _text_size(values)
    across, down = _pitch(columns, size is not None)
    above = 100 if matrix.title else 64
    figure = Chart(
        go.Heatmap(
            z=values,
            colorscale=_colour_scale(matrix.centred, theme),
            zmid=0 if matrix.centred else None,
            xgap=0 if size is None else 1,
            ygap=0 if size is None else 1,
            text=None
            if size is None
            else [[number_text(value, 5) for value in row] for row in values.tolist()],
            texttemplate=None if size is None else "%{text}",
            textfont={"family": MONO, "size": size or 11, "color": palette.INK},
            hovertemplate=f"{axes[0]} %{{y}}, {axes[1]} %{{x}}: %{{z}}<extra></extra>",
            colorbar={"thickness": 12, "outlinewidth": 0},
        )
    )
    plain: dict[str, Any] = {
        "showgrid": False,
        "zeroline": False,
        "dtick": None if size is None else 1,
        "ticks": "outside",  # unseen: they keep the numbers off the cells
        "tickcolor": palette.TRANSPARENT,
        "showline": True,
        "mirror": True,
        "linecolor": palette.RULE,
    }
    figure.update_layout(
        title=heading(matrix.title),
        width=max(columns * across + _BESIDE, min(9.5 * len(matrix.title) + 40, PAGE)),
        height=rows * down + above + 30,
        margin={"l": 60, "r": 20, "t": above, "b": 20},
        modebar={"remove": BUTTONS},
        dragmode=False,
        paper_bgcolor=palette.PAPER,
        plot_bgcolor=palette.RULE,
        font={"family": SANS, "color": palette.INK},
        xaxis={"title": axes[1], "side": "top", **plain},
        yaxis={"title": axes[0], "autorange": "reversed", **plain},
    )
    figure.source = matrix
    return figure


def _colour_scale(centred: bool, theme: Theme) -> list[tuple[float, str]]:
    """Colours of a heat map from the lowest number to the highest; text can be read on all of them."""
    blue, vermilion = palette.HUES["blue"], palette.HUES["vermilion"]
    low, high = (palette.mix(hue, palette.STRENGTHS[-1], theme.paper) for hue in (blue, vermilion))
    if centred:
        return [(0.0, low), (0.5, theme.paper), (1.0, high)]
    faint = palette.FAINT if theme is LIGHT else palette.mix(low, 0.12, theme.paper)
    return [(0.0, faint), (1.0, low)]


def _text_size(values: NDArray[np.float64]) -> int | None:
    """The largest text in which the numbers fit their cells; None if no size does."""
    if values.size > 1024 or not values.size:
        return None
    longest = max(len(number_text(value, 5)) for value in values.ravel().tolist())
    room = min(52, _ROOM // values.shape[1])
    return next((size for size in (11, 10, 9) if 0.605 * size * longest + 6 <= room), None)


def _pitch(columns: int, labelled: bool) -> tuple[int, int]:
    """Pixels from column to column and from row to row."""
    if labelled:
        return min(52, _ROOM // columns), 26
    across = min(max(_ROOM // columns, 3), 22)
    return across, max(min(across, 14), 6)
