"""What an Explorer begins with: an instruction, or a link that somebody sent."""

from __future__ import annotations

from typing import Any

from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.tcgen05 import Tcgen05Transfer
from .export import is_link, open_link
from .refusals import explorable, multiplication
from .state import ExplorerState
from .transfer_export import open_transfer
from .word_transfer import WordTransfer, first_transfer

_BESIDE_A_TRANSFER = "tcgen05.mma.cta_group::1.kind::f16"  # what the state multiplies beside a transfer


def open_explorer(
    ins: Form | str,
    *,
    seed: int = 0,
    address: int | None = None,
    split: int | None = None,
) -> tuple[ExplorerState, dict[str, Any]]:
    """Begin with an instruction, or with a link: the state, and the traits of the view that a link carries.

    >>> state, _ = open_explorer("tcgen05.ld.sync.aligned.32x32b.x2.b32", address=3)
    >>> state.transfer.column, state.ins.mnemonic
    (3, 'tcgen05.mma.cta_group::1.kind::f16')
    """
    if isinstance(ins, str) and is_link(ins):
        link = open_transfer(ins)
        if link is None:
            return open_link(ins)
        transfer, seed, view_traits = link
        return _with_transfer(transfer, seed), view_traits
    form = explorable(ins)
    if isinstance(form, Tcgen05Transfer):
        return _with_transfer(first_transfer(form, address or 0, split, seed), seed), {}
    if address is not None or split is not None:
        raise PtxlabError(f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift")
    return ExplorerState(form, seed), {}


def _with_transfer(transfer: WordTransfer, seed: int) -> ExplorerState:
    state = ExplorerState(multiplication(_BESIDE_A_TRANSFER), seed)
    state.transfer = transfer
    return state
