"""One reference page for each family of instructions: its forms by shape and type, then its fragments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ptxlab import Instruction, PtxlabError, Transfer, catalog, views
from ptxlab._util.files import write_atomically
from ptxlab.instruction import register_instructions
from ptxlab.isa.catalog import REGISTER_FAMILIES, TCGEN05_FAMILIES
from ptxlab.isa.layout import Layout
from ptxlab.isa.operand import Operand
from ptxlab.isa.sparsity import Structure
from ptxlab.memory import SWIZZLES
from ptxlab.views.labels import layout_note

from . import machine_code
from .groups import AnyInstruction, Fragment, Group, fragments, groups, qualifiers, targets
from .markdown import Page, code, definitions, edit_this, figure, link, slug, table

__all__ = ["page", "summary", "write"]

#: NVIDIA's manual; its sections are named, since their anchors change.
MANUAL = "https://docs.nvidia.com/cuda/parallel-thread-execution/"

#: Family -> (what it does, section of the manual).
ABOUT: dict[str, tuple[str, str]] = {
    "mma": (
        "One warp multiplies two small matrices held in its registers and adds a third: D = A B + C. Each "
        "lane holds a few elements of each matrix.",
        "Matrix multiply-accumulate operation using mma instruction",
    ),
    "mma.sp": (
        "Like `mma`, for an A in which at least half of the elements are zero in a fixed pattern. Only the "
        "other half is stored; metadata in a register says which elements those are.",
        "Matrix multiply-accumulate operation using mma.sp instruction with sparse matrix A",
    ),
    "wmma": (
        "One warp multiplies fragments that `wmma.load` has loaded. The manual does not specify which lane "
        "holds which element; the fragments shown here are those of an H200 (sm_90).",
        "Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wmma.load": (
        "Loads a matrix from memory into the fragment that `wmma.mma` reads, by rows or by columns, with "
        "any stride.",
        "Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wmma.store": (
        "Stores the fragment of D to memory, by rows or by columns, with any stride.",
        "Matrix multiply-accumulate operation using wmma instructions",
    ),
    "wgmma": (
        "Four warps, a warpgroup of 128 threads, multiply an A of 64 rows by a B in shared memory, "
        "asynchronously. A comes from registers or from shared memory; the accumulator stays in registers.",
        "Asynchronous warpgroup-level matrix multiply-accumulate operation using wgmma.mma_async instruction",
    ),
    "wgmma.sp": (
        "Like `wgmma`, with a structured sparse A: only half of it is stored, and metadata says which half.",
        "Asynchronous warpgroup-level multiply-and-accumulate operation using wgmma.mma_async.sp instruction",
    ),
    "ldmatrix": (
        "A warp loads one, two or four small matrices from shared memory straight into fragments: lanes "
        "supply the addresses of rows, and other lanes receive the elements.",
        "Warp-level matrix load instruction: ldmatrix",
    ),
    "stmatrix": (
        "The reverse of `ldmatrix`: a warp stores fragments as rows of small matrices in shared memory.",
        "Warp-level matrix store instruction: stmatrix",
    ),
    "movmatrix": (
        "A warp transposes an 8x8 matrix of 16-bit elements in its registers.",
        "Warp-level matrix transpose instruction: movmatrix",
    ),
}

#: What a modifier chooses.
MODIFIERS: dict[str, str] = {
    "scale_d": "0: D = A B; 1: D = A B + D",
    "imm_scale_a": "the sign by which A is multiplied",
    "imm_scale_b": "the sign by which B is multiplied",
    "imm_trans_a": "1: A is M-major in shared memory",
    "imm_trans_b": "1: B is N-major in shared memory",
    "byte_id_a": "the first byte of the register that holds scales of A",
    "byte_id_b": "the first byte of the register that holds scales of B",
    "thread_id_a": "which pair of lanes in each group of four supplies the scales of A",
    "thread_id_b": "which lane in each group of four supplies the scales of B",
    "swizzle": "the swizzle of shared memory, in bytes",
}

_SHOWN_REGISTERS = 8


def write(folder: Path, *, brief: bool = False, web: bool = False) -> None:
    """Write the pages; `brief` shows one fragment of every role, and only names the others.

    With `web`, examples have a link to the page with Python in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for family in REGISTER_FAMILIES:
        write_atomically(folder / f"{slug(family)}.md", str(page(family, brief=brief, web=web)))
    write_atomically(folder / "families.txt", summary() + "\n")


def summary() -> str:
    """All families in one table."""
    rows = []
    for family in REGISTER_FAMILIES:
        forms = register_instructions(family)
        sections = groups(family, forms)
        shapes = ", ".join(code(shape) for shape in dict.fromkeys(group.shape for group in sections))
        types = ", ".join(dict.fromkeys(name for group in sections for name in group.inputs))
        names = list(dict.fromkeys(target for ins in forms for target in ins.targets))
        title = link(code(family), f"{slug(family)}.md")
        rows.append((title, shapes, types, str(len(forms)), targets(names)))
    for family in TCGEN05_FAMILIES:
        tensor_forms = catalog(family)
        types = ", ".join(dict.fromkeys(name for form in tensor_forms for name in views.types(form)))
        shapes = ", ".join(
            code(shape) for shape in dict.fromkeys(form.shape for form in tensor_forms) if shape
        )
        shapes = "in the descriptor" if ".mma" in family else shapes
        names = list(dict.fromkeys(target for form in tensor_forms for target in form.targets))
        rows.append((link(code(family), "tcgen05.md"), shapes, types, str(len(tensor_forms)), targets(names)))
    rows.append(("", "", "", f"**{len(catalog()):,}**", ""))
    return table(("family", "shapes", "element types", "forms", "targets"), rows, numbers=(3,))


def page(family: str, *, brief: bool = False, web: bool = False) -> Page:
    """The page of a family."""
    about, section = ABOUT[family]
    forms = register_instructions(family)
    sections = groups(family, forms)
    distinct = fragments(sections)
    out = Page(code(family))
    out.add(about, f"NVIDIA's text: {link('PTX ISA', MANUAL)}, *{section}*.")
    out.heading(2, "Forms")
    out.add(_forms(forms, sections))
    for group in sections:
        _section(out, group, distinct, web)
    role = ""
    for fragment in distinct:
        is_first = fragment.role != role
        if is_first:
            role = fragment.role
            out.heading(2, role if role in ("Metadata E", "Block scales") else f"Fragments of {role}")
            if role == "Metadata E":
                _nibbles(out, forms)
        _name(out, fragment)
        if is_first:
            _fragment(out, fragment)
        elif not brief:
            shown = Page("")
            _fragment(shown, fragment)
            out.dropdown("Picture, formula and registers", *shown.blocks[1:])
    return out


# -- forms ---------------------------------------------------------------------------------------------------


def _forms(forms: Sequence[AnyInstruction], sections: Sequence[Group]) -> str:
    multiplies = any(group.outputs for group in sections)
    rows = []
    for group in sections:
        shape = link(code(group.shape), f"#{group.label}")
        if group.sizes:
            shape += f"<br>N = {_sizes(group.sizes)}"
        types = [", ".join(group.inputs)]
        if multiplies:
            types.append(", ".join(group.outputs))
        qualified = ", ".join(code(f".{token}") for token in qualifiers(group, forms))
        on = "<br>".join(dict.fromkeys(targets(ins.targets) for ins in group.forms))
        since = ", ".join(map(str, sorted({ins.ptx_version for ins in group.forms})))
        rows.append((shape, *types, qualified, str(len(group.forms)), on, since))
    types_of = ("A and B", "C and D") if multiplies else ("type",)
    columns = ("shape", *types_of, "qualifiers", "forms", "targets", "since PTX ISA")
    return table(columns, rows, numbers=(columns.index("forms"),))


def _section(out: Page, group: Group, distinct: Sequence[Fragment], web: bool) -> None:
    ins = group.example
    out.heading(2, group.title.replace(group.shape, code(group.shape), 1), group.label)
    count = "1 form" if len(group.forms) == 1 else f"{len(group.forms)} forms"
    many = f", N = {_sizes(group.sizes)}" if group.sizes else ""
    out.add(f"{count}{many}. Shown here:", f"```ptx\n{ins.ptx}\n```")
    if web:
        out.add(edit_this(ins.mnemonic))
    out.add(_operand_table(group, distinct))
    out.add(definitions(_facts(group)))
    for title, lines in _sources(ins).items():
        out.dropdown(title, "```cuda\n" + "\n".join(lines) + "\n```")
    out.dropdown("CUDA C++ kernel around it", f"```cuda\n{ins.kernel}\n```")
    spellings = "\n".join(map(str, group.forms))
    out.dropdown(f"All spellings ({len(group.forms)})", f"```text\n{spellings}\n```")


def _sources(ins: AnyInstruction) -> dict[str, list[str]]:
    titles = {"c++": "As an asm statement in CUDA C++", "wmma": "With nvcuda::wmma"}
    return {titles[name]: lines for name, lines in views.cpp(ins).items()}


def _operand_table(group: Group, distinct: Sequence[Fragment]) -> str:
    rows = []
    for fragment in distinct:
        if group not in fragment.users:
            continue
        operands = [operand for ins in group.samples for operand in _those_with(fragment, ins)]
        operands = operands or [fragment.operand]
        types = ", ".join(dict.fromkeys(str(operand.dtype) for operand in operands))
        in_registers = fragment.operand.layout is not None
        where = f"{operands[0].lanes} lanes" if in_registers else "shared memory"
        counts = sorted({operand.registers for operand in operands})
        registers = " or ".join(map(str, counts)) if in_registers else "-"
        size = link(f"{operands[0].shape[0]}x{operands[0].shape[1]}", f"#{fragment.label}")
        compressed = ", compressed" if fragment.role == "A" and fragment.instruction.sparse else ""
        variant = f" {code(fragment.variant)}" if fragment.variant else ""
        rows.append((fragment.name, size + variant + compressed, types, where, registers))
    return table(("operand", "fragment", "types", "held by", "registers per lane"), rows, numbers=(4,))


def _those_with(fragment: Fragment, ins: AnyInstruction) -> list[Operand]:
    """The operands of an instruction that have this fragment."""
    named = [operand for operand in ins.operands.values() if operand.name in fragment.names]
    scales = fragment.role == "Block scales"
    return [operand for operand in named if scales or operand.layout == fragment.operand.layout]


def _facts(group: Group) -> list[tuple[str, str]]:
    """Names and values that belong to the form that is shown."""
    ins = group.example
    lines = _choices(ins) if isinstance(ins, Instruction) else _addresses(ins)
    notes = dict.fromkeys(layout_note(ins, operand) for operand in ins.operands.values())
    if any(notes):
        lines.append(("note", "; ".join(filter(None, notes))))
    sets = dict.fromkeys(form.targets for form in group.forms)
    lines.append(("targets", "; ".join(targets(names) for names in sets)))
    versions = sorted({form.ptx_version for form in group.forms})
    lines.append(("PTX ISA", f"{', '.join(map(str, versions))} and later"))
    evidence = _evidence(ins) if isinstance(ins, Instruction) else ""
    if evidence:
        lines.append(("arithmetic", f"{evidence} ({link('all models', 'numerics.md')})"))
    lines.append(("machine code", machine_code.fact(group)))
    lines.append(("command line", code(f"ptxlab show {ins.mnemonic}")))
    return lines


def _choices(ins: Instruction) -> list[tuple[str, str]]:
    """What is left to choose: sparsity, selectors, modifiers."""
    lines: list[tuple[str, str]] = []
    if ins.structure is not None:
        unit = "pairs" if ins.structure.group == 2 else "values"
        most = f"at most {ins.structure.keep} of {ins.structure.groups} {unit} are non-zero"
        lines.append(
            ("sparsity", f"{ins.structure.title}: in every {ins.structure.chunk} columns of A {most}")
        )
        lines.append(("selectors", ", ".join(map(code, ins.selectors))))
    for name, values in ins.modifiers.items():
        if len(values) > 1 and name != "selector":
            choices = " or ".join(code(int(value)) for value in values)
            meaning = MODIFIERS.get(name)
            lines.append((code(name), f"{choices}: {meaning}" if meaning else choices))
    return lines


def _addresses(ins: Transfer) -> list[tuple[str, str]]:
    """What it asks of memory."""
    lines: list[tuple[str, str]] = []
    if ins.address_lanes:
        lines.append(("addresses", f"{_address_lanes(ins)}; each is a multiple of {ins.alignment}"))
    if ins.spaces:
        lines.append(("state spaces", ", ".join(["generic", *map(code, ins.spaces)])))
    return lines


def _evidence(ins: Instruction) -> str:
    """How the arithmetic of each chip is known: ``measured for sm_90; published for sm_80, sm_100``."""
    chips: dict[str, list[str]] = {}
    for entry in views.evidence(ins):
        chips.setdefault(entry.level, []).extend(entry.chips)
    return "; ".join(f"{word} for {', '.join(names)}" for word, names in sorted(chips.items()))


def _address_lanes(ins: Transfer) -> str:
    """Which lanes supply the addresses of which matrix."""
    lanes: dict[int, list[int]] = {}
    for supplier in ins.address_lanes:
        lanes.setdefault(supplier.matrix, []).append(supplier.lane)
    return "; ".join(f"lanes {some[0]} to {some[-1]}: matrix {matrix}" for matrix, some in lanes.items())


# -- fragments -----------------------------------------------------------------------------------------------


def _name(out: Page, fragment: Fragment) -> None:
    """The heading of a fragment, and who uses it."""
    operand = fragment.operand
    variant = f" {code(fragment.variant)}" if fragment.variant else ""
    place = "" if operand.layout else " in shared memory"
    size = f"{operand.shape[0]}x{operand.shape[1]}"
    types = f": {', '.join(fragment.types)}" if fragment.role != "Metadata E" else ""
    out.heading(3, f"{fragment.name} {size}{variant}{place}{types}", fragment.label)
    out.add("Used by " + ", ".join(link(group.title, f"#{group.label}") for group in fragment.users) + ".")


def _fragment(out: Page, fragment: Fragment) -> None:
    """Its picture, and what can be said about it."""
    ins, operand = fragment.instruction, fragment.operand
    if fragment.role == "Metadata E" and isinstance(ins, Instruction):
        _metadata(out, fragment, ins)
    elif fragment.role == "Block scales" and isinstance(ins, Instruction):
        _scales(out, ins)
    elif operand.layout is None:
        _tile(out, fragment)
    else:
        _registers(out, fragment, operand.layout)


def _first_warp(operand: Operand) -> int | None:
    """A warpgroup is shown by its first warp."""
    return 0 if operand.lanes > 32 else None


def _registers(out: Page, fragment: Fragment, layout: Layout) -> None:
    ins, operand = fragment.instruction, fragment.operand
    warp = _first_warp(operand)
    out.add(figure(views.fragment(ins, operand.name, warp=warp)))
    notes = []
    if warp is not None:
        notes.append(
            f"The rows of warp 0; the other {operand.lanes // 32 - 1} warps hold the next rows alike."
        )
    if isinstance(ins, Transfer) and ins.address_lanes:
        notes.append("Row r is the row in memory whose address lane r supplies.")
    if layout.copies > 1:
        notes.append(f"Each element is held {layout.copies} times; the picture shows the first holder.")
    out.add(" ".join(notes))
    if fragment.role == "A" and ins.sparse:
        out.dropdown("Logical (dense) A", figure(views.fragment(ins, "A", dense=True, warp=warp)))
    _map(out, fragment, layout)
    for packed, types in fragment.packings.values():
        out.add(_register_table(packed, types))


def _map(out: Page, fragment: Fragment, layout: Layout) -> None:
    """Row and column by lane and element: as formula and in CuTe's notation."""
    out.code_block(layout.formula())
    out.add(f"CuTe: {code(layout.cute)}, {code(layout.signature)}")
    same, other = _sizes_with(fragment, layout.formula())
    if same:
        shown = f"Shown for N = {fragment.operand.shape[1]}; the formula is the same for N = {_sizes(same)}"
        out.add(f"{shown}, and shorter for N = {_sizes(other)}." if other else f"{shown}.")


def _sizes_with(fragment: Fragment, formula: str) -> tuple[list[int], list[int]]:
    """Values of N for which the formula holds, and for which it does not; every one is asked."""
    same: set[int] = set()
    other: set[int] = set()
    for group in fragment.users:
        if not group.sizes:
            continue
        for ins in group.forms:
            layout = ins.operands[fragment.names[0]].layout
            if isinstance(ins, Instruction) and layout is not None:
                (same if layout.formula() == formula else other).add(ins.n)
    return sorted(same), sorted(other)


def _metadata(out: Page, fragment: Fragment, ins: Instruction) -> None:
    warp = _first_warp(fragment.operand)
    for selector in ins.selectors:
        picture = figure(views.metadata(ins, selector=selector, warp=warp))
        if selector == ins.selectors[0]:
            out.add(picture)
        else:
            out.dropdown(f"Selector {selector}", picture)
    if fragment.operand.layout is not None:
        _map(out, fragment, fragment.operand.layout)


def _nibbles(out: Page, forms: Sequence[AnyInstruction]) -> None:
    """The legal nibbles of each sparsity of the family in one table."""
    sparse = [ins for ins in forms if isinstance(ins, Instruction)]
    structures = list(dict.fromkeys(ins.structure for ins in sparse if ins.structure is not None))
    for structure in structures:
        units = "pairs" if structure.group == 2 else "values"
        limit = f"of every {structure.groups} {units} in a row of A at most {structure.keep} may be non-zero"
        out.add(f"{structure.title}: {limit}.")
    out.add(
        "A nibble is two 2-bit indices, the first in the low bits. What it keeps of its chunk of columns:"
    )
    spellings = {True: ".sp::ordered_metadata", False: ".sp"}
    orders = [order for order in spellings if any(ins.metadata_ordered is order for ins in sparse)]
    rows = []
    for nibble in sorted({nibble for structure in structures for nibble in structure.unordered}):
        legal_in_order = any(nibble in structure.nibbles for structure in structures)
        legal = ["legal" if legal_in_order or not order else "illegal" for order in orders]
        rows.append(
            (code(f"0b{nibble:04b}"), *(_kept(structure, nibble) for structure in structures), *legal)
        )
    kept = (f"{structure.title} keeps" for structure in structures)
    out.add(table(("nibble", *kept, *(code(spellings[order]) for order in orders)), rows))


def _kept(structure: Structure, nibble: int) -> str:
    spans = [
        _range(group * structure.group, (group + 1) * structure.group - 1)
        for group in structure.unordered.get(nibble, ())
    ]
    return ", ".join(spans) or "-"


def _scales(out: Page, ins: Instruction) -> None:
    out.add(figure(views.scales(ins)))
    for operand in (ins.scale_a, ins.scale_b):
        if operand is not None and operand.layout is not None:
            out.add(f"{operand.name} in CuTe: {code(operand.layout.cute)}, {code(operand.layout.signature)}")


def _tile(out: Page, fragment: Fragment) -> None:
    """A tile in shared memory, without a swizzle and with each that is as wide as its rows."""
    for swizzle in sorted(SWIZZLES):
        try:
            picture = views.fragment(fragment.instruction, fragment.operand.name, swizzle=swizzle)
        except PtxlabError:  # rows longer than this swizzle is wide
            continue
        if swizzle == min(SWIZZLES):
            out.add(figure(picture))
        else:
            out.dropdown(f"With a {swizzle}-byte swizzle", figure(picture))


def _register_table(operand: Operand, types: Sequence[str]) -> str:
    lanes = range(min(4, operand.lanes))
    rows = []
    for register in range(min(operand.registers, _SHOWN_REGISTERS)):
        holdings = [list(operand.holds(lane, register)) for lane in lanes]
        places = [place for place, _, _ in holdings[0]]
        names = [f"{operand.name.lower()}{place.element}" for place in places]
        spans = [_bits(place.low, place.high) for place in places]
        if len(spans) > 2:
            spans = [spans[0], spans[1], "…", spans[-1]]
        elements = names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"
        cells = (code(_cells(operand.name, [(row, col) for _, row, col in held])) for held in holdings)
        rows.append((str(register), elements, " ".join(spans), *cells))
    count = "1 register" if operand.registers == 1 else f"{operand.registers} registers"
    text = f"{', '.join(types)}: {count} of {operand.register_bits} bits per lane{_container(operand)}."
    left = operand.registers - _SHOWN_REGISTERS
    if left > 0:
        text += f" The other {left} registers continue in the same way."
    columns = ("register", "elements", "bits", *(f"lane {lane}" for lane in lanes))
    return f"{text}\n\n{table(columns, rows, numbers=(0,))}"


def _container(operand: Operand) -> str:
    """Which bits of its container an element takes, where it is narrower than that."""
    if operand.layout is None or operand.layout.elements < 2:
        return ""
    first, second = operand.place(0, 0), operand.place(0, 1)
    room = second.low - first.low
    if first.register != second.register or room == operand.dtype.bits:
        return ""
    return f", each element in bits {_bits(first.low, first.high)} of {room}"


def _cells(name: str, places: list[tuple[int, int]]) -> str:
    """``A[0][0..7]``: neighbours along a row or a column together."""
    runs: list[list[tuple[int, int]]] = []
    for row, col in places:
        run = runs[-1] if runs else []
        step = (row - run[-1][0], col - run[-1][1]) if run else None
        first_step = (run[1][0] - run[0][0], run[1][1] - run[0][1]) if len(run) > 1 else step
        if step in ((0, 1), (1, 0)) and step == first_step:
            run.append((row, col))
        else:
            runs.append([(row, col)])
    texts = [f"{name}[{_range(run[0][0], run[-1][0])}][{_range(run[0][1], run[-1][1])}]" for run in runs]
    return ", ".join(texts if len(texts) <= 4 else [*texts[:2], "…", texts[-1]])


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _bits(low: int, high: int) -> str:
    return f"[{high}]" if low == high else f"[{high}..{low}]"


def _sizes(sizes: Sequence[int]) -> str:
    """``8, 16, …, 256`` where steps are even, else in runs of even steps."""
    if len(sizes) < 4:
        return ", ".join(map(str, sizes))
    step = sizes[1] - sizes[0]
    uneven = (at for at in range(1, len(sizes)) if sizes[at] - sizes[at - 1] != step)
    end = next(uneven, len(sizes))
    head = f"{sizes[0]}, {sizes[1]}, …, {sizes[end - 1]}" if end > 3 else ", ".join(map(str, sizes[:end]))
    return head if end == len(sizes) else f"{head}, {_sizes(sizes[end:])}"
