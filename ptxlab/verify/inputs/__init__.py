"""Inputs that find differences: random and directed registers for any instruction, the same for a seed on every machine.

Drawn from Philox's raw stream, which NumPy keeps stable, so that recorded results need only the seed of their inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, listing
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.operands import Operands
from . import directed, draws
from .stream import Quick, Stream

__all__ = ["categories", "extra", "make"]

_INTEGER = ("bits", "extremes", "halves", "edges")
_FLOAT = (
    "bits",
    "moderate",
    "exponents",
    "subnormals",
    "cancellation",
    "special",
    "bottom",
    "zeros",
    "overflow",
)


def categories(ins: MmaForm) -> tuple[str, ...]:
    """Names of the kinds of inputs for this instruction that recorded results have.

    >>> import ptxlab
    >>> categories(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    ('bits', 'extremes', 'halves', 'edges')
    """
    return _FLOAT if ins.a.dtype.is_float else _INTEGER


def extra(ins: MmaForm) -> tuple[str, ...]:
    """Names of further kinds of inputs, for hunts: no recorded results are keyed by them.

    >>> import ptxlab
    >>> extra(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    ('wide', 'few', 'abyss', 'ties', 'brink', 'payloads', 'countered', 'faint')
    """
    return directed.FLOAT if ins.a.dtype.is_float else directed.INTEGER


def make(
    ins: MmaForm, category: str, count: int, seed: int = 0, selector: int = 0, *, quick: bool = False
) -> Operands:
    """The operands of `count` instructions, of that category.

    The key of the streams leaves out N and the spelling, and B and C are drawn column by column: instructions that
    differ in N alone get the same columns. `quick` draws several times as fast from another stream, in which they do not.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> np.unique(ins.a.unpack(make(ins, "extremes", count=1).a))
    array([-8, -1,  0,  1,  7], dtype=int8)
    """
    if category not in (*categories(ins), *extra(ins)):
        raise PtxlabError(
            f"unknown category {category!r}; {ins.mnemonic} has {listing((*categories(ins), *extra(ins)), 20)}"
        )
    stream = Quick if quick else Stream
    key = (ins.family, ins.m, ins.k, ins.a_type, ins.b_type, ins.d_type, ins.bit_op, category, count, seed)
    (depth, columns), (rows, across) = ins.b.shape, ins.c.shape
    a = _multiplicand(stream("A", *key), ins, ins.a, category, (count, *ins.a.shape))
    b = np.moveaxis(_multiplicand(stream("B", *key), ins, ins.b, category, (columns, count, depth)), 0, -1)
    e = _metadata(stream("E", *key), ins, count, selector) if ins.e is not None else None
    if category in categories(ins):
        c = np.moveaxis(draws.accumulator(stream("C", *key), ins, category, (across, count, rows)), 0, -1)
    else:
        nibbles = ins.e.unpack_codes(e, selector) if ins.e is not None and e is not None else None
        c = directed.accumulator(stream("C", *key), ins, category, (count, rows, across), a, b, nibbles)
    scales = {
        name: operand.pack_codes(
            draws.scale(stream(operand.name, *key), operand.dtype, (count, *operand.shape))
        )
        for name, operand in ins.inputs.items()
        if name.startswith("scale")
    }
    packed_a, packed_b = (
        _with_noise(stream("copies", o.name, *key), o, o.pack_codes(x)) for o, x in ((ins.a, a), (ins.b, b))
    )
    return Operands(
        ins, packed_a, packed_b, ins.c.pack_codes(c), e, **scales, modifiers=Modifiers(selector=selector)
    )


def _multiplicand(
    stream: Stream, ins: MmaForm, operand: Operand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    if category in extra(ins):
        return directed.multiplicand(stream, ins, operand, category, shape)
    draw = draws.float_multiplicand if operand.dtype.is_float else draws.integer_multiplicand
    return draw(stream, operand, category, shape)


def _with_noise(stream: Stream, operand: Operand, registers: NDArray[Any]) -> NDArray[Any]:
    """Random bits where an operand holds its elements again (WMMA with f16): only the first copy is read."""
    if operand.layout is None or operand.layout.copies == 1:
        return registers
    held = operand.split(registers).reshape(len(registers), -1)
    silent = np.setdiff1d(np.arange(held.shape[1]), operand.layout.scatter(0))
    held[:, silent] = stream.codes(operand.dtype, (len(registers), len(silent)))
    return operand.join(held.reshape(len(registers), operand.lanes, -1))


def _metadata(stream: Stream, ins: MmaForm, count: int, selector: int) -> NDArray[Any]:
    """Random legal nibbles where the selected lanes speak, random bits in the registers of the others."""
    e = ins.e
    if e is None or e.layout is None:
        raise PtxlabError(f"{ins.mnemonic} has no metadata")
    registers = e.pack_codes(stream.pick(sorted(ins.nibbles), (count, *e.shape)).astype(np.uint8))
    speaking = np.unique(e.layout.scatter(selector) // e.layout.elements)
    silent = np.setdiff1d(np.arange(e.lanes), speaking)
    registers[:, silent] = stream.below(1 << 32, (count, len(silent), 1)).astype(np.uint32)
    return registers
