"""The zero-column mask descriptor of tcgen05.mma.ws: columns of B that count as zeros.

PTX ISA, "Zero-Column Mask Descriptor". Its table describes the skip span as its examples and CUTLASS describe
the use span; ptxlab follows the examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int, is_a, set_integers
from ..errors import PtxlabError, counted, quoted

#: M -> the number of parts of the mask, each of which has its own start.
_MASK_PARTS = {128: 1, 64: 2, 32: 4}
_UNUSED = 7 << 36 | 3 << 62


@dataclass(frozen=True)
class ZeroColumnMask:
    """Alternating runs of `use` columns of B that are kept and of `skip` columns that count as zeros.

    Each part of the columns (one for M = 128, two for 64, four for 32) begins `start` columns into a run, of
    zeros if `first`. The first `shift` columns of B are skipped. A descriptor that is not `enabled` masks
    nothing.

    >>> mask = ZeroColumnMask(use=4, skip=3)
    >>> hex(mask.code), "".join(str(int(zero)) for zero in mask.zeros(m=128, n=64)[:11])
    ('0x3028000000000', '00001110000')
    >>> ZeroColumnMask.decode(mask.code) == mask
    True
    """

    use: int = 1
    skip: int = 1
    start: tuple[int, int, int, int] = (0, 0, 0, 0)
    first: tuple[bool, bool, bool, bool] = (False, False, False, False)
    shift: int = 0
    enabled: bool = True

    def __post_init__(self) -> None:
        set_integers(self, ("use", "skip", "shift"))
        object.__setattr__(self, "enabled", as_flag(self.enabled, "enabled"))
        for name in ("use", "skip"):
            if not 1 <= getattr(self, name) <= 256:
                raise PtxlabError(f"{name}={quoted(getattr(self, name))}: a run has 1 to 256 columns")
        if not 0 <= self.shift <= 32:
            raise PtxlabError(f"shift={quoted(self.shift)}: B shifts by 0 to 32 columns")
        for name in ("start", "first"):
            values = getattr(self, name)
            if not is_a(values, tuple) or len(values) != 4:
                raise PtxlabError(f"{name}={quoted(values)}: there are four, of which M says how many count")
        starts = tuple(as_int(value, "start") for value in self.start)
        if not all(0 <= value < 256 for value in starts):
            raise PtxlabError(f"start={quoted(starts)}: each is from 0 to 255")
        object.__setattr__(self, "start", starts)
        object.__setattr__(self, "first", tuple(as_flag(value, "first") for value in self.first))

    @property
    def code(self) -> int:
        """The 64 bits."""
        starts = sum(value << 8 * place for place, value in enumerate(self.start))
        firsts = sum(int(value) << 32 + place for place, value in enumerate(self.first))
        spans = self.skip - 1 << 40 | self.use - 1 << 48
        return starts | firsts | int(self.enabled) << 39 | spans | self.shift << 56

    def __index__(self) -> int:
        return self.code

    @classmethod
    def decode(cls, code: int) -> ZeroColumnMask:
        """The fields of a zero-column mask descriptor.

        >>> ZeroColumnMask.decode(0x3028000000000).use
        4
        """
        number = as_int(code, "descriptor")
        if not 0 <= number < 1 << 64:
            raise PtxlabError(
                f"descriptor {quoted(number)}: it has 64 bits, so it is at most 0x{(1 << 64) - 1:x}"
            )
        unused = number & _UNUSED
        if unused:
            raise PtxlabError(
                f"descriptor 0x{number:x}: bit {(unused & -unused).bit_length() - 1} is 1, but is reserved"
            )
        start = tuple(number >> 8 * place & 255 for place in range(4))
        first = tuple(bool(number >> 32 + place & 1) for place in range(4))
        return cls(
            (number >> 48 & 255) + 1,
            (number >> 40 & 255) + 1,
            start,  # type: ignore[arg-type]
            first,  # type: ignore[arg-type]
            number >> 56 & 63,
            bool(number >> 39 & 1),
        )

    def zeros(self, m: int, n: int) -> NDArray[np.bool_]:
        """Which of the n columns count as zeros, for that M: [n].

        >>> ZeroColumnMask(4, 3, first=(True, False, False, False)).zeros(64, 64)[[0, 3, 32]]
        array([ True, False, False])
        """
        m, n = as_int(m, "m"), as_int(n, "n")
        if m not in _MASK_PARTS:
            raise PtxlabError(f"m={quoted(m)}: tcgen05.mma.ws has 32, 64 and 128")
        if n not in (64, 128, 256):
            raise PtxlabError(f"n={quoted(n)}: tcgen05.mma.ws has 64, 128 and 256")
        if m == 32 and self.shift > 16:
            raise PtxlabError(f"shift={self.shift}: for M = 32 B shifts by at most 16 columns")
        parts = _MASK_PARTS[m]
        mask = np.zeros((parts, n // parts), dtype=bool)
        if self.enabled:
            for part in range(parts):
                lead = self.skip if self.first[part] else self.use
                column = np.arange(n // parts) + self.start[part]
                in_lead = column % (self.use + self.skip) < lead
                mask[part] = in_lead if self.first[part] else ~in_lead
        return mask.reshape(n)

    def __str__(self) -> str:
        if not self.enabled:
            return "No column of B is masked."
        shift = f", from column {self.shift} of B on" if self.shift else ""
        return f"{counted(self.use, 'column')} of B as they are and {self.skip} as zeros, in turn{shift}."
