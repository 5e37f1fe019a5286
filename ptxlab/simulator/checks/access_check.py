"""Races, missing waits and proxy fences, memory that nobody wrote: found from every access and barrier.

This is a happens-before race detector, as FastTrack and ThreadSanitizer are. Shadow memory records the last
accesses to every few bytes. Vector clocks say which of them happen before a thread's next access; barriers,
fences and waits update them. Each access is compared with the recorded ones, and then recorded itself.

    shadow_memory.py      the last accesses to every few bytes
    clocks.py             which accesses happen before a thread's next one
    happens_before.py     events as updates of the clocks
    clusters.py           the order of blocks of a cluster
    race_detector.py      compares accesses
    proxy_fences.py       compares accesses through different proxies
    asynchronous_work.py  copies and wgmma under way
    unused_loads.py       excuses loads whose values are not used
    uniform_blocks.py     checks one block for all
    access_reports.py     puts findings into words

Kinds found here: uninitialised memory, written constants, and missing wait, of copies at the end of a thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device_memory import SHARED_START
from ..events import Access, BufferAccess, Observer, Synchronisation
from ..hazard import HazardLog
from ..heap import HEAP_START
from ..launch_threads import Batch, Threads
from ..ptx.syntax import PtxInstruction
from .access_reports import AccessReports
from .asynchronous_work import AsynchronousWork
from .clocks import Clocks
from .clusters import ClusterOrder, ClusterPresence
from .doubtful_values import DoubtfulValues
from .happens_before import HappensBefore
from .logical_time import LogicalTime
from .memory_spaces import LocalMemory
from .module_plans import ModulePlans
from .opcode_traits import traits_of
from .proxy_fences import ProxyFences
from .race_detector import RaceDetector
from .shadow_memory import ATOMIC, ID, LATE, PENDING, TIME_SHIFT, WORK, Read, Shadow, ShadowTouch
from .uniform_blocks import UniformBlocks
from .unused_loads import UnusedLoads


class AccessCheck(Observer):
    """Looks for hazards in accesses to memory."""

    def __init__(
        self, report: HazardLog, values: DoubtfulValues, plans: ModulePlans, time: LogicalTime
    ) -> None:
        self._report = report
        self._values = values
        self._plans = plans
        self._time = time
        self._global_shadows: dict[int, Shadow] = {}  # by id of the buffer's bytes
        self._heap_shadows: list[Shadow] = []  # at most one
        self._published = np.zeros(0, dtype=np.int64)  # as in `FlagClocks`, by blocks of earlier batches

    def begin(self, batch: Batch) -> None:
        """Nothing is known of new blocks; what others did to global memory is kept."""
        self._time.tick(None)
        self._batch = batch
        self._clocks = clocks = Clocks(batch, self._time, self._published)
        self._work = AsynchronousWork(clocks)
        self._blocks = UniformBlocks(clocks, self._work)
        self._clusters = ClusterOrder(self._report, clocks)
        self._presence = ClusterPresence(self._report, clocks)
        self._reports = AccessReports(
            self._report, self._values, self._plans, clocks, self._work, self._clusters
        )
        self._loads = UnusedLoads(self._plans, self._values, clocks)
        self._races = RaceDetector(
            self._reports, clocks, self._blocks, self._presence, self._loads, self._plans
        )
        self._proxies = ProxyFences(self._reports, clocks, self._blocks, self._values, self._plans)
        self._order = HappensBefore(
            self._report, clocks, self._work, self._blocks, self._clusters, self._proxies
        )
        self._local = LocalMemory(self._values, batch)

    def end(self) -> None:
        """Report what must not be so when threads end."""
        if any(copies.in_shared for copies in self._work.copies):
            self._blocks.separate()
        self._reports.unfinished_copies()
        self._presence.check_ends()
        self._clusters.report_unscoped_arrivals()
        self._published = self._clocks.flags.published()

    def allocated(
        self,
        instruction: PtxInstruction,
        threads: Threads,
        addresses: NDArray[np.uint64],
        sizes: NDArray[np.int64],
    ) -> None:
        """What was done to memory of the heap before `free` is no concern of its next owner."""
        for shadow in self._heap_shadows:
            for address, size in zip(addresses.tolist(), sizes.tolist(), strict=True):
                if address and size:
                    shadow.forget(address - HEAP_START, address - HEAP_START + size - 1)

    def synchronised(self, event: Synchronisation) -> None:
        """Threads learn what others did."""
        self._time.tick(event.instruction)
        self._order.synchronise(event)

    def accessed(self, access: Access) -> None:
        """Compare an access with those before it, and note it."""
        if access.space in ("const", "param"):
            return
        if access.space == "local":
            is_argument = any(part.startswith("param") for part in access.instruction.parts)
            if not is_argument:
                self._local.check(access)
            return
        self._time.tick(access.instruction)
        traits = traits_of(access.instruction.opcode)
        strong = traits.strong or access.kind in ("atomic", "mbarrier")
        if strong and access.kind != "mbarrier" and access.proxy != "mbarrier":
            self._order.access_flags(access, traits)
        strong |= id(access.instruction) in self._plans.guesses
        for buffer_access in access.buffer_accesses:
            if access.space == "shared":
                self._access_shared(access, buffer_access, strong)
            else:
                self._access_global(access, buffer_access, strong)

    # -- shared memory ---------------------------------------------------------------------------------------

    def _access_shared(self, access: Access, buffer_access: BufferAccess, strong: bool) -> None:
        if self._batch.grid.cluster_size > 1:
            self._presence.check(access, buffer_access)
        shadow = self._blocks.shadow(buffer_access)

        def check(buffer_access: BufferAccess) -> None:
            entries, count = shadow.entries_of(buffer_access, access.width)
            threads = buffer_access.threads if count == 1 else np.repeat(buffer_access.threads, count)
            self._check_shared(
                ShadowTouch(access, buffer_access, shadow, entries, threads, count, strong, self._time.now, 0)
            )

        self._blocks.check(access, buffer_access, check)

    def _check_shared(self, touch: ShadowTouch) -> None:
        access, shadow = touch.access, touch.shadow
        before = shadow.writer[touch.entries]
        self._races.check(touch, before, "wrote")
        self._races.check_updates(touch)
        if access.kind == "mbarrier":
            self._check_mbarrier(touch)
            return
        if access.kind != "write" and access.proxy != "mbarrier" and not before.all():
            self._check_written(touch, before)
        if access.proxy == "async":
            self._proxies.check_stores(touch, before)
        if access.kind == "read":
            self._note_shared_read(touch)
            return
        for readers in shadow.readers():
            before = readers[touch.entries]
            if access.proxy == "async":
                self._proxies.check_loads(touch, before)
            self._races.check(touch, before, "reads")
        self._note_shared_write(touch)

    def _check_mbarrier(self, touch: ShadowTouch) -> None:
        """An instruction arrives at mbarriers, or copies that complete on them are issued."""
        name = touch.access.instruction.parts[0]
        if name in ("cp", "tcgen05", "clusterlaunchcontrol"):
            self._proxies.check_mbarriers(touch)
        if touch.traits.completes_on_mbarrier:
            self._work.announce(touch)
        if self._batch.grid.cluster_size > 1 and name != "mbarrier":
            self._clusters.complete(touch.buffer_access)

    def _check_written(self, touch: ShadowTouch, before: NDArray[Any]) -> None:
        """Report bytes that are read and nobody has written."""
        places = touch.buffer_access.offsets % (touch.buffer_access.data.size // self._batch.count)
        unwritten = np.flatnonzero((before == 0) & (np.repeat(places, touch.per_thread) >= SHARED_START))
        if len(unwritten):
            self._blocks.require_separate()
            self._reports.unwritten(touch, unwritten)

    def _note_shared_read(self, touch: ShadowTouch) -> None:
        traits = touch.traits
        if traits.group == "wgmma":
            stamps = self._work.add_wgmma(touch)
        elif traits.group == "cp.async.bulk":
            stamps = touch.stamps(LATE | PENDING)
            self._work.add(touch, stamps)
        else:
            stamps = touch.stamps(ATOMIC if traits.strong else 0)
        limit = self._clocks.last.known_to_all + 1 << TIME_SHIFT
        touch.shadow.note_shared_readers(touch.entries, stamps, self._loads.note(touch.access), limit)

    def _note_shared_write(self, touch: ShadowTouch) -> None:
        traits, flags = touch.traits, ATOMIC if touch.strong else 0
        if traits.completes_on_mbarrier:  # on which, `announce` will say
            unknown = touch.time << TIME_SHIFT | LATE | WORK | ID | flags
            self._note_write(touch, np.full(len(touch.entries), unknown))
            self._work.add_unannounced(touch.access, touch.buffer_access)
        elif traits.group:
            stamps = touch.stamps(LATE | PENDING)
            self._note_write(touch, stamps)
            self._work.add(touch, stamps)
        else:
            self._note_write(touch, touch.stamps(flags))

    # -- global memory ---------------------------------------------------------------------------------------

    def _access_global(self, access: Access, buffer_access: BufferAccess, strong: bool) -> None:
        shadow = self._global_shadows.get(id(buffer_access.data))
        if shadow is None:
            shadow = self._global_shadows[id(buffer_access.data)] = Shadow(buffer_access.data.size)
            if buffer_access.buffer is not None and buffer_access.buffer.start == HEAP_START:
                self._heap_shadows.append(shadow)
        traits, now, first = traits_of(access.instruction.opcode), self._time.now, self._clocks.first_thread
        flags = ATOMIC if strong else 0
        if access.kind == "read" and not traits.bypasses_l1 and self._plans.has_flags:
            self._clocks.flags.note_loads(buffer_access.data, buffer_access.threads)
        if access.kind == "read" and not shadow.was_written:  # most arrays that are read are never written
            stamp = first | now << TIME_SHIFT | flags
            load = self._loads.note(access)
            shadow.note_later(Read(buffer_access.offsets, access.width, buffer_access.threads, stamp, load))
            return
        shadow.note_reads()
        entries, count = shadow.entries(buffer_access.offsets, access.width)
        threads = buffer_access.threads if count == 1 else np.repeat(buffer_access.threads, count)
        touch = ShadowTouch(access, buffer_access, shadow, entries, threads, count, strong, now, first)
        if shadow.was_written and traits.constant:
            self._reports.changed_constants(touch, np.flatnonzero(shadow.writer[entries]))
        elif shadow.was_written:
            self._races.check(touch, shadow.writer[entries], "wrote")
            self._races.check_updates(touch)
        if access.kind != "read":
            self._write_global(touch, flags)
        else:
            shadow.note_readers(entries, touch.stamps(flags), self._loads.note(access))

    def _write_global(self, touch: ShadowTouch, flags: int) -> None:
        shadow = touch.shadow
        shadow.was_written = True
        if shadow.was_read:
            for readers in shadow.readers():
                before = readers[touch.entries]
                if touch.access.proxy == "async":
                    self._proxies.check_loads(touch, before)
                if self._races.check(touch, before, "reads") and readers is shadow.reader:
                    break
        if touch.traits.group == "cp.async.bulk":
            stamps = touch.stamps(flags | PENDING)
            self._work.add(touch, stamps)
        else:
            stamps = touch.stamps(flags)
        self._note_write(touch, stamps)

    def _note_write(self, touch: ShadowTouch, stamps: NDArray[Any]) -> None:
        """Threads write entries: who does so last is noted; in one instruction they must not disagree."""
        blind = id(touch.access.instruction) in self._plans.blind_updates
        if blind and not (stamps & (PENDING | WORK)).any():
            group = 32 if touch.in_shared else self._batch.block_lanes
            touch.shadow.note_updates(touch.entries, stamps, group)
        else:
            touch.shadow.note_writes(touch.entries, stamps)
        self._races.check_simultaneous(touch, stamps)
