"""Scale factors on their way: a 128x4 tile as a matrix, in shared memory, and in tensor memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._util.arguments import as_index
from ..memory.scales import scale_offset
from .grid import Cell, Grid, Header, State, headers
from .labels import index_range
from .picture import Picture

__all__ = ["scale_tile"]


def scale_tile(row: int | None = None) -> Picture:
    """A 128x4 tile of scale factors: the matrix, its 512 bytes of shared memory, and tensor memory after cp.

    Four scales of a row are one word. tcgen05.cp.32x128b.warpx4 takes 32 lines of 16 bytes into the same 32
    lanes of all four warps. `row` outlines the scales of one row of A, or column of B.

    >>> _, shared, tensor = scale_tile(row=37).grids
    >>> shared.at(5, 4).text, shared.hover[5, 6], tensor.at(5, 1).state
    ('37', 'row 37, scale 2\\nbyte 0x56 of shared memory', 'mark')
    """
    if row is not None:
        row = as_index(row, "row", 128)
    notes = (
        "numbers in cells: rows of A, or columns of B; four scales of one are a word",
        "tcgen05.cp.32x128b.warpx4 copies 32 lines of 16 bytes to the lanes of each warp",
        "hues: 32 rows each",
    )
    return Picture(
        "Scale factors: 128x4 tile, shared memory, tensor memory",
        notes,
        (_scale_matrix(row), _scale_bytes(row), _scale_words(row)),
    )


def _scale_cell(line: int, row: int, place: tuple[int, int, int, int], marked: int | None) -> Cell:
    state: State = "mark" if row == marked else "plain"
    return Cell(*place, (str(row),), 4 * line + 1, state)


def _scale_matrix(marked: int | None) -> Grid:
    """The tile as a matrix, 32 rows in a cell."""
    cells = [Cell(8 * part, 0, 8, 4, (f"{32 * part}..{32 * part + 31}",), 4 * part + 1) for part in range(4)]
    if marked is not None:
        at = marked // 32
        cells[at] = replace(cells[at], state="mark")
    hover = np.empty((32, 4), dtype=object)
    for place, scale in np.ndindex(32, 4):
        hover[place, scale] = f"rows {index_range(place * 4, 4)}, scale {scale}"
    return Grid(
        (32, 4),
        tuple(cells),
        hover,
        tuple(Header(8 * part, 8, (index_range(32 * part, 32),)) for part in range(4)),
        headers(4, 1),
        ("row", "scale"),
        title="matrix",
        name="matrix",
        density="close",
    )


def _scale_bytes(marked: int | None) -> Grid:
    """The 512 bytes of shared memory, 16 in a line."""
    cells, hover = [], np.empty((32, 16), dtype=object)
    for row in range(128):
        offset = int(scale_offset(row, 0, columns=4))
        line, byte = divmod(offset, 16)
        cells.append(_scale_cell(row // 32, row, (line, byte, 1, 4), marked))
        for scale in range(4):
            hover[line, byte + scale] = (
                f"row {row}, scale {scale}\nbyte 0x{offset + scale:02x} of shared memory"
            )
    return Grid(
        (32, 16),
        tuple(cells),
        hover,
        tuple(Header(line, 1, (f"0x{16 * line:03x}",)) for line in range(32)),
        tuple(Header(4 * word, 4, (index_range(4 * word, 4),)) for word in range(4)),
        ("", "byte"),
        title="shared memory",
        name="shared memory",
        density="close",
    )


def _scale_words(marked: int | None) -> Grid:
    """Four columns of tensor memory: 32 lanes, and the copies of them in the other 96."""
    shape = (38, 4)
    cells, hover = [], np.empty(shape, dtype=object)
    for row in range(128):
        lane, column = row % 32, row // 32
        cells.append(_scale_cell(column, row, (lane, column, 1, 1), marked))
        hover[lane, column] = (
            f"scales 0 to 3 of row {row}\nlanes {lane}, {lane + 32}, {lane + 64}, {lane + 96}"
        )
    heads = [Header(lane, 1, (str(lane),)) for lane in range(32)]
    for copy in range(1, 4):
        at = 30 + 2 * copy
        heads.append(Header(at, 2, (index_range(32 * copy, 32),)))
        for column in range(4):
            cells.append(Cell(at, column, 2, 1, ("same",), 4 * column + 1))
        hover[at : at + 2] = f"the same as lanes 0..31, for warp {copy}"
    return Grid(
        shape,
        tuple(cells),
        hover,
        tuple(heads),
        headers(4, 1),
        ("lane", "column"),
        title="tensor memory",
        name="tensor memory",
        density="close",
        row_rules=(32, 34, 36),
    )
