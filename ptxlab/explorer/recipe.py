"""Which fills make the operands of a state: a link names them, with the seed, instead of every register.

Nothing is remembered of how a matrix came about but the fills that took random numbers. The fills are found
by comparing registers, and what they make is compared once more, so a recipe is right or it holds the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.catalog import Product
from .fills import patterns
from .state import FIRST_DRAWS, ExplorerState

MAX_FILLS = 128  # of a recipe; later random numbers are not followed
_MAX_EDITS = 16  # registers of an operand that differ from its fill; with more of them it is data

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Fill:
    """A fill of a matrix; one that is not kept only took its random numbers."""

    name: str
    pattern: str
    row: int = 0
    column: int = 0
    kept: bool = True


@dataclass(frozen=True)
class Recipe:
    """Fills from the seed on, then words of registers by their flat index; other operands are data."""

    fills: tuple[Fill, ...]
    edits: Mapping[str, list[tuple[int, int]]]
    data: tuple[str, ...]


def make_arrays(first: ExplorerState, fills: Sequence[Fill]) -> Arrays:
    """The registers that fills make from a state that was not edited yet; it goes on with random numbers.

    >>> import ptxlab
    >>> first = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> hex(make_arrays(first, [Fill("B", "ones")])["B"][0, 0])
    '0x11111111'
    """
    arrays = dict(first.operation.arrays)
    metadata: Arrays = {}
    for fill in fills:
        written = _written(first, fill)
        if fill.kept:
            (metadata if fill.name == "E" else arrays).update(written)
    return arrays | metadata  # a fill of A brings its own metadata, and one of E comes after it


def _written(first: ExplorerState, fill: Fill) -> Arrays:
    """The registers that a fill writes, each fill by itself."""
    arrays = first.filled(fill.name, fill.pattern, fill.row, fill.column).arrays
    return {name: arrays[name] for name in _operands_of(first.ins, fill.name)}


def _operands_of(ins: Product, matrix: str) -> tuple[str, ...]:
    """The operands whose registers a matrix is in."""
    if matrix == "A" and ins.sparse:
        return ("A", "E")
    return ("A",) if matrix == "stored" else (matrix,)


def find_recipe(state: ExplorerState) -> Recipe:
    """The fills and the few edits that make the operands; data where there are none.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import FillMatrix
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> FillMatrix("A", "random").apply(state)
    >>> find_recipe(state).fills
    (Fill(name='A', pattern='random', row=0, column=0, kept=True),)
    """
    target = state.operation.arrays
    first = ExplorerState(state.ins, state.seed)
    draws = [Fill(*draw) for draw in state.draws[len(FIRST_DRAWS) :][:MAX_FILLS]]
    drawn = [_written(first, fill) for fill in draws]
    kept: set[int] = set()
    patterned: list[Fill] = []
    arrays = dict(first.operation.arrays)
    for name in target:  # E after A, whose fill writes both
        operands = _operands_of(state.ins, name)
        least = [_difference(arrays[each], target[each]) for each in operands]
        best: int | Fill | None = None
        made: Arrays = {}
        offers: list[tuple[int | Fill, Arrays]] = [
            (index, drawn[index])
            for index, fill in enumerate(draws)
            if _operands_of(state.ins, fill.name)[0] == name
        ]
        if any(least):
            offers += [(fill, _written(first, fill)) for fill in _constant_fills(state, name)]
        for offer, written in offers:  # A decides, then its metadata, which may have been filled since
            difference = [_difference(written.get(each, arrays[each]), target[each]) for each in operands]
            if difference < least:
                least, best, made = difference, offer, written
        if best is None or least[0] > _MAX_EDITS:
            continue
        arrays |= made
        if isinstance(best, Fill):
            patterned.append(best)
        else:
            kept.add(best)
    needed = draws[: max(kept, default=-1) + 1]
    fills = tuple(
        Fill(fill.name, fill.pattern, kept=index in kept) for index, fill in enumerate(needed)
    ) + tuple(patterned)
    return _with_edits(state, fills)


def _with_edits(state: ExplorerState, fills: tuple[Fill, ...]) -> Recipe:
    """The recipe with these fills: what they really make, and what is missing."""
    made = make_arrays(ExplorerState(state.ins, state.seed), fills)
    edits: dict[str, list[tuple[int, int]]] = {}
    data: list[str] = []
    for name, array in state.operation.arrays.items():
        indices = np.flatnonzero(made[name].reshape(-1) != array.reshape(-1))
        if indices.size > _MAX_EDITS:
            data.append(name)
        elif indices.size:
            words = array.reshape(-1)[indices]
            edits[name] = list(zip(indices.tolist(), words.tolist(), strict=True))
    return Recipe(fills, edits, tuple(sorted(data)))


def _difference(registers: NDArray[Any], target: NDArray[Any]) -> int:
    return int((registers != target).sum())


def _constant_fills(state: ExplorerState, name: str) -> Iterator[Fill]:
    """Fills of an operand that take no random numbers; one-hot where the only other value than 0 is."""
    for matrix in ("A", "stored") if name == "A" and state.ins.sparse else (name,):
        for pattern in patterns(matrix, state.operation.operand(matrix).dtype):
            if pattern in ("zeros", "ones", "identity", "counting"):
                yield Fill(matrix, pattern)
            elif pattern == "one-hot":
                places = np.argwhere(state.values(matrix) != 0)
                if len(places) == 1:
                    row, column = places[0].tolist()
                    yield Fill(matrix, pattern, row, column)
