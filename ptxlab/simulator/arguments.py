"""Arguments of a launch: arrays are memory, scalars and structs are values, checked against the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int
from ..errors import PtxlabError, counted, quoted
from ..memory import TensorMap
from ..memory.array_interface import gpu_layout
from ..memory.tensor_maps import MapPointer
from .ptx.syntax import Function, Variable, type_bits
from .threads import Grid

_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = (1024, 1024, 64)
_MOST_IN_CLUSTER = 16  # blocks; more than 8 are for some chips only


@dataclass(frozen=True)
class Array:
    """An array whose address the kernel gets."""

    values: NDArray[Any]


#: A checked argument: memory, the bytes of a value, or a tensor map.
KernelArgument: TypeAlias = Array | bytes | TensorMap | MapPointer


def as_grid(grid: object, block: object, shared: object, cluster: tuple[int, int, int] = (1, 1, 1)) -> Grid:
    """The shape of a launch, with clusters as `as_cluster` gives them.

    >>> as_grid(4, (8, 8), 0).block_size
    64
    """
    blocks, threads = _as_sizes(grid, "grid", _MOST_BLOCKS), _as_sizes(block, "block", _MOST_THREADS)
    if math.prod(threads) > 1024:
        raise PtxlabError(f"block={quoted(block)}: {math.prod(threads)} threads; a block has at most 1024")
    size = as_int(shared, "shared")
    if not 0 <= size <= 227 << 10:
        raise PtxlabError(
            f"shared={quoted(size)}: a block has at most {227 << 10} bytes of dynamic shared memory"
        )
    if any(count % step for count, step in zip(blocks, cluster, strict=True)):
        raise PtxlabError(
            f"grid={quoted(grid)}: the kernel has clusters of {cluster}, which do not divide it"
        )
    return Grid(blocks, threads, size, cluster)


def as_cluster(cluster: object, function: Function) -> tuple[int, int, int]:
    """Blocks of a cluster along x, y, z: as the kernel states them, or else as the launch does.

    PTX ISA, "Cluster Dimension Directives".
    """
    directives = function.directives
    stated = directives.get("reqnctapercluster")
    if cluster is None:
        if stated is None and "explicitcluster" in directives:
            raise PtxlabError(
                "the kernel takes the size of its clusters from the launch (.explicitcluster): pass "
                "cluster=, e.g. cluster=2"
            )
        sizes = (*(stated or ()), 1, 1, 1)
        return sizes[0], sizes[1], sizes[2]
    given = _as_sizes(cluster, "cluster", (_MOST_IN_CLUSTER,) * 3)
    most = min([_MOST_IN_CLUSTER, *directives.get("maxclusterrank", ())])
    if math.prod(given) > most:
        raise PtxlabError(
            f"cluster={quoted(cluster)}: {math.prod(given)} blocks; a cluster of this kernel has at most "
            f"{most}"
        )
    if stated is not None and given != as_cluster(None, function):
        raise PtxlabError(
            f"cluster={quoted(cluster)}: the kernel states clusters of {as_cluster(None, function)} itself "
            "(__cluster_dims__, .reqnctapercluster); leave out cluster="
        )
    return given


def _as_sizes(value: object, what: str, most: tuple[int, int, int]) -> tuple[int, int, int]:
    numbers = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(numbers) <= 3:
        raise PtxlabError(f"{what}={quoted(value)}: it takes one to three numbers, x, y, z")
    sizes = [as_int(number, what) for number in numbers]
    sizes += [1] * (3 - len(sizes))
    for axis, size, limit in zip("xyz", sizes, most, strict=True):
        if not 1 <= size <= limit:
            raise PtxlabError(f"{what}={quoted(value)}: along {axis} it is 1 to {limit}")
    x, y, z = sizes
    return x, y, z


def check_arguments(function: Function, arguments: Sequence[object], title: str) -> list[KernelArgument]:
    """Arguments as the kernel's parameters take them, or a sentence about the first that does not fit."""
    parameters = function.parameters
    if len(arguments) != len(parameters):
        listed = ", ".join(_describe(parameter) for parameter in parameters) or "none"
        count = counted(len(parameters), "argument")
        raise PtxlabError(f"{title} takes {count} ({listed}), found {len(arguments)}")
    checked = [
        _checked(argument, parameter, f"argument {number} of {title}")
        for number, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True), 1)
    ]
    _join_views(checked, title)
    return checked


def _join_views(arguments: list[KernelArgument], title: str) -> None:
    """Arrays of the same bytes are one argument; those that share some of them cannot be device memory."""
    arrays = sorted(
        (argument.values.ctypes.data, argument.values.nbytes, number)
        for number, argument in enumerate(arguments)
        if isinstance(argument, Array) and argument.values.nbytes
    )
    for (start, size, number), (next_start, next_size, other) in pairwise(arrays):
        if next_start >= start + size:
            continue
        if (start, size) != (next_start, next_size):
            first, second = sorted((number + 1, other + 1))
            raise PtxlabError(
                f"arguments {first} and {second} of {title}: the arrays share a part of their memory; pass "
                "one array and where to begin in it, or copies"
            )
        one, two = arguments[number], arguments[other]
        if isinstance(one, Array) and isinstance(two, Array) and one.values is not two.values:
            arguments[other] = arguments[number] = one if one.values.flags.writeable else two


def _describe(parameter: Variable) -> str:
    if parameter.array:
        return f"{parameter.size} bytes"
    if parameter.pointer:
        return "a pointer"
    return parameter.type


def _checked(argument: object, parameter: Variable, what: str) -> KernelArgument:
    if isinstance(argument, TensorMap):
        if parameter.size == 8 and not parameter.type.startswith("f"):
            return MapPointer(argument)
        if parameter.size != 128:
            raise PtxlabError(
                f"{what}: found a tensor map, which is a struct of 128 bytes; the kernel takes "
                f"{_describe(parameter)}"
            )
        return argument
    if parameter.array:
        return _as_struct(argument, parameter, what)
    if isinstance(argument, np.ndarray) and argument.ndim > 0:
        return _as_memory(argument, parameter, what)
    if gpu_layout(argument) is not None:
        raise PtxlabError(f"{what}: the array is on the GPU; simulate takes NumPy arrays, launch takes both")
    if argument is None and parameter.size == 8:
        return bytes(8)
    return _as_value(argument, parameter, what)


def _as_memory(array: NDArray[Any], parameter: Variable, what: str) -> Array:
    if parameter.size != 8 or parameter.type.startswith("f"):
        raise PtxlabError(
            f"{what}: found an array of {array.dtype}; the kernel takes a value of type {parameter.type}"
        )
    if array.dtype.hasobject:
        raise PtxlabError(f"{what}: found an array of Python objects; a kernel takes numbers")
    if not array.dtype.isnative:
        raise PtxlabError(f"{what}: found {array.dtype}; a kernel takes numbers in the machine's byte order")
    if not array.flags.c_contiguous:
        raise PtxlabError(
            f"{what}: found an array that is not contiguous; pass np.ascontiguousarray(array), or a copy"
        )
    return Array(array)


def _as_struct(argument: object, parameter: Variable, what: str) -> bytes:
    if isinstance(argument, np.ndarray | np.generic):
        content = argument.tobytes()
    elif isinstance(argument, bytes | bytearray | memoryview):
        content = bytes(argument)
    elif parameter.size in (1, 2, 4, 8) and isinstance(argument, int | float):
        kind = f"a struct of {parameter.size} bytes"
        raise PtxlabError(
            f"{what}: found {quoted(argument)}; the kernel takes {kind}, e.g. a NumPy scalar of that size"
        )
    else:
        raise PtxlabError(
            f"{what}: found {quoted(argument)}; the kernel takes a struct of {parameter.size} bytes: bytes, "
            "or a NumPy record"
        )
    if len(content) != parameter.size:
        raise PtxlabError(f"{what}: found {len(content)} bytes; the kernel takes {parameter.size}")
    return content


def _as_value(argument: object, parameter: Variable, what: str) -> bytes:
    """A number by value."""
    bits = type_bits(parameter.type) or 8 * parameter.size
    is_float = parameter.type.startswith(("f", "bf"))
    if isinstance(argument, np.ndarray) and argument.ndim == 0:
        argument = argument[()]
    if isinstance(argument, np.generic):
        if argument.dtype.itemsize * 8 != bits or argument.dtype.hasobject:
            raise PtxlabError(
                f"{what}: found {argument.dtype}, {8 * argument.dtype.itemsize} bits; the kernel takes "
                f"{parameter.type}"
            )
        floating = argument.dtype.kind == "f" or argument.dtype.kind == "V"
        if floating != is_float and parameter.type[0] != "b":
            raise PtxlabError(f"{what}: found {argument.dtype}; the kernel takes {parameter.type}")
        return argument.tobytes()
    if isinstance(argument, bool):
        argument = int(argument)
    if isinstance(argument, float) or (isinstance(argument, int) and is_float):
        if not is_float:
            raise PtxlabError(
                f"{what}: found {quoted(argument)}; the kernel takes a whole number ({parameter.type})"
            )
        with np.errstate(over="ignore"):
            return np.array(argument, dtype=f"<f{bits // 8}").tobytes()
    if not isinstance(argument, int):
        takes = f"a number ({parameter.type})"
        if parameter.size == 8 and not is_float:
            takes = f"a NumPy array, or {takes}"
        raise PtxlabError(f"{what}: found {quoted(argument)}; the kernel takes {takes}")
    number = argument
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise PtxlabError(f"{what}: {quoted(number)} does not fit {parameter.type}")
    return (number & (1 << bits) - 1).to_bytes(bits // 8, "little")
