"""Where the elements of an operand are: in registers, in tensor memory, in the bytes of shared memory.

`where` and `holds` answer for an element and for a lane as tables, `ElementLocations` for a whole matrix in
pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_flag, as_index, as_int, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.layout import Layout
from ..isa.location import Cells, Place, SharedPlace, TensorPlace
from ..isa.operand import Operand, as_operand
from ..isa.operation import AnyOperand
from ..isa.parse import parse_any, parse_product
from ..isa.tcgen05 import Tcgen05Form, TensorInstruction, TensorTransfer
from ..isa.tensor_operand import LANES, TensorOperand
from ..memory import Tile
from ..memory.tcgen05_tiles import shared_places, shared_source
from .grid import Header, hover_texts
from .labels import index_range
from .table import Table, Value

_WARP = 32


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
    if isinstance(form, TensorTransfer) and form.compresses:
        return "which values its registers keep depends on them all, and ins.emulate(words) gives them"
    if form.tensors:
        return f"figures.tensor_memory draws {listing(form.tensors)}, what it writes"
    if not form.operands:
        return "figures.tensor_memory draws what tcgen05.mma has there"
    if any(operand.holds_words for operand in form.operands.values()):
        return "figures.tensor_registers and figures.lane draw its registers"
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
        raise PtxlabError(f"{ins.full_name} has no operand {quoted(name)}; it has {listing(every)}")
    return operand


def k_headings(noun: str, count: int, length: int) -> list[str]:
    """Headings of chunks or blocks with the k that they cover."""
    return [f"{noun} {i}\nk {index_range(i * length, length)}" for i in range(count)]


def warp_notes(op: AnyOperand, rows: range, warp: int | None) -> tuple[str, ...]:
    """A note on the shown warp, if only one is shown."""
    if warp is None:
        return ()
    held = f"{op.holder}s {index_range(32 * warp, 32)}"
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
class ElementLocations:
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
        ctas, (rows, columns) = self.operand.ctas, self.lanes.shape
        if ctas == 1:
            return ("in shared memory",)
        cta = row * ctas // rows if self.operand.axes[0] == "m" else column * ctas // columns
        return (f"in shared memory of CTA {cta}",)

    def hover_texts(self, prefix: str = "") -> NDArray[Any]:
        """Name and holder of every element."""
        name = f"{prefix}{self.operand.name}"
        return hover_texts(
            self.operand.shape, lambda row, col: "\n".join((f"{name}[{row}][{col}]", *self.place(row, col)))
        )

    def lane_names(self, lanes: NDArray[np.int64]) -> tuple[str, str]:
        """The lanes of a row or column in at most two short texts; empty if that takes more."""
        return "", ""

    def row_groups(self) -> tuple[Header, ...]:
        """Headings for the rows that a warp, or a CTA, holds, where there are several."""
        ctas = self.operand.ctas
        if ctas == 1 or self.operand.axes[0] != "m":
            return ()
        per_cta = self.lanes.shape[0] // ctas
        return tuple(Header(cta * per_cta, per_cta, (f"CTA {cta}",)) for cta in range(ctas))

    def edges(self) -> tuple[list[int], list[int]]:
        """Rows and columns at which another warp or CTA begins."""
        columns = self.lanes.shape[1]
        split = self.operand.ctas > 1 and self.operand.axes[0] == "k"
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
    return ElementLocations(operand, nobody, nobody)


# -- registers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _InRegisters(ElementLocations):
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


# -- tables of places --------------------------------------------------------------------------------------


def where(
    ins: Form | str, name: str, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> Table:
    """Every place that holds an element of an operand. A compressed A is indexed by its stored columns.

    For an operand in shared memory, the place is in a tile with this swizzle, which is MN-major if
    `transposed`. An operand of tcgen05.mma may also be in tensor memory. For R of tcgen05.ld and .st, `row`
    and `column` are the lane and the column of a word of tensor memory.

    >>> import ptxlab
    >>> where(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 9, 37).records()
    [{'lane': 4, 'element': 'a29', 'register': 3, 'bits': '[23..20]'}]
    >>> where(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16"), "D", 130, 7).rows
    ((1, 2, 7, '[31..0]', '0x00020007'),)
    """
    form, transposed = parse_any(ins), as_flag(transposed, "transposed")
    row, column, swizzle = as_int(row, "row"), as_int(column, "column"), as_int(swizzle, "swizzle")
    op = form.find(name)
    if isinstance(form, TensorTransfer) and op.holds_words:
        slots = form.slots(row, column)
        if not slots:
            raise PtxlabError(
                f"{form.mnemonic}: lane {row}, column {column} is not in what it moves from address 0"
            )
        return _table([slot.cells() for slot in slots])
    if op.space == "shared":
        places = tile_places(form, op, row, column, swizzle, transposed)
        pairs: list[Cells] = [{} if op.packing is None else {"cta": place.cta} for place in places]
        return _table([pair | place.cells() for pair, place in zip(pairs, places, strict=True)])
    if op.space == "tensor":
        return _table([place.cells(op) for place in op.where(row, column)])
    cells = [place.cells(op) | _read_with(op, copy) for copy, place in enumerate(op.where(row, column))]
    return _table(cells, tuple((cell["lane"],) for cell in cells))


def _table(cells: Sequence[Cells], lanes: tuple[tuple[Any, ...], ...] = ()) -> Table:
    return Table(tuple(cells[0]), tuple(tuple(cell.values()) for cell in cells), lanes)


def _read_with(op: Operand, copy: int) -> Cells:
    """The modifiers that select a copy, if any do."""
    text = op.read_with(copy)
    return {"read with": text} if text else {}


# -- shared memory ---------------------------------------------------------------------------------------


def tile_places(
    form: Form, op: Operand, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> list[SharedPlace]:
    """Where an element of a tile in shared memory is; in two places if its bits are not adjacent."""
    if op.packing is None:
        _check_inside(op.name, op.shape, row, column)
    elif transposed and isinstance(form, TensorInstruction):
        op = form.with_mn_major(op.name).operands[op.name]
    return shared_places(op, row, column, swizzle, transposed)


def _check_inside(matrix: str, shape: tuple[int, int], row: int, column: int) -> None:
    for axis, index, size in (("row", row, shape[0]), ("column", column, shape[1])):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{axis} {quoted(index)}: {matrix} is {shape[0]}x{shape[1]}, "
                f"so {axis}s go from 0 to {size - 1}"
            )


def _core(tile: Tile, outer: int, along: int) -> tuple[int, int, int]:
    """The number of the core matrix, the row in it, and the element in that row."""
    line, at, length = (along, outer, tile.rows) if tile.major == "MN" else (outer, along, tile.k)
    return line // 8 * (length // tile.core_width) + at // tile.core_width, line % 8, at % tile.core_width


def offsets(op: Operand, swizzle: int = 0, transposed: bool = False, tile: Tile | None = None) -> Table:
    """The byte offset of every 16 bytes of an operand in shared memory, with the elements that they hold.

    The tile is the one that wgmma reads, unless `tile` is given.

    >>> import ptxlab
    >>> offsets(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").b).records()[1]
    {'n': 1, 'k 0..7': '0x0010', 'k 8..15': '0x0090'}
    """
    if tile is None:
        tile = Tile.of(op, swizzle, transposed)  # refuses operands that are not in shared memory
    elif not isinstance(tile, Tile):
        raise PtxlabError(f"tile={quoted(tile)}: it takes a ptxlab.memory.Tile")
    transposed = tile.major == "MN"
    outer = next(axis for axis in op.axes if axis != "k")
    line_axis, piece_axis, lines, length = outer, "k", tile.rows, tile.k
    if transposed:
        line_axis, piece_axis, lines, length = "k", outer, tile.k, tile.rows
    starts = range(0, length, tile.core_width)
    rows: list[tuple[Value, ...]] = []
    cores: list[tuple[int | None, ...]] = []
    for line in range(lines):
        places = [(start, line) if transposed else (line, start) for start in starts]
        rows.append((line, *(f"0x{int(tile.offset(*place)):04x}" for place in places)))
        cores.append((None, *(_core(tile, *place)[0] % 32 for place in places)))
    heads = (line_axis, *(f"{piece_axis} {index_range(start, tile.core_width)}" for start in starts))
    return Table(heads, tuple(rows), tuple(cores))


# -- sparse A --------------------------------------------------------------------------------------------

_NOT_STORED = "not stored: counts as 0"


@dataclass(frozen=True)
class SparsePlaces:
    """Where an element of the dense A of a sparse instruction goes.

    `chunk` is its chunk in the row and `group` its group in that chunk; `columns` and `group_columns` are the
    first and the last column of each. `nibble` has the places of the metadata nibble that decides whether it
    is stored, and `places` has a row for each legal nibble.
    """

    dense: tuple[int, int]
    stored: tuple[int, int]
    chunk: int
    columns: tuple[int, int]
    group: int
    group_columns: tuple[int, int]
    nibble: Table
    places: Table

    def as_dict(self) -> dict[str, Any]:
        """All of it by name, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def sparse_where(
    ins: Product | str, row: int, column: int, swizzle: int = 0, transposed: bool = False
) -> SparsePlaces:
    """Where an element of dense A goes: its chunk, the nibble that decides, and its place for every nibble.

    A of tcgen05.mma.sp may be in shared memory; `swizzle` and `transposed` are as in `where`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    >>> answer = sparse_where(ins, 0, 3)
    >>> answer.chunk, answer.places.records()[1]["element"]
    (1, 'a0')
    >>> sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16").a_from("tensor")
    >>> sparse_where(sparse, 3, 13).places.rows[0]
    ('0b0100', '12, 13', 7, 0, 3, 3, '[31..16]', '0x00030003')
    """
    ins = parse_product(ins)
    row, column = as_int(row, "row"), as_int(column, "column")
    structure = ins.structure
    if structure is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is not compressed")
    _check_inside("dense A", (ins.m, ins.k), row, column)
    names: tuple[str, ...] = ("lane", "element", "register", "bits")
    not_stored: tuple[Value, ...] = ("-", _NOT_STORED, "", "")
    if ins.d.space == "tensor":
        names = ("stored column", *where(ins, "A", 0, 0, swizzle, transposed).columns)
        not_stored = (_NOT_STORED, *[""] * (len(names) - 1))
    chunk, inside = divmod(column, structure.chunk)
    group, offset = divmod(inside, structure.group)
    first = chunk * structure.chunk
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for nibble, kept in sorted(ins.nibbles.items()):
        columns = ", ".join(index_range(first + g * structure.group, structure.group) for g in kept)
        if group in kept:
            stored = (chunk * structure.keep + kept.index(group)) * structure.group + offset
            cells, lane = _stored_place(ins, row, stored, swizzle, transposed)
        else:
            cells, lane = not_stored, None
        rows.append((f"0b{nibble:04b}", columns, *cells))
        lanes.append((None, None, lane))
    group_first = first + group * structure.group
    return SparsePlaces(
        dense=(ins.m, ins.k),
        stored=ins.a.shape,
        chunk=chunk,
        columns=(first, first + structure.chunk - 1),
        group=group,
        group_columns=(group_first, group_first + structure.group - 1),
        nibble=where(ins, "E", row, chunk),
        places=Table(("nibble", "keeps columns", *names), tuple(rows), tuple(lanes)),
    )


def _stored_place(
    ins: Product, row: int, stored: int, swizzle: int, transposed: bool
) -> tuple[tuple[Value, ...], int | None]:
    """The cells for an element in a stored column of A, and the lane whose colour they get."""
    if ins.d.space == "tensor":
        return (stored, *where(ins, "A", row, stored, swizzle, transposed).rows[0]), None
    if ins.a.space == "shared":
        return (f"stored column {stored}", "", "", ""), None
    place = ins.a.where(row, stored)[0]
    return tuple(place.cells(ins.a).values()), place.lane


# -- what a lane holds -----------------------------------------------------------------------------------


def holds(ins: Form | str, name: str, lane: int, register: int | None = None, cta: int = 0) -> Table:
    """The elements of an operand in one lane, or in one register of it.

    Registers hold several copies of metadata and scales; "read with" has the modifiers that select a copy.
    For tcgen05.mma, `lane` is a lane of a CTA's tensor memory, and `register` is a column of it. For R of
    tcgen05.ld and .st, `lane` is a thread, and the table has the words that it holds.

    >>> import ptxlab
    >>> holds(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C", 5, 3).records()
    [{'register': 3, 'bits': '[31..0]', 'element': 'c3', 'm': 9, 'n': 3}]
    >>> holds(ptxlab.instruction("mma.sp.m16n8k32.f32.f16"), "E", 6).records()[0]
    {'register': 0, 'bits': '[3..0]', 'element': 'e0', 'm': 1, 'chunk': 0, 'read with': 'selector 1'}
    >>> holds(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64), "D", 33, 5).records()
    [{'column': 5, 'm': 17, 'n': 5}]
    """
    form = parse_any(ins)
    op = form.find(name)
    if isinstance(form, TensorTransfer) and op.holds_words:
        registers = range(form.registers) if register is None else (as_int(register, "register"),)
        words = tuple((number, *form.locate(lane, number)) for number in registers)
        return Table(("register", "lane", "column"), words)
    if op.space == "shared" and op.packing is None:
        raise PtxlabError(
            f"{op.name} of {form.mnemonic} lives in shared memory: no lane holds it; "
            "`ptxlab where` and `ptxlab layout` give its bytes"
        )
    if op.space != "register":
        tensor = _tensor(form, op)
        columns = range(tensor.columns) if register is None else (as_int(register, "column"),)
        rows = tuple((at, row, col) for at in columns for row, col in tensor.holds(lane, at, cta))
        return Table(("column", *_headings(tensor)), rows)
    cells = []
    for place, row, column in op.holds(lane, register):
        own = place.cells(op)
        held: Cells = {key: own[key] for key in ("register", "bits", "element")}
        copy = op.where(row, column).index(place) if op.read_with(0) else 0
        cells.append(held | {op.axes[0]: row, op.axes[1]: column} | _read_with(op, copy))
    return _table(cells)


def layout(op: AnyOperand, swizzle: int = 0, transposed: bool = False) -> Table:
    """Every element in every lane, one row each; in tensor and in shared memory, the places of every element.

    Of an operand that a pair of CTAs has in shared memory, the part of the first.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> layout(ins.c).rows[-1]   # lane, element, register, low, high, row, column
    (31, 3, 3, 0, 31, 15, 7)
    >>> mma = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", m=64, n=8, b="e2m3")
    >>> layout(mma.d).records()[12], layout(mma.b).records()[8]["bits"]
    ({'m': 1, 'n': 4, 'cta': 0, 'lane': 1, 'column': 4, 'low': 0, 'high': 31}, '[11..6]')
    """
    if isinstance(op, TensorOperand):
        cells = product(*map(range, op.shape))
        rows = tuple((row, col, *place) for row, col in cells for place in op.where(row, col))
        return Table((*_headings(op), *TensorPlace._fields), rows)
    op = as_operand(op)
    if op.layout is not None:
        held = (entry for lane in range(op.lanes) for entry in op.holds(lane))
        rows = tuple((*place, row, column) for place, row, column in held)
        return Table((*Place._fields, "row", "column"), rows)
    swizzle, transposed = as_int(swizzle, "swizzle"), as_flag(transposed, "transposed")
    return _table(
        [
            {"row": row, "column": column, **place.cells()}
            for row, column in product(*map(range, op.shape))
            for place in shared_places(op, row, column, swizzle, transposed)
            if place.cta == 0
        ]
    )


def thread_words(form: TensorTransfer) -> Table:
    """The word of tensor memory that goes with each register of the 128 threads of tcgen05.ld or .st.

    >>> import ptxlab
    >>> thread_words(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).records()[3]
    {'thread': 0, 'register': 3, 'lane': 8, 'column': 1}
    """
    registers = product(range(LANES), range(form.registers))
    rows = tuple((thread, register, *form.locate(thread, register)) for thread, register in registers)
    return Table(("thread", "register", "lane", "column"), rows)


def _headings(tensor: TensorOperand) -> list[str]:
    """The axes of a matrix, beside "column", which is one of tensor memory: its own is then "col"."""
    return ["col" if axis == "column" else axis for axis in tensor.axes]


def _tensor(form: Form, op: AnyOperand) -> TensorOperand:
    if op.space == "tensor":
        return op
    raise PtxlabError(
        f"{op.name} of {form.mnemonic} is in shared memory, not in the {LANES} lanes of tensor memory"
    )


def tensor_layouts(form: Form | str) -> Table:
    """Where each operand of a form is, and its layout in CuTe's notation.

    >>> import ptxlab
    >>> tensor_layouts(ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=64)).rows[-1]
    ('D', '64x256 f32', 'tensor memory, 128 columns', '(64,(128,2)):(1,(128,64))', 'PTX ISA and CUTLASS')
    """
    rows: list[tuple[int | str, ...]] = []
    for op in as_tcgen05(form).located.values():
        if op.space == "shared":
            place = ("shared memory", "", shared_source(op))
        elif op.space == "register":
            cute = op.layout.cute if op.layout else ""
            place = (f"{op.registers} registers of {op.lanes} threads", cute, "CUTLASS")
        else:
            pair = " of both CTAs" if op.ctas == 2 else ""
            place = (f"tensor memory{pair}, {counted(op.columns, 'column')}", op.layout.cute, op.source)
        rows.append((op.name, f"{op.shape[0]}x{op.shape[1]} {op.dtype}", *place))
    return Table(("operand", "matrix", "where", "layout", "source"), tuple(rows))


def copies_note(op: Operand) -> str:
    """A sentence on where the other copies are if a fragment holds its elements more than once, or "".

    >>> import ptxlab
    >>> copies_note(ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32").a)
    'every element is held twice: a(i) again as a(i + 8)'
    """
    op = as_operand(op)
    if op.layout is None or op.layout.copies == 1 or op.name in ("E", "SFA", "SFB"):
        return ""
    first, *others = (op.layout.scatter(copy) for copy in range(op.layout.copies))
    steps = [
        divmod(int(step), op.layout.elements)
        for other in others
        for step in set((other - first).ravel().tolist())
    ]
    prefix = op.name.lower()
    often = "twice" if op.layout.copies == 2 else f"{op.layout.copies} times"
    if len(steps) != len(others):
        return f"every element is held {often}; `ptxlab where` names all of its places"
    again = []
    for lane, element in steps:
        name = f"{prefix}(i + {element})"
        again.append(f"{name} of lane + {lane}" if lane else name)
    return f"every element is held {often}: {prefix}(i) again as {' and '.join(again)}"
