"""The memory of a simulated launch: global buffers, shared memory of each block, local memory of each thread.

Every access passes `Memory._accesses`, which checks it and tells the observers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import check_bytes
from ..errors import PtxlabError
from ..isa.tensor_operand import COLUMNS, LANES
from .events import Access, BufferAccess, Observer, SimulatedBuffer
from .hazard import HazardError, Violation, hazard_of
from .heap import HEAP_BYTES, HEAP_START, Heap
from .launch_threads import UNSIGNED, Threads
from .ptx.syntax import PtxInstruction
from .spinning import Probe

#: Generic addresses: those of shared, local and parameter memory lie in windows, as on the chip; all others
#: are global.
SHARED_WINDOW = 1 << 40
LOCAL_WINDOW = 1 << 41
PARAM_WINDOW = 1 << 42
_SHARED_SPAN = 32  # bits: 24 within a block; those above say which block of the cluster, see `RANK_SHIFT`
_LOCAL_SPAN = 32
GLOBAL_START = 0x7F00_0000_0000
#: Where the kernel's parameters begin in their own space, whose addresses have 32 bits.
PARAM_START = 0x1000
#: Bytes of local memory of a thread. CUDA C++ Programming Guide, "Compute Capabilities".
MAX_LOCAL = 512 << 10
_MAX_LOCAL_BYTES = 1 << 31  # of all threads that run at a time
#: The first kilobyte of shared memory belongs to the system (sm_80 and later). Kernels that read a special
#: register %reserved_smem_offset_* may access it: cooperative groups of several warps synchronise there.
SHARED_START = 1024
#: The words in which `grid.sync()` of a cooperative launch counts; %envreg1 and %envreg2 hold their address.
WORKSPACE_START = 0x7D00_0000_0000
WORKSPACE_BYTES = 256
#: An address of shared memory holds the rank of its block in the cluster, plus 1, from this bit on; 0 is the
#: thread's own block.
RANK_SHIFT = 24


def in_block(places: NDArray[Any], rank: int | NDArray[Any]) -> NDArray[Any]:
    """Addresses of shared memory in the cluster's block of this rank."""
    return np.asarray(places & (1 << RANK_SHIFT) - 1 | rank + 1 << RANK_SHIFT)


def cluster_places(
    places: NDArray[Any], blocks: NDArray[Any], cluster: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The blocks that the shared-memory addresses of threads belong to, and the addresses within them."""
    rank = (places >> RANK_SHIFT) - 1
    owners = np.where(rank < 0, blocks, blocks // cluster * cluster + rank)
    return owners, places & (1 << RANK_SHIFT) - 1


#: 16 bytes, which NumPy moves at once.
CHUNK = np.dtype(np.complex128)
_CACHE_BYTES = 1 << 26  # addresses of accesses that are kept


class _Request(NamedTuple):
    """A memory access of an instruction: `width` bytes at an address for each thread."""

    instruction: PtxInstruction
    kind: str  # "read", "write" or "atomic"
    threads: Threads
    addresses: NDArray[Any]
    width: int
    proxy: str = "generic"
    values: Sequence[NDArray[Any]] = ()  # what a store writes
    owners: NDArray[np.int64] | None = None  # as `Access.owners`


#: An atomic update. It takes the words at several addresses, the index of each thread's word among them, and
#: the threads' indices; it returns the new words, and what each thread reads (None if the result is unused).
AtomicUpdate = Callable[
    [NDArray[Any], NDArray[np.intp], NDArray[np.intp]], tuple[NDArray[Any], NDArray[Any] | None]
]


@dataclass(slots=True)
class _CachedAccess:
    """An instruction's last access to shared memory, reused while threads and addresses stay the same."""

    threads: NDArray[Any]
    addresses: NDArray[Any]
    signed: NDArray[np.int64]  # the addresses as signed numbers
    width: int
    buffer_accesses: list[BufferAccess]

    def is_of(self, threads: Threads, addresses: NDArray[Any], width: int) -> bool:
        """Whether another access has the same arrays, which are never written."""
        return self.addresses is addresses and self.threads is threads.indices and self.width == width


@dataclass(slots=True)
class TileRead:
    """How warpgroups read a tile, each from its own block: spans of `width` bytes, by its first thread."""

    threads: Threads
    readers: Threads  # for each span
    addresses: NDArray[np.int64]  # of each span
    width: int
    owners: NDArray[np.int64]  # of each span: the warp of a warpgroup that multiplies it, -1 if all do
    _places: NDArray[np.int64]  # of the chunks of 16 bytes of one tile
    _offsets: NDArray[np.int64] | None = None
    _chunks: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        threads: Threads,
        starts: NDArray[np.int64],
        width: int,
        owners: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> TileRead:
        """From the addresses of spans and chunks in a block."""
        first = threads.indices.reshape(-1, 128)[:, 0]
        readers = Threads.listed(threads.batch, np.repeat(first, len(starts)))
        count = len(first)
        return cls(threads, readers, np.tile(starts, count), width, np.tile(owners, count), places)

    def chunks_at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of the tiles' 16-byte chunks in shared memory, [warpgroups, chunks].

        `offsets` are where the spans begin.
        """
        if self._chunks is None or self._offsets is not offsets:
            count = self.threads.count // 128
            blocks = (offsets - self.addresses)[:: len(offsets) // count, None]
            self._offsets, self._chunks = offsets, blocks + self._places >> 4
        return self._chunks


class Memory:
    """All memory that one batch of blocks sees."""

    def __init__(
        self,
        buffers: Sequence[SimulatedBuffer],
        shared: int,
        observers: Sequence[Observer],
        cluster: int = 1,
        *,
        shared_start: int = SHARED_START,
        heap: int = HEAP_BYTES,
    ) -> None:
        self._cluster = cluster
        self._shared_start = shared_start  # the first address that threads may access
        self.heap = Heap(heap)
        heap_buffer = SimulatedBuffer("the heap of malloc", HEAP_START, self.heap.data, owner="runtime")
        self.buffers = sorted([*buffers, heap_buffer], key=lambda buffer: buffer.start)
        self._starts = np.array([buffer.start for buffer in self.buffers], dtype=np.int64)
        self._recent: dict[int, SimulatedBuffer] = {}
        self.observers = tuple(observers)
        self.shared_size = shared
        self.shared_pitch = -(-shared // 128) * 128
        self.shared = np.zeros(0, dtype=np.uint8)
        self._local_size = 0
        self.local = np.zeros(0, dtype=np.uint8)
        self._lanes = 0
        self.probe: Probe | None = None  # records what threads read that may spin
        self.writes = 0  # accesses so far that may have changed memory

    def begin(self, blocks: int, lanes: int) -> None:
        """Fresh shared and local memory for a batch."""
        self.shared = np.zeros(blocks * self.shared_pitch, dtype=np.uint8)
        self._cached: dict[tuple[int, object], _CachedAccess] = {}
        self._max_cached = _CACHE_BYTES // (24 * max(lanes, 1))
        self._lanes = lanes
        self._local_size = 0
        self.local = np.zeros(0, dtype=np.uint8)

    def reserve_local(self, size: int) -> None:
        """Make every thread's local memory at least this large."""
        if size <= self._local_size:
            return
        if size > MAX_LOCAL or size * self._lanes > _MAX_LOCAL_BYTES:
            raise PtxlabError(
                f"local memory of {size} bytes for each of {self._lanes} threads does not fit (a thread has "
                f"at most {MAX_LOCAL}): does a device function call itself without end?"
            )
        size = min(max(-(-size // 128) * 128, 2 * self._local_size), MAX_LOCAL)
        check_bytes(2 * size * self._lanes, f"local memory of {size} bytes for {self._lanes} threads")
        fresh = np.zeros((self._lanes, size), dtype=np.uint8)
        fresh[:, : self._local_size] = self.local.reshape(self._lanes, self._local_size)
        self.local, self._local_size = fresh.reshape(-1), size

    def local_bytes(self, threads: Threads, start: int, size: int) -> NDArray[np.uint8]:
        """Bytes of the local memory of threads, [threads, size]."""
        rows = self.local.reshape(self._lanes, -1)
        return np.ascontiguousarray(rows[threads.indices, start : start + size])

    def local_of(self, thread: int) -> NDArray[np.uint8]:
        """The local memory of one thread."""
        return self.local[thread * self._local_size : (thread + 1) * self._local_size]

    def local_access(self, thread: int, start: int, end: int) -> BufferAccess:
        """Bytes of the local memory of one thread, as observers see them."""
        offsets = np.arange(start, end) + thread * self._local_size
        return BufferAccess(None, self.local, offsets, np.full(len(offsets), thread))

    def set_local(self, threads: Threads, start: int, values: NDArray[Any]) -> None:
        """Write a value of each thread into its local memory."""
        content = np.ascontiguousarray(values).view(np.uint8).reshape(threads.count, -1)
        rows = self.local.reshape(self._lanes, -1)
        rows[threads.indices, start : start + content.shape[1]] = content

    # -- reading and writing ---------------------------------------------------------------------------------

    def load(
        self,
        instruction: PtxInstruction,
        space: str,
        threads: Threads,
        addresses: NDArray[Any],
        bits: int,
        count: int = 1,
        proxy: str = "generic",
    ) -> list[NDArray[Any]]:
        """`count` neighbouring elements of `bits` bits at each address: one array for each element."""
        width = bits // 8 * count
        parts: list[NDArray[Any]] | None = None
        request = _Request(instruction, "read", threads, addresses, width, proxy)
        for buffer_access in self._accesses(request, space):
            if self.probe is not None and buffer_access.data is not self.local:
                self.probe.read(instruction, buffer_access, width)
            rows = _rows(buffer_access.data, buffer_access.offsets, bits, count)
            if buffer_access.chosen is None:
                return rows
            if parts is None:
                parts = [np.zeros(threads.count, dtype=UNSIGNED[bits]) for _ in range(count)]
            for part, row in zip(parts, rows, strict=True):
                part[buffer_access.chosen] = row
        return parts or [np.zeros(threads.count, dtype=UNSIGNED[bits]) for _ in range(count)]

    def store(
        self,
        instruction: PtxInstruction,
        space: str,
        threads: Threads,
        addresses: NDArray[Any],
        values: Sequence[NDArray[Any]],
        proxy: str = "generic",
    ) -> None:
        """Write neighbouring elements, one array for each, at each address."""
        size = values[0].dtype.itemsize
        width = size * len(values)
        request = _Request(instruction, "write", threads, addresses, width, proxy, values)
        for buffer_access in self._accesses(request, space):
            chosen = [
                value if buffer_access.chosen is None else value[buffer_access.chosen] for value in values
            ]
            view = buffer_access.data[: buffer_access.data.size - buffer_access.data.size % width].view(
                values[0].dtype
            )
            if len(chosen) == 1:
                view[buffer_access.offsets // size] = chosen[0]
            elif width == CHUNK.itemsize:
                rows = np.stack(chosen, axis=-1).view(CHUNK)[:, 0]
                view.view(CHUNK)[buffer_access.offsets >> 4] = rows
            else:
                view.reshape(-1, len(values))[buffer_access.offsets // width] = np.stack(chosen, axis=-1)

    def update(
        self,
        instruction: PtxInstruction,
        space: str,
        threads: Threads,
        addresses: NDArray[Any],
        bits: int,
        change: AtomicUpdate,
        kind: str = "atomic",
    ) -> NDArray[Any]:
        """Atomic updates of elements of `bits` bits; returns the old value for each thread."""
        old = np.zeros(threads.count, dtype=UNSIGNED[bits])
        width = bits // 8
        for buffer_access in self._accesses(_Request(instruction, kind, threads, addresses, width), space):
            view = buffer_access.data[: buffer_access.data.size - buffer_access.data.size % width].view(
                UNSIGNED[bits]
            )
            places, which = _distinct(buffer_access.offsets // width)
            ours = np.arange(threads.count) if buffer_access.chosen is None else buffer_access.chosen
            before = view[places]
            after, previous = change(before, which, ours)
            view[places] = after
            if self.probe is not None:
                self.probe.affect(buffer_access.threads[(after != before)[which]])
                self.probe.read(instruction, buffer_access, width)
            if previous is not None:
                old[ours] = previous
        return old

    # -- places ----------------------------------------------------------------------------------------------

    def shared_offsets(
        self,
        instruction: PtxInstruction,
        threads: Threads,
        addresses: NDArray[np.int64],
        width: int,
        kind: str,
        *,
        alignment: int = 0,
        proxy: str = "async",
        operand: object = None,
        owners: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Where in `shared` accesses of several bytes begin, e.g. rows of ldmatrix; checked and observed.

        `operand` tells the operands of an instruction apart if several of them are in shared memory.
        """
        request = _Request(instruction, kind, threads, addresses, width, proxy, owners=owners)
        for buffer_access in self._accesses(request, "shared", alignment or 1, operand):
            return buffer_access.offsets
        return np.zeros(0, dtype=np.int64)

    def check_aligned(
        self,
        instruction: PtxInstruction,
        kind: str,
        threads: Threads,
        addresses: NDArray[Any],
        sizes: NDArray[np.int64],
        alignment: int,
    ) -> None:
        """Refuse accesses of several bytes, `sizes` by each thread, at addresses that are not aligned.

        Threads that access no byte may have any address.
        """
        signed = addresses.astype(np.int64, copy=False)
        wrong = (sizes > 0) & (signed % alignment != 0)
        if wrong.any():
            width = int(sizes[wrong][0])
            request = _Request(instruction, kind, threads, signed, width)
            self._refuse(request, wrong, f"is not a multiple of {alignment}", "misaligned")

    def bytes_at(self, address: int, size: int) -> NDArray[np.uint8] | None:
        """Bytes of a buffer at a generic address; None if they belong to no buffer."""
        buffer = self.buffer_at(address)
        offset = 0 if buffer is None else address - buffer.start
        if buffer is None or offset + size > buffer.size:
            return None
        return buffer.data[offset : offset + size]

    def buffer_at(self, address: int) -> SimulatedBuffer | None:
        """The buffer that a generic address belongs to."""
        position = int(np.searchsorted(self._starts, address, side="right")) - 1
        if position < 0 or address >= self.buffers[position].start + self.buffers[position].size:
            return None
        return self.buffers[position]

    def is_parameter(self, address: int) -> bool:
        """Whether this is an address of the kernel's parameters that was not converted to a generic one."""
        return address < 1 << 32 and self.buffer_at(PARAM_WINDOW + address) is not None

    def text_at(self, address: int, thread: int = 0) -> bytes:
        """A null-terminated string, in a buffer or in the shared or local memory of a thread."""
        if address >> _SHARED_SPAN == SHARED_WINDOW >> _SHARED_SPAN:
            block = thread * self.shared.size // max(self._lanes * self.shared_pitch, 1)
            start = block * self.shared_pitch + (address & (1 << RANK_SHIFT) - 1)
            return self.shared[start : (block + 1) * self.shared_pitch].tobytes().split(b"\0")[0]
        if address >> _LOCAL_SPAN == LOCAL_WINDOW >> _LOCAL_SPAN:
            return self.local_of(thread)[address - LOCAL_WINDOW :].tobytes().split(b"\0")[0]
        buffer = self.buffer_at(address)
        return b"" if buffer is None else buffer.data[address - buffer.start :].tobytes().split(b"\0")[0]

    def _accesses(
        self, request: _Request, space: str, alignment: int = 0, operand: object = None
    ) -> Iterator[BufferAccess]:
        instruction, _, threads, addresses, width, *_ = request
        key = id(instruction), operand
        cached = self._cached.get(key)
        if cached is not None and cached.is_of(threads, addresses, width):
            if cached.signed is not addresses:
                request = request._replace(addresses=cached.signed)
            self._notify(request, "shared", cached.buffer_accesses)
            yield from cached.buffer_accesses
            return
        signed = addresses.astype(np.int64, copy=False)
        if signed is not addresses:
            request = request._replace(addresses=signed)
        alignment = alignment or width
        if alignment > 1 and np.bitwise_or.reduce(signed, initial=0) & (alignment - 1):
            wrong = signed & (alignment - 1) != 0
            self._refuse(request, wrong, f"is not a multiple of {alignment}", "misaligned")
        if not space:
            yield from self._generic(request)
            return
        buffer_accesses = self._buffer_accesses(request, space)
        if space == "shared" and (cached is not None or len(self._cached) < self._max_cached):
            self._cached[key] = _CachedAccess(threads.indices, addresses, signed, width, buffer_accesses)
        yield from buffer_accesses

    def _generic(self, request: _Request) -> Iterator[BufferAccess]:
        """An access by generic addresses, space by space."""
        addresses = request.addresses
        shared = addresses >> _SHARED_SPAN == SHARED_WINDOW >> _SHARED_SPAN
        local = addresses >> _LOCAL_SPAN == LOCAL_WINDOW >> _LOCAL_SPAN
        for space, mask, window in (
            ("global", ~(shared | local), 0),
            ("shared", shared, SHARED_WINDOW),
            ("local", local, LOCAL_WINDOW),
        ):
            if mask.all():
                yield from self._buffer_accesses(request._replace(addresses=addresses - window), space)
                return
            if mask.any():
                chosen = np.flatnonzero(mask)
                threads = request.threads.where(mask)
                part = request._replace(threads=threads, addresses=addresses[chosen] - window)
                yield from self._buffer_accesses(part, space, chosen)

    def _buffer_accesses(
        self, request: _Request, space: str, chosen: NDArray[np.intp] | None = None
    ) -> list[BufferAccess]:
        """An access to one space, checked and reported to the observers; usually in one buffer."""
        threads, addresses = request.threads, request.addresses
        if not threads.count:
            return []
        if space == "shared":
            blocks = threads.blocks
            last = self.shared_size - request.width
            inside = addresses.min() >= self._shared_start and addresses.max() <= last
            if not inside and (addresses >> RANK_SHIFT).any():
                blocks, addresses = self._of_cluster(request)
                request = request._replace(addresses=addresses)
                inside = addresses.min() >= self._shared_start and addresses.max() <= last
            if not inside:
                wrong = (addresses < self._shared_start) | (addresses > last)
                offset, size = int(addresses[wrong][0]) - SHARED_START, self.shared_size - SHARED_START
                fault = f"is byte {offset} of shared memory, {size} bytes long"
                if offset < 0:
                    fault = f"is {-offset} bytes before the {size} bytes of shared memory begin"
                self._refuse(request, wrong, fault)
            buffer_accesses = [
                BufferAccess(chosen, self.shared, addresses + blocks * self.shared_pitch, threads.indices)
            ]
        elif space == "local":
            wrong = (addresses < 0) | (addresses > self._local_size - request.width)
            if wrong.any():
                fault = f"lies outside of the thread's {self._local_size} bytes of local memory"
                self._refuse(request, wrong, fault)
            offsets = addresses + threads.indices * self._local_size
            buffer_accesses = [BufferAccess(chosen, self.local, offsets, threads.indices)]
        else:
            buffer_accesses = self._in_buffers(request, chosen)
        self._notify(request, space, buffer_accesses)
        return buffer_accesses

    def _notify(self, request: _Request, space: str, buffer_accesses: list[BufferAccess]) -> None:
        """Tell the observers of an access."""
        instruction, kind, threads, addresses, width, proxy, values, owners = request
        self.writes += kind != "read"
        access = Access(
            instruction,
            kind,
            space=space,
            threads=threads.indices,
            addresses=addresses,
            width=width,
            proxy=proxy,
            buffer_accesses=buffer_accesses,
            values=values,
            owners=owners,
        )
        for observer in self.observers:
            observer.accessed(access)

    def _of_cluster(self, request: _Request) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The blocks that addresses of a cluster belong to, and the addresses there."""
        rank = (request.addresses >> RANK_SHIFT) - 1
        wrong = (rank < -1) | (rank >= self._cluster)
        if wrong.any():
            fault = f"is outside of the shared memory of the cluster's {self._cluster} blocks"
            if self._cluster == 1:
                fault = "is that of another block of a cluster; this launch has no clusters: pass cluster="
            self._refuse(request, wrong, fault)
        return cluster_places(request.addresses, request.threads.blocks, self._cluster)

    def _in_buffers(self, request: _Request, chosen: NDArray[np.intp] | None) -> list[BufferAccess]:
        instruction, _, threads, addresses, width, *_ = request
        first, last = int(addresses.min()), int(addresses.max())
        buffer = self._recent.get(instruction.line)
        if buffer is None or not buffer.holds(first, last + width):
            number = int(np.searchsorted(self._starts, first, side="right")) - 1
            buffer = self.buffers[max(number, 0)]
        if buffer.holds(first, last + width):
            self._check_writable(request, buffer)
            self._recent[instruction.line] = buffer
            return [BufferAccess(chosen, buffer.data, addresses - buffer.start, threads.indices, buffer)]
        numbers = np.searchsorted(self._starts, addresses, side="right") - 1
        sizes = np.array([allocation.size for allocation in self.buffers], dtype=np.int64)
        outside = numbers < 0
        if len(sizes):
            outside |= addresses - self._starts[numbers] > sizes[numbers] - width
        if outside.any():
            self._refuse(request, outside, self._nearest_buffer(addresses[outside][0]))
        buffer_accesses = []
        for number in np.unique(numbers):
            buffer = self.buffers[number]
            self._check_writable(request, buffer)
            here = np.flatnonzero(numbers == number)
            ours = here if chosen is None else chosen[here]
            offsets = addresses[here] - buffer.start
            buffer_accesses.append(BufferAccess(ours, buffer.data, offsets, threads.indices[here], buffer))
        return buffer_accesses

    # -- messages --------------------------------------------------------------------------------------------

    def _check_writable(self, request: _Request, buffer: SimulatedBuffer) -> None:
        if request.kind == "read" or buffer.writable:
            return
        instruction, threads = request.instruction, request.threads
        sentence = f"{instruction.where}: {instruction.opcode} writes to {buffer.title}, which is read-only"
        if buffer.space == "global":  # an array of the caller
            raise PtxlabError(sentence)
        violation = Violation("undefined behaviour", instruction, threads.indices, sentence)
        raise HazardError(sentence, hazard_of(threads.batch, violation))

    def _nearest_buffer(self, address: int) -> str:
        """Where an address that belongs to no buffer lies, in words."""
        ends = [(abs(address - buffer.start - buffer.size), buffer) for buffer in self.buffers]
        ends += [(abs(buffer.start - address), buffer) for buffer in self.buffers]
        if not ends or address < 1 << 16:
            if self.is_parameter(address):
                return "is the address of a parameter in its own space; cvta.param makes it a generic one"
            if address == 0 and self.heap.was_full:
                return (
                    f"is a null pointer; malloc has returned null, as its heap of {self.heap.size} bytes was "
                    "full: pass more as heap="
                )
            return "is a null pointer" if address == 0 else "belongs to no array"
        distance, buffer = min(ends, key=lambda pair: pair[0])
        if distance > 1 << 20:
            return "belongs to no array"
        offset = int(address) - buffer.start
        if offset < 0:
            return f"is {-offset} bytes before {buffer.title} begins"
        return f"is byte {offset} of {buffer.title}, {buffer.size} bytes long"

    def _refuse(
        self, request: _Request, wrong: NDArray[np.bool_], why: str, kind: str = "out of bounds"
    ) -> NoReturn:
        instruction, threads, width = request.instruction, request.threads, request.width
        first = int(np.flatnonzero(wrong)[0])
        thread = threads.batch.name(int(threads.indices[first]))
        start = int(request.addresses[first])
        verb = {"read": "reads", "write": "writes"}.get(request.kind, "updates")
        sentence = (
            f"{instruction.where}: {instruction.opcode}: {thread} {verb} {width} bytes at "
            f"0x{start:x}, which {why}"
        )
        addresses = (start, start + width - 1)
        violation = Violation(kind, instruction, threads.indices[wrong], sentence, addresses=addresses)
        raise HazardError(sentence, hazard_of(threads.batch, violation))


def _rows(data: NDArray[np.uint8], offsets: NDArray[np.int64], bits: int, count: int) -> list[NDArray[Any]]:
    """Neighbouring elements at each offset, one array for each."""
    width = bits // 8 * count
    view = data[: data.size - data.size % width].view(UNSIGNED[bits])
    if count == 1:
        return [view[offsets // width]]
    if width == CHUNK.itemsize:
        rows = view.view(CHUNK)[offsets >> 4].view(view.dtype).reshape(-1, count)
    else:
        rows = view.reshape(-1, count)[offsets // width]
    return [np.ascontiguousarray(rows[:, column]) for column in range(count)]


def _distinct(places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct places, sorted, and the index of each place among them."""
    steps = np.diff(places)
    if (steps < 0).any():
        return np.unique(places, return_inverse=True)
    fresh = np.concatenate(([True], steps > 0))
    return places[fresh], np.cumsum(fresh) - 1


def rounds(places: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Indices in rounds: within a round all places differ; equal places take rounds in their order.

    >>> [indices.tolist() for indices in rounds(np.array([4, 4, 0, 4]))]
    [[0, 2], [1], [3]]
    """
    if len(places) == 0:
        return []
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if fresh.all():
        return [np.arange(len(places))]
    starts = np.flatnonzero(fresh)
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(starts, append=len(places)))
    by_rank = np.argsort(rank, kind="stable")
    edges = np.cumsum(np.bincount(rank))[:-1]
    return [np.sort(part) for part in np.split(order[by_rank], edges)]


def serialised(combine: Callable[[NDArray[Any], NDArray[np.intp]], NDArray[Any]]) -> AtomicUpdate:
    """An update in which threads with equal addresses follow each other.

    `combine` takes old values and the indices of their threads, and returns the new values.
    """

    def change(
        words: NDArray[Any], which: NDArray[np.intp], ours: NDArray[np.intp]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        words, previous = words.copy(), np.empty(len(which), dtype=words.dtype)
        for indices in rounds(which):
            previous[indices] = words[which[indices]]
            words[which[indices]] = combine(previous[indices], ours[indices])
        return words, previous

    return change


def atomic_add(terms: NDArray[Any]) -> AtomicUpdate:
    """An addition of integers: each thread reads the sum before its own term, without rounds."""

    def change(
        words: NDArray[Any], which: NDArray[np.intp], ours: NDArray[np.intp]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        order = np.argsort(which, kind="stable")
        ordered = terms[ours][order]
        before = np.cumsum(ordered, dtype=words.dtype) - ordered
        first = np.flatnonzero(np.diff(which[order], prepend=-1))
        before -= np.repeat(before[first], np.diff(first, append=len(order)))
        previous = np.empty_like(before)
        previous[order] = before + words[which[order]]
        words = words.copy()
        np.add.at(words, which, terms[ours])
        return words, previous

    return change


# -- tensor memory of the blocks of a launch -----------------------------------------------------------------

#: Columns are allocated in multiples of this.
ALLOCATION_UNIT = 32


class TensorMemory:
    """Tensor memory of the blocks of a batch: words [blocks, 128, 512], and which columns are allocated.

    >>> memory = TensorMemory(blocks=2)
    >>> memory.allocate(0, 64), memory.allocate(0, 32), memory.allocate(1, 128)
    (0, 64, 0)
    """

    def __init__(self, blocks: int) -> None:
        self.words = np.zeros((blocks, LANES, COLUMNS), dtype=np.uint32)
        self.taken = np.zeros((blocks, COLUMNS // ALLOCATION_UNIT), dtype=np.bool_)

    def allocate(self, block: int, columns: int, exclusive: bool = False) -> int | None:
        """The first of `columns` adjacent columns that are free, or None if there are none.

        An exclusive allocation is the only one.
        """
        units = columns // ALLOCATION_UNIT
        if exclusive and self.taken[block].any():
            return None
        for first in range(0, COLUMNS // ALLOCATION_UNIT - units + 1, units):
            if not self.taken[block, first : first + units].any():
                self.taken[block, first : first + units] = True
                return first * ALLOCATION_UNIT
        return None
