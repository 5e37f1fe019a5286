"""One MMA whose result is in question, the comparison of the two sides, and which codes are simpler."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.catalog import Product
from ..isa.dtypes import DType
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..isa.tcgen05 import TensorInstruction
from ..memory import Tile

#: Most products, elements of all inputs, and MMAs of one batch.
_MAX_PRODUCTS, _MAX_ELEMENTS, _MAX_MMAS = 1 << 24, 1 << 22, 8192
#: Complexity of the largest and smallest integer of a type that has large ones: an accumulator at the end of
#: its range says more than one near it.
_END_OF_RANGE = 1000

#: Element codes (or registers) by the argument that takes them: "a", "b", "c", "e", "scale_a", "scale_b".
Codes = Mapping[str, NDArray[Any]]

#: A place in the inputs: argument, row, column.
Cell = tuple[str, int, int]

#: What computes D: `gpu.run`, the emulator, or any other function of the operands.
Runner = Callable[[Operation], NDArray[Any]]


class Configuration(NamedTuple):
    """How an instruction is issued: the form (with the place of A) and the modifiers."""

    ins: Product
    modifiers: Modifiers

    @property
    def legal(self) -> bool:
        """Whether the instruction takes the modifiers, and its tiles in shared memory the swizzle."""
        transposed = {"A": self.modifiers.imm_trans_a, "B": self.modifiers.imm_trans_b}
        if isinstance(self.ins, TensorInstruction):
            descriptor = self.ins.descriptor
            transposed = {"A": descriptor.transpose_a, "B": descriptor.transpose_b}
        try:
            self.ins.check_modifiers(self.modifiers)
            for operand in (self.ins.a, self.ins.b):
                if isinstance(operand, Operand) and operand.space == "shared":
                    Tile.of(operand, self.modifiers.swizzle, bool(transposed[operand.name]))
        except PtxlabError:
            return False
        return True


def batch_size(ins: Product) -> int:
    """How many MMAs are made and compared in one batch."""
    elements = sum(operand.shape[0] * operand.shape[1] for operand in ins.inputs.values())
    products = ins.d.shape[0] * ins.n * ins.k
    return max(min(_MAX_PRODUCTS // products, _MAX_ELEMENTS // elements, _MAX_MMAS), 1)


@dataclass(frozen=True)
class Case:
    """One MMA, and the element of D on which the two sides differ.

    `codes` holds the element codes of every input, [rows, columns]; with `in_registers` it holds registers,
    [lanes, registers] instead: a difference may come from bits that are in no matrix, such as those of lanes
    that the sparsity selector leaves out.
    """

    configuration: Configuration
    row: int
    col: int
    codes: Codes
    in_registers: bool = False

    @property
    def ins(self) -> Product:
        """The instruction."""
        return self.configuration.ins

    @property
    def b_column(self) -> int:
        """The column of B that goes into this element of D."""
        return self.ins.column_of_b(self.row, self.col)

    def code(self, cell: Cell) -> int:
        """The code in one place."""
        argument, row, col = cell
        return int(self.codes[argument][row, col])

    def default(self, argument: str) -> int:
        """The code that fills an input where nothing else is needed: 0, the first nibble, a scale of 1."""
        operand = self.ins.inputs[argument]
        code = 0
        if argument == "e" and self.ins.structure is not None:
            code = min(self.ins.structure.nibbles)
        elif argument in ("scale_a", "scale_b"):
            code = int(operand.dtype.encode(1))
        if code and self.in_registers:
            return int(operand.pack_codes(np.full(operand.shape, code))[0, 0])
        return code

    def changed_cells(self, argument: str) -> list[Cell]:
        """Places in which an input differs from its default."""
        places = np.argwhere(self.codes[argument] != self.default(argument))
        return [(argument, row, col) for row, col in places.tolist()]

    def with_codes(self, changes: Mapping[Cell, int]) -> Case:
        """The same case with other codes in these places."""
        codes = {argument: array.copy() for argument, array in self.codes.items()}
        for (argument, row, col), code in changes.items():
            codes[argument][row, col] = code
        return replace(self, codes=codes)

    def operands(self, batch: Codes | None = None) -> Operation:
        """The operation of this case, or of a batch of codes that replaces its own."""
        registers = dict(self.codes if batch is None else batch)
        if not self.in_registers:
            registers = {name: self.ins.inputs[name].pack_codes(codes) for name, codes in registers.items()}
        return Operation(self.ins, **registers, modifiers=self.configuration.modifiers)

    def element_codes(self, argument: str) -> NDArray[Any]:
        """The element codes of an input, [rows, columns], even if the case holds registers."""
        if not self.in_registers:
            return self.codes[argument]
        copy = self.configuration.modifiers.selector if argument == "e" else 0
        return self.ins.inputs[argument].unpack_codes(self.codes[argument], copy)

    def positions(self) -> NDArray[np.int64]:
        """The k of every stored element in this row of A."""
        if self.ins.structure is None:
            return np.arange(self.ins.a.shape[1])
        nibbles = self.element_codes("e")[self.row : self.row + 1]
        return np.asarray(self.ins.structure.positions(nibbles, self.ins.metadata_ordered)[0])


class OutOfTime(Exception):
    """The time for a search is over."""


class Comparator:
    """Runs operations on the emulator and on the machine, and counts the launches.

    Once the monotonic clock has passed `until`, it raises `OutOfTime` instead.
    """

    def __init__(self, emulator: Runner, machine: Runner) -> None:
        self._emulator, self._machine = emulator, machine
        self.until = float("inf")
        self.launches = 0

    def run(self, operands: Operation) -> tuple[NDArray[Any], NDArray[Any]]:
        """Registers of D from the emulator and from the machine."""
        if time.monotonic() > self.until:
            raise OutOfTime
        self.launches += 1
        return np.asarray(self._emulator(operands)), np.asarray(self._machine(operands))

    def element(self, case: Case) -> tuple[int, int]:
        """The codes that the emulator and the machine give for the element of the case."""
        batch = {argument: array[None] for argument, array in case.codes.items()}
        emulator, machine = self._elements(case, batch)
        return int(emulator[0]), int(machine[0])

    def differs(self, case: Case) -> bool:
        """Whether the two sides disagree about the element of the case."""
        return self.which_differ([case])[0]

    def which_differ(self, cases: Sequence[Case]) -> list[bool]:
        """Like `differs`, for cases that differ only in their codes, in as few launches as possible."""
        if not cases:
            return []
        step = batch_size(cases[0].ins)
        differ: list[bool] = []
        for first in range(0, len(cases), step):
            part = cases[first : first + step]
            batch = {name: np.stack([case.codes[name] for case in part]) for name in part[0].codes}
            emulator, machine = self._elements(part[0], batch)
            differ += (emulator != machine).tolist()
        return differ

    def _elements(self, case: Case, batch: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        emulator, machine = self.run(case.operands(batch))
        d = case.ins.d
        return (
            d.unpack_codes(emulator)[:, case.row, case.col],
            d.unpack_codes(machine)[:, case.row, case.col],
        )


# -- which codes are simpler than others -----------------------------------------------------------------


class FloatParts(NamedTuple):
    """A float code in parts: sign bit, exponent field, fraction, ignored bits.

    >>> from ptxlab import dtype
    >>> FloatParts.of(dtype("f16"), 0xC100)   # -2.5
    FloatParts(sign=1, exponent=16, fraction=256, ignored=0)
    """

    sign: int
    exponent: int
    fraction: int
    ignored: int = 0

    @classmethod
    def of(cls, dtype: DType, code: int) -> FloatParts:
        """The parts of a code."""
        used = code >> dtype.ignored_bits
        return cls(
            sign=used >> (dtype.fraction_bits + dtype.exponent_bits) & 1,
            exponent=used >> dtype.fraction_bits & ((1 << dtype.exponent_bits) - 1),
            fraction=used & ((1 << dtype.fraction_bits) - 1),
            ignored=code & ((1 << dtype.ignored_bits) - 1),
        )

    def code(self, dtype: DType) -> int:
        """The code that has these parts."""
        used = (self.sign << dtype.exponent_bits | self.exponent) << dtype.fraction_bits | self.fraction
        return used << dtype.ignored_bits | self.ignored


def is_normal(dtype: DType, *exponents: int) -> bool:
    """Whether all exponent fields are those of normal numbers."""
    return all(0 < exponent < (1 << dtype.exponent_bits) - 1 for exponent in exponents)


def complexity(dtype: DType, code: int) -> int:
    """How far a number is from a simple one; 0 for zero.

    What counts for a float: bits of the fraction, the distance of the exponent from 0, a sign; for an
    integer: the distance from 0 or from the end of the range, a sign.

    >>> from ptxlab import dtype
    >>> [complexity(dtype("f16"), code) for code in (0x0000, 0x3C00, 0x4000, 0x4200)]   # 0, 1, 2, 3
    [0, 1, 3, 7]
    """
    if code == 0:
        return 0
    if dtype.is_float:
        sign, exponent, fraction, ignored = FloatParts.of(dtype, code)
        distance = abs(exponent - dtype.bias)
        return 1 + sign + 4 * fraction.bit_count() + 2 * distance + ignored.bit_count()
    value = _integer(dtype, code)
    from_end = _END_OF_RANGE + 2 * abs(_end_of_range(dtype, value) - value)
    return min(2 * abs(value), from_end) + (1 if value < 0 else 0)


def simpler_codes(dtype: DType, code: int) -> list[int]:
    """Codes of less complexity that are worth trying."""
    candidates = _float_candidates(dtype, code) if dtype.is_float else _integer_candidates(dtype, code)
    limit = complexity(dtype, code)
    return [candidate for candidate in dict.fromkeys(candidates) if complexity(dtype, candidate) < limit]


def _integer(dtype: DType, code: int) -> int:
    """The value of an integer code."""
    is_negative = dtype.signed and code >> (dtype.bits - 1)
    return code - (1 << dtype.bits) if is_negative else code


def _end_of_range(dtype: DType, value: int) -> int:
    return dtype.minimum if value < 0 else dtype.maximum


def _integer_candidates(dtype: DType, code: int) -> list[int]:
    value = _integer(dtype, code)
    sign, magnitude, end = (-1 if value < 0 else 1), abs(value), _end_of_range(dtype, value)
    values = [
        0,
        1,
        -1,
        -value,
        sign * (magnitude // 2),
        sign * (magnitude // 16),
        sign * (magnitude - 1),
        sign * (1 << max(magnitude.bit_length() - 1, 0)),
        magnitude & -magnitude,
        end,
        end - (end - value) // 2,
        value + sign,
    ]
    mask = (1 << dtype.bits) - 1
    return [candidate & mask for candidate in values if dtype.minimum <= candidate <= dtype.maximum]


def _float_candidates(dtype: DType, code: int) -> list[int]:
    parts = FloatParts.of(dtype, code)
    fraction, exponent = parts.fraction, parts.exponent
    candidates = [FloatParts(0, dtype.bias, 0), parts._replace(sign=0), parts._replace(ignored=0)]
    lowest_bit, highest_bit = fraction & -fraction, 1 << max(fraction.bit_length() - 1, 0)
    half = dtype.fraction_bits // 2
    fractions = {
        0,
        fraction & ~lowest_bit,
        fraction & ~highest_bit,
        fraction >> half << half,
        fraction & highest_bit,
        lowest_bit,
        fraction & ((1 << half) - 1),
    }
    candidates += [parts._replace(fraction=other) for other in fractions]
    direction = 1 if exponent < dtype.bias else -1
    distance = abs(exponent - dtype.bias)
    for step in {1, 2, distance // 8, distance // 4, distance // 2, distance * 3 // 4, distance}:
        nearer = exponent + direction * step
        if nearer >= 0:
            candidates += [FloatParts(parts.sign, nearer, other) for other in (fraction, 0)]
    return [0, *(candidate.code(dtype) for candidate in candidates)]
