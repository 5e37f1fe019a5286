"""Release and acquire: what a flag hands from the warps that raise it to those that read it.

As in the PTX ISA, "Memory Consistency Model". A fence, or `.release`, covers what its warp did and knew by
then. A strong write after it, by the warp or by one that has met it at a barrier since, puts that on the
flag, which is the bytes that are written. An atomic operation adds to what is on the flag, a store replaces
it. A warp that reads the flag has seen what is on it, and acquires it by a fence of its own, or by .acquire.

    time 1    warp 0 writes x
    time 2    warp 0 executes a fence      it covers what warp 0 did until 2
    time 3    warp 0 stores to the flag    on the flag: "warp 0, until 2"
    time 4    warp 1 loads the flag        seen, and not acquired: a read of x now is a race
    time 5    warp 1 executes a fence      acquired: the write at time 1 happens before what warp 1 does next

`Order.use_flag` and `Order.fence` of `clocks_plain.py` state the rule in plain Python.

What a warp knows is a row of times, one for each warp: all that this one did until then happens before. Rows
never change, so that warps and flags share them by number. Warps stand for their lanes. Where a block has
used named barriers or mbarriers, all its warps acquire what one of them does: where order might exist, it is
assumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess
from ..launch_threads import Batch

_WORD = 4  # bytes of a flag
_MAX_WARPS = 1 << 12  # of a batch; with more, what one warp of a block releases counts for all of the block
_MAX_TURNS = 8  # of warps at a word, in one instruction
_ROW_BYTES = 1 << 25  # of rows until those that nobody needs are dropped

_Rows = NDArray[np.int32]  # numbers of rows, by warp or by flag


class _Times:
    """Rows of times by number. Row 0 is: nothing is known."""

    def __init__(self, width: int) -> None:
        self.table = np.zeros((16, width), dtype=np.int32)
        self.block = np.full(16, -1, dtype=np.int32)  # that a row is about, where rows are about one block
        self.count = 1
        self._most = _ROW_BYTES

    @property
    def is_full(self) -> bool:
        """Whether it is time to drop rows."""
        return bool(self.count * self.table.shape[1] * 4 > self._most)

    def add(self, rows: NDArray[Any], block: NDArray[Any] | int = 0) -> _Rows:
        """The numbers of new rows."""
        first, self.count = self.count, self.count + len(rows)
        if self.count > len(self.table):
            more = np.zeros((self.count, self.table.shape[1]), dtype=np.int32)
            self.table = np.concatenate([self.table, more])
            self.block = np.concatenate([self.block, np.full(len(more), -1, dtype=np.int32)])
        self.table[first : self.count], self.block[first : self.count] = rows, block
        return np.arange(first, self.count, dtype=np.int32)

    def union(self, first: _Rows, second: _Rows) -> _Rows:
        """For each two rows, one that knows what both know."""
        if (first == second).all() or not second.any():
            return first
        if not first.any():
            return second
        pairs, which = np.unique(first.astype(np.int64) << 32 | second, return_inverse=True)
        left, right = pairs >> 32, pairs & 0xFFFFFFFF
        if len(pairs) * self.table.shape[1] * 4 > _ROW_BYTES:
            (everything,) = self.add(self.table[np.unique([left, right])].max(axis=0)[None])
            return np.full(first.shape, everything, dtype=np.int32)
        unions = np.maximum(self.table[left], self.table[right])
        is_left = (unions == self.table[left]).all(axis=1)
        is_right = (unions == self.table[right]).all(axis=1)
        numbers = np.where(is_left, left, right)
        new = ~is_left & ~is_right
        numbers[new] = self.add(unions[new], self.block[left[new]])
        return np.asarray(numbers.astype(np.int32)[which.reshape(first.shape)])

    def union_by_group(self, groups: NDArray[Any], rows: _Rows) -> tuple[NDArray[Any], _Rows]:
        """For each group, a row that knows what the rows of its members know."""
        pairs = np.unique(groups.astype(np.int64) << 32 | rows)
        groups, rows = pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if len(starts) == len(groups):
            return groups, rows
        if len(pairs) * self.table.shape[1] * 4 > _ROW_BYTES:
            (everything,) = self.add(self.table[np.unique(rows)].max(axis=0)[None])
            return groups[starts], np.full(len(starts), everything, dtype=np.int32)
        unions = np.maximum.reduceat(self.table[rows], starts)
        last = rows[np.append(starts[1:], len(rows)) - 1]
        same = (unions == self.table[last]).all(axis=1)
        last[~same] = self.add(unions[~same], self.block[last[~same]])
        return groups[starts], last

    def keep(self, references: list[_Rows]) -> None:
        """Drop all rows but those that are referred to, in which numbers are replaced."""
        live = np.unique(np.concatenate([[0], *(np.unique(rows) for rows in references)]))
        self.table[: len(live)], self.block[: len(live)] = self.table[live], self.block[live]
        renumbered = np.zeros(self.count, dtype=np.int32)
        renumbered[live] = np.arange(len(live))
        for rows in references:
            rows[:] = renumbered[rows]
        self.count = len(live)
        self._most = max(_ROW_BYTES, 2 * self.count * self.table.shape[1] * 4)


class ReleaseAcquire:
    """What warps of a batch have released and acquired in one scope: a block, or the whole launch.

    The five steps above, with two blocks of a warp each:

    >>> from ..launch_threads import LaunchGrid
    >>> batch, barriers = Batch(LaunchGrid((2, 1, 1), (32, 1, 1)), np.arange(2)), np.zeros((2, 1), np.int64)
    >>> memory, (thread_0, thread_32) = np.zeros(4, np.uint8), np.array([[0], [32]])
    >>> def access(kind, thread):
    ...     word = BufferAccess(None, memory, np.array([0]), thread)
    ...     return Access(None, kind, "global", thread, np.array([0]), 4, buffer_accesses=[word])
    >>> flags = ReleaseAcquire(batch, in_block=False)
    >>> flags.fence(thread_0 >> 5, 2, barriers[:, 0], barriers, acquires=True)
    >>> flags.write(access("write", thread_0), 3, barriers[:, 0], named_barriers=False, nearer=None)
    >>> flags.read(access("read", thread_32), 4, acquires=False, named_barriers=False)
    >>> warp_0, warp_1 = np.array([0]), np.array([1])
    >>> flags.known_times(warp_1, warp_0, seen=True), flags.known_times(warp_1, warp_0, seen=False)
    (array([2], dtype=int32), array([0], dtype=int32))
    >>> flags.fence(warp_1, 5, barriers[:, 0], barriers, acquires=True)
    >>> flags.known_times(warp_1, warp_0, seen=False)
    array([2], dtype=int32)
    """

    def __init__(self, batch: Batch, *, in_block: bool, any_published: bool = False) -> None:
        warps, self._warps = batch.size // 32, batch.block_lanes // 32  # of the batch, of a block
        self._in_block = in_block
        self._size = batch.grid.cluster_size
        self._grain = 1 if in_block or warps <= _MAX_WARPS else self._warps  # warps of a column
        self._times = _Times(self._warps if in_block else warps // self._grain)
        #: Rows by warp: what it has acquired; has seen on flags; had acquired at its last fence.
        self.known, self.seen, self._at_fence = np.zeros((3, warps), dtype=np.int32)
        #: Rows of what each warp can release, and the fence or barrier of its block up to which they are so.
        self._released = np.zeros(warps, dtype=np.int32)
        self._released_at = np.zeros(warps, dtype=np.int64)
        #: Rows of flags, word by word, by id of the bytes; in one block the number of the block as well.
        self._flags: dict[int, _Rows] = {}
        self.any_published = any_published  # perhaps by blocks of earlier batches
        self.has_fenced = False
        self.fenced = np.zeros(warps, dtype=np.int64)  # the warp's last fence or release
        self._block_time = np.zeros(warps, dtype=np.int64)  # at that fence: the last barrier of its block
        #: At that fence: up to when it knew what the blocks of its cluster wrote.
        self._cluster_writes = np.zeros((warps, self._size), dtype=np.int64)
        self.published = np.zeros(warps, dtype=np.int64)  # up to when others can know what it did
        self.acquired = np.zeros(warps, dtype=np.int64)  # up to when flags that it has read count as acquired
        #: Its last strong write and read, with a fence or without.
        self.wrote_flag, self.read_flag = np.zeros((2, warps), dtype=np.int64)
        self.was_told = np.zeros(warps, dtype=np.int64)  # its last read of a flag that had something on it

    # -- queries ---------------------------------------------------------------------------------------------

    @property
    def has_rows(self) -> bool:
        """Whether any flag of this batch hands something over."""
        return self._times.count > 1

    def known_times(self, warps: NDArray[Any], others: NDArray[Any], *, seen: bool) -> NDArray[np.int32]:
        """Up to when each warp has acquired what another did, or has at least seen a flag that says so.

        In one block both belong to the same block.
        """
        rows = (self.seen if seen else self.known)[warps]
        return np.asarray(self._times.table[rows, self._column(others)])

    def own_block_times(self, warps: NDArray[Any], *, seen: bool) -> NDArray[np.int32]:
        """The same about all warps of the warp's own block: [warps, warps of a block]."""
        first = warps[:, None] // self._warps * self._warps
        return self.known_times(warps[:, None], first + np.arange(self._warps), seen=seen)

    def _column(self, warps: NDArray[Any]) -> NDArray[Any]:
        return warps % self._warps if self._in_block else warps // self._grain

    # -- fences, writes and reads ----------------------------------------------------------------------------

    def fence(
        self,
        warps: NDArray[Any],
        time: int,
        block_time: NDArray[np.int64],
        cluster_writes: NDArray[np.int64],
        *,
        acquires: bool,
    ) -> None:
        """Warps execute a fence or a release; the arrays are those of `LastBarriers`."""
        self.has_fenced = True
        self.fenced[warps] = time
        self._block_time[warps] = block_time[warps // self._warps]
        self._cluster_writes[warps] = cluster_writes[warps // self._warps]
        if acquires:
            self.known[warps] = self.seen[warps]
            self.acquired[warps] = np.maximum(self.acquired[warps], self.read_flag[warps])
        self._at_fence[warps] = self.known[warps]

    def write(
        self,
        access: Access,
        time: int,
        block_time: NDArray[np.int64],
        named_barriers: bool,
        nearer: ReleaseAcquire | None,
    ) -> None:
        """Warps write what may be a flag; `nearer` is the same of their blocks.

        `named_barriers` may have been executed.
        """
        warps = access.threads >> 5
        self.wrote_flag[warps] = time
        if not self.has_fenced:
            return
        self.any_published = True
        writers = np.flatnonzero(np.bincount(warps))
        self._publish(writers, block_time, named_barriers)
        self._release(writers, block_time, named_barriers, nearer)
        for buffer_access in access.buffer_accesses:
            released = self._released[buffer_access.threads >> 5]
            if id(buffer_access.data) not in self._flags:
                if not released.any():
                    continue
                self._flags[id(buffer_access.data)] = np.zeros(
                    buffer_access.data.size // _WORD + 4, dtype=np.int32
                )
            self._put(access, buffer_access, released)
        if self._times.is_full:
            self._times.keep([self.known, self.seen, self._at_fence, self._released, *self._flags.values()])

    def _publish(self, writers: NDArray[Any], block_time: NDArray[np.int64], named_barriers: bool) -> None:
        """Note up to when others can know what warps of the writers' blocks did, whichever flag they read."""
        shape = len(block_time), self._warps
        blocks = writers // self._warps
        covered = np.minimum(self.fenced.reshape(shape)[blocks], block_time[blocks, None])
        own = self.fenced[writers] if named_barriers else self._block_time[writers]
        np.maximum.at(self.published.reshape(shape), blocks, np.maximum(covered, own[:, None]))
        self.published[writers] = np.maximum(self.published[writers], self.fenced[writers])
        if self._size > 1:
            synchronised = self.fenced.reshape(shape)[blocks] <= block_time[blocks, None]
            synchronised[np.arange(len(writers)), writers % self._warps] = True
            known = self._cluster_writes.reshape(*shape, self._size)[blocks]
            covered = np.where(synchronised[:, :, None], known, 0).max(axis=1)
            members = blocks[:, None] // self._size * self._size + np.arange(self._size)
            np.maximum.at(self.published.reshape(shape), members, covered[:, :, None])

    def _release(
        self,
        writers: NDArray[Any],
        block_time: NDArray[np.int64],
        named_barriers: bool,
        nearer: ReleaseAcquire | None,
    ) -> None:
        """Make the rows of what writers release, unless they are up to date."""
        blocks = writers // self._warps
        last = np.maximum(self.fenced.reshape(-1, self._warps)[blocks].max(axis=1), block_time[blocks])
        for writer, block, time in zip(writers.tolist(), blocks.tolist(), last.tolist(), strict=True):
            if self._released_at[writer] == time:
                continue
            self._released_at[writer] = time
            ours = np.arange(block * self._warps, (block + 1) * self._warps)
            fenced = self.fenced[ours]
            # those whose fence a barrier has handed to the writer, and its own
            counts = (fenced <= block_time[block]) & (fenced > 0)
            counts[writer - ours[0]] = fenced[writer - ours[0]] > 0
            if not counts.any():
                self._released[writer] = 0
                continue
            handing = ours[counts]
            row = self._times.table[np.unique(self._at_fence[handing])].max(axis=0)
            own = np.minimum(fenced, block_time[block])
            reach = fenced[writer - ours[0]] if named_barriers else self._block_time[handing].max()
            own = np.maximum(own, reach)
            own[writer - ours[0]] = max(own[writer - ours[0]], fenced[writer - ours[0]])
            if nearer is not None:
                own = np.maximum(own, nearer._times.table[np.unique(nearer._at_fence[handing])].max(axis=0))
            np.maximum.at(row, self._column(ours), own.astype(np.int32))
            if self._size > 1 and not self._in_block:
                writes = self._cluster_writes[handing].max(axis=0).astype(np.int32)
                first = block // self._size * self._size * self._warps
                members = self._column(np.arange(first, first + self._size * self._warps))
                np.maximum.at(row, members, np.repeat(writes, self._warps))
            (self._released[writer],) = self._times.add(row[None], block)

    def _put(self, access: Access, buffer_access: BufferAccess, released: _Rows) -> None:
        """Put on flags what their writers release; in one block, flags keep what the last block released."""
        times, flags = self._times, self._flags[id(buffer_access.data)]
        words, rows = _by_words(buffer_access, access.width, released)
        if access.kind == "atomic":
            before = flags[words]
            if self._in_block:
                stays = (times.block[before] == times.block[rows]) | (rows == 0)
                before = np.where(stays, before, 0).astype(np.int32)
            rows = times.union(rows, before)
        flags[words] = rows
        if (flags[words] == rows).all():
            return
        # several threads write one flag
        if self._in_block:
            same = times.block[rows] == times.block[flags[words]]
            words, rows = words[same], rows[same]
        words, rows = times.union_by_group(words, rows)
        flags[words] = rows

    def read(self, access: Access, time: int, *, acquires: bool, named_barriers: bool) -> None:
        """Warps read what may be flags."""
        warps = access.threads >> 5
        self.read_flag[warps] = time
        if acquires and self.any_published:
            self.acquired[warps] = time
        for buffer_access in access.buffer_accesses:
            flags = self._flags.get(id(buffer_access.data))
            if flags is None:
                continue
            words, readers = _by_words(buffer_access, access.width, buffer_access.threads >> 5)
            rows = flags[words]
            if self._in_block:
                rows = np.where(self._times.block[rows] == readers // self._warps, rows, 0).astype(np.int32)
            if not rows.any():
                continue
            readers, rows = self._times.union_by_group(readers, rows)
            if named_barriers:
                blocks, rows = self._times.union_by_group(readers // self._warps, rows)
                readers = (blocks[:, None] * self._warps + np.arange(self._warps)).reshape(-1)
                rows = np.repeat(rows, self._warps)
            if self._in_block or self._size > 1 or access.space != "shared":  # others write there
                self.was_told[readers[rows != 0]] = time
            self.seen[readers] = self._times.union(self.seen[readers], rows)
            if acquires:
                self.known[readers] = self._times.union(self.known[readers], rows)

    def merge(self, blocks: NDArray[np.bool_], size: int = 1) -> None:
        """Warps of these blocks, or of clusters of `size` blocks, know what any of them has acquired."""
        if not self.any_published:
            return
        for times in (self.acquired, self.read_flag, self.was_told):
            by_group = times.reshape(len(blocks) // size, -1)
            by_group[blocks[::size]] = by_group[blocks[::size]].max(axis=1, keepdims=True)
        if not self.has_rows:
            return
        for rows in (self.known, self.seen):
            grouped = rows.reshape(len(blocks) // size, -1)
            chosen = grouped[blocks[::size]]
            if (chosen == chosen[:, :1]).all():
                continue
            groups = np.repeat(np.arange(len(chosen)), chosen.shape[1])
            _, unions = self._times.union_by_group(groups, chosen.ravel())
            grouped[blocks[::size]] = unions[:, None]

    def differs_between_blocks(self) -> bool:
        """Whether warps of blocks know of their own blocks what those of other blocks do not."""
        shape = len(self.known) // self._warps, -1
        times: list[NDArray[Any]] = [self.fenced, self._block_time, self.published, self.acquired]
        if self.has_rows:
            everyone = np.arange(len(self.known))
            times += [self.own_block_times(everyone, seen=seen) for seen in (False, True)]
        by_block = [array.reshape(shape) for array in times]
        return any(bool((array != array[0]).any()) for array in by_block)


def turns(access: Access) -> list[Access]:
    """An atomic operation in parts, in each of which one warp at most accesses a word; none if they are many.

    Warps take turns at a word, and each sees what those before it have put there.
    """
    orders = [_turns_at_words(buffer_access, access.width) for buffer_access in access.buffer_accesses]
    count = 1 + max((int(order.max(initial=0)) for order in orders), default=0)
    if count == 1:
        return [access]
    if count > _MAX_TURNS:
        return []
    parts: list[Access] = []
    for turn in range(count):
        buffer_accesses = [
            replace(
                buffer_access,
                chosen=None,
                offsets=buffer_access.offsets[order == turn],
                threads=buffer_access.threads[order == turn],
            )
            for buffer_access, order in zip(access.buffer_accesses, orders, strict=True)
        ]
        threads = np.concatenate([buffer_access.threads for buffer_access in buffer_accesses])
        parts.append(replace(access, threads=threads, buffer_accesses=buffer_accesses))
    return parts


def _turns_at_words(buffer_access: BufferAccess, width: int) -> NDArray[np.int64]:
    """For each thread, how many warps before its own access the same word."""
    words, warps = buffer_access.offsets // max(width, _WORD), buffer_access.threads >> 5
    order = np.lexsort((warps, words))
    new_word = np.diff(words[order], prepend=-1) != 0
    new_warp = (np.diff(warps[order], prepend=-1) != 0) & ~new_word
    count = np.cumsum(new_warp)
    before = np.maximum.accumulate(np.where(new_word, count, 0))
    result = np.empty(len(words), dtype=np.int64)
    result[order] = count - before
    return result


def _by_words(
    buffer_access: BufferAccess, width: int, values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The words that threads access, thread by thread, and a value for each."""
    words = buffer_access.offsets // _WORD
    count = -(-width // _WORD)
    if count > 1:
        words = (words[:, None] + np.arange(count)).reshape(-1)
        values = np.repeat(values, count)
    return words, values
