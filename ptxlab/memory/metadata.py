"""Metadata of a sparse matrix: as CUTLASS and PyTorch store it, as ptxlab's kernels do, nibbles, registers.

CUTLASS, host_reorder.h (`reorder_meta`) and `ColumnMajorInterleaved<2>`; PyTorch's semi-structured tensors
follow it. Nibbles of a row become words of 16 bits (A of 16 or 32 bits) or 32 bits (A of 8 or 4 bits), the
first nibble lowest; then rows are interleaved so that ldmatrix gives each lane the words that mma.sp takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_integers, check_room
from ..errors import PtxlabError, quoted
from ..isa.mma import MmaForm
from ..isa.operand import Operand
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


def metadata_registers(ins: MmaForm | str, metadata: ArrayLike) -> NDArray[Any]:
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


def metadata_from_registers(ins: MmaForm | str, registers: ArrayLike) -> NDArray[Any]:
    """Metadata as PyTorch and CUTLASS store it, of the E registers of a matrix; see `metadata_registers`."""
    form = parse_mma(ins)
    operand = _metadata_operand(form)
    rows, chunks = operand.shape
    codes = np.asarray(operand.unpack_codes(registers))
    if codes.ndim < 4:
        raise PtxlabError("registers: they are [..., row tiles, K tiles, lanes, registers]")
    high, wide = codes.shape[-4:-2]
    nibbles = np.moveaxis(codes, -2, -3).reshape(*codes.shape[:-4], high * rows, wide * chunks)
    return reorder_metadata(nibbles, form.a.dtype.bits)


def pack_metadata(ins: MmaForm | str, nibbles: ArrayLike) -> NDArray[np.int32]:
    """Nibbles [rows, chunks] as the lanes of mma.sp and wgmma.sp take them: [rows / 64, chunks / 16, 128].

    A word of 32 bits for each lane of four warps, which have 16 rows each, for every 16 chunks of a row:
    whatever the shape of the instruction, its lanes find their E there, and its selectors which lanes. Rows
    and chunks that are missing keep the first groups, as those of zeros do.

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
    more = [(0, -codes.shape[0] % _BLOCK_ROWS), (0, -codes.shape[1] % _BLOCK_CHUNKS)]
    codes = np.pad(codes, more, constant_values=empty)
    tile_rows, tile_chunks = operand.shape
    high, wide = codes.shape[0] // _BLOCK_ROWS, codes.shape[1] // _BLOCK_CHUNKS
    parts = codes.reshape(high, _BLOCK_ROWS // tile_rows, tile_rows, wide, len(form.selectors), tile_chunks)
    registers = operand.pack_codes(parts.transpose(0, 3, 1, 4, 2, 5))[..., 0]  # [..., selector, lane]
    chosen = registers[..., _selected(form), np.arange(operand.lanes)]
    return np.ascontiguousarray(chosen.reshape(high, wide, _BLOCK_LANES)).view(np.int32)


def unpack_metadata(ins: MmaForm | str, words: ArrayLike) -> NDArray[np.uint8]:
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
    every = np.broadcast_to(registers, (high, wide, warps, selectors, operand.lanes, 1)).copy()
    for selector in range(selectors):  # lanes that another selector names hold nothing of this one
        own = np.nonzero(_selected(form) == selector)[0]
        every[..., selector, :, 0] = registers[..., 0, _supplying_lane(own, operand.lanes, selectors), 0]
    codes = np.asarray(operand.unpack_codes(every))  # [high, wide, warps, selectors, rows, chunks]
    nibbles = codes.transpose(0, 2, 4, 1, 3, 5).reshape(high * _BLOCK_ROWS, wide * _BLOCK_CHUNKS)
    return np.asarray(nibbles, dtype=np.uint8)


def _selected(form: MmaForm) -> NDArray[np.int64]:
    """The selector that names each lane: of each four, all with one selector, two with two, one with four."""
    lane = np.arange(_metadata_operand(form).lanes) % 4
    return lane * len(form.selectors) // 4


def _supplying_lane(own: NDArray[np.int64], lanes: int, selectors: int) -> NDArray[np.int64]:
    """For each lane the one whose register the selector chooses in its place, within the same four."""
    lane = np.arange(lanes)
    return own.reshape(-1, 4 // selectors)[lane // 4, lane % (4 // selectors)]


def _metadata_operand(form: MmaForm) -> Operand:
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
