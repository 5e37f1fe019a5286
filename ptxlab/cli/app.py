"""The parser and its handlers. A handler asks `describe` (or runs the instruction) and gives the text back."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import __version__, describe
from ..catalog import FAMILIES
from ..describe.pictures import Label
from ..errors import PtxlabError, listing
from ..instruction import Instruction
from ..operand import Operand
from .names import find
from .render import Style, as_csv, as_json, as_markdown, as_text

__all__ = ["main"]

_EXAMPLES = """\
examples:
  ptxlab list --family wmma                     every form of a family
  ptxlab show mma.m16n8k64.s4                   a short name will do where it is unambiguous
  ptxlab where mma.m16n8k64.s4 A 9 37           which lane holds A[9][37], and in which bits
  ptxlab where mma.sp.m16n8k64.s4 A 9 37        the same for a sparse A: chunk, nibble, stored element
  ptxlab holds mma.m16n8k64.s4 B --lane 5       what lane 5 holds of B
  ptxlab layout mma.m16n8k64.s4 A --svg > a.svg the picture of the manual
  ptxlab run mma.sp.m16n8k16.tf32 --on both     emulator against GPU, bit for bit
"""


def _list(args: argparse.Namespace, style: Style) -> str:
    found, counts = describe.forms(args.family, args.target, args.type)
    if args.json:
        return as_json([ins.mnemonic for ins in found])
    if not found:
        return "no instruction fits"
    lines = []
    for family, count in counts.items():
        lines += [style.bold(f"{family} ({count})"), *(f"  {ins.mnemonic}" for ins in found if ins.family == family)]
    return "\n".join([*lines, style.dim(f"{len(found)} instructions")])


def _show(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    facts = describe.facts(ins)
    if args.json:
        return as_json({"instruction": ins.mnemonic, **facts})
    lines = [style.bold(ins.mnemonic)]
    for name, value in facts.items():
        if isinstance(value, dict):
            value = [f"{key} {' or '.join(map(str, legal))}" for key, legal in value.items()]
        apart = isinstance(value, list) and name in ("operands", "modifiers", "arithmetic")
        shown = value if apart else [" ".join(map(str, value))] if isinstance(value, list) else [str(value)]
        lines += [f"  {style.dim((name if i == 0 else '').ljust(11))} {line}" for i, line in enumerate(shown or ["-"])]
    return "\n".join(lines)


def _where(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    name = ins.operand(args.operand).name
    element = f"{name}[{args.row}][{args.column}]"
    if ins.sparse and name == "A" and not args.stored:
        return _sparse_where(ins, args, style, element)
    table = describe.where(ins, name, args.row, args.column, args.swizzle)
    if args.json:
        return as_json({"instruction": ins.mnemonic, "element": element, "places": table})
    how = "stored " if ins.sparse and name == "A" else ""
    return f"{style.bold(how + element)} of {ins.mnemonic}\n  {style.dim(ins.operand(name).describe())}\n{as_text(table, style, '  ')}"


def _sparse_where(ins: Instruction, args: argparse.Namespace, style: Style, element: str) -> str:
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


def _holds(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    table = describe.holds(ins, args.operand, args.lane, args.register)
    op = ins.operand(args.operand)
    if args.json:
        return as_json({"instruction": ins.mnemonic, "operand": op.name, "lane": args.lane, "elements": table})
    head = style.lane(args.lane, f"lane {args.lane}")
    how = ", by stored coordinates" if ins.sparse and op.name == "A" else ""
    return f"{head} of {ins.mnemonic}\n  {style.dim(op.describe() + how)}\n{as_text(table, style, '  ')}"


def _layout(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    op = ins.operand(args.operand)
    if args.form in ("csv", "json", "cute", "formula"):
        if args.dense:
            raise PtxlabError(f"--dense is for the table, --markdown and --svg; --{args.form} gives the elements that are stored")
        if args.form in ("cute", "formula"):
            return _map(ins, op, args.form)
        table = describe.layout(op)
        if args.form == "csv":
            return as_csv(table)
        size = {"dtype": str(op.dtype), "shape": op.shape, "lanes": op.lanes, "registers": op.registers}
        return as_json({"instruction": ins.mnemonic, "operand": op.name, **size, "cute": op.layout.cute if op.layout else None, "elements": table})
    label: Label = "auto" if args.form == "svg" else "elements"
    picture = describe.fragment(ins, op.name, dense=args.dense, lane=args.lane, label=label, swizzle=args.swizzle)
    return _picture(picture, args.form, style)


def _map(ins: Instruction, op: Operand, form: str) -> str:
    if op.layout is None:
        raise PtxlabError(f"operand {op.name} of {ins.mnemonic} lives in shared memory: it has no map from lanes")
    return op.layout.formula() if form == "formula" else f"{op.layout.cute}  // {op.layout.signature}"


def _picture(picture: describe.Picture, form: str | None, style: Style) -> str:
    if form == "svg":
        from ..figures.svg import svg

        return svg(picture).rstrip("\n")
    tables = [describe.grid(picture, i) for i, it in enumerate(picture.grids) if it.axes != ("group", "thread")]
    if form == "markdown":
        return "\n\n".join(as_markdown(table) for table in tables)
    return "\n\n".join([f"{style.bold(picture.title)}\n{style.dim(picture.subtitle)}", *(as_text(table, style) for table in tables)])


def _metadata(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    picture = describe.metadata(ins, selector=args.selector)
    if args.form == "json":
        return as_json({"instruction": ins.mnemonic, "selector": args.selector, "nibbles": describe.grid(picture)})
    if args.form == "csv":
        return as_csv(describe.grid(picture))
    return _picture(picture, args.form, style)


def _ptx(args: argparse.Namespace, style: Style) -> str:
    ins = find(args.instruction)
    if args.shared_a:
        ins = ins.a_from("shared")
    return ins.kernel.rstrip("\n") if args.kernel else ins.ptx


def _run(args: argparse.Namespace, style: Style) -> str:
    from . import act  # with it comes all that runs instructions

    return act.run(find(args.instruction), args.on, args.seed, args.batch, args.selector, style)


def _lab(args: argparse.Namespace, style: Style) -> str | int:
    from . import act

    return act.lab(args.arguments)


class _Parser(argparse.ArgumentParser):
    """Refuses in one sentence, without the usage block."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="ptxlab", description="PTX matrix instructions: who holds what, in which bits, and what comes out.", epilog=_EXAMPLES)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("-V", "--version", action="version", version=f"ptxlab {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, handler: Any, about: str, *, instruction: bool = True, json: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        sub.set_defaults(handler=handler)
        if instruction:
            sub.add_argument("instruction", metavar="INSTRUCTION", help="PTX mnemonic, or a short name such as mma.m16n8k64.s4")
        if json:
            sub.add_argument("--json", action="store_true", help="the same as JSON")
        return sub

    sub = command("list", _list, "the instructions that ptxlab knows", instruction=False, json=True)
    sub.add_argument("--family", help=listing(FAMILIES))
    sub.add_argument("--target", help="only those that a target has, e.g. sm_90a")
    sub.add_argument("--type", help="only those with this element type for A or B, e.g. s4")

    command("show", _show, "all about one instruction", json=True)

    sub = command("where", _where, "which lane holds an element, and in which bits", json=True)
    sub.add_argument("operand", metavar="OPERAND", help="A, B, C, D, E (metadata), SFA, SFB (block scales)")
    sub.add_argument("row", type=int)
    sub.add_argument("column", type=int)
    sub.add_argument("--stored", action="store_true", help="sparse A: the coordinates are those of the stored half")
    sub.add_argument("--swizzle", type=int, default=0, help="operand in shared memory: swizzle in bytes (0, 32, 64, 128)")

    sub = command("holds", _holds, "what a lane holds", json=True)
    sub.add_argument("operand", metavar="OPERAND")
    sub.add_argument("--lane", type=int, required=True)
    sub.add_argument("--register", type=int)

    sub = command("layout", _layout, "the fragment layout of an operand")
    sub.add_argument("operand", metavar="OPERAND")
    sub.add_argument("--dense", action="store_true", help="sparse A as it is meant instead of as it is stored")
    sub.add_argument("--lane", type=int, help="put one lane in the focus of --svg")
    sub.add_argument("--swizzle", type=int, default=0, help="operand in shared memory: swizzle in bytes (0, 32, 64, 128)")
    _forms(sub, ("csv", "markdown", "json", "svg", "cute", "formula"))

    sub = command("metadata", _metadata, "which lane's which bits describe every chunk of sparse A")
    sub.add_argument("--selector", type=int, default=0)
    _forms(sub, ("csv", "markdown", "json", "svg"))

    sub = command("ptx", _ptx, "the PTX line, or the CUDA kernel around it")
    sub.add_argument("--kernel", action="store_true", help="the CUDA C++ source that `run` compiles")
    sub.add_argument("--shared-a", action="store_true", help="wgmma: A from shared memory")

    sub = command("run", _run, "run it on random registers")
    sub.add_argument("--on", choices=("emulator", "gpu", "both"), default="emulator")
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--batch", type=int, default=1, help="how many independent ones")
    sub.add_argument("--selector", type=int, default=0, help="sparsity selector")

    command("lab", _lab, "open JupyterLab on the notebooks; further options are passed on to jupyter lab", instruction=False)
    return parser


def _forms(sub: argparse.ArgumentParser, names: Sequence[str]) -> None:
    group = sub.add_mutually_exclusive_group()
    for name in names:
        group.add_argument(f"--{name}", dest="form", action="store_const", const=name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with one sentence on bad input."""
    parser = _parser()
    try:
        args, rest = parser.parse_known_args(argv)
        handler = getattr(args, "handler", None)
        if handler is _lab:
            args.arguments = rest
        elif rest:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        if handler is None:
            parser.print_help()
            return 0
        answer = handler(args, Style())
        if isinstance(answer, int):
            return answer
        print(answer)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse leaves this way after --help, --version and bad usage
        return int(stop.code or 0)
    except PtxlabError as error:
        print(f"ptxlab: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, e.g. head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
