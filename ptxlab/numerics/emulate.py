"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.threads import for_each
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..isa.targets import CHIPS
from .models import Model, model_for
from .rules import Exact

__all__ = ["emulate", "model_of"]

#: Products that a thread works on at once: few enough to stay in its cache, and a large batch takes no more
#: memory than a small one.
_AT_ONCE = {"exact": 1 << 23, "rounded": 1 << 20}


def emulate(operands: Operands, *, model: str | None = None) -> NDArray[Any]:
    """Registers of D, bit for bit as the chip `model` computes them; see `Instruction.emulate`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ones = np.full((32, 4), 0x11111111), np.full((32, 2), 0x11111111)
    >>> emulate(Operands.of(ins, *ones, np.zeros((32, 4), dtype=np.uint32)))[5]
    array([64, 64, 64, 64], dtype=uint32)
    """
    ins = operands.ins
    rule = model_of(ins, model).rule
    count = operands.count
    out = np.empty((count, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    step = max(
        1,
        _AT_ONCE["exact" if isinstance(rule, Exact) else "rounded"]
        // (ins.d.shape[0] * ins.d.shape[1] * ins.k),
    )

    def work(first: int) -> None:
        last = min(first + step, count)
        out[first:last] = ins.d.pack_codes(rule.dot(operands.part(first, last)))

    for_each(work, range(0, count, step))
    return out.reshape(*operands.batch, *out.shape[1:])


def model_of(ins: MmaForm, model: str | None = None) -> Model:
    """The model that `emulate` uses.

    That of the named chip, or sm_90's, or that of a chip that has the instruction.

    >>> import ptxlab
    >>> model = model_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> model.chip, model.evidence
    ('sm_90', 'measured')
    """
    if model is None:
        have = [chip for chip, target in CHIPS.items() if ins.supports(target)]
        model = next((chip for chip in ("sm_90", "sm_120") if chip in have), have[0])
    return model_for(ins, model)
