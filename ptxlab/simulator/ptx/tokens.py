"""PTX text as tokens, what takes one after the other, and constant expressions. PTX ISA, "Syntax"."""

from __future__ import annotations

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
      (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|(?:0[0-7]*|[1-9]\d*)U?)(?![\w$])
    | (?P<word>[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+)*)
    | (?P<directive>\.[A-Za-z_][\w$]*(?:::[\w$]+)*)
    | (?P<sign>[{}()\[\]<>,;:=+\-*/%|!@~&^?])
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_OCTAL = re.compile(r"0\d+")
#: A byte in a string, as an octal number or as a letter.
_ESCAPE = re.compile(rb"\\([0-7]{1,3})|\\(.)", re.DOTALL)


@dataclass(slots=True)
class Lexeme:
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

    def _split(self) -> list[Lexeme]:
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
            if kind != "skip":
                tokens.append(Lexeme(kind, match.group(), position))
            position = match.end()
        tokens.append(Lexeme("end", "the end of the text", len(text)))
        return tokens

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

    def _next(self) -> Lexeme:
        """Take the next token, whatever it is."""
        token = self._tokens[self._at]
        if token.kind == "end":
            self._fail(token.start, "the text ends in the middle of a statement")
        self._at += 1
        return token

    def _is(self, text: str) -> bool:
        """Whether this comes next."""
        return self._tokens[self._at].text == text and self._tokens[self._at].kind != "text"

    def _takes(self, text: str) -> bool:
        """Take this if it comes next; whether it did."""
        if self._is(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        """Take this, which must come next."""
        if not self._takes(text):
            self._wrong(repr(text))

    def _word(self, what: str) -> str:
        """Take a word; `what` is said where there is none."""
        token = self._tokens[self._at]
        if token.kind != "word":
            self._wrong(what)
        self._at += 1
        return token.text


def string_of(literal: str) -> str:
    """What a string in quotes says; letters beyond ASCII are escaped there, byte by byte.

    >>> string_of(r'"/src/\\303\\274.cu"')
    '/src/ü.cu'
    """
    content = literal[1:-1].encode(errors="replace")
    unescaped = _ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 255]) if match[1] else match[2], content)
    return unescaped.decode(errors="replace")


# -- constants and constant expressions. PTX ISA, "Constants" ------------------------------------------------

#: The operators of constant expressions, those that bind least first (PTX ISA, "Constant Expressions").
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
    {"*": operator.mul, "/": lambda a, b: _quotient(a, b), "%": lambda a, b: _remainder(a, b)},
)
#: Operators of whole numbers only.
_WHOLE = frozenset({"|", "^", "&", "<<", ">>", "%"})


def _remainder(a: int, b: int) -> int:
    """As in C: with the sign of the dividend."""
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _quotient(a: int | float, b: int | float) -> int | float:
    """As in C: whole numbers are rounded towards 0."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return (abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1)


class ConstantReader(TokenReader):
    """Reads numbers, and expressions of them."""

    def _integer(self, what: str = "a whole number") -> int:
        negative = False
        while self._is("-") or self._is("+"):
            negative ^= self._next().text == "-"
        token = self._tokens[self._at]
        if token.kind != "number":
            self._wrong(what)
        immediate = _number(token.text)
        if immediate.type != "int":
            self._wrong(what)
        self._at += 1
        return -immediate.value if negative else immediate.value

    def _constant(self) -> Immediate:
        """A literal, or a constant expression."""
        start = self._at
        negative = False
        while self._is("-") or self._is("+"):
            negative ^= self._next().text == "-"
        token = self._tokens[self._at]
        if token.kind == "number" and self._tokens[self._at + 1].text in (",", ";", "}", "]", ")", "{"):
            self._at += 1
            return _negated(_number(token.text)) if negative else _number(token.text)
        self._at = start
        value = self._choice()
        if isinstance(value, float):
            return Immediate(struct.unpack("<Q", struct.pack("<d", value))[0], "decimal")
        return Immediate(value)

    def _offset(self) -> int:
        """What follows a name or a register: nothing, or ``+`` and a constant expression."""
        if self._is("-"):
            self._wrong("'+' (a negative offset is +-4)")
        if not self._takes("+"):
            return 0
        start = self._at
        value = self._choice()
        if isinstance(value, float):
            self._at = start
            self._wrong("an offset")
        return value

    def _choice(self) -> int | float:
        """A constant expression, with ``condition ? value : value``."""
        condition = self._expression(0)
        if not self._takes("?"):
            return condition
        first = self._choice()
        self._expect(":")
        second = self._choice()
        return first if condition else second

    def _expression(self, level: int) -> int | float:
        """A constant expression of the operators of this level and those that bind tighter, as in C."""
        if level == len(_OPERATORS):
            return self._factor()
        value = self._expression(level + 1)
        while True:
            sign = self._operator(level)
            if sign is None:
                return value
            other = self._expression(level + 1)
            if sign in ("/", "%") and other == 0:
                self._wrong("a constant that does not divide by 0")
            if sign in _WHOLE and (isinstance(value, float) or isinstance(other, float)):
                self._wrong_last(f"a whole number, which {sign} takes,")
            value = _OPERATORS[level][sign](value, other)
            if isinstance(value, bool):
                value = int(value)

    def _operator(self, level: int) -> str | None:
        """Take an operator of this level, if one comes next; those of two characters are two tokens."""
        text = self._tokens[self._at].text
        double = text + self._tokens[self._at + 1].text
        length = 2 if any(double in operators for operators in _OPERATORS) else 1
        sign = double if length == 2 else text
        if sign not in _OPERATORS[level]:
            return None
        self._at += length
        return sign

    def _factor(self) -> int | float:
        if self._takes("("):
            if self._tokens[self._at].kind == "directive":  # a cast to .s64 or .u64
                self._at += 1
                self._expect(")")
                return int(self._factor())
            value = self._choice()
            self._expect(")")
            return value
        if self._takes("~"):
            whole = self._factor()
            if isinstance(whole, float):
                self._wrong_last("a whole number, which ~ takes,")
            return ~whole
        if self._takes("!"):
            return int(not self._factor())
        if self._takes("-"):
            return -self._factor()
        if self._takes("+"):
            return self._factor()
        token = self._next()
        if token.text == "WARP_SZ":
            return 32
        if token.kind != "number":
            self._wrong_last("a constant")
        immediate = _number(token.text)
        if immediate.type == "int":
            return immediate.value
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
    """A constant as an element of an initialiser has it."""
    bits = type_bits(type_name) or 8
    if constant.type == "decimal" and bits == 32:
        value = struct.unpack("<d", struct.pack("<Q", constant.value))[0]
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    return constant.value & (1 << bits) - 1
