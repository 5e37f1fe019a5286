"""The debugger as a notebook's widget: `session` as the value of a cell."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ...simulator.debug import DebugSession
from ...views.annotated_source import session_html
from ...views.static_fallback import StaticFallback
from ..bundle import script, style
from ..notebook_page import CheckedMessages
from ..worker import encode
from .debugger import Debugger
from .debugger_style import debugger_style


class DebuggerWidget(StaticFallback, CheckedMessages, anywidget.AnyWidget):
    """A session with its source, warps, registers and memory; the page moves it, and so does Python.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> widget = DebuggerWidget(ptxlab.kernel(source).debug(1, 32, np.arange(32, dtype=np.float32)))
    >>> widget.handle({"type": "move", "motion": "run"})
    >>> widget.place["where"], widget.memory["cells"][0][:3]
    ('the end', ['0', '2', '4'])
    """

    _esm = script("debugger_widget")
    _css = style() + debugger_style()
    _explorer = traitlets.Unicode(script(), read_only=True).tag(sync=True)
    program = traitlets.Dict(read_only=True).tag(sync=True)
    place = traitlets.Dict(read_only=True).tag(sync=True)
    warps = traitlets.Dict(read_only=True).tag(sync=True)
    registers = traitlets.Dict(read_only=True).tag(sync=True)
    memory = traitlets.Dict(read_only=True).tag(sync=True)
    barriers: Any = traitlets.List(read_only=True).tag(sync=True)
    points = traitlets.Dict(read_only=True).tag(sync=True)
    origin = traitlets.Dict(read_only=True).tag(sync=True)
    waiting = traitlets.Unicode(read_only=True).tag(sync=True)

    def __init__(self, session: DebugSession) -> None:
        self._debugger = Debugger(session)
        super().__init__()
        self.set_trait("program", self._debugger.program())
        self.refresh()

    def refresh(self) -> None:
        """Show where the session is now."""
        with self.hold_sync():
            for name, value in self._debugger.state().items():
                self.set_trait(name, value)

    def handle(self, message: object) -> None:
        """Do what the page asks for, and show what came of it."""
        before = self._debugger.explorer
        self._debugger.handle(message)
        self.refresh()
        opened = self._debugger.explorer
        if opened is not None and opened is not before:
            self._send_to_explorer({"method": "update", "state": opened.page_model.get_state()}, "opened")
        self.send({"answered": True})

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        explorer = self._debugger.explorer
        if isinstance(content, dict) and "explorer" in content and explorer is not None:
            for answer in explorer.handle(content["explorer"]):
                self._send_to_explorer(answer, "explorer")
        else:
            self.handle(content)

    def _send_to_explorer(self, message: Any, name: str) -> None:
        text, buffers = encode(message)
        self.send({name: text}, buffers)

    def static_html(self) -> str:
        """The source with the next line marked, which a saved notebook shows where no kernel runs."""
        return session_html(self._debugger.session)
