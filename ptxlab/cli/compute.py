"""Commands that compute: run an instruction, trace a result, measure on a GPU."""

from __future__ import annotations

import stat
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import gpu, inputs, views
from .._util import interrupts
from .._util.progress_bar import bar
from ..errors import PtxlabError, counted, quoted
from ..gpu.device import check_device
from ..gpu.measure import measure as measure_here
from ..gpu.measure import record as record_all
from ..gpu.records import Measurement, measurable, measured, read_record
from ..isa.catalog import Product
from ..isa.mma import Instruction
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.transfer import Transfer
from ..numerics.emulate import emulate
from ..numerics.trace import trace as trace_element
from ..views.trace_text import trace_lines, trace_title
from . import output
from .commands import Index, InstructionName, Json, Selector
from .instruction_arguments import Tcgen05, product_of
from .output import PICTURE, Printed, Style, as_json

_SHOWN_ROWS = 16  # of a matrix
_MAX_MMAS = 10_000_000  # of one `run`: an hour of the emulator


_Backend = Literal["emulator", "gpu", "both"]


def run(
    style: Style,
    instruction: InstructionName,
    *,
    on: Annotated[_Backend, "both compares them bit for bit (default: emulator)"] = "emulator",
    seed: Annotated[int, "seed of the random registers (default: 0)"] = 0,
    batch: Annotated[int, "number of independent MMAs (default: 1)"] = 1,
    selector: Selector = 0,
    tcgen05: Tcgen05,
) -> str:
    """D of random registers from the emulator, the GPU or both, and in how many bits the two differ.

    examples:
      ptxlab run mma.m16n8k64.s4 --seed 3
      ptxlab run mma.sp.m16n8k16.tf32 --on both --batch 1000
    """
    form = product_of(
        instruction,
        tcgen05,
        "it moves a matrix and computes nothing; in Python its `emulate` and `run` take memory and addresses",
    )
    if not 1 <= batch <= _MAX_MMAS:
        raise PtxlabError(f"--batch {batch}: run at least one and at most {_MAX_MMAS:,}")
    if on == "gpu" and not gpu.available(form):
        raise PtxlabError(gpu.status(form))
    if form.d.space == "tensor" and selector:
        form = form.with_descriptor(selector=selector)
    else:
        form.check_modifiers(Modifiers(selector=selector))
    first, differing = _run_batch(form, on, seed, batch, selector)
    name, d = next(iter(first.items()))
    count = counted(batch, "instruction")
    lines = [
        style.bold(form.mnemonic),
        style.dim(f"  {count} on random registers, seed {seed}; GPU: {gpu.status(form)}"),
        "",
        f"D of the first, from the {name}:",
        _matrix_text(form.d.unpack(d), style),
    ]
    if on == "both" and differing is None:
        lines += ["", "nothing to compare with: the GPU did not take part"]
    elif differing is not None:
        total = batch * d.size * d.itemsize * 8
        lines += ["", f"emulator and GPU differ in {differing} of {total} bits of D ({count})"]
    return "\n".join(lines)


def _run_batch(
    form: Product, on: _Backend, seed: int, batch: int, selector: int
) -> tuple[dict[str, NDArray[Any]], int | None]:
    """Registers of the first D by backend, and in how many bits of the batch the two backends differ.

    A large batch is run in parts, so that it takes no more memory than a small one.
    """
    from ..differences.case import batch_size  # late: the other commands start without it

    first: dict[str, NDArray[Any]] = {}
    differing = None
    size = batch_size(form)
    with bar(batch, "MMAs") as tick:
        for number, start in enumerate(range(0, batch, size)):
            count = min(size, batch - start)
            copy = 0 if form.descriptor else selector
            operands = inputs.make(form, _default_category(form), count, seed + (number << 64), copy)
            results = _results(form, operands, on)
            first = first or {name: registers[0] for name, registers in results.items()}
            if len(results) == 2:
                bits = np.bitwise_count(results["emulator"] ^ results["GPU"]).sum()
                differing = int(bits) + (differing or 0)
            tick(count)
    return first, differing


def _results(form: Product, operation: Operation, on: _Backend) -> dict[str, NDArray[Any]]:
    """Registers of D from the emulator, the GPU, or both if there is a GPU."""
    results: dict[str, NDArray[Any]] = {}
    if on in ("emulator", "both"):
        results["emulator"] = emulate(operation, model=gpu.model(form) if on == "both" else None)
    if on in ("gpu", "both") and gpu.available(form):
        results["GPU"] = gpu.run(operation)
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


def trace(
    style: Style,
    instruction: InstructionName,
    row: Index,
    column: Index,
    *,
    category: Annotated[
        str | None,
        "category of inputs, e.g. bits, moderate, exponents (default: moderate; bits for integers)",
        "NAME",
    ] = None,
    seed: Annotated[int, "seed of the inputs (default: 0)"] = 0,
    model: Annotated[str | None, "the chip whose arithmetic is traced, e.g. sm_80", "CHIP"] = None,
    a: Annotated[str | None, "A from a file written by np.save; a dense matrix", "FILE.npy"] = None,
    b: Annotated[str | None, "B from a file written by np.save", "FILE.npy"] = None,
    c: Annotated[str | None, "C from a file written by np.save", "FILE.npy"] = None,
    tcgen05: Annotated[Tcgen05, {"m", "n", "descriptor", "tensor_a"}],  # it has another use for --a and --b
    printed: Annotated[Printed, PICTURE],
) -> str:
    """Why an element of D has its bits, as text, JSON or SVG.

    examples:
      ptxlab trace mma.m16n8k16.f32.f16 3 5
      ptxlab trace mma.m16n8k64.s4 6 7 --category edges       sums that wrap around
      ptxlab trace mma.m16n8k16.f32.f16 3 5 --category exponents --seed 2
      ptxlab trace mma.m16n8k32.f32.e4m3 0 0 --svg > why.svg  as a picture
      ptxlab trace tcgen05.mma.cta_group::1.kind::f8f6f4 3 5 --descriptor m=64,a=e5m2
    """
    printed.check()
    form = product_of(
        instruction,
        tcgen05,
        "it moves a matrix, so there is nothing to trace; `ptxlab where` says where its elements go",
    )
    files = {name: path for name, path in (("A", a), ("B", b), ("C", c)) if path is not None}
    operands, origin = _trace_inputs(form, category or _default_category(form), seed, files)
    result = trace_element(operands, row, column, model=model)
    if printed.format == "json":
        return as_json({"inputs": origin, **result.as_dict()})
    if printed.format == "svg":
        return printed.svg(views.trace(result, f"inputs: {origin}"))
    title = style.bold(f"{trace_title(result)}, {result.chip}")
    return "\n".join([title, style.dim(f"  inputs: {origin}"), *trace_lines(result, lost=style.dim)])


def _trace_inputs(form: Product, category: str, seed: int, files: dict[str, str]) -> tuple[Operation, str]:
    """The inputs, made from a seed or read from the files of A, B and C, and their origin in words."""
    operands = inputs.make(form, category, 1, seed).item(0)
    if "A" in files:
        matrix = _load(files["A"], "A", form.a_dense.shape)
        if form.e is not None:
            matrix, nibbles = form.compress(matrix)
            operands = replace(operands, e=form.e.pack_codes(nibbles))
        operands = replace(operands, a=form.a.pack(matrix))
    if "B" in files:
        operands = replace(operands, b=form.b.pack(_load(files["B"], "B", form.b.shape)))
    if "C" in files:
        operands = replace(operands, c=form.c.pack(_load(files["C"], "C", form.c.shape)))
    origins = [f"{name} from {output.one_line(Path(path).name[:60])}" for name, path in files.items()]
    made = f"ptxlab.inputs.make(ins, {category!r}, 1, seed={seed})"
    if not origins:
        origins.append(made)
    elif len(origins) < 3:
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


# -- measure ------------------------------


def measure(
    style: Style,
    instruction: Annotated[str | None, "PTX mnemonic, short name, or pasted code"] = None,
    *,
    json: Json = False,
    a: Annotated[Literal["register", "shared"] | None, "where wgmma finds A (default: register)"] = None,
    zeros: Annotated[bool, "operands of zeros: less power, higher clocks"] = False,
    recorded: Annotated[
        str | None, "show what was recorded on a chip, e.g. H200; needs no GPU", "CHIP"
    ] = None,
    all: Annotated[bool, "every instruction of this machine's GPU"] = False,
    record: Annotated[
        str | None,
        "keep the figures of --all in FILE.json (default: in your data folder)",
        "[FILE]",
    ] = None,
) -> str | int:
    """One instruction, or with --all every instruction of the GPU.

    examples:
      ptxlab measure mma.m16n8k16.f32.f16                        on this machine's GPU
      ptxlab measure wgmma.m64n128k16.f32.f16 --a shared --recorded H200    without one
      ptxlab measure --all --record                              every instruction
    """
    if all:
        if instruction is not None:
            raise PtxlabError("--all measures every instruction; leave INSTRUCTION out")
        for option, chosen in (("--a", a), ("--zeros", zeros), ("--recorded", recorded), ("--json", json)):
            if chosen:
                raise PtxlabError(f"{option} goes with one INSTRUCTION; --all measures every one in each way")
        return _record(record)
    if record is not None:
        raise PtxlabError("--record goes with --all: it keeps the figures of every instruction")
    if zeros and recorded is not None:
        raise PtxlabError("--zeros is for this machine's GPU; what --recorded shows has random operands")
    if instruction is None:
        raise PtxlabError("which INSTRUCTION? Name one, or measure all of them with --all")
    form = measurable(instruction)
    if a is not None:
        if not isinstance(form, Instruction) or form.lanes != 128:
            raise PtxlabError(f"--a {a}: only wgmma, not {form.mnemonic}, can take A from shared memory")
        form = form.a_from(a)
    if recorded is not None:
        result = measured(form, recorded)
    else:
        result = _measured_here(form, "zeros" if zeros else "random")
    if json:
        return as_json(_measured_facts(result))
    first, *others = repr(result).splitlines()
    return "\n".join([style.bold(first), *others])


def _measured_here(form: Instruction | Transfer, contents: Literal["random", "zeros"]) -> Measurement:
    try:
        check_device(form)
    except PtxlabError as error:
        raise PtxlabError(f"{error}; --recorded H200 has what was measured on an H200") from None
    return measure_here(form, contents=contents)


def _record(path: str | None) -> str | int:
    try:
        file = record_all(path or None)
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
        "a": result.form.a_space if isinstance(result.form, Instruction) else None,
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
