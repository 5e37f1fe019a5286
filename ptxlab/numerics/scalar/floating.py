"""Floating-point instructions of PTX on arrays of raw bits, with the NaNs that an H200 returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..fma import fma as fma_f64
from ..fma import round_scaled
from .formats import FORMATS, Format, quotient_to_odd, remainder, root_to_odd, sum_to_odd
from .opcode import Array, Opcode, split_lanes

__all__ = ["arithmetic", "copy_sign", "extremum", "sign_change", "test_property"]

Function = Callable[..., Any]


def lane_format(type_name: str) -> tuple[Format, bool]:
    """The format of a type, and whether a register holds two of them."""
    name, _, lanes = type_name.partition("x")
    return FORMATS[name], lanes == "2"


def _by_lane(type_name: str, function: Function) -> Function:
    form, packed = lane_format(type_name)
    return split_lanes(function, form.bits) if packed else function


def finish(op: Opcode, form: Format) -> Function | None:
    """What follows rounding: .ftz, .sat, .relu; None if there is nothing to do."""
    flush, saturate, relu = "ftz" in op, "sat" in op, "relu" in op
    if not (flush or saturate or relu):
        return None
    zero, one, sign = (
        form.dtype.type(0),
        form.dtype.type(form.bias << form.fraction),
        form.dtype.type(form.sign),
    )

    def finish(codes: Array) -> Array:
        if flush:
            codes = form.flush(codes)
        if saturate:
            codes = np.where((codes & sign != 0) | form.is_nan(codes), zero, np.minimum(codes, one))
        if relu:
            codes = np.where((codes & sign != 0) & ~form.is_nan(codes), zero, codes)
        return codes

    return finish


def arithmetic(op: Opcode) -> Function:
    """add, sub, mul, fma, mad, div, rcp, sqrt of floating-point types, rounded once."""
    form, _ = lane_format(op.result_type)
    compute = _COMPUTE_F64[op.name] if form.name == "f64" else _COMPUTE[op.name]
    after, flush, rounding = finish(op, form), "ftz" in op, op.rounding
    oob = "oob" in op
    native = _NATIVE.get((form.name, op.name)) if rounding == "rn" else None
    nan = form.dtype.type(form.nan)

    def run(*sources: Array) -> Array:
        if flush:
            sources = tuple(form.flush(source) for source in sources)
        if native is not None:
            result = native(*(source.view(f"f{form.bits // 8}") for source in sources))
            wrong = np.isnan(result)
            result = result.view(form.dtype)
            if wrong.any():
                result = np.where(wrong, nan, result)
        else:
            result = compute(form, rounding, *sources)
        if after is not None:
            result = after(result)
        if oob:
            outside = (sources[0] == form.dtype.type(_OOB)) | (sources[1] == form.dtype.type(_OOB))
            result = np.where(outside, form.dtype.type(0), result)
        return np.asarray(result)

    if len(op.types) == 2 and op.types[0] != op.types[1]:
        return _widened(op, run)
    return _by_lane(op.type, run)


_ONE = np.ones(())

#: The NaN with which TMA fills elements outside a tensor, and which fma.oob turns into 0.
_OOB = 0x7FFF

#: The operations that NumPy has in the format itself, rounded to nearest even.
_NATIVE: dict[tuple[str, str], Function] = {
    (form, name): function
    for form in ("f32", "f64")
    for name, function in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide), ("sqrt", np.sqrt),
        ("rcp", np.reciprocal),
    )
}  # fmt: skip


def _widened(op: Opcode, run: Function) -> Function:
    """add.f32.f16 and the like: the last source is f32, the others are converted first, exactly."""
    narrow = FORMATS[op.type]

    def mixed(*sources: Array) -> Array:
        wide = [FORMATS["f32"].encode(narrow.decode(source)) for source in sources[:-1]]
        return np.asarray(run(*wide, sources[-1]))

    return mixed


def _sum(form: Format, rounding: str, x: Array, y: Array) -> Array:
    """The code of x + y. x - x is -0 when rounding down, +0 otherwise; zeros of one sign keep it."""
    if form.name == "f32" and rounding == "rn":
        total = np.asarray(x + y)
        tie = total.view(np.uint64) & np.uint64(0x1FFFFFFF) == np.uint64(0x10000000)
        small = (np.abs(total) < 2.0**-126) & (total != 0)
        if not (tie | small).any():  # rounding twice is wrong only for what looks like a tie
            return form.encode(total)
    total = sum_to_odd(x, y)
    if rounding == "rm":
        total = np.where((total == 0) & (np.signbit(x) != np.signbit(y)), -0.0, total)
    return form.encode(total, rounding)


def _add(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return _sum(form, rounding, form.decode(a), form.decode(b))


def _subtract(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return _add(form, rounding, a, b ^ form.dtype.type(form.sign))


def _multiply(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return form.encode(form.decode(a) * form.decode(b), rounding)


def _fma(form: Format, rounding: str, a: Array, b: Array, c: Array) -> Array:
    return _sum(form, rounding, form.decode(a) * form.decode(b), form.decode(c))


def _divide(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return form.encode(quotient_to_odd(form.decode(a), form.decode(b)), rounding)


def _reciprocal(form: Format, rounding: str, a: Array) -> Array:
    return form.encode(quotient_to_odd(_ONE, form.decode(a)), rounding)


def _root(form: Format, rounding: str, a: Array) -> Array:
    return form.encode(root_to_odd(form.decode(a)), rounding)


_COMPUTE: dict[str, Function] = {
    "add": _add, "sub": _subtract, "mul": _multiply, "fma": _fma, "mad": _fma,
    "div": _divide, "rcp": _reciprocal, "sqrt": _root,
}  # fmt: skip


def _mode(rounding: str) -> str | None:
    return None if rounding == "rn" else rounding


def _fma_f64(form: Format, rounding: str, a: Array, b: Array, c: Array) -> Array:
    x, y, z = form.decode(a), form.decode(b), form.decode(c)
    if rounding == "rn" and all(_is_moderate(codes) for codes in (a, b, c)):
        return _fma_moderate(x, y, z).view(np.uint64)
    return form.encode(fma_f64(x, y, z, _mode(rounding)))


def _is_moderate(codes: Array) -> bool:
    """Whether f64 numbers are all 0 or between 2^-400 and 2^400, so that an fma stays in range."""
    field = codes >> np.uint64(52) & np.uint64(2047)
    return bool(((field - np.uint64(623) < np.uint64(800)) | (codes << np.uint64(1) == 0)).all())


def _fma_moderate(x: Array, y: Array, z: Array) -> Array:
    """x * y + z in float64, rounded to nearest even (Boldo and Melquiond 2008, figure 5)."""
    product = np.asarray(x * y)
    lost = -remainder(product, x, y)
    low = z + lost
    back = low - z
    far = (z - (low - back)) + (lost - back)
    total = product + low
    back = total - product
    rest = sum_to_odd(far, (product - (total - back)) + (low - back))
    return np.where((product == 0) | (rest == 0), np.where(product == 0, product + z, total), total + rest)


def _add_f64(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return form.encode(fma_f64(form.decode(a), _ONE, form.decode(b), _mode(rounding)))


def _subtract_f64(form: Format, rounding: str, a: Array, b: Array) -> Array:
    return _add_f64(form, rounding, a, b ^ form.dtype.type(form.sign))


def _multiply_f64(form: Format, rounding: str, a: Array, b: Array) -> Array:
    x, y = form.decode(a), form.decode(b)
    product = fma_f64(x, y, np.zeros(()), _mode(rounding))
    return form.encode(np.where((x == 0) | (y == 0), x * y, product))


def _divide_f64(form: Format, rounding: str, a: Array, b: Array) -> Array:
    x, y = np.broadcast_arrays(form.decode(a), form.decode(b))
    plain = np.asarray(x / y)
    special = ~np.isfinite(x) | ~np.isfinite(y) | (x == 0) | (y == 0)
    (mx, ex), (my, ey) = np.frexp(np.where(special, 1.0, x)), np.frexp(np.where(special, 1.0, y))
    quotient = mx / my
    rest = np.sign(remainder(mx, quotient, my)) * np.sign(my) * _STICKY
    rounded = round_scaled(quotient, rest, ex - ey, _mode(rounding))
    return form.encode(np.where(special, plain, rounded))


#: Less than half a unit in the last place of a number near 1: all that rounding has to know of a remainder.
_STICKY = 2.0**-80


def _reciprocal_f64(form: Format, rounding: str, a: Array) -> Array:
    return _divide_f64(form, rounding, np.full_like(a, np.float64(1).view(np.uint64)), a)


def _root_f64(form: Format, rounding: str, a: Array) -> Array:
    x = form.decode(a)
    special = ~np.isfinite(x) | (x <= 0)
    mantissa, exponent = np.frexp(np.where(special, 1.0, x))
    odd = exponent & 1
    mantissa = np.ldexp(mantissa, odd)
    root = np.sqrt(mantissa)
    rest = np.sign(remainder(mantissa, root, root)) * _STICKY
    rounded = round_scaled(root, rest, (exponent - odd) // 2, _mode(rounding))
    return form.encode(np.where(special, np.sqrt(x), rounded))


_COMPUTE_F64: dict[str, Function] = {
    "add": _add_f64, "sub": _subtract_f64, "mul": _multiply_f64, "fma": _fma_f64, "mad": _fma_f64,
    "div": _divide_f64, "rcp": _reciprocal_f64, "sqrt": _root_f64,
}  # fmt: skip


def extremum(op: Opcode) -> Function:
    """min and max: -0 is below +0; a NaN loses against a number, or wins with .NaN; two or three sources."""
    form, _ = lane_format(op.type)
    sign, nan = form.dtype.type(form.sign), form.dtype.type(form.nan)
    read, quiet = np.dtype(f"i{form.bits // 8}"), form.dtype.type(1 << form.fraction - 1)
    low, flush, propagate = op.name == "min", "ftz" in op, "NaN" in op
    xor_sign, absolute = "xorsign" in op, "abs" in op

    def order(codes: Array) -> Array:
        """Signed integers in the order of the numbers."""
        number = codes.view(read)
        return np.asarray(number ^ (number >> read.type(form.bits - 1) & read.type(form.sign - 1)))

    def choose(a: Array, b: Array) -> Array:
        first = order(a) <= order(b) if low else order(a) >= order(b)
        chosen = np.where(first, a, b)
        no_a, no_b = form.is_nan(a), form.is_nan(b)
        if not (no_a.any() or no_b.any()):
            return chosen
        if propagate:
            return np.where(no_a | no_b, nan, chosen)
        chosen = np.where(no_a, b, chosen)
        chosen = np.where(no_b, a, chosen)
        return np.where(no_a & no_b, b | quiet if form.name == "f64" else nan, chosen)

    native = (np.fmin if low else np.fmax) if form.name in ("f32", "f64") and not absolute else None
    best_zero = sign if low else form.dtype.type(0)

    def numbers_only(a: Array, b: Array) -> Array | None:
        """The result by NumPy where nothing is NaN, which is most of the time."""
        if native is None:
            return None
        chosen = native(a.view(f"f{form.bits // 8}"), b.view(f"f{form.bits // 8}"))
        zero = chosen == 0
        codes = chosen.view(form.dtype)
        if np.isnan(chosen).any() or (propagate and (form.is_nan(a) | form.is_nan(b)).any()):
            return None
        if zero.any():
            one = np.where((a == best_zero) | (b == best_zero), best_zero, best_zero ^ sign)
            codes = np.where(zero, one, codes)
        return np.asarray(codes)

    def extremum(*sources: Array) -> Array:
        if flush:
            sources = tuple(form.flush(source) for source in sources)
        if len(sources) == 2:
            quick = numbers_only(*sources)
            if quick is not None:
                return quick
        numbers = tuple(source & ~sign for source in sources) if absolute else sources
        result = numbers[0]
        for number in numbers[1:]:
            result = choose(result, number)
        if xor_sign:
            result = np.where(form.is_nan(result), result, result | (sources[0] ^ sources[1]) & sign)
        return np.asarray(result)

    return _by_lane(op.type, extremum)


def sign_change(op: Opcode) -> Function:
    """abs and neg, which are additions of 0 in the chip: a NaN loses its payload."""
    form, _ = lane_format(op.type)
    sign, flush, nan = form.dtype.type(form.sign), "ftz" in op, form.dtype.type(form.nan)

    def change(a: Array) -> Array:
        if flush:
            a = form.flush(a)
        wrong = form.is_nan(a)
        changed = np.asarray(a & ~sign if op.name == "abs" else a ^ sign)
        return np.where(wrong, nan, changed) if wrong.any() else changed

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
    magnitude_bits = form.dtype.type(form.sign - 1)
    properties: dict[str, Callable[[Array], Any]] = {
        "finite": lambda m: m < infinity,
        "infinite": lambda m: m == infinity,
        "number": lambda m: m <= infinity,
        "notanumber": lambda m: m > infinity,
        "normal": lambda m: (m >= normal) & (m < infinity),
        "subnormal": lambda m: (m < normal) & (m != 0),
    }
    holds = properties[op.modifiers[0]]
    return lambda a: holds(a & magnitude_bits)
