"""A drawing as SVG: crisp in papers and on slides, with tooltips, on paper or on a notebook's page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from . import palette
from .drawing import MONO, SANS, Drawing, Panel, TextLine, Tint, fill, paint, tint_fill, word_colour
from .grid import Cell
from .palette import DARK, LIGHT, Theme

#: Colours of the page that follow JupyterLab's theme where there is one.
_THEME = {
    palette.PAPER: f"var(--jp-layout-color0, {palette.PAPER})",
    palette.INK: f"var(--jp-content-font-color0, {palette.INK})",
    palette.DIM: f"var(--jp-content-font-color2, {palette.DIM})",
    palette.mix(palette.INK, 0.78): f"var(--jp-content-font-color2, {palette.DIM})",  # of bits that are lost
}
_FAINT = 0.3  # strength of a colour below which a cell counts as paper, and its text as text on paper


@dataclass
class DocumentColours:
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
    colours = DocumentColours(theme, themed)
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    opening = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(drawing.title)}">',
        f"<title>{text_content(drawing.title)}</title>",
        f"<desc>{text_content(drawing.subtitle)}</desc>",
    ]
    parts = [f'<rect width="100%" height="100%" fill="{colours.page_colour(theme.paper)}"/>']
    for panel in drawing.panels:
        parts += _panel(panel, colours)
    parts += [tint_rectangle(tint, colours) for tint in drawing.tints]
    stroke = f'fill="none" stroke="{colours.page_colour(theme.ink)}" stroke-width="1.5"'
    for arrow in drawing.arrows:
        points = " ".join(f"{x:g},{y:g}" for x, y in arrow)
        parts.append(f'<polyline points="{points}" {stroke} stroke-linejoin="round"/>')
    for mono, family in ((True, MONO), (False, SANS)):
        parts.append(f'<g font-family="{family}">')
        parts += [_text(word, colours) for word in drawing.words if word.mono == mono]
        parts.append("</g>")
    return "\n".join([*opening, *colours.style(), *parts, "</svg>", ""])


def text_content(text: str) -> str:
    return escape(text, quote=False)


def _panel(panel: Panel, colours: DocumentColours) -> list[str]:
    grid = panel.grid
    tight = grid.density == "tight"
    edge = 'stroke="none"'
    if grid.labelled and tight:
        edge = f'stroke="{colours.page_colour(colours.theme.paper)}" stroke-width="1"'
    elif grid.labelled:
        edge = f'stroke="{colours.theme.rule}" stroke-width="0.75"'
    cells = _heat_map(panel, colours) if panel.heated else _cells(panel, colours)
    lines = [rectangle(box, 'stroke-width="1.5"') for box in panel.frames]
    lines += [f'<path d="{rule}" stroke-width="1.5"/>' for rule in panel.row_rules]
    thick = 2 if tight else 1.5
    lines += [f'<path d="{rule}" stroke-width="{thick}"/>' for rule in panel.column_rules]
    outline = f'stroke-width="{1.75 if tight else 2.5}"'
    lines += [rectangle(box, outline) for box in (*panel.marks, *panel.outlines)]
    return [
        f'<g {edge} shape-rendering="crispEdges">',
        *cells,
        f'</g>\n<g fill="none" stroke="{colours.page_colour(colours.theme.ink)}">',
        *lines,
        "</g>",
    ]


def rectangle(box: tuple[float, float, float, float], attributes: str, inside: str = "") -> str:
    x, y, width, height = box
    opening = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {attributes}'
    return f"{opening}>{inside}</rect>" if inside else f"{opening}/>"


def _cells(panel: Panel, colours: DocumentColours) -> list[str]:
    parts = []
    for cell in panel.grid.cells:
        if cell.role != "blank":
            hover = text_content(str(panel.grid.hover[cell.row, cell.column]))
            parts.append(rectangle(panel.box(cell), _background(cell, colours), f"<title>{hover}</title>"))
    return parts


def _background(cell: Cell, colours: DocumentColours) -> str:
    """The background of a cell; a faint one is translucent, for pages of any colour."""
    colour, part = paint(cell, colours.theme)
    if not colours.page or part >= _FAINT:
        return colours.fill(fill(cell, colours.theme), fill(cell, DARK))
    return f'fill="{colour}" fill-opacity="{part:g}"' if part else 'fill="none" pointer-events="all"'


def _heat_map(panel: Panel, colours: DocumentColours) -> list[str]:
    """Thousands of cells without labels: one path for each colour."""
    paths: dict[str, list[str]] = {}
    for cell in panel.grid.cells:
        if cell.role != "blank":
            x, y, width, height = panel.box(cell)
            look = colours.fill(fill(cell, colours.theme), fill(cell, DARK))
            paths.setdefault(look, []).append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return [f'<path {look} d="{"".join(path)}"/>' for look, path in paths.items()]


def tint_rectangle(tint: Tint, colours: DocumentColours) -> str:
    """The tint behind bits of a float; the pointer sees the cell below it."""
    look = colours.fill(tint_fill(tint, colours.theme), tint_fill(tint, DARK))
    return rectangle(tint.box, f'{look} pointer-events="none"')


def _text(word: TextLine, colours: DocumentColours) -> str:
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
    return f"<text {' '.join(attributes)}>{text_content(word.text)}</text>"
