"""python -m benchmarks.histories: what following histories costs, beside a plain simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxlab

from .emulate import by_turns
from .simulate import FORMS, KERNELS


def ratio(name: str, size: int = 512) -> float:
    """The time of `Kernel.reduction`, as a multiple of a simulation's; both look for hazards."""
    A, B = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16).view(np.uint16)
    D = np.zeros((size, size), dtype=np.float32)
    kernel = ptxlab.kernel((KERNELS / name).read_text(encoding="utf-8"), "gemm")
    grid = (size // 64, size // 64)
    arguments: list[Any] = [grid, 128, A, B, D, size, size, size]
    shared = 0
    if "tma" in name:
        maps = [ptxlab.tensor_map(matrix, (64, 64), swizzle=128) for matrix in (A, B)]
        arguments, shared = [grid, 256, *maps, D, size, size], 32768
    times = by_turns(
        {
            "plain": lambda: kernel.simulate(*arguments, shared=shared, show=False),
            "histories": lambda: kernel.reduction(*arguments, output=3, shared=shared),
        },
        5.0,
    )
    return float(times["histories"] / times["plain"])


if __name__ == "__main__":
    for form in FORMS:
        print(f"{ratio(form):5.2f} times a plain simulation  {form}")
