"""How an element of D comes about, by the same rules as the emulator's, one element at a time and exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ... import numerics
from ...errors import PtxlabError
from ...isa.dtypes import DType, dtype
from ...isa.mma import MmaForm
from ...isa.operands import Operands
from ..emulate import model_of
from .given import Given, Product, aligned_number, given_of, times
from .record import Number, Step, Term, Trace, leading, number, summed

__all__ = ["trace"]


def trace(operands: Operands, row: int, col: int, *, model: str | None = None) -> Trace:
    """How D[row][col] came about for one instruction, bit for bit as `emulate` computes it; see `Instruction.trace`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> operands = Operands.from_matrices(ins, np.full((16, 32), -3), np.full((32, 8), 2))
    >>> trace(operands, 4, 5).value
    Fraction(-192, 1)
    """
    _check(operands.ins, row, col)
    return _traced(given_of(operands, row, col), row, col, model_of(operands.ins, model))


def _check(ins: MmaForm, row: int, col: int) -> None:
    for name, found, size in (("row", row, ins.d.shape[0]), ("col", col, ins.d.shape[1])):
        if not 0 <= found < size:
            raise PtxlabError(
                f"{name}={found}: D of {ins.mnemonic} is {ins.d.shape[0]}x{ins.d.shape[1]}, so it goes from 0 to {size - 1}"
            )


def _traced(given: Given, row: int, col: int, chip: numerics.Model) -> Trace:
    ins, rule = given.ins, chip.rule
    if rule == "exact":
        steps = [_integers(ins, given)]
    elif isinstance(rule, numerics.Chain):
        steps = _chain(ins, given, rule)
    elif isinstance(rule, numerics.Scalar):
        steps = _scalar(ins, given, rule)
    elif isinstance(rule, numerics.ByWay):
        steps = _by_way(ins, given, rule)
    else:
        steps = _fused(ins, given, rule)
    exact = summed([given.c, *(product.value for product in given.products)])
    return Trace(
        ins.mnemonic,
        chip.chip,
        row,
        col,
        tuple(steps),
        steps[-1].code,
        number(steps[-1].code, ins.d_type),
        exact,
        given.fma32(),
    )


# -- the rules --------------------------------------------------------------------------------------------------------


def _integers(ins: MmaForm, given: Given) -> Step:
    terms = [Term("C", given.c, None, given.c)] + [_whole(product) for product in given.products]
    total = summed([term.value for term in terms])
    products = np.array([int(total - given.c)], dtype=np.float64)
    code = int(numerics.integer_add(products, np.array([given.c_code], dtype=np.uint32), ins.satfinite)[0])
    return Step(
        "sum",
        tuple(terms),
        None,
        0,
        total,
        "clamped to s32" if ins.satfinite else "wrapped to s32",
        code,
        "s32",
    )


def _aligned(
    name: str, products: list[Product], c: tuple[str, int, DType], rule: numerics.Fused, kind: DType
) -> Step:
    """One fused step: C of that name and code, and products, into a result of that type."""
    summands = [_stored(*c), *products]
    top = max([rule.floor, *(each.exponent for each in summands if each.exponent is not None and each.value)])
    grain = Fraction(2) ** (top - rule.fraction_bits)
    terms = []
    for each in summands:
        kept = Fraction(int(each.value / grain)) * grain if isinstance(each.value, Fraction) else each.value
        terms.append(Term(each.name, each.value, each.exponent, kept, each.factors, each.places))
    total = summed([term.kept for term in terms])
    code = int(numerics.rounded(np.array([float(total)]), kind, rule.result_bits)[0])
    narrow = kind.name == "f16"
    rounding = "to nearest even" if narrow else f"cut toward zero to {rule.result_bits} bits of fraction"
    last = _last(total, kind, kind.fraction_bits if narrow else rule.result_bits)
    return Step(name, tuple(terms), top, top - rule.fraction_bits, total, rounding, code, kind.name, last)


def _fused(ins: MmaForm, given: Given, rule: numerics.Fused) -> list[Step]:
    if ins.kind in ("mxf4", "mxf4nvf4"):
        return [_aligned("fused sum", _groups(given), ("C", given.c_code, ins.c.dtype), rule, ins.d.dtype)]
    steps: list[Step] = []
    inner = dtype("f32") if ins.c_type != ins.d_type else ins.d.dtype
    code, kind = given.c_code, ins.c.dtype
    if kind.name != inner.name:
        code, kind = _convert(code, kind, inner), inner
    name, products = "C", given.products
    depth = rule.depth or len(products)
    for first in range(0, len(products), depth):
        label = "fused sum" if depth >= len(products) else f"fused sum, k {first}..{first + depth - 1}"
        steps.append(_aligned(label, products[first : first + depth], (name, code, kind), rule, inner))
        name, code, kind = "sum so far", steps[-1].code, inner
    return [*steps, *([_rounded("D as f16", code, inner, ins.d.dtype)] if inner.name != ins.d_type else [])]


def _groups(given: Given) -> list[Product]:
    """Block-scaled e2m1: exact sums of 16 products, times the scales of their block, aligned by the scales' exponents."""
    found = []
    for first in range(0, len(given.pairs), 16):
        plain = [
            times(*(number(code, "e2m1") for code in given.pairs[at][1:])) for at in range(first, first + 16)
        ]
        name = f"k {given.pairs[first][0]}..{given.pairs[first + 15][0]}"
        found.append(
            given.scaled(first, Product(name, summed(plain), 0, None, 2 * dtype("e2m1").fraction_bits))
        )
    return found


def _by_way(ins: MmaForm, given: Given, rule: numerics.ByWay) -> list[Step]:
    via, steps, code, name = dtype(rule.via), [], 0, "zero"
    for half, which in ((0, "lower"), (1, "upper")):
        products = [
            given.product(at, (via, via), (_convert(a, ins.a.dtype, via), _convert(b, ins.b.dtype, via)))
            for at, (_, a, b) in enumerate(given.pairs)
            if at // 2 % 2 == half
        ]
        steps.append(
            _aligned(
                f"HMMA over {which} pairs, as {via}",
                products,
                (name, code, ins.d.dtype),
                rule.step,
                ins.d.dtype,
            )
        )
        code, name = steps[-1].code, "sum so far"
    return [*steps, _added("addition of C", [("sum so far", code), ("C", given.c_code)], ins.d.dtype)]


def _chain(ins: MmaForm, given: Given, rule: numerics.Chain) -> list[Step]:
    steps: list[Step] = []
    code, name = given.c_code, "C"
    said = {None: "to nearest even", "rz": "toward zero", "rm": "down", "rp": "up"}[ins.rounding]
    for at, (k, a, b) in enumerate(given.pairs):
        terms = (_whole(_stored(name, code, ins.d.dtype)), _whole(given.product(at)))
        left, right, start = (np.array([[x]], dtype=np.uint64) for x in (a, b, code))
        code, name = (
            int(numerics.chained_dot(left, right, start, ins.rounding, rule.nans)[0, 0]),
            "sum so far",
        )
        steps.append(_unaligned(f"fused multiply-add, k {k}", terms, said, code, ins.d.dtype))
    return steps


def _scalar(ins: MmaForm, given: Given, rule: numerics.Scalar) -> list[Step]:
    """Groups of FMAs in f32, each then added to C; see `numerics.Scalar`."""
    f32, steps = dtype("f32"), []
    total, minus_zero = (
        _convert(given.c_code, ins.c.dtype, f32),
        np.array([[0x80000000]], dtype=np.uint32),
    )  # adds nothing, not even a sign
    for group in rule.groups:
        left, right = (
            np.array([column], dtype=np.uint16)
            for column in zip(*(given.pairs[at][1:] for at in group), strict=True)
        )
        before: list[Term] = []
        for done, at in enumerate(group, 1):
            one = numerics.Scalar((tuple(range(done)),), rule.from_zero)
            chain = int(
                numerics.scalar_dot(left, right.T, minus_zero, (dtype("f16"), dtype("f16"), f32, f32), one)[
                    0, 0
                ]
            )
            name = f"{'fused multiply-add' if before else 'product'} in f32, k {at}"
            steps.append(
                _unaligned(name, (*before, _whole(given.product(at))), "to nearest even", chain, f32)
            )
            before = [_whole(_stored("sum so far", chain, f32))]
        parts = [
            ("C" if group is rule.groups[0] else "sum so far", total),
            (f"sum of k {group[0]}..{group[-1]}", chain),
        ]
        steps.append(_added("addition of C" if group is rule.groups[0] else "addition", parts, f32))
        total = steps[-1].code
    return [*steps, *([_rounded("D as f16", total, f32, ins.d.dtype)] if ins.d_type == "f16" else [])]


# -- parts of them ----------------------------------------------------------------------------------------------------


def _stored(name: str, code: int, kind: DType) -> Product:
    """A number that stands in a register, as a summand."""
    return Product(name, *aligned_number(code, kind), None, kind.fraction_bits)


def _whole(summand: Product) -> Term:
    """A term of which nothing is cut off."""
    return Term(summand.name, summand.value, summand.exponent, summand.value, summand.factors, summand.places)


def _last(total: Number, kind: DType, places: int) -> int | None:
    """The last place of a sum that a result with so many places behind the point keeps."""
    return max(leading(total), 1 - kind.bias) - places if isinstance(total, Fraction) and total else None


def _unaligned(name: str, terms: tuple[Term, ...], rounding: str, code: int, kind: DType) -> Step:
    """A step that rounds the exact sum once."""
    total = summed([term.value for term in terms])
    return Step(
        name, terms, None, None, total, rounding, code, kind.name, _last(total, kind, kind.fraction_bits)
    )


def _convert(code: int, kind: DType, to: DType) -> int:
    return int(numerics.converted(np.array([code]), kind, to)[0])


def _rounded(name: str, code: int, kind: DType, to: DType) -> Step:
    return _unaligned(
        name,
        (_whole(_stored(f"sum as {kind}", code, kind)),),
        "to nearest even",
        _convert(code, kind, to),
        to,
    )


def _added(name: str, parts: list[tuple[str, int]], kind: DType) -> Step:
    """An ordinary addition, to nearest even."""
    with np.errstate(invalid="ignore", over="ignore"):
        values: Any = [kind.decode([code]) for _, code in parts]
        total = np.asarray(values[0] + values[1])
    code = int(total.view(kind.code_type)[0]) if not np.isnan(total[0]) else (1 << kind.bits - 1) - 1
    return _unaligned(
        name,
        tuple(_whole(_stored(label, each, kind)) for label, each in parts),
        "to nearest even",
        code,
        kind,
    )
