"""A question of the quiz: what the screen shows of it, and how cells are named in questions and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._util.arguments import as_index
from ...errors import PtxlabError, listing, quoted
from ...question import Question
from ...views.labels import index_range
from ..state import ExplorerState

_PUNCTUATION = r"[\s\[\](),;:]*"
_MATRIX = "(compressed a|[a-z]+)"
_NUMBERS = rf"{_PUNCTUATION}(?:row)?{_PUNCTUATION}(\d+){_PUNCTUATION}(?:chunk|column|col)?{_PUNCTUATION}(\d+)"
_CELL, _NAMED_CELL = (f"{matrix}{_NUMBERS}{_PUNCTUATION}" for matrix in (f"{_MATRIX}?", _MATRIX))
_LANE_OF_WARP = re.compile(r"lane (\d+) of warp (\d+)(?: \(thread \d+\))?")
_ALIASES = {"compressed a": "stored", "stored": "stored", "metadata": "E"}


class NamedCell(NamedTuple):
    """A cell of a matrix; `stored` is the compressed A of a sparse instruction."""

    name: str
    row: int
    column: int

    def __str__(self) -> str:
        if self.name == "E":
            return f"E[{self.row}] chunk {self.column}"
        return f"{matrix_label(self.name)}[{self.row}][{self.column}]"


@dataclass(frozen=True, kw_only=True)
class QuizQuestion(Question):
    """A question about the matrices on the screen; its name is the text that asks it again."""

    takes: str = ""  # what the page accepts beside typed text
    marked: tuple[NamedCell, ...] = ()
    masked: tuple[NamedCell, ...] = ()
    lane: int = -1
    element: str = ""
    cells: tuple[NamedCell, ...] = ()  # where the answer is seen: those of the question if not given

    def serialised(self) -> dict[str, Any]:
        """What the page shows while the question is open: nothing of its solution."""
        shown = ("text", "hint", "takes", "marked", "masked", "lane", "element", "example")
        return {"kind": self.name.partition(" ")[0], **{name: plain(getattr(self, name)) for name in shown}}


class QuestionKind(NamedTuple):
    """A kind of questions: the matrices it can ask about, how a text about one is drawn, how a text is asked.

    Hint and example are those of a question that has none of its own.
    """

    names: Callable[[ExplorerState], tuple[str, ...]]
    draw: Callable[[ExplorerState, np.random.Generator, str], object]
    make: Callable[[ExplorerState, str], QuizQuestion]
    takes: Literal["register", "cell", "text", "numbers", "words"]
    hint: str = ""
    example: str = ""

    def ask(self, state: ExplorerState, target: str) -> QuizQuestion:
        """Ask about the target of a text; refused if the matrices do not have it."""
        question = self.make(state, target)
        reason = question.reason[:1].upper() + question.reason[1:]  # it may begin with "compressed A"
        hint, example = question.hint or self.hint, question.example or self.example
        cells = question.cells or question.marked
        return replace(question, takes=self.takes, hint=hint, example=example, reason=reason, cells=cells)


def draw_cell(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    rows, columns = state.operation.operand(name).shape
    return NamedCell(name, int(random.integers(rows)), int(random.integers(columns)))


# -- cells in texts --------------------------------------------------------------------------------------


def plain_text(text: str) -> str:
    """Lower case with single spaces, and a warp before its lane.

    >>> plain_text("Lane 10 of warp 1 (thread 42) a3")
    'warp 1 lane 10 a3'
    """
    return _LANE_OF_WARP.sub(r"warp \2 lane \1", " ".join(text.lower().split()))


def match_text(pattern: str | re.Pattern[str], text: str, expected: str) -> re.Match[str]:
    """The match of a whole text in `plain_text`; any other text is refused with what was expected."""
    match = re.fullmatch(pattern, plain_text(text))
    if not match:
        raise PtxlabError(f"found {quoted(text.strip())}; {expected}")
    return match


def matrix_label(name: str) -> str:
    return "compressed A" if name == "stored" else name


def matrix_name(state: ExplorerState, word: str) -> str:
    name = _ALIASES.get(word, word.upper())
    if name == "C":
        raise PtxlabError("C has the registers of D; ask about D")
    if name not in state.operation.names:
        labels = [matrix_label(matrix) for matrix in state.operation.names if matrix != "C"]
        raise PtxlabError(f"there is no matrix {quoted(word.upper())}; there are {listing(labels)}")
    return name


def read_cell(state: ExplorerState, text: str, default: str = "", only: str = "") -> NamedCell:
    """A cell by its name; with a default matrix, two numbers suffice. `only` says what refuses other ones."""
    example = "E[9] chunk 4" if default == "E" else f"{default or 'A'}[9][37]"
    match = match_text(_CELL if default else _NAMED_CELL, text, f"name a cell, such as {example}")
    word, *numbers = match.groups()
    name = matrix_name(state, word) if word else default
    label, along = f"{matrix_label(name)}: ", "chunk" if name == "E" else "column"
    sizes = zip(numbers, ("row", along), state.operation.operand(name).shape, strict=True)
    row, column = (as_index(int(number[:9]), axis, size, label) for number, axis, size in sizes)
    if only and name != default:
        raise PtxlabError(f"found {quoted(text)}; {only}")
    return NamedCell(name, row, column)


def cells_words(cells: Sequence[NamedCell]) -> str:
    """Cells as ranges of rows, ``A[1][32..39]``; of many ranges only the first two and the last."""
    runs: list[list[NamedCell]] = []
    for cell in cells:
        if runs and runs[-1][-1] == cell._replace(column=cell.column - 1):
            runs[-1].append(cell)
        else:
            runs.append([cell])
    words = [
        f"{matrix_label(run[0].name)}[{run[0].row}][{index_range(run[0].column, len(run))}]" for run in runs
    ]
    return ", ".join(words if len(words) <= 4 else [*words[:2], "…", words[-1]])


def plain(value: object) -> object:
    """What the page gets of a field: cells as dictionaries."""
    return [cell._asdict() for cell in value] if isinstance(value, tuple) else value
