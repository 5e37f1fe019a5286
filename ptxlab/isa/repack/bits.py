"""Lane and slot of an element as bits of its row and column; how arrays of registers are rearranged by them.

The registers of all lanes, one after the other, are taken as chunks of 128 bits. The lowest bits of an
element's place count inside a chunk, the others count chunks. To exchange one of each is what vector
instructions do with two chunks (zip, unpack); the rest is a matter of whole chunks. `numerics.repack` does
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CHUNK = 128  # bits
_CHUNK_WORDS = 4
_FEWEST = 3  # bits of the place that count the chunks of a group, at least


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
    places = PlaceBits(
        tuple(int(cells[1 << bit, 0]) for bit in range(lanes)),
        tuple(int(cells[0, 1 << bit]) for bit in range(slots)),
    )
    different = {*places.lane, *places.slot}
    if 0 in different or len(different) < lanes + slots or not (places.cells == cells).all():
        return None
    return places


class Exchange(NamedTuple):
    """A bit of the place that counts chunks of a group changes places with one that counts inside a chunk.

    Chunks of a group whose numbers differ in bit `which` alone are pairs. Of pieces of `distance` bits, those
    with odd numbers of the first change places with those with even numbers of the second.
    """

    which: int
    distance: int


@dataclass(frozen=True, eq=False)
class ChunkMoves:
    """How words are rearranged in groups of chunks of 128 bits.

    The chunks of a group are loaded, pieces of them exchanged, and the chunks stored elsewhere. Numbers count
    words.
    """

    groups: NDArray[np.int64]  # [groups, 2]: where each begins in the source, and in the target
    loads: tuple[int, ...]  # where each chunk of a group is in the source, from its beginning
    exchanges: tuple[Exchange, ...]
    stores: tuple[int, ...]  # where each chunk is in the target


def chunk_moves(before: PlaceBits, after: PlaceBits, bits: int) -> ChunkMoves | None:
    """How registers [lanes, registers] of elements of `bits` bits go from one arrangement to another.

    None where they fill too few chunks, or where pieces of fewer than 4 bits would change places.

    >>> bits = (1, 2, 4, 8, 16, 32)
    >>> by_row, by_column = PlaceBits(bits[1:], bits[:1]), PlaceBits(bits[:5], bits[5:])  # [32, 2] of 32 bits
    >>> moves = chunk_moves(by_row, by_column, 32)
    >>> moves.loads, moves.stores
    ((0, 32, 4, 36, 8, 40, 12, 44), (0, 4, 8, 12, 16, 20, 24, 28))
    >>> moves.exchanges
    (Exchange(which=0, distance=32), Exchange(which=0, distance=64))
    """
    place, goal = [*before.slot, *before.lane], [*after.slot, *after.lane]
    inside = (_CHUNK // bits).bit_length() - 1  # bits of the place that count inside a chunk
    if len(place) != len(goal) or len(place) < inside + _FEWEST or bits << len(before.slot) < 32:
        return None
    # Groups, and chunks in a group, are in the target's order: memory is fastest when written in order.
    counting_chunks = [place.index(bit) for bit in goal if place.index(bit) >= inside]
    group = [at for at in counting_chunks if goal.index(place[at]) < inside]
    others = [at for at in counting_chunks if at not in group]
    missing = max(0, _FEWEST - len(group))
    group, others = group + others[:missing], others[missing:]
    exchanges: list[tuple[int, int]] = []  # of the places of two bits

    def exchange(at: int, at_inside: int) -> None:
        exchanges.append((at, at_inside))
        place[at], place[at_inside] = place[at_inside], place[at]

    def settle(at: int) -> None:
        """Exchange what counts chunks here until it does so in the end, too."""
        while (at_inside := goal.index(place[at])) < inside:
            exchange(at, at_inside)

    for at in group:
        settle(at)
    for at_inside in range(inside):
        if place[at_inside] != goal[at_inside]:  # it changes places with others inside: a detour
            exchange(group[0], at_inside)
            settle(group[0])
    if any(bits << at_inside < 4 for _, at_inside in exchanges):
        return None

    def target(at: int) -> int:
        return goal.index(place[at])

    def words(places: Iterable[int]) -> NDArray[np.int64]:
        return _sums([_CHUNK_WORDS << at - inside for at in places])

    group.sort(key=target)
    return ChunkMoves(
        np.stack([words(others), words(map(target, others))], axis=1),
        tuple(words(group).tolist()),
        tuple(Exchange(group.index(at), bits << at_inside) for at, at_inside in exchanges),
        tuple(words(map(target, group)).tolist()),
    )
