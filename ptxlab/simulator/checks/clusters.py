"""Blocks of a cluster: what they learn of each other, and whether they run while others use their memory.

They synchronise at the barrier of the cluster, and at mbarriers in each other's shared memory. An arrival
releases all that its block wrote only if its scope is .cluster or wider. Otherwise, and with .relaxed, it
releases what a fence has published before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess, Synchronisation
from ..hazard import HazardLog, Violation
from ..ptx.syntax import PtxInstruction
from .clocks import Clocks
from .opcode_traits import loses_remote_updates


class ClusterOrder:
    """Carries clocks from block to block of a cluster, and reports arrivals and waits with scope .cta."""

    def __init__(self, report: HazardLog, clocks: Clocks) -> None:
        self._report = report
        self._clocks = clocks
        self._time = clocks.time
        self._batch = clocks.batch
        self._size = clocks.batch.grid.cluster_size
        #: By block and address of an mbarrier: other blocks that arrive there, and up to when they release
        #: what they wrote.
        self._arrivals: dict[tuple[int, int], dict[int, int]] = {}
        #: mbarriers that asynchronous work of other blocks arrives at, which counts as releasing everything,
        #: and those that their threads arrive at; tcgen05.commit stands for asynchronous work.
        self._completions: set[tuple[int, int]] = set()
        self._thread_arrivals: set[tuple[int, int]] = set()
        #: By block: the last arrival at the barrier of its cluster, and up to when it releases its writes.
        self._barrier_arrival, self._barrier_released = np.zeros((2, clocks.batch.count), dtype=np.int64)
        #: Arrivals without a scope: with their threads by id, and by the blocks of mbarrier and thread.
        self._unscoped: dict[int, tuple[PtxInstruction, NDArray[Any]]] = {}
        self._unscoped_between: dict[tuple[int, int], PtxInstruction] = {}
        self._reported: set[int] = set()
        #: Arrivals with .relaxed at the barrier of the cluster, by block, and when; the last of consecutive
        #: ones of an instruction.
        self._relaxed: dict[int, list[tuple[PtxInstruction, int]]] = {}

    # -- the barrier of the cluster --------------------------------------------------------------------------

    def barrier(self, event: Synchronisation) -> None:
        """Threads arrive at the barrier of their cluster, or leave it.

        With .relaxed they release to other blocks only what a fence has published. For reads of shared
        memory, and among threads of one block, it counts as any other arrival.
        """
        clusters = np.unique(event.threads // self._clocks.lanes // self._size)
        members = (clusters[:, None] * self._size + np.arange(self._size)).reshape(-1)
        if event.kind.endswith("arrive"):
            self._arrive_at_barrier(event, members)
        else:
            self._leave_barrier(members)

    def _arrive_at_barrier(self, event: Synchronisation, members: NDArray[Any]) -> None:
        clocks, threads = self._clocks, event.threads
        self._barrier_arrival[members] = self._time.now
        clocks.barriers.arrive_at_cluster(threads)
        if "relaxed" not in event.instruction.parts:
            self._barrier_released[members] = self._time.now
            return
        blocks = threads // clocks.lanes
        fenced = np.maximum(clocks.flags.everywhere.fenced[threads >> 5], clocks.proxies.init_fenced[threads])
        np.maximum.at(self._barrier_released, blocks, fenced)
        for block in np.unique(blocks).tolist():
            arrivals = self._relaxed.setdefault(block, [])
            if arrivals and arrivals[-1][0] is event.instruction:
                arrivals.pop()
            arrivals.append((event.instruction, self._time.now))

    def _leave_barrier(self, members: NDArray[Any]) -> None:
        clocks = self._clocks
        for times in (clocks.last.cluster, clocks.last.block):
            times[members] = np.maximum(times[members], self._barrier_arrival[members])
        released = np.repeat(self._barrier_released[members].reshape(-1, self._size), self._size, axis=0)
        clocks.last.cluster_writes[members] = np.maximum(clocks.last.cluster_writes[members], released)
        clocks.barriers.leave_cluster(members)

    def relaxed_arrival(self, block: int, after: int) -> PtxInstruction | None:
        """The first arrival of a block with .relaxed after a time."""
        arrivals = self._relaxed.get(block, ())
        return next((instruction for instruction, time in arrivals if time > after), None)

    # -- mbarriers of other blocks ---------------------------------------------------------------------------

    def arrive(
        self,
        instruction: PtxInstruction,
        threads: NDArray[Any],
        owners: NDArray[Any],
        places: NDArray[Any],
    ) -> None:
        """Threads arrive at mbarriers of other blocks, the owners.

        With .cluster, and by tcgen05.commit, they release all that their block wrote.
        """
        clocks, parts = self._clocks, instruction.parts
        clocks.mbarriers.arrive_remotely(threads, owners, places)
        wide = parts[0] != "mbarrier" or not {"cluster", "gpu", "sys"}.isdisjoint(parts)
        if not wide and "cta" in parts:
            self._report_scope(instruction, threads, "arrive{s} at an mbarrier of another block")
        elif not wide:
            self._unscoped.setdefault(id(instruction), (instruction, threads))
        time = self._time.now if wide else int(clocks.flags.everywhere.fenced[threads >> 5].max())
        blocks = threads // clocks.lanes
        for owner, place, block in set(zip(owners.tolist(), places.tolist(), blocks.tolist(), strict=True)):
            arrivals = self._arrivals.setdefault((owner, place), {})
            arrivals[block] = max(time, arrivals.get(block, 0))
            if parts[0] != "tcgen05":
                self._thread_arrivals.add((owner, place))
            if not wide:
                self._unscoped_between[owner, block] = instruction

    def complete(self, buffer_access: BufferAccess) -> None:
        """Asynchronous instructions name mbarriers that they arrive at, perhaps those of other blocks."""
        owners, places = np.divmod(buffer_access.offsets, buffer_access.data.size // self._batch.count)
        remote = owners != buffer_access.threads // self._batch.block_lanes
        self._completions.update(zip(owners[remote].tolist(), places[remote].tolist(), strict=True))

    def wait(self, event: Synchronisation, places: NDArray[np.int64]) -> None:
        """Threads have waited for mbarriers; where other blocks arrive, they know what was written before.

        Of blocks that do not arrive there they count as knowing all: those that do may know it.
        """
        blocks = event.threads // self._clocks.lanes
        self._clocks.last.cluster[blocks] = self._time.now
        if not self._arrivals and not self._completions:
            return
        keys = list(zip(blocks.tolist(), np.broadcast_to(places, event.threads.shape).tolist(), strict=True))
        for key in set(keys) & (self._completions | set(self._arrivals)):
            times = np.full(self._size, self._time.now)
            for other, time in self._arrivals.get(key, {}).items():
                times[other % self._size] = time
            writes = self._clocks.last.cluster_writes[key[0]]
            np.maximum(writes, times, out=writes)
        if "cta" in event.instruction.parts:
            remote = event.threads[[key in self._thread_arrivals for key in keys]]
            if len(remote):
                what = "wait{s} for an mbarrier of its block, where another block arrives,"
                self._report_scope(event.instruction, remote, what)

    # -- scopes ----------------------------------------------------------------------------------------------

    def blame_unscoped_arrival(self, owner: int, block: int) -> PtxInstruction | None:
        """The last arrival without a scope of one block at mbarriers of another: a report names it."""
        arrival = self._unscoped_between.get((owner, block))
        if arrival is not None:
            self._reported.add(id(arrival))
        return arrival

    def report_unscoped_arrivals(self) -> None:
        """Report arrivals without a scope that nothing has gone wrong by."""
        for instruction, threads in self._unscoped.values():
            if id(instruction) not in self._reported:
                self._report_scope(instruction, threads, "arrive{s} at an mbarrier of another block")

    def _report_scope(self, instruction: PtxInstruction, threads: NDArray[Any], what: str) -> None:
        """Threads synchronise with another block through an mbarrier without the scope .cluster."""
        named = "cta" in instruction.parts
        ending = "" if named else ", which counts where the instruction names none"
        self._report.add(self._batch, Violation(
            "narrow scope" if named else "default scope", instruction, threads,
            f"{{who}} {what} with scope .cta{ending}", space="shared",
        ))  # fmt: skip


class ClusterPresence:
    """Checks that blocks have started, and have not ended, when others use their shared memory."""

    def __init__(self, report: HazardLog, clocks: Clocks) -> None:
        self._report = report
        self._batch = clocks.batch
        self._clocks = clocks
        self._used = np.zeros(clocks.batch.count, dtype=np.int64)  # when another block last used its memory
        self._users: dict[int, NDArray[Any]] = {}  # and which threads did
        self._instructions: dict[int, PtxInstruction] = {}  # by that time

    def check(self, access: Access, buffer_access: BufferAccess) -> None:
        """Report blocks whose shared memory others use before they are known to have started."""
        owners = buffer_access.offsets // (buffer_access.data.size // self._batch.count)
        users = buffer_access.threads // self._batch.block_lanes
        remote = np.flatnonzero(owners != users)
        if not len(remote):
            return
        early = remote[self._clocks.last.cluster[users[remote]] == self._clocks.last.begun]
        if len(early):
            self._report.add(self._batch, Violation(
                "absent block", access.instruction, buffer_access.threads[early],
                "{who} use{s} shared memory of another block of the cluster, which may not have started",
                remedy="wait at a barrier of the cluster first", space="shared",
            ))  # fmt: skip
        if access.kind == "atomic" and loses_remote_updates(access.instruction.opcode):
            self._report.add(self._batch, Violation(
                "not atomic", access.instruction, buffer_access.threads[remote],
                f"{{who}} execute{{s}} {access.instruction.opcode} in shared memory of another block, where "
                "ptxas makes it a load and a store",
                remedy="use an operation of 32 bits, add of 64 bits, or a loop with atom.cas", space="shared",
            ))  # fmt: skip
        self._used[owners[remote]] = self._clocks.time.now
        self._instructions[self._clocks.time.now] = access.instruction
        for owner in np.unique(owners[remote]).tolist():
            self._users[owner] = buffer_access.threads[remote[owners[remote] == owner]]

    def may_be_absent(self, threads: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether others are in another block, which is not known to have started."""
        block, other = threads // self._batch.block_lanes, others // self._batch.block_lanes
        return np.asarray((block != other) & (self._clocks.last.cluster[block] == self._clocks.last.begun))

    def check_ends(self) -> None:
        """Report blocks that may end while others still use their shared memory."""
        left = np.flatnonzero(self._used > self._clocks.last.cluster)
        for time in np.unique(self._used[left]).tolist():
            users = [self._users[block] for block in left.tolist() if self._used[block] == time]
            self._report.add(self._batch, Violation(
                "absent block", self._instructions[time], np.unique(np.concatenate(users)),
                "{who} use{s} shared memory of another block of the cluster, which may have ended",
                remedy="let all blocks wait at a barrier of the cluster after that", space="shared",
            ))  # fmt: skip
