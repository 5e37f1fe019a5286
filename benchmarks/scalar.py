"""The fused dot product one element at a time, in Python's integers: apart from ptxlab.numerics.

Simulators of tensor cores are commonly written this way; the benchmark compares with it, and the tests check
against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["FORMATS", "Format", "mma"]


class Format(NamedTuple):
    """A float type: exponent and fraction bits, ignored low bits, what its highest exponent stands for."""

    exponent_bits: int
    fraction_bits: int
    ignored: int = 0
    highest: str = "infinity and NaN"  # or "one NaN", or "numbers"


FORMATS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "tf32": Format(8, 10, ignored=13),
    "f32": Format(8, 23),
    "e5m2": Format(5, 2),
    "e4m3": Format(4, 3, highest="one NaN"),
    "e3m2": Format(3, 2, highest="numbers"),
    "e2m3": Format(2, 3, highest="numbers"),
    "e2m1": Format(2, 1, highest="numbers"),
}

Parts = tuple[str, int, int, int]  # what it is, sign, significand, exponent


def parts(code: int, form: Format) -> Parts:
    code >>= form.ignored
    fraction = code & ((1 << form.fraction_bits) - 1)
    field = code >> form.fraction_bits & ((1 << form.exponent_bits) - 1)
    sign = code >> (form.fraction_bits + form.exponent_bits)
    if field == (1 << form.exponent_bits) - 1:
        if form.highest == "infinity and NaN":
            return ("NaN" if fraction else "infinity"), sign, 0, 0
        if form.highest == "one NaN" and fraction == (1 << form.fraction_bits) - 1:
            return "NaN", sign, 0, 0
    exponent = max(field, 1) - ((1 << (form.exponent_bits - 1)) - 1)
    significand = fraction | (1 << form.fraction_bits if field else 0)
    return ("number" if significand else "zero"), sign, significand, exponent


def dot(
    a: Sequence[int],
    b: Sequence[int],
    start: int,
    forms: tuple[Format, Format, Format],
    fraction_bits: int,
    result_bits: int,
    floor: int,
) -> int:
    """One element of D for codes of a row of A, a column of B and an element of C, of the type of D."""
    a_form, b_form, c_form = forms
    point = a_form.fraction_bits + b_form.fraction_bits
    c = parts(start, c_form)
    top_field = (1 << c_form.exponent_bits) - 1
    infinite = set()
    if c[0] == "NaN":
        infinite = {0, 1}
    elif c[0] == "infinity":
        infinite.add(c[1])
    terms = [(c[1], c[2], c[3], c_form.fraction_bits)] if c[0] == "number" else []
    for left, right in zip(a, b, strict=True):
        x, y = parts(left, a_form), parts(right, b_form)
        if x[0] == "number" and y[0] == "number":
            terms.append((x[1] ^ y[1], x[2] * y[2], x[3] + y[3], point))
        elif "NaN" in (x[0], y[0]) or {x[0], y[0]} == {"infinity", "zero"}:
            infinite |= {0, 1}
        elif "infinity" in (x[0], y[0]):
            infinite.add(x[1] ^ y[1])
    if len(infinite) == 2:
        return top_field << c_form.fraction_bits | ((1 << c_form.fraction_bits) - 1)
    if infinite:
        return (
            infinite.pop() << (c_form.exponent_bits + c_form.fraction_bits)
            | top_field << c_form.fraction_bits
        )
    last = max([floor, *(exponent for _, _, exponent, _ in terms)]) - fraction_bits
    total = 0
    for sign, significand, exponent, places in terms:
        shift = exponent - places - last
        kept = significand << shift if shift >= 0 else significand >> -shift
        total += -kept if sign else kept
    return rounded(total, last, c_form, result_bits)


def rounded(total: int, last: int, form: Format, result_bits: int) -> int:
    """total * 2 ** last as a code: f32 is cut toward zero, f16 goes to nearest even; a zero is +0."""
    size = abs(total)
    if size == 0:
        return 0
    lowest = 2 - (1 << (form.exponent_bits - 1))
    exponent = max(size.bit_length() - 1 + last, lowest)
    kept_bits = form.fraction_bits if form.exponent_bits == 5 else result_bits
    drop = exponent - kept_bits - last
    kept = size >> drop if drop >= 0 else size << -drop
    if form.exponent_bits == 5 and drop > 0:
        rest, half = size & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
    code = ((exponent - lowest) << form.fraction_bits) + (kept << (form.fraction_bits - kept_bits))
    code = min(code, ((1 << form.exponent_bits) - 1) << form.fraction_bits)
    return code | (1 << (form.exponent_bits + form.fraction_bits) if total < 0 and code else 0)


def mma(
    a: Sequence[Sequence[int]],
    b: Sequence[Sequence[int]],
    c: Sequence[Sequence[int]],
    types: tuple[str, str, str],
    fraction_bits: int,
    result_bits: int,
    floor: int,
) -> list[list[int]]:
    """Codes of D for codes of A [M][K], B [K][N] and C [M][N]; types of A, B, and of C and D."""
    forms = (FORMATS[types[0]], FORMATS[types[1]], FORMATS[types[2]])
    return [
        [
            dot(row, [line[n] for line in b], c[m][n], forms, fraction_bits, result_bits, floor)
            for n in range(len(b[0]))
        ]
        for m, row in enumerate(a)
    ]
