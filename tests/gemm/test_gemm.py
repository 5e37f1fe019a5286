"""The ladder of GEMM kernels: bits of `matmul`, no hazards, refusals; on a GPU any shape from 1 to 300."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError, gemm, gpu
from ptxlab.gemm.packed_matrices import pack_source
from ptxlab.gemm.source import source_files
from ptxlab.isa.mma import Instruction
from ptxlab.isa.parse import parse_mma
from ptxlab.memory import Tile
from tests.cases import each, refusal

WGMMA = "wgmma.mma_async.sync.aligned"
E4M3 = f"{WGMMA}.m64n256k32.f32.e4m3.e5m2"
S8 = f"{WGMMA}.m64n256k32.s32.s8.u8"
TF32 = f"{WGMMA}.m64n256k8.f32.tf32.tf32"
BF16 = f"{WGMMA}.m64n256k16.f32.bf16.bf16"
F16_IN_F16 = f"{WGMMA}.m64n256k16.f16.f16.f16"
MMA_F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
MMA_E4M3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"

Matrix = NDArray[Any]


def problem(ins: Instruction, m: int, n: int, k: int, seed: int = 0) -> tuple[Matrix, Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    matrices = []
    for operand, shape in ((ins.a, (m, k)), (ins.b, (k, n)), (ins.c, (m, n))):
        values: Matrix = rng.standard_normal(shape)
        if not operand.dtype.is_float:
            values = rng.integers(operand.dtype.minimum, operand.dtype.maximum, shape, endpoint=True)
        matrices.append(operand.dtype.decode(operand.dtype.encode(values)))
    return matrices[0], matrices[1], matrices[2]


#: Small tiles, so that the simulator is quick; blocks on four processors compute several tiles each.
CASES: list[tuple[int, str | None, dict[str, int], tuple[int, int, int]]] = [
    (1, None, {}, (17, 11, 38)),
    (2, None, {"block_m": 32, "block_n": 32}, (35, 31, 70)),
    (3, None, {"block_m": 32, "block_n": 32}, (31, 35, 70)),
    (4, None, {"block_m": 32, "block_n": 64}, (33, 31, 70)),
    (5, None, {"block_m": 32, "block_n": 32, "stages": 2}, (30, 34, 140)),
    (5, MMA_E4M3, {"block_m": 16, "block_n": 16, "warps_m": 1, "warps_n": 1}, (10, 12, 40)),
    (6, None, {"block_m": 64, "block_n": 32, "stages": 2}, (70, 30, 200)),
    (7, None, {"block_m": 64, "block_n": 32, "stages": 2}, (70, 33, 200)),
    (8, None, {"block_m": 64, "block_n": 32, "stages": 2}, (70, 37, 200)),
    (9, E4M3, {"block_n": 8, "stages": 2, "block_m": 64}, (70, 21, 150)),
    (10, S8, {"block_m": 64, "block_n": 32, "stages": 2}, (350, 37, 150)),
    (11, None, {"block_m": 64, "block_n": 32, "stages": 2}, (300, 70, 150)),
    (12, None, {"block_m": 64, "block_n": 32, "stages": 2, "group": 3}, (550, 70, 40)),
    (12, E4M3, {"block_n": 32, "stages": 2, "cluster_m": 1}, (70, 61, 150)),
    (12, S8, {"block_n": 32, "stages": 3, "cluster_m": 1, "cluster_n": 2}, (64, 70, 150)),
    (12, TF32, {"block_n": 32, "block_m": 128, "tiles_m": 2, "stages": 2}, (130, 30, 36)),
    (12, BF16, {"block_m": 64, "block_n": 64, "cluster_m": 1, "b_by_rows": 1, "stages": 2}, (20, 70, 70)),
    (12, F16_IN_F16, {"block_m": 64, "block_n": 64, "stages": 2, "cluster_n": 2}, (20, 70, 40)),
]


@pytest.mark.parametrize(("number", "form", "constants", "size"), CASES)
def test_simulated_bits(
    number: int, form: str | None, constants: dict[str, int], size: tuple[int, int, int]
) -> None:
    rung = gemm.rung(number, form, **constants)
    A, B, C = problem(rung.form, *size)
    start = C if number % 2 else None
    D, result = rung.simulate(A, B, start, processors=4)
    assert D.tobytes() == ptxlab.matmul(A, B, start, instruction=rung.form).astype(D.dtype).tobytes()
    assert not result.hazards
    assert bool(result.conflicts) == (number == 2)  # rung 3 is about them


def test_promotion_adds_parts_in_f32() -> None:
    rung = gemm.rung(12, E4M3, block_n=32, stages=2, cluster_m=1, promote=2)
    A, B, C = problem(rung.form, 20, 30, 600)
    D, result = rung.simulate(A, B, C)
    expected = C.copy()
    for k in range(0, 600, 256):
        expected += ptxlab.matmul(A[:, k : k + 256], B[k : k + 256], instruction=rung.form)
    assert D.tobytes() == expected.tobytes() and not result.hazards


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_results_may_be_rounded(result: str) -> None:
    rung = gemm.rung(7, result=result, block_m=64, block_n=32)
    A, B, _ = problem(rung.form, 20, 11, 40)
    D, _ = rung.simulate(A, B)
    exact = ptxlab.matmul(A, B, instruction=rung.form)
    assert D.tobytes() == exact.astype(ptxlab.dtype(result).numpy_type).tobytes()


def test_the_descriptor_is_that_of_a_swizzled_tile() -> None:
    calls = "out[0] = descriptor(0x12420); out[1] = descriptor_along_n(0x12400 + 16 * 128);"
    source = f'{source_files()["ptx.cuh"]}\nextern "C" __global__ void ask(uint64_t* out) {{ {calls} }}'
    out = np.zeros(2, dtype=np.uint64)
    ptxlab.kernel(source).simulate(1, 1, out)
    assert out[0] == Tile(bits=8, rows=64, k=128, major="K", swizzle=128).descriptor(0x12400, k=32)
    along_n = Tile(bits=16, rows=256, k=64, major="MN", swizzle=128, order="K")
    assert out[1] == along_n.descriptor(0x12400, k=16)


@pytest.mark.parametrize("number", [9, 10, 12])
def test_wgmmas_are_not_waited_for_one_by_one(number: int) -> None:
    """ptxas serialises them if it finds accumulators moved while a wgmma is under way."""
    rung = gemm.rung(number, result="f16")
    sass = gpu.disassemble(ptxlab.gpu.compiler.compile_kernel(rung.source, "sm_90a")[0])
    assert sass.count(f"HGMMA.64x{rung.block_n}x16.F32") == 8 and sass.count("WARPGROUP.DEPBAR") == 2
    assert "STL" not in sass


@pytest.mark.parametrize("name", ["f16", "tf32"])
@pytest.mark.parametrize("transposed", [False, True])
def test_rows_are_packed(name: str, transposed: bool) -> None:
    x = (
        np.random.default_rng(0)
        .standard_normal((70, 90))
        .astype(np.float32 if name == "tf32" else np.float16)
    )
    lying = np.ascontiguousarray(x.T if transposed else x)
    out = np.full((70, 96), 7, dtype=ptxlab.dtype(name).code_type)
    ins = parse_mma(TF32 if name == "tf32" else MMA_F16)
    steps = (1, 70) if transposed else (90, 1)
    result = ptxlab.kernel(pack_source(x.itemsize, name == "tf32"), "pack").simulate(
        4, 256, lying, *steps, out, 70, 90, 96
    )
    assert (out[:, :90] == ins.a.dtype.encode(x)).all() and not out[:, 90:].any() and not result.hazards


def test_a_rung_serves_what_has_the_same_arithmetic() -> None:
    def chosen(name: str, m: int = 8192, n: int = 8192, target: str = "sm_90a") -> tuple[int, str] | None:
        rung = gemm.best_rung(name, target, m, n)
        return None if rung is None else (rung.number, rung.form.shape)

    assert chosen(MMA_F16) == (12, "m64n256k16")
    assert chosen(MMA_F16, 512, 512) == (12, "m64n128k16")  # more tiles, more multiprocessors at work
    assert chosen(MMA_F16, target="sm_80") == (5, "m16n8k16")
    assert chosen(MMA_E4M3) == (5, "m16n8k32")  # through f16 on sm_90, unlike wgmma
    assert chosen("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32") == (12, "m64n256k32")
    assert chosen("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32") == (5, "m16n8k32")
    assert chosen("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32") is None  # rounds twice as often
    assert chosen("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32") == (5, "m16n8k64")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gemm.rung(13), "the ladder has rungs 1, 2, "),
        (lambda: gemm.rung(12, MMA_F16), "rung 12 is a kernel of wgmma, found mma.sync"),
        (lambda: gemm.rung(12, warps=3), "rung 12 has no constant 'warps'; there are block_m"),
        (lambda: gemm.rung(12, stages=5), "rung 12 with these constants takes 278608 bytes of shared memory"),
        (lambda: gemm.rung(12, S8, promote=1), "only f32 is promoted"),
        (lambda: gemm.rung(12, block_n=100), "m64n100k16"),
        (lambda: gemm.rung(12, block_n=24), "block_n=24; it takes multiples of 32, what clusters share"),
        (
            lambda: gemm.rung(12, block_m=100),
            "block_m=100; it takes multiples of 64, the rows of a warpgroup",
        ),
        (lambda: gemm.rung(5, stages=1), "rung 5: stages=1; a pipeline has at least 2"),
        (lambda: gemm.rung(5, block_n=40), "block_n=40; it takes multiples of 32"),
        (lambda: gemm.rung(12, S8, b_by_rows=1), "b_by_rows: wgmma transposes 16-bit types only, not s8"),
        (lambda: gemm.rung(12, cluster_m=0), "rung 12: cluster_m must be at least 1"),
        (lambda: gemm.rung(12, result="s32"), "result='s32': accumulators of f32 are stored as f32, f16"),
        (
            lambda: gemm.rung(5, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
            "takes 16 bytes of a row; the ladder's kernels go along K in steps of 32",
        ),
        (
            lambda: gemm.rung(1).call(np.ones((2, 3)), np.ones((4, 5))),
            "A needs as many columns as B has rows",
        ),
        (lambda: gemm.rung(1).call(np.ones((2, 3)), np.ones((3, 0))), "nothing to compute"),
        (lambda: gemm.rung(1).call(np.ones(3), np.ones((3, 0))), "A: found shape"),
        (lambda: gemm.rung(1).call(np.ones((2, 3)), np.ones((3, 4)), np.ones((2, 3))), "C is 2x3"),
    ],
)
def test_refusals_say_what_is_wrong(make: Any, sentence: str) -> None:
    assert sentence in refusal(make)


@pytest.mark.gpu
def test_any_shape_on_the_gpu() -> None:
    rng = np.random.default_rng(5)
    forms = [(number, None) for number in range(1, 13)] + [(5, MMA_E4M3)]
    forms += [(number, form) for number in (7, 9, 10, 12) for form in (E4M3, S8, TF32)]
    for number, form in forms:
        rung = gemm.rung(number, form)
        if not gpu.available(rung.form):
            continue
        for size in rng.integers(1, 301, (3, 3)).tolist():
            A, B, C = problem(rung.form, *size)
            expected = ptxlab.matmul(A, B, C, instruction=rung.form)
            assert rung(A, B, C).tobytes() == expected.tobytes(), (number, form, size)
            matrix = ptxlab.matmul(A, B, C, instruction=rung.form, on="gpu")
            assert matrix.tobytes() == expected.tobytes(), (form, size)


@each("sizes", [(0, 8), (8, -1), (1.5, 8), (8, None), (8, 8, 0), ("8", 8)])
def test_grids_of_products_that_are_none(sizes: tuple[Any, ...]) -> None:
    with pytest.raises(PtxlabError, match="each is at least 1|it takes a whole number"):
        gemm.rung(1).grid(*sizes)
