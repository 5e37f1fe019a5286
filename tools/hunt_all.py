"""python -m tools.hunt_all [--family F] [--mmas N] [--seconds S]: hunt every form that the GPU has.

The hunts run in many processes, those with the most work first. One line is printed for each form as it
is done, and everything is written as JSON to ``--report``. A worker that fails is reported and replaced;
what was compared before the time limit counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ptxlab import PtxlabError, gpu
from ptxlab._util.files import write_atomically
from ptxlab.instruction import mma_instruction, mma_instructions

from .hunt import hunt

SMALL = 64 * 16  # elements of D of the forms that are hunted without --all
GRACE = 20.0  # seconds that a worker may go on after the time limit


def forms(family: str | None, target: str, every: bool) -> list[str]:
    """Mnemonics of the forms to hunt, those with the most products in front."""
    chosen = [
        ins for ins in mma_instructions(family, target) if every or ins.d.shape[0] * ins.d.shape[1] <= SMALL
    ]
    # f64 is emulated step by step
    cost = {ins: ins.d.shape[0] * ins.n * ins.k * (12 if ins.a_type == "f64" else 1) for ins in chosen}
    return [ins.mnemonic for ins in sorted(chosen, key=lambda ins: -cost[ins])]


def one(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The hunt of one form, as the report has it."""
    result = hunt(mma_instruction(name), show=False, **options)
    entry: dict[str, Any] = {
        "mmas": result.mmas,
        "categories": list(result.categories),
        "seed": result.seed,
        "seconds": round(result.seconds, 2),
        "differences": int(result.found),
    }
    if result.found:
        entry["difference"] = f"{result}\n\n{result.as_test()}"
    return entry


def work(pipe: Connection, do: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """A worker: takes names, gives results, until there are no more."""
    while (task := pipe.recv()) is not None:
        name, options = task
        try:
            pipe.send(do(name, options))
        except Exception as error:
            pipe.send({"error": f"{type(error).__name__}: {error}"})
            return  # after an error of CUDA its context is of no more use


@dataclass
class Worker:
    process: BaseProcess
    pipe: Connection
    name: str = ""


def start(do: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Worker:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, do), daemon=True)
    process.start()
    there.close()
    return Worker(process, here)


def hunt_all(
    names: Iterable[str],
    processes: int,
    seconds: float,
    options: dict[str, Any],
    do: Callable[[str, dict[str, Any]], dict[str, Any]] = one,
    say: Callable[[str], None] = print,
) -> dict[str, dict[str, Any]]:
    """Form -> what came of it. Forms that the time did not suffice for are left out."""
    todo, results = list(names)[::-1], {}
    count, end = len(todo), time.monotonic() + seconds
    workers = [start(do) for _ in range(min(processes, count))]
    try:
        while workers:
            for worker in [worker for worker in workers if not worker.name]:
                left = end - time.monotonic()
                if not todo or left <= 0:
                    _dismiss(worker)
                    workers.remove(worker)
                    continue
                worker.name = todo.pop()
                worker.pipe.send((worker.name, {**options, "seconds": left}))
            ready = (
                wait([worker.pipe for worker in workers], timeout=max(end + GRACE - time.monotonic(), 0))
                if workers
                else []
            )
            if workers and not ready:
                for worker in workers:
                    results[worker.name] = {"error": "stopped at the time limit"}
                break
            for worker in [worker for worker in workers if worker.pipe in ready]:
                try:
                    result = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    result = {"error": f"the worker ended with exit code {worker.process.exitcode}"}
                name, worker.name = worker.name, ""
                results[name] = result
                say(f"[{len(results)}/{count}] {_line(name, result)}")
                if "error" in result:
                    _dismiss(worker)
                    workers.remove(worker)
                    if todo and time.monotonic() < end:
                        workers.append(start(do))
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()
    return results


def _dismiss(worker: Worker) -> None:
    with contextlib.suppress(OSError):
        worker.pipe.send(None)
    worker.process.join(timeout=10)
    worker.process.terminate()
    worker.process.join()


def _line(name: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"{name}: FAILED, {result['error']}"
    count, categories = result["mmas"], len(result["categories"])
    extent = f"{count:,} MMAs, {categories} categories, seed {result['seed']}, {result['seconds']} s"
    if result["differences"]:
        return f"{name}: {extent}\n{result['difference']}"
    return f"{name}: no difference in {extent}"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.hunt_all", description=__doc__)
    parser.add_argument("--family")
    parser.add_argument("--mmas", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--all", action="store_true", help=f"also forms with more than {SMALL} elements of D")
    parser.add_argument("--report", type=Path, default=Path("hunt.json"))
    args = parser.parse_args(words)
    try:
        target = gpu.device_target()
    except PtxlabError as error:
        print(error, file=sys.stderr)
        return 1
    for name in ("PTXLAB_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the workers have the cores
    names = forms(args.family, target, args.all)
    print(
        f"{gpu.status()}: {len(names)} forms, {args.mmas:,} MMAs each, {args.processes} processes", flush=True
    )

    def say(line: str) -> None:
        print(line, flush=True)

    results = hunt_all(names, args.processes, args.seconds, {"mmas": args.mmas, "seed": args.seed}, say=say)
    write_atomically(args.report, json.dumps(results, indent=1) + "\n")
    whole = [r for r in results.values() if r.get("mmas", 0) >= args.mmas]
    wrong = [name for name, r in results.items() if "error" in r or r["differences"]]
    compared = sum(r.get("mmas", 0) for r in results.values())
    extent = f"{len(whole)} of {len(names)} forms compared in full, {compared:,} MMAs in all"
    print(f"{extent}; {len(wrong)} with a difference or a failure")
    return int(bool(wrong) or len(whole) < len(names))


if __name__ == "__main__":
    sys.exit(main())
