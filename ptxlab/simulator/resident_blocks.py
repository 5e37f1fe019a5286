"""How many blocks of a launch a chip runs at a time: the next ones begin when others have ended.

Blocks that wait for one that cannot begin before they end wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import PtxlabError
from ..isa.chips import Card
from .launch_threads import LaunchGrid

if TYPE_CHECKING:
    from .timing.launch_profile import Occupancy

_MOST_REGISTERS = 255  # of a thread


@dataclass
class ResidentBlocks:
    """Blocks of a launch on a chip.

    `fit` says how many fit on an SM with so many registers for each thread; with None the assembler is asked.
    """

    chip: Card
    grid: LaunchGrid
    fit: Callable[[int | None], Occupancy]

    @cached_property
    def least(self) -> int:
        """Blocks that run at a time whatever registers they need; one on each SM at least."""
        try:
            return self._on_chip(self.fit(_MOST_REGISTERS))
        except PtxlabError:
            return self.chip.sms // self.grid.cluster_size * self.grid.cluster_size

    @property
    def most(self) -> int:
        """Blocks that run at a time."""
        return self._on_chip(self._occupancy)

    @cached_property
    def _occupancy(self) -> Occupancy:
        try:
            return self.fit(None)
        except PtxlabError:  # there is no assembler: registers do not count
            return self.fit(1)

    def _on_chip(self, occupancy: Occupancy) -> int:
        size = self.grid.cluster_size
        return max(1, occupancy.blocks * self.chip.sms // size) * size

    def __str__(self) -> str:
        blocks = self._occupancy.blocks
        return (
            f"an {self.chip.name} runs {self.most} blocks of this kernel at a time ({blocks} on each of "
            f"{self.chip.sms} SMs, bound by {self._occupancy.limit})"
        )
