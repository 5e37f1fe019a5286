"""A picture as SVG text, without any other library: crisp in papers and slides, hover texts included."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from .. import palette
from ..describe.picture import Picture
from .drawing import MONO, SANS, Panel, Word, draw, fill

__all__ = ["svg"]


def svg(picture: Picture) -> str:
    """The picture as one SVG document.

    >>> import ptxlab
    >>> text = svg(ptxlab.describe.fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C"))
    >>> "T5:{c2,c3}" in text
    True
    """
    drawing = draw(picture)
    size = f'width="{drawing.width:g}" height="{drawing.height:g}" viewBox="0 0 {drawing.width:g} {drawing.height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(picture.title)}>',
        f"<title>{escape(picture.title)}</title>",
    ]
    parts.append(f'<rect width="100%" height="100%" fill="{palette.PAPER}"/>')
    for panel in drawing.panels:
        parts += _panel(panel)
    for mono, family in ((True, MONO), (False, SANS)):
        parts.append(f'<g font-family="{family}">')
        parts += [_word(word) for word in drawing.words if word.mono == mono]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> list[str]:
    grid, edge = panel.grid, 'stroke="none"'
    if grid.lettered:
        edge = f'stroke="{palette.PAPER if grid.tight else palette.RULE}" stroke-width="{1 if grid.tight else 0.75}"'
    parts = [f'<g {edge} shape-rendering="crispEdges">']
    for cell in grid.cells:
        x, y, width, height = panel.box(cell)
        if cell.role == "blank":
            continue
        said = escape(str(grid.hover[cell.row, cell.column]))
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill(cell)}"><title>{said}</title></rect>')
    parts.append(f'</g>\n<g fill="none" stroke="{palette.INK}">')
    left, top, right, bottom = (float(v) for v in (panel.x[0], panel.y[0], panel.x[-1], panel.y[-1]))
    if not grid.tight:
        parts.append(f'<rect x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" stroke-width="1.5"/>')
    parts += [f'<path d="M{left:g} {panel.y[row]:g}H{right:g}" stroke-width="1.5"/>' for row in grid.row_rules]
    parts += [f'<path d="M{panel.x[at]:g} {panel.y[a]:g}V{panel.y[b]:g}" stroke-width="2"/>' for at, a, b in grid.column_rules]
    for cell in grid.cells:
        if cell.state == "mark":
            x, y, width, height = panel.box(cell)
            parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" stroke-width="{1.75 if grid.tight else 2.5}"/>')
    return [*parts, "</g>"]


def _word(word: Word) -> str:
    bold = ' font-weight="bold"' if word.bold else ""
    at = f'x="{word.x:g}" y="{word.y + 0.35 * word.size:g}" font-size="{word.size:g}" text-anchor="{word.anchor}" fill="{word.colour}"'
    return f"<text {at}{bold}>{escape(word.text)}</text>"
