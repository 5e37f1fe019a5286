"""What instructions of a function read and write, and in which order they may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from .syntax import Function, Immediate, LabelTarget, PtxInstruction, Targets


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
