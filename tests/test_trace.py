"""A trace ends in the bits that the emulator gives, and its parts add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ptxlab import Instruction, PtxlabError, inputs, instruction
from ptxlab.catalog import products
from ptxlab.trace import trace

#: One form for every rule, type and shape; layouts in memory and N make no difference.
FORMS = list(
    {
        (i.family, i.k, i.m, i.a_type, i.b_type, i.c_type, i.d_type, i.kind, i.scale_vec, i.rounding, i.bit_op, i.satfinite, i.ordered): i
        for i in reversed(products())
        if i.n <= 32
    }.values()
)


@pytest.mark.parametrize("ins", FORMS, ids=str)
def test_a_trace_ends_in_the_bits_of_d(ins: Instruction) -> None:
    compared = 0
    for category in inputs.categories(ins):
        given = inputs.make(ins, category, 1, seed=8)
        with np.errstate(invalid="ignore"):
            A, B, C = ins.a.unpack(given.a)[0], ins.b.unpack(given.b)[0], ins.c.unpack(given.c)[0]
            scales = {
                n: o.unpack(x)[0] for n, o, x in (("scale_a", ins.scale_a, given.scale_a), ("scale_b", ins.scale_b, given.scale_b)) if o is not None
            }
            if ins.e is not None:  # as matrices are stored, which may be another order than the inputs had
                A = ins.expand(A, ins.e.unpack_codes(given.e)[0])
                stored, nibbles = ins.compress(A)
                given = given._replace(a=ins.a.pack(stored)[None], e=ins.e.pack_codes(nibbles)[None])
        if ins.a_type == "f64" and any(np.isnan(x).any() for x in (A, B, C)):
            continue  # values do not carry a NaN's payload
        d = ins.d.unpack_codes(ins.emulate(given.a, given.b, given.c, given.e, **given.scales))[0]
        for row, col in ((0, 0), (ins.d.shape[0] - 3, ins.d.shape[1] - 2)):
            found = trace(ins, A, B, C, row, col, **scales)
            assert found.code == d[row, col], f"{category} D[{row}][{col}]: 0x{found.code:x}, emulator 0x{d[row, col]:x}\n{found}"
            compared += 1
            for step in found.steps:
                if step.grain is not None and isinstance(step.total, Fraction):
                    assert sum((t.kept for t in step.terms), Fraction(0)) == step.total
                    assert all(abs(t.lost) < Fraction(2) ** step.grain for t in step.terms)
    assert compared >= len(inputs.categories(ins))


def test_what_is_lost_is_shown() -> None:
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    A, B = np.zeros((16, 8)), np.ones((8, 8))
    A[0, :2] = 1024, 2.0**-16
    found = ins.trace(A, B, None, 0, 0)
    (step,) = found.steps
    assert (step.top, step.grain) == (10, -15)
    assert [float(term.lost) for term in step.terms[1:3]] == [0, 2.0**-16]
    assert found.error == Fraction(-1, 1 << 16) and found.fma32 == 1024.0
    assert "|10000000" in str(found) and "error    -1.52587891e-05" in str(found)


def test_refusals() -> None:
    ins = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    with pytest.raises(PtxlabError, match="row=16: D of .* is 16x8, so it goes from 0 to 15"):
        ins.trace(np.zeros((16, 8)), np.zeros((8, 8)), None, 16, 0)
    with pytest.raises(PtxlabError, match="A: found shape"):
        ins.trace(np.zeros((8, 8)), np.zeros((8, 8)), None, 0, 0)
    with pytest.raises(PtxlabError, match="has no block scales"):
        ins.trace(np.zeros((16, 8)), np.zeros((8, 8)), None, 0, 0, scale_a=np.ones((16, 1)))
