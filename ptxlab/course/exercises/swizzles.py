"""Lesson 07: swizzles as an XOR of address bits, slices of a tile, and tiles of several atoms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...memory import Tile
from ...memory.swizzle import swizzled
from ...views import Picture
from ...views.colour_keys import VECTOR_HUES
from ...views.grid import Entry, uniform_grid
from ...views.labels import index_range
from ..answers import whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from .matrix_descriptors import decoded

#: Bytes in a vector, in a row of all banks (4 bytes of each), and in an atom of the 128-byte swizzle.
_VECTOR, _LINE, _ATOM = 16, 128, 1024


# -- what the lesson shows -----------------------------------------------------------------------------------


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
            return Entry((f"0x{offset:x}",), VECTOR_HUES[number % 8] * 4 + 1, tooltip)

        columns = [f"k {index_range(64 * at, 64)}" for at in range(shape[1])]
        title = f'order="{order}": {meaning}, SBO {tile.stride}'
        row_names = [index_range(8 * at, 8) for at in range(shape[0])]
        grids.append(uniform_grid(shape, entry, row_names, columns, ("row", ""), title))
    notes = ("a cell is an atom: 8 rows of 128 bytes, 1024 bytes", "its label is where it begins")
    return Picture(f"{rows} rows by {k} of K: {rows // 8 * k // 64} atoms", notes, tuple(grids))


# -- exercises ---------------------------------------------------------------------------------------------

_TILE = Tile(bits=16, rows=64, k=64, swizzle=128)
_ROW, _K = drawn("07.1", "row {}, k = {}", (11, 42), (13, 26), (10, 51), (14, 19), (9, 37), (12, 45))


@checks("07.1")
def _swizzled_byte(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of bytes")
    expected = int(_TILE.offset(_ROW, _K))
    vector, rest = divmod(2 * _K, _VECTOR)
    plain = _ROW * _LINE + 2 * _K
    return {
        correct(submitted == expected): f"Row {_ROW} begins at byte {_ROW * _LINE}. Byte {2 * _K} of "
        f"the row is byte {rest} of vector {vector}, and {vector} XOR {_ROW % 8} = {vector ^ _ROW % 8}.",
        when(submitted == plain): "That is where it would be without the swizzle. Which vector of its row is "
        "it in?",
        when(submitted == _ROW * _LINE + (vector + _ROW) % 8 * _VECTOR + rest): "You rotated the vectors. "
        "The swizzle takes the XOR of vector and row.",
        when(submitted == _ROW * _LINE + (vector ^ _ROW) * _VECTOR + rest): "Only three bits of the row are "
        "used: bits 7, 8 and 9 of the address. The pattern repeats after eight rows.",
        when(submitted == expected - rest): "The vector is in the right place. Where in the vector does the "
        "element begin?",
        when(submitted == int(Tile(bits=8, rows=64, k=128, swizzle=128).offset(_ROW, _K))): "You counted "
        "one byte for each element. An f16 takes two.",
        when(submitted == expected // 2): "That counts elements. How many bytes is that?",
        when(submitted // _LINE != _ROW): f"Look at the row first: a row has {_LINE} bytes, and the swizzle "
        "never leaves its 128-byte row.",
        otherwise: "The row is right. Write the address without swizzle in binary: which bits are the "
        "vector, and with which bits are they XORed?",
    }


_WIDTHS = (32, 64, 128)


@checks("07.2")
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
        width: offsets // width * width + (offsets % width + (offsets >> 7) * _VECTOR) % width
        for width in _WIDTHS
    }
    by_row = {width: offsets ^ (offsets // width % (width // _VECTOR)) * _VECTOR for width in _WIDTHS}
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
        when(is_like(rotated)): f"{first} You rotated the vectors; an XOR exchanges them.",
        when(all((table[width] % _VECTOR != offsets % _VECTOR).any() for width in _WIDTHS)): f"{first} The "
        "four lowest bits, the byte in its vector, never change.",
        when(right[128].all()): f"128 bytes are right. {first} A narrower swizzle uses fewer bits, but the "
        "same ones: starting at bit 7, into bit 4 and up.",
        otherwise: f"{first} Take the bits that start at bit 7, as many as the vectors of a row need, and "
        "XOR them into the bits that start at bit 4.",
    }


_FP8_TILE = Tile(bits=8, rows=64, k=128, swizzle=128)
_FP8_AT, _FP8_K = 0x2C00, 64


@checks("07.3")
def _next_slice(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    fields = decoded(submitted)
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


@checks("07.4")
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
