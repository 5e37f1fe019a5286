"""A and B of tcgen05.mma in the shared memory of a CTA: their tiles, and how narrow elements are packed.

PTX ISA 9.4, "Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory": elements of 4 and 6
bits are contiguous, with padding after 16 of them at K = 32, and without any at K = 64 (twice that of a
sparse A). The latter is a picture for 6 bits; that the lowest bits come first there too is assumed. For 4
bits Triton and FlashInfer, which run on such a chip, have it so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index, as_int
from ..errors import PtxlabError
from ..isa.operand import Operand
from ..isa.tcgen05 import Tcgen05Mma
from .lookup_table import COLUMN_BYTES, INDEX_BITS
from .tile import Tile

_TOGETHER = 16  # narrow elements that 16 bytes hold, where padding follows them


class SharedPlace(NamedTuple):
    """Bits of an element in the shared memory of a CTA: from its byte, counted from the tile's first, on."""

    cta: int
    byte: int
    low: int
    high: int  # from 8 on in the bytes that follow
    line: int  # of K, or if transposed of M or N
    byte_in_line: int


def is_transposed(form: Tcgen05Mma, operand: Operand) -> bool:
    """Whether the instruction descriptor says that A or B is MN-major."""
    return form.descriptor.transpose_a if operand.name == "A" else form.descriptor.transpose_b


def is_index(form: Tcgen05Mma, operand: Operand) -> bool:
    """Whether shared memory has indices into a table for it: B with .decompress::lut::b."""
    return form.decompress and operand.name == "B"


def stored_bits(form: Tcgen05Mma, operand: Operand) -> int:
    """Bits of an element of A or B in shared memory, without padding.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b")
    >>> stored_bits(form, form.a), stored_bits(form, form.b)
    (8, 3)
    """
    return INDEX_BITS if is_index(form, operand) else operand.dtype.bits


def is_padded(form: Tcgen05Mma, operand: Operand) -> bool:
    """Whether 16 elements of A or B share 16 bytes, with padding behind them.

    >>> import ptxlab
    >>> forms = [ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", b="e2m1", k=k)
    ...          for k in (32, 64)]
    >>> [is_padded(form, form.b) for form in forms]
    [True, False]
    """
    narrow = form.kind in ("f8f6f4", "mxf8f6f4") and operand.dtype.bits < 8
    return narrow and form.k == form.descriptor.depths[0]


def shared_source(form: Tcgen05Mma, operand: Operand) -> str:
    """Who says how the elements of A or B lie in shared memory.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e2m3", k=64)
    >>> shared_source(form, form.a), shared_source(form, form.b)
    ('assumed: from the lowest bit on, without padding; a picture in the PTX ISA', 'PTX ISA')
    """
    if is_index(form, operand):
        return "assumed: indices from the lowest bit on; a picture in the PTX ISA"
    if operand.dtype.bits == 6 and not is_padded(form, operand):
        return "assumed: from the lowest bit on, without padding; a picture in the PTX ISA"
    return "PTX ISA"


def line_bits(form: Tcgen05Mma, operand: Operand, count: int) -> NDArray[np.int64]:
    """Where in its line, of K or if transposed of M or N, each of so many elements begins, in bits.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e2m3", k=64)
    >>> line_bits(form, form.a, 4), line_bits(form, form.b, 4)
    (array([ 0,  6, 12, 18]), array([ 0,  8, 16, 24]))
    """
    index = np.arange(as_int(count, "count"))
    if is_padded(form, operand):
        return index // _TOGETHER * 128 + index % _TOGETHER * operand.dtype.bits
    return index * stored_bits(form, operand)


def shared_tile(form: Tcgen05Mma, operand: Operand, swizzle: int = 0) -> Tile:
    """The tile of A or B in the shared memory of one CTA: K-major, or MN-major if the descriptor transposes.

    A pair of CTAs shares the rows of A and the columns of B. Elements with padding, those of 6 bits, and
    indices into a table are a tile of bytes. MN-major tf32 has a swizzle of its own.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16", m=256, n=64)
    >>> shared_tile(form, form.b, swizzle=32)
    Tile(bits=16, rows=32, k=16, major='K', swizzle=32)
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e3m2", k=64)
    >>> shared_tile(form, form.a)   # 64 elements of 6 bits
    Tile(bits=8, rows=128, k=48, major='K', swizzle=0)
    """
    lines, k = operand.shape if operand.name == "A" else operand.shape[::-1]
    rows, bits = lines // form.cta_group, operand.dtype.bits
    if is_index(form, operand):
        bits, k = 8, COLUMN_BYTES
    elif is_padded(form, operand):
        bits = 8
    elif bits == 6:
        bits, k = 8, k * 6 // 8
    if is_transposed(form, operand):
        if bits == 32:
            return Tile(bits, -(-rows // 32) * 32, k, "MN", 128, chunk=32)
        if operand.name == "B" and form.descriptor.max_shift:  # columns beyond N may end inside an atom
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


def shared_places(
    form: Tcgen05Mma, operand: Operand, row: int, col: int, swizzle: int = 0
) -> list[SharedPlace]:
    """Where an element of A or B is; in two places if its bits do not follow each other.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e3m2", k=64)
    >>> [place[1:4] for place in shared_places(form, form.a, 0, 20)]
    [(15, 0, 5)]
    >>> [place[1:4] for place in shared_places(form, form.a, 0, 21)]   # 16 bytes end in it
    [(15, 6, 7), (128, 0, 3)]
    """
    row = as_index(row, "row", operand.shape[0], f"operand {operand.name}: ")
    col = as_index(col, "column", operand.shape[1], f"operand {operand.name}: ")
    tile = shared_tile(form, operand, swizzle)
    outer, along = (row, col) if operand.name == "A" else (col, row)
    lines = operand.shape[0 if operand.name == "A" else 1] // form.cta_group
    cta, outer = divmod(outer, lines)
    by_k = tile.major == "K"
    line, at = (outer, along) if by_k else (along, outer)
    first, low = divmod(int(line_bits(form, operand, at + 1)[at]), 8)
    high = low + stored_bits(form, operand) - 1

    def byte(number: int) -> int:
        """The offset of a byte of the line."""
        element, rest = divmod(number * 8, tile.bits)
        where = (line, element) if by_k else (element, line)
        return int(tile.offset(*where)) + rest // 8

    if high < 8 or byte(first + high // 8) == byte(first) + high // 8:
        return [SharedPlace(cta, byte(first), low, high, line, first)]
    return [
        SharedPlace(cta, byte(first), low, 7, line, first),
        SharedPlace(cta, byte(first + 1), 0, high - 8, line, first + 1),
    ]
