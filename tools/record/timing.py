"""python -m tools.record timing: the figures of an H200 that tests/simulator/test_timing.py compares with.

Times are of launches in CUDA graphs, as `benchmarks.predict` takes them; Nsight Compute (`ncu`) counts
registers, instructions and cycles. Needs an H200, PyTorch and ncu.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import predict
from ptxlab import PtxlabError, gpu
from ptxlab._util.files import write_atomically
from ptxlab.gpu.compiler import compiler_version
from tests.simulator import timing_cases as cases

ROUNDS = 32, 96  # of the two launches whose cycles are compared
METRICS = "launch__registers_per_thread", "smsp__inst_executed.sum", "sm__cycles_elapsed.max"
RUNG = predict.Case("rung 2, f16", rung=(2, "", "f16", 1024))


def main(folder: Path = cases.RECORD.parent, launch: bool = False) -> None:
    if launch:  # the process that Nsight Compute looks at
        for _, _, operation in _counted():
            operation()
        return
    import torch

    print(gpu.status())
    counts = _counts()
    copies = {}
    for apart in cases.APART:
        few, many = (counts[f"copies, {apart}, {rounds}"]["sm__cycles_elapsed.max"] for rounds in ROUNDS)
        copies[str(apart)] = round(cases.cycles_of_a_copy(few, many, ROUNDS[1] - ROUNDS[0]), 2)
    instructions = {}
    for case in _predicted():
        warps = int(np.prod(case.grid)) * case.block // 32
        instructions[case.name] = round(counts[case.name]["smsp__inst_executed.sum"] / warps, 1)
    figures = {
        "card": torch.cuda.get_device_name(),
        "driver": _driver(),
        "CUDA": ".".join(map(str, compiler_version()[:2])),
        "command": "python -m tools.record timing",
        "registers of a thread": {RUNG.name: int(counts[RUNG.name]["launch__registers_per_thread"])},
        "instructions of a warp": instructions,
        "cycles of a copy": copies,
        "microseconds": {name: _microseconds(run) for name, run in _timed()},
    }
    write_atomically(folder / cases.RECORD.name, (json.dumps(figures, indent=1) + "\n").encode())


def _on_gpu(launch: cases.Launch) -> Callable[[], object]:
    """What launches it, with arrays that are on the GPU."""
    import torch

    arguments = [
        torch.from_numpy(argument.view(f"i{argument.itemsize}")).cuda()
        if isinstance(argument, np.ndarray)
        else argument
        for argument in launch.arguments
    ]
    return lambda: launch.kernel.launch(launch.grid, launch.block, *arguments, shared=launch.shared)


def _predicted() -> list[predict.Case]:
    return [case for case in predict.cases() if case.name in cases.COUNTED]


def _counted() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Names of the launches that are counted and of their kernels, and what launches them."""
    for case in _predicted():
        yield case.name, case.kernel, predict.on_gpu(case)
    yield RUNG.name, "gemm", predict.on_gpu(RUNG)
    for apart in cases.APART:
        for rounds in ROUNDS:
            yield f"copies, {apart}, {rounds}", "copies", _on_gpu(cases.copies(apart, rounds))


def _timed() -> Iterator[tuple[str, Callable[[], object]]]:
    for name in cases.TIMED:
        yield name, predict.on_gpu(predict.Case(name, test=name))
    for policy, megabytes, _ in cases.READ:
        yield f"reads, {policy}, {megabytes} MB", _on_gpu(cases.reads(policy, megabytes))
    for megabytes in cases.COPIED:
        yield f"copy, {megabytes} MB", _on_gpu(cases.copy(megabytes))


def _microseconds(operation: Callable[[], object]) -> float:
    """Of one more launch, where another kernel has filled L2 before the first."""
    import torch

    torch.zeros(1 << 28, dtype=torch.uint8, device="cuda")
    return round(predict.seconds_of(operation) * 1e6, 2)


def _counts() -> dict[str, dict[str, float]]:
    """What Nsight Compute counts, by name of the launch and of the metric."""
    if shutil.which("ncu") is None:
        raise PtxlabError("Nsight Compute is not there: put ncu on the PATH")
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none"]
    command += ["--metrics", ",".join(METRICS), sys.executable, "-m", "tools.record", "timing", "--launch"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    table = csv.DictReader(text[text.index('"ID"') :].splitlines())
    launched: dict[str, tuple[str, dict[str, float]]] = {}
    for row in table:
        _, values = launched.setdefault(row["ID"], (row["Kernel Name"].partition("(")[0], {}))
        values[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    rows = iter(launched.values())
    counts = {}
    for name, kernel, _ in _counted():  # kernels of PyTorch between them are passed over
        counts[name] = next(values for found, values in rows if found == kernel)
    return counts


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0]
