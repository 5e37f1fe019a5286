"""Short names: `mma.m16n8k64.s4` for the one plain instruction that has all these qualifiers."""

from __future__ import annotations

import re

from ..catalog import catalog
from ..dtypes import DTYPES
from ..errors import PtxlabError, listing
from ..instruction import Instruction
from ..mnemonic import instruction

__all__ = ["find"]

_HEADS = ("mma", "wmma", "wgmma")


def find(text: str) -> Instruction:
    """The instruction of that spelling, or the plainest one that has every qualifier named.

    Types must come in PTX's order; `.sp` must be named for a sparse form. Of the forms that are left the plainest wins:
    without .satfinite, with ordered metadata, and with A and B of one type where one type is named.
    """
    try:
        return instruction(text)
    except PtxlabError as error:
        refusal = error
    tokens = re.split(r"\.|::", text.strip().strip("."))
    extra = sorted((_extras(ins, tokens), ins.mnemonic) for ins in catalog() if _fits(ins, tokens))
    best = [mnemonic for extras, mnemonic in extra if extras == extra[0][0]]
    if not best:
        raise refusal
    if len(best) > 1:
        raise PtxlabError(f"{text!r} could be any of {len(best)} instructions: {listing(best, 6)}")
    return instruction(best[0])


def _fits(ins: Instruction, tokens: list[str]) -> bool:
    words = re.split(r"\.|::", ins.mnemonic)
    if (tokens[0] in _HEADS and tokens[0] != words[0]) or ins.sparse != ("sp" in tokens or "ordered_metadata" in tokens):
        return False
    types = iter([ins.d_type, ins.a_type, ins.b_type, ins.c_type, ins.scale_type])
    named = [token for token in tokens if token in DTYPES]
    return all(token in types for token in named) and all(token in words for token in tokens)


def _extras(ins: Instruction, tokens: list[str]) -> int:
    """How much the instruction has that was not asked for."""
    mixed = ins.a_type != ins.b_type and not (ins.a_type in tokens and ins.b_type in tokens)
    return (ins.satfinite and "satfinite" not in tokens) + (ins.sparse and not ins.metadata_ordered) + mixed
