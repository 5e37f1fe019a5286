"""What instructions of a function read and write, and in which order they may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from .syntax import Function, Immediate, LabelTarget, Location, PtxInstruction, Targets

_MAX_SEARCHED = 1000  # instructions among which the use of a result is searched for


def register_bits(numbers: Iterable[int]) -> int:
    """Numbers of registers as the bits of an integer."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def successors(instructions: tuple[PtxInstruction, ...], index: int) -> list[int]:
    """Indices of the instructions that threads may execute next; beyond the last, the function ends."""
    instruction = instructions[index]
    opcode = instruction.parts[0]
    targets = branch_targets(instruction) if opcode in ("bra", "brx") else []
    if opcode not in ("bra", "brx", "ret", "exit") or instruction.guard is not None:
        targets.append(index + 1)
    return targets


def branch_targets(instruction: PtxInstruction) -> list[int]:
    """The indices of the labels that an instruction names."""
    targets: list[int] = []
    for operand in instruction.operands:
        if isinstance(operand, LabelTarget):
            targets.append(operand.index)
        elif isinstance(operand, Targets):
            targets += [label.index for label in operand.labels]
    return targets


def in_lines_of_use(instructions: tuple[PtxInstruction, ...]) -> tuple[PtxInstruction, ...]:
    """Instructions that NVRTC moved to another branch have line 0: give them the line that uses their result.

    If nothing uses it, as with stores, they keep line 0. A `trap` gets the line from which threads come.
    """

    def location(instruction: PtxInstruction) -> Location | None:
        place = instruction.location
        if place is None or place.line:
            return place
        nearest = _last_before if instruction.parts[0] == "trap" else _first_use
        return nearest(instructions, instruction.index) or place

    return tuple(
        each if (place := location(each)) is each.location else replace(each, location=place)
        for each in instructions
    )


def _last_before(instructions: tuple[PtxInstruction, ...], index: int) -> Location | None:
    """The location of the nearest instruction with a line on a way to one; None if there is none."""
    before: dict[int, list[int]] = {}
    for place in range(len(instructions)):
        for target in successors(instructions, place):
            before.setdefault(target, []).append(place)
    visited = {index}
    behind = [index]
    for here in behind:  # grows
        location = instructions[here].location
        if location is not None and location.line:
            return location
        behind += (fresh := [place for place in before.get(here, ()) if place not in visited])
        visited.update(fresh)
    return None


def _first_use(instructions: tuple[PtxInstruction, ...], index: int) -> Location | None:
    """The location of the nearest instruction that reads the result of one; None if there is none."""
    results = instructions[index].effects[1]
    visited: set[int] = set()
    ahead = [index] if results else []
    for here in ahead:  # grows
        if len(ahead) > _MAX_SEARCHED:
            break
        for place in successors(instructions, here):
            if place in visited or place >= len(instructions):
                continue
            visited.add(place)
            read, written = instructions[place].effects
            location = instructions[place].location
            if location is not None and location.line and not results.isdisjoint(read):
                return location
            if results.isdisjoint(written):
                ahead.append(place)
    return None


def open_end(instructions: tuple[PtxInstruction, ...]) -> PtxInstruction | None:
    """An instruction from which threads come to a function's end without `ret`; None if there is none."""
    for instruction in reversed(instructions):
        if len(instructions) in successors(instructions, instruction.index):
            traps = instruction.parts[0] == "trap" and instruction.guard is None
            return None if traps else instruction
    return None


def basic_blocks(function: Function) -> dict[int, int]:
    """Basic blocks: index of the first instruction -> index after the last."""
    instructions = function.instructions
    leaders = {0}
    for index, instruction in enumerate(instructions):
        if instruction.parts[0] in ("bra", "brx", "ret", "exit"):
            leaders |= {*successors(instructions, index), index + 1}
    ordered = sorted(leader for leader in leaders if leader < len(instructions))
    return dict(pairwise([*ordered, len(instructions)]))


def constants(function: Function) -> dict[int, int]:
    """Registers that are written only once, by a `mov` of a number, and the bits of the number."""
    writes: Counter[int] = Counter()
    values: dict[int, int] = {}
    for instruction in function.instructions:
        written = instruction.effects[1]
        writes.update(written)
        if instruction.parts[0] == "mov" and len(written) == 1:  # one may divide a number between several
            (register,), source = written, instruction.operands[-1]
            if isinstance(source, Immediate):
                values[register] = source.value
    return {register: value for register, value in values.items() if writes[register] == 1}


def repeated(function: Function) -> set[int]:
    """Instructions that may be executed several times: those from a label to a branch back to it.

    >>> from ptxlab.simulator.ptx.reader import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k() { .reg .b32 %r; .reg .pred %p; mov.u32 %r, 0;
    ... AGAIN: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 9; @%p bra AGAIN; ret; }'''
    >>> sorted(repeated(read_ptx(text).functions["k"]))
    [1, 2, 3]
    """
    loops: set[int] = set()
    for index in range(len(function.instructions)):
        for target in successors(function.instructions, index):
            loops.update(range(target, index + 1))
    return loops
