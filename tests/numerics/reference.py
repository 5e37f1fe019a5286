"""The arithmetic of tensor cores one number at a time, in exact fractions: slow and plain.

The fused sum is that of `ptxlab.numerics.fused_plain`, which imports nothing of ptxlab. The rest is written
here, independently of ptxlab.numerics; of that package it knows only the names of the rules.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from ptxlab import Instruction
from ptxlab.isa.operation import Operation
from ptxlab.numerics import EmulatedThroughF16, FmaChain, FmaGroups, Fused, Rule
from ptxlab.numerics.fused_plain import Value, add, decode, exponent_of, fused, multiply, power, rounded


def decode_as(code: int, dtype: str) -> Value:
    """Value of a code of this element type."""
    return decode(code, dtype)[0]


def sign_bit(dtype: str) -> int:
    """Where the sign of an f16, f32 or f64 is."""
    return {"f16": 15, "f32": 31, "f64": 63}[dtype]


def converted(code: int, dtype: str, to: str) -> int:
    """The code of an f16 or f32 number in the other type, to nearest even; a zero keeps its sign."""
    value, is_negative = decode_as(code, dtype), bool(code >> sign_bit(dtype))
    return rounded(value, to) if math.isnan(value) else rounded(value, to) | is_negative << sign_bit(to)


def stepped(
    products: list[tuple[int, int]],
    c: int,
    types: tuple[str, str, str],
    result: str,
    bits: tuple[int, int],
    floor: int,
    depth: int | None,
) -> int:
    """Steps of `depth` products, k ascending, the result of one being C of the next.

    The steps compute in f32 if the types of C and D differ.
    """
    a_type, b_type, c_type = types
    accumulator = c_type if c_type == result else "f32"
    code = c if accumulator == c_type else converted(c, c_type, accumulator)
    depth = depth or len(products)
    for k in range(0, len(products), depth):
        code = fused(products[k : k + depth], code, (a_type, b_type, accumulator), (*bits, floor))
    return code if accumulator == result else converted(code, accumulator, result)


@lru_cache(maxsize=None)
def as_f16(code: int, dtype: str) -> int:
    """The f16 code of an FP8 code; exact, since f16 has every FP8 value."""
    value = rounded(decode_as(code, dtype), "f16")
    return value if value == 0x7FFF else value | code >> 7 << 15


def through_f16(products: list[tuple[int, int]], c: int, types: tuple[str, str, str]) -> int:
    """FP8 mma.sync on sm_90: the lower, then the upper pairs of every register in f16 steps, then + C."""
    a_type, b_type, accumulator = types
    total = 0
    for half in (0, 1):
        pairs = [
            (as_f16(a, a_type), as_f16(b, b_type)) for k, (a, b) in enumerate(products) if k // 2 % 2 == half
        ]
        total = fused(pairs, total, ("f16", "f16", accumulator), (25, 23, -133))
    return rounded(add([decode_as(total, accumulator), decode_as(c, accumulator)]), accumulator)


# -- chains of fused multiply-adds -----------------------------------------------------------------------

LARGEST = power(1024) - power(971)


def to_f64(value: Fraction, rounding: str | None, zero: int) -> int:
    """Code of f64, rounded once; `zero` is the code of an exact zero."""
    if value == 0:
        return zero
    sign, size = (value < 0) << 63, abs(value)
    grid = power(max(exponent_of(size), -1022) - 52)
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
    return sign | (int(rounded / power(exponent - 52)) + ((exponent + 1022) << 52))


def fma_f64(a: int, b: int, c: int, rounding: str | None) -> int:
    """a b + c, of codes. A NaN comes through, quiet: b's before c's before a's; a new NaN is 0xfff8..."""
    x, y, z = (decode_as(code, "f64") for code in (a, b, c))
    for code, value in ((b, y), (c, z), (a, x)):
        if value != value:
            return code | 1 << 51
    if isinstance(x, float) or isinstance(y, float):
        total = add([multiply(x, y), z])
        return 0xFFF8 << 48 if math.isnan(total) else 0x7FF << 52 | (total < 0) << 63
    if isinstance(z, float):
        return c
    product_sign, c_sign = (a ^ b) >> 63, c >> 63
    zero_sign = int(rounding == "rm")
    if x * y == 0 and z == 0 and product_sign == c_sign:
        zero_sign = product_sign
    return to_f64(x * y + z, rounding, zero_sign << 63)


def chain_f64(products: list[tuple[int, int]], c: int, rounding: str | None) -> int:
    """One fused multiply-add after the other, k ascending."""
    for a, b in products:
        c = fma_f64(a, b, c, rounding)
    return c


#: A value of f32, and whether its sign bit is set, which a zero has too.
Signed = tuple[Value, bool]


def _as_f32(value: Value, negative_zero: bool) -> Signed:
    """The nearest value of f32."""
    if isinstance(value, float):
        return value, value < 0
    code = rounded(value, "f32")
    return decode_as(code, "f32"), bool(code >> 31) if value else negative_zero


def _add(x: Signed, y: Signed) -> Signed:
    (x_value, x_negative), (y_value, y_negative) = x, y
    if isinstance(x_value, float) or isinstance(y_value, float):
        return _as_f32(sum(value for value in (x_value, y_value) if isinstance(value, float)), False)
    both_zero = x_value == 0 and y_value == 0
    return _as_f32(x_value + y_value, both_zero and x_negative and y_negative)


def fma_groups(products: list[tuple[int, int]], c: int, types: tuple[str, str, str], result: str) -> int:
    """mma.m8n8k4 on sm_90. f32: one chain from zero, then + C. f16: C + (k 0, 1) + (k 2, 3)."""
    c_type = types[2]
    terms: list[Signed] = [
        (multiply(decode_as(a, "f16"), decode_as(b, "f16")), bool((a ^ b) >> 15)) for a, b in products
    ]
    groups = [[(Fraction(0), False), *terms]] if result == "f32" else [terms[:2], terms[2:]]
    total: Signed = decode_as(c, c_type), bool(c >> sign_bit(c_type))
    for first, *others in groups:
        group_sum = first
        for term in others:
            group_sum = _add(group_sum, term)
        total = _add(total, group_sum)
    value, is_negative = total
    return (
        rounded(value, result)
        if isinstance(value, float)
        else rounded(value, result) | is_negative << sign_bit(result)
    )


# -- which of them a rule asks for -----------------------------------------------------------------------


def expected(
    ins: Instruction, rule: Rule, pairs: list[tuple[int, int]], c: int, scales: tuple[int, int] | None = None
) -> int:
    """Code of D for pairs of codes, the code of C and, where it has them, the codes of the scales."""
    types = (ins.a_type, ins.b_type, ins.c_type)
    if isinstance(rule, FmaChain):
        return chain_f64(pairs, c, ins.rounding)
    if isinstance(rule, FmaGroups):
        return fma_groups(pairs, c, types, ins.d_type)
    if isinstance(rule, EmulatedThroughF16):
        return through_f16(pairs, c, types)
    assert isinstance(rule, Fused)
    bits = (rule.fraction_bits, rule.result_bits)
    if scales is not None:
        assert rule.depth is None and ins.c_type == ins.d_type
        return fused(pairs, c, types, (*bits, rule.floor), scales=[scales])
    return stepped(pairs, c, types, ins.d_type, bits, rule.floor, rule.depth)


class Problem:
    """The codes of one MMA as lists of lists, and `positions`: the k of every stored element of A."""

    def __init__(self, operands: Operation) -> None:
        ins = operands.ins
        self.ins = ins
        self.a = ins.a.unpack_codes(operands.a).tolist()
        self.b = ins.b.unpack_codes(operands.b).tolist()
        self.c = ins.c.unpack_codes(operands.c).tolist()
        self.positions = [list(range(ins.a.shape[1]))] * ins.a.shape[0]
        if ins.e is not None and ins.structure is not None:
            nibbles = ins.e.unpack_codes(operands.e, operands.modifiers.selector)
            self.positions = ins.structure.positions(nibbles, ins.metadata_ordered).tolist()
        self.scales = None
        if ins.scale_a is not None and ins.scale_b is not None:
            scale_a = ins.scale_a.unpack_codes(operands.scale_a).tolist()
            self.scales = scale_a, ins.scale_b.unpack_codes(operands.scale_b).tolist()

    def pairs(self, row: int, col: int) -> list[tuple[int, int]]:
        """The codes that are multiplied for an element of D."""
        if self.ins.mma_count > 1:  # stacked products: every 8 rows of A meet 8 columns of B
            col += row // 8 * 8
        return [(a, self.b[k][col]) for a, k in zip(self.a[row], self.positions[row], strict=True)]

    def expected(self, rule: Rule, row: int, col: int) -> int:
        """Code of an element of D by a rule; of block scales only those with one block are known here."""
        scales = (self.scales[0][row][0], self.scales[1][0][col]) if self.scales else None
        return expected(self.ins, rule, self.pairs(row, col), self.c[row][col], scales)
