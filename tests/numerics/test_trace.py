"""A trace ends in the bits that the emulator gives, and its parts add up."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptxlab import Instruction, PtxlabError, inputs, instruction
from ptxlab.instruction import mma_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.parse import parse_mma
from ptxlab.isa.targets import CHIPS
from ptxlab.numerics.emulate import emulate, model_of
from ptxlab.numerics.trace import trace
from ptxlab.views.trace_text import step_name
from tests.cases import each, refuses
from tests.sampling import one_in

#: One form for every rule, type and shape; layouts in memory and N make no difference.
FORMS = list(
    {
        (
            (ins.family, ins.m, ins.k, ins.kind, ins.scale_vec),
            (ins.a_type, ins.b_type, ins.c_type, ins.d_type),
            (ins.rounding, ins.bit_op, ins.satfinite, ins.ordered),
        ): ins
        for ins in reversed(mma_instructions())
        if ins.n <= 32
    }.values()
)


@pytest.mark.slow
@each("ins", one_in(4, FORMS), ids=str)
def test_a_trace_ends_in_the_bits_of_d(ins: Instruction) -> None:
    compared = 0
    step = 3 if ins.a_type == "f64" else 9
    for category in one_in(step, inputs.categories(ins), FORMS.index(ins)):
        operands = inputs.make(ins, category, 1, seed=8).item(0)
        scales = {}
        with np.errstate(invalid="ignore"):
            A, B, C = ins.a.unpack(operands.a), ins.b.unpack(operands.b), ins.c.unpack(operands.c)
            if ins.scale_a is not None and ins.scale_b is not None:
                scales["scale_a"] = ins.scale_a.unpack(operands.scale_a)
                scales["scale_b"] = ins.scale_b.unpack(operands.scale_b)
            if ins.e is not None:  # compressed again, since the inputs may have had another order
                A = ins.expand(A, ins.e.unpack_codes(operands.e))
                stored, nibbles = ins.compress(A)
                operands = replace(operands, a=ins.a.pack(stored), e=ins.e.pack_codes(nibbles))
        if ins.a_type == "f64" and any(np.isnan(matrix).any() for matrix in (A, B, C)):
            continue  # values do not carry a NaN's payload
        d = ins.d.unpack_codes(emulate(operands))
        for row, col in ((0, 0), (ins.d.shape[0] - 3, ins.d.shape[1] - 2)):
            result = ins.trace(A, B, C, row, col, **scales)
            assert result.code == d[row, col], (
                f"{category} D[{row}][{col}]: 0x{result.code:x}, emulator 0x{d[row, col]:x}\n{result}"
            )
            compared += 1
            for step in result.steps:
                if step.grain is not None and isinstance(step.total, Fraction):
                    assert sum((term.kept for term in step.terms), Fraction(0)) == step.total
                    assert all(abs(term.lost) < Fraction(2) ** step.grain for term in step.terms)
    assert compared >= 2


def test_what_is_lost_is_shown() -> None:
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    A, B = np.zeros((16, 8)), np.ones((8, 8))
    A[0, :2] = 1024, 2.0**-16
    result = ins.trace(A, B, None, 0, 0)
    (step,) = result.steps
    assert (step.top, step.grain) == (10, -15)
    assert [float(term.lost) for term in step.terms[1:3]] == [0, 2.0**-16]
    assert result.error == Fraction(-1, 1 << 16) and result.fma32 == 1024.0
    assert "|10000000" in str(result) and "error    -1.52587891e-05" in str(result)


def test_refusals_say_what_is_wrong() -> None:
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    with pytest.raises(PtxlabError, match="row=16: D of .* is 16x8, so it goes from 0 to 15"):
        ins.trace(np.zeros((16, 8)), np.zeros((8, 8)), None, 16, 0)
    refuses("A: found shape", ins.trace, np.zeros((8, 8)), np.zeros((8, 8)), None, 0, 0)
    with pytest.raises(PtxlabError, match="has no block scales"):
        ins.trace(np.zeros((16, 8)), np.zeros((8, 8)), None, 0, 0, scale_a=np.ones((16, 1)))


def test_terms_carry_sign_significand_exponent_and_factors() -> None:
    ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    A, B = np.random.default_rng(4).normal(size=(2, 16, 16)).astype(np.float16)
    (step,) = ins.trace(A, B[:, :8], None, 3, 5).steps
    for k, term in enumerate(step.terms[1:]):
        a, b = float(A[3, k]), float(B[k, 5])
        (a_fraction, a_exponent), (b_fraction, b_exponent) = np.frexp(a), np.frexp(b)  # fractions in [0.5, 1)
        product = a_fraction * b_fraction
        assert term.factors == (Fraction(a), Fraction(b))
        assert term.exponent == a_exponent + b_exponent - 2 and term.sign == np.sign(product)
        assert term.significand == Fraction(float(abs(4 * product)))
        assert term.value == term.sign * term.significand * Fraction(2) ** term.exponent
        kept, lost = step.bits(term)
        assert Fraction(int(kept, 2)) * Fraction(2) ** step.grain == abs(term.kept)
        assert Fraction(int(lost or "0", 2), 1 << len(lost)) * Fraction(2) ** step.grain == abs(term.lost)


@pytest.mark.parametrize("satfinite", [False, True])
def test_integers_have_partial_sums_and_the_wrap_or_clamp(satfinite: bool) -> None:
    qualifier = ".satfinite" if satfinite else ""
    ins = instruction(f"mma.sync.aligned.m16n8k32.row.col{qualifier}.s32.s8.s8.s32")
    A, B = np.random.default_rng(5).integers(-128, 128, (2, 32, 32))
    C = np.full((16, 8), 2**31 - 1)
    for row in range(16):
        (step,) = ins.trace(A[:16], B[:, :8], C, row, 2).steps
        products = A[row] * B[:, 2]
        assert [int(partial) for partial in step.partial_sums] == [
            2**31 - 1,
            *(2**31 - 1 + np.cumsum(products)),
        ]
        change = 0
        if step.total > 2**31 - 1:
            change = 2**31 - 1 - step.total if satfinite else -(2**32)
        assert step.change == change
        assert f"{step.partial_sums[7]}" in str(ins.trace(A[:16], B[:, :8], C, row, 2))


def test_m8n8k4_shows_every_fused_multiply_add() -> None:
    ins = instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
    A, B = np.random.default_rng(6).normal(size=(2, 32, 32)).astype(np.float16)
    result = ins.trace(A[:, :4], B[:4], np.ones((32, 8)), 9, 3)
    a, b = A[9, :4].astype(np.float64), B[:4, 11].astype(np.float64)
    total, sums = np.float64(0), []
    for k in range(4):
        # float64 holds the sum of such numbers exactly, or rounds it far below float32
        total = np.float64(np.float32(a[k] * b[k] + total))
        sums.append(float(total))
    assert [float(step.value) for step in result.steps[:4]] == sums
    assert [step_name(result, step) for step in result.steps] == [
        "product in f32, k 0",
        *(f"fused multiply-add in f32, k {k}" for k in (1, 2, 3)),
        "addition of C",
    ]


@each("ins", FORMS[::9], ids=str)
def test_registers_as_emulate_reads_them(ins: Instruction) -> None:
    """Payloads of NaN, metadata in any order and modifiers, which matrices of values do not carry."""
    last_values = {
        name: values[-1]
        for name, values in ins.modifiers.items()
        if len(values) > 1 and not name.startswith("imm_trans")
    }
    for modifiers in (Modifiers(), Modifiers(**last_values)):
        operands = inputs.make(ins, inputs.categories(ins)[0], 1, seed=9, selector=modifiers.selector)
        operands = replace(operands, modifiers=modifiers)
        d = ins.d.unpack_codes(emulate(operands))[0]
        row, col = ins.d.shape[0] - 3, ins.d.shape[1] - 2
        assert trace(operands.item(0), row, col).code == d[row, col]
    refuses(r"a trace is of one .*, found a batch of shape \(1,\)", trace, operands, 0, 0)


def test_as_plain_data() -> None:
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    A = np.zeros((16, 8))
    A[0, :2] = 1024, -(2.0**-16)
    data = json.loads(json.dumps(ins.trace(A, np.ones((8, 8)), None, 0, 0).as_dict()))
    assert (data["code"], data["exact"], data["error"]) == ("0x44800000", "67108863/65536", "1/65536")
    term = data["steps"][0]["terms"][2]
    assert (term["sign"], term["exponent"]) == (-1, -14), "subnormal in f16"
    assert (term["lost"], term["lost_bits"]) == ("-1/65536", "1")


def test_a_notebook_shows_it_without_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    html = ins.trace(np.ones((16, 8)), np.ones((8, 8)), None, 0, 0)._repr_html_()
    assert html.count("<svg") == 1 and "D[0][0] = 8 of mma" in html


@pytest.mark.slow
def test_other_chips() -> None:
    """Every rule of every chip, whatever its depth, floor and conversions."""
    one_of_each: dict[tuple[str, str, str], Instruction] = {}
    for ins in FORMS:
        for chip in CHIPS:
            try:
                rule = model_of(ins, chip).rule
            except PtxlabError:
                continue
            one_of_each.setdefault((chip, ins.family, str(rule)), ins)
    assert {chip for chip, _, _ in one_of_each} == set(CHIPS)
    for (chip, _, _), ins in one_of_each.items():
        for category in inputs.categories(ins)[1:3]:
            operands = inputs.make(ins, category, 1, seed=10).item(0)
            d = ins.d.unpack_codes(emulate(operands, model=chip))
            result = trace(operands, 3, 2, model=chip)
            assert (result.chip, result.code) == (chip, d[3, 2]), f"{chip} {category}\n{result}"


@pytest.mark.parametrize("model", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    "name", ["m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.tf32.tf32.f32", "m8n8k4.f64.f64.f64.f64"]
)
def test_losses_add_up_to_the_error_and_stay_within_the_bound(name: str, model: str) -> None:
    ins, rng = parse_mma(f"mma.{name}"), np.random.default_rng(5)
    for _ in range(20):
        A = rng.standard_normal((ins.m, ins.k)) * 2.0 ** rng.integers(-6, 6, (ins.m, ins.k))
        B, C = rng.standard_normal((ins.k, ins.n)), rng.standard_normal((ins.m, ins.n))
        trace = ins.trace(A, B, C, 0, 0, model=model)
        assert trace.error is not None and trace.last_place is not None and trace.bound is not None
        error = trace.error / trace.last_place
        assert -sum(lost for lost in trace.losses if lost is not None) == error
        assert abs(error) <= trace.bound
