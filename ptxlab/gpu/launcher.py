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

from ..errors import PtxlabError
from .compiler import compile
from .cuda_python import load
from .device import device_target

__all__ = ["Argument", "Out", "launch", "load_kernel"]

_LONGEST_PAUSE = 1e-3  # seconds between two looks at a running kernel
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
    target = device_target()
    core = load("cuda.core")
    device = core.Device(0)
    with _errors_told("opening the GPU"):
        device.set_current()  # a context belongs to a thread, and this thread may be new
    kernel = load_kernel(source, name, target, include_mma)
    stream = device.default_stream
    buffers: list[Any] = []
    passed: list[Any] = []
    written: list[tuple[NDArray[Any], Any]] = []
    try:
        for argument in arguments:
            if isinstance(argument, np.generic):
                passed.append(_by_value(argument))
                continue
            array = _contiguous(argument)
            with _errors_told(f"allocating {array.nbytes} bytes of GPU memory"):
                buffer = device.allocate(max(array.nbytes, 1), stream=stream)
            buffers.append(buffer)
            passed.append(buffer)
            if array.nbytes == 0:
                continue
            if isinstance(argument, Out):
                written.append((array, buffer))
                continue
            with _errors_told("copying to the GPU"):
                buffer.copy_from(_host_buffer(array), stream=stream)
        with _errors_told(f"launching the kernel {name}"):
            core.launch(stream, core.LaunchConfig(grid=grid, block=block), kernel, *passed)
        with _errors_told(f"running the kernel {name}"):
            _wait(stream)
        with _errors_told("copying from the GPU"):
            for array, buffer in written:
                buffer.copy_to(_host_buffer(array), stream=stream)
            stream.sync()
    finally:
        for buffer in buffers:
            with contextlib.suppress(
                Exception
            ):  # after a fault nothing can be freed; the fault is what to report
                buffer.close(stream)


@lru_cache(maxsize=512)
def load_kernel(source: str, name: str, target: str, include_mma: bool = False) -> Any:
    """A `cuda.core.Kernel`, compiled and loaded once."""
    cubin = compile(source, target, include_mma=include_mma)
    with _errors_told(f"loading the kernel {name}"):
        return load("cuda.core").ObjectCode.from_cubin(cubin).get_kernel(name)


@contextlib.contextmanager
def _errors_told(action: str) -> Iterator[None]:
    """What cuda.core reports during the action, as a `PtxlabError` of one sentence."""
    try:
        yield
    except Exception as error:  # cuda.core has no public name for its CUDAError
        raise PtxlabError(f"{action} failed: {' '.join(str(error).split())}") from error


def _by_value(scalar: np.generic) -> np.generic:
    """A scalar as cuda.core takes it: its bits as an integer, so that bfloat16 and others pass too."""
    if scalar.itemsize not in _UNSIGNED:
        raise PtxlabError(f"a scalar of {scalar.itemsize} bytes: kernels take scalars of 1, 2, 4 or 8 bytes")
    return _UNSIGNED[scalar.itemsize](int.from_bytes(scalar.tobytes(), sys.byteorder))


def _contiguous(argument: NDArray[Any] | Out) -> NDArray[Any]:
    if not isinstance(argument, Out):
        return np.ascontiguousarray(argument)
    if not argument.array.flags.c_contiguous:
        raise PtxlabError("an Out array must be contiguous")
    return argument.array


def _host_buffer(array: NDArray[Any]) -> Any:
    """A NumPy array's own memory, as cuda.core copies from it and to it."""
    return load("cuda.core").Buffer.from_handle(array.ctypes.data, array.nbytes, owner=array)


def _wait(stream: Any) -> None:
    """Wait until the stream has done its work. `stream.sync()` would keep Ctrl-C waiting for the kernel."""
    event = stream.record()
    pause = 0.0
    while not event.is_done:
        time.sleep(pause)
        pause = min(2 * pause + 1e-6, _LONGEST_PAUSE)
