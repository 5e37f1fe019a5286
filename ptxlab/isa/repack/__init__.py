"""From the registers of one operand to those of another: a plan of conversions, permutes and shuffles."""

from __future__ import annotations

from .endpoints import Tiles
from .plan import Repack, repack
from .plan_steps import Convert, Permute, PlanStep, Rename, Select, Shuffle, Transpose, step_text

__all__ = [
    "Convert",
    "Permute",
    "PlanStep",
    "Rename",
    "Repack",
    "Select",
    "Shuffle",
    "Tiles",
    "Transpose",
    "repack",
    "step_text",
]
