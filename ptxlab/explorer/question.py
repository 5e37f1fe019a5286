"""Questions of the quiz: prompt, solution and verdict, and shared wording; `questions` has the kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index, as_text
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.dtypes import DType
from ..isa.location import Place
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..views.labels import index_range
from .instruction_info import bit_parts
from .parse_cell import format_value, parse
from .state import ExplorerState


@dataclass(frozen=True)
class Prompt:
    """What an open question shows: its text, cells to mark or hide, a lane and an element of it."""

    text: str
    hint: str
    takes: Literal["register", "cell", "text", "numbers", "words"]  # what the page accepts beside typed text
    marked: tuple[NamedCell, ...] = ()
    masked: tuple[NamedCell, ...] = ()
    lane: int | None = None
    element: tuple[str, int] | None = None  # operand and index
    example: str = ""  # of an answer; "" for the default of `takes`


@dataclass(frozen=True)
class Solution:
    """Every right answer as text, the best first; why it is right; and the cells to highlight."""

    answers: tuple[str, ...]
    explanation: str
    cells: tuple[NamedCell, ...]

    def __post_init__(self) -> None:
        """Capitalise the explanation, which may begin with "compressed A"."""
        sentence = self.explanation[:1].upper() + self.explanation[1:]
        object.__setattr__(self, "explanation", sentence)


@dataclass(frozen=True)
class QuizVerdict:
    """Whether an answer is right, a sentence, the right cells, and the cells that the answer named."""

    right: bool
    sentence: str
    cells: tuple[NamedCell, ...]
    chosen: tuple[NamedCell, ...] = ()
    skipped: bool = False


class ReadAnswer(NamedTuple):
    """A parsed answer: whether it is right, what it names in words, and the cells it names."""

    right: bool
    words: str = ""
    chosen: tuple[NamedCell, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question; a subclass for each kind."""

    kind: ClassVar[str]

    @property
    def text(self) -> str:
        """The question in the notation that `parse_question` reads."""
        raise NotImplementedError

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        """The matrices that this kind of question can be asked about; none where it makes no sense."""
        raise NotImplementedError

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Question:
        """A random question about a matrix."""
        raise NotImplementedError

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Question:
        """The question about a target given as text."""
        raise NotImplementedError

    def prompt(self, state: ExplorerState) -> Prompt:
        """What to show; refused if the target does not exist."""
        raise NotImplementedError

    def solution(self, state: ExplorerState) -> Solution:
        """The right answers, computed from the state."""
        raise NotImplementedError

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        raise NotImplementedError

    def check(self, state: ExplorerState, answer: str) -> QuizVerdict:
        """Judge an answer; an unreadable one is refused rather than wrong.

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


# -- cells, and how questions name places and numbers --------------------------------------------------


SELECTED = ("E", "SFA", "SFB")  # operands with copies, one of which a modifier selects


class NamedCell(NamedTuple):
    """A cell of a matrix; `stored` is the compressed A of a sparse instruction."""

    name: str
    row: int
    column: int

    def __str__(self) -> str:
        if self.name == "E":
            return f"E[{self.row}] chunk {self.column}"
        return f"{_label(self.name)}[{self.row}][{self.column}]"


# -- reading answers and targets -------------------------------------------------------------------------

_PUNCTUATION = r"[\s\[\](),;:]*"
_CELL = re.compile(
    rf"(compressed a|[a-z]+)?{_PUNCTUATION}(?:row)?{_PUNCTUATION}(\d+){_PUNCTUATION}"
    rf"(?:chunk|column|col)?{_PUNCTUATION}(\d+){_PUNCTUATION}"
)
_PLACE = re.compile(
    r"(?:warp (\d+)\W*)?(?:(?:lane|thread) ?)?(\d+)\W*(?:of )?(?:([a-z]+)\W+)?"
    r"(?:(?:register|reg|r) ?(\d+)|([a-z]+) ?(\d+))"
)
_LANE_OF_WARP = re.compile(r"lane (\d+) of warp (\d+)(?: \(thread \d+\))?")
_ALIASES = {"compressed a": "stored", "stored": "stored", "metadata": "E"}


def plain_text(text: str) -> str:
    """Lower case with single spaces, and a warp before its lane.

    >>> plain_text("Lane 10 of warp 1 (thread 42) a3")
    'warp 1 lane 10 a3'
    """
    return _LANE_OF_WARP.sub(r"warp \2 lane \1", " ".join(text.lower().split()))


def matrix_name(state: ExplorerState, word: str) -> str:
    name = _ALIASES.get(word, word.upper())
    if name == "C":
        raise PtxlabError("C has the registers of D; ask about D")
    if name not in state.operation.names:
        labels = [_label(each) for each in state.operation.names if each != "C"]
        raise PtxlabError(f"there is no matrix {quoted(word.upper())}; there are {listing(labels)}")
    return name


def read_cell(state: ExplorerState, text: str, default: str = "") -> NamedCell:
    """A cell by its name; with a default matrix, two numbers suffice."""
    match = _CELL.fullmatch(plain_text(text))
    if not match or not (match[1] or default):
        example = {"E": "E[9] chunk 4"}.get(default, f"{default or 'A'}[9][37]")
        raise PtxlabError(f"found {quoted(text.strip())}; name a cell, such as {example}")
    name = matrix_name(state, match[1]) if match[1] else default
    rows, columns = state.operation.operand(name).shape
    axis = "chunk" if name == "E" else "column"
    label = f"{_label(name)}: "
    row = as_index(int(match[2][:9]), "row", rows, label)
    return NamedCell(name, row, as_index(int(match[3][:9]), axis, columns, label))


def read_place(state: ExplorerState, operand: Operand, text: str) -> tuple[int, int, int | None]:
    """The lane, register and, if named, element of an answer; they must exist."""
    match = _PLACE.fullmatch(plain_text(text))
    letter = element_letter(operand.name)
    if not match:
        raise PtxlabError(
            f"found {quoted(text.strip())}; name a lane and a register, such as lane 14 register 0 or "
            f"lane 14 {letter}0"
        )
    warp, lane, named, register, letters, element = match.groups()
    for word in (named, letters):
        if word not in (None, letter):
            raise PtxlabError(f"found {quoted(text.strip())}; the question is about {letter.upper()}")
    index = lane_index(state, warp, lane)
    if register is not None:
        return index, as_index(int(register[:9]), "register", operand.registers, "this answer: "), None
    elements = operand.layout.elements if operand.layout else 0
    place = operand.place(index, as_index(int(element[:9]), "element", elements, "this answer: "))
    return place.lane, place.register, place.element


def lane_index(state: ExplorerState, warp: str | None, lane: str) -> int:
    if warp is None:
        return as_index(int(lane[:9]), "lane", state.ins.lanes)
    inside = as_index(int(lane[:9]), "lane", 32, "in a warp: ")
    return 32 * as_index(int(warp[:9]), "warp", state.ins.lanes // 32) + inside


def read_code(text: str, bits: int) -> int:
    """A code in binary or hexadecimal; as many digits 0 and 1 as it has bits need no prefix."""
    word = plain_text(text).replace(" ", "").replace("_", "")
    if re.fullmatch(rf"[01]{{{bits}}}", word):
        word = f"0b{word}"
    elif re.fullmatch(r"(?!0b)[0-9a-f]+", word):
        word = f"0x{word}"
    if not re.fullmatch(r"0x[0-9a-f]{1,32}|0b[01]{1,80}", word):
        raise PtxlabError(f"found {quoted(text.strip())}; type bits such as 0b0100, or hexadecimal: 0x4")
    code = int(word, 0)
    if code >> bits:
        raise PtxlabError(f"{quoted(text.strip())} does not fit {bits} bits; type 0b… or 0x…")
    return code


def same_value(dtype: DType, answer: str, code: int) -> bool:
    """Whether a typed number is the value of a code; -0 equals 0."""
    values = dtype.decode(np.array([parse(dtype, answer), code], dtype=dtype.code_type)).astype(np.float64)
    return bool(values[0] == values[1] or np.isnan(values).all())


# -- what is where ---------------------------------------------------------------------------------------


def _label(name: str) -> str:
    return "compressed A" if name == "stored" else name


def element_letter(name: str) -> str:
    """The letter of a matrix's elements: a for A and compressed A."""
    return "a" if name == "stored" else name.lower()


def in_registers(state: ExplorerState) -> tuple[str, ...]:
    """Matrices in registers, without C, which has the layout of D."""
    return tuple(
        name for name in ("A", "B", "D", "E", "SFA", "SFB")
        if name in state.operation.names
        and state.operation.operand(held_name(state, name)).space == "register"
    )  # fmt: skip


def held_name(state: ExplorerState, name: str) -> str:
    """The matrix that lanes hold: for a sparse A, the compressed one."""
    return "stored" if name == "A" and state.ins.sparse else name


def operand_in_registers(state: ExplorerState, name: str) -> Operand:
    operand = state.operation.operand(name)
    if operand.space == "tensor":
        raise PtxlabError(f"{_label(name)} is in tensor memory: no lane holds it")
    if operand.layout is None:
        raise PtxlabError(f"{_label(name)} is in shared memory: no lane holds it")
    return operand


def held_cell(state: ExplorerState, cell: NamedCell) -> NamedCell:
    """The cell that a lane holds: for a cell of a sparse A, its place in the compressed one."""
    if held_name(state, cell.name) == cell.name:
        return cell
    columns = np.flatnonzero(state.operation.stored_columns()[cell.row] == cell.column)
    if not columns.size:
        chunk, nibble = nibble_of(state, cell.row, cell.column)
        raise PtxlabError(
            f"{cell} is not stored: nibble 0b{nibble:04b} of chunk {chunk} keeps "
            f"{kept_words(state, cell.row, chunk)}"
        )
    return NamedCell("stored", cell.row, int(columns[0]))


def both_forms(state: ExplorerState, cell: NamedCell) -> tuple[NamedCell, ...]:
    """A cell of compressed A with its cell of dense A; any other cell alone."""
    if cell.name != "stored":
        return (cell,)
    column = int(state.operation.stored_columns()[cell.row, cell.column])
    return cell, NamedCell("A", cell.row, column)


def draw_cell(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    rows, columns = state.operation.operand(name).shape
    return NamedCell(name, int(random.integers(rows)), int(random.integers(columns)))


def draw_held(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    """A random cell that a lane holds."""
    cell = draw_cell(state, random, held_name(state, name))
    return both_forms(state, cell)[-1]


def selected_words(state: ExplorerState, name: str) -> str:
    operand = operand_in_registers(state, held_name(state, name))
    selected = operand.read_with(state.operation.copy_index(name))
    return f" for {selected}" if selected else ""


def lane_words(state: ExplorerState, lane: int) -> str:
    """A lane in full; those of a warpgroup are also threads."""
    if state.ins.lanes <= 32:
        return f"lane {lane}"
    return f"lane {lane % 32} of warp {lane // 32} (thread {lane})"


def short_lane(state: ExplorerState, lane: int) -> str:
    """A lane in short, as it is typed."""
    return f"lane {lane}" if state.ins.lanes <= 32 else f"thread {lane}"


def place_words(state: ExplorerState, cell: NamedCell, places: Sequence[Place]) -> str:
    """Where a cell is, and how that follows from the first cell of its lane."""
    operand, place = operand_in_registers(state, cell.name), places[0]
    letter = element_letter(cell.name)
    bits = f"bit {place.low}" if place.low == place.high else f"bits {place.high}..{place.low}"
    also = "".join(
        f" (and {letter}{other.element} of {short_lane(state, other.lane)})" for other in places[1:]
    )
    lane = lane_words(state, place.lane)
    sentence = f"{cell} is {letter}{place.element} of {lane}{also}: register {place.register}, {bits}."
    row, column = operand.coords()[place.lane, 0].tolist()
    down, right = cell.row - row, cell.column - column
    start, holder = NamedCell(cell.name, row, column), short_lane(state, place.lane)
    if not (down or right):
        return f"{sentence} It is where {holder} starts."
    along = "chunk" if cell.name == "E" else "column"
    steps = []
    if down:
        steps.append(f"{counted(abs(down), 'row')} {'down' if down > 0 else 'up'}")
    if right:
        steps.append(f"{counted(abs(right), along)} {'right' if right > 0 else 'left'}")
    return (
        f"{sentence} {holder.capitalize()} starts at {start}; {letter}{place.element} is "
        f"{' and '.join(steps)} {'of' if right else 'from'} that."
    )


def holder_words(state: ExplorerState, cell: NamedCell) -> str:
    """The lane that holds a cell, or why none does."""
    try:
        held = held_cell(state, cell)
        operand = operand_in_registers(state, held.name)
    except PtxlabError as error:
        return str(error)
    place = operand.where(held.row, held.column)[state.operation.copy_index(held.name)]
    return f"{cell} is {element_letter(cell.name)}{place.element} of {lane_words(state, place.lane)}"


def cells_words(cells: Sequence[NamedCell]) -> str:
    """Cells as ranges of rows, ``A[1][32..39]``; of many ranges only the first two and the last."""
    ranges: list[list[NamedCell]] = []
    for cell in cells:
        last = ranges[-1][-1] if ranges else None
        if last and (last.row, last.column + 1) == (cell.row, cell.column):
            ranges[-1].append(cell)
        else:
            ranges.append([cell])
    shown = [f"{_label(run[0].name)}[{run[0].row}][{index_range(run[0].column, len(run))}]" for run in ranges]
    if len(shown) <= 4:
        return ", ".join(shown)
    return f"{shown[0]}, {shown[1]}, …, {shown[-1]}"


# -- sparse A in words -----------------------------------------------------------------------------------


def check_sparse(state: ExplorerState) -> None:
    if not state.ins.sparse:
        raise PtxlabError(f"{state.ins.mnemonic} is dense: it has no metadata")


def nibble_of(state: ExplorerState, row: int, column: int) -> tuple[int, int]:
    """The chunk of a column of dense A, and its nibble."""
    structure = state.ins.structure
    chunk = column // structure.chunk if structure else 0
    return chunk, int(state.codes("E")[row, chunk])


def chunk_columns(state: ExplorerState, chunk: int) -> str:
    size = state.ins.structure.chunk if state.ins.structure else 1
    return index_range(chunk * size, size)


def columns_of_groups(state: ExplorerState, chunk: int, groups: Iterable[int]) -> list[int]:
    """The columns of dense A in these groups of a chunk."""
    structure = state.ins.structure
    if structure is None:
        return []
    starts = [chunk * structure.chunk + group * structure.group for group in groups]
    return [start + each for start in starts for each in range(structure.group)]


def kept_words(state: ExplorerState, row: int, chunk: int) -> str:
    """``A[9][32, 33]``: what the nibble of a chunk keeps."""
    nibble = int(state.codes("E")[row, chunk])
    columns = columns_of_groups(state, chunk, state.ins.nibbles[nibble])
    return f"A[{row}][{listing(columns)}]"


# -- numbers in words ------------------------------------------------------------------------------------


def factor_text(value: Any) -> str:
    text = format_value(value)
    return f"({text})" if text.startswith("-") else text


def nonzero_products(state: ExplorerState, row: int, column: int) -> list[tuple[Any, Any]] | None:
    """The factors of nonzero products; None where terms are not plain products."""
    ins = state.ins
    changed = any(value != getattr(Modifiers, name) for name, value in state.options.items()
                  if name.startswith(("scale_d", "imm_scale", "zero_column")))  # fmt: skip
    if ins.descriptor is not None:
        changed |= ins.descriptor.negate_a or ins.descriptor.negate_b
    if ins.scale_vec or ins.bit_op or changed:
        return None
    a, b = state.values("A")[row], state.values("B")[:, state.column_of_b(row, column)]
    return [(x, y) for x, y in zip(a, b, strict=True) if x != 0 and y != 0]


def product_counts(state: ExplorerState) -> NDArray[np.int64]:
    """The number of nonzero products of each cell of D."""
    ins = state.ins
    a, b = (state.values("A") != 0).astype(np.float32), (state.values("B") != 0).astype(np.float32)
    rows, columns = ins.d.shape
    if ins.mma_count == 1:
        first = state.operation.modifiers.column_shift
        return np.asarray(a @ b[:, first : first + columns], dtype=np.int64)
    counts = [
        [int(a[row] @ b[:, ins.column_of_b(row, column)]) for column in range(columns)] for row in range(rows)
    ]
    return np.array(counts, dtype=np.int64)


def other_value(state: ExplorerState, row: int, k: int) -> str:
    """Another value near that of a cell of A, exact in its type."""
    dtype = state.ins.a.dtype
    value = float(state.values("A")[row, k])
    for other in (value + 1, value - 1, 0.0, 1.0):
        text = format_value(other)
        try:
            decoded = float(dtype.decode(np.array([parse(dtype, text)], dtype=dtype.code_type))[0])
        except PtxlabError:
            continue
        if decoded == other != value:
            return text
    raise PtxlabError(f"A[{row}][{k}]: {dtype} has no value near {format_value(value)}")


def changeable(state: ExplorerState) -> NDArray[np.bool_]:
    """Cells of A whose change shows in D: small integers that are stored and meet a nonzero factor."""
    values = state.values("A").astype(np.float64)
    with np.errstate(invalid="ignore"):
        small = (np.abs(values) <= 64) & (values == np.round(values))
    if state.ins.sparse:
        stored = np.zeros(values.shape, dtype=np.bool_)
        np.put_along_axis(stored, state.operation.stored_columns(), True, axis=1)
        small &= stored & (values != 0)  # a stored zero may be stored elsewhere after a change
    products = np.split(small_factors(state), state.ins.mma_count, axis=1)  # the columns of B of each product
    rows = [np.tile(np.any(part, axis=1), (state.ins.m, 1)) for part in products]
    return np.asarray(small & np.concatenate(rows))


def small_factors(state: ExplorerState) -> NDArray[np.bool_]:
    """Cells of B that are not 0, and small enough for mental arithmetic."""
    factors = np.abs(state.values("B").astype(np.float64))
    return (factors > 0) & (factors <= 64)


def bits_words(dtype: DType, code: int) -> str:
    """The bits of a code by field; for a negative integer, how two's complement encodes it."""
    bits = f"{code:0{dtype.bits}b}"
    if not dtype.is_float:
        value = int(dtype.decode(np.array([code], dtype=dtype.code_type))[0])
        if value < 0:
            return f"0b{bits}, since {value} is stored as {value} + 2^{dtype.bits} = {code}"
        return f"0b{bits}"
    parts: list[str] = []
    at = 0
    for role, length in bit_parts(dtype):
        parts.append(f"{role} {bits[at : at + length]}")
        at += length
    return ", ".join(parts)
