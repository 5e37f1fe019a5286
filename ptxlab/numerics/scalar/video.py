"""SIMD video instructions of PTX, on all bytes or halves of registers; `__vsadu4` of CUDA C++ becomes one.

PTX ISA, "SIMD Video Instructions". The scalar ones are not simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .comparison import INTEGER
from .opcode import Array, Function, Opcode

_OPERATIONS: dict[str, Callable[[Array, Array], Any]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1,  # halves away from 0
    "vabsdiff": lambda x, y: np.abs(x - y),
    "vmin": np.minimum,
    "vmax": np.maximum,
}


def simd(op: Opcode) -> Function:
    """vadd2 ... vset4: the lanes of a and b; with .add their results are added to c."""
    bits = 8 if op.name.endswith("4") else 16
    name = op.name[:-1]
    a_read, b_read = (_lane_dtype(type_name, bits) for type_name in op.types[-2:])
    lane = np.dtype(f"u{bits // 8}")
    function = _comparison(op) if name == "vset" else _OPERATIONS[name]
    is_signed = op.d_type == "s32"

    def run(a: Array, b: Array, c: Array) -> Array:
        x = np.ascontiguousarray(a)[..., np.newaxis].view(a_read).astype(np.int32)
        y = np.ascontiguousarray(b)[..., np.newaxis].view(b_read).astype(np.int32)
        lanes = function(x, y)
        if "add" in op:
            return np.asarray(c + lanes.sum(axis=-1, dtype=np.int32).view(np.uint32))
        if "sat" in op:
            lanes = _clamped(lanes, bits, is_signed)
        packed = np.ascontiguousarray(lanes.astype(lane)).view(np.uint32)[..., 0]
        return np.asarray(np.broadcast_to(packed, np.broadcast_shapes(packed.shape, c.shape)))

    return run


def _lane_dtype(type_name: str, bits: int) -> np.dtype[Any]:
    """The dtype of lanes of `bits` bits, signed if the PTX type is."""
    return np.dtype(f"{'i' if type_name.startswith('s') else 'u'}{bits // 8}")


def _comparison(op: Opcode) -> Callable[[Array, Array], Any]:
    """vset: 1 where the comparison holds, 0 elsewhere."""
    compare = INTEGER[next(part for part in op.modifiers if part in INTEGER)]
    return lambda x, y: compare(x, y).astype(np.int32)


def _clamped(values: Array, bits: int, signed: bool) -> Array:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return np.clip(values, low, high)
