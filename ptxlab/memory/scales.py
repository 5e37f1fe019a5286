"""Scale factors of mx and nvfp4 in memory, as CUTLASS, cuBLAS and tcgen05.cp expect them: tiles of 128x4.

CUTLASS, sm100_blockscaled_layout.hpp: a tile holds four scales of each of 128 rows in 512 bytes,
``((32,4),4):((16,4),1)``, so that the four of a row are 32 bits and rows 32 apart are neighbours. Tiles
follow each other along the scales of a row first. Rows are those of A, or columns of B.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, as_integers, broadcast, check_room
from ..errors import PtxlabError, quoted

_ROWS, _COLUMNS = 128, 4  # of a tile
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
    tile = rows // _ROWS * -(-width // _COLUMNS) + along // _COLUMNS
    return np.asarray(tile * _ROWS * _COLUMNS + rows % 32 * 16 + rows % _ROWS // 32 * 4 + along % _COLUMNS)


def tile_scales(scales: ArrayLike) -> NDArray[Any]:
    """Scales [..., rows, columns], of one byte each, as tiles of 128x4 in memory, [..., bytes].

    Rows beyond the last are 0, as are columns.

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
    return -(-rows // _ROWS) * -(-columns // _COLUMNS) * _ROWS * _COLUMNS


def _as_size(value: object, what: str) -> int:
    size = as_int(value, what)
    if not 1 <= size <= _MOST:
        raise PtxlabError(f"{what}={quoted(size)}: it takes 1 to 2^32")
    return size
