"""Commands that look something up: list, show, where, holds, layout, metadata, cute, ptx, sass, models.

Each takes the parsed arguments, asks `ptxlab.views` for tables or pictures, and returns the text to print.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from .. import views
from ..errors import PtxlabError, counted, listing, quoted
from ..gpu import sass as sass_of
from ..gpu.codegen import declarations, ptx_line, ptx_module, source, statement
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_all, parse_every
from ..isa.targets import CHIPS, GENERATIONS
from ..isa.tcgen05 import Tcgen05Form
from ..memory import Tile
from ..numerics import models as all_models
from ..views.fragment_pictures import Label
from . import output, tcgen05
from .arguments import find_operand, form_of, names_tcgen05, target_of
from .memory import tile_facts
from .output import Style, as_csv, as_json, as_markdown, as_text, check_no_title, sparse_places_text, svg

_NAME_WIDTH = 11  # of the names of facts in the first column
_SHOWN_REGISTERS = 8  # a longer list of registers is abridged in `show`


def list_(args: argparse.Namespace, style: Style) -> str:
    sparse = args.sparse if args.sparse or args.dense else None
    forms, counts = views.forms(args.family, args.target, args.type, args.shape, sparse)
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
    if isinstance(form, Tcgen05Form):
        return tcgen05.show(form, args, style)
    if args.target is not None:
        form.supports(args.target)  # refuses a target that does not exist
    facts = views.facts(form, args.target, run=not args.no_sass)
    if args.json:
        return as_json({"instruction": form.mnemonic, **facts})
    lines = [style.bold(form.mnemonic)]
    abridged = False
    for name, value in facts.items():
        for number, line in enumerate(_fact_lines(name, value, style)):
            text = _abridge(line) if name == "c++" else line
            abridged = abridged or ", ..., " in text
            label = name if number == 0 else ""
            lines.append(f"  {style.dim(label.ljust(_NAME_WIDTH))} {text}".rstrip())
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
    """A fact as lines that fit the terminal; code keeps its lines."""
    if isinstance(value, views.Table):
        return as_text(value, style, fold=False).splitlines()
    if name in ("c++", "wmma"):
        return list(value)
    if isinstance(value, dict):
        texts = [f"{key} {' or '.join(map(str, legal))}" for key, legal in value.items()]
    elif isinstance(value, list):
        texts = [str(item) for item in value]
    else:
        texts = [_abridge(str(value)) if name == "ptx" else str(value)]
    if name not in ("modifiers", "emulator", "arithmetic", "note"):
        texts = [" ".join(texts)]
    if style.width:
        width = max(style.width - _NAME_WIDTH - 3, 40)
        texts = [line for text in texts for line in textwrap.wrap(text, width, break_long_words=False)]
    return [text or "-" for text in texts] or ["-"]


def _abridge(line: str) -> str:
    """Long lists of registers by their first two and their last."""
    for item, before, after in ((r"%\w+", r"(?<=\{)", r"(?=\})"), (r'"[=+]?\w"\(\w+\[\d+\]\)', "", "")):
        pattern = rf"{before}({item}, {item}), (?:{item}, ){{{_SHOWN_REGISTERS},}}({item}){after}"
        line = re.sub(pattern, r"\1, ..., \2", line)
    return line


# -- where and holds ------------------------------


def where(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return tcgen05.where(form, args, style)
    name = find_operand(form, args.operand).name
    element = f"{name}[{args.row}][{args.column}]"
    if args.explain:
        return _explain(form, name, args, style)
    sparse = form.sparse and name == "A"
    if sparse and not args.stored:
        return _where_dense(form, args, style, element)
    table = views.where(form, name, args.row, args.column, args.swizzle, args.transposed)
    if args.json:
        return as_json({"instruction": form.mnemonic, "element": element, "places": table})
    title = style.bold(f"stored {element}" if sparse else element)
    operand = style.dim(form.operand(name).describe())
    return f"{title} of {form.mnemonic}\n  {operand}\n{as_text(table, style, '  ')}"


def _explain(form: Form, name: str, args: argparse.Namespace, style: Style) -> str:
    if name not in ("C", "D"):
        raise PtxlabError(
            f"--explain is for an element of D (or of C, which goes into it), found {name}; "
            f"without --explain the place of {name}[{args.row}][{args.column}] is shown"
        )
    explanation = views.explain(form, args.row, args.column, swizzle=args.swizzle, transposed=args.transposed)
    if args.json:
        return as_json(explanation.as_dict())
    tables = explanation.tables()
    lines = [f"{style.bold(explanation.element)} of {form.mnemonic}", f"  {explanation.formula}", ""]
    for operand in ("D", "C"):
        table = views.where(form, operand, args.row, args.column)
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


def _where_dense(form: Form, args: argparse.Namespace, style: Style, element: str) -> str:
    """An element of the logical (dense) A of a sparse instruction: where it is depends on the nibble."""
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic} has no sparse A")
    places = views.sparse_where(form, args.row, args.column)
    if args.json:
        return as_json({"instruction": form.mnemonic, "element": element, **places.as_dict()})
    return sparse_places_text(element, form.mnemonic, places, style)


def holds(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return tcgen05.holds(form, args, style)
    operand = find_operand(form, args.operand)
    if args.cta:
        raise PtxlabError(f"--cta {args.cta}: {form.mnemonic} is not executed by a CTA pair; tcgen05 is")
    table = views.holds(form, operand.name, args.lane, args.register)
    if args.json:
        return as_json(
            {"instruction": form.mnemonic, "operand": operand.name, "lane": args.lane, "elements": table}
        )
    title = style.lane(args.lane, f"lane {args.lane}")
    note = operand.describe()
    if form.sparse and operand.name == "A":
        note += ", by stored coordinates"
    return f"{title} of {form.mnemonic}\n  {style.dim(note)}\n{as_text(table, style, '  ')}"


# -- layouts ------------------------------


def layout(args: argparse.Namespace, style: Style) -> str:
    check_no_title(args)
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return tcgen05.layout(form, args, style)
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
        table = views.offsets(operand, args.swizzle, args.transposed)
        if args.format == "markdown":
            return as_markdown(table)
        title = style.bold(f"{operand.name} of {form.mnemonic}")
        note = style.dim(f"{operand.describe()}; byte offsets in its tile")
        tile = Tile.of(operand, args.swizzle, args.transposed)
        words = (
            f"leading dimension offset (LBO) {tile.leading}, stride dimension offset (SBO) {tile.stride} "
            f"bytes; descriptor 0x{tile.descriptor():016x} at address 0"
        )
        return f"{title}\n{note}\n{words}\n{tile.cute}\n\n{as_text(table, style)}"
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


def _picture_text(picture: views.Picture, args: argparse.Namespace, style: Style) -> str:
    if args.format == "svg":
        return svg(picture, args)
    tables = [views.grid_table(grid) for grid in picture.grids if grid.name != "lanes"]
    if args.format == "markdown":
        return "\n\n".join(as_markdown(table) for table in tables)
    title = f"{style.bold(picture.title)}\n{style.dim(picture.subtitle)}"
    return "\n\n".join([title, *(as_text(table, style) for table in tables)])


def metadata(args: argparse.Namespace, style: Style) -> str:
    check_no_title(args)
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return tcgen05.metadata(form, args, style)
    if not isinstance(form, MmaForm) or not form.sparse:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    picture = views.metadata(form, selector=args.selector)
    if args.format == "json":
        nibbles = views.grid_table(picture.grids[0])
        return as_json({"instruction": form.mnemonic, "selector": args.selector, "nibbles": nibbles})
    if args.format == "csv":
        return as_csv(views.grid_table(picture.grids[0]))
    return _picture_text(picture, args, style)


def cute(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if isinstance(form, Tcgen05Form):
        return tcgen05.cute(form, args, style)
    table = views.cute(form, find_operand(form, args.operand).name if args.operand else None)
    if args.json:
        return as_json({"instruction": form.mnemonic, "operands": table})
    if args.operand:
        ((_, strides, sizes),) = table.rows
        return f"{strides}  // {sizes}"
    return as_text(table, style)


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
        return ptx_module(form, args.target or target_of(form)).rstrip("\n")
    if args.target is not None:
        raise PtxlabError("--target belongs to --module: the other texts are the same for every target")
    return source(form).rstrip("\n") if args.kernel else ptx_line(form)


def sass(args: argparse.Namespace, style: Style) -> str:
    form = form_of(args)
    if args.all:
        return _sass_of_all(form, args, style)
    code = sass_of.sass(form, args.target or target_of(form))
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
