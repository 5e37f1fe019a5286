"""mbarriers: an arrival hands over what its thread did and knew; a wait gets it once the phase is complete.

    thread 0   writes x, arrives        the mbarrier has collected thread 0's clock
    thread 1   writes y, arrives        ... merged with thread 1's
               the phase is complete    both are released together
    thread 2   has waited               knows of both writes

Arrivals of the next phase are collected meanwhile, and do not count before that one is complete. Copies that
complete on an mbarrier are known to be done in the same way: those issued before its last complete phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .barrier_clocks import BarrierClocks
from .flag_clocks import FlagClocks
from .logical_time import LogicalTime
from .vector_clocks import LaneRows, WorkClocks

#: What is known of the threads of each block, and of asynchronous work: [blocks, threads], [blocks, columns].
_Clocks = tuple[NDArray[np.int32], NDArray[np.int32]]


class MbarrierClocks:
    """What mbarriers have collected from arrivals and released, by the column of their asynchronous work."""

    def __init__(
        self, time: LogicalTime, rows: LaneRows, work: WorkClocks, flags: FlagClocks, barriers: BarrierClocks
    ) -> None:
        self._blocks = rows.batch.count
        self._lanes = rows.lanes
        self._time = time
        self._rows = rows
        self._work = work
        self._flags = flags
        self._barriers = barriers
        self._collected: dict[int, _Clocks] = {}  # from all arrivals so far
        self._released: dict[int, _Clocks] = {}  # what was collected when the last phase was complete
        self._phases: dict[int, NDArray[np.int64]] = {}  # when that was, in each block

    def arrive(self, threads: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of their block."""
        for address, ours in _by_address(threads, addresses):
            known, work = self._collected_at(address)
            for blocks, lanes in self._rows.patterns(ours):
                known[blocks] = np.maximum(known[blocks], self._barriers.merged(blocks, lanes))
                done = self._rows.work[np.ix_(blocks, self._rows.rows_of(lanes))].max(axis=1)
                work[blocks] = np.maximum(work[blocks], done)

    def arrive_remotely(self, threads: NDArray[Any], owners: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of other blocks, which get what they know of asynchronous work."""
        for address in np.unique(addresses):
            _, work = self._collected_at(int(address))
            ours = addresses == address
            rows = self._rows.work.reshape(-1, self._rows.work.shape[2])[self._rows.slot[threads[ours]]]
            np.maximum.at(work, owners[ours], rows)

    def _collected_at(self, address: int) -> _Clocks:
        """What an mbarrier has collected, with all columns that there are."""
        column = self._work.column(address)
        width = self._rows.work.shape[2]
        if column not in self._collected:
            shapes = (self._blocks, self._lanes), (self._blocks, width)
            self._collected[column] = (np.zeros(shapes[0], np.int32), np.zeros(shapes[1], np.int32))
        known, work = self._collected[column]
        if width > work.shape[1]:
            work = np.concatenate([work, np.zeros((len(work), width - work.shape[1]), np.int32)], axis=1)
            self._collected[column] = (known, work)
        return known, work

    def complete_phase(self, blocks: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Phases of mbarriers are complete: what was issued and what arrived until now counts."""
        for address, those in _by_address(blocks, addresses):
            column = self._work.column(address)
            complete = np.zeros(self._blocks, dtype=np.bool_)
            complete[those] = True
            ours = np.flatnonzero(complete)
            self._phases.setdefault(column, np.zeros(self._blocks, dtype=np.int64))[ours] = self._time.now
            if column not in self._collected:
                continue
            known, work = self._collected[column]
            before = self._released.get(column)
            released = (np.zeros_like(known), np.zeros_like(work))
            if before is not None:
                released[0][:], released[1][:, : before[1].shape[1]] = before
            released[0][ours], released[1][ours] = known[ours], work[ours]
            self._released[column] = released

    def phase_time(self, column: int, block: int) -> int:
        """When the last phase of an mbarrier was complete in a block; 0 for never."""
        return int(self._phases[column][block]) if column in self._phases else 0

    def wait(self, threads: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads leave mbarriers of their block: they know what the threads that arrived know."""
        if self._flags.everywhere.has_rows or self._flags.in_block.has_rows:
            self._flags.merge(np.bincount(threads // self._lanes, minlength=self._blocks) > 0)
        for address, ours in _by_address(threads, addresses):
            column = self._work.column(address)
            phases = self._phases.get(column)
            known, work = self._released.get(column, (None, None))
            for blocks, lanes in self._rows.patterns(ours):
                rows = self._rows.own_rows(lanes)
                if phases is not None:
                    self._work.complete_rows(blocks, rows, column, phases[blocks, None])
                if known is None or work is None:
                    continue
                where = np.ix_(blocks, rows)
                matrix, columns = self._rows.get_matrix(), self._rows.work[:, :, : work.shape[1]]
                matrix[where] = np.maximum(matrix[where], known[blocks][:, None])
                columns[where] = np.maximum(columns[where], work[blocks][:, None])


def _by_address(threads: NDArray[Any], addresses: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Each address, and the threads that use it."""
    if len(addresses) and (addresses == addresses[0]).all():
        yield int(addresses[0]), threads
        return
    for address in np.unique(addresses).tolist():
        yield address, threads[addresses == address]
