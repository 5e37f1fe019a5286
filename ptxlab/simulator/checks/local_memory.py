"""Local memory that a thread reads and has not written."""

from __future__ import annotations

import numpy as np

from ..events import Access
from ..threads import Batch
from .hazard import Report


class LocalMemory:
    """Which bytes of its local memory each thread of a batch has written."""

    def __init__(self, report: Report, batch: Batch) -> None:
        self._report = report
        self._batch = batch
        self._written = np.zeros((batch.size, 0), dtype=np.bool_)

    def check(self, access: Access) -> None:
        """Compare an access with those before it, and note it."""
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
                self._report.add(
                    "uninitialised memory", access.instruction, self._batch, access.threads[missing],
                    f"{{who}} read{{s}} byte {int(where[0])} of local memory, never written",
                    space="local", addresses=(int(where.min()), int(where.max())),
                )  # fmt: skip
                return
