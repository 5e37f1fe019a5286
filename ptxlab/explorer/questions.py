"""The kinds of questions about an instruction; those about tensor memory are in `tensor_questions`.

A question is a frozen dataclass with what it asks about. Its answer is computed: places from the operand's
layout, kept columns from the metadata, values of D by the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._util.arguments import as_index, as_text
from ..errors import PtxlabError, listing, located, quoted
from ..isa.location import Place
from ..isa.operation import Operation
from ..isa.tcgen05 import Tcgen05Mma
from ..numerics.emulate import codes_of_d
from ..numerics.trace import disabled_lane
from .instruction_info import accumulator_label
from .parse_cell import format_value, parse
from .question import (
    SELECTED,
    CellQuestion,
    MatrixQuestion,
    NamedCell,
    Prompt,
    Question,
    ReadAnswer,
    Solution,
    bits_words,
    both_forms,
    cells_words,
    changeable,
    check_sparse,
    chunk_columns,
    columns_of_groups,
    draw_held,
    element_letter,
    factor_text,
    held_cell,
    held_name,
    holder_words,
    in_registers,
    kept_words,
    lane_index,
    lane_words,
    matrix_name,
    nibble_of,
    nonzero_products,
    operand_in_registers,
    other_value,
    place_words,
    plain_text,
    product_counts,
    read_cell,
    read_code,
    read_place,
    same_value,
    selected_words,
    short_lane,
    small_factors,
)
from .refusals import with_codes
from .state import ExplorerState
from .tensor_questions import Field, Reach, Thread, Word

_FEW_PRODUCTS = 16  # few enough to add up by hand


# -- where is a cell, and what does a lane hold? ---------------------------------------------------------


@dataclass(frozen=True)
class Where(MatrixQuestion):
    """Which lane and register hold a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> Where("A", 9, 37).prompt(state).text
    'Which lane, and which of its registers, holds A[9][37]?'
    >>> Where("A", 9, 37).solution(state).answers
    ('lane 4 register 3', 'lane 4 a29')
    """

    kind = "where"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return in_registers(state)

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        return cls(*draw_held(state, random, name))

    def _places(self, state: ExplorerState) -> list[Place]:
        """The places that the instruction reads; several where a fragment holds copies."""
        cell = held_cell(state, self.cell)
        operand = operand_in_registers(state, cell.name)
        places = operand.where(cell.row, cell.column)
        if cell.name in SELECTED:
            return [places[state.operation.copy_index(cell.name)]]
        return places

    def prompt(self, state: ExplorerState) -> Prompt:
        self._places(state)
        selected = selected_words(state, self.name)
        holder = short_lane(state, 0).split()[0]
        return Prompt(
            f"Which {holder}, and which of its registers, holds {self.cell}{selected}?",
            f"Choose a {holder} and click its register, or type its name, as in the box.",
            "register",
            marked=(self.cell,),
        )

    def solution(self, state: ExplorerState) -> Solution:
        places = self._places(state)
        letter = element_letter(self.name)
        answers = [
            f"{short_lane(state, place.lane)} {text}"
            for place in places
            for text in (f"register {place.register}", f"{letter}{place.element}")
        ]
        held = held_cell(state, self.cell)
        cells = (self.cell,) if held == self.cell else (self.cell, held)
        via = ""
        if held != self.cell:
            chunk, nibble = nibble_of(state, self.row, self.column)
            via = f"Nibble 0b{nibble:04b} of chunk {chunk} keeps {self.cell}: "
        explanation = via + place_words(state, held, places)
        return Solution(tuple(dict.fromkeys(answers)), explanation, cells)

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        held = held_cell(state, self.cell)
        operand = operand_in_registers(state, held.name)
        lane, register, element = read_place(state, operand, answer)
        for place in self._places(state):
            if (lane, register) == (place.lane, place.register) and element in (None, place.element):
                return ReadAnswer(True)
        cells = [
            (place.element, NamedCell(held.name, row, column))
            for place, row, column in operand.holds(lane, register)
        ]
        if element is None:
            held_there = cells_words([cell for _, cell in cells])
            words = f"register {register} of {lane_words(state, lane)} holds {held_there}"
            return ReadAnswer(False, words, tuple(cell for _, cell in cells))
        named = dict(cells)[element]
        where = f"{element_letter(self.name)}{element} of {lane_words(state, lane)}"
        return ReadAnswer(False, f"{where} is {named}", (named,))


@dataclass(frozen=True)
class Holds(Question):
    """Which cell does a lane hold as an element? Without an element, any of its cells.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> Holds(14, "D", 3).prompt(state).text
    'Which cell of D does lane 14 hold as d3?'
    >>> print(Holds(14, "D", 3).check(state, "D[3][5]").sentence)
    No: D[3][5] is d1 of lane 14. D[11][5] is d3 of lane 14: register 3, bits 31..0. \
Lane 14 starts at D[3][4]; d3 is 8 rows down and 1 column right of that.
    """

    kind = "holds"
    lane: int
    name: str
    element: int | None = None

    @property
    def text(self) -> str:
        what = self.name if self.element is None else f"{element_letter(self.name)}{self.element}"
        return f"holds {'lane' if self.lane < 32 else 'thread'} {self.lane} {what}"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return in_registers(state)

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Holds:
        held = held_cell(state, draw_held(state, random, name))
        places = operand_in_registers(state, held.name).where(held.row, held.column)
        place = places[state.operation.copy_index(held.name)]
        return cls(place.lane, name, place.element)

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Holds:
        match = re.fullmatch(
            r"(?:warp (\d+)\W*)?(?:lane|thread) (\d+)\W*(?:([a-z]+) ?(\d+)?)?(?: hold)?", plain_text(text)
        )
        if not match:
            raise PtxlabError(
                f"found {quoted(text)}; ask what an element is, such as holds lane 14 d3, or what a lane "
                "holds, such as holds lane 14 D"
            )
        warp, lane, letters, element = match.groups()
        name = "D" if letters in (None, "hold") else matrix_name(state, letters)
        index = lane_index(state, warp, lane)
        if element is None:
            return cls(index, name)
        operand = operand_in_registers(state, held_name(state, name))
        elements = operand.layout.elements if operand.layout else 0
        return cls(index, name, as_index(int(element[:9]), "element", elements, f"{name}: "))

    def _held(self, state: ExplorerState) -> list[NamedCell]:
        name = held_name(state, self.name)
        operand = operand_in_registers(state, name)
        as_index(self.lane, operand.holder, operand.lanes)
        return [
            NamedCell(name, row, column)
            for place, row, column in operand.holds(self.lane)
            if self.element in (None, place.element)
        ]

    def prompt(self, state: ExplorerState) -> Prompt:
        self._held(state)
        lane = lane_words(state, self.lane)
        letter = element_letter(self.name)
        if self.element is None:
            return Prompt(
                f"Which cells of {self.name} does {lane} hold?",
                f"Click one of them, or type it: {self.name}[row][column].",
                "cell",
                lane=self.lane,
                example=f"{self.name}[row][column]",
            )
        return Prompt(
            f"Which cell of {self.name} does {lane} hold as {letter}{self.element}?",
            f"Click it, or type it: {self.name}[row][column].",
            "cell",
            lane=self.lane,
            element=(self.name, self.element),
            example=f"{self.name}[row][column]",
        )

    def solution(self, state: ExplorerState) -> Solution:
        cells = list(dict.fromkeys(self._held(state)))
        shown = [form for cell in cells for form in both_forms(state, cell)]
        if self.element is None:
            words = f"{lane_words(state, self.lane).capitalize()} holds {cells_words(cells)}."
        else:
            operand = operand_in_registers(state, cells[0].name)
            words = place_words(state, cells[0], [operand.place(self.lane, self.element)])
        dense = [str(form) for form in shown if form not in cells]
        if dense and self.element is not None:
            words += f" The metadata says that it is {dense[0]} of the dense matrix."
        return Solution(tuple(map(str, shown)), words, tuple(shown))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        cell = read_cell(state, answer, self.name)
        if cell in self.solution(state).cells:
            return ReadAnswer(True)
        return ReadAnswer(False, holder_words(state, cell), (cell,))


# -- sparse A --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nibble(CellQuestion):
    """Which metadata nibble decides about a cell of dense A?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> Nibble(9, 37).solution(state).answers
    ('E[9] chunk 4',)
    """

    kind = "nibble"
    matrix = "A"
    about = "a nibble decides about a cell of A, such as A[9][37]"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("A",) if state.ins.sparse else ()

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Self:
        check_sparse(state)
        return super().parse(state, text)

    def prompt(self, state: ExplorerState) -> Prompt:
        check_sparse(state)
        return Prompt(
            f"Which nibble of the metadata decides whether {self.cell} is stored?",
            "Click it beside compressed A, or type its row and its chunk.",
            "cell",
            marked=(self.cell,),
            example="row … chunk …",
        )

    def solution(self, state: ExplorerState) -> Solution:
        chunk, nibble = nibble_of(state, self.row, self.column)
        columns = chunk_columns(state, chunk)
        explanation = (
            f"Column {self.column} is in chunk {chunk} (columns {columns}), so E[{self.row}] chunk {chunk} "
            f"decides: 0b{nibble:04b} keeps {kept_words(state, self.row, chunk)}."
        )
        answer = NamedCell("E", self.row, chunk)
        return Solution((str(answer),), explanation, (answer, self.cell))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        cell = read_cell(state, answer, "E")
        chunk, _ = nibble_of(state, self.row, self.column)
        if cell == NamedCell("E", self.row, chunk):
            return ReadAnswer(True)
        if cell.name != "E":
            return ReadAnswer(False, f"{cell} is not a nibble", (cell,))
        columns = chunk_columns(state, cell.column)
        return ReadAnswer(False, f"{cell} is about columns {columns} of row {cell.row}", (cell,))


@dataclass(frozen=True)
class Metadata(CellQuestion):
    """What is the nibble of a chunk, given the columns that it keeps?"""

    kind = "metadata"
    matrix = "E"
    about = "name a nibble, such as E[9] chunk 4"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("E",) if state.ins.sparse else ()

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Self:
        check_sparse(state)
        cell = read_cell(state, text, "E")
        if cell.name == "A":
            return cls(cell.row, nibble_of(state, cell.row, cell.column)[0])
        return super().parse(state, text)

    def prompt(self, state: ExplorerState) -> Prompt:
        check_sparse(state)
        columns = chunk_columns(state, self.column)
        return Prompt(
            f"Which nibble keeps what is stored of A[{self.row}][{columns}]?",
            "Type its four bits.",
            "text",
            marked=(self.cell,),
            masked=(self.cell,),
        )

    def solution(self, state: ExplorerState) -> Solution:
        ins = state.ins
        nibble = int(state.codes("E")[self.row, self.column])
        groups = ins.nibbles[nibble]
        kept = f"E[{self.row}] chunk {self.column} keeps {kept_words(state, self.row, self.column)}"
        if ins.structure is not None and ins.structure.groups == 2:
            half = ("first", "second")[groups[0]]
            explanation = f"{kept}, the {half} of the two: 0b{nibble:04b}."
        else:
            what = "columns" if ins.structure is None or ins.structure.group == 1 else "pairs"
            explanation = (
                f"{kept}: of its {what} 0 to 3 those are {groups[0]} and {groups[1]}. {groups[1]} is 0b"
                f"{groups[1]:02b} in the two high bits, {groups[0]} is 0b{groups[0]:02b} in the two low "
                f"ones: 0b{nibble:04b}."
            )
        return Solution((f"0b{nibble:04b}", f"0x{nibble:x}"), explanation, (self.cell,))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        code = read_code(answer, 4)
        if code == int(state.codes("E")[self.row, self.column]):
            return ReadAnswer(True)
        groups = state.ins.nibbles.get(code)
        if groups is None:
            return ReadAnswer(False, f"0b{code:04b} is not a nibble that the instruction takes")
        columns = listing(columns_of_groups(state, self.column, groups))
        return ReadAnswer(False, f"0b{code:04b} would keep A[{self.row}][{columns}]")


# -- numbers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value(CellQuestion):
    """What is a cell of D?"""

    kind = "value"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("D",) if state.chip_choice.has_result else ()

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        """A cell with few nonzero products; if all have more, one with the fewest."""
        counts = product_counts(state)
        most = max(_FEW_PRODUCTS, int(counts[counts > 0].min()) if counts.any() else 0)
        cells = np.argwhere((counts > 0) & (counts <= most)) if counts.any() else np.argwhere(counts == 0)
        row, column = cells[random.integers(len(cells))].tolist()
        return cls(row, column)

    def prompt(self, state: ExplorerState) -> Prompt:
        return Prompt(
            f"What is {self.cell}?", "Type the number.", "text", marked=(self.cell,), masked=(self.cell,)
        )

    def solution(self, state: ExplorerState) -> Solution:
        value = format_value(state.values("D")[self.row, self.column])
        products = nonzero_products(state, self.row, self.column)
        accumulator = format_value(state.values("C")[self.row, self.column])
        b_column = state.column_of_b(self.row, self.column)
        explanation = f"{self.cell} = {value}: row {self.row} of A times column {b_column} of B"
        if products is not None and len(products) <= _FEW_PRODUCTS:
            terms = [f"{factor_text(a)}·{factor_text(b)}" for a, b in products] or ["0"]
            explanation += f" is {' + '.join(terms)}"
        modifiers = state.operation.modifiers
        if accumulator not in ("0", "-0") and modifiers.scale_d and modifiers.enable_input_d:
            scaled = f" / 2^{modifiers.scale_input_d}" if modifiers.scale_input_d else ""
            added = f"{accumulator_label(state.ins)}[{self.row}][{self.column}]"
            explanation += f", and {added} = {accumulator}{scaled} is added"
        if disabled_lane(state.operation, self.row, self.column) is not None:
            explanation = f"{self.cell} = {value}: disable-output-lane leaves it as it was"
        return Solution((value,), f"{explanation}.", (self.cell,))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        code = int(state.codes("D")[self.row, self.column])
        return ReadAnswer(same_value(state.ins.d.dtype, answer, code))


@dataclass(frozen=True)
class Change(Question):
    """What would a cell of D be if a cell of its row of A had another value?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> Change(9, 37, 2, "7").prompt(state).text
    'A[9][37] is 0, and D[9][2] is 190. What would D[9][2] be if A[9][37] were 7?'
    >>> Change(9, 37, 2, "7").solution(state).answers
    ('239',)
    """

    kind = "change"
    row: int
    k: int
    column: int
    to: str

    @property
    def text(self) -> str:
        return (
            f"change {NamedCell('A', self.row, self.k)} to {self.to} {NamedCell('D', self.row, self.column)}"
        )

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("A",) if state.chip_choice.has_result and changeable(state).any() else ()

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Change:
        cells, small = np.argwhere(changeable(state)), small_factors(state)
        row, k = cells[random.integers(len(cells))].tolist()
        columns = [
            column for column in range(state.ins.d.shape[1]) if small[k, state.column_of_b(row, column)]
        ]
        return cls(row, k, int(random.choice(columns)), other_value(state, row, k))

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Change:
        match = re.fullmatch(r"(a\W.*?) to (\S+?)\W* (d\W.*)", plain_text(text))
        if not match:
            raise PtxlabError(
                f"found {quoted(text)}; write it as change A[9][37] to 4 D[9][2]: a cell of A, its new "
                "value, and a cell of D in the same row"
            )
        before, to, after = match.groups()
        cell, result = read_cell(state, before), read_cell(state, after)
        if cell.row != result.row:
            raise PtxlabError(f"{cell} does not go into {result}; ask about a cell of row {cell.row} of D")
        question = cls(cell.row, cell.column, result.column, to)
        question._changed_operation(state)  # refuses a value that the type does not have
        return question

    def _changed_operation(self, state: ExplorerState) -> Operation:
        """The operation with the new value in A."""
        cell = NamedCell("A", self.row, self.k)
        held_cell(state, cell)
        codes = state.codes("A").copy()
        with located(str(cell)):
            codes[self.row, self.k] = parse(state.ins.a.dtype, self.to)
        written = np.zeros(codes.shape, dtype=np.bool_)
        written[self.row, self.k] = True
        return with_codes(state.operation, "A", codes, typed=written)

    def _code(self, state: ExplorerState) -> int:
        return int(codes_of_d(self._changed_operation(state), state.chip_choice.model)[self.row, self.column])

    def prompt(self, state: ExplorerState) -> Prompt:
        self._changed_operation(state)  # refuses a value that the type does not have
        cell, result = NamedCell("A", self.row, self.k), NamedCell("D", self.row, self.column)
        now, value = (format_value(state.values(each.name)[each.row, each.column]) for each in (cell, result))
        return Prompt(
            f"{cell} is {now}, and {result} is {value}. What would {result} be if {cell} were {self.to}?",
            "Type the number.",
            "text",
            marked=(cell, result),
        )

    def solution(self, state: ExplorerState) -> Solution:
        cell, result = NamedCell("A", self.row, self.k), NamedCell("D", self.row, self.column)
        factor = NamedCell("B", self.k, state.column_of_b(self.row, self.column))
        value = format_value(state.ins.d.dtype.decode(np.array([self._code(state)]))[0])
        now = format_value(state.values("D")[self.row, self.column])
        other = format_value(state.values("B")[factor.row, factor.column])
        meets = "is multiplied by" if state.ins.bit_op is None else f"meets ({state.ins.bit_op})"
        scaled = ", times their scale factors," if state.ins.scale_vec else ""
        explanation = (
            f"In {result}, {cell} {meets} {factor} = {other}{scaled} and no other term changes, so {result} "
            f"goes from {now} to {value}."
        )
        return Solution((value,), explanation, (result, cell, factor))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        return ReadAnswer(same_value(state.ins.d.dtype, answer, self._code(state)))


@dataclass(frozen=True)
class Code(MatrixQuestion):
    """Which bits stand for the value of a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> Code("A", 0, 0).prompt(state).text
    'Which 16 bits of f16 stand for A[0][0] = 2?'
    >>> Code("A", 0, 0).solution(state).explanation
    'A[0][0] = 2 is 0x4000: sign 0, exponent 10000, fraction 0000000000.'
    """

    kind = "code"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        matrices = state.operation
        return tuple(
            name for name in ("A", "B", "SFA", "SFB")
            if name in matrices.names and 1 < matrices.operand(name).dtype.bits <= 32
        )  # fmt: skip

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        cells = np.argwhere(state.codes(name) != 0)
        if not len(cells):
            return super().draw(state, random, name)
        row, column = cells[random.integers(len(cells))].tolist()
        return cls(name, row, column)

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Self:
        question = super().parse(state, text)
        if question.name == "E":
            raise PtxlabError(f"found {quoted(text)}; ask for a nibble with metadata {question.cell}")
        return question

    def _value(self, state: ExplorerState) -> str:
        return format_value(state.values(self.name)[self.row, self.column])

    def prompt(self, state: ExplorerState) -> Prompt:
        dtype = state.operation.operand(self.name).dtype
        bits = "Which bit" if dtype.bits == 1 else f"Which {dtype.bits} bits"
        stand = "stands" if dtype.bits == 1 else "stand"
        return Prompt(
            f"{bits} of {dtype} {stand} for {self.cell} = {self._value(state)}?",
            "Type them in binary (0b…) or hexadecimal (0x…).",
            "text",
            marked=(self.cell,),
        )

    def solution(self, state: ExplorerState) -> Solution:
        dtype = state.operation.operand(self.name).dtype
        code = int(state.codes(self.name)[self.row, self.column])
        binary, hexadecimal = f"0b{code:0{dtype.bits}b}", f"0x{code:0{-(-dtype.bits // 4)}x}"
        explanation = f"{self.cell} = {self._value(state)} is {hexadecimal}: {bits_words(dtype, code)}."
        return Solution((hexadecimal, binary), explanation, (self.cell,))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        dtype = state.operation.operand(self.name).dtype
        code = read_code(answer, dtype.bits)
        expected = int(state.codes(self.name)[self.row, self.column])
        ignored = (1 << dtype.ignored_bits) - 1
        if code | ignored == expected | ignored:
            return ReadAnswer(True)
        value = format_value(dtype.decode(np.array([code], dtype=dtype.code_type))[0])
        return ReadAnswer(False, f"0x{code:0{-(-dtype.bits // 4)}x} is {value}")


#: Every kind of question, by its name.
KINDS: dict[str, type[Question]] = {
    question.kind: question
    for question in (Where, Holds, Word, Thread, Field, Reach, Nibble, Metadata, Value, Change, Code)
}


# -- choosing questions ----------------------------------------------------------------------------------


def kinds_of(state: ExplorerState) -> tuple[str, ...]:
    """The kinds of questions that make sense for an instruction and its matrices.

    "value" is among them only if some cell of D has few products to add.

    >>> import ptxlab
    >>> kinds_of(ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")))
    ('where', 'holds', 'change', 'code')
    """
    counts = product_counts(state)
    is_quick = bool(((counts > 0) & (counts <= _FEW_PRODUCTS)).any())
    return tuple(
        kind for kind, question in KINDS.items() if question.names(state) and (kind != "value" or is_quick)
    )


def draw_questions(
    state: ExplorerState, kinds: Sequence[str], count: int, random: np.random.Generator
) -> tuple[Question, ...]:
    """Random questions, cycling through the kinds; a repeated one is drawn again, up to 20 times."""
    order = [str(kind) for kind in random.permutation(list(kinds))]
    questions: list[Question] = []
    for index in range(count):
        kind = order[index % len(order)]
        drawn = _draw(state, kind, random)
        for _ in range(20):
            if drawn not in questions:
                break
            drawn = _draw(state, kind, random)
        questions.append(drawn)
    return tuple(questions)


def _draw(state: ExplorerState, kind: str, random: np.random.Generator, name: str = "") -> Question:
    names = KINDS[kind].names(state)
    if not names or (name and name not in names):
        what = f"{kind} {name}".strip()
        takes = f"{kind} of {listing(names)}" if names else listing(kinds_of(state))
        raise PtxlabError(f"{state.ins.mnemonic} has no question {quoted(what)}; it can ask {takes}")
    return KINDS[kind].draw(state, random, name or str(random.choice(names)))


_SHORT = re.compile(rf"({'|'.join(KINDS)})\b(?: is\b| does\b)?[\s:]*(.*)", re.IGNORECASE | re.DOTALL)
_PHRASES = (("what does", "holds"), ("what is", "value"), ("which nibble", "nibble"))


def parse_question(state: ExplorerState, text: str, random: np.random.Generator) -> Question:
    """A question from a short text: ``where A[9][37]``, ``holds lane 14 d3``; without a target a random one.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> random = np.random.default_rng(0)
    >>> parse_question(state, "where A[9][13]", random)
    Where(name='A', row=9, column=13)
    >>> parse_question(state, "what does lane 14 hold?", random)
    Holds(lane=14, name='D', element=None)
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
    if kind == "where" and isinstance(state.ins, Tcgen05Mma):
        kind = "word"  # its matrices are in tensor memory
    name = target.upper()
    if not target or name in state.operation.names:
        return _draw(state, kind, random, name)
    with located(f"question {quoted(text)}"):
        question = KINDS[kind].parse(state, target)
        question.prompt(state)
    return question
