"""Launches of kernels with any parameters: machine code or PTX, dynamic shared memory, tensor maps."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..memory import TensorMap
from ..memory.tensor_maps import MapPointer
from .driver_tensor_maps import encode_tensor_map
from .launcher import DeviceArrays

#: An argument: an array (its address is passed), bytes, a tensor map, or a pointer to one.
Value: TypeAlias = NDArray[Any] | bytes | TensorMap | MapPointer


@dataclass(frozen=True)
class Members:
    """A struct: its size, and its members with their offsets."""

    size: int
    values: Sequence[tuple[int, Value]]


def launch_kernel(
    code: bytes,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arguments: Sequence[Value | Members],
    stream: int | None = None,
    cooperative: bool = False,
    cluster: tuple[int, int, int] | None = None,
) -> None:
    """Load a kernel from machine code or PTX, run it on a stream, and wait for it.

    Arrays are copied to the GPU and back, each once; bytes are passed by value. If a stream is given and
    there are no arrays to copy back, it does not wait. `cooperative` is for grid.sync(), `cluster` for
    kernels that do not state the size of their clusters.

    >>> launch_kernel(code, "count", (1, 1, 1), (32, 1, 1), 0, [np.zeros(32)])   # doctest: +SKIP
    """
    with contextlib.closing(DeviceArrays(stream)) as arrays:
        values = [_value(argument, arrays).tobytes() for argument in arguments]
        waits = stream is None or any(_on_host(argument) for argument in arguments)
        arrays.launch(
            code, name, grid, block, shared, values, cooperative=cooperative, cluster=cluster, waits=waits
        )


def _on_host(argument: Value | Members) -> bool:
    """Whether the argument is in the host's memory, so that results must be copied back."""
    if isinstance(argument, Members):
        return any(_on_host(value) for _, value in argument.values)
    if isinstance(argument, MapPointer):
        return _on_host(argument.tensor)
    if isinstance(argument, TensorMap):
        return argument.pointer is None
    return isinstance(argument, np.ndarray)


def _value(argument: Value | Members, arrays: DeviceArrays) -> NDArray[np.uint8]:
    """The bytes of a parameter."""
    if isinstance(argument, Members):
        content = np.zeros(argument.size, dtype=np.uint8)
        for offset, value in argument.values:
            part = _value(value, arrays)
            content[offset : offset + len(part)] = part
        return content
    if isinstance(argument, MapPointer):
        return _value(_value(argument.tensor, arrays), arrays)
    if isinstance(argument, TensorMap):
        if argument.pointer is not None:
            return encode_tensor_map(argument)
        memory = _memory_of(argument.array)
        begin = argument.array.ctypes.data - memory.ctypes.data
        return encode_tensor_map(argument, arrays.address(memory) + begin)
    if isinstance(argument, bytes):
        return np.frombuffer(argument, dtype=np.uint8)
    return np.array([arrays.address(argument)], dtype=np.uint64).view(np.uint8)


def _memory_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, or the contiguous one that it is a view of."""
    memory = array
    while not memory.flags.c_contiguous and isinstance(memory.base, np.ndarray):
        memory = memory.base
    if not memory.flags.c_contiguous:
        raise PtxlabError("a tensor map is launched of an array that is contiguous, or a view of one that is")
    return memory
