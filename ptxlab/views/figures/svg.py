"""A picture as SVG text, without any other library: crisp in papers and slides, hover texts included."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from .. import palette
from ..picture import Cell, Picture
from .drawing import MONO, SANS, Drawing, Panel, Word, draw, fill, paint

__all__ = ["inline", "svg"]

#: Colours of the page that follow JupyterLab's theme where there is one.
_THEME = {
    palette.PAPER: f"var(--jp-layout-color0, {palette.PAPER})",
    palette.INK: f"var(--jp-content-font-color0, {palette.INK})",
    palette.DIM: f"var(--jp-content-font-color2, {palette.DIM})",
    palette.mix(palette.INK, 0.78): f"var(--jp-content-font-color2, {palette.DIM})",  # of bits that are lost
}
_FAINT = 0.3  # of a colour; with less of it a cell is seen as paper, and its text stands on that


def svg(picture: Picture) -> str:
    """The picture as one SVG document, on white paper.

    >>> import ptxlab
    >>> text = svg(ptxlab.views.fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C"))
    >>> "T5:{c2,c3}" in text
    True
    """
    return _document(picture, draw(picture), {})


def inline(picture: Picture) -> str:
    """The same as part of a page: it takes paper and ink from the theme of JupyterLab, and scrolls where it is too wide.

    >>> import ptxlab
    >>> text = inline(ptxlab.views.fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C"))
    >>> text[:48], "var(--jp-layout-color0, #FFFFFF)" in text
    ('<div style="overflow-x: auto"><svg xmlns="http:/', True)
    """
    return f'<div style="overflow-x: auto">{_document(picture, draw(picture), _THEME)}</div>'


def _document(picture: Picture, drawing: Drawing, theme: dict[str, str]) -> str:
    size = f'width="{drawing.width:g}" height="{drawing.height:g}" viewBox="0 0 {drawing.width:g} {drawing.height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(picture.title)}>',
        f"<title>{escape(picture.title)}</title>",
    ]
    parts.append(f'<rect width="100%" height="100%" fill="{_of(theme, palette.PAPER)}"/>')
    for panel in drawing.panels:
        parts += _panel(panel, theme)
    solid = {id(word) for word in drawing.words if word.on is not None and paint(word.on)[1] >= _FAINT}
    for mono, family in ((True, MONO), (False, SANS)):
        parts.append(f'<g font-family="{family}">')
        parts += [
            _word(word, {} if id(word) in solid else theme) for word in drawing.words if word.mono == mono
        ]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _of(theme: dict[str, str], colour: str) -> str:
    return theme.get(colour, colour)


def _filled(cell: Cell, theme: dict[str, str]) -> str:
    """The background of a cell; what is faint lets the page through, whatever its colour."""
    colour, part = paint(cell)
    if not theme or part >= _FAINT:
        return f'fill="{fill(cell)}"'
    return f'fill="{colour}" fill-opacity="{part:g}"' if part else 'fill="none" pointer-events="all"'


def _panel(panel: Panel, theme: dict[str, str]) -> list[str]:
    grid, edge = panel.grid, 'stroke="none"'
    if grid.lettered:
        edge = f'stroke="{_of(theme, palette.PAPER) if grid.tight else palette.RULE}" stroke-width="{1 if grid.tight else 0.75}"'
    parts = [
        f'<g {edge} shape-rendering="crispEdges">',
        *(_map(panel) if panel.heated else _cells(panel, theme)),
    ]
    parts.append(f'</g>\n<g fill="none" stroke="{_of(theme, palette.INK)}">')
    left, right = float(panel.x[0]), float(panel.x[-1])
    for x, y, width, height in panel.frames:
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" stroke-width="1.5"/>')
    parts += [
        f'<path d="M{left:g} {panel.y[row]:g}H{right:g}" stroke-width="1.5"/>' for row in grid.row_rules
    ]
    thick = 2 if grid.tight else 1.5
    parts += [
        f'<path d="M{panel.x[at]:g} {panel.y[a]:g}V{panel.y[b]:g}" stroke-width="{thick}"/>'
        for at, a, b in grid.column_rules
    ]
    for cell in grid.cells:
        if cell.state == "mark":
            x, y, width, height = panel.box(cell)
            parts.append(
                f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" stroke-width="{1.75 if grid.tight else 2.5}"/>'
            )
    return [*parts, "</g>"]


def _cells(panel: Panel, theme: dict[str, str]) -> list[str]:
    parts = []
    for cell in panel.grid.cells:
        if cell.role != "blank":
            x, y, width, height = panel.box(cell)
            said = escape(str(panel.grid.hover[cell.row, cell.column]))
            parts.append(
                f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {_filled(cell, theme)}><title>{said}</title></rect>'
            )
    return parts


def _map(panel: Panel) -> list[str]:
    """Thousands of cells without letters: one path for each colour."""
    paths: dict[str, list[str]] = {}
    for cell in panel.grid.cells:
        if cell.role != "blank":
            x, y, width, height = panel.box(cell)
            paths.setdefault(fill(cell), []).append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return [f'<path fill="{colour}" d="{"".join(path)}"/>' for colour, path in paths.items()]


def _word(word: Word, theme: dict[str, str]) -> str:
    bold = ' font-weight="bold"' if word.bold else ""
    at = f'x="{word.x:g}" y="{word.y + 0.35 * word.size:g}" font-size="{word.size:g}" text-anchor="{word.anchor}" fill="{_of(theme, word.colour)}"'
    return f"<text {at}{bold}>{escape(word.text)}</text>"
