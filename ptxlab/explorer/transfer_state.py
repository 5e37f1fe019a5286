"""The state of the Explorer on tcgen05.ld, .st, .cp or .shift: the words, and the history of their edits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._util.arguments import as_array, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.tcgen05 import Tcgen05Transfer
from .edits import (
    DismissRefusal,
    Edit,
    FillMatrix,
    Redo,
    SetCell,
    SetCodes,
    SetMove,
    SetRegister,
    SetRegisters,
    SetValues,
    Undo,
)
from .state import UNDO_LIMIT, check_seed
from .word_transfer import (
    WordTransfer,
    filled,
    part_names,
    placed,
    same_transfer,
    with_element,
    with_form,
    with_part,
    with_word,
    with_words,
)


class TransferState:
    """A transfer with words to edit, and an undo history; edits are made whole or refused.

    >>> import ptxlab
    >>> from ptxlab.explorer.word_transfer import first_transfer
    >>> state = TransferState(first_transfer(ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32")))
    >>> state.apply([SetRegister("A", lane=5, register=0, text="0xabc")])
    >>> hex(state.transfer.result[5, 0]), state.undo(), hex(state.transfer.result[5, 0])
    ('0xabc', True, '0x50000')
    """

    def __init__(self, transfer: WordTransfer, seed: int = 0) -> None:
        self.transfer = transfer
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.past: list[WordTransfer] = []
        self.future: list[WordTransfer] = []

    @property
    def form(self) -> Tcgen05Transfer:
        """The instruction."""
        return self.transfer.form

    def apply(self, edits: Sequence[Edit]) -> None:
        """Make edits as one step to undo, or none of them."""
        if len(edits) == 1 and isinstance(edits[0], Undo):
            self.undo()
            return
        if len(edits) == 1 and isinstance(edits[0], Redo):
            self.redo()
            return
        transfer = self.transfer
        for edit in edits:
            transfer = self._edited(transfer, edit)
        self.commit(transfer)

    def commit(self, transfer: WordTransfer) -> None:
        """Take another transfer as one step to undo; no difference is no step."""
        if same_transfer(transfer, self.transfer):
            return
        _ = transfer.result  # or a refusal
        self.past = [*self.past, self.transfer][-UNDO_LIMIT:]
        self.future = []
        self.transfer = transfer

    def undo(self) -> bool:
        """Take back the last edit; False if there is none."""
        if not self.past:
            return False
        self.future.append(self.transfer)
        self.transfer = self.past.pop()
        return True

    def redo(self) -> bool:
        """Take back the last undo; False if there is none."""
        if not self.future:
            return False
        self.past.append(self.transfer)
        self.transfer = self.future.pop()
        return True

    def _edited(self, transfer: WordTransfer, edit: Edit) -> WordTransfer:
        match edit:
            case SetRegister(name=name, lane=row, register=column, text=text):
                return with_word(transfer, name, row, column, text)
            case SetCell(name=name, row=row, column=column, text=text):
                return with_word(transfer, name, row, column, text)
            case FillMatrix(name=name, pattern=pattern, row=row, column=column):
                words = filled(transfer, name, pattern, self.random, row, column)
                return with_words(transfer, name, words)
            case SetRegisters(name=name, registers=words) | SetCodes(name=name, codes=words):
                return with_words(transfer, name, as_array(words, name))
            case SetValues(name=name, values=values):
                return with_words(transfer, name, transfer.dtype.encode(as_array(values, name)))
            case SetMove(name=name, text=text):
                return self._with_choice(transfer, name, text.strip())
            case DismissRefusal():
                return transfer
        raise PtxlabError(
            f"{type(edit).__name__} is an edit of instructions that multiply; "
            f"{transfer.form.mnemonic} takes SetRegister, SetCell, SetValues, FillMatrix and SetMove"
        )

    def _with_choice(self, transfer: WordTransfer, name: str, text: str) -> WordTransfer:
        """Another part of the form, or of the address, as it was chosen or typed."""
        form, lane, column, split = transfer.form, transfer.lane, transfer.column, transfer.split
        if name == "lane":
            return placed(transfer, _number(name, text), column, split)
        if name == "column":
            return placed(transfer, lane, _number(name, text), split)
        if name == "split":
            return placed(transfer, lane, column, _number(name, text) if text else None)
        if name == "element":
            return with_element(transfer, text)
        if not is_name(name, part_names(form)):
            names = listing([*part_names(form), "lane", "column", "split", "element"])
            raise PtxlabError(f"{form.mnemonic} has no {quoted(name)} to choose; it has {names}")
        return with_form(transfer, with_part(form, name, text), self.seed)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise PtxlabError(f"{name} {quoted(text)}: it is a whole number")
    return int(text)
