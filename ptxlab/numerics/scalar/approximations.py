"""PTX's approximate instructions on arrays of raw bits, as an H200 computes them.

The chip has one unit for them, `MUFU` in the machine code. It looks up three coefficients by the leading
bits of the reduced argument and evaluates a quadratic in the bits that follow, in fixed point, with a
squarer that drops the low columns of its partial products: Oberman and Siu, "A High-Performance
Area-Efficient Multifunction Interpolator" (ARITH 2005). The tables of rcp, rsqrt, ex2, lg2 and sin, and how
they are added up, are those that Marcin Kościelnicki read out of a G80 of 2006 (envytools, nvhw/sfu.c);
an H200 gives the same results for all 2^32 inputs. Those of sqrt and tanh were solved for from all
results of an H200, which leave one solution. What the instructions do around the unit, such as the scaling
of subnormal numbers, is read from the machine code that ptxas makes of them for sm_90a.

`FUNCTIONS` has a function for every opcode, which gives the chip's bits.

>>> half = FUNCTIONS["rcp.approx.ftz.f32"](np.float32([2]).view(np.uint32))
>>> half.view(np.float32)
array([0.5], dtype=float32)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from ..arithmetic import fma
from .formats import FORMATS, Format
from .opcode import Array, split_lanes

Function = Callable[..., Array]

_NAN = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_ONE = np.uint32(0x3F800000)


# -- quadratic interpolation ---------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _squares() -> Array:
    """The squares of 17-bit numbers, divided by 2^19, as the squarer gives them.

    It adds one row for every bit of the number, and every row drops the columns below 2^18 by itself.
    """
    number = np.arange(1 << 17, dtype=np.int64)
    total = np.zeros_like(number)
    for bit in range(17):
        total += (number >> bit & 1) * (number >> (18 - bit))
    return total >> 1


@dataclass(frozen=True, eq=False)
class Interpolator:
    """Tables of coefficients, and how their quadratic is added up.

    The leading bits i of an argument choose a segment, its last `low_bits` bits are l; the value is
    `c0[i] * 2^c0_shift + c1[i] * l + c2[i] * square(l) * 2^square_shift + constant`, in units of 2^-scale.

    >>> interpolator("rcp").coefficients[0].tolist()
    [67108862, -65534, 1013]
    """

    low_bits: int
    c0_shift: int
    square_shift: int
    constant: int
    scale: int
    coefficients: Array  # [segment, (c0, c1, c2)]

    @cached_property
    def _terms(self) -> tuple[Array, Array, Array]:
        """The coefficients by column, shifted, the constant in the first."""
        c0, c1, c2 = self.coefficients.T
        return (c0 << self.c0_shift) + self.constant, c1.copy(), c2 << self.square_shift

    def __call__(self, argument: Array) -> Array:
        """The fixed-point value at an argument, as int64."""
        segment = argument >> self.low_bits
        low = argument & ((1 << self.low_bits) - 1)
        c0, c1, c2 = self._terms
        square = _squares().take(low << (17 - self.low_bits) if self.low_bits < 17 else low)
        return np.asarray(c0.take(segment) + c1.take(segment) * low + c2.take(segment) * square)


@lru_cache(maxsize=None)
def interpolator(name: str) -> Interpolator:
    """The interpolator of a function of the unit: rcp, rsqrt, sqrt, ex2, lg2, sin, tanh."""
    text = Path(__file__).with_name("approximations.json").read_text(encoding="utf-8")
    table = json.loads(text)[name]
    return Interpolator(**{**table, "coefficients": np.array(table["coefficients"], dtype=np.int64)})


# -- the unit: what MUFU computes --------------------------------------------------------------------


def _parts(codes: Array) -> tuple[Array, Array]:
    """Exponent field and fraction of f32 codes, as int64."""
    wide = codes.astype(np.int64)
    return wide >> 23 & 0xFF, wide & 0x7FFFFF


def _pack(field: Array, significand: Array) -> Array:
    """f32 codes of an exponent field and a significand from 2^23 to 2^24; subnormal results are 0."""
    return _in_range((field - 1 << 23) + significand)


def _in_range(code: Array) -> Array:
    """Codes of f32 from int64: below the smallest normal number 0, above the largest infinity."""
    return np.where(code < 1 << 23, 0, np.minimum(code, int(_INFINITY))).astype(np.uint32)


def _truncate(value: Array, scale: int) -> Array:
    """f32 codes of `value * 2^-scale`, truncated to 24 bits; for integers of less than 53 bits."""
    wide = value.astype(np.float64).view(np.int64)  # exact, so its leading bits are those of value
    return _in_range((wide >> 29) - (1023 - 127 + scale << 23))


def _is_nan(codes: Array) -> Array:
    return np.asarray((codes & ~_SIGN) > _INFINITY)


def _rcp(codes: Array) -> Array:
    """MUFU.RCP: 1/x; subnormal numbers count as 0."""
    field, fraction = _parts(codes)
    result = _pack(253 - field, interpolator("rcp")(fraction) >> 15)
    result = np.where(field == 0, _INFINITY, np.where(field == 255, np.uint32(0), result)) | codes & _SIGN
    return np.where(_is_nan(codes), _NAN, result)


def _of_positive(codes: Array, result: Array, at_zero: Array | np.uint32, at_infinity: np.uint32) -> Array:
    """The result of a function of positive numbers: NaN for negative ones; subnormal numbers count as 0."""
    if bool(((codes - np.uint32(0x00800000)) < np.uint32(0x7F000000)).all()):
        return result  # all are positive and normal
    result = np.where(codes == _INFINITY, at_infinity, result)
    result = np.where((codes > _SIGN) | _is_nan(codes), _NAN, result)
    return np.where(codes & _INFINITY == 0, at_zero, result)


def _rsqrt(codes: Array) -> Array:
    """MUFU.RSQ: the argument is in [1, 4), and a power of 4 is exact."""
    field, fraction = _parts(codes)
    exponent = field - 127
    argument = fraction | (exponent & 1) << 23
    significand = np.where(argument == 0, 1 << 24, interpolator("rsqrt")(argument) >> 16)
    result = _pack(126 - (exponent >> 1), significand)
    return _of_positive(codes, result, codes & _SIGN | _INFINITY, np.uint32(0))


def _sqrt(codes: Array) -> Array:
    """MUFU.SQRT: the argument is in [1, 4)."""
    field, fraction = _parts(codes)
    exponent = field - 127
    significand = interpolator("sqrt")(fraction | (exponent & 1) << 23) >> 17
    return _of_positive(codes, _pack(127 + (exponent >> 1), significand), codes & _SIGN, _INFINITY)


def _ex2(codes: Array) -> Array:
    """MUFU.EX2: x as a fixed-point number with 23 fractional bits, truncated; the bits of -x are inverted."""
    number = codes.view(np.float32).astype(np.float64)
    fixed = (np.clip(number, -200, 200) * 2.0**23).astype(np.int64)  # 200 overflows, -200 underflows
    fixed = fixed - ((fixed < 0) & (fixed & 0x7FFFFF != 0))  # ~x instead of -x
    result = _pack((fixed >> 23) + 127, interpolator("ex2")(fixed & 0x7FFFFF) >> 15)
    return np.where(np.isnan(number), _NAN, result)


def _lg2(codes: Array) -> Array:
    """MUFU.LG2: the exponent plus the logarithm of the significand, truncated; lg2(1) is exact."""
    field, fraction = _parts(codes)
    value = np.where(codes == _ONE, 0, interpolator("lg2")(fraction) >> 2) + (field - 127 << 36)
    negative = value < 0
    result = _truncate(np.where(negative, ~value, value), 36)
    result = np.where(negative, result | _SIGN, result)
    return _of_positive(codes, result, _SIGN | _INFINITY, _INFINITY)


def _sine(codes: Array, quarter_turns: int) -> Array:
    """sin and cos: FMUL.RZ by the f32 next to 1 / 2 pi, then MUFU.SIN, or MUFU.COS a quarter of a turn ahead.

    Four times the angle in turns is a fixed-point number with 23 fractional bits, truncated; its whole part
    is the quadrant. In the second and the fourth quadrant the bits of the fraction are inverted.
    """
    angle = codes.view(np.float32).astype(np.float64)
    product = np.abs(angle) * float.fromhex("0x1.45f306p-3")  # exact
    turns = (product.view(np.int64) & -(1 << 29)).view(np.float64)  # truncated to 24 bits
    fixed = ((turns - np.floor(turns)) * 2.0**25).astype(np.int64)
    quadrant = (fixed >> 23) + quarter_turns
    argument = (fixed ^ -(quadrant & 1)) & 0x7FFFFF
    table = interpolator("sin")
    sign = (quadrant >> 1 & 1).astype(np.uint32) << np.uint32(31)
    if not quarter_turns:
        sign = sign ^ codes & _SIGN
    return np.where(np.isfinite(angle), _truncate(table(argument), table.scale) | sign, _NAN)


def _sin(codes: Array) -> Array:
    return _sine(codes, 0)


def _cos(codes: Array) -> Array:
    return _sine(codes, 1)


#: tanh's segments by exponent, from 2^-8 to below 8: log2 of their number in each power of two.
_TANH_SEGMENT_BITS = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)


def _tanh(codes: Array) -> Array:
    """MUFU.TANH: x below 2^-8, 1 from 8 on; between them every power of two has segments of its own."""
    field, fraction = _parts(codes)
    bits = np.array(_TANH_SEGMENT_BITS, dtype=np.int64)
    first = np.cumsum(1 << bits) - (1 << bits)
    row = np.clip(field - 119, 0, len(_TANH_SEGMENT_BITS) - 1)
    table = interpolator("tanh")
    argument = (first << table.low_bits).take(row) + (fraction >> (23 - table.low_bits - bits).take(row))
    result = np.where(field >= 130, _ONE, _truncate(table(argument), table.scale)) | codes & _SIGN
    result = np.where(field < 119, codes, result)
    return np.where(_is_nan(codes), _NAN, result)


def _high_word(name: str, argument: Array, drop: int) -> Array:
    """The first 20 bits of a result after the leading one, from 20 bits of an f64's fraction."""
    return interpolator(name)(argument << 3) >> drop


def _rcp64h(codes: Array) -> Array:
    """MUFU.RCP64H: the high word of 1/x from the high word of an f64, truncated; subnormal numbers are 0."""
    high = codes.astype(np.int64) & 0xFFFFFFFF
    sign, field, fraction = high >> 31 << 31, high >> 20 & 0x7FF, high & 0xFFFFF
    result = (2045 - field << 20) + _high_word("rcp", fraction, 18) - (1 << 20)
    result = np.where(result < 1 << 20, 0, result)
    result = np.where(field == 0, 0x7FF00000, np.where(field == 2047, 0, result)) | sign
    return np.where(high & 0x7FFFFFFF > 0x7FF00000, int(_NAN), result)


def _rsqrt64h(codes: Array) -> Array:
    """MUFU.RSQ64H: the same for 1/sqrt(x); powers of 4 are exact."""
    high = codes.astype(np.int64) & 0xFFFFFFFF
    sign, field, fraction = high >> 31 << 31, high >> 20 & 0x7FF, high & 0xFFFFF
    exponent = field - 1023
    argument = fraction | (exponent & 1) << 20
    significand = np.where(argument == 0, 1 << 21, _high_word("rsqrt", argument, 19))
    result = (1022 - (exponent >> 1) << 20) + significand - (1 << 20)
    result = np.where(high == 0x7FF00000, 0, result)
    result = np.where((sign != 0) | (high > 0x7FF00000), int(_NAN), result)
    return np.where(field == 0, 0x7FF00000 | sign, result)


# -- the instructions: what ptxas makes of them for sm_90a ------------------------------------------------


def _subnormal(codes: Array) -> Array:
    """Where |x| < 2^-126."""
    return np.asarray(codes & _INFINITY == 0)


def _huge(codes: Array) -> Array:
    """Where |x| > 2^126."""
    return np.asarray(((codes & ~_SIGN) > np.uint32(0x7E800000)) & ~_is_nan(codes))


def _flush(codes: Array) -> Array:
    """Subnormal numbers replaced by zeros of their sign."""
    return np.where(_subnormal(codes), codes & _SIGN, codes)


def _times(x: Array, y: Array) -> Array:
    """FMUL of f32 codes: rounded to nearest even."""
    product = x.view(np.float32) * y.view(np.float32)
    return np.where(np.isnan(product), _NAN, product.view(np.uint32))


def _times_flushed(x: Array, y: Array) -> Array:
    """FMUL.FTZ of f32 codes: a product becomes 0 if it is below 2^-126 after rounding to 24 bits."""
    x, y = _flush(x), _flush(y)
    exact = x.view(np.float32).astype(np.float64) * y.view(np.float32)
    return np.where(np.abs(exact) < 2.0**-126 - 2.0**-151, (x ^ y) & _SIGN, _times(x, y))


def _scaled(codes: Array, where: Array, factor: float) -> Array:
    """FMUL by a constant under a predicate."""
    return np.where(where, _times(codes, np.full_like(codes, np.float32(factor).view(np.uint32))), codes)


def _ex2_f32(codes: Array) -> Array:
    """ex2.approx.f32: below -126 the square of 2^(x/2), so that the result may be subnormal."""
    low = codes.view(np.float32) < np.float32(-126)
    result = _ex2(_scaled(codes, low, 0.5))
    return np.where(low, _times(result, result), result)


def _rcp_f32(codes: Array) -> Array:
    """rcp.approx.f32: from x * 2^24 for subnormal x, from x / 4 where 1/x would be subnormal."""
    factor = np.where(_subnormal(codes), np.float32(2.0**24), np.float32(1))
    factor = np.where(_huge(codes), np.float32(0.25), factor).view(np.uint32)
    return _times(factor, _rcp(_times(codes, factor)))


def _rsqrt_f32(codes: Array) -> Array:
    """rsqrt.approx.f32: from x * 2^24 for subnormal x."""
    small = _subnormal(codes)
    return _scaled(_rsqrt(_scaled(codes, small, 2.0**24)), small, 2.0**12)


def _sqrt_f32(codes: Array) -> Array:
    """sqrt.approx.f32: from x * 2^24 for subnormal x."""
    small = _subnormal(codes)
    return _scaled(_sqrt(_scaled(codes, small, 2.0**24)), small, 2.0**-12)


def _lg2_f32(codes: Array) -> Array:
    """lg2.approx.f32: lg2(x * 2^24) - 24 for subnormal x."""
    small = _subnormal(codes)
    result = _lg2(_scaled(codes, small, 2.0**24))
    shifted = (result.view(np.float32) - np.float32(24)).view(np.uint32)
    return np.where(small & ~_is_nan(result), shifted, result)


def _rounded_rcp(codes: Array) -> Array:
    """1/x to nearest even, what would be subnormal as 0: how ptxas computes that of a constant."""
    with np.errstate(divide="ignore"):
        result = (1 / codes.view(np.float32).astype(np.float64)).astype(np.float32).view(np.uint32)
    return _flush(np.where(_is_nan(codes), _NAN, result))


def division_factors(opcode: str, constant: bool) -> Callable[[Array, Array], tuple[Array, Array]]:
    """1/y and x, whose product div.approx and div.full give; ptxas knows a constant y, and its reciprocal.

    Both are scaled first where y is subnormal or 1/y would be.
    """
    flush = ".ftz" in opcode
    times = _times_flushed if flush else _times
    reciprocal = _rounded_rcp if constant else _rcp

    def scaled(x: Array, y: Array, where: Array, factor: float) -> tuple[Array, Array]:
        scale = np.full_like(x, np.float32(factor).view(np.uint32))
        return np.where(where, times(x, scale), x), np.where(where, times(y, scale), y)

    def factors(x: Array, y: Array) -> tuple[Array, Array]:
        x, y = np.broadcast_arrays(x, y)
        if ".full" in opcode:
            x, y = scaled(x, y, _huge(y), 0.25)
        if flush:
            y = _flush(y)
        else:
            x, y = scaled(x, y, _subnormal(y), 2.0**24)
        return reciprocal(y), x

    return factors


def division(opcode: str, constant: bool = False) -> Function:
    """div.approx or div.full, by a register or by a constant."""
    times = _times_flushed if ".ftz" in opcode else _times
    factors = division_factors(opcode, constant)
    return lambda x, y: times(*factors(x, y))


def _high_words(unit: Function) -> Function:
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the unit on the high words; the low word is 0."""

    def instruction(codes: Array) -> Array:
        return unit(codes >> np.uint64(32)).astype(np.uint64) << np.uint64(32)

    return instruction


def _rsqrt_f64(codes: Array) -> Array:
    """rsqrt.approx.f64: the unit's result y and one step, y + y e (1/2 + 3/8 e) with e = 1 - x y^2."""
    number = codes.view(np.float64)
    small = (number > 0) & (number < 2.0**-1022)
    scaled = np.where(small, number * 2.0**54, number)
    start = _high_words(_rsqrt64h)(scaled.view(np.uint64)).view(np.float64)
    error = fma(scaled, -(start * start), np.ones(()))
    refined = fma(fma(error, np.array(0.375), np.array(0.5)), start * error, start)
    result = np.where(small, refined * 2.0**27, refined).view(np.uint64)
    result = np.where(number == np.inf, np.uint64(0), result)
    result = np.where(number < 0, np.uint64(0xFFF8000000000000), result)
    result = np.where(np.isnan(number), codes | np.uint64(0x0008000000000000), result)
    return np.where(number == 0, codes | np.uint64(0x7FF0000000000000), result)


def _narrow(unit: Function, form: Format) -> Function:
    """MUFU on f16 and bf16: the function of f32, truncated; what is too large becomes infinite."""

    @lru_cache(maxsize=1)
    def results() -> Array:
        """Those of all 2^16 codes."""
        argument = form.decode(np.arange(1 << 16, dtype=np.uint16)).astype(np.float32)
        value = unit(argument.view(np.uint32)).view(np.float32).astype(np.float64)
        return form.encode(np.where(value >= 2.0 ** (form.bias + 1), np.inf, value), "rz")

    return lambda codes: results().take(codes)


_EX2_F16, _TANH_F16 = _narrow(_ex2, FORMATS["f16"]), _narrow(_tanh, FORMATS["f16"])
_EX2_BF16, _TANH_BF16 = _narrow(_ex2, FORMATS["bf16"]), _narrow(_tanh, FORMATS["bf16"])

#: Divisions that end in a product.
DIVISIONS = ("div.approx.ftz.f32", "div.approx.f32", "div.full.ftz.f32", "div.full.f32")

#: Every opcode and its function of arrays of raw bits.
FUNCTIONS: dict[str, Function] = {
    "ex2.approx.ftz.f32": _ex2,
    "ex2.approx.f32": _ex2_f32,
    "ex2.approx.f16": _EX2_F16,
    "ex2.approx.f16x2": split_lanes(_EX2_F16, 16),
    "ex2.approx.ftz.bf16": _EX2_BF16,
    "ex2.approx.ftz.bf16x2": split_lanes(_EX2_BF16, 16),
    "lg2.approx.ftz.f32": _lg2,
    "lg2.approx.f32": _lg2_f32,
    "sin.approx.ftz.f32": _sin,
    "sin.approx.f32": _sin,
    "cos.approx.ftz.f32": _cos,
    "cos.approx.f32": _cos,
    "tanh.approx.f32": _tanh,
    "tanh.approx.f16": _TANH_F16,
    "tanh.approx.f16x2": split_lanes(_TANH_F16, 16),
    "tanh.approx.bf16": _TANH_BF16,
    "tanh.approx.bf16x2": split_lanes(_TANH_BF16, 16),
    "rcp.approx.ftz.f32": _rcp,
    "rcp.approx.f32": _rcp_f32,
    "rcp.approx.ftz.f64": _high_words(_rcp64h),
    "sqrt.approx.ftz.f32": _sqrt,
    "sqrt.approx.f32": _sqrt_f32,
    "rsqrt.approx.ftz.f32": _rsqrt,
    "rsqrt.approx.f32": _rsqrt_f32,
    "rsqrt.approx.ftz.f64": _high_words(_rsqrt64h),
    "rsqrt.approx.f64": _rsqrt_f64,
    **{opcode: division(opcode) for opcode in DIVISIONS},
}
