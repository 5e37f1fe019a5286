"""Charts: numbers as bars or lines, and texts as tables with shaded cells."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np

from .._util.arguments import as_flag
from . import palette
from .drawing import PAGE, SANS
from .grid import Cell, Entry, Grid, Header, uniform_grid
from .picture import Picture, require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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

    `text` formats a number; `most` is the number of the longest bar, by default the largest.

    >>> grid = bars({"f32": 128, "f16": 64}, "Registers of D").grids[0]
    >>> [(cell.width, cell.text) for cell in grid.cells if cell.lane is not None or cell.lines]
    [(56, ''), (4, '128'), (28, ''), (3, '64')]
    """
    groups = {
        label: dict(group) if isinstance(group, Mapping) else {"": group} for label, group in values.items()
    }
    numbers = [number for group in groups.values() for number in group.values()]
    longest = max(most or 0.0, *numbers) or 1.0
    series_names = {tuple(group) for group in groups.values()}
    # colours only where all groups have the same series
    hues = _SERIES if len(series_names) == 1 else _SERIES[:1]
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
    return math.ceil(_LETTERS * len(words))


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
    rows = list(texts)

    def entry(row: int, column: int) -> Entry:
        text = texts[rows[row]][column]
        heat = (shades or {}).get(text, 0.0) if text else None
        tooltip = f"{rows[row]}, {columns[column]}: {text or 'none'}".replace("\n", " ")
        return Entry(tuple(text.splitlines()), None, tooltip, heat=heat)

    return Picture(title, tuple(notes), (uniform_grid(shape, entry, rows, columns, axes),))


# -- lines -----------------------------------------------------------------------------------------------

_HUES = ("blue", "vermilion", "green", "purple", "orange", "sky", "grey")
_WIDTH, _PLOT_HEIGHT = PAGE, 310
_LEFT, _RIGHT, _BOTTOM = 64, 200, 52
_TITLE_HEIGHT, _NOTE_HEIGHT = 26, 18
_NOTE_LETTERS = 128  # of a line below the title
_STEPS = (1, 2, 2.5, 5, 10)
_LABEL_HEIGHT = 16  # of names that stand below each other


@dataclass(frozen=True)
class Line:
    """One line: its name, its points, and the tooltip of each.

    >>> Line("f16", (8, 16), (61.0, 122.0)).colour
    ''
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    tips: tuple[str, ...] = ()
    colour: str = ""  # a name of `palette.HUES`; lines without one get the free hues in turn
    dashed: bool = False
    dots: bool = True  # at its points
    #: Where its name stands: at its end, above it in its direction, or at its middle; of a point beside it.
    named: Literal["end", "along", "middle"] = "end"


@dataclass(frozen=True)
class _Label:
    """The name of a line, in pixels of the chart: where it begins, or what it is centred on."""

    line: Line
    x: float
    y: float
    anchor: Literal["start", "middle", "end"] = "start"
    angle: float = 0.0  # degrees, clockwise
    is_beside: bool = False  # right of the plot, after a piece of its line


@dataclass(frozen=True)
class LineChart:
    """Lines under a title, with their names beside them. A notebook shows it as SVG.

    >>> chart = LineChart("Throughput", (), (Line("f16", (8, 16, 24), (61.0, 122.0, 180.0)),), "N", "TFLOP/s")
    >>> chart.svg().count("<polyline")
    1
    """

    title: str
    notes: tuple[str, ...]
    lines: tuple[Line, ...]
    x_title: str
    y_title: str
    x_step: float = 0  # between two ticks; 0: a round number
    titled: bool = True
    logarithmic: bool = False  # both axes
    limits: tuple[tuple[float, float], tuple[float, float]] | None = None  # of both axes, where logarithmic

    def with_title(self, title: bool) -> LineChart:
        """The chart with its title and notes, or without them."""
        return replace(self, titled=as_flag(title, "title"))

    @property
    def subtitle(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)

    def colour_of(self, line: Line) -> str:
        """The colour of a line: its own, or the next one that no line names."""
        free = [hue for hue in _HUES if hue not in {other.colour for other in self.lines}]
        unnamed = [other for other in self.lines if not other.colour]
        name = line.colour or (free or _HUES)[unnamed.index(line) % len(free or _HUES)]
        return palette.HUES[name]

    def svg(self, *, themed: bool = False) -> str:
        """One SVG document on white paper or, `themed`, on the page, whose text colour it takes."""
        return _draw(self, "currentColor" if themed else palette.INK, paper="" if themed else palette.PAPER)

    def figure(self) -> Figure:
        """The chart as a Plotly figure, which looks as its SVG."""
        require_plotly()
        return _plotted(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto; color: {palette.PAGE_INK}">{self.svg(themed=True)}</div>'


def ticks(most: float, step: float = 0, wanted: int = 6) -> list[float]:
    """Round numbers from 0 to at least `most`.

    >>> ticks(845)
    [0, 200, 400, 600, 800, 1000]
    """
    if not step:
        rough = most / wanted or 1.0
        power = 10.0 ** math.floor(math.log10(rough))
        step = min(power * digit for digit in _STEPS if power * digit >= rough * 0.999)
    values = [step * i for i in range(math.ceil(most / step - 1e-9) + 1)]
    return [int(value) if value == int(value) else value for value in values]


def decades(low: float, high: float) -> list[float]:
    """Round numbers of a logarithmic axis between two: powers of ten and, where these are few, more.

    >>> decades(0.3, 420), decades(30, 500)
    ([1.0, 10.0, 100.0], [50.0, 100.0, 200.0, 500.0])
    """
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    tens = [power for power in powers if low <= power <= high]
    if len(tens) > 2:
        return tens
    return [power * digit for power in powers for digit in (1, 2, 5) if low <= power * digit <= high]


class _Plot:
    """Where the numbers of a chart are, in pixels, and the names of its lines."""

    def __init__(self, chart: LineChart) -> None:
        self.chart = chart
        self.notes: list[str] = []
        if chart.titled:
            self.notes = textwrap.wrap(
                chart.subtitle, _NOTE_LETTERS, break_long_words=False, break_on_hyphens=False
            )
        self.top = 14 + (_TITLE_HEIGHT + _NOTE_HEIGHT * len(self.notes) if chart.titled else 0)
        self.left, self.right, self.bottom = _LEFT, _WIDTH - _RIGHT, self.top + _PLOT_HEIGHT
        self.width, self.height = _WIDTH, self.bottom + _BOTTOM
        xs = [x for line in chart.lines for x in line.x]
        ys = [y for line in chart.lines for y in line.y]
        if chart.logarithmic:
            self.x_range, self.y_range = chart.limits or ((min(xs), max(xs)), (min(ys), max(ys)))
            self.across, self.up = decades(*self.x_range), decades(*self.y_range)
        else:
            self.across, self.up = ticks(max(xs), chart.x_step), ticks(max(ys))
            self.x_range, self.y_range = (0, self.across[-1]), (0, self.up[-1])

    def x(self, value: float) -> float:
        """Where a number is across."""
        return self.left + (self.right - self.left) * self._part(value, self.x_range)

    def y(self, value: float) -> float:
        """Where a number is up."""
        return self.bottom - _PLOT_HEIGHT * self._part(value, self.y_range)

    def _part(self, value: float, limits: tuple[float, float]) -> float:
        """The position of a value between two limits, 0 and 1."""
        low, high = limits
        if self.chart.logarithmic:
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)

    def labels(self) -> list[_Label]:
        """The names of the lines; those at the ends of lines are pushed apart."""
        labels, beside = [], []
        for line in self.chart.lines:
            places = [(self.x(x), self.y(y)) for x, y in zip(line.x, line.y, strict=True)]
            (x0, y0), (x1, y1) = places[0], places[-1]
            if len(places) == 1:
                is_left = x0 + 12 + 7 * len(line.name) > self.width
                labels.append(
                    _Label(line, x0 + (-12 if is_left else 12), y0 + 4, "end" if is_left else "start")
                )
            elif line.named == "along":
                angle = math.atan2(y1 - y0, x1 - x0)
                x, y = (x0 + x1) / 2 + 8 * math.sin(angle), (y0 + y1) / 2 - 8 * math.cos(angle)
                labels.append(_Label(line, x, y, "middle", math.degrees(angle)))
            elif line.named == "middle":
                labels.append(_Label(line, (x0 + x1) / 2 + 8, (y0 + y1) / 2 + 4))
            else:
                beside.append(_Label(line, self.right + 34, y1 + 4, is_beside=True))
        beside.sort(key=lambda label: label.y)
        ys = [label.y for label in beside]
        for _ in range(len(ys)):  # a chain of names moves as far as it needs
            for i in range(1, len(ys)):
                lacking = _LABEL_HEIGHT - (ys[i] - ys[i - 1])
                if lacking > 0:
                    ys[i - 1], ys[i] = ys[i - 1] - lacking / 2, ys[i] + lacking / 2
        shift = max(0.0, self.top + 10 - ys[0]) if ys else 0.0
        return labels + [replace(label, y=y + shift) for label, y in zip(beside, ys, strict=True)]


def _draw(chart: LineChart, ink: str, paper: str) -> str:
    """The chart as SVG: title and notes, marks of both axes, lines and their names."""
    plot = _Plot(chart)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{plot.width}" height="{plot.height}" '
        f'viewBox="0 0 {plot.width} {plot.height}" role="img" aria-label="{escape(chart.title)}">',
        f"<title>{escape(chart.title, quote=False)}</title>",
    ]
    if paper:
        parts.append(f'<rect width="100%" height="100%" fill="{paper}"/>')
    parts.append(f'<g font-family="{SANS}" font-size="12" fill="{ink}">')
    if chart.titled:
        parts.append(svg_text(4, 20, chart.title, 'font-size="15" font-weight="bold"'))
        parts += [
            svg_text(4, 20 + _NOTE_HEIGHT * (i + 1), note, 'opacity="0.75"')
            for i, note in enumerate(plot.notes)
        ]
    for value in plot.up:
        y = plot.y(value)
        parts.append(f'<path d="M{plot.left} {y:.1f}H{plot.right}" stroke="{ink}" stroke-opacity="0.15"/>')
        parts.append(svg_text(plot.left - 8, y + 4, f"{value:g}", 'text-anchor="end"'))
    for value in plot.across:
        parts.append(svg_text(plot.x(value), plot.bottom + 18, f"{value:g}", 'text-anchor="middle"'))
    axes = f"M{plot.left} {plot.top}V{plot.bottom}H{plot.right}"
    parts.append(f'<path d="{axes}" fill="none" stroke="{ink}" stroke-opacity="0.6"/>')
    middle = (plot.left + plot.right) / 2
    parts.append(svg_text(middle, plot.height - 12, chart.x_title, 'text-anchor="middle"'))
    middle = (plot.top + plot.bottom) / 2
    parts.append(
        svg_text(14, middle, chart.y_title, f'text-anchor="middle" transform="rotate(-90 14 {middle:g})"')
    )
    parts += ["</g>", *_lines(plot), *_names(plot, ink, paper or palette.PAGE_PAPER), "</svg>", ""]
    return "\n".join(parts)


def _lines(plot: _Plot) -> list[str]:
    parts = []
    for line in plot.chart.lines:
        colour = plot.chart.colour_of(line)
        points = [(plot.x(x), plot.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        tips = line.tips or tuple(f"{line.name}: {y:g} at {x:g}" for x, y in zip(line.x, line.y, strict=True))
        for (x, y), tip in zip(points, tips, strict=True) if line.dots else ():
            title = f"<title>{escape(tip, quote=False)}</title>"
            radius = 6 if len(points) == 1 else 3
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">{title}</circle>')
    return parts


def _names(plot: _Plot, ink: str, paper: str) -> list[str]:
    """The name of each line; after a piece of it where it stands beside the plot."""
    parts = [f'<g font-family="{SANS}" font-size="12" fill="{ink}">']
    for label in plot.labels():
        line, x, y = label.line, label.x, label.y
        attributes = f'text-anchor="{label.anchor}"'
        if label.angle:
            attributes += f' transform="rotate({label.angle:.1f} {x:g} {y:g})"'
        if label.is_beside:
            dash = ' stroke-dasharray="6 4"' if line.dashed else ""
            end_x, end_y = plot.x(line.x[-1]), plot.y(line.y[-1])
            if end_x > plot.right - 1:  # from its end to its name
                leader = f"M{end_x + 4:.1f} {end_y:.1f}L{x - 24:.1f} {y - 4:.1f}"
                parts.append(f'<path d="{leader}" stroke="{ink}" stroke-opacity="0.3"/>')
            colour = plot.chart.colour_of(line)
            parts.append(f'<path d="M{x - 22:g} {y - 4:.1f}h18" stroke="{colour}" stroke-width="2.5"{dash}/>')
        else:  # lines may cross it
            attributes += f' stroke="{paper}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        parts.append(svg_text(round(x, 1), round(y, 1), line.name, attributes))
    return [*parts, "</g>"]


def _plotted(chart: LineChart) -> Figure:
    """A chart of lines as its SVG has it, with the tooltips of its points."""
    from plotly.graph_objects import Scatter

    from .plotly_figure import BUTTONS, Chart, heading

    plot = _Plot(chart)
    figure = Chart()
    for line in chart.lines:
        tips = list(line.tips) or None
        dash = "dash" if line.dashed else "solid"
        figure.add_trace(
            Scatter(
                x=list(line.x),
                y=list(line.y),
                name=line.name,
                mode="lines+markers" if line.dots else "lines",
                line={"color": chart.colour_of(line), "width": 2, "dash": dash},
                marker={"size": 12 if len(line.x) == 1 else 6},
                text=tips,
                hovertemplate="%{text}<extra></extra>" if tips else None,
                hoverinfo=None if line.dots else "skip",
            )
        )
    for label in plot.labels():
        sample = "╌╌" if label.line.dashed else "━━"
        colour = chart.colour_of(label.line)
        name = escape(label.line.name, quote=False)
        figure.add_annotation(
            text=f'<span style="color: {colour}">{sample}</span> {name}' if label.is_beside else name,
            x=(label.x - (22 if label.is_beside else 0) - plot.left) / (plot.right - plot.left),
            y=(plot.bottom - label.y + 4) / (plot.bottom - plot.top),
            xref="paper",
            yref="paper",
            xanchor={"start": "left", "middle": "center", "end": "right"}[label.anchor],
            yanchor="middle",
            textangle=label.angle,
            showarrow=False,
            bgcolor=palette.PAPER,
            opacity=1 if label.is_beside else 0.85,
            borderpad=0,
            font={"size": 12},
        )
    if chart.logarithmic:
        ranges = [[math.log10(limit) for limit in limits] for limits in (plot.x_range, plot.y_range)]
    else:
        ranges = [[*plot.x_range], [*plot.y_range]]
    plain = {
        "type": "log" if chart.logarithmic else "linear",
        "zeroline": False,
        "linecolor": palette.RULE,
        "showline": True,
        "tickmode": "array",
    }
    numbers = [[f"{value:g}" for value in values] for values in (plot.across, plot.up)]
    across = {"tickvals": plot.across, "ticktext": numbers[0], "showgrid": False}
    up = {"tickvals": plot.up, "ticktext": numbers[1], "gridcolor": palette.GRID}
    title, subtitle = (chart.title, chart.subtitle) if chart.titled else ("", "")
    figure.update_layout(
        title=heading(title, plot.notes),
        width=plot.width,
        height=plot.height,
        margin={
            "l": plot.left,
            "r": plot.width - plot.right,
            "t": plot.top,
            "b": plot.height - plot.bottom,
            "pad": 0,
            "autoexpand": False,
        },
        modebar={"remove": BUTTONS},
        dragmode=False,
        hovermode="closest",
        showlegend=False,
        paper_bgcolor=palette.PAPER,
        plot_bgcolor=palette.PAPER,
        font={"family": SANS, "size": 12, "color": palette.INK},
        meta={"title": title, "subtitle": subtitle},
        xaxis={"title": {"text": chart.x_title, "font": {"size": 12}}, "range": ranges[0], **plain, **across},
        yaxis={"title": {"text": chart.y_title, "font": {"size": 12}}, "range": ranges[1], **plain, **up},
    )
    figure.source = chart
    return figure


def svg_text(x: float, y: float, text: str, attributes: str = "") -> str:
    """A line of text in SVG, from its left end or as the attributes say."""
    return f'<text x="{x:g}" y="{y:g}" {attributes}>{escape(text, quote=False)}</text>'
