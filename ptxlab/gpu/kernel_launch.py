"""A kernel of any parameters on the GPU: machine code or PTX, dynamic shared memory, tensor maps."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..memory import TensorMap
from .cuda_python import load
from .launcher import DeviceArrays, errors_during, wait
from .tensor_maps import encode_tensor_map

__all__ = ["MapPointer", "launch_kernel"]

_STATIC_LIMIT = 48 << 10  # of dynamic shared memory, without asking for more


@dataclass(frozen=True)
class MapPointer:
    """A tensor map in global memory, whose address the kernel gets."""

    tensor: TensorMap


def launch_kernel(
    code: bytes,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    arguments: Sequence[NDArray[Any] | bytes | TensorMap | MapPointer],
) -> None:
    """Load a kernel from machine code or PTX, run it, and wait for it.

    Arrays are copied to the GPU and back, the same one once; bytes are passed by value.

    >>> launch_kernel(code, "count", (1, 1, 1), (32, 1, 1), 0, [np.zeros(32)])   # doctest: +SKIP
    """
    driver = load("cuda.bindings.driver")
    with contextlib.closing(DeviceArrays()) as arrays:
        function = _function(code, name)
        if shared > _STATIC_LIMIT:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _check(driver.cuFuncSetAttribute(function, attribute, shared), "asking for shared memory")
        values = [_value(argument, arrays) for argument in arguments]
        pointers = np.array([value.ctypes.data for value in values], dtype=np.uint64)
        stream = arrays.stream
        # Other libraries may still write to arrays of theirs, on streams of theirs.
        _check(driver.cuCtxSynchronize(), "waiting for the GPU")
        with errors_during(f"launching the kernel {name}"):
            result = driver.cuLaunchKernel(
                function,
                *grid,
                *block,
                shared,
                driver.CUstream(int(stream.handle)),
                pointers.ctypes.data if len(values) else 0,
                0,
            )
        _check(result, f"launching the kernel {name}")
        with errors_during(f"running the kernel {name}"):
            wait(stream)
        arrays.fetch()


def _value(
    argument: NDArray[Any] | bytes | TensorMap | MapPointer, arrays: DeviceArrays
) -> NDArray[np.uint8]:
    """The bytes of a parameter."""
    if isinstance(argument, MapPointer):
        return _value(_value(argument.tensor, arrays), arrays)
    if isinstance(argument, TensorMap):
        if argument.pointer is not None:
            return encode_tensor_map(argument)
        if not argument.array.flags.c_contiguous:
            raise PtxlabError("a tensor map of an array that is not contiguous cannot be launched")
        return encode_tensor_map(argument, arrays.address(argument.array))
    if isinstance(argument, bytes):
        return np.frombuffer(argument, dtype=np.uint8)
    return np.array([arrays.address(argument)], dtype=np.uint64).view(np.uint8)


@lru_cache(maxsize=64)
def _function(code: bytes, name: str) -> object:
    driver = load("cuda.bindings.driver")
    (module,) = _check(driver.cuModuleLoadData(code + b"\0"), f"loading the kernel {name}")
    (function,) = _check(driver.cuModuleGetFunction(module, name.encode()), f"finding the kernel {name}")
    return function


def _check(result: tuple[Any, ...], action: str) -> tuple[Any, ...]:
    code, *values = result
    if int(code) != 0:
        raise PtxlabError(f"{action} failed: {code.name}")
    return tuple(values)
