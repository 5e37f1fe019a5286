"""The emulator against the scalar simulator of the benchmarks, which computes in Python integers."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import scalar
from ptxlab import Instruction, inputs
from ptxlab.instruction import mma_instructions
from ptxlab.numerics import Fused
from ptxlab.numerics.emulate import emulate, model_of
from tests.cases import each
from tests.numerics import reference
from tests.sampling import every_third

#: One form of each type and depth whose products are added in one fused step.
FORMS = {
    (ins.family, ins.a_type, ins.b_type, ins.d_type, ins.k): ins
    for ins in sorted(mma_instructions(), key=lambda ins: -ins.m * ins.n)
    if isinstance(rule := model_of(ins).rule, Fused)
    and rule.depth is None
    and ins.c_type == ins.d_type
    and ins.scale_a is None
}


@pytest.mark.slow
@each("number, ins", enumerate(list(FORMS.values())[::5]), ids=lambda case: case[1])
def test_one_element_at_a_time(number: int, ins: Instruction) -> None:
    rule = model_of(ins).rule
    assert isinstance(rule, Fused)
    types = (ins.a_type, ins.b_type, ins.c_type)
    for category in every_third(inputs.categories(ins), number):
        operands = inputs.make(ins, category, 1, seed=9)
        d = ins.d.unpack_codes(emulate(operands))[0]
        problem = reference.Problem(operands.item(0))
        for row in range(0, ins.m, 5):
            b = [problem.b[k] for k in problem.positions[row]]
            expected = scalar.mma(
                [problem.a[row]],
                b,
                [problem.c[row]],
                types,
                rule.fraction_bits,
                rule.result_bits,
                rule.floor,
            )
            assert np.array_equal(expected[0], d[row]), (category, row)
