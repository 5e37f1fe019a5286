"""What an Explorer begins with: an instruction, or a link that somebody sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.tcgen05 import Tcgen05Transfer
from .edits import SetValues
from .export import is_link, open_link
from .refusals import explorable, multiplication
from .state import ExplorerState, History
from .transfer_export import open_transfer
from .transfer_state import TransferState
from .word_transfer import first_transfer

_BESIDE_A_TRANSFER = "tcgen05.mma.cta_group::1.kind::f16"  # what the state multiplies beside a transfer


@dataclass(frozen=True)
class Start:
    """A state that multiplies and, where one is shown instead of it, that of a transfer."""

    state: ExplorerState
    transfer_state: TransferState | None = None
    view_traits: Mapping[str, Any] = field(default_factory=dict)  # of a link

    def write(self, matrices: Mapping[str, ArrayLike | None]) -> None:
        """Write the first matrices, those that are not None; it is no edit to undo."""
        edits = [SetValues(name, values) for name, values in matrices.items() if values is not None]
        if self.transfer_state is not None:
            self.transfer_state.apply(edits)
            self.transfer_state.past = []
        else:
            for edit in edits:
                edit.apply(self.state)
            self.state.history = History()


def open_explorer(
    ins: Form | str,
    *,
    seed: int = 0,
    address: int | None = None,
    split: int | None = None,
) -> Start:
    """Begin with an instruction, or with a link.

    >>> start = open_explorer("tcgen05.ld.sync.aligned.32x32b.x2.b32", address=3)
    >>> start.transfer_state.transfer.column, start.state.ins.mnemonic
    (3, 'tcgen05.mma.cta_group::1.kind::f16')
    """
    if isinstance(ins, str) and is_link(ins):
        link = open_transfer(ins)
        if link is None:
            state, view_traits = open_link(ins)
            return Start(state, view_traits=view_traits)
        transfer, view_traits = link
        return Start(ExplorerState(multiplication(_BESIDE_A_TRANSFER), seed), transfer, view_traits)
    form = explorable(ins)
    if isinstance(form, Tcgen05Transfer):
        transfer = TransferState(first_transfer(form, address or 0, split, seed), seed)
        return Start(ExplorerState(multiplication(_BESIDE_A_TRANSFER), seed), transfer)
    if address is not None or split is not None:
        raise PtxlabError(f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift")
    return Start(ExplorerState(form, seed))
