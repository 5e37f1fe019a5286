"""Which types of registers an operand takes. PTX ISA, "Operand Type Checking Rules".

Where the assembler is laxer or stricter than the text, this is what it takes:
`tests/isa/test_availability.py` asks it.
"""

from __future__ import annotations

import re

from .mma import MmaForm

#: First letters of the types of registers that an operand takes.
_ANY, _INTEGERS, _FLOATS, _BITS = "bsuf", "bsu", "bf", "b"


def accepted(type_name: str) -> str:
    """First letters of the types of registers that an operand of a PTX type takes, if it is as wide.

    >>> accepted("b32"), accepted("s32"), accepted("f32"), accepted("bf16x2")
    ('bsuf', 'bsu', 'bf', 'b')
    """
    if re.fullmatch(r"b\d+", type_name):
        return _ANY
    if re.fullmatch(r"[su]\d+", type_name):
        return _INTEGERS
    return _FLOATS if re.fullmatch(r"f\d+", type_name) else _BITS


def fits(register_type: str, letters: str) -> bool:
    """Whether a register is of one of these types; `.f16x2` counts as bits.

    >>> fits("f32", accepted("s32")), fits("u32", accepted("s32"))
    (False, True)
    """
    return register_type[0] in letters or "x" in register_type or register_type == "pred"


def matrix_registers(form: MmaForm, operand: str) -> str:
    """First letters of the types of registers that A, B, C or D of a matrix instruction takes.

    >>> from ptxlab.isa.parse import parse_mma
    >>> form = parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> matrix_registers(form, "a"), matrix_registers(form, "d")
    ('b', 'bf')
    """
    half_or_more = form.a_type in ("f16", "bf16", "tf32")
    if form.a_type == "f64" or (form.family == "mma.sp" and form.a_type in ("bf16", "tf32")):
        return _ANY
    if operand in "cd":
        type_name = form.d_type if operand == "d" else form.c_type
        if form.family == "mma.sp" and half_or_more and type_name == "f32":
            return _ANY
        return {"f16": _BITS, "f32": _FLOATS}.get(type_name, _INTEGERS)
    if half_or_more or form.scale_a is not None or (form.family.startswith("wgmma") and "e" in form.a_type):
        return _BITS
    return _INTEGERS if form.family == "wmma" else _ANY
