"""A question: what is asked, what is right, how an answer is judged, and which hint a mistake gets.

Exercises of the lessons, stops of the walk and the Explorer's quiz are such questions.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ._util.display import Displayed

__all__ = ["Question", "Reply", "Unanswered", "Verdict", "with_code"]

#: The sign and the words of each state of a verdict.
_WORDS = {
    "right": ("✓", "right"),
    "wrong": ("✗", "not quite"),
    "not yet": ("…", "not yet"),
    "clean": ("✓", "is clean"),
    "hazard": ("✗", "has a hazard"),
    "hang": ("✗", "hangs"),
    "review": ("?", "needs a look"),
    "incomplete": ("…", "is not judged to the end"),
    "error": ("✗", "does not run"),
}
#: What a verdict says: of an answer "right", "wrong" or "not yet"; of a kernel "wrong" or one of the others.
State = Literal["right", "wrong", "not yet", "clean", "hazard", "hang", "review", "incomplete", "error"]


class Unanswered(Exception):
    """The answer still has its `...`, or cannot be read or checked: the message says why."""

    def __init__(self, reason: str = "Replace the `...` in this cell and run it again.") -> None:
        super().__init__(reason)


class Reply(NamedTuple):
    """Whether an answer is right; why it is, or the hint for its mistake; the cells that it names."""

    right: bool
    text: str = ""
    cells: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question, and the judge of its answers: it replies, or raises `Unanswered`.

    >>> question = Question("sum", lambda answer: Reply(answer == 4, "Count on."), "What is 2 + 2?", (4,))
    >>> question.check(5)
    ✗ sum not quite: Count on.
    """

    name: str
    judge: Callable[[Any], Reply] = field(repr=False, compare=False)
    text: str = ""  # what is asked; an exercise has it in its notebook
    answers: tuple[Any, ...] = ()  # every right one, the best first
    reason: str = ""  # why they are right
    hint: str = ""  # how to answer
    example: str = ""  # the form of an answer

    def check(self, answer: object) -> Verdict:
        """The verdict on an answer."""
        try:
            reply = self.judge(answer)
        except Unanswered as unread:
            return Verdict(self.name, "not yet", str(unread))
        if reply.right:
            return Verdict(self.name, "right", reply.text or self.reason)
        return Verdict(self.name, "wrong", reply.text)


def with_code(text: str) -> str:
    """A text as HTML, with code between backticks.

    >>> with_code("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


@dataclass(frozen=True)
class Verdict(Displayed):
    """What is found about an answer or a kernel, with the reason or a hint. True only if it is correct.

    The verdict on a kernel, `ptxlab.judge`'s, is a subclass that has its evidence.

    >>> verdict = Verdict("00.1", "wrong", "Count lanes from 0.")
    >>> verdict, bool(verdict)
    (✗ 00.1 not quite: Count lanes from 0., False)
    """

    exercise: str
    state: State
    text: str

    def __bool__(self) -> bool:
        return self.correct

    @property
    def status(self) -> State:
        """Its state."""
        return self.state

    @property
    def reason(self) -> str:
        """Its text."""
        return self.text

    @property
    def correct(self) -> bool:
        """Whether the answer is right, or the kernel clean."""
        return self.state in ("right", "clean")

    @property
    def details(self) -> tuple[str, ...]:
        """What it rests on, in lines; of an answer there is no more to say."""
        return ()

    @property
    def heading(self) -> str:
        """Sign, name and state."""
        sign, words = _WORDS[self.state]
        return f"{sign} {self.exercise} {words}"

    def __repr__(self) -> str:
        return f"{self.heading}: {self.text.replace('`', '')}"

    def _repr_markdown_(self) -> str:
        return f"> **{self.heading}.** {self.text}"
