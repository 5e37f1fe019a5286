"""Who wrote a value: the instructions that made it, backwards to the arguments.

Nothing is recorded while a launch runs. The instructions between two snapshots are executed once more and
written down, from the last ones backwards, until everything that was asked for is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.mma import Instruction
from ...isa.parse import parse
from ..device_memory import SHARED_START
from ..events import Access, Inspection, Observer
from ..instructions.warps import shuffle_lanes
from ..launch_threads import Threads
from ..machine import Frame, Machine
from ..ptx.syntax import Immediate, Pair, PtxInstruction, PtxOperand, Register, Vector, registers_of

_MOST_SHOWN = 60  # rows of the picture


@dataclass
class Origin:
    """Where a value comes from: the instruction and thread that wrote it last, and what that read.

    `what` is the value that was asked for. An origin without an instruction says in `note` why it is the
    last: an argument as it was passed, a parameter, a constant.
    """

    what: str
    position: int | None = None
    opcode: str = ""
    line: int = 0
    where: str = ""
    block: tuple[int, int, int] | None = None
    warp: int | None = None  # of the launch
    lane: int | None = None
    note: str = ""
    sources: list[Origin] = field(default_factory=list)
    #: What `DebugSession.follow` goes on with, where it was not followed further.
    rest: Target | None = field(default=None, repr=False, compare=False)

    def json(self) -> dict[str, Any]:
        """The whole tree, as JSON has it."""
        values = {name: value for name, value in vars(self).items() if name != "rest"}
        return {**values, "sources": [source.json() for source in self.sources]}

    def walk(self) -> Iterator[Origin]:
        """This origin and all behind it."""
        yield self
        for source in self.sources:
            yield from source.walk()

    @property
    def sentence(self) -> str:
        """This origin without those behind it."""
        if self.position is None:
            return f"{self.what}: {self.note}"
        text = f"{self.what}: {self.opcode} at {self.where}, warp {self.warp}, lane {self.lane}"
        return f"{text}, position {self.position}{f' ({self.note})' if self.note else ''}"

    def __str__(self) -> str:
        lines: list[str] = []

        def add(origin: Origin, depth: int) -> None:
            lines.append("  " * depth + origin.sentence)
            for source in origin.sources:
                add(source, depth + 1)

        add(self, 0)
        more = [f"... and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else []
        return "\n".join([*lines[:_MOST_SHOWN], *more])

    __repr__ = __str__


class Target(NamedTuple):
    """What is looked for: a register of a thread, or bytes of an array; and before which position."""

    before: int
    origin: Origin
    frame: Frame | None = None
    register: int = -1
    thread: int = -1
    data: NDArray[np.uint8] | None = None
    first: int = 0
    last: int = 0  # behind the last byte


@dataclass
class _Event:
    """An instruction that was executed."""

    position: int
    instruction: PtxInstruction
    threads: Threads
    frame: Frame
    accesses: list[Access] = field(default_factory=list)
    lanes: tuple[NDArray[Any], ...] = ()  # of shfl: by how much, and the clamp, for each thread


class _Session(Protocol):
    """What is needed of a session: motion, and the names of its arrays."""

    @property
    def position(self) -> int:
        """How many instructions have been executed."""

    def go_to(self, target: int) -> None:
        """Be at a position."""

    def snapshot_before(self, position: int) -> int:
        """The number of the last snapshot that is not behind a position."""

    def rewind(self, number: int) -> tuple[int, int]:
        """Go back to a snapshot: its position, and the instructions of the batches before."""

    def observed(self, observers: tuple[Observer, ...], target: int) -> None:
        """Execute up to a position, and tell observers of it."""

    def title_of(self, data: NDArray[np.uint8]) -> str:
        """What messages call an array."""


class EventLog(Observer):
    """Everything that is executed, in order."""

    def __init__(self, base: int) -> None:
        self.events: list[_Event] = []
        self._base = base
        self._machine: Machine | None = None

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, to read positions."""
        if isinstance(machine, Machine) and self._machine is None:
            self._machine = machine

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Write down an instruction."""
        machine = self._machine
        if machine is None or machine.frame is None or threads.batch is not machine.batch:
            return
        event = _Event(self._base + machine.clock - 1, instruction, threads, machine.frame)
        if instruction.parts[0] == "shfl":
            event.lanes = tuple(
                _values(operand, machine.frame, threads) for operand in instruction.operands[2:4]
            )
        self.events.append(event)

    def accessed(self, access: Access) -> None:
        """Write down an access of the last instruction."""
        if self.events and self.events[-1].instruction is access.instruction:
            self.events[-1].accesses.append(access)


def _values(operand: PtxOperand, frame: Frame, threads: Threads) -> NDArray[Any]:
    if isinstance(operand, Register):
        return frame.read(operand.index, threads).copy()
    value = operand.value if isinstance(operand, Immediate) else 0
    return np.full(threads.count, value, dtype=np.uint32)


def trace(session: _Session, targets: Sequence[Target], most: int) -> None:
    """Fill in the origins of targets, and of what their instructions read, up to so many instructions."""
    here = session.position
    end = min(here, max(target.before for target in targets))
    left = most
    pending = list(targets)
    number = session.snapshot_before(max(end - 1, 0))
    while pending and number >= 0 and left > 0:
        begin, base = session.rewind(number)
        log = EventLog(base)
        session.observed((log,), end)
        writers: dict[tuple[int, int], list[_Event]] = {}
        stores: dict[tuple[int, int], list[tuple[_Event, Access]]] = {}
        for event in log.events:
            for register in event.instruction.registers[1]:
                writers.setdefault((id(event.frame), register.index), []).append(event)
            for access in event.accesses:
                if access.kind != "read":
                    for part in access.buffer_accesses:
                        stores.setdefault(_place(part.data), []).append((event, access))
        waiting, pending = pending, []
        while waiting and left > 0:
            waiting.sort(key=lambda target: target.before)
            target = waiting.pop()
            found = _last_writer(target, writers, stores)
            if found is None:
                pending.append(target)
                continue
            left -= 1
            event, thread = found
            _describe(target.origin, event, thread)
            for source in _sources(event, thread, target):
                if isinstance(source, Origin):
                    target.origin.sources.append(source)
                    continue
                target.origin.sources.append(source.origin)
                waiting.append(source)
        pending += waiting
        end = begin
        number = session.snapshot_before(begin - 1) if begin else -1
    for target in pending:
        if left <= 0:
            target.origin.note, target.origin.rest = "not followed further", target
        elif target.data is None:
            target.origin.note = "never written"
        else:
            target.origin.note = session.title_of(target.data) + ", as it was at the beginning"
    session.go_to(here)


def _place(data: NDArray[np.uint8]) -> tuple[int, int]:
    return data.ctypes.data, data.size


def _last_writer(
    target: Target,
    writers: dict[tuple[int, int], list[_Event]],
    stores: dict[tuple[int, int], list[tuple[_Event, Access]]],
) -> tuple[_Event, int] | None:
    """The last instruction that wrote a target, and the thread that did."""
    if target.data is None:
        for event in reversed(writers.get((id(target.frame), target.register), [])):
            if event.position < target.before and _has(event.threads, target.thread):
                return event, target.thread
        return None
    for event, access in reversed(stores.get(_place(target.data), [])):
        if event.position >= target.before:
            continue
        for part in access.buffer_accesses:
            if _place(part.data) == _place(target.data):
                hit = (part.offsets < target.last) & (part.offsets + access.width > target.first)
                if hit.any():
                    return event, int(part.threads[np.flatnonzero(hit)[-1]])
    return None


def _has(threads: Threads, thread: int) -> bool:
    at = int(np.searchsorted(threads.indices, thread))
    return at < threads.count and int(threads.indices[at]) == thread


def _describe(origin: Origin, event: _Event, thread: int) -> None:
    """Say which instruction and thread wrote a value."""
    batch, instruction = event.threads.batch, event.instruction
    number = int(batch.numbers[thread // batch.block_lanes])
    origin.position, origin.opcode = event.position, instruction.opcode
    origin.line, origin.where = instruction.source_line, instruction.where
    origin.block = batch.grid.block_of(number)
    origin.warp = number * batch.grid.warps + thread % batch.block_lanes // 32
    origin.lane = thread % 32


def _sources(event: _Event, thread: int, target: Target) -> Iterator[Target | Origin]:
    """What an instruction read to write a target: registers of threads, bytes of memory, constants."""
    instruction, before = event.instruction, event.position
    parts, operands = instruction.parts, instruction.operands
    first = thread // 32 * 32

    def registers(registers: Sequence[Register], of: int = thread) -> Iterator[Target]:
        for register in dict.fromkeys(registers):
            name = register.name if of == thread else f"{register.name} of lane {of % 32}"
            yield Target(before, Origin(name), event.frame, register.index, of)

    def content(access: Access, of: int, offset: int, size: int) -> Iterator[Target]:
        for part in access.buffer_accesses:
            for place in np.flatnonzero(part.threads == of)[:1]:
                start = int(part.offsets[place]) + offset
                name = f"bytes {start} to {start + size - 1} of {part.title or access.space + ' memory'}"
                if access.space == "shared":
                    name = f"shared memory, bytes from {int(access.addresses[place]) + offset - SHARED_START}"
                yield Target(before, Origin(name), data=part.data, first=start, last=start + size)

    reads = [access for access in event.accesses if access.kind != "write"]
    if target.data is not None:  # what a store, an atomic operation or a copy wrote
        if parts[0] in ("st", "atom", "red"):
            items = operands[1 + (parts[0] == "atom")] if len(operands) > 1 else operands[-1]
            values = list(registers_of(items))
            if isinstance(items, Vector) and parts[0] == "st" and values:
                access = event.accesses[-1]
                for part in access.buffer_accesses:
                    for place in np.flatnonzero(part.threads == thread)[:1]:
                        size = access.width // len(items.items)
                        number = max(target.first - int(part.offsets[place]), 0) // size
                        values = list(registers_of(items.items[min(number, len(items.items) - 1)]))
            yield from registers(values)
            if not values:
                yield Origin("a constant", note=instruction.opcode)
            if parts[0] != "st":
                yield Target(before, Origin("the value before"), data=target.data, first=target.first,
                             last=target.last)  # fmt: skip
            return
        writes = [access for access in event.accesses if access.kind != "read"]
        for wrote, read in zip(writes, reads, strict=False):
            for part, source in zip(wrote.buffer_accesses, read.buffer_accesses, strict=False):
                hit = (part.offsets < target.last) & (part.offsets + wrote.width > target.first)
                places = np.flatnonzero(hit)
                if len(places) and len(part.offsets) == len(source.offsets) and wrote.width == read.width:
                    place = int(places[-1])
                    shift = max(target.first - int(part.offsets[place]), 0)
                    start = int(source.offsets[place]) + shift
                    size = min(target.last - target.first, wrote.width)
                    title = source.title or read.space + " memory"
                    name = f"bytes {start} to {start + size - 1} of {title}"
                    yield Target(before, Origin(name), data=source.data, first=start, last=start + size)
                    return
        yield Origin(f"what {instruction.opcode} copied", note="its source is not followed")
        return
    written = [register.index for register in instruction.registers[1]]
    number = written.index(target.register)
    if parts[0] in ("ld", "ldu", "atom") and reads:
        size = reads[0].width // max(len(written), 1)
        yield from content(reads[0], thread, number * size, size)
        return
    if parts[0] == "ldmatrix" and reads and "b16" in parts:
        lane = thread % 32
        if "trans" in parts:
            for row in (2 * (lane % 4), 2 * (lane % 4) + 1):
                yield from content(reads[0], first + 8 * number + row, 2 * (lane // 4), 2)
        else:
            yield from content(reads[0], first + 8 * number + lane // 4, 4 * (lane % 4), 4)
        return
    if parts[0] == "shfl" and event.lanes:
        at = int(np.searchsorted(event.threads.indices, thread))
        mode = next((part for part in parts if part in ("up", "down", "bfly")), "idx")
        by, clamp = (values[at : at + 1] for values in event.lanes)
        lanes, _ = shuffle_lanes(mode, np.array([thread % 32]), by, clamp)
        yield from registers(list(registers_of(operands[1])), first + int(lanes[0]))
        return
    if parts[0] == "mma" and isinstance(form := _form(instruction), Instruction):
        yield from _product_sources(event, form, thread, number)
        return
    inputs = list(instruction.registers[0])
    if parts[0] == "wgmma":
        inputs = [register for register in instruction.registers[1] if register.index == target.register]
        spans = sorted({int(at) for access in reads for at in access.addresses})
        if spans:
            yield Origin(f"shared memory from byte {spans[0] - SHARED_START} on", note="A and B of wgmma")
    yield from registers(inputs)
    if not inputs:
        text = getattr(operands[-1], "name", None) or "a constant"
        if parts[0] == "ld":
            text = "a parameter of the kernel"
        yield Origin(text, note=f"{instruction.opcode} reads no register")


def _form(instruction: PtxInstruction) -> object:
    try:
        return parse(instruction.opcode)
    except PtxlabError:
        return None


def _product_sources(event: _Event, ins: Instruction, thread: int, number: int) -> Iterator[Target]:
    """The registers of A's row, of B's column and of C that an element of D of `mma` is made from."""
    first, lane = thread // 32 * 32, thread % 32
    a, b, c, d = (operand.layout for operand in (ins.a, ins.b, ins.c, ins.d))
    if a is None or b is None or c is None or d is None:  # as in wmma, whose lanes PTX leaves open
        return
    per_register = d.elements // ins.d.registers
    wanted: dict[tuple[str, int, int], None] = {}
    for element in range(number * per_register, (number + 1) * per_register):
        row, column = d.coords()[lane, element].tolist()
        for name, layout, count, places in (
            ("C", c, ins.c.registers, [(row, column)]),
            ("A", a, ins.a.registers, [(row, k) for k in range(a.shape[1])]),
            ("B", b, ins.b.registers, [(k, column) for k in range(b.shape[0])]),
        ):
            for place in places:
                holder, at = layout.locate(*place)
                wanted[name, holder, at * count // layout.elements] = None
    vectors = dict(zip("DABC", event.instruction.operands, strict=False))
    seen: set[tuple[int, int]] = set()
    for name, holder, index in wanted:
        items = [register for item in _items(vectors[name]) for register in registers_of(item)]
        if index < len(items) and (items[index].index, holder) not in seen:
            seen.add((items[index].index, holder))
            origin = Origin(f"{name}: {items[index].name} of lane {holder}")
            yield Target(event.position, origin, event.frame, items[index].index, first + holder)


def _items(operand: PtxOperand) -> tuple[PtxOperand, ...]:
    if isinstance(operand, Pair):
        return (operand.first,)
    return operand.items if isinstance(operand, Vector) else (operand,)
