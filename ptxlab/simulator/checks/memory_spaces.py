"""Hazards in local memory and in tensor memory, and of tensor maps.

Local memory that a thread reads and has not written.

tcgen05: instructions that one thread issues (mma, cp, shift) run in order. All other threads must wait for
the mbarrier at which a tcgen05.commit of that thread arrives; and tcgen05.st is complete only after
tcgen05.wait::st of its warp. A wait of one thread counts for its block, since others learn of it through a
barrier.

Tensor maps: TMA reads them through a proxy of its own. A change must be released with
tensormap.cp_fenceproxy or fence.proxy.tensormap::generic.release, and acquired with
fence.proxy.tensormap::generic.acquire by the thread that uses the map. A fence of one thread counts for its
block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..device_memory import cluster_places
from ..events import Access, Observer, Synchronisation, TensorAccess
from ..hazard import HazardLog, Violation, line_name, line_text
from ..launch_threads import Batch, Threads
from ..ptx.syntax import PtxInstruction
from .doubtful_values import DoubtfulValues

# -- local memory --------------------------------------------------------------------------------------------


class LocalMemory:
    """Which bytes of its local memory each thread of a batch has written."""

    def __init__(self, values: DoubtfulValues, batch: Batch) -> None:
        self._values = values
        self._batch = batch
        self._written = np.zeros((batch.size, 0), dtype=np.bool_)

    def check(self, access: Access) -> None:
        """Report bytes that are read and were never written, and note those that are written."""
        end = int(access.addresses.max()) + access.width
        if end > self._written.shape[1]:
            more = np.zeros((self._batch.size, max(end, 2 * self._written.shape[1])), dtype=np.bool_)
            more[:, : self._written.shape[1]] = self._written
            self._written = more
        for byte in range(access.width):
            places = (access.threads, access.addresses + byte)
            if access.kind != "read":
                self._written[places] = True
                continue
            missing = ~self._written[places]
            if missing.any():
                where = access.addresses[missing] + byte
                self._values.doubt(Violation(
                    "uninitialised memory", access.instruction, access.threads[missing],
                    f"{{who}} read{{s}} byte {int(where[0])} of local memory, never written",
                    space="local", addresses=(int(where.min()), int(where.max())),
                ))  # fmt: skip
                return


# -- tensor memory -------------------------------------------------------------------------------------------


@dataclass
class _TensorFlight:
    """An instruction that may still be at work in columns of a block's tensor memory."""

    access: TensorAccess
    barriers: set[tuple[int, int]] = field(default_factory=set)  # block and address; none before a commit

    def touches(self, other: TensorAccess) -> bool:
        """Whether an access overlaps with it."""
        columns, others = self.access.columns, other.columns
        return (
            self.access.block == other.block
            and columns.start < others.stop
            and others.start < columns.stop
            and self.access.lanes & other.lanes != 0
        )


class TensorCheck(Observer):
    """Looks for missing waits in tensor memory."""

    def __init__(self, report: HazardLog) -> None:
        self._report = report

    def begin(self, batch: Batch) -> None:
        """Nothing is in flight in new blocks."""
        self._batch = batch
        self._flights: list[_TensorFlight] = []
        self._stores: list[_TensorFlight] = []  # of tcgen05.st
        #: tcgen05.ld that nobody has waited for, by the instruction, its first thread and its columns.
        self._loads: dict[tuple[int, int, range], _TensorFlight] = {}
        #: By block and first column: what allocated them, and its thread.
        self._allocated: dict[tuple[int, int], tuple[PtxInstruction, int]] = {}

    def end(self) -> None:
        """Report columns that are still allocated when their block ends."""
        for instruction in dict.fromkeys(allocator for allocator, _ in self._allocated.values()):
            threads = [thread for allocator, thread in self._allocated.values() if allocator is instruction]
            self._report.add(self._batch, Violation(
                "tensor memory kept", instruction, np.array(sorted(threads)),
                "{who} allocate{s} columns of tensor memory that nobody frees before the block ends",
                remedy="execute tcgen05.dealloc with the same number of columns", space="tensor",
            ))  # fmt: skip

    def tensor_accessed(self, access: TensorAccess) -> None:
        """Threads, or an instruction that a thread issues, read or write tensor memory."""
        if access.elsewhere:
            self._report.add(self._batch, Violation(
                "lanes of warp 0", access.instruction, access.threads,
                "{who} name{s} lanes of tensor memory that only warp 0 of its warpgroup may touch",
                space="tensor",
            ))  # fmt: skip
        for flight in self._flights:
            same_issuer = access.asynchronous and flight.access.threads[0] == access.threads[0]
            if flight.touches(access) and not same_issuer:
                self._add(
                    access,
                    flight,
                    "wait for the mbarrier of a tcgen05.commit, which the same thread executes",
                )
        if access.asynchronous or access.kind == "read":
            for store in self._stores:
                if store.touches(access):
                    self._add(access, store, "execute tcgen05.wait::st.sync.aligned after the store")
        if access.kind == "read" and not access.asynchronous:
            key = id(access.instruction), int(access.threads[0]), access.columns
            self._loads[key] = _TensorFlight(access)
        elif access.kind == "write":
            self._check_loads(access)
        if access.kind == "write":
            (self._flights if access.asynchronous else self._stores).append(_TensorFlight(access))

    def _check_loads(self, access: TensorAccess) -> None:
        """Report loads that may still read what is overwritten."""
        for load in self._loads.values():
            if load.touches(access):
                self._report.add(self._batch, Violation(
                    "tcgen05.ld without wait", access.instruction, access.threads,
                    f"{{who}} overwrite{{s}} columns of tensor memory that tcgen05.ld of "
                    f"{line_text(load.access.instruction)} may still read",
                    remedy="execute tcgen05.wait::ld.sync.aligned after the load",
                    other=load.access.instruction, space="tensor",
                ))  # fmt: skip
                return

    def _add(self, access: TensorAccess, flight: _TensorFlight, remedy: str) -> None:
        other = flight.access.instruction
        columns = flight.access.columns
        name = ".".join(other.parts[:2])
        self._report.add(
            self._batch,
            Violation(
                "missing wait",
                access.instruction,
                access.threads,
                f"{{who}} {access.kind}{{s}} columns of tensor memory while {name} of {line_text(other)} may "
                f"still write columns {columns.start} to {columns.stop - 1}",
                remedy=remedy,
                other=other,
                space="tensor",
            ),
        )

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """After tcgen05.wait::st a warp's stores are complete, after tcgen05.wait::ld its loads."""
        if self._loads and instruction.parts[:2] == ("tcgen05", "wait::ld"):
            waited = set(np.unique(threads.indices >> 5).tolist())
            self._loads = {key: load for key, load in self._loads.items() if key[1] >> 5 not in waited}
        if self._stores and instruction.parts[:2] == ("tcgen05", "wait::st"):
            warps = np.unique(threads.indices >> 5)
            self._stores = [store for store in self._stores if int(store.access.threads[0]) >> 5 not in warps]

    def synchronised(self, event: Synchronisation) -> None:
        """A commit says at which mbarrier its thread's instructions arrive; a wait there completes them."""
        if event.kind in ("tcgen05.alloc", "tcgen05.dealloc"):
            columns = np.broadcast_to(event.key, event.threads.shape).tolist()
            for thread, column in zip(event.threads.tolist(), columns, strict=True):
                key = thread // self._batch.block_lanes, column
                self._allocated.pop(key, None)
                if event.kind == "tcgen05.alloc":
                    self._allocated[key] = event.instruction, thread
            return
        if not self._flights or event.kind not in ("mbarrier.arrive", "mbarrier.wait"):
            return
        commits = event.kind == "mbarrier.arrive" and event.instruction.parts[:2] == ("tcgen05", "commit")
        waits = event.kind == "mbarrier.wait" and event.completed
        if not commits and not waits:
            return
        places = np.broadcast_to(event.key, event.threads.shape).astype(np.int64)
        blocks = event.threads // self._batch.block_lanes
        owners, places = cluster_places(places, blocks, self._batch.grid.cluster_size)
        keys = list(zip(owners.tolist(), places.tolist(), strict=True))
        if waits:
            self._flights = [flight for flight in self._flights if not self._is_awaited(flight, set(keys))]
            return
        for thread, key in zip(event.threads.tolist(), keys, strict=True):
            for flight in self._flights:
                if int(flight.access.threads[0]) == thread:
                    flight.barriers.add(key)

    @staticmethod
    def _is_awaited(flight: _TensorFlight, keys: set[tuple[int, int]]) -> bool:
        """Whether a thread of its block has waited for it."""
        return any(block == flight.access.block for block, _ in flight.barriers & keys)


# -- tensor maps ---------------------------------------------------------------------------------------------


@dataclass
class _Change:
    """The last change of a map: by which block, when, and whether it was released."""

    instruction: PtxInstruction
    block: int
    time: int
    released: bool


class TensorMapCheck(Observer):
    """Looks for tensor maps that TMA may see as they were before a change."""

    def __init__(self, report: HazardLog) -> None:
        self._report = report
        self._changes: dict[int, _Change] = {}  # by address
        self._acquired: dict[tuple[int, int], int] = {}  # by blocks of the grid and addresses
        self._time = 0

    def begin(self, batch: Batch) -> None:
        """A batch starts; changes by earlier blocks are kept."""
        self._batch = batch

    def synchronised(self, event: Synchronisation) -> None:
        """Threads change, fence or use tensor maps."""
        if not event.kind.startswith(("tensormap", "fence.proxy.tensormap")):
            return
        self._time += 1
        blocks = self._batch.numbers[event.threads // self._batch.block_lanes]
        places = np.broadcast_to(event.key, event.threads.shape)
        if event.kind.startswith("fence"):
            if "acquire" in event.instruction.parts:
                keys = zip(blocks.tolist(), places.tolist(), strict=True)
                self._acquired |= dict.fromkeys(keys, self._time)
                return
            for change in self._changes.values():
                change.released |= change.block in blocks
            return
        if event.kind == "tensormap.use":
            self._use(event, blocks.tolist(), places.tolist())
            return
        released = event.kind == "tensormap.cp_fenceproxy"
        for block, place in zip(blocks.tolist(), places.tolist(), strict=True):
            self._changes[place] = _Change(event.instruction, block, self._time, released)

    def _use(self, event: Synchronisation, blocks: list[int], places: list[int]) -> None:
        for number, (block, place) in enumerate(zip(blocks, places, strict=True)):
            change = self._changes.get(place)
            if change is None:
                continue
            if not change.released:
                remedy = (
                    f"execute fence.proxy.tensormap::generic.release after {line_name(change.instruction)}"
                )
            elif self._acquired.get((block, place), 0) < change.time:
                remedy = "execute fence.proxy.tensormap::generic.acquire on the map's address before"
            else:
                continue
            name = ".".join(event.instruction.parts[:4])
            self._report.add(self._batch, Violation(
                "missing proxy fence", event.instruction, event.threads[number : number + 1],
                f"{{who}}: {name} uses a tensor map that {line_text(change.instruction)} changed through "
                "another proxy",
                remedy=remedy, other=change.instruction, space="global",
            ))  # fmt: skip
