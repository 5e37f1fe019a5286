"""The matrix product in one picture: A on the left, B above D, what belongs to them around them."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index, as_integers, is_a
from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..isa.tensor_operand import LANES, TensorOperand
from ..numerics.emulate import emulate
from .colour_keys import Colour, colour_keys, colour_notes, lane_key, warp_tint
from .element_location import element_locations
from .figure_arguments import as_product, product_operand
from .fragment_pictures import fragment
from .grid import Box, Cell, Grid, Header, Part, as_element, as_part, headers
from .labels import index_range
from .matrix_pictures import (
    NOT_STORED,
    MatrixStyle,
    Shown,
    ValueMatrix,
    as_marks,
    check_options,
    labels_fit,
    value_matrix,
)
from .picture import Picture

# Beyond these, matrices become heat maps of their values.
_MAX_CELLS, _MAX_LETTERS = 4096, 360  # of all matrices together, and of A and B side by side
_MAX_ROWS = 128  # below each other
_SMALL = 256  # elements of a C or D that keeps its labels even beside heat maps

#: Row and column of each matrix in the picture; those of one place stand on each other.
_SPOTS = {
    "A": (1, 0),
    "B": (0, 1),
    "D": (1, 1),
    "C": (1, 2),
    "SFB": (0, 2),
    "stored": (0, 0),
    "E": (0, 0),
    "SFA": (0, 0),
}
#: The same where A is too high to have anything above it: row beside row, and the scales of B above B.
_TALL_SPOTS = {**_SPOTS, "SFA": (1, -3), "E": (1, -2), "stored": (1, -1), "SFB": (0, 1)}
_TALL, _WIDE = 64, 128  # rows and columns of D beyond which that is so, and beyond which C is below D
_TITLES = {
    "stored": "compressed A",
    "E": "metadata E",
    "SFA": "scales of A",
    "SFB": "scales of B",
}
_DRAWN = ("stored", "E", "SFA", "SFB", "B", "A", "D", "C")  # in this order


def product(
    ins: Product | str,
    A: ArrayLike | None = None,
    B: ArrayLike | None = None,
    C: ArrayLike | None = None,
    *,
    codes: Mapping[str, NDArray[Any]] | None = None,
    shown: Shown = "value",
    colour: Colour = "auto",
    lane: int | None = None,
    marked: ArrayLike | None = None,
    element: tuple[int, int] | None = None,
    rows: range | None = None,
    columns: range | None = None,
    copies: Mapping[str, int] | None = None,
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    title: bool = True,
    **modifiers: int | bool,
) -> Picture:
    """A on the left, B above D, with their numbers; without matrices, the lanes that hold them.

    For sparse instructions A is dense, with dots for what is not stored; the compressed A and the metadata
    stand above it, chunk over chunk. D is what the emulator gives, under `model`, scales and modifiers as
    `emulate` takes them. `codes` of all matrices by name may stand in place of values. `lane` puts a lane in
    focus; `marked` outlines cells of D, and `element` one of them with the row of A and the column of B that
    it is made of. A product too large for its numbers is drawn as heat maps; `rows` and `columns` of D show a
    part of it.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> [(grid.name, grid.spot) for grid in product(ins, np.ones((16, 16)), np.ones((16, 8))).grids]
    [('lanes', (0, 0)), ('B', (0, 1)), ('A', (1, 0)), ('D', (1, 1))]
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=256)
    >>> part = product(ins, np.ones((128, 16)), np.ones((16, 256)), rows=range(32, 40), columns=range(8))
    >>> part.grids[-1].shape, part.grids[-1].at(0, 0).text
    ((8, 8), '16')
    """
    ins = as_product(ins)
    check_options(shown, colour)
    if colour in ("core matrix", "bank") and all(op.layout is not None for op in (ins.a, ins.b, ins.d)):
        raise PtxlabError(
            f"colour={quoted(colour)}: all of {ins.mnemonic} lives in registers; "
            "core matrices and banks are of shared memory"
        )
    if copies is not None and not isinstance(copies, Mapping):
        raise PtxlabError(
            f"copies: found {quoted(copies)}; it takes the copy to show by matrix, such as {{'E': 1}}"
        )
    style = MatrixStyle(
        colour,
        (as_part(rows, "rows", ins.d.shape[0]), as_part(columns, "columns", ins.d.shape[1])),
        None if lane is None else as_index(lane, ins.d.holder, ins.d.lanes),
        None if marked is None else as_marks(marked, ins.d.shape, f"D of {ins.mnemonic}"),
    )
    if element is not None:
        element = as_element(element, "element", " of D")
        ins.column_of_b(*element)  # refuses what D does not have
    if ins.mma_count > 1 and (rows is not None or columns is not None):
        raise PtxlabError(f"rows and columns: {ins.mnemonic} is {ins.mma_count} products; it is drawn whole")
    if codes is None and A is None and B is None:
        return _without_numbers(ins, style.lane).with_title(title)
    if codes is None:
        if A is None or B is None:
            only = "B" if A is None else "A"
            raise PtxlabError(
                f"the product of {ins.mnemonic}: found only {only}; it takes A and B, or neither"
            )
        operands = Operation.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers))
        codes = _codes_of(operands, A, model)
        if C is None:
            del codes["C"]
    checked = _checked_codes(ins, codes)
    matrices = {
        name: value_matrix(ins, name, content, checked.get("E"), (copies or {}).get(name, 0))
        for name, content in checked.items()
    }
    return _with_numbers(ins, matrices, shown, style, element).with_title(title)


def _with_numbers(
    ins: Product,
    matrices: dict[str, ValueMatrix],
    shown: Shown,
    style: MatrixStyle,
    element: tuple[int, int] | None,
) -> Picture:
    """All matrices with their numbers, or as heat maps where there is no room for them.

    The style is that of D; an element of D is outlined with what it is made of.
    """
    parts = {name: _part_of(matrix, style.part) for name, matrix in matrices.items()}
    labels = _labels(ins, matrices, parts, shown)
    labelled = "A" in labels
    if shown == "lane" and not labelled:
        return _without_numbers(ins, style.lane)
    colour = style.colour
    if colour == "auto":
        colour = "lane" if labelled else "value"
    rows, columns = style.part
    tensor, tall = ins.d.space == "tensor", not labelled and len(rows) > _TALL
    lanes = ins.d.lanes
    keys = [lane_key(lanes, tensor=tensor)] if colour == "lane" else []
    words = max(matrix.operand.word_count for matrix in matrices.values())
    keys += colour_keys(colour, words, lanes, tensor=tensor)
    grids = [replace(key, spot=(0, 0)) for key in keys]
    for name in _DRAWN:
        if name not in matrices:
            continue
        matrix = matrices[name]
        outlines = () if element is None else _made_of(ins, matrix, element)
        marked = style.marked if name == "D" else None
        own = MatrixStyle(colour, parts[name], style.lane, marked, outlines, _spread(matrix, tall))
        grid = _placed(matrix, labels.get(name), own, tall)
        grids.append(_diagonal(ins, grid) if ins.mma_count > 1 and name in ("C", "D") else grid)
    notes = _notes(ins, "C" in matrices)
    if ins.sparse and labelled and ins.a.layout is not None:
        notes.append(f"{NOT_STORED}: a zero of A that is not stored")
    if element is not None:
        notes.append(f"outlined: D[{element[0]}][{element[1]}] and what it is made of")
    if (len(rows), len(columns)) != ins.d.shape:
        down, across = index_range(rows.start, len(rows)), index_range(columns.start, len(columns))
        notes.append(f"rows {down} and columns {across} of D {ins.m}x{ins.n}")
    notes += colour_notes(colour, lanes, tensor=tensor)
    return Picture(ins.full_name, tuple(notes), tuple(grids))


def _made_of(ins: Product, matrix: ValueMatrix, element: tuple[int, int]) -> tuple[Box, ...]:
    """What of a matrix goes into an element of D: a row of A, a column of B, the element itself."""
    (row, column), (rows, columns) = element, matrix.codes.shape
    if matrix.name in ("C", "D"):
        return ((row, column, 1, 1),)
    if matrix.name in ("B", "SFB"):
        return ((0, ins.column_of_b(row, column), rows, 1),)
    return ((row, 0, 1, columns),)


def _part_of(matrix: ValueMatrix, part: Part) -> Part:
    """The rows and columns of a matrix that go with a part of D."""
    rows, columns = matrix.whole
    if matrix.ins.mma_count > 1:
        return rows, columns
    if matrix.name in ("C", "D"):
        return part
    return (rows, part[1]) if matrix.name in ("B", "SFB") else (part[0], columns)


def _checked_codes(ins: Product, codes: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Codes by the name of their matrix, each of its shape; A, B and D are among them."""
    if not is_a(codes, Mapping) or not {"A", "B", "D"} <= set(codes):
        raise PtxlabError(f"codes: found {quoted(codes)}; it takes those of A, B and D by name, and others")
    checked = {}
    for name, content in codes.items():
        if name not in _SPOTS:
            raise PtxlabError(f"codes: found {quoted(name)}; there are {', '.join(_SPOTS)}")
        shape = product_operand(ins, name).shape
        array = as_integers(content, f"codes of {name}")
        if array.shape != shape:
            raise PtxlabError(f"codes of {name}: found shape {array.shape}; it is {shape[0]}x{shape[1]}")
        checked[name] = array
    return checked


def _codes_of(operation: Operation, A: ArrayLike, model: str | None) -> dict[str, NDArray[Any]]:
    """Codes of every matrix that goes into D, by name, of a sparse A dense and stored, and of D."""
    ins = operation.ins
    if operation.batch:
        raise PtxlabError(f"found a batch of {quoted(operation.batch)}; a picture shows one product")
    codes = {op.name: op.unpack_codes(operation.arrays[op.name]) for op in ins.inputs.values()}
    if ins.sparse:
        codes["stored"] = codes["A"]
        codes["A"] = ins.a_dense.dtype.encode(ins.a_dense.check_matrix(A))
    codes["D"] = ins.d.unpack_codes(emulate(operation, model=model))
    return codes


def _labels(
    ins: Product,
    matrices: dict[str, ValueMatrix],
    parts: dict[str, Part],
    shown: Shown,
) -> dict[str, NDArray[Any]]:
    """Labels of the matrices that have room for them: of all, or only of a small C and D."""
    sizes = {name: len(rows) * len(columns) for name, (rows, columns) in parts.items()}
    lines = len(parts["D"][0])
    high = max(ins.k + lines, 3 * lines if ins.sparse else lines)
    if high <= _MAX_ROWS and sizes["A"] + sizes["D"] <= _MAX_CELLS:
        labels = {name: matrix.labels(shown, parts[name]) for name, matrix in matrices.items()}
        seen = {
            name: labels[name][rows.start : rows.stop, columns.start : columns.stop]
            for name, (rows, columns) in parts.items()
        }
        right = seen["D"] if sizes["D"] >= sizes["B"] else seen["B"]
        if labels_fit([seen["A"], right], _MAX_CELLS, _MAX_LETTERS):
            return labels
    return {
        name: matrices[name].labels(shown, parts[name])
        for name in ("C", "D")
        if name in matrices and sizes[name] <= _SMALL
    }


def _spread(matrix: ValueMatrix, tall: bool) -> tuple[int, int]:
    """Places that a cell takes, down and across: as many as the elements along k that it stands for."""
    rows, columns = matrix.codes.shape
    if tall:
        return {"E": (1, 2), "SFA": (1, 4), "SFB": (4, 1)}.get(matrix.name, (1, 1))
    if matrix.name in ("stored", "E", "SFA"):
        return 1, matrix.ins.k // columns
    return (matrix.ins.k // rows, 1) if matrix.name == "SFB" else (1, 1)


def _placed(matrix: ValueMatrix, labels: NDArray[Any] | None, style: MatrixStyle, tall: bool) -> Grid:
    """A matrix at its spot."""
    rows, columns = matrix.codes.shape
    grid = matrix.grid(labels, style)
    if matrix.name == "E" and labels is not None:
        chunks = tuple(Header(head.start, head.size, (str(i),)) for i, head in enumerate(grid.columns))
        grid = replace(grid, columns=chunks)
    title = f"{_TITLES.get(matrix.name, matrix.name)} {rows}x{columns} {matrix.operand.dtype}"
    spot = _TALL_SPOTS[matrix.name] if tall else _SPOTS[matrix.name]
    if matrix.name == "C" and labels is None and len(style.part[1]) > _WIDE:
        spot = (2, 1)
    return replace(grid, spot=spot, title=title)


def _diagonal(ins: Product, grid: Grid) -> Grid:
    """The accumulators of stacked MMAs as the blocks of a diagonal, each right of its A and below its B."""
    m, n, count = ins.m, ins.n, ins.mma_count
    shape = (m * count, n * count)
    hover = np.full(shape, "", dtype=object)
    cells: list[Cell] = []
    for i in range(count):
        rows, start, stop = range(i * m, (i + 1) * m), i * n, (i + 1) * n
        hover[rows.start : rows.stop, start:stop] = grid.hover[rows.start : rows.stop]
        cells += [replace(cell, column=cell.column + start) for cell in grid.cells if cell.row in rows]
        for column, width in ((0, start), (stop, shape[1] - stop)):
            if width:
                cells.append(Cell(rows.start, column, m, width, (), role="blank"))
    return replace(
        grid,
        shape=shape,
        cells=tuple(cells),
        hover=hover,
        columns=tuple(replace(head, start=head.start + i * n) for i in range(count) for head in grid.columns),
        row_rules=(),
        column_rules=(),
        boxes=tuple((i * m, i * n, m, n) for i in range(count)),
        outlines=tuple(
            (row, column + row // m * n, height, width) for row, column, height, width in grid.outlines
        ),
    )


# -- without numbers -------------------------------------------------------------------------------------


def _without_numbers(ins: Product, lane: int | None) -> Picture:
    """The lanes that hold A, B and D, in place of their numbers."""
    grids = [replace(lane_key(ins.lanes), spot=(0, 0))]
    if ins.d.space == "tensor":
        grids = [replace(key, spot=(0, 0)) for key in colour_keys("warp", 0, LANES)]
    for name in ("B", "A", "D"):
        op, title = product_operand(ins, name), name
        if name == "A" and ins.sparse and ins.a.space == "tensor":
            op, title = ins.a, _TITLES["stored"]  # what is there of it
        rows, columns = op.shape
        if op.space == "tensor":
            grid = _tensor_grid(op, lane)
        elif op.space == "shared":
            grid = _shared_grid(ins, op)
        else:
            grid = fragment(ins, name, lane=lane, dense=name == "A" and ins.sparse).grids[0]
        grid = replace(grid, spot=_SPOTS[name], title=f"{title} {rows}x{columns} {op.dtype}")
        grids.append(_diagonal(ins, grid) if ins.mma_count > 1 and name == "D" else grid)
    notes = _notes(ins, True)
    if ins.d.space == "tensor":
        notes.append("in the cells: lanes and columns of tensor memory")
        notes += colour_notes("warp", LANES, tensor=True)
        if lane is not None:
            of_cta = f" of CTA {lane // LANES}" if ins.d.ctas > 1 else ""
            notes.append(f"outlined: lane {lane % LANES}{of_cta}")
    else:
        notes += [f"T<{ins.d.holder}>:{{elements}}", *colour_notes("lane", ins.lanes)]
    return Picture(ins.full_name, tuple(notes), tuple(grids))


def _shared_grid(ins: Product, op: Operand) -> Grid:
    """A matrix in shared memory; each CTA of a pair has half of the rows of A, and of the columns of B."""
    rows, columns = op.shape
    halves = op.ctas
    tall, wide = (rows // halves, columns) if op.name == "A" else (rows, columns // halves)
    cells, hover = [], np.empty(op.shape, dtype=object)
    name = f"compressed {op.name}" if ins.sparse and op.name == "A" else op.name
    for half in range(halves):
        row, column = (half * tall, 0) if op.name == "A" else (0, half * wide)
        where = "in shared memory" if halves == 1 else f"in shared memory of CTA {half}"
        lines = [f"{name}: {where}"]
        if columns <= min(2 * rows, 64):
            lines = textwrap.wrap(lines[0], 12)
        cells.append(Cell(row, column, tall, wide, tuple(lines), heat=0.0))
        hover[row : row + tall, column : column + wide] = f"{name} is {where}"
    return Grid(op.shape, tuple(cells), hover, headers(rows, 8), _spaced(columns), op.axes, name=op.name)


def _spaced(columns: int) -> tuple[Header, ...]:
    """Headings of columns that cells without numbers leave room for."""
    step = 32
    if columns <= 128:
        step = 8 if columns <= 32 else 16
    return headers(columns, step)


def _tensor_grid(op: TensorOperand, lane: int | None) -> Grid:
    """A matrix in tensor memory: a cell for what lies there as it is, in the lanes of one warp."""
    locations = element_locations(op)
    rows, columns = op.shape
    down = [0, *(group.start for group in locations.row_groups() if group.start), rows]
    down = sorted({*down, *(at for at in range(32, rows, 32))})
    across = [0, *locations.rules()[1], columns]
    cells = []
    for (top, bottom), (left, right) in itertools.product(pairwise(down), pairwise(across)):
        first = int(locations.lanes[top, left])
        copies = op.layout.coords()[:, op.start[0] + top, op.start[1] + left, 0] % LANES
        words = locations.words[top, left:right]
        cta = f"CTA {first // LANES}, " if op.ctas > 1 else ""
        lines = (
            f"{cta}lanes {', '.join(index_range(int(lane), bottom - top) for lane in copies)}",
            f"columns {index_range(int(words[0]), int(words[-1] - words[0]) + 1)}",
        )
        tint = warp_tint(first % LANES // 32)
        cells.append(Cell(top, left, bottom - top, right - left, lines, tint))
    outlines: tuple[Box, ...] = ()
    if lane is not None:
        mine = locations.lanes == lane
        outlines = tuple(
            (int(row), int(mine[row].argmax()), 1, int(mine[row].sum()))
            for row in np.flatnonzero(mine.any(axis=1))
        )
    heads = (headers(rows, 16), _spaced(columns))
    hover = locations.hover_texts()
    return Grid(op.shape, tuple(cells), hover, *heads, op.axes, name=op.name, outlines=outlines)


def _notes(ins: Product, with_c: bool) -> list[str]:
    """What the instruction computes, of what size, and where its matrices are."""
    parts = ["D = A B + C" if with_c else "D = A B", ins.shape]
    if ins.d.space != "tensor":
        parts.insert(1, f"{ins.lanes} {ins.d.holder}s")
    if ins.structure is not None:
        parts.append(f"A {ins.structure.title} sparse")
    if ins.scale_vec:
        parts.append(f"scaled in blocks of {ins.k // ins.scale_vec}")
    if ins.mma_count > 1:
        parts.append(f"{ins.mma_count} independent MMAs")
    notes = [", ".join(parts)]
    if ins.d.space == "tensor":
        a = (
            "A and B in shared memory"
            if ins.a_space == "shared"
            else "B in shared memory, A in tensor memory"
        )
        accumulator = "C and D" if with_c else "D"
        notes.append(f"{a}, {accumulator} in tensor memory, layout {ins.path.name}")
        if ins.cta_group == 2:
            notes.append("each CTA has half of the rows of A and D, and half of the columns of B")
    return notes
