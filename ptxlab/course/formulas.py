"""Formulas of fragments, tried on every element: what lesson 01 does with those of the manual."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..isa.mma import MmaForm
from ..isa.operand import Operand

#: Row and column of element i of a lane.
Formula = Callable[[int, int], tuple[int, int]]


class Rule(Protocol):
    """The same for any number of neighbours, `run`, that share a register."""

    def __call__(self, lane: int, i: int, run: int) -> tuple[int, int]: ...


def agrees(operand: Operand, formula: Formula) -> bool:
    """Whether `formula(lane, i)` is the row and column of a_i in that lane, for all lanes and all elements.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.m8n8k16.s8")
    >>> agrees(ins.a, lambda lane, i: (lane // 4, lane % 4 * 4 + i))
    True
    """
    lanes, elements = operand.coords().shape[:2]
    places = operand.coords().tolist()
    return all(formula(lane, i) == tuple(places[lane][i]) for lane in range(lanes) for i in range(elements))


def holders(operand: Operand, formula: Formula) -> NDArray[np.int64]:
    """How many times a formula names each element of the matrix: once each, if it is right.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.m8n8k16.s8")
    >>> holders(ins.a, lambda lane, i: (lane // 4, 0))[0, :3]
    array([16,  0,  0])
    """
    count = np.zeros(operand.shape, dtype=np.int64)
    lanes, elements = operand.coords().shape[:2]
    for lane in range(lanes):
        for i in range(elements):
            count[formula(lane, i)] += 1
    return count


def following(rule: Rule, forms: Iterable[MmaForm], operand: str = "A") -> list[MmaForm]:
    """The instructions whose A (or another operand) follows `rule(lane, i, run)`.

    The run is as long as a register has room for.

    >>> import ptxlab
    >>> forms = [ptxlab.instruction(name) for name in ("mma.m8n8k16.s8", "mma.m8n8k32.s4", "mma.m16n8k16.s8")]
    >>> [form.shape for form in following(lambda lane, i, run: (lane // 4, lane % 4 * run + i), forms)]
    ['m8n8k16', 'm8n8k32']
    """

    def fits(held: Operand) -> bool:
        return agrees(held, partial(rule, run=held.elements_per_register))

    return [form for form in forms if fits(form.operand(operand))]
