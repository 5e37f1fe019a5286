"""What a simulated kernel moves and multiplies: bank conflicts, sectors, bytes, multiply-adds by instruction.

Warps of different blocks mostly access shared memory in the same pattern, so each pattern is counted once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..memory import Im2colMap, TensorMap
from ..memory.banks import ATOMIC_WIDTHS, WIDTHS, AccessKind, serve
from .events import Access, MatrixInputs, Observer, SimulatedBuffer
from .launch_threads import Threads
from .ptx.syntax import PtxInstruction

#: Bytes of a sector: what global memory, L2 and L1 move at least.
SECTOR = 32
_MAX_CACHED = 256  # accesses whose addresses are kept
#: Qualifiers of loads that bypass L1, as all stores, atomic operations and asynchronous copies do.
PAST_L1 = frozenset({"cg", "cv", "volatile", "relaxed", "acquire", "mmio", "L1::no_allocate"})
_READ, _WRITTEN, _READ_FIRST, _CACHED = 1, 2, 4, 8  # what happened to a sector


@dataclass(slots=True, kw_only=True)
class Moved:
    """What one instruction moved and multiplied, over all warps that executed it.

    `accesses` are warp-wide ones to shared memory that took `wavefronts` where `least` would do; `requests`
    are warp-wide ones to global memory that touched `sectors` of 32 bytes. `bytes` are by space and kind.
    """

    accesses: int = 0
    wavefronts: int = 0
    least: int = 0
    requests: int = 0
    sectors: int = 0
    sectors_past_l1: int = 0
    multiply_adds: int = 0
    operand_type: str = ""  # of A of a matrix instruction, e.g. "f16"
    accumulator: str = ""
    sparse: bool = False
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the least."""
        return self.wavefronts - self.least

    def include(self, other: Moved) -> None:
        """Add what another instruction moved, or the same in other blocks."""
        for counter in fields(Moved):
            mine, its = getattr(self, counter.name), getattr(other, counter.name)
            setattr(self, counter.name, mine or its if isinstance(mine, str | bool) else mine + its)


@dataclass(frozen=True)
class Footprint:
    """Different bytes of global memory that a launch touched, in sectors.

    `read` counts what was read before the kernel wrote it, `cached` what was read through L1.
    """

    read: int = 0
    written: int = 0
    cached: int = 0


@dataclass
class Touched:
    """What happened to every sector of each array, and to the boxes of each tensor map."""

    marks: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    boxes: dict[tuple[int, tuple[int, ...], str], int] = field(default_factory=dict)

    def update(self, other: Touched) -> None:
        """Add what happened in other blocks."""
        for number, marks in other.marks.items():
            earlier = self.marks.get(number)
            self.marks[number] = marks if earlier is None else earlier | marks
        self.boxes |= other.boxes

    @property
    def footprint(self) -> Footprint:
        """How many sectors that is."""
        marks = np.concatenate([*self.marks.values(), np.zeros(1, dtype=np.uint8)])
        boxes = Counter[str]()
        for (_, _, kind), sectors in self.boxes.items():
            boxes[kind] += sectors
        return Footprint(
            read=int(np.count_nonzero(marks & _READ_FIRST)) + boxes["read"],
            written=int(np.count_nonzero(marks & _WRITTEN)) + boxes["write"],
            cached=int(np.count_nonzero(marks & _CACHED)),
        )


@dataclass(slots=True)
class _CountedAccess:
    """An access to shared memory of some threads, and its wavefronts."""

    threads: NDArray[Any]
    addresses: NDArray[np.int64]
    counts: tuple[int, int, int]  # accesses, wavefronts, the least possible

    def is_like(self, access: Access) -> bool:
        """Whether the same threads access the same addresses."""
        same = self.threads is access.threads or np.array_equal(self.threads, access.threads)
        return same and (
            self.addresses is access.addresses or np.array_equal(self.addresses, access.addresses)
        )


@cache
def _marks_after(kind: str, past_l1: bool) -> NDArray[np.uint8]:
    """The marks of a sector after an access, by its marks before."""
    marks = np.arange(2 * _CACHED, dtype=np.uint8)
    if kind != "write":
        marks |= np.where(marks & _WRITTEN, _READ, _READ | _READ_FIRST).astype(np.uint8)
    if kind != "read":
        marks |= np.uint8(_WRITTEN)
    if not past_l1:
        marks |= np.uint8(_CACHED)
    return marks


def _elements(tensor: TensorMap, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many elements of each box lie inside of the array."""
    if isinstance(tensor, Im2colMap):
        return np.array([tensor.inside(tuple(start)) for start in starts.tolist()], dtype=np.int64)
    counts = np.ones(len(starts), dtype=np.int64)
    for first, size, step, length in zip(
        starts.T, tensor.copied, tensor.element_strides, tensor.array.shape, strict=True
    ):
        before, inside = -(first // step), -((first - length) // step)
        counts *= np.clip(inside, 0, size) - np.clip(before, 0, size)
    return counts


# -- banks of shared memory: how an instruction's access goes through them -----------------------------------

_WAVEFRONT = 128  # bytes of shared memory


class BankUse(NamedTuple):
    """How lanes are served, and the cycles that each wavefront keeps its banks."""

    kind: AccessKind
    cycles: int = 1


def bank_use(parts: tuple[str, ...], kind: str, proxy: str, width: int) -> BankUse | None:
    """How an access of `width` bytes a lane is served; None if that is not known, as for bulk copies.

    `parts` are those of the opcode; `kind` is "read", "write" or "atomic", as in `events.Access`. It is an
    assumption that cp.async of 4 and 8 bytes is served as a store.

    >>> bank_use(("atom", "shared", "cas", "b32"), "atomic", "generic", 4)
    BankUse(kind='atomic', cycles=2)
    """
    if proxy != "generic" or width not in WIDTHS or parts[0] == "wmma":
        return None
    if kind == "atomic":
        if width not in ATOMIC_WIDTHS:
            return None
        return BankUse("atomic", 2 if "cas" in parts else 1)
    if parts[:2] == ("cp", "async") and width == 16:
        return BankUse("atomic")
    # ldmatrix is served in groups of 8 rows, as a store of 16 bytes is
    return BankUse("load" if kind == "read" and parts[0] != "ldmatrix" else "store")


def wavefronts(addresses: NDArray[np.int64], width: int, use: BankUse) -> NDArray[np.int64]:
    """Wavefronts of each warp's access, and the least, [warps, 2]; the address of an inactive lane is -1."""
    taken = serve(np.maximum(addresses, 0) & ((1 << 18) - 1), width, use.kind, addresses >= 0)
    return use.cycles * np.stack([np.atleast_1d(taken.wavefronts), np.atleast_1d(taken.least)], axis=-1)


def least_wavefronts(size: int) -> int:
    """The fewest wavefronts that move `size` bytes, which is what accesses without a `BankUse` count."""
    return -(-size // _WAVEFRONT)


# -- what is counted while a kernel runs ---------------------------------------------------------------------


class Traffic(Observer):
    """Counts what instructions move and multiply; `watch` says where the arrays are."""

    def __init__(self) -> None:
        self.moved: dict[int, Moved] = {}  # by id of the instruction
        self._buffers: Sequence[SimulatedBuffer] = ()
        self._starts: list[int] = []  # addresses of buffers
        self._maps: Sequence[TensorMap] = ()
        self.touched = Touched()
        self._patterns: dict[tuple[int, BankUse, int], tuple[int, int]] = {}
        #: Counted accesses, by instruction and first address; loops mostly repeat the same.
        self._cached: dict[tuple[int, int], _CountedAccess] = {}
        rng = np.random.default_rng(32)
        self._weights = rng.integers(1, 1 << 62, 32, dtype=np.int64) | 1

    def watch(self, buffers: Sequence[SimulatedBuffer], maps: Sequence[TensorMap]) -> None:
        """Set the arrays and tensor maps of the launch."""
        self._buffers = sorted(buffers, key=lambda buffer: buffer.start)
        self._starts = [buffer.start for buffer in self._buffers]
        self._maps = maps

    def of(self, instruction: PtxInstruction) -> Moved:
        """What an instruction has moved so far."""
        entry = self.moved.get(id(instruction))
        if entry is None:
            entry = self.moved[id(instruction)] = Moved()
        return entry

    # -- memory ----------------------------------------------------------------------------------------------

    def accessed(self, access: Access) -> None:
        """Count an access to memory."""
        parts = access.instruction.parts
        space = "param" if "param" in parts else access.space
        entry = self.of(access.instruction)
        entry.bytes[space, access.kind] += access.width * len(access.threads)
        if space == "shared" and access.kind in ("read", "write", "atomic") and parts[0] != "mbarrier":
            use = bank_use(parts, access.kind, access.proxy, access.width)
            if use is not None:
                self._count_banks(entry, access, use)
            else:
                count = least_wavefronts(access.width * len(access.threads))
                entry.wavefronts += count
                entry.least += count
        elif space == "global":
            self._count_sectors(entry, access, parts)

    def _count_banks(self, entry: Moved, access: Access, use: BankUse) -> None:
        """Add the wavefronts of an access to shared memory."""
        key = id(access.instruction), int(access.addresses[0])
        cached = self._cached.get(key)
        counted = cached
        if counted is None or not counted.is_like(access):
            counted = _CountedAccess(access.threads, access.addresses, self._wavefronts(access, use))
            if cached is not None or len(self._cached) < _MAX_CACHED:
                self._cached[key] = counted
        accesses, count, least = counted.counts
        entry.accesses += accesses
        entry.wavefronts += count
        entry.least += least

    def _wavefronts(self, access: Access, use: BankUse) -> tuple[int, int, int]:
        """Accesses of warps, their wavefronts, and the least; a shifted pattern is the same pattern."""
        width = access.width
        rows = self._rows(access.threads, access.addresses)
        low = np.where(rows < 0, np.int64(1) << 40, rows).min(axis=1) & -16
        shifted = np.where(rows < 0, -1, rows - low[:, None])
        keys, first, counts = np.unique(shifted @ self._weights, return_index=True, return_counts=True)
        known = self._patterns
        names = [(width, use, int(key)) for key in keys]
        unknown = [number for number, name in enumerate(names) if name not in known]
        if unknown:
            patterns = shifted[first[unknown]]
            for number, pair in zip(unknown, wavefronts(patterns, width, use).tolist(), strict=True):
                known[names[number]] = pair[0], pair[1]
        totals = np.array([known[name] for name in names]) * counts[:, None]
        count, least = totals.sum(axis=0).tolist()
        return len(shifted), count, least

    @staticmethod
    def _rows(threads: NDArray[Any], addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Addresses by warp and lane, -1 for inactive lanes."""
        if len(threads) % 32 == 0 and threads[0] & 31 == 0 and (np.diff(threads) == 1).all():
            return addresses.reshape(-1, 32)
        warps, places = np.unique(threads >> 5, return_inverse=True)
        rows = np.full((len(warps), 32), -1, dtype=np.int64)
        rows[places, threads & 31] = addresses
        return rows

    def _count_sectors(self, entry: Moved, access: Access, parts: tuple[str, ...]) -> None:
        """Sectors of 32 bytes, each once for every warp that touches it."""
        keys = (access.threads >> 5 << 44) + (access.addresses >> 5)
        if (keys[1:] < keys[:-1]).any():  # neighbours mostly have the same sector, or the next
            keys.sort()
        is_first = np.ones(len(keys), dtype=np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        distinct = keys[is_first]
        sectors = distinct & (1 << 44) - 1
        if access.proxy == "generic":
            entry.sectors += len(sectors)
            entry.requests += int(np.count_nonzero(np.diff(distinct >> 44))) + 1
        past_l1 = access.kind != "read" or parts[0] == "cp" or not PAST_L1.isdisjoint(parts)
        if past_l1:
            entry.sectors_past_l1 += len(sectors)
        self._touch(sectors, access.kind, past_l1)

    def _touch(self, sectors: NDArray[np.int64], kind: str, past_l1: bool) -> None:
        """Mark sectors of the arrays as read or written."""
        after = _marks_after(kind, past_l1)
        lowest, highest = int(sectors.min()), int(sectors.max())
        first, last = (max(bisect_right(self._starts, end << 5) - 1, 0) for end in (lowest, highest))
        numbers = None
        if first != last:
            numbers = np.maximum(np.searchsorted(self._starts, sectors << 5, side="right") - 1, 0)
        for number in [first] if numbers is None else np.unique(numbers).tolist():
            buffer = self._buffers[number]
            if number not in self.touched.marks:
                self.touched.marks[number] = np.zeros(buffer.size // SECTOR + 2, dtype=np.uint8)
            marks, start = self.touched.marks[number], buffer.start >> 5
            places = (sectors if numbers is None else sectors[numbers == number]) - start
            if lowest < start or highest >= start + len(marks):
                places = np.minimum(np.maximum(places, 0), len(marks) - 1)
            marks[places] = after[marks[places]]

    def copied(
        self, instruction: PtxInstruction, tensor: TensorMap, starts: NDArray[np.int64], kind: str
    ) -> None:
        """Count boxes of a tensor map; what lies outside of the array is not moved."""
        counts = tensor.array.itemsize * _elements(tensor, starts)
        entry = self.of(instruction)
        sectors = -(-counts // SECTOR)
        entry.sectors_past_l1 += int(sectors.sum())
        entry.bytes["global", kind] += int(counts.sum())
        number = next((number for number, tensor_map in enumerate(self._maps) if tensor_map is tensor), -1)
        for start, count in zip(starts.tolist(), sectors.tolist(), strict=True):
            self.touched.boxes[number, tuple(start), kind] = count

    # -- arithmetic ------------------------------------------------------------------------------------------

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Count the multiply-adds of a matrix instruction, without those with the zeros of a sparse A."""
        form = operands.ins
        entry = self.of(instruction)
        entry.operand_type, entry.accumulator, entry.sparse = form.a_type, form.d.dtype.name, form.sparse
        depth = form.k // 2 if form.sparse else form.k
        entry.multiply_adds += form.m * form.n * depth * form.mma_count * operands.count
