"""Triton and Gluon on the simulator: a driver for `ptxlab.simulating`, and kernels from its `CompiledKernel`.

Tried with Triton 3.6.0. Triton compiles as for a GPU (it includes an assembler), and calls the active driver
for everything else; the driver here loads no machine code, and its launcher simulates the PTX. A session
replaces in Triton: the active driver, `native_specialize_impl` and `TensorDescriptor` (to accept NumPy
arrays), `Autotuner.run` and `_bench` (so that it keeps no choice that was not timed).

A launch is `_Launcher.__call__`; `arrays.launch_arguments` turns its tensors into memory of the host, and
`simulator/simulate.py` makes them buffers of the simulator.
"""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia_driver
from triton.runtime import autotuner, jit
from triton.runtime.cache import get_cache_manager
from triton.runtime.driver import driver as active_driver

from .._util.arguments import as_text, check_bytes, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.targets import max_shared
from ..memory import TensorMap
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.launch_arguments import as_grid
from ..simulator.timing.launch_profile import LaunchProfile
from .framework_session import (
    Former,
    Patch,
    Session,
    attributes_replaced,
    current_session,
    in_session,
    install_patches,
    open_session,
    version_errors,
)
from .host_arrays import MAP_TYPES, host_array, is_array, launch_arguments, map_of_memory, numpy_type
from .python_source import python_source

#: Types of scalars, by Triton's names.
_SCALARS: dict[str, Any] = {
    "i1": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u1": np.uint8, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64,
}  # fmt: skip
#: Types of array elements; others are not checked.
_ELEMENTS: dict[str, Any] = _SCALARS | {
    "i1": np.bool_, "u1": np.bool_, "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
_DESCRIPTOR = re.compile(r"tensordesc<(?P<element>\w+)\[(?P<box>[\d, ]+)\]")


class TritonKernel:
    """A kernel that Triton compiled, as `ptxlab.kernel(compiled)` makes it.

    `kernel` is its PTX as an ordinary kernel. `simulate` and `launch` take the arguments of the Python
    function, without `tl.constexpr`, which are compiled in; warps, shared memory, clusters and the hidden
    pointers to scratch memory are as Triton chose them. ::

        compiled = triton.compile(ASTSource(add, signature, constexprs), target=GPUTarget("cuda", 90, 32))
        result = ptxlab.kernel(compiled).simulate(8, x, y, out, 1000)
    """

    def __init__(self, source: Any, metadata: Any, ptx: str) -> None:
        with version_errors("triton"):
            name = str(metadata.name)
            self.block = 32 * int(metadata.num_warps)
            self.shared = int(metadata.shared)
            self._blocks_in_cluster = int(getattr(metadata, "num_ctas", 1))
            self._maps = tuple(getattr(metadata, "tensordesc_meta", None) or ())
            self._scratch = [
                int(getattr(metadata, f"{memory}_scratch_size", 0) or 0) for memory in ("global", "profile")
            ]
            signature = {str(parameter): kind for parameter, kind in source.signature.items()}
            self._parameters = [
                (parameter, kind) for parameter, kind in signature.items() if kind != "constexpr"
            ]
            function = getattr(getattr(source, "fn", None), "fn", None)
            origin = python_source(function, as_text(ptx, "the PTX"))
        self.kernel: Kernel = build_kernel(
            ptx,
            name,
            origin=origin,
            title=name,
            language="Gluon" if type(source).__name__ == "GluonASTSource" else "Triton",
        )

    @classmethod
    def of(cls, compiled: Any) -> TritonKernel:
        """From a `CompiledKernel`."""
        with version_errors("triton"):
            source, metadata = compiled.src, compiled.metadata
            ptx, stages = compiled.asm.get("ptx"), listing(compiled.asm)
            name = str(compiled.name)
        if ptx is None:
            raise PtxlabError(
                f"the kernel {name} has {stages}, no PTX: compile it for an NVIDIA GPU, e.g. with "
                'target=GPUTarget("cuda", 90, 32), and without TRITON_STORE_BINARY_ONLY'
            )
        return cls(source, metadata, ptx)

    @property
    def name(self) -> str:
        """The name of the Python function, unless Triton was given another."""
        return self.kernel.name

    @property
    def ptx(self) -> str:
        """The PTX from Triton."""
        return self.kernel.ptx

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of `simulate` after the grid, with Triton's types."""
        return tuple(f"{name}: {kind}" for name, kind in self._parameters)

    def __repr__(self) -> str:
        kernel = f"{self.name}({', '.join(self.parameters)})"
        return f"<{self.kernel.language}'s kernel {kernel} for {self.kernel.target}>"

    def _repr_html_(self) -> str | None:
        return self.kernel._repr_html_()

    def simulate(self, grid: int | tuple[int, ...], *arguments: object, **options: Any) -> Result:
        """Run the kernel without a GPU, as ``kernel[grid](*arguments)`` does on one.

        Options are those of `Kernel.simulate`: `check`, `trace`, `show`, ...
        """
        blocks, ptx_arguments, cluster = self._launch(grid, arguments)
        return self.kernel.simulate(
            blocks,
            self.block,
            *launch_arguments(_on_host(ptx_arguments)),
            shared=self.shared,
            cluster=cluster,
            **options,
        )

    def profile(self, grid: int | tuple[int, ...], *arguments: object, chip: str = "H200") -> LaunchProfile:
        """The predicted time of a launch, e.g. to compare configurations; see `Kernel.profile`."""
        blocks, ptx_arguments, cluster = self._launch(grid, arguments)
        return self.kernel.profile(
            blocks,
            self.block,
            *launch_arguments(_on_host(ptx_arguments)),
            shared=self.shared,
            cluster=cluster,
            chip=chip,
        )

    def launch(self, grid: int | tuple[int, ...], *arguments: object, stream: object = None) -> None:
        """Run the same PTX on the GPU; see `Kernel.launch`."""
        blocks, ptx_arguments, cluster = self._launch(grid, arguments)
        self.kernel.launch(
            blocks, self.block, *ptx_arguments, shared=self.shared, cluster=cluster, stream=stream
        )

    def _launch(
        self, grid: int | tuple[int, ...], arguments: Sequence[object]
    ) -> tuple[tuple[int, ...], list[object], int | None]:
        """Blocks, arguments of the PTX, and the size of a cluster."""
        if len(arguments) != len(self._parameters):
            raise PtxlabError(
                f"{self.name} takes {counted(len(self._parameters), 'argument')} "
                f"({', '.join(self.parameters)}), found {len(arguments)}"
            )
        for (name, kind), value in zip(self._parameters, arguments, strict=True):
            _check_elements(f"{name} of {self.name}", kind, value)
        return self.prepared(as_grid(grid, self.block, self.shared).blocks, arguments)

    def prepared(
        self, grid: tuple[int, ...], arguments: Sequence[object]
    ) -> tuple[tuple[int, ...], list[object], int | None]:
        """As `_launch`, for arguments whose number Triton has checked."""
        ptx_arguments: list[object] = []
        maps = list(self._maps)
        for (name, kind), value in zip(self._parameters, arguments, strict=True):
            ptx_arguments += self._flattened(name, kind, value, maps)
        count = self._blocks_in_cluster
        blocks = (grid[0] * count, *grid[1:])
        hidden = len(self.kernel.parameters) - len(ptx_arguments)
        for bytes_per_block in self._scratch[: max(hidden, 0)]:
            size = bytes_per_block * math.prod(blocks)
            check_bytes(size, f"scratch memory of {self.name}")
            ptx_arguments.append(np.zeros(size, np.uint8) if size else None)
        return blocks, ptx_arguments, count if count > 1 else None

    def _flattened(self, name: str, kind: Any, value: Any, maps: list[Any]) -> Iterator[object]:
        """A value as one or more parameters of the PTX."""
        where = f"{name} of {self.name}"
        if isinstance(kind, tuple):
            if not is_a(value, tuple, list) or len(value) != len(kind):
                raise PtxlabError(f"{where}: found {quoted(value)}; it takes a tuple of {len(kind)}")
            for number, (inner, item) in enumerate(zip(kind, value, strict=True)):
                yield from self._flattened(f"{name}[{number}]", inner, item, maps)
        elif kind == "constexpr":
            return
        elif not is_a(kind, str):
            raise PtxlabError(f"{where}: ptxlab does not know its type, {quoted(kind)}")
        elif kind.startswith("*"):
            if value is not None and not is_array(value):
                raise PtxlabError(f"{where}: found {quoted(value)}; it takes an array or a CPU tensor")
            yield value.base if isinstance(value, jit.TensorWrapper) else value  # from triton.reinterpret
        elif kind.startswith("tensordesc"):
            if not all(hasattr(value, name) for name in ("base", "shape", "strides", "block_shape")):
                raise PtxlabError(f"{where}: found {quoted(value)}; it takes Triton's TensorDescriptor")
            yield from _descriptor(value, maps.pop(0) if maps else None)
        elif kind == "nvTmaDesc":
            yield value
        elif kind not in _SCALARS:
            raise PtxlabError(f"{where}: ptxlab does not know its type, {quoted(kind)}")
        else:
            number = value.item() if isinstance(value, np.generic) else value
            if not is_a(number, int, float, bool):
                raise PtxlabError(f"{where}: found {quoted(value)}; it takes a number ({kind})")
            if not kind.startswith(("fp", "bf", "f")):
                limits = np.iinfo(_SCALARS[kind])
                if number != number // 1 or not limits.min <= number <= limits.max:
                    raise PtxlabError(f"{where}: {quoted(value)} does not fit {kind}")
            scalar = np.array(number).astype(_SCALARS[kind])[()]
            yield (scalar,) if kind in ("fp16", "bf16") else scalar


def _on_host(ptx_arguments: Sequence[object]) -> list[object]:
    """Tensors as NumPy arrays; one without axes gets one, since `Kernel.simulate` takes it for a number."""
    return [
        np.atleast_1d(host_array(argument)) if is_array(argument) else argument for argument in ptx_arguments
    ]


def _check_elements(where: str, kind: Any, value: Any) -> None:
    """Refuse an array whose element type is not the one that the kernel was compiled for, e.g. ``*fp16``.

    Signed and unsigned integers are interchangeable; other types can be passed as unsigned integers.
    """
    if is_a(kind, tuple) and is_a(value, tuple, list):
        for number, (inner, item) in enumerate(zip(kind, value, strict=False)):
            _check_elements(f"{where}[{number}]", inner, item)
        return
    if not is_a(kind, str):
        return
    described = _DESCRIPTOR.match(kind)
    if described is not None and hasattr(value, "block_shape"):
        box = [int(size) for size in described["box"].split(",")]
        if list(value.block_shape) != box:
            raise PtxlabError(
                f"{where}: found a descriptor of blocks of {quoted(list(value.block_shape))}; the kernel was "
                f"compiled for {box}"
            )
        _check_elements(where, f"*{described['element']}", value.base)
        return
    name = kind.lstrip("*").removeprefix("k") if kind.startswith("*") else ""
    if name not in _ELEMENTS or not is_array(value):
        return
    expected, stated = np.dtype(_ELEMENTS[name]), getattr(value, "dtype", None)
    if stated is None:
        stated = host_array(value).dtype
    triton_type = _ELEMENTS.get(str(stated))  # from triton.reinterpret
    element = numpy_type(stated) if triton_type is None else np.dtype(triton_type)
    is_bits = element.kind == "u" or (element.kind == "i" and expected.kind in "iub")
    if element != expected and not (is_bits and element.itemsize == expected.itemsize):
        bits = "" if expected.kind in "iub" else f", or its bits as uint{8 * expected.itemsize}"
        raise PtxlabError(
            f"{where}: found an array of {element}; the kernel was compiled for {kind}: pass {expected}{bits}"
        )


def _descriptor(value: Any, layout: Any) -> list[object]:
    """The parameters of a host-side tensor descriptor, from Triton's own function, which calls the driver."""
    make_arguments = getattr(nvidia_driver, "make_tensordesc_arg", None)
    if make_arguments is None:
        raise PtxlabError(
            f"tensor descriptors of Triton {triton.__version__}: it has no make_tensordesc_arg, as 3.6.0 "
            "has; make the descriptor in the kernel, with tl.make_tensor_descriptor"
        )
    # Triton 3.9 has a third parameter, which it does not use
    unused = [None] * (len(signature(make_arguments).parameters) - 2)
    with attributes_replaced([(active_driver, "_active", _Driver())]):
        return list(make_arguments(value, layout, *unused))


# -- the driver ----------------------------------------------------------------------------------------------


def _registers(code: bytes) -> int:
    """Registers of a thread, from machine code: programs use them to compute how many blocks fit on an SM.

    The attribute EIATTR_REGCOUNT has 8 bytes: a symbol and the number.
    """
    places = [match.end() for match in re.finditer(rb"\x04\x2f\x08\x00", code)]
    return max((int.from_bytes(code[place + 4 : place + 8], "little") for place in places), default=0)


class _Utils:
    """The functions of the CUDA driver that Triton uses."""

    def load_binary(
        self, name: str, code: bytes, shared: int, device: object
    ) -> tuple[object, object, int, int, int]:
        """Nothing is loaded: module, function, registers, spills, threads of a block."""
        return name, name, _registers(code), 0, 1024

    def unload_module(self, module: object) -> None:
        """Nothing was loaded."""

    def get_device_properties(self, device: object) -> dict[str, int]:
        """The properties that Triton and its tutorials use."""
        session = open_session("loaded")
        return {
            "max_shared_mem": max_shared(session.target),
            "max_num_regs": 65536,
            "multiprocessor_count": session.peaks.sms,
            "warpSize": 32,
            "sm_clock_rate": round(session.peaks.clock / 1e3),
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }

    def set_printf_fifo_size(self, size: int) -> None:
        """Nothing to do: output is printed at once."""

    def fill_tma_descriptor(
        self,
        address: int,
        swizzle: int,
        element_size: int,
        element_type: int,
        block: Sequence[int],
        shape: Sequence[int],
        strides: Sequence[int],
        padding: int = 0,
    ) -> TensorMap:
        """The tensor map of the tensor at an address of the host."""
        name = MAP_TYPES[element_type]
        steps = [int(step) * element_size for step in strides[-2::-1]]
        return map_of_memory(name, address, shape[::-1], steps, block[::-1], swizzle, padding)

    fill_tma_descriptor_tiled = fill_tma_descriptor  # its name in Triton 3.9


class _Launcher:
    """Simulates launches of a compiled kernel; Triton makes one for each."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._source, self._metadata = source, metadata
        self._kernel: TritonKernel | None = None

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: object,
        function: object,
        packed: object,
        launch_metadata: object,
        enter: Callable[[object], object] | None,
        leave: Callable[[object], object] | None,
        *arguments: object,
    ) -> None:
        session = open_session("loaded")
        kernel = self._kernel
        if kernel is None:
            kernel = self._kernel = TritonKernel(self._source, self._metadata, self._ptx())
        if enter is not None:
            enter(launch_metadata)
        if x * y * z:
            kinds = self._source.signature.values()
            runtime = [
                argument for argument, kind in zip(arguments, kinds, strict=True) if kind != "constexpr"
            ]
            blocks, ptx_arguments, cluster = kernel.prepared((x, y, z), runtime)
            session.simulate(
                kernel.kernel, blocks, kernel.block, _on_host(ptx_arguments), kernel.shared, cluster
            )
        if leave is not None:
            leave(launch_metadata)

    def _ptx(self) -> str:
        """The PTX, from Triton's cache of compiled kernels."""
        name = self._source.name[:150]
        files = get_cache_manager(self._metadata.hash).get_group(f"{name}.json") or {}
        path = files.get(f"{name}.ptx")
        if path is None:
            raise PtxlabError(
                f"the PTX of {name} is not in Triton's cache: unset TRITON_STORE_BINARY_ONLY, and compile it "
                "for an NVIDIA GPU"
            )
        return Path(path).read_text()


class _Driver:
    """The driver of a simulated GPU, for `triton.runtime.driver.set_active`."""

    launcher_cls = _Launcher

    def __init__(self) -> None:
        self.utils = _Utils()

    @classmethod
    def is_active(cls) -> bool:
        return current_session() is not None

    def get_current_target(self) -> Any:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        return open_session("loaded").capability

    def get_current_device(self) -> str:
        """A name of its own, since Triton caches kernels by device: a GPU's are kept apart."""
        return f"ptxlab {open_session('loaded').target}"

    def set_current_device(self, device: object) -> None:
        """Nothing to do: there is only one."""

    def get_current_stream(self, device: object = None) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        """The device of tensors: the CPU."""
        return __import__("torch").device("cpu")

    def get_benchmarker(self) -> Callable[..., Any]:
        return _benchmark

    def get_device_interface(self) -> Any:
        raise PtxlabError(
            "triton.testing.do_bench measures time on a GPU, and a simulated one has none; "
            "result.bounds(chip) says how long a launch takes at least"
        )

    get_empty_cache_for_benchmark = get_device_interface

    def map_python_to_cpp_type(self, kind: str) -> str:
        raise PtxlabError(f"{quoted(kind)}: the simulator has no launchers in C++")

    def assemble_tensormap_to_arg(self, maps: object, arguments: Any) -> Any:
        return arguments


@dataclass(frozen=True)
class _ElementType:
    """A NumPy type with the attributes of torch's."""

    name: str
    itemsize: int
    is_floating_point: bool

    def __str__(self) -> str:
        return self.name


class _HostTensor:
    """An array with the tensor attributes by which Triton specialises kernels and makes descriptors."""

    def __init__(self, array: Any) -> None:
        self.array = array
        is_float = array.dtype.kind not in "biu"
        self.dtype = _ElementType(array.dtype.name, array.itemsize, is_float)
        self.shape, self.device = array.shape, "cpu"

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)


def _as_tensor(value: Any) -> Any:
    """An array that is not a tensor as a `_HostTensor`; anything else unchanged."""
    if isinstance(value, np.ndarray) or (is_array(value) and not hasattr(value, "data_ptr")):
        return _HostTensor(host_array(value))
    return value


def _specialisable(value: Any) -> Any:
    """An argument in a form that Triton can specialise on."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(_specialisable(item) for item in value)
    return _as_tensor(value)


def _descriptors_of_arrays() -> list[Patch]:
    """Rows that let Triton's and Gluon's `TensorDescriptor` take NumPy arrays."""
    patches: list[Patch] = []
    why = "a descriptor takes arrays of NumPy"
    for module in ("triton.tools.tensor_descriptor", "triton.experimental.gluon.nvidia.hopper"):
        with suppress(ImportError, AttributeError, KeyError):
            owner = import_module(module).TensorDescriptor
            check, make = owner.__dict__["__post_init__"], owner.from_tensor
            patches += [
                Patch(owner, "__post_init__", _with_tensor(check), why),
                Patch(owner, "from_tensor", staticmethod(_of_tensor(make)), why),
            ]
    return patches


def _with_tensor(check: Callable[[Any], None]) -> Callable[[Any], None]:
    def checked(descriptor: Any) -> None:
        descriptor.base = _as_tensor(descriptor.base)
        check(descriptor)

    return checked


def _of_tensor(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(tensor: Any, *arguments: Any, **options: Any) -> Any:
        return make(_as_tensor(tensor), *arguments, **options)

    return made


_NOTHING_TIMED = (
    "autotuning inside ptxlab.simulating(): nothing is timed; every configuration runs once, which checks "
    "it, and the first that runs is used; ptxlab.simulating(profile=True) takes the one of the least "
    "predicted time"
)


def _benchmark(kernel_call: Callable[[], object], *, quantiles: Sequence[float] = (), **_: object) -> Any:
    """Run a configuration once; returns its predicted time in ms, or 0 if launches are not profiled."""
    profiles = open_session("loaded").profiles
    before = len(profiles)
    kernel_call()
    time = sum(profile.microseconds for profile in profiles[before:]) / 1e3
    return [time] * len(quantiles) if quantiles else time


#: Held while attributes of a tuner are changed, which threads may share.
_TUNING = threading.RLock()
_FORMER_CHOICES: list[tuple[Any, Any]] = []  # tuners, and what they had chosen before the session


@contextmanager
def _changed(tuner: Any, **attributes: object) -> Iterator[None]:
    """Set attributes of an instance temporarily."""
    former = {name: value for name, value in vars(tuner).items() if name in attributes}
    vars(tuner).update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            vars(tuner).pop(name, None)
        vars(tuner).update(former)


@in_session
def _specialise(session: Session, former: Former, backend: Any, value: Any, *rest: Any) -> Any:
    return former(backend, _specialisable(value), *rest)


def _warn_once(session: Session, stacklevel: int) -> None:
    if not session.profiled and _NOTHING_TIMED not in session.adapter_cache:
        session.adapter_cache[_NOTHING_TIMED] = True
        warnings.warn(_NOTHING_TIMED, stacklevel=stacklevel)


@in_session
def _run_tuned(session: Session, former: Former, tuner: Any, *arguments: Any, **options: Any) -> Any:
    if len(tuner.configs) > 1:
        _warn_once(session, 5)
    choices = session.adapter_cache.setdefault(tuner, {})
    with _TUNING, _changed(tuner, cache=choices, cache_results=False):
        return former(tuner, *arguments, **options)


@in_session
def _bench_once(session: Session, former: Former, tuner: Any, *arguments: Any, **options: Any) -> Any:
    # a class with its own `run`, e.g. FlagGems' LibTuner
    if tuner.cache is not session.adapter_cache.get(tuner):
        _warn_once(session, 4)
        _FORMER_CHOICES.append((tuner, tuner.cache))
        tuner.cache = session.adapter_cache.setdefault(tuner, {})
    with _TUNING, _changed(tuner, do_bench=_benchmark):
        return former(tuner, *arguments, **options)


def install() -> Callable[[], None]:
    """Let Triton launch on the simulator; returns a function that undoes it."""
    tuner = getattr(autotuner, "Autotuner", None)
    patches = [
        *_descriptors_of_arrays(),
        Patch(active_driver, "_active", _Driver(), "the driver that loads and launches kernels"),
        Patch(jit, "native_specialize_impl", _specialise, "arguments are NumPy's arrays"),
        Patch(tuner, "run", _run_tuned, "choices of the autotuner are those of the session"),
        Patch(tuner, "_bench", _bench_once, "a candidate is timed by its predicted time"),
    ]
    called = [(active_driver, "set_active")]
    restore_attributes = install_patches(f"Triton {triton.__version__}", "3.6.0", patches, called)

    def restore() -> None:
        restore_attributes()
        while _FORMER_CHOICES:
            tuner, choices = _FORMER_CHOICES[-1]
            tuner.cache = choices
            _FORMER_CHOICES.pop()

    return restore
