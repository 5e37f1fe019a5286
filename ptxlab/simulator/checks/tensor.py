"""Missing waits of tcgen05: tensor memory that is touched while an instruction may still be at work there.

What one thread issues (mma, cp, shift) runs in order. Everybody else must wait for the mbarrier at which a
tcgen05.commit of that thread arrives; and tcgen05.st is complete only after tcgen05.wait::st of its warp. A
wait of one thread counts for its block, since others learn of it through a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..events import Observer, Synchronisation, TensorAccess
from ..memory import RANK_SHIFT
from ..ptx import Instruction
from ..threads import Batch, Threads
from .hazard import Report, line_text


@dataclass
class _Flight:
    """An instruction that may still be writing columns of a block's tensor memory."""

    access: TensorAccess
    barriers: set[tuple[int, int]] = field(default_factory=set)  # block and address; none before a commit

    def touches(self, other: TensorAccess) -> bool:
        """Whether it has words of the same block in common with an access."""
        mine, its = self.access.columns, other.columns
        return (
            self.access.block == other.block
            and mine.start < its.stop
            and its.start < mine.stop
            and self.access.lanes & other.lanes != 0
        )


class TensorCheck(Observer):
    """Looks for missing waits in tensor memory."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def begin(self, batch: Batch) -> None:
        """Nothing is in flight in new blocks."""
        self._batch = batch
        self._flights: list[_Flight] = []
        self._stores: list[_Flight] = []  # of tcgen05.st

    def tensor_accessed(self, access: TensorAccess) -> None:
        """Threads, or an instruction that a thread issues, read or write tensor memory."""
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
        if access.kind == "write":
            (self._flights if access.asynchronous else self._stores).append(_Flight(access))

    def _add(self, access: TensorAccess, flight: _Flight, remedy: str) -> None:
        other = flight.access.instruction
        columns = flight.access.columns
        name = ".".join(other.parts[:2])
        self._report.add(
            "missing wait",
            access.instruction,
            self._batch,
            access.threads,
            f"{{who}} {access.kind}{{s}} columns of tensor memory while {name} of {line_text(other)} may "
            f"still write columns {columns.start} to {columns.stop - 1}",
            remedy=remedy,
            other=other,
            space="tensor",
        )

    def executed(self, instruction: Instruction, threads: Threads) -> None:
        """After tcgen05.wait::st a warp's stores are complete."""
        if self._stores and instruction.opcode.startswith("tcgen05.wait::st"):
            warps = np.unique(threads.indices >> 5)
            self._stores = [store for store in self._stores if int(store.access.threads[0]) >> 5 not in warps]

    def synchronised(self, event: Synchronisation) -> None:
        """A commit says where its thread's instructions arrive; who has waited there knows of them."""
        if not self._flights or event.kind not in ("mbarrier.arrive", "mbarrier.wait"):
            return
        commits = event.kind == "mbarrier.arrive" and event.instruction.opcode.startswith("tcgen05.commit")
        waits = event.kind == "mbarrier.wait" and event.completed
        if not commits and not waits:
            return
        places = np.broadcast_to(event.key, event.threads.shape).astype(np.int64)
        blocks = event.threads // self._batch.block_lanes
        size = self._batch.grid.cluster_size
        ranks = (places >> RANK_SHIFT) - 1
        blocks = np.where(ranks < 0, blocks, blocks // size * size + ranks)
        keys = list(zip(blocks.tolist(), (places & (1 << RANK_SHIFT) - 1).tolist(), strict=True))
        if waits:
            self._flights = [flight for flight in self._flights if not self._is_awaited(flight, set(keys))]
            return
        for thread, key in zip(event.threads.tolist(), keys, strict=True):
            for flight in self._flights:
                if int(flight.access.threads[0]) == thread:
                    flight.barriers.add(key)

    @staticmethod
    def _is_awaited(flight: _Flight, keys: set[tuple[int, int]]) -> bool:
        """Whether somebody of its block has waited for it."""
        return any(block == flight.access.block for block, _ in flight.barriers & keys)
