"""A trace as a table of text: terms as rows, their bits under each other, what was cut off behind a bar."""

from __future__ import annotations

from fractions import Fraction

from .record import Number, Step, Trace

__all__ = ["text"]


def text(trace: Trace) -> str:
    """The trace for a terminal.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
    >>> print(text(ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0)).splitlines()[0])
    D[0][0] = 96 of mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32, sm_90
    """
    lines = [f"D[{trace.row}][{trace.col}] = {_said(trace.value)} of {trace.instruction}, {trace.chip}"]
    for step in trace.steps:
        lines += ["", *_step(step)]
    lines += ["", f"exact    {_said(trace.exact)}"]
    if trace.error is not None:
        lines.append(f"error    {_said(trace.error)}")
    if trace.fma32 is not None:
        lines.append(f"float32  {_said(trace.fma32)}   (a chain of float32 FMAs)")
    return "\n".join(lines)


def _step(step: Step) -> list[str]:
    aligned = step.top is not None and step.grain is not None
    head = f"{step.name}" + (f": aligned to 2^{step.top}, last place 2^{step.grain}" if aligned else "")
    wide = max((len(term.name) for term in step.terms), default=0)
    values = [_said(term.value) for term in step.terms]
    room = max(map(len, values), default=0)
    lines = [head]
    for term, value in zip(step.terms, values, strict=True):
        bits = _bits(term.value, step.top, step.grain) if step.top is not None and step.grain is not None else ""
        lines.append(f"  {term.name:<{wide}}  {value:>{room}}  {bits}".rstrip())
    digits = {"f16": 4, "f64": 16}.get(step.kind, 8)
    return [*lines, f"  {'= ' + _said(step.total)}, {step.rounding}: 0x{step.code:0{digits}x} ({step.kind})"]


def _bits(value: Number, top: int, grain: int) -> str:
    """Sign and bits from 2^(top + 1) down to the last place, then a bar and what is lost, eight bits of it."""
    if not isinstance(value, Fraction):
        return "takes no part"
    if value == 0:
        return "0"
    units = int(abs(value) / Fraction(2) ** (grain - 8))
    whole = f"{units >> 8:0{top + 2 - grain}b}"
    lost = "" if (abs(value) / Fraction(2) ** grain).denominator == 1 else f"|{units & 255:08b}"
    return f"{'-' if value < 0 else '+'}{whole}{lost}"


def _said(value: Number) -> str:
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 1 << 53:
        return str(value.numerator)
    return f"{float(value):.9g}" if not isinstance(value, Fraction) or abs(value) < Fraction(2) ** 1023 else "beyond float64"
