"""The order in which to store weights so that every lane loads its fragments with 128-bit loads.

A warp that reads 16 bytes a lane reads 512 bytes in a row. If these are the elements of its fragments, in the
order of lanes, no ldmatrix and no shared memory is needed; Marlin stores its weights this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, as_shape, check_room, is_a, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.operand import Operand, as_operand

_LOAD_BITS = 128
_WIDTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, eq=False)
class WeightOrder:
    """Where each element of a weight matrix is stored; `weight_order` makes it.

    `order[i]` is the row-major index of the element that is stored at place i, `places` the inverse.
    """

    operand: Operand
    shape: tuple[int, int]
    bits: int
    order: NDArray[np.int64]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where the element with each row-major index is stored: the inverse of `order`."""
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(len(self.order))
        inverse.flags.writeable = False
        return inverse

    @property
    def per_load(self) -> int:
        """Elements in the 128 bits that a lane loads at once."""
        return _LOAD_BITS // self.bits

    @property
    def loads(self) -> NDArray[np.int64]:
        """Row-major indices of what each lane gets: [loads, lanes, elements of a load]."""
        return self.order.reshape(-1, self.operand.lanes, self.per_load)

    def store(self, matrix: ArrayLike) -> NDArray[Any]:
        """A matrix [..., rows, columns] in the order of memory, [..., rows * columns]."""
        array = as_array(matrix, "weights")
        if array.shape[-2:] != self.shape:
            raise PtxlabError(
                f"weights of shape {array.shape}; this order is one of [..., {self.shape[0]}, "
                f"{self.shape[1]}]"
            )
        flat = array.reshape(*array.shape[:-2], len(self.order))
        return np.take(flat, self.order, axis=-1)

    def restore(self, stored: ArrayLike) -> NDArray[Any]:
        """What `store` gave, [..., rows * columns], as the matrix [..., rows, columns]."""
        array = as_array(stored, "stored weights")
        if array.shape[-1:] != (len(self.order),):
            raise PtxlabError(
                f"stored weights of shape {array.shape}; this order has [..., {len(self.order)}] elements"
            )
        return np.take(array, self.places, axis=-1).reshape(*array.shape[:-1], *self.shape)

    def __repr__(self) -> str:
        loads = len(self.order) // (self.operand.lanes * self.per_load)
        return (
            f"<order of {self.shape[0]}x{self.shape[1]} weights of {self.bits} bits for {self.operand.name}: "
            f"{counted(loads, 'load')} of 128 bits in each of {self.operand.lanes} lanes>"
        )


def weight_order(
    operand: Operand,
    shape: Sequence[int],
    *,
    bits: int | None = None,
    interleave: Sequence[int] = (0,),
    tiles: Literal["contiguous", "strided"] = "contiguous",
) -> WeightOrder:
    """The order that gives each lane its fragments of a matrix of that shape with 128-bit loads.

    `bits` is the width in memory where weights are quantised and widened after the load, such as 4 for an f16
    operand. Fragments that share a load are neighbours along N (of B) or M (of A); loads follow each other
    along N or M first, then along K. `interleave` reorders every so many elements of a lane, as fast
    conversions from 4 bits want it. With strided tiles the tiles of one load take turns: of four, tile 1 has
    rows 1, 5, 9, ... of A.

    Marlin's order of 4-bit weights, 16 x 64 of them:

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> order = weight_order(ins.b, (16, 64), bits=4, interleave=(0, 2, 4, 6, 1, 3, 5, 7))
    >>> order
    <order of 16x64 weights of 4 bits for B: 1 load of 128 bits in each of 32 lanes>
    >>> [divmod(index, 64) for index in order.order[:4].tolist()]   # rows and columns that lane 0 loads first
    [(0, 0), (8, 0), (0, 8), (8, 8)]
    """
    operand = as_operand(operand)
    rows, columns = as_shape(shape, "shape of weights")
    width = operand.width if bits is None else as_int(bits, "bits")
    if width not in _WIDTHS:
        raise PtxlabError(f"bits={quoted(width)}: weights have {listing(_WIDTHS)} bits")
    if not is_name(tiles, ("contiguous", "strided")):
        raise PtxlabError(f"tiles={quoted(tiles)}: they are 'contiguous' or 'strided'")
    per_lane = _elements_per_lane(operand, rows, columns)
    lanes, load = operand.lanes, _LOAD_BITS // width
    together = max(1, load // per_lane)  # tiles that share a load
    across = 0 if operand.axes[1].lower() == "k" else 1  # the axis that is not K
    count = (rows // operand.shape[0], columns // operand.shape[1])
    if (load % per_lane and per_lane % load) or count[across] % together:
        raise PtxlabError(
            f"a load of 128 bits holds {load} elements of {width} bits and a lane {per_lane} of "
            f"{operand.name}: {'rows' if across == 0 else 'columns'} come in multiples of "
            f"{together * operand.shape[across]}"
        )
    index = _tile_indices(operand, count, across, together, tiles == "strided")
    by_load = index.reshape(-1, together, lanes, per_lane).swapaxes(1, 2)
    order = _interleaved(by_load.reshape(-1, lanes, together * per_lane), interleave)
    pieces = order.reshape(len(order), lanes, -1, min(load, order.shape[-1])).swapaxes(1, 2)
    flat = np.ascontiguousarray(pieces).reshape(-1)
    flat.flags.writeable = False
    return WeightOrder(operand, (rows, columns), width, flat)


def _elements_per_lane(operand: Operand, rows: int, columns: int) -> int:
    """Elements that a lane holds of a tile; refuses what does not consist of whole tiles, each held once."""
    if operand.layout is None:
        raise PtxlabError(f"{operand.name} lies in shared memory: no lane loads a fragment of it")
    height, breadth = operand.shape
    if rows % height or columns % breadth or not rows * columns:
        raise PtxlabError(
            f"weights of {rows}x{columns}: {operand.name} is {height}x{breadth}, and they are whole tiles of "
            "it"
        )
    check_room(rows * columns, "weights")
    if operand.layout.copies > 1:
        raise PtxlabError(
            f"{operand.name}: lanes hold elements {operand.layout.copies} times, which a load would repeat"
        )
    return operand.layout.elements


def _tile_indices(
    operand: Operand, count: tuple[int, int], across: int, together: int, strided: bool
) -> NDArray[np.int64]:
    """Row-major indices of the elements of every tile, [tiles, lanes, elements]; tiles go across K first."""
    number = np.arange(count[across] * count[1 - across])
    along, outer = number % count[across], number // count[across]
    group, member = along // together, along % together
    size, step = operand.shape[across], together if strided else 1
    first = group * together * size + (member if strided else member * size)
    coords = operand.coords()
    position = first[:, None, None] + coords[..., across] * step
    other = outer[:, None, None] * operand.shape[1 - across] + coords[..., 1 - across]
    row, column = (position, other) if across == 0 else (other, position)
    return np.asarray(row * (count[1] * operand.shape[1]) + column)


def _interleaved(by_load: NDArray[np.int64], interleave: Sequence[int]) -> NDArray[np.int64]:
    """The elements of each lane, every so many of them in another order."""
    places = [as_int(place, "interleave") for place in interleave] if is_a(interleave, list, tuple) else []
    if not places or sorted(places) != list(range(len(places))) or by_load.shape[-1] % len(places):
        raise PtxlabError(
            f"interleave={quoted(interleave)}: it has 0, 1, 2, ... once each, as many as divide the "
            f"{by_load.shape[-1]} elements that a lane loads together"
        )
    parts = by_load.reshape(*by_load.shape[:-1], -1, len(places))[..., places]
    return parts.reshape(by_load.shape)
