"""A metadata nibble as a picture: two indices of two bits, and the parts of the chunk that they name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._util.arguments import as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.sparsity import STRUCTURES, Structure
from .grid import Arrow, Cell, Grid, Header
from .labels import index_range
from .picture import Picture

_PARTS = 4  # of a chunk, whatever its structure
_WIDTH = 8  # columns of the grids: two for each part
_BITS = ("second index, bits [3..2]", "first index, bits [1..0]")  # as they are written
_LANES = (10, 29)  # whose colours tell the two indices apart: sky and orange


def nibble(nibble: int, structure: str | Structure = "2:4", *, chunk: int = 0, title: bool = True) -> Picture:
    """What a nibble says: arrows go from its indices to the parts of the chunk, and on to what is stored.

    The first index is in the low bits, at the right; what it names is stored first, at the left.

    >>> for arrow in nibble(0b1001, chunk=2).arrows[:2]:
    ...     print(arrow.start.text, "->", arrow.end.text)
    01 = 1 first index, bits [1..0] -> part 1 column 9
    10 = 2 second index, bits [3..2] -> part 2 column 10
    """
    rule = _structure(structure)
    code, number = as_int(nibble, "nibble"), as_int(chunk, "chunk")
    if code not in rule.unordered:
        raise PtxlabError(
            f"nibble {quoted(code)} names no two parts of a {rule.title} chunk; legal are "
            f"{listing(f'0b{each:04b}' for each in sorted(rule.unordered))}"
        )
    if not 0 <= number < 1 << 16:
        raise PtxlabError(f"chunk {quoted(number)} does not exist; chunks go from 0 to 65535")
    indices = (code & 3, code >> 2)
    columns = _columns(rule, number)
    # the second index is in the high bits, at the left; what the first one names is stored at the left
    halves = _cells(0, [f"{index:02b} = {index}" for index in indices[::-1]], _BITS, (1, 0))
    named = [indices.index(part) if part in indices else None for part in range(_PARTS)]
    parts = _cells(2, [f"part {part}" for part in range(_PARTS)], columns, named)
    stored = _cells(4, [f"part {index}" for index in indices], [columns[index] for index in indices], (0, 1))
    arrows = [Arrow(halves[1 - which], parts[index]) for which, index in enumerate(indices)]
    arrows += [Arrow(parts[index], stored[which]) for which, index in enumerate(indices)]
    order = "the first index is in the low bits, at the right"
    if indices[0] > indices[1]:
        order = "descending order: mma.sp takes it, mma.sp::ordered_metadata does not"
    grid = _grid((*halves, *parts, *stored), ("nibble", f"chunk {number} of A", "compressed A"))
    heading = f"Nibble 0b{code:04b}, {rule.title}"
    return Picture(heading, (_meaning(rule), order), (grid,), arrows=tuple(arrows)).with_title(title)


def _structure(structure: str | Structure) -> Structure:
    if isinstance(structure, Structure):
        return structure
    if not is_name(structure, STRUCTURES):
        raise PtxlabError(f"there is no structure {quoted(structure)}; there are {listing(STRUCTURES)}")
    return STRUCTURES[structure]


def _cells(row: int, texts: Sequence[str], notes: Sequence[str], indices: Sequence[int | None]) -> list[Cell]:
    """A row of equally wide cells, in the colours of the indices that name them; others are grey."""
    width = _WIDTH // len(texts)
    lanes = [None if index is None else _LANES[index] for index in indices]
    return [
        Cell(row, place * width, 1, width, (text, note), lane=lane)
        for place, (text, note, lane) in enumerate(zip(texts, notes, lanes, strict=True))
    ]


def _grid(cells: tuple[Cell, ...], names: tuple[str, ...]) -> Grid:
    """The rows, with a blank one for the arrows between each two."""
    rows = range(0, 2 * len(names), 2)
    blanks = tuple(Cell(row + 1, 0, 1, _WIDTH, (), role="blank") for row in rows[:-1])
    shape = (rows[-1] + 1, _WIDTH)
    hover = np.full(shape, "", dtype=object)
    for cell in cells:
        hover[cell.row, cell.column : cell.column + cell.width] = "\n".join(cell.lines)
    headings = tuple(Header(row, 1, (name,)) for row, name in zip(rows, names, strict=True))
    boxes = tuple((row, 0, 1, _WIDTH) for row in rows)
    return Grid(shape, (*cells, *blanks), hover, headings, (), name="nibble", boxes=boxes)


def _columns(rule: Structure, chunk: int) -> list[str]:
    """The columns of A that each part is."""
    size = rule.chunk / _PARTS
    first = chunk * rule.chunk
    if size < 1:
        return [f"column {first + part // 2}, {('low', 'high')[part % 2]}" for part in range(_PARTS)]
    whole = int(size)
    if whole == 1:
        return [f"column {first + part}" for part in range(_PARTS)]
    return [f"columns {index_range(first + part * whole, whole)}" for part in range(_PARTS)]


def _meaning(rule: Structure) -> str:
    """What a part is."""
    size = rule.chunk / _PARTS
    if size < 1:
        return "a part is half of an element"
    return "a part is one element" if size == 1 else f"a part is {int(size)} elements"
