"""One rung with one instruction: the kernel, how it is launched, and a product of matrices through it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.arguments import as_array, as_int
from ...errors import PtxlabError, listing, quoted
from ...isa.dtypes import dtype
from ...isa.mma import MmaForm
from ...isa.operand import Operand
from ...isa.parse import parse_mma
from ...memory import tensor_map
from ..kernel import Kernel, kernel
from ..simulator import Result
from .catalog import LADDER, Row
from .source import RESULTS, compose

__all__ = ["Call", "Rung", "ladder", "rung"]

_ROW = 128  # bytes along K of a row in one stage of the wgmma kernels
_STORE = 64 * 128  # bytes of D that one TMA store of a warpgroup takes
_WARPGROUP = 128
_STEP = 32  # bytes along K that one instruction takes of a row
_CHUNK = 16  # bytes: rows of A and columns of B begin at multiples of it
_MOST_SHARED = 227 << 10  # bytes of a block on sm_90
_H200_PROCESSORS = 132

_DEFAULTS = {
    "mma": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
}


@dataclass(frozen=True)
class Call:
    """A launch of a rung: what `kernel.simulate` and `kernel.launch` take, and D, which it writes."""

    grid: int
    block: int
    shared: int
    arguments: tuple[Any, ...]
    padded: NDArray[Any]  # D with columns up to the next multiple of 16 bytes
    columns: int

    @property
    def D(self) -> NDArray[Any]:
        """The product, once the kernel has run."""
        return self.padded[:, : self.columns]


@dataclass(frozen=True)
class Rung:
    """A row of the ladder with an instruction; `rung` makes one.

    >>> r = rung(8)
    >>> r.form.shape, r.threads, r.shared
    ('m64n256k16', 384, 229440)
    """

    row: Row
    form: MmaForm
    constants: dict[str, int]
    result: str

    @property
    def number(self) -> int:
        return self.row.number

    @cached_property
    def source(self) -> str:
        """The whole CUDA C++, headers included."""
        return compose(self.row.file, self.form, self.constants, self.result)

    @cached_property
    def kernel(self) -> Kernel[Result]:
        """The kernel, as `ptxlab.kernel` makes it."""
        return kernel(self.source, "gemm", self.row.targets[0])

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
            size += 2 * _STORE * (self.threads // _WARPGROUP - 1)
        return size

    def grid(self, M: int, N: int, processors: int = _H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""
        tiles = -(-M // self.block_m) * -(-N // self.block_n)
        if not self.row.persistent:
            return tiles
        high = -(-M // (self.block_m * self.constants["CLUSTER_M"]))
        wide = -(-N // (self.block_n * self.constants["CLUSTER_N"]))
        return self.cluster * max(1, min(high * wide, processors // self.cluster))

    # -- a launch --------------------------------------------------------------------------------------------

    def call(
        self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = _H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], B [K, N], C [M, N], as values.

        >>> r = rung(8)
        >>> launch = r.call(np.ones((100, 80)), np.ones((80, 60)))
        >>> launch.grid, launch.D.shape
        (2, (100, 60))
        """
        left, right = _matrix("A", A), _matrix("B", B)
        (m, k), (rows, n) = left.shape, right.shape
        if rows != k:
            raise PtxlabError(f"A {m}x{k} and B {rows}x{n}: A needs as many columns as B has rows")
        if min(m, n, k) == 0:
            raise PtxlabError(f"A {m}x{k} and B {k}x{n}: an empty matrix leaves nothing to compute")
        a = _padded(_bytes(self.form.a, left))
        b = _padded(_bytes(self.form.b, right.T))
        start = None if C is None else self._start(C, m, n)
        result = dtype(self.result)
        columns = n
        if self.row.stores_with_tma:
            columns = -(-n * result.bits // (8 * _CHUNK)) * 8 * _CHUNK // result.bits
        d = np.zeros((m, columns), dtype=result.numpy_type or result.code_type)
        return Call(
            self.grid(m, n, processors), self.threads, self.shared, self._arguments(a, b, start, d, n), d, n
        )

    def _start(self, C: ArrayLike, m: int, n: int) -> NDArray[Any]:
        start = _matrix("C", C)
        if start.shape != (m, n):
            raise PtxlabError(f"C is {start.shape[0]}x{start.shape[1]}; the product is {m}x{n}")
        return np.ascontiguousarray(self.form.c.dtype.encode(start))

    def _arguments(
        self, a: NDArray[Any], b: NDArray[Any], start: NDArray[Any] | None, d: NDArray[Any], n: int
    ) -> tuple[Any, ...]:
        left: Any = a
        right: Any = b
        target: Any = d
        if self.row.tensor_maps:
            rows_a = self.block_m // self.constants.get("CLUSTER_N", 1)
            rows_b = self.block_n // self.constants.get("CLUSTER_M", 1)
            left = tensor_map(a, (rows_a, _ROW), swizzle=128, l2_promotion=256)
            right = tensor_map(b, (rows_b, _ROW), swizzle=128, l2_promotion=256)
        if self.row.stores_with_tma:
            target = tensor_map(d.view(np.uint8), (64, 128), swizzle=128)
        return left, right, 0 if start is None else start, target, len(d), n, a.shape[1]

    def simulate(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        processors: int = _H200_PROCESSORS,
        **options: Any,
    ) -> tuple[NDArray[Any], Result]:
        """D and what the simulator saw; options are those of `kernel.simulate`."""
        call = self.call(A, B, C, processors=processors)
        result = self.kernel.simulate(call.grid, call.block, *call.arguments, shared=call.shared, **options)
        return call.D, result

    def __call__(self, A: ArrayLike, B: ArrayLike, C: ArrayLike | None = None) -> NDArray[Any]:
        """D = A B + C on the GPU."""
        call = self.call(A, B, C)
        self.kernel.launch(call.grid, call.block, *call.arguments, shared=call.shared)
        return call.D


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
        ins = replace(ins, n=chosen["BLOCK_N"], a_space="shared")
    step = ins.k * ins.a.dtype.bits // 8
    if step != _STEP:
        raise PtxlabError(
            f"{ins.mnemonic} takes {step} bytes of a row; the ladder's kernels go along K in steps of {_STEP}"
        )
    if ins.d_type not in RESULTS or ins.c_type != ins.d_type:
        raise PtxlabError(f"{ins.mnemonic}: the ladder's kernels accumulate in {listing(RESULTS)}")
    if chosen.get("PROMOTE", 0) and ins.d_type != "f32":
        raise PtxlabError(f"promote: {ins.mnemonic} accumulates in {ins.d_type}; only f32 is promoted")
    made = Rung(row, ins, chosen, result or ins.d_type)
    if made.shared > _MOST_SHARED:
        raise PtxlabError(
            f"rung {row.number} with these constants takes {made.shared} bytes of shared memory; "
            f"a block has {_MOST_SHARED}"
        )
    return made


def _matrix(name: str, values: ArrayLike) -> NDArray[Any]:
    matrix = as_array(values, name)
    if matrix.ndim != 2:
        raise PtxlabError(f"{name}: found shape {matrix.shape}; it takes a matrix [rows, columns]")
    return matrix


def _bytes(operand: Operand, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Element codes, row by row, as bytes."""
    element = operand.dtype
    if element.bits < 8:
        raise PtxlabError(f"{operand.name}: elements of {element.bits} bits are not packed here")
    codes = np.ascontiguousarray(element.encode(values), dtype=element.code_type)
    return codes.view(np.uint8)


def _padded(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows with zeros up to the next multiple of 16 bytes."""
    more = -rows.shape[1] % _CHUNK
    return rows if more == 0 else np.pad(rows, ((0, 0), (0, more)))
