"""Elements of one type as elements of another, bit for bit as PTX's `cvt` converts them.

Floats round to nearest even. f16 and bf16 overflow to infinity (cvt.rn); floats of 8 bits and fewer saturate,
infinity included (cvt.rn.satfinite); integers saturate, NaN becomes 0 (cvt.rni.sat). Otherwise a NaN becomes
the canonical NaN of its type, or, in e2m1, e2m3 and e3m2, which have none, the largest value.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import DType, dtype

_INTEGERS = ("s8", "u8", "s4", "u4")
_NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")

#: Element types that each type of an accumulator becomes. Integers do not become floats: they need a scale.
CONVERSIONS: dict[str, tuple[str, ...]] = {
    "f32": ("f16", "bf16", "tf32", *_NARROW, *_INTEGERS),
    "f16": ("bf16", "tf32", "f32", *_NARROW, *_INTEGERS),
    "s32": _INTEGERS,
}

#: What cvt makes of any NaN.
NAN = {
    "f16": 0x7FFF, "bf16": 0x7FFF, "tf32": 0x7FFFFFFF, "f32": 0x7FFFFFFF,
    "e4m3": 0x7F, "e5m2": 0x7F, "e2m3": 0x1F, "e3m2": 0x1F, "e2m1": 0x7,
}  # fmt: skip
#: Types that saturate: the largest finite value.
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "e2m3": 7.5, "e3m2": 28.0, "e2m1": 6.0}


def convert(codes: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    """Codes of one type -> codes of another, as `cvt` does it; which types, CONVERSIONS says.

    >>> from ptxlab.isa.dtypes import dtype
    >>> f32, e4m3 = dtype("f32"), dtype("e4m3")
    >>> [hex(code) for code in convert(f32.encode([1.0, 1e9, -np.inf, np.nan]), f32, e4m3)]
    ['0x38', '0x7e', '0xfe', '0x7f']
    """
    if source.name == "f32" and target.name in LARGEST:
        return _narrow(codes, target.name)
    if source.bits == 16:
        return np.take(_table(source.name, target.name), codes)
    return _converted(codes, source, target)


@cache
def _table(source: str, target: str) -> NDArray[Any]:
    """What becomes of all codes of a 16-bit type."""
    return _converted(np.arange(1 << 16, dtype=np.uint16), dtype(source), dtype(target))


def _converted(codes: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    values = source.decode(codes)
    if not target.is_float:
        return _as_integers(values, target)
    with np.errstate(invalid="ignore"):  # a signalling NaN, on processors that report it
        wide = values.astype(np.float32, copy=False)
    return _as_floats(wide, target)


def _narrow(codes: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """Of f32, by table: the upper half, with its last bit set where the lower half has any, rounds the same.

    Its 8 bits of significand are two more than e4m3 and its ties need.
    """
    halves = (codes >> np.uint32(16)).astype(np.uint16)
    halves |= (codes & np.uint32(0xFFFF)) != 0
    return np.take(_narrow_table(name), halves)


@cache
def _narrow_table(name: str) -> NDArray[np.uint8]:
    halves = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    return _as_floats(halves.view(np.float32), dtype(name))


def _as_floats(wide: NDArray[np.float32], target: DType) -> NDArray[Any]:
    """Codes of the nearest values."""
    nan = np.isnan(wide)
    if target.bits == 32:
        result = np.ascontiguousarray(wide).view(np.uint32).reshape(wide.shape)
        if target.name == "tf32":
            even = (result >> np.uint32(13)) & np.uint32(1)
            with np.errstate(over="ignore"):  # of a NaN, which is replaced below
                result = (result + (np.uint32(0xFFF) + even)) & np.uint32(0xFFFFE000)
    else:
        if target.name in LARGEST:
            largest = np.float32(LARGEST[target.name])
            wide = np.clip(wide, -largest, largest)
        with np.errstate(over="ignore", invalid="ignore"):
            result = wide.astype(target.numpy_type).view(target.code_type)
    if nan.any():
        result = np.where(nan, target.code_type(NAN[target.name]), result)
    return np.asarray(result)


def _as_integers(values: NDArray[Any], target: DType) -> NDArray[Any]:
    """Whole numbers, saturated, in two's complement of the type's own bits."""
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # a signalling NaN
            values = np.where(np.isnan(values), 0, np.rint(values))
    limits = values.dtype.type(target.minimum), values.dtype.type(target.maximum)
    whole = np.clip(values, *limits).astype(np.int8 if target.signed else np.uint8).view(np.uint8)
    return np.asarray(whole & np.uint8((1 << target.bits) - 1)) if target.bits < 8 else whole
