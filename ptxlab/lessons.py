"""The course: its lessons, its exercises, their checks and your progress.

The notebooks call `check` after each exercise. It tells you whether an answer is right, and gives the reason
or a hint; no hint states the answer.

>>> from ptxlab import lessons
>>> lessons.check("00.3", 1024)
✗ 00.3 not quite: That is the whole matrix. Divide it among the lanes.

`LESSONS` lists the notebooks in order, `EXERCISES` maps names such as "00.3" to exercises, `progress` shows
which exercises are done, and `forget` starts the course again. `course_map` draws what builds on what, for
the whole course or for one of the `TRACKS`. `glossary` says what a word means, and `review` asks a few
questions from lessons that you have finished. `certificate` makes a page of what you have solved. `say`
prints long sentences.
"""

from __future__ import annotations

from .course.certificate import Certificate, certificate
from .course.checking import Exercise
from .course.course_map import CourseMap, course_map
from .course.glossary import Glossary, Term, glossary
from .course.progress_record import Progress, forget, progress, record
from .course.review import Review, review
from .course.syllabus import EXERCISES, LESSONS, TRACKS, Lesson, exercise
from .errors import wrapped
from .question import Verdict

__all__ = [
    "EXERCISES",
    "LESSONS",
    "TRACKS",
    "Certificate",
    "CourseMap",
    "Exercise",
    "Glossary",
    "Lesson",
    "Progress",
    "Review",
    "Term",
    "Verdict",
    "certificate",
    "check",
    "course_map",
    "exercise",
    "forget",
    "glossary",
    "progress",
    "review",
    "say",
]


def check(name: str, answer: object) -> Verdict:
    """Check an answer, and record the verdict for `progress`.

    >>> check("00.1", ...)
    … 00.1 not yet: Replace the ... in this cell and run it again.
    """
    verdict = exercise(name).check(answer)
    record(verdict)
    return verdict


def say(*words: object) -> None:
    """Print long sentences in lines that a cell of a notebook has room for.

    >>> say("A[9][20]", "is in lane 6")
    A[9][20] is in lane 6
    """
    print(wrapped(" ".join(map(str, words))))
