"""The handlers of the commands: each asks `describe` and gives the text back."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import Any

from .. import views as describe
from ..errors import PtxlabError, listing
from ..gpu.codegen import ptx_line, source
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..views.pictures import Label
from .names import find, find_operand
from .render import Style, as_csv, as_json, as_markdown, as_text

__all__ = ["cute", "holds", "layout", "list_", "metadata", "ptx", "sass", "show", "where"]

_MANY = 8  # registers that a line of `show` names one by one


def list_(args: argparse.Namespace, style: Style) -> str:
    sparse = True if args.sparse else False if args.dense else None
    found, counts = describe.forms(args.family, args.target, args.type, args.shape, sparse)
    if args.json:
        return as_json(describe.counts(found) if args.count else [ins.mnemonic for ins in found])
    if not found:
        raise PtxlabError("no instruction fits; `ptxlab list --count` shows what there is")
    total = f"{len(found)} instruction{'s' * (len(found) != 1)}"
    if args.count:
        return as_text(describe.counts(found), style)
    if not style.terminal:
        if sys.stderr.isatty():
            print(total, file=sys.stderr)
        return "\n".join(ins.mnemonic for ins in found)
    lines = []
    for family, count in counts.items():
        lines += [
            style.bold(f"{family} ({count})"),
            *(f"  {ins.mnemonic}" for ins in found if ins.family == family),
        ]
    return "\n".join([*lines, style.dim(total)])


def show(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    if args.target is not None:
        ins.supports(args.target)  # refuses a target that does not exist
    facts = describe.facts(ins, args.target, run=not args.no_sass)
    if args.json:
        return as_json({"instruction": ins.mnemonic, **facts})
    lines = [style.bold(ins.mnemonic)]
    cut = False
    for name, value in facts.items():
        for i, line in enumerate(_shown(name, value, style)):
            line = _abridged(line) if name == "c++" else line
            cut = cut or ", ..., " in line
            lines.append(f"  {style.dim((name if i == 0 else '').ljust(_NAMES))} {line}".rstrip())
    if cut:
        lines.append(style.dim(f"  {'':{_NAMES}} (`ptxlab ptx` prints it whole, with --cpp as C++)"))
    return "\n".join(lines)


_NAMES = 11


def _shown(name: str, value: Any, style: Style) -> list[str]:
    """A fact as lines that fit the terminal; code stays as it is."""
    if isinstance(value, describe.Table):
        return as_text(value, style, fold=False).splitlines()
    if isinstance(value, dict):
        value = [f"{key} {' or '.join(map(str, legal))}" for key, legal in value.items()]
    if name in ("c++", "wmma"):
        return list(value)
    if name == "ptx":
        value = _abridged(value)
    apart = isinstance(value, list) and name in ("modifiers", "emulator", "arithmetic", "note")
    said = value if apart else [" ".join(map(str, value)) or "-"] if isinstance(value, list) else [str(value)]
    width = max(style.width - _NAMES - 3, 40) if style.width else 0
    return [
        line
        for text in said
        for line in (textwrap.wrap(text, width, break_long_words=False) if width else [text])
    ] or ["-"]


def _abridged(line: str) -> str:
    """Long lists of registers by their first two and their last."""
    for one, opening, closing in ((r"%\w+", r"(?<=\{)", r"(?=\})"), (r'"[=+]?\w"\(\w+\[\d+\]\)', "", "")):
        pattern = rf"{opening}({one}, {one}), (?:{one}, ){{{_MANY},}}({one}){closing}"
        line = re.sub(pattern, r"\1, ..., \2", line)
    return line


def where(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    name = find_operand(ins, args.operand).name
    element = f"{name}[{args.row}][{args.column}]"
    if args.explain:
        return _explain(ins, name, args, style)
    sparse = getattr(ins, "sparse", False) and name == "A"
    if sparse and not args.stored:
        return _sparse_where(ins, args, style, element)
    table = describe.where(ins, name, args.row, args.column, args.swizzle, args.transposed)
    if args.json:
        return as_json({"instruction": ins.mnemonic, "element": element, "places": table})
    how = "stored " if sparse else ""
    return f"{style.bold(how + element)} of {ins.mnemonic}\n  {style.dim(ins.operand(name).describe())}\n{as_text(table, style, '  ')}"


def _explain(ins: Form, name: str, args: argparse.Namespace, style: Style) -> str:
    if name not in ("C", "D"):
        raise PtxlabError(
            f"--explain is for an element of D (or C, which goes into it), found {name}; without it the place of {name} is shown"
        )
    found = describe.explain(ins, args.row, args.column, swizzle=args.swizzle, transposed=args.transposed)
    if args.json:
        return as_json(found)
    tables = describe.terms(found)
    lines = [f"{style.bold(found['element'])} of {ins.mnemonic}", f"  {found['formula']}", ""]
    for what in ("D", "C"):
        table = describe.where(ins, what, args.row, args.column)
        lines += [f"  {what}[{args.row}][{args.column}]:", as_text(table, style, "    "), ""]
    titles = {
        "e": "  nibbles of this row in the metadata E:",
        "scale_a": "  scales of A, SFA:",
        "scale_b": "  scales of B, SFB:",
    }
    for key, title in titles.items():
        if key in tables:
            lines += [title, as_text(tables[key], style, "    "), ""]
    lines.append(
        "  products; a line for each nibble that stores column k of A (x: any bit):"
        if "e" in tables
        else "  products:"
    )
    return "\n".join([*lines, as_text(tables["terms"], style, "    ")])


def _sparse_where(ins: Form, args: argparse.Namespace, style: Style, element: str) -> str:
    if not isinstance(ins, MmaForm):
        raise PtxlabError(f"{ins.mnemonic} has no sparse A")
    found = describe.sparse_where(ins, args.row, args.column)
    if args.json:
        return as_json({"instruction": ins.mnemonic, "element": element, **found})
    (low, high), (first, last) = found["columns"], found["group_columns"]
    group = f"column {first}" if first == last else f"columns {first}..{last}"
    dense, stored = ("x".join(map(str, found[key])) for key in ("dense", "stored"))
    return "\n".join(
        [
            f"{style.bold(element)} of {ins.mnemonic}",
            f"  {style.dim(f'dense A is {dense}, {stored} of it is stored; --stored takes stored coordinates')}",
            f"  chunk {found['chunk']} (columns {low}..{high}), group {found['group']} ({group})",
            "",
            "  its nibble in the metadata E:",
            as_text(found["nibble"], style, "    "),
            "",
            f"  {element} is, for each legal nibble:",
            as_text(found["places"], style, "    "),
        ]
    )


def holds(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    op = find_operand(ins, args.operand)
    table = describe.holds(ins, op.name, args.lane, args.register)
    if args.json:
        return as_json(
            {"instruction": ins.mnemonic, "operand": op.name, "lane": args.lane, "elements": table}
        )
    head = style.lane(args.lane, f"lane {args.lane}")
    how = ", by stored coordinates" if getattr(ins, "sparse", False) and op.name == "A" else ""
    return f"{head} of {ins.mnemonic}\n  {style.dim(op.describe() + how)}\n{as_text(table, style, '  ')}"


def layout(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    op = find_operand(ins, args.operand)
    if args.form in ("csv", "json", "cute", "formula"):
        if args.dense:
            raise PtxlabError(
                f"--dense is for the table, --markdown and --svg; --{args.form} gives the elements that are stored"
            )
        if args.form in ("cute", "formula"):
            return _map(ins, op, args.form)
        table = describe.layout(op, args.swizzle, args.transposed)
        if args.form == "csv":
            return as_csv(table)
        size = {"dtype": str(op.dtype), "shape": op.shape, "lanes": op.lanes, "registers": op.registers}
        return as_json(
            {
                "instruction": ins.mnemonic,
                "operand": op.name,
                **size,
                "cute": op.layout.cute if op.layout else None,
                "elements": table,
            }
        )
    if op.layout is None and args.form != "svg":
        table = describe.offsets(op, args.swizzle, args.transposed)
        head = f"{style.bold(f'{op.name} of {ins.mnemonic}')}\n{style.dim(op.describe() + '; byte offsets in its tile')}"
        return as_markdown(table) if args.form else f"{head}\n\n{as_text(table, style)}"
    label: Label = "auto" if args.form == "svg" else "elements"
    drawn: Any = ins
    picture = describe.fragment(
        drawn, op.name, dense=args.dense, lane=args.lane, label=label, swizzle=args.swizzle
    )
    again = "" if args.form else describe.held_again(op)
    return _picture(picture, args.form, style) + (f"\n\n{again}" if again else "")


def _map(ins: Form, op: Operand, form: str) -> str:
    ((_, strides, sizes),) = describe.cute(ins, op.name).rows  # or the sentence that it has no map
    return op.layout.formula() if form == "formula" and op.layout else f"{strides}  // {sizes}"


def _picture(picture: describe.Picture, form: str | None, style: Style) -> str:
    if form == "svg":
        from ..views.figures.svg import svg

        return svg(picture).rstrip("\n")
    tables = [
        describe.grid(picture, i) for i, it in enumerate(picture.grids) if it.axes != ("group", "thread")
    ]
    if form == "markdown":
        return "\n\n".join(as_markdown(table) for table in tables)
    return "\n\n".join(
        [
            f"{style.bold(picture.title)}\n{style.dim(picture.subtitle)}",
            *(as_text(table, style) for table in tables),
        ]
    )


def metadata(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    if not isinstance(ins, MmaForm) or not ins.sparse:
        raise PtxlabError(f"{ins.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    picture = describe.metadata(ins, selector=args.selector)
    if args.form == "json":
        return as_json(
            {"instruction": ins.mnemonic, "selector": args.selector, "nibbles": describe.grid(picture)}
        )
    if args.form == "csv":
        return as_csv(describe.grid(picture))
    return _picture(picture, args.form, style)


def cute(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    table = describe.cute(ins, find_operand(ins, args.operand).name if args.operand else None)
    if args.json:
        return as_json({"instruction": ins.mnemonic, "operands": table})
    if args.operand:
        return f"{table.rows[0][1]}  // {table.rows[0][2]}"
    return as_text(table, style)


def ptx(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    if args.shared_a:
        if not isinstance(ins, MmaForm):
            raise PtxlabError(f"--shared-a: {ins.mnemonic} has no A; only wgmma takes A from shared memory")
        ins = ins.a_from("shared")
    if args.cpp:
        return "\n".join(describe.cpp(ins)["c++"])
    return source(ins).rstrip("\n") if args.kernel else ptx_line(ins)


def models(args: argparse.Namespace, style: Style) -> str:
    from ..isa.targets import GENERATIONS
    from ..numerics import models as all_models

    if args.chip is not None and args.chip not in GENERATIONS:
        raise PtxlabError(f"unknown chip {args.chip!r}; there are {listing(GENERATIONS)}")
    found = [
        (model, row)
        for model, row in zip(all_models(), describe.model_table().records(), strict=True)
        if args.chip in (None, model.chip)
    ]
    if args.json:
        return as_json(
            [
                {
                    **row,
                    "chip": model.chip,
                    "rule": describe.rule_words(model.rule),
                    "MMAs": model.mmas,
                }
                for model, row in found
            ]
        )
    lines: list[str] = []
    for model, row in found:
        if style.bold(row["chip"]) not in lines:
            lines.append(style.bold(row["chip"]))
        counted = f", {row['MMAs']} MMAs of each form" if model.mmas else ""
        lines.append("  " + "; ".join(row[name] for name in ("A and B", "families", "only") if row[name]))
        words = describe.rule_words(model.rule)
        lines += [f"    {style.dim(topic.ljust(_NAMES))} {text}" for topic, text in words.items()]
        lines.append(f"    {style.dim(model.evidence.ljust(_NAMES))} {row['source']}{counted}")
    return "\n".join(lines)


def sass(args: argparse.Namespace, style: Style) -> str:
    from ..gpu.sass import sass as machine_code
    from ..isa.targets import CHIPS

    ins = find(args.instruction)
    targets = [args.target or describe.target_of(ins)]
    if args.all:
        targets = [target for target in CHIPS.values() if ins.supports(target)] or list(ins.targets)
    found = [machine_code(ins, target) for target in targets]
    if args.json:
        one = [
            {
                "target": it.target,
                "native": it.native,
                "tensor": it.tensor,
                "arithmetic": it.arithmetic,
                "rest": it.rest,
            }
            for it in found
        ]
        listed = {} if args.all else {"listing": found[0].listing.splitlines()}
        return as_json({"instruction": ins.mnemonic, **listed, "targets": one})
    if args.all:
        return f"{style.bold(ins.mnemonic)}\n" + "\n".join(f"  {it.target.ljust(8)} {it}" for it in found)
    (only,) = found
    lines = [
        style.bold(line) if any(f" {opcode} " in line for opcode in only.tensor) else line
        for line in only.listing.splitlines()
    ]
    return "\n".join([f"{style.bold(ins.mnemonic)} for {only.target}", f"  {only}", "", *lines])
