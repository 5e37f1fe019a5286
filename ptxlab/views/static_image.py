"""A drawing in a few kilobytes: what the file of a notebook keeps of a widget, shown where no kernel runs."""

from __future__ import annotations

import base64
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import palette
from .drawing import MONO, PAGE, SANS, Drawing, Panel, TextLine, paint, word_colour
from .grid import Cell
from .palette import LIGHT
from .png import png
from .svg import DocumentColours, rectangle, text_content, tint_rectangle

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
    colours = DocumentColours(LIGHT, page=False)
    parts += [tint_rectangle(tint, colours) for tint in drawing.tints]
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
    lines = [rectangle(box, 'stroke-width="1.5"') for box in panel.frames]
    rules = [*panel.row_rules, *panel.column_rules]
    lines += [f'<path d="{"".join(rules)}" stroke-width="1.5"/>'] if rules else []
    lines += [rectangle(box, 'stroke-width="2.5"') for box in (*panel.marks, *panel.outlines)]
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
        lines = (
            f'<text y="{y:g}" x="{places}">{text_content("".join(letter for _, letter in letters))}</text>'
        )
    if not all(is_short):
        longer = (word for word, short in zip(words, is_short, strict=True) if not short)
        spans = "".join(f'<tspan x="{word.x:g}">{text_content(word.text)}</tspan>' for word in longer)
        lines += f'<text y="{y:g}">{spans}</text>'
    return lines
