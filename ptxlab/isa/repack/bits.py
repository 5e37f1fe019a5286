"""Lane and slot of an element as bits of its row and column; how arrays of registers are rearranged by them.

Two bits of the place change places in all registers at once, by shifts and masks: one that counts elements
inside a register with one that counts registers or lanes. What is left is a matter of whole registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PlaceBits", "WordMoves", "place_bits", "word_moves"]

_WORD = 32


class PlaceBits(NamedTuple):
    """The bit of a cell's number that each bit of the lane and of the slot stands for, the lowest first."""

    lane: tuple[int, ...]
    slot: tuple[int, ...]

    @property
    def cells(self) -> NDArray[np.int64]:
        """The number of the cell at each place, [lanes, slots]."""
        return _sums(self.lane)[:, None] + _sums(self.slot)


def _sums(bits: Sequence[int]) -> NDArray[np.int64]:
    """The number that each combination of bits stands for."""
    sums = np.zeros(1, dtype=np.int64)
    for bit in bits:
        sums = np.concatenate([sums, sums + bit])
    return sums


def place_bits(cells: NDArray[np.int64]) -> PlaceBits | None:
    """How a cell's number follows from lane and slot, where each of its bits is one bit of either."""
    lanes, slots = (size.bit_length() - 1 for size in cells.shape)
    if (1 << lanes, 1 << slots) != cells.shape:
        return None
    found = PlaceBits(
        tuple(int(cells[1 << bit, 0]) for bit in range(lanes)),
        tuple(int(cells[0, 1 << bit]) for bit in range(slots)),
    )
    different = {*found.lane, *found.slot}
    if len(different) < lanes + slots or not (found.cells == cells).all():
        return None
    return found


class WordMoves(NamedTuple):
    """Words in another order, exchanges of two bits of the place, and words in another order again.

    The first order brings the bits that are exchanged to the top, where they divide a row into halves.
    """

    bits: int  # of an element
    inside: int  # bits of the place that count elements inside a word
    first: NDArray[np.int64]
    exchanges: tuple[tuple[int, int], ...]  # the first of the two is inside a word
    last: NDArray[np.int64]

    def __call__(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Words [..., n] rearranged, as an array of its own."""
        moved = np.take(words.reshape(-1, words.shape[-1]), self.first, axis=-1, mode="clip")
        for low, high in self.exchanges:
            if high < self.inside:
                distance = np.uint32((self.bits << high) - (self.bits << low))
                changed = (moved ^ moved >> distance) & self._mask(ones=low, zeros=high)
                moved ^= changed
                changed <<= distance
                moved ^= changed
                continue
            halves = moved.reshape(len(moved), -1, 2, 1 << high - self.inside)
            first, second = halves[:, :, 0], halves[:, :, 1]
            distance = np.uint32(self.bits << low)
            changed = (first >> distance ^ second) & self._mask(zeros=low)
            second ^= changed
            changed <<= distance
            first ^= changed
        return np.take(moved, self.last, axis=-1, mode="clip").reshape(words.shape)

    def _mask(self, zeros: int, ones: int | None = None) -> np.uint32:
        """All bits of the elements of a word whose number has a 0 in one place, and a 1 in another."""
        mask = 0
        for number in range(_WORD // self.bits):
            if not number >> zeros & 1 and (ones is None or number >> ones & 1):
                mask |= (1 << self.bits) - 1 << number * self.bits
        return np.uint32(mask)


def word_moves(before: PlaceBits, after: PlaceBits, bits: int) -> WordMoves | None:
    """How words of elements of `bits` bits go from one arrangement to another, [lanes, words] flat."""
    inside = (_WORD // bits).bit_length() - 1
    if bits >= _WORD or len(before.slot) < inside or len(after.slot) != len(before.slot):
        return None
    start, goal = [*before.slot, *before.lane], [*after.slot, *after.lane]
    coming = [bit for bit in goal[:inside] if start.index(bit) >= inside]
    rest = [bit for bit in start[inside:] if bit not in coming]
    now = [*start[:inside], *rest, *coming]
    first = _sums([1 << start.index(bit) - inside for bit in now[inside:]])
    exchanges = []
    for low in range(inside):
        high = now.index(goal[low])
        if high != low:
            exchanges.append((low, high))
            now[low], now[high] = now[high], now[low]
    last = _sums([1 << now.index(bit) - inside for bit in goal[inside:]])
    return WordMoves(bits, inside, first, tuple(exchanges), last)
