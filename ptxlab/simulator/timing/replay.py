"""One SM, or those of a cluster, cycle by cycle: which warp issues when, and what the others wait for.

`replay_plain.py` states the rule in plain Python. Here everything is an array, so that numba can compile
`replay` if it is installed; the same functions run without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .stalls import (
    BARRIER,
    DISPATCH_STALL,
    DRAIN,
    FIXED_WAIT,
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    NOT_SELECTED,
    SELECTED,
    SHORT_SCOREBOARD,
    WGMMA_WAIT,
)

# What an instruction does besides taking an issue slot.
PLAIN, SHARED, LOAD, STORE, COPY, BULK, BULK_STORE, WGMMA, COMMIT, WAIT, EVENT, EXIT = range(12)
# Groups that copies and products are committed to.
COPIES, PRODUCTS, BULK_COPIES = range(3)
# Units of a sub-partition, and what all sub-partitions or all SMs share.
FMA, ALU, XU, FP64, TENSOR, UNIFORM, BRANCH, MEMORY, SHARED_MEMORY, L1, L2, DRAM, TMA = range(13)
UNITS = ("FMA", "ALU", "XU", "FP64", "tensor core", "uniform", "branch", "memory")
SERVICES = ("shared memory", "L1", "L2", "DRAM", "TMA")
# What a warp waits for, one after the other: columns of `Warps.until`.
READY, EVENTS, GROUPS, LONG_BOARDS, SHORT_BOARDS, STORES, UNIT, REGISTERS = range(8)
#: The reasons of the waits after the first; some depend on the instruction.
_REASONS = (BARRIER, WGMMA_WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, DRAIN, MATH_PIPE_THROTTLE, DISPATCH_STALL)
# Columns of the history.
WARP, ROW, SINCE, ELIGIBLE, ISSUED, REASON = range(6)
SCOREBOARDS = 6
NO_SCOREBOARD = 7
KEPT_GROUPS = 16  # of which the end is remembered
_NEVER = 1e30

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

# The same for every chip. None was measured by itself: predictions as a whole are compared with launches on
# an H200 (`python -m benchmarks.predict`).

#: Cycles after which an instruction has read its registers: one of its own unit, one of shared memory or L1
#: after its last wavefront.
READS, READS_AFTER_WAVEFRONTS = 12.0, 8
#: Cycles for which an instruction of the memory unit keeps others of its sub-partition from it.
MEMORY_INTERVAL = 2
#: Cycles after which a copy and a wgmma, which go on by themselves, count as done for their scoreboard.
COPY_WRITTEN, WGMMA_WRITTEN = 20, 4
#: Cycles after the last store has left the SM until its warp may end.
STORES_END = 100
#: Sectors of 32 bytes that L1 and shared memory move in a cycle: 128 bytes.
SECTORS_PER_CYCLE = 4


class Rates(NamedTuple):
    """Latencies in cycles, rates in bytes per cycle, and sizes of queues, as an SM sees them."""

    l2_latency: float
    dram_latency: float
    bulk_latency: float
    l2: float  # fraction of the cycles that L2 takes if all SMs are active
    dram: float
    barrier: float  # cycles from the last arrival until warps go on
    mbarrier: float
    block_start: float  # cycles between the starts of two blocks on an SM
    block_end: float  # cycles from the end of a block to the first instruction of its successor
    queue: float  # instructions of a sub-partition that may wait for shared memory
    load_queue: float  # the same for L1
    products_queue: float  # cycles that wgmma may be ahead of the tensor core
    dispatch: float  # cycles that other instructions take longer while wgmma writes registers
    l2_spread: float  # latencies vary by this fraction around the mean
    dram_spread: float
    tma_load: float  # cycles of TMA for a sector that it loads
    tma_store: float  # and for one that it stores
    issue: float = 1.0  # cycles that an instruction occupies its sub-partition's issue slot


class TimedInstruction(NamedTuple):
    """A machine instruction."""

    kind: int
    unit: int = BRANCH
    interval: float = 0  # cycles for which it occupies its unit
    latency: float = 0
    stall: float = 0  # cycles until its warp may issue the next one
    writes: int = NO_SCOREBOARD  # the scoreboard that is set until it has written
    reads: int = NO_SCOREBOARD  # the same until it has read
    waits: int = 0  # a bit for each scoreboard that it waits for
    group: int = 0  # of a commit or wait: COPIES, PRODUCTS, BULK_COPIES; of an event BARRIER, MBARRIER
    #: Groups that a wait leaves, -1 if it waits also for what has no group; cycles of shared memory of wgmma;
    #: 1 for an arrival when copies are complete.
    amount: float = 0
    is_long: bool = False  # whether a wait for it is a long scoreboard stall


class Instructions(NamedTuple):
    """An array for each property of `TimedInstruction`."""

    kind: Integers
    unit: Integers
    interval: Numbers
    latency: Numbers
    stall: Numbers
    writes: Integers
    reads: Integers
    waits: Integers
    group: Integers
    amount: Numbers
    is_long: Integers

    @classmethod
    def of(cls, instructions: Sequence[TimedInstruction]) -> Instructions:
        """Those of a program."""
        return cls(*columns(instructions, *get_type_hints(TimedInstruction).values()))


def columns(rows: Sequence[tuple[float, ...]], *types: type) -> list[NDArray[Any]]:
    """The columns of a table, of floats and integers."""
    values = zip(*rows, strict=True) if rows else [()] * len(types)
    return [
        np.array(column, dtype=np.float64 if kind is float else np.int64)
        for column, kind in zip(values, types, strict=True)
    ]


class Touches(NamedTuple):
    """Accesses to memory, arrivals and waits: an array for each property.

    The events that one signals are `linked[signals:waits]`, those that it waits for `linked[waits:end]`.
    """

    wavefronts: Numbers
    sectors: Numbers
    l2: Numbers  # cycles
    dram: Numbers  # sectors
    source: Integers  # the touch that fetches what it finds in L1; -1 for none
    signals: Integers
    waits: Integers
    end: Integers
    linked: Integers


class SampleSteps(NamedTuple):
    """What the warps of a sample issue: the row and the touch of each step, and the steps of each warp."""

    row: Integers
    touch: Integers  # -1 for none
    first: Integers
    last: Integers  # the one after the last
    events: Integers  # [clusters, events]: how many signals each event takes


class Shape(NamedTuple):
    """Sizes of a launch."""

    warps: int  # of a block
    cluster: int  # blocks
    resident: int  # clusters that run at a time
    samples: int  # clusters of the sample
    total: int  # clusters to run


class ReplayOutcome(NamedTuple):
    """What `replay` fills in."""

    stalls: Numbers  # [instructions, reasons]: cycles of warps
    counts: Numbers  # [instructions]: how often each is issued
    busy: Numbers  # [units and services]: cycles, on the first SM
    history: Numbers  # [rows, 6]: what the first SM issues
    ends: Numbers  # [clusters]: the cycles in which clusters end


class _Warps(NamedTuple):
    """The state of each warp, by its slot."""

    step: Integers
    last: Integers
    ready: Numbers  # when it may issue as far as its last instruction is concerned
    issued: Numbers
    board: Numbers  # [slots, scoreboards]: until when each is set
    is_long: Integers
    blocked: Integers  # the touch whose events it waits for; -1 for none
    blocked_reason: Integers
    group_open: Numbers  # [slots, groups]: when what is not committed yet ends
    group_ends: Numbers  # [slots, groups, KEPT_GROUPS]: when the last ones end, the latest first
    group_count: Integers
    group_until: Numbers  # when the wait for groups ends
    group_reason: Integers
    stored: Numbers  # when its stores have left
    until: Numbers  # [slots, waits]: when each of its waits ends


class _Units(NamedTuple):
    """Until when units, queues and memory are taken: by SM, and by sub-partition."""

    free: Numbers  # [SMs, 4, units]
    issue: Numbers  # [SMs, 4]
    products: Numbers  # [SMs, 4]: of wgmma
    queued: Numbers  # [SMs, 4, 2, entries]: when entries leave the queues of shared memory and L1
    queue_count: Integers
    shared: Numbers
    l1: Numbers
    tma: Numbers
    l2: Numbers
    dram: Numbers
    stores: Numbers  # when all stores so far have left the SM
    drained: Numbers  # when they have arrived
    fetched: Numbers  # by touch: when L1 has what it fetches
    random: Integers  # one number
    greedy: Integers  # [SMs, 4]: the slot that issued last
    next_time: Numbers  # [SMs, 4]: when the next instruction issues; -1 if that is to be computed
    next_slot: Integers


class _Clusters(NamedTuple):
    """The clusters that run, by position."""

    remaining: Integers  # [positions, events]: signals that have not come
    happened: Numbers  # when the last one came
    alive: Integers  # warps
    free: Numbers  # when the position may take its next cluster


def _state(
    shape: Shape, rates: Rates, program: SampleSteps, touches: Touches
) -> tuple[_Warps, _Units, _Clusters]:
    """An SM, or those of a cluster, without blocks."""
    slots, sms, resident = shape.cluster * shape.resident * shape.warps, shape.cluster, shape.resident
    entries = max(int(rates.queue), int(rates.load_queue))

    def integers(*sizes: int, value: int = 0) -> Integers:
        return np.full(sizes, value, dtype=np.int64)

    def numbers(*sizes: int, value: float = 0.0) -> Numbers:
        return np.full(sizes, value, dtype=np.float64)

    warps = _Warps(
        step=integers(slots),
        last=integers(slots),
        ready=numbers(slots, value=_NEVER),
        issued=numbers(slots),
        board=numbers(slots, SCOREBOARDS),
        is_long=integers(slots, SCOREBOARDS),
        blocked=integers(slots, value=-1),
        blocked_reason=integers(slots),
        group_open=numbers(slots, 3),
        group_ends=numbers(slots, 3, KEPT_GROUPS),
        group_count=integers(slots, 3),
        group_until=numbers(slots),
        group_reason=integers(slots),
        stored=numbers(slots),
        until=numbers(slots, len(_REASONS) + 1),
    )
    units = _Units(
        free=numbers(sms, 4, len(UNITS)),
        issue=numbers(sms, 4),
        products=numbers(sms, 4),
        queued=numbers(sms, 4, 2, entries),
        queue_count=integers(sms, 4, 2),
        shared=numbers(sms),
        l1=numbers(sms),
        tma=numbers(sms),
        l2=numbers(sms),
        dram=numbers(sms),
        stores=numbers(sms),
        drained=numbers(sms),
        fetched=numbers(len(touches.sectors)),
        random=integers(1, value=1),
        greedy=integers(sms, 4, value=-1),
        next_time=numbers(sms, 4, value=-1.0),
        next_slot=integers(sms, 4, value=-1),
    )
    events = program.events.shape[1] + 1
    clusters = _Clusters(
        remaining=integers(resident, events),
        happened=numbers(resident, events),
        alive=integers(resident),
        free=numbers(resident),
    )
    return warps, units, clusters


def replay(
    shape: Shape,
    rates: Rates,
    program: SampleSteps,
    instructions: Instructions,
    touches: Touches,
    warps: _Warps,
    units: _Units,
    clusters: _Clusters,
    outcome: ReplayOutcome,
) -> float:
    """Run clusters of blocks; returns the cycle in which the last one ends, or -1 if no warp can go on."""
    begun = done = written = 0
    next_start = now = 0.0
    while done < shape.total:
        if begun - done < shape.resident and begun < shape.total:
            for position in range(shape.resident):
                if clusters.alive[position] == 0 and begun < shape.total:
                    next_start = max(next_start, clusters.free[position])
                    _start(position, begun % shape.samples, next_start, shape, program, warps, clusters)
                    begun += 1
                    next_start += rates.block_start
            units.next_time[:, :] = -1.0
        now = _NEVER
        sm = part = 0
        for each_sm in range(shape.cluster):
            for each_part in range(4):
                if units.next_time[each_sm, each_part] < 0:
                    _choose(
                        each_sm,
                        each_part,
                        shape,
                        rates,
                        program,
                        instructions,
                        touches,
                        warps,
                        units,
                        clusters,
                    )
                if units.next_time[each_sm, each_part] < now:
                    now = units.next_time[each_sm, each_part]
                    sm, part = each_sm, each_part
        if now >= _NEVER:
            return -1.0
        slot = units.next_slot[sm, part]
        row = program.row[warps.step[slot]]
        reason = _count(slot, row, now, instructions, warps, outcome)
        if sm == 0 and written < len(outcome.history):
            outcome.history[written, WARP] = slot
            outcome.history[written, ROW] = row
            outcome.history[written, SINCE] = warps.issued[slot]
            outcome.history[written, ELIGIBLE] = warps.until[slot, REGISTERS]
            outcome.history[written, ISSUED] = now
            outcome.history[written, REASON] = reason
            written += 1
        _issue(
            slot,
            sm,
            part,
            now,
            shape,
            rates,
            program,
            instructions,
            touches,
            warps,
            units,
            clusters,
            outcome,
        )
        if warps.step[slot] >= warps.last[slot]:
            warps.ready[slot] = _NEVER
            position = slot // shape.warps % shape.resident
            clusters.alive[position] -= 1
            if clusters.alive[position] == 0:
                if done < len(outcome.ends):
                    outcome.ends[done] = now
                done += 1
                clusters.free[position] = now + rates.block_end
    for drained in units.drained:
        now = max(now, drained)
    return now


def _start(
    position: int,
    sample: int,
    time: float,
    shape: Shape,
    program: SampleSteps,
    warps: _Warps,
    clusters: _Clusters,
) -> None:
    """A cluster of the sample starts."""
    for rank in range(shape.cluster):
        for warp in range(shape.warps):
            slot = (rank * shape.resident + position) * shape.warps + warp
            number = (sample * shape.cluster + rank) * shape.warps + warp
            warps.step[slot] = program.first[number]
            warps.last[slot] = program.last[number]
            warps.ready[slot] = time
            warps.issued[slot] = time
            warps.board[slot, :] = 0
            warps.blocked[slot] = -1
            warps.group_open[slot, :] = 0
            warps.group_count[slot, :] = 0
            warps.group_until[slot] = 0
            warps.stored[slot] = 0
    clusters.alive[position] = shape.warps * shape.cluster
    for event in range(program.events.shape[1]):
        clusters.remaining[position, event] = program.events[sample, event]
        clusters.happened[position, event] = 0


def _choose(
    sm: int,
    part: int,
    shape: Shape,
    rates: Rates,
    program: SampleSteps,
    instructions: Instructions,
    touches: Touches,
    warps: _Warps,
    units: _Units,
    clusters: _Clusters,
) -> None:
    """Which warp of a sub-partition issues next: the earliest; of several the last, or the longest ready."""
    until = warps.until
    chosen = -1
    chosen_time = chosen_since = _NEVER
    first = sm * shape.resident * shape.warps
    for slot in range(first + part, first + shape.resident * shape.warps, 4):
        if warps.ready[slot] >= _NEVER:
            continue
        step = warps.step[slot]
        row = program.row[step]
        time = warps.ready[slot]
        until[slot, READY] = time
        blocked = warps.blocked[slot]
        if blocked >= 0:
            position = (slot - first) // shape.warps
            latency = rates.barrier if warps.blocked_reason[slot] == BARRIER else rates.mbarrier
            for link in range(touches.waits[blocked], touches.end[blocked]):
                event = touches.linked[link]
                if clusters.remaining[position, event] > 0:
                    time = _NEVER
                else:
                    time = max(time, clusters.happened[position, event] + latency)
            if time >= _NEVER:
                continue
        until[slot, EVENTS] = time
        time = max(time, warps.group_until[slot])
        until[slot, GROUPS] = time
        short = 0.0
        boards = instructions.waits[row]
        for number in range(SCOREBOARDS if boards else 0):
            if boards >> number & 1:
                if warps.is_long[slot, number]:
                    time = max(time, warps.board[slot, number])
                else:
                    short = max(short, warps.board[slot, number])
        until[slot, LONG_BOARDS] = time
        time = max(time, short)
        until[slot, SHORT_BOARDS] = time
        if step == warps.last[slot] - 1:
            time = max(time, warps.stored[slot])
        until[slot, STORES] = time
        kind, unit = instructions.kind[row], instructions.unit[row]
        if kind == WGMMA:
            time = max(time, units.free[sm, part, unit] - rates.products_queue)
        else:
            time = max(time, units.free[sm, part, unit])
        if unit == MEMORY:
            line = 1 if kind in (LOAD, STORE, COPY) else 0
            room = int(rates.load_queue) if line else int(rates.queue)
            time = max(time, units.queued[sm, part, line, units.queue_count[sm, part, line] % room])
        until[slot, UNIT] = time
        if kind != WGMMA and instructions.interval[row] > 0 and units.products[sm, part] > time:
            time += rates.dispatch
        until[slot, REGISTERS] = time
        time = max(time, units.issue[sm, part])
        since = 0.0 if slot == units.greedy[sm, part] else until[slot, STORES]
        if time < chosen_time or (time == chosen_time and since < chosen_since):
            chosen_time, chosen_since, chosen = time, since, slot
    units.next_time[sm, part] = chosen_time
    units.next_slot[sm, part] = chosen


def _count(
    slot: int, row: int, now: float, instructions: Instructions, warps: _Warps, outcome: ReplayOutcome
) -> int:
    """Add up what a warp waited for; returns the reason for which it waited longest."""
    until, stalls = warps.until, outcome.stalls
    kind, unit = instructions.kind[row], instructions.unit[row]
    stalls[row, FIXED_WAIT] += max(until[slot, READY] - warps.issued[slot], 0.0)
    longest, longest_reason = 0.0, FIXED_WAIT
    for number in range(len(_REASONS)):
        waited = until[slot, number + 1] - until[slot, number]
        if waited <= 0:
            continue
        reason = _REASONS[number]
        if reason == BARRIER:
            reason = warps.blocked_reason[slot]
        elif reason == WGMMA_WAIT:
            reason = warps.group_reason[slot]
        elif reason == MATH_PIPE_THROTTLE and (unit in (MEMORY, XU)):
            reason = LG_THROTTLE if kind in (LOAD, STORE, COPY) else MIO_THROTTLE
        elif reason == MATH_PIPE_THROTTLE and kind == WGMMA:
            reason = MIO_THROTTLE
        if waited > longest:
            longest, longest_reason = waited, reason
        if reason == MATH_PIPE_THROTTLE:
            # when the unit becomes free, one of the waiting warps is selected
            selected = waited / max(instructions.interval[row], 1.0)
            stalls[row, NOT_SELECTED] += selected
            waited -= selected
        stalls[row, reason] += waited
    stalls[row, NOT_SELECTED] += now - until[slot, REGISTERS]
    stalls[row, SELECTED] += 1
    outcome.counts[row] += 1
    return longest_reason


def _issue(
    slot: int,
    sm: int,
    part: int,
    now: float,
    shape: Shape,
    rates: Rates,
    program: SampleSteps,
    instructions: Instructions,
    touches: Touches,
    warps: _Warps,
    units: _Units,
    clusters: _Clusters,
    outcome: ReplayOutcome,
) -> None:
    """A warp issues its next instruction: units are taken, scoreboards set, groups and events end later."""
    step = warps.step[slot]
    row, touch = program.row[step], program.touch[step]
    kind, unit = instructions.kind[row], instructions.unit[row]
    interval, latency = instructions.interval[row], instructions.latency[row]
    busy = outcome.busy
    first = 1.0 if sm == 0 else 0.0  # what is busy is counted on the first SM
    units.greedy[sm, part] = slot
    units.issue[sm, part] = now + rates.issue
    warps.blocked[slot] = -1
    warps.group_until[slot] = 0
    start = now
    written = signal = now + latency
    read = now + READS
    if unit == MEMORY:
        units.free[sm, part, unit] = now + MEMORY_INTERVAL
    else:
        begin = max(now, units.free[sm, part, unit]) if kind == WGMMA else now
        units.free[sm, part, unit] = begin + interval
        busy[unit] += first * interval
    if kind == SHARED:
        wavefronts = touches.wavefronts[touch] if touch >= 0 else 1.0
        start = max(now, units.shared[sm])
        units.shared[sm] = start + wavefronts
        units.l1[sm] = max(units.l1[sm], units.shared[sm])
        written = start + wavefronts - 1 + latency
        read = start + wavefronts + READS_AFTER_WAVEFRONTS
        busy[SHARED_MEMORY] += first * wavefronts
    elif touch >= 0 and (kind in (LOAD, STORE, COPY, BULK, BULK_STORE)):
        start, read, arrives = _access(sm, kind, latency, touch, now, rates, touches, units, busy)
        written = arrives
        if kind in (STORE, BULK_STORE):
            units.stores[sm] = max(start, units.stores[sm]) + touches.l2[touch] * rates.l2
            warps.stored[slot] = max(warps.stored[slot], units.stores[sm] + STORES_END)
        if kind in (COPY, BULK, BULK_STORE):
            group = COPIES if kind == COPY else BULK_COPIES
            # through shared memory
            passes = touches.wavefronts[touch] if kind == COPY else touches.sectors[touch] / SECTORS_PER_CYCLE
            units.shared[sm] = max(now, units.shared[sm]) + passes
            busy[SHARED_MEMORY] += first * passes
            signal = max(arrives, units.shared[sm])
            warps.group_open[slot, group] = max(warps.group_open[slot, group], signal)
            written = now + COPY_WRITTEN
    elif kind == WGMMA:
        units.products[sm, part] = units.free[sm, part, unit]
        units.shared[sm] = max(now, units.shared[sm]) + instructions.amount[row]
        busy[SHARED_MEMORY] += first * instructions.amount[row]
        ends = units.free[sm, part, TENSOR] - interval + latency
        warps.group_open[slot, PRODUCTS] = max(warps.group_open[slot, PRODUCTS], ends)
        written = now + WGMMA_WRITTEN
    elif kind == COMMIT:
        _commit(slot, instructions.group[row], now, warps)
    elif kind == WAIT:
        _wait(slot, instructions.group[row], int(instructions.amount[row]), now, warps)
    elif kind == EVENT:
        if touch >= 0 and touches.end[touch] > touches.waits[touch]:
            warps.blocked[slot] = touch
            warps.blocked_reason[slot] = instructions.group[row]
        if instructions.amount[row] > 0:  # it arrives when its copies are complete
            signal = max(now, warps.group_open[slot, COPIES])
    if unit == MEMORY:
        line = 1 if kind in (LOAD, STORE, COPY) else 0
        room = int(rates.load_queue) if line else int(rates.queue)
        units.queued[sm, part, line, units.queue_count[sm, part, line] % room] = start
        units.queue_count[sm, part, line] += 1
    board = instructions.writes[row]
    if board < SCOREBOARDS:
        warps.board[slot, board] = max(warps.board[slot, board], written)
        warps.is_long[slot, board] = instructions.is_long[row]
    board = instructions.reads[row]
    if board < SCOREBOARDS:
        warps.board[slot, board] = max(warps.board[slot, board], read)
        warps.is_long[slot, board] = 1 if kind in (LOAD, STORE, COPY) else 0
    warps.issued[slot] = now + 1
    warps.ready[slot] = now + max(1.0, instructions.stall[row])
    warps.step[slot] = step + 1
    units.next_time[sm, part] = -1.0
    if kind in (SHARED, LOAD, STORE, COPY):
        units.next_time[sm, :] = -1.0  # all sub-partitions share shared memory and L1
    if touch >= 0:
        position = slot // shape.warps % shape.resident
        for link in range(touches.signals[touch], touches.waits[touch]):
            event = touches.linked[link]
            clusters.remaining[position, event] -= 1
            clusters.happened[position, event] = max(clusters.happened[position, event], signal)
            if clusters.remaining[position, event] == 0:
                units.next_time[:, :] = -1.0


def _access(
    sm: int,
    kind: int,
    latency: float,
    touch: int,
    now: float,
    rates: Rates,
    touches: Touches,
    units: _Units,
    busy: Numbers,
) -> tuple[float, float, float]:
    """An access to global memory: when it leaves its queue, has read its registers, and is complete."""
    first = 1.0 if sm == 0 else 0.0
    sectors, l2, dram, source = (
        touches.sectors[touch], touches.l2[touch], touches.dram[touch], touches.source[touch],
    )  # fmt: skip
    if kind in (BULK, BULK_STORE):
        start = max(now, units.tma[sm])
        takes = sectors * (rates.tma_load if kind == BULK else rates.tma_store)
        units.tma[sm] = start + takes
        busy[TMA] += first * takes
    else:
        start = max(now, units.l1[sm])
        takes = max(1.0, sectors / SECTORS_PER_CYCLE)
        units.l1[sm] = start + takes
        busy[L1] += first * takes
    arrives = start + sectors / SECTORS_PER_CYCLE + latency
    read = units.l1[sm] + READS_AFTER_WAVEFRONTS
    if l2 > 0:
        units.random[0] = (units.random[0] * 1103515245 + 12345) % 2147483648
        spread = units.random[0] / 1073741824.0 - 1
        begin = max(start, units.l2[sm])
        units.l2[sm] = begin + l2 * rates.l2
        busy[L2] += first * (l2 * rates.l2)
        l2_latency = rates.bulk_latency if kind == BULK else rates.l2_latency
        arrives = units.l2[sm] + l2_latency * (1 + rates.l2_spread * spread)
        if dram > 0:
            begin = max(begin, units.dram[sm])
            units.dram[sm] = begin + dram * 32 / rates.dram
            busy[DRAM] += first * (dram * 32 / rates.dram)
            longer = (rates.dram_latency - rates.l2_latency) + rates.dram_latency * rates.dram_spread * spread
            arrives = max(arrives + longer, units.dram[sm] + l2_latency + longer)
        units.fetched[touch] = arrives
    if source >= 0:
        arrives = max(arrives, units.fetched[source])
    if kind in (STORE, BULK_STORE):
        units.drained[sm] = max(units.drained[sm], arrives)
    return start, read, arrives


def _commit(slot: int, group: int, now: float, warps: _Warps) -> None:
    """A warp ends a group."""
    ends = warps.group_ends
    for number in range(KEPT_GROUPS - 1, 0, -1):
        ends[slot, group, number] = ends[slot, group, number - 1]
    ends[slot, group, 0] = max(warps.group_open[slot, group], now)
    warps.group_count[slot, group] += 1


def _wait(slot: int, group: int, left: int, now: float, warps: _Warps) -> None:
    """A warp waits for all but the last groups; with -1 for everything, committed or not."""
    until = 0.0
    if left < 0:
        until = warps.group_open[slot, group]
        left = 0
    for number in range(left, min(KEPT_GROUPS, warps.group_count[slot, group])):
        until = max(until, warps.group_ends[slot, group, number])
    if until > now:
        warps.group_until[slot] = until
        warps.group_reason[slot] = WGMMA_WAIT if group == PRODUCTS else LONG_SCOREBOARD


#: From this many instructions on it pays to compile `replay`, which takes seconds without a cache.
_MIN_COMPILED = 200_000
_compiled: list[Any] = []


def run_program(
    shape: Shape,
    rates: Rates,
    program: SampleSteps,
    instructions: Instructions,
    touches: Touches,
    outcome: ReplayOutcome,
) -> float:
    """`replay` from the start, compiled if there are many steps and numba is installed."""
    rates = Rates(*map(float, rates))
    state = _state(shape, rates, program, touches)
    arguments = shape, rates, program, instructions, touches, *state, outcome
    if len(program.row) * shape.total // shape.samples < _MIN_COMPILED and not _compiled:
        return replay(*arguments)
    if not _compiled:
        _compiled.append(_compile())
    return float(_compiled[0](*arguments))


def _compile() -> Any:
    try:
        from ...numerics.fused_numba import NO_MEMORY, compiled, used_by_compiled
    except ImportError:
        return replay
    for function in (_start, _choose, _count, _issue, _access, _commit, _wait):
        used_by_compiled(function)  # type: ignore[no-untyped-call]
    return compiled(**NO_MEMORY)(replay)  # type: ignore[no-untyped-call]
