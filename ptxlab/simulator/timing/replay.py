"""One SM, or those of a cluster, cycle by cycle: which warp issues when, and what the others wait for.

All data are arrays of numbers, so that numba can compile `replay` if it is installed; the same function runs
without it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
# Units of a sub-partition.
FMA, ALU, XU, FP64, TENSOR, UNIFORM, BRANCH, MEMORY = range(8)
UNITS = ("FMA", "ALU", "XU", "FP64", "tensor core", "uniform", "branch", "memory")
#: What a warp waits for, one after the other; the cause of some waits depends on the instruction.
_WAITS = (BARRIER, WGMMA_WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, DRAIN, MATH_PIPE_THROTTLE, DISPATCH_STALL)
_NEVER = 1e30


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


def replay(
    op: NDArray[np.float64],
    stream: NDArray[np.int32],
    bounds: NDArray[np.int64],
    touch: NDArray[np.float64],
    links: NDArray[np.int64],
    linked: NDArray[np.int32],
    events: NDArray[np.int32],
    shape: NDArray[np.int64],
    rates: NDArray[np.float64],
    stalls: NDArray[np.float64],
    counts: NDArray[np.float64],
    busy: NDArray[np.float64],
    history: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> float:
    """Run blocks on an SM; returns the cycle in which the last one ends, or -1 if no warp can go on.

    `op` [rows, 11] describes the machine instructions: kind, unit, interval, latency, stall, the scoreboards
    that it sets until it has written and read, those that it waits for, group, count, whether a wait for it
    is long. `stream` [steps, 2] has the row and the touch of each step, `bounds` the steps of each warp of
    the sample. `touch` [touches, 5] has wavefronts, sectors, cycles of L2, sectors from DRAM, and the touch
    that fetches what it finds in L1. `links` [touches, 4] delimits its signals and its waits in `linked`.
    `events` is how many signals each event takes. `shape` is: warps of a block, blocks of a cluster, blocks
    that an SM holds, clusters of the sample, clusters to run, events of a cluster, rows of history.
    """
    warps, cluster, held, samples, total, event_count, room = shape
    (l2_latency, dram_latency, bulk_latency, l2_rate, dram_rate, bar_latency,
     mbarrier_latency, block_start, block_end, queue, load_queue, products_queue, dispatch,
     l2_spread, dram_spread, tma_load, tma_store, issue) = rates  # fmt: skip
    slots = cluster * held * warps
    place = np.zeros(slots, np.int64)  # step of each warp
    last = np.zeros(slots, np.int64)
    ready = np.full(slots, _NEVER)
    issued = np.zeros(slots)
    board = np.zeros((slots, 6))
    long_board = np.zeros((slots, 6))
    blocked = np.full(slots, -1)  # the touch whose events it waits for
    blocked_kind = np.zeros(slots, np.int64)
    group_end = np.zeros((slots, 3))
    group_times = np.zeros((slots, 3, 16))
    group_count = np.zeros((slots, 3), np.int64)
    group_wait = np.zeros(slots)  # until when it waits for groups
    stored = np.zeros(slots)  # when its stores have left
    group_wait_kind = np.zeros(slots, np.int64)
    unit_free = np.zeros((cluster, 4, 8))
    products_end = np.zeros((cluster, 4))  # of wgmma
    entries = (int(queue), int(load_queue))  # of shared memory, of L1
    queued = np.zeros((cluster, 4, 2, max(entries)))  # when the last ones left the queue
    queue_count = np.zeros((cluster, 4, 2), np.int64)
    arrival = np.zeros(len(touch))  # when L1 has what a touch fetches
    random = 1
    at = np.zeros((slots, 8))  # when each of its waits ends, in the order of _WAITS
    slot_free = np.zeros((cluster, 4))
    shared_free = np.zeros(cluster)
    l1_free = np.zeros(cluster)
    tma_free = np.zeros(cluster)
    l2_free = np.zeros(cluster)
    store_free = np.zeros(cluster)  # when all stores so far have left the SM
    dram_free = np.zeros(cluster)
    remaining = np.zeros((held, event_count + 1), np.int64)
    happened = np.zeros((held, event_count + 1))
    alive = np.zeros(held, np.int64)
    begun = done = written = 0
    drained = 0.0  # when the last store has arrived
    next_start = 0.0
    free_at = np.zeros(held)  # when a position may take its next cluster
    vacant = held
    now = 0.0
    greedy = np.full((cluster, 4), -1)
    candidate_time = np.full((cluster, 4), -1.0)  # -1: to be computed
    candidate = np.full((cluster, 4), -1)
    while done < total:
        if vacant > 0 and begun < total:
            for position in range(held):
                if alive[position] > 0 or begun >= total:
                    continue
                sample = begun % samples
                next_start = max(next_start, free_at[position])
                for rank in range(cluster):
                    for warp in range(warps):
                        slot = (rank * held + position) * warps + warp
                        number = (sample * cluster + rank) * warps + warp
                        place[slot] = bounds[number, 0]
                        last[slot] = bounds[number, 1]
                        ready[slot] = next_start
                        issued[slot] = next_start
                        stored[slot] = 0
                        board[slot, :] = 0
                        group_end[slot, :] = 0
                        group_count[slot, :] = 0
                alive[position] = warps * cluster
                for event in range(event_count):
                    remaining[position, event] = events[sample, event]
                    happened[position, event] = 0
                begun += 1
                vacant -= 1
                next_start += block_start
            candidate_time[:, :] = -1.0
        best_time = _NEVER
        best_sm = best_part = 0
        for sm in range(cluster):
            for part in range(4):
                if candidate_time[sm, part] < 0:
                    chosen_time = chosen_since = _NEVER
                    chosen = -1
                    first = sm * held * warps
                    for index in range(held * warps):
                        slot = first + index
                        if (index % warps + index // warps * warps) % 4 != part or ready[slot] >= _NEVER:
                            continue
                        step = place[slot]
                        row = stream[step, 0]
                        time = ready[slot]
                        at[slot, 0] = time
                        if blocked[slot] >= 0:
                            position = index // warps
                            latency = bar_latency if blocked_kind[slot] == BARRIER else mbarrier_latency
                            for link in range(links[blocked[slot], 2], links[blocked[slot], 3]):
                                event = linked[link]
                                if remaining[position, event] > 0:
                                    time = _NEVER
                                else:
                                    time = max(time, happened[position, event] + latency)
                            if time >= _NEVER:
                                continue
                        at[slot, 1] = time
                        time = max(time, group_wait[slot])
                        at[slot, 2] = time
                        waits = int(op[row, 7])
                        short = 0.0
                        for number in range(6):
                            if waits >> number & 1:
                                if long_board[slot, number] > 0:
                                    time = max(time, board[slot, number])
                                else:
                                    short = max(short, board[slot, number])
                        at[slot, 3] = time
                        time = max(time, short)
                        at[slot, 4] = time
                        if step == last[slot] - 1:
                            time = max(time, stored[slot])
                        at[slot, 5] = time
                        unit = int(op[row, 1])
                        if op[row, 0] == WGMMA:
                            time = max(time, unit_free[sm, part, unit] - products_queue)
                        else:
                            time = max(time, unit_free[sm, part, unit])
                        if unit == MEMORY:
                            line = 1 if op[row, 0] in (LOAD, STORE, COPY) else 0
                            time = max(
                                time, queued[sm, part, line, queue_count[sm, part, line] % entries[line]]
                            )
                        at[slot, 6] = time
                        if op[row, 0] != WGMMA and op[row, 2] > 0 and products_end[sm, part] > time:
                            time += dispatch
                        at[slot, 7] = time
                        time = max(time, slot_free[sm, part])
                        since = 0.0 if slot == greedy[sm, part] else at[slot, 5]  # then the longest waiting
                        if time < chosen_time or (time == chosen_time and since < chosen_since):
                            chosen_time, chosen_since, chosen = time, since, slot
                    candidate_time[sm, part] = chosen_time
                    candidate[sm, part] = chosen
                if candidate_time[sm, part] < best_time:
                    best_time = candidate_time[sm, part]
                    best_sm, best_part = sm, part
        if best_time >= _NEVER:
            return -1.0
        sm, part = best_sm, best_part
        slot = candidate[sm, part]
        now = best_time
        step = place[slot]
        row = stream[step, 0]
        touched = stream[step, 1]
        kind = int(op[row, 0])
        unit = int(op[row, 1])
        position = slot // warps % held
        # what it waited for
        eligible = at[slot, 7]
        stalls[row, FIXED_WAIT] += max(at[slot, 0] - issued[slot], 0.0)
        longest = 0.0
        reason = FIXED_WAIT
        for number in range(7):
            waited = at[slot, number + 1] - at[slot, number]
            if waited <= 0:
                continue
            cause = _WAITS[number]
            if cause == BARRIER:
                cause = blocked_kind[slot]
            elif cause == WGMMA_WAIT:
                cause = group_wait_kind[slot]
            elif cause == MATH_PIPE_THROTTLE and unit in (MEMORY, XU):
                cause = LG_THROTTLE if kind in (LOAD, STORE, COPY) else MIO_THROTTLE
            elif cause == MATH_PIPE_THROTTLE and kind == WGMMA:
                cause = MIO_THROTTLE
            if waited > longest:
                longest, reason = waited, cause
            if (
                cause == MATH_PIPE_THROTTLE
            ):  # when the unit becomes free, one of the waiting warps is selected
                selected = waited / max(op[row, 2], 1.0)
                stalls[row, NOT_SELECTED] += selected
                waited -= selected
            stalls[row, cause] += waited
        stalls[row, NOT_SELECTED] += now - eligible
        stalls[row, SELECTED] += 1
        counts[row] += 1
        if written < room and sm == 0:
            history[written, 0] = slot % (held * warps)
            history[written, 1] = row
            history[written, 2] = issued[slot]
            history[written, 3] = eligible
            history[written, 4] = now
            history[written, 5] = reason
            written += 1
        greedy[sm, part] = slot
        slot_free[sm, part] = now + issue
        if unit != MEMORY:
            begin = max(now, unit_free[sm, part, unit]) if kind == WGMMA else now
            unit_free[sm, part, unit] = begin + op[row, 2]
            if sm == 0:
                busy[unit] += op[row, 2]
            if kind == WGMMA:
                products_end[sm, part] = unit_free[sm, part, unit]
                shared_free[sm] = max(now, shared_free[sm]) + op[row, 9]
                if sm == 0:
                    busy[8] += op[row, 9]
        else:
            unit_free[sm, part, unit] = now + 2
        blocked[slot] = -1
        group_wait[slot] = 0
        finish = now + op[row, 3]
        signal = now + op[row, 3]
        read = now + 12.0
        start = now
        if kind == SHARED:
            wavefronts = touch[touched, 0] if touched >= 0 else 1.0
            start = max(now, shared_free[sm])
            shared_free[sm] = start + wavefronts
            l1_free[sm] = max(l1_free[sm], shared_free[sm])
            finish = start + wavefronts - 1 + op[row, 3]
            read = start + wavefronts + 8
            if sm == 0:
                busy[8] += wavefronts
        elif touched >= 0:
            wavefronts, sectors, past, fresh, fetched = (
                touch[touched, 0],
                touch[touched, 1],
                touch[touched, 2],
                touch[touched, 3],
                int(touch[touched, 4]),
            )
            if kind in (LOAD, STORE, COPY, BULK, BULK_STORE):
                if kind != BULK and kind != BULK_STORE:
                    start = max(now, l1_free[sm])
                    l1_free[sm] = start + max(1.0, sectors / 4)
                    if sm == 0:
                        busy[9] += max(1.0, sectors / 4)
                else:
                    start = max(now, tma_free[sm])
                    takes = sectors * (tma_load if kind == BULK else tma_store)
                    tma_free[sm] = start + takes
                    if sm == 0:
                        busy[12] += takes
                finish = start + sectors / 4 + op[row, 3]
                read = l1_free[sm] + 8
                if past > 0:
                    random = (random * 1103515245 + 12345) % 2147483648
                    spread = random / 1073741824.0 - 1
                    begin = max(start, l2_free[sm])
                    l2_free[sm] = begin + past * l2_rate
                    latency = bulk_latency if kind == BULK else l2_latency
                    finish = l2_free[sm] + latency * (1 + l2_spread * spread)
                    if sm == 0:
                        busy[10] += past * l2_rate
                    if fresh > 0:
                        begin = max(begin, dram_free[sm])
                        dram_free[sm] = begin + fresh * 32 / dram_rate
                        if sm == 0:
                            busy[11] += fresh * 32 / dram_rate
                        longer = (dram_latency - l2_latency) + dram_latency * dram_spread * spread
                        finish = max(finish + longer, dram_free[sm] + latency + longer)
                    arrival[touched] = finish
                if fetched >= 0:
                    finish = max(finish, arrival[fetched])
                if kind in (STORE, BULK_STORE):
                    drained = max(drained, finish)
                    store_free[sm] = max(start, store_free[sm]) + past * l2_rate
                    stored[slot] = max(stored[slot], store_free[sm] + 100)
                if kind in (COPY, BULK, BULK_STORE):
                    group = 0 if kind == COPY else 2
                    passes = wavefronts if kind == COPY else sectors / 4  # through shared memory
                    shared_free[sm] = max(now, shared_free[sm]) + passes
                    finish = max(finish, shared_free[sm])
                    if sm == 0:
                        busy[8] += passes
                    group_end[slot, group] = max(group_end[slot, group], finish)
                    signal = finish
                    finish = now + 20
            elif kind == EVENT and links[touched, 3] > links[touched, 2]:
                blocked[slot] = touched
                blocked_kind[slot] = int(op[row, 8])
        if unit == MEMORY:
            line = 1 if kind in (LOAD, STORE, COPY) else 0
            queued[sm, part, line, queue_count[sm, part, line] % entries[line]] = start
            queue_count[sm, part, line] += 1
        if kind == WGMMA:
            start = unit_free[sm, part, TENSOR] - op[row, 2]
            group_end[slot, 1] = max(group_end[slot, 1], start + op[row, 3])
            finish = now + 4
        elif kind == COMMIT:
            group = int(op[row, 8])
            for number in range(15, 0, -1):
                group_times[slot, group, number] = group_times[slot, group, number - 1]
            group_times[slot, group, 0] = max(group_end[slot, group], now)
            group_count[slot, group] += 1
        elif kind == WAIT:
            group = int(op[row, 8])
            left = int(op[row, 9])
            until = 0.0
            if left < 0:  # wait for all, committed or not
                until = group_end[slot, group]
                left = 0
            for number in range(left, 16):
                if number < group_count[slot, group]:
                    until = max(until, group_times[slot, group, number])
            if until > now:
                group_wait[slot] = until
                group_wait_kind[slot] = WGMMA_WAIT if group == 1 else LONG_SCOREBOARD
        elif kind == EVENT and op[row, 9] > 0:  # it arrives when its copies are complete
            signal = max(now, group_end[slot, 0])
        if touched >= 0:
            for link in range(links[touched, 0], links[touched, 1]):
                event = linked[link]
                remaining[position, event] -= 1
                happened[position, event] = max(happened[position, event], signal)
                if remaining[position, event] == 0:
                    for other in range(cluster):
                        for each in range(4):
                            candidate_time[other, each] = -1.0
        number = int(op[row, 5])
        if number < 6:
            board[slot, number] = max(board[slot, number], finish)
            long_board[slot, number] = op[row, 10]
        number = int(op[row, 6])
        if number < 6:
            board[slot, number] = max(board[slot, number], read)
            long_board[slot, number] = 1.0 if kind in (LOAD, STORE, COPY) else 0.0
        issued[slot] = now + 1
        ready[slot] = now + max(1.0, op[row, 4])
        place[slot] = step + 1
        candidate_time[sm, part] = -1.0
        if kind in (SHARED, LOAD, STORE, COPY):
            for each in range(4):  # all sub-partitions share shared memory and L1
                candidate_time[sm, each] = -1.0
        if place[slot] >= last[slot]:
            ready[slot] = _NEVER
            alive[position] -= 1
            if alive[position] == 0:
                done += 1
                if done <= len(ends):
                    ends[done - 1] = now
                free_at[position] = now + block_end
                vacant += 1
    return max(now, drained)


#: From this many instructions on it pays to compile `replay`, which takes seconds without a cache.
_MIN_COMPILED = 200_000
_compiled: list[Any] = []


def replayer(steps: int) -> Any:
    """`replay`, compiled if there are many steps and numba is installed."""
    if steps < _MIN_COMPILED and not _compiled:
        return replay
    if not _compiled:
        try:
            from ...numerics.fused_loops import compiled
        except ImportError:
            _compiled.append(replay)
        else:
            _compiled.append(compiled()(replay))  # type: ignore[no-untyped-call]
    return _compiled[0]
