"""GEMM on the GPU of this machine, beside cuBLAS: every rung, every sibling of the top rung, one process.

Random data, best of 20 runs in which both sides take turns.
`python -m benchmarks.gemm --record` keeps the figures in results.json.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any

import ptxlab
from ptxlab import gemm
from ptxlab.course.reader_kernels import source_text

from .__main__ import RESULTS, keep

TIMES = 20
ROUNDS = 5  # in which the two sides take turns
PAUSE = 0.05  # seconds
HEAD_START = 2_000_000  # cycles
WGMMA = "wgmma.mma_async.sync.aligned.m64n256"
SIZES = (1024, 2048, 4096, 8192)  # of the ladder's products


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
        {"block_n": 192, "promote": 1},
    ),
    Case("s8", f"{WGMMA}k32.s32.s8.s8", "s32", {8192: 1.0, 4096: 0, 2048: 0}, {}),
)

MMA_SP = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
SPARSE_WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n256"
SPARSE = (
    ("f16", f"{SPARSE_WGMMA}k32.f32.f16.f16", "f16", (8192, 4096, 2048)),
    ("f16, B by rows", f"{SPARSE_WGMMA}k32.f32.f16.f16", "f16", (8192, 4096, 2048)),
    ("f16, called", f"{SPARSE_WGMMA}k32.f32.f16.f16", "f16", (8192, 2048)),  # without a CUDA graph
    ("f16, mma.sp", MMA_SP, "f16", (8192,)),  # the kernel for Ampere-class chips
    ("bf16", f"{SPARSE_WGMMA}k32.f32.bf16.bf16", "bf16", (8192,)),
    ("tf32", f"{SPARSE_WGMMA}k16.f32.tf32.tf32", "f32", (8192,)),
    ("e4m3", f"{SPARSE_WGMMA}k64.f32.e4m3.e4m3", "bf16", (8192, 4096)),
    ("s8", f"{SPARSE_WGMMA}k64.s32.s8.s8", "s32", (8192, 4096)),
)
_DENSE_IN_TORCH = ("e4m3", "tf32")
GOALS = {("f16", 8192): (1.5, 0), ("f16, B by rows", 8192): (1.5, 0), ("e4m3", 8192): (0, 2000)}


@dataclass
class Row:
    """One measured product."""

    name: str
    size: int
    ours: float  # 10^12 operations a second
    library: float
    goal: float  # as a fraction of the library
    least: float = 0  # or in 10^12 operations a second

    def __str__(self) -> str:
        speeds = f"{self.ours:7.1f} T/s, library {self.library:7.1f}"
        line = f"  {self.name:22} {self.size:5}  {speeds}: {self.ratio:5.0%}"
        if self.least:
            return f"{line}   goal {self.least:.0f} T/s {'met' if self.ours >= self.least else 'missed'}"
        if not self.goal:
            return line
        return f"{line}   goal {self.goal:.0%} {'met' if self.ratio >= self.goal else 'missed'}"

    @property
    def ratio(self) -> float:
        return self.ours / self.library


def best_seconds(*operations: Callable[[], object], times: int = TIMES, captured: bool = True) -> list[float]:
    """The shortest of several runs of each on the GPU, after two to warm up.

    They take turns, with a pause after each, since a card that was busy for long is at its limit of power.
    `captured`: each is a CUDA graph, so that nobody's Python is timed.
    """
    import torch

    runs: list[Callable[[], object]] = []
    for operation in operations:
        for _ in range(2):
            operation()
        torch.cuda.synchronize()
        run = operation
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                operation()
            run = graph.replay
        runs.append(run)
    best = [math.inf] * len(runs)
    for _ in range(ROUNDS):
        for index, run in enumerate(runs):
            time.sleep(PAUSE)
            run()
            pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(times // ROUNDS)]
            if captured:  # the GPU waits until all runs are queued, so that none of them waits for Python
                torch.cuda._sleep(HEAD_START)
            for start, end in pairs:
                start.record()
                run()
                end.record()
            torch.cuda.synchronize()
            best[index] = min(best[index], *(start.elapsed_time(end) / 1e3 for start, end in pairs))
    return best


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
            rung = gemm.rung(12, case.form, result=case.result, **case.constants)
            work = 2 * size**3 / 1e12
            ours, theirs = best_seconds(partial(rung, a, b), library(kind, a, b))
            yield Row(case.kind, size, work / ours, work / theirs, goal)


def sparse() -> Iterator[Row]:
    """A of 2:4 structure, compressed before; a sparse product counts as many operations as a dense one.

    The library is cuSPARSELt; torch has no sparse product of FP8 and tf32, so there it is the dense one.
    """
    import torch

    for name, form, result, sizes in SPARSE:
        kind = name.split(",")[0]
        for size in sizes:
            a, b = operands(kind, size)
            by_rows = name.endswith("by rows")
            if by_rows:
                b = b.contiguous()
            pruned = ptxlab.prune(a, form)
            rung = gemm.best_sparse_rung(form, "sm_90a", size, size, result=result, b_by_rows=by_rows)
            if name.endswith("mma.sp"):
                rung = gemm.sparse_rung(form, result=result)
            theirs = library(kind, a, b)
            if kind not in _DENSE_IN_TORCH:
                theirs = partial(torch.mm, torch.sparse.to_sparse_semi_structured(pruned), b)
            ours = partial(rung, ptxlab.compress(pruned, form), b)
            goal, least = GOALS.get((name, size), (0, 0))
            work = 2 * size**3 / 1e12
            seconds, library_seconds = best_seconds(ours, theirs, captured=not name.endswith("called"))
            yield Row(f"sparse {name}", size, work / seconds, work / library_seconds, goal, least)


def rungs() -> Iterator[Row]:
    """Every rung with f16, those of wgmma with FP8 and s8, too; rung 9 also with fewer stages."""
    for kind in ("f16", "e4m3", "s8"):
        case = next(candidate for candidate in CASES if candidate.kind == kind)
        for size in SIZES:
            ladder = {}
            for row in gemm.ladder():
                name = f"{row.number} {row.title}" + (f", {kind}" if kind != "f16" else "")
                if row.family == "wgmma":
                    ladder[name] = gemm.rung(row.number, case.form, result=case.result)
                elif kind == "f16":
                    ladder[name] = gemm.rung(row.number, result=case.result)
                if row.number == 9 and size == 8192 and kind == "f16":
                    for stages in (2, 3):
                        ladder[f"{name}, {stages} stages"] = gemm.rung(9, result=case.result, stages=stages)
            a, b = operands(kind, size)
            runs = [partial(rung, a, b) for rung in ladder.values()]
            *ours, theirs = best_seconds(*runs, library(kind, a, b))
            work = 2 * size**3 / 1e12
            for name, seconds in zip(ladder, ours, strict=True):
                yield Row(name, size, work / seconds, work / theirs, 0)


def plain() -> Iterator[Row]:
    """The kernel of lesson 00, without tensor cores, beside cuBLAS without them: float32, no tf32."""
    import torch

    size = SIZES[-1]
    a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
    d = torch.empty_like(a)
    product = ptxlab.kernel(source_text("plain_product.cu"))
    torch.backends.cuda.matmul.allow_tf32 = False
    ours, theirs = best_seconds(
        lambda: product.launch((size // 32, size // 8), (32, 8), a, b, d, size, size),
        lambda: torch.mm(a, b),
        captured=False,
    )
    if not torch.allclose(d, torch.mm(a, b), atol=0.05):
        raise RuntimeError("the plain product is wrong")
    work = 2 * size**3 / 1e12
    yield Row("0 plain CUDA, f32", size, work / ours, work / theirs, 0)


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


def measure(
    tell: Callable[[str], None] = print,
    sources: tuple[Callable[[], Iterator[Row]], ...] = (siblings, sparse, plain, rungs),
) -> dict[str, Any]:
    import torch

    rows = []
    for source in sources:
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
    parser.add_argument("--ladder", action="store_true", help="only rungs 0 to 12; other figures stay")
    args = parser.parse_args()
    found = measure(sources=(plain, rungs)) if args.ladder else measure()
    print(found["machine"])
    if args.ladder:
        others = json.loads(RESULTS.read_text(encoding="utf-8"))["gemm"]
        kept = [row for row in others["rows"] if not row["name"].startswith(tuple("0123456789"))]
        found = others | {"rows": kept + found["rows"]}
    if args.record:
        keep({"gemm": found})


if __name__ == "__main__":
    main()
