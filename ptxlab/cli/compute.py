"""Commands that compute: run an instruction, trace a result, hunt for differences from the GPU."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import gpu, views
from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operands import Operands
from ..isa.parse import parse
from ..numerics.emulate import emulate
from ..numerics.trace import trace as trace_element
from ..verify import inputs
from ..views.trace_text import text as trace_text
from ..views.trace_text import trace_lines, trace_title
from .output import Style, as_json

__all__ = ["hunt", "run", "trace"]

_SHOWN_ROWS = 16  # of a matrix


def run(args: argparse.Namespace, style: Style) -> str:
    """D of random registers from the emulator, the GPU or both, and in how many bits the two differ."""
    form = _mma_form(
        args.instruction,
        "it moves a matrix and computes nothing; in Python its `emulate` and `run` take memory and addresses",
    )
    if args.batch < 1:
        raise PtxlabError(f"--batch {args.batch}: run at least one")
    if args.on == "gpu" and not gpu.available(form):
        raise PtxlabError(gpu.status(form))
    form.check_modifiers(Modifiers(selector=args.selector))
    operands = inputs.make(form, _usual_category(form), args.batch, args.seed, args.selector)
    results: dict[str, NDArray[Any]] = {}
    if args.on in ("emulator", "both"):
        model = gpu.model(form) if args.on == "both" else None
        results["emulator"] = emulate(operands, model=model)
    if args.on in ("gpu", "both") and gpu.available(form):
        results["GPU"] = gpu.run(operands)
    name, first = next(iter(results.items()))
    batch = "1 instruction" if args.batch == 1 else f"{args.batch} instructions"
    lines = [
        style.bold(form.mnemonic),
        style.dim(f"  {batch} on random registers, seed {args.seed}; GPU: {gpu.status(form)}"),
        "",
        f"D of the first, from the {name}:",
        _matrix_text(form.d.unpack(first)[0], style),
    ]
    if args.on == "both":
        lines += ["", _comparison(results, batch)]
    return "\n".join(lines)


def _mma_form(text: str, refusal: str) -> MmaForm:
    form = parse(text)
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic}: {refusal}")
    return form


def _usual_category(form: MmaForm) -> str:
    """Inputs that give results worth looking at."""
    return "moderate" if form.a.dtype.is_float else "bits"


def _comparison(results: dict[str, NDArray[Any]], batch: str) -> str:
    if len(results) < 2:
        return "nothing to compare with: the GPU did not take part"
    differing = int(np.bitwise_count(results["emulator"] ^ results["GPU"]).sum())
    total = results["GPU"].size * results["GPU"].dtype.itemsize * 8
    return f"emulator and GPU differ in {differing} of {total} bits of D ({batch})"


def _matrix_text(values: NDArray[Any], style: Style) -> str:
    """The first rows of a matrix, as many columns as the terminal takes, and how many are left out."""
    number = "{:.6g}" if values.dtype.kind == "f" else "{}"
    rows = [[number.format(value) for value in row] for row in values[:_SHOWN_ROWS].tolist()]
    width = max(len(text) for row in rows for text in row) + 2
    columns = min(max((style.width or 120) // width, 1), values.shape[1])
    lines = ["".join(text.rjust(width) for text in row[:columns]) for row in rows]
    left_out = []
    if len(values) > len(rows):
        left_out.append(f"{len(values) - len(rows)} more rows")
    if values.shape[1] > columns:
        left_out.append(f"{values.shape[1] - columns} more columns")
    if left_out:
        lines.append(style.dim("  ... and " + ", ".join(left_out)))
    return "\n".join(lines)


# -- trace ------------------------------


def trace(args: argparse.Namespace, style: Style) -> str:
    """Why an element of D has its bits, as text, JSON or SVG."""
    form = _mma_form(
        args.instruction,
        "it moves a matrix, so there is nothing to trace; `ptxlab where` says where its elements go",
    )
    operands, origin = _trace_inputs(form, args)
    result = trace_element(operands, args.row, args.column, model=args.model)
    if args.format == "json":
        return as_json({"inputs": origin, **result.as_dict()})
    if args.format == "svg":
        return views.trace(result, f"inputs: {origin}").svg().rstrip("\n")
    title = style.bold(f"{trace_title(result)}, {result.chip}")
    return "\n".join([title, style.dim(f"  inputs: {origin}"), *trace_lines(result, lost=style.dim)])


def _trace_inputs(form: MmaForm, args: argparse.Namespace) -> tuple[Operands, str]:
    """What goes in, made from a seed or read from files, and where it comes from in words."""
    category = args.category or _usual_category(form)
    operands = inputs.make(form, category, 1, args.seed).item(0)
    if args.a is not None:
        matrix = _load(args.a)
        if form.e is not None:
            matrix, nibbles = form.compress(matrix)
            operands = replace(operands, e=form.e.pack_codes(nibbles))
        operands = replace(operands, a=form.a.pack(matrix))
    if args.b is not None:
        operands = replace(operands, b=form.b.pack(_load(args.b)))
    if args.c is not None:
        operands = replace(operands, c=form.c.pack(_load(args.c)))
    files = {"A": args.a, "B": args.b, "C": args.c}
    origins = [f"{name} from {Path(path).name}" for name, path in files.items() if path is not None]
    made = f"ptxlab.inputs.make(ins, {category!r}, 1, seed={args.seed})"
    if not origins:
        origins.append(made)
    elif len(origins) < len(files):
        origins.append(f"the rest {made}")
    return operands, ", ".join(origins)


def _load(path: str) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise PtxlabError(f"{path}: no matrix could be read from it ({error}); np.save writes one") from None


# -- hunt ------------------------------


def hunt(args: argparse.Namespace, style: Style) -> int:
    """Look for a difference and print what came of it. The exit code is 1 if there is one."""
    from ..verify.hunt import hunt as search

    form = _mma_form(args.instruction, "it moves a matrix: there is no arithmetic to hunt in")
    try:
        report = search(
            form,
            mmas=args.mmas,
            seed=args.seed,
            categories=args.category,
            model=args.model,
            against=args.against,
        )
    except KeyboardInterrupt:
        print("ptxlab: the hunt was stopped before it found anything", file=sys.stderr)
        return 130
    print(report)
    difference = report.trace()
    if difference is not None:
        print(f"\n{trace_text(difference)}")
        print(f"\n{report.as_test()}", end="")
    return int(report.found)
