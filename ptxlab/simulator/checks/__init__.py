"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from ..events import Observer
from ..hazard import HazardLog
from .accesses import AccessCheck
from .clocks import LogicalTime
from .doubtful import DoubtfulValues
from .heap_memory import HeapCheck
from .memory_spaces import TensorCheck, TensorMapCheck
from .plans import ModulePlans
from .registers import RegisterCheck

__all__ = ["checkers"]


def checkers(report: HazardLog, plans: ModulePlans) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module."""
    time = LogicalTime()
    values = DoubtfulValues(report, plans, time)
    return (
        AccessCheck(report, values, plans, time),
        values,
        RegisterCheck(report, plans),
        HeapCheck(report),
        TensorCheck(report),
        TensorMapCheck(report),
    )
