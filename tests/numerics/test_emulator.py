"""The emulator against an exact scalar reference and plain integers; batches, models and refusals."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ptxlab import Instruction, inputs, instruction, models
from ptxlab.instruction import mma_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operand import Operand
from ptxlab.isa.operation import Operation
from ptxlab.numerics.emulate import emulate, model_of
from ptxlab.numerics.fused_plain import fused
from tests.cases import each, refuses
from tests.numerics import reference
from tests.sampling import one_in

SMALL = [ins for ins in mma_instructions() if ins.n == 8]
#: Of wmma one order in memory: it makes no difference in registers.
ONE_OF_EACH = [ins for ins in SMALL if ins.family != "wmma" or (ins.a_layout, ins.b_layout) == ("row", "col")]
INTEGER = [ins for ins in ONE_OF_EACH if not ins.a.dtype.is_float]
_FLOAT = [ins for ins in ONE_OF_EACH if ins.a.dtype.is_float and ins.kind not in ("mxf4", "mxf4nvf4")]
#: What sm_90a has is held to an H200's recorded results by test_golden.py: of those, one in three here.
FLOAT = [ins for ins in _FLOAT if not ins.supports("sm_90a")] + [
    ins for ins in _FLOAT if ins.supports("sm_90a")
][::3]
SCALED = [ins for ins in SMALL if ins.kind in ("mxf4", "mxf4nvf4")]


@pytest.mark.slow
@each("ins", FLOAT, ids=str)
def test_floats_equal_the_scalar_reference(ins: Instruction) -> None:
    rows, columns = ins.d.shape
    rule = model_of(ins).rule
    for category in one_in(12, inputs.categories(ins), FLOAT.index(ins)):
        operands = inputs.make(ins, category, 1, seed=3).item(0)
        d = ins.d.unpack_codes(emulate(operands))
        problem = reference.Problem(operands)
        for i in range(0, rows, rows // 8):
            for j in range(i % 3, columns, 4):
                expected = problem.expected(rule, i, j)
                assert d[i, j] == expected, f"{category} D[{i}][{j}]: 0x{d[i, j]:x}, not 0x{expected:x}"


@each("ins", INTEGER, ids=str)
@pytest.mark.slow
def test_integers_are_exact(ins: Instruction) -> None:
    for selector in ins.selectors or (0,):
        for category in one_in(9, inputs.categories(ins), INTEGER.index(ins)):
            batch = inputs.make(ins, category, 2, seed=5, selector=selector)
            for index in range(2):
                operands = batch.item(index)
                d = ins.d.unpack(emulate(operands))
                problem = reference.Problem(operands)
                for i, j in np.ndindex(ins.m, ins.n):
                    if (i + j) % 5 == 0:
                        assert d[i, j] == exact_integer(problem, i, j)


def exact_integer(problem: reference.Problem, row: int, col: int) -> int:
    """An element of D by Python's integers."""
    ins = problem.ins
    multiply = {None: operator.mul, "xor": operator.xor, "and": operator.and_}[ins.bit_op]
    total = signed(problem.c[row][col], "s32")
    for a, b in problem.pairs(row, col):
        total += multiply(signed(a, ins.a_type), signed(b, ins.b_type))
    if ins.satfinite:
        return min(max(total, -(2**31)), 2**31 - 1)
    return (total + 2**31) % 2**32 - 2**31


def signed(code: int, dtype: str) -> int:
    """The value of an integer code: two's complement in the types that begin with s."""
    bits = int(dtype[1:])
    return code - (1 << bits) if dtype.startswith("s") and code >> (bits - 1) else code


@pytest.mark.parametrize("ins", SCALED, ids=str)
def test_block_scaled_equals_the_published_algorithm(ins: Instruction) -> None:
    """MMA-Sim, arXiv 2511.10909: sums of 16 products times their scales, aligned by the scales' exponents."""
    assert ins.scale_a is not None
    assert ins.scale_b is not None
    for ids in [
        Modifiers(),
        Modifiers(thread_id_a=1, thread_id_b=3),
        Modifiers(byte_id_a=2, byte_id_b=2, thread_id_b=2),
    ]:
        if ins.scale_vec == 4 and ids.byte_id_a:
            continue
        rng = np.random.default_rng(4)
        operands = replace(
            inputs.make(ins, "moderate", 1, seed=11).item(0),
            scale_a=random_scales(ins, ins.scale_a, rng),
            scale_b=random_scales(ins, ins.scale_b, rng),
            modifiers=ids,
        )
        a_scales, b_scales = selected_scales(operands)
        d = ins.d.unpack_codes(emulate(operands))
        problem = reference.Problem(operands)
        for i in range(0, 16, 3):
            for j in range(8):
                pairs, c = problem.pairs(i, j), problem.c[i][j]
                scales = list(zip(a_scales[i], b_scales[j], strict=True))
                assert d[i, j] == fused(
                    pairs,
                    c,
                    ("e2m1", "e2m1", "f32"),
                    (35, 23, -126),
                    scales=scales,
                    scale_type=ins.scale_type,
                    block=16,
                )


def random_scales(ins: Instruction, operand: Operand, rng: np.random.Generator) -> np.ndarray:
    """Registers of block scales, random in all lanes and bytes, also in those that nothing selects."""
    low, high = (120, 134) if ins.scale_type == "ue8m0" else (8, 120)
    scales = rng.integers(low, high, (operand.lanes, operand.registers, 4), dtype=np.uint8)
    return scales.view(np.uint32)[..., 0]


def selected_scales(operands: Operation) -> tuple[list[list[int]], list[list[int]]]:
    """The scales of every row of A and every column of B, as the manual describes the selection."""
    assert operands.scale_a is not None and operands.scale_b is not None
    ids, count = operands.modifiers, operands.ins.scale_vec or 0
    a_registers, b_registers = operands.scale_a[:, 0].tolist(), operands.scale_b[:, 0].tolist()

    def scales(register: int, byte_id: int) -> list[int]:
        return [register >> 8 * (byte_id + block) & 0xFF for block in range(count)]

    a_lanes = [4 * (i % 8) + 2 * ids.thread_id_a + i // 8 for i in range(16)]
    b_lanes = [4 * j + ids.thread_id_b for j in range(8)]
    return (
        [scales(a_registers[lane], ids.byte_id_a) for lane in a_lanes],
        [scales(b_registers[lane], ids.byte_id_b) for lane in b_lanes],
    )


# -- matrices, batches, models ---------------------------------------------------------------------------


@each("ins", SMALL, ids=str)
@pytest.mark.slow
def test_matrices_in_matrices_out(ins: Instruction, rng: np.random.Generator) -> None:
    """Small whole numbers are exact in every type, so D must be NumPy's product."""
    top = 2 if ins.a_type == "b1" else 3
    A = rng.integers(0, top, (2, *ins.a_dense.shape))
    B = rng.integers(0, top, (2, *ins.b.shape))
    C = rng.integers(-5, 5, (2, *ins.c.shape))
    if ins.sparse:
        A = ins.prune(A)
    if ins.mma_count > 1:  # four products of their own
        products = [A[:, first : first + 8] @ B[:, :, first : first + 8] for first in range(0, 32, 8)]
        product = np.concatenate(products, axis=1)
    elif ins.bit_op == "xor":
        product = (A[:, :, :, None] != B[:, None, :, :]).sum(axis=2)
    else:
        product = A @ B
    np.testing.assert_array_equal(ins(A, B, C), product + C)


def test_batches_of_any_shape() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32")
    operands = inputs.make(ins, "bits", 12)
    a, b, c, e = operands.a, operands.b, operands.c, operands.e
    assert e is not None
    d = ins.emulate(a, b, c, e)
    reshaped = ins.emulate(*(array.reshape(3, 4, *array.shape[1:]) for array in (a, b, c, e)))
    np.testing.assert_array_equal(reshaped.reshape(d.shape), d)
    np.testing.assert_array_equal(ins.emulate(a[3], b[3], c[3], e[3]), d[3])
    assert ins.emulate(a[:, None], b[0], c[0], e[:, None]).shape == (12, 1, 32, 4)
    assert ins.emulate(a[:0], b[:0], c[:0], e[:0]).shape == (0, 32, 4)


def test_metadata_come_only_from_the_selected_lanes() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    operands = inputs.make(ins, "bits", 5, selector=1)
    a, b, c, e = operands.a, operands.b, operands.c, operands.e
    assert e is not None
    expected = ins.emulate(a, b, c, e, selector=1)
    e[:, [0, 1, 4, 5, 28, 29]] = 0xFFFFFFFF
    np.testing.assert_array_equal(ins.emulate(a, b, c, e, selector=1), expected)
    refuses("nibble 0b1111 is undefined", ins.emulate, a, b, c, e, selector=0)


def test_wgmma_modifiers() -> None:
    ins = instruction("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2")
    operands = inputs.make(ins, "moderate", 3)
    a, b, c, e = operands.a, operands.b, operands.c, operands.e
    default = ins.emulate(a, b, c, e)
    negated = ins.emulate(a ^ np.uint32(0x80808080), b, c, e)
    np.testing.assert_array_equal(ins.emulate(a, b, c, e, imm_scale_a=-1), negated)
    np.testing.assert_array_equal(ins.emulate(a, b, c, e, imm_scale_b=-1), negated)
    np.testing.assert_array_equal(ins.emulate(a, b, c, e, imm_scale_a=-1, imm_scale_b=-1), default)
    from_zero = ins.emulate(a, b, np.zeros_like(c), e)
    np.testing.assert_array_equal(ins.emulate(a, b, c, e, scale_d=False), from_zero)


def test_tf32_ignores_thirteen_bits() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    operands = inputs.make(ins, "exponents", 20)
    ignored = np.uint32(0x1FFF)
    np.testing.assert_array_equal(
        emulate(replace(operands, a=operands.a | ignored, b=operands.b | ignored)),
        emulate(replace(operands, a=operands.a & ~ignored, b=operands.b & ~ignored)),
    )


def test_models_say_how_they_are_known() -> None:
    assert {model.evidence for model in models()} <= {"measured", "published", "assumed"}
    assert all(model.source for model in models())
    for ins in mma_instructions():
        assert ins.emulate.__doc__
        expected = "assumed"
        if not ins.sparse and {ins.a_type, ins.b_type} <= {"e4m3", "e5m2", "e2m1"}:
            expected = "published"
        if (ins.scale_vec, ins.scale_type) == (4, "ue8m0"):  # PTX ISA 9.1; nobody has published it
            expected = "assumed"
        if ins.supports("sm_90a"):
            expected = "measured"
        assert model_of(ins).evidence == expected


# -- bad input -------------------------------------------------------------------------------------------

DENSE = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
SPARSE = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
FP4 = instruction(
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
)
DENSE_ZERO, SPARSE_ZERO, FP4_ZERO = (
    [np.zeros((operand.lanes, operand.registers), dtype=np.uint32) for operand in (ins.a, ins.b, ins.c)]
    for ins in (DENSE, SPARSE, FP4)
)
E = np.zeros((32, 1), np.uint32)
SCALES = {"scale_a": np.full((32, 1), 0x7F7F7F7F, dtype=np.uint32)}  # of 1
SCALES |= {"scale_b": SCALES["scale_a"]}
A, B = np.zeros((16, 64)), np.zeros((64, 8))
FULL = "row 0, columns 0..7: 4 of the 4 pairs are non-zero; 4:8 pair-wise sparsity keeps at most 2"
LACKING = "no arithmetic for mma with e2m1; those that have it: sm_120"
REFUSED: list[tuple[Any, list[Any], dict[str, Any], str]] = [
    (DENSE.emulate, DENSE_ZERO, {"model": "sm_99"}, "unknown model 'sm_99'; there are sm_70"),
    (DENSE.emulate, DENSE_ZERO, {"model": "sm_75"}, "model 'sm_75': that chip lacks mma.sync"),
    (
        FP4.emulate,
        FP4_ZERO,
        SCALES | {"model": "sm_90"},
        LACKING,
    ),
    (DENSE.emulate, DENSE_ZERO, {"selector": 1}, "selector=1: mma.sync.* takes only 0"),
    (SPARSE.emulate, [*SPARSE_ZERO, E], {"selector": 2}, "selector=2: .* takes 0, 1"),
    (SPARSE.emulate, SPARSE_ZERO, {}, "e is missing: .* needs E 16x8 b4, 1 register in each of 32 lanes"),
    (SPARSE.emulate, [*SPARSE_ZERO, E], {}, "row 0, chunk 0: nibble 0b0000 is undefined"),
    (DENSE.emulate, [*DENSE_ZERO, E], {}, "e: .* has no such operand; it has A, B, C, D"),
    (
        DENSE.emulate,
        [DENSE_ZERO[0][:16], *DENSE_ZERO[1:]],
        {},
        r"A: found registers of shape \(16, 4\); it takes \[..., 32 lanes, 4 registers\]",
    ),
    (
        DENSE.emulate,
        [DENSE_ZERO[0] / 2, *DENSE_ZERO[1:]],
        {},
        "A: registers are 32-bit unsigned integers, found float64",
    ),
    (DENSE.emulate, DENSE_ZERO, {"imm_scale_a": -1}, "imm_scale_a=-1: .* takes only 1"),
    (DENSE.emulate, DENSE_ZERO, {"colour": "red"}, "unknown argument 'colour'"),
    (DENSE, [A[:, :32], B], {}, r"A: found shape \(16, 32\); it takes \[..., 16, 64\]"),
    (DENSE, [A + 9, B], {}, "A: row 0, column 0: found 9; s4 holds -8..7"),
    (DENSE, [A + 0.5, B], {}, "A: row 0, column 0: found 0.5; s4 holds whole numbers"),
    (DENSE, [np.full((16, 64), "x"), B], {}, "A: s4 needs numbers"),
    (
        SPARSE,
        [A + 1, B],
        {},
        FULL,
    ),
    (DENSE, [A, B], {"on": "tpu"}, "on='tpu': it runs on 'emulator' or on 'gpu'"),
    (DENSE, [A, B], {"scale_a": np.ones((16, 2))}, "scale_a: .* has no block scales"),
    (DENSE.compress, [A], {}, "is dense: it has no sparsity to compress"),
    (DENSE.supports, ["sm_1"], {}, "unknown target 'sm_1'"),
    (DENSE.a_from, ["shared"], {}, "only wgmma takes A from shared memory"),
    (DENSE.operand, ["E"], {}, "has no operand 'E'; it has A, B, C, D"),
    (inputs.make, [DENSE, "odd", 1], {}, "unknown category 'odd'"),
]


@each("function, arguments, options, sentence", REFUSED, ids=[row[-1][:40] for row in REFUSED])
def test_bad_input_gets_one_sentence(
    function: Any, arguments: list[Any], options: dict[str, Any], sentence: str
) -> None:
    refuses(sentence, function, *arguments, **options)
