"""Loads whose value does not always matter: where it is used, decided once for a function.

Compilers let all threads load what only one of them uses. If another thread overwrites the bytes without a
barrier, that harms only those that use what they loaded. Here is found which registers are computed from a
load, and which instructions use them: a branch, an address, a store. A shuffle hands a value to other lanes,
whose uses count as well. A load that surely matters (one that is used by everybody who loads, before the next
branch) has no record, and neither has one whose value goes many ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ptx.dataflow import basic_blocks, constants
from ..ptx.syntax import Function, Immediate, PtxInstruction, Register, registers_of

_MAX_REGISTERS = 64
_MAX_USES = 64


class LoadUses(NamedTuple):
    """What becomes of a loaded value: registers by their numbers, instructions by their ids."""

    function: str
    registers: frozenset[int]
    uses: frozenset[int]  # who executes them uses the value
    decisions: frozenset[int]  # who comes to them does: the value decides whether they are executed
    lane_bits: int  # lanes whose numbers differ in no other bits may have exchanged it


class FunctionLoads:
    """The loads of a function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._effects = [each.effects for each in function.instructions]
        self._constants = constants(function)
        self._readers: dict[int, list[int]] = {}  # of registers
        for index, (read, _) in enumerate(self._effects):
            for register in read:
                self._readers.setdefault(register, []).append(index)
        self._ends = [0] * len(function.instructions)  # of the basic block that each instruction is in
        for start, end in basic_blocks(function).items():
            self._ends[start:end] = [end] * (end - start)

    def uses_of(self, load: PtxInstruction) -> LoadUses | None:
        """The uses of a load whose value may not matter; None if it does."""
        if load.parts[0] not in ("ld", "ldu", "ldmatrix") or self._is_used_at_once(load):
            return None
        instructions = self._function.instructions
        registers = set(self._effects[load.index][1])
        waiting = sorted(registers)
        uses: set[int] = set()
        decisions: set[int] = set()
        lane_bits = 31 if load.parts[0] == "ldmatrix" else 0  # what one lane points at, others get
        while waiting:
            for index in self._readers.get(waiting.pop(), ()):
                instruction = instructions[index]
                bits = self._lane_bits(instruction)
                if bits is not None:
                    lane_bits |= bits
                    fresh = self._effects[index][1] - registers
                    registers |= fresh
                    waiting += sorted(fresh)
                else:
                    uses.add(index)
            if len(registers) > _MAX_REGISTERS or len(uses) > _MAX_USES:
                return None
        for index in uses:
            if _is_decided(instructions[index], registers):
                decisions.add(index)
        return LoadUses(
            self._function.name,
            frozenset(registers),
            frozenset(id(instructions[index]) for index in uses - decisions),
            frozenset(id(instructions[index]) for index in decisions),
            lane_bits,
        )

    def _is_used_at_once(self, load: PtxInstruction) -> bool:
        """Whether all that load also use the value, before they can go separate ways."""
        instructions: Sequence[PtxInstruction] = self._function.instructions
        registers = set(self._effects[load.index][1])
        for index in range(load.index + 1, self._ends[load.index]):
            instruction = instructions[index]
            read, written = self._effects[index]
            if read.isdisjoint(registers):
                if instruction.guard is None:
                    registers -= written
                continue
            if self._lane_bits(instruction) is not None:
                registers |= written
            elif instruction.guard in (None, load.guard) or _is_decided(instruction, registers):
                return True
        return False

    def _lane_bits(self, instruction: PtxInstruction) -> int | None:
        """If results depend on registers of the warp alone: the bits in which numbers of those lanes differ.

        None of anything that does more. A butterfly hands values over between lanes whose numbers differ in
        the bits of its mask; other shuffles may between any.
        """
        if instruction.is_arithmetic:
            return 0
        if instruction.parts[0] != "shfl":
            return None
        mask, value = instruction.operands[2], None
        if "bfly" in instruction.parts and isinstance(mask, Immediate):
            value = mask.value
        elif "bfly" in instruction.parts and isinstance(mask, Register):
            value = self._constants.get(mask.index)
        return 31 if value is None else value & 31


def _is_decided(instruction: PtxInstruction, registers: set[int]) -> bool:
    """Whether its predicate is one of the registers."""
    return any(register.index in registers for register in registers_of(instruction.guard))
