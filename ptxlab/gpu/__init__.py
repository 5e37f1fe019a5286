"""The GPU: what is there, NVRTC, a cache of compiled kernels, launches. Only this package imports `cuda`."""

from __future__ import annotations

from .device import (
    Out,
    available,
    cache_folder,
    compile,
    device_target,
    disassemble,
    launch,
    model,
    run,
    status,
)

__all__ = [
    "Out",
    "available",
    "cache_folder",
    "compile",
    "device_target",
    "disassemble",
    "launch",
    "model",
    "run",
    "status",
]
