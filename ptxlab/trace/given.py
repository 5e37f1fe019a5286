"""What goes into one element of D: the codes of its factors and of C, with the names of their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arithmetic import fma_f32
from ..dtypes import DType
from ..emulator import scales_of
from ..errors import PtxlabError
from ..instruction import Instruction, Modifiers
from .record import Number, number

__all__ = ["Given", "Product", "aligned_number", "from_matrices", "from_registers", "times"]


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

    ins: Instruction
    pairs: list[tuple[int, int, int]]
    c_code: int
    where: tuple[int, int]
    scales: list[tuple[Number, int | None]]

    @property
    def c(self) -> Number:
        return number(self.c_code, self.ins.c_type)

    def product(self, at: int, kinds: tuple[DType, DType] | None = None, codes: tuple[int, int] | None = None) -> Product:
        """The product of that index; of other codes where a compiler converts its factors first."""
        k, a, b = self.pairs[at]
        kinds = kinds or (self.ins.a.dtype, self.ins.b.dtype)
        (x, ex), (y, ey) = (aligned_number(code, kind) for code, kind in zip(codes or (a, b), kinds, strict=True))
        name = f"A[{self.where[0]}][{k}] B[{k}][{self.where[1]}]"
        if self.ins.bit_op == "xor":
            return Product(name, Fraction(a ^ b), None, (x, y))
        exponent = None if ex is None or ey is None else ex + ey
        return self.scaled(at, Product(name, times(x, y), exponent, (x, y), kinds[0].fraction_bits + kinds[1].fraction_bits))

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
                x, y = (np.asarray(o.dtype.decode([code])).astype(np.float32) for o, code in ((self.ins.a, a), (self.ins.b, b)))
                total = fma_f32(x, y, total)
        return float(total[0])


def from_matrices(
    ins: Instruction, A: ArrayLike, B: ArrayLike, C: ArrayLike | None, row: int, col: int, scale_a: ArrayLike | None, scale_b: ArrayLike | None
) -> Given:
    """From whole matrices of values; A of a sparse instruction is dense."""
    nibbles = None
    if ins.structure is not None:
        A, nibbles = ins.compress(A)
    a, b = ins.a.check_matrix(A), ins.b.check_matrix(B)
    at = ins.column_of_b(row, col)
    c = 0 if C is None else int(ins.c.dtype.encode(ins.c.check_matrix(C)[row, col]))
    scales = []
    for operand, given, index in ((ins.scale_a, scale_a, (row, slice(None))), (ins.scale_b, scale_b, (slice(None), col))):
        if operand is not None:
            values = operand.check_matrix(np.ones(operand.shape) if given is None else given)
            scales += [aligned_number(int(code), operand.dtype) for code in operand.dtype.encode(values[index])]
        elif given is not None:
            raise PtxlabError(f"{ins.mnemonic} has no block scales")
    return Given(ins, _pairs(ins, ins.a.dtype.encode(a[row]), ins.b.dtype.encode(b[:, at]), nibbles, row), c, (row, at), scales)


def from_registers(ins: Instruction, found: Sequence[NDArray[Any]], row: int, col: int, modifiers: Modifiers) -> Given:
    """From the registers of one instruction, as `registers_of` gives them."""
    if any(each.ndim != 2 for each in found):
        raise PtxlabError(f"a trace is of one {ins.mnemonic}, found a batch of shape {next(each for each in found if each.ndim != 2).shape[:-2]}")
    a, b, c = (operand.unpack_codes(each) for operand, each in zip((ins.a, ins.b, ins.c), found, strict=False))
    if modifiers.imm_scale_a * modifiers.imm_scale_b < 0:
        a = a ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
    nibbles = ins.e.unpack_codes(found[3], modifiers.selector) if ins.e is not None else None
    scales: list[tuple[Number, int | None]] = []
    codes = scales_of(ins, list(found[4 if ins.e is not None else 3 :]), modifiers)
    if codes is not None and ins.scale_a is not None:
        scales = [aligned_number(int(code), ins.scale_a.dtype) for code in (*codes[0][row], *codes[1][:, col])]
    at = ins.column_of_b(row, col)
    return Given(ins, _pairs(ins, a[row], b[:, at], nibbles, row), int(c[row, col]) if modifiers.scale_d else 0, (row, at), scales)


def _pairs(ins: Instruction, a: NDArray[Any], b: NDArray[Any], nibbles: NDArray[Any] | None, row: int) -> list[tuple[int, int, int]]:
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
