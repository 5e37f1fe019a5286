"""A question of the quiz: what the screen shows of it, and how cells are named in questions and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._util.arguments import as_index
from ..errors import PtxlabError, listing, quoted
from ..question import Question
from ..views.labels import index_range
from .state import ExplorerState

_PUNCTUATION = r"[\s\[\](),;:]*"
_CELL = re.compile(
    rf"(compressed a|[a-z]+)?{_PUNCTUATION}(?:row)?{_PUNCTUATION}(\d+){_PUNCTUATION}"
    rf"(?:chunk|column|col)?{_PUNCTUATION}(\d+){_PUNCTUATION}"
)
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

    takes: Literal["register", "cell", "text", "numbers", "words"]  # what the page accepts beside typed text
    marked: tuple[NamedCell, ...] = ()
    masked: tuple[NamedCell, ...] = ()
    lane: int = -1
    element: str = ""
    cells: tuple[NamedCell, ...] = ()  # where the answer is seen: those of the question if not given

    def __post_init__(self) -> None:
        """Capitalise the reason, which may begin with "compressed A"."""
        object.__setattr__(self, "reason", self.reason[:1].upper() + self.reason[1:])
        object.__setattr__(self, "cells", self.cells or self.marked)

    def serialised(self) -> dict[str, Any]:
        """What the page shows while the question is open: nothing of its solution."""
        return {
            "kind": self.name.partition(" ")[0],
            "text": self.text,
            "hint": self.hint,
            "takes": self.takes,
            "marked": cells_as_dicts(self.marked),
            "masked": cells_as_dicts(self.masked),
            "lane": self.lane,
            "element": self.element,
            "example": self.example,
        }


class Kind(NamedTuple):
    """Makes a kind of questions of texts; knows the matrices to ask about, and draws a text about one."""

    ask: Callable[[ExplorerState, str], QuizQuestion]
    names: Callable[[ExplorerState], tuple[str, ...]]
    draw: Callable[[ExplorerState, np.random.Generator, str], object]


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
    match = _CELL.fullmatch(plain_text(text))
    if not match or not (match[1] or default):
        example = {"E": "E[9] chunk 4"}.get(default, f"{default or 'A'}[9][37]")
        raise PtxlabError(f"found {quoted(text.strip())}; name a cell, such as {example}")
    name = matrix_name(state, match[1]) if match[1] else default
    rows, columns = state.operation.operand(name).shape
    label = f"{matrix_label(name)}: "
    row = as_index(int(match[2][:9]), "row", rows, label)
    column = as_index(int(match[3][:9]), "chunk" if name == "E" else "column", columns, label)
    if only and name != default:
        raise PtxlabError(f"found {quoted(text)}; {only}")
    return NamedCell(name, row, column)


def cells_words(cells: Sequence[NamedCell]) -> str:
    """Cells as ranges of rows, ``A[1][32..39]``; of many ranges only the first two and the last."""
    ranges: list[list[NamedCell]] = []
    for cell in cells:
        last = ranges[-1][-1] if ranges else None
        if last and (last.row, last.column + 1) == (cell.row, cell.column):
            ranges[-1].append(cell)
        else:
            ranges.append([cell])
    shown = [
        f"{matrix_label(run[0].name)}[{run[0].row}][{index_range(run[0].column, len(run))}]" for run in ranges
    ]
    if len(shown) <= 4:
        return ", ".join(shown)
    return f"{shown[0]}, {shown[1]}, …, {shown[-1]}"


def cells_as_dicts(cells: Sequence[NamedCell]) -> list[dict[str, Any]]:
    return [cell._asdict() for cell in cells]
