"""Exact products of small matrices, computed in the thread that asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Multiplications in a product up to which OpenBLAS, which NumPy's wheels contain, starts no other threads
#: (SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD in its interface/gemm.c).
_ONE_THREAD = 65536 * 4


def exact_product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a [..., M, K] times b [..., K, N], so few rows at once that BLAS does not spread them over threads.

    The emulator has threads of its own, as many as the process may use. BLAS would take every core of the
    machine instead, and for products of this size is many times slower with them. Sums must be exact: then
    the bits do not depend on the division.

    >>> exact_product(np.ones((2, 64, 32)), np.ones((2, 32, 256)))[1, 63, 255]
    np.float64(32.0)
    """
    rows, depth = a.shape[-2:]
    columns = b.shape[-1]
    if rows * depth * columns <= _ONE_THREAD:
        return np.asarray(a @ b)
    most = max(1, _ONE_THREAD // (depth * columns))
    step = max(size for size in range(1, min(most, rows) + 1) if rows % size == 0)
    parts = np.asarray(a.reshape(*a.shape[:-2], rows // step, step, depth) @ b[..., None, :, :])
    return parts.reshape(*parts.shape[:-3], rows, columns)
