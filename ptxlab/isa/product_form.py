"""What every instruction that multiplies matrices has, in registers or in tensor memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index
from ..errors import PtxlabError, listing, quoted
from .form import Form
from .modifiers import DEFAULTS, Modifiers
from .operand import MatrixOperand
from .sparsity import Structure, check_nibbles
from .tensor_operand import AnyOperand

_Operand = TypeVar("_Operand", bound=MatrixOperand)


def by_argument(*operands: _Operand | None) -> dict[str, _Operand]:
    """Operands a, b, c, e, scale_a, scale_b by these names, without those that are None."""
    names = ("a", "b", "c", "e", "scale_a", "scale_b")
    return {name: operand for name, operand in zip(names, operands, strict=True) if operand is not None}


class ProductForm(Form):
    """One form of an instruction that computes D = A B + C: shape, types, operands and modifiers.

    Arithmetic, traces and `Operation` use this interface; `Instruction` (mma, wmma, wgmma) and
    `TensorInstruction` implement it.

    >>> import ptxlab
    >>> forms = ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "tcgen05.mma.cta_group::1.kind::f16")
    >>> [list(ptxlab.instruction(name).inputs) for name in forms]
    [['a', 'b', 'c'], ['a', 'b', 'c']]
    """

    kind: str | None
    satfinite: bool
    bit_op: str | None = None
    rounding: Literal["rz", "rm", "rp"] | None = None

    # -- shape and types -------------------------------------------------------------------------------------

    m: int
    n: int
    k: int
    a_type: str
    b_type: str
    c_type: str
    d_type: str
    scale_vec: int | None  # block scales of a row of A
    scale_type: str | None

    # -- operands --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def a(self) -> AnyOperand:
        """Multiplicand A; for a sparse instruction the compressed A."""

    @property
    @abstractmethod
    def a_dense(self) -> AnyOperand:
        """Logical (dense) A; the same as `a` for a dense instruction."""

    @property
    @abstractmethod
    def b(self) -> AnyOperand:
        """Multiplicand B."""

    @property
    @abstractmethod
    def c(self) -> AnyOperand:
        """Accumulator C."""

    @property
    @abstractmethod
    def d(self) -> AnyOperand:
        """Result D."""

    @property
    @abstractmethod
    def e(self) -> AnyOperand | None:
        """Sparsity metadata, or None."""

    @property
    @abstractmethod
    def scale_a(self) -> AnyOperand | None:
        """Block scales of A, or None."""

    @property
    @abstractmethod
    def scale_b(self) -> AnyOperand | None:
        """Block scales of B, or None."""

    @property
    def inputs(self) -> Mapping[str, AnyOperand]:
        """The operands that it reads, by the argument that takes them.

        a, b, c, and e, scale_a, scale_b where it has them.
        """
        return by_argument(self.a, self.b, self.c, self.e, self.scale_a, self.scale_b)

    @cached_property
    def matrices(self) -> Mapping[str, AnyOperand]:
        """Every matrix by name: dense A, `stored` its compressed half, E, B, C, D, SFA, SFB if it has them.

        >>> import ptxlab
        >>> list(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").matrices)
        ['A', 'stored', 'E', 'B', 'C', 'D']
        """
        matrices = {
            "A": self.a_dense,
            "stored": self.a if self.sparse else None,
            "E": self.e,
            "B": self.b,
            "C": self.c,
            "D": self.d,
            "SFA": self.scale_a,
            "SFB": self.scale_b,
        }
        return {name: operand for name, operand in matrices.items() if operand is not None}

    def column_of_b(self, row: int, col: int) -> int:
        """The column of B that goes into D[row][col]: `col`, unless matrices are stacked (m8n8k4).

        >>> import ptxlab
        >>> ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32").column_of_b(17, 3)
        19
        """
        row = as_index(row, "row", self.d.shape[0])
        col = as_index(col, "column", self.d.shape[1])
        return row // self.m * self.n + col if self.mma_count > 1 else col

    # -- modifiers -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def modifiers(self) -> Mapping[str, Sequence[int]]:
        """Legal values of modifiers (see `Modifiers`)."""

    def check_modifiers(self, modifiers: Modifiers) -> Modifiers:
        """Return the modifiers, or refuse the first that this instruction does not take."""
        if not isinstance(modifiers, Modifiers):
            raise PtxlabError(
                f"modifiers: found {quoted(modifiers)}; it takes ptxlab.isa.modifiers.Modifiers"
            )
        for name, legal in self.modifiers.items():
            value = getattr(modifiers, name)
            if value not in legal:
                default = DEFAULTS[name]
                if tuple(legal) == (default,):
                    raise PtxlabError(f"{name}={quoted(value)}: {self.mnemonic} takes only {default!r}")
                raise PtxlabError(
                    f"{name}={quoted(value)}: {self.mnemonic} takes "
                    f"{listing(legal)}{self._selector_quirk(value, name)}"
                )
        return modifiers

    def _selector_quirk(self, value: int, name: str) -> str:
        """A remark on selectors that only the assembler accepts (`quirks.SELECTORS`)."""
        types = (self.family, self.shape, self.a_type, self.d_type)
        if name == "selector" and value in (2, 3) and types == ("mma.sp", "m16n8k32", "f16", "f32"):
            return "; the assembler takes 2 and 3 as well, the manual has no such lanes"
        return ""

    # -- sparsity --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def structure(self) -> Structure | None:
        """The sparsity that A must have, or None for a dense instruction."""

    @property
    def nibbles(self) -> dict[int, tuple[int, ...]]:
        """Legal metadata nibbles and the groups that each keeps; none for dense instructions.

        >>> from ptxlab import instruction
        >>> sparse = "sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
        >>> len(instruction(f"mma.sp::ordered_metadata.{sparse}").nibbles)
        6
        >>> len(instruction(f"mma.sp.{sparse}").nibbles)   # indices in any order
        12
        """
        if self.structure is None:
            return {}
        return self.structure.nibbles if self.metadata_ordered else self.structure.unordered

    @property
    def metadata_ordered(self) -> bool:
        """Whether the two indices of a nibble must ascend."""
        return False

    def _require_structure(self) -> Structure:
        if self.structure is None:
            raise PtxlabError(
                f"{self.mnemonic} is dense: it has no sparsity to compress; sparse forms are spelt .sp"
            )
        return self.structure

    def compress(self, A: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Dense structured-sparse A -> (stored half, one nibble for every row and chunk, for `e`).

        >>> import ptxlab
        >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16")
        >>> stored, nibbles = ins.compress(ins.prune(np.ones((128, 32))))
        >>> stored.shape, nibbles.shape, ins.e.pack_codes(nibbles).shape   # words of tensor memory
        ((128, 16), (128, 8), (128, 4))
        """
        return self._require_structure().compress(self.a_dense.check_matrix(A))

    def compress_codes(
        self, codes: NDArray[Any], nibbles_before: NDArray[Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Like `compress`, for element codes; `nibbles_before` are kept where they still describe A."""
        structure = self._require_structure()
        try:  # a negative zero, or a zero with ignored bits set, is kept where there is room for it
            stored, nibbles = structure.compress(codes, codes == 0)
        except PtxlabError:
            stored, nibbles = structure.compress(codes, self.a.dtype.decode(codes) == 0)
        if nibbles_before is None:
            return stored, nibbles
        columns = structure.positions(nibbles_before, self.metadata_ordered)
        stored_before = np.take_along_axis(codes, columns, axis=1)
        equal = self.expand(stored_before, nibbles_before) == codes
        described = equal.reshape(*nibbles_before.shape, structure.chunk).all(axis=-1)
        described_elements = np.repeat(described, structure.keep * structure.group, axis=1)
        return np.where(described_elements, stored_before, stored), np.where(
            described, nibbles_before, nibbles
        )

    def expand(self, stored: ArrayLike, nibbles: ArrayLike) -> NDArray[Any]:
        """The inverse of `compress`."""
        structure = self._require_structure()
        return structure.expand(stored, check_nibbles(structure, nibbles, self.nibbles), ordered=False)

    def prune(self, A: ArrayLike) -> NDArray[Any]:
        """The nearest matrix with the structure.

        The largest groups of every chunk are kept, the others become 0.
        """
        return self._require_structure().prune(self.a_dense.check_matrix(A))
