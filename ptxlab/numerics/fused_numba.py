"""The loops of the fused sum that numba compiles; imported only where they are wanted.

`fused_plain.py` states the rule that they compute.

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
from numba.extending import register_jitable

from .fused_numpy import ABSENT

if config.DISABLE_JIT:  # for debuggers and coverage: NumPy is faster than this in Python
    raise ImportError("NUMBA_DISABLE_JIT is set")

GROUP = 64  # MMAs that vector instructions take side by side: their values stay in cache

_index, _half, _word, _float = np.uint64, np.int16, np.uint32, np.float32
_options = {}  # by the name of a compiled function: the globals of its module, and its options for numba
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


#: For functions that allocate no arrays: without counts of references, which take most of the time where many
#: arrays are passed and little is done with them.
NO_MEMORY = {"_nrt": False}


def used_by_compiled(function):
    """Let functions that are compiled with NO_MEMORY call this one, which stays as it is for Python."""
    return register_jitable(**NO_MEMORY)(function)


#: For functions that only compiled ones call: their interfaces for Python and C are not compiled.
_inner = compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compile_without_cache():
    """Compile everything anew, for when numba's cache is damaged or the disk is full."""
    with _changing:
        if globals()["fill"].stats.cache_path is not None:
            for name, (module, options) in _options.items():
                function = module[name]  # itself plain, if what is compiled has another name
                module[name] = njit(**options)(getattr(function, "py_func", function))


# -- most numbers, with vector instructions ------------------------------------------------------------------
#
# GROUP MMAs lie side by side in flat arrays [..., GROUP]; products are float32 that hold them exactly, sums
# are integers. Four elements of D make a block: two rows and two columns. All lengths and distances in the
# innermost loops are constants, types are named again after each operation (numba would continue with 64
# bits), and indices are unsigned (signed ones may count from the end), so that LLVM makes vector
# instructions. The caller allocates all arrays: allocation is slow to compile.


@_inner
def _gather_words(words, first, count, rows):
    """rows[w, i] = word w of MMA first + i."""
    size = rows.size // GROUP
    for i in range(count):
        for j in range(size):
            rows[_index(j * GROUP + i)] = words[_index((first + i) * size + j)]


@_inner
def _scatter_words(rows, places, first, count, words):
    """The inverse: word w of MMA first + i = rows[places[w, 0], i]."""
    size = len(places)
    for i in range(count):
        for j in range(size):
            words[_index((first + i) * size + j)] = rows[_index(places[j, 0] * GROUP + i)]


@_inner
def _values(rows, start, left, right, kept, factor, values, at):
    """Values of one element of each word; a separate function, so that LLVM sees how narrow they are."""
    left &= _word(31)
    right &= np.int32(31)
    for i in range(GROUP):
        moved = np.int32(_word(rows[start + _index(i)] << left)) >> right
        values[at + _index(i)] = _float(_word(_word(moved) & kept).view(_float) * factor)


@_inner
def _decode(rows, sources, first, last, form, limits, values, codes, exponents, peaks, flags):
    """Values and exponents [..., GROUP] of elements, from the first to the last.

    Element e of GROUP MMAs is in the words from `sources[e, 0]` on; a shift to the left by `sources[e, 1]`
    puts its sign where float32 has it. `form`: the shift to the right that puts its exponent there, the mask
    of its bits, the factor by which float32 then reads it too small, and its lowest exponent. `peaks` become
    the largest values so far, as upper halves of float32 without sign. Numbers below the first limit, an
    exponent, are flagged.
    """
    right, kept, factor, lowest = form
    lowest_allowed = _half(limits[0])
    for element in range(first, last):
        if sources[element, 0] < 0:
            continue  # K is padded
        start, at = _index(sources[element, 0]), _index((element - first) * GROUP)
        _values(rows, start, _word(sources[element, 1]), right, kept, factor, values, at)
        for i in range(GROUP):
            whole = _word(codes[at + _index(i)] << _word(1))
            power = max(np.int32(np.int32(_word(whole >> _word(24))) - np.int32(127)), np.int32(lowest))
            exponents[at + _index(i)] = _half(np.int32(ABSENT) if whole == _word(0) else power)
            peaks[i] = max(peaks[i], np.uint16(_word(whole >> _word(16))))
        if limits[0] > lowest:
            for i in range(GROUP):
                exponent = exponents[at + _index(i)]
                flags[i] |= np.uint8((exponent < lowest_allowed) & (exponent != _half(ABSENT)))


@_inner
def _flag_peaks(peaks, limit, flags):
    """Flag MMAs whose peak reaches the limit, and reset the peaks; returns how many MMAs are not flagged."""
    left = 0
    for i in range(GROUP):
        flags[i] |= np.uint8(peaks[i] >= np.uint16(limit))
        left += np.int64(flags[i] == np.uint8(0))
        peaks[i] = 0
    return left


@_inner
def _highest(x, y, column, depth, c_exp, at, floor, top):
    """The largest exponents of a block: of C, and of products of two rows of x and two columns of y."""
    r, s, t, u = _index(GROUP), _index(2 * GROUP), _index(3 * GROUP), _index(depth * GROUP)
    for i in range(4 * GROUP):
        top[i] = max(c_exp[_index(at) + _index(i)], floor)
    for eight in range(0, depth, 8):
        row, start = _index(eight * GROUP), _index((column + eight) * GROUP)
        for number in range(GROUP):
            i = _index(number)
            top0, top1, top2, top3 = top[i], top[i + r], top[i + s], top[i + t]
            for k in range(8):
                a, b = row + i + _index(k * GROUP), start + i + _index(k * GROUP)
                x0, x1, y0, y1 = x[a], x[a + u], y[b], y[b + u]
                top0, top1 = max(top0, _half(x0 + y0)), max(top1, _half(x0 + y1))
                top2, top3 = max(top2, _half(x1 + y0)), max(top3, _half(x1 + y1))
            top[i], top[i + r], top[i + s], top[i + t] = top0, top1, top2, top3


@_inner
def _align(top, c, c_exp, at, fraction_bits, scale, total, part, flags):
    """Scales 2 ** (fraction_bits - top) of a block; C, truncated, is its total.

    A scale out of range is clamped to its limit, and flagged; where all products and C are zero, it does
    not matter.
    """
    lowest = _half(fraction_bits - 126)
    r, s, t = _index(GROUP), _index(2 * GROUP), _index(3 * GROUP)
    for i in range(4 * GROUP):
        power = min(np.int32(np.int32(fraction_bits) - np.int32(top[i])), np.int32(126))
        by = _word(_word(np.int32(127) + power) << _word(23)).view(_float)
        scale[i] = by
        total[i] = np.float64(np.int32(c[_index(at) + _index(i)] * by))
        part[i] = 0
    if flags.size:
        for number in range(GROUP):
            i, j = _index(number), _index(at) + _index(number)
            tiny0 = (top[i] < lowest) & (c_exp[j] != _half(ABSENT))
            tiny1 = (top[i + r] < lowest) & (c_exp[j + r] != _half(ABSENT))
            tiny2 = (top[i + s] < lowest) & (c_exp[j + s] != _half(ABSENT))
            tiny3 = (top[i + t] < lowest) & (c_exp[j + t] != _half(ABSENT))
            flags[i] |= np.uint8(tiny0 | tiny1 | tiny2 | tiny3)


@_inner
def _add_products(x, y, column, first, last, depth, scale, part):
    """Products from k = first to last, truncated, are added for two rows of x and two columns of y."""
    r, s, t, u = _index(GROUP), _index(2 * GROUP), _index(3 * GROUP), _index(depth * GROUP)
    for eight in range(first, last, 8):
        row, start = _index(eight * GROUP), _index((column + eight) * GROUP)
        for number in range(GROUP):
            i = _index(number)
            scale0, scale1, scale2, scale3 = scale[i], scale[i + r], scale[i + s], scale[i + t]
            part0, part1, part2, part3 = part[i], part[i + r], part[i + s], part[i + t]
            for k in range(8):
                a, b = row + i + _index(k * GROUP), start + i + _index(k * GROUP)
                x0, x1, y0, y1 = x[a], x[a + u], y[b], y[b + u]
                part0 = np.int32(part0 + np.int32(x0 * y0 * scale0))
                part1 = np.int32(part1 + np.int32(x0 * y1 * scale1))
                part2 = np.int32(part2 + np.int32(x1 * y0 * scale2))
                part3 = np.int32(part3 + np.int32(x1 * y1 * scale3))
            part[i], part[i + r], part[i + s], part[i + t] = part0, part1, part2, part3


@_inner
def _add_part(part, total):
    for i in range(4 * GROUP):
        total[i] += np.float64(part[i])
        part[i] = 0


@_inner
def _truncated_codes(total, part, scale, kept, codes, at):
    """f32, cut to `kept` bits of fraction; no result is subnormal, since no scale is above 2^126."""
    at, cut = _index(at * GROUP), ~((np.int64(1) << (52 - kept)) - 1)
    for i in range(4 * GROUP):
        whole = np.float64(total[i] + np.float64(part[i]))
        truncated = np.int64(whole.view(np.int64) & cut).view(np.float64)
        grain = _word(_word(0x7F000000) - _float(scale[i]).view(_word)).view(_float)
        codes[at + _index(i)] = _float(_float(truncated) * grain).view(_word)


@_inner
def _nearest_codes(total, part, scale, codes, at):
    """f16, to nearest even, from a float32 whose last bit says whether anything was cut off."""
    at, rest = _index(at * GROUP), (np.int64(1) << 29) - 1
    for i in range(4 * GROUP):
        bits = np.float64(total[i] + np.float64(part[i])).view(np.int64)
        truncated = _float(np.int64(bits & ~rest).view(np.float64)).view(_word)
        sticky = _word(truncated | _word(bits & rest != 0)).view(_float)
        grain = _word(_word(0x7F000000) - _float(scale[i]).view(_word)).view(_float)
        code = _float(sticky * grain).view(_word)
        size = _word(code & _word(0x7FFFFFFF))
        size = _word(0x47800000) if size > _word(0x47800000) else size  # 2^16, infinity there
        odd = _word(_word(size >> _word(13)) & _word(1))
        normal = _word(_word(_word(size + _word(0xC8000FFF)) + odd) >> _word(13))
        small = _float(_word(size).view(_float) + _float(0.5))
        subnormal = _word(_float(small).view(_word) - _word(0x3F000000))
        result = subnormal if size < _word(0x38800000) else normal
        sign = _word(_word(code >> _word(16)) & _word(0x8000))
        codes[at + _index(i)] = _word(result | sign) if result != _word(0) else _word(0)


@_inner
def _pack_words(codes, places, lefts, first, count, words):
    """Words from codes [..., GROUP], which change: `places[j, p]` is that of element p of word j."""
    size, parts = places.shape
    for p in range(1, parts):
        left = lefts[p] & _word(31)
        for j in range(size):
            low, high = _index(places[j, 0] * GROUP), _index(places[j, p] * GROUP)
            for i in range(GROUP):
                codes[low + _index(i)] = _word(
                    codes[low + _index(i)] | _word(codes[high + _index(i)] << left)
                )
    _scatter_words(codes, places, first, count, words)


@compiled(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def fill(a, b, c, d, iterations, sources, places, shape, forms, limits, numbers, arrays, special):
    """The fused sum of most numbers, from words to words: a, b, c, d [MMAs * words].

    Each iteration has its own A, B and D; D of one is C of the next. `sources` say where `_decode` finds the
    elements of [M, K], [N, K] and [blocks of M and N], and where those of C are in the codes of the previous
    iteration; `places` and the last of `forms` say where D's elements go. M and N are even, K is a multiple
    of 8. `numbers`: those of `FusedStep`, and how many products an integer sum holds. `arrays`: see
    `compiled._scratch`. `special` [MMAs] is set for MMAs with infinities, NaN or numbers beyond their
    `limits`, whose products float32 might not hold; NumPy must compute these in all iterations.
    """
    fraction_bits, floor, kept, nearest, together = numbers
    rows, columns, depth = shape
    (a_value, b_value, c_value), (a_code, b_code, c_code), (a_exp, b_exp, c_exp), rest = arrays
    (a_rows, b_rows, c_rows), (of_a, of_b, of_c, of_d), codes, scale, top, part, total, peaks, flags = rest
    tiny = flags if floor < fraction_bits - 126 else flags[:0]
    for first in range(0, special.size, GROUP):
        count = min(GROUP, special.size - first)
        for i in range(GROUP):
            flags[i] = np.uint8(i >= count)
        _gather_words(c, first, count, c_rows)
        start, source = of_c, sources[2]
        for iteration in range(iterations):
            number = iteration * special.size + first
            _gather_words(b, number, count, b_rows)
            _decode(of_b, sources[1], 0, columns * depth, forms[1], limits[1],
                  b_value, b_code, b_exp, peaks, flags)  # fmt: skip
            left = _flag_peaks(peaks, limits[1][1], flags)
            _gather_words(a, number, count, a_rows)
            at = 0
            for m in range(0, rows, 2):
                _decode(of_a, sources[0], m * depth, (m + 2) * depth, forms[0], limits[0],
                      a_value, a_code, a_exp, peaks, flags)  # fmt: skip
                left = _flag_peaks(peaks, limits[0][1], flags)
                if left == 0:
                    break
                _decode(start, source, at, at + 2 * columns, forms[2], limits[2],
                      c_value, c_code, c_exp, peaks, flags)  # fmt: skip
                for column in range(0, columns, 2):
                    y, block = column * depth, 2 * column * GROUP
                    _highest(a_exp, b_exp, y, depth, c_exp, block, _half(floor), top)
                    _align(top, c_value, c_exp, block, fraction_bits, scale, total, part, tiny)
                    for k in range(0, depth, together):
                        if k:
                            _add_part(part, total)
                        last = min(k + together, depth)
                        _add_products(a_value, b_value, y, k, last, depth, scale, part)
                    if nearest:
                        _nearest_codes(total, part, scale, codes, at)
                    else:
                        _truncated_codes(total, part, scale, kept, codes, at)
                    at += 4
                left = _flag_peaks(peaks, limits[2][1], flags)
            if left == 0:
                break
            _pack_words(codes, places, forms[3], number, count, d)
            start, source = of_d, sources[3]
        for i in range(count):
            special[first + i] = flags[i]
