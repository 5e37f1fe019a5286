"""From the registers of one operand to those of another: a plan of conversions, permutes and shuffles."""

from __future__ import annotations

from .bits import ChunkMoves
from .plan import RepackPlan, plan_repack
from .sides import Tiles
from .steps import (
    Convert,
    Merge,
    Part,
    Permute,
    Rename,
    Select,
    Shift,
    Shuffle,
    Step,
    Transpose,
    shift_text,
    step_text,
)

__all__ = [
    "ChunkMoves",
    "Convert",
    "Merge",
    "Part",
    "Permute",
    "Rename",
    "RepackPlan",
    "Select",
    "Shift",
    "Shuffle",
    "Step",
    "Tiles",
    "Transpose",
    "plan_repack",
    "shift_text",
    "step_text",
]
