"""What a question is: a prompt to show, a solution, and a verdict on an answer. `questions` has its kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from .._util.arguments import as_text
from ..errors import PtxlabError, quoted
from .question_text import NamedCell, draw_cell, read_cell
from .state import ExplorerState


@dataclass(frozen=True)
class Prompt:
    """What is shown while a question is open: cells to mark, cells to hide, a lane and an element of it."""

    text: str
    hint: str
    takes: Literal["register", "cell", "text", "numbers", "words"]  # what answers it beside typed text
    marked: tuple[NamedCell, ...] = ()
    masked: tuple[NamedCell, ...] = ()
    lane: int | None = None
    element: tuple[str, int] | None = None  # operand and index
    example: str = ""  # of what to type; that of `takes` if it is empty


@dataclass(frozen=True)
class Solution:
    """Every right answer as a text, the best first; why; and the cells to light."""

    answers: tuple[str, ...]
    explanation: str
    cells: tuple[NamedCell, ...]

    def __post_init__(self) -> None:
        """Explanations are sentences, also of compressed A."""
        sentence = self.explanation[:1].upper() + self.explanation[1:]
        object.__setattr__(self, "explanation", sentence)


@dataclass(frozen=True)
class QuizVerdict:
    """Whether an answer is right, the sentence for it, the cells that are right and those that it named."""

    right: bool
    sentence: str
    cells: tuple[NamedCell, ...]
    chosen: tuple[NamedCell, ...] = ()
    skipped: bool = False


class Reading(NamedTuple):
    """An answer as it was understood: right or not, what it names in words, and the cells."""

    right: bool
    words: str = ""
    chosen: tuple[NamedCell, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question; subclasses say what it is about."""

    kind: ClassVar[str]

    @property
    def text(self) -> str:
        """The question as a teacher writes it; `parse_question` reads it back."""
        raise NotImplementedError

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        """The matrices of an instruction that it can be asked about; none where it makes no sense."""
        raise NotImplementedError

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Question:
        """A random question about a matrix."""
        raise NotImplementedError

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Question:
        """The question with this target."""
        raise NotImplementedError

    def prompt(self, state: ExplorerState) -> Prompt:
        """What to ask, or a refusal where there is no such thing to ask about."""
        raise NotImplementedError

    def solution(self, state: ExplorerState) -> Solution:
        """The answers, computed from the state."""
        raise NotImplementedError

    def _read(self, state: ExplorerState, answer: str) -> Reading:
        raise NotImplementedError

    def check(self, state: ExplorerState, answer: str) -> QuizVerdict:
        """Judge an answer; one that cannot be read is refused, and is not wrong.

        >>> import ptxlab
        >>> from ptxlab.explorer.questions import Where
        >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
        >>> print(Where("A", 9, 37).check(state, "lane 4 register 2").sentence)
        No: register 2 of lane 4 holds A[1][32..39]. A[9][37] is a29 of lane 4: register 3, bits 23..20. \
Lane 4 starts at A[1][0]; a29 is 8 rows down and 37 columns right of that.
        """
        reading = self._read(state, as_text(answer, "answer"))
        solution = self.solution(state)
        if reading.right:
            return QuizVerdict(True, f"Right. {solution.explanation}", solution.cells)
        start = f"No: {reading.words}." if reading.words else "No."
        return QuizVerdict(False, f"{start} {solution.explanation}", solution.cells, reading.chosen)


@dataclass(frozen=True)
class MatrixQuestion(Question):
    """A question about a cell of any matrix."""

    name: str
    row: int
    column: int

    @property
    def cell(self) -> NamedCell:
        return NamedCell(self.name, self.row, self.column)

    @property
    def text(self) -> str:
        return f"{self.kind} {self.cell}"

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        return cls(*draw_cell(state, random, name))

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Self:
        return cls(*read_cell(state, text))


@dataclass(frozen=True)
class CellQuestion(Question):
    """A question about a cell of one matrix, D unless a subclass says otherwise."""

    matrix: ClassVar[str] = "D"
    about: ClassVar[str] = "this question is about a cell of D, such as {kind} D[3][5]"
    row: int
    column: int

    @property
    def cell(self) -> NamedCell:
        return NamedCell(self.matrix, self.row, self.column)

    @property
    def text(self) -> str:
        return f"{self.kind} {self.cell}"

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        _, row, column = draw_cell(state, random, cls.matrix)
        return cls(row, column)

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Self:
        cell = read_cell(state, text, cls.matrix)
        if cell.name != cls.matrix:
            raise PtxlabError(f"found {quoted(text)}; {cls.about.format(kind=cls.kind)}")
        return cls(cell.row, cell.column)
