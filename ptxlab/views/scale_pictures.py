"""Block scales: whose scales lie where, in registers or tensor memory, and a 128x4 tile on its way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.location import bit_range
from ..isa.mma import Instruction
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.tcgen05 import TensorInstruction
from ..isa.tensor_operand import LANES, TensorOperand
from ..memory.library_formats import scale_offset
from .colour_keys import lanes_read
from .element_location import ElementLocations, element_locations
from .figure_arguments import as_product, one_matrix
from .grid import Cell, Entry, Grid, Header, State, as_part, headers, hover_texts, named_headers, uniform_grid
from .labels import index_range, k_headings, number_text
from .picture import Picture
from .tensor_pictures import tensor_memory

_ROWS = 32  # of A, or columns of B, whose scales are in one column of tensor memory
_MAX_LABELS = 300  # of single scales
_COPY_ROWS = 2  # of a picture, for the 32 lanes of tensor memory that hold a copy of the scales


def scale_tile(row: int | None = None, *, title: bool = True) -> Picture:
    """A 128x4 tile of scale factors: the matrix, its 512 bytes of shared memory, and tensor memory after cp.

    Four scales of a row are one word. tcgen05.cp.32x128b.warpx4 takes 32 rows of 16 bytes into the same 32
    lanes of all four warps. `row` outlines the scales of one row of A, or column of B.

    >>> _, shared, tensor = scale_tile(row=37).grids
    >>> shared.at(5, 4).text, shared.hover[5, 6], tensor.at(5, 1).state
    ('37', 'row 37, scale 2\\nbyte 0x56 of shared memory', 'mark')
    """
    if row is not None:
        row = as_index(row, "row", 128)
    notes = (
        "numbers in cells: rows of A, or columns of B; four scales of one are a word",
        "tcgen05.cp.32x128b.warpx4 copies 32 rows of 16 bytes to the lanes of each warp",
        "hues: 32 rows each",
    )
    heading = "Scale factors: 128x4 tile, shared memory, tensor memory"
    return Picture(heading, notes, (_scale_matrix(row), _scale_bytes(row), _scale_words(row))).with_title(
        title
    )


def _part_of_tile(
    name: str,
    axes: tuple[str, str],
    cells: Sequence[Cell],
    hover: NDArray[Any],
    rows: Sequence[Header],
    columns: Sequence[Header],
) -> Grid:
    shape = hover.shape[0], hover.shape[1]
    return Grid(
        shape,
        tuple(cells),
        hover,
        rows=tuple(rows),
        columns=tuple(columns),
        axes=axes,
        title=name,
        name=name,
        density="close",
    )


def _scale_cell(line: int, row: int, place: tuple[int, int, int, int], marked: int | None) -> Cell:
    state: State = "mark" if row == marked else "plain"
    return Cell(*place, (str(row),), 4 * line + 1, state)


def _scale_matrix(marked: int | None) -> Grid:
    """The tile as a matrix, 32 rows in a cell."""
    cells = [Cell(8 * part, 0, 8, 4, (f"{32 * part}..{32 * part + 31}",), 4 * part + 1) for part in range(4)]
    if marked is not None:
        at = marked // 32
        cells[at] = replace(cells[at], state="mark")
    hover = hover_texts((32, 4), lambda place, scale: f"rows {index_range(place * 4, 4)}, scale {scale}")
    rows = [Header(8 * part, 8, (index_range(32 * part, 32),)) for part in range(4)]
    return _part_of_tile("matrix", ("row", "scale"), cells, hover, rows, headers(4, 1))


def _scale_bytes(marked: int | None) -> Grid:
    """The 512 bytes of shared memory, 16 in a line."""
    cells, hover = [], np.empty((32, 16), dtype=object)
    for row in range(128):
        offset = int(scale_offset(row, 0, columns=4))
        line, byte = divmod(offset, 16)
        cells.append(_scale_cell(row // 32, row, (line, byte, 1, 4), marked))
        for scale in range(4):
            hover[line, byte + scale] = (
                f"row {row}, scale {scale}\nbyte 0x{offset + scale:02x} of shared memory"
            )
    rows = named_headers(f"0x{16 * line:03x}" for line in range(32))
    return _part_of_tile("shared memory", ("", "byte"), cells, hover, rows, headers(16, 4))


def _scale_words(marked: int | None) -> Grid:
    """Four columns of tensor memory: 32 lanes, and the copies of them in the other 96."""
    copies = [32 + _COPY_ROWS * number for number in range(3)]  # the rows that stand for 32 lanes each
    cells, hover = [], np.empty((32 + _COPY_ROWS * len(copies), 4), dtype=object)
    for row in range(128):
        lane, column = row % 32, row // 32
        cells.append(_scale_cell(column, row, (lane, column, 1, 1), marked))
        hover[lane, column] = (
            f"scales 0 to 3 of row {row}\nlanes {lane}, {lane + 32}, {lane + 64}, {lane + 96}"
        )
    heads = [Header(lane, 1, (str(lane),)) for lane in range(32)]
    for warp, at in enumerate(copies, 1):
        heads.append(Header(at, _COPY_ROWS, (index_range(32 * warp, 32),)))
        for column in range(4):
            cells.append(Cell(at, column, _COPY_ROWS, 1, ("same",), 4 * column + 1))
        hover[at : at + _COPY_ROWS] = f"the same as lanes 0..31, for warp {warp}"
    grid = _part_of_tile("tensor memory", ("lane", "column"), cells, hover, heads, headers(4, 1))
    return replace(grid, row_rules=tuple(copies))


# -- the scales of an instruction ------------------------------------------------------------------------


def scales(
    ins: Form | str,
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
    >>> scales(ins, np.ones((128, 2)), rows=range(37, 39)).grids[0].at(0, 1).text
    'lane 5, column 1, [15..8] 1'
    """
    ins = as_product(ins)
    if ins.scale_a is None or ins.scale_b is None or ins.scale_vec is None:
        raise PtxlabError(f"{ins.full_name} has no block scales; forms with .block_scale have")
    part_a = as_part(rows, "rows", ins.scale_a.shape[0])
    part_b = as_part(columns, "columns", ins.scale_b.shape[1])
    notes = (
        f"{ins.scale_a.dtype}, one byte for {ins.k // ins.scale_vec} elements along k",
        "T<lane>: [bits] of its scale register",
    )
    ids = Modifiers(
        byte_id_a=byte_id_a, thread_id_a=thread_id_a, byte_id_b=byte_id_b, thread_id_b=thread_id_b
    )
    if ins.d.space == "tensor":
        if ids != Modifiers():
            raise PtxlabError(
                f"{ins.mnemonic}: its ids are in the descriptor, not arguments; "
                "ins.with_descriptor(scale_a_id=..., scale_b_id=...) has others"
            )
        scaled = [(ins.scale_a, scale_a, part_a), (ins.scale_b, scale_b, part_b)]
        return _tensor_scales(ins, scaled, notes[0]).with_title(title)
    ids = ins.check_modifiers(ids)
    a, lanes_a = _scale_grids(ins, ins.scale_a, ids.byte_id_a, ids.thread_id_a, scale_a)
    b, lanes_b = _scale_grids(ins, ins.scale_b, ids.byte_id_b, ids.thread_id_b, scale_b)
    a, b = a.part(part_a, range(a.shape[1])), b.part(range(b.shape[0]), part_b)
    return Picture(f"Block scales of {ins.mnemonic}", notes, (a, lanes_a, b, lanes_b)).with_title(title)


def _scale_grids(
    ins: Instruction, op: Operand, byte: int, thread: int, scales: ArrayLike | None
) -> tuple[Grid, Grid]:
    """The scales of A or B, and the lanes that hold them."""
    of_a = op.name == "SFA"
    blocks = op.shape[1] if of_a else op.shape[0]
    length, register = ins.k // blocks, "scale-a-data" if of_a else "scale-b-data"
    values = None if scales is None else one_matrix(op, scales)
    locations = element_locations(op, thread * (4 // blocks) + byte // blocks)

    def entry(row: int, column: int) -> Entry:
        lane, element = int(locations.lanes[row, column]), int(locations.elements[row, column])
        place = op.place(lane, element)
        bits = bit_range(place.low, place.high)
        scaled, block = (f"A[{row}]", column) if of_a else (f"column {column} of B", row)
        lines, by = [f"T{lane}: {bits}"], ""
        if values is not None:
            number = number_text(values[row, column], 6)
            lines.append(number)
            by = f" by {number}"
        what = f"scales {scaled}, k {index_range(block * length, length)}{by}"
        where = f"lane {lane}, byte {element} (bits {bits}) of {register}"
        return Entry(tuple(lines), lane, f"{what}\n{where}")

    title, heads = f"{register}: byte-id {byte}, thread-id {thread}", k_headings("block", blocks, length)
    if of_a:
        grid = uniform_grid(op.shape, entry, 1, heads, ("m", ""), title, op.name)
    else:
        grid = uniform_grid(op.shape, entry, heads, 1, ("", "n"), title, op.name)
    lanes = lanes_read(locations.lanes, f"lanes read for {'A' if of_a else 'B'}")
    return replace(grid, new_line=not of_a), lanes


def _tensor_scales(
    ins: TensorInstruction, scaled: Sequence[tuple[TensorOperand, ArrayLike | None, range]], note: str
) -> Picture:
    """Which scale belongs to which block of A and of B, and where it is in tensor memory.

    Both have their operand, values if there are any, and the part of its rows or columns that is shown.
    """
    grids = []
    whole = [len(part) for _, _, part in scaled] == [ins.m, ins.n]
    for op, values, part in scaled:
        numbers = None if values is None else one_matrix(op, values)
        grids.append(replace(_block_scales(ins, op, numbers, part), new_line=op.name == "SFB"))
        if whole:
            grids += _memory(ins, op)
    ids = f"scale_a_id {ins.descriptor.scale_a_id}, scale_b_id {ins.descriptor.scale_b_id}"
    notes = [
        note,
        f"in the cells: column and bits of tensor memory, {ids}",
        f"row m of A, and column n of B, in lanes m % {_ROWS} and n % {_ROWS} of every warp",
    ]
    if ins.descriptor.scale_a_lanes == LANES:
        notes[-1] = f"row m of A in lane m, column n of B in lane n % {_ROWS} of every warp"
    if ins.cta_group == 2:
        notes.append("each CTA has the scales of its rows of A, and all of B")
    notes.append(f"hues: {_ROWS} rows of A, or columns of B")
    return Picture(f"Block scales of {ins.full_name}", tuple(notes), tuple(grids))


def _memory(ins: TensorInstruction, op: TensorOperand) -> list[Grid]:
    """Tensor memory with the scales: the lanes of one warp, where all have the same."""
    grids: list[Grid] = []
    both = op.name == "SFB" and op.ctas == 2
    for grid in tensor_memory(ins, op.name, cta=0 if both else None).grids:
        where = "both CTAs" if both else grid.title
        title = f"{op.name} in tensor memory, {where}" if where else f"{op.name} in tensor memory"
        new_line = op.name == "SFB" or (op.ctas == 2 and not grids)  # SFA of both CTAs in one line
        if op.layout.copies >= LANES // _ROWS:
            group = (Header(0, _ROWS, ("lanes of", "every warp")),)
            grid = replace(grid.part(range(_ROWS), range(grid.shape[1])), row_groups=group)
        grids.append(replace(grid, title=title, new_line=new_line))
    return grids


def _block_scales(
    ins: TensorInstruction, op: TensorOperand, numbers: NDArray[Any] | None, part: range
) -> Grid:
    """The scales of A or of B as a matrix: 32 rows or columns of a block in a cell, or each in its own."""
    of_a, locations = op.name == "SFA", element_locations(op)
    blocks = op.shape[1] if of_a else op.shape[0]
    length = ins.k // blocks
    alone = len(part) * blocks <= _MAX_LABELS and len(part) < (ins.m if of_a else ins.n)
    step = 1 if alone else _ROWS
    unit = 2 if len(part) > LANES else 1  # rows or columns that share a place
    places = len(part) // unit

    def hover(place: int, block: int) -> str:
        texts = []
        for line in range(part.start + place * unit, part.start + (place + 1) * unit):
            at = (line, block) if of_a else (block, line)
            scaled = f"A[{line}]" if of_a else f"column {line} of B"
            by = "" if numbers is None else f" by {number_text(numbers[at], 6)}"
            texts += [f"scales {scaled}, k {index_range(block * length, length)}{by}", *locations.place(*at)]
        return "\n".join(texts)

    cells = []
    heads = headers(len(part), step, part.start)
    for head, block in product(heads, range(blocks)):
        lines = range(part.start + head.start, part.start + head.start + head.size)
        scales = [(line, block) if of_a else (block, line) for line in lines]
        text = _place_lines(locations, scales)
        if numbers is not None:
            text.append(_span([numbers[at] for at in scales]))
        start, size = head.start // unit, head.size // unit
        spot = (start, block, size, 1) if of_a else (block, start, 1, size)
        cells.append(Cell(*spot, tuple(text), lines[0] // _ROWS % 8 * 4 + 1))
    tips = hover_texts((places, blocks), hover)
    along = named_headers(k_headings("block", blocks, length))
    across = tuple(Header(head.start // unit, head.size // unit, head.lines) for head in heads)
    title = f"{op.name}: scales of {'A' if of_a else 'B'}"
    if of_a:
        return Grid(
            (places, blocks),
            tuple(cells),
            tips,
            rows=across,
            columns=along,
            axes=("m", ""),
            title=title,
            name=op.name,
        )
    return Grid(
        (blocks, places),
        tuple(cells),
        tips.T,
        rows=along,
        columns=across,
        axes=("", "n"),
        title=title,
        name=op.name,
    )


def _place_lines(locations: ElementLocations, places: Sequence[tuple[int, int]]) -> list[str]:
    """Column and bits of scales that are one below the other in tensor memory; of a single one its lane."""
    operand, (first, *others) = locations.operand, places
    cta, lane = divmod(int(locations.lanes[first]), LANES)
    low = int(locations.elements[first]) * 8 % 32
    of_a = operand.name == "SFA"
    lines = [f"CTA {cta}"] if of_a and operand.ctas > 1 else []
    if not others:
        lines.append(f"lane {lane}")
    lines += [f"column {locations.words[first]}", bit_range(low, low + 7)]
    return [", ".join(lines)] if of_a and not others else lines


def _span(values: Sequence[Any]) -> str:
    """One number for all, or the least and the greatest."""
    numbers = np.asarray(values, dtype=np.float64)
    least, most = (number_text(bound, 3) for bound in (numbers.min(), numbers.max()))
    return least if least == most else f"{least} to {most}"
