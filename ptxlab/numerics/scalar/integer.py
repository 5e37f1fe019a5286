"""Integer, logic, shift and permute instructions of PTX on arrays of raw bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .opcode import Array, Function, Opcode, split_lanes

_PACKED = {"u16x2": 16, "s16x2": 16, "u8x4": 8, "s8x4": 8}


def unsigned(bits: int) -> np.dtype[Any]:
    """The dtype of a register."""
    return np.dtype(f"u{bits // 8}")


def signed(bits: int) -> np.dtype[Any]:
    """The dtype that reads a register as a signed integer."""
    return np.dtype(f"i{bits // 8}")


def elementwise(op: Opcode) -> Function:
    """add, sub, abs, neg, min, max, sad, and, or, xor, not, cnot: one NumPy expression each."""
    lane_bits = _PACKED.get(op.type)
    if lane_bits is not None:
        return split_lanes(_elementwise(op, lane_bits), lane_bits)
    return _elementwise(op, op.bits)


def _elementwise(op: Opcode, bits: int) -> Function:
    read, raw = signed(bits) if op.signed else unsigned(bits), unsigned(bits)
    if "sat" in op:
        return _saturating(op.name, bits, op.signed)
    if op.name == "abs":
        return lambda a: np.abs(a.view(read)).view(raw)
    if op.name == "neg":
        return lambda a: np.negative(a)
    if op.name == "sad":
        return lambda a, b, c: c + (np.maximum(a.view(read), b.view(read)).view(raw)
                                    - np.minimum(a.view(read), b.view(read)).view(raw))  # fmt: skip
    if op.name in ("min", "max"):
        choose = np.minimum if op.name == "min" else np.maximum
        if "relu" in op:
            return lambda a, b: np.maximum(choose(a.view(read), b.view(read)), read.type(0)).view(raw)
        return lambda a, b: choose(a.view(read), b.view(read)).view(raw)
    return np.add if op.name == "add" else np.subtract


def _saturating(name: str, bits: int, is_signed: bool) -> Function:
    wide = np.dtype(np.int64)
    read, raw = signed(bits) if is_signed else unsigned(bits), unsigned(bits)
    limits = np.iinfo(read)
    combine = np.add if name == "add" else np.subtract

    def saturating(a: Array, b: Array) -> Array:
        exact = combine(a.view(read).astype(wide), b.view(read).astype(wide))
        return np.asarray(np.clip(exact, limits.min, limits.max).astype(read).view(raw))

    return saturating


def bitwise(op: Opcode) -> Function:
    """and, or, xor, not, cnot; on predicates too."""
    if op.name == "not":
        return np.invert
    if op.name == "cnot":
        return lambda a: (a == 0).astype(a.dtype)
    operations: dict[str, Function] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return operations[op.name]


def high_64(a: Array, b: Array, is_signed: bool) -> Array:
    """The upper 64 bits of the product of 64-bit numbers."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    high = a1 * b1 + (middle >> half) + (other >> half)
    if is_signed:
        high = high - np.where(a >> np.uint64(63) != 0, b, np.uint64(0))
        high = high - np.where(b >> np.uint64(63) != 0, a, np.uint64(0))
    return np.asarray(high)


def product(a: Array, b: Array, part: str, bits: int, is_signed: bool) -> Array:
    """The part lo, hi or wide of a product of integers."""
    if part == "lo":
        return np.asarray(a * b)
    if bits == 64:
        return high_64(a, b, is_signed)
    read, wide = (signed(bits), signed(2 * bits)) if is_signed else (unsigned(bits), unsigned(2 * bits))
    exact = (a.view(read).astype(wide) * b.view(read).astype(wide)).view(unsigned(2 * bits))
    if part == "wide":
        return np.asarray(exact)
    return np.asarray((exact >> unsigned(2 * bits).type(bits)).astype(unsigned(bits)))


def multiply(op: Opcode) -> Function:
    """mul and mad with lo, hi, wide; mad.hi.sat.s32."""
    part = next(part for part in ("lo", "hi", "wide") if part in op)
    bits, is_signed = op.bits, op.signed
    if op.name == "mul":
        return lambda a, b: product(a, b, part, bits, is_signed)
    if "sat" in op:
        add = _saturating("add", bits, is_signed)
        return lambda a, b, c: add(product(a, b, part, bits, is_signed), c)
    return lambda a, b, c: product(a, b, part, bits, is_signed) + c


def multiply_24(op: Opcode) -> Function:
    """mul24 and mad24: the lower 24 bits of each factor; bits 31..0 or 47..16 of the product."""
    is_signed = op.signed
    add = _saturating("add", 32, is_signed) if "sat" in op else np.add
    drop = np.int64(16 if "hi" in op else 0)

    def multiply_24(a: Array, b: Array, *c: Array) -> Array:
        x, y = ((v << np.uint32(8)).view(np.int32 if is_signed else np.uint32) >> 8 for v in (a, b))
        result = (x.astype(np.int64) * y.astype(np.int64) >> drop).astype(np.uint32)
        return np.asarray(add(result, c[0]) if c else result)

    return multiply_24


def carryless(op: Opcode) -> Function:
    """clmad: the lower or upper half of the carry-less product of a and b, XORed with c."""
    high = "hi" in op

    def multiply(a: Array, b: Array, c: Array) -> Array:
        result = c
        for i in range(64):
            factor = np.negative(a >> np.uint64(i) & np.uint64(1))
            part = shift_right(b, np.array(64 - i, np.uint32), 64) if high else b << np.uint64(i)
            result = result ^ part & factor
        return np.asarray(result)

    return multiply


def divide(op: Opcode) -> Function:
    """div and rem, toward zero; by 0 both give all ones, as an H200 does."""
    bits, raw = op.bits, unsigned(op.bits)
    read = signed(bits) if op.signed else raw
    all_ones = raw.type((1 << bits) - 1)

    def divide(a: Array, b: Array) -> Array:
        zero = b == 0
        x, y = a, np.where(zero, raw.type(1), b)
        if op.signed:  # magnitudes: the quotient of the least number and -1 wraps
            x, y = np.abs(x.view(read)).view(raw), np.abs(y.view(read)).view(raw)
        result = x // y if op.name == "div" else x % y
        if op.signed:
            negative = (a.view(read) < 0) ^ (b.view(read) < 0) if op.name == "div" else a.view(read) < 0
            result = np.where(negative, np.negative(result), result)
        return np.where(zero, all_ones, result)

    return divide


def bit_length(a: Array) -> Array:
    """Position of the highest set bit plus one; 0 for 0."""
    if a.dtype.itemsize < 8:
        return np.frexp(a.astype(np.float64))[1].astype(np.uint32)
    high, low = (a >> np.uint64(32)).astype(np.uint32), a.astype(np.uint32)
    return np.where(high != 0, bit_length(high) + np.uint32(32), bit_length(low))


def count(op: Opcode) -> Function:
    """popc, clz, bfind."""
    bits, read = op.bits, signed(op.bits)
    if op.name == "popc":
        return lambda a: np.bitwise_count(a).astype(np.uint32)
    if op.name == "clz":
        return lambda a: np.uint32(bits) - bit_length(a)

    def find(a: Array) -> Array:
        if op.signed:
            a = np.where(a.view(read) < 0, ~a, a)
        length = bit_length(a)
        if "shiftamt" in op:
            return np.where(length == 0, np.uint32(0xFFFFFFFF), np.uint32(bits) - length)
        return length - np.uint32(1)

    return find


def brev(op: Opcode) -> Function:
    """brev: the bits in reverse order."""
    dtype = unsigned(op.bits)

    def reverse(a: Array) -> Array:
        for step, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
            pattern, shift = dtype.type(mask & (1 << op.bits) - 1), dtype.type(step)
            a = (a >> shift & pattern) | (a & pattern) << shift
        return a.byteswap()

    return reverse


def shift_left(a: Array, amount: Array, bits: int) -> Array:
    """a << amount, 0 where the amount is the width or more; amounts are uint32."""
    dtype = unsigned(bits)
    if amount.size and amount.max() < bits:  # as in most kernels
        return np.asarray(a << amount.astype(dtype, copy=False))
    shifted = a << np.minimum(amount, np.uint32(bits - 1)).astype(dtype)
    return np.asarray(np.where(amount >= bits, dtype.type(0), shifted))


def shift_right(a: Array, amount: Array, bits: int, is_signed: bool = False) -> Array:
    """a >> amount, filled with zeros or the sign; amounts are uint32."""
    dtype = unsigned(bits)
    small = amount.size and amount.max() < bits
    if small and not is_signed:
        return np.asarray(a >> amount.astype(dtype, copy=False))
    count = amount if small else np.minimum(amount, np.uint32(bits - 1))
    if is_signed:
        return np.asarray((a.view(signed(bits)) >> count.astype(signed(bits))).view(dtype))
    return np.asarray(np.where(amount >= bits, dtype.type(0), a >> count.astype(dtype)))


def shift(op: Opcode) -> Function:
    """shl and shr; an amount of the width or more moves every bit out."""
    bits, is_signed = op.bits, op.signed
    if op.name == "shl":
        return lambda a, b: shift_left(a, b, bits)
    return lambda a, b: shift_right(a, b, bits, is_signed)


def funnel_shift(op: Opcode) -> Function:
    """shf.l and shf.r of the 64 bits b:a, clamped to 32 or modulo 32."""
    wrap, left = "wrap" in op, "l" in op

    def shift(a: Array, b: Array, c: Array) -> Array:
        pair = b.astype(np.uint64) << np.uint64(32) | a
        amount = (c & np.uint32(31) if wrap else np.minimum(c, np.uint32(32))).astype(np.uint64)
        if left:
            return np.asarray((pair << amount >> np.uint64(32)).astype(np.uint32))
        return np.asarray((pair >> amount).astype(np.uint32))

    return shift


def _field(number: Array, bits: int) -> Array:
    """A position or length: its lower 8 bits, but all 32 in 64-bit instructions, unlike in the manual."""
    return number & np.uint32(0xFF) if bits == 32 else np.minimum(number, np.uint32(64))


def extract(op: Opcode) -> Function:
    """bfe: bits pos .. pos + len - 1, extended by zeros or by the sign."""
    bits, raw = op.bits, unsigned(op.bits)
    top, ones = np.uint32(op.bits - 1), raw.type((1 << op.bits) - 1)

    def extract(a: Array, position: Array, length: Array) -> Array:
        position, length = _field(position, bits), _field(length, bits)
        above = shift_left(np.full(np.shape(length), ones), length, bits)  # bits i >= len
        if not op.signed:
            return np.asarray(shift_right(a, position, bits) & ~above)
        last = np.minimum(position + length - np.uint32(1), top)
        sign = (shift_right(a, last, bits) & raw.type(1) != 0) & (length != 0)
        beyond = ~shift_right(np.full(np.shape(position), ones), position, bits)  # bits pos + i > msb
        outside = above | beyond
        return np.asarray(shift_right(a, position, bits) & ~outside | np.where(sign, outside, raw.type(0)))

    return extract


def insert(op: Opcode) -> Function:
    """bfi: the lower len bits of a over the bits of b from pos on."""
    bits = op.bits
    ones = unsigned(bits).type((1 << bits) - 1)

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        position, length = _field(position, bits), _field(length, bits)
        field = ~shift_left(np.full(np.shape(length), ones), length, bits)
        field = shift_left(field, position, bits)
        return np.asarray(shift_left(a, position, bits) & field | b & ~field)

    return insert


def bmsk(op: Opcode) -> Function:
    """bmsk: b ones from bit a on."""
    clamp = "clamp" in op

    def mask(a: Array, b: Array) -> Array:
        if clamp:
            start, width = np.minimum(a, np.uint32(32)), np.minimum(b, np.uint32(32))
        else:
            start, width = a & np.uint32(31), b & np.uint32(31)
        ones = ~shift_left(np.full(np.shape(width), np.uint32(0xFFFFFFFF)), width, 32)
        return shift_left(ones, start, 32)

    return mask


def szext(op: Opcode) -> Function:
    """szext: the lower b bits of a, extended by zeros or by their sign."""
    clamp, is_signed = "clamp" in op, op.signed

    def extend(a: Array, b: Array) -> Array:
        width = np.minimum(b, np.uint32(32)) if clamp else b & np.uint32(31)
        unused = np.uint32(32) - width
        extended = shift_right(shift_left(a, unused, 32), unused, 32, is_signed)
        return np.where(width == 0, np.uint32(0), extended)

    return extend


def nth_set_bit(op: Opcode) -> Function:
    """fns: the position of the n-th set bit from base on, upwards or downwards."""
    lanes = np.arange(32, dtype=np.int64)

    def find(mask: Array, base: Array, offset: Array) -> Array:
        mask, base, offset = np.broadcast_arrays(mask, base, offset)
        bits = (mask[..., np.newaxis] >> lanes.astype(np.uint32) & np.uint32(1)).astype(bool)
        start, step = (
            base.astype(np.int64)[..., np.newaxis],
            offset.view(np.int32).astype(np.int64)[..., np.newaxis],
        )
        reached = np.where(step > 0, lanes >= start, lanes <= start)
        reached = np.where(step == 0, lanes == start, reached) & bits
        rank = np.cumsum(reached, axis=-1)
        rank = np.where(step < 0, rank[..., -1:] - rank + 1, rank)
        is_nth = reached & (rank == np.maximum(np.abs(step), 1))
        position = np.where(is_nth.any(axis=-1), is_nth.argmax(axis=-1), 0xFFFFFFFF)
        overflows = step[..., 0] == -(1 << 31)  # the chip computes its absolute value
        position = np.where(overflows, 0, position)
        return position.astype(np.uint32)

    return find


def dot(op: Opcode) -> Function:
    """dp4a and dp2a: four products of bytes, or two of halves of a and bytes of b, added to c."""
    first, second = (np.int8 if name == "s32" else np.uint8 for name in op.types)
    if op.name == "dp2a":
        halves = np.int16 if op.types[0] == "s32" else np.uint16
        start = 2 if "hi" in op else 0

    def dot(a: Array, b: Array, c: Array) -> Array:
        y = np.ascontiguousarray(b)[..., np.newaxis].view(second).astype(np.int32)
        if op.name == "dp2a":
            x = np.ascontiguousarray(a)[..., np.newaxis].view(halves).astype(np.int32)
            y = y[..., start : start + 2]
        else:
            x = np.ascontiguousarray(a)[..., np.newaxis].view(first).astype(np.int32)
        return np.asarray((x * y).sum(axis=-1, dtype=np.int32).view(np.uint32) + c)

    return dot


def add_carry(op: Opcode) -> Function:
    """add, sub, mad with .cc, and addc, subc, madc: carry or borrow come last, in and out."""
    bits, is_signed, out = op.bits, op.signed, "cc" in op
    raw = unsigned(bits)
    part = "hi" if "hi" in op else "lo"

    def combine(subtract: bool, a: Array, b: Array, carry: Array | None = None) -> Any:
        total = a - b if subtract else a + b
        over = a < b if subtract else total < a
        if carry is not None:
            extended = total - carry.astype(raw) if subtract else total + carry.astype(raw)
            over = over | (extended > total if subtract else extended < total)
            total = extended
        return (total, over) if out else total

    if op.name in ("mad", "madc"):
        return lambda a, b, c, *carry: combine(False, product(a, b, part, bits, is_signed), c, *carry)
    return partial(combine, op.name in ("sub", "subc"))


def lop3(op: Opcode) -> Function:
    """lop3: any function of three bits, as a table of eight; .and and .or also give a predicate."""

    def combine(a: Array, b: Array, c: Array, table: Array, *predicate: Array) -> Any:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape, table.shape), np.uint32)
        for i in range(8):
            chosen = np.negative(table >> np.uint32(i) & np.uint32(1))
            if not chosen.any():
                continue
            for register, bit in ((a, i & 4), (b, i & 2), (c, i & 1)):
                chosen = chosen & (register if bit else ~register)
            result |= chosen
        if not predicate:
            return result
        logic = np.logical_or if "or" in op else np.logical_and
        return result, logic(result != 0, predicate[0])

    return combine


#: The selectors of prmt's modes for the two lowest bits of c = 0, 1, 2, 3: nibbles that name bytes of b:a.
_SELECTORS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def byte_permute(op: Opcode) -> Function:
    """prmt: four bytes of b:a, picked by nibbles of c, or in one of six patterns."""
    mode = next(iter(op.modifiers), None)
    selectors = None if mode is None else np.array(_SELECTORS[mode], np.uint32)

    def permute(a: Array, b: Array, c: Array) -> Array:
        if selectors is not None:
            c = selectors[c & np.uint32(3)]
        if c.size == 1 or (c.size and (c == c.flat[0]).all()):
            c = c.reshape(-1)[:1]
            picked = [int(c[0]) >> 4 * i & 7 for i in range(4)]
            result = np.stack(np.broadcast_arrays(a, b), axis=-1).view(np.uint8)[..., picked]
        else:
            pair = (b.astype(np.uint64) << np.uint64(32) | a)[..., np.newaxis]
            picks = c[..., np.newaxis] >> _NIBBLES & np.uint32(7)
            result = (pair >> (picks.astype(np.uint64) << np.uint64(3))).astype(np.uint8)
        signs = (c[..., np.newaxis] >> _NIBBLES & np.uint32(8)) != 0
        if signs.any():
            result = np.where(signs, (result.view(np.int8) >> np.int8(7)).view(np.uint8), result)
        return np.asarray(np.ascontiguousarray(result).view(np.uint32)[..., 0])

    return permute


_NIBBLES = np.array([0, 4, 8, 12], np.uint32)
