"""Answers to all exercises: model solutions, right answers in many forms, typical wrong ones, by lesson."""

from __future__ import annotations

import importlib
from typing import Any

from ptxlab import lessons

__all__ = ["RIGHT", "SECRET", "SOLUTIONS", "WRONG"]

_MODULES = [
    importlib.import_module(f"{__name__}.lesson{lesson.number}")
    for lesson in lessons.LESSONS
    if lesson.exercises
]

SOLUTIONS: dict[str, str] = {name: answer for module in _MODULES for name, answer in module.SOLUTIONS.items()}
RIGHT: dict[str, list[Any]] = {name: answers for module in _MODULES for name, answers in module.RIGHT.items()}
WRONG: dict[str, list[tuple[Any, str]]] = {
    name: answers for module in _MODULES for name, answers in module.WRONG.items()
}
SECRET: dict[str, str] = {name: pattern for module in _MODULES for name, pattern in module.SECRET.items()}
