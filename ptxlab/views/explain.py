"""What goes into one element of D: every register and bit of A, B, C, the metadata and the block scales."""

from __future__ import annotations

from typing import Any

from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from .picture import bits
from .tables import Table, in_memory, selected_by

__all__ = ["explain", "terms"]


def explain(ins: Form, row: int, col: int, *, swizzle: int = 0, transposed: bool = False) -> dict[str, Any]:
    """Where the inputs of D[row][col] are, as plain data.

    ``terms`` has an entry for every product: ``k``, and the places of its factors in ``a`` and ``b``. Of a sparse instruction a
    column k of A is stored in one place or another, or not at all: there is an entry for each, with the ``nibble`` that
    makes it so (x: any bit) and the ``stored`` column. ``d`` and ``c`` are the places of the element itself, ``e`` those of the
    nibbles by chunk, ``scale_a`` and ``scale_b`` those of the block scales. In shared memory a place is a ``byte`` of the tile, which
    depends on `swizzle` and, for B, on `transposed`.

    >>> import ptxlab
    >>> found = explain(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), 9, 3)
    >>> found["terms"][37]["a"], found["terms"][37]["b"]
    ([{'lane': 4, 'element': 'a29', 'register': 3, 'bits': [20, 23]}], [{'lane': 12, 'element': 'b13', 'register': 1, 'bits': [20, 23]}])
    """
    if not isinstance(ins, MmaForm):
        raise PtxlabError(
            f"{ins.mnemonic} moves a matrix: nothing is computed, so there is nothing to explain; `ptxlab where` says where it goes"
        )
    said: dict[str, Any] = {"instruction": ins.mnemonic, "element": f"D[{row}][{col}]"}
    said["d"], said["c"] = _places(ins.d, row, col), _places(ins.c, row, col)
    other = ins.column_of_b(row, col)
    said["formula"] = _formula(ins, row, col, other)
    if ins.structure is None:
        pairs: list[dict[str, Any]] = [{"k": k, "a": _places(ins.a, row, k, swizzle)} for k in range(ins.k)]
    else:
        pairs = _sparse(ins, row, swizzle)
        said["e"] = [_nibble(ins, row, chunk) for chunk in range(ins.k // ins.structure.chunk)]
    said["terms"] = [{**pair, "b": _places(ins.b, pair["k"], other, swizzle, transposed)} for pair in pairs]
    for name, op in (("scale_a", ins.scale_a), ("scale_b", ins.scale_b)):
        if op is not None:
            said[name] = _scales(ins, op, row, col)
    return said


def _formula(ins: MmaForm, row: int, col: int, other: int) -> str:
    a, b = f"A[{row}][k]", f"B[k][{other}]"
    if ins.scale_vec:
        a, b = (
            f"{a} * SFA[{row}][k / {ins.k // ins.scale_vec}]",
            f"{b} * SFB[k / {ins.k // ins.scale_vec}][{col}]",
        )
    product = f"popc({a} {ins.bit_op} {b})" if ins.bit_op else f"{a} * {b}"
    return f"D[{row}][{col}] = C[{row}][{col}] + sum over k of {product}"


def _places(
    op: Operand, row: int, col: int, swizzle: int = 0, transposed: bool = False
) -> list[dict[str, Any]]:
    """Every place of an element: in registers, or its byte in shared memory."""
    if op.layout is None:
        found = in_memory(op, row, col, swizzle, transposed).records()[0]
        return [{"byte": found["byte offset"], **({"bits": found["bits"]} if "bits" in found else {})}]
    prefix = op.name.lower()
    return [
        {"lane": p.lane, "element": f"{prefix}{p.element}", "register": p.register, "bits": [p.low, p.high]}
        for p in op.where(row, col)
    ]


def _sparse(ins: MmaForm, row: int, swizzle: int) -> list[dict[str, Any]]:
    """For every column k of dense A the places where it may be stored, and the nibbles that say so."""
    structure = ins.structure
    if structure is None:
        return []
    found = []
    for k in range(ins.k):
        chunk, inside = divmod(k, structure.chunk)
        group, offset = divmod(inside, structure.group)
        for slot in range(structure.keep):
            nibbles = [nibble for nibble, kept in ins.nibbles.items() if kept[slot] == group]
            if nibbles:
                stored = (chunk * structure.keep + slot) * structure.group + offset
                found.append(
                    {
                        "k": k,
                        "chunk": chunk,
                        "nibble": _pattern(nibbles),
                        "stored": stored,
                        "a": _places(ins.a, row, stored, swizzle),
                    }
                )
    return found


def _pattern(nibbles: list[int]) -> str:
    """What nibbles have in common: ``0bxx10``."""
    digits = [f"{nibble:04b}" for nibble in nibbles]
    return "0b" + "".join(column[0] if len(set(column)) == 1 else "x" for column in zip(*digits, strict=True))


def _nibble(ins: MmaForm, row: int, chunk: int) -> dict[str, Any]:
    if ins.e is None or ins.structure is None:
        return {}
    places = _places(ins.e, row, chunk)
    width = ins.structure.chunk
    return {
        "chunk": chunk,
        "k": [chunk * width, (chunk + 1) * width - 1],
        "places": _named(ins, ins.e, places),
    }


def _scales(ins: MmaForm, op: Operand, row: int, col: int) -> list[dict[str, Any]]:
    vec = ins.scale_vec or 1
    length = ins.k // vec
    found = []
    for block in range(vec):
        at = (row, block) if op.axes[0] == "m" else (block, col)
        found.append(
            {
                "block": block,
                "k": [block * length, (block + 1) * length - 1],
                "places": _named(ins, op, _places(op, *at)),
            }
        )
    return found


def _named(ins: MmaForm, op: Operand, places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copies, each with what makes the instruction read it."""
    return [
        {**place, **dict(zip(("read with",), selected_by(ins, op, copy), strict=False))}
        for copy, place in enumerate(places)
    ]


def terms(found: dict[str, Any]) -> dict[str, Table]:
    """The answer of `explain` as tables: the products, the nibbles, the scales.

    >>> import ptxlab
    >>> terms(explain(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), 9, 3))["terms"].rows[37]
    (37, 'T4 a29', 3, '[23..20]', 'T12 b13', 1, '[23..20]')
    """
    tables = {"terms": _products(found["terms"])}
    for key, name in (("e", "chunk"), ("scale_a", "block"), ("scale_b", "block")):
        if key in found:
            tables[key] = _by_k(found[key], name)
    return tables


def _products(entries: list[dict[str, Any]]) -> Table:
    extra = ("nibble", "stored") if "nibble" in entries[0] else ()
    heads = [_heads(side.upper(), entries[0][side][0]) for side in "ab"]
    rows: list[tuple[Any, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for entry in entries:
        for copy in range(
            max(len(entry["a"]), len(entry["b"]))
        ):  # an element that is held twice takes two lines
            cells: list[Any] = [
                entry["k"] if copy == 0 else "",
                *(entry[name] if copy == 0 else "" for name in extra),
            ]
            owners: list[int | None] = [None] * len(cells)
            for side, head in zip("ab", heads, strict=True):
                place = entry[side][copy] if copy < len(entry[side]) else None
                cells += _cells(place) if place else [""] * len(head)
                owners += [place.get("lane") if place else None, *[None] * (len(head) - 1)]
            rows.append(tuple(cells))
            lanes.append(tuple(owners))
    return Table(("k", *extra, *heads[0], *heads[1]), tuple(rows), tuple(lanes))


def _heads(name: str, place: dict[str, Any]) -> list[str]:
    if "byte" in place:
        return [f"{name} byte", *([f"{name} bits"] if "bits" in place else [])]
    return [name, f"{name} reg", f"{name} bits"]


def _cells(place: dict[str, Any]) -> list[Any]:
    if "byte" in place:
        return [place["byte"], *([place["bits"]] if "bits" in place else [])]
    return [f"T{place['lane']} {place['element']}", place["register"], bits(*place["bits"])]


def _by_k(entries: list[dict[str, Any]], name: str) -> Table:
    rows, lanes = [], []
    for entry in entries:
        for copy, place in enumerate(entry["places"]):
            first = (entry[name], f"{entry['k'][0]}..{entry['k'][1]}") if copy == 0 else ("", "")
            rows.append(
                (*first, place["lane"], place["register"], bits(*place["bits"]), place.get("read with", ""))
            )
            lanes.append((None, None, place["lane"]))
    return Table((name, "k", "lane", "register", "bits", "read with"), tuple(rows), tuple(lanes))
