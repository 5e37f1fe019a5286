"""The catalogue searched and counted: what `ptxlab list` shows."""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Iterable

from .._util.arguments import as_flag, as_text
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import FAMILIES, catalog
from ..isa.dtypes import dtype
from ..isa.form import Form
from ..isa.parse import parse_any
from ..isa.tcgen05 import TensorTransfer
from .table import Table

_ORDER = ("f64", "tf32", "f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s8", "u8", "s4", "u4", "b1")


def forms(
    family: str | None = None,
    target: str | None = None,
    element_type: str | None = None,
    shape: str | None = None,
    sparse: bool | None = None,
) -> tuple[tuple[Form, ...], dict[str, int]]:
    """The instructions that fit, and how many there are in each family.

    `element_type` is that of A, B or D; `shape` may have a star, ``m64n*k64``; `sparse` selects sparse or
    dense ones. A tcgen05.mma fits if one of its descriptors does.

    >>> forms("wmma", element_type="b1")[1]
    {'wmma': 2}
    """
    every: tuple[Form, ...] = catalog(family, target)
    if element_type is not None:
        element_type = as_text(element_type, "element type")
    if element_type is not None and not any(element_type in types(ins) for ins in catalog()):
        element_type = dtype(element_type).name  # refuses a type that does not exist
    if shape is not None:
        shape = as_text(shape, "shape").lower()
        _check_shape(shape)
    if sparse is not None:
        sparse = as_flag(sparse, "sparse")
    fitting = tuple(
        ins
        for ins in every
        if (element_type is None or element_type in types(ins))
        and (shape is None or any(fnmatch.fnmatchcase(name, shape) for name in ins.shapes))
        and (sparse is None or sparse == ins.sparse)
    )
    counts = Counter(str(ins.family) for ins in fitting)
    return fitting, {name: counts[name] for name in FAMILIES if counts[name]}


def _check_shape(pattern: str) -> None:
    shapes = dict.fromkeys(shape for ins in catalog() for shape in ins.shapes if shape)
    if not fnmatch.filter(shapes, pattern):
        similar = difflib.get_close_matches(pattern, shapes, 3, 0.5)
        hint = f"did you mean {listing(similar)}?" if similar else "a shape is spelt m16n8k64"
        raise PtxlabError(f"no instruction has the shape {quoted(pattern)}; {hint}")


def types(ins: Form | str) -> tuple[str, ...]:
    """Element types of A, B and D; for a transfer, the types in registers and in memory.

    For tcgen05.mma, the types of its descriptor come first, then those of other descriptors.

    >>> types(catalog("mma.sp")[0])
    ('f16', 'f16', 'f16')
    >>> types("tcgen05.mma.cta_group::1.kind::f16")
    ('f16', 'f16', 'f32', 'bf16')
    """
    return parse_any(ins).element_types


def counts(instructions: Iterable[Form | str]) -> Table:
    """How many instructions each family has for each type of A; for tcgen05.mma, the default type.

    >>> counts(forms("wmma", element_type="b1")[0]).records()
    [{'family': 'wmma', 'b1': 2, 'all': 2}, {'family': 'all', 'b1': 2, 'all': 2}]
    """
    number: Counter[tuple[str, str]] = Counter()
    for ins in _parsed(instructions):
        number[str(ins.family), _type_of_a(ins)] += 1
    families = [name for name in FAMILIES if any(family == name for family, _ in number)]
    present = {name for _, name in number}
    names = [name for name in _ORDER if name in present] + sorted(present - set(_ORDER))
    rows = []
    for family in families:
        row = [number[family, name] for name in names]
        rows.append((family, *(count or "" for count in row), sum(row)))
    rows.append(
        ("all", *(sum(number[family, name] for family in families) for name in names), number.total())
    )
    return Table(("family", *names, "all"), tuple(rows))


def _type_of_a(ins: Form) -> str:
    """The type that an instruction is counted under: of A, or of a transfer's elements; "-" for none."""
    if isinstance(ins, TensorTransfer) or not ins.element_types:
        return "-"
    return ins.element_types[0]


def _parsed(instructions: Iterable[Form | str]) -> list[Form]:
    """Several instructions, given as forms or by name."""
    try:
        entries = list(instructions)
    except Exception:  # not iterable
        raise PtxlabError(f"found {quoted(instructions)}; it takes several instructions") from None
    return [parse_any(entry) for entry in entries]
