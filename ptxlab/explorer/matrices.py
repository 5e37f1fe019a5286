"""Operands as matrices: what the Explorer shows and edits.

The operands (registers of every lane, or codes in shared memory) are the only data. Matrices are views of
them, so nothing typed into a register is lost, not even the bits that tf32 ignores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_flag, as_index, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.layout import Layout
from ..isa.matrix_operand import MatrixOperand
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from ..isa.tensor_memory import TensorOperand
from .masks import mask_names
from .refusals import compress_dense_a, undefined_metadata

_FIRST_NIBBLE = 0b0100  # legal for every structure; metadata has no 0
_READ_ONLY = "D is the result and cannot be changed; change A, B or C"


#: A matrix of an instruction: in lanes, in shared memory, in tensor memory.
AnyOperand = Operand | TensorOperand


def as_product(ins: ProductForm) -> Product:
    """An instruction that the Explorer shows."""
    if not isinstance(ins, Product):
        raise PtxlabError(f"{ins.mnemonic}: the Explorer shows mma, wmma, wgmma and tcgen05.mma")
    return ins


def option_names(ins: Product) -> tuple[str, ...]:
    """Modifiers with a choice that the Explorer offers; swizzles only move bytes in shared memory."""
    listed = (name for name, legal in ins.modifiers.items() if len(legal) > 1 and name != "swizzle")
    return (*listed, *mask_names(ins))


def start_code(operand: MatrixOperand) -> int:
    """The code that cells start with and that clearing restores: 0, or 1 for block scales."""
    if operand.name == "E":
        return _FIRST_NIBBLE
    return int(operand.dtype.encode(1.0 if operand.name in ("SFA", "SFB") else 0.0))


@dataclass(frozen=True)
class Matrices:
    """The matrices of some operands, by name: A, B, C, D and, where the instruction has them, E, SFA, SFB.

    For sparse instructions A is the dense matrix and `stored` its compressed half.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> matrices = Matrices(Operation.from_matrices(ins, ins.prune(np.ones((16, 64))), np.ones((64, 8))))
    >>> matrices.names
    ('A', 'stored', 'E', 'B', 'C', 'D')
    >>> matrices.codes("A")[0, :8].tolist()
    [1, 1, 1, 1, 0, 0, 0, 0]
    """

    operands: Operation

    @property
    def ins(self) -> Product:
        """The instruction."""
        return as_product(self.operands.ins)

    @property
    def names(self) -> tuple[str, ...]:
        """Every matrix of the instruction."""
        sparse = ("stored", "E") if self.ins.sparse else ()
        scales = ("SFA", "SFB") if self.ins.scale_a is not None else ()
        return ("A", *sparse, "B", "C", "D", *scales)

    @property
    def options(self) -> dict[str, Any]:
        """The values of the modifiers that can be chosen."""
        return {name: getattr(self.operands.modifiers, name) for name in option_names(self.ins)}

    def operand(self, name: str) -> AnyOperand:
        """The operand that a matrix shows."""
        if not is_name(name, self.names):
            raise PtxlabError(
                f"{self.ins.mnemonic} has no matrix {quoted(name)}; it has {listing(self.names)}"
            )
        ins = self.ins
        if name == "A":
            return ins.a_dense
        every = (ins.a, ins.b, ins.c, ins.d, ins.e, ins.scale_a, ins.scale_b)
        wanted = "A" if name == "stored" else name
        return next(operand for operand in every if operand is not None and operand.name == wanted)

    def copy_index(self, name: str) -> int:
        """Which copy of an element the instruction reads, as its selectors say."""
        modifiers = self.operands.modifiers
        self.operand(name)  # there is one, or this refuses the name
        if name == "E":
            return modifiers.selector
        vec = self.ins.scale_vec or 4
        if name == "SFA":
            return modifiers.thread_id_a * (4 // vec) + modifiers.byte_id_a // vec
        if name == "SFB":
            return modifiers.thread_id_b * (4 // vec) + modifiers.byte_id_b // vec
        return 0

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix; D is not an operand but a result."""
        operand = self.operand(name)
        if name == "D":
            raise PtxlabError("D is computed from the operands; it is not one of them")
        if name == "A" and self.ins.sparse:
            return self.ins.expand(self.codes("stored"), self.codes("E"))
        return operand.unpack_codes(self._array(name), self.copy_index(name))

    def stored_columns(self) -> NDArray[np.int64]:
        """The column of dense A that every stored element comes from: [rows, stored columns]."""
        structure = self.ins.structure
        if structure is None:
            return np.broadcast_to(np.arange(self.ins.k), self.ins.a.shape)
        return structure.positions(self.codes("E"), self.ins.metadata_ordered)

    def lane_of(self, name: str, row: int, column: int) -> int | None:
        """The lane whose register the instruction reads for a cell; None where no lane has it in one."""
        rows, columns = self.operand(name).shape
        row, column = (
            as_index(row, "row", rows, f"{name}: "),
            as_index(column, "column", columns, f"{name}: "),
        )
        if name == "A" and self.ins.sparse:
            stored = np.flatnonzero(self.stored_columns()[row] == column)
            return self.lane_of("stored", row, int(stored[0])) if stored.size else None
        layout = self.operand(name).layout
        if not isinstance(layout, Layout):
            return None
        return int(layout.scatter(self.copy_index(name))[row, column]) // layout.elements

    def check_metadata(self) -> None:
        """Refuse nibbles that the sparsity of the instruction does not define."""
        if not self.ins.sparse:
            return
        nibbles = self.codes("E")
        try:
            self.ins.expand(self.codes("stored"), nibbles)
        except PtxlabError as error:
            raise undefined_metadata(self.ins, nibbles, str(error)) from None

    # -- changed: each returns new operands ---------------------------------------------------------------

    def with_registers(self, name: str, registers: ArrayLike) -> Operation:
        """The operands with other registers, or words of tensor memory, of one of them."""
        if is_name(name, ("D",)):
            raise PtxlabError(_READ_ONLY)
        arrays = self.operands.arrays
        if not is_name(name, arrays):
            raise _no_registers(self.operands, name)
        operand = self.operand("stored" if name == "A" and self.ins.sparse else name)
        checked = operand.check_registers(as_array(registers, name))
        if checked.shape != arrays[name].shape:  # what an instruction takes as a batch is not one state
            raise PtxlabError(
                f"{name}: found shape {quoted(checked.shape)}; the Explorer shows one instruction, "
                f"which takes {arrays[name].shape}"
            )
        return self.with_arrays({name: checked.copy()})

    def with_option(self, name: str, value: Any) -> Operation:
        """The operands with another modifier: selector, scale_d, imm_scale_a ..."""
        names = option_names(self.ins)
        if not is_name(name, names):
            raise PtxlabError(
                f"{self.ins.mnemonic} has no option {quoted(name)}; it has {listing(names) or 'none'}"
            )
        is_flag = isinstance(getattr(Modifiers, name), bool)
        change: dict[str, Any] = {name: as_flag(value, name) if is_flag else as_int(value, name)}
        modifiers = self.ins.check_modifiers(replace(self.operands.modifiers, **change))
        return replace(self.operands, modifiers=modifiers)

    def with_codes(
        self,
        name: str,
        codes: NDArray[Any],
        *,
        typed: NDArray[np.bool_] | None = None,
        keep_metadata: bool = True,
    ) -> Operation:
        """The operands with another matrix. `typed` are the cells that were typed; pruning keeps those first.

        Dense A of a sparse instruction is compressed; `keep_metadata` keeps nibbles that still describe it.
        """
        operand = self.operand(name)
        if name == "D":
            raise PtxlabError(_READ_ONLY)
        if codes.shape != operand.shape:
            raise PtxlabError(
                f"{name}: found shape {quoted(codes.shape)}; "
                f"it takes ({operand.shape[0]}, {operand.shape[1]})"
            )
        if name == "A" and self.ins.sparse:
            nibbles_before = self.codes("E") if keep_metadata else None
            stored, nibbles = compress_dense_a(self.ins, codes, nibbles_before, typed)
            return self.with_arrays({"A": self._pack("stored", stored), "E": self._pack("E", nibbles)})
        return self.with_arrays({"A" if name == "stored" else name: self._pack(name, codes)})

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Operation:
        """The operands with other arrays, by operand name."""
        operands = self.operands
        return replace(
            operands,
            a=arrays.get("A", operands.a),
            b=arrays.get("B", operands.b),
            c=arrays.get("C", operands.c),
            e=arrays.get("E", operands.e),
            scale_a=arrays.get("SFA", operands.scale_a),
            scale_b=arrays.get("SFB", operands.scale_b),
        )

    def _array(self, name: str) -> NDArray[Any]:
        arrays = self.operands.arrays
        operand = "A" if name == "stored" else name
        if operand not in arrays:
            raise _no_registers(self.operands, name)
        return arrays[operand]

    def _pack(self, name: str, codes: NDArray[Any]) -> NDArray[Any]:
        """The registers with these codes: in every copy of the elements that change, and nowhere else."""
        operand = self.operand(name)
        packed = operand.pack_codes(codes)
        if isinstance(operand, TensorOperand):
            return self._pack_words(name, operand, codes, packed)
        if operand.layout is None:
            return packed
        if operand.container:  # bits of the padding stay as they are
            every_bit = np.full((operand.lanes, operand.layout.elements), (1 << operand.dtype.bits) - 1)
            packed = packed | (self._array(name) & ~operand.join(every_bit))
        if operand.layout.copies == 1:
            return packed
        changed = self.codes(name) != codes
        before, after = operand.split(self._array(name)), operand.split(packed)
        return operand.join(np.where(changed.reshape(-1)[operand.layout.gather], after, before))

    def _pack_words(
        self, name: str, operand: TensorOperand, codes: NDArray[Any], packed: NDArray[np.uint32]
    ) -> NDArray[Any]:
        """Words of tensor memory: in every copy of the elements that change, and in no other bit."""
        every_bit = (1 << operand.dtype.bits) - 1
        changed = np.where(self.codes(name) != codes, every_bit, 0).astype(operand.dtype.code_type)
        mask = operand.pack_codes(changed)
        return np.asarray((self._array(name) & ~mask) | (packed & mask))


def _no_registers(operands: Operation, name: object) -> PtxlabError:
    names = listing([*operands.arrays, "D"])
    return PtxlabError(f"{operands.ins.mnemonic} has no registers {quoted(name)}; it has {names}")
