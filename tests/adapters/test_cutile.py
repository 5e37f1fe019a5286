"""Unmodified programs in cuTile inside `ptxlab.simulating`."""

# cuTile reads the annotations of kernels, so they are no text here.
import io
from typing import Any

import numpy as np
import pytest

import ptxlab
from tests.cases import refuses

ct = pytest.importorskip("cuda.tile", reason="cuTile is not installed (pip install 'cuda-tile[tileiras]')")
Size = ct.Constant[int]


@ct.kernel
def add(x: Any, y: Any, out: Any, n: Size):  # type: ignore[no-untyped-def,valid-type]
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(n,))
    b = ct.load(y, index=(i,), shape=(n,))
    ct.store(out, index=(i,), tile=a + b)


@ct.kernel
def product(A: Any, B: Any, C: Any, tm: Size, tn: Size, tk: Size):  # type: ignore[no-untyped-def,valid-type]
    i, j = ct.bid(0), ct.bid(1)
    total = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(i, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, j), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, index=(i, j), tile=total)


@ct.kernel
def scale(x: Any, factor: Any, n: Size):  # type: ignore[no-untyped-def,valid-type]
    i = ct.bid(0)
    ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(n,)) * factor)


def _matrices() -> list[Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((128, 96), (96, 64)))
    return [a, b, np.zeros((128, 64), np.float32)]


@pytest.mark.parametrize("chip", ["A100", "H200", "B200"])
def test_a_product(chip: str) -> None:
    """With `mma`, `wgmma` or `tcgen05`."""
    a, b, c = _matrices()
    with ptxlab.simulating(chip, show=False) as session:
        ct.launch(None, (2, 1, 1), product, (a, b, c, 64, 64, 32))
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    (result,) = session.results
    assert (result.hazards, result.name) == ([], "product")


def test_tiles_at_the_edge_numbers_and_shared_memory() -> None:
    """1000 is no multiple of 128; x is given twice, and scaled in place, by a float and by an integer."""
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)
    with ptxlab.simulating(show=False) as session:
        ct.launch(None, (8,), add, (x, x, out, 128))
        ct.launch(None, (4, 1, 1), scale, (out[::2], 0.5, 128))
        ct.launch(None, (4,), scale, (out[1::2], np.int32(3), 128))
        refuses("cuTile takes none below 0", ct.launch, None, (8,), scale, (out[::-1], 0.5, 128))
        refuses("add takes 4 arguments, found 3", ct.launch, None, (8,), add, (x, x, out))
        refuses("found 'a'; it takes arrays and numbers here", ct.launch, None, (8,), add, ("a", x, out, 128))
    assert np.array_equal(out[::2], x[::2]) and np.array_equal(out[1::2], 6 * x[1::2])
    assert [launch.name for launch in session.results] == ["add", "scale", "scale"]
    assert all(launch.hazards == [] for launch in session.results)


def test_a_larger_tile_has_more_shared_memory_than_ptxas_grants() -> None:
    ones = np.ones((128, 128), np.float16)
    c = np.zeros((128, 128), np.float32)
    with ptxlab.simulating(show=False) as session:
        ct.launch(None, (1, 1), product, (ones, ones, c, 128, 128, 64))
    assert (c == 128).all() and session.results[0].kinds["wgmma.mma_async"] == 64


def test_a_cubin() -> None:
    from cuda.tile import compilation

    array = compilation.ArrayConstraint(
        ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        may_alias_internally=False, stride_constant=[1],
    )  # fmt: skip
    convention = compilation.CallingConvention.cutile_python_v1()
    cubin = io.BytesIO()
    signature = compilation.KernelSignature([array, array, array, 128], convention)
    compilation.export_kernel(add, [signature], cubin, gpu_code="sm_90", output_format="cubin")
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)
    kernel = ptxlab.kernel(cubin.getvalue())
    kernel.simulate(8, 128, *(argument for array in (x, x, out) for argument in (array, 1000, 1)))
    assert np.array_equal(out, 2 * x)
