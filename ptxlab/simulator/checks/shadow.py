"""The shadow of memory: for each few bytes, who wrote them last, and two that read them.

Of bytes that atomic operations update whose results nobody reads, it also keeps an update before the last, by
another block or warp: who updates last has not heard of the others by that.

Loads whose value may not matter (`plans.py`) are noted apart, so that they do not displace others.

An entry is one number, a stamp: the time, flags, and the thread (its index in the launch) or the column of
asynchronous work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Piece

TIME_SHIFT = 32
TIME = (1 << 30) - 1  # a mask, after the shift
LATE = 1 << 62  # not complete: no barrier orders it
ATOMIC, PENDING, WORK = 1 << 31, 1 << 30, 1 << 29
FLAGS = ATOMIC | PENDING | WORK
ID = (1 << 29) - 1  # a mask of the thread or the column
_LARGEST = 128  # bytes of an entry, until a narrower access comes
_MAX_LATER = 32 << 20  # bytes of reads that are kept


class Read(NamedTuple):
    """Some threads read bytes; their stamps, without the threads, are the same."""

    offsets: NDArray[np.int64]
    width: int
    threads: NDArray[Any]
    stamp: int
    load: int = 0  # the number of a load whose value may not matter


class Shadow:
    """For each few bytes of one array: its last writer, its last reader, and one of another warp.

    How many bytes an entry stands for, its grain, follows the narrowest access.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._shift = _LARGEST.bit_length() - 1  # bits of an address within an entry
        count = -(-size >> self._shift)
        self.writer = np.zeros(count, dtype=np.int64)
        self.reader = np.zeros(count, dtype=np.int64)
        self.second = np.zeros(count, dtype=np.int64)
        #: The same of loads whose value may not matter, and the load's number; empty while there are none.
        self.idle_reader = self.idle_second = self.idle_load = np.zeros(0, dtype=np.int64)
        #: Atomic updates before that of `writer`; empty while there are none.
        self.updater = np.zeros(0, dtype=np.int64)
        self.was_written = self.was_read = False
        self._later: list[Read] = []
        self._later_bytes = 0

    def note_later(self, read: Read) -> None:
        """Keep a read until `note_reads`: if nobody writes, it need not be noted."""
        self._later.append(read)
        self._later_bytes += read.offsets.nbytes
        if self._later_bytes > _MAX_LATER:
            self.note_reads()

    def note_reads(self) -> None:
        """Note the reads that were kept."""
        for read in self._later:
            entries, count = self.entries(read.offsets, read.width)
            threads = read.threads if count == 1 else np.repeat(read.threads, count)
            self.note_readers(entries, threads + read.stamp, read.load)
        self._later, self._later_bytes = [], 0

    def readers(self) -> tuple[NDArray[np.int64], ...]:
        """All that say who read, those of loads that may not matter last."""
        if len(self.idle_reader):
            return self.reader, self.second, self.idle_reader, self.idle_second
        return self.reader, self.second

    def readers_for(
        self, load: int, entries: NDArray[Any], limit: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where to note who reads entries: the last, and another one; `load` is 0, or a load's number.

        Readers of one load at a time: those before, if their stamps are not below a limit, count as others.
        """
        if not load:
            return self.reader, self.second
        if not len(self.idle_reader):
            self.idle_reader, self.idle_second, self.idle_load = np.zeros((3, len(self.writer)), np.int64)
        others = entries[self.idle_load[entries] != load]
        for idle, array in ((self.idle_reader, self.reader), (self.idle_second, self.second)):
            live = others[idle[others] >= limit]
            array[live] = idle[live]
            idle[others] = 0
        self.idle_load[others] = load
        return self.idle_reader, self.idle_second

    def note_readers(self, entries: NDArray[Any], stamps: NDArray[Any], load: int = 0) -> None:
        """The last reader of each entry, and another thread that reads it at the same time or did before."""
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

    def note_updates(self, entries: NDArray[Any], stamps: NDArray[Any], group: int) -> None:
        """The last atomic update of each entry, and one of another group of so many threads."""
        before = self.writer[entries]
        self.writer[entries] = stamps
        last = self.writer[entries]
        earlier = (before & (ATOMIC | PENDING | WORK) == ATOMIC) & _are_apart(before, last, group)
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
        for name in ("writer", "updater", "reader", "second", "idle_reader", "idle_second"):
            if not len(getattr(self, name)):
                continue
            stamps = np.tile(getattr(self, name), blocks)
            of_threads = (stamps != 0) & (stamps & WORK == 0)
            setattr(self, name, np.where(of_threads, stamps + first, stamps))
        self.idle_load = np.tile(self.idle_load, blocks)
        self.size *= blocks

    def entries_of(self, piece: Piece, width: int) -> tuple[NDArray[np.int64], int]:
        """As `entries`, for a piece of an access, which may come again."""
        kept = piece.notes.get("entries")
        if kept is None or kept[:2] != (self._shift, width):
            entries, count = self.entries(piece.offsets, width)
            kept = piece.notes["entries"] = self._shift, width, entries, count
        return kept[2], kept[3]

    def entries(self, offsets: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], int]:
        """The entries of accesses, those of each one side by side, and how many each has."""
        common = int(np.bitwise_or.reduce(offsets, initial=_LARGEST | width))
        self._narrow((common & -common).bit_length() - 1)  # so that no access cuts an entry
        count = width >> self._shift
        if count > 1:
            offsets = (offsets[:, None] + np.arange(0, width, 1 << self._shift)).reshape(-1)
        return offsets >> self._shift, count

    def _narrow(self, shift: int) -> None:
        """Make entries that are wider as narrow as this."""
        if shift >= self._shift:
            return
        for name in ("writer", "updater", "reader", "second", "idle_reader", "idle_second", "idle_load"):
            setattr(self, name, np.repeat(getattr(self, name), 1 << self._shift - shift))
        self._shift = shift


def _are_apart(some: NDArray[Any], others: NDArray[Any], group: int) -> NDArray[np.bool_]:
    """Whether threads are of different groups of so many."""
    return np.asarray((some & ID) // group != (others & ID) // group)
