"""Codes of the operands by category, drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.dtypes import DType
from ...isa.mma import MmaForm
from ...isa.operand import Operand
from .stream import Stream

__all__ = ["accumulator", "compose", "float_multiplicand", "integer_multiplicand", "scale"]

# -- integers -----------------------------------------------------------------------------------------------------------


def integer_multiplicand(
    stream: Stream, operand: Operand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
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


def accumulator(stream: Stream, ins: MmaForm, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
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


def compose(
    kind: DType,
    sign: NDArray[Any],
    field: NDArray[Any],
    fraction: NDArray[Any],
    noise: NDArray[Any] | None = None,
) -> NDArray[Any]:
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


def float_multiplicand(
    stream: Stream, operand: Operand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
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
    elif (
        category == "bottom"
    ):  # products around and far below the smallest result; centres differ along the first axis
        deep = (bias - 545, bias - 500) if kind.name == "f64" else (max(bias - 100, 1), max(bias - 40, 1))
        centre = stream.between(*deep, (shape[0], 1, 1))
        field = centre + stream.between(-8, 8, shape)
        field = np.where(stream.chance(10, shape), 0, field)
    elif category == "zeros":
        field = np.where(
            stream.chance(50, shape),
            0,
            np.where(
                stream.chance(50, shape), stream.between(top - 4, top, shape), stream.between(0, bias, shape)
            ),
        )
        fraction = np.where((field == 0) & stream.chance(80, shape), 0, fraction)
    elif category == "overflow":
        field = stream.between(bias + (bias + 1) // 2 - 2, bias + (bias + 1) // 2 + 2, shape)
        sign = np.where(stream.chance(85, shape), 0, sign)
    if category == "cancellation":
        field = stream.between(bias - 2, bias + 2, shape)
        codes = compose(kind, sign, field, fraction, noise)
        flipped = codes[..., 0::2] ^ kind.code_type(1 << (kind.bits - 1))
        nearly = stream.chance(15, flipped.shape).astype(kind.code_type) << kind.code_type(kind.ignored_bits)
        if (
            operand.name == "A"
        ):  # neighbours of A are opposite, rows of B repeat in eights, so that whatever the metadata picks, products cancel
            codes[..., 1::2] = flipped ^ nearly
        else:
            slip = stream.chance(3, shape).astype(kind.code_type) << kind.code_type(kind.ignored_bits)
            codes = np.repeat(codes[..., 0::8], 8, axis=-1)[..., : shape[-1]] ^ slip
        return codes
    codes = compose(kind, sign, field, fraction, noise)
    if category == "special":
        mask = (1 << kind.bits) - 1
        infinite = top << (kind.fraction_bits + kind.ignored_bits)
        odd = [
            0,
            1 << (kind.bits - 1),
            infinite & mask,
            (infinite | 1 << (kind.bits - 1)) & mask,
            mask,
            (infinite | 1 << kind.ignored_bits) & mask,
        ]
        codes = np.where(
            stream.chance(4, shape), stream.pick(np.array(odd, dtype=kind.code_type), shape), codes
        ).astype(kind.code_type)
    return codes


def _float_accumulator(stream: Stream, ins: MmaForm, category: str, shape: tuple[int, ...]) -> NDArray[Any]:
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
    if category in (
        "exponents",
        "special",
        "subnormals",
        "bottom",
        "zeros",
    ):  # half of them where the products are
        reach = ins.a.dtype.bias + ins.b.dtype.bias
        near = stream.between(max(bias - reach - 16, 0), min(bias + reach + 4, top - 1), shape)
        field = np.where(stream.chance(50, shape), near, field)
    zero = stream.chance(25 if category != "bottom" else 40, shape)
    field, fraction = np.where(zero, 0, field), np.where(zero, 0, fraction)
    codes = compose(kind, sign, field, fraction)
    if category == "special":
        infinite = top << kind.fraction_bits
        odd = [
            infinite,
            infinite | 1 << (kind.bits - 1),
            infinite | 1,
            (1 << kind.bits) - 1,
            0,
            1 << (kind.bits - 1),
        ]
        codes = np.where(
            stream.chance(10, shape), stream.pick(np.array(odd, dtype=kind.code_type), shape), codes
        ).astype(kind.code_type)
    return codes


def scale(stream: Stream, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """Scales around 1, some at the ends, a few NaN."""
    codes = stream.between(
        kind.bias * (1 << kind.fraction_bits) - 24, kind.bias * (1 << kind.fraction_bits) + 24, shape
    )
    codes = np.where(
        stream.chance(20, shape), stream.below(1 << (kind.exponent_bits + kind.fraction_bits), shape), codes
    )
    return np.clip(codes, 0, 255).astype(np.uint8)
