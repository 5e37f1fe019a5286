"""Proxies: bulk copies and wgmma access memory through the async proxy, loads and stores through the generic.

A barrier alone does not order accesses through different proxies; `fence.proxy.async` between them does.

Kinds found here: missing proxy fence, cp.async without proxy fence, mbarrier.init without fence.
`access_reports.py` says them in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Synchronisation
from ..ptx.syntax import PtxInstruction
from .access_reports import MAX_OTHERS, AccessReports
from .clocks import Clocks
from .doubtful_values import DoubtfulValues
from .module_plans import ModulePlans
from .opcode_traits import traits_of
from .shadow_memory import PENDING, TIME, TIME_SHIFT, WORK, ShadowTouch
from .uniform_blocks import UniformBlocks


class ProxyFences:
    """Looks for accesses through two proxies without a fence between them."""

    def __init__(
        self,
        reports: AccessReports,
        clocks: Clocks,
        blocks: UniformBlocks,
        values: DoubtfulValues,
        plans: ModulePlans,
    ) -> None:
        self._reports = reports
        self._clocks = clocks
        self._blocks = blocks
        self._values = values
        self._plans = plans
        self._batch = clocks.batch
        self._time = clocks.time
        self._global_fence = np.zeros(self._batch.size, dtype=np.int64)  # fence.proxy.async for global memory
        #: When a matrix product was last reported to read what cp.async of its block wrote.
        self._noted = np.zeros(self._batch.count, dtype=np.int64)
        #: mbarriers that nothing asynchronous has arrived at, by address: the mbarrier.init, and for each
        #: block its thread and its time.
        self._initialised: dict[int, tuple[PtxInstruction, NDArray[np.int64], NDArray[np.int64]]] = {}

    def fence(self, event: Synchronisation) -> None:
        """Threads execute fence.proxy.async."""
        self._clocks.proxies.fence(event.threads)
        if not any(part.startswith("shared") for part in event.instruction.parts):
            self._global_fence[event.threads] = self._time.now

    def check_stores(self, touch: ShadowTouch, before: NDArray[Any]) -> None:
        """Report ordinary stores to shared memory that an asynchronous access has no fence after.

        One that overwrites them may come first, unless somebody has read what was stored.
        """
        plain = (before != 0) & (before & (PENDING | WORK) == 0)
        if touch.access.kind == "write" and plain.any():
            read = np.max([readers[touch.entries] for readers in touch.shadow.readers()], axis=0)
            plain &= read >> TIME_SHIFT & TIME < before >> TIME_SHIFT & TIME
        if not plain.any():
            return
        self._blocks.require_same_clocks()
        writers = np.where(plain, touch.threads_of(before), 0)
        times = before >> TIME_SHIFT & TIME
        warpgroup = self._batch.size % 128 == 0 and touch.access.instruction.parts[0] == "wgmma"
        fenced = self._clocks.proxies.fenced[writers] >= times
        fenced |= self._clocks.proxies.covers(touch.threads, writers, times, 128 if warpgroup else 1)
        bad = np.flatnonzero(plain & ~fenced)
        if not len(bad):
            return
        self._blocks.require_separate()
        times = before[bad] >> TIME_SHIFT & TIME
        others = {time: self._time.instruction_at(time) for time in np.unique(times)[:MAX_OTHERS].tolist()}
        copies = [time for time, other in others.items() if other and traits_of(other.opcode).group]
        for time, other in others.items():
            if other is None or time in copies[:-1]:
                continue
            same = times == time
            if time in copies:  # one fence is for all copies, those that later products read as well
                same = np.isin(times, copies)
                if touch.access.instruction.parts[:2] in (("wgmma", "mma_async"), ("tcgen05", "mma")):
                    blocks = writers[bad] // self._batch.block_lanes
                    same &= times > self._noted[blocks]
                    self._noted[blocks[same]] = self._time.now
            if same.any():
                self._reports.unfenced_store(touch, bad[same], other)

    def check_loads(self, touch: ShadowTouch, before: NDArray[Any]) -> None:
        """Report loads that may still be under way when a bulk copy overwrites what they read.

        Their values have not been used so far, and no fence.proxy.async came after them.
        """
        readers = touch.threads_of(before)
        which = np.flatnonzero((before & (PENDING | WORK) == 0) & (readers >= 0) & (before != 0))
        if not len(which):
            return
        readers, times = readers[which], before[which] >> TIME_SHIFT & TIME
        fenced = self._clocks.proxies.fenced if touch.in_shared else self._global_fence
        bad = np.maximum(fenced[readers], fenced[touch.threads[which]]) < times
        for time in np.unique(times[bad])[:MAX_OTHERS].tolist():
            other, same = self._time.instruction_at(time), bad & (times == time)
            uses = None if other is None else self._plans.load_uses(other)
            if other is None or uses is None or self._values.were_used(uses, readers[same], times[same]):
                continue
            if touch.in_shared:
                self._blocks.require_separate()
            self._reports.overtaken_load(touch, which[same], other)

    # -- mbarrier.init ---------------------------------------------------------------------------------------

    def initialise(self, event: Synchronisation) -> None:
        """Threads initialise mbarriers of their blocks."""
        blocks = event.threads // self._batch.block_lanes
        for place in np.unique(np.asarray(event.key)).tolist():
            here = np.broadcast_to(event.key, event.threads.shape) == place
            _, threads, times = self._initialised.get(
                place, (None, *np.zeros((2, self._batch.count), np.int64))
            )
            threads[blocks[here]], times[blocks[here]] = event.threads[here], self._time.now
            self._initialised[place] = event.instruction, threads, times

    def check_mbarriers(self, touch: ShadowTouch) -> None:
        """Report mbarriers that something asynchronous arrives at without a fence after mbarrier.init."""
        clocks, buffer_access = self._clocks, touch.buffer_access
        blocks, places = np.divmod(buffer_access.offsets, buffer_access.data.size // self._batch.count)
        for place in sorted(self._initialised.keys() & set(places.tolist())):
            instruction, threads, times = self._initialised[place]
            here = places == place
            writers, when, issuers = threads[blocks[here]], times[blocks[here]], buffer_access.threads[here]
            fenced = np.maximum(clocks.proxies.fenced, clocks.proxies.init_fenced)[writers] >= when
            fenced |= clocks.proxies.covers(issuers, writers, when, 1)
            bad = np.flatnonzero(~fenced & (when > 0))
            if len(bad):
                self._blocks.require_separate()
                self._reports.unfenced_barrier(touch, issuers[bad], place, instruction)
            if self._blocks.uniform:
                times[:] = 0
            times[blocks[here]] = 0
            if not times.any():
                del self._initialised[place]
