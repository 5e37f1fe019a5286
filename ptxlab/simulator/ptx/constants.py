"""Constants and constant expressions. PTX ISA, "Constants"."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from .syntax import Immediate, type_bits
from .tokens import TokenReader

#: The operators of constant expressions, those that bind least first (PTX ISA, "Constant Expressions").
_OPERATORS: tuple[dict[str, Callable[[Any, Any], int | float]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {
        "*": lambda a, b: a * b,
        "/": lambda a, b: _quotient(a, b),
        "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    },
)
#: Operators of whole numbers only.
_WHOLE = frozenset({"|", "^", "&", "<<", ">>", "%"})


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
            operator = self._operator(level)
            if operator is None:
                return value
            other = self._expression(level + 1)
            if operator in ("/", "%") and other == 0:
                self._wrong("a constant that does not divide by 0")
            if operator in _WHOLE and (isinstance(value, float) or isinstance(other, float)):
                self._wrong_last(f"a whole number, which {operator} takes,")
            value = _OPERATORS[level][operator](value, other)

    def _operator(self, level: int) -> str | None:
        """Take an operator of this level, if one comes next; those of two characters are two tokens."""
        text = self._tokens[self._at].text
        double = text + self._tokens[self._at + 1].text
        length = 2 if any(double in operators for operators in _OPERATORS) else 1
        operator = double if length == 2 else text
        if operator not in _OPERATORS[level]:
            return None
        self._at += length
        return operator

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
