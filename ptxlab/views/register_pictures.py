"""The registers of a lane as bit fields: which element lies where, and with contents, its bits and value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index
from ..errors import PtxlabError, counted, quoted
from ..isa.dtypes import DType
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_mma
from .fragment_pictures import operand_notes
from .grid import BitField, Cell, FieldRole, Grid, Header
from .labels import bit_range, number_text
from .picture import Picture

__all__ = ["lane", "registers"]

_MOST_REGISTERS = 8  # of an operand that a picture of a lane shows


def lane(ins: MmaForm | str, name: str, lane: int, registers: ArrayLike | None = None) -> Picture:
    """The registers of one lane as bit fields, highest bit left; with registers, their bits and values.

    `registers` are those of all lanes, [lanes, registers], or of this lane alone.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> lane(ins, "A", 4, [0, 0, 0, 0x00500000]).grids[0].at(3, 10).lines
    ('a29', 'A[9][37]', '0101', '5')
    """
    ins = parse_mma(ins)
    op = ins.operand(name)
    lane = op.place(lane, 0).lane  # refuses a lane that does not exist, and an operand in shared memory
    grid = _register_grid(op, lane, None if registers is None else _of_lane(op, lane, registers))
    notes = (*operand_notes(ins, op), *_tint_notes([op.dtype]))
    return Picture(f"{op.name} in lane {lane} of {ins.mnemonic}", notes, (grid,))


def registers(ins: MmaForm | str, lane: int, held: Mapping[str, ArrayLike] | None = None) -> Picture:
    """All registers of one lane as bit fields, operand by operand.

    `held` has the registers of all lanes by operand, to show their bits and values.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> [grid.title for grid in registers(ins, 5, {"A": ins.a.pack(np.ones((16, 64)))}).grids]
    ['A: 4 registers', 'B: 2 registers', 'C: 4 registers', 'D: 4 registers']
    """
    ins = parse_mma(ins)
    lane = as_index(lane, "lane", ins.lanes)
    if held is not None and not isinstance(held, Mapping):
        raise PtxlabError(
            f"held: found {quoted(held)}; it takes registers by operand, such as {{'A': registers}}"
        )
    grids, notes = [], ["highest bit on the left"]
    for name, op in ins.operands.items():
        if op.layout is None:
            notes.append(f"{name}: in shared memory")
            continue
        contents = (held or {}).get(name)
        grid = _register_grid(op, lane, None if contents is None else _of_lane(op, lane, contents))
        title = f"compressed {name}" if ins.sparse and name == "A" else name
        title = f"{title}: {counted(op.registers, 'register')}"
        if op.registers > _MOST_REGISTERS:
            grid = grid.part(range(_MOST_REGISTERS), range(op.register_bits))
            title = f"{title}, the first {_MOST_REGISTERS} shown"
        grids.append(replace(grid, title=title, new_line=name != "D"))
    notes += _tint_notes([op.dtype for op in ins.operands.values() if op.layout is not None])
    return Picture(f"Lane {lane} of {ins.mnemonic}", tuple(notes), tuple(grids))


def _tint_notes(dtypes: Sequence[DType]) -> list[str]:
    """How the tints of bits are read, where there are any."""
    floats = [dtype for dtype in dtypes if dtype.is_float]
    if not floats:
        return []
    sign = "blue: sign bit, " if any(dtype.signed for dtype in floats) else ""
    return [f"{sign}orange: exponent"]


def _register_grid(op: Operand, lane: int, contents: NDArray[Any] | None) -> Grid:
    """The registers of an operand in one lane, a row each; with contents, their bits and values."""
    lane = op.place(lane, 0).lane  # refuses a lane that does not exist, and an operand in shared memory
    codes = None if contents is None else op.split(contents[None, :])[0]
    values = None if codes is None else op.dtype.decode(codes)
    cells, hover = [], np.full((op.registers, op.register_bits), "padding", dtype=object)
    for place, row, column in op.holds(lane):
        name, index = f"{op.name.lower()}{place.element}", f"{op.name}[{row}][{column}]"
        bits = bit_range(place.low, place.high)
        lines = [name] if op.dtype.bits == 1 else [name, index]
        tooltip = [f"{name} = {index}", f"lane {lane}, register {place.register}, bits {bits}"]
        fields = _bit_fields(op.dtype)
        if codes is not None and values is not None:
            fields = _bit_fields(op.dtype, int(codes[place.element]))
            pattern = " ".join(field.text for field in fields if field.text)
            value = number_text(values[place.element], 6)
            lines.append(pattern)
            if op.dtype.kind != "bits":
                lines.append(value)
            tooltip.append(f"{pattern} = {value}")
        start = op.register_bits - 1 - place.high
        tinted = tuple(fields) if op.dtype.is_float else ()
        cells.append(Cell(place.register, start, 1, op.dtype.bits, tuple(lines), lane, fields=tinted))
        hover[place.register, start : start + op.dtype.bits] = "\n".join(tooltip)
        above = op.container - op.padding - op.dtype.bits if op.container else 0
        for column, width in ((start - above, above), (start + op.dtype.bits, op.padding)):
            if width:
                cells.append(Cell(place.register, column, 1, width, (), lane, "dim"))
    rows = []
    for register in range(op.registers):
        head = [f"register {register}"]
        if contents is not None:
            head.append(f"0x{int(contents[register]):0{op.register_bits // 4}x}")
        rows.append(Header(register, 1, tuple(head)))
    step = min(op.width, 8)
    columns = tuple(
        Header(at, step, (_bit_heading(op.register_bits - 1 - at, step),))
        for at in range(0, op.register_bits, step)
    )
    shape = op.registers, op.register_bits
    return Grid(shape, tuple(cells), hover, tuple(rows), columns, ("", "bit"), name=op.name)


def _bit_heading(high: int, step: int) -> str:
    return str(high) if step == 1 else f"{high}..{high - step + 1}"


def _of_lane(op: Operand, lane: int, registers: ArrayLike) -> NDArray[Any]:
    """The registers of one lane, out of those of all lanes or of this lane alone."""
    array = as_array(registers, op.name)
    if array.shape == (op.registers,):
        array = np.broadcast_to(array, (op.lanes, op.registers))
    lane = op.place(lane, 0).lane  # refuses a lane that does not exist
    if array.ndim > 2:
        raise PtxlabError(
            f"{op.name}: found shape {array.shape}; a picture shows one set of registers, without a batch"
        )
    return np.asarray(op.check_registers(array)[lane])


def _bit_fields(dtype: DType, code: int | None = None) -> list[BitField]:
    """What the bits of a type are, highest first, with their values if there is a code."""
    text = "" if code is None else f"{code:0{dtype.bits}b}"
    if not dtype.is_float:
        return [BitField("fraction", dtype.bits, text)]
    parts: list[tuple[FieldRole, int]] = [
        ("sign", int(dtype.signed)),
        ("exponent", dtype.exponent_bits),
        ("fraction", dtype.fraction_bits),
        ("ignored", dtype.ignored_bits),
    ]
    above = dtype.bits - sum(bits for _, bits in parts)  # an unsigned type in more bits than it has
    fields = [BitField("ignored", above)] if above else []
    at = above
    for role, bits in parts:
        if bits:
            fields.append(BitField(role, bits, text[at : at + bits]))
        at += bits
    return fields
