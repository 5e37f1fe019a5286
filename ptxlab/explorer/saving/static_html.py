"""The Explorer's view as one HTML file that needs no kernel and no network.

Binary data is deflated and base64-encoded; the registers of all lanes are stored by column, which deflates
well.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from ..._util.arguments import as_text
from ..._util.files import reason, write_atomically
from ..._version import __version__
from ...errors import PtxlabError, quoted
from ...isa.tcgen05.tcgen05_transfer import LOAD_SHAPES
from ..bundle import script, style
from ..documents.masks import MASKS, mask_text
from ..documents.product_document import GPU, ProductDocument
from ..links import page_address
from ..page.memory_view import has_memory_view, lay_out, memory_data
from ..page.page_model import PageModel
from ..page.page_values import lane_registers
from ..page.tensor_view import find_load, load_data
from ..quiz.quiz import ShortQuestion, saved_questions
from ..state import ExplorerState, LoadRequest, MemoryRequest

#: What a page asks for that loads Python from its own site.
OF_SITE = "; worker-src 'self'; connect-src 'self'"
POLICY = "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'"
FRAME = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="$generator">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main id="page">
<h1>$heading</h1>
<noscript>This page needs JavaScript, which is switched off.</noscript>
</main>
<script type="application/json" id="saved">$saved</script>
<script type="module">$script</script>
</body>
</html>
""")
_MAX_MEMORY = 1 << 15  # bytes of shared memory of a matrix that a page saves
#: All dot products are saved only for a D of at most so many elements, made of at most so many products.
_MAX_CELLS, MAX_PRODUCTS = 1024, 1 << 15


#: Gives what the page shows of a cell of D: its dot product and the picture of its bits (`TracePanel.data`).
TraceData = Callable[..., dict[str, Any]]


def page_data(
    state: ExplorerState,
    page_model: PageModel,
    link: str,
    trace_data: TraceData,
    cell: tuple[int, int],
    questions: Callable[[], Sequence[ShortQuestion]],
    max_products: int = MAX_PRODUCTS,
) -> dict[str, Any]:
    """What is shown and, for a product, all lanes, dot products, the aligned bits of a cell, and a quiz."""
    notebook = f'open it in a notebook with ptxlab.explore("{state.form.mnemonic}")'
    traits = _saved_traits(page_model)
    saved = {
        "code": f'import ptxlab\nptxlab.explore("{link}")',
        "live": page_address(link),
        "refusal": f"this page cannot be edited: press Open live, or {notebook}",
        "how_to_change": "To change it, press Open live.",
        "state": traits,
        "notes": [f"Saved with ptxlab {__version__}", "Words moved by the emulator"],
        "lanes": {},
        "memories": {},
        "loads": [],
        "quiz": [],
        "traces": [],
        "not_saved": "",
    }
    if isinstance(state.document, ProductDocument):
        traits["trace"] = trace_data(*cell, with_picture=True)
        saved |= _saved_product(state, trace_data, cell, questions(), max_products)
    return saved


def _saved_product(
    state: ExplorerState,
    trace_data: TraceData,
    cell: tuple[int, int],
    questions: Sequence[ShortQuestion],
    max_products: int,
) -> dict[str, Any]:
    ins = state.ins
    rows, width = ins.d.shape
    is_small = (
        state.chip_choice.has_result and rows * width <= _MAX_CELLS and rows * width * ins.k <= max_products
    )
    cells = [(row, column) for row in range(rows) for column in range(width)] if is_small else []
    options = [_option_note(name, value) for name, value in state.options.items()]
    what_is_saved = "bits" if cells else "bits and steps"
    return {
        "notes": [f"Saved with ptxlab {__version__}", _provenance(state), *options],
        "lanes": columns([lane_registers(state, lane) for lane in range(state.threads)]),
        "memories": _memories(state),
        "loads": _loads(state),
        "quiz": saved_questions(state, questions),
        # without their bits, which would be half of the page
        "traces": [trace_data(*position, with_picture=False, with_bits=False) for position in cells],
        "not_saved": f"This page has only the {what_is_saved} of D[{cell[0]}][{cell[1]}]; "
        "for other cells open it in a notebook",
    }


def _saved_traits(page_model: PageModel) -> dict[str, Any]:
    values = vars(page_model)
    not_saved = ("lane_registers", "picker_index", "candidates")
    names = [name for name in PageModel.__annotations__ if name not in not_saved]
    return {
        **{name: values[name] for name in names},
        "problem": "",
        "refusal": {},
        "notice": "",
        "quiz": {},
        "height": 0,  # the whole page
        "toolbar": {**page_model.toolbar, "static": True},
    }


def _option_note(name: str, value: int | bool) -> str:
    """``enable-input-d true``."""
    text = mask_text(name, value) or "none" if name in MASKS else str(value).lower()
    return f"{name.replace('_', '-')} {text}"


def _memories(state: ExplorerState) -> dict[str, Any]:
    """Every matrix in shared memory, with the current layout or the default; a saved page offers no other."""
    shown, memories = state.memory, {}
    for name in state.operation.names:
        operand = state.operation.operand(name)
        smallest = operand.shape[0] * operand.shape[1] * operand.dtype.bits // 8
        if not has_memory_view(state.ins, name) or smallest > _MAX_MEMORY:
            continue
        # a request may call the compressed A, which is in memory, A
        names = ("A", "stored") if name == "stored" else (name,)
        is_shown = shown is not None and shown.name in names
        layout = lay_out(state, shown if shown and is_shown else MemoryRequest(name))
        if is_shown or layout.placement.size <= _MAX_MEMORY:
            memories[name] = memory_data(state, layout)
    return memories


def _loads(state: ExplorerState) -> list[dict[str, Any]]:
    """The shown tcgen05.ld, and the default one of every other shape and lane."""
    ins, loads = state.ins, list[dict[str, Any]]()
    if ins.d.space != "tensor":
        return loads
    usual = (LoadRequest(shape, lane=lane) for shape in LOAD_SHAPES for lane in (0, 16))
    for request in (state.load, *usual):
        with contextlib.suppress(PtxlabError):
            loads.append(load_data(ins, find_load(ins, request)))
    return loads


def _provenance(state: ExplorerState) -> str:
    """Who computed D, which the page cannot do itself."""
    if not state.chip_choice.has_result:
        return f"D is empty: {state.chip_choice.why_no_model}"
    chips = [chip for chip in (state.chip_choice.chip, state.chip_choice.against) if chip is not None]
    names = ["the GPU" if chip == GPU else f"the emulator ({chip})" for chip in chips]
    return f"D computed by {' and '.join(names)}"


def check_path(path: str | Path) -> Path:
    """The path of a page to write, checked.

    >>> check_path("d.pdf")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: d.pdf: a page is written as .html, found '.pdf'
    """
    try:
        target = Path(path)
        os.fsencode(target)  # refuses a lone surrogate
    except Exception:  # a path-like object may raise anything
        raise PtxlabError(f"a page is written to a path; found {quoted(path)}") from None
    if target.suffix.lower() not in (".html", ".htm"):
        suffix = quoted(target.suffix or "no suffix")
        raise PtxlabError(f"{_end_of(target.name)}: a page is written as .html, found {suffix}")
    try:
        has_folder = target.parent.is_dir() and "\0" not in str(target)
    except OSError:  # a name that is too long
        has_folder = False
    if not has_folder:
        folder = _end_of(str(target.parent), 120)
        raise PtxlabError(f"{_end_of(target.name)}: the folder {folder} does not exist")
    return target


def _end_of(path: str, limit: int = 60) -> str:
    """The last characters of a path, for a message."""
    text = " ".join(path.split()).replace("\0", "")
    return text if len(text) <= limit else f"...{text[3 - limit :]}"


def columns(lanes: Sequence[Mapping[str, Sequence[Mapping[str, Any]]]]) -> dict[str, Any]:
    """The registers of all lanes by column: for each key of a register or field, lists by lane and register.

    >>> lane0 = {"A": [{"hex": "0x1", "fields": [{"text": "1"}]}]}
    >>> lane1 = {"A": [{"hex": "0x2", "fields": [{"text": "2"}]}]}
    >>> columns([lane0, lane1])
    {'A': {'count': 1, 'own': {'hex': [['0x1'], ['0x2']]}, 'fields': {'text': [[['1']], [['2']]]}}}
    """
    by_operand: dict[str, Any] = {}
    for name, registers in lanes[0].items():
        own_keys = [key for key in registers[0] if key != "fields"] if registers else []
        field_keys = list(registers[0]["fields"][0]) if registers and registers[0]["fields"] else []
        by_operand[name] = {
            "count": len(registers),
            "own": {key: [[register[key] for register in lane[name]] for lane in lanes] for key in own_keys},
            "fields": {
                key: [
                    [[field[key] for field in register["fields"]] for register in lane[name]]
                    for lane in lanes
                ]
                for key in field_keys
            },
        }
    return by_operand


def write_page(path: str | Path, title: str, name: str, saved: Mapping[str, Any]) -> Path:
    """Write the page of an Explorer; without a title, its name is in the title bar."""
    return write_packed(path, title, name, pack(saved))


def write_packed(
    path: str | Path,
    title: str,
    name: str,
    packed: Mapping[str, Any],
    *,
    module: str = "saved_page",
    sheets: Sequence[str] = (),
    sources: str = "",
) -> Path:
    """Write a page that runs a module of front/, with more style sheets, and more sources in its policy."""
    target = check_path(path)
    page = page_text(title, name, packed, module=module, sheets=sheets, sources=sources)
    try:
        write_atomically(target, page)
    except OSError as error:
        raise PtxlabError(f"{target}: the page could not be written ({reason(error)})") from None
    return target


def page_text(
    title: str,
    name: str,
    packed: Mapping[str, Any],
    *,
    module: str = "saved_page",
    sheets: Sequence[str] = (),
    sources: str = "",
) -> str:
    """The text of a page that runs a module of front/."""
    title = as_text(title, "title").encode(errors="replace").decode()  # replaces a lone surrogate
    script_text, css = script(module), style("saved_page", *sheets)
    saved = json.dumps(packed, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":  # it stands in a <script> element
        saved = saved.replace(sign, f"\\u{ord(sign):04x}")
    return FRAME.substitute(
        policy=POLICY.format(policy_source(script_text), policy_source(css)) + sources,
        generator=f"ptxlab {__version__}",
        title=html.escape(title or name),
        heading=html.escape(title),
        style=css,
        saved=saved,
        script=script_text,
    )


def policy_source(text: str) -> str:
    """The CSP source expression (`'sha256-…'`) of an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def pack(value: Any) -> Any:
    """Deflate bytes, and whatever would be long as JSON."""
    if isinstance(value, bytes | memoryview):
        return {"deflated": _deflate(bytes(value))}
    if not isinstance(value, dict | list | tuple):
        return value
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except TypeError:  # it contains bytes
        if isinstance(value, dict):
            return {key: pack(inner) for key, inner in value.items()}
        return [pack(inner) for inner in value]
    return value if len(text) < 2000 else {"deflated": _deflate(text.encode()), "json": True}


def _deflate(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 9)).decode()
