"""Fingerprints of the trees that make results: `Kernel.reduction` and `ptxlab.invariant`."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.gemm import rung
from ptxlab.simulator.history.element_tree import ElementTree
from tests.sampling import one_in

from .random_reductions import tried

_KERNELS = Path(__file__).parent.parent / "kernels"
_F = np.float32
GOLDEN = Path(__file__).parents[1] / "golden"

_SUMS = """
#include <cuda_fp16.h>
extern "C" __global__ void split(const float* x, float* y, int K, int parts) {
  int n = K / parts; float t = 0;
  for (int k = blockIdx.y * n; k < (blockIdx.y + 1) * n; ++k) t += x[blockIdx.x * K + k];
  if (parts == 1) y[blockIdx.x] = t; else atomicAdd(&y[blockIdx.x], t);
}
extern "C" __global__ void integers(const int* x, int* y, int K, int parts) {
  int n = K / parts, t = 0;
  for (int k = blockIdx.y * n; k < (blockIdx.y + 1) * n; ++k) t += x[blockIdx.x * K + k];
  atomicAdd(&y[blockIdx.x], t);
}
extern "C" __global__ void by_batch(const float* x, float* y, int K, int batch) {
  float t = 0, u = 0;
  if (batch < 4) for (int k = 0; k < K; ++k) t += x[blockIdx.x * K + k];
  else for (int k = 0; k < K; k += 2) { t += x[blockIdx.x * K + k]; u += x[blockIdx.x * K + k + 1]; }
  y[blockIdx.x] = t + u;
}
extern "C" __global__ void branch(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (v < 0) { for (int k = 0; k < 3; ++k) v = v * v + 1; y[threadIdx.x + 32] = v; }
  y[threadIdx.x] = v * 2;
}
extern "C" __global__ void gather(const float* x, const int* index, float* y) { *y = x[*index]; }
extern "C" __global__ void race(const float* x, float* y) { y[0] += x[blockIdx.x]; }
extern "C" __global__ void swapped(const __half2* x, __half2* y) {
  __half2 a = x[threadIdx.x];
  y[threadIdx.x] = __hadd2(a, __halves2half2(__high2half(a), __low2half(a)));
}
"""


def _of(name: str) -> ptxlab.Kernel:
    return ptxlab.kernel(_SUMS, name)


def _split(parts: int, rows: int = 2) -> Any:
    return _of("split").run((rows, parts), 1, np.ones((rows, 8), _F), np.zeros(rows, _F), 8, parts)


def _sum(expression: str, options: tuple[str, ...] = ()) -> int:
    text = f"__global__ void sum(const float* x, float* y) {{ *y = {expression}; }}"
    kernel = ptxlab.kernel(text, options=options)
    return int(kernel.reduction(1, 1, np.ones(8, _F), np.zeros(1, _F)).fingerprints[0])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x[0] + x[1]", "x[1] + x[0]", True),
        ("(x[0] + x[1]) + x[2]", "x[0] + (x[1] + x[2])", False),
        ("(x[0] + x[1]) + x[2]", "x[2] + (x[1] + x[0])", True),
        ("x[0] - x[1]", "x[1] - x[0]", False),
        ("fmaxf(fmaxf(x[0], x[1]), x[2])", "fmaxf(x[0], fmaxf(x[2], x[1]))", True),
        ("fmaxf(x[0], x[1])", "fminf(x[0], x[1])", False),
        ("fminf(fmaxf(x[0], x[1]), x[2])", "fmaxf(fminf(x[0], x[2]), x[1])", False),
        ("fmaf(x[0], x[1], x[2])", "fmaf(x[1], x[0], x[2])", True),
        ("fmaf(x[0], x[1], x[2])", "fmaf(x[0], x[2], x[1])", False),
        ("fmaf(x[0], x[1], x[2])", "x[0] * x[1] + x[2]", True),
        ("fmaf(x[0], x[1], x[2])", "__fadd_rn(__fmul_rn(x[0], x[1]), x[2])", False),
        ("x[2] - x[0] * x[1]", "__fsub_rn(x[2], __fmul_rn(x[0], x[1]))", False),
        ("x[0] * 2", "x[0] * 3", False),
        ("__expf(x[0])", "expf(x[0])", False),
        ("__fadd_rz(x[0], x[1])", "x[0] + x[1]", False),
    ],
)
def test_expressions(one: str, other: str, same: bool) -> None:
    assert (_sum(one) == _sum(other)) == same


def test_contraction_and_flushing_are_options() -> None:
    product = "x[0] * x[1] + x[2]"
    assert _sum(product) != _sum(product, ("-fmad=false",))
    assert _sum("x[0] + x[1]") != _sum("x[0] + x[1]", ("-ftz=true",))


def test_halves_keep_their_own_histories() -> None:
    """low + high and high + low are one sum; with other halves it is another one."""
    x, y = np.ones(64, np.float16), np.zeros(64, np.float16)
    reduction = _of("swapped").reduction(1, 32, x, y)
    trees = reduction.fingerprints.reshape(32, 2)
    assert (trees[:, 0] == trees[:, 1]).all() and len(np.unique(trees)) == 32


def test_kernels_of_different_instructions_are_proven_equal() -> None:
    """ldmatrix and mma against TMA and wgmma: an H200 adds 16 products in one step in both."""
    size = 128
    A, B = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16).view(np.uint16)
    D = np.zeros((size, size), _F)
    first, second = (
        ptxlab.kernel((_KERNELS / name).read_text(encoding="utf-8"), "gemm")
        for name in ("gemm_mma_swizzled.cu", "gemm_wgmma_tma.cu")
    )
    by_warps = first.reduction((2, 2), 128, A, B, D, size, size, size)
    maps = [ptxlab.tensor_map(matrix, (64, 64), swizzle=128) for matrix in (A, B)]
    by_groups = second.reduction((2, 2), 256, *maps, D, size, size, shared=32768)
    assert by_warps == by_groups and by_warps.scope == by_groups.scope == "all inputs"
    assert np.array_equal(by_warps.values, by_groups.values) and not D.any()
    assert len(np.unique(by_warps.fingerprints)) == size * size
    ampere = first.reduction((2, 2), 128, A, B, D, size, size, size, model="sm_80")
    assert not (ampere.fingerprints == by_warps.fingerprints).any()  # steps of 8 products


def test_boxes_that_reach_beyond_an_array() -> None:
    """TMA stores 40 columns of a tile of 256: the trees are those of one warp, which stores none of it."""
    A, B = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float16)
    A, B, reductions = A[:40], B[:, :40], []
    for number in (1, 10):
        step = rung(number)
        call = step.call(A, B)
        reductions.append(
            step.kernel.reduction(call.grid, call.block, *call.arguments, output=4, shared=call.shared)
        )
    one, tiled = reductions
    assert one.scope == tiled.scope == "all inputs"
    assert np.array_equal(one.values.reshape(-1), tiled.values.reshape(-1).view(one.values.dtype))
    words = tiled.fingerprints.reshape(-1, one.values.itemsize)[:, 0]
    assert np.array_equal(words, one.fingerprints.reshape(-1))


def test_floats_in_shared_memory_have_an_order() -> None:
    """Also where the terms come from no array; and a race is no certificate."""
    text = """__global__ void count(float* y) {
        __shared__ float total;
        if (threadIdx.x == 0) total = 0;
        __syncthreads();
        atomicAdd(&total, 1.5f * threadIdx.x);
        __syncthreads();
        y[threadIdx.x] = total;
    }"""
    assert ptxlab.kernel(text).reduction(1, 32, np.zeros(32, _F)).scope == "no run"
    assert _of("race").reduction(2, 1, np.ones(2, _F), np.zeros(1, _F)).scope == "no run"


def test_what_chance_and_data_decide_is_said() -> None:
    assert _split(1).reduction().scope == "all inputs"
    assert "in no fixed order" in repr(_split(2).reduction()) and _split(2).reduction().scope == "no run"
    x = np.linspace(-1, 1, 32, dtype=_F)
    branch = _of("branch").reduction(1, 32, x, np.zeros(64, _F))
    assert branch.scope == "this path" and "branches on data" in repr(branch)
    gather = _of("gather").reduction(1, 1, x, np.array([3], np.int32), np.zeros(1, _F))
    assert gather.scope == "this path" and "takes an address from data" in repr(gather)


def test_integers_have_no_order() -> None:
    """Sums of integers are the same set of terms, by however many blocks."""
    x = np.ones((2, 8), np.int32)
    runs = [_of("integers").run((2, parts), 1, x, np.zeros(2, np.int32), 8, parts) for parts in (1, 2, 4)]
    reductions = [run.reduction() for run in runs]
    assert all(reduction == reductions[0] for reduction in reductions)
    assert {reduction.scope for reduction in reductions} == {"all inputs"}


def test_invariance() -> None:
    def launch(batch: int) -> Any:
        x, y = np.ones((batch, 8), _F), np.zeros(batch, _F)
        return _of("by_batch").run(batch, 1, x, y, 8, batch)

    same = ptxlab.invariant(launch, over=MappingProxyType({"batch": [1, 2, 3]}))
    assert same and same.rows == 6 and "invariant: the tree of every row is the same" in repr(same)
    parted = ptxlab.invariant(launch, over={"batch": [1, 2, 7]})
    assert not parted and parted.parts == (("batch", 7, 0), ("batch", 1, 0))
    assert parted.where.rsplit(":", 1)[1] == "16"  # of the loop that adds in pairs
    free = ptxlab.invariant(lambda batch: _split(2, batch), over={"batch": [1, 2]})
    assert not free and "atom" in repr(free)
    race = ptxlab.invariant(
        lambda blocks: _of("race").run(blocks, 1, np.ones(blocks, _F), np.zeros(1, _F)),
        over={"blocks": [2, 3]},
    )
    assert not race and race.scope == "no run" and "nothing orders them" in repr(race)


def test_comparisons() -> None:
    """The first operation that differs, its operands and its line; equal trees are a proof."""
    x = np.random.default_rng(0).standard_normal(8).astype(_F)

    def run(expression: str, *options: str) -> Any:
        text = f"__global__ void sum(const float* x, float* y) {{\n*y = {expression}; }}"
        return ptxlab.kernel(text, options=options).run(1, 1, x, np.zeros(1, _F))

    fused, apart = run("x[0] * x[1] + x[2]"), run("x[0] * x[1] + x[2]", "-fmad=false")
    found = ptxlab.compare(fused, apart)
    assert found.other_trees == 1 and found.element == (0,) and found.trees is not None
    assert found.trees[0].counts == {"fma.rn.f32": 1} and found.trees[1].depth == 2
    (first,), (second,) = (tree.first for tree in found.trees)
    assert first.operands == ("argument 1[0]", "argument 1[1]", "argument 1[2]")
    assert second.opcode.startswith("mul") and second.where.endswith(":2")
    assert json.loads(found.json())["elements"] == 1
    equal = ptxlab.compare(run("x[0] + x[1]"), run("x[1] + x[0]"))
    assert equal.other_bits == equal.other_trees == 0 and "equal, so are the bits for all inputs" in repr(
        equal
    )
    with pytest.raises(ptxlab.PtxlabError, match="two of one type, with rows of one shape"):
        ptxlab.compare(fused, _split(1))


def test_the_same_row_in_two_batches() -> None:
    """Outputs of 1 and 3 rows: row 0 is compared."""
    text = """__global__ void rows(const float* x, float* y) {
        for (int n = 0; n < 2; ++n)
            y[blockIdx.x * 2 + n] = gridDim.x > 1 ? x[blockIdx.x * 4] + x[blockIdx.x * 4 + n]
                                                  : x[n] + (x[1] + x[2]);
    }"""
    x, kernel = np.random.default_rng(3).standard_normal((3, 4)).astype(_F), ptxlab.kernel(text)
    runs = [kernel.run(batch, 1, x[:batch].copy(), np.zeros((batch, 2), _F)) for batch in (1, 3, 2)]
    found = ptxlab.compare(runs[0], runs[1])
    assert found.elements == found.other_trees == 2 and found.element == (0, 0)
    assert ptxlab.compare(runs[1], runs[2]).other_trees == 0


def test_chips_are_compared() -> None:
    """sm_80 adds 8 products in one step, sm_90 adds 16: the first step differs in every element that does."""
    size = 64
    A, B = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float16).view(np.uint16)
    kernel = ptxlab.kernel((_KERNELS / "gemm_mma_swizzled.cu").read_text(encoding="utf-8"), "gemm")
    one, two = (
        kernel.run(1, 128, A, B, np.zeros((size, size), _F), size, size, size, model=model)
        for model in ("sm_80", "sm_90")
    )
    found = ptxlab.compare(one, two)
    assert found.other_trees == size * size >= found.other_bits > 0 and found.trees is not None
    assert [tree.depth for tree in found.trees] == [4, 4]
    operation = found.trees[0].first[0]
    assert operation.opcode.startswith("mma.sync") and operation.operands[0] == "0"
    row, column = found.element or (0, 0)
    assert operation.operands[1:3] == (f"argument 1[{row * size}]", f"argument 2[{column * size}]")
    assert found.causes == ("steps of the tensor core",)
    assert found.sentence.endswith(
        "the first sums 64 products in 8 steps of 8, the second sums 64 products in 4 steps of 16."
    )
    exact = sum(
        Fraction(float(a)) * Fraction(float(b)) for a, b in zip(*_halves(A[row], B[column]), strict=True)
    )
    for side, tree in enumerate(found.trees):
        value = np.float32(found.values[side]) if found.values else np.float32(0)
        unit = Fraction(2) ** (math.frexp(float(value))[1] - 24)
        assert tree.error == pytest.approx(float((Fraction(float(value)) - exact) / unit), abs=1e-9)
        trace = found.trace(side)
        assert trace.chip == ("sm_80", "sm_90")[side]
    assert found.trace(0).value != found.trace(1).value  # the first step whose results differ
    page = found._repr_html_() or ""
    assert page.count("The first that the other launch has not") == 2 and "Why?" in page


def _halves(*codes: Any) -> Any:
    return (code.view(np.float16) for code in codes)


@pytest.mark.parametrize(
    ("one", "two", "causes", "orders"),
    [
        ("(x[0] + x[1]) + x[2]", "x[0] + (x[1] + x[2])", ("order of terms",), None),
        (
            "((x[0] + x[1]) + x[2]) + x[3]", "(x[0] + x[1]) + (x[2] + x[3])", ("grouping",),
            ("4 terms one after another", "2 sums in pairs, each of 2 terms one after another"),
        ),
        ("x[0] * x[1] + x[2]", "__fadd_rn(__fmul_rn(x[0], x[1]), x[2])", ("contraction",), None),
        ("x[0] + x[1]", "__fadd_rz(x[0], x[1])", ("rounding",), None),
        ("x[0] / x[1]", "__fdividef(x[0], x[1])", ("approximation",), None),
        ("x[0] + x[1]", "x[0] + x[2]", ("other terms",), None),
        ("x[0] + x[1] + x[2]", "(float)((double)x[0] + x[1] + x[2])", ("precision",), None),
    ],
)  # fmt: skip
def test_causes(one: str, two: str, causes: tuple[str, ...], orders: tuple[str, str] | None) -> None:
    x = np.random.default_rng(1).standard_normal(8).astype(_F)
    runs = [
        ptxlab.kernel(f"__global__ void sum(const float* x, float* y) {{ *y = {text}; }}").run(
            1, 1, x, np.zeros(1, _F)
        )
        for text in (one, two)
    ]
    found = ptxlab.compare(*runs)
    assert set(causes) <= set(found.causes) and found.trees is not None
    if orders is not None:
        assert tuple(tree.order for tree in found.trees) == orders


def test_errors_of_a_sum() -> None:
    """The error is that of exact arithmetic, and the operations' own roundings add up to it."""
    x = np.random.default_rng(2).standard_normal((1, 96)).astype(_F)
    split = _of("split").run((1, 1), 1, x, np.zeros(1, _F), 96, 1)
    parts = _of("split").run((1, 3), 1, x, np.zeros(1, _F), 96, 3)
    found = ptxlab.compare(split, parts)
    assert found.trees is not None and found.values is not None and found.drawn is not None
    exact = math.fsum(x[0].tolist())
    chain = found.trees[0]
    total = _F(0)
    for number in x[0]:
        total += number
    unit = float(np.spacing(np.abs(total)))
    assert (
        float(found.values[0]) == pytest.approx(float(total)) and chain.order == "96 terms one after another"
    )
    assert chain.error == pytest.approx((float(total) - exact) / unit, abs=1e-6)
    assert chain.other_orders["one after another"] == pytest.approx(chain.error)
    assert abs(chain.other_orders["with Kahan's correction"]) <= 1
    tree = ElementTree(split, int(split.reduction().fingerprints[0]))
    roundings = [tree.rounded(history) for history in tree.nodes]
    assert sum(rounding for rounding in roundings if rounding is not None) / Fraction(unit) == pytest.approx(
        Fraction(chain.error or 0), abs=1e-6
    )
    assert found.trees[1].order == "3 sums as they arrive, each of 32 terms one after another"
    assert "order of atomic operations" in found.causes


@pytest.mark.parametrize(
    ("name", "wide"),
    [("triton_per_fused_sum_0", 1), ("triton_per_fused__softmax_exp_prepare_softmax_online_sub_0", 1024)],
)
def test_rows_of_inductor_do_not_depend_on_their_batch(name: str, wide: int) -> None:
    """A sum and a softmax of 1,024 columns, a warp for each row, as Inductor compiles them."""
    with lzma.open(Path(__file__).parents[2] / "benchmarks" / "inductor_kernels.json.xz") as file:
        launches = json.load(file)
    recorded = next(
        launch for launch in launches if launch["kernel"] == name and launch["args"][0] == ["u4", 4194304]
    )
    kernel = ptxlab.kernel(recorded["ptx"], name)

    def launch(batch: int) -> Any:
        arrays = np.ones((batch, 1024), _F), np.zeros((batch, wide), _F)
        return kernel.run(batch, 32, *arrays, batch, 1024, 0, 0, shared=recorded["shared"])

    found = ptxlab.invariant(launch, over={"batch": [1, 2, 5]})
    assert found and found.rows == 8 and found.scope == "all inputs"


INDUCTOR = json.loads(lzma.decompress((GOLDEN / "inductor_batches.json.xz").read_bytes()))


@pytest.mark.parametrize("function", one_in(4, list(INDUCTOR["other_bits"]), 2))
def test_inductor_for_two_batches(function: str) -> None:
    """Row 0 as torch.compile made it for batches of 1 and 8 has an H200's bits, and differs where that did.

    The autotuner may choose another part of a row for each step, and then the trees differ.
    """
    columns, rng = INDUCTOR["columns"], np.random.default_rng(INDUCTOR["seed"])
    arrays = {"x": rng.standard_normal((8, columns)).astype(_F)[:1]}
    arrays |= {name: rng.standard_normal(columns).astype(_F) for name in ("w", "b")}
    runs, rows = [], []
    for launch in (launch for launch in INDUCTOR["launches"] if launch["function"] == function):
        own = {**arrays, "y": np.zeros((1, launch["width"]), _F)}
        arguments = [own.get(word, word) for word in launch["arguments"]]
        kernel = ptxlab.kernel(launch["ptx"], launch["kernel"])
        kernel.simulate(1, 32 * launch["warps"], *arguments, shared=launch["shared"])
        assert hashlib.sha256(own["y"].tobytes()).hexdigest() == launch["sha256"]
        rows.append(own["y"].view(np.uint32))
        output = launch["arguments"].index("y") + 1
        runs.append(kernel.run(1, 32 * launch["warps"], *arguments, shared=launch["shared"], output=output))
    other_bits = int((rows[0] != rows[1]).sum())
    one, eight = (run.reduction() for run in runs)
    other_trees = int((one.fingerprints != eight.fingerprints).sum())
    assert other_bits == INDUCTOR["other_bits"][function] <= other_trees
    assert other_trees in (0, rows[0].size)
    if function == "layer norm":
        found = ptxlab.compare(*runs)
        assert found.causes == ("grouping",) and found.other_bits == other_bits
        assert "3,002 numbers, some of them often" in found.sentence


def test_random_kernels() -> None:
    """Equal fingerprints have equal bits; the command of the module tries 10,000."""
    counts = tried(120, seed=7)
    assert counts["kernels"] == 120 and counts["elements with a known tree"] > 100


@pytest.mark.parametrize(
    ("arguments", "named", "sentence"),
    [
        ((1, 1, np.ones(8, _F), np.zeros(1, _F)), {"output": 3}, "output=3: it is the number of an argument"),
        ((1, 1, np.ones(8, _F), np.zeros(1, _F)), {"rows": {7: 2}}, "argument 7 is no array"),
        ((1, 1, np.ones(8, _F), np.zeros(1, _F)), {"rows": 3}, "it takes {number of an argument"),
        ((1, 1, np.ones(8, _F), np.zeros(1, _F)), {"model": "sm_1"}, "model='sm_1': there are"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], named: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ptxlab.PtxlabError, match=".*".join(sentence.split("{"))):
        _of("race").run(*arguments, **named)
    with pytest.raises(ptxlab.PtxlabError, match="one parameter and its values"):
        ptxlab.invariant(_split, over={})
    nothing = ptxlab.kernel("__global__ void nothing(float* x) {}").run(1, 1, np.zeros(1, _F))
    with pytest.raises(ptxlab.PtxlabError, match="writes none of its arrays"):
        nothing.reduction()
