"""A record of every instruction of this machine's GPU: all cores compile kernels, which run one by one.

What is measured goes into the file every few seconds; a recording that was interrupted goes on where it was.
"""

from __future__ import annotations

import datetime
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import islice
from pathlib import Path

from .._util.progress import bar
from .._util.threads import thread_count
from ..errors import PtxlabError
from ..isa.catalog import register_forms
from ..isa.dtypes import dtype
from ..isa.form import Form
from ..isa.mma import MmaForm
from .codegen.loops import Contents, Through
from .compiler import compiler_version
from .device import Gpu, check_device
from .measure import Kernel, build, measure_built, plan, sustain, timer, warm_up
from .measurement import Measurement
from .records import Record, read_record, user_file, write_record
from .sensors import driver_version, limits

_SECONDS = 0.01  # that the best point of an instruction is measured
_QUICK = 0.001
_WATCHED = 0.085  # seconds after which the sensors of power have seen two samples of it
_SUSTAINED = 0.3  # of typical instructions: until power bounds the clock
_TYPICAL_N = 256
_DEEPEST_BITS = 256  # of a row of A
_SAVE_EVERY = 5.0  # seconds
_AHEAD = 4  # instructions that are compiled ahead, for each core


def measurable_forms(target: str) -> Iterator[Form]:
    """Every form of a target that can be measured; wgmma with A from registers and from shared memory.

    >>> len(list(measurable_forms("sm_80")))
    299
    """
    for form in register_forms(None, target):
        if isinstance(form, MmaForm):
            yield form
            if form.lanes == 128:
                yield form.a_from("shared")
        elif not form.wmma:
            yield form


def is_typical(form: Form) -> bool:
    """Whether it runs until power bounds its clock, which takes time: one N, shape and sign of each type."""
    if not isinstance(form, MmaForm) or form.a_type != form.b_type or form.satfinite or form.rounding:
        return False
    if form.lanes == 128:
        return form.n == _TYPICAL_N
    deepest = _DEEPEST_BITS * (2 if form.sparse else 1) // dtype(form.a_type).bits
    return form.family in ("mma", "mma.sp") and not form.ordered and form.m == 16 and form.k == deepest


def record(
    path: str | Path | None = None,
    *,
    forms: Iterable[Form] | None = None,
    contents: Contents = "random",
    limit: float | None = None,
) -> Path:
    """Measure every instruction of this machine's GPU and write a record of it; gives the file.

    Without a path it goes into the user's data folder, where `ptxlab.measured` and `figures.throughput` find
    it. A file that is there already is continued if it is of the same GPU, driver and compiler. `limit`
    ends it after so many seconds. Kernels are compiled in other processes, so a script that calls this wants
    ``if __name__ == "__main__":``.

    >>> record("my-gpu.json")   # doctest: +SKIP
    """
    end = None if limit is None else time.monotonic() + limit
    gpu = check_device()
    file = user_file(gpu.name) if path is None else Path(path)
    begun = _begun(file, _conditions(gpu, contents))
    chosen = list(measurable_forms(gpu.target) if forms is None else forms)
    warm_up()
    _measure_missing(begun, chosen, gpu, file, end)
    _sustain_missing(begun, chosen, gpu, file, end)  # what heats the GPU comes last
    return file


def _measure_missing(begun: Record, forms: list[Form], gpu: Gpu, file: Path, end: float | None) -> None:
    """Measure latency and throughput of what the record lacks."""
    jobs = {form: plan(form) for form in forms if begun.get(form) is None}
    for _, kernels in _built(jobs, gpu, begun, file, end):
        begun.add(measure_built(kernels, gpu, seconds=_SECONDS, quick=_QUICK, contents=begun.contents))


def _sustain_missing(begun: Record, forms: list[Form], gpu: Gpu, file: Path, end: float | None) -> None:
    """Run the best kernel of each form for longer, and add what the sensors say."""
    jobs: dict[Form, list[tuple[int, Through]]] = {}
    for form in forms:
        before = begun.get(form)
        if before is not None and before.sustained is None:
            jobs[form] = [(before.best.chains, "C")]
    for before, (kernel,) in _built(jobs, gpu, begun, file, end):
        assert before is not None
        seconds = _SUSTAINED if is_typical(before.form) else _WATCHED
        begun.add(replace(before, sustained=sustain(kernel, before.best, seconds)))


def _built(
    jobs: dict[Form, list[tuple[int, Through]]], gpu: Gpu, begun: Record, file: Path, end: float | None
) -> Iterator[tuple[Measurement | None, list[Kernel]]]:
    """The kernels of each form, with what is known of it; the record is written meanwhile and in the end."""
    saved = time.monotonic()
    try:
        with bar(len(jobs), "instructions") as tick:
            for form, kernels in _compiled(jobs, gpu.target, begun.contents):
                if end is not None and time.monotonic() > end:
                    break
                if kernels:
                    yield begun.get(form), kernels
                tick(note=form.mnemonic)
                if time.monotonic() - saved > _SAVE_EVERY:
                    write_record(begun, file)
                    saved = time.monotonic()
    finally:
        write_record(begun, file)


def _conditions(gpu: Gpu, contents: Contents) -> Record:
    clock, power = limits()
    return Record(
        gpu.name,
        gpu.target,
        timer().multiprocessors,
        driver_version(),
        ".".join(map(str, compiler_version())),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        clock,
        power,
        contents,
    )


def _begun(file: Path, conditions: Record) -> Record:
    """What is in the file, if it was measured under the same conditions; else a new record."""
    if not file.exists():
        return conditions
    old = read_record(file)
    for name in ("gpu", "driver", "cuda", "contents"):
        if getattr(old, name) != getattr(conditions, name):
            raise PtxlabError(
                f"{file}: it is a record with {name} {getattr(old, name)}, and here it is "
                f"{getattr(conditions, name)}; name another file"
            )
    return old


def _compiled(
    jobs: dict[Form, list[tuple[int, Through]]], target: str, contents: Contents
) -> Iterator[tuple[Form, list[Kernel]]]:
    """The kernels of each form in turn, compiled ahead in other processes."""
    workers = thread_count()
    waiting: deque[tuple[Form, list[Future[Kernel | None]]]] = deque()
    rest = iter(jobs.items())
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_ignore_interrupts) as pool:
        try:
            while True:
                for form, planned in islice(rest, _AHEAD * workers - len(waiting)):
                    builds = [pool.submit(_try_to_build, form, target, *each, contents) for each in planned]
                    waiting.append((form, builds))
                if not waiting:
                    return
                form, builds = waiting.popleft()
                yield form, [kernel for build in builds if (kernel := build.result()) is not None]
        except BrokenProcessPool:
            raise PtxlabError(
                "the processes that compile kernels do not start; a script calls this under "
                '`if __name__ == "__main__":`, or use `ptxlab measure --all --record`'
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ignore_interrupts() -> None:
    """An interrupt is for the first process: the others would only print that they were interrupted, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _try_to_build(
    form: Form, target: str, chains: int, through: Through, contents: Contents
) -> Kernel | None:
    """The kernel; None where the compiler is too old for the form, or registers do not suffice for chains."""
    while chains:
        try:
            return build(form, target, chains, through, contents)
        except PtxlabError:
            chains //= 2
    return None
