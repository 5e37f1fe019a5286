"""A picture: grids under one title, which draws itself.

Its grids are placed in pixels: no wider than a page, side by side, below each other, or as in a table.
"""

from __future__ import annotations

import importlib
import itertools
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._util.arguments import as_flag
from ..errors import PtxlabError
from .drawing import PAGE, Drawing, Panel, TextLine, Tint
from .grid import Arrow, Cell, Grid, Header
from .palette import DARK, LIGHT
from .svg import svg_document

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_LETTER, _LINE_HEIGHT = 0.605, 1.35  # width of a monospaced letter and height of a line, in font sizes
_BOLD, _PLAIN = 0.68, 0.54  # average letters of the widest of the sans-serif fonts
_SIZES = 12, 11  # of text, the usual one and the smallest
_TITLE, _LONG_TITLE, _GRID_TITLE, _NOTE = 15.0, 12.0, 12.0, 12.0
_MARGIN, _GAP, _BUTTONS = 18.0, 34.0, 70.0  # the buttons are Plotly's, right of the title
_GRID_GAP = 24.0  # between grids side by side
_ROOM = PAGE - 2 * _MARGIN
_SLIDE, _TALL = 1400 - 2 * _MARGIN, 900  # of a matrix product, all of it in one picture
_MAPS = 940  # of heat maps side by side, without their headings: all of them in a window of 1440 pixels

_OVERHANG = 12.0  # pixels that the first and the last heading of a grid may be wider than what is below them
#: Length of an arrow's head, and pixels between an arrow and the cells it joins.
_ARROW_HEAD, _TOUCH = 9.0, 3.0

_LANE_LABEL = re.compile(r"(?<=\d:) ?(?=[\[{])")  # where a label such as "T5:{a0,a1}" may be broken

_STRIP = 6.0  # height of a strip that shows what the bits of a float are


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
        """The picture with its title and notes, or without them for papers, which have their own captions.

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
        return _draw(self)

    def svg(self, *, dark: bool = False) -> str:
        """The picture as one SVG document on white paper or `dark`, for slides; it needs no other library.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> "T5:{c2,c3}" in ptxlab.views.fragment(ins, "C").svg()
        True
        """
        return svg_document(self.drawing(), theme=DARK if as_flag(dark, "dark") else LIGHT)

    def figure(self) -> Figure:
        """The picture as a Plotly figure, at its natural size in pixels."""
        require_plotly()
        from .plotly_figure import chart

        return chart(self.drawing())

    def _repr_html_(self) -> str:
        """As part of a notebook: paper and ink follow JupyterLab's theme, and what is too wide scrolls."""
        return f'<div style="overflow-x: auto">{svg_document(self.drawing(), themed=True)}</div>'


# -- places of grids --------------------------------------------------------------------------------------


def _draw(picture: Picture) -> Drawing:
    """Place the grids under the title, no wider than a page: what is too wide is set smaller, then folded.

    A picture that is not `titled` shows the grids alone; its title stays for screen readers.
    """
    out, grids = Drawing(picture.title, picture.subtitle), (*picture.grids, *picture.keys)
    if any(grid.spot is not None for grid in grids):
        return _arrange(out, picture, grids)
    rows, size = _fold(grids)
    width, bottom = _write_title(out, picture, max(_row_width(row) for row in rows))
    for row in rows:
        titled = any(grid.title for grid, _ in row)
        left, top = _MARGIN, bottom + _GAP * (1.5 if titled else 0.85)
        for grid, measure in row:
            bottom = max(bottom, _place(out, grid, measure, left, top, size))
            left += measure.width + _GRID_GAP
    out.width, out.height = float(np.ceil(width + 2 * _MARGIN)), float(np.ceil(bottom + _MARGIN))
    out.arrows = [_arrow(out, arrow) for arrow in picture.arrows]
    return out


def _arrow(out: Drawing, arrow: Arrow) -> list[tuple[float, float]]:
    """The line that draws an arrow: its shaft, then its head."""
    (x0, y0), (x1, y1) = _middle(out, arrow.start, lower=True), _middle(out, arrow.end, lower=False)
    start, tip = np.array([x0, y0 + _TOUCH]), np.array([x1, y1 - _TOUCH])
    along = (tip - start) / np.linalg.norm(tip - start)
    across = np.array([-along[1], along[0]])
    left, right = (tip - _ARROW_HEAD * along + side * _ARROW_HEAD / 2 * across for side in (-1, 1))
    return [(float(x), float(y)) for x, y in (start, tip, left, tip, right)]


def _middle(out: Drawing, cell: Cell, *, lower: bool) -> tuple[float, float]:
    """The middle of an edge of a cell."""
    panel = next(panel for panel in out.panels if any(other is cell for other in panel.grid.cells))
    left, top, width, height = panel.box(cell)
    return left + width / 2, top + height if lower else top


def _write_title(out: Drawing, picture: Picture, width: float) -> tuple[float, float]:
    """Write title and notes over grids of that width; returns the total width and the top of the grids."""
    if not picture.titled:
        return width, _MARGIN - 0.95 * _GAP
    room = _ROOM - _BUTTONS
    size = max(min(_TITLE, room / (_BOLD * len(out.title))), _LONG_TITLE)
    titles = _title_lines(out.title, int(room / (_BOLD * size) + 0.01))
    width = max(min(_BOLD * size * max(map(len, titles)) + _BUTTONS, _ROOM), width)
    for i, line in enumerate(titles):
        out.words.append(TextLine(_MARGIN, _MARGIN + 8 + 18 * i, line, size, "title", anchor="start"))
    top = _MARGIN + 30 + 18 * (len(titles) - 1)
    lines = _wrapped(picture.notes, int(width / (_PLAIN * _NOTE)))
    for i, line in enumerate(lines):
        out.words.append(TextLine(_MARGIN, top + 16 * i, line, _NOTE, "note", "start"))
    return width, top - 8 + 16 * len(lines) - _GAP / 2


def _title_lines(title: str, letters: int) -> list[str]:
    """A title in lines of at most `letters` letters, broken before a qualifier of an instruction."""
    lines = [""]
    for part in re.split(r"(?<= )|(?=\.)", title):
        if lines[-1] and len(lines[-1] + part) > letters:
            lines.append("")
        lines[-1] += part
    return lines


def _wrapped(notes: Sequence[str], letters: int) -> list[str]:
    """Lines of at most `letters` letters, broken between notes where that is possible."""
    lines: list[str] = []
    for note in notes:
        if lines and len(lines[-1]) + len(note) + 3 <= letters:
            lines[-1] += f"; {note}"
        else:
            lines += textwrap.wrap(note, letters)
    return lines


def _arrange(out: Drawing, picture: Picture, grids: Sequence[Grid]) -> Drawing:
    """Place grids by their spots, like the cells of a table; grids of one spot stand on each other."""
    spots = [grid.spot or (0, 0) for grid in grids]
    sizes = _SIZES if any(grid.labelled for grid in grids) else _SIZES[:1]
    for size in sizes:
        measures = _aligned(grids, spots, [_measure(grid, size) for grid in grids])
        column_widths = _column_widths(spots, measures)
        width = sum(column_widths.values()) + _GAP * (len(column_widths) - 1)
        if width <= _SLIDE:
            break
    heights = [
        measure.column_header_height + measure.row_pitch * grid.shape[0]
        for grid, measure in zip(grids, measures, strict=True)
    ]
    row_heights = _row_heights(spots, heights)
    width, top = _write_title(out, picture, width)
    top += _GAP / 2
    for row in sorted(row_heights):
        left, top = _MARGIN, top + row_heights[row]
        for column in sorted(column_widths):
            here = [i for i, spot in enumerate(spots) if spot == (row, column)]
            y = top - sum(heights[i] + _GAP for i in here) + _GAP
            for i in here:
                _place(out, grids[i], measures[i], left, y, size)
                y += heights[i] + _GAP
            left += column_widths[column] + _GAP
    out.width, out.height = float(np.ceil(width + 2 * _MARGIN)), float(np.ceil(top + _MARGIN))
    return out


def _column_widths(spots: list[tuple[int, int]], measures: list[_Measure]) -> dict[int, float]:
    """The width of the widest grid in each column of spots."""
    widths: dict[int, float] = {}
    for (_, column), measure in zip(spots, measures, strict=True):
        widths[column] = max(widths.get(column, 0.0), measure.width)
    return widths


def _row_heights(spots: list[tuple[int, int]], heights: list[float]) -> dict[int, float]:
    """The height of the tallest spot in each row: its grids stand on each other, each with a gap."""
    of_spots: dict[tuple[int, int], float] = {}
    for spot, height in zip(spots, heights, strict=True):
        of_spots[spot] = of_spots.get(spot, 0.0) + (height + _GAP)
    rows: dict[int, float] = {}
    for (row, _), height in of_spots.items():
        rows[row] = max(rows.get(row, 0.0), height)
    return rows


def _aligned(grids: Sequence[Grid], spots: list[tuple[int, int]], measures: list[_Measure]) -> list[_Measure]:
    """Measures that line up grids with equally many columns above, or rows beside, each other."""
    maps = [(grid, spot) for grid, spot in zip(grids, spots, strict=True) if not grid.labelled]
    square = _square(maps)
    own = [
        measure if grid.labelled else measure._replace(column_pitch=square, row_pitch=square)
        for grid, measure in zip(grids, measures, strict=True)
    ]
    every = list(zip(grids, spots, own, strict=True))
    aligned = []
    for grid, spot, measure in every:
        row_header_width = max(m.row_header_width for _, s, m in every if s[1] == spot[1])
        column_pitch = max(
            m.column_pitch for g, s, m in every if g.shape[1] == grid.shape[1] and (s[1] > 0) == (spot[1] > 0)
        )
        row_pitch = max(m.row_pitch for g, s, m in every if s[0] == spot[0] and g.shape[0] == grid.shape[0])
        width = row_header_width + max(column_pitch * grid.shape[1], _title_width(grid))
        aligned.append(
            _Measure(row_header_width, measure.column_header_height, column_pitch, row_pitch, width)
        )
    return aligned


def _square(maps: list[tuple[Grid, tuple[int, int]]]) -> float:
    """Pixels of a cell of heat maps in a table, so that all of them fit a slide."""
    columns = sum({spot[1]: grid.shape[1] for grid, spot in maps}.values())
    rows = max(
        (sum(grid.shape[0] for grid, spot in maps if spot[1] == column) for _, (_, column) in maps),
        default=1,
    )
    fitting = min(12.0, _MAPS // max(columns, 1), _TALL // rows)
    return max(2.0, fitting, *(_headings_pitch(grid, _head_size(_SIZES[0])) for grid, _ in maps))


def _fold(grids: Sequence[Grid]) -> tuple[list[_GridRow], int]:
    """The rows of grids, and the size of their text: the first attempt that fits, at the largest size.

    Attempts are: side by side, below each other, with labels such as "T5:{a0,a1}" in two lines, and cut into
    bands, as few as possible. What cannot be cut is set in the smallest size.
    """
    side_by_side: list[list[Grid]] = []
    for grid in grids:
        if grid.new_line or not side_by_side:
            side_by_side.append([])
        side_by_side[-1].append(grid)
    below_each_other = [[grid] for grid in grids]
    two_line_labels = [[_stacked(grid) for grid in group] for group in side_by_side]
    for attempt in (side_by_side, below_each_other, two_line_labels):
        for size in _SIZES:
            rows = [[(grid, _measure(grid, size)) for grid in group] for group in attempt]
            if not _fits(rows):
                continue
            if attempt is below_each_other:
                rows = _folded(side_by_side, size)  # those that fit stay side by side
            return rows, size
    in_bands = [
        (_folded(attempt, size), size) for attempt in (side_by_side, two_line_labels) for size in _SIZES
    ]
    smallest_text = in_bands[len(_SIZES) - 1]
    fitting = [(rows, size) for rows, size in in_bands if _fits(rows)]
    return min(fitting or [smallest_text], key=lambda folded: len(folded[0]))


def _stacked(grid: Grid) -> Grid:
    """The grid with the names of lanes in a line of their own: "T5:" over "{a0,a1}"."""

    def broken(cell: Cell) -> Cell:
        parts = (_LANE_LABEL.split(line, maxsplit=1) for line in cell.lines)
        return replace(cell, lines=tuple(itertools.chain.from_iterable(parts)))

    return replace(grid, cells=tuple(map(broken, grid.cells)))


def _folded(groups: list[list[Grid]], size: int) -> list[_GridRow]:
    """Rows that fit a page; the grids of one that does not stand below each other, in bands."""
    rows: list[_GridRow] = []
    for group in groups:
        row = [(grid, _measure(grid, size)) for grid in group]
        if _row_width(row) <= _ROOM:
            rows.append(row)
        else:
            rows += [[band] for grid in group for band in _bands(grid, size)]
    return rows


def _row_width(row: _GridRow) -> float:
    return sum(measure.width for _, measure in row) + _GRID_GAP * (len(row) - 1)


def _fits(rows: list[_GridRow]) -> bool:
    return max(_row_width(row) for row in rows) <= _ROOM


def _bands(grid: Grid, size: int) -> _GridRow:
    """A grid cut into as few bands of columns, of nearly one width, as fit a page.

    It may be one band more if the cuts are then at rules or at multiples of 8. It stays whole if a band would
    be a sliver, such as the signs of numbers alone.
    """
    whole = _measure(grid, size)
    room = _ROOM - whole.row_header_width
    least = int(np.ceil(whole.column_pitch * grid.shape[1] / room))
    at_rules: list[int] = []
    at_eights: list[int] = []
    if grid.density != "tight":
        ruled = {column for column, _, _ in grid.column_rules} & set(grid.cuts)
        at_rules = sorted({0, grid.shape[1], *ruled})
        at_eights = [column for column in grid.cuts if column % 8 == 0]
    anywhere = list(grid.cuts)
    tries = [(at_rules, least), (at_rules, least + 1)]
    if grid.shape[1] % 8 == 0:
        tries += [(at_eights, least), (at_eights, least + 1)]
    tries += [(anywhere, count) for count in range(least, len(anywhere))]
    for cuts, count in tries:
        edges = [0, grid.shape[1]]
        if cuts:
            wanted = np.linspace(0, grid.shape[1], count + 1)
            edges = [cuts[i] for i in np.abs(np.subtract.outer(wanted, cuts)).argmin(axis=1)]
        bands = [range(start, stop) for start, stop in itertools.pairwise(edges) if start < stop]
        narrowest, widest = min(map(len, bands)), max(map(len, bands))
        if widest * whole.column_pitch <= room and widest <= 8 * narrowest:
            parts = [grid.part(range(grid.shape[0]), columns) for columns in bands]
            return [
                (part, whole._replace(width=whole.row_header_width + whole.column_pitch * part.shape[1]))
                for part in parts
            ]
    return [(grid, whole)]


class _Measure(NamedTuple):
    """Pixels of a grid."""

    row_header_width: float
    column_header_height: float
    column_pitch: float
    row_pitch: float
    width: float


_GridRow = list[tuple[Grid, _Measure]]

#: Room at the sides, and above and below, of a label, in font sizes.
_PADDING = {"normal": (0.9, 0.75), "close": (0.6, 0.3), "tight": (0.4, 0.15)}


def _measure(grid: Grid, size: float) -> _Measure:
    head = _head_size(size)
    rows, columns = grid.shape
    row_header_width = _rows_width(grid, head)
    if grid.row_groups:
        row_header_width += max(_text_width(group.lines, head) for group in grid.row_groups) + 10
    column_header_height = max((len(h.lines) for h in grid.columns), default=0) * head * _LINE_HEIGHT + 6
    if grid.axes[1]:
        column_header_height += head * _LINE_HEIGHT
    if grid.labelled:
        column_pitch, row_pitch = _cell_pitch(grid, size)
    else:
        column_pitch = min(max((_ROOM - row_header_width) // columns, 2), 16)
        row_pitch = min(max(480 // rows, 4), 16)
    column_pitch = max(column_pitch, _headings_pitch(grid, head))
    row_pitch = max(row_pitch, *(_heading_height(h, head) / h.size for h in (*grid.rows, *grid.row_groups)))
    row_header_width, row_pitch = float(np.ceil(row_header_width)), float(np.ceil(row_pitch))
    column_pitch = float(np.ceil(4 * column_pitch)) / 4  # whole pixels: 30 too many for 64 narrow columns
    if grid.density == "tight":
        width = max(row_header_width + column_pitch * columns, _title_width(grid))
    else:
        width = row_header_width + max(column_pitch * columns, _title_width(grid))
    return _Measure(row_header_width, column_header_height, column_pitch, row_pitch, width)


def _cell_pitch(grid: Grid, size: float) -> tuple[float, float]:
    """Pixels from column to column and from row to row that the labels of the cells need."""
    sides, ends = _PADDING[grid.density]
    across, down = 3.0, 3.0
    for cell in grid.cells:
        if not cell.lines:
            continue
        across = max(across, (_text_width(cell.lines, size) + sides * size) / cell.width)
        strip = _STRIP + 2 if cell.fields and not _bits_text(cell) else 0.0
        down = max(down, (len(cell.lines) * size * _LINE_HEIGHT + ends * size + strip) / cell.height)
    return across, down


def _headings_pitch(grid: Grid, head: float) -> float:
    """Pixels from column to column that the headings need, so that none touches its neighbour.

    One over a single column may be wider than that, if those beside it are narrower than theirs.
    """
    heads = sorted(grid.columns, key=lambda header: header.start)
    widths = [_text_width(header.lines, head) for header in heads]
    ends = [(width - _OVERHANG) / header.size for width, header in zip(widths, heads, strict=True)]
    pairs = zip(itertools.pairwise(widths), itertools.pairwise(heads), strict=True)
    between = [
        (sum(wide) + 2 * max(map(_heading_gap, both))) / sum(headings.size for headings in both)
        for wide, both in pairs
    ]
    return max([*ends[:1], *ends[-1:], *between, 0.0])


def _heading_gap(heading: Header) -> int:
    """Pixels between a heading and the next: more than a space beside words, which would run together."""
    return 11 if any(len(line) > 4 and line[0].isalpha() for line in heading.lines) else 5


def _heading_height(heading: Header, head: float) -> float:
    """Pixels that the heading of a row needs: one of several lines keeps its distance from the next."""
    return len(heading.lines) * head * _LINE_HEIGHT + (6 if len(heading.lines) > 1 else 0)


def _rows_width(grid: Grid, head: float) -> float:
    """Pixels that the headings of the rows need, left of the cells."""
    texts = [_text_width(header.lines, head) for header in grid.rows]
    return max(*texts, _text_width((grid.axes[0] + "  ",), head)) + 10


def _head_size(size: float) -> float:
    """Text size of the headings of a grid: one less than that of its labels, if that is still readable."""
    return max(size - 1, _SIZES[-1])


def _title_width(grid: Grid) -> float:
    return _BOLD * _GRID_TITLE * len(grid.title)


def _text_width(lines: tuple[str, ...], size: float) -> float:
    return max((len(line) for line in lines), default=0) * size * _LETTER


def _place(out: Drawing, grid: Grid, measure: _Measure, left: float, top: float, size: float) -> float:
    """Add one grid at a corner; gives its lower edge."""
    head = _head_size(size)
    x0, y0 = float(round(left + measure.row_header_width)), float(round(top + measure.column_header_height))
    x = x0 + measure.column_pitch * np.arange(grid.shape[1] + 1)
    y = y0 + measure.row_pitch * np.arange(grid.shape[0] + 1)
    panel = Panel(grid, x, y, size)
    out.panels.append(panel)
    if grid.title:
        start = left if grid.density == "tight" else x0
        out.words.append(TextLine(start, top - 10, grid.title, _GRID_TITLE, "grid title", anchor="start"))
    if grid.axes[1]:
        text, middle = f"{grid.axes[1]} →", top + head * _LINE_HEIGHT / 2
        out.words.append(TextLine(x0, middle, text, head, "axis", "start"))
    if grid.axes[0]:
        text, middle = f"{grid.axes[0]} ↓", y0 - head * _LINE_HEIGHT / 2 - 3
        out.words.append(TextLine(x0 - 8, middle, text, head, "axis", "end"))
    for header in grid.columns:
        last = header.start if header.edge else header.start + header.size
        middle = float(x[header.start] + x[last]) / 2
        above = y0 - 3 - len(header.lines) * head * _LINE_HEIGHT / 2
        _write(out, header.lines, TextLine(middle, above, "", head, "header", "middle"))
    for header in grid.rows:
        middle = float(y[header.start] + y[header.start + header.size]) / 2
        _write(out, header.lines, TextLine(x0 - 8, middle, "", head, "header", "end"))
    for group in grid.row_groups:
        middle = float(y[group.start] + y[group.start + group.size]) / 2
        right = x0 - _rows_width(grid, head) - 10
        _write(out, group.lines, TextLine(right, middle, "", head, "header", "end"))
    for cell in grid.cells:
        if cell.lines:
            across, down, width, height = panel.box(cell)
            centre = TextLine(across + width / 2, down + height / 2, "", size, "label", on=cell)
            if cell.fields and not _bits_text(cell):
                centre = replace(centre, y=centre.y - _STRIP / 2 - 1)
                _place_strip(out, cell, panel.box(cell))
            _write(out, cell.lines, centre)
    return float(y[-1])


def _bits_text(cell: Cell) -> str:
    """The line of a cell that has the bits of a float, field by field; "" where they are not known."""
    return " ".join(bits.text for bits in cell.fields if bits.text)


def _place_strip(out: Drawing, cell: Cell, box: tuple[float, float, float, float]) -> None:
    """Add what the bits of a float are, as a strip near the lower edge of its cell, each bit in its column.

    Paper around it keeps its colours apart from those of the lane; bits that are ignored are not in it.
    """
    left, top, width, height = box
    left_edge, pitch = left, width / sum(bits.bits for bits in cell.fields)
    strips: list[Tint] = []
    for bits in cell.fields:
        strip = (left, top + height - _STRIP - 3, pitch * bits.bits, _STRIP - 1)
        if bits.role != "ignored":
            strips.append(Tint(strip, bits.role, strong=True))
        left += pitch * bits.bits
    first, last = strips[0].box, strips[-1].box
    inside = left_edge + 1, left_edge + width - 1
    strips = [replace(tint, box=_within(tint.box, *inside)) for tint in strips]
    around = _within((first[0], first[1] - 1, last[0] + last[2] - first[0], _STRIP + 1), *inside)
    out.tints += [Tint(around, "fraction", strong=True), *strips]


def _within(
    box: tuple[float, float, float, float], left: float, right: float
) -> tuple[float, float, float, float]:
    """The part of a box between two edges, so that it does not cover the lines there."""
    start, stop = max(box[0], left), min(box[0] + box[2], right)
    return start, box[1], stop - start, box[3]


def _write_bits(out: Drawing, like: TextLine, cell: Cell) -> None:
    """Add the bits of a float in one line, each field on its tint."""
    letter = like.size * _LETTER
    letters = len(_bits_text(cell))
    left = like.x - letters * letter / 2
    high = like.size * 1.25
    around = left - letter / 3 - 1.5, like.y - high / 2 - 1.5, letters * letter + letter / 1.5 + 3, high + 3
    out.tints.append(Tint(around, "fraction", strong=True))  # a blue sign on the cell of a blue lane is seen
    for bits in cell.fields:
        if not bits.text:
            continue
        width = len(bits.text) * letter
        out.tints.append(
            Tint((left - letter / 3, like.y - high / 2, width + letter / 1.5, high), bits.role, strong=False)
        )
        out.words.append(replace(like, x=left + width / 2, text=bits.text, field=bits.role))
        left += width + letter


def _write(out: Drawing, lines: tuple[str, ...], like: TextLine) -> None:
    """Add lines of text below each other, around the middle of a word that says how they look."""
    pitch = like.size * _LINE_HEIGHT
    first = like.y - (len(lines) - 1) * pitch / 2
    bits = _bits_text(like.on) if like.on is not None else ""
    for i, line in enumerate(lines):
        word = replace(like, y=first + i * pitch, text=line)
        if like.on is not None and bits and line == bits:
            _write_bits(out, word, like.on)
        elif line:
            out.words.append(word)
