"""PTX text as tokens, and what takes one after the other. PTX ISA, "Syntax"."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NoReturn

from ...errors import PtxlabError, quoted

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
