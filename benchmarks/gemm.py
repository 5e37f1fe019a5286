"""GEMM on the GPU of this machine, beside cuBLAS: every rung, every sibling of the top rung, one process.

Random data, best of 20, both sides captured as a CUDA graph, so that no side is timed with its Python.
`python -m benchmarks.gemm --record` keeps the figures in results.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from ptxlab._util.files import write_atomically
from ptxlab.kernels import gemm

from .__main__ import RESULTS

TIMES = 20
WGMMA = "wgmma.mma_async.sync.aligned.m64n256"


@dataclass(frozen=True)
class Case:
    """A kind of product, as a user asks for it: the instruction, the type of D, the library's call."""

    kind: str
    form: str
    result: str
    goals: dict[int, float]  # size -> fraction of the library's throughput
    constants: dict[str, int]


CASES = (
    Case("f16", f"{WGMMA}k16.f32.f16.f16", "f16", {8192: 0.95, 4096: 0, 2048: 0.85}, {}),
    Case("bf16", f"{WGMMA}k16.f32.bf16.bf16", "bf16", {8192: 0}, {}),
    Case("tf32", f"{WGMMA}k8.f32.tf32.tf32", "f32", {8192: 0}, {}),
    Case("e4m3", f"{WGMMA}k32.f32.e4m3.e4m3", "bf16", {8192: 0.90, 4096: 0, 2048: 0}, {}),
    Case(
        "e4m3, promoted",
        f"{WGMMA}k32.f32.e4m3.e4m3",
        "bf16",
        {8192: 0},
        {"block_n": 128, "stages": 6, "promote": 1},
    ),
    Case("s8", f"{WGMMA}k32.s32.s8.s8", "s32", {8192: 1.0, 4096: 0, 2048: 0}, {}),
)


@dataclass
class Row:
    """One measured product."""

    name: str
    size: int
    ours: float  # 10^12 operations a second
    library: float
    goal: float

    def __str__(self) -> str:
        speeds = f"{self.ours:7.1f} T/s, library {self.library:7.1f}"
        line = f"  {self.name:16} {self.size:5}  {speeds}: {self.ratio:5.0%}"
        if not self.goal:
            return line
        return f"{line}   goal {self.goal:.0%} {'met' if self.ratio >= self.goal else 'missed'}"

    @property
    def ratio(self) -> float:
        return self.ours / self.library


def best_seconds(operation: Callable[[], object], times: int = TIMES) -> float:
    """The shortest of several runs on the GPU, after two to warm up."""
    import torch

    for _ in range(2):
        operation()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        operation()
    graph.replay()
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(times)]
    for start, end in pairs:
        start.record()
        graph.replay()
        end.record()
    torch.cuda.synchronize()
    return min(start.elapsed_time(end) for start, end in pairs) / 1e3


def operands(kind: str, size: int) -> tuple[Any, Any]:
    """A and B on the GPU, random; B's columns are contiguous, as libraries like it best."""
    import torch

    if kind == "s8":
        a, b = (torch.randint(-128, 128, (size, size), device="cuda", dtype=torch.int8) for _ in range(2))
        return a, b.t()
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "e4m3": torch.float8_e4m3fn}
    a, b = (torch.randn(size, size, device="cuda").to(types[kind]) for _ in range(2))
    return a, b.t()


def library(kind: str, a: Any, b: Any) -> Callable[[], object]:
    """The same product through torch: cuBLAS, cuBLASLt."""
    import torch

    if kind == "s8":
        return lambda: torch._int_mm(a, b)
    if kind == "e4m3":
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(
            a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
        )
    torch.backends.cuda.matmul.allow_tf32 = True
    return lambda: torch.mm(a, b)


def siblings() -> Iterator[Row]:
    """The top rung with every element type."""
    for case in CASES:
        kind = case.kind.split(",")[0]
        for size, goal in case.goals.items():
            a, b = operands(kind, size)
            rung = gemm.rung(8, case.form, result=case.result, **case.constants)
            work = 2 * size**3 / 1e12
            theirs = library(kind, a, b)
            first = best_seconds(theirs)
            ours = best_seconds(lambda: rung(a, b))  # noqa: B023 - called before the loop goes on
            yield Row(case.kind, size, work / ours, work / min(first, best_seconds(theirs)), goal)


def rungs(size: int = 4096) -> Iterator[Row]:
    """Every rung with f16."""
    a, b = operands("f16", size)
    work = 2 * size**3 / 1e12
    theirs = work / best_seconds(library("f16", a, b))
    for row in gemm.ladder():
        rung = gemm.rung(row.number, result="f16")
        seconds = best_seconds(lambda: rung(a, b))  # noqa: B023
        yield Row(f"{row.number} {row.title}"[:16], size, work / seconds, theirs, 0)


def machine() -> dict[str, str]:
    """Name, driver and clocks of the GPU."""
    fields = (
        "name",
        "driver_version",
        "clocks.sm",
        "clocks.max.sm",
        "power.draw",
        "power.limit",
        "temperature.gpu",
    )
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "--id=0"]
    try:
        line = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(zip(fields, (part.strip() for part in line.split(",")), strict=True))


def measure(tell: Callable[[str], None] = print) -> dict[str, Any]:
    import torch

    rows = []
    for source in (siblings, rungs):
        for row in source():
            rows.append(row)
            tell(str(row))
    return {
        "date": date.today().isoformat(),
        "machine": machine(),
        "torch": torch.__version__,
        "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gemm", description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {RESULTS.name}")
    args = parser.parse_args()
    found = measure()
    print(found["machine"])
    if args.record:
        recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        recorded["gemm"] = found
        write_atomically(RESULTS, json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
