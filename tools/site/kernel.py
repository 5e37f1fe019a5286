"""Outputs of the notebooks for the site, where no kernel runs; only their kernels import this.

An Explorer becomes a saved page, in a frame, which loads Python at the first edit where try/ is beside the
site; a walk becomes the page that `Walk.save_html` writes. The timeline of lesson 05 becomes a picture, and a
slider has its pictures in a file beside the page. A Plotly figure becomes its data, which
docs/_static/site.js draws with the copy of plotly.js in the site.
"""

from __future__ import annotations

import html
import json
import os
import re
from itertools import count
from pathlib import Path
from typing import Any

import plotly.io
from IPython.core.getipython import get_ipython
from plotly.io.base_renderers import MimetypeRenderer

from ptxlab.course.slider import Slider
from ptxlab.course.timeline import static_html
from ptxlab.course.timeline_widget import TimelineWidget
from ptxlab.explorer import Explorer
from ptxlab.explorer.page.instruction_info import adder
from ptxlab.explorer.saving.static_html import OF_SITE, pack, write_packed, write_page
from ptxlab.explorer.sixteen_products import SixteenProducts, page_part
from ptxlab.explorer.worker import DEFAULT
from ptxlab.isa.mma import Instruction
from ptxlab.lessons import Progress
from ptxlab.shapes.walk_widget import HtmlText, Walk
from ptxlab.simulation import Simulation
from ptxlab.views.static_fallback import StaticFallback

from ..web import SETTINGS
from . import EXPLORERS

__all__ = ["install"]


def frame(name: str, title: str, more: str = "") -> str:
    """A saved page within a page."""
    where = f'src="../explorers/{name}" title="{html.escape(title)}"'
    return f'<iframe class="explorer" {where}{more} loading="lazy"></iframe>'


def write_explorer(path: Path, explorer: Explorer, *, wakes: bool) -> Path:
    """The page of an Explorer of a lesson: it wakes at the first edit, or says that it is a picture."""
    mnemonic, saved = explorer.instruction.mnemonic, explorer.page_data()
    if not wakes:
        saved |= {
            "live": "",
            "how_to_change": "To change it, run the lesson.",
            "refusal": "this page has no Python: to change a number, run the lesson in a notebook, or there "
            f'ptxlab.explore("{mnemonic}")',
        }
        return write_page(path, "", mnemonic, saved)
    saved |= {
        "how_to_change": "To change it, type: Python then loads into this page.",
        "python": f"../try/{SETTINGS}",
        "adder": early_adder(explorer),
    }
    sheets = ("try_page",)
    return write_packed(path, "", mnemonic, pack(saved), module="lesson_page", sheets=sheets, sources=OF_SITE)


def early_adder(explorer: Explorer) -> dict[str, Any] | str | None:
    """How the page adds before Python is there (front/products/early_product.js); None where it cannot.

    >>> import ptxlab
    >>> early_adder(ptxlab.explore("mma.m8n8k16.s8")), early_adder(ptxlab.explore("mma.m16n8k8.tf32"))
    ('exact', None)
    """
    state = explorer.session.state
    if not isinstance(state.form, Instruction) or state.chip_choice.against is not None:
        return None
    ins = state.form
    if ins.mnemonic == DEFAULT:
        return adder(ins, state.chip_choice.chip)
    types = {ins.a.dtype.name, ins.b.dtype.name}
    is_plain = ins.family == "mma" and "satfinite" not in ins.mnemonic
    return "exact" if is_plain and types <= {"s8", "u8", "s4", "u4"} else None


def links_to_stops(table: HtmlText) -> str:
    """The table of a walk, whose links open their stop in the walk's frame, by the name of that frame.

    >>> links_to_stops(HtmlText('<a href="#walk-mma.sp-3">'))
    '<a href="../explorers/walk-mma.sp.html#walk-mma.sp-3" target="walk-mma.sp">'
    """
    return re.sub(r'href="#(walk-[^"]+)-(\d+)"', r'href="../explorers/\1.html#\1-\2" target="\1"', table)


def links_to_pages(shown: Any) -> str:
    """The HTML of progress, of a map of the course or of a slider of such, with links to pages of the site.

    >>> links_to_pages(HtmlText('<a href="01-fragments.ipynb">'))
    '<a href="01-fragments.html">'
    """
    return str(shown._repr_html_()).replace('.ipynb"', '.html"')


def saved_pictures(slider: Slider, address: str) -> tuple[str, str]:
    """A slider in a page that has front/saved_pictures.js, and the file with its pictures at that address."""
    state = {"label": slider.label, "names": slider.names, "captions": slider.captions, "step": slider.step}
    data = json.dumps(state).replace("</", "<\\/")
    script = f'<script type="application/json">{data}</script>'
    shown = f"{links_to_pages(slider)}{script}"
    pictures = json.dumps([links_to_pages(drawn) for _, drawn in slider.positions()])
    return f'<div class="saved-pictures" data-pictures="{address}">{shown}</div>', pictures


class _PlotlyData(MimetypeRenderer):  # type: ignore[misc]
    """A figure as JSON in the page."""

    def to_mimebundle(self, figure: dict[str, Any]) -> dict[str, str]:
        data = plotly.io.to_json(figure, validate=False, remove_uids=False).replace("</", "<\\/")
        height = int(figure.get("layout", {}).get("height", 450))
        script = f'<script type="application/json">{data}</script>'
        return {"text/html": f'<div class="plotly-figure" style="min-height: {height}px">{script}</div>'}


def install(notebook: str) -> None:
    """Register the formatters in this kernel; pages of Explorers are numbered within the notebook."""
    shell = get_ipython()
    if shell is None or shell.display_formatter is None:
        raise RuntimeError("this runs in a kernel; `python -m tools.site` starts it")
    formatter = shell.display_formatter
    folder = Path(os.environ[EXPLORERS])
    numbers = count(1)

    def explorer_frame(explorer: Explorer, include: Any = None, exclude: Any = None) -> dict[str, str]:
        name = f"{notebook}-{next(numbers)}.html"
        write_explorer(folder / name, explorer, wakes=bool(os.environ.get("PTXLAB_PAGE")))
        return {"text/html": frame(name, f"Explorer: {explorer.instruction.mnemonic}")}

    def walk_frame(walk: Walk, include: Any = None, exclude: Any = None) -> dict[str, str]:
        name = f"walk-{walk.stop.walk}"
        walk.save_html(folder / f"{name}.html")
        return {"text/html": frame(f"{name}.html", f"Walk: {walk.stop.walk}", f' name="{name}"')}

    def timeline(widget: TimelineWidget, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": static_html()}

    def as_one_output(_: Any) -> None:
        raise NotImplementedError  # IPython goes on with the formatters below, and `_repr_mimebundle_`

    for shown in (StaticFallback, Simulation):
        formatter.ipython_display_formatter.for_type(shown, as_one_output)
    formatter.mimebundle_formatter.for_type(Explorer, explorer_frame)
    formatter.mimebundle_formatter.for_type(Walk, walk_frame)
    formatter.formatters["text/html"].for_type(HtmlText, links_to_stops)

    def slider(widget: Slider, include: Any = None, exclude: Any = None) -> dict[str, str]:
        name = f"{notebook}-{next(numbers)}.json"
        page, pictures = saved_pictures(widget, f"../explorers/{name}")
        (folder / name).write_text(pictures, encoding="utf-8")
        return {"text/html": page}

    formatter.mimebundle_formatter.for_type(TimelineWidget, timeline)

    def products(widget: SixteenProducts, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": page_part()}

    formatter.mimebundle_formatter.for_type(Slider, slider)
    formatter.mimebundle_formatter.for_type(SixteenProducts, products)
    formatter.formatters["text/html"].for_type(Progress, links_to_pages)
    plotly.io.renderers["site"] = _PlotlyData()
    plotly.io.renderers.default = "site"
