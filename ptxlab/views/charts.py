"""Charts: numbers as bars or lines, and texts as tables with shaded cells."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

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
_WIDTH, _HEIGHT = 820, 420
_LEFT, _RIGHT, _BOTTOM = 64, 178, 52
_TITLE_HEIGHT, _NOTE_HEIGHT = 26, 18
_NOTE_LETTERS = 128  # of a line below the title
_STEPS = (1, 2, 2.5, 5, 10)
#: Maps a number to its position in pixels.
_Scale = Callable[[float], float]


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


@dataclass(frozen=True)
class LineChart:
    """Lines under a title. A notebook shows it as SVG.

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
        """The chart as a Plotly figure."""
        require_plotly()
        from plotly.graph_objects import Scatter

        from .plotly_figure import BUTTONS, Chart

        figure = Chart()
        for line in self.lines:
            tips = list(line.tips) or None
            stroke = {"color": self.colour_of(line), "width": 2, "dash": "dash" if line.dashed else "solid"}
            figure.add_trace(
                Scatter(
                    x=list(line.x),
                    y=list(line.y),
                    name=line.name,
                    mode="lines+markers",
                    line=stroke,
                    marker={"size": 12 if len(line.x) == 1 else 6},
                    text=tips,
                    hovertemplate="%{text}<extra></extra>" if tips else None,
                )
            )
        grid = {
            "gridcolor": palette.GRID,
            "zeroline": False,
            "linecolor": palette.RULE,
            "rangemode": "tozero",
        }
        if self.logarithmic:
            grid |= {"type": "log", "rangemode": "normal", "dtick": 1}
        title, subtitle = (self.title, self.subtitle) if self.titled else ("", "")
        above = 76 if title else 24
        heading = f"<b>{title}</b><br><sup>{subtitle}</sup>" if title else ""
        figure.update_layout(
            title={"text": heading, "font": {"size": 15}, "x": 0, "xref": "paper"},
            width=PAGE,
            height=400 + above,
            margin={"l": 70, "r": 20, "t": above, "b": 60},
            modebar={"remove": BUTTONS},
            dragmode=False,
            hovermode="closest",
            showlegend=True,
            paper_bgcolor=palette.PAPER,
            plot_bgcolor=palette.PAPER,
            font={"family": SANS, "color": palette.INK},
            meta={"title": title, "subtitle": subtitle},
            xaxis={"title": self.x_title, "dtick": self.x_step or None, **grid},
            yaxis={"title": self.y_title, **grid},
        )
        figure.source = self
        return figure

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


def decades(values: Sequence[float]) -> list[float]:
    """Powers of ten that enclose the values, at least two.

    >>> decades([0.3, 42])
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _draw(chart: LineChart, ink: str, paper: str) -> str:
    """The chart as SVG: title and notes, marks of both axes, lines, legend."""
    notes: list[str] = []
    if chart.titled:
        notes = textwrap.wrap(chart.subtitle, _NOTE_LETTERS, break_long_words=False, break_on_hyphens=False)
    top = 14 + (_TITLE_HEIGHT + _NOTE_HEIGHT * len(notes) if chart.titled else 0)
    plot_height = _HEIGHT - 110
    height = top + plot_height + _BOTTOM
    xs = [x for line in chart.lines for x in line.x]
    ys = [y for line in chart.lines for y in line.y]
    across = decades(xs) if chart.logarithmic else ticks(max(xs), chart.x_step)
    up = decades(ys) if chart.logarithmic else ticks(max(ys))
    right = _WIDTH - _RIGHT

    def part(value: float, marks: list[float]) -> float:
        """The position of a value between the first mark, 0, and the last, 1."""
        if chart.logarithmic:
            return math.log(value / marks[0]) / math.log(marks[-1] / marks[0])
        return value / marks[-1]

    def x_of(value: float) -> float:
        return _LEFT + (right - _LEFT) * part(value, across)

    def y_of(value: float) -> float:
        return top + plot_height * (1 - part(value, up))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(chart.title)}">',
        f"<title>{escape(chart.title, quote=False)}</title>",
    ]
    if paper:
        parts.append(f'<rect width="100%" height="100%" fill="{paper}"/>')
    parts.append(f'<g font-family="{SANS}" font-size="12" fill="{ink}">')
    if chart.titled:
        parts.append(svg_text(4, 20, chart.title, 'font-size="15" font-weight="bold"'))
        parts += [
            svg_text(4, 20 + _NOTE_HEIGHT * (i + 1), note, 'opacity="0.75"') for i, note in enumerate(notes)
        ]
    for value in up:
        y = y_of(value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="{ink}" stroke-opacity="0.15"/>')
        parts.append(svg_text(_LEFT - 8, y + 4, f"{value:g}", 'text-anchor="end"'))
    for value in across:
        parts.append(svg_text(x_of(value), top + plot_height + 18, f"{value:g}", 'text-anchor="middle"'))
    axes = f"M{_LEFT} {top}V{top + plot_height}H{right}"
    parts.append(f'<path d="{axes}" fill="none" stroke="{ink}" stroke-opacity="0.6"/>')
    parts.append(svg_text((_LEFT + right) / 2, height - 12, chart.x_title, 'text-anchor="middle"'))
    middle = top + plot_height / 2
    parts.append(
        svg_text(14, middle, chart.y_title, f'text-anchor="middle" transform="rotate(-90 14 {middle:g})"')
    )
    parts += ["</g>", *_lines(chart, x_of, y_of), *_legend(chart, right, top, ink), "</svg>", ""]
    return "\n".join(parts)


def _lines(chart: LineChart, x_of: _Scale, y_of: _Scale) -> list[str]:
    parts = []
    for line in chart.lines:
        colour = chart.colour_of(line)
        points = [(x_of(x), y_of(y)) for x, y in zip(line.x, line.y, strict=True)]
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        tips = line.tips or tuple(f"{line.name}: {y:g} at {x:g}" for x, y in zip(line.x, line.y, strict=True))
        for (x, y), tip in zip(points, tips, strict=True):
            title = f"<title>{escape(tip, quote=False)}</title>"
            radius = 6 if len(points) == 1 else 3
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">{title}</circle>')
    return parts


def _legend(chart: LineChart, right: float, top: float, ink: str) -> list[str]:
    parts = [f'<g font-family="{SANS}" font-size="12" fill="{ink}">']
    for at, line in enumerate(chart.lines):
        y = top + 8 + 20 * at
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        parts.append(
            f'<path d="M{right + 14} {y:g}h24" stroke="{chart.colour_of(line)}" stroke-width="2.5"{dash}/>'
        )
        parts.append(svg_text(right + 44, y + 4, line.name))
    return [*parts, "</g>"]


def svg_text(x: float, y: float, text: str, attributes: str = "") -> str:
    """A line of text in SVG, from its left end or as the attributes say."""
    return f'<text x="{x:g}" y="{y:g}" {attributes}>{escape(text, quote=False)}</text>'
