"""Pictures of sparse metadata: which bits of which lane hold each nibble, and what a nibble means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.location import bit_range
from ..isa.sparsity import STRUCTURES, Structure
from ..isa.tcgen05 import TensorInstruction
from ..isa.tensor_operand import LANES, AnyOperand
from .colour_keys import lanes_read
from .element_location import ElementLocations, element_locations
from .figure_arguments import as_product
from .grid import Arrow, Cell, Entry, Grid, Header, as_part, uniform_grid
from .labels import index_range, k_headings, warp_notes
from .picture import Picture
from .tensor_pictures import tensor_memory

_MAX_LABELS = 300  # with more nibbles, those of tcgen05.mma.sp are not labelled one by one


def metadata(
    ins: Form | str,
    nibbles: ArrayLike | None = None,
    selector: int = 0,
    *,
    warp: int | None = None,
    rows: range | None = None,
    title: bool = True,
) -> Picture:
    """Which bits of which lane hold the metadata nibble of each chunk, for one sparsity selector.

    If `nibbles` are given, the picture also shows the columns that they keep. `warp` shows the rows of one
    warp, and `rows` shows the rows of a range. For tcgen05.mma.sp the lanes are those of tensor memory; a
    picture of more than 300 nibbles is then the one that `tensor_memory` draws of "E".

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> metadata(ins, selector=1).grids[0].at(9, 3).text
    'T7: [15..12]'
    >>> ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16", m=128, n=64)
    >>> metadata(ins, rows=range(8)).grids[0].at(3, 5).text
    '11: [7..4]'
    """
    ins = as_product(ins)
    structure = ins.structure
    if structure is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: it has no metadata; sparse forms are spelt .sp")
    selector = as_int(selector, "selector")
    if selector not in ins.selectors:
        raise PtxlabError(f"selector={quoted(selector)}: {ins.mnemonic} takes {listing(ins.selectors)}")
    if ins.d.space == "tensor" and selector:
        ins = ins.with_descriptor(selector=selector)
    e = ins.find("E")
    locations = element_locations(e, selector if e.space == "register" else 0)
    if warp is not None and rows is not None:
        raise PtxlabError(f"warp={quoted(warp)}: it says which rows are shown; so does rows")
    part = as_part(rows, "rows", e.shape[0])
    if warp is not None:
        part = locations.window(warp, f"E of {ins.full_name}")[0]
    codes = None if nibbles is None else _checked_nibbles(ins, structure, e, as_array(nibbles, "nibbles"))
    name = f"Metadata E of {ins.full_name}"
    if ins.d.space == "tensor" and len(part) * e.shape[1] > _MAX_LABELS:
        return _tensor_metadata(ins, locations, codes, part, name).with_title(title)
    grid = _nibble_grid(ins, structure, locations, codes, selector)
    notes = [
        f"{structure.title} sparsity: one nibble for {structure.chunk} columns",
        *warp_notes(e, part, warp),
        _metadata_note(ins, locations, selector),
    ]
    if codes is not None:
        notes.append("below it the nibble and the columns of A that it keeps")
    if warp is not None:  # a note names it
        grid = replace(grid, row_groups=())
    grids = [grid.part(part, range(e.shape[1]))]
    if e.space == "register" and e.layout is not None and e.layout.copies > 1:
        grids.append(lanes_read(locations.lanes[part.start : part.stop], f"{ins.a.holder}s read"))
    return Picture(name, tuple(notes), tuple(grids)).with_title(title)


def _metadata_note(ins: Product, locations: ElementLocations, selector: int) -> str:
    """A note that explains the labels: the place of each nibble."""
    if locations.operand.space == "register":
        return f"T<{ins.a.holder}>: [bits] of its E register, selector {selector}"
    words = np.unique(locations.words).tolist()
    columns = f"column {words[0]}" if len(words) == 1 else f"columns {listing(words)}"
    lane = "CTA/lane" if locations.operand.lanes > LANES else "lane"
    return f"<{lane}>: [bits] of {columns} of tensor memory, selector {selector}"


def _nibble_grid(
    ins: Product, structure: Structure, locations: ElementLocations, codes: NDArray[Any] | None, selector: int
) -> Grid:
    """All nibbles of an instruction: the place of each and, with `codes`, the columns that it keeps."""
    rows, chunks = locations.lanes.shape

    def entry(row: int, chunk: int) -> Entry:
        lane, low = int(locations.lanes[row, chunk]), 4 * int(locations.elements[row, chunk]) % 32
        bits = bit_range(low, low + 3)
        lines = [f"{locations.lane_label(row, chunk)}: {bits}"]
        if ins.d.space == "tensor":
            (where,) = locations.place(row, chunk)
        else:
            where = f"{ins.a.holder} {lane}, bits {bits} of E, selector {selector}"
        columns = index_range(chunk * structure.chunk, structure.chunk)
        tooltip = [f"row {row}, chunk {chunk}: columns {columns} of A", where]
        if codes is not None:
            nibble = int(codes[row, chunk])
            kept = _kept_columns(structure, chunk, ins.nibbles[nibble])
            lines += [f"{nibble:04b}: {kept}"] if ins.d.space == "tensor" else [f"0b{nibble:04b}", kept]
            tooltip.append(f"nibble 0b{nibble:04b} keeps columns {kept}")
        return Entry(tuple(lines), lane, "\n".join(tooltip))

    groups = locations.row_groups()
    rules = tuple(group.start for group in groups if group.start)
    heads = k_headings("chunk", chunks, structure.chunk)
    grid = uniform_grid((rows, chunks), entry, 1, heads, ("m", ""), name="E", row_rules=rules)
    return replace(grid, row_groups=groups)


def _tensor_metadata(
    ins: TensorInstruction, locations: ElementLocations, codes: NDArray[Any] | None, part: range, name: str
) -> Picture:
    """The metadata of these rows as tensor memory holds it, drawn in blocks."""
    lanes = locations.lanes[part.start : part.stop] % LANES
    window = range(int(lanes.min()), int(lanes.max()) + 1)
    words = None if codes is None or ins.e is None else ins.e.pack_codes(codes)
    picture = tensor_memory(ins, "E", lanes=None if len(part) == ins.m else window, words=words)
    labelled_rows = _MAX_LABELS // locations.lanes.shape[1] // 8 * 8
    note = f"rows=range(0, {labelled_rows}) shows each nibble"
    return replace(picture, title=name, notes=(*picture.notes, note))


def _checked_nibbles(
    ins: Product, structure: Structure, e: AnyOperand, nibbles: NDArray[Any]
) -> NDArray[Any]:
    if nibbles.shape != e.shape:
        raise PtxlabError(
            f"nibbles: found shape {nibbles.shape}; {ins.mnemonic} has one for each of {e.shape[0]} rows "
            f"and {e.shape[1]} chunks"
        )
    structure.positions(nibbles, ins.metadata_ordered)  # an undefined nibble is an error
    return nibbles


def _kept_columns(structure: Structure, chunk: int, groups: tuple[int, ...]) -> str:
    """The columns of A that a nibble keeps: ``5,7`` or, in pairs, ``8-9,14-15``."""
    firsts = [chunk * structure.chunk + group * structure.group for group in groups]
    if structure.group == 1:
        return ",".join(map(str, firsts))
    return ",".join(f"{first}-{first + structure.group - 1}" for first in firsts)


# -- one nibble ------------------------------------------------------------------------------------------

_PARTS = 4  # a chunk has four parts in every structure
_NIBBLE_WIDTH = 8  # columns of the grid: two for each part
_INDEX_BITS = ("second index, bits [3..2]", "first index, bits [1..0]")  # from left to right
_INDEX_LANES = (10, 29)  # the colours of these lanes, sky and orange, mark the first and the second index


def nibble(nibble: int, structure: str | Structure = "2:4", *, chunk: int = 0, title: bool = True) -> Picture:
    """What a nibble means: arrows go from its indices to the parts of the chunk, then to compressed A.

    The first index is in the low bits, at the right; the part that it names is stored first, at the left.

    >>> for arrow in nibble(0b1001, chunk=2).arrows[:2]:
    ...     print(arrow.start.text, "->", arrow.end.text)
    01 = 1 first index, bits [1..0] -> part 1 column 9
    10 = 2 second index, bits [3..2] -> part 2 column 10
    """
    if not isinstance(structure, Structure):
        if not is_name(structure, STRUCTURES):
            raise PtxlabError(f"there is no structure {quoted(structure)}; there are {listing(STRUCTURES)}")
        structure = STRUCTURES[structure]
    code, number = as_int(nibble, "nibble"), as_int(chunk, "chunk")
    if code not in structure.unordered:
        raise PtxlabError(
            f"nibble {quoted(code)} names no two parts of a {structure.title} chunk; legal are "
            f"{listing(f'0b{legal:04b}' for legal in sorted(structure.unordered))}"
        )
    if not 0 <= number < 1 << 16:
        raise PtxlabError(f"chunk {quoted(number)} does not exist; chunks go from 0 to 65535")
    indices = (code & 3, code >> 2)
    columns = _part_columns(structure, number)
    # the second index is in the high bits, at the left; the part of the first index is stored at the left
    halves = _part_cells(0, [f"{index:02b} = {index}" for index in indices[::-1]], _INDEX_BITS, (1, 0))
    named = [indices.index(part) if part in indices else None for part in range(_PARTS)]
    parts = _part_cells(2, [f"part {part}" for part in range(_PARTS)], columns, named)
    stored = _part_cells(
        4, [f"part {index}" for index in indices], [columns[index] for index in indices], (0, 1)
    )
    arrows = [Arrow(halves[1 - which], parts[index]) for which, index in enumerate(indices)]
    arrows += [Arrow(parts[index], stored[which]) for which, index in enumerate(indices)]
    size = structure.chunk // _PARTS
    meaning = f"a part is {size} elements" if size > 1 else "a part is one element"
    if not size:
        meaning = "a part is half of an element"
    order = "the first index is in the low bits, at the right"
    if indices[0] > indices[1]:
        order = "descending order: mma.sp takes it, mma.sp::ordered_metadata does not"
    grid = _part_grid((*halves, *parts, *stored), ("nibble", f"chunk {number} of A", "compressed A"))
    heading = f"Nibble 0b{code:04b}, {structure.title}"
    return Picture(heading, (meaning, order), (grid,), arrows=tuple(arrows)).with_title(title)


def _part_cells(
    row: int, texts: Sequence[str], notes: Sequence[str], indices: Sequence[int | None]
) -> list[Cell]:
    """A row of equally wide cells, each in the colour of the index that names it; the others are grey."""
    width = _NIBBLE_WIDTH // len(texts)
    lanes = [None if index is None else _INDEX_LANES[index] for index in indices]
    return [
        Cell(row, place * width, 1, width, (text, note), lane=lane)
        for place, (text, note, lane) in enumerate(zip(texts, notes, lanes, strict=True))
    ]


def _part_grid(cells: tuple[Cell, ...], names: tuple[str, ...]) -> Grid:
    """A grid of these rows, with a blank row for the arrows between each two."""
    rows = range(0, 2 * len(names), 2)
    blanks = tuple(Cell(row + 1, 0, 1, _NIBBLE_WIDTH, (), role="blank") for row in rows[:-1])
    shape = (rows[-1] + 1, _NIBBLE_WIDTH)
    hover = np.full(shape, "", dtype=object)
    for cell in cells:
        hover[cell.row, cell.column : cell.column + cell.width] = "\n".join(cell.lines)
    headings = tuple(Header(row, 1, (name,)) for row, name in zip(rows, names, strict=True))
    boxes = tuple((row, 0, 1, _NIBBLE_WIDTH) for row in rows)
    return Grid(shape, (*cells, *blanks), hover, headings, (), name="nibble", boxes=boxes)


def _part_columns(rule: Structure, chunk: int) -> list[str]:
    """The columns of A that belong to each part."""
    size, first = rule.chunk // _PARTS, chunk * rule.chunk
    if not size:
        return [f"column {first + part // 2}, {('low', 'high')[part % 2]}" for part in range(_PARTS)]
    noun = "column" if size == 1 else "columns"
    return [f"{noun} {index_range(first + part * size, size)}" for part in range(_PARTS)]
