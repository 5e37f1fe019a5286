"""Structured sparsity: which zeros A must have, what is stored of it, and the metadata nibbles.

A row of A is cut into chunks, a chunk into *groups* of neighbouring elements; at most `keep` groups of a
chunk may be non-zero. The stored half holds `keep` groups of every chunk, and one 4-bit nibble a chunk says
which (PTX ISA, "Sparse matrix storage").

Other modules say where nibbles lie: `layout.metadata` in the registers of a warp, `DataPath.metadata` of
`tensor_memory` in tensor memory for tcgen05, and `ptxlab.memory.library_formats` (`reorder_metadata`) in the
formats of CUTLASS and PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_flag, as_integers, broadcast, check_room
from ..errors import PtxlabError, counted, listing

__all__ = ["STRUCTURES", "Structure"]


def __dir__() -> list[str]:
    return sorted(__all__)


_Indices = TypeVar("_Indices", int, NDArray[np.int64])


@dataclass(frozen=True)
class Structure:
    """One granularity of structured sparsity.

    >>> STRUCTURES["2:4"].compress([[0, 5, 0, 7]])
    (array([[5, 7]]), array([[13]], dtype=uint8))
    """

    name: str
    chunk: int
    group: int
    keep: int

    @property
    def groups(self) -> int:
        """Groups in a chunk.

        >>> STRUCTURES["2:4"].groups, STRUCTURES["4:8"].groups
        (4, 4)
        """
        return self.chunk // self.group

    @cached_property
    def nibbles(self) -> dict[int, tuple[int, ...]]:
        """Ordered nibble -> the groups it keeps. A nibble is two 2-bit indices, the first in the low bits.

        >>> [(f"{nibble:04b}", groups) for nibble, groups in STRUCTURES["2:4"].nibbles.items()][:3]
        [('0100', (0, 1)), ('1000', (0, 2)), ('1100', (0, 3))]
        """
        return {self._nibble(groups): groups for groups in combinations(range(self.groups), self.keep)}

    @cached_property
    def unordered(self) -> dict[int, tuple[int, ...]]:
        """Nibble -> groups where the indices may come in any order, as plain `.sp` allows.

        >>> len(STRUCTURES["2:4"].nibbles), len(STRUCTURES["2:4"].unordered)
        (6, 12)
        """
        return {self._nibble(groups): groups for groups in permutations(range(self.groups), self.keep)}

    def _nibble(self, groups: Sequence[_Indices]) -> _Indices:
        """The nibble that keeps these groups; numbers, or arrays of numbers."""
        # 1:2 counts in halves of an element, so that one of two is two of four: 0b0100 or 0b1110
        first, second = (2 * groups[0], 2 * groups[0] + 1) if self.groups == 2 else (groups[0], groups[1])
        return first | second << 2

    @lru_cache(maxsize=None)  # noqa: B019 - there are three structures
    def _lookup(self, ordered: bool) -> NDArray[np.int8]:
        """Groups kept by each of the 16 nibbles, -1 where the nibble is not legal: [16, keep]."""
        table = np.full((16, self.keep), -1, dtype=np.int8)
        for nibble, groups in (self.nibbles if ordered else self.unordered).items():
            table[nibble] = groups
        return table

    def _grouped(self, matrix: ArrayLike) -> NDArray[Any]:
        """[..., rows, columns] -> [..., rows, chunks, groups, group]."""
        matrix = as_array(matrix, "matrix")
        if matrix.ndim < 2 or matrix.shape[-1] % self.chunk:
            raise PtxlabError(
                f"matrix of shape {matrix.shape}: {self.name} sparsity needs [..., rows, columns] with "
                f"columns a multiple of {self.chunk}"
            )
        return matrix.reshape(*matrix.shape[:-1], matrix.shape[-1] // self.chunk, self.groups, self.group)

    def violations(self, matrix: ArrayLike, zero: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Chunks that break the structure: bool [..., rows, chunks].

        >>> STRUCTURES["2:4"].violations([[0, 5, 0, 7, 1, 2, 3, 0]])
        array([[False,  True]])
        """
        return np.asarray(self._occupied(matrix, zero).sum(axis=-1) > self.keep)

    def _occupied(self, matrix: ArrayLike, zero: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        matrix = as_array(matrix, "matrix")
        full = matrix != 0 if zero is None else ~_as_mask(zero, matrix)
        return np.asarray(self._grouped(full).any(axis=-1))

    def diagnose(self, matrix: ArrayLike, zero: NDArray[np.bool_] | None = None) -> list[str]:
        """A sentence for every chunk that breaks the structure.

        >>> STRUCTURES["2:4"].diagnose([[0, 5, 0, 7, 1, 2, 3, 0]])
        ['row 0, columns 4..7: 3 of the 4 values are non-zero; 2:4 sparsity keeps at most 2']
        """
        count = self._occupied(matrix, zero).sum(axis=-1)
        unit = "pairs" if self.group == 2 else "values"
        sentences = []
        for at in np.argwhere(count > self.keep):
            where = f"matrix {[int(i) for i in at[:-2]]}, " if len(at) > 2 else ""
            first = int(at[-1]) * self.chunk
            sentences.append(
                f"{where}row {at[-2]}, columns {first}..{first + self.chunk - 1}: {count[tuple(at)]} of the "
                f"{self.groups} {unit} are non-zero; "
                f"{self.title} sparsity keeps at most {self.keep}"
            )
        return sentences

    @property
    def title(self) -> str:
        """Its name, with what a group is where that is more than one element.

        >>> STRUCTURES["4:8"].title
        '4:8 pair-wise'
        """
        return f"{self.name} pair-wise" if self.group == 2 else self.name

    def compress(
        self, matrix: ArrayLike, zero: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Split a structured matrix [..., rows, columns] into its stored half and one ordered nibble a chunk.

        If a chunk has fewer non-zero groups than are kept, its first all-zero groups fill up. `zero` says
        which elements count as zero, for matrices of codes; without it, those equal to 0 do.

        >>> stored, nibbles = STRUCTURES["2:4"].compress([[0, 5, 0, 7]])
        >>> stored, f"{nibbles[0, 0]:04b}"   # columns 1 and 3
        (array([[5, 7]]), '1101')
        """
        matrix = as_array(matrix, "matrix")
        occupied = self._occupied(matrix, zero)
        broken = occupied.sum(axis=-1) > self.keep
        if broken.any():
            sentences = self.diagnose(matrix, zero)
            more = len(sentences) - 1
            if more == 0:
                raise PtxlabError(sentences[0])
            raise PtxlabError(f"{sentences[0]} (and {counted(more, 'more chunk')})")
        kept = np.sort(np.argsort(~occupied, axis=-1, kind="stable")[..., : self.keep], axis=-1)
        stored = np.take_along_axis(self._grouped(matrix), kept[..., None], axis=-2)
        nibbles = self._nibble([kept[..., slot] for slot in range(self.keep)])
        return stored.reshape(*stored.shape[:-3], matrix.shape[-1] // 2), nibbles.astype(np.uint8)

    def _legal(self, nibbles: ArrayLike, ordered: bool) -> NDArray[Any]:
        return check_nibbles(self, nibbles, self.nibbles if ordered else self.unordered)

    def positions(self, nibbles: ArrayLike, ordered: bool = True) -> NDArray[np.int64]:
        """Column of A that every stored column came from: int [..., rows, stored columns].

        >>> STRUCTURES["2:4"].positions([[0b1101, 0b0100]])
        array([[1, 3, 4, 5]])
        """
        ordered = as_flag(ordered, "ordered")
        nibbles = self._legal(nibbles, ordered)
        check_room(nibbles.size * self.keep * self.group, "nibbles")
        inside = self._lookup(ordered).astype(np.int64)[..., None] * self.group + np.arange(self.group)
        columns = inside.reshape(16, self.keep * self.group)[nibbles]
        columns += np.arange(nibbles.shape[-1])[:, None] * self.chunk
        return np.asarray(columns.reshape(*nibbles.shape[:-1], nibbles.shape[-1] * self.keep * self.group))

    def expand(self, stored: ArrayLike, nibbles: ArrayLike, ordered: bool = True) -> NDArray[Any]:
        """The dense matrix [..., rows, columns] that a stored half and its nibbles stand for.

        >>> STRUCTURES["2:4"].expand([[5, 7]], [[0b1101]])
        array([[0, 5, 0, 7]])
        """
        ordered = as_flag(ordered, "ordered")
        stored, nibbles = as_array(stored, "stored half"), as_integers(nibbles, "nibbles")
        if (
            stored.ndim < 2
            or nibbles.ndim < 2
            or stored.shape[-1] != nibbles.shape[-1] * self.keep * self.group
            or stored.shape[-2] != nibbles.shape[-2]
        ):
            raise PtxlabError(
                f"stored half of shape {stored.shape} with nibbles of shape {nibbles.shape}: {self.name} "
                f"needs {self.keep * self.group} stored columns a nibble"
            )
        nibbles = self._legal(nibbles, ordered)
        batch = broadcast("batch axes", {"stored half": stored.shape[:-1], "nibbles": nibbles.shape[:-1]})
        check_room(2 * math.prod(batch) * stored.shape[-1], "dense matrix")
        size = self.group * stored.itemsize
        if size * self.groups in (4, 8):  # a chunk fits one integer, in which groups are shifted into place
            kept = np.ascontiguousarray(stored).view(f"u{size * self.keep}").astype(f"u{size * self.groups}")
            number, bits = kept.dtype.type, 8 * size
            chunks = number(0)
            for slot in range(self.keep):
                group = (nibbles >> np.uint8(2 * slot) & np.uint8(3)) // np.uint8(4 // self.groups)
                part = kept >> number(bits * slot) & number((1 << bits) - 1)
                chunks = chunks | part << group.astype(number) * number(bits)
            return np.asarray(chunks.view(stored.dtype).reshape(*chunks.shape[:-1], stored.shape[-1] * 2))
        dense = np.zeros((*batch, stored.shape[-1] * 2), dtype=stored.dtype)
        np.put_along_axis(
            dense,
            np.broadcast_to(self.positions(nibbles, ordered), (*batch, stored.shape[-1])),
            stored,
            axis=-1,
        )
        return dense

    def weights(self, matrix: ArrayLike) -> NDArray[np.float64]:
        """The weight by which `prune` ranks the groups of a chunk, [..., chunks, groups].

        It is the magnitude of a single element, or the sum of squares of several in a unit near the largest
        of the chunk: a power of two, so that squares of tiny numbers are not 0 and equal groups weigh the
        same. A NaN weighs most.

        >>> STRUCTURES["4:8"].weights([[3, 4, 0, 0, 0, 5, 1, 1]])
        array([[[0.390625, 0.      , 0.390625, 0.03125 ]]])
        """
        grouped = self._grouped(as_array(matrix, "matrix"))
        with np.errstate(all="ignore"):
            size = np.abs(grouped.astype(np.float64))
            largest = np.fmax.reduce(size, axis=(-2, -1), keepdims=True, initial=0)
            unit = np.frexp(largest)[1]
            weight = (np.ldexp(size, -unit) ** 2).sum(axis=-1) if self.group > 1 else size[..., 0]
        return np.where(np.isnan(weight), np.inf, weight)

    def prune(self, matrix: ArrayLike) -> NDArray[Any]:
        """The nearest structured matrix (least squares).

        The largest groups of every chunk are kept, the others become 0.

        >>> STRUCTURES["2:4"].prune([[1, -5, 2, 7]])
        array([[ 0, -5,  0,  7]])
        """
        matrix = as_array(matrix, "matrix")
        grouped = self._grouped(matrix)
        weight = self.weights(matrix)
        rank = np.argsort(np.argsort(-weight, axis=-1, kind="stable"), axis=-1, kind="stable")
        kept = np.where((rank < self.keep)[..., None], grouped, np.zeros((), dtype=grouped.dtype))
        return np.asarray(kept).reshape(matrix.shape)


def _as_mask(zero: NDArray[np.bool_], matrix: NDArray[Any]) -> NDArray[np.bool_]:
    """Truth values for every element of a matrix."""
    mask = as_array(zero, "zero")
    if mask.dtype != np.bool_ or mask.shape != matrix.shape:
        raise PtxlabError(
            f"zero: found {mask.dtype} of shape {mask.shape}; it takes truth values of the matrix's shape "
            f"{matrix.shape}"
        )
    return mask


def check_nibbles(structure: Structure, nibbles: ArrayLike, legal: Iterable[int]) -> NDArray[Any]:
    """The nibbles [..., rows, chunks] as integers, or an error that names the first that is not legal."""
    nibbles = as_integers(nibbles, "nibbles")
    if nibbles.ndim < 2:
        raise PtxlabError(f"nibbles of shape {nibbles.shape}: they are [..., rows, chunks]")
    legal = sorted(legal)
    bad = (nibbles < 0) | (nibbles > 15)
    if not bad.any():
        nibbles = nibbles.astype(np.uint8, copy=False)
        bad = (np.uint16(sum(1 << nibble for nibble in legal)) >> nibbles & np.uint16(1)) == 0
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        nibble = int(nibbles[at])
        shown = f"0b{nibble:04b}" if 0 <= nibble <= 15 else str(nibble)
        raise PtxlabError(
            f"metadata of row {at[-2]}, chunk {at[-1]}: nibble {shown} is "
            f"undefined for {structure.title} sparsity; "
            f"legal are {listing(f'0b{nibble:04b}' for nibble in legal)}"
        )
    return nibbles


#: The granularities of the PTX ISA: by name.
STRUCTURES: dict[str, Structure] = {
    s.name: s
    for s in (
        Structure("2:4", chunk=4, group=1, keep=2),
        Structure("1:2", chunk=2, group=1, keep=1),
        Structure("4:8", chunk=8, group=2, keep=2),
    )
}
