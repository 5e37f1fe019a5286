"""The lookup commands for tcgen05, whose answers are about tensor memory, and what its options name."""

from __future__ import annotations

import argparse
import re

from .. import views
from ..errors import PtxlabError, listing, quoted
from ..gpu.codegen import declarations, ptx_line, ptx_module, source, statement
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma
from ..memory.tcgen05_tiles import shared_tile
from ..views.tensor_tables import shared_operand, tensor_tile, transposing
from ..views.tile_pictures import operand_tile
from .names import ALIASES, TCGEN05_PARTS
from .output import Style, as_csv, as_json, as_markdown, as_text, sparse_places_text
from .streams import Utf8

_NAME_WIDTH = 11  # of the names of facts in the first column
#: How notes begin that explain what only a picture has.
_ABOUT_COLOURS = ("colours:", "hue:", "one place:")


def is_asked(args: argparse.Namespace) -> bool:
    """Whether the instruction is one of tcgen05; for others its options are an error."""
    if "tcgen05" in args.instruction or "SM100_" in args.instruction:
        return True
    parts = [name for name in TCGEN05_PARTS if name in args.tcgen05 and getattr(args, name) is not None]
    for option, given in (
        ("--descriptor", args.descriptor is not None),
        ("--tensor-a", args.tensor_a),
        *((f"--{name}", True) for name in parts),
    ):
        if given:
            raise PtxlabError(f"{option} belongs to tcgen05.mma, found {quoted(args.instruction)}")
    return False


def form_of(args: argparse.Namespace, **more: object) -> Tcgen05Form:
    """The form that the arguments name, with the descriptor that they, and `more`, give."""
    code, parts = _parts(args.descriptor)
    options = {name: getattr(args, name) for name in TCGEN05_PARTS if name in args.tcgen05}
    parts |= {name: value for name, value in options.items() if value is not None}
    form = parse_any(args.instruction, descriptor=code, **{**parts, **more})
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} does not belong to tcgen05")
    if args.tensor_a:
        if not isinstance(form, Tcgen05Mma):
            raise PtxlabError(f"--tensor-a: {form.mnemonic} has no A")
        form = form.a_from("tensor")
    return form


def target_of(form: Tcgen05Form) -> str:
    """The target to look at when none is named: sm_100a, or the first that has the instruction."""
    return "sm_100a" if form.supports("sm_100a") else form.targets[0]


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
    facts = views.tensor_facts(form, args.target, run=not args.no_sass)
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


def _operand(form: Tcgen05Form, text: str) -> str:
    """The name of an operand as people type it; C is where D is."""
    name = ALIASES.get(text.upper().replace("-", "_"), text.upper())
    return "D" if name == "C" and isinstance(form, Tcgen05Mma) else name


def where(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab where tcgen05... D 3 5`."""
    form = form_of(args)
    name = _operand(form, args.operand)
    element = f"{args.operand.upper()}[{args.row}][{args.column}]"
    sparse = isinstance(form, Tcgen05Mma) and form.sparse and name == "A"
    if sparse and not args.stored:
        places = views.tensor_sparse_where(form, args.row, args.column, args.swizzle, args.transposed)
        if args.json:
            return as_json({"instruction": form.mnemonic, "element": element, **places.as_dict()})
        return sparse_places_text(element, f"{form.mnemonic}{_shape(form)}", places, style)
    element = f"stored {element}" if sparse else element
    if args.explain:
        if name != "D":
            raise PtxlabError(f"--explain is for an element of D, found {name}")
        table = views.tensor_explain(form, args.row, args.column, args.swizzle, args.transposed)
    else:
        table = views.tensor_where(form, name, args.row, args.column, args.swizzle, args.transposed)
    if args.json:
        return as_json({"instruction": form.mnemonic, "element": element, "places": table})
    return f"{style.bold(element)} of {form.mnemonic}{_shape(form)}\n{as_text(table, style, '  ')}"


def holds(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab holds tcgen05... D --lane 3 --register 5`: of tensor memory, a register is a column."""
    form = form_of(args)
    name = _operand(form, args.operand)
    table = views.tensor_holds(form, name, args.lane, args.register, args.cta)
    if args.json:
        return as_json(
            {
                "instruction": form.mnemonic,
                "operand": name,
                "cta": args.cta,
                "lane": args.lane,
                "elements": table,
            }
        )
    who = "thread" if name == "R" else "lane"
    title = style.bold(f"{who} {args.lane}" + (f" of CTA {args.cta}" if args.cta else ""))
    return f"{title} of {form.mnemonic}{_shape(form)}\n{as_text(table, style, '  ')}"


def cute(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab cute tcgen05...`."""
    form = form_of(args)
    table = views.tensor_layouts(form)
    if not table.rows:
        raise PtxlabError(f"{form.mnemonic} has no matrix, and so no layout")
    if args.operand is not None:
        name = _operand(form, args.operand)
        rows = tuple(row for row in table.rows if row[0] == name)
        if not rows:
            raise PtxlabError(
                f"{form.mnemonic} has no operand {quoted(args.operand)}; it has "
                f"{listing(str(row[0]) for row in table.rows)}"
            )
        table = views.Table(table.columns, rows)
    if args.json:
        return as_json({"instruction": form.mnemonic, "operands": table})
    return as_text(table, style)


def layout(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab layout tcgen05... D`: blocks of lanes and columns, every element, or a picture."""
    form = form_of(args)
    name = _operand(form, args.operand)
    if args.dense:
        raise PtxlabError("--dense: the stored A of tcgen05.mma.sp is shown; `compress` in Python makes it")
    operand = form.operands.get(name)
    if operand is not None and operand.layout is None:
        return _tile(form, name, args, style)
    if args.format == "formula":
        raise PtxlabError("--formula: tensor memory is described by --cute, or by every element with --csv")
    if args.format == "cute":
        return cute_text(form, name)
    if args.format in ("csv", "json"):
        elements = views.tensor_elements(form, name)
        if args.format == "csv":
            return as_csv(elements)
        return as_json({"instruction": form.mnemonic, "operand": name, "elements": elements})
    picture = views.fragment(form, name, lane=args.lane)
    return _picture(form, name, picture, args, style)


def _tile(form: Tcgen05Form, name: str, args: argparse.Namespace, style: Style) -> str:
    """A or B in shared memory: its tile, as of wgmma."""
    operand = form.operands[name]
    if not isinstance(form, Tcgen05Mma):
        raise PtxlabError(f"{form.mnemonic} has no tile in shared memory; tcgen05.mma has")
    if args.transposed:
        form = transposing(form, operand)
    memory = shared_tile(form, operand, args.swizzle)
    operand = shared_operand(form, operand)
    if args.format in ("cute", "formula"):
        return memory.cute
    if args.format == "svg":
        if memory.major == "MN":
            raise PtxlabError("--svg: a picture has K-major tiles; without it there is a table")
        picture = operand_tile(form, form.operands[name], args.swizzle).with_title(not args.no_title)
        return Utf8(picture.svg().rstrip("\n"))
    if args.format in ("csv", "json"):
        elements = tensor_tile(form, name, args.swizzle)
        if args.format == "csv":
            return as_csv(elements)
        return as_json({"instruction": form.mnemonic, "operand": name, "elements": elements})
    table = views.offsets(operand, tile=memory)
    if args.format == "markdown":
        return as_markdown(table)
    title = style.bold(f"{name} of {form.mnemonic}{_shape(form)}")
    note = style.dim(f"{operand.describe()}; byte offsets in its tile")
    return f"{title}\n{note}\n\n{as_text(table, style)}"


def metadata(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab metadata tcgen05.mma.sp...`."""
    form = form_of(args)
    if not isinstance(form, Tcgen05Mma) or not form.sparse:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    if args.selector:
        form = form.with_descriptor(selector=args.selector)
    if args.format in ("csv", "json"):
        nibbles = views.tensor_elements(form, "E")
        if args.format == "csv":
            return as_csv(nibbles)
        return as_json({"instruction": form.mnemonic, "selector": args.selector, "nibbles": nibbles})
    return _picture(form, "E", views.tensor_memory(form, "E"), args, style)


def _picture(
    form: Tcgen05Form, name: str, picture: views.Picture, args: argparse.Namespace, style: Style
) -> str:
    """A picture as SVG, or what it shows as a table: of tensor memory its blocks."""
    if args.format == "svg":
        return Utf8(picture.with_title(not args.no_title).svg().rstrip("\n"))
    table = views.tensor_blocks(form, name) if name in form.tensors else views.grid_table(picture.grids[0])
    if args.format == "markdown":
        return as_markdown(table)
    notes = "; ".join(note for note in picture.notes if not note.startswith(_ABOUT_COLOURS))
    return f"{style.bold(picture.title)}\n{style.dim(notes)}\n\n{as_text(table, style)}"


def cute_text(form: Tcgen05Form, name: str) -> str:
    """The layout of one operand in CuTe's notation."""
    rows = [row for row in views.tensor_layouts(form).rows if row[0] == name]
    if not rows:
        form.tensor(name)  # says what there is
    return str(rows[0][3])


def ptx(args: argparse.Namespace, style: Style) -> str:
    """`ptxlab ptx tcgen05...`."""
    form = form_of(args)
    if args.shared_a:
        raise PtxlabError("--shared-a belongs to wgmma: A of tcgen05.mma is there unless --tensor-a is given")
    if args.cpp:
        return "\n".join([declarations(form), *statement(form).splitlines()])
    if args.module:
        return ptx_module(form, args.target or target_of(form)).rstrip("\n")
    if args.target is not None:
        raise PtxlabError("--target belongs to --module: the other texts are the same for every target")
    return source(form).rstrip("\n") if args.kernel else ptx_line(form)


def _shape(form: Tcgen05Form) -> str:
    return f", {form.shape}" if isinstance(form, Tcgen05Mma) else ""
