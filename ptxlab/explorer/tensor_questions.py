"""Questions about tcgen05: words of tensor memory, registers after a load, descriptors, warps and lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from .._util.arguments import as_index, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.instruction_descriptor import BitField, InstructionDescriptor
from ..isa.location import TensorPlace
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES, TensorOperand
from .question import (
    CellQuestion,
    MatrixQuestion,
    NamedCell,
    Prompt,
    Question,
    ReadAnswer,
    Solution,
    cells_words,
    plain_text,
)
from .state import ExplorerState
from .tensor_view import FIELD_MEANINGS, Load, field_of, field_text, find_load, slot_of

_WARP = 32
_NUMBERED = re.compile(r"(cta|lane|column|thread|register|r|of|[0-9\s,;:.])+")  # an answer with numbers
_ASKED = ("D", "A", "SFA", "SFB")  # operands to ask about; metadata has questions about nibbles


def _mma(state: ExplorerState) -> Tcgen05Mma:
    if not isinstance(state.ins, Tcgen05Mma):
        raise PtxlabError(f"{state.ins.mnemonic} has nothing in tensor memory; tcgen05.mma has")
    return state.ins


def _operand(state: ExplorerState, name: str) -> TensorOperand:
    ins, names = _mma(state), _in_tensor_memory(state)
    if not is_name(name, names):
        raise PtxlabError(f"{name} is not in tensor memory here; {listing(names)} is there to ask about")
    return ins.tensors[name]


def _in_tensor_memory(state: ExplorerState) -> tuple[str, ...]:
    """Operands in tensor memory; not a sparse A, whose cells are those of the dense matrix."""
    ins = state.ins
    if not isinstance(ins, Tcgen05Mma):
        return ()
    return tuple(name for name in _ASKED if name in ins.tensors and not (name == "A" and ins.sparse))


def _numbers(answer: str, count: int, example: str) -> tuple[int, ...]:
    """The numbers of an answer, with words such as "lane" between them."""
    numbers = re.findall(r"[0-9]+", answer)
    if len(numbers) != count or not _NUMBERED.fullmatch(answer.lower()):
        raise PtxlabError(f"found {quoted(answer.strip())}; type {example}")
    return tuple(int(number[:9]) for number in numbers)


def _cta(operand: TensorOperand, cta: int) -> str:
    return f"CTA {cta}, " if operand.ctas > 1 else ""


def rule_of_d(ins: Tcgen05Mma) -> str:
    """How the layout of D places its rows and columns in tensor memory.

    >>> import ptxlab
    >>> rule_of_d(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    'layout D has row r in lane r, column c in column c'
    """
    path = ins.path
    pair = "; rows of CTA 1 count from 0 again" if path.ctas == 2 else ""
    if path.halves:
        return f"layout {path.name} has row r in lane 32 (r // 16) + r % 16, column c in column c{pair}"
    if path.wide > 1:
        lanes, columns = LANES // path.wide, ins.d.columns
        return (
            f"layout {path.name} puts every {columns} columns into {lanes} other lanes, so column c is "
            f"in column c % {columns}, {lanes} (c // {columns}) lanes further down{pair}"
        )
    return f"layout {path.name} has row r in lane r, column c in column c{pair}"


@dataclass(frozen=True)
class Word(MatrixQuestion):
    """Which lane and column of tensor memory hold a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    >>> Word("D", 20, 3).prompt(state).text
    'Which lane and column of tensor memory hold D[20][3]?'
    >>> print(Word("D", 20, 3).check(state, "lane 20, column 3").sentence)
    No: lane 20, column 3 is free. D[20][3] is in lane 36, column 3: layout F has row r in lane \
32 (r // 16) + r % 16, column c in column c.
    """

    kind = "word"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return _in_tensor_memory(state)

    def _places(self, state: ExplorerState) -> list[TensorPlace]:
        return _operand(state, self.name).where(self.row, self.column)

    def prompt(self, state: ExplorerState) -> Prompt:
        self._places(state)
        operand = _operand(state, self.name)
        pair = operand.ctas > 1
        what = "CTA, lane and column" if pair else "lane and column"
        first = "" if self.name == "D" else f" Columns count from the first of {self.name}."
        return Prompt(
            f"Which {what} of tensor memory hold {self.cell}?",
            f"Type the numbers.{first}",
            "numbers",
            marked=(self.cell,),
            example="CTA … lane … column …" if pair else "lane … column …",
        )

    def solution(self, state: ExplorerState) -> Solution:
        operand, places = _operand(state, self.name), self._places(state)
        answers = tuple(f"{_cta(operand, at.cta)}lane {at.lane}, column {at.column}" for at in places)
        lanes = f"lane {places[0].lane}, column {places[0].column}"
        others = dict.fromkeys(f"{at.lane}" for at in places[1:] if at.cta == places[0].cta)
        copies = f", and again in lanes {', '.join(others)}" if others else ""
        copies += ", in both CTAs" if {at.cta for at in places} == {0, 1} else ""
        bits = "" if operand.dtype.bits == 32 else f", bits {places[0].high}..{places[0].low}"
        words = f"{self.cell} is in {_cta(operand, places[0].cta)}{lanes}{bits}{copies}"
        rule = f": {rule_of_d(_mma(state))}" if self.name == "D" else ""
        return Solution(answers, f"{words}{rule}.", (self.cell,))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        operand = _operand(state, self.name)
        count = 3 if operand.ctas > 1 else 2
        numbers = _numbers(answer, count, "CTA 0 lane 36 column 3" if count == 3 else "lane 36 column 3")
        cta, lane, column = numbers if count == 3 else (0, *numbers)
        as_index(lane, "lane", LANES, "this answer: ")
        as_index(cta, "cta", operand.ctas, "this answer: ")
        as_index(column, "column", 512, "this answer: ")
        if (cta, lane, column) in {(at.cta, at.lane, at.column) for at in self._places(state)}:
            return ReadAnswer(True)
        named = f"{_cta(operand, cta)}lane {lane}, column {column}"
        cells = [NamedCell(self.name, row, at) for row, at in operand.holds(lane, column, cta)]
        if not cells:
            return ReadAnswer(False, f"{named} is free")
        return ReadAnswer(False, f"{named} holds {cells_words(cells)}", tuple(cells))


@dataclass(frozen=True)
class Thread(CellQuestion):
    """Which thread gets a cell of D from the tcgen05.ld that is shown, and in which register?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    >>> Thread(20, 3).solution(state).answers
    ('thread 36 register 3',)
    """

    kind = "thread"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("D",) if isinstance(state.ins, Tcgen05Mma) else ()

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Self:
        ins, load = _mma(state), _load(state)
        rows, columns = ins.d.shape
        for _ in range(200):  # most loads read most of D
            question = cls(int(random.integers(rows)), int(random.integers(columns)))
            if slot_of(ins, load, question.row, question.column) is not None:
                return question
        row, column = _first_loaded(ins, load)
        return cls(row, column)

    def _thread_and_register(self, state: ExplorerState) -> tuple[int, int]:
        ins, load = _mma(state), _load(state)
        slot = slot_of(ins, load, self.row, self.column)
        if slot is None:
            raise PtxlabError(f"{load.form.mnemonic} from column {load.column} does not read {self.cell}")
        return slot

    def prompt(self, state: ExplorerState) -> Prompt:
        self._thread_and_register(state)
        load = _load(state)
        pair = "; the threads of CTA 1 count from 128" if _mma(state).cta_group == 2 else ""
        lane = f", lane {load.lane}" if load.lane else ""
        return Prompt(
            f"All four warps execute {load.form.mnemonic} from column {load.column}{lane} on. Which thread "
            f"gets {self.cell}, and in which of its registers?",
            f"Type the numbers{pair}.",
            "numbers",
            marked=(self.cell,),
            example="thread … register …",
        )

    def solution(self, state: ExplorerState) -> Solution:
        ins, load = _mma(state), _load(state)
        thread, register = self._thread_and_register(state)
        place = ins.d.where(self.row, self.column)[0]
        warp = place.lane // _WARP
        words = (
            f"{self.cell} is in {_cta(ins.d, place.cta)}lane {place.lane}, column {place.column}, which warp "
            f"{warp} reads; {load.form.shape} gives it to register {register} of thread {thread}, lane "
            f"{thread % _WARP} of that warp."
        )
        return Solution((f"thread {thread} register {register}",), words, (self.cell,))

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        ins, load = _mma(state), _load(state)
        thread, register = _numbers(answer, 2, "thread 49 register 1")
        as_index(thread, "thread", LANES * ins.cta_group, "this answer: ")
        as_index(register, "register", load.form.registers, "this answer: ")
        if (thread, register) == self._thread_and_register(state):
            return ReadAnswer(True)
        parts = load.form.layout.coords()[thread % _WARP].reshape(load.form.registers, -1, 2)
        lane, column = (parts[register, 0] + (load.lane, load.column)).tolist()
        lane += thread // _WARP * _WARP
        held = ins.d.holds(lane % LANES, column, lane // LANES)
        cells = tuple(NamedCell("D", row, at) for row, at in held)
        what = cells_words(cells) if cells else f"lane {lane % LANES}, column {column}, which is free"
        return ReadAnswer(False, f"register {register} of thread {thread} gets {what}", cells)


def _load(state: ExplorerState) -> Load:
    return find_load(_mma(state), state.load)


def _first_loaded(ins: Tcgen05Mma, load: Load) -> tuple[int, int]:
    """The row and column of the first element of D that a load reads."""
    words = load.form.layout.coords() + np.array((load.lane, load.column))
    for lane, column in words.reshape(-1, 2).tolist():
        held = ins.d.holds(lane, column)
        if held:
            return held[0]
    raise PtxlabError(f"{load.form.mnemonic} from column {load.column} reads nothing of D")


@dataclass(frozen=True)
class Field(Question):
    """What does a field of an instruction descriptor say?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    >>> Field("n", 0x04100490).prompt(state).text
    'A kernel passes the instruction descriptor 0x04100490 to kind::f16. What does it say for n?'
    >>> Field("n", 0x04100490).solution(state).explanation
    'Bits 22..17 are 0b001000 = 8: n is 64. Columns of B and D, in eights.'
    """

    kind = "field"
    name: str
    code: int

    #: Fields worth decoding.
    _FIELDS: ClassVar[tuple[str, ...]] = ("m", "n", "a", "b", "d", "scale", "scale_a_id", "scale_b_id")

    @property
    def text(self) -> str:
        return f"field {self.name} 0x{self.code:08x}"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        if not isinstance(state.ins, Tcgen05Mma):
            return ()
        known = {row.name for row in state.ins.descriptor.bit_fields}
        return tuple(name for name in cls._FIELDS if name in known and len(cls._choices(state.ins, name)) > 1)

    @staticmethod
    def _choices(ins: Tcgen05Mma, name: str) -> Sequence[object]:
        """The values that a field may have for this mnemonic."""
        row = ins.traits
        every: dict[str, Sequence[object]] = {
            "m": sorted({m for shapes in ins.shape_sets for m in shapes.m}),
            "n": sorted({n for shapes in ins.shape_sets for n in shapes.n}),
            "a": list(row.types),
            "b": list(row.types),
            "d": list(row.results),
            "scale": list(row.scales),
            "scale_a_id": [0, 1, 2, 3],
            "scale_b_id": [0, 1, 2, 3],
        }
        return every[name]

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Field:
        """A descriptor that differs from the one on the screen."""
        ins = _mma(state)
        for field in (*cls._FIELDS, name):
            if field not in cls.names(state):
                continue
            choices = cls._choices(ins, field)
            try:
                ins = ins.with_descriptor(None, **{field: choices[int(random.integers(len(choices)))]})
            except PtxlabError:
                continue  # illegal together with the others
        return cls(name, ins.descriptor.code)

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Field:
        match = re.fullmatch(r"(\w+)(?: of)? (0x[0-9a-f_]{1,10})", plain_text(text))
        if not match:
            raise PtxlabError(
                f"found {quoted(text)}; name a field and a descriptor, such as field n 0x08400010"
            )
        return cls(match[1], int(match[2], 16))

    def _row(self, state: ExplorerState) -> BitField:
        return field_of(InstructionDescriptor.decode(self.code, _mma(state).kind), self.name)

    def prompt(self, state: ExplorerState) -> Prompt:
        self._row(state)
        return Prompt(
            f"A kernel passes the instruction descriptor 0x{self.code:08x} to kind::{_mma(state).kind}. "
            f"What does it say for {self.name}?",
            "Type what the field stands for, not its bits: a number, or a type. Where fields are, the "
            "descriptor on the screen tells.",
            "words",
            example="64, f16 …",
        )

    def solution(self, state: ExplorerState) -> Solution:
        row = self._row(state)
        value = field_text(row.value)
        place = f"Bit {row.low} is" if row.bits == 1 else f"Bits {row.low + row.bits - 1}..{row.low} are"
        words = f"{place} 0b{row.code:0{row.bits}b} = {row.code}: {row.name} is {value}"
        return Solution((value,), f"{words}. {FIELD_MEANINGS[row.name]}.", ())

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        word, row = plain_text(answer), _mma(state).traits
        if not re.fullmatch(r"[0-9]{1,4}", word) and word not in (*row.types, *row.results, *row.scales):
            raise PtxlabError(f"found {quoted(answer.strip())}; type a number, or a type of kind::{row.name}")
        return ReadAnswer(word == field_text(self._row(state).value).lower())


@dataclass(frozen=True)
class Reach(Question):
    """Which warps may load a lane?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    >>> print(Reach(70, 8).check(state, "warps 2 and 6").sentence)
    Right. Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31. Lane 70 is among lanes 64 to 95: \
those of warps 2, 6.
    """

    kind = "reach"
    lane: int
    warps: int

    @property
    def text(self) -> str:
        return f"reach lane {self.lane} of {self.warps} warps"

    @classmethod
    def names(cls, state: ExplorerState) -> tuple[str, ...]:
        return ("D",) if isinstance(state.ins, Tcgen05Mma) else ()

    @classmethod
    def draw(cls, state: ExplorerState, random: np.random.Generator, name: str) -> Reach:
        return cls(int(random.integers(LANES)), int(random.choice((4, 8, 12, 16))))

    @classmethod
    def parse(cls, state: ExplorerState, text: str) -> Reach:
        match = re.fullmatch(r"lane (\d{1,3})(?:\W+(?:of )?(\d{1,2}) warps)?", plain_text(text))
        if not match:
            raise PtxlabError(f"found {quoted(text)}; name a lane, such as reach lane 70 of 8 warps")
        return cls(int(match[1]), int(match[2] or 4))

    def _warps(self, state: ExplorerState) -> list[int]:
        _mma(state)
        lane = as_index(self.lane, "lane", LANES)
        if not 4 <= self.warps <= 32:
            raise PtxlabError(f"{self.warps} warps: tensor memory is loaded by blocks of 4 to 32 warps")
        return list(range(lane // _WARP, self.warps, 4))

    def prompt(self, state: ExplorerState) -> Prompt:
        self._warps(state)
        return Prompt(
            f"A block has {self.warps} warps, 0 to {self.warps - 1}. Which of them may load lane {self.lane} "
            "of tensor memory with tcgen05.ld?",
            "Type their numbers, the lowest first.",
            "numbers",
            example="0, 1 …",
        )

    def solution(self, state: ExplorerState) -> Solution:
        warps = self._warps(state)
        first = self.lane // _WARP * _WARP
        names = ", ".join(map(str, warps))
        words = (
            f"Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31. Lane {self.lane} is among lanes {first} to "
            f"{first + _WARP - 1}: those of warp{'' if len(warps) == 1 else 's'} {names}."
        )
        return Solution((names,), words, ())

    def _read(self, state: ExplorerState, answer: str) -> ReadAnswer:
        if not re.fullmatch(r"(warps?|and|[0-9]{1,2}|[\s,;])+", answer.lower()):
            raise PtxlabError(f"found {quoted(answer.strip())}; type numbers of warps, such as 0, 4")
        warps = [int(number) for number in re.findall(r"\d+", answer)]
        for warp in warps:
            as_index(warp, "warp", self.warps, "this answer: ")
        if not warps:
            raise PtxlabError("found no number; type numbers of warps, such as 0, 4")
        wrong = [warp for warp in warps if warp not in self._warps(state)]
        if not wrong:
            return ReadAnswer(sorted(warps) == self._warps(state), "there are more")
        first = wrong[0] % 4 * _WARP
        return ReadAnswer(False, f"warp {wrong[0]} reaches lanes {first} to {first + _WARP - 1}")
