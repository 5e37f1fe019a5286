"""What is simpler than a code, and by how much."""

from __future__ import annotations

from ...isa.dtypes import DType
from ...isa.mma import MmaForm

__all__ = ["joined", "parts", "simpler", "simplest_nibble", "weight"]


def simplest_nibble(ins: MmaForm) -> int:
    """The metadata that keeps the first groups."""
    return min(ins.structure.nibbles) if ins.structure is not None else 0


def parts(kind: DType, code: int) -> tuple[int, int, int, int]:
    """Sign, exponent field, fraction, ignored bits."""
    low = kind.ignored_bits
    kept = code >> low
    field = kept >> kind.fraction_bits & ((1 << kind.exponent_bits) - 1)
    sign = kept >> (kind.fraction_bits + kind.exponent_bits) & 1
    return sign, field, kept & ((1 << kind.fraction_bits) - 1), code & ((1 << low) - 1)


def joined(kind: DType, sign: int, field: int, fraction: int, ignored: int = 0) -> int:
    """The inverse of `parts`."""
    return (
        (sign << kind.exponent_bits | field) << kind.fraction_bits | fraction
    ) << kind.ignored_bits | ignored


_END = 1000  # the weight of the largest and the smallest integer, where these are large: an accumulator at its end says more than one nearby


def _whole(kind: DType, code: int) -> int:
    return code - (1 << kind.bits) if kind.signed and code >> (kind.bits - 1) else code


def _end(kind: DType, value: int) -> int:
    return kind.minimum if value < 0 else kind.maximum


def weight(kind: DType, code: int) -> int:
    """0 for zero; more for every bit of the fraction, for the distance of the exponent from 0 or of an integer from 0 or its end, for a sign."""
    if code == 0:
        return 0
    if not kind.is_float:
        value = _whole(kind, code)
        return min(2 * abs(value), _END + 2 * abs(_end(kind, value) - value)) + (value < 0)
    sign, field, fraction, ignored = parts(kind, code)
    return 1 + sign + 4 * fraction.bit_count() + 2 * abs(field - kind.bias) + ignored.bit_count()


def simpler(kind: DType, code: int) -> list[int]:
    """Codes of less weight that are worth a trial."""
    found = _of_float(kind, code) if kind.is_float else _of_integer(kind, code)
    own = weight(kind, code)
    return [other for other in dict.fromkeys(found) if weight(kind, other) < own]


def _of_integer(kind: DType, code: int) -> list[int]:
    mask = (1 << kind.bits) - 1
    value = _whole(kind, code)
    sign = -1 if value < 0 else 1
    size, end = abs(value), _end(kind, value)
    values = [
        0,
        1,
        -1,
        -value,
        sign * (size // 2),
        sign * (size // 16),
        sign * (size - 1),
        sign * (1 << max(size.bit_length() - 1, 0)),
        size & -size,
    ]
    values += [end, end - (end - value) // 2, value + sign]
    return [v & mask for v in values if kind.minimum <= v <= kind.maximum]


def _of_float(kind: DType, code: int) -> list[int]:
    sign, field, fraction, ignored = parts(kind, code)
    width, bias = kind.fraction_bits, kind.bias
    found = [
        0,
        joined(kind, 0, bias, 0),
        joined(kind, 0, field, fraction, ignored),
        joined(kind, sign, field, fraction),
    ]
    lowest, highest = fraction & -fraction, 1 << max(fraction.bit_length() - 1, 0)
    half = fraction >> (width // 2) << (width // 2)
    fractions = {
        0,
        fraction & ~lowest,
        fraction & ~highest,
        half,
        fraction & highest,
        lowest,
        fraction & ((1 << width // 2) - 1),
    }
    found += [joined(kind, sign, field, other, ignored) for other in fractions]
    toward = 1 if field < bias else -1
    gap = abs(field - bias)
    for step in {1, 2, gap // 8, gap // 4, gap // 2, gap * 3 // 4, gap}:
        found += [joined(kind, sign, field + toward * step, other, 0) for other in (fraction, 0)]
    return found
