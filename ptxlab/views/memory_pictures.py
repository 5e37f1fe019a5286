"""Shared memory: the fields of a matrix descriptor, and which 16-byte piece a swizzle puts where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .._util.arguments import as_int
from ..errors import PtxlabError, listing, quoted
from ..memory import SWIZZLES, Tile
from .fragment_pictures import colour_key
from .grid import Cell, Grid, Header, State
from .labels import bit_range, index_range
from .picture import Picture

__all__ = ["descriptor", "swizzle"]


# -- descriptors -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """Bits of a descriptor; `hue` is a lane of their colour, None where the bits are not used."""

    name: tuple[str, ...]
    low: int
    bits: int
    hue: int | None = None

    @property
    def text(self) -> str:
        return " ".join(self.name) or "not used"

    def value(self, number: int) -> int:
        return number >> self.low & (1 << self.bits) - 1

    def meaning(self, number: int) -> str:
        """What the field says, in few letters."""
        value = self.value(number)
        if self.hue is None:
            return ""
        if self.bits == 14:  # units of 16 bytes
            return f"{16 * value} bytes" if self.low else f"byte 0x{16 * value:x}"
        if self.low == 62:
            width = next(width for width, code in SWIZZLES.items() if code == value)
            return f"{width} B" if width else "none"
        return str(value)


#: PTX ISA, "Matrix Descriptor Format", highest bits first.
_FIELDS = (
    _Field(("swizzle",), 62, 2, 14),
    _Field((), 52, 10),
    _Field(("base", "offset"), 49, 3, 18),
    _Field((), 46, 3),
    _Field(("stride", "offset"), 32, 14, 29),
    _Field((), 30, 2),
    _Field(("leading", "offset"), 16, 14, 25),
    _Field((), 14, 2),
    _Field(("start", "address"), 0, 14, 2),
)


_HEADING = len("swizzle")  # letters over two bits, so that the columns of both halves are equally wide


def descriptor(number: int) -> Picture:
    """A 64-bit matrix descriptor of wgmma: its bits, the fields that they form, and what each field says.

    >>> picture = descriptor(0x4000_0010_0008_0040)
    >>> [cell.text for grid in picture.grids for cell in grid.cells if cell.row == 2 and cell.text]
    ['128 B', '0', '256 bytes', '128 bytes', 'byte 0x400']
    """
    number = as_int(number, "descriptor")
    if not 0 <= number < 1 << 64:
        raise PtxlabError(f"descriptor {quoted(number)}: it is a number of 64 bits")
    halves = tuple(_descriptor_half(number, low) for low in (32, 0))
    notes = (
        "upper 32 bits above, lower 32 bits below",
        "second row: the field as a number; third row: what it says",
        "addresses and offsets count units of 16 bytes",
    )
    return Picture(f"Matrix descriptor 0x{number:016x}", notes, halves)


def _descriptor_half(number: int, low: int) -> Grid:
    """32 bits from `low` on, the highest on the left."""
    cells: list[Cell] = []
    hover = np.full((3, 32), "", dtype=object)
    heads = []
    for field in _FIELDS:
        if not low <= field.low < low + 32:
            continue
        start = low + 32 - field.low - field.bits
        value, meaning = field.value(number), field.meaning(number)
        bits = f"{value:0{field.bits}b}"
        cells += [Cell(0, start + at, 1, 1, (bit,), field.hue) for at, bit in enumerate(bits)]
        words = (hex(value) if value > 9 else str(value), meaning)
        if field.hue is None and not value:
            words = ("", "")
        for row, word in enumerate(words, start=1):
            cells.append(Cell(row, start, 1, field.bits, (word,) if word else (), field.hue))
        place = bit_range(field.low, field.low + field.bits - 1)
        says = f"{hex(value)}: {meaning}" if meaning else hex(value)
        hover[:, start : start + field.bits] = f"{field.text}, bits {place}\n{says}"
        heading = place.strip("[]").center(_HEADING)
        heads.append(Header(start, field.bits, (*field.name, heading)))
    return Grid(
        (3, 32),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (word,)) for row, word in enumerate(("bits", "field", "says"))),
        tuple(heads),
        name="descriptor",
        density="close",
        new_line=True,
    )


# -- swizzles --------------------------------------------------------------------------------------------

_PIECE, _LINE, _BANK = 16, 128, 4  # bytes: of a piece, of all banks, of one bank


def swizzle(width: int = 128, piece: int | None = None) -> Picture:
    """Where a swizzle puts the 16-byte pieces of eight rows, beside where they would be without it.

    Each line is 128 bytes of shared memory, all 32 banks once. A colour is a core matrix, whose eight pieces
    are read together; `piece` outlines one of them.

    >>> plain, swizzled = swizzle(128, piece=2).grids
    >>> [plain.at(line, 2).text for line in range(3)], [swizzled.at(line, 2).text for line in range(3)]
    (['0.2', '1.2', '2.2'], ['0.2', '1.3', '2.0'])
    """
    width = as_int(width, "width")
    if width not in SWIZZLES or not width:
        raise PtxlabError(f"width={quoted(width)}: swizzles are {listing(sorted(SWIZZLES)[1:])} bytes wide")
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
    return Picture(f"The {width}-byte swizzle of eight rows in shared memory", notes, grids, keys=(key,))


def _hue(piece: int) -> int:
    return piece * 4 + 1


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
