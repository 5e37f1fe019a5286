"""How fast one instruction is: its latency on one warp, and its throughput on the whole GPU.

*Latency* is the number of cycles from the issue of an instruction to the cycle in which one that depends on
it may issue: the length of a chain of instructions on one warp, divided by their number. In a chain, D of
each is C of the next (or A: `latency_a`). wgmma is asynchronous: its latency is that of fence, one wgmma,
commit and wait, after which its registers may be read.

*Throughput* is what all SMs do together in a second, with several warps on each SM and several independent
chains in each warp, timed by events on the GPU. The clock comes from the cycle counter of the same run.
"""

from __future__ import annotations

import contextlib
import datetime
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, as_seconds, is_a, is_name
from .._util.progress_bar import bar
from .._util.threads import thread_count
from ..errors import PtxlabError, quoted
from ..isa.catalog import register_forms
from ..isa.dtypes import dtype
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.parse import parse
from ..isa.transfer import Transfer
from .codegen.loops import LOOP_NAME, Contents, Loop, Through, loop
from .codegen.ptx import stores
from .compiler import check_compiler, compile, compiler_version
from .cuda_python import Device, check, load
from .device import Gpu, check_device, processors
from .launcher import errors_during, wait
from .records import GpuRecord, Measurement, Point, measurable, read_record, user_file, write_record
from .sass import Sass, counts_of_listing, disassemble, sass
from .sensors import SensorWatch, driver_version, limits

_SECONDS = 0.03
_WARM_UP = 0.2  # seconds: clocks rise within this time
_WARM_UP_INSTRUCTION = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"  # from Turing on
_LATENCY_INSTRUCTIONS = 4096
_FIRST_ITERATIONS = 64
_SUSTAINED = 0.5  # seconds; sensors of power are some 0.1 s late
_WIDE_N = 48  # from this N on, two warpgroups that wait for each wgmma keep the tensor cores busy
_MIN_CLOCK_RATIO = 0.85  # a clock below this fraction of the one just before means a disturbance
_ATTEMPTS = 3
_MAX_WARPS = 16  # on each SM
_MAX_CHAINS = 32
_MAX_SECONDS = 60
_CALL = "CALL.REL"
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_PLAIN_SHARED = 48 << 10  # bytes that a kernel may use without an attribute


# -- kernels -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TimedLoop:
    """A compiled loop whose machine code has exactly the matrix instructions that are counted."""

    form: Form
    chains: int
    through: Through
    loop: Loop
    cubin: bytes
    sass: str  # of the instruction alone


def plan(form: Form, chains: Sequence[int] | None = None) -> list[tuple[int, Through]]:
    """The kernels that a measurement needs: the number of chains, and the operand they go through."""
    if chains is None:
        chains = (1, 4)
        if isinstance(form, Instruction) and form.lanes == 128:
            chains = (1, 8) if form.n < _WIDE_N else (1,)
        elif isinstance(form, Transfer) and stores(form):
            chains = (8,)
    kernels: list[tuple[int, Through]] = [(count, "C") for count in chains]
    if isinstance(form, Instruction) and form.lanes == 32:
        kernels.append((1, "A"))
    return kernels


def build(
    form: Form, target: str, chains: int = 1, through: Through = "C", contents: Contents = "random"
) -> TimedLoop:
    """Generate and compile the loop of an instruction, and check its machine code. Needs no GPU.

    For an instruction that the chip lacks, the loop loads the operands each time, so that no part of its
    emulation is moved out of the loop.
    """
    check_compiler(form, target)
    transfer = isinstance(form, Transfer)
    if form.lanes == 128:
        return _build_wgmma(form, target, chains, contents)
    single = _single(form, target)
    emulated = not transfer and single.how == "emulated"
    kernel = loop(form, chains, contents=contents, through=through, reload=emulated)
    cubin = compile(kernel.source, target, cache=False)
    code = counts_of_listing(disassemble(cubin), target, LOOP_NAME, transfer=transfer)
    _check_code(form, single, code, kernel.statements)
    return TimedLoop(form, chains, through, kernel, cubin, str(single))


def _build_wgmma(form: Form, target: str, chains: int, contents: Contents) -> TimedLoop:
    """As `build`; every wgmma is one instruction of the chip, whose opcode is in the loop's machine code."""
    kernel = loop(form, chains, contents=contents)
    cubin = compile(kernel.source, target, cache=False)
    code = counts_of_listing(disassemble(cubin), target, LOOP_NAME)
    opcode = next(iter(code.tensor), "")
    single = Sass(target, {opcode: 1}, {}, 0, "")
    _check_code(form, single, code, kernel.statements)
    return TimedLoop(form, chains, "C", kernel, cubin, str(single))


@lru_cache(maxsize=256)
def _single(form: Form, target: str) -> Sass:
    """The machine code of the instruction alone."""
    return sass(form, target)


def _check_code(form: Form, single: Sass, code: Sass, statements: int) -> None:
    """Refuse a loop from which the compiler has moved or dropped something."""
    where = f"the loop of {form.mnemonic} for {code.target}"
    if "LDL" in code.listing or "STL" in code.listing:
        raise PtxlabError(f"{where}: the compiler keeps registers in memory; take fewer chains")
    expected, count = _matrix_instructions(single), _matrix_instructions(code)
    # The emulation may be a function: then the loop calls it as often, and it may itself call others.
    calls, nested = code.listing.count(_CALL), max(single.listing.count(_CALL) - 1, 0)
    in_function = calls > 0 and count == expected
    complete = calls - nested == statements if in_function else count == expected * statements
    if not complete:
        raise PtxlabError(
            f"{where}: its machine code has {count} matrix instructions, not {expected * statements}, as the "
            "loop counts"
        )
    arithmetic = sum(single.arithmetic.values()) * statements
    if single.how == "emulated" and not calls and sum(code.arithmetic.values()) < 0.9 * arithmetic:
        raise PtxlabError(f"{where}: the compiler has moved arithmetic out of the loop")


def _matrix_instructions(code: Sass) -> int:
    return sum(code.tensor.values()) + code.unprinted


# -- on the GPU --------------------------------------------------------------------------------------------


class _Timer:
    """Times kernels on the GPU: memory, events, the number of SMs; kept as long as the process."""

    def __init__(self) -> None:
        self.driver = load("cuda.bindings.driver")
        self.device: Device = load("cuda.core").Device(0)
        self._enter()
        self.stream = self.device.default_stream
        self.handle = self.driver.CUstream(int(self.stream.handle))
        self.multiprocessors = processors()
        self.size = 1 << 20
        (self.input,) = check(self.driver.cuMemAlloc(self.size), "allocating memory")
        (self.clocks,) = check(self.driver.cuMemAlloc(16), "allocating memory")
        self.events = [check(self.driver.cuEventCreate(0), "making an event")[0] for _ in range(2)]

    def _enter(self) -> None:
        """Make the GPU's context current: contexts belong to threads."""
        with errors_during("opening the GPU"):
            self.device.set_current()

    @contextlib.contextmanager
    def loaded(self, kernel: TimedLoop) -> Iterator[object]:
        """The kernel's function, with its operands copied to the GPU."""
        self._enter()
        driver, bytes_read = self.driver, kernel.loop.input
        if len(bytes_read) > self.size:
            raise PtxlabError(f"{kernel.form.mnemonic}: operands of {len(bytes_read)} bytes")
        (module,) = check(driver.cuModuleLoadData(kernel.cubin), "loading the kernel")
        try:
            (function,) = check(driver.cuModuleGetFunction(module, LOOP_NAME.encode()), "finding the kernel")
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            shared = kernel.loop.shared
            if shared > _PLAIN_SHARED:
                check(driver.cuFuncSetAttribute(function, attribute, shared), "asking for shared memory")
            host = np.frombuffer(bytes_read, dtype=np.uint8)
            copied = driver.cuMemcpyHtoD(self.input, host.ctypes.data, len(bytes_read))
            check(copied, "copying the operands")
            yield function
        finally:
            driver.cuModuleUnload(module)

    def run(
        self,
        kernel: TimedLoop,
        function: object,
        blocks: int,
        threads: int,
        iterations: int,
        watch: SensorWatch | None = None,
    ) -> tuple[float, int]:
        """Seconds, and cycles of block 0; `watch` reads the sensors meanwhile."""
        driver = self.driver
        memory = int(self.input)
        values: list[NDArray[Any]] = [
            np.array([memory, memory, int(self.clocks)], np.uint64),  # results are never written
            np.array([iterations], np.int32),
            np.array([0], np.uint32),
        ]
        first = values[0].ctypes.data
        places = [first, first + 8, first + 16, values[1].ctypes.data, values[2].ctypes.data]
        pointers = np.array(places, dtype=np.uint64)
        shape = (blocks, 1, 1, threads, 1, 1, kernel.loop.shared)
        check(driver.cuEventRecord(self.events[0], self.handle), "recording an event")
        launched = driver.cuLaunchKernel(function, *shape, self.handle, pointers.ctypes.data, 0)
        check(launched, "launching the kernel")
        check(driver.cuEventRecord(self.events[1], self.handle), "recording an event")
        if watch is not None:
            watch.follow(lambda: int(driver.cuEventQuery(self.events[1])[0]) != _NOT_READY)
        with errors_during(f"running the loop of {kernel.form.mnemonic}"):
            wait(self.stream)
        (milliseconds,) = check(driver.cuEventElapsedTime(*self.events), "reading an event")
        clocks = np.zeros(2, dtype=np.int64)
        check(driver.cuMemcpyDtoH(clocks.ctypes.data, self.clocks, 16), "reading the clock")
        return milliseconds / 1000, int(clocks[1] - clocks[0])

    def latency(self, kernel: TimedLoop, function: object) -> float:
        """Cycles from one instruction of a chain to the next, on one warp (warpgroup) of the GPU."""
        iterations = max(1, _LATENCY_INSTRUCTIONS // kernel.loop.statements)
        runs = [self.run(kernel, function, 1, kernel.form.lanes, iterations)[1] for _ in range(3)]
        return min(runs) / (iterations * kernel.loop.statements)

    def point(self, kernel: TimedLoop, function: object, warps: int, seconds: float) -> Point:
        """Throughput with `warps` warps on every SM, measured for about `seconds` seconds."""
        iterations = _FIRST_ITERATIONS
        elapsed, cycles = self.run(kernel, function, self.multiprocessors, 32 * warps, iterations)
        while elapsed < 0.7 * seconds:
            iterations = max(int(iterations * min(seconds / max(elapsed - 5e-6, 1e-6), 64)), iterations + 1)
            elapsed, cycles = self.run(kernel, function, self.multiprocessors, 32 * warps, iterations)
        return Point(
            warps,
            kernel.chains,
            self._per_iteration(kernel, warps) * iterations / elapsed,
            cycles / elapsed / 1e6,
        )

    def sustained(self, kernel: TimedLoop, function: object, best: Point, seconds: float) -> Point:
        """The best point measured again for `seconds` seconds, with the readings of the sensors."""
        per_iteration = self._per_iteration(kernel, best.warps)
        iterations = max(1, int(seconds * best.per_second / per_iteration))
        watch = SensorWatch()
        elapsed, cycles = self.run(kernel, function, self.multiprocessors, 32 * best.warps, iterations, watch)
        rate, clock = per_iteration * iterations / elapsed, cycles / elapsed / 1e6
        return Point(best.warps, kernel.chains, rate, clock, watch.power, watch.temperature)

    def _per_iteration(self, kernel: TimedLoop, warps: int) -> int:
        """Instructions of all SMs in an iteration of the loop."""
        units = 32 * warps // kernel.form.lanes
        return self.multiprocessors * units * kernel.loop.statements


@lru_cache(maxsize=1)
def timer() -> _Timer:
    """The timer of the GPU, created at first use."""
    return _Timer()


def warm_up(seconds: float = _WARM_UP) -> None:
    """Keep the GPU busy until its clocks have risen."""
    kernel = build(parse(_WARM_UP_INSTRUCTION), check_device().target, 4)
    end = time.monotonic() + seconds
    with timer().loaded(kernel) as function:
        while time.monotonic() < end:
            timer().point(kernel, function, 8, 0.01)


def measure_built(
    kernels: Sequence[TimedLoop],
    gpu: Gpu,
    *,
    warps: Sequence[int] = (4, 8, 16),
    seconds: float = _SECONDS,
    quick: float | None = None,
    sustained: float = 0,
    contents: Contents = "random",
) -> Measurement:
    """Run compiled loops of one instruction: every point for `quick` seconds, the best for `seconds`.

    With `sustained`, the best point runs again for that many seconds, and the sensors are read.
    """
    form, gpu_timer = kernels[0].form, timer()
    latency, points = _try_points(gpu_timer, kernels, warps, seconds if quick is None else quick)
    if not points:
        most = max(kernel.loop.threads for kernel in kernels) // 32
        raise PtxlabError(
            f"{form.mnemonic}: nothing to measure with warps={list(warps)}: its registers allow {most} on "
            "each SM, and so many chains as leave room for them"
        )
    # By cycles, not by time: the clock changes from point to point.
    points.sort(key=lambda point: point[0].clock / point[0].per_second)
    first, kernel = points[0]
    sustained_point = None
    with gpu_timer.loaded(kernel) as function:
        for _ in range(_ATTEMPTS):
            best = gpu_timer.point(kernel, function, first.warps, seconds)
            if best.clock > _MIN_CLOCK_RATIO * first.clock:
                break
        if sustained:
            sustained_point = gpu_timer.sustained(kernel, function, best, sustained)
    return Measurement(
        form=form,
        gpu=gpu.name,
        target=gpu.target,
        multiprocessors=gpu_timer.multiprocessors,
        latency=latency.get("C"),
        latency_a=latency.get("A"),
        points=(best, *(point for point, _ in points if point is not first)),
        sass=kernel.sass,
        contents=contents,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        sustained=sustained_point,
    )


def _try_points(
    gpu_timer: _Timer, kernels: Sequence[TimedLoop], warps: Sequence[int], seconds: float
) -> tuple[dict[Through, float], list[tuple[Point, TimedLoop]]]:
    """Latencies, from kernels with one chain; the throughput of every kernel with each number of warps."""
    latency: dict[Through, float] = {}
    points: list[tuple[Point, TimedLoop]] = []
    for kernel in kernels:
        form = kernel.form
        has_latency = kernel.chains == 1 and not (isinstance(form, Transfer) and stores(form))
        with gpu_timer.loaded(kernel) as function:
            if has_latency:
                latency[kernel.through] = gpu_timer.latency(kernel, function)
            if kernel.through == "A" or kernel.loop.one_row:
                continue
            for count in warps:
                if form.lanes <= count * 32 <= kernel.loop.threads:
                    points.append((gpu_timer.point(kernel, function, count, seconds), kernel))
    return latency, points


def sustain(kernel: TimedLoop, best: Point, seconds: float) -> Point:
    """The best point again, long enough for power to limit the clock, with the readings of the sensors."""
    with timer().loaded(kernel) as function:
        return timer().sustained(kernel, function, best, seconds)


def measure(
    ins: Form | str,
    *,
    warps: Sequence[int] = (4, 8, 16),
    chains: Sequence[int] | None = None,
    seconds: float = _SECONDS,
    contents: Contents = "random",
) -> Measurement:
    """Latency and throughput of an instruction on this machine's GPU.

    `warps` are the numbers of warps on each SM to try, `chains` the numbers of independent accumulators of
    each warp (for wgmma, of instructions between two waits). Operands are random; ``contents="zeros"`` shows
    how much faster the GPU runs on zeros, which take less power. The machine code is checked: it has exactly
    the instructions that are counted.

    >>> import ptxlab
    >>> ptxlab.measure("mma.m16n8k16.f32.f16")   # doctest: +SKIP
    """
    form = measurable(ins)
    warps = _counts(warps, "warps", _MAX_WARPS, form.lanes // 32)
    chains = (1, 2, 4, 8) if chains is None else _counts(chains, "chains", _MAX_CHAINS, 1)
    seconds = as_seconds(seconds, "seconds")
    if not 0 < seconds <= _MAX_SECONDS:
        raise PtxlabError(f"seconds={seconds:g}: a point is measured for up to {_MAX_SECONDS} seconds")
    if not is_name(contents, ("random", "zeros")):
        raise PtxlabError(f"contents={quoted(contents)}: operands are 'random' or 'zeros'")
    try:
        gpu = check_device(form)
    except PtxlabError as error:
        raise PtxlabError(f"{error}; ptxlab.measured has what was recorded on an H200") from None
    kernels = []
    planned = plan(form, chains)
    with bar(len(planned), "kernels") as tick:
        for count, through in planned:
            try:
                kernels.append(build(form, gpu.target, count, through, contents))
            except PtxlabError:  # too few registers for this many chains
                if (count, through) == planned[-1] and not kernels:
                    raise
            tick()
    warm_up()
    return measure_built(
        kernels,
        gpu,
        warps=warps,
        seconds=seconds,
        quick=seconds / 3,
        sustained=_SUSTAINED,
        contents=contents,
    )


def _counts(values: Sequence[int], what: str, most: int, unit: int) -> tuple[int, ...]:
    """Distinct multiples of `unit` up to `most`."""
    if not is_a(values, tuple, list, range) or not values:
        raise PtxlabError(
            f"{what}: found {quoted(values)}; it takes a list of numbers, e.g. [{unit}, {most}]"
        )
    counts = tuple(dict.fromkeys(as_int(value, what) for value in values[: most + 1]))
    for count in counts:
        if not unit <= count <= most or count % unit:
            multiples = f"multiples of {unit} " if unit > 1 else ""
            raise PtxlabError(f"{what}: found {quoted(count)}; there are {multiples}from {unit} to {most}")
    return counts


# -- A record of every instruction of this machine's GPU: all cores compile kernels, which run one by one --


_RECORDED_SECONDS = 0.01  # for the best point of an instruction
_QUICK = 0.001
_RECORDED_WATCH = 0.085  # seconds until the power sensor has taken two samples
_RECORDED_SUSTAINED = 0.3  # seconds until power limits the clock, for typical instructions
_TYPICAL_N = 256
_DEEPEST_BITS = 256  # of a row of A
_SAVE_EVERY = 5.0  # seconds
_AHEAD = 4  # instructions that each core compiles ahead


def measurable_forms(target: str) -> Iterator[Form]:
    """Every form of a target that can be measured; wgmma with A from registers and from shared memory.

    >>> len(list(measurable_forms("sm_80")))
    299
    """
    for form in register_forms(None, target):
        if isinstance(form, Instruction):
            yield form
            if form.lanes == 128:
                yield form.a_from("shared")
        elif not form.wmma:
            yield form


def is_typical(form: Form) -> bool:
    """Whether `record` measures it until power limits the clock: one N, shape and sign of each type."""
    if not isinstance(form, Instruction) or form.a_type != form.b_type or form.satfinite or form.rounding:
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
    """Measure every instruction of this machine's GPU and write a record of it; returns the file.

    Without a path the record goes into the user's data folder, where `ptxlab.measured` and
    `figures.throughput` find it. An existing file is continued if it is of the same GPU, driver and compiler.
    `limit` ends the measurement after that many seconds. Kernels are compiled in other processes, so a script
    that calls this needs ``if __name__ == "__main__":``.

    >>> record("my-gpu.json")   # doctest: +SKIP
    """
    end = None if limit is None else time.monotonic() + limit
    gpu = check_device()
    file = user_file(gpu.name) if path is None else Path(path)
    result = _read_or_new(file, _conditions(gpu, contents))
    chosen = list(measurable_forms(gpu.target) if forms is None else forms)
    warm_up()
    _measure_missing(result, chosen, gpu, file, end)
    _sustain_missing(result, chosen, gpu, file, end)  # last, since it heats the GPU
    return file


def _measure_missing(result: GpuRecord, forms: list[Form], gpu: Gpu, file: Path, end: float | None) -> None:
    """Measure latency and throughput of the forms that the record lacks."""
    jobs = {form: plan(form) for form in forms if result.get(form) is None}
    for _, kernels in _built(jobs, gpu, result, file, end):
        result.add(
            measure_built(kernels, gpu, seconds=_RECORDED_SECONDS, quick=_QUICK, contents=result.contents)
        )


def _sustain_missing(result: GpuRecord, forms: list[Form], gpu: Gpu, file: Path, end: float | None) -> None:
    """Run the best kernel of each form for longer, and add the readings of the sensors."""
    jobs: dict[Form, list[tuple[int, Through]]] = {}
    for form in forms:
        before = result.get(form)
        if before is not None and before.sustained is None:
            jobs[form] = [(before.best.chains, "C")]
    for before, (kernel,) in _built(jobs, gpu, result, file, end):
        assert before is not None
        seconds = _RECORDED_SUSTAINED if is_typical(before.form) else _RECORDED_WATCH
        result.add(replace(before, sustained=sustain(kernel, before.best, seconds)))


def _built(
    jobs: dict[Form, list[tuple[int, Through]]], gpu: Gpu, result: GpuRecord, file: Path, end: float | None
) -> Iterator[tuple[Measurement | None, list[TimedLoop]]]:
    """The kernels of each form, with its measurement so far; the record is saved regularly."""
    saved = time.monotonic()
    try:
        with bar(len(jobs), "instructions") as tick:
            for form, kernels in _compiled(jobs, gpu.target, result.contents):
                if end is not None and time.monotonic() > end:
                    break
                if kernels:
                    yield result.get(form), kernels
                tick(note=form.mnemonic)
                if time.monotonic() - saved > _SAVE_EVERY:
                    write_record(result, file)
                    saved = time.monotonic()
    finally:
        write_record(result, file)


def _conditions(gpu: Gpu, contents: Contents) -> GpuRecord:
    clock, power = limits()
    return GpuRecord(
        gpu.name,
        gpu.target,
        multiprocessors=timer().multiprocessors,
        driver=driver_version(),
        cuda=".".join(map(str, compiler_version())),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        clock_limit=clock,
        power_limit=power,
        contents=contents,
    )


def _read_or_new(file: Path, conditions: GpuRecord) -> GpuRecord:
    """The record in the file, which must be of the same conditions; a new one if there is no file."""
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
) -> Iterator[tuple[Form, list[TimedLoop]]]:
    """The kernels of each form, compiled ahead in other processes."""
    workers = thread_count()
    waiting: deque[tuple[Form, list[Future[TimedLoop | None]]]] = deque()
    rest = iter(jobs.items())
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_ignore_interrupts) as pool:
        try:
            while True:
                for form, planned in islice(rest, _AHEAD * workers - len(waiting)):
                    builds = [pool.submit(_try_to_build, form, target, *job, contents) for job in planned]
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
    """Leave Ctrl-C to the main process: the others would only print that they were interrupted, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _try_to_build(
    form: Form, target: str, chains: int, through: Through, contents: Contents
) -> TimedLoop | None:
    """The kernel, if need be with fewer chains; None if the compiler does not take the form."""
    while chains:
        try:
            return build(form, target, chains, through, contents)
        except PtxlabError:
            chains //= 2
    return None
