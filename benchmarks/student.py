"""What one student takes of a machine: memory and processor time of a server, and of a kernel by lesson.

python -m benchmarks.student runs every cell of each lesson in a fresh kernel, as a student would who reads
nothing; its Explorers stay open. Memory is all that a process has in memory, also what it could share.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from ptxlab._util.files import write_atomically
from ptxlab.lessons import LESSONS
from tools.jupyter import Lab

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
RESULTS = Path(__file__).parent / "results.json"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SIMULATION = """
import numpy as np
source = 'extern "C" __global__ void twice(float* x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }'
kernel = ptxlab.kernel(source)
kernel.simulate(16, 256, np.ones(4096, np.float32), show=False)
"""
IDLE = 20  # seconds for which an idle kernel with an open Explorer is watched
TICKS = os.sysconf("SC_CLK_TCK")


def megabytes(process: int, field: str) -> float:
    """VmRSS, what a process has in memory now, or VmHWM, the most it ever had."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024 / 1e6


def processor_seconds(process: int) -> float:
    """Of the process and of those that it started and waited for, such as the assembler."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS


def figures(process: int, start: float) -> dict[str, float]:
    seconds = {"processor": processor_seconds(process), "wall": time.perf_counter() - start}
    memory = {"memory": megabytes(process, "VmRSS"), "peak": megabytes(process, "VmHWM")}
    return {name: round(value, 1) for name, value in (seconds | memory).items()}


def measure_server() -> dict[str, float]:
    """JupyterLab as it is after the first page."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        lab = Lab(Path(folder))
        try:
            lab.wait()
            return figures(lab.process, start)
        finally:
            lab.stop()


def measure_kernel(folder: str, cells: list[str], idle: float = 0) -> dict[str, float]:
    """A kernel in that folder that executes these cells and, if wanted, is then left alone for a while."""
    start = time.perf_counter()
    sockets = f"{folder}/kernel"  # files: no port that others could open
    manager = KernelManager(kernel_name="python3", transport="ipc", ip=sockets)
    manager.start_kernel(cwd=folder)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        process = manager.provisioner.pid
        for cell in cells:
            reply: dict[str, Any] = client.execute_interactive(
                cell, timeout=300, output_hook=lambda message: None
            )
            if reply["content"]["status"] != "ok":
                raise RuntimeError(f"{cell}\n{reply['content'].get('evalue')}")
        result = figures(process, start)
        if idle:
            before = processor_seconds(process)
            time.sleep(idle)
            result["idle processor"] = round((processor_seconds(process) - before) / idle, 4)
        return result
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def code_cells(lesson: str) -> list[str]:
    book = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.student", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--lessons", nargs="+", default=[lesson.file for lesson in LESSONS])
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the figures in benchmarks/results.json, for docs/teaching.md",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PTXLAB_PROGRESS"] = f"{folder}/progress.json"
        rows = measure(args.lessons, folder)
    if args.record:
        recorded = json.loads(RESULTS.read_text(encoding="utf-8"))
        earlier = recorded.get("student", {}).get("rows", {})  # of lessons that were not measured now
        recorded["student"] = {"cores": os.cpu_count(), "rows": earlier | rows}
        write_atomically(RESULTS, json.dumps(recorded, indent=1) + "\n")
    return 0


def measure(lessons: list[str], folder: str) -> dict[str, dict[str, float]]:
    """Print a row for the server, for an Explorer and for every lesson, and give them all."""
    product = "import numpy as np, ptxlab\nones = np.ones((512, 512))\n"
    product += f"ptxlab.matmul(ones, ones, instruction={F16!r}, show=False)"
    explorer = "import ptxlab\nex = ptxlab.explore('mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32')\nex"
    measurements = {
        "server": measure_server,
        "empty kernel": lambda: measure_kernel(folder, []),
        "import ptxlab": lambda: measure_kernel(folder, ["import ptxlab"]),
        "one Explorer": lambda: measure_kernel(folder, [explorer], IDLE),
        "one Explorer and a simulation": lambda: measure_kernel(folder, [explorer, SIMULATION]),
        "matmul of 512x512x512": lambda: measure_kernel(folder, [product]),
    }
    for lesson in lessons:
        measurements[lesson] = lambda lesson=lesson: measure_kernel(folder, code_cells(lesson))
    print(f"{'':<28} {'memory MB':>10} {'peak MB':>10} {'processor s':>12} {'wall s':>8}")
    rows: dict[str, dict[str, float]] = {}
    for name, measurement in measurements.items():
        row = rows[name] = measurement()
        memory = f"{row['memory']:>10.0f} {row['peak']:>10.0f}"
        print(f"{name:<28} {memory} {row['processor']:>12.1f} {row['wall']:>8.1f}", flush=True)
    idle = 100 * rows["one Explorer"]["idle processor"]
    print(f"an idle kernel with an Explorer takes {idle:.2f} % of a core")
    return rows


if __name__ == "__main__":
    sys.exit(main())
