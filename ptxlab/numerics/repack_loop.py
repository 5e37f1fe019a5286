"""What numba compiles of plans for registers; imported only where it is wanted.

Unsigned 32-bit integers are named again after each operation: numba would go on with 64 bits, of which a
vector holds half as many.
"""

# mypy: ignore-errors
# numba infers the types; annotations would only repeat what it checks at compile time.

from __future__ import annotations

import platform

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from .loop import compiled

__all__ = [
    "HAS_F16",
    "clamp",
    "gather",
    "halves",
    "join_halves",
    "move",
    "move_once",
    "narrow",
    "whole_numbers",
]

_INFINITE = np.uint32(0x7F800000)

#: Whether the processor converts to f16; without it LLVM would call a function that may not be there.
HAS_F16 = platform.machine() in ("aarch64", "arm64") or bool(binding.get_host_cpu_features().get("f16c"))


# -- words change places -------------------------------------------------------------------------------------


@compiled(nogil=True)
def gather(words, index, out):
    """out[i, j] = words[i, index[j]]."""
    for i in range(len(words)):
        row, result = words[i], out[i]
        for j in range(index.size):
            result[j] = row[index[j]]


@compiled()
def _exchange_inside(words, distance, mask):
    """Bits of `mask` change places with those that are `distance` above them."""
    distance &= 31
    for j in range(words.size):
        word = words[j]
        changed = np.uint32(np.uint32(np.uint32(word >> distance) ^ word) & mask)
        words[j] = np.uint32(np.uint32(word ^ changed) ^ np.uint32(changed << distance))


@compiled()
def _exchange(first, second, distance, mask):
    """Bits of `mask` of the second change places with those of the first that are `distance` above them."""
    distance &= 31
    for j in range(first.size):
        u, v = first[j], second[j]
        changed = np.uint32(np.uint32(np.uint32(u >> distance) ^ v) & mask)
        second[j] = np.uint32(v ^ changed)
        first[j] = np.uint32(u ^ np.uint32(changed << distance))


@compiled(inline="always")
def _eight(words, start, offsets):
    """Eight words, by their offsets, as four pairs."""
    at0, at1, at2, at3, at4, at5, at6, at7 = offsets
    up = np.uint64(32)
    return (
        np.uint64(words[start + at0]) | np.uint64(words[start + at1]) << up,
        np.uint64(words[start + at2]) | np.uint64(words[start + at3]) << up,
        np.uint64(words[start + at4]) | np.uint64(words[start + at5]) << up,
        np.uint64(words[start + at6]) | np.uint64(words[start + at7]) << up,
    )


@compiled(inline="always")
def _pairs(pairs, at):
    """The same of words that lie side by side."""
    return pairs[at], pairs[at + np.uint64(1)], pairs[at + np.uint64(2)], pairs[at + np.uint64(3)]


@compiled(inline="always")
def _swapped(pairs, distance, mask):
    """`_exchange_inside` on four pairs."""
    p, q, r, s = pairs
    cp, cq = (p >> distance ^ p) & mask, (q >> distance ^ q) & mask
    cr, cs = (r >> distance ^ r) & mask, (s >> distance ^ s) & mask
    return p ^ cp ^ cp << distance, q ^ cq ^ cq << distance, r ^ cr ^ cr << distance, s ^ cs ^ cs << distance


@compiled(inline="always")
def _exchange_to(u, v, distance, mask, out, to_first, to_second):
    """`_exchange` on four pairs each; bits that a shift brings from the other word are none of the mask."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    u0, u1, u2, u3 = u
    v0, v1, v2, v3 = v
    c0, c1 = (u0 >> distance ^ v0) & mask, (u1 >> distance ^ v1) & mask
    c2, c3 = (u2 >> distance ^ v2) & mask, (u3 >> distance ^ v3) & mask
    out[to_first], out[to_first + one] = u0 ^ c0 << distance, u1 ^ c1 << distance
    out[to_first + two], out[to_first + three] = u2 ^ c2 << distance, u3 ^ c3 << distance
    out[to_second], out[to_second + one], out[to_second + two], out[to_second + three] = (
        v0 ^ c0,
        v1 ^ c1,
        v2 ^ c2,
        v3 ^ c3,
    )


@compiled()
def _tuple(x):
    return x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]


@compiled()
def _doubled(exchange):
    """Distance, mask and run of an exchange, for pairs of words."""
    mask = np.uint64(exchange[1])
    return np.uint64(exchange[0]) & np.uint64(31), mask | mask << np.uint64(32)


@compiled(nogil=True)
def move_once(words, size, table, offsets, inside, exchange, step, out):
    """Words [count, size], flat, in another order, with one exchange; out has two words in each element.

    Rows of the table: where eight words come from, those that they are exchanged with, and where both go, in
    pairs of words; those of the next MMA go `step` pairs further. Eight words come from a start plus each of
    the offsets.
    """
    each = _tuple(offsets)
    inside_distance, inside_mask = _doubled(inside)
    distance, mask = _doubled(exchange)
    for i in range(words.size // size):
        base, to = np.uint64(i * size), np.uint64(i * step)
        if not inside_mask:
            for row in range(len(table)):
                u = _eight(words, base + table[row, 0], each)
                v = _eight(words, base + table[row, 1], each)
                _exchange_to(u, v, distance, mask, out, to + table[row, 2], to + table[row, 3])
            continue
        for row in range(len(table)):
            u = _swapped(_eight(words, base + table[row, 0], each), inside_distance, inside_mask)
            v = _swapped(_eight(words, base + table[row, 1], each), inside_distance, inside_mask)
            _exchange_to(u, v, distance, mask, out, to + table[row, 2], to + table[row, 3])


@compiled()
def _move_last(pairs, step, table, exchange, size, out):
    """The last exchange, of words that stay together by eight; `move_once` from a buffer."""
    distance, mask = _doubled(exchange)
    for i in range(out.size // size):
        base, to = np.uint64(i * step), np.uint64(i * size)
        for row in range(len(table)):
            u, v = _pairs(pairs, base + table[row, 0]), _pairs(pairs, base + table[row, 1])
            _exchange_to(u, v, distance, mask, out, to + table[row, 2], to + table[row, 3])


@compiled()
def _order_last(buffer, step, starts, offsets, size, out):
    """Words in another order, a sum of two."""
    each = _tuple(offsets)
    to = np.uint64(0)
    for i in range(out.size // size):
        base = np.uint64(i * step)
        for row in range(len(starts)):
            p, q, r, s = _eight(buffer, base + starts[row, 0], each)
            out[to], out[to + np.uint64(1)], out[to + np.uint64(2)], out[to + np.uint64(3)] = p, q, r, s
            to += np.uint64(4)


@compiled(nogil=True)
def move(words, size, table, offsets, inside, exchanges, last, last_offsets, part, buffer, out):
    """`move_once` into a buffer, more exchanges there, and another order.

    The buffer has pieces of `part` words, of several MMAs side by side, so that runs are long. The last order
    is a sum of `last` and `last_offsets`. Without the latter, words stay together by eight: rows of `last`
    say where they start before the last exchange, those that they are exchanged with, and where both go, in
    pairs of words.
    """
    by_words = last_offsets.size > 0
    together = buffer.size // size
    pairs = buffer.view(np.uint64)
    steps = len(exchanges)
    for low in range(0, words.size, together * size):
        some = words[low : low + together * size]
        move_once(some, size, table, offsets, inside, exchanges[0], part // 2, pairs)
        for step in range(1, steps if by_words else steps - 1):
            by, kept, run = exchanges[step, 0], np.uint32(exchanges[step, 1]), exchanges[step, 2] * together
            if run == 0:
                _exchange_inside(buffer, by, kept)
                continue
            for at in range(0, buffer.size, 2 * run):
                _exchange(buffer[at : at + run], buffer[at + run : at + 2 * run], by, kept)
        result = out[low // 2 : (low + some.size) // 2]
        if by_words:
            _order_last(buffer, part, last, last_offsets, size // 2, result)
        else:
            _move_last(pairs, part // 2, last, exchanges[steps - 1], size // 2, result)


# -- conversions ---------------------------------------------------------------------------------------------


@compiled(nogil=True)
def narrow(codes, most, lowest, bias, drop, magic, sign_at, nan, out):
    """Codes of f32 -> those of a narrower float, to nearest even.

    `most` is the largest that is not yet too large, `lowest` the smallest normal value, as codes of f32;
    `bias` what its exponent is lower by, `drop` how many bits of fraction it lacks. Below `lowest`, adding
    the value of the code `magic` rounds.
    """
    rounding = np.uint32((1 << (drop - 1)) - 1) - np.uint32(bias)
    drop &= 31
    sign_at &= 31
    summand = np.uint32(magic).view(np.float32)
    for i in range(codes.size):
        code = codes[i]
        size = np.uint32(code & np.uint32(0x7FFFFFFF))
        held = min(size, most)
        odd = np.uint32(np.uint32(held >> drop) & np.uint32(1))
        normal = np.uint32(np.uint32(np.uint32(held + rounding) + odd) >> drop)
        small = np.float32(np.uint32(held).view(np.float32) + summand)
        subnormal = np.uint32(np.float32(small).view(np.uint32) - magic)
        result = subnormal if held < lowest else normal
        result = np.uint32(result | np.uint32(np.uint32(code >> np.uint32(31)) << sign_at))
        result = nan if size > _INFINITE else result
        out[i] = result


@intrinsic
def _as_f16(_, value):
    """The code of a float32 as f16, as the processor rounds it."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(value), build


@compiled(nogil=True)
def halves(values, out):
    """float32 -> codes of f16; every NaN is 0x7FFF."""
    for i in range(values.size):
        code = _as_f16(values[i])
        out[i] = np.uint16(0x7FFF) if np.uint16(code & np.uint16(0x7FFF)) > np.uint16(0x7C00) else code


@compiled(nogil=True)
def whole_numbers(values, lowest, highest, mask, out):
    """float32 -> whole numbers, to nearest even, saturated; NaN is 0."""
    for i in range(values.size):
        value = np.rint(values[i])
        value = value if value == value else np.float32(0)
        value = min(max(value, lowest), highest)
        out[i] = np.uint8(np.uint32(np.int32(value)) & mask)


@compiled(nogil=True)
def clamp(values, lowest, highest, mask, out):
    """int32 -> narrower integers, saturated."""
    for i in range(values.size):
        value = min(max(values[i], lowest), highest)
        out[i] = np.uint8(np.uint32(value) & mask)


@compiled(nogil=True)
def join_halves(pairs, out):
    """Two codes of 4 bits, each in its byte, in one."""
    for i in range(out.size):
        pair = pairs[i]
        out[i] = np.uint8(pair | np.uint16(pair >> np.uint16(4)))
