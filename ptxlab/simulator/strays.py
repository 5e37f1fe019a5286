"""Lanes that others of their warp wait for, and that have passed by the instruction where these wait."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .ptx import Function, Instruction
from .ptx.dataflow import successors
from .threads import Batch, Threads


class Strays:
    """Those of a batch, by the position at which others wait for them."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._lanes: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self._behind: dict[tuple[int, int], frozenset[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def note(
        self,
        position: tuple[int, ...],
        function: Function,
        index: int,
        elsewhere: int,
        threads: Threads,
    ) -> None:
        """Threads that others wait for at `index` of a function are elsewhere in it.

        Those that have left for code of their own, such as an early return, are no strays.
        """
        if threads.count and elsewhere in self._reachable(function, index):
            noted = self._lanes.setdefault(position, np.zeros(self._batch.size, dtype=np.bool_))
            noted[threads.indices] = True

    def pop(self, ended: Threads) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_]]]:
        """Which of the threads that end are strays, by position; they are none any more."""
        for position, noted in list(self._lanes.items()):
            strays = np.zeros(self._batch.size, dtype=np.bool_)
            strays[ended.indices] = noted[ended.indices]
            noted[ended.indices] = False
            yield position, strays

    def forget(self, position: tuple[int, ...]) -> None:
        """Nobody waits there any more."""
        del self._lanes[position]

    def _reachable(self, function: Function, index: int) -> frozenset[int]:
        """Instructions that threads may come to behind one; the end of the kernel does not count."""
        key = (id(function), index)
        if key not in self._behind:
            instructions = function.instructions
            found: set[int] = set()
            open_ends = [index]
            while open_ends:
                following = set(successors(instructions, open_ends.pop())) - found
                following = {each for each in following if each < len(instructions)}
                found |= following
                open_ends += following
            self._behind[key] = frozenset(found - _ends(instructions))
        return self._behind[key]


def _ends(instructions: tuple[Instruction, ...]) -> set[int]:
    """`ret`, `exit`, and what only leads there and stands in no line of the source.

    Where the kernel ends with the same store as an early return before a barrier does, NVRTC makes one of
    the two and says that it is in line 0.
    """
    ends: set[int] = set()
    for index in reversed(range(len(instructions))):
        location = instructions[index].location
        merged = location is not None and location.line == 0
        if instructions[index].parts[0] in ("ret", "exit") or (
            merged and ends.issuperset(successors(instructions, index))
        ):
            ends.add(index)
    return ends
