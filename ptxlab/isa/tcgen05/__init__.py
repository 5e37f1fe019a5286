"""The tcgen05 family: products in tensor memory, transfers to and from it, allocation and synchronization.

A form is a mnemonic; for tcgen05.mma also an instruction descriptor, which has the shape and the types. PTX
ISA 9.4, "TensorCore 5th Generation Family Instructions". Large modules load at use, as few kernels need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from .tcgen05_form import (
    CONTROL_FAMILIES,
    FAMILIES,
    MMA_FAMILIES,
    TRANSFER_FAMILIES,
    Tcgen05Form,
    TensorControl,
)

if TYPE_CHECKING:
    from ..location import Slot
    from .tcgen05_mma import COLLECTOR_OPERATIONS, TensorInstruction
    from .tcgen05_transfer import COPY_SHAPES, LOAD_SHAPES, MAX_REGISTERS, UNPACKED, TensorTransfer

__all__ = [
    "COLLECTOR_OPERATIONS",
    "CONTROL_FAMILIES",
    "COPY_SHAPES",
    "FAMILIES",
    "LOAD_SHAPES",
    "MAX_REGISTERS",
    "MMA_FAMILIES",
    "TRANSFER_FAMILIES",
    "UNPACKED",
    "AnyTcgen05",
    "Slot",
    "Tcgen05Form",
    "TensorControl",
    "TensorInstruction",
    "TensorTransfer",
]  # fmt: skip

#: A form of the family; `Tcgen05Form` is what they share.
AnyTcgen05: TypeAlias = "TensorInstruction | TensorTransfer | TensorControl"


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("tcgen05_mma", "tcgen05_transfer"):
            loaded = import_module(f".{module}", __name__)
            if name in vars(loaded):
                return vars(loaded)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
