"""Standard output and standard error of a command: in any encoding, and where they are closed or full."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TextIO

_MESSAGE = 1500  # letters of a message at most; sentences are far shorter, what they repeat may not be
_LONG_WORD = re.compile(r"(\S{60})\S{100,}")  # no word of ours; mnemonics have up to 120 letters


class Utf8(str):
    """Text that is a file of its own, such as SVG: UTF-8 whatever the encoding of the terminal."""


class OutputError(Exception):
    """Standard output did not take everything; `reader_left` if it is a pipe whose reader has ended."""

    def __init__(self, reason: str, *, reader_left: bool = False) -> None:
        super().__init__(f"standard output: {reason}")
        self.reader_left = reader_left


def write(text: str) -> None:
    """Write a text and a line break to standard output; what its encoding lacks is written as an escape."""
    stream = _stdout()
    try:
        if isinstance(text, Utf8) and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
        else:
            stream.write(_encodable(f"{text}\n", stream))
    except (OSError, ValueError) as problem:
        raise _failed(stream, problem) from None


def flush() -> None:
    """Everything that was written has arrived, or an OutputError says that it has not."""
    stream = _stdout()
    try:
        stream.flush()
    except (OSError, ValueError) as problem:
        raise _failed(stream, problem) from None


def _stdout() -> TextIO:
    stream: TextIO | None = sys.stdout  # None where it was closed before Python started
    if stream is None:
        raise OutputError("it is closed")
    return stream


def _failed(stream: TextIO, problem: OSError | ValueError) -> OutputError:
    _silence(stream)
    if isinstance(problem, OSError):
        return OutputError(problem.strerror or str(problem), reader_left=isinstance(problem, BrokenPipeError))
    return OutputError("it is closed")


def error(text: str) -> None:
    """Write a text and a line break to standard error; where that is impossible, the exit status must do."""
    stream: TextIO | None = sys.stderr
    if stream is None:
        return
    try:
        stream.write(_encodable(f"{text}\n", stream))
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)


def _encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for what the stream's encoding lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _silence(stream: TextIO) -> None:
    """Let what the stream still holds go nowhere, so that Python does not fail with it once more at exit."""
    if stream not in (sys.__stdout__, sys.__stderr__):
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def one_line(text: str) -> str:
    """A message on one line: control characters as escapes, and no longer than a message may be.

    >>> one_line("no instruction is called '" + 1000 * "x" + "\\n'")
    "no instruction is called 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\\\\n'"
    """
    text = _LONG_WORD.sub(r"\1...", text)
    if len(text) > _MESSAGE:
        text = f"{text[: _MESSAGE * 2 // 3]} ... {text[-_MESSAGE // 3 :]}"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "backslashreplace").decode("ascii")
