"""Conversions of PTX: cvt between integers and floating-point formats of all widths, and cvt.pack."""

from __future__ import annotations

from typing import Any

import numpy as np

from .floating import finish, is_tiny
from .formats import FORMATS, Format, sum_to_odd
from .integer import signed, unsigned
from .opcode import Array, Function, Opcode, width_of

_WHOLE: dict[str, Function] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _is_integer(type_name: str) -> bool:
    return type_name[0] in "us" and type_name[1:].isdigit()


def _reader(type_name: str) -> np.dtype[Any]:
    bits = width_of(type_name)
    return signed(bits) if type_name.startswith("s") else unsigned(bits)


def convert(op: Opcode) -> Function:
    """cvt; a result has the width of its type, so the caller extends it to a wider register."""
    target, source = op.d_type, op.type
    if op.rounding == "rs":
        return _round_stochastically(op)
    if "x2" in target or "x2" in source:
        return _convert_packed(op)
    if _is_integer(target):
        return _integer_to_integer(op) if _is_integer(source) else _float_to_integer(op)
    if _is_integer(source):
        return _integer_to_float(op)
    return _float_to_float(op, FORMATS[source], FORMATS[target])


def _integer_to_integer(op: Opcode) -> Function:
    read, to = _reader(op.type), _reader(op.d_type)
    raw, limits, source_limits = unsigned(8 * to.itemsize), np.iinfo(to), np.iinfo(read)
    low = read.type(max(limits.min, source_limits.min))
    high = read.type(min(limits.max, source_limits.max))

    def to_integer(a: Array) -> Array:
        number = a.view(read)
        if "sat" in op:
            number = np.clip(number, low, high)
        return np.asarray(number.astype(to).view(raw))

    return to_integer


def _float_to_integer(op: Opcode) -> Function:
    form, whole, flush = FORMATS[op.type], _WHOLE[op.rounding], "ftz" in op
    to = _reader(op.d_type)
    bits = 8 * to.itemsize
    raw, limits = unsigned(bits), np.iinfo(to)
    for_nan = raw.type(1 << bits - 1 if form.name == "f64" or bits == 64 else 0)

    def to_integer(a: Array) -> Array:
        number = whole(form.decode(form.flush(a) if flush else a))
        if bits < 64:
            clamped = np.clip(np.where(np.isnan(number), 0, number), limits.min, limits.max)
            result = clamped.astype(np.int64).astype(to).view(raw)
        else:
            top = float(limits.max)  # 2^63 or 2^64, which the type does not hold
            inside = (number >= float(limits.min)) & (number < top)
            upper = (number >= 2.0**63) & inside
            in_range = np.where(inside, np.where(upper, number - 2.0**63, number), 0.0)
            result = in_range.astype(np.int64).view(raw) + np.where(upper, raw.type(1 << 63), raw.type(0))
            beyond = np.where(number > 0, raw.type(limits.max), np.array(limits.min).astype(to).view(raw))
            result = np.where(inside, result, beyond)
        return np.where(form.is_nan(a), for_nan, result)

    return to_integer


def _integer_to_float(op: Opcode) -> Function:
    read, form = _reader(op.type), FORMATS[op.d_type]
    after, rounding = finish(op, form), op.rounding

    def to_float(a: Array) -> Array:
        number = a.view(read)
        if read.itemsize < 8:
            codes = form.encode(number.astype(np.float64), rounding)
        else:
            low = (a & np.uint64(0xFFFFFFFF)).astype(np.float64)
            high = (number >> read.type(32)).astype(np.float64) * 2.0**32
            exact = form.name == "f64"
            codes = _add_f64(high, low, rounding) if exact else form.encode(sum_to_odd(high, low), rounding)
        return codes if after is None else after(codes)

    return to_float


def _add_f64(high: Array, low: Array, rounding: str) -> Array:
    """The code of high + low in float64, rounded; no overflow, and low is not negative."""
    total = high + low
    if rounding != "rn":
        lost = (high - total) + low
        codes = total.view(np.int64)
        outward = np.where(codes < 0, np.int64(1), np.int64(-1))  # toward minus infinity
        if rounding == "rp":
            codes = np.where(lost > 0, codes - outward, codes)
        elif rounding == "rm":
            codes = np.where(lost < 0, codes + outward, codes)
        else:
            codes = np.where((lost != 0) & ((lost < 0) != (codes < 0)), codes - 1, codes)
        total = codes.view(np.float64)
    return np.asarray(total.view(np.uint64))


def _float_to_float(op: Opcode, source: Format, target: Format) -> Function:
    """Rounded to the target, or with rni, rzi, rmi, rpi to a whole number."""
    if source == target and not op.modifiers and source.bits >= 32:
        return np.copy
    if (source.name, target.name) == ("bf16", "f32") and "ftz" not in op:
        return lambda a: a.astype(np.uint32) << np.uint32(16)
    if target.name == "tf32" and op.rounding == "rna":
        return _round_to_finite_tf32 if "satfinite" in op else _round_to_tf32
    whole = _WHOLE.get(op.rounding)
    flush_source = "ftz" in op and source.name == "f32" and target.name != "f16"
    flush_result = "ftz" in op and target.name == "f32"
    after = finish(op, target)
    keeps_payload = "f64" in (source.name, target.name)
    rounding, finite = op.rounding, "satfinite" in op

    def to_float(a: Array) -> Array:
        value = source.decode(source.flush(a) if flush_source else a)
        if whole is not None:
            codes = target.encode(whole(value))
        elif source.name == "f64" and target.name == "f64":
            codes = target.encode(value)
        else:
            codes = target.encode(value, rounding, finite=finite)
        if flush_result and (small := is_tiny(target, rounding, value)).any():
            codes = np.where(small, codes & np.uint32(target.sign), codes)
        if keeps_payload and np.isnan(value).any():
            codes = np.where(np.isnan(value), _payload(a, source, target, "ftz" in op), codes)
        return codes if after is None else np.asarray(after(codes))

    return to_float


def _payload(a: Array, source: Format, target: Format, flush: bool) -> Array:
    """A NaN to or from f64: quiet, with the leading bits of its payload; .ftz has only one NaN of f32."""
    if flush and source.name == "f32":
        a = np.full_like(a, source.nan)
    wide = a.astype(np.uint64)
    fraction = (wide & np.uint64((1 << source.fraction) - 1)) << np.uint64(52 - source.fraction)
    fraction = (fraction | np.uint64(1 << 51)) >> np.uint64(52 - target.fraction)
    sign = np.where(wide & np.uint64(source.sign) != 0, np.uint64(target.sign), np.uint64(0))
    return np.asarray((fraction | sign | np.uint64(target.infinity)).astype(target.dtype))


def _to_power_of_two(op: Opcode, source: str) -> Function:
    """ue8m0 codes as the software path of CUDA's cuda_fp8.hpp computes them, which ignores the sign."""
    up, finite = op.rounding == "rp", "satfinite" in op

    def to_exponent(a: Array) -> Array:
        codes = a if source == "f32" else a.astype(np.uint32) << np.uint32(16)
        magnitude = codes & np.uint32(0x7FFFFFFF)
        field = magnitude >> np.uint32(23)
        if up:
            inexact = (magnitude & np.uint32(0x7FFFFF) != 0) & (magnitude > np.uint32(0x400000))
            field = field + (inexact & (magnitude < np.uint32(0x7F800000)))
        if finite:
            field = np.where(magnitude <= np.uint32(0x7F800000), np.minimum(field, np.uint32(0xFE)), field)
        return np.asarray(field.astype(np.uint8))

    return to_exponent


def _from_power_of_two(a: Array) -> Array:
    """bf16 codes of ue8m0 codes: 0 is 2^-127, a subnormal number, and 255 is NaN."""
    codes = a.astype(np.uint16) << np.uint16(7)
    return np.where(a == 0xFF, np.uint16(0x7FFF), np.where(a == 0, np.uint16(0x40), codes))


def _round_to_tf32(a: Array) -> Array:
    """cvt.rna.tf32.f32: adds half a unit to finite numbers and drops the lower bits of all."""
    finite = a & np.uint32(0x7FFFFFFF) < np.uint32(0x7F800000)
    return np.asarray(a + finite * np.uint32(0x1000) & np.uint32(0xFFFFE000))


def _round_to_finite_tf32(a: Array) -> Array:
    """cvt.rna.satfinite.tf32.f32: also subtracts one unit from what is not finite, NaN included."""
    rounded = _round_to_tf32(a)
    above = rounded & np.uint32(0x7FFFFFFF) >= np.uint32(0x7F800000)
    return np.asarray(rounded - above * np.uint32(0x2000))


def _convert_packed(op: Opcode) -> Function:
    """cvt of two values: a and b, or the halves of a, give the upper and the lower half of the result."""
    source, target = op.type, op.d_type
    if target == "ue8m0x2":
        return _pack_halves(op, _to_power_of_two(op, source))
    if source == "ue8m0x2":
        return _pack_halves(op, _from_power_of_two)
    form, to = FORMATS[source.removesuffix("x2")], FORMATS[target.removesuffix("x2")]
    return _pack_halves(op, _float_to_float(op, form, to))


def _pack_halves(op: Opcode, lane: Function) -> Function:
    """A conversion of two values from the conversion of one, `lane`."""
    source, target = op.type, op.d_type
    out_bits, raw = width_of(target) // 2, unsigned(width_of(target))
    in_bits = width_of(source) // 2
    in_lane, in_raw = unsigned(max(in_bits, 8)), unsigned(width_of(source))

    def join(upper: Array, lower: Array) -> Array:
        high, low = lane(np.stack(np.broadcast_arrays(upper, lower))).astype(raw)
        return np.asarray(high << raw.type(out_bits) | low)

    if not source.endswith("x2"):
        return join
    mask = in_raw.type((1 << in_bits) - 1)

    def halves(a: Array) -> Array:
        return join((a >> in_raw.type(in_bits)).astype(in_lane), (a & mask).astype(in_lane))

    return halves


def _round_stochastically(op: Opcode) -> Function:
    """cvt.rs: f32 sources and a word of random bits, the first source in the highest bits of the result."""
    name, _, lanes = op.d_type.partition("x")
    form, finite, after = FORMATS[name], "satfinite" in op, finish(op, FORMATS[name])
    raw = unsigned(width_of(op.d_type))
    shift = raw.type(width_of(op.d_type) // int(lanes))
    random_bits = {"f16": 13, "e2m1": 8}.get(name, 16)

    def convert(*sources: Array) -> Array:
        *numbers, word = np.broadcast_arrays(*sources)
        result = np.zeros(word.shape, raw)
        for number, random in zip(numbers, _random_numbers(name, word), strict=True):
            values = number.view(np.float32).astype(np.float64)
            codes = form.encode(values, "rs", finite=finite, random=random, random_bits=random_bits)
            result = result << shift | (codes if after is None else after(codes)).astype(raw)
        return result

    return convert


def _random_numbers(name: str, word: Array) -> tuple[Array, ...]:
    """The random number for each source of cvt.rs.

    PTX ISA, "cvt", says which bits of the word belong to which sources. Two of FP8 share a half: the first
    takes its bits in reverse order (FlashInfer's conversion.cuh and torchao's NVFP4 kernels, both measured on
    sm_100a; FP6 is taken to be the same). For e2m1, that the upper half is the first source's is assumed.
    """
    low, high = word & np.uint32(0xFFFF), word >> np.uint32(16)
    if name == "f16":
        return high & np.uint32(0x1FFF), low & np.uint32(0x1FFF)
    if name == "bf16":
        return high, low
    if name == "e2m1":
        byte = np.uint32(0xFF)
        return high >> np.uint32(8), low >> np.uint32(8), high & byte, low & byte
    return _reversed(high), high, _reversed(low), low


def _reversed(halves: Array) -> Array:
    """Numbers of 16 bits with their bits in reverse order."""
    for step, mask in ((1, 0x5555), (2, 0x3333), (4, 0x0F0F), (8, 0x00FF)):
        shift, chosen = np.uint32(step), np.uint32(mask)
        halves = (halves & chosen) << shift | halves >> shift & chosen
    return halves


def convert_pack(op: Opcode) -> Function:
    """cvt.pack: two integers saturated and packed below the bits of c."""
    name = op.d_type
    bits = int(name[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    mask = np.uint32((1 << bits) - 1)

    def pack(a: Array, b: Array, *c: Array) -> Array:
        upper, lower = (np.clip(v.view(np.int32), low, high).view(np.uint32) & mask for v in (a, b))
        result = upper << np.uint32(bits) | lower
        return np.asarray(result | c[0] << np.uint32(2 * bits) if c else result)

    return pack
