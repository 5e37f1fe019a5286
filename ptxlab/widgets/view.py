"""What the browser draws, as traits; from a page it takes only what a page can have chosen."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ..errors import PtxlabError
from .live import place
from .module import script, style

__all__ = ["MATRICES", "View"]

MATRICES = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB")


class View(anywidget.AnyWidget):
    """What the browser draws. Matrices travel as bytes; `about` (sizes, types, lane maps) once for each instruction."""

    _esm = script()
    _css = style()
    _ours = ("about", *MATRICES, "held", "problem", "trace")  # only Python writes these

    about = traitlets.Dict().tag(sync=True)
    A = traitlets.Dict().tag(sync=True)
    stored = traitlets.Dict().tag(sync=True)
    B = traitlets.Dict().tag(sync=True)
    C = traitlets.Dict().tag(sync=True)
    D = traitlets.Dict().tag(sync=True)
    E = traitlets.Dict().tag(sync=True)
    SFA = traitlets.Dict().tag(sync=True)
    SFB = traitlets.Dict().tag(sync=True)
    held = traitlets.Dict().tag(sync=True)  # registers of the chosen lane
    lane = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Dict().tag(sync=True)  # {name, row, column}
    colour_by = traitlets.Unicode("lane").tag(sync=True)
    label = traitlets.Unicode("value").tag(sync=True)  # what stands in a cell: value, hex, binary, lane
    show_c = traitlets.Bool(False).tag(sync=True)
    zoom = traitlets.Int(100).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    tracing = traitlets.Bool(False).tag(sync=True)  # whether the panel below says why a cell of D has its bits
    trace = traitlets.Dict().tag(sync=True)  # for the cell of D that was chosen last: {row, column, walk}, and where `tracing` the picture

    controls = traitlets.Dict()  # those that say which values a trait takes

    def takes(self, name: str, value: Any) -> bool:
        """Whether a trait may have this value."""
        if name.startswith("_") or name in self._ours or name not in self.traits():
            return False
        about: dict[str, Any] = self.about
        try:
            if name == "lane":
                return type(value) is int and 0 <= value < about.get("lanes", 1)
            control: Any = self.controls.get(name)
            if hasattr(control, "min") and not (type(value) is int and control.min <= value <= control.max):
                return False
            if hasattr(control, "options") and value not in control._options_values:
                return False
            if name == "selected":
                place(value, {each: (said["rows"], said["columns"]) for each, said in about.get("matrices", {}).items()})
            self.traits()[name]._validate(self, value)
        except (PtxlabError, traitlets.TraitError):
            return False
        return True

    def set_state(self, sync_data: Any) -> None:
        """What the page sends."""
        if not isinstance(sync_data, dict):
            return
        good = {name: value for name, value in sync_data.items() if name == "_view_count" or self.takes(name, value)}
        super().set_state(good)
        bad = [name for name in sync_data if name not in good and name in self.keys]
        if bad:
            self.send_state(bad)
