"""matmul against the same tiles one by one, against exact integers, and against the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, gpu
from ptxlab.instruction import mma_instructions
from ptxlab.isa.dtypes import DType
from tests.cases import each, refusal

NAMES = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.s4.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3",
)


def problem(
    name: str, m: int = 37, n: int = 19, k: int = 90
) -> tuple[Instruction, np.ndarray, np.ndarray, np.ndarray]:
    """Values that the instruction takes, A with its structure, in sizes that no tile divides."""
    ins, rng = ptxlab.instruction(name), np.random.default_rng(len(name))

    def random_values(dtype: DType, *shape: int) -> np.ndarray:
        if dtype.is_float:
            return dtype.decode(dtype.encode(rng.normal(size=shape) * 3)).astype(np.float64)
        return rng.integers(dtype.minimum, dtype.maximum, shape, endpoint=True)

    A = random_values(ins.a.dtype, m, k)
    B, C = random_values(ins.b.dtype, k, n), random_values(ins.c.dtype, m, n)
    if ins.structure is not None:
        columns = -(-k // ins.structure.chunk) * ins.structure.chunk
        A = ins.structure.prune(np.pad(A, ((0, 0), (0, columns - k))))[:, :k]
    return ins, A, B, C


def padded(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The matrix with zeros below and to the right, up to multiples of a tile's rows and columns."""
    return np.pad(matrix, ((0, -matrix.shape[0] % rows), (0, -matrix.shape[1] % columns)))


def by_tiles(ins: Instruction, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The plain loop over K, one tile and one instruction at a time."""
    rows = ins.d.shape[0]
    a, b, c = padded(A, rows, ins.k), padded(B, ins.k, ins.n), padded(C, rows, ins.n)
    d = np.zeros(c.shape, dtype=ins.d.dtype.value_type)
    for i in range(0, c.shape[0], rows):
        for j in range(0, c.shape[1], ins.n):
            accumulator = c[i : i + rows, j : j + ins.n]
            for k in range(0, a.shape[1], ins.k):
                right = np.tile(b[k : k + ins.k, j : j + ins.n], (1, ins.mma_count))
                accumulator = ins(a[i : i + rows, k : k + ins.k], right, accumulator)
            d[i : i + rows, j : j + ins.n] = accumulator
    return d[: A.shape[0], : B.shape[1]]


@pytest.mark.slow
@each("name", NAMES)
def test_the_same_as_one_tile_at_a_time(name: str) -> None:
    ins, A, B, C = problem(name)
    D = ptxlab.matmul(A, B, C, instruction=ins)
    assert D.dtype == ins.d.dtype.value_type
    assert D.tobytes() == by_tiles(ins, A, B, C).tobytes()


@pytest.mark.parametrize("shape", [(1, 1, 1), (16, 8, 16), (17, 9, 1), (200, 3, 40), (3, 200, 33)])
def test_integers_of_any_size_are_exact(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    A, B, C = rng.integers(-128, 128, (m, k)), rng.integers(0, 256, (k, n)), rng.integers(-1000, 1000, (m, n))
    ins = "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"
    assert (ptxlab.matmul(A, B, C, instruction=ins) == A @ B + C).all()
    assert (ptxlab.matmul(A, B, instruction=ins) == A @ B).all()


EMPTY = [(0, 3, 5), (4, 0, 5), (4, 3, 0), (0, 0, 5), (0, 3, 0), (4, 0, 0), (0, 0, 0)]


def check_empty(name: str, on: str) -> None:
    """No rows, no columns: no D. No K: D is C, or zero."""
    ins = ptxlab.instruction(name)
    for m, n, k in EMPTY:
        for input_type in (np.float64, np.int8, bool):
            A, B = np.zeros((m, k), input_type), np.zeros((k, n), input_type)
            C = np.arange(m * n).reshape(m, n) - 3
            for start, expected in ((None, 0 * C), (C, C)):
                D = ptxlab.matmul(A, B, start, instruction=ins, on=on)
                assert D.shape == (m, n) and D.dtype == ins.d.dtype.value_type
                assert np.array_equal(D, expected)


@each("name", NAMES)
def test_empty_products_of_every_kind(name: str) -> None:
    check_empty(name, "emulator")


@pytest.mark.gpu
@each("name", NAMES)
def test_empty_products_on_a_gpu(name: str) -> None:
    if not gpu.available(ptxlab.instruction(name)):
        pytest.skip("no GPU that has it")
    check_empty(name, "gpu")


def test_empty_products_with_scales() -> None:
    ins = next(ins for ins in mma_instructions("mma") if ins.kind == "mxf4" and ins.scale_vec == 2)
    for m, n, k in EMPTY:
        blocks = -(-k // 32)
        scales = {"scale_a": np.ones((m, blocks)), "scale_b": np.ones((blocks, n))}
        D = ptxlab.matmul(np.zeros((m, k)), np.zeros((k, n)), instruction=ins, **scales)
        assert D.shape == (m, n) and not D.any()


def test_block_scales_follow_their_blocks() -> None:
    ins = next(ins for ins in mma_instructions("mma") if ins.kind == "mxf4" and ins.scale_vec == 2)
    A, B = np.ones((20, 160)), np.ones((160, 10))
    scale_a, scale_b = np.ones((20, 5)), np.ones((5, 10))
    scale_a[3], scale_b[:, 7] = 2.0 ** np.arange(5), 0.5
    expected = np.full((20, 10), 160.0)
    expected[3] = 32 * 31
    expected[:, 7] /= 2
    assert (ptxlab.matmul(A, B, instruction=ins, scale_a=scale_a, scale_b=scale_b) == expected).all()


def test_each_step_over_k_rounds() -> None:
    """2^24 hides ones that come later, one step at a time."""
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    A, B = np.ones((16, 24)), np.zeros((24, 8))
    A[:, 0] = B[0] = 4096
    B[8], B[16] = 1, 1  # each alone in its step: 2^24 + 1 is cut to 2^24, twice
    assert ptxlab.matmul(A, B, instruction=ins)[0, 0] == 2**24
    B[9] = 1  # two in one step are added before the cut
    assert ptxlab.matmul(A, B, instruction=ins)[0, 0] == 2**24 + 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"A": np.ones((3, 4, 5))}, "A: found shape (3, 4, 5); it takes a matrix [rows, columns]"),
        ({"B": np.ones((17, 8))}, "A 16x16 and B 17x8: A needs as many columns as B has rows"),
        ({"C": np.ones((8, 16))}, "C is 8x16; A 16x16 times B 16x8 needs 16x8"),
        ({"scale_a": np.ones((16, 1))}, f"scale_a: {NAMES[0]} has no block scales"),
        (
            {"instruction": None},
            "instruction is missing: say which one computes the tiles, e.g. mma.sync.aligned.m16n8k16",
        ),
        ({"on": "moon"}, "on='moon': it runs on 'emulator' or on 'gpu'"),
        (
            {"on": "gpu", "model": "sm_80"},
            "model='sm_80': only the emulator (on='emulator') has models to choose from",
        ),
        (
            {"instruction": "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16"},
            "D of one step cannot be C of the next, since C is f16 and D is f32",
        ),
        (
            {"instruction": "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
            "row 0, columns 0..3: 4 of the 4 values are non-zero; 2:4 sparsity keeps at most 2",
        ),
        (
            {"instruction": "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "A": np.full((16, 16), 9)},
            "A: row 0, column 0: found 9; s4 holds -8..7",
        ),
    ],
)
def test_bad_input_gets_one_sentence(change: dict[str, Any], sentence: str) -> None:
    arguments = {"A": np.ones((16, 16)), "B": np.ones((16, 8)), "instruction": NAMES[0]}
    assert sentence in refusal(ptxlab.matmul, **arguments | change)


def test_a_bar_shows_and_an_interrupt_passes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ins, A, B, C = problem(NAMES[0])
    ptxlab.matmul(A, B, C, instruction=ins, show=True)
    assert "MMAs" in capsys.readouterr().err
    ptxlab.matmul(A, B, C, instruction=ins)
    assert capsys.readouterr().err == ""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ptxlab.gemm.matmul.emulate", stop)
    with pytest.raises(KeyboardInterrupt):
        ptxlab.matmul(A, B, C, instruction=ins)


@pytest.mark.gpu
@each("name", NAMES)
def test_the_gpu_gives_the_same_bits(name: str) -> None:
    ins, A, B, C = problem(name, 150, 70, 600)
    if not gpu.available(ins):
        pytest.skip("no GPU that has it")
    on_gpu = ptxlab.matmul(A, B, C, instruction=ins, on="gpu")
    assert on_gpu.tobytes() == ptxlab.matmul(A, B, C, instruction=ins).tobytes()
