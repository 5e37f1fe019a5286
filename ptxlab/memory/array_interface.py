"""Arrays of other libraries in the GPU's memory: their address, shape and strides, without a copy.

CuPy, Numba and torch state them in `__cuda_array_interface__` (Numba, "CUDA Array Interface (Version 3)").
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..errors import PtxlabError, quoted

_MAX_AXES = 64


class ArrayLayout(NamedTuple):
    """Shape, strides in bytes, the element type by name, and the address where it is on a GPU."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    type_name: str
    pointer: int | None = None


def gpu_layout(array: object) -> ArrayLayout | None:
    """How an array on a GPU lies in its memory; None for anything that is not on a GPU.

    >>> class OnGpu:
    ...     __cuda_array_interface__ = {"shape": (4, 8), "typestr": "<f4", "data": (1 << 32, False),
    ...                                 "strides": None, "version": 3}
    >>> gpu_layout(OnGpu())
    ArrayLayout(shape=(4, 8), strides=(32, 4), itemsize=4, type_name='float32', pointer=4294967296)
    """
    if isinstance(array, np.ndarray | np.generic | list | tuple | int | float | str | bytes | type):
        return None
    try:
        interface = getattr(array, "__cuda_array_interface__", None)
    except Exception as error:
        if isinstance(error, KeyError):  # torch 2 has no typestr for float8
            return _of_torch(array)
        # such as that of a tensor which requires a gradient
        raise PtxlabError(
            f"array: it does not say where it is on the GPU ({' '.join(str(error).split())[:120]})"
        ) from None
    if interface is None:
        return None
    try:
        return _layout(array, dict(interface))
    except PtxlabError:
        raise
    except Exception:  # anything may be in there
        raise PtxlabError(
            f"array: its __cuda_array_interface__ is {quoted(interface)}; it has shape, typestr, data and "
            "strides"
        ) from None


def _of_torch(tensor: Any) -> ArrayLayout:
    try:
        size = int(tensor.element_size())
        strides = tuple(int(step) * size for step in tensor.stride())
        shape = tuple(int(length) for length in tensor.shape)
        name = str(tensor.dtype).removeprefix("torch.")[:40]
        return ArrayLayout(shape, strides, size, name, int(tensor.data_ptr()))
    except Exception:
        raise PtxlabError("array: it does not say where it is on the GPU") from None


def _layout(array: object, interface: dict[str, Any]) -> ArrayLayout:
    shape = tuple(int(size) for size in interface["shape"])
    if len(shape) > _MAX_AXES or any(size < 0 for size in shape):
        raise ValueError(shape)
    if interface.get("mask") is not None:
        raise PtxlabError("array: a masked array is not one of numbers only")
    typestr = str(interface["typestr"])
    dtype = np.dtype(typestr)
    if not dtype.isnative:
        raise PtxlabError(f"array of {typestr}: its bytes are in the other order")
    name = dtype.name
    if dtype.kind == "V":  # bfloat16 and others that NumPy has no name for: the array's own type has one
        name = str(getattr(array, "dtype", name)).removeprefix("torch.")[:40]
    stated = interface.get("strides")
    strides = tuple(int(step) for step in stated) if stated is not None else ()
    if stated is None:
        strides = tuple(math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
    if len(strides) != len(shape):
        raise ValueError(strides)
    pointer = int(interface["data"][0])
    if not 0 <= pointer < 1 << 64:
        raise ValueError(pointer)
    return ArrayLayout(shape, strides, dtype.itemsize, name, pointer)
