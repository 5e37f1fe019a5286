"""Ordinary f32 instructions: what the compiler emits for mma.m8n8k4 on chips that no longer have it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...isa.dtypes import DType, dtype
from ...isa.operation import Operation
from ..arithmetic import fma_f32
from ..steps import Step, Term, add_step, convert, convert_step, stored_term, unaligned_step
from .base import Array, Codes, Element, Rule


@dataclass(frozen=True)
class FmaGroups(Rule):
    """What the compiler makes of mma.m8n8k4 on chips after Turing: ordinary f32 instructions, no tensor core.

    Each group of k is a chain of fused multiply-adds that begins with its first product (`from_zero`: with
    that product plus 0, which turns -0 into +0). The groups are added to C one after another, rounded to
    nearest even; f16 results are rounded at the end.

    >>> import ptxlab
    >>> from ptxlab.numerics.emulate import model_of
    >>> model_of(ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")).rule
    FmaGroups(groups=((0, 1, 2, 3),), from_zero=True)
    """

    groups: tuple[tuple[int, ...], ...]
    from_zero: bool

    def dot(self, operation: Operation) -> Array:
        """See `Rule.dot`."""
        ins, codes = operation.ins, Codes.of(operation)
        d_codes = self._dot(codes.a, codes.b, codes.c, ins.c.dtype, ins.d.dtype)
        return d_codes.reshape(*d_codes.shape[:-3], *ins.d.shape) if ins.mma_count > 1 else d_codes

    def _dot(self, a: Array, b: Array, c: Array, c_type: DType, d_type: DType) -> Array:
        """Codes of D for f16 codes a [..., M, K], b [..., K, N] and f16 or f32 codes c."""
        f16 = dtype("f16")
        with np.errstate(all="ignore"):
            left, right = f16.decode(a).astype(np.float32), f16.decode(b).astype(np.float32)
            total = c_type.decode(c).astype(np.float32)
            for group in self.groups:
                total = total + self._chain(left, right, group)
            if d_type.name == "f16":
                rounded = total.astype(np.float16).view(np.uint16)
                return np.where(np.isnan(total), np.uint16(0x7FFF), rounded)
        return np.where(np.isnan(total), np.uint32(0x7FFFFFFF), total.view(np.uint32))

    def _chain(self, left: Array, right: Array, group: tuple[int, ...]) -> Array:
        """The products of a group as a chain of fused multiply-adds in f32."""
        chain = left[..., :, group[0], None] * right[..., None, group[0], :]
        if self.from_zero:
            chain = chain + np.float32(0)
        for k in group[1:]:
            chain = fma_f32(left[..., :, k, None], right[..., None, k, :], chain)
        return np.asarray(chain)

    def trace(self, element: Element) -> list[Step]:
        """See `Rule.trace`."""
        ins, f16, f32 = element.ins, dtype("f16"), dtype("f32")
        steps: list[Step] = []
        a, b = (np.array([[getattr(pair, name) for pair in element.pairs]], dtype=np.uint16) for name in "ab")
        with np.errstate(all="ignore"):
            left, right = f16.decode(a).astype(np.float32), f16.decode(b).astype(np.float32).T
        so_far = stored_term("C", convert(element.c_code, ins.c.dtype, f32), f32)
        total = convert(element.c_code, ins.c.dtype, f32)
        for group in self.groups:
            chain_code = 0
            before: tuple[Term, ...] = ()
            for done, k in enumerate(group, 1):
                with np.errstate(all="ignore"):
                    chain = self._chain(left, right, group[:done])
                chain_code = 0x7FFFFFFF if np.isnan(chain[0, 0]) else int(chain.view(np.uint32)[0, 0])
                terms = (*before, element.products[k])
                steps.append(unaligned_step("fma" if before else "multiply", terms, "rn", chain_code, f32))
                before = (stored_term("sum", chain_code, f32),)
            parts = (so_far, stored_term("group", chain_code, f32, k=group))
            steps.append(add_step(parts, (total, chain_code), f32))
            total = steps[-1].code
            so_far = stored_term("sum", total, f32)
        if ins.d_type == "f16":
            steps.append(convert_step(total, f32, ins.d.dtype))
        return steps
