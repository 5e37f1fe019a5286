"""PTX text -> instruction, and a refusal that names the qualifier at fault and the spellings that would be right."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import cast

from .catalog import FAMILIES, catalog, products
from .catalog.moves import spellings as move_spellings
from .dtypes import DTYPES
from .errors import PtxlabError, listing
from .instruction import Instruction
from .moves import Move

__all__ = ["instruction"]

#: Legal in PTX ISA 9.1 and later, unknown to 9.0's assembler.
_LATER = {
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0": "9.1",
}


@lru_cache(maxsize=None)
def _spellings() -> dict[str, Instruction | Move]:
    known: dict[str, Instruction | Move] = {}
    for ins in products():
        known[ins.mnemonic] = ins
        if ins.kind in ("mxf4", "mxf8f6f4"):  # their only .scale_vec may be left out
            known[ins.mnemonic.replace(f".scale_vec::{ins.scale_vec}X", "")] = ins
        if ins.lanes == 128 and ins.satfinite:  # the assembler takes .satfinite at the end as well
            known[ins.mnemonic.replace(".satfinite", "") + ".satfinite"] = ins
        if ins.a_type == "f64" and ins.rounding is None:  # what nothing means may be said
            known[ins.mnemonic.replace(ins.shape, f"{ins.shape}.rn") if ins.family == "wmma" else f"{ins.mnemonic}.rn"] = ins
    for row in catalog():
        if isinstance(row, Move):
            known.update(move_spellings(row))
    return known


def _normal(text: str) -> str:
    """The mnemonic alone: white space around dots gone, operand list and comment cut off."""
    text = re.sub(r"//.*|/\*.*?\*/", " ", text).strip()
    text = re.sub(r"\s*(\.|::)\s*", r"\1", text)
    return re.split(r"[\s{\[;,]", text, maxsplit=1)[0] if text else ""


def instruction(text: str | Instruction) -> Instruction:
    """The instruction of that PTX spelling; a trailing operand list and stray white space do no harm.

    ldmatrix and its kin, which move matrices and multiply nothing, come as `ptxlab.moves.Move`.

    >>> ins = instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
    >>> ins.selectors
    (0, 1)
    """
    if isinstance(text, Instruction | Move):
        return cast(Instruction, text)
    if not isinstance(text, str):
        raise PtxlabError(f"an instruction is named by its PTX text, found {type(text).__name__}; e.g. {next(iter(_spellings()))!r}")
    name = _normal(text)
    if name in _spellings():
        return cast(Instruction, _spellings()[name])
    raise PtxlabError(_refusal(name))


def _tokens(name: str) -> list[str]:
    return name.split(".")


def _refusal(name: str) -> str:
    if not name:
        return f"no instruction given; e.g. {next(iter(_spellings()))}"
    if name in _LATER:
        return f"{name} needs PTX ISA {_LATER[name]}; this catalogue is that of PTX ISA 9.0 (CUDA 13.0)"
    found = _tokens(name)
    every = {spelling: _tokens(spelling) for spelling in _spellings()}
    known = {token for tokens in every.values() for token in tokens}
    near = sorted(every, key=lambda s: (-_likeness(found, every[s]), _distance(found, every[s]), s))[:3]
    best = every[near[0]]
    strange = next((token for token in found if token not in known), None)
    without = _shape_without_type(found)
    if without is not None:
        said = f"{name!r}: {without}"
    elif found[0] not in {family.split(".")[0] for family in FAMILIES}:
        said = f"{name!r}: {found[0]!r} is no matrix instruction; families are {listing(FAMILIES, 12)}"
    elif strange is not None:
        said = f"{name!r}: no instruction here has the qualifier .{strange}"
    else:
        ops = [op for op in SequenceMatcher(a=found, b=best, autojunk=False).get_opcodes() if op[0] != "equal"]
        _, low, high, blow, bhigh = ops[0] if ops else ("", 0, 0, 0, 0)
        is_, right = ".".join(found[low:high]), ".".join(best[blow:bhigh])
        said = f"{name!r}: " + (f".{is_} does not fit here" if is_ else f".{right} is missing after .{found[low - 1]}")
    return f"{said}; nearest legal: {listing(near)}"


def _shape_without_type(found: list[str]) -> str | None:
    """``m16n8k64 has no f16 form; f16 comes in m16n8k8, m16n8k16``, where shape and types are known but do not go together."""
    sparse = any(token in ("sp", "sp::ordered_metadata") for token in found)
    rows = [ins for ins in products() if ins.mnemonic.split(".")[0] == found[0] and ins.sparse == sparse]
    shape = _shape(found)
    types = [token for token in found if token in DTYPES]
    if shape is None or len(types) < 3 or not any(ins.a_type == types[1] for ins in rows):
        return None
    shapes = list(dict.fromkeys(ins.shape for ins in rows if ins.a_type == types[1]))
    if shape in shapes:
        return None
    shapes.sort(key=lambda other: _distance([shape], [other]))
    return f"{shape} has no {types[1]} form; {types[1]} comes in {listing(shapes, 6)}"


def _shape(tokens: list[str]) -> str | None:
    return next((token for token in tokens if re.fullmatch(r"m\d+n\d+k\d+", token)), None)


def _distance(found: list[str], legal: list[str]) -> int:
    """How far two shapes are apart; 0 where one has none."""
    sizes = [[int(size) for size in re.findall(r"\d+", _shape(tokens) or "")] for tokens in (found, legal)]
    return sum(abs(x - y) for x, y in zip(*sizes, strict=False))


def _likeness(found: list[str], legal: list[str]) -> float:
    """How alike two spellings are: common tokens in order, and letters within the tokens that differ."""
    tokens = SequenceMatcher(a=found, b=legal, autojunk=False).ratio()
    return tokens + 0.1 * (found[:2] == legal[:2]) + 0.01 * len(set(found) & set(legal))
