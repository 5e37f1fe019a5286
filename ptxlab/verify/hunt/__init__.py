"""The search for inputs on which the emulator and the GPU give different results."""

from __future__ import annotations

from .case import Case, Configuration
from .report import Difference, Element, Report
from .search import configurations, find_difference, hunt

__all__ = [
    "Case",
    "Configuration",
    "Difference",
    "Element",
    "Report",
    "configurations",
    "find_difference",
    "hunt",
]
