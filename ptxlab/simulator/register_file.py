"""The registers of a function, arrays over all threads; and the special registers that all functions have."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .deferred import Deferred, Values
from .memory import SHARED_START, WORKSPACE_START, Memory
from .threads import UNSIGNED, Batch, Threads

_REMEMBERED_BYTES = 1 << 26  # of results of a function that are kept
_MAX_MISSES = 3  # after which a result is not kept any more


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

    def __init__(self, types: tuple[np.dtype[Any], ...]) -> None:
        self._types = types
        self._registers: list[Values | None] = [None] * len(types)
        self._parts: list[_Part | None] = [None] * len(types)
        self._owned = bytearray(len(types))
        self._remembered: dict[object, _Remembered | None] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that the registers take."""
        arrays = [each for each in self._registers if isinstance(each, np.ndarray)]
        arrays += [each.values for each in self._parts if each is not None]
        return sum(each.nbytes for each in arrays)

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

    def snapshot(self, threads: Threads) -> list[Values | None]:
        """The registers of these threads, to be compared; what is deferred stays so."""
        registers: list[Values | None] = []
        for number, part in enumerate(self._parts):
            if part is not None and part.threads.index is threads.index:
                registers.append(part.values)
            elif isinstance(self._registers[number], Deferred) and not (part is not None and part.written):
                registers.append(self._registers[number])
            else:
                values = self.register(number)
                if threads.index is None:
                    self._owned[number] = 0
                registers.append(None if values is None else threads.take(values))
        return registers

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
        if known.misses > _MAX_MISSES:
            self._remembered[key] = None
        return known.result


# -- special registers. PTX ISA, "Special Registers" ---------------------------------------------------------


class SpecialRegisters:
    """Those of all threads of a batch."""

    def __init__(self, batch: Batch, memory: Memory) -> None:
        self._batch = batch
        self._memory = memory
        self._known: dict[str, NDArray[Any]] = {}

    def read(self, name: str, clock: int) -> NDArray[Any]:
        """A register by its name, over the batch; `clock` is what those say that count cycles."""
        if name.startswith(("%clock", "%globaltimer")):
            return self._time(name, clock)
        if name not in self._known:
            values = _special_register(name, self._batch, self._memory)
            values.flags.writeable = False
            self._known[name] = values
        return self._known[name]

    def _time(self, name: str, clock: int) -> NDArray[Any]:
        now = clock if name.startswith("%clock") else time.time_ns()
        if name.endswith("_hi"):
            now >>= 32
        wide = name in ("%clock64", "%globaltimer")
        dtype = UNSIGNED[64 if wide else 32]
        return np.full(self._batch.size, now & (1 << 8 * dtype.itemsize) - 1, dtype=dtype)


def _special_register(name: str, batch: Batch, memory: Memory) -> NDArray[Any]:
    grid = batch.grid
    register, _, axis = name[1:].partition(".")
    position = "xyz".index(axis) if axis else 0
    if register in ("tid", "ctaid"):
        sizes = grid.threads if register == "tid" else grid.blocks
        number = batch.within if register == "tid" else batch.numbers[batch.block]
        step = int(np.prod(sizes[:position], dtype=np.int64))
        values = number // step
        return (values % sizes[position] if position < 2 else values).astype(np.uint32)
    lane = batch.lane.astype(np.uint64)
    one = np.uint64(1)
    known: dict[str, Any] = {
        "ntid": grid.threads[position],
        "nctaid": grid.blocks[position],
        "laneid": batch.lane,
        "warpid": batch.within // 32,
        "nwarpid": grid.warps,
        "smid": batch.numbers[batch.block],
        "nsmid": grid.block_count & 0xFFFFFFFF,
        "gridid": 1,
        "lanemask_eq": one << lane,
        "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << lane + one) - one,
        "lanemask_gt": ~((one << lane + one) - one) & np.uint64(0xFFFFFFFF),
        "lanemask_ge": ~((one << lane) - one) & np.uint64(0xFFFFFFFF),
        "dynamic_smem_size": grid.shared,
        "total_smem_size": -(-(memory.shared_size - SHARED_START) // 128) * 128,  # so on an H200
        "aggr_smem_size": memory.shared_size,
        "cluster_nctaid": grid.cluster[position],
        "nclusterid": grid.blocks[position] // grid.cluster[position],
        "cluster_ctarank": batch.block % grid.cluster_size,
        "cluster_nctarank": grid.cluster_size,
        "is_explicit_cluster": grid.cluster_size > 1,
        "reserved_smem_offset_begin": 0,  # these, too
        "reserved_smem_offset_end": 288,
        "reserved_smem_offset_cap": SHARED_START,
        "reserved_smem_offset_0": 0,
        "reserved_smem_offset_1": 0,
        "envreg1": WORKSPACE_START >> 32,
        "envreg2": WORKSPACE_START & 0xFFFFFFFF,
    }
    if register in ("clusterid", "cluster_ctaid"):
        block = _special_register(f"%ctaid.{axis}", batch, memory)
        size = np.uint32(grid.cluster[position])
        return np.asarray(block // size if register == "clusterid" else block % size)
    if register not in known:
        raise PtxlabError(f"the special register {name} is not simulated")
    dtype = np.bool_ if register == "is_explicit_cluster" else np.uint32
    if register == "gridid":
        dtype = np.uint64
    return np.broadcast_to(np.asarray(known[register]), (batch.size,)).astype(dtype)
