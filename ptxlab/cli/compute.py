"""Commands that compute: run an instruction, trace a result, hunt for differences, measure on a GPU."""

from __future__ import annotations

import argparse
import stat
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import gpu, views
from .._util import interrupts
from .._util.progress_bar import bar
from ..errors import PtxlabError, counted, quoted
from ..gpu.device import check_device
from ..gpu.measure import measure as measure_here
from ..gpu.measure import record
from ..gpu.records import Measurement, measurable, measured, read_record
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.transfer import TransferForm
from ..numerics.emulate import emulate
from ..numerics.trace import trace as trace_element
from ..verify import inputs
from ..views.trace_text import text as trace_text
from ..views.trace_text import trace_lines, trace_title
from . import output
from .arguments import product_of
from .output import Style, as_json, check_picture_options, svg

_SHOWN_ROWS = 16  # of a matrix
_MAX_MMAS = 10_000_000  # of one `run`: an hour of the emulator
_MAX_HUNTED = 10**12  # of one hunt: years on a GPU


def run(args: argparse.Namespace, style: Style) -> str:
    """D of random registers from the emulator, the GPU or both, and in how many bits the two differ."""
    form = product_of(
        args,
        "it moves a matrix and computes nothing; in Python its `emulate` and `run` take memory and addresses",
    )
    if not 1 <= args.batch <= _MAX_MMAS:
        raise PtxlabError(f"--batch {args.batch}: run at least one and at most {_MAX_MMAS:,}")
    if args.on == "gpu" and not gpu.available(form):
        raise PtxlabError(gpu.status(form))
    if form.d.space == "tensor" and args.selector:
        form = form.with_descriptor(selector=args.selector)
    else:
        form.check_modifiers(Modifiers(selector=args.selector))
    first, differing = _run_batch(form, args)
    name, d = next(iter(first.items()))
    batch = counted(args.batch, "instruction")
    lines = [
        style.bold(form.mnemonic),
        style.dim(f"  {batch} on random registers, seed {args.seed}; GPU: {gpu.status(form)}"),
        "",
        f"D of the first, from the {name}:",
        _matrix_text(form.d.unpack(d), style),
    ]
    if args.on == "both" and differing is None:
        lines += ["", "nothing to compare with: the GPU did not take part"]
    elif differing is not None:
        total = args.batch * d.size * d.itemsize * 8
        lines += ["", f"emulator and GPU differ in {differing} of {total} bits of D ({batch})"]
    return "\n".join(lines)


def _run_batch(form: Product, args: argparse.Namespace) -> tuple[dict[str, NDArray[Any]], int | None]:
    """Registers of the first D by backend, and in how many bits of the batch the two backends differ.

    A large batch is run in parts, so that it takes no more memory than a small one.
    """
    from ..verify.case import batch_size  # late, as below: the other commands start without it

    first: dict[str, NDArray[Any]] = {}
    differing = None
    size = batch_size(form)
    with bar(args.batch, "MMAs") as tick:
        for number, start in enumerate(range(0, args.batch, size)):
            count = min(size, args.batch - start)
            seed = args.seed + (number << 64)
            selector = 0 if form.descriptor else args.selector
            operands = inputs.make(form, _default_category(form), count, seed, selector)
            results = _results(form, operands, args.on)
            first = first or {name: registers[0] for name, registers in results.items()}
            if len(results) == 2:
                bits = np.bitwise_count(results["emulator"] ^ results["GPU"]).sum()
                differing = int(bits) + (differing or 0)
            tick(count)
    return first, differing


def _results(form: Product, operands: Operation, on: str) -> dict[str, NDArray[Any]]:
    """Registers of D from the emulator, the GPU, or both if there is a GPU."""
    results: dict[str, NDArray[Any]] = {}
    if on in ("emulator", "both"):
        results["emulator"] = emulate(operands, model=gpu.model(form) if on == "both" else None)
    if on in ("gpu", "both") and gpu.available(form):
        results["GPU"] = gpu.run(operands)
    return results


def _default_category(form: Product) -> str:
    """Inputs that give results worth looking at."""
    return "moderate" if form.a.dtype.is_float else "bits"


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
    check_picture_options(args)
    form = product_of(
        args,
        "it moves a matrix, so there is nothing to trace; `ptxlab where` says where its elements go",
    )
    operands, origin = _trace_inputs(form, args)
    result = trace_element(operands, args.row, args.column, model=args.model)
    if args.format == "json":
        return as_json({"inputs": origin, **result.as_dict()})
    if args.format == "svg":
        return svg(views.trace(result, f"inputs: {origin}"), args)
    title = style.bold(f"{trace_title(result)}, {result.chip}")
    return "\n".join([title, style.dim(f"  inputs: {origin}"), *trace_lines(result, lost=style.dim)])


def _trace_inputs(form: Product, args: argparse.Namespace) -> tuple[Operation, str]:
    """The inputs, made from a seed or read from files, and their origin in words."""
    category = args.category or _default_category(form)
    operands = inputs.make(form, category, 1, args.seed).item(0)
    if args.a is not None:
        matrix = _load(args.a, "A", form.a_dense.shape)
        if form.e is not None:
            matrix, nibbles = form.compress(matrix)
            operands = replace(operands, e=form.e.pack_codes(nibbles))
        operands = replace(operands, a=form.a.pack(matrix))
    if args.b is not None:
        operands = replace(operands, b=form.b.pack(_load(args.b, "B", form.b.shape)))
    if args.c is not None:
        operands = replace(operands, c=form.c.pack(_load(args.c, "C", form.c.shape)))
    files = {"A": args.a, "B": args.b, "C": args.c}
    origins = [
        f"{name} from {output.one_line(Path(path).name[:60])}"
        for name, path in files.items()
        if path is not None
    ]
    made = f"ptxlab.inputs.make(ins, {category!r}, 1, seed={args.seed})"
    if not origins:
        origins.append(made)
    elif len(origins) < len(files):
        origins.append(f"the rest {made}")
    return operands, ", ".join(origins)


def _load(path: str, name: str, shape: tuple[int, int]) -> NDArray[Any]:
    """The matrix in a file of `np.save`; its shape is checked before it is read."""
    try:
        if Path(path).exists() and not stat.S_ISREG(Path(path).stat().st_mode):
            raise OSError("it is not a file")  # a named pipe would block
        with warnings.catch_warnings(action="ignore"):  # files of Python 2
            array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a damaged file may raise anything
        raise PtxlabError(
            f"{quoted(path)}: no matrix could be read from it ({output.one_line(str(error))[:200]}); "
            "np.save writes one"
        ) from None
    rows, columns = shape
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise PtxlabError(
            f"{quoted(path)}: found {quoted(array.dtype)} of shape {quoted(array.shape)}; "
            f"{name} is a matrix of numbers, {rows}x{columns}"
        )
    return np.array(array)


# -- hunt ------------------------------


def hunt(args: argparse.Namespace, style: Style) -> int:
    """Look for a difference and print the outcome. The exit status is 1 if there is one."""
    from ..verify.hunt import hunt as hunt_for_differences

    form = product_of(args, "it moves a matrix: there is no arithmetic to hunt in")
    if not 1 <= args.mmas <= _MAX_HUNTED:
        raise PtxlabError(f"--mmas {args.mmas}: compare at least one and at most {_MAX_HUNTED:,}")
    try:
        report = hunt_for_differences(
            form,
            mmas=args.mmas,
            seed=args.seed,
            categories=args.category,
            model=args.model,
            against=args.against,
        )
    except KeyboardInterrupt:
        output.error("ptxlab: the hunt was stopped before it found anything")
        return interrupts.STATUS
    output.write(str(report))
    difference = report.trace()
    if difference is not None:
        output.write(f"\n{trace_text(difference)}")
        output.write(f"\n{report.as_test()}".rstrip("\n"))
    return int(report.found)


# -- measure ------------------------------


def measure(args: argparse.Namespace, style: Style) -> str | int:
    """One instruction, or with --all every instruction of the GPU."""
    if args.all:
        if args.instruction is not None:
            raise PtxlabError("--all measures every instruction; leave INSTRUCTION out")
        return _record(args.record)
    if args.record is not None:
        raise PtxlabError("--record goes with --all: it keeps the figures of every instruction")
    if args.instruction is None:
        raise PtxlabError("which INSTRUCTION? Name one, or measure all of them with --all")
    form = measurable(args.instruction)
    if args.a is not None:
        if not isinstance(form, MmaForm) or form.lanes != 128:
            raise PtxlabError(f"--a {args.a}: only wgmma, not {form.mnemonic}, can take A from shared memory")
        form = form.a_from(args.a)
    if args.recorded is not None:
        result = measured(form, args.recorded)
    else:
        result = _measured_here(form, "zeros" if args.zeros else "random")
    if args.json:
        return as_json(_measured_facts(result))
    first, *others = repr(result).splitlines()
    return "\n".join([style.bold(first), *others])


def _measured_here(form: MmaForm | TransferForm, contents: Literal["random", "zeros"]) -> Measurement:
    try:
        check_device(form)
    except PtxlabError as error:
        raise PtxlabError(f"{error}; --recorded H200 has what was measured on an H200") from None
    return measure_here(form, contents=contents)


def _record(path: str | None) -> str | int:
    try:
        file = record(path or None)
    except KeyboardInterrupt:
        output.error(
            "ptxlab: interrupted; what was measured is kept, and the same command continues from there"
        )
        return interrupts.STATUS
    return f"{file}: {len(read_record(file))} instructions; `ptxlab.measured` and the figures find them"


def _measured_facts(result: Measurement) -> dict[str, Any]:
    best = result.best
    return {
        "instruction": result.form.mnemonic,
        "a": result.form.a_space if isinstance(result.form, MmaForm) else None,
        "gpu": result.gpu,
        "target": result.target,
        "date": result.date,
        "operands": result.contents,
        "sass": result.sass,
        "latency": result.latency,
        "latency_a": result.latency_a,
        "per_second": result.throughput,
        "cycles": result.cycles,
        "warps": best.warps,
        "chains": best.chains,
        "mhz": best.clock,
        "sustained": None if result.sustained is None else asdict(result.sustained),
        "points": [
            {"warps": point.warps, "chains": point.chains, "instructions_per_second": point.per_second}
            for point in result.points
        ],
    }
