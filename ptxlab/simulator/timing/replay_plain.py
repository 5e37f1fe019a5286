"""The replay in plain Python: in which cycle each warp issues each instruction.

This is the rule. `replay.py` computes it with arrays, so that numba can compile it, and adds up what warps
wait for. A warp issues in order. Its next instruction waits for what the machine code says (a number of
cycles, scoreboards), for events that other warps signal, and for room: in its unit, in a queue to memory, in
the issue slot of its sub-partition. What it takes of units and memory, it takes when it is issued. What is
approximated is listed in the docstring of `timing/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from .replay import (
    BULK,
    BULK_COPIES,
    BULK_STORE,
    COMMIT,
    COPIES,
    COPY,
    COPY_WRITTEN,
    EVENT,
    KEPT_GROUPS,
    LOAD,
    MEMORY,
    MEMORY_INTERVAL,
    PRODUCTS,
    READS,
    READS_AFTER_WAVEFRONTS,
    SCOREBOARDS,
    SECTORS_PER_CYCLE,
    SHARED,
    STORE,
    STORES_END,
    UNITS,
    WAIT,
    WGMMA,
    WGMMA_WRITTEN,
    Rates,
    TimedInstruction,
)
from .stalls import BARRIER  # fmt: skip


class PlainTouch(NamedTuple):
    """An access to memory and what it takes there, or an arrival or wait; events are numbers."""

    wavefronts: float = 1.0
    sectors: float = 0.0
    l2: float = 0.0  # cycles
    dram: float = 0.0  # sectors
    source: int = -1  # the touch that fetches what this one finds in L1
    signals: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()


@dataclass
class Warp:
    """A warp; `steps` are those before it, each an instruction and the number of its touch, or -1."""

    slot: int
    steps: list[tuple[TimedInstruction, int]]
    ready: float  # when it may issue, as far as the instruction before is concerned
    boards: list[float] = field(default_factory=lambda: [0.0] * SCOREBOARDS)  # until when they are set
    awaited: tuple[int, ...] = ()
    event_latency: float = 0.0
    #: Of copies, products and bulk copies: when those without a group end, and when each group ends.
    open: list[float] = field(default_factory=lambda: [0.0] * 3)
    groups: list[list[float]] = field(default_factory=lambda: [[], [], []])
    groups_until: float = 0.0
    stored: float = 0.0  # when its stores have left the SM


@dataclass
class Cluster:
    """A cluster that runs: its warps by SM, and how many signals its events wait for."""

    blocks: list[list[Warp]]
    missing: list[int]
    happened: list[float]


class SubPartition:
    """A sub-partition: until when units, products of wgmma and the issue slot are taken; its two queues."""

    def __init__(self, rates: Rates) -> None:
        self.units = [0.0] * len(UNITS)
        self.products = self.issue = 0.0
        self.last = -1  # the slot that issued last
        self.queues = [0.0] * int(rates.queue), [0.0] * int(rates.load_queue)  # when entries leave

    def queue(self, kind: int) -> list[float]:
        return self.queues[kind in (LOAD, STORE, COPY)]


class Sm:
    """Until when what its sub-partitions share is taken."""

    def __init__(self, rates: Rates) -> None:
        self.parts = [SubPartition(rates) for _ in range(4)]
        self.shared = self.l1 = self.tma = self.l2 = self.dram = self.stores = 0.0


class Candidate(NamedTuple):
    """A warp that may issue: when, and since when it waits for others, 0 for the one that issued last."""

    time: float
    rank: int  # of its SM in the cluster
    number: int  # of its sub-partition
    since: float
    warp: Warp
    part: SubPartition
    sm: Sm
    cluster: Cluster

    @property
    def order(self) -> tuple[float, int, int, float, int]:
        """The earliest issues first; in a sub-partition the last one again, then who waits longest."""
        return self.time, self.rank, self.number, self.since, self.warp.slot


class Replay:
    """Clusters of a sample, [clusters][blocks][warps][steps], repeated in turn until `total` have run."""

    def __init__(
        self,
        sample: Sequence[Sequence[Sequence[list[tuple[TimedInstruction, int]]]]],
        touches: Sequence[PlainTouch],
        events: Sequence[int],
        rates: Rates,
        resident: int,
        total: int,
    ) -> None:
        self.sample, self.touches, self.events, self.rates, self.total = sample, touches, events, rates, total
        self.sms = [Sm(rates) for _ in sample[0]]
        self.places: list[Cluster | None] = [None] * resident
        self.free = [0.0] * resident  # when a place may take its next cluster
        self.begun = 0
        self.next_start = self.drained = 0.0
        self.fetched: dict[int, float] = {}  # when L1 has what a touch fetches
        self.random = 1

    def run(self) -> tuple[float, list[tuple[float, int, int]]]:
        """The cycle in which all is done, -1 if no warp can go on; time and slot of each instruction."""
        issued: list[tuple[float, int, int]] = []
        self.start_clusters()
        while any(self.places):
            first = min(self.candidates(), key=lambda candidate: candidate.order)
            if first.time == inf:
                return -1.0, issued
            issued.append((first.time, first.rank, first.warp.slot))
            self.issue(first)
            if not any(warp.steps for block in first.cluster.blocks for warp in block):
                place = self.places.index(first.cluster)
                self.places[place], self.free[place] = None, first.time + self.rates.block_end
                self.start_clusters()
        return max(issued[-1][0], self.drained), issued

    def start_clusters(self) -> None:
        """Places that are free take the next clusters, one after the other."""
        for place, cluster in enumerate(self.places):
            if cluster is None and self.begun < self.total:
                self.next_start = max(self.next_start, self.free[place])
                blocks = self.sample[self.begun % len(self.sample)]
                self.places[place] = Cluster(
                    [
                        [
                            Warp(place * len(block) + i, list(steps), self.next_start)
                            for i, steps in enumerate(block)
                        ]
                        for block in blocks
                    ],
                    list(self.events),
                    [0.0] * len(self.events),
                )
                self.begun += 1
                self.next_start += self.rates.block_start

    def candidates(self) -> Iterator[Candidate]:
        """Every warp that has something to issue."""
        for cluster in filter(None, self.places):
            for rank, block in enumerate(cluster.blocks):
                for warp in filter(lambda candidate: candidate.steps, block):
                    sm, number = self.sms[rank], warp.slot % 4
                    part = sm.parts[number]
                    ready = self.ready(warp, cluster)
                    time = max(self.room(ready, warp.steps[0][0], part), part.issue)
                    since = 0.0 if part.last == warp.slot else ready
                    yield Candidate(time, rank, number, since, warp, part, sm, cluster)

    def ready(self, warp: Warp, cluster: Cluster) -> float:
        """When a warp's next instruction has all that it waits for."""
        instruction, _ = warp.steps[0]
        times = [warp.ready, warp.groups_until]
        for event in warp.awaited:
            happened = inf if cluster.missing[event] > 0 else cluster.happened[event]
            times.append(happened + warp.event_latency)
        times += [until for number, until in enumerate(warp.boards) if instruction.waits >> number & 1]
        if len(warp.steps) == 1:  # the last one
            times.append(warp.stored)
        return max(times)

    def room(self, time: float, instruction: TimedInstruction, part: SubPartition) -> float:
        """From then on, when its unit and queue have room for it."""
        kind, unit = instruction.kind, instruction.unit
        time = max(time, part.units[unit] - (self.rates.products_queue if kind == WGMMA else 0))
        if unit == MEMORY:
            time = max(time, part.queue(kind)[0])
        if kind != WGMMA and instruction.interval > 0 and part.products > time:
            time += self.rates.dispatch  # wgmma writes registers
        return time

    def issue(self, candidate: Candidate) -> None:
        """A warp issues its next instruction."""
        now, warp, part, sm = candidate.time, candidate.warp, candidate.part, candidate.sm
        instruction, number = warp.steps.pop(0)
        touch = self.touches[number] if number >= 0 else None
        kind, unit, group = instruction.kind, instruction.unit, instruction.group
        part.last, part.issue = warp.slot, now + self.rates.issue
        warp.ready = now + max(1.0, instruction.stall)
        warp.awaited, warp.groups_until = (), 0.0
        leaves, read = now, now + READS  # its queue; its operands are read
        written = signal = now + instruction.latency
        part.units[unit] = max(now, part.units[unit]) + (
            MEMORY_INTERVAL if unit == MEMORY else instruction.interval
        )
        if kind == SHARED:
            wavefronts = touch.wavefronts if touch else 1.0
            leaves = max(now, sm.shared)
            sm.shared = leaves + wavefronts
            sm.l1 = max(sm.l1, sm.shared)
            written = sm.shared - 1 + instruction.latency  # the latency is that of its first wavefront
            read = sm.shared + READS_AFTER_WAVEFRONTS
        elif kind == WGMMA:
            part.products = part.units[unit]
            sm.shared = max(now, sm.shared) + instruction.amount
            ends = part.products - instruction.interval + instruction.latency
            warp.open[PRODUCTS] = max(warp.open[PRODUCTS], ends)
            written = now + WGMMA_WRITTEN
        elif kind == COMMIT:
            warp.groups[group].append(max(now, warp.open[group]))
        elif kind == WAIT:
            left = int(instruction.amount)
            ended = warp.groups[group][-KEPT_GROUPS:]
            ended = ended[: max(len(ended) - max(left, 0), 0)]
            warp.groups_until = max([0.0, *ended, *([warp.open[group]] if left < 0 else [])])
        elif kind == EVENT:
            if touch and touch.waits:
                warp.awaited = touch.waits
                warp.event_latency = self.rates.barrier if group == BARRIER else self.rates.mbarrier
            if instruction.amount > 0:  # it arrives when its copies are complete
                signal = max(now, warp.open[COPIES])
        elif touch and kind in (LOAD, STORE, COPY, BULK, BULK_STORE):
            leaves, written = self.access(now, instruction, number, sm)
            read = sm.l1 + READS_AFTER_WAVEFRONTS
            if kind in (STORE, BULK_STORE):
                self.drained = max(self.drained, written)
                sm.stores = max(leaves, sm.stores) + touch.l2 * self.rates.l2
                warp.stored = max(warp.stored, sm.stores + STORES_END)
            if kind in (COPY, BULK, BULK_STORE):  # through shared memory, while the warp goes on
                cycles = touch.wavefronts if kind == COPY else touch.sectors / SECTORS_PER_CYCLE
                sm.shared = max(now, sm.shared) + cycles
                signal, written = max(written, sm.shared), now + COPY_WRITTEN
                copies = COPIES if kind == COPY else BULK_COPIES
                warp.open[copies] = max(warp.open[copies], signal)
        if unit == MEMORY:
            queue = part.queue(kind)
            queue[:] = [*queue[1:], leaves]
        for board, until in ((instruction.writes, written), (instruction.reads, read)):
            if board < SCOREBOARDS:
                warp.boards[board] = max(warp.boards[board], until)
        if touch:
            cluster = candidate.cluster
            for event in touch.signals:
                cluster.missing[event] -= 1
                cluster.happened[event] = max(cluster.happened[event], signal)

    def access(self, now: float, instruction: TimedInstruction, number: int, sm: Sm) -> tuple[float, float]:
        """An access to global memory: when it leaves its queue, and when it is complete."""
        touch, rates, kind = self.touches[number], self.rates, instruction.kind
        if kind in (BULK, BULK_STORE):
            start = max(now, sm.tma)
            sm.tma = start + touch.sectors * (rates.tma_load if kind == BULK else rates.tma_store)
        else:
            start = max(now, sm.l1)
            sm.l1 = start + max(1.0, touch.sectors / SECTORS_PER_CYCLE)
        complete = start + touch.sectors / SECTORS_PER_CYCLE + instruction.latency
        if touch.l2 > 0:
            self.random = (self.random * 1103515245 + 12345) % 2147483648
            spread = self.random / 1073741824.0 - 1  # latencies vary
            begin = max(start, sm.l2)
            sm.l2 = begin + touch.l2 * rates.l2
            latency = rates.bulk_latency if kind == BULK else rates.l2_latency
            complete = sm.l2 + latency * (1 + rates.l2_spread * spread)
            if touch.dram > 0:
                sm.dram = max(begin, sm.dram) + touch.dram * 32 / rates.dram
                longer = (
                    rates.dram_latency - rates.l2_latency + rates.dram_latency * rates.dram_spread * spread
                )
                complete = max(complete + longer, sm.dram + latency + longer)
            self.fetched[number] = complete
        return start, max(complete, self.fetched.get(touch.source, 0.0))
