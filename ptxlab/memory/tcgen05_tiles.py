"""A and B of tcgen05.mma in the shared memory of a CTA: their tiles, and how narrow elements are packed.

PTX ISA 9.4, "Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory": elements of 4 and 6
bits are contiguous, with padding after 16 of them at K = 32, and without any at K = 64 (twice that of a
sparse A). The latter is a picture for 6 bits; there the lowest bits are assumed to come first, too. For 4
bits Triton and FlashInfer, which run on such a chip, do the same.

B of tcgen05.mma with .decompress::lut::b: indices of 3 bits into a table of eight values of e4m3.

PTX ISA 9.4, "Decompression of input matrices" and "Shared memory descriptor": every 8 columns of B share
eight values, and a column of B is 48 bytes of indices for 128 values of K, of which an instruction uses the
first or the second 24. The place of the table in tensor memory is a picture. The assumption here agrees with
the text: two columns, in which lane i has the values of columns 8 i to 8 i + 7 of a CTA's part of B, repeated
in each 32 lanes, as `tcgen05.cp.32x128b.warpx4` copies them; indices and values begin at the lowest bit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index, as_int, as_integers, broadcast
from ..errors import PtxlabError, quoted
from ..isa.location import SharedPlace
from ..isa.operand import Operand, Packing
from ..isa.tcgen05 import TensorInstruction
from ..isa.tcgen05.tcgen05_form import TYPES
from ..isa.tensor_operand import LANES
from .tile import Tile

#: Bytes of a compressed column of B: 3 bits for each of 128 values of K, of which an instruction uses 64.
COLUMN_BYTES = 48
_SHARING = 8  # columns of B that share a table, and values in it
INDEX_BITS = 3
_COPIES = 32  # lanes after which the table is held again


def _check_lookup(form: TensorInstruction) -> TensorInstruction:
    if not isinstance(form, TensorInstruction):
        raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('tcgen05.mma...') gives such a form")
    if not form.decompress:
        raise PtxlabError(f"{form.mnemonic} has no lookup table; forms with .decompress::lut::b have one")
    return form


def pack_lookup(form: TensorInstruction, codes: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Codes of B [..., K, N] -> bytes of its columns [..., N, 48], and the table's words [..., lanes, 2].

    Indices are in the first 24 bytes of a column. More than eight different values in columns that share a
    table are an error.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b", n=16)
    >>> columns, words = pack_lookup(form, form.b.dtype.encode(np.eye(64, 16)))
    >>> columns[1, :3], [hex(word) for word in words[0]]   # row 1 of column 1 is the second value, 1.0
    (array([8, 0, 0], dtype=uint8), ['0x3800', '0x0'])
    """
    form = _check_lookup(form)
    b = form.b.check_codes(codes)
    batch = b.shape[:-2]
    count = math.prod(batch)
    by_slice = np.moveaxis(b.reshape(count, form.k, form.n // _SHARING, _SHARING), 2, 1)
    slices = by_slice.reshape(count, form.n // _SHARING, form.k * _SHARING)
    table = np.zeros((*slices.shape[:2], _SHARING), dtype=np.uint8)
    indices = np.empty(slices.shape, dtype=np.uint8)
    for place in np.ndindex(*slices.shape[:2]):
        values, indices[place] = np.unique(slices[place], return_inverse=True)
        if values.size > _SHARING:
            first = _SHARING * place[1]
            raise PtxlabError(
                f"B: columns {first} to {first + _SHARING - 1} have {values.size} different values; with "
                f".decompress::lut::b they share a table of {_SHARING}"
            )
        table[place][: values.size] = values
    by_column = indices.reshape(count, form.n // _SHARING, form.k, _SHARING).swapaxes(2, 3)
    bits = np.unpackbits(by_column[..., None], axis=-1, bitorder="little")[..., :INDEX_BITS]
    used = np.packbits(bits.reshape(count, form.n, form.k * INDEX_BITS), axis=-1, bitorder="little")
    columns = np.zeros((len(used), form.n, COLUMN_BYTES), dtype=np.uint8)
    columns[..., : used.shape[-1]] = used
    words = np.zeros((len(used), form.cta_group, LANES // _COPIES, _COPIES, 2), dtype=np.uint32)
    slices_of_cta = form.n // _SHARING // form.cta_group
    by_cta = table.reshape(len(used), form.cta_group, 1, slices_of_cta, _SHARING)
    words[..., :slices_of_cta, :] = np.ascontiguousarray(by_cta).view("<u4")
    return columns.reshape(*batch, form.n, COLUMN_BYTES), words.reshape(*batch, LANES * form.cta_group, 2)


def unpack_lookup(
    form: TensorInstruction, columns: ArrayLike, words: ArrayLike, segment: int = 0
) -> NDArray[np.uint8]:
    """The inverse of `pack_lookup`: codes of B from the first or the second half of its columns' bytes.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b", n=16)
    >>> B = np.random.default_rng(0).integers(0, 8, (64, 16), dtype=np.uint8)
    >>> (unpack_lookup(form, *pack_lookup(form, B)) == B).all()
    np.True_
    """
    form = _check_lookup(form)
    segment = as_int(segment, "segment")
    if segment not in (0, 1):
        raise PtxlabError(f"segment={quoted(segment)}: it is 0 or 1")
    stored = _sized(columns, "columns", (form.n, COLUMN_BYTES), 1)
    table = _sized(words, "words", (LANES * form.cta_group, 2), 4)
    half = COLUMN_BYTES // 2
    bits = np.unpackbits(stored[..., half * segment : half * (segment + 1)], axis=-1, bitorder="little")
    weights = (1 << np.arange(INDEX_BITS)).astype(np.uint8)
    indices = (bits.reshape(*stored.shape[:-1], form.k, INDEX_BITS) * weights).sum(axis=-1, dtype=np.uint8)
    slices = form.n // _SHARING // form.cta_group
    lanes = (np.arange(form.cta_group)[:, None] * LANES + np.arange(slices)).reshape(-1)
    values = np.ascontiguousarray(table[..., lanes, :]).view(np.uint8)  # [..., slices, 8]
    by_column = np.repeat(values, _SHARING, axis=-2)
    batch = broadcast("columns and words", {"columns": stored.shape[:-2], "words": table.shape[:-2]})
    by_column = np.broadcast_to(by_column, (*batch, *by_column.shape[-2:]))
    indices = np.broadcast_to(indices, (*batch, *indices.shape[-2:]))
    codes = np.take_along_axis(by_column, indices.astype(np.intp), axis=-1)
    return np.swapaxes(codes, -1, -2)


def _sized(array: ArrayLike, name: str, shape: tuple[int, int], size: int) -> NDArray[Any]:
    """An array of unsigned integers of that many bytes whose last axes have that shape."""
    integers = as_integers(array, name)
    if integers.shape[-2:] != shape:
        raise PtxlabError(f"{name}: found shape {integers.shape}; it takes [..., {shape[0]}, {shape[1]}]")
    outside = (integers < 0) | (integers >= 1 << 8 * size)
    if outside.any():
        raise PtxlabError(
            f"{name}: found {integers[outside][0]}; it takes unsigned numbers of {8 * size} bits"
        )
    return integers.astype(f"<u{size}")


_PER_CHUNK = 16  # narrow elements in 16 bytes, with padding after them


def stored_bits(operand: Operand) -> int:
    """Bits of an element of A or B in shared memory, without padding.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b")
    >>> stored_bits(form.a), stored_bits(form.b)
    (8, 3)
    """
    return INDEX_BITS if operand.packing and operand.packing.indexed else operand.dtype.bits


def shared_source(operand: Operand) -> str:
    """The source for how the elements of A or B lie in shared memory.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e2m3", k=64)
    >>> shared_source(form.a), shared_source(form.b)
    ('assumed: from the lowest bit on, without padding; a picture in the PTX ISA', 'PTX ISA')
    """
    packing = operand.packing or Packing()
    if packing.indexed:
        return "assumed: indices from the lowest bit on; a picture in the PTX ISA"
    if operand.dtype.bits == 6 and not packing.padded:
        return "assumed: from the lowest bit on, without padding; a picture in the PTX ISA"
    return "PTX ISA"


def line_bits(operand: Operand, count: int) -> NDArray[np.int64]:
    """The first bit in its line (along K, or M or N if transposed) of each of the first `count` elements.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e2m3", k=64)
    >>> line_bits(form.a, 4), line_bits(form.b, 4)
    (array([ 0,  6, 12, 18]), array([ 0,  8, 16, 24]))
    """
    index = np.arange(as_int(count, "count"))
    if operand.packing and operand.packing.padded:
        return index // _PER_CHUNK * 128 + index % _PER_CHUNK * operand.dtype.bits
    return index * stored_bits(operand)


def shared_tile(operand: Operand, swizzle: int = 0) -> Tile:
    """The tile of A or B in the shared memory of one CTA: K-major, or MN-major if the descriptor transposes.

    For wgmma it is that of `Tile.of`. For tcgen05.mma, a pair of CTAs shares the rows of A and the columns of
    B. Elements with padding, those of 6 bits, and indices into a table are a tile of bytes. MN-major tf32 has
    a swizzle of its own.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16", m=256, n=64)
    >>> shared_tile(form.b, swizzle=32)
    Tile(bits=16, rows=32, k=16, major='K', swizzle=32)
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e3m2", k=64)
    >>> shared_tile(form.a)   # 64 elements of 6 bits
    Tile(bits=8, rows=128, k=48, major='K', swizzle=0)
    """
    packing = operand.packing
    if packing is None:
        return Tile.of(operand, swizzle)
    bits, rows, k = _stored_size(operand)
    if packing.mn_major:
        if bits == 32:
            return Tile(bits, -(-rows // 32) * 32, k, "MN", 128, chunk=32)
        if packing.shifted:  # columns beyond N may end inside an atom
            width = 128 // bits * max(as_int(swizzle, "swizzle") // 16, 1)
            rows = -(-rows // width) * width
        return Tile(bits, rows, k, "MN", swizzle)
    tile = Tile(bits, rows, k, "K", swizzle)
    if 0 < tile.swizzle < tile.row_bytes:
        raise PtxlabError(
            f"swizzle={swizzle}: rows of {tile.row_bytes} bytes of {operand.name} do not fit: an instruction "
            f"reads them from one atom; take a wider one or none"
        )
    return tile


def _stored_size(operand: Operand) -> tuple[int, int, int]:
    """Bits, lines in one CTA, and depth of what lies in shared memory: bytes, where not whole elements do."""
    packing, bits = operand.packing or Packing(), operand.dtype.bits
    lines, k = operand.shape if operand.name == "A" else operand.shape[::-1]
    if packing.indexed:
        bits, k = 8, COLUMN_BYTES
    elif packing.padded:
        bits = 8
    elif bits == 6:
        bits, k = 8, k * 6 // 8
    return bits, lines // packing.ctas, k


def stored_operand(operand: Operand) -> Operand:
    """A or B of tcgen05.mma as its bytes lie in the shared memory of one CTA.

    Each CTA of a pair has half of the rows of A, or half of the columns of B. Elements of 6 and 4 bits are
    stored 16 to each 16 bytes, followed by padding, unless the instruction takes them without padding
    ("Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory").

    >>> import ptxlab
    >>> pair = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f8f6f4", a="e2m1", b="e2m1")
    >>> stored_operand(pair.b).describe()
    'B 32x128 b8, in shared memory'
    """
    bits, lines, k = _stored_size(operand)
    whole = bits == operand.dtype.bits and not (operand.packing and operand.packing.indexed)
    shape = (lines, k) if operand.name == "A" else (k, lines)
    return replace(operand, dtype=operand.dtype if whole else TYPES["b8"], shape=shape)


def shared_places(
    operand: Operand, row: int, col: int, swizzle: int = 0, transposed: bool = False
) -> list[SharedPlace]:
    """Where an element of A or B is; in two places if its bits do not follow each other.

    `transposed` says that B of wgmma is MN-major; of tcgen05.mma the descriptor says it.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e3m2", k=64)
    >>> [place[1:4] for place in shared_places(form.a, 0, 20)]
    [(15, 0, 5)]
    >>> [place[1:4] for place in shared_places(form.a, 0, 21)]   # 16 bytes end in it
    [(15, 6, 7), (128, 0, 3)]
    """
    row = as_index(row, "row", operand.shape[0], f"operand {operand.name}: ")
    col = as_index(col, "column", operand.shape[1], f"operand {operand.name}: ")
    tile = Tile.of(operand, swizzle, transposed) if operand.packing is None else shared_tile(operand, swizzle)
    outer, along = (row, col) if operand.name == "A" else (col, row)
    lines = operand.shape[0 if operand.name == "A" else 1] // operand.ctas
    cta, outer = divmod(outer, lines)
    by_k = tile.major == "K"
    line, index = (outer, along) if by_k else (along, outer)
    first, low = divmod(int(line_bits(operand, index + 1)[index]), 8)
    high = low + stored_bits(operand) - 1
    cores = (tile.row_bytes if by_k else tile.rows * tile.bits // 8) // 16  # side by side in a line

    def byte(number: int) -> int:
        """The offset of a byte of the line."""
        element, rest = divmod(number * 8, tile.bits)
        where = (line, element) if by_k else (element, line)
        return int(tile.offset(*where)) + rest // 8

    def place(number: int, low: int, high: int) -> SharedPlace:
        core = line // 8 * cores + number // 16
        return SharedPlace(cta, byte(number), low, high, core, line % 8, number % 16, tile.swizzle)

    if high < 8 or byte(first + high // 8) == byte(first) + high // 8:
        return [place(first, low, high)]
    return [place(first, low, 7), place(first + 1, 0, high - 8)]
