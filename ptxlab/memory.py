"""Shared-memory tiles of wgmma: where every byte of a K-major matrix sits, and the descriptor that says so.

PTX ISA, "Shared Memory Matrix Layout" and "Matrix Descriptor Format". The unit is the *core matrix*: 8 rows of 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import PtxlabError, listing
from .operand import Operand

__all__ = ["SWIZZLES", "Tile"]

#: Swizzle width in bytes -> its code in bits 63-62 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory, K-major: `rows` (of M or N), each `row_bytes` long in K.

    Without swizzle core matrices follow each other along K, then along M/N. With a swizzle of W bytes, rows of W
    bytes follow each other and the 16-byte pieces of row r change places by XOR with r.

    >>> tile = Tile(rows=8, row_bytes=64)
    >>> int(tile.offset(3, 17))
    177
    >>> tile.leading, tile.stride
    (128, 512)
    """

    rows: int
    row_bytes: int
    swizzle: int = 0

    def __post_init__(self) -> None:
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(f"swizzle of {self.swizzle} bytes: there are {listing(sorted(SWIZZLES))}")
        if self.rows % 8 or self.row_bytes % 16:
            raise PtxlabError(f"a tile of {self.rows} rows of {self.row_bytes} bytes: core matrices are 8 rows of 16 bytes")
        if self.swizzle and self.row_bytes > self.swizzle:
            raise PtxlabError(f"rows of {self.row_bytes} bytes do not fit a {self.swizzle}-byte swizzle; take a wider one or none")

    @property
    def leading(self) -> int:
        """Leading dimension byte offset: from one core matrix to the next along K; unused (16 as 1 unit) when swizzled."""
        return 16 if self.swizzle else 128

    @property
    def stride(self) -> int:
        """Stride dimension byte offset: from 8 rows to the next 8."""
        return 8 * (self.swizzle or self.row_bytes)

    @property
    def size(self) -> int:
        """Bytes that the tile takes."""
        return self.rows // 8 * self.stride

    @property
    def alignment(self) -> int:
        """What the tile's address must be a multiple of, so that the swizzle pattern starts at row 0."""
        return 8 * self.swizzle or 16

    def offset(self, row: ArrayLike, byte: ArrayLike) -> NDArray[np.int64]:
        """Offset in the tile of a byte of a row."""
        row, byte = np.asarray(row), np.asarray(byte)
        if not self.swizzle:
            return np.asarray(row // 8 * self.stride + byte // 16 * self.leading + row % 8 * 16 + byte % 16)
        plain = row // 8 * self.stride + row % 8 * self.swizzle + byte
        return np.asarray(plain ^ (plain >> 7 & self.swizzle // 16 - 1) << 4)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Offset of every byte: [rows, row_bytes]."""
        return self.offset(np.arange(self.rows)[:, None], np.arange(self.row_bytes)[None, :])

    def store(self, matrix: ArrayLike) -> NDArray[np.uint8]:
        """Bytes [..., rows, row_bytes] -> the shared memory that holds them [..., size]."""
        matrix = np.asarray(matrix, dtype=np.uint8)
        memory = np.zeros((*matrix.shape[:-2], self.size), dtype=np.uint8)
        memory[..., self.offsets] = matrix
        return memory

    def load(self, memory: ArrayLike) -> NDArray[np.uint8]:
        """The inverse of `store`."""
        return np.asarray(memory, dtype=np.uint8)[..., self.offsets]

    def descriptor(self, address: int = 0) -> int:
        """The 64-bit matrix descriptor of this tile at a shared-memory address."""
        if address % self.alignment or not 0 <= address < 1 << 18:
            raise PtxlabError(f"shared-memory address {address}: this tile needs a multiple of {self.alignment} below 2^18")
        return address >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | SWIZZLES[self.swizzle] << 62

    @classmethod
    def of(cls, operand: Operand, swizzle: int = 0) -> Tile:
        """The tile of an operand that wgmma reads from shared memory: A as M rows, B as N rows."""
        if operand.space != "shared":
            raise PtxlabError(f"operand {operand.name} lives in registers, not in shared memory")
        rows, columns = operand.shape if operand.axes[0] == "m" else operand.shape[::-1]
        return cls(rows, columns * operand.dtype.bits // 8, swizzle)
