"""Whole kernels without a GPU: registers are arrays over threads, blocks run in batches."""

from .events import Access, Observer, Synchronisation
from .hazard import Hazard, HazardError
from .result import LineProfile, Profile, Result
from .threads import Threads
from .trace import TraceStep, WarpTrace

__all__ = [
    "Access",
    "Hazard",
    "HazardError",
    "LineProfile",
    "Observer",
    "Profile",
    "Result",
    "Synchronisation",
    "Threads",
    "TraceStep",
    "WarpTrace",
]
