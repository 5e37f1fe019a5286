"""The course: its lessons, its exercises, their checks and your progress.

The notebooks call `check` after each exercise. It says that an answer is right and why, or gives a hint, or says
that the `...` is still open; it never gives the solution away.

>>> from ptxlab import lessons
>>> lessons.check("00.3", 4)
✗ 00.3 not quite: That is the number of *registers* a lane spends on A; each of them holds several elements.

`LESSONS` lists the notebooks in order, `EXERCISES` maps names such as "00.3" to exercises. `progress` shows which
exercises are done; `forget` starts the course again.
"""

from __future__ import annotations

from .course import EXERCISES, LESSONS, Exercise, Lesson, Progress, Verdict, check, exercise, forget, progress

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
