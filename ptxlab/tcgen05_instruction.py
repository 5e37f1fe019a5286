"""The classes of tcgen05's instructions, for users; `ptxlab.instruction` has the others."""

from __future__ import annotations

from .isa.tcgen05.tcgen05_form import TensorControl
from .isa.tcgen05.tcgen05_mma import TensorInstruction
from .isa.tcgen05.tcgen05_transfer import TensorTransfer

__all__ = ["TensorControl", "TensorInstruction", "TensorTransfer"]
