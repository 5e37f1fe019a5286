"""A launch whose blocks run on the workers of an executor; what they write is merged here.

Blocks in different processes may update global memory with atomic operations whose order does not matter:
integer additions, minima, maxima and bitwise operations, as long as no block reads the memory in between.
Others are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.progress_bar import bar
from .._util.threads import check_executor, in_order
from ..errors import PtxlabError
from ..memory import TensorMap
from ..memory.tensor_maps import MapPointer
from .events import Access, Observer, SimulatedBuffer
from .instructions.loads import UFUNCS
from .launch_arguments import KernelArgument, Pointer, values_of
from .module_image import ModuleImage
from .ptx.linker import read_modules
from .ptx.syntax import PtxInstruction
from .result import LimitError, merged
from .simulate import KEPT_BYTES, BlockOutcome, BlockRun, Setup, as_bytes, batch_blocks

if TYPE_CHECKING:
    from concurrent.futures import Executor

_TYPES = {f"{kind}{bits}": f"{'i' if kind == 's' else 'u'}{bits // 8}" for kind in "usb" for bits in (32, 64)}


@dataclass(frozen=True)
class _Task:
    """Blocks for another process or machine, with everything that they need."""

    texts: tuple[str, ...]  # PTX
    name: str
    setup: Setup
    first: int
    last: int
    kept: int  # bytes of what matrix instructions read


@dataclass
class _Gathered(BlockOutcome):
    """The outcome of blocks in other processes, and what they wrote.

    `written` has for each array the places that changed and their new content; for an array in `updated`, by
    its number, the change of its elements instead. `plain` are arrays that blocks read or write otherwise.
    """

    written: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = field(default_factory=list)
    updated: dict[int, Update] = field(default_factory=dict)
    plain: set[int] = field(default_factory=set)

    def add(self, other: _Gathered) -> None:
        """Add the outcome of other blocks, except what they wrote."""
        self.updated |= other.updated
        self.plain |= other.plain
        if self.updated.keys() & self.plain:
            raise PtxlabError(
                "an array is updated by atomic operations and also read or written; blocks of an executor "
                "cannot see each other's updates: simulate this kernel without one"
            )
        self.profile = tuple(merged([*self.profile, *other.profile]))
        self.touched.update(other.touched)
        self.products.extend(other.products)
        self.findings += other.findings
        self.output += other.output
        self.trace = other.trace or self.trace

    def write(self, arrays: Sequence[NDArray[np.uint8]]) -> None:
        """Put what the blocks wrote into the arrays."""
        for number, (array, (places, content)) in enumerate(zip(arrays, self.written, strict=True)):
            if number in self.updated:
                self.updated[number].apply(array, places, content)
            else:
                array[places] = content


def simulate_on(executor: Executor, image: ModuleImage, setup: Setup, show: bool | None) -> BlockOutcome:
    """Run the blocks of a kernel on the workers of an executor; arrays are written in place.

    They are written when all blocks are done: an error, or a worker that dies, leaves them as they were.
    """
    check_executor(executor)
    gathered, parts = _Gathered(), []
    arrays = _arrays(setup.arguments)
    with (
        bar(setup.grid.block_count, "blocks", show=show) as tick,
        closing(in_order(executor, _run_task, _tasks(image, setup, executor))) as outcomes,
    ):
        for task, outcome in outcomes:
            gathered.add(outcome)
            parts.append(outcome)
            if setup.limit is not None and sum(executed.warps for executed in gathered.profile) > setup.limit:
                raise LimitError.of(setup.limit)
            sys.stdout.write(outcome.output)
            tick(task.last - task.first)
    for part in parts:
        part.write(arrays)
    return gathered


def _tasks(image: ModuleImage, setup: Setup, executor: Executor) -> Iterator[_Task]:
    """The blocks, divided among the workers of an executor."""
    grid, name = setup.grid, image.entry.name
    workers = getattr(executor, "_max_workers", None) or 8
    step = batch_blocks(grid, image.program(name), image.dynamic_start + grid.shared)
    share = -(-grid.block_count // (4 * int(workers)) // grid.cluster_size) * grid.cluster_size
    step = max(grid.cluster_size, min(step, share))
    kept = KEPT_BYTES // -(-grid.block_count // step)
    for first in range(0, grid.block_count, step):
        yield _Task(image.texts, name, setup, first, min(first + step, grid.block_count), kept)


def _arrays(arguments: Sequence[KernelArgument]) -> list[NDArray[np.uint8]]:
    """The bytes of every array that a kernel may write, each once."""
    arrays: dict[int, NDArray[Any]] = {}
    for _, argument in values_of(arguments):
        if isinstance(argument, Pointer):
            arrays[id(argument.memory)] = argument.memory
        elif isinstance(argument, TensorMap | MapPointer):
            values = argument.array if isinstance(argument, TensorMap) else argument.tensor.array
            if not isinstance(values, np.ndarray) or not values.flags.c_contiguous:
                raise PtxlabError("an executor takes tensor maps of contiguous NumPy arrays only")
            arrays[id(values)] = values
    return [as_bytes(values) for values in arrays.values() if values.flags.writeable]


def _run_task(task: _Task) -> _Gathered:
    """Run the blocks of a task, on copies of its arrays."""
    image = _image(task.texts, task.name)
    setup = deepcopy(task.setup)  # threads of one process would share the arrays and the report
    if setup.traced is not None and not task.first <= setup.traced[0] < task.last:
        setup = replace(setup, traced=None)
    arrays = _arrays(setup.arguments)
    before = [array.copy() for array in arrays]
    updates = _Updates(image.plans.blind_updates)
    run = BlockRun(image, setup, (updates,), kept=task.kept)
    updates.watch(run.buffers, arrays)
    run.blocks(task.first, task.last)
    written = []
    for number, (array, old) in enumerate(zip(arrays, before, strict=True)):
        if number in updates.updated:
            written.append(updates.updated[number].difference(old, array))
            continue
        places = np.flatnonzero(array != old)
        written.append((places, array[places]))
    return _Gathered(**vars(run.outcome()), written=written, updated=updates.updated, plain=updates.plain)


@lru_cache(maxsize=8)
def _image(texts: tuple[str, ...], name: str) -> ModuleImage:
    module = read_modules(texts)
    return ModuleImage(module, module.functions[name], texts)


# -- atomic updates ------------------------------------------------------------------------------------------


class Update(NamedTuple):
    """What atomic operations do to an array: "add", "min", ..., and NumPy's name of the element type."""

    operation: str
    type_name: str

    def difference(
        self, old: NDArray[np.uint8], new: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Which elements changed, and the operand, as bytes, that makes the same change elsewhere.

        >>> before, after = (np.array(values, np.uint32).view(np.uint8) for values in ([5, 6], [5, 9]))
        >>> places, change = Update("add", "u4").difference(before, after)
        >>> places.tolist(), change.view(np.uint32).tolist()
        ([1], [3])
        """
        before, after = self._elements(old), self._elements(new)
        places = np.flatnonzero(before != after)
        change = after[places]
        if self.operation == "add":
            change = change - before[places]
        elif self.operation == "xor":
            change = change ^ before[places]
        return places, change.view(np.uint8)

    def apply(self, array: NDArray[np.uint8], places: NDArray[np.int64], change: NDArray[np.uint8]) -> None:
        """Apply a change from `difference` to an array."""
        elements = self._elements(array)
        elements[places] = UFUNCS[self.operation](elements[places], change.view(self.type_name))

    def _elements(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        size = np.dtype(self.type_name).itemsize
        return content[: len(content) // size * size].view(self.type_name)


class _Updates(Observer):
    """Records which arrays blocks update atomically, and which they read or write otherwise.

    `updated` and `plain` have the arrays by their number in `arrays`.
    """

    def __init__(self, blind: frozenset[int]) -> None:
        self.updated: dict[int, Update] = {}
        self.plain: set[int] = set()
        self._blind = blind  # atomic operations whose result is never read, by id
        self._numbers: dict[int, int] = {}
        self._known: dict[int, Update | None] = {}

    def watch(self, buffers: Sequence[SimulatedBuffer], arrays: Sequence[NDArray[np.uint8]]) -> None:
        """Find the arrays in the simulated memory."""
        starts = {array.ctypes.data: number for number, array in enumerate(arrays)}
        for buffer in buffers:
            if buffer.data.ctypes.data in starts:
                self._numbers[id(buffer.data)] = starts[buffer.data.ctypes.data]

    def accessed(self, access: Access) -> None:
        """Record one access."""
        if access.space != "global":
            return
        for buffer_access in access.buffer_accesses:
            number = self._numbers.get(id(buffer_access.data))
            if access.kind != "atomic":
                if number is not None:
                    self.plain.add(number)
                continue
            key = id(access.instruction)
            if key not in self._known:
                self._known[key] = self._update(access.instruction)
            update = self._known[key]
            if number is None or update is None or self.updated.setdefault(number, update) != update:
                raise PtxlabError(
                    f"{access.instruction.where}: {access.instruction.opcode} updates memory that blocks "
                    "share, and its result or the order counts; blocks of an executor cannot do that: "
                    "simulate this kernel without one"
                )

    def _update(self, instruction: PtxInstruction) -> Update | None:
        """What an instruction does, if neither its result nor the order matters."""
        parts = instruction.parts
        operation = next((part for part in parts if part in UFUNCS), None)
        if operation is None or parts[-1] not in _TYPES or "async" in parts:
            return None
        if parts[0] == "atom" and id(instruction) not in self._blind:
            return None
        return Update(operation, _TYPES[parts[-1]])
