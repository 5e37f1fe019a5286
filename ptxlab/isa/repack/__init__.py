"""From the registers of one operand to those of another: a plan of conversions, permutes and shuffles."""

from __future__ import annotations

from .plan import RepackPlan, plan_repack
from .sides import Tiles
from .steps import Convert, Part, Permute, Rename, Select, Shift, Shuffle, Step, step_text

__all__ = [
    "Convert",
    "Part",
    "Permute",
    "Rename",
    "RepackPlan",
    "Select",
    "Shift",
    "Shuffle",
    "Step",
    "Tiles",
    "plan_repack",
    "step_text",
]
