"""What goes into one element of D: the codes of its factors and of C, with the names of their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.dtypes import DType
from ...isa.mma import MmaForm
from ...isa.operands import Operands
from .. import fma_f32
from ..emulate import nibbles_of, scales_of
from .record import Number, number

__all__ = ["Given", "Product", "aligned_number", "given_of", "times"]


class Product(NamedTuple):
    """A summand before its alignment."""

    name: str
    value: Number
    exponent: int | None
    factors: tuple[Number, Number] | None = None
    places: int | None = None


@dataclass(frozen=True)
class Given:
    """Factors as (k, code of A, code of B), C, the row of A and column of B, and the scales of A's blocks, then B's."""

    ins: MmaForm
    pairs: list[tuple[int, int, int]]
    c_code: int
    where: tuple[int, int]
    scales: list[tuple[Number, int | None]]

    @property
    def c(self) -> Number:
        return number(self.c_code, self.ins.c_type)

    def product(
        self, at: int, kinds: tuple[DType, DType] | None = None, codes: tuple[int, int] | None = None
    ) -> Product:
        """The product of that index; of other codes where a compiler converts its factors first."""
        k, a, b = self.pairs[at]
        kinds = kinds or (self.ins.a.dtype, self.ins.b.dtype)
        (x, ex), (y, ey) = (
            aligned_number(code, kind) for code, kind in zip(codes or (a, b), kinds, strict=True)
        )
        name = f"A[{self.where[0]}][{k}] B[{k}][{self.where[1]}]"
        if self.ins.bit_op == "xor":
            return Product(name, Fraction(a ^ b), None, (x, y))
        exponent = None if ex is None or ey is None else ex + ey
        return self.scaled(
            at, Product(name, times(x, y), exponent, (x, y), kinds[0].fraction_bits + kinds[1].fraction_bits)
        )

    def scaled(self, at: int, product: Product) -> Product:
        """Times the scales of the block that it is in."""
        if not self.scales or self.ins.scale_a is None:
            return product
        count = len(self.scales) // 2
        block = at * count // len(self.pairs)
        for scale, shift in (self.scales[block], self.scales[count + block]):
            exponent = None if product.exponent is None or shift is None else product.exponent + shift
            places = (product.places or 0) + self.ins.scale_a.dtype.fraction_bits
            product = product._replace(value=times(product.value, scale), exponent=exponent, places=places)
        return product

    @cached_property
    def products(self) -> list[Product]:
        """All of them, in the order in which A is stored."""
        return [self.product(at) for at in range(len(self.pairs))]

    def fma32(self) -> float | None:
        """A chain of float32 FMAs from C, k ascending: what ordinary code would compute."""
        if not self.ins.a.dtype.is_float or self.ins.a_type == "f64" or self.scales:
            return None
        with np.errstate(all="ignore"):
            total = np.asarray(self.ins.c.dtype.decode([self.c_code])).astype(np.float32)
            for _, a, b in sorted(self.pairs):
                x, y = (
                    np.asarray(o.dtype.decode([code])).astype(np.float32)
                    for o, code in ((self.ins.a, a), (self.ins.b, b))
                )
                total = fma_f32(x, y, total)
        return float(total[0])


def given_of(operands: Operands, row: int, col: int) -> Given:
    """What goes into D[row][col] of one instruction."""
    ins, modifiers = operands.ins, operands.modifiers
    if operands.batch:
        raise PtxlabError(f"a trace is of one {ins.mnemonic}, found a batch of shape {operands.batch}")
    a, b, c = ins.a.unpack_codes(operands.a), ins.b.unpack_codes(operands.b), ins.c.unpack_codes(operands.c)
    if modifiers.imm_scale_a * modifiers.imm_scale_b < 0:
        a = a ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
    scales: list[tuple[Number, int | None]] = []
    codes = scales_of(operands)
    if codes is not None and ins.scale_a is not None:
        scales = [
            aligned_number(int(code), ins.scale_a.dtype) for code in (*codes[0][row], *codes[1][:, col])
        ]
    column = ins.column_of_b(row, col)
    pairs = _pairs(ins, a[row], b[:, column], nibbles_of(operands), row)
    return Given(ins, pairs, int(c[row, col]) if modifiers.scale_d else 0, (row, column), scales)


def _pairs(
    ins: MmaForm, a: NDArray[Any], b: NDArray[Any], nibbles: NDArray[Any] | None, row: int
) -> list[tuple[int, int, int]]:
    positions: Sequence[int] = range(ins.k)
    if ins.structure is not None and nibbles is not None:
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)[row].tolist()
    return [(k, int(x), int(b[k])) for k, x in zip(positions, a, strict=True)]


def aligned_number(code: int, kind: DType) -> tuple[Number, int | None]:
    """Exact value and the exponent that it is aligned by: None for integers, zeros and what is not finite."""
    value = number(code, kind.name)
    if not kind.is_float or not isinstance(value, Fraction) or value == 0:
        return value, None
    field = code >> (kind.fraction_bits + kind.ignored_bits) & ((1 << kind.exponent_bits) - 1)
    return value, max(field, 0 if kind.fraction_bits == 0 else 1) - kind.bias


def times(x: Number, y: Number) -> Number:
    """The exact product, or the infinity or NaN that it is."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    signs = [float((v > 0) - (v < 0)) if v == v else np.nan for v in (x, y)]
    return float(signs[0] * signs[1] * np.inf)
