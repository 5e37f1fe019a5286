"""What goes around tcgen05.mma in a kernel: alloc, dealloc, commit, fence, wait."""

from __future__ import annotations

from dataclasses import dataclass

from ..instruction_descriptor import SM_107
from ..versions import PtxVersion
from .form import CONTROL_FAMILIES, Tcgen05Form


@dataclass(frozen=True, eq=False, repr=False)
class Tcgen05Control(Tcgen05Form):
    """An instruction that allocates tensor memory, or orders and awaits the others.

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
        """It has none."""
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
        """How many columns alloc and dealloc take there; () for the others.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.alloc.cta_group::1.sync.aligned.b32").columns()
        (32, 64, 128, 256, 512)
        """
        if self.family not in ("tcgen05.alloc", "tcgen05.dealloc") or not self.supports(target):
            return ()
        if "exclusive" not in self.qualifiers:
            return (32, 64, 128, 256, 512)
        return tuple(range(32, 577 if target in SM_107 else 513, 32))
