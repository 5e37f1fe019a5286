"""The walk as a widget: an Explorer that goes from stop to stop, with what is new there and a question."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets

from .._util.arguments import as_index, as_text
from ..course.record import record, solved
from ..errors import PtxlabError
from ..explorer.widget import Explorer
from ..isa.operand import Operand
from ..isa.tcgen05 import CONTROL_FAMILIES
from ..views.drawing import png
from ..views.palette import LIGHT
from ..views.static_fallback import StaticFallback
from .stops import Stop, sharing, stops

_FOLDER = Path(__file__).parent
_PICTURED = ("A", "B", "D", "S", "T")  # operands with a small picture


class HtmlText(str):
    """Text that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


class WalkBar(anywidget.AnyWidget):
    """The map of the stops, what is new at this one, and its question."""

    _esm = (_FOLDER / "walk.js").read_text(encoding="utf-8")
    _css = (_FOLDER / "walk.css").read_text(encoding="utf-8")
    shown = traitlets.Dict().tag(sync=True)


class Walk(StaticFallback, ipywidgets.VBox):  # type: ignore[misc]
    """A walk through the layouts of a family; users call `ptxlab.walk`.

    >>> walk = Walk("wgmma")
    >>> walk.stop.title, len(walk.stops)
    ('m64n8k8 tf32 → f32', 6)
    >>> walk.go(1)
    >>> walk.explorer.instruction.mnemonic
    'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16'
    """

    def __init__(self, family: str, stop: int | str = 0) -> None:
        self.stops = stops(as_text(family, "family"))
        self.verdict: dict[str, str] = {}
        self._number = self._numbered(stop)
        self.explorer = Explorer(self._opened(self.stop))
        self.bar = WalkBar()
        self.formulas = ipywidgets.HTML()
        self.bar.on_msg(lambda _, content, __: self._receive(content))
        super().__init__([self.bar, self.explorer.view, self.formulas])
        self._show()

    @property
    def stop(self) -> Stop:
        """Where the walk is."""
        return self.stops[self._number]

    @property
    def table(self) -> HtmlText:
        """All layouts at a glance."""
        return HtmlText(glance_html(self.stops))

    def go(self, stop: int | str) -> None:
        """Go to a stop, by its number or by an instruction of it."""
        self._number = self._numbered(stop)
        self.verdict = {}
        if self.stop.form.family not in CONTROL_FAMILIES:
            self.explorer.instruction = self.stop.form
        self._show()

    def answer(self, text: str) -> bool:
        """Answer the question of this stop; whether that is right. Progress is kept with the course's."""
        verdict = self.stop.check(text)
        record(verdict)
        self.verdict = {"state": verdict.state, "text": verdict.text, "answer": text}
        self._show()
        return bool(verdict)

    def _numbered(self, stop: int | str) -> int:
        if not isinstance(stop, str):
            return as_index(stop, "stop", len(self.stops))
        for number, each in enumerate(self.stops):
            if stop == each.title or any(form.mnemonic == stop for form in each.forms):
                return number
        raise PtxlabError(f"this walk has no stop with {stop!r}; it goes from 0 to {len(self.stops) - 1}")

    def _opened(self, stop: Stop) -> Any:
        shown = next(each for each in (stop, *self.stops) if each.form.family not in CONTROL_FAMILIES)
        return shown.form

    def _receive(self, message: object) -> None:
        match message:
            case {"action": "go", "stop": int(stop)} if 0 <= stop < len(self.stops):
                self.go(stop)
            case {"action": "answer", "text": str(text)} if len(text) < 200:
                self.answer(text)
            case _:
                self._show()

    def _show(self) -> None:
        stop, right = self.stop, solved()
        question = stop.question
        self.explorer.view.layout.display = "none" if stop.form.family in CONTROL_FAMILIES else None
        self.formulas.value = formulas_html(stop)
        self.bar.shown = {
            "walk": stop.walk,
            "number": self._number,
            "title": stop.title,
            "mnemonic": stop.form.mnemonic,
            "news": stop.news,
            "sharing": sharing(stop.forms),
            "forms": [form.mnemonic for form in stop.forms],
            "question": question._asdict() | {"answers": []} if question else {},
            "verdict": self.verdict,
            "stops": [
                {"title": each.title, "done": each.name in right, "images": _images(each)}
                for each in self.stops
            ],
        }

    def static_html(self) -> str:
        """The layouts at a glance, where no kernel runs."""
        return glance_html(self.stops)


def formulas_html(stop: Stop) -> str:
    """Row and column of every operand in registers, as the manual writes them, beside its fragment."""
    cards = [
        f'<figure style="margin:0 18px 8px 0"><figcaption style="font-weight:600">{name} of '
        f'{escape(stop.title)}</figcaption><pre style="margin:2px 0;font-size:12px;line-height:1.45">'
        f"{escape(formula)}</pre></figure>"
        for name, formula in stop.formulas.items()
    ]
    return f'<div style="display:flex;flex-wrap:wrap">{"".join(cards)}</div>'


@lru_cache(maxsize=1024)
def _thumbnail(operand: Operand) -> str:
    """A fragment as a small image: a pixel for each element, in the colour of its lane."""
    layout = operand.layout
    if layout is None:
        return ""
    pixels = np.zeros(layout.shape, np.uint8)
    coords = layout.coords()
    pixels[coords[..., 0], coords[..., 1]] = np.arange(layout.lanes)[:, None] % len(LIGHT.lanes)
    colours = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in LIGHT.lanes)
    return "data:image/png;base64," + base64.b64encode(png(pixels, colours)).decode()


def _images(stop: Stop) -> list[dict[str, Any]]:
    return [
        {"name": name, "rows": operand.shape[0], "columns": operand.shape[1], "image": _thumbnail(operand)}
        for name, operand in stop.in_registers.items()
        if name in _PICTURED
    ]


def glance_html(every: Sequence[Stop]) -> str:
    """The layouts of a walk as a table: what each is, what is new, how many forms share it."""
    rows = "".join(
        f"<tr><td style='text-align:left'><code>{escape(stop.title)}</code></td>"
        f"<td style='white-space:nowrap'>{_row_of_images(stop)}</td>"
        f"<td style='text-align:left'>{escape(stop.news)}</td><td>{escape(sharing(stop.forms))}</td></tr>"
        for stop in every
    )
    head = "<tr><th>layout</th><th></th><th style='text-align:left'>what is new</th><th>shared by</th></tr>"
    return f"<table>{head}{rows}</table>"


def _row_of_images(stop: Stop) -> str:
    """Fragments at two pixels an element, four where they are small."""
    tags = []
    for each in _images(stop):
        scale = 4 if max(each["rows"], each["columns"]) <= 16 else 2 if each["columns"] <= 64 else 1
        size = f"width={each['columns'] * scale} height={each['rows'] * scale}"
        style = "image-rendering:pixelated;margin-right:4px;display:inline"
        tags.append(f"<img {size} alt='{each['name']}' style='{style}' src='{each['image']}'>")
    return "".join(tags)
