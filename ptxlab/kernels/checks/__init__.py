"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from ..ptx import Module
from ..simulator.events import Observer
from .accesses import AccessCheck
from .hazard import KINDS, Hazard, Kind, Report
from .registers import RegisterCheck

__all__ = ["KINDS", "AccessCheck", "Hazard", "Kind", "RegisterCheck", "Report", "checkers"]


def checkers(report: Report, module: Module) -> tuple[Observer, ...]:
    """All checks, as observers of a simulation."""
    return AccessCheck(report), RegisterCheck(report, module)
