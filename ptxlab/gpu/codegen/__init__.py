"""CUDA C++ and PTX text around one instruction: its line, an asm statement, a module, and the kernel."""

from __future__ import annotations

from ...isa.form import Form
from ...isa.modifiers import Modifiers
from ...isa.tcgen05 import Tcgen05Control, Tcgen05Mma, Tcgen05Transfer
from ...isa.transfer import TransferForm
from . import tcgen05_mma, tcgen05_transfer, transfer
from .cpp import NAME
from .mma import warp_source, warpgroup_source
from .ptx import mma_form, ptx_line
from .statement import declarations, ptx_module, statement

__all__ = ["NAME", "declarations", "ptx_line", "ptx_module", "source", "statement"]


def source(form: Form, modifiers: Modifiers | None = None) -> str:
    """The kernel: lanes load their registers, the instruction runs, lanes store theirs, for a whole batch.

    For tcgen05, words go to tensor memory and back. Selectors, immediate scales and transposes are constants
    of the instruction, hence part of the source.

    >>> import ptxlab
    >>> text = source(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> text.count("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {"), f"void {NAME}(" in text
    (1, True)
    """
    if isinstance(form, TransferForm):
        return transfer.source([form])
    if isinstance(form, Tcgen05Mma):
        return tcgen05_mma.source(form, modifiers or Modifiers())
    if isinstance(form, Tcgen05Transfer):
        return tcgen05_transfer.source(form)
    if isinstance(form, Tcgen05Control):
        return tcgen05_transfer.control_source(form)
    ins = mma_form(form)
    if ins.family.startswith("wgmma"):
        return warpgroup_source(ins, modifiers or Modifiers())
    return warp_source(ins, modifiers or Modifiers())
