"""The events of a simulation that observers receive: instructions, accesses to memory, barriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from ..isa.tensor_operand import ALL_LANES
from .ptx.syntax import PtxInstruction

if TYPE_CHECKING:
    from ..memory import TensorMap
    from .launch_threads import Batch, Threads


@dataclass(slots=True)
class SimulatedBuffer:
    """An array or a variable in global, constant or parameter memory."""

    title: str  # for messages
    start: int
    data: NDArray[np.uint8]
    writable: bool = True
    space: str = "global"
    owner: Literal["caller", "module", "runtime"] = "caller"

    @property
    def size(self) -> int:
        """Bytes."""
        return self.data.size

    def holds(self, first: int, last: int) -> bool:
        """Whether addresses from `first` to before `last` belong to it."""
        return self.start <= first and last <= self.start + self.data.size


@dataclass(slots=True)
class BufferAccess:
    """The part of an access that falls into one buffer.

    `chosen` are the positions of its threads among those of the access, None for all of them. `threads` are
    their indices in the batch, `offsets` their first bytes in `data`.
    """

    chosen: NDArray[np.intp] | None
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    threads: NDArray[Any]
    buffer: SimulatedBuffer | None = None  # of global, constant and parameter memory
    #: For observers to keep notes in: an access that is repeated has the same object.
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What messages call its buffer."""
        return "" if self.buffer is None else self.buffer.title


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction's access to memory, over all threads that execute it.

    `threads` are indices into the batch. Addresses are bytes: in shared and local memory from the start of
    the block's or thread's own, otherwise generic. `width` bytes are accessed at each. `proxy` is "async" for
    bulk copies and wgmma.
    """

    instruction: PtxInstruction
    kind: str  # "read", "write" or "atomic"
    space: str  # "global", "shared", "local", "const" or "param"
    threads: NDArray[Any]
    addresses: NDArray[Any]
    width: int
    proxy: str = "generic"
    buffer_accesses: Sequence[BufferAccess] = ()  # where in memory, buffer by buffer
    values: Sequence[NDArray[Any]] = ()  # what a store writes: one array for each element of a vector
    #: For each address, which warp of the warpgroup multiplies what wgmma reads there; -1 where several do.
    owners: NDArray[np.int64] | None = None

    @property
    def asynchronous(self) -> bool:
        """Whether it is complete only after a wait: cp.async, bulk copies, wgmma, tcgen05."""
        return self.proxy == "async" or self.instruction.parts[:2] == ("cp", "async")


@dataclass(frozen=True, slots=True)
class TensorAccess:
    """Lanes and columns of a block's tensor memory that an instruction reads or writes.

    `threads` are indices into the batch: those of a warp for tcgen05.ld and .st, otherwise the one that
    issues it; then the access is asynchronous.
    """

    instruction: PtxInstruction
    kind: str  # "read" or "write"
    threads: NDArray[Any]
    block: int  # counted in the batch
    columns: range
    lanes: int = ALL_LANES  # a bit for each
    asynchronous: bool = False
    elsewhere: bool = False  # whether the address names lanes of another warp


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """A barrier, fence, commit, wait or arrival, and the threads that execute it.

    `kind` is the opcode's first part or parts, e.g. "bar", "fence", "cp.async.wait_group"; `key` is the
    number of the barrier, the count of a wait, or the addresses of mbarriers.
    """

    instruction: PtxInstruction
    kind: str
    threads: NDArray[Any]
    key: int | NDArray[Any] = 0
    completed: bool = False  # the threads leave the barrier


class MatrixInputs(Protocol):
    """What a matrix instruction reads in some warps or warpgroups; an `Operation` is one."""

    @property
    def ins(self) -> ProductForm:
        """The instruction."""

    @property
    def count(self) -> int:
        """How many warps or warpgroups."""

    @property
    def nbytes(self) -> int:
        """Bytes of what it reads."""

    def item(self, index: int, /) -> Operation:
        """What one of them reads."""


class Inspection(Protocol):
    """What an observer may look at while a batch runs."""

    def reader(self) -> Callable[[int], NDArray[Any] | None]:
        """A function from a register's index in the function being executed to its values in all threads."""

    def shared_of(self, block: int) -> NDArray[Any]:
        """The shared memory of a block of the batch, which begins with the bytes reserved for the system."""


class Observer:
    """Receives every event of a simulation; subclasses override what they need."""

    def attach(self, machine: Inspection) -> None:
        """Called before a batch runs; `machine` gives access to registers and shared memory."""

    def begin(self, batch: Batch) -> None:
        """A batch of blocks starts."""

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Threads execute an instruction."""

    def guarded(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Threads come to an instruction with a predicate; some of them may execute it next."""

    def accessed(self, access: Access) -> None:
        """Threads read or write memory."""

    def printed(self, instruction: PtxInstruction, buffer_access: BufferAccess) -> None:
        """A thread prints bytes of its local memory, the arguments of `printf`."""

    def allocated(
        self,
        instruction: PtxInstruction,
        threads: Threads,
        addresses: NDArray[np.uint64],
        sizes: NDArray[np.int64],
    ) -> None:
        """Threads have called `malloc`; an address is 0 where so many bytes are not free."""

    def freed(self, instruction: PtxInstruction, threads: Threads, addresses: NDArray[np.uint64]) -> None:
        """Threads call `free`; no address is 0."""

    def tensor_accessed(self, access: TensorAccess) -> None:
        """An instruction reads or writes tensor memory."""

    def synchronised(self, event: Synchronisation) -> None:
        """Threads reach or leave a barrier, or execute a fence or a wait."""

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Warps or warpgroups execute a matrix instruction."""

    def copied(
        self, instruction: PtxInstruction, tensor: TensorMap, starts: NDArray[np.int64], kind: str
    ) -> None:
        """Threads copy boxes of a tensor map, from ("read") or to ("write") its array.

        `starts` [boxes, axes] are in the array's order of axes.
        """

    def end(self) -> None:
        """The batch is done."""

    def finish(self) -> None:
        """All batches are done."""
