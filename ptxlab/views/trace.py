"""A trace as text (terms as rows, their bits under each other, what was cut off behind a bar), and as a picture."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from ..numerics.trace.record import Step, Term, Trace, said

__all__ = ["TraceView", "comparison", "text"]


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
    lines = [f"D[{trace.row}][{trace.col}] = {said(trace.value)} of {trace.instruction}, {trace.chip}"]
    for step in trace.steps:
        lines += ["", *(_integers(step) if step.kind == "s32" else _step(step))]
    return "\n".join([*lines, "", *(f"{name:<8} {what}" for name, what in comparison(trace))])


def comparison(trace: Trace) -> list[tuple[str, str]]:
    """What exact arithmetic and a chain of float32 FMAs give, each with its error, in numbers and in last places of D."""
    found = [("exact", said(trace.exact, 17 if trace.steps[-1].kind == "f64" else 9))]
    if trace.error is not None:
        found.append(("error", f"{said(trace.error)}{_in_places(trace, trace.error)}"))
    if trace.fma32 is not None:
        error = trace.fma32_error
        off = "" if error is None else f", error {said(error)}{_in_places(trace, error)}"
        found.append(("float32", f"{said(trace.fma32)}   (a chain of float32 FMAs{off})"))
    return found


def _in_places(trace: Trace, error: Fraction) -> str:
    unit = trace.last_place
    return f" = {said(error / unit, 4)} in the last place of D" if unit and error else ""


def _step(step: Step) -> list[str]:
    aligned = step.top is not None and step.grain is not None
    head = f"{step.name}" + (f": aligned to 2^{step.top}, last place 2^{step.grain}" if aligned else "")
    rows = [(term.name, said(term.value), _bits(step, term)) for term in step.terms]
    wide, room = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    lines = [f"  {name:<{wide}}  {value:>{room}}  {bits}".rstrip() for name, value, bits in rows]
    return [head, *lines, f"  = {said(step.total)}, {step.rounding}: {step.code_text} ({step.kind})"]


def _integers(step: Step) -> list[str]:
    """Terms and partial sums in decimal; the sum and what becomes of it in binary."""
    rows = [
        (term.name, said(term.value), said(so_far))
        for term, so_far in zip(step.terms, step.partial_sums, strict=True)
    ]
    rows = [("", "term", "sum so far"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {so_far:>{widths[2]}}" for name, value, so_far in rows
    ]
    does = step.rounding if step.change else "fits s32"
    return [
        step.name,
        *lines,
        f"  = {said(step.total)}, {does}: {said(step.value)} = {step.code_text} = 0b{step.code:032b}",
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
