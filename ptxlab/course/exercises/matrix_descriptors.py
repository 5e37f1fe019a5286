"""Lesson 06: tiles of core matrices, their swizzle, and the descriptor that names their bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import PtxlabError
from ...instruction import mma_instruction
from ...memory import SWIZZLES, Descriptor, Tile, descriptor
from ...views import Cell, Picture
from ...views.charts import table
from ...views.colour_keys import core_matrix_tint
from ...views.grid import Entry, headers, numbered_grid, uniform_grid
from ...views.labels import index_range
from ..answers import WrongForm, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

INS = mma_instruction("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
WIDE = mma_instruction("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16")
FP8 = mma_instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
_CORE = 128  # bytes of a core matrix: 8 rows of 16
_VECTOR = 16  # bytes
_ADDRESS = drawn("06.1", "`0x{:04x}`", 0x1400, 0x0C00, 0x1C00, 0x3400, 0x2400, 0x0800)
_VECTORS = drawn(
    "06.2",
    "vector {0[1]} of row {0[0]}? And vector {1[1]} of row {1[0]}?",
    ((6, 1), (13, 3)),  # (row, vector)
    ((4, 1), (11, 2)),
    ((2, 3), (13, 1)),
    ((6, 2), (15, 1)),
    ((5, 1), (14, 2)),
)
_SWIZZLED = Tile.of(FP8.b, 64)
#: The descriptor has the address in units of 16 bytes.
_SWIZZLED_AT = 16 * drawn("06.3", "`0x8000002000010{:03x}`", 0x2C0, 0x140, 0x340, 0x1E0, 0x260)
_TILE = Tile(bits=16, rows=64, k=64, swizzle=128)
_BROKEN_AT = 0x1800
_BROKEN = Descriptor(_BROKEN_AT, 16, 512, 64).code


# -- what the lesson shows -----------------------------------------------------------------------------------


def core_matrices(tile: Tile) -> Picture:
    """The core matrices of a K-major tile without swizzle, with the byte at which each begins.

    >>> core_matrices(Tile.of(INS.b)).grids[0].at(1, 0).text
    'byte 256'
    """
    shape = tile.rows // 8, tile.k // tile.core_width

    def entry(group: int, k: int) -> Entry:
        offset = int(tile.offset(8 * group, k * tile.core_width))
        tooltip = f"core matrix at bytes {index_range(offset, _CORE)}"
        return Entry((f"byte {offset}",), core_matrix_tint(group, k), tooltip)

    rows = [index_range(8 * group, 8) for group in range(shape[0])]
    columns = [index_range(k * tile.core_width, tile.core_width) for k in range(shape[1])]
    notes = (
        f"one to the right: leading offset, {tile.leading} bytes",
        f"one down: stride offset, {tile.stride} bytes",
    )
    grid = uniform_grid(shape, entry, rows, columns, ("n", "k"))
    return Picture("From core matrix to core matrix", notes, (grid,))


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
        for line, vector in np.ndindex(16, 2):
            row, k = (line, 8 * vector) if major == "K" else (8 * vector, line)
            offset = int(tile.offset(row, k))
            size = (1, 8) if major == "K" else (8, 1)
            tint = core_matrix_tint(offset // _CORE * 2, 1)
            cells.append(Cell(row, k, *size, (str(offset),), tint))
            hover[row : row + size[0], k : k + size[1]] = (
                f"bytes {index_range(offset, _VECTOR)}, core matrix {offset // _CORE}"
            )
        title = f"{major}-major: 16 bytes run {direction}"
        grid = numbered_grid(cells, hover, ("row", "k"), title, "close")
        if major == "K":
            grid = replace(grid, columns=headers(16, 8))
        grids.append(replace(grid, row_rules=(8,), column_rules=((8, 0, 16),)))
    notes = ("a cell is 16 bytes, labelled with its first byte", "a colour is a core matrix, 128 bytes")
    return Picture("Two ways to store 16x16 elements of 16 bits", notes, tuple(grids))


def swizzled_tiles() -> Picture:
    """The tile of the lesson's B under every swizzle.

    >>> swizzled_tiles().grids[0].at(3, 0).text
    '2048 bytes'
    """
    texts = {}
    for width in sorted(SWIZZLES):
        tile = Tile.of(INS.b, width)
        name = f"{width} bytes" if width else "no swizzle"
        texts[name] = [f"{tile.size} bytes", f"multiple of {tile.alignment}", f"0x{tile.descriptor():016x}"]
    columns = ["size of the tile", "it begins at a", "descriptor, at address 0"]
    return table(texts, columns, f"B of {INS.shape} under every swizzle")


# -- exercises ---------------------------------------------------------------------------------------------


@checks("06.1")
def encode(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    leading, stride = WIDE.n // 8 * _CORE, _CORE

    def packed(address: int, lead: int, step: int) -> int:
        return address >> 4 | lead >> 4 << 16 | step >> 4 << 32

    expected = packed(_ADDRESS, leading, stride)
    start, lead, step = submitted & 0x3FFF, submitted >> 16 & 0x3FFF, submitted >> 32 & 0x3FFF
    return {
        correct(submitted == expected): f"Start 0x{start:x}, leading 0x{lead:x}, stride 0x{step:x}, all in "
        f"units of 16 bytes: the next core matrix is {leading} bytes away along k, and {stride} bytes away "
        "along n.",
        when(submitted == packed(_ADDRESS, stride, leading)): "All values are right, but the two offsets "
        "are exchanged. In a K-major tile *leading* steps along k, and *stride* steps from eight columns n "
        "to the next eight.",
        when(submitted == _ADDRESS | leading << 16 | stride << 32): "Those are bytes. Every field counts "
        "units of 16 bytes: the last hexadecimal digit is dropped.",
        when(submitted == _ADDRESS >> 4 | leading << 16 | stride << 32): "The start address is right. The "
        "two offsets are right in bytes, but they too count units of 16 bytes.",
        when(submitted == Tile.of(WIDE.b).descriptor(_ADDRESS)): "That is the order of the picture above, "
        "along k first. Here the core matrices go along n first: how far away is the neighbour along k?",
        when(submitted == _ADDRESS >> 4 | leading >> 4 << 14 | stride >> 4 << 28): "The fields have 14 "
        "bits, but they are not contiguous: they begin at bits 0, 16 and 32.",
        when(submitted >> 62 != 0): "Bits 62 and 63 are the swizzle, and there is none.",
        when(start != _ADDRESS >> 4): "Look at the lowest 14 bits: the start address, in units of 16 bytes.",
        when(lead != leading >> 4): "The start address is right. Look at bits 16 to 29: how many bytes is "
        "it from one core matrix to its neighbour along k?",
        when(step != stride >> 4): "The start address and the leading offset are right. Look at bits 32 to "
        "45: how many bytes is it from one core matrix to its neighbour along n?",
        otherwise: "The three fields are right. All other bits are 0.",
    }


@checks("06.2")
def _swizzled_place(answer: object) -> Sentences:
    submitted = whole_numbers(answer, len(_VECTORS), "two positions, each from 0 to 3")
    tile = Tile(bits=16, rows=16, k=32, swizzle=64)
    expected = tuple(int(tile.offset(row, vector * tile.core_width)) // 16 % 4 for row, vector in _VECTORS)
    return {
        correct(submitted == expected): "Each pair of rows is XORed with the same value, and after eight "
        "rows, that is 512 bytes, the pattern repeats. That is why such a tile begins at a multiple of 512.",
        when(submitted == tuple(vector for _, vector in _VECTORS)): "That does not swizzle: every vector "
        "stays where it was.",
        when(submitted == expected[::-1]): "The numbers are right, but in the wrong order.",
        when(submitted == tuple(vector ^ row % 4 for row, vector in _VECTORS)): "Your pattern changes with "
        "every row. But two rows of 64 bytes share bits 7 and 8 of the address.",
        when(submitted == tuple(vector ^ row // 4 % 2 for row, vector in _VECTORS)): "That is the 32-byte "
        "swizzle, where four rows fill 128 bytes and one bit is XORed.",
        when(submitted == tuple((vector + row // 2) % 4 for row, vector in _VECTORS)): "The rows are paired "
        "correctly, but you rotated the vectors. XOR exchanges them.",
        when(any(not 0 <= place < 4 for place in submitted)): "There are only four positions, 0 to 3: only "
        "two bits of the row number are used.",
        when(submitted[0] == expected[0]): "The first is right. For the second, write row * 64 + vector * 16 "
        "in binary and mark bits 4, 5, 7 and 8; bit 9 is not used.",
        when(submitted[1] == expected[1]): "The second is right. For the first, write row * 64 + vector * 16 "
        "in binary and mark bits 4, 5, 7 and 8.",
        otherwise: "Write the byte address row * 64 + vector * 16 in binary: bits 7 and 8 are XORed into "
        "bits 4 and 5, and these two are the position.",
    }


@checks("06.3")
def _read_descriptor(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(address, stride, swizzle)`, all in bytes")
    expected = _SWIZZLED_AT, _SWIZZLED.stride, _SWIZZLED.swizzle
    code = SWIZZLES[_SWIZZLED.swizzle]
    return {
        correct(submitted == expected): f"Swizzle code {code} means {_SWIZZLED.swizzle} bytes, and the "
        f"stride is eight rows of {_SWIZZLED.swizzle} bytes. The leading offset, 1, is not used when a "
        "K-major tile is swizzled.",
        when(submitted[:2] == (_SWIZZLED_AT >> 4, _SWIZZLED.stride >> 4)): "Those are the raw fields. They "
        "count units of 16 bytes.",
        when(submitted[0] == _SWIZZLED_AT >> 4): "The address field counts units of 16 bytes.",
        when(submitted[0] != _SWIZZLED_AT): "The address is in the lowest 14 bits; remember the unit. Bit "
        "16 already belongs to the next field.",
        when(submitted[1] == _SWIZZLED.stride >> 4): "The address is right. The stride field also counts "
        "units of 16 bytes.",
        when(submitted[1] == _SWIZZLED.leading): "The address is right. But you then read the leading "
        "offset, bits 16 to 29; the stride begins at bit 32.",
        when(submitted[1] == int(f"{_SWIZZLED.stride >> 4:x}") * 16): "The address is right. The digits of "
        "the stride are hexadecimal, like the whole descriptor: what number is `0x20`?",
        when(submitted[1] != _SWIZZLED.stride): "The address is right. The stride is in bits 32 to 45, in "
        "units of 16 bytes.",
        when(submitted[2] == code): f"Address and stride are right. {code} is the code; which width does it "
        "stand for?",
        otherwise: "Address and stride are right. The swizzle code is in bits 62 and 63, and the codes do "
        "not increase with the width: look them up below the picture of the descriptor.",
    }


@checks("06.4")
def _mended(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    fields = decoded(submitted)
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


def decoded(number: int) -> Descriptor:
    """The fields of a reader's descriptor. Raises `WrongForm` if its bits are not a legal descriptor."""
    try:
        return descriptor(number)
    except PtxlabError as error:
        raise WrongForm(f"That is not a descriptor: {error}.") from None
