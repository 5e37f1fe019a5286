"""The ladder of GEMM kernels: rungs with an instruction, their launch, and the fastest one for a product."""

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
from ..gpu.arrays import GpuArray, GpuArrays, gpu_arrays
from ..gpu.device import check_device
from ..isa.dtypes import dtype
from ..isa.mma import Instruction
from ..isa.parse import parse_mma
from ..isa.targets import check_target, chip_of_target
from ..memory import tensor_map
from ..numerics import has, model_for
from ..numerics.rules import Exact
from .gemm_kernel import (
    CHUNK,
    H200_PROCESSORS,
    STORE,
    WARPGROUP,
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
from .packed_matrices import (
    address_bytes,
    check_matrices,
    copy_from_gpu,
    copy_to_gpu,
    map_bytes,
    operand_map,
    packed_rows,
)
from .source import RESULTS

_ROW = 128  # bytes along K of a row in one stage of the wgmma kernels
_STEP = 32  # bytes of a row along K in one instruction
_SIZE_LIMIT = 1 << 31
_ROWS_OF_SWIZZLE = 8  # after which the swizzle repeats: boxes in shared memory begin there
_PIPELINED = (5, 6, 7, 8)  # rungs that load a stage while they multiply another

_DEFAULTS = {
    "mma": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
}


_TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "WARPS_M": 2, "WARPS_N": 2}
_WIDE = {"BLOCK_M": 128, "BLOCK_N": 128, "STAGES": 3}

#: Rungs 9 to 12 are one source with different constants; BLOCKS is the number of blocks per SM.
_SPECIALISED = "09_warp_specialised.cu"
_RUNG_9 = {
    "BLOCK_M": 128, "BLOCK_N": 256, "TILES_M": 1, "STAGES": 4, "BLOCKS": 1, "PERSISTENT": 0, "TMA_STORES": 0,
    "CLUSTER_M": 1, "CLUSTER_N": 1, "GROUP": 1, "PROMOTE": 0, "B_BY_ROWS": 0, "PRODUCER_REGISTERS": 40,
    "CONSUMER_REGISTERS": 232,
}  # fmt: skip
_RUNG_10 = _RUNG_9 | {"PERSISTENT": 1, "TMA_STORES": 1}
_RUNG_11 = _RUNG_10 | {"CLUSTER_M": 2}
_RUNG_12 = _RUNG_11 | {"GROUP": 8}

#: Every rung adds one idea to the one before.
LADDER: tuple[Row, ...] = (
    Row(1, "one warp", "one warp computes one tile of D, every lane fetches its words from global memory",
        "01_one_warp.cu", "mma", MappingProxyType({"BLOCK_M": 16, "BLOCK_N": 8})),
    Row(2, "shared memory",
        "a block copies tiles of A and B to shared memory once, and all of its warps read them there",
        "02_shared_memory.cu", "mma", MappingProxyType(_TILES)),
    Row(3, "ldmatrix and swizzle",
        "ldmatrix fetches whole fragments, and a swizzle keeps their rows in different banks",
        "03_ldmatrix_swizzle.cu", "mma", MappingProxyType(_TILES)),
    Row(4, "warp tiles",
        "warps compute 64 x 64 in registers and fetch the next fragments while they multiply",
        "04_warp_tiles.cu", "mma", MappingProxyType(_TILES | {"BLOCK_M": 128, "BLOCK_N": 128})),
    Row(5, "cp.async", "cp.async copies the tiles of later steps while this one is multiplied",
        "05_cp_async.cu", "mma", MappingProxyType(_TILES | _WIDE)),
    Row(6, "wgmma", "four warps together multiply tiles straight from shared memory",
        "06_wgmma.cu", "wgmma", MappingProxyType(_WIDE)),
    Row(7, "TMA",
        "TMA copies a whole tile at the request of one thread, and an mbarrier signals its arrival",
        "07_tma.cu", "wgmma", MappingProxyType(_WIDE), tensor_maps=True),
    Row(8, "tiles of 128 x 256", "each byte that was loaded is used more often: L2 is read a quarter less",
        "07_tma.cu", "wgmma", MappingProxyType(_WIDE | {"BLOCK_N": 256, "STAGES": 4}), tensor_maps=True),
    Row(9, "specialised warps",
        "every warp has one job: a producer only loads, and gives its registers to those that multiply",
        _SPECIALISED, "wgmma", MappingProxyType(_RUNG_9), tensor_maps=True),
    Row(10, "persistent blocks",
        "as many blocks as SMs compute tile after tile: the next is loaded while TMA stores the last",
        _SPECIALISED, "wgmma", MappingProxyType(_RUNG_10), tensor_maps=True),
    Row(11, "clusters",
        "two blocks that need the same tile of B load half of it each, and multicast delivers both halves",
        _SPECIALISED, "wgmma", MappingProxyType(_RUNG_11), tensor_maps=True),
    Row(12, "tile order", "tiles computed at the same time share their rows of A and columns of B in L2",
        _SPECIALISED, "wgmma", MappingProxyType(_RUNG_12), tensor_maps=True),
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Rung(GemmKernel):
    """A row of the ladder with an instruction; `rung` makes one.

    >>> r = rung(12)
    >>> r
    <rung 12, tile order: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16, tiles of 128 x 256>
    >>> r.form.shape, r.threads, r.shared
    ('m64n256k16', 384, 229440)
    """

    def __repr__(self) -> str:
        tiles = f"tiles of {self.block_m} x {self.block_n}"
        return f"<rung {self.number}, {self.row.title}: {self.form.mnemonic}, {tiles}>"

    @property
    def number(self) -> int:
        """Its place on the ladder, from 1."""
        return self.row.number

    @property
    def target(self) -> str:
        """The target that it is compiled for, unless it is launched on another: sm_90a if the form has it."""
        return "sm_90a" if self.form.supports("sm_90a") else self.form.targets[-1]

    @property
    def block_m(self) -> int:
        """Rows of the tile of D that a block computes."""
        return self.constants["BLOCK_M"]

    @property
    def block_n(self) -> int:
        """Columns of the tile of D that a block computes."""
        return self.constants["BLOCK_N"]

    @property
    def stores_with_tma(self) -> bool:
        """Whether TMA stores D, whose rows then begin at multiples of 16 bytes."""
        return bool(self.constants.get("TMA_STORES", 0))

    @property
    def box_a(self) -> tuple[int, int]:
        """Rows and bytes of A in one TMA load: a block's part of what its cluster shares."""
        return self.block_m // self.constants.get("CLUSTER_N", 1), _ROW

    @property
    def box_b(self) -> tuple[int, int]:
        """The same for B, whose columns are rows in memory, unless B is stored by rows."""
        if self.b_by_rows:
            return _ROW // 2, _ROW
        return self.block_n // self.constants.get("CLUSTER_M", 1), _ROW

    @property
    def box_d(self) -> tuple[int, int]:
        """Rows and bytes of D in one TMA store."""
        return self.form.m, _ROW

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        stages = self.constants.get("STAGES", 1 if self.threads > 32 else 0)
        size = stages * (self.block_m + self.block_n) * _ROW
        if self.row.tensor_maps:
            size += 16 * stages  # two barriers each
        if self.stores_with_tma:
            size += 2 * STORE * (self.threads // WARPGROUP - 1)
        return size

    def grid(self, M: int, N: int, processors: int = H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""
        M, N, processors = as_int(M, "M"), as_int(N, "N"), as_int(processors, "processors")
        if min(M, N, processors) < 1:
            raise PtxlabError(
                f"M={quoted(M)}, N={quoted(N)}, processors={quoted(processors)}: each is at least 1"
            )
        cluster_rows = -(-M // (self.block_m * self.constants.get("CLUSTER_M", 1)))
        cluster_columns = -(-N // (self.block_n * self.constants.get("CLUSTER_N", 1)))
        clusters = cluster_rows * cluster_columns
        if self.constants.get("PERSISTENT", 0):
            resident = processors * self.constants["BLOCKS"] // self.cluster
            clusters = max(1, min(clusters, resident))
        return self.cluster * clusters

    # -- a launch --------------------------------------------------------------------------------------------

    def call(
        self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], B [K, N], C [M, N], as values.

        >>> r = rung(12)
        >>> launch = r.call(np.ones((100, 80)), np.ones((80, 60)))
        >>> launch.grid, launch.D.shape
        (2, (100, 60))
        """
        self.check_processors(processors)
        left, right = as_matrix(A, "A"), as_matrix(B, "B")
        (m, k), (rows, n) = left.shape, right.shape
        if rows != k:
            raise PtxlabError(f"A {m}x{k} and B {rows}x{n}: A needs as many columns as B has rows")
        check_not_empty(m, n, k)
        a = stored_rows(self.form.a, left)
        b = stored_rows(self.form.b, right if self.b_by_rows else right.T)
        d = product_array(self.result, m, n, by_tma=self.stores_with_tma)
        arguments: list[Any] = [a, b, start_codes(self.form, C, m, n), d, m, n, a.shape[1]]
        if self.row.tensor_maps:
            tf32 = self.form.a_type == "tf32"
            arguments[0] = operand_map(a, self.box_a, tf32=tf32)
            arguments[1] = operand_map(b, self.box_b, tf32=tf32)
        if self.stores_with_tma:
            arguments[3] = tensor_map(d.view(np.uint8), self.box_d, swizzle=128)
        return Call(self.grid(m, n, processors), self.threads, self.shared, tuple(arguments), d, n)

    def __call__(
        self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, stream: object = None
    ) -> Any:
        """D = A B + C on the GPU.

        NumPy arrays are copied there and back. Matrices that are there already (CuPy's, torch's) have the
        instruction's element types; D is of the same library, and the call does not wait.
        """
        arrays = gpu_arrays({"A": A, "B": B, "C": C}, stream)
        if arrays is not None:
            with arrays:
                return self._multiply(arrays)
        check_device(self.form)
        codes = {
            "A": self.form.a.dtype.encode(as_matrix(A, "A")),
            "B": self.form.b.dtype.encode(as_matrix(B, "B")),
        }
        if C is not None:
            codes["C"] = self.form.c.dtype.encode(as_matrix(C, "C"))
        with copy_to_gpu(self.form, codes) as arrays:
            result = dtype(self.result)
            return copy_from_gpu(self._multiply(arrays), result.numpy_type or result.code_type)

    def _multiply(self, arrays: GpuArrays) -> object:
        m, n, k = check_matrices(self.form, arrays)
        check_not_empty(m, n, k)
        d = arrays.empty((m, n), np.dtype(dtype(self.result).numpy_type).name)
        self.multiply(arrays, d)
        return d.owner

    def multiply(self, call: GpuArrays, d: GpuArray) -> None:
        """Queue D = A B + C for the arrays A, B and perhaps C of a call; D is contiguous.

        Rows that the kernel can read in place are not copied.
        """
        a, b = call.arrays["A"], call.arrays["B"]
        (m, _), n = a.shape, b.shape[1]
        maps = self.row.tensor_maps
        left = packed_rows(call, self.form.a, a.pointer, a.shape, a.strides, gaps=maps, rounded=maps)
        order = slice(None) if self.b_by_rows else slice(None, None, -1)
        b_shape, b_strides = b.shape[order], b.strides[order]
        right = packed_rows(call, self.form.b, b.pointer, b_shape, b_strides, gaps=maps, rounded=maps)
        if max(m, n, left.length) >= _SIZE_LIMIT:
            raise PtxlabError(
                f"A {m}x{a.shape[1]} and B {b.shape[0]}x{n}: the kernels count rows, columns and bytes of a "
                "row below 2^31"
            )
        stored = self.rows_of_product(call, d)
        c = call.arrays.get("C")
        start = 0 if c is None else call.contiguous(c).pointer
        arguments: list[np.generic | bytes] = [
            *(address_bytes(pointer) for pointer in (left.pointer, right.pointer, start, stored.pointer)),
            *(np.int32(size) for size in (m, n, left.length)),
        ]
        if maps:
            tf32 = self.form.a_type == "tf32"
            arguments[0] = map_bytes(left, self.box_a, tf32=tf32)
            arguments[1] = map_bytes(right, self.box_b, tf32=tf32)
        if self.stores_with_tma:
            arguments[3] = map_bytes(stored, self.box_d)
        self.queue(call, arguments, stored, d)


def ladder() -> tuple[Row, ...]:
    """Every rung, from the simplest kernel to the fastest."""
    return LADDER


def rung(
    number: int, form: Instruction | str | None = None, *, result: str | None = None, **constants: int
) -> Rung:
    """A rung with an instruction (f16 if left out); `constants` replace those of its row.

    `result` is the type in which D is stored: the accumulators' own, or f16 or bf16, to which f32 is rounded.

    >>> rung(12, "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8", stages=3, block_n=128).form.mnemonic
    'wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8'
    """
    rows = {row.number: row for row in LADDER}
    row = rows.get(as_int(number, "number"))
    if row is None:
        raise PtxlabError(f"number={quoted(number)}: the ladder has rungs {listing(rows)}")
    ins = parse_mma(_DEFAULTS[row.family] if form is None else form)
    if ins.family != row.family:
        raise PtxlabError(f"rung {row.number} is a kernel of {row.family}, found {ins.mnemonic}")
    name = f"rung {row.number}"
    chosen = row.with_constants(name, constants)
    if row.family == "wgmma":
        wide = ins.mnemonic.replace(f"m{ins.m}n{ins.n}k", f"m{ins.m}n{chosen['BLOCK_N']}k")
        ins = replace(parse_mma(wide), a_space="shared")
    step = ins.k * ins.a.dtype.bits // 8
    if step != _STEP:
        raise PtxlabError(
            f"{ins.mnemonic} takes {step} bytes of a row; the ladder's kernels go along K in steps of {_STEP}"
        )
    if ins.d_type not in RESULTS or ins.c_type != ins.d_type:
        raise PtxlabError(f"{ins.mnemonic}: the ladder's kernels accumulate in {listing(RESULTS)}")
    if chosen.get("PROMOTE", 0) and ins.d_type != "f32":
        raise PtxlabError(f"promote: {ins.mnemonic} accumulates in {ins.d_type}; only f32 is promoted")
    made = Rung(row, ins, chosen, ins.d_type if result is None else result)
    made.check(name)
    _check_tiles(made)
    made.check_shared(name)
    return made


def _check_tiles(made: Rung) -> None:
    """Refuse tiles that the kernel cannot divide among its warps, boxes and stores."""
    row, constants, ins = made.row, made.constants, made.form
    units: dict[str, tuple[int, str]] = {}
    if row.family == "mma":
        units["BLOCK_M"] = (ins.m * constants.get("WARPS_M", 1), "the rows that its warps multiply at a time")
        pair = 1 if row.number == 1 else 2
        units["BLOCK_N"] = (pair * ins.n * constants.get("WARPS_N", 1), "the columns that its warps fetch")
    else:
        units["BLOCK_M"] = (ins.m * constants.get("TILES_M", 1), "the rows of a warpgroup")
    if made.specialised:
        shared = _ROWS_OF_SWIZZLE * constants["CLUSTER_M"]
        stored = 8 * _ROW // dtype(made.result).bits if made.stores_with_tma else 1
        if constants["B_BY_ROWS"]:
            if ins.a.dtype.bits != 16:
                raise PtxlabError(f"b_by_rows: wgmma transposes 16-bit types only, not {ins.a_type}")
            shared = 64 * constants["CLUSTER_M"]
        units["BLOCK_N"] = (math.lcm(shared, stored), "what clusters share and TMA stores")
    if "WARPS_M" in constants:
        threads = 32 * constants["WARPS_M"] * constants["WARPS_N"]
        copied_rows = threads * CHUNK // _ROW  # at a time, a chunk by each thread
        units = {name: (math.lcm(unit, copied_rows), why) for name, (unit, why) in units.items()}
    for name, (unit, why) in units.items():
        if constants[name] % unit:
            raise PtxlabError(
                f"rung {row.number}: {name.lower()}={constants[name]}; it takes multiples of {unit}, {why}"
            )
    if row.number in _PIPELINED and constants["STAGES"] < 2:
        raise PtxlabError(f"rung {row.number}: stages={constants['STAGES']}; a pipeline has at least 2")


# -- the fastest rung for a product --------------------------------------------------------------------------


#: Tiles of rung 12.
_SHAPES = (TileShape(128, 256, 4, 2.0), TileShape(128, 128, 6, 1.12))


def same_arithmetic(one: Instruction, other: Instruction, chip: str) -> bool:
    """Whether products over K in ascending steps give the same bits with both instructions on a chip.

    >>> f16 = parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> wide = parse_mma("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    >>> same_arithmetic(f16, wide, "sm_90")
    True
    >>> fp8 = parse_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    >>> same_arithmetic(fp8, parse_mma("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"), "sm_90")
    False
    """
    if not (has(one, chip) and has(other, chip)):
        return False
    types = [(form.a_type, form.b_type, form.c_type, form.d_type) for form in (one, other)]
    plain = not any(form.satfinite or form.sparse or form.scale_vec or form.bit_op for form in (one, other))
    if types[0] != types[1] or not plain:
        return False
    rules = [model_for(form, chip).rule for form in (one, other)]
    return rules[0] == rules[1] and (one.k == other.k or isinstance(rules[0], Exact))


def best_rung(ins: Instruction | str, target: str, M: int, N: int, *, b_by_rows: bool = False) -> Rung | None:
    """The rung for a product of this size with the bits of `ins`; None if no rung gives them.

    `b_by_rows` means that B is stored as [K, N], which rung 12 reads in place for 16-bit types; other kernels
    get a copy of B's columns. On sm_90a it is rung 12, if wgmma has the same arithmetic; elsewhere, and for
    FP8 with `mma`, it is rung 5 with `ins` itself.

    >>> best_rung("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90a", 8192, 8192).number
    12
    >>> best_rung("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90a", 8192, 8192).number
    5
    """
    form, target = parse_mma(ins), check_target(target)
    rows, columns = as_int(M, "M"), as_int(N, "N")
    by_rows = as_flag(b_by_rows, "b_by_rows") and form.b.dtype.bits == 16
    if min(rows, columns) < 1:
        raise PtxlabError(f"M={quoted(M)}, N={quoted(N)}: both are at least 1")
    if form.sparse or form.scale_vec or form.d_type not in RESULTS:
        return None
    if target == "sm_90a":
        wide = _warpgroup_form(form)
        if wide is not None:
            return _rung(12, wide, b_by_rows=int(by_rows), **fastest_shape(_SHAPES, rows, columns))
    if form.family == "mma" and form.shape.startswith("m16n8") and form.supports(target):
        return _rung(5, form) if form.k * form.a.dtype.bits == 8 * _STEP else None
    return None


@lru_cache(maxsize=256)
def _warpgroup_form(form: Instruction) -> Instruction | None:
    """The wgmma of the same arithmetic."""
    k = 8 * _STEP // form.a.dtype.bits
    types = f"{form.d_type}.{form.a_type}.{form.b_type}"
    try:
        wide = parse_mma(f"wgmma.mma_async.sync.aligned.m64n256k{k}.{types}")
    except PtxlabError:
        return None
    chip = chip_of_target("sm_90a")
    return wide if chip is not None and same_arithmetic(form, wide, chip) else None


#: Products of the same size use the same rung again.
_rung = lru_cache(maxsize=256)(rung)
