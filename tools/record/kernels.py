"""python -m tools.record kernels: run tests/kernels on an H200 and record what they write.

Digests go to kernels.json, the arrays to kernels.npz beside it. What the simulator gives is compared at once,
so that a difference names the array and the element.
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import PtxlabError, gpu
from ptxlab._util.files import write_atomically
from tests.simulator.kernel_cases import CASES, GOLDEN, Case, arrays_of, digest


def difference(recorded: list[Any], simulated: list[Any]) -> str:
    """The first element in which the simulator differs from the GPU; "" if there is none."""
    for number, (left, right) in enumerate(zip(arrays_of(recorded), arrays_of(simulated), strict=True)):
        bits = f"u{left.dtype.itemsize}"
        one, other = (np.ascontiguousarray(array).reshape(-1).view(bits) for array in (left, right))
        wrong = np.flatnonzero(one != other)
        if len(wrong):
            at = int(wrong[0])
            return (
                f"array {number}[{at}] GPU {one[at]:#x} simulator {other[at]:#x}, {len(wrong)} of {one.size}"
            )
    return ""


def record(case: Case) -> tuple[dict[str, str], list[Any], str]:
    """Digests, arrays and what differs, for one kernel."""
    kernel = case.compiled()
    arguments, again = case.inputs(), case.inputs()
    before = digest(arguments)
    kernel.launch(case.grid, case.block, *arguments, shared=case.shared)
    try:
        kernel.simulate(case.grid, case.block, *again, shared=case.shared, show=False)
        differs = difference(arguments, again)
    except PtxlabError as error:
        differs = f"simulator: {error}"
    return {"inputs": before, "outputs": digest(arguments)}, arguments, differs


def main(folder: Path = GOLDEN.parent) -> None:
    print(gpu.status())
    digests, arrays = {}, {}
    started = time.monotonic()
    for name, case in CASES.items():
        try:
            digests[name], arguments, differs = record(case)
        except Exception as error:  # one kernel that fails does not lose the others
            print(f"{name}: {type(error).__name__}: {str(error)[:150]}")
            continue
        for number, array in enumerate(arrays_of(arguments)):
            arrays[f"{name}_{number}"] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if differs:
            print(f"{name}: {differs[:150]}")
    print(f"{len(digests)} of {len(CASES)} kernels in {time.monotonic() - started:.0f} s")
    write_atomically(folder / "kernels.json", (json.dumps(digests, indent=1) + "\n").encode())
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_atomically(folder / "kernels.npz", content.getvalue())
