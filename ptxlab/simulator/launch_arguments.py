"""Arguments of a launch: arrays are memory, scalars and structs are values, checked against the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int
from ..errors import PtxlabError, counted, quoted
from ..isa.chips import MAX_SHARED
from ..memory import TensorMap
from ..memory.array_interface import gpu_layout
from ..memory.tensor_maps import MapPointer
from .launch_threads import LaunchGrid
from .ptx.syntax import Function, Variable, type_bits

_MAX_BLOCKS = (2**31 - 1, 65535, 65535)
_MAX_THREADS = (1024, 1024, 64)
_MAX_NESTED = 32  # structs inside each other
_FLOATS = {
    "f16": np.dtype("<f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype("<f4"),
    "tf32": np.dtype("<f4"), "f64": np.dtype("<f8"),
}  # fmt: skip
_MAX_IN_CLUSTER = 16  # blocks; more than 8 are for some chips only


@dataclass(frozen=True)
class Pointer:
    """An address `offset` bytes into an array, which several arguments may share.

    The array begins `phase` bytes after a multiple of 256. If it holds addresses, `reaches` has the memory at
    these; then all arrays of the launch keep their host addresses. Messages call it argument `number`.
    """

    memory: NDArray[Any]
    offset: int = 0
    phase: int = 0
    reaches: tuple[NDArray[np.uint8], ...] = ()
    number: str = ""  # if it is not that of the kernel's parameter


#: A parameter, or a member of a struct: memory, the bytes of a value, or a tensor map.
_Value: TypeAlias = Pointer | bytes | TensorMap | MapPointer


@dataclass(frozen=True)
class Struct:
    """A struct: its size, and its members as offset, value, and name in messages."""

    size: int
    members: tuple[tuple[int, _Value, str], ...]


#: A checked argument.
KernelArgument: TypeAlias = _Value | Struct


def values_of(arguments: Sequence[KernelArgument]) -> Iterator[tuple[str, _Value]]:
    """All arguments and members of structs, with their names in messages."""
    for number, argument in enumerate(arguments, 1):
        if isinstance(argument, Struct):
            for _, value, name in argument.members:
                yield f"{number}{name}", value
        elif isinstance(argument, Pointer) and argument.number:
            yield argument.number, argument
        else:
            yield f"{number}", argument


@contextmanager
def restored(arguments: Sequence[KernelArgument]) -> Iterator[None]:
    """Restore the arrays that a kernel can write, also through tensor maps, afterwards."""
    arrays = []
    for _, value in values_of(arguments):
        if isinstance(value, Pointer):
            arrays += [value.memory, *value.reaches]
        elif isinstance(value, TensorMap | MapPointer):
            arrays.append((value if isinstance(value, TensorMap) else value.tensor).array)
    copies = [(array, array.copy()) for array in arrays if array.flags.writeable]
    try:
        yield
    finally:
        for array, before in copies:
            array[...] = before


def as_grid(
    grid: object, block: object, shared: object, cluster: tuple[int, int, int] = (1, 1, 1)
) -> LaunchGrid:
    """The shape of a launch, with clusters as `as_cluster` gives them.

    >>> as_grid(4, (8, 8), 0).block_size
    64
    """
    blocks, threads = _as_sizes(grid, "grid", _MAX_BLOCKS), _as_sizes(block, "block", _MAX_THREADS)
    if math.prod(threads) > 1024:
        raise PtxlabError(f"block={quoted(block)}: {math.prod(threads)} threads; a block has at most 1024")
    size = as_int(shared, "shared")
    if not 0 <= size <= MAX_SHARED:
        raise PtxlabError(
            f"shared={quoted(size)}: a block has at most {MAX_SHARED} bytes of dynamic shared memory"
        )
    if any(count % step for count, step in zip(blocks, cluster, strict=True)):
        raise PtxlabError(
            f"grid={quoted(grid)}: the kernel has clusters of {cluster}, which do not divide it"
        )
    return LaunchGrid(blocks, threads, size, cluster)


def as_launch(function: Function, grid: object, block: object, shared: object, cluster: object) -> LaunchGrid:
    """The shape of a launch of a kernel, which may state the size of its blocks and clusters itself.

    PTX ISA, "Performance-Tuning Directives": a launch with other blocks than .reqntid says, or with more
    threads than .maxntid, fails. With .blocksareclusters (``__block_size__``) `grid` counts clusters.
    """
    size, directives = as_cluster(cluster, function), function.directives
    clustered = "blocksareclusters" in directives
    shape = as_grid(grid, block, shared, (1, 1, 1) if clustered else size)
    if clustered:
        x, y, z = (count * step for count, step in zip(shape.blocks, size, strict=True))
        shape = replace(shape, blocks=(x, y, z), cluster=size)
    required, most = directives.get("reqntid"), directives.get("maxntid")
    if required and shape.threads != (*required, 1, 1)[:3]:
        raise PtxlabError(
            f"block={quoted(block)}: the kernel is for blocks of {quoted((*required, 1, 1)[:3])} threads "
            "(.reqntid); CUDA refuses to launch others"
        )
    if most and math.prod(shape.threads) > math.prod(most):
        raise PtxlabError(
            f"block={quoted(block)}: {math.prod(shape.threads)} threads; the kernel is for at most "
            f"{math.prod(most)} (__launch_bounds__, .maxntid); CUDA refuses to launch more"
        )
    return shape


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
        x, y, z, *_ = (*(stated or ()), 1, 1, 1)
        if min(x, y, z) < 1 or x * y * z > _MAX_IN_CLUSTER:
            raise PtxlabError(
                f"the kernel states clusters of {quoted((x, y, z))} blocks (.reqnctapercluster); a cluster "
                f"has 1 to {_MAX_IN_CLUSTER}"
            )
        return x, y, z
    size = _as_sizes(cluster, "cluster", (_MAX_IN_CLUSTER,) * 3)
    most = min([_MAX_IN_CLUSTER, *directives.get("maxclusterrank", ())])
    if math.prod(size) > most:
        raise PtxlabError(
            f"cluster={quoted(cluster)}: {math.prod(size)} blocks; a cluster of this kernel has at most "
            f"{most}"
        )
    if stated is not None and size != as_cluster(None, function):
        raise PtxlabError(
            f"cluster={quoted(cluster)}: the kernel states clusters of {as_cluster(None, function)} itself "
            "(__cluster_dims__, .reqnctapercluster); leave out cluster="
        )
    return size


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


def check_arguments(
    function: Function, arguments: Sequence[object], title: str, numbers: Sequence[str] = ()
) -> list[KernelArgument]:
    """Arguments as the kernel's parameters take them; the first that does not fit is an error.

    `numbers` say how messages call the arguments, if not 1, 2, 3 ...
    """
    parameters = function.parameters
    if len(arguments) != len(parameters):
        listed = ", ".join(_describe(parameter) for parameter in parameters) or "none"
        count = counted(len(parameters), "argument")
        raise PtxlabError(f"{title} takes {count} ({listed}), found {len(arguments)}")
    checked = [
        _checked(argument, parameter, f"argument {numbers[index] if numbers else index + 1} of {title}")
        for index, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True))
    ]
    for index, number in enumerate(numbers):
        argument = checked[index]
        if isinstance(argument, Pointer):
            checked[index] = replace(argument, number=number)
    return _with_joined_views(checked, title)


def _with_joined_views(arguments: list[KernelArgument], title: str) -> list[KernelArgument]:
    """The arguments with arrays over the same bytes as one buffer; a partial overlap is an error."""
    values = list(values_of(arguments))
    order = {name: number for number, (name, _) in enumerate(values)}
    sized = [(name, value) for name, value in values if isinstance(value, Pointer) and value.memory.nbytes]
    sized.sort(key=lambda entry: (entry[1].memory.ctypes.data, entry[1].memory.nbytes, order[entry[0]]))
    same: dict[int, Pointer] = {}  # the pointer that stands for an array, by the array's id
    for (left_name, left), (right_name, right) in pairwise(sized):
        left_start, right_start = left.memory.ctypes.data, right.memory.ctypes.data
        if right_start >= left_start + left.memory.nbytes:
            continue
        if (left_start, left.memory.nbytes) != (right_start, right.memory.nbytes):
            first, second = sorted((left_name, right_name), key=order.__getitem__)
            raise PtxlabError(
                f"arguments {first} and {second} of {title}: the arrays share a part of their memory; pass "
                "one array and where to begin in it, or copies"
            )
        if left.memory is not right.memory:
            left = same.get(id(left.memory), left)
            chosen = left if left.memory.flags.writeable else right
            same |= {id(pointer.memory): chosen for pointer in (left, right)}

    def joined(value: _Value) -> _Value:
        if not isinstance(value, Pointer):
            return value
        chosen = same.get(id(value.memory), value)
        return replace(value, memory=chosen.memory)

    return [
        replace(argument, members=tuple((at, joined(value), name) for at, value, name in argument.members))
        if isinstance(argument, Struct)
        else joined(argument)
        for argument in arguments
    ]


def _describe(parameter: Variable) -> str:
    if parameter.array:
        return f"{parameter.size} bytes"
    if parameter.pointer:
        return "a pointer"
    return parameter.type


def _checked(argument: object, parameter: Variable, what: str) -> KernelArgument:
    if isinstance(argument, tuple):
        return _as_members(argument, parameter, what)
    if isinstance(argument, TensorMap):
        if parameter.size == 8 and not parameter.type.startswith("f"):
            return MapPointer(argument)
        if parameter.size != 128:
            raise PtxlabError(
                f"{what}: found a tensor map, which is a struct of 128 bytes; the kernel takes "
                f"{_describe(parameter)}"
            )
        return argument
    if isinstance(argument, np.ndarray):
        argument = _plain(argument, what)
    if isinstance(argument, Pointer):
        _as_memory(argument.memory, parameter, what)
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


def _plain(array: NDArray[Any], what: str) -> NDArray[Any]:
    """The array as a plain np.ndarray, without np.matrix and other subclasses."""
    if type(array) is np.ndarray:
        return array
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise PtxlabError(f"{what}: found a masked array; fill its masked elements first, .filled(0)")
    return np.ndarray.view(array, np.ndarray)


def _as_memory(array: NDArray[Any], parameter: Variable, what: str) -> Pointer:
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
    return Pointer(array)


def _as_struct(argument: object, parameter: Variable, what: str) -> bytes:
    if isinstance(argument, np.ndarray | np.generic | memoryview):
        size = argument.nbytes
    elif isinstance(argument, bytes | bytearray):
        size = len(argument)
    elif parameter.size in (1, 2, 4, 8) and isinstance(argument, int | float):
        kind = f"a struct of {parameter.size} bytes"
        raise PtxlabError(
            f"{what}: found {quoted(argument)}; the kernel takes {kind}, e.g. a NumPy scalar of that size"
        )
    else:
        raise PtxlabError(
            f"{what}: found {quoted(argument)}; the kernel takes a struct of {parameter.size} bytes: a "
            "tuple of its members, bytes, or a NumPy record"
        )
    if size != parameter.size:
        remedy = ""
        if isinstance(argument, np.ndarray) and argument.ndim:
            remedy = ", a struct: a tuple of its members, in which an array is its address"
        raise PtxlabError(f"{what}: found {size} bytes; the kernel takes {parameter.size}{remedy}")
    if isinstance(argument, np.ndarray | np.generic) and argument.dtype.hasobject:
        raise PtxlabError(f"{what}: found Python objects; a kernel takes numbers")
    return bytes(argument) if isinstance(argument, bytes | bytearray) else argument.tobytes()


def _as_members(argument: tuple[object, ...], parameter: Variable, what: str) -> Struct:
    """A tuple as a struct: its elements in order, each at a multiple of its alignment, as in C++."""
    size, alignment, members = _laid_out(argument, what, "")
    whole = -(-size // alignment) * alignment
    if parameter.size not in (size, whole):
        listed = ", ".join(f"{name} at {offset}" for offset, _, name in members)
        raise PtxlabError(
            f"{what}: found a struct of {counted(whole, 'byte')} ({listed}); the kernel takes "
            f"{parameter.size}"
        )
    return Struct(parameter.size, tuple(members))


def _laid_out(
    elements: tuple[object, ...], what: str, path: str
) -> tuple[int, int, list[tuple[int, _Value, str]]]:
    """Bytes and alignment of a struct, and its members, with those of nested structs."""
    if path.count("[") == _MAX_NESTED:
        raise PtxlabError(f"{what}: more than {_MAX_NESTED} structs in each other")
    size, most = 0, 1
    members: list[tuple[int, _Value, str]] = []
    for number, element in enumerate(elements):
        name = f"{path}[{number}]"
        if isinstance(element, tuple):
            length, alignment, inner = _laid_out(element, what, name)
            length = -(-length // alignment) * alignment
        else:
            value, length, alignment = _as_member(element, f"{what}: its element {name}")
            inner = [(0, value, name)]
        size = -(-size // alignment) * alignment
        members += [(size + offset, value, inner_name) for offset, value, inner_name in inner]
        size, most = size + length, max(most, alignment)
    return size, most, members


_POINTER = Variable("", "param", "u64", 8)


def _as_member(element: object, what: str) -> tuple[_Value, int, int]:
    """A member of a struct, its bytes and its alignment."""
    if isinstance(element, np.ndarray):
        element = _plain(element, what)
    if isinstance(element, np.ndarray) and element.ndim > 0:
        return _as_memory(element, _POINTER, what), 8, 8
    if isinstance(element, Pointer):
        return element, 8, 8
    if gpu_layout(element) is not None:
        raise PtxlabError(f"{what} is on the GPU; simulate takes NumPy arrays, launch takes both")
    if element is None:
        return bytes(8), 8, 8
    if isinstance(element, TensorMap):
        return element, 128, 64
    if isinstance(element, bytes | bytearray):
        return bytes(element), len(element), 1
    if isinstance(element, np.generic | np.ndarray) and not element.dtype.hasobject:
        return element.tobytes(), element.dtype.itemsize, max(element.dtype.alignment, 1)
    raise PtxlabError(
        f"{what} is {quoted(element)}; a struct takes arrays, NumPy scalars (np.int32(3)), bytes, tensor "
        "maps, None and tuples"
    )


def _as_value(argument: object, parameter: Variable, what: str) -> bytes:
    """A number by value."""
    bits = type_bits(parameter.type) or 8 * parameter.size
    is_float = parameter.type in _FLOATS
    if isinstance(argument, np.ndarray) and argument.ndim == 0:
        argument = argument[()]
    if isinstance(argument, np.generic):
        if argument.dtype.itemsize * 8 != bits or argument.dtype.hasobject:
            raise PtxlabError(
                f"{what}: found {argument.dtype}, {8 * argument.dtype.itemsize} bits; the kernel takes "
                f"{parameter.type}"
            )
        kind = argument.dtype.kind
        is_number = kind in "biuf" or (kind == "V" and not isinstance(argument, np.void))
        fits = is_number and (kind in "fV") == is_float
        if parameter.type[0] == "b" and not is_float:  # bits of any kind
            fits = is_number or kind in "cV"
        if not fits:
            raise PtxlabError(f"{what}: found {argument.dtype}; the kernel takes {parameter.type}")
        return argument.tobytes()
    if isinstance(argument, bool):
        argument = int(argument)
    if isinstance(argument, float) or (isinstance(argument, int) and is_float):
        if not is_float:
            raise PtxlabError(
                f"{what}: found {quoted(argument)}; the kernel takes a whole number ({parameter.type})"
            )
        try:
            value = float(argument)
        except OverflowError:
            raise PtxlabError(f"{what}: {quoted(argument)} does not fit {parameter.type}") from None
        with np.errstate(over="ignore"):
            return np.array(value).astype(_FLOATS[parameter.type]).tobytes()
    if not isinstance(argument, int):
        takes = f"a number ({parameter.type})"
        if parameter.size == 8 and not is_float:
            takes = f"a NumPy array, or {takes}"
        raise PtxlabError(f"{what}: found {quoted(argument)}; the kernel takes {takes}")
    number = argument
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise PtxlabError(f"{what}: {quoted(number)} does not fit {parameter.type}")
    return (number & (1 << bits) - 1).to_bytes(parameter.size, "little")
