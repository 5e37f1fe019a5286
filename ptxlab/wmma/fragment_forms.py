"""The PTX instructions behind the fragments of `nvcuda::wmma`: rows of `isa/catalog/` of less than 8 bits."""

from __future__ import annotations

from functools import lru_cache

from .._util.arguments import as_flag
from ..errors import PtxlabError
from ..isa.catalog import mma_forms
from ..isa.mma import Instruction
from ..isa.parse import parse_mma
from .types import INT, BitOpLike, FormLike, bit_op, bmmaBitOpXOR, element_type, precision, spelling


@lru_cache(maxsize=1)
def forms() -> tuple[Instruction, ...]:
    """The sub-byte wmma instructions of the catalogue."""
    return tuple(ins for ins in mma_forms("wmma") if ins.a.dtype.bits < 8)


def form(name: FormLike, op: BitOpLike | None = None, satf: bool = False) -> Instruction:
    """The PTX instruction that an element type stands for, with its bit operation or saturation.

    An instruction, or its mnemonic, stands for itself.

    >>> form("b1", "and").mnemonic
    'wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    """
    if isinstance(name, Instruction) or (isinstance(name, str) and name.startswith("wmma.")):
        return _checked(parse_mma(name), op, as_flag(satf, "satf"))
    satf = as_flag(satf, "satf")
    element = element_type(name)
    if element is INT:
        raise PtxlabError("type int is that of accumulators; A and B are s4, u4 or b1")
    operation = None
    if element is precision.b1:
        operation = bit_op(bmmaBitOpXOR if op is None else op)
        if satf:
            raise PtxlabError("satf=True: bmma_sync has no saturation, .satfinite exists for s4 and u4 only")
    elif op is not None:
        raise PtxlabError(f"op={spelling(op)}: only b1 takes a bit operation, {element.name} multiplies")
    key = element.name, operation, satf
    return next(ins for ins in forms() if (ins.a_type, ins.bit_op, ins.satfinite) == key)


def _checked(ins: Instruction, op: BitOpLike | None, satf: bool) -> Instruction:
    if ins not in forms():
        raise PtxlabError(
            f"{ins.mnemonic} is not a sub-byte wmma: those are m8n8k32 of s4 and u4, m8n8k128 of b1"
        )
    if (op is not None and bit_op(op) != ins.bit_op) or (satf and not ins.satfinite):
        raise PtxlabError(
            f"op={spelling(op)}, satf={satf}: {ins.mnemonic} contradicts them; "
            "leave them out with an instruction"
        )
    return ins
