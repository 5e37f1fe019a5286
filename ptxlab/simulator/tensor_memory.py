"""Tensor memory of the blocks of a simulated launch, and who has allocated it."""

from __future__ import annotations

import numpy as np

from ..isa.tensor_memory import COLUMNS, LANES

#: Columns that are allocated together.
UNIT = 32


class TensorMemory:
    """Tensor memory of the blocks of a batch: words [blocks, 128, 512], and which columns are allocated.

    >>> memory = TensorMemory(blocks=2)
    >>> memory.allocate(0, 64), memory.allocate(0, 32), memory.allocate(1, 128)
    (0, 64, 0)
    """

    def __init__(self, blocks: int) -> None:
        self.words = np.zeros((blocks, LANES, COLUMNS), dtype=np.uint32)
        self.taken = np.zeros((blocks, COLUMNS // UNIT), dtype=np.bool_)

    def allocate(self, block: int, columns: int) -> int | None:
        """The first column of so many that are free, or None."""
        units = columns // UNIT
        for first in range(0, COLUMNS // UNIT - units + 1, units):
            if not self.taken[block, first : first + units].any():
                self.taken[block, first : first + units] = True
                return first * UNIT
        return None
