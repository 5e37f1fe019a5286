"""python -m tools.slides LESSON [FOLDER]: every figure of a lesson as SVG, numbered, and a file of slides.

`LESSON` is the name of a notebook, or the number that it begins with. Its cells run here one after another,
without Jupyter and without a GPU. `slides.md` has a slide for each figure, with the heading of its section
and its caption; Marp and pandoc read it. Of a slider the first position is drawn, with `--all` every one; of
an Explorer, the matrix that is selected in it.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import html
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from ptxlab._util.files import write_atomically
from ptxlab.course.slider import Slider
from ptxlab.explorer import Explorer
from ptxlab.lessons import LESSONS
from ptxlab.views.charts import LineChart
from ptxlab.views.drawing import Drawing
from ptxlab.views.picture import Picture
from ptxlab.views.plotly_figure import Chart, NumberMatrix
from ptxlab.views.static_fallback import StaticFallback
from ptxlab.views.svg import svg_document

__all__ = ["figures_of", "write"]

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
#: A picture in HTML: drawn in place, or an image of its own.
_IN_HTML = re.compile(r"<svg\b.*?</svg>|data:image/svg\+xml;base64,([\w+/=]+)", flags=re.S)
#: A colour of JupyterLab's theme, and what it is elsewhere.
_THEMED = re.compile(r"var\(--[\w-]+, *([^()]+)\)")


@dataclass(frozen=True)
class Figure:
    """One figure of a lesson."""

    heading: str  # of the section of the notebook
    caption: str
    svg: str


def figures_of(file: str, *, all_positions: bool = False) -> Iterator[Figure]:
    """Run the cells of a lesson, and draw what each shows."""
    notebook = nbformat.read(NOTEBOOKS / f"{file}.ipynb", as_version=4)
    heading, names = "", {"__name__": "__main__"}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^#+ (.*)", cell.source, flags=re.M)][-1]
        elif "except ImportError" not in cell.source:  # what installs ptxlab on Colab
            for value in _run(cell.source, names):
                for position, svg in _drawn(value, all_positions):
                    caption = f"{_caption(svg)} ({position})" if position else _caption(svg)
                    yield Figure(heading, caption, svg)
        else:
            exec("import ptxlab", names)


def _run(source: str, names: dict[str, Any]) -> list[object]:
    """Run a cell; gives what it displays, last the value of its last line."""
    shown: list[object] = []
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    names["display"] = lambda *values, **_: shown.extend(values)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    return shown


def _drawn(value: object, all_positions: bool) -> Iterator[tuple[str, str]]:
    """Every picture in a value that a notebook shows, as SVG, and the position of its slider."""
    if isinstance(value, Slider):
        for position, drawn in value.positions():
            for _, svg in _drawn(drawn, all_positions):
                yield position, svg
            if not all_positions:
                return
    elif isinstance(value, Explorer):
        yield from _drawn(value.figure(), all_positions)
    elif isinstance(value, Chart) and isinstance(value.source, Drawing):
        yield "", svg_document(value.source)
    elif isinstance(value, Chart) and isinstance(value.source, NumberMatrix):
        yield "", svg_document(value.source.drawing())
    elif isinstance(value, Chart) and value.source is not None:
        yield "", value.source.svg()
    elif isinstance(value, Picture | LineChart):
        yield "", value.svg()
    else:
        page = value.static_html() if isinstance(value, StaticFallback) else _page(value)
        yield from (("", svg) for svg in _in_html(page))


def _page(value: object) -> str:
    """How a notebook shows a value; "" for a text."""
    return getattr(value, "_repr_html_", lambda: "")() or ""


def _in_html(page: str) -> Iterator[str]:
    """The pictures of a page, in the colours that they have outside of JupyterLab."""
    for match in _IN_HTML.finditer(page):
        svg = base64.b64decode(match[1]).decode() if match[1] else match[0]
        svg = _THEMED.sub(r"\1", svg)
        yield svg if "xmlns=" in svg else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def _caption(svg: str) -> str:
    """Title and notes of a picture."""
    words = [re.search(rf"<{tag}>(.*?)</{tag}>", svg, flags=re.S) for tag in ("title", "desc")]
    return html.unescape(": ".join(word[1] for word in words if word and word[1]))


def write(lesson: str, folder: Path, *, all_positions: bool = False) -> list[Path]:
    """Write the figures of a lesson as 01.svg, 02.svg and so on, and slides.md."""
    found = [entry.file for entry in LESSONS if lesson in (entry.file, entry.number, entry.slug)]
    if not found:
        raise SystemExit(
            f"there is no lesson {lesson!r}; there are {', '.join(entry.file for entry in LESSONS)}"
        )
    written, slides = [], []
    for number, figure in enumerate(figures_of(found[0], all_positions=all_positions), 1):
        written.append(folder / f"{number:02d}.svg")
        write_atomically(written[-1], figure.svg)
        slides.append(f"## {figure.heading}\n\n![{figure.caption}]({number:02d}.svg)\n")
    write_atomically(folder / "slides.md", "---\nmarp: true\n---\n\n" + "\n---\n\n".join(slides))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.slides", description="Write every figure of a lesson as SVG, and slides.md."
    )
    parser.add_argument("lesson", help="such as 05-wgmma, or 05")
    parser.add_argument("folder", nargs="?", type=Path, help="slides/LESSON unless told")
    parser.add_argument("--all", action="store_true", help="every position of a slider, not only the first")
    arguments = parser.parse_args()
    os.environ["PTXLAB_PROGRESS"] = os.devnull  # a teacher who makes slides has not tried the exercises
    folder = arguments.folder or Path("slides") / arguments.lesson
    written = write(arguments.lesson, folder, all_positions=arguments.all)
    print(f"{len(written)} figures and slides.md in {folder}")


if __name__ == "__main__":
    main()
