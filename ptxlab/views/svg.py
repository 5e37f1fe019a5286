"""A drawing as SVG text, without any other library: crisp in papers and slides, tooltips included."""

from __future__ import annotations

from html import escape

from . import palette
from .drawing import MONO, SANS, Drawing, Panel, Word, fill, paint
from .grid import Cell

__all__ = ["svg_document"]

#: Colours of the page that follow JupyterLab's theme where there is one.
_THEME = {
    palette.PAPER: f"var(--jp-layout-color0, {palette.PAPER})",
    palette.INK: f"var(--jp-content-font-color0, {palette.INK})",
    palette.DIM: f"var(--jp-content-font-color2, {palette.DIM})",
    palette.mix(palette.INK, 0.78): f"var(--jp-content-font-color2, {palette.DIM})",  # of bits that are lost
}
_FAINT = 0.3  # of a colour; with less of it a cell is seen as paper, and its text stands on that


def svg_document(drawing: Drawing, *, themed: bool = False) -> str:
    """The drawing as one SVG element, on white paper or, `themed`, on the paper of JupyterLab's theme."""
    theme = _THEME if themed else {}
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(drawing.title)}">',
        f"<title>{_text_of(drawing.title)}</title>",
        f'<rect width="100%" height="100%" fill="{_themed(theme, palette.PAPER)}"/>',
    ]
    for panel in drawing.panels:
        parts += _panel(panel, theme)
    for mono, family in ((True, MONO), (False, SANS)):
        parts.append(f'<g font-family="{family}">')
        parts += [_text(word, theme) for word in drawing.words if word.mono == mono]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _text_of(text: str) -> str:
    return escape(text, quote=False)


def _themed(theme: dict[str, str], colour: str) -> str:
    return theme.get(colour, colour)


def _panel(panel: Panel, theme: dict[str, str]) -> list[str]:
    grid = panel.grid
    tight = grid.density == "tight"
    edge = 'stroke="none"'
    if grid.labelled and tight:
        edge = f'stroke="{_themed(theme, palette.PAPER)}" stroke-width="1"'
    elif grid.labelled:
        edge = f'stroke="{palette.RULE}" stroke-width="0.75"'
    cells = _heat_map(panel) if panel.heated else _cells(panel, theme)
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
    return [
        f'<g {edge} shape-rendering="crispEdges">',
        *cells,
        f'</g>\n<g fill="none" stroke="{_themed(theme, palette.INK)}">',
        *lines,
        "</g>",
    ]


def _rect(box: tuple[float, float, float, float], attributes: str, inside: str = "") -> str:
    x, y, width, height = box
    opening = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {attributes}'
    return f"{opening}>{inside}</rect>" if inside else f"{opening}/>"


def _cells(panel: Panel, theme: dict[str, str]) -> list[str]:
    parts = []
    for cell in panel.grid.cells:
        if cell.role != "blank":
            hover = _text_of(str(panel.grid.hover[cell.row, cell.column]))
            parts.append(_rect(panel.box(cell), _background(cell, theme), f"<title>{hover}</title>"))
    return parts


def _background(cell: Cell, theme: dict[str, str]) -> str:
    """The background of a cell; what is faint lets the page through, whatever its colour."""
    colour, part = paint(cell)
    if not theme or part >= _FAINT:
        return f'fill="{fill(cell)}"'
    return f'fill="{colour}" fill-opacity="{part:g}"' if part else 'fill="none" pointer-events="all"'


def _heat_map(panel: Panel) -> list[str]:
    """Thousands of cells without labels: one path for each colour."""
    paths: dict[str, list[str]] = {}
    for cell in panel.grid.cells:
        if cell.role != "blank":
            x, y, width, height = panel.box(cell)
            paths.setdefault(fill(cell), []).append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return [f'<path fill="{colour}" d="{"".join(path)}"/>' for colour, path in paths.items()]


def _text(word: Word, theme: dict[str, str]) -> str:
    on_colour = word.on is not None and paint(word.on)[1] >= _FAINT
    colour = word.colour if on_colour else _themed(theme, word.colour)
    attributes = [
        f'x="{word.x:g}"',
        f'y="{word.y + 0.35 * word.size:g}"',
        f'font-size="{word.size:g}"',
        f'text-anchor="{word.anchor}"',
        f'fill="{colour}"',
    ]
    if word.bold:
        attributes.append('font-weight="bold"')
    return f"<text {' '.join(attributes)}>{_text_of(word.text)}</text>"
