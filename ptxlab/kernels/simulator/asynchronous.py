"""`cp.async`, mbarriers, bulk copies and TMA. PTX ISA, "Data Movement: Asynchronous copy", "mbarrier".

A copy takes place when it is issued, and its completion is signalled at once: for a kernel that waits as it
should, nothing differs. Observers hear of copies and waits, so that a missing wait can be found.

An mbarrier is opaque to programs. Here its 64 bits are: arrivals still expected (20), arrivals of each phase
(20), bytes still expected (22, with sign), and the phase (1, at the top).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...memory import Im2colMap, TensorMap
from ..ptx import Address, Immediate, Instruction, Operand, Sink, plain_name, type_bits
from .loads import BUILDERS as LOADS
from .loads import combination, space_of
from .machine import Frame, Machine, Step
from .memory import RANK_SHIFT, SHARED_WINDOW, rounds
from .operands import Builder, Context, Read, address, items_of, reader, readers, unsupported, writer
from .tensor_copies import Boxes, load_boxes, store_boxes
from .tensormaps import map_at
from .threads import Threads

__all__ = ["BUILDERS"]

_COUNT_BITS = 20
_COUNT = (1 << _COUNT_BITS) - 1
_TX_SHIFT, _TX = 40, (1 << 22) - 1
_TX_SIGN = 1 << 21
_PHASE = 63


# -- cp.async ------------------------------------------------------------------------------------------------


def _cp(instruction: Instruction, context: Context) -> Step:
    parts = instruction.parts
    if parts[1] == "reduce":
        return _reduce_bulk(instruction, context)
    if "bulk" in parts:
        return _bulk(instruction, context)
    if "mbarrier" in parts:
        return _copy_arrives(instruction, context)
    if "commit_group" in parts or "wait_group" in parts or "wait_all" in parts:
        return _group(instruction)
    target, source, size, *others = instruction.operands
    place, origin = address(target, instruction, context), address(source, instruction, context)
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16):
        raise unsupported(instruction)
    width = size.value
    left_out: Read | None = None  # bytes that are copied; the rest is 0
    ignored: Read | None = None
    if others and not any(part.endswith("cache_hint") for part in parts):
        operand = others[0]
        is_predicate = getattr(operand, "type", "") == "pred"
        if is_predicate:
            ignored = reader(operand, 1, instruction, context)
        else:
            left_out = reader(operand, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        memory = machine.memory
        targets, sources = place(machine, frame, threads), origin(machine, frame, threads)
        if left_out is None and ignored is None:
            words = memory.load(instruction, "global", threads, sources, 32, width // 4)
        else:
            words = _partly(machine, frame, threads, sources)
        memory.store(instruction, "shared", threads, targets, words, asynchronous=True)

    def _partly(
        machine: Machine, frame: Frame, threads: Threads, sources: NDArray[Any]
    ) -> list[NDArray[Any]]:
        """Only so many bytes are read, perhaps none: an address behind the array's end does no harm then."""
        size = np.full(threads.count, width, dtype=np.int64)
        if left_out is not None:
            size = left_out(machine, frame, threads).astype(np.int64)
        elif ignored is not None:
            size[ignored(machine, frame, threads)] = 0
        words = [np.zeros(threads.count, dtype=np.uint32) for _ in range(width // 4)]
        whole = size >= width
        if whole.any():
            ours = threads.where(whole)
            found = machine.memory.load(instruction, "global", ours, sources[whole], 32, width // 4)
            for word, values in zip(words, found, strict=True):
                word[whole] = values
        for byte in range(int(size[~whole].max(initial=0))):
            reads = ~whole & (size > byte)
            part = words[byte // 4].view(np.uint8).reshape(-1, 4)
            at = sources[reads] + byte
            (part[reads, byte % 4],) = machine.memory.load(instruction, "global", threads.where(reads), at, 8)
        return words

    return Step(instruction, execute)


_GROUPS = (
    "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
)  # fmt: skip


def _group(instruction: Instruction) -> Step:
    operand = instruction.operands[0] if instruction.operands else Immediate(0)
    count = operand.value if isinstance(operand, Immediate) else 0
    kind = ".".join(part for part in instruction.parts if part not in ("read",))
    if kind not in _GROUPS:
        raise unsupported(instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.synchronised(instruction, kind, threads, count)

    return Step(instruction, execute)


# -- mbarriers -----------------------------------------------------------------------------------------------


def _barrier_place(operand: Operand, instruction: Instruction, context: Context) -> Read:
    """The address of an mbarrier in shared memory."""
    place = address(operand, instruction, context)
    if space_of(instruction):
        return place

    def read(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
        return place(machine, frame, threads) - SHARED_WINDOW

    return read


def _state(pending: NDArray[Any], count: NDArray[Any], tx: NDArray[Any], phase: NDArray[Any]) -> NDArray[Any]:
    state = pending | count << _COUNT_BITS | (tx & _TX) << _TX_SHIFT
    return np.asarray(state.astype(np.uint64) | phase.astype(np.uint64) << np.uint64(_PHASE))


def _fields(state: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    signed = state.astype(np.int64)
    tx = signed >> _TX_SHIFT & _TX
    tx = np.where(tx & _TX_SIGN, tx - (_TX + 1), tx)
    return signed & _COUNT, signed >> _COUNT_BITS & _COUNT, tx, (state >> np.uint64(_PHASE)).astype(np.int64)


def _changed(state: NDArray[Any], arrivals: NDArray[Any], bytes_: NDArray[Any], drop: bool) -> NDArray[Any]:
    """A barrier after arrivals, and after bytes were announced (positive) or have come (negative)."""
    pending, count, tx, phase = _fields(state)
    if (arrivals > pending).any():
        raise PtxlabError(
            "an mbarrier gets more arrivals than its phase expects; mbarrier.init states how many"
        )
    pending, tx = pending - arrivals, tx + bytes_
    if drop:
        count = count - arrivals
    complete = (pending == 0) & (tx == 0)
    pending = np.where(complete, count, pending)
    phase = np.where(complete, 1 - phase, phase)
    return _state(pending, count, tx, phase)


def update_barrier(
    machine: Machine,
    instruction: Instruction,
    threads: Threads,
    places: NDArray[Any],
    arrivals: NDArray[Any],
    bytes_: NDArray[Any],
    drop: bool = False,
    wanted: bool = True,
) -> NDArray[Any]:
    """Arrivals and bytes at mbarriers in shared memory; gives the states before, if they are `wanted`."""

    complete: list[NDArray[np.intp]] = []  # one thread for each barrier that has completed a phase

    def change(
        states: NDArray[Any], which: NDArray[np.intp], ours: NDArray[np.intp]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        after, found = _changed_together(states, which, arrivals[ours], bytes_[ours], drop), None
        if wanted or after is None:
            after, found = _changed_in_turn(states, which, arrivals[ours], bytes_[ours], drop)
        ended = (states ^ after) >> np.uint64(_PHASE) != 0
        if found is not None:
            np.logical_or.at(ended, which, (states[which] ^ found) >> np.uint64(_PHASE) != 0)
        last = np.empty(len(states), dtype=np.intp)
        last[which] = ours
        complete.append(last[ended])
        return after, found

    machine.changes += 1
    before = machine.memory.update_together(instruction, "shared", threads, places, 64, change, "mbarrier")
    ended = np.concatenate(complete) if complete else np.zeros(0, dtype=np.intp)
    if len(ended):
        those = Threads.listed(threads.batch, threads.indices[ended])
        machine.synchronised(instruction, "mbarrier.phase", those, places[ended], completed=True)
    return before


def _changed_together(
    states: NDArray[Any], which: NDArray[np.intp], arrivals: NDArray[Any], bytes_: NDArray[Any], drop: bool
) -> NDArray[Any] | None:
    """Barriers after arrivals of several threads; None if a phase may end before the last of them.

    `which` says the barrier of each thread.
    """
    if bytes_.any() or (arrivals <= 0).any():
        return None
    total = np.bincount(which, weights=arrivals, minlength=len(states)).astype(np.int64)
    if (total > _fields(states)[0]).any():
        return None
    return _changed(states, total, 0 * total, drop)


def _changed_in_turn(
    states: NDArray[Any], which: NDArray[np.intp], arrivals: NDArray[Any], bytes_: NDArray[Any], drop: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Barriers after several threads, one after the other, and the state that each thread finds.

    `which` says the barrier of each thread.
    """
    if len(which) == len(states):  # one thread for each
        thread = np.empty_like(which)
        thread[which] = np.arange(len(which))
        return _changed(states, arrivals[thread], bytes_[thread], drop), states[which]
    order = np.argsort(which, kind="stable")
    ordered = which[order]
    last = np.flatnonzero(np.diff(ordered, append=-1))  # threads of each barrier
    arrived, came = (_sums_before(amounts[order], last) for amounts in (arrivals, bytes_))
    pending, count, tx, phase = (field[ordered] for field in _fields(states))
    pending, tx = pending - arrived, tx + came
    found = np.empty(len(which), dtype=states.dtype)
    found[order] = _state(pending, count - arrived if drop else count, tx, phase)
    complete = (pending == arrivals[order]) & (tx + bytes_[order] == 0)
    complete[last] = False
    if not complete.any() and (arrivals[order] <= pending).all():  # a phase ends at most with the last one
        final = order[last]
        return _changed(found[final], arrivals[final], bytes_[final], drop), found
    states = states.copy()
    for turn in rounds(which):
        found[turn] = states[which[turn]]
        states[which[turn]] = _changed(found[turn], arrivals[turn], bytes_[turn], drop)
    return states, found


def _sums_before(amounts: NDArray[Any], last: NDArray[np.intp]) -> NDArray[Any]:
    """The sum of all amounts of the same group before each; groups end at the positions `last`."""
    before = np.cumsum(amounts) - amounts
    first = np.concatenate(([0], last[:-1] + 1))
    return np.asarray(before - np.repeat(before[first], last + 1 - first))


def _mbarrier(instruction: Instruction, context: Context) -> Step:
    parts = instruction.parts
    kind = parts[1]
    if kind in ("test_wait", "try_wait"):
        return _wait(instruction, context)
    if kind == "pending_count":
        return _pending_count(instruction, context)
    if kind in ("init", "inval"):
        return _init(instruction, context)
    if kind not in ("arrive", "arrive_drop", "expect_tx", "complete_tx"):
        raise unsupported(instruction)
    operands = list(instruction.operands)
    result: Operand = Sink()
    if kind in ("arrive", "arrive_drop") and not isinstance(operands[0], Address):
        result = operands.pop(0)
    place = _barrier_place(operands.pop(0), instruction, context)
    number = reader(operands[0], 32, instruction, context) if operands else None
    write = writer(result, instruction)
    arrives = kind in ("arrive", "arrive_drop")
    announces = "expect_tx" in parts
    drop = kind == "arrive_drop"
    wanted = not isinstance(result, Sink)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        one = np.ones(threads.count, dtype=np.int64)
        amount = one if number is None else number(machine, frame, threads).astype(np.int64)
        if announces:
            machine.synchronised(instruction, "mbarrier.expect_tx", threads, places)
            arrivals, bytes_ = (one if arrives else 0 * one), amount
        elif kind == "complete_tx":
            arrivals, bytes_ = 0 * one, -amount
        else:
            arrivals, bytes_ = amount, 0 * one
        if arrives:
            machine.synchronised(instruction, "mbarrier.arrive", threads, places)
        if announces and arrives:  # first the bytes, then the arrival
            update_barrier(machine, instruction, threads, places, 0 * one, bytes_)
            bytes_ = 0 * one
        states = update_barrier(machine, instruction, threads, places, arrivals, bytes_, drop, wanted)
        if wanted:
            write(frame, threads, states)

    return Step(instruction, execute)


def _copy_arrives(instruction: Instruction, context: Context) -> Step:
    """`cp.async.mbarrier.arrive`: the thread's copies are done, so it arrives at once."""
    place = _barrier_place(instruction.operands[0], instruction, context)
    counted = "noinc" in instruction.parts

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        machine.synchronised(instruction, "cp.async.mbarrier.arrive", threads, places)
        if counted:  # otherwise the pending count goes up by one, and down again
            zero = np.zeros(threads.count, dtype=np.int64)
            update_barrier(machine, instruction, threads, places, zero + 1, zero)

    return Step(instruction, execute)


def _init(instruction: Instruction, context: Context) -> Step:
    place = _barrier_place(instruction.operands[0], instruction, context)
    number = None
    if instruction.parts[1] == "init":
        number = reader(instruction.operands[1], 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        count = np.zeros(threads.count, dtype=np.int64)
        if number is not None:
            count = number(machine, frame, threads).astype(np.int64)
        machine.changes += 1
        machine.synchronised(instruction, f"mbarrier.{instruction.parts[1]}", threads, places)
        states = _state(count, count, 0 * count, 0 * count)
        machine.memory.store(instruction, "shared", threads, places, [states])

    return Step(instruction, execute)


def _pending_count(instruction: Instruction, context: Context) -> Step:
    destination, source = instruction.operands
    write, read = writer(destination, instruction), reader(source, 64, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, (read(machine, frame, threads) & np.uint64(_COUNT)).astype(np.uint32))

    return Step(instruction, execute)


def _wait(instruction: Instruction, context: Context) -> Step:
    """`try_wait` sleeps until the phase is complete; `test_wait` asks and goes on."""
    parts = instruction.parts
    destination, target, what, *_ = instruction.operands
    place = _barrier_place(target, instruction, context)
    parity = "parity" in parts
    expected = reader(what, 32 if parity else 64, instruction, context)
    write = writer(destination, instruction)
    sleeps = "try_wait" in parts

    def done(machine: Machine, frame: Frame, threads: Threads) -> NDArray[np.bool_]:
        places = place(machine, frame, threads)
        (states,) = machine.memory.load(instruction, "shared", threads, places, 64, 1, "mbarrier")
        asked = expected(machine, frame, threads)
        old = (asked & asked.dtype.type(1)).astype(np.uint64) if parity else asked >> np.uint64(_PHASE)
        return np.asarray(states >> np.uint64(_PHASE) != old)

    def control(machine: Machine, frame: Frame, threads: Threads, active: Threads) -> None:
        if active.count < threads.count:
            machine.place(frame, instruction.index + 1, threads.without(active))
        if not active.count:
            return
        complete = done(machine, frame, active)
        go, stay = active, None
        if sleeps and not complete.all():
            go, stay = active.where(complete), active.where(~complete)
            complete = complete[complete]
        if go.count:
            write(frame, go, complete)
            passed = go if complete.all() else go.where(complete)
            if passed.count:
                places = place(machine, frame, passed)
                machine.synchronised(instruction, "mbarrier.wait", passed, places, completed=True)
            machine.place(frame, instruction.index + 1, go)
            if not complete.all():
                machine.spin()
        if stay is not None:
            machine.sleep(frame, instruction.index, stay)

    def explain(machine: Machine, frame: Frame, threads: Threads) -> str:
        first = threads.where(np.arange(threads.count) == 0)
        at = int(place(machine, frame, first)[0])
        (states,) = machine.memory.load(instruction, "shared", first, np.array([at]), 64, 1, "mbarrier")
        pending, count, bytes_, phase = (int(part[0]) for part in _fields(states))
        names = [name for name, start in machine.launch.symbols.items() if start == at]
        name = f" {plain_name(names[0])}" if names else ""
        text = (
            f"for the mbarrier{name} at shared address 0x{at:x}, whose phase (parity {phase}) still expects "
        )
        parts = []
        if pending:
            parts.append(f"{pending} of {count} arrivals")
        if bytes_:
            parts.append(f"{bytes_} bytes")
        if not parts:
            parts.append("the parity to change: it is complete, and the next phase has not begun")
        text += " and ".join(parts)
        if phase == 1 and pending == count and not bytes_:
            text += "; nobody has arrived in it, and the phase before it is complete: is the parity right?"
        return text

    return Step(instruction, control=control, explain=explain)


# -- bulk copies and TMA -------------------------------------------------------------------------------------


def _bulk(instruction: Instruction, context: Context) -> Step:
    parts = instruction.parts
    if "commit_group" in parts or "wait_group" in parts:
        return _group(instruction)
    if "prefetch" in parts:
        return _group(instruction)
    if "tensor" in parts:
        return _tensor(instruction, context)
    return _plain(instruction, context)


def _spaces(instruction: Instruction) -> list[str]:
    """Destination and source."""
    names = {"shared::cluster": "shared", "shared::cta": "shared", "global": "global"}
    return [names[part] for part in instruction.parts if part in names]


def _plain(instruction: Instruction, context: Context) -> Step:
    """`cp.async.bulk` of a row of bytes."""
    target, source, size, *others = instruction.operands
    to, origin = _spaces(instruction)
    places, sources = address(target, instruction, context), address(source, instruction, context)
    length = reader(size, 32, instruction, context)
    barrier = None
    if any(part.startswith("mbarrier") for part in instruction.parts):
        barrier = address(others[0], instruction, context)
    mask = None
    if "multicast::cluster" in instruction.parts:
        mask = reader(others[1], 16, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        sizes = length(machine, frame, threads).astype(np.int64)
        if (sizes % 16).any():
            raise PtxlabError(f"{int(sizes[sizes % 16 != 0][0])} bytes: bulk copies take multiples of 16")
        count = sizes // 16
        which = np.repeat(np.arange(threads.count), count)
        steps = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        each = Threads.listed(threads.batch, threads.indices[which])
        read_from = sources(machine, frame, threads)[which] + 16 * steps
        write_to = places(machine, frame, threads)[which] + 16 * steps
        words = machine.memory.load(instruction, origin, each, read_from, 32, 4, "async", True)
        if mask is None:
            machine.memory.store(instruction, to, each, write_to, words, "async", True)
        else:
            masks = mask(machine, frame, threads).astype(np.int64)
            for rank in range(machine.batch.grid.cluster_size):
                ours = masks[which] >> rank & 1 != 0
                some = Threads.listed(threads.batch, each.indices[ours])
                values = [word[ours] for word in words]
                places_there = _in_block(write_to[ours], rank)
                machine.memory.store(instruction, to, some, places_there, values, "async", True)
        if barrier is not None:
            signalled = None if mask is None else mask(machine, frame, threads).astype(np.int64)
            _signal(machine, instruction, threads, barrier(machine, frame, threads), sizes, signalled)

    return Step(instruction, execute)


_GATHERED = 4  # rows of tile::gather4 and tile::scatter4


def _tensor(instruction: Instruction, context: Context) -> Step:
    """`cp.async.bulk.tensor`: boxes that a tensor map describes."""
    to, _ = _spaces(instruction)
    parts = instruction.parts
    columns = any(part in ("im2col", "im2col_no_offs") for part in parts)
    rows = _GATHERED if any(part in ("tile::gather4", "tile::scatter4") for part in parts) else 0
    if any(part.startswith("im2col::") for part in parts):
        raise unsupported(instruction)
    loads = to == "shared"
    first, second, *others = instruction.operands
    tensor_operand, shared_operand = (second, first) if loads else (first, second)
    if not isinstance(tensor_operand, Address) or tensor_operand.coordinates is None:
        raise unsupported(instruction)
    map_place = address(tensor_operand, instruction, context)
    coordinates = readers(tensor_operand.coordinates.items, 32, instruction, context)
    box_place = address(shared_operand, instruction, context)
    barrier = address(others[0], instruction, context) if loads else None
    offsets: tuple[Read, ...] = ()
    if columns and loads:
        vector = others.pop(1)
        offsets = readers(items_of(vector), 16, instruction, context)
    mask = None
    if "multicast::cluster" in parts:
        mask = reader(others[1], 16, instruction, context)
    reduction = next((part for part in parts if part in _REDUCTIONS), "")

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        used = map_place(machine, frame, threads)
        if machine.launch.changes_maps:
            machine.synchronised(instruction, "tensormap.use", threads, used)
        places, which = np.unique(used, return_inverse=True)
        tensors = [map_at(machine.launch, place) for place in places.tolist()]
        given = np.stack([read(machine, frame, threads) for read in coordinates], axis=-1).view(np.int32)
        for tensor in tensors:
            _check_mode(tensor, given.shape[1], columns, rows)
        starts = given[:, ::-1].astype(np.int64)
        if columns:
            shifts = np.zeros((threads.count, starts.shape[1] - 2), dtype=np.int64)
            for axis, read in enumerate(reversed(offsets)):
                shifts[:, axis] = read(machine, frame, threads)
            starts = np.concatenate([shifts, starts], axis=1)
        boxes = Boxes(tensors, which, starts, box_place(machine, frame, threads), rows)
        bytes_ = np.array([tensor.expect_tx for tensor in tensors], dtype=np.int64)[which] * max(rows, 1)
        masks = None if mask is None else mask(machine, frame, threads).astype(np.int64)
        if not loads:
            store_boxes(machine.memory, instruction, threads, boxes, reduction)
        elif masks is None:
            load_boxes(machine.memory, instruction, threads, boxes)
        else:
            number, rank = np.nonzero(masks[:, None] >> np.arange(machine.batch.grid.cluster_size) & 1)
            copies = boxes.select(number)
            copies = replace(copies, addresses=_in_block(copies.addresses, rank))
            some = Threads.listed(threads.batch, threads.indices[number])
            load_boxes(machine.memory, instruction, some, copies)
        if barrier is not None:
            _signal(machine, instruction, threads, barrier(machine, frame, threads), bytes_, masks)

    return Step(instruction, execute)


def _check_mode(tensor: TensorMap, coordinates: int, columns: bool, rows: int) -> None:
    """Refuse a tensor map that is not of the instruction's kind."""
    if columns != isinstance(tensor, Im2colMap):
        kind, other = ("tiled", "im2col") if columns else ("of im2col", "tiled")
        raise PtxlabError(f"the tensor map is {kind}, and the instruction takes one that is {other}")
    if rows and (tensor.rank != 2 or tensor.box[0] != 1):
        raise PtxlabError(
            f"the tensor map has a box of {tensor.box}; tile::gather4 and tile::scatter4 take two axes, and "
            "a box of one row"
        )
    if not rows and tensor.rank != coordinates:
        raise PtxlabError(f"the tensor map has {tensor.rank} axes")


def _signal(
    machine: Machine,
    instruction: Instruction,
    threads: Threads,
    places: NDArray[Any],
    bytes_: NDArray[Any],
    masks: NDArray[Any] | None,
) -> None:
    """Bytes have come: the mbarrier hears of it, or that of each block in the mask."""
    if masks is None:
        update_barrier(machine, instruction, threads, places, 0 * bytes_, -bytes_)
        return
    for rank in range(machine.batch.grid.cluster_size):
        ours = masks >> rank & 1 != 0
        if ours.any():
            amount = bytes_[ours]
            there = _in_block(places[ours], rank)
            update_barrier(machine, instruction, threads.where(ours), there, 0 * amount, -amount)


def _in_block(places: NDArray[Any], rank: int | NDArray[Any]) -> NDArray[Any]:
    """Addresses of shared memory in the block of this rank."""
    return np.asarray(places & (1 << RANK_SHIFT) - 1 | rank + 1 << RANK_SHIFT)


def _st_async(instruction: Instruction, context: Context) -> Step:
    """`st.async`: a store to a block of the cluster, and its bytes at an mbarrier there."""
    target, source, barrier = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 32
    items = items_of(source)
    place, signal = address(target, instruction, context), address(barrier, instruction, context)
    reads = readers(items, bits, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        places = place(machine, frame, threads)
        machine.memory.store(instruction, "shared", threads, places, values, "async", True)
        sizes = np.full(threads.count, bits // 8 * len(values), dtype=np.int64)
        update_barrier(machine, instruction, threads, signal(machine, frame, threads), 0 * sizes, -sizes)

    return Step(instruction, execute)


def _red_async(instruction: Instruction, context: Context) -> Step:
    """`red.async`: an atomic operation on a block of the cluster, and its bytes at an mbarrier there."""
    target, source, barrier = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 32
    kind = next(part for part in instruction.parts if part in _REDUCTIONS)
    combine = combination(instruction, kind, instruction.parts[-1], "shared")
    place, signal = address(target, instruction, context), address(barrier, instruction, context)
    read = reader(source, bits, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = read(machine, frame, threads)

        def change(old: NDArray[Any], ours: NDArray[np.intp]) -> NDArray[Any]:
            return combine(old, values[ours])

        machine.memory.update(instruction, "shared", threads, place(machine, frame, threads), bits, change)
        sizes = np.full(threads.count, bits // 8, dtype=np.int64)
        update_barrier(machine, instruction, threads, signal(machine, frame, threads), 0 * sizes, -sizes)

    return Step(instruction, execute)


def _red(instruction: Instruction, context: Context) -> Step:
    if instruction.parts[1] == "async":
        return _red_async(instruction, context)
    return LOADS["red"](instruction, context)


def _st(instruction: Instruction, context: Context) -> Step:
    if instruction.parts[1] == "async":
        return _st_async(instruction, context)
    return LOADS["st"](instruction, context)


_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _reduce_bulk(instruction: Instruction, context: Context) -> Step:
    """`cp.reduce.async.bulk`: every element is an atomic operation."""
    if "tensor" in instruction.parts:
        return _tensor(instruction, context)
    target, source, size, *others = instruction.operands
    to, origin = _spaces(instruction)
    bits = type_bits(instruction.parts[-1]) or 32
    kind = next(part for part in instruction.parts if part in _REDUCTIONS)
    combine = combination(instruction, kind, instruction.parts[-1], to)
    places, sources = address(target, instruction, context), address(source, instruction, context)
    length = reader(size, 32, instruction, context)
    barrier = None
    if any(part.startswith("mbarrier") for part in instruction.parts):
        barrier = address(others[0], instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        sizes = length(machine, frame, threads).astype(np.int64)
        count = sizes * 8 // bits
        which = np.repeat(np.arange(threads.count), count)
        steps = (np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)) * (bits // 8)
        each = Threads.listed(threads.batch, threads.indices[which])
        read_from = sources(machine, frame, threads)[which] + steps
        write_to = places(machine, frame, threads)[which] + steps
        (values,) = machine.memory.load(instruction, origin, each, read_from, bits, 1, "async", True)

        def change(old: NDArray[Any], ours: NDArray[np.intp]) -> NDArray[Any]:
            return combine(old, values[ours])

        machine.memory.update(instruction, to, each, write_to, bits, change)
        if barrier is not None:
            _signal(machine, instruction, threads, barrier(machine, frame, threads), sizes, None)

    return Step(instruction, execute)


BUILDERS: dict[str, Builder] = {"cp": _cp, "mbarrier": _mbarrier, "st": _st, "red": _red}
