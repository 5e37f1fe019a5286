"""One instruction with everything that it reads: the object that travels from packing to the Explorer.

The registers of every lane (words of tensor memory, codes in shared memory) are the data. Matrices are
derived from them once and kept, so nothing written into a register is lost, not even bits that tf32 ignores.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, broadcast, check_room, is_name
from .._util.display import display
from ..errors import PtxlabError, listing, quoted
from .layout import Layout
from .modifiers import Modifiers
from .product_form import ProductForm
from .tensor_operand import AnyOperand

if TYPE_CHECKING:
    from ..explorer import Explorer
    from .form import Form
    from .mma import Instruction

_READ_ONLY = "D is the result and cannot be changed; change A, B or C"


class AnyOperation(ABC):
    """An instruction with what it reads, by name; immutable, so that results are computed once and kept.

    `Operation` is one that multiplies, one that moves is a `TransferDocument` of the Explorer.
    """

    ins: Form

    @property
    @abstractmethod
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What it reads, by name."""

    @property
    @abstractmethod
    def settings(self) -> tuple[object, ...]:
        """Everything but the arrays: the instruction, and its modifiers or where it begins."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnyOperation):
            return NotImplemented
        ours, theirs = self.arrays, other.arrays
        return (
            self.settings == other.settings
            and ours.keys() == theirs.keys()
            and all(
                array is theirs[name] or np.array_equal(array, theirs[name]) for name, array in ours.items()
            )
        )

    __hash__ = None  # type: ignore[assignment]


class OperationBatch(AnyOperation):
    """What an `Operation` can do along the batch axes of its arrays, which broadcast."""

    @cached_property
    def batch(self) -> tuple[int, ...]:
        """The common batch shape."""
        if all(array.ndim == 2 for array in self.arrays.values()):
            return ()
        return broadcast("batch axes", {name: array.shape[:-2] for name, array in self.arrays.items()})

    @cached_property
    def count(self) -> int:
        """How many instructions the batch holds."""
        return math.prod(self.batch)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def part(self, start: int, stop: int) -> Self:
        """Instructions start to stop of the flattened batch.

        Arrays that broadcast along all of it stay as they are.
        """
        batch = self.batch
        start, stop = as_int(start, "start"), as_int(stop, "stop")
        if not 0 <= start <= stop <= self.count:
            raise PtxlabError(
                f"instructions {quoted(start)} to {quoted(stop)}: the batch has {self.count}, from 0 on"
            )
        if not batch and start < stop:
            return self._map(lambda array: array[None])
        return self._map(lambda array: _part(array, batch, start, stop))

    def select(self, which: ArrayLike) -> Self:
        """The instructions with these indices in the flattened batch."""
        indices = as_array(which, "which")
        is_index_list = indices.ndim == 1 and (indices.size == 0 or indices.dtype.kind in "iu")
        if not is_index_list or (indices.size and not 0 <= indices.min() <= indices.max() < self.count):
            raise PtxlabError(f"which={quoted(which)}: a list of numbers from 0 to {self.count - 1}")
        indices = indices.astype(np.int64)
        return self.part(0, self.count)._map(lambda array: array[indices])

    def compact(self) -> Self:
        """A copy that is small to send to another process: what repeats along the batch is there once.

        If all arrays repeat, C keeps the batch axes, so that the batch keeps its size.
        """
        compact = self._map(_without_repetition)
        if compact.batch == self.batch:
            return compact
        c = compact.arrays["C"]
        return compact.with_arrays({"C": np.broadcast_to(c, self.batch + c.shape[-2:])})

    def item(self, index: int) -> Self:
        """One instruction of the flattened batch, without batch axes."""
        index = as_index(index, "instruction", self.count)
        return self.part(index, index + 1)._map(lambda array: array[0])

    @abstractmethod
    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """A copy with other registers, by operand name."""

    @abstractmethod
    def _map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """Apply a change of the batch axes to all arrays, and to the codes unpacked from them."""


@dataclass(frozen=True, eq=False, repr=False)
class Operation(OperationBatch):
    """An instruction that multiplies matrices, or a batch of it, with its inputs.

    Registers [..., lanes, registers], words of tensor memory [..., lanes, columns], element codes in shared
    memory; batch axes broadcast. `Operation.of` and `Operation.from_matrices` check their arguments, so that
    code which receives an operation trusts it. It is immutable: methods such as `with_codes` return another.
    Arrays without batch axes are copied; an array with them is kept, and must not be written afterwards.

    Its matrices are A, B, C, D and, where the instruction has them, E, SFA, SFB. For a sparse instruction A
    is the dense matrix, and `stored` its compressed half.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> a, b, c = (np.zeros(shape, np.uint32) for shape in ((7, 32, 4), (32, 2), (32, 4)))
    >>> operation = Operation.of(ins, a, b, c)
    >>> operation.batch, list(operation.arrays)
    ((7,), ['A', 'B', 'C'])
    >>> operation
    <operation mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: A (7, 32, 4), B (32, 2), C (32, 4)>
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> operation = Operation.from_matrices(ins, ins.prune(np.ones((16, 64))), np.ones((64, 8)))
    >>> operation.names, operation.matrix("A")[0, :8].tolist()
    (('A', 'stored', 'E', 'B', 'C', 'D'), [1, 1, 1, 1, 0, 0, 0, 0])
    """

    ins: ProductForm
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    e: NDArray[Any] | None = None
    scale_a: NDArray[Any] | None = None
    scale_b: NDArray[Any] | None = None
    modifiers: Modifiers = Modifiers()  # noqa: RUF009 - frozen

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"<operation {self.ins.mnemonic}: {shapes}>"

    @property
    def settings(self) -> tuple[object, ...]:
        return self.ins, self.modifiers

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: the inputs, and nothing that is derived from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # -- construction, with checks ------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        ins: ProductForm,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        e: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        modifiers: Modifiers | None = None,
    ) -> Self:
        """Check every array against its operand, and the modifiers against the instruction."""
        ins = _as_product(ins)
        checked = {}
        arguments = {"a": a, "b": b, "c": c, "e": e, "scale_a": scale_a, "scale_b": scale_b}
        for name, array in arguments.items():
            operand = ins.inputs.get(name)
            if operand is None:
                if array is not None:
                    names = [operand.name for operand in ins.inputs.values()]
                    operands = listing([*names[:3], ins.d.name, *names[3:]], 8)
                    raise PtxlabError(f"{name}: {ins.mnemonic} has no such operand; it has {operands}")
                continue
            if array is None:
                raise PtxlabError(f"{name} is missing: {ins.mnemonic} needs {operand.describe()}")
            checked[name] = _own(operand.check_registers(array))
        return cls._fitting(ins, checked, modifiers)

    @classmethod
    def from_matrices(
        cls,
        ins: ProductForm,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        modifiers: Modifiers | None = None,
    ) -> Self:
        """Pack whole matrices of values.

        Sparse A is given dense and compressed, C left out is 0, scales left out are 1.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> hex(Operation.from_matrices(ins, np.ones((16, 16)), np.ones((16, 8))).a[0, 0])
        '0x3c003c00'
        """
        ins = _as_product(ins)
        codes: dict[str, NDArray[Any]] = {}
        if ins.e is not None:
            A, nibbles = ins.compress(A)
            codes["e"] = ins.e.check_codes(nibbles)
        for name, operand, values in (("scale_a", ins.scale_a, scale_a), ("scale_b", ins.scale_b, scale_b)):
            if operand is not None:
                codes[name] = operand.encode(np.ones(operand.shape) if values is None else values)
            elif values is not None:
                raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        codes["a"], codes["b"] = ins.a.encode(A), ins.b.encode(B)
        codes["c"] = np.zeros(ins.c.shape, ins.c.dtype.code_type) if C is None else ins.c.encode(C)
        codes = {name: _own(array) for name, array in codes.items()}
        inputs = ins.inputs
        arrays = {name: inputs[name].to_registers(array) for name, array in codes.items()}
        operation = cls._fitting(ins, arrays, modifiers)
        if ins.e is None and ins.scale_a is None:  # a selector may choose another copy of E and of scales
            operation._codes.update({inputs[name].name: array for name, array in codes.items()})
        return operation

    @classmethod
    def _fitting(cls, ins: ProductForm, arrays: dict[str, Any], modifiers: Modifiers | None) -> Self:
        """The operation, if the instruction takes the modifiers and the batch axes of the arrays fit."""
        chosen = ins.check_modifiers(Modifiers() if modifiers is None else modifiers)
        operation = cls(ins, **arrays, modifiers=chosen)
        check_room(operation.count * math.prod(ins.d.stored_shape), "batch of D")
        return operation

    # -- the inputs ---------------------------------------------------------------------------------------

    @property
    def mma(self) -> Instruction:
        """The instruction, for code that handles only warps and warpgroups; tcgen05.mma is an error."""
        from .mma import Instruction

        if not isinstance(self.ins, Instruction):
            raise PtxlabError(f"{self.ins.mnemonic}: this needs mma, mma.sp, wmma, wgmma or wgmma.sp")
        return self.ins

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by operand name, in the order A, B, C, E, SFA, SFB; only those the instruction has."""
        named = {operand.name: getattr(self, name) for name, operand in self.ins.inputs.items()}
        return {name: array for name, array in named.items() if array is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all matrices, D included."""
        return tuple(self.ins.matrices)

    def operand(self, name: str) -> AnyOperand:
        """The operand behind the matrix of that name."""
        try:
            return self.ins.matrices[name]
        except Exception:  # a foreign __hash__ may raise anything
            raise PtxlabError(
                f"{self.ins.mnemonic} has no matrix {quoted(name)}; it has {listing(self.names)}"
            ) from None

    def copy_index(self, name: str) -> int:
        """Which copy of an element the instruction reads, according to its selectors."""
        modifiers = self.modifiers
        self.operand(name)  # refuses an unknown name
        if name == "E":
            return modifiers.selector
        vec = self.ins.scale_vec or 4
        if name == "SFA":
            return modifiers.thread_id_a * (4 // vec) + modifiers.byte_id_a // vec
        if name == "SFB":
            return modifiers.thread_id_b * (4 // vec) + modifiers.byte_id_b // vec
        return 0

    def registers(self, name: str) -> NDArray[Any]:
        """What the instruction reads: registers, words, or codes in shared memory. Do not write into it."""
        try:
            return self.arrays["A" if name == "stored" else name]
        except Exception:
            raise self._no_registers(name) from None

    def _no_registers(self, name: object) -> PtxlabError:
        names = listing([*self.arrays, "D"])
        return PtxlabError(f"{self.ins.mnemonic} has no registers {quoted(name)}; it has {names}")

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, unpacked once; do not write into them. D is not an input."""
        try:
            return self._codes[name]
        except Exception:
            return self._unpack(name)

    def matrix(self, name: str) -> NDArray[Any]:
        """Values of a matrix, decoded once; do not write into them."""
        operand = self.operand(name)
        if name not in self._matrices:
            self._matrices[name] = operand.dtype.decode_array(self.codes(name))
        return self._matrices[name]

    @cached_property
    def _codes(self) -> dict[str, NDArray[Any]]:
        return {}

    @cached_property
    def _matrices(self) -> dict[str, NDArray[Any]]:
        return {}

    @cached_property
    def results(self) -> dict[str, NDArray[Any]]:
        """A cache of D's codes by chip, which `numerics.emulate.codes_of_d` fills."""
        return {}

    def _unpack(self, name: str) -> NDArray[Any]:
        operand = self.operand(name)
        if name == "D":
            raise PtxlabError("D is computed from the operands; it is not one of them")
        if name == "A" and self.ins.sparse:
            codes = self.ins.expand(self.codes("stored"), self.codes("E"))
        else:
            codes = operand.from_registers(self.registers(name), self.copy_index(name))
        self._codes[name] = codes
        return codes

    def stored_columns(self) -> NDArray[np.int64]:
        """The column of dense A that every stored element comes from: [rows, stored columns]."""
        structure = self.ins.structure
        if structure is None:
            return np.broadcast_to(np.arange(self.ins.k), self.ins.a.shape)
        return structure.positions(self.codes("E"), self.ins.metadata_ordered)

    def lane_of(self, name: str, row: int, column: int) -> int | None:
        """The lane whose register the instruction reads for a cell; None if no register holds it."""
        operand = self.operand(name)
        row = as_index(row, "row", operand.shape[0], f"{name}: ")
        column = as_index(column, "column", operand.shape[1], f"{name}: ")
        if name == "A" and self.ins.sparse:
            stored = np.flatnonzero(self.stored_columns()[row] == column)
            return self.lane_of("stored", row, int(stored[0])) if stored.size else None
        if not isinstance(operand.layout, Layout):
            return None
        return int(operand.layout.scatter(self.copy_index(name))[row, column]) // operand.layout.elements

    def explore(self, **options: Any) -> Explorer:
        """The Explorer with these registers; `seed` and `height` as in `ptxlab.explore`."""
        explorer: Explorer = display(self, "explore", **options)
        return explorer

    # -- modified copies ----------------------------------------------------------------------------------

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """A copy with other registers, by operand name.

        Arrays that are equal to the present ones are not replaced: what was derived from them is kept.
        """
        changed: dict[str, Any] = {
            argument: arrays[operand.name]
            for argument, operand in self.ins.inputs.items()
            if operand.name in arrays and not np.array_equal(arrays[operand.name], self.arrays[operand.name])
        }
        if not changed:
            return self
        other = replace(self, **changed)
        stale = {self.ins.inputs[argument].name for argument in changed}
        if stale & {"A", "E"}:
            stale |= {"A", "stored"}
        other._codes.update({name: codes for name, codes in self._codes.items() if name not in stale})
        return other

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        """A copy with other registers, or words of tensor memory, of one operand."""
        if is_name(name, ("D",)):
            raise PtxlabError(_READ_ONLY)
        if is_name(name, ("stored",)):
            raise self._no_registers(name)
        before = self.registers(name)
        operand = self.operand("stored" if name == "A" and self.ins.sparse else name)
        checked = operand.check_registers(as_array(registers, name))
        if checked.shape != before.shape:  # an edit does not turn one operation into a batch
            raise PtxlabError(
                f"{name}: found shape {quoted(checked.shape)}; the registers of one instruction have the "
                f"shape {before.shape}"
            )
        return self.with_arrays({name: checked.copy()})

    def with_modifiers(self, **modifiers: Any) -> Self:
        """A copy with other modifiers: selector, scale_d, imm_scale_a ..."""
        changed = self.ins.check_modifiers(replace(self.modifiers, **modifiers))
        return self if changed == self.modifiers else replace(self, modifiers=changed)

    def with_codes(self, name: str, codes: NDArray[Any], *, keep_metadata: bool = True) -> Self:
        """A copy with another matrix; the registers change where its elements do, and nowhere else.

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
        codes = _own(operand.check_codes(codes))
        if name == "A" and self.ins.sparse:
            stored, nibbles = self.ins.compress_codes(codes, self.codes("E") if keep_metadata else None)
            packed = {"A": self._rewritten("stored", stored), "E": self._rewritten("E", nibbles)}
            return self.with_arrays(packed)
        other = self.with_arrays({"A" if name == "stored" else name: self._rewritten(name, codes)})
        if other is not self:
            other._codes[name] = codes
        return other

    def with_matrix(self, name: str, values: ArrayLike) -> Self:
        """A copy with another matrix of values; dense A of a sparse instruction is compressed afresh."""
        return self.with_codes(name, self.operand(name).encode(values), keep_metadata=False)

    def _rewritten(self, name: str, codes: NDArray[Any]) -> NDArray[Any]:
        """The registers with these codes."""
        return self.operand(name).rewritten(self.registers(name), codes, self.codes(name) != codes)

    def _map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """Apply a change of the batch axes to all arrays, and to the codes unpacked from them."""
        arrays = {name: getattr(self, name) for name in ("a", "b", "c", "e", "scale_a", "scale_b")}
        changed: dict[str, Any] = {name: change(array) for name, array in arrays.items() if array is not None}
        other = replace(self, **changed)
        other._codes.update({name: change(codes) for name, codes in self._codes.items()})
        return other


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, since the caller may go on to write the array; of a batch the array itself."""
    return array.copy() if array.ndim == 2 else array


def _without_repetition(array: NDArray[Any]) -> NDArray[Any]:
    repeated = tuple(slice(1) if step == 0 else slice(None) for step in array.strides[:-2])
    return array[repeated]


def _as_product(ins: object) -> ProductForm:
    if not isinstance(ins, ProductForm):
        raise PtxlabError(
            f"instruction: found {quoted(ins)}; ptxlab.instruction(text) gives one that multiplies matrices"
        )
    return ins


def _part(array: NDArray[Any], batch: tuple[int, ...], start: int, stop: int) -> NDArray[Any]:
    """Elements of the flattened batch, without copying what broadcasting would repeat."""
    axes = array.shape[:-2]
    if axes == batch:
        return array.reshape(-1, *array.shape[-2:])[start:stop]
    if not axes:
        return np.broadcast_to(array, (stop - start, *array.shape))
    indices = np.unravel_index(np.arange(start, stop), batch)[len(batch) - len(axes) :]
    broadcast_indices = tuple(
        index if size > 1 else np.zeros_like(index) for index, size in zip(indices, axes, strict=True)
    )
    return np.asarray(array[broadcast_indices])
