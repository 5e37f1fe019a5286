"""The registers of a function, as arrays over all threads, and the special registers."""

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
from .device_memory import SHARED_START, WORKSPACE_START, Memory
from .launch_threads import UNSIGNED, Batch, Threads

_CACHE_BYTES = 1 << 26  # results that a function's calls keep
_MAX_MISSES = 3  # after this many in a row, a result is no longer kept


@dataclass(slots=True)
class _CachedResult:
    """The last result of a computation, and the values it was computed from."""

    values: tuple[NDArray[Any], ...]
    result: NDArray[Any]
    misses: int = 0


@dataclass(slots=True)
class _Part:
    """A register's values in some threads; `written` if they are not yet in the array of all threads."""

    threads: Threads
    values: NDArray[Any]
    written: bool


class RegisterFile:
    """Registers of these types, for all threads.

    A register is an array over all threads and, on top of it, a part: the values of those threads that used
    it last. A kernel whose warps have several roles mostly works on parts; a part that was written is merged
    into the array when other threads read the register.
    """

    def __init__(self, types: tuple[np.dtype[Any], ...]) -> None:
        self._types = types
        self._registers: list[Values | None] = [None] * len(types)
        self._parts: list[_Part | None] = [None] * len(types)
        self._owned = bytearray(len(types))
        self._cache: dict[object, _CachedResult | None] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that the registers take."""
        arrays = [register for register in self._registers if isinstance(register, np.ndarray)]
        arrays += [part.values for part in self._parts if part is not None]
        return sum(array.nbytes for array in arrays)

    def register(self, register: int) -> NDArray[Any] | None:
        """A register of all threads; None if it was never written."""
        part = self._parts[register]
        if part is not None and part.written:
            return self._merge(register, part)
        values = self._registers[register]
        if isinstance(values, Deferred):
            values = self._registers[register] = values.get()
        return values

    def _merge(self, register: int, part: _Part) -> NDArray[Any]:
        """Merge a part into the array over all threads, and return that."""
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
        """The registers of these threads, for comparison; deferred values are not computed."""
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

    def raw_values(self, register: int) -> Values | None:
        """A register of all threads; deferred values are not computed."""
        part = self._parts[register]
        if part is not None and part.written:
            self._merge(register, part)
        self._owned[register] = 0  # the caller may keep the array
        return self._registers[register]

    def defer(self, register: int, values: Deferred) -> None:
        """Set a register of all threads to values that are computed when they are read."""
        self._registers[register] = values
        self._parts[register] = None
        self._owned[register] = 0

    def read(self, register: int, threads: Threads) -> NDArray[Any]:
        """A register of these threads; 0 if it was never written."""
        part = self._parts[register]
        if part is not None and part.threads.index is threads.index:
            return part.values
        values = self.register(register)
        if values is None:
            return threads.constant(0, self._types[register])
        if threads.index is None:
            self._owned[register] = 0  # another register may share the array from now on
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
            self._merge(register, part)
        self._parts[register] = _Part(threads, values, written=True)

    def apply(
        self,
        key: object,
        function: Callable[..., NDArray[Any]],
        threads: Threads,
        *values: NDArray[Any],
    ) -> NDArray[Any]:
        """A function of the threads' values; computed again only if the values differ from the last call's.

        Loops mostly compute addresses from registers that do not change. Arrays that were read are never
        written, so comparing their identity is enough. `key` names the computation.
        """
        cached = self._cache.get(key)
        if cached is None:
            result = function(*values)
            max_entries = _CACHE_BYTES // (8 * threads.count)
            if key not in self._cache and len(self._cache) < max_entries:
                self._cache[key] = _CachedResult(values, result)
            return result
        if all(map(is_, cached.values, values)):
            cached.misses = 0
            return cached.result
        cached.values, cached.result = values, function(*values)
        cached.misses += 1
        if cached.misses > _MAX_MISSES:
            self._cache[key] = None
        return cached.result


# -- special registers. PTX ISA, "Special Registers" ---------------------------------------------------------


class SpecialRegisters:
    """The special registers of all threads of a batch."""

    def __init__(self, batch: Batch, memory: Memory) -> None:
        self._batch = batch
        self._memory = memory
        self._known: dict[str, NDArray[Any]] = {}

    def read(self, name: str, clock: int) -> NDArray[Any]:
        """A register by its name, over the batch; `clock` is the value of %clock and %clock64."""
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
    """The value of a special register in each thread of a batch. PTX ISA, "Special Registers"."""
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
        "total_smem_size": -(-(memory.shared_size - SHARED_START) // 128) * 128,  # as on an H200
        "aggr_smem_size": memory.shared_size,
        "cluster_nctaid": grid.cluster[position],
        "nclusterid": grid.blocks[position] // grid.cluster[position],
        "cluster_ctarank": batch.block % grid.cluster_size,
        "cluster_nctarank": grid.cluster_size,
        "is_explicit_cluster": grid.cluster_size > 1,
        "reserved_smem_offset_begin": 0,  # these are an H200's, too
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
