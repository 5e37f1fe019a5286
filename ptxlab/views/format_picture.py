"""The bit fields of element types as a picture: sign, exponent, fraction, and what the hardware ignores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import PtxlabError
from ..isa.dtypes import DTYPES, DType, dtype
from .grid import Cell, Grid, Header, Role
from .picture import Picture


@dataclass(frozen=True)
class _Field:
    """Neighbouring bits with one meaning, highest first."""

    name: str
    short: str
    bits: int
    role: Role


def formats(*names: str, title: bool = True) -> Picture:
    """The bit fields of these element types, one type per row, the lowest bit at the right.

    >>> picture = formats("e4m3", "tf32")
    >>> [cell.text for cell in picture.grids[0].cells if cell.row == 1]
    ['S', 'exponent 8', 'fraction 10', 'ignored 13']
    """
    if not names:
        raise PtxlabError("formats: name at least one element type, e.g. formats('f16', 'bf16')")
    if len(names) > len(DTYPES):
        raise PtxlabError(f"formats: found {len(names)} names; there are {len(DTYPES)} element types")
    types = [dtype(name) for name in names]
    width = max(each.bits for each in types)
    cells: list[Cell] = []
    hover = np.full((len(types), width), "", dtype=object)
    for row, each in enumerate(types):
        column = width - each.bits
        if column:
            cells.append(Cell(row, 0, 1, column, (), role="blank"))
        for field in _fields(each):
            cells.append(Cell(row, column, 1, field.bits, (_label(field),), role=field.role))
            for place in range(column, column + field.bits):
                hover[row, place] = f"{each.name} bit {width - 1 - place}\n{field.name}{_about(each, field)}"
            column += field.bits
    bits = tuple(
        Header(place, 1, (str(width - 1 - place),)) for place in range(width) if _shown(place, width)
    )
    rows = tuple(Header(row, 1, (each.name,)) for row, each in enumerate(types))
    boxes = tuple((row, width - each.bits, 1, each.bits) for row, each in enumerate(types))
    grid = Grid(
        (len(types), width), tuple(cells), hover, rows, bits, axes=("", "bit"), density="close", boxes=boxes
    )
    notes = (
        "S: sign",
        "e4: 4 exponent bits",
        "m3: 3 fraction (mantissa) bits",
        "the highest bit is at the left",
    )
    heading = f"Bit fields of {', '.join(each.name for each in types)}"
    return Picture(heading, notes, (grid,)).with_title(title)


def _fields(number: DType) -> list[_Field]:
    if not number.is_float:
        sign = [_Field("sign", "S", 1, "sign")] if number.signed else []
        value = "value" if number.kind == "int" else "bits"
        return [*sign, _Field(value, value[0], number.bits - number.signed, "kept")]
    fields = []
    if number.signed:
        fields.append(_Field("sign", "S", 1, "sign"))
    elif number.name == "ue4m3":
        fields.append(_Field("ignored", "-", 1, "lost"))
    fields.append(_Field("exponent", "e", number.exponent_bits, "exponent"))
    if number.fraction_bits:
        fields.append(_Field("fraction", "m", number.fraction_bits, "kept"))
    if number.ignored_bits:
        fields.append(_Field("ignored", "-", number.ignored_bits, "lost"))
    return fields


def _label(field: _Field) -> str:
    if field.bits >= 5:
        return f"{field.name} {field.bits}"
    return field.short if field.name in ("sign", "ignored") else f"{field.short}{field.bits}"


def _about(number: DType, field: _Field) -> str:
    """What a tooltip adds: the bias of an exponent, the weight of an integer's sign."""
    if field.name == "exponent":
        return f", {field.bits} bits, bias {number.bias}"
    if field.name == "sign" and not number.is_float:
        return f", worth {number.minimum}"
    return f", {field.bits} bits" if field.bits > 1 else ""


def _shown(place: int, width: int) -> bool:
    """Every fourth bit has its number, and the highest."""
    return (width - 1 - place) % 4 == 0 or place == 0
