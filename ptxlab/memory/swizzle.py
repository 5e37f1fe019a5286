"""Swizzles: how chunks of 16 bytes change places in shared memory, so that columns meet no bank conflicts.

`swizzled` has the formula of wgmma, tcgen05 and TMA, and `TmaSwizzle` what TMA has beyond it. CUDA C++
restates it: the generators `wgmma.py` and `tcgen05_mma.py` of `ptxlab/gpu/codegen/`, and the kernels in
`ptxlab/gemm/sources/*.cu`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Swizzle width in bytes -> its code in bits 62-63 of a descriptor.
SWIZZLES: dict[int, int] = {0: 0, 128: 1, 64: 2, 32: 3}


def swizzled(
    addresses: NDArray[np.int64], swizzle: int, base_offset: int = 0, chunk: int = 16
) -> NDArray[np.int64]:
    """Where the bytes at these addresses are under a swizzle: bits 4 and up, XORed with those from 7 on.

    With a base offset the pattern starts that many 128-byte rows later. Chunks are of 16 bytes; of 32
    in one swizzle of tcgen05 and TMA, which XORs from bit 5 on.

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
    """What TMA can do: chunks of `atom` bytes change places within `width`.

    `flip`: 8 bytes in every other line, too.
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


#: Swizzles by what `tensor_map` calls them: bytes, or the rest of CU_TENSOR_MAP_SWIZZLE_...
TMA_SWIZZLES: dict[int | str, TmaSwizzle] = {
    **{width: TmaSwizzle(width) for width in sorted(SWIZZLES)},
    "128B_ATOM_32B": TmaSwizzle(128, 32),
    "128B_ATOM_32B_FLIP_8B": TmaSwizzle(128, 32, flip=True),
    "128B_ATOM_64B": TmaSwizzle(128, 64),
}
