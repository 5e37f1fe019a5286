"""The few calls of the driver that keep arrays on the GPU."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import gpu

Array = NDArray[Any]
TARGET = "sm_90a"


class Device:
    """Arrays that stay on the GPU, and kernels over them."""

    def __init__(self) -> None:
        self.driver = gpu._bindings("driver")
        context, target, self.name = gpu._device()
        if target != TARGET:
            sys.exit(f"this runs on {TARGET}; found {self.name}, {target}")
        gpu._call(self.driver.cuCtxSetCurrent(context), "entering the context")
        self.held: list[Any] = []

    def empty(self, size: int) -> int:
        pointer = gpu._call(self.driver.cuMemAlloc(max(size, 4)), f"taking {size} bytes")
        self.held.append(pointer)
        return int(pointer)

    def put(self, array: Array) -> int:
        array = np.ascontiguousarray(array)
        pointer = self.empty(array.nbytes)
        gpu._call(self.driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes), "copying to the GPU")
        return pointer

    def get(self, pointer: int, array: Array) -> Array:
        gpu._call(self.driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes), "copying from the GPU")
        return array

    def free(self) -> None:
        for pointer in self.held:
            self.driver.cuMemFree(pointer)
        self.held.clear()

    def launch(self, source: str, name: str, grid: int, block: int, *arguments: int | np.generic) -> None:
        slots = [np.array([x], dtype=np.uint64 if isinstance(x, int) else x.dtype) for x in arguments]
        pointers = np.array([slot.ctypes.data for slot in slots], dtype=np.uint64)
        function = gpu._function(source, name, TARGET, False)
        gpu._call(
            self.driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, 0, pointers.ctypes.data, 0),
            f"launching {name}",
        )
        gpu._call(self.driver.cuCtxSynchronize(), f"running {name}")
