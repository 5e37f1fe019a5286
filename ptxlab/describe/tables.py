"""What the command line says: facts and rows as plain data, ready for a terminal, Markdown, CSV or JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..catalog import FAMILIES, catalog
from ..dtypes import dtype
from ..errors import PtxlabError
from ..instruction import TARGETS, Instruction
from ..memory import Tile
from ..operand import Operand, Place
from .picture import Picture, bits

__all__ = ["Table", "evidence", "facts", "forms", "grid", "holds", "layout", "sparse_where", "where"]


@dataclass(frozen=True)
class Table:
    """Named columns and rows of plain values; `lanes` gives the lane of every value that has one, for colour."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    lanes: tuple[tuple[int | None, ...], ...] = ()

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def forms(family: str | None = None, target: str | None = None, kind: str | None = None) -> tuple[tuple[Instruction, ...], dict[str, int]]:
    """The instructions of a family, a target and an element type of A or B, and how many there are in each family."""
    if kind is not None:
        kind = dtype(kind).name
    found = tuple(ins for ins in catalog(family, target) if kind is None or kind in (ins.a_type, ins.b_type))
    counts = Counter(str(ins.family) for ins in found)
    return found, {name: counts[name] for name in FAMILIES if counts[name]}


def evidence(ins: Instruction) -> list[str]:
    """How the emulator's arithmetic is known: ``sm_90: measured (source)``, chips of one kind together."""
    from ..arithmetic import CHIPS, models

    known: dict[str, list[str]] = {}
    for model in models():
        if ins.family in model.families and ins.a_type in model.inputs and ins.supports(CHIPS[model.chip]):
            known.setdefault(f"{model.evidence} ({model.source})", []).append(model.chip)
    return [f"{', '.join(chips)}: {said}" for said, chips in known.items()] or ["no model of its arithmetic"]


def facts(ins: Instruction) -> dict[str, Any]:
    """Everything about an instruction in words, in the order in which one asks."""
    said: dict[str, Any] = {"family": ins.family, "shape": ins.shape, "lanes": ins.lanes}
    said["operands"] = [_operand_words(op) for op in ins.operands.values()]
    if ins.structure is not None and ins.e is not None:
        unit = {1: "values", 2: "pairs"}[ins.structure.group]
        most = f"at most {ins.structure.keep} of {ins.structure.groups} {unit} are non-zero"
        said["sparsity"] = f"{ins.structure.title}: in every {ins.structure.chunk} columns of A {most}"
        legal = ins.structure.nibbles if ins.metadata_ordered else ins.structure.unordered
        said["nibbles"] = [f"0b{nibble:04b}" for nibble in sorted(legal)]
        said["selectors"] = list(ins.selectors)
    free = {name: values for name, values in ins.modifiers.items() if len(values) > 1 and name != "selector"}
    if free:
        said["modifiers"] = {name: [int(v) if isinstance(v, bool) else v for v in values] for name, values in free.items()}
    said["targets"] = list(ins.targets)
    said["missing on"] = [target for target in TARGETS if target not in ins.targets]
    said["arithmetic"] = evidence(ins)
    said["ptx"] = ins.ptx
    return said


def _operand_words(op: Operand) -> str:
    return op.describe() + (f"  {op.layout.signature}" if op.layout else "")


def _row(op: Operand, place: Place) -> tuple[Any, ...]:
    return place.lane, f"{op.name.lower()}{place.element}", place.register, bits(place.low, place.high)


_PLACE = ("lane", "element", "register", "bits")


def where(ins: Instruction, name: str, row: int, column: int, swizzle: int = 0) -> Table:
    """Every place that holds an element of an operand; A of a sparse instruction by its stored coordinates."""
    op = ins.operand(name)
    if op.layout is None:
        return _in_memory(op, row, column, swizzle)
    places = op.where(row, column)
    selected = [_selected_by(ins, op, copy) for copy in range(len(places))]
    rows = tuple((*_row(op, place), *said) for place, said in zip(places, selected, strict=True))
    return Table((*_PLACE, *(("read with",) if selected[0] else ())), rows, tuple((place.lane,) for place in places))


def _selected_by(ins: Instruction, op: Operand, copy: int) -> tuple[str, ...]:
    """What makes the instruction read this of several copies."""
    if op.name == "E":
        return (f"selector {copy}",)
    if op.name in ("SFA", "SFB") and ins.scale_vec:
        thread, byte = divmod(copy, 4 // ins.scale_vec)
        return (f"byte-id {byte * ins.scale_vec}, thread-id {thread}",)
    return ()


def _in_memory(op: Operand, row: int, column: int, swizzle: int) -> Table:
    for what, found, size in (("row", row, op.shape[0]), ("column", column, op.shape[1])):
        if not 0 <= found < size:
            raise PtxlabError(f"{what} {found}: {op.name} is {op.shape[0]}x{op.shape[1]}, so {what}s go from 0 to {size - 1}")
    tile = Tile.of(op, swizzle)
    outer, along = (row, column) if op.axes[0] == "m" else (column, row)
    byte = along * op.dtype.bits // 8
    core = outer // 8 * (tile.row_bytes // 16) + byte // 16
    answer = (int(tile.offset(outer, byte)), core, outer % 8, byte % 16, swizzle)
    return Table(("byte offset", "core matrix", "row in it", "byte in its row", "swizzle"), (answer,))


def sparse_where(ins: Instruction, row: int, column: int) -> dict[str, Any]:
    """Where an element of dense A goes in a sparse instruction: its chunk, the nibble that decides, and its place for every nibble."""
    structure, e = ins.structure, ins.e
    if structure is None or e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is stored as it is")
    for what, found, size in (("row", row, ins.m), ("column", column, ins.k)):
        if not 0 <= found < size:
            raise PtxlabError(f"{what} {found}: dense A is {ins.m}x{ins.k}, so {what}s go from 0 to {size - 1}")
    chunk, inside = divmod(column, structure.chunk)
    group, offset = divmod(inside, structure.group)
    legal = structure.nibbles if ins.metadata_ordered else structure.unordered
    rows: list[tuple[Any, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for nibble, kept in sorted(legal.items()):
        columns = ", ".join(_span(chunk * structure.chunk + g * structure.group, structure.group) for g in kept)
        if group not in kept:
            rows.append((f"0b{nibble:04b}", columns, "-", "not stored: counts as 0", "", ""))
            lanes.append(())
            continue
        stored = (chunk * structure.keep + kept.index(group)) * structure.group + offset
        place = ins.a.where(row, stored)[0] if ins.a.layout else None
        rows.append((f"0b{nibble:04b}", columns, *(_row(ins.a, place) if place else (f"stored column {stored}", "", "", ""))))
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


def holds(ins: Instruction, name: str, lane: int, register: int | None = None) -> Table:
    """The elements of an operand in one lane, or in one register of it."""
    op = ins.operand(name)
    found = list(op.holds(lane, register))
    rows = tuple((p.register, bits(p.low, p.high), f"{op.name.lower()}{p.element}", r, c) for p, r, c in found)
    return Table(("register", "bits", "element", *op.axes), rows)


def layout(op: Operand) -> Table:
    """Every element of every lane, one row each."""
    rows = [(p.lane, p.element, p.register, p.low, p.high, r, c) for lane in range(op.lanes) for p, r, c in op.holds(lane)]
    if not rows:
        raise PtxlabError(f"operand {op.name} lives in shared memory: no lane holds it; `ptxlab where` gives its byte offsets")
    return Table(("lane", "element", "register", "low", "high", "row", "column"), tuple(rows))


def grid(picture: Picture, index: int = 0) -> Table:
    """A picture's grid as a table: its cells by row and column."""
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
