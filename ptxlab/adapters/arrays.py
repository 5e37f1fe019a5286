"""Arrays as other frameworks hold them -> memory of a simulated launch.

A framework hands a kernel an address and strides; so views that are not contiguous, or that share memory,
are as good as whole arrays. No framework is imported here: a tensor is what has `data_ptr()`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, quoted
from ..simulator.arguments import Pointer

#: What Triton and the GPU's 16-byte accesses ask of addresses, and so a launch must keep.
_ALIGNMENT = 16


def is_array(value: object) -> bool:
    """Whether a value is an array or a tensor, wherever it is.

    >>> is_array(np.zeros(3)), is_array(np.float32(1)), is_array(3)
    (True, False, False)
    """
    if isinstance(value, np.generic | type):
        return False
    return isinstance(value, np.ndarray) or any(
        hasattr(value, name) for name in ("data_ptr", "__array_interface__", "__cuda_array_interface__")
    )


def host_array(value: Any) -> NDArray[Any]:
    """The memory of an array or of a CPU tensor as a NumPy array, without a copy.

    >>> x = np.arange(3)
    >>> host_array(x) is x
    True
    """
    if isinstance(value, np.ndarray):
        return value
    device = str(getattr(value, "device", "cpu"))
    if hasattr(value, "data_ptr"):
        if not device.startswith("cpu"):
            raise PtxlabError(f"the tensor is on {quoted(device)}; the simulator takes tensors on the CPU")
        shape = tuple(int(size) for size in value.shape)
        element = numpy_type(value.dtype)
        strides = tuple(int(step) * element.itemsize for step in value.stride())
        return array_at(int(value.data_ptr()), shape, strides, element)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise PtxlabError(f"found {quoted(value)}, which is on a GPU; the simulator takes arrays of the host")


def numpy_type(name: object) -> np.dtype[Any]:
    """NumPy's type of a name such as ``torch.bfloat16``.

    >>> numpy_type("torch.bfloat16"), numpy_type("float32")
    (dtype(bfloat16), dtype('float32'))
    """
    if isinstance(name, np.dtype):
        return name
    plain = str(name).rpartition(".")[2]
    try:
        return np.dtype(getattr(ml_dtypes, plain, plain))
    except TypeError:
        raise PtxlabError(f"a tensor of {quoted(plain)}: NumPy has no such type") from None


def array_at(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], element: np.dtype[Any]
) -> NDArray[Any]:
    """The array that lies at an address of this process; strides are in bytes and not negative."""
    if not address or 0 in shape:
        return np.zeros(shape, element)
    size = element.itemsize + sum((count - 1) * step for count, step in zip(shape, strides, strict=True))
    memory = memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B")
    return np.ndarray(shape, element, memory, strides=strides)


def device_memory(arguments: Sequence[object]) -> list[object]:
    """Arguments of a launch with pointers in place of arrays that the simulator does not take as they are.

    Those are views that are not contiguous, and arrays that share a part of their memory. Addresses keep
    their distance to multiples of 16.

    >>> x = np.arange(8, dtype=np.int32)
    >>> [type(each).__name__ for each in device_memory([x, x, 3])]
    ['ndarray', 'ndarray', 'int']
    >>> [each.offset for each in device_memory([x[4:], x])]
    [16, 0]
    """
    placed = list(arguments)
    arrays = {
        number: argument
        for number, argument in enumerate(arguments)
        if isinstance(argument, np.ndarray) and argument.ndim and argument.size
    }
    spans = sorted((*np.lib.array_utils.byte_bounds(array), number) for number, array in arrays.items())
    while spans:
        low, high, _ = spans[0]
        numbers: list[int] = []  # of arrays that share memory, directly or through others
        while spans and (not numbers or spans[0][0] < high):
            _, end, number = spans.pop(0)
            high = max(high, end)
            numbers.append(number)
        group = [arrays[number] for number in numbers]
        if all(array.flags.c_contiguous and array.nbytes == high - low for array in group):
            continue
        memory = array_at(low, (high - low,), (1,), np.dtype(np.uint8))
        memory.flags.writeable = any(array.flags.writeable for array in group)
        for number in numbers:
            placed[number] = Pointer(memory, arrays[number].ctypes.data - low, low % _ALIGNMENT)
    return placed
