"""Where each element of a matrix is, for pictures: in registers, in tensor memory, in shared memory.

`location_tables.py` has the same as tables, for an element and for a lane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index, as_int
from ..errors import PtxlabError, listing, quoted
from ..isa.layout import Layout
from ..isa.operand import Operand
from ..isa.tensor_operand import LANES, AnyOperand, TensorOperand
from .grid import Header, hover_texts
from .labels import index_range

_WARP = 32


def owners(layout: Layout, copy: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lane, and the element in it, that hold each place of the matrix."""
    lane, element = np.divmod(layout.scatter(copy), layout.elements)
    return lane, element


def lane_runs(lane: NDArray[np.int64], element: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Runs of adjacent cells that one lane holds as consecutive elements: (row, column, height, width).

    They run along rows or, if no row has any (B), along columns.
    """
    along = _row_runs(lane, element)
    if any(width > 1 for _, _, _, width in along):
        return along
    return [(row, column, height, width) for column, row, width, height in _row_runs(lane.T, element.T)]


def _row_runs(lane: NDArray[np.int64], element: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    joined = (np.diff(lane) == 0) & (np.diff(element) == 1)
    return [
        (row, start, 1, stop - start) for row, line in enumerate(joined) for start, stop in joined_runs(line)
    ]


def joined_runs(joined: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and stop of every run, given whether each place is joined with the next.

    >>> joined_runs(np.array([True, False, False, True]))
    [(0, 2), (2, 3), (3, 5)]
    """
    return list(pairwise([0, *(np.flatnonzero(~joined) + 1).tolist(), len(joined) + 1]))


@dataclass(frozen=True)
class ElementLocations(ABC):
    """The lane, and the element in it, that hold each cell of a matrix; -1 in shared memory or for none.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> holders = element_locations(ins.d)
    >>> holders.label(20, 3), holders.place(20, 3)
    ('36:3', ('lane 36, column 3',))
    """

    operand: AnyOperand
    lanes: NDArray[np.int64]
    elements: NDArray[np.int64]

    @property
    def present(self) -> bool:
        """Whether lanes hold it."""
        return self.operand.layout is not None

    @property
    @abstractmethod
    def words(self) -> NDArray[np.int64]:
        """The register, or the column of tensor memory, of every element."""

    @abstractmethod
    def lane_label(self, row: int, column: int) -> str:
        """The lane that holds an element, short; "" for none."""

    @abstractmethod
    def label(self, row: int, column: int) -> str:
        """The lane, and the element or column in it, that holds an element, short; "" for none."""

    @abstractmethod
    def place(self, row: int, column: int) -> tuple[str, ...]:
        """The holder of an element in words, line by line."""

    @abstractmethod
    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        """The lanes of a row or column in at most two short texts; empty if that takes more."""

    @abstractmethod
    def row_groups(self) -> tuple[Header, ...]:
        """Headings for the rows that a warp, or a CTA, holds, where there are several."""

    @abstractmethod
    def rules(self) -> tuple[list[int], list[int]]:
        """`edges`, and where the lanes start again, for matrices with room for more lines."""

    @abstractmethod
    def window(self, warp: int, whose: str) -> tuple[range, range]:
        """The rows and columns that a warp holds, or an error that says which warps hold some."""

    @abstractmethod
    def check_lane(self, lane: int) -> int:
        """The lane, or an error that says which there are."""

    def edges(self) -> tuple[list[int], list[int]]:
        """Rows and columns at which another warp or CTA begins."""
        columns = self.lanes.shape[1]
        split = self.operand.ctas > 1 and self.operand.axes[0] == "k"
        return [group.start for group in self.row_groups() if group.start], [columns // 2] if split else []

    def hover_texts(self, prefix: str = "") -> NDArray[Any]:
        """Name and holder of every element."""
        name = f"{prefix}{self.operand.name}"
        return hover_texts(
            self.operand.shape, lambda row, col: "\n".join((f"{name}[{row}][{col}]", *self.place(row, col)))
        )

    def expanded(self, positions: NDArray[Any], columns: int) -> ElementLocations:
        """The holders of a dense matrix of `columns` columns, whose stored elements are at `positions`."""
        shape = (self.lanes.shape[0], columns)
        lanes, elements = (np.full(shape, -1, dtype=np.int64) for _ in range(2))
        np.put_along_axis(lanes, positions, self.lanes, axis=1)
        np.put_along_axis(elements, positions, self.elements, axis=1)
        return replace(self, lanes=lanes, elements=elements)


def element_locations(operand: AnyOperand, copy: int = 0) -> ElementLocations:
    """The holders of an operand, or of one of its copies."""
    if operand.space == "tensor":
        count = operand.layout.copies
        copy = as_index(copy, "copy", count)
        (row, column), (rows, columns) = operand.start, operand.shape
        coords = operand.layout.coords()[:, row : row + rows, column : column + columns]
        every = coords[..., 0] if count > 1 else None
        return _InTensorMemory(operand, coords[copy, ..., 0], coords[copy, ..., 1], every=every)
    if operand.layout is not None:
        return _InRegisters(operand, *owners(operand.layout, copy))
    nobody = np.full(operand.shape, -1, dtype=np.int64)
    return _InSharedMemory(operand, nobody, nobody)


# -- shared memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InSharedMemory(ElementLocations):
    """Elements of a matrix in shared memory, which no lane holds."""

    @property
    def words(self) -> NDArray[np.int64]:
        return self.elements

    def lane_label(self, row: int, column: int) -> str:
        return ""

    def label(self, row: int, column: int) -> str:
        return ""

    def place(self, row: int, column: int) -> tuple[str, ...]:
        ctas, (rows, columns) = self.operand.ctas, self.lanes.shape
        if ctas == 1:
            return ("in shared memory",)
        cta = row * ctas // rows if self.operand.axes[0] == "m" else column * ctas // columns
        return (f"in shared memory of CTA {cta}",)

    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        return "", ""

    def row_groups(self) -> tuple[Header, ...]:
        ctas = self.operand.ctas
        if ctas == 1 or self.operand.axes[0] != "m":
            return ()
        per_cta = self.lanes.shape[0] // ctas
        return tuple(Header(cta * per_cta, per_cta, (f"CTA {cta}",)) for cta in range(ctas))

    def rules(self) -> tuple[list[int], list[int]]:
        rows, _ = self.lanes.shape
        return list(range(8, rows, 8)) if self.operand.axes[0] == "m" else [], self.edges()[1]

    def window(self, warp: int, whose: str) -> tuple[range, range]:
        raise PtxlabError(
            f"warp={quoted(warp)}: {whose} lives in shared memory, where no warp has its own part"
        )

    def check_lane(self, lane: int) -> int:
        raise PtxlabError(
            f"lane={quoted(lane)}: {self.operand.name} lives in shared memory, where no lane holds it"
        )


# -- registers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InRegisters(ElementLocations):
    """Elements in registers, each counted in its lane from the lowest bit of its first register."""

    operand: Operand

    @property
    def words(self) -> NDArray[np.int64]:
        return self.elements // self.operand.elements_per_register

    def lane_label(self, row: int, column: int) -> str:
        return f"T{self.lanes[row, column]}"

    def label(self, row: int, column: int) -> str:
        element = f"{self.operand.name.lower()}{self.elements[row, column]}"
        return f"{self.lane_label(row, column)}:{element}"

    def place(self, row: int, column: int) -> tuple[str, ...]:
        element, register = self._element_texts[int(self.elements[row, column])]
        return f"{self.operand.holder} {self.lanes[row, column]}, element {element}", register

    @cached_property
    def _element_texts(self) -> dict[int, tuple[str, str]]:
        """Name, and register and bits, of every element of a lane."""
        letter, texts = self.operand.name.lower(), {}
        for element in np.unique(self.elements[self.elements >= 0]).tolist():
            place = self.operand.place(0, element)
            texts[element] = f"{letter}{element}", f"register {place.register}, bits {place.bits}"
        return texts

    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        """``T0`` and ``..3``, ``T9`` and ``,11``, ``T5`` and nothing."""
        numbers = np.unique(lanes[lanes >= 0]).tolist()
        if not numbers:
            return "", ""
        first, last = numbers[0], numbers[-1]
        if len(numbers) == 1:
            return f"T{first}", ""
        if last - first + 1 == len(numbers):
            return f"T{first}", f"..{last}"
        return (f"T{first}", f",{last}") if len(numbers) == 2 else ("", "")

    def row_groups(self) -> tuple[Header, ...]:
        warps = self.operand.lanes // _WARP
        if warps == 1:
            return ()
        per_warp = self.lanes.shape[0] // warps
        return tuple(
            Header(warp * per_warp, per_warp, (f"warp {warp}", f"threads {index_range(_WARP * warp, _WARP)}"))
            for warp in range(warps)
        )

    def rules(self) -> tuple[list[int], list[int]]:
        layout = self.operand.layout
        lanes = self.lanes if layout is None else owners(layout)[0]  # of a sparse A those of what is stored
        return _restarts(lanes[:, 0]), _restarts(lanes[0])

    def window(self, warp: int, whose: str) -> tuple[range, range]:
        warps, (rows, columns) = self.operand.lanes // _WARP, self.lanes.shape
        warp = as_int(warp, "warp")
        if warp not in range(warps):
            noun = "warp" if warps == 1 else "warps"
            raise PtxlabError(
                f"warp={quoted(warp)}: {self.operand.name} is held by {self.operand.lanes} "
                f"{self.operand.holder}s, which are "
                f"{noun} {listing(range(warps))}"
            )
        per_warp = rows // warps
        return range(warp * per_warp, (warp + 1) * per_warp), range(columns)

    def check_lane(self, lane: int) -> int:
        return self.operand.place(lane, 0).lane


def _restarts(lanes: NDArray[np.int64]) -> list[int]:
    """Where the lanes along a row or a column start again from a lower one, or another warp begins."""
    new = (np.diff(lanes) < 0) | (np.diff(lanes // _WARP) != 0)
    return [int(at) + 1 for at in np.flatnonzero(new)]


# -- tensor memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InTensorMemory(ElementLocations):
    """Elements in tensor memory, each counted in its lane from the lowest bit of its first column."""

    operand: TensorOperand
    every: NDArray[np.int64] | None = None  # lanes of all copies, where there are several

    @property
    def words(self) -> NDArray[np.int64]:
        return np.asarray(self.elements * self.operand.width // 32)

    def lane_label(self, row: int, column: int) -> str:
        cta, lane = divmod(int(self.lanes[row, column]), LANES)
        return f"{cta}/{lane}" if self.operand.ctas > 1 else str(lane)

    def label(self, row: int, column: int) -> str:
        return f"{self.lane_label(row, column)}:{self.words[row, column]}"

    def place(self, row: int, column: int) -> tuple[str, ...]:
        lanes = (int(self.lanes[row, column]),)
        if self.every is not None:
            lanes = tuple(self.every[:, row, column].tolist())
        word = self._word_texts[int(self.elements[row, column])]
        return (f"{_lanes_text(lanes, self.operand.ctas)}, {word}",)

    @cached_property
    def _word_texts(self) -> dict[int, str]:
        """Column and bits of every element of a lane."""
        return {element: _word(element, self.operand) for element in np.unique(self.elements).tolist()}

    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        """``lane 36``, ``lanes 0,64``, ``CTA 1 lane 3``; of scale factors nothing, since lanes repeat."""
        numbers = np.unique(lanes[lanes >= 0]).tolist()
        if not 0 < len(numbers) <= 2 or self.operand.axes[0] == "block":
            return "", ""
        cta = f"CTA {numbers[0] // LANES} " if self.operand.ctas > 1 else ""
        names = ",".join(str(lane % LANES) for lane in numbers)
        return f"{cta}{'lane' if len(numbers) == 1 else 'lanes'} {names}", ""

    def row_groups(self) -> tuple[Header, ...]:
        if self.operand.axes[0] == "block":
            return ()
        keys = [self._group(row) for row in range(self.lanes.shape[0])]
        edges = [0, *(at for at in range(1, len(keys)) if keys[at] != keys[at - 1]), len(keys)]
        return tuple(Header(start, stop - start, keys[start]) for start, stop in pairwise(edges))

    def _group(self, row: int) -> tuple[str, ...]:
        """What holds a row: its CTA and warps; for scale factors the column, in all warps."""
        lanes = np.unique(self.lanes[row] if self.every is None else self.every[:, row])
        lanes = lanes[lanes >= 0]
        cta = f"CTA {lanes[0] // LANES}, " if self.operand.ctas > 1 else ""
        if self.operand.name == "SFA":
            words = np.unique(self.words[row]).tolist()
            return (f"{cta}column {words[0]}" if len(words) == 1 else f"{cta}columns {listing(words)}",)
        warps = np.unique(lanes % LANES // _WARP).tolist()
        if len(warps) > 1:
            return (f"{cta}warps {listing(warps)}",)
        return f"{cta}warp {warps[0]}", f"lanes {index_range(_WARP * warps[0], _WARP)}"

    def rules(self) -> tuple[list[int], list[int]]:
        if self.operand.axes[0] == "block":
            return [], list(range(_WARP, self.lanes.shape[1], _WARP))
        across: list[int] = []
        if (self.lanes[0] >= 0).all():
            across = (np.flatnonzero(np.diff(self.lanes[0])) + 1).tolist()
        return [group.start for group in self.row_groups() if group.start], across

    def window(self, warp: int, whose: str) -> tuple[range, range]:
        """Rows and columns in the lanes of a warp; warps 4 to 7 are those of the second CTA."""
        warp = as_index(warp, "warp", 4 * self.operand.ctas)
        rows, columns = np.nonzero(self.lanes // _WARP == warp)
        if not rows.size or self.operand.name in ("SFA", "SFB"):
            raise PtxlabError(
                f"warp={quoted(warp)}: the lanes of that warp hold no part of {whose} of their own; "
                "rows= and columns= show a part"
            )
        return range(int(rows.min()), int(rows.max()) + 1), range(int(columns.min()), int(columns.max()) + 1)

    def check_lane(self, lane: int) -> int:
        return as_index(lane, "lane", self.operand.lanes)

    def expanded(self, positions: NDArray[Any], columns: int) -> ElementLocations:
        dense = super().expanded(positions, columns)
        if self.every is None or not isinstance(dense, _InTensorMemory):
            return dense
        copies = [replace(self, lanes=lanes, every=None).expanded(positions, columns) for lanes in self.every]
        return replace(dense, every=np.stack([copy.lanes for copy in copies]))


@lru_cache(maxsize=4096)
def _lanes_text(lanes: tuple[int, ...], ctas: int) -> str:
    """``lane 36``, ``lanes 5, 37, 69, 101 of both CTAs``, ``CTA 1, lane 3``."""
    numbers = sorted({lane % LANES for lane in lanes})
    name = f"lane {numbers[0]}" if len(numbers) == 1 else f"lanes {', '.join(map(str, numbers))}"
    if ctas == 1:
        return name
    present = {lane // LANES for lane in lanes}
    return f"{name} of both CTAs" if len(present) == 2 else f"CTA {present.pop()}, {name}"


def _word(element: int, operand: TensorOperand) -> str:
    """Column, and the bits of it where they are not all; of 6-bit elements that may be two columns."""
    places = operand._places(0, element)
    if operand.dtype.bits == 32:
        return f"column {places[0].column}"
    return ", and ".join(f"column {place.column}, bits {place.bits}" for place in places)
