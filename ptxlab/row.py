"""What all rows of the catalogue have in common, whether they multiply matrices or move them."""

from __future__ import annotations

from .errors import PtxlabError, listing
from .operand import Operand

__all__ = ["TARGETS", "Row", "check_target"]

#: Every target of PTX ISA 9.0 that this package answers for, in the assembler's spelling.
TARGETS: tuple[str, ...] = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a",
    "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a",
)  # fmt: skip


def check_target(target: str) -> str:
    """The target, or an error that says which there are.

    >>> check_target("sm_90a")
    'sm_90a'
    """
    if target not in TARGETS:
        raise PtxlabError(f"unknown target {target!r}; known are {listing(TARGETS, 30)}")
    return target


class Row:
    """A legal form with the targets that have it and its operands by name.

    >>> import ptxlab
    >>> row = ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16")
    >>> isinstance(row, Row), row.supports("sm_75"), row.operand("d").shape
    (True, True, (8, 8))
    """

    targets: tuple[str, ...]

    @property
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""
        raise NotImplementedError

    @property
    def operands(self) -> dict[str, Operand]:
        """Its matrices by name."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.mnemonic

    def supports(self, target: str) -> bool:
        """Whether the assembler takes this instruction for that target; of an unknown one it says which there are."""
        return check_target(target) in self.targets

    def operand(self, name: str) -> Operand:
        """The operand of that name."""
        try:
            return self.operands[name.upper()]
        except KeyError:
            raise PtxlabError(f"{self.mnemonic} has no operand {name!r}; it has {listing(self.operands)}") from None

    def check_targets(self) -> None:
        """Refuse a row without targets, or with one that does not exist."""
        unknown = set(self.targets) - set(TARGETS)
        if unknown or not self.targets:
            raise PtxlabError(f"{self.mnemonic}: targets {sorted(unknown) or 'missing'}; known are {listing(TARGETS, 30)}")
