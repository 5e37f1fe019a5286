"""The arithmetic of the tensor core: the fused dot product with its alignment and rounding, and exact integers.

PTX leaves accumulation order and rounding of floats open; here they are specified, per chip, by rows of data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .dtypes import DType
from .errors import PtxlabError, listing

__all__ = ["Fused", "Model", "block_scaled_dot", "fused_dot", "integer_add", "models"]

Array = NDArray[Any]

_NO_TERM = -4000  # exponent of what takes no part in the alignment


@dataclass(frozen=True)
class Fused:
    """How a chip adds products to C in one step: exact products and C are aligned to the largest exponent, cut, and summed."""

    fraction_bits: int  # kept below the largest exponent; the rest is cut off (toward zero)
    result_bits: int  # fraction bits of the result before it is stored
    zero_counts: bool = True
    floor: int = _NO_TERM  # the alignment exponent is never below this


@dataclass(frozen=True)
class Model:
    """What one chip does for one class of instructions, and how that is known."""

    chip: str
    inputs: str
    fused: Fused
    evidence: Literal["measured", "published", "assumed"]
    source: str


def _split(codes: Array, kind: DType) -> tuple[Array, Array]:
    """Codes -> (signed significand as float64, exponent): value = significand * 2^exponent, subnormals unnormalised.

    Infinities and NaN come back as such in the significand.
    """
    if kind.bits <= 16:
        table = _tables(kind)
        return table[0][codes], table[1][codes]
    codes = codes.astype(np.int64)
    field = codes >> 23 & 0xFF
    fraction = codes & 0x7FFFFF & ~((1 << kind.ignored_bits) - 1)
    significand = (fraction | np.where(field > 0, 0x800000, 0)) * 2.0**-23
    exponent = np.maximum(field, 1) - 127
    special = field == 255
    if special.any():
        significand = np.where(special, np.where(fraction == 0, np.inf, np.nan), significand)
    return np.where(codes >> 31 & 1, -significand, significand), exponent.astype(np.int32)


_TABLES: dict[str, tuple[Array, Array]] = {}


def _tables(kind: DType) -> tuple[Array, Array]:
    if kind.name not in _TABLES:
        codes = np.arange(1 << kind.bits)
        values = kind.decode(codes).astype(np.float64)
        field = codes >> kind.fraction_bits & ((1 << kind.exponent_bits) - 1)
        exponent = (np.maximum(field, 1) - kind.bias).astype(np.int32)
        with np.errstate(invalid="ignore"):
            _TABLES[kind.name] = np.ldexp(values, -exponent), exponent
    return _TABLES[kind.name]


def _power(exponent: Array) -> Array:
    """2.0 ** exponent, by building the bits; 0 below the range of float64."""
    field = np.clip(exponent.astype(np.int64) + 1023, 0, 2046)
    return (field << 52).view(np.float64)


def fused_dot(a: Array, b: Array, c: Array, kinds: tuple[DType, DType, DType, DType], rule: Fused, positions: Array | None = None) -> Array:
    """Codes of D for codes a [..., M, S], b [..., K, N], c [..., M, N]; `positions` [..., M, S] says which row of B each column of A meets."""
    a_kind, b_kind, c_kind, d_kind = kinds
    (a_sig, a_exp), (b_sig, b_exp), (c_sig, c_exp) = _split(a, a_kind), _split(b, b_kind), _split(c, c_kind)

    def pair(s: int) -> tuple[Array, Array]:
        if positions is None:
            return b_sig[..., None, s, :], b_exp[..., None, s, :]
        rows = positions[..., :, s, None]
        return np.take_along_axis(b_sig, rows, axis=-2), np.take_along_axis(b_exp, rows, axis=-2)

    steps = range(a.shape[-1])
    top = np.where(c_sig == 0, _NO_TERM if not rule.zero_counts else c_exp, c_exp)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = c_sig * 0.0  # NaN and infinities of the exact sum; 0 where all is finite
        exact = np.where(np.isfinite(c_sig), 0.0, c_sig)
        for s in steps:
            sig, exp = pair(s)
            product, exponent = a_sig[..., s, None] * sig, a_exp[..., s, None] + exp
            if not rule.zero_counts:
                exponent = np.where(product == 0, _NO_TERM, exponent)
            top = np.maximum(top, exponent)
            exact = exact + np.where(np.isfinite(product), 0.0, product)
        top = np.maximum(top, rule.floor)
        total = np.trunc(np.where(np.isfinite(c_sig), c_sig, 0.0) * _power(c_exp - top + rule.fraction_bits))
        for s in steps:
            sig, exp = pair(s)
            product, exponent = a_sig[..., s, None] * sig, a_exp[..., s, None] + exp
            total = total + np.trunc(np.where(np.isfinite(product), product, 0.0) * _power(exponent - top + rule.fraction_bits))
        value = np.where(exact == 0, np.ldexp(total, top - rule.fraction_bits), exact)
    return store(value, d_kind, rule.result_bits)


def store(value: Array, kind: DType, result_bits: int) -> Array:
    """Exact float64 values -> codes of f32 (toward zero, `result_bits` of fraction) or f16 (nearest even); NaN is all ones but the sign."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        if kind.name == "f16":
            codes = value.astype(np.float16).view(np.uint16)
            return np.where(np.isnan(value), np.uint16(0x7FFF), codes).astype(np.uint16)
        _, exponent = np.frexp(value)
        step = _power(np.maximum(exponent - 1, -126) - result_bits)
        finite = np.isfinite(value)
        cut = np.where(finite, np.trunc(np.where(finite, value, 0.0) / step) * step, value)
        codes = cut.astype(np.float32).view(np.uint32)
    return np.where(np.isnan(value), np.uint32(0x7FFFFFFF), codes).astype(np.uint32)


def block_scaled_dot(a: Array, b: Array, c: Array, scale_a: Array, scale_b: Array, kinds: tuple[DType, ...], rule: Fused) -> Array:
    """Codes of D for e2m1 codes a [..., M, K], b [..., K, N] and scale codes [..., M, V], [..., V, N].

    Sums of 16 products are exact; each, times the significands of its two scales, is one term of the alignment.
    """
    a_kind, b_kind, c_kind, s_kind = kinds
    blocks = a.shape[-1] // 16
    a_value, b_value = a_kind.decode(a).astype(np.float64), b_kind.decode(b).astype(np.float64)
    c_sig, c_exp = _split(c, c_kind)
    (sa_sig, sa_exp), (sb_sig, sb_exp) = _split(scale_a, s_kind), _split(scale_b, s_kind)
    terms, exponents = [np.where(np.isfinite(c_sig), c_sig, 0.0)], [c_exp]
    exact = np.where(np.isfinite(c_sig), 0.0, c_sig)
    with np.errstate(invalid="ignore", over="ignore"):
        for block in range(blocks):
            part = slice(16 * block, 16 * block + 16)
            v = block * scale_a.shape[-1] // blocks
            dot = a_value[..., part] @ b_value[..., part, :]
            scale = sa_sig[..., v, None] * sb_sig[..., None, v, :]
            terms.append(np.where(np.isnan(scale), 0.0, dot * scale))
            exponents.append(sa_exp[..., v, None] + sb_exp[..., None, v, :])
            exact = exact + np.where(np.isnan(scale), np.nan, 0.0)
        top = np.maximum.reduce(np.broadcast_arrays(*exponents))
        total = sum(np.trunc(term * _power(exponent - top + rule.fraction_bits)) for term, exponent in zip(terms, exponents, strict=True))
        value = np.where(exact == 0, np.ldexp(total, top - rule.fraction_bits), exact)
    return store(value, c_kind, rule.result_bits)


def integer_add(products: Array, c: Array, satfinite: bool) -> Array:
    """Exact sums of products (any float or integer array) plus s32 codes c -> s32 codes, wrapped or clamped."""
    total = products.astype(np.int64) + c.view(np.int32)
    if satfinite:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return total.astype(np.uint32)


_MMA_SIM = "MMA-Sim 2025, arXiv 2511.10909"

_MODELS = (
    Model("sm_90", "tf32", Fused(25, 23), "assumed", "fitted to results of an H200"),
    Model("sm_90", "fp8 wgmma", Fused(13, 13), "assumed", "fitted to results of an H200"),
    Model("sm_120", "e2m1", Fused(35, 23), "published", _MMA_SIM),
)


def models() -> tuple[Model, ...]:
    """Every model with its evidence: measured here, published elsewhere, or assumed."""
    return _MODELS


def model_for(chip: str, inputs: str) -> Model:
    """The model of a chip for a class of inputs."""
    for model in _MODELS:
        if (model.chip, model.inputs) == (chip, inputs):
            return model
    known = sorted({model.chip for model in _MODELS if model.inputs == inputs})
    raise PtxlabError(f"model {chip!r}: {inputs} has {listing(known)}")
