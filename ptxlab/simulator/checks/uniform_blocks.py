"""Blocks that all do the same in shared memory: the first is checked for all of them.

The blocks of a batch mostly make the same accesses at the same time, each in its own shared memory. As long
as they do, and there is nothing to report, the shadow of shared memory is that of the first block, and only
that block's accesses are compared with it. At the first difference, or the first finding, the shadow is
repeated for every block, and from then on all of them are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess
from .asynchronous_work import AsynchronousWork
from .clocks import Clocks
from .shadow_memory import Shadow


class _BlocksDifferError(Exception):
    """What is known of the first block may not be so in others, or has to be reported for all of them."""


class UniformBlocks:
    """The shadow of a batch's shared memory: that of one block as long as `uniform` is true."""

    def __init__(self, clocks: Clocks, work: AsynchronousWork) -> None:
        self._clocks = clocks
        self._batch = clocks.batch
        self._work = work
        self._shadow: Shadow | None = None
        self.uniform = self._batch.count > 1 and self._batch.grid.cluster_size == 1
        self._clocks_agree: bool | None = None  # whether threads know the same in each block, once asked

    def shadow(self, buffer_access: BufferAccess) -> Shadow:
        """The shadow of the shared memory that an access is to."""
        if self._shadow is None:
            size = buffer_access.data.size // (self._batch.count if self.uniform else 1)
            self._shadow = Shadow(size, self._batch.block_lanes // 32)
        return self._shadow

    def check(
        self, access: Access, buffer_access: BufferAccess, check: Callable[[BufferAccess], None]
    ) -> None:
        """Check an access: in the first block if that is enough, otherwise in all of them."""
        if self.uniform and not self._checked_first(access, buffer_access, check):
            self.separate()
        if not self.uniform:
            check(buffer_access)

    def _checked_first(
        self, access: Access, buffer_access: BufferAccess, check: Callable[[BufferAccess], None]
    ) -> bool:
        """Check an access of the first block if all blocks make the same; whether that was enough."""
        if "first block" not in buffer_access.notes:
            buffer_access.notes["first block"] = self._in_first_block(buffer_access)
        first = buffer_access.notes["first block"]
        if first is None:
            return False
        shadow = self.shadow(buffer_access)
        shadow.entries_of(first, access.width)  # it makes them as narrow as they are to be
        writer, updater = shadow.writer, shadow.updater
        if access.kind != "read":
            writer, updater = writer.copy(), updater.copy()
        try:
            check(first)
        except _BlocksDifferError:
            shadow.writer, shadow.updater = writer, updater
            return False
        return True

    def _in_first_block(self, buffer_access: BufferAccess) -> BufferAccess | None:
        """The part of an access that the first block makes, if all others make the same."""
        blocks, lanes = self._batch.count, self._batch.block_lanes
        count, rest = divmod(len(buffer_access.threads), blocks)
        if buffer_access.chosen is not None or rest or not count:
            return None
        numbers = np.arange(blocks)[:, None]
        threads, offsets = (
            buffer_access.threads.reshape(blocks, count),
            buffer_access.offsets.reshape(blocks, count),
        )
        pitch = buffer_access.data.size // blocks
        if threads[0].max() >= lanes or (offsets - offsets[0] != numbers * pitch).any():
            return None
        if (
            buffer_access.threads is not self._batch.everyone
            and (threads - threads[0] != numbers * lanes).any()
        ):
            return None
        return BufferAccess(
            self._batch.everyone[:count], buffer_access.data, offsets[0], threads[0], buffer_access.buffer
        )

    def separate(self) -> None:
        """From now on blocks are checked one by one: what the first did so far, all of them did."""
        if self.uniform and self._shadow is not None:
            blocks, lanes, pitch = self._batch.count, self._batch.block_lanes, self._shadow.size
            self._shadow.repeat(blocks, lanes)
            self._work.repeat(blocks, lanes, pitch)
        self.uniform = False

    def separate_if_partial(self, threads: NDArray[Any]) -> None:
        """Separate blocks unless these are the same lanes of each."""
        if self.uniform:
            present = np.zeros((self._batch.count, self._batch.block_lanes), dtype=np.bool_)
            present.reshape(-1)[threads] = True
            if (present != present[0]).any():
                self.separate()

    def clocks_changed(self) -> None:
        """A barrier or fence has changed what threads know."""
        self._clocks_agree = None

    def require_same_clocks(self) -> None:
        """Ends the check of the first block if threads of another know something else."""
        if self.uniform:
            if self._clocks_agree is None:
                self._clocks_agree = self._clocks.are_blocks_uniform()
            if not self._clocks_agree:
                raise _BlocksDifferError

    def require_separate(self) -> None:
        """Ends the check of the first block: there is something to look at, or to report, in each."""
        if self.uniform:
            raise _BlocksDifferError
