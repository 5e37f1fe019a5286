"""What an exercise is: a task, a starting cell, and a check that answers with a reason or with a hint, never with the solution."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = [
    "Exercise",
    "Unanswered",
    "Unreadable",
    "Verdict",
    "ask",
    "call",
    "exercise",
    "function_table",
    "judge",
    "reals",
    "whole",
    "whole_set",
]


_LOOKS = {
    "right": ("✓", "right", "0, 158, 115"),
    "wrong": ("✗", "not quite", "213, 94, 0"),
    "not yet": ("…", "not yet", "122, 122, 122"),
}
_PANEL = "border-left: 4px solid rgb({0}); background: rgba({0}, 0.1); padding: 8px 12px; margin: 4px 0; max-width: 60em; line-height: 1.5"


@dataclass(frozen=True)
class Verdict:
    """The answer to an answer: right and why, wrong and a hint, or not yet. True only when right.

    >>> verdict = Verdict("00.1", "wrong", "Count lanes from 0.")
    >>> verdict, bool(verdict)
    (✗ 00.1 not quite: Count lanes from 0., False)
    """

    exercise: str
    state: Literal["right", "wrong", "not yet"]
    text: str

    def __bool__(self) -> bool:
        return self.state == "right"

    @property
    def _heading(self) -> str:
        sign, word, _ = _LOOKS[self.state]
        return f"{sign} {self.exercise} {word}"

    def __repr__(self) -> str:
        return f"{self._heading}: {self.text.replace('`', '')}"

    def _repr_markdown_(self) -> str:
        return f"> **{self._heading}.** {self.text}"

    def _repr_html_(self) -> str:
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.text, quote=False))
        text = re.sub(r"(?<![\w*])\*(\w(?:[^*<>]*\w['’]?)?)\*(?![\w*])", r"<em>\1</em>", text)
        return f'<div style="{_PANEL.format(_LOOKS[self.state][2])}"><strong>{html.escape(self._heading)}.</strong> {text}</div>'


@dataclass(frozen=True)
class Exercise:
    """One exercise of a notebook: its task in Markdown, the first lines of its cell, and its check.

    >>> from ptxlab import lessons
    >>> print(lessons.exercise("00.1").cell)
    place = ...  # (lane, element)
    lessons.check("00.1", place)
    """

    name: str
    task: str
    starter: str
    check: Callable[[Any], Verdict]

    @property
    def subject(self) -> str:
        """The name that the starter leaves open."""
        found = re.search(r"^(?:def )?(\w+)", self.starter)
        return found.group(1) if found else "answer"

    @property
    def cell(self) -> str:
        """The whole code cell as a notebook shows it."""
        gap = "\n\n\n" if self.starter.startswith("def ") else "\n"
        return f'{self.starter}{gap}lessons.check("{self.name}", {self.subject})'

    @property
    def markdown(self) -> str:
        """The whole text cell above it."""
        return f"### ✎ Exercise {self.name}\n\n{self.task}"

    def __repr__(self) -> str:
        return f"Exercise {self.name}: {self.task}"

    def _repr_markdown_(self) -> str:
        return self.markdown


class Unanswered(Exception):
    """The answer still has its `...`."""


class Unreadable(Exception):
    """The answer has not the form that was asked for; the message says which."""


def exercise(name: str, task: str, starter: str) -> Callable[[Callable[[Any], tuple[bool, str]]], Exercise]:
    """Make an exercise of a function that takes an answer and gives (right, text)."""

    def make(look: Callable[[Any], tuple[bool, str]]) -> Exercise:
        def check(answer: Any) -> Verdict:
            try:
                _refuse_open(answer)
                right, text = look(answer)
            except Unanswered:
                return Verdict(name, "not yet", "Replace the `...` in this cell and run it again.")
            except Unreadable as form:
                return Verdict(name, "wrong", str(form))
            return Verdict(name, "right" if right else "wrong", text)

        return Exercise(name, task, starter, check)

    return make


def judge(right: bool, why: str, *traps: tuple[bool, str], otherwise: str) -> tuple[bool, str]:
    """(True, why) for a right answer, else the hint of the first trap it fell into."""
    if right:
        return True, why
    return False, next((hint for caught, hint in traps if caught), otherwise)


def _refuse_open(answer: Any) -> None:
    if answer is ...:
        raise Unanswered
    if isinstance(answer, dict):
        answer = [*answer, *answer.values()]
    if isinstance(answer, (list, tuple, set, frozenset)):
        for part in answer:
            _refuse_open(part)


def _number(value: Any, form: str) -> int:
    if isinstance(value, str):
        try:
            return int(value.replace("_", ""), 0)
        except ValueError:
            named = "element" in form and re.fullmatch(r"[A-Za-z](\d+)", value.strip())
            raise Unreadable(
                f"{value!r} is not a whole number; {f'write {named[1]}' if named else f'the answer takes the form {form}'}."
            ) from None
    try:
        number = np.asarray(value).item()
        if isinstance(number, (int, float)) and number == int(number):
            return int(number)
    except (ValueError, TypeError, OverflowError):
        pass
    raise Unreadable(f"{value!r} is not a whole number; the answer takes the form {form}.")


def _parts(answer: Any) -> Iterable[Any]:
    if isinstance(answer, np.ndarray):
        return list(answer.ravel())
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        return [answer]
    flat: list[Any] = []
    for part in answer:
        flat.extend(_parts(part) if not isinstance(part, str) else [part])
    return flat


def _count(many: int, what: str = "number") -> str:
    return f"one {what}" if many == 1 else f"{many or 'no'} {what}s"


def whole(answer: Any, count: int, form: str) -> tuple[int, ...]:
    """The answer as `count` whole numbers, from lists, tuples, arrays, NumPy numbers or text such as "0x1F"."""
    found = tuple(_number(part, form) for part in _parts(answer))
    if len(found) != count:
        raise Unreadable(
            f"found {_count(len(found))}; the answer is {_count(count, 'whole number')}: {form}."
        )
    return found


def reals(answer: Any, form: str, count: int | None = None) -> tuple[float, ...]:
    """The answer as finite numbers, `count` of them where one is given: Python's, NumPy's, fractions, or text such as "0.25"."""
    try:
        found = tuple(float(part) for part in _parts(answer))
    except (TypeError, ValueError):
        found = (float("nan"),)
    if not np.isfinite(found).all():
        raise Unreadable(
            f"{answer!r} is not {'a number' if count == 1 else 'a list of numbers'}; the answer takes the form {form}."
        )
    if count is not None and len(found) != count:
        raise Unreadable(f"found {_count(len(found))}; the answer is {_count(count)}: {form}.")
    return found


def whole_set(answer: Any, form: str) -> frozenset[int]:
    """The answer as a set of whole numbers, in any order and from any container."""
    return frozenset(_number(part, form) for part in _parts(answer))


def function_table(function: Any, *sizes: int, form: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What a reader's function gives for every combination of whole arguments below `sizes`."""
    if not callable(function):
        raise Unreadable(f"this one asks for a function: {form}.")
    table = np.zeros(sizes, dtype=np.int64)
    for at in np.ndindex(*sizes):
        table[at] = call(function, *at, form=form)
    return table


def ask(function: Any, *arguments: Any, form: str, about: str = "") -> Any:
    """What a reader's function gives, or a word about why that is nothing; `about` begins it where the arguments would not say enough."""
    if not callable(function):
        raise Unreadable(f"this one asks for a function: {form}.")
    shown = ", ".join(textwrap.shorten(str(argument), 60, placeholder=" ...") for argument in arguments)
    about = about or f"called with ({shown})"
    try:
        value = function(*arguments)
    except Exception as error:  # the reader's own code may raise anything
        raise Unreadable(f"{about} the function raised {type(error).__name__}: {error}.") from None
    _refuse_open(value)
    if value is None:
        raise Unreadable(f"{about} the function returned nothing; is the `return` missing?")
    return value


def call(function: Any, *arguments: Any, form: str) -> int:
    """One whole number from a reader's function."""
    return _number(ask(function, *arguments, form=form), form)
