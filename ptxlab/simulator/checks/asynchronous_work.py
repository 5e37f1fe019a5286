"""Asynchronous copies and wgmma: their accesses may still happen until threads have waited for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess
from ..ptx.syntax import PtxInstruction
from .clocks import Clocks
from .shadow_memory import ATOMIC, ID, LATE, TIME, TIME_SHIFT, WORK, Shadow, ShadowTouch
from .vector_clocks import Warpgroup

_GROUPS = ("cp.async", "cp.async.bulk", "wgmma")


def distinct(numbers: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """As np.unique, for numbers below a limit, and faster."""
    present = np.zeros(limit, dtype=np.bool_)
    present[numbers] = True
    return np.flatnonzero(present).astype(np.int64)


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
    shadow: Shadow
    in_shared: bool

    def where(self, mask: NDArray[np.bool_]) -> Copies:
        """The accesses for which the mask is true."""
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

    def __init__(self, clocks: Clocks) -> None:
        self._batch = batch = clocks.batch
        self._clocks = clocks
        self._time = clocks.time
        self._committed = {name: np.zeros(batch.size, dtype=np.int64) for name in _GROUPS}
        self._unannounced: list[_Unannounced] = []
        self._products: list[_Products] = []
        self.copies: list[Copies] = []

    def repeat(self, blocks: int, lanes: int, pitch: int) -> None:
        """All blocks, `lanes` threads and `pitch` bytes apart, have started what the first one started."""

        def repeated(values: NDArray[Any], step: int) -> NDArray[Any]:
            return np.asarray((values + np.arange(blocks)[:, None] * step).reshape(-1))

        self.copies = [
            replace(
                copy,
                threads=repeated(copy.threads, lanes),
                numbers=repeated(copy.numbers, 0),
                offsets=repeated(copy.offsets, pitch),
                stamps=repeated(copy.stamps, lanes),
            )
            if copy.in_shared
            else copy
            for copy in self.copies
        ]
        self._unannounced = [
            writes._replace(
                offsets=repeated(writes.offsets, pitch), keys=repeated(writes.keys, lanes * blocks + 1)
            )
            for writes in self._unannounced
        ]

    # -- groups ----------------------------------------------------------------------------------------------

    def add(self, touch: ShadowTouch, stamps: NDArray[Any]) -> None:
        """Copies that belong to the group that their threads end next; `stamps` are those of the entries."""
        group, threads, access = touch.traits.group, touch.buffer_access.threads, touch.access
        self.copies.append(
            Copies(
                group,
                threads,
                numbers=self._committed[group][threads],
                offsets=touch.buffer_access.offsets,
                width=access.width,
                stamps=stamps[:: touch.per_thread],
                reads=access.kind == "read",
                shadow=touch.shadow,
                in_shared=touch.in_shared,
            )
        )

    def commit(self, group: str, threads: NDArray[Any]) -> None:
        """Threads end their groups."""
        self._committed[group][threads] += 1

    def is_committed(self, group: str) -> bool:
        """Whether copies are under way whose group is committed."""
        committed = self._committed[group]
        return any(
            copy.group == group and bool((copy.numbers < committed[copy.threads]).any())
            for copy in self.copies
        )

    def instruction_of(self, copies: Copies) -> PtxInstruction:
        """The instruction that started them."""
        instruction = self._time.instruction_at(int(copies.stamps[0]) >> TIME_SHIFT & TIME)
        assert instruction is not None
        return instruction

    def wait(
        self, group: str, threads: NDArray[Any], newest: int, *, everything: bool, only_read: bool
    ) -> None:
        """Threads wait for all but the `newest` newest groups: what is complete becomes ordinary accesses.

        `everything` includes copies of groups that are not committed. With `.read` only the sources of bulk
        copies are known to have been read.
        """
        times: dict[int, int] = {}  # each instruction's copies count as accesses at a time of their own
        for copies in self._take_complete(group, threads, newest, everything, only_read):
            instruction = self.instruction_of(copies)
            if id(instruction) not in times:
                self._time.tick(instruction)
                times[id(instruction)] = self._time.now
            entries, count = copies.shadow.entries(copies.offsets, copies.width)
            stamps = np.repeat(copies.stamps, count)
            fresh = stamps & (ID | ATOMIC) | times[id(instruction)] << TIME_SHIFT
            for array in copies.shadow.readers() if copies.reads else (copies.shadow.writer,):
                same = array[entries] == stamps
                array[entries[same]] = fresh[same]

    def _take_complete(
        self, group: str, threads: NDArray[Any], newest: int, everything: bool, only_read: bool
    ) -> list[Copies]:
        """Take out the copies that are complete."""
        waiting = np.full(self._batch.size, -1, dtype=np.int64)
        waiting[threads] = self._committed[group][threads] - newest + everything
        complete, rest = [], []
        for copy in self.copies:
            ours = copy.group == group and (copy.reads or not only_read)
            done = waiting[copy.threads] > copy.numbers if ours else None
            if done is None or not done.any():
                rest.append(copy)
                continue
            complete.append(copy.where(done))
            if not done.all():
                rest.append(copy.where(~done))
        self.copies = rest
        return complete

    # -- copies that an mbarrier completes -------------------------------------------------------------------

    def add_unannounced(self, access: Access, buffer_access: BufferAccess) -> None:
        """Copies that complete on an mbarrier, which a later access of the same instruction names."""
        self._unannounced.append(
            _Unannounced(
                id(access.instruction), buffer_access.offsets, access.width, self._keys(access, buffer_access)
            )
        )

    def _keys(self, access: Access, buffer_access: BufferAccess) -> NDArray[Any]:
        """A number for each thread and the block, or pair of blocks, whose memory it accesses."""
        blocks = buffer_access.offsets // (buffer_access.data.size // self._batch.count)
        if "cta_group::2" in access.instruction.parts:  # the mbarrier may be in either block of a pair
            blocks = blocks & ~1
        return np.asarray(buffer_access.threads * self._batch.count + blocks)

    def announce(self, touch: ShadowTouch) -> None:
        """Copies learn which mbarrier they complete on."""
        access, buffer_access, shadow = touch.access, touch.buffer_access, touch.shadow
        pitch = buffer_access.data.size // self._batch.count
        keys = self._keys(access, buffer_access)
        places, which = np.unique(buffer_access.offsets % pitch, return_inverse=True)
        numbers = [self._clocks.work.column(place) for place in places.tolist()]
        columns = np.array(numbers, dtype=np.int64)[which]
        order = np.argsort(keys)
        keys, columns = keys[order], columns[order]
        rest = []
        for writes in self._unannounced:
            position = np.minimum(np.searchsorted(keys, writes.keys), len(keys) - 1)
            known = keys[position] == writes.keys
            if writes.source != id(access.instruction) or not known.any():
                rest.append(writes)
                continue
            entries, count = shadow.entries(writes.offsets[known], writes.width)
            stamps = columns[position[known]] | (touch.time << TIME_SHIFT | LATE | WORK)
            if access.instruction.parts[0] == "red":
                stamps |= ATOMIC
            shadow.writer[entries] = np.repeat(stamps, count)
            if not known.all():
                rest.append(writes._replace(offsets=writes.offsets[~known], keys=writes.keys[~known]))
        self._unannounced = rest

    # -- wgmma -----------------------------------------------------------------------------------------------

    def add_wgmma(self, touch: ShadowTouch) -> NDArray[np.int64]:
        """Warpgroups start a wgmma; the stamps of the entries that it reads."""
        notes, lanes = touch.access.buffer_accesses[0].notes, self._batch.block_lanes
        if "warpgroups" not in notes:
            leaders = distinct(touch.access.threads, self._batch.size)  # each reads for its warpgroup
            notes["warpgroups"] = leaders, np.unique(leaders % lanes // 128).tolist()
        leaders, warpgroups = notes["warpgroups"]
        self._products.append(_Products(leaders, self._committed["wgmma"][leaders], touch.time))
        columns = np.zeros(lanes // 128, dtype=np.int64)
        for number in warpgroups:
            columns[number] = self._clocks.work.column(Warpgroup(number))
        stamps = columns[touch.threads % lanes // 128] | (touch.time << TIME_SHIFT | LATE | WORK)
        return np.asarray(stamps)

    def wait_wgmma(self, threads: NDArray[Any], newest: int) -> None:
        """The wgmma in all but the `newest` newest groups are done, and their warpgroups know it."""
        count = -(-self._batch.size // 128)
        warpgroups = distinct(threads >> 7, count)
        waiting = np.full(count, -1, dtype=np.int64)
        waiting[warpgroups] = self._committed["wgmma"][warpgroups << 7] - newest
        latest = np.zeros(count, dtype=np.int64)  # when those were issued that are complete
        rest = []
        for product in self._products:
            done = waiting[product.leaders >> 7] > product.groups
            latest[product.leaders[done] >> 7] = product.time
            if not done.all():
                rest.append(_Products(product.leaders[~done], product.groups[~done], product.time))
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
            self._clocks.work.complete(those, self._clocks.work.column(Warpgroup(group)), times)
