"""The judge: one verdict on a kernel, with its evidence. `ptxlab.judge` is its door."""

from __future__ import annotations

from .judgement import judge
from .task import Task
from .verdict import Evidence, Finding, Verdict

__all__ = ["Evidence", "Finding", "Task", "Verdict", "judge"]
