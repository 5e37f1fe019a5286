"""The threads of a batch of blocks, and sets of them that execute together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bits of a register -> its type in NumPy.
UNSIGNED: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.bool_),
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
    128: np.dtype([("low", np.uint64), ("high", np.uint64)]),
}


@dataclass(frozen=True)
class LaunchGrid:
    """Blocks of a launch, threads of a block, blocks of a cluster along x, y, z; dynamic shared memory.

    The lanes of a block are rounded up to a multiple of `unit`: 32, or 128 for kernels with warpgroups.
    """

    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    shared: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    unit: int = 32

    @property
    def block_count(self) -> int:
        """Blocks of the launch."""
        x, y, z = self.blocks
        return x * y * z

    @property
    def block_size(self) -> int:
        """Threads of a block."""
        x, y, z = self.threads
        return x * y * z

    @property
    def cluster_size(self) -> int:
        """Blocks of a cluster."""
        x, y, z = self.cluster
        return x * y * z

    def block_numbers(self, first: int, last: int) -> NDArray[np.int64]:
        """Blocks first to last - 1 in the order in which they run: cluster by cluster, in each by rank.

        >>> LaunchGrid((4, 2, 1), (32, 1, 1), cluster=(2, 2, 1)).block_numbers(0, 8)
        array([0, 1, 4, 5, 2, 3, 6, 7])
        """
        places = np.arange(first, last, dtype=np.int64)
        if self.cluster_size == 1:
            return places
        cluster, rank = np.divmod(places, self.cluster_size)
        (cx, cy, cz), (bx, by, _) = self.cluster, self.blocks
        x = cluster % (bx // cx) * cx + rank % cx
        y = cluster // (bx // cx) % (by // cy) * cy + rank // cx % cy
        z = cluster // (bx // cx * (by // cy)) * cz + rank // (cx * cy)
        return np.asarray((z * by + y) * bx + x)

    @property
    def warps(self) -> int:
        """Warps of a block; the last may have lanes without a thread."""
        return -(-self.block_size // 32)

    @property
    def lanes(self) -> int:
        """Lanes of a block, with and without a thread."""
        return -(-self.block_size // self.unit) * self.unit

    def block_of(self, number: int) -> tuple[int, int, int]:
        """Coordinates of a block from its number."""
        x, y, _ = self.blocks
        return number % x, number // x % y, number // (x * y)

    def thread_of(self, number: int) -> tuple[int, int, int]:
        """Coordinates of a thread from its number in its block."""
        x, y, _ = self.threads
        return number % x, number // x % y, number // (x * y)


class Batch:
    """Blocks that run together, by their numbers; registers are arrays over their lanes.

    Lane t of the batch is lane t % 32 of warp t // 32; blocks follow each other, each in whole warps (or
    warpgroups), and the blocks of a cluster stand together.
    """

    def __init__(self, grid: LaunchGrid, numbers: NDArray[np.int64]) -> None:
        count = len(numbers)
        self.grid = grid
        self.numbers = numbers
        self.count = count
        self.block_lanes = grid.lanes
        self.size = count * self.block_lanes
        self.valid: NDArray[np.bool_] = np.tile(np.arange(self.block_lanes) < grid.block_size, count)
        self.is_full = grid.block_size == self.block_lanes
        self.alive = self.valid.copy()
        self._constants: dict[tuple[int, str], NDArray[Any]] = {}
        self.first_lanes: dict[int, Threads] = {}  # of all warps, by their number in a warp

    @cached_property
    def block(self) -> NDArray[np.int64]:
        """Each lane's block, counted in the batch."""
        return np.repeat(np.arange(self.count, dtype=np.int64), self.block_lanes)

    @cached_property
    def everyone(self) -> NDArray[np.int64]:
        """The indices of all lanes."""
        return np.arange(self.size, dtype=np.int64)

    @cached_property
    def within(self) -> NDArray[np.int64]:
        """Each lane's number in its block."""
        return np.tile(np.arange(self.block_lanes, dtype=np.int64), self.count)

    @cached_property
    def lane(self) -> NDArray[np.int64]:
        """Each lane's number in its warp."""
        return np.tile(np.arange(32, dtype=np.int64), self.size // 32)

    def constant(self, value: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array over all lanes with this value; it is shared and read-only."""
        key = (value, dtype.char)
        if key not in self._constants:
            array = np.full(self.size, value, dtype=dtype)
            array.flags.writeable = False
            self._constants[key] = array
        return self._constants[key]

    def all(self) -> Threads:
        """All threads of the batch."""
        if self.is_full:
            return Threads(self, None)
        return Threads(self, np.flatnonzero(self.valid))

    def name(self, thread: int) -> str:
        """What messages call a thread."""
        block = self.grid.block_of(int(self.numbers[thread // self.block_lanes]))
        return f"thread {self.grid.thread_of(thread % self.block_lanes)} of block {block}"


class Threads:
    """Threads that execute together: sorted indices into the batch, or None for all of it."""

    def __init__(self, batch: Batch, index: NDArray[np.signedinteger] | None) -> None:
        self.batch = batch
        if index is not None and batch.is_full and len(index) == batch.size:
            index = None
        # 64 bits everywhere, also where NumPy's own indices have 32: times are added to them.
        self.index = None if index is None else np.asarray(index, dtype=np.int64)
        self.count: int = batch.size if index is None else len(index)
        self._whole: dict[int, bool] = {}
        self._whole_alive = -1

    @classmethod
    def listed(cls, batch: Batch, index: NDArray[np.signedinteger]) -> Threads:
        """Threads in this order; a thread may occur several times."""
        threads = cls(batch, index)
        threads.index = np.asarray(index, dtype=np.int64)  # even if there are as many as in the batch
        return threads

    def take(self, array: NDArray[Any]) -> NDArray[Any]:
        """The elements of an array over the batch that belong to these threads."""
        return array if self.index is None else array[self.index]

    def put(self, array: NDArray[Any], values: NDArray[Any]) -> None:
        """Set the elements of an array over the batch that belong to these threads."""
        array[slice(None) if self.index is None else self.index] = values

    def constant(self, value: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """A read-only array over these threads with this value."""
        array = self.batch.constant(value, dtype)
        return array if self.index is None else array[: self.count]

    @property
    def indices(self) -> NDArray[np.int64]:
        """Their indices into the batch."""
        return self.batch.everyone if self.index is None else self.index

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The block of each thread, counted in the batch."""
        return self.take(self.batch.block)

    @cached_property
    def warps(self) -> int:
        """How many warps have at least one of them."""
        warps = self.indices >> 5
        return int(np.count_nonzero(warps[1:] != warps[:-1])) + (self.count > 0)

    def where(self, mask: NDArray[np.bool_]) -> Threads:
        """The threads for which the mask, over these threads, is true."""
        return self if mask.all() else Threads(self.batch, self.indices[mask])

    def without(self, others: Threads) -> Threads:
        """These threads without `others`, a subset of them."""
        if not others.count:
            return self
        return Threads(self.batch, np.setdiff1d(self.indices, others.indices, assume_unique=True))

    def first_lanes(self, count: int) -> Threads:
        """The first `count` threads of each warp; the threads must be whole warps."""
        cache = self.batch.first_lanes if self.index is None else {}
        if count not in cache:
            cache[count] = Threads(self.batch, self.indices.reshape(-1, 32)[:, :count].reshape(-1))
        return cache[count]

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of these threads as an array over the batch, 0 elsewhere."""
        if self.index is None:
            return values
        array = np.zeros((self.batch.size, *values.shape[1:]), dtype=values.dtype)
        array[self.index] = values
        return array

    def words(self, mask: NDArray[np.bool_] | None = None) -> NDArray[np.uint32]:
        """For each warp of the batch the bits of its lanes: those present, or those where the mask holds."""
        if mask is None:
            mask = np.ones(self.count, dtype=np.bool_)
        return np.packbits(self.spread(mask), bitorder="little").view("<u4").astype(np.uint32)

    def is_whole(self, lanes: int) -> bool:
        """Whether these are all running threads of their warps (32 lanes) or warpgroups (128)."""
        if self.index is None:
            return True
        living = int(np.count_nonzero(self.batch.alive))
        if self._whole_alive != living:
            self._whole_alive = living
            self._whole = {}
        if lanes not in self._whole:
            present = self.spread(np.ones(self.count, dtype=np.bool_)).reshape(-1, lanes)
            missing = self.batch.alive.reshape(-1, lanes) & ~present
            self._whole[lanes] = not (present.any(axis=1) & missing.any(axis=1)).any()
        return self._whole[lanes]

    def is_same(self, other: Threads) -> bool:
        """Whether these are the same threads, in the same order."""
        if self.index is other.index:
            return True
        return self.index is not None and other.index is not None and np.array_equal(self.index, other.index)

    @staticmethod
    def union(parts: list[Threads]) -> Threads:
        """The union of disjoint sets."""
        if len(parts) == 1:
            return parts[0]
        index = np.sort(np.concatenate([part.indices for part in parts]))
        return Threads(parts[0].batch, index)
