"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from collections.abc import Mapping

from ..events import Observer
from ..hazard import HazardLog
from .accesses import AccessCheck
from .assembled import AssembledCheck
from .doubtful import DoubtfulValues
from .heap_memory import HeapCheck
from .logical_time import LogicalTime
from .mbarrier_lives import MbarrierLives
from .memory_spaces import TensorCheck, TensorMapCheck
from .plans import ModulePlans
from .registers import RegisterCheck
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
    assembled = (AssembledCheck(report, plans),) if plans.faults else ()
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
