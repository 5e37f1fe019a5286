"""Bounds of the judge: every order of rounded operations stays inside, a skipped element does not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ptxlab.judging import bounds
from ptxlab.judging.bounds import NoBound

from ..cases import each

Bounded: Any = bounds.Bounded  # NumPy's types do not know it
X = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
Y = np.random.default_rng(2).normal(size=(3, 50)).astype(np.float32)

#: A reference, and the same in float32 as kernels would compute it, in several orders.
FORMULAS: dict[str, tuple[Callable[..., Any], list[Callable[..., Any]]]] = {
    "sum": (
        lambda x, y: np.sum(x * y, axis=1),
        [
            lambda x, y: _in_order(x * y),
            lambda x, y: _in_order((x * y)[:, ::-1]),
            lambda x, y: np.sum(x * y, 1),
        ],
    ),
    "normalise": (
        lambda x, y: x / np.sqrt(np.sum(x**2, axis=1, keepdims=True)),
        [
            lambda x, y: x / np.sqrt(_in_order(x * x))[:, None],
            lambda x, y: x / np.sqrt(np.sum(x * x, 1))[:, None],
        ],
    ),
    "softmax": (
        lambda x, y: (
            np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
        [lambda x, y: np.exp(x - x.max(1)[:, None]) / _in_order(np.exp(x - x.max(1)[:, None]))[:, None]],
    ),
    "matmul": (lambda x, y: x @ y.T, [lambda x, y: x @ y.T, lambda x, y: np.float32(x[:, ::-1] @ y.T[::-1])]),
    "tanh": (
        lambda x, y: np.tanh(x * y) + 1 / (1 + np.exp(-x)),
        [lambda x, y: np.tanh(x * y) + 1 / (1 + np.exp(-x))],
    ),
}


def _in_order(x: Any) -> Any:
    total = np.zeros(len(x), np.float32)
    for column in x.T:
        total = (total + column).astype(np.float32)
    return total


@each("name", FORMULAS)
def test_every_order_is_inside_and_a_skipped_element_is_not(name: str) -> None:
    reference, kernels = FORMULAS[name]
    expected = reference(Bounded(X), Bounded(Y))
    for kernel in kernels:
        result = kernel(X, Y)
        assert result.dtype == np.float32
        assert np.all(abs(result - expected.value) <= expected.error)
        assert not np.array_equal(result, expected.value)  # float64 has more digits
    skipped = X.copy()
    skipped[:, 7] = 0
    assert np.any(abs(kernels[0](skipped, Y) - expected.value) > expected.error)


def test_sums_of_integers_are_exact() -> None:
    whole = np.rint(4 * X)
    for result in (Bounded(whole).sum(), Bounded(whole) @ np.rint(Y).T, np.cumsum(Bounded(whole), axis=1)):
        assert not np.any(result.error)
    exact = sum((Fraction(float(value)) for value in whole.ravel()), Fraction(0))
    assert Fraction(float(Bounded(whole).sum().value)) == exact
    assert np.any(Bounded(whole * 2.0**20).sum().error)  # their sum is more than 24 bits hold


def test_copies_are_exact_and_rounding_is_not() -> None:
    x = Bounded(X)
    for result in (
        x.T,
        np.maximum(x, 0),
        np.where(x > 0, x, -x),
        np.concatenate([x, x]),
        x.max(axis=0),
        2 * x,
    ):
        assert not np.any(result.error)
    assert np.mean((x * x).error > 0) > 0.9  # some products are exact
    half = x.astype(np.float16)
    assert np.all(abs(X.astype(np.float16).astype(np.float64) - X) <= half.error)


def test_what_has_no_bound() -> None:
    with pytest.raises(NoBound, match="np.fft"):
        np.fft.fft(Bounded(X))
    with pytest.raises(NoBound, match="arcsin"):
        np.arcsin(Bounded(X))
