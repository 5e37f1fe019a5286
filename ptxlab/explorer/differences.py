"""Two chips on the screen: inputs on which they give different bits, and why a cell differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import views
from .._util.arguments import as_seconds
from ..errors import PtxlabError, counted
from ..isa.targets import GENERATIONS
from ..numerics.emulate import model_of
from ..numerics.steps import Trace
from ..numerics.trace import DivergencePlace, find_divergence
from ..verify.hunt import find_difference as search
from ..views.trace_picture import row_of
from ..views.trace_text import comparisons, divergence_text
from .parse_cell import format_value
from .serialise import picture_data
from .state import GPU, ExplorerState
from .timeline import result_text


@dataclass(frozen=True)
class FoundDifference:
    """What a search for a difference came to, in a sentence; true if there is a cell of D that differs."""

    sentence: str
    cell: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        return self.cell is not None

    def __str__(self) -> str:
        return self.sentence


def find_difference(state: ExplorerState, seconds: float = 1.0) -> FoundDifference:
    """Take small operands on which the two chips differ, as one step to undo; the first cell that differs.

    Operands on which they differ already stay. If the chips follow the same rule, or nothing is found in so
    many seconds, nothing changes.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> state.chip_choice.choose("sm_90", against="sm_100")
    >>> print(find_difference(state))
    sm_90 and sm_100 use the same rule for this instruction: they always agree
    >>> state.chip_choice.choose("sm_90", against="sm_80")
    >>> find_difference(state, seconds=60).cell, int(state.comparison().differ.sum())
    ((0, 0), 1)
    """
    seconds = as_seconds(seconds, "seconds")
    chip, against = state.chip_choice.chip, state.chip_choice.against
    if not state.chip_choice.is_known:
        raise PtxlabError(f"{state.ins.mnemonic} {state.ins.shape}: {state.chip_choice.why_no_model}")
    if against is None:
        others = [name for name in state.chip_choice.available if name != chip]
        advice = f", for example {others[0]}" if others else ""
        raise PtxlabError(f"D is compared with nothing; choose a chip to compare {chip} with{advice}")
    pair = f"{chip} and {against}"
    if chip == against:
        return FoundDifference(f"{chip} is compared with itself: choose another chip to compare with")
    if state.comparison().differ.any():
        return _differing(state, "already differ")
    ins = state.ins
    if GPU not in (chip, against) and model_of(ins, chip).rule == model_of(ins, against).rule:
        return FoundDifference(f"{pair} use the same rule for this instruction: they always agree")
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
        return FoundDifference(
            f"{pair} agreed in everything that was tried in {report.seconds:.1f} s ({tried})"
        )
    state.commit(state.operation.with_arrays(report.difference.case.operands().arrays))
    return _differing(state, "differ")


def _differing(state: ExplorerState, verb: str) -> FoundDifference:
    """The first cell of D that differs, with its two values."""
    chip, against, comparison = state.chip_choice.chip, state.chip_choice.against, state.comparison()
    row, column = np.argwhere(comparison.differ)[0].tolist()
    count = int(comparison.differ.sum())
    cells = counted(count, "cell")
    numbers = [
        format_value(state.ins.d.dtype.decode(codes[row, column]))
        for codes in (comparison.codes, comparison.other)
        if codes is not None
    ]
    values = f"D[{row}][{column}] is {numbers[0]} on {chip} and {numbers[1]} on {against}"
    return FoundDifference(f"{chip} and {against} {verb} in {cells} of D: {values}", (row, column))


# -- why a cell of D has its bits, on two chips side by side ------------------------------------------------


def trace_columns(first: Trace, second: Trace) -> dict[str, Any]:
    """The pictures of two traces as two columns, with the step and the row at which they part.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 16)), np.ones((16, 8))
    >>> A[0, :3] = 1024, -1024, 2.0**-15
    >>> data = trace_columns(*(ins.trace(A, B, None, 0, 0, model=chip) for chip in ("sm_90", "sm_80")))
    >>> [column["parts"] for column in data["columns"]], data["columns"][1]["heading"]
    ([[0, 3], [0, 3]], 'sm_80 Ampere: 0 = 0x00000000')
    """
    divergence = find_divergence(first, second)
    places = (None, None) if divergence is None else divergence.places
    columns = [_column(trace, place) for trace, place in zip((first, second), places, strict=True)]
    cell = f"D[{first.row}][{first.col}]"
    shared = [
        f"{name}: {value}" + (f" ({remark})" if remark else "")
        for name, value, remark in comparisons(first)
        if name != "error"
    ]
    return {
        "title": f"{cell} on {first.chip} and {second.chip}",
        "lead": divergence_text(first, second, divergence),
        "notes": [*shared, columns[0].pop("legend")],
        "grids": [],
        "columns": [{name: part for name, part in column.items() if name != "legend"} for column in columns],
    }


def _column(trace: Trace, place: DivergencePlace | None) -> dict[str, Any]:
    data = picture_data(views.trace(trace))
    generation = GENERATIONS.get(trace.chip, "")
    error = [f"error: {value}" for name, value, _ in comparisons(trace) if name == "error"]
    return {
        "heading": f"{trace.chip} {generation}: {result_text(trace.steps[-1])} = {trace.steps[-1].code_text}",
        "notes": error,
        "legend": data["notes"][-1],
        "grids": data["grids"],
        "parts": [] if place is None else [place.step, row_of(trace, place)],
    }
