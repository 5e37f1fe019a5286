"""Floating-point instructions of PTX on arrays of raw bits, with the NaNs that an H200 returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arithmetic import fma as fma_f64
from ..arithmetic import round_scaled
from .formats import FORMATS, Format, quotient_to_odd, remainder, root_to_odd, sum_to_odd
from .opcode import Array, Function, Opcode, split_lanes


def lane_format(type_name: str) -> tuple[Format, bool]:
    """The format of a type, and whether a register holds two of them."""
    name, _, lanes = type_name.partition("x")
    return FORMATS[name], lanes == "2"


def _by_lane(type_name: str, function: Function) -> Function:
    form, packed = lane_format(type_name)
    return split_lanes(function, form.bits) if packed else function


def finish(op: Opcode, form: Format) -> Function | None:
    """What follows rounding: .sat or .relu; None if there is nothing to do."""
    saturate, relu = "sat" in op, "relu" in op
    if not (saturate or relu):
        return None
    number = form.dtype.type
    zero, one, sign = number(0), number(form.bias << form.fraction), number(form.sign)

    def finish(codes: Array) -> Array:
        if saturate:
            return np.asarray(
                np.where((codes & sign != 0) | form.is_nan(codes), zero, np.minimum(codes, one))
            )
        return np.asarray(np.where((codes & sign != 0) & ~form.is_nan(codes), zero, codes))

    return finish


def arithmetic(op: Opcode) -> Function:
    """add, sub, mul, fma, mad, div, rcp, sqrt of floating-point types, rounded once."""
    form, _ = lane_format(op.d_type)
    compute = _double(op, form) if form.name == "f64" else _narrow(op, form)
    after, oob, sign = finish(op, form), "oob" in op, form.dtype.type(form.sign)

    def run(*sources: Array) -> Array:
        result = compute(*sources)
        if after is not None:
            result = after(result)
        if oob:
            outside = (sources[0] | sign == _OOB) | (sources[1] | sign == _OOB)
            result = np.where(outside, form.dtype.type(0), result)
        return np.asarray(result)

    if len(op.types) == 2 and op.types[0] != op.types[1]:
        return _widened(op, run)
    return _by_lane(op.type, run)


def _narrow(op: Opcode, form: Format) -> Function:
    """The operation in f16, bf16 or f32: an exact float64, or one rounded to odd, is rounded once.

    With .ftz, a result becomes 0 if it is below the smallest normal number after rounding to the
    precision of normal numbers (with unbounded exponents, as IEEE 754 says of tininess after rounding).
    """
    exact, flush, rounding = _EXACT[op.name], "ftz" in op, op.rounding
    native = _NATIVE.get(op.name) if (form.name, rounding) == ("f32", "rn") else None
    number = form.dtype.type
    sign, nan, smallest = number(form.sign), number(form.nan), number(form.smallest_normal)

    def compute(*sources: Array) -> Array:
        if flush:
            sources = tuple(form.flush(source) for source in sources)
        if native is not None:
            codes = native(*(source.view(np.float32) for source in sources)).view(np.uint32)
            magnitude = codes & ~sign
            if not (flush and (magnitude == smallest).any()):
                is_nan = magnitude > number(form.infinity)
                codes = form.flush(codes) if flush else codes
                return np.where(is_nan, nan, codes) if is_nan.any() else codes
        value: Array = exact(form, rounding, *(form.decode(source) for source in sources))
        codes = form.encode(value, rounding)
        if flush:
            tiny = is_tiny(form, rounding, value)
            codes = np.where(tiny, codes & sign, codes) if tiny.any() else codes
        return codes

    return compute


def is_tiny(form: Format, rounding: str, value: Array) -> Array:
    """Where a value stays below the smallest normal number of a format, rounded to its precision."""
    limit = 2.0 ** (1 - form.bias)
    step = limit * 2.0 ** -(form.fraction + 1)
    magnitude = np.abs(value)
    if rounding == "rn":
        return np.asarray(magnitude < limit - step / 2)
    if rounding == "rz":
        return np.asarray(magnitude < limit)
    away = (value < 0) == (rounding == "rm")
    return np.where(away, magnitude <= limit - step, magnitude < limit)


def _double(op: Opcode, form: Format) -> Function:
    """The operation in f64. A NaN keeps its payload; of several NaNs the operation decides which is kept."""
    function, rounding = _DOUBLE[op.name], op.rounding
    native = _NATIVE.get(op.name) if rounding == "rn" else None
    mode = None if rounding == "rn" else rounding
    quiet, last_first = np.uint64(1 << 51), _WINNING_NAN[op.name][::-1]

    def compute(*sources: Array) -> Array:
        values = [source.view(np.float64) for source in sources]
        result = np.asarray(native(*values) if native is not None else function(mode, *values))
        codes, is_nan = result.view(np.uint64), np.isnan(result)
        if is_nan.any():
            codes = np.where(is_nan, np.uint64(form.nan), codes)
            for index in last_first:
                codes = np.where(np.isnan(values[index]), sources[index] | quiet, codes)
        return codes

    return compute


#: The NaN with which TMA fills elements outside a tensor, of either sign, and which fma.oob turns into 0.
_OOB = 0xFFF7

#: The sources of f64 operations, beginning with the one whose NaN becomes the result.
_WINNING_NAN = {
    "add": (1, 0), "sub": (1, 0), "mul": (1, 0), "fma": (1, 2, 0), "mad": (1, 2, 0),
    "div": (0, 1), "rcp": (0,), "sqrt": (0,),
}  # fmt: skip

#: The operations that NumPy has in float32 and float64, rounded to nearest even.
_NATIVE: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": np.reciprocal,
}  # fmt: skip


def _widened(op: Opcode, run: Function) -> Function:
    """add.f32.f16 and the like: the last source is f32, the others are converted first, exactly."""
    narrow = FORMATS[op.type]

    def mixed(*sources: Array) -> Array:
        wide = [FORMATS["f32"].encode(narrow.decode(source)) for source in sources[:-1]]
        return np.asarray(run(*wide, sources[-1]))

    return mixed


def _sum(form: Format, rounding: str, x: Array, y: Array) -> Array:
    """x + y. x - x is -0 when rounding down, +0 otherwise; zeros of one sign keep it."""
    if form.name == "f32" and rounding == "rn":  # in f16 and bf16 ties are frequent
        total = np.asarray(x + y)
        tie = total.view(np.uint64) & np.uint64(0x1FFFFFFF) == np.uint64(0x10000000)
        small = (np.abs(total) <= 2.0**-126) & (total != 0)
        if not (tie | small).any():  # rounding twice is wrong only for what looks like a tie
            return total
    total = sum_to_odd(x, y)
    if rounding == "rm":
        total = np.where((total == 0) & (np.signbit(x) != np.signbit(y)), -0.0, total)
    return total


def _add(form: Format, rounding: str, x: Array, y: Array) -> Array:
    return np.asarray(x + y) if form.name == "f16" else _sum(form, rounding, x, y)  # f16 has rn only


_EXACT: dict[str, Function] = {
    "add": _add,
    "sub": lambda form, rounding, x, y: _add(form, rounding, x, -y),
    "mul": lambda form, rounding, x, y: x * y,
    "fma": lambda form, rounding, x, y, z: _sum(form, rounding, x * y, z),
    "mad": lambda form, rounding, x, y, z: _sum(form, rounding, x * y, z),
    "div": lambda form, rounding, x, y: quotient_to_odd(x, y),
    "rcp": lambda form, rounding, x: quotient_to_odd(np.ones(()), x),
    "sqrt": lambda form, rounding, x: root_to_odd(x),
}


def _multiply(rounding: str | None, x: Array, y: Array) -> Array:
    product = fma_f64(x, y, np.zeros(()), rounding)
    return np.where((x == 0) | (y == 0), x * y, product)


#: Less than half a unit in the last place of a number near 1: all that rounding has to know of a remainder.
_STICKY = 2.0**-80


def _divide(rounding: str | None, x: Array, y: Array) -> Array:
    x, y = np.broadcast_arrays(x, y)
    plain = np.asarray(x / y)
    special = ~np.isfinite(x) | ~np.isfinite(y) | (x == 0) | (y == 0)
    (mx, ex), (my, ey) = np.frexp(np.where(special, 1.0, x)), np.frexp(np.where(special, 1.0, y))
    quotient = mx / my
    rest = np.sign(remainder(mx, quotient, my)) * np.sign(my) * _STICKY
    return np.where(special, plain, round_scaled(quotient, rest, ex - ey, rounding))


def _root(rounding: str | None, x: Array) -> Array:
    special = ~np.isfinite(x) | (x <= 0)
    mantissa, exponent = np.frexp(np.where(special, 1.0, x))
    odd = exponent & 1
    mantissa = np.ldexp(mantissa, odd)
    root = np.sqrt(mantissa)
    rest = np.sign(remainder(mantissa, root, root)) * _STICKY
    return np.where(special, np.sqrt(x), round_scaled(root, rest, (exponent - odd) // 2, rounding))


_DOUBLE: dict[str, Function] = {
    "add": lambda rounding, x, y: fma_f64(x, np.ones(()), y, rounding),
    "sub": lambda rounding, x, y: fma_f64(x, np.ones(()), -y, rounding),
    "mul": _multiply,
    "fma": lambda rounding, x, y, z: fma_f64(x, y, z, rounding),
    "mad": lambda rounding, x, y, z: fma_f64(x, y, z, rounding),
    "div": _divide,
    "rcp": lambda rounding, x: _divide(rounding, np.ones(()), x),
    "sqrt": _root,
}


def extremum(op: Opcode) -> Function:
    """min and max: -0 is below +0; a NaN loses against a number, or wins with .NaN; two or three sources."""
    form, _ = lane_format(op.type)
    sign = form.dtype.type(form.sign)
    is_min, flush, propagate = op.name == "min", "ftz" in op, "NaN" in op
    xor_sign, absolute = "xorsign" in op, "abs" in op

    def extremum(*sources: Array) -> Array:
        if flush:
            sources = tuple(form.flush(source) for source in sources)
        numbers = tuple(source & ~sign for source in sources) if absolute else sources
        result = numbers[0]
        for number in numbers[1:]:
            result = _extremum_of_two(form, is_min, propagate, result, number)
        if xor_sign:
            result = np.where(form.is_nan(result), result, result | (sources[0] ^ sources[1]) & sign)
        return np.asarray(result)

    return _by_lane(op.type, extremum)


def _ordered(form: Format, codes: Array) -> Array:
    """Codes as signed integers in the order of the numbers."""
    read = np.dtype(f"i{form.bits // 8}")
    number = codes.view(read)
    return np.asarray(number ^ (number >> read.type(form.bits - 1) & read.type(form.sign - 1)))


def _extremum_of_two(form: Format, is_min: bool, propagate: bool, a: Array, b: Array) -> Array:
    """The smaller or the larger code of two; NaN with .NaN (`propagate`) if one is NaN, else if both are."""
    number, nan = form.dtype.type, form.dtype.type(form.nan)
    is_first = _ordered(form, a) <= _ordered(form, b) if is_min else _ordered(form, a) >= _ordered(form, b)
    chosen = np.where(is_first, a, b)
    a_nan, b_nan = form.is_nan(a), form.is_nan(b)
    if not (a_nan.any() or b_nan.any()):
        return chosen
    if propagate:
        return np.where(a_nan | b_nan, nan, chosen)
    chosen = np.where(a_nan, b, chosen)
    chosen = np.where(b_nan, a, chosen)
    both_nan = b | number(1 << form.fraction - 1) if form.name == "f64" else nan  # f64 keeps the payload
    return np.where(a_nan & b_nan, both_nan, chosen)


def sign_change(op: Opcode) -> Function:
    """abs and neg, which are additions of 0 in the chip: a NaN loses its payload, in f64 only its signal."""
    form, _ = lane_format(op.type)
    sign, flush, nan = form.dtype.type(form.sign), "ftz" in op, form.dtype.type(form.nan)
    quiet = form.dtype.type(1 << form.fraction - 1)

    def change(a: Array) -> Array:
        if flush:
            a = form.flush(a)
        is_nan = form.is_nan(a)
        changed = np.asarray(a & ~sign if op.name == "abs" else a ^ sign)
        if not is_nan.any():
            return changed
        return np.where(is_nan, a | quiet if form.name == "f64" else nan, changed)

    return _by_lane(op.type, change)


def copy_sign(op: Opcode) -> Function:
    """copysign: the sign of a, the magnitude of b."""
    form, _ = lane_format(op.type)
    sign = form.dtype.type(form.sign)
    return lambda a, b: a & sign | b & ~sign


def test_property(op: Opcode) -> Function:
    """testp: finite, infinite, number, notanumber, normal, subnormal."""
    form, _ = lane_format(op.type)
    infinity, normal = form.dtype.type(form.infinity), form.dtype.type(form.smallest_normal)
    magnitude_bits, one = form.dtype.type(form.sign - 1), form.dtype.type(1)
    properties: dict[str, Callable[[Array], Any]] = {
        "finite": lambda m: m < infinity,
        "infinite": lambda m: m == infinity,
        "number": lambda m: m <= infinity,
        "notanumber": lambda m: m > infinity,
        "normal": lambda m: (m - one >= normal - one) & (m < infinity),  # 0 counts as normal
        "subnormal": lambda m: (m < normal) & (m != 0),
    }
    holds = properties[op.modifiers[0]]
    return lambda a: holds(a & magnitude_bits)
