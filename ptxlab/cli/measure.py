"""`ptxlab measure`: latency and throughput of an instruction, measured here or recorded elsewhere."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any, Literal

from .._util import interrupts
from ..errors import PtxlabError
from ..gpu.device import check_device
from ..gpu.measure import measure as measure_here
from ..gpu.measurement import Measurement, measurable
from ..gpu.recording import record
from ..gpu.records import measured, read_record
from ..isa.mma import MmaForm
from ..isa.transfer import TransferForm
from . import streams
from .output import Style, as_json


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
        return as_json(_facts(result))
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
        streams.error(
            "ptxlab: interrupted; what was measured is kept, and the same command goes on from there"
        )
        return interrupts.STATUS
    return f"{file}: {len(read_record(file))} instructions; `ptxlab.measured` and the figures find them"


def _facts(result: Measurement) -> dict[str, Any]:
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
