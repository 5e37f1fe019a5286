"""Shadow memory: for every few bytes of memory, which threads accessed them last, and when.

An entry keeps the last writer and two readers: the last one, and another. In shared memory those that they
displace are kept as well, the last read of each warp; they are few, since a barrier of the block settles all.

Where atomic operations update bytes and nobody reads their results, an entry also keeps an update before the
last, by another block or warp: such an operation does not learn of the updates before it.

Loads whose value may not matter (`module_plans.py`) have readers of their own, `unused_reader` and
`unused_second`, so that they do not displace others.

Each record is one number, a stamp: the logical time, flags, and the thread (counted in the batch for shared
memory, in the launch for global memory) or the column of asynchronous work in the clocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess
from .opcode_traits import Traits, traits_of

TIME_SHIFT = 32
TIME = (1 << 30) - 1  # a mask, after the shift
LATE = 1 << 62  # not complete: no barrier orders it
ATOMIC = 1 << 31  # atomic, or strong
PENDING = 1 << 30  # of an asynchronous copy that its thread has not waited for
WORK = 1 << 29  # of asynchronous work that has a column in the clocks, instead of a thread
FLAGS = ATOMIC | PENDING | WORK
ID = (1 << 29) - 1  # a mask of the thread or the column
_LARGEST = 128  # bytes of an entry, until a narrower access comes
_RECORDS = ("writer", "updater", "reader", "second", "unused_reader", "unused_second", "unused_load")
_MAX_LATER = 32 << 20  # bytes of reads that are kept
_MAX_READERS = 1 << 27  # bytes of shared memory times warps, up to which all readers are kept


class Read(NamedTuple):
    """Some threads read bytes; their stamps, without the threads, are the same."""

    offsets: NDArray[np.int64]
    width: int
    threads: NDArray[Any]
    stamp: int
    load: int = 0  # the id of a load whose value may not matter


class Shadow:
    """The entries of one array. An entry stands for as many bytes as the narrowest access has."""

    def __init__(self, size: int, warps: int = 1) -> None:
        self.size = size
        self._warps = warps  # of a block
        self._shift = _LARGEST.bit_length() - 1  # bits of an address within an entry
        count = -(-size >> self._shift)
        self.writer = np.zeros(count, dtype=np.int64)
        self.reader = np.zeros(count, dtype=np.int64)
        self.second = np.zeros(count, dtype=np.int64)
        #: The same of loads whose value may not matter, and the load's id; empty while there are none.
        self.unused_reader = self.unused_second = self.unused_load = np.zeros(0, dtype=np.int64)
        #: Further readers of shared memory, by warp of the block.
        self.more_readers = np.zeros((0, count), dtype=np.int64)
        #: Atomic updates before that of `writer`; empty while there are none.
        self.updater = np.zeros(0, dtype=np.int64)
        self.was_written = self.was_read = False
        self._later: list[Read] = []
        self._later_bytes = 0

    def note_later(self, read: Read) -> None:
        """Keep a read until `note_reads`, which is not needed if nobody writes."""
        self._later.append(read)
        self._later_bytes += read.offsets.nbytes
        if self._later_bytes > _MAX_LATER:
            self.note_reads()

    def note_reads(self) -> None:
        """Note the reads that `note_later` kept."""
        for read in self._later:
            entries, count = self.entries(read.offsets, read.width)
            threads = read.threads if count == 1 else np.repeat(read.threads, count)
            self.note_readers(entries, threads + read.stamp, read.load)
        self._later, self._later_bytes = [], 0

    def readers(self) -> tuple[NDArray[np.int64], ...]:
        """The arrays of readers; those of loads that may not matter come after the first two."""
        if len(self.unused_reader):
            unused = self.unused_reader, self.unused_second
            return self.reader, self.second, *unused, *self.more_readers
        return self.reader, self.second, *self.more_readers

    def readers_for(
        self, load: int, entries: NDArray[Any], limit: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The arrays to note readers in, the last and another one; `load` is 0, or a load's id.

        An entry has unused readers of one load at a time; those of another, unless their stamps are below a
        limit, become ordinary ones.
        """
        if not load:
            return self.reader, self.second
        if not len(self.unused_reader):
            nobody = np.zeros((3, len(self.writer)), np.int64)
            self.unused_reader, self.unused_second, self.unused_load = nobody
        others = entries[self.unused_load[entries] != load]
        for unused, array in ((self.unused_reader, self.reader), (self.unused_second, self.second)):
            live = others[unused[others] >= limit]
            array[live] = unused[live]
            unused[others] = 0
        self.unused_load[others] = load
        return self.unused_reader, self.unused_second

    def note_readers(self, entries: NDArray[Any], stamps: NDArray[Any], load: int = 0) -> None:
        """Note the last reader of each entry, and another thread that reads it at once or did before."""
        reader, second = self.readers_for(load, entries)
        before = reader[entries] if self.was_read else None
        self.was_read = True
        reader[entries] = stamps
        if before is not None and before.any():
            others = (before != 0) & ((before ^ stamps) & ID != 0)
            second[entries[others]] = before[others]
        differs = reader[entries] != stamps
        if differs.any():
            second[entries[differs]] = stamps[differs]

    def note_shared_readers(self, entries: NDArray[Any], stamps: NDArray[Any], load: int, limit: int) -> None:
        """As `note_readers` in shared memory, where readers whose stamps are below a limit no longer count.

        The other thread is one of another warp, if there is one.
        """
        reader, second = self.readers_for(load, entries, limit)
        before = reader[entries]
        if len(before) and before.max() >= limit:
            keep = before >= limit
            differences = before ^ stamps
            keep &= differences & (FLAGS | ID) != 0
            if keep.any():
                same_warp = keep & (differences & (FLAGS | ID & ~31) == 0)
                if same_warp.any():  # it does not take the place of one of another warp
                    same_warp &= second[entries] >= limit
                    keep &= ~same_warp
                self._displace(second, entries[keep], before[keep], limit)
        reader[entries] = stamps
        differences = reader[entries]
        differences ^= stamps
        if len(differences) and differences.max() >= 32:  # the times are equal: it is another warp
            others = differences & (ID & ~31) != 0
            self._displace(second, entries[others], stamps[others], limit)

    def _displace(
        self, second: NDArray[np.int64], entries: NDArray[Any], stamps: NDArray[Any], limit: int
    ) -> None:
        """Note other readers of entries; what they displace, and what has no room, is kept by warp."""
        before = second[entries]
        second[entries] = stamps
        if self.size * self._warps > _MAX_READERS or second is self.unused_second:
            return
        displaced = (before >= limit) & ((before ^ stamps) & (FLAGS | ID & ~31) != 0)
        crowded = (second[entries] ^ stamps) & (ID & ~31) != 0
        for chosen, readers in ((displaced, before), (crowded, stamps)):
            if chosen.any():
                if not len(self.more_readers):
                    self.more_readers = np.zeros((self._warps, len(self.writer)), dtype=np.int64)
                readers = readers[chosen]
                self.more_readers[(readers & ID) // 32 % self._warps, entries[chosen]] = readers

    def note_writes(self, entries: NDArray[Any], stamps: NDArray[Any]) -> None:
        """Note the last writer of each entry."""
        self.writer[entries] = stamps
        if len(self.updater):
            self.updater[entries] = 0

    def note_updates(self, entries: NDArray[Any], stamps: NDArray[Any], group: int) -> None:
        """Note the last atomic update of each entry, and one by another group of so many threads."""
        before = self.writer[entries]
        self.writer[entries] = stamps
        last = self.writer[entries]
        earlier = (before & FLAGS == ATOMIC) & _are_apart(before, last, group)
        at_once = _are_apart(stamps, last, group)
        for others, chosen in ((before, earlier), (stamps, at_once)):
            if chosen.any():
                if not len(self.updater):
                    self.updater = np.zeros_like(self.writer)
                self.updater[entries[chosen]] = others[chosen]

    def repeat(self, blocks: int, lanes: int) -> None:
        """The shadow of one block becomes that of `blocks` blocks of `lanes` lanes, which did the same."""
        count = len(self.writer)
        first = np.repeat(np.arange(blocks) * lanes, count)

        def repeated(stamps: NDArray[np.int64]) -> NDArray[np.int64]:
            stamps = np.tile(stamps, blocks)
            of_threads = (stamps != 0) & (stamps & WORK == 0)
            return np.where(of_threads, stamps + first, stamps)

        for name in ("writer", "updater", "reader", "second", "unused_reader", "unused_second"):
            if not len(getattr(self, name)):
                continue
            setattr(self, name, repeated(getattr(self, name)))
        more = [repeated(stamps) for stamps in self.more_readers]
        self.more_readers = np.array(more, dtype=np.int64).reshape(len(more), blocks * count)
        self.unused_load = np.tile(self.unused_load, blocks)
        self.size *= blocks

    def forget(self, first: int, last: int) -> None:
        """Bytes are given to somebody else: what was done to them does not count."""
        self.note_reads()
        common = first | last + 1 | _LARGEST
        self._narrow((common & -common).bit_length() - 1)  # so that others' bytes keep what was done to them
        chosen = slice(first >> self._shift, (last >> self._shift) + 1)
        for name in _RECORDS:
            getattr(self, name)[chosen] = 0

    def entries_of(self, buffer_access: BufferAccess, width: int) -> tuple[NDArray[np.int64], int]:
        """As `entries`, kept for the access to a buffer, which may be repeated."""
        kept = buffer_access.notes.get("entries")
        if kept is None or kept[:2] != (self._shift, width):
            entries, count = self.entries(buffer_access.offsets, width)
            kept = buffer_access.notes["entries"] = self._shift, width, entries, count
        return kept[2], kept[3]

    def entries(self, offsets: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], int]:
        """The entries that threads access, thread by thread, and how many each of them accesses."""
        common = int(np.bitwise_or.reduce(offsets, initial=_LARGEST | width))
        self._narrow((common & -common).bit_length() - 1)  # so that no access cuts an entry
        count = width >> self._shift
        if count > 1:
            offsets = (offsets[:, None] + np.arange(0, width, 1 << self._shift)).reshape(-1)
        return offsets >> self._shift, count

    def _narrow(self, shift: int) -> None:
        """Divide entries that are wider than this."""
        if shift >= self._shift:
            return
        for name in _RECORDS:
            setattr(self, name, np.repeat(getattr(self, name), 1 << self._shift - shift))
        self.more_readers = np.repeat(self.more_readers, 1 << self._shift - shift, axis=1)
        self._shift = shift


class ShadowTouch(NamedTuple):
    """An access to one buffer: the entries of its shadow, and the thread that accesses each."""

    access: Access
    buffer_access: BufferAccess
    shadow: Shadow
    entries: NDArray[Any]
    threads: NDArray[Any]  # of each entry
    per_thread: int  # entries per thread
    strong: bool  # atomic, or strong in the sense of PTX's memory model
    time: int
    first_thread: int  # the number that the batch's first thread has in stamps of the shadow

    @property
    def in_shared(self) -> bool:
        """Whether it is an access to shared memory; otherwise to global memory."""
        return self.access.space == "shared"

    @property
    def traits(self) -> Traits:
        """Those of the instruction."""
        return traits_of(self.access.instruction.opcode)

    def stamps(self, flags: int = 0) -> NDArray[Any]:
        """The stamp of each entry."""
        return np.asarray(self.threads + (self.first_thread | self.time << TIME_SHIFT | flags))

    def threads_of(self, stamps: NDArray[Any]) -> NDArray[Any]:
        """The threads of stamps as indices into the batch; those of earlier batches are negative."""
        return np.asarray((stamps & ID) - self.first_thread)

    @property
    def content(self) -> NDArray[np.uint8] | None:
        """The bytes that a store writes, [entries, bytes of an entry]; None where they are not known."""
        if not self.access.values:
            return None
        chosen = self.buffer_access.chosen
        values = [value if chosen is None else value[chosen] for value in self.access.values]
        return np.stack(values, axis=-1).view(np.uint8).reshape(-1, self.grain)

    @property
    def grain(self) -> int:
        """Bytes of an entry when the access came: a narrower one later makes those of the shadow narrower."""
        return self.access.width // self.per_thread

    def places(self, which: NDArray[np.intp]) -> NDArray[np.int64]:
        """The first byte of each of some entries."""
        return np.asarray(self.entries[which], dtype=np.int64) * self.grain

    def span(self, which: NDArray[np.intp]) -> tuple[int, int]:
        """First and last byte of the first run of some entries without gaps."""
        first = np.sort(self.places(which))
        gaps = np.flatnonzero(np.diff(first) > self.grain)
        last = first[gaps[0]] if len(gaps) else first[-1]
        return int(first[0]), int(last) + self.grain - 1

    @property
    def owners(self) -> NDArray[np.int64]:
        """The owner of each entry; only for an access that has owners."""
        owners, chosen = self.access.owners, self.buffer_access.chosen
        assert owners is not None
        return np.repeat(owners if chosen is None else owners[chosen], self.per_thread)

    @property
    def verb(self) -> str:
        """What it does to bytes that others have touched."""
        return {"read": "read{s}", "write": "overwrite{s}"}.get(self.access.kind, "update{s}")


def _are_apart(some: NDArray[Any], others: NDArray[Any], group: int) -> NDArray[np.bool_]:
    """Whether the threads of stamps are in different groups of so many."""
    return np.asarray((some & ID) // group != (others & ID) // group)
