"""Kernels on the GPU: compiled, loaded and launched, with NumPy arrays as arguments."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int, as_text, is_a
from ..errors import PtxlabError, quoted
from .compiler import compile
from .cuda_python import Buffer, Device, DriverError, Stream, check, load
from .device import device_target

_BUSY_SECONDS = 2e-3  # of busy waiting, within which most kernels end
_PAUSE_SECONDS = 2e-4
_SCALAR_BYTES = (1, 2, 4, 8)
_PORTABLE_CLUSTER = 8  # blocks of a cluster that every chip allows


@dataclass
class Out:
    """An array that a kernel writes; it is copied back after the launch.

    >>> Out(np.empty(4, dtype=np.uint32)).array.shape
    (4,)
    """

    array: NDArray[Any]


#: An argument of a kernel: an array that it reads, an array that it writes, or a scalar.
Argument: TypeAlias = NDArray[Any] | np.generic | Out


def launch(
    source: str,
    name: str,
    arguments: Sequence[Argument],
    *,
    grid: int,
    block: int,
    include_mma: bool = False,
) -> None:
    """Compile, load and run a kernel, and wait for it.

    Arrays are copied to the GPU, `Out` arrays are copied back, NumPy scalars are passed by value.

    >>> out = np.zeros(32, dtype=np.int32)
    >>> text = 'extern "C" __global__ void count(int* out) { out[threadIdx.x] = threadIdx.x; }'
    >>> launch(text, "count", [Out(out)], grid=1, block=32)   # doctest: +SKIP
    >>> out   # doctest: +SKIP
    array([ 0,  1,  2, ..., 29, 30, 31], dtype=int32)
    """
    source, include_mma = as_text(source, "source"), as_flag(include_mma, "include_mma")
    _check(name, arguments, {"grid": grid, "block": block})
    code = compiled(source, device_target(), include_mma)
    with contextlib.closing(DeviceArrays()) as arrays:
        values = [_value(argument, arrays).tobytes() for argument in arguments]
        arrays.launch(code, name, (int(grid), 1, 1), (int(block), 1, 1), 0, values)


def _value(argument: Argument, arrays: DeviceArrays) -> np.generic:
    """A scalar itself, or the address of an array's copy."""
    if isinstance(argument, np.generic):
        return argument
    if isinstance(argument, Out):
        return np.uint64(arrays.address(argument.array, read=False))
    return np.uint64(arrays.address(np.ascontiguousarray(argument), written=False))


def _check(name: str, arguments: Sequence[Argument], sizes: dict[str, int]) -> None:
    """Refuse arguments that no kernel takes, before the GPU is used."""
    as_text(name, "name of the kernel")
    for size, number in sizes.items():
        if not 1 <= as_int(number, size) < 1 << 31:
            raise PtxlabError(f"{size}={quoted(number)}: it is at least 1 and below 2^31")
    if not is_a(arguments, tuple, list):
        raise PtxlabError(f"arguments: found {quoted(arguments)}; they are a list of arrays and scalars")
    for argument in arguments:
        array = argument.array if isinstance(argument, Out) else argument
        if not is_a(array, np.ndarray, np.generic):
            raise PtxlabError(f"a kernel takes NumPy arrays and NumPy scalars, found {quoted(array)}")
        if array.dtype.hasobject:
            raise PtxlabError("a kernel takes numbers, found an array of Python objects")
        if isinstance(argument, Out) and not array.flags.c_contiguous:
            raise PtxlabError("an Out array must be contiguous")
        if isinstance(array, np.generic) and array.itemsize not in _SCALAR_BYTES:
            raise PtxlabError(
                f"a scalar of {array.itemsize} bytes: kernels take scalars of 1, 2, 4 or 8 bytes"
            )


@dataclass
class _Copy:
    """An array and its copy on the GPU, a `cuda.core.Buffer`."""

    array: NDArray[Any]
    buffer: Buffer
    written: bool  # by the kernel

    def to_device(self, stream: Stream) -> None:
        if self.array.nbytes:
            with errors_during("copying to the GPU"):
                self.buffer.copy_from(self._host_buffer, stream=stream)

    def from_device(self, stream: Stream) -> None:
        if self.array.nbytes:
            with errors_during("copying from the GPU"):
                self.buffer.copy_to(self._host_buffer, stream=stream)
                stream.sync()

    @property
    def _host_buffer(self) -> Buffer:
        """The array's own memory as a buffer of cuda.core."""
        from_handle = load("cuda.core").Buffer.from_handle
        buffer: Buffer = from_handle(self.array.ctypes.data, self.array.nbytes, owner=self.array)
        return buffer


class DeviceArrays:
    """Copies of arrays in the GPU's memory, one for each; a launch copies them back, `close` frees them.

    All work is on the stream of this handle, or on the default one.

    >>> with contextlib.closing(DeviceArrays()) as arrays:   # doctest: +SKIP
    ...     address = arrays.address(np.arange(8))
    """

    def __init__(self, stream: int | None = None) -> None:
        device_target()
        core = load("cuda.core")
        device: Device = core.Device(0)
        with errors_during("opening the GPU"):
            device.set_current()  # contexts belong to threads, and this thread may be new
        self._device = device
        self.stream: Stream = device.default_stream
        if stream:  # 0 is the default stream
            self.stream = core.Stream.from_handle(stream)
        self._copies: dict[tuple[int, bool, bool], _Copy] = {}

    def address(self, array: NDArray[Any], *, read: bool = True, written: bool = True) -> int:
        """The address of the copy of a contiguous array that a kernel reads or writes; each has one copy."""
        key = id(array), read, written
        if key not in self._copies:
            with errors_during(f"allocating {array.nbytes} bytes of GPU memory"):
                buffer = self._device.allocate(max(array.nbytes, 1), stream=self.stream)
            copy = self._copies[key] = _Copy(array, buffer, written and array.flags.writeable)
            if read:
                copy.to_device(self.stream)
        return int(self._copies[key].buffer.handle)

    def launch(
        self,
        code: bytes,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        values: Sequence[bytes],
        *,
        cooperative: bool = False,
        cluster: tuple[int, int, int] | None = None,
        waits: bool = True,
    ) -> None:
        """Run a kernel, wait for it, and copy back what it may have written."""
        function = load_function(code, name)
        stream = int(self.stream.handle)
        launch_function(function, name, grid, block, shared, values, stream, cooperative, cluster)
        if not waits:
            return
        with errors_during(f"running the kernel {name}"):
            wait(self.stream)
        for copy in self._copies.values():
            if copy.written:
                copy.from_device(self.stream)

    def close(self) -> None:
        """Free the memory of the GPU."""
        for copy in self._copies.values():
            with contextlib.suppress(Exception):  # after a fault, nothing can be freed
                copy.buffer.close(self.stream)
        self._copies = {}


@lru_cache(maxsize=512)
def compiled(source: str, target: str, include_mma: bool = False) -> bytes:
    """The machine code of a source, compiled or read from the cache once."""
    return compile(source, target, include_mma=include_mma)


@contextlib.contextmanager
def errors_during(action: str) -> Iterator[None]:
    """Turn errors of cuda.core during an action into a `DriverError` of one sentence."""
    try:
        yield
    except Exception as error:  # cuda.core has no public name for its CUDAError
        raise DriverError(f"{action} failed: {' '.join(str(error).split())[:400]}") from error


def wait(stream: Stream) -> None:
    """Wait until the stream has done its work; during `stream.sync()`, Ctrl-C would have no effect."""
    event = stream.record()
    started = time.monotonic()
    while not event.is_done:
        if time.monotonic() - started > _BUSY_SECONDS:
            time.sleep(_PAUSE_SECONDS)


@lru_cache(maxsize=256)
def load_function(code: bytes, name: str) -> object:
    """The kernel of that name in machine code or PTX, for the current context."""
    driver = load("cuda.bindings.driver")
    (module,) = check(driver.cuModuleLoadData(code + b"\0"), f"loading the kernel {name}")
    (function,) = check(driver.cuModuleGetFunction(module, name.encode()), f"loading the kernel {name}")
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
    cluster: tuple[int, int, int] | None = None,
) -> None:
    """Queue a kernel on a stream, without waiting for it; `values` are the bytes of its parameters.

    The blocks of a `cooperative` one run at the same time, and may wait for each other with grid.sync().
    `cluster` is for kernels that do not state the size of their clusters themselves.
    """
    driver = load("cuda.bindings.driver")
    if shared:  # more than 48 KiB, static and dynamic together, needs the attribute
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuFuncSetAttribute(function, attribute, shared), "asking for shared memory")
    buffers = [np.frombuffer(value, dtype=np.uint8) for value in values]
    pointers = np.array([buffer.ctypes.data for buffer in buffers], dtype=np.uint64)
    parameters = pointers.ctypes.data if len(values) else 0
    queue = driver.CUstream(stream)
    if cluster is not None:
        config = _with_clusters(driver, cluster, cooperative)
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes, config.hStream = shared, queue
        if math.prod(cluster) > _PORTABLE_CLUSTER:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            check(driver.cuFuncSetAttribute(function, attribute, 1), "asking for large clusters")
        result = driver.cuLaunchKernelEx(config, function, parameters, 0)
    elif cooperative:
        result = driver.cuLaunchCooperativeKernel(function, *grid, *block, shared, queue, parameters)
    else:
        result = driver.cuLaunchKernel(function, *grid, *block, shared, queue, parameters, 0)
    check(result, f"launching the kernel {name}")


def _with_clusters(driver: Any, cluster: tuple[int, int, int], cooperative: bool) -> Any:
    """A `CUlaunchConfig` with this size of clusters."""
    ids = driver.CUlaunchAttributeID
    cluster_attribute = driver.CUlaunchAttribute()
    cluster_attribute.id = ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dimensions = cluster_attribute.value.clusterDim
    dimensions.x, dimensions.y, dimensions.z = cluster
    cooperative_attribute = driver.CUlaunchAttribute()
    cooperative_attribute.id = ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    cooperative_attribute.value.cooperative = int(cooperative)
    config = driver.CUlaunchConfig()
    config.attrs = [cluster_attribute, cooperative_attribute]
    config.numAttrs = 2
    return config
