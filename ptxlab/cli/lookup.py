"""Commands that look something up: list, show, where, holds, layout, metadata, cute, ptx, sass, models.

Each asks `ptxlab.views` for tables or pictures, and returns the text to print.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import Annotated, Any, Literal

from .. import views
from ..errors import PtxlabError, counted, listing, quoted, wrapped
from ..gpu import sass as sass_of
from ..gpu.codegen import declarations, ptx_line, ptx_module, source, statement
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.parse import parse_all, parse_every
from ..isa.targets import CHIPS, GENERATIONS
from ..isa.tcgen05 import Tcgen05Form, TensorInstruction, TensorTransfer
from ..memory import Tile
from ..memory.tcgen05_tiles import shared_tile, stored_operand
from ..numerics import models as all_models
from ..views.explanation import tensor_explain
from ..views.fragment_pictures import Label
from ..views.location_tables import thread_words
from ..views.tile_pictures import operand_tile
from . import output
from .commands import Family, Flags, Index, InstructionName, Json, OperandName, Selector, Swizzle, Transposed
from .instruction_arguments import Tcgen05, find_operand, form_of, names_tcgen05, operand_name
from .memory_commands import tile_facts
from .output import (
    PICTURE,
    Printed,
    Style,
    as_csv,
    as_json,
    as_markdown,
    as_text,
    sparse_places_text,
)

#: Beginnings of notes that explain a picture, and are left out of text.
_ABOUT_COLOURS = ("colours:", "hue:", "one place:")
_NAME_WIDTH = 11  # of the names of facts in the first column
_IN_ONE_LINE = ("nibbles", "selectors", "spaces", "targets", "missing on")  # facts that are several words
_WIDTH = 100  # of the lines of `show` where there is no terminal
_SHOWN_REGISTERS = 8  # a longer list of registers is abridged in `show`


def list_(
    style: Style,
    family: Family = None,
    *,
    json: Json = False,
    named_family: Annotated[str | None, "the same as FAMILY", "FAMILY", "--family"] = None,
    target: Annotated[str | None, "only what this target has, e.g. sm_90a"] = None,
    type: Annotated[str | None, "only this element type of A, B or D, e.g. s4"] = None,
    shape: Annotated[str | None, "only this shape, e.g. m16n8k64 or 'm64n*k64'"] = None,
    density: Annotated[
        Literal["sparse", "dense"] | None,
        Flags(
            {
                "sparse": "only instructions with a sparse A",
                "dense": "only instructions with a dense A",
            }
        ),
    ] = None,
    count: Annotated[bool, "only count them, by family and type of A"] = False,
) -> str:
    """The names of the instructions that fit, or how many there are.

    examples:
      ptxlab list --count                        how many, by family and type
      ptxlab list --target sm_75 --type s4       the s4 instructions of a T4
      ptxlab list --shape 'm64n*k64' --sparse    a shape with every N
      ptxlab list wgmma | head -3                one name per line in a pipe
    """
    sparse = None if density is None else density == "sparse"
    if family and named_family not in (None, family):
        raise PtxlabError(f"found two families, {quoted(family)} and {quoted(named_family)}; name one")
    family = family or named_family
    forms, counts = views.forms(family, target, type, shape, sparse)
    if json:
        return as_json(views.counts(forms) if count else [form.mnemonic for form in forms])
    if not forms:
        raise PtxlabError("no instruction fits; `ptxlab list --count` shows what there is")
    if count:
        return as_text(views.counts(forms), style)
    total = counted(len(forms), "instruction")
    if not style.terminal:
        if style.stderr_is_terminal:
            output.error(total)
        return "\n".join(form.mnemonic for form in forms)
    lines = []
    for name, number in counts.items():
        lines.append(style.bold(f"{name} ({number})"))
        lines += [f"  {form.mnemonic}" for form in forms if form.family == name]
    return "\n".join([*lines, style.dim(total)])


# -- show ------------------------------


def show(
    style: Style,
    instruction: InstructionName,
    *,
    json: Json = False,
    target: Annotated[
        str | None,
        "the chip whose machine code is shown (default: sm_90a, or the first that has the instruction)",
    ] = None,
    no_sass: Annotated[bool, "leave out the machine code, which takes a second the first time"] = False,
    tcgen05: Tcgen05,
) -> str:
    """Every fact about one instruction, or the instructions of a pasted kernel.

    examples:
      ptxlab show mma.m16n8k64.s4
      ptxlab show mma.m16n8k64.s4 --target sm_80    with the machine code of that chip
      ptxlab show wmma.m8n8k32.s4 --json
    """
    forms = (parse_every if names_tcgen05(instruction, tcgen05) else parse_all)(instruction)
    if len(forms) > 1:  # of a pasted kernel
        names = [form.mnemonic for form in forms]
        title = f"{len(forms)} matrix instructions in this text; `ptxlab show` tells more about one"
        return as_json(names) if json else "\n".join([style.bold(title), *(f"  {name}" for name in names)])
    form = form_of(instruction, tcgen05)
    facts = views.facts(form, target, run=not no_sass)
    if json:
        return as_json({"instruction": form.mnemonic, **facts})
    lines = [style.bold(form.mnemonic)]
    abridged = False
    for fact, value in facts.items():
        name = _holder_name(fact, form)
        if isinstance(value, views.Table):
            value = _with_holders(value, form)
        for number, line in enumerate(_fact_lines(name, value, style)):
            abridged = abridged or ", ..., " in line
            label = name if number == 0 else ""
            lines.append(f"  {style.dim(label.ljust(_NAME_WIDTH))} {line}".rstrip())
    if abridged:
        lines.append(style.dim(f"  {'':{_NAME_WIDTH}} (`ptxlab ptx` prints it in full, with --cpp as C++)"))
    return "\n".join(lines)


def _fact_lines(name: str, value: Any, style: Style) -> list[str]:
    """A fact as lines that fit the terminal, or the output of a notebook's cell."""
    width = max((style.width or _WIDTH) - _NAME_WIDTH - 3, 40)
    if isinstance(value, views.Table):
        return as_text(value, style, width=width).splitlines()
    if name in ("c++", "wmma"):
        return [part for line in value for part in _code_lines(_abridge(line), width)]
    if isinstance(value, dict):
        texts = [f"{key} {' or '.join(map(str, legal))}" for key, legal in value.items()]
    elif isinstance(value, list):
        texts = [str(item) for item in value]
    else:
        texts = [_abridge(str(value)) if name == "ptx" else str(value)]
    if name in _IN_ONE_LINE:
        texts = [" ".join(texts)]
    return [line for text in texts for line in wrapped(text, width).splitlines()] or ["-"]


def _code_lines(line: str, width: int) -> list[str]:
    """A line of C++ broken between words; the parts of a string are strings, which C++ joins."""
    if len(line) <= width:
        return [line]
    text = line.lstrip()
    indent = line.removesuffix(text)
    if text[0] == text[-1] == '"' and text.count('"') == 2:
        parts = textwrap.wrap(text[1:-1], width - len(indent) - len('" "'), break_on_hyphens=False)
        return [f'{indent}"{part} "' for part in parts[:-1]] + [f'{indent}"{parts[-1]}"']
    return wrapped(line, width).splitlines()


def _abridge(line: str) -> str:
    """Long lists of registers by their first two and their last."""
    for item, before, after in ((r"%\w+", r"(?<=\{)", r"(?=\})"), (r'"[=+]?\w"\(\w+\[\d+\]\)', "", "")):
        pattern = rf"{before}({item}, {item}), (?:{item}, ){{{_SHOWN_REGISTERS},}}({item}){after}"
        line = re.sub(pattern, r"\1, ..., \2", line)
    return line


# -- where and holds ------------------------------


def _holder_name(name: str, form: Form) -> str:
    """``thread`` instead of ``lane`` for a warpgroup, 0 to 127: a lane is one of 32."""
    if all(op.holder == "lane" for op in form.operands.values()):
        return name
    return {"lane": "thread", "lanes": "threads"}.get(name, name)


def _with_holders(table: views.Table, form: Form) -> views.Table:
    """The table with `thread` columns for readers; JSON always says `lane`."""
    return replace(table, columns=tuple(_holder_name(name, form) for name in table.columns))


def where(
    style: Style,
    instruction: InstructionName,
    operand: OperandName,
    row: Index,
    column: Index,
    *,
    json: Json = False,
    explain: Annotated[
        bool, "for D: also every register of A, B, C, E and the scales that goes into the element"
    ] = False,
    stored: Annotated[bool, "for a sparse A: row and column are those of the compressed matrix"] = False,
    swizzle: Swizzle = 0,
    transposed: Transposed = False,
    tcgen05: Tcgen05,
) -> str:
    """The places of an element; with `explain`, of everything that goes into it.

    examples:
      ptxlab where mma.m16n8k64.s4 A 9 37
      ptxlab where mma.sp.m16n8k16.tf32 E 0 0              a metadata nibble
      ptxlab where mma.m16n8k64.s4 D 9 3 --explain         everything that goes into it
      ptxlab where wgmma.sp.m64n24k64.f32.e4m3 B 37 13     a byte of shared memory
      ptxlab where tcgen05.mma.cta_group::1.kind::f16 D 20 3 --m 64    in tensor memory
    """
    form = form_of(instruction, tcgen05)
    name, in_tensors = operand_name(form, operand), isinstance(form, Tcgen05Form)
    element = f"{operand.upper()}[{row}][{column}]"
    place = (row, column, swizzle, transposed)
    if explain and not in_tensors:
        return _explain(form, name, place, json, style)
    sparse = name == "A" and form.sparse
    if sparse and not stored and isinstance(form, Product):
        places = views.sparse_where(form, *place)
        if json:
            return as_json({"instruction": form.mnemonic, "element": element, **places.as_dict()})
        nibble, locations = (_with_holders(table, form) for table in (places.nibble, places.places))
        places = replace(places, nibble=nibble, places=locations)
        return sparse_places_text(element, _title(form), places, style)
    title = f"stored {element}" if sparse else element
    if explain and in_tensors:
        if name != "D":
            raise PtxlabError(f"--explain is for an element of D, found {name}")
        table = tensor_explain(form, *place)
    else:
        table = views.where(form, name, *place)
    if json:
        element = title if in_tensors else element
        return as_json({"instruction": form.mnemonic, "element": element, "places": table})
    lines = [f"{style.bold(title)} of {_title(form)}"]
    if not in_tensors:
        lines.append(f"  {style.dim(form.operand(name).describe())}")
    return "\n".join([*lines, as_text(_with_holders(table, form), style, "  ")])


def _title(form: Form) -> str:
    """The mnemonic; for tcgen05.mma, with the shape from its descriptor."""
    return f"{form.mnemonic}, {form.shape}" if form.descriptor else form.mnemonic


def _explain(form: Form, name: str, place: tuple[int, int, int, bool], json: bool, style: Style) -> str:
    row, column, swizzle, transposed = place
    if name not in ("C", "D"):
        raise PtxlabError(
            f"--explain is for an element of D (or of C, which goes into it), found {name}; "
            f"without --explain the place of {name}[{row}][{column}] is shown"
        )
    explanation = views.explain(form, row, column, swizzle=swizzle, transposed=transposed)
    if json:
        return as_json(explanation.as_dict())
    tables = {key: _with_holders(table, form) for key, table in explanation.tables().items()}
    lines = [f"{style.bold(explanation.element)} of {form.mnemonic}", f"  {explanation.formula}", ""]
    for operand in ("D", "C"):
        table = _with_holders(views.where(form, operand, row, column), form)
        lines += [f"  {operand}[{row}][{column}]:", as_text(table, style, "    "), ""]
    titles = {
        "e": "  nibbles of this row in the metadata E:",
        "scale_a": "  scales of A, SFA:",
        "scale_b": "  scales of B, SFB:",
    }
    for key, title in titles.items():
        if key in tables:
            lines += [title, as_text(tables[key], style, "    "), ""]
    if "e" in tables:
        lines.append("  products; a line for each nibble that stores column k of A (x: any bit):")
    else:
        lines.append("  products:")
    return "\n".join([*lines, as_text(tables["terms"], style, "    ")])


def holds(
    style: Style,
    instruction: InstructionName,
    operand: OperandName,
    *,
    json: Json = False,
    lane: Annotated[int, "0 to 31; 0 to 127 for a warpgroup and tensor memory"],
    register: Annotated[
        int | None, "only this register; for tcgen05.mma, this column of tensor memory"
    ] = None,
    cta: Annotated[int, "for a CTA pair (cta_group::2): 0 or 1"] = 0,
    tcgen05: Tcgen05,
) -> str:
    """The elements in a lane; in tensor memory, --register is a column.

    examples:
      ptxlab holds mma.m16n8k64.s4 A --lane 5
      ptxlab holds mma.m16n8k64.s4 A --lane 5 --register 1
      ptxlab holds tcgen05.ld.sync.aligned.16x256b.x1.b32 R --lane 37    a thread of 128
    """
    form = form_of(instruction, tcgen05)
    name, in_tensors = operand_name(form, operand), isinstance(form, Tcgen05Form)
    if cta and not in_tensors:
        raise PtxlabError(f"--cta {cta}: {form.mnemonic} is not executed by a CTA pair; tcgen05 is")
    table = views.holds(form, name, lane, register, cta)
    if json:
        pair = {"cta": cta} if in_tensors else {}
        facts = {"instruction": form.mnemonic, "operand": name, **pair, "lane": lane}
        return as_json({**facts, "elements": table})
    if in_tensors:
        holder = "thread" if name == "R" else "lane"
        title = style.bold(f"{holder} {lane}" + (f" of CTA {cta}" if cta else ""))
        return f"{title} of {_title(form)}\n{as_text(table, style, '  ')}"
    note = form.operand(name).describe()
    if form.sparse and name == "A":
        note += ", by stored coordinates"
    title = style.lane(lane, f"{form.operand(name).holder} {lane}")
    return f"{title} of {form.mnemonic}\n  {style.dim(note)}\n{as_text(table, style, '  ')}"


# -- layouts ------------------------------


def layout(
    style: Style,
    instruction: InstructionName,
    operand: OperandName,
    *,
    dense: Annotated[bool, "for a sparse A: the logical (dense) matrix, not the compressed one"] = False,
    lane: Annotated[int | None, "highlight this lane in --svg"] = None,
    swizzle: Swizzle = 0,
    transposed: Transposed = False,
    tcgen05: Tcgen05,
    printed: Annotated[Printed, PICTURE | {"csv", "markdown", "cute", "formula"}],
) -> str:
    """Where every element of an operand is, as a table, a picture or a formula.

    examples:
      ptxlab layout mma.m16n8k64.s4 C
      ptxlab layout mma.m16n8k64.s4 C --formula            as the manual writes it
      ptxlab layout mma.sp.m16n8k64.s4 A --dense --markdown
      ptxlab layout mma.m16n8k64.s4 A --csv > a.csv        one line per element
      ptxlab layout tcgen05.mma.cta_group::1.kind::f16 D --m 64 --svg > d.svg
    """
    printed.check()
    form = form_of(instruction, tcgen05)
    if isinstance(form, Tcgen05Form):
        name = operand_name(form, operand)
        if dense:
            raise PtxlabError(
                "--dense: the stored A of tcgen05.mma.sp is shown; `compress` in Python makes it"
            )
        if name in form.operands and form.operands[name].layout is None:
            return _tensor_tile(form, name, swizzle, transposed, printed, style)
        return _tensor_layout(form, name, lane, printed, style)
    matrix = find_operand(form, operand)
    if printed.format in ("csv", "json", "cute", "formula"):
        if dense:
            raise PtxlabError(
                "--dense is for the table, --markdown and --svg; "
                f"--{printed.format} gives the stored elements"
            )
        if printed.format in ("cute", "formula"):
            ((_, strides, sizes),) = views.cute(form, matrix.name).rows  # refuses an operand in shared memory
            if printed.format == "formula" and matrix.layout is not None:
                return matrix.layout.formula()
            return f"{strides}  // {sizes}"
        table = views.layout(matrix, swizzle, transposed)
        if printed.format == "csv":
            return as_csv(table)
        facts = {
            "instruction": form.mnemonic,
            "operand": matrix.name,
            "dtype": str(matrix.dtype),
            "shape": matrix.shape,
            "lanes": matrix.lanes,
            "registers": matrix.registers,
            "cute": matrix.layout.cute if matrix.layout else None,
        }
        tile_of = {} if matrix.layout else tile_facts(Tile.of(matrix, swizzle, transposed))
        return as_json({**facts, **tile_of, "elements": table})
    if matrix.layout is None and printed.format != "svg":
        tile = Tile.of(matrix, swizzle, transposed)
        words = (
            f"leading dimension offset (LBO) {tile.leading}, stride dimension offset (SBO) {tile.stride} "
            f"bytes; descriptor 0x{tile.descriptor():016x} at address 0"
        )
        return _tile_text(form, matrix, tile, printed, style, words, tile.cute)
    label: Label = "auto" if printed.format == "svg" else "elements"
    picture = views.fragment(form, matrix.name, dense=dense, lane=lane, label=label, swizzle=swizzle)
    text = _picture_text(picture, printed, style)
    copies = "" if printed.format else views.copies_note(matrix)
    return f"{text}\n\n{copies}" if copies else text


def _picture_text(
    picture: views.Picture, printed: Printed, style: Style, table: views.Table | None = None
) -> str:
    """A picture as SVG, or its grids as tables; with another `table`, notes about colours are left out."""
    if printed.format == "svg":
        return printed.svg(picture)
    if table is None:
        tables, notes = (
            [views.grid_table(grid) for grid in picture.grids if grid.name != "lanes"],
            picture.notes,
        )
    else:
        tables, notes = [table], tuple(n for n in picture.notes if not n.startswith(_ABOUT_COLOURS))
    if printed.format == "markdown":
        return "\n\n".join(as_markdown(table) for table in tables)
    title = f"{style.bold(picture.title)}\n{style.dim('; '.join(notes))}"
    return "\n\n".join([title, *(as_text(table, style) for table in tables)])


def _tensor_layout(form: Tcgen05Form, name: str, lane: int | None, printed: Printed, style: Style) -> str:
    """Blocks of lanes and columns of tensor memory, every element, or a picture."""
    if printed.format == "formula":
        raise PtxlabError("--formula: tensor memory is described by --cute, or by every element with --csv")
    if printed.format == "cute":
        rows = [row for row in views.tensor_layouts(form).rows if row[0] == name]
        if not rows:
            form.tensor(name)  # says what there is
        return str(rows[0][3])
    if printed.format in ("csv", "json"):
        op = form.find(name)
        if isinstance(form, TensorTransfer) and op.holds_words:
            return _all_places(form, name, thread_words(form), printed)
        return _all_places(form, name, views.layout(op), printed)
    picture = views.fragment(form, name, lane=lane)
    in_tensors = name in form.tensors
    table = views.tensor_blocks(form, name) if in_tensors else views.grid_table(picture.grids[0])
    return _picture_text(picture, printed, style, table)


def _tensor_tile(
    form: Tcgen05Form, name: str, swizzle: int, transposed: bool, printed: Printed, style: Style
) -> str:
    """The tile of A or B in shared memory, in the formats that a tile of wgmma has."""
    stored = stored_operand(form.operands[name])  # K-major: the table has the rows of the matrix
    if transposed and isinstance(form, TensorInstruction):
        form = form.with_mn_major(name)
    operand = form.operands[name]
    memory = shared_tile(operand, swizzle)
    if printed.format in ("cute", "formula"):
        return memory.cute
    if printed.format == "svg":
        if memory.major == "MN":
            raise PtxlabError("--svg: a picture has K-major tiles; without it there is a table")
        return printed.svg(operand_tile(form, operand, swizzle))
    if printed.format in ("csv", "json"):
        return _all_places(form, name, views.layout(operand, swizzle), printed)
    return _tile_text(form, stored, memory, printed, style)


def _all_places(form: Form, name: str, elements: views.Table, printed: Printed) -> str:
    if printed.format == "csv":
        return as_csv(elements)
    return as_json({"instruction": form.mnemonic, "operand": name, "elements": elements})


def _tile_text(form: Form, operand: Operand, tile: Tile, printed: Printed, style: Style, *facts: str) -> str:
    """The byte offsets of an operand in its tile, below facts about that, or as Markdown alone."""
    table = views.offsets(operand, tile=tile)
    if printed.format == "markdown":
        return as_markdown(table)
    title = style.bold(f"{operand.name} of {_title(form)}")
    note = style.dim(f"{operand.describe()}; byte offsets in its tile")
    return "\n".join([title, note, *facts, "", as_text(table, style)])


def metadata(
    style: Style,
    instruction: InstructionName,
    *,
    selector: Selector = 0,
    tcgen05: Tcgen05,
    printed: Annotated[Printed, PICTURE | {"csv", "markdown"}],
) -> str:
    """The nibbles of the metadata E, as a table or a picture.

    examples:
      ptxlab metadata mma.sp.m16n8k16.tf32 --selector 1
      ptxlab metadata mma.sp.m16n8k64.s4 --svg > e.svg
      ptxlab metadata tcgen05.mma.sp.cta_group::1.kind::f16 --selector 1
    """
    printed.check()
    form, table = form_of(instruction, tcgen05), None
    if not isinstance(form, Product) or not form.sparse:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    if form.d.space == "tensor":
        if selector:
            form = form.with_descriptor(selector=selector)
        picture, table = views.tensor_memory(form, "E"), views.tensor_blocks(form, "E")
        nibbles = views.layout(form.tensor("E"))
    else:
        picture = views.metadata(form, selector=selector)
        nibbles = views.grid_table(picture.grids[0])
    if printed.format == "json":
        return as_json({"instruction": form.mnemonic, "selector": selector, "nibbles": nibbles})
    if printed.format == "csv":
        return as_csv(nibbles)
    return _picture_text(picture, printed, style, table)


def cute(
    style: Style,
    instruction: InstructionName,
    operand: OperandName | None = None,
    *,
    json: Json = False,
    tcgen05: Tcgen05,
) -> str:
    """Layouts in CuTe's notation.

    examples:
      ptxlab cute mma.m16n8k64.s4
      ptxlab cute mma.m16n8k64.s4 A
    """
    form = form_of(instruction, tcgen05)
    if isinstance(form, Tcgen05Form):
        table = views.tensor_layouts(form)
        if not table.rows:
            raise PtxlabError(f"{form.mnemonic} has no matrix, and so no layout")
        if operand is not None:
            rows = tuple(row for row in table.rows if row[0] == operand_name(form, operand))
            if not rows:
                names = listing(str(row[0]) for row in table.rows)
                raise PtxlabError(f"{form.mnemonic} has no operand {quoted(operand)}; it has {names}")
            table = views.Table(table.columns, rows)
    else:
        table = views.cute(form, find_operand(form, operand).name if operand else None)
        if operand and not json:
            ((_, strides, sizes),) = table.rows
            return f"{strides}  // {sizes}"
    if json:
        return as_json({"instruction": form.mnemonic, "operands": table})
    return as_text(table, style)


# -- code ------------------------------


def ptx(
    style: Style,
    instruction: InstructionName,
    *,
    text: Annotated[
        Literal["cpp", "kernel", "module"] | None,
        Flags(
            {
                "cpp": "as an asm statement of CUDA C++",
                "kernel": "the CUDA C++ kernel that `ptxlab run` compiles",
                "module": "a whole PTX module, with the .version that it needs",
            }
        ),
    ] = None,
    target: Annotated[
        str | None, "for --module: its .target (default: sm_90a, or the first that has the instruction)"
    ] = None,
    shared_a: Annotated[bool, "for wgmma: A comes from shared memory"] = False,
    tcgen05: Tcgen05,
) -> str:
    """The instruction with its registers, alone or in code that contains it.

    examples:
      ptxlab ptx mma.m16n8k64.s4                 the PTX instruction with its registers
      ptxlab ptx mma.m16n8k64.s4 --cpp           as an asm statement
      ptxlab ptx mma.m16n8k64.s4 --kernel        the kernel that `run` compiles
    """
    form = form_of(instruction, tcgen05)
    if shared_a:
        if isinstance(form, Tcgen05Form):
            raise PtxlabError(
                "--shared-a belongs to wgmma: A of tcgen05.mma is there unless --tensor-a is given"
            )
        if not isinstance(form, Instruction):
            raise PtxlabError(f"--shared-a: {form.mnemonic} has no A; only wgmma takes A from shared memory")
        form = form.a_from("shared")
    if text == "cpp":
        return "\n".join([declarations(form), *statement(form).splitlines()])
    if text == "module":
        return ptx_module(form, target or views.target_of(form)).rstrip("\n")
    if target is not None:
        raise PtxlabError("--target belongs to --module: the other texts are the same for every target")
    return source(form).rstrip("\n") if text == "kernel" else ptx_line(form)


def sass(
    style: Style,
    instruction: InstructionName,
    *,
    json: Json = False,
    target: Annotated[str | None, "the chip (default: sm_90a, or the first that has the instruction)"] = None,
    all: Annotated[bool, "one line for each generation of chips"] = False,
    tcgen05: Tcgen05,
) -> str:
    """The listing that nvdisasm prints, or one line for each generation.

    examples:
      ptxlab sass mma.m16n8k64.s4 --target sm_90a
      ptxlab sass mma.m16n8k64.s4 --all          one line for each generation of chips
      ptxlab sass tcgen05.mma.cta_group::2.kind::f16
    """
    form = form_of(instruction, tcgen05)
    targets = [target or views.target_of(form)]
    if all:
        targets = [chip for chip in CHIPS.values() if form.supports(chip)] or list(form.targets)
    codes = [sass_of.sass(form, target) for target in targets]
    lines = [] if all else codes[0].listing.splitlines()
    if json:
        names = ("target", "native", "tensor", "arithmetic", "rest", "unprinted")
        facts = [{name: getattr(code, name) for name in names} for code in codes]
        listing_of_one = {} if all else {"listing": lines}
        return as_json({"instruction": form.mnemonic, **listing_of_one, "targets": facts})
    if all:
        return "\n".join([style.bold(form.mnemonic), *(f"  {code.target:<8} {code}" for code in codes)])
    (code,) = codes
    shown = [
        style.bold(line) if any(f" {opcode} " in line for opcode in code.tensor) else line for line in lines
    ]
    return "\n".join([f"{style.bold(form.mnemonic)} for {code.target}", f"  {code}", "", *shown])


# -- arithmetic ------------------------------


def models(
    style: Style,
    *,
    json: Json = False,
    chip: Annotated[str | None, "only this chip, e.g. sm_80"] = None,
) -> str:
    """The rules of every chip in words, each with its evidence.

    examples:
      ptxlab models --chip sm_80                 how an A100 adds and rounds
      ptxlab models --json
    """
    if chip is not None and chip not in GENERATIONS:
        raise PtxlabError(f"unknown chip {quoted(chip)}; there are {listing(GENERATIONS)}")
    rows = [(model, views.model_words(model)) for model in all_models() if chip in (None, model.chip)]
    if json:
        return as_json(
            [
                {**row, "chip": model.chip, "rule": views.rule_words(model.rule), "MMAs": model.mmas}
                for model, row in rows
            ]
        )
    lines: list[str] = []
    for model, row in rows:
        title = style.bold(row["chip"])
        if title not in lines:
            lines.append(title)
        lines.append("  " + "; ".join(row[name] for name in ("A and B", "families", "only") if row[name]))
        for topic, text in views.rule_words(model.rule).items():
            lines.append(f"    {style.dim(topic.ljust(_NAME_WIDTH))} {text}")
        evidence = row["source"]
        if model.mmas:
            evidence += f", {row['MMAs']} MMAs of each form"
        lines.append(f"    {style.dim(model.evidence.ljust(_NAME_WIDTH))} {evidence}")
    return "\n".join(lines)
