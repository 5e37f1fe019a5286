"""`fence.proxy.async`: which ordinary stores the async proxy is sure to see.

A fence covers what its thread knows of at that moment, its own stores among it:

    thread 0   stores x
               barrier of the block
    thread 1   fence.proxy.async, then starts a bulk copy of x     covered: thread 1 knew of the store
    thread 1   starts a bulk copy of x, without the fence          not covered, though the barrier orders both

So the clocks are kept as they were at each thread's last fence. `proxy_fences.py` asks for each access
through the async proxy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .flag_clocks import FlagClocks
from .logical_time import LogicalTime
from .vector_clocks import LaneRows, LastBarriers


class ProxyClocks:
    """What threads knew at their last `fence.proxy.async`."""

    def __init__(self, time: LogicalTime, rows: LaneRows, last: LastBarriers, flags: FlagClocks) -> None:
        self._lanes = rows.lanes
        self._time = time
        self._rows = rows  # `fenced_matrix` is the matrix as it was at the fences
        self._last = last
        self._flags = flags
        self.init_fenced = np.zeros(rows.batch.size, dtype=np.int64)  # the last fence.mbarrier_init
        #: Each thread's last fence.proxy.async, and at that fence: the last barriers of its block and warp.
        self._fences = np.zeros((3, rows.batch.size), dtype=np.int64)
        self.fenced = self._fences[0]
        #: What each warp had seen on flags about the warps of its block, at its last fence.proxy.async.
        self._seen: NDArray[np.int32] | None = None

    def fence(self, threads: NDArray[Any]) -> None:
        """Threads execute fence.proxy.async: it covers what they know of."""
        known = (self._last.block[threads // self._lanes], self._last.warp[threads >> 5])
        for times, time in zip(self._fences, (self._time.now, *known), strict=True):
            times[threads] = time
        warps = np.flatnonzero(np.bincount(threads >> 5))
        for scope in (self._flags.in_block, self._flags.everywhere):
            if scope.has_rows:
                if self._seen is None:
                    shape = self._fences.shape[1] // 32, self._lanes // 32
                    self._seen = np.zeros(shape, dtype=np.int32)
                seen = scope.own_block_times(warps, seen=True)
                self._seen[warps] = np.maximum(self._seen[warps], seen)
        rows = self._rows
        if rows.matrix is None:
            return
        for blocks, lanes in rows.patterns(threads):
            where = np.ix_(blocks, rows.own_rows(lanes))  # those in a row have had the same fence
            if rows.fenced_matrix is None:
                rows.fenced_matrix = np.zeros_like(rows.matrix)
            rows.fenced_matrix[where] = rows.matrix[where]

    def covers(
        self, threads: NDArray[Any], writers: NDArray[Any], times: NDArray[Any], group: int
    ) -> NDArray[np.bool_]:
        """Whether a proxy fence of each thread, or of one in its group of so many, covers another's write.

        At the fence it must have known of what the writer did at that time.
        """
        fences, which = self._fences, threads
        if group > 1:
            fences, which = fences.reshape(3, -1, group).max(axis=2), threads // group
        fence_time, block_barrier, warp_barrier = (row[which] for row in fences)
        same_warp = threads >> 5 == writers >> 5
        covered = (block_barrier >= times) | (same_warp & (warp_barrier >= times))
        block, same_block = threads // self._lanes, threads // self._lanes == writers // self._lanes
        if self._seen is not None:
            seen, warps = self._seen, threads >> 5
            if group > 1:
                seen, warps = seen.reshape(-1, group // 32, seen.shape[1]).max(axis=1), threads // group
            covered |= (seen[warps, writers % self._lanes >> 5] >= times) & same_block
        fenced = self._rows.fenced_matrix
        if fenced is not None:
            if group > 1:
                fenced = self._shared_by_groups(fenced, group)
            rows = self._rows.of_lane[threads % self._lanes]
            covered |= (fenced[block, rows, writers % self._lanes] >= times) & same_block
        return np.asarray(covered | ((threads == writers) & (fence_time >= times)))

    def _shared_by_groups(self, fenced: NDArray[np.int32], group: int) -> NDArray[np.int32]:
        """The matrix where all lanes of a group know what any of them knew at its fence."""
        merged = fenced
        for first in range(0, self._lanes, group):
            members = self._rows.rows_of(np.arange(first, first + group))
            if len(members) > 1:
                merged = merged.copy() if merged is fenced else merged
                merged[:, members] = fenced[:, members].max(axis=1, keepdims=True)
        return merged

    def differ_between_blocks(self) -> bool:
        """Whether threads of blocks have had other fences than those of the first block."""
        blocks = self._fences.shape[1] // self._lanes
        times = [*self._fences, self.init_fenced] + ([] if self._seen is None else [self._seen])
        by_block = [array.reshape(blocks, -1) for array in times]
        return any(bool((array != array[0]).any()) for array in by_block)
