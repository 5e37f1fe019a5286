"""Branches, calls, returns, barriers of blocks and clusters, and instructions without an effect here."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted, quoted
from ..device_memory import LOCAL_WINDOW, Memory
from ..events import BufferAccess
from ..hazard import HazardError, Violation, hazard_of
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep, Reduction
from ..ptx.syntax import (
    BUILT_IN,
    Immediate,
    LabelTarget,
    OperandList,
    PtxInstruction,
    Symbol,
    Targets,
    plain_name,
)
from ..waiting import Awaited
from .builders import Context, builds, unsupported
from .operands import Write, address, announced, reader, writer


@builds("bra")
def _bra(instruction: PtxInstruction, context: Context) -> MachineStep:
    target = instruction.operands[-1]
    if not isinstance(target, LabelTarget):
        raise unsupported(instruction)
    destination, origin = target.index, instruction.index

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if active.count:
            machine.branch(frame, origin, destination, active)

    return MachineStep(instruction, control=control)


@builds("brx")
def _brx(instruction: PtxInstruction, context: Context) -> MachineStep:
    choice, targets = instruction.operands
    if not isinstance(targets, Targets):
        raise unsupported(instruction)
    read = reader(choice, 32, instruction, context)
    places = [label.index for label in targets.labels]

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        chosen = read(machine, frame, active)
        for number in np.unique(chosen):
            if number >= len(places):
                raise PtxlabError(
                    f"{instruction.where}: {instruction.opcode}: index {number}, but {len(places)} targets"
                )
            machine.branch(frame, instruction.index, places[number], active.where(chosen == number))

    return MachineStep(instruction, control=control)


@builds("ret", "exit")
def _leave(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`ret` and `exit`."""
    exits = instruction.parts[0] == "exit"

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if not active.count:
            return
        if exits:
            machine.exit(active, instruction)
        else:
            machine.finish(frame, active, instruction)

    return MachineStep(instruction, control=control)


@builds("trap")
def _trap(instruction: PtxInstruction, context: Context) -> MachineStep:
    """The program's own, from `__trap()` or `asm`, or the compiler's, where the code has no meaning."""

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        thread = machine.batch.name(int(threads.indices[0]))
        if not instruction.by_compiler:
            raise PtxlabError(f"{instruction.where}: trap: {thread} stops the kernel")
        raise undefined(
            instruction, threads,
            f"{instruction.where}: trap: {thread} comes to a trap in "
            f"{plain_name(frame.program.function.name)}, which the compiler put in place of code that has no "
            "defined behaviour, such as an access through a null pointer or a write to __constant__ memory",
        )  # fmt: skip

    return MachineStep(instruction, execute)


def undefined(instruction: PtxInstruction, threads: Threads, sentence: str, remedy: str = "") -> HazardError:
    """Threads do what has no meaning, which ends the simulation."""
    violation = Violation("undefined behaviour", instruction, threads.indices, sentence, remedy=remedy)
    return HazardError(sentence, hazard_of(threads.batch, violation))


# -- calls ---------------------------------------------------------------------------------------------------


@builds("call")
def _call(instruction: PtxInstruction, context: Context) -> MachineStep:
    lists = [operand for operand in instruction.operands if isinstance(operand, OperandList)]
    callee = next(operand for operand in instruction.operands if not isinstance(operand, OperandList))
    first_is_list = isinstance(instruction.operands[0], OperandList)
    results = lists[0].items if first_is_list else ()
    arguments = lists[-1].items if len(lists) > first_is_list else ()
    result_names = tuple(item.name for item in results if isinstance(item, Symbol))
    argument_names = tuple(item.name for item in arguments if isinstance(item, Symbol))
    if len(result_names) != len(results) or len(argument_names) != len(arguments):
        raise unsupported(instruction, "a call with registers as arguments")
    unknown = [name for name in (*result_names, *argument_names) if name not in context.local]
    if unknown:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: there is no parameter {unknown[0]}")
    if isinstance(callee, Symbol) and callee.name in BUILT_IN:
        return _built_in(instruction, callee.name, argument_names, result_names, context)
    addresses = None if isinstance(callee, Symbol) else reader(callee, 64, instruction, context)
    name = callee.name if isinstance(callee, Symbol) else ""
    call = _Call(instruction, argument_names, result_names)

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if addresses is None:
            _enter(machine, frame, call, name, active)
            return
        targets = addresses(machine, frame, active)
        for target in np.unique(targets):
            callee_name = machine.launch.functions.get(int(target))
            if callee_name is None:
                callers = active.where(targets == target)
                raise undefined(
                    instruction, callers, f"{instruction.where}: a call of 0x{int(target):x}, which is not a "
                    f"function, by {machine.batch.name(int(callers.indices[0]))}"
                )  # fmt: skip
            _enter(machine, frame, call, callee_name, active.where(targets == target))

    return MachineStep(instruction, control=control)


class _Call(NamedTuple):
    """A `call`, with the names of the caller's variables for arguments and results."""

    instruction: PtxInstruction
    arguments: tuple[str, ...]
    results: tuple[str, ...]


def _enter(machine: Machine, frame: Frame, call: _Call, name: str, threads: Threads) -> None:
    """Let threads go on in a function, with their arguments in its local memory."""
    if not threads.count:
        return
    instruction, arguments, results = call
    key = (instruction.index, name)
    child = frame.children.get(key)
    base = frame.end + frame.stack_size
    if child is None or child.base != base:
        machine.count_frame(frame, instruction, name)
        program = machine.launch.program(name)
        place = machine.launch.symbols[name] + (frame.stack_size << 40)
        position = (*frame.position, instruction.index, place)
        child = Frame(program, position, base, frame)
        child.results = results
        frame.children[key] = child
    program = child.program
    machine.memory.reserve_local(child.base + program.local_size)
    parameters = program.function.parameters
    if len(parameters) != len(arguments):
        raise PtxlabError(
            f"{instruction.where}: {name} takes {len(parameters)} arguments, the call has {len(arguments)}"
        )
    if len(program.function.returns) != len(results):
        returned = counted(len(program.function.returns), "value")
        raise PtxlabError(
            f"{instruction.where}: {name} returns {returned}, the call takes {len(results) or 'none'}"
        )
    memory = machine.memory
    for parameter, argument in zip(parameters, arguments, strict=True):
        source = frame.base + frame.program.local[argument]
        content = memory.local_bytes(threads, source, parameter.size)
        if parameter.space == "reg":
            index = program.register(parameter.name)
            child.write(index, threads, content.view(program.types[index])[:, 0])
        else:
            memory.set_local(threads, child.base + program.local[parameter.name], content)
    child.thread_count += threads.count
    machine.schedule(child, 0, threads)


def _built_in(
    instruction: PtxInstruction,
    name: str,
    arguments: tuple[str, ...],
    results: tuple[str, ...],
    context: Context,
) -> MachineStep:
    """Functions that the driver provides."""
    places = [context.local[argument] for argument in arguments]

    def word(machine: Machine, frame: Frame, threads: Threads, number: int) -> NDArray[np.uint64]:
        content = machine.memory.local_bytes(threads, frame.base + places[number], 8)
        return content.view(np.uint64)[:, 0]

    def allocate(machine: Machine, frame: Frame, threads: Threads) -> None:
        sizes = word(machine, frame, threads, 0).astype(np.int64)
        pointers = machine.memory.heap.allocate(sizes)
        for observer in machine.observers:
            observer.allocated(instruction, threads, pointers, sizes)
        machine.memory.set_local(threads, frame.base + context.local[results[0]], pointers)

    def free(machine: Machine, frame: Frame, threads: Threads) -> None:
        pointers = word(machine, frame, threads, 0)
        threads, pointers = threads.where(pointers > 0), pointers[pointers > 0]
        for observer in machine.observers:
            observer.freed(instruction, threads, pointers)
        for pointer in pointers.tolist():
            machine.memory.heap.free(pointer)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        formats = word(machine, frame, threads, 0)
        if name != "vprintf":
            message = machine.memory.text_at(int(formats[0])).decode(errors="replace")
            thread = machine.batch.name(int(threads.indices[0]))
            raise PtxlabError(f"{instruction.where}: {thread}: the assertion {message!r} failed")
        values = word(machine, frame, threads, 1)
        counts = np.zeros(threads.count, dtype=np.int32)
        for place, thread in enumerate(threads.indices):
            text, printed = formatted(machine.memory, int(formats[place]), int(values[place]), int(thread))
            counts[place] = printed.count
            machine.printed(instruction, printed.buffer_access)
            machine.launch.output(text)
        if results:
            machine.memory.set_local(threads, frame.base + context.local[results[0]], counts)

    if name == "malloc":
        return MachineStep(instruction, allocate)
    if name == "free":
        return MachineStep(instruction, free)
    return MachineStep(instruction, execute)


# -- barriers of a block -------------------------------------------------------------------------------------


@builds("bar", "barrier")
def _bar(instruction: PtxInstruction, context: Context) -> MachineStep:
    parts = instruction.parts
    operands = list(instruction.operands)
    reduces = "red" in parts
    destination = operands.pop(0) if reduces else None
    predicate = reader(operands.pop(), 1, instruction, context) if reduces else None
    number = reader(operands[0], 32, instruction, context)
    count = reader(operands[1], 32, instruction, context) if len(operands) > 1 else None
    waits = "arrive" not in parts
    aligned = parts[0] == "bar" or "aligned" in parts
    finish = None
    if destination is not None:
        finish = _reduction(instruction, writer(destination, instruction))

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if aligned:
            active = machine.whole_warps(frame, instruction, active)
        if not active.count:
            return
        parts = [active]
        if count is not None:
            numbers, counts = number(machine, frame, active), count(machine, frame, active)
            parts = machine.barriers.by_phase(numbers, active, counts)
        for arriving in parts:
            numbers = number(machine, frame, arriving)
            if predicate is not None and finish is not None:
                machine.barriers.vote(numbers, arriving, predicate(machine, frame, arriving))
                machine.reductions[instruction.line] = finish
            expected = None if count is None else count(machine, frame, arriving)
            machine.arrive(frame, instruction, arriving, numbers, expected, waits)

    return MachineStep(instruction, control=control)


@builds("bar.warp")
def _bar_warp(instruction: PtxInstruction, context: Context) -> MachineStep:
    mask = reader(instruction.operands[0], 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.synchronised(instruction, "bar.warp", threads, mask(machine, frame, threads))

    return MachineStep(instruction, execute, convergent_lanes=32, membermask=mask)


@builds("barrier.cluster.arrive")
def _cluster_arrive(instruction: PtxInstruction, context: Context) -> MachineStep:
    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.synchronised(instruction, "barrier.cluster.arrive", threads)
        machine.barrier_changes += machine.cluster_barriers.arrive(threads)

    return MachineStep(instruction, execute)


@builds("barrier.cluster")
def _cluster_wait(instruction: PtxInstruction, context: Context) -> MachineStep:
    """Waits for all threads of the cluster."""

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        passed = machine.cluster_barriers.passed(active)
        if passed.any():
            released = active.where(passed)
            machine.synchronised(instruction, "barrier.cluster.wait", released, completed=True)
            machine.schedule(frame, instruction.index + 1, released)
        if not passed.all():
            machine.sleep(frame, instruction.index, active.where(~passed))

    def awaited(machine: Machine, frame: Frame, threads: Threads) -> Awaited:
        cluster = int(threads.indices[0]) // machine.batch.block_lanes // machine.batch.grid.cluster_size
        arrived, expected = machine.cluster_barriers.state(cluster)
        name, sentence = "the barrier of the cluster", "for the barrier of its cluster"
        first = int(machine.batch.numbers[cluster * machine.batch.grid.cluster_size])
        block = machine.batch.grid.block_of(first)
        return Awaited("cluster barrier", name, sentence, block, arrived=arrived, expected=expected)

    return MachineStep(instruction, control=control, awaited=awaited)


def _reduction(instruction: PtxInstruction, write: Write) -> Reduction:
    parts = instruction.parts

    def finish(frame: Frame, threads: Threads, votes: NDArray[Any], totals: NDArray[Any]) -> None:
        if "popc" in parts:
            write(frame, threads, votes.astype(np.uint32))
        elif "and" in parts:
            write(frame, threads, votes == totals)
        else:
            write(frame, threads, votes > 0)

    return finish


# -- instructions without an effect here ---------------------------------------------------------------------


@builds(
    "membar", "fence", "griddepcontrol", "prefetch", "prefetchu", "discard", "applypriority",
    "brkpt", "pmevent", "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor",
)  # fmt: skip
def _nothing(instruction: PtxInstruction, context: Context) -> MachineStep:
    """Fences, prefetches and hints: in the simulation, memory is always in order."""
    kind = "prefetch" if "prefetch" in instruction.parts else ".".join(instruction.parts[:3])
    if not kind.startswith("fence.proxy.tensormap") or not instruction.operands:
        return announced(instruction, kind)
    place = address(instruction.operands[0], instruction, context)

    def acquire(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.synchronised(instruction, kind, threads, place(machine, frame, threads))

    return MachineStep(instruction, acquire)


@builds("setmaxnreg")
def _setmaxnreg(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`.inc` waits until other warps of the block have given enough registers back with `.dec`."""
    kind = ".".join(instruction.parts[:3])
    operand = instruction.operands[0]
    count = operand.value if isinstance(operand, Immediate) else 0

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if not active.count:
            return
        granted = machine.register_pool.resize(active, count)
        if granted.any():
            resized = active.where(granted)
            machine.barrier_changes += 1
            machine.synchronised(instruction, kind, resized)
            machine.schedule(frame, instruction.index + 1, resized)
        if not granted.all():
            machine.sleep(frame, instruction.index, active.where(~granted))

    def awaited(machine: Machine, frame: Frame, threads: Threads) -> Awaited:
        free, needed = machine.register_pool.state(threads, count)
        number = int(machine.batch.numbers[int(threads.blocks[0])])
        block = machine.batch.grid.block_of(number)
        name = f"registers of its block, for {count} in each thread"
        sentence = f"for {needed} registers, of which the other warps of the block have given back {free}"
        return Awaited("registers", name, sentence, block, arrived=free, expected=needed)

    return MachineStep(instruction, control=control, awaited=awaited)


@builds("nanosleep")
def _nanosleep(instruction: PtxInstruction, context: Context) -> MachineStep:
    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.give_way()

    return MachineStep(instruction, execute)


# -- printf of device code: the format, and the buffer of arguments of vprintf -------------------------------

_MAX_LETTERS = 1 << 16  # that one argument prints
_CONVERSION = re.compile(r"%([-+ #0]*+)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t)?([diouxXcsfFeEgGaAp%])")


def formatted(
    memory: Memory, format_address: int, values_address: int, thread: int
) -> tuple[str, _Arguments]:
    """What one thread prints, and the arguments that the format takes: `printf` returns how many."""
    text = memory.text_at(format_address, thread).decode(errors="replace")
    arguments = _Arguments(memory, values_address, thread)
    printed = _CONVERSION.sub(lambda match: _printed(match, arguments, memory), text)
    return printed, arguments


class _Arguments:
    """The buffer of arguments in the thread's local memory: each aligned to its size."""

    def __init__(self, memory: Memory, address: int, thread: int) -> None:
        self.thread = thread
        self.count = 0
        self._memory = memory
        self._bytes = memory.local_of(thread)
        self._at = self._start = address - LOCAL_WINDOW if address >= LOCAL_WINDOW else address

    @property
    def buffer_access(self) -> BufferAccess:
        """The bytes of the arguments read so far."""
        return self._memory.local_access(self.thread, self._start, self._at)

    def next(self, dtype: str) -> int | float:
        self.count += 1
        size = np.dtype(dtype).itemsize
        self._at = -(-self._at // size) * size
        content = self._bytes[self._at : self._at + size]
        if len(content) < size:
            raise PtxlabError("printf: the format has more conversions than there are arguments")
        self._at += size
        value: int | float = np.ascontiguousarray(content).view(dtype)[0].item()
        return value


def _printed(match: re.Match[str], arguments: _Arguments, memory: Memory) -> str:
    """One conversion of a format with its argument, as C's printf writes it."""
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    width, precision = (str(arguments.next("<i4")) if part == "*" else part for part in (width, precision))
    for text in (width or "", precision or ""):
        if len(text) > len(str(_MAX_LETTERS)) or abs(int(text or 0)) > _MAX_LETTERS:
            raise PtxlabError(
                f"printf: {quoted(match[0])} takes {quoted(text)[1:-1]} letters; at most "
                f"{_MAX_LETTERS} are printed of one argument"
            )
    if precision is not None and precision.startswith("-"):  # C ignores a negative precision
        precision = None
    padded = f"%{flags}{width or ''}s"  # for what Python's % does not write as C does
    layout = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None else "")
    is_long = length in ("l", "ll", "j", "z", "t")
    if kind in "diouxX":
        bits = 64 if is_long else {"h": 16, "hh": 8}.get(length, 32)
        number = int(arguments.next("<i8" if is_long else "<i4")) & (1 << bits) - 1
        if kind in "di":
            number -= (number >> bits - 1) << bits
        if number == 0 and "#" in flags and kind in "xX":
            layout = layout.replace("#", "")
        if number == 0 and precision == "0":  # C prints nothing
            return f"%{width or ''}s" % ""
        if kind == "o" and "#" in flags:  # C prints a leading zero where Python prints 0o
            digits = f"0{number:o}".rjust(int(precision or 0), "0")
            return (f"%{flags.replace('#', '')}{width or ''}s") % digits
        return (layout + kind.replace("u", "d")) % number
    if kind == "c":
        return (layout + "c") % chr(int(arguments.next("<i4")) & 0xFF)
    if kind == "s":
        address = int(arguments.next("<u8"))
        text = memory.text_at(address, arguments.thread) if address else b"(null)"
        return (layout + "s") % text.decode(errors="replace")
    if kind == "p":
        address = int(arguments.next("<u8"))
        return padded % (f"0x{address:x}" if address else "(nil)")
    value = float(arguments.next("<f8"))
    if value != value and math.copysign(1, value) < 0:
        return padded % ("-NAN" if kind.isupper() else "-nan")
    if kind in "aA":
        digits = _hexadecimal(value, None if precision is None else int(precision))
        return padded % (digits.upper() if kind == "A" else digits)
    return (layout + kind) % value


def _hexadecimal(value: float, precision: int | None) -> str:
    """A number as C's %a prints it: with `precision` digits, or without trailing zeros.

    >>> _hexadecimal(0.5, None), _hexadecimal(1 / 3, 3)
    ('0x1p-1', '0x1.555p-2')
    """
    if not math.isfinite(value):
        return f"{value:f}"
    sign, text = ("-", value.hex()[1:]) if math.copysign(1, value) < 0 else ("", value.hex())
    head, _, exponent = text.partition("p")
    whole, _, digits = head.removeprefix("0x").partition(".")
    digits = digits.rstrip("0")
    if precision is not None:
        steps, rest = divmod(int(whole + digits.ljust(13, "0"), 16), 16 ** max(13 - precision, 0))
        half = 16 ** max(13 - precision, 0) / 2
        steps += rest > half or (rest == half and steps & 1)
        whole, digits = f"{steps >> 4 * min(precision, 13):x}", f"{steps:x}"[1:].ljust(precision, "0")
        digits = digits[:precision]
    return f"{sign}0x{whole}{'.' if digits else ''}{digits}p{exponent}"
