"""Where elements are, in registers or in the bytes of a tile, and what goes into one element of D."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from typing import Any

from .._util.arguments import as_flag, as_int
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


# -- what goes into an element of D ----------------------------------------------------------------------


@dataclass(frozen=True)
class RegisterPlace:
    """An element in a register: lane, name in the fragment, register, lowest and highest bit."""

    lane: int
    element: str
    register: int
    bits: tuple[int, int]
    read_with: str = ""  # the modifiers that make the instruction read this copy

    @property
    def cells(self) -> dict[str, Value]:
        """What a table says about it, by heading."""
        return {"": f"T{self.lane} {self.element}", " reg": self.register, " bits": bit_range(*self.bits)}


@dataclass(frozen=True)
class BytePlace:
    """An element in shared memory: its first byte in the tile and, if it is smaller than a byte, its bits."""

    byte: int
    bits: tuple[int, int] | None = None
    lane = None  # that holds it

    @property
    def cells(self) -> dict[str, Value]:
        """What a table says about it, by heading."""
        return {" byte": self.byte} | ({} if self.bits is None else {" bits": bit_range(*self.bits)})


@dataclass(frozen=True)
class ProductTerm:
    """One product of the sum: its k, and every place of its factors.

    Of a sparse instruction a column k of A is stored in one place or another, or not at all: there is a term
    for each place, with the `nibble` that makes it so (x: any bit) and the `stored` column.
    """

    k: int
    chunk: int | None
    nibble: str | None
    stored: int | None
    a: tuple[RegisterPlace | BytePlace, ...]
    b: tuple[RegisterPlace | BytePlace, ...] = ()


@dataclass(frozen=True)
class SelectedPlaces:
    """The nibble of a chunk, or the scale of a block: the first and last k that it covers, and its places."""

    index: int
    k: tuple[int, int]
    places: tuple[RegisterPlace, ...]


@dataclass(frozen=True)
class Explanation:
    """Where the inputs of one element of D are."""

    instruction: str
    row: int
    column: int
    formula: str
    d: tuple[RegisterPlace, ...]
    c: tuple[RegisterPlace, ...]
    terms: tuple[ProductTerm, ...]
    e: tuple[SelectedPlaces, ...] = ()
    scale_a: tuple[SelectedPlaces, ...] = ()
    scale_b: tuple[SelectedPlaces, ...] = ()

    @property
    def element(self) -> str:
        return f"D[{self.row}][{self.column}]"

    def tables(self) -> dict[str, Table]:
        """The terms, the nibbles and the scales as tables, by "terms", "e", "scale_a" and "scale_b".

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> explain(ins, 9, 3).tables()["terms"].rows[37]
        (37, 'T4 a29', 3, '[23..20]', 'T12 b13', 1, '[23..20]')
        """
        tables = {"terms": _term_table(self.terms)}
        for name, noun, entries in self._selected():
            tables[name] = _selected_table(noun, entries)
        return tables

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data for JSON; what the instruction does not have is left out."""
        plain: dict[str, Any] = {
            "instruction": self.instruction,
            "element": self.element,
            "d": _plain(self.d),
            "c": _plain(self.c),
            "formula": self.formula,
            "terms": _plain(self.terms),
        }
        for name, noun, entries in self._selected():
            plain[name] = [
                {noun: entry.index, "k": list(entry.k), "places": _plain(entry.places)} for entry in entries
            ]
        return plain

    def _selected(self) -> Iterator[tuple[str, str, tuple[SelectedPlaces, ...]]]:
        """Nibbles and scales, as far as there are any: name, noun and entries."""
        for name, noun in (("e", "chunk"), ("scale_a", "block"), ("scale_b", "block")):
            entries = getattr(self, name)
            if entries:
                yield name, noun, entries


def _plain(value: Any) -> Any:
    """Places and terms as plain data by name, without what is empty."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not is_dataclass(value):
        return value
    named = {field.name.replace("_", " "): getattr(value, field.name) for field in fields(value)}
    return {name: _plain(each) for name, each in named.items() if each is not None and each != ""}


def explain(
    ins: Form | str, row: int, column: int, *, swizzle: int = 0, transposed: bool = False
) -> Explanation:
    """Where the inputs of D[row][column] are.

    In shared memory a place is a byte of the tile, which depends on `swizzle` and, for B, on `transposed`.

    >>> import ptxlab
    >>> term = explain(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), 9, 3).terms[37]
    >>> term.a
    (RegisterPlace(lane=4, element='a29', register=3, bits=(20, 23), read_with=''),)
    """
    ins = parse(ins)
    row, column, swizzle = as_int(row, "row"), as_int(column, "column"), as_int(swizzle, "swizzle")
    transposed = as_flag(transposed, "transposed")
    if not isinstance(ins, MmaForm):
        raise PtxlabError(
            f"{ins.mnemonic} moves a matrix: nothing is computed, so there is nothing to explain; "
            "`ptxlab where` says where its elements go"
        )
    d = _register_places(ins.d, row, column)  # refuses an element that D does not have
    b_column = ins.column_of_b(row, column)
    terms = []
    for term in _a_terms(ins, row, swizzle):
        terms.append(replace(term, b=_places(ins.b, term.k, b_column, swizzle, transposed)))
    return Explanation(
        instruction=ins.mnemonic,
        row=row,
        column=column,
        formula=_formula(ins, row, column, b_column),
        d=d,
        c=_register_places(ins.c, row, column),
        terms=tuple(terms),
        e=_selected(ins, ins.e, row, column),
        scale_a=_selected(ins, ins.scale_a, row, column),
        scale_b=_selected(ins, ins.scale_b, row, column),
    )


def _formula(ins: MmaForm, row: int, column: int, b_column: int) -> str:
    a, b = f"A[{row}][k]", f"B[k][{b_column}]"
    if ins.scale_vec:
        block = f"k / {ins.k // ins.scale_vec}"
        a, b = f"{a} * SFA[{row}][{block}]", f"{b} * SFB[{block}][{column}]"
    product = f"popc({a} {ins.bit_op} {b})" if ins.bit_op else f"{a} * {b}"
    return f"D[{row}][{column}] = C[{row}][{column}] + sum over k of {product}"


def _places(
    op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> tuple[RegisterPlace | BytePlace, ...]:
    """Every place of an element: in registers, or its byte in shared memory."""
    if op.layout is not None:
        return _register_places(op, row, column)
    place = memory_place(op, row, column, swizzle, transposed)
    return (BytePlace(place.byte, place.bits),)


def _register_places(op: Operand, row: int, column: int) -> tuple[RegisterPlace, ...]:
    prefix = op.name.lower()
    return tuple(
        RegisterPlace(place.lane, f"{prefix}{place.element}", place.register, (place.low, place.high))
        for place in op.where(row, column)
    )


def _a_terms(ins: MmaForm, row: int, swizzle: int) -> list[ProductTerm]:
    """For every k the places of A, without those of B; a sparse A has a term for each possible place."""
    structure = ins.structure
    if structure is None:
        return [ProductTerm(k, None, None, None, _places(ins.a, row, k, swizzle)) for k in range(ins.k)]
    terms = []
    for k in range(ins.k):
        chunk, inside = divmod(k, structure.chunk)
        group, offset = divmod(inside, structure.group)
        for slot in range(structure.keep):
            nibbles = [nibble for nibble, kept in ins.nibbles.items() if kept[slot] == group]
            if nibbles:
                stored = (chunk * structure.keep + slot) * structure.group + offset
                places = _places(ins.a, row, stored, swizzle)
                terms.append(ProductTerm(k, chunk, _common_bits(nibbles), stored, places))
    return terms


def _common_bits(nibbles: list[int]) -> str:
    """What nibbles have in common: ``0bxx10``."""
    digits = [f"{nibble:04b}" for nibble in nibbles]
    return "0b" + "".join(digit[0] if len(set(digit)) == 1 else "x" for digit in zip(*digits, strict=True))


def _selected(ins: MmaForm, op: Operand | None, row: int, column: int) -> tuple[SelectedPlaces, ...]:
    """Nibbles or scales of a row of A, or a column of B: every copy, with the modifiers that choose it."""
    if op is None:
        return ()
    by_row = op.axes[0] == "m"
    count = op.shape[1] if by_row else op.shape[0]
    length = ins.k // count
    entries = []
    for index in range(count):
        at = (row, index) if by_row else (index, column)
        places = tuple(
            replace(place, read_with=selected_by(ins, op, copy))
            for copy, place in enumerate(_register_places(op, *at))
        )
        entries.append(SelectedPlaces(index, (index * length, (index + 1) * length - 1), places))
    return tuple(entries)


# -- tables ----------------------------------------------------------------------------------------------


def _term_table(terms: tuple[ProductTerm, ...]) -> Table:
    """A line for every term; an element that is held twice takes two."""
    first = terms[0]
    own = ["k"] if first.nibble is None else ["k", "nibble", "stored"]
    heads = [
        [f"{name}{head}" for head in place.cells] for name, place in (("A", first.a[0]), ("B", first.b[0]))
    ]
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for term in terms:
        start: list[Value] = [term.k]
        if term.nibble is not None and term.stored is not None:
            start += [term.nibble, term.stored]
        for places in zip_longest(term.a, term.b):
            cells = start
            owners: list[int | None] = [None] * len(own)
            for place, head in zip(places, heads, strict=True):
                cells = [*cells, *([""] * len(head) if place is None else place.cells.values())]
                owners += [None if place is None else place.lane, *[None] * (len(head) - 1)]
            rows.append(tuple(cells))
            lanes.append(tuple(owners))
            start = [""] * len(own)  # of further copies
    return Table((*own, *heads[0], *heads[1]), tuple(rows), tuple(lanes))


def _selected_table(noun: str, entries: tuple[SelectedPlaces, ...]) -> Table:
    rows, lanes = [], []
    for entry in entries:
        for copy, place in enumerate(entry.places):
            index = (entry.index, f"{entry.k[0]}..{entry.k[1]}") if copy == 0 else ("", "")
            rows.append((*index, place.lane, place.register, bit_range(*place.bits), place.read_with))
            lanes.append((None, None, place.lane))
    return Table((noun, "k", "lane", "register", "bits", "read with"), tuple(rows), tuple(lanes))
