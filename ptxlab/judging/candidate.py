"""The process of a candidate: it runs every launch on the simulator and reports lines of JSON.

What it writes is bytes and text. References, bounds and verdicts are never here: nothing that a candidate
does to this process changes how it is judged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..simulator import HazardError
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.launch_arguments import Pointer
from ..simulator.result import LimitError
from .launches import Accesses, Report, facts_of, stopped
from .packed import pack, unpack
from .python_candidate import run_python

_PER_WARP, _AT_LEAST = 5_000, 200_000  # instructions that warps may execute, where the task does not say


def main(settings: dict[str, Any]) -> None:
    """Judge nothing: launch, and report."""
    folder = Path(settings["folder"])
    report = Report(folder / "report.jsonl")
    report.write("confined", settings["confined"])
    if settings["python"]:
        run_python(settings, folder, report)
        return
    kernels: dict[int, Kernel] = {}
    for number, job in enumerate(settings["launches"]):
        report.write("begun", number)
        try:
            which = job["kernel"]
            if which not in kernels:
                kernels[which] = _compiled(settings["kernels"][which])
            facts = launched(kernels[which], job, folder / f"in-{number}", folder / f"out-{number}")
        except _NotCompiled as error:
            report.write("refused", str(error))
            return
        except MemoryError:
            facts = {"error": "it needs more memory than it may use"}
        report.write("launch", facts | {"number": number})
    if settings["profile"] is not None and settings["launches"]:
        number = settings["profile"]
        job = settings["launches"][number]
        try:
            report.write("profile", predicted(kernels[job["kernel"]], job, folder / f"in-{number}"))
        except PtxlabError as error:
            report.write("unpredicted", str(error))
    report.write("ended", "")


def _compiled(source: dict[str, Any]) -> Kernel:
    try:
        return build_kernel(
            source["text"], source["name"], source["target"], tuple(source["options"]), file=source["file"]
        )
    except PtxlabError as error:
        raise _NotCompiled(str(error)) from None


class _NotCompiled(PtxlabError):
    pass


def launched(kernel: Kernel, job: dict[str, Any], inputs: Path, outputs: Path) -> dict[str, Any]:
    """One launch: what it leaves in its arrays goes to a file, what was found is returned."""
    arguments = unpack(job["arguments"], inputs)
    options = {name: job[name] for name in ("shared", "cluster", "model") if job.get(name)}
    grid, block = job["grid"], job["block"]
    warps = int(np.prod(grid)) * -(-int(np.prod(block)) // 32)
    limit = job["limit"] or _AT_LEAST + _PER_WARP * warps
    values: list[Any] = []
    for name, value in arguments.items():
        offset, phase = job.get("offsets", {}).get(name, (0, 0))
        values.append(Pointer(value, offset, phase) if offset or phase else value)
    accesses = Accesses()
    try:
        result = kernel.simulate(
            grid, block, *values, limit=limit, show=False, observers=[accesses], **options
        )
    except LimitError as error:
        return {"hang": str(error)}
    except HazardError as error:
        return stopped(error)
    except PtxlabError as error:
        return {"error": str(error)}
    rows = pack(arguments, outputs)
    return facts_of(kernel, result, job.get("model")) | accesses.facts() | {"arguments": rows}


def predicted(kernel: Kernel, job: dict[str, Any], inputs: Path) -> float:
    """The predicted time of a launch, in microseconds."""
    arguments = unpack(job["arguments"], inputs)
    options = {name: job[name] for name in ("shared", "cluster") if job[name]}
    profile = kernel.profile(job["grid"], job["block"], *arguments.values(), chip=job["chip"], **options)
    return float(profile.microseconds)
