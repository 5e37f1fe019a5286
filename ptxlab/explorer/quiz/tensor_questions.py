"""The quiz's questions about tcgen05: words of tensor memory, registers after a load, descriptors, lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..._util.arguments import as_index, is_name
from ...errors import PtxlabError, listing, quoted
from ...isa.instruction_descriptor import InstructionDescriptor
from ...isa.tcgen05 import TensorInstruction
from ...isa.tensor_operand import COLUMNS, LANES, TensorOperand
from ...question import Reply
from ..page.tensor_view import FIELD_MEANINGS, Load, field_of, field_text, find_load, slot_of
from ..state import ExplorerState
from .quiz_question import NamedCell, QuizQuestion, cells_words, draw_cell, match_text, plain_text, read_cell

_WARP = 32
#: An answer with numbers.
_NUMBERED = re.compile(r"(cta|lane|column|thread|register|r|of|[0-9\s,;:.])+")
_ASKED = ("D", "A", "SFA", "SFB")  # operands to ask about; metadata has questions about nibbles
_FIELDS = ("m", "n", "a", "b", "d", "scale", "scale_a_id", "scale_b_id")  # worth decoding


def _mma(state: ExplorerState) -> TensorInstruction:
    if not isinstance(state.ins, TensorInstruction):
        raise PtxlabError(f"{state.ins.mnemonic} has nothing in tensor memory; tcgen05.mma has")
    return state.ins


def in_tensor_memory(state: ExplorerState) -> tuple[str, ...]:
    """Operands in tensor memory; not a sparse A, whose cells are those of the dense matrix."""
    ins = state.ins
    if not isinstance(ins, TensorInstruction):
        return ()
    return tuple(name for name in _ASKED if name in ins.tensors and not (name == "A" and ins.sparse))


def only_d(state: ExplorerState) -> tuple[str, ...]:
    """D, where it is in tensor memory."""
    return ("D",) if isinstance(state.ins, TensorInstruction) else ()


def _numbers(answer: str, example: str, **sizes: int) -> tuple[int, ...]:
    """The numbers of an answer, with words such as "lane" between them; each below its size."""
    numbers = re.findall(r"[0-9]+", answer)
    if len(numbers) != len(sizes) or not _NUMBERED.fullmatch(answer.lower()):
        raise PtxlabError(f"found {quoted(answer.strip())}; type {example}")
    named = zip(numbers, sizes, sizes.values(), strict=True)
    return tuple(as_index(int(number[:9]), name, size, "this answer: ") for number, name, size in named)


def _cta(operand: TensorOperand, cta: int) -> str:
    return f"CTA {cta}, " if operand.ctas > 1 else ""


def rule_of_d(ins: TensorInstruction) -> str:
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


def ask_word(state: ExplorerState, target: str) -> QuizQuestion:
    """Which lane and column of tensor memory hold a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    >>> question = ask_word(state, "D[20][3]")
    >>> question.text, question.judge("lane 20, column 3").text
    ('Which lane and column of tensor memory hold D[20][3]?', 'lane 20, column 3 is free')
    >>> question.reason
    'D[20][3] is in lane 36, column 3: layout F has row r in lane 32 (r // 16) + r % 16, column c in \
column c.'
    """
    cell = name, row, column = read_cell(state, target)
    ins, names = _mma(state), in_tensor_memory(state)
    if not is_name(name, names):
        raise PtxlabError(f"{name} is not in tensor memory here; {listing(names)} is there to ask about")
    operand = ins.tensors[name]
    places, sizes = operand.where(row, column), {"lane": LANES, "column": COLUMNS}
    what, example = "lane and column", "lane 36 column 3"
    if operand.ctas > 1:
        what, example, sizes = "CTA, lane and column", f"CTA 0 {example}", {"cta": operand.ctas, **sizes}
    right = {(at.cta, at.lane, at.column) for at in places}
    answers = tuple(f"{_cta(operand, at.cta)}lane {at.lane}, column {at.column}" for at in places)

    def judge(answer: str) -> Reply:
        *ctas, lane, column = _numbers(answer, example, **sizes)
        cta = sum(ctas)  # none is CTA 0
        if (cta, lane, column) in right:
            return Reply(True)
        cells = tuple(NamedCell(name, *location) for location in operand.holds(lane, column, cta))
        words = f"holds {cells_words(cells)}" if cells else "is free"
        return Reply(False, f"{_cta(operand, cta)}lane {lane}, column {column} {words}", cells)

    first = places[0]
    others = dict.fromkeys(str(at.lane) for at in places[1:] if at.cta == first.cta)
    copies = f", and again in lanes {', '.join(others)}" if others else ""
    copies += ", in both CTAs" if {at.cta for at in places} == {0, 1} else ""
    bits = "" if operand.dtype.bits == 32 else f", bits {first.high}..{first.low}"
    rule = f": {rule_of_d(ins)}" if name == "D" else ""
    return QuizQuestion(
        f"word {cell}",
        judge,
        f"Which {what} of tensor memory hold {cell}?",
        answers,
        reason=f"{cell} is in {answers[0]}{bits}{copies}{rule}.",
        hint="Type the numbers." + ("" if name == "D" else f" Columns count from the first of {name}."),
        example=re.sub(r"\d+", "…", example),
        marked=(cell,),
    )


def ask_thread(state: ExplorerState, target: str) -> QuizQuestion:
    """Which thread gets a cell of D from the tcgen05.ld that is shown, and in which register?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    >>> ask_thread(state, "D[20][3]").answers
    ('thread 36 register 3',)
    """
    only = "this question is about a cell of D, such as thread D[3][5]"
    cell = _, row, column = read_cell(state, target, "D", only)
    ins, load = _mma(state), _load(state)
    form, d = load.form, ins.d
    right = slot_of(ins, load, row, column)
    if right is None:
        raise PtxlabError(f"{form.mnemonic} from column {load.column} does not read {cell}")

    def judge(answer: str) -> Reply:
        sizes = {"thread": LANES * ins.cta_group, "register": form.registers}
        named = thread, register = _numbers(answer, "thread 49 register 1", **sizes)
        if named == right:
            return Reply(True)
        parts = form.layout.coords()[thread % _WARP].reshape(form.registers, -1, 2)
        lane, column = (parts[register, 0] + (load.lane, load.column)).tolist()
        cta, lane = divmod(lane + thread // _WARP * _WARP, LANES)
        cells = tuple(NamedCell("D", *location) for location in d.holds(lane, column, cta))
        what = cells_words(cells) if cells else f"lane {lane}, column {column}, which is free"
        return Reply(False, f"register {register} of thread {thread} gets {what}", cells)

    place, (thread, register) = d.where(row, column)[0], right
    start = f"column {load.column}" + (f", lane {load.lane}" if load.lane else "")
    second_cta = "; the threads of CTA 1 count from 128" if ins.cta_group == 2 else ""
    return QuizQuestion(
        f"thread {cell}",
        judge,
        f"All four warps execute {form.mnemonic} from {start} on. Which thread gets {cell}, and in which of "
        "its registers?",
        answers=(f"thread {thread} register {register}",),
        reason=f"{cell} is in {_cta(d, place.cta)}lane {place.lane}, column {place.column}, which warp "
        f"{place.lane // _WARP} reads; {form.shape} gives it to register {register} of thread {thread}, "
        f"lane {thread % _WARP} of that warp.",
        hint=f"Type the numbers{second_cta}.",
        marked=(cell,),
    )


def draw_thread(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    ins, load = _mma(state), _load(state)
    for _ in range(200):  # most loads read most of D
        cell = draw_cell(state, random, "D")
        if slot_of(ins, load, cell.row, cell.column) is not None:
            return cell
    words = load.form.layout.coords() + np.array((load.lane, load.column))
    for lane, column in words.reshape(-1, 2).tolist():
        locations = ins.d.holds(lane, column)
        if locations:
            return NamedCell("D", *locations[0])
    raise PtxlabError(f"{load.form.mnemonic} from column {load.column} reads nothing of D")


def _load(state: ExplorerState) -> Load:
    return find_load(_mma(state), state.load)


def ask_field(state: ExplorerState, target: str) -> QuizQuestion:
    """What does a field of an instruction descriptor say?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    >>> question = ask_field(state, "n 0x04100490")
    >>> question.text
    'A kernel passes the instruction descriptor 0x04100490 to kind::f16. What does it say for n?'
    >>> question.reason
    'Bits 22..17 are 0b001000 = 8: n is 64. Columns of B and D, in eights.'
    """
    expected = "name a field and a descriptor, such as field n 0x08400010"
    name, digits = match_text(r"(\w+)(?: of)? (0x[0-9a-f_]{1,10})", target, expected).groups()
    code, ins = int(digits, 16), _mma(state)
    row, traits = field_of(InstructionDescriptor.decode(code, ins.kind), name), ins.traits
    right = field_text(row.value)

    def judge(answer: str) -> Reply:
        word = plain_text(answer)
        if word not in (*traits.types, *traits.results, *traits.scales):
            match_text("[0-9]{1,4}", answer, f"type a number, or a type of kind::{traits.name}")
        return Reply(word == right.lower())

    bits = f"Bit {row.low} is" if row.bits == 1 else f"Bits {row.low + row.bits - 1}..{row.low} are"
    return QuizQuestion(
        f"field {name} 0x{code:08x}",
        judge,
        f"A kernel passes the instruction descriptor 0x{code:08x} to kind::{ins.kind}. What does it say for "
        f"{name}?",
        answers=(right,),
        reason=f"{bits} 0b{row.code:0{row.bits}b} = {row.code}: {row.name} is {right}. "
        f"{FIELD_MEANINGS[row.name]}.",
    )


def fields_to_ask(state: ExplorerState) -> tuple[str, ...]:
    if not isinstance(state.ins, TensorInstruction):
        return ()
    field_names = {row.name for row in state.ins.descriptor.bit_fields}
    return tuple(name for name in _FIELDS if name in field_names and len(_choices(state.ins, name)) > 1)


def _choices(ins: TensorInstruction, name: str) -> Sequence[object]:
    """The values that a field may have for this mnemonic."""
    if name in ("m", "n"):
        return sorted({size for shapes in ins.shape_sets for size in getattr(shapes, name)})
    traits = ins.traits
    types = {"a": traits.types, "b": traits.types, "d": traits.results, "scale": traits.scales}
    return list(types[name]) if name in types else range(4)


def draw_field(state: ExplorerState, random: np.random.Generator, name: str) -> str:
    """A field of a descriptor that differs from the one on the screen."""
    ins, names = _mma(state), fields_to_ask(state)
    for field in (*_FIELDS, name):
        if field not in names:
            continue
        choices = _choices(ins, field)
        try:
            ins = ins.with_descriptor(None, **{field: choices[int(random.integers(len(choices)))]})
        except PtxlabError:
            continue  # illegal together with the others
    return f"{name} 0x{ins.descriptor.code:08x}"


def ask_reach(state: ExplorerState, target: str) -> QuizQuestion:
    """Which warps may load a lane?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    >>> print(ask_reach(state, "lane 70 of 8 warps").reason)
    Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31. Lane 70 is among lanes 64 to 95: those of warps 2, 6.
    """
    expected = "name a lane, such as reach lane 70 of 8 warps"
    words = match_text(r"lane (\d{1,3})(?:\W+(?:of )?(\d{1,2}) warps)?", target, expected)
    lane, count = int(words[1]), int(words[2] or 4)
    _mma(state)
    as_index(lane, "lane", LANES)
    if not 4 <= count <= 32:
        raise PtxlabError(f"{count} warps: tensor memory is loaded by blocks of 4 to 32 warps")
    right = list(range(lane // _WARP, count, 4))

    def judge(answer: str) -> Reply:
        if not re.fullmatch(r"(warps?|and|[0-9]{1,2}|[\s,;])+", answer.lower()):
            raise PtxlabError(f"found {quoted(answer.strip())}; type numbers of warps, such as 0, 4")
        numbers = re.findall(r"[0-9]+", answer)
        warps = [as_index(int(number), "warp", count, "this answer: ") for number in numbers]
        if not warps:
            raise PtxlabError("found no number; type numbers of warps, such as 0, 4")
        wrong = [warp for warp in warps if warp not in right]
        if not wrong:
            return Reply(True) if sorted(warps) == right else Reply(False, "there are more")
        return Reply(False, f"warp {wrong[0]} reaches lanes {_lanes_of(wrong[0])}")

    names, warps = ", ".join(map(str, right)), "warp" if len(right) == 1 else "warps"
    return QuizQuestion(
        f"reach lane {lane} of {count} warps",
        judge,
        f"A block has {count} warps, 0 to {count - 1}. Which of them may load lane {lane} of tensor memory "
        "with tcgen05.ld?",
        answers=(names,),
        reason=f"Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31. Lane {lane} is among lanes "
        f"{_lanes_of(right[0])}: those of {warps} {names}.",
    )


def _lanes_of(warp: int) -> str:
    """The lanes that a warp reaches."""
    first = warp % 4 * _WARP
    return f"{first} to {first + _WARP - 1}"


def draw_reach(state: ExplorerState, random: np.random.Generator, name: str) -> str:
    return f"lane {random.integers(LANES)} of {random.choice((4, 8, 12, 16))} warps"
