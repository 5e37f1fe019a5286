"""CUDA C++ source with the one PTX instruction in it: lanes load their registers, the instruction runs, lanes store theirs."""

from __future__ import annotations

from ...errors import PtxlabError
from ...isa.form import Form
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.transfer import TransferForm
from . import transfer, warp, warpgroup
from .text import NAME, inputs, operand_list

__all__ = ["NAME", "inputs", "ptx_line", "source"]


def ptx_line(form: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))
    'wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};'
    """
    if isinstance(form, TransferForm):
        return transfer.ptx_line(form)
    ins = _mma(form)
    single = {"E": ["%e"], "SFA": ["%sfa"], "SFB": ["%sfb"]}
    names = {
        n: single.get(n) or [f"%{n.lower()}{i}" for i in range(o.registers)] or [f"%{n.lower()}_desc"]
        for n, o in ins.operands.items()
    }
    return f"{ins.mnemonic} {operand_list(ins, ins.check_modifiers(modifiers or Modifiers()), names)};"


def source(form: Form, modifiers: Modifiers | None = None) -> str:
    """The kernel: arrays of registers in, array of registers out, one launch for a whole batch.

    Selectors, immediate scales and transpositions are constants of the instruction, so they are part of the source.

    >>> import ptxlab
    >>> text = source(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> text.count("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {"), f"void {NAME}(" in text
    (1, True)
    """
    if isinstance(form, TransferForm):
        return transfer.source([form])
    ins = _mma(form)
    make = warpgroup.source if ins.family.startswith("wgmma") else warp.source
    return make(ins, ins.check_modifiers(modifiers or Modifiers()))


def _mma(form: Form) -> MmaForm:
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic}: ptxlab generates no kernel for it")
    return form
