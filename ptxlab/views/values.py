"""Matrices with their numbers in the cells, as the manual would draw them: who holds each of them, in which register and bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from .picture import Cell, Grid, Header, Picture, bits, headers, owners
from .pictures import metadata, warp_rows, warp_said

__all__ = ["Colour", "Sheet", "Shown", "number", "sheet", "values"]

#: What stands in a cell.
Shown = Literal["value", "hex", "binary", "lane"]
#: What its colour says; "auto": the lane, and where cells are too many for letters, the value.
Colour = Literal["auto", "lane", "register", "warp", "value", "nothing"]

_CELLS, _LETTERS = 2048, 400  # with more cells, or wider rows, letters no longer fit a page
_WARPS = (1, 29, 25, 17)  # blue, orange, green and purple among the colours of lanes
GHOST = "·"  # an element of sparse A that is not stored


@dataclass(frozen=True)
class Sheet:
    """A matrix of an instruction with all that is said of its cells: codes, values, and the lane and element that hold each (-1: nobody)."""

    name: str
    operand: Operand
    codes: NDArray[Any]
    values: NDArray[Any]
    lanes: NDArray[np.int64]
    elements: NDArray[np.int64]
    chunk: int = 0  # columns of a chunk of sparse A

    @property
    def ghosts(self) -> NDArray[np.bool_]:
        """Elements of sparse A that are not stored."""
        ghosts = self.chunk and self.name == "A" and self.operand.layout is not None
        return np.asarray(self.lanes < 0) if ghosts else np.zeros(self.codes.shape, dtype=np.bool_)

    def said(self, shown: Shown) -> NDArray[Any]:
        """The label of every cell."""
        out = np.empty(self.codes.shape, dtype=object)
        width, element = self.operand.dtype.bits, self.operand.name.lower()
        for at, ghost in np.ndenumerate(self.ghosts):
            if ghost:
                out[at] = GHOST
            elif shown == "hex":
                out[at] = f"{int(self.codes[at]):0{-(-width // 4)}x}"
            elif shown == "binary" or self.name == "E":
                out[at] = f"{int(self.codes[at]):0{width}b}"
            elif shown == "lane" and self.lanes[at] >= 0:
                out[at] = f"T{self.lanes[at]}:{element}{self.elements[at]}"
            else:
                out[at] = number(self.values[at])
        return out

    def hover(self) -> NDArray[Any]:
        """All about every cell."""
        op, out = self.operand, np.empty(self.codes.shape, dtype=object)
        places = [op.place(0, element) for element in range(op.layout.elements)] if op.layout else []
        digits, title = -(-op.dtype.bits // 4), f"stored {op.name}" if self.name == "stored" else op.name
        ghosts = self.ghosts
        for at, lane in np.ndenumerate(self.lanes):
            lines = [
                f"{title}[{at[0]}][{at[1]}] = {number(self.values[at], 9)}, code 0x{int(self.codes[at]):0{digits}x}"
            ]
            if lane >= 0:
                place = places[int(self.elements[at])]
                lines += [
                    f"lane {lane}, element {op.name.lower()}{place.element}",
                    f"register {place.register}, bits {bits(place.low, place.high)}",
                ]
            else:
                lines.append(
                    "not stored: the metadata keeps others of its chunk" if ghosts[at] else "in shared memory"
                )
            out[at] = "\n".join(lines)
        return out

    def heat(self) -> NDArray[np.float64]:
        """Every value between -1 and 1; what is not finite counts as the largest."""
        with np.errstate(invalid="ignore"):
            wide = self.values.astype(np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        most = float(finite.max()) if finite.size and finite.max() else 1.0
        return np.asarray(np.clip(np.nan_to_num(wide / most, nan=1.0, posinf=1.0, neginf=-1.0), -1, 1))

    def tints(self, colour: Colour) -> NDArray[np.int64]:
        """The lane whose colour each cell has, or -1; by register and by warp another stands for it."""
        if colour in ("value", "nothing"):
            return np.full(self.codes.shape, -1)
        if colour == "register":
            found = self.elements // self.operand.elements_per_register % 8 * 4 + 1
        else:
            found = np.array(_WARPS)[self.lanes // 32 % 4] if colour == "warp" else self.lanes
        return np.where(self.lanes < 0, -1, found)

    def rules(self) -> tuple[list[int], list[int]]:
        """Rows and columns before which a heavier line stands: every 8 rows of 4 lanes begin anew, and so does a chunk."""
        rows, columns = self.operand.shape
        if self.operand.layout is None:
            return list(range(8, rows, 8)) if self.operand.axes[0] == "m" else [], []
        lanes = owners(self.operand.layout)[0]
        down, across = _steps(lanes[:, 0]), _steps(lanes[0])
        if self.operand.note and "four independent" in self.operand.note:
            down, across = list(range(8, rows, 8)), list(range(8, columns, 8)) if self.name == "B" else []
        if self.chunk > 1:
            across = list(range(self.chunk, columns, self.chunk))
        return down, across


def _steps(lanes: NDArray[np.int64]) -> list[int]:
    return [int(i) + 1 for i in np.flatnonzero((np.diff(lanes) < 0) | (np.diff(lanes // 32) != 0))]


def sheet(
    ins: MmaForm, name: str, codes: NDArray[Any], nibbles: NDArray[Any] | None = None, copy: int = 0
) -> Sheet:
    """The matrix with these codes; for dense A of a sparse instruction with the nibbles that say what is stored of it."""
    op = ins.a if name == "stored" else ins.a_dense if name == "A" else ins.operand(name)
    structure = ins.structure if name in ("A", "stored") else None
    nobody = np.full(op.shape, -1, dtype=np.int64)
    lanes, elements = nobody, nobody
    if structure is not None and name == "A" and nibbles is not None and ins.a.layout is not None:
        held, of = owners(ins.a.layout)
        lanes, elements = nobody.copy(), nobody.copy()
        positions = structure.positions(nibbles, ins.metadata_ordered)
        np.put_along_axis(lanes, positions, held, axis=1)
        np.put_along_axis(elements, positions, of, axis=1)
        op = replace(ins.a, shape=op.shape, layout=op.layout)
    elif op.layout is not None:
        lanes, elements = owners(op.layout, copy)
    chunk = 0 if structure is None else structure.chunk if name == "A" else structure.chunk // 2
    return Sheet(name, op, codes, op.dtype.decode(codes), lanes, elements, chunk)


def grid_of(
    found: Sheet,
    texts: NDArray[Any] | None,
    colour: Colour,
    *,
    lane: int | None = None,
    marked: NDArray[Any] | None = None,
    spread: tuple[int, int] = (1, 1),
) -> Grid:
    """The matrix as a grid, with these texts or none; `spread` is how many places of the grid, down and across, a cell takes."""
    (rows, columns), (tall, wide) = found.codes.shape, spread
    hover, lettered = found.hover(), texts is not None
    heat = found.heat() if colour == "value" else None
    tints, ghosts = found.tints(colour), found.ghosts
    cells = []
    for row, column in np.ndindex(rows, columns):
        tint = int(tints[row, column]) if tints[row, column] >= 0 else None
        warm = (
            None
            if tint is not None or ghosts[row, column]
            else 0.0
            if heat is None
            else float(heat[row, column])
        )
        state: Literal["plain", "dim", "mark"] = (
            "plain" if lane is None else "mark" if found.lanes[row, column] == lane else "dim"
        )
        if marked is not None and marked[row, column]:
            state = "mark"
        lines = (str(texts[row, column]),) if texts is not None else ()
        cells.append(Cell(row * tall, column * wide, tall, wide, lines, tint, state, heat=warm))
    down, across = found.rules()
    if not lettered:
        down, across = [at for at in down if found.operand.lanes > 32 and at % 16 == 0], []
    letters = max((len(str(text)) for text in np.ravel(texts)), default=1) if texts is not None else 0
    across_heads = _heads(columns, wide, letters * wide)
    down_heads = _heads(rows, tall, 9) if lettered else headers(rows * tall, 8)
    if (
        lettered and colour == "lane" and found.operand.layout is not None and spread == (1, 1)
    ):  # what the colours say, for those who do not see them
        if found.name == "B" and len(across_heads) == columns <= 16:
            across_heads = tuple(
                replace(head, lines=(*head.lines, *_held(found.lanes[:, i], " ")))
                for i, head in enumerate(across_heads)
            )
        elif found.name != "B":
            width = len(str(rows - 1))
            down_heads = tuple(
                replace(head, lines=(_beside(found.lanes[i], head.text.rjust(width)),))
                for i, head in enumerate(down_heads)
            )
    return Grid(
        (rows * tall, columns * wide), tuple(cells), np.repeat(np.repeat(hover, tall, axis=0), wide, axis=1),
        down_heads, across_heads, found.operand.axes,
        row_rules=tuple(at * tall for at in down), column_rules=tuple((at * wide, 0, rows * tall) for at in across), close=True,
    )  # fmt: skip


def _held(lanes: NDArray[np.int64], parted: str = "") -> tuple[str, ...]:
    """The lanes that hold a row or a column: ``T0..3``, or in two lines."""
    held = [int(lane) for lane in np.unique(lanes[lanes >= 0])]
    if len(held) == 1:
        return (f"T{held[0]}", *([""] if parted else []))
    if not held or (held[-1] - held[0] + 1 != len(held) and len(held) > 2):
        return ("", *([""] if parted else []))
    return tuple(
        f"T{held[0]}{parted}{'..' if held[-1] - held[0] + 1 == len(held) else ','}{held[-1]}".split()
    )


def _beside(lanes: NDArray[np.int64], number: str) -> str:
    return f"{_held(lanes)[0]} {number}".strip().replace(" ", "\N{NO-BREAK SPACE}")


def _heads(size: int, spread: int, letters: int) -> tuple[Header, ...]:
    """Headings of rows or columns, each its own where so many letters have room for it, else of a few together."""
    step = 1 if letters >= len(str(size - 1)) else 8 if letters or size <= 32 else 16 if size <= 128 else 32
    heads = (
        head if head.size == step else replace(head, lines=("",)) for head in headers(size, step)
    )  # what is left has no room for its name
    return tuple(replace(head, start=head.start * spread, size=head.size * spread) for head in heads)


def fits(texts: Sequence[NDArray[Any]], cells: int = _CELLS, letters: int = _LETTERS) -> bool:
    """Whether labels of matrices side by side have room on a page."""
    across = sum(found.shape[1] * (max(len(str(text)) for text in found.ravel()) + 0.7) for found in texts)
    return sum(found.size for found in texts) <= cells and across <= letters


def values(
    ins: MmaForm,
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

    For sparse instructions "A" is the dense matrix, with dots for what is not stored, and "stored" the half that is. `shown` puts codes
    ("hex", "binary") or holders ("lane") into the cells, `colour` is by "lane", "register", "warp", "value" or "nothing". `lane` puts
    a lane in the focus, `warp` shows the rows of one warp, `marked` outlines cells. What is too large for letters is a map of its values.

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
    check(shown, colour)
    if name == "stored" and not ins.sparse:
        raise PtxlabError(f"{ins.mnemonic} is dense: A is stored as it is; ask for 'A'")
    if name != "stored":
        name = ins.operand(name).name
    if name == "E":
        held = None if registers is None or ins.e is None else ins.e.unpack_codes(registers, copy)
        return metadata(
            ins, next((each for each in (matrix, codes, held) if each is not None), None), copy, warp=warp
        )
    found, kept = _content(ins, name, matrix, codes, registers, nibbles, copy)
    made = sheet(ins, name, found, kept, copy)
    if lane is not None:
        made.operand.place(lane, 0)
    if marked is not None and np.shape(marked) != made.codes.shape:
        raise PtxlabError(
            f"marked: found shape {np.shape(marked)}; {name} of {ins.mnemonic} has {made.codes.shape}"
        )
    rows = warp_rows(made.operand, warp) if made.operand.layout else range(made.operand.shape[0])
    few = len(rows) * made.operand.shape[1] <= _CELLS
    texts = made.said(shown) if few else None
    lettered = texts is not None and fits([texts[rows.start : rows.stop]])
    if colour == "auto":
        colour = "lane" if lettered and made.operand.layout else "value" if not lettered else "nothing"
    whole = grid_of(
        made,
        texts if lettered else None,
        colour,
        lane=lane,
        marked=None if marked is None else np.asarray(marked),
    )
    picture = whole.part(rows, range(made.operand.shape[1]))
    return Picture(
        f"{_title(name)} of {ins.mnemonic}",
        _told(ins, made, lettered, shown, colour, warp_said(rows, warp)),
        (picture,),
    )


def check(shown: str, colour: str) -> None:
    """Refuse labels and colours that there are not."""
    for what, given, known in (("shown", shown, get_args(Shown)), ("colour", colour, get_args(Colour))):
        if given not in known:
            raise PtxlabError(f"{what}={given!r}: it is one of {listing(known, 10)}")


def _title(name: str) -> str:
    return {"stored": "Stored A", "SFA": "Block scales of A", "SFB": "Block scales of B"}.get(name, name)


def _content(
    ins: MmaForm,
    name: str,
    matrix: ArrayLike | None,
    codes: ArrayLike | None,
    registers: ArrayLike | None,
    nibbles: ArrayLike | None,
    copy: int,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Codes of what is to be seen, and of sparse A the nibbles."""
    given = [
        each
        for each, content in (("matrix", matrix), ("codes", codes), ("registers", registers))
        if content is not None
    ]
    if len(given) != 1:
        raise PtxlabError(
            f"values of {name}: found {listing(given) or 'nothing'}; it takes one of matrix, codes, registers"
        )
    sparse = name == "A" and ins.sparse
    kept = None if nibbles is None else np.asarray(nibbles)
    if registers is not None and sparse:
        if kept is None:
            raise PtxlabError(
                "registers of a sparse A hold its stored half: ask for 'stored', or give the nibbles too"
            )
        return ins.expand(ins.a.unpack_codes(registers), kept), kept
    op = ins.a if name == "stored" else ins.a_dense if name == "A" else ins.operand(name)
    if registers is not None:
        return op.unpack_codes(registers, copy), None
    found = (
        op.dtype.encode(op.check_matrix(np.asarray(matrix)))
        if matrix is not None
        else op.check_matrix(np.asarray(codes))
    )
    if found.ndim != 2:
        raise PtxlabError(
            f"{name}: found shape {found.shape}; a picture shows one matrix, {op.shape[0]}x{op.shape[1]}"
        )
    if sparse and ins.structure is not None and kept is None:
        kept = ins.structure.compress(found, op.dtype.decode(found) == 0)[1]
    return found, kept


def _told(ins: MmaForm, made: Sheet, lettered: bool, shown: Shown, colour: Colour, where: str) -> str:
    """What the picture is, and how its colours are read."""
    op = made.operand
    said = op.describe() if made.name != "stored" else f"A as it is stored: {op.describe()[2:]}"
    if made.name == "A" and ins.structure is not None:
        said = f"A {ins.m}x{ins.k} {op.dtype}, {ins.structure.title} sparse{f'; {GHOST}: a zero that is not stored' * bool(made.ghosts.any())}"
    labels = {"hex": "; codes in hexadecimal", "binary": "; codes in binary", "lane": "; T<lane>:<element>"}
    return f"{said}{where}{labels.get(shown, '') if lettered else ''}{legend(colour, made.operand.lanes)}"


def legend(colour: Colour, lanes: int) -> str:
    """How the colours are read."""
    warps = "; the lanes of every warp have the same colours" if lanes > 32 else ""
    return {
        "lane": f"; hue: lane / 4, shade: lane % 4{warps}",
        "register": "; hue: register % 8",
        "warp": "; blue, orange, green, purple: warps 0 to 3" if lanes > 32 else "",
        "value": "; blue: below zero, white: zero, vermilion: above",
    }.get(colour, "")


def number(value: Any, digits: int = 4) -> str:
    """A number for a cell: whole where it is whole and not too long, else with so many digits.

    >>> number(-0.0), number(1 / 3), number(2.0**40)
    ('-0', '0.3333', '1.1e12')
    """
    if np.asarray(value).dtype.kind in "iub":
        return str(int(value))
    with np.errstate(invalid="ignore"):
        wide = float(value)
    if wide == 0:
        return "-0" if np.signbit(wide) else "0"
    if wide.is_integer() and abs(wide) < 1e7:
        return str(int(wide))
    head, _, tail = f"{wide:.{digits}g}".partition("e")
    head = head.rstrip("0").rstrip(".") if "." in head else head
    return f"{head}e{int(tail)}" if tail else head
