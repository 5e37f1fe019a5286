"""Tiles in shared memory: the byte offsets of their 16-byte vectors, slices that wgmma reads, swizzles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, is_a, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.form import Form
from ..isa.operand import Operand, Packing
from ..memory import BANKS, SWIZZLES, Tile
from ..memory.swizzle import swizzled
from ..memory.tcgen05_tiles import line_bits, shared_tile, stored_bits
from .colour_keys import (
    BANK_COLOURS,
    VECTOR_HUES,
    TileColour,
    bank_key,
    bank_tint,
    colour_key,
    core_matrix_tint,
)
from .grid import Arrow, Cell, Entry, Grid, Header, State, uniform_grid
from .labels import index_range
from .picture import Picture

_MAX_VECTORS = 4096  # of a tile that a picture shows
SLICE_BYTES = 32  # along K, that one wgmma reads


def operand_tile(ins: Form, op: Operand, swizzle: int = 0, colour: TileColour = "auto") -> Picture:
    """An operand in the shared memory of a CTA: the 16-byte vectors of every row with their byte offsets.

    Eight rows of a vector are a core matrix. Colours say which, or which banks the bytes lie in. Narrow
    elements of tcgen05.mma lie there as PTX packs them.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    >>> cells = operand_tile(ins, ins.b, swizzle=32).grids[0].cells
    >>> [cell.text for cell in cells[8:12]]   # n 4 and 5: from row 4 on the vectors are swapped
    ['0x0090', '0x0080', '0x00b0', '0x00a0']
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f8f6f4", a="e2m1")
    >>> [head.text for head in operand_tile(ins, ins.a).grids[0].columns]   # 64 bits, then padding
    ['k 0..15', 'k 16..31']
    """
    memory = shared_tile(op, swizzle)
    title = f"{op.name} of {ins.mnemonic} in shared memory"
    if memory.major == "MN":
        picture = tile(memory, colour="bank" if colour == "bank" else "core matrix")
        return replace(picture, title=title, notes=(op.describe(), *picture.notes))
    along_k = _elements_of_vectors(op, memory)
    outer, line = (op.axes[0], "row") if op.axes[0] == "m" else (op.axes[1], "column")
    columns, labelled = len(along_k), memory.rows <= 64

    def entry(row: int, vector: int) -> Entry:
        offset = int(memory.offset(row, vector * memory.core_width))
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(row // 8, vector)
        tooltip = (
            f"{line} {row} of {op.name}, {along_k[vector]}\n"
            f"bytes {index_range(offset, 16)} of the tile, banks {index_range(offset // 4 % BANKS, 4)}\n"
            f"core matrix {row // 8 * columns + vector}, row {row % 8} of 8"
        )
        return Entry((f"0x{offset:04x}",) if labelled else (), tint, tooltip)

    rules = tuple(range(8, memory.rows, 8))
    shape, step = (memory.rows, columns), 1 if labelled else 8
    grid = uniform_grid(shape, entry, step, along_k, (outer, ""), name=op.name, row_rules=rules)
    groups = tuple(
        Header(row, 8, ("core matrices", index_range(row // 8 * columns, columns)))
        for row in range(0, memory.rows, 8)
    )
    width = f"{swizzle}-byte swizzle" if swizzle else "no swizzle"
    notes = [f"{op.describe()}, {memory.size} bytes, {width}", *_packing_notes(op, memory, line)]
    notes += [
        "a core matrix is 8 rows of 16 bytes",
        f"leading dimension offset {memory.leading}, stride dimension offset {memory.stride} bytes",
        BANK_COLOURS if colour == "bank" else f"hue: {outer} / 8, shade: 16 bytes of k",
    ]
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture(title, tuple(notes), (replace(grid, row_groups=groups),), keys=keys)


def k_major_vectors(op: Operand) -> tuple[Tile, NDArray[np.int64]]:
    """The K-major tile of an operand in shared memory, and the 16-byte vector in which each k begins.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", a="e2m3", k=64)
    >>> k_major_vectors(ins.a)[1][[0, 21, 22]].tolist()   # 128 bits end in the 22nd element of 6 bits
    [0, 0, 1]
    """
    if op.packing is not None:
        op = replace(op, packing=replace(op.packing, mn_major=False))
    return shared_tile(op), _first_bits(op) // 128


def _first_bits(op: Operand) -> NDArray[np.int64]:
    """The bit of its row at which each element along K begins."""
    return line_bits(op, op.shape[1] if op.axes[0] == "m" else op.shape[0])


def _elements_of_vectors(op: Operand, memory: Tile) -> list[str]:
    """The elements along K in each 16 bytes of a row: ``k 0..7``; one of 6 bits may end in the next."""
    first_bits, bits = _first_bits(op), stored_bits(op)
    texts = []
    for start in range(0, 8 * memory.row_bytes, 128):
        here = np.flatnonzero((first_bits + bits > start) & (first_bits < start + 128))
        texts.append(f"k {index_range(int(here[0]), len(here))}" if here.size else "padding")
    return texts


def _packing_notes(op: Operand, memory: Tile, line: str) -> list[str]:
    """How a matrix is divided between CTAs, and its narrow elements packed."""
    notes, packing = [], op.packing or Packing()
    if packing.ctas == 2:
        notes.append(f"drawn for CTA 0; CTA 1 has {line}s {index_range(memory.rows, memory.rows)}")
    if packing.padded:
        notes.append("16 elements, then padding, in 16 bytes")
    if packing.indexed:
        notes.append(f"indices of {stored_bits(op)} bits into a table")
    return notes


def tile(layout: Tile, k: int | None = None, colour: str = "core matrix", *, title: bool = True) -> Picture:
    """A tile in shared memory: the byte offset of every 16 bytes, and with `k` the slice that starts there.

    Lines are rows in a K-major tile, and steps of K in an MN-major one.

    >>> grid = tile(Tile(bits=16, rows=16, k=64, swizzle=128), k=16).grids[0]
    >>> grid.at(1, 2).text, grid.at(1, 2).state   # row 1, k 16..23
    ('0x00b0', 'mark')
    """
    if not is_a(layout, Tile):
        raise PtxlabError(f"expected a memory.Tile, found {quoted(layout)}")
    if not is_name(colour, ("core matrix", "bank")):
        raise PtxlabError(f"colour={quoted(colour)}: there are core matrix, bank")
    lines, length = (layout.rows, layout.k) if layout.major == "K" else (layout.k, layout.rows)
    vectors = length // layout.core_width
    if lines * vectors > _MAX_VECTORS:
        raise PtxlabError(f"a tile of {lines * vectors} vectors: a picture shows at most {_MAX_VECTORS}")
    depth = SLICE_BYTES * 8 // layout.bits
    notes = [
        f"{layout.rows}x{layout.k} elements of {layout.bits} bits, {layout.major}-major, {layout.size} bytes"
    ]
    notes.append(f"LBO {layout.leading}, SBO {layout.stride} bytes")
    if k is not None:
        notes.append(
            f"outlined: what wgmma reads at k={as_int(k, 'k')}, descriptor 0x{layout.descriptor(0, k):x}"
        )
    outer, inner = ("row", "k") if layout.major == "K" else ("k", "row")

    def entry(line: int, vector: int) -> Entry:
        first = vector * layout.core_width
        row, along = (line, first) if layout.major == "K" else (first, line)
        offset = int(layout.offset(row, along))
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(line // 8, vector)
        tooltip = (
            f"{outer} {line}, {inner} {index_range(first, layout.core_width)}\n"
            f"bytes {index_range(offset, 16)}, banks {index_range(offset // 4 % BANKS, 4)}"
        )
        read = k is not None and k <= along < k + depth
        return Entry((f"0x{offset:04x}",), tint, tooltip, "mark" if read else "plain")

    heads = [index_range(first, layout.core_width) for first in range(0, length, layout.core_width)]
    rules = tuple(range(8, lines, 8))
    grid = uniform_grid((lines, vectors), entry, 1, heads, (outer, inner), name="tile", row_rules=rules)
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture("A tile in shared memory", tuple(notes), (grid,), keys=keys).with_title(title)


# -- swizzles --------------------------------------------------------------------------------------------

_ROW_BYTES = 128  # one word in each of 32 banks


def swizzle(width: int = 128, vector: int | None = None, *, title: bool = True) -> Picture:
    """Where a swizzle puts the 16-byte vectors of eight rows, beside where they would be without it.

    Each row is 128 bytes of shared memory, all 32 banks once. A colour is a core matrix, whose eight vectors
    are read together; `vector` outlines one of them.

    >>> plain, swizzled = swizzle(128, vector=2).grids
    >>> [plain.at(line, 2).text for line in range(3)], [swizzled.at(line, 2).text for line in range(3)]
    (['0.2', '1.2', '2.2'], ['0.2', '1.3', '2.0'])
    """
    width = _checked_width(width)
    vectors = width // 16
    if vector is not None:
        vector = as_int(vector, "vector")
        if not 0 <= vector < vectors:
            raise PtxlabError(
                f"vector={quoted(vector)}: a row of {width} bytes has vectors 0 to {vectors - 1}"
            )
    tile = Tile(bits=8, rows=8, k=width, swizzle=width)
    plain = {(row, at): row * width + at * 16 for row in range(8) for at in range(vectors)}
    moved = {(row, at): int(tile.offset(row, at * 16)) for row, at in plain}
    grids = (
        _memory_rows(plain, "without swizzle", vector),
        _memory_rows(moved, f"with the {width}-byte swizzle", vector),
    )
    notes = (
        "r.c is 16-byte vector c of row r",
        "vectors of one colour, a core matrix, are read together",
        f"reading one takes {_wavefronts(plain)} wavefronts without swizzle, {_wavefronts(moved)} with it",
    )
    texts = [f"c = {at}" for at in range(vectors)]
    key = colour_key("core matrices", texts, [_hue(at) for at in range(vectors)], texts)
    heading = f"The {width}-byte swizzle of eight rows in shared memory"
    return Picture(heading, notes, grids, keys=(key,)).with_title(title)


_MIN_BITS = 11  # of an address that the picture of its bits shows
_ROW_HUE, _VECTOR_HUE, _RESULT_HUE = 29, 10, 26


def swizzle_bits(address: int, width: int = 128, *, title: bool = True) -> Picture:
    """What a swizzle does to an address: its bits 7 and up, the 128-byte row, are XORed into bits 4 and up.

    >>> picture = swizzle_bits(0x4A0, 128)
    >>> picture.title
    '0x4a0 under the 128-byte swizzle: 0x4b0'
    >>> len(picture.arrows)
    3
    """
    address, width = as_int(address, "address"), _checked_width(width)
    if not 0 <= address < 1 << 18:
        raise PtxlabError(f"address {quoted(address)}: shared memory has addresses below 2^18")
    result = int(swizzled(np.array(address), width))
    count = (width // 16).bit_length() - 1  # of bits that change
    grid, arrows = _xor_grid(address, result, count)
    vector_bits, line_bits = (index_range(low, count) for low in (4, 7))
    notes = (
        "bits 0..3: the byte in its 16-byte vector",
        f"{vector_bits}: the vector",
        f"{line_bits}: the 128-byte row",
        "outlined: what changes",
    )
    heading = f"0x{address:x} under the {width}-byte swizzle: 0x{result:x}"
    return Picture(heading, notes, (grid,), arrows=arrows).with_title(title)


def _checked_width(width: object) -> int:
    """The width of a swizzle, in bytes."""
    number = as_int(width, "width")
    if number not in SWIZZLES or not number:
        raise PtxlabError(f"width={quoted(number)}: swizzles are {listing(sorted(SWIZZLES)[1:])} bytes wide")
    return number


def _xor_grid(address: int, result: int, count: int) -> tuple[Grid, tuple[Arrow, ...]]:
    """The bits of an address, what is XORed into `count` of them from bit 4 on, and those of the result."""
    bits = max(_MIN_BITS, address.bit_length())
    cells: list[Cell] = []
    added: dict[int, Cell] = {}  # what is XORed into a bit
    sources: dict[int, Cell] = {}
    hover = np.full((4, bits), "", dtype=object)
    for bit in range(bits):
        column = bits - 1 - bit
        target = 4 <= bit < 4 + count
        tint = _ROW_HUE if 7 <= bit < 7 + count else None
        sources[bit] = Cell(0, column, 1, 1, (str(address >> bit & 1),), _VECTOR_HUE if target else tint)
        below = Cell(2, column, 1, 1, (), role="blank")
        if target:
            below = added[bit] = Cell(2, column, 1, 1, (f"⊕ {address >> bit + 3 & 1}",), _ROW_HUE)
        state: State = "mark" if (address ^ result) >> bit & 1 else "plain"
        last = Cell(3, column, 1, 1, (str(result >> bit & 1),), _RESULT_HUE if target else tint, state)
        cells += [sources[bit], below, last]
        hover[:, column] = f"bit {bit}, worth {1 << bit} bytes"
    cells.append(Cell(1, 0, 1, bits, (), role="blank"))
    rows = ((0, f"0x{address:x}"), (2, "XOR"), (3, f"0x{result:x}"))
    grid = Grid(
        (4, bits),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (word,)) for row, word in rows),
        tuple(Header(bits - 1 - bit, 1, (str(bit).rjust(3),)) for bit in range(bits)),
        ("", "bit"),
        name="address",
        boxes=((0, 0, 1, bits), (3, 0, 1, bits)),
    )
    return grid, tuple(Arrow(sources[bit + 3], cell) for bit, cell in added.items())


def _hue(vector: int) -> int:
    return VECTOR_HUES[vector] * 4 + 1


def _wavefronts(places: dict[tuple[int, int], int]) -> int:
    """How often the fullest banks are used to read the eight vectors of a core matrix."""
    return max(
        max(Counter(offset % _ROW_BYTES for (_, at), offset in places.items() if at == vector).values())
        for vector in {at for _, at in places}
    )


def _memory_rows(places: dict[tuple[int, int], int], title: str, vector: int | None) -> Grid:
    """Shared memory in 128-byte rows, with the vector that is at each place."""
    stored = {offset: place for place, offset in places.items()}

    def entry(line: int, column: int) -> Entry:
        offset = line * _ROW_BYTES + column * 16
        row, at = stored[offset]
        tooltip = (
            f"row {row}, vector {at}\nbytes {index_range(offset, 16)}, banks {index_range(4 * column, 4)}"
        )
        return Entry((f"{row}.{at}",), _hue(at), tooltip, "mark" if at == vector else "plain")

    lines = len(places) // 8
    columns = [str(4 * column) for column in range(8)]
    bytes_of = [str(line * _ROW_BYTES) for line in range(lines)]
    grid = uniform_grid((lines, 8), entry, bytes_of, columns, ("byte", "first bank"), title)
    return replace(grid, cells=tuple(sorted(grid.cells, key=lambda cell: cell.text)))  # row by row
