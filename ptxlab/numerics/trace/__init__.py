"""Why D has these bits: the products, their alignment, what is cut off, the sum and its rounding, as plain data."""

from __future__ import annotations

from .explain import trace
from .record import Step, Term, Trace

__all__ = ["Step", "Term", "Trace", "trace"]
