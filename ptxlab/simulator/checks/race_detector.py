"""Races: accesses to the same bytes, one of them a write, of which neither happens before the other.

An access is compared with the last writer and with readers of the same bytes, which shadow memory keeps. The
vector clocks say whether those happen before it. If not, it is judged what that means: a race, a missing wait
for asynchronous work, or nothing, as where a flag is reset or the same value is written again.

Kinds found here: race, narrow scope, missing wait, flag without acquire, warp-synchronous code, and
own rows of A. `access_reports.py` says them in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .access_reports import MAX_OTHERS, AccessReports, Conflict, OtherVerb
from .clocks import Clocks
from .clusters import ClusterPresence
from .module_plans import ModulePlans
from .shadow_memory import ATOMIC, FLAGS, ID, PENDING, TIME, TIME_SHIFT, WORK, ShadowTouch
from .uniform_blocks import UniformBlocks
from .unused_loads import UnusedLoads


@dataclass(eq=False)
class RaceDetector:
    """Finds earlier accesses that do not happen before the current one, and reports those that matter."""

    reports: AccessReports
    clocks: Clocks
    blocks: UniformBlocks
    presence: ClusterPresence
    loads: UnusedLoads
    plans: ModulePlans

    def check(self, touch: ShadowTouch, before: NDArray[Any], other_verb: OtherVerb) -> bool:
        """Compare an access with earlier ones, given by stamps of its entries; whether any is unordered."""
        which = self.unordered(touch, before, other_verb)
        if which is None:
            return False
        self._judge(touch, before, which, other_verb)
        return True

    def check_updates(self, touch: ShadowTouch) -> None:
        """Compare an ordinary access with atomic updates before that of the last writer."""
        if not touch.strong and len(touch.shadow.updater):
            self.check(touch, touch.shadow.updater[touch.entries], "wrote")

    def check_simultaneous(self, touch: ShadowTouch, stamps: NDArray[Any]) -> None:
        """Report threads that write different values to the same bytes in one instruction.

        Atomic operations may, but with scope .cta only those of one block. The shadow has the stamps already.
        """
        shadow, entries, threads = touch.shadow, touch.entries, touch.threads
        updates = touch.traits.volatile and self.plans.updates(touch.access.instruction)
        if touch.strong and not touch.traits.cta_scope and not updates:
            return
        if not touch.strong and (touch.access.kind != "write" or (shadow.writer[entries] == stamps).all()):
            return
        last = np.zeros(len(shadow.writer), dtype=np.int64)
        last[entries] = np.arange(len(entries))
        winner = last[entries]
        if updates:
            conflicting = threads != threads[winner]
        elif touch.strong:
            blocks = threads // self.clocks.lanes
            conflicting = blocks != blocks[winner]
        else:
            content = touch.content
            if content is None:
                return
            self._require_separate(touch)  # other blocks may write other values
            conflicting = (content != content[winner]).any(axis=1) & (threads != threads[winner])
        if conflicting.any():
            if updates:
                self._require_separate(touch)
            self.reports.conflicting_writes(touch, winner, np.flatnonzero(conflicting))

    def _require_separate(self, touch: ShadowTouch) -> None:
        if touch.in_shared:
            self.blocks.require_separate()

    # -- order -----------------------------------------------------------------------------------------------

    def unordered(
        self, touch: ShadowTouch, before: NDArray[Any], other_verb: OtherVerb
    ) -> NDArray[np.intp] | None:
        """The entries whose earlier access does not happen before the current one; None if there are none.

        `clocks_plain.py` has the rule that it follows.
        """
        limit = self.clocks.last.known_to_all + 1 << TIME_SHIFT if touch.in_shared else 1
        if not len(before) or before.max() < limit:
            return None
        late = before >= limit
        late &= (before ^ (touch.threads + touch.first_thread)) & (ID | PENDING | WORK) != 0  # another thread
        which = np.flatnonzero(late)
        if not len(which):
            return None
        if touch.in_shared:
            self.blocks.require_same_clocks()
        stamps, threads = before, touch.threads
        if len(which) < len(before):
            stamps, threads = before[which], threads[which]
        ordered = self._ordered(touch, threads, stamps, other_verb)
        if touch.strong:
            atomic = stamps & ATOMIC != 0
            if self.plans.stores_volatile:
                loose = atomic & ~ordered & (stamps & (PENDING | WORK) == 0)
                self._check_volatile(touch, before, which[loose], other_verb)
            narrow = touch.traits.cta_scope | self.clocks.time.had_cta_scope(stamps >> TIME_SHIFT & TIME)
            if np.any(narrow):  # atomic for threads of the same block only
                same = threads // self.clocks.lanes == touch.threads_of(stamps) // self.clocks.lanes
                atomic &= same | ~narrow
            ordered |= atomic
        if ordered.all():
            return None
        return np.asarray(which[~ordered])

    def _ordered(
        self, touch: ShadowTouch, threads: NDArray[Any], stamps: NDArray[Any], other_verb: OtherVerb
    ) -> NDArray[np.bool_]:
        """Whether earlier accesses, given by their stamps, happen before what threads do now.

        Loads of shared memory are done when a thread arrives at an mbarrier, those of global memory are not.
        """
        written = other_verb == "wrote" or not touch.in_shared
        others, times, kinds = (
            touch.threads_of(stamps),
            stamps >> TIME_SHIFT & TIME,
            stamps & (PENDING | WORK),
        )
        if not kinds.any():
            return self.clocks.ordered(threads, others, times, written)
        if (kinds == WORK).all():
            return self.clocks.work.are_done(threads, stamps & ID, times)
        ordered = np.zeros(len(stamps), dtype=np.bool_)
        plain, work = kinds == 0, kinds & WORK != 0
        ordered[plain] = self.clocks.ordered(threads[plain], others[plain], times[plain], written)
        ordered[work] = self.clocks.work.are_done(threads[work], stamps[work] & ID, times[work])
        return ordered

    def _check_volatile(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp], other_verb: OtherVerb
    ) -> None:
        """Report volatile accesses that nothing orders: no race in PTX's sense, but not in order either.

        Flags that are polled or tested are left out. Updates lose what others store in between, and a store
        may overwrite what an atomic operation counts.
        """
        if not len(which):
            return
        stamps, threads = before[which], touch.threads[which]
        times = stamps >> TIME_SHIFT & TIME
        others = touch.threads_of(stamps)
        seen = self.clocks.ordered(
            threads, others, times, other_verb == "wrote" or not touch.in_shared, seen=True
        )
        elsewhere = threads // self.clocks.lanes != others // self.clocks.lanes
        seen &= ~(elsewhere & self.clocks.flags.have_narrow_fences(threads))
        seen &= ~self.clocks.flags.were_read_by(threads, "cas", in_block=True)
        instruction = touch.access.instruction
        for time in np.unique(times[~seen])[:MAX_OTHERS].tolist():
            other = self.clocks.time.instruction_at(time)
            if other is None:
                continue
            entries = which[~seen & (times == time)]
            is_update = self.plans.are_update(other, instruction)
            if self.plans.may_overwrite_count(other, instruction):
                is_update = True
                if touch.access.kind == "write":  # of the block that counted last, it may be a reset
                    entries = entries[~self.clocks.flags.read_since(touch.threads[entries], time)]
            elif not is_update:
                carrier = other if other_verb == "reads" else instruction
                if not ("volatile" in other.parts and touch.traits.volatile and self.plans.is_data(carrier)):
                    continue
                if touch.access.kind == "write":
                    entries = _different(touch, before, entries)
            if len(entries):
                self._require_separate(touch)
                self.reports.volatile(Conflict(touch, before, entries, other, other_verb), is_update)

    # -- what unordered accesses mean ------------------------------------------------------------------------

    def _judge(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp], other_verb: OtherVerb
    ) -> None:
        """Report unordered accesses that matter, for each instruction that made the earlier ones."""
        if other_verb == "wrote":
            which = which[~self._may_reset(touch, before, which)]
            if not len(which):
                return
        self._require_separate(touch)
        if other_verb == "wrote" and touch.access.kind == "write":
            which = _different(touch, before, which)
        unacquired, may_be_old = self._read_without_acquire(touch, before, which, other_verb)
        for entries, is_old in (
            (which[unacquired & may_be_old], True),
            (which[unacquired & ~may_be_old], False),
        ):
            for conflict in self._conflicts(touch, before, entries, other_verb):
                self.reports.unacquired(conflict, is_old)
        which = which[~unacquired]
        if touch.in_shared and self.clocks.batch.grid.cluster_size > 1:
            absent = self.presence.may_be_absent(touch.threads[which], touch.threads_of(before[which]))
            which = which[~absent]  # that is reported
        for conflict in self._conflicts(touch, before, which, other_verb):
            self._report(conflict)

    def _conflicts(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp], other_verb: OtherVerb
    ) -> Iterator[Conflict]:
        """The entries by the instruction that made the earlier access, for the first ones of these."""
        times = before[which] >> TIME_SHIFT & TIME
        for time in np.unique(times)[:MAX_OTHERS].tolist():
            other = self.clocks.time.instruction_at(time)
            if other is not None:
                yield Conflict(touch, before, which[times == time], other, other_verb)

    def _read_without_acquire(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp], other_verb: OtherVerb
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which entries only a flag orders that was read without acquire, and which of all may read old data.

        The cache of its SM may then give an ordinary load what its block has loaded there before it was
        written, unless a fence has emptied that cache in between. Who reads a flag with .relaxed, or has a
        fence for the block alone, has asked for no more. Locks need both fences.
        """
        clocks, stamps, threads = self.clocks, before[which], touch.threads[which]
        unacquired, may_be_old = (np.zeros(len(which), dtype=np.bool_) for _ in range(2))
        is_plain, others = stamps & (PENDING | WORK) == 0, touch.threads_of(stamps)
        has_flags = clocks.flags.everywhere.any_published or clocks.flags.in_block.any_published
        if not is_plain.any() or not has_flags:
            return unacquired, may_be_old
        times = stamps >> TIME_SHIFT & TIME
        written = other_verb == "wrote" or not touch.in_shared
        unacquired[is_plain] = clocks.ordered(
            threads[is_plain], others[is_plain], times[is_plain], written, seen=True
        )
        may_be_old = clocks.flags.have_narrow_fences(threads)
        access = touch.access
        if access.kind == "read" and access.proxy == "generic" and not touch.traits.bypasses_l1:
            may_be_old |= clocks.flags.may_be_old(touch.buffer_access.data, threads, times)
            may_be_old |= clocks.flags.were_read_by(threads, "relaxed")
        may_be_old = may_be_old & (threads // clocks.lanes != others // clocks.lanes)
        return unacquired, may_be_old | clocks.flags.were_read_by(threads, "cas", in_block=True)

    def _report(self, conflict: Conflict) -> None:
        """Report a conflict with one instruction."""
        touch, before, which = conflict.touch, conflict.before, conflict.which
        if touch.access.owners is not None and conflict.other_verb == "wrote":
            own = self._are_own_rows(touch, before, which)
            if own.any():
                self.reports.unsynchronised_rows_of_a(conflict._replace(which=which[own]))
            which = which[~own]
            if not len(which):
                return
        other_warp = (touch.threads[which] + touch.first_thread) >> 5 != (before[which] & ID) >> 5
        which = np.concatenate([which[other_warp], which[~other_warp]])  # the remedy is for other warps
        conflict = conflict._replace(which=which)
        if conflict.stamp & (PENDING | WORK):
            self.reports.missing_wait(conflict)
        else:
            self.reports.race(conflict, self.loads.unused_reads(conflict))

    def _may_reset(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Whether entries are flags that threads may reset: they know of a read since the write.

        The read must be a strong one, as the write was, which came after a fence.
        """
        stamps, entries, threads = before[which], touch.entries[which], touch.threads[which]
        times = stamps >> TIME_SHIFT & TIME
        was_read = np.zeros(len(which), dtype=np.bool_)
        flags = stamps & FLAGS == ATOMIC
        if not flags.any():
            return was_read
        for readers in touch.shadow.readers():
            reads = readers[entries]
            when, others = reads >> TIME_SHIFT & TIME, touch.threads_of(reads)
            later = (reads & ATOMIC != 0) & (when > times) & (others >= 0)
            was_read[later] |= self.clocks.ordered(threads[later], others[later], when[later], True)
        return np.asarray(flags & was_read & self.clocks.flags.has_published(touch.threads_of(stamps)))

    def _are_own_rows(
        self, touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Which entries are rows of A that the warp that multiplies them wrote, and knows of."""
        owners, stamps = touch.owners[which], before[which]
        lanes, writers = touch.threads[which] + 32 * owners, touch.threads_of(stamps)
        own = (owners >= 0) & (stamps & (PENDING | WORK) == 0) & (lanes >> 5 == writers >> 5)
        if own.any():
            times = stamps >> TIME_SHIFT & TIME
            own[own] = self.clocks.ordered(lanes[own], writers[own], times[own], True)
        return np.asarray(own)


def _different(touch: ShadowTouch, before: NDArray[Any], which: NDArray[np.intp]) -> NDArray[np.intp]:
    """The entries where a store changes the bytes: equal values do no harm."""
    content, data = touch.content, touch.buffer_access.data
    if content is None:
        return which
    late = before[which] & (PENDING | WORK) != 0 if touch.in_shared else np.False_
    places = touch.places(which)[:, None] + np.arange(content.shape[1])
    there = data[np.minimum(places, data.size - 1)]
    return np.asarray(which[late | (there != content[which]).any(axis=1)])
