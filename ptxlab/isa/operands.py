"""Everything one instruction reads, as one object: registers, codes in shared memory, modifiers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, broadcast, check_room
from ..errors import PtxlabError, listing, quoted
from .mma import MmaForm
from .modifiers import Modifiers
from .product_form import ProductForm


@dataclass(frozen=True, eq=False, repr=False)
class Operands:
    """The inputs of one instruction, or of a batch.

    Registers [..., lanes, registers], words of tensor memory [..., lanes, columns], element codes for shared
    memory.

    `Operands.of` checks what it is given; batch axes broadcast.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> a, b, c = (np.zeros(shape, np.uint32) for shape in ((7, 32, 4), (32, 2), (32, 4)))
    >>> operands = Operands.of(ins, a, b, c)
    >>> operands.batch, list(operands.arrays)
    ((7,), ['A', 'B', 'C'])
    >>> operands
    <operands of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: A (7, 32, 4), B (32, 2), C (32, 4)>
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
        return f"<operands of {self.ins.mnemonic}: {shapes}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operands):
            return NotImplemented
        ours, theirs = self.arrays, other.arrays
        return (
            (self.ins, self.modifiers) == (other.ins, other.modifiers)
            and ours.keys() == theirs.keys()
            and all(np.array_equal(array, theirs[name]) for name, array in ours.items())
        )

    __hash__ = None  # type: ignore[assignment]

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
    ) -> Operands:
        """Check every array against its operand, and the modifiers against the instruction."""
        ins = _as_product(ins)
        checked = {}
        arguments = {"a": a, "b": b, "c": c, "e": e, "scale_a": scale_a, "scale_b": scale_b}
        for name, array in arguments.items():
            operand = ins.inputs.get(name)
            if operand is None:
                if array is not None:
                    raise PtxlabError(
                        f"{name}: {ins.mnemonic} has no such operand; it has {listing(_names(ins), 8)}"
                    )
                continue
            if array is None:
                raise PtxlabError(f"{name} is missing: {ins.mnemonic} needs {operand.describe()}")
            checked[name] = operand.check_registers(array)
        operands = cls(
            ins, **checked, modifiers=ins.check_modifiers(Modifiers() if modifiers is None else modifiers)
        )
        check_room(operands.count * math.prod(ins.d.stored_shape), "batch of D")  # and it must broadcast
        return operands

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
    ) -> Operands:
        """Pack whole matrices of values.

        Sparse A is given dense and compressed, C left out is 0, scales left out are 1.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> hex(Operands.from_matrices(ins, np.ones((16, 16)), np.ones((16, 8))).a[0, 0])
        '0x3c003c00'
        """
        ins = _as_product(ins)
        e = None
        if ins.e is not None:
            A, nibbles = ins.compress(A)
            e = ins.e.pack_codes(nibbles)
        C = np.zeros(ins.c.shape, dtype=ins.c.dtype.value_type) if C is None else C
        scales = {}
        for name, operand, values in (("scale_a", ins.scale_a, scale_a), ("scale_b", ins.scale_b, scale_b)):
            if operand is not None:
                scales[name] = operand.pack(np.ones(operand.shape) if values is None else values)
            elif values is not None:
                raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        return cls.of(ins, ins.a.pack(A), ins.b.pack(B), ins.c.pack(C), e, **scales, modifiers=modifiers)

    @property
    def mma(self) -> MmaForm:
        """The instruction, for what knows only those of a warp or a warpgroup; tcgen05.mma is an error."""
        if not isinstance(self.ins, MmaForm):
            raise PtxlabError(f"{self.ins.mnemonic}: this needs mma, mma.sp, wmma, wgmma or wgmma.sp")
        return self.ins

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by operand name, in the order A, B, C, E, SFA, SFB; only those the instruction has."""
        named = {operand.name: getattr(self, name) for name, operand in self.ins.inputs.items()}
        return {name: array for name, array in named.items() if array is not None}

    @cached_property
    def batch(self) -> tuple[int, ...]:
        """The common batch shape."""
        return broadcast("batch axes", {name: array.shape[:-2] for name, array in self.arrays.items()})

    @property
    def count(self) -> int:
        """How many instructions the batch holds."""
        return math.prod(self.batch)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def part(self, start: int, stop: int) -> Operands:
        """Instructions start to stop of the flattened batch.

        Arrays that broadcast along all of it stay as they are.
        """
        batch = self.batch
        start, stop = as_int(start, "start"), as_int(stop, "stop")
        if not 0 <= start <= stop <= self.count:
            raise PtxlabError(
                f"instructions {quoted(start)} to {quoted(stop)}: the batch has {self.count}, from 0 on"
            )
        return self._map(lambda array: _part(array, batch, start, stop))

    def select(self, which: ArrayLike) -> Operands:
        """Instructions of these numbers, of the flattened batch."""
        numbers = as_array(which, "which")
        whole = numbers.ndim == 1 and (numbers.size == 0 or numbers.dtype.kind in "iu")
        if not whole or (numbers.size and not 0 <= numbers.min() <= numbers.max() < self.count):
            raise PtxlabError(f"which={quoted(which)}: a list of numbers from 0 to {self.count - 1}")
        index = numbers.astype(np.int64)
        return self.part(0, self.count)._map(lambda array: array[index])

    def compact(self) -> Operands:
        """The same for another process, as small as can be: once what repeats along the batch.

        If all arrays do, C stays, so that the batch keeps its size.
        """
        compact = self._map(_without_repetition)
        if compact.batch == self.batch:
            return compact
        return replace(compact, c=np.broadcast_to(compact.c, self.batch + compact.c.shape[-2:]))

    def item(self, index: int) -> Operands:
        """One instruction of the flattened batch, without batch axes."""
        batch = self.batch
        index = as_index(index, "instruction", self.count)
        return self._map(
            lambda array: np.broadcast_to(array, batch + array.shape[-2:]).reshape(-1, *array.shape[-2:])[
                index
            ]
        )

    def _map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Operands:
        return replace(
            self,
            a=change(self.a),
            b=change(self.b),
            c=change(self.c),
            e=None if self.e is None else change(self.e),
            scale_a=None if self.scale_a is None else change(self.scale_a),
            scale_b=None if self.scale_b is None else change(self.scale_b),
        )


def _names(ins: ProductForm) -> list[str]:
    """Of its operands, D among them."""
    names = [operand.name for operand in ins.inputs.values()]
    return [*names[:3], ins.d.name, *names[3:]]


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
    """Rows of the flattened batch, without a copy of everything that broadcasting would repeat."""
    own = array.shape[:-2]
    if own == batch:
        return array.reshape(-1, *array.shape[-2:])[start:stop]
    if not own:
        return np.broadcast_to(array, (stop - start, *array.shape))
    indices = np.unravel_index(np.arange(start, stop), batch)[len(batch) - len(own) :]
    chosen = tuple(
        index if size > 1 else np.zeros_like(index) for index, size in zip(indices, own, strict=True)
    )
    return np.asarray(array[chosen])
