"""Random numbers from raw generator output, which NumPy keeps the same from version to version."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...isa.dtypes import DType


class Stream:
    """Random numbers made from the raw 64-bit output of Philox.

    Every call starts a generator of its own, keyed by the stream's key and the number of the call. An array
    with a larger first axis therefore begins with the numbers of a smaller one.
    """

    def __init__(self, *key: object) -> None:
        self._key = key
        self._calls = 0

    def _words(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """48 random bits for each element."""
        self._calls += 1
        generator = np.random.Philox(key=zlib.crc32(repr((self._calls, *self._key)).encode()))
        words = generator.random_raw(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        words >>= np.uint64(16)
        return words

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Integers 0 ... limit - 1."""
        words = self._words(shape)
        if limit & (limit - 1):
            words %= np.uint64(limit)
        else:
            words &= np.uint64(limit - 1)
        return words.view(np.int64)

    def bits(self, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Random bits, `count` for each element; 64 are put together from two words, since one has 48."""
        if count < 64:
            return self.below(1 << count, shape)
        return (self._words(shape) << np.uint64(32) ^ self._words(shape)).view(np.int64)

    def codes(self, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """Codes of an element type, every bit random."""
        return self.bits(dtype.bits, shape).astype(dtype.code_type)

    def between(self, low: int, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Integers low ... high, both included."""
        numbers = self.below(max(high - low + 1, 1), shape)
        numbers += low
        return numbers

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """True with this probability."""
        return self.below(100, shape) < percent

    def pick(self, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Elements of `values`, each equally likely."""
        choices = np.asarray(values)
        return np.asarray(np.take(choices, self.below(len(choices), shape)))


class QuickStream(Stream):
    """The same from one SFC64 generator, all of whose bits are used: several times as fast.

    Its numbers depend on the shape of every array that was asked for before.
    """

    def __init__(self, *key: object) -> None:
        super().__init__(*key)
        self._generator = np.random.SFC64(zlib.crc32(repr(key).encode()))

    def _elements(self, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Random bits as an array of this NumPy type."""
        count = int(np.prod(shape, dtype=np.int64))
        words = self._generator.random_raw(-(-count * np.dtype(dtype).itemsize // 8))
        return np.asarray(words.view(dtype)[:count].reshape(shape))

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """See `Stream.below`."""
        if limit > 1 << 32:
            return (self._elements(np.uint64, shape) % np.uint64(limit)).view(np.int64)
        # a multiplication instead of a division; the bias is below 2^-24
        numbers = self._elements(np.uint32, shape).astype(np.uint64)
        numbers *= np.uint64(limit)
        numbers >>= np.uint64(32)
        return numbers.view(np.int64)

    def bits(self, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """See `Stream.bits`."""
        if count == 64:
            return np.asarray(self._elements(np.int64, shape))
        numbers = self._elements(np.uint32 if count <= 32 else np.uint64, shape).astype(np.int64)
        numbers &= (1 << count) - 1
        return numbers

    def codes(self, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """See `Stream.codes`."""
        codes = self._elements(dtype.code_type, shape)
        return np.asarray(codes & dtype.code_type((1 << dtype.bits) - 1))

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """See `Stream.chance`."""
        return np.asarray(self._elements(np.uint8, shape) < percent * 256 // 100)
