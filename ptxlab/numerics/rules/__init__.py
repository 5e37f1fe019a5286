"""The rules of arithmetic that chips follow.

Each rule is one class in one module, with its `dot` and its `trace`.

PTX leaves the accumulation order and the rounding of floats open; `ptxlab.numerics.models` says which chip
follows which rule for which instruction, and how that is known.
"""

from __future__ import annotations

from .base import Rule
from .exact import Exact
from .fma_chain import FmaChain
from .fma_groups import FmaGroups
from .fp8_through_f16 import EmulatedThroughF16
from .fused import Fused

__all__ = ["EmulatedThroughF16", "Exact", "FmaChain", "FmaGroups", "Fused", "Rule"]
