"""What a fused step does, and the codes that it works on: what NumPy's way and numba's have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType

Array: TypeAlias = NDArray[Any]

#: Of A, B, C and D.
DTypes: TypeAlias = tuple[DType, DType, DType, DType]


class Alignment(NamedTuple):
    """The numbers of one fused step: see `rules.Fused`."""

    fraction_bits: int
    result_bits: int
    floor: int


class FusedStep(NamedTuple):
    """The types of A, B, C and D, and how products and C are aligned and cut."""

    dtypes: DTypes
    alignment: Alignment

    @property
    def numbers(self) -> tuple[int, int, int, bool]:
        """Bits of fraction kept in the sum, its floor, bits of fraction kept of D, whether it is rounded."""
        nearest = self.dtypes[3].name == "f16"
        kept = self.dtypes[3].fraction_bits if nearest else self.alignment.result_bits
        return self.alignment.fraction_bits, self.alignment.floor, kept, nearest


class FusedCodes(NamedTuple):
    """Codes of A [..., M, K], B [..., K, N] and C [..., M, N], and what says how they count.

    `stored` [..., M, K] says which elements of A exist; None if all do. `scales` are ue8m0 codes for the rows
    of A [..., M, blocks of K] and the columns of B [..., blocks, N].
    """

    a: Array
    b: Array
    c: Array
    stored: Array | None = None
    scales: tuple[Array, Array] | None = None

    @property
    def batch(self) -> tuple[int, ...]:
        """The common batch axes."""
        arrays = (self.a, self.b, self.c, self.stored, *(self.scales or ()))
        return np.broadcast_shapes(*(codes.shape[:-2] for codes in arrays if codes is not None))

    def flat(self) -> FusedCodes:
        """The same with one batch axis."""
        batch = self.batch
        return self._map(
            lambda codes: np.broadcast_to(codes, batch + codes.shape[-2:]).reshape(-1, *codes.shape[-2:])
        )

    def select(self, which: slice | Array) -> FusedCodes:
        """Those of some MMAs of one batch axis."""
        return self._map(lambda codes: codes[which])

    def divided(self, down: int, across: int) -> FusedCodes:
        """Smaller MMAs of one batch axis: rows in `down` parts, columns in `across` parts; without scales."""
        count, rows, columns = self.c.shape

        def of_rows(codes: Array) -> Array:
            parts = codes.reshape(count, down, 1, rows // down, -1)
            whole = np.broadcast_to(parts, (count, down, across, *parts.shape[3:]))
            return whole.reshape(-1, *parts.shape[3:])

        b = np.moveaxis(self.b.reshape(count, 1, -1, across, columns // across), 2, 3)
        b = np.broadcast_to(b, (count, down, *b.shape[2:])).reshape(-1, *b.shape[3:])
        c = self.c.reshape(count, down, rows // down, across, columns // across).swapaxes(2, 3)
        stored = None if self.stored is None else of_rows(self.stored)
        return FusedCodes(of_rows(self.a), b, c.reshape(-1, *c.shape[3:]), stored)

    def _map(self, change: Callable[[Array], Array]) -> FusedCodes:
        stored = None if self.stored is None else change(self.stored)
        scales = None if self.scales is None else (change(self.scales[0]), change(self.scales[1]))
        return FusedCodes(change(self.a), change(self.b), change(self.c), stored, scales)
