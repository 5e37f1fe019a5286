"""Values exchanged within a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..launch_threads import Threads
from ..machine import Machine, MachineStep
from ..ptx.syntax import PtxInstruction
from .builders import Context, builds, unsupported
from .loads import UFUNCS
from .operands import computed


@builds("shfl")
def _shfl(instruction: PtxInstruction, context: Context) -> MachineStep:
    """As the semantics in PTX ISA, "shfl.sync"."""
    if "sync" not in instruction.parts:
        raise unsupported(instruction)
    mode = next((part for part in instruction.parts if part in ("up", "down", "bfly")), "idx")

    def shuffle(
        machine: Machine, threads: Threads, value: NDArray[Any], by: NDArray[Any], clamp: NDArray[Any]
    ) -> tuple[NDArray[Any], ...]:
        lane = threads.take(machine.batch.lane)
        from_lane, in_range = shuffle_lanes(mode, lane, by, clamp)
        return threads.spread(value)[threads.indices - lane + from_lane], in_range

    return computed(instruction, context, (32, 32, 32), shuffle, instruction.operands[:-1], masked=True)


def shuffle_lanes(
    mode: str, lane: NDArray[np.int64], by: NDArray[Any], clamp: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The lane whose value each lane gets, and whether it is in range; otherwise it gets its own value."""
    by, control = by.astype(np.int64) & 31, clamp.astype(np.int64)
    segment = control >> 8 & 31
    most = lane & segment | control & 31 & ~segment
    sources = {"up": lane - by, "down": lane + by, "bfly": lane ^ by}
    source = sources.get(mode, lane & segment | by & ~segment)
    in_range = source >= most if mode == "up" else source <= most
    return np.where(in_range, source, lane), in_range


@builds("vote")
def _vote(instruction: PtxInstruction, context: Context) -> MachineStep:
    if "sync" not in instruction.parts:
        raise unsupported(instruction)
    kind = next((part for part in instruction.parts if part in ("ballot", "all", "any")), "uni")

    def vote(machine: Machine, threads: Threads, holds: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
        warp = threads.indices >> 5
        votes, present = threads.words(holds)[warp] & mask, threads.words()[warp] & mask
        results = {"ballot": votes, "all": votes == present, "any": votes != 0}
        return np.asarray(results.get(kind, (votes == 0) | (votes == present)))

    return computed(instruction, context, (1, 32), vote, masked=True)


@builds("match")
def _match(instruction: PtxInstruction, context: Context) -> MachineStep:
    bits = 64 if instruction.parts[-1] == "b64" else 32

    def match(
        machine: Machine, threads: Threads, value: NDArray[Any], mask: NDArray[Any]
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        rows = threads.spread(value).reshape(-1, 32)
        equal = rows[:, :, None] == rows[:, None, :]
        words = np.packbits(equal, axis=-1, bitorder="little").view("<u4").reshape(-1).astype(np.uint32)
        present = threads.words()[threads.indices >> 5] & mask
        matches = threads.take(words) & present
        if "any" in instruction.parts:
            return np.asarray(matches)
        agreed = matches == present
        return np.where(agreed, present, 0).astype(np.uint32), agreed

    return computed(instruction, context, (bits, 32), match, masked=True)


_NAN = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_SIGN = np.uint32(1 << 31)


@builds("redux")
def _redux(instruction: PtxInstruction, context: Context) -> MachineStep:
    type_name = instruction.parts[-1]
    kind = next((part for part in instruction.parts if part in UFUNCS), "")
    if type_name == "f32" and kind in ("min", "max"):
        return _redux_f32(instruction, context, kind)
    if not kind or type_name not in ("u32", "s32", "b32"):
        raise unsupported(instruction)
    dtype = np.dtype(np.int32 if type_name == "s32" else np.uint32)
    limits = np.iinfo(dtype)
    start = {"min": limits.max, "max": limits.min, "and": limits.max if dtype.kind == "u" else -1}.get(
        kind, 0
    )

    def reduce(machine: Machine, threads: Threads, value: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
        return _reduced(kind, start, threads, value.view(dtype), mask).view(np.uint32)

    return computed(instruction, context, (32, 32), reduce, masked=True)


def _redux_f32(instruction: PtxInstruction, context: Context, kind: str) -> MachineStep:
    """Floats are compared by their bits, with -0.0 below +0.0; NaNs are left out.

    With `.NaN` the result is NaN if any lane has one; without, only if all have.
    """
    neutral = 0 if kind == "max" else 0xFFFFFFFF
    nan_kind = "or" if "NaN" in instruction.parts else "and"

    def reduce(machine: Machine, threads: Threads, value: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
        magnitudes = value & ~_SIGN
        values = magnitudes if "abs" in instruction.parts else value
        is_nan = magnitudes > _INFINITY
        keys = np.where(values & _SIGN, ~values, values | _SIGN)
        keys = _reduced(kind, neutral, threads, np.where(is_nan, np.uint32(neutral), keys), mask)
        nan = _reduced(nan_kind, int(nan_kind == "and"), threads, is_nan.astype(np.uint32), mask)
        return np.where(nan, _NAN, np.where(keys & _SIGN, keys & ~_SIGN, ~keys))

    return computed(instruction, context, (32, 32), reduce, masked=True)


def _reduced(
    kind: str, start: int, threads: Threads, values: NDArray[Any], mask: NDArray[Any]
) -> NDArray[Any]:
    """For each thread, the reduction over the members of its warp; other lanes count as `start`."""
    results = np.zeros_like(values)
    for membermask in np.unique(mask):
        chosen = mask == membermask
        members = threads.where(chosen)
        rows = np.full(threads.batch.size, start, dtype=values.dtype)
        rows[members.indices] = values[chosen]
        totals = UFUNCS[kind].reduce(rows.reshape(-1, 32), axis=1, dtype=values.dtype)
        results[chosen] = totals[members.indices >> 5]
    return results


@builds("activemask")
def _activemask(instruction: PtxInstruction, context: Context) -> MachineStep:
    def active(machine: Machine, threads: Threads) -> NDArray[Any]:
        return np.asarray(threads.words()[threads.indices >> 5])

    return computed(instruction, context, (), active, instruction.operands[:1])


@builds("elect")
def _elect(instruction: PtxInstruction, context: Context) -> MachineStep:
    """The leader is the lowest lane of the mask."""

    def elect(machine: Machine, threads: Threads, mask: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        present = threads.words()[threads.indices >> 5] & mask
        lowest = np.bitwise_count((present & (~present + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
        return lowest, threads.take(machine.batch.lane) == lowest

    return computed(instruction, context, (32,), elect, masked=True)
