"""Where elements are: in registers, in the bytes of a tile in shared memory, in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from .._util.arguments import as_flag, as_int, as_text
from ..errors import PtxlabError, counted, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand, Place, as_operand
from ..isa.parse import parse_any, parse_product
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..isa.tcgen05.form import TYPES
from ..isa.tensor_memory import LANES, TensorOperand
from ..memory import Tile
from ..memory.tcgen05_tiles import (
    COLUMN_BYTES,
    is_index,
    is_padded,
    shared_places,
    shared_source,
    shared_tile,
    stored_bits,
)
from .holders import as_tcgen05
from .labels import bit_range, index_range
from .table import Table, Value

_PLACE = ("lane", "element", "register", "bits")


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
    if isinstance(form, Tcgen05Form):
        return _tensor_where(form, as_text(name, "operand").upper(), row, column, swizzle, transposed)
    op = form.operand(name)
    if op.layout is None:
        place = memory_place(op, row, column, swizzle, transposed)
        return Table(place.columns, (place.row,))
    places = op.where(row, column)
    lanes = tuple((place.lane,) for place in places)
    rows = [_place_row(op, place) for place in places]
    if not selected_by(form, op, 0):
        return Table(_PLACE, tuple(rows), lanes)
    rows = [(*place, selected_by(form, op, copy)) for copy, place in enumerate(rows)]
    return Table((*_PLACE, "read with"), tuple(rows), lanes)


def _tensor_where(
    form: Tcgen05Form, name: str, row: int, column: int, swizzle: int, transposed: bool
) -> Table:
    if isinstance(form, Tcgen05Transfer) and name == "R":
        rows = tuple(
            (slot.thread, slot.thread // 32, slot.register, f"[{slot.high}..{slot.low}]")
            for slot in form.slots(row, column)
        )
        if not rows:
            raise PtxlabError(
                f"{form.mnemonic}: lane {row}, column {column} is not in what it moves from address 0"
            )
        return Table(("thread", "warp", "register", "bits"), rows)
    if name in form.operands:
        ctas_and_places = tile_places(form, form.operands[name], row, column, swizzle, transposed)
        columns = ("cta", *ctas_and_places[0][1].columns)
        return Table(columns, tuple((cta, *place.row) for cta, place in ctas_and_places))
    return Table(
        ("cta", "lane", "column", "bits", "address"),
        tuple(
            (place.cta, place.lane, place.column, f"[{place.high}..{place.low}]", f"0x{place.address:08x}")
            for place in form.tensor(name).where(row, column)
        ),
    )


def _place_row(op: Operand, place: Place) -> tuple[Value, ...]:
    element = f"{op.name.lower()}{place.element}"
    return place.lane, element, place.register, bit_range(place.low, place.high)


def selected_by(ins: Form, op: Operand, copy: int) -> str:
    """The modifiers with which the instruction reads this copy; "" if there is only one to read."""
    if op.name == "E":
        return f"selector {copy}"
    if op.name in ("SFA", "SFB") and isinstance(ins, MmaForm) and ins.scale_vec:
        thread, byte = divmod(copy, 4 // ins.scale_vec)
        return f"byte-id {byte * ins.scale_vec}, thread-id {thread}"
    return ""


# -- shared memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryPlace:
    """Where an element of a tile in shared memory is. A core matrix is 8 rows of 16 bytes."""

    byte: int
    core_matrix: int
    core_row: int
    byte_in_row: int
    swizzle: int
    bits: tuple[int, int] | None  # lowest and highest bit in the byte, for elements smaller than a byte

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings for a table."""
        names = ("byte offset", "core matrix", "row in it", "byte in its row", "swizzle")
        return names if self.bits is None else (*names, "bits")

    @property
    def row(self) -> tuple[Value, ...]:
        """The values under these headings."""
        values = (self.byte, self.core_matrix, self.core_row, self.byte_in_row, self.swizzle)
        return values if self.bits is None else (*values, bit_range(*self.bits))


def memory_place(
    op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> MemoryPlace:
    """Where an element of a tile in shared memory is: K-major, or MN-major if `transposed`."""
    _check_inside(op.name, op.shape, row, column)
    tile = Tile.of(op, swizzle, transposed)
    outer, along = (row, column) if op.axes[0] == "m" else (column, row)
    core, line, inside = _core(tile, outer, along)
    bits = None
    if tile.bits < 8:
        low = along * tile.bits % 8
        bits = (low, low + tile.bits - 1)
    return MemoryPlace(int(tile.offset(outer, along)), core, line, inside * tile.bits // 8, swizzle, bits)


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


def shared_operand(form: Tcgen05Form, operand: Operand) -> Operand:
    """A or B as its bytes lie in the shared memory of one CTA.

    Each CTA of a pair has half of the rows of A, or half of the columns of B. Elements of 6 and 4 bits are
    stored 16 to each 16 bytes, followed by padding, unless the instruction takes them without padding
    ("Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory").

    >>> import ptxlab
    >>> pair = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f8f6f4", a="e2m1", b="e2m1")
    >>> shared_operand(pair, pair.b).describe()
    'B 32x128 b8, in shared memory'
    """
    if not isinstance(form, Tcgen05Mma):
        return operand
    rows, columns = operand.shape
    if form.cta_group == 2:
        rows, columns = (rows // 2, columns) if operand.name == "A" else (rows, columns // 2)
    if is_padded(form, operand):
        return replace(operand, dtype=TYPES["b8"], shape=(rows, columns))
    if is_index(form, operand):
        return replace(operand, dtype=TYPES["b8"], shape=(COLUMN_BYTES, columns))
    if operand.dtype.bits == 6:  # bytes: an element may begin in one and end in the next
        along = (rows, columns * 6 // 8) if operand.name == "A" else (rows * 6 // 8, columns)
        return replace(operand, dtype=TYPES["b8"], shape=along)
    return replace(operand, shape=(rows, columns))


def with_mn_major(form: Tcgen05Mma, operand: Operand) -> Tcgen05Mma:
    """The same instruction with this operand, A or B, MN-major: its descriptor says so.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
    >>> with_mn_major(form, form.b).descriptor.transpose_b
    True
    """
    return form.with_descriptor(None, **{f"transpose_{operand.name.lower()}": True})


def tile_places(
    form: Tcgen05Form, operand: Operand, row: int, column: int, swizzle: int, transposed: bool
) -> list[tuple[int, MemoryPlace]]:
    """The CTA and the place in its shared memory of an element: two places if its bits are not adjacent."""
    if not isinstance(form, Tcgen05Mma):
        return [(0, memory_place(operand, row, column, swizzle, transposed))]
    if transposed:
        form = with_mn_major(form, operand)
    tile = shared_tile(form, operand, swizzle)
    pieces = (tile.row_bytes if tile.major == "K" else tile.rows * tile.bits // 8) // 16
    return [
        (
            place.cta,
            MemoryPlace(
                place.byte,
                place.line // 8 * pieces + place.byte_in_line // 16,
                place.line % 8,
                place.byte_in_line % 16,
                tile.swizzle,
                (place.low, place.high) if stored_bits(form, operand) < 8 else None,
            ),
        )
        for place in shared_places(form, operand, row, column, swizzle)
    ]


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
    names: tuple[str, ...] = _PLACE
    not_stored: tuple[Value, ...] = ("-", _NOT_STORED, "", "")
    if isinstance(ins, Tcgen05Mma):
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
    if isinstance(ins, Tcgen05Mma):
        return (stored, *where(ins, "A", row, stored, swizzle, transposed).rows[0]), None
    if ins.a.layout is None:
        return (f"stored column {stored}", "", "", ""), None
    place = ins.a.where(row, stored)[0]
    return _place_row(ins.a, place), place.lane


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
    if isinstance(form, Tcgen05Form):
        return _tensor_holds(form, as_text(name, "operand").upper(), lane, register, cta)
    op = form.operand(name)
    if op.layout is None:
        raise PtxlabError(
            f"{op.name} of {form.mnemonic} lives in shared memory: no lane holds it; "
            "`ptxlab where` and `ptxlab layout` give its bytes"
        )
    elements = list(op.holds(lane, register))
    rows: list[tuple[Value, ...]] = [
        (place.register, bit_range(place.low, place.high), f"{op.name.lower()}{place.element}", row, column)
        for place, row, column in elements
    ]
    columns = ("register", "bits", "element", *op.axes)
    if not selected_by(form, op, 0):
        return Table(columns, tuple(rows))
    copies = [op.where(row, column).index(place) for place, row, column in elements]
    rows = [(*row, selected_by(form, op, copy)) for row, copy in zip(rows, copies, strict=True)]
    return Table((*columns, "read with"), tuple(rows))


def _tensor_holds(form: Tcgen05Form, name: str, lane: int, column: int | None, cta: int) -> Table:
    if isinstance(form, Tcgen05Transfer) and name == "R":
        registers = range(form.registers) if column is None else (as_int(column, "register"),)
        words = tuple((register, *form.locate(lane, register)) for register in registers)
        return Table(("register", "lane", "column"), words)
    tensor = _tensor(form, name)
    columns = range(tensor.columns) if column is None else (as_int(column, "column"),)
    rows = tuple((at, row, col) for at in columns for row, col in tensor.holds(lane, at, cta))
    return Table(("column", *_headings(tensor)), rows)


def layout(op: Operand, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every element in every lane, one row each; for an operand in shared memory, every element and its byte.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> layout(ins.c).rows[-1]   # lane, element, register, low, high, row, column
    (31, 3, 3, 0, 31, 15, 7)
    """
    op = as_operand(op)
    if op.layout is not None:
        rows = [
            (place.lane, place.element, place.register, place.low, place.high, row, column)
            for lane in range(op.lanes)
            for place, row, column in op.holds(lane)
        ]
        return Table(("lane", "element", "register", "low", "high", "row", "column"), tuple(rows))
    swizzle, transposed = as_int(swizzle, "swizzle"), as_flag(transposed, "transposed")
    places = {
        (row, column): memory_place(op, row, column, swizzle, transposed)
        for row in range(op.shape[0])
        for column in range(op.shape[1])
    }
    columns = ("row", "column", *places[0, 0].columns)
    return Table(columns, tuple((*at, *place.row) for at, place in places.items()))


def shared_elements(form: Tcgen05Mma, name: str, swizzle: int = 0) -> Table:
    """Where every element of A or B is in shared memory; for a pair of CTAs, in that of the first CTA.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", n=8, b="e2m3")
    >>> shared_elements(form, "B").records()[8]["bits"]   # k 1, n 0
    '[11..6]'
    """
    operand = form.operands[name]
    rows: list[tuple[Value, ...]] = []
    columns: tuple[str, ...] = ()
    for row, col in product(*map(range, operand.shape)):
        for cta, place in tile_places(form, operand, row, col, swizzle, False):
            columns = place.columns
            rows += [(row, col, *place.row)] if cta == 0 else []
    return Table(("row", "column", *columns), tuple(rows))


def tensor_elements(form: Tcgen05Form, name: str) -> Table:
    """Where every element of an operand is in tensor memory; for R, the word that each register comes from.

    >>> import ptxlab
    >>> tensor_elements(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64), "D").records()[300]
    {'m': 1, 'n': 44, 'cta': 0, 'lane': 1, 'column': 44, 'low': 0, 'high': 31}
    >>> tensor_elements(ptxlab.instruction("tcgen05.cp.cta_group::1.128x256b"), "T").columns[:5]
    ('row', 'col', 'cta', 'lane', 'column')
    """
    rows: list[tuple[int | str, ...]] = []
    if isinstance(form, Tcgen05Transfer) and name == "R":
        rows += [
            (thread, register, *form.locate(thread, register))
            for thread in range(LANES)
            for register in range(form.registers)
        ]
        return Table(("thread", "register", "lane", "column"), tuple(rows))
    tensor = _tensor(form, name)
    for row in range(tensor.shape[0]):
        for col in range(tensor.shape[1]):
            rows += [(row, col, *place) for place in tensor.where(row, col)]
    return Table((*_headings(tensor), "cta", "lane", "column", "low", "high"), tuple(rows))


def _headings(tensor: TensorOperand) -> list[str]:
    """The axes of a matrix, beside "column", which is one of tensor memory: its own is then "col"."""
    return ["col" if axis == "column" else axis for axis in tensor.axes]


def _tensor(form: Tcgen05Form, name: str) -> TensorOperand:
    if name in form.operands:
        location = "registers" if form.operands[name].layout else "shared memory"
        raise PtxlabError(
            f"{name} of {form.mnemonic} is in {location}, not in the {LANES} lanes of tensor memory"
        )
    return form.tensor(name)


def tensor_layouts(form: Tcgen05Form | str) -> Table:
    """Where each operand of a form is, and its layout in CuTe's notation.

    >>> import ptxlab
    >>> tensor_layouts(ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=64)).rows[-1]
    ('D', '64x256 f32', 'tensor memory, 128 columns', '(64,(128,2)):(1,(128,64))', 'PTX ISA and CUTLASS')
    """
    form = as_tcgen05(form)
    rows: list[tuple[int | str, ...]] = []
    for operand in form.operands.values():
        size = f"{operand.shape[0]}x{operand.shape[1]} {operand.dtype}"
        if operand.layout is None:
            source = shared_source(form, operand) if isinstance(form, Tcgen05Mma) else "PTX ISA"
            rows.append((operand.name, size, "shared memory", "", source))
        else:
            location = f"{operand.registers} registers of {operand.lanes} threads"
            rows.append((operand.name, size, location, operand.layout.cute, "CUTLASS"))
    for tensor in form.tensors.values():
        size = f"{tensor.shape[0]}x{tensor.shape[1]} {tensor.dtype}"
        pair = " of both CTAs" if tensor.ctas == 2 else ""
        location = f"tensor memory{pair}, {counted(tensor.columns, 'column')}"
        rows.append((tensor.name, size, location, tensor.layout.cute, tensor.source))
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
