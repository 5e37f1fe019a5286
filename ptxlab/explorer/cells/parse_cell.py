"""What typed text means: the code of an element, the content of a register, the cells of a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ...errors import PtxlabError, counted, quoted
from ...isa.dtypes import DType

_RAW_CODE = re.compile(r"0(x[0-9a-f_]+|b[01_]+)")
_MAX_ROWS = 4096  # of a block that is pasted; the largest matrix has 256
_INFINITY = re.compile(r"[+-]?inf(inity)?")


def parse(dtype: DType, text: str) -> int:
    """The code that a typed text means: a number, or a raw code spelled ``0x`` or ``0b``.

    A float is rounded to nearest even; one beyond the largest value of its type is refused.

    >>> from ptxlab import dtype
    >>> parse(dtype("s4"), "-3"), parse(dtype("s4"), "0xd")
    (13, 13)
    >>> parse(dtype("f16"), "1e9")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: found 1e9; f16 holds -65504..65504, inf and nan
    """
    word = _as_typed(text).strip().replace("\u2212", "-").lower()
    if _RAW_CODE.fullmatch(word):
        return _parse_raw_code(dtype, word)
    integer = not dtype.is_float and re.fullmatch(r"[+-]?[0-9]{1,18}", word) is not None
    try:
        number: float = int(word) if integer else float(word)
        if not integer and "_" in word:
            raise ValueError
    except ValueError:
        example = "1.5" if dtype.is_float else "1"
        comma = ", with a point and no comma" if "," in word else ""
        raise PtxlabError(
            f"found {text.strip()[:40]!r}; {dtype} takes a number such as {example}{comma}, "
            f"or a raw code such as 0x{(1 << dtype.bits) - 1:x}"
        ) from None
    least, most, infinite, _ = value_range(dtype)
    overflows = math.isinf(number) and not (infinite and _INFINITY.fullmatch(word))
    if dtype.is_float and (overflows or (math.isfinite(number) and not least <= number <= most)):
        raise PtxlabError(f"found {word:.40}; {dtype} holds {range_words(dtype)}")
    return int(np.ravel(dtype.encode(number if dtype.signed or number else 0))[0])


def _parse_raw_code(dtype: DType, word: str) -> int:
    code = int(word.replace("_", ""), 0) if word.strip("0xb_") else 0
    if code >= 1 << dtype.bits:
        bits = counted(dtype.bits, "bit")
        raise PtxlabError(
            f"code {word:.40} does not fit the {bits} of {dtype}; the largest is 0x{(1 << dtype.bits) - 1:x}"
        )
    return code


class ValueRange(NamedTuple):
    """Smallest and largest finite value of a type, and whether it has infinities and NaN."""

    least: float
    most: float
    infinite: bool
    nan: bool


@lru_cache(maxsize=None)
def value_range(dtype: DType) -> ValueRange:
    """The values that a type has.

    >>> from ptxlab import dtype
    >>> value_range(dtype("e4m3"))
    ValueRange(least=-448.0, most=448.0, infinite=False, nan=True)
    """
    if not dtype.is_float:
        return ValueRange(dtype.minimum, dtype.maximum, False, False)
    if dtype.bits > 16:
        most = float(np.ldexp(2.0 - 2.0**-dtype.fraction_bits, dtype.bias))
        return ValueRange(-most, most, True, True)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = dtype.decode(np.arange(1 << dtype.bits)).astype(np.float64)
    finite = values[np.isfinite(values)]
    return ValueRange(
        float(finite.min()), float(finite.max()), bool(np.isinf(values).any()), bool(np.isnan(values).any())
    )


def range_words(dtype: DType) -> str:
    """The values of a type in words.

    >>> from ptxlab import dtype
    >>> range_words(dtype("s4")), range_words(dtype("e2m1")), range_words(dtype("e4m3"))
    ('-8..7', '-6..6', '-448..448 and nan')
    """
    if dtype.name == "ue8m0":
        return "powers of two from 2^-127 to 2^127, and nan"
    least, most, infinite, _ = value_range(dtype)
    if not dtype.is_float:
        return f"{least}..{most}"
    special = ""
    if infinite:
        special = ", inf and nan"
    elif dtype.bits >= 8:
        special = " and nan"
    sign = "" if dtype.signed else ", no sign"
    return f"{least:g}..{most:g}{special}{sign}"


def format_value(value: Any) -> str:
    """A value as one would type it: integers in full, others by the fewest digits that identify them.

    >>> format_value(np.float16(2048)), format_value(np.float16(0.1)), format_value(np.float32("nan"))
    ('2048', '0.1', 'nan')
    """
    return format_values([value])[0]


def format_values(values: Iterable[Any]) -> list[str]:
    """Each of the values as `format_value` writes it."""
    texts = []
    for value in values:
        number = float(value)
        negative_zero = number == 0 and math.copysign(1, number) < 0
        if number.is_integer() and abs(number) < 1e7 and not negative_zero:
            texts.append(str(int(number)))
        else:
            texts.append(str(value).removesuffix(".0"))
    return texts


def parse_register(text: str, bits: int) -> int:
    """The content of a register: hexadecimal with or without ``0x``, or binary with ``0b``."""
    word = _as_typed(text).strip().lower().replace("_", "")
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


def parse_descriptor_bits(text: str, what: str, bits: int, example: int) -> int:
    """The bits of a descriptor from hexadecimal text; a refusal names `what` it is and an `example`."""
    try:
        return int(text.strip().lower().removeprefix("0x").replace("_", ""), 16)
    except ValueError:
        raise PtxlabError(
            f"{what}: found {quoted(text)}; it takes {bits} bits in hexadecimal, such as "
            f"0x{example:0{bits // 4}x}"
        ) from None


def parse_cells(text: str) -> list[list[str]]:
    r"""The cells of a block as spreadsheets copy it: a line for each row, tabs between cells.

    Cells that contain a tab or a line break of their own are in quotation marks.

    >>> parse_cells('1\t2\r\n"3"\t\r\n')
    [['1', '2'], ['3', '']]
    """
    return _separated_cells(_as_typed(text), "\t")


def parse_block(text: str) -> list[list[str]]:
    r"""The cells of a pasted block: a spreadsheet's, a CSV file's, numbers in columns, a NumPy print, a list.

    >>> parse_block("1, 2\n3, 4") == parse_block("1 2\n3 4") == parse_block("1;2\n3;4")
    True
    >>> parse_block("array([[1., 2.],\n       [3., 4.]], dtype=float16)")
    [['1.', '2.'], ['3.', '4.']]
    >>> parse_block("[[1, 2], [3]]")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: row 2 of the text ends at column 1; row 1 has 2 columns
    """
    if _BRACKETED.match(_as_typed(text)):
        rows = _bracketed_rows(text)
    elif _DECIMAL_COMMA.fullmatch(text):
        rows = [[text.strip()]]  # one number with a decimal comma, which is refused, rather than two cells
    else:
        separator = next((letter for letter in '\t;,"' if letter in text), " ")
        rows = _separated_cells(text, "\t" if separator == '"' else separator)
    if len(rows) > 1 or len(rows[0]) > 1:
        _refuse_ellipsis(rows)
    return rows


_BRACKETED = re.compile(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?(?:\[|\(\s*\(|[A-Za-z_][\w.]*\(\s*[\[(])")

_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")


def _separated_cells(text: str, separator: str) -> list[list[str]]:
    """A row for each line. A space means any white space; other separators may end a line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if separator == " ":
        lines = text.removesuffix("\n").split("\n", _MAX_ROWS + 1)
        rows = [line.split() or [""] for line in lines]
    else:
        is_spaced = separator != "\t"
        reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True, skipinitialspace=is_spaced)
        try:
            rows = [line or [""] for line in islice(reader, _MAX_ROWS + 1)] or [[""]]
        except csv.Error as error:
            reason = "a cell that starts with a quotation mark ends with one"
            if "limit" in str(error):
                reason = "a cell holds one number"
            raise PtxlabError(f"found {text.strip()[:40]!r}; {reason}") from None
        if is_spaced and all(len(row) > 1 and not row[-1].strip() for row in rows if row != [""]):
            rows = [row[:-1] or row for row in rows]
    if len(rows) > _MAX_ROWS:
        raise PtxlabError(f"found more than {_MAX_ROWS} rows of cells; no matrix has so many")
    return rows


def _refuse_ellipsis(rows: list[list[str]]) -> None:
    for row, line in enumerate(rows, 1):
        for column, word in enumerate(line, 1):
            if word.strip() in ("...", "…"):
                raise PtxlabError(
                    f"row {row}, column {column} of the text is {word.strip()!r}, which stands for numbers "
                    "that were left out; print all of them with np.set_printoptions(threshold=np.inf)"
                )


# -- lists, and arrays as NumPy prints them ---------------------------------------------------------------

_TOKEN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|[^\s,;=()\[\]'\"]+|\S")
_DEEPEST = 12  # brackets inside brackets
_Nested = list["str | _Nested"]


class _Bracket:
    """An open bracket: its kind, and its items so far."""

    def __init__(self, kind: str) -> None:
        self.kind = kind  # "[", "(", "call" or, around everything, ""
        self.items: _Nested = []
        self.commas = 0
        self.in_keyword = False  # what follows is the value of a keyword such as dtype=

    def add(self, item: str | _Nested) -> None:
        if not self.in_keyword:
            self.items.append(item)

    def closed(self) -> str | _Nested:
        """The value of the closed bracket: (1) is 1, and array(x) is x."""
        if self.kind == "call" and len(self.items) != 1:
            raise PtxlabError("a call in the text holds no array, or several; paste one")
        if self.kind == "call" or (self.kind == "(" and len(self.items) == 1 and not self.commas):
            return self.items[0]
        return self.items


def _bracketed_rows(text: str) -> list[list[str]]:
    """The rows of nested lists or of an array as NumPy prints it, which breaks rows into several lines."""
    value = _nested(text)
    while len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    rows = [value] if not any(isinstance(item, list) for item in value) else value
    checked: list[list[str]] = []
    for index, row in enumerate(rows, 1):
        words = [word for word in row if isinstance(word, str)]
        if isinstance(row, str) and row in ("...", "…"):
            words = [row]
        elif isinstance(row, str):
            raise PtxlabError(f"row {index} of the text is {quoted(row)}; each row is in brackets of its own")
        elif len(words) != len(row):
            raise PtxlabError(
                f"row {index} of the text holds lists in brackets; a matrix has rows and columns"
            )
        checked.append(words)
    if not any(checked):
        raise PtxlabError("found brackets with nothing in them; paste numbers")
    if len(checked) > _MAX_ROWS:
        raise PtxlabError(f"found more than {_MAX_ROWS} rows of cells; no matrix has so many")
    _refuse_ellipsis(checked)
    for index, words in enumerate(checked, 1):
        if len(words) != len(checked[0]):
            raise PtxlabError(
                f"row {index} of the text ends at column {len(words)}; row 1 has {len(checked[0])} columns"
            )
    return checked


def _nested(text: str) -> _Nested:
    """Lists, tuples and calls around them, parsed as in Python; commas between numbers may be missing."""
    tokens = _TOKEN.findall(text)
    stack = [_Bracket("")]
    previous = ""
    for index, token in enumerate(tokens):
        inside = stack[-1]
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in ("[", "("):
            is_call = token == "(" and _is_name(previous)
            if len(stack) > _DEEPEST:
                raise PtxlabError(f"found more than {_DEEPEST} brackets in each other; a matrix takes two")
            stack.append(_Bracket("call" if is_call else token))
        elif token in ("]", ")"):
            opening = "[" if token == "]" else "("
            if len(stack) == 1 or (inside.kind == "[") != (opening == "["):
                raise PtxlabError(f"found {token!r} without its {opening!r}; paste the whole text")
            stack.pop()
            stack[-1].add(inside.closed())
        elif token == ",":
            if previous in (",", "[", "("):
                raise PtxlabError(
                    f"nothing stands before a comma, in {_position(stack)} of the text; paste whole rows"
                )
            inside.commas += 1
            inside.in_keyword = False
        elif token == "=":
            inside.in_keyword = inside.kind == "call"
        elif token == ";" and not following:
            pass
        elif not (_is_name(token) and following in ("=", "(")):
            inside.add(token.strip("'\""))
        previous = token
    if len(stack) > 1:
        raise PtxlabError("the text ends inside of brackets; paste all of it")
    return stack[0].items


def _is_name(token: str) -> bool:
    """Whether a token is a name such as A, array or np.float16."""
    return re.fullmatch(r"[A-Za-z_][\w.]*", token) is not None


def _position(stack: list[_Bracket]) -> str:
    row = len(stack[-2].items) + 1 if len(stack) > 2 else 1
    return f"row {row}, column {len(stack[-1].items) + 1}"


def _as_typed(text: object) -> str:
    if not isinstance(text, str):
        raise PtxlabError(f"found {quoted(text)}; a cell or a register takes what is typed, as text")
    return text
