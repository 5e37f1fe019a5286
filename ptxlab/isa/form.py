"""What every entry of the catalogue has, whether it multiplies matrices or transfers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from .._util.arguments import is_a
from ..errors import PtxlabError, listing, quoted
from .operand import Operand
from .targets import TARGET_VERSIONS, PtxVersion, check_target

if TYPE_CHECKING:
    from .instruction_descriptor import InstructionDescriptor
    from .sparsity import Structure
    from .tensor_operand import TensorOperand


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
    #: Where the mnemonic leaves shape and types open (tcgen05.mma), what says them.
    descriptor: InstructionDescriptor | None = None
    #: CTAs that execute it together.
    cta_group: int = 1

    @property
    @abstractmethod
    def shape(self) -> str:
        """``m16n8k64``, ``m8n8``."""

    @property
    @abstractmethod
    def mnemonic(self) -> str:
        """The instruction in PTX's spelling, without its operand list."""

    @property
    def full_name(self) -> str:
        """The mnemonic, and the shape where a descriptor says it.

        >>> import ptxlab
        >>> ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32).full_name
        'tcgen05.mma.cta_group::1.kind::f16 m64n32k16'
        """
        return f"{self.mnemonic} {self.shape}" if self.descriptor else self.mnemonic

    @property
    def shapes(self) -> tuple[str, ...]:
        """All shapes that it may have: one, unless a descriptor says it."""
        return (self.shape,)

    @property
    @abstractmethod
    def element_types(self) -> tuple[str, ...]:
        """The types of A, B and D, or of a transfer in registers and in memory; () without elements."""

    @property
    def usual_target(self) -> str:
        """The target to compile for where none is named, or the first of its own if that lacks it."""
        return "sm_90a" if "sm_90a" in self.targets else self.targets[0]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed where the PTX ISA leaves its behaviour open."""
        return ()

    @property
    @abstractmethod
    def lanes(self) -> int:
        """Lanes that execute it together: 32 for a warp, 128 for a warpgroup."""

    @property
    @abstractmethod
    def operands(self) -> dict[str, Operand]:
        """Its matrices in registers and in shared memory by name."""

    @property
    def tensors(self) -> dict[str, TensorOperand]:
        """Its matrices in tensor memory by name."""
        return {}

    @property
    def located(self) -> dict[str, Operand | TensorOperand]:
        """All of its matrices by name, wherever they are.

        >>> import ptxlab
        >>> mma = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
        >>> {name: operand.space for name, operand in mma.located.items()}
        {'A': 'shared', 'B': 'shared', 'D': 'tensor'}
        """
        return {**self.operands, **self.tensors}

    @property
    @abstractmethod
    def ptx_version(self) -> PtxVersion:
        """The first version of the PTX ISA that has it; some targets came later (`ptx_version_for`)."""

    @property
    def sparse(self) -> bool:
        """Whether A is structured sparse."""
        return False

    @property
    def structure(self) -> Structure | None:
        """The sparsity that A must have; None for a dense instruction, and one without an A."""
        return None

    @property
    def mma_count(self) -> int:
        """How many independent products it computes on stacked matrices."""
        return 1

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

    def find(self, name: str) -> Operand | TensorOperand:
        """The matrix of that name, in either case, wherever it is."""
        return self.operand(name)
