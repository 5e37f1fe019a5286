"""Inputs: directed ones are legal and reach what they aim at, and their streams are fair."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab
from ptxlab import inputs, instruction
from ptxlab.inputs.sampling import QuickStream, RandomStream
from ptxlab.instruction import mma_instructions
from ptxlab.numerics.emulate import emulate
from tests.sampling import one_in

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
M8N8K4 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"

#: One instruction for everything that directed inputs depend on.
ONE_OF_EACH = list(
    {
        (ins.family, ins.a_type, ins.c_type, ins.kind, ins.scale_vec, ins.bit_op, ins.mma_count): ins
        for ins in mma_instructions()
        if ins.lanes == 32 or ins.n == 8
    }.values()
)


@pytest.mark.slow
def test_directed_inputs_are_legal() -> None:
    for number, ins in one_in(4, list(enumerate(ONE_OF_EACH))):
        selector, quick = (*ins.selectors, 0)[0], number % 3 > 0
        for category in inputs.directed_categories(ins):
            operands = inputs.make(ins, category, 2, 3, selector, quick=quick)
            assert emulate(operands).shape == (2, ins.d.lanes, ins.d.registers)
            again = inputs.make(ins, category, 2, 3, selector, quick=quick)
            assert all(np.array_equal(array, again.arrays[name]) for name, array in operands.arrays.items())


@pytest.mark.parametrize("form", [F16, "mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", M8N8K4])
def test_a_cancelling_c_leaves_almost_nothing(form: str) -> None:
    ins = instruction(form)
    operands = inputs.make(ins, "cancelling_c", 50, 1, quick=True)
    c, d = ins.c.unpack(operands.c), ins.d.unpack(emulate(operands))
    with np.errstate(over="ignore", invalid="ignore"):
        has_cancelled = np.abs(d) < np.abs(c.astype(np.float64)) * 2.0**-12
    assert has_cancelled.mean() > 0.5
    assert 0.02 < (d == 0).mean() < 0.9


@pytest.mark.parametrize("form", [F16, TF32, F64])
def test_wide_inputs_have_most_exponents_and_stay_finite(form: str) -> None:
    ins = instruction(form)
    operands = inputs.make(ins, "wide", 400, 1, quick=True)
    for operand, registers in ((ins.a, operands.a), (ins.b, operands.b)):
        dtype = operand.dtype
        shifted = operand.unpack_codes(registers) >> dtype.code_type(dtype.fraction_bits + dtype.ignored_bits)
        exponents = np.unique(shifted & dtype.code_type((1 << dtype.exponent_bits) - 1))
        assert len(exponents) > 0.5 * (1 << dtype.exponent_bits)
    with np.errstate(over="ignore"):
        assert np.isfinite(ins.d.unpack(emulate(operands))).mean() > 0.99


def test_the_overflow_edge_is_at_the_ends_of_s32() -> None:
    for form in (
        S4,
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.s8.s32",
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    ):
        ins = instruction(form)
        d = ins.d.unpack(emulate(inputs.make(ins, "overflow_edge", 20, 1))).astype(np.int64)
        distance = np.minimum(np.abs(d - 0x7FFFFFFF), np.abs(d + 0x80000000))
        assert distance.max() <= 2
        assert {-0x80000000, -0x7FFFFFFF, 0x7FFFFFFE, 0x7FFFFFFF} <= set(d.ravel().tolist())


def test_nan_payloads_are_many() -> None:
    ins = instruction("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64")
    operands = inputs.make(ins, "nan_payloads", 50, 1)
    for operand, registers in ((ins.a, operands.a), (ins.c, operands.c)):
        codes = operand.unpack_codes(registers)
        values = operand.unpack(registers)
        assert len(np.unique(codes[np.isnan(values)])) > 100
        assert np.isposinf(values).any() and np.isneginf(values).any() and (codes == 1 << 63).any()


def test_both_streams_are_fair() -> None:
    for make_stream in (RandomStream, QuickStream):
        stream = make_stream("fair", 1)
        assert abs(stream.chance(30, (100_000,)).mean() - 0.3) < 0.01
        assert abs(stream.below(7, (100_000,)).mean() - 3) < 0.05
        assert set(np.unique(stream.between(-2, 2, (1000,)))) == {-2, -1, 0, 1, 2}
        assert np.bitwise_or.reduce(stream.codes(ptxlab.dtype("f64"), (100,))) == (1 << 64) - 1
        assert stream.codes(ptxlab.dtype("s4"), (1000,)).max() == 15
