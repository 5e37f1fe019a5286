"""Tiles of matrices in shared memory: at which byte every element is.

PTX ISA, "Shared Memory Matrix Layout" and "Strides". A tile consists of *core matrices*, 8 rows of 16 bytes
each. A row runs along K in a K-major tile, and along M or N in an MN-major tile, which wgmma reads with
imm-trans-a or imm-trans-b = 1.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import (
    as_array,
    as_flag,
    as_int,
    as_integers,
    as_text,
    broadcast,
    check_room,
    is_name,
    set_integers,
)
from ..errors import PtxlabError, listing, quoted
from ..isa.cute import coalesced, cute_text
from ..isa.dtypes import dtype
from ..isa.operand import Operand, as_operand
from .descriptors import Descriptor, Tcgen05Descriptor
from .descriptors import descriptor as decode
from .swizzle import SWIZZLES, swizzled

#: How an index moves through a tile: (size, stride in elements) of each mode, fastest first, as in CuTe.
Modes = tuple[tuple[int, int], ...]

#: Bits of an element -> the little-endian type of its code in memory; smaller ones share a byte.
_CODE_TYPES: dict[int, np.dtype[Any]] = {
    bits: np.dtype(f"<u{max(bits // 8, 1)}") for bits in (1, 2, 4, 8, 16, 32, 64)
}

_MAJORS: tuple[Literal["K", "MN"], ...] = ("K", "MN")
_ORDERS: tuple[Literal["MN", "K"] | None, ...] = (None, "MN", "K")

#: Bytes along K that every dense wgmma reads, whatever the type.
_SLICE_BYTES = 32


#: Bits of an element -> how many of them a byte holds, in words.
_SHARING = {1: "eight", 2: "four", 4: "two"}

#: Most elements along an axis: as many single bits as the 18 bits of a shared-memory address reach.
_MAX_ELEMENTS = 8 << 18


class Judgement(NamedTuple):
    """What `Tile.judge` finds in a descriptor: problems, and notes that are worth knowing."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Tile:
    """A matrix in shared memory: `rows` of M or N by `k`, elements of `bits` bits.

    Without a swizzle, core matrices are contiguous: eight rows of 16 bytes, 128 bytes together. With a
    swizzle of 32, 64 or 128 bytes, a row of the *swizzle atom* is that wide, and the 16-byte chunks within
    it are permuted: the XOR with the row number puts the same column of different rows into different banks.

    A tile larger than an atom consists of several. `order` says along which axis they follow each other
    first: "MN" (CUTLASS's `tile_to_shape`, and a K-major tile that TMA writes 128 bytes of K at a time) or
    "K" (an MN-major tile that TMA writes 128 bytes of M or N at a time, as DeepGEMM does). The default is
    "MN", but "K" for a K-major tile without swizzle.

    `chunk` is what the swizzle moves as a whole: 16 bytes, or 32 in the swizzle of tcgen05 for MN-major tf32.

    >>> tile = Tile(bits=16, rows=8, k=64, swizzle=128)
    >>> tile.offset([0, 1, 2, 3], 0)   # column 0 of four rows: 128 bytes apart, and one chunk further each
    array([  0, 144, 288, 432])
    >>> hex(tile.descriptor(address=0x400))
    '0x4000004000010040'
    >>> Tile(bits=16, rows=64, k=128, swizzle=128).cute   # two atoms wide
    'Swizzle<3,4,3> o ((8,8),(8,8,2)):((64,512),(1,8,4096))'
    """

    bits: int
    rows: int
    k: int
    major: Literal["K", "MN"] = "K"
    swizzle: int = 0
    order: Literal["MN", "K"] | None = None
    chunk: int = 16

    def __post_init__(self) -> None:
        set_integers(self, ("bits", "rows", "k", "swizzle", "chunk"))
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(
                f"swizzle of {quoted(self.swizzle)} bytes: there are {listing(sorted(SWIZZLES))}"
            )
        if not is_name(self.major, ("K", "MN")):
            raise PtxlabError(f"major={quoted(self.major)}: a tile is 'K' or 'MN' major")
        if self.chunk != 16 and (self.chunk, self.swizzle, self.major) != (32, 128, "MN"):
            raise PtxlabError(
                f"chunk={quoted(self.chunk)}: a swizzle moves 16 bytes at a time; one of 128 bytes in an "
                f"MN-major tile also 32, for tcgen05"
            )
        if self.order is None:
            object.__setattr__(self, "order", self._default_order)
        elif not is_name(self.order, ("K", "MN")):
            raise PtxlabError(f"order={quoted(self.order)}: atoms follow each other along 'MN' or 'K' first")
        if self.bits not in _CODE_TYPES:
            raise PtxlabError(f"elements of {quoted(self.bits)} bits: there are {listing(_CODE_TYPES)} bits")
        for name, size in (("rows", self.rows), ("k", self.k)):
            if not 1 <= size <= _MAX_ELEMENTS:
                raise PtxlabError(
                    f"{name}={quoted(size)}: a tile has at least 1 and, in shared memory, at most "
                    f"{_MAX_ELEMENTS}"
                )
        if self.major == "K":
            self._check_k_major()
        else:
            self._check_mn_major()

    @property
    def _default_order(self) -> Literal["MN", "K"]:
        return "K" if self.major == "K" and not self.swizzle else "MN"

    def __repr__(self) -> str:
        order = "" if self.order == self._default_order else f", order={self.order!r}"
        chunk = "" if self.chunk == 16 else f", chunk={self.chunk}"
        return (
            f"Tile(bits={self.bits}, rows={self.rows}, k={self.k}, major={self.major!r}, "
            f"swizzle={self.swizzle}{order}{chunk})"
        )

    def _check_k_major(self) -> None:
        if self.rows % 8 or self.k % self.core_width:
            raise PtxlabError(
                f"a tile of {self.rows} rows of {self.k} elements of {self.bits} bits: "
                "core matrices are 8 rows of 16 bytes"
            )
        if self.row_bytes > max(self.swizzle, 16) and self.k % self.atom_width:
            whole_atoms = -(-self.k // self.atom_width) * self.atom_width
            raise PtxlabError(
                f"rows of {self.row_bytes} bytes with a {self.swizzle}-byte swizzle: beyond one atom a row "
                f"is a multiple of {self.swizzle} bytes; take k={whole_atoms} or a narrower swizzle"
            )

    def _check_mn_major(self) -> None:
        if self.bits < 8:
            elements = "single bits" if self.bits == 1 else f"elements of {self.bits} bits"
            raise PtxlabError(
                f"{elements} are K-major: {_SHARING[self.bits]} neighbours along K share a byte"
            )
        if self.rows % self.atom_width:
            swizzle, remedy = "without swizzle", ""
            if self.swizzle:
                swizzle, remedy = f"with a {self.swizzle}-byte swizzle", "; take a narrower swizzle or none"
            raise PtxlabError(
                f"{self.rows} elements along M or N: MN-major {swizzle} takes multiples of "
                f"{self.atom_width} elements of {self.bits} bits{remedy}"
            )
        if self.k % self.atom_lines:
            depth = "core matrices are 8" if self.chunk == 16 else "atoms with chunks of 32 bytes are 4"
            raise PtxlabError(f"an MN-major tile of K = {self.k}: {depth} deep in K")

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
        tile = cls(operand.dtype.bits, rows, k, "MN" if transposed else "K", swizzle)
        if tile.major == "K" and 0 < tile.swizzle < tile.row_bytes:
            raise PtxlabError(
                f"rows of {tile.row_bytes} bytes do not fit a {tile.swizzle}-byte swizzle: one wgmma reads "
                "them from one atom; take a wider one or none"
            )
        return tile

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
    def atom_lines(self) -> int:
        """Lines of the swizzle atom: rows of a K-major one, values of K of an MN-major one."""
        return 4 if self.chunk == 32 else 8

    @property
    def row_bytes(self) -> int:
        """Bytes of one row along K."""
        return self.k * self.bits // 8

    @property
    def size(self) -> int:
        """Bytes of the whole tile."""
        if self.major == "K":  # a row narrower than the swizzle leaves the rest of its atom unused
            return self.rows * max(self.row_bytes, self.swizzle)
        return self.rows * self.row_bytes

    @property
    def alignment(self) -> int:
        """The tile's address must be a multiple of this, so that the swizzle pattern starts with the tile.

        PTX ISA, "Shared memory descriptor": 1024 bytes with a swizzle of 128. With chunks of 32 bytes the
        pattern repeats after 512 (CUTLASS: Swizzle<2,5,2>), but the alignment is the same.

        >>> Tile(bits=32, rows=32, k=8, major="MN", swizzle=128, chunk=32).alignment
        1024
        """
        return 8 * self.swizzle if self.swizzle else 16

    # -- layout ------------------------------------------------------------------------------------------

    @property
    def modes(self) -> tuple[Modes, Modes]:
        """The modes of the row and of k, in elements and before the swizzle.

        PTX ISA, "Strides", table of canonical layouts; `order` says which atoms are neighbours.

        >>> Tile(bits=16, rows=16, k=16).modes   # a row step is 8 elements, 8 rows further it is 128
        (((8, 8), (2, 128)), ((8, 1), (2, 64)))
        """
        core, width = self.core_width, self.atom_width
        lines = self.atom_lines
        atom = lines * width
        row_atoms, k_atoms = self.rows // 8, -(-self.k // width)
        if self.major == "MN":
            row_atoms, k_atoms = self.rows // width, self.k // lines
        row_step, k_step = (atom, row_atoms * atom) if self.order == "MN" else (k_atoms * atom, atom)
        if self.major == "MN":
            return (
                ((core, 1), (width // core, core), (row_atoms, row_step)),
                ((lines, width), (k_atoms, k_step)),
            )
        rows = ((8, width), (row_atoms, row_step))
        if not self.swizzle:
            return rows, ((core, 1), (k_atoms, k_step))
        if k_atoms == 1:
            return rows, ((core, 1), (self.k // core, core))
        return rows, ((core, 1), (width // core, core), (k_atoms, k_step))

    @property
    def cute(self) -> str:
        """The layout in CuTe's notation: (M or N, K) -> offset in elements, with the swizzle of the address.

        >>> Tile(bits=16, rows=32, k=16, major="MN", swizzle=32).cute
        'Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))'
        """
        chunks = max(self.swizzle // 16, 1)
        pattern = "2,5,2" if self.chunk == 32 else f"{chunks.bit_length() - 1},4,3"
        return f"Swizzle<{pattern}> o {cute_text(*self.modes)}"

    def offset(self, row: ArrayLike, k: ArrayLike) -> NDArray[np.int64]:
        """Byte offset of an element from the start of the tile.

        Elements smaller than a byte share it: a single bit is bit k % 8.

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
        return np.asarray(swizzled(elements * self.bits // 8, self.swizzle, chunk=self.chunk))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Byte offset of every element, [rows, k].

        >>> Tile(bits=16, rows=8, k=16).offsets[:2, ::8]   # where the 16-byte chunks of rows 0 and 1 begin
        array([[  0, 128],
               [ 16, 144]])
        """
        offsets = self.offset(np.arange(self.rows)[:, None], np.arange(self.k)[None, :])
        offsets.flags.writeable = False  # it is cached
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
        if self.bits < 8:
            shares = codes.reshape(*codes.shape[:-1], self.row_bytes, 8 // self.bits) << self._shifts
            content = np.bitwise_or.reduce(shares, axis=-1)
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
            outside = (memory < 0) | (memory > 255)
            if outside.any():
                raise PtxlabError(f"memory: found {memory[outside][0]}; bytes go from 0 to 255")
            memory = memory.astype(np.uint8)
        content = np.ascontiguousarray(memory[..., self._byte_offsets])
        if self.bits < 8:
            shares = content[..., None] >> self._shifts & np.uint8((1 << self.bits) - 1)
            return np.asarray(shares.reshape(*content.shape[:-1], self.k))
        return content.view(_CODE_TYPES[self.bits])

    @property
    def _shifts(self) -> NDArray[np.uint8]:
        """The lowest bits of elements that share a byte, the first one lowest."""
        return np.arange(0, 8, self.bits, dtype=np.uint8)

    # -- descriptor --------------------------------------------------------------------------------------

    @property
    def leading(self) -> int:
        """Leading dimension byte offset of the descriptor.

        K-major: from one core matrix to the next along K; with a swizzle it is ignored, and 16. MN-major:
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

    def descriptor(self, address: int = 0, k: int = 0, *, row: int = 0) -> int:
        """The 64-bit matrix descriptor of the slice that starts at `k`, of a tile at `address`.

        A slice is what one wgmma reads: 32 bytes along K. Within a swizzle atom its descriptor is that of the
        tile with an address 32 bytes further. `row` is where it starts along M or N. A swizzled tile that is
        aligned only to 128 bytes, not to its pattern (`alignment`), gets a base offset.

        >>> hex(Tile(bits=8, rows=8, k=64).descriptor(0x400))   # leading 8 and stride 32 in units of 16 bytes
        '0x2000080040'
        >>> tile = Tile(bits=16, rows=64, k=128, swizzle=128)
        >>> [hex(tile.descriptor(0x400, k)) for k in (16, 64)]   # 32 bytes further, and one atom further
        ['0x4000004000010042', '0x4000004000010240']
        """
        return self.slice(address, k, row=row).code

    def slice(self, address: int = 0, k: int = 0, *, row: int = 0) -> Descriptor:
        """Like `descriptor`, with its fields.

        >>> Tile(bits=16, rows=64, k=64, major="MN", swizzle=128).slice(0x400, 16)
        Descriptor(address=3072, leading=1024, stride=1024, swizzle=128, base_offset=0)
        """
        address = as_int(address, "shared-memory address")
        unit = 128 if self.swizzle else 16
        if address % unit or not 0 <= address < 1 << 18:
            raise PtxlabError(
                f"shared-memory address {quoted(address)}: this tile needs a multiple of {unit} below 2^18"
            )
        start = address + self._slice_offset(as_int(k, "k"), as_int(row, "row"))
        if start >= 1 << 18:
            raise PtxlabError(
                f"shared-memory address {quoted(address)}: this slice would start at 0x{start:x}, beyond 2^18"
            )
        base = (address >> 7) % (self.alignment // 128) if self.swizzle else 0
        if self.chunk == 32:
            return Tcgen05Descriptor(start, self.leading, self.stride, self.swizzle, base, chunk=32)
        return Descriptor(start, self.leading, self.stride, self.swizzle, base)

    def _slice_offset(self, k: int, row: int) -> int:
        """Bytes from the start of the tile to where a slice begins."""
        k_unit, row_unit = (self.core_width, 8) if self.major == "K" else (self.atom_lines, self.atom_width)
        for name, index, unit, length in (("k", k, k_unit, self.k), ("row", row, row_unit, self.rows)):
            if index % unit or not 0 <= index < length:
                raise PtxlabError(
                    f"{name}={quoted(index)}: slices of this tile start at multiples of {unit} below {length}"
                )
        depth = _SLICE_BYTES * 8 // self.bits
        if k + depth > self.k and k:
            raise PtxlabError(
                f"k={k}: wgmma reads {_SLICE_BYTES} bytes of K, {depth} elements, and the tile ends at "
                f"{self.k}"
            )
        if self.major == "K" and self.swizzle and k % self.atom_width + depth > self.atom_width and k:
            raise PtxlabError(
                f"k={k}: wgmma reads {_SLICE_BYTES} bytes of K from one swizzle atom, and this slice would "
                f"cross into the next; atoms begin at multiples of {self.atom_width}"
            )
        return int(self.offset(row, k))

    def judge(
        self, descriptor: Descriptor | int, k: int = 0, *, row: int = 0, address: int | None = None
    ) -> Judgement:
        """Whether wgmma reads the slice at `k` through this descriptor, and what is wrong if it does not.

        `address` is where the tile is; by default it follows from the descriptor.

        >>> tile = Tile(bits=16, rows=64, k=64, swizzle=128)
        >>> tile.judge(Descriptor(0x400, leading=0, stride=512, swizzle=128))
        Judgement(problems=('SBO must be 1024, found 512',), notes=('LBO is ignored for swizzled K-major',))
        """
        fields = descriptor if isinstance(descriptor, Descriptor) else decode(descriptor)
        k, row = as_int(k, "k"), as_int(row, "row")
        offset = self._slice_offset(k, row)
        notes = []
        if self.major == "K" and self.swizzle and fields.swizzle:
            notes.append("LBO is ignored for swizzled K-major")
        start = fields.address - offset if address is None else as_int(address, "address")
        unit = 128 if self.swizzle else 16
        if start < 0 or start % unit:
            return Judgement((self._misplaced(fields.address, k, offset, unit),), tuple(notes))
        expected = self.slice(start, k, row=row)
        rows, depth = min(self.rows - row, 256), min(_SLICE_BYTES * 8 // self.bits, self.k)
        indices = np.arange(rows)[:, None], np.arange(depth)
        read, stored = (
            slice_.addresses(*indices, bits=self.bits, major=self.major) for slice_ in (fields, expected)
        )
        if (read == stored).all():
            return Judgement((), tuple(notes))
        problems = []
        if fields.swizzle != expected.swizzle:
            problems.append(f"swizzle must be {_swizzle_text(expected)}, found {_swizzle_text(fields)}")
        if fields.address != expected.address:
            problems.append(f"address must be 0x{expected.address:x}, found 0x{fields.address:x}")
        if fields.base_offset != expected.base_offset and self.swizzle:
            problems.append(
                f"base offset must be {expected.base_offset} for a tile at 0x{start:x}, found "
                f"{fields.base_offset}"
            )
        if fields.leading != expected.leading and not notes:
            problems.append(f"LBO must be {expected.leading}, found {fields.leading}")
        if fields.stride != expected.stride:
            problems.append(f"SBO must be {expected.stride}, found {fields.stride}")
        return Judgement(tuple(problems), tuple(notes))

    def _misplaced(self, address: int, k: int, offset: int, unit: int) -> str:
        """A sentence: no tile can start where the address implies, but perhaps it fits another k."""
        sentence = (
            f"address 0x{address:x} is not where a slice at k={k} starts: it is {offset} bytes into the "
            f"tile, and a tile starts at a multiple of {unit}"
        )
        inside = address % unit * 8 // self.bits
        if self.major == "K" and self.swizzle and inside < self.k:
            sentence += f"; it could be that of k={inside}"
        return sentence

    # -- texts -------------------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str) -> Tile:
        """Read a tile, written like a call of its constructor or as CuTe prints its layout.

        >>> Tile.parse("dtype=f16, rows=64, k=128, swizzle=128")
        Tile(bits=16, rows=64, k=128, major='K', swizzle=128)
        """
        words = as_text(text, "tile").strip()
        if " o " in words or words.startswith("("):
            return cls.from_cute(words)
        numbers, names = _read_settings(words, f"tile {quoted(text)}")
        type_name = names.pop("dtype", None)
        both = type_name is not None and "bits" in numbers
        if type_name is not None:
            numbers.setdefault("bits", dtype(type_name).bits)
        missing = [name for name in ("bits", "rows", "k") if name not in numbers]
        if missing or both:
            problem = f"{missing[0]} is missing" if missing else "bits and dtype say the same"
            raise PtxlabError(
                f"tile {quoted(text)}: {problem}; a tile is spelt bits=16,rows=64,k=64,swizzle=128"
            )
        return cls(**numbers, **names)  # type: ignore[arg-type]  # the constructor checks them

    @classmethod
    def from_cute(cls, text: str, bits: int | None = None) -> Tile:
        """The tile of a layout as CuTe prints it.

        Bits of an element are in CuTe's own text (`smem_ptr[16b]`), or follow from a swizzle that counts
        elements (`Sw<3,3,3>`), or are given.

        >>> Tile.from_cute("Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_16),(_64,_2)):((_64,_512),(_1,_8192))")
        Tile(bits=16, rows=128, k=128, major='K', swizzle=128)
        """
        where = f"layout {quoted(text)}"
        swizzle, chunk, stated, modes = _read_cute(as_text(text, "layout"), where)
        size = stated if bits is None else as_int(bits, "bits")
        if size is None:
            sizes = [candidate for candidate in _CODE_TYPES if cls._fitting(candidate, swizzle, chunk, modes)]
            if len(sizes) > 1:
                raise PtxlabError(f"{where}: it fits elements of {listing(sizes)} bits; say which, bits=16")
            size = sizes[0] if sizes else 16
        tiles = cls._fitting(size, swizzle, chunk, modes)
        if not tiles:
            raise PtxlabError(
                f"{where}: no tile of {'wgmma' if chunk == 16 else 'tcgen05'} with elements of "
                f"{quoted(size)} bits has it; see Tile(...).cute"
            )
        return tiles[0]

    @classmethod
    def _fitting(cls, bits: int, swizzle: int, chunk: int, modes: tuple[Modes, Modes]) -> list[Tile]:
        """The tiles that have this layout, the one in its default order first."""
        rows, k = (math.prod(size for size, _ in axis) for axis in modes)
        tiles = []
        for major, order in product(_MAJORS, _ORDERS):
            try:
                tile = cls(bits, rows, k, major, swizzle, order, chunk)
            except PtxlabError:
                continue
            if [coalesced(axis) for axis in tile.modes] == [coalesced(axis) for axis in modes]:
                tiles.append(tile)
        return tiles


_NUMBERS = ("bits", "rows", "k", "swizzle", "chunk")
_NAMES = ("major", "order", "dtype")


def _read_settings(words: str, where: str) -> tuple[dict[str, int], dict[str, str]]:
    """The arguments of a constructor call: numbers, and names."""
    numbers: dict[str, int] = {}
    names: dict[str, str] = {}
    for word in re.sub(r"^Tile\((.*)\)$", r"\1", words).replace(",", " ").split():
        name, equals, value = word.partition("=")
        value = value.strip("'\"")
        is_new = name in (*_NUMBERS, *_NAMES) and name not in (*numbers, *names)
        if not is_new or not equals or not value:
            raise PtxlabError(
                f"{where}: found {quoted(word)}; a tile is spelt bits=16,rows=64,k=64,major=K,swizzle=128 "
                "(dtype=f16 also gives the bits), or as CuTe prints its layout"
            )
        if name in _NAMES:
            names[name] = value
        elif re.fullmatch(r"\d{1,9}", value):
            numbers[name] = int(value)
        else:
            raise PtxlabError(f"{where}: {name} takes a whole number, found {quoted(value)}")
    return numbers, names


def _swizzle_text(descriptor: Descriptor) -> str:
    return f"{descriptor.swizzle} bytes" if descriptor.swizzle else "none"


def _read_cute(text: str, where: str) -> tuple[int, int, int | None, tuple[Modes, Modes]]:
    """Swizzle and its chunk in bytes, bits if the text says so, and the modes of the row and of k."""
    compact = re.sub(r"[\s_]", "", text)
    *before, layout = compact.split("o(") if "o(" in compact else ["", compact.removeprefix("(")]
    head = before[0] if before else ""
    shape, colon, stride = ("(" + layout).partition(":")
    bits = re.search(r"smemptr\[(\d+)b\]", head)
    swizzle = re.search(r"S(?:w|wizzle)?<(\d+),(\d+),(\d+)>", head)
    axes = _split(shape), _split(stride)
    if not colon or len(text) > _LONGEST_LAYOUT or any(axis is None or len(axis) != 2 for axis in axes):
        raise PtxlabError(f"{where}: a tile has two modes, as in Swizzle<3,4,3> o ((8,8),64):((64,512),1)")
    modes = []
    for sizes, strides in zip(*(axis or [] for axis in axes), strict=True):
        numbers = [[int(number) for number in re.findall(r"\d+", text)] for text in (sizes, strides)]
        if len(numbers[0]) != len(numbers[1]) or 0 in numbers[0]:
            raise PtxlabError(f"{where}: sizes {sizes} and strides {strides} do not go together")
        modes.append(tuple(zip(*numbers, strict=True)))
    stated = int(bits[1]) if bits else None
    width, chunk = 0, 16
    if swizzle is not None:
        count, unit, shift = (int(number) for number in swizzle.groups())
        chunk = 32 if shift == 2 else 16
        bytes_unit = chunk.bit_length() - 1  # of an address in bytes; less where elements are counted
        if count > 3 or shift not in (2, 3) or (shift == 2 and count != 2) or unit > bytes_unit:
            raise PtxlabError(
                f"{where}: wgmma has Swizzle<0,4,3> to Swizzle<3,4,3>, tcgen05 also Swizzle<2,5,2>"
            )
        width = chunk << count if count else 0
        if unit < bytes_unit:
            stated = 8 << bytes_unit - unit
    return width, chunk, stated, (modes[0], modes[1])


_LONGEST_LAYOUT = 400


def _split(text: str) -> list[str] | None:
    """The elements of a tuple that CuTe printed, nested tuples as text; None if it is not a tuple."""
    if not re.fullmatch(r"\([\d(),]+\)", text):
        return None
    parts, depth = [""], 0
    for letter in text[1:-1]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return None
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts if depth == 0 and all(parts) else None
