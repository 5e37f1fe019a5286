"""The page of tcgen05: its forms, shapes, descriptors and layouts, from the catalogue."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.isa.catalog import TCGEN05_FAMILIES, tcgen05_forms
from ptxlab.isa.instruction_descriptor import KINDS, InstructionDescriptor, shapes_of
from ptxlab.isa.tcgen05 import LOAD_SHAPES, Tcgen05Mma, Tcgen05Move
from ptxlab.isa.tensor_memory import DATA_PATHS
from ptxlab.views import tensor_layouts

from .markdown import Page, code, table

__all__ = ["page", "write"]


def write(folder: Path) -> None:
    write_atomically(folder / "tcgen05.md", str(page()))


def page() -> Page:
    out = Page(code("tcgen05"))
    out.add(
        "Blackwell's matrix instructions for the data centre: one thread multiplies, D stays in tensor "
        "memory, and shape and types are in descriptors. ptxlab has their forms, descriptors and layouts, "
        "and emulates `ld`, `st` and `cp`; `mma` does not run yet. Legality is that of ptxas of CUDA 13.4, "
        "for every qualifier, operand and target. Layouts follow the PTX ISA and CUTLASS; no Blackwell GPU "
        "was asked. {doc}`/guide/python` shows how to use it."
    )
    out.heading(2, "Forms")
    out.add(_forms())
    out.heading(2, "Shapes of tcgen05.mma")
    out.add(_shapes())
    out.heading(2, "The instruction descriptor")
    out.add(
        "By kind; all other bits are 0. `ins.descriptor` has the fields, `ins.faults(code)` what is wrong."
    )
    for kinds in (("f16", "tf32", "f8f6f4", "i8", "ti16"), ("mxf8f6f4",), ("mxf4", "mxf4nvf4")):
        out.heading(3, ", ".join(f"kind::{kind}" for kind in kinds))
        out.add(_fields(kinds))
    out.heading(2, "Where D is in tensor memory")
    out.add(
        "(row, column) -> lane + 128 * column, within one CTA, as CuTe writes it, for N = 64. A in tensor "
        "memory is in the lanes of D, once for each group of lanes side by side."
    )
    out.add(_paths())
    out.heading(2, "Operands of some instructions")
    for name, parts in _EXAMPLES:
        form = next(form for form in tcgen05_forms() if form.mnemonic == name)
        if isinstance(form, Tcgen05Mma):
            form = form.with_descriptor(None, **parts).a_from("tensor")
            out.heading(3, f"{code(name)} {form.shape}")
            listed = tensor_layouts(form)
            out.add(table(listed.columns, [[str(value) for value in row] for row in listed.rows]))
    out.heading(2, "Registers of tcgen05.ld and tcgen05.st")
    out.add(
        "(thread of a warp, register) -> lane + lanes * column, at x1. Warp w of a warpgroup reaches lanes "
        "32w to 32w + 31; shapes of 16 lanes reach the lower or the upper half of them."
    )
    out.add(_loads())
    return out


_EXAMPLES: tuple[tuple[str, dict[str, object]], ...] = (
    ("tcgen05.mma.sp.cta_group::1.kind::f16", {"m": 128, "n": 64}),
    ("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale", {"m": 128, "n": 64}),
    ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16", {"n": 128}),
)


def _forms() -> str:
    rows = []
    for family in TCGEN05_FAMILIES:
        forms = tcgen05_forms(family)
        by_targets: dict[tuple[str, ...], list[str]] = {}
        for form in forms:
            by_targets.setdefault(form.targets, []).append(form.mnemonic)
        for targets, names in by_targets.items():
            rows.append((code(family), str(len(names)), code(names[0]), " ".join(map(code, targets))))
    return table(("family", "forms", "for example", "targets"), rows, numbers=(1,))


def _shapes() -> str:
    rows = []
    for kind, row in KINDS.items():
        for (ws, cta_group), sparse in product(((False, 1), (False, 2), (True, 1)), (False, True)):
            for shapes in shapes_of(kind, sparse, ws, cta_group):
                what = f"{'.ws' if ws else ''}{'.sp' if sparse else ''}".strip(".")
                types = ("e4m3", "e5m2") if kind == "f8f6f4" and shapes.targets else row.types
                columns = ", ".join(map(str, shapes.n)) if len(shapes.n) < 4 else _range(shapes.n)
                rows.append(
                    (
                        code(f"kind::{kind}"), code(what) if what else "", str(cta_group),
                        ", ".join(map(str, shapes.m)), columns, str(shapes.k), ", ".join(types),
                        " ".join(map(code, shapes.targets)),
                    )
                )  # fmt: skip
    columns_ = ("kind", "", "CTAs", "M", "N", "K", "types of A and B", "only on")
    return table(columns_, rows)


def _range(n: tuple[int, ...]) -> str:
    return f"{n[0]} to {n[-1]} by {n[-1] - n[-2]}" + (" (also 24)" if n[2] == 24 and n[4] == 48 else "")


def _fields(kinds: tuple[str, ...]) -> str:
    rows = []
    for field in InstructionDescriptor(kinds[0]).bit_fields:
        last = field.low + field.bits - 1
        bits = str(field.low) if field.bits == 1 else f"{field.low}-{last}"
        rows.append((bits, code(field.name), _values(field.name, kinds)))
    return table(("bits", "field", "codes"), rows)


def _values(name: str, kinds: tuple[str, ...]) -> str:
    texts = []
    for kind in kinds:
        row = KINDS[kind]
        codes = {"a": row.types, "b": row.types, "d": row.results, "scale": row.scales}.get(name)
        if codes is not None:
            texts.append(", ".join(f"{number} {value}" for value, number in codes.items()))
    if texts:
        return "; ".join(dict.fromkeys(texts))
    scaled = KINDS[kinds[0]].scaled
    return {
        "n": "N / 8", "m": "M / 128" if scaled else "M / 16", "max_shift": "0, 8, 16 or 32 columns: 0 to 3",
        "k": "which of the kind's K", "k_high": "the upper bit of that", "scale_a_lanes": "32: 0, 128: 1",
    }.get(name, "")  # fmt: skip


def _paths() -> str:
    rows = []
    for path in DATA_PATHS.values():
        starts = " or ".join(map(str, path.alignments))
        rows.append(
            (path.name, str(path.m), str(path.ctas), code(path.result(path.m, 64).cute), starts, path.source)
        )
    return table(("layout", "M", "CTAs", "D", "first lane", "source"), rows)


def _loads() -> str:
    rows = []
    for form in tcgen05_forms("tcgen05.ld"):
        if isinstance(form, Tcgen05Move) and form.count == 1 and not form.pack and form.shape in LOAD_SHAPES:
            rows.append((code(form.shape), str(form.registers), str(form.columns), code(form.layout.cute)))
    return table(("shape", "registers", "columns", "layout"), rows, numbers=(1, 2))
