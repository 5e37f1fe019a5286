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

__all__ = ["LOWEST", "compile_without_cache", "fill"]

_ABSENT = -4096  # exponent of a zero: it takes no part in the alignment
LOWEST = -1022  # powers[i] is 2 ** (i + LOWEST)

_options = {}  # of each compiled function, by its name
_changing = threading.Lock()


def _has_place():
    """Whether numba's cache has a folder.

    Without a home folder, or with an empty XDG_CACHE_HOME, numba would make one in the current folder.
    """
    beside = Path(__file__).parent / "__pycache__"
    if config.CACHE_DIR or os.access(beside if beside.exists() else beside.parent, os.W_OK):
        return True
    return Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))).is_absolute()  # noqa: PTH111


def _compiled(**options):
    """Decorator: numba compiles the function, and keeps the result on disk where it may."""

    def decorate(function):
        _options[function.__name__] = options
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
            for name, options in _options.items():
                globals()[name] = njit(**options)(globals()[name].py_func)


@_compiled()
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
            return 0.0, _ABSENT, negative, 1 if fraction == 0 else 2
        if fraction == (1 << fraction_bits) - 1:
            return 0.0, _ABSENT, negative, 2
    significand = fraction | np.int64(field != 0) << fraction_bits
    if significand == 0:
        return 0.0, _ABSENT, negative, 4
    size = significand * scale[field]
    return -size if negative else size, max(field, 1) - bias, negative, 0


@_compiled()
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


@_compiled()
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


@_compiled(nogil=True, error_model="numpy")
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
                    a_value[k], a_exp[k] = 0.0, _ABSENT
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
                if exponent != _ABSENT:
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
