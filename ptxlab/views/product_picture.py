"""The matrix product in one picture: A on the left, B above D, what belongs to them above A or beside B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_index, as_integers, is_a
from ..errors import PtxlabError, quoted
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operands import Operands
from ..isa.parse import parse_mma
from ..numerics.emulate import emulate
from .fragment_pictures import fragment, lane_key
from .grid import Cell, Grid, Header, headers
from .matrix_pictures import (
    NOT_STORED,
    Colour,
    Shown,
    ValueMatrix,
    as_marks,
    check_options,
    colour_keys,
    colour_notes,
    labels_fit,
    value_matrix,
)
from .picture import Picture

__all__ = ["product"]

# Beyond these, matrices become heat maps of their values.
_MOST_CELLS, _MOST_LETTERS = 4096, 360  # of all matrices together, and of A and B side by side
_MOST_ROWS = 128  # below each other
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
_TITLES = {
    "stored": "compressed A",
    "E": "metadata E",
    "SFA": "scales of A",
    "SFB": "scales of B",
}


def product(
    ins: MmaForm | str,
    A: ArrayLike | None = None,
    B: ArrayLike | None = None,
    C: ArrayLike | None = None,
    *,
    codes: Mapping[str, NDArray[Any]] | None = None,
    shown: Shown = "value",
    colour: Colour = "auto",
    lane: int | None = None,
    marked: ArrayLike | None = None,
    copies: Mapping[str, int] | None = None,
    model: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    **modifiers: int | bool,
) -> Picture:
    """A on the left, B above D, with their numbers; without matrices, the lanes that hold them.

    For sparse instructions A is dense, with dots for what is not stored; the compressed A and the metadata
    stand above it, chunk over chunk. D is what the emulator gives, under `model`, scales and modifiers as
    `emulate` takes them. `codes` of all matrices by name may stand in place of values. `lane` puts a lane in
    focus; `marked` outlines cells of D.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> [(grid.name, grid.spot) for grid in product(ins, np.ones((16, 16)), np.ones((16, 8))).grids]
    [('lanes', (0, 0)), ('B', (0, 1)), ('A', (1, 0)), ('D', (1, 1))]
    """
    ins = parse_mma(ins)
    check_options(shown, colour)
    if colour in ("core matrix", "bank") and all(op.layout is not None for op in ins.operands.values()):
        raise PtxlabError(
            f"colour={quoted(colour)}: all of {ins.mnemonic} lives in registers; "
            "core matrices and banks are of shared memory"
        )
    lane = None if lane is None else as_index(lane, "lane", ins.lanes)
    outlined = None if marked is None else as_marks(marked, ins.d.shape, f"D of {ins.mnemonic}")
    if codes is None:
        if A is None and B is None:
            return _holders(ins, lane)
        if A is None or B is None:
            only = "B" if A is None else "A"
            raise PtxlabError(
                f"the product of {ins.mnemonic}: found only {only}; it takes A and B, or neither"
            )
        operands = Operands.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers))
        if operands.batch:
            raise PtxlabError(f"found a batch of {quoted(operands.batch)}; a picture shows one product")
        d = ins.d.unpack_codes(emulate(operands, model=model))
        codes = {**_input_codes(ins, A, B, C, scale_a, scale_b), "D": d}
    codes = _checked_codes(ins, codes)
    if copies is not None and not isinstance(copies, Mapping):
        raise PtxlabError(
            f"copies: found {quoted(copies)}; it takes the copy to show by matrix, such as {{'E': 1}}"
        )
    matrices = {
        name: value_matrix(ins, name, content, codes.get("E"), (copies or {}).get(name, 0))
        for name, content in codes.items()
    }
    labels = _labels(ins, matrices, shown)
    labelled = "A" in labels
    if shown == "lane" and not labelled:
        return _holders(ins, lane)
    if colour == "auto":
        colour = "lane" if labelled else "value"
    grids = []
    if colour == "lane":
        grids.append(replace(lane_key(ins.lanes), spot=(0, 0)))
    registers = max(matrix.operand.registers for matrix in matrices.values())
    grids += [replace(key, spot=(0, 0)) for key in colour_keys(colour, registers, ins.lanes)]
    for name in ("stored", "E", "SFA", "SFB", "B", "A", "D", "C"):
        if name in matrices:
            cells = outlined if name == "D" else None
            grid = _placed(matrices[name], labels.get(name), colour, lane, cells)
            grids.append(_diagonal(ins, grid) if ins.mma_count > 1 and name in ("C", "D") else grid)
    notes = [_formula_note(ins, "C" in matrices)]
    if ins.sparse and labelled and ins.a.layout is not None:
        notes.append(f"{NOT_STORED}: a zero of A that is not stored")
    return Picture(ins.mnemonic, (*notes, *colour_notes(colour, ins.lanes)), tuple(grids))


def _checked_codes(ins: MmaForm, codes: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Codes by the name of their matrix, each of its shape; A, B and D are among them."""
    if not is_a(codes, Mapping) or not {"A", "B", "D"} <= set(codes):
        raise PtxlabError(f"codes: found {quoted(codes)}; it takes those of A, B and D by name, and others")
    checked = {}
    for name, content in codes.items():
        if name not in _SPOTS:
            raise PtxlabError(f"codes: found {quoted(name)}; there are {', '.join(_SPOTS)}")
        shape = {"A": ins.a_dense, "stored": ins.a}.get(name, ins.operands.get(name, ins.a)).shape
        array = as_integers(content, f"codes of {name}")
        if array.shape != shape:
            raise PtxlabError(f"codes of {name}: found shape {array.shape}; it is {shape[0]}x{shape[1]}")
        checked[name] = array
    return checked


def _input_codes(
    ins: MmaForm,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    scale_a: ArrayLike | None,
    scale_b: ArrayLike | None,
) -> dict[str, NDArray[Any]]:
    """Codes of every matrix that goes into D."""
    codes = {
        "A": ins.a_dense.dtype.encode(ins.a_dense.check_matrix(A)),
        "B": ins.b.dtype.encode(ins.b.check_matrix(B)),
    }
    if C is not None:
        codes["C"] = ins.c.dtype.encode(ins.c.check_matrix(C))
    if ins.structure is not None:
        zero = ins.a.dtype.decode(codes["A"]) == 0
        codes["stored"], codes["E"] = ins.structure.compress(codes["A"], zero)
    for op, scales in ((ins.scale_a, scale_a), (ins.scale_b, scale_b)):
        if op is not None:
            codes[op.name] = op.dtype.encode(np.ones(op.shape) if scales is None else op.check_matrix(scales))
    return codes


def _labels(ins: MmaForm, matrices: dict[str, ValueMatrix], shown: Shown) -> dict[str, NDArray[Any]]:
    """Labels of the matrices that have room for them: of all, or only of a small C and D."""
    a, b, d = (matrices[name] for name in ("A", "B", "D"))
    high = max(ins.k + ins.m, 3 * ins.m if ins.sparse else ins.m)
    if high <= _MOST_ROWS and a.codes.size + d.codes.size <= _MOST_CELLS:
        labels = {name: matrix.labels(shown) for name, matrix in matrices.items()}
        right = labels["D"] if d.codes.size >= b.codes.size else labels["B"]
        if labels_fit([labels["A"], right], _MOST_CELLS, _MOST_LETTERS):
            return labels
    return {
        name: matrices[name].labels(shown)
        for name in ("C", "D")
        if name in matrices and matrices[name].codes.size <= _SMALL
    }


def _placed(
    matrix: ValueMatrix,
    labels: NDArray[Any] | None,
    colour: Colour,
    lane: int | None,
    marked: NDArray[Any] | None,
) -> Grid:
    """A matrix at its spot, its cells as wide, or as high, as what they stand for."""
    rows, columns = matrix.codes.shape
    spread = (1, 1)
    if matrix.name in ("stored", "E", "SFA"):
        spread = (1, matrix.ins.k // columns)
    elif matrix.name == "SFB":
        spread = (matrix.ins.k // rows, 1)
    grid = matrix.grid(labels, colour, lane=lane, marked=marked, spread=spread)
    if matrix.name == "E" and labels is not None:
        chunks = tuple(Header(head.start, head.size, (str(i),)) for i, head in enumerate(grid.columns))
        grid = replace(grid, columns=chunks)
    title = f"{_TITLES.get(matrix.name, matrix.name)} {rows}x{columns} {matrix.operand.dtype}"
    return replace(grid, spot=_SPOTS[matrix.name], title=title)


def _diagonal(ins: MmaForm, grid: Grid) -> Grid:
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
    )


def _holders(ins: MmaForm, lane: int | None) -> Picture:
    """The lanes that hold A, B and D, in place of their numbers."""
    grids = [replace(lane_key(ins.lanes), spot=(0, 0))]
    for name in ("B", "A", "D"):
        op = ins.a_dense if name == "A" else ins.operands[name]
        rows, columns = op.shape
        if op.layout is None:
            whole = Cell(0, 0, rows, columns, (f"{name}: in shared memory",), heat=0.0)
            hover = np.full(op.shape, f"{name} is in shared memory", dtype=object)
            grid = Grid(op.shape, (whole,), hover, headers(rows, 8), headers(columns, 8), op.axes, name=name)
        else:
            grid = fragment(ins, name, lane=lane, dense=name == "A" and ins.sparse).grids[0]
        grid = replace(grid, spot=_SPOTS[name], title=f"{name} {rows}x{columns} {op.dtype}")
        grids.append(_diagonal(ins, grid) if ins.mma_count > 1 and name == "D" else grid)
    notes = (_formula_note(ins, True), "T<lane>:{elements}", *colour_notes("lane", ins.lanes))
    return Picture(ins.mnemonic, notes, tuple(grids))


def _formula_note(ins: MmaForm, with_c: bool) -> str:
    parts = ["D = A B + C" if with_c else "D = A B", f"{ins.lanes} lanes", ins.shape]
    if ins.structure is not None:
        parts.append(f"A {ins.structure.title} sparse")
    if ins.scale_vec:
        parts.append(f"scaled in blocks of {ins.k // ins.scale_vec}")
    if ins.mma_count > 1:
        parts.append(f"{ins.mma_count} independent MMAs")
    return ", ".join(parts)
