"""PTX's scalar instructions as exact functions on arrays of raw bits.

>>> import numpy as np
>>> multiply_add = operation("fma.rn.f32")
>>> one, two = np.float32([1]).view(np.uint32), np.float32([2]).view(np.uint32)
>>> multiply_add(two, two, one).view(np.float32)
array([5.], dtype=float32)
"""

from __future__ import annotations

from .operations import ScalarOperation, names, opcodes, operation

__all__ = ["ScalarOperation", "names", "opcodes", "operation"]
