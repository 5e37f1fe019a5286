"""The 64-bit matrix descriptor that tells wgmma where a tile is and how it is laid out.

PTX ISA, "Matrix Descriptor Format":

    bits 0-13    start address              in units of 16 bytes
    bits 16-29   leading dimension offset   in units of 16 bytes
    bits 32-45   stride dimension offset    in units of 16 bytes
    bits 49-51   base offset                0 if the swizzle pattern starts where addresses repeat it
    bits 62-63   swizzle                    see `SWIZZLES`
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_integers, broadcast, check_room, is_name, set_integers
from ..errors import PtxlabError, listing, quoted

__all__ = ["SWIZZLES", "Descriptor", "descriptor", "encode_descriptor", "swizzled"]

#: Swizzle width in bytes -> its code in bits 62-63 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}
_SWIZZLE_OF_CODE = {code: swizzle for swizzle, code in SWIZZLES.items()}

#: Bits that no field has; the hardware's are 0.
_UNUSED = 0xFFFFFFFFFFFFFFFF & ~(0x3FFF | 0x3FFF << 16 | 0x3FFF << 32 | 7 << 49 | 3 << 62)

#: Along an axis of what is read: no wgmma reads more.
_MOST_ELEMENTS = 1 << 10


def swizzled(addresses: NDArray[np.int64], swizzle: int, base_offset: int = 0) -> NDArray[np.int64]:
    """Where the bytes at these addresses are under a swizzle: bits 4 and up, XORed with those from 7 on.

    With a base offset the pattern starts that many lines of 128 bytes later.

    >>> swizzled(np.arange(0, 1024, 128), 128) % 128 // 16   # the first chunk of each line of 128 bytes
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    if not swizzle:
        return addresses
    chunks = swizzle // 16
    return addresses ^ ((addresses >> 7) - base_offset & chunks - 1) << 4


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor, its quantities in bytes; `code` has the 64 bits. Print it for a sentence.

    `leading` and `stride` are the leading and the stride dimension byte offset (LBO and SBO), `base_offset`
    counts lines of 128 bytes.

    >>> print(Descriptor(address=0x400, leading=16, stride=1024, swizzle=128))
    wgmma reads from 0x400 with a 128-byte swizzle; leading dimension offset (LBO) 16, stride dimension \
offset (SBO) 1024 bytes.
    """

    address: int
    leading: int
    stride: int
    swizzle: int = 0
    base_offset: int = 0

    def __post_init__(self) -> None:
        set_integers(self, ("address", "leading", "stride", "swizzle", "base_offset"))
        for name in ("address", "leading", "stride"):
            number = getattr(self, name)
            if number % 16 or not 0 <= number < 1 << 18:
                raise PtxlabError(
                    f"{name}={quoted(number)}: a descriptor takes multiples of 16 bytes below 2^18"
                )
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(
                f"swizzle of {quoted(self.swizzle)} bytes: there are {listing(sorted(SWIZZLES))}"
            )
        if not 0 <= self.base_offset < 8:
            raise PtxlabError(f"base_offset={quoted(self.base_offset)}: it has 3 bits, 0 to 7")

    @property
    def code(self) -> int:
        """The 64 bits.

        >>> hex(Descriptor(0x400, 128, 512, 64).code)
        '0x8000002000080040'
        """
        return (
            self.address >> 4
            | self.leading >> 4 << 16
            | self.stride >> 4 << 32
            | self.base_offset << 49
            | SWIZZLES[self.swizzle] << 62
        )

    def __index__(self) -> int:
        return self.code

    def __str__(self) -> str:
        pattern = f"with a {self.swizzle}-byte swizzle" if self.swizzle else "without swizzle"
        if self.base_offset:
            pattern += f" whose pattern starts at line {self.base_offset} of 128 bytes (base offset)"
        return (
            f"wgmma reads from 0x{self.address:x} {pattern}; leading dimension offset (LBO) {self.leading}, "
            f"stride dimension offset (SBO) {self.stride} bytes."
        )

    def addresses(
        self, row: ArrayLike, k: ArrayLike, *, bits: int = 16, major: Literal["K", "MN"] = "K"
    ) -> NDArray[np.int64]:
        """The byte that wgmma reads for an element: `row` along M or N, `k` from where the slice starts.

        PTX ISA, "Strides", table of canonical layouts.

        >>> Descriptor(0x400, 16, 1024, 128).addresses([0, 1, 8], 0)
        array([1024, 1168, 2048])
        """
        bits = as_int(bits, "bits")
        if bits not in (1, 2, 4, 8, 16, 32, 64):
            raise PtxlabError(f"elements of {quoted(bits)} bits: there are 1, 2, 4, 8, 16, 32, 64 bits")
        if not is_name(major, ("K", "MN")):
            raise PtxlabError(f"major={quoted(major)}: a tile is 'K' or 'MN' major")
        rows, along = as_integers(row, "row").astype(np.int64), as_integers(k, "k").astype(np.int64)
        check_room(math.prod(broadcast("row and k", {"row": rows.shape, "k": along.shape})), "row and k")
        line, inner = (rows, along) if major == "K" else (along, rows)
        chunk, byte = inner * bits // 128, inner * bits // 8 % 16
        width = max(self.swizzle, 16)  # bytes of a row of the atom
        lines, eights = line % 8 * width, line // 8
        if major == "K":
            across = chunk * (16 if self.swizzle else self.leading)
            offset = lines + eights * self.stride + across
        elif self.swizzle:
            chunks = width // 16
            offset = lines + eights * self.stride + chunk % chunks * 16 + chunk // chunks * self.leading
        else:
            offset = lines + eights * self.leading + chunk * self.stride
        return swizzled(np.asarray(self.address + offset), self.swizzle, self.base_offset) + byte

    def load(
        self,
        memory: ArrayLike,
        rows: int,
        k: int,
        *,
        bits: int = 16,
        major: Literal["K", "MN"] = "K",
    ) -> NDArray[Any]:
        """The element codes [rows, k] that wgmma reads through this descriptor, right or wrong.

        `memory` is shared memory from address 0 on; wgmma reads 32 bytes of K.

        >>> memory = np.arange(1024, dtype=np.uint8)
        >>> Descriptor(0, 16, 1024, 128).load(memory, 8, 32, bits=8)[:3, 0]   # row 1 begins at byte 144
        array([  0, 144,  32], dtype=uint8)
        """
        content = as_integers(memory, "memory")
        if content.ndim != 1 or ((content < 0) | (content > 255)).any():
            raise PtxlabError(f"memory of shape {content.shape}: it is a list of bytes from 0 to 255")
        rows, k, bits = as_int(rows, "rows"), as_int(k, "k"), as_int(bits, "bits")
        for name, length in (("rows", rows), ("k", k)):
            if not 1 <= length <= _MOST_ELEMENTS:
                raise PtxlabError(f"{name}={quoted(length)}: there are 1 to {_MOST_ELEMENTS}")
        row, along = np.arange(rows)[:, None], np.arange(k)
        where = self.addresses(row, along, bits=bits, major=major)
        size = max(bits // 8, 1)
        if int(where.max()) + size > len(content):
            raise PtxlabError(
                f"memory of {len(content)} bytes: wgmma reads up to byte {int(where.max()) + size - 1}"
            )
        parts = content[where[..., None] + np.arange(size)].astype(np.uint8)
        if bits < 8:
            shift = along * bits % 8
            return np.asarray(parts[..., 0] >> shift.astype(np.uint8) & np.uint8((1 << bits) - 1))
        return np.ascontiguousarray(parts).view(f"<u{size}")[..., 0]


def descriptor(code: int) -> Descriptor:
    """The fields of a 64-bit matrix descriptor.

    >>> descriptor(0x4000004000010040)
    Descriptor(address=1024, leading=16, stride=1024, swizzle=128, base_offset=0)
    """
    number = as_int(code, "descriptor")
    if not 0 <= number < 1 << 64:
        raise PtxlabError(f"descriptor {quoted(number)}: it has 64 bits")
    if number & _UNUSED:
        lowest = (number & _UNUSED & -(number & _UNUSED)).bit_length() - 1
        raise PtxlabError(
            f"descriptor 0x{number:x}: bit {lowest} is 1, but belongs to no field; the fields are bits 0-13, "
            "16-29, 32-45, 49-51 and 62-63"
        )
    address, leading, stride = ((number >> low & 0x3FFF) << 4 for low in (0, 16, 32))
    return Descriptor(address, leading, stride, _SWIZZLE_OF_CODE[number >> 62], number >> 49 & 7)


def encode_descriptor(address: int, leading: int, stride: int, swizzle: int, base_offset: int = 0) -> int:
    """The descriptor of a tile, from quantities in bytes.

    >>> hex(encode_descriptor(0x400, leading=128, stride=512, swizzle=64))
    '0x8000002000080040'
    """
    return Descriptor(address, leading, stride, swizzle, base_offset).code
