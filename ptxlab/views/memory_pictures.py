"""Shared memory: the fields of a matrix descriptor, and which 16-byte piece a swizzle puts where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._util.arguments import as_int
from ..errors import PtxlabError, listing, quoted
from ..memory import SWIZZLES, Tile
from ..memory.descriptors import TCGEN05_SWIZZLES, swizzled
from .fragment_pictures import colour_key
from .grid import Arrow, Cell, Grid, Header, State
from .labels import bit_range, index_range
from .picture import Picture

__all__ = ["PIECE_HUES", "descriptor", "field_grid", "swizzle", "swizzle_bits"]


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
        if self.bits in (14, 15):  # units of 16 bytes
            return f"{16 * value} bytes" if self.low else f"byte 0x{16 * value:x}"
        if self.low == 62:
            width = next(width for width, code in SWIZZLES.items() if code == value)
            return f"{width} B" if width else "none"
        if self.low == 61:
            width, chunk = next((key for key, code in TCGEN05_SWIZZLES.items() if code == value), (0, 0))
            if not width:
                return "none"
            return f"{width} B" if chunk == 16 else f"{width} B/{chunk}"
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
#: The same of tcgen05, whose bits 46 to 48 say 1.
_TCGEN05_FIELDS = (
    _Field(("swizzle",), 61, 3, 14),
    _Field((), 53, 8),
    _Field(("LBO", "mode"), 52, 1, 22),
    _Field(("base", "offset"), 49, 3, 18),
    _Field(("version",), 46, 3, 10),
    _Field(("stride", "offset"), 32, 14, 29),
    _Field((), 31, 1),
    _Field(("leading", "offset"), 16, 15, 25),
    _Field((), 15, 1),
    _Field(("start", "address"), 0, 15, 2),
)


_HEADING = len("swizzle")  # letters over two bits, so that the columns of both halves are equally wide


def descriptor(number: int) -> Picture:
    """A 64-bit matrix descriptor: its bits, the fields that they form, and what each field says.

    It is one of wgmma or, if bits 46 to 48 say 1, of tcgen05.

    >>> picture = descriptor(0x4000_0010_0008_0040)
    >>> [cell.text for grid in picture.grids for cell in grid.cells if cell.row == 2 and cell.text]
    ['128 B', '0', '256 bytes', '128 bytes', 'byte 0x400']
    """
    number = as_int(number, "descriptor")
    if not 0 <= number < 1 << 64:
        raise PtxlabError(f"descriptor {quoted(number)}: it is a number of 64 bits")
    fields = _TCGEN05_FIELDS if number >> 46 & 7 == 1 else _FIELDS
    halves = tuple(_descriptor_half(number, low, fields) for low in (32, 0))
    notes = (
        "upper 32 bits above, lower 32 bits below",
        "second row: the field as a number; third row: what it says",
        "addresses and offsets count units of 16 bytes",
    )
    return Picture(f"Matrix descriptor 0x{number:016x}", notes, halves)


def _descriptor_half(number: int, low: int, fields: Sequence[_Field]) -> Grid:
    """32 bits from `low` on, the highest on the left."""
    cells: list[Cell] = []
    hover = np.full((3, 32), "", dtype=object)
    heads = []
    for field in fields:
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
        heading = place.strip("[]").center(min(_HEADING, 4 * field.bits - 1))
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


#: The fields of `Descriptor`, highest bits first, with the short headings of one line.
_NAMED = {
    "swizzle": "swizzle",
    "base_offset": "base offset",
    "stride": "SBO, stride",
    "leading": "LBO, leading",
    "address": "start address",
}


def field_grid(number: int, marked: Sequence[str] = ()) -> Grid:
    """The five fields of a descriptor in one line: each as a number, and what it says; some outlined.

    >>> [cell.text for cell in field_grid(0x4000004000010042).cells[1::2]]
    ['128 B', '0', '1024 bytes', '16 bytes', 'byte 0x420']
    """
    fields = [field for field in _FIELDS if field.hue is not None]
    cells: list[Cell] = []
    hover = np.full((2, len(fields)), "", dtype=object)
    heads = []
    for column, (field, (name, heading)) in enumerate(zip(fields, _NAMED.items(), strict=True)):
        state: State = "mark" if name in marked else "plain"
        value, meaning = field.value(number), field.meaning(number)
        for row, text in enumerate((hex(value), meaning)):
            cells.append(Cell(row, column, 1, 1, (text,), field.hue, state))
        place = bit_range(field.low, field.low + field.bits - 1)
        hover[:, column] = f"{field.text}, bits {place}"
        heads.append(Header(column, 1, (heading, place.strip("[]"))))
    return Grid(
        (2, len(fields)),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (word,)) for row, word in enumerate(("field", "says"))),
        tuple(heads),
        name="fields",
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


_LEAST_BITS = 11  # of an address that the picture of its bits shows
_ROW_HUE, _PIECE_HUE, _RESULT_HUE = 29, 10, 26


def swizzle_bits(address: int, width: int = 128) -> Picture:
    """What a swizzle does to an address: bits 7 and up, which count lines, are XORed into bits 4 and up.

    >>> picture = swizzle_bits(0x4A0, 128)
    >>> picture.title
    '0x4a0 under the 128-byte swizzle: 0x4b0'
    >>> len(picture.arrows)
    3
    """
    address, width = as_int(address, "address"), as_int(width, "width")
    if width not in SWIZZLES or not width:
        raise PtxlabError(f"width={quoted(width)}: swizzles are {listing(sorted(SWIZZLES)[1:])} bytes wide")
    if not 0 <= address < 1 << 18:
        raise PtxlabError(f"address {quoted(address)}: shared memory has addresses below 2^18")
    result = int(swizzled(np.array(address), width))
    count = (width // _PIECE).bit_length() - 1
    bits = max(_LEAST_BITS, address.bit_length())
    cells: list[Cell] = []
    moved: dict[int, Cell] = {}
    sources: dict[int, Cell] = {}
    for bit in range(bits):
        column = bits - 1 - bit
        target = 4 <= bit < 4 + count
        source = 7 <= bit < 7 + count
        tint = _ROW_HUE if source else None
        above = Cell(0, column, 1, 1, (str(address >> bit & 1),), _PIECE_HUE if target else tint)
        below = Cell(2, column, 1, 1, (), role="blank")
        if target:
            below = Cell(2, column, 1, 1, (f"⊕ {address >> bit + 3 & 1}",), _ROW_HUE)
            moved[bit] = below
        if source:
            sources[bit] = above
        changed = (address ^ result) >> bit & 1
        state: State = "mark" if changed else "plain"
        last = Cell(3, column, 1, 1, (str(result >> bit & 1),), _RESULT_HUE if target else tint, state)
        cells += [above, below, last]
    cells.append(Cell(1, 0, 1, bits, (), role="blank"))
    shape = (4, bits)
    hover = np.full(shape, "", dtype=object)
    for bit in range(bits):
        hover[:, bits - 1 - bit] = f"bit {bit}, worth {1 << bit} bytes"
    rows = ((0, f"0x{address:x}"), (2, "XOR"), (3, f"0x{result:x}"))
    grid = Grid(
        shape,
        tuple(cells),
        hover,
        tuple(Header(row, 1, (word,)) for row, word in rows),
        tuple(Header(bits - 1 - bit, 1, (str(bit).rjust(3),)) for bit in range(bits)),
        ("", "bit"),
        name="address",
        boxes=((0, 0, 1, bits), (3, 0, 1, bits)),
    )
    piece_bits, line_bits = (index_range(low, count) for low in (4, 7))
    notes = (
        "bits 0..3: the byte in its 16-byte piece",
        f"{piece_bits}: the piece",
        f"{line_bits}: the line of 128 bytes",
        "outlined: what changes",
    )
    arrows = tuple(Arrow(sources[bit + 3], moved[bit]) for bit in sorted(moved))
    title = f"0x{address:x} under the {width}-byte swizzle: 0x{result:x}"
    return Picture(title, notes, (grid,), arrows=arrows)


#: Hues of the pieces of a row, as groups of lanes; grey, which also means empty, is the last.
PIECE_HUES = (0, 7, 6, 4, 2, 3, 5, 1)


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
