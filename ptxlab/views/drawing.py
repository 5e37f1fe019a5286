"""A picture in pixels: rectangles, lines and words with their colours, and its SVG."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import palette
from .grid import Cell, FieldRole, Grid, Role
from .palette import DARK, LIGHT, Theme

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


# -- SVG: crisp in papers and slides, tooltips included ---------------------------------------------------

#: Colours of the page that follow JupyterLab's theme where there is one.
_THEME = {
    palette.PAPER: f"var(--jp-layout-color0, {palette.PAPER})",
    palette.INK: f"var(--jp-content-font-color0, {palette.INK})",
    palette.DIM: f"var(--jp-content-font-color2, {palette.DIM})",
    palette.mix(palette.INK, 0.78): f"var(--jp-content-font-color2, {palette.DIM})",  # of bits that are lost
}
_FAINT = 0.3  # strength of a colour below which a cell counts as paper, and its text as text on paper


@dataclass
class _Colours:
    """The colours of a document: of one theme, or of a page that may be light or dark.

    On a page, a cell has its light colour, and a class for which a style sheet has the dark one: where style
    sheets are removed, as from untrusted notebooks, the light colour remains.
    """

    theme: Theme
    page: bool
    dark: set[str] = field(default_factory=set)  # colours that the style sheet defines

    def page_colour(self, colour: str) -> str:
        """A colour of paper or ink."""
        return _THEME.get(colour, colour) if self.page else colour

    def fill(self, own: str, dark: str) -> str:
        """Attributes that fill with the theme's colour or, on a dark page, with the dark one."""
        if not self.page:
            return f'fill="{own}"'
        self.dark.add(dark)
        return f'class="{_class(dark)}" fill="{own}"'

    def style(self) -> list[str]:
        """The style sheet for dark pages."""
        rules = [
            f":is({palette.DARK_PAGES}) svg .{_class(dark)} {{ fill: {dark}; }}" for dark in sorted(self.dark)
        ]
        return [f"<style>{' '.join(rules)}</style>"] if rules else []


def _class(colour: str) -> str:
    return f"ptxlab-dark-{colour[1:].lower()}"


def svg_document(drawing: Drawing, *, themed: bool = False, theme: Theme = LIGHT) -> str:
    """The drawing as one SVG element, on paper or, `themed`, on the page of a notebook, light or dark."""
    colours = _Colours(theme, themed)
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    opening = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(drawing.title)}">',
        f"<title>{_text_of(drawing.title)}</title>",
        f"<desc>{_text_of(drawing.subtitle)}</desc>",
    ]
    parts = [f'<rect width="100%" height="100%" fill="{colours.page_colour(theme.paper)}"/>']
    for panel in drawing.panels:
        parts += _panel(panel, colours)
    parts += [_tint(tint, colours) for tint in drawing.tints]
    stroke = f'fill="none" stroke="{colours.page_colour(theme.ink)}" stroke-width="1.5"'
    for arrow in drawing.arrows:
        points = " ".join(f"{x:g},{y:g}" for x, y in arrow)
        parts.append(f'<polyline points="{points}" {stroke} stroke-linejoin="round"/>')
    for mono, family in ((True, MONO), (False, SANS)):
        parts.append(f'<g font-family="{family}">')
        parts += [_text(word, colours) for word in drawing.words if word.mono == mono]
        parts.append("</g>")
    return "\n".join([*opening, *colours.style(), *parts, "</svg>", ""])


def _text_of(text: str) -> str:
    return escape(text, quote=False)


def _panel(panel: Panel, colours: _Colours) -> list[str]:
    grid = panel.grid
    tight = grid.density == "tight"
    edge = 'stroke="none"'
    if grid.labelled and tight:
        edge = f'stroke="{colours.page_colour(colours.theme.paper)}" stroke-width="1"'
    elif grid.labelled:
        edge = f'stroke="{colours.theme.rule}" stroke-width="0.75"'
    cells = _heat_map(panel, colours) if panel.heated else _cells(panel, colours)
    lines = [_rect(box, 'stroke-width="1.5"') for box in panel.frames]
    left, right = float(panel.x[0]), float(panel.x[-1])
    lines += [
        f'<path d="M{left:g} {panel.y[row]:g}H{right:g}" stroke-width="1.5"/>' for row in grid.row_rules
    ]
    thick = 2 if tight else 1.5
    lines += [
        f'<path d="M{panel.x[column]:g} {panel.y[first]:g}V{panel.y[stop]:g}" stroke-width="{thick}"/>'
        for column, first, stop in grid.column_rules
    ]
    outline = f'stroke-width="{1.75 if tight else 2.5}"'
    lines += [_rect(panel.box(cell), outline) for cell in grid.cells if cell.state == "mark"]
    lines += [_rect(box, outline) for box in panel.outlines]
    return [
        f'<g {edge} shape-rendering="crispEdges">',
        *cells,
        f'</g>\n<g fill="none" stroke="{colours.page_colour(colours.theme.ink)}">',
        *lines,
        "</g>",
    ]


def _rect(box: tuple[float, float, float, float], attributes: str, inside: str = "") -> str:
    x, y, width, height = box
    opening = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {attributes}'
    return f"{opening}>{inside}</rect>" if inside else f"{opening}/>"


def _cells(panel: Panel, colours: _Colours) -> list[str]:
    parts = []
    for cell in panel.grid.cells:
        if cell.role != "blank":
            hover = _text_of(str(panel.grid.hover[cell.row, cell.column]))
            parts.append(_rect(panel.box(cell), _background(cell, colours), f"<title>{hover}</title>"))
    return parts


def _background(cell: Cell, colours: _Colours) -> str:
    """The background of a cell; a faint one is translucent, for pages of any colour."""
    colour, part = paint(cell, colours.theme)
    if not colours.page or part >= _FAINT:
        return colours.fill(fill(cell, colours.theme), fill(cell, DARK))
    return f'fill="{colour}" fill-opacity="{part:g}"' if part else 'fill="none" pointer-events="all"'


def _heat_map(panel: Panel, colours: _Colours) -> list[str]:
    """Thousands of cells without labels: one path for each colour."""
    paths: dict[str, list[str]] = {}
    for cell in panel.grid.cells:
        if cell.role != "blank":
            x, y, width, height = panel.box(cell)
            look = colours.fill(fill(cell, colours.theme), fill(cell, DARK))
            paths.setdefault(look, []).append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return [f'<path {look} d="{"".join(path)}"/>' for look, path in paths.items()]


def _tint(tint: Tint, colours: _Colours) -> str:
    """The tint behind bits of a float; the pointer sees the cell below it."""
    look = colours.fill(tint_fill(tint, colours.theme), tint_fill(tint, DARK))
    return _rect(tint.box, f'{look} pointer-events="none"')


def _text(word: TextLine, colours: _Colours) -> str:
    on_colour = word.field is not None or (word.on is not None and paint(word.on)[1] >= _FAINT)
    colour = word_colour(word, colours.theme)
    look = f'fill="{colours.page_colour(colour)}"'
    if on_colour:
        look = colours.fill(colour, word_colour(word, DARK))
    attributes = [
        f'x="{word.x:g}"',
        f'y="{word.y + 0.35 * word.size:g}"',
        f'font-size="{word.size:g}"',
        f'text-anchor="{word.anchor}"',
        look,
    ]
    if word.bold:
        attributes.append('font-weight="bold"')
    return f"<text {' '.join(attributes)}>{_text_of(word.text)}</text>"


# -- static images: what a notebook's file keeps of a widget ----------------------------------------------

_ADVANCE = 0.602  # of a letter in a monospaced font, in font sizes
_FEW_LETTERS = 2  # of labels that are cheaper letter by letter than with an element each


def static_svg(drawing: Drawing) -> str:
    """The drawing as an SVG document of a few kilobytes, without tooltips: the cells of a grid are one PNG.

    A notebook is saved with it, so that it shows something where no kernel runs.
    """
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    paper = f'<rect width="100%" height="100%" fill="{palette.PAPER}"/>'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{paper}']
    for panel in drawing.panels:
        parts += _static_panel(panel)
    colours = _Colours(LIGHT, page=False)
    parts += [_tint(tint, colours) for tint in drawing.tints]
    for arrow in drawing.arrows:
        points = " ".join(f"{x:g},{y:g}" for x, y in arrow)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{LIGHT.ink}" stroke-width="1.5"/>')
    looks: dict[str, dict[float, list[TextLine]]] = {}
    for word in drawing.words:
        weight = ' font-weight="bold"' if word.bold else ""
        look = f'font-family="{MONO if word.mono else SANS}" font-size="{word.size:g}"{weight}'
        look += f' text-anchor="{word.anchor}" fill="{word_colour(word)}"'
        looks.setdefault(look, {}).setdefault(word.y + 0.35 * word.size, []).append(word)
    for look, lines in looks.items():
        parts += [f"<g {look}>", *(_static_line(y, words) for y, words in lines.items()), "</g>"]
    return "".join([*parts, "</svg>"])


def static_image(drawing: Drawing) -> str:
    """The static drawing as an image in HTML."""
    return image(static_svg(drawing), drawing.width, f"{drawing.title}: {drawing.subtitle}")


def image(svg: str, width: float, text: str) -> str:
    """An SVG document as an image, the form of a picture that GitHub leaves in the HTML of a notebook.

    One that is wider than a page scrolls: made smaller, its text could not be read.
    """
    source = base64.b64encode(svg.encode()).decode()
    most = "100%" if width <= PAGE else "none"
    size = f'width="{width:g}" style="max-width: {most}; height: auto"'
    picture = f'<img {size} alt="{escape(text)}" src="data:image/svg+xml;base64,{source}">'
    return picture if width <= PAGE else f'<div style="overflow-x: auto">{picture}</div>'


def _static_panel(panel: Panel) -> list[str]:
    grid = panel.grid
    owners = np.zeros(grid.shape, dtype=np.int32)  # which cell a place belongs to
    for i, cell in enumerate(grid.cells):
        owners[cell.row : cell.row + cell.height, cell.column : cell.column + cell.width] = i
    paints = [(LIGHT.paper, 0.0) if cell.role == "blank" else paint(cell) for cell in grid.cells]
    numbers = {colour: i for i, colour in enumerate(dict.fromkeys(paints))}
    rgb = b"".join(bytes.fromhex(palette.mix(*colour, LIGHT.paper)[1:]) for colour in numbers)
    colours = np.array([numbers[colour] for colour in paints], dtype=np.uint8)
    left, top, width, height = panel.box(Cell(0, 0, *grid.shape, ()))
    box = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
    pixels = base64.b64encode(png(colours[owners], rgb)).decode()
    parts = [
        f'<image {box} preserveAspectRatio="none" style="image-rendering: pixelated" '
        f'href="data:image/png;base64,{pixels}"/>'
    ]
    if grid.labelled:
        edge, thin = (LIGHT.paper, 1) if grid.density == "tight" else (LIGHT.rule, 0.75)
        across = _edges(owners, panel.y, panel.x, "H")
        down = _edges(owners.T, panel.x, panel.y, "V")
        parts.append(f'<path d="{across}{down}" stroke="{edge}" stroke-width="{thin}" fill="none"/>')
    lines = [_rect(box, 'stroke-width="1.5"') for box in panel.frames]
    rules = [f"M{panel.x[0]:g} {panel.y[row]:g}H{panel.x[-1]:g}" for row in grid.row_rules]
    rules += [
        f"M{panel.x[column]:g} {panel.y[first]:g}V{panel.y[stop]:g}"
        for column, first, stop in grid.column_rules
    ]
    lines += [f'<path d="{"".join(rules)}" stroke-width="1.5"/>'] if rules else []
    marks = [panel.box(cell) for cell in grid.cells if cell.state == "mark"]
    lines += [_rect(box, 'stroke-width="2.5"') for box in (*marks, *panel.outlines)]
    return [*parts, f'<g fill="none" stroke="{LIGHT.ink}">', *lines, "</g>"]


def _edges(
    owners: NDArray[np.int32], along: NDArray[Any], across: NDArray[Any], move: Literal["H", "V"]
) -> str:
    """Lines between the rows of a grid where one cell ends and the next begins, as the data of a path."""
    lines = []
    for row in range(1, len(owners)):
        ends = np.flatnonzero(np.diff(np.pad(owners[row] != owners[row - 1], 1)))
        for first, stop in ends.reshape(-1, 2):
            start, fixed = across[first], along[row]
            point = f"{start:g} {fixed:g}" if move == "H" else f"{fixed:g} {start:g}"
            lines.append(f"M{point}{move}{across[stop]:g}")
    return "".join(lines)


def png(pixels: NDArray[np.uint8], colours: bytes, opacity: bytes = b"") -> bytes:
    """An image [rows, columns] of colours by number, each red, green, blue, as a PNG file.

    `opacity` has a byte for each colour; those beyond its end are opaque.
    """

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)

    rows, columns = pixels.shape
    header = struct.pack(">2I5B", columns, rows, 8, 3, 0, 0, 0)  # 8 bits a pixel, the number of a colour
    lines = np.pad(pixels, ((0, 0), (1, 0)))  # 0 before each line: no filter
    chunks = {b"IHDR": header, b"PLTE": colours, b"tRNS": opacity}
    chunks |= {b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    written = (chunk(name, content) for name, content in chunks.items() if content or name != b"tRNS")
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def _static_line(y: float, words: list[TextLine]) -> str:
    """Words of one look at one height."""
    is_short = [word.mono and word.anchor == "middle" and len(word.text) <= _FEW_LETTERS for word in words]
    letters = [
        (word.x + (i - (len(word.text) - 1) / 2) * _ADVANCE * word.size, letter)
        for word, short in zip(words, is_short, strict=True)
        for i, letter in enumerate(word.text if short else "")
    ]
    lines = ""
    if letters:
        places = " ".join(f"{round(x, 1):g}" for x, _ in letters)
        lines = f'<text y="{y:g}" x="{places}">{_text_of("".join(letter for _, letter in letters))}</text>'
    if not all(is_short):
        longer = (word for word, short in zip(words, is_short, strict=True) if not short)
        spans = "".join(f'<tspan x="{word.x:g}">{_text_of(word.text)}</tspan>' for word in longer)
        lines += f'<text y="{y:g}">{spans}</text>'
    return lines
