"""What every matrix operand has, whether it is in registers, in shared memory or in tensor memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, is_a
from ..errors import PtxlabError, quoted
from .dtypes import DType


class MatrixOperand(ABC):
    """A matrix: values <-> codes <-> what the instruction reads, or writes.

    That is registers [..., lanes, registers], words of tensor memory [..., lanes, columns], or the matrix of
    codes in shared memory.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> ins.b.stored_shape, ins.d.stored_shape
    ((16, 32), (128, 32))
    """

    name: str
    dtype: DType
    shape: tuple[int, int]
    axes: tuple[str, str]

    @property
    @abstractmethod
    def stored_shape(self) -> tuple[int, int]:
        """The last two axes of an array of it as the instruction reads it."""

    @property
    @abstractmethod
    def register_type(self) -> type[np.unsignedinteger[Any]]:
        """The NumPy type of its registers or words."""

    @abstractmethod
    def describe(self, name: str = "") -> str:
        """Its name, or another one, size, type and place in a few words."""

    @abstractmethod
    def pack_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """Element codes [..., rows, columns] -> registers or words."""

    @abstractmethod
    def unpack_codes(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Registers or words -> element codes [..., rows, columns], of one of its copies."""

    @abstractmethod
    def check_registers(self, registers: ArrayLike) -> NDArray[Any]:
        """The registers or words as unsigned integers, or an error that says what is wrong with them."""

    def to_registers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """As `pack_codes`, of codes that were checked."""
        return self.pack_codes(codes)

    def from_registers(self, registers: NDArray[Any], copy: int = 0) -> NDArray[Any]:
        """As `unpack_codes`, of registers that were checked."""
        return self.unpack_codes(registers, copy)

    def unpack_as(self, registers: ArrayLike, number: type[np.generic], copy: int = 0) -> NDArray[Any]:
        """Registers or words -> values of that NumPy type, for element types of at most 8 bits.

        What the emulator multiplies.

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.unpack_as(np.full((32, 4), 0xFFFFFFFF), np.float32)[0, :3]
        array([-1., -1., -1.], dtype=float32)
        """
        self._check_small(number)
        return self.dtype.decode(self.unpack_codes(registers, copy)).astype(number, copy=False)

    def _check_small(self, number: type[np.generic]) -> None:
        if self.dtype.bits > 8:
            raise PtxlabError(f"{self.name}: unpack_as is for types of at most 8 bits, found {self.dtype}")
        if not is_a(number, type) or not issubclass(number, np.number | np.bool_):
            raise PtxlabError(
                f"{self.name}: number={quoted(number)}; it takes a NumPy type such as np.float32"
            )

    def pack(self, matrix: ArrayLike) -> NDArray[Any]:
        """Values [..., rows, columns] -> registers [..., lanes, registers].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> [hex(register) for register in a.pack(np.tile(np.arange(8), (16, 8)))[5]]
        ['0x76543210', '0x76543210', '0x76543210', '0x76543210']
        """
        return self.to_registers(self.encode(matrix))

    def encode(self, matrix: ArrayLike) -> NDArray[Any]:
        """Values [..., rows, columns] -> element codes, or an error that says which value has none."""
        matrix = self.check_matrix(matrix)
        try:
            return self.dtype.encode(matrix)
        except PtxlabError as error:
            raise PtxlabError(f"{self.name}: {error}") from None

    def unpack(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Registers [..., lanes, registers] -> values [..., rows, columns].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.unpack(np.full((32, 4), 0x76543210))[9, 32:41]
        array([0, 1, 2, 3, 4, 5, 6, 7, 0], dtype=int8)
        """
        return self.dtype.decode(self.unpack_codes(registers, copy))

    # -- checks ----------------------------------------------------------------------------------------------

    def check_matrix(self, matrix: ArrayLike) -> NDArray[Any]:
        """The matrix as an array [..., rows, columns], or an error that says which shape it takes.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> ins.a.check_matrix(np.zeros((16, 32)))
        Traceback (most recent call last):
            ...
        ptxlab.errors.PtxlabError: A: found shape (16, 32); it takes [..., 16, 64]
        """
        matrix = as_array(matrix, f"{self.name}: {self.dtype}")
        if matrix.shape[-2:] != self.shape:
            raise PtxlabError(
                f"{self.name}: found shape {matrix.shape}; it takes [..., {self.shape[0]}, {self.shape[1]}]"
            )
        return matrix

    def check_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """The codes as an array [..., rows, columns] of their type, or an error that says what is wrong.

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.check_codes(np.full((16, 64), 16))
        Traceback (most recent call last):
            ...
        ptxlab.errors.PtxlabError: A: row 0, column 0: code 16 does not fit the 4 bits of s4
        """
        codes = self.check_matrix(codes)
        self._check_codes(codes, "row", "column")
        return codes.astype(self.dtype.code_type, copy=False)

    def _check_codes(self, codes: NDArray[Any], row: str, column: str) -> None:
        """Refuse codes that its type does not have; `row` and `column` say what the last two axes count."""
        if codes.dtype.kind not in "iu":
            raise PtxlabError(
                f"{self.name}: codes are unsigned integers, found {codes.dtype}; pack takes values"
            )
        if codes.dtype != self.dtype.code_type or self.dtype.bits not in (8, 16, 32, 64):
            bad = (codes < 0) | (codes > (1 << self.dtype.bits) - 1)
            if bad.any():
                raise PtxlabError(
                    f"{self.name}: {_first_place(bad, row, column)}: code {codes[bad][0]} does not fit the "
                    f"{self.dtype.bits} bits of {self.dtype}"
                )

    def _check_words(self, array: NDArray[Any]) -> NDArray[Any]:
        """Registers as unsigned integers of their width."""
        bits = 8 * self.register_type().itemsize
        if array.dtype.kind not in "iu":
            raise PtxlabError(
                f"{self.name}: registers are {bits}-bit unsigned integers, found "
                f"{array.dtype}; pack makes them from values"
            )
        if array.dtype == self.register_type:
            return array
        if array.dtype.kind == "i" and array.dtype.itemsize * 8 == bits:
            return array.view(self.register_type)
        bad = (array < 0) | (array > np.iinfo(self.register_type).max)
        if bad.any():
            raise PtxlabError(
                f"{self.name}: {_first_place(bad, 'lane', 'register')}: {array[bad][0]} does not fit "
                f"{bits} bits"
            )
        return array.astype(self.register_type)


def _first_place(mask: NDArray[np.bool_], *axes: str) -> str:
    """The first True, by the names of the last axes: ``row 3, column 5``."""
    at = np.argwhere(mask)[0][-len(axes) :]
    return ", ".join(f"{axis} {index}" for axis, index in zip(axes[-len(at) :], at, strict=True))
