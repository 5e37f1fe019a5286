"""Snapshots of a launch that runs: everything that its next instruction depends on.

The simulator is deterministic, so a snapshot and the instructions after it give any later state again.
Registers are shared with the machine until it writes them; memory is kept in pages, which snapshots share
where nothing has changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deferred import Deferred
from ..heap import HEAP_START
from ..machine import Frame, Machine
from ..simulate import as_bytes

_PAGE = 4096  # bytes
_ZEROS = 0  # the slot of a page of zeros
#: Attributes whose arrays are memory: their content is kept in pages.
_PAGED = frozenset({"shared", "local", "data", "words"})
#: Attributes of a machine that stay the same, or are kept on their own.
_OTHERS = frozenset({
    "launch", "batch", "memory", "observers", "_listeners", "_guard_listeners", "matrices", "stops", "_pause",
    "_special", "_tick", "entry_frame", "tile_reads",
})  # fmt: skip


class Pages:
    """The content of arrays at several times, page by page; equal pages of following times are kept once."""

    def __init__(self) -> None:
        self._pages: dict[int, NDArray[np.uint8]] = {_ZEROS: np.zeros(_PAGE, dtype=np.uint8)}
        self._next = 1
        #: By place in memory: an array, its content when it was looked at last, and the pages of that.
        self._last: dict[tuple[int, int], tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all pages, and of the last content of each array."""
        return sum(page.nbytes for page in self._pages.values()) + sum(
            last.nbytes for _, last, _ in self._last.values()
        )

    def take(self, array: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The pages of an array as it is now."""
        _, last, slots = self._known(array)
        slots = slots.copy()
        for page in np.flatnonzero(_differ(array, last)).tolist():
            part = slice(page * _PAGE, (page + 1) * _PAGE)
            last[part] = array[part]
            slots[page] = _ZEROS
            if array[part].any():
                self._pages[self._next] = array[part].copy()
                slots[page] = self._next
                self._next += 1
        self._last[_key(array)] = array, last, slots
        return slots

    def put(self, array: NDArray[np.uint8], slots: NDArray[np.int64] | None) -> None:
        """Give an array the content that it had; without pages, zeros."""
        _, last, current = self._known(array)
        if slots is None:
            slots = np.zeros_like(current)
        for page in np.flatnonzero(_differ(array, last) | (current != slots)).tolist():
            part = slice(page * _PAGE, (page + 1) * _PAGE)
            array[part] = last[part] = self._pages[int(slots[page])][: array[part].size]
        self._last[_key(array)] = array, last, slots

    def has(self, array: NDArray[np.uint8]) -> bool:
        """Whether an array was looked at."""
        return _key(array) in self._last

    def arrays(self) -> list[NDArray[np.uint8]]:
        """All arrays that were looked at."""
        return [array for array, *_ in self._last.values()]

    def keep(self, used: Iterable[NDArray[np.int64]]) -> None:
        """Forget the pages that no snapshot uses any more."""
        kept = {_ZEROS}
        for slots in (*used, *(slots for *_, slots in self._last.values())):
            kept.update(slots.tolist())
        self._pages = {slot: page for slot, page in self._pages.items() if slot in kept}

    def _known(self, array: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        if _key(array) not in self._last:
            count = -(-array.size // _PAGE)
            self._last[_key(array)] = array, np.zeros_like(array), np.zeros(count, dtype=np.int64)
        return self._last[_key(array)]


def _key(array: NDArray[np.uint8]) -> tuple[int, int]:
    """Where an array is; two views of the same memory are the same."""
    return array.ctypes.data, array.size


def _differ(array: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which pages of two arrays differ."""
    whole = array.size // _PAGE * _PAGE
    words, others = array[:whole].view(np.uint64), other[:whole].view(np.uint64)
    differ = (words.reshape(-1, _PAGE // 8) != others.reshape(-1, _PAGE // 8)).any(axis=1)
    if whole < array.size:
        differ = np.append(differ, not np.array_equal(array[whole:], other[whole:]))
    return np.asarray(differ)


@dataclass
class Snapshot:
    """A launch at a position; `seconds` is how long it takes from the beginning to there."""

    position: int
    base: int  # instructions of the batches before
    seconds: float
    machine: Machine
    objects: list[tuple[object, dict[str, Any]]] = field(default_factory=list)
    frames: list[tuple[Frame, dict[str, Any]]] = field(default_factory=list)
    contents: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = field(default_factory=list)

    @classmethod
    def take(
        cls, machine: Machine, pages: Pages, position: int, base: int, seconds: float, output: object
    ) -> Snapshot:
        """The machine as it is now; deferred products are computed."""
        snapshot = cls(position, base, seconds, machine)
        frames = [machine.entry_frame]
        while frames:
            frame = frames.pop()
            snapshot.frames.append((frame, _frame_state(frame)))
            frames += frame.children.values()
        memory, heap = machine.memory, machine.memory.heap
        objects: list[object] = [
            machine, machine.barriers, machine.cluster_barriers, machine.register_pool, machine._bypassing,
            memory, heap, machine.launch, output, *machine.live_probes(),
        ]  # fmt: skip
        if machine.tensor_memory is not None:
            objects.append(machine.tensor_memory)
        snapshot.objects = [(item, _state(item)) for item in objects]
        snapshot.objects.append((machine.batch, {"alive": machine.batch.alive.copy()}))
        paged = [buffer.data for buffer in memory.buffers if buffer.writable and buffer.data is not heap.data]
        paged += [memory.shared, memory.local]
        maps = (tensor.array for tensor in machine.launch.tensor_maps)
        paged += [
            as_bytes(array) for array in maps if isinstance(array, np.ndarray) and array.flags.writeable
        ]
        if heap._next != HEAP_START:
            paged.append(heap.data)
        if machine.tensor_memory is not None:
            paged.append(machine.tensor_memory.words.reshape(-1).view(np.uint8))
        snapshot.contents = [(array, pages.take(array)) for array in paged]
        return snapshot

    def restore(self, pages: Pages) -> Machine:
        """Let the machine be as it was."""
        for item, state in self.objects:
            for name, value in state.items():
                setattr(item, name, _copied(name, value))
        for frame, state in self.frames:
            for name, value in state.items():
                setattr(frame, name, _copied(name, value))
            frame._parts = [None if part is None else copy(part) for part in state["_parts"]]
            frame._owned = bytearray(len(frame._owned))
        known = {_key(array): slots for array, slots in self.contents}
        for array in pages.arrays():
            if _key(array) in known:
                pages.put(array, known[_key(array)])
        heap = self.machine.memory.heap.data
        if _key(heap) not in known and pages.has(heap):
            pages.put(heap, None)
        return self.machine

    def registers(self) -> Iterable[NDArray[Any]]:
        """The arrays of registers that it holds."""
        for _, state in self.frames:
            yield from (values for values in state["_registers"] if values is not None)
            yield from (part.values for part in state["_parts"] if part is not None)


def _frame_state(frame: Frame) -> dict[str, Any]:
    """The registers of a call: the frame gets new arrays before it writes these."""
    for number, values in enumerate(frame._registers):
        if isinstance(values, Deferred):
            frame.register(number)
    frame._owned = bytearray(len(frame._owned))
    return {
        "_registers": list(frame._registers),
        "_parts": [None if part is None else copy(part) for part in frame._parts],
        "children": dict(frame.children),
        "stack": None if frame.stack is None else frame.stack.copy(),
        "stack_size": frame.stack_size,
        "carry": None if frame.carry is None else frame.carry.copy(),
        "thread_count": frame.thread_count,
    }


def _state(item: object) -> dict[str, Any]:
    """The attributes of an object, with collections copied."""
    skipped = _OTHERS if isinstance(item, Machine) else frozenset({"_batch", "observers", "buffers"})
    return {name: _copied(name, value) for name, value in vars(item).items() if name not in skipped}


def _copied(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if name in _PAGED else value.copy()
    if isinstance(value, dict):
        return {key: other.copy() if isinstance(other, np.ndarray) else other for key, other in value.items()}
    if isinstance(value, list | set | deque | bytearray):
        return copy(value)
    return value
