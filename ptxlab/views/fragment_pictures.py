"""Fragments as the manual draws them: the lane that holds each element of an operand."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Form, Tcgen05Transfer
from .colours import TileColour, lane_colour_notes
from .grid import Cell, Grid, State, headers
from .holders import (
    holders_of,
    lane_runs,
    owners,
    warp_notes,
)
from .labels import bit_range, element_names, index_range, layout_note
from .metadata_picture import metadata
from .picture import Picture
from .scale_pictures import scales
from .tensor_pictures import tensor_memory, tensor_registers
from .tile_pictures import operand_tile

#: What stands in a cell of a fragment.
Label = Literal["auto", "elements", "registers", "lanes", "none"]


_MOST_LABELS = 300  # with more, a picture no longer fits a screen; `warp` shows a quarter of a warpgroup's


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
        return operand_tile(ins, op, swizzle, colour)
    if swizzle:
        raise PtxlabError(
            f"swizzle={quoted(swizzle)}: {op.name} of {ins.mnemonic} lives in registers; "
            "there is nothing to swizzle"
        )
    return _register_fragment(ins, op, label, lane, warp, dense)


def _register_fragment(
    ins: Form, op: Operand, label: Label, lane: int | None, warp: int | None, dense: bool
) -> Picture:
    """An operand in registers: all of it, or the rows of a warp."""
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
    spans = lane_runs(lanes, elements)
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
        row_groups=holders_of(op).row_groups(),
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
        row_groups=holders_of(op).row_groups(),
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
    return range(op.shape[0]) if warp is None else holders_of(op).window(warp, op.name)[0]


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
