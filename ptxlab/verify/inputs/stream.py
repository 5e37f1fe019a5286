"""Where the random numbers come from: raw streams of bits that NumPy keeps stable."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...isa.dtypes import DType

__all__ = ["Quick", "Stream"]


class Stream:
    """Random numbers from Philox's raw 64-bit draws only. Every draw has a stream of its own, so that a larger first axis only adds to a smaller one."""

    def __init__(self, *key: object) -> None:
        self._key = key
        self._draws = 0

    def _raw(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        self._draws += 1
        stream = np.random.Philox(key=zlib.crc32(repr((self._draws, *self._key)).encode()))
        drawn = stream.random_raw(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        drawn >>= np.uint64(16)
        return drawn

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        drawn = self._raw(shape)
        if limit & (limit - 1):
            drawn %= np.uint64(limit)
        else:
            drawn &= np.uint64(limit - 1)
        return drawn.view(np.int64)

    def raw(self, bits: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """So many random bits, to be cut into sign, fraction and noise; 64 of them from two draws, since one has 48."""
        return (
            self.below(1 << bits, shape)
            if bits < 64
            else (self._raw(shape) << np.uint64(32) ^ self._raw(shape)).view(np.int64)
        )

    def codes(self, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """Random bits."""
        return self.raw(kind.bits, shape).astype(kind.code_type)

    def between(self, low: int, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Whole numbers low..high, both included."""
        drawn = self.below(max(high - low + 1, 1), shape)
        drawn += low
        return drawn

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return self.below(100, shape) < percent

    def pick(self, values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        values = np.asarray(values)
        return np.asarray(np.take(values, self.below(len(values), shape)))


class Quick(Stream):
    """The same from SFC64, every bit of it used: several times as fast. What comes of it depends on the number drawn as well."""

    def __init__(self, *key: object) -> None:
        super().__init__(*key)
        self._source = np.random.SFC64(zlib.crc32(repr(key).encode()))

    def _words(self, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        count = int(np.prod(shape, dtype=np.int64))
        return np.asarray(
            self._source.random_raw(-(-count * np.dtype(kind).itemsize // 8))
            .view(kind)[:count]
            .reshape(shape)
        )

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        if limit > 1 << 32:
            return (self._words(np.uint64, shape) % np.uint64(limit)).view(np.int64)
        drawn = self._words(np.uint32, shape).astype(
            np.uint64
        )  # a multiplication instead of a division; the bias is below 2^-24
        drawn *= np.uint64(limit)
        drawn >>= np.uint64(32)
        return drawn.view(np.int64)

    def raw(self, bits: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        if bits == 64:
            return np.asarray(self._words(np.int64, shape))
        drawn = self._words(np.uint32 if bits <= 32 else np.uint64, shape).astype(np.int64)
        drawn &= (1 << bits) - 1
        return drawn

    def codes(self, kind: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        drawn = self._words(kind.code_type, shape)
        return np.asarray(drawn & kind.code_type((1 << kind.bits) - 1))

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return np.asarray(self._words(np.uint8, shape) < percent * 256 // 100)
