"""Short names: `mma.m16n8k64.s4` for the one plain instruction that has all these qualifiers; and what was meant by a wrong one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from ..errors import PtxlabError, listing
from ..isa.catalog import catalog
from ..isa.dtypes import DTYPES
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse

__all__ = ["find", "find_operand", "meant"]

_MOVES = ("load", "store")  # wmma.load and wmma.store must be named, as .sp must
_ALIASES = {
    "METADATA": "E",
    "META": "E",
    "SCALE_A": "SFA",
    "SCALEA": "SFA",
    "SCALE_B": "SFB",
    "SCALEB": "SFB",
}


@lru_cache(maxsize=None)
def _rows() -> dict[str, tuple[Form, list[str]]]:
    """Every row of the catalogue by its mnemonic, with the words of that."""
    return {ins.mnemonic: (ins, _words(ins.mnemonic)) for ins in catalog()}


def _words(text: str) -> list[str]:
    return re.split(r"\.|::", text.strip().strip("."))


def find(text: str) -> Form:
    """The instruction of that spelling, or the plainest one that has every qualifier named.

    Types must come in PTX's order; `.sp` must be named for a sparse form, `.load` and `.store` for those. Of the forms that are left
    the plainest wins: without .satfinite, .kind and rounding, with ordered metadata, row.col, C of D's type, A and B of one type.
    """
    if text in _rows():
        return _rows()[text][0]
    tokens = _words(text)
    fitting = sorted(
        (_extras(ins, words, tokens), ins.mnemonic)
        for ins, words in _rows().values()
        if _fits(ins, words, tokens)
    )
    best = [mnemonic for extras, mnemonic in fitting if extras == fitting[0][0]]
    if len(best) == 1:
        return _rows()[best[0]][0]
    if best:
        raise PtxlabError(f"{text!r} could be any of {len(best)} instructions: {listing(best, 6)}")
    near = [] if "sync" in tokens or " " in text.strip() else _near(tokens)
    if near:
        raise PtxlabError(f"no instruction is called {text!r}; did you mean {' or '.join(near)}?")
    return parse(text)


def _fits(ins: Form, words: list[str], tokens: list[str]) -> bool:
    heads = {"mma", "wmma", "wgmma"}
    computes = isinstance(ins, MmaForm)
    if tokens[0] != words[0] and (tokens[0] in heads or not computes):
        return False
    if getattr(ins, "sparse", False) != ("sp" in tokens or "ordered_metadata" in tokens) or any(
        w in _MOVES and w not in tokens for w in words
    ):
        return False
    if isinstance(ins, MmaForm):
        types = iter([ins.d_type, ins.a_type, ins.b_type, ins.c_type, ins.scale_type])
        if not all(token in types for token in tokens if token in DTYPES):
            return False
        tokens = [token for token in tokens if token not in DTYPES]  # wmma does not spell the f16 of A and B
    orders = iter(word for word in words if word in ("row", "col"))
    return all(token in words for token in tokens) and all(
        token in orders for token in tokens if token in ("row", "col")
    )


def _extras(ins: Form, words: list[str], tokens: list[str]) -> int:
    """How much the instruction has that was not asked for."""
    unasked = sum(
        word in words and word not in tokens for word in ("satfinite", "kind", "trans", "rz", "rm", "rp")
    )
    if not isinstance(ins, MmaForm):
        usual = "col" if words[:3] == ["wmma", "load", "b"] else "row"
        return unasked + any(word in ("row", "col") and word not in (usual, *tokens) for word in words)
    mixed = ins.a_type != ins.b_type and not (ins.a_type in tokens and ins.b_type in tokens)
    orders = [word for word in words if word in ("row", "col")]
    turned = orders not in (["row", "col"], []) and not {"row", "col"} & set(tokens)
    named = [token for token in tokens if token in DTYPES]
    other = (
        (ins.c_type != ins.d_type)
        + (len(named) > 1 and named[0] != ins.d_type)
        + (bool(named) and ins.a_type not in named)
    )
    return unasked + (ins.sparse and not ins.metadata_ordered) + mixed + turned + other


# -- what was meant -----------------------------------------------------------------------------------------------------


def meant(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """`` did you mean show?``, or nothing where nothing is near."""
    near = difflib.get_close_matches(word, list(known), 3, cutoff)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _near(tokens: list[str]) -> list[str]:
    """Short names that exist and differ from this one in the words that no instruction has, or in one word."""
    known = {word for _, words in _rows().values() for word in words}
    options = [
        [token] if token in known else difflib.get_close_matches(token, known, 4, 0.5) for token in tokens
    ]
    found = [list(words) for words in product(*options) if _some(list(words))]
    if not found and all(token in known for token in tokens):
        for at, token in enumerate(tokens):
            same = [word for word in known if _kind(word) == _kind(token) != ""]
            swaps = sorted(
                same, key=lambda word: (-difflib.SequenceMatcher(a=tokens[at], b=word).ratio(), word)
            )
            found += [words for word in swaps if _some(words := [*tokens[:at], word, *tokens[at + 1 :]])][:2]
    return [".".join(words) for words in found[:3]]


def _some(tokens: list[str]) -> bool:
    return any(_fits(ins, words, tokens) for ins, words in _rows().values())


def _kind(word: str) -> str:
    """Words that can stand for each other: shapes, or types."""
    return "shape" if re.fullmatch(r"m\d+n\d+(k\d+)?", word) else "type" if word in DTYPES else ""


def find_operand(ins: Form, name: str) -> Operand:
    """The operand of that name, or a refusal with the one that was meant."""
    try:
        return ins.operand(name)
    except PtxlabError as error:
        wanted = _ALIASES.get(name.upper().replace("-", "_"))
        hint = f"; did you mean {wanted}?" if wanted in ins.operands else meant(name.upper(), ins.operands)
        raise PtxlabError(f"{error}{hint}") from None
