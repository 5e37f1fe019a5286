"""What the Explorer shows: an instruction with its operands, read and edited, on the screen and exported.

Those that multiply and those that transfer words have little in common but this: each has its own presenter
(`ptxlab.explorer.product_presenter`, `ptxlab.explorer.transfer_presenter`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.catalog import Product
from ..isa.tcgen05 import Tcgen05Transfer
from .edits import Edit
from .refusals import RefusedEdit
from .traits import Observers
from .view import View, parse_selection


class Presenter(ABC):
    """Stands between the state of an instruction, the view that draws it, and observers of the Explorer."""

    def __init__(self, view: View, observers: Observers) -> None:
        self.view, self.observers = view, observers

    # -- what there is ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def instruction(self) -> Product | Tcgen05Transfer:
        """The instruction."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The threads whose registers can be shown."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and columns of every matrix."""

    @abstractmethod
    def values(self, name: str) -> NDArray[Any]:
        """A matrix as people read it."""

    @property
    @abstractmethod
    def register_names(self) -> Sequence[str]:
        """Operands by whose names there are registers."""

    @abstractmethod
    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand."""

    @abstractmethod
    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a cell in a register; None where no thread has."""

    @property
    def chip(self) -> str:
        """The chip whose results are shown; "" where no chip differs from another."""
        return ""

    @property
    def against(self) -> str | None:
        """The chip that they are compared with."""
        return None

    @property
    def refusal(self) -> RefusedEdit | None:
        """The page's last edit, if cells of a matrix are at fault that it was refused."""
        return None

    # -- edits --------------------------------------------------------------------------------------------

    @abstractmethod
    def apply(self, edits: Sequence[Edit]) -> None:
        """Make edits as one step to undo, or none of them; nothing is shown yet."""

    @abstractmethod
    def keep_look(self) -> None:
        """Keep the lanes and cells on the screen with the state, where undo brings them back."""

    # -- the screen ---------------------------------------------------------------------------------------

    def show(self) -> None:
        """Send what changed, and only that."""
        self.show_problem("")
        self._send_changes()

    @abstractmethod
    def _send_changes(self) -> None:
        """Compare with what was sent last, and tell the view and observers of the difference."""

    def show_problem(self, problem: str) -> None:
        """Show why an edit was refused, where, and what can be done instead; "" if all is well."""
        with self.view.hold_sync():
            self.view.problem = problem
            self.view.refusal = {} if self.refusal is None else self.refusal.serialised

    def refuse(self, error: PtxlabError) -> None:
        """Show why the page's last message was refused."""
        if self.view.problem == str(error):
            self.view.problem = ""  # the page sees only changes, and shows the sentence where it was asked
        self.show_problem(str(error))

    def select(self, selection: object) -> None:
        """Select a cell and, as a click does, the lane that holds it."""
        cell = parse_selection(selection, self.shapes)
        lane = self.thread_of(**cell) if cell else None
        with self.view.hold_sync():
            if lane is not None:
                self.view.lane = lane
            self.view.selected = cell

    def on_selected(self, cell: Mapping[str, Any]) -> None:
        """Follow a selection of the page."""
        self.observers.tell("selection", dict(cell))

    @abstractmethod
    def show_lanes(self) -> None:
        """Send the registers of the lanes that are shown."""

    @abstractmethod
    def show_trace(self) -> None:
        """Send why the cell of D that was selected last has its bits."""

    # -- export -------------------------------------------------------------------------------------------

    @abstractmethod
    def code(self) -> str:
        """Python that computes D."""

    @abstractmethod
    def link(self, view_traits: Mapping[str, Any]) -> str:
        """Everything as a text to send."""

    @abstractmethod
    def save_html(self, path: str | Path, title: str, link: str) -> Path:
        """Write a page."""

    @abstractmethod
    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        """A Plotly figure."""
