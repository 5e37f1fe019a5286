"""`nvcuda::wmma` for sub-byte types, in Python: the same names, the same rules, on NumPy buffers.

It mirrors the C++ API; `cpp_source` and `ptx_triple` give the same computation as kernels, in C++ and in PTX:

>>> import numpy as np
>>> from ptxlab import wmma
>>> a = wmma.fragment(wmma.matrix_a, 8, 8, 32, wmma.precision.s4, wmma.row_major)
>>> b = wmma.fragment(wmma.matrix_b, 8, 8, 32, wmma.precision.s4, wmma.col_major)
>>> c = wmma.fragment(wmma.accumulator, 8, 8, 32, int)
>>> wmma.load_matrix_sync(a, wmma.pack_matrix(np.full((8, 32), -2), "s4"), 32)
>>> wmma.fill_fragment(b, 3)
>>> wmma.fill_fragment(c, 0)
>>> wmma.mma_sync(c, a, b, c)
>>> d = np.zeros((8, 8), dtype=np.int32)
>>> wmma.store_matrix_sync(d, c, 8, wmma.mem_row_major)
>>> int(d[0, 0])
-192
"""

from __future__ import annotations

from .fragment_forms import form
from .fragment_memory import load_matrix_sync, pack_matrix, store_matrix_sync, unpack_matrix
from .fragment_operations import bmma_sync, fill_fragment, fragment, mma_sync
from .kernels import NAMES, cpp_source, ptx_lines, ptx_triple, run, run_buffers
from .machine_code import Deprecation, MachineCode, deprecation, machine_code
from .types import (
    ElementType,
    StorageType,
    Tag,
    accumulator,
    bmmaAccumulateOp,
    bmmaAccumulateOpPOPC,
    bmmaBitOp,
    bmmaBitOpAND,
    bmmaBitOpXOR,
    col_major,
    experimental,
    layout_t,
    matrix_a,
    matrix_b,
    mem_col_major,
    mem_row_major,
    precision,
    row_major,
)

__all__ = [
    "NAMES",
    "Deprecation",
    "ElementType",
    "MachineCode",
    "StorageType",
    "Tag",
    "accumulator",
    "bmmaAccumulateOp",
    "bmmaAccumulateOpPOPC",
    "bmmaBitOp",
    "bmmaBitOpAND",
    "bmmaBitOpXOR",
    "bmma_sync",
    "col_major",
    "cpp_source",
    "deprecation",
    "experimental",
    "fill_fragment",
    "form",
    "fragment",
    "layout_t",
    "load_matrix_sync",
    "machine_code",
    "matrix_a",
    "matrix_b",
    "mem_col_major",
    "mem_row_major",
    "mma_sync",
    "pack_matrix",
    "precision",
    "ptx_lines",
    "ptx_triple",
    "row_major",
    "run",
    "run_buffers",
    "store_matrix_sync",
    "unpack_matrix",
]
