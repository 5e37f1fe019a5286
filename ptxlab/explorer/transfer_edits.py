"""Edits of whatever the Explorer shows; here are those of tcgen05.ld, .st, .cp and .shift."""

from __future__ import annotations

from collections.abc import Sequence

from .._util.arguments import as_array, is_name
from ..errors import PtxlabError, listing, quoted
from .edits import (
    ChooseInstruction,
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
from .state import ExplorerState
from .word_transfer import (
    WordTransfer,
    filled,
    part_names,
    placed,
    with_element,
    with_form,
    with_part,
    with_word,
    with_words,
)


def make_edits(state: ExplorerState, edits: Sequence[Edit]) -> None:
    """Make edits of what is shown as one step to undo, or none of them.

    >>> import ptxlab
    >>> from ptxlab.explorer.opening import open_explorer
    >>> state, _ = open_explorer("tcgen05.st.sync.aligned.32x32b.x1.b32")
    >>> make_edits(state, [SetRegister("A", lane=5, register=0, text="0xabc")])
    >>> hex(state.transfer.result[5, 0]), state.undo(), hex(state.transfer.result[5, 0])
    ('0xabc', True, '0x50000')
    """
    if len(edits) == 1:  # undo is no step of its own
        with state.all_or_nothing():
            _make(state, edits[0])
    else:
        with state.one_step():
            for edit in edits:
                _make(state, edit)


def _make(state: ExplorerState, edit: Edit) -> None:
    if state.transfer is None or isinstance(edit, ChooseInstruction | Undo | Redo):
        edit.apply(state)
    else:
        state.commit_transfer(_edited(state, state.transfer, edit))


def _edited(state: ExplorerState, transfer: WordTransfer, edit: Edit) -> WordTransfer:
    match edit:
        case SetRegister(name=name, lane=row, register=column, text=text):
            return with_word(transfer, name, row, column, text)
        case SetCell(name=name, row=row, column=column, text=text):
            return with_word(transfer, name, row, column, text)
        case FillMatrix(name=name, pattern=pattern, row=row, column=column):
            words = filled(transfer, name, pattern, state.word_random, row, column)
            return with_words(transfer, name, words)
        case SetRegisters(name=name, registers=words) | SetCodes(name=name, codes=words):
            return with_words(transfer, name, as_array(words, name))
        case SetValues(name=name, values=values):
            return with_words(transfer, name, transfer.dtype.encode(as_array(values, name)))
        case SetMove(name=name, text=text):
            return _with_choice(transfer, name, text.strip(), state.seed)
        case DismissRefusal():
            return transfer
    raise PtxlabError(
        f"{type(edit).__name__} is an edit of instructions that multiply; "
        f"{transfer.form.mnemonic} takes SetRegister, SetCell, SetValues, FillMatrix and SetMove"
    )


def _with_choice(transfer: WordTransfer, name: str, text: str, seed: int) -> WordTransfer:
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
    return with_form(transfer, with_part(form, name, text), seed)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise PtxlabError(f"{name} {quoted(text)}: it is a whole number")
    return int(text)
