"""What every rule has, and its inputs: the element codes of a batch, or those of one element of D."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.dtypes import DType
from ...isa.operation import Operation
from ...isa.product_form import ProductForm
from ...isa.sparsity import check_nibbles
from ...isa.tcgen05 import TensorInstruction
from ...isa.zero_column_mask import ZeroColumnMask
from ..arithmetic import fma_f32
from ..steps import Number, Step, Term, add_up, aligned_number, multiply, number, stored_term

Array = NDArray[Any]


class Rule(ABC):
    """How a chip computes D from A, B and C, to the last bit."""

    @abstractmethod
    def dot(self, operation: Operation) -> Array:
        """Codes of D [count, rows, columns] for a batch [count, lanes, registers]."""

    def run(self, operation: Operation) -> Array:
        """Registers of D for a batch [count, lanes, registers]."""
        return pack_result(operation, self.dot(operation))

    def accumulate(self, operation: Operation) -> Array:
        """Registers of D [iterations, count, lanes, registers], where D of one iteration is C of the next.

        All operands but C have an axis of iterations in front.
        """
        d, c = [], operation.c
        for iteration in range(len(operation.a)):
            d.append(self.run(of_iterations(operation, iteration, c)))
            c = d[-1]
        return np.stack(d)

    @abstractmethod
    def trace(self, element: Element) -> list[Step]:
        """How one element of D is computed, step by step, in exact numbers."""


def of_iterations(operation: Operation, index: int | tuple[slice, slice], c: Array) -> Operation:
    """Index the axis of iterations, or this and the batch axis, of all operands but C, and replace C."""
    names = [name for name in operation.ins.inputs if name != "c"]
    return replace(operation, c=c, **{name: getattr(operation, name)[index] for name in names})


def pack_result(operation: Operation, codes: Array) -> Array:
    """Registers of D from its codes; words of tensor memory that are not written keep the value of C."""
    ins, disabled = operation.ins, operation.modifiers.disable_output_lane
    words = ins.d.to_registers(codes)
    if not isinstance(ins, TensorInstruction):
        return words
    written = ins.written
    if disabled:
        lanes = [not disabled >> lane & 1 for lane in range(words.shape[-2])]
        written = written & np.array(lanes)[:, None]
    return words if written.all() else np.where(written, words, operation.c)


@dataclass(frozen=True)
class Codes:
    """The element codes of a batch: A [count, M, K], B [count, K, N], C [count, M, N].

    Modifiers are applied: imm-scale negates A, scale-d = 0 clears C. The four MMAs of m8n8k4 are an axis of
    their own.
    """

    a: Array
    b: Array
    c: Array
    nibbles: Array | None
    scales: tuple[Array, Array] | None

    @classmethod
    def of(cls, operation: Operation, c: Array | None = None) -> Codes:
        """Unpack the registers; `c` has the codes of C if they are known."""
        c = codes_of_c(operation) if c is None else c
        a, b = codes_of_a(operation), codes_of_b(operation)
        codes = cls(a, b, c, nibbles_of(operation), scales_of(operation))
        return codes if operation.ins.mma_count == 1 else codes._unstacked()

    def _unstacked(self) -> Codes:
        """Four matrices stacked below each other (B: side by side) -> an axis of four before the matrix."""

        def unstack(stacked: Array) -> Array:
            return stacked.reshape(*stacked.shape[:-2], 4, stacked.shape[-2] // 4, stacked.shape[-1])

        b = np.swapaxes(unstack(np.swapaxes(self.b, -1, -2)), -1, -2)
        return replace(self, a=unstack(self.a), b=b, c=unstack(self.c))


# -- codes with the modifiers applied ---------------------------------------------------------------------


def codes_of_c(operation: Operation) -> Array:
    """C's codes; zeros if scale-d or enable-input-d is 0."""
    codes, modifiers = operation.codes("C"), operation.modifiers
    return codes if modifiers.scale_d and modifiers.enable_input_d else np.zeros_like(codes)


def codes_of_a(operation: Operation) -> Array:
    """A's codes, negated where A or B is: the products are the same."""
    ins = operation.ins
    a = operation.codes("stored" if ins.sparse else "A")
    return a ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1)) if negated(operation) else a


def codes_of_b(operation: Operation) -> Array:
    """B's codes, with zeros in the columns that a mask disables."""
    codes, zeros = operation.codes("B"), zero_columns(operation)
    codes = used_columns(operation, codes)
    return codes if zeros is None else np.where(zeros, codes.dtype.type(0), codes)


def used_columns(operation: Operation, b: Array) -> Array:
    """The N columns of B that are multiplied, from the column shift of tcgen05.mma.ws on."""
    ins = operation.ins
    if not isinstance(ins, TensorInstruction) or not ins.ws:
        return b
    first = operation.modifiers.column_shift
    return b[..., first : first + ins.n]


def zero_columns(operation: Operation) -> NDArray[np.bool_] | None:
    """Which columns of B count as zeros: [n]; None if there is no mask."""
    if not operation.modifiers.zero_column_mask:
        return None
    mask = ZeroColumnMask.decode(operation.modifiers.zero_column_mask)
    return mask.zeros(operation.ins.m, operation.ins.n)


def negated(operation: Operation) -> bool:
    """Whether every product changes its sign: A or B is negated, but not both."""
    ins, modifiers = operation.ins, operation.modifiers
    if ins.descriptor is not None:
        return ins.descriptor.negate_a != ins.descriptor.negate_b
    return modifiers.imm_scale_a * modifiers.imm_scale_b < 0


def nibbles_of(operation: Operation) -> Array | None:
    """The metadata nibbles that the selector chooses; None for a dense instruction."""
    ins = operation.ins
    if ins.structure is None:
        return None
    return check_nibbles(ins.structure, operation.codes("E"), ins.nibbles)


def scales_of(operation: Operation) -> tuple[Array, Array] | None:
    """Codes of the block scales that the modifiers choose; None without block scales.

    >>> from ptxlab.isa.parse import parse_mma
    >>> kind = "kind::mxf4.block_scale.scale_vec::2X"
    >>> ins = parse_mma(f"mma.sync.aligned.m16n8k64.row.col.{kind}.f32.e2m1.e2m1.f32.ue8m0")
    >>> operation = Operation.from_matrices(ins, np.zeros((16, 64)), np.zeros((64, 8)))   # scales of 1
    >>> hex(scales_of(operation)[0][0, 0])
    '0x7f'
    """
    if operation.ins.scale_a is None:
        return None
    return operation.codes("SFA"), operation.codes("SFB")


# -- one element ------------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """The codes of the two factors of a product."""

    k: int
    a: int
    b: int


@dataclass(frozen=True)
class Element:
    """The inputs of D[row][column]: pairs of factors in the order in which A is stored, C, and block scales.

    `column_of_b` differs from `column` for the four stacked MMAs of m8n8k4. `scales` has value and exponent
    of the scales of A's blocks, then of B's.
    """

    ins: ProductForm
    row: int
    column_of_b: int
    pairs: list[Factors]
    c_code: int
    scales: list[tuple[Number, int | None]]
    c_shift: int = 0  # C is multiplied by 2^-c_shift

    @classmethod
    def of(cls, operation: Operation, row: int, column: int) -> Element:
        """The inputs of one element of one instruction."""
        ins = operation.ins
        if operation.batch:
            raise PtxlabError(f"a trace is of one {ins.mnemonic}, found a batch of shape {operation.batch}")
        a, b, c = codes_of_a(operation), codes_of_b(operation), codes_of_c(operation)
        scales: list[tuple[Number, int | None]] = []
        codes = scales_of(operation)
        if codes is not None and ins.scale_a is not None:
            element_codes = (*codes[0][row], *codes[1][:, column])
            scales = [aligned_number(int(code), ins.scale_a.dtype) for code in element_codes]
        positions: Sequence[int] = range(ins.k)
        nibbles = nibbles_of(operation)
        if ins.structure is not None and nibbles is not None:
            positions = ins.structure.positions(nibbles, ins.metadata_ordered)[row].tolist()
        column_of_b = ins.column_of_b(row, column)
        pairs = [Factors(k, int(x), int(b[k, column_of_b])) for k, x in zip(positions, a[row], strict=True)]
        c_code, c_shift = int(c[row, column]), operation.modifiers.scale_input_d
        shift = operation.modifiers.column_shift
        return cls(ins, row, column_of_b + shift, pairs, c_code, scales, c_shift)

    @property
    def c(self) -> Number:
        """The value of C, scaled."""
        return multiply(number(self.c_code, self.ins.c_type), Fraction(1, 1 << self.c_shift))

    def c_term(self, code: int, float_type: DType) -> Term:
        """C, scaled; `code` and its type differ from those of C where a chip converts C first."""
        return stored_term("C", code, float_type).times(Fraction(1, 1 << self.c_shift), -self.c_shift)

    def product(
        self, index: int, dtypes: tuple[DType, DType] | None = None, codes: tuple[int, int] | None = None
    ) -> Term:
        """One product; `dtypes` and `codes` are those of factors that the compiler converts first."""
        pair = self.pairs[index]
        a_type, b_type = dtypes or (self.ins.a.dtype, self.ins.b.dtype)
        a_code, b_code = codes or (pair.a, pair.b)
        (x, x_exponent), (y, y_exponent) = aligned_number(a_code, a_type), aligned_number(b_code, b_type)
        origin = {"factors": (x, y), "k": (pair.k,), "row": self.row, "column": self.column_of_b}
        if self.ins.bit_op == "xor":
            return Term.whole("product", Fraction(pair.a ^ pair.b), None, **origin)
        exponent = None if x_exponent is None or y_exponent is None else x_exponent + y_exponent
        places = a_type.fraction_bits + b_type.fraction_bits
        return self._scaled(index, Term.whole("product", multiply(x, y), exponent, places=places, **origin))

    def block_sums(self, size: int) -> list[Term]:
        """Terms of block-scaled e2m1: exact sums of `size` products, times the scales of their block.

        They are aligned by the exponents of the scales.
        """
        sums = []
        for first in range(0, len(self.pairs), size):
            block = self.pairs[first : first + size]
            total = add_up(
                multiply(number(pair.a, self.ins.a_type), number(pair.b, self.ins.b_type)) for pair in block
            )
            places = self.ins.a.dtype.fraction_bits + self.ins.b.dtype.fraction_bits
            k = tuple(pair.k for pair in block)
            sums.append(self._scaled(first, Term.whole("block", total, 0, places=places, k=k)))
        return sums

    def _scaled(self, index: int, term: Term) -> Term:
        """A term times the scales of its block."""
        if not self.scales or self.ins.scale_a is None:
            return term
        blocks = len(self.scales) // 2
        block = index * blocks // len(self.pairs)
        for scale, exponent in (self.scales[block], self.scales[blocks + block]):
            term = term.times(scale, exponent, self.ins.scale_a.dtype.fraction_bits)
        return term

    @cached_property
    def products(self) -> list[Term]:
        """All products, in the order in which A is stored."""
        return [self.product(index) for index in range(len(self.pairs))]

    def fma32(self) -> float | None:
        """A chain of float32 FMAs from C, k ascending: what ordinary code would compute."""
        ins = self.ins
        if not ins.a.dtype.is_float or ins.a_type == "f64" or self.scales:
            return None
        with np.errstate(all="ignore"):
            total = np.asarray(ins.c.dtype.decode([self.c_code])).astype(np.float32)
            total = total * np.float32(2.0**-self.c_shift)
            _, a_codes, b_codes = zip(*sorted(self.pairs), strict=True)
            a, b = (ins.a.dtype.decode(a_codes), ins.b.dtype.decode(b_codes))
            for x, y in zip(a.astype(np.float32), b.astype(np.float32), strict=True):
                total = fma_f32(x, y, total)
        return float(total[0])
