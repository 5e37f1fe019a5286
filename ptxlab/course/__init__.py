"""The course behind the notebooks: lessons, exercises, their checks, and the reader's progress.

Each lesson has a module here with its exercises. Users import `ptxlab.lessons`.
"""

from __future__ import annotations

from .checking import Exercise, Verdict
from .record import Progress, forget, progress, record
from .syllabus import EXERCISES, LESSONS, Lesson, exercise

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


def check(name: str, answer: object) -> Verdict:
    """Check an answer, and record the verdict for `progress`.

    >>> check("00.1", ...)
    … 00.1 not yet: Replace the ... in this cell and run it again.
    """
    verdict = exercise(name).check(answer)
    record(verdict)
    return verdict
