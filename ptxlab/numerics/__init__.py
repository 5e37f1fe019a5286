"""The arithmetic of the tensor core: the fused dot product with its alignment and rounding, chains of FMAs, exact integers.

PTX leaves the accumulation order and rounding of floats open; here they are specified, per chip, by rows of data.
"""

from __future__ import annotations

from .fused import block_scaled_dot, converted, dot_by_way, fused_dot, integer_add, rounded
from .models import ByWay, Chain, Fused, Model, Rule, Scalar, has, model_for, models
from .scalar import chained_dot, fma, fma_f32, scalar_dot

__all__ = [
    "ByWay", "Chain", "Fused", "Model", "Rule", "Scalar", "block_scaled_dot", "chained_dot", "converted",
    "dot_by_way", "fma", "fma_f32", "fused_dot", "has", "integer_add", "model_for", "models", "rounded", "scalar_dot",
]  # fmt: skip
