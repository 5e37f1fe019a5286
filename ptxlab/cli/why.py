"""`ptxlab trace`: why an element of D has its bits, for inputs that need not be at hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import describe, inputs
from ..errors import PtxlabError
from ..instruction import Instruction
from ..trace import Trace, of_registers
from .names import find
from .render import Style, as_json

__all__ = ["trace"]


def trace(args: argparse.Namespace, style: Style) -> str:
    """The trace as text, JSON or SVG."""
    ins = find(args.instruction)
    if not isinstance(ins, Instruction):
        raise PtxlabError(f"{ins.mnemonic} moves a matrix: nothing is computed, so there is nothing to trace; `ptxlab where` says where it goes")
    found, given = _traced(ins, args)
    if args.form == "json":
        return as_json({"inputs": given.removeprefix("inputs: "), **found.as_dict()})
    if args.form == "svg":
        from ..figures.svg import svg

        return svg(describe.trace(found, given)).rstrip("\n")
    head, *rest = str(found).splitlines()
    return "\n".join([style.bold(head), style.dim(f"  {given}"), *(_dimmed(line, style) for line in rest)])


def _traced(ins: Instruction, args: argparse.Namespace) -> tuple[Trace, str]:
    """The trace, and in words what went in."""
    category = args.category or ("moderate" if ins.a.dtype.is_float else "bits")
    made = inputs.make(ins, category, 1, args.seed)
    a, b, c, e = made.a[0], made.b[0], made.c[0], None if made.e is None else made.e[0]
    if args.a is not None:
        matrix = _matrix(args.a)
        if ins.sparse and ins.e is not None:
            matrix, nibbles = ins.compress(matrix)
            e = ins.e.pack_codes(nibbles)
        a = ins.a.pack(matrix)
    b = b if args.b is None else ins.b.pack(_matrix(args.b))
    c = c if args.c is None else ins.c.pack(_matrix(args.c))
    files = [f"{name} from {Path(path).name}" for name, path in (("A", args.a), ("B", args.b), ("C", args.c)) if path is not None]
    scales = {name: each[0] for name, each in made.scales.items() if each is not None}
    found = of_registers(ins, a, b, c, e, args.row, args.column, model=args.model, **scales)
    drawn = f"ptxlab.inputs.make(ins, {category!r}, 1, seed={args.seed})"
    return found, f"inputs: {', '.join(files)}{', the rest ' * bool(files)}{drawn}" if len(files) < 3 else f"inputs: {', '.join(files)}"


def _matrix(path: str) -> NDArray[Any]:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise PtxlabError(f"{path}: no matrix could be read from it ({error}); np.save writes one") from None
    return np.asarray(found)


def _dimmed(line: str, style: Style) -> str:
    """Lost bits in a fainter colour."""
    kept, bar, lost = line.partition("|")
    return f"{kept}{style.dim(bar + lost)}" if bar else line
