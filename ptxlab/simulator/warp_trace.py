"""What one warp of a simulated kernel did, step by step: its registers, its accesses, shared memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted, quoted
from .device_memory import SHARED_START
from .events import Access, Inspection, Observer
from .launch_threads import Batch, Threads
from .ptx.syntax import PtxInstruction, Register

_MAX_STEPS = 20_000
_ROOM = 64 << 20  # bytes of registers and changes of shared memory that are kept


@dataclass(frozen=True)
class WarpAccess:
    """What a warp read or wrote in one space: `addresses` of `lanes`; those of shared memory begin at 0."""

    kind: str
    space: str
    lanes: NDArray[np.int64]
    addresses: NDArray[np.int64]
    width: int
    proxy: str


@dataclass
class TraceStep:
    """One instruction that the warp executed; `lanes` are the bits of those that took part."""

    instruction: PtxInstruction
    lanes: int
    reads: tuple[Register, ...]
    writes: tuple[Register, ...]
    accesses: list[WarpAccess] = field(default_factory=list)


class WarpTrace(Observer):
    """Follows one warp. `steps` is what it executed, up to a limit on steps and memory.

    `register` and `shared` give its registers and the block's shared memory after each step.
    """

    def __init__(self, block: int = 0, warp: int = 0) -> None:
        self.block = block  # its number in the grid
        self.warp = warp  # of the block
        self.steps: list[TraceStep] = []
        self.complete = True
        self._values: dict[str, tuple[list[int], list[NDArray[Any]]]] = {}
        self._changes: list[tuple[NDArray[np.int64], NDArray[np.uint32]]] = []
        self._room = _ROOM
        self._machine: Inspection | None = None
        self._reader: Callable[[int], NDArray[Any] | None] | None = None  # of the last step's function
        self._first = -1  # lane of the warp in the batch
        self._position = 0  # of the block in the batch
        self._shared = np.zeros(0, dtype=np.uint32)

    def __repr__(self) -> str:
        more = "" if self.complete else ", and more for which there was no room"
        return f"<{counted(len(self.steps), 'step')} of warp {self.warp} of block number {self.block}{more}>"

    # -- recording -------------------------------------------------------------------------------------------

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, to read registers and shared memory."""
        self._machine = machine

    def begin(self, batch: Batch) -> None:
        """Find the warp."""
        places = np.flatnonzero(batch.numbers == self.block)
        self._first = -1
        if len(places) and self.complete:
            self._position = int(places[0])
            self._first = self._position * batch.block_lanes + 32 * self.warp
            self._shared = self._memory().copy()

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Record a step, if the warp takes part."""
        if self._first < 0 or self._machine is None:
            return
        low, high = np.searchsorted(threads.indices, (self._first, self._first + 32)).tolist()
        if low == high:
            return
        self._finish()
        if len(self.steps) >= _MAX_STEPS or self._room < 0:
            self.complete = False
            self._first = -1
            return
        lanes = sum(1 << lane for lane in (threads.indices[low:high] - self._first).tolist())
        self.steps.append(TraceStep(instruction, lanes, *instruction.registers))
        self._reader = self._machine.reader()

    def accessed(self, access: Access) -> None:
        """Record what the warp reads and writes."""
        if self._first < 0 or not self.steps or self.steps[-1].instruction is not access.instruction:
            return
        low, high = np.searchsorted(access.threads, (self._first, self._first + 32)).tolist()
        if low < high:
            lanes = access.threads[low:high] - self._first
            start = SHARED_START if access.space == "shared" else 0
            places = access.addresses[low:high] - start
            self.steps[-1].accesses.append(
                WarpAccess(access.kind, access.space, lanes, places.copy(), access.width, access.proxy)
            )

    def end(self) -> None:
        """Record what the last step wrote."""
        if self._first >= 0:
            self._finish()
        self._first = -1
        self._machine = self._reader = None

    def _memory(self) -> NDArray[np.uint32]:
        """The block's shared memory as it is now, in words."""
        if self._machine is None:
            return np.zeros(0, dtype=np.uint32)
        content = self._machine.shared_of(self._position)[SHARED_START:]
        return np.asarray(content[: len(content) & -4].view(np.uint32))

    def _finish(self) -> None:
        """Record what the last step left in registers and in shared memory."""
        if not self.steps or self._reader is None:
            return
        number = len(self.steps) - 1
        if number < len(self._changes):
            return
        for register in self.steps[-1].writes:
            values = self._reader(register.index)
            if values is not None:
                kept = values[self._first : self._first + 32].copy()
                numbers, history = self._values.setdefault(register.name, ([], []))
                numbers.append(number)
                history.append(kept)
                self._room -= kept.nbytes
        now = self._memory()
        places = np.flatnonzero(now != self._shared)
        self._changes.append((places, now[places]))
        self._room -= 12 * len(places)
        if len(places):
            self._shared = now.copy()

    # -- reading ---------------------------------------------------------------------------------------------

    def register(self, name: str, step: int) -> NDArray[Any] | None:
        """A register of the 32 lanes after a step; None if it was not written yet."""
        self._check(step)
        numbers, history = self._values.get(name, ([], []))
        place = bisect_right(numbers, step) - 1
        return None if place < 0 else history[place]

    def changed(self, step: int) -> NDArray[np.int64]:
        """Words of shared memory that changed between this step and the next, by this warp or others."""
        self._check(step)
        return self._changes[step][0]

    def shared(self, step: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """The words of shared memory after a step, and which of them have changed so far."""
        self._check(step)
        words = np.zeros(len(self._shared), dtype=np.uint32)
        is_written = np.zeros(len(self._shared), dtype=np.bool_)
        for places, values in self._changes[: step + 1]:
            words[places] = values
            is_written[places] = True
        return words, is_written

    def _check(self, step: int) -> None:
        if not 0 <= step < len(self.steps):
            raise PtxlabError(f"step {quoted(step)}: the trace has {len(self.steps)}, from 0 on")
