"""Fingerprints of trees, tried on a GPU whose arithmetic is modelled: equal ones have equal bits there."""

from __future__ import annotations

import os
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.gemm import attention, rung
from ptxlab.gemm.rung import LADDER
from ptxlab.simulator.history.run import Reduction
from tests.simulator.random_reductions import Writer

_KERNELS = Path(__file__).parent.parent / "kernels"
_SEEDS = max(int(os.environ.get("PTXLAB_FUZZ", "0")) // 300, 1)  # 10,000 kernels by PTXLAB_FUZZ=10000
_F = np.float32

_ROWS = """
#include <cuda_fp16.h>
extern "C" __global__ void split(const float* x, float* y, int K) {  // a warp for each part
  __shared__ float sums[32];
  int parts = blockDim.x / 32, n = K / parts, part = threadIdx.x / 32;
  float t = 0;
  for (int k = part * n + threadIdx.x % 32; k < (part + 1) * n; k += 32) t += x[blockIdx.x * K + k];
  for (int step = 16; step; step /= 2) t += __shfl_xor_sync(-1, t, step);
  if (threadIdx.x % 32 == 0) sums[part] = t;
  __syncthreads();
  if (threadIdx.x > 0) return;
  t = 0;
  for (int i = 0; i < parts; ++i) t += sums[i];
  y[blockIdx.x] = t;
}
template <class Combine> __device__ float whole(float value, float* scratch, Combine combine) {
  for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(-1, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < blockDim.x / 32; ++i) value = combine(value, scratch[i]);
  return value;
}
extern "C" __global__ void softmax(const float* x, float* y, int K) {
  __shared__ float scratch[32];
  const float* row = x + blockIdx.x * K;
  float most = -1e30f, sum = 0;
  for (int k = threadIdx.x; k < K; k += blockDim.x) most = fmaxf(most, row[k]);
  most = whole(most, scratch, [](float a, float b) { return fmaxf(a, b); });
  for (int k = threadIdx.x; k < K; k += blockDim.x) sum += __expf(row[k] - most);
  sum = whole(sum, scratch, [](float a, float b) { return a + b; });
  for (int k = threadIdx.x; k < K; k += blockDim.x) y[blockIdx.x * K + k] = __expf(row[k] - most) / sum;
}
extern "C" __global__ void layer_norm(const float* x, float* y, int K) {
  __shared__ float scratch[32];
  const float* row = x + blockIdx.x * K;
  float sum = 0, squares = 0;
  for (int k = threadIdx.x; k < K; k += blockDim.x) sum += row[k];
  float mean = whole(sum, scratch, [](float a, float b) { return a + b; }) / K;
  for (int k = threadIdx.x; k < K; k += blockDim.x) squares += (row[k] - mean) * (row[k] - mean);
  float scale = rsqrtf(whole(squares, scratch, [](float a, float b) { return a + b; }) / K + 1e-5f);
  for (int k = threadIdx.x; k < K; k += blockDim.x) y[blockIdx.x * K + k] = (row[k] - mean) * scale;
}
"""


@pytest.fixture(autouse=True)
def _on_hopper() -> None:
    if not ptxlab.gpu.available():
        pytest.skip(ptxlab.gpu.status())
    if "sm_90" not in ptxlab.gpu.status():
        pytest.skip("the kernels are for sm_90")


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(_SEEDS))
@pytest.mark.parametrize("kind", ["f32", "s32"])
def test_random_kernels(kind: str, seed: int) -> None:
    """300 kernels: the predicted bits are the measured ones, and equal trees have equal bits."""
    rng, numbers = random.Random(3 + seed), np.random.default_rng(3 + seed)
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


def _predicted(
    kernel: ptxlab.Kernel, grid: Any, block: int, arguments: Any, output: int, array: Any, shared: int = 0
) -> Reduction:
    """The fingerprints of a launch whose predicted bits are those that the GPU gives."""
    reduction = kernel.reduction(grid, block, *arguments, output=output, shared=shared)
    assert reduction.scope == "all inputs"
    array[...] = 0
    kernel.launch(grid, block, *arguments, shared=shared)
    assert reduction.values.tobytes() == array.tobytes()
    return reduction


def _compared(launches: dict[Any, Reduction]) -> dict[tuple[Any, Any], int]:
    """How many elements of each pair have other bits; equal trees have none."""
    counts: dict[tuple[Any, Any], int] = {}
    for (name, one), (other, two) in combinations(launches.items(), 2):
        left, right = (np.asarray(launch.values).reshape(-1).view(np.uint8) for launch in (one, two))
        same = (one.fingerprints == two.fingerprints).reshape(-1)
        equal = (left == right).reshape(same.size, -1).all(axis=1)
        assert equal[same].all()
        counts[name, other] = int((~equal).sum())
    return counts


@pytest.mark.gpu
@pytest.mark.parametrize("size", [64, 96, 128, 160, 192, 256, 320, 384, 448, 512])
def test_rungs_of_the_ladder(size: int) -> None:
    """All twelve kernels at ten sizes: the measured difference of each pair is the predicted one, none."""
    numbers = np.random.default_rng(size)
    A, B = (numbers.standard_normal((size, size)).astype(np.float16) for _ in "AB")
    launches = {}
    for row in LADDER:
        step = rung(row.number)
        call = step.call(A, B)
        launches[row.number] = _predicted(
            step.kernel, call.grid, call.block, call.arguments, 4, call.padded, call.shared
        )
    counts = _compared({n: launch for n, launch in launches.items() if launch.values.dtype != np.uint8})
    assert set(counts.values()) == {0}
    products = {n: np.asarray(launch.values).reshape(-1).view(np.uint8) for n, launch in launches.items()}
    assert all(np.array_equal(product, products[1]) for product in products.values())


@pytest.mark.gpu
def test_split_sums() -> None:
    """A sum of 6,720 numbers by 1 to 8 warps: each pair differs where the GPU's bits do."""
    kernel = ptxlab.kernel(_ROWS, "split")
    x = np.random.default_rng(0).standard_normal((64, 6720)).astype(_F)
    launches = {}
    for parts in range(1, 9):
        y = np.zeros(64, _F)
        launches[parts] = _predicted(kernel, 64, 32 * parts, (x, y, 6720), 2, y)
    counts = _compared(launches)
    assert all(count > 20 for count in counts.values())


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_rows_with_two_sizes_of_blocks(name: str) -> None:
    kernel = ptxlab.kernel(_ROWS, name)
    x = np.random.default_rng(1).standard_normal((16, 1000)).astype(_F)
    launches = {}
    for block in (128, 256):
        y = np.zeros_like(x)
        launches[block] = _predicted(kernel, 16, block, (x, y, 1000), 2, y)
    assert all(count > 100 for count in _compared(launches).values())


@pytest.mark.gpu
@pytest.mark.parametrize("keys", range(1, 9))
def test_attention(keys: int) -> None:
    """Kernels 2 to 5 on 1 to 8 blocks of 128 keys."""
    numbers, launches = np.random.default_rng(keys), {}
    values = numbers.standard_normal((3, 1, 128 * keys, 128)).astype(np.float16)
    for number in (2, 3, 4, 5):
        kernel = attention(number)
        Q, K, V = (np.ascontiguousarray(array[..., : kernel.head]) for array in values)
        output = np.zeros_like(Q)
        grid = kernel.grid(1, 128 * keys)
        arguments = kernel.arguments(Q, K, V, output)
        launches[number] = _predicted(
            kernel.kernel, grid, kernel.threads, arguments, 4, output, kernel.shared
        )


@pytest.mark.gpu
def test_triton_products() -> None:
    """Triton's plain product against its persistent one: the same trees, and the same bits."""
    pytest.importorskip("triton")
    from tests.gpu import triton_products

    launches: dict[str, Any] = {}
    A, B = np.random.default_rng(0).standard_normal((2, 256, 256)).astype(np.float16)
    for name, make in (("plain", triton_products.plain), ("persistent", triton_products.persistent)):
        kernel, grid, block, shared, arguments, C = make(A, B)
        launches[name] = _predicted(kernel, grid, block, arguments, 3, C, shared)
    assert _compared(launches) == {("plain", "persistent"): 0}
    assert launches["plain"] == launches["persistent"]
