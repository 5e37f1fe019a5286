"""The inputs of one element of D, and where they are: in registers, shared memory or tensor memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from typing import Any

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.location import bit_range
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.parse import parse
from ..isa.tcgen05 import TensorInstruction
from ..isa.tensor_operand import TensorOperand
from .labels import index_range
from .location_tables import tile_places
from .table import Table, Value


@dataclass(frozen=True)
class RegisterPlace:
    """An element in a register: lane, name in the fragment, register, lowest and highest bit."""

    lane: int
    element: str
    register: int
    bits: tuple[int, int]
    read_with: str = ""  # the modifiers that select this copy

    @property
    def cells(self) -> dict[str, Value]:
        """What a table says about it, by heading."""
        return {"": f"T{self.lane} {self.element}", " reg": self.register, " bits": bit_range(*self.bits)}


@dataclass(frozen=True)
class BytePlace:
    """An element in shared memory: its first byte in the tile and, if narrower than a byte, its bits."""

    byte: int
    bits: tuple[int, int] | None = None
    lane = None  # no lane holds it

    @property
    def cells(self) -> dict[str, Value]:
        """What a table says about it, by heading."""
        return {" byte": self.byte} | ({} if self.bits is None else {" bits": bit_range(*self.bits)})


@dataclass(frozen=True)
class ProductTerm:
    """One product of the sum: its k, and every place of its factors.

    In a sparse instruction a column k of A is stored in one of several places, or not at all: there is a term
    for each place, with the `nibble` that selects it (x: any bit) and the `stored` column.
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
        """All of it as plain data for JSON, without what the instruction does not have."""
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
        """Name, noun and entries of nibbles and scales, if there are any."""
        for name, noun in (("e", "chunk"), ("scale_a", "block"), ("scale_b", "block")):
            entries = getattr(self, name)
            if entries:
                yield name, noun, entries


def _plain(value: Any) -> Any:
    """Places and terms as plain data by name, without empty fields."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if not is_dataclass(value):
        return value
    named = {field.name.replace("_", " "): getattr(value, field.name) for field in fields(value)}
    return {name: _plain(item) for name, item in named.items() if item is not None and item != ""}


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
    if not isinstance(ins, Instruction):
        raise PtxlabError(
            f"{ins.mnemonic} moves a matrix: nothing is computed, so there is nothing to explain; "
            "`ptxlab where` says where its elements go"
        )
    d = _register_places(ins.d, row, column)  # refuses an element that D does not have
    b_column = ins.column_of_b(row, column)
    terms = []
    for term in _a_terms(ins, row, swizzle):
        terms.append(replace(term, b=_places(ins, ins.b, term.k, b_column, swizzle, transposed)))
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


def _formula(ins: Instruction, row: int, column: int, b_column: int) -> str:
    a, b = f"A[{row}][k]", f"B[k][{b_column}]"
    if ins.scale_vec:
        block = f"k / {ins.k // ins.scale_vec}"
        a, b = f"{a} * SFA[{row}][{block}]", f"{b} * SFB[{block}][{column}]"
    product = f"popc({a} {ins.bit_op} {b})" if ins.bit_op else f"{a} * {b}"
    return f"D[{row}][{column}] = C[{row}][{column}] + sum over k of {product}"


def _places(
    ins: Instruction, op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> tuple[RegisterPlace | BytePlace, ...]:
    """Every place of an element: in registers, or its byte in shared memory."""
    if op.layout is not None:
        return _register_places(op, row, column)
    return tuple(
        BytePlace(place.byte, (place.low, place.high) if op.dtype.bits < 8 else None)
        for place in tile_places(ins, op, row, column, swizzle, transposed)
    )


def _register_places(op: Operand, row: int, column: int) -> tuple[RegisterPlace, ...]:
    prefix = op.name.lower()
    return tuple(
        RegisterPlace(place.lane, f"{prefix}{place.element}", place.register, (place.low, place.high))
        for place in op.where(row, column)
    )


def _a_terms(ins: Instruction, row: int, swizzle: int) -> list[ProductTerm]:
    """A term with the places of A for every k; a sparse A has one for each possible place."""
    structure = ins.structure
    if structure is None:
        return [ProductTerm(k, None, None, None, _places(ins, ins.a, row, k, swizzle)) for k in range(ins.k)]
    terms = []
    for k in range(ins.k):
        chunk, inside = divmod(k, structure.chunk)
        group, offset = divmod(inside, structure.group)
        for slot in range(structure.keep):
            nibbles = [nibble for nibble, kept in ins.nibbles.items() if kept[slot] == group]
            if nibbles:
                stored = (chunk * structure.keep + slot) * structure.group + offset
                places = _places(ins, ins.a, row, stored, swizzle)
                terms.append(ProductTerm(k, chunk, _common_bits(nibbles), stored, places))
    return terms


def _common_bits(nibbles: list[int]) -> str:
    """The bits that nibbles have in common: ``0bxx10``."""
    digits = [f"{nibble:04b}" for nibble in nibbles]
    return "0b" + "".join(digit[0] if len(set(digit)) == 1 else "x" for digit in zip(*digits, strict=True))


def _selected(ins: Instruction, op: Operand | None, row: int, column: int) -> tuple[SelectedPlaces, ...]:
    """Nibbles or scales of a row of A or a column of B: every copy, with the modifiers that select it."""
    if op is None:
        return ()
    by_row = op.axes[0] == "m"
    count = op.shape[1] if by_row else op.shape[0]
    length = ins.k // count
    entries = []
    for index in range(count):
        at = (row, index) if by_row else (index, column)
        places = tuple(
            replace(place, read_with=op.read_with(copy))
            for copy, place in enumerate(_register_places(op, *at))
        )
        entries.append(SelectedPlaces(index, (index * length, (index + 1) * length - 1), places))
    return tuple(entries)


# -- tables ----------------------------------------------------------------------------------------------


def _term_table(terms: tuple[ProductTerm, ...]) -> Table:
    """A row for every term; an element with copies takes several."""
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
            start = [""] * len(own)  # rows of further copies
    return Table((*own, *heads[0], *heads[1]), tuple(rows), tuple(lanes))


def _selected_table(noun: str, entries: tuple[SelectedPlaces, ...]) -> Table:
    rows, lanes = [], []
    for entry in entries:
        for copy, place in enumerate(entry.places):
            index = (entry.index, f"{entry.k[0]}..{entry.k[1]}") if copy == 0 else ("", "")
            rows.append((*index, place.lane, place.register, bit_range(*place.bits), place.read_with))
            lanes.append((None, None, place.lane))
    return Table((noun, "k", "lane", "register", "bits", "read with"), tuple(rows), tuple(lanes))


# -- tcgen05 ---------------------------------------------------------------------------------------------


def tensor_explain(form: Form, row: int, col: int, swizzle: int = 0, transposed: bool = False) -> Table:
    """The inputs of an element of D of a tcgen05.mma, and where they are.

    >>> import ptxlab
    >>> mxf4 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=64)
    >>> [record["where"] for record in tensor_explain(mxf4, 37, 5).records()][-1]
    'lanes 5, 37, 69, 101, column 0, bits [15..0]'
    """
    if not isinstance(form, TensorInstruction):
        raise PtxlabError(f"{form.mnemonic} computes nothing; tcgen05.mma does")
    form.d.where(row, col)  # refuses an element that D does not have
    rows: list[tuple[int | str, ...]] = []
    for name, matrix in {"D": form.d, **form.located}.items():
        lines, length = matrix.shape
        by_row = matrix.axes[0] == "m"
        if name == "D":
            elements = [(row, col)]
        elif by_row:
            elements = [(row, at) for at in range(length)]
        else:
            elements = [(at, col) for at in range(lines)]
        first, last = elements[0], elements[-1]
        text = f"[{first[0]}][{index_range(first[1], last[1] - first[1] + 1)}]"
        if not by_row:
            text = f"[{index_range(first[0], last[0] - first[0] + 1)}][{first[1]}]"
        if matrix.space == "tensor":
            where = _places_text(matrix, elements)
        else:
            places = [
                place
                for element in elements
                for place in tile_places(form, matrix, *element, swizzle, transposed)
            ]
            pieces = dict.fromkeys(place.byte // 16 * 16 for place in places)
            pair = f" of CTA {places[0].cta}" if form.cta_group == 2 else ""
            where = f"shared memory{pair}, 16 bytes from {', '.join(f'0x{byte:04x}' for byte in pieces)} on"
        rows.append((name, text, where))
    return Table(("operand", "elements", "where"), tuple(rows))


def _places_text(tensor: TensorOperand, elements: list[tuple[int, int]]) -> str:
    """``CTA 1, lanes 5, 37, column 0, bits [15..0]``: the words that hold elements, and the bits in them."""
    bits: dict[tuple[int, int], list[int]] = {}  # CTA and column -> lowest and highest bit
    lanes: dict[int, None] = {}
    for element in elements:
        for place in tensor.where(*element):
            span = bits.setdefault((place.cta, place.column), [place.low, place.high])
            span[:] = [min(span[0], place.low), max(span[1], place.high)]
            lanes[place.lane] = None
    ctas = sorted({cta for cta, _ in bits})
    columns = sorted({column for _, column in bits})
    pair = ""
    if tensor.ctas > 1:
        pair = f"CTA{'s' if len(ctas) > 1 else ''} {' and '.join(map(str, ctas))}, "
    which = f"lane{'s' if len(lanes) > 1 else ''} {', '.join(map(str, lanes))}"
    where = f"column{'s' if len(columns) > 1 else ''} {index_range(columns[0], columns[-1] - columns[0] + 1)}"
    low, high = next(iter(bits.values()))
    exact = f", bits [{high}..{low}]" if len(columns) == 1 and high - low < 31 else ""
    return f"{pair}{which}, {where}{exact}"
