"""Arrays that are on the GPU already: CuPy's, torch's, and any with DLPack or CUDA's array interface.

They are read in place and on the caller's stream, without waiting, and results are of the same library.
cuda.core's `StridedMemoryView` reads DLPack; a kernel copies non-contiguous arrays on the device.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Literal

import numpy as np

from .._util.arguments import as_int
from ..errors import PtxlabError, listing, quoted
from ..memory.array_interface import ArrayLayout, gpu_layout
from .cuda_python import check, load
from .device import device_target
from .launcher import compiled, launch_function, load_function

Library = Literal["torch", "cupy", "other"]

_NAMES: dict[Library, str] = {"torch": "torch", "cupy": "CuPy", "other": "another library"}
#: dlpack.h, DLDeviceType: kDLCUDA and kDLCUDAManaged.
_DLPACK_DEVICES = (2, 13)
#: The default stream in CUDA's API and in DLPack.
_DEFAULT_STREAM = 0
_DLPACK_DEFAULT_STREAM = 1
_DLPACK_UNORDERED = -1
_MAX_AXES = 8
_BLOCK = 256
_MAX_BLOCKS = 4096

_GATHER = """\
// Elements of an array with any strides, one after the other.
struct Axes {{ long long size[{axes}], step[{axes}]; }};
extern "C" __global__ void gather(const unsigned char* from, {word}* to, Axes axes, long long count)
{{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {{
        long long rest = i, at = 0;
        for (int axis = {axes} - 1; axis >= 0; --axis) {{
            at += rest % axes.size[axis] * axes.step[axis];
            rest /= axes.size[axis];
        }}
        to[i] = *(const {word}*)(from + at);
    }}
}}
"""
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


@dataclass(frozen=True, eq=False)
class GpuArray:
    """An array in the GPU's memory: its address, its layout, and the object that owns it.

    `type_name` is NumPy's or ml_dtypes' name of the element type, e.g. `float8_e4m3fn`; strides are in bytes.

    >>> GpuArray(None, "other", (4, 8), (32, 4), 4, "float32", 1 << 32).contiguous
    True
    """

    owner: Any = field(repr=False)
    library: Library
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    type_name: str
    pointer: int  # the address of its first element
    #: The stream on which the owner last wrote it, from `__cuda_array_interface__`; None if it is not stated.
    producer: int | None = None
    device: int | None = None  # the number of the GPU, if the library states it

    @classmethod
    def of(
        cls,
        owner: Any,
        library: Library,
        layout: ArrayLayout,
        producer: int | None = None,
        device: int | None = None,
    ) -> GpuArray:
        """The array with a layout."""
        return cls(owner, library, *layout[:4], layout.pointer or 0, producer, device)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether its elements are contiguous, in C order."""
        step = self.itemsize
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length > 1 and stride != step:
                return self.size == 0
            step *= length
        return True


def as_gpu_array(value: Any, what: str = "array") -> GpuArray | None:
    """The array on the GPU; None for anything else: NumPy arrays, numbers, torch tensors on the CPU.

    >>> as_gpu_array(np.zeros(3)) is None
    True
    """
    if isinstance(value, np.ndarray | np.generic | list | tuple | int | float | str | bytes | type | None):
        return None
    library = _library(value)
    if library == "torch":
        return _from_torch(value, what)
    try:
        layout = gpu_layout(value)
    except PtxlabError as error:
        array = _from_dlpack(value, what)  # JAX has bfloat16 in DLPack, but no typestr for it
        if array is not None:
            return array
        raise PtxlabError(str(error).replace("array", what, 1) if what != "array" else str(error)) from None
    if layout is None:
        return _from_dlpack(value, what)
    if library == "cupy":
        return GpuArray.of(value, library, layout, device=int(value.device.id))
    stream = getattr(value, "__cuda_array_interface__", {}).get("stream")
    producer = None if stream is None else as_int(stream, f"{what}: stream")
    return GpuArray.of(value, library, layout, producer=producer)


def _from_torch(tensor: Any, what: str) -> GpuArray | None:
    """A tensor; its own attributes are faster than CUDA's array interface, and support every type."""
    if not tensor.is_cuda:
        return None
    if tensor.is_sparse:
        raise PtxlabError(f"{what}: found a sparse torch tensor; pass its values, or .to_dense()")
    if tensor.requires_grad:
        raise PtxlabError(f"{what}: found a torch tensor that requires a gradient; pass .detach()")
    size = tensor.element_size()
    strides = tuple(step * size for step in tensor.stride())
    name = str(tensor.dtype).removeprefix("torch.")
    shape, pointer, device = tuple(tensor.shape), tensor.data_ptr(), tensor.device.index
    return GpuArray(
        tensor,
        "torch",
        shape=shape,
        strides=strides,
        itemsize=size,
        type_name=name,
        pointer=pointer,
        device=device,
    )


def is_on_gpu(value: object) -> bool:
    """Whether it is an array on the GPU.

    >>> is_on_gpu(np.zeros(3))
    False
    """
    return as_gpu_array(value) is not None


def _library(value: object) -> Library:
    """The library of an array; a library that is not imported has none."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if _is_instance(value, torch, "Tensor"):
        return "torch"
    return "cupy" if _is_instance(value, cupy, "ndarray") else "other"


def _is_instance(value: object, module: ModuleType | None, name: str) -> bool:
    array_type = getattr(module, name, None)
    return isinstance(array_type, type) and isinstance(value, array_type)


def _from_dlpack(value: object, what: str) -> GpuArray | None:
    """An array that has only DLPack."""
    try:
        device, _ = value.__dlpack_device__()  # type: ignore[attr-defined]
    except Exception:  # not an array, or not on a GPU
        return None
    if int(device) not in _DLPACK_DEVICES:
        return None
    try:
        from_dlpack = load("cuda.core.utils").StridedMemoryView.from_dlpack
        view = from_dlpack(value, stream_ptr=_DLPACK_DEFAULT_STREAM)
        size = int(view.dtype.itemsize)
        shape = tuple(int(length) for length in view.shape)
        steps = view.strides
        strides = _packed(shape, size) if steps is None else tuple(int(step) * size for step in steps)
        name, pointer = view.dtype.name, int(view.ptr)
    except PtxlabError:
        raise
    except Exception as error:
        raise PtxlabError(
            f"{what}: its DLPack cannot be read ({' '.join(str(error).split())[:120]})"
        ) from None
    return GpuArray(
        (value, view),
        "other",
        shape=shape,
        strides=strides,
        itemsize=size,
        type_name=name,
        pointer=pointer,
        producer=_DEFAULT_STREAM,
    )


def _packed(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape)))


# -- the arrays of one call ------------------------------------------------------------------------------


def gpu_arrays(arguments: Mapping[str, object], stream: object = None) -> GpuArrays | None:
    """The arrays of one call, by name; None if none is on the GPU. Arguments that are None are left out.

    All must be of one library, on the first GPU; `stream` is a stream of any library, by default the
    library's current one.

    >>> gpu_arrays({"A": np.ones((16, 16)), "B": np.ones((16, 8)), "C": None}) is None
    True
    """
    values = {name: value for name, value in arguments.items() if value is not None}
    arrays = {name: as_gpu_array(value, name) for name, value in values.items()}
    present = {name: array for name, array in arrays.items() if array is not None}
    if not present:
        if stream is not None:
            raise PtxlabError(
                f"stream={quoted(stream)}: it is for arrays on the GPU; all of these are on the host"
            )
        return None
    first, library = next((name, array.library) for name, array in present.items())
    for name, array in arrays.items():
        if array is None:
            raise PtxlabError(
                f"{name} is {_on_host(values[name])} and {first} an array of {_NAMES[library]} on the "
                "GPU; pass all on the GPU, or all as NumPy arrays"
            )
        if array.library != library:
            raise PtxlabError(
                f"{name} is an array of {_NAMES[array.library]} and {first} one of {_NAMES[library]}; "
                "pass arrays of one library, since the result is of the same"
            )
    return GpuArrays(present, library, stream)


def _on_host(value: object) -> str:
    return "a NumPy array" if isinstance(value, np.ndarray) else f"on the host ({type(value).__name__})"


class GpuArrays:
    """Arrays of one library on one stream: makes results and copies, and launches kernels, without waiting.

    `arrays` has them by name, `library` is their library, `stream` the handle of the stream. Use it in a
    `with` statement: at its end, the memory of `scratch` and `contiguous` is freed in the stream's order.

    >>> with gpu_arrays({"A": A, "B": B}) as call:   # doctest: +SKIP
    ...     D = call.empty((128, 128), "float32")
    ...     a = call.contiguous(call.arrays["A"])
    ...     call.launch(source, "gemm", [a, D, np.int32(128)], grid=64, block=128)
    ...     return D.owner
    """

    def __init__(self, arrays: dict[str, GpuArray], library: Library, stream: object = None) -> None:
        self.arrays = arrays
        self.library = library
        device_target()
        self._driver = load("cuda.bindings.driver")
        load("cuda.core").Device(0).set_current()  # contexts belong to threads, and this thread may be new
        for name, array in arrays.items():
            self._check_device(name, array)
        self.stream = _current_stream(library) if stream is None else stream_handle(stream)
        self._scratch: list[int] = []
        for array in arrays.values():
            self._wait_for_producer(array)

    def __enter__(self) -> GpuArrays:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of `scratch` and `contiguous`, once the stream's work so far is done."""
        for pointer in self._scratch:
            with contextlib.suppress(Exception):  # after a fault, nothing can be freed
                self._driver.cuMemFreeAsync(self._driver.CUdeviceptr(pointer), self._handle)
        self._scratch = []

    @property
    def _handle(self) -> object:
        return self._driver.CUstream(self.stream)

    def _check_device(self, name: str, array: GpuArray) -> None:
        number = array.device
        if number is None and array.size:
            number = self._device_of(name, array)
        if number:
            raise PtxlabError(f"{name} is on GPU {number}; ptxlab works on GPU 0: move it there")

    def _device_of(self, name: str, array: GpuArray) -> int:
        attribute = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        (number,) = check(
            self._driver.cuPointerGetAttribute(attribute, self._driver.CUdeviceptr(array.pointer)),
            f"asking where {name} is",
        )
        return int(number)

    def _wait_for_producer(self, array: GpuArray) -> None:
        """Let this stream wait for the one that wrote the array, as CUDA's array interface requires."""
        if array.producer is not None:
            _order(array.producer, self.stream)

    def empty(self, shape: Sequence[int], type_name: str) -> GpuArray:
        """A new array of the same library; its `owner` is returned to the caller."""
        sizes = tuple(int(size) for size in shape)
        owner: object
        if self.library == "torch":
            torch = sys.modules["torch"]
            with _torch_stream(torch, self.stream):
                owner = torch.empty(sizes, dtype=getattr(torch, type_name), device="cuda:0")
        elif self.library == "cupy":
            cupy = sys.modules["cupy"]
            with cupy.cuda.Device(0), _cupy_stream(cupy, self.stream):
                owner = cupy.empty(sizes, dtype=type_name)
        else:
            owner = ResultArray(sizes, type_name, self.stream)
        array = as_gpu_array(owner)
        assert array is not None
        return array

    def scratch(self, size: int) -> int:
        """The address of `size` bytes that only this call uses."""
        (pointer,) = check(
            self._driver.cuMemAllocAsync(max(int(size), 1), self._handle),
            f"allocating {size} bytes of GPU memory",
        )
        self._scratch.append(int(pointer))
        return int(pointer)

    def contiguous(self, array: GpuArray, shape: Sequence[int] | None = None) -> GpuArray:
        """The array, broadcast to a shape, itself if it is contiguous, else as a copy on the device."""
        sizes = array.shape if shape is None else tuple(int(size) for size in shape)
        strides = (0,) * (len(sizes) - len(array.shape)) + tuple(
            0 if length == 1 else stride for length, stride in zip(array.shape, array.strides, strict=True)
        )
        view = replace(array, shape=sizes, strides=strides)
        if view.contiguous:
            return view
        lengths, steps = _merged(sizes, strides)
        if len(lengths) > _MAX_AXES:
            raise PtxlabError(
                f"an array on the GPU with {len(lengths)} non-contiguous axes: {_MAX_AXES} can be copied"
            )
        pointer = self.scratch(view.size * view.itemsize)
        missing = _MAX_AXES - len(lengths)
        axes = np.array([(1,) * missing + lengths, (0,) * missing + steps], dtype=np.int64)
        source = _GATHER.format(axes=_MAX_AXES, word=_WORDS[view.itemsize])
        self.launch(
            source,
            "gather",
            [np.uint64(view.pointer), np.uint64(pointer), axes.tobytes(), np.int64(view.size)],
            grid=min(-(-view.size // _BLOCK), _MAX_BLOCKS),
            block=_BLOCK,
        )
        return replace(view, strides=_packed(sizes, view.itemsize), pointer=pointer)

    def launch(
        self,
        source: str | bytes,
        name: str,
        arguments: Sequence[GpuArray | np.generic | bytes],
        *,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        shared: int = 0,
    ) -> None:
        """Queue a kernel, CUDA C++ or compiled code, on the stream. Scalars and structs go by value."""
        code = source if isinstance(source, bytes) else compiled(source, device_target())
        values = [_as_bytes(argument) for argument in arguments]
        blocks = (grid, 1, 1) if isinstance(grid, int) else grid
        threads = (block, 1, 1) if isinstance(block, int) else block
        launch_function(load_function(code, name), name, blocks, threads, shared, values, self.stream)


def _as_bytes(argument: GpuArray | np.generic | bytes) -> bytes:
    if isinstance(argument, GpuArray):
        return argument.pointer.to_bytes(8, sys.byteorder)
    return argument if isinstance(argument, bytes) else argument.tobytes()


def _merged(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same elements in the same order with as few axes as possible.

    >>> _merged((2, 3, 4, 5), (0, 80, 20, 4))   # the last three form one axis
    ((2, 60), (0, 4))
    """
    merged: list[tuple[int, int]] = []
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return tuple(size for size, _ in merged), tuple(stride for _, stride in merged)


# -- streams ---------------------------------------------------------------------------------------------


def stream_handle(stream: object) -> int:
    """The handle of a stream: torch's, CuPy's, any with `__cuda_stream__` (cuda.core's), or a number.

    >>> stream_handle(0)
    0
    """
    if isinstance(stream, int) and not isinstance(stream, bool):
        return _as_handle(stream, stream)
    for name in ("cuda_stream", "ptr"):  # torch.cuda.Stream, cupy.cuda.Stream
        handle = getattr(stream, name, None)
        if isinstance(handle, int) and not isinstance(stream, np.ndarray):
            return _as_handle(handle, stream)
    try:
        _, handle = stream.__cuda_stream__()  # type: ignore[attr-defined]
        return _as_handle(int(handle), stream)
    except PtxlabError:
        raise
    except Exception:
        raise PtxlabError(
            f"stream={quoted(stream)}: it takes a stream of torch, CuPy or cuda.core, or its handle"
        ) from None


def _as_handle(handle: int, stream: object) -> int:
    if not 0 <= handle < 1 << 64:
        raise PtxlabError(f"stream={quoted(stream)}: a handle is an address")
    return handle


def _order(first: int, then: int) -> None:
    """Let later work on the second stream wait for the work so far on the first."""
    first, then = (
        _DEFAULT_STREAM if handle == _DLPACK_DEFAULT_STREAM else handle for handle in (first, then)
    )
    if first == then:
        return
    driver = load("cuda.bindings.driver")
    flag = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
    (event,) = check(driver.cuEventCreate(int(flag)), "making an event")
    check(driver.cuEventRecord(event, driver.CUstream(first)), "recording an event")
    check(driver.cuStreamWaitEvent(driver.CUstream(then), event, 0), "waiting for an event")
    check(driver.cuEventDestroy(event), "freeing an event")


def _current_stream(library: Library) -> int:
    if library == "torch":
        return int(sys.modules["torch"].cuda.current_stream(0).cuda_stream)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream(0).ptr)
    return _DEFAULT_STREAM


@contextlib.contextmanager
def _torch_stream(torch: ModuleType, handle: int) -> Iterator[None]:
    """Make a stream torch's current one, so that its allocator does not reuse the memory too early."""
    if int(torch.cuda.current_stream(0).cuda_stream) == handle:
        yield
        return
    stream = torch.cuda.default_stream(0)
    if handle != _DEFAULT_STREAM:
        stream = torch.cuda.ExternalStream(handle, device="cuda:0")
    with torch.cuda.stream(stream):
        yield


@contextlib.contextmanager
def _cupy_stream(cupy: ModuleType, handle: int) -> Iterator[None]:
    if int(cupy.cuda.get_current_stream(0).ptr) == handle:
        yield
        return
    with cupy.cuda.Stream.null if handle == _DEFAULT_STREAM else cupy.cuda.ExternalStream(handle):
        yield


def launch_stream(arrays: dict[str, GpuArray], stream: int | None = None) -> int:
    """The stream for a kernel on these arrays: this one, or their libraries' current stream.

    The libraries may differ if their current streams are the same.
    """
    streams = {array.library: _current_stream(array.library) for array in arrays.values()}
    if stream is None and len(set(streams.values())) > 1:
        raise PtxlabError(
            f"arrays of {listing(_NAMES[library] for library in streams)}, whose current streams differ; "
            "pass stream="
        )
    handle = next(iter(streams.values())) if stream is None else stream
    return GpuArrays(arrays, next(iter(streams)), handle).stream


# -- results for libraries that ptxlab does not know -------------------------------------------------------


class ResultArray:
    """A result on the GPU for callers of any library with DLPack or CUDA's array interface.

    >>> D = ins.run(a, b, c)   # doctest: +SKIP
    >>> cupy.asarray(D), torch.from_dlpack(D)   # doctest: +SKIP
    """

    def __init__(self, shape: tuple[int, ...], type_name: str, stream: int) -> None:
        self.shape = shape
        self.dtype = np.dtype(type_name)
        self._stream = stream
        driver = load("cuda.bindings.driver")
        size = max(math.prod(shape) * self.dtype.itemsize, 1)
        (pointer,) = check(
            driver.cuMemAllocAsync(size, driver.CUstream(stream)), f"allocating {size} bytes of GPU memory"
        )
        self._pointer = int(pointer)
        self._size = size

    def __del__(self) -> None:
        pointer = getattr(self, "_pointer", 0)
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            if pointer:
                driver = load("cuda.bindings.driver")
                driver.cuMemFreeAsync(driver.CUdeviceptr(pointer), driver.CUstream(self._stream))

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._pointer, False),
            "strides": None,
            "stream": self._stream or _DLPACK_DEFAULT_STREAM,  # the interface forbids 0, like DLPack
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_DEVICES[0], 0

    def __dlpack__(self, **options: Any) -> object:
        consumer = options.get("stream")
        if consumer != _DLPACK_UNORDERED:
            _order(self._stream, _DEFAULT_STREAM if consumer is None else as_int(consumer, "stream"))
        buffer = load("cuda.core").Buffer.from_handle(self._pointer, self._size, owner=self)
        view = load("cuda.core.utils").StridedMemoryView.from_buffer(buffer, self.shape, dtype=self.dtype)
        return view.__dlpack__(**options)
