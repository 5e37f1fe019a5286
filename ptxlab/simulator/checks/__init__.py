"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from ..events import Observer
from ..hazard import HazardLog
from .accesses import AccessCheck
from .doubtful import DoubtfulValues
from .memory_spaces import TensorCheck, TensorMapCheck
from .registers import RegisterCheck, RegisterPlans

__all__ = ["checkers"]


def checkers(report: HazardLog, plans: RegisterPlans) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module."""
    values = DoubtfulValues(report, plans.owners, plans.unwritten, plans.flows)
    return (
        AccessCheck(report, values, plans),
        values,
        RegisterCheck(report, plans),
        TensorCheck(report),
        TensorMapCheck(report),
    )
