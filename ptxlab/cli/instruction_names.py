"""Short names: `mma.m16n8k64.s4` for the plainest such instruction; suggestions for unknown names."""

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

__all__ = ["find", "find_operand", "short_name", "suggestion"]

_ALIASES = {
    "METADATA": "E",
    "META": "E",
    "SCALE_A": "SFA",
    "SCALEA": "SFA",
    "SCALE_B": "SFB",
    "SCALEB": "SFB",
}


@lru_cache(maxsize=None)
def _catalog() -> dict[str, tuple[Form, list[str]]]:
    """Every form of the catalogue by its mnemonic, with the qualifiers of that."""
    return {form.mnemonic: (form, _qualifiers(form.mnemonic)) for form in catalog()}


def _qualifiers(text: str) -> list[str]:
    return re.split(r"\.|::", text.strip().strip("."))


def find(text: str) -> Form:
    """The instruction with that mnemonic, or the plainest one that has every qualifier in the text.

    Types must come in PTX's order; `.sp` must be written for a sparse form, `.load` and `.store` for those.
    Of several forms the plainest is taken: without .satfinite, .kind and rounding, with ordered metadata,
    row.col, C of D's type, A and B of one type.
    """
    if text in _catalog():
        return _catalog()[text][0]
    tokens = _qualifiers(text)
    matches = sorted(
        (_extra_qualifiers(form, qualifiers, tokens), form.mnemonic)
        for form, qualifiers in _catalog().values()
        if _matches(form, qualifiers, tokens)
    )
    plainest = [mnemonic for extras, mnemonic in matches if extras == matches[0][0]]
    if len(plainest) == 1:
        return _catalog()[plainest[0]][0]
    if plainest:
        raise PtxlabError(f"{text!r} could be any of {len(plainest)} instructions: {listing(plainest, 6)}")
    is_mnemonic = "sync" in tokens or " " in text.strip()
    similar = [] if is_mnemonic else _similar_names(tokens)
    if similar:
        raise PtxlabError(f"no instruction is called {text!r}; did you mean {' or '.join(similar)}?")
    return parse(text)


def short_name(form: Form) -> str | None:
    """``mma.m16n8k64.s4``, with a float D also its type: ``mma.m16n8k16.f32.f16``; None if it has none."""
    if not isinstance(form, MmaForm) or form.kind:
        return None
    if form.a_type != form.b_type or form.c_type != form.d_type:
        return None
    parts = [form.family, form.shape]
    if form.d_type != "s32":
        parts.append(form.d_type)
    parts.append(form.a_type)
    if form.bit_op:
        parts.append(form.bit_op)
    return ".".join(parts)


def _matches(form: Form, qualifiers: list[str], tokens: list[str]) -> bool:
    """Whether the form has everything that the tokens name, and is not of a kind that must be named."""
    if tokens[0] != qualifiers[0]:
        names_an_operation = tokens[0] in ("mma", "wmma", "wgmma")
        if names_an_operation or not isinstance(form, MmaForm):
            return False
    if form.sparse != ("sp" in tokens or "ordered_metadata" in tokens):
        return False
    if any(word in qualifiers and word not in tokens for word in ("load", "store")):
        return False
    if isinstance(form, MmaForm):
        types = iter([form.d_type, form.a_type, form.b_type, form.c_type, form.scale_type])
        if not all(token in types for token in tokens if token in DTYPES):  # in this order
            return False
        tokens = [token for token in tokens if token not in DTYPES]  # wmma leaves out the f16 of A and B
    if not all(token in qualifiers for token in tokens):
        return False
    orders = iter([word for word in qualifiers if word in ("row", "col")])
    return all(token in orders for token in tokens if token in ("row", "col"))


def _extra_qualifiers(form: Form, qualifiers: list[str], tokens: list[str]) -> int:
    """How many properties the form has that the tokens do not name."""
    optional = ("satfinite", "kind", "trans", "rz", "rm", "rp")
    extras = [word in qualifiers and word not in tokens for word in optional]
    orders = [word for word in qualifiers if word in ("row", "col")]
    if not isinstance(form, MmaForm):
        usual = "col" if qualifiers[:3] == ["wmma", "load", "b"] else "row"
        extras.append(any(order not in (usual, *tokens) for order in orders))
        return sum(extras)
    types = [token for token in tokens if token in DTYPES]
    extras += [
        form.sparse and not form.metadata_ordered,
        form.a_type != form.b_type and not {form.a_type, form.b_type} <= set(tokens),
        orders not in (["row", "col"], []) and not {"row", "col"} & set(tokens),
        form.c_type != form.d_type,
        len(types) > 1 and types[0] != form.d_type,
        bool(types) and form.a_type not in types,
    ]
    return sum(extras)


# -- suggestions ------------------------------


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """``; did you mean show?``, or "" if no known word is similar."""
    similar = difflib.get_close_matches(word, list(known), 3, cutoff)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def _similar_names(tokens: list[str]) -> list[str]:
    """Short names that exist: with the unknown words replaced or, if all are known, with one replaced."""
    known = {word for _, qualifiers in _catalog().values() for word in qualifiers}
    options = [
        [token] if token in known else difflib.get_close_matches(token, known, 4, 0.5) for token in tokens
    ]
    names = [list(words) for words in product(*options) if _exists(list(words))]
    if not names and all(token in known for token in tokens):
        for index in range(len(tokens)):
            names += _with_another_word(tokens, index, known)
    return [".".join(words) for words in names[:3]]


def _with_another_word(tokens: list[str], index: int, known: set[str]) -> list[list[str]]:
    """Up to two names that exist with another shape, or another type, in this place."""
    token = tokens[index]
    if token in DTYPES:
        alternatives = [word for word in known if word in DTYPES]
    else:
        alternatives = [word for word in known if _is_shape(word) and _is_shape(token)]
    alternatives.sort(key=lambda word: (-difflib.SequenceMatcher(a=token, b=word).ratio(), word))
    names = ([*tokens[:index], word, *tokens[index + 1 :]] for word in alternatives)
    return [name for name in names if _exists(name)][:2]


def _is_shape(word: str) -> bool:
    return re.fullmatch(r"m\d+n\d+(k\d+)?", word) is not None


def _exists(tokens: list[str]) -> bool:
    return any(_matches(form, qualifiers, tokens) for form, qualifiers in _catalog().values())


def find_operand(form: Form, name: str) -> Operand:
    """The operand with that name, or an error that suggests one."""
    try:
        return form.operand(name)
    except PtxlabError as error:
        alias = _ALIASES.get(name.upper().replace("-", "_"))
        if alias in form.operands:
            remedy = f"; did you mean {alias}?"
        else:
            remedy = suggestion(name.upper(), form.operands)
        raise PtxlabError(f"{error}{remedy}") from None
