"""What dense and sparse GEMM kernels share: the row of a table, the source, a launch on NumPy matrices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..gpu.arrays import GpuArray, GpuArrays
from ..gpu.compiler import compile_kernel
from ..gpu.device import device_target, processors
from ..isa.chips import MAX_SHARED
from ..isa.dtypes import dtype
from ..isa.mma import Instruction
from ..isa.operand import MatrixOperand
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from .packed_matrices import Rows, pack
from .source import RESULTS, compose

CHUNK = 16  # bytes: rows of A and columns of B begin at multiples of it
STORE = 64 * 128  # bytes of D in one TMA store of a warpgroup
H200_PROCESSORS = 132
WARPGROUP = 128  # threads
_MAY_BE_ZERO = ("PROMOTE", "B_BY_ROWS", "PERSISTENT", "TMA_STORES")


@dataclass(frozen=True)
class Row:
    """One kernel: its idea, its file, the family of its instruction, and the constants it is compiled with.

    `constants` are defaults; `rung` takes others under the same names in lower case. Rows of A and columns of
    B begin at multiples of 16 bytes; with TMA stores, so do rows of D.
    """

    number: int
    title: str
    idea: str
    file: str
    family: str  # of the instruction
    constants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    tensor_maps: bool = False  # A and B are passed as TMA's descriptors

    def __str__(self) -> str:
        return f"{self.number} {self.title}: {self.idea}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The oldest target that runs it."""
        return ("sm_90a",) if self.family.startswith("wgmma") else ("sm_80",)

    def with_constants(self, name: str, changes: Mapping[str, int]) -> dict[str, int]:
        """Its constants with changes; messages call the kernel `name`."""
        constants = dict(self.constants)
        for constant, value in changes.items():
            if constant.upper() not in constants:
                names = listing(known_name.lower() for known_name in constants)
                raise PtxlabError(f"{name} has no constant {quoted(constant)}; there are {names}")
            constants[constant.upper()] = as_int(value, constant)
        return constants


@dataclass(frozen=True)
class Call:
    """A launch of a rung: the arguments of `kernel.simulate` and `kernel.launch`, and D, which it writes."""

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

    def simulate(self, kernel: Kernel, **options: Any) -> Result:
        """Simulate the launch; options are those of `kernel.simulate`."""
        return kernel.simulate(self.grid, self.block, *self.arguments, shared=self.shared, **options)


@dataclass(frozen=True)
class GemmKernel(ABC):
    """A row of the table of kernels with an instruction, constants, and the type in which D is stored."""

    row: Row
    form: Instruction
    constants: dict[str, int]
    result: str

    @property
    @abstractmethod
    def target(self) -> str:
        """The target that it is compiled for, unless it is launched on another."""

    @property
    @abstractmethod
    def stores_with_tma(self) -> bool:
        """Whether TMA stores D, whose rows then begin at multiples of 16 bytes."""

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return math.prod(self.constants.get(name, 1) for name in ("CLUSTER", "CLUSTER_M", "CLUSTER_N"))

    @property
    def specialised(self) -> bool:
        """Whether a warpgroup of its blocks only loads."""
        return "PRODUCER_REGISTERS" in self.constants

    @property
    def threads(self) -> int:
        """Threads of a block."""
        if self.row.family.startswith("mma"):
            return 32 * self.constants.get("WARPS_M", 1) * self.constants.get("WARPS_N", 1)
        multiplying = self.constants["BLOCK_M"] // (self.constants.get("TILES_M", 1) * self.form.m)
        return WARPGROUP * (multiplying + self.specialised)

    @property
    @abstractmethod
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""

    @abstractmethod
    def grid(self, M: int, N: int, processors: int = H200_PROCESSORS) -> int:
        """Blocks for a product of this size; `processors` is how many persistent blocks run at once."""

    @abstractmethod
    def call(
        self, A: Any, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], B [K, N], C [M, N], as values."""

    @cached_property
    def source(self) -> str:
        """The whole CUDA C++, headers included."""
        return compose(self.row.file, self.form, self.constants, self.result)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, as `ptxlab.kernel` makes it."""
        return build_kernel(self.source, "gemm", self.target)

    @cached_property
    def code(self) -> bytes:
        """Its machine code for the GPU of this machine."""
        return compile_kernel(self.source, device_target(), (), "gemm")[0]

    @property
    def b_by_rows(self) -> bool:
        """Whether it reads a B whose rows are contiguous, [K, N], not its columns."""
        return bool(self.constants.get("B_BY_ROWS", 0))

    def simulate(
        self,
        A: Any,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        processors: int = H200_PROCESSORS,
        **options: Any,
    ) -> tuple[NDArray[Any], Result]:
        """D and the simulation's result; options are those of `kernel.simulate`."""
        call = self.call(A, B, C, processors=processors)
        return call.D, call.simulate(self.kernel, **options)

    def rows_of_product(self, call: GpuArrays, d: GpuArray) -> Rows:
        """Where a launch stores a contiguous D: in place, or in padded rows that TMA can store."""
        m, n = d.shape
        pitch = n * d.itemsize
        if not self.stores_with_tma or pitch % CHUNK == 0:
            return Rows(d.pointer, m, pitch, pitch)
        pitch = -(-pitch // CHUNK) * CHUNK
        return Rows(call.scratch(m * pitch), m, pitch, pitch)

    def queue(self, call: GpuArrays, arguments: Sequence[Any], stored: Rows, d: GpuArray) -> None:
        """Queue a launch on the GPU, and the copy to D if the product is stored elsewhere."""
        m, n = d.shape
        grid = self.grid(m, n, processors())
        call.launch(self.code, "gemm", arguments, grid=grid, block=self.threads, shared=self.shared)
        if stored.pointer != d.pointer:
            pack(call, d.itemsize, stored.pointer, (m, n), (stored.pitch, d.itemsize), d.pointer, n)

    def check(self, name: str) -> None:
        """Refuse a type of D or constants that no kernel takes; messages call it `name`."""
        if not is_name(self.result, RESULTS[self.form.d_type]):
            stored = listing(RESULTS[self.form.d_type])
            raise PtxlabError(
                f"result={quoted(self.result)}: accumulators of {self.form.d_type} are stored as {stored}"
            )
        small = [key.lower() for key, value in self.constants.items() if value < (key not in _MAY_BE_ZERO)]
        if small:
            raise PtxlabError(f"{name}: {listing(small)} must be at least 1")

    def check_shared(self, name: str) -> None:
        """Refuse a kernel that takes more shared memory than a block has."""
        if self.shared > MAX_SHARED:
            raise PtxlabError(
                f"{name} with these constants takes {self.shared} bytes of shared memory; a block has "
                f"{MAX_SHARED}"
            )

    def check_processors(self, processors: int) -> None:
        """Refuse fewer SMs than a cluster takes."""
        if as_int(processors, "processors") < self.cluster:
            raise PtxlabError(f"processors={quoted(processors)}: a cluster takes {self.cluster}")


class TileShape(NamedTuple):
    """Tiles of a kernel with clusters of two, and the time of a tile relative to other shapes."""

    block_m: int
    block_n: int
    stages: int
    time: float


def fastest_shape(shapes: Sequence[TileShape], M: int, N: int) -> dict[str, int]:
    """The constants of the shape in which a product of this size takes the least time on an H200."""

    def time(shape: TileShape) -> float:
        clusters = -(-M // (2 * shape.block_m)) * -(-N // shape.block_n)
        return -(-clusters // (H200_PROCESSORS // 2)) * shape.time

    constants = min(shapes, key=time)._asdict()
    del constants["time"]
    return constants


def as_matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of two axes.

    >>> as_matrix([[1, 2]], "A").shape
    (1, 2)
    """
    matrix = as_array(values, name)
    if matrix.ndim != 2:
        raise PtxlabError(f"{name}: found shape {matrix.shape}; it takes a matrix [rows, columns]")
    return matrix


def check_not_empty(m: int, n: int, k: int) -> None:
    """Refuse matrices without elements."""
    if min(m, n, k) == 0:
        raise PtxlabError(f"A {m}x{k} and B {k}x{n}: an empty matrix leaves nothing to compute")


def stored_rows(operand: MatrixOperand, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Element codes, row by row, as bytes, with zeros up to the next multiple of 16 bytes.

    Several elements of 1 or 4 bits share a byte, the first in the low bits.
    """
    element = operand.dtype
    codes = np.ascontiguousarray(element.encode(values), dtype=element.code_type)
    if element.bits < 8:
        per_byte = 8 // element.bits
        codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % per_byte)))
        shifts = np.arange(0, 8, element.bits, dtype=np.uint8)
        parts = codes.reshape(len(codes), codes.shape[1] // per_byte, per_byte).astype(np.uint8) << shifts
        codes = np.asarray(np.bitwise_or.reduce(parts, axis=-1), dtype=np.uint8)
    rows = codes.view(np.uint8)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % CHUNK)))


def start_codes(form: Instruction, C: ArrayLike | None, m: int, n: int) -> NDArray[Any] | int:
    """The argument for C: its codes, or a null pointer."""
    if C is None:
        return 0
    start = as_matrix(C, "C")
    if start.shape != (m, n):
        raise PtxlabError(f"C is {start.shape[0]}x{start.shape[1]}; the product is {m}x{n}")
    return np.ascontiguousarray(form.c.dtype.encode(start))


def product_array(result: str, m: int, n: int, *, by_tma: bool) -> NDArray[Any]:
    """An empty D; for TMA stores, rows begin at multiples of 16 bytes.

    >>> product_array("f16", 3, 5, by_tma=True).shape
    (3, 8)
    """
    element = dtype(result)
    columns = -(-n * element.bits // (8 * CHUNK)) * 8 * CHUNK // element.bits if by_tma else n
    return np.zeros((m, columns), dtype=element.numpy_type or element.code_type)
