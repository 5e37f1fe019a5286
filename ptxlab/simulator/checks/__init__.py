"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from ..events import Observer
from ..hazard import HazardLog
from .accesses import AccessCheck
from .assembled import AssembledCheck
from .clocks import LogicalTime
from .doubtful import DoubtfulValues
from .memory_spaces import TensorCheck, TensorMapCheck
from .plans import ModulePlans
from .registers import RegisterCheck

__all__ = ["checkers"]


def checkers(report: HazardLog, plans: ModulePlans) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module."""
    time = LogicalTime()
    values = DoubtfulValues(report, plans, time)
    assembled = (AssembledCheck(report, plans),) if plans.faults else ()
    return (
        *assembled,
        AccessCheck(report, values, plans, time),
        values,
        RegisterCheck(report, plans),
        TensorCheck(report),
        TensorMapCheck(report),
    )
