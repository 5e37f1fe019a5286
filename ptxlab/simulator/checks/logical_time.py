"""Logical time: each access and each synchronisation of a simulation has a number, which only grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ptx.syntax import PtxInstruction


class LogicalTime:
    """Numbers the accesses and synchronisations of a simulation, and remembers the instruction of each."""

    def __init__(self) -> None:
        self.now = 0
        self._instructions: list[PtxInstruction | None] = [None]
        self._of_one_block: set[int] = set()  # times of strong accesses with scope .cta

    def tick(self, instruction: PtxInstruction | None) -> None:
        """An event begins; None is the start of a batch."""
        self.now += 1
        self._instructions.append(instruction)

    def instruction_at(self, time: int) -> PtxInstruction | None:
        """The instruction of an event."""
        return self._instructions[time]

    def note_cta_scope(self) -> None:
        """The event is a strong access that is so for the threads of one block only."""
        self._of_one_block.add(self.now)

    def had_cta_scope(self, times: NDArray[Any]) -> NDArray[np.bool_]:
        """Which events are such accesses."""
        if not self._of_one_block:
            return np.zeros(len(times), dtype=np.bool_)
        distinct, which = np.unique(times, return_inverse=True)
        return np.array([time in self._of_one_block for time in distinct.tolist()], dtype=np.bool_)[which]
