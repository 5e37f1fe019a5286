"""A launch, block by block in batches, without a GPU.

`Setup` is what to run, `BlockRun` what blocks of one process share, `BlockOutcome` what they leave behind.
Blocks run in batches, whose threads go through each instruction together (`machine.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._util.progress_bar import bar
from ..errors import PtxlabError
from ..memory import TensorMap
from ..memory.tensor_maps import MapPointer
from .checks import checkers
from .device_memory import (
    PARAM_START,
    PARAM_WINDOW,
    SHARED_START,
    WORKSPACE_BYTES,
    WORKSPACE_START,
    Memory,
)
from .events import Observer, SimulatedBuffer
from .hazard import Hazard, HazardLog
from .heap import HEAP_BYTES
from .instructions.tensor_copies import encoded
from .launch_arguments import KernelArgument, Pointer, Struct, values_of
from .launch_threads import Batch, LaunchGrid
from .machine import Launch, Machine, Program
from .module_image import ModuleImage, address_behind
from .result import Counts, Executed, Limit, Products
from .schedule import Agent, Schedule
from .scheduled_machine import Listener, ScheduledMachine
from .traffic import Touched, Traffic
from .warp_trace import WarpTrace

if TYPE_CHECKING:
    from .resident_blocks import ResidentBlocks

_MAX_LANES = 1 << 15  # of a batch, whose registers then fit into the cache
#: The same if blocks may wait for each other, e.g. in grid.sync(): more than run on an H200 at a time.
_MAX_WAITING_LANES = 1 << 19
_REGISTER_BYTES = 1 << 29  # all registers of a batch
_MAX_PRINTED = 1 << 25  # characters that a kernel may print
KEPT_BYTES = 1 << 27  # operands of matrix instructions that are kept
_CANCEL = ("clusterlaunchcontrol", "try_cancel")


@dataclass(frozen=True)
class Setup:
    """A launch, and what is checked and traced in it; it can be sent to other processes."""

    grid: LaunchGrid
    arguments: tuple[KernelArgument, ...]
    model: str | None = None
    report: HazardLog | None = None  # where checks write; None if nothing is checked
    limit: int | None = None  # of instructions that warps may execute
    traced: tuple[int, int] | None = None  # a block, and its warp
    #: Of the launch on a chip; None if all blocks may run at a time.
    resident_blocks: ResidentBlocks | None = None
    assembled: bool = False  # as `Launch.assembled`
    heap: int = HEAP_BYTES  # bytes that malloc gives out
    schedule: Schedule | None = None  # in which warps run one by one


@dataclass
class BlockOutcome:
    """The outcome of some blocks, besides the arrays that they wrote."""

    profile: tuple[Executed, ...] = ()
    touched: Touched = field(default_factory=Touched)
    products: Products = field(default_factory=lambda: Products(0))
    output: str = ""
    findings: list[Hazard] = field(default_factory=list)  # hazards and notes
    trace: WarpTrace | None = None


def simulate(
    image: ModuleImage, setup: Setup, observers: Sequence[Observer], show: bool | None
) -> BlockOutcome:
    """Run all blocks of a kernel in this process; arrays are written in place."""
    run = BlockRun(image, setup, observers, echo=True)
    count = setup.grid.block_count
    with bar(count, "blocks", show=show) as tick:
        run.blocks(0, count, tick)
    return run.outcome()


class Output:
    """What a kernel prints."""

    def __init__(self, echo: bool) -> None:
        self.texts: list[str] = []
        self._length = 0
        self._echo = echo

    def write(self, text: str) -> None:
        self._length += len(text)
        if self._length > _MAX_PRINTED:
            raise PtxlabError(
                f"printf: the kernel prints more than {_MAX_PRINTED} letters, which is all that is kept; a "
                "GPU keeps 1 MiB"
            )
        self.texts.append(text)
        if self._echo:
            sys.stdout.write(text)


class BlockRun:
    """Blocks of a launch in this process: the memory that they share, and their observers.

    It is not part of a reference cycle, so its memory is freed without the garbage collector.
    """

    def __init__(
        self,
        image: ModuleImage,
        setup: Setup,
        observers: Sequence[Observer] = (),
        *,
        kept: int = KEPT_BYTES,
        echo: bool = False,
        counts: bool = True,
    ) -> None:
        self._setup = setup
        self._counts, self._traffic, self._products = Counts(), Traffic(), Products(kept)
        self._trace = None if setup.traced is None else WarpTrace(*setup.traced)
        self.output = Output(echo)
        listeners: list[Observer] = [self._traffic, *observers] if counts else []
        if setup.limit is not None:
            listeners.append(Limit(setup.limit))
        if setup.report is not None:
            listeners += checkers(setup.report, image.plans, image.shared_arrays)
        if self._trace is not None:
            listeners.append(self._trace)
        self._observers = listeners
        maps: list[TensorMap] = []
        grid = setup.grid
        buffers = [*image.variables(), *_argument_buffers(image, setup.arguments, maps)]
        workspace = np.zeros(WORKSPACE_BYTES, dtype=np.uint8)
        buffers.append(
            SimulatedBuffer("the workspace of grid.sync()", WORKSPACE_START, workspace, owner="runtime")
        )
        memory = Memory(
            buffers,
            image.dynamic_start + grid.shared,
            listeners,
            grid.cluster_size,
            shared_start=0 if image.module.reads_special("%reserved_smem_offset") else SHARED_START,
            heap=setup.heap,
        )
        self.buffers = memory.buffers
        self._traffic.watch(memory.buffers, maps)
        self.launch = Launch(
            image.program(image.entry.name),
            image.program,
            functions=image.functions,
            symbols=image.symbols,
            memory=memory,
            # The first two need no accesses: `memory` omits them.
            observers=(self._counts, self._products, *listeners) if counts else (),
            tensor_maps=maps,
            output=self.output.write,
            model=setup.model,
            blocks_may_wait=grid.block_count * grid.lanes > _MAX_LANES and image.polls,
            cancels=any(instruction.parts[:2] == _CANCEL for instruction in image.module.instructions),
            assembled=setup.assembled,
        )
        self._cancelling_blocks = grid.block_count
        resident_blocks = setup.resident_blocks
        if resident_blocks is not None and image.spins and resident_blocks.least < grid.block_count:
            self.launch.resident_blocks = None if self.launch.cancels else resident_blocks

    def blocks(self, first: int, last: int, tick: Callable[..., None] | None = None) -> None:
        """Run blocks first to last - 1, as many at once as fit.

        If blocks may cancel the launch of others, only half of them begin at first, so that some can.
        """
        done = 0

        def executed(count: int) -> None:
            nonlocal done
            done += count
            if tick is not None:
                tick(0, note=f"{done:,} instructions")

        self.launch.next_block, self.launch.last_block = first, last
        cluster = self._setup.grid.cluster_size
        self._cancelling_blocks = -(-(last - first) // (2 * cluster)) * cluster
        reached = first
        while (machine := self.next_machine(executed)) is not None:
            with np.errstate(all="ignore"):
                machine.run()
            if tick is not None:
                tick(self.launch.next_block - reached)
            reached = self.launch.next_block

    def next_machine(self, executed: Callable[[int], None] | None = None) -> Machine | None:
        """The machine of the next batch of blocks; None if all have begun."""
        launch, grid = self.launch, self._setup.grid
        if launch.next_block >= launch.last_block:
            return None
        if self._setup.schedule is not None:
            return self.scheduled_machine(self._setup.schedule, self._setup.schedule.agents)
        size = batch_blocks(grid, launch.entry, launch.memory.shared_size, launch.blocks_may_wait)
        if launch.cancels:
            size = min(size, self._cancelling_blocks)
        start = launch.next_block
        launch.next_block = min(start + size, launch.last_block)
        return Machine(launch, Batch(grid, grid.block_numbers(start, launch.next_block)), executed)

    def scheduled_machine(
        self, schedule: Schedule, agents: Sequence[Agent], listener: Listener | None = None
    ) -> ScheduledMachine:
        """A machine for all blocks at once, whose warps run in the order of a schedule."""
        grid, launch = self._setup.grid, self.launch
        launch.next_block = launch.last_block = grid.block_count
        batch = Batch(grid, grid.block_numbers(0, grid.block_count))
        return ScheduledMachine(launch, batch, schedule.stops, agents, listener, schedule.runs)

    def chosen(self, numbers: NDArray[np.int64]) -> None:
        """Run some blocks, whole clusters, by their numbers."""
        with np.errstate(all="ignore"):
            Machine(self.launch, Batch(self._setup.grid, numbers)).run()

    def outcome(self) -> BlockOutcome:
        """The outcome of the blocks that have run."""
        report = self._setup.report
        for observer in self._observers:
            observer.finish()
        return BlockOutcome(
            self._counts.profile(self._traffic),
            self._traffic.touched,
            self._products,
            "".join(self.output.texts),
            [] if report is None else report.findings,
            self._trace,
        )


def batch_blocks(grid: LaunchGrid, entry: Program, shared: int, waits: bool = False) -> int:
    """Blocks that run together."""
    lanes = grid.lanes
    by_registers = _REGISTER_BYTES // (max(4 * len(entry.types), entry.local_size, 1) * lanes)
    by_shared = _REGISTER_BYTES // max(shared, 1)
    most_lanes = _MAX_WAITING_LANES if waits else _MAX_LANES
    most = max(1, min(most_lanes // lanes, by_registers, by_shared, grid.block_count))
    return max(1, most // grid.cluster_size) * grid.cluster_size


def _argument_buffers(
    image: ModuleImage, arguments: Sequence[KernelArgument], maps: list[TensorMap]
) -> list[SimulatedBuffer]:
    """The buffers of the arguments, and the kernel's parameters as the threads read them."""
    parameters = np.zeros(image.parameter_size, dtype=np.uint8)
    buffers = [
        SimulatedBuffer(
            "the kernel's parameters", PARAM_WINDOW + PARAM_START, parameters, False, "param", "runtime"
        )
    ]
    addresses: dict[int, int] = {}  # of arrays, by id
    free = image.next_free
    arrays = [value for _, value in values_of(arguments) if isinstance(value, Pointer)]
    keeps_host_addresses = any(array.reaches for array in arrays)

    def place(title: str, data: NDArray[np.uint8], writable: bool, phase: int = 0) -> int:
        nonlocal free
        if keeps_host_addresses:
            buffers.append(SimulatedBuffer(title, data.ctypes.data, data, writable))
            return data.ctypes.data
        start = free + phase
        free = address_behind(start + data.size)
        buffers.append(SimulatedBuffer(title, start, data, writable))
        return start

    offsets: list[int] = []  # of the values of `values_of`
    for argument, name in zip(arguments, image.parameters, strict=True):
        start = image.parameters[name]
        members = argument.members if isinstance(argument, Struct) else ((0, argument, ""),)
        offsets += [start + offset for offset, *_ in members]
    for (name, argument), offset in zip(values_of(arguments), offsets, strict=True):
        if isinstance(argument, Pointer):
            values = argument.memory
            if id(values) not in addresses:
                title = f"argument {name} ({values.dtype}{list(values.shape)})"
                addresses[id(values)] = place(title, as_bytes(values), values.flags.writeable, argument.phase)
            content = (addresses[id(values)] + argument.offset).to_bytes(8, "little")
        elif isinstance(argument, TensorMap | MapPointer):
            maps.append(argument if isinstance(argument, TensorMap) else argument.tensor)
            content = encoded(maps[-1], len(maps))
            if isinstance(argument, MapPointer):
                data = np.frombuffer(content, dtype=np.uint8)
                content = place(f"the tensor map of argument {name}", data, False).to_bytes(8, "little")
        else:
            content = argument
        parameters[offset : offset + len(content)] = np.frombuffer(content, dtype=np.uint8)
    for data in {data.ctypes.data: data for array in arrays for data in array.reaches}.values():
        if not any(buffer.start == data.ctypes.data for buffer in buffers):
            place("an array that an argument has the address of", data, data.flags.writeable)
    return buffers


def as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of a contiguous array, as bytes."""
    try:
        return values.reshape(-1).view(np.uint8)
    except (TypeError, ValueError):
        raise PtxlabError(f"an array of {values.dtype} has no bytes that a kernel could read") from None
