"""The lookup commands for tcgen05, whose answers are about tensor memory: list, show, where, holds, cute."""

from __future__ import annotations

import argparse
import re

from .. import views
from ..errors import PtxlabError, listing, quoted
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma
from .output import Style, as_json, as_text

__all__ = ["cute", "form_of", "holds", "is_asked", "show", "where"]

_NAME_WIDTH = 11  # of the names of facts in the first column


def is_asked(args: argparse.Namespace) -> bool:
    """Whether the instruction is one of tcgen05; for others its options are an error."""
    if "tcgen05" in args.instruction:
        return True
    for option, given in (("--descriptor", args.descriptor is not None), ("--tensor-a", args.tensor_a)):
        if given:
            raise PtxlabError(f"{option} belongs to tcgen05.mma, found {quoted(args.instruction)}")
    return False


def form_of(args: argparse.Namespace) -> Tcgen05Form:
    """The form that the arguments name, with the descriptor that they give."""
    code, parts = _parts(args.descriptor)
    form = parse_any(args.instruction, descriptor=code, **parts)
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} is none of tcgen05")
    if args.tensor_a:
        if not isinstance(form, Tcgen05Mma):
            raise PtxlabError(f"--tensor-a: {form.mnemonic} has no A")
        form = form.a_from("tensor")
    return form


def _parts(text: str | None) -> tuple[int | None, dict[str, int | str]]:
    """``0x8400010``, or ``m=64,n=32,d=f16``."""
    if text is None:
        return None, {}
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,12}", text):
        return int(text, 16 if text[:2].lower() == "0x" else 10), {}
    parts: dict[str, int | str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or not name.isidentifier() or name in ("text", "descriptor"):
            raise PtxlabError(
                f"--descriptor {quoted(text)}: it is 32 bits, 0x8400010, or parts, m=64,n=32,d=f16"
            )
        parts[name] = int(value) if re.fullmatch(r"[0-9]{1,9}", value) else value
    for name in ("transpose_a", "transpose_b", "negate_a", "negate_b", "saturate"):
        if name in parts:
            parts[name] = bool(parts[name])
    return None, parts


def show(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab show tcgen05...`."""
    form = form_of(args)
    if args.target is not None:
        form.supports(args.target)  # refuses a target that does not exist
    facts = views.tensor_facts(form)
    if args.json:
        return as_json({"instruction": form.mnemonic, **facts})
    lines = [style.bold(form.mnemonic)]
    for name, value in facts.items():
        if isinstance(value, views.Table):
            texts = as_text(value, style, fold=False).splitlines()
        else:
            texts = [value] if isinstance(value, str) else value or ["-"]
        for number, text in enumerate(texts):
            label = name if number == 0 else ""
            lines.append(f"  {style.dim(label.ljust(_NAME_WIDTH))} {text}".rstrip())
    return "\n".join(lines)


def where(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab where tcgen05... D 3 5`."""
    form = form_of(args)
    table = views.tensor_where(form, args.operand, args.row, args.column)
    element = f"{args.operand.upper()}[{args.row}][{args.column}]"
    if args.json:
        return as_json({"instruction": form.mnemonic, "element": element, "places": table})
    return f"{style.bold(element)} of {form.mnemonic}{_shape(form)}\n{as_text(table, style, '  ')}"


def holds(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab holds tcgen05... D --lane 3 --register 5`: of tensor memory, a register is a column."""
    form = form_of(args)
    table = views.tensor_holds(form, args.operand, args.lane, args.register)
    if args.json:
        return as_json(
            {
                "instruction": form.mnemonic,
                "operand": args.operand.upper(),
                "lane": args.lane,
                "elements": table,
            }
        )
    title = style.bold(f"lane {args.lane}")
    return f"{title} of {form.mnemonic}{_shape(form)}\n{as_text(table, style, '  ')}"


def cute(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab cute tcgen05...`."""
    form = form_of(args)
    table = views.tensor_layouts(form)
    if args.operand is not None:
        rows = tuple(row for row in table.rows if row[0] == args.operand.upper())
        if not rows:
            raise PtxlabError(
                f"{form.mnemonic} has no operand {quoted(args.operand)}; it has "
                f"{listing(str(row[0]) for row in table.rows)}"
            )
        table = views.Table(table.columns, rows)
    if args.json:
        return as_json({"instruction": form.mnemonic, "operands": table})
    return as_text(table, style)


def _shape(form: Tcgen05Form) -> str:
    return f", {form.shape}" if isinstance(form, Tcgen05Mma) else ""
