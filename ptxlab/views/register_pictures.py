"""The contents of a lane as bit fields, with bits and values, and where repacking takes each element.

A lane belongs to a warp and has registers, or to tensor memory and has columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, is_a, is_name
from ..errors import PtxlabError, counted, quoted
from ..isa.catalog import Product
from ..isa.dtypes import DType
from ..isa.form import Form
from ..isa.location import Place, Slot, bit_span
from ..isa.operand import Operand
from ..isa.parse import parse_any
from ..isa.repack import Repack
from ..isa.tcgen05 import TensorTransfer
from ..isa.tensor_operand import LANES, TensorOperand
from .bit_field_pictures import bit_fields
from .element_location import joined_runs
from .figure_arguments import as_product, figures_of, product_operand
from .fragment_pictures import operand_notes
from .grid import Cell, Grid, Header, State, as_part, hover_texts, numbered_grid
from .labels import index_range, number_text
from .picture import Picture

_MAX_REGISTERS = 8  # of an operand in a picture of a lane
_WHICH = "figures.tensor_memory shows which lanes do"
_MAX_COLUMNS = 16  # of tensor memory in a picture of one operand by default


def lane(
    ins: Form | str,
    operand: str | TensorOperand,
    lane: int,
    registers: ArrayLike | None = None,
    *,
    columns: range | None = None,
    title: bool = True,
) -> Picture:
    """The registers of one lane as bit fields, highest bit left; with registers, their bits and values.

    `registers` are those of all lanes, [lanes, registers], or of this lane alone.

    Of tcgen05.mma the lane is one of tensor memory, with its words in place of registers (`columns` shows
    others than the first 16); of tcgen05.ld and .st it is one of 128 threads. These take the operand in
    tensor memory that they move, such as D of a tcgen05.mma, in place of "R".

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> lane(ins, "A", 4, [0, 0, 0, 0x00500000]).grids[0].at(3, 10).lines
    ('a29', 'A[9][37]', '0101', '5')
    >>> load = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> d = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=8).d
    >>> lane(load, d, 37).grids[0].at(3, 0).lines   # thread 37, register 3
    ('D[41][3]', 'lane 41, column 3')
    """
    form = parse_any(ins)
    if isinstance(form, TensorTransfer):
        return _thread(form, operand, lane, registers, columns).with_title(title)
    if isinstance(operand, TensorOperand):
        raise PtxlabError(f"{form.mnemonic}: an operand in tensor memory goes with tcgen05.ld and tcgen05.st")
    if form.tensors:
        return _tensor_lane(as_product(form), operand, lane, registers, columns).with_title(title)
    if columns is not None:
        raise PtxlabError(
            f"columns={quoted(columns)}: {form.mnemonic} has no tensor memory to show a part of"
        )
    op = form.operand(operand)
    lane = op.place(lane, 0).lane  # refuses a lane that does not exist, and an operand in shared memory
    grid = _word_grid(
        _contents(op, lane), None if registers is None else _contents_of_lane(op, lane, registers)
    )
    notes = (*operand_notes(form, op), *_tint_notes([op.dtype]))
    return Picture(f"{op.name} in {op.holder} {lane} of {form.mnemonic}", notes, (grid,)).with_title(title)


def registers(ins: Product | str, lane: int, held: Mapping[str, ArrayLike] | None = None) -> Picture:
    """All registers of one lane as bit fields, operand by operand.

    `held` has the registers of all lanes by operand, to show their bits and values. Of tcgen05.mma it is all
    that a lane of tensor memory has of it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> [grid.title for grid in registers(ins, 5, {"A": ins.a.pack(np.ones((16, 64)))}).grids]
    ['A: 4 registers', 'B: 2 registers', 'C: 4 registers', 'D: 4 registers']
    """
    form = as_product(ins)
    tensor, holder = form.d.space == "tensor", form.d.holder
    lane = as_index(lane, holder, form.d.lanes)
    if held is not None and not isinstance(held, Mapping):
        raise PtxlabError(
            f"held: found {quoted(held)}; it takes registers by operand, such as {{'A': registers}}"
        )
    grids, notes, dtypes = [], ["highest bit on the left"], []
    for op in form.located.values():
        if op.layout is None:
            notes.append(f"{op.name}: in shared memory")
            continue
        contents = (held or {}).get(op.name)
        words = _contents(op, lane)
        if not words.fields:
            notes.append(f"{op.name}: nothing in this {holder}")
            continue
        grid = _word_grid(words, None if contents is None else _contents_of_lane(op, lane, contents))
        title = f"compressed {op.name}" if form.sparse and op.name == "A" else op.name
        title = f"{title}: {counted(words.count, words.noun)}"
        if words.count > _MAX_REGISTERS:
            grid = grid.part(range(_MAX_REGISTERS), range(words.bits))
            title = f"{title}, the first {_MAX_REGISTERS} shown"
        grids.append(replace(grid, title=title, new_line=tensor or op.name != "D"))
        dtypes.append(op.dtype)
    if not grids:
        raise PtxlabError(
            f"lane {lane} holds nothing of {form.full_name}; figures.tensor_memory shows which do"
        )
    notes += _tint_notes(dtypes)
    which = f"{holder.capitalize()} {lane}"
    if form.d.space == "tensor":
        pair = f"CTA {lane // LANES}, lane" if form.d.ctas > 1 else "Lane"
        which = f"{pair} {lane % LANES} of tensor memory"
    return Picture(f"{which} of {form.full_name}", tuple(notes), tuple(grids))


# -- tcgen05 ---------------------------------------------------------------------------------------------


def _tensor_lane(
    form: Product, name: str, lane: int, contents: ArrayLike | None, columns: range | None
) -> Picture:
    """What a lane of tensor memory has of an operand."""
    op = product_operand(form, "stored" if is_name(name, ("A", "a")) else name)
    if op.space != "tensor":
        raise PtxlabError(
            f"{op.name} of {form.full_name} is in shared memory, where no lane holds it; figures.fragment "
            "draws it there"
        )
    lane = as_index(lane, "lane", op.lanes)
    words = _contents(op, lane)
    if not words.fields:
        raise PtxlabError(f"lane {lane} holds nothing of {op.name} of {form.full_name}; {_WHICH}")
    grid = _word_grid(words, None if contents is None else _contents_of_lane(op, lane, contents))
    part = as_part(columns, "columns", op.columns)
    notes = [op.describe("compressed A" if op.name == "A" and form.sparse else "")]
    if columns is None and op.columns > _MAX_COLUMNS:
        part = range(_MAX_COLUMNS)
    if len(part) < op.columns:
        notes.append(f"columns {index_range(part.start, len(part))} of {op.columns}")
    notes.append(f"source: {op.source}")
    where = f"CTA {lane // LANES}, lane {lane % LANES}" if op.ctas > 1 else f"lane {lane}"
    return Picture(
        f"{op.name} in {where} of tensor memory, {form.full_name}",
        (*notes, *_tint_notes([op.dtype])),
        (grid.part(part, range(words.bits)),),
    )


def _thread(
    form: TensorTransfer,
    name: str | TensorOperand,
    thread: int,
    registers: ArrayLike | None,
    columns: range | None,
) -> Picture:
    """The registers of a thread after tcgen05.ld, or before tcgen05.st."""
    if "R" not in form.operands:
        raise PtxlabError(f"{form.mnemonic} has no registers with a place each; {figures_of(form)}")
    if columns is not None:
        raise PtxlabError(f"columns={quoted(columns)}: a thread has registers, and all of them are shown")
    of = None
    if isinstance(name, TensorOperand):
        of = name
    else:
        form.operand(name)  # refuses any other than R
    thread = as_index(thread, "thread", LANES)
    words = _words_of_thread(form, thread, of)
    contents = None
    if registers is not None:
        array = as_array(registers, "registers")
        if array.shape == (form.registers,):
            array = np.broadcast_to(array, (LANES, form.registers))
        if array.shape != (LANES, form.registers):
            raise PtxlabError(
                f"registers: found shape {array.shape}; {form.mnemonic} has [{LANES}, {form.registers}]"
            )
        contents = np.asarray(form.operands["R"].check_words(array)[thread])
    grid = _word_grid(words, contents)
    notes = [
        f"{counted(form.registers, 'register')} of each thread, {counted(form.columns, 'column')}",
        f"warp {thread // 32}, which has lanes {index_range(thread // 32 * 32, 32)} of tensor memory",
    ]
    if form.layout.shape[0] == 16:
        notes.append("drawn for an address in lane 0 of the warp's")
    moved = of.name if of is not None else "Registers"
    when = "after" if form.family == "tcgen05.ld" else "before"
    return Picture(
        f"{moved} in thread {thread} {when} {form.mnemonic}",
        (*notes, *_tint_notes([words.dtype])),
        (grid,),
    )


# -- words of 32 or 64 bits ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ElementBits:
    """The bits of an element, or of a part of it, in a word, with the texts of its cell and tooltip."""

    word: int
    low: int
    high: int
    names: tuple[str, ...]  # for its cell
    tooltip: tuple[str, ...]


@dataclass(frozen=True)
class _LaneContents:
    """What one lane holds: registers, or columns of tensor memory."""

    name: str
    noun: str
    count: int
    bits: int
    width: int  # bits from one element to the next
    dtype: DType
    lane: int  # whose colour the cells have
    fields: tuple[_ElementBits, ...]


def _contents(op: Operand | TensorOperand, lane: int) -> _LaneContents:
    """What a lane of a warp, or of tensor memory, holds of an operand."""
    fields, bits = [], 8 * op.register_type().itemsize
    for place, row, column in op.held_by(lane):
        index = f"{op.name}[{row}][{column}]"
        names, title = [index], index
        if isinstance(place, Place):
            name = f"{op.name.lower()}{place.element}"
            names = [name] if op.dtype.bits == 1 else [name, index]
            title = f"{name} = {index}"
        tooltip = (title, place.words(op))
        fields.append(_ElementBits(place.word, place.low, place.high, tuple(names), tooltip))
    tint = lane % LANES if op.space == "tensor" else lane
    return _LaneContents(
        op.name,
        op.word,
        count=op.word_count,
        bits=bits,
        width=op.width,
        dtype=op.dtype,
        lane=tint,
        fields=tuple(fields),
    )


def _words_of_thread(form: TensorTransfer, thread: int, of: TensorOperand | None) -> _LaneContents:
    """What a thread has in its registers, in words of tensor memory or in elements of an operand there."""
    bits = 16 if form.pack else 32
    dtype = form.operands["R"].dtype
    fields = []
    for element, (row, column) in enumerate(form.layout.coords()[thread % 32].tolist()):
        register, low = divmod(element * bits, 32)
        slot = Slot(thread, register, low, low + bits - 1)
        lane = 32 * (thread // 32) + row
        where = f"lane {lane}, column {column}"
        names: tuple[str, ...] = (where,)
        if of is not None:
            names = (_elements(of, of.holds(lane, column)), where)
        fields.append(_ElementBits(register, low, slot.high, names, (*names, slot.words())))
    if of is not None and of.width == 32 and of.dtype.bits == bits:
        dtype = of.dtype
    return _LaneContents(
        "R",
        "register",
        count=form.registers,
        bits=32,
        width=bits,
        dtype=dtype,
        lane=thread,
        fields=tuple(fields),
    )


def _elements(op: TensorOperand, places: Sequence[tuple[int, int]]) -> str:
    """``D[41][3]``, ``A[41][6..7]``, or ``no D`` for a free word."""
    if not places:
        return f"no {op.name}"
    (row, first), (last_row, last) = places[0], places[-1]
    if row != last_row and first == last:
        return f"{op.name}[{index_range(row, last_row - row + 1)}][{first}]"
    return f"{op.name}[{row}][{index_range(first, last - first + 1)}]"


def _tint_notes(dtypes: Sequence[DType]) -> list[str]:
    """How to read the tints of bits, if there are any."""
    floats = [dtype for dtype in dtypes if dtype.is_float]
    if not floats:
        return []
    sign = "blue: sign bit, " if any(dtype.signed for dtype in floats) else ""
    return [f"{sign}orange: exponent, the rest: fraction"]


def _word_grid(words: _LaneContents, contents: NDArray[Any] | None) -> Grid:
    """Registers or columns, a row each; with contents, their bits and values."""
    cells, hover = [], np.full((words.count, words.bits), "padding", dtype=object)
    if words.noun == "column":
        hover[:] = "free"
    covered = np.zeros((words.count, words.bits), dtype=bool)
    for at in words.fields:
        start, width = words.bits - 1 - at.high, at.high - at.low + 1
        whole = width == words.dtype.bits
        fields = bit_fields(words.dtype)
        lines, tooltip = list(at.names), list(at.tooltip)
        if contents is not None and whole:
            code = int(contents[at.word]) >> at.low & (1 << width) - 1
            fields = bit_fields(words.dtype, code)
            pattern = " ".join(field.text for field in fields if field.text)
            value = number_text(words.dtype.decode(np.array(code, dtype=words.dtype.code_type)), 6)
            lines.append(pattern)
            if words.dtype.kind != "bits":
                lines.append(value)
            tooltip.append(f"{pattern} = {value}")
        tinted = tuple(fields) if words.dtype.is_float and whole else ()
        cells.append(Cell(at.word, start, 1, width, tuple(lines), words.lane, fields=tinted))
        hover[at.word, start : start + width] = "\n".join(tooltip)
        covered[at.word, start : start + width] = True
    for word, start, width in _gaps(covered, words.width if words.noun == "register" else words.bits):
        cells.append(Cell(word, start, 1, width, (), words.lane if words.noun == "register" else None, "dim"))
    rows = []
    for word in range(words.count):
        head = [f"{words.noun} {word}"]
        if contents is not None:
            head.append(f"0x{int(contents[word]):0{words.bits // 4}x}")
        rows.append(Header(word, 1, tuple(head)))
    step = min(words.width, 8)
    step = step if words.bits % step == 0 else 8
    columns = tuple(
        Header(at, step, (bit_span(words.bits - at - step, words.bits - 1 - at),))
        for at in range(0, words.bits, step)
    )
    shape = words.count, words.bits
    return Grid(shape, tuple(cells), hover, tuple(rows), columns, ("", "bit"), name=words.name)


def _gaps(covered: NDArray[np.bool_], step: int) -> Iterator[tuple[int, int, int]]:
    """Word, start and width of runs of free bits, cut at multiples of a step."""
    for word, bits in enumerate(covered):
        free = [at for at, taken in enumerate(bits.tolist()) if not taken]
        starts = [at for at in free if at - 1 not in free or at % step == 0]
        for start in starts:
            stop = start + 1
            while stop in free and stop % step:
                stop += 1
            yield word, start, stop - start


def _contents_of_lane(op: Operand | TensorOperand, lane: int, registers: ArrayLike) -> NDArray[Any]:
    """The registers, or words, of one lane, out of those of all lanes or of this lane alone."""
    array = as_array(registers, op.name)
    lanes, words = op.stored_shape
    if array.shape == (words,):
        array = np.broadcast_to(array, (lanes, words))
    if array.ndim > 2:
        raise PtxlabError(
            f"{op.name}: found shape {array.shape}; a picture shows one set of registers, without a batch"
        )
    return np.asarray(op.check_registers(array)[lane])


# -- from registers to registers -------------------------------------------------------------------------


_WARP = 32
_MAX_REPACK_COLUMNS = 128  # of a matrix that a picture shows


def repack(
    plan: Repack, rows: int | None = None, columns: int | None = None, *, title: bool = True
) -> Picture:
    """The matrix twice: lane and register of each element in the source, and in the target.

    Colours are those of the source's lanes on both sides; what changes its lane is outlined. Of a warpgroup
    the first warp is shown: the others do the same. `rows` and `columns` limit the part shown.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
    >>> before, after = repack(ptxlab.repack(ins.d, ins.a)).grids
    >>> before.at(0, 2).text, after.at(0, 2).text, after.at(0, 2).state
    ('T1 in0,in1', 'T0 out0', 'mark')
    """
    if not is_a(plan, Repack):
        raise PtxlabError(f"found {quoted(plan)}; ptxlab.repack(source, target) gives a plan")
    width = plan.target_endpoint.shape[1]
    if width > _MAX_REPACK_COLUMNS:
        raise PtxlabError(f"a matrix of {width} columns: a picture shows {_MAX_REPACK_COLUMNS}")
    lanes, slots = plan.origins
    cells = plan.target_endpoint.cells
    first_warp = np.arange(len(lanes)) < _WARP
    places = sorted({*(cells[first_warp] // width).ravel().tolist()})
    row_of = {row: index for index, row in enumerate(places)}
    before = np.full((len(places), width, 2), -1)  # lane and register
    after = np.full((len(places), width, 2), -1)
    per_register = [
        32 // endpoint.bits if endpoint.bits < 32 else 1
        for endpoint in (plan.source_endpoint, plan.target_endpoint)
    ]
    for lane, slot in np.ndindex(_WARP, cells.shape[1]):
        row, column = divmod(int(cells[lane, slot]), width)
        place = row_of[row], column
        if after[place][0] < 0 or lanes[lane, slot] == lane:  # of several copies, one that stays in its lane
            before[place] = lanes[lane, slot], slots[lane, slot] // per_register[0]
            after[place] = lane, slot // per_register[1]
    moved = f"{plan.moved} of {plan.elements}" if plan.moved else "no"
    notes = [f"{moved} elements change lanes", "colours: the lane that holds it before"]
    if plan.moved:
        notes.append("outlined: it comes from another lane")
    if plan.lanes > _WARP:
        notes.append("the first warp")
    if rows is not None or columns is not None:
        shown = _as_part(rows, len(places), "rows"), _as_part(columns, width, "columns")
        notes.append(f"{shown[0]} of {len(places)} rows, {shown[1]} of {width} columns")
        before, after = (side[: shown[0], : shown[1]] for side in (before, after))
        places = places[: shown[0]]
    grids = (
        _grid(before, after, before[..., 0], "in", "before", places),
        _grid(after, before, before[..., 0], "out", "after", places),
    )
    return Picture(plan.describe(), tuple(notes), grids).with_title(title)


def _as_part(count: int | None, size: int, name: str) -> int:
    """How many rows or columns are shown."""
    if count is None:
        return size
    number = as_int(count, name)
    if not 1 <= number <= size:
        raise PtxlabError(f"{name}={quoted(number)}: the matrix has 1 to {size}")
    return number


def _grid(
    places: NDArray[np.int64],
    others: NDArray[np.int64],
    hues: NDArray[np.int64],
    stem: str,
    title: str,
    rows: list[int],
) -> Grid:
    """One side of a plan: adjacent elements with the same lane before and after are one cell."""
    word, other = ("goes to", "out") if stem == "in" else ("comes from", "in")

    def text(row: int, column: int) -> str:
        (lane, register), (other_lane, other_register) = places[row, column], others[row, column]
        return (
            f"row {rows[row]}, column {column}\nlane {lane}, register {stem}{register}\n"
            f"{word} lane {other_lane}, register {other}{other_register}"
        )

    alike = (np.diff(places[..., 0]) == 0) & (np.diff(others[..., 0]) == 0)
    cells = []
    for row, joined in enumerate(alike):
        for start, stop in joined_runs(joined):
            lane = int(places[row, start, 0])
            registers = dict.fromkeys(places[row, start:stop, 1].tolist())
            names = ",".join(f"{stem}{number}" for number in registers)
            state: State = "mark" if stem == "out" and lane != others[row, start, 0] else "plain"
            hue = int(hues[row, start]) % _WARP
            cells.append(Cell(row, start, 1, stop - start, (f"T{lane}", names), hue, state))
    hover = hover_texts((len(places), places.shape[1]), text)
    return replace(numbered_grid(cells, hover, title=title, density="close"), new_line=stem == "out")
