"""Video instructions of PTX: on bytes and halves of registers, one at a time or all at once.

PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compare import INTEGER
from .opcode import Array, Function, Opcode

#: Scalar video instructions; their operands may be bytes (.b0 to .b3) or halves (.h0, .h1) of registers.
SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset")

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


# -- one value at a time -------------------------------------------------------------------------------------


def _selected(registers: Array, part: str, signed: bool) -> Array:
    """A byte, a half or all of each register, as int64."""
    bits, place = {"b": (8, 8), "h": (16, 16)}.get(part[:1], (32, 0))
    shift = place * int(part[1:] or 0)
    values = registers.astype(np.int64) >> shift & (1 << bits) - 1
    return values - (values >> bits - 1 << bits) if signed else values


def _clamped(values: Array, bits: int, signed: bool) -> Array:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return np.clip(values, low, high)


def _merged(values: Array, part: str, c: Array) -> Array:
    """A result in a byte or a half of c."""
    bits = 8 if part[0] == "b" else 16
    shift = bits * int(part[1:])
    mask = ((1 << bits) - 1) << shift
    return values << shift & mask | c & ~mask


def _shifted(op: Opcode, a: Array, b: Array) -> Array:
    amount = b & 31 if "wrap" in op else np.minimum(b, 32)
    return a << amount if op.name == "vshl" else a >> amount


def scalar(
    op: Opcode, parts: tuple[str, str, str] = ("", "", ""), negative: tuple[bool, bool] = (False, False)
) -> Function:
    """vadd ... vset of registers a, b and c.

    `parts` names the bytes or halves of d, a and b, such as "b0" and "h1"; `negative` says whether the
    product, and whether c, of vmad is negated.

    >>> add = scalar(Opcode.parse("vadd.s32.u32.s32.sat"), ("b0", "h1", ""))
    >>> hex(add(np.uint32([0x00400000]), np.uint32([0x00000070]), np.uint32([0x12345678]))[0])
    '0x1234567f'
    """
    if op.name == "vmad":
        return _multiply_add(op, parts, negative)
    d_part, a_part, b_part = parts
    a_type, b_type = op.types[-2:]
    result_signed = op.name != "vset" and op.d_type == "s32"
    second = next((name for name in ("add", "min", "max") if name in op.modifiers), "")
    width = {"b": 8, "h": 16}.get(d_part[:1], 32)

    def run(a: Array, b: Array, c: Array) -> Array:
        x = _selected(a, a_part, a_type == "s32")
        y = _selected(b, b_part, b_type == "s32")
        if op.name == "vset":
            values = _comparison(op)(x, y).astype(np.int64)
        elif op.name in ("vshl", "vshr"):
            values = _shifted(op, x, y)
        else:
            values = np.asarray(_OPERATIONS[op.name](x, y))
        if "sat" in op:
            values = _clamped(values, width, result_signed)
        if second:
            third = _selected(c, "", result_signed)
            values = _selected(values & 0xFFFFFFFF, "", result_signed)
            values = {"add": np.add, "min": np.minimum, "max": np.maximum}[second](values, third)
        elif d_part:
            values = _merged(values, d_part, c.astype(np.int64))
        return np.asarray((values & 0xFFFFFFFF).astype(np.uint32))

    return run


def follows_manual(op: Opcode, parts: tuple[str, str, str]) -> bool:
    """Whether an H200 computes a form as the manual defines it.

    The assembler emulates these instructions, and its code (of CUDA 13.0) differs from the manual in places:
    `.h1` of d gets the upper half of the result; `.min` and `.max` with c, shifts and bytes with `.sat`, and
    products of unsigned numbers with `.sat` or a shift give other numbers.

    >>> follows_manual(Opcode.parse("vadd.u32.u32.u32"), ("b0", "h1", ""))
    True
    >>> follows_manual(Opcode.parse("vadd.u32.u32.u32"), ("h1", "h1", ""))
    False
    """
    if op.name == "vmad":
        plain = not {"sat", "shr7", "shr15"}.intersection(op.modifiers)
        return plain or op.types[-2:] == ("s32", "s32")
    if parts[0] == "h1" or "min" in op or "max" in op:
        return False
    if "sat" not in op:
        return True
    mixed = op.name == "vabsdiff" and op.types[-2] != op.types[-1]
    return op.name not in ("vshl", "vshr") and not parts[0] and not mixed


#: By how many bits vmad shifts its result to the right.
_SCALES = {"shr7": 7, "shr15": 15}


def _multiply_add(op: Opcode, parts: tuple[str, str, str], negative: tuple[bool, bool]) -> Function:
    """vmad: a product of up to 64 bits and c, shifted."""
    a_signed, b_signed = (name == "s32" for name in op.types[-2:])
    negated, subtracted = negative
    signed = a_signed or b_signed or negated or subtracted
    shift = next((places for name, places in _SCALES.items() if name in op), 0)

    def run(a: Array, b: Array, c: Array) -> Array:
        x = _selected(a, parts[1], a_signed).astype(object)
        y = _selected(b, parts[2], b_signed).astype(object)
        z = _selected(c, "", signed).astype(object)
        total = (-x * y if negated else x * y) + (-z if subtracted else z) + ("po" in op)
        total = total >> shift
        if "sat" in op:
            total = _clamped(total, 32, signed)
        return np.asarray((total & 0xFFFFFFFF).astype(np.uint32))

    return run
