"""What all instructions of tcgen05 have, their families and types; allocation and synchronization."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._util.arguments import as_text, is_a
from ...errors import PtxlabError, listing, quoted
from ..dtypes import DType, dtype
from ..operand import Operand
from ..targets import SM_107, PtxVersion
from ..verbs import ExecutableForm

if TYPE_CHECKING:
    from ..tensor_operand import TensorOperand

MMA_FAMILIES: tuple[str, ...] = ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
TRANSFER_FAMILIES: tuple[str, ...] = ("tcgen05.ld", "tcgen05.st", "tcgen05.cp", "tcgen05.shift")
#: Instructions that accompany them in a kernel, and what these do.
CONTROL_FAMILIES: dict[str, str] = {
    "tcgen05.alloc": "allocates columns of tensor memory",
    "tcgen05.dealloc": "frees columns of tensor memory",
    "tcgen05.relinquish_alloc_permit": "gives up the right to allocate tensor memory",
    "tcgen05.commit": "signals an mbarrier when earlier tcgen05 instructions are complete",
    "tcgen05.fence": "orders tcgen05 instructions with those before or after it",
    "tcgen05.wait": "waits until tcgen05.ld or tcgen05.st is complete",
}
FAMILIES: tuple[str, ...] = (*MMA_FAMILIES, *TRANSFER_FAMILIES, *CONTROL_FAMILIES)

#: Untyped elements, and types that only these instructions have.
TYPES: dict[str, DType] = {
    "b32": DType("b32", 32, "bits", False, np.uint32, note="32 bits of any type"),
    "b16": DType("b16", 16, "bits", False, np.uint16, note="16 bits of any type"),
    "b8": DType("b8", 8, "bits", False, np.uint8, note="8 bits of any type"),
    "s1z4m11": DType(
        "s1z4m11",
        16,
        "int",
        True,
        np.int16,
        note="-2047 to 2047; as its name says a sign, four zeros, 11 bits of magnitude",
    ),
    "ue5m3": DType(
        "ue5m3",
        8,
        "float",
        False,
        np.float32,
        exponent_bits=5,
        fraction_bits=3,
        note="no sign, no infinity, NaN is 255; a bias of 15 is assumed",
    ),
}


def dotted(*parts: str) -> str:
    """A mnemonic from its parts; empty ones are left out.

    >>> dotted("tcgen05.ld", "", "sync.aligned")
    'tcgen05.ld.sync.aligned'
    """
    return ".".join(part for part in parts if part)


def element_type(name: str) -> DType:
    """The element type of that name, including those that only tcgen05 has.

    >>> element_type("ue5m3").bits, element_type("f16").bits
    (8, 16)
    """
    return TYPES.get(name) or dtype(name)


class Tcgen05Form(ExecutableForm):
    """What all instructions of the family have.

    >>> import ptxlab
    >>> wait = ptxlab.instruction("tcgen05.wait::ld.sync.aligned")
    >>> wait.lanes, wait.syntax, wait.supports("sm_100f")
    (32, 'tcgen05.wait::ld.sync.aligned;', True)
    """

    _TARGET = "sm_100a"

    @property
    @abstractmethod
    def syntax(self) -> str:
        """The instruction with its operand list, operands named as in the manual."""

    @property
    def operands(self) -> dict[str, Operand]:
        """Its matrices in registers and in shared memory by name; `tensors` has those in tensor memory."""
        return {}

    @property
    def element_types(self) -> tuple[str, ...]:
        """None: most of them move no elements."""
        return ()

    @property
    def usual_target(self) -> str:
        """The target to compile for where none is named, or the first of its own if that lacks it."""
        return "sm_100a" if self.supports("sm_100a") else self.targets[0]

    def tensor(self, name: str) -> TensorOperand:
        """The matrix of that name in tensor memory, in either case.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.cta_group::2.kind::tf32").tensor("D").ctas
        2
        """
        tensor = self.tensors.get(name.upper()) if is_a(name, str) else None
        if tensor is None:
            raise PtxlabError(
                f"{self.mnemonic} has no {quoted(name)} in tensor memory; it has "
                f"{listing(self.tensors) if self.tensors else 'no matrix of its own there'}"
            )
        return tensor

    def find(self, name: str) -> Operand | TensorOperand:
        """The matrix of that name, in either case, wherever it is."""
        name = as_text(name, "operand").upper()
        return self.operands[name] if name in self.operands else self.tensor(name)


# -- allocation and synchronization: alloc, dealloc, commit, fence, wait -------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TensorControl(Tcgen05Form):
    """An instruction around those in tensor memory: tcgen05.alloc, .dealloc, .commit, .fence, .wait, ...

    >>> import ptxlab
    >>> commit = ptxlab.instruction("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64")
    >>> commit.syntax
    'tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];'
    """

    family: str
    targets: tuple[str, ...]
    qualifiers: tuple[str, ...]
    syntax_operands: str = ""

    @property
    def purpose(self) -> str:
        """What it does, in a few words."""
        return CONTROL_FAMILIES[self.family]

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        first = self.qualifiers[0]
        if self.family in ("tcgen05.fence", "tcgen05.wait"):  # the first is part of the opcode
            return ".".join([f"{self.family}::{first}", *self.qualifiers[1:]])
        return ".".join([self.family, *self.qualifiers])

    @property
    def syntax(self) -> str:
        """The instruction with its operand list, operands named as in the manual."""
        return f"{self.mnemonic} {self.syntax_operands}".rstrip() + ";"

    @property
    def shape(self) -> str:
        """Empty: it has no shape."""
        return ""

    @property
    def lanes(self) -> int:
        """Threads that execute it together: a warp where it says `.sync`, otherwise one."""
        return 32 if "sync" in self.qualifiers else 1

    @property
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it."""
        return PtxVersion(9, 4) if any(map(self._is_new, self.qualifiers)) else PtxVersion(8, 6)

    @staticmethod
    def _is_new(qualifier: str) -> bool:
        return (
            qualifier == "exclusive"
            or qualifier.startswith("sync_restrict")
            or qualifier.endswith(("::16b", "::32b"))
        )

    def columns(self, target: str = "sm_100a") -> tuple[int, ...]:
        """The numbers of columns that alloc and dealloc take on a target; () for the others.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.alloc.cta_group::1.sync.aligned.b32").columns()
        (32, 64, 128, 256, 512)
        """
        if self.family not in ("tcgen05.alloc", "tcgen05.dealloc") or not self.supports(target):
            return ()
        if "exclusive" not in self.qualifiers:
            return (32, 64, 128, 256, 512)
        return tuple(range(32, 577 if target in SM_107 else 513, 32))
