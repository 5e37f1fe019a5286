"""Why a cell of D has its bits, on one chip or two: its dot product in steps; inputs where chips differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ... import views
from ..._util.arguments import as_seconds
from ...differences.search import find_difference as search
from ...errors import PtxlabError, counted
from ...isa.dtypes import dtype
from ...isa.targets import GENERATIONS
from ...numerics.emulate import model_of
from ...numerics.steps import Number, Step, Term, Trace, add_up, leading
from ...numerics.trace import DivergencePlace, find_divergence
from ...views import Grid, Picture
from ...views.trace_picture import row_of
from ...views.trace_text import (
    comparisons,
    decimal,
    divergence_text,
    not_finite,
    rounding_words,
    step_name,
    term_name,
)
from ..cells.parse_cell import format_value
from ..documents.product_document import GPU
from ..state import ExplorerState

#: Terms that an operation takes over from those before it.
_CARRIED_OVER = ("zero", "sum", "group")


def dot_product_steps(
    state: ExplorerState, trace: Trace, other: Trace | None = None, with_bits: bool = True
) -> dict[str, Any]:
    """The column of B, a summary, the steps of the sum and its `bits`; with another chip's trace, of both.

    A step has a `role` (C, align, term, round), the first and last `k` that it covers, if any, the hardware's
    `operation`, a sentence as `text`, and the `name` of its term. Sums so far are exact: what the hardware
    cuts off is in the `bits` (see `bit_bars`), which may be left out. `apart` says where two chips diverge.

    >>> import numpy as np, ptxlab
    >>> from ptxlab.explorer.edits import SetValues
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"))
    >>> for name, value in (("A", 0.5), ("B", 3), ("C", 1)):
    ...     SetValues(name, np.full(state.operation.operand(name).shape, value)).apply(state)
    >>> steps = dot_product_steps(state, state.trace(9, 3))["steps"]
    >>> print(steps[0]["text"])
    aligned to 2^0, the largest exponent: what is below 2^-25 falls off; then all are added at once
    >>> steps[3]["k"], steps[3]["text"]
    ([1, 1], 'k = 1: A[9][1] · B[1][3] = 0.5 · 3 = 1.5, sum so far 4')
    >>> steps[-1]["text"]
    'D[9][3] = 13, exact: 0x41500000'
    >>> A = np.zeros((16, 8))
    >>> A[9, :3] = 1024, -1024, 2.0**-15
    >>> SetValues("A", A).apply(state)
    >>> SetValues("C", np.zeros((16, 8))).apply(state)
    >>> both = (state.trace(9, 3, chip) for chip in ("sm_90", "sm_80"))
    >>> print(dot_product_steps(state, *both)["apart"])
    They diverge at A[9][2] B[2][3]: sm_90 cuts below 2^-14 and keeps 6.10351562e-05, \
sm_80 cuts below 2^-13 and keeps 0
    """
    steps: list[dict[str, Any]] = []
    exact: Number = Fraction(0)
    for step in trace.steps:
        operation = step_name(trace, step)
        if step.operation == "fused sum" and step.top is not None:
            steps.append({"role": "align", "operation": operation, "text": _alignment(step), "name": ""})
        for term in step.terms:
            if term.role in _CARRIED_OVER:
                continue
            exact = add_up((exact, term.value))
            steps.append(
                {
                    "role": "C" if term.role == "C" else "term",
                    "operation": operation,
                    "text": f"{_summand(state, trace, term)}, sum so far {decimal(exact)}",
                    "name": term_name(trace, term),
                    **({"k": [term.k[0], term.k[-1]]} if term.k else {}),
                }
            )
        if step is trace.steps[-1] or step.change != 0:
            sentence = _rounding(trace, step)
            steps.append({"role": "round", "operation": operation, "text": sentence, "name": "D"})
    roles = [term.role for step in trace.steps for term in step.terms]
    products = roles.count("product")
    parts = f"{products} products" if products else f"{roles.count('block')} blocks of products"
    result = f"D[{trace.row}][{trace.col}] = {result_text(trace.steps[-1])}"
    data: dict[str, Any] = {
        "column_of_b": state.column_of_b(trace.row, trace.col),
        "summary": f"{result} from {trace.accumulator} and {parts}; play or drag",
        "steps": steps,
    }
    if with_bits:
        data["bits"] = [bit_bars(chip) for chip in (trace, other) if chip is not None]
    if other is not None:
        data["apart"] = divergence_text(trace, other, find_divergence(trace, other))
    return data


def _alignment(step: Step) -> str:
    if not_finite(step):
        return not_finite(step)
    largest = max((term.exponent for term in step.terms if term.exponent is not None), default=None)
    why = "the largest exponent" if largest == step.top else "the least that there is"
    return (
        f"aligned to 2^{step.top}, {why}: what is below 2^{step.grain} falls off; then all are added at once"
    )


def bit_bars(trace: Trace) -> dict[str, Any]:
    """Every term and the result of a trace as bars of bits, from the highest bit that is set to the lowest.

    A bar has a `sign`, the exponent of its first bit as `lead`, and `digits`; its `value` if it is no number.
    A term also has the `last` exponent that is kept, where its step cuts, and its `factors`. `depth` products
    are added at a time. `exact` is the exact sum, where that is another.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.full((8, 8), 3)
    >>> A[0, 0] = -0.5
    >>> bars = bit_bars(ins.trace(A, B, None, 0, 0))
    >>> bars["terms"][0]["digits"], bars["terms"][0]["lead"], bars["terms"][0]["factors"]
    ('11', 0, '-0.5 · 3')
    >>> bars["result"]
    {'sign': -1, 'lead': 0, 'digits': '11', 'value': '-1.5'}
    """
    final = trace.steps[-1]
    generation = GENERATIONS.get(trace.chip, "")
    terms = []
    for number, step in enumerate(trace.steps):
        for term in step.terms:
            if term.role in _CARRIED_OVER or (term.role == "C" and not term.value):
                continue
            factors = "" if term.factors is None else " · ".join(map(_factor, term.factors))
            terms.append(
                {
                    **_bar(term.value),
                    "step": number,
                    "last": step.grain if term.exponent is not None else None,
                    "factors": factors or term_name(trace, term),
                }
            )
    return {
        "chip": f"{trace.chip} {generation}".strip(),
        "depth": max(len(step.k) for step in trace.steps),
        "terms": terms,
        "result": _bar(final.value) | {"value": result_text(final)},
        "exact": decimal(trace.exact) if trace.error else "",
    }


def _bar(value: Number) -> dict[str, Any]:
    if not isinstance(value, Fraction):
        return {"sign": 0, "lead": 0, "digits": "", "value": decimal(value)}
    if not value:
        return {"sign": 0, "lead": 0, "digits": ""}
    digits = f"{abs(value.numerator):b}".rstrip("0")
    return {"sign": -1 if value < 0 else 1, "lead": leading(value), "digits": digits}


def _scale_factors(state: ExplorerState, trace: Trace, k: int) -> tuple[str, str]:
    """The two scale factors of a block, by name and by value; "" without block scales."""
    ins = state.ins
    if not ins.scale_vec:
        return "", ""
    block = k // (ins.k // ins.scale_vec)
    names = f"SFA[{trace.row}][{block}] · SFB[{block}][{trace.col}]"
    scale_a, scale_b = state.values("SFA")[trace.row, block], state.values("SFB")[block, trace.col]
    return names, f"{float(scale_a):g} · {float(scale_b):g}"


def _summand(state: ExplorerState, trace: Trace, term: Term) -> str:
    if term.role != "product" or term.factors is None:
        name = term_name(trace, term)
        if term.role == "C":
            name += f"[{trace.row}][{trace.col}]"
        if state.ins.scale_vec and term.k:
            names, numbers = _scale_factors(state, trace, term.k[0])
            name = f"products of {name}, times {names} ({numbers})"
        return f"{name} = {decimal(term.value)}"
    k, (factor_a, factor_b) = term.k[0], term.factors
    operator = {"xor": "xor", "and": "and"}.get(state.ins.bit_op or "", "·")
    names, numbers = (f" · {text}" if text else "" for text in _scale_factors(state, trace, k))
    elements = f"A[{term.row}][{k}] {operator} B[{k}][{term.column}]{names}"
    factors = f"{_factor(factor_a)} {operator} {_factor(factor_b)}{numbers}"
    return f"k = {k}: {elements} = {factors} = {decimal(term.value)}"


def result_text(step: Step) -> str:
    """The result of a step with the fewest digits that identify it, as registers show it."""
    return format_value(dtype(step.dtype).decode(step.code))


def _factor(value: Number) -> str:
    return decimal(value, 6)


def _rounding(trace: Trace, step: Step) -> str:
    how = "exact" if step.change == 0 else not_finite(step) or rounding_words(step)
    name = f"D[{trace.row}][{trace.col}]"
    if step is not trace.steps[-1]:
        name = f"result of “{step_name(trace, step)}”"
    return f"{name} = {result_text(step)}, {how}: {step.code_text}"


# -- why a cell of D has its bits, on two chips side by side ------------------------------------------------


def trace_columns(first: Trace, second: Trace) -> dict[str, Any]:
    """The pictures of two traces as two columns, with the step and row at which they diverge.

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


# -- inputs on which two chips differ ----------------------------------------------------------------------


@dataclass(frozen=True)
class FoundDifference:
    """The result of a search for a difference, in a sentence; true if a cell of D differs."""

    sentence: str
    cell: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        return self.cell is not None

    def __str__(self) -> str:
        return self.sentence


def find_difference(state: ExplorerState, seconds: float = 1.0) -> FoundDifference:
    """Search for small operands on which the two chips differ; the first cell of D that does.

    They are committed as one undo step. Nothing changes if the chips already differ, if they follow the same
    rule, or if nothing is found in so many seconds.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> state.choose_chips("sm_90", against="sm_100")
    >>> print(find_difference(state))
    sm_90 and sm_100 use the same rule for this instruction: they always agree
    >>> state.choose_chips("sm_90", against="sm_80")
    >>> find_difference(state, seconds=60).cell, int(state.comparison().differ.sum())
    ((0, 0), 1)
    """
    seconds = as_seconds(seconds, "seconds")
    chip, against = state.chip_choice.chip, state.chip_choice.against
    if not state.chip_choice.has_result:
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
    difference = search(
        ins,
        model,
        None if other == GPU else other,
        modifiers=state.operation.modifiers,
        seconds=seconds,
        seed=state.seed & 0xFFFFFFFF,
    )
    if difference.case is None:
        tried = f"{difference.mmas:,} products of matrices, {len(difference.categories)} kinds of inputs"
        return FoundDifference(
            f"{pair} agreed in everything that was tried in {difference.seconds:.1f} s ({tried})"
        )
    state.commit(state.product.with_operation(state.operation.with_arrays(difference.case.operands().arrays)))
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


def picture_data(picture: Picture) -> dict[str, Any]:
    """A picture of bits as plain lists: notes, and the headings, cells and rules of each grid."""
    grids = [_grid_data(grid) for grid in picture.grids]
    return {"title": picture.title, "notes": list(picture.notes), "grids": grids}


def _grid_data(grid: Grid) -> dict[str, Any]:
    cells = [
        [
            cell.row,
            cell.column,
            cell.width,
            cell.text,
            f"{cell.role} {cell.state}",
            str(grid.hover[cell.row, cell.column]),
        ]
        for cell in grid.cells
        if cell.role != "blank" and cell.text
    ]
    return {
        "title": grid.title,
        "size": list(grid.shape),
        "axes": list(grid.axes),
        "rows": [[head.start, head.text] for head in grid.rows],
        "row_names": [list(head.names) for head in grid.rows],
        "columns": [[head.start, head.size, head.text] for head in grid.columns],
        "cells": cells,
        "row_rules": list(grid.row_rules),
        "column_rules": [list(rule) for rule in grid.column_rules],
    }
