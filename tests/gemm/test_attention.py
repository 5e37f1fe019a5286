"""The five kernels of attention; their bits on an H200 are in `tests/golden/kernels.json`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ptxlab import gemm, gpu
from ptxlab.gpu.compiler import compile_kernel
from tests.cases import refusal

Arrays = tuple[NDArray[np.float16], NDArray[np.float16], NDArray[np.float16]]


def problem(heads: int, sequence: int, head: int) -> Arrays:
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((heads, sequence, head)).astype(np.float16) for _ in range(3))
    return q, k, v


def exact(q: Any, k: Any, v: Any, *, causal: bool) -> NDArray[np.float64]:
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / math.sqrt(q.shape[2])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True) @ v.astype(np.float64)
    return result


@pytest.mark.parametrize(
    ("number", "heads", "sequence", "constants"),
    [
        (1, 2, 32, {"head": 32, "keys": 32}),
        (2, 1, 128, {"head": 64, "block_n": 32}),
        (3, 1, 128, {"head": 64, "block_n": 32}),
        (4, 1, 128, {"head": 64, "block_n": 64, "stages": 3}),
        (5, 1, 256, {"head": 64}),
    ],
)
def test_near_float64_and_without_hazards(
    number: int, heads: int, sequence: int, constants: dict[str, int]
) -> None:
    made = gemm.attention(number, **constants)
    q, k, v = problem(heads, sequence, made.head)
    output, result = made.simulate(q, k, v)
    reference = exact(q, k, v, causal=made.causal)
    assert np.linalg.norm(output - reference) < 5e-4 * np.linalg.norm(reference)
    assert not result.hazards and not result.conflicts


def test_when_data_comes_does_not_change_bits_and_how_blocks_are_cut_does() -> None:
    q, k, v = problem(1, 128, 64)
    plain, _ = gemm.attention(3, head=64, block_n=32).simulate(q, k, v)
    ring, _ = gemm.attention(4, head=64, block_n=32).simulate(q, k, v)
    wide, _ = gemm.attention(4, head=64, block_n=64).simulate(q, k, v)
    assert plain.tobytes() == ring.tobytes() != wide.tobytes()


def test_wgmmas_are_not_waited_for_one_by_one() -> None:
    """ptxas serialises them if it finds accumulators moved while a wgmma is under way."""
    sass = gpu.disassemble(compile_kernel(gemm.attention(5, causal=0).source, "sm_90a")[0])
    assert sass.count("HGMMA.64x128x16.F32") == 32 and sass.count("WARPGROUP.DEPBAR") == 4
    assert "STL" not in sass


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gemm.attention(6), "there are attention kernels 1, 2, 3"),
        (
            lambda: gemm.attention(2, causal=1),
            "attention 2 has no constant 'causal'; there are head, block_n",
        ),
        (lambda: gemm.attention(5, head=96), "attention 5: head=96; it takes multiples of 64"),
        (lambda: gemm.attention(5, block_n=64), "block_n=64; with a causal mask it takes 128"),
        (lambda: gemm.attention(4, stages=1), "stages=1; a ring has at least 2"),
        (lambda: gemm.attention(5, stages=8), "bytes of shared memory; a block has 232448"),
        (
            lambda: gemm.attention(2).simulate(*problem(1, 96, 128)),
            "a sequence of 96; it takes",
        ),
        (lambda: gemm.attention(1).simulate(*problem(1, 96, 128)), "a sequence of 96; it takes 64"),
        (
            lambda: gemm.attention(2).simulate(*problem(1, 64, 64)),
            "one shape [heads, sequence, 128]",
        ),
    ],
)
def test_refusals_say_what_is_wrong(make: Any, sentence: str) -> None:
    assert sentence in refusal(make)


@pytest.mark.gpu
def test_near_float64_on_the_gpu() -> None:
    for number in range(2, 6):
        made = gemm.attention(number)
        if gpu.device_target() not in ("sm_90a", *made.row.targets):
            continue
        q, k, v = problem(3, 1024, 128)
        reference = exact(q, k, v, causal=made.causal)
        assert np.linalg.norm(made(q, k, v) - reference) < 5e-4 * np.linalg.norm(reference), number
