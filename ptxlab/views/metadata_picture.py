"""The metadata of sparse instructions: which bits of which lane say what is kept of each chunk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.mma import MmaForm
from ..isa.sparsity import Structure
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES
from .colours import lanes_read
from .grid import Cell, Grid, Header, as_part, clipped, headers
from .holders import AnyOperand, Holders, as_product, form_name, holders_of, k_headers, warp_notes
from .labels import bit_range, index_range
from .picture import Picture
from .tensor_pictures import tensor_memory

_MOST_LABELS = 300  # of single nibbles of tcgen05.mma.sp


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
    holders = holders_of(e, 0 if isinstance(ins, Tcgen05Mma) else selector)
    if warp is not None and rows is not None:
        raise PtxlabError(f"warp={quoted(warp)}: it says which rows are shown; so does rows")
    part = as_part(rows, "rows", e.shape[0])
    if warp is not None:
        part = holders.window(warp, f"E of {form_name(ins)}")[0]
    codes = None if nibbles is None else _checked_nibbles(ins, structure, e, as_array(nibbles, "nibbles"))
    name = f"Metadata E of {form_name(ins)}"
    if isinstance(ins, Tcgen05Mma) and len(part) * e.shape[1] > _MOST_LABELS:
        return _tensor_metadata(ins, holders, codes, part, name).with_title(title)
    grid = _nibble_grid(ins, structure, holders, codes, selector)
    notes = [
        f"{structure.title} sparsity: one nibble for {structure.chunk} columns",
        *warp_notes(part, warp),
        _metadata_note(ins, holders, selector),
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
        grids.append(lanes_read(holders.lanes, "lanes read"))
    return Picture(name, tuple(notes), tuple(grids)).with_title(title)


def _metadata_note(ins: Product, holders: Holders, selector: int) -> str:
    """How the places of nibbles are read."""
    if isinstance(ins, MmaForm):
        return f"T<lane>: [bits] of its E register, selector {selector}"
    words = np.unique(holders.words).tolist()
    columns = f"column {words[0]}" if len(words) == 1 else f"columns {listing(words)}"
    lane = "CTA/lane" if holders.lane_count > LANES else "lane"
    return f"<{lane}>: [bits] of {columns} of tensor memory, selector {selector}"


def _nibble_grid(
    ins: Product, structure: Structure, holders: Holders, codes: NDArray[Any] | None, selector: int
) -> Grid:
    """All nibbles of an instruction, with the place of each, and what they say."""
    shape = holders.lanes.shape
    cells, hover = [], np.empty(shape, dtype=object)
    for row, chunk in np.ndindex(*shape):
        lane, low = int(holders.lanes[row, chunk]), 4 * int(holders.elements[row, chunk]) % 32
        bits = bit_range(low, low + 3)
        lines = [f"{holders.lane_label(row, chunk)}: {bits}"]
        where = f"lane {lane}, bits {bits} of E, selector {selector}"
        if isinstance(ins, Tcgen05Mma):
            (where,) = holders.place(row, chunk)
        columns = index_range(chunk * structure.chunk, structure.chunk)
        tooltip = [f"row {row}, chunk {chunk}: columns {columns} of A", where]
        if codes is not None:
            nibble = int(codes[row, chunk])
            kept = _kept_columns(structure, chunk, ins.nibbles[nibble])
            lines += [f"{nibble:04b}: {kept}"] if isinstance(ins, Tcgen05Mma) else [f"0b{nibble:04b}", kept]
            tooltip.append(f"nibble 0b{nibble:04b} keeps columns {kept}")
        cells.append(Cell(row, chunk, 1, 1, tuple(lines), lane))
        hover[row, chunk] = "\n".join(tooltip)
    groups = holders.row_groups()
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
    ins: Tcgen05Mma, holders: Holders, codes: NDArray[Any] | None, part: range, name: str
) -> Picture:
    """The metadata of these rows where tensor memory has them, in blocks."""
    lanes = holders.lanes[part.start : part.stop] % LANES
    window = range(int(lanes.min()), int(lanes.max()) + 1)
    words = None if codes is None or ins.e is None else ins.e.pack_codes(codes)
    picture = tensor_memory(ins, "E", lanes=None if len(part) == ins.m else window, words=words)
    few = _MOST_LABELS // holders.lanes.shape[1] // 8 * 8
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
