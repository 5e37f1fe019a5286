"""Answers to all exercises: model solutions, right answers in many forms, typical wrong ones, by lesson."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from typing import Any

import numpy as np

from ptxlab import lessons
from ptxlab.course.syllabus import module_name

__all__ = ["ONLY_IN_NOTEBOOKS", "RIGHT", "SECRET", "SOLUTIONS", "WRONG"]

#: Their solutions use names of the notebook, where test_notebooks.py runs them.
ONLY_IN_NOTEBOOKS = ("23.4", "24.5", "24.6")


def _solution(name: str, names: dict[str, Any]) -> Any:
    """What the reader's cell holds with the model solution."""
    exercise = lessons.exercise(name)
    exec(exercise.starter.replace("...", SOLUTIONS[name], 1), space := dict(names))
    return space[exercise.subject]


def _forms(answer: Any) -> list[Any]:
    """An answer as readers might write it: numbers as Python's, NumPy's or text, in any container."""
    if isinstance(answer, bool | str | dict | set) or callable(answer):
        return [answer]
    numbers = [answer] if isinstance(answer, int | float) else list(answer)
    if not all(isinstance(number, int | float) for number in numbers):
        return [answer, list(answer)]
    forms = [answer, numbers, tuple(numbers), [str(number) for number in numbers], np.array([numbers])]
    return [*forms, np.array(numbers), *(map(np.array, numbers) if len(numbers) == 1 else ())]


#: One for each lesson, named after its notebook like the module of its exercises.
_MODULES = tuple(
    import_module(f"{__name__}.answers.{module_name(lesson.slug)}")
    for lesson in lessons.LESSONS
    if lesson.number
)
SOLUTIONS: dict[str, str] = {name: answer for module in _MODULES for name, answer in module.SOLUTIONS.items()}
SECRET: dict[str, str] = {name: pattern for module in _MODULES for name, pattern in module.SECRET.items()}
RIGHT: dict[str, list[Any]] = defaultdict(list)
WRONG: dict[str, list[tuple[Any, str]]] = defaultdict(list)
for _module in _MODULES:
    for _name in _module.SOLUTIONS:
        if _name not in ONLY_IN_NOTEBOOKS:
            RIGHT[_name] += _forms(_solution(_name, vars(_module)))
    for _name, _answer in _module.RIGHT:
        RIGHT[_name].append(_answer)
    for _name, _answer, _words in _module.WRONG:
        WRONG[_name].append((_answer, _words))
