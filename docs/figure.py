"""A picture of `ptxlab.views` as inline SVG for the site: themed by the style sheet, its words said by the page around it."""

from __future__ import annotations

from html import escape

from ptxlab.views import Cell, Grid, Header, Picture, palette
from ptxlab.views.figures.drawing import Drawing, Panel, Word, draw

__all__ = ["figure", "lanes"]

_EDGE = 3.0
_NARROW = 440.0  # figures up to here stand beside their text
_WIDE = 0.61  # a monospaced letter, in font sizes


def figure(picture: Picture, caption: str = "") -> str:
    """The picture with its subtitle, or another caption in HTML, underneath. Cells of a lane are one group, so that the page can light them up."""
    drawing = draw(picture)
    words = _without_title(drawing)
    left, top, right, bottom = _bounds(drawing.panels, words)
    wide, high = right - left, bottom - top
    size = f"clamp({0.8 * wide:.0f}px,100%,{wide:.0f}px)" if wide > _NARROW else f"{wide:.0f}px"
    parts = [
        f'<svg viewBox="{left:g} {top:g} {wide:g} {high:g}" style="width:{size}" role="img" '
        f'aria-label="{escape(picture.title)}. {escape(picture.subtitle)}">'
    ]
    for panel in drawing.panels:
        parts += _cells(panel)
        parts += _lines(panel)
    parts += _texts(words)
    said = caption or escape(picture.subtitle)
    label = f"Figure: {escape(picture.title)}"
    small = ' class="narrow"' if wide <= _NARROW else ""
    drawn = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{"".join(parts)}</svg></div>'
    )
    return f"<figure{small}>{drawn}<figcaption>{said}</figcaption></figure>"


def _without_title(drawing: Drawing) -> list[Word]:
    """All words but the title and the lines of the subtitle, which the drawing puts first."""
    at = 1
    while at < len(drawing.words) and not drawing.words[at].mono and not drawing.words[at].bold:
        at += 1
    return drawing.words[at:]


def _bounds(panels: list[Panel], words: list[Word]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what is drawn."""
    left, top, right, bottom = [], [], [], []
    for panel in panels:
        left.append(float(panel.x[0]))
        right.append(float(panel.x[-1]))
        top.append(float(panel.y[0]))
        bottom.append(float(panel.y[-1]))
    for word in words:
        wide = len(word.text) * word.size * _WIDE
        start = word.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[word.anchor] * wide
        left.append(start)
        right.append(start + wide)
        top.append(word.y - 0.7 * word.size)
        bottom.append(word.y + 0.7 * word.size)
    return (
        round(min(left)) - _EDGE,
        round(min(top)) - _EDGE,
        round(max(right)) + _EDGE,
        round(max(bottom)) + _EDGE,
    )


def _cells(panel: Panel) -> list[str]:
    groups: dict[tuple[int | None, str], list[Cell]] = {}
    for cell in panel.grid.cells:
        groups.setdefault((cell.lane, cell.state), []).append(cell)
    parts = []
    for (lane, state), cells in groups.items():
        hue = "silent" if lane is None else f"l{lane % 32}"
        who = "" if lane is None else f' data-t="{lane}"'
        edged = " cut" if panel.grid.lettered else ""
        parts.append(f'<g class="{hue}{edged}{"" if state == "plain" else f" {state}"}"{who}>')
        for cell in cells:
            x, y, width, height = panel.box(cell)
            said = _hover(panel.grid, cell)
            inside = f"><title>{escape(said)}</title></rect>" if said else "/>"
            parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{inside}')
        parts.append("</g>")
    return parts


def _hover(grid: Grid, cell: Cell) -> str:
    """What is said of the first place of a cell and, where it differs, of the last."""
    first = str(grid.hover[cell.row, cell.column] or "")
    last = str(grid.hover[cell.row + cell.height - 1, cell.column + cell.width - 1] or "")
    if first == last:
        return first
    pairs = zip(first.split("\n"), last.split("\n"), strict=False)
    return "\n".join(one if one == other else f"{one} … {other}" for one, other in pairs)


def _lines(panel: Panel) -> list[str]:
    left, top, right, bottom = (float(v) for v in (panel.x[0], panel.y[0], panel.x[-1], panel.y[-1]))
    rules = "".join(f"M{left:g} {panel.y[row]:g}H{right:g}" for row in panel.grid.row_rules)
    return [f'<path class="frame" d="M{left:g} {top:g}H{right:g}V{bottom:g}H{left:g}Z{rules}"/>']


def _texts(words: list[Word]) -> list[str]:
    groups: dict[tuple[str, str, float], list[Word]] = {}
    for word in words:
        ink = (
            "word"
            if not word.mono
            else "dim"
            if word.colour == palette.DIM
            else "on"
            if word.colour == palette.INK
            else "off"
        )
        groups.setdefault((f"{ink}{' bold' * word.bold}", word.anchor, word.size), []).append(word)
    parts = []
    for (kind, anchor, size), some in groups.items():
        parts.append(f'<g class="{kind}" font-size="{size:g}" text-anchor="{anchor}">')
        parts += [
            f'<text x="{word.x:g}" y="{word.y + 0.35 * size:g}">{escape(word.text)}</text>' for word in some
        ]
        parts.append("</g>")
    return parts


def lanes() -> Picture:
    """The 32 lanes in their colours: the key to all figures."""
    import numpy as np

    cells = tuple(Cell(lane % 4, lane // 4, 1, 1, (f"T{lane}",), lane) for lane in range(32))
    hover = np.array(
        [
            [f"lane {4 * group + thread}: group {group}, thread {thread}" for group in range(8)]
            for thread in range(4)
        ],
        dtype=object,
    )
    threads = tuple(Header(thread, 1, (str(thread),)) for thread in range(4))
    groups = tuple(Header(group, 1, (f"{group}: {palette.HUES[group][0]}",)) for group in range(8))
    grid = Grid((4, 8), cells, hover, threads, groups, ("thread in group", "group"))
    return Picture(
        "The colours of the 32 lanes", "hue: group, lane / 4; shade: thread in the group, lane % 4", (grid,)
    )
