"""A kernel on the GPU: compiled, loaded and launched through cuda.core, with NumPy arrays as arguments."""

from __future__ import annotations

import contextlib
import sys
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
from .cuda_python import Buffer, Device, ObjectCode, Stream, check, load
from .device import device_target

_BUSY_SECONDS = 2e-3  # most kernels end before a pause would
_PAUSE_SECONDS = 2e-4
_UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass
class Out:
    """An array that a kernel writes; after the launch it holds what the kernel wrote.

    >>> Out(np.empty(4, dtype=np.uint32)).array.shape
    (4,)
    """

    array: NDArray[Any]


#: What a kernel takes: arrays that it reads, arrays that it writes, and scalars.
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
    grid, block = int(grid), int(block)
    target = device_target()
    core = load("cuda.core")
    device: Device = core.Device(0)
    with errors_during("opening the GPU"):
        device.set_current()  # a context belongs to a thread, and this thread may be new
    kernel = load_kernel(source, name, target, include_mma)
    stream = device.default_stream
    copies: list[_Copy] = []
    passed: list[np.generic | Buffer] = []
    try:
        for argument in arguments:
            if isinstance(argument, np.generic):
                passed.append(_by_value(argument))
                continue
            copy = _allocate(argument, device, stream)
            copies.append(copy)
            passed.append(copy.buffer)
            if not copy.written:
                copy.to_device(stream)
        with errors_during(f"launching the kernel {name}"):
            core.launch(stream, core.LaunchConfig(grid=grid, block=block), kernel, *passed)
        with errors_during(f"running the kernel {name}"):
            wait(stream)
        for copy in copies:
            if copy.written:
                copy.from_device(stream)
    finally:
        for copy in copies:
            # After a fault nothing can be freed either; the fault is the error to report.
            with contextlib.suppress(Exception):
                copy.buffer.close(stream)


def _check(name: str, arguments: Sequence[Argument], sizes: dict[str, int]) -> None:
    """Refuse what no kernel takes, before the GPU is asked."""
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
        """The array's own memory, as cuda.core copies from it and to it."""
        make = load("cuda.core").Buffer.from_handle
        buffer: Buffer = make(self.array.ctypes.data, self.array.nbytes, owner=self.array)
        return buffer


def _allocate(argument: NDArray[Any] | Out, device: Device, stream: Stream) -> _Copy:
    if isinstance(argument, Out):
        array = argument.array
        if not array.flags.c_contiguous:
            raise PtxlabError("an Out array must be contiguous")
    else:
        array = np.ascontiguousarray(argument)
    with errors_during(f"allocating {array.nbytes} bytes of GPU memory"):
        buffer = device.allocate(max(array.nbytes, 1), stream=stream)
    return _Copy(array, buffer, isinstance(argument, Out))


@contextlib.contextmanager
def on_device(array: NDArray[Any]) -> Iterator[int]:
    """A copy of an array in the GPU's memory while the block runs; gives its address there."""
    device_target()
    device: Device = load("cuda.core").Device(0)
    with errors_during("opening the GPU"):
        device.set_current()
    stream = device.default_stream
    copy = _allocate(array, device, stream)
    try:
        copy.to_device(stream)
        stream.sync()
        yield int(copy.buffer.handle)
    finally:
        with contextlib.suppress(Exception):  # after a fault nothing can be freed either
            copy.buffer.close(stream)


class DeviceArrays:
    """Copies of arrays in the GPU's memory, one for each array; `fetch` copies them back, `close` frees them.

    All that happens on the stream of this handle, or on the default one.

    >>> with contextlib.closing(DeviceArrays()) as arrays:   # doctest: +SKIP
    ...     address = arrays.address(np.arange(8))
    """

    def __init__(self, stream: int | None = None) -> None:
        device_target()
        core = load("cuda.core")
        device: Device = core.Device(0)
        with errors_during("opening the GPU"):
            device.set_current()  # a context belongs to a thread, and this thread may be new
        self._device = device
        self.stream: Stream = device.default_stream
        if stream:  # 0 is the default stream
            self.stream = core.Stream.from_handle(stream)
        self._copies: dict[int, _Copy] = {}

    def address(self, array: NDArray[Any]) -> int:
        """Where the copy of an array is; the same array has one copy."""
        if id(array) not in self._copies:
            copy = _allocate(Out(array), self._device, self.stream)
            self._copies[id(array)] = copy
            copy.to_device(self.stream)
        return int(self._copies[id(array)].buffer.handle)

    def fetch(self) -> None:
        """Copy all arrays that may be written back."""
        for copy in self._copies.values():
            if copy.array.flags.writeable:
                copy.from_device(self.stream)

    def close(self) -> None:
        """Free the memory of the GPU."""
        for copy in self._copies.values():
            with contextlib.suppress(Exception):  # after a fault nothing can be freed either
                copy.buffer.close(self.stream)
        self._copies = {}


@lru_cache(maxsize=512)
def load_kernel(source: str, name: str, target: str, include_mma: bool = False) -> object:
    """A `cuda.core.Kernel`, compiled and loaded once."""
    cubin = compile(source, target, include_mma=include_mma)
    with errors_during(f"loading the kernel {name}"):
        code: ObjectCode = load("cuda.core").ObjectCode.from_cubin(cubin)
        return code.get_kernel(name)


@contextlib.contextmanager
def errors_during(action: str) -> Iterator[None]:
    """What cuda.core reports during the action, as a `PtxlabError` of one sentence."""
    try:
        yield
    except Exception as error:  # cuda.core has no public name for its CUDAError
        raise PtxlabError(f"{action} failed: {' '.join(str(error).split())[:400]}") from error


def _by_value(scalar: np.generic) -> np.generic:
    """A scalar as cuda.core takes it: its bits as an integer, so that bfloat16 and others pass too."""
    if scalar.itemsize not in _UNSIGNED:
        raise PtxlabError(f"a scalar of {scalar.itemsize} bytes: kernels take scalars of 1, 2, 4 or 8 bytes")
    return _UNSIGNED[scalar.itemsize](int.from_bytes(scalar.tobytes(), sys.byteorder))


def wait(stream: Stream) -> None:
    """Wait until the stream has done its work. `stream.sync()` would keep Ctrl-C waiting for the kernel."""
    event = stream.record()
    started = time.monotonic()
    while not event.is_done:
        if time.monotonic() - started > _BUSY_SECONDS:
            time.sleep(_PAUSE_SECONDS)


# -- kernels of compiled code, loaded once and queued on a stream; the driver's own interface --------------


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
