"""What an Explorer begins with: an instruction, or a link that somebody sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ..errors import PtxlabError
from ..isa.tcgen05 import Tcgen05Transfer
from .edits import SetValues
from .export import is_link, open_link
from .matrices import Product
from .move_export import open_move
from .moves import MoveState, WrapTransfer, first_move
from .refusals import explorable, multiplication
from .state import ExplorerState, History, Wrap

__all__ = ["Start", "open_explorer"]

_BESIDE_A_MOVE = "tcgen05.mma.cta_group::1.kind::f16"  # what the state multiplies while a move is shown


@dataclass(frozen=True)
class Start:
    """A state that multiplies and, where one is shown instead of it, the state of a move."""

    state: ExplorerState
    moves: MoveState | None = None
    view_traits: Mapping[str, Any] = field(default_factory=dict)  # of a link

    def write(self, matrices: Mapping[str, ArrayLike | None]) -> None:
        """Write the first matrices, those that are not None; it is no edit to undo."""
        edits = [SetValues(name, values) for name, values in matrices.items() if values is not None]
        if self.moves is not None:
            self.moves.apply(edits)
            self.moves.past = []
        else:
            for edit in edits:
                edit.apply(self.state)
            self.state.history = History()


def open_explorer(
    ins: Product | Tcgen05Transfer | str,
    *,
    seed: int = 0,
    wrap: Wrap | None = None,
    wrap_transfer: WrapTransfer | None = None,
    address: int | None = None,
    split: int | None = None,
) -> Start:
    """Begin with an instruction, or with a link.

    >>> start = open_explorer("tcgen05.ld.sync.aligned.32x32b.x2.b32", address=3)
    >>> start.moves.move.column, start.state.ins.mnemonic
    (3, 'tcgen05.mma.cta_group::1.kind::f16')
    """
    if isinstance(ins, str) and is_link(ins):
        link = open_move(ins, wrap_transfer)
        if link is None:
            state, view_traits = open_link(ins, wrap)
            return Start(state, view_traits=view_traits)
        moves, view_traits = link
        return Start(_first_state(_BESIDE_A_MOVE, seed, wrap), moves, view_traits)
    form = explorable(ins)
    if isinstance(form, Tcgen05Transfer):
        moves = MoveState(first_move(form, address or 0, split, seed), seed, wrap_transfer)
        return Start(_first_state(_BESIDE_A_MOVE, seed, wrap), moves)
    if address is not None or split is not None:
        raise PtxlabError(f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift")
    return Start(_first_state(form, seed, wrap))


def _first_state(ins: Product | str, seed: int, wrap: Wrap | None) -> ExplorerState:
    form = multiplication(ins)
    return ExplorerState(form if wrap is None else wrap(form), seed, wrap)
