"""The page of tcgen05: its forms, shapes, descriptors and layouts, from the catalogue."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from ptxlab import views
from ptxlab._util.files import write_atomically
from ptxlab.isa.catalog import TCGEN05_FAMILIES, tcgen05_forms
from ptxlab.isa.instruction_descriptor import KINDS, InstructionDescriptor, shapes_of
from ptxlab.isa.tcgen05 import LOAD_SHAPES, TensorInstruction, TensorTransfer
from ptxlab.isa.tcgen05.tcgen05_form import TYPES
from ptxlab.isa.tensor_operand import DATA_PATHS
from ptxlab.memory.tcgen05_tiles import shared_source
from ptxlab.views import (
    data_paths,
    instruction_descriptor,
    scale_tile,
    tensor_layouts,
    tensor_memory,
    tensor_registers,
)

from .markdown import Page, code, edit_this, figure, table

__all__ = ["page", "write"]


def write(folder: Path, *, web: bool = False) -> None:
    write_atomically(folder / "tcgen05.md", str(page(web=web)))


def page(*, web: bool = False) -> Page:
    out = Page(code("tcgen05"))
    out.add(
        "Blackwell's matrix instructions for the data centre: one thread multiplies, D stays in tensor "
        "memory, and shape and types are in descriptors. ptxlab emulates them, and compiles a kernel for "
        "each. Legality is that of ptxas of CUDA 13.4, for every qualifier, operand and target. Layouts "
        "follow the PTX ISA and CUTLASS, arithmetic what others measured on a B200 ({doc}`numerics`); no "
        "Blackwell GPU was asked here. {doc}`/guide/python` shows how to use them, lessons 26, 27, 28 and 29 "
        "explain them."
    )
    out.heading(2, "Forms")
    out.add("A form of `tcgen05.mma` is a mnemonic; its descriptor has shape and types.", _forms())
    out.heading(2, "Shapes of tcgen05.mma")
    out.add(_shapes())
    out.heading(2, "The instruction descriptor")
    out.add(
        "By kind; all other bits are 0. `ins.descriptor` has the fields, `ins.faults(code)` what is wrong, "
        "and `figures.instruction_descriptor(ins)` draws it."
    )
    for kinds in (("f16", "tf32", "f8f6f4", "i8", "ti16"), ("mxf8f6f4",), ("mxf4", "mxf4nvf4")):
        out.heading(3, ", ".join(f"kind::{kind}" for kind in kinds))
        out.add(figure(instruction_descriptor(InstructionDescriptor(kinds[0]))), _fields(kinds))
    out.heading(2, "Where D is in tensor memory")
    out.add(
        "Tensor memory has 128 lanes and 512 columns of 32 bits. An element of D takes a column of its own, "
        'f16 the lower half of it. `figures.tensor_memory(ins, "D")` draws any instruction\'s.',
        figure(data_paths()),
        "The same as (row, column) -> lane + 128 * column, within one CTA, as CuTe writes it, for N = 64. "
        "A in tensor memory is in the lanes of D, once for each group of lanes side by side.",
        _paths(),
    )
    out.heading(2, "Scale factors")
    out.add(
        "Block-scaled kinds read a scale for each 16 or 32 elements along K. In shared memory they are "
        "tiles of 128 rows by 4, 512 bytes (`ptxlab.memory.tile_scales`); `tcgen05.cp.32x128b.warpx4` "
        "takes a tile to four columns, the same in the 32 lanes of each warp. The ids of the descriptor "
        "choose among the four bytes of a word.",
        figure(scale_tile(37)),
    )
    out.heading(2, "Operands of some instructions")
    for name, parts in _EXAMPLES:
        form = next(form for form in tcgen05_forms() if form.mnemonic == name)
        if isinstance(form, TensorInstruction):
            form = form.with_descriptor(None, **parts).a_from("tensor")
            sparse = "sparse " if form.sparse else ""
            ctas = " of a CTA pair" if form.cta_group == 2 else ""
            out.heading(3, f"{sparse}kind::{form.kind}{ctas}, {form.shape}")
            listed = tensor_layouts(form)
            out.add(f"```text\n{name}\n```")
            if web:
                out.add(edit_this(name))
            out.add(table(listed.columns, [[str(value) for value in row] for row in listed.rows]))
            out.dropdown("Where its matrices are", figure(views.product(form)))
            if form.scale_a is not None:
                out.dropdown("Whose scales are where", figure(views.scales(form)))
            for operand in form.tensors:
                out.dropdown(f"{operand} in tensor memory", figure(tensor_memory(form, operand)))
    out.heading(2, "Registers of tcgen05.ld and tcgen05.st")
    out.add(
        "(thread of a warp, register) -> lane + lanes * column, at x1. Warp w of a warpgroup reaches lanes "
        "32w to 32w + 31; shapes of 16 lanes reach the lower or the upper half of them. "
        '`ptxlab.explore("tcgen05.ld.sync.aligned.16x256b.x2.b32")` shows the way of each word.'
    )
    out.add(_loads())
    loads = [f"tcgen05.ld.sync.aligned.{shape}.x{count}.b32" for shape, count in _SAME_COLUMNS]
    out.add("The same 16 columns of lane 0, shape by shape:", figure(views.runs(*loads)))
    for shape in LOAD_SHAPES:
        load = f"tcgen05.ld.sync.aligned.{shape}.x2.b32"
        out.dropdown(f"{shape}.x2, register by register", figure(tensor_registers(load)))
    out.heading(2, "Copies from shared memory")
    out.add(
        "`tcgen05.cp` takes rows of a matrix behind a shared-memory descriptor to lanes; with `.b8x16` and "
        "a source format it makes bytes of 4- and 6-bit elements.",
        _copies(),
    )
    out.heading(2, "What is assumed")
    out.add(
        "The PTX ISA says some things in pictures only, and others not at all. ptxlab emulates them so, "
        "until somebody with the GPU sends a {doc}`report </guide/report>`:",
        _assumptions(),
    )
    return out


#: Shapes of ld with the counts that take 16 columns.
_SAME_COLUMNS = (("32x32b", 16), ("16x64b", 8), ("16x128b", 4), ("16x256b", 2), ("16x32bx2", 8))

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
                rows.append(
                    (
                        code(f"kind::{kind}"), code(what) if what else "", str(cta_group),
                        ", ".join(map(str, shapes.m)), shapes.columns, str(shapes.k), ", ".join(types),
                        " ".join(map(code, shapes.targets)),
                    )
                )  # fmt: skip
    columns_ = ("kind", "", "CTAs", "M", "N", "K", "types of A and B", "only on")
    return table(columns_, rows)


def _fields(kinds: tuple[str, ...]) -> str:
    rows = []
    for field in InstructionDescriptor(kinds[0]).bit_fields:
        last = field.low + field.bits - 1
        bits = str(field.low) if field.bits == 1 else f"{field.low}-{last}"
        rows.append((bits, code(field.name), _values(field.name, kinds)))
    return table(("bits", "field", "codes"), rows)


def _values(name: str, kinds: tuple[str, ...]) -> str:
    texts: list[tuple[str, str]] = []
    for kind in kinds:
        row = KINDS[kind]
        codes = {"a": row.types, "b": row.types, "d": row.results, "scale": row.scales}.get(name)
        if codes is not None:
            texts.append((kind, ", ".join(f"{number} {value}" for value, number in codes.items())))
    if texts:
        if len({text for _, text in texts}) == 1:
            return texts[0][1]
        return "<br>".join(f"{code(f'kind::{kind}')}: {text}" for kind, text in texts)
    scaled = KINDS[kinds[0]].scaled
    return {
        "n": "N / 8", "m": "M / 128" if scaled else "M / 16", "max_shift": "0, 8, 16 or 32 columns: 0 to 3",
        "k": "which of the kind's K", "k_high": "the upper bit of that", "scale_a_lanes": "32: 0, 128: 1",
        "selector": "0 to 3", "scale_a_id": "0 to 3: the first byte of a word", "sparsity_version": "0 or 1",
        "scale_b_id": "0 to 3: the first byte of a word",
    }.get(name, "0 no, 1 yes")  # fmt: skip


def _paths() -> str:
    rows = []
    for path in DATA_PATHS.values():
        starts = " or ".join(map(str, path.alignments))
        rows.append(
            (path.name, str(path.m), str(path.ctas), code(path.result(path.m, 64).cute), starts, path.source)
        )
    return table(("layout", "M", "CTAs", "D", "first lane", "source"), rows)


def _copies() -> str:
    rows = []
    for form in tcgen05_forms("tcgen05.cp"):
        if isinstance(form, TensorTransfer) and form.cta_group == 1 and not form.source:
            tensor = form.tensor("T")
            name = f"{form.shape}.{form.multicast}" if form.multicast else form.shape
            rows.append((code(name), str(form.columns), code(tensor.layout.cute), str(tensor.layout.copies)))
    return table(("shape", "columns", "(row, word) -> lane + 128 * column", "copies"), rows, numbers=(1, 3))


def _assumptions() -> str:
    moves = dict.fromkeys(
        (form.family, text)
        for form in tcgen05_forms()
        if isinstance(form, TensorTransfer | TensorInstruction)
        for text in form.assumptions
    )
    rows = [(code(family), text) for family, text in moves]
    operands = dict.fromkeys(
        (tensor.name, tensor.source.removeprefix("assumed: "))
        for form in tcgen05_forms()
        if isinstance(form, TensorInstruction)
        for descriptor in _descriptors(form)
        for tensor in form.with_descriptor(None, **descriptor).a_from("tensor").tensors.values()
        if tensor.source.startswith("assumed")
    )
    rows += [(f"{name} in tensor memory", text) for name, text in operands]
    shared = dict.fromkeys(
        (
            f"{operand.name} of {operand.dtype.bits} bits in shared memory, K = {form.k}",
            shared_source(operand),
        )
        for row in tcgen05_forms("tcgen05.mma")
        if isinstance(row, TensorInstruction) and row.kind == "mxf8f6f4" and not row.decompress
        for form in [row.with_descriptor(k=64, m=128 * row.cta_group, a="e3m2", b="e3m2")]
        for operand in form.operands.values()
    )
    rows += [(name, text.removeprefix("assumed: ")) for name, text in shared]
    rows.append((code("s1z4m11"), TYPES["s1z4m11"].note))
    rows.append((code("ue5m3"), TYPES["ue5m3"].note))
    return table(("what", "as"), rows)


def _descriptors(form: TensorInstruction) -> list[dict[str, object]]:
    """Descriptors with every M and K that the mnemonic has, and 6-bit types where it takes them."""
    found: list[dict[str, object]] = []
    for shapes in shapes_of(form.kind, form.sparse, form.ws, form.cta_group):
        if form.decompress and shapes.k != 64:
            continue
        for m in shapes.m:
            parts: dict[str, object] = {"m": m, "n": shapes.n[-1], "k": shapes.k}
            if form.kind == "mxf8f6f4" and not form.decompress:
                found.append({**parts, "a": "e3m2"})
            if not (form.ashift and m == 64):
                found.append(parts)
    return found


def _loads() -> str:
    rows = []
    for form in tcgen05_forms("tcgen05.ld"):
        if (
            isinstance(form, TensorTransfer)
            and form.count == 1
            and not form.pack
            and form.shape in LOAD_SHAPES
        ):
            rows.append((code(form.shape), str(form.registers), str(form.columns), code(form.layout.cute)))
    return table(("shape", "registers", "columns", "layout"), rows, numbers=(1, 2))
