"""Whole kernels without a GPU: registers are arrays over threads, blocks run in batches."""

from .events import Access, Observer, Synchronisation
from .hazard import Hazard, HazardError
from .launch_threads import Threads
from .result import Executed, LineProfile, Result
from .warp_trace import TraceStep, WarpTrace

__all__ = [
    "Access",
    "Executed",
    "Hazard",
    "HazardError",
    "LineProfile",
    "Observer",
    "Result",
    "Synchronisation",
    "Threads",
    "TraceStep",
    "WarpTrace",
]
