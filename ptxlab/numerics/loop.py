"""What numba compiles; imported only where it is wanted.

Numba keeps the result on disk, so that a machine compiles it once; where it cannot, each process compiles.
"""

# mypy: ignore-errors
# numba infers the types; annotations would only repeat what it checks at compile time.

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
from numba import config, njit

__all__ = ["ABSENT", "LOWEST", "compile_without_cache", "compiled", "fill", "fill_plain", "fill_wide"]

ABSENT = -4096  # exponent of a zero: it takes no part in the alignment
LOWEST = -1022  # powers[i] is 2 ** (i + LOWEST)
BESIDE = 64  # MMAs that vector instructions take side by side: their values stay in cache

_options = {}  # of each compiled function, by its name: the names of its module, and what numba is told
_changing = threading.Lock()


def _has_place():
    """Whether numba's cache has a folder.

    Without a home folder, or with an empty XDG_CACHE_HOME, numba would make one in the current folder.
    """
    beside = Path(__file__).parent / "__pycache__"
    if config.CACHE_DIR or os.access(beside if beside.exists() else beside.parent, os.W_OK):
        return True
    return Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))).is_absolute()  # noqa: PTH111


def compiled(**options):
    """Decorator: numba compiles the function, and keeps the result on disk where it may."""

    def decorate(function):
        _options[function.__name__] = function.__globals__, options
        if _has_place():
            try:
                return njit(cache=True, **options)(function)
            except RuntimeError:  # no folder that numba knows can be written
                pass
        return njit(**options)(function)

    return decorate


def compile_without_cache():
    """Compile everything anew: numba raises an error where its cache is damaged or the disk is full."""
    with _changing:
        if globals()["fill"].stats.cache_path is not None:
            for name, (module, options) in _options.items():
                module[name] = njit(**options)(module[name].py_func)


@compiled()
def opened(code, form, scale):
    """Value, exponent, sign, and 1 (infinite), 2 (NaN), 4 (zero) or 0 of a code.

    What is not finite has the value 0.
    """
    exponent_bits, fraction_bits, bias, ignored, special = form
    code = np.int64(code) >> ignored
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    negative = code >> (fraction_bits + exponent_bits) & 1
    if special and field == (1 << exponent_bits) - 1:
        if special == 2:
            return 0.0, ABSENT, negative, 1 if fraction == 0 else 2
        if fraction == (1 << fraction_bits) - 1:
            return 0.0, ABSENT, negative, 2
    significand = fraction | np.int64(field != 0) << fraction_bits
    if significand == 0:
        return 0.0, ABSENT, negative, 4
    size = significand * scale[field]
    return -size if negative else size, max(field, 1) - bias, negative, 0


@compiled()
def _code_of(value, form, kept, nearest):
    """Code of a finite float64, cut to `kept` bits of fraction or rounded to nearest even.

    A zero has no sign.
    """
    exponent_bits, fraction_bits, bias = form[0], form[1], form[2]
    bits = np.float64(value).view(np.int64)
    exponent = (bits >> 52 & 2047) - 1023
    lowest = 1 - bias
    drop = 52 - kept + max(lowest - exponent, 0)
    if value == 0.0 or drop > 62:
        return np.int64(0)
    whole = bits & ((1 << 52) - 1) | 1 << 52
    significand = whole >> drop
    if nearest:
        rest, half = whole & ((1 << drop) - 1), np.int64(1) << (drop - 1)
        if rest > half or (rest == half and significand & 1):
            significand += 1
    code = (max(exponent, lowest) + bias - 1 << fraction_bits) + (significand << fraction_bits - kept)
    code = min(code, ((1 << exponent_bits) - 1) << fraction_bits)
    return code | (1 << exponent_bits + fraction_bits if value < 0 and code else 0)


@compiled()
def _odd_code(a_masks, b_masks, stored, negative, kind, d_form):
    """Code of an infinity or NaN that a sum comes to, or -1 where it is finite.

    Negative and kind are those of C.
    """
    none = np.uint64(0)
    a_negative, a_inf, a_nan, a_zero = a_masks
    b_negative, b_inf, b_nan, b_zero = b_masks[0], b_masks[1], b_masks[2], b_masks[3]
    infinite, signs = (a_inf | b_inf) & stored, a_negative ^ b_negative
    invalid = a_nan | b_nan & stored | a_inf & b_zero | a_zero & b_inf
    up = infinite & ~signs != none or (kind == 1 and negative == 0)
    down = infinite & signs != none or (kind == 1 and negative != 0)
    infinity = ((1 << d_form[0]) - 1) << d_form[1]
    if invalid != none or kind == 2 or (up and down):
        return infinity | (1 << d_form[1]) - 1
    if up or down:
        return infinity | (1 << d_form[0] + d_form[1] if down else 0)
    return -1


@compiled(nogil=True, error_model="numpy")
def fill(a, b, c, there, d, forms, scales, fraction_bits, floor, kept, nearest, powers):
    """Fill d with codes for codes a [count, M, K], b [count, K, N], c [count, M, N].

    Forms and scales are those of `compiled`.

    `there` [count, M, K] says which elements of A are stored; empty where all are.
    """
    a_form, b_form, c_form, d_form = forms
    a_scale, b_scale, c_scale = scales
    count, rows, depth = a.shape
    columns, all_there = b.shape[2], there.size == 0
    one, none = np.uint64(1), np.uint64(0)
    a_value, a_exp = np.empty(depth), np.empty(depth, np.int32)
    b_value, b_exp = np.empty((depth, columns)), np.empty((depth, columns), np.int32)
    b_masks = np.zeros((columns, 4), np.uint64)  # over k: negative, infinite, NaN, zero
    c_sign, c_kind = np.empty(columns, np.int64), np.empty(columns, np.int64)
    top, scale, total = np.empty(columns, np.int32), np.empty(columns), np.empty(columns)
    for i in range(count):
        b_masks[:] = none
        b_odd = np.int64(0)
        for k in range(depth):
            for n in range(columns):
                b_value[k, n], b_exp[k, n], negative, kind = opened(b[i, k, n], b_form, b_scale)
                b_odd |= kind & 3
                b_masks[n, 0] |= np.uint64(negative) << np.uint64(k)
                if kind:
                    b_masks[n, 1 + (kind >> 1)] |= one << np.uint64(k)
        for m in range(rows):
            stored = negatives = infinite = nan = zeros = none
            odd = b_odd
            for k in range(depth):
                if not all_there and not there[i, m, k]:
                    a_value[k], a_exp[k] = 0.0, ABSENT
                    continue
                bit = one << np.uint64(k)
                a_value[k], a_exp[k], negative, kind = opened(a[i, m, k], a_form, a_scale)
                stored |= bit
                negatives |= np.uint64(negative) << np.uint64(k)
                if kind:
                    odd |= kind & 3
                    infinite |= bit if kind == 1 else none
                    nan |= bit if kind == 2 else none
                    zeros |= bit if kind == 4 else none
            for n in range(columns):
                total[n], exponent, c_sign[n], c_kind[n] = opened(c[i, m, n], c_form, c_scale)
                odd |= c_kind[n] & 3
                top[n] = max(exponent, floor)
            for k in range(depth):
                exponent = a_exp[k]
                if exponent != ABSENT:
                    for n in range(columns):
                        found = np.int32(exponent + b_exp[k, n])
                        top[n] = found if found > top[n] else top[n]
            for n in range(columns):
                scale[n] = powers[fraction_bits - top[n] - LOWEST]
                total[n] = np.trunc(total[n] * scale[n])
            for k in range(depth):
                value = a_value[k]
                if value != 0.0:
                    for n in range(columns):
                        total[n] += np.trunc(value * b_value[k, n] * scale[n])
            for n in range(columns):
                d[i, m, n] = _code_of(
                    total[n] * powers[top[n] - fraction_bits - LOWEST], d_form, kept, nearest
                )
            if odd:
                a_masks = (negatives, infinite, nan, zeros)
                for n in range(columns):
                    code = _odd_code(a_masks, b_masks[n], stored, c_sign[n], c_kind[n], d_form)
                    if code >= 0:
                        d[i, m, n] = code


# -- most numbers, with vector instructions ------------------------------------------------------------------
#
# BESIDE MMAs stand side by side, in arrays [..., BESIDE]; products are float32 that hold them exactly, sums
# are integers. All lengths and distances in the innermost loops are constants, and types are named again
# after each operation (numba would go on with 64 bits), so that LLVM makes vector instructions of them.


@compiled()
def _put_beside(words, first, count, rows):
    """rows[j, i] = words[first + i, j]; four MMAs at a time, since their words share a line of the cache."""
    for i in range(0, count // 4 * 4, 4):
        one, two, three, four = (
            words[first + i],
            words[first + i + 1],
            words[first + i + 2],
            words[first + i + 3],
        )
        for j in range(one.size):
            row = rows[j]
            row[i], row[i + 1], row[i + 2], row[i + 3] = one[j], two[j], three[j], four[j]
    for i in range(count // 4 * 4, count):
        for j in range(words.shape[1]):
            rows[j, i] = words[first + i, j]


@compiled()
def _put_apart(rows, index, first, count, words):
    """The opposite: words[first + i, j] = rows[index[j], i]."""
    for i in range(0, count // 4 * 4, 4):
        one, two, three, four = (
            words[first + i],
            words[first + i + 1],
            words[first + i + 2],
            words[first + i + 3],
        )
        for j in range(one.size):
            row = rows[index[j]]
            one[j], two[j], three[j], four[j] = row[i], row[i + 1], row[i + 2], row[i + 3]
    for i in range(count // 4 * 4, count):
        for j in range(words.shape[1]):
            words[first + i, j] = rows[index[j], i]


@compiled()
def _values(row, left, right, kept, factor, values):
    """Values of one element of each word."""
    left &= np.uint32(31)
    right &= np.int32(31)
    for i in range(BESIDE):
        moved = np.int32(np.uint32(row[i] << left)) >> right
        values[i] = np.float32(np.uint32(np.uint32(moved) & kept).view(np.float32) * factor)


@compiled()
def _exponents(codes, lowest, exponents):
    """Exponents of values, given as their codes of float32, of which the upper half suffices here."""
    for i in range(BESIDE):
        size = np.uint16(np.uint16(np.uint32(codes[i] >> np.uint32(16))) << np.uint16(1))
        power = max(np.int16(np.int16(np.uint16(size >> np.uint16(8))) - np.int16(127)), lowest)
        exponents[i] = np.int16(ABSENT) if size == np.uint16(0) else power


@compiled()
def _full_exponents(codes, lowest, exponents):
    """The same where a subnormal may have all its bits in the lower half."""
    for i in range(BESIDE):
        size = np.uint32(codes[i] << np.uint32(1))
        power = max(np.int32(np.int32(np.uint32(size >> np.uint32(24))) - np.int32(127)), np.int32(lowest))
        exponents[i] = np.int16(np.int32(ABSENT) if size == np.uint32(0) else power)


@compiled()
def _highest_of(exponents, highest):
    for i in range(BESIDE):
        highest[i] = max(highest[i], exponents[i])


@compiled()
def _flag_values(codes, limit, flags):
    """MMAs with a value from a limit on, both as codes of float32."""
    for i in range(BESIDE):
        flags[i] |= np.uint8(np.uint32(codes[i] & np.uint32(0x7FFFFFFF)) >= limit)


@compiled()
def _flag_small(exponents, lowest, flags):
    """MMAs with an exponent below the lowest; zeros have none."""
    for i in range(BESIDE):
        exponent = exponents[i]
        flags[i] |= np.uint8((exponent < lowest) & (exponent != np.int16(ABSENT)))


@compiled()
def _open_words(words, first, count, places, form, limits, rows, values, exponents, flags):
    """Values and exponents of the elements of words [MMAs, n], of `count` MMAs from the first on.

    `places[j, p]` is the place [..., BESIDE] of element p of word j, or -1. `form` has for each p how far to
    the left its sign is moved to be that of a float32; then how far back its exponent goes, which bits
    belong to it, and what float32 makes too little of it; the lowest exponent; whether a value needs both
    halves of a float32. Flagged are MMAs with exponents outside the limits, and values from the last limit
    on, a code of float32, or 0 for none.
    """
    lefts, right, kept, factor, lowest, full = form
    lowest_allowed, highest_allowed, largest = limits
    codes = values.view(np.uint32)
    highest = np.full(BESIDE, np.int16(ABSENT))
    _put_beside(words, first, count, rows)
    for j in range(len(places)):
        for p in range(lefts.size):
            at = places[j, p]
            if at < 0:
                continue
            _values(rows[j], lefts[p], right, kept, factor, values[at])
            if full:
                _full_exponents(codes[at], np.int16(lowest), exponents[at])
            else:
                _exponents(codes[at], np.int16(lowest), exponents[at])
            _highest_of(exponents[at], highest)
            if lowest_allowed > lowest:
                _flag_small(exponents[at], np.int16(lowest_allowed), flags)
    for i in range(BESIDE):
        flags[i] |= np.uint8(highest[i] > highest_allowed)
    if largest and highest.max() == highest_allowed:
        for at in range(len(values)):
            _flag_values(codes[at], np.uint32(largest), flags)


@compiled()
def _highest(x, y, row, column, top):
    """Exponents of eight products: rows of x and y, [..., BESIDE] flat, from these on."""
    row, column = np.uint64(row * BESIDE), np.uint64(column * BESIDE)
    d1, d2, d3, d4 = np.uint64(BESIDE), np.uint64(2 * BESIDE), np.uint64(3 * BESIDE), np.uint64(4 * BESIDE)
    d5, d6, d7 = np.uint64(5 * BESIDE), np.uint64(6 * BESIDE), np.uint64(7 * BESIDE)
    for i in range(BESIDE):
        a, b = row + np.uint64(i), column + np.uint64(i)
        t0, t1 = np.int16(x[a] + y[b]), np.int16(x[a + d1] + y[b + d1])
        t2, t3 = np.int16(x[a + d2] + y[b + d2]), np.int16(x[a + d3] + y[b + d3])
        t4, t5 = np.int16(x[a + d4] + y[b + d4]), np.int16(x[a + d5] + y[b + d5])
        t6, t7 = np.int16(x[a + d6] + y[b + d6]), np.int16(x[a + d7] + y[b + d7])
        low, high = max(max(t0, t1), max(t2, t3)), max(max(t4, t5), max(t6, t7))
        top[i] = max(top[i], max(low, high))


@compiled()
def _add_products(x, y, row, column, scale, part):
    """Eight products, truncated, are added."""
    row, column = np.uint64(row * BESIDE), np.uint64(column * BESIDE)
    d1, d2, d3, d4 = np.uint64(BESIDE), np.uint64(2 * BESIDE), np.uint64(3 * BESIDE), np.uint64(4 * BESIDE)
    d5, d6, d7 = np.uint64(5 * BESIDE), np.uint64(6 * BESIDE), np.uint64(7 * BESIDE)
    for i in range(BESIDE):
        a, b, by = row + np.uint64(i), column + np.uint64(i), scale[i]
        p0, p1 = np.int32(x[a] * y[b] * by), np.int32(x[a + d1] * y[b + d1] * by)
        p2, p3 = np.int32(x[a + d2] * y[b + d2] * by), np.int32(x[a + d3] * y[b + d3] * by)
        p4, p5 = np.int32(x[a + d4] * y[b + d4] * by), np.int32(x[a + d5] * y[b + d5] * by)
        p6, p7 = np.int32(x[a + d6] * y[b + d6] * by), np.int32(x[a + d7] * y[b + d7] * by)
        low = np.int32(np.int32(p0 + p1) + np.int32(p2 + p3))
        part[i] = np.int32(part[i] + np.int32(low + np.int32(np.int32(p4 + p5) + np.int32(p6 + p7))))


@compiled()
def _align(top, fraction_bits, scale, grain):
    """Scales 2 ** (fraction_bits - top), and their reciprocals; those out of range are on its brink."""
    for i in range(BESIDE):
        power = min(np.int32(np.int32(fraction_bits) - np.int32(top[i])), np.int32(126))
        scale[i] = np.uint32(np.uint32(np.int32(127) + power) << np.uint32(23)).view(np.float32)
        grain[i] = np.uint32(np.uint32(np.int32(127) - power) << np.uint32(23)).view(np.float32)


@compiled()
def _begin(c, scale, part):
    """C, truncated."""
    for i in range(BESIDE):
        part[i] = np.int32(c[i] * scale[i])


@compiled()
def _flag_tiny(c_exp, top, lowest, flags):
    """MMAs whose scale is out of range; where all products are zero, and C is, it does not matter."""
    for i in range(BESIDE):
        flags[i] |= np.uint8((top[i] < lowest) & (c_exp[i] != np.int16(ABSENT)))


@compiled()
def _begin_top(c_exp, floor, top):
    for i in range(BESIDE):
        top[i] = max(c_exp[i], floor)


@compiled()
def _clear(part):
    for i in range(BESIDE):
        part[i] = 0


@compiled()
def _as_total(part, total):
    for i in range(BESIDE):
        total[i] = np.float64(part[i])


@compiled()
def _add_to_total(part, total):
    for i in range(BESIDE):
        total[i] += np.float64(part[i])


@compiled()
def _truncated_codes(total, grain, kept, flags, codes):
    """f32, cut to `kept` bits of fraction; an MMA with a subnormal result is flagged."""
    cut = ~((np.int64(1) << (52 - kept)) - 1)
    for i in range(BESIDE):
        held = np.int64(np.float64(total[i]).view(np.int64) & cut).view(np.float64)
        codes[i] = np.float32(np.float32(held) * grain[i]).view(np.uint32)
    for i in range(BESIDE):
        size = np.uint32(codes[i] & np.uint32(0x7FFFFFFF))
        flags[i] |= np.uint8((size < np.uint32(0x00800000)) & (total[i] != 0.0))


@compiled()
def _nearest_codes(total, grain, codes):
    """f16, to nearest even; by way of a float32 whose last bit says whether anything was cut off."""
    rest = (np.int64(1) << 29) - 1
    for i in range(BESIDE):
        bits = np.float64(total[i]).view(np.int64)
        held = np.float32(np.int64(bits & ~rest).view(np.float64)).view(np.uint32)
        sticky = np.uint32(held | np.uint32(bits & rest != 0)).view(np.float32)
        code = np.float32(sticky * grain[i]).view(np.uint32)
        size = np.uint32(code & np.uint32(0x7FFFFFFF))
        size = np.uint32(0x47800000) if size > np.uint32(0x47800000) else size  # 2^16, infinity there
        odd = np.uint32(np.uint32(size >> np.uint32(13)) & np.uint32(1))
        normal = np.uint32(np.uint32(np.uint32(size + np.uint32(0xC8000FFF)) + odd) >> np.uint32(13))
        small = np.float32(np.uint32(size).view(np.float32) + np.float32(0.5))
        subnormal = np.uint32(np.float32(small).view(np.uint32) - np.uint32(0x3F000000))
        result = subnormal if size < np.uint32(0x38800000) else normal
        sign = np.uint32(np.uint32(code >> np.uint32(16)) & np.uint32(0x8000))
        codes[i] = np.uint32(result | sign) if result != np.uint32(0) else np.uint32(0)


@compiled()
def _highest_of_one(x, row, y, column, top):
    """`_highest` where all have one x."""
    column = np.uint64(column * BESIDE)
    x0, x1, x2, x3 = x[row], x[row + 1], x[row + 2], x[row + 3]
    x4, x5, x6, x7 = x[row + 4], x[row + 5], x[row + 6], x[row + 7]
    d1, d2, d3, d4 = np.uint64(BESIDE), np.uint64(2 * BESIDE), np.uint64(3 * BESIDE), np.uint64(4 * BESIDE)
    d5, d6, d7 = np.uint64(5 * BESIDE), np.uint64(6 * BESIDE), np.uint64(7 * BESIDE)
    for i in range(BESIDE):
        b = column + np.uint64(i)
        t0, t1 = np.int16(x0 + y[b]), np.int16(x1 + y[b + d1])
        t2, t3 = np.int16(x2 + y[b + d2]), np.int16(x3 + y[b + d3])
        t4, t5 = np.int16(x4 + y[b + d4]), np.int16(x5 + y[b + d5])
        t6, t7 = np.int16(x6 + y[b + d6]), np.int16(x7 + y[b + d7])
        low, high = max(max(t0, t1), max(t2, t3)), max(max(t4, t5), max(t6, t7))
        top[i] = max(top[i], max(low, high))


@compiled()
def _add_products_of_one(x, row, y, column, scale, part):
    """`_add_products` where all have one x."""
    column = np.uint64(column * BESIDE)
    x0, x1, x2, x3 = x[row], x[row + 1], x[row + 2], x[row + 3]
    x4, x5, x6, x7 = x[row + 4], x[row + 5], x[row + 6], x[row + 7]
    d1, d2, d3, d4 = np.uint64(BESIDE), np.uint64(2 * BESIDE), np.uint64(3 * BESIDE), np.uint64(4 * BESIDE)
    d5, d6, d7 = np.uint64(5 * BESIDE), np.uint64(6 * BESIDE), np.uint64(7 * BESIDE)
    for i in range(BESIDE):
        b, by = column + np.uint64(i), scale[i]
        p0, p1 = np.int32(x0 * y[b] * by), np.int32(x1 * y[b + d1] * by)
        p2, p3 = np.int32(x2 * y[b + d2] * by), np.int32(x3 * y[b + d3] * by)
        p4, p5 = np.int32(x4 * y[b + d4] * by), np.int32(x5 * y[b + d5] * by)
        p6, p7 = np.int32(x6 * y[b + d6] * by), np.int32(x7 * y[b + d7] * by)
        low = np.int32(np.int32(p0 + p1) + np.int32(p2 + p3))
        part[i] = np.int32(part[i] + np.int32(low + np.int32(np.int32(p4 + p5) + np.int32(p6 + p7))))


@compiled()
def _open_row(codes, form, limits, row, values, bits, exponents, highest, flags):
    """Values and exponents of up to BESIDE codes; the highest exponents so far; bits of values."""
    left, right, kept, factor, lowest = form
    if codes.size == BESIDE:
        _values(codes, left, right, kept, factor, values)
    else:
        row[:] = 0
        row[: codes.size] = codes
        _values(row, left, right, kept, factor, values)
    _full_exponents(bits, np.int16(lowest), exponents)
    _highest_of(exponents, highest)
    if limits[2]:
        _flag_values(bits, np.uint32(limits[2]), flags)
    if limits[0] > lowest:
        _flag_small(exponents, np.int16(limits[0]), flags)


@compiled(nogil=True, error_model="numpy")
def fill_wide(a, b, c, d, forms, limits, numbers, odd):
    """`fill_plain` for many columns, which stand side by side instead of MMAs.

    Codes a [count, M, K], b [count, K, N], c and d [count, M, N].
    """
    fraction_bits, floor, kept, nearest = numbers
    count, rows, depth = a.shape
    columns = b.shape[2]
    padded = (depth + 7) // 8 * 8
    groups = (columns + BESIDE - 1) // BESIDE
    a_value, a_exp = np.zeros(BESIDE, np.float32), np.zeros(BESIDE, np.int16)
    a_values, a_exps = np.zeros(rows * padded, np.float32), np.full(rows * padded, np.int16(ABSENT))
    b_value = np.zeros((groups, padded, BESIDE), np.float32)
    b_exp = np.full((groups, padded, BESIDE), np.int16(ABSENT))
    b_values, b_exps = b_value.reshape(-1), b_exp.reshape(-1)
    row, flags = np.zeros(BESIDE, np.uint32), np.empty(BESIDE, np.uint8)
    highest = np.empty((3, BESIDE), np.int16)
    c_value, c_exp = np.zeros(BESIDE, np.float32), np.zeros(BESIDE, np.int16)
    a_bits, b_bits, c_bits = a_value.view(np.uint32), b_value.view(np.uint32), c_value.view(np.uint32)
    scale, grain = np.empty(BESIDE, np.float32), np.empty(BESIDE, np.float32)
    top, part, total = np.empty(BESIDE, np.int16), np.empty(BESIDE, np.int32), np.empty(BESIDE)
    lowest = np.int16(fraction_bits - 126)
    for i in range(count):
        flags[:] = 0
        highest[:] = ABSENT
        for m in range(rows):
            _open_row(a[i, m], forms[0], limits[0], row, a_value, a_bits, a_exp, highest[0], flags)
            a_values[m * padded : m * padded + depth] = a_value[:depth]
            a_exps[m * padded : m * padded + depth] = a_exp[:depth]
        for k in range(depth):
            for group in range(groups):
                some = b[i, k, group * BESIDE : (group + 1) * BESIDE]
                value, bits, exponents = b_value[group, k], b_bits[group, k], b_exp[group, k]
                _open_row(some, forms[1], limits[1], row, value, bits, exponents, highest[1], flags)
        if flags.any() or highest[0].max() > limits[0][1] or highest[1].max() > limits[1][1]:
            odd[i] = 1
            continue
        for group in range(groups):
            low, high = group * BESIDE, min((group + 1) * BESIDE, columns)
            for m in range(rows):
                _open_row(
                    c[i, m, low:high], forms[2], limits[2], row, c_value, c_bits, c_exp, highest[2], flags
                )
                _begin_top(c_exp, np.int16(floor), top)
                for k in range(0, padded, 8):
                    _highest_of_one(a_exps, m * padded + k, b_exps, group * padded + k, top)
                _align(top, fraction_bits, scale, grain)
                if floor < lowest:
                    _flag_tiny(c_exp, top, lowest, flags)
                _begin(c_value, scale, part)
                _add_products_of_one(a_values, m * padded, b_values, group * padded, scale, part)
                _as_total(part, total)
                for k in range(8, padded, 8):
                    _clear(part)
                    _add_products_of_one(a_values, m * padded + k, b_values, group * padded + k, scale, part)
                    _add_to_total(part, total)
                if nearest:
                    _nearest_codes(total, grain, row)
                else:
                    _truncated_codes(total, grain, kept, flags, row)
                result = d[i, m, low:high]
                for j in range(result.size):
                    result[j] = row[j]
        odd[i] = flags.any() or highest[2].max() > limits[2][1]


@compiled()
def _close_words(codes, places, lefts, rows, first, count, words):
    """The opposite of `_open_words`, of codes [..., BESIDE]."""
    if lefts.size == 1:
        _put_apart(codes, places[:, 0], first, count, words)
        return
    for j in range(len(places)):
        row = rows[j]
        row[:] = codes[places[j, 0]]
        for p in range(1, lefts.size):
            code, left = codes[places[j, p]], lefts[p] & np.uint32(31)
            for i in range(BESIDE):
                row[i] = np.uint32(row[i] | np.uint32(code[i] << left))
    _put_apart(rows, np.arange(len(places)), first, count, words)


@compiled(nogil=True, error_model="numpy")
def fill_plain(a, b, c, d, places, shape, forms, limits, numbers, odd):
    """`fill` for most numbers, from words to words: a, b, c, d [MMAs, words].

    `places` say where their elements are in [M, K], [N, K], [M, N] and [M, N]. An MMA with numbers that are
    infinite, NaN or beyond the range in which float32 holds their products, by its `limits`, or with a
    result that is subnormal, is set in `odd` [MMAs]; `fill` must compute it.
    """
    fraction_bits, floor, kept, nearest = numbers
    rows, columns, depth = shape
    padded = (depth + 7) // 8 * 8
    a_value = np.zeros((rows * padded, BESIDE), np.float32)
    a_exp = np.full((rows * padded, BESIDE), np.int16(ABSENT))
    b_value = np.zeros((columns * padded, BESIDE), np.float32)
    b_exp = np.full((columns * padded, BESIDE), np.int16(ABSENT))
    c_value = np.zeros((rows * columns, BESIDE), np.float32)
    c_exp = np.full((rows * columns, BESIDE), np.int16(ABSENT))
    codes = np.empty((rows * columns, BESIDE), np.uint32)
    a_values, b_values = a_value.reshape(-1), b_value.reshape(-1)
    a_exps, b_exps = a_exp.reshape(-1), b_exp.reshape(-1)
    words = np.zeros((max(a.shape[1], b.shape[1], c.shape[1], d.shape[1]), BESIDE), np.uint32)
    flags, top = np.empty(BESIDE, np.uint8), np.empty(BESIDE, np.int16)
    scale, grain = np.empty(BESIDE, np.float32), np.empty(BESIDE, np.float32)
    part, total = np.empty(BESIDE, np.int32), np.empty(BESIDE)
    lowest = np.int16(fraction_bits - 126)
    for first in range(0, len(d), BESIDE):
        count = min(BESIDE, len(d) - first)
        flags[:] = 0
        _open_words(a, first, count, places[0], forms[0], limits[0], words, a_value, a_exp, flags)
        _open_words(b, first, count, places[1], forms[1], limits[1], words, b_value, b_exp, flags)
        _open_words(c, first, count, places[2], forms[2], limits[2], words, c_value, c_exp, flags)
        if flags[:count].all():
            odd[first : first + count] = 1
            continue
        for m in range(rows):
            for n in range(columns):
                at, of_a, of_b = m * columns + n, m * padded, n * padded
                _begin_top(c_exp[at], np.int16(floor), top)
                for k in range(0, padded, 8):
                    _highest(a_exps, b_exps, of_a + k, of_b + k, top)
                _align(top, fraction_bits, scale, grain)
                if floor < lowest:
                    _flag_tiny(c_exp[at], top, lowest, flags)
                _begin(c_value[at], scale, part)
                _add_products(a_values, b_values, of_a, of_b, scale, part)  # 8 terms of 27 bits, and C: 32
                _as_total(part, total)
                for k in range(8, padded, 8):
                    _clear(part)
                    _add_products(a_values, b_values, of_a + k, of_b + k, scale, part)
                    _add_to_total(part, total)
                if nearest:
                    _nearest_codes(total, grain, codes[at])
                else:
                    _truncated_codes(total, grain, kept, flags, codes[at])
        _close_words(codes, places[3], forms[3], words, first, count, d)
        odd[first : first + count] = flags[:count]
