"""Which lane holds each element of an operand: fragments as the manual draws them, and rows side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_index, as_int, as_text, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.location import bit_range
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.parse import parse_any
from ..isa.sparsity import Structure
from ..isa.tcgen05 import Tcgen05Form, TensorTransfer
from ..isa.tensor_operand import LANES, AnyOperand
from .colour_keys import TileColour, lane_colour_notes
from .element_location import ElementLocations, element_locations, joined_runs, lane_runs, owners
from .figure_arguments import figures_of, product_operand
from .grid import Box, Cell, Grid, Header, State, headers, hover_texts
from .labels import element_names, index_range, layout_note, warp_notes
from .metadata_picture import metadata
from .picture import Picture
from .scale_pictures import scales
from .tensor_pictures import tensor_memory
from .tile_pictures import operand_tile

#: The label of a cell of a fragment.
Label = Literal["auto", "elements", "registers", "lanes", "none"]


_MAX_LABELS = 300  # more do not fit a screen; `warp` shows one warp of a warpgroup


def fragment(
    ins: Form | str,
    operand: str = "A",
    *,
    label: Label = "auto",
    lane: int | None = None,
    warp: int | None = None,
    dense: bool = False,
    swizzle: int = 0,
    colour: TileColour = "auto",
    title: bool = True,
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
    form = parse_any(ins)
    dense, swizzle = as_flag(dense, "dense"), as_int(swizzle, "swizzle")
    if not is_name(label, get_args(Label)):
        raise PtxlabError(f"label={quoted(label)}: a label is one of {listing(get_args(Label))}")
    if not is_name(colour, get_args(TileColour)):
        raise PtxlabError(f"colour={quoted(colour)}: it is one of {listing(get_args(TileColour))}")
    if isinstance(form, Tcgen05Form) and not is_name(
        operand, {*form.operands, *map(str.lower, form.operands)}
    ):
        return tensor_memory(form, operand, title=title)
    op = form.operand(operand)
    if op.holds_words:
        return tensor_registers(form, lane, warp=0 if warp is None else warp, title=title)
    whose = f"{op.name} of {form.mnemonic}"
    if colour != "auto" and op.layout is not None:
        raise PtxlabError(
            f"colour={quoted(colour)}: {whose} lives in registers, which are coloured by "
            "lane; core matrices and banks are of shared memory"
        )
    if op.name == "E":
        return metadata(form, warp=warp, title=title)
    if "block" in op.axes:
        return scales(form, title=title)
    if dense and not _is_compressed(form, op):
        raise PtxlabError(
            f"dense=True: only A of a sparse instruction has a dense form of its own, found {whose}"
        )
    if op.layout is None:
        if warp is not None:
            raise PtxlabError(
                f"warp={quoted(warp)}: {whose} lives in shared memory, where no warp has its own part"
            )
        return operand_tile(form, op, swizzle, colour).with_title(title)
    if swizzle:
        raise PtxlabError(
            f"swizzle={quoted(swizzle)}: {whose} lives in registers; there is nothing to swizzle"
        )
    if lane is not None:
        lane = op.place(lane, 0).lane  # refuses a lane that does not exist
    rows = range(op.shape[0]) if warp is None else element_locations(op).window(warp, op.name)[0]
    grid = _fragment_grid(form, op, label, lane, rows, dense)
    if warp is not None:  # a note names it
        grid = replace(grid, row_groups=())
    notes = [*operand_notes(form, op, dense), *warp_notes(op, rows, warp)]
    if not grid.labelled and _holds_rows_in_fours(op):
        notes.append("row m: lanes 4 (m % 8) to 4 (m % 8) + 3 of its warp")
    return Picture(whose, (*notes, *lane_colour_notes(op.lanes)), (grid,)).with_title(title)


def _holds_rows_in_fours(op: Operand) -> bool:
    """Whether row m of every 8 rows is held by lanes 4 m to 4 m + 3 of its warp."""
    if op.layout is None or op.lanes == 32:
        return False
    row = np.arange(op.shape[0])[:, None]
    return bool((element_locations(op).lanes % 32 // 4 == row % 8).all())


def _is_compressed(ins: Form, op: Operand) -> bool:
    """Whether the operand is the A of a sparse instruction, other than tcgen05.mma."""
    return ins.sparse and op.name == "A" and op.packing is None


def _fragment_grid(ins: Form, op: Operand, label: Label, lane: int | None, rows: range, dense: bool) -> Grid:
    """Rows of an operand: a cell for adjacent elements of a lane, or for a chunk of a dense A."""
    if dense and isinstance(ins, Instruction) and ins.structure is not None:
        locations, width = element_locations(ins.a_dense), ins.structure.chunk
        elements = locations.elements // 2  # the first stored element of each chunk
        spans: list[Box] = [(row, at, 1, width) for row in range(ins.m) for at in range(0, ins.k, width)]
        size, steps = ins.structure.keep * ins.structure.group, (1, width)
        hover = _dense_hover(ins, ins.structure)
    else:
        locations, size = element_locations(op), 0
        elements = locations.elements
        spans = lane_runs(locations.lanes, elements)
        _, _, tall, wide = spans[0]
        steps = (tall if tall > 2 else 1, wide if wide > 2 else 1)
        hover = locations.hover_texts("compressed " if _is_compressed(ins, op) else "")
    shape = locations.lanes.shape
    if label == "auto":
        label = "elements" if len(spans) * len(rows) <= _MAX_LABELS * shape[0] else "none"
    if label == "none":
        steps = 8, 16 if shape[1] <= 128 else 32

    def lines(owner: int, first: int, count: int) -> tuple[str, ...]:
        return _cell_label(op, label, owner, range(first, first + (size or count)))

    grid = Grid(
        shape,
        lane_cells(spans, locations.lanes, elements, lane, lines),
        hover,
        headers(shape[0], steps[0]),
        headers(shape[1], steps[1]),
        op.axes,
        name=op.name,
        row_rules=_warp_rules(ins, op),
        row_groups=element_locations(op).row_groups(),
    )
    return grid.part(rows, range(shape[1]))


def lane_cells(
    spans: list[Box],
    lanes: NDArray[np.int64],
    elements: NDArray[np.int64],
    focus: int | None,
    label: Callable[[int, int, int], tuple[str, ...]],
) -> tuple[Cell, ...]:
    """A cell for each run of adjacent elements, labelled by its lane, first element and length."""
    cells = []
    for row, column, height, width in spans:
        owner, first = int(lanes[row, column]), int(elements[row, column])
        state: State = "plain"
        if focus is not None:
            state = "mark" if owner == focus else "dim"
        lines = label(owner, first, max(height, width))
        cells.append(Cell(row, column, height, width, lines, owner, state))
    return tuple(cells)


def _warp_rules(ins: Form, op: Operand) -> tuple[int, ...]:
    """Rows above which a new warp, or a new quad pair of mma.m8n8k4, begins."""
    if op.lanes > 32:
        return tuple(range(16, op.shape[0], 16))
    if ins.mma_count > 1 and op.name != "B":  # those of B are side by side
        return tuple(range(8, op.shape[0], 8))
    return ()


def operand_notes(ins: Form, op: Operand, dense: bool = False) -> tuple[str, ...]:
    """Notes on an operand: its size and type, where it is held, and remarks on its layout."""
    note = layout_note(ins, op)
    notes = (note,) if note else ()
    if op.name != "A" or ins.structure is None:
        return (op.describe(), *notes)
    if dense:
        what = f"logical (dense) A {op.shape[0]}x{2 * op.shape[1]}, {ins.structure.title} sparse"
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


def _dense_hover(ins: Instruction, structure: Structure) -> NDArray[Any]:
    """For every element of dense A: the stored elements it may become, and the nibble that decides."""
    stored = structure.keep * structure.group
    a, e = element_locations(ins.a), element_locations(ins.operand("E"))
    selector = " (selector 0)" if len(ins.selectors) > 1 else ""

    def text(row: int, column: int) -> str:
        chunk = column // structure.chunk
        columns = index_range(chunk * structure.chunk, structure.chunk)
        first = int(a.elements[row, chunk * stored])
        names = f"a{first}" if stored == 1 else f"one of a{first}..a{first + stored - 1}"
        low = 4 * int(e.elements[row, chunk])
        return (
            f"A[{row}][{column}], chunk {chunk} (columns {columns})\n"
            f"if kept: {ins.a.holder} {a.lanes[row, chunk * stored]}, {names}\n"
            f"decided by: nibble {bit_range(low, low + 3)} of E in {ins.a.holder} "
            f"{e.lanes[row, chunk]}{selector}"
        )

    return hover_texts((ins.m, ins.k), text)


# -- registers of tcgen05.ld and .st ---------------------------------------------------------------------


def tensor_registers(
    move: Form | str, thread: int | None = None, *, warp: int = 0, title: bool = True
) -> Picture:
    """The thread and register that each word of tensor memory goes to or comes from, for tcgen05.ld and .st.

    `warp` is one of the four of a warpgroup, each of which has 32 lanes; `thread`, one of 128, puts a thread
    in focus, with its warp.

    >>> import ptxlab
    >>> grid = tensor_registers(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32"), 37).grids[0]
    >>> grid.at(9, 2).text, grid.hover[9, 3]
    ('T37:{r2,r3}', 'lane 41, column 3\\nthread 37, register 3')
    """
    form = parse_any(move)
    if not isinstance(form, TensorTransfer) or "R" not in form.operands:
        raise PtxlabError(
            f"{form.mnemonic} has no registers with a place each; tcgen05.ld and tcgen05.st have, except for "
            ".spcompress"
        )
    if thread is not None:
        thread = as_index(thread, "thread", LANES)
        warp = thread // 32
    first = 32 * as_index(warp, "warp", 4)
    notes = [
        f"{counted(form.registers, 'register')} of each thread, {counted(form.columns, 'column')}",
        f"warp {warp}: lanes {index_range(first, 32)} of tensor memory, threads {index_range(first, 32)}",
    ]
    if form.layout.shape[0] == 16:
        notes.append("drawn for an address in lane 0; one in lane 16 means the other 16 lanes of each warp")
    if form.pack:
        notes.append("a register holds the lower halves of two columns")
    notes.append("hue: thread / 4, shade: thread % 4")
    grid = _register_grid(form, first, thread)
    return Picture(f"Registers of {form.mnemonic}", tuple(notes), (grid,)).with_title(title)


def _register_grid(form: TensorTransfer, first: int, thread: int | None) -> Grid:
    """The registers of the warp whose lanes, and threads, begin with `first`; a thread may be in focus."""
    layout = form.layout
    lanes, elements = owners(layout)
    halves = 2 if form.pack else 1
    spans = lane_runs(lanes, elements)
    labelled = len(spans) <= _MAX_LABELS

    def lines(owner: int, element: int, count: int) -> tuple[str, ...]:
        names = range(element // halves, (element + count - 1) // halves + 1)
        return (f"T{owner}:{element_names('r', names)}",) if labelled else ()

    def text(row: int, column: int) -> str:
        register, half = divmod(int(elements[row, column]), halves)
        bits = f", bits {bit_range(16 * half, 16 * half + 15)}" if form.pack else ""
        return (
            f"lane {first + row}, column {_column_name(form, column)}\n"
            f"thread {first + lanes[row, column]}, register {register}{bits}"
        )

    return Grid(
        layout.shape,
        lane_cells(spans, first + lanes, elements, thread, lines),
        hover_texts(layout.shape, text),
        tuple(Header(row, 1, (str(first + row),)) for row in range(layout.shape[0])),
        _register_headings(form, labelled),
        ("lane", "column"),
        name="R",
    )


def _column_name(form: TensorTransfer, column: int) -> str:
    half = form.columns // 2
    return f"split + {column - half}" if form.shape == "16x32bx2" and column >= half else str(column)


def _register_headings(form: TensorTransfer, labelled: bool) -> tuple[Header, ...]:
    if form.shape == "16x32bx2":
        half = form.columns // 2
        texts = (index_range(0, half), f"split + {index_range(0, half)}")
        return tuple(Header(half * at, half, (text,)) for at, text in enumerate(texts))
    return headers(form.columns, 1 if form.columns <= 16 and labelled else max(form.columns // 8, 1))


# -- rows of several instructions -----------------------------------------------------------------------

_COLUMNS = 32  # drawn one by one; in longer rows a place stands for several
_MAX_ROWS = 24  # instructions


def runs(*instructions: Form | str, operand: str = "A", title: bool = True) -> Picture:
    """Row 0 of A of each instruction, or of another matrix: neighbours that one lane holds are one cell.

    For tcgen05.mma, cells are the parts of a row in lanes of tensor memory; for tcgen05.ld and .st, whose
    only matrix is R, the threads that hold lane 0 of tensor memory, column by column.

    >>> picture = runs("mma.m16n8k32.s8", "mma.m16n8k16.f32.f16")
    >>> [cell.text for cell in picture.grids[0].cells if cell.row == 0]
    ['T0', 'T1', 'T2', 'T3', 'T0', 'T1', 'T2', 'T3']
    >>> [cell.text for cell in runs("tcgen05.ld.sync.aligned.16x128b.x2.b32").grids[0].cells]
    ['T0', 'T1', 'T2', 'T3', 'T0', 'T1', 'T2', 'T3']
    """
    name = as_text(operand, "operand")
    forms = [parse_any(instruction) for instruction in instructions]
    if not 0 < len(forms) <= _MAX_ROWS:
        raise PtxlabError(f"runs: found {counted(len(forms), 'instruction')}; it draws 1 to {_MAX_ROWS}")
    rows = [_row(form, name) for form in forms]
    unit = _unit(rows)
    places = min(_COLUMNS, max(locations.lanes.shape[1] for locations in rows))
    if unit > 1:
        places = max(locations.lanes.shape[1] for locations in rows) // unit
    cells: list[Cell] = []
    hover = np.full((len(forms), places), "", dtype=object)
    boxes = []
    for row, locations in enumerate(rows):
        shown = min(places, locations.lanes.shape[1] // unit)
        lanes, matrix = locations.lanes[0, : shown * unit], locations.operand.name
        for start, stop in joined_runs(np.diff(lanes) == 0):
            lane = int(lanes[start])
            cells.append(
                Cell(row, start // unit, 1, (stop - start) // unit, (_lane_name(locations, lane),), lane=lane)
            )
        for place in range(shown):
            columns = index_range(place * unit, unit)
            text = "\n".join(locations.place(0, place * unit)[:1])
            if unit > 1:
                text = _lane_name(locations, int(lanes[place * unit]))
            hover[row, place] = f"{matrix}[0][{columns}]\n{text}"
        if shown < places:
            cells.append(Cell(row, shown, 1, places - shown, (), role="blank"))
        boxes.append((row, 0, 1, shown))
    axes = {locations.operand.axes[1] for locations in rows}
    grid = Grid(
        (len(forms), places),
        tuple(cells),
        hover,
        tuple(Header(row, 1, (_form_name(form, name),)) for row, form in enumerate(forms)),
        _headings(places, unit),
        axes=("", axes.pop() if len(axes) == 1 else "column"),
        density="close",
        name=rows[0].operand.name,
        boxes=tuple(boxes),
    )
    return Picture(_title(rows), _notes(rows, places, unit), (grid,)).with_title(title)


def _row(form: Form, name: str) -> ElementLocations:
    """The holders of the matrix whose first row is drawn."""
    operand: AnyOperand | None = next(iter(form.operands.values()), None)
    if isinstance(form, Product):
        operand = form.a if name in ("A", "a") else product_operand(form, name)
    if operand is None or operand.layout is None:
        raise PtxlabError(
            f"runs: {form.mnemonic} has no {name} in lanes of registers or of tensor memory; "
            f"{_instead(form, name)}"
        )
    return element_locations(operand)


def _instead(form: Form, name: str) -> str:
    """Which figure to use where no lanes hold the matrix."""
    if not isinstance(form, Product):
        return figures_of(form)
    if form.tensors:
        return f"operand='D' draws D, and figures.fragment its {name} in shared memory"
    return f"figures.fragment draws {name} in shared memory"


def _unit(rows: list[ElementLocations]) -> int:
    """How many columns share a place: 1, or in long rows a common divisor of the lengths of all parts.

    Rows in registers are cut short instead, since their lanes repeat.
    """
    longest = max(locations.lanes.shape[1] for locations in rows)
    if longest <= _COLUMNS or not any(locations.operand.space == "tensor" for locations in rows):
        return 1
    edges: list[int] = []
    for locations in rows:
        edges += [*(np.flatnonzero(np.diff(locations.lanes[0])) + 1).tolist(), locations.lanes.shape[1]]
    unit = math.gcd(*edges)
    while unit % 2 == 0 and longest // unit < _COLUMNS // 2:
        unit //= 2
    return unit if longest // unit <= 2 * _COLUMNS else 1


def _lane_name(locations: ElementLocations, lane: int) -> str:
    """``T5``, or ``lane 5`` of tensor memory."""
    if locations.operand.space != "tensor":
        return f"T{lane}"
    pair = f"CTA {lane // LANES}, " if locations.operand.ctas > 1 else ""
    return f"{pair}lane {lane % LANES}"


def _form_name(form: Form, name: str) -> str:
    if isinstance(form, Product):
        operand = product_operand(form, name)
        if form.d.space == "tensor":
            return f"{form.family}, layout {form.path.name}, {operand.dtype}, {form.shape}"
        return f"{form.operand(name).width}-bit {operand.dtype}, {form.shape}"
    if isinstance(form, TensorTransfer):
        return f"{form.family}, {form.shape}.x{form.count}"
    return f"{form.family}, {form.shape}"


def _headings(places: int, unit: int) -> tuple[Header, ...]:
    if unit == 1:
        return headers(places, 4)
    step = next(step for step in (8, 4, 2, 1) if step == 1 or places % step == 0)
    return tuple(
        Header(at, min(step, places - at), (index_range(at * unit, min(step, places - at) * unit),))
        for at in range(0, places, step)
    )


def _title(rows: list[ElementLocations]) -> str:
    names = list(dict.fromkeys(locations.operand.name for locations in rows))
    if all(locations.operand.axes == ("lane", "column") for locations in rows):
        return "Lane 0 of tensor memory in registers"
    return f"Row 0 of {listing(names)}"


def _notes(rows: list[ElementLocations], places: int, unit: int) -> tuple[str, ...]:
    tensor = [locations.operand.space == "tensor" for locations in rows]
    notes = [f"one place: {unit} columns" if unit > 1 else f"the first {places} columns at most"]
    if all(locations.operand.axes == ("lane", "column") for locations in rows):
        notes.append("T0 is thread 0 of a warp")
    elif not all(tensor):
        notes.append("T0 is lane 0")
    if any(tensor):
        notes.append("lanes with their number are those of tensor memory")
    return (*notes, "neighbours with one holder are one cell")
