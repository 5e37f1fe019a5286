"""Vector clocks: which accesses of other threads happen before a thread's next one.

`clocks_plain.py` states the rule, with sets of accesses; with named barriers and mbarriers beside flags more
order is assumed here (`release_acquire.py`).

Every event has a logical time, a number that only grows. A thread's vector clock holds, for each other
thread, the time up to which it knows what that thread did. Synchronisation merges clocks element by element.

Most of the vectors are never stored. A barrier of a whole block or warp sets one number for all its threads.
Only named barriers, partial masks and mbarriers need a matrix of clocks, made when the first of them comes;
lanes that have always synchronised together, in every block, share one of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..events import Access
from ..launch_threads import Batch
from ..ptx.syntax import PtxInstruction
from .opcode_traits import Traits
from .release_acquire import ReleaseAcquire, turns

_COLUMNS = 8
_ROWS = 4
_PATTERNS = 16  # of threads that are kept


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


class Warpgroup(NamedTuple):
    """A warpgroup of each block."""

    number: int


#: What asynchronous work belongs to: an mbarrier, by its address in the block, or the wgmma of a warpgroup.
_Owner: TypeAlias = int | Warpgroup


class Clocks:
    """The vector clocks of a batch's threads: what they know of each other, and of asynchronous work.

    Asynchronous work (copies that complete on an mbarrier, the wgmma of a warpgroup) has columns of its own.
    `published` says of each block of earlier batches, in the order of the launch, up to what time other
    blocks can know what it did.
    """

    def __init__(self, batch: Batch, time: LogicalTime, published: NDArray[np.int64]) -> None:
        self.batch = batch
        self.time = time
        self.lanes = batch.block_lanes
        self._published_before = published
        self.first_thread = len(published) * self.lanes  # the batch's first thread, counted in the launch
        #: The last barrier of each whole block.
        self.block_time = np.full(batch.count, time.now, dtype=np.int64)
        #: Up to when a block knows what other blocks of its cluster read in shared memory, and what each of
        #: them wrote, or read in global memory.
        self.cluster_time = np.full(batch.count, time.now, dtype=np.int64)
        self.cluster_writes = np.full((batch.count, batch.grid.cluster_size), time.now, dtype=np.int64)
        self._cluster_work = np.zeros((batch.count // batch.grid.cluster_size, 0), dtype=np.int32)
        self.begun = time.now
        self.warp_time = np.full(batch.size // 32, time.now, dtype=np.int64)
        self.in_block = ReleaseAcquire(batch, in_block=True)
        self.everywhere = ReleaseAcquire(batch, in_block=False, any_published=bool(published.any()))
        #: Each block's first load from an array since its last fence, by id of the array.
        self._loaded: dict[int, NDArray[np.int64]] = {}
        self.init_fenced = np.zeros(batch.size, dtype=np.int64)  # each thread's last fence.mbarrier_init
        #: Each thread's last fence.proxy.async, and at that fence: the last barriers of its block and warp.
        self._proxy_fences = np.zeros((3, batch.size), dtype=np.int64)
        self.proxy_fenced = self._proxy_fences[0]
        #: What each warp had seen on flags about the warps of its block, at its last fence.proxy.async.
        self._proxy_seen: NDArray[np.int32] | None = None
        self._row = np.zeros(self.lanes, dtype=np.intp)  # of each lane of a block
        self._rows = 1  # that are in use
        self._matrix: NDArray[np.int32] | None = None  # [blocks, rows, lanes]
        self._fenced_matrix: NDArray[np.int32] | None = None  # as each row was at its last fence.proxy.async
        self._work = np.zeros((batch.count, _ROWS, _COLUMNS), dtype=np.int32)
        self._slot = self._slots()
        self._columns: dict[_Owner, int] = {}
        #: By column of an mbarrier: what threads that arrived know of threads and of asynchronous work; when
        #: its last phase was complete in each block; and what arrivals knew by then.
        self._arrivals: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        self._phases: dict[int, NDArray[np.int64]] = {}
        self._released: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        #: By id of the threads, which are kept, too.
        self._known_patterns: dict[int, tuple[NDArray[Any], list[tuple[NDArray[Any], NDArray[Any]]]]] = {}
        self._arrived: dict[int, NDArray[np.int8]] = {}  # at each barrier: 1 arrives, 2 waits
        self.update_known_to_all()

    def update_known_to_all(self) -> None:
        """Note up to what time all threads know all that happened in shared memory: that cannot race."""
        self.known_to_all = int(self.block_time.min())
        if self.batch.grid.cluster_size > 1:
            self.known_to_all = min(self.known_to_all, int(self.cluster_writes.min()))

    def published(self) -> NDArray[np.int64]:
        """As `published` of the constructor, with the blocks of this batch."""
        blocks = self.everywhere.published.reshape(self.batch.count, -1).max(axis=1)
        return np.concatenate([self._published_before, blocks])

    # -- columns of asynchronous work ------------------------------------------------------------------------

    def column(self, owner: _Owner) -> int:
        """The column of what asynchronous work belongs to."""
        if owner not in self._columns:
            self._columns[owner] = len(self._columns)
            if len(self._columns) > self._work.shape[2]:
                self._work = _doubled(self._work, 2)
        return self._columns[owner]

    def owner_of(self, column: int) -> _Owner:
        """What a column belongs to."""
        return list(self._columns)[column]

    def complete(self, threads: NDArray[Any], column: int, times: NDArray[Any]) -> None:
        """Threads know that a column's work is done that was issued up to a time, one for each block."""
        for blocks, lanes in self._patterns(threads):
            self._complete(blocks, self._own_rows(lanes), column, times[blocks, None])

    def _complete(
        self, blocks: NDArray[Any], rows: NDArray[Any], column: int, times: int | NDArray[Any]
    ) -> None:
        known, where = self._work[:, :, column], np.ix_(blocks, rows)
        known[where] = np.maximum(known[where], times)

    def knows_work(
        self, threads: NDArray[Any], columns: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Whether each thread knows that the work of a column, issued at a time, is done.

        A copy whose mbarrier is not known yet has no column: other threads of the same instruction see it so.
        """
        has_column = columns < self._work.shape[2]
        indices = self._slot[threads] * self._work.shape[2] + np.where(has_column, columns, 0)
        return np.asarray(has_column & (self._work.reshape(-1)[indices] >= times))

    # -- rows of lanes that know the same --------------------------------------------------------------------

    def _rows_of(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes."""
        present = np.zeros(self._rows, dtype=np.bool_)
        present[self._row[lanes]] = True
        return np.flatnonzero(present)

    def _own_rows(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes, which they share with no others from now on."""
        chosen = np.zeros(self.lanes, dtype=np.bool_)
        chosen[lanes] = True
        rows = self._rows_of(lanes)
        elsewhere = np.zeros(self._rows, dtype=np.bool_)
        elsewhere[self._row[~chosen]] = True
        shared = rows[elsewhere[rows]]
        for row in shared.tolist():
            self._row[chosen & (self._row == row)] = self._copy_row(row)
        if not len(shared):
            return rows
        self._slot = self._slots()
        return self._rows_of(lanes)

    def _copy_row(self, row: int) -> int:
        """Append a copy of a row; its number."""
        if self._rows == self._work.shape[1]:
            self._work = _doubled(self._work, 1)
            if self._matrix is not None:
                self._matrix = _doubled(self._matrix, 1)
            if self._fenced_matrix is not None:
                self._fenced_matrix = _doubled(self._fenced_matrix, 1)
        self._work[:, self._rows] = self._work[:, row]
        for matrix in (self._matrix, self._fenced_matrix):
            if matrix is not None:
                matrix[:, self._rows] = matrix[:, row]
        self._rows += 1
        return self._rows - 1

    def _slots(self) -> NDArray[np.intp]:
        """The row of each thread, counted through all blocks."""
        first = np.arange(self.batch.count) * self._work.shape[1]
        return np.asarray((first[:, None] + self._row).reshape(-1))

    # -- order -----------------------------------------------------------------------------------------------

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
            published = self._published_before[(others[earlier] + self.first_thread) // self.lanes]
            flags = self.everywhere.read_flag if seen else self.everywhere.acquired
            ordered[earlier] = (times[earlier] <= published) & (times[earlier] < flags[threads[earlier] >> 5])
            return ordered
        return np.asarray((threads == others) | (times <= self.known(threads, others, written, seen=seen)))

    def known(
        self, threads: NDArray[Any], others: NDArray[Any], written: bool, *, seen: bool = False
    ) -> NDArray[np.int64]:
        """Up to what time all that others did, as in `ordered`, happens before what the threads do now."""
        warp, other_warp = threads >> 5, others >> 5
        block, other_block = threads // self.lanes, others // self.lanes
        size = self.batch.grid.cluster_size
        away: NDArray[np.int64] | int = self.begun
        if size > 1:
            away = self.cluster_writes[block, other_block % size] if written else self.cluster_time[block]
            away = np.where(block // size == other_block // size, away, self.begun)
        known = np.where(block == other_block, self.block_time[block], away)
        known = np.where(warp == other_warp, np.maximum(known, self.warp_time[warp]), known)
        if self._matrix is not None:
            learned = self._matrix[block, self._row[threads % self.lanes], others % self.lanes]
            known = np.where(block == other_block, np.maximum(known, learned), known)
        if self.everywhere.has_rows:
            known = np.maximum(known, self.everywhere.known_times(warp, other_warp, seen=seen))
        if self.in_block.has_rows:
            flagged = self.in_block.known_times(warp, other_warp, seen=seen)
            known = np.where(block == other_block, np.maximum(known, flagged), known)
        return np.asarray(known, dtype=np.int64)

    # -- fences and flags ------------------------------------------------------------------------------------

    def access_flags(self, access: Access, traits: Traits, *, reads: bool, writes: bool) -> None:
        """Threads read or write what may be flags; with `.cta` those are for threads of their block."""
        if traits.cta_scope:
            self.time.note_cta_scope()
        if traits.releases:
            self.fence(access.threads, cta_scope=traits.cta_scope, acquires=traits.acquires)
        has_matrix = self._matrix is not None
        for flags in (self.in_block,) if traits.cta_scope else (self.in_block, self.everywhere):
            nearer = self.in_block if flags is self.everywhere else None
            parts = turns(access) if reads and writes and flags.has_fenced else []
            for part in parts:
                flags.read(part, self.time.now, acquires=traits.acquires, named_barriers=has_matrix)
                flags.write(part, self.time.now, self.block_time, has_matrix, nearer)
            # many atomic operations at a word at once: as if each saw what all put there
            if writes and not parts:
                flags.write(access, self.time.now, self.block_time, has_matrix, nearer)
            if reads and not parts:
                flags.read(access, self.time.now, acquires=traits.acquires, named_barriers=has_matrix)

    def read_flags_since(self, threads: NDArray[Any], time: int) -> NDArray[np.bool_]:
        """Whether each thread's warp has read a flag after a time, itself or through a barrier."""
        warps = threads >> 5
        read = np.maximum(self.everywhere.read_flag[warps], self.in_block.read_flag[warps])
        return np.asarray(read > time)

    def have_narrow_fences(self, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each thread's warp has executed a fence for its block alone since it read a flag."""
        warps = threads >> 5
        return np.asarray(self.in_block.fenced[warps] > self.everywhere.read_flag[warps])

    def have_flags(self, threads: NDArray[Any], part: str, *, in_block: bool = False) -> NDArray[np.bool_]:
        """Whether this is a part of the opcode by which each thread's warp has read its last flag."""
        flags = self.in_block if in_block else self.everywhere
        times, which = np.unique(flags.read_flag[threads >> 5], return_inverse=True)
        readers = [self.time.instruction_at(time) for time in times.tolist()]
        has_part = [reader is not None and part in reader.parts for reader in readers]
        return np.array(has_part, dtype=np.bool_)[which]

    def note_loads(self, data: NDArray[np.uint8], threads: NDArray[Any]) -> None:
        """Threads load from an array through the caches of their SMs, which keep what was there."""
        blocks = np.flatnonzero(np.bincount(threads // self.lanes))
        loaded = self._loaded.setdefault(id(data), np.zeros(self.batch.count, dtype=np.int64))
        emptied = loaded[blocks] <= self._last_fences[blocks]
        loaded[blocks[emptied]] = self.time.now

    def may_be_old(
        self, data: NDArray[np.uint8], threads: NDArray[Any], writes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether the block of each thread has loaded from the array before it was written.

        A fence of the block for the whole device empties the cache.
        """
        blocks = threads // self.lanes
        loaded = self._loaded.get(id(data), np.zeros(self.batch.count, dtype=np.int64))[blocks]
        return np.asarray((loaded > self._last_fences[blocks]) & (loaded < writes))

    @property
    def _last_fences(self) -> NDArray[np.int64]:
        """When a warp of each block last executed a fence for the whole device; 0 for never."""
        return np.asarray(self.everywhere.fenced.reshape(self.batch.count, -1).max(axis=1))

    def has_published(self, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each thread's warp has written a flag after a fence; of earlier batches it is assumed."""
        warps = np.maximum(threads >> 5, 0)
        published = (self.everywhere.published[warps] > 0) | (self.in_block.published[warps] > 0)
        return np.asarray(published | (threads < 0))

    def fence(self, threads: NDArray[Any], *, cta_scope: bool, acquires: bool = True) -> None:
        """Threads execute a memory fence, or a release."""
        for flags in (self.in_block,) if cta_scope else (self.in_block, self.everywhere):
            flags.fence(threads >> 5, self.time.now, self.block_time, self.cluster_writes, acquires=acquires)

    def fence_proxy(self, threads: NDArray[Any]) -> None:
        """Threads execute fence.proxy.async: it covers what they know of."""
        known = (self.block_time[threads // self.lanes], self.warp_time[threads >> 5])
        for times, time in zip(self._proxy_fences, (self.time.now, *known), strict=True):
            times[threads] = time
        warps = np.flatnonzero(np.bincount(threads >> 5))
        for flags in (self.in_block, self.everywhere):
            if flags.has_rows:
                if self._proxy_seen is None:
                    self._proxy_seen = np.zeros((self.batch.size // 32, self.lanes // 32), dtype=np.int32)
                seen = flags.own_block_times(warps, seen=True)
                self._proxy_seen[warps] = np.maximum(self._proxy_seen[warps], seen)
        if self._matrix is None:
            return
        for blocks, lanes in self._patterns(threads):
            where = np.ix_(blocks, self._own_rows(lanes))  # those in a row have had the same fence
            if self._fenced_matrix is None:
                self._fenced_matrix = np.zeros_like(self._matrix)
            self._fenced_matrix[where] = self._matrix[where]

    def proxy_fence_covers(
        self, threads: NDArray[Any], writers: NDArray[Any], times: NDArray[Any], group: int
    ) -> NDArray[np.bool_]:
        """Whether a proxy fence of each thread, or of one in its group of so many, covers another's write.

        At the fence it must have known of what the writer did at that time.
        """
        fences, which = self._proxy_fences, threads
        if group > 1:
            fences, which = fences.reshape(3, -1, group).max(axis=2), threads // group
        when, block, warp = (each[which] for each in fences)
        near = threads >> 5 == writers >> 5
        known = (block >= times) | (near & (warp >= times))
        home = threads // self.lanes
        if self._proxy_seen is not None:
            seen, warps = self._proxy_seen, threads >> 5
            if group > 1:
                seen, warps = seen.reshape(-1, group // 32, seen.shape[1]).max(axis=1), threads // group
            known |= (seen[warps, writers % self.lanes >> 5] >= times) & (home == writers // self.lanes)
        if self._fenced_matrix is not None:
            learned = self._fenced_matrix
            rows = self._row[threads % self.lanes]
            if group > 1:
                for first in range(0, self.lanes, group):
                    members = self._rows_of(np.arange(first, first + group))
                    if len(members) > 1:
                        learned = learned.copy() if learned is self._fenced_matrix else learned
                        learned[:, members] = self._fenced_matrix[:, members].max(axis=1, keepdims=True)
            known |= (learned[home, rows, writers % self.lanes] >= times) & (home == writers // self.lanes)
        return np.asarray(known | ((threads == writers) & (when >= times)))

    def are_blocks_uniform(self) -> bool:
        """Whether threads of each block know of each other what those of the first block do."""
        if self.in_block.differs_between_blocks() or self.everywhere.differs_between_blocks():
            return False
        times: list[NDArray[Any]] = [self.block_time, self.cluster_time, self.warp_time, *self._proxy_fences]
        times += [self.init_fenced, self._work]
        optional = (self._matrix, self._fenced_matrix, self._proxy_seen)
        times += [matrix for matrix in optional if matrix is not None]
        rows = [each.reshape(self.batch.count, -1) for each in times]
        return all(bool((each == each[0]).all()) for each in rows)

    # -- barriers --------------------------------------------------------------------------------------------

    def arrive(self, number: int, threads: NDArray[Any], waits: bool) -> NDArray[np.bool_]:
        """Threads reach a barrier of their block; whose warps have not arrived as a whole.

        A whole warp may arrive twice, first with `bar.arrive`: each time counts.
        """
        arrived = self._arrived.setdefault(number, np.zeros(self.batch.size, dtype=np.int8))
        if len(threads) == self.batch.size and not arrived.any():
            arrived[:] = 2 if waits else 1
            return np.zeros(len(threads), dtype=np.bool_)
        before = arrived.reshape(-1, 32).max(axis=1) > 0
        if before.any():
            now = np.zeros(self.batch.size, dtype=np.bool_)
            now[threads] = True
            lacking = self.batch.alive & ((arrived == 0) | ~now)
            before &= lacking.reshape(-1, 32).any(axis=1)
        arrived[threads] = 2 if waits else 1
        return np.asarray(before[threads >> 5])

    def partial(self, number: int, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whose warps have lanes that still run and have not reached the barrier.

        It is called before each group of threads leaves; the first group of a block answers for all of it.
        """
        arrived = self._arrived[number]
        left = arrived.reshape(self.batch.count, self.lanes).max(axis=1) == 0
        absent = self.batch.alive & (arrived == 0)
        return np.asarray(absent.reshape(-1, 32).max(axis=1)[threads >> 5] & ~left[threads // self.lanes])

    def leave(self, number: int, threads: NDArray[Any]) -> None:
        """The barrier is complete for the blocks of these threads."""
        arrived = self._arrived.get(number)
        if arrived is None:
            return
        blocks = np.zeros(self.batch.count, dtype=np.bool_)
        blocks[threads // self.lanes] = True
        states = arrived.reshape(self.batch.count, self.lanes)
        blocks &= states.any(axis=1)
        if not blocks.any():
            return
        alive = self.batch.alive.reshape(states.shape)
        whole = blocks & ~((states < 2) & alive).any(axis=1)
        self.block_time[whole] = self.time.now
        self._merge_flags(whole)
        if self._columns and whole.any():
            self._work[whole] = self._work[whole, : self._rows].max(axis=1, keepdims=True)
        rest = np.flatnonzero(blocks & ~whole)
        if len(rest):
            self._merge_flags(blocks & ~whole)
        for same, pattern in _group_equal(rest, states[rest]):
            self._join(same, np.flatnonzero(pattern), np.flatnonzero(pattern == 2))
        states[blocks] = 0
        self.update_known_to_all()

    def _merge_flags(self, blocks: NDArray[np.bool_]) -> None:
        """Warps of these blocks know what any of them has acquired."""
        self.in_block.merge(blocks)
        self.everywhere.merge(blocks)

    def sync_warps(self, threads: NDArray[Any], masks: int | NDArray[Any]) -> None:
        """Lanes of warps execute `bar.warp.sync`, each with those that its mask names."""
        groups = np.unique(masks)
        if len(groups) > 1:
            for mask in groups:
                self.sync_warps(threads[masks == mask], int(mask))
            return
        present = np.zeros(self.batch.size, dtype=np.bool_)
        present[threads] = True
        rows = present.reshape(-1, 32)
        missing = self.batch.alive.reshape(-1, 32) & ~rows
        whole = np.asarray(rows.any(axis=1) & ~missing.any(axis=1))
        self.warp_time[whole] = self.time.now
        if self._columns and self._rows > 1:
            for warp in range(self.lanes // 32):
                self._share_work(np.flatnonzero(whole.reshape(self.batch.count, -1)[:, warp]), warp)
        partial = threads if self._matrix is not None else threads[~whole[threads >> 5]]
        for blocks, lanes in self._patterns(partial):
            for warp in np.unique(lanes // 32):
                ours = lanes[lanes // 32 == warp]
                self._join(blocks, ours, ours)

    def _share_work(self, blocks: NDArray[Any], warp: int) -> None:
        """All lanes of a warp of these blocks know of the work that any of them knows of."""
        lanes = np.arange(warp * 32, warp * 32 + 32)
        if len(blocks) and len(self._rows_of(lanes)) > 1:
            where = np.ix_(blocks, self._own_rows(lanes))
            self._work[where] = self._work[where].max(axis=1, keepdims=True)

    def release(self, threads: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of their block."""
        for address, ours in _by_address(threads, addresses):
            known, work = self._arrivals_at(address)
            for blocks, lanes in self._patterns(ours):
                known[blocks] = np.maximum(known[blocks], self._merged(blocks, lanes))
                done = self._work[np.ix_(blocks, self._rows_of(lanes))].max(axis=1)
                work[blocks] = np.maximum(work[blocks], done)

    def release_remote(self, threads: NDArray[Any], owners: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of other blocks, which get what they know of asynchronous work."""
        for address in np.unique(addresses):
            _, work = self._arrivals_at(int(address))
            ours = addresses == address
            rows = self._work.reshape(-1, self._work.shape[2])[self._slot[threads[ours]]]
            np.maximum.at(work, owners[ours], rows)

    def arrive_at_cluster(self, threads: NDArray[Any]) -> None:
        """Threads arrive at the barrier of their cluster, which gets what they know of asynchronous work."""
        clusters, width = self.batch.count // self.batch.grid.cluster_size, self._work.shape[2]
        before, self._cluster_work = self._cluster_work, np.zeros((clusters, width), dtype=np.int32)
        self._cluster_work[:, : before.shape[1]] = before
        slots, first = np.unique(self._slot[threads], return_index=True)
        owners = threads[first] // self.lanes // self.batch.grid.cluster_size
        np.maximum.at(self._cluster_work, owners, self._work.reshape(-1, width)[slots])

    def leave_cluster(self, blocks: NDArray[Any]) -> None:
        """Blocks leave the barrier of their cluster: they know what the threads that arrived know."""
        learned = self._cluster_work[blocks // self.batch.grid.cluster_size][:, None]
        columns = self._work[:, :, : learned.shape[2]]
        columns[blocks] = np.maximum(columns[blocks], learned)
        leaving = np.zeros(self.batch.count, dtype=np.bool_)
        leaving[blocks] = True
        self.in_block.merge(leaving)
        self.everywhere.merge(leaving, self.batch.grid.cluster_size)
        self.update_known_to_all()

    def _arrivals_at(self, address: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What threads that have arrived at an mbarrier know of threads, and of asynchronous work."""
        column = self.column(address)
        width = self._work.shape[2]
        if column not in self._arrivals:
            shapes = (self.batch.count, self.lanes), (self.batch.count, width)
            self._arrivals[column] = (np.zeros(shapes[0], np.int32), np.zeros(shapes[1], np.int32))
        known, work = self._arrivals[column]
        if width > work.shape[1]:
            work = np.concatenate([work, np.zeros((len(work), width - work.shape[1]), np.int32)], axis=1)
            self._arrivals[column] = (known, work)
        return known, work

    def complete_phase(self, blocks: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Phases of mbarriers are complete: what was issued and what arrived until now counts."""
        for address, those in _by_address(blocks, addresses):
            column = self.column(address)
            complete = np.zeros(self.batch.count, dtype=np.bool_)
            complete[those] = True
            ours = np.flatnonzero(complete)
            self._phases.setdefault(column, np.zeros(self.batch.count, dtype=np.int64))[ours] = self.time.now
            if column not in self._arrivals:
                continue
            known, work = self._arrivals[column]
            before = self._released.get(column)
            released = (np.zeros_like(known), np.zeros_like(work))
            if before is not None:
                released[0][:], released[1][:, : before[1].shape[1]] = before
            released[0][ours], released[1][ours] = known[ours], work[ours]
            self._released[column] = released

    def phase_time(self, column: int, block: int) -> int:
        """When the last phase of an mbarrier was complete in a block; 0 for never."""
        return int(self._phases[column][block]) if column in self._phases else 0

    def acquire(self, threads: NDArray[Any], addresses: NDArray[Any]) -> None:
        """Threads leave mbarriers of their block: they know what the threads that arrived know."""
        if self.everywhere.has_rows or self.in_block.has_rows:
            self._merge_flags(np.bincount(threads // self.lanes, minlength=self.batch.count) > 0)
        for address, ours in _by_address(threads, addresses):
            column = self.column(address)
            phases = self._phases.get(column)
            known, work = self._released.get(column, (None, None))
            for blocks, lanes in self._patterns(ours):
                rows = self._own_rows(lanes)
                if phases is not None:
                    self._complete(blocks, rows, column, phases[blocks, None])
                if known is None or work is None:
                    continue
                where = np.ix_(blocks, rows)
                matrix, columns = self._get_matrix(), self._work[:, :, : work.shape[1]]
                matrix[where] = np.maximum(matrix[where], known[blocks][:, None])
                columns[where] = np.maximum(columns[where], work[blocks][:, None])

    def _get_matrix(self) -> NDArray[np.int32]:
        """The matrix, made at its first use."""
        if self._matrix is None:
            self._matrix = np.zeros((*self._work.shape[:2], self.lanes), dtype=np.int32)
        return self._matrix

    def _merged(self, blocks: NDArray[Any], lanes: NDArray[Any]) -> NDArray[np.int32]:
        """The merged clocks of these lanes, of threads of their block: [blocks, threads]."""
        merged = self._get_matrix()[np.ix_(blocks, self._rows_of(lanes))].max(axis=1)
        merged = np.maximum(merged, self.block_time[blocks, None].astype(np.int32))
        warps = merged.reshape(len(blocks), -1, 32)
        numbers = np.flatnonzero(np.bincount(lanes >> 5))
        own = self.warp_time.reshape(self.batch.count, -1)[np.ix_(blocks, numbers)].astype(np.int32)
        warps[:, numbers] = np.maximum(warps[:, numbers], own[..., None])
        merged[:, lanes] = self.time.now
        return np.asarray(merged)

    def _join(self, blocks: NDArray[Any], sources: NDArray[Any], targets: NDArray[Any]) -> None:
        """The targets learn what the sources know, and what they did."""
        merged = self._merged(blocks, sources)
        where = np.ix_(blocks, self._own_rows(targets))
        matrix = self._get_matrix()
        matrix[where] = np.maximum(matrix[where], merged[:, None])
        if self._columns:
            known = self._work[np.ix_(blocks, self._rows_of(sources))].max(axis=1)
            self._work[where] = np.maximum(self._work[where], known[:, None])

    def _patterns(self, threads: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Blocks whose threads are the same lanes, and those lanes; kept, since loops repeat them."""
        known = self._known_patterns.get(id(threads))
        if known is not None and known[0] is threads:
            return known[1]
        rows = np.zeros((self.batch.count, self.lanes), dtype=np.bool_)
        rows.reshape(-1)[threads] = True
        blocks = np.flatnonzero(rows.any(axis=1))
        patterns = [(ours, np.flatnonzero(lanes)) for ours, lanes in _group_equal(blocks, rows[blocks])]
        if len(self._known_patterns) == _PATTERNS:
            self._known_patterns.clear()
        self._known_patterns[id(threads)] = threads, patterns
        return patterns


def _doubled(array: NDArray[np.int32], axis: int) -> NDArray[np.int32]:
    """An array with as many zeros behind it along an axis."""
    return np.concatenate([array, np.zeros_like(array)], axis=axis)


def _group_equal(blocks: NDArray[Any], rows: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Blocks whose rows are equal, and that row."""
    if not len(blocks):
        return
    if (rows == rows[0]).all():
        yield blocks, rows[0]
        return
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield blocks[which.reshape(-1) == number], pattern


def _by_address(threads: NDArray[Any], addresses: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Each address, and the threads that use it."""
    if len(addresses) and (addresses == addresses[0]).all():
        yield int(addresses[0]), threads
        return
    for address in np.unique(addresses).tolist():
        yield address, threads[addresses == address]
