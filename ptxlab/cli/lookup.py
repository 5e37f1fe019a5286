"""Commands that look something up: list, show, where, holds, layout, metadata, cute, ptx, sass, models.

Each takes the parsed arguments, asks `ptxlab.views` for tables or pictures, and returns the text to print.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import views
from ..errors import PtxlabError, counted, listing, quoted, wrapped
from ..gpu import sass as sass_of
from ..gpu.codegen import declarations, ptx_line, ptx_module, source, statement
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_all, parse_every
from ..isa.targets import CHIPS, GENERATIONS
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..memory import Tile
from ..memory.tcgen05_tiles import shared_tile, stored_operand
from ..numerics import models as all_models
from ..views.element_location import thread_words
from ..views.explanation import tensor_explain
from ..views.fragment_pictures import Label
from ..views.tile_pictures import operand_tile
from . import output
from .arguments import find_operand, form_of, names_tcgen05, operand_name
from .memory import tile_facts
from .output import (
    Style,
    as_csv,
    as_json,
    as_markdown,
    as_text,
    check_picture_options,
    sparse_places_text,
    svg,
)

#: How notes begin that are about pictures only.
_ABOUT_COLOURS = ("colours:", "hue:", "one place:")
_NAME_WIDTH = 11  # of the names of facts in the first column
_IN_ONE_LINE = ("nibbles", "selectors", "spaces", "targets", "missing on")  # facts that are several words
_WIDTH = 100  # of the lines of `show` where there is no terminal
_SHOWN_REGISTERS = 8  # a longer list of registers is abridged in `show`


def list_(args: argparse.Namespace, style: Style) -> str:
    sparse = args.sparse if args.sparse or args.dense else None
    if args.family and args.named_family not in (None, args.family):
        raise PtxlabError(
            f"found two families, {quoted(args.family)} and {quoted(args.named_family)}; name one"
        )
    family = args.family or args.named_family
    forms, counts = views.forms(family, args.target, args.type, args.shape, sparse)
    if args.json:
        return as_json(views.counts(forms) if args.count else [form.mnemonic for form in forms])
    if not forms:
        raise PtxlabError("no instruction fits; `ptxlab list --count` shows what there is")
    if args.count:
        return as_text(views.counts(forms), style)
    total = counted(len(forms), "instruction")
    if not style.terminal:
        if style.stderr_is_terminal:
            output.error(total)
        return "\n".join(form.mnemonic for form in forms)
    lines = []
    for family, count in counts.items():
        lines.append(style.bold(f"{family} ({count})"))
        lines += [f"  {form.mnemonic}" for form in forms if form.family == family]
    return "\n".join([*lines, style.dim(total)])


# -- show ------------------------------


def show(args: argparse.Namespace, style: Style) -> str:
    forms = (parse_every if names_tcgen05(args) else parse_all)(args.instruction)
    if len(forms) > 1:
        return _show_several(forms, args, style)
    form = form_of(args)
    facts = views.facts(form, args.target, run=not args.no_sass)
    if args.json:
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


def _show_several(forms: Sequence[Form], args: argparse.Namespace, style: Style) -> str:
    """The matrix instructions of a pasted kernel, a line each."""
    if args.json:
        return as_json([form.mnemonic for form in forms])
    title = style.bold(f"{len(forms)} matrix instructions in this text; `ptxlab show` tells more about one")
    return "\n".join([title, *(f"  {form.mnemonic}" for form in forms)])


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


def where(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    name, in_tensors = operand_name(form, args.operand), isinstance(form, Tcgen05Form)
    element = f"{args.operand.upper()}[{args.row}][{args.column}]"
    if args.explain and not in_tensors:
        return _explain(form, name, args, style)
    place = (args.row, args.column, args.swizzle, args.transposed)
    sparse = name == "A" and form.sparse
    if sparse and not args.stored and isinstance(form, Product):
        places = views.sparse_where(form, *place)
        if args.json:
            return as_json({"instruction": form.mnemonic, "element": element, **places.as_dict()})
        nibble, stored = (_with_holders(table, form) for table in (places.nibble, places.places))
        places = replace(places, nibble=nibble, places=stored)
        return sparse_places_text(element, _title(form), places, style)
    title = f"stored {element}" if sparse else element
    if args.explain and in_tensors:
        if name != "D":
            raise PtxlabError(f"--explain is for an element of D, found {name}")
        table = tensor_explain(form, *place)
    else:
        table = views.where(form, name, *place)
    if args.json:
        element = title if in_tensors else element
        return as_json({"instruction": form.mnemonic, "element": element, "places": table})
    lines = [f"{style.bold(title)} of {_title(form)}"]
    if not in_tensors:
        lines.append(f"  {style.dim(form.operand(name).describe())}")
    return "\n".join([*lines, as_text(_with_holders(table, form), style, "  ")])


def _title(form: Form) -> str:
    """The mnemonic; for tcgen05.mma, with the shape from its descriptor."""
    return f"{form.mnemonic}, {form.shape}" if form.descriptor else form.mnemonic


def _explain(form: Form, name: str, args: argparse.Namespace, style: Style) -> str:
    if name not in ("C", "D"):
        raise PtxlabError(
            f"--explain is for an element of D (or of C, which goes into it), found {name}; "
            f"without --explain the place of {name}[{args.row}][{args.column}] is shown"
        )
    explanation = views.explain(form, args.row, args.column, swizzle=args.swizzle, transposed=args.transposed)
    if args.json:
        return as_json(explanation.as_dict())
    tables = {key: _with_holders(table, form) for key, table in explanation.tables().items()}
    lines = [f"{style.bold(explanation.element)} of {form.mnemonic}", f"  {explanation.formula}", ""]
    for operand in ("D", "C"):
        table = _with_holders(views.where(form, operand, args.row, args.column), form)
        lines += [f"  {operand}[{args.row}][{args.column}]:", as_text(table, style, "    "), ""]
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


def holds(args: argparse.Namespace, style: Style) -> str:
    """The elements in a lane; in tensor memory, --register is a column."""
    form = form_of(args)
    name, in_tensors = operand_name(form, args.operand), isinstance(form, Tcgen05Form)
    if args.cta and not in_tensors:
        raise PtxlabError(f"--cta {args.cta}: {form.mnemonic} is not executed by a CTA pair; tcgen05 is")
    table = views.holds(form, name, args.lane, args.register, args.cta)
    if args.json:
        cta = {"cta": args.cta} if in_tensors else {}
        facts = {"instruction": form.mnemonic, "operand": name, **cta, "lane": args.lane}
        return as_json({**facts, "elements": table})
    if in_tensors:
        holder = "thread" if name == "R" else "lane"
        title = style.bold(f"{holder} {args.lane}" + (f" of CTA {args.cta}" if args.cta else ""))
        return f"{title} of {_title(form)}\n{as_text(table, style, '  ')}"
    note = form.operand(name).describe()
    if form.sparse and name == "A":
        note += ", by stored coordinates"
    title = style.lane(args.lane, f"{form.operand(name).holder} {args.lane}")
    return f"{title} of {form.mnemonic}\n  {style.dim(note)}\n{as_text(table, style, '  ')}"


# -- layouts ------------------------------


def layout(args: argparse.Namespace, style: Style) -> str:
    check_picture_options(args)
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return _tensor_layout(form, args, style)
    operand = find_operand(form, args.operand)
    if args.format in ("csv", "json", "cute", "formula"):
        if args.dense:
            raise PtxlabError(
                f"--dense is for the table, --markdown and --svg; --{args.format} gives the stored elements"
            )
        if args.format in ("cute", "formula"):
            return _notation(form, operand, args.format)
        return _elements(form, operand, args)
    if operand.layout is None and args.format != "svg":
        tile = Tile.of(operand, args.swizzle, args.transposed)
        words = (
            f"leading dimension offset (LBO) {tile.leading}, stride dimension offset (SBO) {tile.stride} "
            f"bytes; descriptor 0x{tile.descriptor():016x} at address 0"
        )
        return _tile_text(form, operand, tile, args, style, words, tile.cute)
    label: Label = "auto" if args.format == "svg" else "elements"
    picture = views.fragment(
        form, operand.name, dense=args.dense, lane=args.lane, label=label, swizzle=args.swizzle
    )
    text = _picture_text(picture, args, style)
    copies = "" if args.format else views.copies_note(operand)
    return f"{text}\n\n{copies}" if copies else text


def _elements(form: Form, operand: Operand, args: argparse.Namespace) -> str:
    table = views.layout(operand, args.swizzle, args.transposed)
    if args.format == "csv":
        return as_csv(table)
    return as_json(
        {
            "instruction": form.mnemonic,
            "operand": operand.name,
            "dtype": str(operand.dtype),
            "shape": operand.shape,
            "lanes": operand.lanes,
            "registers": operand.registers,
            "cute": operand.layout.cute if operand.layout else None,
            **({} if operand.layout else tile_facts(Tile.of(operand, args.swizzle, args.transposed))),
            "elements": table,
        }
    )


def _notation(form: Form, operand: Operand, notation: str) -> str:
    ((_, strides, sizes),) = views.cute(form, operand.name).rows  # refuses an operand in shared memory
    if notation == "formula" and operand.layout is not None:
        return operand.layout.formula()
    return f"{strides}  // {sizes}"


def _picture_text(
    picture: views.Picture, args: argparse.Namespace, style: Style, table: views.Table | None = None
) -> str:
    """A picture as SVG, or its grids as tables; with another `table`, notes about colours are left out."""
    if args.format == "svg":
        return svg(picture, args)
    if table is None:
        tables, notes = (
            [views.grid_table(grid) for grid in picture.grids if grid.name != "lanes"],
            picture.notes,
        )
    else:
        tables, notes = [table], tuple(n for n in picture.notes if not n.startswith(_ABOUT_COLOURS))
    if args.format == "markdown":
        return "\n\n".join(as_markdown(table) for table in tables)
    title = f"{style.bold(picture.title)}\n{style.dim('; '.join(notes))}"
    return "\n\n".join([title, *(as_text(table, style) for table in tables)])


def _tensor_layout(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """Blocks of lanes and columns of tensor memory, every element, or a picture."""
    name = operand_name(form, args.operand)
    if args.dense:
        raise PtxlabError("--dense: the stored A of tcgen05.mma.sp is shown; `compress` in Python makes it")
    operand = form.operands.get(name)
    if operand is not None and operand.layout is None:
        return _tensor_tile(form, name, args, style)
    if args.format == "formula":
        raise PtxlabError("--formula: tensor memory is described by --cute, or by every element with --csv")
    if args.format == "cute":
        rows = [row for row in views.tensor_layouts(form).rows if row[0] == name]
        if not rows:
            form.tensor(name)  # says what there is
        return str(rows[0][3])
    if args.format in ("csv", "json"):
        op = form.find(name)
        if isinstance(form, Tcgen05Transfer) and op.holds_words:
            return _all_places(form, name, thread_words(form), args)
        return _all_places(form, name, views.layout(op), args)
    picture = views.fragment(form, name, lane=args.lane)
    in_tensors = name in form.tensors
    table = views.tensor_blocks(form, name) if in_tensors else views.grid_table(picture.grids[0])
    return _picture_text(picture, args, style, table)


def _tensor_tile(form: Tcgen05Form, name: str, args: argparse.Namespace, style: Style) -> str:
    """The tile of A or B in shared memory, in the formats that a tile of wgmma has."""
    operand = form.operands[name]
    if args.transposed and isinstance(form, Tcgen05Mma):
        form = form.with_mn_major(name)
    memory = shared_tile(form.operands[name], args.swizzle)
    operand = stored_operand(operand)
    if args.format in ("cute", "formula"):
        return memory.cute
    if args.format == "svg":
        if memory.major == "MN":
            raise PtxlabError("--svg: a picture has K-major tiles; without it there is a table")
        return svg(operand_tile(form, form.operands[name], args.swizzle), args)
    if args.format in ("csv", "json"):
        return _all_places(form, name, views.layout(form.operands[name], args.swizzle), args)
    return _tile_text(form, operand, memory, args, style)


def _all_places(form: Form, name: str, elements: views.Table, args: argparse.Namespace) -> str:
    if args.format == "csv":
        return as_csv(elements)
    return as_json({"instruction": form.mnemonic, "operand": name, "elements": elements})


def _tile_text(
    form: Form, operand: Operand, tile: Tile, args: argparse.Namespace, style: Style, *facts: str
) -> str:
    """The byte offsets of an operand in its tile, below facts about that, or as Markdown alone."""
    table = views.offsets(operand, tile=tile)
    if args.format == "markdown":
        return as_markdown(table)
    title = style.bold(f"{operand.name} of {_title(form)}")
    note = style.dim(f"{operand.describe()}; byte offsets in its tile")
    return "\n".join([title, note, *facts, "", as_text(table, style)])


def metadata(args: argparse.Namespace, style: Style) -> str:
    check_picture_options(args)
    form, table = form_of(args), None
    if not isinstance(form, Product) or not form.sparse:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    if form.d.space == "tensor":
        if args.selector:
            form = form.with_descriptor(selector=args.selector)
        picture, table = views.tensor_memory(form, "E"), views.tensor_blocks(form, "E")
        nibbles = views.layout(form.tensor("E"))
    else:
        picture = views.metadata(form, selector=args.selector)
        nibbles = views.grid_table(picture.grids[0])
    if args.format == "json":
        return as_json({"instruction": form.mnemonic, "selector": args.selector, "nibbles": nibbles})
    if args.format == "csv":
        return as_csv(nibbles)
    return _picture_text(picture, args, style, table)


def cute(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    in_tensors = isinstance(form, Tcgen05Form)
    if in_tensors:
        table = _tensor_cute(form, args.operand)
    else:
        table = views.cute(form, find_operand(form, args.operand).name if args.operand else None)
    if args.json:
        return as_json({"instruction": form.mnemonic, "operands": table})
    if args.operand and not in_tensors:
        ((_, strides, sizes),) = table.rows
        return f"{strides}  // {sizes}"
    return as_text(table, style)


def _tensor_cute(form: Form, operand: str | None) -> views.Table:
    table = views.tensor_layouts(form)
    if not table.rows:
        raise PtxlabError(f"{form.mnemonic} has no matrix, and so no layout")
    if operand is None:
        return table
    rows = tuple(row for row in table.rows if row[0] == operand_name(form, operand))
    if not rows:
        names = listing(str(row[0]) for row in table.rows)
        raise PtxlabError(f"{form.mnemonic} has no operand {quoted(operand)}; it has {names}")
    return views.Table(table.columns, rows)


# -- code ------------------------------


def ptx(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if args.shared_a:
        if isinstance(form, Tcgen05Form):
            raise PtxlabError(
                "--shared-a belongs to wgmma: A of tcgen05.mma is there unless --tensor-a is given"
            )
        if not isinstance(form, MmaForm):
            raise PtxlabError(f"--shared-a: {form.mnemonic} has no A; only wgmma takes A from shared memory")
        form = form.a_from("shared")
    if args.cpp:
        return "\n".join([declarations(form), *statement(form).splitlines()])
    if args.module:
        return ptx_module(form, args.target or views.target_of(form)).rstrip("\n")
    if args.target is not None:
        raise PtxlabError("--target belongs to --module: the other texts are the same for every target")
    return source(form).rstrip("\n") if args.kernel else ptx_line(form)


def sass(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if args.all:
        return _sass_of_all(form, args, style)
    code = sass_of.sass(form, args.target or views.target_of(form))
    lines = code.listing.splitlines()
    if args.json:
        return as_json({"instruction": form.mnemonic, "listing": lines, "targets": [_sass_facts(code)]})
    shown = [
        style.bold(line) if any(f" {opcode} " in line for opcode in code.tensor) else line for line in lines
    ]
    return "\n".join([f"{style.bold(form.mnemonic)} for {code.target}", f"  {code}", "", *shown])


def _sass_of_all(form: Form, args: argparse.Namespace, style: Style) -> str:
    targets = [target for target in CHIPS.values() if form.supports(target)] or list(form.targets)
    codes = [sass_of.sass(form, target) for target in targets]
    if args.json:
        return as_json({"instruction": form.mnemonic, "targets": [_sass_facts(code) for code in codes]})
    return "\n".join([style.bold(form.mnemonic), *(f"  {code.target:<8} {code}" for code in codes)])


def _sass_facts(code: sass_of.Sass) -> dict[str, object]:
    return {
        "target": code.target,
        "native": code.native,
        "tensor": code.tensor,
        "arithmetic": code.arithmetic,
        "rest": code.rest,
        "unprinted": code.unprinted,
    }


# -- arithmetic ------------------------------


def models(args: argparse.Namespace, style: Style) -> str:
    if args.chip is not None and args.chip not in GENERATIONS:
        raise PtxlabError(f"unknown chip {quoted(args.chip)}; there are {listing(GENERATIONS)}")
    rows = [(model, views.model_words(model)) for model in all_models() if args.chip in (None, model.chip)]
    if args.json:
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
