"""Exercises of the notebooks: `lessons.check("01.2", answer)` says right and why, gives a hint, or says not yet."""

from __future__ import annotations

from typing import Any

from ..errors import PtxlabError, listing
from . import (
    block_scaling,
    element_types,
    fragments,
    machine_code,
    metadata,
    numerics,
    other_sparse,
    real_gpu,
    sparse_mma_s4,
    sparse_mma_tf32,
    sparse_wgmma,
    start_here,
    structured_sparsity,
    wgmma,
    wmma,
)
from .core import Exercise, Verdict
from .course import LESSONS, Lesson
from .record import Progress, forget, progress, record

__all__ = [
    "EXERCISES",
    "LESSONS",
    "Exercise",
    "Lesson",
    "Progress",
    "Verdict",
    "check",
    "exercise",
    "forget",
    "progress",
]

_ROOMS = (
    start_here, fragments, element_types, structured_sparsity, metadata, sparse_mma_s4, sparse_mma_tf32, other_sparse,
    wmma, wgmma, sparse_wgmma, block_scaling, numerics, machine_code, real_gpu,
)  # fmt: skip

#: Every exercise by its name, in the order of the notebooks: "01.2" is the second of lesson 01.
EXERCISES: dict[str, Exercise] = {
    found.name: found
    for room in _ROOMS
    for found in sorted((v for v in vars(room).values() if isinstance(v, Exercise)), key=lambda e: e.name)
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
    """Judge an answer, and keep the verdict for `progress`.

    >>> check("00.1", ...)
    … 00.1 not yet: Replace the ... in this cell and run it again.
    """
    verdict = exercise(name).check(answer)
    record(verdict)
    return verdict
