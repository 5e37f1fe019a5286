"""Element types against their format definitions, written down again with exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxlab import DTYPES, dtype
from tests.cases import each, refusal, refuses
from tests.sampling import every_third

NAN, INF = "nan", "inf"
#: Sign bits, exponent bits, fraction bits and bias, from IEEE 754-2019, OCP 8-bit Floating Point 1.0 and OCP
#: Microscaling Formats 1.0.
FLOATS = {
    "e2m1": (1, 2, 1, 1),
    "e2m3": (1, 2, 3, 1),
    "e3m2": (1, 3, 2, 3),
    "e4m3": (1, 4, 3, 7),
    "e5m2": (1, 5, 2, 15),
    "ue4m3": (0, 4, 3, 7),
    "f16": (1, 5, 10, 15),
    "bf16": (1, 8, 7, 127),
    "f32": (1, 8, 23, 127),
}
IEEE = {"e5m2", "f16", "bf16", "f32"}  # an exponent of all ones means infinity or NaN
NARROW_FLOATS = ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "ue4m3", "f16", "bf16")
INTEGERS = {
    "b1": (0, 1),
    "b4": (0, 15),
    "u4": (0, 15),
    "s4": (-8, 7),
    "u8": (0, 255),
    "s8": (-128, 127),
    "s32": (-(2**31), 2**31 - 1),
}
NARROW = [name for name, element_type in DTYPES.items() if element_type.bits <= 16]


def meaning(name: str, code: int) -> tuple[int, Fraction | str]:
    """(sign, magnitude) of a float code by its definition."""
    if name == "ue8m0":
        return 0, NAN if code == 255 else Fraction(2) ** (code - 127)
    signs, exponent_bits, fraction_bits, bias = FLOATS[name]
    fraction = code % 2**fraction_bits
    exponent = code // 2**fraction_bits % 2**exponent_bits
    sign = code // 2 ** (fraction_bits + exponent_bits) % 2 if signs else 0
    top = 2**exponent_bits - 1
    if name in IEEE and exponent == top:
        return sign, NAN if fraction else INF
    if name in ("e4m3", "ue4m3") and exponent == top and fraction == 7:
        return sign, NAN
    if exponent == 0:
        return sign, Fraction(fraction, 2**fraction_bits) * Fraction(2) ** (1 - bias)
    return sign, (1 + Fraction(fraction, 2**fraction_bits)) * Fraction(2) ** (exponent - bias)


def assert_means(value: float, name: str, code: int) -> None:
    sign, magnitude = meaning(name, code)
    if magnitude == NAN:
        assert math.isnan(value), f"{name} {code:#x}"
        return
    assert math.copysign(1, value) == (-1 if sign else 1), f"{name} {code:#x}"
    assert math.isinf(value) if magnitude == INF else Fraction(abs(value)) == magnitude, f"{name} {code:#x}"


@cache
def finite_magnitudes(name: str) -> list[tuple[Fraction, int]]:
    """All finite magnitudes of a type in ascending order, with the code of the positive one."""
    _, exponent_bits, fraction_bits, _ = FLOATS[name]
    magnitudes = [(meaning(name, code)[1], code) for code in range(2 ** (exponent_bits + fraction_bits))]
    return [(magnitude, code) for magnitude, code in magnitudes if isinstance(magnitude, Fraction)]


def test_every_type_is_covered_here() -> None:
    assert set(DTYPES) == set(FLOATS) | set(INTEGERS) | {"ue8m0", "tf32", "f64"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NARROW_FLOATS, "ue8m0"])
def test_codes_have_the_values_of_their_format(name: str) -> None:
    """Of types of 16 bits, every third."""
    every = range(1 << dtype(name).bits)
    codes = np.array(every_third(every, 1) if dtype(name).bits > 8 else every)
    values = dtype(name).decode(codes)
    assert values.dtype == dtype(name).value_type
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        assert_means(value, name, code)


@pytest.mark.parametrize("name", [name for name in INTEGERS if name != "s32"])
def test_decode_every_integer_code(name: str) -> None:
    low, high = INTEGERS[name]
    bits = dtype(name).bits
    assert dtype(name).decode(np.arange(1 << bits)).tolist() == [
        code if code <= high else code - 2**bits for code in range(1 << bits)
    ]
    assert (dtype(name).minimum, dtype(name).maximum) == (low, high)


@each("name", NARROW)
def test_encode_gives_every_code_back(name: str) -> None:
    element_type = dtype(name)
    codes = np.arange(1 << element_type.bits, dtype=element_type.code_type)
    if name == "ue4m3":
        codes = codes[:128]  # the top bit is ignored and never written
    values = element_type.decode(codes)
    number = ~np.isnan(values) if element_type.is_float else np.ones(codes.shape, dtype=bool)
    assert np.array_equal(element_type.encode(values[number]), codes[number])
    if not number.all():
        assert np.isnan(element_type.decode(element_type.encode(values[~number]))).all()
    assert element_type.encode(values[number]).dtype == element_type.code_type


@pytest.mark.slow
@pytest.mark.parametrize("name", NARROW_FLOATS)
def test_rounds_to_nearest_even_around_every_midpoint(name: str) -> None:
    element_type = dtype(name)
    values, expected = [], []
    pairs = list(pairwise(finite_magnitudes(name)))
    for (low, code), (high, above) in every_third(pairs, 2) if element_type.bits > 8 else pairs:
        middle = float((low + high) / 2)
        assert Fraction(middle) == (low + high) / 2, "every midpoint is a float64"
        values += [middle, math.nextafter(middle, 0.0), math.nextafter(middle, math.inf)]
        expected += [code if code % 2 == 0 else above, code, above]
    assert element_type.encode(np.array(values)).tolist() == expected
    if element_type.signed:
        sign = 1 << (element_type.bits - 1)
        assert element_type.encode(-np.array(values)).tolist() == [code | sign for code in expected]


@pytest.mark.parametrize("name", NARROW_FLOATS)
@pytest.mark.slow
def test_beyond_the_largest(name: str) -> None:
    element_type = dtype(name)
    (second, _), (largest, code) = finite_magnitudes(name)[-2:]
    edge = float(largest + (largest - second) / 2)  # as near to the next value, if there were one
    assert element_type.encode(math.nextafter(edge, 0.0)) == code
    beyond = [edge, math.nextafter(edge, math.inf), 1e300, math.inf]
    if name in ("e2m1", "e2m3", "e3m2"):  # no infinity, no NaN: saturates
        assert element_type.encode(beyond).tolist() == [code] * 4
    elif name in IEEE:
        assert np.isposinf(element_type.decode(element_type.encode(beyond)).astype(np.float64)).all()
    else:  # no infinity: becomes NaN, the tie excepted, which goes to the even code below
        assert np.isnan(element_type.decode(element_type.encode(beyond[1:]))).all()
        assert element_type.encode(edge) == code and code % 2 == 0


def test_ue8m0_rounds_to_powers_of_two() -> None:
    element_type = dtype("ue8m0")
    for code in range(254):
        middle = 1.5 * math.ldexp(1.0, code - 127)
        around = [math.nextafter(middle, 0.0), math.nextafter(middle, math.inf)]
        assert element_type.encode(around).tolist() == [code, code + 1]


def nearest_tf32(value: float) -> float:
    """The nearest of the numbers f * 2^(e-10) with |f| < 2^11 and e in -126..127, ties to even."""
    if not math.isfinite(value) or value == 0:
        return value
    exact = abs(Fraction(value))
    exponent = -126
    while exponent < 127 and Fraction(2) ** (exponent + 1) <= exact:
        exponent += 1
    step = Fraction(2) ** (exponent - 10)
    units, rest = divmod(exact, step)
    if rest > step / 2 or (rest == step / 2 and units % 2 == 1):
        units += 1
    rounded = units * step
    return math.copysign(math.inf if rounded >= Fraction(2) ** 128 else float(rounded), value)


@given(
    st.floats(width=64)
    | st.floats(-4, 4)
    | st.floats(min_value=-1e-37, max_value=1e-37)
    | st.floats(width=32)
)
def test_tf32_rounds_once(value: float) -> None:
    code = int(dtype("tf32").encode(value))
    rounded = float(dtype("tf32").decode(code))
    if math.isnan(value):
        assert math.isnan(rounded)
    else:
        assert (rounded, math.copysign(1, rounded)) == (nearest_tf32(value), math.copysign(1, value))
        assert code % 2**13 == 0, "the ignored bits are written as 0"


@given(st.integers(0, 2**19 - 1), st.booleans(), st.sampled_from([-1, 0, 1]))
def test_tf32_midpoints(top: int, negative: bool, side: int) -> None:
    """The code halfway to the next, and its neighbours in float64."""
    sign, magnitude = meaning("f32", (top % 2**18) << 13)
    if not isinstance(magnitude, Fraction):
        return
    exponent = max(top % 2**18 >> 10, 1) - 127
    value = float(magnitude + Fraction(2) ** (exponent - 11))
    value = math.nextafter(value, math.inf * side) if side else value
    value = -value if negative else value
    assert sign == 0 and float(dtype("tf32").decode(dtype("tf32").encode(value))) == nearest_tf32(value)


@given(st.integers(0, 2**32 - 1))
def test_tf32_ignores_its_lower_13_bits(code: int) -> None:
    assert_means(float(dtype("tf32").decode(np.uint32(code))), "f32", code >> 13 << 13)
    assert dtype("tf32").ignored_bits == 13 and dtype("f32").ignored_bits == 0


def _nan(code: int) -> bool:
    return meaning("f32", code)[1] == NAN


@given(
    st.integers(0, 2**32 - 1)
    | st.sampled_from(
        [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x80000000, 0x80000001, 0xFF800000, 0x7FC00000]
    )
)
def test_f32_codes(code: int) -> None:
    value = dtype("f32").decode(np.uint32(code))
    assert_means(float(value), "f32", code)
    if not _nan(code):
        assert int(dtype("f32").encode(value)) == code


@given(st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]))
def test_s32_codes(value: int) -> None:
    code = int(dtype("s32").encode(value))
    assert code == value % 2**32
    assert int(dtype("s32").decode(code)) == value


@given(st.integers(0, 2**64 - 1))
def test_f64_is_float64(code: int) -> None:
    element_type = dtype("f64")
    value = element_type.decode(code)
    assert value.dtype == np.float64 and int(element_type.encode(value)) == code


def test_minus_zero_is_kept() -> None:
    for name in ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "f16", "tf32", "f32", "f64"):
        element_type = dtype(name)
        assert int(element_type.encode(-0.0)) == 1 << (element_type.bits - 1)
        assert np.signbit(element_type.decode(element_type.encode(-0.0)))


@each("name", INTEGERS)
@each("as_type", [np.int64, np.float64, np.float32])
def test_integers_at_and_beyond_their_range(name: str, as_type: type[np.generic]) -> None:
    low, high = INTEGERS[name]
    beyond_low, beyond_high = low - 1, high + 1
    if as_type is np.float32 and name == "s32":  # the neighbours of the ends in float32
        beyond_low, high, beyond_high = low - 256, 2**31 - 128, 2**31
    element_type = dtype(name)
    ends = np.array([low, high], dtype=as_type)
    assert element_type.decode(element_type.encode(ends)).tolist() == [low, high]
    holds = "{} holds {}..{}".format(name, *INTEGERS[name])
    for beyond in (beyond_low, beyond_high):
        message = refusal(element_type.encode, np.array([0, beyond], dtype=as_type))
        assert message == f"element 1: found {beyond}; {holds}"


@each(
    "name, values, sentence",
    [
        ("s4", [[0, 8]], "row 0, column 1: found 8; s4 holds -8..7"),
        ("s4", [[[0], [1]], [[2], [9]]], "matrix [1], row 1, column 0: found 9; s4 holds -8..7"),
        ("u8", 256, "found 256; u8 holds 0..255"),
        ("s8", [0.5], "element 0: found 0.5; s8 holds whole numbers -128..127"),
        ("s8", [math.nan], "element 0: found nan; s8 holds whole numbers -128..127"),
        ("s8", [math.inf], "element 0: found inf; s8 holds whole numbers -128..127"),
        ("b1", [2], "element 0: found 2; b1 holds 0..1"),
        ("s8", ["x"], "s8 needs numbers, found an array of <U1"),
        ("e4m3", [1j], "e4m3 needs numbers, found an array of complex128"),
        (
            "e2m1",
            [math.nan],
            "element 0: found nan; e2m1 has no NaN, it holds 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives",
        ),
        (
            "e3m2",
            [[math.nan]],
            "row 0, column 0: found nan; e3m2 has no NaN, "
            "it holds 0, 0.0625, 0.125 ... 24, 28 and their negatives",
        ),
        ("ue8m0", [0.0], "element 0: found 0; ue8m0 holds powers of two from 2^-127 to 2^127"),
        ("ue8m0", [1, -2], "element 1: found -2; ue8m0 holds powers of two from 2^-127 to 2^127"),
        ("ue4m3", [-0.5], "element 0: found -0.5; ue4m3 holds 0..448, no sign"),
        ("ue4m3", [-math.inf], "element 0: found -inf; ue4m3 holds 0..448, no sign"),
    ],
)
def test_refusals_say_what_is_wrong(name: str, values: object, sentence: str) -> None:
    assert refusal(dtype(name).encode, values) == sentence


@each("name", DTYPES)
def test_shape_and_emptiness_are_kept(name: str) -> None:
    element_type = dtype(name)
    for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 4)):
        codes = element_type.encode(np.ones(shape))
        assert (codes.shape, codes.dtype) == (shape, element_type.code_type)
        values = element_type.decode(codes)
        assert (values.shape, values.dtype) == (shape, element_type.value_type)


def test_accepts_what_numpy_and_ml_dtypes_call_numbers() -> None:
    assert dtype("e4m3").encode(np.array([1, 2], dtype=ml_dtypes.float8_e5m2)).tolist() == [0x38, 0x40]
    assert dtype("s4").encode([True, False]).tolist() == [1, 0]
    assert dtype("s4").decode([0xF8, 0x17]).tolist() == [-8, 7], "bits above the element's own are ignored"


def test_types_are_found_by_their_names() -> None:
    assert dtype(".s4") is dtype("s4") is dtype(DTYPES["s4"])
    assert [str(element_type) for element_type in DTYPES.values()] == list(DTYPES)
    refuses("^unknown element type 'int4'; PTX calls it s4$", dtype, "int4")
    refuses("^unknown element type 's5'; there are b1, b4, u4, s4, ", dtype, "s5")
