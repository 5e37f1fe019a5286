"""The one kind of error that ptxlab raises: it says where, what was found, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PtxlabError", "listing"]


class PtxlabError(ValueError):
    """Invalid input, an impossible request or a missing package, in one sentence.

    >>> raise PtxlabError("row 3: found 9; s4 holds -8..7")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: row 3: found 9; s4 holds -8..7
    """


def listing(values: Iterable[object], limit: int = 12) -> str:
    """Values for a message, separated by commas; after `limit` of them only the number of the others.

    >>> listing("abcde", 3)
    'a, b, c, ... (2 more)'
    """
    items = [str(value) for value in values]
    if len(items) <= limit:
        return ", ".join(items)
    return ", ".join(items[:limit]) + f", ... ({len(items) - limit} more)"
