"""Sparse products: the order of metadata, pruning, compressing, the kernels; and elements of 1 and 4 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab
from ptxlab import gemm
from ptxlab.gemm.compressed import CompressedMatrix, compress_kernel, violation_sentence
from ptxlab.gemm.source import source_files
from ptxlab.gemm.sparse import has_kernel, sparse_rung
from ptxlab.isa.dtypes import dtype
from ptxlab.isa.parse import parse_mma
from ptxlab.memory import pack_metadata, unpack_metadata
from tests.cases import refuses
from tests.texts import replaced

WGMMA = "wgmma.mma_async.sp.sync.aligned."
MMA = "mma.sp::ordered_metadata.sync.aligned."
DENSE = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
F16, S8 = f"{WGMMA}m64n64k32.f32.f16.f16", f"{WGMMA}m64n64k64.s32.s8.s8"
TF32 = f"{WGMMA}m64n64k16.f32.tf32.tf32"


def _values(form: ptxlab.Instruction, m: int, n: int, k: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A with the structure and B, both as values of the instruction's types."""
    rng = np.random.default_rng(seed)
    chunk = form.structure.chunk
    left = form.structure.prune(rng.standard_normal((m, -(-k // chunk) * chunk)))[:, :k]
    right = rng.standard_normal((k, n))
    if not form.a.dtype.is_float:
        scale = 2.0 ** (form.a.dtype.bits - 3)
        left, right = (np.clip(np.trunc(scale * matrix), -scale, scale) for matrix in (left, right))
    matrices = []
    for operand, values in ((form.a, left), (form.b, right)):
        codes = operand.dtype.encode(values.astype(np.float32).astype(operand.dtype.value_type))
        matrices.append(np.asarray(operand.dtype.decode(codes)))
    return matrices[0], matrices[1]


def test_one_order_of_metadata_serves_every_instruction_of_an_element_size() -> None:
    rng = np.random.default_rng(0)
    orders: dict[tuple[str, int], NDArray[Any]] = {}
    samples: dict[str, NDArray[Any]] = {}
    for family in ("mma.sp", "wgmma.sp"):
        for form in ptxlab.catalog(family=family)[::7]:
            structure = form.structure
            nibbles = samples.setdefault(
                structure.name, rng.choice(sorted(structure.nibbles), (128, 32)).astype(np.uint8)
            )
            words = pack_metadata(form, nibbles)
            known = orders.setdefault((structure.name, form.a.dtype.bits), words)
            assert (words == known).all(), form
            assert (unpack_metadata(form, words) == nibbles).all(), form


def test_the_order_is_the_one_that_the_sources_state() -> None:
    """compress.cu: 16 bits, chunks 4q..4q+3 of rows g and g + 8; 8 bits, chunks 8h..8h+7 of one row."""
    rng = np.random.default_rng(1)
    nibbles = rng.choice([4, 8, 9, 12, 13, 14], (64, 16)).astype(np.int64)
    lane = np.arange(128) % 32
    warp, g, q = np.arange(128) // 32, lane // 4, lane % 4
    wide = [nibbles[16 * warp + g + 8 * (i // 4), 4 * q + i % 4] << 4 * i for i in range(8)]
    narrow = [nibbles[16 * warp + g + 8 * (lane % 2), 8 * (lane // 2 % 2) + i] << 4 * i for i in range(8)]
    for form, expected in ((F16, wide), (S8, narrow)):
        assert (pack_metadata(form, nibbles)[0, 0].view(np.uint32) == sum(expected)).all()


@pytest.mark.parametrize("name", ["f16", "e5m2", "s8", "tf32"])
@pytest.mark.slow
def test_the_kernel_compresses_as_the_host_does(name: str) -> None:
    k_step = {"f16": 32, "e5m2": 64, "s8": 64, "tf32": 16}[name]
    result = "s32" if name == "s8" else "f32"
    form = ptxlab.instruction(f"{WGMMA}m64n8k{k_step}.{result}.{name}.{name}")
    element = dtype(name)
    for seed, (m, k) in enumerate([(70, 96), (3, 33)]):
        values, _ = _values(form, m, 8, k, seed)
        values[0, :4] = [-0.0, 0.0, 0.0, 0.0]
        expected = ptxlab.compress(values, form)
        codes = np.ascontiguousarray(element.encode(values), dtype=element.code_type)
        stored = np.zeros(expected.stored.shape, dtype=element.code_type)
        metadata = np.zeros_like(expected.metadata)
        violations = np.array([2**64 - 1, 0], dtype=np.uint64)
        magnitude = {"f16": 0x7FFF, "e5m2": 0x7F, "s8": 0xFF, "tf32": 0x7FFFE000}[name]
        result = compress_kernel(element.bits).simulate(
            (metadata.shape[1], metadata.shape[0]), 128,
            codes, m, k, k, magnitude, stored, metadata, violations,
        )  # fmt: skip
        assert result.hazards == []
        assert (stored == expected.stored.view(element.code_type)).all()
        assert (metadata == expected.metadata).all()
        assert violations[1] == 0


def test_the_kernel_says_where_the_structure_is_broken() -> None:
    form = ptxlab.instruction(F16)
    values = np.zeros((70, 40), dtype=np.float32)
    values[66, 4:7] = values[67, 8:12] = 1
    with pytest.raises(ptxlab.PtxlabError) as caught:
        ptxlab.compress(values, form)
    codes, violations = values.astype(np.float16).view(np.uint16), np.array([2**64 - 1, 0], dtype=np.uint64)
    stored, metadata = np.zeros((70, 32), dtype=np.uint16), np.zeros((2, 1, 128), dtype=np.int32)
    compress_kernel(16).simulate((1, 2), 128, codes, 70, 40, 40, 0x7FFF, stored, metadata, violations)
    sentence = violation_sentence(form.structure, 40, int(violations[0]), int(violations[1]))
    assert sentence == str(caught.value)


def test_the_kernel_prunes_as_the_host_does() -> None:
    source = source_files()["compress.cu"]
    special = np.array([np.nan, np.inf, -np.inf, 1, 2, -2, 2, 2, 0, -0.0, 0, 5e-8, 7, 6, -6, 6])
    cases = (
        (F16, "unsigned short", np.concatenate([special] * 4).astype(np.float16), 0, 0x7C00),
        (TF32, "unsigned int", np.concatenate([special] * 4).astype(np.float32), 0, 0x7F800000),
        (S8, "unsigned char", np.arange(-128, 128).astype(np.int8)[np.arange(256) * 37 % 256], 1, 0),
    )
    for form, code, values, kind, infinity in cases:
        expected = ptxlab.prune(values[None], form)[0]
        codes = values.view(f"u{values.itemsize}")
        pruned = np.ones_like(codes)
        ptxlab.kernel(source, f"prune<{code}>").simulate(
            1, 64, codes, pruned, codes.size // ptxlab.instruction(form).structure.chunk, kind, infinity
        )
        assert (pruned == expected.view(codes.dtype)).all()


@pytest.mark.parametrize(
    ("spelling", "shape", "constants"),
    [
        (F16, (130, 70, 200), {"block_m": 128, "tiles_m": 1, "block_n": 64, "stages": 3}),
        (
            f"{WGMMA}m64n64k32.f16.f16.f16",
            (70, 100, 90),
            {"block_m": 64, "tiles_m": 1, "block_n": 128, "b_by_rows": 1},
        ),
        (
            f"{WGMMA}m64n64k64.f32.e4m3.e5m2",
            (200, 40, 600),
            {"block_n": 64, "cluster": 1, "steps": 4, "stages": 3},
        ),
        (S8, (70, 70, 300), {"block_m": 64, "tiles_m": 1, "block_n": 64, "cluster": 2, "stages": 2}),
        (TF32, (70, 40, 90), {"block_m": 64, "tiles_m": 1, "block_n": 64, "stages": 2}),
        (f"{MMA}m16n8k32.row.col.f32.bf16.bf16.f32", (70, 70, 300), {"block_m": 64, "block_n": 64}),
        (f"{MMA}m16n8k16.row.col.f32.tf32.tf32.f32", (70, 40, 90), {"block_m": 64, "block_n": 64}),
        (f"{MMA}m16n8k64.row.col.s32.s8.s8.s32", (70, 40, 300), {"block_m": 64, "block_n": 64, "stages": 2}),
    ],
)
@pytest.mark.slow
def test_a_simulated_kernel_equals_matmul(
    spelling: str, shape: tuple[int, int, int], constants: dict[str, int]
) -> None:
    form = ptxlab.instruction(spelling)
    m, n, k = shape
    left, right = _values(form, m, n, k, 7)
    start = np.arange(m * n).reshape(m, n) % 100
    product, result = sparse_rung(form, **constants).simulate(left, right, start, processors=2, show=False)
    expected = ptxlab.matmul(left, right, start, instruction=form, show=False)
    assert result.hazards == []
    assert (product == expected).all()


@pytest.mark.parametrize(
    ("spelling", "values"), [("k64.row.col.s32.s4.u4.s32", 8), ("k256.row.col.s32.b1.b1.s32.xor.popc", 2)]
)
@pytest.mark.slow
def test_elements_of_a_few_bits_share_bytes_on_rung_5(spelling: str, values: int) -> None:
    form = ptxlab.instruction(f"mma.sync.aligned.m16n8{spelling}")
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, values, (40, 301)), rng.integers(0, values, (301, 30))
    if form.a.dtype.signed:
        left = left - 8
    product, result = gemm.rung(5, form, block_m=32, block_n=32).simulate(left, right, show=False)
    assert result.hazards == []
    assert (product == ptxlab.matmul(left, right, instruction=form, show=False)).all()
    bits = form.a.dtype.bits
    pitch = -(-301 * bits // 128) * 4
    for array, steps in ((left.astype(np.uint8), (301, 1)), (left.T.astype(np.uint8).copy(), (1, 40))):
        packed = np.zeros((40, pitch), dtype=np.uint32)
        ptxlab.kernel(source_files()["pack_bits.cu"], f"pack_bits<{bits}>").simulate(
            -(-40 * pitch // 256), 256, array, *steps, 40, 301, packed, pitch
        )
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        codes = packed[..., None] >> shifts & np.uint32((1 << bits) - 1)
        assert (codes.reshape(40, -1)[:, :301] == (left & ((1 << bits) - 1))).all()


def test_metadata_that_is_overwritten_while_a_wgmma_runs_is_a_hazard() -> None:
    """An H200 gave wrong products when it was."""
    rung = sparse_rung(S8, block_m=64, tiles_m=1, block_n=64, cluster=1)
    call = rung.call(np.zeros((64, 800)), np.ones((800, 64)))
    broken = replaced(rung.source, "        next(even);\n", "")
    broken = replaced(broken, "i + 1 < stages; i += 2", "i < stages; ++i")
    result = ptxlab.kernel(broken, "gemm").simulate(
        call.grid, call.block, *call.arguments, shared=call.shared, show=False
    )
    assert any(hazard.kind == "wgmma registers" and " write " in hazard.sentence for hazard in result.hazards)


def test_a_compressed_matrix_multiplies_like_the_dense_one() -> None:
    four_bits = "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
    for name, other in (
        ("m16n8k32.row.col.f32.f16.f16.f32", F16),
        ("m16n8k64.row.col.s32.s4.s4.s32", f"{MMA}m16n8k128.row.col.s32.s4.s4.s32"),
        (f"m16n8k128.row.col.{four_bits}", f"{MMA}m16n8k128.row.col.{four_bits}"),
    ):
        form = ptxlab.instruction(f"{MMA}{name}")
        left, right = _values(form, 20, 9, 70, 3)
        compressed = ptxlab.compress(left, form)
        assert (compressed.dense() == left).all()
        assert compressed.nbytes == compressed.stored.nbytes + compressed.metadata.nbytes
        expected = ptxlab.matmul(left, right, instruction=form, show=False)
        assert (ptxlab.matmul(compressed, right, instruction=form, show=False) == expected).all()
        copy = CompressedMatrix(compressed.stored, compressed.metadata, compressed.shape, parse_mma(other))
        assert (ptxlab.matmul(copy, right, instruction=form, show=False) == expected).all()


def test_what_does_not_fit_is_refused_with_a_sentence() -> None:
    compressed = ptxlab.compress(np.zeros((4, 8)), F16)
    cases = [
        (lambda: ptxlab.compress(np.zeros((4, 8)), DENSE), "is dense"),
        (lambda: ptxlab.compress(np.zeros(4), F16), r"found shape \(4,\)"),
        (lambda: ptxlab.matmul(compressed, np.zeros((8, 2)), instruction=S8), "elements of f16"),
        (lambda: ptxlab.matmul(compressed, np.zeros((9, 2)), instruction=F16), "A 4x8 and B 9x2"),
        (lambda: sparse_rung(F16, width=3), "no constant 'width'"),
        (lambda: sparse_rung(F16, stages=9), "bytes of shared memory"),
        (lambda: sparse_rung(f"{MMA}m16n8k16.row.col.f32.f16.f16.f32"), "steps of 32 bytes"),
        (lambda: compress_kernel(4), "bits=4"),
    ]  # fmt: skip
    for call, sentence in cases:
        refuses(sentence, call)


def test_the_best_tiles_depend_on_the_size() -> None:
    def tile(form: str, size: int) -> tuple[int, int]:
        rung = gemm.best_sparse_rung(form, "sm_90a", size, size)
        return rung.constants["BLOCK_M"], rung.constants["BLOCK_N"]

    assert [tile(F16, size) for size in (8192, 2048, 512)] == [(256, 192), (128, 256), (128, 128)]
    assert tile(f"{WGMMA}m64n64k32.f16.f16.f16", 8192) == (256, 256)


ON_THE_GPU = [
    F16,
    S8,
    TF32,
    f"{WGMMA}m64n64k64.f32.e4m3.e4m3",
    f"{WGMMA}m64n64k32.f32.bf16.bf16",
    f"{MMA}m16n8k32.row.col.f32.f16.f16.f32",
    f"{MMA}m16n8k64.row.col.s32.s8.s8.s32",
    f"{MMA}m16n8k16.row.col.f32.tf32.tf32.f32",
]
TORCH_TYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn", "s8": "int8"}


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.gpu
@pytest.mark.parametrize("spelling", ON_THE_GPU)
def test_any_shape_on_the_gpu(spelling: str, torch: Any, rng: np.random.Generator) -> None:
    """Pruned, compressed and as arrays of NumPy."""
    form = ptxlab.instruction(spelling)
    assert has_kernel(form)
    kind = getattr(torch, TORCH_TYPES[form.a_type])
    many_stages = (70, 40, 3000)
    shapes = [(1, 1, 1), *(tuple(map(int, rng.integers(1, 301, 3))) for _ in range(4)), many_stages]
    for trial, (m, n, k) in enumerate(shapes):
        left, right = _values(form, m, n, k, trial)
        if form.a_type == "tf32":  # rounded on the GPU as on the host
            left, right = (matrix * np.float32(1.0004) for matrix in (left, right))
        expected = ptxlab.matmul(left, right, instruction=form, show=False)
        A = torch.from_numpy(left.astype(np.float32)).to("cuda").to(kind)
        B = torch.from_numpy(right.astype(np.float32)).to("cuda").to(kind)
        if trial % 2:  # the columns of B are contiguous, 16 bytes apart or not
            B = B.t().contiguous().t()
        for matrix in (A, ptxlab.compress(A, form)):
            D = ptxlab.matmul(matrix, B, instruction=form, on="gpu")
            assert (D.cpu().numpy() == expected).all(), (m, n, k)
        assert (ptxlab.matmul(left, right, instruction=form, on="gpu") == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("spelling", ON_THE_GPU)
def test_a_product_of_nothing_is_what_it_is_added_to(spelling: str, torch: Any) -> None:
    form = ptxlab.instruction(spelling)
    kind = getattr(torch, TORCH_TYPES[form.a_type])
    nothing = [torch.zeros(shape, device="cuda").to(kind) for shape in ((5, 0), (0, 7))]
    start = torch.ones((5, 7), device="cuda").to(torch.float32 if form.a.dtype.is_float else torch.int32)
    assert (ptxlab.matmul(*nothing, start, instruction=form, on="gpu") == start).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("spelling", "values", "held"),
    [("k64.row.col.s32.s4.s4.s32", 8, "int8"), ("k256.row.col.s32.b1.b1.s32.and.popc", 2, "uint8")],
)
def test_dense_elements_of_a_few_bits_on_the_gpu(
    spelling: str, values: int, held: str, torch: Any, rng: np.random.Generator
) -> None:
    dense = f"mma.sync.aligned.m16n8{spelling}"
    left, right = rng.integers(0, values, (200, 301)), rng.integers(0, values, (301, 130))
    expected = ptxlab.matmul(left, right, instruction=dense, show=False)
    A, B = (torch.from_numpy(matrix).to("cuda").to(getattr(torch, held)) for matrix in (left, right))
    for transposed in (B, B.t().contiguous().t()):
        D = ptxlab.matmul(A, transposed, instruction=dense, on="gpu")
        assert (D.cpu().numpy() == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize(("spelling", "kind"), [(F16, "float16"), (TF32, "float32")])
def test_pruning_on_the_gpu(spelling: str, kind: str, torch: Any) -> None:
    weights = torch.randn((256, 512), device="cuda", dtype=getattr(torch, kind))
    pruned = ptxlab.prune(weights, spelling)
    assert (pruned.cpu().numpy() == ptxlab.prune(weights.cpu().numpy(), spelling)).all()


@pytest.mark.gpu
def test_compressing_on_the_gpu_says_where_the_structure_is_broken(torch: Any) -> None:
    with pytest.raises(ptxlab.PtxlabError, match="row 0, columns 0..3: 4 of the 4 values are non-zero"):
        ptxlab.compress(torch.ones((64, 64), device="cuda", dtype=torch.float16), F16)
