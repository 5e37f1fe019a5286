"""Numba's CUDA kernels on the simulator: launches for `ptxlab.simulating`, and kernels from its dispatchers.

Tried with numba-cuda 0.30.4 and with the CUDA target of numba 0.68.1. Numba compiles for a GPU through
libNVVM, with the lines of the Python source. A session replaces in Numba: `CUDADispatcher.call`, `compile`
(for declared signatures) and `overloads`, `ForAll.__call__`, the functions of `numba.cuda` that describe the
device or make streams and arrays, which are then in the host's memory, how ufuncs broadcast these arrays, and
the warning about small grids. Events need a GPU.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numba import cuda
from numba.cuda import codegen, compiler, vectorizers
from numba.cuda import dispatcher as numba_dispatcher

from .._util.arguments import as_int, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..gpu.compiler import compile_ptx
from ..simulator import Result
from ..simulator.events import Access, Observer
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.module_image import variable_title
from ..simulator.timing.launch_profile import LaunchProfile
from .framework_session import (
    Former,
    Patch,
    Session,
    attributes_replaced,
    current_session,
    in_session,
    install_patches,
)
from .host_arrays import array_at, host_array, is_array, launch_arguments
from .python_source import python_source

_COMPILED: WeakKeyDictionary[Any, dict[Any, Overload]] = WeakKeyDictionary()  # by types and chip
#: Argument types of the signatures passed to `cuda.jit` inside a session.
_DECLARED: WeakKeyDictionary[Any, list[tuple[Any, ...]]] = WeakKeyDictionary()
_THREADS_FOR_ALL = 256  # threads of a block in `forall`, by default
_MAX_CAPTURED = 8  # contents of captured device arrays for which a kernel is kept
#: Where a kernel of `debug=True` stores its exception.
_EXCEPTION_VARIABLES = ("errcode", *(f"{special}{axis}" for special in ("tid", "ctaid") for axis in "xyz"))
#: Objects of numba-cuda that hold code to link with, as the suffixes of files.
_LINKED_OBJECTS = {"CUSource": ".cu", "PTXSource": ".ptx"}


class NumbaKernel:
    """A kernel of `numba.cuda.jit`, as `ptxlab.kernel(dispatcher)` makes it.

    Without a signature, it is compiled for the types of the arguments, as Numba does. ::

        result = ptxlab.kernel(add, "void(float32[::1], float32[::1])").simulate(8, 128, x, y)
    """

    def __init__(self, dispatcher: Any, signature: object, capability: tuple[int, int]) -> None:
        self._dispatcher, self._capability = dispatcher, capability
        if not is_a(dispatcher, numba_dispatcher.CUDADispatcher):
            raise PtxlabError(f"source: found {quoted(dispatcher)}, which is no kernel of numba.cuda.jit")
        if dispatcher.targetoptions.get("device"):
            raise PtxlabError(f"{self.name} is a function of the device: call it from a kernel")
        self._types: tuple[Any, ...] | None = None
        if signature is not None:
            try:
                types, _ = numba_dispatcher.sigutils.normalize_signature(signature)
            except (Exception, SystemExit) as error:  # Numba evaluates the text
                reason = quoted(f"{type(error).__name__}: {error}", 80)
                raise PtxlabError(
                    f"name={quoted(signature)}: a kernel of Numba takes a signature, such as "
                    f"'void(float32[::1], int32)' ({reason})"
                ) from None
            self._types = tuple(types)
            _compiled(dispatcher, self._types, capability).built()

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return str(self._dispatcher.py_func.__name__)

    def __repr__(self) -> str:
        types = "" if self._types is None else f"({', '.join(map(str, self._types))})"
        return f"<Numba's kernel {self.name}{types}>"

    def simulate(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        **options: Any,
    ) -> Result:
        """Run the kernel without a GPU, as ``kernel[grid, block](*arguments)`` does on one.

        Options are those of `Kernel.simulate`: `check`, `trace`, `show`, ...
        """
        launch = self.prepared(arguments)
        if launch.observers:
            options["observers"] = [*options.get("observers", ()), *launch.observers]
        ptx_arguments = launch_arguments(launch.arguments)
        result = launch.kernel.simulate(grid, block, *ptx_arguments, shared=shared, **options)
        launch.finish()
        return result

    def profile(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        chip: str = "H200",
    ) -> LaunchProfile:
        """The predicted time of a launch; see `Kernel.profile`."""
        launch = self.prepared(arguments)
        ptx_arguments = launch_arguments(launch.arguments)
        return launch.kernel.profile(grid, block, *ptx_arguments, shared=shared, chip=chip)

    def prepared(self, arguments: Sequence[object], stream: object = 0) -> _Launch:
        """The kernel for these arguments, with the arguments of its PTX."""
        values = [_on_host(argument) for argument in arguments]
        declared = _DECLARED.get(self._dispatcher, ())
        if self._types is not None:
            declared = [self._types]
            if len(self._types) != len(values):
                expected = counted(len(self._types), "argument")
                raise PtxlabError(f"{self.name} takes {expected}, found {len(values)}")
        types = _matching(self._dispatcher, declared, tuple(self._types_of(values)))
        overload = _compiled(self._dispatcher, types, self._capability)
        kernel = overload.built()
        ptx_arguments: list[object] = []
        names = list(inspect.signature(self._dispatcher.py_func).parameters)
        numbers: list[str] = []  # the Python argument that each argument of the PTX is a part of
        extended = _Extensions(overload.extensions, stream, [])
        for number, (kind, argument) in enumerate(zip(types, arguments, strict=True), 1):
            ptx_arguments += _flattened(kind, argument, extended, f"argument {number} of {self.name}")
            name = names[min(number, len(names)) - 1]  # the last name may be that of *args
            numbers += [f"{number}, {name}"] * (len(ptx_arguments) - len(numbers))
        kernel.argument_numbers = tuple(numbers)
        observers = [_Exceptions(overload, kernel.name)] if overload.debug else []
        return _Launch(kernel, ptx_arguments, observers, extended.retrievals)

    def _types_of(self, values: Sequence[object]) -> Iterator[Any]:
        """Numba's types of these arguments."""
        for number, value in enumerate(values, 1):
            try:
                kind = self._dispatcher.typeof_pyval(value)
            except Exception:  # Numba inspects unknown objects, which may raise anything
                kind = None
            if kind is None:
                raise PtxlabError(
                    f"argument {number} of {self.name}: found {quoted(value)}, for which Numba has no type"
                )
            yield kind


def _matching(
    dispatcher: Any, signatures: Sequence[tuple[Any, ...]], types: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The signature that fits these argument types best, by Numba's rules; without signatures, the types."""
    declared = [signature for signature in signatures if len(signature) == len(types)]
    if not declared:
        return types
    steps = {}
    for signature in declared:
        conversions = [dispatcher.typingctx.can_convert(*pair) for pair in zip(types, signature, strict=True)]
        if None not in conversions:
            steps[signature] = sorted((int(step) for step in conversions), reverse=True)
    if not steps:
        texts = [f"({', '.join(map(str, kinds))})" for kinds in (*declared, types)]
        raise PtxlabError(
            f"{dispatcher.py_func.__name__} is declared for {listing(texts[:-1])}, found {texts[-1]}"
        )
    return min(steps, key=steps.__getitem__)


def _on_host(value: Any) -> Any:
    """A value without `cuda.In`, `cuda.Out` and `cuda.InOut`, with arrays as NumPy's."""
    if any(base.__name__ == "ArgHint" for base in type(value).__mro__):
        value = value.value
    if type(value) is tuple:
        return tuple(_on_host(item) for item in value)
    return np.asarray(host_array(value)) if is_array(value) else value


def _is_input(argument: Any) -> bool:
    """Whether an argument is `cuda.In` of an array that is not on the device yet."""
    return type(argument).__name__ == "In" and not isinstance(argument.value, DeviceArray)


class _Extensions(NamedTuple):
    """The extensions of `cuda.jit`, which change arguments, and the functions to call after a launch."""

    extensions: Sequence[Any]
    stream: object
    retrievals: list[Callable[[], object]]

    def applied(self, kind: Any, argument: Any) -> tuple[Any, Any]:
        for extension in reversed(self.extensions):
            kind, argument = extension.prepare_args(kind, argument, stream=self.stream, retr=self.retrievals)
        return kind, argument


def _flattened(kind: Any, argument: Any, extended: _Extensions, what: str) -> Iterator[object]:
    """An argument as parameters of the PTX, as `_prepare_args` of Numba's kernels does."""
    kind, argument = extended.applied(kind, argument)
    value = _on_host(argument)
    if isinstance(value, np.ndarray | np.void) and _is_input(argument):
        value = np.asarray(value).copy("K")  # the kernel's writes are not copied back
    if isinstance(value, np.ndarray) and hasattr(kind, "ndim"):
        memory = value if value.ndim else value.reshape(1)
        yield from (0, 0, value.size, value.itemsize, memory, *value.shape, *value.strides)
    elif isinstance(value, np.void):  # a record, which the kernel may write
        yield array_at(np.frombuffer(value, np.uint8).ctypes.data, (value.nbytes,), (1,), np.dtype(np.uint8))
    elif isinstance(value, np.ndarray):  # the copy of a record
        yield value.reshape(1).view(np.uint8)
    elif isinstance(value, Enum):
        yield from _flattened(kind.dtype, value.value, extended, what)
    elif isinstance(value, np.datetime64 | np.timedelta64):
        yield value.view(np.int64)
    elif isinstance(value, tuple):
        items = argument if isinstance(argument, tuple) else value
        for number, (inner, item) in enumerate(zip(kind, items, strict=True)):
            yield from _flattened(inner, item, extended, f"{what}[{number}]")
    else:
        name = "uint8" if str(kind).startswith("bool") else str(kind)
        try:
            scalar = np.array(value).astype(name)[()]
        except (TypeError, ValueError):
            raise PtxlabError(
                f"{what}: found {quoted(value)}, {kind} for Numba; simulated are arrays, numbers and tuples"
            ) from None
        if scalar.dtype.kind == "c":
            yield from (scalar.real, scalar.imag)
        else:
            yield (scalar,) if scalar.dtype == np.float16 else scalar


class _Exceptions(Observer):
    """The exception that a kernel of `debug=True` raised, which it stores in variables of its module."""

    def __init__(self, overload: Overload, name: str) -> None:
        self._overload = overload
        self._names = {variable_title(f"{name}__{variable}__"): variable for variable in _EXCEPTION_VARIABLES}
        self._variables: dict[str, Any] = {}  # bytes of those that were written

    def accessed(self, access: Access) -> None:
        """Keep the memory of these variables, to read it after the launch."""
        for buffer_access in access.buffer_accesses:
            if buffer_access.title in self._names:
                self._variables[self._names[buffer_access.title]] = buffer_access.data

    def check(self) -> None:
        """Raise what the kernel raised, as `_Kernel.launch` of Numba does."""
        values = {name: int(data.view(np.int32)[0]) for name, data in self._variables.items()}
        if not values.get("errcode"):
            return
        kind, arguments, place = self._overload.call_helper.get_exception(values["errcode"])
        thread, block = ([values[f"{special}{axis}"] for axis in "zyx"] for special in ("tid", "ctaid"))
        message = f"tid={thread} ctaid={block}"
        if place is not None:
            function, path, line = place
            message = f"In function {function!r}, file {Path(path).absolute()}, line {line}, {message}"
        if not arguments:
            raise kind(message)
        raise kind(f"{message}: {arguments[0]}", *arguments[1:])


@dataclass(frozen=True)
class _Launch:
    """A kernel, the arguments of its PTX, and what to do after the launch."""

    kernel: Kernel
    arguments: list[object]
    observers: list[_Exceptions]
    retrievals: list[Callable[[], object]]

    def finish(self) -> None:
        """Raise what the kernel raised, or let extensions fetch what it wrote."""
        for observer in self.observers:
            observer.check()
        for retrieve in self.retrievals:
            retrieve()


class Overload(numba_dispatcher._Kernel):  # type: ignore[misc]
    """A kernel that Numba compiled for arguments of some types, and for a chip that is simulated."""

    def __init__(
        self, dispatcher: Any, types: tuple[Any, ...], capability: tuple[int, int], lines: bool
    ) -> None:
        options = dispatcher.targetoptions
        link = list(options.get("link") or ())  # Numba adds to it
        super().__init__(dispatcher.py_func, types, **options | {"lineinfo": lines, "link": link})
        self._capability = capability
        self._built: Kernel | None = None
        library = self._codelibrary
        separate = hasattr(library, "get_asm_strs")  # numba-cuda: a module for each function in debug mode
        self.texts = library.get_asm_strs(capability) if separate else [library.get_asm_str(capability)]

    def built(self) -> Kernel:
        """The kernel with the modules it is linked with, as an ordinary kernel of PTX."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> Kernel:
        ptx, *others = map(str, self.texts)
        target = f"sm_{10 * self._capability[0] + self._capability[1]}"
        code = sorted(self._codelibrary._linking_files, key=str)
        link = [*others, *(_linked_text(text, target) for text in code), *_grid_functions(self.texts, target)]
        return build_kernel(
            ptx, link=link,
            origin=python_source(self.py_func, ptx), title=self.py_func.__name__, language="Numba",
        )  # fmt: skip

    def max_cooperative_grid_blocks(self, blockdim: int | tuple[int, ...], dynsmemsize: int = 0) -> int:
        """How many blocks of this size run at a time on the session's chip."""
        session = current_session()
        if session is None:
            return int(super().max_cooperative_grid_blocks(blockdim, dynsmemsize))
        fits = self.built().occupancy(blockdim, shared=dynsmemsize, chip=session.chip)
        return fits.blocks * session.peaks.sms


def _compiled(dispatcher: Any, types: tuple[Any, ...], capability: tuple[int, int]) -> Overload:
    """The kernel that Numba compiles for arguments of these types; cached."""
    overloads = _COMPILED.setdefault(dispatcher, {})
    key = (types, capability, _captured(dispatcher.py_func))
    overload = overloads.get(key)
    if overload is None:
        lines = not dispatcher.targetoptions.get("debug")
        device = SimpleNamespace(compute_capability=capability)
        # Functions that the kernel calls are compiled for the current device, too.
        changes: list[tuple[Any, str, Any]] = [
            (numba_dispatcher, "get_current_device", lambda: device),
            (codegen.CUDACodeLibrary, "_ensure_cc", lambda self, cc: cc or capability),
        ]
        try:
            with attributes_replaced(changes):
                if key in overloads:  # compiled in another thread
                    return overloads[key]
                try:
                    overload = Overload(dispatcher, types, capability, lines)
                except ZeroDivisionError:  # Numba's debug information for empty tuples
                    overload = Overload(dispatcher, types, capability, False)
                overloads[key] = overload
                others = [other for other in overloads if other[:2] == key[:2]]
                for oldest in others[:-_MAX_CAPTURED]:
                    del overloads[oldest]
        except Exception as error:
            if isinstance(error, TypeError):  # e.g. too few types for the function
                reason = quoted(str(error), 120)
                raise PtxlabError(
                    f"{dispatcher.py_func.__name__}: Numba does not compile it, {reason}"
                ) from None
            if "NVVM" not in str(error) and "libnv" not in str(error):
                raise
            raise PtxlabError(
                "Numba finds no compiler for GPUs: pip install nvidia-cuda-nvcc nvidia-cuda-nvrtc, or set "
                f"CUDA_HOME ({' '.join(str(error).split())[:120]})"
            ) from None
    return overload


def _captured(function: Any) -> tuple[bytes, ...]:
    """The contents of device arrays that a function captures.

    For a GPU, Numba captures their addresses; here they are constants, so changed contents need a new kernel.
    """
    outside = inspect.getclosurevars(function)
    values = (*outside.nonlocals.values(), *outside.globals.values())
    return tuple(value.tobytes() for value in values if isinstance(value, DeviceArray))


#: Replaces the functions of cudadevrt that `grid.sync()` calls. They are renamed to the library's names after
#: compilation, since the header declares those differently.
_GRID = """
#include <cooperative_groups.h>
extern "C" __device__ unsigned long long ptxlabGetIntrinsicHandle(unsigned) { return 1; }
extern "C" __device__ int ptxlabSynchronize(unsigned long long, unsigned) {
  cooperative_groups::this_grid().sync();
  return 0;
}
"""


def _grid_functions(texts: Sequence[str], target: str) -> list[str]:
    """PTX of the functions that `grid.sync()` calls, if one of these modules needs them."""
    if not any(re.search(r"\.extern \.func\s+(?:\(.*?\)\s*)?cudaCG", text) for text in texts):
        return []
    text = _as_ptx(_GRID, target)
    return [text.replace("ptxlabGet", "cudaCGGet").replace("ptxlabSync", "cudaCGSync")]


def _as_ptx(source: str, target: str) -> str:
    """The PTX of CUDA C++ that is linked with a kernel."""
    folders = getattr(numba_dispatcher.config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", "").split(":")
    options = [f"--include-path={folder}" for folder in folders if folder]
    return compile_ptx(source, target, ["--relocatable-device-code=true", *options])[0]


def _linked_text(code: Any, target: str) -> str:
    """The PTX of linked code, given as a path or as an object of numba-cuda such as `cuda.CUSource`."""
    if isinstance(code, str | PathLike):
        name, kind = Path(code).name, Path(code).suffix.lower()
    else:
        name, kind = str(code.name), _LINKED_OBJECTS.get(type(code).__name__, "")
    if kind not in _LINKED_OBJECTS.values():
        raise PtxlabError(
            f"link: found {quoted(name)}; simulated are CUDA C++ (.cu, cuda.CUSource) and PTX (.ptx, "
            "cuda.PTXSource), no machine code and no LTO-IR"
        )
    setup = getattr(code, "setup_callback", None)
    if setup is not None and not setup.__module__.startswith("numba."):
        raise PtxlabError(f"link: {name} has a setup_callback, which takes a module that a GPU has loaded")
    data = Path(code).read_bytes() if isinstance(code, str | PathLike) else code.data
    text = data.decode() if isinstance(data, bytes) else str(data)
    return _as_ptx(text, target) if kind == ".cu" else text


class DeviceArray(np.ndarray[Any, Any]):
    """An array from `cuda.to_device` or `cuda.device_array`; it is in the memory of the host."""

    def copy_to_host(self, ary: Any = None, stream: object = 0) -> Any:
        """A copy, or its values in another array."""
        if ary is None:
            return np.array(self)
        np.copyto(ary, self)
        return ary

    def copy_to_device(self, ary: Any, stream: object = 0) -> None:
        """Take the values of another array."""
        np.copyto(self, host_array(ary))

    def split(self, section: int, stream: object = 0) -> list[Any]:
        """Parts of that many elements; the last may have fewer."""
        return [self[start : start + section] for start in range(0, len(self), section)]

    def __array_wrap__(self, array: Any, context: object = None, return_scalar: bool = False) -> Any:
        """Results of NumPy are ordinary arrays, so that `(x == y).all()` has a value."""
        return array if array is self else np.asarray(array)[()]

    def __bool__(self) -> bool:
        """As for an array on a GPU, which has a length but no value."""
        return self.ndim == 0 or len(self) > 0


class _Stream:
    """The result of `cuda.stream()`; all work is done when a call returns."""

    handle = 0

    def __bool__(self) -> bool:
        """False, like the 0 that Numba uses for the default stream."""
        return False

    def synchronize(self) -> None:
        """Wait for nothing."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[_Stream]:
        """A context at whose end the work of the stream is done."""
        yield self


def _current_device() -> SimpleNamespace:
    """The attributes of a device that programs use."""
    session = current_session()
    assert session is not None
    return SimpleNamespace(
        name=session.chip.encode(),
        id=0,
        compute_capability=session.capability,
        MULTIPROCESSOR_COUNT=session.peaks.sms,
        WARP_SIZE=32,
        MAX_THREADS_PER_BLOCK=1024,
        MAX_BLOCK_DIM_X=1024,
        MAX_BLOCK_DIM_Y=1024,
        MAX_BLOCK_DIM_Z=64,
        MAX_GRID_DIM_X=2**31 - 1,
        MAX_GRID_DIM_Y=65535,
        MAX_GRID_DIM_Z=65535,
        MAX_SHARED_MEMORY_PER_BLOCK=48 << 10,
    )


def _to_device(obj: Any, stream: object = 0, copy: bool = True, to: Any = None) -> Any:
    array = np.array(host_array(obj) if is_array(obj) else obj)
    if to is not None:
        to.copy_to_device(array)
        return to
    return (array if copy else np.empty_like(array)).view(DeviceArray)


def _device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", stream: object = 0
) -> Any:
    if not strides:
        return np.zeros(shape, dtype, order).view(DeviceArray)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    steps = (strides,) if isinstance(strides, int) else tuple(strides)
    if len(steps) != len(sizes) or min(steps, default=0) < 0:
        raise PtxlabError(f"strides={quoted(strides)}: it takes a number of bytes from 0 on for each axis")
    element = np.dtype(dtype)
    extent = element.itemsize + sum(max(size - 1, 0) * step for size, step in zip(sizes, steps, strict=True))
    return np.ndarray(sizes, element, np.zeros(extent, np.uint8), strides=steps).view(DeviceArray)


def _device_array_like(ary: Any, stream: object = 0) -> Any:
    return np.zeros_like(host_array(ary)).view(DeviceArray)


def _as_cuda_array(obj: Any, sync: bool = True) -> Any:
    return host_array(obj).view(DeviceArray)


def _broadcast(self: Any, ary: Any, shape: int | tuple[int, ...]) -> Any:
    """A device array in another shape, for Numba's ufuncs; it stays writable, as a kernel may declare it."""
    shaped = np.broadcast_to(ary, shape)
    return np.lib.stride_tricks.as_strided(ary, shaped.shape, shaped.strides, subok=True)


#: Replacements for functions of `numba.cuda` about a GPU and its memory.
_HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "to_device": _to_device,
    "device_array": _device_array,
    "device_array_like": _device_array_like,
    "pinned_array": _device_array,
    "pinned_array_like": _device_array_like,
    "mapped_array": _device_array,
    "mapped_array_like": _device_array_like,
    "managed_array": _device_array,
    "is_cuda_array": lambda obj: isinstance(obj, DeviceArray),
    "as_cuda_array": _as_cuda_array,
    "synchronize": lambda: None,
    "is_available": lambda: True,
    "get_current_device": _current_device,
    "stream": _Stream,
    "default_stream": _Stream,
}


@in_session
def _call(
    session: Session, former: Former, dispatcher: Any, arguments: tuple[object, ...], *launch: Any
) -> None:
    if len(launch) == 1:
        (shape,) = launch
        grid, block, stream, shared = shape.griddim, shape.blockdim, shape.stream, shape.sharedmem
    else:  # Numba's own CUDA target, before numba-cuda
        grid, block, stream, shared = launch
    key = ("numba", dispatcher)
    if key not in session.adapter_cache:
        session.adapter_cache[key] = NumbaKernel(dispatcher, None, session.capability)
    prepared = session.adapter_cache[key].prepared(arguments, stream)
    session.simulate(
        prepared.kernel, tuple(grid), tuple(block), prepared.arguments, as_int(shared, "sharedmem"),
        observers=prepared.observers,
    )  # fmt: skip
    prepared.finish()


@in_session
def _call_for_all(session: Session, former: Former, launcher: Any, *arguments: object) -> Any:
    if launcher.ntasks == 0:
        return former(launcher, *arguments)
    threads = launcher.thread_per_block or _THREADS_FOR_ALL
    blocks = -(-launcher.ntasks // threads)
    return launcher.dispatcher[blocks, threads, launcher.stream, launcher.sharedmem](*arguments)


@in_session
def _compile_signature(session: Session, former: Former, dispatcher: Any, signature: Any) -> Any:
    declared, _ = numba_dispatcher.sigutils.normalize_signature(signature)
    _DECLARED.setdefault(dispatcher, []).append(tuple(declared))
    return _compiled(dispatcher, tuple(declared), session.capability)


@in_session
def _disable_compile(session: Session, former: Former, dispatcher: Any, val: bool = True) -> None:
    if dispatcher.targetoptions.get("device"):
        former(dispatcher, val)


def _overloads(dispatcher: Any) -> Any:
    session = current_session()
    if session is None or dispatcher not in _COMPILED:  # device functions are compiled as usual
        return vars(dispatcher)["overloads"]
    return {
        types: overload
        for (types, chip, _), overload in _COMPILED[dispatcher].items()
        if chip == session.capability
    }


def _set_overloads(dispatcher: Any, value: Any) -> None:
    vars(dispatcher)["overloads"] = value


def install() -> Callable[[], None]:
    """Let Numba launch on the simulator; returns a function that undoes it."""
    dispatcher, for_all = numba_dispatcher.CUDADispatcher, numba_dispatcher.ForAll
    universal, config = vectorizers.CUDAGeneralizedUFunc, numba_dispatcher.config
    overloads = property(_overloads, _set_overloads)
    patches = [
        *(
            Patch(cuda, name, function, "a function of the host, without a driver", "some")
            for name, function in _HOST_FUNCTIONS.items()
        ),
        Patch(dispatcher, "call", _call, "a launch"),
        Patch(for_all, "__call__", _call_for_all, "it would ask the driver for the size of a block"),
        Patch(dispatcher, "compile", _compile_signature, "a kernel is compiled for the session's chip"),
        Patch(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0, "simulated grids are usually small"),
        Patch(numba_dispatcher, "get_current_device", _current_device, "it decides the target"),
        Patch(compiler, "get_current_device", _current_device, "it decides the target"),
        Patch(vectorizers.CUDAUFuncMechanism, "broadcast_device", _broadcast, "there are no device arrays"),
        Patch(universal, "_broadcast_scalar_input", _broadcast, "there are no device arrays"),
        Patch(universal, "_broadcast_add_axis", _broadcast, "there are no device arrays"),
        Patch(dispatcher, "overloads", overloads, "those of the chip; instances have their own", added=True),
        Patch(
            dispatcher,
            "disable_compile",
            _disable_compile,
            "a session compiles device functions as Numba does, but not kernels; inherited",
            added=True,
        ),
    ]
    return install_patches(f"Numba {numba.__version__}", "numba-cuda 0.30.4", patches)
