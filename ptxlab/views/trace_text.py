"""A trace in words: terms as rows, their bits under each other, what was lost behind a bar."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, NamedTuple

from ..numerics.steps import Number, Step, Term, Trace, leading
from ..numerics.trace import Divergence, DivergencePlace
from .labels import index_range

_LOST = 8  # lost bits that are shown


class OtherResult(NamedTuple):
    """What D is compared with, and by how much it differs."""

    name: Literal["exact", "error", "float32"]
    value: str
    remark: str = ""


def text(trace: Trace) -> str:
    """The trace for a terminal.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
    >>> print(text(ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0)).splitlines()[0])
    D[0][0] = 96 of mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32, sm_90
    """
    return "\n".join([f"{trace_title(trace)}, {trace.chip}", *trace_lines(trace)])


def trace_title(trace: Trace) -> str:
    """The element, its value and the instruction."""
    return f"D[{trace.row}][{trace.col}] = {decimal(trace.value)} of {trace.instruction}"


def trace_lines(trace: Trace, lost: Callable[[str], str] = str) -> list[str]:
    """The steps and comparisons, line by line; `lost` styles the bits behind the bar, for a terminal."""
    lines = []
    for step in trace.steps:
        lines.append("")
        if step.dtype == "s32":
            lines += _integer_step(trace, step)
        else:
            lines += _float_step(trace, step, lost)
    lines.append("")
    for name, value, remark in comparisons(trace):
        lines.append(f"{name:<8} {value}   ({remark})" if remark else f"{name:<8} {value}")
    return lines


def comparisons(trace: Trace) -> list[OtherResult]:
    """What exact arithmetic and a chain of float32 FMAs give, with the errors in last places of D."""
    digits = 17 if trace.steps[-1].dtype == "f64" else 9
    rows = [OtherResult("exact", decimal(trace.exact, digits))]
    if trace.error is not None:
        rows.append(OtherResult("error", _error(trace, trace.error)))
    if trace.fma32 is not None:
        remark = "a chain of float32 FMAs"
        if trace.fma32_error is not None:
            remark += f", error {_error(trace, trace.fma32_error)}"
        rows.append(OtherResult("float32", decimal(trace.fma32), remark))
    return rows


def _error(trace: Trace, error: Fraction) -> str:
    unit = trace.last_place
    if not unit or not error:
        return decimal(error)
    units = decimal(error / unit, 4)
    return f"{decimal(error)} = {units} unit{'' if units in ('1', '-1') else 's'} in the last place of D"


def _float_step(trace: Trace, step: Step, lost: Callable[[str], str]) -> list[str]:
    head = step_name(trace, step)
    if not_finite(step):
        head += f": {not_finite(step)}"
    elif step.top is not None and step.grain is not None:
        head += f": aligned to 2^{step.top}, last place 2^{step.grain}"
    rows = [(term_name(trace, term), decimal(term.value), _bits(step, term, lost)) for term in step.terms]
    names, values = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    lines = [f"  {name:<{names}}  {value:>{values}}  {bits}".rstrip() for name, value, bits in rows]
    how = "" if not_finite(step) else f", {rounding_words(step)}"
    total = f"  = {decimal(step.total)}{how}: {step.code_text} ({step.dtype})"
    return [head, *lines, total]


def _integer_step(trace: Trace, step: Step) -> list[str]:
    """Terms and partial sums in decimal; the sum and what becomes of it in binary."""
    rows = [("", "term", "sum so far")]
    for term, so_far in zip(step.terms, step.partial_sums, strict=True):
        rows.append((term_name(trace, term), decimal(term.value), decimal(so_far)))
    names, values, sums = (max(len(row[i]) for row in rows) for i in range(3))
    lines = [f"  {name:<{names}}  {value:>{values}}  {so_far:>{sums}}" for name, value, so_far in rows]
    outcome = rounding_words(step) if step.change else "fits s32"
    result = f"{decimal(step.value)} = {step.code_text} = 0b{step.code:032b}"
    return [step_name(trace, step), *lines, f"  = {decimal(step.total)}, {outcome}: {result}"]


def _bits(step: Step, term: Term, style: Callable[[str], str]) -> str:
    """Sign and bits down to the last place, then a bar and what is lost, eight bits of it."""
    if step.top is None or step.grain is None:
        return ""
    if not isinstance(term.value, Fraction):
        return "takes no part"
    if term.value == 0:
        return "0"
    kept, lost = step.bits(term)
    sign = "-" if term.value < 0 else "+"
    if not lost:
        return f"{sign}{kept}"
    shown = lost.ljust(_LOST, "0") if len(lost) <= _LOST else f"{lost[:_LOST]}..."
    return f"{sign}{kept}{style('|' + shown)}"


# -- words for typed data --------------------------------------------------------------------------------

_ROUNDINGS = {
    "rn": "to nearest even",
    "rz": "toward zero",
    "rm": "down",
    "rp": "up",
    "wrap": "wrapped to s32",
    "satfinite": "clamped to s32",
}


def term_name(trace: Trace, term: Term) -> str:
    """A term in words: ``C``, ``A[0][3] B[3][5]``, ``k 0..15``.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
    >>> trace = ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 5)
    >>> [term_name(trace, term) for term in trace.steps[0].terms[:2]]
    ['C', 'A[0][0] B[0][5]']
    """
    if term.role == "C":
        return trace.accumulator
    if term.role == "product":
        return f"A[{term.row}][{term.k[0]}] B[{term.k[0]}][{term.column}]"
    if term.role == "block":
        return f"k {term.k[0]}..{term.k[-1]}"
    if term.role == "group":
        return f"sum of k {term.k[0]}..{term.k[-1]}"
    if term.role == "sum":
        return "sum so far"
    return term.role


def step_name(trace: Trace, step: Step) -> str:
    """A step in words; where a trace has several fused sums, with the k that it adds.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> trace = ins.trace(np.ones((16, 16)), np.ones((16, 8)), None, 0, 0, model="sm_80")
    >>> [step_name(trace, step) for step in trace.steps]
    ['fused sum, k 0..7', 'fused sum, k 8..15']
    """
    if step.operation == "integer sum":
        return "sum"
    if step.operation == "fused sum":
        if step.converted_to is not None:
            half = "lower" if step is trace.steps[0] else "upper"
            return f"fused sum of the {half} pairs, as {step.converted_to}"
        several = sum(other.operation == "fused sum" for other in trace.steps) > 1
        return f"fused sum, k {min(step.k)}..{max(step.k)}" if several else "fused sum"
    if step.operation == "fma":
        return f"fused multiply-add in {step.dtype}, k {step.k[0]}"
    if step.operation == "multiply":
        return f"product in {step.dtype}, k {step.k[0]}"
    if step.operation == "convert":
        return f"conversion to {step.dtype}"
    added = [term_name(trace, term) for term in step.terms if term.role == "C"]
    return f"addition of {added[0]}" if added else "addition"


def _loses(trace: Trace) -> bool:
    """Whether bits fall off somewhere: below the cut, or in a rounding. An infinity has none to lose."""
    numbers = [(term.value, term.kept) for step in trace.steps for term in step.terms]
    is_finite = all(math.isfinite(value) for value, _ in numbers)
    return is_finite and (
        any(step.change for step in trace.steps) or any(value != kept for value, kept in numbers)
    )


def divergence_text(first: Trace, second: Trace, divergence: Divergence | None) -> str:
    """Where two chips diverge, in a sentence.

    >>> import numpy as np, ptxlab
    >>> from ptxlab.numerics.trace import find_divergence
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 16)), np.ones((16, 8))
    >>> A[0, :3] = 1024, -1024, 2.0**-15
    >>> hopper, ampere = (ins.trace(A, B, None, 0, 0, model=chip) for chip in ("sm_90", "sm_80"))
    >>> divergence_text(hopper, ampere, find_divergence(hopper, ampere))
    'They diverge at A[0][2] B[2][0]: sm_90 keeps all of 3.05175781e-05, sm_80 cuts below 2^-14 and keeps 0'
    """
    chips = f"{first.chip} and {second.chip}"
    if divergence is None and first.code == second.code:
        return f"{chips} lose the same bits" if _loses(first) else f"{chips} lose no bits and agree"
    if divergence is None:
        return f"{chips} lose the same bits and differ in the result"
    traces = (first, second)
    same = "; D is nevertheless identical" if first.code == second.code else ""
    owner, place = traces[divergence.owner], divergence.places[divergence.owner]
    step = owner.steps[place.step]
    if place.term is None:
        products = {k for step in owner.steps[: place.step + 1] for k in step.k}
        added = index_range(min(products), max(products) - min(products) + 1)
        where = f"where {owner.chip} has added k {added} and the sum is"
        outcome = f"{rounding_words(step)}: {decimal(step.total)} becomes {decimal(step.value)}"
        return f"They diverge {where} {outcome}{same}"
    term = step.terms[place.term]
    if divergence.places[1 - divergence.owner].term is None:
        where = f"where {owner.chip} aligns the {term_name(owner, term)} and cuts below 2^{step.grain}"
        return f"They diverge {where}: {decimal(term.value)} becomes {decimal(term.kept)}{same}"
    sides = (_side_words(trace, place) for trace, place in zip(traces, divergence.places, strict=True))
    return f"They diverge at {term_name(owner, term)}: {', '.join(sides)}{same}"


def _side_words(trace: Trace, place: DivergencePlace) -> str:
    """What a chip keeps of a term."""
    step = trace.steps[place.step]
    term = step.terms[place.term or 0]
    if not term.lost:
        return f"{trace.chip} keeps all of {decimal(term.value)}"
    return f"{trace.chip} cuts below 2^{step.grain} and keeps {decimal(term.kept)}"


def not_finite(step: Step) -> str:
    """What decides a sum that is an infinity or NaN; "" for all other sums."""
    if isinstance(step.total, Fraction):
        return ""
    if math.isnan(step.total):
        return "a NaN, or infinities of both signs, among the terms make the sum NaN"
    return f"an infinity among the terms makes the sum {decimal(step.total)}"


def rounding_words(step: Step) -> str:
    """What happens to the sum of a step, in words.

    >>> rounding_words(Step("fused sum", (), 3, -22, Fraction(9), "rz", 0x41100000, "f32", result_bits=13))
    'truncated to 13 fraction bits'
    """
    if step.rounding == "rz" and step.result_bits is not None:
        return f"truncated to {step.result_bits} fraction bits"
    words = _ROUNDINGS[step.rounding]
    return words if step.dtype == "s32" else f"rounded {words}"


def decimal(value: Number, digits: int = 9) -> str:
    """A number in decimal: in full if it is an integer and short, otherwise with `digits` digits.

    >>> decimal(Fraction(-6)), decimal(Fraction(1, 3)), decimal(float("inf"))
    ('-6', '0.333333333', 'inf')
    """
    if isinstance(value, Fraction):
        limit = 1 << 53 if digits >= 9 else 10**digits
        if value.denominator == 1 and -limit < value.numerator < limit:
            return str(value.numerator)
        if value and not 2**-1022 < abs(value) < 2**1023:  # out of the range of float64
            sign = "-" if value < 0 else ""
            return f"{sign}1.. 2^{leading(value)}"
    return f"{float(value):.{digits}g}"
