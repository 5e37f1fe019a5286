"""The matrix descriptor with which wgmma and tcgen05.mma read A or B from shared memory, shown and edited.

The memory view shows the bytes that an edited descriptor reads, or says why it does not describe the tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..._util.arguments import is_name
from ...errors import PtxlabError, listing, quoted
from ...isa.catalog import Product
from ...isa.chips import MAX_SHARED
from ...isa.instruction_descriptor import BitField
from ...isa.operand import Operand
from ...memory import SWIZZLES, Conflicts, Descriptor, Tcgen05Descriptor, Tile
from ...memory import descriptor as decode
from ...memory.descriptors import TCGEN05_SWIZZLES
from ...memory.fragment_access import Placement, core_matrix_access, place_tile
from ..cells.parse_cell import parse_descriptor_bits

_IN_BYTES = ("address", "leading", "stride")


@dataclass(frozen=True, eq=False)
class SharedTile:
    """A matrix in shared memory that is read through a descriptor, with the place of its elements."""

    ins: Product
    operand: Operand
    transposed: bool
    tile: Tile
    descriptor: Descriptor
    placement: Placement
    reads: Conflicts  # core matrix by core matrix

    @property
    def is_whole_tile(self) -> bool:
        """Whether it is the whole tile at address 0."""
        return self.descriptor == _whole_tile(self.ins, self.tile)


def has_tile(ins: Product, name: str) -> bool:
    """Whether an operand of tcgen05.mma is a tile in shared memory without padding."""
    operand = ins.operands.get(name)
    if operand is None or operand.packing is None or operand.packing.padded or operand.packing.indexed:
        return False  # narrow elements are padded to 16 bytes; indices are no elements
    return operand.dtype.bits in (4, 8, 16, 32)


def shown_tile(
    ins: Product, operand: Operand, swizzle: int = 0, transposed: bool = False, chunk: int | None = None
) -> Tile:
    """The tile that wgmma or tcgen05.mma reads from shared memory, as the view shows it.

    For a pair of CTAs it has the rows of both; `ptxlab.memory.tcgen05_tiles.shared_tile` is that of one.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=64)
    >>> shown_tile(ins, ins.b, swizzle=32)
    Tile(bits=16, rows=64, k=16, major='K', swizzle=32)
    """
    if operand.packing is None:
        return Tile.of(operand, swizzle, transposed)
    if not has_tile(ins, operand.name):
        raise PtxlabError(
            f"{operand.name} of {operand.dtype} does not lie in shared memory as a tile of whole bytes"
        )
    rows, k = operand.shape if operand.name == "A" else operand.shape[::-1]
    bits = operand.dtype.bits
    if chunk is None:
        chunk = 32 if transposed and bits == 32 and swizzle == 128 else 16
    tile = Tile(bits, rows, k, "MN" if transposed else "K", swizzle, chunk=chunk)
    if tile.major == "K" and 0 < swizzle < tile.row_bytes:
        raise PtxlabError(
            f"rows of {tile.row_bytes} bytes do not fit a {swizzle}-byte swizzle: one tcgen05.mma reads them "
            "from one atom; take a wider one or none"
        )
    return tile


def _whole_tile(ins: Product, tile: Tile) -> Descriptor:
    descriptor = tile.slice(0)
    return descriptor.tcgen05() if ins.descriptor else descriptor


# -- a descriptor, and where it says the elements are ------------------------------------------------------


def place_shared(
    ins: Product, operand: Operand, transposed: bool, swizzle: int = 0, code: str | None = None
) -> SharedTile:
    """The tile at address 0 with a swizzle, or as a descriptor in hexadecimal says.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=64)
    >>> place_shared(ins, ins.b, False, code="0xc000401000010040").placement.offsets[0, :3].tolist()
    [1024, 1056, 1088]
    """
    if code is None:
        tile = shown_tile(ins, operand, swizzle, transposed)
        descriptor = _whole_tile(ins, tile)
    else:
        descriptor = _parse(ins, code)
        chunk = descriptor.chunk if isinstance(descriptor, Tcgen05Descriptor) else None
        tile = shown_tile(ins, operand, descriptor.swizzle, transposed, chunk)
    placement = place_tile(operand, tile, descriptor)
    if placement.size > MAX_SHARED:
        raise PtxlabError(
            f"descriptor 0x{descriptor.code:x}: {operand.name} would reach byte 0x{placement.size - 1:x}; "
            f"a block has at most {MAX_SHARED} bytes of shared memory"
        )
    _check_disjoint(ins, operand, tile, descriptor, placement)
    reads = core_matrix_access(tile, descriptor)
    return SharedTile(ins, operand, transposed, tile, descriptor, placement, reads)


def _parse(ins: Product, text: str) -> Descriptor:
    code = parse_descriptor_bits(text, "the matrix descriptor", 64, 0x4000004000010040)
    family: Literal["wgmma", "tcgen05"] = "tcgen05" if ins.descriptor else "wgmma"
    return decode(code, family=family)


def _check_disjoint(
    ins: Product, operand: Operand, tile: Tile, descriptor: Descriptor, placement: Placement
) -> None:
    """Refuse a descriptor that reads two elements from the same place."""
    bits = (placement.offsets * 8 + placement.low).reshape(-1)
    order = np.argsort(bits, kind="stable")
    same = np.flatnonzero(bits[order][1:] == bits[order][:-1])
    if not same.size:
        return
    cells = [divmod(int(place), operand.shape[1]) for place in order[same[0] : same[0] + 2]]
    first, second = (f"{operand.name}[{row}][{column}]" for row, column in cells)
    plain = _whole_tile(ins, tile)
    raise PtxlabError(
        f"descriptor 0x{descriptor.code:x}: {first} and {second} would both be read from byte "
        f"0x{int(bits[order][same[0]]) // 8:x}; with this swizzle the tile has LBO {plain.leading}, "
        f"SBO {plain.stride} bytes"
    )


# -- its fields ------------------------------------------------------------------------------------------


def _swizzle_names(ins: Product) -> dict[str, int]:
    """The codes of the swizzle field by name."""
    if ins.descriptor is None:
        return {f"{swizzle}B" if swizzle else "none": code for swizzle, code in sorted(SWIZZLES.items())}
    return {
        ("none" if not swizzle else f"{swizzle}B") + ("_BASE32B" if chunk == 32 else ""): code
        for (swizzle, chunk), code in sorted(TCGEN05_SWIZZLES.items())
    }


def _codes(ins: Product, field: BitField) -> dict[str, int]:
    """The codes of a field by name."""
    if field.name == "swizzle":
        return _swizzle_names(ins)
    return {str(code): code for code in range(1 << field.bits)}


def set_field(shared: SharedTile, name: str, text: str) -> str:
    """The descriptor in hexadecimal, with a field set to a typed value.

    Another swizzle also changes LBO and SBO to those of the tile, unless they were edited before.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=64)
    >>> set_field(place_shared(ins, ins.b, False), "swizzle", "32B")
    '0xc000401000010000'
    """
    ins, descriptor = shared.ins, shared.descriptor
    fields = {field.name: field for field in descriptor.bit_fields}
    if not is_name(name, fields):
        raise PtxlabError(
            f"the matrix descriptor of {descriptor.family} has no field {quoted(name)}; it has "
            f"{listing(fields, 20)}"
        )
    field, word = fields[name], text.strip()
    if name in _IN_BYTES:
        return _hex(_with_code(descriptor.code, field, _code_from_bytes(field, word)))
    codes = _codes(ins, field)
    code_of = {spelling.lower(): code for spelling, code in codes.items()}
    if word.lower() not in code_of:
        raise PtxlabError(
            f"{name} of the matrix descriptor: found {quoted(text)}; there are {listing(codes, 8)}"
        )
    code = _with_code(descriptor.code, field, code_of[word.lower()])
    if name != "swizzle":
        return _hex(code)
    plain = _whole_tile(ins, shared.tile)
    if (descriptor.leading, descriptor.stride) == (plain.leading, plain.stride):
        changed = _parse(ins, _hex(code))
        chunk = changed.chunk if isinstance(changed, Tcgen05Descriptor) else None
        usual = _whole_tile(ins, shown_tile(ins, shared.operand, changed.swizzle, shared.transposed, chunk))
        for distance in ("leading", "stride"):
            code = _with_code(code, fields[distance], getattr(usual, distance) // 16)
    return _hex(code)


def _hex(code: int) -> str:
    return f"0x{code:016x}"


def _with_code(code: int, field: BitField, value: int) -> int:
    mask = (1 << field.bits) - 1
    return code & ~(mask << field.low) | value << field.low


def _code_from_bytes(field: BitField, word: str) -> int:
    try:
        number = int(word, 0)
    except ValueError:
        number = -1
    if number % 16 or not 0 <= number < 16 << field.bits:
        raise PtxlabError(
            f"{field.name} of the matrix descriptor: found {quoted(word)}; it takes a multiple of 16 bytes "
            f"below 0x{16 << field.bits:x}"
        )
    return number // 16


# -- for the page ----------------------------------------------------------------------------------------


def matrix_descriptor_info(shared: SharedTile) -> dict[str, Any]:
    """The descriptor for the page: its bits, its fields with their choices, and what is wrong with it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=64)
    >>> info = matrix_descriptor_info(place_shared(ins, ins.b, False, swizzle=32))
    >>> info["hex"], info["fields"][2]["text"], info["problems"]
    ('0xc000401000010000', '256', [])
    """
    descriptor = shared.descriptor
    return {
        "hex": _hex(descriptor.code),
        "sentence": str(descriptor),
        "problems": _problems(shared),
        "fields": [_field_info(shared, field) for field in descriptor.bit_fields],
    }


def _problems(shared: SharedTile) -> list[str]:
    """What the instruction does not accept, and a base offset that does not match the start address."""
    ins, descriptor, tile = shared.ins, shared.descriptor, shared.tile
    problems: list[str] = []
    if ins.d.space == "tensor" and isinstance(descriptor, Tcgen05Descriptor):
        problems += descriptor.faults(ins, "A" if shared.operand.name == "A" else "B")
    base = (descriptor.address >> 7) % (tile.alignment // 128) if descriptor.swizzle else 0
    if descriptor.swizzle and descriptor.base_offset != base:
        problems.append(
            f"base offset {descriptor.base_offset}: a swizzle pattern that starts at "
            f"0x{descriptor.address:x} has base offset {base}"
        )
    return problems


def _field_info(shared: SharedTile, field: BitField) -> dict[str, Any]:
    typed = field.name in _IN_BYTES
    codes = {} if typed else _codes(shared.ins, field)
    text = f"0x{field.value:x}" if field.name == "address" else str(field.value)
    return {
        "name": field.name,
        "low": field.low,
        "bits": field.bits,
        "code": field.code,
        "text": text if typed else next(name for name, code in codes.items() if code == field.code),
        "meaning": _meaning(shared.tile, field.name),
        "choices": [[name, _obstacle(shared, field, name)] for name in codes],
        "typed": typed,
    }


def _obstacle(shared: SharedTile, field: BitField, text: str) -> str:
    """Why a field cannot have a value, or ""."""
    try:
        place_shared(shared.ins, shared.operand, shared.transposed, code=set_field(shared, field.name, text))
    except PtxlabError as error:
        return str(error)
    return ""


def _meaning(tile: Tile, name: str) -> str:
    in_k = tile.major == "K"
    if name == "leading" and in_k and tile.swizzle:
        return "Leading dimension offset (LBO): not used by a K-major tile with a swizzle"
    steps = {
        ("K", False): ("one core matrix to the next along K", "8 rows to the next 8"),
        ("K", True): ("", "8 rows to the next 8"),
        ("MN", False): ("8 steps of K to the next 8", "one core matrix to the next along M or N"),
        ("MN", True): (
            "one swizzle atom to the next along M or N",
            f"{tile.atom_lines} steps of K to the next {tile.atom_lines}",
        ),
    }
    leading, stride = steps[tile.major, bool(tile.swizzle)]
    return {
        "address": "Start address in shared memory, in bytes; the field counts 16 bytes",
        "leading": f"Leading dimension offset (LBO), in bytes: from {leading}",
        "stride": f"Stride dimension offset (SBO), in bytes: from {stride}",
        "version": "Version of the descriptor: 1 for tcgen05",
        "base_offset": "Base offset: the 128-byte row at which the swizzle pattern starts",
        "absolute": "Leading dimension mode: 0 if LBO is an offset, 1 if it is an address",
        "segment": "Which 24 of the 48 bytes of a column of B .decompress::lut::b uses: 0 or 1",
        "swizzle": "Bytes that the swizzle permutes, 16 bytes at a time; BASE32B: 32 bytes at a time",
    }[name]
