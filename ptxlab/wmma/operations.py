"""What a warp does with fragments: `fill_fragment`, `mma_sync`, `bmma_sync`. The arithmetic is the instruction's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..numerics.emulate import emulate
from .fragments import (
    accumulator,
    bmmaAccumulateOp,
    bmmaAccumulateOpPOPC,
    bmmaBitOpXOR,
    fragment,
    matrix_a,
    matrix_b,
    precision,
    row,
    said,
)

__all__ = ["bmma_sync", "fill_fragment", "mma_sync"]


def fill_fragment(frag: fragment, value: int) -> None:
    """Give every element the same value. C++ keeps the low bits of a value that does not fit; here it is refused.

    >>> a = fragment(matrix_a, 8, 8, 32, precision.s4, "row_major")
    >>> fill_fragment(a, -1)
    >>> hex(a.registers[0, 0])
    '0xffffffff'
    """
    if not isinstance(frag, fragment):
        raise PtxlabError(f"fill_fragment: found {type(frag).__name__} where a wmma.fragment belongs")
    kind = frag.operand.dtype
    number = np.asarray(value)
    if number.ndim:
        raise PtxlabError(
            f"fill_fragment: found an array of shape {number.shape}; it takes one value, load_matrix_sync takes a matrix"
        )
    try:
        code = kind.encode(number)
    except PtxlabError as error:
        cut = ""
        if isinstance(value, (int, np.integer)):
            cut = f" (C++ would keep its low {kind.bits} bit{'s' * (kind.bits > 1)}: {kind.decode(np.uint32(int(value) & (2**kind.bits - 1)))})"
        raise PtxlabError(f"fill_fragment: {error}{cut}") from None
    frag.registers[...] = frag.operand.pack_codes(np.broadcast_to(code, frag.operand.shape))


def mma_sync(
    d: fragment, a: fragment, b: fragment, c: fragment, satf: bool = False, *, target: str = "sm_90"
) -> None:
    """D = A B + C for s4 and u4; sums wrap at 32 bits, or with `satf` stop at its ends. `target` is the chip compiled for.

    >>> a, b = fragment(matrix_a, 8, 8, 32, "s4", "row_major"), fragment(matrix_b, 8, 8, 32, "s4", "col_major")
    >>> c = fragment(accumulator, 8, 8, 32, int)
    >>> for frag, value in ((a, 2), (b, 3), (c, 100)):
    ...     fill_fragment(frag, value)
    >>> mma_sync(c, a, b, c)
    >>> c.matrix[0, :3]
    array([292, 292, 292], dtype=int32)
    """
    kind = _check("mma_sync", d, a, b, c)
    if kind is precision.b1:
        raise PtxlabError("mma_sync: found b1; single bits take bmma_sync, with bmmaBitOpXOR or bmmaBitOpAND")
    _execute(row(kind, satf=satf), target, d, a, b, c, "mma_sync")


def bmma_sync(
    d: fragment,
    a: fragment,
    b: fragment,
    c: fragment,
    op: Any = bmmaBitOpXOR,
    accumulate: Any = bmmaAccumulateOpPOPC,
    *,
    target: str = "sm_90",
) -> None:
    """D = popc(A op B) + C for b1: a 128-bit row of A with a 128-bit column of B. `target` is the chip compiled for.

    >>> a, b = fragment(matrix_a, 8, 8, 128, "b1", "row_major"), fragment(matrix_b, 8, 8, 128, "b1", "col_major")
    >>> c = fragment(accumulator, 8, 8, 128, int)
    >>> for frag, value in ((a, 1), (b, 0), (c, 0)):
    ...     fill_fragment(frag, value)
    >>> bmma_sync(c, a, b, c, bmmaBitOpXOR)
    >>> c.matrix[0, :3]
    array([128, 128, 128], dtype=int32)
    """
    kind = _check("bmma_sync", d, a, b, c)
    if kind is not precision.b1:
        raise PtxlabError(f"bmma_sync: found {kind.name}; it takes b1, s4 and u4 take mma_sync")
    if accumulate not in (*bmmaAccumulateOp, bmmaAccumulateOpPOPC.name):
        raise PtxlabError(
            f"bmma_sync: accumulate={said(accumulate)}; the accumulate operation is always bmmaAccumulateOpPOPC"
        )
    _execute(row(kind, op), target, d, a, b, c, "bmma_sync")


def _check(where: str, d: fragment, a: fragment, b: fragment, c: fragment) -> Any:
    """The element type of A and B, once all four fragments fit each other."""
    for name, found, use in (
        ("d", d, accumulator),
        ("a", a, matrix_a),
        ("b", b, matrix_b),
        ("c", c, accumulator),
    ):
        if not isinstance(found, fragment):
            raise PtxlabError(
                f"{where}: {name} is {type(found).__name__}; it must be a wmma.fragment with use {use}"
            )
        if found.use is not use:
            raise PtxlabError(f"{where}: {name} is {found}; its use must be {use}")
    if a.element_type is not b.element_type:
        raise PtxlabError(
            f"{where}: a is {a.element_type.name} and b is {b.element_type.name}; wmma takes no mixed types, both must be the same"
        )
    for name, found in (("d", d), ("c", c)):
        if found.shape != a.shape:
            raise PtxlabError(
                f"{where}: {name} is {found.shape} and a is {a.shape}; all fragments must have one shape"
            )
    for name, found in (("a", a), ("b", b), ("c", c)):
        if found.undefined:
            raise PtxlabError(
                f"{where}: {name} was never filled or loaded, C++ leaves it undefined; call fill_fragment or load_matrix_sync first"
            )
    return a.element_type


def _execute(
    ins: MmaForm, target: str, d: fragment, a: fragment, b: fragment, c: fragment, where: str
) -> None:
    if not ins.supports(target):
        name = f"bmmaBitOp{ins.bit_op.upper()}" if ins.bit_op else ins.a_type
        raise PtxlabError(f"{where}: {target} has no {name}; it needs {ins.targets[0]} or higher")
    d.registers[...] = emulate(Operands.of(ins, a.registers, b.registers, c.registers))
