"""Exercises: a task, a starting cell, and a check that gives a reason or a hint, never the solution."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.files import notebooks
from ..errors import quoted
from ..isa.operand import Operand
from .reader_code import Unanswered, WrongForm, call, plain, raised, within_time_limit

#: The sign, the words and the colour of each state of a verdict.
_LOOKS = {
    "right": ("✓", "right", "0, 158, 115"),
    "wrong": ("✗", "not quite", "213, 94, 0"),
    "not yet": ("…", "not yet", "122, 122, 122"),
}
_PANEL = (
    "border-left: 4px solid rgb({0}); background: rgba({0}, 0.1); padding: 8px 12px; margin: 4px 0; "
    "max-width: 60em; line-height: 1.5"
)


@dataclass(frozen=True)
class Verdict:
    """The result of a check: right, wrong or not yet, with the reason or a hint. True only if right.

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
        sign, words, _ = _LOOKS[self.state]
        return f"{sign} {self.exercise} {words}"

    def __repr__(self) -> str:
        return f"{self._heading}: {self.text.replace('`', '')}"

    def _repr_markdown_(self) -> str:
        return f"> **{self._heading}.** {self.text}"

    def _repr_html_(self) -> str:
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.text, quote=False))
        text = re.sub(r"(?<![\w*])\*(\w(?:[^*<>]*\w['’]?)?)\*(?![\w*])", r"<em>\1</em>", text)
        style = _PANEL.format(_LOOKS[self.state][2])
        return f'<div style="{style}"><strong>{html.escape(self._heading)}.</strong> {text}</div>'


@dataclass(frozen=True, eq=False)
class Condition:
    """Whether a sentence of a check fits an answer, and whether it is said about a correct one."""

    fits: object  # if true
    right: bool = False


def correct(condition: object) -> Condition:
    """The key of the sentence that says why an answer is right."""
    return Condition(condition, right=True)


#: A hint is said when its condition holds, and none of those above it.
when = Condition
otherwise = Condition(True)

#: What a check may say, in order: the first sentence that fits is said.
Sentences = dict[Condition, str]
Check = Callable[[object], Sentences]


@dataclass(frozen=True)
class Exercise:
    """One exercise: its check, and its task and its starting cell, which the notebook states.

    >>> from ptxlab import lessons
    >>> print(lessons.exercise("00.1").cell)
    place = ...  # (lane, element)
    lessons.check("00.1", place)
    """

    name: str
    _check: Check

    def check(self, answer: object) -> Verdict:
        """The verdict on an answer; `lessons.check` also records it."""
        try:
            sentences = within_time_limit(lambda: self._check(plain(answer)))
        except Unanswered:
            return Verdict(self.name, "not yet", "Replace the `...` in this cell and run it again.")
        except WrongForm as error:
            return Verdict(self.name, "wrong", str(error))
        except Exception as error:  # a mistake in the check: the reader gets an answer all the same
            text = f"{UNFORESEEN} ({raised(error)}). Compare its form with the comment in the cell."
            return Verdict(self.name, "wrong", text)
        condition, text = next((condition, text) for condition, text in sentences.items() if condition.fits)
        return Verdict(self.name, "right" if condition.right else "wrong", text)

    @property
    def markdown(self) -> str:
        """The whole text cell above the code cell."""
        return exercise_cells(self.name)[0]

    @property
    def cell(self) -> str:
        """The whole code cell, as the notebook shows it."""
        return exercise_cells(self.name)[1]

    @property
    def task(self) -> str:
        """What is asked, in Markdown."""
        return self.markdown.partition("\n\n")[2]

    @property
    def starter(self) -> str:
        """The first lines of the code cell, which the reader completes."""
        return self.cell.rpartition("\n")[0].rstrip()

    @property
    def subject(self) -> str:
        """The name that the starter leaves open."""
        return self.cell.rpartition(", ")[2].rstrip(")")

    def __repr__(self) -> str:
        return f"Exercise {self.name}: {self.task}"

    def _repr_markdown_(self) -> str:
        return self.markdown


#: Every exercise by its name, as the modules of the lessons are imported.
REGISTERED: dict[str, Exercise] = {}


@lru_cache(maxsize=None)
def exercise_cells(name: str) -> tuple[str, str]:
    """The text and the code cell of an exercise, from the notebook of its lesson."""
    (path,) = notebooks().glob(f"{name[:2]}-*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    index = next(i for i, source in enumerate(sources) if f'lessons.check("{name}"' in source)
    return sources[index - 1], sources[index]


def checks(name: str) -> Callable[[Check], Exercise]:
    """Decorator that registers an exercise with its check, which gets the answer as plain data."""

    def register(check: Check) -> Exercise:
        return REGISTERED.setdefault(name, Exercise(name, check))

    return register


#: How a verdict begins where the check itself failed.
UNFORESEEN = "This answer could not be checked"


def _whole_number(value: object, form: str, limit: int = 1 << 64) -> int:
    """A plain value, or the only part of one, as a whole number below `limit`."""
    parts = _parts(value)
    if len(parts) == 1 and isinstance(parts[0], str):
        number = _whole_number_from_text(parts[0], form)
    else:
        try:
            (part,) = parts
            number = int(part)  # type: ignore[call-overload]  # anything else raises
            if isinstance(part, bytes) or number != part:
                raise ValueError
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            raise WrongForm(
                f"{quoted(value)} is not a whole number; the answer takes the form {form}."
            ) from None
    if abs(number) >= limit:
        raise WrongForm(f"{quoted(value)} is far too large; the answer takes the form {form}.")
    return number


def _whole_number_from_text(text: str, form: str) -> int:
    try:
        return int(text.replace("_", ""), 0)
    except ValueError:
        advice = f"the answer takes the form {form}"
        named = re.fullmatch(r"[A-Za-z](\d{1,9})", text.strip())  # such as "a29"
        if named and "element" in form:
            advice = f"write {named[1]}"
        raise WrongForm(f"{quoted(text)} is not a whole number; {advice}.") from None


def _parts(answer: object) -> list[object]:
    """A plain answer as a flat list: nested collections and arrays are flattened, text stays whole."""
    if isinstance(answer, np.ndarray):
        return list(answer.ravel().tolist())
    if not isinstance(answer, dict | list | tuple | frozenset):
        return [answer]
    return [part for inner in answer for part in _parts(inner)]


def _require_order(answer: object, count: int | None, form: str) -> None:
    if isinstance(answer, frozenset) and count != 1:
        raise WrongForm(f"A set has no order; the answer takes the form {form}.")


def _count(count: int, noun: str = "number") -> str:
    if count == 1:
        return f"one {noun}"
    return f"{count or 'no'} {noun}s"


def whole_numbers(answer: object, count: int, form: str) -> tuple[int, ...]:
    """The answer as `count` whole numbers, from containers, arrays, NumPy numbers or text such as "0x1F"."""
    _require_order(answer, count, form)
    values = tuple(_whole_number(part, form) for part in _parts(answer))
    if len(values) != count:
        raise WrongForm(
            f"found {_count(len(values))}; the answer is {_count(count, 'whole number')}: {form}."
        )
    return values


def numbers(answer: object, form: str, count: int | None = None) -> tuple[float, ...]:
    """The answer as finite numbers, `count` of them if it is given: Python's, NumPy's, fractions, or text."""
    _require_order(answer, count, form)
    try:
        values = tuple(float(part) for part in _parts(answer))  # type: ignore[arg-type]  # anything else raises
    except (TypeError, ValueError, ArithmeticError):  # a fraction or an integer may be beyond any float
        values = (float("nan"),)
    if not np.isfinite(values).all():
        kind = "a number" if count == 1 else "a list of numbers"
        raise WrongForm(f"{quoted(answer)} is not {kind}; the answer takes the form {form}.")
    if count is not None and len(values) != count:
        raise WrongForm(f"found {_count(len(values))}; the answer is {_count(count)}: {form}.")
    return values


def whole_number_set(answer: object, form: str) -> frozenset[int]:
    """The answer as a set of whole numbers, in any order and from any container."""
    return frozenset(_whole_number(part, form) for part in _parts(answer))


def function_table(function: object, *sizes: int, form: str) -> NDArray[np.int64]:
    """What a reader's function returns for every combination of whole arguments below `sizes`."""
    table = np.zeros(sizes, dtype=np.int64)
    for arguments in np.ndindex(*sizes):
        table[arguments] = whole_result_of(function, *arguments, form=form)
    return table


def result_of(function: object, *arguments: object, form: str, about: str = "") -> object:
    """What a reader's function returns; if it raises or returns nothing, the verdict says so.

    `about` replaces the list of arguments at the start of that message.
    """
    if not callable(function):
        raise WrongForm(f"the answer is a function: {form}.")
    about = about or f"called with ({', '.join(_shortened(str(argument)) for argument in arguments)})"
    value = call(function, arguments, about)
    if value is None:
        raise WrongForm(f"{about} the function returned nothing; is the `return` missing?")
    return value


def _shortened(text: str) -> str:
    """In at most 60 letters; most are numbers, and checks make thousands of calls."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 60 else textwrap.shorten(joined, 60, placeholder=" ...")


def whole_result_of(function: object, *arguments: object, form: str) -> int:
    """One whole number of at most 63 bits from a reader's function."""
    return _whole_number(result_of(function, *arguments, form=form), form, 1 << 63)


def as_table(value: object, form: str) -> NDArray[Any]:
    """A plain answer as an array of real numbers."""
    try:
        table = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise WrongForm(f"The rows are not equally long; {form}.") from None
    if table.dtype.kind not in "biuf":
        raise WrongForm(f"Found {quoted(value)}; {form}.")
    return table


def first_register(operand: Operand, codes: Sequence[int] | NDArray[Any]) -> int:
    """Register 0 of a lane whose first elements have these codes; the other elements are 0.

    >>> from ptxlab.instruction import mma_instruction
    >>> hex(first_register(mma_instruction("mma.m16n8k64.s4").a, [1, 2, 3]))
    '0x321'
    """
    elements = len(operand.coords()[0])
    by_element = np.zeros((1, elements), dtype=np.uint8)
    by_element[0, : len(codes)] = codes
    return int(operand.join(by_element)[0, 0])
