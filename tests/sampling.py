"""A part of many cases, so that the whole suite takes minutes; PTXLAB_EXHAUSTIVE=1 runs them all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
EXHAUSTIVE = bool(os.environ.get("PTXLAB_EXHAUSTIVE"))


def covered_by(others: str) -> pytest.MarkDecorator:
    """Marks a test that `make exhaustive` runs: in `make test` others show the same in less time."""
    return pytest.mark.skipif(not EXHAUSTIVE, reason=f"in `make exhaustive`; here covered by {others}")


def every_third(cases: Sequence[T], number: int = 0) -> Sequence[T]:
    """Every third case, from another one on for each number: three neighbouring forms have all cases.

    Where PTXLAB_EXHAUSTIVE is set: all of them.
    """
    return one_in(3, cases, number)


def one_in(step: int, cases: Sequence[T], number: int = 0) -> Sequence[T]:
    """One of so many cases, but at least one, from another one on for each number.

    For sweeps in which every case takes the same path. Where PTXLAB_EXHAUSTIVE is set: all of them.
    """
    if EXHAUSTIVE or not cases:
        return cases
    step = min(step, len(cases))
    return cases[number % step :: step]


def some(cases: Iterable[T], number: int = 1) -> list[T]:
    """The first cases, for tests in which each further one repeats the same at another size.

    Where PTXLAB_EXHAUSTIVE is set: all of them.
    """
    return list(cases) if EXHAUSTIVE else list(cases)[:number]
