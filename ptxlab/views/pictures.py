"""What the manual draws: fragment layouts, metadata, block scales, and the registers of a lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.dtypes import DType
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..memory import Tile
from .picture import Cell, Grid, Header, Picture, bits, headers, names, owners, runs

__all__ = ["Label", "fragment", "lane", "metadata", "registers", "scales", "tile"]

Label = Literal["auto", "elements", "registers", "lanes", "none"]
_MOST_REGISTERS = 8  # of an operand that a picture of a lane shows
_MOST_LABELS = (
    300  # beyond this a labelled picture no longer fits a screen; `warp` shows a quarter of a warpgroup's
)


def fragment(
    ins: MmaForm,
    name: str,
    *,
    label: Label = "auto",
    lane: int | None = None,
    warp: int | None = None,
    dense: bool = False,
    swizzle: int = 0,
) -> Picture:
    """Who holds what of an operand: a cell for every run of neighbouring elements in a lane.

    `warp` shows the rows of one warp of a warpgroup. `dense` shows A of a sparse instruction as it is meant: a lane answers for
    twice the columns it stores. An operand in shared memory shows its tile, with that swizzle.

    >>> import ptxlab
    >>> picture = fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A")
    >>> print(picture.grids[0].hover[9, 37])
    A[9][37]
    lane 4, element a29
    register 3, bits [23..20]
    """
    if label not in get_args(Label):
        raise PtxlabError(f"label={label!r}: a label is one of {listing(get_args(Label))}")
    stored = ins.operand(name)
    if stored.name == "E":
        return metadata(ins, warp=warp)
    if stored.name in ("SFA", "SFB"):
        return scales(ins)
    if dense and not (ins.sparse and stored.name == "A"):
        raise PtxlabError(
            f"dense=True: only A of a sparse instruction is stored otherwise than it is meant, found {stored.name} of {ins.mnemonic}"
        )
    op = ins.a_dense if dense else stored
    if op.layout is None or stored.layout is None:
        if warp is not None:
            raise PtxlabError(
                f"warp={warp!r}: {op.name} of {ins.mnemonic} lives in shared memory, where no warp has a part of its own"
            )
        return tile(ins, stored, swizzle)
    rows = warp_rows(stored, warp)
    if swizzle:
        raise PtxlabError(
            f"swizzle={swizzle}: {op.name} of {ins.mnemonic} lives in registers, there is nothing to swizzle"
        )
    if lane is not None:
        stored.place(lane, 0)
    lanes, elements = owners(op.layout)
    spans = _chunks(ins) if dense else runs(lanes, elements)
    if label == "auto":
        label = "elements" if len(spans) * len(rows) <= _MOST_LABELS * op.shape[0] else "none"
    share = 2 if dense else 1
    cells = []
    for row, column, height, width in spans:
        held, first, count = (
            int(lanes[row, column]),
            int(elements[row, column]) // share,
            max(height, width) // share,
        )
        line = _label(stored, label, held, range(first, first + count))
        state: Literal["plain", "dim", "mark"] = (
            "plain" if lane is None else "mark" if held == lane else "dim"
        )
        cells.append(Cell(row, column, height, width, line, held, state))
    hover = (
        _dense_hover(ins)
        if dense
        else _hover(op, lanes, elements, "stored " if ins.sparse and op.name == "A" else "")
    )
    tall, wide = (spans[0][2], spans[0][3]) if label != "none" else (8, 16 if op.shape[1] <= 128 else 32)
    stacked = getattr(ins, "products", 1) > 1  # quad pairs, below each other or, in B, side by side
    warps = (
        tuple(range(16, op.shape[0], 16))
        if op.lanes > 32
        else tuple(range(8, op.shape[0], 8))
        if stacked and op.name != "B"
        else ()
    )
    grid = Grid(
        op.shape,
        tuple(cells),
        hover,
        headers(op.shape[0], tall if tall > 2 else 1),
        headers(op.shape[1], wide if wide > 2 or dense else 1),
        op.axes,
        row_rules=warps,
    )
    said = f"{_kind(stored, dense, ins)}{warp_said(rows, warp)}; hue: lane / 4, shade: lane % 4"
    return Picture(f"{op.name} of {ins.mnemonic}", said, (grid.part(rows, range(op.shape[1])),))


def warp_rows(op: Operand, warp: int | None) -> range:
    """The rows whose elements a warp holds; all of them without one."""
    warps = op.lanes // 32
    if warp is None:
        return range(op.shape[0])
    if warp not in range(warps):
        raise PtxlabError(
            f"warp={warp!r}: {op.name} is held by {op.lanes} lanes, which are warp{'s' * (warps > 1)} {listing(range(warps))}"
        )
    each = op.shape[0] // warps
    return range(warp * each, (warp + 1) * each)


def warp_said(rows: range, warp: int | None) -> str:
    return (
        ""
        if warp is None
        else f"; warp {warp}: lanes {32 * warp}..{32 * warp + 31}, rows {rows[0]}..{rows[-1]}"
    )


def _chunks(ins: MmaForm) -> list[tuple[int, int, int, int]]:
    """The chunks of dense A, as (row, column, height, width)."""
    width = ins.structure.chunk if ins.structure else 1
    return [(row, column, 1, width) for row in range(ins.m) for column in range(0, ins.k, width)]


def _kind(op: Operand, dense: bool, ins: MmaForm) -> str:
    said = op.describe()
    if op.note:
        said = f"{said}; {op.note}"
    if op.name == "A" and ins.sparse and ins.structure is not None:
        if dense:
            return f"A {ins.m}x{ins.k} as it is meant, {ins.structure.title} sparse: a cell is a chunk and the stored elements it becomes"
        return f"A as it is stored: {said[2:]}"
    return said


def _label(op: Operand, label: Label, lane: int, elements: range) -> tuple[str, ...]:
    if label == "none":
        return ()
    if label == "lanes":
        return (f"T{lane}",)
    if label == "registers":
        first, last = (op.place(lane, element).register for element in (elements[0], elements[-1]))
        return (f"T{lane}:{names('r', range(first, last + 1))}",)
    return (f"T{lane}:{names(op.name.lower(), elements)}",)


def _hover(op: Operand, lanes: NDArray[np.int64], elements: NDArray[np.int64], how: str) -> NDArray[Any]:
    prefix = op.name.lower()
    said = np.empty(op.shape, dtype=object)
    places = [op.place(0, element) for element in range(op.layout.elements)] if op.layout else []
    for (row, column), lane in np.ndenumerate(lanes):
        place = places[int(elements[row, column])]
        element = f"lane {lane}, element {prefix}{place.element}"
        said[row, column] = (
            f"{how}{op.name}[{row}][{column}]\n{element}\nregister {place.register}, bits {bits(place.low, place.high)}"
        )
    return said


def _dense_hover(ins: MmaForm) -> NDArray[Any]:
    """For every element of dense A: the stored elements it may become, and the nibble that decides."""
    structure, stored, e = ins.structure, ins.a, ins.e
    if structure is None or e is None or stored.layout is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no sparse A in registers")
    kept = structure.keep * structure.group
    lanes, elements = owners(stored.layout)
    address_lanes, nibbles = owners(e.layout)
    read = " (selector 0)" if len(ins.selectors) > 1 else ""
    said = np.empty((ins.m, ins.k), dtype=object)
    for row, column in np.ndindex(ins.m, ins.k):
        chunk = column // structure.chunk
        first = int(elements[row, chunk * kept])
        low = 4 * int(nibbles[row, chunk])
        said[row, column] = (
            f"A[{row}][{column}], chunk {chunk} (columns {chunk * structure.chunk}..{(chunk + 1) * structure.chunk - 1})\n"
            f"if kept: lane {lanes[row, chunk * kept]}, {_either([f'a{i}' for i in range(first, first + kept)])}\n"
            f"which: nibble {bits(low, low + 3)} of E in lane {address_lanes[row, chunk]}{read}"
        )
    return said


def _either(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"one of {options[0]}..{options[-1]}"


def tile(ins: MmaForm, op: Operand, swizzle: int = 0) -> Picture:
    """An operand in shared memory, K-major: the 16-byte pieces of every row with their byte offsets; 8 rows of a piece are a core matrix.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    >>> [cell.text for cell in tile(ins, ins.b, swizzle=32).grids[0].cells[8:12]]   # n 4 and 5: from row 4 on the pieces change places
    ['0x0090', '0x0080', '0x00b0', '0x00a0']
    """
    where = Tile.of(op, swizzle)
    per_piece = 128 // op.dtype.bits
    columns = where.row_bytes // 16
    lettered = where.rows <= 64
    cells, hover = [], np.empty((where.rows, columns), dtype=object)
    outer, axis = (op.axes[0], "row") if op.axes[0] == "m" else (op.axes[1], "column")
    for row, piece in np.ndindex(where.rows, columns):
        offset = int(where.offset(row, piece * per_piece))
        cells.append(
            Cell(row, piece, 1, 1, (f"0x{offset:04x}",) if lettered else (), row // 8 % 8 * 4 + piece % 4)
        )
        span = f"k {piece * per_piece}..{(piece + 1) * per_piece - 1}"
        core = f"core matrix {row // 8 * columns + piece}, row {row % 8} of 8"
        hover[row, piece] = (
            f"{axis} {row} of {op.name}, {span}\nbytes {offset}..{offset + 15} of the tile\n{core}"
        )
    heads = tuple(Header(p, 1, (f"k {p * per_piece}..{(p + 1) * per_piece - 1}",)) for p in range(columns))
    sides = headers(where.rows, 1 if lettered else 8)
    grid = Grid(
        (where.rows, columns),
        tuple(cells),
        hover,
        sides,
        heads,
        (outer, ""),
        row_rules=tuple(range(8, where.rows, 8)),
    )
    said = f"{op.describe()}, {where.size} bytes, {f'{swizzle}-byte swizzle' if swizzle else 'no swizzle'}; a core matrix is 8 rows of 16 bytes"
    strides = f"leading {where.leading}, stride {where.stride} bytes"
    return Picture(f"{op.name} of {ins.mnemonic} in shared memory", f"{said}; {strides}", (grid,))


def metadata(
    ins: MmaForm, nibbles: ArrayLike | None = None, selector: int = 0, *, warp: int | None = None
) -> Picture:
    """Which lane's which bits say what is kept of every chunk, under one sparsity selector; `warp` shows the rows of one warp.

    >>> import ptxlab
    >>> metadata(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), selector=1).grids[0].at(9, 3).text
    'T7: [15..12]'
    """
    structure, e = ins.structure, ins.e
    if structure is None or e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    if selector not in ins.selectors:
        raise PtxlabError(f"selector={selector!r}: {ins.mnemonic} takes {listing(ins.selectors)}")
    given = None if nibbles is None else np.asarray(nibbles)
    if given is not None and given.shape != e.shape:
        raise PtxlabError(
            f"nibbles: found shape {given.shape}; {ins.mnemonic} has one for each of {e.shape[0]} rows and {e.shape[1]} chunks"
        )
    if given is not None:
        structure.positions(given, ins.metadata_ordered)
    rows = warp_rows(e, warp)
    lanes, elements = owners(e.layout, selector)
    kept = ins.nibbles
    cells, hover = [], np.empty(e.shape, dtype=object)
    for row, chunk in np.ndindex(*e.shape):
        lane, place = int(lanes[row, chunk]), e.place(int(lanes[row, chunk]), int(elements[row, chunk]))
        lines = [f"T{lane}: {bits(place.low, place.high)}"]
        said = [
            f"row {row}, chunk {chunk}: columns {chunk * structure.chunk}..{(chunk + 1) * structure.chunk - 1} of A"
        ]
        said.append(f"lane {lane}, bits {bits(place.low, place.high)} of E, selector {selector}")
        if given is not None:
            nibble = int(given[row, chunk])
            lines += [f"0b{nibble:04b}", _kept(chunk, structure.chunk, structure.group, kept[nibble])]
            said.append(
                f"nibble 0b{nibble:04b} keeps columns {_kept(chunk, structure.chunk, structure.group, kept[nibble])}"
            )
        cells.append(Cell(row, chunk, 1, 1, tuple(lines), lane))
        hover[row, chunk] = "\n".join(said)
    heads = tuple(
        Header(c, 1, (f"chunk {c}", f"k {c * structure.chunk}..{(c + 1) * structure.chunk - 1}"))
        for c in range(e.shape[1])
    )
    warps = tuple(range(16, e.shape[0], 16)) if e.lanes > 32 else ()
    grid = Grid(e.shape, tuple(cells), hover, headers(e.shape[0], 1), heads, ("m", ""), row_rules=warps)
    speaking = _speakers(set(lanes.ravel().tolist()), "lanes read") if e.layout.copies > 1 else ()
    each = f"{structure.title} sparsity: one nibble for {structure.chunk} columns"
    shown = "" if given is None else "; nibble; columns of A it keeps"
    subtitle = f"{each}{warp_said(rows, warp)}; T<lane>: [bits] of its E register, selector {selector}{shown}"
    return Picture(f"Metadata E of {ins.mnemonic}", subtitle, (grid.part(rows, range(e.shape[1])), *speaking))


def _kept(chunk: int, width: int, group: int, groups: tuple[int, ...]) -> str:
    """The columns of A that a nibble keeps: ``5,7`` or, in pairs, ``8-9,14-15``."""
    firsts = [chunk * width + g * group for g in groups]
    return ",".join(str(first) if group == 1 else f"{first}-{first + group - 1}" for first in firsts)


def _speakers(speaking: set[int], title: str) -> tuple[Grid]:
    """The 32 lanes as 8 groups of 4, those that speak in colour."""
    cells = tuple(
        Cell(lane // 4, lane % 4, 1, 1, (f"T{lane}",), lane if lane in speaking else None)
        for lane in range(32)
    )
    hover = np.array(
        [f"lane {lane} {'speaks' if lane in speaking else 'is not read'}" for lane in range(32)], dtype=object
    ).reshape(8, 4)
    return (Grid((8, 4), cells, hover, headers(8, 1), headers(4, 1), ("group", "thread"), title),)


def scales(
    ins: MmaForm,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    *,
    byte_id_a: int = 0,
    thread_id_a: int = 0,
    byte_id_b: int = 0,
    thread_id_b: int = 0,
) -> Picture:
    """Which lane's which byte scales which block of A and of B, under the byte-id and thread-id selectors; with scales, also their values.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
    >>> scales(ins, thread_id_a=1).grids[0].at(9, 0).text
    'T7: [7..0]'
    """
    if ins.scale_a is None or ins.scale_b is None:
        raise PtxlabError(f"{ins.mnemonic} has no block scales; forms with .block_scale have")
    chosen = {
        "byte_id_a": byte_id_a,
        "thread_id_a": thread_id_a,
        "byte_id_b": byte_id_b,
        "thread_id_b": thread_id_b,
    }
    for key, value in chosen.items():
        if value not in ins.modifiers[key]:
            raise PtxlabError(f"{key}={value!r}: {ins.mnemonic} takes {listing(ins.modifiers[key])}")
    grids: list[Grid] = []
    both = (
        (ins.scale_a, "A", byte_id_a, thread_id_a, scale_a),
        (ins.scale_b, "B", byte_id_b, thread_id_b, scale_b),
    )
    for op, of, byte, thread, given in both:
        grids += _scale_grids(ins, op, of, byte, thread, None if given is None else op.check_matrix(given))
    what = f"{ins.scale_a.dtype}, one byte for {ins.k // (ins.scale_vec or 1)} elements along k"
    return Picture(
        f"Block scales of {ins.mnemonic}", f"{what}; T<lane>: [bits] of its scale register", tuple(grids)
    )


def _scale_grids(
    ins: MmaForm, op: Operand, of: str, byte: int, thread: int, given: NDArray[Any] | None
) -> tuple[Grid, ...]:
    if op.layout is None or ins.scale_vec is None:
        raise PtxlabError(f"{ins.mnemonic} has no block scales in registers")
    lanes, elements = owners(op.layout, thread * (4 // ins.scale_vec) + byte // ins.scale_vec)
    length, cells, hover = ins.k // ins.scale_vec, [], np.empty(op.shape, dtype=object)
    for row, column in np.ndindex(*op.shape):
        lane, element = int(lanes[row, column]), int(elements[row, column])
        block = column if of == "A" else row
        at, place = (f"A[{row}]" if of == "A" else f"column {column} of B"), op.place(lane, element)
        value = () if given is None else (_number(given[row, column]),)
        cells.append(Cell(row, column, 1, 1, (f"T{lane}: {bits(place.low, place.high)}", *value), lane))
        span = f"{'times '.join(('', *value))}k {block * length}..{(block + 1) * length - 1}"
        hover[row, column] = (
            f"scales {at}, {span}\nlane {lane}, byte {element} (bits {bits(place.low, place.high)}) of scale-{of.lower()}-data"
        )
    blocks = tuple(
        Header(b, 1, (f"block {b}", f"k {b * length}..{(b + 1) * length - 1}")) for b in range(ins.scale_vec)
    )
    rows, columns = (headers(op.shape[0], 1), blocks) if of == "A" else (blocks, headers(op.shape[1], 1))
    title = f"scale-{of.lower()}-data: byte-id {byte}, thread-id {thread}"
    axes = ("m", "") if of == "A" else ("", "n")
    grid = Grid(op.shape, tuple(cells), hover, rows, columns, axes, title, below=of == "B")
    return (grid, *_speakers(set(lanes.ravel().tolist()), f"lanes read for {of}"))


def lane(ins: MmaForm, name: str, lane: int, registers: ArrayLike | None = None) -> Picture:
    """The registers of one lane as bit fields, highest bit left; with registers, the bits and values in them.

    `registers` are those of all lanes, [lanes, registers], or of this lane alone.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> lane(ins, "A", 4, [0, 0, 0, 0x00500000]).grids[0].at(3, 10).lines
    ('a29', 'A[9][37]', '0101', '5')
    """
    op = ins.operand(name)
    op.place(lane, 0)
    held = None if registers is None else _of_lane(op, lane, registers)
    codes = None if held is None else op.split(held[None, :])[0]
    values = None if codes is None else op.dtype.decode(codes)
    cells, hover = [], np.full((op.registers, op.register_bits), "padding", dtype=object)
    for place, row, column in op.holds(lane):
        element = f"{op.name.lower()}{place.element}"
        lines, said = (
            [element],
            [
                f"{element} = {op.name}[{row}][{column}]",
                f"lane {lane}, register {place.register}, bits {bits(place.low, place.high)}",
            ],
        )
        if op.dtype.bits > 1:
            lines.append(f"{op.name}[{row}][{column}]")
        if codes is not None and values is not None:
            pattern, value = _pattern(op.dtype, int(codes[place.element])), _number(values[place.element])
            lines += [pattern] if op.dtype.bits == 1 or op.dtype.kind == "bits" else [pattern, value]
            said.append(f"{pattern} = {value}")
        start = op.register_bits - 1 - place.high
        cells.append(Cell(place.register, start, 1, op.dtype.bits, tuple(lines), lane))
        hover[place.register, start : start + op.dtype.bits] = "\n".join(said)
        above, below = op.container and op.container - op.padding - op.dtype.bits, op.padding
        gaps = ((start - above, above), (start + op.dtype.bits, below))
        cells += [Cell(place.register, at, 1, width, (), lane, "dim") for at, width in gaps if width]
    digits = (
        [()] * op.registers
        if held is None
        else [(f"0x{int(register):0{op.register_bits // 4}x}",) for register in held]
    )
    rows = tuple(Header(r, 1, (f"register {r}", *digits[r])) for r in range(op.registers))
    step = op.width if op.width < 8 else 8
    columns = tuple(
        Header(i, step, _bit_head(op.register_bits - 1 - i, step)) for i in range(0, op.register_bits, step)
    )
    grid = Grid((op.registers, op.register_bits), tuple(cells), hover, rows, columns, ("", "bit"))
    return Picture(f"{op.name} in lane {lane} of {ins.mnemonic}", _kind(op, False, ins), (grid,))


_one_lane = lane


def registers(ins: MmaForm, lane: int, held: Mapping[str, ArrayLike] | None = None) -> Picture:
    """All registers of one lane as bit fields, operand by operand; with what all lanes hold, the bits and values in them.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> [grid.title for grid in registers(ins, 5, {"A": ins.a.pack(np.ones((16, 64)))}).grids]
    ['A: 4 registers', 'B: 2 registers', 'C: 4 registers', 'D: 4 registers']
    """
    grids = []
    for name, op in ins.operands.items():
        if op.layout is not None:
            (grid,) = _one_lane(ins, name, lane, (held or {}).get(name)).grids
            title = f"{name}{' as it is stored' * (ins.sparse and name == 'A')}: {op.registers} register{'s' * (op.registers > 1)}"
            if op.registers > _MOST_REGISTERS:
                grid, title = (
                    grid.part(range(_MOST_REGISTERS), range(op.register_bits)),
                    f"{title}, 0 to {_MOST_REGISTERS - 1} of them",
                )
            grids.append(replace(grid, title=title, below=name != "D"))
    shared = [name for name, op in ins.operands.items() if op.layout is None]
    rest = f"; {' and '.join(shared)}: in shared memory" if shared else ""
    return Picture(f"Lane {lane} of {ins.mnemonic}", f"highest bit left{rest}", tuple(grids))


def _bit_head(high: int, step: int) -> tuple[str, ...]:
    return (str(high),) if step == 1 else (f"{high}..{high - step + 1}",)


def _of_lane(op: Operand, lane: int, registers: ArrayLike) -> NDArray[Any]:
    found = np.asarray(registers)
    if found.shape == (op.registers,):
        found = np.broadcast_to(found, (op.lanes, op.registers))
    return np.asarray(op.check_registers(found)[lane])


def _pattern(kind: DType, code: int) -> str:
    """The bits of a code; of a float, sign, exponent and fraction apart."""
    text = f"{code:0{kind.bits}b}"
    if not kind.is_float:
        return text
    cuts = np.cumsum(
        [0, int(kind.signed), kind.exponent_bits, kind.fraction_bits, kind.ignored_bits]
    ).tolist()
    if not kind.signed and kind.bits > cuts[-1]:
        text = text[kind.bits - cuts[-1] :]
    return " ".join(text[a:b] for a, b in pairwise(cuts) if a < b)


def _number(value: Any) -> str:
    return f"{float(value):.6g}" if np.asarray(value).dtype.kind == "f" else str(int(value))
