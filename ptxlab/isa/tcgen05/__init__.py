"""The tcgen05 family: matrices multiplied in tensor memory, data moved to and from it, and what goes around.

A form is a mnemonic; of tcgen05.mma also an instruction descriptor, since shape and types are there. PTX ISA
9.4, "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from typing import TypeAlias

from .control import Tcgen05Control
from .form import CONTROL_FAMILIES, FAMILIES, MMA_FAMILIES, TRANSFER_FAMILIES, Tcgen05Form
from .mma import COLLECTOR_OPERATIONS, Tcgen05Mma
from .transfer import COPY_SHAPES, LOAD_SHAPES, MOST_REGISTERS, UNPACKED, Slot, Tcgen05Transfer

__all__ = [
    "COLLECTOR_OPERATIONS",
    "CONTROL_FAMILIES",
    "COPY_SHAPES",
    "FAMILIES",
    "LOAD_SHAPES",
    "MMA_FAMILIES",
    "MOST_REGISTERS",
    "TRANSFER_FAMILIES",
    "UNPACKED",
    "AnyTcgen05",
    "Slot",
    "Tcgen05Control",
    "Tcgen05Form",
    "Tcgen05Mma",
    "Tcgen05Transfer",
]

#: A form of the family; `Tcgen05Form` is what they share.
AnyTcgen05: TypeAlias = Tcgen05Mma | Tcgen05Transfer | Tcgen05Control
