"""The Explorer: one notebook widget, the state behind it, and the edits that change it.

Its centre is `state.ExplorerState`, which knows no page; `edits.py` begins with the path of an edited cell.

- The state: `state`, with a document, which is a product or a transfer (`documents/`); `history` and `links`.
- What changes it: `edits`, each a `message`; `presenter` applies them. `cells/` reads what is typed.
- What the page shows: `page/`, where `render`, `page_values` and others fill the `page_model`; `quiz/`.
- The way to the page: `session`, over a comm (`notebook_page`) or in a browser tab (`worker`).
- For users: `widget.Explorer`, what is saved (`saving/`), and the debugger of kernels (`debugger/`).
- In the browser: the modules in `front/`, joined by `bundle`; `toolbar` has the data of front/toolbar/.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..errors import PtxlabError, needs_lab, quoted
from ..isa.form import Form
from ..isa.operation import Operation
from .state import ExplorerState

if TYPE_CHECKING:
    from ..simulator.debug import DebugSession
    from .debugger.debugger_widget import DebuggerWidget
    from .widget import Explorer

__all__ = ["Explorer", "ExplorerState", "explore"]

_OPTIONS = ("A", "B", "C", "seed", "height", "tools", "address", "split", "operands")


def __getattr__(name: str) -> Any:
    if name != "Explorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_lab("the Explorer"):
        return importlib.import_module(".widget", __name__).Explorer


def explore(ins: Form | str, **options: Any) -> Explorer:
    """The widget on an instruction or on a link; users call `ptxlab.explore`."""
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise PtxlabError(
            f"explore has no option {quoted(unknown[0])}; "
            "it has A, B, C, seed, height, tools, address and split"
        )
    widget: Explorer = __getattr__("Explorer")(ins, **options)
    return widget


def explore_operands(operands: Operation, **options: Any) -> Explorer:
    """The widget with what an instruction reads: `operands.explore()`."""
    return explore(operands.ins, operands=operands, **options)


def open_debugger(session: DebugSession) -> DebuggerWidget:
    """The widget that a notebook shows for a session of `Kernel.debug`."""
    with needs_lab("the debugger"):
        from .debugger.debugger_widget import DebuggerWidget
    return DebuggerWidget(session)
