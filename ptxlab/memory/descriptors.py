"""The 64-bit matrix descriptor that tells wgmma where a tile is and how it is laid out.

PTX ISA, "Matrix Descriptor Format":

    bits 0-13    start address              in units of 16 bytes
    bits 16-29   leading dimension offset   in units of 16 bytes
    bits 32-45   stride dimension offset    in units of 16 bytes
    bits 49-51   base offset                0 if the swizzle pattern starts at the tile's first byte
    bits 62-63   swizzle                    see `SWIZZLES`
"""

from __future__ import annotations

from .._util.arguments import as_int
from ..errors import PtxlabError, listing, quoted

__all__ = ["SWIZZLES", "encode_descriptor"]

#: Swizzle width in bytes -> its code in bits 62-63 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}


def encode_descriptor(address: int, leading: int, stride: int, swizzle: int) -> int:
    """The descriptor of a tile, from quantities in bytes.

    >>> hex(encode_descriptor(0x400, leading=128, stride=512, swizzle=64))
    '0x8000002000080040'
    """
    for name, value in (("address", address), ("leading", leading), ("stride", stride)):
        number = as_int(value, name)
        if number % 16 or not 0 <= number < 1 << 18:
            raise PtxlabError(f"{name}={quoted(number)}: a descriptor takes multiples of 16 bytes below 2^18")
    if as_int(swizzle, "swizzle") not in SWIZZLES:
        raise PtxlabError(f"swizzle of {quoted(swizzle)} bytes: there are {listing(sorted(SWIZZLES))}")
    address, leading, stride, swizzle = map(int, (address, leading, stride, swizzle))
    return address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | SWIZZLES[swizzle] << 62
