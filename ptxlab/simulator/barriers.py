"""The sixteen barriers of each block, and the one of each cluster. PTX ISA, "bar", "barrier.cluster"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .launch_threads import Batch, Threads
from .ptx.dataflow import successors
from .ptx.syntax import Function, PtxInstruction

_COUNT = 16
Place = TypeVar("Place")  # where threads resume


class Barriers(Generic[Place]):
    """How many threads of each block have arrived at each barrier, and which of them wait there."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._arrived = np.zeros((batch.count, _COUNT), dtype=np.int64)
        self._expected = np.zeros((batch.count, _COUNT), dtype=np.int64)  # 0: all running threads
        self._waiting: list[tuple[Place, int, Threads]] = []
        self._votes = np.zeros((batch.count, _COUNT), dtype=np.int64)
        self.last_votes = np.zeros((batch.count, _COUNT), dtype=np.int64)  # of the last completed phase
        self.last_totals = np.zeros((batch.count, _COUNT), dtype=np.int64)

    def vote(self, numbers: NDArray[Any], threads: Threads, predicate: NDArray[np.bool_]) -> None:
        """The predicates of threads that are about to arrive, for `bar.red`."""
        _check_number(int(numbers.max()))
        np.add.at(self._votes, (threads.blocks, numbers.astype(np.int64)), predicate.astype(np.int64))

    def by_phase(self, numbers: NDArray[Any], threads: Threads, counts: NDArray[Any]) -> list[Threads]:
        """Threads that reach barriers with a count, grouped by the phase in which they arrive.

        They arrive in the order of their warps; once a phase is complete, the rest belongs to the next.
        """
        keys = threads.blocks * _COUNT + np.clip(numbers.astype(np.int64), 0, _COUNT - 1)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        rank = np.empty(len(keys), dtype=np.int64)
        rank[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(starts, append=len(keys)))
        arrived = self._arrived.reshape(-1)[keys] + rank
        phase = arrived // np.maximum(counts.astype(np.int64), 1)
        return [threads.where(phase == number) for number in np.unique(phase)] if phase.any() else [threads]

    def arrive(
        self,
        number: int,
        threads: Threads,
        count: NDArray[Any] | None,
        waits: bool,
        resume: Place,
    ) -> list[tuple[Place, int, Threads]]:
        """Threads arrive; returns those that may go on now."""
        _check_number(number)
        if threads.index is None and count is None and waits and not self._arrived[:, number].any():
            self._complete(np.s_[:, number], threads.batch.grid.block_size)
            return [(resume, number, threads)]
        self._arrived[:, number] += np.bincount(threads.blocks, minlength=self._batch.count)
        if count is not None:
            self._expected[threads.blocks, number] = count
        if waits:
            self._waiting.append((resume, number, threads))
        return self.released()

    def released(self) -> list[tuple[Place, int, Threads]]:
        """The waiting threads whose barrier is complete; the barrier starts over."""
        if not self._arrived.any():
            return []
        living = self._batch.alive.reshape(self._batch.count, -1).sum(axis=1)
        expected = np.where(self._expected > 0, self._expected, living[:, None])
        complete = (self._arrived > 0) & (self._arrived >= expected)
        if not complete.any():
            return []
        self._complete(complete, self._arrived[complete])
        released, waiting = [], []
        for place, number, threads in self._waiting:
            may_go = complete[threads.blocks, number]
            if may_go.any():
                released.append((place, number, threads.where(may_go)))
            if not may_go.all():
                waiting.append((place, number, threads.where(~may_go)))
        self._waiting = waiting
        return released

    def _complete(self, where: Any, totals: Any) -> None:
        """Start barriers over; the votes are kept until the released threads have read them."""
        self.last_votes[where] = self._votes[where]
        self.last_totals[where] = totals
        self._votes[where] = 0
        self._arrived[where] = 0
        self._expected[where] = 0

    def state(self, block: int, number: int) -> tuple[int, int]:
        """How many threads have arrived at a barrier, and how many are expected."""
        lanes = self._batch.block_lanes
        living = int(self._batch.alive[block * lanes : (block + 1) * lanes].sum())
        return int(self._arrived[block, number]), int(self._expected[block, number]) or living

    def waiting(self) -> list[tuple[Place, int, Threads]]:
        """The threads that still wait."""
        return list(self._waiting)


def _check_number(number: int) -> None:
    if not 0 <= number < _COUNT:
        raise PtxlabError(f"barrier {number}: there are 0 to {_COUNT - 1}")


class ClusterBarriers:
    """How many threads of each cluster have arrived at its barrier, and how often it was completed."""

    def __init__(self, batch: Batch) -> None:
        clusters = batch.count // batch.grid.cluster_size
        self._batch = batch
        self._arrived = np.zeros(clusters, dtype=np.int64)
        self._phases = np.zeros(clusters, dtype=np.int64)
        self._phase_of = np.zeros(batch.size, dtype=np.int64)  # in which each thread arrived

    def arrive(self, threads: Threads) -> bool:
        """Threads arrive; returns whether they complete a barrier."""
        clusters = threads.blocks // self._batch.grid.cluster_size
        self._phase_of[threads.indices] = self._phases[clusters]
        self._arrived += np.bincount(clusters, minlength=len(self._arrived))
        return self.complete()

    def complete(self) -> bool:
        """Start barriers over at which all running threads have arrived; returns whether there are any."""
        living = self._batch.alive.reshape(len(self._arrived), -1).sum(axis=1)
        complete = (self._arrived > 0) & (self._arrived >= living)
        if not complete.any():
            return False
        self._arrived[complete] = 0
        self._phases[complete] += 1
        return True

    def state(self, cluster: int) -> tuple[int, int]:
        """How many threads have arrived at the barrier of a cluster, and how many are expected."""
        living = self._batch.alive.reshape(len(self._arrived), -1)[cluster]
        return int(self._arrived[cluster]), int(np.count_nonzero(living))

    def passed(self, threads: Threads) -> NDArray[np.bool_]:
        """Whether the barrier at which each thread arrived is complete."""
        clusters = threads.blocks // self._batch.grid.cluster_size
        return np.asarray(self._phases[clusters] > self._phase_of[threads.indices])


class RegisterPool:
    """Registers that warps of a block give back and take with `setmaxnreg`. PTX ISA, "setmaxnreg".

    A kernel begins with as many as `.maxnreg` says, or as its largest block leaves for each thread; where it
    states neither, nothing waits.
    """

    _OF_AN_SM = 1 << 16
    _UNIT = 8

    def __init__(self, batch: Batch, function: Function) -> None:
        directives = function.directives
        block = directives.get("reqntid") or directives.get("maxntid")
        first = directives["maxnreg"][0] if directives.get("maxnreg") else 0
        if not first and block:
            threads = int(np.prod(block)) * (directives.get("minnctapersm") or (1,))[0]
            first = self._OF_AN_SM // threads // self._UNIT * self._UNIT
        self._batch = batch
        self._first = first
        self._limits = np.full(batch.size // 32, first, dtype=np.int64)
        self._free = np.zeros(batch.count, dtype=np.int64)

    def resize(self, threads: Threads, count: int) -> NDArray[np.bool_]:
        """Give each warp `count` registers in each thread; whether that was possible, for each thread."""
        granted = np.ones(threads.count, dtype=np.bool_)
        if not self._first:
            return granted
        warps = threads.indices >> 5
        for warp in np.unique(warps).tolist():
            block = warp * 32 // self._batch.block_lanes
            needed = (count - int(self._limits[warp])) * 32
            if needed > self._free[block]:
                granted[warps == warp] = False
                continue
            self._free[block] -= needed
            self._limits[warp] = count
        return granted

    def ended(self, threads: Threads) -> bool:
        """Warps without a running thread give their registers back; whether there are any."""
        if not self._first:
            return False
        before = int(self._free.sum())
        for warp in np.unique(threads.indices >> 5).tolist():
            if not self._batch.alive[warp * 32 : warp * 32 + 32].any():
                self._free[warp * 32 // self._batch.block_lanes] += self._limits[warp] * 32
                self._limits[warp] = 0
        return int(self._free.sum()) > before

    def state(self, threads: Threads, count: int) -> tuple[int, int]:
        """How many registers are free in the block of a warp, and how many it needs."""
        warp = int(threads.indices[0]) >> 5
        free = int(self._free[warp * 32 // self._batch.block_lanes])
        return free, (count - int(self._limits[warp])) * 32


# -- exited lanes that others of their warp wait for ---------------------------------------------------------


class BypassingLanes:
    """Lanes of a batch that have passed by a place where others wait for them, by its position."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._lanes: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self._reachable_from: dict[tuple[int, int], frozenset[int]] = {}

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
        """Note threads that others wait for at `index` of a function, and that are elsewhere in it.

        Threads that have branched off for good, such as to an early return, do not count.
        """
        if threads.count and elsewhere in self._reachable(function, index):
            lanes = self._lanes.setdefault(position, np.zeros(self._batch.size, dtype=np.bool_))
            lanes[threads.indices] = True

    def pop(self, exited: Threads) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_]]]:
        """Which of the exited threads have passed by, by position; they are forgotten."""
        for position, lanes in list(self._lanes.items()):
            bypassing = np.zeros(self._batch.size, dtype=np.bool_)
            bypassing[exited.indices] = lanes[exited.indices]
            lanes[exited.indices] = False
            yield position, bypassing

    def forget(self, position: tuple[int, ...]) -> None:
        """Forget a position at which no thread waits any more."""
        del self._lanes[position]

    def _reachable(self, function: Function, index: int) -> frozenset[int]:
        """Instructions that threads may reach from one; the end of the kernel does not count."""
        key = (id(function), index)
        if key not in self._reachable_from:
            instructions = function.instructions
            reachable: set[int] = set()
            frontier = [index]
            while frontier:
                following = set(successors(instructions, frontier.pop())) - reachable
                following = {target for target in following if target < len(instructions)}
                reachable |= following
                frontier += following
            self._reachable_from[key] = frozenset(reachable - _ends(instructions))
        return self._reachable_from[key]


def _ends(instructions: tuple[PtxInstruction, ...]) -> set[int]:
    """`ret`, `exit`, and instructions without a source line that only lead there.

    If the kernel ends with the same store as an early return before a barrier, NVRTC merges the two and puts
    them on line 0.
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
