"""One operand of an asm statement: its registers under the manual's names, and how C++ passes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: How inline assembly passes a value: float, double, integer of 16, 32 or 64 bits.
Constraint = Literal["f", "d", "h", "r", "l"]


@dataclass(frozen=True)
class AsmOperand:
    """One operand of the instruction: its registers under the manual's names, and how C++ passes them.

    >>> AsmOperand("d", "f", 4, written=True).registers
    ('d[0]', 'd[1]', 'd[2]', 'd[3]')
    """

    name: str  # a, b_desc, e, p
    constraint: Constraint
    length: int | None = None  # registers of an array; None for a single variable
    written: bool = False
    address: bool = False  # a pointer or a descriptor

    @property
    def registers(self) -> tuple[str, ...]:
        """The C++ expressions of its registers."""
        if self.length is None:
            return (self.name,)
        return tuple(f"{self.name}[{i}]" for i in range(self.length))

    @property
    def ptx_names(self) -> list[str]:
        """Its registers as the manual names them: %a0, %a1; %e."""
        if self.length is None:
            return [f"%{self.name}"]
        return [f"%{self.name}{i}" for i in range(self.length)]


def vector(names: Sequence[str]) -> str:
    """Registers in braces, as PTX writes a vector."""
    return "{" + ", ".join(names) + "}"
