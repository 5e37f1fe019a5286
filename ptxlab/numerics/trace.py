"""Why D has these bits, and where the arithmetic of two chips diverges.

A trace has the products, their alignment, what is cut off, the sum and its rounding, as plain data. Two
traces diverge at the first bits that one chip loses and the other keeps.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from .._util.arguments import as_int
from ..errors import PtxlabError, quoted
from ..isa.location import TensorPlace
from ..isa.operation import Operation
from ..isa.tensor_operand import LANES
from .emulate import model_of
from .rules.base import Element
from .steps import Term, Trace, add_up, number


def disabled_lane(operation: Operation, row: int, col: int) -> int | None:
    """The lane of D[row][col] if disable-output-lane names it, else None; lanes of CTA 1 start at 128."""
    ins, mask = operation.ins, operation.modifiers.disable_output_lane
    place = ins.d.where(row, col)[0] if mask else None
    if not isinstance(place, TensorPlace):
        return None
    lane = LANES * place.cta + place.lane
    return lane if mask >> lane & 1 else None


def trace(operation: Operation, row: int, col: int, *, model: str | None = None) -> Trace:
    """How D[row][col] of one instruction came about, bit for bit as `emulate` computes it.

    See `Instruction.trace`.

    >>> import numpy as np
    >>> from ptxlab.isa.parse import parse_mma
    >>> ins = parse_mma("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> operation = Operation.from_matrices(ins, np.full((16, 32), -3), np.full((32, 8), 2))
    >>> trace(operation, 4, 5).value
    Fraction(-192, 1)
    """
    ins = operation.ins
    rows, columns = ins.d.shape
    row, col = as_int(row, "row"), as_int(col, "col")
    for name, index, size in (("row", row, rows), ("col", col, columns)):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{name}={quoted(index)}: D of {ins.mnemonic} is {rows}x{columns}, "
                f"so it goes from 0 to {size - 1}"
            )
    disabled = disabled_lane(operation, row, col)
    if disabled is not None:
        raise PtxlabError(
            f"D[{row}][{col}] is in lane {disabled}, which disable_output_lane names: it stays as it was"
        )
    chip_model = model_of(ins, model)
    element = Element.of(operation, row, col)
    steps = tuple(chip_model.rule.trace(element))
    exact = add_up([element.c, *(product.value for product in element.products)])
    code = steps[-1].code
    return Trace(
        ins.mnemonic, chip_model.chip, row, col, steps, code, number(code, ins.d_type), exact, element.fma32()
    )


# -- two chips ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DivergencePlace:
    """A place in a trace: a step, and in it a term or the result; neither where the whole step is meant."""

    step: int
    term: int | None = None
    result: bool = False


@dataclass(frozen=True)
class Divergence:
    """Where two traces diverge: the place in each. `owner`, 0 or 1, is the trace that loses more there.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 16)), np.ones((16, 8))
    >>> A[0, :3] = 1024, -1024, 2.0**-15   # 25 places below 2^10
    >>> hopper, ampere = (ins.trace(A, B, None, 0, 0, model=chip) for chip in ("sm_90", "sm_80"))
    >>> find_divergence(hopper, ampere).places[0]   # C is term 0
    DivergencePlace(step=0, term=3, result=False)
    """

    places: tuple[DivergencePlace, DivergencePlace]
    owner: int


@dataclass(frozen=True)
class _Loss:
    """What is cut off or rounded off in one place; the key identifies the same loss in another trace."""

    key: Hashable
    place: DivergencePlace
    lost: Fraction


def find_divergence(first: Trace, second: Trace) -> Divergence | None:
    """Where two traces of the same element diverge; None if neither loses what the other keeps.

    Chips may add in different orders and steps: bits cut off a term are compared with those cut off the same
    term, and what a step rounds off with the rounding of the same products.
    """
    traces = (first, second)
    losses = [_losses(trace) for trace in traces]
    lost_by_key = [{loss.key: loss.lost for loss in side} for side in losses]
    candidates: list[tuple[tuple[int, int], int, _Loss]] = []  # of each trace the first that the other lacks
    for owner, side in enumerate(losses):
        theirs = lost_by_key[1 - owner]
        loss = next((loss for loss in side if theirs.get(loss.key, Fraction(0)) != loss.lost), None)
        if loss is not None:
            candidates.append((_order(loss.place), owner, loss))
    if not candidates:
        return None
    _, owner, loss = min(candidates, key=lambda candidate: candidate[0])
    counterpart = _counterpart(traces[owner], loss, traces[1 - owner])
    places = (loss.place, counterpart) if owner == 0 else (counterpart, loss.place)
    loses_less = abs(lost_by_key[1 - owner].get(loss.key, Fraction(0))) > abs(loss.lost)
    return Divergence(places, 1 - owner if loses_less else owner)


def _order(place: DivergencePlace) -> tuple[int, int]:
    """The order of places in a trace: in each step the terms, then the result."""
    return place.step, 1 << 30 if place.term is None else place.term


def _losses(trace: Trace) -> list[_Loss]:
    """Everything that is lost, in the order of the trace."""
    losses: list[_Loss] = []
    products: frozenset[int] = frozenset()
    for position, step in enumerate(trace.steps):
        for index, term in enumerate(step.terms):
            if term.lost:
                losses.append(_Loss(_key(term, products), DivergencePlace(position, index), term.lost))
        products |= frozenset(step.k)
        if step.change:
            losses.append(_Loss(("result", products), DivergencePlace(position, result=True), step.change))
    return losses


def _key(term: Term, products: frozenset[int]) -> Hashable:
    """A product by its k, C by its name, a sum by the products in it."""
    return (term.role, term.k or products) if term.role == "sum" else (term.role, term.k)


def _counterpart(trace: Trace, loss: _Loss, other: Trace) -> DivergencePlace:
    """The place in the other trace: the same term, the result of the same products, or their step."""
    lossy_step = trace.steps[loss.place.step]
    if loss.place.term is not None and lossy_step.terms[loss.place.term].role != "sum":
        term = lossy_step.terms[loss.place.term]
        for position, step in enumerate(other.steps):
            for index, candidate in enumerate(step.terms):
                if (candidate.role, candidate.k) == (term.role, term.k):
                    return DivergencePlace(position, index)
    products = {k for step in trace.steps[: loss.place.step + 1] for k in step.k}
    added: set[int] = set()
    for position, step in enumerate(other.steps):
        added.update(step.k)
        if added >= products:
            return DivergencePlace(position, result=loss.place.result and added == products)
    return DivergencePlace(len(other.steps) - 1)
