"""A launch, block by block in batches, without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._util.progress import bar
from .._util.threads import check_executor, in_order
from ..errors import PtxlabError
from ..gpu.kernel_launch import MapPointer
from ..memory import TensorMap
from .arguments import Array, KernelArgument
from .decode import Image
from .events import Observer
from .hazard import Hazard
from .machine import Launch, Machine
from .memory import HEAP_BYTES, HEAP_START, WORKSPACE_BYTES, WORKSPACE_START, Buffer, Memory
from .ptx.reader import read_ptx
from .ptx.syntax import Module, Sink
from .result import Counts, Limit, Products, Profile, Result, limit_error, merged
from .shared_updates import Update, Updates, check_plain
from .threads import Batch, Grid
from .tma import encoded
from .trace import Trace
from .traffic import Touched, Traffic

if TYPE_CHECKING:
    from concurrent.futures import Executor

_MOST_LANES = 1 << 15  # of a batch: registers of that many threads stay in the cache's reach
#: Of one whose blocks may wait for each other, e.g. with grid.sync(): more than an H200 has at a time.
_MOST_WAITING_LANES = 1 << 19
_REGISTER_BYTES = 1 << 29  # of all registers of a batch
_KEPT_BYTES = 1 << 27  # of what matrix instructions read


def simulate(
    image: Image,
    grid: Grid,
    arguments: Sequence[KernelArgument],
    *,
    model: str | None = None,
    observers: Sequence[Observer] = (),
    show: bool | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run a kernel; arrays are written in place.

    `watch` is for blocks of an executor, where no observer hears them.
    """
    if executor is not None:
        check_executor(executor)
        if observers:
            raise PtxlabError("observers hear blocks that run in this process; leave out the executor")
        tasks = _tasks(image, grid, arguments, model, executor, watch or Watch())
        return _distributed(tasks, grid, arguments, show, executor)
    counts, traffic, products = Counts(), Traffic(), Products(_KEPT_BYTES)
    texts: list[str] = []

    def output(text: str) -> None:
        texts.append(text)
        sys.stdout.write(text)

    launch = _launch(image, grid, arguments, model, (traffic, *observers), (counts, products), output)
    traffic.watch(launch.memory.buffers, launch.tensor_maps)
    with bar(grid.block_count, "blocks", show=show) as tick:
        _run(launch, grid, 0, grid.block_count, tick)
    return Result.of(counts.profile(traffic), traffic.footprint, products, grid, "".join(texts))


class _Tick(Protocol):
    """Of a progress bar."""

    def __call__(self, count: int = 1, /, note: str | None = None) -> None: ...


def _launch(
    image: Image,
    grid: Grid,
    arguments: Sequence[KernelArgument],
    model: str | None,
    observers: Sequence[Observer],
    counters: Sequence[Observer],
    output: Callable[[str], None],
) -> Launch:
    """Memory with the arguments in it, and everything else that the blocks share.

    Counters hear of instructions and products only, which is quick.
    """
    maps: list[TensorMap] = []
    buffers = [*image.variables(), *_memory_of(image, arguments, maps)]
    buffers.append(Buffer("the heap of malloc", HEAP_START, np.zeros(HEAP_BYTES, dtype=np.uint8)))
    workspace = np.zeros(WORKSPACE_BYTES, dtype=np.uint8)
    buffers.append(Buffer("the workspace of grid.sync()", WORKSPACE_START, workspace))
    memory = Memory(buffers, image.static_shared + grid.shared, observers, grid.cluster_size)
    return Launch(
        image.program(image.entry.name),
        image.program,
        image.functions,
        image.symbols,
        memory,
        (*counters, *observers),
        maps,
        output,
        model,
        waits=grid.block_count * grid.lanes > _MOST_LANES and _may_wait(image.module),
    )


def _run(launch: Launch, grid: Grid, first: int, last: int, tick: _Tick) -> None:
    """Run blocks first to last - 1, as many at once as fit."""
    step = _batch_blocks(grid, len(launch.entry.types), launch.memory.shared_size, launch.waits)
    done = 0

    def executed(count: int) -> None:
        nonlocal done
        done += count
        tick(0, note=f"{done:,} instructions")

    for start in range(first, last, step):
        batch = Batch(grid, grid.block_numbers(start, min(start + step, last)))
        with np.errstate(all="ignore"):
            Machine(launch, batch, executed).run()
        tick(batch.count)


# -- other processes -----------------------------------------------------------------------------------------


class Found(Protocol):
    """What checks have found."""

    @property
    def hazards(self) -> list[Hazard]: ...


class Checks(Protocol):
    """Checks that go to another process with the blocks."""

    def start(self, module: Module) -> tuple[Found, Sequence[Observer]]:
        """Observers for blocks of a kernel of this module, and where they put what they find."""


@dataclass(frozen=True)
class Watch:
    """What looks at blocks in another process; what it finds comes back with the result."""

    checks: Checks | None = None
    limit: int | None = None  # of instructions that warps may execute
    traced: tuple[int, int] | None = None  # a block, and its warp


@dataclass(frozen=True)
class _Task:
    """Blocks for another process or machine, with everything that they need."""

    ptx: str
    name: str
    grid: Grid
    arguments: tuple[KernelArgument, ...]
    first: int
    last: int
    model: str | None
    watch: Watch
    kept: int  # bytes of what matrix instructions read


@dataclass(frozen=True)
class _Outcome:
    """What blocks in another process wrote and counted.

    `written` has for each array where it changed and what is there now; for one in `updated`, by its number,
    what its elements change by.
    """

    written: tuple[tuple[NDArray[np.int64], NDArray[np.uint8]], ...]
    updated: dict[int, Update]
    plain: set[int]
    profile: tuple[Profile, ...]
    touched: Touched
    output: str
    hazards: list[Hazard]
    products: Products
    trace: Trace | None


@dataclass
class _Gathered:
    """What came of the tasks so far."""

    profiles: list[Profile] = field(default_factory=list)
    touched: Touched = field(default_factory=Touched)
    products: Products = field(default_factory=lambda: Products(0))
    hazards: list[Hazard] = field(default_factory=list)
    updated: dict[int, Update] = field(default_factory=dict)
    plain: set[int] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    trace: Trace | None = None

    def add(self, outcome: _Outcome, arrays: Sequence[NDArray[np.uint8]]) -> None:
        """Put what blocks wrote into the arrays, and keep the rest."""
        self.updated |= outcome.updated
        self.plain |= outcome.plain
        check_plain(self.updated, self.plain)
        for number, (array, (places, content)) in enumerate(zip(arrays, outcome.written, strict=True)):
            if number in outcome.updated:
                outcome.updated[number].apply(array, places, content)
            else:
                array[places] = content
        self.profiles = merged([*self.profiles, *outcome.profile])
        self.touched.update(outcome.touched)
        self.products.extend(outcome.products)
        self.hazards += outcome.hazards
        self.texts.append(outcome.output)
        self.trace = outcome.trace or self.trace

    def result(self, grid: Grid) -> Result:
        """Everything together."""
        profiles, footprint = tuple(self.profiles), self.touched.footprint
        result = Result.of(profiles, footprint, self.products, grid, "".join(self.texts))
        result.hazards = self.hazards
        result.trace = self.trace
        return result


def _tasks(
    image: Image,
    grid: Grid,
    arguments: Sequence[KernelArgument],
    model: str | None,
    executor: Executor,
    watch: Watch,
) -> Iterator[_Task]:
    """The blocks, divided among the workers of an executor."""
    workers = getattr(executor, "_max_workers", None) or 8
    step = _batch_blocks(grid, len(image.program(image.entry.name).types), image.static_shared + grid.shared)
    share = -(-grid.block_count // (4 * int(workers)) // grid.cluster_size) * grid.cluster_size
    step = max(grid.cluster_size, min(step, share))
    kept = _KEPT_BYTES // -(-grid.block_count // step)
    name = image.entry.name
    for first in range(0, grid.block_count, step):
        last = min(first + step, grid.block_count)
        yield _Task(image.text, name, grid, tuple(arguments), first, last, model, watch, kept)


def _distributed(
    tasks: Iterator[_Task],
    grid: Grid,
    arguments: Sequence[KernelArgument],
    show: bool | None,
    executor: Executor,
) -> Result:
    """Blocks on the workers of an executor; what they write is put together here."""
    gathered = _Gathered()
    arrays = _arrays(arguments)
    with (
        bar(grid.block_count, "blocks", show=show) as tick,
        closing(in_order(executor, _run_task, tasks)) as outcomes,
    ):
        for task, outcome in outcomes:
            gathered.add(outcome, arrays)
            limit = task.watch.limit
            if limit is not None and sum(profile.warps for profile in gathered.profiles) > limit:
                raise limit_error(limit)
            sys.stdout.write(outcome.output)
            tick(task.last - task.first)
    return gathered.result(grid)


def _arrays(arguments: Sequence[KernelArgument]) -> list[NDArray[np.uint8]]:
    """The bytes of every array that a kernel may write, each once."""
    arrays: dict[int, NDArray[Any]] = {}
    for argument in arguments:
        if isinstance(argument, Array):
            arrays[id(argument.values)] = argument.values
        elif isinstance(argument, TensorMap | MapPointer):
            values = argument.array if isinstance(argument, TensorMap) else argument.tensor.array
            if not isinstance(values, np.ndarray) or not values.flags.c_contiguous:
                raise PtxlabError("an executor takes tensor maps of contiguous NumPy arrays only")
            arrays[id(values)] = values
    return [as_bytes(values) for values in arrays.values() if values.flags.writeable]


def _run_task(task: _Task) -> _Outcome:
    """Run the blocks of a task, on copies of its arrays."""
    image = _image(task.ptx, task.name)
    counts, traffic, products = Counts(), Traffic(), Products(task.kept)
    watch = task.watch
    found, observers = (None, ()) if watch.checks is None else watch.checks.start(image.module)
    texts: list[str] = []
    arguments = deepcopy(task.arguments)  # threads of one process would share the arrays
    arrays = _arrays(arguments)
    before = [array.copy() for array in arrays]
    updates = Updates(image.module)
    listeners: tuple[Observer, ...] = (traffic, updates, *observers)
    if watch.limit is not None:
        listeners += (Limit(watch.limit),)
    trace = None
    if watch.traced is not None and task.first <= watch.traced[0] < task.last:
        trace = Trace(*watch.traced)
        listeners += (trace,)
    launch = _launch(image, task.grid, arguments, task.model, listeners, (counts, products), texts.append)
    traffic.watch(launch.memory.buffers, launch.tensor_maps)
    updates.watch(launch.memory.buffers, arrays)
    _run(launch, task.grid, task.first, task.last, lambda count=1, /, note=None: None)
    written = []
    for number, (array, old) in enumerate(zip(arrays, before, strict=True)):
        if number in updates.updated:
            written.append(updates.updated[number].difference(old, array))
            continue
        places = np.flatnonzero(array != old)
        written.append((places, array[places]))
    hazards = [] if found is None else found.hazards
    return _Outcome(
        tuple(written),
        updates.updated,
        updates.plain,
        counts.profile(traffic),
        traffic.touched,
        "".join(texts),
        hazards,
        products,
        trace,
    )


@lru_cache(maxsize=8)
def _image(ptx: str, name: str) -> Image:
    module = read_ptx(ptx)
    return Image(module, module.functions[name], ptx)


def _may_wait(module: Module) -> bool:
    """Whether blocks may wait for others: they may look at global memory again and again."""
    for function in module.functions.values():
        for instruction in function.instructions:
            parts = instruction.parts
            if "shared" in instruction.opcode:
                continue
            if parts[0] == "ld" and not {"volatile", "acquire", "relaxed"}.isdisjoint(parts):
                return True
            if parts[0] == "atom" and not isinstance(instruction.operands[0], Sink):
                return True
    return False


def _batch_blocks(grid: Grid, registers: int, shared: int, waits: bool = False) -> int:
    """Blocks that run together."""
    lanes = grid.lanes
    by_registers = _REGISTER_BYTES // (4 * max(registers, 1) * lanes)
    by_shared = _REGISTER_BYTES // max(shared, 1)
    most_lanes = _MOST_WAITING_LANES if waits else _MOST_LANES
    most = max(1, min(most_lanes // lanes, by_registers, by_shared, grid.block_count))
    return max(1, most // grid.cluster_size) * grid.cluster_size


def _memory_of(image: Image, arguments: Sequence[KernelArgument], maps: list[TensorMap]) -> list[Buffer]:
    """The buffers of the arguments, and the kernel's parameters as the threads read them."""
    parameters = np.zeros(image.parameter_size, dtype=np.uint8)
    buffers = [Buffer("the kernel's parameters", image.parameter_start, parameters, False, "param")]
    placed: dict[int, int] = {}
    next_free = image.next_free
    for number, (argument, name) in enumerate(zip(arguments, image.parameters, strict=True), 1):
        if isinstance(argument, Array):
            values = argument.values
            key = id(values)
            if key not in placed:
                title = f"argument {number} ({name_of(values)})"
                buffers.append(Buffer(title, image.next_free, as_bytes(values), values.flags.writeable))
                placed[key] = image.reserve(values.nbytes)
            content = placed[key].to_bytes(8, "little")
        elif isinstance(argument, TensorMap | MapPointer):
            maps.append(argument if isinstance(argument, TensorMap) else argument.tensor)
            content = encoded(maps[-1], len(maps))
            if isinstance(argument, MapPointer):
                handle = np.frombuffer(content, dtype=np.uint8)
                buffers.append(Buffer(f"the tensor map of argument {number}", image.next_free, handle, False))
                content = image.reserve(len(handle)).to_bytes(8, "little")
        else:
            content = argument
        offset = image.parameters[name]
        parameters[offset : offset + len(content)] = np.frombuffer(content, dtype=np.uint8)
    image.next_free = next_free
    return buffers


def name_of(values: NDArray[Any]) -> str:
    """An array for a message."""
    return f"{values.dtype}{list(values.shape)}"


def as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of a contiguous array, as bytes."""
    try:
        return values.reshape(-1).view(np.uint8)
    except (TypeError, ValueError):
        raise PtxlabError(f"an array of {values.dtype} has no bytes that a kernel could read") from None
