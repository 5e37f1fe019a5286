"""Comparison and selection instructions of PTX: set, setp, selp, slct."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .floating import lane_format
from .integer import signed, unsigned
from .opcode import Array, Function, Opcode

#: Relations of integers (lo, ls, hi and hs of unsigned ones only), and of floats without and with NaN.
INTEGER: dict[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
NUMBERS = (*ORDERED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

COMBINATIONS: dict[str, Function] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor
}  # fmt: skip


def _relation(op: Opcode, type_name: str) -> Function:
    """The comparison of one lane; floats are compared in a dtype of NumPy."""
    name = next(part for part in op.modifiers if part in INTEGER or part in NUMBERS)
    if "f" not in type_name:
        bits = op.bits
        read = signed(bits) if op.signed else unsigned(bits)
        compare = INTEGER[name]
        return lambda a, b: compare(a.view(read), b.view(read))
    form, _ = lane_format(type_name)
    flush = "ftz" in op

    def numbers(codes: Array) -> Array:
        if flush:
            codes = form.flush(codes)
        if form.name == "f32":
            return codes.view(np.float32)
        return form.decode(codes)

    def relation(a: Array, b: Array) -> Array:
        if name in ("num", "nan"):
            either = form.is_nan(a) | form.is_nan(b)
            return either if name == "nan" else ~either
        x, y = numbers(a), numbers(b)
        if name in ORDERED:
            result = INTEGER[name](x, y)
            return np.asarray(result & ~(form.is_nan(a) | form.is_nan(b)) if name == "ne" else result)
        result = INTEGER[name[:2]](x, y)
        return np.asarray(result | form.is_nan(a) | form.is_nan(b))

    return relation


def _combine(op: Opcode) -> Callable[[Array, tuple[Array, ...]], Array]:
    """The Boolean operator with the predicate c, where the opcode has one."""
    combination = next((COMBINATIONS[part] for part in op.modifiers if part in COMBINATIONS), None)
    if combination is None:
        return lambda truth, c: truth
    return lambda truth, c: combination(truth, c[0])


def _lanes(source: Array) -> tuple[Array, Array]:
    return source.astype(np.uint16), (source >> np.uint32(16)).astype(np.uint16)


def set_predicate(op: Opcode) -> Function:
    """setp: p and q. q is the complement of the comparison, or with two lanes that of the upper lane."""
    relation, combine = _relation(op, op.type), _combine(op)
    if op.type.endswith("x2"):

        def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
            (a0, a1), (b0, b1) = _lanes(a), _lanes(b)
            return combine(relation(a0, b0), c), combine(relation(a1, b1), c)

        return both

    def predicates(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        truth = relation(a, b)
        return combine(truth, c), combine(~truth, c)

    return predicates


#: What `set` writes for true, by type of the result.
_TRUE = {
    "u16": 0xFFFF,
    "s16": 0xFFFF,
    "u32": 0xFFFFFFFF,
    "s32": 0xFFFFFFFF,
    "f32": 0x3F800000,
    "f16": 0x3C00,
    "bf16": 0x3F80,
}


def set_value(op: Opcode) -> Function:
    """set: all ones or 1.0 for true, 0 for false."""
    relation, combine = _relation(op, op.type), _combine(op)
    if op.type.endswith("x2"):
        name = op.d_type.removesuffix("x2")
        true = np.uint32(_TRUE[name] if name in ("f16", "bf16") else 0xFFFF)

        def both(a: Array, b: Array, *c: Array) -> Array:
            (a0, a1), (b0, b1) = _lanes(a), _lanes(b)
            low, high = combine(relation(a0, b0), c), combine(relation(a1, b1), c)
            return np.asarray(
                np.where(low, true, np.uint32(0)) | np.where(high, true << np.uint32(16), np.uint32(0))
            )

        return both
    dtype = unsigned(16 if op.d_type in ("u16", "s16", "f16", "bf16") else 32)
    yes, no = dtype.type(_TRUE[op.d_type]), dtype.type(0)
    return lambda a, b, *c: np.where(combine(relation(a, b), c), yes, no)


def copy(op: Opcode) -> Function:
    """mov of one register."""
    return np.copy


def select(op: Opcode) -> Function:
    """selp: a where the predicate holds, else b."""
    return lambda a, b, p: np.where(p, a, b)


def select_by_sign(op: Opcode) -> Function:
    """slct: a where c is at least 0, else b; -0 is at least 0, NaN is not."""
    if op.type == "s32":
        return lambda a, b, c: np.where(c.view(np.int32) >= 0, a, b)
    form, _ = lane_format("f32")
    flush = "ftz" in op
    return lambda a, b, c: np.where((form.flush(c) if flush else c).view(np.float32) >= 0, a, b)
