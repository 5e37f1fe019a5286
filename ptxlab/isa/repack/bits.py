"""Lane and slot of an element as bits of its row and column; how arrays of registers are rearranged by them.

Two bits of the place change places in all registers at once, by shifts and masks: one that counts elements
inside a register with one that counts registers or lanes. What is left is a matter of whole registers.
`numerics.repack` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Exchange", "PlaceBits", "WordMoves", "place_bits", "word_moves"]

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
    """How a cell's number follows from lane and slot, where each of its bits is one bit of either.

    None where they are not, or where a cell is held twice.
    """
    lanes, slots = (size.bit_length() - 1 for size in cells.shape)
    if (1 << lanes, 1 << slots) != cells.shape:
        return None
    found = PlaceBits(
        tuple(int(cells[1 << bit, 0]) for bit in range(lanes)),
        tuple(int(cells[0, 1 << bit]) for bit in range(slots)),
    )
    different = {*found.lane, *found.slot}
    if 0 in different or len(different) < lanes + slots or not (found.cells == cells).all():
        return None
    return found


class Exchange(NamedTuple):
    """Two bits of the place change places: one counts elements inside a word, `high` maybe those too.

    Where `high` counts words, they lie in runs of `run`, and every second run is exchanged with the one
    before: bits of the first that `mask` has, moved up by `distance`, with those of the second.
    """

    distance: int
    mask: int
    run: int  # 0: both bits count elements inside a word


class WordMoves(NamedTuple):
    """How words are rearranged: a first order, exchanges of bits of the place, and an order of runs of words.

    The first order brings the bits that are exchanged to the top, where they divide all words into halves,
    and the others to the order that they have in the end.
    """

    first: NDArray[np.int64]
    exchanges: tuple[Exchange, ...]
    last: NDArray[np.int64]
    run: int  # words that `last` moves together


def word_moves(before: PlaceBits, after: PlaceBits, bits: int) -> WordMoves | None:
    """How words of elements of `bits` bits go from one arrangement to another, [lanes, words] flat."""
    inside = (_WORD // bits).bit_length() - 1
    if bits > _WORD or len(before.slot) < inside or len(after.slot) != len(before.slot):
        return None
    start, goal = [*before.slot, *before.lane], [*after.slot, *after.lane]
    coming = [bit for bit in goal[:inside] if start.index(bit) >= inside]
    staying = [bit for bit in goal[inside:] if start.index(bit) >= inside]
    now = [*start[:inside], *staying, *coming]
    first = _sums([1 << start.index(bit) - inside for bit in now[inside:]])
    exchanges = []
    for low in range(inside):
        high = now.index(goal[low])
        if high != low:
            exchanges.append(_exchange(low, high, bits, inside))
            now[low], now[high] = now[high], now[low]
    places = [now.index(bit) - inside for bit in goal[inside:]]
    same = next((at for at, place in enumerate(places) if place != at), len(places))
    return WordMoves(
        first, tuple(exchanges), _sums([1 << place - same for place in places[same:]]), 1 << same
    )


def _exchange(low: int, high: int, bits: int, inside: int) -> Exchange:
    """The exchange of two bits of the place, the lower of them inside a word."""
    is_inside = high < inside
    mask = 0
    for number in range(_WORD // bits):
        if is_inside and number >> low & 1 and not number >> high & 1:
            mask |= (1 << bits) - 1 << number * bits
        if not is_inside and not number >> low & 1:
            mask |= (1 << bits) - 1 << number * bits
    if is_inside:
        return Exchange((bits << high) - (bits << low), mask, 0)
    return Exchange(bits << low, mask, 1 << high - inside)
