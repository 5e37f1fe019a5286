"""The arithmetic of the tensor core.

Rules, the models that say which chip follows which rule, the emulator, traces; scalar instructions and
transfers for the simulator, too.
"""

from __future__ import annotations

from .models import Model, has, model_for, models
from .rules import EmulatedThroughF16, Exact, FmaChain, FmaGroups, Fused, Rule

__all__ = [
    "EmulatedThroughF16", "Exact", "FmaChain", "FmaGroups", "Fused", "Model", "Rule", "has", "model_for",
    "models",
]  # fmt: skip
