"""The tables that hold the vector clocks of a batch's threads.

A thread's vector clock holds, for each other thread, the time up to which everything that one did happens
before the thread's next access. Synchronisation merges clocks element by element, taking the later time:

    time 1    thread 0 writes x
    time 2    thread 0 arrives at an mbarrier        the mbarrier holds its clock, with 2 for thread 0 itself
    time 3    thread 1 has waited for the mbarrier   its clock has 2 for thread 0
    time 4    thread 1 reads x                       the write at time 1 is not after 2: it happens before

Most of the vectors are never stored. A barrier of a whole block or warp sets one number for all its threads:
`LastBarriers`. Only named barriers, partial masks and mbarriers need a matrix of clocks, made when the first
of them comes: `LaneRows`. Asynchronous work has columns of its own beside those of threads: `WorkClocks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..launch_threads import Batch

_COLUMNS = 8  # of asynchronous work, at first
_ROWS = 4  # of lanes, at first
_PATTERNS = 16  # of threads that are kept


class LastBarriers:
    """The last barrier of each whole block, warp and cluster.

    A thread knows all that the threads of its block did before `block`, those of its warp before `warp`, and
    those of the other blocks of its cluster before `cluster` and `cluster_writes`.
    """

    def __init__(self, batch: Batch, now: int) -> None:
        self.begun = now
        self.block = np.full(batch.count, now, dtype=np.int64)
        self.warp = np.full(batch.size // 32, now, dtype=np.int64)
        #: Up to when a block knows what other blocks of its cluster read in shared memory, and what each of
        #: them wrote, or read in global memory.
        self.cluster = np.full(batch.count, now, dtype=np.int64)
        self.cluster_writes = np.full((batch.count, batch.grid.cluster_size), now, dtype=np.int64)
        self.update_known_to_all()

    def update_known_to_all(self) -> None:
        """Note up to what time all threads know all that happened in shared memory: that cannot race."""
        self.known_to_all = int(self.block.min())
        if self.cluster_writes.shape[1] > 1:
            self.known_to_all = min(self.known_to_all, int(self.cluster_writes.min()))


class LaneRows:
    """Tables with a row for lanes that know the same in every block, since they synchronised together.

    At first all lanes share row 0. Before some lanes learn what others do not, they get a row of their own:
    a copy of what they know so far. All tables are [blocks, rows, columns].
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.lanes = batch.block_lanes
        self.count = 1  # of rows in use
        self.of_lane = np.zeros(self.lanes, dtype=np.intp)  # the row of each lane of a block
        self.matrix: NDArray[np.int32] | None = None  # what is known of each thread of the block
        self.fenced_matrix: NDArray[np.int32] | None = None  # the same at the last fence.proxy.async
        self.work = np.zeros((batch.count, _ROWS, _COLUMNS), dtype=np.int32)  # what is known of columns
        self.slot = self._slots()  # the row of each thread, counted through all blocks
        #: By id of the threads, which are kept, too.
        self._patterns: dict[int, tuple[NDArray[Any], list[tuple[NDArray[Any], NDArray[Any]]]]] = {}

    def rows_of(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes."""
        present = np.zeros(self.count, dtype=np.bool_)
        present[self.of_lane[lanes]] = True
        return np.flatnonzero(present)

    def own_rows(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes, which they share with no others from now on."""
        chosen = np.zeros(self.lanes, dtype=np.bool_)
        chosen[lanes] = True
        rows = self.rows_of(lanes)
        elsewhere = np.zeros(self.count, dtype=np.bool_)
        elsewhere[self.of_lane[~chosen]] = True
        shared = rows[elsewhere[rows]]
        for row in shared.tolist():
            self.of_lane[chosen & (self.of_lane == row)] = self._copy_row(row)
        if not len(shared):
            return rows
        self.slot = self._slots()
        return self.rows_of(lanes)

    def _copy_row(self, row: int) -> int:
        """Append a copy of a row to each table; its number."""
        if self.count == self.work.shape[1]:
            self.work = _doubled(self.work, 1)
            if self.matrix is not None:
                self.matrix = _doubled(self.matrix, 1)
            if self.fenced_matrix is not None:
                self.fenced_matrix = _doubled(self.fenced_matrix, 1)
        for table in (self.work, self.matrix, self.fenced_matrix):
            if table is not None:
                table[:, self.count] = table[:, row]
        self.count += 1
        return self.count - 1

    def _slots(self) -> NDArray[np.intp]:
        first = np.arange(self.batch.count) * self.work.shape[1]
        return np.asarray((first[:, None] + self.of_lane).reshape(-1))

    def get_matrix(self) -> NDArray[np.int32]:
        """The matrix, made at its first use."""
        if self.matrix is None:
            self.matrix = np.zeros((*self.work.shape[:2], self.lanes), dtype=np.int32)
        return self.matrix

    def widen_work(self) -> None:
        """Twice as many columns of asynchronous work."""
        self.work = _doubled(self.work, 2)

    def patterns(self, threads: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Blocks whose threads are the same lanes, and those lanes; kept, since loops repeat them."""
        known = self._patterns.get(id(threads))
        if known is not None and known[0] is threads:
            return known[1]
        present = np.zeros((self.batch.count, self.lanes), dtype=np.bool_)
        present.reshape(-1)[threads] = True
        blocks = np.flatnonzero(present.any(axis=1))
        patterns = [(ours, np.flatnonzero(lanes)) for ours, lanes in group_equal(blocks, present[blocks])]
        if len(self._patterns) == _PATTERNS:
            self._patterns.clear()
        self._patterns[id(threads)] = threads, patterns
        return patterns


class Warpgroup(NamedTuple):
    """A warpgroup of each block."""

    number: int


#: What asynchronous work belongs to: an mbarrier, by its address in the block, or the wgmma of a warpgroup.
_Owner: TypeAlias = int | Warpgroup


class WorkClocks:
    """What threads know of asynchronous work: copies that complete on an mbarrier, wgmma of a warpgroup.

    Its owner has a column, in which each row of lanes has the time up to which the work issued is done.
    """

    def __init__(self, rows: LaneRows) -> None:
        self._rows = rows
        self._columns: dict[_Owner, int] = {}

    def __bool__(self) -> bool:
        """Whether there has been any."""
        return bool(self._columns)

    def column(self, owner: _Owner) -> int:
        """The column of what asynchronous work belongs to."""
        if owner not in self._columns:
            self._columns[owner] = len(self._columns)
            if len(self._columns) > self._rows.work.shape[2]:
                self._rows.widen_work()
        return self._columns[owner]

    def owner_of(self, column: int) -> _Owner:
        """What a column belongs to."""
        return list(self._columns)[column]

    def complete(self, threads: NDArray[Any], column: int, times: NDArray[Any]) -> None:
        """Threads know that a column's work is done that was issued up to a time, one for each block."""
        for blocks, lanes in self._rows.patterns(threads):
            self.complete_rows(blocks, self._rows.own_rows(lanes), column, times[blocks, None])

    def complete_rows(
        self, blocks: NDArray[Any], rows: NDArray[Any], column: int, times: NDArray[Any]
    ) -> None:
        """The same for rows of these blocks."""
        known, where = self._rows.work[:, :, column], np.ix_(blocks, rows)
        known[where] = np.maximum(known[where], times)

    def are_done(
        self, threads: NDArray[Any], columns: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Whether each thread knows that the work of a column, issued at a time, is done.

        A copy whose mbarrier is not known yet has no column: other threads of the same instruction see it so.
        """
        width = self._rows.work.shape[2]
        has_column = columns < width
        indices = self._rows.slot[threads] * width + np.where(has_column, columns, 0)
        return np.asarray(has_column & (self._rows.work.reshape(-1)[indices] >= times))


def _doubled(table: NDArray[np.int32], axis: int) -> NDArray[np.int32]:
    """A table with as many zeros behind it along an axis."""
    return np.concatenate([table, np.zeros_like(table)], axis=axis)


def group_equal(blocks: NDArray[Any], rows: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Blocks whose rows are equal, and that row."""
    if not len(blocks):
        return
    if (rows == rows[0]).all():
        yield blocks, rows[0]
        return
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield blocks[which.reshape(-1) == number], pattern
