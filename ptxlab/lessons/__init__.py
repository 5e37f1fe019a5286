"""Exercises of the notebooks: `lessons.check("01.2", answer)` says right and why, gives a hint, or says not yet."""

from __future__ import annotations

from typing import Any

from ..errors import PtxlabError, listing
from . import dense_mma, sparse_mma_s4, sparse_mma_tf32, sparse_wgmma, start_here, wmma
from .core import Exercise, Verdict

__all__ = ["EXERCISES", "Exercise", "Verdict", "check", "exercise"]

_NOTEBOOKS = (start_here, dense_mma, sparse_mma_s4, sparse_mma_tf32, wmma, sparse_wgmma)

#: Every exercise by its name, in the order of the notebooks: "01.2" is the second of notebook 01.
EXERCISES: dict[str, Exercise] = {
    found.name: found for room in _NOTEBOOKS for found in sorted((v for v in vars(room).values() if isinstance(v, Exercise)), key=lambda e: e.name)
}


def exercise(name: str) -> Exercise:
    """The exercise of that name.

    >>> exercise("00.1").subject
    'place'
    """
    try:
        return EXERCISES[name]
    except KeyError:
        raise PtxlabError(f"there is no exercise {name!r}; there are {listing(EXERCISES, 40)}") from None


def check(name: str, answer: Any) -> Verdict:
    """Judge an answer.

    >>> check("00.1", ...)
    … 00.1 not yet: Replace the ... in this cell and run it again.
    """
    return exercise(name).check(answer)
