"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from dataclasses import dataclass

from ..events import Observer
from ..hazard import KINDS, Hazard, Kind, Report
from ..ptx.syntax import Module
from .accesses import AccessCheck
from .memory_spaces import TensorCheck, TensorMapCheck
from .registers import RegisterCheck, RegisterPlans

__all__ = [
    "KINDS",
    "AccessCheck",
    "DistributedChecks",
    "Hazard",
    "Kind",
    "RegisterCheck",
    "RegisterPlans",
    "Report",
    "TensorCheck",
    "TensorMapCheck",
    "checkers",
]


def checkers(report: Report, plans: RegisterPlans) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation; plans are those of its module."""
    return (
        AccessCheck(report, plans.guesses, plans.speculative),
        RegisterCheck(report, plans),
        TensorCheck(report),
        TensorMapCheck(report),
    )


@dataclass(frozen=True)
class DistributedChecks:
    """All checks for blocks that run in other processes: what a `Report` takes, to make one there."""

    source: str
    raises: bool
    shared: tuple[tuple[str, int, int], ...]
    is_ptx: bool

    def report(self) -> Report:
        """A report without hazards."""
        return Report(self.source, self.raises, self.shared, self.is_ptx)

    def start(self, module: Module) -> tuple[Report, tuple[Observer, ...]]:
        """A report, and the observers that write it."""
        report = self.report()
        return report, checkers(report, RegisterPlans(module))
