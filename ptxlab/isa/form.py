"""What every entry of the catalogue has, whether it multiplies matrices or transfers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

from .._util.arguments import is_a
from ..errors import PtxlabError, listing, quoted
from .operand import Operand
from .targets import TARGET_VERSIONS, PtxVersion, check_target


class Form(ABC):
    """One legal form of a PTX matrix instruction: its mnemonic, its operands, and the targets that have it.

    Two forms are equal if PTX cannot tell them apart.

    >>> import ptxlab
    >>> form = ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16")
    >>> isinstance(form, Form), form.supports("sm_75"), form.operand("d").shape
    (True, True, (8, 8))
    """

    family: str
    targets: tuple[str, ...]

    @property
    @abstractmethod
    def shape(self) -> str:
        """``m16n8k64``, ``m8n8``."""

    @property
    @abstractmethod
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """Lanes that execute it together: 32 for a warp, 128 for a warpgroup."""

    @property
    @abstractmethod
    def operands(self) -> dict[str, Operand]:
        """Its matrix operands by name."""

    @property
    @abstractmethod
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it; some targets came later (`ptx_version_for`)."""

    @property
    def sparse(self) -> bool:
        """Whether A is structured sparse."""
        return False

    @property
    def selectors(self) -> tuple[int, ...]:
        """Legal sparsity selectors; () for a dense instruction."""
        return ()

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        """The key by which forms are compared."""
        return (self.mnemonic,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: the declaration, not what was computed from it, which can be 600 KB."""
        computed = {
            name
            for ancestor in type(self).__mro__
            for name, value in vars(ancestor).items()
            if isinstance(value, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in computed}

    def __str__(self) -> str:
        return self.mnemonic

    def __repr__(self) -> str:
        return f"<{self.mnemonic}>"

    def supports(self, target: str) -> bool:
        """Whether the assembler accepts this instruction for a target; an unknown target is an error."""
        return check_target(target) in self.targets

    def ptx_version_for(self, target: str) -> PtxVersion:
        """The lowest `.version` with which the assembler takes this instruction for a target.

        >>> import ptxlab
        >>> form = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.b16")
        >>> str(form.ptx_version), str(form.ptx_version_for("sm_90a"))
        ('6.5', '8.0')
        """
        if not self.supports(target):
            supported = listing([name for name in self.targets if self.supports(name)], 30) or "none"
            raise PtxlabError(f"{target} lacks {self.mnemonic}; targets that have it: {supported}")
        return max(self.ptx_version, TARGET_VERSIONS[target])

    def operand(self, name: str) -> Operand:
        """The operand of that name, in either case."""
        operand = self.operands.get(name.upper()) if is_a(name, str) else None
        if operand is None:
            raise PtxlabError(
                f"{self.mnemonic} has no operand {quoted(name)}; it has {listing(self.operands)}"
            )
        return operand
