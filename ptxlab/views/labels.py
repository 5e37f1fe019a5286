"""Short labels that tables and pictures share: ranges, elements, numbers, times, notes on layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from ..isa.form import Form
from ..isa.operand import Operand
from ..isa.tensor_operand import AnyOperand
from ..isa.transfer import Transfer

#: What ldmatrix makes of elements narrower than a byte, by their format in memory.
_UNPACKED = {
    "b6x16_p32": "elements lie in the low 6 bits of their bytes, where kind::f8f6f4 takes e3m2 and e2m3",
    "b4x16_p64": "elements lie in the low 4 bits of their bytes; kind::f8f6f4 takes e2m1 from the middle, "
    "so shift registers left by 2",
    "s4": "elements are s4 in memory, 16 in 8 bytes; each becomes a byte with its sign, as s8 mma takes it",
}


def index_range(first: int, size: int) -> str:
    """Consecutive indices: ``8..15``, or ``8`` for one."""
    return str(first) if size == 1 else f"{first}..{first + size - 1}"


def index_runs(numbers: Iterable[int]) -> str:
    """Several indices in order, consecutive ones joined.

    >>> index_runs([8, 0, 1, 2, 3])
    '0..3, 8'
    """
    ordered = sorted(set(numbers))
    starts = [number for number in ordered if number - 1 not in ordered]
    ends = [number for number in ordered if number + 1 not in ordered]
    return ", ".join(index_range(first, last - first + 1) for first, last in zip(starts, ends, strict=True))


def element_names(prefix: str, indices: Sequence[int]) -> str:
    """``{a0}``, ``{a0,a1}`` or ``{a0..a7}``, as the manual labels its fragments."""
    first, last = f"{prefix}{indices[0]}", f"{prefix}{indices[-1]}"
    if len(indices) == 1:
        return f"{{{first}}}"
    if len(indices) == 2:
        return f"{{{first},{last}}}"
    return f"{{{first}..{last}}}"


def layout_note(ins: Form, op: Operand) -> str:
    """What one should know about the layout of an operand, beyond its numbers; "" for nothing.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    >>> layout_note(ins, ins.d)
    'observed on sm_90; the ISA leaves WMMA fragments unspecified'
    """
    if op.layout is None or op.name in ("E", "SFA", "SFB"):
        return ""
    if isinstance(ins, Transfer) and ins.source is not None:
        return _UNPACKED[ins.source]
    if ins.family in ("wmma", "wmma.load", "wmma.store"):
        return "observed on sm_90; the ISA leaves WMMA fragments unspecified"
    if ins.mma_count > 1:
        return "the matrices of four independent MMAs, one for each quad pair of lanes"
    return "each element in a byte of its own" if op.container else ""


def _as_number(value: ArrayLike) -> int | float:
    scalar = np.asarray(value)
    if scalar.dtype.kind in "iub":
        return int(scalar)
    with np.errstate(invalid="ignore"):
        return float(scalar.astype(np.float64))


def number_text(value: ArrayLike | float, digits: int = 4) -> str:
    """A number for a cell: in full if it is an integer and short, otherwise with `digits` digits.

    What is rounded never looks like an integer: at least a decimal tells that there is a fraction.

    >>> number_text(-0.0), number_text(1 / 3), number_text(2.0**40)
    ('-0', '0.3333', '1.1e12')
    >>> number_text(1234.5), number_text(2.00001), number_text(-0.99999)
    ('1234.5', '2.0', '-1.0')
    """
    number = value if isinstance(value, float) else _as_number(value)
    if isinstance(number, int):
        return str(number)
    if number == 0:
        return "-0" if np.signbit(number) else "0"
    if number.is_integer() and abs(number) < 1e7:
        return str(int(number))
    if not isfinite(number):
        return str(number)
    if 10 ** (digits - 1) <= abs(number) < 1e6:
        return f"{number:.1f}"
    mantissa, _, exponent = f"{number:.{digits}g}".partition("e")
    if "." not in mantissa and float(f"{mantissa}e{exponent or 0}") != number:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def k_headings(noun: str, count: int, length: int) -> list[str]:
    """Headings of chunks or blocks with the k that they cover."""
    return [f"{noun} {i}\nk {index_range(i * length, length)}" for i in range(count)]


def warp_notes(op: AnyOperand, rows: range, warp: int | None) -> tuple[str, ...]:
    """A note on the shown warp, if only one is shown."""
    if warp is None:
        return ()
    lanes = f"{op.holder}s {index_range(32 * warp, 32)}"
    return (f"warp {warp}: {lanes}, rows {index_range(rows.start, len(rows))}",)


def time_text(seconds: float) -> str:
    """A time with its unit.

    >>> time_text(1.5e-6), time_text(0), time_text(9.996e-7), time_text(1234.5)
    ('1.5 µs', '0 ns', '1 µs', '1230 s')
    """
    number, unit = _with_prefix(seconds, (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)))
    return f"{number} {unit}"


def amount_text(amount: float, unit: str) -> str:
    """An amount of work with its unit.

    >>> amount_text(4_800_000, "bytes"), amount_text(999_999, "bytes"), amount_text(2048, "multiply-adds")
    ('4.8 MB', '1 MB', '2.05k multiply-adds')
    """
    number, prefix = _with_prefix(amount, (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)))
    return f"{number} {prefix}B" if unit == "bytes" else f"{number}{prefix} {unit}"


def _with_prefix(value: float, prefixes: Sequence[tuple[str, float]]) -> tuple[str, str]:
    """A value in three digits, and the largest prefix of which there is at least 1 after rounding."""
    rounded = [(float(f"{value / size:.3g}"), prefix) for prefix, size in prefixes]
    number, prefix = next((entry for entry in rounded if entry[0] >= 1), rounded[-1])
    return f"{number:g}", prefix
