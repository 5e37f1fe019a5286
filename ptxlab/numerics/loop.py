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

__all__ = ["ABSENT", "LOWEST", "ODD", "compile_without_cache", "compiled", "fill", "fill_plain"]

ABSENT = -4096  # exponent of a zero: it takes no part in the alignment
LOWEST = -1022  # powers[i] is 2 ** (i + LOWEST)
ODD = 8191  # exponent, in the tables of `fill_plain`, of what it does not compute

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


@compiled()
def _look_up(codes, ignored, table, values, exponents, odd):
    """Values and exponents of codes by their table; MMAs with a code that it does not explain become odd."""
    table_values, table_exponents = table
    for i in range(codes.size):
        code = codes[i] >> ignored
        values[i] = table_values[code]
        exponents[i] = table_exponents[code]
    for i in range(codes.size):
        odd[i] |= exponents[i] == ODD


@compiled()
def _open_f32(codes, values, exponents, odd):
    """The same for codes of f32, without a table."""
    for i in range(codes.size):
        code = codes[i]
        field = np.int32(code >> np.uint32(23)) & np.int32(255)
        values[i] = np.uint32(code).view(np.float32)
        exponent = max(field, np.int32(1)) - np.int32(127)
        exponents[i] = exponent if code << np.uint32(1) != 0 else np.int32(ABSENT)
        odd[i] |= field == 255


@compiled(nogil=True, error_model="numpy")
def fill_plain(a, b, c, there, d, ignored, tables, d_form, fraction_bits, floor, kept, nearest, odd):
    """`fill` for most numbers: codes a [blocks, M, K, L], b [blocks, K, N, L], c and d [blocks, M, N, L].

    L MMAs stand side by side in each block, products are float32 that hold them exactly, and sums are
    integers, so that vector instructions do it. `tables` give the values and exponents of the codes of A, B
    and C without their ignored bits. An MMA that has others (infinite, NaN, beyond the range in which that
    holds) or a result that is subnormal is set in `odd` [blocks, L]; `fill` must compute it.
    """
    a_table, b_table, c_table = tables
    blocks, rows, depth, length = a.shape
    columns, all_there = b.shape[2], there.size == 0
    a_value, a_exp = np.empty((rows, depth, length), np.float32), np.empty((rows, depth, length), np.int16)
    b_value, b_exp = (
        np.empty((depth, columns, length), np.float32),
        np.empty((depth, columns, length), np.int16),
    )
    c_value, top = np.empty(length, np.float32), np.empty(length, np.int16)
    scale, part, total = np.empty(length, np.float32), np.empty(length, np.int32), np.empty(length, np.int64)
    cut = ~((np.int64(1) << (52 - kept)) - 1)
    for block in range(blocks):
        flags = odd[block]
        for m in range(rows):
            for k in range(depth):
                values, exponents = a_value[m, k], a_exp[m, k]
                _look_up(a[block, m, k], ignored[0], a_table, values, exponents, flags)
                if not all_there:
                    stored = there[block, m, k]
                    for i in range(length):
                        if not stored[i]:
                            values[i], exponents[i] = 0.0, ABSENT
        for k in range(depth):
            for n in range(columns):
                _look_up(b[block, k, n], ignored[1], b_table, b_value[k, n], b_exp[k, n], flags)
        if flags.all():
            continue
        for m in range(rows):
            for n in range(columns):
                if c_table[0].size:
                    _look_up(c[block, m, n], ignored[2], c_table, c_value, top, flags)
                else:
                    _open_f32(c[block, m, n], c_value, top, flags)
                for i in range(length):
                    top[i] = max(top[i], np.int16(floor))
                for k in range(depth):
                    x, y = a_exp[m, k], b_exp[k, n]
                    for i in range(length):
                        top[i] = max(top[i], np.int16(x[i] + y[i]))
                for i in range(length):
                    # where it is out of range, all products are zero, or the MMA is odd
                    power = np.int32(fraction_bits) - np.int32(top[i])
                    power = min(max(power, np.int32(-126)), np.int32(127))
                    scale[i] = np.int32((power + np.int32(127)) << np.int32(23)).view(np.float32)
                    exponent = np.int64(fraction_bits) - np.int64(top[i]) + np.int64(1023)
                    exact = np.int64(exponent << np.int64(52)).view(np.float64)
                    total[i] = np.int64(np.float64(c_value[i]) * exact)
                for low in range(0, depth, 8):  # so many terms of 27 bits fit 32
                    for i in range(length):
                        part[i] = 0
                    for k in range(low, min(low + 8, depth)):
                        u, v = a_value[m, k], b_value[k, n]
                        for i in range(length):
                            part[i] += np.int32(u[i] * v[i] * scale[i])
                    for i in range(length):
                        total[i] += part[i]
                codes = d[block, m, n]
                for i in range(length):
                    exponent = np.int64(top[i]) - np.int64(fraction_bits) + np.int64(1023)
                    grain = np.int64(exponent << np.int64(52)).view(np.float64)
                    value = np.float64(total[i]) * grain
                    if nearest:
                        codes[i] = _code_of(value, d_form, kept, True)
                    else:
                        value = np.int64(np.float64(value).view(np.int64) & cut).view(np.float64)
                        flags[i] |= (abs(value) < 2.0**-126) & (total[i] != 0)
                        codes[i] = np.float32(value).view(np.uint32)
