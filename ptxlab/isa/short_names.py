"""Short names: `mma.m16n8k64.s4` for the plainest such instruction; similar names for one that is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, product

from ..errors import PtxlabError, listing, quoted
from .catalog import register_forms
from .dtypes import DTYPES
from .form import Form
from .mma import MmaForm
from .transfer import TransferForm

#: No name has more words than this; longer texts are refused before anything is compared.
_MOST_WORDS = 20


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


def by_short_name(name: str) -> MmaForm | TransferForm | None:
    """The plainest instruction that has every qualifier of the name; None if there is none.

    Types must come in PTX's order; `.sp` must be written for a sparse form, `.load` and `.store` for those.
    Of several forms the plainest is taken: without .satfinite, .kind and rounding, with ordered metadata,
    row.col, C of D's type, A and B of one type. If several are equally plain, the name is refused.

    >>> by_short_name("mma.m16n8k64.s4")
    <mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32>
    """
    tokens = _qualifiers(name)
    if len(tokens) > _MOST_WORDS:
        return None
    matches = list(_matching(tokens))
    extras = [_extra_qualifiers(form, qualifiers, tokens) for form, qualifiers in matches]
    plainest = [
        form for (form, _), extra in zip(matches, extras, strict=True) if extra == min(extras, default=0)
    ]
    if len(plainest) > 1:
        names = sorted(form.mnemonic for form in plainest)
        raise PtxlabError(
            f"{quoted(name)} could be any of {len(names)} instructions, so say more: {listing(names, 6)}"
        )
    return plainest[0] if plainest else None


@lru_cache(maxsize=None)
def _catalog() -> tuple[tuple[MmaForm | TransferForm, list[str]], ...]:
    """Every form of the catalogue with the qualifiers of its mnemonic."""
    return tuple((form, _qualifiers(form.mnemonic)) for form in register_forms())


@lru_cache(maxsize=None)
def _words() -> frozenset[str]:
    return frozenset(word for _, qualifiers in _catalog() for word in qualifiers)


def _qualifiers(text: str) -> list[str]:
    return re.split(r"\.|::", text.strip("."))


def _matching(tokens: list[str]) -> Iterator[tuple[MmaForm | TransferForm, list[str]]]:
    if _words().issuperset(tokens):
        yield from (entry for entry in _catalog() if _matches(*entry, tokens))


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
        extras.append("matrix" in qualifiers[0] and "b16" not in qualifiers)  # ldmatrix.x4 is that of m8n8
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


# -- similar names ----------------------------------------------------------------------------------------


def similar_names(name: str) -> list[str]:
    """Up to three short names that exist: with the unknown words replaced or, if all are known, with one."""
    tokens = _qualifiers(name)
    unknown = [token for token in tokens if token not in _words()]
    if len(tokens) > _MOST_WORDS or len(unknown) > 2:
        return []
    if len(unknown) == len(tokens) and not any(_looks_like(token) for token in tokens):
        return []
    if unknown:
        options = [[token] if token in _words() else _similar_words(token) for token in tokens]
        names = (list(words) for words in product(*options) if _exists(list(words)))
    else:
        names = (words for place in range(len(tokens)) for words in _with_another_word(tokens, place))
    return [".".join(words) for words in islice(names, 3)]


def _looks_like(token: str) -> bool:
    """Whether an unknown word is much like an operation or a shape, and no other word of the language."""
    heads = {qualifiers[0] for _, qualifiers in _catalog()}
    shape = re.match(r"m\d+n\d+", token) is not None
    return shape or bool(difflib.get_close_matches(token.lower(), heads, 1, 0.7))


def _similar_words(token: str) -> list[str]:
    """Known words that are like it; for what looks like a type, types alone."""
    known: Iterable[str] = _words()
    if re.fullmatch(r"(?:b|bf|tf|[efsu])\d+\w*", token):
        known = DTYPES
    return difflib.get_close_matches(token, known, 4, 0.5)


def _with_another_word(tokens: list[str], place: int) -> Iterator[list[str]]:
    """Up to two names that exist with another shape, or another type, in this place."""
    token, others = tokens[place], tokens[:place] + tokens[place + 1 :]
    if not others or not (token in DTYPES or _is_shape(token)):
        return
    words = {word for _, qualifiers in _matching(others) for word in qualifiers}
    words = {word for word in words if (word in DTYPES if token in DTYPES else _is_shape(word))}
    alike = sorted(words, key=lambda word: (-difflib.SequenceMatcher(a=token, b=word).ratio(), word))
    names = ([*tokens[:place], word, *tokens[place + 1 :]] for word in alike[:8])
    yield from islice((name for name in names if _exists(name)), 2)


def _is_shape(word: str) -> bool:
    return re.fullmatch(r"m\d+n\d+(k\d+)?", word) is not None


def _exists(tokens: list[str]) -> bool:
    return next(_matching(tokens), None) is not None
