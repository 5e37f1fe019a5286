"""Test inputs for any instruction: random and directed registers, the same for a seed on every machine.

The categories are described in `sampling` (those that golden results are recorded for) and in `directed`
(further ones for hunts).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int, check_room, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.modifiers import Modifiers
from ..isa.operand import MatrixOperand, Operand
from ..isa.operation import Operation
from ..isa.parse import parse_product
from ..isa.product_form import ProductForm
from . import directed, sampling
from .sampling import QuickStream, RandomStream

__all__ = ["categories", "directed_categories", "make"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: A category's name is part of the key of its random streams, and golden results are recorded for what these
#: streams give. Categories that were renamed keep their first name as the key, so that their bits stay.
_STREAM_KEYS = {
    "mostly_zero": "few",
    "underflow": "abyss",
    "overflow_edge": "brink",
    "nan_payloads": "payloads",
    "cancelling_c": "countered",
    "sticky": "faint",
}


def categories(ins: ProductForm | str) -> tuple[str, ...]:
    """Categories of inputs for this instruction, those that golden results are recorded for.

    >>> import ptxlab
    >>> categories(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    ('bits', 'extremes', 'halves', 'edges')
    """
    ins = parse_product(ins)
    return sampling.FLOAT if ins.a.dtype.is_float else sampling.INTEGER


def directed_categories(ins: ProductForm | str) -> tuple[str, ...]:
    """Further categories, aimed at corners of the arithmetic.

    >>> import ptxlab
    >>> directed_categories(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    ('overflow_edge',)
    """
    ins = parse_product(ins)
    return directed.FLOAT if ins.a.dtype.is_float else directed.INTEGER


def make(
    ins: ProductForm | str,
    category: str,
    count: int,
    seed: int = 0,
    selector: int = 0,
    *,
    quick: bool = False,
) -> Operation:
    """The operands of `count` instructions, of that category.

    Instructions that differ only in N get the same columns of B, and of C in the categories of `categories`.
    `quick` uses a stream that is several times as fast, in which they do not.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> np.unique(ins.a.unpack(make(ins, "extremes", count=1).a))
    array([-8, -1,  0,  1,  7], dtype=int8)
    >>> make(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=8), "moderate", count=3).c.shape
    (3, 128, 8)
    """
    ins = parse_product(ins)
    count, seed = as_int(count, "count"), as_int(seed, "seed")
    _check(ins, category, count, seed)
    ins.check_modifiers(Modifiers(selector=selector))
    selector = int(selector)
    new_stream = QuickStream if as_flag(quick, "quick") else RandomStream
    # The key leaves out N, and B and C are sampled column by column, so columns do not depend on N; those of
    # a directed C do.
    types = (ins.a_type, ins.b_type, ins.d_type)
    name = _STREAM_KEYS.get(category, category)
    key = (ins.family, ins.m, ins.k, *types, ins.bit_op, name, count, seed)
    (depth, b_columns), (rows, columns) = ins.b.shape, ins.c.shape
    source = sampling if category in categories(ins) else directed
    a = source.multiplicand(new_stream("A", *key), ins, ins.a, category, (count, *ins.a.shape))
    b = source.multiplicand(new_stream("B", *key), ins, ins.b, category, (b_columns, count, depth))
    b = np.moveaxis(b, 0, -1)
    e = nibbles = None
    if ins.e is not None:
        e = _metadata(new_stream("E", *key), ins, ins.e, count, selector)
        nibbles = ins.e.unpack_codes(e, selector)
    if source is sampling:
        c = sampling.accumulator(new_stream("C", *key), ins, category, (columns, count, rows))
        c = np.moveaxis(c, 0, -1)
    else:
        c = directed.accumulator(new_stream("C", *key), ins, category, (count, rows, columns), a, b, nibbles)
    scales = {}
    for argument in ("scale_a", "scale_b"):
        if argument in ins.inputs:
            operand = ins.inputs[argument]
            codes = sampling.scale(new_stream(operand.name, *key), operand.dtype, (count, *operand.shape))
            scales[argument] = operand.pack_codes(codes)
    return Operation(
        ins,
        a=_fill_copies(new_stream("copies", ins.a.name, *key), ins.a, ins.a.pack_codes(a)),
        b=_fill_copies(new_stream("copies", ins.b.name, *key), ins.b, ins.b.pack_codes(b)),
        c=ins.c.pack_codes(c),
        e=e,
        **scales,
        modifiers=Modifiers(selector=selector),
    )


def _check(ins: ProductForm, category: str, count: int, seed: int) -> None:
    """Refuse unknown categories, numbers out of range, and inputs too large for memory."""
    all_names = (*categories(ins), *directed_categories(ins))
    if not is_name(category, all_names):
        raise PtxlabError(f"unknown category {quoted(category)}; {ins.mnemonic} has {listing(all_names, 20)}")
    if abs(seed) >= 1 << 256:
        raise PtxlabError(f"seed={quoted(seed)}: it must have at most 256 bits")
    if count < 0:
        raise PtxlabError(f"count={quoted(count)}: it must be 0 or more")
    sizes = [operand.shape[0] * operand.shape[1] for operand in ins.inputs.values()]
    check_room(count * sum(sizes) * 8, "count")  # directed inputs take several arrays of their size


def _fill_copies(stream: RandomStream, operand: MatrixOperand, registers: NDArray[Any]) -> NDArray[Any]:
    """Random bits in all copies of an element but the first, the only one that is read (f16 of WMMA)."""
    if not isinstance(operand, Operand) or operand.layout is None or operand.layout.copies == 1:
        return registers
    elements = operand.split(registers).reshape(len(registers), -1)
    unread = np.setdiff1d(np.arange(elements.shape[1]), operand.layout.scatter(0))
    elements[:, unread] = stream.codes(operand.dtype, (len(registers), len(unread)))
    return operand.join(elements.reshape(len(registers), operand.lanes, -1))


def _metadata(
    stream: RandomStream, ins: ProductForm, e: MatrixOperand, count: int, selector: int
) -> NDArray[Any]:
    """Random legal nibbles in the lanes that the selector names, random bits in the others.

    Words of tensor memory have no others.
    """
    registers = e.pack_codes(stream.pick(sorted(ins.nibbles), (count, *e.shape)).astype(np.uint8))
    if not isinstance(e, Operand) or e.layout is None:
        return registers
    metadata_lanes = np.unique(e.layout.scatter(selector) // e.layout.elements)
    other_lanes = np.setdiff1d(np.arange(e.lanes), metadata_lanes)
    registers[:, other_lanes] = stream.below(1 << 32, (count, len(other_lanes), 1)).astype(np.uint32)
    return registers
