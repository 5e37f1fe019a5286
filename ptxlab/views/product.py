"""The whole product in one picture: A left, B above, D below B; what belongs to sparsity and scales stands over A and beside B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operands import Operands
from ..numerics.emulate import emulate
from .picture import Cell, Grid, Header, Picture, headers
from .pictures import fragment
from .values import GHOST, Colour, Sheet, Shown, check, fits, grid_of, legend, sheet

__all__ = ["lanes", "product"]

_CELLS, _LETTERS = (
    4096,
    360,
)  # of all matrices together, and of A and B side by side; with more they are maps of their values
_DEEP, _SMALL = (
    128,
    256,
)  # rows below each other that are lettered; elements of a D that is lettered even beside maps
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


def product(
    ins: MmaForm,
    A: ArrayLike | None = None,
    B: ArrayLike | None = None,
    C: ArrayLike | None = None,
    *,
    codes: Mapping[str, NDArray[Any]] | None = None,
    shown: Shown = "value",
    colour: Colour = "auto",
    lane: int | None = None,
    marked: NDArray[Any] | None = None,
    copies: Mapping[str, int] | None = None,
    **options: Any,
) -> Picture:
    """A left, B above, D below B, with their numbers; without matrices, who holds what of them.

    For sparse instructions A is dense, with dots for what is not stored; the stored half and the metadata stand over it, chunk over
    chunk. D is what the emulator gives, and takes its options (`model`, `scale_a`, `scale_b` ...). Instead of values there may be the
    codes of all matrices by name. `lane` puts a lane in the focus; `marked` outlines cells of D.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> [(grid.title, grid.spot) for grid in product(ins, np.ones((16, 16)), np.ones((16, 8))).grids]
    [('lanes', (0, 0)), ('B 16x8 f16', (0, 1)), ('A 16x16 f16', (1, 0)), ('D 16x8 f32', (1, 1))]
    """
    check(shown, colour)
    if lane is not None and not 0 <= lane < ins.lanes:
        raise PtxlabError(f"lane {lane} does not exist; lanes go from 0 to {ins.lanes - 1}")
    if codes is None and A is None and B is None:
        return _fragments(ins, lane)
    if codes is None:
        codes = _computed(ins, A, B, C, options)
    sheets = {
        name: sheet(ins, name, found, codes.get("E"), (copies or {}).get(name, 0))
        for name, found in codes.items()
    }
    flat = (
        max(ins.k + ins.m, ins.m * (3 if ins.sparse else 1)) <= _DEEP
        and codes["A"].size + codes["D"].size <= _CELLS
    )
    texts = {name: found.said(shown) for name, found in sheets.items() if flat or found.codes.size <= _SMALL}
    lettered = flat and fits([texts["A"], max(texts["D"], texts["B"], key=np.size)], _CELLS, _LETTERS)
    if shown == "lane" and not lettered:
        return _fragments(ins, lane)
    if colour == "auto":
        colour = "lane" if lettered else "value"
    grids = [replace(lanes(ins.lanes), spot=(0, 0))] if colour == "lane" else []
    for name in ("stored", "E", "SFA", "SFB", "B", "A", "D", "C"):
        if name in sheets:
            words = (
                texts.get(name)
                if lettered or (name in ("C", "D") and sheets[name].codes.size <= _SMALL)
                else None
            )
            grids.append(_placed(ins, sheets[name], words, colour, lane, marked if name == "D" else None))
    if ins.mma_count > 1:
        grids = [_diagonal(ins, grid) if grid.spot in (_SPOTS["C"], _SPOTS["D"]) else grid for grid in grids]
    ghosts = f"; {GHOST}: a zero of A that is not stored" if ins.sparse and lettered and ins.a.layout else ""
    said = f"D = A B{' + C' if 'C' in sheets else ''}, {_said(ins)}{ghosts}{legend(colour, ins.lanes)}"
    return Picture(ins.mnemonic, said, tuple(grids))


def _said(ins: MmaForm) -> str:
    sparse = f", A {ins.structure.title} sparse" if ins.structure else ""
    scaled = f", scaled in blocks of {ins.k // ins.scale_vec}" if ins.scale_vec else ""
    return f"{ins.lanes} lanes, {ins.shape}{sparse}{scaled}{f', {ins.mma_count} products' if ins.mma_count > 1 else ''}"


def _computed(
    ins: MmaForm, A: ArrayLike | None, B: ArrayLike | None, C: ArrayLike | None, options: dict[str, Any]
) -> dict[str, NDArray[Any]]:
    """Codes of every matrix, by the emulator."""
    if A is None or B is None:
        raise PtxlabError(
            f"the product of {ins.mnemonic}: found only {'B' if A is None else 'A'}; it takes A and B, or neither"
        )
    model, scale_a, scale_b = (options.pop(name, None) for name in ("model", "scale_a", "scale_b"))
    operands = Operands.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(options))
    scales = {"SFA": scale_a, "SFB": scale_b}
    given = {"A": A, "B": B, **({} if C is None else {"C": C})}
    codes: dict[str, NDArray[Any]] = {}
    for name, matrix in given.items():
        op = ins.a_dense if name == "A" else ins.operands[name]
        codes[name] = op.dtype.encode(op.check_matrix(matrix))
    if ins.structure is not None:
        codes["stored"], codes["E"] = ins.structure.compress(codes["A"], ins.a.dtype.decode(codes["A"]) == 0)
    for name, values in scales.items():
        if name in ins.operands:
            op = ins.operands[name]
            codes[name] = op.dtype.encode(np.ones(op.shape) if values is None else op.check_matrix(values))
    codes["D"] = ins.d.unpack_codes(emulate(operands, model=model))
    return codes


def _placed(
    ins: MmaForm,
    found: Sheet,
    texts: NDArray[Any] | None,
    colour: Colour,
    lane: int | None,
    marked: NDArray[Any] | None,
) -> Grid:
    """A matrix at its spot, its cells as wide, or as high, as what they stand for."""
    rows, columns = found.codes.shape
    spread = (
        (1, ins.k // columns)
        if found.name in ("stored", "E", "SFA")
        else (ins.k // rows, 1)
        if found.name == "SFB"
        else (1, 1)
    )
    grid = grid_of(found, texts, colour, lane=lane, marked=marked, spread=spread)
    name = {"stored": "stored A", "E": "metadata E", "SFA": "scales of A", "SFB": "scales of B"}.get(
        found.name, found.name
    )
    title = f"{name} {rows}x{columns} {found.operand.dtype}"
    if found.name == "E":
        heads = (
            tuple(Header(head.start, head.size, (f"{i}",)) for i, head in enumerate(grid.columns))
            if texts is not None
            else grid.columns
        )
        grid = replace(grid, columns=heads)
    return replace(grid, spot=_SPOTS[found.name], title=title)


def _diagonal(ins: MmaForm, grid: Grid) -> Grid:
    """The accumulators of several products as the blocks of a diagonal, each right of its A and below its B."""
    many, size = ins.mma_count, ins.n
    shape = (grid.shape[0], size * many)
    hover = np.full(shape, "", dtype=object)
    cells: list[Cell] = []
    for i in range(many):
        rows, start = slice(i * ins.m, (i + 1) * ins.m), i * size
        hover[rows, start : start + size] = grid.hover[rows]
        cells += [
            replace(cell, column=cell.column + start)
            for cell in grid.cells
            if i * ins.m <= cell.row < (i + 1) * ins.m
        ]
        cells += [
            Cell(i * ins.m, at, ins.m, width, (), role="blank")
            for at, width in ((0, start), (start + size, shape[1] - start - size))
            if width
        ]
    heads = tuple(replace(head, start=head.start + i * size) for i in range(many) for head in grid.columns)
    boxes = tuple((i * ins.m, i * size, ins.m, size) for i in range(many))
    return replace(
        grid,
        shape=shape,
        cells=tuple(cells),
        hover=hover,
        columns=heads,
        row_rules=(),
        column_rules=(),
        boxes=boxes,
    )


def _fragments(ins: MmaForm, lane: int | None) -> Picture:
    """Who holds what of A, B and D, in the place of their numbers."""
    grids = [replace(lanes(ins.lanes), spot=(0, 0))]
    for name in ("B", "A", "D"):
        op, dense = ins.operands[name], ins.sparse and name == "A" and ins.a.layout is not None
        rows, columns = ins.a_dense.shape if name == "A" else op.shape
        if op.layout is None:
            whole = Cell(0, 0, rows, columns, (f"{name}: in shared memory",), heat=0.0)
            hover = np.full((rows, columns), f"{name} is in shared memory", dtype=object)
            grid = Grid((rows, columns), (whole,), hover, headers(rows, 8), headers(columns, 8), op.axes)
        else:
            (grid,) = fragment(ins, name, lane=lane, dense=dense).grids
        grids.append(replace(grid, spot=_SPOTS[name], title=f"{name} {rows}x{columns} {op.dtype}"))
    if ins.mma_count > 1:
        grids[-1] = _diagonal(ins, grids[-1])
    return Picture(
        ins.mnemonic,
        f"D = A B + C, {_said(ins)}; T<lane>:{{elements}}{legend('lane', ins.lanes)}",
        tuple(grids),
    )


def lanes(count: int = 32) -> Grid:
    """The key to the colours: 8 groups of 4 lanes.

    >>> lanes().at(1, 5).text
    'T21'
    """
    cells = tuple(Cell(lane % 4, lane // 4, 1, 1, (f"T{lane}",), lane) for lane in range(32))
    hover = np.array(
        [
            [f"lane {4 * group + thread}: group {group}, thread {thread}" for group in range(8)]
            for thread in range(4)
        ],
        dtype=object,
    )
    title = "lanes" if count == 32 else "lanes of a warp"
    return Grid((4, 8), cells, hover, headers(4, 1), headers(8, 1), ("thread", "group"), title)
