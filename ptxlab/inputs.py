"""Inputs that find differences: random and directed registers for any instruction, the same for a seed on every machine.

Drawn from Philox's raw stream, which NumPy keeps stable, so that recorded results need only the seed of their inputs.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .dtypes import DType
from .errors import PtxlabError, listing
from .instruction import Instruction
from .operand import Operand

__all__ = ["Registers", "categories", "make"]

_INTEGER = ("bits", "extremes", "halves", "edges")
_FLOAT = ("bits", "moderate", "exponents", "subnormals", "cancellation", "special", "bottom", "zeros", "overflow")


class Registers(NamedTuple):
    """Arguments for `emulate` and `run`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> given = make(ins, "bits", count=2)
    >>> given.a.shape, given.e, given.scales
    ((2, 32, 4), None, {'scale_a': None, 'scale_b': None})
    >>> ins.emulate(given.a, given.b, given.c).shape
    (2, 32, 4)
    """

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    e: NDArray[Any] | None
    scale_a: NDArray[Any] | None
    scale_b: NDArray[Any] | None

    @property
    def scales(self) -> dict[str, NDArray[Any] | None]:
        return {"scale_a": self.scale_a, "scale_b": self.scale_b}


class _Stream:
    """Random numbers from raw 64-bit draws only. Every draw has a stream of its own, so that a larger first axis only adds to a smaller one."""

    def __init__(self, *key: object) -> None:
        self._key = key
        self._draws = 0

    def _raw(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        self._draws += 1
        stream = np.random.Philox(key=zlib.crc32(repr((self._draws, *self._key)).encode()))
        return stream.random_raw(int(np.prod(shape, dtype=np.int64))).reshape(shape) >> np.uint64(16)

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return (self._raw(shape) % np.uint64(limit)).astype(np.int64)

    def codes(self, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """Random bits."""
        return self.raw(kind.bits, shape).astype(kind.code_type)

    def raw(self, bits: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """So many random bits, to be cut into sign, fraction and noise; 64 of them from two draws, since one has 48."""
        return self.below(1 << bits, shape) if bits < 64 else (self._raw(shape) << np.uint64(32) ^ self._raw(shape)).astype(np.int64)

    def between(self, low: int, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Whole numbers low..high, both included."""
        return low + self.below(max(high - low + 1, 1), shape)

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return self.below(100, shape) < percent

    def pick(self, values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        values = np.asarray(values)
        return np.asarray(values[self.below(len(values), shape)])


def categories(ins: Instruction) -> tuple[str, ...]:
    """Names of the kinds of inputs for this instruction.

    >>> import ptxlab
    >>> categories(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    ('bits', 'extremes', 'halves', 'edges')
    """
    return _FLOAT if ins.a.dtype.is_float else _INTEGER


def make(ins: Instruction, category: str, count: int, seed: int = 0, selector: int = 0) -> Registers:
    """`count` sets of registers of that category.

    The key of the streams leaves out N and the spelling, and B and C are drawn column by column: instructions that
    differ in N alone get the same columns.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> np.unique(ins.a.unpack(make(ins, "extremes", count=1).a))
    array([-8, -1,  0,  1,  7], dtype=int8)
    """
    if category not in categories(ins):
        raise PtxlabError(f"unknown category {category!r}; {ins.mnemonic} has {listing(categories(ins))}")
    key = (ins.family, ins.m, ins.k, ins.a_type, ins.b_type, ins.d_type, ins.bit_op, category, count, seed)
    draw = _float_multiplicand if ins.a.dtype.is_float else _integer_multiplicand
    (depth, columns), (rows, across) = ins.b.shape, ins.c.shape
    a = draw(_Stream("A", *key), ins.a, category, (count, *ins.a.shape))
    b = np.moveaxis(draw(_Stream("B", *key), ins.b, category, (columns, count, depth)), 0, -1)
    c = np.moveaxis(_accumulator(_Stream("C", *key), ins, category, (across, count, rows)), 0, -1)
    e = _metadata(_Stream("E", *key), ins, count, selector) if ins.e is not None else None
    scales = [o.pack_codes(_scale(_Stream(o.name, *key), o.dtype, (count, *o.shape))) if o else None for o in (ins.scale_a, ins.scale_b)]
    packed_a, packed_b = (_with_noise(_Stream("copies", o.name, *key), o, o.pack_codes(x)) for o, x in ((ins.a, a), (ins.b, b)))
    return Registers(packed_a, packed_b, ins.c.pack_codes(c), e, *scales)


def _with_noise(stream: _Stream, operand: Operand, registers: NDArray[Any]) -> NDArray[Any]:
    """Random bits where an operand holds its elements again (WMMA with f16): only the first copy is read."""
    if operand.layout is None or operand.layout.copies == 1:
        return registers
    held = operand.split(registers).reshape(len(registers), -1)
    silent = np.setdiff1d(np.arange(held.shape[1]), operand.layout.scatter(0))
    held[:, silent] = stream.codes(operand.dtype, (len(registers), len(silent)))
    return operand.join(held.reshape(len(registers), operand.lanes, -1))


def _metadata(stream: _Stream, ins: Instruction, count: int, selector: int) -> NDArray[Any]:
    """Random legal nibbles where the selected lanes speak, random bits in the registers of the others."""
    structure, e = ins.structure, ins.e
    if structure is None or e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no metadata")
    legal = structure.nibbles if ins.metadata_ordered else structure.unordered
    registers = e.pack_codes(stream.pick(sorted(legal), (count, *e.shape)).astype(np.uint8))
    speaking = np.unique(e.layout.scatter(selector) // e.layout.elements)
    silent = np.setdiff1d(np.arange(e.lanes), speaking)
    registers[:, silent] = stream.below(1 << 32, (count, len(silent), 1)).astype(np.uint32)
    return registers


# -- integers -----------------------------------------------------------------------------------------------------------


def _integer_multiplicand(stream: _Stream, operand: Operand, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Codes of A or B, K last. `halves` sets the first half of K against the second, so that a sum that is clamped on the way shows."""
    kind = operand.dtype
    codes = stream.below(1 << kind.bits, shape)
    mask = (1 << kind.bits) - 1
    if category == "extremes":
        codes = stream.pick(sorted({kind.minimum & mask, kind.maximum & mask, 0, 1, mask}), shape)
    elif category == "halves":
        high, low = kind.maximum & mask, kind.minimum & mask
        first = np.arange(shape[-1]) < shape[-1] // 2
        sign = stream.chance(50, (*shape[:-1], 1)) ^ (first if operand.name == "A" else np.zeros_like(first))
        codes = np.where(stream.chance(10, shape), codes, np.where(sign, high, low))
    return codes.astype(kind.code_type)


def _accumulator(stream: _Stream, ins: Instruction, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
    kind = ins.c.dtype
    if kind.is_float:
        return _float_accumulator(stream, ins, category, shape)
    if category == "bits":
        return stream.below(1 << 32, shape).astype(np.uint32)
    reach = ins.k * 255 * 255 if ins.a.dtype.bits == 8 else ins.k * 15 * 15
    near = stream.below(max(reach // (2 if category == "edges" else 8), 4), shape)
    edge = stream.chance(50, shape)
    return np.where(edge, 0x7FFFFFFF - near, 0x80000000 + near).astype(np.uint32)


# -- floats -------------------------------------------------------------------------------------------------------------


def _compose(kind: DType, sign: NDArray[Any], field: NDArray[Any], fraction: NDArray[Any], noise: NDArray[Any] | None = None) -> NDArray[Any]:
    """Sign, exponent field and fraction -> codes; the field is clipped to what is finite."""
    top = (1 << kind.exponent_bits) - 1 - (kind.name not in ("e4m3", "e3m2", "e2m3", "e2m1"))
    field = np.clip(field, 0, top)
    fraction = fraction & ((1 << kind.fraction_bits) - 1)
    if kind.name == "e4m3":
        fraction = np.where((field == 15) & (fraction == 7), 6, fraction)
    low = kind.ignored_bits
    code = ((sign << kind.exponent_bits | field) << kind.fraction_bits | fraction) << low
    if low and noise is not None:
        code = code | (noise & ((1 << low) - 1))
    return np.asarray(code.astype(kind.code_type))


def _float_multiplicand(stream: _Stream, operand: Operand, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Codes of A or B, K last."""
    kind = operand.dtype
    bits, bias = kind.signed + kind.exponent_bits + kind.fraction_bits, kind.bias
    if category == "bits":
        return stream.codes(kind, shape)
    raw = stream.raw(bits + kind.ignored_bits, shape)
    sign, fraction, noise = raw & 1, raw >> 1 & ((1 << kind.fraction_bits) - 1), raw >> (bits - 1)
    top = (1 << kind.exponent_bits) - 1
    field = stream.between(bias - 3, bias + 3, shape)
    if category in ("exponents", "special"):
        field = stream.between(0, top, shape)
    elif category == "subnormals":
        field = np.where(stream.chance(60, shape), 0, stream.between(0, 4, shape))
    elif category == "bottom":  # products around and far below the smallest result; centres differ along the first axis
        deep = (bias - 545, bias - 500) if kind.name == "f64" else (max(bias - 100, 1), max(bias - 40, 1))
        centre = stream.between(*deep, (shape[0], 1, 1))
        field = centre + stream.between(-8, 8, shape)
        field = np.where(stream.chance(10, shape), 0, field)
    elif category == "zeros":
        field = np.where(
            stream.chance(50, shape), 0, np.where(stream.chance(50, shape), stream.between(top - 4, top, shape), stream.between(0, bias, shape))
        )
        fraction = np.where((field == 0) & stream.chance(80, shape), 0, fraction)
    elif category == "overflow":
        field = stream.between(bias + (bias + 1) // 2 - 2, bias + (bias + 1) // 2 + 2, shape)
        sign = np.where(stream.chance(85, shape), 0, sign)
    if category == "cancellation":
        field = stream.between(bias - 2, bias + 2, shape)
        codes = _compose(kind, sign, field, fraction, noise)
        flipped = codes[..., 0::2] ^ kind.code_type(1 << (kind.bits - 1))
        nearly = stream.chance(15, flipped.shape).astype(kind.code_type) << kind.code_type(kind.ignored_bits)
        if operand.name == "A":  # neighbours of A are opposite, rows of B repeat in eights, so that whatever the metadata picks, products cancel
            codes[..., 1::2] = flipped ^ nearly
        else:
            slip = stream.chance(3, shape).astype(kind.code_type) << kind.code_type(kind.ignored_bits)
            codes = np.repeat(codes[..., 0::8], 8, axis=-1)[..., : shape[-1]] ^ slip
        return codes
    codes = _compose(kind, sign, field, fraction, noise)
    if category == "special":
        mask = (1 << kind.bits) - 1
        infinite = top << (kind.fraction_bits + kind.ignored_bits)
        odd = [0, 1 << (kind.bits - 1), infinite & mask, (infinite | 1 << (kind.bits - 1)) & mask, mask, (infinite | 1 << kind.ignored_bits) & mask]
        codes = np.where(stream.chance(4, shape), stream.pick(np.array(odd, dtype=kind.code_type), shape), codes).astype(kind.code_type)
    return codes


def _float_accumulator(stream: _Stream, ins: Instruction, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
    kind = ins.c.dtype
    if category == "bits":
        return stream.codes(kind, shape)
    raw = stream.raw(40 if kind.bits < 64 else 64, shape)
    sign, fraction = raw & 1, raw >> 1 & ((1 << kind.fraction_bits) - 1)
    top, bias = (1 << kind.exponent_bits) - 1, kind.bias
    spread = {
        "moderate": (bias - 6, bias + 6),
        "cancellation": (bias - 30, bias + 4),
        "subnormals": (0, 3),
        "bottom": (0, 24),
        "overflow": (top - 3, top - 1),
    }
    low, high = spread.get(category, (0, top))
    field = stream.between(max(low, 0), high, shape)
    if category in ("exponents", "special", "subnormals", "bottom", "zeros"):  # half of them where the products are
        reach = ins.a.dtype.bias + ins.b.dtype.bias
        near = stream.between(max(bias - reach - 16, 0), min(bias + reach + 4, top - 1), shape)
        field = np.where(stream.chance(50, shape), near, field)
    zero = stream.chance(25 if category != "bottom" else 40, shape)
    field, fraction = np.where(zero, 0, field), np.where(zero, 0, fraction)
    codes = _compose(kind, sign, field, fraction)
    if category == "special":
        infinite = top << kind.fraction_bits
        odd = [infinite, infinite | 1 << (kind.bits - 1), infinite | 1, (1 << kind.bits) - 1, 0, 1 << (kind.bits - 1)]
        codes = np.where(stream.chance(10, shape), stream.pick(np.array(odd, dtype=kind.code_type), shape), codes).astype(kind.code_type)
    return codes


def _scale(stream: _Stream, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """Scales around 1, some at the ends, a few NaN."""
    codes = stream.between(kind.bias * (1 << kind.fraction_bits) - 24, kind.bias * (1 << kind.fraction_bits) + 24, shape)
    codes = np.where(stream.chance(20, shape), stream.below(1 << (kind.exponent_bits + kind.fraction_bits), shape), codes)
    return np.clip(codes, 0, 255).astype(np.uint8)
