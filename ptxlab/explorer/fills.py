"""What a matrix can be filled with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType
from ..isa.operand import Operand

__all__ = ["FILLS", "filled", "fills_of", "span_of"]

FILLS: tuple[str, ...] = ("zeros", "ones", "identity", "counting", "random", "one-hot")


def fills_of(name: str, kind: DType) -> tuple[str, ...]:
    """The fills that a matrix takes.

    >>> from ptxlab import dtype
    >>> fills_of("E", dtype("b4")), fills_of("D", dtype("s32"))
    (('random',), ())
    """
    if name == "D":
        return ()
    if name == "E":
        return ("random",)
    return ("ones", "counting", "random") if kind.name == "ue8m0" else FILLS


def span_of(kind: DType) -> tuple[int, int]:
    """Least and largest number of a random fill.

    >>> from ptxlab import dtype
    >>> span_of(dtype("s4")), span_of(dtype("u8"))
    ((-8, 7), (0, 9))
    """
    low, high = (-3, 3) if kind.is_float else (max(kind.minimum, -9), min(kind.maximum, 9))
    return low if kind.signed else 0, high


def filled(operand: Operand, how: str, row: int, column: int, random: np.random.Generator) -> NDArray[Any]:
    """The values of a fill; one-hot puts its one at `row`, `column`.

    >>> import ptxlab
    >>> filled(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").b, "counting", 0, 0, np.random.default_rng(0))[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    kind, shape = operand.dtype, operand.shape
    matrix: NDArray[np.float64] = np.zeros(shape)
    if how == "ones":
        matrix[:] = 1
    elif how == "identity":
        matrix = np.eye(*shape)
    elif how == "one-hot":
        matrix[row % shape[0], column % shape[1]] = 1
    elif how == "counting":
        count = np.arange(matrix.size).reshape(shape)
        limit = 1 << (kind.fraction_bits + 1) if kind.is_float else kind.maximum + 1
        matrix = np.asarray(2.0 ** (count % 4) if kind.name == "ue8m0" else count % limit, dtype=np.float64)
    elif how == "random":
        if kind.name == "ue8m0":
            return np.asarray(2.0 ** random.integers(-1, 3, shape))
        low, high = span_of(kind)
        matrix = random.integers(low, high + 1, shape).astype(np.float64)
    return matrix
