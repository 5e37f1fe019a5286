"""The one kind of error that ptxlab raises: it says where, what was found, and what would be right."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["PtxlabError", "counted", "listing", "needs_lab", "quoted", "wrapped"]

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
        """What IPython shows: at first the sentence, after that the whole traceback."""
        shell = sys.modules["IPython"].get_ipython()
        if shell is None or not self._was_shown:
            self._was_shown = True
            return [f"{type(self).__name__}: {self}"]
        whole: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, self.__traceback__)
        return whole


def listing(values: Iterable[object], limit: int = 12) -> str:
    """Values for a message, separated by commas; after `limit` of them only the number of the others.

    >>> listing("abcde", 3)
    'a, b, c, ... (2 more)'
    """
    items = [str(value) for value in values]
    if len(items) <= limit:
        return ", ".join(items)
    return ", ".join(items[:limit]) + f", ... ({len(items) - limit} more)"


def wrapped(text: str, width: int = 100) -> str:
    """A text whose lines are broken between words only; JupyterLab breaks longer ones anywhere.

    What continues a line is indented by two more than it.

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
    """Around imports of widgets: an error that says what to install, where a package of theirs is missing.

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

    >>> counted(1, "register"), counted(4, "register")
    ('1 register', '4 registers')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def quoted(value: object, limit: int = 60) -> str:
    """What somebody gave, as a message repeats it: its repr on one line, at most `limit` letters of it.

    >>> quoted("m16n8k65"), quoted([[1, 2], [3]])
    ("'m16n8k65'", '[[1, 2], [3]]')
    >>> quoted("mma" * 1000, 12)
    "'mmammammam..."
    """
    try:
        if isinstance(value, str | bytes | list | tuple) and len(value) > limit:
            value = value[: limit + 1]  # the rest would take its time, and not be shown
        elif type(value).__module__ == "numpy" and getattr(value, "size", 0) > _MAX_SHOWN:
            value = type(value)  # NumPy would write down all elements of many short axes
        text = " ".join(repr(value).split())
    except Exception:  # a repr of somebody else's may raise anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}..."
