"""SIMD video instructions of PTX: four bytes or two halves of a register at once, packed or added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compare import INTEGER
from .opcode import Array, Opcode

__all__ = ["simd"]

_OPERATIONS: dict[str, Callable[[Array, Array], Any]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1,  # halves away from 0
    "vabsdiff": lambda x, y: np.abs(x - y),
    "vmin": np.minimum,
    "vmax": np.maximum,
}


def simd(op: Opcode) -> Callable[..., Any]:
    """vadd2 ... vset4: the lanes of a and b; with .add their results are added to c."""
    bits = 8 if op.name.endswith("4") else 16
    name = op.name[:-1]
    a_read, b_read = (np.dtype(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}") for kind in op.types[-2:])
    lane = np.dtype(f"u{bits // 8}")
    if name == "vset":
        compare = INTEGER[next(part for part in op.modifiers if part in INTEGER)]
        function: Callable[[Array, Array], Any] = lambda x, y: compare(x, y).astype(np.int32)  # noqa: E731
    else:
        function = _OPERATIONS[name]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if op.result_type == "s32" else (0, (1 << bits) - 1)

    def run(a: Array, b: Array, c: Array) -> Array:
        x = np.ascontiguousarray(a)[..., np.newaxis].view(a_read).astype(np.int32)
        y = np.ascontiguousarray(b)[..., np.newaxis].view(b_read).astype(np.int32)
        lanes = function(x, y)
        if "add" in op:
            return np.asarray(c + lanes.sum(axis=-1, dtype=np.int32).view(np.uint32))
        if "sat" in op:
            lanes = np.clip(lanes, low, high)
        packed = np.ascontiguousarray(lanes.astype(lane)).view(np.uint32)[..., 0]
        return np.asarray(np.broadcast_to(packed, np.broadcast_shapes(packed.shape, c.shape)))

    return run
