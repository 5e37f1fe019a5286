"""Threads that spin: loops that read the same values again and again until another thread changes them.

An iteration that leaves registers as they were, writes nothing and reads the same bytes repeats without end
unless one of these bytes changes. Threads in such a loop sleep until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .events import BufferAccess
from .launch_threads import Threads
from .ptx.opcode_sets import ONLY_REGISTERS
from .ptx.syntax import PtxInstruction, Special

_MAX_READS = 32  # in an iteration


def has_effect(instruction: PtxInstruction, is_scalar: bool) -> bool:
    """Whether an instruction may change more than registers, or reads a clock."""
    clocks = ("%clock", "%globaltimer")
    if any(
        isinstance(operand, Special) and operand.name.startswith(clocks) for operand in instruction.operands
    ):
        return True
    return (
        not is_scalar
        and instruction.parts[0] not in ONLY_REGISTERS
        and instruction.parts[:2] != ("bar", "warp")
    )


class _Registers(Protocol):
    """The registers of the function that threads execute."""

    def snapshot(self, threads: Threads) -> Sequence[object]:
        """The registers of these threads, for comparison."""


class _Read(NamedTuple):
    """Bytes that an instruction has read."""

    instruction: PtxInstruction
    data: NDArray[np.uint8]
    places: NDArray[np.int64]
    content: NDArray[np.uint8]


class Probe:
    """What threads do between two executions of the same backward branch."""

    def __init__(self, frame: _Registers, origin: int, threads: Threads, clock: int) -> None:
        self.frame = frame
        self.origin = origin
        self.clock = clock
        self._threads = threads
        self._registers = frame.snapshot(threads)
        self._lanes = np.zeros(threads.batch.size, dtype=np.bool_)
        self._lanes[threads.indices] = True
        self._has_effect = False
        self._reads: list[_Read] = []

    def affect(self, threads: NDArray[Any]) -> None:
        """Note that threads, by their indices, change something."""
        self._has_effect |= bool(self._lanes[threads].any())

    def read(self, instruction: PtxInstruction, buffer_access: BufferAccess, width: int) -> None:
        """Note that threads read memory that others can write."""
        ours = self._lanes[buffer_access.threads]
        if self._has_effect or not ours.any():
            return
        if len(self._reads) == _MAX_READS:
            self._has_effect = True
            return
        places = buffer_access.offsets[ours][:, None] + np.arange(width)
        self._reads.append(_Read(instruction, buffer_access.data, places, buffer_access.data[places]))

    def is_of(self, threads: Threads) -> bool:
        """Whether it is about these threads."""
        return self._threads.is_same(threads)

    def is_repeated(self) -> bool:
        """Whether the next iteration will be the same as the one that has just ended."""
        if self._has_effect or not self._reads or self.is_outdated():
            return False
        registers = self.frame.snapshot(self._threads)
        return all(map(_are_equal, self._registers, registers))

    def is_outdated(self) -> bool:
        """Whether one of the bytes that were read has changed."""
        return any(not np.array_equal(read.data[read.places], read.content) for read in self._reads)

    @property
    def instruction(self) -> PtxInstruction:
        """The instruction at which the threads wait: their last read."""
        return self._reads[-1].instruction

    @property
    def last_read(self) -> tuple[NDArray[np.uint8], int, NDArray[np.uint8]]:
        """The memory that the first thread read last, the offset of the bytes in it, and what they were."""
        read = self._reads[-1]
        return read.data, int(read.places[0, 0]), read.content[0]


def _are_equal(one: object, two: object) -> bool:
    return one is two or (
        isinstance(one, np.ndarray) and isinstance(two, np.ndarray) and np.array_equal(one, two)
    )
