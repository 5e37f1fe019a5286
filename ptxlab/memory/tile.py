"""Shared-memory tiles of wgmma: where every element of a matrix sits, and the descriptor that says so.

PTX ISA, "Shared Memory Matrix Layout" and "Matrix Descriptor Format". The unit is the *core matrix*: 8 rows of 16 bytes, along K
(K-major) or along M or N (MN-major, which wgmma reads with imm-trans-a or imm-trans-b = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.operand import Operand

__all__ = ["SWIZZLES", "Digits", "Tile"]

#: Swizzle width in bytes -> its code in bits 63-62 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}

#: How an index moves through a tile: (size, step in elements) of each of its digits, fastest first, as in CuTe's layouts.
Digits = tuple[tuple[int, int], ...]

_CODES: dict[int, Any] = {1: np.dtype("u1"), 8: np.dtype("u1"), 16: np.dtype("<u2"), 32: np.dtype("<u4")}


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory: `rows` (of M or N) by `k`, elements of so many bits.

    With a swizzle of W bytes, runs of W bytes along the major axis follow each other, and the 16-byte pieces of run r change
    places by XOR with r; without one, a run is a single piece. Eight runs make an atom; atoms follow each other along the
    major axis of a plain K-major tile, and along M or N of every other.

    >>> tile = Tile(bits=8, rows=8, k=64)
    >>> int(tile.offset(3, 17))
    177
    >>> tile.leading, tile.stride
    (128, 512)
    >>> Tile(bits=16, rows=32, k=16, major="MN", swizzle=32).cute
    'Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))'
    """

    bits: int
    rows: int
    k: int
    major: Literal["K", "MN"] = "K"
    swizzle: int = 0

    def __post_init__(self) -> None:
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(f"swizzle of {self.swizzle} bytes: there are {listing(sorted(SWIZZLES))}")
        if self.major not in ("K", "MN"):
            raise PtxlabError(f"major={self.major!r}: a tile is 'K' or 'MN' major")
        if self.bits not in _CODES:
            raise PtxlabError(f"elements of {self.bits} bits: wgmma reads {listing(_CODES)} bits")
        if self.major == "MN":
            self._check_mn_major()
        elif self.rows % 8 or self.k % self.piece or not self.rows or not self.k:
            raise PtxlabError(
                f"a tile of {self.rows} rows of {self.k} elements of {self.bits} bits: core matrices are 8 rows of 16 bytes"
            )
        elif self.swizzle and self.row_bytes > self.swizzle:
            raise PtxlabError(
                f"rows of {self.row_bytes} bytes do not fit a {self.swizzle}-byte swizzle; take a wider one or none"
            )

    def _check_mn_major(self) -> None:
        if self.bits < 8:
            raise PtxlabError("single bits lie K-major: eight of them, neighbours in K, share a byte")
        if self.rows % self.run or not self.rows:
            how = f"with a {self.swizzle}-byte swizzle" if self.swizzle else "without swizzle"
            remedy = "; take a narrower swizzle or none" if self.swizzle else ""
            raise PtxlabError(
                f"{self.rows} elements along M or N: MN-major {how} takes multiples of {self.run} elements of {self.bits} bits{remedy}"
            )
        if self.k % 8 or not self.k:
            raise PtxlabError(f"an MN-major tile of K = {self.k}: core matrices are 8 deep in K")

    @property
    def piece(self) -> int:
        """Elements in 16 bytes; the manual calls it T.

        >>> Tile(bits=8, rows=8, k=64).piece
        16
        """
        return 128 // self.bits

    @property
    def run(self) -> int:
        """Elements that lie together along the major axis: as many as the swizzle is wide, or one piece.

        >>> Tile(bits=8, rows=8, k=64, swizzle=64).run
        64
        """
        return self.piece * max(self.swizzle // 16, 1)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row along K.

        >>> Tile(bits=16, rows=8, k=16).row_bytes
        32
        """
        return self.k * self.bits // 8

    @property
    def digits(self) -> tuple[Digits, Digits]:
        """How the row and how k move through the tile, in elements and before the swizzle.

        PTX ISA, "Strides", canonical layouts. The manual leaves the order of atoms open; this is the one of its MN-major
        examples, and for K-major without swizzle the one in which a core matrix's neighbour along K comes next.

        >>> Tile(bits=16, rows=16, k=16).digits   # (size, step) of each digit, fastest first
        (((8, 8), (2, 128)), ((8, 1), (2, 64)))
        """
        t, atom = self.piece, 8 * self.run
        if self.major == "MN":
            atoms = self.rows // self.run
            return ((t, 1), (self.run // t, t), (atoms, atom)), ((8, self.run), (self.k // 8, atoms * atom))
        if self.swizzle:
            return ((8, self.run), (self.rows // 8, atom)), ((t, 1), (self.k // t, t))
        return ((8, t), (self.rows // 8, 8 * self.k)), ((t, 1), (self.k // t, atom))

    @property
    def cute(self) -> str:
        """The tile as CuTe writes it, (M or N, K) -> offset in elements, under a swizzle of the byte address.

        >>> Tile(bits=16, rows=16, k=16).cute
        'Swizzle<0,4,3> o ((8,2),(8,2)):((8,128),(1,64))'
        """
        shape = ",".join(f"({','.join(str(size) for size, _ in digits)})" for digits in self.digits)
        steps = ",".join(f"({','.join(str(step) for _, step in digits)})" for digits in self.digits)
        return f"Swizzle<{(self.swizzle // 16).bit_length() - 1 if self.swizzle else 0},4,3> o ({shape}):({steps})"

    def _bytes(self, elements: int) -> int:
        return elements * self.bits // 8

    @property
    def leading(self) -> int:
        """Leading dimension byte offset.

        K-major: from one core matrix to the next along K; unused (16 as 1 unit) when swizzled. MN-major: from one atom to
        the next along M or N; along K without swizzle.

        >>> Tile(bits=16, rows=16, k=16).leading
        128
        """
        rows, k = self.digits
        if self.major == "K":
            return 16 if self.swizzle else self._bytes(k[-1][1])
        return self._bytes(rows[-1][1] if self.swizzle else k[-1][1])

    @property
    def stride(self) -> int:
        """Stride dimension byte offset.

        K-major: from 8 rows to the next 8. MN-major: from 8 steps of K to the next 8; along M or N without swizzle.

        >>> Tile(bits=16, rows=16, k=16).stride
        256
        """
        rows, k = self.digits
        return self._bytes(k[-1][1] if self.major == "MN" and self.swizzle else rows[-1][1])

    @property
    def size(self) -> int:
        """Bytes that the tile takes.

        >>> Tile(bits=16, rows=16, k=16).size
        512
        """
        return self.rows * self.swizzle if self.major == "K" and self.swizzle else self.rows * self.row_bytes

    @property
    def alignment(self) -> int:
        """What the tile's address must be a multiple of, so that the swizzle pattern starts at its first run.

        >>> Tile(bits=8, rows=8, k=64, swizzle=64).alignment
        512
        """
        return 8 * self.swizzle or 16

    def offset(self, row: ArrayLike, k: ArrayLike) -> NDArray[np.int64]:
        """Offset in the tile, in bytes, of the element in that row of M or N and at that k; a single bit is bit k % 8 of that byte.

        >>> Tile(bits=8, rows=8, k=64, swizzle=64).offset([0, 1, 2, 3], 0)   # piece 0 has moved to place 1 in rows 2 and 3
        array([  0,  64, 144, 208])
        """
        at: NDArray[np.int64] = np.zeros((), dtype=np.int64)
        for index, digits in zip((row, k), self.digits, strict=True):
            rest = np.asarray(index, dtype=np.int64)
            for size, step in digits:
                at = at + rest % size * step
                rest = rest // size
        at = at * self.bits // 8
        return np.asarray(at ^ (at >> 7 & self.swizzle // 16 - 1) << 4 if self.swizzle else at)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Offset of every element: [rows, k].

        >>> Tile(bits=16, rows=8, k=16).offsets[:2, ::8]   # where every 16 bytes of rows 0 and 1 begin
        array([[  0, 128],
               [ 16, 144]])
        """
        return self.offset(np.arange(self.rows)[:, None], np.arange(self.k)[None, :])

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Offset of every byte of the rows' elements: [rows, row_bytes]."""
        if self.bits < 8:
            return self.offsets[:, :: 8 // self.bits]
        return (self.offsets[..., None] + np.arange(self.bits // 8)).reshape(self.rows, self.row_bytes)

    def store(self, codes: ArrayLike) -> NDArray[np.uint8]:
        """Element codes [..., rows, k] -> the shared memory that holds them, bytes [..., size].

        >>> Tile(bits=16, rows=8, k=8).store(np.arange(64).reshape(8, 8))[:6]   # little-endian
        array([0, 0, 1, 0, 2, 0], dtype=uint8)
        """
        codes = np.asarray(codes)
        if codes.shape[-2:] != (self.rows, self.k):
            raise PtxlabError(
                f"codes of shape {codes.shape}: this tile takes [..., {self.rows}, {self.k}], M or N first"
            )
        if codes.dtype.kind not in "iu" or (codes < 0).any() or (codes >> (self.bits - 1) > 1).any():
            raise PtxlabError(
                f"codes of {self.bits} bits are unsigned integers below 2^{self.bits}, found others in an array of {codes.dtype}"
            )
        codes = np.ascontiguousarray(codes, dtype=_CODES[self.bits])
        content = np.packbits(codes, axis=-1, bitorder="little") if self.bits == 1 else codes.view(np.uint8)
        memory = np.zeros((*codes.shape[:-2], self.size), dtype=np.uint8)
        memory[..., self._places] = content
        return memory

    def load(self, memory: ArrayLike) -> NDArray[Any]:
        """The inverse of `store`.

        >>> tile, codes = Tile(bits=8, rows=8, k=32, swizzle=32), np.arange(256).reshape(8, 32)
        >>> bool((tile.load(tile.store(codes)) == codes).all())
        True
        """
        memory = np.asarray(memory, dtype=np.uint8)
        if memory.shape[-1:] != (self.size,):
            raise PtxlabError(f"memory of shape {memory.shape}: this tile takes [..., {self.size}] bytes")
        content = np.ascontiguousarray(memory[..., self._places])
        return (
            np.unpackbits(content, axis=-1, bitorder="little")
            if self.bits == 1
            else content.view(_CODES[self.bits])
        )

    def descriptor(self, address: int = 0) -> int:
        """The 64-bit matrix descriptor of this tile at a shared-memory address.

        >>> hex(Tile(bits=8, rows=8, k=64).descriptor(0x400))   # address 0x40, leading 8 and stride 32 in units of 16 bytes
        '0x2000080040'
        """
        if address % self.alignment or not 0 <= address < 1 << 18:
            raise PtxlabError(
                f"shared-memory address {address}: this tile needs a multiple of {self.alignment} below 2^18"
            )
        return address >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | SWIZZLES[self.swizzle] << 62

    @classmethod
    def of(cls, operand: Operand, swizzle: int = 0, transposed: bool | int = False) -> Tile:
        """The tile of an operand that wgmma reads from shared memory: A as M rows, B as N rows; MN-major if `transposed`.

        >>> import ptxlab
        >>> Tile.of(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").b, swizzle=32)
        Tile(bits=16, rows=8, k=16, major='K', swizzle=32)
        """
        if operand.space != "shared":
            raise PtxlabError(f"operand {operand.name} lives in registers, not in shared memory")
        if transposed and operand.dtype.bits != 16:
            raise PtxlabError(
                f"operand {operand.name} is {operand.dtype}: wgmma transposes f16 and bf16 only"
            )
        rows, k = operand.shape if operand.axes[0] == "m" else operand.shape[::-1]
        return cls(operand.dtype.bits, rows, k, "MN" if transposed else "K", swizzle)
