"""Tiles in shared memory: the byte offsets of their 16-byte pieces, and the slices that wgmma reads."""

from __future__ import annotations

import numpy as np

from .._util.arguments import as_int, is_a, is_name
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.operand import Operand
from ..memory import BANKS, Descriptor, Tile
from .colours import BANK_COLOURS, TileColour, bank_key, bank_tint, core_matrix_tint
from .grid import Cell, Grid, Header, State, headers
from .labels import index_range
from .picture import Picture
from .table import Table, Value

__all__ = ["operand_tile", "slice_bytes", "slices", "tile"]

_MOST_LINES = 128  # of a tile that a picture shows
_DEPTH_BYTES = 32  # along K, that one wgmma reads


def operand_tile(ins: Form, op: Operand, swizzle: int = 0, colour: TileColour = "auto") -> Picture:
    """An operand in shared memory, K-major: the 16-byte pieces of every row with their byte offsets.

    Eight rows of a piece are a core matrix. Colours say which, or which banks the bytes lie in.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    >>> cells = operand_tile(ins, ins.b, swizzle=32).grids[0].cells
    >>> [cell.text for cell in cells[8:12]]   # n 4 and 5: from row 4 on the pieces are swapped
    ['0x0090', '0x0080', '0x00b0', '0x00a0']
    """
    memory = Tile.of(op, swizzle)
    columns, per_piece = memory.row_bytes // 16, 128 // op.dtype.bits
    labelled = memory.rows <= 64
    outer, line = (op.axes[0], "row") if op.axes[0] == "m" else (op.axes[1], "column")
    cells, hover = [], np.empty((memory.rows, columns), dtype=object)
    for row, piece in np.ndindex(memory.rows, columns):
        offset = int(memory.offset(row, piece * per_piece))
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(row // 8, piece)
        cells.append(Cell(row, piece, 1, 1, (f"0x{offset:04x}",) if labelled else (), tint))
        banks = index_range(offset // 4 % BANKS, 4)
        hover[row, piece] = "\n".join(
            [
                f"{line} {row} of {op.name}, k {index_range(piece * per_piece, per_piece)}",
                f"bytes {index_range(offset, 16)} of the tile, banks {banks}",
                f"core matrix {row // 8 * columns + piece}, row {row % 8} of 8",
            ]
        )
    grid = Grid(
        (memory.rows, columns),
        tuple(cells),
        hover,
        headers(memory.rows, 1 if labelled else 8),
        tuple(Header(p, 1, (f"k {index_range(p * per_piece, per_piece)}",)) for p in range(columns)),
        (outer, ""),
        name=op.name,
        row_rules=tuple(range(8, memory.rows, 8)),
        row_groups=tuple(
            Header(row, 8, ("core matrices", index_range(row // 8 * columns, columns)))
            for row in range(0, memory.rows, 8)
        ),
    )
    swizzled = f"{swizzle}-byte swizzle" if swizzle else "no swizzle"
    notes = (
        f"{op.describe()}, {memory.size} bytes, {swizzled}",
        "a core matrix is 8 rows of 16 bytes",
        f"leading dimension offset {memory.leading}, stride dimension offset {memory.stride} bytes",
        BANK_COLOURS if colour == "bank" else f"hue: {outer} / 8, shade: 16 bytes of k",
    )
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture(f"{op.name} of {ins.mnemonic} in shared memory", notes, (grid,), keys=keys)


def tile(layout: Tile, k: int | None = None, colour: str = "core matrix") -> Picture:
    """A tile in shared memory: the byte offset of every 16 bytes, and with `k` the slice that starts there.

    Lines are rows in a K-major tile, and steps of K in an MN-major one.

    >>> grid = tile(Tile(bits=16, rows=16, k=64, swizzle=128), k=16).grids[0]
    >>> grid.at(1, 2).text, grid.at(1, 2).state   # row 1, k 16..23
    ('0x00b0', 'mark')
    """
    if not is_a(layout, Tile):
        raise PtxlabError(f"found {quoted(layout)}; memory.Tile(...) is a tile")
    if not is_name(colour, ("core matrix", "bank")):
        raise PtxlabError(f"colour={quoted(colour)}: there are core matrix, bank")
    lines, length = (layout.rows, layout.k) if layout.major == "K" else (layout.k, layout.rows)
    pieces = length // layout.core_width
    if lines * pieces > 32 * _MOST_LINES:
        raise PtxlabError(f"a tile of {lines * pieces} pieces: a picture shows {32 * _MOST_LINES}")
    depth = _DEPTH_BYTES * 8 // layout.bits
    notes = [
        f"{layout.rows}x{layout.k} elements of {layout.bits} bits, {layout.major}-major, {layout.size} bytes"
    ]
    notes.append(f"LBO {layout.leading}, SBO {layout.stride} bytes")
    if k is not None:
        notes.append(
            f"outlined: what wgmma reads at k={as_int(k, 'k')}, descriptor 0x{layout.descriptor(0, k):x}"
        )
    cells, hover = [], np.full((lines, pieces), "", dtype=object)
    for line, piece in np.ndindex(lines, pieces):
        first = piece * layout.core_width
        row, along = (line, first) if layout.major == "K" else (first, line)
        offset = int(layout.offset(row, along))
        state: State = "mark" if k is not None and k <= along < k + depth else "plain"
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(line // 8, piece)
        cells.append(Cell(line, piece, 1, 1, (f"0x{offset:04x}",), tint, state))
        inner = "k" if layout.major == "K" else "row"
        outer = "row" if layout.major == "K" else "k"
        hover[line, piece] = (
            f"{outer} {line}, {inner} {index_range(first, layout.core_width)}\n"
            f"bytes {index_range(offset, 16)}, banks {index_range(offset // 4 % BANKS, 4)}"
        )
    axes = ("row", "k") if layout.major == "K" else ("k", "row")
    grid = Grid(
        (lines, pieces),
        tuple(cells),
        hover,
        headers(lines, 1),
        tuple(Header(p, 1, (index_range(p * layout.core_width, layout.core_width),)) for p in range(pieces)),
        axes,
        name="tile",
        row_rules=tuple(range(8, lines, 8)),
    )
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture("A tile in shared memory", tuple(notes), (grid,), keys=keys)


def slices(tile: Tile, address: int = 0) -> Table:
    """The descriptor of every slice of a tile at an address.

    >>> slices(Tile(bits=16, rows=64, k=32, swizzle=64), 0x400).records()[1]
    {'k': 16, 'address': '0x420', 'LBO': 16, 'SBO': 512, 'base offset': 0, 'descriptor': '0x8000002000010042'}
    """
    depth = _DEPTH_BYTES * 8 // tile.bits
    rows = []
    for k in range(0, max(tile.k - depth, 0) + 1, depth):
        part = tile.slice(address, k)
        rows.append(
            (k, f"0x{part.address:x}", part.leading, part.stride, part.base_offset, f"0x{part.code:x}")
        )
    return Table(("k", "address", "LBO", "SBO", "base offset", "descriptor"), tuple(rows))


def slice_bytes(fields: Descriptor, bits: int, rows: int, depth: int, major: str = "K") -> Table:
    """The address of every 16 bytes that wgmma reads through a descriptor, in its order.

    >>> slice_bytes(Descriptor(0x400, 16, 1024, 128), 16, 8, 16).records()[1]
    {'row': 1, 'k 0..7': '0x490', 'k 8..15': '0x480'}
    """
    core = 128 // bits
    lines, length, names = (rows, depth, ("row", "k")) if major == "K" else (depth, rows, ("k", "row"))
    starts = np.arange(0, length, core)
    line, first = np.arange(lines)[:, None], starts[None, :]
    row, along = (line, first) if major == "K" else (first, line)
    where = fields.addresses(row, along, bits=bits, major="K" if major == "K" else "MN")
    heads = (names[0], *(f"{names[1]} {index_range(int(start), core)}" for start in starts))
    body: list[tuple[Value, ...]] = []
    tints: list[tuple[int | None, ...]] = []
    for number, found in enumerate(where.tolist()):
        body.append((number, *(f"0x{byte:x}" for byte in found)))
        tints.append((None, *(byte // 16 % 8 * 4 for byte in found)))
    return Table(heads, tuple(body), tuple(tints))
