"""A part of many cases for each of many forms, so that together the forms have them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["every_third"]

T = TypeVar("T")


def every_third(cases: Sequence[T], number: int) -> Sequence[T]:
    """Every third case, from another one on for each number: three neighbouring forms have all cases.

    >>> every_third("abcdefg", 0), every_third("abcdefg", 1), every_third("abcdefg", 5)
    ('adg', 'be', 'cf')
    """
    return cases[number % 3 :: 3]
