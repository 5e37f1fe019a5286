"""CUDA C++ and PTX text around one instruction: its line, an asm statement, a module, and the kernel."""

from __future__ import annotations

from functools import singledispatch

from ...isa.form import Form
from ...isa.modifiers import Modifiers
from ...isa.tcgen05 import TensorControl, TensorInstruction, TensorTransfer
from ...isa.transfer import Transfer
from . import tcgen05_mma_kernel, tcgen05_transfer_kernel, transfer_kernel
from .cpp import NAME
from .mma_kernel import warp_source, warpgroup_source
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
    return _source(form, modifiers or Modifiers())


@singledispatch
def _source(form: Form, modifiers: Modifiers) -> str:
    ins = mma_form(form)
    return (warpgroup_source if ins.family.startswith("wgmma") else warp_source)(ins, modifiers)


_source.register(TensorInstruction, tcgen05_mma_kernel.source)
_source.register(TensorTransfer, lambda form, _: tcgen05_transfer_kernel.source(form))
_source.register(TensorControl, lambda form, _: tcgen05_transfer_kernel.control_source(form))
_source.register(Transfer, lambda form, _: transfer_kernel.source([form]))
