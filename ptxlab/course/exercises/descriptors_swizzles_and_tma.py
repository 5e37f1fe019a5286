"""Lesson 06: tiles, swizzles, descriptors of slices, TMA, and fragments that become operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, wrapped
from ...instruction import mma_instruction
from ...memory import Descriptor, Tile, descriptor, tensor_map, weight_order
from ...memory.swizzle import swizzled
from ...views import Cell, Header, Picture
from ...views.colour_keys import CHUNK_HUES, core_matrix_tint
from ...views.grid import Entry, headers, numbered_grid, uniform_grid
from ...views.labels import index_range
from ..answers import WrongForm, whole_number_set, whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, drawn, otherwise, when

#: Bytes in a chunk, in a row of all banks (4 bytes of each), and in an atom of the 128-byte swizzle.
_CHUNK, _LINE, _ATOM = 16, 128, 1024

# -- what the lesson shows -----------------------------------------------------------------------------------


def majors() -> Picture:
    """A 16x16 tile of f16 without a swizzle, K-major and MN-major, with the offset of every 16 bytes.

    >>> first, second = majors().grids
    >>> first.at(0, 8).text, second.at(8, 0).text
    ('128', '128')
    """
    grids = []
    for major, direction in (("K", "across"), ("MN", "down")):
        tile = Tile(bits=16, rows=16, k=16, major="K" if major == "K" else "MN")
        cells, hover = [], np.full((16, 16), "", dtype=object)
        for line, chunk in np.ndindex(16, 2):
            row, k = (line, 8 * chunk) if major == "K" else (8 * chunk, line)
            offset = int(tile.offset(row, k))
            size = (1, 8) if major == "K" else (8, 1)
            tint = core_matrix_tint(offset // _LINE * 2, 1)
            cells.append(Cell(row, k, *size, (str(offset),), tint))
            hover[row : row + size[0], k : k + size[1]] = (
                f"bytes {index_range(offset, _CHUNK)}, core matrix {offset // _LINE}"
            )
        title = f"{major}-major: 16 bytes run {direction}"
        grid = numbered_grid(cells, hover, ("row", "k"), title, "close")
        if major == "K":
            grid = replace(grid, columns=headers(16, 8))
        grids.append(replace(grid, row_rules=(8,), column_rules=((8, 0, 16),)))
    notes = ("a cell is 16 bytes, labelled with its first byte", "a colour is a core matrix, 128 bytes")
    return Picture("Two ways to store 16x16 elements of 16 bits", notes, tuple(grids))


def atoms(rows: int = 32, k: int = 128) -> Picture:
    """The atoms of a tile of f16 with the 128-byte swizzle, in both orders, with the offset of each atom.

    >>> first, second = atoms().grids
    >>> first.at(0, 1).text, second.at(0, 1).text
    ('0x1000', '0x400')
    """
    grids = []
    for order, meaning in (("MN", "rows first"), ("K", "K first")):
        tile = Tile(bits=16, rows=rows, k=k, swizzle=128, order="MN" if order == "MN" else "K")
        shape = rows // 8, k // tile.atom_width

        def entry(row: int, column: int, tile: Tile = tile) -> Entry:
            offset = int(tile.offset(8 * row, tile.atom_width * column))
            number = offset // _ATOM
            tooltip = f"atom {number}, bytes 0x{offset:x} to 0x{offset + _ATOM - 1:x}"
            return Entry((f"0x{offset:x}",), CHUNK_HUES[number % 8] * 4 + 1, tooltip)

        columns = [f"k {index_range(64 * at, 64)}" for at in range(shape[1])]
        title = f'order="{order}": {meaning}, SBO {tile.stride}'
        row_names = [index_range(8 * at, 8) for at in range(shape[0])]
        grids.append(uniform_grid(shape, entry, row_names, columns, ("row", ""), title))
    notes = ("a cell is an atom: 8 rows of 128 bytes, 1024 bytes", "its label is where it begins")
    return Picture(f"{rows} rows by {k} of K: {rows // 8 * k // 64} atoms", notes, tuple(grids))


def loads(lanes: int = 8) -> Picture:
    """The elements that the first lanes get from one 128-bit load of f16 weights stored in `weight_order`.

    >>> loads().grids[0].at(1, 0).text
    'B[2][0]'
    """
    order = weight_order(_F16.b, (16, 32))

    def entry(lane: int, at: int) -> Entry:
        k, n = divmod(int(order.loads[0, lane, at]), 32)
        span = index_range(2 * at, 2)
        tooltip = f"lane {lane}, bytes {span} of its load: row k = {k}, column n = {n}"
        return Entry((f"B[{k}][{n}]",), lane, tooltip)

    grid = replace(
        uniform_grid((lanes, order.per_load), entry, [f"lane {lane}" for lane in range(lanes)], []),
        columns=tuple(Header(4 * at, 4, (f"fragment {at}: b0..b3",)) for at in range(2)),
    )
    notes = ("a row is 16 bytes of memory, and the next row follows it", f"{lanes} of 32 lanes")
    return Picture("One 128-bit load brings two fragments of B", notes, (grid,))


def mistakes() -> dict[str, str]:
    """The errors of `ptxlab.tensor_map` for settings that TMA does not accept.

    >>> list(mistakes())[0]
    'rows of 200 bytes'
    """
    array = np.zeros((64, 256), dtype=np.float16)
    attempts: dict[str, Callable[[], object]] = {
        "rows of 200 bytes": lambda: tensor_map(np.zeros((64, 100), dtype=np.float16), (64, 32)),
        "box of 64x128, swizzle 128": lambda: tensor_map(array, (64, 128), 128),
        "box of 512x64": lambda: tensor_map(np.zeros((512, 64), dtype=np.float16), (512, 64)),
        "box of 64x4": lambda: tensor_map(array, (64, 4)),
        "start at column 4": lambda: tensor_map(array, (64, 64), 128).load(0, 4),
    }
    sentences = {}
    for name, attempt in attempts.items():
        try:
            attempt()
        except PtxlabError as error:
            sentences[name] = wrapped(f"    {error}")
    return sentences


# -- exercises ---------------------------------------------------------------------------------------------

_F16 = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
_FP8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
_TILE = Tile(bits=16, rows=64, k=64, swizzle=128)
_ROW, _K = drawn("06.1", "row {}, k = {}", (11, 42), (13, 26), (10, 51), (14, 19), (9, 37), (12, 45))


@checks("06.1")
def _swizzled_byte(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of bytes")
    expected = int(_TILE.offset(_ROW, _K))
    chunk, rest = divmod(2 * _K, _CHUNK)
    plain = _ROW * _LINE + 2 * _K
    return {
        correct(submitted == expected): f"Row {_ROW} begins at byte {_ROW * _LINE}. Byte {2 * _K} of "
        f"the row is byte {rest} of chunk {chunk}, and {chunk} XOR {_ROW % 8} = {chunk ^ _ROW % 8}.",
        when(submitted == plain): "That is where it would be without the swizzle. Which chunk of its row is "
        "it in?",
        when(submitted == _ROW * _LINE + (chunk + _ROW) % 8 * _CHUNK + rest): "You rotated the chunks. The "
        "swizzle takes the XOR of chunk and row.",
        when(submitted == _ROW * _LINE + (chunk ^ _ROW) * _CHUNK + rest): "Only three bits of the row are "
        "used: bits 7, 8 and 9 of the address. The pattern repeats after eight rows.",
        when(submitted == expected - rest): "The chunk is in the right place. Where in the chunk does the "
        "element begin?",
        when(submitted == int(Tile(bits=8, rows=64, k=128, swizzle=128).offset(_ROW, _K))): "You counted "
        "one byte for each element. An f16 takes two.",
        when(submitted == expected // 2): "That counts elements. How many bytes is that?",
        when(submitted // _LINE != _ROW): f"Look at the row first: a row has {_LINE} bytes, and the swizzle "
        "never leaves its 128-byte row.",
        otherwise: "The row is right. Write the address without swizzle in binary: which bits are the "
        "chunk, and with which bits are they XORed?",
    }


_WIDTHS = (32, 64, 128)


@checks("06.2")
def _swizzle_function(answer: object) -> Sentences:
    offsets = np.arange(0, 2048, 12)
    form = "`place(offset, width)` returns one number of bytes"
    table = {
        width: np.array([whole_result_of(answer, int(offset), width, form=form) for offset in offsets])
        for width in _WIDTHS
    }
    right = {width: table[width] == swizzled(offsets, width) for width in _WIDTHS}
    wrong = [width for width in _WIDTHS if not right[width].all()]
    if not wrong:
        return {
            correct(True): "`offset ^ (offset >> 7 & width // 16 - 1) << 4`: one, two or three bits, "
            "starting at bit 7, are XORed into those that start at bit 4. CuTe calls it Swizzle<1,4,3>, "
            "Swizzle<2,4,3> and Swizzle<3,4,3>."
        }
    at = int(offsets[np.argmin(right[wrong[0]])])
    first = f"Look at offset {at} with width {wrong[0]}."
    rotated = {
        width: offsets // width * width + (offsets % width + (offsets >> 7) * _CHUNK) % width
        for width in _WIDTHS
    }
    by_row = {width: offsets ^ (offsets // width % (width // _CHUNK)) * _CHUNK for width in _WIDTHS}
    always = {width: swizzled(offsets, 128) for width in _WIDTHS}
    same = dict.fromkeys(_WIDTHS, offsets)

    def is_like(other: dict[int, NDArray[np.int64]]) -> bool:
        return all((table[width] == other[width]).all() for width in _WIDTHS)

    return {
        when(is_like(same)): "That changes nothing. Which bits are XORed into which?",
        when(is_like(always)): "That is the 128-byte swizzle for every width. How many bits do 64 and 32 "
        "use?",
        when(is_like(by_row)): f"{first} You took the row, offset // width. The swizzle takes bits of the "
        "address, starting at bit 7, however wide a row is.",
        when(is_like(rotated)): f"{first} You rotated the chunks; an XOR exchanges them.",
        when(all((table[width] % _CHUNK != offsets % _CHUNK).any() for width in _WIDTHS)): f"{first} The "
        "four lowest bits, the byte in its chunk, never change.",
        when(right[128].all()): f"128 bytes are right. {first} A narrower swizzle uses fewer bits, but the "
        "same ones: starting at bit 7, into bit 4 and up.",
        otherwise: f"{first} Take the bits that start at bit 7, as many as the chunks of a row need, and "
        "XOR them into the bits that start at bit 4.",
    }


_FP8_TILE = Tile(bits=8, rows=64, k=128, swizzle=128)
_FP8_AT, _FP8_K = 0x2C00, 64


@checks("06.3")
def _next_slice(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    fields = _decoded(submitted)
    first = _FP8_TILE.slice(_FP8_AT)
    moved = fields.address - first.address
    others = (fields.stride, fields.swizzle, fields.base_offset) == (first.stride, first.swizzle, 0)
    return {
        correct(not _FP8_TILE.judge(fields, _FP8_K, address=_FP8_AT).problems): f"{_FP8_K} elements of one "
        f"byte are {_FP8_K} bytes, 4 units of 16. Nothing else changes: the swizzle is applied after the "
        "addition.",
        when(not others): "Only the start address changes from slice to slice. Leave the upper fields as "
        "they are.",
        when(moved == 0): "That is still the first slice.",
        when(moved == _FP8_K * 16): "You added bytes to a field that counts units of 16 bytes.",
        when(moved == 2 * _FP8_K): "You counted two bytes for each element, but e4m3 has one.",
        when(moved == 32): "That is the second slice, at k = 32. Which one begins at k = 64?",
        otherwise: "How many bytes from k = 0 to k = 64 in one row? And how many units of 16 bytes is that?",
    }


def _decoded(number: int) -> Descriptor:
    """The fields of a reader's descriptor. Raises `WrongForm` if its bits are not a legal descriptor."""
    try:
        return descriptor(number)
    except PtxlabError as error:
        raise WrongForm(f"That is not a descriptor: {error}.") from None


@checks("06.4")
def _over_the_edge(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(rows first, K first)`, two numbers of bytes")
    tiles = [
        Tile(bits=16, rows=64, k=128, swizzle=128, order="MN"),
        Tile(16, 64, 128, swizzle=128, order="K"),
    ]
    expected = tuple(tile.slice(0, 64).address - tile.slice(0, 48).address for tile in tiles)
    starts = tuple(tile.slice(0, 64).address for tile in tiles)
    return {
        correct(submitted == expected): "The slice at k = 48 begins 96 bytes into the first atom. The next "
        "atom begins 8 atoms of 1024 bytes later, or 1 atom later. So a loop cannot simply add 32 bytes; "
        "CUTLASS's iterators know that.",
        when(submitted == expected[::-1]): "Both numbers are right, but in the wrong order.",
        when(submitted == starts): "That is where k = 64 begins, counted from the start of the tile. The "
        "loop is at k = 48 already.",
        when(submitted == (32, 32)): "Inside an atom it is 32 bytes. Here the loop leaves the atom.",
        when(submitted == tuple(step // 16 for step in expected)): "Those are units of 16 bytes, as the "
        "descriptor counts. How many bytes are they?",
        when(submitted[0] == expected[0]): "Rows first is right. With K first, which atom comes right after "
        "the first?",
        when(submitted[1] == expected[1]): "K first is right. With rows first, how many atoms, one below "
        "the other, are between the two?",
        otherwise: "Find where k = 64 begins in each order: an atom has 8 rows of 128 bytes, and the "
        "picture says how many lie before it. Then take away where k = 48 begins.",
    }


_BROKEN_AT = 0x1800
_BROKEN = Descriptor(_BROKEN_AT, 16, 512, 64).code


@checks("06.5")
def _mended(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    fields = _decoded(submitted)
    wanted = _TILE.slice(_BROKEN_AT)
    return {
        correct(not _TILE.judge(fields, address=_BROKEN_AT).problems): "The kernel's author had 64-byte "
        "rows in mind: code 2 for the swizzle, and 8 rows of 64 bytes as SBO. Rows are 128 bytes here, so "
        "code 1 and 8 x 128. LBO is ignored.",
        when(submitted == _BROKEN): "That is the wrong one, unchanged.",
        when(fields.address != wanted.address): "The start address was right; leave the lowest 14 bits as "
        "they were.",
        when(fields.base_offset != 0): "The tile begins at a multiple of 1024, so the base offset stays 0.",
        when(fields.swizzle == 32): "Codes of the swizzle do not grow with its width. Look at the codes "
        "once more.",
        when(fields.swizzle == wanted.swizzle and fields.stride == 512): "The swizzle is right. Now SBO: "
        "how many bytes from eight rows to the next eight?",
        when(fields.stride == wanted.stride): "SBO is right. Now the swizzle: bits 62 and 63 still say "
        "something other than 128 bytes.",
        when(fields.swizzle == wanted.swizzle): "The swizzle is right. SBO goes from eight rows to the next "
        "eight, in units of 16 bytes.",
        otherwise: "Two fields are wrong: the swizzle, and what follows from it, the distance from eight "
        "rows to the next eight.",
    }


@checks("06.6")
def _boxes(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(elements of K in a box, copies, bytes)`")
    tma = tensor_map(np.zeros((128, 128), dtype=np.float16), (128, 64), 128)
    expected = tma.box[1], 128 // tma.box[1], 2 * tma.expect_tx
    return {
        correct(submitted == expected): "A box is at most as wide as the swizzle: 128 bytes, 64 elements of "
        'f16. Each copy makes a column of atoms, which is `order="MN"`, so wgmma finds the second copy one '
        "column of atoms further.",
        when(submitted[0] == 128): "With a swizzle a row of the box is at most as wide as the swizzle, in "
        "bytes.",
        when(submitted[0] * 2 != 128): "How many f16 fit into 128 bytes?",
        when(submitted[1] != expected[1]): "The box is right. How many of them make 128 of K?",
        when(submitted[2] == expected[2] // 2): "Box and copies are right. That is what one copy brings, or "
        "you counted one byte for each element.",
        when(submitted[2] == expected[2] // 4): "Box and copies are right. An f16 has two bytes, and there "
        "are two copies.",
        otherwise: "Box and copies are right. Multiply: rows, elements of K in all, bytes of an element.",
    }


_TO_LANE = drawn("06.7", "lane {} holds", 14, 10, 18, 22, 26, 6)


@checks("06.7")
def _from_lanes(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of lanes, each from 0 to 31")
    cells = [(row, column) for place, row, column in _FP8.a.holds(_TO_LANE) if place.register == 0]
    row, first = cells[0]
    expected = frozenset(_FP8.d.where(r, c % 8)[0].lane for r, c in cells)
    return {
        correct(submitted == expected): f"They are columns {first} to {first + 3} of row {row}. As "
        "accumulators two neighbours are in one lane, so the four are in two lanes, and the lane itself had "
        "none of them.",
        when(submitted == {_TO_LANE}): "If they had stayed in their lane, FP8 would need no shuffles. A "
        "lane of D holds two neighbours.",
        when(submitted == {lane + 2 for lane in expected}): "You read off columns 12 to 15. The register "
        "has the four that begin with column 8: which are these?",
        when(len(submitted) != 2): "Four neighbours of a row, two in each lane: that makes two lanes.",
        when({lane // 4 for lane in submitted} != {_TO_LANE // 4}): "Rows stay in their group of four "
        "lanes: the row is lane // 4 before and after.",
        otherwise: "Find the four columns in the lower half of the picture, then the same cells in the "
        "upper half.",
    }
