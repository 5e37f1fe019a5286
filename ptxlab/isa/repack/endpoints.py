"""The two endpoints of a plan: which cell of one common matrix lies in each slot of each lane.

Operands are arranged as `np.block` has them; R of ldmatrix and stmatrix is a stack of small matrices, which
are placed over the matrix of the operand that is loaded or stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import is_a
from ...errors import PtxlabError, quoted
from ..operand import Operand

#: One operand, or several as `np.block` arranges them: [d, d] side by side, [[d], [d]] below each other.
Tiles: TypeAlias = Operand | Sequence[Operand] | Sequence[Sequence[Operand]]


class Endpoint(NamedTuple):
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


class _PlacedTile(NamedTuple):
    """A tile, or some of its rows, and where its first row and column lie in the common matrix."""

    operand: Operand
    coords: NDArray[np.int64]  # [lanes, elements, 2]: row and column in the tile
    row: int
    column: int


def _endpoint(tiles: Sequence[_PlacedTile], shape: tuple[int, int], bits: int) -> Endpoint:
    """Tiles on a matrix of elements of this shape, divided into slots of `bits`."""
    parts = []
    for tile in tiles:
        slots = tile.operand.width // bits
        columns = (tile.coords[..., 1:] + tile.column) * slots + np.arange(slots)
        cells = (tile.coords[..., :1] + tile.row) * (shape[1] * slots) + columns
        parts.append(cells.reshape(len(tile.coords), -1))
    operands = tuple(tile.operand for tile in tiles)
    width = operands[0].width // bits
    return Endpoint(operands, np.concatenate(parts, axis=1), (shape[0], shape[1] * width), bits)


def endpoint_of_blocks(
    grid: list[list[Operand]], what: str, bits: int = 0, transposed: bool = False
) -> Endpoint:
    """Tiles as np.block arranges them; `bits` divides their elements along a row."""
    heights = [{tile.shape[0] for tile in row} for row in grid]
    widths = {sum(tile.shape[1] for tile in row) for row in grid}
    if len(widths) > 1 or any(len(sizes) > 1 for sizes in heights):
        raise PtxlabError(f"{what}: tiles in a row have one height, and all rows of tiles have one width")
    placed = []
    row = 0
    for tiles in grid:
        column = 0
        for tile in tiles:
            if transposed:
                placed.append(_PlacedTile(tile, tile.coords()[..., ::-1], column, row))
            else:
                placed.append(_PlacedTile(tile, tile.coords(), row, column))
            column += tile.shape[1]
        row += tiles[0].shape[0]
    return _endpoint(placed, (column, row) if transposed else (row, column), bits or grid[0][0].width)


# -- ldmatrix and stmatrix -----------------------------------------------------------------------------------


def is_stack(operand: Operand) -> bool:
    """Whether it is R of ldmatrix or stmatrix: matrices stacked in the order of their rows in memory."""
    return operand.name == "R" and operand.axes == ("row", "column") and operand.layout is not None


def _rows_of_a_matrix(stack: Operand) -> tuple[int, bool]:
    """Rows of each matrix in a stack, and whether its instruction has `.trans`.

    With `.trans` the elements of a register lie in one column of the matrix in memory, without it in one row.
    """
    assert stack.layout is not None
    _, row_step, _ = stack.layout.element[0]
    lanes, rows_apart, _ = stack.layout.lane[0]
    return (lanes * rows_apart, True) if row_step > 0 else (8, False)


def endpoints_with_stack(
    stack_grid: list[list[Operand]], other_grid: list[list[Operand]], stack_title: str, other_title: str
) -> tuple[Endpoint, Endpoint]:
    """R, and the operand it is loaded for, over one matrix whose rows are those of memory.

    Without `.trans` a row of memory runs along K (along N for C and D), with it along M or N (M for C and D).
    The matrices follow each other along M or N first, then along K.
    """
    stacks = [tile for row in stack_grid for tile in row]
    other = other_grid[0][0]
    height, has_trans = _rows_of_a_matrix(stacks[0])
    k_axis = next((axis for axis, name in enumerate(other.axes) if name.lower() == "k"), 1)
    bits = min(stacks[0].width, other.width)
    target = endpoint_of_blocks(other_grid, other_title, bits, transposed=k_axis == (1 if has_trans else 0))
    row_bits = target.shape[1] * bits
    shape = target.shape[0], row_bits // stacks[0].width
    placed: list[_PlacedTile] = []
    for stack in stacks:
        matrices_across = max(1, row_bits // (stack.shape[1] * stack.width))
        matrices_down = max(1, shape[0] // height)
        coords = stack.coords()
        for first_row in range(0, stack.shape[0] // height * height, height):
            if has_trans:
                down, across = divmod(len(placed), matrices_across)
            else:
                across, down = divmod(len(placed), matrices_down)
            of_matrix = coords[coords[..., 0] // height == first_row // height].reshape(len(coords), -1, 2)
            of_matrix = of_matrix - [first_row, 0]
            placed.append(_PlacedTile(stack, of_matrix, down * height, across * stack.shape[1]))
    are_inside = all(
        tile.row + tile.coords[..., 0].max() < shape[0] and tile.column + tile.coords[..., 1].max() < shape[1]
        for tile in placed
    )
    endpoint = _endpoint(placed, shape, bits)
    # The cells of the target are more than its elements where it holds some of them twice.
    if endpoint.cells.size != target.shape[0] * target.shape[1] or not are_inside:
        others = size_text([tile for row in other_grid for tile in row])
        raise PtxlabError(
            f"{stack_title} is {size_text(stacks)} and {other_title} is {others}: the {len(placed)} matrices "
            f"of R do not make up {other.name}; a list such as [r, r] gives more"
        )
    return endpoint._replace(operands=tuple(stacks)), target


def size_text(tiles: Sequence[Operand]) -> str:
    """``2 tiles of D 16x8 f32``."""
    names = Counter(f"{tile.name} {tile.shape[0]}x{tile.shape[1]} {tile.dtype}" for tile in tiles)
    return " and ".join(name if count == 1 else f"{count} tiles of {name}" for name, count in names.items())
