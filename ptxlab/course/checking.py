"""Exercises: a task, a starting cell, and a check that gives a reason or a hint, never the answer itself."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._util.files import notebooks
from ..isa.location import Place
from ..isa.operand import Operand
from ..question import Question, Reply, Unanswered, Verdict
from .answers import WrongForm, plain, raised, within_time_limit


@dataclass(frozen=True, eq=False)
class Condition:
    """Whether a sentence of a check fits an answer, and whether it is for a correct one."""

    fits: object  # by its truth value
    right: bool = False


def correct(condition: object) -> Condition:
    """The key of the sentence that says why an answer is right."""
    return Condition(condition, right=True)


#: A hint is given when its condition holds and none above it does.
when = Condition
otherwise = Condition(True)

#: What a check may say, in order: the first sentence that fits is given.
Sentences = dict[Condition, str]
Check = Callable[[object], Sentences]


class Exercise(Question):
    """One exercise: the question with its task and its starting cell, which the notebook states.

    >>> from ptxlab import lessons
    >>> print(lessons.exercise("00.1").cell)
    place = ...  # (lane, element)
    lessons.check("00.1", place)
    """

    def check(self, answer: object) -> Verdict:
        """The verdict on an answer; `lessons.check` also records it."""
        return super().check(answer)

    @property
    def markdown(self) -> str:
        """The whole text cell above the code cell."""
        return task_text(self.name, STUDENT)

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


def _capital(text: str) -> str:
    """A message as a sentence of its own; a name in code keeps its letters.

    >>> _capital("found one number."), _capital("x[3] is read."), _capital("mma.sync: no.")
    ('Found one number.', 'x[3] is read.', 'mma.sync: no.')
    """
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text


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
        @wraps(check)
        def judge(answer: object) -> Reply:
            try:
                sentences = within_time_limit(lambda: check(plain(answer)))
                fitting = next(condition for condition in sentences if condition.fits)
                return Reply(fitting.right, sentences[fitting])
            except Unanswered:
                raise
            except WrongForm as error:
                return Reply(False, _capital(str(error)))
            except Exception as error:  # a mistake in the check: the reader gets an answer all the same
                remedy = "Compare its form with the comment in the cell."
                return Reply(False, f"{UNFORESEEN} ({raised(error)}). {remedy}")

        exercise = Exercise(name, judge)
        # A module whose import was interrupted registers its exercises again.
        earlier = REGISTERED.setdefault(name, exercise).judge
        if (earlier.__module__, earlier.__qualname__) != (judge.__module__, judge.__qualname__):
            raise ValueError(
                f"exercise {name} has a check already: {earlier.__module__}.{earlier.__qualname__}"
            )
        REGISTERED[name] = exercise
        return exercise

    return register


# -- constants of exercises, for a class in which every student gets others ----------------------------------

#: Whose constants the exercises have. Without a name they are those of the notebooks.
STUDENT = os.environ.get("PTXLAB_STUDENT", "")
Choice = TypeVar("Choice")


@dataclass(frozen=True)
class Constants(Generic[Choice]):
    """Numbers of exercises that differ from student to student, and how tasks state them."""

    exercises: tuple[str, ...]
    words: str
    choices: tuple[Choice, ...]  # the notebook's first

    def __post_init__(self) -> None:
        if len(self.choices) < 2:
            raise ValueError(f"constants of {self.exercises}: a student needs others than the notebook's")

    def of(self, student: str) -> Choice:
        """The constants of a student: never the notebook's, whose solutions are public."""
        if not student:
            return self.choices[0]
        digest = hashlib.sha256(f"{self.exercises[0]} {student}".encode()).digest()
        return self.choices[1 + int.from_bytes(digest) % (len(self.choices) - 1)]

    def stated(self, choice: Choice) -> str:
        """How a task states them."""
        return self.words.format(*choice) if isinstance(choice, tuple) else self.words.format(choice)


#: All constants that are drawn, in the order of their declarations.
DRAWN: list[Constants[Any]] = []


def drawn(exercises: str, words: str, *choices: Choice) -> Choice:
    """Constants of exercises such as "01.1 01.2": the notebook's or, where a student is named, others.

    The tasks state them as `words.format(...)`. All choices are of one kind, so that the hints fit them all.
    """
    DRAWN.append(Constants(tuple(exercises.split()), words, choices))
    choice: Choice = DRAWN[-1].of(STUDENT)
    return choice


def task_text(name: str, student: str) -> str:
    """The text cell of an exercise, with the constants of a student."""
    text = exercise_cells(name)[0]
    for constants in DRAWN:
        if name in constants.exercises:
            text = text.replace(
                constants.stated(constants.choices[0]), constants.stated(constants.of(student))
            )
    return text


#: How a verdict begins where the check itself failed.
UNFORESEEN = "This answer could not be checked"


# -- hints that several lessons give -------------------------------------------------------------------------


def place_hints(submitted: tuple[int, ...], place: Place) -> Sentences:
    """For an answer `(lane, lowest bit, highest bit)` about a nibble of 16 rows."""
    lane, low, high = place.lane, place.low, place.high
    return {
        when(submitted == (lane, high, low)): "Lane and bits are right; write the lowest bit before the "
        "highest.",
        when(submitted == (lane, 31 - high, 31 - low)): "The lane is right. You counted from the top; the "
        "first nibble is in the lowest bits.",
        when(submitted[0] > 31): "There are 32 lanes; rows 8 to 15 share the lanes of rows 0 to 7.",
    }


def binary_hint(number: int, bits: int) -> Sentences:
    """For a number of `bits` bits that was typed without its `0b`."""
    digits = str(number)
    is_decimal = number >= 1 << bits and len(digits) <= bits and set(digits) <= {"0", "1"}
    return {
        when(is_decimal): "Python reads that as a decimal number. Start it with `0b` to make the digits bits."
    }


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
