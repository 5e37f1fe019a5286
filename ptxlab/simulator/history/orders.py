"""The same terms added in another order, in float32 with round to nearest: what each order would lose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...numerics.steps import leading
from ...numerics.trace import trace
from .element_tree import ElementTree

_FRACTION_BITS, _LOWEST = 23, -149  # of float32


def to_float32(value: Fraction) -> Fraction:
    """The nearest float32, ties to even; overflow is not looked at.

    >>> to_float32(1 + Fraction(1, 2**24)), float(to_float32(Fraction(1, 10)))
    (Fraction(1, 1), 0.10000000149011612)
    """
    if not value:
        return value
    grain = Fraction(2) ** max(leading(value) - _FRACTION_BITS, _LOWEST)
    return round(value / grain) * grain


def one_after_another(terms: Sequence[Fraction]) -> Fraction:
    """A chain of fused multiply-adds.

    >>> float(one_after_another([Fraction(1), Fraction(1, 2**24), Fraction(1, 2**24)]))
    1.0
    """
    total = Fraction(0)
    for term in terms:
        total = to_float32(total + term)
    return total


def in_pairs(terms: Sequence[Fraction]) -> Fraction:
    """Neighbours first, then their sums, and so on."""
    sums = [to_float32(term) for term in terms]
    while len(sums) > 1:
        rest = sums[-1:] if len(sums) % 2 else []
        sums = [to_float32(one + other) for one, other in zip(sums[::2], sums[1::2], strict=False)] + rest
    return sums[0]


def kahan(terms: Sequence[Fraction]) -> Fraction:
    """Kahan's sum, which carries along what the last addition lost."""
    total = lost = Fraction(0)
    for term in terms:
        corrected = to_float32(to_float32(term) - lost)
        summed = to_float32(total + corrected)
        lost = to_float32(to_float32(summed - total) - corrected)
        total = summed
    return total


def promoted(tree: ElementTree, every: int) -> Fraction | None:
    """The tensor core's sums of `every` instructions each, added in float32, as DeepSeek's FP8 kernels do.

    None where the element is not a chain of so many matrix instructions.
    """
    chain = [history for history, node in tree.nodes.items() if node.kind == "matrix"]
    if len(chain) <= every:
        return None
    total = before = Fraction(0)
    for number, history in enumerate(chain, 1):
        found = tree.operation(history)
        if found is None:
            return None
        operation, row, column = found
        C = np.array(operation.matrix("C"))
        C[row, column] = float(before)
        value = trace(operation.with_matrix("C", C), row, column, model=tree.model).value
        if not isinstance(value, Fraction):
            return None
        before = value
        if number % every == 0 or number == len(chain):
            total, before = to_float32(total + before), Fraction(0)
    return total
