"""Answers to the exercises of lesson 11."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
