"""Predicted times beside those of an H200: `python -m benchmarks.predict`.

On a machine with the GPU it launches every kernel and keeps the times (`--measure FILE`); anywhere it
predicts them and compares (`--compare FILE`). Without either it does both. Half of the kernels, chosen by a
checksum of their names, calibrated the model; the table reports both halves.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import ptxlab
from ptxlab import gemm
from ptxlab._util.files import write_atomically

RECORDED = Path(__file__).with_name("times_h200.json")
TIMES = 8  # launches of a graph
ROUNDS = 5
PAUSE = 0.02  # seconds

PROBES = Path(__file__).with_name("predict.cu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """A launch: the kernel's name in PROBES and its arguments, or a rung and the size of a product."""

    name: str
    grid: int = 0
    block: int = 0
    arguments: tuple[Any, ...] = ()  # (type, count) is an array of zeros, or of numbers from 0
    shared: int = 0
    rung: tuple[int, str, str, int] | None = None  # number, instruction, type of D, size
    kernel: str = ""

    @property
    def calibrates(self) -> bool:
        """Whether the model was fitted to it."""
        return zlib.crc32(self.name.encode()) % 2 == 0

    def arrays(self) -> list[Any]:
        return [
            np.zeros(each[1], dtype=each[0]) if isinstance(each, tuple) else each for each in self.arguments
        ]


F, U = np.float32, np.uint32
I = np.int32  # noqa: E741
WGMMA = "wgmma.mma_async.sync.aligned.m64n256"


def cases() -> Iterator[Case]:
    """Everything that is compared."""
    for mb in (2, 16, 64, 512):
        n = mb << 18
        yield Case(
            f"copy of {mb} MB, 16 bytes a thread",
            n // 4 // 256,
            256,
            ((F, n), (F, n), I(n // 4)),
            kernel="copy",
        )
        yield Case(f"saxpy of {mb} MB", 132 * 8, 256, ((F, n), (F, n), F(2), I(n)), kernel="saxpy")
        yield Case(f"reduction of {mb} MB", 132 * 4, 512, ((F, 1), (F, n), I(n // 4)), kernel="reduce")
    n = 64 << 18
    yield Case("copy of 64 MB, 4 bytes a thread", n // 256, 256, ((F, n), (F, n), I(n)), kernel="copy4")
    yield Case(
        "copy of 64 MB, blocks of 1024", n // 4 // 1024, 1024, ((F, n), (F, n), I(n // 4)), kernel="copy"
    )
    for step in (2, 8, 32):
        yield Case(
            f"every {step}th word",
            n // step // 256,
            256,
            ((F, n // step), (F, n), I(n), I(step)),
            kernel="strided",
        )
    for size in (1024, 4096):
        for kind in ("transpose_conflicts", "transpose_padded", "transpose_naive"):
            blocks = (size // 32) ** 2 if kind != "transpose_naive" else size * size // 256
            yield Case(
                f"{kind} {size}", blocks, 256, ((F, size * size), (F, size * size), I(size)), kernel=kind
            )
        yield Case(
            f"stencil {size}",
            size * size // 256,
            256,
            ((F, size * size), (F, size * size), I(size)),
            kernel="stencil",
        )
    for blocks, block in ((132, 128), (132, 1024), (528, 256)):
        outs = blocks * block
        yield Case(f"ex2, {blocks} x {block}", blocks, block, ((F, outs), I(1000)), kernel="exponentials")
        yield Case(f"fma, {blocks} x {block}", blocks, block, ((F, outs), I(1000)), kernel="multiply_adds")
        yield Case(f"integers, {blocks} x {block}", blocks, block, ((U, outs), I(1000)), kernel="integers")
        yield Case(f"divisions, {blocks} x {block}", blocks, block, ((F, outs), I(300)), kernel="divisions")
        yield Case(f"mma, {blocks} x {block}", blocks, block, ((U, outs), I(500)), kernel="products")
        yield Case(f"ldmatrix, {blocks} x {block}", blocks, block, ((U, outs), I(1000)), kernel="fragments")
    for mask in (0, 31, 4095, (1 << 20) - 1):
        yield Case(f"atomics on {mask + 1} words", 264, 256, ((U, 1 << 20), I(16), I(mask)), kernel="atomics")
    yield Case(
        "histogram of 16 MB", 132 * 8, 256, ((U, 256), (U, 4 << 20), I(4 << 20)), kernel="shared_atomics"
    )
    for blocks in (132, 528, 2112):
        yield Case(
            f"cp.async, {blocks} blocks",
            blocks,
            256,
            ((U, blocks * 256), (U, blocks * 32 * 1024), I(0), I(32)),
            16384,
            kernel="async_copies",
        )
        yield Case(
            f"bulk copies, {blocks} blocks",
            blocks,
            128,
            ((U, blocks * 128), (U, blocks * 32 * 2048), I(32)),
            32768,
            kernel="bulk_copies",
        )
    for rows, columns in ((4096, 1024), (4096, 8192), (256, 4096)):
        yield Case(
            f"softmax {rows} x {columns}",
            rows,
            256,
            ((F, rows * columns), (F, rows * columns), I(columns)),
            kernel="softmax",
        )
    for size in (512, 1024, 2048):
        yield Case(
            f"sgemm {size}", (size // 64) ** 2, 256, ((F, size * size),) * 3 + (I(size),), kernel="sgemm"
        )
    for size in (1024, 2048, 4096, 8192):
        for row in gemm.ladder():
            if row.number <= 2 and size > 4096:
                continue
            yield Case(f"rung {row.number}, {size}", rung=(row.number, "", "f16", size))
        if size > 1024:
            yield Case(f"rung 12, e4m3, {size}", rung=(12, f"{WGMMA}k32.f32.e4m3.e4m3", "bf16", size))
            yield Case(f"rung 12, s8, {size}", rung=(12, f"{WGMMA}k32.s32.s8.s8", "s32", size))


# -- on the GPU ----------------------------------------------------------------------------------------------


def seconds_of(operation: Callable[[], object]) -> float:
    """The shortest time of a launch, several of which are in a CUDA graph."""
    import torch

    for _ in range(2):
        operation()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(TIMES):
            operation()
    best = math.inf
    for _ in range(ROUNDS):
        time.sleep(PAUSE)
        graph.replay()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3 / TIMES)
    return best


def on_gpu(case: Case) -> Callable[[], object]:
    """What launches it on the GPU."""
    import torch

    if case.rung is not None:
        from .gemm import operands

        number, form, result, size = case.rung
        rung = gemm.rung(number, *([form] if form else []), result=result)
        kind = "e4m3" if "e4m3" in form else "s8" if "s8" in form else "f16"
        a, b = operands(kind, size)
        return lambda: rung(a, b)
    kernel = ptxlab.kernel(PROBES, case.kernel)
    arguments = [
        torch.from_numpy(each.view(np.int32) if each.dtype == U else each).cuda()
        if isinstance(each, np.ndarray)
        else each
        for each in case.arrays()
    ]
    return lambda: kernel.launch(case.grid, case.block, *arguments, shared=case.shared)


def measure(path: Path, only: str = "") -> None:
    """Launch everything and keep the times, in microseconds."""
    times: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    for case in cases():
        if only in case.name:
            try:
                times[case.name] = round(seconds_of(on_gpu(case)) * 1e6, 3)
            except Exception as error:  # the table says so
                print(case.name, type(error).__name__, str(error)[:200], file=sys.stderr)
            print(f"{case.name:40} {times.get(case.name, 0):10.2f} us", flush=True)
    write_atomically(path, (json.dumps(times, indent=1) + "\n").encode())


# -- without a GPU -------------------------------------------------------------------------------------------


def predicted(case: Case) -> Any:
    """The profile of a case."""
    if case.rung is not None:
        number, form, result, size = case.rung
        rung = gemm.rung(number, *([form] if form else []), result=result)
        zeros = np.zeros((size, size), dtype=np.int8 if "s8" in form else np.float16)
        call = rung.call(zeros, zeros)
        return rung.kernel.profile(call.grid, call.block, *call.arguments, shared=call.shared)
    kernel = ptxlab.kernel(PROBES, case.kernel)
    return kernel.profile(case.grid, case.block, *case.arrays(), shared=case.shared)


def compare(path: Path, only: str = "", verbose: bool = False) -> None:
    """Predict everything and print it beside what was measured."""
    times = json.loads(path.read_text())
    errors: dict[bool, list[float]] = {True: [], False: []}
    pairs: list[tuple[float, float]] = []
    for case in cases():
        if only not in case.name or case.name not in times:
            continue
        begun = time.perf_counter()
        try:
            profile = predicted(case)
        except Exception as error:
            print(f"{case.name:40} {type(error).__name__}: {error}", flush=True)
            continue
        took = time.perf_counter() - begun
        real = times[case.name]
        ratio = profile.microseconds / real
        errors[case.calibrates].append(abs(ratio - 1))
        pairs.append((real, profile.microseconds))
        busiest = sorted(profile.units.items(), key=lambda item: -item[1])[:2]
        why = ", ".join(f"{name} {part:.0%}" for name, part in busiest)
        stall = profile.reasons.most_common(1)[0][0]
        mark = "c" if case.calibrates else " "
        print(
            f"{mark} {case.name:38} {real:9.2f} {profile.microseconds:9.2f} us {ratio - 1:+7.0%}  "
            f"{took:5.1f} s  {why}; {stall}",
            flush=True,
        )
    for calibrates, title in ((True, "calibrated"), (False, "others")):
        if errors[calibrates]:
            each = errors[calibrates]
            good = sum(error <= 0.3 for error in each) / len(each)
            print(f"{title}: {len(each)} kernels, median error {median(each):.0%}, within 30 %: {good:.0%}")
    different = [
        (one, two) for one, two in combinations(pairs, 2) if max(one[0], two[0]) > 1.15 * min(one[0], two[0])
    ]
    right = sum((one[0] < two[0]) == (one[1] < two[1]) for one, two in different)
    if different:
        print(f"pairs that differ by more than 15 %: {right / len(different):.0%} in the right order")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predict", description=__doc__)
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    args = parser.parse_args()
    if args.measure or not args.compare:
        measure(args.measure or RECORDED, args.only)
    if args.compare or not args.measure:
        compare(args.compare or RECORDED, args.only)


if __name__ == "__main__":
    main()
