"""The one family of errors: each says where, what was found, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PtxlabError", "listing"]


class PtxlabError(ValueError):
    """Bad input, an impossible request, or a missing part, in one sentence.

    >>> raise PtxlabError("row 3: found 9; s4 holds -8..7")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: row 3: found 9; s4 holds -8..7
    """


def listing(values: Iterable[object], limit: int = 12) -> str:
    """Join values for a message, cut after `limit` of them: ``a, b, c, ... (5 more)``.

    >>> listing("abcde", 3)
    'a, b, c, ... (2 more)'
    """
    items = [str(value) for value in values]
    if len(items) <= limit:
        return ", ".join(items)
    return ", ".join(items[:limit]) + f", ... ({len(items) - limit} more)"
