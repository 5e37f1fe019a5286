"""Copies and wgmma that are under way: their accesses may still happen until somebody has waited for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Access, Piece
from ..threads import Batch
from .clocks import Clocks, Warpgroup
from .shadow import ATOMIC, LATE, TIME_SHIFT, WORK, Shadow

_GROUPS = ("cp.async", "cp.async.bulk", "wgmma")


def distinct(numbers: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """Each number below a limit once, in order: quicker than np.unique."""
    there = np.zeros(limit, dtype=np.bool_)
    there[numbers] = True
    return np.flatnonzero(there).astype(np.int64)


@dataclass(slots=True)
class Copies:
    """Accesses of a group of asynchronous copies, until a wait."""

    group: str
    threads: NDArray[Any]
    numbers: NDArray[Any]  # of the group, for each thread
    offsets: NDArray[Any]
    width: int
    stamps: NDArray[Any]
    reads: bool
    shadow: Shadow | None = None  # of the buffer in global memory that is written; None for shared memory

    def where(self, mask: NDArray[np.bool_]) -> Copies:
        """Those accesses where the mask holds."""
        if mask.all():
            return self
        return replace(
            self,
            threads=self.threads[mask],
            numbers=self.numbers[mask],
            offsets=self.offsets[mask],
            stamps=self.stamps[mask],
        )


class _Unannounced(NamedTuple):
    """Writes of copies whose mbarrier is not known yet."""

    source: int  # the id of the instruction
    offsets: NDArray[Any]
    width: int
    keys: NDArray[Any]  # of the thread that issued it and the block that it writes to


class _Products(NamedTuple):
    """Reads of wgmma."""

    leaders: NDArray[Any]  # the first threads of their warpgroups
    groups: NDArray[Any]  # their numbers of groups
    time: int


class AsynchronousWork:
    """What threads of a batch have started and not waited for, group by group."""

    def __init__(self, batch: Batch, clocks: Clocks) -> None:
        self._batch = batch
        self._clocks = clocks
        self._committed = {name: np.zeros(batch.size, dtype=np.int64) for name in _GROUPS}
        self._unannounced: list[_Unannounced] = []
        self._products: list[_Products] = []
        self.copies: list[Copies] = []

    def repeat(self, blocks: int, lanes: int, pitch: int) -> None:
        """Let `blocks` blocks, `lanes` lanes and `pitch` bytes apart, have started what the first started."""

        def repeated(values: NDArray[Any], step: int) -> NDArray[Any]:
            return np.asarray((values + np.arange(blocks)[:, None] * step).reshape(-1))

        self.copies = [
            replace(
                each,
                threads=repeated(each.threads, lanes),
                numbers=repeated(each.numbers, 0),
                offsets=repeated(each.offsets, pitch),
                stamps=repeated(each.stamps, lanes),
            )
            if each.shadow is None
            else each
            for each in self.copies
        ]
        self._unannounced = [
            each._replace(offsets=repeated(each.offsets, pitch), keys=repeated(each.keys, lanes * blocks + 1))
            for each in self._unannounced
        ]

    # -- groups ----------------------------------------------------------------------------------------------

    def add(
        self, group: str, access: Access, piece: Piece, stamps: NDArray[Any], shadow: Shadow | None = None
    ) -> None:
        """Copies that belong to the group that their threads end next; a shadow is one of global memory."""
        numbers = self._committed[group][piece.threads]
        reads = access.kind == "read"
        self.copies.append(
            Copies(group, piece.threads, numbers, piece.offsets, access.width, stamps, reads, shadow)
        )

    def commit(self, group: str, threads: NDArray[Any]) -> None:
        """Threads end their groups."""
        self._committed[group][threads] += 1

    def is_committed(self, group: str) -> bool:
        """Whether copies of such a group are under way that somebody has ended."""
        committed = self._committed[group]
        return any(
            each.group == group and bool((each.numbers < committed[each.threads]).any())
            for each in self.copies
        )

    def wait(
        self, group: str, threads: NDArray[Any], newest: int, everything: bool, only_read: bool
    ) -> list[Copies]:
        """Take out what is complete when threads wait for all but the `newest` newest groups.

        With `.read` only the sources of bulk copies are known to have been read.
        """
        waiting = np.full(self._batch.size, -1, dtype=np.int64)
        waiting[threads] = self._committed[group][threads] - newest + everything
        complete, rest = [], []
        for each in self.copies:
            ours = each.group == group and (each.reads or not only_read)
            done = waiting[each.threads] > each.numbers if ours else None
            if done is None or not done.any():
                rest.append(each)
                continue
            complete.append(each.where(done))
            if not done.all():
                rest.append(each.where(~done))
        self.copies = rest
        return complete

    # -- copies that an mbarrier completes -------------------------------------------------------------------

    def add_unannounced(self, access: Access, piece: Piece) -> None:
        """Copies; at which mbarrier they arrive, the same instruction says next."""
        self._unannounced.append(
            _Unannounced(id(access.instruction), piece.offsets, access.width, self._keys(access, piece))
        )

    def _keys(self, access: Access, piece: Piece) -> NDArray[Any]:
        """Numbers of the threads and of the blocks whose memory they touch, or of pairs of blocks."""
        blocks = piece.offsets // (piece.data.size // self._batch.count)
        if "cta_group::2" in access.instruction.parts:  # the mbarrier may be in either block of a pair
            blocks = blocks & ~1
        return np.asarray(piece.threads * self._batch.count + blocks)

    def announce(self, access: Access, piece: Piece, shadow: Shadow, time: int) -> None:
        """Copies learn which mbarrier completes them."""
        pitch = piece.data.size // self._batch.count
        keys = self._keys(access, piece)
        places, which = np.unique(piece.offsets % pitch, return_inverse=True)
        numbers = [self._clocks.column(place) for place in places.tolist()]
        columns = np.array(numbers, dtype=np.int64)[which]
        order = np.argsort(keys)
        keys, columns = keys[order], columns[order]
        rest = []
        for each in self._unannounced:
            position = np.minimum(np.searchsorted(keys, each.keys), len(keys) - 1)
            known = keys[position] == each.keys
            if each.source != id(access.instruction) or not known.any():
                rest.append(each)
                continue
            entries, count = shadow.entries(each.offsets[known], each.width)
            stamps = columns[position[known]] | (time << TIME_SHIFT | LATE | WORK)
            if access.instruction.parts[0] == "red":
                stamps |= ATOMIC
            shadow.writer[entries] = np.repeat(stamps, count)
            if not known.all():
                rest.append(each._replace(offsets=each.offsets[~known], keys=each.keys[~known]))
        self._unannounced = rest

    # -- wgmma -----------------------------------------------------------------------------------------------

    def add_wgmma(self, leaders: NDArray[Any], time: int) -> None:
        """Warpgroups, given by their first threads, start a wgmma."""
        self._products.append(_Products(leaders, self._committed["wgmma"][leaders], time))

    def wait_wgmma(self, threads: NDArray[Any], newest: int) -> None:
        """The wgmma in all but the `newest` newest groups are done, and their warpgroups know it."""
        count = -(-self._batch.size // 128)
        warpgroups = distinct(threads >> 7, count)
        waiting = np.full(count, -1, dtype=np.int64)
        waiting[warpgroups] = self._committed["wgmma"][warpgroups << 7] - newest
        latest = np.zeros(count, dtype=np.int64)  # when those were issued that are complete
        rest = []
        for each in self._products:
            done = waiting[each.leaders >> 7] > each.groups
            latest[each.leaders[done] >> 7] = each.time
            if not done.all():
                rest.append(_Products(each.leaders[~done], each.groups[~done], each.time))
        self._products = rest
        completed = np.flatnonzero(latest)
        blocks, groups = np.divmod(completed, self._batch.block_lanes // 128)
        for group in np.unique(groups).tolist():
            ours = groups == group
            chosen = np.zeros(count, dtype=np.bool_)
            chosen[completed[ours]] = True
            times = np.zeros(self._batch.count, dtype=np.int64)
            times[blocks[ours]] = latest[completed[ours]]
            those = threads if chosen[warpgroups].all() else threads[chosen[threads >> 7]]
            self._clocks.complete(those, self._clocks.column(Warpgroup(group)), times)
