"""The bits of a 64-bit matrix descriptor, of wgmma or of tcgen05, and what its fields say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int
from ..errors import PtxlabError, quoted
from ..memory import SWIZZLES
from ..memory.descriptors import TCGEN05_SWIZZLES
from .grid import Cell, Grid, Header, State
from .labels import bit_span
from .picture import Picture


@dataclass(frozen=True)
class _Field:
    """Bits of a descriptor; `hue` is a lane of their colour, None where the bits are not used."""

    name: tuple[str, ...]
    low: int
    bits: int
    hue: int | None = None
    says: Callable[[int], str] = str  # what its number means, in few letters

    @property
    def text(self) -> str:
        return " ".join(self.name) or "not used"

    @property
    def span(self) -> str:
        return bit_span(self.low, self.low + self.bits - 1)

    def value(self, number: int) -> int:
        return number >> self.low & (1 << self.bits) - 1

    def meaning(self, number: int) -> str:
        """What the field of a descriptor says."""
        return "" if self.hue is None else self.says(self.value(number))


def _address(units: int) -> str:
    return f"byte 0x{16 * units:x}"


def _offset(units: int) -> str:
    return f"{16 * units} bytes"


def _swizzle(code: int) -> str:
    width = next(width for width, known in SWIZZLES.items() if known == code)
    return f"{width} B" if width else "none"


def _tcgen05_swizzle(code: int) -> str:
    width, chunk = next((key for key, known in TCGEN05_SWIZZLES.items() if known == code), (0, 0))
    if not width:
        return "none"
    return f"{width} B" if chunk == 16 else f"{width} B/{chunk}"


#: PTX ISA, "Matrix Descriptor Format", highest bits first.
_FIELDS = (
    _Field(("swizzle",), 62, 2, 14, _swizzle),
    _Field((), 52, 10),
    _Field(("base", "offset"), 49, 3, 18),
    _Field((), 46, 3),
    _Field(("stride", "offset"), 32, 14, 29, _offset),
    _Field((), 30, 2),
    _Field(("leading", "offset"), 16, 14, 25, _offset),
    _Field((), 14, 2),
    _Field(("start", "address"), 0, 14, 2, _address),
)


#: The same of tcgen05, whose bits 46 to 48 say 1.
_TCGEN05_FIELDS = (
    _Field(("swizzle",), 61, 3, 14, _tcgen05_swizzle),
    _Field((), 53, 8),
    _Field(("LBO", "mode"), 52, 1, 22),
    _Field(("base", "offset"), 49, 3, 18),
    _Field(("version",), 46, 3, 10),
    _Field(("stride", "offset"), 32, 14, 29, _offset),
    _Field((), 31, 1),
    _Field(("leading", "offset"), 16, 15, 25, _offset),
    _Field((), 15, 1),
    _Field(("start", "address"), 0, 15, 2, _address),
)


_HEADING = len("swizzle")  # letters over two bits, so that the columns of both halves are equally wide


def descriptor(number: int, *, title: bool = True) -> Picture:
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
    return Picture(f"Matrix descriptor 0x{number:016x}", notes, halves).with_title(title)


def grid_of_fields(
    name: str, rows: Sequence[str], cells: Sequence[Cell], hover: NDArray[Any], heads: Sequence[Header]
) -> Grid:
    """Fields of a descriptor side by side under their names, with a word for each row."""
    return Grid(
        (len(rows), hover.shape[1]),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (word,)) for row, word in enumerate(rows)),
        tuple(heads),
        name=name,
        density="close",
        new_line=True,
    )


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
        says = f"{hex(value)}: {meaning}" if meaning else hex(value)
        hover[:, start : start + field.bits] = f"{field.text}, bits [{field.span}]\n{says}"
        heading = field.span.center(min(_HEADING, 4 * field.bits - 1))
        heads.append(Header(start, field.bits, (*field.name, heading)))
    return grid_of_fields("descriptor", ("bits", "field", "says"), cells, hover, heads)


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
        hover[:, column] = f"{field.text}, bits [{field.span}]"
        heads.append(Header(column, 1, (heading, field.span)))
    return grid_of_fields("fields", ("field", "says"), cells, hover, heads)
