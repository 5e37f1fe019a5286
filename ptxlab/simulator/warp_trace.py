"""What one warp of a simulated kernel did, step by step: its instructions and its accesses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from .device_memory import SHARED_START
from .events import Access, Observer
from .launch_threads import Batch, Threads
from .ptx.syntax import PtxInstruction, Register

_MAX_STEPS = 20_000


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
    """Follows one warp. `steps` is what it executed, up to a limit."""

    def __init__(self, block: int = 0, warp: int = 0) -> None:
        self.block = block  # its number in the grid
        self.warp = warp  # of the block
        self.steps: list[TraceStep] = []
        self.complete = True
        self._first = -1  # lane of the warp in the batch

    def __repr__(self) -> str:
        more = "" if self.complete else ", and more for which there was no room"
        return f"<{counted(len(self.steps), 'step')} of warp {self.warp} of block number {self.block}{more}>"

    def begin(self, batch: Batch) -> None:
        """Find the warp."""
        places = np.flatnonzero(batch.numbers == self.block)
        self._first = -1
        if len(places) and self.complete:
            self._first = int(places[0]) * batch.block_lanes + 32 * self.warp

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Record a step, if the warp takes part."""
        if self._first < 0:
            return
        low, high = np.searchsorted(threads.indices, (self._first, self._first + 32)).tolist()
        if low == high:
            return
        if len(self.steps) >= _MAX_STEPS:
            self.complete = False
            self._first = -1
            return
        lanes = sum(1 << lane for lane in (threads.indices[low:high] - self._first).tolist())
        self.steps.append(TraceStep(instruction, lanes, *instruction.registers))

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
        """The launch has ended."""
        self._first = -1
