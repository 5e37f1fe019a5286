"""Where elements are: in the lanes and registers of a fragment, or in the bytes of a shared-memory tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from .._util.arguments import as_int
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand, Place, as_operand
from ..isa.parse import parse, parse_mma
from ..isa.product_form import ProductForm
from ..memory import Tile
from .labels import bit_range, index_range
from .table import Table, Value

_PLACE = ("lane", "element", "register", "bits")


def where(
    ins: Form | str, name: str, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> Table:
    """Every place that holds an element of an operand; of a compressed A by its own coordinates.

    >>> import ptxlab
    >>> where(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 9, 37).records()
    [{'lane': 4, 'element': 'a29', 'register': 3, 'bits': '[23..20]'}]
    """
    ins = parse(ins)
    op = ins.operand(name)
    if op.layout is None:
        place = memory_place(op, row, column, swizzle, transposed)
        return Table(place.columns, (place.row,))
    places = op.where(row, column)
    lanes = tuple((place.lane,) for place in places)
    rows = [_place_row(op, place) for place in places]
    if not selected_by(ins, op, 0):
        return Table(_PLACE, tuple(rows), lanes)
    rows = [(*place, selected_by(ins, op, copy)) for copy, place in enumerate(rows)]
    return Table((*_PLACE, "read with"), tuple(rows), lanes)


def _place_row(op: Operand, place: Place) -> tuple[Value, ...]:
    element = f"{op.name.lower()}{place.element}"
    return place.lane, element, place.register, bit_range(place.low, place.high)


def selected_by(ins: Form, op: Operand, copy: int) -> str:
    """The modifiers that make the instruction read this one of several copies; "" for no choice."""
    if op.name == "E":
        return f"selector {copy}"
    if op.name in ("SFA", "SFB") and isinstance(ins, MmaForm) and ins.scale_vec:
        thread, byte = divmod(copy, 4 // ins.scale_vec)
        return f"byte-id {byte * ins.scale_vec}, thread-id {thread}"
    return ""


# -- shared memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryPlace:
    """Where an element of a shared-memory tile is; a core matrix is 8 rows of 16 bytes."""

    byte: int
    core_matrix: int
    core_row: int
    byte_in_row: int
    swizzle: int
    bits: tuple[int, int] | None  # low and high in the byte, of elements smaller than one

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
    row, column, swizzle = as_int(row, "row"), as_int(column, "column"), as_int(swizzle, "swizzle")
    for axis, index, size in (("row", row, op.shape[0]), ("column", column, op.shape[1])):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{axis} {quoted(index)}: {op.name} is {op.shape[0]}x{op.shape[1]}, "
                f"so {axis}s go from 0 to {size - 1}"
            )
    tile = Tile.of(op, swizzle, transposed)
    outer, along = (row, column) if op.axes[0] == "m" else (column, row)
    core, line, inside = _core(tile, outer, along)
    bits = None
    if tile.bits < 8:
        low = along * tile.bits % 8
        bits = (low, low + tile.bits - 1)
    return MemoryPlace(int(tile.offset(outer, along)), core, line, inside * tile.bits // 8, swizzle, bits)


def _core(tile: Tile, outer: int, along: int) -> tuple[int, int, int]:
    """Number of the core matrix, row in it, and element in that."""
    line, at, length = (along, outer, tile.rows) if tile.major == "MN" else (outer, along, tile.k)
    return line // 8 * (length // tile.core_width) + at // tile.core_width, line % 8, at % tile.core_width


def offsets(op: Operand, swizzle: int = 0, transposed: bool = False, tile: Tile | None = None) -> Table:
    """The byte offset of every 16 bytes of an operand in shared memory, under the elements that they hold.

    The tile is that of wgmma, or is given.

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


@dataclass(frozen=True)
class SparsePlaces:
    """Where an element of the dense A of a sparse instruction goes.

    `chunk` and `group` are where it lies in its row, with the columns of both (first, last); `nibble` are the
    places of the metadata nibble that decides, and `places` has a row for each legal nibble.
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


def sparse_where(ins: MmaForm | str, row: int, column: int) -> SparsePlaces:
    """Where an element of dense A goes: its chunk, the nibble that decides, and its place for every nibble.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    >>> answer = sparse_where(ins, 0, 3)
    >>> answer.chunk, answer.places.records()[1]["element"]
    (1, 'a0')
    """
    ins = parse_mma(ins)

    def place(stored: int | None) -> tuple[tuple[Value, ...], int | None]:
        if stored is None:
            return ("-", "not stored: counts as 0", "", ""), None
        if ins.a.layout is None:
            return (f"stored column {stored}", "", "", ""), None
        place = ins.a.where(row, stored)[0]
        return _place_row(ins.a, place), place.lane

    return sparse_places(ins, row, column, _PLACE, place, lambda chunk: where(ins, "E", row, chunk))


def sparse_places(
    ins: ProductForm,
    row: int,
    column: int,
    names: Sequence[str],
    place: Callable[[int | None], tuple[tuple[Value, ...], int | None]],
    nibble_places: Callable[[int], Table],
) -> SparsePlaces:
    """The same for any instruction, by what says where an element is.

    `place` has the cells, under these names, of a stored column, or of what is not stored (None), and the
    lane whose colour they have; `nibble_places` where the nibble of a chunk is.
    """
    row, column = as_int(row, "row"), as_int(column, "column")
    structure = ins.structure
    if structure is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is not compressed")
    for axis, index, size in (("row", row, ins.m), ("column", column, ins.k)):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{axis} {quoted(index)}: dense A is {ins.m}x{ins.k}, so {axis}s go from 0 to {size - 1}"
            )
    chunk, inside = divmod(column, structure.chunk)
    group, offset = divmod(inside, structure.group)
    first = chunk * structure.chunk
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for nibble, kept in sorted(ins.nibbles.items()):
        columns = ", ".join(index_range(first + g * structure.group, structure.group) for g in kept)
        stored = None
        if group in kept:
            stored = (chunk * structure.keep + kept.index(group)) * structure.group + offset
        cells, lane = place(stored)
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
        nibble=nibble_places(chunk),
        places=Table(("nibble", "keeps columns", *names), tuple(rows), tuple(lanes)),
    )


# -- what a lane holds -----------------------------------------------------------------------------------


def holds(ins: Form | str, name: str, lane: int, register: int | None = None) -> Table:
    """The elements of an operand in one lane, or in one register of it.

    Metadata and scales are there several times; "read with" has the modifiers that choose this copy.

    >>> import ptxlab
    >>> holds(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C", 5, 3).records()
    [{'register': 3, 'bits': '[31..0]', 'element': 'c3', 'm': 9, 'n': 3}]
    >>> holds(ptxlab.instruction("mma.sp.m16n8k32.f32.f16"), "E", 6).records()[0]
    {'register': 0, 'bits': '[3..0]', 'element': 'e0', 'm': 1, 'chunk': 0, 'read with': 'selector 1'}
    """
    ins = parse(ins)
    op = ins.operand(name)
    if op.layout is None:
        raise PtxlabError(
            f"{op.name} of {ins.mnemonic} lives in shared memory: no lane holds it; "
            "`ptxlab where` and `ptxlab layout` give its bytes"
        )
    elements = list(op.holds(lane, register))
    rows: list[tuple[Value, ...]] = [
        (place.register, bit_range(place.low, place.high), f"{op.name.lower()}{place.element}", row, column)
        for place, row, column in elements
    ]
    columns = ("register", "bits", "element", *op.axes)
    if not selected_by(ins, op, 0):
        return Table(columns, tuple(rows))
    copies = [op.where(row, column).index(place) for place, row, column in elements]
    rows = [(*row, selected_by(ins, op, copy)) for row, copy in zip(rows, copies, strict=True)]
    return Table((*columns, "read with"), tuple(rows))


def layout(op: Operand, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every element of every lane, one row each; of an operand in shared memory every element with its byte.

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
    places = {
        (row, column): memory_place(op, row, column, swizzle, transposed)
        for row in range(op.shape[0])
        for column in range(op.shape[1])
    }
    columns = ("row", "column", *places[0, 0].columns)
    return Table(columns, tuple((*at, *place.row) for at, place in places.items()))


def copies_note(op: Operand) -> str:
    """Where the other copies are, if a fragment holds its elements more than once, in a sentence; or "".

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
