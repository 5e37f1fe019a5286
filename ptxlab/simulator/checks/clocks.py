"""What happens before what: which accesses of other threads happen before a thread's next one.

The rule is stated in `clocks_plain.py`, with sets of accesses; `tests/simulator/test_clocks.py` compares it
with this fast form on random kernels. With named barriers and mbarriers beside flags more order is assumed
here (`release_acquire.py`).

Each kind of synchronisation has a file of its own, which says what it hands from thread to thread:

    vector_clocks.py     the tables that hold what each thread knows, and how clocks work
    barrier_clocks.py    barriers of a block, of a warp and of a cluster
    mbarrier_clocks.py   arrivals and waits
    flag_clocks.py       fences and flags, in a block and in the launch; release_acquire.py for one scope
    proxy_clocks.py      fence.proxy.async
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..launch_threads import Batch
from .barrier_clocks import BarrierClocks
from .flag_clocks import FlagClocks
from .logical_time import LogicalTime
from .mbarrier_clocks import MbarrierClocks
from .proxy_clocks import ProxyClocks
from .vector_clocks import LaneRows, LastBarriers, WorkClocks


class Clocks:
    """The clocks of a batch's threads; `published` is as in `FlagClocks`."""

    def __init__(self, batch: Batch, time: LogicalTime, published: NDArray[np.int64]) -> None:
        self.batch = batch
        self.time = time
        self.lanes = batch.block_lanes
        self.first_thread = len(published) * self.lanes  # the batch's first thread, counted in the launch
        self.last = LastBarriers(batch, time.now)
        self.rows = LaneRows(batch)
        self.work = WorkClocks(self.rows)
        self.flags = FlagClocks(time, self.rows, self.last, published)
        self.barriers = BarrierClocks(time, self.rows, self.last, self.work, self.flags)
        self.mbarriers = MbarrierClocks(time, self.rows, self.work, self.flags, self.barriers)
        self.proxies = ProxyClocks(time, self.rows, self.last, self.flags)

    def ordered(
        self,
        threads: NDArray[Any],
        others: NDArray[Any],
        times: NDArray[Any],
        written: bool,
        *,
        seen: bool = False,
    ) -> NDArray[np.bool_]:
        """Whether what others did at these times happens before what the threads do now.

        They wrote, or read global memory, or else read shared memory. All are indices into the batch; those
        of earlier batches are negative. With `seen`, a flag orders even if its reader has not acquired it.
        """
        if len(others) and others.min() < 0:
            earlier, here = others < 0, others >= 0
            ordered = np.zeros(len(threads), dtype=np.bool_)
            ordered[here] = self.ordered(threads[here], others[here], times[here], written, seen=seen)
            blocks = (others[earlier] + self.first_thread) // self.lanes
            flags = self.flags.everywhere.read_flag if seen else self.flags.everywhere.acquired
            ordered[earlier] = times[earlier] <= self.flags.published_before[blocks]
            ordered[earlier] &= times[earlier] < flags[threads[earlier] >> 5]
            return ordered
        return np.asarray((threads == others) | (times <= self.known(threads, others, written, seen=seen)))

    def known(
        self, threads: NDArray[Any], others: NDArray[Any], written: bool, *, seen: bool = False
    ) -> NDArray[np.int64]:
        """Up to what time all that others did, as in `ordered`, happens before what the threads do now.

        It is the latest that a barrier of the block, warp or cluster, the matrix, or a flag says.
        """
        last, flags, cluster_size = self.last, self.flags, self.batch.grid.cluster_size
        warp, other_warp = threads >> 5, others >> 5
        block, other_block = threads // self.lanes, others // self.lanes
        of_other_blocks: NDArray[np.int64] | int = last.begun
        if cluster_size > 1:
            of_cluster = last.cluster_writes[block, other_block % cluster_size]
            of_cluster = of_cluster if written else last.cluster[block]
            same_cluster = block // cluster_size == other_block // cluster_size
            of_other_blocks = np.where(same_cluster, of_cluster, last.begun)
        known = np.where(block == other_block, last.block[block], of_other_blocks)
        known = np.where(warp == other_warp, np.maximum(known, last.warp[warp]), known)
        if self.rows.matrix is not None:
            joined = self.rows.matrix[block, self.rows.of_lane[threads % self.lanes], others % self.lanes]
            known = np.where(block == other_block, np.maximum(known, joined), known)
        if flags.everywhere.has_rows:
            known = np.maximum(known, flags.everywhere.known_times(warp, other_warp, seen=seen))
        if flags.in_block.has_rows:
            acquired = flags.in_block.known_times(warp, other_warp, seen=seen)
            known = np.where(block == other_block, np.maximum(known, acquired), known)
        return np.asarray(known, dtype=np.int64)

    def are_blocks_uniform(self) -> bool:
        """Whether threads of each block know of each other what those of the first block do."""
        flags, rows = self.flags, self.rows
        if flags.in_block.differs_between_blocks() or flags.everywhere.differs_between_blocks():
            return False
        times: list[NDArray[Any]] = [self.last.block, self.last.cluster, self.last.warp, rows.work]
        times += [matrix for matrix in (rows.matrix, rows.fenced_matrix) if matrix is not None]
        by_block = [array.reshape(self.batch.count, -1) for array in times]
        same = all(bool((array == array[0]).all()) for array in by_block)
        return same and not self.proxies.differ_between_blocks()
