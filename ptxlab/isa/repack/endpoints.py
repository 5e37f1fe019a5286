"""The two sides of a plan: which cell of one common matrix lies in each slot of each lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import is_a
from ...errors import PtxlabError, quoted
from ..operand import Operand

#: One operand, or several as `np.block` arranges them: [d, d] side by side, [[d], [d]] below each other.
Tiles: TypeAlias = Operand | Sequence[Operand] | Sequence[Sequence[Operand]]


class Side(NamedTuple):
    """Registers of one or more operands; each slot of each lane holds a cell of one common matrix."""

    operands: tuple[Operand, ...]
    cells: NDArray[np.int64]  # [lanes, slots]; a slot is an element
    shape: tuple[int, int]
    bits: int  # of a slot

    @property
    def operand(self) -> Operand:
        """The first operand: all have its type, padding and lanes."""
        return self.operands[0]

    @property
    def registers(self) -> int:
        """Registers of a lane, of all operands."""
        return sum(operand.registers for operand in self.operands)


def as_grid(tiles: object, what: str) -> list[list[Operand]]:
    """Tiles as rows of operands, as np.block reads them; all in registers, of one type, in the same lanes."""
    rows = list(tiles) if isinstance(tiles, list | tuple) else [[tiles]]
    if rows and all(isinstance(row, Operand) for row in rows):
        rows = [rows]
    grid = [list(row) if isinstance(row, list | tuple) else [] for row in rows]
    if not grid or not all(row and all(is_a(tile, Operand) for tile in row) for row in grid):
        raise PtxlabError(
            f"{what}: found {quoted(tiles)}; it is an operand such as ins.d, or several as np.block has "
            "them: [d, d] side by side, [[d], [d]] below each other"
        )
    first = grid[0][0]
    for tile in (tile for row in grid for tile in row):
        if tile.layout is None:
            raise PtxlabError(
                f"{what} {tile.name} lies in shared memory: only operands in registers can be repacked"
            )
        if (tile.dtype.name, tile.width, tile.padding) != (first.dtype.name, first.width, first.padding):
            raise PtxlabError(
                f"{what}: tiles of one matrix have one type, found {first.dtype} and {tile.dtype}"
            )
        if tile.lanes != first.lanes:
            raise PtxlabError(f"{what}: tiles in {first.lanes} and {tile.lanes} threads do not go together")
    return grid


def _placed(
    tiles: Iterable[tuple[Operand, NDArray[np.int64], int, int]], shape: tuple[int, int], bits: int
) -> Side:
    """Tiles, with coordinates of elements and their first row and column, divided into slots of `bits`."""
    operands, parts = [], []
    for operand, coords, row, column in tiles:
        slots = operand.width // bits
        columns = (coords[..., 1:] + column) * slots + np.arange(slots)
        cells = (coords[..., :1] + row) * (shape[1] * slots) + columns
        operands.append(operand)
        parts.append(cells.reshape(len(coords), -1))
    width = operands[0].width // bits
    return Side(tuple(operands), np.concatenate(parts, axis=1), (shape[0], shape[1] * width), bits)


def blocks(grid: list[list[Operand]], what: str, bits: int = 0, transposed: bool = False) -> Side:
    """Tiles as np.block arranges them; `bits` divides their elements along a row."""
    heights = [{tile.shape[0] for tile in row} for row in grid]
    widths = {sum(tile.shape[1] for tile in row) for row in grid}
    if len(widths) > 1 or any(len(sizes) > 1 for sizes in heights):
        raise PtxlabError(f"{what}: tiles in a row have one height, and all rows of tiles have one width")
    placed = []
    row = 0
    for line in grid:
        column = 0
        for tile in line:
            if transposed:
                placed.append((tile, tile.coords()[..., ::-1], column, row))
            else:
                placed.append((tile, tile.coords(), row, column))
            column += tile.shape[1]
        row += line[0].shape[0]
    return _placed(placed, (column, row) if transposed else (row, column), bits or grid[0][0].width)


# -- ldmatrix and stmatrix -----------------------------------------------------------------------------------


def is_stack(operand: Operand) -> bool:
    """Whether it is R of ldmatrix or stmatrix: matrices stacked in the order of their rows in memory."""
    return operand.name == "R" and operand.axes == ("row", "column") and operand.layout is not None


def stacks(
    grid: list[list[Operand]], other: list[list[Operand]], what: str, what_other: str
) -> tuple[Side, Side]:
    """R, and the operand it is loaded for, over one matrix whose rows are those of memory.

    Without `.trans` a row of memory runs along K (along N for C and D), with it along M or N (M for C and D).
    The matrices follow each other along M or N first, then along K.
    """
    stacks = [tile for row in grid for tile in row]
    target = other[0][0]
    along = next((axis for axis, name in enumerate(target.axes) if name.lower() == "k"), 1)
    layout = stacks[0].layout
    assert layout is not None
    down = layout.element[0][1] > 0  # .trans: the elements of a register are of one column of memory
    height = layout.lane[0][1] * layout.lane[0][0] if down else 8
    transposed = along == (1 if down else 0)
    bits = min(stacks[0].width, target.width)
    goal = blocks(other, what_other, bits, transposed)
    placed = []
    row_bits = goal.shape[1] * bits
    count = 0
    for stack in stacks:
        pieces = stack.shape[0] // height
        across = max(1, row_bits // (stack.shape[1] * stack.width))
        downwards = max(1, goal.shape[0] // height)
        coords = stack.coords()
        for piece in range(pieces):
            at = divmod(count, across) if down else divmod(count, downwards)[::-1]
            rows = coords[..., 0] // height == piece
            chosen = coords[rows].reshape(len(coords), -1, 2) - [piece * height, 0]
            placed.append((stack, chosen, at[0] * height, at[1] * stack.shape[1]))
            count += 1
    shape = goal.shape[0], row_bits // stacks[0].width
    inside = [
        row + coords[..., 0].max() < shape[0] and column + coords[..., 1].max() < shape[1]
        for _, coords, row, column in placed
    ]
    side = _placed(placed, shape, bits)
    if side.cells.size != goal.shape[0] * goal.shape[1] or not all(inside):  # goal may hold elements twice
        raise PtxlabError(
            f"{what} is {size_text(stacks)} and {what_other} is {size_text([t for r in other for t in r])}: "
            f"the {count} matrices of R do not make up {target.name}; a list such as [r, r] gives more"
        )
    return Side(tuple(stacks), side.cells, side.shape, bits), goal


def size_text(tiles: Sequence[Operand]) -> str:
    """``2 tiles of D 16x8 f32``."""
    names = Counter(f"{tile.name} {tile.shape[0]}x{tile.shape[1]} {tile.dtype}" for tile in tiles)
    return " and ".join(name if count == 1 else f"{count} tiles of {name}" for name, count in names.items())
