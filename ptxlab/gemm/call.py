"""A launch of a GEMM kernel on NumPy's matrices: the bytes that it reads, and the D that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array
from ..errors import PtxlabError
from ..isa.dtypes import dtype
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..simulator import Result
from ..simulator.kernel import Kernel

CHUNK = 16  # bytes: rows of A and columns of B begin at multiples of it
STORE = 64 * 128  # bytes of D that one TMA store of a warpgroup takes
MOST_SHARED = 227 << 10  # bytes of a block on sm_90
H200_PROCESSORS = 132

R = TypeVar("R", bound=Result)


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

    def simulate(self, kernel: Kernel[R], **options: Any) -> R:
        """The launch of this kernel without a GPU; options are those of `kernel.simulate`."""
        return kernel.simulate(self.grid, self.block, *self.arguments, shared=self.shared, **options)


def as_matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of two axes.

    >>> as_matrix([[1, 2]], "A").shape
    (1, 2)
    """
    matrix = as_array(values, name)
    if matrix.ndim != 2:
        raise PtxlabError(f"{name}: found shape {matrix.shape}; it takes a matrix [rows, columns]")
    return matrix


def element_bytes(operand: Operand, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Element codes, row by row, as bytes; those of 1 and 4 bits share one, the first in the low bits."""
    element = operand.dtype
    codes = np.ascontiguousarray(element.encode(values), dtype=element.code_type)
    if element.bits >= 8:
        return codes.view(np.uint8)
    sharing = 8 // element.bits
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % sharing)))
    shifts = np.arange(0, 8, element.bits, dtype=np.uint8)
    parts = codes.reshape(len(codes), codes.shape[1] // sharing, sharing).astype(np.uint8) << shifts
    return np.asarray(np.bitwise_or.reduce(parts, axis=-1), dtype=np.uint8)


def padded_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows with zeros up to the next multiple of 16 bytes.

    >>> padded_rows(np.ones((2, 20), np.uint8)).shape
    (2, 32)
    """
    more = -rows.shape[1] % CHUNK
    return rows if more == 0 else np.pad(rows, ((0, 0), (0, more)))


def start_codes(form: MmaForm, C: ArrayLike | None, m: int, n: int) -> NDArray[Any] | int:
    """C as a kernel takes it: its codes, or a null pointer."""
    if C is None:
        return 0
    start = as_matrix(C, "C")
    if start.shape != (m, n):
        raise PtxlabError(f"C is {start.shape[0]}x{start.shape[1]}; the product is {m}x{n}")
    return np.ascontiguousarray(form.c.dtype.encode(start))


def product_array(result: str, m: int, n: int, *, by_tma: bool) -> NDArray[Any]:
    """An empty D; TMA stores rows that begin at multiples of 16 bytes.

    >>> product_array("f16", 3, 5, by_tma=True).shape
    (3, 8)
    """
    element = dtype(result)
    columns = -(-n * element.bits // (8 * CHUNK)) * 8 * CHUNK // element.bits if by_tma else n
    return np.zeros((m, columns), dtype=element.numpy_type or element.code_type)
