"""The emulator against the scalar simulator of the benchmarks: plain Python integers, one element at a time."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import scalar
from ptxlab.instruction import mma_instructions
from ptxlab.numerics import Fused
from ptxlab.numerics.emulate import model_of
from ptxlab.verify import inputs

FORMS = {
    (ins.family, ins.a_type, ins.b_type, ins.d_type, ins.k): ins
    for ins in sorted(mma_instructions(), key=lambda ins: -ins.m * ins.n)
    if isinstance(rule := model_of(ins).rule, Fused)
    and rule.depth is None
    and ins.c_type == ins.d_type
    and ins.scale_a is None
}


@pytest.mark.slow
@pytest.mark.parametrize("ins", FORMS.values(), ids=str)
def test_one_element_at_a_time(ins):
    rule = model_of(ins).rule
    for category in inputs.categories(ins):
        given = inputs.make(ins, category, 1, seed=9)
        d = ins.d.unpack_codes(ins.emulate(given.a, given.b, given.c, given.e))[0]
        a, b, c = (
            ins.a.unpack_codes(given.a)[0],
            ins.b.unpack_codes(given.b)[0],
            ins.c.unpack_codes(given.c)[0],
        )
        for m in range(0, ins.m, 5):
            meets = slice(None)
            if ins.structure is not None:
                meets = ins.structure.positions(ins.e.unpack_codes(given.e), ins.metadata_ordered)[0, m]
            found = scalar.mma(
                [a[m].tolist()],
                b[meets].tolist(),
                [c[m].tolist()],
                (ins.a_type, ins.b_type, ins.c_type),
                rule.fraction_bits,
                rule.result_bits,
                rule.floor,
            )
            assert np.array_equal(found[0], d[m]), (category, m)
