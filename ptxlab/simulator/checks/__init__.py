"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from ..events import Observer
from ..hazard import Report
from .accesses import AccessCheck
from .memory_spaces import TensorCheck, TensorMapCheck
from .registers import RegisterCheck, RegisterPlans

__all__ = ["checkers"]


def checkers(report: Report, plans: RegisterPlans) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module."""
    return (
        AccessCheck(report, plans.guesses, plans.speculative),
        RegisterCheck(report, plans),
        TensorCheck(report),
        TensorMapCheck(report),
    )
