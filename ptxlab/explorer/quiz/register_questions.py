"""The quiz's questions about registers, sparsity and numbers; those of tcgen05 are in `tensor_questions`.

Each kind is a function that makes a question of a text. Its answer is computed: places from the operand's
layout, kept columns from the metadata, values of D by the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_index
from ...errors import PtxlabError, counted, error_prefix, listing, quoted
from ...isa.dtypes import DType
from ...isa.location import Place, bit_span
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.sparsity import Structure
from ...numerics.emulate import codes_of_d
from ...numerics.trace import disabled_lane
from ...question import Reply
from ...views.labels import index_range
from ..cells.parse_cell import format_value, parse
from ..cells.refused_edit import with_codes
from ..page.instruction_info import accumulator_label, bit_parts
from ..state import ExplorerState
from .quiz_question import (
    NamedCell,
    QuizQuestion,
    cells_words,
    draw_cell,
    match_text,
    matrix_label,
    matrix_name,
    plain_text,
    read_cell,
)

FEW_PRODUCTS = 16  # few enough to add up by hand
_SELECTED = ("E", "SFA", "SFB")  # operands with copies, one of which a modifier selects
_PLACE = re.compile(
    r"(?:warp (\d+)\W*)?(?:(?:lane|thread) ?)?(\d+)\W*(?:of )?(?:([a-z]+)\W+)?"
    r"(?:(?:register|reg|r) ?(\d+)|([a-z]+) ?(\d+))"
)
_CHANGE = r"(a\W.*?) to (\S+?)\W* (d\W.*)"
_HELD = re.compile(r"(?:warp (\d+)\W*)?(?:lane|thread) (\d+)\W*(?:([a-z]+) ?(\d+)?)?(?: hold)?")


# -- where is a cell, and what does a lane hold? ---------------------------------------------------------


def ask_where(state: ExplorerState, target: str) -> QuizQuestion:
    """Which lane and register hold a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> question = ask_where(state, "A[9][37]")
    >>> question.text, question.answers
    ('Which lane, and which of its registers, holds A[9][37]?', ('lane 4 register 3', 'lane 4 a29'))
    >>> question.judge("lane 4 register 2").text
    'register 2 of lane 4 holds A[1][32..39]'
    """
    cell = read_cell(state, target)
    stored_cell = _held_cell(state, cell)
    operand = _operand_in_registers(state, stored_cell.name)
    letter, holder, copy = _letter(cell.name), operand.holder, state.operation.copy_index(cell.name)
    places = operand.where(stored_cell.row, stored_cell.column)  # several where a fragment holds copies
    if cell.name in _SELECTED:
        places = [places[copy]]
    right = {(at.lane, at.register, element) for at in places for element in (None, at.element)}
    reason = _place_words(state, stored_cell, places)
    if stored_cell != cell:
        chunk, nibble = _nibble(state, cell)
        reason = f"Nibble 0b{nibble:04b} of chunk {chunk} keeps {cell}: {reason}"

    def judge(answer: str) -> Reply:
        lane, register, element = named = _read_place(state, operand, answer)
        if named in right:
            return Reply(True)
        there = [
            (at.element, NamedCell(stored_cell.name, *rest)) for at, *rest in operand.holds(lane, register)
        ]
        cells = tuple(cell for number, cell in there if element in (None, number))
        what = f"register {register} of {{}} holds" if element is None else f"{letter}{element} of {{}} is"
        words = cells_words(cells) if element is None else cells[0]
        return Reply(False, f"{what.format(_lane_words(state, lane))} {words}", cells)

    read_with = f" for {words}" if (words := operand.read_with(copy)) else ""
    names = [
        (at.lane, name) for at in places for name in (f"register {at.register}", f"{letter}{at.element}")
    ]
    return QuizQuestion(
        f"where {cell}",
        judge,
        f"Which {holder}, and which of its registers, holds {cell}{read_with}?",
        answers=tuple(f"{holder} {lane} {name}" for lane, name in names),
        reason=reason,
        hint=f"Choose a {holder} and click its register, or type its name, as in the box.",
        marked=(cell,),
        cells=tuple(dict.fromkeys((cell, stored_cell))),
    )


def ask_holds(state: ExplorerState, target: str) -> QuizQuestion:
    """Which cell does a lane hold as an element? Without an element, any of its cells.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> question = ask_holds(state, "lane 14 d3")
    >>> question.text
    'Which cell of D does lane 14 hold as d3?'
    >>> print(question.reason)
    D[11][5] is d3 of lane 14: register 3, bits 31..0. Lane 14 starts at D[3][4]; d3 is 8 rows down and 1 \
column right of that.
    """
    expected = (
        "ask what an element is, such as holds lane 14 d3, or what a lane holds, such as holds lane 14 D"
    )
    warp, number, letters, digits = match_text(_HELD, target, expected).groups()
    name = "D" if letters in (None, "hold") else matrix_name(state, letters)
    stored_name, lane = _held_name(state, name), _lane_index(state, warp, number)
    operand = _operand_in_registers(state, stored_name)
    element = None if digits is None else _element(operand, digits, f"{name}: ")
    as_index(lane, operand.holder, operand.lanes)
    there = [at for place, *at in operand.holds(lane) if element in (None, place.element)]
    cells = list(dict.fromkeys(NamedCell(stored_name, *at) for at in there))
    shown = tuple(form for cell in cells for form in _both_forms(state, cell))
    holder, label = _lane_words(state, lane), f"{_letter(name)}{element}"
    if element is None:
        what, text, click = name, f"Which cells of {name} does {holder} hold?", "Click one of them"
        reason = f"{holder} holds {cells_words(cells)}."
    else:
        what = f"stored{element}" if name == "stored" else label
        text, click = f"Which cell of {name} does {holder} hold as {label}?", "Click it"
        reason = _place_words(state, cells[0], [operand.place(lane, element)])
        if len(shown) > 1:
            reason += f" The metadata says that it is {shown[1]} of the dense matrix."

    def judge(answer: str) -> Reply:
        cell = read_cell(state, answer, name)
        return Reply(True) if cell in shown else Reply(False, _holder_words(state, cell), (cell,))

    return QuizQuestion(
        f"holds {'lane' if lane < 32 else 'thread'} {lane} {what}",
        judge,
        text,
        answers=tuple(map(str, shown)),
        reason=reason,
        hint=f"{click}, or type it: {name}[row][column].",
        example=f"{name}[row][column]",
        lane=lane,
        element="" if element is None else f"{name.lower()}{element}",
        cells=shown,
    )


def in_registers(state: ExplorerState) -> tuple[str, ...]:
    """Matrices in registers, without C, which has the layout of D."""
    names = [name for name in ("A", "B", "D", *_SELECTED) if name in state.operation.names]
    return tuple(
        name for name in names if state.operation.operand(_held_name(state, name)).space == "register"
    )


def draw_where(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    """A cell that a lane holds; of a sparse A, in the dense matrix."""
    return _both_forms(state, draw_cell(state, random, _held_name(state, name)))[-1]


def draw_holds(state: ExplorerState, random: np.random.Generator, name: str) -> str:
    place = _place_read(state, draw_where(state, random, name))
    return f"{'lane' if place.lane < 32 else 'thread'} {place.lane} {_letter(name)}{place.element}"


def _held_name(state: ExplorerState, name: str) -> str:
    """The matrix that lanes hold: for a sparse A, the compressed one."""
    return "stored" if name == "A" and state.ins.sparse else name


def _operand_in_registers(state: ExplorerState, name: str) -> Operand:
    operand = state.operation.operand(name)
    if operand.layout is None or operand.space == "tensor":
        where = "tensor" if operand.space == "tensor" else "shared"
        raise PtxlabError(f"{matrix_label(name)} is in {where} memory: no lane holds it")
    return operand


def _held_cell(state: ExplorerState, cell: NamedCell) -> NamedCell:
    """The cell that a lane holds: for a cell of a sparse A, its place in the compressed one."""
    if _held_name(state, cell.name) == cell.name:
        return cell
    columns = np.flatnonzero(state.operation.stored_columns()[cell.row] == cell.column)
    if not columns.size:
        chunk, nibble = _nibble(state, cell)
        kept = _kept_words(state, cell.row, nibble, chunk)
        raise PtxlabError(f"{cell} is not stored: nibble 0b{nibble:04b} of chunk {chunk} keeps {kept}")
    return NamedCell("stored", cell.row, int(columns[0]))


def _both_forms(state: ExplorerState, cell: NamedCell) -> tuple[NamedCell, ...]:
    """A cell of compressed A with its cell of dense A; any other cell alone."""
    if cell.name != "stored":
        return (cell,)
    column = int(state.operation.stored_columns()[cell.row, cell.column])
    return cell, NamedCell("A", cell.row, column)


def _letter(name: str) -> str:
    """The letter of a matrix's elements: a for A and compressed A."""
    return "a" if name == "stored" else name.lower()


def _read_place(state: ExplorerState, operand: Operand, text: str) -> tuple[int, int, int | None]:
    """The lane, register and, if named, element of an answer; they must exist."""
    letter, about = _letter(operand.name), "this answer: "
    expected = f"name a lane and a register, such as lane 14 register 0 or lane 14 {letter}0"
    warp, lane, named, register, letters, element = match_text(_PLACE, text, expected).groups()
    if {named, letters} - {None, letter}:
        raise PtxlabError(f"found {quoted(text.strip())}; the question is about {letter.upper()}")
    index = _lane_index(state, warp, lane)
    if register is not None:
        return index, as_index(int(register[:9]), "register", operand.registers, about), None
    place = operand.place(index, _element(operand, element, about))
    return place.lane, place.register, place.element


def _lane_index(state: ExplorerState, warp: str | None, lane: str) -> int:
    if warp is None:
        return as_index(int(lane[:9]), "lane", state.ins.lanes)
    inside = as_index(int(lane[:9]), "lane", 32, "in a warp: ")
    return 32 * as_index(int(warp[:9]), "warp", state.ins.lanes // 32) + inside


def _element(operand: Operand, digits: str, about: str) -> int:
    return as_index(int(digits[:9]), "element", operand.layout.elements if operand.layout else 0, about)


def _lane_words(state: ExplorerState, lane: int) -> str:
    """A lane in full; those of a warpgroup are also threads."""
    if state.ins.lanes <= 32:
        return f"lane {lane}"
    return f"lane {lane % 32} of warp {lane // 32} (thread {lane})"


def _place_words(state: ExplorerState, cell: NamedCell, places: Sequence[Place]) -> str:
    """Where a cell is, and how that follows from the first cell of its lane."""
    operand, place = _operand_in_registers(state, cell.name), places[0]
    element, holder = f"{_letter(cell.name)}{place.element}", f"{operand.holder} {place.lane}"
    also = "".join(
        f" (and {_letter(cell.name)}{other.element} of {operand.holder} {other.lane})" for other in places[1:]
    )
    bits = f"{'bit' if place.low == place.high else 'bits'} {bit_span(place.low, place.high)}"
    sentence = (
        f"{cell} is {element} of {_lane_words(state, place.lane)}{also}: register {place.register}, {bits}."
    )
    row, column = operand.coords()[place.lane, 0].tolist()
    along = "chunk" if cell.name == "E" else "column"
    ways = (cell.row - row, "row", "down", "up"), (cell.column - column, along, "right", "left")
    steps = [f"{counted(abs(by), noun)} {on if by > 0 else back}" for by, noun, on, back in ways if by]
    if not steps:
        return f"{sentence} It is where {holder} starts."
    start, of = NamedCell(cell.name, row, column), "of" if cell.column != column else "from"
    return (
        f"{sentence} {holder.capitalize()} starts at {start}; {element} is {' and '.join(steps)} {of} that."
    )


def _place_read(state: ExplorerState, cell: NamedCell) -> Place:
    """Where the copy of a cell is that the instruction reads."""
    stored_cell = _held_cell(state, cell)
    places = _operand_in_registers(state, stored_cell.name).where(stored_cell.row, stored_cell.column)
    return places[state.operation.copy_index(stored_cell.name)]


def _holder_words(state: ExplorerState, cell: NamedCell) -> str:
    """The lane that holds a cell, or why none does."""
    try:
        place = _place_read(state, cell)
    except PtxlabError as error:
        return str(error)
    return f"{cell} is {_letter(cell.name)}{place.element} of {_lane_words(state, place.lane)}"


# -- sparse A --------------------------------------------------------------------------------------------


def ask_nibble(state: ExplorerState, target: str) -> QuizQuestion:
    """Which metadata nibble decides about a cell of dense A?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> ask_nibble(state, "A[9][37]").answers
    ('E[9] chunk 4',)
    """
    _structure(state)
    cell = read_cell(state, target, "A", "a nibble decides about a cell of A, such as A[9][37]")
    chunk, nibble = _nibble(state, cell)
    right = NamedCell("E", cell.row, chunk)

    def judge(answer: str) -> Reply:
        named = read_cell(state, answer, "E")
        if named == right:
            return Reply(True)
        if named.name != "E":
            return Reply(False, f"{named} is not a nibble", (named,))
        columns = _chunk_columns(state, named.column)
        return Reply(False, f"{named} is about columns {columns} of row {named.row}", (named,))

    columns, kept = _chunk_columns(state, chunk), _kept_words(state, cell.row, nibble, chunk)
    text = f"Which nibble of the metadata decides whether {cell} is stored?"
    reason = f"Column {cell.column} is in chunk {chunk} (columns {columns}), so {right} decides: "
    reason += f"0b{nibble:04b} keeps {kept}."
    return QuizQuestion(
        f"nibble {cell}", judge, text, (str(right),), reason, marked=(cell,), cells=(right, cell)
    )


def ask_metadata(state: ExplorerState, target: str) -> QuizQuestion:
    """What is the nibble of a chunk, given the columns that it keeps?"""
    structure = _structure(state)
    cell = read_cell(state, target, "E")
    if cell.name == "A":
        cell = NamedCell("E", cell.row, _nibble(state, cell)[0])
    if cell.name != "E":
        raise PtxlabError(f"found {quoted(target)}; name a nibble, such as E[9] chunk 4")
    _, row, chunk = cell
    right = int(state.codes("E")[row, chunk])
    first, *others = state.ins.nibbles[right]
    reason = f"{cell} keeps {_kept_words(state, row, right, chunk)}"
    if structure.groups == 2:
        reason += f", the {('first', 'second')[first]} of the two: 0b{right:04b}."
    else:
        what, last = "columns" if structure.group == 1 else "pairs", others[0]
        reason += (
            f": of its {what} 0 to 3 those are {first} and {last}. {last} is 0b{last:02b} in the two high "
            f"bits, {first} is 0b{first:02b} in the two low ones: 0b{right:04b}."
        )

    def judge(answer: str) -> Reply:
        nibble = _read_code(answer, 4)
        if nibble == right:
            return Reply(True)
        if nibble not in state.ins.nibbles:
            return Reply(False, f"0b{nibble:04b} is not a nibble that the instruction takes")
        return Reply(False, f"0b{nibble:04b} would keep {_kept_words(state, row, nibble, chunk)}")

    text = f"Which nibble keeps what is stored of A[{row}][{_chunk_columns(state, chunk)}]?"
    answers = f"0b{right:04b}", f"0x{right:x}"
    return QuizQuestion(f"metadata {cell}", judge, text, answers, reason, marked=(cell,), masked=(cell,))


def _structure(state: ExplorerState) -> Structure:
    if state.ins.structure is None:
        raise PtxlabError(f"{state.ins.mnemonic} is dense: it has no metadata")
    return state.ins.structure


def _nibble(state: ExplorerState, cell: NamedCell) -> tuple[int, int]:
    """The chunk of a cell of dense A, and its nibble."""
    chunk = cell.column // _structure(state).chunk
    return chunk, int(state.codes("E")[cell.row, chunk])


def _chunk_columns(state: ExplorerState, chunk: int) -> str:
    size = _structure(state).chunk
    return index_range(chunk * size, size)


def _kept_words(state: ExplorerState, row: int, nibble: int, chunk: int) -> str:
    """``A[9][32, 33]``: what a nibble keeps of a chunk."""
    structure = _structure(state)
    starts = [chunk * structure.chunk + group * structure.group for group in state.ins.nibbles[nibble]]
    columns = [start + offset for start in starts for offset in range(structure.group)]
    return f"A[{row}][{listing(columns)}]"


# -- numbers ---------------------------------------------------------------------------------------------


def ask_value(state: ExplorerState, target: str) -> QuizQuestion:
    """What is a cell of D?"""
    only = "this question is about a cell of D, such as value D[3][5]"
    cell = _, row, column = read_cell(state, target, "D", only)
    number = format_value(state.values("D")[row, column])
    if disabled_lane(state.operation, row, column) is not None:
        reason = "disable-output-lane leaves it as it was"
    else:
        reason = f"row {row} of A times column {state.column_of_b(row, column)} of B"
        products = _nonzero_products(state, row, column)
        if products is not None and len(products) <= FEW_PRODUCTS:
            reason += f" is {' + '.join(products) or '0'}"
        modifiers, accumulator = state.operation.modifiers, format_value(state.values("C")[row, column])
        if accumulator not in ("0", "-0") and modifiers.scale_d and modifiers.enable_input_d:
            scaled = f" / 2^{modifiers.scale_input_d}" if modifiers.scale_input_d else ""
            added = f"{accumulator_label(state.ins)}[{row}][{column}]"
            reason += f", and {added} = {accumulator}{scaled} is added"
    judge, reason = _judge_number(state, int(state.codes("D")[row, column])), f"{cell} = {number}: {reason}."
    text, marked = f"What is {cell}?", (cell,)
    return QuizQuestion(f"value {cell}", judge, text, (number,), reason, marked=marked, masked=marked)


def draw_value(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    """A cell with few nonzero products; if all have more, one with the fewest."""
    counts = product_counts(state)
    most = max(FEW_PRODUCTS, int(counts[counts > 0].min())) if counts.any() else 0
    return _drawn(random, name, (counts > 0) & (counts <= most) if counts.any() else counts == 0)


def _drawn(random: np.random.Generator, name: str, possible: NDArray[np.bool_]) -> NamedCell:
    cells = np.argwhere(possible)
    return NamedCell(name, *cells[random.integers(len(cells))].tolist())


def product_counts(state: ExplorerState) -> NDArray[np.int64]:
    """The number of nonzero products of each cell of D."""
    ins = state.ins
    a, b = (state.values("A") != 0).astype(np.float32), (state.values("B") != 0).astype(np.float32)
    first = state.operation.modifiers.column_shift
    used = slice(first, first + ins.d.shape[1] if ins.mma_count == 1 else None)
    # stacked products: each has its rows of A and its columns of B
    products = zip(np.split(a, ins.mma_count), np.split(b, ins.mma_count, axis=1), strict=True)
    return np.concatenate([rows @ columns[:, used] for rows, columns in products]).astype(np.int64)


def _nonzero_products(state: ExplorerState, row: int, column: int) -> list[str] | None:
    """The products that are not 0, ``2·(-3)``; None where terms are not plain products."""
    ins = state.ins
    changed = any(value != getattr(Modifiers, name) for name, value in state.options.items()
                  if name.startswith(("scale_d", "imm_scale", "zero_column")))  # fmt: skip
    if ins.descriptor is not None:
        changed |= ins.descriptor.negate_a or ins.descriptor.negate_b
    if ins.scale_vec or ins.bit_op or changed:
        return None
    pairs = zip(state.values("A")[row], state.values("B")[:, state.column_of_b(row, column)], strict=True)
    factors = [map(format_value, pair) for pair in pairs if all(value != 0 for value in pair)]
    return ["·".join(f"({text})" if text.startswith("-") else text for text in pair) for pair in factors]


def _judge_number(state: ExplorerState, code: int) -> Callable[[str], Reply]:
    """Whether a typed number is the value of a code of D; -0 equals 0."""
    dtype = state.ins.d.dtype

    def judge(answer: str) -> Reply:
        values = dtype.decode(np.array([parse(dtype, answer), code], dtype=dtype.code_type))
        typed, right = values.astype(np.float64)
        return Reply(bool(typed == right or (np.isnan(typed) and np.isnan(right))))

    return judge


def ask_change(state: ExplorerState, target: str) -> QuizQuestion:
    """What would a cell of D be if a cell of its row of A had another value?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> question = ask_change(state, "A[9][37] to 7 D[9][2]")
    >>> question.text, question.answers
    ('A[9][37] is 0, and D[9][2] is 190. What would D[9][2] be if A[9][37] were 7?', ('239',))
    """
    expected = "write it as change A[9][37] to 4 D[9][2]: a cell of A, its new value, and a cell of D in the "
    factor_text, to, result_text = match_text(_CHANGE, target, expected + "same row").groups()
    cell, result = read_cell(state, factor_text), read_cell(state, result_text)
    if cell.row != result.row:
        raise PtxlabError(f"{cell} does not go into {result}; ask about a cell of row {cell.row} of D")
    _held_cell(state, cell)
    codes = state.codes("A").copy()
    with error_prefix(str(cell)):
        codes[cell.row, cell.column] = parse(state.ins.a.dtype, to)
    written = np.zeros(codes.shape, dtype=np.bool_)
    written[cell.row, cell.column] = True
    changed = with_codes(state.operation, "A", codes, typed=written)
    factor = NamedCell("B", cell.column, state.column_of_b(result.row, result.column))
    before, other, now = (format_value(state.values(at.name)[at[1:]]) for at in (cell, factor, result))
    code = codes_of_d(changed, state.chip_choice.model)[result.row, result.column]
    number = format_value(state.ins.d.dtype.decode(np.array([int(code)]))[0])
    meets = "is multiplied by" if state.ins.bit_op is None else f"meets ({state.ins.bit_op})"
    scaled = ", times their scale factors," if state.ins.scale_vec else ""
    return QuizQuestion(
        f"change {cell} to {to} {result}",
        _judge_number(state, int(code)),
        f"{cell} is {before}, and {result} is {now}. What would {result} be if {cell} were {to}?",
        answers=(number,),
        reason=f"In {result}, {cell} {meets} {factor} = {other}{scaled} and no other term changes, so "
        f"{result} goes from {now} to {number}.",
        marked=(cell, result),
        cells=(result, cell, factor),
    )


def draw_change(state: ExplorerState, random: np.random.Generator, name: str) -> str:
    _, row, k = cell = _drawn(random, name, changeable(state))
    small = _small_factors(state)[k]
    columns = [column for column in range(state.ins.d.shape[1]) if small[state.column_of_b(row, column)]]
    column = random.choice(columns)
    return f"{cell} to {_other_value(state, row, k)} D[{row}][{column}]"


def changeable(state: ExplorerState) -> NDArray[np.bool_]:
    """Cells of A whose change shows in D: small integers that are stored and meet a nonzero factor."""
    values = state.values("A").astype(np.float64)
    with np.errstate(invalid="ignore"):
        small = (np.abs(values) <= 64) & (values == np.round(values))
    if state.ins.sparse:
        stored = np.zeros(values.shape, dtype=np.bool_)
        np.put_along_axis(stored, state.operation.stored_columns(), True, axis=1)
        small &= stored & (values != 0)  # a stored zero may be stored elsewhere after a change
    products = np.split(_small_factors(state), state.ins.mma_count, axis=1)  # columns of B of each product
    rows = [np.tile(np.any(part, axis=1), (state.ins.m, 1)) for part in products]
    return np.asarray(small & np.concatenate(rows))


def _small_factors(state: ExplorerState) -> NDArray[np.bool_]:
    """Cells of B that are not 0, and small enough for mental arithmetic."""
    factors = np.abs(state.values("B").astype(np.float64))
    return (factors > 0) & (factors <= 64)


def _other_value(state: ExplorerState, row: int, k: int) -> str:
    """Another value near that of a cell of A, exact in its type."""
    dtype = state.ins.a.dtype
    value = float(state.values("A")[row, k])
    for other in (value + 1, value - 1, 0.0, 1.0):
        text = format_value(other)
        with suppress(PtxlabError):
            decoded = float(dtype.decode(np.array([parse(dtype, text)], dtype=dtype.code_type))[0])
            if decoded == other != value:
                return text
    raise PtxlabError(f"A[{row}][{k}]: {dtype} has no value near {format_value(value)}")


def ask_code(state: ExplorerState, target: str) -> QuizQuestion:
    """Which bits stand for the value of a cell?

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> question = ask_code(state, "A[0][0]")
    >>> question.text, question.reason
    ('Which 16 bits of f16 stand for A[0][0] = 2?', \
'A[0][0] = 2 is 0x4000: sign 0, exponent 10000, fraction 0000000000.')
    """
    cell = name, row, column = read_cell(state, target)
    if name == "E":
        raise PtxlabError(f"found {quoted(target)}; ask for a nibble with metadata {cell}")
    dtype = state.operation.operand(name).dtype
    bits, digits, ignored = dtype.bits, -(-dtype.bits // 4), (1 << dtype.ignored_bits) - 1
    right, number = int(state.codes(name)[row, column]), format_value(state.values(name)[row, column])

    def judge(answer: str) -> Reply:
        named = _read_code(answer, bits)
        if named | ignored == right | ignored:
            return Reply(True)
        value = format_value(dtype.decode(np.array([named], dtype=dtype.code_type))[0])
        return Reply(False, f"0x{named:0{digits}x} is {value}")

    which = f"Which bit of {dtype} stands" if bits == 1 else f"Which {bits} bits of {dtype} stand"
    answers = f"0x{right:0{digits}x}", f"0b{right:0{bits}b}"
    reason = f"{cell} = {number} is {answers[0]}: {_bits_words(dtype, right)}."
    return QuizQuestion(
        f"code {cell}", judge, f"{which} for {cell} = {number}?", answers, reason, marked=(cell,)
    )


def with_codes_to_ask(state: ExplorerState) -> tuple[str, ...]:
    names = [name for name in ("A", "B", "SFA", "SFB") if name in state.operation.names]
    return tuple(name for name in names if 1 < state.operation.operand(name).dtype.bits <= 32)


def draw_code(state: ExplorerState, random: np.random.Generator, name: str) -> NamedCell:
    """A cell that is not 0, if there is one."""
    codes = state.codes(name)
    return _drawn(random, name, codes != 0) if codes.any() else draw_cell(state, random, name)


def _read_code(text: str, bits: int) -> int:
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


def _bits_words(dtype: DType, code: int) -> str:
    """The bits of a code by field; for a negative integer, how two's complement encodes it."""
    bits = f"{code:0{dtype.bits}b}"
    if dtype.is_float:
        digits = iter(bits)
        return ", ".join(f"{role} {''.join(islice(digits, length))}" for role, length in bit_parts(dtype))
    value = int(dtype.decode(np.array([code], dtype=dtype.code_type))[0])
    return f"0b{bits}" + (
        f", since {value} is stored as {value} + 2^{dtype.bits} = {code}" if value < 0 else ""
    )
