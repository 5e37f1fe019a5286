"""Commands about where data is in shared memory and in registers: descriptor, conflicts and repack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import memory, views
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.dtypes import dtype
from ..isa.instruction_descriptor import InstructionDescriptor
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.parse import parse
from ..isa.repack import Repack, Tiles, step_text
from ..isa.repack import repack as find_plan
from ..isa.tcgen05 import Tcgen05Form, TensorInstruction
from ..isa.transfer import Transfer
from ..memory import SWIZZLES, Conflicts, Descriptor, Tile
from ..memory.banks import conflicts as bank_conflicts
from ..memory.banks import transfer_conflicts
from ..memory.swizzle import CuteSwizzle, SharedLayout, swizzled
from ..views.location_tables import slice_bytes, slices
from ..views.shared_memory_pictures import accesses
from .instruction_arguments import Tcgen05, find_operand, form_of
from .output import PICTURE, Printed, Style, as_json, as_text

_MAX_PITCH = 1024  # bytes: no search for larger pitches without conflicts
_MAX_LINES = 16  # lines of text about what a descriptor reads
_MAX_ROWS = 256  # rows that a wgmma reads
_DEPTH_BYTES = 32  # bytes of K that one wgmma reads


# -- descriptor --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Slice:
    """Where a slice of a tile starts."""

    k: int
    row: int
    address: int | None


def descriptor(
    style: Style,
    code: Annotated[
        int | None,
        "the 64 bits, or the 32 of a tcgen05.mma; without them, --tile lists those of the tile",
        "DESCRIPTOR",
    ] = None,
    *,
    tile: Annotated[
        str | None,
        "bits=16,rows=64,k=64,major=K,swizzle=128 (or dtype=f16; also order=MN), or a layout of CuTe",
    ] = None,
    k: Annotated[int, "where the slice starts along K (default: 0)"] = 0,
    row: Annotated[int, "where the slice starts along M or N (default: 0)"] = 0,
    address: Annotated[int | None, "where the tile is in shared memory"] = None,
    instruction: Annotated[str | None, "the wgmma or tcgen05.mma that reads through it"] = None,
    operand: Annotated[str, "which operand of that instruction: A or B (default: B)"] = "B",
    tcgen05: Tcgen05,
    transposed: Annotated[bool, "for wgmma: the operand is MN-major (imm-trans = 1)"] = False,
    printed: Annotated[Printed, PICTURE],
) -> str:
    """Decode a descriptor, compare it with a tile, or list the descriptors of a tile.

    examples:
      ptxlab descriptor 0x4000004000010040
      ptxlab descriptor 0x4000002000010040 --tile bits=16,rows=64,k=64,swizzle=128
      ptxlab descriptor 0x4000004000010042 --instruction wgmma.m64n64k16.f32.f16
      ptxlab descriptor 0x4000004000010042 --svg > bytes.svg        which bytes it reads
      ptxlab descriptor 0x8400490 --instruction tcgen05.mma.cta_group::1.kind::f16
      ptxlab descriptor --instruction tcgen05.mma.cta_group::1.kind::f16 --m 64 --n 32
      ptxlab descriptor --tile bits=16,rows=64,k=128,swizzle=128    those of all slices
      ptxlab descriptor --tile dtype=e4m3,rows=64,k=64,swizzle=64 --svg > tile.svg
    """
    printed.check()
    read = None
    if instruction is not None:
        form = form_of(instruction, tcgen05)
        if isinstance(form, TensorInstruction):
            if tile is not None:
                raise PtxlabError("for tcgen05, give a descriptor of 32 or 64 bits, without --tile")
            if code is None or 0 <= code < 1 << 32:
                return _instruction_descriptor(code, form, printed, style)
            return _tcgen05(code, form, operand.upper(), printed, style)
        if isinstance(form, Tcgen05Form):
            raise PtxlabError(f"--instruction {form.mnemonic}: of tcgen05, only mma has descriptors to check")
        if not isinstance(form, Instruction) or not form.family.startswith("wgmma"):
            raise PtxlabError(f"--instruction {form.mnemonic}: only wgmma reads through descriptors")
        read = find_operand(form.a_from("shared"), operand)
    elif tcgen05.first:
        raise PtxlabError("--m, --n, --a, --b, --d, --descriptor and --tensor-a go with --instruction")
    named = None if tile is None else Tile.parse(tile)
    if code is not None:
        place = _Slice(k, row, address)
        return _decoded(code, named, read, place, transposed, printed, style)
    if named is None:
        if read is None:
            raise PtxlabError(
                "give a descriptor, such as 0x4000004000010040, or a --tile to list its descriptors"
            )
        named = Tile.of(read, 0, transposed)
    if printed.format == "svg":
        return printed.svg(views.tile(named, k))
    table = slices(named, address or 0)
    if printed.format == "json":
        return as_json({**tile_facts(named, address or 0), "slices": table})
    title = f"{style.bold(str(named))} at 0x{address or 0:x}, {named.size} bytes"
    return "\n".join([title, f"  {named.cute}", as_text(table, style, "  ")])


def _decoded(
    code: int,
    tile: Tile | None,
    operand: Operand | None,
    place: _Slice,
    transposed: bool,
    printed: Printed,
    style: Style,
) -> str:
    """What a descriptor of wgmma says, and whether it is right for the tile or the operand."""
    fields = memory.descriptor(code)
    k, guessed = place.k, False
    if tile is None and operand is not None:
        tile = Tile.of(operand, fields.swizzle, transposed)
        if place == _Slice(0, 0, None):
            tile, k, guessed = _likely(fields, tile)
    problems: list[str] = []
    notes: list[str] = []
    if tile is not None:
        judgement = tile.judge(fields, k, row=place.row, address=place.address)
        problems, notes = [*judgement.problems], [*judgement.notes]
    if tile is not None and operand is not None:
        problems = [*_misfits(tile, operand, k, place.row), *problems]
    bits, rows, major = (16, 64, "K") if tile is None else (tile.bits, tile.rows - place.row, tile.major)
    if operand is not None:
        rows, _ = _rows_and_depth(operand)
    if printed.format == "svg":
        picture = _picture(fields, tile, replace(place, k=k)) or views.bytes_read(
            fields, bits=bits, rows=min(rows, _MAX_ROWS), major="K" if major == "K" else "MN"
        )
        return printed.svg(picture)
    table = slice_bytes(fields, bits, rows, _DEPTH_BYTES * 8 // bits, major)
    if printed.format == "json":
        return as_json(
            {
                "descriptor": f"0x{fields.code:x}",
                **asdict(fields),
                "tile": None if tile is None else str(tile),
                "k": k,
                "right": None if tile is None else not problems,
                "problems": problems,
                "notes": notes,
                "bytes": table,
            }
        )
    lines = [style.bold(f"0x{fields.code:016x}"), f"  {fields}"]
    if tile is not None:
        start = f"k={k}" if not place.row else f"k={k}, row={place.row}"
        where = f"{', for example,' if guessed else ''} for the slice at {start} of {tile}"
        lines += ["", *(f"  {text}" for text in _verdict(where, problems, notes))]
    shown = views.Table(table.columns, table.rows[:_MAX_LINES], table.lanes[:_MAX_LINES])
    kind = f"{bits}-bit elements, {major}-major"
    if tile is None:
        kind += "; with --tile, those of your tile, and whether they are right"
    more = "" if len(table.rows) <= _MAX_LINES else f", {_MAX_LINES} of {len(table.rows)} lines"
    lines += ["", style.dim(f"  addresses that {fields.family} reads, 16 bytes each ({kind}{more}):")]
    return "\n".join([*lines, as_text(shown, style, "  ")])


def _tcgen05(code: int, form: TensorInstruction, operand: str, printed: Printed, style: Style) -> str:
    """The 64-bit descriptor of A or B of a tcgen05.mma."""
    fields = memory.descriptor(code, family="tcgen05")
    if printed.format == "svg":
        return printed.svg(views.descriptor(fields.code))
    problems = fields.tcgen05().faults(form, operand)
    if printed.format == "json":
        facts = {"descriptor": f"0x{fields.code:x}", **asdict(fields), "right": not problems}
        return as_json({**facts, "problems": [*problems]})
    where = f" for {operand} of {form.mnemonic}"
    lines = [style.bold(f"0x{fields.code:016x}"), f"  {fields}", ""]
    return "\n".join([*lines, *(f"  {text}" for text in _verdict(where, [*problems], []))])


def _instruction_descriptor(code: int | None, form: TensorInstruction, printed: Printed, style: Style) -> str:
    """The 32-bit descriptor of a tcgen05.mma."""
    fields = form.descriptor if code is None else InstructionDescriptor.decode(code, form.kind)
    if printed.format == "svg":
        return printed.svg(views.instruction_descriptor(fields))
    problems = form.faults(fields)
    table = views.Table(
        ("bits", "field", "code", "value"),
        tuple(
            (_bit_range(row.low, row.bits), row.name, row.code, str(row.value)) for row in fields.bit_fields
        ),
    )
    if printed.format == "json":
        facts = {"descriptor": f"0x{fields.code:08x}", **asdict(fields), "right": not problems}
        return as_json({**facts, "problems": [*problems], "fields": table})
    lines = [style.bold(f"0x{fields.code:08x}"), f"  {fields}", ""]
    lines += [f"  {text}" for text in _verdict(f" for {form.mnemonic}", [*problems], [])]
    return "\n".join([*lines, "", as_text(table, style, "  ")])


def _bit_range(low: int, bits: int) -> str:
    return f"{low}-{low + bits - 1}" if bits > 1 else str(low)


def _rows_and_depth(operand: Operand) -> tuple[int, int]:
    """M or N, and K."""
    first, second = operand.shape
    return (first, second) if operand.axes[0] == "m" else (second, first)


def _misfits(tile: Tile, operand: Operand, from_k: int, from_row: int) -> list[str]:
    """What prevents the instruction from reading the tile."""
    rows, k = _rows_and_depth(operand)
    problems = []
    if tile.bits != operand.dtype.bits:
        problems.append(f"{operand.name} is {operand.dtype}, but the tile has elements of {tile.bits} bits")
    if tile.major == "MN" and operand.dtype.bits != 16:
        problems.append(f"{operand.name} is {operand.dtype}: wgmma reads MN-major f16 and bf16 only")
    if tile.rows - from_row < rows or tile.k - from_k < k:
        problems.append(
            f"{operand.name} is {rows} rows by {k} of K; from row {from_row} and k={from_k} the tile has "
            f"{tile.rows - from_row} by {tile.k - from_k}"
        )
    return problems


def _verdict(where: str, problems: list[str], notes: list[str]) -> list[str]:
    if not problems:
        return [f"right{where}", *notes]
    return [f"wrong{where}: " + "; ".join([*notes, *problems])]


def _likely(fields: Descriptor, operand_tile: Tile) -> tuple[Tile, int, bool]:
    """A tile that the descriptor fits, the k at which its slice starts, and whether the tile is a guess.

    The tile of a kernel may be larger than the operand that its instruction reads.
    """
    for size, k in _sizes(fields, operand_tile):
        try:
            tile = replace(operand_tile, **size)
            fits = not tile.judge(fields, k).problems
        except PtxlabError:
            continue
        if fits and tile.rows >= operand_tile.rows and tile.k >= operand_tile.k + k:
            return tile, k, tile != operand_tile
    return operand_tile, 0, False


def _sizes(fields: Descriptor, tile: Tile) -> Iterator[tuple[dict[str, Any], int]]:
    """Sizes of tiles whose atoms could be as far apart as the descriptor says, and where a slice starts."""
    atom = 8 * max(fields.swizzle, 16)
    along_leading, along_stride = fields.leading // atom, fields.stride // atom
    yield {}, 0
    if tile.major == "K" and fields.swizzle:
        inside = fields.address % 128 * 8 // tile.bits
        yield {"k": tile.atom_width, "order": "MN"}, inside
        yield {"k": tile.atom_width * along_stride, "order": "K"}, inside
    elif tile.major == "K":
        yield {"k": tile.core_width * along_stride, "order": "K"}, 0
        yield {"rows": 8 * along_leading, "order": "MN"}, 0
    else:
        rows, deep = (along_stride, along_leading) if fields.swizzle else (along_leading, along_stride)
        yield {"rows": tile.atom_width * rows, "order": "MN"}, 0
        yield {"k": 8 * deep, "order": "K"}, 0


def _picture(fields: Descriptor, tile: Tile | None, place: _Slice) -> views.Picture | None:
    """What is read of a tile; None if a picture of the tile would not show it."""
    if tile is None or place.row:
        return None
    try:
        return views.bytes_read(fields, tile, place.k, address=place.address)
    except PtxlabError:
        return None


def tile_facts(tile: Tile, address: int = 0) -> dict[str, object]:
    """What a kernel needs to know about a tile, by name."""
    return {
        "tile": str(tile),
        "major": tile.major,
        "swizzle": tile.swizzle,
        "bytes": tile.size,
        "alignment": tile.alignment,
        "LBO": tile.leading,
        "SBO": tile.stride,
        "descriptor": f"0x{tile.descriptor(address):x}",
        "cute": tile.cute,
    }


# -- conflicts ---------------------------------------------------------------------------------------------

#: ld.shared and st.shared as PTX spells them, with qualifiers that do not matter here.
_PLAIN = re.compile(
    r"(?P<family>ld|st)(?:\.\w+)*?\.shared(?:::\w+)?(?:\.v(?P<count>[24]))?\.[bsuf](?P<bits>8|16|32|64)"
)


#: A swizzle as the command takes it: a width in bytes, or CuTe's swizzle of byte addresses.
_Swizzle: TypeAlias = "int | CuteSwizzle"


class _WarpAccess:
    """The access that the command names, and its addresses at a pitch and a swizzle."""

    def __init__(self, text: str, element: str | None, lanes_per_row: int, column: int) -> None:
        self.lanes_per_row, self.column = lanes_per_row, column
        self.form: Transfer | None = None
        plain = _PLAIN.fullmatch(text.strip())
        if plain is None:
            self.form = _matrix_transfer(text)
            self.name, self.width = self.form.mnemonic, self.form.row_bytes
            self.bits = self.form.operands["R"].dtype.bits
            if lanes_per_row != 1:
                raise PtxlabError("--lanes-per-row is for ld.shared and st.shared; ldmatrix reads whole rows")
        else:
            self.name, self.store = plain[0], plain["family"] == "st"
            self.bits = int(plain["bits"])
            self.width = self.bits // 8 * int(plain["count"] or 1)
            if self.width > 16:
                raise PtxlabError(f"{self.name}: a lane reads or writes at most 16 bytes")
        if element is not None:
            self.bits = dtype(element).bits
        if not 1 <= lanes_per_row <= 32:
            raise PtxlabError(f"--lanes-per-row {lanes_per_row}: it takes 1 to 32")

    @property
    def row_bytes(self) -> int:
        """Bytes of a row: the pitch without padding."""
        if self.form is None:
            return self.width * self.lanes_per_row
        return self.width * self._chunks

    @property
    def _chunks(self) -> int:
        """Matrices beside each other: two, as in A (16x16) or B (8x16) of an mma; one for x1."""
        return 1 if self.form is None or self.form.count == 1 else 2

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The row of each lane, and the byte in it."""
        lane = np.arange(32)
        row, chunk = lane // self.lanes_per_row, lane % self.lanes_per_row
        if self.form is not None:
            count = len(self.form.address_lanes)
            used = lane % count
            rows = count // self._chunks
            row, chunk = used % rows, used // rows
        return row, chunk * self.width + self.column

    def addresses(self, pitch: NDArray[np.int64], swizzle: _Swizzle) -> NDArray[np.int64]:
        """Addresses of the lanes at each pitch, [..., 32]."""
        row, byte = self._places()
        linear = row * pitch[..., None] + byte
        return swizzled(linear, swizzle) if isinstance(swizzle, int) else swizzle(linear)

    def addresses_in(self, tile: SharedLayout) -> NDArray[np.int64]:
        """Addresses of the lanes in a CuTe layout; its rows are along the mode that is not contiguous."""
        row, byte = self._places()
        per_lane = self.width * 8 // tile.bits
        if not per_lane or (self.column * 8) % tile.bits:
            raise PtxlabError(
                f"--layout: elements have {tile.bits} bits, {self.name} {8 * self.width} in each lane"
            )
        columns = byte[:, None] * 8 // tile.bits + np.arange(per_lane)
        rows = np.broadcast_to(row[:, None], columns.shape)
        offsets = tile.layout.offsets()
        if offsets.ndim != 2:
            raise PtxlabError(
                f"--layout {tile.layout}: a matrix has two modes, rows and columns, as in (64,64):(64,1)"
            )
        column_major = offsets.shape[0] > 1 and offsets[1, 0] == 1
        places = tile.address(columns, rows) if column_major else tile.address(rows, columns)
        steps = np.arange(per_lane) * tile.bits // 8
        if (places != places[:, :1] + steps).any():
            raise PtxlabError(
                f"--layout {tile.layout}: the {self.width} bytes that a lane of {self.name} takes are not "
                "consecutive in it"
            )
        return places[:, 0]

    def conflicts(self, addresses: NDArray[np.int64]) -> Conflicts:
        if self.form is not None:
            return transfer_conflicts(self.form, addresses)
        return bank_conflicts(addresses, self.width, store=self.store)

    def is_free(self, addresses: NDArray[np.int64]) -> bool:
        """Whether an access to these addresses meets no conflicts."""
        answer = self.conflicts(addresses)
        return bool(answer.wavefronts == answer.least)

    def free_pitches(self, pitch: int, swizzle: _Swizzle) -> list[int]:
        """Pitches without conflicts, the nearest first."""
        unit = 16 if swizzle else self.width
        low = -(-self.row_bytes // unit) * unit
        pitches = np.arange(low, max(pitch, _MAX_PITCH) + 1, unit)
        answer = self.conflicts(self.addresses(pitches, swizzle))
        free = pitches[np.asarray(answer.wavefronts) == np.asarray(answer.least)]
        return sorted(free.tolist(), key=lambda candidate: (abs(candidate - pitch), -candidate))


def _matrix_transfer(text: str) -> Transfer:
    if re.match(r"(ld|st)\.(?!.*shared)", text.strip()):
        raise PtxlabError(f"{quoted(text)}: only shared memory has banks; write ld.shared or st.shared")
    if re.match(r"(ld|st)\.", text.strip()):
        raise PtxlabError(
            f"{quoted(text)}: ld.shared and st.shared take .v2, .v4 or neither, and a type of 8 to 64 bits, "
            "as in ld.shared.v4.f32"
        )
    form = parse(text)
    if not isinstance(form, Transfer) or not form.address_lanes:
        raise PtxlabError(
            f"{form.mnemonic}: conflicts are those of ldmatrix, stmatrix, ld.shared or st.shared, as in "
            "ld.shared.v4.f32"
        )
    return form


def conflicts(
    style: Style,
    access: Annotated[
        str | None,
        "ldmatrix or stmatrix as PTX spells it, or ld.shared or st.shared, e.g. ld.shared.v4.f32 (default: "
        "ldmatrix of four matrices of f16)",
    ] = None,
    *,
    pitch: Annotated[int | None, "bytes from one row to the next", "BYTES"] = None,
    swizzle: Annotated[
        str,
        "swizzle mode (0, 32, 64, 128 bytes), or CuTe's Swizzle<3,3,4>, which counts elements "
        "(Swizzle<3,4,3> and others of wgmma count bytes)",
    ] = "0",
    layout: Annotated[
        str | None, "instead of both, a CuTe layout of a matrix: 'Swizzle<3,3,3> o (64,64):(64,1)'"
    ] = None,
    type: Annotated[str | None, "the type of its elements, e.g. e4m3 (default: that of the access)"] = None,
    column: Annotated[int, "where it starts in its rows (default: 0)", "BYTES"] = 0,
    lanes_per_row: Annotated[
        int, "for ld.shared and st.shared: lanes side by side in a row (default: 1)", "N"
    ] = 1,
    colour: Annotated[Literal["lane", "wavefront"], "what the words are labelled with"] = "lane",
    printed: Annotated[Printed, PICTURE],
) -> str:
    """Wavefronts of one access, and what would be without conflicts.

    examples:
      ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 128
      ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 80 --swizzle 64
      ptxlab conflicts ld.shared.v4.f32 --pitch 64 --lanes-per-row 4
      ptxlab conflicts --swizzle 'Swizzle<3,3,4>'
      ptxlab conflicts --layout 'Swizzle<3,3,3> o (64,64):(64,1)'
      ptxlab conflicts st.shared.b32 --pitch 128 --svg > banks.svg
    """
    printed.check()
    text = access or "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    warp = _WarpAccess(text, type, lanes_per_row, column)
    if not 0 <= column < 1 << 13:
        raise PtxlabError(f"--column {quoted(column)}: it takes 0 to {(1 << 13) - 1} bytes")
    if layout is not None:
        if pitch is not None or swizzle != "0":
            raise PtxlabError("--layout says where everything is: leave out --pitch and --swizzle")
        stated = "smem_ptr[" in layout and type is None
        tile = SharedLayout.read(layout, None if stated else warp.bits)
        return _in_layout(warp, layout, tile, colour, printed, style)
    mode = _swizzle(swizzle, warp.bits)
    if pitch is None:
        pitch = mode if isinstance(mode, int) else mode.row_bytes
        pitch = max(pitch, warp.row_bytes)
    if not 0 <= pitch < 1 << 13 or pitch % warp.width:
        raise PtxlabError(
            f"--pitch {quoted(pitch)}: rows are a multiple of {warp.width} bytes apart, below {1 << 13}"
        )
    answer = warp.conflicts(warp.addresses(np.array(pitch), mode))
    if printed.format == "svg":
        return printed.svg(views.banks(answer, colour))
    free = answer.wavefronts == answer.least
    pitches = [] if free else warp.free_pitches(pitch, mode)[:2]
    other = [] if free else _free_swizzles(warp, pitch, mode)
    if printed.format == "json":
        return as_json(
            {
                "access": warp.name,
                "pitch": pitch,
                "swizzle": mode if isinstance(mode, int) else swizzle,
                **_conflict_facts(answer),
                "pitches without conflicts": pitches,
                "swizzles without conflicts": other,
                "lanes": accesses(answer),
            }
        )
    words = "no swizzle"
    if isinstance(mode, CuteSwizzle):
        words = f"{swizzle} ({mode.sentence})"
    elif mode:
        words = f"{mode}-byte swizzle"
    lines = [f"{style.bold(warp.name)}, rows {pitch} bytes apart, {words}", f"  {answer}"]
    if pitches:
        lines.append(f"  without conflicts: rows {' or '.join(map(str, pitches))} bytes apart")
    if other:
        names = ["none" if width == 0 else f"{width} bytes" for width in other]
        lines.append(f"  without conflicts at this pitch: swizzle {' or '.join(names)}")
    return "\n".join([*lines, *_by_bank(answer, colour, style)])


def _in_layout(
    access: _WarpAccess,
    layout: str,
    tile: SharedLayout,
    colour: Literal["lane", "wavefront"],
    printed: Printed,
    style: Style,
) -> str:
    """The same for a matrix that a CuTe layout describes."""
    answer = access.conflicts(access.addresses_in(tile))
    if printed.format == "svg":
        return printed.svg(views.banks(answer, colour))
    free = answer.wavefronts == answer.least
    other = [] if free else _free_layouts(access, tile)
    if printed.format == "json":
        facts = {"access": access.name, "layout": layout, "bits": tile.bits, **_conflict_facts(answer)}
        return as_json({**facts, "layouts without conflicts": other, "lanes": accesses(answer)})
    swizzle = "" if tile.swizzle is None else f" ({tile.swizzle.sentence})"
    lines = [
        f"{style.bold(access.name)} in {layout} of {tile.bits}-bit elements{swizzle}",
        f"  {answer}",
    ]
    if other:
        lines.append(f"  without conflicts: {' or '.join(other)}")
    return "\n".join([*lines, *_by_bank(answer, colour, style)])


def _conflict_facts(answer: Conflicts) -> dict[str, object]:
    return {
        "wavefronts": answer.wavefronts,
        "least": answer.least,
        "evidence": answer.evidence,
        "collisions": [collision._asdict() for collision in answer.collisions],
    }


def _by_bank(answer: Conflicts, colour: Literal["lane", "wavefront"], style: Style) -> list[str]:
    """What each lane touches, and the words by bank."""
    grid = views.grid_table(views.banks(answer, colour).grids[0])
    return [
        "",
        as_text(accesses(answer), style, "  "),
        "",
        style.dim(f"  words by bank, with their {colour}s:"),
        as_text(grid, style, "  "),
    ]


def _swizzle(text: str, bits: int) -> _Swizzle:
    """A width in bytes, or CuTe's swizzle of elements of `bits` bits, as one of bytes."""
    if "<" in text:
        return CuteSwizzle.read(text).of_bytes(bits)
    if not text.isdecimal() or len(text) > 9 or int(text) not in SWIZZLES:
        raise PtxlabError(
            f"swizzle of {text[:20]} bytes: there are {listing(sorted(SWIZZLES))}, and Swizzle<3,3,4> of CuTe"
        )
    return int(text)


def _free_layouts(access: _WarpAccess, tile: SharedLayout) -> list[str]:
    """The same layout with swizzles of 16-byte vectors that avoid conflicts, fewest bits first."""
    base = (128 // tile.bits).bit_length() - 1  # 16 bytes move together
    for bits in (1, 2, 3):
        free = []
        for shift in range(bits, 8):
            swizzle = CuteSwizzle(bits, base, shift)
            if access.is_free(access.addresses_in(replace(tile, swizzle=swizzle._replace(base=4)))):
                free.append(f"{swizzle} o {tile.layout}")
        if free:
            return free[:2]
    return []


def _free_swizzles(access: _WarpAccess, pitch: int, current: _Swizzle) -> list[int]:
    """Swizzles that make this pitch free of conflicts, the narrowest first."""
    if pitch % 16 or access.column % 16:
        return []
    others = [swizzle for swizzle in sorted(SWIZZLES) if swizzle != current]
    return [swizzle for swizzle in others if access.is_free(access.addresses(np.array(pitch), swizzle))]


# -- repack ------------------------------------------------------------------------------------------------


def repack(
    style: Style,
    source: Annotated[str, "INSTRUCTION:OPERAND, e.g. mma.m16n8k16.f32.f16:D (default: D, or R of ldmatrix)"],
    target: Annotated[
        str,
        "INSTRUCTION:OPERAND (default: A, or R of stmatrix); the smaller side is repeated to fit",
    ],
    *,
    printed: Annotated[Printed, PICTURE | {"cuda"}],
) -> str:
    """The plan as text, JSON, CUDA C++ or a picture.

    examples:
      ptxlab repack wgmma.m64n32k32.f32.e4m3:D wgmma.m64n32k32.f32.e4m3:A
      ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --cuda    device function
      ptxlab repack ldmatrix.sync.aligned.m8n8.x2.trans.b16 mma.m16n8k16.f32.f16:B
      ptxlab repack mma.m16n8k32.s8:D mma.m16n8k32.s8:A --json
    """
    printed.check()
    plan = _plan(_repacked(source, ("D", "R", "A")), _repacked(target, ("A", "R", "D")))
    if printed.format == "cuda":
        return plan.source.rstrip("\n")
    if printed.format == "json":
        return as_json(_plan_facts(plan))
    if printed.format == "svg":
        return printed.svg(views.repack(plan))
    counts = ", ".join(counted(count, kind) for kind, count in plan.counts.items())
    lines = [
        style.bold(plan.describe()),
        f"  {plan.moved} of {plan.elements} elements change lanes; {counts or 'registers stay as they are'}",
        "",
        *(f"  {step_text(step)}" for step in plan.steps),
    ]
    return "\n".join(lines)


def _repacked(text: str, defaults: tuple[str, ...]) -> Operand:
    """An operand as typed: INSTRUCTION:D, or the instruction alone for its default operand."""
    named = re.fullmatch(r"(.*[^:]):(\w+)", text.strip(), re.DOTALL)
    if named is not None and not named[2].isdigit() and len(named[2]) <= 10:
        instruction, name = named[1], named[2]
    else:
        instruction, name = text, ""
    form = parse(instruction)
    if isinstance(form, Instruction) and form.family.startswith("wgmma"):
        form = form.a_from("register")
    name = name or next((letter for letter in defaults if letter in form.operands), "A")
    operand = find_operand(form, name)
    if operand.layout is None:
        raise PtxlabError(
            f"{name} of {form.mnemonic} lies in shared memory: only operands in registers can be repacked"
        )
    return operand


def _plan(source: Operand, target: Operand) -> Repack:
    """The plan for as many tiles of the smaller side as the larger one has room for.

    A row of ldmatrix with .trans may be wider than that; then there are more of both.
    """
    if "R" not in (source.name, target.name):
        return find_plan(_grid(source, target.shape), _grid(target, source.shape))
    bits = [operand.shape[0] * operand.shape[1] * operand.width for operand in (source, target)]
    counts = max(1, bits[1] // bits[0]), max(1, bits[0] // bits[1])
    refusals = []
    for factor in (1, 2, 4, 8) if source.lanes == target.lanes else (1,):
        try:
            return find_plan(_repeated(source, counts[0] * factor), _repeated(target, counts[1] * factor))
        except PtxlabError as error:
            refusals.append(error)
    raise refusals[-1]


def _repeated(operand: Operand, count: int) -> Tiles:
    if count < 2:
        return operand
    down = operand.axes[1].lower() == "k" or operand.name == "R"
    return [[operand] for _ in range(count)] if down else [operand for _ in range(count)]


def _grid(operand: Operand, shape: tuple[int, int]) -> Tiles:
    rows, columns = (max(1, size // tile) for size, tile in zip(shape, operand.shape, strict=True))
    return [[operand for _ in range(columns)] for _ in range(rows)]


def _plan_facts(plan: Repack) -> dict[str, object]:
    return {
        "source": [operand.describe() for operand in plan.sources],
        "target": [operand.describe() for operand in plan.targets],
        "lanes": plan.lanes,
        "elements": plan.elements,
        "moved": plan.moved,
        "counts": plan.counts,
        "steps": [{"step": type(step).__name__.lower(), **vars(step)} for step in plan.steps],
        "cuda": plan.source,
    }
