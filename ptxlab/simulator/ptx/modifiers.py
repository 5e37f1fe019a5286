"""Signs that the assembler changes where a value is selected.

`neg` and `abs` of f32 are sums with 0 in the machine, which make every NaN the same. Where `selp` chooses
their result, ptxas leaves the sum out: the selection changes the sign itself, and a NaN keeps its bits. Read
off its machine code: also if others use the result, or a `mov` stands in between; not with `.ftz`.
"""

from __future__ import annotations

from typing import NamedTuple

from .dataflow import basic_blocks, read_and_written
from .syntax import Function, Instruction, Register

_SIGNS = ("neg.f32", "abs.f32")


class Modified(NamedTuple):
    """A register whose sign is changed as it is read."""

    register: Register
    kind: str  # "neg" or "abs"


def modified_selections(function: Function) -> dict[int, tuple[Modified | None, Modified | None]]:
    """What `selp.f32` reads instead of its two sources, by its index.

    >>> from ptxlab.simulator.ptx import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k() { .reg .f32 %f<4>; .reg .pred %p;
    ... neg.f32 %f1, %f0; selp.f32 %f3, %f1, %f2, %p; ret; }'''
    >>> modified_selections(read_ptx(text).functions["k"])[1][0].kind
    'neg'
    """
    instructions = function.instructions
    if not any(each.opcode in _SIGNS for each in instructions):
        return {}
    found: dict[int, tuple[Modified | None, Modified | None]] = {}
    for start, end in basic_blocks(function).items():
        held: dict[int, Modified] = {}  # register -> what it is made of
        for instruction in instructions[start:end]:
            if instruction.opcode == "selp.f32" and len(instruction.operands) == 4:
                first, second = (_made_of(operand, held) for operand in instruction.operands[1:3])
                if first is not None or second is not None:
                    found[instruction.index] = first, second
            made = _sign_of(instruction, held)
            written = read_and_written(instruction)[1]
            held = {
                register: modified
                for register, modified in held.items()
                if register not in written and modified.register.index not in written
            }
            if made is not None and made.register.index not in written:
                held.update(dict.fromkeys(written, made))
    return found


def _made_of(operand: object, held: dict[int, Modified]) -> Modified | None:
    return held.get(operand.index) if isinstance(operand, Register) else None


def _sign_of(instruction: Instruction, held: dict[int, Modified]) -> Modified | None:
    """What an instruction writes, if it only changes a sign or copies such a result."""
    if instruction.guard is not None or len(instruction.operands) != 2:
        return None
    source = instruction.operands[1]
    if not isinstance(source, Register):
        return None
    if instruction.opcode in _SIGNS:
        return Modified(source, instruction.parts[0])
    return held.get(source.index) if instruction.opcode in ("mov.f32", "mov.b32") else None
