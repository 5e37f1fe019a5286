"""Names of operands as people type them, and words that are like an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.operand import Operand

ALIASES = {
    "METADATA": "E",
    "META": "E",
    "SCALE_A": "SFA",
    "SCALEA": "SFA",
    "SCALE_B": "SFB",
    "SCALEB": "SFB",
}

#: Options for what a mnemonic of tcgen05.mma does not say.
TCGEN05_PARTS = ("m", "n", "a", "b", "d")


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """``; did you mean show?``, or "" if no known word is similar."""
    similar = difflib.get_close_matches(word, list(known), 3, cutoff)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def find_operand(form: Form, name: str) -> Operand:
    """The operand with that name, or an error that suggests one."""
    try:
        return form.operand(name)
    except PtxlabError as error:
        alias = ALIASES.get(name.upper().replace("-", "_"))
        if alias in form.operands:
            remedy = f"; did you mean {alias}?"
        else:
            remedy = suggestion(name.upper(), form.operands)
        raise PtxlabError(f"{error}{remedy}") from None
