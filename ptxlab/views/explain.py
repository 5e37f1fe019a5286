"""What goes into one element of D: every register and bit of A, B, C, the metadata and the block scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse
from .labels import bit_range
from .places import memory_place, selected_by
from .table import Table, Value


@dataclass(frozen=True)
class RegisterPlace:
    """An element in a register: lane, name in the fragment, register, lowest and highest bit."""

    lane: int
    element: str
    register: int
    bits: tuple[int, int]
    read_with: str = ""  # the modifiers that make the instruction read this copy


@dataclass(frozen=True)
class BytePlace:
    """An element in shared memory: its first byte in the tile and, if it is smaller than a byte, its bits."""

    byte: int
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class Term:
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
class Selected:
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
    terms: tuple[Term, ...]
    e: tuple[Selected, ...] = ()
    scale_a: tuple[Selected, ...] = ()
    scale_b: tuple[Selected, ...] = ()

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

    def _selected(self) -> Iterator[tuple[str, str, tuple[Selected, ...]]]:
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


def _a_terms(ins: MmaForm, row: int, swizzle: int) -> list[Term]:
    """For every k the places of A, without those of B; a sparse A has a term for each possible place."""
    structure = ins.structure
    if structure is None:
        return [Term(k, None, None, None, _places(ins.a, row, k, swizzle)) for k in range(ins.k)]
    terms = []
    for k in range(ins.k):
        chunk, inside = divmod(k, structure.chunk)
        group, offset = divmod(inside, structure.group)
        for slot in range(structure.keep):
            nibbles = [nibble for nibble, kept in ins.nibbles.items() if kept[slot] == group]
            if nibbles:
                stored = (chunk * structure.keep + slot) * structure.group + offset
                places = _places(ins.a, row, stored, swizzle)
                terms.append(Term(k, chunk, _common_bits(nibbles), stored, places))
    return terms


def _common_bits(nibbles: list[int]) -> str:
    """What nibbles have in common: ``0bxx10``."""
    digits = [f"{nibble:04b}" for nibble in nibbles]
    return "0b" + "".join(digit[0] if len(set(digit)) == 1 else "x" for digit in zip(*digits, strict=True))


def _selected(ins: MmaForm, op: Operand | None, row: int, column: int) -> tuple[Selected, ...]:
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
        entries.append(Selected(index, (index * length, (index + 1) * length - 1), places))
    return tuple(entries)


# -- tables ----------------------------------------------------------------------------------------------


def _term_table(terms: tuple[Term, ...]) -> Table:
    """A line for every term; an element that is held twice takes two."""
    first = terms[0]
    columns = ["k"]
    if first.nibble is not None:
        columns += ["nibble", "stored"]
    own, heads = len(columns), (_place_headings("A", first.a[0]), _place_headings("B", first.b[0]))
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for term in terms:
        start: list[Value] = [term.k]
        if term.nibble is not None and term.stored is not None:
            start += [term.nibble, term.stored]
        for copy in range(max(len(term.a), len(term.b))):
            cells: list[Value] = start if copy == 0 else [""] * own
            owners: list[int | None] = [None] * own
            for places, head in zip((term.a, term.b), heads, strict=True):
                place = places[copy] if copy < len(places) else None
                cells = [*cells, *_place_cells(place, len(head))]
                lane = place.lane if isinstance(place, RegisterPlace) else None
                owners += [lane, *[None] * (len(head) - 1)]
            rows.append(tuple(cells))
            lanes.append(tuple(owners))
    return Table((*columns, *heads[0], *heads[1]), tuple(rows), tuple(lanes))


def _place_headings(name: str, place: RegisterPlace | BytePlace) -> list[str]:
    if isinstance(place, RegisterPlace):
        return [name, f"{name} reg", f"{name} bits"]
    return [f"{name} byte"] if place.bits is None else [f"{name} byte", f"{name} bits"]


def _place_cells(place: RegisterPlace | BytePlace | None, count: int) -> list[int | str]:
    if place is None:
        return [""] * count
    if isinstance(place, RegisterPlace):
        return [f"T{place.lane} {place.element}", place.register, bit_range(*place.bits)]
    return [place.byte] if place.bits is None else [place.byte, bit_range(*place.bits)]


def _selected_table(noun: str, entries: tuple[Selected, ...]) -> Table:
    rows, lanes = [], []
    for entry in entries:
        for copy, place in enumerate(entry.places):
            index = (entry.index, f"{entry.k[0]}..{entry.k[1]}") if copy == 0 else ("", "")
            rows.append((*index, place.lane, place.register, bit_range(*place.bits), place.read_with))
            lanes.append((None, None, place.lane))
    return Table((noun, "k", "lane", "register", "bits", "read with"), tuple(rows), tuple(lanes))
