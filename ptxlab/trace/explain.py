"""How an element of D comes about, by the same rules as the emulator's, one element at a time and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import arithmetic
from ..arithmetic.fused import _converted, _store
from ..arithmetic.scalar import _fma_f32
from ..dtypes import DType, dtype
from ..emulator import chip_of
from ..errors import PtxlabError
from ..instruction import Instruction
from .record import Number, Step, Term, Trace

__all__ = ["trace"]

Product = tuple[str, Number, int | None]


def trace(
    ins: Instruction,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    row: int,
    col: int,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    model: str | None = None,
) -> Trace:
    """How D[row][col] came about for these matrices; see `Instruction.trace`.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> trace(ins, np.full((16, 32), -3), np.full((32, 8), 2), None, 4, 5).value
    Fraction(-192, 1)
    """
    for name, found, size in (("row", row, ins.d.shape[0]), ("col", col, ins.d.shape[1])):
        if not 0 <= found < size:
            raise PtxlabError(f"{name}={found}: D of {ins.mnemonic} is {ins.d.shape[0]}x{ins.d.shape[1]}, so it goes from 0 to {size - 1}")
    chip = chip_of(ins, model)
    given = _codes(ins, A, B, C, row, col, scale_a, scale_b)
    if chip.rule == "exact":
        steps = [_integers(ins, given)]
    elif isinstance(chip.rule, arithmetic.Chain):
        steps = _chain(ins, given, chip.rule)
    elif isinstance(chip.rule, arithmetic.Scalar):
        steps = _scalar(ins, given, chip.rule)
    elif isinstance(chip.rule, arithmetic.ByWay):
        steps = _by_way(ins, given, chip.rule)
    else:
        steps = _fused(ins, given, chip.rule)
    last = steps[-1]
    value, _ = _number(last.code, ins.d.dtype)
    exact = _sum([given.c[0], *(product[1] for product in given.products())])
    return Trace(ins.mnemonic, chip.chip, row, col, tuple(steps), last.code, value, exact, given.fma32())


# -- what goes in -----------------------------------------------------------------------------------------------------


class _Given:
    """Codes of the factors and of C, with the names of their places."""

    def __init__(self, ins: Instruction, pairs: list[tuple[int, int, int]], c: int, where: tuple[int, int], scales: list[tuple[Number, int | None]]):
        self.ins, self.pairs, self.c_code, self.where, self.scales = ins, pairs, c, where, scales
        self.c = _number(c, ins.c.dtype)

    def product(self, at: int, kinds: tuple[DType, DType] | None = None, codes: tuple[int, int] | None = None) -> Product:
        k, a, b = self.pairs[at]
        kinds = kinds or (self.ins.a.dtype, self.ins.b.dtype)
        (x, ex), (y, ey) = (_number(code, kind) for code, kind in zip(codes or (a, b), kinds, strict=True))
        name = f"A[{self.where[0]}][{k}] B[{k}][{self.where[1]}]"
        if self.ins.bit_op == "xor":
            return name, Fraction(a ^ b), None
        value, exponent = _times(x, y), None if ex is None or ey is None else ex + ey
        return self.scaled(at, name, value, exponent)

    def scaled(self, at: int, name: str, value: Number, exponent: int | None) -> Product:
        """Times the scales of the block that it is in."""
        if not self.scales:
            return name, value, exponent
        count = len(self.scales) // 2
        block = at * count // len(self.pairs)
        for scale, shift in (self.scales[block], self.scales[count + block]):
            value = _times(value, scale)
            exponent = None if exponent is None or shift is None else exponent + shift
        return name, value, exponent

    def products(self) -> list[Product]:
        return [self.product(at) for at in range(len(self.pairs))]

    def fma32(self) -> float | None:
        """A chain of float32 FMAs from C, k ascending: what ordinary code would compute."""
        if not self.ins.a.dtype.is_float or self.ins.a_type == "f64" or self.scales:
            return None
        with np.errstate(all="ignore"):
            total = np.asarray(self.ins.c.dtype.decode([self.c_code])).astype(np.float32)
            for _, a, b in self.pairs:
                x, y = (np.asarray(o.dtype.decode([code])).astype(np.float32) for o, code in ((self.ins.a, a), (self.ins.b, b)))
                total = _fma_f32(x, y, total)
        return float(total[0])


def _codes(
    ins: Instruction, A: ArrayLike, B: ArrayLike, C: ArrayLike | None, row: int, col: int, sa: ArrayLike | None, sb: ArrayLike | None
) -> _Given:
    at = row // 8 * 8 + col if ins.products > 1 else col
    positions: Sequence[int] = range(ins.k)
    if ins.structure is not None:
        A, nibbles = ins.compress(A)
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)[row].tolist()
    a = ins.a.dtype.encode(ins.a.check_matrix(A)[row])
    b = ins.b.dtype.encode(ins.b.check_matrix(B)[:, at])
    c = 0 if C is None else int(ins.c.dtype.encode(ins.c.check_matrix(C)[row, col]))
    scales = []
    for operand, given, index in ((ins.scale_a, sa, (row, slice(None))), (ins.scale_b, sb, (slice(None), col))):
        if operand is not None:
            codes = operand.dtype.encode(operand.check_matrix(np.ones(operand.shape) if given is None else given)[index])
            scales += [_number(int(code), operand.dtype) for code in codes]
        elif given is not None:
            raise PtxlabError(f"{ins.mnemonic} has no block scales")
    return _Given(ins, [(k, int(x), int(b[k])) for k, x in zip(positions, a, strict=True)], c, (row, at), scales)


def _number(code: int, kind: DType) -> tuple[Number, int | None]:
    """Exact value and the exponent that it is aligned by."""
    if not kind.is_float:
        return Fraction(int(kind.decode([code])[0])), None
    with np.errstate(invalid="ignore"):
        value = float(kind.decode([code])[0])
    if not np.isfinite(value) or value == 0:
        return (value if value != 0 else Fraction(0)), None
    field = code >> (kind.fraction_bits + kind.ignored_bits) & ((1 << kind.exponent_bits) - 1)
    return Fraction(value), max(field, 0 if kind.fraction_bits == 0 else 1) - kind.bias


def _times(x: Number, y: Number) -> Number:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    signs = [float((v > 0) - (v < 0)) if v == v else np.nan for v in (x, y)]
    return float(signs[0] * signs[1] * np.inf)


def _sum(values: Sequence[Number]) -> Number:
    odd = [value for value in values if isinstance(value, float)]
    return float(sum(odd)) if odd else sum((value for value in values if isinstance(value, Fraction)), Fraction(0))


# -- the rules --------------------------------------------------------------------------------------------------------


def _integers(ins: Instruction, given: _Given) -> Step:
    terms = [Term("C", given.c[0], None, given.c[0])] + [Term(name, value, None, value) for name, value, _ in given.products()]
    total = _sum([term.value for term in terms])
    code = int(
        arithmetic.integer_add(np.array([int(total - given.c[0])], dtype=np.float64), np.array([given.c_code], dtype=np.uint32), ins.satfinite)[0]
    )
    return Step("sum", tuple(terms), None, 0, total, "clamped to s32" if ins.satfinite else "wrapped to s32", code, "s32")


def _aligned(name: str, products: list[Product], c: tuple[str, int, DType], rule: arithmetic.Fused, kind: DType) -> Step:
    """One fused step: C of that name and code, and products, into a result of that type."""
    start = _number(c[1], c[2])
    summands = [(c[0], *start), *products]
    top = max([rule.floor, *(exponent for _, value, exponent in summands if exponent is not None and value)])
    grain = Fraction(2) ** (top - rule.fraction_bits)
    terms = []
    for label, value, exponent in summands:
        kept = Fraction(int(value / grain)) * grain if isinstance(value, Fraction) else value
        terms.append(Term(label, value, exponent, kept))
    total = _sum([term.kept for term in terms])
    code = int(_store(np.array([float(total)]), kind, rule.result_bits)[0])
    rounding = "to nearest even" if kind.name == "f16" else f"cut toward zero to {rule.result_bits} bits of fraction"
    return Step(name, tuple(terms), top, top - rule.fraction_bits, total, rounding, code, kind.name)


def _fused(ins: Instruction, given: _Given, rule: arithmetic.Fused) -> list[Step]:
    if ins.kind in ("mxf4", "mxf4nvf4"):
        return [_aligned("fused sum", _groups(given), ("C", given.c_code, ins.c.dtype), rule, ins.d.dtype)]
    steps: list[Step] = []
    inner = dtype("f32") if ins.c_type != ins.d_type else ins.d.dtype
    code, kind = given.c_code, ins.c.dtype
    if kind.name != inner.name:
        code, kind = _convert(code, kind, inner), inner
    name, products = "C", given.products()
    depth = rule.depth or len(products)
    for first in range(0, len(products), depth):
        label = "fused sum" if depth == len(products) else f"fused sum, k {first}..{first + depth - 1}"
        steps.append(_aligned(label, products[first : first + depth], (name, code, kind), rule, inner))
        name, code, kind = "sum so far", steps[-1].code, inner
    return [*steps, *([_rounded("D as f16", code, inner, ins.d.dtype)] if inner.name != ins.d_type else [])]


def _groups(given: _Given) -> list[Product]:
    """Block-scaled e2m1: exact sums of 16 products, times the scales of their block, aligned by the scales' exponents."""
    found = []
    for first in range(0, len(given.pairs), 16):
        plain = [_times(*(_number(code, dtype("e2m1"))[0] for code in given.pairs[at][1:])) for at in range(first, first + 16)]
        found.append(given.scaled(first, f"k {given.pairs[first][0]}..{given.pairs[first + 15][0]}", _sum(plain), 0))
    return found


def _by_way(ins: Instruction, given: _Given, rule: arithmetic.ByWay) -> list[Step]:
    via, steps, code, name = dtype(rule.via), [], 0, "zero"
    for half, which in ((0, "lower"), (1, "upper")):
        products = [
            given.product(at, (via, via), (_convert(a, ins.a.dtype, via), _convert(b, ins.b.dtype, via)))
            for at, (_, a, b) in enumerate(given.pairs)
            if at // 2 % 2 == half
        ]
        steps.append(_aligned(f"HMMA over {which} pairs, as {via}", products, (name, code, ins.d.dtype), rule.step, ins.d.dtype))
        code, name = steps[-1].code, "sum so far"
    return [*steps, _added("addition of C", [("sum so far", code), ("C", given.c_code)], ins.d.dtype)]


def _chain(ins: Instruction, given: _Given, rule: arithmetic.Chain) -> list[Step]:
    steps: list[Step] = []
    code, name = given.c_code, "C"
    said = {None: "to nearest even", "rz": "toward zero", "rm": "down", "rp": "up"}[ins.rounding]
    for at, (k, a, b) in enumerate(given.pairs):
        label, value, exponent = given.product(at)
        before, its = _number(code, ins.d.dtype)
        terms = (Term(name, before, its, before), Term(label, value, exponent, value))
        left, right, start = (np.array([[x]], dtype=np.uint64) for x in (a, b, code))
        code, name = int(arithmetic.chained_dot(left, right, start, ins.rounding, rule.nans)[0, 0]), "sum so far"
        steps.append(Step(f"fused multiply-add, k {k}", terms, None, None, _sum([before, value]), said, code, "f64"))
    return steps


def _scalar(ins: Instruction, given: _Given, rule: arithmetic.Scalar) -> list[Step]:
    """Groups of FMAs in f32, each then added to C; see `arithmetic.Scalar`."""
    f32, steps = dtype("f32"), []
    total = _convert(given.c_code, ins.c.dtype, f32)
    for group in rule.groups:
        left, right = (np.array([column], dtype=np.uint16) for column in zip(*(given.pairs[at][1:] for at in group), strict=True))
        one = arithmetic.Scalar((tuple(range(len(group))),), rule.from_zero)
        minus_zero = np.array([[0x80000000]], dtype=np.uint32)  # adds nothing, not even a sign
        chain = int(arithmetic.scalar_dot(left, right.T, minus_zero, (dtype("f16"), dtype("f16"), f32, f32), one)[0, 0])
        terms = tuple(Term(name, value, exponent, value) for name, value, exponent in (given.product(at) for at in group))
        steps.append(
            Step(f"FMAs in f32, k {group[0]}..{group[-1]}", terms, None, None, _sum([t.value for t in terms]), "each to nearest even", chain, "f32")
        )
        steps.append(_added("addition of C" if group is rule.groups[0] else "addition", [("sum so far", total), (steps[-1].name, chain)], f32))
        total = steps[-1].code
    return [*steps, *([_rounded("D as f16", total, f32, ins.d.dtype)] if ins.d_type == "f16" else [])]


def _convert(code: int, kind: DType, to: DType) -> int:
    return int(_converted(np.array([code]), kind, to)[0])


def _rounded(name: str, code: int, kind: DType, to: DType) -> Step:
    value, exponent = _number(code, kind)
    return Step(name, (Term("sum", value, exponent, value),), None, None, value, "to nearest even", _convert(code, kind, to), to.name)


def _added(name: str, parts: list[tuple[str, int]], kind: DType) -> Step:
    """An ordinary addition, to nearest even."""
    terms = tuple(Term(label, *_number(code, kind), _number(code, kind)[0]) for label, code in parts)
    with np.errstate(invalid="ignore", over="ignore"):
        values: Any = [kind.decode([code]) for _, code in parts]
        total = np.asarray(values[0] + values[1])
    code = int(total.view(kind.code_type)[0]) if not np.isnan(total[0]) else (1 << kind.bits - 1) - 1
    return Step(name, terms, None, None, _sum([term.value for term in terms]), "to nearest even", code, kind.name)
