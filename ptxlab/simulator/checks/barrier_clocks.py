"""Barriers: who leaves one knows all that those who arrived there did and knew.

The barriers are those of a block (`bar`, `barrier`), of a warp (`bar.warp.sync`), and of a cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .flag_clocks import FlagClocks
from .logical_time import LogicalTime
from .vector_clocks import LaneRows, LastBarriers, WorkClocks, group_equal

_ARRIVES, _WAITS = 1, 2  # how a thread has arrived at a barrier


class BarrierClocks:
    """Merges the clocks of threads that meet at a barrier.

    If all threads of a block or warp meet, that is one number, in `LastBarriers`. If only some do, those that
    wait get the merged clocks of all that arrived, in rows of their own.
    """

    def __init__(
        self, time: LogicalTime, rows: LaneRows, last: LastBarriers, work: WorkClocks, flags: FlagClocks
    ) -> None:
        self._batch = rows.batch
        self._lanes = rows.lanes
        self._cluster_size = rows.batch.grid.cluster_size
        self._time = time
        self._rows = rows
        self._last = last
        self._work = work
        self._flags = flags
        self._arrived: dict[int, NDArray[np.int8]] = {}  # by barrier, how each thread has
        #: By cluster: what those that arrived at its barrier know of asynchronous work.
        self._cluster_work = np.zeros((self._batch.count // self._cluster_size, 0), dtype=np.int32)

    # -- barriers of a block ---------------------------------------------------------------------------------

    def arrive(self, number: int, threads: NDArray[Any], waits: bool) -> NDArray[np.bool_]:
        """Threads reach a barrier of their block; whose warps have not arrived as a whole.

        A whole warp may arrive twice, first with `bar.arrive`: each time counts.
        """
        arrived = self._arrived.setdefault(number, np.zeros(self._batch.size, dtype=np.int8))
        if len(threads) == self._batch.size and not arrived.any():
            arrived[:] = _WAITS if waits else _ARRIVES
            return np.zeros(len(threads), dtype=np.bool_)
        before = arrived.reshape(-1, 32).max(axis=1) > 0
        if before.any():
            now = np.zeros(self._batch.size, dtype=np.bool_)
            now[threads] = True
            lacking = self._batch.alive & ((arrived == 0) | ~now)
            before &= lacking.reshape(-1, 32).any(axis=1)
        arrived[threads] = _WAITS if waits else _ARRIVES
        return np.asarray(before[threads >> 5])

    def partial(self, number: int, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whose warps have lanes that still run and have not reached the barrier.

        It is called before each group of threads leaves; the first group of a block answers for all of it.
        """
        arrived = self._arrived[number]
        left = arrived.reshape(self._batch.count, self._lanes).max(axis=1) == 0
        absent = self._batch.alive & (arrived == 0)
        return np.asarray(absent.reshape(-1, 32).max(axis=1)[threads >> 5] & ~left[threads // self._lanes])

    def leave(self, number: int, threads: NDArray[Any]) -> None:
        """The barrier is complete for the blocks of these threads."""
        arrived = self._arrived.get(number)
        if arrived is None:
            return
        blocks = np.zeros(self._batch.count, dtype=np.bool_)
        blocks[threads // self._lanes] = True
        states = arrived.reshape(self._batch.count, self._lanes)
        blocks &= states.any(axis=1)
        if not blocks.any():
            return
        alive, rows = self._batch.alive.reshape(states.shape), self._rows
        whole = blocks & ~((states < _WAITS) & alive).any(axis=1)
        self._last.block[whole] = self._time.now
        self._flags.merge(whole)
        if self._work and whole.any():
            rows.work[whole] = rows.work[whole, : rows.count].max(axis=1, keepdims=True)
        rest = np.flatnonzero(blocks & ~whole)
        if len(rest):
            self._flags.merge(blocks & ~whole)
        for same, pattern in group_equal(rest, states[rest]):
            self._join(same, np.flatnonzero(pattern), np.flatnonzero(pattern == _WAITS))
        states[blocks] = 0
        self._last.update_known_to_all()

    # -- barriers of a warp ----------------------------------------------------------------------------------

    def sync_warps(self, threads: NDArray[Any], masks: int | NDArray[Any]) -> None:
        """Lanes of warps execute `bar.warp.sync`, each with those that its mask names."""
        groups = np.unique(masks)
        if len(groups) > 1:
            for mask in groups:
                self.sync_warps(threads[masks == mask], int(mask))
            return
        present = np.zeros(self._batch.size, dtype=np.bool_)
        present[threads] = True
        by_warp = present.reshape(-1, 32)
        missing = self._batch.alive.reshape(-1, 32) & ~by_warp
        whole = np.asarray(by_warp.any(axis=1) & ~missing.any(axis=1))
        self._last.warp[whole] = self._time.now
        if self._work and self._rows.count > 1:
            for warp in range(self._lanes // 32):
                self._share_work(np.flatnonzero(whole.reshape(self._batch.count, -1)[:, warp]), warp)
        partial = threads if self._rows.matrix is not None else threads[~whole[threads >> 5]]
        for blocks, lanes in self._rows.patterns(partial):
            for warp in np.unique(lanes // 32):
                ours = lanes[lanes // 32 == warp]
                self._join(blocks, ours, ours)

    def _share_work(self, blocks: NDArray[Any], warp: int) -> None:
        """All lanes of a warp of these blocks know of the work that any of them knows of."""
        rows, lanes = self._rows, np.arange(warp * 32, warp * 32 + 32)
        if len(blocks) and len(rows.rows_of(lanes)) > 1:
            where = np.ix_(blocks, rows.own_rows(lanes))
            rows.work[where] = rows.work[where].max(axis=1, keepdims=True)

    # -- the barrier of a cluster ----------------------------------------------------------------------------

    def arrive_at_cluster(self, threads: NDArray[Any]) -> None:
        """Threads arrive at the barrier of their cluster, which gets what they know of asynchronous work."""
        clusters, width = len(self._cluster_work), self._rows.work.shape[2]
        before, self._cluster_work = self._cluster_work, np.zeros((clusters, width), dtype=np.int32)
        self._cluster_work[:, : before.shape[1]] = before
        slots, first = np.unique(self._rows.slot[threads], return_index=True)
        owners = threads[first] // self._lanes // self._cluster_size
        np.maximum.at(self._cluster_work, owners, self._rows.work.reshape(-1, width)[slots])

    def leave_cluster(self, blocks: NDArray[Any]) -> None:
        """Blocks leave the barrier of their cluster: they know what the threads that arrived know."""
        handed = self._cluster_work[blocks // self._cluster_size][:, None]
        columns = self._rows.work[:, :, : handed.shape[2]]
        columns[blocks] = np.maximum(columns[blocks], handed)
        leaving = np.zeros(self._batch.count, dtype=np.bool_)
        leaving[blocks] = True
        self._flags.merge(leaving, self._cluster_size)
        self._last.update_known_to_all()

    # -- lanes that learn from others ------------------------------------------------------------------------

    def merged(self, blocks: NDArray[Any], lanes: NDArray[Any]) -> NDArray[np.int32]:
        """The merged clocks of these lanes, of threads of their block: [blocks, threads]."""
        merged = self._rows.get_matrix()[np.ix_(blocks, self._rows.rows_of(lanes))].max(axis=1)
        merged = np.maximum(merged, self._last.block[blocks, None].astype(np.int32))
        by_warp = merged.reshape(len(blocks), -1, 32)
        warps = np.flatnonzero(np.bincount(lanes >> 5))
        own = self._last.warp.reshape(self._batch.count, -1)[np.ix_(blocks, warps)].astype(np.int32)
        by_warp[:, warps] = np.maximum(by_warp[:, warps], own[..., None])
        merged[:, lanes] = self._time.now
        return np.asarray(merged)

    def _join(self, blocks: NDArray[Any], sources: NDArray[Any], targets: NDArray[Any]) -> None:
        """The targets learn what the sources know, and what they did."""
        rows, merged = self._rows, self.merged(blocks, sources)
        where = np.ix_(blocks, rows.own_rows(targets))
        matrix = rows.get_matrix()
        matrix[where] = np.maximum(matrix[where], merged[:, None])
        if self._work:
            known = rows.work[np.ix_(blocks, rows.rows_of(sources))].max(axis=1)
            rows.work[where] = np.maximum(rows.work[where], known[:, None])
