"""Loads whose value may not matter: an unordered overwrite harms only threads that use what they loaded.

`module_plans.py` finds these loads in the code, and where their values are used. Here it is recorded which
threads executed them, when, and at which addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access
from .access_reports import Conflict, UnusedReads
from .clocks import Clocks
from .doubtful_values import DoubtfulValues
from .module_plans import ModulePlans
from .shadow_memory import PENDING, WORK

_MAX_PAIRS = 1 << 22  # of writers and threads that may have read, up to which uses are looked for


class UnusedLoads:
    """The loads of a batch whose value may not matter, and who executed them."""

    def __init__(self, plans: ModulePlans, values: DoubtfulValues, clocks: Clocks) -> None:
        self._plans = plans
        self._values = values
        self._clocks = clocks
        self._executions: dict[int, _Executions] = {}  # by id of the load

    def note(self, access: Access) -> int:
        """Threads execute a load; its id if its value may not matter, otherwise 0."""
        uses = self._plans.load_uses(access.instruction) if access.proxy == "generic" else None
        if uses is None:
            return 0
        self._values.watch(uses)
        key = id(access.instruction)
        if key not in self._executions:
            self._executions[key] = _Executions(access, self._clocks.batch.size)
        self._executions[key].add(access, self._clocks.time.now)
        return key

    def unused_reads(self, conflict: Conflict) -> UnusedReads | None:
        """The threads whose loads may come too late; None if one of them has used its value.

        The shadow keeps two of the threads that read. Others of their blocks count as having read the same,
        unless it is known that they have not. In Triton's kernels with fewer elements than threads, some
        threads load in vain what others load and overwrite.
        """
        if conflict.other_verb != "reads" or conflict.stamp & (PENDING | WORK):
            return None
        uses = self._plans.load_uses(conflict.other)
        if uses is None:
            return None
        lanes, touch = self._clocks.lanes, conflict.touch
        readers = touch.threads_of(conflict.before[conflict.which])
        pairs = np.unique(np.stack([touch.threads[conflict.which], readers // lanes]), axis=1)
        if readers.min() < 0 or pairs.shape[1] * lanes > _MAX_PAIRS:
            return None
        writers = np.repeat(pairs[0], lanes)
        others = (pairs[1][:, None] * lanes + np.arange(lanes)).reshape(-1)
        since = self._first_reads(conflict, others, writers)
        keep = (others != writers) & (since <= self._clocks.time.now)
        writers, others, since = writers[keep], others[keep], since[keep]
        latest_known = self._clocks.known(writers, others, written=not touch.in_shared)  # as in `RaceCheck`
        # A use may have the time of the load, if no access is between.
        latest_known = np.maximum(latest_known, since - 1)
        spread = np.arange(32)[np.arange(32) & ~uses.lane_bits == 0]
        others = (others[:, None] & ~uses.lane_bits | spread).reshape(-1)  # whoever may have got it from them
        if self._values.were_used(uses, others, np.repeat(latest_known, len(spread))):
            return None
        return UnusedReads(uses, np.unique(others))

    def _first_reads(
        self, conflict: Conflict, threads: NDArray[Any], writers: NDArray[Any]
    ) -> NDArray[np.int64]:
        """When each thread may first have loaded what its writer overwrites; 0 where that is not known."""
        access, executions = conflict.touch.access, self._executions[id(conflict.other)]
        own_memory = access.space != "shared" or self._clocks.batch.grid.cluster_size == 1
        if own_memory and access.space == executions.space and access.instruction.parts[0] in _STORES:
            return executions.first_reads(threads, access, writers)
        return np.zeros(len(threads), dtype=np.int64)


_STORES = ("st", "atom", "red")


class _Executions:
    """Where each thread of a batch has executed a load, and when first, as long as the addresses are few."""

    _NOWHERE, _MOST = -1, 64
    _NEVER = np.iinfo(np.int64).max

    def __init__(self, access: Access, size: int) -> None:
        self.space, self._width, self._size = access.space, access.width, size
        #: Addresses and times of each thread's first execution, its second, and so on.
        self._executions: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, access: Access, time: int) -> None:
        """Threads execute the load."""
        if access.space != self.space:  # generic addresses
            self.space = "several"
        if len(self._executions) > self._MOST:
            return
        threads, addresses = access.threads, access.addresses.astype(np.int64)
        for before, _ in self._executions:
            new = before[threads] != addresses
            if not new.any():
                return
            threads, addresses = threads[new], addresses[new]
        if not self._executions or (self._executions[-1][0][threads] != self._NOWHERE).any():
            self._executions.append((np.full(self._size, self._NOWHERE), np.zeros(self._size, np.int64)))
        before, times = self._executions[-1]
        before[threads], times[threads] = addresses, time

    def first_reads(self, threads: NDArray[Any], access: Access, writers: NDArray[Any]) -> NDArray[np.int64]:
        """When each thread may first have read what its writer writes in an access, or `_NEVER`."""
        first = np.full(len(threads), 0 if len(self._executions) > self._MOST else self._NEVER)
        places = np.zeros(self._size, dtype=np.int64)
        places[access.threads] = access.addresses
        written = places[writers]
        for addresses, times in self._executions:
            read = addresses[threads]
            overlap = (read < written + access.width) & (written < read + self._width) & (read >= 0)
            first[overlap] = np.minimum(first[overlap], times[threads[overlap]])
        return first
