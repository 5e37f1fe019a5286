"""Questions of earlier lessons that come back after days and weeks: `lessons.review`."""

from __future__ import annotations

import html
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path

from .._util.arguments import as_int
from .._util.display import display
from ..errors import PtxlabError, counted, quoted, wrapped
from ..question import Question, Reply, Unanswered, Verdict, with_code
from ..views.palette import RULE
from .answers import plain
from .progress_record import Entry, keep, recorded
from .syllabus import LESSONS, Lesson

#: Days until a question of each box comes back.
INTERVALS = (1, 3, 7, 21, 60)
_COUNT = 5  # questions of a review by default
_BOX = f"border:1px solid {RULE};border-radius:6px;padding:6px 12px;margin:6px 0;max-width:44em"


@lru_cache(maxsize=1)
def questions() -> dict[str, tuple[Question, ...]]:
    """The questions of each lesson, by the lesson's name in the syllabus.

    >>> questions()["shared-memory-and-banks"][0].text
    'In which bank of shared memory is the 4-byte word at byte 400?'
    """
    text = Path(__file__).with_name("review.toml").read_text(encoding="utf-8")
    return {
        lesson["slug"]: tuple(_question(**row) for row in lesson["question"])
        for lesson in tomllib.loads(text)["lesson"]
    }


def _question(name: str, text: str, answer: float | str | list[str], reason: str) -> Question:
    answers = tuple(answer) if isinstance(answer, list) else (answer,)

    def judge(given: object) -> Reply:
        given = plain(given)
        if isinstance(answers[0], str):
            right = _words(given) in map(_words, answers)
        else:
            right = _number(given) == answers[0]
        return Reply(right, reason if right else f"The answer is {_shown(answers[0], text)}. {reason}")

    return Question(name, judge, text, answers, reason)


def _number(given: object) -> float:
    if isinstance(given, str):
        text = given.strip().replace(",", "").replace("_", "")
        for read in (partial(int, base=0), float):
            try:
                return read(text)
            except ValueError:
                pass
        raise Unanswered("Write a number, such as 12, 1.5 or 0b0110.")
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    raise Unanswered(f"Give a number; found {quoted(given)}.")


def _words(given: object) -> str:
    if not isinstance(given, str):
        raise Unanswered(f"Give a word or a name as text; found {quoted(given)}.")
    words = " ".join(given.replace("`", "").split()).strip(" .;").lower()
    if not words:
        raise Unanswered("Write a word or a name.")
    return words


def _shown(answer: float | str, text: str) -> str:
    if isinstance(answer, int) and "0b" in text:
        return f"`0b{answer:04b}`"
    return f"`{answer}`" if isinstance(answer, str) else f"{answer:,}"


# -- when a question is due ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Card:
    """A question with the day on which it is due."""

    lesson: Lesson
    number: int  # among those of its lesson
    question: Question
    due: date


def _today() -> date:
    return date.today()


def _key(question: Question) -> str:
    """The name of a question in the reader's record."""
    return f"review: {question.name}"


def _cards(entries: dict[str, Entry]) -> list[_Card]:
    """The questions of all finished lessons, the next ones first.

    A question that was never asked is due today. Those that wait longest come first; new ones come by turns,
    one of each lesson.
    """
    right = {name for name, entry in entries.items() if entry["state"] == "right"}
    cards = []
    for lesson in LESSONS:
        exercises = [exercise.name for exercise in lesson.exercises]
        if exercises and len(right.intersection(exercises)) * 2 >= len(exercises):
            for number, question in enumerate(questions().get(lesson.slug, ())):
                key = _key(question)
                due = _day(entries[key].get("due")) if key in entries else None
                cards.append(_Card(lesson, number, question, due or _today()))
    return sorted(cards, key=lambda card: (card.due, card.number, card.lesson.number))


def _day(text: object) -> date | None:
    """A day as the record has it; None where somebody has written something else there."""
    try:
        return date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _file_answer(question: Question, right: bool, day: date, entries: dict[str, Entry]) -> bool:
    """Move a question to its next box, or back to the first one."""
    before = entries.get(_key(question), {"state": "wrong", "tries": 0})
    box = before.get("box", 0)
    box = min(box + 1, len(INTERVALS)) if right and type(box) is int and box >= 0 else 1
    entries[_key(question)] = {
        **before,
        "state": "right" if right else "wrong",
        "tries": before["tries"] + 1,
        "box": box,
        "due": (day + timedelta(INTERVALS[box - 1])).isoformat(),
    }
    return True


# -- a review ------------------------------------------------------------------------------------------------


class Review:
    """Questions that are due, one after the other; `lessons.review` gives it.

    A notebook shows a field for the answer. `answer` does the same in code, and shows the next question.
    """

    def __init__(self, cards: Iterable[_Card], nothing: str) -> None:
        self._cards = tuple(cards)
        self._nothing = nothing  # why there is no question
        self.verdicts: list[Verdict] = []

    @property
    def question(self) -> str:
        """What is asked now; "" at the end."""
        return "" if self._card is None else self._card.question.text

    @property
    def _card(self) -> _Card | None:
        return self._cards[len(self.verdicts)] if len(self.verdicts) < len(self._cards) else None

    def answer(self, answer: object) -> Verdict:
        """Answer the question. The verdict is recorded and says what is right; the next question follows.

        An answer that cannot be read does not count.
        """
        card = self._card
        if card is None:
            raise PtxlabError("this review is over; lessons.review() starts another")
        verdict = card.question.check(answer)
        if verdict.state != "not yet":
            self.verdicts.append(verdict)
            keep(partial(_file_answer, card.question, bool(verdict), _today()))
        return verdict

    @property
    def heading(self) -> str:
        """Which question it is, and of which lesson; at the end, how many answers were right."""
        if self._card is not None:
            number = f"Question {len(self.verdicts) + 1} of {len(self._cards)}"
            return f"{number}, from {self._card.lesson.file}"
        if not self._cards:
            return self._nothing
        right = f"{sum(map(bool, self.verdicts))} of {len(self._cards)} right."
        try:
            due = min(card.due for card in _cards(recorded()))
        except (PtxlabError, ValueError):  # no file that could be read; no lesson, after `forget`
            return right
        when = "More questions are due today." if due <= _today() else f"The next question is due on {due}."
        return f"{right} {when}"

    def __repr__(self) -> str:
        if self._card is None:
            return wrapped(self.heading)
        question = wrapped(self.question.replace("`", ""))
        return f"{self.heading}\n{question}\nTo answer: review = lessons.review(); review.answer(...)"

    def _repr_html_(self) -> str:
        return f'<div style="{_BOX}"><b>{html.escape(self.heading)}</b><br>{with_code(self.question)}</div>'

    def _ipython_display_(self) -> None:
        if self._card is None or find_spec("ipywidgets") is None:
            raise NotImplementedError  # IPython shows the text
        display(self, "widget")._ipython_display_()


def review(count: int = _COUNT) -> Review:
    """Questions from lessons that you have finished: those that are due today, at most `count` of them.

    A lesson counts as finished when half of its exercises are right. Each of its questions comes back after
    1, 3, 7, 21 and then every 60 days; a wrong answer starts it again at 1. That is a Leitner system
    (Sebastian Leitner, "So lernt man lernen", Herder 1972). The days are kept where the progress is.

    >>> from ptxlab import lessons
    >>> lessons.forget()
    >>> lessons.review()
    Questions come from lessons in which half of the exercises are right. There is none yet.
    """
    count = as_int(count, "count")
    if count < 1:
        raise PtxlabError(f"count: found {quoted(count)}; a review has at least 1 question")
    cards = _cards(recorded())
    due = [card for card in cards if card.due <= _today()]
    if not cards:
        nothing = "Questions come from lessons in which half of the exercises are right. There is none yet."
    else:
        number = counted(len(cards), "question")
        nothing = f"No question is due. The next one of {number} is due on {cards[0].due}."
    return Review(due[:count], nothing)
