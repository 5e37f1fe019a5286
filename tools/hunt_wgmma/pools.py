"""Pools of inputs for the GPU to mix, opened for the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import Instruction, inputs
from ptxlab.isa.dtypes import DType

Array = NDArray[Any]
TILES = 512  # of A in a pool


def opened(codes: Array, kind: DType, absent: Array | None = None) -> Array:
    """One int an element, as judge.cu wants it; written apart from the emulator's decoding."""
    if not kind.is_float:
        return kind.decode(codes).astype(np.int32)
    bits = codes.astype(np.int64) >> kind.ignored_bits
    fraction, field = (
        bits & (1 << kind.fraction_bits) - 1,
        bits >> kind.fraction_bits & (1 << kind.exponent_bits) - 1,
    )
    negative = bits >> kind.fraction_bits + kind.exponent_bits & 1
    significand, highest = (
        np.where(field > 0, fraction | 1 << kind.fraction_bits, fraction),
        field == (1 << kind.exponent_bits) - 1,
    )
    what = np.where(significand == 0, 1, 0)
    odd = highest & (fraction == 7) if kind.name == "e4m3" else highest
    what = np.where(odd, np.where((fraction == 0) & highest, 2, 3), what)
    if absent is not None:
        what = np.where(absent, 4, what)
    exponent = np.maximum(field, 1) - kind.bias
    signed = np.where(negative == 1, -np.maximum(significand, 1), np.maximum(significand, 1))
    return np.asarray((signed << 16 | (exponent + 2048) << 4 | what).astype(np.int32))


@dataclass
class Pool:
    """Inputs of one category: registers of A and E, columns of B and C, and A and B opened."""

    a: Array
    e: Array | None
    a_open: Array
    b: Array
    b_open: Array
    c: Array


def pool(ins: Instruction, category: str, seed: int) -> Pool:
    operands = inputs.make(ins, category, TILES, seed=seed)
    codes, absent = ins.a.unpack_codes(operands.a), None
    if ins.structure is not None and ins.e is not None and operands.e is not None:
        nibbles = ins.e.unpack_codes(operands.e)
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)
        dense, absent = (
            np.zeros((*codes.shape[:-1], ins.k), dtype=codes.dtype),
            np.ones((*codes.shape[:-1], ins.k), dtype=np.bool_),
        )
        np.put_along_axis(dense, positions, codes, axis=-1)
        np.put_along_axis(absent, positions, False, axis=-1)
        codes = dense
    b = np.ascontiguousarray(np.swapaxes(operands.b, 1, 2)).reshape(-1, ins.k)
    c = np.ascontiguousarray(np.swapaxes(ins.c.unpack_codes(operands.c), 1, 2)).reshape(-1, ins.m)
    return Pool(operands.a, operands.e, opened(codes, ins.a.dtype, absent), b, opened(b, ins.b.dtype), c)


def prepared(ins: Instruction, seed: int) -> dict[str, Pool]:
    return {
        category: pool(ins, category, seed)
        for category in (*inputs.categories(ins), *inputs.directed_categories(ins))
    }
