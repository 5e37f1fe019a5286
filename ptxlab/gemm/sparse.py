"""Products with a sparse A: kernels of mma.sp and wgmma.sp for compressed matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, listing, quoted
from ..gpu.arrays import GpuArray, GpuArrays, as_gpu_array, gpu_arrays
from ..gpu.device import check_device, device_target
from ..gpu.driver_tensor_maps import encode_tensor_map
from ..isa.dtypes import dtype
from ..isa.mma import Instruction
from ..isa.parse import parse_mma
from ..isa.product_form import ProductForm
from ..isa.targets import check_target, chip_of_target, max_shared
from ..memory import tensor_map
from ..numerics import has, model_for
from .compressed import CPP_TYPES, ELEMENTS, LANES, WORD_ROWS, CompressedMatrix, compress, compress_arrays
from .gemm_kernel import (
    H200_PROCESSORS,
    STORE,
    Call,
    GemmKernel,
    Row,
    TileShape,
    as_matrix,
    check_not_empty,
    fastest_shape,
    product_array,
    start_codes,
    stored_rows,
)
from .packed_matrices import Rows, check_elements, lies_by_rows, operand_map, packed_rows
from .source import RESULTS

_A_STEP, _B_STEP = 32, 64  # bytes of a stored row of A, and of a column of B, in one instruction

#: The sparse kernels; numbers are those of the dense rungs that they grew from.
SPARSE: tuple[Row, ...] = (
    Row(5, "mma.sp", "metadata travels with the tiles that cp.async copies", "sparse_mma.cu", "mma.sp",
        MappingProxyType({"BLOCK_M": 128, "BLOCK_N": 128, "WARPS_M": 2, "WARPS_N": 2, "STAGES": 2})),
    Row(12, "wgmma.sp",
        "sparse tensor cores eat B twice as fast: large tiles, and clusters that share B, feed them",
        "sparse_wgmma.cu", "wgmma.sp",
        MappingProxyType({
            "BLOCK_M": 256, "BLOCK_N": 192, "TILES_M": 2, "STEPS": 2, "STAGES": 4, "CLUSTER": 2, "GROUP": 8,
            "B_BY_ROWS": 0, "PRODUCER_REGISTERS": 40, "CONSUMER_REGISTERS": 232,
        }),
        tensor_maps=True),
)  # fmt: skip


@dataclass(frozen=True)
class SparseRung(GemmKernel):
    """A sparse kernel with an instruction; `sparse_rung` makes one.

    >>> r = sparse_rung("wgmma.mma_async.sp.sync.aligned.m64n256k32.f32.f16.f16")
    >>> r.form.shape, r.threads, r.shared
    ('m64n192k32', 384, 204864)
    """

    @property
    def target(self) -> str:
        """The target that it is compiled for, unless it is launched on another."""
        return self.row.targets[0]

    @property
    def asynchronous(self) -> bool:
        """Whether it is a kernel of wgmma.sp, which TMA feeds."""
        return self.row.family == "wgmma.sp"

    @property
    def stores_with_tma(self) -> bool:
        """Whether TMA stores D, whose rows then begin at multiples of 16 bytes."""
        return self.asynchronous

    @property
    def steps(self) -> int:
        """Instructions along K of a stage."""
        return self.constants.get("STEPS", 4)

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        words = self.steps // len(self.form.selectors)
        metadata = self.constants["BLOCK_M"] // WORD_ROWS * words * LANES * 4
        tiles = (self.constants["BLOCK_M"] * _A_STEP + self.constants["BLOCK_N"] * _B_STEP) * self.steps
        if self.asynchronous:
            stores = 2 * STORE * (self.threads // LANES - 1)
            return self.constants["STAGES"] * (tiles + -(-metadata // 1024) * 1024 + 16) + stores
        return self.constants["STAGES"] * (tiles + metadata)

    def grid(self, M: int, N: int, processors: int = H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""
        tiles = -(-M // (self.constants["BLOCK_M"] * self.cluster)) * -(-N // self.constants["BLOCK_N"])
        if not self.asynchronous:
            return tiles
        return self.cluster * max(1, min(tiles, processors // self.cluster))

    def call(
        self, A: Any, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], compressed or not, B [K, N], C [M, N], as values.

        >>> r = sparse_rung("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
        >>> launch = r.call(np.zeros((100, 80)), np.ones((80, 60)))
        >>> launch.grid, launch.D.shape
        (1, (100, 60))
        """
        self.check_processors(processors)
        left = A if isinstance(A, CompressedMatrix) else compress(A, self.form)
        right = as_matrix(B, "B")
        check_compressed(self.form, left, right.shape)
        (m, k), n = left.shape, right.shape[1]
        check_not_empty(m, n, k)
        stored = np.ascontiguousarray(left.stored).view(np.uint8)
        columns = stored_rows(self.form.b, right if self.b_by_rows else right.T)
        start = start_codes(self.form, C, m, n)
        d = product_array(self.result, m, n, by_tma=self.asynchronous)
        steps = -(-k // self.form.k)
        arguments: tuple[Any, ...] = (stored, left.metadata, columns, start, d, m, n, steps)
        if self.asynchronous:
            maps = self.maps(stored, columns, d.view(np.uint8))
            arguments = (maps[0], left.metadata, maps[1], start, maps[2], m, n, steps)
        else:
            arguments += (stored.shape[1], columns.shape[1])
        return Call(self.grid(m, n, processors), self.threads, self.shared, arguments, d, n)

    def maps(self, stored: Any, columns: Any, product: Any) -> tuple[Any, Any, Any]:
        """TMA's descriptors of the stored half of A, of B and of D, all as bytes."""
        wide = _A_STEP * self.steps
        box = (64, 128) if self.b_by_rows else (self.form.n // self.constants["CLUSTER"], 128)
        return (
            tensor_map(stored, (self.constants["BLOCK_M"], wide), swizzle=wide, l2_promotion=256),
            operand_map(columns, box, tf32=self.form.b_type == "tf32"),
            tensor_map(product, (self.form.m, 128), swizzle=128),
        )

    def __call__(self, A: Any, B: Any, C: Any = None, *, stream: object = None) -> Any:
        """D = A B + C for matrices on the GPU; A is compressed or not.

        D is of the same library; the call waits only for the compression of A.
        """
        compressed = isinstance(A, CompressedMatrix)
        arrays_of_a = {"stored": A.stored} if compressed else {"A": A}
        call = gpu_arrays({**arrays_of_a, "B": B, "C": C}, stream)
        if call is None:
            raise PtxlabError("A, B: found matrices on the host; `simulate` takes them, or ptxlab.matmul")
        with call:
            check_elements(self.form, call)
            left = A if compressed else compress_arrays(self.form, call)
            check_compressed(self.form, left, call.arrays["B"].shape)
            return self.multiply(call, left, call.arrays["B"], call.arrays.get("C")).owner

    def multiply(
        self, call: GpuArrays, A: CompressedMatrix, B: GpuArray, C: GpuArray | None = None
    ) -> GpuArray:
        """D for matrices on the GPU, on the stream of the call."""
        (m, k), n = A.shape, B.shape[1]
        if C is not None and C.shape != (m, n):
            raise PtxlabError(f"C is {C.shape[0]}x{C.shape[1]}; the product is {m}x{n}")
        d = call.empty((m, n), np.dtype(dtype(self.result).numpy_type).name)
        if not d.size:
            return d
        stored, metadata = as_gpu_array(A.stored, "stored"), as_gpu_array(A.metadata, "metadata")
        assert stored is not None
        assert metadata is not None
        left = Rows(stored.pointer, m, *[stored.shape[1] * stored.itemsize] * 2)
        if k > 0:
            order = slice(None) if self.b_by_rows else slice(None, None, -1)
            maps = self.asynchronous
            shape, strides = B.shape[order], B.strides[order]
            right = packed_rows(call, self.form.b, B.pointer, shape, strides, gaps=maps, rounded=maps)
        else:  # no step reads them, but tensor maps need rows
            left, right = (Rows(call.scratch(rows * _A_STEP), rows, _A_STEP, _A_STEP) for rows in (m, n))
        start = np.uint64(0) if C is None else call.contiguous(C)
        sizes = [np.int32(m), np.int32(n), np.int32(-(-k // self.form.k))]
        target = self.rows_of_product(call, d)
        arguments: list[Any] = [np.uint64(left.pointer), metadata, np.uint64(right.pointer), start, d, *sizes]
        if self.asynchronous:
            encoded = [encode_tensor_map(tma_map).tobytes() for tma_map in self.maps(left, right, target)]
            arguments = [encoded[0], metadata, encoded[1], start, encoded[2], *sizes]
        else:
            arguments += [np.int32(left.pitch), np.int32(right.pitch)]
        self.queue(call, arguments, target, d)
        return d


def sparse_rung(form: Instruction | str, *, result: str | None = None, **constants: int) -> SparseRung:
    """A sparse kernel for an instruction; `constants` replace those of its row.

    >>> sparse_rung("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", stages=3, block_n=128).form.shape
    'm64n128k64'
    """
    ins = parse_mma(form)
    rows = {row.family: row for row in SPARSE}
    row = rows.get(ins.family)
    if row is None:
        raise PtxlabError(f"{ins.mnemonic}: the sparse kernels are of {listing(rows)}")
    name = f"the kernel of {row.family}"
    chosen = row.with_constants(name, constants)
    if not _fits(ins):
        raise PtxlabError(
            f"{ins.mnemonic}: the sparse kernels are for elements of {listing(CPP_TYPES)} bits, steps of "
            f"{_A_STEP} bytes of a stored row, accumulators in {listing(RESULTS)}"
        )
    made = SparseRung(row, ins, chosen, ins.d_type if result is None else result)
    made.check(name)
    _check_tiles(made)
    if ins.family == "wgmma.sp":
        wide = ins.mnemonic.replace(f"m{ins.m}n{ins.n}k", f"m{ins.m}n{chosen['BLOCK_N']}k")
        made = replace(made, form=replace(parse_mma(wide), a_space="shared"))
    made.check_shared(name)
    return made


def _check_tiles(made: SparseRung) -> None:
    """Refuse tiles that the kernel cannot divide among its warps, boxes and stores."""
    row, constants = made.row, made.constants
    result_bytes, bits = dtype(made.result).bits // 8, made.form.b.dtype.bits
    units = {"BLOCK_M": WORD_ROWS * constants.get("TILES_M", 1), "BLOCK_N": 8 * constants.get("CLUSTER", 1)}
    most = {"BLOCK_M": 256, "BLOCK_N": 256}
    if row.family == "mma.sp":
        units["BLOCK_M"] = math.lcm(WORD_ROWS, 16 * constants["WARPS_M"])
        units["BLOCK_N"] = 8 * constants["WARPS_N"]
        most["WARPS_M"] = most["WARPS_N"] = 8
    else:
        units["BLOCK_N"] = math.lcm(units["BLOCK_N"], 128 // result_bytes)  # a store takes 128 bytes
        units["STEPS"] = 2  # 64 bytes of a stored row of A, which are one swizzle
        most |= {"STEPS": 4, "CLUSTER": 8, "TILES_M": 4, "B_BY_ROWS": 1}
        if constants["B_BY_ROWS"]:
            units["BLOCK_N"] = math.lcm(units["BLOCK_N"], 64)  # columns of a box
            most["STEPS"] = 2  # 64 rows of a box
            if bits != 16:
                raise PtxlabError(f"b_by_rows: wgmma transposes 16-bit types only, not {bits}-bit ones")
    for name, unit in units.items():
        if constants[name] % unit:
            raise PtxlabError(
                f"the kernel of {row.family}: {name.lower()}={constants[name]} is not a multiple of {unit}"
            )
    for name, limit in most.items():
        if constants[name] > limit:
            raise PtxlabError(
                f"the kernel of {row.family}: {name.lower()}={constants[name]} is more than {limit}"
            )


def _fits(form: Instruction) -> bool:
    """Whether the sparse kernels are written for this instruction."""
    if form.structure is None or form.scale_vec or form.a.dtype.bits not in CPP_TYPES:
        return False
    step = form.k // 2 * form.a.dtype.bits // 8
    types = form.a.dtype.bits == form.b.dtype.bits and form.d_type in RESULTS and form.c_type == form.d_type
    return step == _A_STEP and types and len(form.selectors) <= 2


def has_kernel(form: Instruction) -> bool:
    """Whether the product of matrices on the GPU with this instruction has a sparse kernel.

    >>> has_kernel(parse_mma("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16"))
    True
    """
    return form.family in {row.family for row in SPARSE} and form.a_type in ELEMENTS and _fits(form)


def check_compressed(form: ProductForm, A: CompressedMatrix, b_shape: tuple[int, ...]) -> None:
    """Refuse a compressed matrix of another type or size than a product with this instruction takes."""
    if form.structure is None or A.form.a_type != form.a_type:
        raise PtxlabError(
            f"A is compressed for elements of {A.form.a_type}; {form.mnemonic} takes "
            f"{f'a dense A of {form.a_type}' if form.structure is None else form.a_type}"
        )
    if A.shape[1] != b_shape[0]:
        raise PtxlabError(
            f"A {A.shape[0]}x{A.shape[1]} and B {b_shape[0]}x{b_shape[1]}: "
            "A needs as many columns as B has rows"
        )


def multiply_compressed(
    form: Instruction, call: GpuArrays, A: CompressedMatrix, B: GpuArray, C: GpuArray | None = None
) -> Any:
    """A B + C with a sparse instruction for matrices on the GPU; D is of the library of the call."""
    if not has_kernel(form):
        raise PtxlabError(f"{form.mnemonic}: there is no sparse kernel for it; pass NumPy arrays")
    check_device(form)
    check_compressed(form, A, B.shape)
    if 0 in (A.shape[0], B.shape[1]):
        return call.empty((A.shape[0], B.shape[1]), np.dtype(form.d.dtype.numpy_type).name).owner
    target = device_target()
    rung = best_sparse_rung(form, target, A.shape[0], B.shape[1], b_by_rows=lies_by_rows(B))
    return rung.multiply(call, A, B, C).owner


def best_sparse_rung(
    ins: Instruction | str,
    target: str,
    M: int,
    N: int,
    *,
    b_by_rows: bool | int = False,
    result: str | None = None,
) -> SparseRung:
    """The kernel for a product of this size, with the constants that were fastest on an H200.

    On sm_90a an mma.sp whose arithmetic wgmma.sp shares runs as wgmma.sp. With `b_by_rows` the kernel reads a
    B with contiguous rows, if it can; other kernels need contiguous columns.

    >>> ins = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    >>> [best_sparse_rung(ins, target, 512, 512).form.family for target in ("sm_80", "sm_90a")]
    ['mma.sp', 'wgmma.sp']
    """
    form, target = parse_mma(ins), check_target(target)
    rows, columns = as_int(M, "M"), as_int(N, "N")
    if min(rows, columns) < 1:
        raise PtxlabError(f"M={quoted(M)}, N={quoted(N)}: both are at least 1")
    if result is not None and not isinstance(result, str):
        raise PtxlabError(f"result={quoted(result)}: name the type in which D is stored, such as 'f32'")
    if target == "sm_90a" and form.family == "mma.sp":
        form = _warpgroup_form(form) or form
    if form.family != "wgmma.sp":
        if max_shared(target) < 128 << 10:  # half of the columns fit
            return _cached_rung(form, result=result, block_n=64)
        return _cached_rung(form, result=result)
    narrow = form.d_type == "f16"  # two accumulators in a register
    shapes = [shape for shape in _SHAPES if narrow or shape.block_m * shape.block_n <= _MAX_TILE]
    by_rows = as_flag(b_by_rows, "b_by_rows") and form.b.dtype.bits == 16
    tiles = fastest_shape(shapes, rows, columns)
    tiles["tiles_m"] = tiles["block_m"] // (2 * form.m)  # for each of two warpgroups
    return _cached_rung(form, result=result, b_by_rows=int(by_rows), **tiles)


#: Tiles of wgmma.sp.
_SHAPES = (
    TileShape(256, 256, 3, 50.6),
    TileShape(256, 192, 4, 41.8),
    TileShape(128, 256, 4, 29.9),
    TileShape(128, 128, 6, 19.4),
)
_MAX_TILE = 256 * 192  # elements of D whose 32-bit accumulators fit into the registers of two warpgroups


#: Products of the same size use the same kernel again.
_cached_rung = lru_cache(maxsize=64)(sparse_rung)


def _warpgroup_form(form: Instruction) -> Instruction | None:
    """The wgmma.sp that gives the same bits on sm_90a, if there is one."""
    chip = chip_of_target("sm_90a")
    types = f"{form.d_type}.{form.a_type}.{form.b_type}"
    try:
        wide = parse_mma(f"wgmma.mma_async.sp.sync.aligned.m64n256k{form.k}.{types}")
    except PtxlabError:
        return None
    if chip is None or form.satfinite or not (has(form, chip) and has(wide, chip)):
        return None
    return wide if model_for(form, chip).rule == model_for(wide, chip).rule else None
