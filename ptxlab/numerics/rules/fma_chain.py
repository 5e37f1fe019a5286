"""f64: one fused multiply-add after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...isa.dtypes import dtype
from ...isa.operation import Operation
from ..arithmetic import fma
from ..steps import Rounding, Step, stored_term, unaligned_step
from .base import Array, Codes, Element, Rule

_QUIET = np.uint64(0x0008000000000000)  # the bit that makes a NaN quiet
_INVALID = np.uint64(0xFFF8000000000000)  # what inf - inf gives


@dataclass(frozen=True)
class FmaChain(Rule):
    """f64: one fused multiply-add after another, from C, k ascending, each rounded in the instruction's mode.

    A NaN keeps its payload and becomes quiet. If several meet, `nans` says which is kept: the first that is
    NaN of the element of a, that of b, and the sum so far, c.

    >>> import ptxlab
    >>> from ptxlab.numerics.emulate import model_of
    >>> model_of(ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")).rule
    FmaChain(nans='bca')
    """

    nans: str = "bca"

    def dot(self, operation: Operation) -> Array:
        """See `Rule.dot`."""
        codes = Codes.of(operation)
        return self._chain(codes.a, codes.b, codes.c, operation.ins.rounding)

    def _chain(self, a: Array, b: Array, c: Array, rounding: str | None) -> Array:
        """Codes of D for f64 codes a [..., M, K], b [..., K, N], c [..., M, N]."""
        f64 = dtype("f64")
        left, right, total = f64.decode(a), f64.decode(b), f64.decode(c)
        codes = c
        for k in range(a.shape[-1]):
            total = fma(left[..., :, k, None], right[..., None, k, :], total, rounding)
            nan = np.isnan(total)
            if nan.any():
                sources = {"a": a[..., :, k, None], "b": b[..., None, k, :], "c": codes}
                codes = np.broadcast_to(_INVALID, total.shape)
                for name in reversed(self.nans):
                    source = sources[name]
                    codes = np.where(np.isnan(source.view(np.float64)), source | _QUIET, codes)
                codes = np.where(nan, codes, np.ascontiguousarray(total).view(np.uint64))
                total = codes.view(np.float64)
            else:
                codes = np.ascontiguousarray(total).view(np.uint64)
        return codes

    def trace(self, element: Element) -> list[Step]:
        """See `Rule.trace`."""
        ins = element.ins
        rounding: Rounding = ins.rounding or "rn"
        steps: list[Step] = []
        so_far = stored_term("C", element.c_code, ins.c.dtype)
        code = element.c_code
        for pair, product in zip(element.pairs, element.products, strict=True):
            a, b, c = (np.array([[factor]], dtype=np.uint64) for factor in (pair.a, pair.b, code))
            code = int(self._chain(a, b, c, ins.rounding)[0, 0])
            steps.append(unaligned_step("fma", (so_far, product), rounding, code, ins.d.dtype))
            so_far = stored_term("sum", code, ins.d.dtype)
        return steps
