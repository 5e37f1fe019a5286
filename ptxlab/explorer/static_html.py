"""A saved page: the explorer's view in one file that needs no kernel and no network.

Bytes travel as in a notebook, deflated and in base64; the registers of all lanes as columns, which deflate well.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import anywidget

from .. import __version__
from ..errors import PtxlabError
from .module import script, source, style
from .protocol import held
from .state import GPU

if TYPE_CHECKING:
    from .explorer import Explorer

__all__ = ["columns", "save", "target", "write"]

POLICY = "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
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
<noscript>This page draws with JavaScript, which is switched off here.</noscript>
</main>
<script type="application/json" id="saved">$saved</script>
<script type="module">$script</script>
</body>
</html>
""")
CELLS, MMA_FAMILIES = 1024, 1 << 15  # up to which the dot products of all cells of D are saved, for stepping


def save(
    ex: Explorer, path: str | Path, title: str, reason: Callable[..., dict[str, Any]], chosen: tuple[int, int]
) -> Path:
    """Write the explorer's view: all lanes, the dot products of a small D, and the aligned bits of the chosen cell of D."""
    to, view, ins = target(path), ex.view, ex.instruction
    own = [
        name
        for name in view.class_traits(sync=True)
        if name not in anywidget.AnyWidget.class_traits() and not name.startswith("_")
    ]
    rows, width = ins.d.shape
    small = rows * width <= CELLS and rows * width * ins.k <= MMA_FAMILIES
    cells = [(row, column) for row in range(rows) for column in range(width)] if small else []
    options = [f"{name.replace('_', '-')} {str(value).lower()}" for name, value in ex.bench.options.items()]
    saved = {
        "notes": [f"Saved with ptxlab {__version__}", _whose(ex), *options],
        "code": f'import ptxlab\nptxlab.explore("{ex.link}")',
        "state": {name: getattr(view, name) for name in own if name not in ("held", "catalogue")}
        | {
            "problem": "",
            "offer": {},
            "note": "",
            "trace": reason(*chosen, picture=True),
            "tools": {**view.tools, "still": True},
        },
        "lanes": columns([held(ex.bench, lane) for lane in range(ins.lanes)]),
        "reasons": [reason(row, column, picture=False) for row, column in cells],
        "refusal": f'this page was saved: open it in a notebook to edit, e.g. ptxlab.explore("{ins.mnemonic}")',
        "others": f"{'The bits' if cells else 'Bits and steps'} of D[{chosen[0]}][{chosen[1]}] only were saved: other cells need the emulator, in a notebook",
    }
    return write(to, title, ins.mnemonic, saved)


def _whose(ex: Explorer) -> str:
    """Where D is from: the page cannot compute it anew."""
    said = [
        "the GPU" if chip == GPU else f"the emulator ({chip})"
        for chip in (ex.bench.chip, ex.bench.against)
        if chip is not None
    ]
    return f"D as {' and '.join(said)} gave it"


def target(path: str | Path) -> Path:
    """Where a page may be written.

    >>> target("d.pdf")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: d.pdf: a page is written as .html, found '.pdf'
    """
    to = Path(path)
    if to.suffix.lower() not in (".html", ".htm"):
        raise PtxlabError(f"{to.name}: a page is written as .html, found {to.suffix or 'no suffix'!r}")
    if not to.parent.is_dir():
        raise PtxlabError(f"{to}: the folder {to.parent} does not exist")
    return to


def columns(lanes: Sequence[Mapping[str, Sequence[Mapping[str, Any]]]]) -> dict[str, Any]:
    """Registers of all lanes turned over: for every operand and every part of a register or element, a list [lane][register][element].

    >>> columns([{"A": [{"hex": "0x1", "fields": [{"text": "1"}]}]}, {"A": [{"hex": "0x2", "fields": [{"text": "2"}]}]}])
    {'A': {'count': 1, 'own': {'hex': [['0x1'], ['0x2']]}, 'fields': {'text': [[['1']], [['2']]]}}}
    """
    turned: dict[str, Any] = {}
    for name, first in lanes[0].items():
        parts = [key for key in first[0] if key != "fields"] if first else []
        inner = list(first[0]["fields"][0]) if first and first[0]["fields"] else []
        turned[name] = {
            "count": len(first),
            "own": {key: [[register[key] for register in lane[name]] for lane in lanes] for key in parts},
            "fields": {
                key: [
                    [[field[key] for field in register["fields"]] for register in lane[name]]
                    for lane in lanes
                ]
                for key in inner
            },
        }
    return turned


def write(path: str | Path, title: str, name: str, saved: Mapping[str, Any]) -> Path:
    """Write the page: `saved` is what front/still.js opens, bytes and long parts in it still plain. Without a title, a name stands in the window's."""
    to = target(path)
    code = script("still")
    page = FRAME.substitute(
        policy=POLICY.format(base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()),
        generator=f"ptxlab {__version__}",
        title=html.escape(title or name),
        heading=html.escape(title),
        style=style() + source("still.css"),
        saved=_inert(json.dumps(_packed(saved), separators=(",", ":"), allow_nan=False)),
        script=code,
    )
    try:
        to.write_bytes(page.encode())
    except OSError as error:
        raise PtxlabError(f"{to}: the page could not be written ({error.strerror or error})") from None
    return to


def _inert(text: str) -> str:
    """JSON that no reader of HTML mistakes for a tag or a comment."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(value: Any) -> Any:
    """Bytes, and whatever would be long as JSON, deflated."""
    if isinstance(value, bytes | memoryview):
        return {"deflated": _deflated(bytes(value))}
    if not isinstance(value, dict | list | tuple):
        return value
    if not _has_bytes(value):
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        return value if len(text) < 2000 else {"deflated": _deflated(text.encode()), "json": True}
    if isinstance(value, dict):
        return {key: _packed(inner) for key, inner in value.items()}
    return [_packed(inner) for inner in value]


def _has_bytes(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_bytes, value.values()))
    return isinstance(value, bytes | memoryview) or (
        isinstance(value, list | tuple) and any(map(_has_bytes, value))
    )


def _deflated(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 9)).decode()
