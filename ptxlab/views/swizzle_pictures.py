"""Swizzles of shared memory: which 16-byte piece goes where, and what happens to the bits of an address."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .._util.arguments import as_int
from ..errors import PtxlabError, listing, quoted
from ..memory import SWIZZLES, Tile
from ..memory.descriptors import swizzled
from .colours import PIECE_HUES, colour_key
from .grid import Arrow, Cell, Grid, Header, State
from .labels import index_range
from .picture import Picture

_PIECE, _LINE, _BANK = 16, 128, 4  # bytes: of a piece, of all banks, of one bank


def swizzle(width: int = 128, piece: int | None = None, *, title: bool = True) -> Picture:
    """Where a swizzle puts the 16-byte pieces of eight rows, beside where they would be without it.

    Each line is 128 bytes of shared memory, all 32 banks once. A colour is a core matrix, whose eight pieces
    are read together; `piece` outlines one of them.

    >>> plain, swizzled = swizzle(128, piece=2).grids
    >>> [plain.at(line, 2).text for line in range(3)], [swizzled.at(line, 2).text for line in range(3)]
    (['0.2', '1.2', '2.2'], ['0.2', '1.3', '2.0'])
    """
    width = _checked_width(width)
    pieces = width // _PIECE
    if piece is not None:
        piece = as_int(piece, "piece")
        if not 0 <= piece < pieces:
            raise PtxlabError(f"piece={quoted(piece)}: a row of {width} bytes has pieces 0 to {pieces - 1}")
    tile = Tile(bits=8, rows=8, k=width, swizzle=width)
    plain = {(row, at): row * width + at * _PIECE for row in range(8) for at in range(pieces)}
    swizzled = {(row, at): int(tile.offset(row, at * _PIECE)) for row, at in plain}
    grids = (
        _lines(plain, "without swizzle", piece),
        _lines(swizzled, f"with the {width}-byte swizzle", piece),
    )
    notes = (
        "r.p is piece p of row r",
        "pieces of one colour, a core matrix, are read together",
        f"reading one takes {_passes(plain)} passes without swizzle, {_passes(swizzled)} with it",
    )
    texts = [f"p = {at}" for at in range(pieces)]
    key = colour_key("core matrices", texts, [_hue(at) for at in range(pieces)], texts)
    heading = f"The {width}-byte swizzle of eight rows in shared memory"
    return Picture(heading, notes, grids, keys=(key,)).with_title(title)


_LEAST_BITS = 11  # of an address that the picture of its bits shows
_ROW_HUE, _PIECE_HUE, _RESULT_HUE = 29, 10, 26


def swizzle_bits(address: int, width: int = 128, *, title: bool = True) -> Picture:
    """What a swizzle does to an address: bits 7 and up, which count lines, are XORed into bits 4 and up.

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
    count = (width // _PIECE).bit_length() - 1  # of bits that change
    grid, arrows = _xor_grid(address, result, count)
    piece_bits, line_bits = (index_range(low, count) for low in (4, 7))
    notes = (
        "bits 0..3: the byte in its 16-byte piece",
        f"{piece_bits}: the piece",
        f"{line_bits}: the line of 128 bytes",
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
    bits = max(_LEAST_BITS, address.bit_length())
    cells: list[Cell] = []
    added: dict[int, Cell] = {}  # what is XORed into a bit
    sources: dict[int, Cell] = {}
    hover = np.full((4, bits), "", dtype=object)
    for bit in range(bits):
        column = bits - 1 - bit
        target = 4 <= bit < 4 + count
        tint = _ROW_HUE if 7 <= bit < 7 + count else None
        sources[bit] = Cell(0, column, 1, 1, (str(address >> bit & 1),), _PIECE_HUE if target else tint)
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


def _hue(piece: int) -> int:
    return PIECE_HUES[piece] * 4 + 1


def _passes(places: dict[tuple[int, int], int]) -> int:
    """How often the fullest banks are used to read the eight pieces of a core matrix."""
    return max(
        max(Counter(offset % _LINE for (_, at), offset in places.items() if at == piece).values())
        for piece in {at for _, at in places}
    )


def _lines(places: dict[tuple[int, int], int], title: str, piece: int | None) -> Grid:
    """Shared memory in lines of 128 bytes, with the piece that is at each place."""
    shape = len(places) * _PIECE // _LINE, _LINE // _PIECE
    hover = np.full(shape, "", dtype=object)
    cells = []
    for (row, at), offset in places.items():
        line, column = offset // _LINE, offset % _LINE // _PIECE
        state: State = "mark" if at == piece else "plain"
        cells.append(Cell(line, column, 1, 1, (f"{row}.{at}",), _hue(at), state))
        banks = index_range(offset % _LINE // _BANK, 4)
        hover[line, column] = f"row {row}, piece {at}\nbytes {index_range(offset, 16)}, banks {banks}"
    return Grid(
        shape,
        tuple(cells),
        hover,
        tuple(Header(line, 1, (str(line * _LINE),)) for line in range(shape[0])),
        tuple(Header(column, 1, (index_range(4 * column, 4),)) for column in range(shape[1])),
        ("byte", "banks"),
        title=title,
    )
