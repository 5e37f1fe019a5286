"""Where the elements of an operand are, as tables: `where` for an element, `holds` for a lane, and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, counted, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.location import Cells, Place, SharedPlace, TensorPlace
from ..isa.operand import Operand, as_operand
from ..isa.parse import parse_any, parse_product
from ..isa.tcgen05 import TensorInstruction, TensorTransfer
from ..isa.tensor_operand import LANES, AnyOperand, TensorOperand
from ..memory import Descriptor, Tile
from ..memory.tcgen05_tiles import shared_places, shared_source
from .figure_arguments import as_tcgen05
from .labels import index_range
from .table import Table, Value
from .tile_pictures import SLICE_BYTES


def where(
    ins: Form | str, name: str, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> Table:
    """Every place that holds an element of an operand. A compressed A is indexed by its stored columns.

    For an operand in shared memory, the place is in a tile with this swizzle, which is MN-major if
    `transposed`. An operand of tcgen05.mma may also be in tensor memory. For R of tcgen05.ld and .st, `row`
    and `column` are the lane and the column of a word of tensor memory.

    >>> import ptxlab
    >>> where(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 9, 37).records()
    [{'lane': 4, 'element': 'a29', 'register': 3, 'bits': '[23..20]'}]
    >>> where(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16"), "D", 130, 7).rows
    ((1, 2, 7, '[31..0]', '0x00020007'),)
    """
    form, transposed = parse_any(ins), as_flag(transposed, "transposed")
    row, column, swizzle = as_int(row, "row"), as_int(column, "column"), as_int(swizzle, "swizzle")
    op = form.find(name)
    if op.space != "shared":
        _check_untiled(op, swizzle, transposed)
    if isinstance(form, TensorTransfer) and op.holds_words:
        slots = form.slots(row, column)
        if not slots:
            raise PtxlabError(
                f"{form.mnemonic}: lane {row}, column {column} is not in what it moves from address 0"
            )
        return _table([slot.cells() for slot in slots])
    if op.space == "shared":
        places = tile_places(form, op, row, column, swizzle, transposed)
        pairs: list[Cells] = [{} if op.packing is None else {"cta": place.cta} for place in places]
        return _table([pair | place.cells() for pair, place in zip(pairs, places, strict=True)])
    if op.space == "tensor":
        return _table([place.cells(op) for place in op.where(row, column)])
    cells = [place.cells(op) | _read_with(op, copy) for copy, place in enumerate(op.where(row, column))]
    return _table(cells, tuple((cell["lane"],) for cell in cells))


def _check_untiled(op: AnyOperand, swizzle: int, transposed: bool) -> None:
    """Refuse what tiles in shared memory have, for an operand that is elsewhere."""
    if swizzle or transposed:
        argument = f"swizzle={swizzle}" if swizzle else "transposed=True"
        place = "tensor memory" if op.space == "tensor" else "registers"
        raise PtxlabError(f"{argument}: {op.name} lives in {place}, without a tile")


def _table(cells: Sequence[Cells], lanes: tuple[tuple[Any, ...], ...] = ()) -> Table:
    return Table(tuple(cells[0]), tuple(tuple(cell.values()) for cell in cells), lanes)


def _read_with(op: Operand, copy: int) -> Cells:
    """The modifiers that select a copy, if any do."""
    text = op.read_with(copy)
    return {"read with": text} if text else {}


# -- shared memory ---------------------------------------------------------------------------------------


def tile_places(
    form: Form, op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> list[SharedPlace]:
    """Where an element of a tile in shared memory is; in two places if its bits are not adjacent."""
    if op.packing is None:
        _check_inside(op.name, op.shape, row, column)
    elif transposed and isinstance(form, TensorInstruction):
        op = form.with_mn_major(op.name).operands[op.name]
    return shared_places(op, row, column, swizzle, transposed)


def _check_inside(matrix: str, shape: tuple[int, int], row: int, column: int) -> None:
    for axis, index, size in (("row", row, shape[0]), ("column", column, shape[1])):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{axis} {quoted(index)}: {matrix} is {shape[0]}x{shape[1]}, "
                f"so {axis}s go from 0 to {size - 1}"
            )


def _core(tile: Tile, outer: int, along: int) -> tuple[int, int, int]:
    """The number of the core matrix, the row in it, and the element in that row."""
    line, at, length = (along, outer, tile.rows) if tile.major == "MN" else (outer, along, tile.k)
    return line // 8 * (length // tile.core_width) + at // tile.core_width, line % 8, at % tile.core_width


def offsets(op: Operand, swizzle: int = 0, transposed: bool = False, tile: Tile | None = None) -> Table:
    """The byte offset of every 16 bytes of an operand in shared memory, with the elements that they hold.

    The tile is the one that wgmma reads, unless `tile` is given.

    >>> import ptxlab
    >>> offsets(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").b).records()[1]
    {'n': 1, 'k 0..7': '0x0010', 'k 8..15': '0x0090'}
    """
    if tile is None:
        tile = Tile.of(op, swizzle, transposed)  # refuses operands that are not in shared memory
    elif not isinstance(tile, Tile):
        raise PtxlabError(f"tile={quoted(tile)}: it takes a ptxlab.memory.Tile")
    transposed = tile.major == "MN"
    outer = next(axis for axis in op.axes if axis != "k")
    line_axis, piece_axis, lines, length = outer, "k", tile.rows, tile.k
    if transposed:
        line_axis, piece_axis, lines, length = "k", outer, tile.k, tile.rows
    starts = range(0, length, tile.core_width)
    rows: list[tuple[Value, ...]] = []
    cores: list[tuple[int | None, ...]] = []
    for line in range(lines):
        places = [(start, line) if transposed else (line, start) for start in starts]
        rows.append((line, *(f"0x{int(tile.offset(*place)):04x}" for place in places)))
        cores.append((None, *(_core(tile, *place)[0] % 32 for place in places)))
    heads = (line_axis, *(f"{piece_axis} {index_range(start, tile.core_width)}" for start in starts))
    return Table(heads, tuple(rows), tuple(cores))


# -- sparse A --------------------------------------------------------------------------------------------

_NOT_STORED = "not stored: counts as 0"


@dataclass(frozen=True)
class SparsePlaces:
    """Where an element of the dense A of a sparse instruction goes.

    `chunk` is its chunk in the row and `group` its group in that chunk; `columns` and `group_columns` are the
    first and the last column of each. `nibble` has the places of the metadata nibble that decides whether it
    is stored, and `places` has a row for each legal nibble.
    """

    dense: tuple[int, int]
    stored: tuple[int, int]
    chunk: int
    columns: tuple[int, int]
    group: int
    group_columns: tuple[int, int]
    nibble: Table
    places: Table

    def as_dict(self) -> dict[str, Any]:
        """All of it by name, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def sparse_where(
    ins: Product | str, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> SparsePlaces:
    """Where an element of dense A goes: its chunk, the nibble that decides, and its place for every nibble.

    A of tcgen05.mma.sp may be in shared memory; `swizzle` and `transposed` are as in `where`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    >>> answer = sparse_where(ins, 0, 3)
    >>> answer.chunk, answer.places.records()[1]["element"]
    (1, 'a0')
    >>> sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16").a_from("tensor")
    >>> sparse_where(sparse, 3, 13).places.rows[0]
    ('0b0100', '12, 13', 7, 0, 3, 3, '[31..16]', '0x00030003')
    """
    ins = parse_product(ins)
    row, column = as_int(row, "row"), as_int(column, "column")
    structure = ins.structure
    if structure is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is not compressed")
    _check_inside("dense A", (ins.m, ins.k), row, column)
    names: tuple[str, ...] = ("lane", "element", "register", "bits")
    not_stored: tuple[Value, ...] = ("-", _NOT_STORED, "", "")
    if ins.d.space == "tensor":
        names = ("stored column", *where(ins, "A", 0, 0, swizzle, transposed).columns)
        not_stored = (_NOT_STORED, *[""] * (len(names) - 1))
    chunk, inside = divmod(column, structure.chunk)
    group, offset = divmod(inside, structure.group)
    first = chunk * structure.chunk
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for nibble, kept in sorted(ins.nibbles.items()):
        columns = ", ".join(index_range(first + g * structure.group, structure.group) for g in kept)
        if group in kept:
            stored = (chunk * structure.keep + kept.index(group)) * structure.group + offset
            cells, lane = _stored_place(ins, row, stored, swizzle, transposed)
        else:
            cells, lane = not_stored, None
        rows.append((f"0b{nibble:04b}", columns, *cells))
        lanes.append((None, None, lane))
    group_first = first + group * structure.group
    return SparsePlaces(
        dense=(ins.m, ins.k),
        stored=ins.a.shape,
        chunk=chunk,
        columns=(first, first + structure.chunk - 1),
        group=group,
        group_columns=(group_first, group_first + structure.group - 1),
        nibble=where(ins, "E", row, chunk),
        places=Table(("nibble", "keeps columns", *names), tuple(rows), tuple(lanes)),
    )


def _stored_place(
    ins: Product, row: int, stored: int, swizzle: int, transposed: bool
) -> tuple[tuple[Value, ...], int | None]:
    """The cells for an element in a stored column of A, and the lane whose colour they get."""
    if ins.d.space == "tensor":
        return (stored, *where(ins, "A", row, stored, swizzle, transposed).rows[0]), None
    if ins.a.space == "shared":
        return (f"stored column {stored}", "", "", ""), None
    place = ins.a.where(row, stored)[0]
    return tuple(place.cells(ins.a).values()), place.lane


# -- what a lane holds -----------------------------------------------------------------------------------


def holds(ins: Form | str, name: str, lane: int, register: int | None = None, cta: int = 0) -> Table:
    """The elements of an operand in one lane, or in one register of it.

    Registers hold several copies of metadata and scales; "read with" has the modifiers that select a copy.
    For tcgen05.mma, `lane` is a lane of a CTA's tensor memory, and `register` is a column of it. For R of
    tcgen05.ld and .st, `lane` is a thread, and the table has the words that it holds.

    >>> import ptxlab
    >>> holds(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C", 5, 3).records()
    [{'register': 3, 'bits': '[31..0]', 'element': 'c3', 'm': 9, 'n': 3}]
    >>> holds(ptxlab.instruction("mma.sp.m16n8k32.f32.f16"), "E", 6).records()[0]
    {'register': 0, 'bits': '[3..0]', 'element': 'e0', 'm': 1, 'chunk': 0, 'read with': 'selector 1'}
    >>> holds(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64), "D", 33, 5).records()
    [{'column': 5, 'm': 17, 'n': 5}]
    """
    form = parse_any(ins)
    op, cta = form.find(name), as_int(cta, "cta")
    if cta and op.space == "register":
        raise PtxlabError(
            f"cta={cta}: {op.name} is in registers; a CTA of a pair has a tensor memory of its own"
        )
    if isinstance(form, TensorTransfer) and op.holds_words:
        registers = range(form.registers) if register is None else (as_int(register, "register"),)
        words = tuple((number, *form.locate(lane, number)) for number in registers)
        return Table(("register", "lane", "column"), words)
    if op.space == "shared" and op.packing is None:
        raise PtxlabError(
            f"{op.name} of {form.mnemonic} lives in shared memory: no lane holds it; "
            "`ptxlab where` and `ptxlab layout` give its bytes"
        )
    if op.space != "register":
        tensor = _tensor(form, op)
        columns = range(tensor.columns) if register is None else (as_int(register, "column"),)
        rows = tuple((at, row, col) for at in columns for row, col in tensor.holds(lane, at, cta))
        return Table(("column", *_headings(tensor)), rows)
    cells = []
    for place, row, column in op.holds(lane, register):
        own = place.cells(op)
        location: Cells = {key: own[key] for key in ("register", "bits", "element")}
        copy = op.where(row, column).index(place) if op.read_with(0) else 0
        cells.append(location | {op.axes[0]: row, op.axes[1]: column} | _read_with(op, copy))
    return _table(cells)


def layout(op: AnyOperand, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every element in every lane, one row each; in tensor and in shared memory, the places of every element.

    Of an operand that a pair of CTAs has in shared memory, the part of the first.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> layout(ins.c).rows[-1]   # lane, element, register, low, high, row, column
    (31, 3, 3, 0, 31, 15, 7)
    >>> mma = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", m=64, n=8, b="e2m3")
    >>> layout(mma.d).records()[12], layout(mma.b).records()[8]["bits"]
    ({'m': 1, 'n': 4, 'cta': 0, 'lane': 1, 'column': 4, 'low': 0, 'high': 31}, '[11..6]')
    """
    swizzle, transposed = as_int(swizzle, "swizzle"), as_flag(transposed, "transposed")
    if isinstance(op, TensorOperand):
        _check_untiled(op, swizzle, transposed)
        cells = product(*map(range, op.shape))
        rows = tuple((row, col, *place) for row, col in cells for place in op.where(row, col))
        return Table((*_headings(op), *TensorPlace._fields), rows)
    op = as_operand(op)
    if op.layout is not None:
        _check_untiled(op, swizzle, transposed)
        locations = (entry for lane in range(op.lanes) for entry in op.holds(lane))
        rows = tuple((*place, row, column) for place, row, column in locations)
        return Table((*Place._fields, "row", "column"), rows)
    return _table(
        [
            {"row": row, "column": column, **place.cells()}
            for row, column in product(*map(range, op.shape))
            for place in shared_places(op, row, column, swizzle, transposed)
            if place.cta == 0
        ]
    )


def thread_words(form: TensorTransfer) -> Table:
    """The word of tensor memory that goes with each register of the 128 threads of tcgen05.ld or .st.

    >>> import ptxlab
    >>> thread_words(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).records()[3]
    {'thread': 0, 'register': 3, 'lane': 8, 'column': 1}
    """
    registers = product(range(LANES), range(form.registers))
    rows = tuple((thread, register, *form.locate(thread, register)) for thread, register in registers)
    return Table(("thread", "register", "lane", "column"), rows)


def _headings(tensor: TensorOperand) -> list[str]:
    """The axes of a matrix, beside "column", which is one of tensor memory: its own is then "col"."""
    return ["col" if axis == "column" else axis for axis in tensor.axes]


def _tensor(form: Form, op: AnyOperand) -> TensorOperand:
    if op.space == "tensor":
        return op
    raise PtxlabError(
        f"{op.name} of {form.mnemonic} is in shared memory, not in the {LANES} lanes of tensor memory"
    )


def tensor_layouts(form: Form | str) -> Table:
    """Where each operand of a form is, and its layout in CuTe's notation.

    >>> import ptxlab
    >>> tensor_layouts(ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=64)).rows[-1]
    ('D', '64x256 f32', 'tensor memory, 128 columns', '(64,(128,2)):(1,(128,64))', 'PTX ISA and CUTLASS')
    """
    rows: list[tuple[int | str, ...]] = []
    for op in as_tcgen05(form).located.values():
        if op.space == "shared":
            place = ("shared memory", "", shared_source(op))
        elif op.space == "register":
            cute = op.layout.cute if op.layout else ""
            place = (f"{op.registers} registers of {op.lanes} threads", cute, "CUTLASS")
        else:
            pair = " of both CTAs" if op.ctas == 2 else ""
            place = (f"tensor memory{pair}, {counted(op.columns, 'column')}", op.layout.cute, op.source)
        rows.append((op.name, f"{op.shape[0]}x{op.shape[1]} {op.dtype}", *place))
    return Table(("operand", "matrix", "where", "layout", "source"), tuple(rows))


def copies_note(op: Operand) -> str:
    """A sentence on where the other copies are if a fragment holds its elements more than once, or "".

    >>> import ptxlab
    >>> copies_note(ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32").a)
    'every element is held twice: a(i) again as a(i + 8)'
    """
    op = as_operand(op)
    if op.layout is None or op.layout.copies == 1 or op.name in ("E", "SFA", "SFB"):
        return ""
    first, *others = (op.layout.scatter(copy) for copy in range(op.layout.copies))
    steps = [
        divmod(int(step), op.layout.elements)
        for other in others
        for step in set((other - first).ravel().tolist())
    ]
    prefix = op.name.lower()
    often = "twice" if op.layout.copies == 2 else f"{op.layout.copies} times"
    if len(steps) != len(others):
        return f"every element is held {often}; `ptxlab where` names all of its places"
    again = []
    for lane, element in steps:
        name = f"{prefix}(i + {element})"
        again.append(f"{name} of lane + {lane}" if lane else name)
    return f"every element is held {often}: {prefix}(i) again as {' and '.join(again)}"


def slices(tile: Tile, address: int = 0) -> Table:
    """The descriptor of every slice of a tile at an address.

    >>> slices(Tile(bits=16, rows=64, k=32, swizzle=64), 0x400).records()[1]
    {'k': 16, 'address': '0x420', 'LBO': 16, 'SBO': 512, 'base offset': 0, 'descriptor': '0x8000002000010042'}
    """
    depth = SLICE_BYTES * 8 // tile.bits
    rows = []
    for k in range(0, max(tile.k - depth, 0) + 1, depth):
        part = tile.slice(address, k)
        rows.append(
            (k, f"0x{part.address:x}", part.leading, part.stride, part.base_offset, f"0x{part.code:x}")
        )
    return Table(("k", "address", "LBO", "SBO", "base offset", "descriptor"), tuple(rows))


def slice_bytes(fields: Descriptor, bits: int, rows: int, depth: int, major: str = "K") -> Table:
    """The address of every 16 bytes that wgmma reads through a descriptor, in its order.

    >>> slice_bytes(Descriptor(0x400, 16, 1024, 128), 16, 8, 16).records()[1]
    {'row': 1, 'k 0..7': '0x490', 'k 8..15': '0x480'}
    """
    core = 128 // bits
    lines, length, names = (rows, depth, ("row", "k")) if major == "K" else (depth, rows, ("k", "row"))
    starts = np.arange(0, length, core)
    line, first = np.arange(lines)[:, None], starts[None, :]
    row, along = (line, first) if major == "K" else (first, line)
    where = fields.addresses(row, along, bits=bits, major="K" if major == "K" else "MN")
    heads = (names[0], *(f"{names[1]} {index_range(int(start), core)}" for start in starts))
    body: list[tuple[Value, ...]] = []
    tints: list[tuple[int | None, ...]] = []
    for number, found in enumerate(where.tolist()):
        body.append((number, *(f"0x{byte:x}" for byte in found)))
        tints.append((None, *(byte // 16 % 8 * 4 for byte in found)))
    return Table(heads, tuple(body), tuple(tints))
