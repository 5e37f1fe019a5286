"""What a typed text stands for: the code of an element, the content of a register, the cells of a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import PtxlabError
from ..isa.dtypes import DType

__all__ = ["cells", "holds", "parse", "parse_register", "reach", "written"]

_RAW = re.compile(r"0(x[0-9a-f_]+|b[01_]+)")
_ENDLESS = re.compile(r"[+-]?inf(inity)?")


def parse(kind: DType, text: str) -> int:
    """The code that a typed text stands for: a number, or a raw code in ``0x`` or ``0b`` spelling.

    A float rounds to nearest even as everywhere; one beyond the largest of its type is refused, for it would become another number.

    >>> from ptxlab import dtype
    >>> parse(dtype("s4"), "-3"), parse(dtype("s4"), "0xd")
    (13, 13)
    >>> parse(dtype("f16"), "1e9")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: found 1e9; f16 holds -65504..65504, inf and nan
    """
    word = text.strip().replace("\u2212", "-").lower()
    if _RAW.fullmatch(word):
        code = int(word.replace("_", ""), 0) if word.strip("0xb_") else 0
        if code >= 1 << kind.bits:
            bits = "1 bit" if kind.bits == 1 else f"{kind.bits} bits"
            raise PtxlabError(
                f"code {word:.40} does not fit the {bits} of {kind}; the largest is 0x{(1 << kind.bits) - 1:x}"
            )
        return code
    try:
        whole = not kind.is_float and re.fullmatch(r"[+-]?[0-9]{1,18}", word) is not None
        number: float = int(word) if whole else float(word)
        if not whole and "_" in word:
            raise ValueError
    except ValueError:
        such = f"a number such as {'1.5' if kind.is_float else '1'}{', with a point and no comma' * (',' in word)}"
        raise PtxlabError(
            f"found {text.strip()[:40]!r}; {kind} takes {such}, or a raw code such as 0x{(1 << kind.bits) - 1:x}"
        ) from None
    least, most, infinite, _ = reach(kind)
    beyond = math.isinf(number) and not (infinite and _ENDLESS.fullmatch(word))
    if kind.is_float and (beyond or (math.isfinite(number) and not least <= number <= most)):
        raise PtxlabError(f"found {word:.40}; {kind} holds {holds(kind)}")
    return int(np.ravel(kind.encode(number if kind.signed or number else 0))[0])


class Reach(NamedTuple):
    """Least and largest finite value of a type, and whether it has infinities and NaN."""

    least: float
    most: float
    infinite: bool
    nan: bool


@lru_cache(maxsize=None)
def reach(kind: DType) -> Reach:
    """What numbers a type has.

    >>> from ptxlab import dtype
    >>> reach(dtype("e4m3"))
    Reach(least=-448.0, most=448.0, infinite=False, nan=True)
    """
    if not kind.is_float:
        return Reach(kind.minimum, kind.maximum, False, False)
    if kind.bits > 16:
        most = float(np.ldexp(2.0 - 2.0**-kind.fraction_bits, kind.bias))
        return Reach(-most, most, True, True)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = kind.decode(np.arange(1 << kind.bits)).astype(np.float64)
    finite = values[np.isfinite(values)]
    return Reach(
        float(finite.min()), float(finite.max()), bool(np.isinf(values).any()), bool(np.isnan(values).any())
    )


def holds(kind: DType) -> str:
    """The numbers of a type, in words.

    >>> from ptxlab import dtype
    >>> holds(dtype("s4")), holds(dtype("e2m1")), holds(dtype("e4m3"))
    ('-8..7', '-6..6', '-448..448 and nan')
    """
    if kind.name == "ue8m0":
        return "powers of two from 2^-127 to 2^127, and nan"
    least, most, infinite, _ = reach(kind)
    if not kind.is_float:
        return f"{least}..{most}"
    special = ", inf and nan" if infinite else " and nan" if kind.bits >= 8 else ""
    special += "" if kind.signed else ", no sign"
    return f"{least:g}..{most:g}{special}"


def written(value: Any) -> str:
    """A value as one would type it: whole numbers in full, others by the fewest digits that tell them from their neighbours.

    >>> written(np.float16(2048)), written(np.float16(0.1)), written(np.int8(-3)), written(np.float32("nan"))
    ('2048', '0.1', '-3', 'nan')
    """
    number = float(value)
    whole = number.is_integer() and abs(number) < 1e7 and (number != 0 or math.copysign(1, number) > 0)
    return str(int(number)) if whole else str(value).removesuffix(".0")


def parse_register(text: str, bits: int) -> int:
    """The content of a register: hexadecimal with or without ``0x``, or binary with ``0b``."""
    word = text.strip().lower().replace("_", "")
    if re.fullmatch(r"0b[01]+", word):
        content = int(word, 2)
    elif re.fullmatch(r"(0x)?[0-9a-f]+", word):
        content = int(word, 16)
    else:
        raise PtxlabError(
            f"found {text.strip()[:40]!r}; a register takes up to {bits // 4} hexadecimal digits"
        )
    if content >= 1 << bits:
        raise PtxlabError(f"{text.strip():.40} does not fit the {bits} bits of a register")
    return content


def cells(text: str) -> list[list[str]]:
    r"""The cells of a block as spreadsheets copy it: a line for a row, tabs between cells, quotes around those with a tab or a line of their own.

    >>> cells('1\t2\r\n"3"\t\r\n')
    [['1', '2'], ['3', '']]
    """
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        return [line or [""] for line in csv.reader(lines, delimiter="\t", strict=True)] or [[""]]
    except csv.Error:
        raise PtxlabError(
            f"found {text.strip()[:40]!r}; a cell that starts with a quotation mark ends with one"
        ) from None
