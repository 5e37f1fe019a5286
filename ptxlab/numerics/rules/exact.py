"""Integers and bits: exact products and sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...isa.operation import Operation
from ..arithmetic import exact_product
from ..steps import Step, Term, add_up
from .base import Array, Element, Rule, codes_of_c, negated, nibbles_of, used_columns, zero_columns


@dataclass(frozen=True)
class Exact(Rule):
    """All products are summed exactly; the result wraps to 32 bits, or is clamped with `.satfinite`.

    >>> import ptxlab
    >>> from ptxlab.numerics.emulate import model_of
    >>> model_of(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")).rule
    Exact()
    """

    def dot(self, operation: Operation) -> Array:
        """See `Rule.dot`. Sums of products of bytes fit float32 exactly: at most 64 * 255 * 255 < 2^24."""
        ins = operation.ins
        number = np.float32 if ins.a.dtype.bits <= 8 else np.float64
        b = used_columns(operation, ins.b.unpack_as(operation.b, number))
        zeros = zero_columns(operation)
        if zeros is not None:
            b = np.where(zeros, number(0), b)
        nibbles = nibbles_of(operation)
        if ins.structure is not None and nibbles is not None:
            stored = ins.a.unpack_as(operation.a, ins.a.dtype.value_type)
            a = ins.structure.expand(stored, nibbles, ins.metadata_ordered).astype(number)
        else:
            a = ins.a.unpack_as(operation.a, number)
        products = exact_product(a, b)
        if negated(operation):
            products = -products
        if ins.bit_op == "xor":
            products = a.sum(axis=-1, keepdims=True) + b.sum(axis=-2, keepdims=True) - 2 * products
        return _add_to_s32(products, codes_of_c(operation), ins.satfinite)

    def trace(self, element: Element) -> list[Step]:
        """See `Rule.trace`."""
        ins = element.ins
        terms = (Term.whole("C", element.c, None), *element.products)
        total = add_up([term.value for term in terms])
        products = np.array([int(total - element.c)], dtype=np.float64)
        code = int(_add_to_s32(products, np.array([element.c_code], dtype=np.uint32), ins.satfinite)[0])
        return [
            Step(
                "integer sum",
                terms,
                None,
                grain=0,
                total=total,
                rounding="satfinite" if ins.satfinite else "wrap",
                code=code,
                dtype="s32",
            )
        ]


def _add_to_s32(products: Array, c: Array, satfinite: bool) -> Array:
    """Exact sums of products plus s32 codes c -> s32 codes, wrapped or clamped.

    >>> products, c = np.array([5, 5]), np.array([1, 0x7FFFFFFF], dtype=np.uint32)
    >>> [hex(code) for code in _add_to_s32(products, c, satfinite=False)]
    ['0x6', '0x80000004']
    >>> hex(_add_to_s32(products, c, satfinite=True)[1])
    '0x7fffffff'
    """
    if not satfinite:
        return products.astype(np.int32).view(np.uint32) + c
    total = products.astype(np.int64) + c.view(np.int32)
    return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32)
