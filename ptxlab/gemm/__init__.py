"""GEMM kernels, from one warp that multiplies tiles from global memory to a kernel as fast as cuBLAS.

Twelve kernels in CUDA C++, each with one more idea than the one before, for every dense instruction whose
step along K takes 32 bytes of a row; two for a sparse A; and five of attention. They can be simulated without
a GPU and launched on one.
"""

from __future__ import annotations

from .attention_kernel import attention
from .compressed import CompressedMatrix
from .gemm_kernel import Call, Row
from .rung import Rung, best_rung, ladder, rung
from .sparse import SparseRung, best_sparse_rung, sparse_rung

__all__ = [
    "Call",
    "CompressedMatrix",
    "Row",
    "Rung",
    "SparseRung",
    "attention",
    "best_rung",
    "best_sparse_rung",
    "ladder",
    "rung",
    "sparse_rung",
]
