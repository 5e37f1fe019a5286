"""Shared memory of other blocks of a cluster: they must have started, and must not have ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access, Piece
from ..ptx import Instruction
from ..threads import Batch
from .clocks import Clocks
from .hazard import Report
from .traits import is_local_only


class ClusterPresence:
    """Watches what the blocks of a batch, which begins at a time, do in each other's shared memory."""

    def __init__(self, report: Report, batch: Batch, clocks: Clocks, begun: int) -> None:
        self._report = report
        self._batch = batch
        self._clocks = clocks
        self._begun = begun
        self._used = np.zeros(batch.count, dtype=np.int64)  # when another block last used a block's memory
        self._users: dict[int, NDArray[Any]] = {}  # and which threads did
        self._instructions: dict[int, Instruction] = {}  # by that time

    def check(self, access: Access, piece: Piece, time: int) -> None:
        """Blocks whose shared memory others use before they are known to have started."""
        owners = piece.offsets // (piece.data.size // self._batch.count)
        users = piece.threads // self._batch.block_lanes
        remote = np.flatnonzero(owners != users)
        if not len(remote):
            return
        early = remote[self._clocks.cluster_time[users[remote]] == self._begun]
        if len(early):
            self._report.add(
                "absent block", access.instruction, self._batch, piece.threads[early],
                "{who} use{s} shared memory of another block of the cluster, which may not have started",
                remedy="wait at a barrier of the cluster first", space="shared",
            )  # fmt: skip
        if access.kind == "atomic" and is_local_only(access.instruction.opcode):
            self._report.add(
                "not atomic", access.instruction, self._batch, piece.threads[remote],
                f"{{who}} execute{{s}} {access.instruction.opcode} in shared memory of another block, where "
                "ptxas makes it a load and a store",
                remedy="use an operation of 32 bits, add of 64 bits, or a loop with atom.cas", space="shared",
            )  # fmt: skip
        self._used[owners[remote]] = time
        self._instructions[time] = access.instruction
        for owner in np.unique(owners[remote]).tolist():
            self._users[owner] = piece.threads[remote[owners[remote] == owner]]

    def check_ends(self) -> None:
        """Blocks that may end while others still use their shared memory."""
        left = np.flatnonzero(self._used > self._clocks.cluster_time)
        for time in np.unique(self._used[left]).tolist():
            users = [self._users[block] for block in left.tolist() if self._used[block] == time]
            self._report.add(
                "absent block", self._instructions[time], self._batch, np.unique(np.concatenate(users)),
                "{who} use{s} shared memory of another block of the cluster, which may have ended",
                remedy="let all blocks wait at a barrier of the cluster after that", space="shared",
            )  # fmt: skip
