"""A trace as text (terms as rows, their bits under each other, what was cut off behind a bar), and as a picture."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from ..numerics.steps import Number, Step, Term, Trace, leading

__all__ = ["TraceView", "comparison", "decimal", "rounding_words", "step_name", "term_name", "text"]


class TraceView(Trace):
    """A trace that can be looked at: printed it is a table, at the end of a notebook's cell a picture of aligned bits.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
    >>> A[0, :2] = 1024, 2.0**-16
    >>> print(str(ins.trace(A, B, None, 0, 0)).splitlines()[-2])
    error    -1.52587891e-05 = -0.125 in the last place of D
    """

    @classmethod
    def of(cls, trace: Trace) -> TraceView:
        """The same trace with views."""
        return cls(**{field.name: getattr(trace, field.name) for field in fields(trace)})

    def __str__(self) -> str:
        return text(self)

    def figure(self) -> Any:
        """The picture of aligned bits as a Plotly figure; see `ptxlab.figures.trace`."""
        from .figures import trace

        return trace(self)

    def svg(self) -> str:
        """The same picture as SVG text, which needs no Plotly."""
        from .bits import trace
        from .figures.svg import svg

        return svg(trace(self))

    def _repr_html_(self) -> str:
        from .bits import trace
        from .figures.svg import inline

        return inline(trace(self))


_LOST = 8  # bits that are shown of what is lost


def text(trace: Trace) -> str:
    """The trace for a terminal.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
    >>> print(text(ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0)).splitlines()[0])
    D[0][0] = 96 of mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32, sm_90
    """
    lines = [f"D[{trace.row}][{trace.col}] = {decimal(trace.value)} of {trace.instruction}, {trace.chip}"]
    for step in trace.steps:
        lines += ["", *(_integers(step, trace) if step.dtype == "s32" else _step(step, trace))]
    return "\n".join([*lines, "", *(f"{name:<8} {what}" for name, what in comparison(trace))])


def comparison(trace: Trace) -> list[tuple[str, str]]:
    """What exact arithmetic and a chain of float32 FMAs give, each with its error, in numbers and in last places of D."""
    found = [("exact", decimal(trace.exact, 17 if trace.steps[-1].dtype == "f64" else 9))]
    if trace.error is not None:
        found.append(("error", f"{decimal(trace.error)}{_in_places(trace, trace.error)}"))
    if trace.fma32 is not None:
        error = trace.fma32_error
        off = "" if error is None else f", error {decimal(error)}{_in_places(trace, error)}"
        found.append(("float32", f"{decimal(trace.fma32)}   (a chain of float32 FMAs{off})"))
    return found


def _in_places(trace: Trace, error: Fraction) -> str:
    unit = trace.last_place
    return f" = {decimal(error / unit, 4)} in the last place of D" if unit and error else ""


def _step(step: Step, trace: Trace) -> list[str]:
    aligned = step.top is not None and step.grain is not None
    head = step_name(step, trace) + (
        f": aligned to 2^{step.top}, last place 2^{step.grain}" if aligned else ""
    )
    rows = [(term_name(term), decimal(term.value), _bits(step, term)) for term in step.terms]
    wide, room = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    lines = [f"  {name:<{wide}}  {value:>{room}}  {bits}".rstrip() for name, value, bits in rows]
    return [
        head,
        *lines,
        f"  = {decimal(step.total)}, {rounding_words(step)}: {step.code_text} ({step.dtype})",
    ]


def _integers(step: Step, trace: Trace) -> list[str]:
    """Terms and partial sums in decimal; the sum and what becomes of it in binary."""
    rows = [
        (term_name(term), decimal(term.value), decimal(so_far))
        for term, so_far in zip(step.terms, step.partial_sums, strict=True)
    ]
    rows = [("", "term", "sum so far"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {so_far:>{widths[2]}}" for name, value, so_far in rows
    ]
    does = rounding_words(step) if step.change else "fits s32"
    return [
        step_name(step, trace),
        *lines,
        f"  = {decimal(step.total)}, {does}: {decimal(step.value)} = {step.code_text} = 0b{step.code:032b}",
    ]


def _bits(step: Step, term: Term) -> str:
    """Sign and bits down to the last place, then a bar and what is lost, eight bits of it."""
    if step.top is None or step.grain is None:
        return ""
    if not isinstance(term.value, Fraction):
        return "takes no part"
    if term.value == 0:
        return "0"
    kept, lost = step.bits(term)
    shown = lost.ljust(_LOST, "0") if len(lost) <= _LOST else f"{lost[:_LOST]}..."
    return f"{'-' if term.value < 0 else '+'}{kept}{'|' * bool(lost)}{shown if lost else ''}"


# -- words for typed data ---------------------------------------------------------------------------------------------

_ROUNDINGS = {
    "rn": "to nearest even",
    "rz": "toward zero",
    "rm": "down",
    "rp": "up",
    "wrap": "wrapped to s32",
    "satfinite": "clamped to s32",
}


def term_name(term: Term) -> str:
    """A term in words: ``C``, ``A[0][3] B[3][5]``, ``k 0..15``.

    >>> term_name(Term("product", Fraction(3), 1, Fraction(3), k=(4,), row=9, column=2))
    'A[9][4] B[4][2]'
    """
    if term.role == "product":
        return f"A[{term.row}][{term.k[0]}] B[{term.k[0]}][{term.column}]"
    if term.role == "block":
        return f"k {term.k[0]}..{term.k[-1]}"
    if term.role == "group":
        return f"sum of k {term.k[0]}..{term.k[-1]}"
    if term.role == "sum":
        return "sum so far"
    return term.role


def step_name(step: Step, trace: Trace) -> str:
    """A step in words; where a trace has several fused sums, with the k that it adds.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> trace = ins.trace(np.ones((16, 16)), np.ones((16, 8)), None, 0, 0, model="sm_80")
    >>> [step_name(step, trace) for step in trace.steps]
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
    return "addition of C" if any(term.role == "C" for term in step.terms) else "addition"


def rounding_words(step: Step) -> str:
    """What happens to the sum of a step, in words.

    >>> rounding_words(Step("fused sum", (), 3, -22, Fraction(9), "rz", 0x41100000, "f32", result_bits=13))
    'truncated to 13 bits of fraction'
    """
    if step.rounding == "rz" and step.result_bits is not None:
        return f"truncated to {step.result_bits} bits of fraction"
    words = _ROUNDINGS[step.rounding]
    return words if step.dtype == "s32" else f"rounded {words}"


def decimal(value: Number, digits: int = 9) -> str:
    """A number in decimal, whole where it is whole and not too long.

    >>> decimal(Fraction(-6)), decimal(Fraction(1, 3)), decimal(float("inf"))
    ('-6', '0.333333333', 'inf')
    """
    if (
        isinstance(value, Fraction)
        and value.denominator == 1
        and abs(value) < 1 << 53
        and (digits >= 9 or abs(value) < 10**digits)
    ):
        return str(value.numerator)
    if not isinstance(value, Fraction) or 2**-1022 < abs(value) < 2**1023:
        return f"{float(value):.{digits}g}"
    return f"{'-' if value < 0 else ''}1.. 2^{leading(value)}"  # out of the range of float64
