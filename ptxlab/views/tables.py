"""What the command line says: facts and rows as plain data, ready for a terminal, Markdown, CSV or JSON."""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import PtxlabError, listing
from ..isa.catalog import FAMILIES, catalog
from ..isa.dtypes import dtype
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand, Place
from ..memory import Tile
from .picture import Picture, bits

__all__ = [
    "Table",
    "counts",
    "forms",
    "grid",
    "held_again",
    "holds",
    "in_memory",
    "layout",
    "offsets",
    "selected_by",
    "sparse_where",
    "types",
    "where",
]


@dataclass(frozen=True)
class Table:
    """Named columns and rows of plain values; `lanes` gives the lane of every value that has one, for colour.

    >>> Table(("lane", "bits"), ((4, "[23..20]"),)).records()
    [{'lane': 4, 'bits': '[23..20]'}]
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    lanes: tuple[tuple[int | None, ...], ...] = ()

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def forms(
    family: str | None = None,
    target: str | None = None,
    kind: str | None = None,
    shape: str | None = None,
    sparse: bool | None = None,
) -> tuple[tuple[Form, ...], dict[str, int]]:
    """The instructions that fit, and how many there are in each family.

    `kind` is an element type of A, B or D; `shape` may have a star: ``m64n*k64``; `sparse` keeps the sparse or the dense ones.

    >>> forms("wmma", kind="b1")[1]
    {'wmma': 2}
    """
    every: tuple[Form, ...] = catalog(family, target)
    if kind is not None and not any(kind in types(ins) for ins in catalog()):
        kind = dtype(kind).name
    if shape is not None:
        shape = shape.lower()
        shapes = dict.fromkeys(ins.shape for ins in catalog())
        if not fnmatch.filter(shapes, shape):
            near = difflib.get_close_matches(shape, shapes, 3, 0.5)
            raise PtxlabError(
                f"no instruction has the shape {shape!r}; {f'did you mean {listing(near)}?' if near else 'a shape is spelt m16n8k64'}"
            )
    found = tuple(
        ins
        for ins in every
        if (kind is None or kind in types(ins))
        and (shape is None or fnmatch.fnmatchcase(ins.shape, shape))
        and (sparse is None or sparse == getattr(ins, "sparse", False))
    )
    counts = Counter(str(ins.family) for ins in found)
    return found, {name: counts[name] for name in FAMILIES if counts[name]}


def types(ins: Form) -> tuple[str, ...]:
    """Element types of A, B and D; of an instruction that moves a matrix, that in registers and that in memory.

    >>> types(catalog("mma.sp")[0])
    ('f16', 'f16', 'f16')
    """
    if isinstance(ins, MmaForm):
        return ins.a_type, ins.b_type, ins.d_type
    return tuple(kind for kind in (getattr(ins, "type", None), getattr(ins, "source", None)) if kind)


def counts(found: Iterable[Form]) -> Table:
    """How many forms each family has of each type of A.

    >>> counts(forms("wmma", kind="b1")[0]).records()
    [{'family': 'wmma', 'b1': 2, 'all': 2}, {'family': 'all', 'b1': 2, 'all': 2}]
    """
    number = Counter((str(ins.family), types(ins)[0] if types(ins) else "-") for ins in found)
    families = [name for name in FAMILIES if any(family == name for family, _ in number)]
    order = [*_ORDER, *sorted({kind for _, kind in number} - set(_ORDER))]
    kinds = [kind for kind in order if any(kind == other for _, other in number)]
    rows = [
        (name, *(number[name, kind] or "" for kind in kinds), sum(number[name, kind] for kind in kinds))
        for name in families
    ]
    rows.append(("all", *(sum(number[name, kind] for name in families) for kind in kinds), number.total()))
    return Table(("family", *kinds, "all"), tuple(rows))


_ORDER = ("f64", "tf32", "f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s8", "u8", "s4", "u4", "b1")


def _row(op: Operand, place: Place) -> tuple[Any, ...]:
    return place.lane, f"{op.name.lower()}{place.element}", place.register, bits(place.low, place.high)


_PLACE = ("lane", "element", "register", "bits")


def where(ins: Form, name: str, row: int, column: int, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every place that holds an element of an operand; A of a sparse instruction by its stored coordinates.

    >>> import ptxlab
    >>> where(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 9, 37).records()
    [{'lane': 4, 'element': 'a29', 'register': 3, 'bits': '[23..20]'}]
    """
    op = ins.operand(name)
    if op.layout is None:
        return in_memory(op, row, column, swizzle, transposed)
    places = op.where(row, column)
    selected = [selected_by(ins, op, copy) for copy in range(len(places))]
    rows = tuple((*_row(op, place), *said) for place, said in zip(places, selected, strict=True))
    return Table(
        (*_PLACE, *(("read with",) if selected[0] else ())), rows, tuple((place.lane,) for place in places)
    )


def selected_by(ins: Form, op: Operand, copy: int) -> tuple[str, ...]:
    """What makes the instruction read this of several copies."""
    if op.name == "E":
        return (f"selector {copy}",)
    vec = getattr(ins, "scale_vec", None)
    if op.name in ("SFA", "SFB") and vec:
        thread, byte = divmod(copy, 4 // vec)
        return (f"byte-id {byte * vec}, thread-id {thread}",)
    return ()


def in_memory(op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False) -> Table:
    """Where an element of a tile in shared memory is: K-major, or MN-major if `transposed`."""
    for what, found, size in (("row", row, op.shape[0]), ("column", column, op.shape[1])):
        if not 0 <= found < size:
            raise PtxlabError(
                f"{what} {found}: {op.name} is {op.shape[0]}x{op.shape[1]}, so {what}s go from 0 to {size - 1}"
            )
    tile = Tile.of(op, swizzle, transposed)
    outer, along = (row, column) if op.axes[0] == "m" else (column, row)
    core, line, inside = _core(tile, outer, along)
    answer = (int(tile.offset(outer, along)), core, line, inside * tile.bits // 8, swizzle)
    low = along * tile.bits % 8
    within = (bits(low, low + tile.bits - 1),) if tile.bits < 8 else ()
    return Table(
        (
            "byte offset",
            "core matrix",
            "row in it",
            "byte in its row",
            "swizzle",
            *(("bits",) if within else ()),
        ),
        ((*answer, *within),),
    )


def _core(tile: Tile, outer: int, along: int) -> tuple[int, int, int]:
    """Number of the core matrix (8 rows of 16 bytes), row in it, and element in that."""
    line, at, length = (along, outer, tile.rows) if tile.major == "MN" else (outer, along, tile.k)
    return line // 8 * (length // tile.core_width) + at // tile.core_width, line % 8, at % tile.core_width


def offsets(op: Operand, swizzle: int = 0, transposed: bool = False) -> Table:
    """The byte offset of every 16 bytes of an operand in shared memory, under the elements that they hold.

    >>> import ptxlab
    >>> offsets(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").b).records()[1]
    {'n': 1, 'k 0..7': '0x0010', 'k 8..15': '0x0090'}
    """
    it = Tile.of(op, swizzle, transposed)
    outer = next(axis for axis in op.axes if axis != "k")
    line, piece, lines, length = ("k", outer, it.k, it.rows) if transposed else (outer, "k", it.rows, it.k)
    heads = (line, *(f"{piece} {at}..{at + it.core_width - 1}" for at in range(0, length, it.core_width)))
    rows, cores = [], []
    for number in range(lines):
        places = [(at, number) if transposed else (number, at) for at in range(0, length, it.core_width)]
        rows.append((number, *(f"0x{int(it.offset(*place)):04x}" for place in places)))
        cores.append((None, *(_core(it, *place)[0] % 32 for place in places)))
    return Table(heads, tuple(rows), tuple(cores))


def sparse_where(ins: MmaForm, row: int, column: int) -> dict[str, Any]:
    """Where an element of dense A goes in a sparse instruction: its chunk, the nibble that decides, and its place for every nibble.

    >>> import ptxlab
    >>> found = sparse_where(ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"), 0, 3)
    >>> found["chunk"], found["places"].records()[1]["element"]
    (1, 'a0')
    """
    structure, e = ins.structure, ins.e
    if structure is None or e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is stored as it is")
    for what, found, size in (("row", row, ins.m), ("column", column, ins.k)):
        if not 0 <= found < size:
            raise PtxlabError(
                f"{what} {found}: dense A is {ins.m}x{ins.k}, so {what}s go from 0 to {size - 1}"
            )
    chunk, inside = divmod(column, structure.chunk)
    group, offset = divmod(inside, structure.group)
    rows: list[tuple[Any, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for nibble, kept in sorted(ins.nibbles.items()):
        columns = ", ".join(
            _span(chunk * structure.chunk + g * structure.group, structure.group) for g in kept
        )
        if group not in kept:
            rows.append((f"0b{nibble:04b}", columns, "-", "not stored: counts as 0", "", ""))
            lanes.append(())
            continue
        stored = (chunk * structure.keep + kept.index(group)) * structure.group + offset
        place = ins.a.where(row, stored)[0] if ins.a.layout else None
        rows.append(
            (
                f"0b{nibble:04b}",
                columns,
                *(_row(ins.a, place) if place else (f"stored column {stored}", "", "", "")),
            )
        )
        lanes.append((None, None, place.lane if place else None))
    first = chunk * structure.chunk
    return {
        "dense": [ins.m, ins.k],
        "stored": list(ins.a.shape),
        "chunk": chunk,
        "columns": [first, first + structure.chunk - 1],
        "group": group,
        "group_columns": [first + group * structure.group, first + (group + 1) * structure.group - 1],
        "nibble": where(ins, "E", row, chunk),
        "places": Table(("nibble", "keeps columns", *_PLACE), tuple(rows), tuple(lanes)),
    }


def _span(first: int, size: int) -> str:
    return str(first) if size == 1 else f"{first}..{first + size - 1}"


def holds(ins: Form, name: str, lane: int, register: int | None = None) -> Table:
    """The elements of an operand in one lane, or in one register of it.

    >>> import ptxlab
    >>> holds(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C", 5, 3).records()
    [{'register': 3, 'bits': '[31..0]', 'element': 'c3', 'm': 9, 'n': 3}]
    """
    op = ins.operand(name)
    if op.layout is None:
        raise PtxlabError(
            f"{op.name} of {ins.mnemonic} lives in shared memory: no lane holds it; `ptxlab where` and `ptxlab layout` give its bytes"
        )
    found = list(op.holds(lane, register))
    rows = tuple(
        (p.register, bits(p.low, p.high), f"{op.name.lower()}{p.element}", r, c) for p, r, c in found
    )
    return Table(("register", "bits", "element", *op.axes), rows)


def layout(op: Operand, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every element of every lane, one row each; of an operand in shared memory every element with its byte.

    >>> import ptxlab
    >>> layout(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").c).rows[-1]   # lane, element, register, bits, row, column
    (31, 3, 3, 0, 31, 15, 7)
    """
    if op.layout is not None:
        rows = [
            (p.lane, p.element, p.register, p.low, p.high, r, c)
            for lane in range(op.lanes)
            for p, r, c in op.holds(lane)
        ]
        return Table(("lane", "element", "register", "low", "high", "row", "column"), tuple(rows))
    every = ((row, column) for row in range(op.shape[0]) for column in range(op.shape[1]))
    found = [(at, in_memory(op, *at, swizzle, transposed)) for at in every]
    return Table(("row", "column", *found[0][1].columns), tuple((*at, *table.rows[0]) for at, table in found))


def held_again(op: Operand) -> str:
    """Where the further copies of elements are that a fragment holds more than once, in a sentence; "" where there are none.

    >>> import ptxlab
    >>> held_again(ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32").a)
    'every element is held twice: a(i) again as a(i + 8)'
    """
    if op.layout is None or op.layout.copies == 1 or op.name in ("E", "SFA", "SFB"):
        return ""
    first, *others = (op.layout.scatter(copy) for copy in range(op.layout.copies))
    steps = [
        divmod(int(step), op.layout.elements)
        for other in others
        for step in set((other - first).ravel().tolist())
    ]
    prefix, often = op.name.lower(), {2: "twice"}.get(op.layout.copies, f"{op.layout.copies} times")
    if len(steps) != len(others):
        return f"every element is held {often}; `ptxlab where` names all of its places"
    said = [f"{prefix}(i + {element})" + (f" of lane + {lane}" if lane else "") for lane, element in steps]
    return f"every element is held {often}: {prefix}(i) again as {' and '.join(said)}"


def grid(picture: Picture, index: int = 0) -> Table:
    """A picture's grid as a table: its cells by row and column.

    >>> from ptxlab.views import fragment
    >>> grid(fragment(catalog("mma")[-1], "C")).rows[0][:3]
    ('0', 'T0:{c0,c1}', 'T1:{c0,c1}')
    """
    it = picture.grids[index]
    tops, lefts = sorted({cell.row for cell in it.cells}), sorted({cell.column for cell in it.cells})
    at = {(cell.row, cell.column): cell for cell in it.cells}
    first = it.cells[0]
    corner = "\\".join(axis for axis in it.axes if axis)
    columns = (corner, *(_head(it.columns, left, first.width) for left in lefts))
    rows = tuple((_head(it.rows, top, first.height), *(at[top, left].text for left in lefts)) for top in tops)
    return Table(columns, rows, tuple((None, *(at[top, left].lane for left in lefts)) for top in tops))


def _head(headers: Any, start: int, size: int) -> str:
    for header in headers:
        if header.start == start and header.size == size:
            return str(header.text)
    return _span(start, size)
