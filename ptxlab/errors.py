"""The one kind of error that ptxlab raises: it says where, what was found, and what would be right."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

__all__ = ["PtxlabError", "counted", "error_of", "error_prefix", "listing", "needs_lab", "quoted", "wrapped"]

_MAX_SHOWN = 1 << 16  # elements of an array


class PtxlabError(ValueError):
    """Invalid input, an impossible request or a missing package, in one sentence.

    >>> raise PtxlabError("row 3: found 9; s4 holds -8..7")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: row 3: found 9; s4 holds -8..7

    In a notebook the sentence alone is shown; ``%tb`` shows the traceback.
    """

    _was_shown = False

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence the first time, the whole traceback after that (``%tb``)."""
        shell = sys.modules["IPython"].get_ipython()
        if shell is None or not self._was_shown:
            self._was_shown = True
            return [f"{type(self).__name__}: {self}"]
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, self.__traceback__)
        return lines


def error_of(call: Callable[..., object], *arguments: object) -> str:
    """The sentence with which a call is refused, or "".

    >>> def half(number):
    ...     if number % 2:
    ...         raise PtxlabError(f"{number} is odd")
    >>> error_of(half, 3), error_of(half, 4)
    ('3 is odd', '')
    """
    try:
        call(*arguments)
    except PtxlabError as error:
        return str(error)
    return ""


@contextmanager
def error_prefix(where: str) -> Iterator[None]:
    """Say in front of a refusal where it happened.

    >>> with error_prefix("row 3"):
    ...     raise PtxlabError("found 9; s4 holds -8..7")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: row 3: found 9; s4 holds -8..7
    """
    try:
        yield
    except PtxlabError as error:
        raise PtxlabError(f"{where}: {error}") from None


def listing(values: Iterable[object], limit: int = 12) -> str:
    """Values for a message, separated by commas; beyond `limit`, only how many more there are.

    >>> listing("abcde", 3)
    'a, b, c, ... (2 more)'
    """
    items = [str(value) for value in values]
    if len(items) <= limit:
        return ", ".join(items)
    return ", ".join(items[:limit]) + f", ... ({len(items) - limit} more)"


def wrapped(text: str, width: int = 100) -> str:
    """Wrap a text between words only; JupyterLab breaks longer lines anywhere.

    Continuation lines are indented by two more spaces.

    >>> print(wrapped("  A[9][20] is in lane 6", 14))
      A[9][20] is
        in lane 6
    """
    lines = []
    for line in text.splitlines():
        hanging = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(
            line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines)


@contextmanager
def needs_lab(what: str) -> Iterator[None]:
    """Wrap imports of widgets: a missing package becomes an error that says what to install.

    >>> with needs_lab("the widget"):
    ...     import no_such_package
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: the widget needs no_such_package, which is not installed: \
pip install "ptxlab[lab]"
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("ptxlab"):
            raise
        raise PtxlabError(
            f'{what} needs {error.name}, which is not installed: pip install "ptxlab[lab]"'
        ) from None


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "register"), counted(4, "register"), counted(2, "launch")
    ('1 register', '4 registers', '2 launches')
    """
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{ending}"


def quoted(value: object, limit: int = 60) -> str:
    """A value as a message repeats it: its repr on one line, cut to `limit` characters.

    >>> quoted("m16n8k65"), quoted([[1, 2], [3]])
    ("'m16n8k65'", '[[1, 2], [3]]')
    >>> quoted("mma" * 1000, 12)
    "'mmammammam..."
    """
    try:
        if isinstance(value, str | bytes | list | tuple) and len(value) > limit:
            value = value[: limit + 1]  # the repr of the rest takes time and is not shown
        elif type(value).__module__ == "numpy" and getattr(value, "size", 0) > _MAX_SHOWN:
            value = type(value)  # NumPy prints all elements of many short axes
        text = " ".join(repr(value).split())
    except Exception:  # a foreign __repr__ may raise anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}..."


def lines_of(text: str) -> list[str]:
    """The lines of a source or of PTX, as compilers count them: a form feed or U+2028 ends none.

    >>> lines_of("a\\fb\\r\\nc\\n")
    ['a\\x0cb', 'c']
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
