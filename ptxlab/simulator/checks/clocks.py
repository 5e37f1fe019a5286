"""Vector clocks: which accesses of other threads happen before a thread's next one.

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

from ..ptx.syntax import PtxInstruction
from ..threads import Batch

_COLUMNS = 8
_ROWS = 4
_PATTERNS = 16  # of threads that are kept


class LogicalTime:
    """Numbers the accesses and synchronisations of a simulation, and remembers the instruction of each."""

    def __init__(self) -> None:
        self.now = 0
        self._instructions: list[PtxInstruction | None] = [None]

    def tick(self, instruction: PtxInstruction | None) -> None:
        """An event begins; None is the start of a batch."""
        self.now += 1
        self._instructions.append(instruction)

    def instruction_at(self, time: int) -> PtxInstruction | None:
        """The instruction of an event."""
        return self._instructions[time]


class Warpgroup(NamedTuple):
    """A warpgroup of each block."""

    number: int


#: What asynchronous work belongs to: an mbarrier, by its address in the block, or the wgmma of a warpgroup.
_Owner: TypeAlias = int | Warpgroup


class Flags:
    """What warps tell each other by fences and flags, of one scope: a block, or all of them.

    A fence, or a release, vouches for what its warp did and knew by then. Others hear of it if a strong write
    comes after it, by the warp itself or by one that has met it at a barrier, and then a strong read of
    theirs. Which flag is written and read does not count, and named barriers and mbarriers count as barriers
    of the whole block.
    """

    def __init__(self, batch: Batch, told: bool) -> None:
        self._shape = batch.count, batch.block_lanes // 32
        self.told = told  # whether anything has been published, perhaps by blocks before these
        warps = batch.size // 32
        self.fenced = np.zeros(warps, dtype=np.int64)  # the warp's last fence or release
        self._knew = np.zeros(warps, dtype=np.int64)  # the last barrier of its block, by then
        #: Up to when it knew what blocks of its cluster wrote, by then.
        self._knew_cluster = np.zeros((warps, batch.grid.cluster_size), dtype=np.int64)
        self.published = np.zeros(warps, dtype=np.int64)  # up to when others can hear of what it did
        self.acquired = np.zeros(warps, dtype=np.int64)  # its last look at what others publish
        #: Its last strong write and read, with a fence or without: what remedies are named by.
        self.wrote_flag, self.read_flag = np.zeros((2, warps), dtype=np.int64)

    @property
    def times(self) -> tuple[NDArray[np.int64], ...]:
        """All that is known, by warp."""
        return self.fenced, self._knew, self.published, self.acquired

    def fence(
        self, warps: NDArray[Any], time: int, barriers: NDArray[np.int64], cluster: NDArray[np.int64]
    ) -> None:
        """Warps execute a fence or a release; `barriers` has the last one of each block.

        `cluster` says up to when each block knows what those of its cluster wrote.
        """
        self.fenced[warps] = time
        self._knew[warps] = barriers[warps // self._shape[1]]
        self._knew_cluster[warps] = cluster[warps // self._shape[1]]

    def write(self, warps: NDArray[Any], time: int, barriers: NDArray[np.int64], named: bool) -> None:
        """Warps write what may be a flag; some barriers may have been `named`."""
        self.wrote_flag[warps] = time
        if not self.fenced.any():
            return
        self.told = True
        ours = np.flatnonzero(np.bincount(warps))
        blocks = ours // self._shape[1]
        vouched = np.minimum(self.fenced.reshape(self._shape)[blocks], barriers[blocks, None])
        own = self.fenced[ours] if named else self._knew[ours]
        np.maximum.at(self.published.reshape(self._shape), blocks, np.maximum(vouched, own[:, None]))
        self.published[ours] = np.maximum(self.published[ours], self.fenced[ours])
        size = self._knew_cluster.shape[1]
        if size > 1:
            may_vouch = self.fenced.reshape(self._shape)[blocks] <= barriers[blocks, None]
            may_vouch[np.arange(len(ours)), ours % self._shape[1]] = True
            knew = self._knew_cluster.reshape(*self._shape, size)[blocks]
            told = np.where(may_vouch[:, :, None], knew, 0).max(axis=1)
            members = blocks[:, None] // size * size + np.arange(size)
            np.maximum.at(self.published.reshape(self._shape), members, told[:, :, None])

    def meet(self, blocks: NDArray[np.bool_], size: int = 1) -> None:
        """All warps of these blocks, or of clusters of `size` blocks, know what any of them has heard."""
        if not self.told:
            return
        acquired = self.acquired.reshape(self._shape[0] // size, -1)
        groups = blocks[::size]
        acquired[groups] = acquired[groups].max(axis=1, keepdims=True)

    def heard(self, named: bool) -> NDArray[np.int64]:
        """When each warp last heard of others."""
        if not named:
            return self.acquired
        return np.repeat(self.acquired.reshape(self._shape).max(axis=1), self._shape[1])


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
        self.block_time = np.full(
            batch.count, time.now, dtype=np.int64
        )  # the last barrier of the whole block
        #: Up to when it knows of other blocks of its cluster: what they read in shared memory, and what each
        #: wrote, or read in global memory.
        self.cluster_time = np.full(batch.count, time.now, dtype=np.int64)
        self.cluster_writes = np.full((batch.count, batch.grid.cluster_size), time.now, dtype=np.int64)
        self._cluster_work = np.zeros((batch.count // batch.grid.cluster_size, 0), dtype=np.int32)
        self.begun = time.now
        self.warp_time = np.full(batch.size // 32, time.now, dtype=np.int64)
        self.in_block, self.everywhere = Flags(batch, False), Flags(batch, bool(published.any()))
        self.init_fenced = np.zeros(batch.size, dtype=np.int64)  # each thread's last fence.mbarrier_init
        #: Its last fence.proxy.async, and what it knew by then: the last barriers of its block and of its
        #: warp, what flags told it.
        self._fences = np.zeros((4, batch.size), dtype=np.int64)
        self.fenced = self._fences[0]
        self._row = np.zeros(self.lanes, dtype=np.intp)  # of each lane of a block
        self._rows = 1  # that are in use
        self._matrix: NDArray[np.int32] | None = None  # [blocks, rows, lanes]
        self._fenced_matrix: NDArray[np.int32] | None = None  # as it was at each one's last fence.proxy.async
        self._work = np.zeros((batch.count, _ROWS, _COLUMNS), dtype=np.int32)
        self._slot = self._slots()
        self._columns: dict[_Owner, int] = {}
        self._arrivals: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        #: By column of an mbarrier: when its last phase was complete in each block, and what arrivals knew.
        self._phases: dict[int, NDArray[np.int64]] = {}
        self._handed_over: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
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
        """Threads know that work of this column is done that was issued up to a time, that of each block."""
        for blocks, lanes in self._patterns(threads):
            self._complete(blocks, self._rows_alone(lanes), column, times[blocks, None])

    def _complete(
        self, blocks: NDArray[Any], rows: NDArray[Any], column: int, times: int | NDArray[Any]
    ) -> None:
        known, where = self._work[:, :, column], np.ix_(blocks, rows)
        known[where] = np.maximum(known[where], times)

    def knows_work(
        self, threads: NDArray[Any], columns: NDArray[Any], times: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Whether each thread knows that the work of a column, issued at a time, is done.

        A copy whose mbarrier is not known yet has no column: other threads of the same instruction meet it.
        """
        has_column = columns < self._work.shape[2]
        places = self._slot[threads] * self._work.shape[2] + np.where(has_column, columns, 0)
        return np.asarray(has_column & (self._work.reshape(-1)[places] >= times))

    # -- rows of lanes that know the same --------------------------------------------------------------------

    def _rows_of(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes."""
        there = np.zeros(self._rows, dtype=np.bool_)
        there[self._row[lanes]] = True
        return np.flatnonzero(there)

    def _rows_alone(self, lanes: NDArray[Any]) -> NDArray[np.intp]:
        """The rows of these lanes, which they share with no others from now on."""
        chosen = np.zeros(self.lanes, dtype=np.bool_)
        chosen[lanes] = True
        rows = self._rows_of(lanes)
        elsewhere = np.zeros(self._rows, dtype=np.bool_)
        elsewhere[self._row[~chosen]] = True
        shared = rows[elsewhere[rows]]
        for row in shared.tolist():
            self._row[chosen & (self._row == row)] = self._copied(row)
        if not len(shared):
            return rows
        self._slot = self._slots()
        return self._rows_of(lanes)

    def _copied(self, row: int) -> int:
        """A new row like another."""
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
        self, threads: NDArray[Any], others: NDArray[Any], times: NDArray[Any], written: bool
    ) -> NDArray[np.bool_]:
        """Whether what others did at these times happens before what the threads do now.

        They wrote, or read global memory, or else read shared memory. All are indices into the batch; those
        of earlier batches are negative. Where ordering might come from flags and fences, it is assumed.
        """
        if len(others) and others.min() < 0:
            earlier, here = others < 0, others >= 0
            ordered = np.zeros(len(threads), dtype=np.bool_)
            ordered[here] = self.ordered(threads[here], others[here], times[here], written)
            published = self._published_before[(others[earlier] + self.first_thread) // self.lanes]
            acquired = self.everywhere.acquired[threads[earlier] >> 5]
            ordered[earlier] = (times[earlier] <= published) & (times[earlier] < acquired)
            return ordered
        return np.asarray((threads == others) | (times <= self.known(threads, others, written)))

    def known(self, threads: NDArray[Any], others: NDArray[Any], written: bool) -> NDArray[np.int64]:
        """Up to what time that which others did, as in `ordered`, comes before what the threads do now."""
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
            learnt = self._matrix[block, self._row[threads % self.lanes], others % self.lanes]
            known = np.where(block == other_block, np.maximum(known, learnt), known)
        for flags, near in ((self.in_block, True), (self.everywhere, False)):
            if flags.told:
                heard = flags.heard(self._matrix is not None)[warp] - 1
                flagged = np.minimum(flags.published[other_warp], heard)
                known = np.where((block == other_block) == near, np.maximum(known, flagged), known)
        return np.asarray(known, dtype=np.int64)

    def flag(self, threads: NDArray[Any], *, narrow: bool, reads: bool, writes: bool) -> None:
        """Threads read or write what may be a flag; `narrow` is one for threads of their block."""
        warps = threads >> 5
        for flags in (self.in_block,) if narrow else (self.in_block, self.everywhere):
            if writes:
                flags.write(warps, self.time.now, self.block_time, self._matrix is not None)
            if reads:
                flags.read_flag[warps] = self.time.now
                if flags.told:
                    flags.acquired[warps] = self.time.now

    def has_published(self, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each thread's warp has written a flag after a fence; of earlier batches it is assumed."""
        warps = np.maximum(threads >> 5, 0)
        told = (self.everywhere.published[warps] > 0) | (self.in_block.published[warps] > 0)
        return np.asarray(told | (threads < 0))

    def fence_flags(self, threads: NDArray[Any], *, narrow: bool) -> None:
        """Threads execute a fence of memory, or release what they did."""
        for flags in (self.in_block,) if narrow else (self.in_block, self.everywhere):
            flags.fence(threads >> 5, self.time.now, self.block_time, self.cluster_writes)

    def fence(self, threads: NDArray[Any]) -> None:
        """Threads execute fence.proxy.async: it is for what they know of."""
        heard = self.in_block.heard(self._matrix is not None)[threads >> 5]
        known = (self.block_time[threads // self.lanes], self.warp_time[threads >> 5], heard)
        for each, times in zip(self._fences, (self.time.now, *known), strict=True):
            each[threads] = times
        if self._matrix is None:
            return
        for blocks, lanes in self._patterns(threads):
            where = np.ix_(blocks, self._rows_alone(lanes))  # those in a row have had the same fence
            if self._fenced_matrix is None:
                self._fenced_matrix = np.zeros_like(self._matrix)
            self._fenced_matrix[where] = self._matrix[where]

    def fenced_after(
        self, threads: NDArray[Any], writers: NDArray[Any], times: NDArray[Any], group: int
    ) -> NDArray[np.bool_]:
        """Whether threads (or any of their `group` neighbours) had a fence for what others wrote at a time.

        They must have known of it by then.
        """
        fences, which = self._fences, threads
        if group > 1:
            fences, which = fences.reshape(4, -1, group).max(axis=2), threads // group
        when, block, warp, flags = (each[which] for each in fences)
        near = threads >> 5 == writers >> 5
        known = (block >= times) | (near & (warp >= times))
        known |= np.minimum(self.in_block.published[writers >> 5], flags - 1) >= times
        if self._fenced_matrix is not None:
            learnt = self._fenced_matrix
            rows = self._row[threads % self.lanes]
            if group > 1:
                for first in range(0, self.lanes, group):
                    members = self._rows_of(np.arange(first, first + group))
                    if len(members) > 1:
                        learnt = learnt.copy() if learnt is self._fenced_matrix else learnt
                        learnt[:, members] = self._fenced_matrix[:, members].max(axis=1, keepdims=True)
            home = threads // self.lanes
            known |= (learnt[home, rows, writers % self.lanes] >= times) & (home == writers // self.lanes)
        return np.asarray(known | ((threads == writers) & (when >= times)))

    def are_blocks_uniform(self) -> bool:
        """Whether threads of each block know of each other what those of the first block do."""
        times: list[NDArray[Any]] = [self.block_time, self.cluster_time, self.warp_time]
        times += [
            *self.in_block.times,
            *self.everywhere.times,
            *self._fences,
            self.init_fenced,
            self._work,
        ]
        times += [each for each in (self._matrix, self._fenced_matrix) if each is not None]
        rows = [each.reshape(self.batch.count, -1) for each in times]
        return all(bool((each == each[0]).all()) for each in rows)

    # -- barriers --------------------------------------------------------------------------------------------

    def arrive(self, number: int, threads: NDArray[Any], waits: bool) -> NDArray[np.bool_]:
        """Threads reach a barrier of their block; says whose warp comes in parts.

        A whole warp may come twice, first with `bar.arrive`: each time counts.
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
        """Whose warp has lanes that still run and have not reached the barrier.

        Asked before each group of threads leaves; the first of a block has answered for all of it.
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
        there = arrived.reshape(self.batch.count, self.lanes)
        blocks &= there.any(axis=1)
        if not blocks.any():
            return
        alive = self.batch.alive.reshape(there.shape)
        whole = blocks & ~((there < 2) & alive).any(axis=1)
        self.block_time[whole] = self.time.now
        self.in_block.meet(whole)
        self.everywhere.meet(whole)
        if self._columns and whole.any():
            self._work[whole] = self._work[whole, : self._rows].max(axis=1, keepdims=True)
        rest = np.flatnonzero(blocks & ~whole)
        for some, states in _alike(rest, there[rest]):
            self._join(some, np.flatnonzero(states), np.flatnonzero(states == 2))
        there[blocks] = 0
        self.update_known_to_all()

    def meet(self, threads: NDArray[Any]) -> None:
        """Lanes of warps meet: `bar.warp.sync`."""
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
        """All lanes of a warp of these blocks know of the work that any of them knows."""
        lanes = np.arange(warp * 32, warp * 32 + 32)
        if len(blocks) and len(self._rows_of(lanes)) > 1:
            where = np.ix_(blocks, self._rows_alone(lanes))
            self._work[where] = self._work[where].max(axis=1, keepdims=True)

    def release(self, threads: NDArray[Any], places: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of their block."""
        for place, ours in _by_place(threads, places):
            known, work = self._arrivals_at(place)
            for blocks, lanes in self._patterns(ours):
                known[blocks] = np.maximum(known[blocks], self._merged(blocks, lanes))
                done = self._work[np.ix_(blocks, self._rows_of(lanes))].max(axis=1)
                work[blocks] = np.maximum(work[blocks], done)

    def release_remote(self, threads: NDArray[Any], owners: NDArray[Any], places: NDArray[Any]) -> None:
        """Threads arrive at mbarriers of other blocks: what they know of asynchronous work goes there."""
        for place in np.unique(places):
            _, work = self._arrivals_at(int(place))
            ours = places == place
            rows = self._work.reshape(-1, self._work.shape[2])[self._slot[threads[ours]]]
            np.maximum.at(work, owners[ours], rows)

    def arrive_at_cluster(self, threads: NDArray[Any]) -> None:
        """Threads arrive at the barrier of their cluster: what they know of asynchronous work is for all."""
        clusters, width = self.batch.count // self.batch.grid.cluster_size, self._work.shape[2]
        before, self._cluster_work = self._cluster_work, np.zeros((clusters, width), dtype=np.int32)
        self._cluster_work[:, : before.shape[1]] = before
        slots, first = np.unique(self._slot[threads], return_index=True)
        owners = threads[first] // self.lanes // self.batch.grid.cluster_size
        np.maximum.at(self._cluster_work, owners, self._work.reshape(-1, width)[slots])

    def leave_cluster(self, blocks: NDArray[Any]) -> None:
        """Blocks leave the barrier of their cluster: they know what those know that arrived."""
        learnt = self._cluster_work[blocks // self.batch.grid.cluster_size][:, None]
        columns = self._work[:, :, : learnt.shape[2]]
        columns[blocks] = np.maximum(columns[blocks], learnt)
        there = np.zeros(self.batch.count, dtype=np.bool_)
        there[blocks] = True
        self.in_block.meet(there)
        self.everywhere.meet(there, self.batch.grid.cluster_size)
        self.update_known_to_all()

    def _arrivals_at(self, place: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What is known by those that have arrived at an mbarrier: of threads, and of asynchronous work."""
        column = self.column(place)
        width = self._work.shape[2]
        if column not in self._arrivals:
            shapes = (self.batch.count, self.lanes), (self.batch.count, width)
            self._arrivals[column] = (np.zeros(shapes[0], np.int32), np.zeros(shapes[1], np.int32))
        known, work = self._arrivals[column]
        if width > work.shape[1]:
            work = np.concatenate([work, np.zeros((len(work), width - work.shape[1]), np.int32)], axis=1)
            self._arrivals[column] = (known, work)
        return known, work

    def complete_phase(self, blocks: NDArray[Any], places: NDArray[Any]) -> None:
        """Phases of mbarriers are complete: what was issued and what arrived until now counts."""
        for place, those in _by_place(blocks, places):
            column = self.column(place)
            there = np.zeros(self.batch.count, dtype=np.bool_)
            there[those] = True
            ours = np.flatnonzero(there)
            self._phases.setdefault(column, np.zeros(self.batch.count, dtype=np.int64))[ours] = self.time.now
            if column not in self._arrivals:
                continue
            known, work = self._arrivals[column]
            before = self._handed_over.get(column)
            handed = (np.zeros_like(known), np.zeros_like(work))
            if before is not None:
                handed[0][:], handed[1][:, : before[1].shape[1]] = before
            handed[0][ours], handed[1][ours] = known[ours], work[ours]
            self._handed_over[column] = handed

    def phase_time(self, column: int, block: int) -> int:
        """When the last phase of an mbarrier was complete in a block; 0 for never."""
        return int(self._phases[column][block]) if column in self._phases else 0

    def acquire(self, threads: NDArray[Any], places: NDArray[Any]) -> None:
        """Threads leave mbarriers of their block: they know what those know that arrived."""
        for place, ours in _by_place(threads, places):
            column = self.column(place)
            phases = self._phases.get(column)
            known, work = self._handed_over.get(column, (None, None))
            for blocks, lanes in self._patterns(ours):
                rows = self._rows_alone(lanes)
                if phases is not None:
                    self._complete(blocks, rows, column, phases[blocks, None])
                if known is None or work is None:
                    continue
                where = np.ix_(blocks, rows)
                matrix, columns = self._made_matrix(), self._work[:, :, : work.shape[1]]
                matrix[where] = np.maximum(matrix[where], known[blocks][:, None])
                columns[where] = np.maximum(columns[where], work[blocks][:, None])

    def _made_matrix(self) -> NDArray[np.int32]:
        """The matrix, made when it is needed first."""
        if self._matrix is None:
            self._matrix = np.zeros((*self._work.shape[:2], self.lanes), dtype=np.int32)
        return self._matrix

    def _merged(self, blocks: NDArray[Any], lanes: NDArray[Any]) -> NDArray[np.int32]:
        """All that any of these lanes knows of its block now, [blocks, threads]."""
        merged = self._made_matrix()[np.ix_(blocks, self._rows_of(lanes))].max(axis=1)
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
        where = np.ix_(blocks, self._rows_alone(targets))
        matrix = self._made_matrix()
        matrix[where] = np.maximum(matrix[where], merged[:, None])
        if self._columns:
            known = self._work[np.ix_(blocks, self._rows_of(sources))].max(axis=1)
            self._work[where] = np.maximum(self._work[where], known[:, None])

    def _patterns(self, threads: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Blocks whose threads are the same lanes, and those lanes; loops mostly ask for the same threads."""
        known = self._known_patterns.get(id(threads))
        if known is not None and known[0] is threads:
            return known[1]
        rows = np.zeros((self.batch.count, self.lanes), dtype=np.bool_)
        rows.reshape(-1)[threads] = True
        blocks = np.flatnonzero(rows.any(axis=1))
        patterns = [(ours, np.flatnonzero(lanes)) for ours, lanes in _alike(blocks, rows[blocks])]
        if len(self._known_patterns) == _PATTERNS:
            self._known_patterns.clear()
        self._known_patterns[id(threads)] = threads, patterns
        return patterns


def _doubled(array: NDArray[np.int32], axis: int) -> NDArray[np.int32]:
    """An array with as many zeros behind it along an axis."""
    return np.concatenate([array, np.zeros_like(array)], axis=axis)


def _alike(blocks: NDArray[Any], rows: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Blocks whose rows are the same, and that row."""
    if not len(blocks):
        return
    if (rows == rows[0]).all():
        yield blocks, rows[0]
        return
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield blocks[which.reshape(-1) == number], pattern


def _by_place(threads: NDArray[Any], places: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Each address, and the threads that mean it."""
    if len(places) and (places == places[0]).all():
        yield int(places[0]), threads
        return
    for place in np.unique(places).tolist():
        yield place, threads[places == place]
