"""Kernels of compiled code, loaded once and queued on a stream; the driver's own interface."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .cuda_python import check, load

_STATIC_LIMIT = 48 << 10  # of dynamic shared memory, without asking for more


@lru_cache(maxsize=256)
def load_function(code: bytes, name: str) -> object:
    """The kernel of that name in machine code or PTX, for the current context."""
    driver = load("cuda.bindings.driver")
    (module,) = check(driver.cuModuleLoadData(code + b"\0"), f"loading the kernel {name}")
    (function,) = check(driver.cuModuleGetFunction(module, name.encode()), f"finding the kernel {name}")
    return function


def launch_function(
    function: object,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    values: Sequence[bytes],
    stream: int,
    cooperative: bool = False,
) -> None:
    """Queue a kernel on a stream; `values` are the bytes of its parameters. Nothing waits for it.

    The blocks of a `cooperative` one run at the same time, and may wait for each other with grid.sync().
    """
    driver = load("cuda.bindings.driver")
    if shared > _STATIC_LIMIT:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuFuncSetAttribute(function, attribute, shared), "asking for shared memory")
    buffers = [np.frombuffer(value, dtype=np.uint8) for value in values]
    pointers = np.array([buffer.ctypes.data for buffer in buffers], dtype=np.uint64)
    parameters = pointers.ctypes.data if len(values) else 0
    queue = driver.CUstream(stream)
    if cooperative:
        result = driver.cuLaunchCooperativeKernel(function, *grid, *block, shared, queue, parameters)
    else:
        result = driver.cuLaunchKernel(function, *grid, *block, shared, queue, parameters, 0)
    check(result, f"launching the kernel {name}")
