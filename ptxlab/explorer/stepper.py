"""The dot product of a cell of D, one summand after the other, as sentences that the explorer steps through."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..isa.mma import MmaForm
from ..numerics.steps import Number, Step, Term, Trace
from ..views.trace import decimal, rounding_words, step_name, term_name

__all__ = ["walk"]

#: What a step takes over from the one before it.
_TAKEN_OVER = ("zero", "sum")


def walk(
    ins: MmaForm, found: Trace, scales: tuple[NDArray[Any], NDArray[Any]] | None = None
) -> dict[str, Any]:
    """The column of B, what it is all about, and the stops: [first k, last k, step of the hardware, sentence]; no k for C and roundings.

    `scales` are the values of the block scales SFA and SFB.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> stops = walk(ins, ins.trace(np.full((16, 8), 0.5), np.full((8, 8), 3), np.ones((16, 8)), 9, 3))["stops"]
    >>> stops[2]
    [1, 1, 'fused sum', 'k = 1: A[9][1] · B[1][3] = 0.5 · 3 = 1.5, sum so far 4']
    >>> stops[-1]
    [None, None, 'fused sum', 'D[9][3] = 13, exact: 0x41500000']
    """
    stops: list[list[Any]] = []
    for step in found.steps:
        for term, total in zip(step.terms, step.partial_sums, strict=True):
            if term.role not in _TAKEN_OVER:
                stops.append(
                    [
                        *_span(term),
                        step_name(step, found),
                        f"{_summand(ins, found, term, scales)}, sum so far {decimal(total)}",
                    ]
                )
        if step is found.steps[-1] or step.change != 0:
            stops.append([None, None, step_name(step, found), _end(found, step)])
    where = f"[{found.row}][{found.col}]"
    roles = [term.role for step in found.steps for term in step.terms]
    products = roles.count("product")
    parts = f"{products} products" if products else f"{roles.count('block')} blocks of products"
    return {
        "other": ins.column_of_b(found.row, found.col),
        "about": f"D{where} = {decimal(found.value)} from C and {parts}: play, or drag",
        "stops": stops,
    }


def _span(term: Term) -> tuple[int | None, int | None]:
    return (term.k[0], term.k[-1]) if term.k else (None, None)


def _scaled_by(
    ins: MmaForm, found: Trace, k: int, scales: tuple[NDArray[Any], NDArray[Any]] | None
) -> tuple[str, str]:
    """The two factors of a block, by name and by value; nothing where there are none."""
    if not ins.scale_vec:
        return "", ""
    block = k // (ins.k // ins.scale_vec)
    names = f"SFA[{found.row}][{block}] · SFB[{block}][{found.col}]"
    return (
        names,
        names
        if scales is None
        else f"{float(scales[0][found.row, block]):g} · {float(scales[1][block, found.col]):g}",
    )


def _summand(ins: MmaForm, found: Trace, term: Term, scales: tuple[NDArray[Any], NDArray[Any]] | None) -> str:
    kept = (
        ""
        if term.kept == term.value or term.value != term.value
        else f", of which {decimal(term.kept)} is kept"
    )
    if term.role != "product" or term.factors is None:
        name = f"C[{found.row}][{found.col}]" if term.role == "C" else term_name(term)
        first, _ = _span(term)
        if ins.scale_vec and first is not None:
            names, numbers = _scaled_by(ins, found, first, scales)
            name = f"products of {name}, times {names}" + (f" ({numbers})" if numbers != names else "")
        return f"{name} = {decimal(term.value)}{kept}"
    row, k, column = term.row, term.k[0], term.column
    sign = {"xor": "xor", "and": "and"}.get(ins.bit_op or "", "·")
    names, numbers = (f" · {each}" if each else "" for each in _scaled_by(ins, found, k, scales))
    factors = f"{_factor(term.factors[0])} {sign} {_factor(term.factors[1])}{numbers}"
    return f"k = {k}: A[{row}][{k}] {sign} B[{k}][{column}]{names} = {factors} = {decimal(term.value)}{kept}"


def _factor(value: Number) -> str:
    return decimal(value, 6)


def _end(found: Trace, step: Step) -> str:
    how = "exact" if step.change == 0 else rounding_words(step)
    name = (
        f"D[{found.row}][{found.col}]" if step is found.steps[-1] else f"result of “{step_name(step, found)}”"
    )
    return f"{name} = {decimal(step.value)}, {how}: {step.code_text}"
