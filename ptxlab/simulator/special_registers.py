"""Special registers: ``%tid.x``, ``%laneid``, ``%clock64`` and the like. PTX ISA, "Special Registers"."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .memory import SHARED_START, WORKSPACE_START, Memory
from .threads import UNSIGNED, Batch


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
        "nsmid": grid.block_count,
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
