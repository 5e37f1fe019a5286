"""Matrices with their numbers in the cells, as the manual would draw them, coloured by lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_integers, as_text, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.tensor_operand import AnyOperand
from .colour_keys import Colour, bank_tint, colour_keys, colour_notes, core_matrix_tint, warp_tint
from .element_location import ElementLocations, element_locations
from .figure_arguments import as_product, product_operand
from .grid import Box, Cell, Grid, Header, Part, State, as_part, clipped, clipped_groups, headers
from .labels import index_range, number_text, warp_notes
from .metadata_picture import metadata
from .picture import Picture
from .tile_pictures import k_major_vectors

#: The label of a cell.
Shown = Literal["value", "hex", "binary", "lane"]

NOT_STORED = "·"  # the label of an element of sparse A that is not stored
_NOBREAK = "\N{NO-BREAK SPACE}"
_MAX_CELLS, _MAX_LETTERS = 2048, 400  # more cells, or wider rows, do not fit a page with labels
_MANY = 2048  # elements; of more, the largest percent have the same colour


@dataclass(frozen=True)
class MatrixStyle:
    """How a matrix is drawn: its colours, the part that is shown, and what is emphasised."""

    colour: Colour
    part: Part
    lane: int | None = None  # in focus
    marked: NDArray[np.bool_] | None = None  # cells with an outline
    outlines: tuple[Box, ...] = ()  # rectangles with a line around them
    spread: tuple[int, int] = (1, 1)  # places of the grid, down and across, that a cell takes

    def state(self, at: tuple[int, int], lane: int) -> State:
        """How to emphasise the cell at a row and column that a lane holds."""
        if lane == self.lane or (self.marked is not None and self.marked[at]):
            return "mark"
        return "plain" if self.lane is None else "dim"


@dataclass(frozen=True)
class ValueMatrix:
    """A matrix of an instruction: codes, values, and what holds each.

    `name` is that of the operand; of a sparse instruction "A" is the dense matrix and "stored" the compressed
    one.
    """

    ins: Product
    name: str
    locations: ElementLocations
    codes: NDArray[Any]
    values: NDArray[Any]

    @property
    def operand(self) -> AnyOperand:
        """The operand that is held: for a sparse A in lanes, the compressed one."""
        return self.locations.operand

    @property
    def title(self) -> str:
        return "compressed A" if self.name == "stored" else self.operand.name

    @property
    def not_stored(self) -> NDArray[np.bool_]:
        """Elements of a sparse A in registers or in tensor memory that are not stored."""
        if self.name == "A" and self.ins.sparse and self.locations.present:
            return np.asarray(self.locations.lanes < 0)
        return np.zeros(self.codes.shape, dtype=np.bool_)

    def labels(self, shown: Shown, part: Part | None = None) -> NDArray[Any]:
        """The label of every cell, or of those in a part; "" elsewhere."""
        labels = np.full(self.codes.shape, "", dtype=object)
        rows, columns = part or self.whole
        bits, not_stored = self.operand.dtype.bits, self.not_stored
        for at in product(rows, columns):
            if not_stored[at]:
                labels[at] = NOT_STORED
            elif shown == "hex":
                labels[at] = f"{int(self.codes[at]):0{-(-bits // 4)}x}"
            elif shown == "binary" or self.name == "E":
                labels[at] = f"{int(self.codes[at]):0{bits}b}"
            elif shown == "lane" and self.locations.lanes[at] >= 0:
                labels[at] = self.locations.label(*at)
            else:
                labels[at] = number_text(self.numbers[at[0]][at[1]])
        return labels

    def hover(self, part: Part) -> NDArray[Any]:
        """The tooltip of every cell of a part."""
        rows, columns = part
        hover = np.empty((len(rows), len(columns)), dtype=object)
        digits, not_stored = -(-self.operand.dtype.bits // 4), self.not_stored
        title, numbers = self.title, self.numbers
        for row, column in product(rows, columns):
            value, code = number_text(numbers[row][column], 9), int(self.codes[row, column])
            lines = [f"{title}[{row}][{column}] = {value}, code 0x{code:0{digits}x}"]
            if not_stored[row, column]:
                lines.append("not stored: the metadata keeps other elements of its chunk")
            else:
                lines += self.locations.place(row, column)
            hover[row - rows.start, column - columns.start] = "\n".join(lines)
        return hover

    @cached_property
    def numbers(self) -> list[list[int | float]]:
        """The values as Python numbers."""
        if self.values.dtype.kind in "iub":
            return [list(map(int, row)) for row in self.values]
        with np.errstate(invalid="ignore"):
            rows: list[list[int | float]] = self.values.astype(np.float64).tolist()
        return rows

    def heat(self) -> NDArray[np.float64]:
        """The values scaled to -1..1; infinities, and the largest percent of many values, are clipped."""
        with np.errstate(invalid="ignore"):
            values = self.values.astype(np.float64)
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max()) if finite.size and finite.max() else 1.0
        if finite.size > _MANY:  # a few outliers would make all others pale
            largest = float(np.quantile(finite, 0.99)) or largest
        return np.asarray(np.clip(np.nan_to_num(values / largest, nan=1.0, posinf=1.0, neginf=-1.0), -1, 1))

    def tints(self, colour: Colour) -> NDArray[np.int64]:
        """The lane whose colour each cell borrows, or -1."""
        lanes = self.locations.lanes
        if colour in ("core matrix", "bank"):
            return self._memory_tints(colour)
        if colour in ("value", "nothing"):
            return np.full(self.codes.shape, -1)
        if colour == "register":
            tints = self.locations.words % 8 * 4 + 1
        elif colour == "warp":
            tints = np.array([warp_tint(warp) for warp in range(4)])[lanes // 32 % 4]
        else:
            tints = lanes
        return np.where(lanes < 0, -1, tints)

    def _memory_tints(self, colour: Colour) -> NDArray[np.int64]:
        """Colours by core matrix or bank of what is in shared memory, K-major and without swizzle."""
        op = self.operand
        if op.space != "shared" or (self.name == "A" and self.ins.sparse):
            return np.full(self.codes.shape, -1)  # of a sparse A, the compressed one is there
        tile, vectors = k_major_vectors(op)
        along_m = op.axes[0] == "m"
        lines = np.arange(op.shape[0] if along_m else op.shape[1])[:, None] % tile.rows  # anew in each CTA
        if colour == "bank":
            tints = bank_tint(tile.offset(lines, vectors * tile.core_width))
        else:
            tints = core_matrix_tint(lines // 8, vectors)
        return tints if along_m else tints.T

    def rules(self) -> tuple[list[int], list[int]]:
        """Rows and columns with a heavier line before them: where lanes start again, and between chunks."""
        rows, columns = self.codes.shape
        if self.ins.mma_count > 1:
            return list(range(8, rows, 8)), list(range(8, columns, 8)) if self.name == "B" else []
        down, across = self.locations.rules()
        structure = self.ins.structure
        if structure is not None and self.name in ("A", "stored") and self.locations.present:
            width = structure.chunk if self.name == "A" else structure.chunk // 2
            if width > 1:
                across = list(range(width, columns, width))
        return down, across

    @property
    def whole(self) -> Part:
        """All rows and columns."""
        rows, columns = self.codes.shape
        return range(rows), range(columns)

    def grid(self, labels: NDArray[Any] | None, style: MatrixStyle) -> Grid:
        """The matrix as a grid, with these labels or none."""
        (rows, columns), (tall, wide) = style.part, style.spread
        down, across = self.rules() if labels is not None else self.locations.edges()
        row_heads, column_heads = self._headings(labels, style)
        if (
            labels is not None
            and style.colour == "lane"
            and self.locations.present
            and style.spread == (1, 1)
        ):
            row_heads, column_heads = self._with_lanes(row_heads, column_heads, style.part)
        return Grid(
            (len(rows) * tall, len(columns) * wide),
            tuple(self._cells(labels, style)),
            np.repeat(np.repeat(self.hover(style.part), tall, axis=0), wide, axis=1),
            row_heads,
            column_heads,
            self.operand.axes,
            name=self.title,
            density="close",
            row_rules=tuple((row - rows.start) * tall for row in down if row in rows and row != rows.start),
            column_rules=tuple(
                ((column - columns.start) * wide, 0, len(rows) * tall)
                for column in across
                if column in columns and column != columns.start
            ),
            row_groups=clipped_groups(self.locations.row_groups(), rows, tall),
            outlines=tuple(
                (box[0] * tall, box[1] * wide, box[2] * tall, box[3] * wide)
                for outline in style.outlines
                if (box := clipped(outline, rows, columns)) is not None
            ),
        )

    def _cells(self, labels: NDArray[Any] | None, style: MatrixStyle) -> Iterator[Cell]:
        (rows, columns), (tall, wide) = style.part, style.spread
        tints, not_stored = self.tints(style.colour), self.not_stored
        heat = self.heat() if style.colour == "value" else np.zeros(self.codes.shape)
        for at in product(rows, columns):
            tint = int(tints[at]) if tints[at] >= 0 else None
            warmth = float(heat[at]) if tint is None and not not_stored[at] else None
            lines = () if labels is None else (str(labels[at]),)
            state = style.state(at, int(self.locations.lanes[at]))
            place = ((at[0] - rows.start) * tall, (at[1] - columns.start) * wide, tall, wide)
            yield Cell(*place, lines, tint, state, heat=warmth)

    def _headings(
        self, labels: NDArray[Any] | None, style: MatrixStyle
    ) -> tuple[tuple[Header, ...], tuple[Header, ...]]:
        (rows, columns), (tall, wide) = style.part, style.spread
        if labels is None:
            down = headers(len(rows) * tall, 8, rows.start * tall)
            return (_headings(rows, tall, 0) if tall > 1 else down), _headings(columns, wide, 0)
        letters = max((len(str(label)) for label in labels.ravel()), default=1)
        return _headings(rows, tall, 9), _headings(columns, wide, letters * wide)

    def _with_lanes(
        self, rows: tuple[Header, ...], columns: tuple[Header, ...], part: Part
    ) -> tuple[tuple[Header, ...], tuple[Header, ...]]:
        """Headings with the lanes of rows, or of columns of B, for readers who cannot see the colours."""
        if self.name != "B":
            digits = len(str(part[0].stop - 1))
            texts = ["".join(self.locations.lane_names(self.locations.lanes[row])) for row in part[0]]
            own = np.arange(self.codes.shape[0])[:, None]
            same = (self.locations.lanes == own) | (self.locations.lanes < 0)
            if self.operand.space == "tensor" and same.all():
                texts = [""] * len(texts)  # lane m holds row m
            named = tuple(
                replace(head, lines=(f"{text} {head.text:>{digits}}".strip().replace(" ", _NOBREAK),))
                for head, text in zip(rows, texts, strict=True)
            )
            return named, columns
        if len(columns) == len(part[1]) <= 16:
            columns = tuple(
                replace(
                    head, lines=(*head.lines, *self.locations.lane_names(self.locations.lanes[:, column]))
                )
                for head, column in zip(columns, part[1], strict=True)
            )
        return rows, columns


def _headings(part: range, spread: int, letters: int) -> tuple[Header, ...]:
    """Headings of rows or columns: one each if numbers fit into `letters` letters, else one for several."""
    size, digits = len(part), len(str(part.stop - 1))
    few = size <= 16 and digits > 2  # in a part of a large matrix
    if letters >= digits or (letters and few) or (spread >= 4 and size <= 8):
        step = 1
    elif letters or size % 16:
        step = 8
    else:
        step = 16 if size <= 128 else 32
    heads = []
    for head in headers(size, step, part.start):
        lines = head.lines if head.size == step else ("",)  # a remainder has no room for a heading
        heads.append(Header(head.start * spread, head.size * spread, lines))
    return tuple(heads)


def value_matrix(
    ins: Product, name: str, codes: NDArray[Any], nibbles: NDArray[Any] | None = None, copy: int = 0
) -> ValueMatrix:
    """The matrix with these codes; a sparse A takes the nibbles that say what is stored."""
    op = product_operand(ins, name)
    if name == "A" and ins.structure is not None and nibbles is not None and ins.a.layout is not None:
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)
        locations = element_locations(ins.a).expanded(positions, ins.k)
    else:
        locations = element_locations(op, copy)
    return ValueMatrix(ins, name, locations, codes, op.dtype.decode(codes))


def labels_fit(labels: Sequence[NDArray[Any]], cells: int = _MAX_CELLS, letters: int = _MAX_LETTERS) -> bool:
    """Whether matrices with these labels fit a page side by side."""
    across = sum(texts.shape[1] * (max(len(str(label)) for label in texts.ravel()) + 0.7) for texts in labels)
    return sum(texts.size for texts in labels) <= cells and across <= letters


def numbers(values: NDArray[np.float64], title: str, axes: tuple[str, str], centred: bool) -> Picture:
    """Any matrix as a heat map, with its numbers where they fit; see `ptxlab.figures.matrix`."""
    finite = np.where(np.isfinite(values), values, 0.0)
    heat = finite / (np.abs(finite).max() or 1.0)
    if not centred:
        heat = (heat.min() - heat) / (np.ptp(heat) or 1.0)
    texts = [[f"{value:.5g}" for value in row] for row in values.tolist()]
    labelled = labels_fit([np.array(texts, dtype=object)], 1024)
    cells = tuple(
        Cell(row, column, 1, 1, (texts[row][column],) if labelled else (), heat=float(heat[row, column]))
        for row, column in np.ndindex(*values.shape)
    )
    rows, columns = (headers(size, 1 if labelled else 1 << (size // 8).bit_length()) for size in values.shape)
    hover = np.full(values.shape, "", dtype=object)
    grid = Grid((len(values), len(values.T)), cells, hover, rows, columns, axes)
    return Picture(title, (), (grid,), titled=bool(title))


def values(
    ins: Product | str,
    operand: str,
    matrix: ArrayLike | None = None,
    *,
    codes: ArrayLike | None = None,
    registers: ArrayLike | None = None,
    nibbles: ArrayLike | None = None,
    shown: Shown = "value",
    colour: Colour = "auto",
    lane: int | None = None,
    warp: int | None = None,
    marked: ArrayLike | None = None,
    rows: range | None = None,
    columns: range | None = None,
    copy: int = 0,
    title: bool = True,
) -> Picture:
    """A matrix with its numbers in the cells, coloured by lane: of values, of codes, or out of registers.

    For sparse instructions "A" is the dense matrix, with dots for what is not stored, and "stored" the
    compressed one. `shown` puts codes ("hex", "binary") or locations ("lane") into the cells, `colour` is by
    "lane", "register", "warp", "value" or "nothing". `lane` puts a lane in focus, `warp` shows the rows of
    one warp, `marked` outlines cells. What is too large for labels becomes a heat map of its values; `rows`
    and `columns` show a part of it. An operand in shared memory is coloured by "core matrix" or by "bank".
    Of tcgen05.mma, lanes and columns of tensor memory stand for lanes and registers, and `registers` are
    words [lanes, columns] of it.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> (grid,) = values(ins, "A", np.tile(np.arange(-8, 8), (16, 4))).grids
    >>> grid.at(9, 37).text, grid.at(9, 37).lane
    ('-3', 4)
    >>> print(grid.hover[9, 37])
    A[9][37] = -3, code 0xd
    lane 4, element a29
    register 3, bits [23..20]
    """
    ins = as_product(ins)
    check_options(shown, colour)
    name = as_text(operand, "operand")
    if name == "stored" and not ins.sparse:
        raise PtxlabError(f"{ins.full_name} is dense: its A is not compressed; ask for 'A'")
    if name != "stored":
        name = product_operand(ins, name).name
    if name == "E" and ins.e is not None:
        content = codes if matrix is None else matrix
        if content is None and registers is not None:
            content = ins.e.unpack_codes(registers, copy if ins.e.space == "register" else 0)
        return metadata(ins, content, copy, warp=warp, title=title)
    contents = {"matrix": matrix, "codes": codes, "registers": registers}
    numbers = _matrix_of(ins, name, contents, nibbles, copy)
    locations, whose = numbers.locations, f"{name} of {ins.full_name}"
    if lane is not None:
        lane = locations.check_lane(lane)
    part = _part(numbers, rows, columns, warp, whose)
    labels = None
    if len(part[0]) * len(part[1]) <= _MAX_CELLS:
        labels = numbers.labels(shown, part)
        if not labels_fit([labels[part[0].start : part[0].stop, part[1].start : part[1].stop]]):
            labels = None
    if colour == "auto":
        colour = "lane" if locations.present else "core matrix"
        if labels is None:
            colour = "value"
    if colour in ("core matrix", "bank") and locations.present:
        where = "tensor memory" if locations.operand.space == "tensor" else "registers"
        raise PtxlabError(
            f"colour={quoted(colour)}: {whose} lives in {where}; core matrices and banks are of shared memory"
        )
    outlined = None if marked is None else as_marks(marked, numbers.codes.shape, whose)
    grid = numbers.grid(labels, MatrixStyle(colour, part, lane, outlined))
    notes = [*_matrix_notes(numbers), *_part_notes(numbers, part, warp)]
    tensor = locations.operand.space == "tensor"
    if labels is not None and shown == "lane" and ins.d.space == "tensor":
        cta = "<CTA>/" if ins.d.ctas > 1 else ""
        notes.append(f"{cta}<lane>:<column> of tensor memory")
    elif labels is not None and shown in _SHOWN_NOTES:
        notes.append(_SHOWN_NOTES[shown])
    return Picture(
        f"{_TITLES.get(name, name)} of {ins.full_name}",
        (*notes, *colour_notes(colour, locations.operand.lanes, tensor=tensor)),
        (grid,),
        keys=colour_keys(colour, locations.operand.word_count, locations.operand.lanes, tensor=tensor),
    ).with_title(title)


def _part(
    numbers: ValueMatrix, rows: range | None, columns: range | None, warp: int | None, whose: str
) -> Part:
    """The rows and columns that are shown: all, those of a warp, or those asked for."""
    if warp is not None and (rows is not None or columns is not None):
        raise PtxlabError(f"warp={quoted(warp)}: it says which part is shown; so do rows and columns")
    if warp is not None:
        return numbers.locations.window(warp, whose)
    down, across = numbers.codes.shape
    return as_part(rows, "rows", down), as_part(columns, "columns", across)


def _part_notes(numbers: ValueMatrix, part: Part, warp: int | None) -> tuple[str, ...]:
    rows, columns = part
    if warp is not None:
        return warp_notes(numbers.operand, rows, warp)
    if (len(rows), len(columns)) == numbers.codes.shape:
        return ()
    return (f"rows {index_range(rows.start, len(rows))}, columns {index_range(columns.start, len(columns))}",)


_TITLES = {"stored": "Compressed A", "SFA": "Block scales of A", "SFB": "Block scales of B"}
_SHOWN_NOTES = {"hex": "codes in hexadecimal", "binary": "codes in binary", "lane": "T<lane>:<element>"}


def check_options(shown: str, colour: str) -> None:
    """Refuse labels and colours that do not exist."""
    for option, value, known in (("shown", shown, get_args(Shown)), ("colour", colour, get_args(Colour))):
        if not is_name(value, known):
            raise PtxlabError(f"{option}={quoted(value)}: it is one of {listing(known)}")


def as_marks(marked: ArrayLike, shape: tuple[int, int], matrix: str) -> NDArray[np.bool_]:
    """A flag for every cell; a refusal calls the matrix by this name."""
    marks = as_array(marked, "marked")
    if marks.shape != shape:
        raise PtxlabError(f"marked: found shape {marks.shape}; {matrix} has {shape}")
    return marks.astype(np.bool_)


def _matrix_of(
    ins: Product,
    name: str,
    contents: Mapping[str, ArrayLike | None],
    nibbles: ArrayLike | None,
    copy: int,
) -> ValueMatrix:
    """The matrix of that name with its contents: values, codes, or what is in registers."""
    present = {argument: content for argument, content in contents.items() if content is not None}
    if len(present) != 1:
        raise PtxlabError(
            f"values of {name}: found {listing(present) or 'nothing'}; it takes one of {listing(contents)}"
        )
    ((argument, content),) = present.items()
    metadata = None if nibbles is None else as_integers(nibbles, "nibbles")
    if metadata is not None and ins.e is not None and metadata.shape != ins.e.shape:
        raise PtxlabError(
            f"nibbles: found shape {metadata.shape}; {ins.mnemonic} has {ins.e.shape[0]}x{ins.e.shape[1]}"
        )
    op = product_operand(ins, name)
    if argument == "registers":
        codes = _unpacked(ins, name, as_array(content, name), metadata, copy)
    elif argument == "matrix":
        codes = op.dtype.encode(op.check_matrix(content))
    else:
        codes = op.check_codes(content)
    if codes.ndim != 2:
        raise PtxlabError(
            f"{name}: found shape {codes.shape}; a picture shows one matrix, {op.shape[0]}x{op.shape[1]}"
        )
    if name == "A" and ins.structure is not None and metadata is None:
        metadata = ins.structure.compress(codes, op.dtype.decode(codes) == 0)[1]
    return value_matrix(ins, name, codes, metadata, copy)


def _unpacked(
    ins: Product, name: str, registers: NDArray[Any], nibbles: NDArray[Any] | None, copy: int
) -> NDArray[Any]:
    """Codes out of registers; of a sparse A, all of it."""
    if registers.ndim != 2:
        raise PtxlabError(f"{name}: found shape {registers.shape}; a picture shows one set of registers")
    if name != "A" or not ins.sparse:
        return product_operand(ins, name).unpack_codes(registers, copy)
    if nibbles is None:
        raise PtxlabError(
            "registers of a sparse A hold its stored half: ask for 'stored', or give the nibbles too"
        )
    return ins.expand(ins.a.unpack_codes(registers), nibbles)


def _matrix_notes(numbers: ValueMatrix) -> list[str]:
    """Notes on the matrix."""
    ins, op = numbers.ins, numbers.operand
    if numbers.name != "A" or ins.structure is None:
        return [op.describe(numbers.title)]
    notes = [f"A {ins.m}x{ins.k} {op.dtype}, {ins.structure.title} sparse"]
    if numbers.not_stored.any():
        notes.append(f"{NOT_STORED}: a zero that is not stored")
    return notes
