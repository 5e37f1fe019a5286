"""Operands of an instruction that are no matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import PtxlabError, listing

if TYPE_CHECKING:
    from .instruction import Instruction

__all__ = ["Modifiers"]


@dataclass(frozen=True)
class Modifiers:
    """Operands of an instruction that are no matrices: sparsity selector, wgmma's scales and transposes, the block-scale selectors.

    >>> Modifiers(selector=1) == Modifiers(selector=1, scale_d=True, imm_scale_a=1)   # these are what they are when left out
    True
    """

    selector: int = 0
    scale_d: bool = True
    imm_scale_a: int = 1
    imm_scale_b: int = 1
    imm_trans_a: int = 0
    imm_trans_b: int = 0
    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0

    def check(self, ins: Instruction) -> Modifiers:
        """Refuse what this instruction has no place for."""
        for name, legal in ins.modifiers.items():
            found = getattr(self, name)
            if found not in legal:
                default = getattr(Modifiers, name)
                if legal == (default,):
                    raise PtxlabError(f"{name}={found!r}: {ins.mnemonic} takes only {default!r}")
                raise PtxlabError(f"{name}={found!r}: {ins.mnemonic} takes {listing(legal)}{self._lax(ins)}")
        return self

    def _lax(self, ins: Instruction) -> str:
        """What to add where the assembler would take what the manual does not have (see docs/assembler.md)."""
        lax = self.selector in (2, 3) and ins.family == "mma.sp" and ins.shape == "m16n8k32" and (ins.a_type, ins.d_type) == ("f16", "f32")
        return "; the assembler takes 2 and 3 as well, the manual has no such lanes" if lax else ""
