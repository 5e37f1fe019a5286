"""Unmodified programs in TileLang inside `ptxlab.simulating`."""

# TileLang reads the annotations of kernels, so they are no text here.
from typing import Any

import pytest

import ptxlab

tilelang = pytest.importorskip("tilelang", reason="TileLang is not installed (pip install tilelang)")
torch = pytest.importorskip("torch", reason="TileLang launches with tensors of torch")
T = tilelang.language


@tilelang.jit(out_idx=[-1])
def product(m: int, n: int, k: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=2):
                T.copy(A[by * 64, step * 64], a)
                T.copy(B[step * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return main


def test_a_product_with_tma_and_wgmma() -> None:
    a = torch.randint(-4, 5, (128, 192)).half()
    b = torch.randint(-4, 5, (192, 64)).half()
    cached = tilelang.jit.__globals__.get("cached")
    with ptxlab.simulating(show=False) as session:
        c = product(128, 64, 192)(a, b)
    assert torch.equal(c, a.float() @ b.float())
    (result,) = session.results
    assert result.grid.block_count == 2 and not result.hazards
    assert any(name.startswith("wgmma") for name in result.counts)
    assert any(name.startswith("cp.async.bulk.tensor") for name in result.counts)
    assert tilelang.jit.__globals__.get("cached") is cached
