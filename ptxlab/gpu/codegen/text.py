"""Pieces that the kernels of warps and of warpgroups share."""

from __future__ import annotations

from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand

__all__ = [
    "NAME",
    "code_word",
    "constraint",
    "inputs",
    "operand_list",
    "parameters",
    "pointer",
    "register_word",
    "stores",
    "title",
]

#: Name of the kernel in every generated source.
NAME = "ptxlab_mma"


def inputs(ins: MmaForm) -> list[Operand]:
    """The operands that a kernel reads, in the order of its parameters.

    >>> import ptxlab
    >>> [operand.name for operand in inputs(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))]
    ['A', 'B', 'C', 'E']
    """
    return [operand for name, operand in ins.operands.items() if name != "D"]


def register_word(operand: Operand) -> str:
    """The C++ type of one register."""
    return "unsigned long long" if operand.register_bits == 64 else "unsigned int"


def constraint(operand: Operand) -> str:
    """How inline assembly asks for one register."""
    return "l" if operand.register_bits == 64 else "r"


def code_word(operand: Operand) -> str:
    """The C++ type of one element code of an operand in shared memory, as NumPy passes it."""
    return {8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}[max(8, operand.dtype.bits)]


def _list(names: list[str]) -> str:
    return "{" + ", ".join(names) + "}"


def operand_list(ins: MmaForm, modifiers: Modifiers, names: dict[str, list[str]]) -> str:
    """The operands of the instruction in the ISA's order, from the names of their registers."""
    if ins.family.startswith("wgmma"):
        a = names["A"][0] if ins.a_space == "shared" else _list(names["A"])
        parts = [_list(names["D"]), a, names["B"][0]]
        if ins.sparse:
            parts += [names["E"][0], str(modifiers.selector)]
        parts.append("scale_d")
        immediates = ("imm_scale_a", "imm_scale_b", "imm_trans_a", "imm_trans_b")
        parts += [str(getattr(modifiers, name)) for name in immediates if len(ins.modifiers[name]) > 1]
        return ", ".join(parts)
    parts = [_list(names[operand]) for operand in "DABC"]
    if ins.sparse:
        parts += [names["E"][0], str(modifiers.selector)]
    if ins.scale_vec:
        parts += [names["SFA"][0], f"{{{modifiers.byte_id_a}, {modifiers.thread_id_a}}}"]
        parts += [names["SFB"][0], f"{{{modifiers.byte_id_b}, {modifiers.thread_id_b}}}"]
    return ", ".join(parts)


def title(ins: MmaForm) -> str:
    """A comment line for each operand."""
    return "\n// ".join(operand.describe() for operand in ins.operands.values())


def parameters(ins: MmaForm) -> str:
    """Pointers to what the kernel reads, and to what it writes."""
    words = [
        (operand, code_word(operand) if operand.space == "shared" else register_word(operand))
        for operand in inputs(ins)
    ]
    read = ", ".join(f"const {word}* {operand.name}" for operand, word in words)
    return f"{read},\n    {register_word(ins.d)}* D"


def pointer(operand: Operand) -> str:
    """Where a lane's registers of an operand begin."""
    return f"        const {register_word(operand)}* {operand.name.lower()} = {operand.name} + (i * {operand.lanes} + lane) * {operand.registers};"


def stores(ins: MmaForm) -> str:
    """A lane's registers of D go to memory."""
    at = f"(i * {ins.lanes} + lane) * {ins.d.registers}"
    return f"        for (int r = 0; r < {ins.d.registers}; ++r) D[{at} + r] = d[r];"
