"""What the browser draws, as traits; from a page it takes only what a page can have chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from ..errors import PtxlabError
from .module import script, style
from .protocol import difference
from .traits import place

__all__ = ["LOOKS", "MATRICES", "PINS", "View"]

PINS = 4  # lanes that can be pinned
MATRICES = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB")
_LARGE = (*MATRICES, "held")  # of these a page gets what changed

#: How it is shown, which says nothing of the numbers: the trait, and the control that sets it. A saved page has these too.
LOOKS: dict[str, dict[str, Any]] = {
    "label": {
        "said": "Show", "hint": "What stands in the cells",
        "options": [["value", "value"], ["hex code", "hex"], ["binary", "binary"], ["lane·element", "lane"]],
    },
    "colour_by": {
        "said": "Colour by", "hint": "What the colours say",
        "options": [[each, each] for each in ("lane", "register", "warp", "value", "nothing")],
    },
    "show_c": {"said": "show C", "hint": "Show the accumulator C, which is added to the product: its matrix and its registers"},
    "zoom": {"said": "Zoom", "hint": "Size of the cells; Ctrl and the wheel do it too", "range": {"min": 50, "max": 400, "step": 25}},
}  # fmt: skip


class View(anywidget.AnyWidget):
    """What the browser draws. Matrices travel as bytes; `about` (sizes, types, lane maps) once for each instruction."""

    _esm = script()
    _css = style()
    _ours = (
        "about",
        *MATRICES,
        "held",
        "problem",
        "offer",
        "note",
        "trace",
        "tools",
        "catalogue",
    )  # only Python writes these

    about = traitlets.Dict().tag(sync=True)
    A = traitlets.Dict().tag(sync=True)
    stored = traitlets.Dict().tag(sync=True)
    B = traitlets.Dict().tag(sync=True)
    C = traitlets.Dict().tag(sync=True)
    D = traitlets.Dict().tag(sync=True)
    E = traitlets.Dict().tag(sync=True)
    SFA = traitlets.Dict().tag(sync=True)
    SFB = traitlets.Dict().tag(sync=True)
    held = traitlets.Dict().tag(sync=True)  # registers of the lanes that are shown, by lane
    lane = traitlets.Int(0).tag(sync=True)
    pinned = traitlets.List(traitlets.Int()).tag(
        sync=True
    )  # lanes whose registers stand beside those of the chosen one
    selected = traitlets.Dict().tag(sync=True)  # {name, row, column}
    colour_by = traitlets.Unicode("lane").tag(sync=True)
    label = traitlets.Unicode("value").tag(sync=True)  # what stands in a cell: value, hex, binary, lane
    show_c = traitlets.Bool(False).tag(sync=True)
    zoom = traitlets.Int(100).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    offer = traitlets.Dict().tag(
        sync=True
    )  # of the edit that was refused: the cells at fault, the sentence, what can be done; {} for none
    note = traitlets.Unicode("").tag(sync=True)  # what happened, where it is no problem
    tools = traitlets.Dict().tag(sync=True)  # what the bar above the picture offers, and what is chosen there
    catalogue = traitlets.Dict().tag(sync=True)  # of the picker; empty until it is first opened
    tracing = traitlets.Bool(False).tag(
        sync=True
    )  # whether the panel below says why a cell of D has its bits
    trace = traitlets.Dict().tag(
        sync=True
    )  # for the cell of D that was chosen last: {row, column, walk}, and where `tracing` the picture

    def __init__(self, **given: Any) -> None:
        self._latest: dict[str, tuple[int, Any]] = {}  # what is large: how often it was sent, and what
        self._brief = False
        super().__init__(**given)
        self.on_msg(self._on_lost)

    def _on_lost(self, _: Any, message: Any, __: Any) -> None:
        """A page lacks what a difference was from."""
        if message == {"do": "whole"}:
            self._latest = {name: (count, None) for name, (count, _) in self._latest.items()}
            self.send_state(_LARGE)

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send traits to the page; those that are large by what changed in them, unless all are asked for."""
        self._brief = key is not None
        try:
            super().send_state(key)
        finally:
            self._brief = False

    def get_state(
        self, key: str | Iterable[str] | None = None, drop_defaults: bool = False
    ) -> dict[str, Any]:
        """What travels. What is large has a stamp, by which a page knows whether it has what a difference is from."""
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        for name in state.keys() & set(_LARGE):
            new = state[name]
            count, last = self._latest.get(name, (0, None))
            found = difference(last, new) if self._brief and last is not new else None
            stamp = count + (last is not new)
            self._latest[name] = stamp, new
            state[name] = (
                {**new, "stamp": stamp} if found is None else {**found, "since": count, "stamp": stamp}
            )
        return state

    def takes(self, name: str, value: Any) -> bool:
        """Whether a trait may have this value."""
        if name.startswith("_") or name in self._ours or name not in self.traits():
            return False
        about: dict[str, Any] = self.about
        try:
            if name == "lane":
                return type(value) is int and 0 <= value < about.get("lanes", 1)
            if name == "pinned":
                return (
                    type(value) is list
                    and len(value) <= PINS
                    and all(self.takes("lane", lane) for lane in value)
                    and len(set(value)) == len(value)
                )
            look = LOOKS.get(name, {})
            if "range" in look and not (
                type(value) is int and look["range"]["min"] <= value <= look["range"]["max"]
            ):
                return False
            if "options" in look and value not in [option for _, option in look["options"]]:
                return False
            if name == "selected":
                place(
                    value,
                    {
                        each: (said["rows"], said["columns"])
                        for each, said in about.get("matrices", {}).items()
                    },
                )
            self.traits()[name]._validate(self, value)
        except (PtxlabError, traitlets.TraitError):
            return False
        return True

    def set_state(self, sync_data: Any) -> None:
        """What the page sends."""
        if not isinstance(sync_data, dict):
            return
        good = {
            name: value
            for name, value in sync_data.items()
            if name == "_view_count" or self.takes(name, value)
        }
        super().set_state(good)
        bad = [name for name in sync_data if name not in good and name in self.keys]
        if bad:
            self.send_state(bad)
