"""Numbers as bit fields: descriptors of matrices and of instructions, and the element types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int
from ..errors import PtxlabError, quoted
from ..isa.dtypes import DTYPES, DType, dtype
from ..isa.instruction_descriptor import InstructionDescriptor
from ..isa.location import bit_span
from ..isa.parse import parse_any
from ..isa.tcgen05 import TensorInstruction
from ..memory import SWIZZLES
from ..memory.descriptors import TCGEN05_SWIZZLES
from .grid import Cell, FieldRole, FloatField, Grid, Header, Role, State
from .picture import Picture


@dataclass(frozen=True)
class _DescriptorField:
    """Adjacent bits of a descriptor: their value, the texts below them and the heading above."""

    low: int
    bits: int
    code: int
    texts: tuple[str, str]  # the value, and its meaning
    heading: tuple[str, ...]
    tooltip: str
    hue: int | None = None  # a lane with their colour; None for unused bits


_DESCRIPTOR_NOTE = "second row: the field as a number; third row: what it says"


def _descriptor_grid(name: str, fields: Sequence[_DescriptorField], low: int, width: int) -> Grid:
    """`width` bits from `low` on, the highest on the left, with the fields that they form."""
    cells: list[Cell] = []
    heads: list[Header] = []
    hover = np.full((3, width), "", dtype=object)
    for field in fields:
        start = low + width - field.low - field.bits
        if not 0 <= start < width:
            continue
        bits = f"{field.code:0{field.bits}b}"
        cells += [Cell(0, start + at, 1, 1, (bit,), field.hue) for at, bit in enumerate(bits)]
        for row, text in enumerate(field.texts, start=1):
            cells.append(Cell(row, start, 1, field.bits, (text,) if text else (), field.hue))
        hover[:, start : start + field.bits] = field.tooltip
        heads.append(Header(start, field.bits, field.heading))
    return _grid_of_fields(name, ("bits", "field", "says"), cells, hover, heads)


def _grid_of_fields(
    name: str, rows: Sequence[str], cells: Sequence[Cell], hover: NDArray[Any], heads: Sequence[Header]
) -> Grid:
    """The fields of a descriptor side by side under their names, with a heading for each row."""
    names = tuple(Header(row, 1, (word,)) for row, word in enumerate(rows))
    shape = (len(rows), hover.shape[1])
    return Grid(shape, tuple(cells), hover, names, tuple(heads), name=name, density="close", new_line=True)


# -- matrix descriptors ----------------------------------------------------------------------------------


def _address(units: int) -> str:
    return f"byte 0x{16 * units:x}"


def _offset(units: int) -> str:
    return f"{16 * units} bytes"


def _swizzle(code: int) -> str:
    width = next(width for width, swizzle_code in SWIZZLES.items() if swizzle_code == code)
    return f"{width} B" if width else "none"


def _tcgen05_swizzle(code: int) -> str:
    width, chunk = next(
        (key for key, swizzle_code in TCGEN05_SWIZZLES.items() if swizzle_code == code), (0, 0)
    )
    if not width:
        return "none"
    return f"{width} B" if chunk == 16 else f"{width} B/{chunk}"


#: Name ("" for unused bits), lowest bit, number of bits, hue, and the meaning of a value.
_Row = tuple[str, int, int, int | None, Callable[[int], str]]

#: PTX ISA, "Matrix Descriptor Format", highest bits first.
_FIELDS: tuple[_Row, ...] = (
    ("swizzle", 62, 2, 14, _swizzle),
    ("", 52, 10, None, str),
    ("base offset", 49, 3, 18, str),
    ("", 46, 3, None, str),
    ("stride offset", 32, 14, 29, _offset),
    ("", 30, 2, None, str),
    ("leading offset", 16, 14, 25, _offset),
    ("", 14, 2, None, str),
    ("start address", 0, 14, 2, _address),
)
#: The same for tcgen05, whose bits 46 to 48 are 1.
_TCGEN05_FIELDS: tuple[_Row, ...] = (
    ("swizzle", 61, 3, 14, _tcgen05_swizzle),
    ("", 54, 7, None, str),
    ("B seg", 53, 1, 2, str),  # of .decompress::lut::b
    ("LBO mode", 52, 1, 22, str),
    ("base offset", 49, 3, 18, str),
    ("version", 46, 3, 10, str),
    ("stride offset", 32, 14, 29, _offset),
    ("", 31, 1, None, str),
    ("leading offset", 16, 15, 25, _offset),
    ("", 15, 1, None, str),
    ("start address", 0, 15, 2, _address),
)
_HEADING = len("swizzle")  # characters over two bits, so that columns of both halves have the same width


def _matrix_fields(number: int, rows: Sequence[_Row]) -> list[_DescriptorField]:
    """The fields of a matrix descriptor."""
    fields = []
    for name, low, bits, hue, says in rows:
        value, span = number >> low & (1 << bits) - 1, bit_span(low, low + bits - 1)
        meaning = says(value) if name else ""
        texts = (hex(value) if value > 9 else str(value), meaning)
        if not name and not value:
            texts = ("", "")
        tooltip = f"{name or 'not used'}, bits [{span}]\n{hex(value)}"
        if meaning:
            tooltip += f": {meaning}"
        heading = (*name.split(), span.center(min(_HEADING, 4 * bits - 1)))
        fields.append(_DescriptorField(low, bits, value, texts, heading, tooltip, hue))
    return fields


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
    fields = _matrix_fields(number, _TCGEN05_FIELDS if number >> 46 & 7 == 1 else _FIELDS)
    halves = tuple(_descriptor_grid("descriptor", fields, low, 32) for low in (32, 0))
    notes = (
        "upper 32 bits above, lower 32 bits below",
        _DESCRIPTOR_NOTE,
        "addresses and offsets count units of 16 bytes",
    )
    return Picture(f"Matrix descriptor 0x{number:016x}", notes, halves).with_title(title)


#: The fields of `Descriptor`, highest bits first, with the short headings of one line.
NAMED_FIELDS = {
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
    fields = [field for field in _matrix_fields(number, _FIELDS) if field.hue is not None]
    cells: list[Cell] = []
    hover = np.full((2, len(fields)), "", dtype=object)
    heads = []
    for column, (field, (name, heading)) in enumerate(zip(fields, NAMED_FIELDS.items(), strict=True)):
        state: State = "mark" if name in marked else "plain"
        for row, text in enumerate((hex(field.code), field.texts[1])):
            cells.append(Cell(row, column, 1, 1, (text,), field.hue, state))
        hover[:, column] = field.tooltip.splitlines()[0]
        heads.append(Header(column, 1, (heading, field.heading[-1].strip())))
    return _grid_of_fields("fields", ("field", "says"), cells, hover, heads)


# -- instruction descriptors -----------------------------------------------------------------------------

#: Short headings of fields of one or two bits, in lines.
_HEADINGS: dict[str, tuple[str, ...]] = {
    "selector": ("sel",),
    "sparse": ("sp",),
    "saturate": ("sat",),
    "negate_a": ("neg", "A"),
    "negate_b": ("neg", "B"),
    "transpose_a": ("tr", "A"),
    "transpose_b": ("tr", "B"),
    "max_shift": ("max", "shift"),
    "k_high": ("K", "hi"),
    "scale": ("scale", "type"),
    "scale_a_id": ("SFA", "id"),
    "scale_b_id": ("SFB", "id"),
    "scale_a_lanes": ("SFA", "lanes"),
    "sparsity_version": ("sp", "ver"),
}
#: Lanes whose colours the fields borrow; neighbours differ.
_FIELD_HUES = (14, 18, 29, 25, 2, 9, 22)


def instruction_descriptor(
    descriptor: TensorInstruction | InstructionDescriptor | str, *, title: bool = True
) -> Picture:
    """The 32 bits of an instruction descriptor of tcgen05.mma: its fields, and what each of them says.

    It takes a form of tcgen05.mma, with its descriptor, or a descriptor.

    >>> import ptxlab
    >>> picture = instruction_descriptor(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=64))
    >>> picture.title, [cell.text for cell in picture.grids[0].cells if cell.row == 2 and cell.text]
    ('Instruction descriptor 0x08100010 of kind::f16', ['0', '16', '128', '64', 'no'])
    """
    if not isinstance(descriptor, InstructionDescriptor):
        form = parse_any(descriptor)
        if form.descriptor is None:
            raise PtxlabError(f"{form.mnemonic} has no instruction descriptor; tcgen05.mma has")
        descriptor = form.descriptor
    notes = (
        str(descriptor).removesuffix("."),
        "upper 16 bits above, lower 16 bits below",
        _DESCRIPTOR_NOTE,
        "grey: not used, 0",
    )
    fields = _instruction_fields(descriptor)
    halves = tuple(_descriptor_grid("instruction descriptor", fields, low, 16) for low in (16, 0))
    heading = f"Instruction descriptor 0x{descriptor.code:08x} of kind::{descriptor.kind}"
    return Picture(heading, notes, halves).with_title(title)


def _instruction_fields(descriptor: InstructionDescriptor) -> list[_DescriptorField]:
    """The fields of an instruction descriptor and its unused bits one by one, highest first."""
    free = set(range(32))
    fields = []
    for number, field in enumerate(descriptor.bit_fields):
        free -= set(range(field.low, field.low + field.bits))
        says = str(field.value)
        if isinstance(field.value, bool):
            says = "yes" if field.value else "no"
        span = bit_span(field.low, field.low + field.bits - 1)
        tooltip = f"{field.name.replace('_', ' ')}, bits [{span}]\n{field.code}: {says}"
        heading = (*_HEADINGS.get(field.name, (field.name.upper(),)), span)
        hue = _FIELD_HUES[number % len(_FIELD_HUES)]
        texts = (str(field.code), says)
        fields.append(_DescriptorField(field.low, field.bits, field.code, texts, heading, tooltip, hue))
    for bit in free:
        code = descriptor.code >> bit & 1
        fields.append(_DescriptorField(bit, 1, code, ("", ""), (str(bit),), f"not used, bit {bit}"))
    return sorted(fields, key=lambda field: -field.low)


# -- element types ---------------------------------------------------------------------------------------


def bit_fields(dtype: DType, code: int | None = None) -> list[FloatField]:
    """The fields of a type, highest first, with their bits if there is a code."""
    text = "" if code is None else f"{code:0{dtype.bits}b}"
    if not dtype.is_float:
        return [FloatField("fraction", dtype.bits, text)]
    parts: list[tuple[FieldRole, int]] = [
        ("sign", int(dtype.signed)),
        ("exponent", dtype.exponent_bits),
        ("fraction", dtype.fraction_bits),
        ("ignored", dtype.ignored_bits),
    ]
    at = dtype.bits - sum(bits for _, bits in parts)  # padding above an unsigned type
    fields = [FloatField("ignored", at)] if at else []
    for role, bits in parts:
        if bits:
            fields.append(FloatField(role, bits, text[at : at + bits]))
        at += bits
    return fields


#: Roles of fields, whose colours are those of a picture of a register.
_ROLES: dict[FieldRole, Role] = {
    "sign": "sign field", "exponent": "exponent field", "fraction": "exact", "ignored": "lost",
}  # fmt: skip
_SHORT = {"sign": "S", "ignored": "-", "exponent": "e", "fraction": "m", "value": "v", "bits": "b"}


def formats(*names: str, title: bool = True) -> Picture:
    """The bit fields of these element types, one type per row, the lowest bit at the right.

    Fields are sign, exponent, fraction, and what the hardware ignores.

    >>> picture = formats("e4m3", "tf32")
    >>> [cell.text for cell in picture.grids[0].cells if cell.row == 1]
    ['S', 'exponent 8', 'fraction 10', 'ignored 13']
    """
    if not names:
        raise PtxlabError("formats: name at least one element type, e.g. formats('f16', 'bf16')")
    if len(names) > len(DTYPES):
        raise PtxlabError(f"formats: found {len(names)} names; there are {len(DTYPES)} element types")
    types = [dtype(name) for name in names]
    width = max(element.bits for element in types)
    cells: list[Cell] = []
    hover = np.full((len(types), width), "", dtype=object)
    for row, element in enumerate(types):
        column = width - element.bits
        if column:
            cells.append(Cell(row, 0, 1, column, (), role="blank"))
        for name, bits, role in _fields_of_type(element):
            label = f"{name} {bits}"
            if bits < 5:
                label = _SHORT[name] if name in ("sign", "ignored") else f"{_SHORT[name]}{bits}"
            cells.append(Cell(row, column, 1, bits, (label,), role=role))
            for place in range(column, column + bits):
                hover[row, place] = (
                    f"{element.name} bit {width - 1 - place}\n{name}{_about(element, name, bits)}"
                )
            column += bits
    numbered = [place for place in range(width) if (width - 1 - place) % 4 == 0 or place == 0]
    grid = Grid(
        (len(types), width),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (element.name,)) for row, element in enumerate(types)),
        tuple(Header(place, 1, (str(width - 1 - place),)) for place in numbered),
        axes=("", "bit"),
        density="close",
        boxes=tuple((row, width - element.bits, 1, element.bits) for row, element in enumerate(types)),
    )
    notes = (
        "S, blue: sign",
        "e4, orange: 4 exponent bits",
        "m3: 3 fraction (mantissa) bits",
        "the highest bit is at the left",
    )
    heading = f"Bit fields of {', '.join(element.name for element in types)}"
    return Picture(heading, notes, (grid,)).with_title(title)


def _fields_of_type(number: DType) -> list[tuple[str, int, Role]]:
    """Name, bits and role of the fields of a type."""
    if number.is_float:
        return [(field.role, field.bits, _ROLES[field.role]) for field in bit_fields(number)]
    value: tuple[str, int, Role] = ("bits", number.bits, "exact")
    if number.kind == "int":
        value = ("value", number.bits - number.signed, "exact")
    return [("sign", 1, "sign field"), value] if number.signed else [value]


def _about(number: DType, name: str, bits: int) -> str:
    """The rest of a tooltip: the bias of an exponent, the weight of an integer's sign."""
    if name == "exponent":
        return f", {bits} bits, bias {number.bias}"
    if name == "sign" and not number.is_float:
        return f", worth {number.minimum}"
    return f", {bits} bits" if bits > 1 else ""
