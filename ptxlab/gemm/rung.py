"""One rung with one instruction: the kernel, how it is launched, and a product of matrices through it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..gpu.arrays import GpuArrays, gpu_arrays
from ..gpu.device import check_device
from ..isa.dtypes import dtype
from ..isa.mma import MmaForm
from ..isa.parse import parse_mma
from ..memory import tensor_map
from .call import (
    CHUNK,
    H200_PROCESSORS,
    MOST_SHARED,
    STORE,
    Call,
    as_matrix,
    element_bytes,
    padded_rows,
    product_array,
    start_codes,
)
from .catalog import LADDER, Row
from .device import multiply_arrays, operand_map
from .device_operands import check_matrices, copy_from_gpu, copy_to_gpu
from .gemm_kernel import GemmKernel
from .source import RESULTS

_ROW = 128  # bytes along K of a row in one stage of the wgmma kernels
_WARPGROUP = 128
_STEP = 32  # bytes along K that one instruction takes of a row
_ROWS_OF_SWIZZLE = 8  # after which it repeats: boxes in shared memory begin there
_MAY_BE_ZERO = ("PROMOTE", "B_BY_ROWS")
_PIPELINED = (5, 6, 7)  # they load a stage while they multiply another

_DEFAULTS = {
    "mma": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
}


@dataclass(frozen=True, repr=False)
class Rung(GemmKernel):
    """A row of the ladder with an instruction; `rung` makes one.

    >>> r = rung(8)
    >>> r
    <rung 8, warp specialisation: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16, tiles of 128 x 256>
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
        """The target that it is compiled for, unless it is launched on another: sm_90a if it has the form."""
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
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.constants.get("CLUSTER_M", 1) * self.constants.get("CLUSTER_N", 1)

    @property
    def box_a(self) -> tuple[int, int]:
        """Rows and bytes of A that one TMA load takes: a block's part of what its cluster shares."""
        return self.block_m // self.constants.get("CLUSTER_N", 1), _ROW

    @property
    def box_b(self) -> tuple[int, int]:
        """The same of B, whose columns are rows in memory, unless it lies by rows."""
        if self.b_by_rows:
            return _ROW // 2, _ROW
        return self.block_n // self.constants.get("CLUSTER_M", 1), _ROW

    @property
    def box_d(self) -> tuple[int, int]:
        """Rows and bytes of D that one TMA store takes."""
        return self.form.m, _ROW

    @property
    def threads(self) -> int:
        """Threads of a block."""
        if self.row.family == "mma":
            return 32 * self.constants.get("WARPS_M", 1) * self.constants.get("WARPS_N", 1)
        multiplying = self.block_m // (self.constants.get("TILES_M", 1) * self.form.m)
        return _WARPGROUP * (multiplying + self.row.persistent)

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        stages = self.constants.get("STAGES", 1 if self.threads > 32 else 0)
        size = stages * (self.block_m + self.block_n) * _ROW
        if self.row.tensor_maps:
            size += 16 * stages  # two barriers each
        if self.row.stores_with_tma:
            size += 2 * STORE * (self.threads // _WARPGROUP - 1)
        return size

    def grid(self, M: int, N: int, processors: int = H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""
        tiles = -(-M // self.block_m) * -(-N // self.block_n)
        if not self.row.persistent:
            return tiles
        high = -(-M // (self.block_m * self.constants["CLUSTER_M"]))
        wide = -(-N // (self.block_n * self.constants["CLUSTER_N"]))
        return self.cluster * max(1, min(high * wide, processors // self.cluster))

    # -- a launch --------------------------------------------------------------------------------------------

    def call(
        self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], B [K, N], C [M, N], as values.

        >>> r = rung(8)
        >>> launch = r.call(np.ones((100, 80)), np.ones((80, 60)))
        >>> launch.grid, launch.D.shape
        (2, (100, 60))
        """
        if as_int(processors, "processors") < self.cluster:
            raise PtxlabError(f"processors={quoted(processors)}: a cluster takes {self.cluster}")
        left, right = as_matrix(A, "A"), as_matrix(B, "B")
        (m, k), (rows, n) = left.shape, right.shape
        if rows != k:
            raise PtxlabError(f"A {m}x{k} and B {rows}x{n}: A needs as many columns as B has rows")
        if min(m, n, k) == 0:
            raise PtxlabError(f"A {m}x{k} and B {k}x{n}: an empty matrix leaves nothing to compute")
        a = padded_rows(element_bytes(self.form.a, left))
        b = padded_rows(element_bytes(self.form.b, right if self.b_by_rows else right.T))
        d = product_array(self.result, m, n, by_tma=self.row.stores_with_tma)
        start = start_codes(self.form, C, m, n)
        return Call(
            self.grid(m, n, processors), self.threads, self.shared, self._arguments(a, b, start, d, n), d, n
        )

    def _arguments(
        self, a: NDArray[Any], b: NDArray[Any], start: NDArray[Any] | int, d: NDArray[Any], n: int
    ) -> tuple[Any, ...]:
        left: Any = a
        right: Any = b
        target: Any = d
        if self.row.tensor_maps:
            tf32 = self.form.a_type == "tf32"
            left = operand_map(a, self.box_a, tf32=tf32)
            right = operand_map(b, self.box_b, tf32=tf32)
        if self.row.stores_with_tma:
            target = tensor_map(d.view(np.uint8), self.box_d, swizzle=128)
        return left, right, start, target, len(d), n, a.shape[1]

    def __call__(
        self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, stream: object = None
    ) -> Any:
        """D = A B + C on the GPU.

        NumPy arrays are copied there and back. Matrices that are there already (CuPy's, torch's) have the
        instruction's element types; D is of the same library, and nothing waits.
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
        if min(m, n, k) == 0:
            raise PtxlabError(f"A {m}x{k} and B {k}x{n}: an empty matrix leaves nothing to compute")
        d = arrays.empty((m, n), np.dtype(dtype(self.result).numpy_type).name)
        multiply_arrays(self, arrays, d)
        return d.owner


def ladder() -> tuple[Row, ...]:
    """Every rung, from the simplest kernel to the fastest."""
    return LADDER


def rung(
    number: int, form: MmaForm | str | None = None, *, result: str | None = None, **constants: int
) -> Rung:
    """A rung with an instruction (f16 if left out); `constants` replace those of its row.

    `result` is the type in which D is stored: the accumulators' own, or f16 or bf16, to which f32 is rounded.

    >>> rung(8, "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8", stages=3, block_n=128).form.mnemonic
    'wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8'
    """
    rows = {row.number: row for row in LADDER}
    row = rows.get(as_int(number, "number"))
    if row is None:
        raise PtxlabError(f"number={quoted(number)}: the ladder has rungs {listing(rows)}")
    ins = parse_mma(_DEFAULTS[row.family] if form is None else form)
    if ins.family != row.family:
        raise PtxlabError(f"rung {row.number} is a kernel of {row.family}, found {ins.mnemonic}")
    chosen = dict(row.constants)
    for name, value in constants.items():
        if name.upper() not in chosen:
            names = listing(known.lower() for known in chosen)
            raise PtxlabError(f"rung {row.number} has no constant {quoted(name)}; there are {names}")
        chosen[name.upper()] = as_int(value, name)
    if row.family == "wgmma":
        ins = replace(_of_width(ins, chosen["BLOCK_N"]), a_space="shared")
    step = ins.k * ins.a.dtype.bits // 8
    if step != _STEP:
        raise PtxlabError(
            f"{ins.mnemonic} takes {step} bytes of a row; the ladder's kernels go along K in steps of {_STEP}"
        )
    if ins.d_type not in RESULTS or ins.c_type != ins.d_type:
        raise PtxlabError(f"{ins.mnemonic}: the ladder's kernels accumulate in {listing(RESULTS)}")
    if chosen.get("PROMOTE", 0) and ins.d_type != "f32":
        raise PtxlabError(f"promote: {ins.mnemonic} accumulates in {ins.d_type}; only f32 is promoted")
    if result is not None and not is_name(result, RESULTS[ins.d_type]):
        stored = listing(RESULTS[ins.d_type])
        raise PtxlabError(f"result={quoted(result)}: accumulators of {ins.d_type} are stored as {stored}")
    _check_constants(row, chosen, ins, result or ins.d_type)
    made = Rung(row, ins, chosen, result or ins.d_type)
    if made.shared > MOST_SHARED:
        raise PtxlabError(
            f"rung {row.number} with these constants takes {made.shared} bytes of shared memory; "
            f"a block has {MOST_SHARED}"
        )
    return made


def _of_width(ins: MmaForm, n: int) -> MmaForm:
    """The same wgmma with another N."""
    return parse_mma(ins.mnemonic.replace(f"m{ins.m}n{ins.n}k", f"m{ins.m}n{n}k"))


def _check_constants(row: Row, constants: Mapping[str, int], ins: MmaForm, result: str) -> None:
    """Refuse tiles that the kernel cannot divide among its warps, boxes and stores."""
    small = [name.lower() for name, value in constants.items() if value < (name not in _MAY_BE_ZERO)]
    if small:
        raise PtxlabError(f"rung {row.number}: {listing(small)} must be at least 1")
    units: dict[str, tuple[int, str]] = {}
    if row.family == "mma":
        units["BLOCK_M"] = (ins.m * constants.get("WARPS_M", 1), "the rows that its warps multiply at a time")
        pair = 1 if row.number == 1 else 2
        units["BLOCK_N"] = (pair * ins.n * constants.get("WARPS_N", 1), "the columns that its warps fetch")
    else:
        units["BLOCK_M"] = (ins.m * constants.get("TILES_M", 1), "the rows of a warpgroup")
    if row.stores_with_tma:
        shared = _ROWS_OF_SWIZZLE * constants["CLUSTER_M"]
        stored = 8 * _ROW // dtype(result).bits
        if constants["B_BY_ROWS"]:
            if ins.a.dtype.bits != 16:
                raise PtxlabError(f"b_by_rows: wgmma transposes 16-bit types only, not {ins.a_type}")
            shared = 64 * constants["CLUSTER_M"]
        units["BLOCK_N"] = (math.lcm(shared, stored), "what clusters share and TMA stores")
    if "WARPS_M" in constants:
        copied = (
            32 * constants["WARPS_M"] * constants["WARPS_N"] * CHUNK // _ROW
        )  # rows, a chunk for each thread
        units = {name: (math.lcm(unit, copied), why) for name, (unit, why) in units.items()}
    for name, (unit, why) in units.items():
        if constants[name] % unit:
            raise PtxlabError(
                f"rung {row.number}: {name.lower()}={constants[name]}; it takes multiples of {unit}, {why}"
            )
    if row.number in _PIPELINED and constants["STAGES"] < 2:
        raise PtxlabError(f"rung {row.number}: stages={constants['STAGES']}; a pipeline has at least 2")
