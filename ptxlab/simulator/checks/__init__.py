"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong.

Each check is an observer of a simulation. `hazard.py` has the kinds, and says of each which module finds it.

What is approximated, and where; `docs/reference/hazards.md` says what that means for users.

- Warps stand for their lanes: a fence or a flag of one lane counts for all: `release_acquire.py`.
- Where a block has used named barriers or mbarriers, all its warps acquire what one of them does:
  `release_acquire.py`, `read`.
- With more than 4,096 warps in a batch, what one warp of a block releases counts for all of the block:
  `release_acquire.py`, `_MAX_WARPS`.
- More than 8 warps at a word in one atomic operation are as if each saw what all put there:
  `release_acquire.py`, `turns`; `flag_clocks.py`, `access`.
- Of blocks of earlier batches any flag that was raised since vouches: `clocks.py`, `ordered`;
  `flag_clocks.py`, `has_published`.
- A wait for an mbarrier at which other blocks arrive also vouches for those that do not: `clusters.py`,
  `wait`.
- Shadow memory keeps the last writer of every few bytes, the last read of each warp in shared memory, and two
  readers in global memory: `shadow_memory.py`.
- The first block is checked for all blocks that make the same accesses: `uniform_blocks.py`.
- Readers of the same load in the same block count as having read the same: `unused_loads.py`, `unused_reads`.
- Values that pass through functions that are not inlined are not followed; what a function returns matters:
  `doubtful_values.py`, `_hand_over`. A load with more than 64 uses surely matters: `module_plans.py`.
- One access is reported against 16 instructions at most: `access_reports.py`, `MAX_OTHERS`.
"""

from collections.abc import Mapping

from ..events import Observer
from ..hazard import HazardLog
from .access_check import AccessCheck
from .assembler_faults import AssemblerFaults
from .doubtful_values import DoubtfulValues
from .heap_memory import HeapCheck
from .logical_time import LogicalTime
from .mbarrier_lives import MbarrierLives
from .memory_spaces import TensorCheck, TensorMapCheck
from .module_plans import ModulePlans
from .register_check import RegisterCheck
from .shared_arrays import SharedArrays

__all__ = ["checkers"]


def checkers(
    report: HazardLog, plans: ModulePlans, arrays: Mapping[str, tuple[int, int]]
) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module.

    `arrays` are where those in static shared memory begin and end.
    """
    time = LogicalTime()
    values = DoubtfulValues(report, plans, time)
    assembled = (AssemblerFaults(report, plans),) if plans.faults else ()
    return (
        *assembled,
        AccessCheck(report, values, plans, time),
        values,
        RegisterCheck(report, plans),
        MbarrierLives(report),
        SharedArrays(report, values, plans, arrays),
        HeapCheck(report),
        TensorCheck(report),
        TensorMapCheck(report),
    )
