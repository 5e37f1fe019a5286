"""The walk as a widget: an Explorer that moves from stop to stop, with what is new and a question."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
from numpy.typing import NDArray

from .._util.arguments import as_index, as_text
from .._version import __version__
from ..course.progress_record import record, solved
from ..errors import PtxlabError, counted, quoted
from ..explorer.bundle import script, sheets
from ..explorer.documents.forms import Explorable
from ..explorer.saving.static_html import check_path, pack, write_packed
from ..explorer.widget import Explorer
from ..isa.operand import Operand
from ..isa.tcgen05 import CONTROL_FAMILIES, TensorTransfer
from ..isa.tensor_operand import LANES, TensorOperand
from ..numerics.emulate_tcgen05_transfer import shift_rows
from ..views.palette import EDGE, FREE, LIGHT
from ..views.png import png
from ..views.static_fallback import StaticFallback
from .stops import Stop, forms_summary, stops

_PICTURED = ("A", "B", "C", "D", "S", "T", "SFA")  # operands with a small picture
_RULE_WIDTH = 64  # characters of a line
_MAX_PRODUCTS = 1 << 12  # a D with at most these, as of m16n8k32, has all dot products in a saved walk


class HtmlText(str):
    """Text that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


class WalkBar(anywidget.AnyWidget):
    """The map of the stops, what is new at this one, and its question."""

    _esm = script("walk")
    _css = sheets("walk")
    shown = traitlets.Dict().tag(sync=True)


class WalkFragments(anywidget.AnyWidget):
    """The fragments of a stop, each with the manual's formula beside it."""

    _esm = script("walk_fragments")
    _css = sheets("walk")
    fragments = traitlets.List(traitlets.Dict()).tag(sync=True)


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
        self.explorer = Explorer(_opened(self.stop, self.stops))
        self.bar, self.fragments = WalkBar(), WalkFragments()
        self.bar.on_msg(lambda _, content, __: self._receive(content))
        super().__init__([self.bar, self.explorer.page, self.fragments])
        self._show()

    @property
    def stop(self) -> Stop:
        """Where the walk is."""
        return self.stops[self._number]

    @property
    def table(self) -> HtmlText:
        """All layouts at a glance, each a link to its stop."""
        return HtmlText(glance_html(self.stops))

    def go(self, stop: int | str) -> None:
        """Go to a stop, by its number or by an instruction of it."""
        self._number = self._numbered(stop)
        self.verdict = {}
        if _has_matrices(self.stop):
            self.explorer.restart(self.stop.form)
        self._show()
        self.redraw_saved()

    def answer(self, text: str) -> bool:
        """Answer the question of this stop; whether it is right. Progress is recorded with the course's."""
        verdict = self.stop.check(text)
        record(verdict)
        self.verdict = {"state": verdict.state, "text": verdict.text, "answer": text}
        self._show()
        return bool(verdict)

    def save_html(self, path: str | Path, title: str = "") -> Path:
        """Write the walk as one HTML file that needs no Python and no network.

        It has every stop with its question; the current stop has its matrices as edited.
        ``ptxlab.walk("wgmma").save_html("wgmma.html")`` writes six stops, in seconds.
        """
        check_path(path)
        walk = self.stop.walk
        title = as_text(title, "title") or f"Every layout of {walk}"
        saved = {
            "walk": walk,
            "start": self._number,
            "notes": [f"Saved with ptxlab {__version__}", "To change a matrix, open the stop in a notebook"],
            "stops": [_saved_stop(stop) for stop in self.stops],
        }
        other = Explorer(_opened(self.stop, self.stops))
        explorers = [
            self._saved_explorer(stop, self.explorer if stop is self.stop else other) for stop in self.stops
        ]
        other.page.close()
        page = {"walk": pack(saved), "explorers": explorers}
        return write_packed(path, title, "", page, module="saved_walk", sheets=["walk"])

    def _saved_explorer(self, stop: Stop, explorer: Explorer) -> dict[str, Any] | None:
        """What the Explorer shows at a stop; None where there is no matrix."""
        if not _has_matrices(stop):
            return None
        if explorer is not self.explorer:
            explorer.restart(stop.form)
        data = explorer.page_data(max_products=_MAX_PRODUCTS)
        again = f"open it in a notebook with {_call(stop)}"
        packed: dict[str, Any] = pack(
            {**data, "code": "", "refusal": f"this page cannot be edited: press Open live, or {again}"}
        )
        return packed

    def _numbered(self, stop: int | str) -> int:
        if not isinstance(stop, str):
            return as_index(stop, "stop", len(self.stops))
        for number, listed in enumerate(self.stops):
            if stop == listed.title or any(form.mnemonic == stop for form in listed.forms):
                return number
        raise PtxlabError(
            f"this walk has no stop with {quoted(stop)}; it goes from 0 to {len(self.stops) - 1}"
        )

    def _receive(self, message: object) -> None:
        match message:
            case {"action": "go", "stop": int(stop)} if 0 <= stop < len(self.stops):
                self.go(stop)
            case {"action": "answer", "text": str(text)} if len(text) < 200:
                self.answer(text)
            case _:
                self._show()

    def _show(self) -> None:
        right = solved()
        self.explorer.page.layout.display = None if _has_matrices(self.stop) else "none"
        self.fragments.fragments = _fragments(self.stop)
        self.bar.shown = {
            "walk": self.stop.walk,
            "number": self._number,
            **_facts(self.stop),
            "verdict": self.verdict,
            "stops": [
                {
                    "title": stop.title,
                    "group": stop.group,
                    "done": stop.name in right,
                    "images": _images(stop),
                }
                for stop in self.stops
            ],
        }

    def static_html(self) -> str:
        """This stop as an image with its fragments and formulas, where no kernel runs."""
        picture = self.explorer.static_html() if _has_matrices(self.stop) else ""
        heading = f"{self.stop.walk}: stop {self._number + 1} of {len(self.stops)}"
        return (
            f"<p><strong><code>{escape(self.stop.title)}</code></strong> {escape(heading)}</p>"
            f"<p>{escape(self.stop.what_changed)}</p>{picture}{_fragments_html(self.stop)}"
        )


def _has_matrices(stop: Stop) -> bool:
    return stop.form.family not in CONTROL_FAMILIES


def _opened(stop: Stop, every: Sequence[Stop]) -> Explorable:
    """The form that an Explorer opens with: that of the stop, or of the first that it shows."""
    forms = (candidate.form for candidate in (stop, *every))
    return next(form for form in forms if isinstance(form, Explorable))


def _call(stop: Stop) -> str:
    return f'ptxlab.walk("{stop.walk}", {stop.number})'


def _facts(stop: Stop) -> dict[str, Any]:
    """What the bar shows of a stop."""
    question = stop.question
    return {
        "title": stop.title,
        "mnemonic": stop.form.mnemonic,
        "news": stop.what_changed,
        "sharing": forms_summary(stop.forms),
        "forms": [form.mnemonic for form in stop.forms],
        "question": {"text": question.text, "example": question.example} if question else {},
    }


def _saved_stop(stop: Stop) -> dict[str, Any]:
    """A stop for a page without Python, which checks the answer itself."""
    question = stop.question
    return {
        **_facts(stop),
        "name": stop.name,
        "group": stop.group,
        "code": f"import ptxlab\n{_call(stop)}",
        "fragments": _fragments(stop),
        "images": _images(stop),
        "answers": question.answers if question else [],
        "hints": stop.saved_hints(),
    }


# -- fragments as pictures -------------------------------------------------------------------------------


_FREE_OPACITY = 72  # of free tensor memory
_OPACITY = bytes([255] * len(LIGHT.lanes) + [_FREE_OPACITY])
_MIN_SIDE, _MAX_SIDE = 16, 128  # pixels of a side of a small picture
_PALETTE = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in (*LIGHT.lanes, FREE))


@lru_cache(maxsize=1024)
def _image(name: str, operand: Operand | TensorOperand) -> dict[str, Any]:
    """The placement of an operand as a small image: a pixel for each element in the colour of its lane.

    For an operand in tensor memory there is a pixel for each word, 128 lanes by the columns of every CTA, in
    the colour of the row that it holds.
    """
    colours = len(LIGHT.lanes)
    if isinstance(operand, TensorOperand):
        coords = operand.layout.coords()
        ctas, lanes = np.divmod(coords[..., 0], LANES)
        columns = ctas * operand.columns + coords[..., 1] * operand.width // 32
        pixels = np.full((LANES, operand.columns * operand.ctas), colours, np.uint8)
        pixels[lanes, columns] = np.arange(coords.shape[1])[:, None] % colours
    else:
        pixels = np.zeros(operand.shape, np.uint8)
        coords = operand.layout.coords() if operand.layout else np.zeros((operand.lanes, 0, 2), int)
        pixels[coords[..., 0], coords[..., 1]] = np.arange(operand.lanes)[:, None] % colours
    return _picture(name, pixels)


def _picture(name: str, pixels: NDArray[np.uint8]) -> dict[str, Any]:
    image = "data:image/png;base64," + base64.b64encode(png(pixels, _PALETTE, _OPACITY)).decode()
    return {"name": name, "rows": pixels.shape[0], "columns": pixels.shape[1], "image": image}


def _shifted(form: TensorTransfer) -> list[dict[str, Any]]:
    """Tensor memory before and after tcgen05.shift of its first 32 lanes."""
    colours = len(LIGHT.lanes)
    before = np.full((LANES, form.columns), colours, np.uint32)
    before[:32] = np.arange(32)[:, None] % colours
    after = np.where(before < colours, shift_rows(before, 0, form.columns), colours)
    return [_picture(name, words.astype(np.uint8)) for name, words in (("T", before), ("T'", after))]


def _images(stop: Stop) -> list[dict[str, Any]]:
    if isinstance(stop.form, TensorTransfer) and stop.form.family == "tcgen05.shift":
        return _shifted(stop.form)
    placed: dict[str, Any] = {**stop.explained, **stop.in_tensor_memory}
    return [_image(name, operand) for name, operand in placed.items() if name in _PICTURED]


def _fragments(stop: Stop) -> list[dict[str, Any]]:
    """Operands in registers with the formulas of the manual; those in tensor memory with their rule."""
    fragments: list[dict[str, Any]] = []
    if stop.form.family == "tcgen05.shift":
        before, after = _images(stop)
        titles = ("T, tensor memory before, coloured by lane", "T', after: the colours moved up by a lane")
        fragments.append({**before, "title": titles[0], "formula": ""})
        fragments.append({**after, "title": titles[1], "formula": stop.formulas["T'"]})
        return fragments
    for name, formula in stop.formulas.items():
        if name in stop.in_tensor_memory:
            tensor = stop.in_tensor_memory[name]
            title = f"{tensor.describe()}, coloured by row"
            lines = (textwrap.wrap(line, _RULE_WIDTH) for line in formula.splitlines())
            text = "\n".join(line for wrapped in lines for line in wrapped)
            fragments.append({**_image(name, tensor), "title": title, "formula": text})
            continue
        operand = stop.in_registers[name]
        rows, columns = operand.shape
        registers = counted(operand.registers, "register")
        size = f"{rows} × {columns} {operand.dtype.name}"
        title = f"{stop.display_name(name)}, {size}, {registers} a {operand.holder}"
        fragments.append({**_image(name, operand), "title": title[0].upper() + title[1:], "formula": formula})
    return fragments


def _fragments_html(stop: Stop) -> str:
    cards = [
        f'<figure style="margin:0 18px 8px 0"><figcaption>{escape(fragment["title"])}</figcaption>'
        f"<div>{_image_tag(fragment)}</div><pre>{escape(fragment['formula'])}</pre></figure>"
        for fragment in _fragments(stop)
    ]
    return f'<div style="display:flex;flex-wrap:wrap">{"".join(cards)}</div>'


_NAME = "font-family:var(--jp-code-font-family,monospace);overflow-wrap:anywhere"


def _breakable(name: str) -> str:
    """A mnemonic that may be broken after a dot."""
    return escape(name).replace(".", ".<wbr>")


def glance_html(every: Sequence[Stop]) -> str:
    """The layouts of a walk side by side: each with its fragments, what shares it, and a link to its stop.

    >>> glance_html(stops("wgmma")).count("<a ")
    6
    """
    cards = "".join(
        f'<div style="border-top:1px solid {EDGE};padding:6px 0" title="{escape(stop.what_changed)}">'
        f'<a href="#walk-{stop.walk}-{stop.number + 1}" style="{_NAME}">{_breakable(stop.title)}</a>'
        f"<div>{''.join(_image_tag(image) for image in _images(stop))}</div>"
        f'<small style="opacity:0.75">{escape(forms_summary(stop.forms))}</small></div>'
        for stop in every
    )
    columns = "repeat(auto-fill,minmax(210px,1fr))"
    style = f"display:grid;grid-template-columns:{columns};gap:10px 16px"
    return f'<div class="ptx-glance" style="{style}">{cards}</div>'


def _image_tag(image: dict[str, Any]) -> str:
    """A fragment: two pixels per element on each side, four on a short side, one on a long one."""

    def length(elements: int) -> int:
        if elements <= 16:
            scale = 4
        elif elements <= 64:
            scale = 2
        else:
            scale = 1
        return min(max(elements * scale, _MIN_SIDE), _MAX_SIDE)

    width, height = length(image["columns"]), length(image["rows"])
    # as a style, since rules of the page, such as JupyterLab's `height: auto`, override attributes
    style = f"width:{width}px;height:{height}px;image-rendering:pixelated;margin:4px 4px 4px 0;display:inline"
    return f'<img alt="{escape(image["name"])}" style="{style}" src="{image["image"]}">'
