"""Which instructions and addresses depend on what a kernel reads from memory.

A prediction knows the values of the arrays that it is given, and some of the blocks. If values decide how
much work there is, as a mask of blocks or a table of indices does, other values take other times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ptx.dataflow import successors
from ..ptx.syntax import Address, Function, Module, PtxInstruction, registers_of

_LOADS = ("ld", "ldu", "atom", "tex", "tld4", "suld")
_ACCESSES = ("ld", "ldu", "st", "atom", "red", "cp")
_OWN = ("param", "const", "shared", "local")  # memory that no array is in


class Dependence(NamedTuple):
    """Branches whose direction, and accesses whose address depends on values in global memory."""

    branches: tuple[PtxInstruction, ...]
    addresses: tuple[PtxInstruction, ...]


def dependence(module: Module) -> Dependence:
    """What depends on values in memory, as far as registers and shared memory carry them."""
    branches: list[PtxInstruction] = []
    accesses: list[PtxInstruction] = []
    for function in module.functions.values():
        loaded = _loaded(function)
        for instruction in function.instructions:
            if instruction.parts[0] in ("bra", "brx") and not loaded.isdisjoint(instruction.effects[0]):
                sides = successors(function.instructions, instruction.index)
                if not any(_traps(function, place) for place in sides):  # a check of indices ends in a trap
                    branches.append(instruction)
            elif _is_global(instruction, _ACCESSES) and not loaded.isdisjoint(
                _address_registers(instruction)
            ):
                accesses.append(instruction)
    return Dependence(tuple(branches), tuple(accesses))


def _loaded(function: Function) -> set[int]:
    """Registers that hold what was loaded, or what was computed from that."""
    loaded: set[int] = set()
    shared = False  # whether shared memory has such values
    while True:
        before = len(loaded), shared
        for instruction in function.instructions:
            read, written = instruction.effects
            if _is_global(instruction, _LOADS) or not loaded.isdisjoint(read):
                loaded.update(written)
            if "shared" in _space(instruction):
                if instruction.parts[0] == "st" and not loaded.isdisjoint(read):
                    shared = True
                if instruction.parts[0] == "cp":
                    shared = True
                if instruction.parts[0] == "ld" and shared:
                    loaded.update(written)
        if before == (len(loaded), shared):
            return loaded


def _space(instruction: PtxInstruction) -> str:
    """The first part of an opcode that names a state space; empty for generic addresses."""
    names = (part for part in instruction.parts if part.partition("::")[0] in ("global", *_OWN))
    return next(names, "")


def _is_global(instruction: PtxInstruction, opcodes: tuple[str, ...]) -> bool:
    """Whether an instruction of these reads or writes global memory, or may by its generic address."""
    if instruction.parts[0] not in opcodes:
        return False
    if instruction.parts[0] == "cp":
        return "global" in instruction.parts
    return not _space(instruction).startswith(_OWN)


def _address_registers(instruction: PtxInstruction) -> Iterator[int]:
    for operand in instruction.operands:
        if isinstance(operand, Address):
            yield from (register.index for register in registers_of(operand))


def _traps(function: Function, place: int) -> bool:
    for instruction in function.instructions[place:]:
        if instruction.parts[0] in ("bra", "brx", "ret", "exit"):
            return False
        if instruction.parts[0] == "trap":
            return True
    return False
