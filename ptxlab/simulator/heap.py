"""The heap of device code, from which `malloc` takes memory and to which `free` gives it back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

#: Where the heap begins; generic addresses.
HEAP_START = 0x7E00_0000_0000
#: CUDA's default, which `cudaDeviceSetLimit(cudaLimitMallocHeapSize, ...)` changes: 8 MiB.
HEAP_BYTES = 8 << 20
#: Of addresses from `malloc`. CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations".
ALIGNMENT = 16


class Heap:
    """The heap of a launch, of which `size` bytes can be given out at a time.

    Errors shall be seen: the search for free bytes goes on behind the last ones that were given out, so that
    freed memory is used again late, and 16 bytes behind each allocation stay free. For that there are twice
    as many addresses as bytes.

    >>> heap = Heap(1 << 20)
    >>> first, none = heap.allocate(np.array([1 << 19, 1 << 30])).tolist()
    >>> first == HEAP_START, none, heap.free(first), heap.free(first)
    (True, 0, True, False)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = np.zeros(2 * size, dtype=np.uint8)
        self.was_full = False  # whether a request was refused
        self._free = size
        self._given: dict[int, int] = {}  # sizes of what is given out, by address
        self._gaps = [(HEAP_START, HEAP_START + 2 * size)]  # free addresses: first, end
        self._next = HEAP_START

    def allocate(self, sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """An address for each request of so many bytes; 0 where none is free."""
        addresses = np.zeros(len(sizes), dtype=np.uint64)
        for position in np.flatnonzero((sizes >= 0) & (sizes <= self.size)).tolist():
            rounded = -(-max(int(sizes[position]), 1) // ALIGNMENT) * ALIGNMENT
            place = self._take(rounded + ALIGNMENT) if rounded <= self._free else 0
            if place:
                self._given[place] = rounded
                self._free -= rounded
                addresses[position] = place
        self.was_full |= not addresses.all()
        return addresses

    def free(self, address: int) -> bool:
        """Give back what begins at an address; whether anything was given out there."""
        size = self._given.pop(address, 0)
        if not size:
            return False
        self._free += size
        first, end = address, address + size + ALIGNMENT
        number = bisect_right(self._gaps, (first, end))
        behind = number
        if number and self._gaps[number - 1][1] == first:
            number -= 1
            first = self._gaps[number][0]
        if behind < len(self._gaps) and self._gaps[behind][0] == end:
            end = self._gaps[behind][1]
            behind += 1
        self._gaps[number:behind] = [(first, end)]
        return True

    def _take(self, size: int) -> int:
        """The address of so many bytes, which are no longer free; 0 if there are none."""
        later = max(bisect_left(self._gaps, (self._next + 1,)) - 1, 0)  # the gap that may hold `_next`
        for numbers, lowest in ((range(later, len(self._gaps)), self._next), (range(len(self._gaps)), 0)):
            for number in numbers:
                first, end = self._gaps[number]
                place = max(first, lowest)
                if end - place >= size:
                    rest = [(first, place), (place + size, end)]
                    self._gaps[number : number + 1] = [gap for gap in rest if gap[0] < gap[1]]
                    self._next = place + size
                    return place
        return 0
