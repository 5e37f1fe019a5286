"""The emulator against an exact scalar reference and plain integers; what golden vectors cannot show: batches, models, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError, instruction, models
from ptxlab.instruction import mma_instructions
from ptxlab.isa.operands import Operands
from ptxlab.numerics.emulate import model_of
from ptxlab.verify import inputs
from tests import reference

SMALL = [ins for ins in mma_instructions() if ins.n == 8]
ONE_OF_EACH = list(
    {
        ins.mnemonic.replace(f".{ins.a_layout}.{ins.b_layout}", "")
        if ins.family == "wmma"
        else ins.mnemonic: ins
        for ins in SMALL
    }.values()
)
INTEGER = [ins for ins in ONE_OF_EACH if not ins.a.dtype.is_float]
FLOAT = [ins for ins in ONE_OF_EACH if ins.a.dtype.is_float and ins.kind not in ("mxf4", "mxf4nvf4")]
SCALED = [ins for ins in SMALL if ins.kind in ("mxf4", "mxf4nvf4")]


def codes(ins: Instruction, given: Operands, selector: int = 0) -> tuple[Any, Any, Any, Any]:
    """Codes of A, B, C as lists of lists, and which row of B every column of A meets."""
    a, b, c = ins.a.unpack_codes(given.a), ins.b.unpack_codes(given.b), ins.c.unpack_codes(given.c)
    if ins.e is None or ins.structure is None:
        meets = np.broadcast_to(np.arange(ins.k), a.shape)
    else:
        meets = ins.structure.positions(ins.e.unpack_codes(given.e, selector), ins.metadata_ordered)
    return a.tolist(), b.tolist(), c.tolist(), meets.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("ins", FLOAT, ids=str)
def test_floats_equal_the_scalar_reference(ins: Instruction) -> None:
    rows, columns = ins.d.shape
    for category in inputs.categories(ins):
        given = inputs.make(ins, category, 1, seed=3)
        d = ins.d.unpack_codes(
            ins.emulate(given.a, given.b, given.c, given.e, scale_a=given.scale_a, scale_b=given.scale_b)
        )[0]
        (a,), (b,), (c,), (meets,) = codes(ins, given)
        sa, sb = (
            o and o.unpack_codes(x)[0].tolist()
            for o, x in ((ins.scale_a, given.scale_a), (ins.scale_b, given.scale_b))
        )
        for i in range(0, rows, rows // 8):
            for j in range(i % 3, columns, 4):
                at = j + i // 8 * 8 if ins.mma_count > 1 else j
                pairs = [(a[i][s], b[meets[i][s]][at]) for s in range(len(a[i]))]
                right = reference.wanted(
                    ins, model_of(ins).rule, pairs, c[i][j], (sa[i][0], sb[0][j]) if sa and sb else None
                )
                assert d[i, j] == right, f"{category} D[{i}][{j}]: 0x{d[i, j]:x}, reference 0x{right:x}"


@pytest.mark.parametrize("ins", INTEGER, ids=str)
def test_integers_are_exact(ins: Instruction) -> None:
    for selector in ins.selectors or (0,):
        for category in inputs.categories(ins):
            given = inputs.make(ins, category, 2, seed=5, selector=selector)
            d = ins.d.unpack(ins.emulate(given.a, given.b, given.c, given.e, selector=selector))
            a, b, c, meets = codes(ins, given, selector)
            A, B, C = (
                operand.dtype.decode(np.array(x)).astype(object)
                for operand, x in zip((ins.a, ins.b, ins.c), (a, b, c), strict=True)
            )
            for t, i, j in np.ndindex(2, ins.m, ins.n):
                if (i + j) % 5:
                    continue
                pairs = [(int(A[t, i, s]), int(B[t, meets[t][i][s], j])) for s in range(ins.a.shape[1])]
                dot = {
                    "xor": sum(x ^ y for x, y in pairs) if ins.bit_op else 0,
                    "and": sum(x & y for x, y in pairs) if ins.bit_op else 0,
                }
                total = int(C[t, i, j]) + (dot[ins.bit_op] if ins.bit_op else sum(x * y for x, y in pairs))
                right = (
                    min(max(total, -(2**31)), 2**31 - 1) if ins.satfinite else (total + 2**31) % 2**32 - 2**31
                )
                assert d[t, i, j] == right


@pytest.mark.parametrize("ins", SCALED, ids=str)
def test_block_scaled_equals_the_published_algorithm(ins: Instruction) -> None:
    """MMA-Sim, arXiv 2511.10909: sums of 16 products times the scales' significands, aligned by the scales' exponents with 35 bits."""
    assert ins.scale_a is not None
    assert ins.scale_b is not None
    for ids in [{}, {"thread_id_a": 1, "thread_id_b": 3}, {"byte_id_a": 2, "byte_id_b": 2, "thread_id_b": 2}]:
        if ins.scale_vec == 4 and "byte_id_a" in ids:
            continue
        given = inputs.make(ins, "moderate", 1, seed=11)
        chosen_a, chosen_b = scales_as_the_manual_selects(ins, given, **ids)
        d = ins.d.unpack_codes(
            ins.emulate(
                given.a, given.b, given.c, given.e, scale_a=given.scale_a, scale_b=given.scale_b, **ids
            )
        )[0]
        (a,), (b,), (c,), (meets,) = codes(ins, given)
        for i in range(0, 16, 3):
            for j in range(8):
                column = [b[k][j] for k in meets[i]]
                assert d[i, j] == scaled_reference(ins, a[i], column, c[i][j], chosen_a[i], chosen_b[j])


def scales_as_the_manual_selects(
    ins: Instruction,
    given: Operands,
    byte_id_a: int = 0,
    thread_id_a: int = 0,
    byte_id_b: int = 0,
    thread_id_b: int = 0,
) -> Any:
    """Random registers in all lanes; the scale bytes that the manual's words pick from them, by row of A and column of B."""
    rng = np.random.default_rng(4)
    low, high = (120, 134) if ins.scale_type == "ue8m0" else (8, 120)
    for registers in (given.scale_a, given.scale_b):
        assert registers is not None
        registers[:] = (
            rng.integers(low, high, (*registers.shape, 4), dtype=np.uint8)
            .view(np.uint32)
            .reshape(registers.shape)
        )
    vec = ins.scale_vec or 0
    bytes_a, bytes_b = (x[0, :, 0].tolist() for x in (given.scale_a, given.scale_b) if x is not None)
    rows = [
        [bytes_a[4 * (i % 8) + 2 * thread_id_a + i // 8] >> 8 * (byte_id_a + v) & 0xFF for v in range(vec)]
        for i in range(16)
    ]
    columns = [
        [bytes_b[4 * j + thread_id_b] >> 8 * (byte_id_b + v) & 0xFF for v in range(vec)] for j in range(8)
    ]
    return rows, columns


def scaled_reference(
    ins: Instruction, a: list[int], b: list[int], c: int, scale_a: list[int], scale_b: list[int]
) -> int:
    def scale(code: int) -> tuple[Fraction, int]:
        if ins.scale_type == "ue8m0":
            return Fraction(1), code - 127
        value, exponent = reference.decode(code & 0x7F, 4, 3, ieee=False)
        return Fraction(value) / Fraction(2) ** exponent, exponent

    value, exponent = reference.decode(c, **reference.FORMATS["f32"])
    terms: list[reference.Term] = [(Fraction(value), exponent)]
    for block in range(4):
        dot = sum(
            (
                Fraction(reference.decode(x, 2, 1, ieee=False)[0])
                * Fraction(reference.decode(y, 2, 1, ieee=False)[0])
                for x, y in zip(a[16 * block : 16 * block + 16], b[16 * block : 16 * block + 16], strict=True)
            ),
            Fraction(0),
        )
        v = block * len(scale_a) // 4
        (sa, ea), (sb, eb) = scale(scale_a[v]), scale(scale_b[v])
        terms.append((dot * sa * sb * Fraction(2) ** (ea + eb), ea + eb))
    top = max([exponent for value, exponent in terms[:1] if value] + [exponent for _, exponent in terms[1:]])
    grain = Fraction(2) ** (top - 35)
    return reference.to_f32(sum((reference.cut(value, grain) for value, _ in terms), Fraction(0)), 23)


# -- matrices, batches, models -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ins", SMALL, ids=str)
def test_matrices_in_matrices_out(ins: Instruction, rng: np.random.Generator) -> None:
    """Small whole numbers are exact in every type, so D must be NumPy's product."""
    top = 2 if ins.a_type == "b1" else 3
    A = rng.integers(0, top, (2, *ins.a_dense.shape))
    B = rng.integers(0, top, (2, *ins.b.shape))
    C = rng.integers(-5, 5, (2, *ins.c.shape))
    if ins.sparse:
        A = ins.prune(A)
    if ins.mma_count > 1:  # four products of their own
        right = (
            np.concatenate([A[:, at : at + 8] @ B[:, :, at : at + 8] for at in range(0, 32, 8)], axis=1) + C
        )
    elif ins.bit_op == "xor":
        right = (A[..., :, None] != np.swapaxes(B, -1, -2)[..., None, :, :].swapaxes(-1, -2)).sum(axis=-2) + C
    else:
        right = A @ B + C
    np.testing.assert_array_equal(ins(A, B, C), right)


def test_batches_of_any_shape() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32")
    given = inputs.make(ins, "bits", 12)
    whole = ins.emulate(given.a, given.b, given.c, given.e)
    assert given.e is not None
    shaped = ins.emulate(*(x.reshape(3, 4, *x.shape[1:]) for x in (given.a, given.b, given.c, given.e)))
    np.testing.assert_array_equal(shaped.reshape(whole.shape), whole)
    np.testing.assert_array_equal(ins.emulate(given.a[3], given.b[3], given.c[3], given.e[3]), whole[3])
    broadcast = ins.emulate(given.a[:, None], given.b[0], given.c[0], given.e[:, None])
    assert broadcast.shape == (12, 1, 32, 4)
    assert ins.emulate(given.a[:0], given.b[:0], given.c[:0], given.e[:0]).shape == (0, 32, 4)


def test_only_selected_lanes_speak() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    given = inputs.make(ins, "bits", 5, selector=1)
    wanted = ins.emulate(given.a, given.b, given.c, given.e, selector=1)
    assert given.e is not None
    given.e[:, [0, 1, 4, 5, 28, 29]] = 0xFFFFFFFF
    np.testing.assert_array_equal(ins.emulate(given.a, given.b, given.c, given.e, selector=1), wanted)
    with pytest.raises(PtxlabError, match="nibble 0b1111 is undefined"):
        ins.emulate(given.a, given.b, given.c, given.e, selector=0)


def test_wgmma_modifiers() -> None:
    ins = instruction("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2")
    given = inputs.make(ins, "moderate", 3)
    plain = ins.emulate(given.a, given.b, given.c, given.e)
    negated = ins.emulate(given.a ^ np.uint32(0x80808080), given.b, given.c, given.e)
    registers = (given.a, given.b, given.c, given.e)
    np.testing.assert_array_equal(ins.emulate(*registers, imm_scale_a=-1), negated)
    np.testing.assert_array_equal(ins.emulate(*registers, imm_scale_b=-1), negated)
    np.testing.assert_array_equal(ins.emulate(*registers, imm_scale_a=-1, imm_scale_b=-1), plain)
    from_zero = ins.emulate(given.a, given.b, np.zeros_like(given.c), given.e)
    np.testing.assert_array_equal(ins.emulate(*registers, scale_d=False), from_zero)


def test_tf32_ignores_thirteen_bits() -> None:
    ins = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    given = inputs.make(ins, "exponents", 20)
    noise = np.uint32(0x1FFF)
    np.testing.assert_array_equal(
        ins.emulate(given.a | noise, given.b | noise, given.c, given.e),
        ins.emulate(given.a & ~noise, given.b & ~noise, given.c, given.e),
    )


def test_models_say_how_they_are_known() -> None:
    assert {m.evidence for m in models()} <= {"measured", "published", "assumed"}
    assert all(m.source for m in models())
    for ins in mma_instructions():
        assert ins.emulate.__doc__
        evidence = ptxlab.numerics.emulate.model_of(ins).evidence
        published = not ins.sparse and {ins.a_type, ins.b_type} <= {"e4m3", "e5m2", "e2m1"}
        assert evidence == ("measured" if ins.supports("sm_90a") else "published" if published else "assumed")


# -- bad input ----------------------------------------------------------------------------------------------------------

DENSE = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
SPARSE = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
FP4 = instruction(
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
)
ZERO = {
    ins: [np.zeros((operand.lanes, operand.registers), dtype=np.uint32) for operand in (ins.a, ins.b, ins.c)]
    for ins in (DENSE, SPARSE, FP4)
}

ONE = np.full((32, 1), 0x7F7F7F7F, dtype=np.uint32)  # block scales of 1
REFUSED = [
    (lambda: DENSE.emulate(*ZERO[DENSE], model="sm_99"), "unknown model 'sm_99'; there are sm_70"),
    (lambda: DENSE.emulate(*ZERO[DENSE], model="sm_75"), "model 'sm_75': that chip lacks mma.sync"),
    (
        lambda: FP4.emulate(*ZERO[FP4], scale_a=ONE, scale_b=ONE, model="sm_90"),
        "no arithmetic for mma with e2m1; sm_120",
    ),
    (lambda: DENSE.emulate(*ZERO[DENSE], selector=1), "selector=1: mma.sync.* takes only 0"),
    (
        lambda: SPARSE.emulate(*ZERO[SPARSE], np.zeros((32, 1), np.uint32), selector=2),
        "selector=2: .* takes 0, 1",
    ),
    (
        lambda: SPARSE.emulate(*ZERO[SPARSE]),
        "e is missing: .* needs E 16x8 b4, 1 register in each of 32 lanes",
    ),
    (
        lambda: SPARSE.emulate(*ZERO[SPARSE], np.zeros((32, 1), np.uint32)),
        "row 0, chunk 0: nibble 0b0000 is undefined",
    ),
    (
        lambda: DENSE.emulate(*ZERO[DENSE], np.zeros((32, 1), np.uint32)),
        "e: .* has no such operand; it has A, B, C, D",
    ),
    (
        lambda: DENSE.emulate(ZERO[DENSE][0][:16], *ZERO[DENSE][1:]),
        r"A: found registers of shape \(16, 4\); it takes \[..., 32 lanes, 4 registers\]",
    ),
    (
        lambda: DENSE.emulate(ZERO[DENSE][0].astype(float), *ZERO[DENSE][1:]),
        "A: registers are 32-bit unsigned integers, found float64",
    ),
    (lambda: DENSE.emulate(*ZERO[DENSE], imm_scale_a=-1), "imm_scale_a=-1: .* takes only 1"),
    (lambda: DENSE.emulate(*ZERO[DENSE], colour="red"), "unknown argument 'colour'"),
    (
        lambda: DENSE(np.zeros((16, 32)), np.zeros((64, 8))),
        r"A: found shape \(16, 32\); it takes \[..., 16, 64\]",
    ),
    (lambda: DENSE(np.full((16, 64), 9), np.zeros((64, 8))), "A: row 0, column 0: found 9; s4 holds -8..7"),
    (
        lambda: DENSE(np.full((16, 64), 0.5), np.zeros((64, 8))),
        "A: row 0, column 0: found 0.5; s4 holds whole numbers",
    ),
    (lambda: DENSE(np.full((16, 64), "x"), np.zeros((64, 8))), "A: s4 needs numbers"),
    (
        lambda: SPARSE(np.ones((16, 64)), np.zeros((64, 8))),
        "row 0, columns 0..7: 4 of the 4 pairs are non-zero; 4:8 pair-wise sparsity keeps at most 2",
    ),
    (
        lambda: DENSE(np.zeros((16, 64)), np.zeros((64, 8)), on="tpu"),
        "on='tpu': it runs on 'emulator' or on 'gpu'",
    ),
    (
        lambda: DENSE(np.zeros((16, 64)), np.zeros((64, 8)), scale_a=np.ones((16, 2))),
        "scale_a: .* has no block scales",
    ),
    (lambda: DENSE.compress(np.zeros((16, 64))), "is dense: it has no sparsity to compress"),
    (lambda: DENSE.supports("sm_1"), "unknown target 'sm_1'"),
    (lambda: DENSE.a_from("shared"), "only wgmma takes A from shared memory"),
    (lambda: DENSE.operand("E"), "has no operand 'E'; it has A, B, C, D"),
    (lambda: inputs.make(DENSE, "odd", 1), "unknown category 'odd'"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED, ids=[sentence[:40] for _, sentence in REFUSED])
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
