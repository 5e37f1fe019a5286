"""`ld`, `st`, `cvta`, the stack and atomic operations: what one thread does with memory.

Transfers by a whole warp are in `matrices.py`, copies that end later in `asynchronous.py` and its neighbours.
PTX ISA, "Data Movement and Conversion Instructions" and "Parallel Synchronization and Communication
Instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...numerics.scalar import operation
from ..device_memory import (
    LOCAL_WINDOW,
    MAX_LOCAL,
    PARAM_WINDOW,
    RANK_SHIFT,
    SHARED_WINDOW,
    AtomicUpdate,
    atomic_add,
    in_block,
    serialised,
)
from ..launch_threads import UNSIGNED, Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import (
    Address,
    Immediate,
    Module,
    PtxInstruction,
    PtxOperand,
    Register,
    Sink,
    Symbol,
    Vector,
    type_bits,
)
from .builders import Context, IllegalError, builds, unsupported
from .operands import address, computed, items_of, reader, readers, writer, writers

_SPACES = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "shared::cluster": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def space_of(instruction: PtxInstruction) -> str:
    """The state space in an opcode; "" for generic addresses."""
    return next((_SPACES[part] for part in instruction.parts if part in _SPACES), "")


def _space_and_address(
    instruction: PtxInstruction, operand: PtxOperand, context: Context
) -> tuple[str, PtxOperand]:
    """The state space of an access, and its address there.

    Parameters of device functions and of calls are in local memory, those of the kernel in a window of global
    memory.
    """
    space = space_of(instruction)
    if space != "param" or not isinstance(operand, Address):
        return space, operand
    base = operand.base
    of_kernel = context.function.entry or "param::entry" in instruction.parts
    is_local = base.name in context.local if isinstance(base, Symbol) else not of_kernel
    if is_local:
        return "local", operand
    return "global", replace(operand, offset=operand.offset + PARAM_WINDOW)


def _element(instruction: PtxInstruction) -> tuple[int, int, bool]:
    """Bits of an element, the number of elements, and whether a narrow one is sign-extended."""
    kind = instruction.parts[-1]
    bits = type_bits(kind)
    if bits is None:
        raise unsupported(instruction)
    count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)
    return bits, count, kind.startswith("s")


@builds("ld", "ldu")
def _ld(instruction: PtxInstruction, context: Context) -> MachineStep:
    bits, count, signed = _element(instruction)
    destination, source, *_ = instruction.operands
    space, source = _space_and_address(instruction, source, context)
    read_address = address(source, instruction, context)
    writes = writers(destination, instruction, signed)
    if len(writes) != count:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes {count} registers")
    if bits == 1:
        raise unsupported(instruction)
    polls = any(part in ("volatile", "acquire", "relaxed") for part in instruction.parts)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.polled |= polls
        addresses = read_address(machine, frame, threads)
        parts = machine.memory.load(instruction, space, threads, addresses, bits, count)
        for write, part in zip(writes, parts, strict=True):
            write(frame, threads, part)

    return MachineStep(instruction, execute)


@builds("st")
def plain_store(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`st`: each register of the vector to its element; `st.async` without an mbarrier stores like this."""
    bits, count, _ = _element(instruction)
    target, source, *_ = instruction.operands
    space, target = _space_and_address(instruction, target, context)
    read_address = address(target, instruction, context)
    if bits not in UNSIGNED or bits == 1:
        raise unsupported(instruction)
    items = items_of(source)
    if len(items) != count:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes {count} registers")
    reads = readers(items, bits, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        machine.memory.store(instruction, space, threads, read_address(machine, frame, threads), values)

    return MachineStep(instruction, execute)


_MAX_BULK = 1 << 24


@builds("st.bulk")
def _st_bulk(instruction: PtxInstruction, context: Context) -> MachineStep:
    """Zeros for a number of bytes of shared memory; an ordinary weak store (PTX ISA, "st.bulk")."""
    target, size, value = instruction.operands
    if not isinstance(value, Immediate) or value.value != 0:
        raise IllegalError(f"{instruction.where}: {instruction.opcode} stores zeros: its last operand is 0")
    space = space_of(instruction)
    read_address = address(target, instruction, context)
    wide = isinstance(size, Register) and type_bits(size.type) == 64
    length = reader(size, 64 if wide else 32, instruction, context, "bsu")

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        sizes = length(machine, frame, threads).astype(np.int64)
        wrong = (sizes % 8 != 0) | (sizes < 0) | (sizes > _MAX_BULK)
        if wrong.any():
            raise PtxlabError(f"{int(sizes[wrong][0])} bytes: st.bulk takes multiples of 8 up to {_MAX_BULK}")
        counts = np.minimum(sizes, machine.memory.shared_size) // 8  # more is out of bounds in any case
        which = np.repeat(np.arange(threads.count), counts)
        steps = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        repeated = Threads.listed(threads.batch, threads.indices[which])
        zeros = np.zeros(len(which), dtype=UNSIGNED[64])
        addresses = read_address(machine, frame, threads)[which] + 8 * steps
        if len(which):
            machine.memory.store(instruction, space, repeated, addresses, [zeros])

    return MachineStep(instruction, execute)


# -- addresses -----------------------------------------------------------------------------------------------


@builds("cvta")
def _cvta(instruction: PtxInstruction, context: Context) -> MachineStep:
    _, source = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 64
    window = _WINDOWS.get(space_of(instruction), 0)
    if isinstance(source, Symbol) and source.name in context.local:
        window = LOCAL_WINDOW
    if window and bits < 64:
        raise unsupported(instruction, "a generic address of 32 bits")
    step = UNSIGNED[bits].type(window)
    back = "to" in instruction.parts

    def convert(machine: Machine, threads: Threads, values: NDArray[Any]) -> NDArray[Any]:
        if not window:
            return values
        return np.asarray(values - step if back else values + step)

    return computed(instruction, context, (bits,), convert)


@builds("isspacep")
def _isspacep(instruction: PtxInstruction, context: Context) -> MachineStep:
    space = space_of(instruction)

    def is_in_space(machine: Machine, threads: Threads, values: NDArray[Any]) -> NDArray[Any]:
        addresses = values.astype(np.int64)
        in_window = {name: addresses >> 32 == start >> 32 for name, start in _WINDOWS.items()}
        if space in in_window:
            return np.asarray(in_window[space])
        const = np.zeros(threads.count, dtype=np.bool_)
        for buffer in machine.memory.buffers:
            if buffer.space == "const":
                const |= (addresses >= buffer.start) & (addresses < buffer.start + buffer.size)
        if space == "const":
            return const
        # on an H200, parameters count as global memory
        elsewhere = [inside for name, inside in in_window.items() if name != "param"]
        return np.asarray(~(const | np.any(elsewhere, axis=0)))

    return computed(instruction, context, (64,), is_in_space)


@builds("mapa")
def _mapa(instruction: PtxInstruction, context: Context) -> MachineStep:
    """The address of the same byte in another block of the cluster."""

    def map_address(
        machine: Machine, threads: Threads, values: NDArray[Any], rank: NDArray[Any]
    ) -> NDArray[Any]:
        word = values.dtype.type
        ranks = rank.astype(values.dtype) + word(1)
        return np.asarray(values & ~(word(0xFF) << word(RANK_SHIFT)) | ranks << word(RANK_SHIFT))

    bits = type_bits(instruction.parts[-1]) or 64
    return computed(instruction, context, (bits, 32), map_address)


def is_in_leader(instruction: PtxInstruction, module: Module) -> bool:
    """Whether an `and` maps a shared address to the even block of a CTA pair, by clearing bit 24 of it.

    On the chip, shared addresses of a cluster have the rank of the block in bits 24 and up, also within that
    block; CUTLASS relies on that for .cta_group::2 (`Sm100MmaPeerBitMask`). Here a block's own addresses have
    0 there.
    """
    if instruction.parts != ("and", "b32"):
        return False
    masks = [operand.value & 0xFFFFFFFF for operand in instruction.operands if isinstance(operand, Immediate)]
    return any(mask >> RANK_SHIFT == 0xFE for mask in masks) and any(
        "cta_group::2" in other.parts for other in module.instructions
    )


def in_leader(instruction: PtxInstruction, context: Context) -> MachineStep:
    """An `and` as in `is_in_leader`: the address in the even block of the pair."""

    def mask_address(
        machine: Machine, threads: Threads, first: NDArray[Any], second: NDArray[Any]
    ) -> NDArray[Any]:
        addresses, masks = (
            (first, second) if isinstance(instruction.operands[2], Immediate) else (second, first)
        )
        if machine.batch.grid.cluster_size == 1:
            return np.asarray(addresses & masks)
        rank = (addresses.astype(np.int64) >> RANK_SHIFT) - 1
        own_rank = threads.take(machine.special("%cluster_ctarank")).astype(np.int64)
        leader = np.where(rank < 0, own_rank, rank) & ~1
        return in_block(addresses.astype(np.int64) & masks.astype(np.int64), leader).astype(np.uint32)

    return computed(instruction, context, (32, 32), mask_address)


@builds("getctarank")
def _getctarank(instruction: PtxInstruction, context: Context) -> MachineStep:
    def rank_of(machine: Machine, threads: Threads, addresses: NDArray[Any]) -> NDArray[Any]:
        rank = (addresses.astype(np.int64) >> RANK_SHIFT & 0xFF) - 1
        own_rank = threads.take(machine.special("%cluster_ctarank")).astype(np.int64)
        return np.where(rank < 0, own_rank, rank).astype(np.uint32)

    bits = type_bits(instruction.parts[-1]) or 64
    return computed(instruction, context, (bits,), rank_of)


@builds("createpolicy")
def _createpolicy(instruction: PtxInstruction, context: Context) -> MachineStep:
    def policy(machine: Machine, threads: Threads) -> NDArray[Any]:
        return threads.constant(0, UNSIGNED[64])

    return computed(instruction, context, (), policy, instruction.operands[:1])


# -- the stack -----------------------------------------------------------------------------------------------

_STACK_ALIGNMENT = 16


@builds("alloca")
def _alloca(instruction: PtxInstruction, context: Context) -> MachineStep:
    """Local memory of a size that each thread states, until `stackrestore` or the end of the function."""
    destination, size, *others = instruction.operands
    alignment = others[0].value if others and isinstance(others[0], Immediate) else _STACK_ALIGNMENT
    bits = type_bits(instruction.parts[-1]) or 64
    read = reader(size, bits, instruction, context)
    write = writer(destination, instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        used = _stack(frame, threads)
        starts = -(-(frame.end + used[threads.indices]) // alignment) * alignment
        # one byte more than there may be is refused
        sizes = np.minimum(read(machine, frame, threads), MAX_LOCAL + 1).astype(np.int64)
        used[threads.indices] = starts + sizes - frame.end
        most = -(-int(used.max()) // _STACK_ALIGNMENT) * _STACK_ALIGNMENT
        frame.stack_size = max(frame.stack_size, most)
        machine.memory.reserve_local(frame.end + frame.stack_size)
        write(frame, threads, starts.astype(UNSIGNED[bits]))

    return MachineStep(instruction, execute)


@builds("stacksave")
def _stacksave(instruction: PtxInstruction, context: Context) -> MachineStep:
    write = writer(instruction.operands[0], instruction)
    dtype = UNSIGNED[type_bits(instruction.parts[-1]) or 64]

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, (frame.end + _stack(frame, threads)[threads.indices]).astype(dtype))

    return MachineStep(instruction, execute)


@builds("stackrestore")
def _stackrestore(instruction: PtxInstruction, context: Context) -> MachineStep:
    read = reader(instruction.operands[0], type_bits(instruction.parts[-1]) or 64, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        _stack(frame, threads)[threads.indices] = read(machine, frame, threads).astype(np.int64) - frame.end

    return MachineStep(instruction, execute)


def _stack(frame: Frame, threads: Threads) -> NDArray[np.int64]:
    """The bytes that each thread of the batch has allocated in a function."""
    if frame.stack is None:
        frame.stack = np.zeros(threads.batch.size, dtype=np.int64)
    return frame.stack


# -- atomic operations ---------------------------------------------------------------------------------------

#: Integer reductions that NumPy has.
UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
REDUCTIONS = (*UFUNCS, "inc", "dec")
_ATOMIC = (*REDUCTIONS, "exch", "cas")


@builds("atom", "red")
def atomic_update(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`atom`, and `red`, which has no destination: threads with equal addresses follow each other."""
    parts = instruction.parts
    reduces = parts[0] == "red"
    kind = next((part for part in parts if part in (REDUCTIONS if reduces else _ATOMIC)), "")
    type_name = next((part for part in reversed(parts) if type_bits(part) is not None), "")
    bits = type_bits(type_name)
    if not kind or bits is None or bits not in UNSIGNED:
        raise unsupported(instruction)
    operands = list(instruction.operands)
    destination = Sink() if reduces else operands.pop(0)
    space = space_of(instruction)
    read_address = address(operands[0], instruction, context)
    is_integer_sum = kind == "add" and type_name[0] in "us" and bits in (32, 64)
    combine = None if is_integer_sum else combination(instruction, kind, type_name, space)
    targets = (destination,) if combine is None else items_of(destination)
    rows: list[tuple[PtxOperand, ...]] = [tuple(operands[1 : 3 if kind == "cas" else 2])]
    if combine is not None and not {"v2", "v4", "v8"}.isdisjoint(parts):  # each element is atomic on its own
        if not isinstance(operands[1], Vector):
            raise unsupported(instruction)
        rows = [(item,) for item in operands[1].items]
        if isinstance(destination, Sink):
            targets *= len(rows)
    elements = [
        (readers(row, bits, instruction, context), writer(target, instruction))
        for row, target in zip(rows, targets, strict=True)
    ]

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.polled = True
        addresses = read_address(machine, frame, threads)
        for number, (reads, write) in enumerate(elements):
            values = [read(machine, frame, threads) for read in reads]
            change = atomic_add(*values) if combine is None else combined(combine, values)
            at = addresses + number * bits // 8 if number else addresses
            write(frame, threads, machine.memory.update(instruction, space, threads, at, bits, change))

    return MachineStep(instruction, execute)


def combined(combine: Callable[..., NDArray[Any]], values: Sequence[NDArray[Any]]) -> AtomicUpdate:
    """An update in which threads with equal addresses follow each other, each with its own values."""
    return serialised(lambda old, ours: combine(old, *(value[ours] for value in values)))


def combination(
    instruction: PtxInstruction, kind: str, type_name: str, space: str
) -> Callable[..., NDArray[Any]]:
    """Old value and operands -> new value."""
    if kind == "exch":
        return lambda old, value: value
    if kind == "cas":
        return lambda old, compare, value: np.asarray(np.where(old == compare, value, old))
    if kind == "inc":
        return lambda old, most: np.where(old >= most, 0, old + old.dtype.type(1)).astype(old.dtype)
    if kind == "dec":
        return lambda old, most: np.where((old == 0) | (old > most), most, old - old.dtype.type(1))
    if kind in ("and", "or", "xor"):
        return UFUNCS[kind]
    opcode = f"{kind}.{type_name}"
    if kind == "add" and ("f" in type_name):
        opcode = f"add.rn.{type_name}"
        if type_name == "f32" and space != "shared" and "noftz" not in instruction.parts:
            opcode = "add.rn.ftz.f32"  # in global memory subnormal numbers count as 0 (PTX ISA, "atom")
    scalar = operation(opcode)
    if scalar is None:
        raise unsupported(instruction)

    def combine(old: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(scalar.function(old, value))

    return combine
