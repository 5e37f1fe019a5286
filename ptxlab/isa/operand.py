"""Operands: a matrix, its element type, and the registers of every lane, or the memory, that hold it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, as_text
from ..errors import PtxlabError, counted, quoted
from .dtypes import DType
from .layout import Layout
from .location import Place, TensorPlace


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
    word: ClassVar[str]  # what a lane has its elements in: a register, or a column of tensor memory

    @property
    @abstractmethod
    def lanes(self) -> int:
        """Lanes that hold it, of one warp or several, or of tensor memory; 0 in shared memory."""

    @property
    @abstractmethod
    def ctas(self) -> int:
        """CTAs that hold it: 1, or 2 where a pair of them executes the instruction."""

    @property
    @abstractmethod
    def word_count(self) -> int:
        """How many registers, or columns, that takes; 0 in shared memory."""

    @abstractmethod
    def where(self, row: int, col: int) -> Sequence[Place | TensorPlace]:
        """Every place that holds this row and column."""

    @abstractmethod
    def held_by(self, lane: int) -> Iterator[tuple[Place | TensorPlace, int, int]]:
        """(place, row, column) of the elements in a lane; of a CTA pair, in one of 256."""

    @property
    def holds_words(self) -> bool:
        """Whether its elements are words of tensor memory, as those of R of tcgen05.ld and .st are."""
        return self.axes == ("lane", "column")

    @property
    @abstractmethod
    def stored_shape(self) -> tuple[int, int]:
        """The last two axes of the array that the instruction reads or writes."""

    @property
    @abstractmethod
    def register_type(self) -> type[np.unsignedinteger[Any]]:
        """The NumPy type of its registers or words."""

    @abstractmethod
    def describe(self, name: str = "") -> str:
        """Its name (or `name` instead), size, type and place in a few words."""

    @abstractmethod
    def pack_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """Element codes [..., rows, columns] -> registers or words."""

    @abstractmethod
    def unpack_codes(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Registers or words -> element codes [..., rows, columns], read from one copy."""

    @abstractmethod
    def check_registers(self, registers: ArrayLike) -> NDArray[Any]:
        """The registers or words as unsigned integers, or an error that says what is wrong with them."""

    def to_registers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Like `pack_codes`, for codes already checked."""
        return self.pack_codes(codes)

    def from_registers(self, registers: NDArray[Any], copy: int = 0) -> NDArray[Any]:
        """Like `unpack_codes`, for registers already checked."""
        return self.unpack_codes(registers, copy)

    @abstractmethod
    def rewritten(
        self, registers: NDArray[Any], codes: NDArray[Any], changed: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """The registers or words with new codes: only bits of `changed` elements are written, in all copies.

        Registers and codes are already checked; `changed` has the shape of the codes.
        """

    def unpack_as(self, registers: NDArray[Any], number: type[np.generic]) -> NDArray[Any]:
        """Registers or words already checked -> values of that NumPy type, for the emulator to multiply.

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.unpack_as(np.full((32, 4), 0xFFFFFFFF, np.uint32), np.float32)[0, :3]
        array([-1., -1., -1.], dtype=float32)
        """
        return self.dtype.decode_array(self.from_registers(registers)).astype(number, copy=False)

    def pack(self, matrix: ArrayLike) -> NDArray[Any]:
        """Values [..., rows, columns] -> registers [..., lanes, registers].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> [hex(register) for register in a.pack(np.tile(np.arange(8), (16, 8)))[5]]
        ['0x76543210', '0x76543210', '0x76543210', '0x76543210']
        """
        return self.to_registers(self.encode(matrix))

    def encode(self, matrix: ArrayLike) -> NDArray[Any]:
        """Values [..., rows, columns] -> element codes; an error names a value that has none."""
        matrix = self.check_matrix(matrix)
        try:
            return self.dtype.encode_array(matrix)
        except PtxlabError as error:
            raise PtxlabError(f"{self.name}: {error}") from None

    def unpack(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Registers [..., lanes, registers] -> values [..., rows, columns].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.unpack(np.full((32, 4), 0x76543210))[9, 32:41]
        array([0, 1, 2, 3, 4, 5, 6, 7, 0], dtype=int8)
        """
        return self.dtype.decode_array(self.unpack_codes(registers, copy))

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
        matrix = as_array(matrix, f"{self.name}: {self.dtype.name}")
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
        if codes.dtype.kind not in "iu":
            raise PtxlabError(
                f"{self.name}: codes are unsigned integers, found {codes.dtype}; pack takes values"
            )
        if codes.dtype != self.dtype.code_type or self.dtype.bits not in (8, 16, 32, 64):
            bad = (codes < 0) | (codes > (1 << self.dtype.bits) - 1)
            if bad.any():
                raise PtxlabError(
                    f"{self.name}: {_first_place(bad, 'row', 'column')}: code {codes[bad][0]} does not fit "
                    f"the {self.dtype.bits} bits of {self.dtype}"
                )
        return codes.astype(self.dtype.code_type, copy=False)

    @property
    def holder(self) -> str:
        """What holds its words, for messages: a lane, or a thread of a warpgroup (0 to 127)."""
        return "lane"

    def check_words(self, array: NDArray[Any]) -> NDArray[Any]:
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
                f"{self.name}: {_first_place(bad, self.holder, 'register')}: {array[bad][0]} does not fit "
                f"{bits} bits"
            )
        return array.astype(self.register_type)


def _first_place(mask: NDArray[np.bool_], *axes: str) -> str:
    """The place of the first True in words; `axes` names the last axes: ``row 3, column 5``."""
    at = np.argwhere(mask)[0][-len(axes) :]
    return ", ".join(f"{axis} {index}" for axis, index in zip(axes[-len(at) :], at, strict=True))


@lru_cache(maxsize=64)
def _values_by_word(bits: int, table: bytes, number: str) -> NDArray[Any]:
    """The values in every 16-bit word (a byte, for b1) of packed codes: [65536 or 256, elements].

    `table` has the value of every code as bytes of the NumPy type `number`.
    """
    width = 16 if bits > 1 else 8
    values = np.frombuffer(table, dtype=number)
    words = np.arange(1 << width, dtype=np.uint32)[:, None] >> np.arange(0, width, bits, dtype=np.uint32)
    return np.asarray(values[words & np.uint32((1 << bits) - 1)])


@dataclass(frozen=True)
class Packing:
    """How tcgen05.mma reads A or B from shared memory, which its type and shape alone do not say.

    >>> import ptxlab
    >>> ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f8f6f4", a="e2m1").a.packing
    Packing(ctas=2, mn_major=False, padded=True, indexed=False, shifted=False)
    """

    ctas: int = 1  # that share it: each has a part of the rows of A, or of the columns of B
    mn_major: bool = False
    padded: bool = False  # 16 elements share 16 bytes, with padding behind them
    indexed: bool = False  # indices into a table are there instead of elements
    shifted: bool = False  # it has more columns than N, of which a mask selects some


@dataclass(frozen=True)
class Operand(MatrixOperand):
    """A matrix operand: values <-> codes <-> registers.

    Operands in shared memory (B of wgmma) have no lanes: `layout` is None, and `pack` gives the matrix of
    codes.

    >>> import ptxlab
    >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
    >>> a.describe()
    'A 16x64 s4, 4 registers in each of 32 lanes'
    >>> a.lanes, a.registers, a.elements_per_register
    (32, 4, 8)
    >>> a.register_bits, a.register_type, a.width
    (32, <class 'numpy.uint32'>, 4)
    >>> a.dtype.name, a.shape, a.layout.cute
    ('s4', (16, 64), '((4,8),(8,2,2)):((128,1),(16,8,512))')
    """

    name: str
    dtype: DType
    shape: tuple[int, int]
    layout: Layout | None
    space: Literal["register", "shared"] = "register"
    axes: tuple[str, str] = ("row", "column")
    container: int = 0  # bits that an element takes up in a register, if more than its own
    padding: int = 0  # bits of the container that lie below the element
    packing: Packing | None = field(default=None, repr=False)  # in shared memory, for tcgen05.mma
    word: ClassVar[str] = "register"

    @property
    def ctas(self) -> int:
        """CTAs that hold it: 1, or 2 where a pair of them shares it in shared memory."""
        return self.packing.ctas if self.packing else 1

    @property
    def word_count(self) -> int:
        """The registers of a lane."""
        return self.registers

    @cached_property
    def register_bits(self) -> int:
        """32, or 64 for f64."""
        return max(32, self.dtype.bits)

    @cached_property
    def width(self) -> int:
        """Bits from one element of a register to the next.

        The element's own, or its container's (8 for kind::f8f6f4).
        """
        return self.container or self.dtype.bits

    @cached_property
    def elements_per_register(self) -> int:
        """How many elements share a register: 8 for s4, 1 for f32."""
        return self.register_bits // self.width

    @cached_property
    def lanes(self) -> int:
        """Lanes that hold it: 32, or 128 for a warpgroup; 0 for one in shared memory."""
        return self.layout.lanes if self.layout else 0

    @cached_property
    def registers(self) -> int:
        """Registers a lane holds of this operand; 0 for one in shared memory."""
        return self.layout.elements // self.elements_per_register if self.layout else 0

    @cached_property
    def stored_shape(self) -> tuple[int, int]:
        """Lanes and registers, or rows and columns of a matrix in shared memory."""
        return (self.lanes, self.registers) if self.layout else self.shape

    @cached_property
    def register_type(self) -> type[np.unsignedinteger[Any]]:
        """The NumPy type of its registers: uint32, or uint64 for f64."""
        return np.uint64 if self.register_bits == 64 else np.uint32

    def describe(self, name: str = "") -> str:
        """``A 16x64 s4, 4 registers in each of 32 lanes``, or with another name."""
        name = as_text(name, "name")
        size = f"{name or self.name} {self.shape[0]}x{self.shape[1]} {self.dtype}"
        if not self.layout:
            return f"{size}, in shared memory"
        return f"{size}, {counted(self.registers, 'register')} in each of {self.lanes} {self.holder}s"

    @property
    def holder(self) -> str:
        return "lane" if self.lanes <= 32 else "thread"

    # -- where elements are ----------------------------------------------------------------------------------

    def coords(self) -> NDArray[np.int64]:
        """Row and column of every element of every lane: int array [lanes, elements, 2].

        >>> import ptxlab
        >>> ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").c.coords()[5].tolist()
        [[1, 2], [1, 3], [9, 2], [9, 3]]
        """
        return self._layout_of_lanes().coords()

    def place(self, lane: int, element: int) -> Place:
        """Register and bits of an element of a lane.

        >>> import ptxlab
        >>> ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a.place(lane=4, element=29)
        Place(lane=4, element=29, register=3, low=20, high=23)
        """
        layout = self._layout_of_lanes()
        lane = as_index(lane, self.holder, layout.lanes, f"operand {self.name}: ")
        element = as_index(element, "element", layout.elements, f"operand {self.name}: ")
        register, slot = divmod(element, self.elements_per_register)
        low = slot * self.width + self.padding
        return Place(lane, element, register, low, low + self.dtype.bits - 1)

    def where(self, row: int, col: int) -> list[Place]:
        """Every place that holds this row and column, lowest lane first.

        >>> import ptxlab
        >>> ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a.where(9, 37)
        [Place(lane=4, element=29, register=3, low=20, high=23)]
        """
        return [self.place(lane, element) for lane, element in self._layout_of_lanes().holders(row, col)]

    def holds(self, lane: int, register: int | None = None) -> Iterator[tuple[Place, int, int]]:
        """(place, row, column) of the elements in a lane, or in one of its registers.

        >>> import ptxlab
        >>> b = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").b
        >>> [(place.low, row, column) for place, row, column in b.holds(lane=5, register=1)][:3]
        [(0, 40, 1), (4, 41, 1), (8, 42, 1)]
        """
        layout = self._layout_of_lanes()
        lane = as_index(lane, self.holder, layout.lanes, f"operand {self.name}: ")
        register = None if register is None else as_int(register, "register")
        if register is not None and not 0 <= register < self.registers:
            raise PtxlabError(
                f"operand {self.name}: register {quoted(register)} does not exist; a {self.holder} holds "
                f"registers 0 to {self.registers - 1}"
            )
        for element, (row, column) in enumerate(layout.coords()[lane].tolist()):
            place = self.place(lane, element)
            if register in (None, place.register):
                yield place, row, column

    def read_with(self, copy: int) -> str:
        """The modifiers with which an instruction reads this copy; "" if there is only one to read.

        >>> import ptxlab
        >>> scaled = "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
        >>> ptxlab.instruction(f"mma.sync.aligned.{scaled}").scale_b.read_with(3)
        'byte-id 2, thread-id 1'
        """
        copy = as_int(copy, "copy")
        if self.name == "E":
            return f"selector {copy}"
        if "block" in self.axes:
            blocks = self.shape[self.axes.index("block")]
            thread, byte = divmod(copy, 4 // blocks)
            return f"byte-id {byte * blocks}, thread-id {thread}"
        return ""

    def held_by(self, lane: int) -> Iterator[tuple[Place, int, int]]:
        """(place, row, column) of the elements in a lane."""
        return self.holds(lane)

    def _layout_of_lanes(self) -> Layout:
        """The layout, or an error for an operand in shared memory."""
        if self.layout is None:
            raise PtxlabError(
                f"operand {self.name} lives in shared memory: no lane holds it; see ptxlab.memory for its "
                f"addresses"
            )
        return self.layout

    # -- matrix <-> registers --------------------------------------------------------------------------------

    def pack_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """Element codes [..., rows, columns] -> registers [..., lanes, registers].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> hex(a.pack_codes(np.full((16, 64), 0xF))[0, 0])   # the code of -1
        '0xffffffff'
        """
        return self.to_registers(self.check_codes(codes))

    def to_registers(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Like `pack_codes`, for codes already checked."""
        if self.layout is None:
            return codes
        by_lane = np.take(
            codes.reshape(*codes.shape[:-2], self.shape[0] * self.shape[1]),
            self.layout.gather,
            axis=-1,
            mode="clip",  # twice as fast as "raise"
        )
        return self.join(by_lane)

    def rewritten(
        self, registers: NDArray[Any], codes: NDArray[Any], changed: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """See `MatrixOperand.rewritten`; bits of padding are kept."""
        packed = self.to_registers(codes)
        if self.layout is None:
            return packed
        if self.container:
            every_code = np.full((self.lanes, self.layout.elements), (1 << self.dtype.bits) - 1)
            packed = packed | (registers & ~self.join(every_code))
        if self.layout.copies == 1:
            return packed
        before, after = self.split(registers), self.split(packed)
        return self.join(np.where(changed.reshape(-1)[self.layout.gather], after, before))

    def unpack_codes(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Registers [..., lanes, registers] -> element codes [..., rows, columns].

        If a layout holds elements several times, `copy` says which holder is read, counted by lane and
        element.

        >>> import ptxlab
        >>> e = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").e
        >>> registers = np.where(np.arange(32)[:, None] % 4 < 2, 0x44444444, 0xEEEEEEEE)
        >>> [hex(e.unpack_codes(registers, copy=selector)[0, 0]) for selector in (0, 1)]
        ['0x4', '0xe']
        """
        copy = as_int(copy, f"{self.name}: copy")
        if self.layout is None and copy:
            raise PtxlabError(
                f"{self.name}: copy={quoted(copy)}; in shared memory every element is held once"
            )
        return self.from_registers(self.check_registers(registers), copy)

    def from_registers(self, registers: NDArray[Any], copy: int = 0) -> NDArray[Any]:
        """Like `unpack_codes`, for registers already checked."""
        table = np.arange(1 << self.dtype.bits).astype(np.uint8) if self.dtype.bits < 8 else None
        return self._to_matrix(registers, copy, table)

    def unpack_as(self, registers: NDArray[Any], number: type[np.generic]) -> NDArray[Any]:
        """See `MatrixOperand.unpack_as`; types of at most 8 bits go through a table of their values."""
        if self.dtype.bits > 8:
            return super().unpack_as(registers, number)
        if self.dtype.bits == 8 and not self.dtype.is_float:
            return self.from_registers(registers).view(self.dtype.value_type).astype(number, copy=False)
        values = self.dtype.decode(np.arange(1 << self.dtype.bits))
        if self.dtype.is_float:
            return self._to_matrix(registers, 0, values.astype(number))
        return self._to_matrix(registers, 0, values).astype(number, copy=False)

    def _to_matrix(self, registers: NDArray[Any], copy: int, table: NDArray[Any] | None) -> NDArray[Any]:
        """Registers -> matrix of table[code], or of codes without a table."""
        if self.layout is None:
            codes = registers
            return codes if table is None or table.dtype == codes.dtype else np.asarray(table[codes])
        register_order = self._register_order(copy) if self.width == self.dtype.bits else None
        if register_order is None:
            by_lane = self.split(registers)
            codes = np.take(
                by_lane.reshape(*by_lane.shape[:-2], self.lanes * self.layout.elements),
                self.layout.scatter(copy),
                axis=-1,
                mode="clip",
            )
            return codes if table is None else np.asarray(table[codes])
        order, transposed = register_order
        ordered = np.take(
            registers.reshape(*registers.shape[:-2], self.lanes * self.registers), order, axis=-1, mode="clip"
        )
        if self.dtype.bits >= 8 or table is None:
            codes = ordered.view(self.dtype.code_type)
            elements = codes if table is None else table[codes]
        else:
            by_word = _values_by_word(self.dtype.bits, table.tobytes(), table.dtype.str)
            elements = np.take(by_word, ordered.view(np.uint16 if len(by_word) > 256 else np.uint8), axis=0)
        matrix = elements.reshape(*registers.shape[:-2], *(self.shape[::-1] if transposed else self.shape))
        return np.swapaxes(matrix, -1, -2) if transposed else matrix

    @lru_cache(maxsize=None)  # noqa: B019 - operands live as long as the catalogue
    def _register_order(self, copy: int) -> tuple[NDArray[np.int64], bool] | None:
        """The registers in the order of the matrix, or (True) of its transpose; None if it has no such order.

        Each register must hold neighbours of a row, or of a column: then whole registers are put in place
        before they are unpacked. Indices into [lanes * registers].
        """
        positions, size = self._layout_of_lanes().scatter(copy), self.elements_per_register
        for matrix, transposed in ((positions, False), (positions.T, True)):
            if matrix.shape[1] % size == 0:
                runs = matrix.reshape(matrix.shape[0], -1, size)
                if (np.diff(runs, axis=-1) == 1).all() and not (runs[..., 0] % size).any():
                    return runs[..., 0] // size, transposed
        return None

    def join(self, by_lane: NDArray[Any]) -> NDArray[Any]:
        """Codes by lane and element [..., lanes, elements], for any number of lanes -> registers.

        The first element is in the lowest bits.

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> hex(a.join(np.tile(np.arange(16), (32, 2)))[0, 1])   # elements 8..15
        '0xfedcba98'
        """
        if self.dtype.bits == self.width >= 8:
            return np.ascontiguousarray(by_lane, dtype=self.dtype.code_type).view(self.register_type)
        parts = by_lane.reshape(
            *by_lane.shape[:-1], by_lane.shape[-1] // self.elements_per_register, self.elements_per_register
        ).astype(self.register_type)
        return np.asarray(np.bitwise_or.reduce(parts << self._shifts, axis=-1))

    def split(self, registers: NDArray[Any]) -> NDArray[Any]:
        """Registers [..., lanes, registers], for any number of lanes -> codes [..., lanes, elements].

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.split(np.full((32, 4), 0xFEDCBA98, dtype=np.uint32))[0, :8]
        array([ 8,  9, 10, 11, 12, 13, 14, 15], dtype=uint8)
        """
        if self.dtype.bits == self.width >= 8:  # elements follow each other in memory
            return np.ascontiguousarray(registers).view(self.dtype.code_type)
        mask = self.register_type((1 << self.dtype.bits) - 1)
        parts = (registers[..., None] >> self._shifts) & mask
        return np.asarray(
            parts.reshape(*registers.shape[:-1], registers.shape[-1] * self.elements_per_register).astype(
                self.dtype.code_type
            )
        )

    @cached_property
    def _shifts(self) -> NDArray[Any]:
        return (np.arange(self.elements_per_register) * self.width + self.padding).astype(self.register_type)

    # -- checks ----------------------------------------------------------------------------------------------

    def check_registers(self, registers: ArrayLike) -> NDArray[Any]:
        """The registers as unsigned integers of their width, or an error that says what is wrong with them.

        >>> import ptxlab
        >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
        >>> a.check_registers(np.full((32, 4), -1, dtype=np.int32))[0]
        array([4294967295, 4294967295, 4294967295, 4294967295], dtype=uint32)
        """
        array = as_array(registers, self.name)
        if self.layout is None:
            return self.check_codes(array)
        if array.shape[-2:] != (self.lanes, self.registers):
            raise PtxlabError(
                f"{self.name}: found registers of shape {array.shape}; it takes [..., {self.lanes} "
                f"{self.holder}s, {self.registers} registers]"
            )
        return self.check_words(array)


def as_operand(value: object) -> Operand:
    """Return an operand, or refuse any other value.

    >>> as_operand("A")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: found 'A' where an operand belongs, such as ins.a or ins.operand('A')
    """
    if not isinstance(value, Operand):
        raise PtxlabError(
            f"found {quoted(value)} where an operand belongs, such as ins.a or ins.operand('A')"
        )
    return value
