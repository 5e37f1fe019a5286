"""Inputs on which two chips give different bits, for somebody who compares them on the screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._util.arguments import as_seconds
from ..errors import PtxlabError, counted
from ..numerics.emulate import model_of
from ..verify.hunt import find_difference as search
from .parse_cell import format_value
from .state import GPU, ExplorerState


@dataclass(frozen=True)
class Finding:
    """What a search for a difference came to, in a sentence; true if there is a cell of D that differs."""

    sentence: str
    cell: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        return self.cell is not None

    def __str__(self) -> str:
        return self.sentence


def find_difference(state: ExplorerState, seconds: float = 1.0) -> Finding:
    """Take small operands on which the two chips differ, as one step to undo; the first cell that differs.

    Operands on which they differ already stay. If the chips follow the same rule, or nothing is found in so
    many seconds, nothing changes.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> state.results.choose("sm_90", against="sm_100")
    >>> print(find_difference(state))
    sm_90 and sm_100 use the same rule for this instruction: they always agree
    >>> state.results.choose("sm_90", against="sm_80")
    >>> find_difference(state, seconds=60).cell, int(state.comparison().differ.sum())
    ((0, 0), 1)
    """
    seconds = as_seconds(seconds, "seconds")
    chip, against = state.results.chip, state.results.against
    if not state.results.is_known:
        raise PtxlabError(f"{state.ins.mnemonic} {state.ins.shape}: {state.results.unknown}")
    if against is None:
        others = [name for name in state.results.available if name != chip]
        advice = f", for example {others[0]}" if others else ""
        raise PtxlabError(f"D is compared with nothing; choose a chip to compare {chip} with{advice}")
    pair = f"{chip} and {against}"
    if chip == against:
        return Finding(f"{chip} is compared with itself: choose another chip to compare with")
    if state.comparison().differ.any():
        return _differing(state, "already differ")
    ins = state.ins
    if GPU not in (chip, against) and model_of(ins, chip).rule == model_of(ins, against).rule:
        return Finding(f"{pair} use the same rule for this instruction: they always agree")
    model, other = (against, chip) if chip == GPU else (chip, against)
    report = search(
        ins,
        model,
        None if other == GPU else other,
        modifiers=state.operation.modifiers,
        seconds=seconds,
        seed=state.seed & 0xFFFFFFFF,
    )
    if report.difference is None:
        tried = f"{report.mmas:,} products of matrices, {len(report.categories)} kinds of inputs"
        return Finding(f"{pair} agreed in everything that was tried in {report.seconds:.1f} s ({tried})")
    state.commit(state.operation.with_arrays(report.difference.case.operands().arrays))
    return _differing(state, "differ")


def _differing(state: ExplorerState, verb: str) -> Finding:
    """The first cell of D that differs, with its two values."""
    chip, against, comparison = state.results.chip, state.results.against, state.comparison()
    row, column = np.argwhere(comparison.differ)[0].tolist()
    count = int(comparison.differ.sum())
    cells = counted(count, "cell")
    numbers = [
        format_value(state.ins.d.dtype.decode(codes[row, column]))
        for codes in (comparison.codes, comparison.other)
        if codes is not None
    ]
    values = f"D[{row}][{column}] is {numbers[0]} on {chip} and {numbers[1]} on {against}"
    return Finding(f"{chip} and {against} {verb} in {cells} of D: {values}", (row, column))
