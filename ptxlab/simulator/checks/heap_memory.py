"""Hazards of the heap: memory of `malloc` that is used after `free`, freed twice, or never freed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess, Observer
from ..hazard import HazardLog, Violation, line_name, line_text
from ..heap import ALIGNMENT, HEAP_START
from ..launch_threads import Batch, Threads
from ..ptx.syntax import PtxInstruction

_NEAR = 4096  # bytes behind an allocation that an index may have gone too far for
_NEVER, _GIVEN, _FREED = range(3)  # what bytes of the heap are


@dataclass(slots=True)
class _Allocation:
    """Memory that `malloc` gave out: how much, to whom, and what freed it."""

    size: int
    instruction: PtxInstruction
    batch: Batch
    thread: int
    freed: PtxInstruction | None = None

    def __str__(self) -> str:
        return f"the {self.size} bytes from malloc in {line_text(self.instruction)}"


class HeapCheck(Observer):
    """Looks for uses of the heap that are wrong."""

    def __init__(self, report: HazardLog) -> None:
        self._report = report
        self._state = np.zeros(0, dtype=np.uint8)  # of each byte
        self._allocations: dict[int, _Allocation] = {}  # the last at each address

    def begin(self, batch: Batch) -> None:
        """A batch starts; the heap is kept."""
        self._batch = batch

    def allocated(
        self,
        instruction: PtxInstruction,
        threads: Threads,
        addresses: NDArray[np.uint64],
        sizes: NDArray[np.int64],
    ) -> None:
        """Note what `malloc` gives out."""
        self._grow(int(addresses.max()) + int(sizes[addresses > 0].max(initial=0)) - HEAP_START)
        for thread, address, size in zip(
            threads.indices.tolist(), addresses.tolist(), sizes.tolist(), strict=True
        ):
            if address:
                self._forget(address, size)
                self._allocations[address] = _Allocation(size, instruction, self._batch, thread)
                self._state[address - HEAP_START : address - HEAP_START + size] = _GIVEN

    def _grow(self, size: int) -> None:
        if size > len(self._state):
            # More than twice as long, so that a growing heap is copied a few times only.
            self._state = np.concatenate([self._state, np.zeros(size, dtype=np.uint8)])

    def _forget(self, address: int, size: int) -> None:
        """What was freed before at these addresses is somebody else's now."""
        start = address - HEAP_START
        if (self._state[start : start + size] == _FREED).any():
            for place in range(address, address + size, ALIGNMENT):
                self._allocations.pop(place, None)

    def freed(self, instruction: PtxInstruction, threads: Threads, addresses: NDArray[np.uint64]) -> None:
        """Note what `free` takes back, and report what `malloc` did not give out."""
        wrong: dict[PtxInstruction | None, list[tuple[int, int]]] = defaultdict(list)
        for thread, address in zip(threads.indices.tolist(), addresses.tolist(), strict=True):
            allocation = self._allocations.get(address)
            if allocation is None:
                wrong[None].append((thread, address))
            elif allocation.freed is not None:
                wrong[allocation.freed].append((thread, address))
            else:
                allocation.freed = instruction
                start = address - HEAP_START
                self._state[start : start + allocation.size] = _FREED
        for other, frees in wrong.items():
            address = frees[0][1]
            begin, allocation = self._nearest(address)
            what = f"{{who}} free{{s}} 0x{address:x}, which malloc did not return"
            remedy = "pass what malloc returned in this launch"
            if other is not None:
                what = f"{{who}} free{{s}} {allocation}, which {line_text(other)} has freed"
                remedy = "free them once"
            elif allocation is not None:
                what = f"{{who}} free{{s}} an address {address - begin} bytes into {allocation}"
            self._report.add(self._batch, Violation(
                "invalid free", instruction, np.array([thread for thread, _ in frees]), what,
                remedy=remedy, other=other, space="global", addresses=(address, address),
            ))  # fmt: skip

    def accessed(self, access: Access) -> None:
        """Report accesses to bytes of the heap that are not given out."""
        if access.space != "global":
            return
        for buffer_access in access.buffer_accesses:
            if buffer_access.buffer is not None and buffer_access.buffer.start == HEAP_START:
                self._check(access, buffer_access)

    def _check(self, access: Access, buffer_access: BufferAccess) -> None:
        # An allocation fills each 16-byte granule from its start, so checking the last byte of an access in
        # each granule is enough.
        lasts = [*range(ALIGNMENT - 1, access.width - 1, ALIGNMENT), access.width - 1]
        self._grow(buffer_access.data.size)
        states = self._state[buffer_access.offsets[:, None] + np.array(lasts)]
        wrong = np.flatnonzero((states != _GIVEN).any(axis=1))
        if not len(wrong):
            return
        first = int(buffer_access.offsets[wrong[0]]) + HEAP_START
        verb = {"read": "read{s}", "write": "write{s}"}.get(access.kind, "update{s}")
        bytes_text = f"{access.width} byte{'s' if access.width > 1 else ''}"
        what = f"{{who}} {verb} {bytes_text} at 0x{first:x}, which malloc did not give out"
        remedy, other = "use what malloc returned in this launch", None
        begin, allocation = self._nearest(first)
        if allocation is not None:
            what = f"{{who}} {verb} {bytes_text} at offset {first - begin} of {allocation}"
            remedy = "allocate more, or use an index inside"
            if allocation.freed is not None and first < begin + allocation.size:
                other = allocation.freed
                what += f", which {line_text(other)} has freed"
                remedy = f"free them after {line_name(access.instruction)}"
        self._report.add(self._batch, Violation(
            "heap memory", access.instruction, buffer_access.threads[wrong], what,
            remedy=remedy, other=other, space="global", addresses=(first, first + access.width - 1),
        ))  # fmt: skip

    def _nearest(self, address: int) -> tuple[int, _Allocation | None]:
        """What begins last at or before an address, if the address is in it or little behind."""
        begin = max((start for start in self._allocations if start <= address), default=address)
        allocation = self._allocations.get(begin)
        if allocation is None or address >= begin + allocation.size + _NEAR:
            return address, None
        return begin, allocation

    def finish(self) -> None:
        """Report what is not freed."""
        kept: dict[tuple[PtxInstruction, int], list[_Allocation]] = defaultdict(list)
        for allocation in self._allocations.values():
            if allocation.freed is None:
                kept[allocation.instruction, id(allocation.batch)].append(allocation)
        for (instruction, _), allocations in kept.items():
            threads = np.array(sorted(allocation.thread for allocation in allocations))
            sizes = sorted({allocation.size for allocation in allocations})
            bytes_text = f"{sizes[0]} bytes" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} bytes each"
            self._report.add(allocations[0].batch, Violation(
                "heap memory kept", instruction, threads,
                f"{{who}} allocate{{s}} {bytes_text} that are not freed when the launch ends",
                space="global",
            ))  # fmt: skip
