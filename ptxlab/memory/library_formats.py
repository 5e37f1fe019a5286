"""Metadata, scales and weights as libraries store them.

Metadata of a sparse matrix: as CUTLASS and PyTorch store it, as ptxlab's kernels do, nibbles, registers.

CUTLASS, host_reorder.h (`reorder_meta`) and `ColumnMajorInterleaved<2>`; PyTorch's semi-structured tensors
follow it. Nibbles of a row become words of 16 bits (A of 16 or 32 bits) or 32 bits (A of 8 or 4 bits), the
first nibble lowest; then rows are interleaved so that ldmatrix gives each lane the words that mma.sp takes.

Scale factors of mx and nvfp4 in memory, as CUTLASS, cuBLAS and tcgen05.cp expect them: tiles of 128x4.

CUTLASS, sm100_blockscaled_layout.hpp: a tile holds four scales of each of 128 rows in 512 bytes,
``((32,4),4):((16,4),1)``, so that the four of a row are 32 bits and rows 32 apart are neighbours. Tiles
follow each other along the scales of a row first. Rows are those of A, or columns of B.

The order in which to store weights so that every lane loads its fragments with 128-bit loads.

A warp that reads 16 bytes a lane reads 512 bytes in a row. If these are the elements of its fragments, in the
order of lanes, no ldmatrix and no shared memory is needed; Marlin stores its weights this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, as_integers, as_shape, broadcast, check_room, is_a, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.mma import Instruction
from ..isa.operand import Operand, as_operand
from ..isa.parse import parse_mma

#: What `pack_metadata` puts together: rows (four warps of 16), chunks of each, and lanes.
_BLOCK_ROWS, _BLOCK_CHUNKS, _BLOCK_LANES = 64, 16, 128

#: Bits of a word of metadata -> rows that are interleaved together, and how far apart neighbours get.
_INTERLEAVING = {16: (32, 4), 32: (16, 2)}


def reorder_metadata(nibbles: ArrayLike, bits: int = 16) -> NDArray[Any]:
    """Nibbles [..., rows, chunks] of a sparse A, elements of `bits` bits, as PyTorch and CUTLASS store them.

    The result, [..., rows, words], is in the order of memory: int16 for elements of 16 and 32 bits, int32 for
    those of 4 and 8.

    >>> nibbles = np.tile(np.arange(8, dtype=np.uint8), (32, 1))
    >>> [hex(word) for word in reorder_metadata(nibbles).reshape(-1)[:4]]   # words 0 of rows 0 and 8, then 1
    ['0x3210', '0x3210', '0x7654', '0x7654']
    """
    codes = as_integers(nibbles, "nibbles")
    size = _word_bits(bits)
    count = size // 4
    if codes.ndim < 2 or codes.shape[-1] % (2 * count) or codes.shape[-2] % _INTERLEAVING[size][0]:
        raise PtxlabError(
            f"nibbles of shape {codes.shape}: they are [..., rows, chunks], rows a multiple of "
            f"{_INTERLEAVING[size][0]} and chunks one of {2 * count}"
        )
    if (codes < 0).any() or (codes > 15).any():
        raise PtxlabError(f"nibbles: found {codes[(codes < 0) | (codes > 15)][0]}; they go from 0 to 15")
    check_room(codes.size, "nibbles")
    rows, words = codes.shape[-2], codes.shape[-1] // count
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(4)
    parts = codes.astype(np.uint64).reshape(*codes.shape[:-1], words, count) << shifts
    plain = np.bitwise_or.reduce(parts, axis=-1).astype(f"u{size // 8}")
    memory = np.empty((*codes.shape[:-2], rows * words), dtype=plain.dtype)
    memory[..., _places(rows, words, size)] = plain
    return memory.reshape(*codes.shape[:-2], rows, words).view(f"i{size // 8}")


def restore_metadata(metadata: ArrayLike) -> NDArray[np.uint8]:
    """The nibbles [..., rows, chunks] of metadata as PyTorch and CUTLASS store it: undoes `reorder_metadata`.

    >>> nibbles = np.tile(np.arange(8, dtype=np.uint8), (32, 1))
    >>> bool((restore_metadata(reorder_metadata(nibbles)) == nibbles).all())
    True
    """
    stored = as_integers(metadata, "metadata")
    size = 8 * stored.itemsize
    if size not in _INTERLEAVING:
        raise PtxlabError(f"metadata of {stored.dtype}: it is int16, or int32 for elements of 8 bits")
    if stored.ndim < 2 or stored.shape[-1] % 2 or stored.shape[-2] % _INTERLEAVING[size][0]:
        raise PtxlabError(
            f"metadata of shape {stored.shape}: it is [..., rows, words], rows a multiple of "
            f"{_INTERLEAVING[size][0]} and words an even number"
        )
    rows, words = stored.shape[-2:]
    check_room(stored.size * size // 4, "metadata")
    flat = np.ascontiguousarray(stored).reshape(*stored.shape[:-2], rows * words).view(f"u{size // 8}")
    plain = flat[..., _places(rows, words, size)]
    shifts = np.arange(0, size, 4).astype(plain.dtype)
    nibbles = plain[..., None] >> shifts & plain.dtype.type(15)
    return np.asarray(nibbles.reshape(*stored.shape[:-2], rows, words * size // 4), dtype=np.uint8)


def metadata_registers(ins: Instruction | str, metadata: ArrayLike) -> NDArray[Any]:
    """E of every sparse instruction over a matrix: [..., row tiles, K tiles, lanes, registers].

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    >>> metadata = reorder_metadata(np.full((32, 16), 0b0100, dtype=np.uint8))
    >>> metadata_registers(ins, metadata).shape, hex(metadata_registers(ins, metadata)[0, 0, 0, 0])
    ((2, 2, 32, 1), '0x44444444')
    """
    form = parse_mma(ins)
    operand = _metadata_operand(form)
    rows, chunks = operand.shape
    nibbles = restore_metadata(metadata)
    high, wide = nibbles.shape[-2:]
    if high % rows or wide % chunks:
        raise PtxlabError(
            f"metadata of {high}x{wide} nibbles: {form.mnemonic} takes multiples of {rows}x{chunks}"
        )
    tiles = nibbles.reshape(*nibbles.shape[:-2], high // rows, rows, wide // chunks, chunks)
    return np.asarray(operand.pack_codes(np.moveaxis(tiles, -3, -2)))


def metadata_from_registers(ins: Instruction | str, registers: ArrayLike) -> NDArray[Any]:
    """E registers of a matrix -> metadata as PyTorch and CUTLASS store it; see `metadata_registers`."""
    form = parse_mma(ins)
    operand = _metadata_operand(form)
    rows, chunks = operand.shape
    codes = np.asarray(operand.unpack_codes(registers))
    if codes.ndim < 4:
        raise PtxlabError("registers: they are [..., row tiles, K tiles, lanes, registers]")
    high, wide = codes.shape[-4:-2]
    nibbles = np.moveaxis(codes, -2, -3).reshape(*codes.shape[:-4], high * rows, wide * chunks)
    return reorder_metadata(nibbles, form.a.dtype.bits)


def pack_metadata(ins: Instruction | str, nibbles: ArrayLike) -> NDArray[np.int32]:
    """Nibbles [rows, chunks] as the lanes of mma.sp and wgmma.sp take them: [rows / 64, chunks / 16, 128].

    Each lane of four warps, which have 16 rows each, has a word of 32 bits for every 16 chunks of a row. This
    holds E for every shape of the instruction; selectors say which lanes supply it. Rows and chunks that are
    missing get the nibble of zeros, which keeps the first groups.

    >>> form = parse_mma("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    >>> words = pack_metadata(form, np.full((64, 16), 0b0100))
    >>> words.shape, hex(words[0, 0, 0])
    ((1, 1, 128), '0x44444444')
    """
    form = parse_mma(ins)
    operand = _metadata_operand(form)
    codes = as_integers(nibbles, "nibbles")
    if codes.ndim != 2:
        raise PtxlabError(f"nibbles of shape {codes.shape}: they are [rows, chunks]")
    check_room(codes.size, "nibbles")
    empty = next(iter(form.nibbles))  # of a chunk of zeros
    padding = [(0, -codes.shape[0] % _BLOCK_ROWS), (0, -codes.shape[1] % _BLOCK_CHUNKS)]
    codes = np.pad(codes, padding, constant_values=empty)
    tile_rows, tile_chunks = operand.shape
    high, wide = codes.shape[0] // _BLOCK_ROWS, codes.shape[1] // _BLOCK_CHUNKS
    parts = codes.reshape(high, _BLOCK_ROWS // tile_rows, tile_rows, wide, len(form.selectors), tile_chunks)
    registers = operand.pack_codes(parts.transpose(0, 3, 1, 4, 2, 5))[..., 0]  # [..., selector, lane]
    chosen = registers[..., _selected(form), np.arange(operand.lanes)]
    return np.ascontiguousarray(chosen.reshape(high, wide, _BLOCK_LANES)).view(np.int32)


def unpack_metadata(ins: Instruction | str, words: ArrayLike) -> NDArray[np.uint8]:
    """The nibbles [rows, chunks] of words that `pack_metadata` made.

    >>> form = parse_mma("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32")
    >>> nibbles = np.tile(np.array([0b0100, 0b1110], dtype=np.uint8), (64, 8))
    >>> bool((unpack_metadata(form, pack_metadata(form, nibbles)) == nibbles).all())
    True
    """
    form = parse_mma(ins)
    operand = _metadata_operand(form)
    integers = as_integers(words, "words")
    if integers.ndim != 3 or integers.shape[-1] != _BLOCK_LANES:
        raise PtxlabError(
            f"words of shape {integers.shape}: they are [rows / {_BLOCK_ROWS}, chunks / "
            f"{_BLOCK_CHUNKS}, {_BLOCK_LANES}]"
        )
    high, wide, _ = integers.shape
    selectors, warps = len(form.selectors), _BLOCK_ROWS // operand.shape[0]
    bits = (integers.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)
    registers = bits.reshape(high, wide, warps, 1, operand.lanes, 1)
    by_selector = np.broadcast_to(registers, (high, wide, warps, selectors, operand.lanes, 1)).copy()
    for selector in range(selectors):  # only the lanes that a selector names hold its metadata
        named = np.nonzero(_selected(form) == selector)[0]
        supplying = _supplying_lane(named, operand.lanes, selectors)
        by_selector[..., selector, :, 0] = registers[..., 0, supplying, 0]
    codes = np.asarray(operand.unpack_codes(by_selector))  # [high, wide, warps, selectors, rows, chunks]
    nibbles = codes.transpose(0, 2, 4, 1, 3, 5).reshape(high * _BLOCK_ROWS, wide * _BLOCK_CHUNKS)
    return np.asarray(nibbles, dtype=np.uint8)


def _selected(form: Instruction) -> NDArray[np.int64]:
    """The selector that names each lane: one selector names all four lanes, two name two each, four one."""
    lane = np.arange(_metadata_operand(form).lanes) % 4
    return lane * len(form.selectors) // 4


def _supplying_lane(named: NDArray[np.int64], lanes: int, selectors: int) -> NDArray[np.int64]:
    """For each lane, the lane of the same four, among those `named`, whose register the selector reads."""
    lane = np.arange(lanes)
    return named.reshape(-1, 4 // selectors)[lane // 4, lane % (4 // selectors)]


def _metadata_operand(form: Instruction) -> Operand:
    if form.e is None:
        raise PtxlabError(f"{form.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    return form.e


def _word_bits(bits: object) -> int:
    number = as_int(bits, "bits")
    if number not in (4, 8, 16, 32):
        raise PtxlabError(f"bits={quoted(number)}: a sparse A has elements of 4, 8, 16 or 32 bits")
    return 16 if number >= 16 else 32


def _places(rows: int, words: int, size: int) -> NDArray[np.int64]:
    """Where each word goes, [rows, words]: rows are interleaved, then 2x2 blocks go from Z to N order."""
    group, step = _INTERLEAVING[size]
    row, column = np.arange(rows)[:, None], np.arange(words)[None, :]
    row = row // group * group + row % 8 * step + row % group // 8
    row, column = row // 2 * 2 + column % 2, column // 2 * 2 + row % 2
    return np.asarray(column // 2 * 2 * rows + row * 2 + column % 2)


# -- scales of mx and nvfp4: tiles of 128x4 ------------------------------------------------------------------


_SCALE_ROWS, _SCALE_COLUMNS = 128, 4  # of a tile
_MOST = 1 << 32


def scale_offset(row: ArrayLike, column: ArrayLike, columns: int) -> NDArray[np.int64]:
    """The byte at which scale `column` of `row` is, in a matrix with that many scales a row.

    >>> scale_offset([0, 1, 32, 128], 0, columns=4)
    array([  0,  16,   4, 512])
    """
    rows, along = as_integers(row, "row"), as_integers(column, "column")
    width = _as_size(columns, "columns")
    for name, index, most in (("row", rows, _MOST), ("column", along, width)):
        if (index < 0).any() or (index >= most).any():
            raise PtxlabError(
                f"{name} {index[(index < 0) | (index >= most)][0]}: it goes from 0 to {most - 1}"
            )
    check_room(math.prod(broadcast("row and column", {"row": rows.shape, "column": along.shape})), "scales")
    rows, along = rows.astype(np.int64), along.astype(np.int64)
    tile = rows // _SCALE_ROWS * -(-width // _SCALE_COLUMNS) + along // _SCALE_COLUMNS
    return np.asarray(
        tile * _SCALE_ROWS * _SCALE_COLUMNS
        + rows % 32 * 16
        + rows % _SCALE_ROWS // 32 * 4
        + along % _SCALE_COLUMNS
    )


def tile_scales(scales: ArrayLike) -> NDArray[Any]:
    """Scales [..., rows, columns], of one byte each, as tiles of 128x4 in memory, [..., bytes].

    Rows and columns beyond the last are 0.

    >>> scales = np.arange(128 * 4, dtype=np.uint16).reshape(128, 4).astype(np.uint8)
    >>> tile_scales(scales)[:8]   # those of row 0, and of row 32
    array([  0,   1,   2,   3, 128, 129, 130, 131], dtype=uint8)
    """
    values = as_array(scales, "scales")
    if values.ndim < 2 or 0 in values.shape[-2:]:
        raise PtxlabError(f"scales of shape {values.shape}: they are [..., rows, columns]")
    values = _as_bytes(values, "scales")
    rows, columns = values.shape[-2:]
    size = _size(rows, columns)
    check_room(math.prod(values.shape[:-2]) * size, "scales")
    memory = np.zeros((*values.shape[:-2], size), dtype=values.dtype)
    memory[..., scale_offset(np.arange(rows)[:, None], np.arange(columns), columns)] = values
    return memory


def untile_scales(memory: ArrayLike, rows: int, columns: int) -> NDArray[Any]:
    """The scales [..., rows, columns] that tiles of 128x4 hold: the inverse of `tile_scales`.

    >>> untile_scales(tile_scales(np.full((3, 2), 127, dtype=np.uint8)), 3, 2).shape
    (3, 2)
    """
    content = as_array(memory, "memory")
    rows, columns = _as_size(rows, "rows"), _as_size(columns, "columns")
    size = _size(rows, columns)
    if content.shape[-1:] != (size,):
        raise PtxlabError(
            f"memory of shape {content.shape}: {rows}x{columns} scales take [..., {size}] bytes"
        )
    content = _as_bytes(content, "memory")
    return np.asarray(content[..., scale_offset(np.arange(rows)[:, None], np.arange(columns), columns)])


def _as_bytes(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Codes of one byte: of a type of that size, or whole numbers from 0 to 255."""
    if values.dtype.itemsize == 1 and values.dtype.kind != "b":
        return values
    if values.dtype.kind not in "iu":
        raise PtxlabError(f"{what} of {values.dtype}: ue8m0 and ue4m3 take one byte each")
    outside = (values < 0) | (values > 255)
    if outside.any():
        raise PtxlabError(f"{what}: found {values[outside][0]}; bytes go from 0 to 255")
    return values.astype(np.uint8)


def _size(rows: int, columns: int) -> int:
    """Bytes of whole tiles."""
    return -(-rows // _SCALE_ROWS) * -(-columns // _SCALE_COLUMNS) * _SCALE_ROWS * _SCALE_COLUMNS


def _as_size(value: object, what: str) -> int:
    size = as_int(value, what)
    if not 1 <= size <= _MOST:
        raise PtxlabError(f"{what}={quoted(size)}: it takes 1 to 2^32")
    return size


# -- weights for 128-bit loads -------------------------------------------------------------------------------


_LOAD_BITS = 128
_WIDTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, eq=False)
class WeightOrder:
    """Where each element of a weight matrix is stored; `weight_order` makes it.

    `order[i]` is the row-major index of the element that is stored at place i, `places` the inverse.
    """

    operand: Operand
    shape: tuple[int, int]
    bits: int
    order: NDArray[np.int64]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where the element with each row-major index is stored: the inverse of `order`."""
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(len(self.order))
        inverse.flags.writeable = False
        return inverse

    @property
    def per_load(self) -> int:
        """Elements in the 128 bits that a lane loads at once."""
        return _LOAD_BITS // self.bits

    @property
    def loads(self) -> NDArray[np.int64]:
        """Row-major indices of what each lane gets: [loads, lanes, elements of a load]."""
        return self.order.reshape(-1, self.operand.lanes, self.per_load)

    def store(self, matrix: ArrayLike) -> NDArray[Any]:
        """A matrix [..., rows, columns] in the order of memory, [..., rows * columns]."""
        array = as_array(matrix, "weights")
        if array.shape[-2:] != self.shape:
            raise PtxlabError(
                f"weights of shape {array.shape}; this order is one of [..., {self.shape[0]}, "
                f"{self.shape[1]}]"
            )
        flat = array.reshape(*array.shape[:-2], len(self.order))
        return np.take(flat, self.order, axis=-1)

    def restore(self, stored: ArrayLike) -> NDArray[Any]:
        """What `store` gave, [..., rows * columns], as the matrix [..., rows, columns]."""
        array = as_array(stored, "stored weights")
        if array.shape[-1:] != (len(self.order),):
            raise PtxlabError(
                f"stored weights of shape {array.shape}; this order has [..., {len(self.order)}] elements"
            )
        return np.take(array, self.places, axis=-1).reshape(*array.shape[:-1], *self.shape)

    def __repr__(self) -> str:
        loads = len(self.order) // (self.operand.lanes * self.per_load)
        return (
            f"<order of {self.shape[0]}x{self.shape[1]} weights of {self.bits} bits for {self.operand.name}: "
            f"{counted(loads, 'load')} of 128 bits in each of {self.operand.lanes} lanes>"
        )


def weight_order(
    operand: Operand,
    shape: Sequence[int],
    *,
    bits: int | None = None,
    interleave: Sequence[int] = (0,),
    tiles: Literal["contiguous", "strided"] = "contiguous",
) -> WeightOrder:
    """The order that gives each lane its fragments of a matrix of that shape with 128-bit loads.

    `bits` is the width in memory where weights are quantised and widened after the load, such as 4 for an f16
    operand. Fragments that share a load are neighbours along N (of B) or M (of A); loads follow each other
    along N or M first, then along K. `interleave` reorders every `len(interleave)` elements of a lane, as
    fast conversions from 4 bits need. With strided tiles the tiles of one load alternate: of four, tile 1 has
    rows 1, 5, 9, ... of A.

    Marlin's order of 4-bit weights, 16 x 64 of them:

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> order = weight_order(ins.b, (16, 64), bits=4, interleave=(0, 2, 4, 6, 1, 3, 5, 7))
    >>> order
    <order of 16x64 weights of 4 bits for B: 1 load of 128 bits in each of 32 lanes>
    >>> [divmod(index, 64) for index in order.order[:4].tolist()]   # rows and columns that lane 0 loads first
    [(0, 0), (8, 0), (0, 8), (8, 8)]
    """
    operand = as_operand(operand)
    rows, columns = as_shape(shape, "shape of weights")
    width = operand.width if bits is None else as_int(bits, "bits")
    if width not in _WIDTHS:
        raise PtxlabError(f"bits={quoted(width)}: weights have {listing(_WIDTHS)} bits")
    if not is_name(tiles, ("contiguous", "strided")):
        raise PtxlabError(f"tiles={quoted(tiles)}: they are 'contiguous' or 'strided'")
    per_lane = _elements_per_lane(operand, rows, columns)
    lanes, load = operand.lanes, _LOAD_BITS // width
    together = max(1, load // per_lane)  # tiles that share a load
    across = 0 if operand.axes[1].lower() == "k" else 1  # the axis that is not K
    count = (rows // operand.shape[0], columns // operand.shape[1])
    if (load % per_lane and per_lane % load) or count[across] % together:
        raise PtxlabError(
            f"a load of 128 bits holds {load} elements of {width} bits and a lane {per_lane} of "
            f"{operand.name}: {'rows' if across == 0 else 'columns'} come in multiples of "
            f"{together * operand.shape[across]}"
        )
    index = _tile_indices(operand, count, across, together, tiles == "strided")
    by_load = index.reshape(-1, together, lanes, per_lane).swapaxes(1, 2)
    order = _interleaved(by_load.reshape(-1, lanes, together * per_lane), interleave)
    pieces = order.reshape(len(order), lanes, -1, min(load, order.shape[-1])).swapaxes(1, 2)
    flat = np.ascontiguousarray(pieces).reshape(-1)
    flat.flags.writeable = False
    return WeightOrder(operand, (rows, columns), width, flat)


def _elements_per_lane(operand: Operand, rows: int, columns: int) -> int:
    """Elements of a tile in a lane; refuses weights that are not whole tiles, and tiles with copies."""
    if operand.layout is None:
        raise PtxlabError(f"{operand.name} lies in shared memory: no lane loads a fragment of it")
    height, breadth = operand.shape
    if rows % height or columns % breadth or not rows * columns:
        raise PtxlabError(
            f"weights of {rows}x{columns}: {operand.name} is {height}x{breadth}, and they are whole tiles of "
            "it"
        )
    check_room(rows * columns, "weights")
    if operand.layout.copies > 1:
        raise PtxlabError(
            f"{operand.name}: lanes hold elements {operand.layout.copies} times, which a load would repeat"
        )
    return operand.layout.elements


def _tile_indices(
    operand: Operand, count: tuple[int, int], across: int, together: int, strided: bool
) -> NDArray[np.int64]:
    """Row-major indices of the elements of every tile, [tiles, lanes, elements]; tiles go across K first."""
    number = np.arange(count[across] * count[1 - across])
    along, outer = number % count[across], number // count[across]
    group, member = along // together, along % together
    size, step = operand.shape[across], together if strided else 1
    first = group * together * size + (member if strided else member * size)
    coords = operand.coords()
    position = first[:, None, None] + coords[..., across] * step
    other = outer[:, None, None] * operand.shape[1 - across] + coords[..., 1 - across]
    row, column = (position, other) if across == 0 else (other, position)
    return np.asarray(row * (count[1] * operand.shape[1]) + column)


def _interleaved(by_load: NDArray[np.int64], interleave: Sequence[int]) -> NDArray[np.int64]:
    """The elements of each lane, with every `len(interleave)` of them reordered."""
    places = [as_int(place, "interleave") for place in interleave] if is_a(interleave, list, tuple) else []
    if not places or sorted(places) != list(range(len(places))) or by_load.shape[-1] % len(places):
        raise PtxlabError(
            f"interleave={quoted(interleave)}: it has 0, 1, 2, ... once each, as many as divide the "
            f"{by_load.shape[-1]} elements that a lane loads together"
        )
    parts = by_load.reshape(*by_load.shape[:-1], -1, len(places))[..., places]
    return parts.reshape(by_load.shape)
