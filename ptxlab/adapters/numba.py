"""Numba's CUDA kernels on the simulator: launches for `ptxlab.simulating`, and kernels from its dispatchers.

Tried with numba-cuda 0.30.4 and with the CUDA target of numba 0.68.1. Numba compiles for a GPU through
libNVVM, with the lines of the Python source. What is changed in Numba while a session is open:
`CUDADispatcher.call`, `compile` (for signatures that are declared) and `inspect_asm`, `ForAll.__call__`, the
functions of `numba.cuda` that tell of the device, make its streams and arrays, which is the host then, how
ufuncs broadcast these, and the warning about small grids. Events need a GPU.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numba import cuda
from numba.cuda import dispatcher as numba_dispatcher
from numba.cuda import vectorizers

from .._util.arguments import as_int, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..gpu.compiler import compile_ptx
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.launch_profile import LaunchProfile
from ..simulator.peaks import PEAKS
from .arrays import array_at, device_memory, host_array, is_array
from .session import current_session, replaced
from .source import python_source

R = TypeVar("R", bound=Result)

_COMPILED: WeakKeyDictionary[Any, dict[Any, str]] = WeakKeyDictionary()  # PTX by types and chip
#: Types of the signatures that `cuda.jit` was given inside a session.
_DECLARED: WeakKeyDictionary[Any, list[tuple[Any, ...]]] = WeakKeyDictionary()
_THREADS_FOR_ALL = 256  # of a block, where `forall` is not told how many


class NumbaKernel(Generic[R]):
    """A kernel of `numba.cuda.jit`, as `ptxlab.kernel(dispatcher)` makes it, with results of type R.

    Without a signature, it is compiled for the types of the arguments, as Numba does. ::

        result = ptxlab.kernel(add, "void(float32[::1], float32[::1])").simulate(8, 128, x, y)
    """

    def __init__(
        self, result_type: type[R], dispatcher: Any, signature: object, capability: tuple[int, int]
    ) -> None:
        self._result_type, self._dispatcher, self._capability = result_type, dispatcher, capability
        if not is_a(dispatcher, numba_dispatcher.CUDADispatcher):
            raise PtxlabError(f"source: found {quoted(dispatcher)}, which is no kernel of numba.cuda.jit")
        if dispatcher.targetoptions.get("device"):
            raise PtxlabError(f"{self.name} is a function of the device: call it from a kernel")
        self._types: tuple[Any, ...] | None = None
        self._kernels: dict[tuple[Any, ...], Kernel[R]] = {}
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
            self.kernel(self._types)

    @property
    def name(self) -> str:
        """That of the Python function."""
        return str(self._dispatcher.py_func.__name__)

    def __repr__(self) -> str:
        types = "" if self._types is None else f"({', '.join(map(str, self._types))})"
        return f"<Numba's kernel {self.name}{types}>"

    def kernel(self, types: tuple[Any, ...]) -> Kernel[R]:
        """The kernel for arguments of these types, as PTX like any other."""
        key = (types, _captured(self._dispatcher.py_func))
        if key not in self._kernels:
            ptx = _compiled(self._dispatcher, types, self._capability)
            origin = python_source(self._dispatcher.py_func, ptx)
            link = _others(ptx, self._capability)
            self._kernels[key] = build_kernel(
                self._result_type, ptx, None, None, (), link,
                origin=origin, title=self.name, language="Numba",
            )  # fmt: skip
        return self._kernels[key]

    def simulate(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        **options: Any,
    ) -> R:
        """Run the kernel without a GPU, as ``kernel[grid, block](*arguments)`` does on one.

        Options are those of `Kernel.simulate`: `check`, `trace`, `show`, ...
        """
        kernel, passed = self.prepared(arguments)
        return kernel.simulate(grid, block, *device_memory(passed), shared=shared, **options)

    def profile(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        chip: str = "H200",
    ) -> LaunchProfile:
        """The predicted time of that launch; see `Kernel.profile`."""
        kernel, passed = self.prepared(arguments)
        return kernel.profile(grid, block, *device_memory(passed), shared=shared, chip=chip)

    def prepared(self, arguments: Sequence[object]) -> tuple[Kernel[R], list[object]]:
        """The kernel for these arguments, and what its PTX takes."""
        values = [_on_host(each) for each in arguments]
        declared = _DECLARED.get(self._dispatcher, ())
        if self._types is not None:
            declared = [self._types]
            if len(self._types) != len(values):
                expected = counted(len(self._types), "argument")
                raise PtxlabError(f"{self.name} takes {expected}, found {len(values)}")
        types = _matching(self._dispatcher, declared, tuple(self._types_of(values)))
        passed: list[object] = []
        for number, (kind, value, argument) in enumerate(zip(types, values, arguments, strict=True), 1):
            if isinstance(value, np.ndarray | np.void) and _is_input(argument):
                value = np.asarray(value).copy("K")  # what the kernel writes there does not come back
            passed += _flattened(kind, value, f"argument {number} of {self.name}")
        return self.kernel(types), passed

    def _types_of(self, values: Sequence[object]) -> Iterator[Any]:
        """Numba's types of these arguments."""
        for number, value in enumerate(values, 1):
            try:
                kind = self._dispatcher.typeof_pyval(value)
            except Exception:  # Numba looks into objects that it does not know
                kind = None
            if kind is None:
                raise PtxlabError(
                    f"argument {number} of {self.name}: found {quoted(value)}, for which Numba has no type"
                )
            yield kind


def _matching(
    dispatcher: Any, signatures: Sequence[tuple[Any, ...]], types: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Of signatures the one that arguments of these types fit best, as Numba decides; without any, these."""
    declared = [each for each in signatures if len(each) == len(types)]
    if not declared:
        return types
    steps = {}
    for each in declared:
        conversions = [dispatcher.typingctx.can_convert(*pair) for pair in zip(types, each, strict=True)]
        if None not in conversions:
            steps[each] = sorted((int(step) for step in conversions), reverse=True)
    if not steps:
        texts = [f"({', '.join(map(str, each))})" for each in (*declared, types)]
        raise PtxlabError(
            f"{dispatcher.py_func.__name__} is declared for {listing(texts[:-1])}, found {texts[-1]}"
        )
    return min(steps, key=steps.__getitem__)


def _on_host(value: Any) -> Any:
    """A value without `cuda.In`, `cuda.Out` and `cuda.InOut`, and arrays as NumPy's."""
    if any(base.__name__ == "ArgHint" for base in type(value).__mro__):
        value = value.value
    if type(value) is tuple:
        return tuple(_on_host(each) for each in value)
    return np.asarray(host_array(value)) if is_array(value) else value


def _is_input(argument: Any) -> bool:
    """Whether an argument is `cuda.In` of what is not on the device yet."""
    return type(argument).__name__ == "In" and not isinstance(argument.value, DeviceArray)


def _flattened(kind: Any, value: Any, what: str) -> Iterator[object]:
    """A value as parameters of the PTX: what `_prepare_args` of Numba's kernels makes of it."""
    if isinstance(value, np.ndarray) and hasattr(kind, "ndim"):
        memory = value if value.ndim else value.reshape(1)
        yield from (0, 0, value.size, value.itemsize, memory, *value.shape, *value.strides)
    elif isinstance(value, np.void):  # a record, which the kernel may write
        yield array_at(np.frombuffer(value, np.uint8).ctypes.data, (value.nbytes,), (1,), np.dtype(np.uint8))
    elif isinstance(value, np.ndarray):  # the copy of a record
        yield value.reshape(1).view(np.uint8)
    elif isinstance(value, Enum):
        yield from _flattened(kind.dtype, value.value, what)
    elif isinstance(value, np.datetime64 | np.timedelta64):
        yield value.view(np.int64)
    elif isinstance(value, tuple):
        for number, (inner, item) in enumerate(zip(kind, value, strict=True)):
            yield from _flattened(inner, item, f"{what}[{number}]")
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


def _compiled(dispatcher: Any, types: tuple[Any, ...], capability: tuple[int, int]) -> str:
    """The PTX that Numba makes for arguments of these types."""
    texts = _COMPILED.setdefault(dispatcher, {})
    key = (types, capability, _captured(dispatcher.py_func))
    if key not in texts:
        options = dispatcher.targetoptions
        debug = bool(options.get("debug"))
        current_device = numba_dispatcher.get_current_device
        # Functions that the kernel calls are compiled for the current device.
        numba_dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)

        def compiled(lines: bool) -> str:
            ptx, _ = cuda.compile_ptx(
                dispatcher.py_func,
                types,
                debug=debug,
                lineinfo=lines,
                fastmath=options.get("fastmath", False),
                cc=capability,
                opt=options.get("opt", True),
            )
            return str(ptx)

        try:
            try:
                texts[key] = compiled(lines=not debug)
            except ZeroDivisionError:  # Numba describes empty tuples to a debugger
                texts[key] = compiled(lines=False)
        except Exception as error:
            if isinstance(error, TypeError):  # e.g. of fewer types than the function takes
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
        finally:
            numba_dispatcher.get_current_device = current_device
    return texts[key]


def _captured(function: Any) -> tuple[bytes, ...]:
    """What is in arrays of the device that a function takes from outside.

    Numba takes their addresses; here they are constants, and others once somebody has written them.
    """
    outside = inspect.getclosurevars(function)
    values = (*outside.nonlocals.values(), *outside.globals.values())
    return tuple(each.tobytes() for each in values if isinstance(each, DeviceArray))


#: What `grid.sync()` calls of a library (cudadevrt), for a launch that is simulated; the names are the
#: library's in the end, which the header declares otherwise.
_GRID = """
#include <cooperative_groups.h>
extern "C" __device__ unsigned long long ptxlabGetIntrinsicHandle(unsigned) { return 1; }
extern "C" __device__ int ptxlabSynchronize(unsigned long long, unsigned) {
  cooperative_groups::this_grid().sync();
  return 0;
}
"""


def _others(ptx: str, capability: tuple[int, int]) -> list[str]:
    """PTX of functions that Numba takes from elsewhere: its own CUDA C++, and CUDA's."""
    declared = re.findall(r"\.extern \.func\s+(?:\(.*?\)\s*)?(\w+)", ptx)
    sources = [_GRID] if any(name.startswith("cudaCG") for name in declared) else []
    for name in ("cuda_fp16", "cuda_bf16", "cuda_fp8"):
        module = sys.modules.get(f"numba.cuda._internal.{name}")
        text = module.shim_stream.getvalue() if module is not None else ""
        if any(function in text for function in declared):
            sources.append(text)
    if "numba_attempt_nocopy_reshape" in declared:  # of numba-cuda, beside its dispatchers
        sources.append(Path(numba_dispatcher.__file__).with_name("reshape_funcs.cu").read_text())
    target = f"sm_{10 * capability[0] + capability[1]}"
    texts = [compile_ptx(each, target, ["--relocatable-device-code=true"])[0] for each in sources]
    return [each.replace("ptxlabGet", "cudaCGGet").replace("ptxlabSync", "cudaCGSync") for each in texts]


class DeviceArray(np.ndarray[Any, Any]):
    """An array of `cuda.to_device` or `cuda.device_array`: in the memory of the host, as everything here."""

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
        """What NumPy computes from it is the host's, so that `(x == y).all()` has a value."""
        return array if array is self else np.asarray(array)[()]

    def __bool__(self) -> bool:
        """As a GPU's array, which has a length and no value."""
        return self.ndim == 0 or len(self) > 0


class _Stream:
    """What `cuda.stream()` gives: everything is done when a call returns."""

    handle = 0

    def __bool__(self) -> bool:
        """False, as the number 0 that Numba takes for the default stream."""
        return False

    def synchronize(self) -> None:
        """Wait for nothing."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[_Stream]:
        """A block at whose end the work of the stream is done."""
        yield self


def _current_device() -> SimpleNamespace:
    """What programs ask a device for."""
    session = current_session()
    assert session is not None
    return SimpleNamespace(
        name=session.chip.encode(),
        id=0,
        compute_capability=session.capability,
        MULTIPROCESSOR_COUNT=PEAKS.get(session.chip, PEAKS["H200"]).sms,
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
    return np.zeros(shape, dtype, order).view(DeviceArray)


def _device_array_like(ary: Any, stream: object = 0) -> Any:
    return np.zeros_like(host_array(ary)).view(DeviceArray)


def _as_cuda_array(obj: Any, sync: bool = True) -> Any:
    return host_array(obj).view(DeviceArray)


def _broadcast(self: Any, ary: Any, shape: int | tuple[int, ...]) -> Any:
    """An array of the device in another shape, for Numba's ufuncs; a kernel may have declared it writable."""
    shaped = np.broadcast_to(ary, shape)
    return np.lib.stride_tricks.as_strided(ary, shaped.shape, shaped.strides, subok=True)


#: What `numba.cuda` offers for a GPU's memory, as it is without one.
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


def install() -> Callable[[], None]:
    """Let Numba launch on the simulator; the result undoes it."""
    dispatcher_type, for_all = numba_dispatcher.CUDADispatcher, numba_dispatcher.ForAll
    former_call, former_for_all = dispatcher_type.call, for_all.__call__
    former_compile, former_inspect = dispatcher_type.compile, dispatcher_type.inspect_asm
    former_disable = dispatcher_type.disable_compile
    former_device = numba_dispatcher.get_current_device
    config = numba_dispatcher.config
    former_warnings = config.CUDA_LOW_OCCUPANCY_WARNINGS
    former_functions = {name: getattr(cuda, name) for name in _HOST_FUNCTIONS if hasattr(cuda, name)}

    def call(self: Any, arguments: tuple[object, ...], *launch: Any) -> Any:
        session = current_session()
        if session is None:
            return former_call(self, arguments, *launch)
        if len(launch) == 1:
            (shape,) = launch
            grid, block, shared = shape.griddim, shape.blockdim, shape.sharedmem
        else:  # Numba's own CUDA target, before numba-cuda
            grid, block, _, shared = launch
        key = ("numba", self)
        if key not in session.kept:
            session.kept[key] = NumbaKernel(session.result_type, self, None, session.capability)
        kernel, passed = session.kept[key].prepared(arguments)
        session.simulate(kernel, tuple(grid), tuple(block), passed, as_int(shared, "sharedmem"))
        return None

    def compile_signature(self: Any, signature: Any) -> Any:
        session = current_session()
        if session is None:
            return former_compile(self, signature)
        declared, _ = numba_dispatcher.sigutils.normalize_signature(signature)
        _compiled(self, tuple(declared), session.capability)
        _DECLARED.setdefault(self, []).append(tuple(declared))
        return None

    def disable_compile(self: Any, val: bool = True) -> None:
        # In a session Numba compiles functions of the device, but no kernels.
        if current_session() is None or self.targetoptions.get("device"):
            former_disable(self, val)

    def inspect_asm(self: Any, signature: Any = None) -> Any:
        session = current_session()
        if session is None or self.targetoptions.get("device"):
            return former_inspect(self, signature)
        texts = {
            each: ptx
            for (each, chip, _), ptx in _COMPILED.get(self, {}).items()
            if chip == session.capability
        }
        return texts if signature is None else texts[tuple(signature)]

    def call_for_all(self: Any, *arguments: object) -> Any:
        if current_session() is None or self.ntasks == 0:
            return former_for_all(self, *arguments)
        threads = self.thread_per_block or _THREADS_FOR_ALL
        blocks = -(-self.ntasks // threads)
        return self.dispatcher[blocks, threads, self.stream, self.sharedmem](*arguments)

    restore_broadcasts = replaced(
        [
            (vectorizers.CUDAUFuncMechanism, "broadcast_device", _broadcast),
            (vectorizers.CUDAGeneralizedUFunc, "_broadcast_scalar_input", _broadcast),
            (vectorizers.CUDAGeneralizedUFunc, "_broadcast_add_axis", _broadcast),
        ]
    )

    def restore() -> None:
        restore_broadcasts()
        dispatcher_type.call, for_all.__call__ = former_call, former_for_all
        dispatcher_type.compile, dispatcher_type.inspect_asm = former_compile, former_inspect
        del dispatcher_type.disable_compile  # which it inherits
        numba_dispatcher.get_current_device = former_device
        config.CUDA_LOW_OCCUPANCY_WARNINGS = former_warnings
        for name, function in former_functions.items():
            setattr(cuda, name, function)

    for name in former_functions:
        setattr(cuda, name, _HOST_FUNCTIONS[name])
    dispatcher_type.call, for_all.__call__ = call, call_for_all
    dispatcher_type.compile, dispatcher_type.inspect_asm = compile_signature, inspect_asm
    dispatcher_type.disable_compile = disable_compile
    numba_dispatcher.get_current_device = _current_device  # functions of the device are compiled for it
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small grid is what one simulates
    return restore
