"""Tensor memory: what its lanes and columns hold, and who holds its words after tcgen05.ld."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.form import Form
from ..isa.location import bit_range
from ..isa.tcgen05 import TensorInstruction
from ..isa.tensor_operand import DATA_PATHS, LANES, DataPath, TensorOperand
from .element_location import element_locations, joined_runs
from .figure_arguments import as_tcgen05
from .grid import Box, Cell, Grid, Header, State, as_element, as_part, headers
from .labels import index_range, number_text
from .picture import Picture
from .table import Table

#: What the colours of tensor memory say: rows or columns of the matrix, the CTA, the warp that may read it.
TensorColour = Literal["row", "column", "cta", "warp"]
_COLOURS: dict[str, str] = {
    "row": "colours: 16 rows each",
    "column": "colours: an eighth of the columns each",
    "cta": "colours: the CTA",
    "warp": "colours: the warps that may load and store there",
}
_WORD = 32  # bits of a column
#: A row and a column as one number: the column in its low bits, as many as no matrix needs.
_COLUMN_BITS = 20
#: Added to those numbers, so that none is the number of a warp, which stands for its free lanes.
_HOLDS_ELEMENT = 1 << 42
_MAX_PLACES = 64  # side by side; with more, neighbouring columns share a place
_MAX_LABELS = 300  # of single elements
_MIN_HEIGHT = 8  # in lanes, of a block with a label


def tensor_memory(
    ins: Form | str,
    operand: str = "D",
    *,
    colour: TensorColour = "row",
    cta: int | None = None,
    lanes: range | None = None,
    columns: range | None = None,
    marked: tuple[int, int] | None = None,
    words: ArrayLike | None = None,
    title: bool = True,
) -> Picture:
    """What the lanes and columns of tensor memory hold of an operand, as PTX's layouts A to G draw it.

    A cell is a block of the matrix that lies there as it is. `lanes` and `columns` show a part; one of at
    most 300 elements shows each of them, with `words` [lanes, columns] its value. `marked` outlines
    every place of a row and column; of a CTA pair `cta` shows one.

    >>> import ptxlab
    >>> picture = tensor_memory(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32), "D")
    >>> grid = picture.grids[0]
    >>> [grid.at(lane, 0).text for lane in (0, 16, 32)]   # layout F: every other 16 lanes
    ['m 0..15, n 0..31', 'free', 'm 16..31, n 0..31']
    """
    form = as_tcgen05(ins)
    if form.operands and not form.tensors:
        raise PtxlabError(
            f"{form.mnemonic} has no matrix of its own in tensor memory; figures.tensor_registers and "
            "figures.lane draw its registers"
        )
    tensor = form.tensor(operand)
    if not is_name(colour, get_args(TensorColour)):
        raise PtxlabError(f"colour={quoted(colour)}: there are {listing(get_args(TensorColour))}")
    ctas = range(tensor.ctas) if cta is None else [as_index(cta, "cta", tensor.ctas)]
    lanes, columns = as_part(lanes, "lanes", LANES), as_part(columns, "columns", tensor.columns)
    values = None
    if words is not None:
        array = as_array(words, "words")
        if array.ndim != 2:
            raise PtxlabError(f"words of shape {array.shape}: they are [lanes, columns] of one matrix")
        values = tensor.unpack(array)
    if marked is not None:
        marked = as_element(marked, "marked")
        tensor.where(*marked)  # refuses what the matrix does not have
    windows = [
        _Window(tensor, colour, number, lanes, columns, marked, values, alone=len(ctas) == 1)
        for number in ctas
    ]
    notes = [tensor.describe()]
    if isinstance(form, TensorInstruction):
        notes += [f"layout {form.path.name}"] if tensor.name in ("A", "D", "E") else []
    notes.append(f"source: {tensor.source}")
    if colour in ("row", "column") and tensor.name in ("SFA", "SFB"):
        notes.append(f"colours: 32 {'rows of A' if tensor.name == 'SFA' else 'columns of B'} each")
    else:
        notes.append(_COLOURS[colour])
    first = windows[0]
    if not first.detailed and first.step > first.per_column:
        notes.append(f"one place: {counted(first.step // first.per_column, 'column')}")
    if marked is not None:
        (where,) = element_locations(tensor).place(*marked)
        notes.append(f"outlined: {tensor.name}[{marked[0]}][{marked[1]}] in {where}")
    grids = tuple(window.grid() for window in windows)
    return Picture(f"{tensor.name} of {form.full_name}", tuple(notes), grids).with_title(title)


def tensor_blocks(ins: Form | str, operand: str = "D") -> Table:
    """The blocks of an operand in tensor memory, as `tensor_memory` draws them: lanes, columns, and elements.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> tensor_blocks(ins, "D").records()[1]
    {'cta': 0, 'lanes': '32..47', 'columns': '0..31', 'bits': '31..0', 'm': '16..31', 'n': '0..31'}
    """
    tensor = as_tcgen05(ins).tensor(operand)
    rows = []
    for cta in range(tensor.ctas):
        window = _Window(tensor, "row", cta, range(LANES), range(tensor.columns), fine=True)
        for lane, slot, height, width in window.blocks:
            row, column = (int(index[lane, slot]) for index in window.indices)
            if row < 0:
                continue
            first, last = slot * tensor.width, (slot + width) * tensor.width - 1
            across, down = (height, width) if tensor.axes[0] == "block" else (width, height)
            bits = f"{last % _WORD}..{first % _WORD}" if first // _WORD == last // _WORD else "31..0"
            rows.append(
                (
                    cta,
                    index_range(lane, height),
                    index_range(first // _WORD, last // _WORD - first // _WORD + 1),
                    bits,
                    index_range(row, down),
                    index_range(column, across),
                )
            )
    return Table(("cta", "lanes", "columns", "bits", *tensor.axes), tuple(rows))


#: Row, or column, of the matrix in every lane and slot; -1 where it leaves them free.
_Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _Window:
    """What a part of the lanes and columns of one CTA holds of an operand.

    A slot is as many bits of a lane as an element takes; a place of the picture is one slot, or several:

                    a slot of a lane                 a place of the picture, all columns shown
    D, f16          16 bits: half a column           1 slot; of more than 64, 2, 4 or 8 slots
    D, f32          32 bits: a column                the same
    scales          8 bits: a quarter of a column    4 slots, a column (`coarse`); 1 if they are `fine`

    With few lanes and columns, every slot is a place with its element in it (`detailed`).
    """

    tensor: TensorOperand
    colour: TensorColour
    cta: int
    lanes: range
    columns: range
    marked: tuple[int, int] | None = None
    values: NDArray[Any] | None = None
    alone: bool = True  # no other CTA beside it
    fine: bool = False  # scales as they lie, not a column of them as one place

    @property
    def coarse(self) -> bool:
        """Whether a column is one place, though it holds several scales."""
        scales = self.tensor.name in ("SFA", "SFB")
        return scales and not self.fine and not self.detailed

    @property
    def per_column(self) -> int:
        """Elements of a column."""
        return _WORD // self.tensor.width

    @property
    def slots(self) -> range:
        """The slots of a lane that the columns have."""
        width = self.tensor.width
        return range(-(-self.columns.start * _WORD // width), self.columns.stop * _WORD // width)

    @cached_property
    def detailed(self) -> bool:
        """Whether every element is shown by itself."""
        whole = len(self.lanes) == LANES and len(self.columns) == self.tensor.columns
        return not whole and len(self.lanes) * len(self.slots) <= _MAX_LABELS

    @cached_property
    def step(self) -> int:
        """Slots that share a place."""
        if self.marked is not None:
            return 1
        if self.coarse:
            return self.per_column
        if len(self.slots) <= _MAX_PLACES:
            return 1
        edges = {start for _, start, _, _ in self.blocks} | {len(self.slots)}
        return next(step for step in (8, 4, 2, 1) if not any(edge % step for edge in edges))

    @cached_property
    def indices(self) -> tuple[_Indices, _Indices]:
        """Row and column of the matrix in every lane and slot of the window."""
        rows = np.full((LANES, self.tensor.columns * _WORD // self.tensor.width), -1, dtype=np.int64)
        columns = rows.copy()
        for copy in self.tensor._words:
            here = copy[..., 0] // LANES == self.cta
            row, column = np.nonzero(here)
            lane, word, low = np.moveaxis(copy[here], -1, 0)
            slot = (word * _WORD + low) // self.tensor.width
            rows[lane % LANES, slot], columns[lane % LANES, slot] = row, column
        part = np.s_[self.lanes.start : self.lanes.stop, self.slots.start : self.slots.stop]
        return rows[part], columns[part]

    @cached_property
    def blocks(self) -> list[Box]:
        """(lane, slot, height, width) of the blocks that lie in tensor memory as they do in the matrix."""
        rows, columns = self.indices
        if self.detailed:
            return [(lane, slot, 1, 1) for lane, slot in np.ndindex(*rows.shape)]
        line, along = (columns, rows) if self.tensor.axes[0] == "block" else (rows, columns)
        free, colours = rows < 0, self._colour_groups()
        right = (line[:, 1:] == line[:, :-1]) & (along[:, 1:] == along[:, :-1] + 1)
        right |= free[:, 1:] & free[:, :-1]
        right &= colours[:, 1:] == colours[:, :-1]
        if self.coarse:
            used = (~free).reshape(len(free), -1, self.per_column).any(axis=2)
            whole = np.repeat(used, self.per_column, axis=1)  # every slot of a column that holds scales
            starts_column = np.arange(1, free.shape[1]) % self.per_column == 0
            right = np.where(starts_column, right & ~whole[:, 1:] & ~whole[:, :-1], whole[:, 1:] | right)
        down = (line[1:] == line[:-1] + 1) & (along[1:] == along[:-1])
        down |= free[1:] & free[:-1]
        down &= colours[1:] == colours[:-1]
        return _rectangles(right, down)

    def _colour_groups(self) -> NDArray[np.int64]:
        """A number for every lane and slot: the same where colours are, and in the free lanes of a warp."""
        rows, columns = self.indices
        tall, wide = self.tensor.shape  # rows, and columns, of the matrix that have one colour
        if self.tensor.name == "SFA":
            tall = 32
        elif self.tensor.name == "SFB":
            wide = 32
        elif self.colour == "row":
            tall = 16
        elif self.colour == "column":
            wide = max(wide // 8, 1)
        warps = np.broadcast_to((np.array(self.lanes) // 32)[:, None], rows.shape)
        groups = _HOLDS_ELEMENT + (rows // tall << _COLUMN_BITS) + columns // wide
        groups = np.where(rows < 0, warps, groups)
        return groups * 4 + warps if self.colour == "warp" else groups

    def grid(self) -> Grid:
        """The window as a grid: a cell for each block, and outlines where cells hold several elements."""
        marked = np.argwhere(self._is_marked()).tolist()
        return Grid(
            (len(self.lanes), len(self.slots) // self.step),
            tuple(self._cell(block) for block in self.blocks),
            self._hover(),
            headers(len(self.lanes), 1 if self.detailed else 16, self.lanes.start),
            self._column_headings(),
            ("lane", "column"),
            title=f"CTA {self.cta}" if self.tensor.ctas > 1 else "",
            name=self.tensor.name,
            row_rules=self._rules(),
            row_groups=self._warps() if self.cta == 0 or self.alone or self.coarse else (),
            outlines=tuple((lane, slot, 1, 1) for lane, slot in marked if not self.detailed),
        )

    def _is_marked(self) -> NDArray[np.bool_]:
        """Which lanes and slots hold the marked element."""
        rows, columns = self.indices
        if self.marked is None:
            return np.zeros(rows.shape, dtype=np.bool_)
        return np.asarray((rows == self.marked[0]) & (columns == self.marked[1]))

    def _cell(self, block: Box) -> Cell:
        rows, columns = self.indices
        lane, slot, height, width = block
        place = (lane, slot // self.step, height, width // self.step)
        if self.coarse:
            slot += int(np.argmax(rows[lane, slot : slot + width] >= 0))
            width = int((rows[lane, slot : slot + width] >= 0).sum())
        row, column = int(rows[lane, slot]), int(columns[lane, slot])
        if row < 0:
            large = height >= 8 and 4 * width >= len(self.slots)
            return Cell(*place, ("free",) if large and not self.detailed else ())
        state: State = "mark" if self.detailed and (row, column) == self.marked else "plain"
        tint = self._tint(row, column, self.lanes[lane])
        if self.detailed:
            text = f"{row},{column}" if self.values is None else number_text(self.values[row, column], 6)
            return Cell(*place, (text,), tint, state)
        if height < _MIN_HEIGHT:
            return Cell(*place, (), tint)
        across, down = (height, width) if self.tensor.axes[0] == "block" else (width, height)
        texts = (
            f"{self.tensor.axes[0]} {index_range(row, down)}",
            f"{self.tensor.axes[1]} {index_range(column, across)}",
        )
        one_line = 2 * width >= len(self.slots) and self.alone
        return Cell(*place, self._beside_mark((", ".join(texts),) if one_line else texts, block), tint)

    def _beside_mark(self, label: tuple[str, ...], block: Box) -> tuple[str, ...]:
        """A label above or below the marked element, if that is in its block."""
        lane, slot, height, width = block
        marked = self._is_marked()[lane : lane + height, slot : slot + width]
        lanes = np.flatnonzero(marked.any(axis=1))
        if not lanes.size:
            return label
        blank = ("",) * (len(label) + 1)
        return (*blank, *label) if lanes[0] < height / 2 else (*label, *blank)

    def _tint(self, row: int, column: int, lane: int) -> int:
        """The lane whose colour stands for this part of the matrix."""
        rows, columns = self.tensor.shape
        match self.colour:
            case "cta":
                return 12 * self.cta + 1
            case "warp":
                return (0, 12, 24, 28)[lane // 32] + 1
            case "column":
                return column * 8 // columns % 8 * 4 + row * 4 // rows
        if self.tensor.name == "SFB":
            return column // 32 % 8 * 4 + 1
        if self.tensor.name == "SFA":
            return row // 32 % 8 * 4 + 1
        wide = 0 if self.tensor.name != "D" else column * 4 // columns
        return row // 16 % 8 * 4 + (wide + 2 * (row // LANES)) % 4

    def _hover(self) -> NDArray[Any]:
        (rows, columns), step = self.indices, self.step
        hover = np.empty((len(self.lanes), len(self.slots) // step), dtype=object)
        cta = f"CTA {self.cta}, " if self.tensor.ctas > 1 else ""
        name = self.tensor.name
        for lane, place in np.ndindex(*hover.shape):
            slot, count = place * step, step
            if self.coarse and (rows[lane, slot : slot + step] >= 0).any():
                used = rows[lane, slot : slot + step] >= 0
                slot, count = slot + int(used.argmax()), int(used.sum())
            first = self.slots.start + slot
            word, low = divmod(first * self.tensor.width, _WORD)
            where = f"{cta}lane {self.lanes[lane]}, "
            if step > self.per_column:
                where += f"columns {index_range(word, step // self.per_column)}"
            else:
                low += self.tensor.padding
                bits = bit_range(low, low + self.tensor.width * (count - 1) + self.tensor.dtype.bits - 1)
                where += f"column {word}" + (f", bits {bits}" if self.tensor.width < _WORD else "")
            row, column = int(rows[lane, slot]), int(columns[lane, slot])
            content = "free" if row < 0 else f"{name}[{row}][{index_range(column, count)}]"
            if row >= 0 and self.tensor.axes[0] == "block":
                content = f"{name}[{index_range(row, count)}][{column}]"
            if self.values is not None and row >= 0 and step == 1:
                content += f" = {number_text(self.values[row, column], 6)}"
            hover[lane, place] = f"{content}\n{where}"
        return hover

    def _rules(self) -> tuple[int, ...]:
        """Lanes at which a warp begins and no block goes on."""
        inside = {at for lane, _, height, _ in self.blocks for at in range(lane + 1, lane + height)}
        return tuple(warp.start for warp in self._warps() if warp.start and warp.start not in inside)

    def _warps(self) -> tuple[Header, ...]:
        heads = headers(len(self.lanes), 32, self.lanes.start)
        return tuple(replace(head, lines=(f"warp {self.lanes[head.start] // 32}",)) for head in heads)

    def _column_headings(self) -> tuple[Header, ...]:
        columns, places = len(self.columns), len(self.slots) // self.step
        if _WORD % self.tensor.width:  # several columns for a whole number of elements
            per_heading = math.lcm(_WORD, self.tensor.width) // _WORD
        elif columns <= 16 and self.step <= self.per_column:
            per_heading = 1
        else:
            most = (8, 4, 2, 1) if self.alone else (4, 2, 1)
            per_heading = columns // next(count for count in most if places % count == 0)
        size = places * per_heading // columns
        return tuple(
            Header(at * size, size, (index_range(self.columns.start + at * per_heading, per_heading),))
            for at in range(columns // per_heading)
        )


def _rectangles(right: NDArray[np.bool_], down: NDArray[np.bool_]) -> list[Box]:
    """Rectangles of places that go together with their right, and with their lower neighbours.

    Runs of a row grow downwards where the run below is as wide.
    """
    boxes: list[Box] = []
    above: dict[tuple[int, int], int] = {}  # column and width of the runs of the last row -> their boxes
    for row, joined in enumerate(right):
        runs: dict[tuple[int, int], int] = {}
        for start, stop in joined_runs(joined):
            run = (start, stop - start)
            box = above.get(run)
            if box is not None and down[row - 1, start]:
                top, column, height, width = boxes[box]
                boxes[box] = (top, column, height + 1, width)
                runs[run] = box
            else:
                runs[run] = len(boxes)
                boxes.append((row, start, 1, stop - start))
        above = runs
    return boxes


# -- layouts A to G --------------------------------------------------------------------------------------

#: Lines of the overview: pairs of CTAs, and beside them what one CTA does with as many rows a CTA.
_PATH_LINES = (("A", "D"), ("B", "E"), ("C", "F"), ("G",))


def data_paths(*names: str, n: int = 256, title: bool = True) -> Picture:
    """Layouts A to G side by side, or those named: which rows and columns of a D with `n` columns lie where.

    >>> grid = data_paths("E", n=64).grids[0]
    >>> grid.at(0, 0).text, grid.at(4, 0).text   # lanes 0 and on, lanes 64 and on
    ('m 0..63 n 0..31', 'm 0..63 n 32..63')
    """
    for name in names:
        if not is_name(name, DATA_PATHS):
            raise PtxlabError(f"layout {quoted(name)}: there are {listing(DATA_PATHS, 7)}")
    columns = as_int(n, "n")
    if columns % 32 or not 32 <= columns <= 256:
        raise PtxlabError(f"n={quoted(columns)}: every layout has the multiples of 32 up to 256")
    grids: list[Grid] = []
    for line in _PATH_LINES:
        paths = [DATA_PATHS[name] for name in line if not names or name in names]
        parts = [_path_grid(path, cta, columns) for path in paths for cta in range(path.ctas)]
        grids += [replace(part, new_line=at == 0) for at, part in enumerate(parts)]
    notes = (
        f"D with N = {columns} in the lanes and columns of tensor memory, from its address on",
        "M of a pair counts the rows of both CTAs",
        "hues: rows of D; shades: columns",
    )
    return Picture("Layouts of D in tensor memory", notes, tuple(grids)).with_title(title)


def _path_grid(path: DataPath, cta: int, n: int) -> Grid:
    """A layout in one CTA: a place for each 16 lanes and quarter of the columns."""
    unit = n // 4
    coords = path.result(path.m, n).coords()[0][::16, ::unit]  # of the first element of every place
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column in np.ndindex(*coords.shape[:2]):
        lane, along = coords[row, column].tolist()
        if lane // LANES == cta:
            places[lane % LANES // 16, along // unit] = (16 * row, unit * column)
    wide = 4 // path.wide
    hover = np.full((8, 4), "free", dtype=object)
    for (at, place), (row, column) in places.items():
        hover[at, place] = (
            f"D[{index_range(row, 16)}][{index_range(column, unit)}]\n"
            f"lanes {index_range(16 * at, 16)}, columns {index_range(unit * place, unit)}"
        )
    tall = 1 if path.halves else path.rows // 16
    cells = [Cell(0, wide, 8, 4 - wide, ("free",))] if wide < 4 else []
    for at in range(0, 8, tall):
        if (at, 0) not in places:
            cells.append(Cell(at, 0, tall, wide, ("free",)))
            continue
        row, column = places[at, 0]
        texts = (f"m {index_range(row, 16 * tall)}", f"n {index_range(column, unit * wide)}")
        tint = (row // 16 + row // LANES * 4) % 8 * 4 + column * 4 // n
        cells.append(Cell(at, 0, tall, wide, (", ".join(texts),) if wide == 4 else texts, tint))
    pair = f", CTA {cta}" if path.ctas == 2 else ""
    how = {"C": ", sparse", "E": ", .ws", "G": ", .ws"}.get(path.name, "")
    return Grid(
        (8, 4),
        tuple(cells),
        hover,
        tuple(Header(at, 2, (index_range(16 * at, 32),)) for at in range(0, 8, 2)),
        (Header(0, 4, (index_range(0, n),)),),
        ("lane", "column"),
        title=f"{path.name}: M {path.m}{how}{pair}",
        name=path.name,
    )
