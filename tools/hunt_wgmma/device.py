"""Arrays that stay on the GPU from one launch to the next, through cuda.core."""

from __future__ import annotations

import sys
from typing import Any

import cuda.core
import numpy as np
from numpy.typing import NDArray

from ptxlab import gpu
from ptxlab.gpu.launcher import compiled, launch_function, load_function

Array = NDArray[Any]
TARGET = "sm_90a"


class Device:
    """Arrays on the GPU, and kernels over them."""

    def __init__(self) -> None:
        self.name = gpu.device_name()
        if gpu.device_target() != TARGET:
            sys.exit(f"this runs on {TARGET}; found {self.name}, {gpu.device_target()}")
        self.device = cuda.core.Device(0)
        self.device.set_current()
        self.stream = self.device.default_stream
        self.buffers: dict[int, cuda.core.Buffer] = {}

    def empty(self, size: int) -> int:
        """The address of so many bytes."""
        buffer = self.device.allocate(max(size, 4), stream=self.stream)
        self.buffers[int(buffer.handle)] = buffer
        return int(buffer.handle)

    def put(self, array: Array) -> int:
        """The address of a copy of the array."""
        array = np.ascontiguousarray(array)
        address = self.empty(array.nbytes)
        self._view(address, array).copy_from(self._host(array), stream=self.stream)
        return address

    def get(self, address: int, array: Array) -> Array:
        """Fill the array from an address."""
        self._view(address, array).copy_to(self._host(array), stream=self.stream)
        self.stream.sync()
        return array

    @staticmethod
    def _view(address: int, array: Array) -> cuda.core.Buffer:
        return cuda.core.Buffer.from_handle(address, array.nbytes)

    @staticmethod
    def _host(array: Array) -> cuda.core.Buffer:
        return cuda.core.Buffer.from_handle(array.ctypes.data, array.nbytes, owner=array)

    def free(self) -> None:
        for buffer in self.buffers.values():
            buffer.close(self.stream)
        self.buffers.clear()

    def launch(self, source: str, name: str, grid: int, block: int, *arguments: int | np.generic) -> None:
        """Run a kernel and wait for it; a Python int is an address."""
        function = load_function(compiled(source, TARGET), name)
        values = [
            np.uint64(argument).tobytes() if isinstance(argument, int) else argument.tobytes()
            for argument in arguments
        ]
        handle = int(self.stream.handle)
        launch_function(function, name, (grid, 1, 1), (block, 1, 1), 0, values, handle)
        self.stream.sync()
