"""Missing proxy fences of tensor maps that a kernel changes in global memory.

TMA reads maps through a proxy of its own. What a thread has changed must be released, by
tensormap.cp_fenceproxy or fence.proxy.tensormap::generic.release, and acquired with
fence.proxy.tensormap::generic.acquire by who uses it. A fence of one thread counts for its block, since
others learn of it through a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..events import Observer, Synchronisation
from ..ptx import Instruction
from ..threads import Batch
from .hazard import Report, line_text


@dataclass
class _Change:
    """The last change of a map: by which block, when, and whether it was released."""

    instruction: Instruction
    block: int
    time: int
    released: bool


class TensorMapCheck(Observer):
    """Looks for tensor maps that TMA may see as they were before."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._changes: dict[int, _Change] = {}  # by address
        self._acquired: dict[int, int] = {}  # by blocks of the grid
        self._time = 0

    def begin(self, batch: Batch) -> None:
        """Remember the blocks; what others changed stays."""
        self._batch = batch

    def synchronised(self, event: Synchronisation) -> None:
        """A map is changed, fenced or used."""
        if not event.kind.startswith(("tensormap", "fence.proxy.tensormap")):
            return
        self._time += 1
        blocks = self._batch.numbers[event.threads // self._batch.block_lanes]
        if event.kind.startswith("fence"):
            if "acquire" in event.instruction.parts:
                self._acquired |= dict.fromkeys(blocks.tolist(), self._time)
                return
            for change in self._changes.values():
                change.released |= change.block in blocks
            return
        places = np.broadcast_to(event.key, event.threads.shape)
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
                    f"execute fence.proxy.tensormap::generic.release after {line_text(change.instruction)}"
                )
            elif self._acquired.get(block, 0) < change.time:
                remedy = "execute fence.proxy.tensormap::generic.acquire on the map's address before"
            else:
                continue
            name = ".".join(event.instruction.parts[:4])
            self._report.add(
                "missing proxy fence", event.instruction, self._batch, event.threads[number : number + 1],
                f"{{who}}: {name} uses a tensor map that {line_text(change.instruction)} changed through "
                "another proxy",
                remedy=remedy, other=change.instruction, space="global",
            )  # fmt: skip
