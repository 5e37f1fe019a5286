"""What holds the elements of a matrix: lanes of a warp, lanes of tensor memory, or shared memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index, as_int, is_a
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.layout import Layout
from ..isa.operand import Operand
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import LANES, TensorOperand
from .grid import Header, tooltips
from .labels import bit_range, index_range

#: A matrix of an instruction: in lanes, in shared memory, in tensor memory.
AnyOperand = Operand | TensorOperand

_WARP = 32


def form_name(ins: Product) -> str:
    """The mnemonic; for tcgen05.mma, with the shape from its descriptor.

    >>> import ptxlab
    >>> form_name(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    'tcgen05.mma.cta_group::1.kind::f16 m64n32k16'
    """
    return f"{ins.mnemonic} {ins.shape}" if isinstance(ins, Tcgen05Mma) else ins.mnemonic


def lane_count(ins: Product) -> int:
    """Lanes that hold D: of a warp, of a warpgroup, or of tensor memory."""
    return LANES * ins.d.ctas if isinstance(ins, Tcgen05Mma) else ins.lanes


def as_product(ins: Form | str) -> Product:
    """An instruction that multiplies, or an error that names the figures of one that does not.

    >>> as_product("tcgen05.ld.sync.aligned.32x32b.x1.b32")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: tcgen05.ld.sync.aligned.32x32b.x1.b32 multiplies no matrices; \
figures.tensor_registers and figures.lane draw its registers
    """
    form = parse_any(ins)
    if isinstance(form, Product):
        return form
    raise PtxlabError(f"{form.mnemonic} multiplies no matrices; {figures_of(form)}")


def as_tcgen05(ins: Form | str) -> Tcgen05Form:
    """An instruction that works in tensor memory, or an error.

    >>> as_tcgen05("tcgen05.shift.cta_group::1.down").family
    'tcgen05.shift'
    """
    form = parse_any(ins)
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} does not work in tensor memory; tcgen05 does")
    return form


def figures_of(form: Form) -> str:
    """The figures of an instruction that does not multiply, as the end of a sentence."""
    if isinstance(form, Tcgen05Form) and form.operands:
        return "figures.tensor_registers and figures.lane draw its registers"
    if isinstance(form, Tcgen05Transfer) and form.compresses:
        return "which values its registers keep depends on them all, and ins.emulate(words) gives them"
    if isinstance(form, Tcgen05Form) and form.tensors:
        return f"figures.tensor_memory draws {listing(form.tensors)}, what it writes"
    if isinstance(form, Tcgen05Form):
        return "figures.tensor_memory draws what tcgen05.mma has there"
    return f"figures.fragment draws {listing(form.operands)}, which it transfers"


def product_operand(ins: Product, name: str) -> AnyOperand:
    """The operand of a matrix, in upper or lower case; a sparse "A" is dense, "stored" compressed.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16")
    >>> [product_operand(ins, name).shape for name in ("A", "stored", "E")]
    [(128, 32), (128, 16), (128, 8)]
    """
    if is_a(name, str) and name == "stored":
        return ins.a
    every: dict[str, AnyOperand] = {"A": ins.a_dense}
    others = (ins.b, ins.c, ins.d, ins.e, ins.scale_a, ins.scale_b)
    every |= {other.name: other for other in others if other is not None}
    operand = every.get(name.upper()) if is_a(name, str) else None
    if operand is None:
        raise PtxlabError(f"{form_name(ins)} has no operand {quoted(name)}; it has {listing(every)}")
    return operand


def k_headings(noun: str, count: int, length: int) -> list[str]:
    """Headings of chunks or blocks with the k that they cover."""
    return [f"{noun} {i}\nk {index_range(i * length, length)}" for i in range(count)]


def warp_notes(op: AnyOperand, rows: range, warp: int | None) -> tuple[str, ...]:
    """A note on the shown warp, if only one is shown."""
    if warp is None:
        return ()
    held = f"{op.holder if isinstance(op, Operand) else 'lane'}s {index_range(32 * warp, 32)}"
    return (f"warp {warp}: {held}, rows {index_range(rows.start, len(rows))}",)


def one_matrix(op: AnyOperand, matrix: ArrayLike) -> NDArray[Any]:
    """A matrix for a picture: values of an operand, without batch axes."""
    array = op.check_matrix(matrix)
    if array.ndim != 2:
        raise PtxlabError(
            f"{op.name}: found shape {array.shape}; a picture shows one matrix, {op.shape[0]}x{op.shape[1]}"
        )
    return array


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
class Holders:
    """The lane, and the element in it, that hold each cell of a matrix; -1 in shared memory or for none.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> holders = holders_of(ins.d)
    >>> holders.label(20, 3), holders.place(20, 3)
    ('36:3', ('lane 36, column 3',))
    """

    operand: AnyOperand
    lanes: NDArray[np.int64]
    elements: NDArray[np.int64]
    ctas: int = 1  # that share it: each has half of the rows of A or of the columns of B

    @property
    def present(self) -> bool:
        """Whether lanes hold it."""
        return self.operand.layout is not None

    @property
    def lane_count(self) -> int:
        """How many lanes there are."""
        return 0

    @property
    def word_count(self) -> int:
        """The number of registers, or of columns of tensor memory, that it takes."""
        return 0

    @property
    def words(self) -> NDArray[np.int64]:
        """The register, or the column of tensor memory, of every element."""
        return self.elements

    def lane_label(self, row: int, column: int) -> str:
        """The lane that holds an element, short; "" for none."""
        return ""

    def label(self, row: int, column: int) -> str:
        """The lane, and the element or column in it, that holds an element, short; "" for none."""
        return ""

    def place(self, row: int, column: int) -> tuple[str, ...]:
        """The holder of an element in words, line by line."""
        if self.ctas == 1:
            return ("in shared memory",)
        rows, columns = self.lanes.shape
        cta = row * self.ctas // rows if self.operand.axes[0] == "m" else column * self.ctas // columns
        return (f"in shared memory of CTA {cta}",)

    def tooltips(self, prefix: str = "") -> NDArray[Any]:
        """Name and holder of every element."""
        name = f"{prefix}{self.operand.name}"
        return tooltips(
            self.operand.shape, lambda row, col: "\n".join((f"{name}[{row}][{col}]", *self.place(row, col)))
        )

    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        """The lanes of a row or column in at most two short texts; empty if that takes more."""
        return "", ""

    def row_groups(self) -> tuple[Header, ...]:
        """Headings for the rows that a warp, or a CTA, holds, where there are several."""
        if self.ctas == 1 or self.operand.axes[0] != "m":
            return ()
        each = self.lanes.shape[0] // self.ctas
        return tuple(Header(cta * each, each, (f"CTA {cta}",)) for cta in range(self.ctas))

    def edges(self) -> tuple[list[int], list[int]]:
        """Rows and columns at which another warp or CTA begins."""
        columns = self.lanes.shape[1]
        split = self.ctas > 1 and self.operand.axes[0] == "k"
        return [group.start for group in self.row_groups() if group.start], [columns // 2] if split else []

    def rules(self) -> tuple[list[int], list[int]]:
        """The same, and where the lanes start again, for matrices with room for more lines."""
        rows, _ = self.lanes.shape
        return list(range(8, rows, 8)) if self.operand.axes[0] == "m" else [], self.edges()[1]

    def window(self, warp: int, whose: str) -> tuple[range, range]:
        """The rows and columns that a warp holds."""
        raise PtxlabError(
            f"warp={quoted(warp)}: {whose} lives in shared memory, where no warp has its own part"
        )

    def check_lane(self, lane: int) -> int:
        """The lane, or an error that says which there are."""
        raise PtxlabError(
            f"lane={quoted(lane)}: {self.operand.name} lives in shared memory, where no lane holds it"
        )

    def expanded(self, positions: NDArray[Any], columns: int) -> Holders:
        """The holders of a dense matrix of `columns` columns, whose stored elements are at `positions`."""
        shape = (self.lanes.shape[0], columns)
        lanes, elements = (np.full(shape, -1, dtype=np.int64) for _ in range(2))
        np.put_along_axis(lanes, positions, self.lanes, axis=1)
        np.put_along_axis(elements, positions, self.elements, axis=1)
        return replace(self, lanes=lanes, elements=elements)


def holders_of(operand: AnyOperand, copy: int = 0) -> Holders:
    """The holders of an operand, or of one of its copies."""
    if isinstance(operand, TensorOperand):
        count = operand.layout.copies
        copy = as_index(copy, "copy", count)
        (row, column), (rows, columns) = operand.start, operand.shape
        coords = operand.layout.coords()[:, row : row + rows, column : column + columns]
        every = coords[..., 0] if count > 1 else None
        return _InTensorMemory(operand, coords[copy, ..., 0], coords[copy, ..., 1], every=every)
    if operand.layout is not None:
        return _InRegisters(operand, *owners(operand.layout, copy))
    nobody = np.full(operand.shape, -1, dtype=np.int64)
    return Holders(operand, nobody, nobody)


# -- registers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InRegisters(Holders):
    operand: Operand

    @property
    def lane_count(self) -> int:
        return self.operand.lanes

    @property
    def word_count(self) -> int:
        return self.operand.registers

    @property
    def words(self) -> NDArray[np.int64]:
        return self.elements // self.operand.elements_per_register

    def lane_label(self, row: int, column: int) -> str:
        return f"T{self.lanes[row, column]}"

    def label(self, row: int, column: int) -> str:
        element = f"{self.operand.name.lower()}{self.elements[row, column]}"
        return f"{self.lane_label(row, column)}:{element}"

    def place(self, row: int, column: int) -> tuple[str, ...]:
        lane, element = int(self.lanes[row, column]), int(self.elements[row, column])
        register, slot = divmod(element, self.operand.elements_per_register)
        low = slot * self.operand.width + self.operand.padding
        bits = bit_range(low, low + self.operand.dtype.bits - 1)
        return (
            f"{self.operand.holder} {lane}, element {self.operand.name.lower()}{element}",
            f"register {register}, bits {bits}",
        )

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
        each = self.lanes.shape[0] // warps
        return tuple(
            Header(warp * each, each, (f"warp {warp}", f"threads {index_range(_WARP * warp, _WARP)}"))
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
        each = rows // warps
        return range(warp * each, (warp + 1) * each), range(columns)

    def check_lane(self, lane: int) -> int:
        return self.operand.place(lane, 0).lane


def _restarts(lanes: NDArray[np.int64]) -> list[int]:
    """Where the lanes along a row or a column start again from a lower one, or another warp begins."""
    new = (np.diff(lanes) < 0) | (np.diff(lanes // _WARP) != 0)
    return [int(at) + 1 for at in np.flatnonzero(new)]


# -- tensor memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InTensorMemory(Holders):
    operand: TensorOperand
    every: NDArray[np.int64] | None = None  # lanes of all copies, where there are several

    @property
    def lane_count(self) -> int:
        return LANES * self.operand.ctas

    @property
    def word_count(self) -> int:
        return self.operand.columns

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
        return as_index(lane, "lane", self.lane_count)

    def expanded(self, positions: NDArray[Any], columns: int) -> Holders:
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
    column, low = divmod(element * operand.width, 32)
    low += operand.padding
    high = low + operand.dtype.bits - 1
    if high >= 32:
        return (
            f"column {column}, bits {bit_range(low, 31)}, and column {column + 1}, "
            f"bits {bit_range(0, high - 32)}"
        )
    return f"column {column}" if operand.dtype.bits == 32 else f"column {column}, bits {bit_range(low, high)}"
