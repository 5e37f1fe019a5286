"""Fences and flags: what strong accesses hand from warp to warp, in a block and in the whole launch.

A warp that has executed a fence raises a flag; one that reads the flag and executes a fence knows what the
first one did before its fence. `release_acquire.py` has the rule, for one scope. A fence or an access with
scope .cta counts in the block alone, any other in both scopes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access
from .logical_time import LogicalTime
from .opcode_traits import Traits
from .release_acquire import ReleaseAcquire, turns
from .vector_clocks import LaneRows, LastBarriers


class FlagClocks:
    """What warps of a batch have released and acquired in both scopes, and what caches may hold meanwhile.

    `published` says of each block of earlier batches, in the order of the launch, up to what time other
    blocks can know what it did.
    """

    def __init__(
        self, time: LogicalTime, rows: LaneRows, last: LastBarriers, published: NDArray[np.int64]
    ) -> None:
        self._batch = rows.batch
        self._lanes = rows.lanes
        self._time = time
        self._rows = rows
        self._last = last
        self.published_before = published
        self.in_block = ReleaseAcquire(rows.batch, in_block=True)
        self.everywhere = ReleaseAcquire(rows.batch, in_block=False, any_published=bool(published.any()))
        #: Each block's first load from an array since its last fence, by id of the array.
        self._loaded: dict[int, NDArray[np.int64]] = {}

    def published(self) -> NDArray[np.int64]:
        """As `published` of the constructor, with the blocks of this batch."""
        blocks = self.everywhere.published.reshape(self._batch.count, -1).max(axis=1)
        return np.concatenate([self.published_before, blocks])

    # -- events ----------------------------------------------------------------------------------------------

    def fence(self, threads: NDArray[Any], *, cta_scope: bool, acquires: bool = True) -> None:
        """Threads execute a memory fence, or a release."""
        for scope in (self.in_block,) if cta_scope else (self.in_block, self.everywhere):
            scope.fence(
                threads >> 5, self._time.now, self._last.block, self._last.cluster_writes, acquires=acquires
            )

    def access(self, access: Access, traits: Traits, *, reads: bool, writes: bool) -> None:
        """Threads read or write what may be flags; with `.cta` those are for threads of their block."""
        if traits.cta_scope:
            self._time.note_cta_scope()
        if traits.releases:
            self.fence(access.threads, cta_scope=traits.cta_scope, acquires=traits.acquires)
        now, block_time, has_matrix = self._time.now, self._last.block, self._rows.matrix is not None
        for scope in (self.in_block,) if traits.cta_scope else (self.in_block, self.everywhere):
            nearer = self.in_block if scope is self.everywhere else None
            parts = turns(access) if reads and writes and scope.has_fenced else []
            for part in parts:
                scope.read(part, now, acquires=traits.acquires, named_barriers=has_matrix)
                scope.write(part, now, block_time, has_matrix, nearer)
            # many atomic operations at a word at once: as if each saw what all put there
            if writes and not parts:
                scope.write(access, now, block_time, has_matrix, nearer)
            if reads and not parts:
                scope.read(access, now, acquires=traits.acquires, named_barriers=has_matrix)

    def merge(self, blocks: NDArray[np.bool_], cluster_size: int = 1) -> None:
        """Warps of these blocks, or of these clusters, know what any of them has acquired."""
        self.in_block.merge(blocks)
        self.everywhere.merge(blocks, cluster_size)

    # -- queries ---------------------------------------------------------------------------------------------

    def read_since(self, threads: NDArray[Any], time: int) -> NDArray[np.bool_]:
        """Whether each thread's warp has read a flag after a time, itself or through a barrier."""
        warps = threads >> 5
        read = np.maximum(self.everywhere.read_flag[warps], self.in_block.read_flag[warps])
        return np.asarray(read > time)

    def have_narrow_fences(self, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each thread's warp has executed a fence for its block alone since it read a flag."""
        warps = threads >> 5
        return np.asarray(self.in_block.fenced[warps] > self.everywhere.read_flag[warps])

    def were_read_by(self, threads: NDArray[Any], part: str, *, in_block: bool = False) -> NDArray[np.bool_]:
        """Whether this is a part of the opcode by which each thread's warp has read its last flag."""
        scope = self.in_block if in_block else self.everywhere
        times, which = np.unique(scope.read_flag[threads >> 5], return_inverse=True)
        readers = [self._time.instruction_at(time) for time in times.tolist()]
        has_part = [reader is not None and part in reader.parts for reader in readers]
        return np.array(has_part, dtype=np.bool_)[which]

    def has_published(self, threads: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each thread's warp has written a flag after a fence; of earlier batches it is assumed."""
        warps = np.maximum(threads >> 5, 0)
        published = (self.everywhere.published[warps] > 0) | (self.in_block.published[warps] > 0)
        return np.asarray(published | (threads < 0))

    # -- what the cache of an SM may hold --------------------------------------------------------------------

    def note_loads(self, data: NDArray[np.uint8], threads: NDArray[Any]) -> None:
        """Threads load from an array through the caches of their SMs, which keep what was there."""
        blocks = np.flatnonzero(np.bincount(threads // self._lanes))
        loaded = self._loaded.setdefault(id(data), np.zeros(self._batch.count, dtype=np.int64))
        emptied = loaded[blocks] <= self._last_fences[blocks]
        loaded[blocks[emptied]] = self._time.now

    def may_be_old(
        self, data: NDArray[np.uint8], threads: NDArray[Any], writes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether the block of each thread has loaded from the array before it was written.

        A fence of the block for the whole device empties the cache.
        """
        blocks = threads // self._lanes
        loaded = self._loaded.get(id(data), np.zeros(self._batch.count, dtype=np.int64))[blocks]
        return np.asarray((loaded > self._last_fences[blocks]) & (loaded < writes))

    @property
    def _last_fences(self) -> NDArray[np.int64]:
        """When a warp of each block last executed a fence for the whole device; 0 for never."""
        return np.asarray(self.everywhere.fenced.reshape(self._batch.count, -1).max(axis=1))
