"""Whole kernels without a GPU: registers are arrays over threads, blocks run in batches."""

from .arguments import Array, KernelArgument, as_grid, check_arguments
from .decode import Image
from .events import Access, Observer, Synchronisation
from .hazard import Hazard, HazardError
from .result import Limit, LineProfile, Profile, Result
from .simulate import Watch, simulate
from .threads import Batch, Grid, Threads
from .trace import Trace, TraceStep

__all__ = [
    "Access",
    "Array",
    "Batch",
    "Grid",
    "Hazard",
    "HazardError",
    "Image",
    "KernelArgument",
    "Limit",
    "LineProfile",
    "Observer",
    "Profile",
    "Result",
    "Synchronisation",
    "Threads",
    "Trace",
    "TraceStep",
    "Watch",
    "as_grid",
    "check_arguments",
    "simulate",
]
