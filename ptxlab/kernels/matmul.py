"""Whole matrix products through one instruction, tile by tile, in the order of a plain loop over K."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from .._util.progress import bar
from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..isa.parse import parse_mma as named
from ..numerics.emulate import emulate

__all__ = ["matmul"]

_AT_ONCE = 1 << 24  # products between two moves of the bar: a fraction of a second


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
    """A B + C for values A [M, K], B [K, N], C [M, N] of any size, bit for bit as a kernel computes it with this instruction.

    Every tile of D begins with C and goes through K in ascending steps, D of one being C of the next. Edges are filled with zeros. A sparse
    instruction takes A with its zeros, and refuses one without the structure. Block scales are [M, K / block] and [K / block, N], 1 where
    none are given. `show` draws a progress bar or not; without it, where somebody looks.

    >>> ins = named("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> tenth = np.float32(np.float16(0.1))
    >>> matmul(np.full((20, 300), tenth), np.full((300, 3), tenth), instruction=ins)[0]   # exact: 2.9985353
    array([2.9985325, 2.9985325, 2.9985325], dtype=float32)
    """
    if instruction is None:
        raise PtxlabError(
            "instruction is missing: say which one computes the tiles, e.g. mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        )
    ins = named(instruction) if isinstance(instruction, str) else instruction
    if on not in ("emulator", "gpu"):
        raise PtxlabError(f"on={on!r}: it runs on 'emulator' or on 'gpu'")
    if on == "gpu" and model is not None:
        raise PtxlabError(f"model={model!r}: a GPU is what it is; models are for on='emulator'")
    if ins.c_type != ins.d_type:
        raise PtxlabError(
            f"{ins.mnemonic}: D of one step cannot be C of the next, since C is {ins.c_type} and D is {ins.d_type}"
        )
    problem = _Problem(ins, A, B, C, scale_a, scale_b)
    d = np.empty((problem.down, problem.across, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    rows = (
        max(1, _AT_ONCE // (problem.across * ins.m * ins.n * ins.k * ins.mma_count)) if problem.across else 1
    )
    with bar(problem.down * problem.across * problem.deep, "MMAs", show=show) as tick:
        for first in range(0, problem.down, rows):
            part = slice(first, min(first + rows, problem.down))
            running = problem.start(part)
            for k in range(problem.deep):
                operands = problem.step(part, k, running)
                running = gpu.run(operands) if on == "gpu" else emulate(operands, model=model)
                tick(running.shape[0] * running.shape[1])
            d[part] = running
    return problem.whole(ins.d.unpack(d))


class _Problem:
    """The operands as registers of tiles, laid out [tiles down, tiles across] for every step of K."""

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
        left, right = _matrix("A", A), _matrix("B", B)
        self.m, self.k, self.n = *left.shape, right.shape[1]
        if right.shape[0] != self.k:
            raise PtxlabError(
                f"A {self.m}x{self.k} and B {right.shape[0]}x{self.n}: A needs as many columns as B has rows"
            )
        start = np.zeros((self.m, self.n), dtype=ins.c.dtype.value_type) if C is None else _matrix("C", C)
        if start.shape != (self.m, self.n):
            raise PtxlabError(
                f"C is {start.shape[0]}x{start.shape[1]}; A {self.m}x{self.k} times B {self.k}x{self.n} needs {self.m}x{self.n}"
            )
        self.tall = ins.d.shape[0]  # of m8n8k4 four products lie below each other
        self.down, self.across, self.deep = -(-self.m // self.tall), -(-self.n // ins.n), -(-self.k // ins.k)
        self.e = None
        stored = _filled(_codes(ins.a, left), self.down * self.tall, self.deep * ins.k)
        if ins.structure is not None and ins.e is not None:
            stored, nibbles = ins.structure.compress(
                stored, zero=(stored & ins.a.dtype.code_type(_size_mask(ins))) == 0
            )
            self.e = ins.e.pack_codes(_tiles(nibbles, self.down, self.deep))
        self.a = ins.a.pack_codes(_tiles(stored, self.down, self.deep))
        tiles = _tiles(
            _filled(_codes(ins.b, right), self.deep * ins.k, self.across * ins.n), self.deep, self.across
        )
        self.b = ins.b.pack_codes(np.tile(tiles, (1, 1, 1, ins.mma_count)))
        self.c = ins.c.pack_codes(
            _tiles(
                _filled(_codes(ins.c, start), self.down * self.tall, self.across * ins.n),
                self.down,
                self.across,
            )
        )
        self.scale_a, self.scale_b = self._scales("scale_a", scale_a), self._scales("scale_b", scale_b)

    def _scales(self, name: str, given: ArrayLike | None) -> NDArray[Any] | None:
        operand = getattr(self.ins, name)
        if operand is None:
            if given is not None:
                raise PtxlabError(f"{name}: {self.ins.mnemonic} has no block scales")
            return None
        first = name == "scale_a"
        tiles = (self.down, self.deep) if first else (self.deep, self.across)
        per, block = operand.shape[1 if first else 0], self.ins.k // operand.shape[1 if first else 0]
        blocks = -(-self.k // block)
        want = (self.m, blocks) if first else (blocks, self.n)
        found = np.ones(want) if given is None else _matrix(name, given)
        if found.shape != want:
            raise PtxlabError(
                f"{name} is {found.shape[0]}x{found.shape[1]}; one scale for every {block} of K makes it {want[0]}x{want[1]}"
            )
        whole = (
            (self.down * self.tall, self.deep * per) if first else (self.deep * per, self.across * self.ins.n)
        )
        return np.asarray(operand.pack_codes(_tiles(_filled(_codes(operand, found), *whole), *tiles)))

    def start(self, rows: slice) -> NDArray[Any]:
        return self.c[rows]

    def step(self, rows: slice, k: int, running: NDArray[Any]) -> Operands:
        """What one step over K reads; `running` is C, the sum so far."""
        return Operands(
            self.ins,
            a=self.a[rows, k, None],
            b=self.b[k],
            c=running,
            e=None if self.e is None else self.e[rows, k, None],
            scale_a=None if self.scale_a is None else self.scale_a[rows, k, None],
            scale_b=None if self.scale_b is None else self.scale_b[k],
        )

    def whole(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """Tiles [down, across, rows, columns] -> the matrix, without the filling."""
        matrix = np.swapaxes(tiles, 1, 2).reshape(self.down * self.tall, self.across * self.ins.n)
        return np.ascontiguousarray(matrix[: self.m, : self.n])


def _matrix(name: str, given: ArrayLike) -> NDArray[Any]:
    matrix = np.asarray(given)
    if matrix.ndim != 2:
        raise PtxlabError(f"{name}: found shape {matrix.shape}; it takes a matrix [rows, columns]")
    return matrix


def _codes(operand: Any, values: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.asarray(operand.dtype.encode(values))
    except PtxlabError as error:
        raise PtxlabError(f"{operand.name}: {error}") from None


def _size_mask(ins: MmaForm) -> int:
    """All bits but the sign of a float and those that are ignored: where they are 0, so is the element."""
    kind = ins.a.dtype
    every = (1 << kind.bits) - 1
    return every if not kind.is_float else every >> 1 & ~((1 << kind.ignored_bits) - 1)


def _filled(matrix: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    return np.pad(matrix, ((0, rows - matrix.shape[0]), (0, columns - matrix.shape[1])))


def _tiles(matrix: NDArray[Any], down: int, across: int) -> NDArray[Any]:
    """[rows, columns] -> [down, across, rows of a tile, columns of a tile]."""
    rows, columns = matrix.shape[0] // max(down, 1), matrix.shape[1] // max(across, 1)
    return np.swapaxes(matrix.reshape(down, rows, across, columns), 1, 2)
