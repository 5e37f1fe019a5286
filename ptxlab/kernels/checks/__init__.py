"""Hazards of kernels: races, missing waits, memory and registers that nobody wrote, barriers gone wrong."""

from .accesses import AccessCheck
from .hazard import KINDS, Hazard, Kind, Report

__all__ = ["KINDS", "AccessCheck", "Hazard", "Kind", "Report", "checkers"]


def checkers(report: Report) -> tuple[AccessCheck, ...]:
    """All checks, as observers of a simulation."""
    return (AccessCheck(report),)
