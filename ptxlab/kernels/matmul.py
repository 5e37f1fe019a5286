"""Whole matrix products with one instruction, tile by tile, in the order of a plain loop over K."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from .._util.progress import bar
from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.operands import Operands
from ..isa.parse import parse_mma
from ..numerics.emulate import emulate

__all__ = ["matmul"]

_PRODUCTS = 1 << 24  # between two updates of the progress bar: a fraction of a second


def matmul(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    instruction: MmaForm | str | None = None,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    on: Literal["emulator", "gpu"] = "emulator",
    model: str | None = None,
    show: bool | None = None,
) -> NDArray[Any]:
    """A B + C for matrices of any size, bit for bit as a kernel computes it with this instruction.

    A is [M, K], B [K, N] and C [M, N]; all are values. Every tile of D starts from C and goes through K in
    ascending steps, the D of one step being the C of the next. Edges are padded with zeros. A sparse
    instruction takes the dense A, which must have the structure. Block scales are [M, K / block] and [K /
    block, N], 1 if left out. `show` turns the progress bar on or off; by default it appears in notebooks and
    terminals.

    >>> ins = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> tenth = np.float32(np.float16(0.1))
    >>> matmul(np.full((20, 300), tenth), np.full((300, 3), tenth), instruction=ins)[0]   # exact: 2.9985353
    array([2.9985325, 2.9985325, 2.9985325], dtype=float32)
    """
    if instruction is None:
        raise PtxlabError(
            "instruction is missing: say which one computes the tiles, "
            "e.g. mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        )
    ins = parse_mma(instruction) if isinstance(instruction, str) else instruction
    if on not in ("emulator", "gpu"):
        raise PtxlabError(f"on={on!r}: it runs on 'emulator' or on 'gpu'")
    if on == "gpu" and model is not None:
        raise PtxlabError(f"model={model!r}: only the emulator (on='emulator') has models to choose from")
    if ins.c_type != ins.d_type:
        raise PtxlabError(
            f"{ins.mnemonic}: D of one step cannot be C of the next, "
            f"since C is {ins.c_type} and D is {ins.d_type}"
        )
    tiles = _Tiles(ins, A, B, C, scale_a, scale_b)
    d = np.empty((*tiles.grid, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    with bar(tiles.grid[0] * tiles.grid[1] * tiles.steps, "MMAs", show=show) as tick:
        for rows in tiles.row_blocks():
            accumulator = tiles.c[rows]
            for step in range(tiles.steps):
                operands = tiles.operands(rows, step, accumulator)
                accumulator = gpu.run(operands) if on == "gpu" else emulate(operands, model=model)
                tick(accumulator.shape[0] * accumulator.shape[1])
            d[rows] = accumulator
    return tiles.matrix(ins.d.unpack(d))


class _Tiles:
    """The matrices as packed tiles: A [tile row, step], B [step, tile column], C [tile row, tile column]."""

    def __init__(
        self,
        ins: MmaForm,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None,
        scale_a: ArrayLike | None,
        scale_b: ArrayLike | None,
    ) -> None:
        self.ins = ins
        left, right = _as_matrix("A", A), _as_matrix("B", B)
        (self.m, self.k), (b_rows, self.n) = left.shape, right.shape
        if b_rows != self.k:
            raise PtxlabError(
                f"A {self.m}x{self.k} and B {b_rows}x{self.n}: A needs as many columns as B has rows"
            )
        start = np.zeros((self.m, self.n), dtype=ins.c.dtype.value_type)
        if C is not None:
            start = _as_matrix("C", C)
        if start.shape != (self.m, self.n):
            raise PtxlabError(
                f"C is {start.shape[0]}x{start.shape[1]}; "
                f"A {self.m}x{self.k} times B {self.k}x{self.n} needs {self.m}x{self.n}"
            )
        tile_rows = ins.d.shape[0]  # m8n8k4 of f16 computes four products, one below the other
        self.grid = (-(-self.m // tile_rows), -(-self.n // ins.n))
        self.steps = -(-self.k // ins.k)
        self.e: NDArray[Any] | None = None
        codes = _encode(ins.a, left)
        if ins.structure is not None and ins.e is not None:
            codes = _pad(codes, self.grid[0] * tile_rows, self.steps * ins.k)
            codes, nibbles = ins.structure.compress(codes, zero=_is_zero(ins.a, codes))
            self.e = ins.e.pack_codes(_split(nibbles, self.grid[0], self.steps, ins.e.shape))
        self.a = ins.a.pack_codes(_split(codes, self.grid[0], self.steps, ins.a.shape))
        b_codes = _split(_encode(ins.b, right), self.steps, self.grid[1], (ins.k, ins.n))
        self.b = ins.b.pack_codes(np.tile(b_codes, (1, 1, 1, ins.mma_count)))
        self.c = ins.c.pack_codes(_split(_encode(ins.c, start), *self.grid, ins.c.shape))
        self.scale_a = self._scales("scale_a", ins.scale_a, scale_a)
        self.scale_b = self._scales("scale_b", ins.scale_b, scale_b)

    def _scales(
        self, argument: str, operand: Operand | None, values: ArrayLike | None
    ) -> NDArray[Any] | None:
        """Packed block scales, tile by tile."""
        if operand is None:
            if values is not None:
                raise PtxlabError(f"{argument}: {self.ins.mnemonic} has no block scales")
            return None
        is_a = argument == "scale_a"
        block = self.ins.k // operand.shape[1 if is_a else 0]
        blocks = -(-self.k // block)
        shape = (self.m, blocks) if is_a else (blocks, self.n)
        scales = np.ones(shape) if values is None else _as_matrix(argument, values)
        if scales.shape != shape:
            raise PtxlabError(
                f"{argument} is {scales.shape[0]}x{scales.shape[1]}; "
                f"one scale for every {block} of K makes it {shape[0]}x{shape[1]}"
            )
        tiles = (self.grid[0], self.steps) if is_a else (self.steps, self.grid[1])
        return operand.pack_codes(_split(_encode(operand, scales), *tiles, operand.shape))

    def row_blocks(self) -> list[slice]:
        """Rows of tiles that are computed together."""
        tile_rows, tile_columns = self.grid
        ins = self.ins
        products = tile_columns * ins.m * ins.n * ins.k * ins.mma_count
        size = max(1, _PRODUCTS // max(products, 1))
        return [slice(first, min(first + size, tile_rows)) for first in range(0, tile_rows, size)]

    def operands(self, rows: slice, step: int, accumulator: NDArray[Any]) -> Operands:
        """What the instructions of one step over K read."""
        return Operands(
            self.ins,
            a=self.a[rows, step, None],
            b=self.b[step],
            c=accumulator,
            e=None if self.e is None else self.e[rows, step, None],
            scale_a=None if self.scale_a is None else self.scale_a[rows, step, None],
            scale_b=None if self.scale_b is None else self.scale_b[step],
        )

    def matrix(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """The matrix that tiles [tile row, tile column, rows, columns] make up, without the padding."""
        tile_rows, tile_columns, rows, columns = tiles.shape
        matrix = np.swapaxes(tiles, 1, 2).reshape(tile_rows * rows, tile_columns * columns)
        return np.ascontiguousarray(matrix[: self.m, : self.n])


def _as_matrix(argument: str, values: ArrayLike) -> NDArray[Any]:
    matrix = np.asarray(values)
    if matrix.ndim != 2:
        raise PtxlabError(f"{argument}: found shape {matrix.shape}; it takes a matrix [rows, columns]")
    return matrix


def _encode(operand: Operand, values: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.asarray(operand.dtype.encode(values))
    except PtxlabError as error:
        raise PtxlabError(f"{operand.name}: {error}") from None


def _is_zero(operand: Operand, codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an element is zero: -0 is, and so is a float whose bits are set only where they are ignored."""
    dtype = operand.dtype
    mask = (1 << dtype.bits) - 1
    if dtype.is_float:
        mask = mask >> 1 & ~((1 << dtype.ignored_bits) - 1)
    return np.asarray((codes & dtype.code_type(mask)) == 0)


def _pad(matrix: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """The matrix with zeros below and to the right."""
    return np.pad(matrix, ((0, rows - matrix.shape[0]), (0, columns - matrix.shape[1])))


def _split(matrix: NDArray[Any], tile_rows: int, tile_columns: int, shape: tuple[int, int]) -> NDArray[Any]:
    """A matrix as tiles of this shape: [tile row, tile column, rows, columns], padded with zeros."""
    rows, columns = shape
    padded = _pad(matrix, tile_rows * rows, tile_columns * columns)
    return np.swapaxes(padded.reshape(tile_rows, rows, tile_columns, columns), 1, 2)
