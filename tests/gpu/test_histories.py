"""Fingerprints of trees, tried on a GPU whose arithmetic is modelled: equal ones have equal bits there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from tests.simulator.random_reductions import Writer

_KERNELS = Path(__file__).parent.parent / "kernels"


@pytest.fixture(autouse=True)
def _on_hopper() -> None:
    if not ptxlab.gpu.available():
        pytest.skip(ptxlab.gpu.status())
    if "sm_90" not in ptxlab.gpu.status():
        pytest.skip("the kernels are for sm_90")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["f32", "s32"])
def test_random_kernels(kind: str) -> None:
    """300 kernels: the predicted bits are the measured ones, and equal trees have equal bits."""
    rng, numbers = random.Random(3), np.random.default_rng(3)
    x, w = numbers.standard_normal((2, 32, 4)).astype(np.float32)
    if kind == "s32":
        x, w = (numbers.integers(-(2**31), 2**31, (32, 4), dtype=np.int64).astype(np.int32) for _ in "xw")
    bits: dict[int, bytes] = {}
    for _ in range(300):
        text = Writer(rng, kind).kernel()
        kernel, y = ptxlab.kernel(text), np.zeros(32, dtype=x.dtype)
        reduction = kernel.reduction(1, 32, x, w, y)
        kernel.launch(1, 32, x, w, y)
        assert reduction.values.tobytes() == y.tobytes(), text
        for tree, value in zip(reduction.fingerprints.tolist(), y, strict=True):
            assert bits.setdefault(tree, value.tobytes()) == value.tobytes(), text


@pytest.mark.gpu
@pytest.mark.parametrize("size", [64, 256])
def test_kernels_that_are_proven_equal(size: int) -> None:
    """mma.sync with ldmatrix against wgmma with TMA."""
    A, B = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16).view(np.uint16)
    maps = [ptxlab.tensor_map(matrix, (64, 64), swizzle=128) for matrix in (A, B)]
    grid = (size // 64, size // 64)
    results: list[Any] = []
    launches: list[Any] = [
        ("gemm_mma_swizzled.cu", 128, [A, B], [size, size, size], 0),
        ("gemm_wgmma_tma.cu", 256, maps, [size, size], 32768),
    ]
    for name, block, matrices, more, shared in launches:
        kernel = ptxlab.kernel((_KERNELS / name).read_text(encoding="utf-8"), "gemm")
        D: Any = np.zeros((size, size), np.float32)
        reduction = kernel.reduction(grid, block, *matrices, D, *more, output=3, shared=shared)
        kernel.launch(grid, block, *matrices, D, *more, shared=shared)
        assert np.array_equal(reduction.values.view(np.uint32), D.view(np.uint32))
        results.append((reduction, D))
    (one, first), (two, second) = results
    assert one == two and np.array_equal(first.view(np.uint32), second.view(np.uint32))
