"""Records what the warps of some blocks do that affects their time.

A simulation decides which way warps go; how long that takes is computed afterwards. So this records, for
every warp, the instructions that it executed, and the memory, signals and waits of each. What is approximated
is listed in the docstring of `timing/__init__.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.product_form import ProductForm
from ...memory import TensorMap
from ..events import Access, MatrixInputs, Observer, Synchronisation
from ..launch_threads import Batch, Threads
from ..ptx.syntax import PtxInstruction
from ..traffic import PAST_L1, BankUse, bank_use, least_wavefronts, wavefronts

#: Instructions that are executed again and again until a warp may go on.
_SLEEPING = (("mbarrier", "try_wait"), ("mbarrier", "test_wait"))
#: Instructions that may have a `Touch`.
_TOUCHING = frozenset({
    "atom", "bar", "barrier", "cp", "ld", "ldmatrix", "mbarrier", "red", "st", "stmatrix", "wmma",
})  # fmt: skip
_NOT_YET = -1
_BOX = 1 << 45  # the first number of a box, beyond the numbers of all sectors


@dataclass(slots=True)
class Touch:
    """What one execution of an instruction by a warp accesses, signals and waits for.

    `wavefronts` are those of shared memory; `sectors` are the numbers of sectors of global memory; `signals`
    are the numbers of events that it signals, `waits` of those that it waits for.
    """

    wavefronts: int = 0
    sectors: list[NDArray[np.int64]] = field(default_factory=list)
    bytes: int = 0  # of global memory
    box_bytes: int = 0  # of a bulk copy whose sectors are boxes
    kind: str = ""  # of the access to global memory: "read", "write" or "atomic"
    updates: list[tuple[int, int, int]] = field(default_factory=list)  # sector, lanes, most of them at a word
    cached: bool = False  # whether L1 keeps it
    first: bool = False  # whether L2 evicts it first
    signals: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    visit: int = 0


def map_of_box(key: int) -> int | None:
    """The number of the tensor map that a box belongs to; None for a sector."""
    return (key - _BOX) >> 40 if key >= _BOX else None


class Recorder(Observer):
    """Records what warps do, by their numbers in the launch; `numbers` has those of instructions, by id.

    `streams` has the runs of instructions of each warp; `touches` has, by warp and instruction, the touches
    in the order of execution; `signals` is how many signals each event takes; `forms` are the forms of
    matrix instructions.
    """

    def __init__(
        self,
        numbers: dict[int, int],
        widths: dict[int, int] | None = None,
        counters: Set[int] = frozenset(),
        evicted: Set[int] = frozenset(),
    ) -> None:
        self.numbers = numbers
        self._evicted = evicted  # instructions whose data L2 evicts first
        self._widths = widths or {}  # bytes of joined accesses to shared memory
        self._counters = counters  # instructions that add one there
        self.streams: dict[int, list[list[int]]] = defaultdict(list)
        self.touches: dict[tuple[int, int], list[Touch]] = defaultdict(list)
        self.signals: list[int] = []
        self.forms: dict[int, ProductForm] = {}
        self.maps: list[TensorMap] = []
        self._map_numbers: dict[tuple[Any, ...], int] = {}
        self._events: dict[tuple[Any, ...], int] = {}
        self._phases: dict[tuple[Any, ...], int] = defaultdict(int)
        self._barriers: tuple[NDArray[Any], NDArray[Any]] = (np.zeros(0), np.zeros(0))
        self._tma_threads: NDArray[Any] = np.zeros(0, dtype=np.int64)  # threads that copied last
        #: What `cp.async` has read last: in which visit, which threads, which lines.
        self._sources: tuple[int, NDArray[Any], NDArray[Any]] = -1, np.zeros(0), np.zeros(0)
        self._batch: Batch | None = None
        self._round = self._visit = 0
        self._last: tuple[Threads | None, list[int]] = (None, [])
        self._warps: dict[int, tuple[Threads, list[int]]] = {}

    # -- instructions ----------------------------------------------------------------------------------------

    def begin(self, batch: Batch) -> None:
        """A batch of other blocks starts."""
        self._batch = batch
        self._round += 1
        self._last = (None, [])
        self._warps = {}

    def guarded(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Warps reach an instruction with a guard."""
        if _sleeps(instruction):
            return
        self._reached(instruction, threads)
        if instruction.parts[0] in _TOUCHING:  # some warps may not execute it
            number = self.numbers[id(instruction)]
            for warp in self._warps_of(threads):
                self.touches[warp, number].append(Touch(visit=_NOT_YET))

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Warps execute an instruction; those that sleep at it are recorded when they wake."""
        self._visit += 1
        if instruction.guard is None and not _sleeps(instruction):
            self._reached(instruction, threads)

    def _reached(self, instruction: PtxInstruction, threads: Threads) -> None:
        last, run = self._last
        if last is not threads:
            run = []
            self._last = threads, run
            for warp in self._warps_of(threads):
                self.streams[warp].append(run)
        run.append(self.numbers[id(instruction)])

    def _warps_of(self, threads: Threads) -> list[int]:
        cached = self._warps.get(id(threads))
        if cached is None or cached[0] is not threads:
            cached = threads, self._numbers(np.unique(threads.indices >> 5)).tolist()
            self._warps[id(threads)] = cached
        return cached[1]

    def _numbers(self, warps: NDArray[Any]) -> NDArray[Any]:
        """The numbers in the launch of warps of the batch."""
        batch = self._batch
        if batch is None:
            return warps
        block_warps = batch.block_lanes // 32
        return np.asarray(batch.numbers[warps // block_warps] * batch.grid.warps + warps % block_warps)

    def _touch(self, warp: int, number: int, *, latest: bool = False) -> Touch:
        """The touch of the current execution, or with `latest` of the warp's last execution."""
        touches = self.touches[warp, number]
        if touches and (latest or touches[-1].visit in (_NOT_YET, self._visit)):
            touches[-1].visit = self._visit
        else:
            touches.append(Touch(visit=self._visit))
        return touches[-1]

    def keep(self, warps: Set[int]) -> None:
        """Keep only what these warps did."""
        self.streams = defaultdict(
            list, {key: stream for key, stream in self.streams.items() if key in warps}
        )
        kept = {key: touch for key, touch in self.touches.items() if key[0] in warps}
        self.touches = defaultdict(list, kept)

    # -- memory ----------------------------------------------------------------------------------------------

    def accessed(self, access: Access) -> None:
        """Warps read or write memory, or the counts of mbarriers."""
        instruction, parts = access.instruction, access.instruction.parts
        if "mbarrier" in (access.proxy, access.kind):
            places = access.buffer_accesses[0].offsets if access.buffer_accesses else access.addresses
            self._barriers = access.threads, places
            if access.kind != "read" and "init" not in parts:
                self._signal(self.numbers[id(instruction)], access.threads, places)
            return
        if access.space not in ("shared", "global", "local") or parts[0] in ("wgmma", "tcgen05", "mbarrier"):
            return
        if access.proxy == "async":
            self._tma_threads = access.threads
        number = self.numbers[id(instruction)]
        warps, threads, addresses = access.threads >> 5, access.threads, access.addresses
        if np.any(warps[1:] < warps[:-1]):
            order = np.argsort(warps, kind="stable")
            warps, threads, addresses = warps[order], threads[order], addresses[order]
        starts = np.flatnonzero(np.diff(warps, prepend=-1))
        touches = [self._touch(warp, number) for warp in self._numbers(warps[starts]).tolist()]
        ends = np.append(starts[1:], len(warps))
        if access.space == "shared":
            width = self._widths.get(number, access.width)
            use = bank_use(parts, access.kind, access.proxy, width)
            if number in self._counters:
                use = BankUse("load")  # ATOMS.POPC.INC: lanes that add one to the same word share an access
            taken = self._wavefronts(access, width, use, starts, ends, threads, addresses & -width)
            for touch, count in zip(touches, taken, strict=True):
                touch.wavefronts += count
            return
        if parts[:2] == ("cp", "async"):
            self._sources = self._visit, threads, addresses >> 7
        if access.space == "local":  # words of the lanes are interleaved
            addresses = (addresses >> 2 << 7) + 4 * (threads & 31)
        sectors = np.stack([addresses, addresses + access.width - 1]) >> 5
        loads = parts[0] == "ld" or parts[:2] == ("cp", "async")  # with .ca; .cg goes past L1
        cached = access.kind == "read" and loads and PAST_L1.isdisjoint(parts)
        for touch, first, last in zip(touches, starts.tolist(), ends.tolist(), strict=True):
            touch.sectors.append(np.unique(sectors[:, first:last]))
            touch.bytes += access.width * (last - first)
            touch.kind, touch.cached = access.kind, cached or access.space == "local"
            touch.first = number in self._evicted
            if access.kind == "atomic":
                words, lanes = np.unique(addresses[first:last], return_counts=True)
                for sector in np.unique(words >> 5).tolist():
                    here = lanes[words >> 5 == sector]
                    touch.updates.append((sector, int(here.sum()), int(here.max())))

    def _wavefronts(
        self,
        access: Access,
        width: int,
        use: BankUse | None,
        starts: NDArray[Any],
        ends: NDArray[Any],
        threads: NDArray[Any],
        addresses: NDArray[Any],
    ) -> list[int]:
        """The wavefronts of each warp's access to shared memory."""
        sizes = ends - starts
        if use is None:
            return [least_wavefronts(access.width * int(count)) for count in sizes]
        warp = np.repeat(np.arange(len(starts)), sizes)
        rows, part = np.arange(len(starts)), warp
        if access.instruction.parts[:2] == ("cp", "async") and width < 16:
            # Lines of global memory arrive one after the other, and each is stored on its own.
            pairs, part = np.unique(
                np.stack([warp, self._lines_copied(threads)]), axis=1, return_inverse=True
            )
            rows, part = pairs[0], part.reshape(-1)
        lanes = np.full((len(rows), 32), -1, dtype=np.int64)
        lanes[part, threads & 31] = addresses
        taken = np.zeros(len(starts), dtype=np.int64)
        np.add.at(taken, rows, wavefronts(lanes, width, use)[:, 0])
        return [int(count) for count in taken]

    def _lines_copied(self, threads: NDArray[Any]) -> NDArray[np.int64]:
        """The line that each thread's `cp.async` has just read; -1 if it reads nothing."""
        visit, readers, lines = self._sources
        result = np.full(len(threads), -1, dtype=np.int64)
        if visit == self._visit:
            _, ours, theirs = np.intersect1d(threads, readers, return_indices=True)
            result[ours] = lines[theirs]
        return result

    def copied(
        self, instruction: PtxInstruction, tensor: TensorMap, starts: NDArray[np.int64], kind: str
    ) -> None:
        """Threads copy boxes: those whose access to shared memory came just before."""
        map_number = self._map_numbers.setdefault(_content(tensor), len(self.maps))
        if map_number == len(self.maps):
            self.maps.append(tensor)
        threads = self._tma_threads
        if not len(threads) or len(starts) % len(threads):
            return
        number = self.numbers[id(instruction)]
        size = tensor.array.itemsize * int(np.prod(tensor.copied))
        steps = np.cumprod([1, *tensor.array.shape[:0:-1]])[::-1]
        warps = self._numbers(threads >> 5)
        elements = (starts.reshape(len(threads), -1)[:, -len(steps) :] * steps).sum(axis=1)
        boxes = _BOX + (map_number << 40) + elements
        for warp, box in set(zip(warps.tolist(), boxes.tolist(), strict=True)):
            touch = self._touch(warp, number)
            touch.kind, touch.box_bytes, touch.first = kind, size, number in self._evicted
            if not any((sector == box).any() for sector in touch.sectors):
                touch.sectors.append(np.array([box]))

    # -- events ----------------------------------------------------------------------------------------------

    def _event(self, *key: Any) -> int:
        """The number of an event: a phase of a barrier."""
        number = self._events.setdefault(key, len(self._events))
        if number == len(self.signals):
            self.signals.append(0)
        return number

    def _signal(self, number: int, threads: NDArray[Any], places: NDArray[Any]) -> None:
        """Threads arrive at mbarriers, or expect or complete bytes."""
        for warp, place in self._by_warp(threads, places.tolist()):
            event = self._event("mbarrier", self._round, place, self._phases[self._round, place])
            self._touch(warp, number).signals.append(event)
            self.signals[event] += 1

    def _by_warp(self, threads: NDArray[Any], places: list[int]) -> Iterator[tuple[int, int]]:
        """Warps of the launch and the mbarriers of their threads, each pair once."""
        for warp, place in sorted(set(zip((threads >> 5).tolist(), places, strict=True))):
            yield int(self._numbers(np.array([warp]))[0]), place

    def synchronised(self, event: Synchronisation) -> None:
        """Barriers complete, and threads leave them."""
        kind, instruction = event.kind, event.instruction
        if kind == "mbarrier.phase":
            for place in set(self._mbarriers_of(event.threads)):
                self._phases[self._round, place] += 1
        elif kind == "mbarrier.wait":
            self._woke(instruction, event.threads)
            number = self.numbers[id(instruction)]
            for warp, place in self._by_warp(event.threads, self._mbarriers_of(event.threads)):
                touch = self._touch(warp, number)
                phase = self._phases[self._round, place]
                if phase:
                    touch.waits.append(self._event("mbarrier", self._round, place, phase - 1))
        elif kind == "bar":
            self._barrier(event)
        elif kind.startswith("barrier.cluster"):
            self._cluster(event)

    def _mbarriers_of(self, threads: NDArray[Any]) -> list[int]:
        """The mbarriers that threads have accessed last."""
        accessing, places = self._barriers
        order = np.argsort(accessing, kind="stable")
        positions = order[np.searchsorted(accessing, threads, sorter=order)]
        return [int(place) for place in places[positions]]

    def _woke(self, instruction: PtxInstruction, threads: NDArray[Any]) -> None:
        """Threads go on after an instruction at which they slept."""
        number = self.numbers[id(instruction)]
        self._last = (None, [])
        for warp in self._numbers(np.unique(threads >> 5)).tolist():
            self.streams[warp].append([number])

    def _barrier(self, event: Synchronisation) -> None:
        """Warps arrive at a barrier of their block, or leave it."""
        batch = self._batch
        if batch is None:
            return
        number = self.numbers[id(event.instruction)]
        warps = np.unique(event.threads >> 5)
        blocks = warps // (batch.block_lanes // 32)
        for warp, block in zip(self._numbers(warps).tolist(), blocks.tolist(), strict=True):
            key = "bar", self._round, block, event.key
            phase_event = self._event(*key, self._phases[key])
            if event.completed:
                self._touch(warp, number, latest=True).waits.append(phase_event)
            else:
                self._touch(warp, number).signals.append(phase_event)
                self.signals[phase_event] += 1
        if event.completed:
            for block in set(blocks.tolist()):
                self._phases["bar", self._round, block, event.key] += 1

    def _cluster(self, event: Synchronisation) -> None:
        batch = self._batch
        if batch is None:
            return
        number = self.numbers[id(event.instruction)]
        if event.completed:
            self._woke(event.instruction, event.threads)
        warps = np.unique(event.threads >> 5)
        clusters = warps // (batch.block_lanes // 32) // batch.grid.cluster_size
        for warp, cluster in zip(self._numbers(warps).tolist(), clusters.tolist(), strict=True):
            count = "waits" if event.completed else "arrivals", self._round, warp
            phase_event = self._event("cluster", self._round, cluster, self._phases[count])
            self._phases[count] += 1
            touch = self._touch(warp, number)
            if event.completed:
                touch.waits.append(phase_event)
            else:
                touch.signals.append(phase_event)
                self.signals[phase_event] += 1

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Warps execute a matrix instruction."""
        self.forms[self.numbers[id(instruction)]] = operands.ins


def _content(tensor: TensorMap) -> tuple[Any, ...]:
    """What tells tensor maps apart: blocks that make a map in their own memory may make the same one."""
    array = tensor.array
    if not isinstance(array, np.ndarray):
        return (id(tensor),)
    return array.__array_interface__["data"][0], array.shape, array.strides, tensor.box


def _sleeps(instruction: PtxInstruction) -> bool:
    return instruction.parts[:2] in _SLEEPING or instruction.parts[:3] == ("barrier", "cluster", "wait")
