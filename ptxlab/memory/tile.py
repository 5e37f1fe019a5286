"""Tiles of matrices in shared memory: at which byte every element is.

PTX ISA, "Shared Memory Matrix Layout" and "Strides". A tile consists of *core matrices*, 8 rows of 16 bytes
each. A row runs along K in a K-major tile, and along M or N in an MN-major tile, which wgmma reads with
imm-trans-a or imm-trans-b = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import (
    as_array,
    as_flag,
    as_int,
    as_integers,
    broadcast,
    check_room,
    is_name,
    set_integers,
)
from ..errors import PtxlabError, listing, quoted
from ..isa.operand import Operand, as_operand
from .descriptors import SWIZZLES, encode_descriptor

__all__ = ["Modes", "Tile"]

#: How an index moves through a tile: (size, stride in elements) of each mode, fastest first, as in CuTe.
Modes = tuple[tuple[int, int], ...]

#: Bits of an element -> the little-endian type of its code in memory; single bits are packed eight to a byte.
_CODE_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    8: np.dtype("u1"),
    16: np.dtype("<u2"),
    32: np.dtype("<u4"),
}


#: Along an axis of a tile: as many single bits as the 18 bits of a shared-memory address reach.
_MOST_ELEMENTS = 8 << 18


@dataclass(frozen=True)
class Tile:
    """A matrix in shared memory: `rows` of M or N by `k`, elements of `bits` bits.

    Without a swizzle, core matrices are contiguous: eight rows of 16 bytes, 128 bytes together. With a
    swizzle of 32, 64 or 128 bytes, a row of the *swizzle atom* is that wide, and the 16-byte chunks within
    it are permuted: the XOR with the row number puts the same column of different rows into different banks.

    >>> tile = Tile(bits=16, rows=8, k=64, swizzle=128)
    >>> tile.offset([0, 1, 2, 3], 0)   # column 0 of four rows: 128 bytes apart, and one chunk further each
    array([  0, 144, 288, 432])
    >>> hex(tile.descriptor(address=0x400))
    '0x4000004000010040'
    """

    bits: int
    rows: int
    k: int
    major: Literal["K", "MN"] = "K"
    swizzle: int = 0

    def __post_init__(self) -> None:
        set_integers(self, ("bits", "rows", "k", "swizzle"))
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(
                f"swizzle of {quoted(self.swizzle)} bytes: there are {listing(sorted(SWIZZLES))}"
            )
        if not is_name(self.major, ("K", "MN")):
            raise PtxlabError(f"major={quoted(self.major)}: a tile is 'K' or 'MN' major")
        if self.bits not in _CODE_TYPES:
            raise PtxlabError(
                f"elements of {quoted(self.bits)} bits: wgmma reads {listing(_CODE_TYPES)} bits"
            )
        for name, size in (("rows", self.rows), ("k", self.k)):
            if not 1 <= size <= _MOST_ELEMENTS:
                raise PtxlabError(
                    f"{name}={quoted(size)}: a tile has at least 1 and, in shared memory, at most "
                    f"{_MOST_ELEMENTS}"
                )
        if self.major == "K":
            self._check_k_major()
        else:
            self._check_mn_major()

    def _check_k_major(self) -> None:
        if self.rows % 8 or self.k % self.core_width or not self.rows or not self.k:
            raise PtxlabError(
                f"a tile of {self.rows} rows of {self.k} elements of {self.bits} bits: "
                "core matrices are 8 rows of 16 bytes"
            )
        if self.swizzle and self.row_bytes > self.swizzle:
            raise PtxlabError(
                f"rows of {self.row_bytes} bytes do not fit a {self.swizzle}-byte swizzle; "
                "take a wider one or none"
            )

    def _check_mn_major(self) -> None:
        if self.bits < 8:
            raise PtxlabError("single bits are K-major: eight neighbours along K share a byte")
        if self.rows % self.atom_width or not self.rows:
            swizzle, remedy = "without swizzle", ""
            if self.swizzle:
                swizzle, remedy = f"with a {self.swizzle}-byte swizzle", "; take a narrower swizzle or none"
            raise PtxlabError(
                f"{self.rows} elements along M or N: MN-major {swizzle} takes multiples of "
                f"{self.atom_width} elements of {self.bits} bits{remedy}"
            )
        if self.k % 8 or not self.k:
            raise PtxlabError(f"an MN-major tile of K = {self.k}: core matrices are 8 deep in K")

    @classmethod
    def of(cls, operand: Operand, swizzle: int = 0, transposed: bool | int = False) -> Tile:
        """The tile of an operand that wgmma reads from shared memory, MN-major if `transposed`.

        >>> import ptxlab
        >>> Tile.of(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").b, swizzle=32)
        Tile(bits=16, rows=8, k=16, major='K', swizzle=32)
        """
        operand = as_operand(operand)
        transposed = as_flag(transposed, "transposed")
        if operand.space != "shared":
            raise PtxlabError(f"operand {operand.name} is in registers, not in shared memory")
        if transposed and operand.dtype.bits != 16:
            raise PtxlabError(
                f"operand {operand.name} is {operand.dtype}: wgmma transposes f16 and bf16 only"
            )
        rows, k = operand.shape if operand.axes[0] == "m" else operand.shape[::-1]
        return cls(operand.dtype.bits, rows, k, "MN" if transposed else "K", swizzle)

    # -- sizes -------------------------------------------------------------------------------------------

    @property
    def core_width(self) -> int:
        """Elements in the 16 bytes of one row of a core matrix; T in the ISA's tables."""
        return 128 // self.bits

    @property
    def atom_width(self) -> int:
        """Elements in one row of the swizzle atom; without a swizzle the atom is a core matrix."""
        return self.core_width * max(self.swizzle // 16, 1)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row along K."""
        return self.k * self.bits // 8

    @property
    def size(self) -> int:
        """Bytes of the whole tile."""
        if self.major == "K" and self.swizzle:
            return self.rows * self.swizzle  # a narrow row leaves the rest of its atom unused
        return self.rows * self.row_bytes

    @property
    def alignment(self) -> int:
        """What the tile's address must be a multiple of: the swizzle pattern repeats every 8 rows."""
        return 8 * self.swizzle if self.swizzle else 16

    # -- layout ------------------------------------------------------------------------------------------

    @property
    def modes(self) -> tuple[Modes, Modes]:
        """How the row and how k move through the tile, in elements and before the swizzle.

        PTX ISA, "Strides", table of canonical layouts. The ISA leaves the order of atoms open; here it is
        that of its MN-major examples. In a K-major tile without swizzle, neighbours along K follow each
        other.

        >>> Tile(bits=16, rows=16, k=16).modes   # a row step is 8 elements, 8 rows further it is 128
        (((8, 8), (2, 128)), ((8, 1), (2, 64)))
        """
        core, atom = self.core_width, 8 * self.atom_width
        if self.major == "MN":
            atoms = self.rows // self.atom_width
            return (
                ((core, 1), (self.atom_width // core, core), (atoms, atom)),
                ((8, self.atom_width), (self.k // 8, atoms * atom)),
            )
        if self.swizzle:
            return ((8, self.atom_width), (self.rows // 8, atom)), ((core, 1), (self.k // core, core))
        return ((8, core), (self.rows // 8, 8 * self.k)), ((core, 1), (self.k // core, atom))

    @property
    def cute(self) -> str:
        """The layout in CuTe's notation: (M or N, K) -> offset in elements, with the swizzle of the address.

        >>> Tile(bits=16, rows=32, k=16, major="MN", swizzle=32).cute
        'Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))'
        """
        shape = ",".join(f"({','.join(str(size) for size, _ in modes)})" for modes in self.modes)
        strides = ",".join(f"({','.join(str(stride) for _, stride in modes)})" for modes in self.modes)
        chunks = max(self.swizzle // 16, 1)
        return f"Swizzle<{chunks.bit_length() - 1},4,3> o ({shape}):({strides})"

    def offset(self, row: ArrayLike, k: ArrayLike) -> NDArray[np.int64]:
        """Byte offset of an element from the start of the tile; a single bit is bit k % 8 of that byte.

        >>> Tile(bits=8, rows=8, k=64, swizzle=64).offset([0, 1, 2, 3], 0)   # rows 2 and 3: one chunk further
        array([  0,  64, 144, 208])
        """
        rows, along = as_integers(row, "row"), as_integers(k, "k")
        for name, index, length in (("row", rows, self.rows), ("k", along, self.k)):
            outside = (index < 0) | (index >= length)
            if outside.any():
                raise PtxlabError(
                    f"{name} {index[outside][0]}: the tile is {self.rows}x{self.k}, so {name} goes from 0 to "
                    f"{length - 1}"
                )
        check_room(math.prod(broadcast("row and k", {"row": rows.shape, "k": along.shape})), "row and k")
        elements: NDArray[np.int64] = np.zeros((), dtype=np.int64)
        for index, modes in zip((rows, along), self.modes, strict=True):
            rest = index.astype(np.int64)
            for size, stride in modes:
                elements = elements + rest % size * stride
                rest = rest // size
        offset = elements * self.bits // 8
        if self.swizzle:  # address bits 4 and up, XORed with those from 7 on
            offset = offset ^ (offset >> 7 & self.swizzle // 16 - 1) << 4
        return np.asarray(offset)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Byte offset of every element, [rows, k].

        >>> Tile(bits=16, rows=8, k=16).offsets[:2, ::8]   # where the 16-byte chunks of rows 0 and 1 begin
        array([[  0, 128],
               [ 16, 144]])
        """
        offsets = self.offset(np.arange(self.rows)[:, None], np.arange(self.k)[None, :])
        offsets.flags.writeable = False  # it is kept for the next call
        return offsets

    # -- contents ----------------------------------------------------------------------------------------

    @cached_property
    def _byte_offsets(self) -> NDArray[np.int64]:
        """Offset of every byte of every row, [rows, row_bytes]."""
        if self.bits < 8:
            return self.offsets[:, :: 8 // self.bits]
        return (self.offsets[..., None] + np.arange(self.bits // 8)).reshape(self.rows, self.row_bytes)

    def store(self, codes: ArrayLike) -> NDArray[np.uint8]:
        """The bytes of shared memory, [..., size], that hold these element codes, [..., rows, k].

        >>> Tile(bits=16, rows=8, k=8).store(np.arange(64).reshape(8, 8))[:6]   # little-endian
        array([0, 0, 1, 0, 2, 0], dtype=uint8)
        """
        codes = as_array(codes, "codes")
        if codes.shape[-2:] != (self.rows, self.k):
            raise PtxlabError(
                f"codes of shape {codes.shape}: this tile takes [..., {self.rows}, {self.k}], M or N first"
            )
        if codes.dtype.kind not in "iu" or (codes < 0).any() or (codes >> (self.bits - 1) > 1).any():
            raise PtxlabError(
                f"codes of {self.bits} bits are unsigned integers below 2^{self.bits}, "
                f"found others in an array of {codes.dtype}"
            )
        codes = np.ascontiguousarray(codes, dtype=_CODE_TYPES[self.bits])
        content = codes.view(np.uint8)
        if self.bits == 1:
            content = np.packbits(codes, axis=-1, bitorder="little")
        check_room(math.prod(codes.shape[:-2]) * self.size, "codes")
        memory = np.zeros((*codes.shape[:-2], self.size), dtype=np.uint8)
        memory[..., self._byte_offsets] = content
        return memory

    def load(self, memory: ArrayLike) -> NDArray[Any]:
        """The element codes [..., rows, k] that these bytes hold: the inverse of `store`."""
        memory = as_array(memory, "memory")
        if memory.shape[-1:] != (self.size,):
            raise PtxlabError(f"memory of shape {memory.shape}: this tile takes [..., {self.size}] bytes")
        if memory.dtype != np.uint8:
            memory = as_integers(memory, "memory")
            wrong = (memory < 0) | (memory > 255)
            if wrong.any():
                raise PtxlabError(f"memory: found {memory[wrong][0]}; bytes go from 0 to 255")
            memory = memory.astype(np.uint8)
        content = np.ascontiguousarray(memory[..., self._byte_offsets])
        if self.bits == 1:
            return np.unpackbits(content, axis=-1, bitorder="little")
        return content.view(_CODE_TYPES[self.bits])

    # -- descriptor --------------------------------------------------------------------------------------

    @property
    def leading(self) -> int:
        """Leading dimension byte offset of the descriptor.

        K-major: from one core matrix to the next along K; with a swizzle it is not used, and 16. MN-major:
        from one atom to the next along M or N; without a swizzle, along K.
        """
        row_modes, k_modes = self.modes
        if self.major == "K" and self.swizzle:
            return 16
        along_rows = self.major == "MN" and self.swizzle
        _, stride = row_modes[-1] if along_rows else k_modes[-1]
        return stride * self.bits // 8

    @property
    def stride(self) -> int:
        """Stride dimension byte offset of the descriptor.

        K-major: from 8 rows to the next 8. MN-major: from 8 steps of K to the next 8; without a swizzle,
        along M or N.
        """
        row_modes, k_modes = self.modes
        along_k = self.major == "MN" and self.swizzle
        _, stride = k_modes[-1] if along_k else row_modes[-1]
        return stride * self.bits // 8

    def descriptor(self, address: int = 0) -> int:
        """The 64-bit matrix descriptor of this tile at a shared-memory address.

        >>> hex(Tile(bits=8, rows=8, k=64).descriptor(0x400))   # leading 8 and stride 32 in units of 16 bytes
        '0x2000080040'
        """
        address = as_int(address, "shared-memory address")
        if address % self.alignment or not 0 <= address < 1 << 18:
            raise PtxlabError(
                f"shared-memory address {quoted(address)}: this tile needs a multiple of {self.alignment} "
                "below 2^18"
            )
        return encode_descriptor(address, self.leading, self.stride, self.swizzle)
