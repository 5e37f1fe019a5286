"""Arrays of other frameworks as memory of a simulated launch.

Frameworks pass a kernel an address and strides, so views that are not contiguous, or that share memory, are
as valid as whole arrays. No framework is imported here: anything with `data_ptr()` is a tensor.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .._util.arguments import check_room
from ..errors import PtxlabError, quoted
from ..memory import TensorMap, tensor_map
from ..memory.tensor_maps import as_stored
from ..simulator.launch_arguments import Pointer
from ..simulator.ptx.syntax import Function

#: Element types of tensor maps, in the order of CUtensorMapDataType.
MAP_TYPES = (
    "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16",
    "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B",
)  # fmt: skip
#: Swizzles, in the order of CUtensorMapSwizzle.
_MAP_SWIZZLES = (0, 32, 64, 128, "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B")
#: A launch keeps addresses modulo this: Triton and 16-byte accesses depend on it.
_ALIGNMENT = 16
_MAP_ALIGNMENT = 64  # of a CUtensorMap
_LOWEST_ADDRESS, _HIGHEST_ADDRESS = 1 << 16, 1 << 47  # of a process on Linux
_MAPPED = Path("/proc/self/maps")  # the mapped addresses of this process, sorted


def is_array(value: object) -> bool:
    """Whether a value is an array or a tensor, wherever it is.

    >>> is_array(np.zeros(3)), is_array(np.float32(1)), is_array(3)
    (True, False, False)
    """
    if isinstance(value, np.generic | type):
        return False
    if isinstance(value, np.ndarray):
        return True
    names = ("data_ptr", "__array_interface__", "__cuda_array_interface__")
    try:
        return any(hasattr(value, name) for name in names)
    except Exception:  # a foreign __getattr__ may raise anything
        return False


def host_array(value: Any) -> NDArray[Any]:
    """The memory of an array or of a CPU tensor as a NumPy array, without a copy.

    >>> x = np.arange(3)
    >>> host_array(x) is x
    True
    """
    if isinstance(value, np.ndarray):
        return value
    try:
        return _host_array(value)
    except PtxlabError:
        raise
    except Exception as error:  # it looks like a tensor, but is not one
        reason = quoted(f"{type(error).__name__}: {error}", 80)
        raise PtxlabError(f"found {quoted(value)}, whose memory cannot be found ({reason})") from error


def _host_array(value: Any) -> NDArray[Any]:
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
    """NumPy's type for a name such as ``torch.bfloat16``; two packed 4-bit numbers are a byte.

    >>> numpy_type("torch.bfloat16"), numpy_type("float32"), numpy_type("torch.float4_e2m1fn_x2")
    (dtype(bfloat16), dtype('float32'), dtype('uint8'))
    """
    if isinstance(name, np.dtype):
        return name
    plain = str(name).rpartition(".")[2]
    if plain == "float4_e2m1fn_x2":
        return np.dtype(np.uint8)
    try:
        return np.dtype(getattr(ml_dtypes, plain, plain))
    except TypeError:
        raise PtxlabError(f"a tensor of {quoted(plain)}: NumPy has no such type") from None


def array_at(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], element: np.dtype[Any]
) -> NDArray[Any]:
    """The array at an address of this process; strides are in bytes and not negative."""
    if not address or 0 in shape:
        return np.zeros(shape, element)
    size = element.itemsize + sum((count - 1) * step for count, step in zip(shape, strides, strict=True))
    where = (
        f"an array at the address {hex(address)}, sizes {quoted(shape)}, strides of {quoted(strides)} bytes"
    )
    if min((*shape, *strides), default=0) < 0:
        raise PtxlabError(f"{where}: sizes and strides must not be negative")
    if not 0 < address <= address + size < 1 << 63:
        raise PtxlabError(f"{where}: no memory is there")
    memory = memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B")
    return np.ndarray(shape, element, memory, strides=strides)


def map_of_memory(
    data_type: str,
    address: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: int = 0,
    fill: int = 0,
    steps: Sequence[int] | None = None,
) -> TensorMap:
    """As cuTensorMapEncodeTiled: the innermost axis comes first, and has no stride.

    `swizzle` and `fill` are the driver's enums.

    >>> x = np.zeros((4, 32), dtype=np.uint8)
    >>> packed = map_of_memory("16U4_ALIGN8B", x.ctypes.data, (64, 4), (32,), (64, 2))
    >>> packed.array.shape, packed.box
    ((4, 32), (2, 64))
    """
    element, shape = as_stored(data_type, tuple(int(size) for size in sizes)[::-1])
    bytes_between = (element.itemsize, *(int(step) for step in strides))
    array = array_at(int(address), shape, bytes_between[::-1], element)
    return tensor_map(
        array,
        tuple(int(size) for size in box)[::-1],
        _MAP_SWIZZLES[int(swizzle)],
        element_strides=None if steps is None else tuple(int(step) for step in steps)[::-1],
        fill="nan" if int(fill) else "zero",
        data_type=data_type,
    )


def launch_arguments(arguments: Sequence[object]) -> list[object]:
    """Arguments of a launch, with pointers in place of arrays that the simulator does not take directly.

    These are views that are not contiguous, and arrays that share a part of their memory. Addresses keep
    their remainder modulo 16. An array of 64-bit integers, or of bytes, may hold addresses of other arrays,
    e.g. the matrices of a grouped product: the kernel can access those that are alive.

    >>> x = np.arange(8, dtype=np.int32)
    >>> [type(value).__name__ for value in launch_arguments([x, x, 3])]
    ['ndarray', 'ndarray', 'int']
    >>> [value.offset for value in launch_arguments([x[4:], x])]
    [16, 0]
    """
    values: list[object] = []  # including the members of structs
    for argument in arguments:
        values += argument if isinstance(argument, tuple) else (argument,)
    tables = {
        number: memory
        for number, value in enumerate(values)
        if (memory := _possible_table(value)) is not None
    }
    reached = _reached(list(tables.values())) if tables else []
    passed = _as_pointers([*values, *reached])
    if reached:
        memories = tuple(
            argument.memory
            if isinstance(argument, Pointer)
            else np.asarray(argument).reshape(-1).view(np.uint8)
            for argument in passed[len(values) :]
        )
        for number in tables:
            table = passed[number]
            if not isinstance(table, Pointer):
                table = Pointer(np.asarray(table).reshape(-1).view(np.uint8), 0)
            passed[number] = replace(table, reaches=memories)
    following = iter(passed)
    return [
        tuple(islice(following, len(argument))) if isinstance(argument, tuple) else next(following)
        for argument in arguments
    ]


def _as_pointers(arguments: Sequence[object]) -> list[object]:
    """Arguments with pointers in place of arrays that are not contiguous, or that share memory."""
    passed = list(arguments)
    arrays = {
        number: argument
        for number, argument in enumerate(arguments)
        if isinstance(argument, np.ndarray) and argument.ndim and argument.size
    }
    for low, high, numbers in _joined_spans(arrays):
        group = [arrays[number] for number in numbers]
        if all(array.flags.c_contiguous and array.nbytes == high - low for array in group):
            continue
        memory = array_at(low, (high - low,), (1,), np.dtype(np.uint8))
        memory.flags.writeable = any(array.flags.writeable for array in group)
        for number in numbers:
            passed[number] = Pointer(memory, arrays[number].ctypes.data - low, low % _ALIGNMENT)
    return passed


def _joined_spans(arrays: Mapping[int, NDArray[Any]]) -> Iterator[tuple[int, int, list[int]]]:
    """Spans of memory that arrays share, directly or through others: start, end, and the arrays' keys."""
    spans = sorted((*np.lib.array_utils.byte_bounds(array), key) for key, array in arrays.items())
    while spans:
        low, high, key = spans.pop(0)
        keys = [key]
        while spans and spans[0][0] < high:
            _, end, key = spans.pop(0)
            high = max(high, end)
            keys.append(key)
        yield low, high, keys


def _possible_table(argument: object) -> NDArray[np.uint64] | None:
    """The words of an argument that may be addresses; None if it has none."""
    if isinstance(argument, Pointer):
        argument = argument.memory
    if not isinstance(argument, np.ndarray) or not argument.ndim or argument.dtype.kind not in "iu":
        return None
    if argument.dtype.itemsize not in (1, 8):
        return None
    check_room(argument.size, "an array")
    content = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
    chosen = _possible_addresses(content[: content.size // 8 * 8].view(np.uint64))
    return chosen if chosen.size else None


def _possible_addresses(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The words that may be addresses of this process; pairs of small 32-bit numbers mostly are not."""
    chosen = np.unique(words[(words >= _LOWEST_ADDRESS) & (words < _HIGHEST_ADDRESS)])
    if not chosen.size or not _MAPPED.exists():
        return chosen
    spans = [line.partition(" ")[0].split("-") for line in _MAPPED.read_text(encoding="utf-8").splitlines()]
    edges = np.array([int(edge, 16) for span in spans for edge in span if int(edge, 16) < _HIGHEST_ADDRESS])
    mapped = np.searchsorted(edges.astype(np.uint64), chosen, side="right") % 2 == 1
    return np.asarray(chosen[mapped])


def _reached(tables: Sequence[NDArray[np.uint64]]) -> list[NDArray[np.uint8]]:
    """The memory of live arrays that contain one of these addresses."""
    addresses = np.unique(np.concatenate(tables))
    reached = {}
    for array in _alive():
        low, high = np.lib.array_utils.byte_bounds(array)
        position = int(np.searchsorted(addresses, low))
        if position < addresses.size and addresses[position] < high:
            reached[low, high] = array_at(low, (high - low,), (1,), np.dtype(np.uint8))
            reached[low, high].flags.writeable = array.flags.writeable
    return list(reached.values())


def _alive() -> Iterator[NDArray[Any]]:
    """All NumPy arrays, and torch tensors on the CPU, that are referenced by Python objects."""
    frame: FrameType | None = sys._getframe(1)
    variables: list[Any] = []  # local variables of the running functions
    while frame is not None:
        variables += frame.f_locals.values()
        frame = frame.f_back
    torch = sys.modules.get("torch")
    tensors: Any = () if torch is None else torch.Tensor
    others: set[int] = set()  # ids of other types; some types are not hashable
    for container in (*gc.get_objects(), *variables, variables):  # local variables come last
        for value in gc.get_referents(container):
            kind = type(value)  # isinstance would call the object, which may be a proxy
            if id(kind) in others:
                continue
            if issubclass(kind, np.ndarray):
                if value.size and not value.dtype.hasobject:
                    yield value
            elif issubclass(kind, tensors):
                with suppress(PtxlabError, RuntimeError, NotImplementedError):  # no memory, or on a GPU
                    yield host_array(value)
            else:
                others.add(id(kind))


class HostMemory:
    """Arrays of the host by address, for launches whose parameters are known only as bytes.

    A word that is an address in one of the arrays, or with `search` in any live array, is a pointer into it.
    `as_map` decodes 128 bytes that begin with such an address as a tensor map, or returns None.

    >>> x = np.arange(4, dtype=np.float32)
    >>> content = (x.ctypes.data + 8).to_bytes(8, "little") + bytes(8)
    >>> pointer, rest = HostMemory([x]).struct(content)
    >>> pointer.offset, rest
    (8, b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """

    def __init__(
        self,
        arrays: Sequence[NDArray[Any]],
        as_map: Callable[[bytes], TensorMap | None] | None = None,
        search: bool = False,
    ) -> None:
        self._as_map, self._searches = as_map, search
        self._blocks: list[tuple[int, NDArray[np.uint8]]] = []
        self._add(arrays)

    def _add(self, arrays: Sequence[NDArray[Any]]) -> None:
        everything = [array for array in (*(memory for _, memory in self._blocks), *arrays) if array.size]
        self._blocks = [
            (low, array_at(low, (high - low,), (1,), np.dtype(np.uint8)))
            for low, high, _ in _joined_spans(dict(enumerate(everything)))
        ]

    def pointer(self, address: int) -> Pointer | None:
        """A pointer to an address; None if no array contains it."""
        for low, memory in self._blocks:
            if low <= address < low + memory.size:
                return Pointer(memory, address - low, low % _ALIGNMENT)
        return None

    def struct(self, content: bytes, alignment: int = 8) -> tuple[object, ...]:
        """The members of a struct: pointers, tensor maps, and the bytes between them."""
        members: list[object] = []
        begin = offset = 0
        while offset + 8 <= len(content):
            size = 8
            member: object = self.pointer(int.from_bytes(content[offset : offset + 8], "little"))
            if member is None:
                offset += 8
                continue
            may_be_map = alignment >= _MAP_ALIGNMENT and offset % _MAP_ALIGNMENT == 0
            if may_be_map and self._as_map is not None and offset + 128 <= len(content):
                tensor = self._as_map(content[offset : offset + 128])
                member, size = (member, 8) if tensor is None else (tensor, 128)
            if begin < offset:
                members.append(content[begin:offset])
            members.append(member)
            begin = offset = offset + size
        if begin < len(content):
            members.append(content[begin:])
        return tuple(members)

    def arguments(self, function: Function, contents: Sequence[bytes | TensorMap]) -> list[object]:
        """The arguments of a kernel from the bytes of each parameter; tensor maps are passed on."""
        if self._searches:
            whole_words = b"".join(
                content[: len(content) // 8 * 8] for content in contents if isinstance(content, bytes)
            )
            addresses = _possible_addresses(np.frombuffer(whole_words, np.uint64)).tolist()
            unknown = [address for address in addresses if self.pointer(address) is None]
            self._add(_reached([np.array(unknown, np.uint64)]) if unknown else [])
        arguments: list[object] = []
        for parameter, content in zip(function.parameters, contents, strict=True):
            if isinstance(content, TensorMap):
                arguments.append(content)
                continue
            members = self.struct(content, parameter.align)
            single = len(members) == 1
            if parameter.array and not (single and isinstance(members[0], TensorMap)):
                arguments.append(members[0] if single and isinstance(members[0], bytes) else members)
            elif single and not isinstance(members[0], bytes):
                arguments.append(members[0])
            else:
                kind = "f" if parameter.type.startswith("f") else "u"
                arguments.append(np.frombuffer(content, f"{kind}{len(content)}")[0])
        return arguments
