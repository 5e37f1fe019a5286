"""FP8 through f16: what the compiler emits for FP8 mma.sync on chips without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...isa.dtypes import dtype
from ...isa.operation import Operation
from ..fused_dispatch import fused_dot
from ..fused_numpy import FusedCodes, FusedStep
from ..steps import Step, add_step, convert, stored_term
from .base import Array, Codes, Element, Rule
from .fused import Fused, aligned_step


@dataclass(frozen=True)
class EmulatedThroughF16(Rule):
    """What the compiler makes of FP8 mma.sync on sm_90 and sm_100, as their machine code shows.

    Elements are converted to f16. The lower pair of every register goes through one fused step from zero, the
    upper pair through a second; C is added by an ordinary addition, rounded to nearest even.

    >>> import ptxlab
    >>> from ptxlab.numerics.emulate import model_of
    >>> model_of(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")).rule
    EmulatedThroughF16(step=Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None))
    """

    step: Fused

    def dot(self, operation: Operation) -> Array:
        """See `Rule.dot`."""
        ins, codes = operation.ins, Codes.of(operation)
        f16, result = dtype("f16"), ins.d.dtype
        dtypes = (f16, f16, result, result)
        a = _as_f16(ins.a_type)[codes.a]
        b = _as_f16(ins.b_type)[codes.b]
        upper = np.arange(a.shape[-1]) // 2 % 2 == 1  # of the two pairs of 8-bit elements in a register
        stored = None
        if ins.structure is not None and codes.nibbles is not None:
            pairs = np.broadcast_to(np.where(upper, np.uint8(2), np.uint8(1)), a.shape)
            a, marks = (ins.structure.expand(x, codes.nibbles, ins.metadata_ordered) for x in (a, pairs))
            stored, upper = marks > 0, marks == 2
        total: Array = np.zeros((a.shape[-2], b.shape[-1]), dtype=result.code_type)
        for half in (~upper, upper):
            if stored is None:
                factors = FusedCodes(a[..., half], b[..., half, :], total)
            else:
                factors = FusedCodes(np.where(half, a, 0), b, total, stored & half)
            total = fused_dot(factors, FusedStep(dtypes, self.step.alignment))
        with np.errstate(invalid="ignore", over="ignore"):
            added = result.decode(total) + result.decode(codes.c)
        nan = result.code_type(0x7FFF if result.bits == 16 else 0x7FFFFFFF)
        return np.where(np.isnan(added), nan, added.view(result.code_type))

    def trace(self, element: Element) -> list[Step]:
        """See `Rule.trace`."""
        ins, f16, result = element.ins, dtype("f16"), element.ins.d.dtype
        steps: list[Step] = []
        so_far = stored_term("zero", 0, result)
        for half in (0, 1):
            products = []
            for index, pair in enumerate(element.pairs):
                if index // 2 % 2 == half:
                    codes = convert(pair.a, ins.a.dtype, f16), convert(pair.b, ins.b.dtype, f16)
                    products.append(element.product(index, (f16, f16), codes))
            steps.append(aligned_step(so_far, products, self.step.alignment, result, "f16"))
            so_far = stored_term("sum", steps[-1].code, result)
        parts = (stored_term("sum", steps[-1].code, result), stored_term("C", element.c_code, result))
        steps.append(add_step(parts, (steps[-1].code, element.c_code), result))
        return steps


@lru_cache(maxsize=None)
def _as_f16(name: str) -> Array:
    """Every code of a small type as an f16 code of the same value."""
    with np.errstate(invalid="ignore"):
        return dtype("f16").encode(dtype(name).decode(np.arange(1 << dtype(name).bits)))
