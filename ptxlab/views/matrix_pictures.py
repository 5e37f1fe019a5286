"""Matrices with their numbers in the cells, as the manual would draw them, coloured by lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_integers, as_text, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_mma
from ..memory import Tile
from .fragment_pictures import (
    BANK_COLOURS,
    bank_key,
    bank_tint,
    colour_key,
    core_matrix_tint,
    lane_colour_notes,
    metadata,
    warp_headings,
    warp_notes,
    warp_rows,
)
from .grid import Cell, Grid, Header, State, headers
from .labels import bit_range, number_text, owners
from .picture import Picture

__all__ = [
    "NOT_STORED",
    "Colour",
    "Shown",
    "ValueMatrix",
    "as_marks",
    "check_options",
    "colour_keys",
    "colour_notes",
    "labels_fit",
    "value_matrix",
    "values",
]

#: What stands in a cell.
Shown = Literal["value", "hex", "binary", "lane"]
#: What its colour says; "auto" is the lane, or the core matrix in shared memory, or the value where there are
#: too many cells for labels.
Colour = Literal["auto", "lane", "register", "warp", "value", "nothing", "core matrix", "bank"]

NOT_STORED = "·"  # the label of an element of sparse A that is not stored
_NOBREAK = "\N{NO-BREAK SPACE}"
_MOST_CELLS, _MOST_LETTERS = 2048, 400  # with more cells, or wider rows, labels no longer fit a page
_WARP_COLOURS = (1, 29, 25, 17)  # blue, orange, green and purple among the colours of lanes


@dataclass(frozen=True)
class ValueMatrix:
    """A matrix of an instruction: codes, values, and the lane and element that hold each (-1: none).

    `name` is that of the operand; of a sparse instruction "A" is the dense matrix and "stored" the compressed
    one.
    """

    ins: MmaForm
    name: str
    operand: Operand
    codes: NDArray[Any]
    values: NDArray[Any]
    lanes: NDArray[np.int64]
    elements: NDArray[np.int64]

    @property
    def title(self) -> str:
        return "compressed A" if self.name == "stored" else self.operand.name

    @property
    def not_stored(self) -> NDArray[np.bool_]:
        """Elements of a sparse A in registers that are not stored."""
        if self.name == "A" and self.ins.sparse and self.operand.layout is not None:
            return np.asarray(self.lanes < 0)
        return np.zeros(self.codes.shape, dtype=np.bool_)

    def labels(self, shown: Shown) -> NDArray[Any]:
        """The label of every cell."""
        labels = np.empty(self.codes.shape, dtype=object)
        bits, prefix = self.operand.dtype.bits, self.operand.name.lower()
        for at, absent in np.ndenumerate(self.not_stored):
            if absent:
                labels[at] = NOT_STORED
            elif shown == "hex":
                labels[at] = f"{int(self.codes[at]):0{-(-bits // 4)}x}"
            elif shown == "binary" or self.name == "E":
                labels[at] = f"{int(self.codes[at]):0{bits}b}"
            elif shown == "lane" and self.lanes[at] >= 0:
                labels[at] = f"T{self.lanes[at]}:{prefix}{self.elements[at]}"
            else:
                labels[at] = number_text(self.values[at])
        return labels

    def hover(self) -> NDArray[Any]:
        """The tooltip of every cell."""
        op, hover = self.operand, np.empty(self.codes.shape, dtype=object)
        places = [op.place(0, element) for element in range(op.layout.elements)] if op.layout else []
        digits, not_stored = -(-op.dtype.bits // 4), self.not_stored
        for at, lane in np.ndenumerate(self.lanes):
            value, code = number_text(self.values[at], 9), f"0x{int(self.codes[at]):0{digits}x}"
            lines = [f"{self.title}[{at[0]}][{at[1]}] = {value}, code {code}"]
            if lane >= 0:
                place = places[int(self.elements[at])]
                lines += [
                    f"lane {lane}, element {op.name.lower()}{place.element}",
                    f"register {place.register}, bits {bit_range(place.low, place.high)}",
                ]
            elif not_stored[at]:
                lines.append("not stored: the metadata keeps other elements of its chunk")
            else:
                lines.append("in shared memory")
            hover[at] = "\n".join(lines)
        return hover

    def heat(self) -> NDArray[np.float64]:
        """Every value between -1 and 1; what is not finite counts as the largest."""
        with np.errstate(invalid="ignore"):
            values = self.values.astype(np.float64)
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max()) if finite.size and finite.max() else 1.0
        return np.asarray(np.clip(np.nan_to_num(values / largest, nan=1.0, posinf=1.0, neginf=-1.0), -1, 1))

    def tints(self, colour: Colour) -> NDArray[np.int64]:
        """The lane whose colour each cell has, or -1; registers and warps borrow the colours of lanes."""
        if colour in ("core matrix", "bank"):
            return self._memory_tints(colour)
        if colour in ("value", "nothing"):
            return np.full(self.codes.shape, -1)
        if colour == "register":
            tints = self.elements // self.operand.elements_per_register % 8 * 4 + 1
        elif colour == "warp":
            tints = np.array(_WARP_COLOURS)[self.lanes // 32 % 4]
        else:
            tints = self.lanes
        return np.where(self.lanes < 0, -1, tints)

    def keys(self, colour: Colour) -> tuple[Grid, ...]:
        """What the colours of registers, warps and banks mean; lanes are named beside the rows."""
        return colour_keys(colour, self.operand.registers, self.operand.lanes)

    def _memory_tints(self, colour: Colour) -> NDArray[np.int64]:
        """Colours by core matrix or bank of what is in shared memory, K-major and without swizzle."""
        op, (rows, columns) = self.operand, self.codes.shape
        tints = np.full(self.codes.shape, -1)
        if op.layout is not None or (self.name == "A" and self.ins.sparse):  # the compressed A is there
            return tints
        tile, per_piece = Tile.of(op), 128 // op.dtype.bits
        for row, column in np.ndindex(rows, columns):
            outer, k = (row, column) if op.axes[0] == "m" else (column, row)
            if colour == "bank":
                tints[row, column] = bank_tint(int(tile.offset(outer, k // per_piece * per_piece)))
            else:
                tints[row, column] = core_matrix_tint(outer // 8, k // per_piece)
        return tints

    def rules(self) -> tuple[list[int], list[int]]:
        """Rows and columns before which a heavier line stands: where lanes begin anew, and between chunks."""
        rows, columns = self.operand.shape
        if self.operand.layout is None:
            return list(range(8, rows, 8)) if self.operand.axes[0] == "m" else [], []
        if self.ins.mma_count > 1:
            return list(range(8, rows, 8)), list(range(8, columns, 8)) if self.name == "B" else []
        lanes = owners(self.operand.layout)[0]
        down, across = _lane_restarts(lanes[:, 0]), _lane_restarts(lanes[0])
        structure = self.ins.structure
        if structure is not None and self.name in ("A", "stored"):
            width = structure.chunk if self.name == "A" else structure.chunk // 2
            if width > 1:
                across = list(range(width, columns, width))
        return down, across

    def grid(
        self,
        labels: NDArray[Any] | None,
        colour: Colour,
        *,
        lane: int | None = None,
        marked: NDArray[Any] | None = None,
        spread: tuple[int, int] = (1, 1),
    ) -> Grid:
        """The matrix as a grid, with these labels or none.

        `spread` is how many places of the grid, down and across, a cell takes.
        """
        (rows, columns), (tall, wide) = self.codes.shape, spread
        tints, not_stored = self.tints(colour), self.not_stored
        heat = self.heat() if colour == "value" else np.zeros(self.codes.shape)
        cells = []
        for row, column in np.ndindex(rows, columns):
            tint = int(tints[row, column]) if tints[row, column] >= 0 else None
            warmth = None
            if tint is None and not not_stored[row, column]:
                warmth = float(heat[row, column])
            lines = () if labels is None else (str(labels[row, column]),)
            state = _state(
                int(self.lanes[row, column]), lane, marked is not None and bool(marked[row, column])
            )
            cells.append(Cell(row * tall, column * wide, tall, wide, lines, tint, state, heat=warmth))
        down, across = self.rules()
        if labels is None:
            down, across = [row for row in down if self.operand.lanes > 32 and row % 16 == 0], []
        row_heads, column_heads = self._headings(labels, spread)
        if labels is not None and colour == "lane" and self.operand.layout is not None and spread == (1, 1):
            row_heads, column_heads = self._with_lanes(row_heads, column_heads)
        return Grid(
            (rows * tall, columns * wide),
            tuple(cells),
            np.repeat(np.repeat(self.hover(), tall, axis=0), wide, axis=1),
            row_heads,
            column_heads,
            self.operand.axes,
            name=self.title,
            density="close",
            row_rules=tuple(row * tall for row in down),
            column_rules=tuple((column * wide, 0, rows * tall) for column in across),
            row_groups=self._warps(tall),
        )

    def _headings(
        self, labels: NDArray[Any] | None, spread: tuple[int, int]
    ) -> tuple[tuple[Header, ...], tuple[Header, ...]]:
        (rows, columns), (tall, wide) = self.codes.shape, spread
        if labels is None:
            return headers(rows * tall, 8), _headings(columns, wide, 0)
        letters = max((len(str(label)) for label in labels.ravel()), default=1)
        return _headings(rows, tall, 9), _headings(columns, wide, letters * wide)

    def _warps(self, tall: int) -> tuple[Header, ...]:
        """Headings that name the warps of rows."""
        return tuple(
            replace(head, start=head.start * tall, size=head.size * tall)
            for head in warp_headings(self.operand)
        )

    def _with_lanes(
        self, rows: tuple[Header, ...], columns: tuple[Header, ...]
    ) -> tuple[tuple[Header, ...], tuple[Header, ...]]:
        """Headings that name the lanes of rows (of B: columns), for those who do not see the colours."""
        if self.name != "B":
            digits = len(str(self.codes.shape[0] - 1))
            texts = [_holders(lanes) for lanes in self.lanes]
            named = tuple(
                replace(head, lines=(f"{text} {head.text:>{digits}}".strip().replace(" ", _NOBREAK),))
                for head, text in zip(rows, texts, strict=True)
            )
            return named, columns
        if len(columns) == self.codes.shape[1] <= 16:
            columns = tuple(
                replace(head, lines=(*head.lines, *_holders_in_two_lines(lanes)))
                for head, lanes in zip(columns, self.lanes.T, strict=True)
            )
        return rows, columns


def colour_keys(colour: Colour, registers: int, lanes: int) -> tuple[Grid, ...]:
    """The key to colours by register, warp or bank, for so many registers and lanes."""
    if colour == "register" and registers:
        hues = range(min(registers, 8))
        numbers = [list(range(hue, registers, 8)) for hue in hues]
        texts = [str(each[0]) if len(each) == 1 else f"{each[0]}, {each[1]}" for each in numbers]
        texts = [f"{text} ..." if len(each) > 2 else text for text, each in zip(texts, numbers, strict=True)]
        tooltips = [f"registers {', '.join(map(str, each))}" for each in numbers]
        return (colour_key("registers", texts, [hue * 4 + 1 for hue in hues], tooltips),)
    if colour == "warp" and lanes > 32:
        warps = range(lanes // 32)
        tooltips = [f"warp {warp}: lanes {32 * warp}..{32 * warp + 31}" for warp in warps]
        return (colour_key("warps", [str(warp) for warp in warps], _WARP_COLOURS, tooltips),)
    return (bank_key(),) if colour == "bank" else ()


def _state(owner: int, lane: int | None, marked: bool) -> State:
    if marked or owner == lane:
        return "mark"
    return "plain" if lane is None else "dim"


def _lane_restarts(lanes: NDArray[np.int64]) -> list[int]:
    """Where the lanes along a row or a column start again from a lower one, or another warp begins."""
    return [int(i) + 1 for i in np.flatnonzero((np.diff(lanes) < 0) | (np.diff(lanes // 32) != 0))]


def _lane_span(lanes: NDArray[np.int64]) -> tuple[int, str, int] | None:
    """The lanes that hold a row or a column, if two numbers name them: first, ".." or ",", last."""
    holders = [int(lane) for lane in np.unique(lanes[lanes >= 0])]
    if not holders:
        return None
    first, last = holders[0], holders[-1]
    if last - first + 1 == len(holders):
        return first, "..", last
    return (first, ",", last) if len(holders) == 2 else None


def _holders(lanes: NDArray[np.int64]) -> str:
    """``T0..3``, ``T9,11`` or ``T5``."""
    span = _lane_span(lanes)
    if span is None:
        return ""
    first, joint, last = span
    return f"T{first}" if first == last else f"T{first}{joint}{last}"


def _holders_in_two_lines(lanes: NDArray[np.int64]) -> tuple[str, str]:
    """``T0`` over ``..3``."""
    span = _lane_span(lanes)
    if span is None:
        return "", ""
    first, joint, last = span
    return (f"T{first}", "") if first == last else (f"T{first}", f"{joint}{last}")


def _headings(size: int, spread: int, letters: int) -> tuple[Header, ...]:
    """Headings of rows or columns: one each where so many letters fit, otherwise one for several."""
    if letters >= len(str(size - 1)):
        step = 1
    elif letters or size <= 32:
        step = 8
    else:
        step = 16 if size <= 128 else 32
    heads = []
    for head in headers(size, step):
        lines = head.lines if head.size == step else ("",)  # a remainder has no room for its name
        heads.append(Header(head.start * spread, head.size * spread, lines))
    return tuple(heads)


def value_matrix(
    ins: MmaForm, name: str, codes: NDArray[Any], nibbles: NDArray[Any] | None = None, copy: int = 0
) -> ValueMatrix:
    """The matrix with these codes; a sparse A takes the nibbles that say what is stored."""
    op = _operand(ins, name)
    lanes = elements = np.full(op.shape, -1, dtype=np.int64)
    if name == "A" and ins.structure is not None and nibbles is not None and ins.a.layout is not None:
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)
        stored_lanes, stored_elements = owners(ins.a.layout)
        lanes, elements = lanes.copy(), elements.copy()
        np.put_along_axis(lanes, positions, stored_lanes, axis=1)
        np.put_along_axis(elements, positions, stored_elements, axis=1)
        op = replace(ins.a, shape=op.shape, layout=op.layout)
    elif op.layout is not None:
        lanes, elements = owners(op.layout, copy)
    return ValueMatrix(ins, name, op, codes, op.dtype.decode(codes), lanes, elements)


def _operand(ins: MmaForm, name: str) -> Operand:
    """The operand of a matrix; "A" is the dense one, "stored" the compressed one."""
    if name == "stored":
        return ins.a
    return ins.a_dense if name == "A" else ins.operand(name)


def labels_fit(
    labels: Sequence[NDArray[Any]], cells: int = _MOST_CELLS, letters: int = _MOST_LETTERS
) -> bool:
    """Whether the labels of matrices side by side have room on a page."""
    across = sum(each.shape[1] * (max(len(str(label)) for label in each.ravel()) + 0.7) for each in labels)
    return sum(each.size for each in labels) <= cells and across <= letters


def values(
    ins: MmaForm | str,
    name: str,
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
    copy: int = 0,
) -> Picture:
    """A matrix with its numbers in the cells, coloured by lane: of values, of codes, or out of registers.

    For sparse instructions "A" is the dense matrix, with dots for what is not stored, and "stored" the
    compressed one. `shown` puts codes ("hex", "binary") or holders ("lane") into the cells, `colour` is by
    "lane", "register", "warp", "value" or "nothing". `lane` puts a lane in focus, `warp` shows the rows of
    one warp, `marked` outlines cells. What is too large for labels becomes a heat map of its values. An
    operand in shared memory is coloured by "core matrix" or by "bank".

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
    ins = parse_mma(ins)
    check_options(shown, colour)
    name = as_text(name, "operand")
    if name == "stored" and not ins.sparse:
        raise PtxlabError(f"{ins.mnemonic} is dense: its A is not compressed; ask for 'A'")
    if name != "stored":
        name = ins.operand(name).name
    if name == "E":
        return _metadata(ins, matrix, codes, registers, copy, warp)
    content, kept = _content(ins, name, matrix, codes, registers, nibbles, copy)
    numbers = value_matrix(ins, name, content, kept, copy)
    op = numbers.operand
    if lane is not None:
        lane = op.place(lane, 0).lane  # refuses a lane that does not exist
    if warp is not None and op.layout is None:
        raise PtxlabError(
            f"warp={quoted(warp)}: {op.name} of {ins.mnemonic} lives in shared memory, "
            "where no warp has its own part"
        )
    rows = warp_rows(op, warp) if op.layout else range(op.shape[0])
    labels = numbers.labels(shown) if len(rows) * op.shape[1] <= _MOST_CELLS else None
    if labels is not None and not labels_fit([labels[rows.start : rows.stop]]):
        labels = None
    if colour == "auto":
        colour = _automatic_colour(numbers, labels is not None)
    if colour in ("core matrix", "bank") and op.layout is not None:
        raise PtxlabError(
            f"colour={quoted(colour)}: {op.name} of {ins.mnemonic} lives in registers; "
            "core matrices and banks are of shared memory"
        )
    outlined = None if marked is None else as_marks(marked, op.shape, f"{name} of {ins.mnemonic}")
    grid = numbers.grid(labels, colour, lane=lane, marked=outlined)
    notes = [*_matrix_notes(numbers), *warp_notes(rows, warp)]
    if labels is not None and shown in _SHOWN_NOTES:
        notes.append(_SHOWN_NOTES[shown])
    return Picture(
        f"{_TITLES.get(name, name)} of {ins.mnemonic}",
        (*notes, *colour_notes(colour, op.lanes)),
        (grid.part(rows, range(op.shape[1])),),
        keys=numbers.keys(colour),
    )


_TITLES = {"stored": "Compressed A", "SFA": "Block scales of A", "SFB": "Block scales of B"}
_SHOWN_NOTES = {"hex": "codes in hexadecimal", "binary": "codes in binary", "lane": "T<lane>:<element>"}


def check_options(shown: str, colour: str) -> None:
    """Refuse labels and colours that do not exist."""
    for option, value, known in (("shown", shown, get_args(Shown)), ("colour", colour, get_args(Colour))):
        if not is_name(value, known):
            raise PtxlabError(f"{option}={quoted(value)}: it is one of {listing(known)}")


def as_marks(marked: ArrayLike, shape: tuple[int, int], matrix: str) -> NDArray[np.bool_]:
    """Truth values for every cell of a matrix, which a refusal calls so."""
    marks = as_array(marked, "marked")
    if marks.shape != shape:
        raise PtxlabError(f"marked: found shape {marks.shape}; {matrix} has {shape}")
    return marks.astype(np.bool_)


def _automatic_colour(numbers: ValueMatrix, labelled: bool) -> Colour:
    if not labelled:
        return "value"
    return "lane" if numbers.operand.layout else "core matrix"


def _metadata(
    ins: MmaForm,
    matrix: ArrayLike | None,
    codes: ArrayLike | None,
    registers: ArrayLike | None,
    selector: int,
    warp: int | None,
) -> Picture:
    nibbles = codes if matrix is None else matrix
    if nibbles is None and registers is not None and ins.e is not None:
        nibbles = ins.e.unpack_codes(registers, selector)
    return metadata(ins, nibbles, selector, warp=warp)


def _content(
    ins: MmaForm,
    name: str,
    matrix: ArrayLike | None,
    codes: ArrayLike | None,
    registers: ArrayLike | None,
    nibbles: ArrayLike | None,
    copy: int,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Codes of what is to be seen, and of a sparse A the nibbles."""
    arguments = {"matrix": matrix, "codes": codes, "registers": registers}
    present = [argument for argument, content in arguments.items() if content is not None]
    if len(present) != 1:
        raise PtxlabError(
            f"values of {name}: found {listing(present) or 'nothing'}; "
            "it takes one of matrix, codes, registers"
        )
    sparse = name == "A" and ins.sparse
    kept = None if nibbles is None else as_integers(nibbles, "nibbles")
    if kept is not None and ins.e is not None and kept.shape != ins.e.shape:
        raise PtxlabError(
            f"nibbles: found shape {kept.shape}; {ins.mnemonic} has {ins.e.shape[0]}x{ins.e.shape[1]}"
        )
    op = _operand(ins, name)
    if registers is not None:
        registers = as_array(registers, name)
        if registers.ndim != 2:
            raise PtxlabError(f"{name}: found shape {registers.shape}; a picture shows one set of registers")
    if registers is not None and not sparse:
        return op.unpack_codes(registers, copy), None
    if registers is not None:
        if kept is None:
            raise PtxlabError(
                "registers of a sparse A hold its stored half: ask for 'stored', or give the nibbles too"
            )
        return ins.expand(ins.a.unpack_codes(registers), kept), kept
    if matrix is not None:
        content = op.dtype.encode(op.check_matrix(matrix))
    elif codes is not None:
        content = op.check_codes(codes)
    if content.ndim != 2:
        raise PtxlabError(
            f"{name}: found shape {content.shape}; a picture shows one matrix, {op.shape[0]}x{op.shape[1]}"
        )
    if sparse and ins.structure is not None and kept is None:
        kept = ins.structure.compress(content, op.dtype.decode(content) == 0)[1]
    return content, kept


def _matrix_notes(numbers: ValueMatrix) -> list[str]:
    """What the matrix is."""
    ins, op = numbers.ins, numbers.operand
    if numbers.name != "A" or ins.structure is None:
        return [op.describe(numbers.title)]
    notes = [f"A {ins.m}x{ins.k} {op.dtype}, {ins.structure.title} sparse"]
    if numbers.not_stored.any():
        notes.append(f"{NOT_STORED}: a zero that is not stored")
    return notes


def colour_notes(colour: Colour, lanes: int) -> tuple[str, ...]:
    """How the colours are read."""
    if colour == "lane":
        return lane_colour_notes(lanes)
    if colour == "register":
        return ("hue: register % 8",)
    if colour == "warp" and lanes > 32:
        return ("blue, orange, green, purple: warps 0 to 3",)
    if colour == "core matrix":
        return ("a colour for each core matrix of shared memory: 8 rows or columns of 16 bytes",)
    if colour == "bank":
        return (BANK_COLOURS, "K-major, no swizzle")
    if colour == "value":
        return ("blue: below zero, vermilion: above",)
    return ()
