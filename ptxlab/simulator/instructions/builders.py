"""Builders, which turn an instruction into a step of the machine; modules register them by opcode.

The package imports all modules that have builders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from ...errors import PtxlabError
from ..machine import MachineStep
from ..ptx.syntax import Function, Immediate, Module, PtxInstruction, PtxOperand, Register


@dataclass(frozen=True)
class Context:
    """What decoding an instruction needs: its function, addresses of symbols, offsets of local variables."""

    module: Module
    function: Function
    symbols: dict[str, int]  # addresses in their own space: shared, global, const, parameters of the kernel
    spaces: dict[str, str]
    local: dict[str, int]  # offsets of the function's local variables and parameters in its frame
    constants: dict[int, int]  # registers that only ever hold one number, which ptxas propagates
    repeated: set[int]  # instructions that may be executed several times

    def is_constant(self, operand: PtxOperand) -> bool:
        """Whether ptxas knows the value of an operand."""
        return isinstance(operand, Immediate) or (
            isinstance(operand, Register) and operand.index in self.constants
        )


Builder = Callable[[PtxInstruction, Context], MachineStep]
_B = TypeVar("_B", bound=Builder)
#: Builders by the parts of an opcode that identify it, e.g. ("cp", "async", "bulk").
BUILDERS: dict[tuple[str, ...], Builder] = {}


def builds(*opcodes: str) -> Callable[[_B], _B]:
    """Register a builder for all instructions that have the name and the other parts of one of these.

    What else is known of an instruction by its name is in `..ptx.opcode_sets`.
    """

    def register(builder: _B) -> _B:
        BUILDERS.update(dict.fromkeys((tuple(opcode.split(".")) for opcode in opcodes), builder))
        return builder

    return register


@lru_cache(maxsize=4096)
def builder_of(parts: tuple[str, ...]) -> Builder | None:
    """The builder that names the most parts of an opcode; None if there is none."""
    matching = [entry for entry in BUILDERS if entry[0] == parts[0] and set(entry) <= set(parts)]
    return BUILDERS[max(matching, key=len)] if matching else None


class IllegalError(PtxlabError):
    """What the assembler refuses, whether a thread reaches it or not."""


def unsupported(instruction: PtxInstruction, what: str = "") -> PtxlabError:
    """The error for an instruction that is not simulated."""
    return PtxlabError(f"{instruction.where}: {what or instruction.opcode} is not simulated yet")
