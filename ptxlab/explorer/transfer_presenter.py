"""tcgen05.ld, .st, .cp and .shift on the screen: the words that they move, and where each goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..figures import figure
from ..isa.tcgen05 import Tcgen05Transfer
from ..isa.tensor_memory import LANES
from .edits import Edit
from .presenter import Presenter
from .serialise import is_same
from .static_html import save_transfer
from .traits import MATRIX_TRAITS, Observers, read_only
from .transfer_edits import with_form
from .transfer_export import share_transfer, transfer_code
from .transfer_state import TransferState
from .transfer_view import transfer_bytes, transfer_info, transfer_toolbar
from .view import MATRICES, View


class TransferPresenter(Presenter):
    """Shows a `TransferState`; `undoes_to_product` if undo leads back to an instruction that multiplies."""

    def __init__(
        self, state: TransferState, view: View, observers: Observers, *, undoes_to_product: bool = False
    ) -> None:
        super().__init__(view, observers)
        self.state = state
        self.undoes_to_product = undoes_to_product
        self._sent: dict[str, tuple[Any, ...]] = {}  # what each part of the screen was made from

    @property
    def instruction(self) -> Tcgen05Transfer:
        return self.state.form

    @property
    def threads(self) -> int:
        return LANES

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        return self.state.transfer.shapes

    def values(self, name: str) -> NDArray[Any]:
        transfer = self.state.transfer
        return transfer.dtype.decode(transfer.words(name))

    @property
    def register_names(self) -> Sequence[str]:
        return self.state.transfer.names

    def registers(self, name: str) -> NDArray[Any]:
        return self.state.transfer.words(name)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        return self.state.transfer.thread_of(name, row, column)

    # -- edits --------------------------------------------------------------------------------------------

    def apply(self, edits: Sequence[Edit]) -> None:
        self.state.apply(edits)

    def keep_look(self) -> None:
        """Undo of a transfer leaves lanes and selection as they are."""

    def choose(self, form: Tcgen05Transfer) -> None:
        """Go on with another instruction, with the words that both have."""
        self.state.commit(with_form(self.state.transfer, form, self.state.seed))

    # -- the screen ---------------------------------------------------------------------------------------

    def _send_changes(self) -> None:
        state, view, transfer = self.state, self.view, self.state.transfer
        words: dict[str, tuple[Any, ...]] = {name: (transfer.words(name),) for name in transfer.names}
        words["D"] = (transfer,)  # with its links
        changed = [name for name, source in words.items() if not is_same(source, self._sent.get(name))]
        with view.hold_sync():
            view.toolbar = transfer_toolbar(state, bool(state.past) or self.undoes_to_product)
            if transfer.settings != self._sent.get("instruction"):
                view.instruction = transfer_info(state)
                if not view.accepts("selected", dict(view.selected)):
                    view.selected = {}
            for name in MATRICES:
                if name in changed or name not in words:
                    setattr(view, name, transfer_bytes(transfer, name))
        self._sent = {**words, "instruction": transfer.settings}
        for name, trait in MATRIX_TRAITS.items():
            if name not in words:
                self.observers.tell(trait, None)
            elif name in changed:
                self.observers.tell(trait, read_only(self.values(name)))

    def show_lanes(self) -> None:
        """All registers are on the screen already."""

    def show_trace(self) -> None:
        """Nothing is computed that could be explained."""

    # -- export -------------------------------------------------------------------------------------------

    def code(self) -> str:
        return transfer_code(self.state)

    def link(self, view_traits: Mapping[str, Any]) -> str:
        return share_transfer(self.state, view_traits)

    def save_html(self, path: str | Path, title: str, link: str) -> Path:
        return save_transfer(path, title, self.instruction, self.view, link)

    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        return figure(self.instruction, what, title=title, **options)
