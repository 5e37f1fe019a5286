"""float64 fused multiply-add against exact rational arithmetic, in every rounding, at every edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxlab.arithmetic import fma

LARGEST = float(np.finfo(np.float64).max)
finite = st.floats(allow_nan=False, allow_infinity=False)
near_bottom = st.builds(lambda f, e: float(np.ldexp(f, e)), st.floats(-1, 1, allow_subnormal=False), st.integers(-560, -500))


def exactly(a: float, b: float, c: float, rounding: str | None) -> float:
    """By the definition: the exact value, and the two floats around it."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        negative = (np.signbit(a) != np.signbit(b)), np.signbit(c)
        if Fraction(a) * Fraction(b) == 0 and negative[0] == negative[1]:
            return -0.0 if negative[0] else 0.0
        return -0.0 if rounding == "rm" else 0.0
    exponent = -1074
    size = abs(value)
    while size >= Fraction(2) ** (exponent + 53):
        exponent += 1
    grid = Fraction(2) ** exponent
    low = value // grid
    rest = value / grid - low
    up = {None: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1), "rz": rest > 0 and low < 0, "rm": False, "rp": rest > 0}[rounding]
    whole = (low + up) * grid
    if abs(whole) > Fraction(LARGEST):
        inward = rounding == "rz" or (rounding == "rm" and whole > 0) or (rounding == "rp" and whole < 0)
        return float(np.copysign(LARGEST if inward else np.inf, float(np.sign(low))))
    return float(np.copysign(float(whole), 1.0 if value > 0 else -1.0))


@pytest.mark.parametrize("rounding", [None, "rz", "rm", "rp"])
@settings(max_examples=150, deadline=None)
@given(a=finite | near_bottom, b=finite | near_bottom, c=finite | near_bottom, cancel=st.sampled_from(["no", "exact", "nearly"]))
def test_fma_is_rounded_once(rounding: str | None, a: float, b: float, c: float, cancel: str) -> None:
    if cancel != "no":
        with np.errstate(over="ignore"):
            c = -float(np.float64(a) * np.float64(b))
        c = float(np.nextafter(c, 0)) if cancel == "nearly" else c
        if not np.isfinite(c):
            return
    wanted = exactly(a, b, c, rounding)
    found = float(fma(np.array(a), np.array(b), np.array(c), rounding))
    assert found.hex() == wanted.hex()


def test_fma_where_something_is_not_finite() -> None:
    inf, nan = np.inf, np.nan
    assert float(fma(inf, 2.0, 1.0)) == inf
    assert float(fma(1e300, 1e300, -inf)) == -inf  # the product is finite
    assert np.isnan(fma(np.array([inf, inf, nan, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, -inf, 1.0, nan]))).all()
