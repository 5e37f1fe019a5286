"""The lookup commands for tcgen05, whose answers are about tensor memory."""

from __future__ import annotations

import argparse

from .. import views
from ..errors import PtxlabError, listing, quoted
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma
from ..memory.tcgen05_tiles import shared_tile
from ..views.tensor_tables import shared_operand, tensor_tile, transposing
from ..views.tile_pictures import operand_tile
from .arguments import ALIASES
from .output import Style, as_csv, as_json, as_markdown, as_text, sparse_places_text, svg

_NAME_WIDTH = 11  # of the names of facts in the first column
#: How notes begin that explain what only a picture has.
_ABOUT_COLOURS = ("colours:", "hue:", "one place:")


def show(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab show tcgen05...`."""
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


def where(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab where tcgen05... D 3 5`."""
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


def holds(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab holds tcgen05... D --lane 3 --register 5`: of tensor memory, a register is a column."""
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


def cute(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab cute tcgen05...`."""
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


def layout(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab layout tcgen05... D`: blocks of lanes and columns, every element, or a picture."""
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
    if args.format == "csv":
        return as_csv(views.tensor_elements(form, name))
    if args.format == "json":
        elements = views.tensor_elements(form, name)
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
        return svg(operand_tile(form, form.operands[name], args.swizzle), args)
    if args.format == "csv":
        return as_csv(tensor_tile(form, name, args.swizzle))
    if args.format == "json":
        elements = tensor_tile(form, name, args.swizzle)
        return as_json({"instruction": form.mnemonic, "operand": name, "elements": elements})
    table = views.offsets(operand, tile=memory)
    if args.format == "markdown":
        return as_markdown(table)
    title = style.bold(f"{name} of {form.mnemonic}{_shape(form)}")
    note = style.dim(f"{operand.describe()}; byte offsets in its tile")
    return f"{title}\n{note}\n\n{as_text(table, style)}"


def metadata(form: Tcgen05Form, args: argparse.Namespace, style: Style) -> str:
    """`ptxlab metadata tcgen05.mma.sp...`."""
    if not isinstance(form, Tcgen05Mma) or not form.sparse:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    if args.selector:
        form = form.with_descriptor(selector=args.selector)
    if args.format == "csv":
        return as_csv(views.tensor_elements(form, "E"))
    if args.format == "json":
        nibbles = views.tensor_elements(form, "E")
        return as_json({"instruction": form.mnemonic, "selector": args.selector, "nibbles": nibbles})
    return _picture(form, "E", views.tensor_memory(form, "E"), args, style)


def _picture(
    form: Tcgen05Form, name: str, picture: views.Picture, args: argparse.Namespace, style: Style
) -> str:
    """A picture as SVG, or what it shows as a table: of tensor memory its blocks."""
    if args.format == "svg":
        return svg(picture, args)
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


def _shape(form: Tcgen05Form) -> str:
    return f", {form.shape}" if isinstance(form, Tcgen05Mma) else ""
