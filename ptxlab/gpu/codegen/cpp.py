"""Pieces of CUDA C++ that several kernels share."""

from __future__ import annotations

from ...isa.mma import MmaForm
from ...isa.operand import Operand

#: Name of the kernel in the source of every mma, wmma and wgmma.
NAME = "ptxlab_mma"


def register_word(operand: Operand) -> str:
    """The C++ type of one register."""
    return "unsigned long long" if operand.register_bits == 64 else "unsigned int"


def constraint(operand: Operand) -> str:
    """How inline assembly passes one register, as a whole number."""
    return "l" if operand.register_bits == 64 else "r"


def code_word(operand: Operand) -> str:
    """The C++ type of one element code of an operand in shared memory, as NumPy passes it."""
    return {8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}[max(8, operand.dtype.bits)]


def title(ins: MmaForm) -> str:
    """A comment line for each operand."""
    return "\n// ".join(operand.describe() for operand in ins.operands.values())


def parameters(ins: MmaForm) -> str:
    """Pointers to what the kernel reads, and to what it writes."""
    read = ", ".join(f"const {_parameter_word(operand)}* {operand.name}" for operand in ins.inputs.values())
    return f"{read},\n    {register_word(ins.d)}* D"


def _parameter_word(operand: Operand) -> str:
    return code_word(operand) if operand.space == "shared" else register_word(operand)


def pointer(operand: Operand) -> str:
    """Where a lane's registers of an operand begin."""
    start = f"{operand.name} + (i * {operand.lanes} + lane) * {operand.registers}"
    return f"        const {register_word(operand)}* {operand.name.lower()} = {start};"


def stores(ins: MmaForm) -> str:
    """A lane's registers of D go to memory."""
    start = f"(i * {ins.lanes} + lane) * {ins.d.registers}"
    return f"        for (int r = 0; r < {ins.d.registers}; ++r) D[{start} + r] = d[r];"
