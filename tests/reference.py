"""The tensor core one number at a time, in exact fractions: slow, plain, and written apart from ptxlab.numerics, of which it knows the names of the rules."""

from __future__ import annotations

import math
from fractions import Fraction

from ptxlab import Instruction
from ptxlab.numerics import EmulatedThroughF16, FmaChain, FmaGroups, Fused, Rule

Term = tuple[Fraction, int]  # exact value, exponent as the hardware sees it


def decode(
    code: int, exponent_bits: int, fraction_bits: int, *, ieee: bool = True, ignored: int = 0
) -> tuple[Fraction | float, int]:
    """(value, exponent) of a float code; infinities and NaN as floats. `ieee`: the top exponent is for infinity and NaN."""
    code >>= ignored
    fraction = code & ((1 << fraction_bits) - 1)
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = -1 if code >> (fraction_bits + exponent_bits) & 1 else 1
    bias = (1 << (exponent_bits - 1)) - 1
    if field == (1 << exponent_bits) - 1 and (ieee or (exponent_bits == 4 and fraction == 7)):
        return (math.inf * sign if fraction == 0 and ieee else math.nan), field - bias
    exponent = max(field, 1) - bias
    significand = Fraction(fraction + (1 << fraction_bits if field else 0), 1 << fraction_bits)
    return sign * significand * Fraction(2) ** exponent, exponent


FORMATS = {
    "tf32": {"exponent_bits": 8, "fraction_bits": 10, "ignored": 13},
    "f32": {"exponent_bits": 8, "fraction_bits": 23},
    "f16": {"exponent_bits": 5, "fraction_bits": 10},
    "bf16": {"exponent_bits": 8, "fraction_bits": 7},
    "e5m2": {"exponent_bits": 5, "fraction_bits": 2},
    "e4m3": {"exponent_bits": 4, "fraction_bits": 3, "ieee": False},
    "e2m1": {"exponent_bits": 2, "fraction_bits": 1, "ieee": False},
    "e2m3": {"exponent_bits": 2, "fraction_bits": 3, "ieee": False},
    "e3m2": {"exponent_bits": 3, "fraction_bits": 2, "ieee": False},
    "f64": {"exponent_bits": 11, "fraction_bits": 52},
}


def cut(value: Fraction, grain: Fraction) -> Fraction:
    """Toward zero to a multiple of the grain."""
    return Fraction(math.trunc(value / grain)) * grain


def aligned_sum(terms: list[Term], fraction_bits: int, floor: int) -> Fraction:
    present = [exponent for value, exponent in terms if value]
    grain = Fraction(2) ** (max([floor, *present]) - fraction_bits)
    return sum((cut(value, grain) for value, _ in terms), Fraction(0))


def exponent_of(value: Fraction) -> int:
    """Exponent of the leading bit."""
    value = abs(value)
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def to_f32(value: Fraction, result_bits: int) -> int:
    """Code of f32, cut toward zero to `result_bits` of fraction."""
    if value == 0:
        return 0
    grain = Fraction(2) ** (max(exponent_of(value), -126) - result_bits)
    kept = abs(cut(value, grain))
    if kept == 0:
        return 0
    if kept >= Fraction(2) ** 128:
        return 0x7F800000 | (value < 0) << 31
    exponent = max(exponent_of(kept), -126)
    units = int(kept / Fraction(2) ** (exponent - 23))
    return (units + ((exponent + 126) << 23)) | (value < 0) << 31


def to_f16(value: Fraction) -> int:
    """Code of f16, to nearest, ties to even."""
    if value == 0:
        return 0
    exponent = max(exponent_of(value), -14)
    units = abs(value) / Fraction(2) ** (exponent - 10)
    code = round(units) + ((exponent + 14) << 10)
    if code == 0:
        return 0
    return min(code, 0x7C00) | (value < 0) << 15


def _sign(value: Fraction | float) -> float:
    """1, -1, 0 or NaN; times infinity that is what a product with an infinite factor comes to."""
    return value if value != value else float((value > 0) - (value < 0))


def fused(
    products: list[tuple[int, int]],
    c: int,
    types: tuple[str, str, str],
    fraction_bits: int,
    result_bits: int,
    floor: int = -133,
    scales: tuple[int, int] | None = None,
) -> int:
    """Code of D for pairs of codes (a, b) and the code of C; scales are ue8m0 codes."""
    terms: list[Term] = []
    odd = 0.0
    start, at = decode(c, **FORMATS[types[2]])
    if isinstance(start, float):
        odd += start
    else:
        terms.append((start, at))
    for a, b in products:
        (x, ex), (y, ey) = decode(a, **FORMATS[types[0]]), decode(b, **FORMATS[types[1]])
        if scales is not None and 255 in scales:
            odd = math.nan
        elif isinstance(x, float) or isinstance(y, float):
            odd += _sign(x) * _sign(y) * math.inf
        else:
            shift = sum(scales) - 254 if scales else 0
            terms.append((x * y * Fraction(2) ** shift, ex + ey + shift))
    if odd:
        if math.isnan(odd):
            return 0x7FFF if types[2] == "f16" else 0x7FFFFFFF
        infinite = 0x7C00 if types[2] == "f16" else 0x7F800000
        return infinite | (odd < 0) << (15 if types[2] == "f16" else 31)
    total = aligned_sum(terms, fraction_bits, floor)
    return to_f16(total) if types[2] == "f16" else to_f32(total, result_bits)


def nearest(value: Fraction, kind: str) -> int:
    """Code of f32 or f16 nearest to a value, ties to even; a zero is +0."""
    if kind == "f16":
        return to_f16(value)
    if value == 0:
        return 0
    exponent = max(exponent_of(value), -126)
    code = round(abs(value) / Fraction(2) ** (exponent - 23)) + ((exponent + 126) << 23)
    return min(code, 0x7F800000) | (value < 0) << 31 if code else 0


def converted(code: int, kind: str, to: str) -> int:
    """The code of an f16 or f32 number in the other type, to nearest even; a zero keeps its sign."""
    value, _ = decode(code, **FORMATS[kind])
    negative, top = code >> (15 if kind == "f16" else 31), 15 if to == "f16" else 31
    if isinstance(value, float):
        return (1 << top) - 1 if value != value else (0x7C00 if to == "f16" else 0x7F800000) | negative << top
    return nearest(abs(value), to) | negative << top


def stepped(
    products: list[tuple[int, int]],
    c: int,
    types: tuple[str, str, str],
    result: str,
    bits: tuple[int, int],
    floor: int,
    depth: int | None,
) -> int:
    """Steps of `depth` products, k ascending, the result of one being C of the next; in f32 where the types of C and D differ."""
    inner = types[2] if types[2] == result else "f32"
    code = c if inner == types[2] else converted(c, types[2], inner)
    for k in range(0, len(products), depth or len(products)):
        code = fused(
            products[k : k + (depth or len(products))], code, (types[0], types[1], inner), *bits, floor
        )
    return code if inner == result else converted(code, inner, result)


def as_f16(code: int, kind: str) -> int:
    """The f16 code of an FP8 code; exact, for f16 holds every FP8 value."""
    value, _ = decode(code, **FORMATS[kind])
    sign = code >> 7 << 15
    if isinstance(value, float):
        return 0x7FFF if value != value else 0x7C00 | sign
    return to_f16(value) | sign


def by_way_of_f16(products: list[tuple[int, int]], c: int, types: tuple[str, str, str]) -> int:
    """FP8 mma.sync on sm_90: lower pairs, then upper pairs of every register through fused steps of f16 from zero, then + C."""
    accumulator = types[2]
    total = 0
    for half in (0, 1):
        pairs = [
            (as_f16(a, types[0]), as_f16(b, types[1]))
            for k, (a, b) in enumerate(products)
            if k // 2 % 2 == half
        ]
        total = fused(pairs, total, ("f16", "f16", accumulator), 25, 23)
    (x, _), (y, _) = decode(total, **FORMATS[accumulator]), decode(c, **FORMATS[accumulator])
    if isinstance(x, float) or isinstance(y, float):
        odd = (
            float(x) + float(y)
            if x == x and y == y and (isinstance(x, float) and isinstance(y, float))
            else x
            if isinstance(x, float)
            else y
        )
        if odd != odd or x != x or y != y:
            return 0x7FFF if accumulator == "f16" else 0x7FFFFFFF
        return (0x7C00 if accumulator == "f16" else 0x7F800000) | (odd < 0) << (
            15 if accumulator == "f16" else 31
        )
    return nearest(x + y, accumulator)


# -- chains of fused multiply-adds --------------------------------------------------------------------------------------

LARGEST = Fraction(2) ** 1024 - Fraction(2) ** 971


def to_f64(value: Fraction, rounding: str | None, zero: int) -> int:
    """Code of f64, rounded once; `zero` is the code of an exact zero."""
    if value == 0:
        return zero
    sign, size = (value < 0) << 63, abs(value)
    grid = Fraction(2) ** (max(exponent_of(size), -1022) - 52)
    units, rest = divmod(size, grid)
    away = {
        None: 2 * rest > grid or (2 * rest == grid and units % 2 == 1),
        "rz": False,
        "rm": rest > 0 and value < 0,
        "rp": rest > 0 and value > 0,
    }
    rounded = (units + away[rounding]) * grid
    if rounded > LARGEST:
        outward = {None: True, "rz": False, "rm": value < 0, "rp": value > 0}[rounding]
        return sign | (0x7FF << 52 if outward else 0x7FEF_FFFF_FFFF_FFFF)
    if rounded == 0:
        return sign
    exponent = max(exponent_of(rounded), -1022)
    return sign | (int(rounded / Fraction(2) ** (exponent - 52)) + ((exponent + 1022) << 52))


def fma_f64(a: int, b: int, c: int, rounding: str | None) -> int:
    """Codes in, code out. A NaN comes through, quiet: b's before the sum's before a's; what has no value is 0xfff8..."""
    (x, _), (y, _), (z, _) = (decode(code, **FORMATS["f64"]) for code in (a, b, c))
    for code, value in ((b, y), (c, z), (a, x)):
        if value != value:
            return code | 1 << 51
    if isinstance(x, float) or isinstance(y, float):
        product = _sign(x) * _sign(y) * math.inf
        total = product + (z if isinstance(z, float) else 0.0)
        return 0xFFF8 << 48 if total != total else 0x7FF << 52 | (total < 0) << 63
    if isinstance(z, float):
        return c
    negative_product, negative_c = (a ^ b) >> 63, c >> 63
    both = x * y == 0 and z == 0 and negative_product == negative_c
    return to_f64(x * y + z, rounding, (negative_product if both else int(rounding == "rm")) << 63)


def chain_f64(products: list[tuple[int, int]], c: int, rounding: str | None) -> int:
    for a, b in products:
        c = fma_f64(a, b, c, rounding)
    return c


def _f32(value: Fraction | float, negative: bool) -> tuple[Fraction | float, bool]:
    """A value of f32, nearest; (value, whether its sign is set)."""
    if isinstance(value, float):
        return value, value < 0
    code = nearest(value, "f32")
    rounded, _ = decode(code, **FORMATS["f32"])
    return rounded, bool(code >> 31) if value else negative


def _add(x: tuple[Fraction | float, bool], y: tuple[Fraction | float, bool]) -> tuple[Fraction | float, bool]:
    if isinstance(x[0], float) or isinstance(y[0], float):
        return _f32(
            (x[0] if isinstance(x[0], float) else 0.0) + (y[0] if isinstance(y[0], float) else 0.0), False
        )
    return _f32(x[0] + y[0], x[1] and y[1] and x[0] == 0 and y[0] == 0)


def _times(x: Fraction | float, y: Fraction | float) -> Fraction | float:
    return x * y if not isinstance(x, float) and not isinstance(y, float) else _sign(x) * _sign(y) * math.inf


def scalar_f32(products: list[tuple[int, int]], c: int, types: tuple[str, str, str], result: str) -> int:
    """mma.m8n8k4 on sm_90. f32: one chain from zero, then + C. f16: C + (k 0, 1) + (k 2, 3), each a product and an FMA."""
    pairs = []
    for a, b in products:
        (x, _), (y, _) = decode(a, **FORMATS["f16"]), decode(b, **FORMATS["f16"])
        pairs.append((_times(x, y), bool((a ^ b) >> 15)))
    start, _ = decode(c, **FORMATS[types[2]])
    total = (start, bool(c >> (15 if types[2] == "f16" else 31)))
    for group in [pairs] if result == "f32" else [pairs[:2], pairs[2:]]:
        chain: tuple[Fraction | float, bool] = (Fraction(0), False) if result == "f32" else group[0]
        for pair in group if result == "f32" else group[1:]:
            chain = _add(chain, pair)
        total = _add(total, chain)
    value, negative = total
    if isinstance(value, float):
        if value != value:
            return 0x7FFF if result == "f16" else 0x7FFFFFFF
        return (0x7C00 if result == "f16" else 0x7F800000) | (value < 0) << (15 if result == "f16" else 31)
    sign = negative << (15 if result == "f16" else 31)
    return sign if value == 0 else nearest(value, result) | sign


# -- which of them a rule asks for --------------------------------------------------------------------------------------


def wanted(
    ins: Instruction, rule: Rule, pairs: list[tuple[int, int]], c: int, scales: tuple[int, int] | None = None
) -> int:
    """Code of D for pairs of codes, the code of C and, where it has them, the codes of the scales."""
    types = (ins.a_type, ins.b_type, ins.c_type)
    if isinstance(rule, FmaChain):
        return chain_f64(pairs, c, ins.rounding)
    if isinstance(rule, FmaGroups):
        return scalar_f32(pairs, c, types, ins.d_type)
    if isinstance(rule, EmulatedThroughF16):
        return by_way_of_f16(pairs, c, types)
    assert isinstance(rule, Fused)
    if scales is not None:
        assert rule.depth is None and ins.c_type == ins.d_type
        return fused(pairs, c, types, rule.fraction_bits, rule.result_bits, rule.floor, scales)
    return stepped(
        pairs, c, types, ins.d_type, (rule.fraction_bits, rule.result_bits), rule.floor, rule.depth
    )
