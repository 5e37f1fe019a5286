"""Swizzles: how chunks of 16 bytes change places in shared memory, so that columns meet no bank conflicts.

`swizzled` has the formula of wgmma, tcgen05 and TMA; `TmaSwizzle` adds the other modes of TMA. The same
formula is in CUDA C++ in `swizzling` of `ptxlab/gpu/codegen/cpp.py`, for generated kernels, and in the
kernels of `ptxlab/gemm/sources/*.cu`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_integers, as_text
from ..errors import PtxlabError, quoted
from ..isa.cute import CuteLayout

#: Swizzle width in bytes -> its code in bits 62-63 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}


def swizzled(
    addresses: NDArray[np.int64], swizzle: int, base_offset: int = 0, chunk: int = 16
) -> NDArray[np.int64]:
    """Where a swizzle puts the bytes at these addresses: bits from 4 on are XORed with bits from 7 on.

    With a base offset the pattern starts that many 128-byte rows later. Chunks have 16 bytes; one swizzle
    of tcgen05 and TMA has chunks of 32 and XORs from bit 5 on.

    >>> swizzled(np.arange(0, 1024, 128), 128) % 128 // 16   # the first chunk of each 128-byte row
    array([0, 1, 2, 3, 4, 5, 6, 7])
    >>> swizzled(np.arange(0, 1024, 128), 128, chunk=32) % 128 // 16
    array([0, 2, 4, 6, 0, 2, 4, 6])
    """
    if not swizzle:
        return addresses
    if chunk == 32:
        return addresses ^ ((addresses >> 7) - base_offset & 3) << 5
    chunks = swizzle // 16
    return addresses ^ ((addresses >> 7) - base_offset & chunks - 1) << 4


class TmaSwizzle(NamedTuple):
    """A swizzle of TMA: chunks of `atom` bytes change places within `width` bytes.

    With `flip`, the 8-byte halves of every 16 bytes also change places in every other 128-byte row.
    """

    width: int
    atom: int = 16
    flip: bool = False

    def __call__(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the bytes at these addresses arrive: PTX ISA, "Swizzling Modes"."""
        if self.atom == 64:
            return addresses ^ (addresses >> 7 & 1) << 6
        moved = swizzled(addresses, self.width, chunk=self.atom)
        return moved ^ (addresses >> 7 & 1) << 3 if self.flip else moved

    @property
    def period(self) -> int:
        """Bytes after which the pattern repeats."""
        return self.width // self.atom * 128 if self.width else 0


#: Swizzles by their name in `tensor_map`: bytes, or what follows CU_TENSOR_MAP_SWIZZLE_
TMA_SWIZZLES: dict[int | str, TmaSwizzle] = {
    **{width: TmaSwizzle(width) for width in sorted(SWIZZLES)},
    "128B_ATOM_32B": TmaSwizzle(128, 32),
    "128B_ATOM_32B_FLIP_8B": TmaSwizzle(128, 32, flip=True),
    "128B_ATOM_64B": TmaSwizzle(128, 64),
}


# -- CuTe's swizzles and layouts ---------------------------------------------------------------------------

_SWIZZLE = re.compile(r"S(?:w|wizzle)?<(\d{1,2}),(\d{1,2}),(-?\d{1,2})>")
_SMEM = re.compile(r"smemptr\[(\d{1,3})b\](?:\([^)]*\))?")


class CuteSwizzle(NamedTuple):
    """CuTe's ``Swizzle<bits, base, shift>``: `bits` bits from `base` on, XORed with those `shift` higher.

    >>> CuteSwizzle.read("Swizzle<3,3,4>")(np.array([0, 128, 256]))   # of elements: 8 of them move together
    array([  0, 136, 272])
    """

    bits: int
    base: int
    shift: int

    @classmethod
    def read(cls, text: str) -> CuteSwizzle:
        """Read what CuTe prints: ``Swizzle<3,3,4>`` or ``Sw<3,3,4>``."""
        numbers = _SWIZZLE.fullmatch(re.sub(r"[\s_]", "", as_text(text, "swizzle")))
        if numbers is None:
            raise PtxlabError(f"swizzle {quoted(text)}: it is written Swizzle<3,3,4>: bits, base, shift")
        swizzle = cls(*(int(number) for number in numbers.groups()))
        if swizzle.bits > abs(swizzle.shift) or swizzle.bits + swizzle.base + abs(swizzle.shift) > 32:
            raise PtxlabError(f"{swizzle}: CuTe wants at most as many bits as the shift, within 32 bits")
        return swizzle

    def __call__(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these offsets go."""
        mask = ((1 << self.bits) - 1) << self.base
        if self.shift < 0:
            return offsets ^ (offsets & mask) << -self.shift
        return offsets ^ offsets >> self.shift & mask

    def of_bytes(self, bits: int) -> CuteSwizzle:
        """The swizzle of byte addresses that equals this one of elements of `bits` bits.

        That of wgmma, with base 4 and shift 3, already counts bytes, as in `Tile.cute` and in CuTe after
        ``smem_ptr``.

        >>> CuteSwizzle(3, 3, 4).of_bytes(16), CuteSwizzle(3, 4, 3).of_bytes(16)
        (CuteSwizzle(bits=3, base=4, shift=4), CuteSwizzle(bits=3, base=4, shift=3))
        """
        if (self.base, self.shift) == (4, 3):
            return self
        base = self.base + bits.bit_length() - 4
        if base < 0:
            raise PtxlabError(f"{self} of {bits}-bit elements takes bytes apart")
        return self._replace(base=base)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row if the swizzle, of byte addresses, XORs the number of the row."""
        return 1 << self.base + max(self.shift, 0)

    @property
    def sentence(self) -> str:
        """What the swizzle, of byte addresses, does, in words."""
        if not self.bits:
            return "addresses stay as they are"
        low, high = self.base - min(self.shift, 0), self.base + max(self.shift, 0)
        target, source = (
            f"{bit}-{bit + self.bits - 1}" if self.bits > 1 else f"{bit}" for bit in (low, high)
        )
        return f"address bits {target} are XORed with bits {source}"

    def __str__(self) -> str:
        return f"Swizzle<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True)
class SharedLayout:
    """A matrix in shared memory as CuTe describes it: a layout of elements, then a swizzle of byte addresses.

    >>> tile = SharedLayout.read("Swizzle<3,3,3> o (64,64):(64,1)", bits=16)
    >>> tile.address([0, 1, 2], 0)      # of rows 0 to 2, in bytes: 16 further in each 128-byte row
    array([  0, 144, 288])
    """

    layout: CuteLayout
    swizzle: CuteSwizzle | None = None
    bits: int = 8

    def __post_init__(self) -> None:
        if self.bits not in (4, 8, 16, 32, 64, 128):
            raise PtxlabError(f"bits={quoted(self.bits)}: elements have 4, 8, 16, 32, 64 or 128 bits")

    @classmethod
    def read(cls, text: str, bits: int | None = None) -> SharedLayout:
        """The layout as CUTLASS prints it.

        ``(64,64):(64,1)``, ``Swizzle<3,3,3> o (64,64):(64,1)`` or, with the bits of an element in it,
        ``Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)``. Without them they are `bits`, 8 by default.
        """
        compact = re.sub(r"[\s_]", "", as_text(text, "layout"))
        *heads, layout = re.split(r"(?<=[>)\]])o(?=[sS(\d])", compact)
        stated = [pointer[1] for head in heads if (pointer := _SMEM.fullmatch(head))]
        swizzles = [head for head in heads if not _SMEM.fullmatch(head)]
        if len(stated) > 1 or len(swizzles) > 1:
            raise PtxlabError(
                f"layout {quoted(text)}: it is written Swizzle<3,3,3> o (64,64):(64,1), with at most one "
                "swizzle"
            )
        size = int(stated[0]) if stated and bits is None else as_int(8 if bits is None else bits, "bits")
        swizzle = CuteSwizzle.read(swizzles[0]) if swizzles else None
        tile = cls(CuteLayout.read(layout), swizzle, size)
        if swizzle is not None and not stated:
            return cls(tile.layout, swizzle.of_bytes(size), size)
        return tile

    def address(self, *index: ArrayLike) -> NDArray[np.int64]:
        """Byte addresses of elements, by one index or by an index for each of the outermost modes."""
        offsets = self.layout.offsets()
        if len(index) == 1:
            offsets = offsets.reshape(-1, order="F")  # CuTe counts the leftmost mode fastest
        if len(index) != offsets.ndim:
            raise PtxlabError(
                f"layout {self.layout}: it takes one index, or one for each of {offsets.ndim} modes"
            )
        indices = [as_integers(numbers, "index") for numbers in index]
        for numbers, size in zip(indices, offsets.shape, strict=True):
            outside = (numbers < 0) | (numbers >= size)
            if outside.any():
                raise PtxlabError(
                    f"layout {self.layout}: index {numbers[outside][0]} of a mode that has {size}"
                )
        addresses = offsets[tuple(indices)] * self.bits // 8
        return np.asarray(addresses if self.swizzle is None else self.swizzle(addresses))
