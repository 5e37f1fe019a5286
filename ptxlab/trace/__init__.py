"""Why D has these bits: the products, their alignment, what is cut off, the sum and its rounding, as plain data."""

from __future__ import annotations

from .explain import of_registers, trace
from .record import Step, Term, Trace

__all__ = ["Step", "Term", "Trace", "of_registers", "trace"]
