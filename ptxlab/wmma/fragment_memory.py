"""Matrices in memory, and fragments loaded from them and stored to them.

A buffer is a NumPy array that stands for a pointer: packed elements, the first in the lowest bits, `ldm`
elements from one row (or column) to the next.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, as_shape, check_room
from ..errors import PtxlabError, listing, quoted
from ..isa.dtypes import DType
from .fragment_operations import check_fragment, fragment
from .types import (
    MemoryLayoutLike,
    Tag,
    TypeLike,
    accumulator,
    element_type,
    layout_t,
    memory_layout,
    spelling,
)

#: The CUDA guide: a row or column starts at a multiple of 16 bytes, the pointer is 256-bit aligned.
_LINE_BITS = 128
_POINTER_BYTES = 32

_PACKED = (np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.int8))


def _ldm_step(dtype: DType) -> int:
    """What `ldm` must be a multiple of, in elements: 32 for 4-bit types, 128 for b1, 4 for int."""
    return _LINE_BITS // dtype.bits


def smallest_ldm(length: int, dtype: DType) -> int:
    """The smallest `ldm` for rows (columns) of that many elements."""
    return -(-length // _ldm_step(dtype)) * _ldm_step(dtype)


def check_ldm(ldm: int, dtype: DType, length: int, where: str) -> int:
    """Return a stride that fits lines of that many elements, or refuse it."""
    try:
        ldm = as_int(ldm, "ldm")
    except PtxlabError:
        raise PtxlabError(f"{where}: ldm={quoted(ldm)}; it is a whole number of elements") from None
    step = _ldm_step(dtype)
    if ldm % step:
        raise PtxlabError(
            f"{where}: ldm={quoted(ldm)}; for {dtype} it must be a multiple of {step} elements (16 bytes)"
        )
    if ldm < length:
        raise PtxlabError(
            f"{where}: ldm={quoted(ldm)} is shorter than a line of {length} elements; "
            f"it must be {smallest_ldm(length, dtype)} or more"
        )
    return int(ldm)


def _by_columns(layout: Tag | MemoryLayoutLike) -> bool:
    """Whether the matrix lies in memory by columns; `layout` is a tag, a memory layout, or its name."""
    name = spelling(layout)
    if name.removeprefix("mem_") not in ("row_major", "col_major"):
        raise PtxlabError(f"layout {name}: there are row_major and col_major")
    return name.endswith("col_major")


# -- values <-> buffers --------------------------------------------------------------------------------------


def pack_matrix(
    matrix: ArrayLike, type: TypeLike, ldm: int | None = None, layout: Tag | MemoryLayoutLike = "row_major"
) -> NDArray[Any]:
    """Values [..., rows, columns] -> a flat buffer [..., words] of C++'s storage type; gaps are 0.

    >>> [hex(word) for word in pack_matrix([[1, 2, 3, -1] + 28 * [0]], "s4")]
    ['0xf321', '0x0', '0x0', '0x0']
    """
    dtype = element_type(type).dtype
    matrix = as_array(matrix, "pack_matrix: matrix")
    if matrix.ndim < 2:
        raise PtxlabError(f"pack_matrix: found shape {matrix.shape}; it takes [..., rows, columns]")
    codes = dtype.encode(matrix)
    lines = np.swapaxes(codes, -1, -2) if _by_columns(layout) else codes
    length = lines.shape[-1]
    ldm = check_ldm(smallest_ldm(length, dtype) if ldm is None else ldm, dtype, length, "pack_matrix")
    check_room(math.prod(lines.shape[:-1]) * ldm, "pack_matrix")
    padded = np.zeros((*lines.shape[:-1], ldm), dtype=codes.dtype)
    padded[..., :length] = lines
    return _pack_words(padded.reshape(*lines.shape[:-2], lines.shape[-2] * ldm), dtype)


def unpack_matrix(
    buffer: ArrayLike,
    shape: tuple[int, int],
    type: TypeLike,
    ldm: int | None = None,
    layout: Tag | MemoryLayoutLike = "row_major",
) -> NDArray[Any]:
    """A flat buffer [..., words] -> values [..., rows, columns].

    >>> unpack_matrix(np.array([0xF321, 0, 0, 0], dtype=np.uint32), (1, 5), "s4", 32)
    array([[ 1,  2,  3, -1,  0]], dtype=int8)
    """
    dtype = element_type(type).dtype
    by_columns = _by_columns(layout)
    rows, columns = as_shape(shape, "unpack_matrix: shape")
    count, length = (columns, rows) if by_columns else (rows, columns)
    ldm = check_ldm(smallest_ldm(length, dtype) if ldm is None else ldm, dtype, length, "unpack_matrix")
    words = as_array(buffer, "unpack_matrix: buffer")
    if words.ndim == 0:
        raise PtxlabError("unpack_matrix: found an array of no dimension; a buffer is [..., words]")
    codes = _unpack_words(np.ascontiguousarray(words), dtype, "unpack_matrix")
    _check_size(codes.shape[-1], count, length, ldm, dtype, "unpack_matrix")
    lines = codes[..., _element_offsets(count, length, ldm)]
    return dtype.decode(np.swapaxes(lines, -1, -2) if by_columns else lines)


def _pack_words(codes: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Codes in the order of memory -> words of the storage type."""
    per_word = 32 // dtype.bits
    shifts = np.arange(per_word, dtype=np.uint32) * dtype.bits
    parts = codes.reshape(*codes.shape[:-1], codes.shape[-1] // per_word, per_word).astype("<u4") << shifts
    words = np.asarray(np.bitwise_or.reduce(parts, axis=-1)).astype("<u4")
    return words.view(np.dtype("<i4" if dtype.signed else "<u4"))


def _unpack_words(buffer: NDArray[Any], dtype: DType, where: str) -> NDArray[Any]:
    """A contiguous buffer -> codes in the order of memory, along its last axis."""
    sub_byte = dtype.bits < 8
    legal = _PACKED if sub_byte else (np.dtype(np.int32),)
    if buffer.dtype not in legal:
        elements = "packed elements" if sub_byte else "accumulators"
        raise PtxlabError(
            f"{where}: found a buffer of {buffer.dtype}; {elements} of {dtype} lie in {listing(legal)}"
        )
    if not sub_byte:
        return buffer.view(np.uint32)
    data = buffer.view(np.uint8)
    if dtype.bits == 1:
        return np.unpackbits(data, axis=-1, bitorder="little")
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], 2 * data.shape[-1])


def _element_offsets(count: int, length: int, ldm: int) -> NDArray[np.int64]:
    """Element offset from the pointer: [lines, elements of a line]."""
    return np.arange(count)[:, None] * ldm + np.arange(length)


def _check_size(available: int, count: int, length: int, ldm: int, dtype: DType, where: str) -> None:
    needed = (count - 1) * ldm + length if count else 0
    if available < needed:
        raise PtxlabError(
            f"{where}: the buffer ends after {available} elements of {dtype}; "
            f"{quoted(count)} lines of {quoted(length)} with ldm={quoted(ldm)} need {quoted(needed)}"
        )


# -- fragments <-> buffers -----------------------------------------------------------------------------------


def load_matrix_sync(
    frag: fragment, buffer: NDArray[Any], ldm: int, layout: MemoryLayoutLike | None = None
) -> None:
    """Fill a fragment from memory: wmma.load.a, .b or .c. Only accumulators take a `layout`.

    >>> a = fragment("matrix_a", 8, 8, 32, "s4", "row_major")
    >>> load_matrix_sync(a, pack_matrix(np.tile(np.arange(8), (8, 4)), "s4"), 32)
    >>> hex(a.x[5, 0])
    '0x76543210'
    """
    by_columns = _lies_by_columns(frag, layout, "load_matrix_sync")
    _, codes, offsets = _memory_of(frag, buffer, ldm, by_columns, f"load_matrix_sync({frag.use})")
    frag.registers[...] = frag.operand.pack_codes(codes[offsets])


def store_matrix_sync(buffer: NDArray[Any], frag: fragment, ldm: int, layout: MemoryLayoutLike) -> None:
    """Write an accumulator to memory, in place: wmma.store.d.

    >>> c, memory = fragment(accumulator, 8, 8, 32, int), np.zeros((8, 8), dtype=np.int32)
    >>> load_matrix_sync(c, np.arange(64, dtype=np.int32), 8, "mem_row_major")
    >>> store_matrix_sync(memory, c, 8, "mem_col_major")
    >>> memory[0]
    array([ 0,  8, 16, 24, 32, 40, 48, 56], dtype=int32)
    """
    where = "store_matrix_sync"
    check_fragment(frag, where)
    if frag.use is not accumulator:
        raise PtxlabError(f"{where}: found {frag}; only an accumulator can be stored")
    flat, _, offsets = _memory_of(frag, buffer, ldm, _lies_by_columns(frag, layout, where), where)
    if not flat.flags.writeable:
        raise PtxlabError(f"{where}: the buffer is read-only; give one that may be written")
    if frag.undefined:
        raise PtxlabError(
            f"{where}: the accumulator was never filled, loaded or computed, "
            "so C++ leaves its content undefined"
        )
    flat[offsets] = frag.matrix


def _lies_by_columns(frag: fragment, layout: MemoryLayoutLike | None, where: str) -> bool:
    """Whether a fragment's matrix lies in memory by columns; for accumulators the argument says so."""
    check_fragment(frag, where)
    if frag.layout is None:
        if layout is None:
            raise PtxlabError(f"{where}: an accumulator needs a layout, mem_row_major or mem_col_major")
        return memory_layout(layout) is layout_t.mem_col_major
    if layout is not None:
        raise PtxlabError(
            f"{where}: {frag.use} has its layout in its type ({frag.layout}); leave the argument out"
        )
    return _by_columns(frag.layout)


def _memory_of(
    frag: fragment, buffer: NDArray[Any], ldm: int, by_columns: bool, where: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """The flat buffer, its codes, and where in these each element of the matrix is, [rows, columns]."""
    dtype, shape = frag.operand.dtype, frag.operand.shape
    count, length = shape[::-1] if by_columns else shape
    ldm = check_ldm(ldm, dtype, length, where)
    flat = _pointer(buffer, dtype, ldm, where)
    codes = _unpack_words(flat, dtype, where)
    _check_size(codes.size, count, length, ldm, dtype, where)
    offsets = _element_offsets(count, length, ldm)
    return flat, codes, offsets.T if by_columns else offsets


def _pointer(buffer: NDArray[Any], dtype: DType, ldm: int, where: str) -> NDArray[Any]:
    """The buffer as a flat array, if it can stand for a pointer."""
    if not isinstance(buffer, np.ndarray):
        raise PtxlabError(
            f"{where}: found {type(buffer).__name__} as buffer; "
            "it takes a NumPy array, and wmma.pack_matrix makes one from values"
        )
    as_array(buffer, f"{where}: buffer")
    if not buffer.dtype.isnative:
        raise PtxlabError(f"{where}: found {buffer.dtype}, whose bytes are swapped; a GPU is little-endian")
    if buffer.ndim == 0:
        raise PtxlabError(f"{where}: found an array of no dimension; a buffer has elements one after another")
    if not buffer.flags.c_contiguous:
        raise PtxlabError(
            f"{where}: found a strided view; a pointer has no strides, "
            "give the flat buffer from its first element on and a larger ldm"
        )
    row = buffer.shape[-1] * buffer.dtype.itemsize * 8 // dtype.bits if buffer.ndim > 1 else ldm
    if row != ldm:
        row_text = f"a row of the {buffer.dtype} buffer of shape {buffer.shape} holds {row} packed elements"
        raise PtxlabError(
            f"{where}: {row_text} of {dtype}, ldm={ldm}; they must agree (wmma.pack_matrix packs values)"
        )
    offset = buffer.ctypes.data - _owner(buffer).ctypes.data
    if offset % _POINTER_BYTES:
        raise PtxlabError(
            f"{where}: the buffer starts {offset} bytes into its array; "
            f"the pointer must be 256-bit aligned, at a multiple of {_POINTER_BYTES} bytes"
        )
    return buffer.reshape(-1)


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    """The array that owns a view's memory: on the GPU its start is aligned, even if NumPy's is not."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
