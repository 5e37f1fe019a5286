"""Predicted times beside those of an H200: `python -m benchmarks.predict`.

On a machine with the GPU `--measure` launches every kernel and keeps the times, `--missing` only those that
have none; anywhere it predicts them and compares. `--stalls` compares what warps wait for with what Nsight
Compute said, `--keep` keeps the predictions, `--table` prints all of them, and `--page` writes the worst
into the guide; the site has a page with all. Half of the kernels, chosen by a checksum of their names,
calibrated the model; the table reports both halves, and
apart from them launches of kernels that Triton made, to none of which a figure was fitted: twenty, and 196
that torch.compile made (PyTorch 2.11, Triton 3.6). Of these, causes of errors were looked for in six of ten.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import math
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import ptxlab
from ptxlab import gemm
from ptxlab._util.files import write_atomically

RECORDED = Path(__file__).with_name("times_h200.json")
STALLS = Path(__file__).with_name("stalls_h200.json")  # per cent, from Nsight Compute
PREDICTED = Path(__file__).with_name("predictions_h200.json")
TRITON = Path(__file__).with_name("triton_kernels.json.xz")
INDUCTOR = Path(__file__).with_name("inductor_kernels.json.xz")
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "prediction.md"
WORST = 20  # launches that the guide lists
TIMES = 8  # launches of the shorter graph
ROUNDS = 5
PAUSE = 0.02  # seconds

PROBES = Path(__file__).with_name("predict.cu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """A launch: the kernel's name in PROBES and its arguments, or a rung and the size of a product."""

    name: str
    grid: int | tuple[int, ...] = 0
    block: int = 0
    #: (type, count) is an array of zeros; a third member is what is in it: the values, compressed, or the
    #: least and the largest of random ones.
    arguments: tuple[Any, ...] = ()
    shared: int = 0
    rung: tuple[int, str, str, int] | None = None  # number (0 for sparse), instruction, type of D, size
    kernel: str = ""
    ptx: str = ""
    test: str = ""  # the name of a kernel of tests/kernels
    inductor: str = ""  # for kernels of torch.compile: whether somebody looked at it

    @property
    def group(self) -> str:
        """Whether the model was fitted to it: "calibrated", "others", or Triton's."""
        if self.inductor:
            return self.inductor
        if self.ptx:
            return "Triton"
        return "others" if zlib.crc32(self.name.encode()) % 2 else "calibrated"

    def launch(self) -> tuple[Any, Any, Any, list[Any], int]:
        """The kernel, its grid and block, what it is given, and bytes of dynamic shared memory."""
        if self.test:
            from tests.simulator.kernel_cases import CASES

            case = CASES[self.test]
            return case.compiled(), case.grid, case.block, case.inputs(), case.shared
        kernel = ptxlab.kernel(self.ptx or PROBES, self.kernel)
        return kernel, self.grid, self.block, self.arrays(), self.shared

    def arrays(self) -> list[Any]:
        return [_array(*argument) if isinstance(argument, tuple) else argument for argument in self.arguments]


def _array(kind: Any, count: int, content: Any = None) -> Any:
    array = np.zeros(count, dtype=kind)
    if isinstance(content, str):
        values = np.frombuffer(lzma.decompress(base64.b64decode(content)), dtype=kind)
        array[: len(values)] = values
    elif content is not None:
        low, high = content
        array[:] = np.random.default_rng(0).integers(low, high + 1, count).astype(kind)
    return array


F, U = np.float32, np.uint32
I = np.int32  # noqa: E741
FP8_MMA = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
S8_MMA = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
FP8_WGMMA = "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3"
S8_WGMMA = "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n256"


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
            yield Case(f"rung {row.number}, {size}", rung=(row.number, "", "f16", size))
            fp8, s8 = (FP8_MMA, S8_MMA) if row.number <= 5 else (FP8_WGMMA, S8_WGMMA)
            yield Case(f"rung {row.number}, e4m3, {size}", rung=(row.number, fp8, "bf16", size))
            yield Case(f"rung {row.number}, s8, {size}", rung=(row.number, s8, "s32", size))
        if size > 1024:
            yield Case(f"sparse f16, {size}", rung=(0, f"{SPARSE}k32.f32.f16.f16", "f16", size))
            yield Case(f"sparse e4m3, {size}", rung=(0, f"{SPARSE}k64.f32.e4m3.e4m3", "bf16", size))
    for name in ("bit_fields", "collatz", "relaxation", "spin_lock"):  # the others take less than 5 us
        yield Case(f"{name} of tests/kernels", test=name)
    yield from _of_triton()
    yield from _of_inductor()


def _of_triton() -> Iterator[Case]:
    """Kernels that Triton made: their PTX was kept."""
    for row in json.loads(lzma.decompress(TRITON.read_bytes())):
        types = {"f2": np.float16, "f4": np.float32}
        arguments = [
            (types[value[0]], value[1])
            if isinstance(value, list)
            else (F if isinstance(value, float) else I)(value)
            for value in row["args"]
        ]
        yield Case(
            row["name"],
            tuple(row["grid"]),
            row["block"],
            (*arguments, None, None),
            row["shared"],
            kernel=row["kernel"],
            ptx=row["ptx"],
        )


def _of_inductor() -> Iterator[Case]:
    """Kernels that torch.compile made: what Triton handed to the driver, and the integers that it read."""
    for row in json.loads(lzma.decompress(INDUCTOR.read_bytes())):
        arguments = [
            tuple(value) if isinstance(value, list) else value if value is None else I(value)
            for value in row["args"]
        ]
        yield Case(
            row["name"],
            tuple(row["grid"]),
            row["block"],
            tuple(arguments),
            row["shared"],
            kernel=row["kernel"],
            ptx=row["ptx"],
            inductor="Inductor, looked at" if row["looked_at"] else "Inductor, not looked at",
        )


# -- on the GPU ----------------------------------------------------------------------------------------------


def seconds_of(operation: Callable[[], object]) -> float:
    """The time of one more launch in a CUDA graph: from a short graph and a long one, the best of several.

    A graph itself takes 2 to 20 microseconds, which are nobody's.
    """
    short = _graph_seconds(operation, TIMES)
    more = int(min(200, max(24, 1.5e-3 * TIMES / short)))
    return (_graph_seconds(operation, more) - short) / (more - TIMES)


def _graph_seconds(operation: Callable[[], object], times: int) -> float:
    import torch

    for _ in range(2):
        operation()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
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
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def on_gpu(case: Case) -> Callable[[], object]:
    """What launches it on the GPU."""
    import torch

    if case.rung is not None:
        from .gemm import operands

        rung, size = _rung(case), case.rung[3]
        kind = next((name for name in ("e4m3", "s8") if name in case.rung[1]), "f16")
        a, b = operands(kind, size)
        if not case.rung[0]:
            a = ptxlab.compress(ptxlab.prune(a, case.rung[1]), case.rung[1])
        return lambda: rung(a, b)
    if case.ptx:
        raise ptxlab.PtxlabError("a driver assembled it for the time that is recorded")
    kernel, grid, block, values, shared = case.launch()
    arguments = [
        torch.from_numpy(value.view(f"i{value.itemsize}")).cuda() if isinstance(value, np.ndarray) else value
        for value in values
    ]
    return lambda: kernel.launch(grid, block, *arguments, shared=shared)


def _rung(case: Case) -> Any:
    assert case.rung is not None
    number, form, result, size = case.rung
    if number:
        return gemm.rung(number, *([form] if form else []), result=result)
    return gemm.best_sparse_rung(form, "sm_90a", size, size, result=result)


def measure(path: Path, only: str = "", missing: bool = False) -> None:
    """Launch everything and keep the times, in microseconds."""
    times: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    for case in cases():
        if only in case.name and not (missing and case.name in times):
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
        rung, form, size = _rung(case), case.rung[1], case.rung[3]
        zeros = np.zeros((size, size), dtype=np.int8 if "s8" in form else np.float16)
        call = rung.call(zeros, zeros)
        return rung.kernel.profile(call.grid, call.block, *call.arguments, shared=call.shared)
    kernel, grid, block, values, shared = case.launch()
    return kernel.profile(grid, block, *values, shared=shared)


def summary(case: Case) -> dict[str, Any]:
    """What a prediction says, as plain data."""
    begun = time.perf_counter()
    try:
        profile = predicted(case)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    total = sum(profile.reasons.values())
    return {
        "microseconds": round(profile.microseconds, 3),
        "kind": profile.kind,
        "units": {name: round(100 * part) for name, part in profile.units.items() if part >= 0.05},
        "stalls": {name: round(100 * part / total) for name, part in profile.reasons.most_common(6)},
        "seconds": round(time.perf_counter() - begun, 1),
    }


def predictions(times: dict[str, float], only: str, jobs: int) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Every case that was measured, with what is predicted, by so many processes."""
    chosen = [case for case in cases() if only in case.name and case.name in times]
    if jobs == 1:
        yield from ((case, summary(case)) for case in chosen)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from zip(chosen, pool.map(summary, chosen), strict=True)


def compare(
    path: Path, only: str = "", jobs: int = 1, keep: Path | None = None, stalls: bool = False
) -> None:
    """Predict everything and print it beside what was measured."""
    times = json.loads(path.read_text())
    kept: dict[str, dict[str, Any]] = {}
    said = json.loads(STALLS.read_text()) if stalls else {}
    for case, found in predictions(times, only, jobs):
        if "error" in found:
            print(f"{case.name:40} {found['error']}", flush=True)
            continue
        kept[case.name] = found
        real, ours = times[case.name], found["microseconds"]
        busiest = sorted(found["units"].items(), key=lambda item: -item[1])[:2]
        why = ", ".join(f"{name} {part} %" for name, part in busiest)
        print(
            f"{case.group[0]} {case.name:50} {real:9.2f} {ours:9.2f} us {ours / real - 1:+7.0%}  "
            f"{found['seconds']:5.1f} s  {why}",
            flush=True,
        )
        if case.name in said:
            print(f"    stalls: {_words(found['stalls'])}; Nsight Compute: {_words(said[case.name])}")
    print("\n".join(summaries(times, kept)))
    if said:
        print(agreement(kept, said))
    if keep is not None:
        rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in kept.items())
        write_atomically(keep, f"{{\n{rows}\n}}\n".encode())


def _words(stalls: dict[str, float]) -> str:
    return ", ".join(f"{name} {part:.0f} %" for name, part in list(stalls.items())[:4])


def summaries(times: dict[str, float], kept: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Median errors of each group, and how many pairs are in the right order."""
    groups: dict[str, list[float]] = {}
    for case in cases():
        if case.name in kept:
            error = abs(kept[case.name]["microseconds"] / times[case.name] - 1)
            groups.setdefault(case.group, []).append(error)
    for title, errors in groups.items():
        good = sum(error <= 0.3 for error in errors) / len(errors)
        yield f"{title}: {len(errors)} launches, median error {median(errors):.0%}, within 30 %: {good:.0%}"
    pairs = [(times[name], found["microseconds"]) for name, found in kept.items()]
    different = [
        (one, two) for one, two in combinations(pairs, 2) if max(one[0], two[0]) > 1.15 * min(one[0], two[0])
    ]
    right = sum((one[0] < two[0]) == (one[1] < two[1]) for one, two in different)
    if different:
        yield f"pairs that differ by more than 15 %: {right / len(different):.0%} in the right order"


#: Nsight Compute's name for what has a name of its own here.
NAMES = {"mbarrier": "long scoreboard", "wgmma": "barrier"}


def agreement(kept: dict[str, dict[str, Any]], said: dict[str, dict[str, float]]) -> str:
    """How often the largest stall reason is the one that Nsight Compute found."""
    both = [name for name in kept if name in said]
    largest = [_largest(kept[name]["stalls"]) == _largest(said[name]) for name in both]
    return f"the largest stall reason is Nsight Compute's in {sum(largest)} of {len(both)} launches"


def _largest(stalls: dict[str, float]) -> str:
    sums: Counter[str] = Counter()
    for name, part in stalls.items():
        sums[NAMES.get(name, name)] += part
    return sums.most_common(1)[0][0]


def write_page() -> None:
    """Write the worst of the predictions that were kept into the guide."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    text = f"{head}{_BEGIN}\n{table(WORST)}{_END}{rest.partition(_END)[2]}"
    write_atomically(PAGE, text.encode())


_BEGIN, _END = "<!-- table: python -m benchmarks.predict --page -->\n", "<!-- end of the table -->"


def table(count: int | None = None) -> str:
    """Measured and predicted times as a table of Markdown, the worst first: all, or so many of them."""
    times, kept = json.loads(RECORDED.read_text()), json.loads(PREDICTED.read_text())
    rows = sorted(kept, key=lambda name: -abs(math.log(kept[name]["microseconds"] / times[name])))
    lines = [f"- {line}" for line in summaries(times, kept)]
    lines += [f"- {agreement(kept, json.loads(STALLS.read_text()))}", ""]
    lines += ["| launch | measured, µs | predicted | error | busiest unit |", "|---|---:|---:|---:|---|"]
    for name in rows[:count]:
        real, ours = times[name], kept[name]["microseconds"]
        units = kept[name]["units"]
        unit = max(units, key=lambda candidate: units[candidate], default="–")
        lines.append(f"| {name} | {real:.4g} | {ours:.4g} | {ours / real - 1:+.0%} | {unit} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predict", description=__doc__)
    parser.add_argument("--measure", action="store_true", help="launch the kernels on this machine's GPU")
    parser.add_argument("--missing", action="store_true", help="launch those that have no time yet")
    parser.add_argument("--times", type=Path, default=RECORDED, help="file of the times")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--jobs", type=int, default=1, help="processes that predict")
    parser.add_argument("--stalls", action="store_true", help="compare stall reasons with Nsight Compute's")
    parser.add_argument("--keep", type=Path, nargs="?", const=PREDICTED, help="keep the predictions")
    parser.add_argument("--table", action="store_true", help="print all predictions that were kept")
    parser.add_argument("--page", action="store_true", help="write the worst of them into the guide")
    args = parser.parse_args()
    if args.measure or args.missing:
        measure(args.times, args.only, args.missing)
    elif args.table:
        print(table(), end="")
    elif args.page:
        write_page()
    else:
        compare(args.times, args.only, args.jobs, args.keep, args.stalls)


if __name__ == "__main__":
    main()
