"""Whole matrix products with one instruction, tile by tile, in the order of a plain loop over K."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from .._util.arguments import check_room, is_name
from .._util.progress_bar import bar
from .._util.threads import check_executor, in_order
from ..errors import PtxlabError, error_prefix, listing, quoted
from ..gpu.arrays import GpuArray, GpuArrays, gpu_arrays
from ..gpu.codegen.product import PRODUCT, product_source
from ..gpu.device import check_device, device_target
from ..isa.mma import Instruction
from ..isa.operand import MatrixOperand
from ..isa.operation import Operation
from ..isa.parse import parse_product
from ..isa.product_form import ProductForm
from ..isa.tcgen05 import TensorInstruction
from ..numerics.emulate import emulate
from .compressed import CompressedMatrix, compress_arrays, magnitude_bits
from .gemm_kernel import as_matrix
from .packed_matrices import (
    check_elements,
    check_matrices,
    copy_from_gpu,
    copy_to_gpu,
    element_types,
    lies_by_rows,
)
from .rung import best_rung
from .sparse import check_compressed, has_kernel, multiply_compressed

if TYPE_CHECKING:
    from concurrent.futures import Executor

_PRODUCTS = 1 << 24  # multiplications between two updates of the progress bar: a fraction of a second
_TASK_PRODUCTS = 1 << 26  # multiplications of one task of an executor: about a second
_SIDE_OF_A = ("a", "e", "scale_a")


def matmul(
    A: ArrayLike | CompressedMatrix,
    B: ArrayLike,
    C: ArrayLike | None = None,
    instruction: ProductForm | str | None = None,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    on: Literal["emulator", "gpu"] = "emulator",
    model: str | None = None,
    show: bool | None = None,
    executor: Executor | None = None,
    stream: object = None,
) -> Any:
    """A B + C for matrices of any size, bit for bit as a kernel computes it with this instruction.

    A is [M, K], B [K, N] and C [M, N]; all are values. Every tile of D starts from C and goes through K in
    ascending steps, the D of one step being the C of the next. Edges are padded with zeros. A sparse
    instruction takes a dense A, which must have its structure, or a `CompressedMatrix` from
    `ptxlab.compress`. Block scales are [M, K / block] and [K / block, N], 1 if left out. `show` turns the
    progress bar on or off; by default it appears in notebooks and terminals. `executor` is any executor like
    those of `concurrent.futures`, e.g. Dask's or mpi4py's: its workers compute blocks of D, with the same
    bits.

    With ``on="gpu"`` the matrices may be on the GPU already (CuPy's, torch's, any with DLPack or
    `__cuda_array_interface__`): elements are of the instruction's types, e.g. torch.float8_e4m3fn for e4m3
    and float32 for tf32, D is of the same library, and the kernel runs on its current stream, or on `stream`.
    Rows and columns may have any strides, so ``B.T`` is not copied.

    >>> ins = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> tenth = np.float32(np.float16(0.1))
    >>> matmul(np.full((20, 300), tenth), np.full((300, 3), tenth), instruction=ins)[0]   # exact: 2.9985353
    array([2.9985325, 2.9985325, 2.9985325], dtype=float32)
    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=8)
    >>> matmul(np.full((20, 300), tenth), np.full((300, 3), tenth), instruction=ins)[0]
    array([2.9985325, 2.9985325, 2.9985325], dtype=float32)
    """
    ins = _checked_form(instruction, on, model)
    mma = ins if isinstance(ins, Instruction) else None
    if isinstance(A, CompressedMatrix):
        if mma is not None and on == "gpu" and A.on_gpu and executor is None:
            return matmul_compressed(mma, A, B, C, stream)
        check_compressed(ins, A, as_matrix(B, "B").shape)
        A = A.dense()
    call = gpu_arrays({"A": A, "B": B, "C": C, "scale_a": scale_a, "scale_b": scale_b}, stream)
    if call is not None:
        if on != "gpu" or executor is not None:
            raise PtxlabError(
                "the arrays are on the GPU: pass on='gpu' and no executor, or copies of them as NumPy arrays"
            )
        if mma is None:
            raise PtxlabError(f"{ins.mnemonic}: the arrays are on the GPU; pass copies as NumPy arrays")
        with call:
            return matmul_arrays(mma, call)
    if mma is not None and on == "gpu" and executor is None and (not mma.sparse or has_kernel(mma)):
        return _on_gpu(mma, A, B, C, scale_a, scale_b)
    tiles = _Tiles(ins, A, B, C, scale_a, scale_b)
    return tiles.matrix(ins.d.unpack(_computed(tiles, on, model, show, executor)))


def _checked_form(instruction: ProductForm | str | None, on: str, model: str | None) -> ProductForm:
    """The instruction that computes the tiles, checked."""
    if instruction is None:
        raise PtxlabError(
            "instruction is missing: say which one computes the tiles, "
            "e.g. mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        )
    ins = parse_product(instruction)
    if isinstance(ins, TensorInstruction) and ins.descriptor.max_shift:  # `matmul` does not shift
        ins = ins.with_descriptor(max_shift=0)
    if not is_name(on, ("emulator", "gpu")):
        raise PtxlabError(f"on={quoted(on)}: it runs on 'emulator' or on 'gpu'")
    if on == "gpu" and model is not None:
        raise PtxlabError(
            f"model={quoted(model)}: only the emulator (on='emulator') has models to choose from"
        )
    if ins.c_type != ins.d_type:
        raise PtxlabError(
            f"{ins.mnemonic}: D of one step cannot be C of the next, "
            f"since C is {ins.c_type} and D is {ins.d_type}"
        )
    return ins


def _computed(
    tiles: _Tiles,
    on: Literal["emulator", "gpu"],
    model: str | None,
    show: bool | None,
    executor: Executor | None,
) -> NDArray[Any]:
    """The registers of D, tile by tile, with a progress bar."""
    d = np.empty((*tiles.grid, *tiles.ins.d.stored_shape), dtype=tiles.ins.d.register_type)
    with bar(tiles.grid[0] * tiles.grid[1] * tiles.steps, "MMAs", show=show) as tick:
        if executor is None:
            for block in tiles.row_blocks(on, model):
                d[block.rows] = block.accumulate(tick)
        else:
            check_executor(executor)
            with closing(in_order(executor, _TileBlock.accumulate, tiles.blocks(on, model))) as results:
                for block, registers in results:
                    d[block.rows, block.columns] = registers
                    tick(registers.shape[0] * registers.shape[1] * tiles.steps)
    return d


def _on_gpu(
    ins: Instruction,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    scale_a: ArrayLike | None,
    scale_b: ArrayLike | None,
) -> NDArray[Any]:
    """The whole product in one launch."""
    check_device(ins)
    left, right, start = _matrices(A, B, C)
    matrices = {"A": (ins.a, left), "B": (ins.b, right)}
    if C is not None:
        matrices["C"] = (ins.c, start)
    codes = {name: _encode(operand, matrix) for name, (operand, matrix) in matrices.items()}
    for name, operand, scales in (("scale_a", ins.scale_a, scale_a), ("scale_b", ins.scale_b, scale_b)):
        if scales is None:
            continue
        if operand is None:
            raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        codes[name] = _encode(operand, as_matrix(scales, name))
    with copy_to_gpu(ins, codes) as call:
        product = matmul_arrays(ins, call)
    return np.asarray(ins.d.dtype.decode(copy_from_gpu(product, ins.d.dtype.code_type)))


@dataclass(frozen=True)
class _TileBlock:
    """A rectangle of tiles of D, with all its inputs: it can be sent to another machine.

    Arrays that belong to A are [tile row, step], others [step, tile column]; C is [tile row, tile column].
    """

    ins: ProductForm
    rows: slice
    columns: slice
    c: NDArray[Any]
    arrays: dict[str, NDArray[Any]]
    on: str
    model: str | None

    def accumulate(self, tick: Callable[[int], None] | None = None) -> NDArray[Any]:
        """Registers of its tiles of D: starting from C, one step along K after the other."""
        accumulator = self.c
        for step in range(self.arrays["a"].shape[1]):
            inputs: dict[str, Any] = {
                name: array[:, step, None] if name in _SIDE_OF_A else array[step]
                for name, array in self.arrays.items()
            }
            operands = Operation(self.ins, c=accumulator, **inputs)
            accumulator = gpu.run(operands) if self.on == "gpu" else emulate(operands, model=self.model)
            if tick is not None:
                tick(accumulator.shape[0] * accumulator.shape[1])
        return accumulator


class _Tiles:
    """The matrices as packed tiles: A [tile row, step], B [step, tile column], C [tile row, tile column]."""

    def __init__(
        self,
        ins: ProductForm,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None,
        scale_a: ArrayLike | None,
        scale_b: ArrayLike | None,
    ) -> None:
        self.ins = ins
        left, right, start = _matrices(A, B, C)
        (self.m, self.k), self.n = left.shape, right.shape[1]
        tile_rows = ins.d.shape[0]  # m8n8k4 of f16 computes four products, stacked
        self.grid = (-(-self.m // tile_rows), -(-self.n // ins.n))
        self.steps = -(-self.k // ins.k)
        self.arrays: dict[str, NDArray[Any]] = {}
        codes = _encode(ins.a, left)
        if ins.structure is not None and ins.e is not None:
            codes = _pad(codes, self.grid[0] * tile_rows, self.steps * ins.k)
            mask = ins.a.dtype.code_type(magnitude_bits(ins.a.dtype))
            codes, nibbles = ins.structure.compress(codes, zero=codes & mask == 0)
            self.arrays["e"] = ins.e.pack_codes(_split(nibbles, self.grid[0], self.steps, ins.e.shape))
        self.arrays["a"] = ins.a.pack_codes(_split(codes, self.grid[0], self.steps, ins.a.shape))
        b_codes = _split(_encode(ins.b, right), self.steps, self.grid[1], (ins.k, ins.n))
        self.arrays["b"] = ins.b.pack_codes(np.tile(b_codes, (1, 1, 1, ins.mma_count)))
        self.c = ins.c.pack_codes(_split(_encode(ins.c, start), *self.grid, ins.c.shape))
        self._pack_scales("scale_a", ins.scale_a, scale_a)
        self._pack_scales("scale_b", ins.scale_b, scale_b)

    def _pack_scales(self, argument: str, operand: MatrixOperand | None, values: ArrayLike | None) -> None:
        """Block scales, tile by tile; 1 if they are left out."""
        if operand is None:
            if values is not None:
                raise PtxlabError(f"{argument}: {self.ins.mnemonic} has no block scales")
            return
        is_a = argument == "scale_a"
        block, shape = _scale_shape(self.ins, argument, operand, (self.m, self.k, self.n))
        scales = np.ones(shape) if values is None else as_matrix(values, argument)
        if scales.shape != shape:
            raise PtxlabError(
                f"{argument} is {scales.shape[0]}x{scales.shape[1]}; "
                f"one scale for every {block} of K makes it {shape[0]}x{shape[1]}"
            )
        tiles = (self.grid[0], self.steps) if is_a else (self.steps, self.grid[1])
        self.arrays[argument] = operand.pack_codes(_split(_encode(operand, scales), *tiles, operand.shape))

    def row_blocks(self, on: str, model: str | None) -> Iterator[_TileBlock]:
        """Whole rows of tiles, few enough that a step along K takes a fraction of a second."""
        tile_rows, tile_columns = self.grid
        ins = self.ins
        products = tile_columns * ins.m * ins.n * ins.k * ins.mma_count
        size = max(1, _PRODUCTS // max(products, 1))
        for first in range(0, tile_rows, size):
            yield self._block(slice(first, min(first + size, tile_rows)), slice(0, tile_columns), on, model)

    def blocks(self, on: str, model: str | None) -> Iterator[_TileBlock]:
        """Roughly square blocks of D of about a second each, so that little data is sent for much work."""
        tile_rows, tile_columns = self.grid
        ins = self.ins
        products = ins.m * ins.n * ins.k * ins.mma_count * max(self.steps, 1)
        tiles = max(1, _TASK_PRODUCTS // products)
        wide = max(1, min(tile_columns, round(math.sqrt(tiles * ins.d.shape[0] / ins.n))))
        high = max(1, tiles // wide)
        for row in range(0, tile_rows, high):
            for column in range(0, tile_columns, wide):
                rows = slice(row, min(row + high, tile_rows))
                yield self._block(rows, slice(column, min(column + wide, tile_columns)), on, model)

    def _block(self, rows: slice, columns: slice, on: str, model: str | None) -> _TileBlock:
        arrays = {
            name: array[rows] if name in _SIDE_OF_A else array[:, columns]
            for name, array in self.arrays.items()
        }
        return _TileBlock(self.ins, rows, columns, self.c[rows, columns], arrays, on, model)

    def matrix(self, tiles: NDArray[Any]) -> NDArray[Any]:
        """The matrix of tiles [tile row, tile column, rows, columns], without the padding."""
        tile_rows, tile_columns, rows, columns = tiles.shape
        matrix = np.swapaxes(tiles, 1, 2).reshape(tile_rows * rows, tile_columns * columns)
        return np.ascontiguousarray(matrix[: self.m, : self.n])


def _scale_shape(
    ins: ProductForm, argument: str, operand: MatrixOperand, sizes: tuple[int, int, int]
) -> tuple[int, tuple[int, int]]:
    """How many elements along K share a scale, and the shape of the scales of A or B, for M, K and N."""
    m, k, n = sizes
    block = ins.k // operand.shape[1 if argument == "scale_a" else 0]
    blocks = -(-k // block)
    return block, (m, blocks) if argument == "scale_a" else (blocks, n)


def _matrices(
    A: ArrayLike, B: ArrayLike, C: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A, B and C with matching shapes; C is zero if left out."""
    left, right = as_matrix(A, "A"), as_matrix(B, "B")
    (m, k), (b_rows, n) = left.shape, right.shape
    if b_rows != k:
        raise PtxlabError(f"A {m}x{k} and B {b_rows}x{n}: A needs as many columns as B has rows")
    check_room(max(m * n, m * k, k * n), "D")
    start = np.zeros((m, n)) if C is None else as_matrix(C, "C")
    if start.shape != (m, n):
        raise PtxlabError(f"C is {start.shape[0]}x{start.shape[1]}; A {m}x{k} times B {k}x{n} needs {m}x{n}")
    return left, right, start


def _encode(operand: MatrixOperand, values: NDArray[Any]) -> NDArray[Any]:
    with error_prefix(operand.name):
        return np.asarray(operand.dtype.encode(values))


def _pad(matrix: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """The matrix with zeros below and to the right."""
    return np.pad(matrix, ((0, rows - matrix.shape[0]), (0, columns - matrix.shape[1])))


def _split(matrix: NDArray[Any], tile_rows: int, tile_columns: int, shape: tuple[int, int]) -> NDArray[Any]:
    """A matrix as tiles of this shape: [tile row, tile column, rows, columns], padded with zeros."""
    rows, columns = shape
    padded = _pad(matrix, tile_rows * rows, tile_columns * columns)
    return np.swapaxes(padded.reshape(tile_rows, rows, tile_columns, columns), 1, 2)


# -- `matmul` of matrices on the GPU, without copies through the host and without waiting --------------------

_MAX_BLOCKS = 1 << 16
_BLOCK = 128


def matmul_arrays(ins: Instruction, call: GpuArrays) -> Any:
    """A B + C of the arrays A, B, C, scale_a, scale_b of a call; D is of the same library, on its stream."""
    m, n, k = check_matrices(ins, call)
    a, b, c = (call.arrays.get(name) for name in "ABC")
    check_device(ins)
    if ins.sparse:
        if not has_kernel(ins):
            raise PtxlabError(
                f"{ins.mnemonic} on arrays on the GPU: there is no sparse kernel for it; pass NumPy arrays"
            )
        return multiply_compressed(ins, call, compress_arrays(ins, call), call.arrays["B"], c)
    d = call.empty((m, n), element_types(ins.d))
    rung = None
    if d.size and k:
        rung = best_rung(ins, device_target(), m, n, b_by_rows=lies_by_rows(call.arrays["B"]))
    if rung is not None:
        rung.multiply(call, d)
    elif d.size:
        tiles = -(-m // ins.d.shape[0]) * -(-n // ins.n)
        matrices = [_struct(array) for array in (a, b, c, *_scales(ins, call, m, k, n))]
        blocks = -(-tiles // (_BLOCK // ins.lanes))
        call.launch(product_source(ins), PRODUCT, [*matrices, d], grid=min(blocks, _MAX_BLOCKS), block=_BLOCK)
    return d.owner


def multiply_on_gpu(
    ins: ProductForm,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    scale_a: ArrayLike | None,
    scale_b: ArrayLike | None,
    modifiers: Mapping[str, int | bool],
) -> Any:
    """`ins(A, B, C, on="gpu")` for matrices that are on the GPU: the product of just this size."""
    if not isinstance(ins, Instruction):
        raise PtxlabError(f"{ins.mnemonic}: it takes no matrices that are on the GPU; pass NumPy arrays")
    if modifiers or ins.mma_count > 1:
        raise PtxlabError(
            f"{ins.mnemonic}: on matrices that are on the GPU it takes no modifiers, and not four "
            "products at once; pass NumPy arrays, or registers to ins.run"
        )
    for name, matrix, shape in (("A", A, (ins.m, ins.k)), ("B", B, (ins.k, ins.n))):
        actual = tuple(getattr(matrix, "shape", ()))
        if actual != shape:
            raise PtxlabError(
                f"{name}: found shape {actual}; {ins.mnemonic} takes {shape}, and ptxlab.matmul any size"
            )
    return matmul(A, B, C, ins, scale_a=scale_a, scale_b=scale_b, on="gpu")


def matmul_compressed(
    ins: Instruction, A: CompressedMatrix, B: object, C: object = None, stream: object = None
) -> Any:
    """A B + C with an A that was compressed on the GPU; D is of the same library as A's arrays."""
    call = gpu_arrays({"stored": A.stored, "B": B, "C": C}, stream)
    assert call is not None
    with call:
        check_elements(ins, call)
        return multiply_compressed(ins, call, A, call.arrays["B"], call.arrays.get("C"))


def _scales(ins: Instruction, call: GpuArrays, m: int, k: int, n: int) -> list[GpuArray | None]:
    """Block scales, None if all are 1."""
    scales = []
    for name, operand in (("scale_a", ins.scale_a), ("scale_b", ins.scale_b)):
        if operand is None:
            continue
        array = call.arrays.get(name)
        block, shape = _scale_shape(ins, name, operand, (m, k, n))
        if array is not None and array.shape != shape:
            raise PtxlabError(
                f"{name} is {listing(array.shape)}; one scale for every {block} of K makes it "
                f"{shape[0]}x{shape[1]}"
            )
        scales.append(array)
    return scales


def _struct(array: GpuArray | None) -> bytes:
    """The bytes of the kernel's struct Matrix."""
    if array is None:
        return bytes(32)
    steps = [stride // array.itemsize for stride in array.strides]
    return struct.pack("<QqqII", array.pointer, *steps, *array.shape)
