"""How an instruction's access to shared memory goes through the banks: as a load, a store or an atomic.

The counts of a simulation (`traffic.py`) and the times of a profile (`timing/record.py`) both ask here. What
`memory/banks.py` says of each kind was measured on an H200 (`tests/memory/test_golden.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..memory.banks import ATOMIC_WIDTHS, WIDTHS, AccessKind, serve

_WAVEFRONT = 128  # bytes of shared memory at once


class BankUse(NamedTuple):
    """How lanes are served, and the cycles that each wavefront keeps its banks."""

    kind: AccessKind
    cycles: int = 1


def bank_use(parts: tuple[str, ...], kind: str, proxy: str, width: int) -> BankUse | None:
    """How an access of `width` bytes a lane is served; None where that is not known, as of bulk copies.

    `parts` are those of the opcode; `kind` is "read", "write" or "atomic", as in `events.Access`. That
    cp.async of 4 and 8 bytes is served as a store is assumed.

    >>> bank_use(("atom", "shared", "cas", "b32"), "atomic", "generic", 4)
    BankUse(kind='atomic', cycles=2)
    """
    if proxy != "generic" or width not in WIDTHS or parts[0] == "wmma":
        return None
    if kind == "atomic":
        if width not in ATOMIC_WIDTHS:
            return None
        return BankUse("atomic", 2 if "cas" in parts else 1)
    if parts[:2] == ("cp", "async") and width == 16:
        return BankUse("atomic")
    # ldmatrix is served in groups of 8 rows, as a store of 16 bytes is
    return BankUse("load" if kind == "read" and parts[0] != "ldmatrix" else "store")


def wavefronts(addresses: NDArray[np.int64], width: int, use: BankUse) -> NDArray[np.int64]:
    """Wavefronts of each warp's access, and the least, [warps, 2]; -1 for lanes that take no part."""
    taken = serve(np.maximum(addresses, 0) & ((1 << 18) - 1), width, use.kind, addresses >= 0)
    return use.cycles * np.stack([np.atleast_1d(taken.wavefronts), np.atleast_1d(taken.least)], axis=-1)


def least_wavefronts(size: int) -> int:
    """The fewest wavefronts that move `size` bytes: the count of accesses that have no `BankUse`."""
    return -(-size // _WAVEFRONT)
