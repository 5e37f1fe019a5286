"""Matrices in memory and the way to fragments and back: `load_matrix_sync`, `store_matrix_sync`.

A buffer is a NumPy array that stands for a pointer: packed elements, the first in the lowest bits, `ldm` elements from
one row (or column) to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.dtypes import DType
from .fragments import accumulator, element_type, fragment, layout_t, memory_layout, said

__all__ = ["line_step", "line_up", "load_matrix_sync", "pack_matrix", "store_matrix_sync", "unpack_matrix"]

#: The CUDA guide: a row or column starts at a multiple of 16 bytes, the pointer is 256-bit aligned.
_LINE_BITS = 128
_POINTER_BYTES = 32

_PACKED = (np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.int8))


def line_step(kind: DType) -> int:
    """What `ldm` must be a multiple of, in elements: 32 for 4-bit types, 128 for b1, 4 for int."""
    return _LINE_BITS // kind.bits


def line_up(length: int, kind: DType) -> int:
    """The smallest `ldm` for lines of that many elements."""
    return -(-length // line_step(kind)) * line_step(kind)


def _check_ldm(ldm: Any, kind: DType, length: int, where: str) -> int:
    if isinstance(ldm, bool) or not isinstance(ldm, (int, np.integer)):
        raise PtxlabError(f"{where}: ldm={ldm!r}; it is a whole number of elements")
    step = line_step(kind)
    if ldm % step:
        raise PtxlabError(
            f"{where}: ldm={ldm}; for {kind} it must be a multiple of {step} elements (16 bytes)"
        )
    if ldm < length:
        raise PtxlabError(
            f"{where}: ldm={ldm} is shorter than a line of {length} elements; it must be {line_up(length, kind)} or more"
        )
    return int(ldm)


def _columns(layout: Any) -> bool:
    """Whether lines are columns; takes the tags and the memory layouts, themselves or by name."""
    name = said(layout)
    if name.removeprefix("mem_") not in ("row_major", "col_major"):
        raise PtxlabError(f"layout {name}: there are row_major and col_major")
    return name.endswith("col_major")


# -- values <-> buffers -----------------------------------------------------------------------------------------------


def pack_matrix(
    matrix: ArrayLike, type: Any, ldm: int | None = None, layout: Any = "row_major"
) -> NDArray[Any]:
    """Values [..., rows, columns] -> a flat buffer [..., words] of C++'s storage type; gaps between lines are 0.

    >>> [hex(word) for word in pack_matrix([[1, 2, 3, -1] + 28 * [0]], "s4")]
    ['0xf321', '0x0', '0x0', '0x0']
    """
    kind = element_type(type).dtype
    matrix = np.asarray(matrix)
    if matrix.ndim < 2:
        raise PtxlabError(f"pack_matrix: found shape {matrix.shape}; it takes [..., rows, columns]")
    codes = kind.encode(matrix)
    lines = np.swapaxes(codes, -1, -2) if _columns(layout) else codes
    length = lines.shape[-1]
    ldm = _check_ldm(line_up(length, kind) if ldm is None else ldm, kind, length, "pack_matrix")
    spread = np.zeros((*lines.shape[:-1], ldm), dtype=codes.dtype)
    spread[..., :length] = lines
    return _join(spread.reshape(*lines.shape[:-2], -1), kind)


def unpack_matrix(
    buffer: ArrayLike, shape: tuple[int, int], type: Any, ldm: int | None = None, layout: Any = "row_major"
) -> NDArray[Any]:
    """A flat buffer [..., words] -> values [..., rows, columns].

    >>> unpack_matrix(np.array([0xF321, 0, 0, 0], dtype=np.uint32), (1, 5), "s4", 32)
    array([[ 1,  2,  3, -1,  0]], dtype=int8)
    """
    kind = element_type(type).dtype
    columns = _columns(layout)
    count, length = shape[::-1] if columns else shape
    ldm = _check_ldm(line_up(length, kind) if ldm is None else ldm, kind, length, "unpack_matrix")
    buffer = np.ascontiguousarray(buffer)
    codes = _split(buffer, kind, "unpack_matrix")
    _check_size(codes.shape[-1], count, length, ldm, kind, "unpack_matrix")
    lines = codes[..., _addresses(count, length, ldm)]
    return kind.decode(np.swapaxes(lines, -1, -2) if columns else lines)


def _join(codes: NDArray[Any], kind: DType) -> NDArray[Any]:
    """Codes in the order of memory -> words of the storage type."""
    words = np.dtype("<i4" if kind.signed else "<u4")
    per = 32 // kind.bits
    parts = codes.reshape(*codes.shape[:-1], -1, per).astype("<u4") << (
        np.arange(per, dtype=np.uint32) * kind.bits
    )
    return np.asarray(np.bitwise_or.reduce(parts, axis=-1)).astype("<u4").view(words)


def _split(buffer: NDArray[Any], kind: DType, where: str) -> NDArray[Any]:
    """A contiguous buffer -> codes in the order of memory, along its last axis."""
    legal = _PACKED if kind.bits < 8 else (np.dtype(np.int32),)
    if buffer.dtype not in legal:
        what = "packed elements" if kind.bits < 8 else "accumulators"
        raise PtxlabError(
            f"{where}: found a buffer of {buffer.dtype}; {what} of {kind} lie in {listing(legal)}"
        )
    if kind.bits == 32:
        return buffer.view(np.uint32)
    data = buffer.view(np.uint8)
    if kind.bits == 1:
        return np.unpackbits(data, axis=-1, bitorder="little")
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)


def _addresses(count: int, length: int, ldm: int) -> NDArray[np.int64]:
    """Element offset from the pointer: [lines, elements of a line]."""
    return np.arange(count)[:, None] * ldm + np.arange(length)


def _check_size(found: int, count: int, length: int, ldm: int, kind: DType, where: str) -> None:
    needed = (count - 1) * ldm + length
    if found < needed:
        raise PtxlabError(
            f"{where}: the buffer ends after {found} elements of {kind}; {count} lines of {length} with ldm={ldm} need {needed}"
        )


# -- fragments <-> buffers --------------------------------------------------------------------------------------------


def load_matrix_sync(frag: fragment, buffer: NDArray[Any], ldm: int, layout: Any = None) -> None:
    """Fill a fragment from memory: wmma.load.a, .b or .c. Only accumulators take a `layout`.

    >>> a = fragment("matrix_a", 8, 8, 32, "s4", "row_major")
    >>> load_matrix_sync(a, pack_matrix(np.tile(np.arange(8), (8, 4)), "s4"), 32)
    >>> hex(a.x[5, 0])
    '0x76543210'
    """
    kind, columns, count, length = _lines(frag, layout, "load_matrix_sync")
    where = f"load_matrix_sync({frag.use})"
    ldm = _check_ldm(ldm, kind, length, where)
    codes = _split(_pointer(buffer, kind, ldm, where), kind, where)
    _check_size(codes.size, count, length, ldm, kind, where)
    lines = codes[_addresses(count, length, ldm)]
    frag.registers[...] = frag.operand.pack_codes(lines.T if columns else lines)


def store_matrix_sync(buffer: NDArray[Any], frag: fragment, ldm: int, layout: Any) -> None:
    """Write an accumulator to memory, in place: wmma.store.d.

    >>> c, memory = fragment(accumulator, 8, 8, 32, int), np.zeros((8, 8), dtype=np.int32)
    >>> load_matrix_sync(c, np.arange(64, dtype=np.int32), 8, "mem_row_major")
    >>> store_matrix_sync(memory, c, 8, "mem_col_major")
    >>> memory[0]
    array([ 0,  8, 16, 24, 32, 40, 48, 56], dtype=int32)
    """
    if getattr(frag, "use", accumulator) is not accumulator:
        raise PtxlabError(f"store_matrix_sync: found {frag}; only an accumulator can be stored")
    kind, columns, count, length = _lines(frag, layout, "store_matrix_sync")
    where = "store_matrix_sync"
    ldm = _check_ldm(ldm, kind, length, where)
    flat = _pointer(buffer, kind, ldm, where)
    _check_size(_split(flat, kind, where).size, count, length, ldm, kind, where)
    if not flat.flags.writeable:
        raise PtxlabError(f"{where}: the buffer is read-only; give one that may be written")
    if frag.undefined:
        raise PtxlabError(
            f"{where}: the accumulator was never filled, loaded or computed, so C++ leaves its content undefined"
        )
    values = frag.matrix
    flat[_addresses(count, length, ldm)] = values.T if columns else values


def _lines(frag: fragment, layout: Any, where: str) -> tuple[DType, bool, int, int]:
    """Element type, whether lines are columns, how many lines and how long."""
    if not isinstance(frag, fragment):
        raise PtxlabError(f"{where}: found {type(frag).__name__} where a wmma.fragment belongs")
    if frag.use is accumulator:
        if layout is None:
            raise PtxlabError(f"{where}: an accumulator needs a layout, mem_row_major or mem_col_major")
        columns = memory_layout(layout) is layout_t.mem_col_major
    else:
        if layout is not None:
            raise PtxlabError(
                f"{where}: {frag.use} has its layout in its type ({frag.layout}); leave the argument out"
            )
        columns = _columns(frag.layout)
    shape = frag.operand.shape
    return frag.operand.dtype, columns, *(shape[::-1] if columns else shape)


def _pointer(buffer: Any, kind: DType, ldm: int, where: str) -> NDArray[Any]:
    """The buffer as a flat array, where it can stand for a pointer."""
    if not isinstance(buffer, np.ndarray):
        raise PtxlabError(
            f"{where}: found {type(buffer).__name__} as buffer; it takes a NumPy array, and wmma.pack_matrix makes one from values"
        )
    if not buffer.flags.c_contiguous:
        raise PtxlabError(
            f"{where}: found a strided view; a pointer has no strides, give the flat buffer from its first element on and a larger ldm"
        )
    row = buffer.shape[-1] * buffer.dtype.itemsize * 8 // kind.bits if buffer.ndim > 1 else ldm
    if row != ldm:
        found = f"a row of the {buffer.dtype} buffer of shape {buffer.shape} holds {row} packed elements of {kind}"
        raise PtxlabError(f"{where}: {found}, ldm={ldm}; they must agree (wmma.pack_matrix packs values)")
    offset = buffer.ctypes.data - _owner(buffer).ctypes.data
    if offset % _POINTER_BYTES:
        found = f"the buffer starts {offset} bytes into its array"
        raise PtxlabError(
            f"{where}: {found}; the pointer must be 256-bit aligned, at a multiple of {_POINTER_BYTES} bytes"
        )
    return buffer.reshape(-1)


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    """The array whose memory a view looks into: on the GPU its start is aligned, whatever NumPy's is."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
