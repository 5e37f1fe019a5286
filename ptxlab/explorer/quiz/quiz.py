"""A quiz without a widget: questions in turn, each answered or skipped, and the score."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._util.arguments import as_int, as_names, as_text, is_name
from ...errors import PtxlabError, error_prefix, listing, quoted
from ...isa.tcgen05 import TensorInstruction
from ..documents.fills import check_seed
from ..state import ExplorerState
from . import register_questions, tensor_questions
from .quiz_question import NamedCell, QuestionKind, QuizQuestion, draw_cell, plain

QUESTIONS = 5  # of a quiz by default
MAX_QUESTIONS = 100


#: Every kind of question, by its name: its matrices, how it is drawn and asked, what it takes, its hint.
KINDS = {
    "where": QuestionKind(
        names=register_questions.in_registers,
        draw=register_questions.draw_where,
        make=register_questions.ask_where,
        takes="register",
    ),
    "holds": QuestionKind(
        names=register_questions.in_registers,
        draw=register_questions.draw_holds,
        make=register_questions.ask_holds,
        takes="cell",
    ),
    "word": QuestionKind(
        names=tensor_questions.in_tensor_memory,
        draw=draw_cell,
        make=tensor_questions.ask_word,
        takes="numbers",
    ),
    "thread": QuestionKind(
        names=tensor_questions.only_d,
        draw=tensor_questions.draw_thread,
        make=tensor_questions.ask_thread,
        takes="numbers",
        hint="Type the numbers.",
        example="thread … register …",
    ),
    "field": QuestionKind(
        names=tensor_questions.fields_to_ask,
        draw=tensor_questions.draw_field,
        make=tensor_questions.ask_field,
        takes="words",
        hint="Type what the field stands for, not its bits: a number, or a type. Where fields are, the "
        "descriptor on the screen tells.",
        example="64, f16 …",
    ),
    "reach": QuestionKind(
        names=tensor_questions.only_d,
        draw=tensor_questions.draw_reach,
        make=tensor_questions.ask_reach,
        takes="numbers",
        hint="Type their numbers, the lowest first.",
        example="0, 1 …",
    ),
    "nibble": QuestionKind(
        names=lambda state: ("A",) if state.ins.sparse else (),
        draw=draw_cell,
        make=register_questions.ask_nibble,
        takes="cell",
        hint="Click it beside compressed A, or type its row and its chunk.",
        example="row … chunk …",
    ),
    "metadata": QuestionKind(
        names=lambda state: ("E",) if state.ins.sparse else (),
        draw=draw_cell,
        make=register_questions.ask_metadata,
        takes="text",
        hint="Type its four bits.",
    ),
    "value": QuestionKind(
        names=lambda state: ("D",) if state.chip_choice.has_result else (),
        draw=register_questions.draw_value,
        make=register_questions.ask_value,
        takes="text",
        hint="Type the number.",
    ),
    "change": QuestionKind(
        names=lambda state: (
            ("A",) if state.chip_choice.has_result and register_questions.changeable(state).any() else ()
        ),
        draw=register_questions.draw_change,
        make=register_questions.ask_change,
        takes="text",
        hint="Type the number.",
    ),
    "code": QuestionKind(
        names=register_questions.with_codes_to_ask,
        draw=register_questions.draw_code,
        make=register_questions.ask_code,
        takes="text",
        hint="Type them in binary (0b…) or hexadecimal (0x…).",
    ),
}
_SHORT = re.compile(rf"({'|'.join(KINDS)})\b(?: is\b| does\b)?[\s:]*(.*)", re.IGNORECASE | re.DOTALL)
_PHRASES = (("what does", "holds"), ("what is", "value"), ("which nibble", "nibble"))


@dataclass(frozen=True)
class ShortQuestion:
    """A question before it is asked: its kind and what it is about; what is right depends on the matrices.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> question = ShortQuestion("where", "A[9][13]")
    >>> question.ask(state).answers
    ('lane 6 register 3', 'lane 6 a7')
    >>> question.text
    'where A[9][13]'
    """

    kind: str
    target: str

    @property
    def text(self) -> str:
        """The question as teachers write it."""
        return f"{self.kind} {self.target}"

    def ask(self, state: ExplorerState) -> QuizQuestion:
        """Ask it about the matrices of a state; refused if they do not have what it is about."""
        return KINDS[self.kind].ask(state, self.target)


@dataclass(frozen=True)
class QuizVerdict:
    """Whether an answer is right, a sentence, the right cells, and the cells that the answer named."""

    right: bool
    sentence: str
    cells: tuple[NamedCell, ...]
    chosen: tuple[NamedCell, ...] = ()
    skipped: bool = False


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that was answered, and whether the answer is right."""

    question: ShortQuestion
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

    def after(self, answer: AnsweredQuestion) -> Score:
        """The score after another answer."""
        right, answers = self.right + answer.right, (*self.answers, answer)
        return replace(self, right=right, answered=len(answers), answers=answers)

    def after_skipped(self) -> Score:
        """The score after a skipped question."""
        return replace(self, skipped=self.skipped + 1)


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
        self,
        state: ExplorerState,
        questions: Sequence[ShortQuestion],
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.state = state
        self.questions = tuple(questions)
        self.index = 0
        self.score = Score(count=len(self.questions))
        self.verdict: QuizVerdict | None = None  # on the answer to the current question
        self.problem = ""  # why the last text is no answer
        self._asked: QuizQuestion | None = None  # about the matrices as they were
        self._changed = changed
        self.refresh()

    def __repr__(self) -> str:
        return f"<Quiz: {len(self.questions)} questions about {self.state.ins.mnemonic}, {self.score} right>"

    @property
    def question(self) -> ShortQuestion | None:
        """The current question, open or answered; None at the end."""
        return self.questions[self.index] if self.index < len(self.questions) else None

    def answer(self, text: str) -> QuizVerdict:
        """Answer the question. An unreadable answer is refused and does not count."""
        question = self._open_question()
        try:
            asked = self._asked = question.ask(self.state)
            reply = asked.judge(as_text(text, "answer"))
        except PtxlabError as error:
            self.problem = str(error)
            self._changed()
            raise
        start = "Right."
        if not reply.right:
            start = f"No: {reply.text}." if reply.text else "No."
        self.score = self.score.after(AnsweredQuestion(question, text, reply.right))
        return self._give(QuizVerdict(reply.right, f"{start} {asked.reason}", asked.cells, reply.cells))

    def skip(self) -> QuizVerdict:
        """Give up the question: its answer is shown, and it counts as neither right nor wrong."""
        asked = self._asked = self._open_question().ask(self.state)
        self.score = self.score.after_skipped()
        return self._give(QuizVerdict(False, f"Skipped. {asked.reason}", asked.cells, skipped=True))

    def _give(self, verdict: QuizVerdict) -> QuizVerdict:
        self.problem, self.verdict = "", verdict
        self._changed()
        return verdict

    def next(self) -> None:
        """Go on to the next question."""
        if self.verdict is None:
            self._open_question()
            self.score = self.score.after_skipped()
        self.index += 1
        self.verdict, self.problem = None, ""
        self.refresh()
        self._changed()

    def refresh(self) -> None:
        """Ask the open question about the matrices as they are now.

        Questions that an edit has made meaningless, e.g. about a cell that is no longer stored, are skipped.
        """
        while self.question is not None and self.verdict is None:
            try:
                self._asked = self.question.ask(self.state)
                break
            except PtxlabError:
                self.score = self.score.after_skipped()
                self.index += 1

    def _open_question(self) -> ShortQuestion:
        if self.question is None:
            raise PtxlabError("the quiz is over; ex.quiz() starts another")
        if self.verdict is not None:
            raise PtxlabError("this question has been answered; quiz.next() asks the next one")
        return self.question

    def serialised(self) -> dict[str, Any]:
        """What the page shows, with the solution only after a verdict."""
        verdict = {} if self.verdict is None else vars(self.verdict)
        return {
            "number": self.index + 1,
            "count": len(self.questions),
            "right": self.score.right,
            "answered": self.score.answered,
            "problem": self.problem,
            "question": self._asked.serialised() if self.question and self._asked else {},
            "verdict": {name: plain(value) for name, value in verdict.items()},
        }


def choose_questions(
    state: ExplorerState,
    questions: object = None,
    *,
    kinds: object = None,
    count: int | None = None,
    seed: int | None = None,
) -> tuple[ShortQuestion, ...]:
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
        entries = [questions] if isinstance(questions, str | ShortQuestion) else questions
        if not isinstance(entries, list | tuple) or not 0 < len(entries) <= MAX_QUESTIONS:
            raise PtxlabError(
                f"questions: found {quoted(questions)}; they are a list of up to {MAX_QUESTIONS} texts such "
                "as where A[9][37], holds lane 14 d3"
            )
        texts = [entry.text if isinstance(entry, ShortQuestion) else entry for entry in entries]
        return tuple(parse_question(state, as_text(text, "question"), random) for text in texts)
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


def kinds_of(state: ExplorerState) -> tuple[str, ...]:
    """The kinds of questions that make sense for an instruction and its matrices.

    "value" is among them only if some cell of D has few products to add.

    >>> import ptxlab
    >>> kinds_of(ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")))
    ('where', 'holds', 'change', 'code')
    """
    counts = register_questions.product_counts(state)
    is_quick = bool(((counts > 0) & (counts <= register_questions.FEW_PRODUCTS)).any())
    return tuple(kind for kind in KINDS if KINDS[kind].names(state) and (kind != "value" or is_quick))


def draw_questions(
    state: ExplorerState, kinds: Sequence[str], count: int, random: np.random.Generator
) -> tuple[ShortQuestion, ...]:
    """Random questions, cycling through the kinds; a repeated one is drawn again, up to 20 times."""
    order = [str(kind) for kind in random.permutation(list(kinds))]
    questions: list[ShortQuestion] = []
    for index in range(count):
        for _ in range(21):
            drawn = _draw(state, order[index % len(order)], random)
            if drawn not in questions:
                break
        questions.append(drawn)
    return tuple(questions)


def _draw(state: ExplorerState, kind: str, random: np.random.Generator, name: str = "") -> ShortQuestion:
    names = KINDS[kind].names(state)
    if not names or (name and name not in names):
        what = f"{kind} {name}".strip()
        takes = f"{kind} of {listing(names)}" if names else listing(kinds_of(state))
        raise PtxlabError(f"{state.ins.mnemonic} has no question {quoted(what)}; it can ask {takes}")
    return ShortQuestion(kind, str(KINDS[kind].draw(state, random, name or str(random.choice(names)))))


def parse_question(state: ExplorerState, text: str, random: np.random.Generator) -> ShortQuestion:
    """A question from a short text: ``where A[9][37]``, ``holds lane 14 d3``; without a target a random one.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> random = np.random.default_rng(0)
    >>> parse_question(state, "what does lane 14 hold?", random)
    ShortQuestion(kind='holds', target='lane 14 D')
    >>> parse_question(state, "where is it?", random)
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: question 'where is it?': found 'it'; name a cell, such as A[9][37]
    """
    words = " ".join(as_text(text, "question").split()).removesuffix("?").strip()
    for phrase, kind in _PHRASES:
        if words.lower().startswith(f"{phrase} "):
            words = kind + words[len(phrase) :]
    match = _SHORT.fullmatch(words)
    if not match:
        raise PtxlabError(
            f"found question {quoted(text)}; a question begins with {listing(KINDS)}, such as "
            "where A[9][37] or holds lane 14 d3"
        )
    kind, target = match[1].lower(), match[2].strip()
    if kind == "where" and isinstance(state.ins, TensorInstruction):
        kind = "word"  # its matrices are in tensor memory
    name = target.upper()
    if not target or name in state.operation.names:
        return _draw(state, kind, random, name)
    with error_prefix(f"question {quoted(text)}"):
        return ShortQuestion(kind, KINDS[kind].ask(state, target).name.removeprefix(f"{kind} "))


def saved_questions(state: ExplorerState, questions: Sequence[ShortQuestion]) -> list[dict[str, Any]]:
    """Questions with their answers, for a page without Python."""
    return [
        {
            "question": asked.serialised(),
            "answers": list(asked.answers),
            "explanation": asked.reason,
            "cells": plain(asked.cells),
        }
        for asked in (question.ask(state) for question in questions)
    ]
