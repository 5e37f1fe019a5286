"""A quiz without a widget: questions in turn, each answered or skipped, and the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._util.arguments import as_int, as_names, as_text, is_name
from ..errors import PtxlabError, listing, quoted
from .fills import check_seed
from .question import NamedCell, Question, QuizVerdict
from .questions import KINDS, draw_questions, kinds_of, parse_question
from .state import ExplorerState

QUESTIONS = 5  # of a quiz by default
MAX_QUESTIONS = 100


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that was answered, and whether the answer is right."""

    question: Question
    text: str
    right: bool


@dataclass(frozen=True)
class Score:
    """How many of the answered questions are right, and how many questions there are.

    >>> print(Score(right=4, answered=5, skipped=0, count=8))
    4 of 5
    """

    right: int = 0
    answered: int = 0
    skipped: int = 0
    count: int = 0
    answers: tuple[AnsweredQuestion, ...] = ()

    def __str__(self) -> str:
        return f"{self.right} of {self.answered}"


class Quiz:
    """Questions about the state of an Explorer; ``ex.quiz()`` makes and shows one.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> quiz = Quiz(state, choose_questions(state, ["where A[9][37]", "holds lane 14 d3"]))
    >>> quiz.question.text
    'where A[9][37]'
    >>> quiz.answer("lane 4 a29").right
    True
    >>> quiz.next()
    >>> quiz.answer("D[3][5]").right
    False
    >>> print(quiz.score)
    1 of 2
    """

    def __init__(
        self, state: ExplorerState, questions: Sequence[Question], changed: Callable[[], None] | None = None
    ) -> None:
        self.state = state
        self.ins = state.ins
        self.questions = tuple(questions)
        self.index = 0
        self.verdict: QuizVerdict | None = None  # on the answer to the current question
        self.problem = ""  # why the last text is no answer
        self._answers: list[AnsweredQuestion] = []
        self._skipped = 0
        self._changed = changed or (lambda: None)

    def __repr__(self) -> str:
        return f"<Quiz: {len(self.questions)} questions about {self.ins.mnemonic}, {self.score} right>"

    @property
    def question(self) -> Question | None:
        """The current question, open or answered; None at the end."""
        return self.questions[self.index] if self.index < len(self.questions) else None

    @property
    def score(self) -> Score:
        """The score so far."""
        answers = tuple(self._answers)
        right = sum(answer.right for answer in answers)
        return Score(right, len(answers), self._skipped, len(self.questions), answers)

    def answer(self, text: str) -> QuizVerdict:
        """Answer the question. An unreadable answer is refused and does not count."""
        question = self._open_question()
        try:
            self.verdict = question.check(self.state, text)
        except PtxlabError as error:
            self.problem = str(error)
            self._changed()
            raise
        self.problem = ""
        self._answers.append(AnsweredQuestion(question, text, self.verdict.right))
        self._changed()
        return self.verdict

    def skip(self) -> QuizVerdict:
        """Give up the question: its answer is shown, and it counts as neither right nor wrong."""
        solution = self._open_question().solution(self.state)
        self._skipped += 1
        self.problem = ""
        self.verdict = QuizVerdict(False, f"Skipped. {solution.explanation}", solution.cells, skipped=True)
        self._changed()
        return self.verdict

    def next(self) -> None:
        """Go on to the next question."""
        if self.question is None:
            raise PtxlabError("the quiz is over; ex.quiz() starts another")
        if self.verdict is None:
            self._skipped += 1
        self.index += 1
        self.verdict, self.problem = None, ""
        self._changed()

    def _open_question(self) -> Question:
        if self.question is None:
            raise PtxlabError("the quiz is over; ex.quiz() starts another")
        if self.verdict is not None:
            raise PtxlabError("this question has been answered; quiz.next() asks the next one")
        return self.question

    def drop_impossible(self) -> None:
        """Skip questions that an edit has made meaningless, e.g. about a cell that is no longer stored."""
        while self.question is not None and self.verdict is None:
            try:
                self.question.prompt(self.state)
                return
            except PtxlabError:
                self._skipped += 1
                self.index += 1

    def serialised(self) -> dict[str, Any]:
        """What the page shows; the solution is included only after a verdict."""
        score = self.score
        data: dict[str, Any] = {
            "number": self.index + 1,
            "count": len(self.questions),
            "right": score.right,
            "answered": score.answered,
            "problem": self.problem,
            "question": _serialised_prompt(self.question, self.state) if self.question else {},
            "verdict": {},
        }
        if self.verdict is not None:
            cells, chosen = _cells(self.verdict.cells), _cells(self.verdict.chosen)
            data["verdict"] = {**vars(self.verdict), "cells": cells, "chosen": chosen}
        return data


def _cells(cells: Sequence[NamedCell]) -> list[dict[str, Any]]:
    return [cell._asdict() for cell in cells]


def _serialised_prompt(question: Question, state: ExplorerState) -> dict[str, Any]:
    prompt = question.prompt(state)
    name, element = prompt.element or ("", -1)
    return {
        "kind": question.kind,
        "text": prompt.text,
        "hint": prompt.hint,
        "takes": prompt.takes,
        "marked": _cells(prompt.marked),
        "masked": _cells(prompt.masked),
        "lane": -1 if prompt.lane is None else prompt.lane,
        "element": f"{name.lower()}{element}" if prompt.element else "",
        "example": prompt.example,
    }


def saved_questions(state: ExplorerState, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Questions with their answers, for a page without Python."""
    saved = []
    for question in questions:
        solution = question.solution(state)
        saved.append(
            {
                "question": _serialised_prompt(question, state),
                "answers": list(solution.answers),
                "explanation": solution.explanation,
                "cells": _cells(solution.cells),
            }
        )
    return saved


def choose_questions(
    state: ExplorerState,
    questions: object = None,
    *,
    kinds: object = None,
    count: int | None = None,
    seed: int | None = None,
) -> tuple[Question, ...]:
    """The given questions, or random ones of some kinds.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> [question.text for question in choose_questions(state, kinds=["where", "holds"], count=2, seed=1)]
    ['where B[48][7]', 'holds lane 10 a20']
    >>> choose_questions(state, ["metadata"])
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 has no question 'metadata'; \
it can ask where, holds, change, code
    """
    random = np.random.default_rng(None if seed is None else check_seed(seed))
    if questions is not None:
        if kinds is not None or count is not None:
            raise PtxlabError("quiz takes either questions, or kinds and a count of random ones")
        return _checked_questions(state, questions, random)
    number = QUESTIONS if count is None else as_int(count, "count")
    if not 1 <= number <= MAX_QUESTIONS:
        raise PtxlabError(f"count: found {quoted(number)}; a quiz has 1 to {MAX_QUESTIONS} questions")
    possible = kinds_of(state)
    chosen = possible if kinds is None else as_names(kinds, "kinds")
    for kind in chosen:
        if not is_name(kind, KINDS):
            raise PtxlabError(f"kinds: found {quoted(kind)}; the kinds are {listing(KINDS)}")
        if not KINDS[kind].names(state):
            raise PtxlabError(
                f"kinds: {state.ins.mnemonic} has no {kind} to ask about; it can ask {listing(possible)}"
            )
    if not chosen:
        raise PtxlabError(f"kinds: found none; the kinds are {listing(KINDS)}")
    return draw_questions(state, chosen, number, random)


def _checked_questions(
    state: ExplorerState, questions: object, random: np.random.Generator
) -> tuple[Question, ...]:
    entries: Sequence[object] = ()
    if isinstance(questions, str | Question):
        entries = [questions]
    elif isinstance(questions, list | tuple):
        entries = questions
    if not 0 < len(entries) <= MAX_QUESTIONS:
        raise PtxlabError(
            f"questions: found {quoted(questions)}; they are a list of up to {MAX_QUESTIONS} texts such as "
            "where A[9][37], holds lane 14 d3"
        )
    checked: list[Question] = []
    for question in entries:
        if isinstance(question, Question):
            question.prompt(state)
            checked.append(question)
        else:
            checked.append(parse_question(state, as_text(question, "question"), random))
    return tuple(checked)
