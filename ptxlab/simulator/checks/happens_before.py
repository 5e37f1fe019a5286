"""What happens before what: barriers, fences, arrivals and waits as updates of the vector clocks.

A thread that leaves a barrier knows what the threads that arrived there did and knew. An mbarrier hands that
over when its phase is complete. A fence followed by a strong write releases, a strong read acquires. Waiting
for a group of copies or wgmma makes their accesses known to the thread. Barriers that lanes of a warp do not
reach together are reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device_memory import RANK_SHIFT, cluster_places
from ..events import Access, Synchronisation
from ..hazard import HazardLog, Violation
from .asynchronous_work import AsynchronousWork
from .clocks import Clocks
from .clusters import ClusterOrder
from .opcode_traits import Traits
from .proxy_fences import ProxyFences
from .uniform_blocks import UniformBlocks


@dataclass(eq=False)
class HappensBefore:
    """Updates what threads know of each other, event by event."""

    log: HazardLog
    clocks: Clocks
    work: AsynchronousWork
    blocks: UniformBlocks
    clusters: ClusterOrder
    proxies: ProxyFences

    def access_flags(self, access: Access, traits: Traits) -> None:
        """Threads read or write, strongly or atomically, what may be a flag."""
        self.blocks.clocks_changed()
        self.clocks.flags.access(
            access,
            traits,
            reads=access.kind != "write" and access.instruction.parts[0] != "red",
            writes=access.kind != "read",
        )

    def synchronise(self, event: Synchronisation) -> None:
        """Threads learn what others did."""
        self.blocks.clocks_changed()
        kind = event.kind
        if kind == "bar":
            self._barrier(event)
        elif kind == "bar.warp":
            self.clocks.barriers.sync_warps(event.threads, event.key)
        elif kind.startswith("barrier.cluster"):
            self.clusters.barrier(event)
        elif kind.startswith(("mbarrier", "cp.async.mbarrier")):
            self._mbarrier(event)
        elif kind.startswith(("fence", "membar")):
            self._fence(event)
        elif kind.endswith(("commit_group", "wait_group", "wait_all")):
            self._group(event)

    def _fence(self, event: Synchronisation) -> None:
        parts = event.instruction.parts
        if event.kind.startswith("fence.mbarrier_init"):
            self.clocks.proxies.init_fenced[event.threads] = self.clocks.time.now
        elif event.kind.startswith("fence.proxy.async"):
            self.proxies.fence(event)
        elif "proxy" not in parts:
            self.clocks.flags.fence(event.threads, cta_scope="cta" in parts)

    def _group(self, event: Synchronisation) -> None:
        """Threads end groups of copies or wgmma, or wait for them."""
        group, _, verb = event.kind.rpartition(".")
        if verb == "commit_group":
            self.blocks.separate_if_partial(event.threads)
            self.work.commit(group, event.threads)
        elif group == "wgmma":
            self.work.wait_wgmma(event.threads, int(np.asarray(event.key)))
        else:
            self.blocks.separate_if_partial(event.threads)
            self.work.wait(
                group,
                event.threads,
                int(np.asarray(event.key)),
                everything=verb == "wait_all",
                only_read="read" in event.instruction.parts,
            )

    # -- mbarriers -------------------------------------------------------------------------------------------

    def _mbarrier(self, event: Synchronisation) -> None:
        clocks, threads, kind = self.clocks, event.threads, event.kind
        if kind == "mbarrier.init":
            self.proxies.initialise(event)
            return
        owners, places = self._barriers(event)
        own = owners == threads // clocks.lanes
        all_own = bool(own.all())
        own_threads, own_places = (threads, places) if all_own else (threads[own], places[own])
        if kind == "mbarrier.phase":
            clocks.mbarriers.complete_phase(owners, places)
        elif kind == "mbarrier.wait":
            if self.clocks.batch.grid.cluster_size > 1:
                self.clusters.wait(event, places)
            clocks.mbarriers.wait(own_threads, own_places)
        elif kind.endswith("mbarrier.arrive"):
            if kind.startswith("cp"):
                self.blocks.separate_if_partial(threads)
                self.work.wait("cp.async", threads, 0, everything=True, only_read=False)
            clocks.mbarriers.arrive(own_threads, own_places)
            if not all_own:
                self.clusters.arrive(event.instruction, threads[~own], owners[~own], places[~own])

    def _barriers(self, event: Synchronisation) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The blocks that mbarriers are in, and their addresses there."""
        blocks = event.threads // self.clocks.lanes
        places = np.asarray(event.key).astype(np.int64, copy=False)
        if not (places >> RANK_SHIFT).any():
            return blocks, places
        cluster = self.clocks.batch.grid.cluster_size
        owners, offsets = cluster_places(places, blocks, cluster)
        beyond = places >> RANK_SHIFT > cluster  # memory refuses these as soon as they are touched
        return np.where(beyond, blocks, owners), offsets

    # -- barriers of a block ---------------------------------------------------------------------------------

    def _barrier(self, event: Synchronisation) -> None:
        """Threads arrive at a barrier of their block, or leave it."""
        number, parts = int(np.asarray(event.key)), event.instruction.parts
        aligned = parts[0] == "bar" or "aligned" in parts
        if not event.completed:
            split = self.clocks.barriers.arrive(number, event.threads, "arrive" not in parts)
            if aligned and split.any():
                self._report_divergence(
                    event, split, f"reach{{es}} barrier {number} apart from other lanes of the same warp"
                )
            return
        counts_threads = len(event.instruction.operands) > 1 and "red" not in parts
        if aligned and counts_threads:
            lacking = self.clocks.barriers.partial(number, event.threads)
            if lacking.any():
                self._report_divergence(
                    event,
                    lacking,
                    f"leave{{s}} barrier {number}, which other lanes of the same warp have not reached",
                )
        self.clocks.barriers.leave(number, event.threads)

    def _report_divergence(self, event: Synchronisation, where: NDArray[np.bool_], what: str) -> None:
        threads = event.threads[where]
        self.log.add(
            self.clocks.batch, Violation("divergent barrier", event.instruction, threads, f"{{who}} {what}")
        )
