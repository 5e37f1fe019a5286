"""The GPU: the device, NVRTC, a cache of compiled kernels, launches. Only this package imports `cuda`.

Compiling and disassembling work without a GPU. If there is none, `status()` says why in one sentence.
"""

from __future__ import annotations

from .._util.files import cache_folder
from .compiler import compile, compiler_version
from .device import available, device_name, device_target, model, status
from .driver_tensor_maps import encode_tensor_map, run_tensor_map
from .launcher import Out, launch
from .runner import run, run_transfer
from .sass import disassemble

__all__ = [
    "Out",
    "available",
    "cache_folder",
    "compile",
    "compiler_version",
    "device_name",
    "device_target",
    "disassemble",
    "encode_tensor_map",
    "launch",
    "model",
    "run",
    "run_tensor_map",
    "run_transfer",
    "status",
]
