"""CUDA C++ source with the one PTX instruction in it: lanes load their registers, the instruction runs, lanes store theirs."""

from __future__ import annotations

from ..instruction import Instruction, Modifiers
from . import warp, warpgroup
from .text import NAME, inputs, operand_list

__all__ = ["NAME", "inputs", "ptx_line", "source"]


def ptx_line(ins: Instruction, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))
    'wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};'
    """
    single = {"E": ["%e"], "SFA": ["%sfa"], "SFB": ["%sfb"]}
    names = {n: single.get(n) or [f"%{n.lower()}{i}" for i in range(o.registers)] or [f"%{n.lower()}_desc"] for n, o in ins.operands.items()}
    return f"{ins.mnemonic} {operand_list(ins, (modifiers or Modifiers()).check(ins), names)};"


def source(ins: Instruction, modifiers: Modifiers | None = None, swizzle: int = 0) -> str:
    """The kernel: arrays of registers in, array of registers out, one launch for a whole batch.

    Selectors, immediate scales and transpositions are constants of the instruction, so they are part of the source; `swizzle`
    is that of all tiles in shared memory.

    >>> import ptxlab
    >>> text = source(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> text.count("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {"), f"void {NAME}(" in text
    (1, True)
    """
    make = warpgroup.source if ins.family.startswith("wgmma") else warp.source
    return make(ins, (modifiers or Modifiers()).check(ins), swizzle)
