"""`ptxlab trace`: why an element of D has its bits, for inputs that need not be at hand."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import views as describe
from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..numerics.trace import Trace
from ..numerics.trace import trace as trace_of
from ..verify import inputs
from ..views.trace import text
from .names import find
from .render import Style, as_json

__all__ = ["trace"]


def trace(args: argparse.Namespace, style: Style) -> str:
    """The trace as text, JSON or SVG."""
    ins = find(args.instruction)
    if not isinstance(ins, MmaForm):
        raise PtxlabError(
            f"{ins.mnemonic} moves a matrix: nothing is computed, so there is nothing to trace; `ptxlab where` says where it goes"
        )
    found, given = _traced(ins, args)
    if args.form == "json":
        return as_json({"inputs": given.removeprefix("inputs: "), **found.as_dict()})
    if args.form == "svg":
        from ..views.figures.svg import svg

        return svg(describe.trace(found, given)).rstrip("\n")
    head, *rest = text(found).splitlines()
    return "\n".join([style.bold(head), style.dim(f"  {given}"), *(_dimmed(line, style) for line in rest)])


def _traced(ins: MmaForm, args: argparse.Namespace) -> tuple[Trace, str]:
    """The trace, and in words what went in."""
    category = args.category or ("moderate" if ins.a.dtype.is_float else "bits")
    operands = inputs.make(ins, category, 1, args.seed).item(0)
    if args.a is not None:
        matrix = _matrix(args.a)
        if ins.e is not None:
            matrix, nibbles = ins.compress(matrix)
            operands = replace(operands, e=ins.e.pack_codes(nibbles))
        operands = replace(operands, a=ins.a.pack(matrix))
    if args.b is not None:
        operands = replace(operands, b=ins.b.pack(_matrix(args.b)))
    if args.c is not None:
        operands = replace(operands, c=ins.c.pack(_matrix(args.c)))
    files = [
        f"{name} from {Path(path).name}"
        for name, path in (("A", args.a), ("B", args.b), ("C", args.c))
        if path is not None
    ]
    found = trace_of(operands, args.row, args.column, model=args.model)
    drawn = f"ptxlab.inputs.make(ins, {category!r}, 1, seed={args.seed})"
    return found, f"inputs: {', '.join(files)}{', the rest ' * bool(files)}{drawn}" if len(
        files
    ) < 3 else f"inputs: {', '.join(files)}"


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
