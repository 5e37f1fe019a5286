"""What numba compiles; imported only where it is wanted. Numba keeps the result on disk, so that a machine compiles it once."""

# mypy: ignore-errors
# numba infers the types; annotations would only repeat what it checks at compile time.

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["LOWEST", "fill"]

ABSENT = -4096  # exponent of a zero: it takes no part in the alignment
LOWEST = -1022  # powers[i] is 2 ** (i + LOWEST)


@njit(cache=True)
def opened(code, form, powers):
    """Value, exponent, sign bit, and 0 (finite), 1 (infinite) or 2 (NaN) of a code."""
    exponent_bits, fraction_bits, bias, ignored, special = form
    code = np.int64(code) >> ignored
    fraction = code & ((1 << fraction_bits) - 1)
    field = code >> fraction_bits & ((1 << exponent_bits) - 1)
    negative = code >> (fraction_bits + exponent_bits) & 1
    if special and field == (1 << exponent_bits) - 1:
        if special == 2:
            return 0.0, ABSENT, negative, 1 if fraction == 0 else 2
        if fraction == (1 << fraction_bits) - 1:
            return 0.0, ABSENT, negative, 2
    if field == 0:
        if fraction == 0:
            return 0.0, ABSENT, negative, 0
        field = np.int64(1)
    else:
        fraction |= 1 << fraction_bits
    value = fraction * powers[field - bias - fraction_bits - LOWEST]
    return -value if negative else value, field - bias, negative, 0


@njit(cache=True)
def code_of(value, form, kept, nearest):
    """Code of a finite float64, cut to `kept` bits of fraction or rounded to nearest even; a zero has no sign."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def fill(a, b, c, there, d, a_form, b_form, c_form, d_form, fraction_bits, floor, kept, nearest, powers):
    """Fill d with codes for codes a [count, M, K], b [count, K, N], c [count, M, N]; forms are those of `compiled.form`."""
    count, rows, depth = a.shape
    columns = b.shape[2]
    one, none, all_there = np.uint64(1), np.uint64(0), there.size == 0
    a_value, a_exp = np.empty(depth), np.empty(depth, np.int32)
    b_value, b_exp = np.empty((depth, columns)), np.empty((depth, columns), np.int32)
    b_masks = np.zeros((4, columns), np.uint64)  # over k: infinite, NaN, zero, negative
    c_kind, c_negative = np.empty(columns, np.int64), np.empty(columns, np.int64)
    top, scale, total = np.empty(columns, np.int32), np.empty(columns), np.empty(columns)
    infinity = ((1 << d_form[0]) - 1) << d_form[1]
    minus, nan = infinity | 1 << d_form[0] + d_form[1], infinity | (1 << d_form[1]) - 1
    for i in range(count):
        b_masks[:] = none
        b_odd = False
        for k in range(depth):
            bit = one << np.uint64(k)
            for n in range(columns):
                b_value[k, n], b_exp[k, n], negative, kind = opened(b[i, k, n], b_form, powers)
                if negative:
                    b_masks[3, n] |= bit
                if kind:
                    b_masks[kind - 1, n] |= bit
                    b_odd = True
                elif b_value[k, n] == 0.0:
                    b_masks[2, n] |= bit
        for m in range(rows):
            stored = a_inf = a_nan = a_zero = a_negative = none
            for k in range(depth):
                if not all_there and not there[i, m, k]:
                    a_value[k], a_exp[k] = 0.0, ABSENT
                    continue
                bit = one << np.uint64(k)
                stored |= bit
                a_value[k], a_exp[k], negative, kind = opened(a[i, m, k], a_form, powers)
                if negative:
                    a_negative |= bit
                if kind == 1:
                    a_inf |= bit
                elif kind == 2:
                    a_nan |= bit
                elif a_value[k] == 0.0:
                    a_zero |= bit
            odd = b_odd or a_inf != none or a_nan != none
            for n in range(columns):
                total[n], exponent, c_negative[n], c_kind[n] = opened(c[i, m, n], c_form, powers)
                odd |= c_kind[n] != 0
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
                d[i, m, n] = code_of(total[n] * powers[top[n] - fraction_bits - LOWEST], d_form, kept, nearest)
            if odd:
                for n in range(columns):
                    infinite, signs = (a_inf | b_masks[0, n]) & stored, a_negative ^ b_masks[3, n]
                    invalid = a_nan | b_masks[1, n] & stored | a_inf & b_masks[2, n] | a_zero & b_masks[0, n]
                    up = infinite & ~signs != none or (c_kind[n] == 1 and c_negative[n] == 0)
                    down = infinite & signs != none or (c_kind[n] == 1 and c_negative[n] != 0)
                    if invalid != none or c_kind[n] == 2 or (up and down):
                        d[i, m, n] = nan
                    elif up:
                        d[i, m, n] = infinity
                    elif down:
                        d[i, m, n] = minus
