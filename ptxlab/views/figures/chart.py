"""A picture as a Plotly figure: one heat map a grid, one trace of lines, one of words; no shapes, so that it stays quick."""

from __future__ import annotations

import base64
import importlib
from typing import Any

import numpy as np

from ...errors import PtxlabError
from .. import palette
from ..picture import Picture
from .drawing import MONO, PAGE, SANS, Drawing, Panel, draw, fill

__all__ = ["carrier", "chart", "heat", "picture_of", "plotly"]

_NEEDLESS = [
    "select2d",
    "lasso2d",
    "zoom2d",
    "pan2d",
    "zoomIn2d",
    "zoomOut2d",
    "autoScale2d",
]  # buttons; a camera and a way back stay
_BESIDE = 170  # pixels of a heat map that are no cells
_ROOM = PAGE - _BESIDE
_ANCHOR = {"start": "middle right", "middle": "middle center", "end": "middle left"}


def plotly() -> Any:
    """plotly.graph_objects, loaded at first use."""
    try:
        return importlib.import_module("plotly.graph_objects")
    except ImportError:
        raise PtxlabError('figures need plotly, which is not installed; pip install "ptxlab[lab]"') from None


def _figure(*traces: Any) -> Any:
    """A figure that knows how to show itself in a notebook."""
    plotly()  # says what to install, where it is not
    from .shown import Chart

    return Chart(traces)


def chart(picture: Picture) -> Any:
    """The picture as a plotly Figure, at its natural size in pixels."""
    go, drawing = plotly(), draw(picture)
    figure = _figure()
    for panel in drawing.panels:
        figure.add_trace(_colours(go, panel))
    for width, colour, points in _outlines(drawing):
        if points:
            xs, ys = zip(*points, strict=True)
            figure.add_trace(
                go.Scatter(x=xs, y=ys, mode="lines", line={"width": width, "color": colour}, hoverinfo="skip")
            )
    figure.add_trace(_words(go, drawing))
    figure.update_layout(
        width=drawing.width,
        height=drawing.height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        paper_bgcolor=palette.PAPER,
        plot_bgcolor=palette.PAPER,
        showlegend=False,
        hoverlabel={
            "font": {"family": MONO, "size": 12, "color": palette.INK},
            "bgcolor": palette.PAPER,
            "bordercolor": palette.INK,
            "align": "left",
        },
        xaxis={"range": [0, drawing.width], "visible": False},
        yaxis={"range": [drawing.height, 0], "visible": False},
        dragmode=False if all(panel.grid.lettered for panel in drawing.panels) else "zoom",
        modebar={"remove": _NEEDLESS},
        meta={"title": picture.title, "subtitle": picture.subtitle},
    )
    figure._picture = picture  # plotly leaves names with an underscore alone
    return figure


def picture_of(figure: Any) -> Picture | None:
    """The picture that a figure shows; None where it was made otherwise, or changed since."""
    found = figure if isinstance(figure, Picture) else getattr(figure, "_picture", None)
    return found if found is figure or (isinstance(found, Picture) and figure == chart(found)) else None


def carrier(svg: str, width: float, height: float) -> Any:
    """A figure that holds nothing but this SVG, for kaleido to write: lines and letters stay what they are."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    over = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1, "sizing": "stretch"}
    figure = plotly().Figure(
        layout={"width": width, "height": height, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}
    )
    figure.update_layout(
        xaxis={"visible": False}, yaxis={"visible": False}, images=[{"source": source, **over}]
    )
    return figure


def _colours(go: Any, panel: Panel) -> Any:
    """The backgrounds as indices into a list of colours, which the heat map shows without blending."""
    grid = panel.grid
    known = {colour: i for i, colour in enumerate(dict.fromkeys(fill(cell) for cell in grid.cells))}
    z = np.zeros(grid.shape, dtype=np.int16)
    for cell in grid.cells:
        z[cell.row : cell.row + cell.height, cell.column : cell.column + cell.width] = known[fill(cell)]
    stops = [(stop, colour) for colour, i in known.items() for stop in (i / len(known), (i + 1) / len(known))]
    hover = np.array([[str(said).replace("\n", "<br>") for said in row] for row in grid.hover], dtype=object)
    return go.Heatmap(
        x=panel.x,
        y=panel.y,
        z=z,
        zmin=-0.5,
        zmax=len(known) - 0.5,
        colorscale=stops,
        showscale=False,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        name=grid.title,
    )


def _outlines(drawing: Drawing) -> list[tuple[float, str, list[tuple[float | None, float | None]]]]:
    """Line width, colour and points of the thin cell borders, the rules and frames, and the outlines of marked cells."""
    thin: list[tuple[float | None, float | None]] = []
    rules: list[tuple[float | None, float | None]] = []
    marks: list[tuple[float | None, float | None]] = []
    gaps: list[tuple[float | None, float | None]] = []
    for panel in drawing.panels:
        left, right = float(panel.x[0]), float(panel.x[-1])
        for frame in panel.frames:
            rules += _box(*frame)
        for row in panel.grid.row_rules:
            rules += [(left, float(panel.y[row])), (right, float(panel.y[row])), (None, None)]
        for at, first, stop in panel.grid.column_rules:
            rules += [
                (float(panel.x[at]), float(panel.y[first])),
                (float(panel.x[at]), float(panel.y[stop])),
                (None, None),
            ]
        for cell in panel.grid.cells:
            if cell.state == "mark":
                marks += _box(*panel.box(cell))
            elif panel.grid.lettered and cell.role != "blank":
                (gaps if panel.grid.tight else thin).extend(_box(*panel.box(cell)))
    return [
        (1, palette.PAPER, gaps),
        (0.75, palette.RULE, thin),
        (1.5, palette.INK, rules),
        (2.5, palette.INK, marks),
    ]


def _box(x: float, y: float, width: float, height: float) -> list[tuple[float | None, float | None]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y), (None, None)]


def _words(go: Any, drawing: Drawing) -> Any:
    words = drawing.words
    return go.Scatter(
        x=[word.x for word in words],
        y=[word.y for word in words],
        text=[f"<b>{word.text}</b>" if word.bold else word.text for word in words],
        mode="text",
        textposition=[_ANCHOR[word.anchor] for word in words],
        textfont={
            "size": [word.size for word in words],
            "color": [word.colour for word in words],
            "family": [MONO if word.mono else SANS for word in words],
        },
        hoverinfo="skip",
        cliponaxis=False,
    )


def heat(values: np.ndarray[Any, Any], title: str, axes: tuple[str, str], centred: bool) -> Any:
    """A matrix of numbers as a heat map, with the numbers where they fit: sequential, or about zero from blue to vermilion."""
    go = plotly()
    rows, columns = values.shape
    longest = (
        max((len(f"{value:.5g}") for value in values.ravel().tolist()), default=1)
        if values.size <= 1024
        else 0
    )
    size = next(
        (size for size in (11, 10, 9) if longest and 0.605 * size * longest + 6 <= min(52, _ROOM // columns)),
        None,
    )
    text = size is not None
    low, high = (
        palette.mix(dict(palette.HUES)[hue], palette.STRENGTHS[-1]) for hue in ("blue", "vermilion")
    )  # numbers can be read on all of them
    scale = [(0.0, low), (0.5, palette.PAPER), (1.0, high)] if centred else [(0.0, "#F4F6F8"), (1.0, low)]
    finite = np.abs(values[np.isfinite(values)]) if values.size else values
    limit = float(finite.max()) if finite.size else 1.0
    figure = _figure(
        go.Heatmap(
            z=values,
            colorscale=scale,
            zmid=0 if centred and limit else None,
            xgap=int(text),
            ygap=int(text),
            texttemplate="%{z:.5~g}" if text else None,
            textfont={"family": MONO, "size": size or 11, "color": palette.INK},
            hovertemplate=f"{axes[0]} %{{y}}, {axes[1]} %{{x}}: %{{z}}<extra></extra>",
            colorbar={"thickness": 12, "outlinewidth": 0},
        )
    )
    across = min(52, _ROOM // columns) if text else min(max(_ROOM // columns, 3), 22)
    figure.update_layout(
        title={
            "text": title,
            "font": {"size": 15},
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14},
        },
        width=max(columns * across + _BESIDE, min(9.5 * len(title) + 40, PAGE)),
        height=rows * (26 if text else max(min(across, 14), 6)) + 130,
        margin={"l": 60, "r": 20, "t": 100, "b": 20},
        modebar={"remove": _NEEDLESS},
        dragmode=False,
        paper_bgcolor=palette.PAPER,
        plot_bgcolor=palette.RULE,
        font={"family": SANS, "color": palette.INK},
        xaxis={
            "title": axes[1],
            "side": "top",
            "showgrid": False,
            "zeroline": False,
            "dtick": 1 if text else None,
        },
        yaxis={
            "title": axes[0],
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
            "dtick": 1 if text else None,
        },
    )
    return figure
