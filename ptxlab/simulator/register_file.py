"""The registers of a function: arrays over all threads, and what some of them have of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .deferred import Deferred, Values
from .threads import Threads

_REMEMBERED_BYTES = 1 << 26  # of results of a function that are kept
_MOST_MISSES = 3  # after which a result is not kept any more


@dataclass(slots=True)
class _Remembered:
    """What came of some values, the last time."""

    values: tuple[NDArray[Any], ...]
    result: NDArray[Any]
    misses: int = 0


@dataclass(slots=True)
class _Part:
    """What some threads read or wrote of a register; `written` if the array of all threads lacks it."""

    threads: Threads
    values: NDArray[Any]
    written: bool


class RegisterFile:
    """Registers of these types, one set of them for all threads.

    A register is an array of all threads, and what some of them have of it. Threads of a kernel with several
    roles go on with their own part, which is put into the array when others read it.
    """

    __slots__ = ("_owned", "_parts", "_registers", "_remembered", "_types")

    def __init__(self, types: tuple[np.dtype[Any], ...]) -> None:
        self._types = types
        self._registers: list[Values | None] = [None] * len(types)
        self._parts: list[_Part | None] = [None] * len(types)
        self._owned = bytearray(len(types))
        self._remembered: dict[object, _Remembered | None] = {}

    def register(self, register: int) -> NDArray[Any] | None:
        """A register of all threads; None if nobody wrote it."""
        part = self._parts[register]
        if part is not None and part.written:
            return self._joined(register, part)
        values = self._registers[register]
        if isinstance(values, Deferred):
            values = self._registers[register] = values.get()
        return values

    def _joined(self, register: int, part: _Part) -> NDArray[Any]:
        """The array of all threads, with the part of some of them."""
        part.written = False
        values = self.register(register)
        if values is None:
            values = np.zeros(part.threads.batch.size, dtype=self._types[register])
        elif not self._owned[register]:
            values = values.copy()
        self._registers[register] = values
        self._owned[register] = 1
        part.threads.put(values, part.values)
        return values

    def held(self, register: int) -> Values | None:
        """A register of all threads as it is kept; what is deferred stays so."""
        part = self._parts[register]
        if part is not None and part.written:
            self._joined(register, part)
        self._owned[register] = 0  # from now on somebody else may hold the same array
        return self._registers[register]

    def defer(self, register: int, values: Deferred) -> None:
        """Set a register of all threads to what is computed when somebody reads it."""
        self._registers[register] = values
        self._parts[register] = None
        self._owned[register] = 0

    def read(self, register: int, threads: Threads) -> NDArray[Any]:
        """A register of these threads; what nobody wrote is 0."""
        part = self._parts[register]
        if part is not None and part.threads.index is threads.index:
            return part.values
        values = self.register(register)
        if values is None:
            return threads.constant(0, self._types[register])
        if threads.index is None:
            self._owned[register] = 0  # from now on another register may hold the same array
            return values
        part = self._parts[register] = _Part(threads, threads.take(values), written=False)
        return part.values

    def write(self, register: int, threads: Threads, values: NDArray[Any]) -> None:
        """Set a register of these threads."""
        part = self._parts[register]
        if threads.index is None:
            self._registers[register] = values
            self._parts[register] = None
            self._owned[register] = 0
            return
        if part is not None and part.written and part.threads.index is not threads.index:
            self._joined(register, part)
        self._parts[register] = _Part(threads, values, written=True)

    def apply(
        self,
        key: object,
        function: Callable[..., NDArray[Any]],
        threads: Threads,
        *values: NDArray[Any],
    ) -> NDArray[Any]:
        """A function of values of threads, computed anew only if they are not those of the last time.

        Loops mostly compute addresses from registers that do not change. Arrays of all threads that were read
        are never written, so it is enough to see whether they are the same ones. `key` is the same each time.
        """
        known = self._remembered.get(key)
        if known is None:
            result = function(*values)
            most = _REMEMBERED_BYTES // (8 * threads.count)
            if key not in self._remembered and len(self._remembered) < most:
                self._remembered[key] = _Remembered(values, result)
            return result
        if all(map(is_, known.values, values)):
            known.misses = 0
            return known.result
        known.values, known.result = values, function(*values)
        known.misses += 1
        if known.misses > _MOST_MISSES:
            self._remembered[key] = None
        return known.result
