"""What a typed text stands for: the code of an element, the content of a register."""

from __future__ import annotations

import re

import numpy as np

from ..dtypes import DType
from ..errors import PtxlabError

__all__ = ["parse", "parse_register"]


def parse(kind: DType, text: str) -> int:
    """The code that a typed text stands for: a number, or a raw code in ``0x`` or ``0b`` spelling.

    >>> from ptxlab import dtype
    >>> parse(dtype("s4"), "-3"), parse(dtype("s4"), "0xd")
    (13, 13)
    """
    word = text.strip().replace("\u2212", "-").lower()
    raw = re.fullmatch(r"0(x[0-9a-f_]+|b[01_]+)", word)
    if raw:
        code = int(word.replace("_", ""), 0) if word.strip("0xb_") else 0
        if code >= 1 << kind.bits:
            raise PtxlabError(f"code {word} does not fit the {kind.bits} bits of {kind}")
        return code
    try:
        whole = not kind.is_float and re.fullmatch(r"[+-]?[0-9]{1,18}", word) is not None
        number: float = int(word) if whole else float(word)
        if not whole and "_" in word:
            raise ValueError
    except ValueError:
        raise PtxlabError(
            f"found {text.strip()!r}; a {kind} cell takes a number such as 1, or a raw code such as 0x{(1 << kind.bits) - 1:x}"
        ) from None
    return int(np.ravel(kind.encode(number))[0])


def parse_register(text: str, bits: int) -> int:
    """The content of a register: hexadecimal with or without ``0x``, or binary with ``0b``."""
    word = text.strip().lower().replace("_", "")
    if re.fullmatch(r"0b[01]+", word):
        content = int(word, 2)
    elif re.fullmatch(r"(0x)?[0-9a-f]+", word):
        content = int(word, 16)
    else:
        raise PtxlabError(f"found {text.strip()!r}; a register takes up to {bits // 4} hexadecimal digits")
    if content >= 1 << bits:
        raise PtxlabError(f"{text.strip()} does not fit the {bits} bits of a register")
    return content
