"""The tokens of a PTX text, a reader of them, and constant expressions. PTX ISA, "Syntax"."""

from __future__ import annotations

import ctypes
import operator
import re
import struct
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from ...errors import PtxlabError, quoted
from .syntax import Immediate, type_bits

_TOKEN = re.compile(
    r"""
      (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\.source_begin\b.*?\.source_end\b)
    | (?P<unclosed>/\*)
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|(?:0[0-7]*|[1-9]\d*)U?)(?![\w$])
    | (?P<word>[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+|(?<=\.sp::2):4)*)
    | (?P<directive>\.[A-Za-z_][\w$]*(?:::[\w$]+)*)
    | (?P<sign>[{}()\[\]<>,;:=+\-*/%|!@~&^?])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NOT_OCTAL = re.compile(r"0\d+")
#: An escaped character in a string: an octal number or a letter.
_ESCAPE = re.compile(rb"\\([0-7]{1,3})|\\(.)", re.DOTALL)


@dataclass(slots=True)
class Token:
    """A token: a word, a directive, a number, a string or a sign; `start` is where it begins."""

    kind: str
    text: str
    start: int


class TokenReader:
    """Takes the tokens of a text one by one; errors name the line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._tokens = self._split()
        self._at = 0

    def _split(self) -> list[Token]:
        tokens = []
        position = 0
        text = self._text
        match_at = _TOKEN.match
        while position < len(text):
            match = match_at(text, position)
            if match is None:
                if text.startswith("\0", position):
                    position += 1
                    continue
                not_octal = _NOT_OCTAL.match(text, position)
                if not_octal is not None:
                    self._fail(position, f"found {not_octal[0]}; a number that begins with 0 is octal")
                self._fail(position, f"found {quoted(text[position : position + 12])}, which is not PTX")
            kind = match.lastgroup or ""
            if kind == "unclosed":
                self._fail(position, "the comment that begins here does not end")
            if kind != "skip":
                tokens.append(Token(kind, match.group(), position))
            position = match.end()
        # Several, since the reader looks up to two tokens ahead.
        return tokens + [Token("end", "the end of the text", len(text))] * 3

    def _line(self, position: int) -> int:
        return bisect_right(self._newlines, position - 1) + 1

    def _fail(self, position: int, sentence: str) -> NoReturn:
        raise PtxlabError(f"PTX line {self._line(position)}: {sentence}")

    def _wrong(self, expected: str) -> NoReturn:
        """Refuse the next token."""
        token = self._tokens[self._at]
        self._fail(token.start, f"found {quoted(token.text)} where {expected} belongs")

    def _wrong_last(self, expected: str) -> NoReturn:
        """Refuse the token that was taken last."""
        self._at -= 1
        self._wrong(expected)

    def _next(self) -> Token:
        """Take the next token, whatever it is."""
        token = self._tokens[self._at]
        if token.kind == "end":
            self._fail(token.start, "the text ends in the middle of a statement")
        self._at += 1
        return token

    def _is(self, text: str) -> bool:
        """Whether this token comes next."""
        return self._tokens[self._at].text == text and self._tokens[self._at].kind != "text"

    def _takes(self, text: str) -> bool:
        """Take this token if it comes next; returns whether it did."""
        if self._is(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        """Take this token, which must come next."""
        if not self._takes(text):
            self._wrong(repr(text))

    def _word(self, expected: str) -> str:
        """Take a word; `expected` describes it in an error."""
        token = self._tokens[self._at]
        if token.kind != "word":
            self._wrong(expected)
        self._at += 1
        return token.text


def string_of(literal: str) -> str:
    """The text of a quoted string; characters beyond ASCII are escaped in it, byte by byte.

    >>> string_of(r'"/src/\\303\\274.cu"')
    '/src/ü.cu'
    """
    content = literal[1:-1].encode(errors="replace")
    unescaped = _ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 255]) if match[1] else match[2], content)
    return unescaped.decode(errors="replace")


# -- constants and constant expressions. PTX ISA, "Constants" ------------------------------------------------


class Unsigned(int):
    """A .u64 in a constant expression, where an int is an .s64 and a float an .f64."""


#: The operators of constant expressions, lowest precedence first (PTX ISA, "Constant Expressions").
_OPERATORS: tuple[dict[str, Callable[[Any, Any], int | float]], ...] = (
    {"||": lambda a, b: bool(a) or bool(b)},
    {"&&": lambda a, b: bool(a) and bool(b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _quotient(a, b), "%": operator.mod},
)
_LEVELS = {sign: level for level, signs in enumerate(_OPERATORS) for sign in signs}
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
#: Operators that take two floats; all others take integers only.
_OF_FLOATS = frozenset({"+", "-", "*", "/"}) | _COMPARISONS
#: Operators whose result is .s64, 0 or 1.
_TRUTH = frozenset({"||", "&&"}) | _COMPARISONS
_CASTS = {".s64": False, ".u64": True}
_MAX_DIGITS = 1000  # of a literal


def _reduced(value: int, unsigned: bool) -> int:
    """An integer modulo 2**64, as a .u64 or an .s64."""
    value &= (1 << 64) - 1
    if unsigned:
        return Unsigned(value)
    return value - (1 << 64) if value >> 63 else value


def _quotient(a: int | float, b: int | float) -> int | float:
    """As in C: integers are rounded towards 0."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return (abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1)


def _unary(sign: str, value: int | float) -> int | float:
    """A unary operator or a cast; of floats there are only signs."""
    if sign == "-":
        return -value if isinstance(value, float) else _reduced(-value, isinstance(value, Unsigned))
    if sign == "+":
        return value
    if sign == "!":
        return int(not value)
    if sign == "~":
        return _reduced(~int(value), unsigned=True)
    return _reduced(int(value), _CASTS[sign])


def _binary(sign: str, a: int | float, b: int | float) -> int | float:
    """An operator between two integers or two floats.

    One unsigned integer makes the other one unsigned; `%` takes both as unsigned, and a shift has the type of
    what is shifted. CUDA 13.0 and 13.4 agree on this; the ISA's table has `%` signed and `& | ^` unsigned.

    >>> _binary("/", -1, Unsigned(2)), _binary("%", -8, 3), _binary(">>", -8, Unsigned(1))
    (9223372036854775807, 2, -4)
    """
    calculate = _OPERATORS[_LEVELS[sign]][sign]
    if isinstance(a, float) or isinstance(b, float):
        value = calculate(a, b)
        return int(value) if sign in _TRUTH else value
    unsigned = isinstance(a, Unsigned) or isinstance(b, Unsigned) or sign == "%"
    if sign in ("<<", ">>"):
        unsigned = isinstance(a, Unsigned)
    elif unsigned:
        a, b = _reduced(a, unsigned=True), _reduced(b, unsigned=True)
    return _reduced(int(calculate(a, b)), unsigned and sign not in _TRUTH)


class ConstantReader(TokenReader):
    """Reads numbers and constant expressions."""

    def _integer(self) -> int:
        negative = False
        while self._is("-") or self._is("+"):
            negative ^= self._next().text == "-"
        token = self._tokens[self._at]
        if token.kind != "number":
            self._wrong("a whole number")
        immediate = self._literal(token)
        if immediate.type != "int":
            self._wrong("a whole number")
        self._at += 1
        return -immediate.value if negative else immediate.value

    def _literal(self, token: Token) -> Immediate:
        """The value of a number; of an integer beyond 64 bits ptxas takes the low ones."""
        if len(token.text) > _MAX_DIGITS:
            self._fail(token.start, f"found {quoted(token.text)}, which has {len(token.text)} digits")
        immediate = _number(token.text)
        return Immediate(immediate.value & (1 << 64) - 1, immediate.type)

    def _constant(self) -> Immediate:
        """Read a literal or a constant expression."""
        start = self._at
        negative = False
        while self._is("-") or self._is("+"):
            negative ^= self._next().text == "-"
        token = self._tokens[self._at]
        if token.kind == "number" and self._tokens[self._at + 1].text in (",", ";", "}", "]", ")", "{"):
            self._at += 1
            immediate = self._literal(token)
            return _negated(immediate) if negative else immediate
        self._at = start
        value = self._choice()
        if isinstance(value, float):
            return Immediate(struct.unpack("<Q", struct.pack("<d", value))[0], "decimal")
        return Immediate(int(value))

    def _offset(self) -> int:
        """Read an optional ``+`` and constant expression after a name or a register."""
        if self._is("-"):
            self._wrong("'+' (a negative offset is +-4)")
        if not self._takes("+"):
            return 0
        start = self._at
        value = self._choice()
        if isinstance(value, float):
            self._at = start
            self._wrong("an offset")
        return _reduced(value, unsigned=False)

    def _choice(self) -> int | float:
        """Read a constant expression, perhaps ``condition ? value : value``."""
        condition = self._expression()
        if not self._is("?"):
            return condition
        self._want_integers("?", condition)
        self._next()
        first = self._choice()
        self._expect(":")
        second = self._choice()
        self._want_integers("?", first, second)
        return first if condition else second

    def _want_integers(self, sign: str, *values: int | float) -> None:
        """Refuse floats where an operator takes whole numbers."""
        if any(isinstance(value, float) for value in values):
            self._wrong_last(f"a whole number, which {sign} takes,")

    def _expression(self, lowest: int = 0) -> int | float:
        """Read a constant expression whose operators have at least this level of precedence, as in C."""
        value = self._factor()
        while True:
            sign, level = self._operator()
            if level < lowest:
                return value
            self._at += len(sign)
            other = self._expression(level + 1)
            if sign not in _OF_FLOATS:
                self._want_integers(sign, value, other)
            if isinstance(value, float) != isinstance(other, float):
                self._wrong_last(f"a number of the same kind as the other one of {sign} (2.0 is a float)")
            if sign in ("/", "%") and other == 0:
                self._wrong_last("a constant that does not divide by 0")
            if sign == "/" and (value, other) == (-(1 << 63), -1):
                self._wrong_last("a constant whose quotient has 64 bits")
            value = _binary(sign, value, other)

    def _operator(self) -> tuple[str, int]:
        """The next operator, and its level, -1 if there is none; two characters are two tokens."""
        first, second = self._tokens[self._at : self._at + 2]
        double = first.text + second.text
        sign = double if double in _LEVELS and second.start == first.start + 1 else first.text
        return sign, _LEVELS.get(sign, -1)

    def _factor(self) -> int | float:
        """Read a number or an expression in parentheses, with unary operators and casts before it."""
        signs = []
        while True:
            text = self._tokens[self._at].text
            if text == "(" and self._tokens[self._at + 1].kind == "directive":
                self._at += 1
                text = self._next().text
                if text not in _CASTS:
                    self._wrong_last("a cast to .s64 or .u64")
                self._expect(")")
            elif text in ("~", "!", "-", "+"):
                self._at += 1
            else:
                break
            signs.append(text)
        value = self._primary()
        for sign in reversed(signs):
            if sign not in "+-":
                self._want_integers("a cast" if sign in _CASTS else sign, value)
            value = _unary(sign, value)
        return value

    def _primary(self) -> int | float:
        """Read a number or an expression in parentheses."""
        if self._takes("("):
            value = self._choice()
            self._expect(")")
            return value
        token = self._next()
        if token.text == "WARP_SZ":
            return 32
        if token.kind != "number":
            self._wrong_last("a constant")
        immediate = self._literal(token)
        if immediate.type == "int":
            # PTX ISA, "Integer Constants": signed, unless U says otherwise or the value needs 64 bits
            return _reduced(immediate.value, token.text.endswith("U") or immediate.value >> 63 == 1)
        form = ("<I", "<f") if immediate.type == "f32" else ("<Q", "<d")
        return float(struct.unpack(form[1], struct.pack(form[0], immediate.value))[0])


def _number(text: str) -> Immediate:
    """A literal.

    >>> _number("0f3F800000"), _number("0x10U").value
    (Immediate(value=1065353216, type='f32'), 16)
    """
    head = text[:2].lower()
    if head == "0f":
        return Immediate(int(text[2:], 16), "f32")
    if head == "0d":
        return Immediate(int(text[2:], 16), "f64")
    digits = text.rstrip("U")
    if head == "0x":
        return Immediate(int(digits, 16))
    if head == "0b":
        return Immediate(int(digits[2:], 2))
    if not digits.isdigit():
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(digits)))[0], "decimal")
    return Immediate(int(digits, 8 if digits[0] == "0" else 10))


def _negated(immediate: Immediate) -> Immediate:
    if immediate.type == "int":
        return Immediate(-immediate.value)
    sign = 31 if immediate.type == "f32" else 63
    return Immediate(immediate.value ^ 1 << sign, immediate.type)


def bits_of(constant: Immediate, type_name: str) -> int:
    """The bits of a constant in an initialiser."""
    bits = type_bits(type_name) or 8
    if constant.type in ("decimal", "f64") and bits == 32:
        value = struct.unpack("<d", struct.pack("<Q", constant.value))[0]
        return int(struct.unpack("=I", bytes(ctypes.c_float(value)))[0])  # beyond the largest it is infinity
    return constant.value & (1 << bits) - 1
