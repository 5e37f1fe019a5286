"""Values exchanged within a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .machine import Frame, Machine, Step
from .operands import Builder, Context, reader, unsupported, writer
from .ptx.syntax import Instruction, Operand, Pair, Sink
from .threads import Threads


def _pair(operand: Operand) -> tuple[Operand, Operand]:
    """``d|p``, or a d alone."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _shfl(instruction: Instruction, context: Context) -> Step:
    """PTX ISA, "shfl.sync", its semantics word for word."""
    if "sync" not in instruction.parts:
        raise unsupported(instruction)
    mode = instruction.parts[2]
    result, source, b, c, members = instruction.operands
    first, second = _pair(result)
    write, write_in_range = writer(first, instruction), writer(second, instruction)
    value, amount, clamp, mask = (
        reader(operand, 32, instruction, context) for operand in (source, b, c, members)
    )

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        lane = threads.take(machine.batch.lane)
        by = amount(machine, frame, threads).astype(np.int64) & 31
        control = clamp(machine, frame, threads).astype(np.int64)
        segment = control >> 8 & 31
        most = lane & segment | control & 31 & ~segment
        if mode == "up":
            source_lane = lane - by
            in_range = source_lane >= most
        elif mode == "down":
            source_lane = lane + by
            in_range = source_lane <= most
        elif mode == "bfly":
            source_lane = lane ^ by
            in_range = source_lane <= most
        else:
            source_lane = lane & segment | by & ~segment
            in_range = source_lane <= most
        from_lane = np.where(in_range, source_lane, lane)
        values = threads.spread(value(machine, frame, threads))
        write(frame, threads, values[threads.indices - lane + from_lane])
        write_in_range(frame, threads, in_range)

    return Step(instruction, execute, together=32, members=mask)


def _vote(instruction: Instruction, context: Context) -> Step:
    if "sync" not in instruction.parts:
        raise unsupported(instruction)
    kind = instruction.parts[2]
    result, predicate, members = instruction.operands
    write = writer(result, instruction)
    holds = reader(predicate, 1, instruction, context)
    mask = reader(members, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        warp = threads.indices >> 5
        asked = mask(machine, frame, threads)
        votes = threads.words(holds(machine, frame, threads))[warp] & asked
        present = threads.words()[warp] & asked
        if kind == "ballot":
            write(frame, threads, votes)
        elif kind == "all":
            write(frame, threads, votes == present)
        elif kind == "any":
            write(frame, threads, votes != 0)
        else:
            write(frame, threads, (votes == 0) | (votes == present))

    return Step(instruction, execute, together=32, members=mask)


def _match(instruction: Instruction, context: Context) -> Step:
    kind = instruction.parts[1]
    bits = 64 if instruction.parts[-1] == "b64" else 32
    result, source, members = instruction.operands
    first, second = _pair(result)
    write, write_all = writer(first, instruction), writer(second, instruction)
    value, mask = reader(source, bits, instruction, context), reader(members, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        rows = threads.spread(value(machine, frame, threads)).reshape(-1, 32)
        equal = rows[:, :, None] == rows[:, None, :]
        words = np.packbits(equal, axis=-1, bitorder="little").view("<u4").reshape(-1).astype(np.uint32)
        asked = mask(machine, frame, threads)
        present = threads.words()[threads.indices >> 5] & asked
        matches = threads.take(words) & present
        if kind == "any":
            write(frame, threads, matches)
        else:
            agreed = matches == present
            write(frame, threads, np.where(agreed, present, 0).astype(np.uint32))
            write_all(frame, threads, agreed)

    return Step(instruction, execute, together=32, members=mask)


def _redux(instruction: Instruction, context: Context) -> Step:
    type_name = instruction.parts[-1]
    functions: dict[str, Any] = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }  # fmt: skip
    kind = next((part for part in instruction.parts if part in functions), "")
    if not kind or type_name not in ("u32", "s32", "b32"):
        raise unsupported(instruction)
    result, source, members = instruction.operands
    write = writer(result, instruction)
    value, mask = reader(source, 32, instruction, context), reader(members, 32, instruction, context)
    dtype = np.dtype(np.int32 if type_name == "s32" else np.uint32)
    limits = np.iinfo(dtype)
    start = {"min": limits.max, "max": limits.min, "and": limits.max if dtype.kind == "u" else -1}.get(
        kind, 0
    )

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        asked = mask(machine, frame, threads)
        values = value(machine, frame, threads).view(dtype)
        results = np.zeros(threads.count, dtype=dtype)
        for members_of in np.unique(asked):
            ours = asked == members_of
            those = threads if ours.all() else threads.where(ours)
            rows = np.full(machine.batch.size, start, dtype=dtype)
            rows[those.indices] = values[ours]
            totals = functions[kind].reduce(rows.reshape(-1, 32), axis=1, dtype=dtype)
            results[ours] = totals[those.indices >> 5]
        write(frame, threads, results.view(np.uint32))

    return Step(instruction, execute, together=32, members=mask)


def _activemask(instruction: Instruction, context: Context) -> Step:
    write = writer(instruction.operands[0], instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, threads.words()[threads.indices >> 5])

    return Step(instruction, execute)


def _elect(instruction: Instruction, context: Context) -> Step:
    """The leader is the lowest lane of the mask."""
    result, members = instruction.operands
    first, second = _pair(result)
    write, write_leader = writer(first, instruction), writer(second, instruction)
    mask = reader(members, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        present = threads.words()[threads.indices >> 5] & mask(machine, frame, threads)
        lowest = np.bitwise_count((present & (~present + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
        write(frame, threads, lowest)
        write_leader(frame, threads, threads.take(machine.batch.lane) == lowest)

    return Step(instruction, execute, together=32, members=mask)


BUILDERS: dict[str, Builder] = {
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "elect": _elect,
}
