"""The tensor core's own rule: products and C are aligned, truncated and summed in one step.

`../fused_plain.py` is the rule in plain Python, for one element; here it is applied to operands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...isa.dtypes import DType, dtype
from ...isa.mma import Instruction
from ...isa.operation import Operation
from ..fused_dispatch import WIDE, fused_dot, fused_registers, uses_loop
from ..fused_numpy import Alignment, FusedCodes, FusedStep, block_scaled_dot, convert_codes, round_sum
from ..steps import Step, Term, add_up, convert, convert_step, result_lsb, stored_term
from .base import Array, Codes, Element, Rule, negated, of_iterations


@dataclass(frozen=True, repr=False)
class Fused(Rule):
    """How a chip adds products to C in one step.

    Products are exact. They and C are aligned to the largest exponent among the non-zero ones (the sum of the
    factors' exponents, not normalised; never below `floor`), truncated `fraction_bits` below it, and summed
    exactly. The sum is truncated to `result_bits` of fraction for f32, or rounded to nearest even for f16. A
    zero result is +0, NaN is 0x7fffffff or 0x7fff. With a `depth`, K is cut into steps of that many products,
    and the result of one step is C of the next; of a sparse instruction the stored products count. With a
    `block`, the terms are exact sums of that many products, times the scales of their block, and are aligned
    by the exponents of these scales, whether they are zero or not.

    >>> import ptxlab
    >>> from ptxlab.numerics.emulate import model_of
    >>> model_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")).rule
    Fused(fraction_bits=25, result_bits=23, floor=-133, depth=None)
    """

    fraction_bits: int
    result_bits: int
    floor: int
    depth: int | None = None
    block: int | None = None

    def __repr__(self) -> str:
        names = ["fraction_bits", "result_bits", "floor", "depth"]
        names += ["block"] if self.block is not None else []
        return f"Fused({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

    @property
    def alignment(self) -> Alignment:
        """The numbers of one step."""
        return Alignment(self.fraction_bits, self.result_bits, self.floor)

    # -- a batch ---------------------------------------------------------------------------------------------

    def dot(self, operation: Operation) -> Array:
        """See `Rule.dot`."""
        return self._dot(operation, Codes.of(operation))

    def _dot(self, operation: Operation, codes: Codes) -> Array:
        """Codes of D from codes."""
        ins = operation.ins
        a, stored = codes.a, None
        if ins.structure is not None and codes.nibbles is not None:
            a = ins.structure.expand(codes.a, codes.nibbles, ins.metadata_ordered)
            ones = np.ones(codes.a.shape, dtype=np.uint8)
            stored = ins.structure.expand(ones, codes.nibbles, ins.metadata_ordered) > 0
        if self.block is not None and codes.scales is not None and ins.scale_a is not None:
            group = self.block * (2 if ins.sparse else 1)
            return block_scaled_dot(
                a, codes.b, codes.c, codes.scales, ins.scale_a.dtype, self.alignment, group
            )
        inner = dtype("f32") if ins.c_type != ins.d_type else ins.d.dtype  # mixed types: the steps are in f32
        total = codes.c if ins.c_type == inner.name else convert_codes(codes.c, ins.c.dtype, inner)
        dtypes = (ins.a.dtype, ins.b.dtype, inner, inner)
        columns = a.shape[-1]
        depth = columns
        if self.depth is not None:
            depth = self.depth if stored is None else 2 * self.depth  # half of A's columns are stored
        for k in range(0, columns, depth):
            part = slice(k, k + depth)
            present = None if stored is None else stored[..., part]
            shift = operation.modifiers.scale_input_d if k == 0 else 0
            factors = FusedCodes(a[..., part], codes.b[..., part, :], total, present, codes.scales)
            total = fused_dot(factors, FusedStep(dtypes, self.alignment), shift)
        d_codes = total if ins.d_type == inner.name else convert_codes(total, inner, ins.d.dtype)
        return d_codes.reshape(*d_codes.shape[:-3], *ins.d.shape) if ins.mma_count > 1 else d_codes

    def run(self, operation: Operation) -> Array:
        """See `Rule.run`; one compiled loop from registers to registers where there is one."""
        step = self._compiled_step(operation)
        if step is None:
            return super().run(operation)
        d, special = fused_registers(operation, step)
        if special.size:
            d[special] = super().run(operation.select(special))
        return d

    def accumulate(self, operation: Operation) -> Array:
        """See `Rule.accumulate`; all iterations in one compiled loop where there is one."""
        ins, step = operation.ins, self._compiled_step(operation)
        d_fits_c = isinstance(ins, Instruction) and ins.c_type == ins.d_type and ins.mma_count == 1
        if not d_fits_c or not operation.modifiers.scale_d:
            return super().accumulate(operation)
        if step is None:
            return self._accumulate_codes(operation)
        d, special = fused_registers(operation, step)
        if special.size:
            c = operation.c
            for iteration in range(len(d)):
                d[iteration, special] = super().run(of_iterations(operation, iteration, c).select(special))
                c = d[iteration]
        return d

    def _accumulate_codes(self, operation: Operation) -> Array:
        """See `accumulate`; C is unpacked once."""
        d: list[Array] = []
        for iteration in range(len(operation.a)):
            part = of_iterations(operation, iteration, operation.c)
            d.append(self._dot(part, Codes.of(part, d[-1] if d else None)))
        return np.asarray(operation.ins.d.pack_codes(np.stack(d)))

    def _compiled_step(self, operation: Operation) -> FusedStep | None:
        """The step for the compiled loop; None if NumPy computes it."""
        ins = operation.ins
        plain = isinstance(ins, Instruction) and ins.structure is None and ins.scale_vec is None
        plain = plain and ins.c_type == ins.d_type and ins.mma_count == 1
        fills_groups = ins.n < WIDE or operation.count >= WIDE
        one_step = self.depth is None or self.depth >= ins.k
        dtypes = (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype)
        products = operation.count * ins.d.shape[0] * ins.d.shape[1] * ins.k
        if not (plain and fills_groups and one_step) or negated(operation):
            return None
        if not uses_loop(dtypes, products, ins.k):
            return None
        return FusedStep(dtypes, self.alignment)

    # -- one element -----------------------------------------------------------------------------------------

    def trace(self, element: Element) -> list[Step]:
        """See `Rule.trace`."""
        ins = element.ins
        if self.block is not None:
            c = element.c_term(element.c_code, ins.c.dtype)
            return [aligned_step(c, element.block_sums(self.block), self.alignment, ins.d.dtype)]
        inner = dtype("f32") if ins.c_type != ins.d_type else ins.d.dtype
        so_far = element.c_term(convert(element.c_code, ins.c.dtype, inner), inner)
        steps: list[Step] = []
        products = element.products
        depth = self.depth or len(products)
        for first in range(0, len(products), depth):
            steps.append(aligned_step(so_far, products[first : first + depth], self.alignment, inner))
            so_far = stored_term("sum", steps[-1].code, inner)
        if inner.name != ins.d_type:
            steps.append(convert_step(steps[-1].code, inner, ins.d.dtype))
        return steps


def aligned_step(
    so_far: Term,
    products: list[Term],
    alignment: Alignment,
    result: DType,
    converted_to: str | None = None,
) -> Step:
    """One fused step: C or the sum so far plus products, into a result of that type."""
    summands = [so_far, *products]
    aligned = [term for term in summands if term.value or term.role == "block"]  # a block even if it is zero
    exponents = [term.exponent for term in aligned if term.exponent is not None]
    top = max([alignment.floor, *exponents])
    grain = top - alignment.fraction_bits
    unit = Fraction(2) ** grain
    terms: list[Term] = []
    for term in summands:
        value = term.value
        if isinstance(value, Fraction) and (grain > 0 or unit.denominator % value.denominator):
            terms.append(replace(term, kept=int(value / unit) * unit))
        else:
            terms.append(term)  # nothing to truncate
    total = add_up([term.kept for term in terms])
    code = int(round_sum(np.array([float(total)]), result, alignment.result_bits)[0])
    to_f16 = result.name == "f16"
    bits = result.fraction_bits if to_f16 else alignment.result_bits
    return Step(
        "fused sum",
        tuple(terms),
        top,
        grain=grain,
        total=total,
        rounding="rn" if to_f16 else "rz",
        code=code,
        dtype=result.name,
        last=result_lsb(total, result, bits),
        result_bits=bits,
        converted_to=converted_to,
    )
