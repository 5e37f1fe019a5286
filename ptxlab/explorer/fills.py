"""What a matrix can be filled with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.dtypes import DType
from ..isa.operand import Operand
from ..isa.operands import Operands
from .matrices import Matrices

__all__ = ["PATTERNS", "fill_values", "filled", "patterns", "random_range"]

PATTERNS: tuple[str, ...] = ("zeros", "ones", "identity", "counting", "random", "one-hot")


def patterns(name: str, dtype: DType) -> tuple[str, ...]:
    """The patterns that a matrix takes: none for D; metadata has no zeros; ue8m0 holds powers of two only.

    >>> from ptxlab import dtype
    >>> patterns("E", dtype("b4")), patterns("D", dtype("s32"))
    (('random',), ())
    """
    if name == "D":
        return ()
    if name == "E":
        return ("random",)
    return ("ones", "counting", "random") if dtype.name == "ue8m0" else PATTERNS


def random_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest number of a random fill.

    >>> from ptxlab import dtype
    >>> random_range(dtype("s4")), random_range(dtype("u8"))
    ((-8, 7), (0, 9))
    """
    low, high = (-3, 3) if dtype.is_float else (max(dtype.minimum, -9), min(dtype.maximum, 9))
    return low if dtype.signed else 0, high


def fill_values(
    operand: Operand, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
) -> NDArray[Any]:
    """The values of a fill; one-hot puts its 1 at `row`, `column`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> fill_values(ins.b, "counting", np.random.default_rng(0))[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    dtype, shape = operand.dtype, operand.shape
    powers_of_two = dtype.name == "ue8m0"
    if pattern == "ones":
        return np.ones(shape)
    if pattern == "identity":
        return np.eye(*shape)
    if pattern == "random":
        if powers_of_two:
            return np.asarray(2.0 ** random.integers(-1, 3, shape))
        low, high = random_range(dtype)
        return random.integers(low, high + 1, shape).astype(np.float64)
    values = np.zeros(shape)
    if pattern == "one-hot":
        values[row % shape[0], column % shape[1]] = 1
    elif pattern == "counting":
        count = np.arange(values.size).reshape(shape)
        limit = 1 << (dtype.fraction_bits + 1) if dtype.is_float else dtype.maximum + 1
        values = np.asarray(2.0 ** (count % 4) if powers_of_two else count % limit, dtype=np.float64)
    return values


def filled(
    matrices: Matrices, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
) -> Operands:
    """The operands with a matrix filled; sparse A is pruned and compressed afresh.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> matrices = Matrices(Operands.from_matrices(ins, np.zeros((16, 64)), np.zeros((64, 8))))
    >>> Matrices(filled(matrices, "B", "ones", np.random.default_rng(0))).codes("B").sum()
    np.uint64(512)
    """
    ins, operand = matrices.ins, matrices.operand(name)
    known = patterns(name, operand.dtype)
    if not is_name(pattern, known):
        allowed = listing(known) or "nothing: it is the result"
        raise PtxlabError(f"{name} cannot be filled with {quoted(pattern)}; it takes {allowed}")
    if name == "E" and ins.structure is not None:
        nibbles = random.choice(list(ins.structure.nibbles), operand.shape)
        return matrices.with_codes(name, nibbles, keep_metadata=False)
    values = fill_values(operand, pattern, random, row, column)
    if name == "A" and ins.sparse:
        values = ins.prune(values)
    return matrices.with_codes(name, operand.dtype.encode(values), keep_metadata=False)
