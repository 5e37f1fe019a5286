"""What the manual draws: fragments, shared-memory tiles, metadata, block scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_flag, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.parse import parse_any
from ..isa.sparsity import Structure
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import LANES
from ..memory import Tile
from .grid import Cell, Grid, Header, State, as_part, clipped, headers
from .holders import AnyOperand, Holders, Product, as_product, form_name, holders, k_headers, one_matrix
from .labels import bit_range, element_names, index_range, layout_note, number_text, owners, runs
from .picture import Picture
from .scale_picture import tensor_scales
from .tensor_pictures import tensor_memory, tensor_registers

__all__ = [
    "BANK_COLOURS",
    "LANE_COLOURS",
    "Label",
    "TileColour",
    "bank_key",
    "bank_tint",
    "colour_key",
    "core_matrix_tint",
    "fragment",
    "lane_colour_notes",
    "lane_key",
    "metadata",
    "operand_notes",
    "scales",
    "tensor_colour_notes",
    "tile",
    "warp_notes",
]

Label = Literal["auto", "elements", "registers", "lanes", "none"]
#: What the colours of an operand in shared memory say; "auto" is the core matrix.
TileColour = Literal["auto", "core matrix", "bank"]
#: How the colours of lanes are read.
LANE_COLOURS = "hue: lane / 4, shade: lane % 4"

#: How the colours of banks are read.
BANK_COLOURS = "hue: bank / 4, for a tile that starts at bank 0"

_MOST_LABELS = 300  # with more, a picture no longer fits a screen; `warp` shows a quarter of a warpgroup's


# -- fragments -------------------------------------------------------------------------------------------


def fragment(
    ins: Form | str,
    name: str,
    *,
    label: Label = "auto",
    lane: int | None = None,
    warp: int | None = None,
    dense: bool = False,
    swizzle: int = 0,
    colour: TileColour = "auto",
) -> Picture:
    """The lane that holds each element of an operand: a cell for every run of neighbours in a lane.

    `warp` shows the rows of one warp of a warpgroup. `dense` shows the logical (dense) A of a sparse
    instruction, in which a lane covers twice the columns that it stores. An operand in shared memory shows
    its tile, with that swizzle, coloured by "core matrix" or by "bank"; one in tensor memory as
    `tensor_memory` draws it, and registers of tcgen05.ld as `tensor_registers` does.

    >>> import ptxlab
    >>> picture = fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A")
    >>> print(picture.grids[0].hover[9, 37])
    A[9][37]
    lane 4, element a29
    register 3, bits [23..20]
    """
    ins = parse_any(ins)
    dense, swizzle = as_flag(dense, "dense"), as_int(swizzle, "swizzle")
    if not is_name(label, get_args(Label)):
        raise PtxlabError(f"label={quoted(label)}: a label is one of {listing(get_args(Label))}")
    if not is_name(colour, get_args(TileColour)):
        raise PtxlabError(f"colour={quoted(colour)}: it is one of {listing(get_args(TileColour))}")
    if isinstance(ins, Tcgen05Form) and not is_name(name, (*ins.operands, *map(str.lower, ins.operands))):
        return tensor_memory(ins, name)
    if isinstance(ins, Tcgen05Transfer):
        return tensor_registers(ins, lane, warp=0 if warp is None else warp)
    op = ins.operand(name)
    if colour != "auto" and op.layout is not None:
        raise PtxlabError(
            f"colour={quoted(colour)}: {op.name} of {ins.mnemonic} lives in registers, which are coloured by "
            "lane; core matrices and banks are of shared memory"
        )
    if isinstance(ins, MmaForm) and op.name == "E":
        return metadata(ins, warp=warp)
    if isinstance(ins, MmaForm) and op.name in ("SFA", "SFB"):
        return scales(ins)
    if dense and not _is_compressed(ins, op):
        raise PtxlabError(
            f"dense=True: only A of a sparse instruction has a dense form of its own, "
            f"found {op.name} of {ins.mnemonic}"
        )
    if op.layout is None:
        if warp is not None:
            raise PtxlabError(
                f"warp={quoted(warp)}: {op.name} of {ins.mnemonic} lives in shared memory, "
                "where no warp has its own part"
            )
        return tile(ins, op, swizzle, colour)
    if swizzle:
        raise PtxlabError(
            f"swizzle={quoted(swizzle)}: {op.name} of {ins.mnemonic} lives in registers; "
            "there is nothing to swizzle"
        )
    if lane is not None:
        lane = op.place(lane, 0).lane  # refuses a lane that does not exist
    rows = _warp_rows(op, warp)
    if dense and isinstance(ins, MmaForm):
        grid = _dense_grid(ins, label, lane, rows)
    else:
        grid = _fragment_grid(ins, op, label, lane, rows)
    grid = grid.part(rows, range(grid.shape[1]))
    notes = [*operand_notes(ins, op, dense), *warp_notes(rows, warp)]
    if not grid.labelled and _holds_rows_in_fours(op):
        notes.append("row m: lanes 4 (m % 8) to 4 (m % 8) + 3 of its warp")
    return Picture(f"{op.name} of {ins.mnemonic}", (*notes, *lane_colour_notes(op.lanes)), (grid,))


def _holds_rows_in_fours(op: Operand) -> bool:
    """Whether the rows of every 8 of a warp are held by its lanes 0 to 3, 4 to 7, and so on."""
    if op.layout is None or op.lanes == 32:
        return False
    lanes = owners(op.layout)[0] % 32
    row = np.arange(op.shape[0])[:, None]
    return bool((lanes // 4 == row % 8).all())


def _is_compressed(ins: Form, op: Operand) -> bool:
    """Whether the operand is the A of a sparse instruction."""
    return isinstance(ins, MmaForm) and ins.sparse and op.name == "A"


def _fragment_grid(ins: Form, op: Operand, label: Label, lane: int | None, rows: range) -> Grid:
    """All of an operand in registers, cell by cell of what a lane holds side by side."""
    if op.layout is None:
        raise PtxlabError(f"{op.name} of {ins.mnemonic} lives in shared memory: no lane holds it")
    lanes, elements = owners(op.layout)
    spans = runs(lanes, elements)
    if label == "auto":
        label = _fitting_label(len(spans), op.shape, rows)
    cells = []
    for row, column, height, width in spans:
        owner, first = int(lanes[row, column]), int(elements[row, column])
        lines = _cell_label(op, label, owner, range(first, first + max(height, width)))
        cells.append(Cell(row, column, height, width, lines, owner, _focus(owner, lane)))
    prefix = "compressed " if _is_compressed(ins, op) else ""
    _, _, tall, wide = spans[0]
    row_step, column_step = (tall if tall > 2 else 1), (wide if wide > 2 else 1)
    if label == "none":
        row_step, column_step = _heading_steps(op.shape)
    return Grid(
        op.shape,
        tuple(cells),
        _fragment_hover(op, lanes, elements, prefix),
        headers(op.shape[0], row_step),
        headers(op.shape[1], column_step),
        op.axes,
        name=op.name,
        row_rules=_warp_rules(ins, op),
        row_groups=holders(op).row_groups(),
    )


def _dense_grid(ins: MmaForm, label: Label, lane: int | None, rows: range) -> Grid:
    """The dense A of a sparse instruction: a cell for every chunk, with the stored elements it becomes."""
    structure, op, dense = ins.structure, ins.a, ins.a_dense
    if structure is None or op.layout is None or dense.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no sparse A in registers")
    lanes, elements = owners(dense.layout)
    width, stored = structure.chunk, structure.keep * structure.group
    if label == "auto":
        label = _fitting_label(ins.m * ins.k // width, dense.shape, rows)
    cells = []
    for row, chunk in np.ndindex(ins.m, ins.k // width):
        owner, first = int(lanes[row, chunk * width]), int(elements[row, chunk * width]) // 2
        lines = _cell_label(op, label, owner, range(first, first + stored))
        cells.append(Cell(row, chunk * width, 1, width, lines, owner, _focus(owner, lane)))
    row_step, column_step = (1, width)
    if label == "none":
        row_step, column_step = _heading_steps(dense.shape)
    return Grid(
        dense.shape,
        tuple(cells),
        _dense_hover(ins),
        headers(ins.m, row_step),
        headers(ins.k, column_step),
        dense.axes,
        name="A",
        row_rules=_warp_rules(ins, op),
        row_groups=holders(op).row_groups(),
    )


def _fitting_label(spans: int, shape: tuple[int, int], rows: range) -> Label:
    """Element labels, or none where the cells of these rows are too many for them."""
    return "elements" if spans * len(rows) <= _MOST_LABELS * shape[0] else "none"


def _heading_steps(shape: tuple[int, int]) -> tuple[int, int]:
    """How many rows and columns share a heading where cells have no labels."""
    return 8, 16 if shape[1] <= 128 else 32


def _focus(owner: int, lane: int | None) -> State:
    """How a cell of a lane stands out when another, or this, is in focus."""
    if lane is None:
        return "plain"
    return "mark" if owner == lane else "dim"


def _warp_rules(ins: Form, op: Operand) -> tuple[int, ...]:
    """Rows above which a new warp, or a new quad pair of mma.m8n8k4, begins."""
    if op.lanes > 32:
        return tuple(range(16, op.shape[0], 16))
    if isinstance(ins, MmaForm) and ins.mma_count > 1 and op.name != "B":  # those of B stand side by side
        return tuple(range(8, op.shape[0], 8))
    return ()


def _warp_rows(op: Operand, warp: int | None) -> range:
    """The rows whose elements a warp holds; all of them for None."""
    return range(op.shape[0]) if warp is None else holders(op).window(warp, op.name)[0]


def warp_notes(rows: range, warp: int | None) -> tuple[str, ...]:
    """A note on the warp that is shown, where it is only one."""
    if warp is None:
        return ()
    warp = as_int(warp, "warp")
    lanes = index_range(32 * warp, 32)
    return (f"warp {warp}: lanes {lanes}, rows {index_range(rows.start, len(rows))}",)


def lane_colour_notes(lanes: int) -> tuple[str, ...]:
    """How the colours of lanes are read, in a warp or in a warpgroup."""
    if lanes > 32:
        return LANE_COLOURS, "the lanes of every warp have the same colours"
    return (LANE_COLOURS,)


def tensor_colour_notes() -> tuple[str, ...]:
    """How the colours of lanes of tensor memory are read."""
    return "hue: lane of tensor memory / 4, shade: lane % 4", "the same in every 32 lanes"


def operand_notes(ins: Form, op: Operand, dense: bool = False) -> tuple[str, ...]:
    """What an operand is: its size and type, where it is held, and what to know about its layout."""
    note = layout_note(ins, op)
    notes = (note,) if note else ()
    if not isinstance(ins, MmaForm) or op.name != "A" or ins.structure is None:
        return (op.describe(), *notes)
    if dense:
        what = f"logical (dense) A {ins.m}x{ins.k}, {ins.structure.title} sparse"
        return (f"{what}: a cell is a chunk and the stored elements it becomes",)
    return (op.describe("compressed A"), *notes)


def _cell_label(op: Operand, label: Label, lane: int, elements: range) -> tuple[str, ...]:
    match label:
        case "none":
            return ()
        case "lanes":
            return (f"T{lane}",)
        case "registers":
            first, last = (op.place(lane, element).register for element in (elements[0], elements[-1]))
            return (f"T{lane}:{element_names('r', range(first, last + 1))}",)
        case _:
            return (f"T{lane}:{element_names(op.name.lower(), elements)}",)


def _fragment_hover(
    op: Operand, lanes: NDArray[np.int64], elements: NDArray[np.int64], prefix: str
) -> NDArray[Any]:
    places = [op.place(0, element) for element in range(op.layout.elements)] if op.layout else []
    hover = np.empty(op.shape, dtype=object)
    for (row, column), lane in np.ndenumerate(lanes):
        place = places[int(elements[row, column])]
        hover[row, column] = "\n".join(
            [
                f"{prefix}{op.name}[{row}][{column}]",
                f"lane {lane}, element {op.name.lower()}{place.element}",
                f"register {place.register}, bits {bit_range(place.low, place.high)}",
            ]
        )
    return hover


def _dense_hover(ins: MmaForm) -> NDArray[Any]:
    """For every element of dense A: the stored elements it may become, and the nibble that decides."""
    structure, e = ins.structure, ins.e
    if structure is None or e is None or ins.a.layout is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no sparse A in registers")
    stored = structure.keep * structure.group
    lanes, elements = owners(ins.a.layout)
    address_lanes, nibbles = owners(e.layout)
    selector = " (selector 0)" if len(ins.selectors) > 1 else ""
    hover = np.empty((ins.m, ins.k), dtype=object)
    for row, column in np.ndindex(ins.m, ins.k):
        chunk = column // structure.chunk
        columns = index_range(chunk * structure.chunk, structure.chunk)
        first = int(elements[row, chunk * stored])
        names = f"a{first}" if stored == 1 else f"one of a{first}..a{first + stored - 1}"
        low = 4 * int(nibbles[row, chunk])
        nibble = f"nibble {bit_range(low, low + 3)} of E in lane {address_lanes[row, chunk]}"
        hover[row, column] = "\n".join(
            [
                f"A[{row}][{column}], chunk {chunk} (columns {columns})",
                f"if kept: lane {lanes[row, chunk * stored]}, {names}",
                f"decided by: {nibble}{selector}",
            ]
        )
    return hover


# -- shared memory ---------------------------------------------------------------------------------------


_BANKS, _BANK_BYTES = 32, 4  # of shared memory


def bank_tint(offset: int) -> int:
    """The lane whose colour the 16 bytes at an offset have: a hue for each 4 banks."""
    return offset // 16 % 8 * 4 + 1


def core_matrix_tint(group: int, piece: int) -> int:
    """The lane whose colour a core matrix has: a hue for each 8 rows, a shade for each 16 bytes."""
    return group % 8 * 4 + piece % 4


def colour_key(title: str, texts: Sequence[str], tints: Sequence[int], tooltips: Sequence[str]) -> Grid:
    """A key to colours: a cell for each, in one row."""
    cells = tuple(
        Cell(0, column, 1, 1, (text,), tint)
        for column, (text, tint) in enumerate(zip(texts, tints, strict=True))
    )
    count = len(cells)
    hover = np.array(tooltips, dtype=object).reshape(1, count)
    rows, columns = (Header(0, 1, ()),), (Header(0, count, ()),)
    return Grid((1, count), cells, hover, rows, columns, title=title, name="key", new_line=True)


def bank_key() -> Grid:
    """The key to colours by bank.

    >>> bank_key().at(0, 7).text
    '28..31'
    """
    offsets = range(0, _BANKS * _BANK_BYTES, 16)
    texts = [index_range(offset // _BANK_BYTES, 4) for offset in offsets]
    return colour_key(
        "banks", texts, [bank_tint(offset) for offset in offsets], [f"banks {t}" for t in texts]
    )


def tile(ins: Form, op: Operand, swizzle: int = 0, colour: TileColour = "auto") -> Picture:
    """An operand in shared memory, K-major: the 16-byte pieces of every row with their byte offsets.

    Eight rows of a piece are a core matrix. Colours say which, or which banks the bytes lie in.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    >>> cells = tile(ins, ins.b, swizzle=32).grids[0].cells
    >>> [cell.text for cell in cells[8:12]]   # n 4 and 5: from row 4 on the pieces are swapped
    ['0x0090', '0x0080', '0x00b0', '0x00a0']
    """
    memory = Tile.of(op, swizzle)
    columns, per_piece = memory.row_bytes // 16, 128 // op.dtype.bits
    labelled = memory.rows <= 64
    outer, line = (op.axes[0], "row") if op.axes[0] == "m" else (op.axes[1], "column")
    cells, hover = [], np.empty((memory.rows, columns), dtype=object)
    for row, piece in np.ndindex(memory.rows, columns):
        offset = int(memory.offset(row, piece * per_piece))
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(row // 8, piece)
        cells.append(Cell(row, piece, 1, 1, (f"0x{offset:04x}",) if labelled else (), tint))
        banks = index_range(offset // _BANK_BYTES % _BANKS, 4)
        hover[row, piece] = "\n".join(
            [
                f"{line} {row} of {op.name}, k {index_range(piece * per_piece, per_piece)}",
                f"bytes {index_range(offset, 16)} of the tile, banks {banks}",
                f"core matrix {row // 8 * columns + piece}, row {row % 8} of 8",
            ]
        )
    grid = Grid(
        (memory.rows, columns),
        tuple(cells),
        hover,
        headers(memory.rows, 1 if labelled else 8),
        tuple(Header(p, 1, (f"k {index_range(p * per_piece, per_piece)}",)) for p in range(columns)),
        (outer, ""),
        name=op.name,
        row_rules=tuple(range(8, memory.rows, 8)),
        row_groups=tuple(
            Header(row, 8, ("core matrices", index_range(row // 8 * columns, columns)))
            for row in range(0, memory.rows, 8)
        ),
    )
    swizzled = f"{swizzle}-byte swizzle" if swizzle else "no swizzle"
    notes = (
        f"{op.describe()}, {memory.size} bytes, {swizzled}",
        "a core matrix is 8 rows of 16 bytes",
        f"leading dimension offset {memory.leading}, stride dimension offset {memory.stride} bytes",
        BANK_COLOURS if colour == "bank" else f"hue: {outer} / 8, shade: 16 bytes of k",
    )
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture(f"{op.name} of {ins.mnemonic} in shared memory", notes, (grid,), keys=keys)


# -- metadata --------------------------------------------------------------------------------------------


def metadata(
    ins: Product | str,
    nibbles: ArrayLike | None = None,
    selector: int = 0,
    *,
    warp: int | None = None,
    rows: range | None = None,
    title: bool = True,
) -> Picture:
    """Which bits of which lane say what is kept of each chunk, under one sparsity selector.

    With nibbles, also the columns that they keep; `warp` shows the rows of one warp, `rows` others. Of
    tcgen05.mma.sp the lanes are those of tensor memory; more than 300 nibbles are drawn there, as
    `tensor_memory` of "E" does.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> metadata(ins, selector=1).grids[0].at(9, 3).text
    'T7: [15..12]'
    >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16", m=128, n=64)
    >>> metadata(ins, rows=range(8)).grids[0].at(3, 5).text
    '11: [7..4]'
    """
    ins = as_product(ins)
    if ins.structure is None or ins.e is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    selector = as_int(selector, "selector")
    if selector not in ins.selectors:
        raise PtxlabError(f"selector={quoted(selector)}: {ins.mnemonic} takes {listing(ins.selectors)}")
    if isinstance(ins, Tcgen05Mma) and selector:
        ins = ins.with_descriptor(selector=selector)
    structure, e = ins.structure, ins.e
    if structure is None or e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no metadata in registers")
    held = holders(e, 0 if isinstance(ins, Tcgen05Mma) else selector)
    if warp is not None and rows is not None:
        raise PtxlabError(f"warp={quoted(warp)}: it says which rows are shown; so does rows")
    part = as_part(rows, "rows", e.shape[0])
    if warp is not None:
        part = held.window(warp, f"E of {form_name(ins)}")[0]
    codes = None if nibbles is None else _checked_nibbles(ins, structure, e, as_array(nibbles, "nibbles"))
    name = f"Metadata E of {form_name(ins)}"
    if isinstance(ins, Tcgen05Mma) and len(part) * e.shape[1] > _MOST_LABELS:
        return _tensor_metadata(ins, held, codes, part, name).with_title(title)
    grid = _nibble_grid(ins, structure, held, codes, selector)
    notes = [
        f"{structure.title} sparsity: one nibble for {structure.chunk} columns",
        *warp_notes(part, warp),
        _metadata_note(ins, held, selector),
    ]
    if codes is not None:
        notes.append("below it the nibble and the columns of A that it keeps")
    groups = tuple(
        Header(box[0], box[2], group.lines)
        for group in grid.row_groups
        if (box := clipped((group.start, 0, group.size, 1), part, range(1))) is not None
    )
    grids = [replace(grid.part(part, range(e.shape[1])), row_groups=groups)]
    if e.layout.copies > 1 and isinstance(ins, MmaForm):
        grids.append(_lanes_read(held.lanes, "lanes read"))
    return Picture(name, tuple(notes), tuple(grids)).with_title(title)


def _metadata_note(ins: Product, held: Holders, selector: int) -> str:
    """How the places of nibbles are read."""
    if isinstance(ins, MmaForm):
        return f"T<lane>: [bits] of its E register, selector {selector}"
    words = np.unique(held.words).tolist()
    columns = f"column {words[0]}" if len(words) == 1 else f"columns {listing(words)}"
    lane = "CTA/lane" if held.lane_count > LANES else "lane"
    return f"<{lane}>: [bits] of {columns} of tensor memory, selector {selector}"


def _nibble_grid(
    ins: Product, structure: Structure, held: Holders, codes: NDArray[Any] | None, selector: int
) -> Grid:
    """All nibbles of an instruction, with the place of each, and what they say."""
    shape = held.lanes.shape
    cells, hover = [], np.empty(shape, dtype=object)
    for row, chunk in np.ndindex(*shape):
        lane, low = int(held.lanes[row, chunk]), 4 * int(held.elements[row, chunk]) % 32
        bits = bit_range(low, low + 3)
        where, lines = f"lane {lane}, bits {bits} of E, selector {selector}", [f"T{lane}: {bits}"]
        if isinstance(ins, Tcgen05Mma):
            (where,) = held.place(row, chunk)
            lines = [f"{held.label(row, chunk).partition(':')[0]}: {bits}"]
        columns = index_range(chunk * structure.chunk, structure.chunk)
        tooltip = [f"row {row}, chunk {chunk}: columns {columns} of A", where]
        if codes is not None:
            nibble = int(codes[row, chunk])
            kept = _kept_columns(structure, chunk, ins.nibbles[nibble])
            lines += [f"{nibble:04b}: {kept}"] if isinstance(ins, Tcgen05Mma) else [f"0b{nibble:04b}", kept]
            tooltip.append(f"nibble 0b{nibble:04b} keeps columns {kept}")
        cells.append(Cell(row, chunk, 1, 1, tuple(lines), lane))
        hover[row, chunk] = "\n".join(tooltip)
    groups = held.row_groups()
    return Grid(
        shape,
        tuple(cells),
        hover,
        headers(shape[0], 1),
        k_headers("chunk", shape[1], structure.chunk),
        ("m", ""),
        name="E",
        row_rules=tuple(group.start for group in groups if group.start),
        row_groups=groups,
    )


def _tensor_metadata(
    ins: Tcgen05Mma, held: Holders, codes: NDArray[Any] | None, part: range, name: str
) -> Picture:
    """The metadata of these rows where tensor memory has them, in blocks."""
    lanes = held.lanes[part.start : part.stop] % LANES
    window = range(int(lanes.min()), int(lanes.max()) + 1)
    words = None if codes is None or ins.e is None else ins.e.pack_codes(codes)
    picture = tensor_memory(ins, "E", lanes=None if len(part) == ins.m else window, words=words)
    few = _MOST_LABELS // held.lanes.shape[1] // 8 * 8
    return replace(picture, title=name, notes=(*picture.notes, f"rows=range(0, {few}) shows each nibble"))


def _checked_nibbles(
    ins: Product, structure: Structure, e: AnyOperand, nibbles: NDArray[Any]
) -> NDArray[Any]:
    if nibbles.shape != e.shape:
        raise PtxlabError(
            f"nibbles: found shape {nibbles.shape}; {ins.mnemonic} has one for each of {e.shape[0]} rows "
            f"and {e.shape[1]} chunks"
        )
    structure.positions(nibbles, ins.metadata_ordered)  # refuses those that are undefined
    return nibbles


def _kept_columns(structure: Structure, chunk: int, groups: tuple[int, ...]) -> str:
    """The columns of A that a nibble keeps: ``5,7`` or, in pairs, ``8-9,14-15``."""
    firsts = [chunk * structure.chunk + group * structure.group for group in groups]
    if structure.group == 1:
        return ",".join(map(str, firsts))
    return ",".join(f"{first}-{first + structure.group - 1}" for first in firsts)


# -- lanes -----------------------------------------------------------------------------------------------


def _lanes_read(lanes: NDArray[np.int64], title: str) -> Grid:
    """The 32 lanes as 8 groups of 4, those that are read in colour."""
    read = set(lanes.ravel().tolist())
    cells = tuple(
        Cell(lane // 4, lane % 4, 1, 1, (f"T{lane}",), lane if lane in read else None) for lane in range(32)
    )
    texts = [f"lane {lane} is {'read' if lane in read else 'not read'}" for lane in range(32)]
    hover = np.array(texts, dtype=object).reshape(8, 4)
    return Grid((8, 4), cells, hover, headers(8, 1), headers(4, 1), ("group", "thread"), title, "lanes")


def lane_key(count: int = 32, *, tensor: bool = False) -> Grid:
    """The key to the colours: 8 groups of 4 lanes; a warpgroup of 128 lanes repeats them in every warp.

    Those of `tensor` memory are named by their numbers, and repeat too.

    >>> lane_key().at(1, 5).text, lane_key(tensor=True).at(1, 5).text
    ('T21', '21')
    """
    prefix = "" if tensor else "T"
    cells = tuple(Cell(lane % 4, lane // 4, 1, 1, (f"{prefix}{lane}",), lane) for lane in range(32))
    texts = [f"lane {lane}: group {lane // 4}, thread {lane % 4}" for lane in range(32)]
    title = "lanes" if count == 32 else "lanes of a warp"
    if tensor:
        texts = [f"lanes {lane}, {lane + 32}, {lane + 64}, {lane + 96}" for lane in range(32)]
        title = "lanes of tensor memory"
    hover = np.array(texts, dtype=object).reshape(8, 4).T
    if tensor:
        rows, columns = (Header(0, 4, ()),), (Header(0, 8, ()),)
        return Grid((4, 8), cells, hover, rows, columns, title=title, name="lanes")
    return Grid((4, 8), cells, hover, headers(4, 1), headers(8, 1), ("thread", "group"), title, "lanes")


# -- block scales ----------------------------------------------------------------------------------------


def scales(
    ins: Product | str,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    *,
    byte_id_a: int = 0,
    thread_id_a: int = 0,
    byte_id_b: int = 0,
    thread_id_b: int = 0,
    rows: range | None = None,
    columns: range | None = None,
    title: bool = True,
) -> Picture:
    """Which byte of which lane scales each block of A and of B, under the byte-id and thread-id selectors.

    With scales, also their values. `rows` of A and `columns` of B show a part. Of tcgen05.mma, whose
    descriptor has the ids, the bytes are those of tensor memory, 32 rows or columns in a cell; a part of at
    most 300 scales shows each of them.

    >>> import ptxlab
    >>> qualifiers = "kind::mxf4.block_scale.scale_vec::2X"
    >>> ins = ptxlab.instruction(f"mma.sync.aligned.m16n8k64.row.col.{qualifiers}.f32.e2m1.e2m1.f32.ue8m0")
    >>> scales(ins, thread_id_a=1).grids[0].at(9, 0).text
    'T7: [7..0]'
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", m=128, n=64)
    >>> scales(ins).grids[0].at(69, 1).text   # rows 64 to 95 of A, second block
    'column 2 [15..8]'
    """
    ins = as_product(ins)
    if ins.scale_a is None or ins.scale_b is None or ins.scale_vec is None:
        raise PtxlabError(f"{form_name(ins)} has no block scales; forms with .block_scale have")
    part_a = as_part(rows, "rows", ins.scale_a.shape[0])
    part_b = as_part(columns, "columns", ins.scale_b.shape[1])
    ids = Modifiers(
        byte_id_a=byte_id_a, thread_id_a=thread_id_a, byte_id_b=byte_id_b, thread_id_b=thread_id_b
    )
    if isinstance(ins, Tcgen05Mma):
        if ids != Modifiers():
            raise PtxlabError(
                f"{ins.mnemonic}: its ids are in the descriptor, not arguments; "
                "ins.with_descriptor(scale_a_id=..., scale_b_id=...) has others"
            )
        return tensor_scales(ins, scale_a, scale_b, part_a, part_b).with_title(title)
    ids = ins.check_modifiers(ids)
    a, lanes_a = _scale_grids(ins, ins.scale_a, ids.byte_id_a, ids.thread_id_a, scale_a)
    b, lanes_b = _scale_grids(ins, ins.scale_b, ids.byte_id_b, ids.thread_id_b, scale_b)
    a, b = a.part(part_a, range(a.shape[1])), b.part(range(b.shape[0]), part_b)
    notes = (
        f"{ins.scale_a.dtype}, one byte for {ins.k // ins.scale_vec} elements along k",
        "T<lane>: [bits] of its scale register",
    )
    return Picture(f"Block scales of {ins.mnemonic}", notes, (a, lanes_a, b, lanes_b)).with_title(title)


def _scale_grids(
    ins: MmaForm, op: Operand, byte: int, thread: int, scales: ArrayLike | None
) -> tuple[Grid, Grid]:
    """The scales of A or B, and the lanes that hold them."""
    if op.layout is None or ins.scale_vec is None:
        raise PtxlabError(f"{ins.mnemonic} has no block scales in registers")
    matrix = "A" if op.name == "SFA" else "B"
    register = f"scale-{matrix.lower()}-data"
    values = None if scales is None else one_matrix(op, scales)
    lanes, elements = owners(op.layout, thread * (4 // ins.scale_vec) + byte // ins.scale_vec)
    length = ins.k // ins.scale_vec
    cells, hover = [], np.empty(op.shape, dtype=object)
    for row, column in np.ndindex(*op.shape):
        lane, element = int(lanes[row, column]), int(elements[row, column])
        place = op.place(lane, element)
        bits = bit_range(place.low, place.high)
        scaled = f"A[{row}]" if matrix == "A" else f"column {column} of B"
        block = index_range((column if matrix == "A" else row) * length, length)
        lines, by = [f"T{lane}: {bits}"], ""
        if values is not None:
            number = number_text(values[row, column], 6)
            lines.append(number)
            by = f" by {number}"
        cells.append(Cell(row, column, 1, 1, tuple(lines), lane))
        hover[row, column] = (
            f"scales {scaled}, k {block}{by}\nlane {lane}, byte {element} (bits {bits}) of {register}"
        )
    blocks = k_headers("block", ins.scale_vec, length)
    rows, columns, axes = blocks, headers(op.shape[1], 1), ("", "n")
    if matrix == "A":
        rows, columns, axes = headers(op.shape[0], 1), blocks, ("m", "")
    title = f"{register}: byte-id {byte}, thread-id {thread}"
    grid = Grid(op.shape, tuple(cells), hover, rows, columns, axes, title, op.name, new_line=matrix == "B")
    return grid, _lanes_read(lanes, f"lanes read for {matrix}")
