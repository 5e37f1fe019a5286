"""`ld`, `st`, atomic operations, `cvta` and others that touch the memory of the threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..numerics.scalar import operation
from .machine import Frame, Machine, Step
from .memory import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW
from .operands import Builder, Context, address, items_of, reader, readers, unsupported, writer, writers
from .ptx.syntax import Address, Immediate, Instruction, Operand, Sink, Symbol, Vector, type_bits
from .threads import UNSIGNED, Threads

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
_SPAN = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


def space_of(instruction: Instruction) -> str:
    """The state space in an opcode; "" for generic addresses."""
    return next((_SPACES[part] for part in instruction.parts if part in _SPACES), "")


def _space(instruction: Instruction, operand: Operand, context: Context) -> str:
    """As `space_of`; parameters of device functions and of calls are in local memory."""
    space = space_of(instruction)
    if space != "param" or not isinstance(operand, Address):
        return space
    base = operand.base
    if isinstance(base, Symbol) and base.name in context.local:
        return "local"
    return "global"


def _element(instruction: Instruction) -> tuple[int, int, bool]:
    """Bits of an element, how many there are, whether a narrow one is extended by its sign."""
    kind = instruction.parts[-1]
    bits = type_bits(kind)
    if bits is None:
        raise unsupported(instruction)
    count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)
    return bits, count, kind.startswith("s")


def _ld(instruction: Instruction, context: Context) -> Step:
    bits, count, signed = _element(instruction)
    destination, source, *_ = instruction.operands
    space = _space(instruction, source, context)
    read = address(source, instruction, context)
    writes = writers(destination, instruction, signed)
    if len(writes) != count:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes {count} registers")
    if bits == 1:
        raise unsupported(instruction)
    polls = any(part in ("volatile", "acquire", "relaxed") for part in instruction.parts)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.polled |= polls
        places = read(machine, frame, threads)
        parts = machine.memory.load(instruction, space, threads, places, bits, count)
        for write, part in zip(writes, parts, strict=True):
            write(frame, threads, part)

    return Step(instruction, execute)


def _st(instruction: Instruction, context: Context) -> Step:
    bits, count, _ = _element(instruction)
    target, source, *_ = instruction.operands
    space = _space(instruction, target, context)
    place = address(target, instruction, context)
    if bits not in UNSIGNED or bits == 1:
        raise unsupported(instruction)
    items = items_of(source)
    if len(items) != count:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes {count} registers")
    reads = readers(items, bits, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        machine.memory.store(instruction, space, threads, place(machine, frame, threads), values)

    return Step(instruction, execute)


# -- addresses -----------------------------------------------------------------------------------------------


def _cvta(instruction: Instruction, context: Context) -> Step:
    destination, source = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 64
    window = _SPAN.get(space_of(instruction), 0)
    back = "to" in instruction.parts
    if isinstance(source, Symbol) and source.name in context.local:
        window = LOCAL_WINDOW
    if window and bits < 64:
        raise unsupported(instruction, "a generic address of 32 bits")
    read = reader(source, bits, instruction, context)
    write = writer(destination, instruction)
    step = UNSIGNED[bits].type(window)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = read(machine, frame, threads)
        if window:
            values = values - step if back else values + step
        write(frame, threads, values)

    return Step(instruction, execute)


def _isspacep(instruction: Instruction, context: Context) -> Step:
    destination, source = instruction.operands
    space = space_of(instruction)
    read = reader(source, 64, instruction, context)
    write = writer(destination, instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = read(machine, frame, threads).astype(np.int64)
        shared = values >> 32 == SHARED_WINDOW >> 32
        local = values >> 32 == LOCAL_WINDOW >> 32
        if space == "shared":
            write(frame, threads, shared)
        elif space == "local":
            write(frame, threads, local)
        else:
            const = np.zeros(threads.count, dtype=np.bool_)
            for buffer in machine.memory.buffers if space in ("const", "global") else ():
                if buffer.space == "const":
                    const |= (values >= buffer.start) & (values < buffer.start + buffer.data.size)
            write(frame, threads, const if space != "global" else ~(shared | local | const))

    return Step(instruction, execute)


def _mapa(instruction: Instruction, context: Context) -> Step:
    """The address of the same place in another block of the cluster."""
    destination, source, rank = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 64
    read = reader(source, bits, instruction, context)
    number = reader(rank, 32, instruction, context)
    write = writer(destination, instruction)
    one = UNSIGNED[bits].type(1)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = read(machine, frame, threads)
        ranks = number(machine, frame, threads).astype(values.dtype) + one
        inside = values & ~(ranks.dtype.type(0xFF) << ranks.dtype.type(RANK_SHIFT))
        write(frame, threads, inside | ranks << ranks.dtype.type(RANK_SHIFT))

    return Step(instruction, execute)


def _getctarank(instruction: Instruction, context: Context) -> Step:
    destination, source = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 64
    read = reader(source, bits, instruction, context)
    write = writer(destination, instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        rank = (read(machine, frame, threads).astype(np.int64) >> RANK_SHIFT & 0xFF) - 1
        own = threads.take(machine.special("%cluster_ctarank")).astype(np.int64)
        write(frame, threads, np.where(rank < 0, own, rank).astype(np.uint32))

    return Step(instruction, execute)


def _createpolicy(instruction: Instruction, context: Context) -> Step:
    write = writer(instruction.operands[0], instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, threads.constant(0, UNSIGNED[64]))

    return Step(instruction, execute)


# -- the stack -----------------------------------------------------------------------------------------------

_STACK_ALIGNMENT = 16


def _alloca(instruction: Instruction, context: Context) -> Step:
    """Local memory of a size that each thread states, until `stackrestore` or the end of the function."""
    destination, size, *others = instruction.operands
    alignment = others[0].value if others and isinstance(others[0], Immediate) else _STACK_ALIGNMENT
    bits = type_bits(instruction.parts[-1]) or 64
    read = reader(size, bits, instruction, context)
    write = writer(destination, instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        used = _stack(frame, threads)
        starts = -(-(frame.end + used[threads.indices]) // alignment) * alignment
        used[threads.indices] = starts + read(machine, frame, threads).astype(np.int64) - frame.end
        most = -(-int(used.max()) // _STACK_ALIGNMENT) * _STACK_ALIGNMENT
        frame.stack_size = max(frame.stack_size, most)
        machine.memory.reserve_local(frame.end + frame.stack_size)
        write(frame, threads, starts.astype(UNSIGNED[bits]))

    return Step(instruction, execute)


def _stacksave(instruction: Instruction, context: Context) -> Step:
    write = writer(instruction.operands[0], instruction)
    dtype = UNSIGNED[type_bits(instruction.parts[-1]) or 64]

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, (frame.end + _stack(frame, threads)[threads.indices]).astype(dtype))

    return Step(instruction, execute)


def _stackrestore(instruction: Instruction, context: Context) -> Step:
    read = reader(instruction.operands[0], type_bits(instruction.parts[-1]) or 64, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        _stack(frame, threads)[threads.indices] = read(machine, frame, threads).astype(np.int64) - frame.end

    return Step(instruction, execute)


def _stack(frame: Frame, threads: Threads) -> NDArray[np.int64]:
    """How many bytes each thread of the batch has allocated in a function."""
    if frame.stack is None:
        frame.stack = np.zeros(threads.batch.size, dtype=np.int64)
    return frame.stack


# -- atomic operations ---------------------------------------------------------------------------------------

_REDUCTIONS = ("add", "min", "max", "and", "or", "xor", "inc", "dec")
_ATOMIC = (*_REDUCTIONS, "exch", "cas")


def _atom(instruction: Instruction, context: Context) -> Step:
    parts = instruction.parts
    reduces = parts[0] == "red"
    if "async" in parts:
        raise unsupported(instruction)
    kind = next((part for part in parts if part in (_REDUCTIONS if reduces else _ATOMIC)), "")
    type_name = next((part for part in reversed(parts) if type_bits(part) is not None), "")
    bits = type_bits(type_name)
    if not kind or bits is None or bits not in UNSIGNED:
        raise unsupported(instruction)
    operands = list(instruction.operands)
    destination = Sink() if reduces else operands.pop(0)
    space = space_of(instruction)
    if any(part in ("v2", "v4", "v8") for part in parts):
        return _vector_atom(instruction, context, destination, operands, kind, type_name)
    place = address(operands[0], instruction, context)
    reads = readers(operands[1 : 3 if kind == "cas" else 2], bits, instruction, context)
    write = writer(destination, instruction)
    if kind == "add" and type_name[0] in "us" and bits in (32, 64):

        def add(machine: Machine, frame: Frame, threads: Threads) -> None:
            machine.polled = True
            values = reads[0](machine, frame, threads)
            old = machine.memory.add(instruction, space, threads, place(machine, frame, threads), values)
            write(frame, threads, old)

        return Step(instruction, add)
    combine = combination(instruction, kind, type_name, space)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.polled = True
        values = [read(machine, frame, threads) for read in reads]

        def change(old: NDArray[Any], ours: NDArray[np.intp]) -> NDArray[Any]:
            return combine(old, *(value[ours] for value in values))

        places = place(machine, frame, threads)
        write(frame, threads, machine.memory.update(instruction, space, threads, places, bits, change))

    return Step(instruction, execute)


def _vector_atom(
    instruction: Instruction,
    context: Context,
    destination: Operand,
    operands: list[Operand],
    kind: str,
    type_name: str,
) -> Step:
    """Each element is atomic on its own."""
    bits = type_bits(type_name) or 32
    source = operands[1]
    if not isinstance(source, Vector):
        raise unsupported(instruction)
    place = address(operands[0], instruction, context)
    reads = readers(source.items, bits, instruction, context)
    targets = destination.items if isinstance(destination, Vector) else (Sink(),) * len(reads)
    writes = tuple(writer(target, instruction) for target in targets)
    space = space_of(instruction)
    combine = combination(instruction, kind, type_name, space)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        for number, (read, write) in enumerate(zip(reads, writes, strict=True)):
            values = read(machine, frame, threads)

            def change(
                old: NDArray[Any], ours: NDArray[np.intp], values: NDArray[Any] = values
            ) -> NDArray[Any]:
                return combine(old, values[ours])

            at = places + number * bits // 8
            write(frame, threads, machine.memory.update(instruction, space, threads, at, bits, change))

    return Step(instruction, execute)


def combination(
    instruction: Instruction, kind: str, type_name: str, space: str
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
        function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind]
        return lambda old, value: function(old, value)
    opcode = f"{kind}.{type_name}"
    if kind == "add" and ("f" in type_name):
        opcode = f"add.rn.{type_name}"
        if type_name == "f32" and space != "shared":
            opcode = "add.rn.ftz.f32"  # in global memory subnormal numbers count as 0 (PTX ISA, "atom")
    scalar = operation(opcode)
    if scalar is None:
        raise unsupported(instruction)

    def combine(old: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(scalar.function(old, value))

    return combine


BUILDERS: dict[str, Builder] = {
    "ld": _ld,
    "ldu": _ld,
    "st": _st,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "mapa": _mapa,
    "getctarank": _getctarank,
    "createpolicy": _createpolicy,
    "alloca": _alloca,
    "stacksave": _stacksave,
    "stackrestore": _stackrestore,
    "atom": _atom,
    "red": _atom,
}
