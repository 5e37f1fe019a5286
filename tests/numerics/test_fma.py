"""float64 fused multiply-add against exact rational arithmetic, in every rounding, at every edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxlab.numerics.arithmetic import fma
from tests.numerics import reference

finite = st.floats(allow_nan=False, allow_infinity=False)
near_bottom = st.builds(
    lambda fraction, exponent: float(np.ldexp(fraction, exponent)),
    st.floats(-1, 1, allow_subnormal=False),
    st.integers(-560, -500),
)


def code(value: float) -> int:
    return int(np.float64(value).view(np.uint64))


@pytest.mark.parametrize("rounding", [None, "rz", "rm", "rp"])
@settings(max_examples=150, deadline=None)
@given(
    a=finite | near_bottom,
    b=finite | near_bottom,
    c=finite | near_bottom,
    cancel=st.sampled_from(["no", "exact", "nearly"]),
)
@pytest.mark.slow
def test_fma_is_rounded_once(rounding: str | None, a: float, b: float, c: float, cancel: str) -> None:
    if cancel != "no":
        with np.errstate(over="ignore"):
            c = -float(np.float64(a) * np.float64(b))
        c = float(np.nextafter(c, 0)) if cancel == "nearly" else c
        if not np.isfinite(c):
            return
    result = float(fma(np.array(a), np.array(b), np.array(c), rounding))
    assert code(result) == reference.fma_f64(code(a), code(b), code(c), rounding)


def test_fma_where_something_is_not_finite() -> None:
    inf, nan = np.inf, np.nan
    assert float(fma(inf, 2.0, 1.0)) == inf
    assert float(fma(1e300, 1e300, -inf)) == -inf  # the product is finite
    a, b = np.array([inf, inf, nan, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    assert np.isnan(fma(a, b, np.array([1.0, -inf, 1.0, nan]))).all()
