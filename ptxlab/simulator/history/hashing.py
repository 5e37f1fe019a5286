"""Histories as 64-bit hashes, element by element in NumPy arrays.

The history of a value is one hash; byte j of the value has the history ``h + j * BYTE``, so a value that is
cut into bytes and put together again has its history back. 0 stands for a value that does not come from the
caller's arrays; an operation takes the hash of the value itself in its place. Two histories that differ have
equal hashes with a probability of about 2^-64.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

#: What a history changes by from one byte of a value to the next.
BYTE = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_INVERSE = np.uint64(pow(int(_MULTIPLIER), -1, 1 << 64))
_PLACES = tuple(
    np.uint64(int.from_bytes(hashlib.blake2b(b"%d" % number, digest_size=8).digest(), "little") | 1)
    for number in range(64)
)
_32, _29 = np.uint64(32), np.uint64(29)


@lru_cache(maxsize=4096)
def key_of(text: str) -> np.uint64:
    """The hash of a text: of an opcode, or of an argument's name."""
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1)


def mixed(hashes: Any) -> Hashes:
    """A bijection that spreads every bit over all others."""
    hashes = hashes ^ (hashes >> _32)
    hashes *= _MULTIPLIER
    hashes ^= hashes >> _32
    return np.asarray(hashes)


def unmixed(hashes: Any) -> Hashes:
    """The inverse of `mixed`.

    >>> hashes = np.arange(3, dtype=np.uint64)
    >>> bool((unmixed(mixed(hashes)) == hashes).all())
    True
    """
    hashes = hashes ^ (hashes >> _32)
    hashes *= _INVERSE
    hashes ^= hashes >> _32
    return np.asarray(hashes)


def of_values(values: NDArray[Any]) -> Hashes:
    """The histories of values that come from no array: the values themselves, hashed."""
    words = values.astype(np.uint64)
    words += BYTE
    words *= _PLACES[63]
    return mixed(words)


_ALL = (1 << 64) - 1
_TO_PLACE_0 = pow(int(_PLACES[63]), -1, 1 << 64)


def constant_of(history: int) -> int | None:
    """The value that a history of `of_values` stands for; None for a history of anything else.

    >>> constant_of(int(of_values(np.array([7]))[0])), constant_of(12345)
    (7, None)
    """
    word = history ^ history >> 32  # as `unmixed`, of one
    word = word * int(_INVERSE) & _ALL
    word = (word ^ word >> 32) * _TO_PLACE_0 & _ALL
    value = word - int(BYTE) & _ALL
    return value if value < 1 << 32 else None


_ZERO = of_values(np.zeros(1, dtype=np.uint8))[0]
#: The key of sums of integers, in registers, by atomic operations and in matrix products.
SUM = key_of("integer add")


def in_order(key: np.uint64, hashes: list[Any]) -> Hashes:
    """The history of an operation whose operands have places."""
    total = key + hashes[0] * _PLACES[0]
    for number, operand in enumerate(hashes[1:], 1):
        total += operand * _PLACES[number % 63]
    return mixed(total)


def product(key: np.uint64, left: Any, right: Any) -> Hashes:
    """A product, or any other pair without an order; sums of these are sets of pairs."""
    return np.asarray((left + key) * (right + key))


def united(key: np.uint64, left: Any, right: Any) -> Hashes:
    """An operation for which neither order nor grouping matters, such as the addition of integers."""
    if key == SUM:
        return joined(key, addends(left) + addends(right))
    return joined(key, members(key, left) + members(key, right))


def members(key: np.uint64, hashes: Any) -> Hashes:
    """The sum of the members of what `joined` made, or a single member."""
    return unmixed(hashes ^ key)


def addends(hashes: Any) -> Hashes:
    """As `members` of a sum of integers, of which 0 is none."""
    return np.where(hashes == _ZERO, np.uint64(0), members(SUM, hashes))


def joined(key: np.uint64, sums: Any) -> Hashes:
    """The history of a set of terms, from the sum of its members."""
    return mixed(sums) ^ key


def leaves(name: str, count: int, row: int | None = None) -> Hashes:
    """The histories of an array's elements: the name and the index, or the index in a row of that length."""
    index = np.arange(count, dtype=np.uint64)
    if row is not None:
        index %= np.uint64(max(row, 1))
    return mixed(mixed(index * BYTE + key_of(f"argument {name}")) * _PLACES[62])
