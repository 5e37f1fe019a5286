"""The bits of an instruction descriptor of tcgen05.mma."""

from __future__ import annotations

import numpy as np

from ..errors import PtxlabError
from ..isa.instruction_descriptor import BitField, InstructionDescriptor
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Mma
from .grid import Cell, Grid, Header
from .labels import bit_span
from .matrix_descriptor_picture import grid_of_fields
from .picture import Picture

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
#: Lanes whose colours fields have; neighbours differ.
_FIELD_HUES = (14, 18, 29, 25, 2, 9, 22)


def instruction_descriptor(
    descriptor: Tcgen05Mma | InstructionDescriptor | str, *, title: bool = True
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
        if not isinstance(form, Tcgen05Mma):
            raise PtxlabError(f"{form.mnemonic} has no instruction descriptor; tcgen05.mma has")
        descriptor = form.descriptor
    notes = (
        str(descriptor).removesuffix("."),
        "upper 16 bits above, lower 16 bits below",
        "second row: the field as a number; third row: what it says",
        "grey: not used, 0",
    )
    halves = tuple(_descriptor_half(descriptor, low) for low in (16, 0))
    heading = f"Instruction descriptor 0x{descriptor.code:08x} of kind::{descriptor.kind}"
    return Picture(heading, notes, halves).with_title(title)


def _descriptor_half(descriptor: InstructionDescriptor, low: int) -> Grid:
    """16 bits from `low` on, the highest on the left."""
    fields: list[BitField | None] = [None] * 16  # of every bit
    hues: dict[str, int] = {}
    for number, part in enumerate(descriptor.bit_fields):
        hues[part.name] = _FIELD_HUES[number % len(_FIELD_HUES)]
        for bit in range(part.low, part.low + part.bits):
            if low <= bit < low + 16:
                fields[bit - low] = part
    cells: list[Cell] = []
    heads: list[Header] = []
    hover = np.full((3, 16), "", dtype=object)
    at = 0
    while at < 16:
        field = fields[15 - at]
        if field is None:
            bit = low + 15 - at
            cells.append(Cell(0, at, 1, 1, (str(descriptor.code >> bit & 1),)))
            cells += [Cell(row, at, 1, 1, ()) for row in (1, 2)]
            heads.append(Header(at, 1, (str(bit),)))
            hover[:, at] = f"not used, bit {bit}"
            at += 1
            continue
        hue = hues[field.name]
        bits = f"{field.code:0{field.bits}b}"
        cells += [Cell(0, at + i, 1, 1, (bit,), hue) for i, bit in enumerate(bits)]
        says = _field_value(field)
        for row, text in ((1, str(field.code)), (2, says)):
            cells.append(Cell(row, at, 1, field.bits, (text,), hue))
        span = bit_span(field.low, field.low + field.bits - 1)
        name = field.name.replace("_", " ")
        hover[:, at : at + field.bits] = f"{name}, bits [{span}]\n{field.code}: {says}"
        heading = _HEADINGS.get(field.name, (field.name.upper(),))
        heads.append(Header(at, field.bits, (*heading, span)))
        at += field.bits
    return grid_of_fields("instruction descriptor", ("bits", "field", "says"), cells, hover, heads)


def _field_value(part: BitField) -> str:
    if isinstance(part.value, bool):
        return "yes" if part.value else "no"
    return str(part.value)
