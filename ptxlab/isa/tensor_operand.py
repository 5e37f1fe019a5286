"""Tensor memory, 128 lanes by 512 columns of 32 bits: where tcgen05 keeps D, A, scale factors and metadata.

A layout here runs from the matrix to the memory, since instructions leave lanes and columns free: a mode
``(size, lane step, element step)`` is one digit of the row's or the column's index, fastest first, and each
digit moves by its steps. Elements are counted along a lane; a column holds 32 bits of them. Lanes from 128 on
are those of the second CTA of a pair.

PTX ISA 9.4, "Data Path Layout Organization" (layouts A to G are pictures there), "Block Scaling" and
"Sparsity selector"; shapes and strides from CUTLASS's mma_traits_sm100_frag.hpp. Where the two
differ, or one is silent, `source` of the operand says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, as_text
from ..errors import PtxlabError, counted, quoted
from .cute import cute_text
from .dtypes import DType
from .layout import Mode, mode_offsets
from .location import TensorPlace
from .operand import MatrixOperand, Operand

LANES, COLUMNS = 128, 512
ALL_LANES = (1 << LANES) - 1  # a bit for each
_WORD = 32  # bits of a column


@dataclass(frozen=True)
class TensorLayout:
    """A map (row, column) of a matrix -> (lane, element) of tensor memory.

    >>> d = TensorLayout((64, 256), row=((64, 1, 0),), column=((128, 0, 1), (2, 64, 0)))
    >>> d.locate(3, 130), d.cute
    ((67, 2), '(64,(128,2)):(1,(128,64))')
    """

    shape: tuple[int, int]
    row: tuple[Mode, ...]
    column: tuple[Mode, ...]
    copy: tuple[Mode, ...] = ()  # where else the whole matrix is held

    @property
    def copies(self) -> int:
        """How often every element is held."""
        return math.prod(size for size, _, _ in self.copy)

    @cached_property
    def ctas(self) -> int:
        """CTAs whose tensor memory it covers: 1, or 2 for cta_group::2."""
        return int(self._coords[..., 0].max()) // LANES + 1

    @cached_property
    def elements(self) -> int:
        """Elements of a lane that it covers, counted from the first."""
        return int(self._coords[..., 1].max()) + 1

    def coords(self) -> NDArray[np.int64]:
        """Lane and element of every row and column, for every copy: int array [copies, rows, columns, 2].

        >>> TensorLayout((32, 2), ((32, 1, 0),), ((2, 0, 1),), copy=((4, 32, 0),)).coords()[:, 5, 1].tolist()
        [[5, 1], [37, 1], [69, 1], [101, 1]]
        """
        return self._coords.copy()

    @cached_property
    def _coords(self) -> NDArray[np.int64]:
        copies, rows, columns = (mode_offsets(modes) for modes in (self.copy, self.row, self.column))
        return copies[:, None, None] + rows[None, :, None] + columns[None, None, :]

    def locate(self, row: int, col: int) -> tuple[int, int]:
        """The (lane, element) that holds this row and column; the first of several copies."""
        return self.holders(row, col)[0]

    def holders(self, row: int, col: int) -> list[tuple[int, int]]:
        """Every (lane, element) that holds this row and column."""
        row = as_index(row, "row", self.shape[0])
        col = as_index(col, "column", self.shape[1])
        return [(int(lane), int(element)) for lane, element in self._coords[:, row, col]]

    @property
    def cute(self) -> str:
        """(row, column) -> lane + 128 * element within one CTA, as CuTe and TileLang write it.

        >>> data_path(128, cta_group=2, sparse=False, ws=False).result(128, 64).cute
        '(64,(32,2)):(1,(128,64))'
        """
        row, column = (
            [(size, lane + LANES * element) for size, lane, element in modes if size > 1 and lane < LANES]
            for modes in (self.row, self.column)
        )
        return cute_text(row, column)


@dataclass(frozen=True)
class TensorOperand(MatrixOperand):
    """A matrix operand in tensor memory: values <-> codes <-> words of 128 lanes.

    Columns count from the operand's address. `layout` may be larger than the matrix: an id or a selector then
    says which part of it the instruction reads (`start`).

    >>> import ptxlab
    >>> d = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32).d
    >>> d.describe()
    'D 64x32 f32 in tensor memory, 32 columns'
    >>> d.where(20, 3), d.holds(lane=36, column=3)
    ([TensorPlace(cta=0, lane=36, column=3, low=0, high=31)], [(20, 3)])
    >>> words = d.pack(np.arange(64 * 32).reshape(64, 32))
    >>> words.shape, words.view(np.float32)[36, :3]   # lane 36 has row 20
    ((128, 32), array([640., 641., 642.], dtype=float32))
    """

    name: str
    dtype: DType
    shape: tuple[int, int]
    layout: TensorLayout
    axes: tuple[str, str] = ("row", "column")
    container: int = 0  # bits that an element takes up, where they are more than its own
    padding: int = 0  # bits of the container that lie below the element
    start: tuple[int, int] = (0, 0)  # its first row and column in the layout
    source: str = "PTX ISA and CUTLASS"
    space: ClassVar[Literal["tensor"]] = "tensor"
    word: ClassVar[str] = "column"

    @property
    def width(self) -> int:
        """Bits from one element of a lane to the next."""
        return self.container or self.dtype.bits

    @property
    def ctas(self) -> int:
        """CTAs that hold it: 1, or 2 for cta_group::2."""
        return self.layout.ctas

    @property
    def lanes(self) -> int:
        """Lanes of tensor memory, 128 of each CTA; the matrix may leave some free."""
        return LANES * self.ctas

    @property
    def word_count(self) -> int:
        """The same as `columns`."""
        return self.columns

    @property
    def columns(self) -> int:
        """Columns of tensor memory from its address on, with all that its ids choose from."""
        return -(-self.layout.elements * self.width // _WORD)

    @property
    def stored_shape(self) -> tuple[int, int]:
        """Lanes (256 for a CTA pair) and columns."""
        return self.lanes, self.columns

    @property
    def register_type(self) -> type[np.unsignedinteger[Any]]:
        """The NumPy type of its words."""
        return np.uint32

    def describe(self, name: str = "") -> str:
        """``D 128x256 f32 in tensor memory, 256 columns``, or with another name."""
        size = f"{as_text(name, 'name') or self.name} {self.shape[0]}x{self.shape[1]} {self.dtype}"
        pair = " of both CTAs" if self.ctas == 2 else ""
        return f"{size} in tensor memory{pair}, {counted(self.columns, 'column')}"

    # -- where things are ------------------------------------------------------------------------------------

    def _places(self, lane: int, element: int) -> list[TensorPlace]:
        column, low = divmod(element * self.width, _WORD)
        low += self.padding
        high = low + self.dtype.bits - 1
        cta, lane = divmod(lane, LANES)
        if high < _WORD:
            return [TensorPlace(cta, lane, column, low, high)]
        return [
            TensorPlace(cta, lane, column, low, _WORD - 1),
            TensorPlace(cta, lane, column + 1, 0, high - _WORD),
        ]

    def where(self, row: int, col: int) -> list[TensorPlace]:
        """Every place that holds this row and column, the first copy first.

        An element of 6 bits may be in two neighbouring columns, its lower bits first.
        """
        row = as_index(row, "row", self.shape[0], f"operand {self.name}: ")
        col = as_index(col, "column", self.shape[1], f"operand {self.name}: ")
        owners = self.layout.holders(row + self.start[0], col + self.start[1])
        return [place for lane, element in owners for place in self._places(lane, element)]

    def held_by(self, lane: int) -> Iterator[tuple[TensorPlace, int, int]]:
        """(place, row, column) of the elements in a lane, one of 256 in a pair of CTAs, copy by copy.

        An element of 6 bits may be in two neighbouring columns, its lower bits first.
        """
        lane = as_index(lane, "lane", self.lanes, f"operand {self.name}: ")
        (row, col), (rows, columns) = self.start, self.shape
        at = self.layout._coords[:, row : row + rows, col : col + columns]
        for copy, m, n in np.argwhere(at[..., 0] == lane).tolist():
            for place in self._places(lane, int(at[copy, m, n, 1])):
                yield place, m, n

    def holds(self, lane: int, column: int, cta: int = 0) -> list[tuple[int, int]]:
        """(row, column) of the elements in a word, from its lowest bits on; [] if the matrix leaves it free.

        >>> import ptxlab
        >>> mxf4 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale")
        >>> mxf4.scale_a.holds(lane=37, column=2)   # two scales of row 69
        [(69, 0), (69, 1)]
        """
        cta = as_index(cta, "cta", self.ctas)
        lane = as_index(lane, "lane", LANES) + LANES * cta
        column = as_index(column, "column", COLUMNS)
        if column >= self.columns:
            return []
        lanes, first, lows = np.moveaxis(self._words, -1, 0)
        bits = (first - column) * _WORD + lows  # counted from the lowest of this column
        cells = np.argwhere((lanes == lane) & (bits < _WORD) & (bits + self.dtype.bits > 0))
        low = bits[tuple(cells.T)]
        return [(int(row), int(col)) for _, row, col in cells[np.argsort(low, kind="stable")]]

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        """Lane, column and lowest bit of every element: [copies, rows, columns, 3]."""
        (row, col), (rows, columns) = self.start, self.shape
        at = self.layout._coords[:, row : row + rows, col : col + columns]
        bit = at[..., 1] * self.width
        return np.stack([at[..., 0], bit // _WORD, bit % _WORD + self.padding], axis=-1)

    # -- matrix <-> words ------------------------------------------------------------------------------------

    def pack_codes(self, codes: ArrayLike) -> NDArray[np.uint32]:
        """Element codes [..., rows, columns] -> words [..., lanes, columns], free bits 0.

        A CTA pair has 256 lanes.
        """
        array = self.check_codes(codes)
        lanes, columns = self.stored_shape
        batch, (parts, together) = array.shape[:-2], self._group
        elements = array.reshape(*batch, self.shape[0] * self.shape[1]).astype(np.uint32, copy=False)
        if (self._elements < 0).any():
            elements = np.concatenate([elements, np.zeros((*batch, 1), dtype=np.uint32)], axis=-1)
        slots = np.take(elements, self._elements, axis=-1)  # -1 is the zero at the end
        if together > 1:
            slots = self._joined(slots.reshape(*batch, slots.shape[-1] // parts, parts))
        elif parts > 1 or self.padding:
            shifts = np.arange(parts, dtype=np.uint32) * np.uint32(self.width) + np.uint32(self.padding)
            slots = np.bitwise_or.reduce(slots.reshape(*batch, lanes * columns, parts) << shifts, axis=-1)
        return slots.reshape(*batch, lanes, columns)

    def rewritten(
        self, registers: NDArray[Any], codes: NDArray[Any], changed: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """See `MatrixOperand.rewritten`; bits of words that belong to no element are kept."""
        every_bit = (1 << self.dtype.bits) - 1
        mask = self.to_registers(np.where(changed, every_bit, 0).astype(self.dtype.code_type))
        return np.asarray((registers & ~mask) | (self.to_registers(codes) & mask))

    def unpack_codes(self, registers: ArrayLike, copy: int = 0) -> NDArray[Any]:
        """Words [..., lanes, columns] -> element codes [..., rows, columns], read from one copy."""
        array = as_array(registers, self.name)
        lanes, columns = self.stored_shape
        if array.ndim < 2 or array.shape[-2] != lanes or array.shape[-1] < columns:
            raise PtxlabError(
                f"{self.name}: found words of shape {array.shape}; it takes [..., {lanes} lanes, "
                f"{columns} columns]"
            )
        if array.dtype.kind not in "iu" or array.dtype.itemsize != 4:
            raise PtxlabError(f"{self.name}: words are 32-bit unsigned integers, found {array.dtype}")
        copy = as_int(copy, "copy")
        if not 0 <= copy < self.layout.copies:
            raise PtxlabError(f"{self.name}: copy {quoted(copy)}; there are {self.layout.copies}")
        words = array[..., :columns].reshape(*array.shape[:-2], lanes * columns).view(np.uint32)
        slots, (parts, together) = self._slots[copy], self._group
        if together > 1:
            return np.asarray(np.take(self._split(words), slots, axis=-1).astype(self.dtype.code_type))
        codes = np.take(words, slots // parts, axis=-1)
        if self.width != self.dtype.bits or parts > 1:
            lows = (slots % parts * self.width + self.padding).astype(np.uint32)
            codes = codes >> lows & np.uint32((1 << self.dtype.bits) - 1)
        return np.asarray(codes.astype(self.dtype.code_type, copy=False))

    @cached_property
    def _slots(self) -> NDArray[np.int64]:
        """The slot of each element; slots have its width, lane after lane: [copies, rows, columns]."""
        lane, column, low = np.moveaxis(self._words, -1, 0)
        parts, together = self._group
        slots = lane * (self.columns * parts // together) + (column * _WORD + low) // self.width
        return np.asarray(slots)

    @property
    def _group(self) -> tuple[int, int]:
        """The fewest elements that fill whole words, and how many words these are: (1, 1) for 32 bits."""
        bits = math.lcm(self.width, _WORD)
        return bits // self.width, bits // _WORD

    def _joined(self, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Elements [..., groups, elements] that cross the ends of words -> words."""
        bits = codes[..., None] >> np.arange(self.width, dtype=np.uint32) & np.uint32(1)
        octets = np.packbits(bits.astype(np.uint8).reshape(*codes.shape[:-2], -1), axis=-1, bitorder="little")
        return octets.view(np.uint32)

    def _split(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The inverse of `_joined`: words [..., words] -> elements."""
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")
        places = np.arange(self.width, dtype=np.uint32)
        elements = bits.reshape(*words.shape[:-1], -1, self.width).astype(np.uint32) << places
        return np.asarray(np.bitwise_or.reduce(elements, axis=-1))

    @cached_property
    def _elements(self) -> NDArray[np.int64]:
        """The row-major index of the element in each slot; -1 for none."""
        parts, together = self._group
        elements = np.full(math.prod(self.stored_shape) * parts // together, -1)
        elements[self._slots] = np.arange(self.shape[0] * self.shape[1]).reshape(self.shape)
        return elements

    def check_registers(self, registers: ArrayLike) -> NDArray[Any]:
        """The words as 32-bit unsigned integers, or an error that says what is wrong with them.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
        >>> ins.d.check_registers(np.zeros((128, 16), dtype=np.uint32))
        Traceback (most recent call last):
            ...
        ptxlab.errors.PtxlabError: D: found words of shape (128, 16); it takes [..., 128 lanes, 32 columns]
        """
        array = as_array(registers, self.name)
        if array.shape[-2:] != self.stored_shape:
            lanes, columns = self.stored_shape
            raise PtxlabError(
                f"{self.name}: found words of shape {array.shape}; it takes [..., {lanes} lanes, "
                f"{columns} columns]"
            )
        return self.check_words(array)


#: A matrix of an instruction: in lanes, in shared memory, in tensor memory.
AnyOperand: TypeAlias = Operand | TensorOperand


# -- data paths: which lanes an instruction uses -------------------------------------------------------------


@dataclass(frozen=True)
class DataPath:
    """One of layouts A to G: which lanes hold which rows and columns of D.

    >>> data_path(64, cta_group=1, sparse=False, ws=False)
    DataPath(name='F', rows=64, wide=1, halves=True, ctas=1, source='PTX ISA and CUTLASS')
    """

    name: str
    rows: int  # of D in one CTA
    wide: int  # groups of lanes among which the columns of D are divided
    halves: bool = False  # only 16 of every 32 lanes are used
    ctas: int = 1
    source: str = "PTX ISA and CUTLASS"

    @property
    def m(self) -> int:
        """Rows of D."""
        return self.rows * self.ctas

    @property
    def alignments(self) -> tuple[int, ...]:
        """Lanes at which D, A and the metadata may begin: all three at the same.

        >>> DATA_PATHS["F"].alignments, DATA_PATHS["D"].alignments
        ((0, 16), (0,))
        """
        return (0, 16) if self.halves else (0,)

    def lanes(self, first: int = 0) -> int:
        """The lanes of D, A and the metadata that begin in lane `first`: a bit for each.

        >>> f"{DATA_PATHS['F'].lanes(16):x}"
        'ffff0000ffff0000ffff0000ffff0000'
        """
        every_half = sum(0xFFFF << lane for lane in range(0, LANES, 32))
        return every_half << first if self.halves else ALL_LANES

    def row_modes(self) -> tuple[Mode, ...]:
        """Modes of a row of D, or of A in tensor memory."""
        lanes: tuple[Mode, ...] = (
            ((16, 1, 0), (self.rows // 16, 32, 0)) if self.halves else ((self.rows, 1, 0),)
        )
        return (*lanes, (2, LANES, 0)) if self.ctas == 2 else lanes

    def copy_modes(self) -> tuple[Mode, ...]:
        """Further copies of A and metadata, so that each group of lanes has whole rows."""
        return ((self.wide, LANES // self.wide, 0),) if self.wide > 1 else ()

    def result(self, m: int, n: int) -> TensorLayout:
        """Where D is.

        >>> [path.result(path.m, 64).cute for path in DATA_PATHS.values()][:3]
        ['(128,64):(1,128)', '(64,(32,2)):(1,(128,64))', '((16,4),64):((1,32),128)']
        """
        columns: tuple[Mode, ...] = ((n // self.wide, 0, 1),)
        if self.wide > 1:
            columns += ((self.wide, LANES // self.wide, 0),)
        return _layout((m, n), self.row_modes(), columns)

    def multiplicand(self, m: int, k: int) -> TensorLayout:
        """Where A is, in elements of its own width."""
        return _layout((m, k), self.row_modes(), ((k, 0, 1),), self.copy_modes())

    def metadata(self, m: int, chunks: int, wide: bool) -> TensorLayout:
        """Where the nibbles of a sparse A are.

        For 16- and 32-bit types a lane holds four nibbles of a row and four of the row 8 below, and the lane
        8 further the next four of each: one column, of four that the selector chooses from. Otherwise a lane
        holds all nibbles of its row.

        >>> DATA_PATHS["D"].metadata(128, 8, wide=True).locate(11, 5)   # the sixth nibble of row 11
        (11, 5)
        >>> DATA_PATHS["D"].metadata(128, 8, wide=True).locate(3, 5)
        (11, 1)
        """
        if not wide:
            return _layout((m, chunks), self.row_modes(), ((chunks, 0, 1),), self.copy_modes())
        blocks: tuple[Mode, ...] = ((self.rows // 16, 32 if self.halves else 16, 0),)
        if self.ctas == 2:
            blocks += ((2, LANES, 0),)
        rows: tuple[Mode, ...] = ((8, 1, 0), (2, 0, 4), *blocks)
        return _layout((m, 4 * chunks), rows, ((4, 0, 1), (2, 8, 0), (4, 0, 8)), self.copy_modes())


@lru_cache(maxsize=256)
def _layout(
    shape: tuple[int, int], row: tuple[Mode, ...], column: tuple[Mode, ...], copy: tuple[Mode, ...] = ()
) -> TensorLayout:
    return TensorLayout(shape, row, column, copy)


#: "Data Path Layout Organization". Editions before 9.4 say 2x3 of layout E, 9.4 says 2x2.
DATA_PATHS: dict[str, DataPath] = {
    row.name: row
    for row in (
        DataPath("A", 128, 1, ctas=2),
        DataPath("B", 64, 2, ctas=2),
        DataPath("C", 64, 1, halves=True, ctas=2, source="PTX ISA; CUTLASS places D as in layout B"),
        DataPath("D", 128, 1),
        DataPath("E", 64, 2),
        DataPath("F", 64, 1, halves=True),
        DataPath("G", 32, 4),
    )
}


def data_path(m: int, *, cta_group: int, sparse: bool, ws: bool) -> DataPath:
    """The layout of an instruction.

    >>> data_path(128, cta_group=2, sparse=True, ws=False).name
    'C'
    """
    rows = {
        (256, 2): "A",
        (128, 2): "C" if sparse else "B",
        (128, 1): "D",
        (64, 1): "E" if ws else "F",
        (32, 1): "G",
    }
    return DATA_PATHS[rows[m, cta_group]]


def scale_layout(lines: int, ctas: int, groups: int, *, lanes: int = 32) -> TensorLayout:
    """Scale factors of `lines` rows of A in each CTA, or columns of B, as rows of bytes.

    The scales of row r are in lane r % 32 of column r // 32, four to a column, so that `tcgen05.cp.32x128b`
    takes a tile of 128x4 there as it lies in shared memory; all four groups of 32 lanes hold the same. The
    next four scales of every row follow in the next columns.

    >>> scale_layout(128, 1, 1).holders(37, 2)
    [(5, 6), (37, 6), (69, 6), (101, 6)]
    """
    pair: tuple[Mode, ...] = ((ctas, LANES, 0),) if ctas > 1 else ()
    if lanes == LANES:
        return _layout((lines * ctas, 4 * groups), ((lines, 1, 0), *pair), ((4 * groups, 0, 1),))
    columns = -(-lines // 32)
    rows: tuple[Mode, ...] = ((32, 1, 0), (columns, 0, 4), *pair)
    shape = (32 * columns * ctas, 4 * groups)
    return _layout(shape, rows, ((4, 0, 1), (groups, 0, 4 * columns)), ((4, 32, 0),))


def half_scale_layout(lines: int, groups: int) -> TensorLayout:
    """Scale factors of `lines` columns of B where D is in layout B: each half has 64 lanes to itself.

    This is CUTLASS's layout (`tmem_sf_frg`, ScaleFactorDuplicated2by2); its example for M = 128 of a CTA pair
    copies them there by `tcgen05.cp.64x128b.warpx2::01_23`.

    >>> half_scale_layout(256, 1).holders(37, 2), half_scale_layout(256, 1).holders(128, 0)
    ([(5, 6), (37, 6)], [(64, 0), (96, 0)])
    """
    half = lines // 2
    columns = -(-half // 32)
    rows: tuple[Mode, ...] = ((min(half, 32), 1, 0), (columns, 0, 4), (2, 64, 0))
    return _layout((lines, 4 * groups), rows, ((4, 0, 1), (groups, 0, 4 * columns)), ((2, 32, 0),))


def transposed(layout: TensorLayout) -> TensorLayout:
    """The same places for the transposed matrix."""
    return _layout((layout.shape[1], layout.shape[0]), layout.column, layout.row, layout.copy)


def split_address(address: int) -> tuple[int, int]:
    """The lane and the column of an address; refuses one of more than 32 bits.

    >>> split_address(0x300005)
    (48, 5)
    """
    if not 0 <= address < 1 << 32:
        raise PtxlabError(f"address {quoted(address)}: it has 32 bits, the lane in the upper 16")
    return address >> 16, address & 0xFFFF


def accessible_lanes(warp: int) -> range:
    """Lanes of tensor memory that tcgen05.ld and tcgen05.st of a warp may touch, by its rank among four.

    >>> accessible_lanes(6)   # warps 2, 6, 10, ...
    range(64, 96)
    """
    rank = as_int(warp, "warp") % 4
    return range(32 * rank, 32 * rank + 32)
