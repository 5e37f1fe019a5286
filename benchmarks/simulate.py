"""python -m benchmarks.simulate: whole GEMM kernels of 512 x 512 x 512 simulated, with all checks.

Each is compared with `ptxlab.matmul` of the same size and instruction. On a machine that others use,
OPENBLAS_NUM_THREADS=1 PTXLAB_THREADS=1 compares processor time of one thread each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab

from .emulate import by_turns

KERNELS = Path(__file__).parent.parent / "tests" / "kernels"
#: Source and the instruction that it multiplies with.
FORMS = {
    "gemm_mma_swizzled.cu": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "gemm_wgmma_tma.cu": "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
}


def product(name: str, size: int = 512) -> dict[str, Any]:
    """Seconds of the simulation and of matmul; their results are compared."""
    A, B = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16)
    D = np.zeros((size, size), dtype=np.float32)
    kernel = ptxlab.kernel((KERNELS / name).read_text(encoding="utf-8"), "gemm")
    grid = (size // 64, size // 64)

    def multiply() -> Any:
        return ptxlab.matmul(A, B.T, instruction=FORMS[name], show=False)

    def simulate() -> None:
        halves = A.view(np.uint16), B.view(np.uint16)
        if "tma" in name:
            maps = [ptxlab.tensor_map(matrix, (64, 64), swizzle=128) for matrix in halves]
            kernel.simulate(grid, 256, *maps, D, size, size, shared=32768, show=False)
        else:
            kernel.simulate(grid, 128, *halves, D, size, size, size, show=False)

    row = {"kernel": name, "size": size, **by_turns({"matmul": multiply, "simulate": simulate}, 5.0)}
    if not np.array_equal(D, multiply()):
        raise AssertionError(f"{name} and matmul disagree")
    return row


def measure(tell: Callable[[str], None] = print) -> dict[str, Any]:
    rows = []
    for name in FORMS:
        row = product(name)
        rows.append(row)
        ratio = row["simulate"] / row["matmul"]
        tell(f"  {row['simulate']:.2f} s, {ratio:.1f} times matmul's {row['matmul']:.2f} s  {name}")
    return {"products": rows}


if __name__ == "__main__":
    measure()
