"""The search for counterexamples: random and directed registers through the emulator and the GPU, until they disagree."""

from __future__ import annotations

from .report import Difference, Report
from .search import hunt, settings

__all__ = ["Difference", "Report", "hunt", "settings"]
