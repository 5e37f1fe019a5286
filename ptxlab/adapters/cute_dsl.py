"""CuTe DSL on the simulator: launches for `ptxlab.simulating`, and kernels from compiled functions.

Tried with nvidia-cutlass-dsl 4.8.1. The DSL compiles a `@cute.jit` function to host code, which sets up
tensor maps and launches through the CUDA runtime, and its kernels to PTX. Here the host code calls Python
functions instead of the runtime, and a launch goes to the simulator with the bytes of its parameters. A
session replaces in the DSL: `Compiler.jit`, the options of a compilation (it keeps the PTX, with line
numbers), the architecture, `_Tensor` (arrays of the host count as global memory), `HardwareInfo`, the number
of devices, `initialize_cuda_context`, the cache of compiled functions, and calls of functions with TVM FFI,
which take arrays directly.
"""

from __future__ import annotations

import ctypes
import linecache
import re
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import cutlass
import numpy as np
from cutlass._mlir import ir
from cutlass.base_dsl import compiler, env_manager, jit_executor
from cutlass.cute import runtime
from cutlass.cutlass_dsl import CuTeDSL, cuda_jit_executor
from cutlass.utils import hardware_info

from .._util.arguments import as_text
from ..errors import PtxlabError
from ..isa.chips import MAX_SHARED, Card
from ..memory import TensorMap
from ..simulator.kernel import Kernel, build_kernel
from .framework_session import (
    CHANGING,
    Former,
    Patch,
    Session,
    current_session,
    in_session,
    install_patches,
    version_errors,
)
from .host_arrays import MAP_TYPES, HostMemory, array_at, host_array, is_array, map_of_memory

_CLUSTER = 4  # cudaLaunchAttributeClusterDimension
_ATTRIBUTE_BYTES = 72  # of a cudaLaunchAttribute
_MAX_SHARED = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
_FAILED = 999  # cudaErrorUnknown
_MAP_BYTES = 128  # of a CUtensorMap


class _Call(threading.local):
    """The call of host code in this thread: its arrays by address, and errors until it returns.

    `ptx_path` is where this thread's newest compilation writes its PTX.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, np.ndarray[Any, Any]] = {}
        self.errors: list[BaseException] = []
        self.ptx_path = ""


_CALL = _Call()


class _Config(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_: ClassVar = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint32),
    ]


# -- the CUDA runtime, as the host code calls it -------------------------------------------------------------


def _load_library(out: int, *_: int) -> int:
    ctypes.c_uint64.from_address(out).value = 1  # any handle: it is not used
    return 0


def _device_attribute(out: int, attribute: int, device: int) -> int:
    ctypes.c_int32.from_address(out).value = MAX_SHARED if attribute == _MAX_SHARED else 0
    return 0


def _set_to_zero(out: int, *_: int) -> int:
    ctypes.c_int32.from_address(out).value = 0
    return 0


def _set_to_one(out: int, *_: int) -> int:
    ctypes.c_int32.from_address(out).value = 1
    return 0


class _HostCode:
    """The host code of one compilation, with its PTX: another one may have a kernel of the same name.

    The handle of a kernel is the number of its name, from 1 on.
    """

    def __init__(self, ptx: str) -> None:
        self.ptx = ptx
        self.names: list[str] = []
        self.libraries: list[ctypes.c_void_p] = []  # they must outlive the host code, as the callbacks
        self.callbacks: dict[tuple[str, str], Any] = {}
        #: Functions of the CUDA runtime that do something here; all others return success.
        self.functions: dict[str, Callable[..., int]] = {
            "_cudaLibraryLoadData": _load_library,
            "_cudaLibraryGetKernel": self._get_kernel,
            "_cudaDeviceGetAttribute": _device_attribute,
            "_cudaGetDevice": _set_to_zero,
            "_cuKernelGetAttribute": _set_to_zero,
            "_cudaOccupancyMaxActiveBlocksPerMultiprocessor": _set_to_one,
            "_cuTensorMapEncodeTiled": _encode_map,
            "_cudaLaunchKernelEx": self._launch,
            "_cudaLaunchKernel": self._launch_plain,
            "cuda_dialect_init_library_once": self._init_library_once,
        }

    def _get_kernel(self, out: int, library: int, name: int) -> int:
        kernel_name = ctypes.string_at(name).decode()
        if not re.search(rf"\.entry {re.escape(kernel_name)}\(", self.ptx):
            _CALL.errors.append(
                PtxlabError(
                    f"the kernel {kernel_name} is not in the PTX that CuTe DSL wrote when it compiled this "
                    "function: compile it again, inside ptxlab.simulating()"
                )
            )
            return _FAILED
        with CHANGING:
            self.names.append(kernel_name)
            ctypes.c_uint64.from_address(out).value = len(self.names)
        return 0

    def _init_library_once(self, state: int, init: int, load: int, set_error: int) -> int:
        """Functions with TVM FFI call this first: the host code loads its kernels onto the only device."""
        loaded = ctypes.c_int64.from_address(state)
        if not loaded.value:
            library = ctypes.c_void_p()
            self.libraries.append(library)
            place, result = ctypes.c_void_p, ctypes.c_int32
            ctypes.CFUNCTYPE(result, place)(init)(ctypes.addressof(library))
            ctypes.CFUNCTYPE(result, place, ctypes.c_int32)(load)(ctypes.addressof(library), 0)
            loaded.value = 1
        return 0

    def _launch(self, config: int, handle: int, parameters: int) -> int:
        launch = _Config.from_address(config)
        cluster = None
        for number in range(launch.attribute_count):
            attribute = launch.attributes + number * _ATTRIBUTE_BYTES
            if ctypes.c_uint32.from_address(attribute).value == _CLUSTER:
                cluster = tuple((ctypes.c_uint32 * 3).from_address(attribute + 8))
        return self._simulated(
            handle, tuple(launch.grid), tuple(launch.block), launch.shared, parameters, cluster
        )

    def _launch_plain(
        self,
        handle: int,
        x: int,
        y: int,
        z: int,
        bx: int,
        by: int,
        bz: int,
        parameters: int,
        shared: int,
        stream: int,
    ) -> int:
        return self._simulated(handle, (x, y, z), (bx, by, bz), shared, parameters, None)

    def _simulated(
        self,
        handle: int,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared: int,
        parameters: int,
        cluster: tuple[int, ...] | None,
    ) -> int:
        session = current_session()
        if session is None:  # a stored error would never be raised
            warnings.warn(
                "this function was compiled inside ptxlab.simulating(), which is over: call it inside again, "
                "or compile it anew for a GPU",
                stacklevel=2,
            )
            return _FAILED
        try:
            kernel = _kernel(self.ptx, self.names[handle - 1], session.adapter_cache)
            variables = kernel.function.parameters
            addresses = (ctypes.c_void_p * len(variables)).from_address(parameters) if variables else ()
            contents = [
                ctypes.string_at(address, variable.size)
                for address, variable in zip(addresses, variables, strict=True)
            ]
            memory = HostMemory(list(_CALL.arrays.values()), _decoded_map, search=True)
            arguments = memory.arguments(kernel.function, contents)
            session.simulate(kernel, grid, block, arguments, shared, cluster)
        except BaseException as error:
            _CALL.errors.append(error)
            return _FAILED
        return 0


def _kernel(ptx: str, name: str | None, cache: dict[object, Any]) -> Kernel:
    key = ("cute", ptx, name)
    if key not in cache:
        # A store to an element of cutlass.Array has the line of the function that launches, and column 0.
        ptx = re.sub(r"^\t\.loc\t\d+ \d+ 0$", "", ptx, flags=re.MULTILINE)
        mangled = name or (re.findall(r"\.entry (\w+)", ptx) or [""])[0]
        title = re.split(
            r"_tensor|_CopyAtom|_TiledM|_object_at|_Arraydtype", mangled.rpartition("kernel_cutlass_")[2]
        )[0]
        path = re.search(r'^\s*\.file\s+1 "([^"]+)"', ptx, re.MULTILINE)
        origin = "".join(linecache.getlines(path[1])) if path and "\t.loc" in ptx else ""
        title = title.removeprefix("kernel___main__").rstrip("_0123456789")
        cache[key] = build_kernel(ptx, name, origin=origin or None, title=title, language="CuTe DSL")
    kernel: Kernel = cache[key]
    return kernel


def compiled_function(compiled: Any, name: str | None) -> Kernel:
    """The kernel of a compiled function; a tensor is a struct of address, dynamic sizes and strides."""
    with version_errors("cutlass"):
        ptx = compiled.__ptx__
    if ptx is None:
        raise PtxlabError(
            "the function was compiled without its PTX: set CUTE_DSL_KEEP=ptx, or compile it inside "
            "ptxlab.simulating()"
        )
    chosen = None if name is None else as_text(name, "name")
    return _kernel(as_text(ptx, "the function's PTX").rstrip("\0"), chosen, {})


#: Element types by the chip's numbers, as far as they were observed.
_CHIP_TYPES = dict(enumerate(MAP_TYPES[:8])) | {9: "FLOAT64", 10: "BFLOAT16", 11: "16U4_ALIGN8B"}
#: A map from cuTensorMapEncodeTiled is represented by its arguments, in the 128 bytes of a CUtensorMap.
_MAP_MAGIC = b"ptxlab"
_MAP_RECORD = np.dtype([
    ("address", "<u8"), ("magic", "S8"), ("sizes", "<u8", 5), ("strides", "<u8", 4), ("box", "<u2", 5),
    ("steps", "u1", 5), ("type", "u1"), ("rank", "u1"), ("swizzle", "u1"), ("fill", "u1"),
])  # fmt: skip


def _encode_map(
    out: int, kind: int, rank: int, address: int, sizes: int, strides: int, box: int, steps: int,
    interleave: int, swizzle: int, promotion: int, fill: int,
) -> int:  # fmt: skip
    if interleave:
        _CALL.errors.append(PtxlabError("interleaved tensor maps are not simulated yet"))
        return _FAILED
    record = np.zeros((), dtype=_MAP_RECORD)
    record["magic"], record["address"] = _MAP_MAGIC, address
    record["type"], record["rank"], record["swizzle"], record["fill"] = kind, rank, swizzle, fill
    record["sizes"][:rank] = (ctypes.c_uint64 * rank).from_address(sizes)
    if rank > 1:
        record["strides"][: rank - 1] = (ctypes.c_uint64 * (rank - 1)).from_address(strides)
    record["box"][:rank] = (ctypes.c_uint32 * rank).from_address(box)
    record["steps"][:rank] = (ctypes.c_uint32 * rank).from_address(steps)
    ctypes.memmove(out, record.tobytes().ljust(_MAP_BYTES, b"\0"), _MAP_BYTES)
    return 0


def _decoded_map(content: bytes) -> TensorMap | None:
    """The tensor map in 128 bytes; None if they are not a tensor map.

    The host code encodes most maps itself, without the driver: the address; flags and the strides in units of
    16 bytes; the sizes minus 1; the box minus 1. Of the flags, bits 0-3 are 2, bits 4-6 the rank minus 1,
    bits 7-10 the element type, bits 13-14 the swizzle; bit 16 is set for TF32, bit 18 always. This was found
    by compiling for tensors of many types and shapes.
    """
    if content[8:16].startswith(_MAP_MAGIC):
        record = np.frombuffer(content, _MAP_RECORD, 1)[0]
        rank = int(record["rank"])
        sizes, box, steps = (record[name][:rank].tolist() for name in ("sizes", "box", "steps"))
        strides = record["strides"][: rank - 1].tolist()
        name, numbers = MAP_TYPES[record["type"]], (record["swizzle"], record["fill"])
        return map_of_memory(name, record["address"], sizes, strides, box, *numbers, steps)
    address, flags, *words = np.frombuffer(content[:64], np.uint64).tolist()
    if flags & 0xF != 2 or not flags & 1 << 18:
        return None
    rank = (flags >> 4 & 7) + 1
    kind = flags >> 7 & 15
    name = "TFLOAT32" if flags & 1 << 16 else _CHIP_TYPES.get(kind, "")
    if not name:
        raise PtxlabError(f"a tensor map whose elements have the type {kind} is not simulated yet")
    strides = np.array([flags, *words[:2]], np.uint64).view(np.uint32)[1:rank].astype(np.int64) * 16
    sizes = np.array(words[2:5], np.uint64).view(np.uint32)[:rank].astype(np.int64) + 1
    box = [(words[4] >> 56) + 1, *(byte + 1 for byte in words[5].to_bytes(8, "little")[:4])]
    return map_of_memory(name, address, sizes.tolist(), strides.tolist(), box[:rank], flags >> 13 & 3)


_C_TYPES: dict[str, Any] = {"!llvm.ptr": ctypes.c_void_p, "i32": ctypes.c_int32, "i64": ctypes.c_int64}
#: Of all compilations: compiled functions may outlive the session, and their host code calls these.
_HOST_CODE: list[_HostCode] = []
_DECLARED = re.compile(r"@(_cu\w+|cuda_dialect_(?:un)?\w+_once)\(([^)]*)\)( -> i32)?")


def _with_python_functions(module: Any, host_code: _HostCode) -> None:
    """Give the declared functions of the CUDA runtime a body that calls Python."""
    for operation in list(module.body.operations):
        if operation.operation.name != "llvm.func" or len(operation.regions[0].blocks):
            continue
        match = _DECLARED.search(str(operation))
        if match is None:
            continue
        name, types = match[1], [type_name.strip() for type_name in match[2].split(",") if type_name.strip()]
        if any(type_name not in _C_TYPES for type_name in types):
            continue
        key = (name, match[2])
        if key not in host_code.callbacks:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *(_C_TYPES[type_name] for type_name in types))
            host_code.callbacks[key] = prototype(host_code.functions.get(name, lambda *_: 0))
        address = ctypes.cast(host_code.callbacks[key], ctypes.c_void_p).value
        formal = ", ".join(f"%a{number}: {type_name}" for number, type_name in enumerate(types))
        actual = ", ".join(f"%a{number}" for number in range(len(types)))
        text = (
            f"llvm.func @{name}({formal}) {{\n  llvm.return\n}}"  # it unloads a library
            if match[3] is None
            else f"llvm.func @{name}({formal}) -> i32 {{\n"
            f"  %address = llvm.mlir.constant({address} : i64) : i64\n"
            "  %function = llvm.inttoptr %address : i64 to !llvm.ptr\n"
            f"  %result = llvm.call %function({actual}) : !llvm.ptr, ({', '.join(types)}) -> i32\n"
            "  llvm.return %result : i32\n}"
        )
        operation.operation.erase()
        with module.context, ir.Location.unknown():
            defined = ir.Module.parse(text)
            with ir.InsertionPoint.at_block_begin(module.body):
                defined.body.operations[0].operation.clone()


@contextmanager
def _raising() -> Iterator[None]:
    """Around a call of host code: errors of launches are raised when it has returned or raised."""
    try:
        try:
            yield
        except Exception:
            if not _CALL.errors:
                raise
        if _CALL.errors:  # the host code may ignore the status of a launch
            raise _CALL.errors[0] from _CALL.errors[0].__cause__
    finally:
        _CALL.errors.clear()
        _CALL.arrays.clear()


# -- the DSL -------------------------------------------------------------------------------------------------


def _card() -> Card:
    """The card that the session simulates."""
    session = current_session()
    assert session is not None
    return session.peaks


class _OnGpu:
    """An array of the host that claims to be on a GPU, for functions that take DLPack (TVM FFI)."""

    def __init__(self, array: Any) -> None:
        self._array = array
        low, high = np.lib.array_utils.byte_bounds(host_array(array))
        _CALL.arrays[low] = array_at(low, (high - low,), (1,), np.dtype(np.uint8))

    def __dlpack__(self, **_: object) -> Any:
        capsule = self._array.__dlpack__()
        _as_global(capsule)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def _on_gpu(value: Any) -> Any:
    """A value whose arrays claim to be on a GPU."""
    if type(value) in (tuple, list):
        return type(value)(_on_gpu(item) for item in value)
    return _OnGpu(value) if is_array(value) and hasattr(value, "__dlpack__") else value


def _as_global(capsule: Any) -> None:
    """Mark the array of a new DLPack capsule as one on a GPU, so that the DSL treats its memory as global."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.c_int32.from_address(get(capsule, b"dltensor") + 8).value = 2  # kDLCUDA


def _settings(folder: str) -> Callable[[Former], Callable[..., Any]]:
    """The options of a compilation, which writes its PTX into a folder."""

    @in_session
    def settings(session: Session, former: Former, options: Any, envar: Any, function_name: str) -> None:
        options.options[compiler.KeepPTX].value = True
        options.options[compiler.GenerateLineInfo].value = True
        options.options[compiler.DumpDir].value = folder
        former(options, envar, function_name[:100])
        _CALL.ptx_path = options.full_ptx_path
        Path(_CALL.ptx_path).unlink(missing_ok=True)  # of a function of the same name

    return settings


@in_session
def _jit(session: Session, former: Former, self: Any, module: Any, *rest: Any, **named: Any) -> Any:
    path = Path(_CALL.ptx_path)
    host_code = _HostCode(path.read_text().rstrip("\0") if path.is_file() else "")
    _HOST_CODE.append(host_code)
    _with_python_functions(module, host_code)
    return former(self, module, *rest, **named)


@in_session
def _pointers(session: Session, former: Former, tensor: Any) -> Any:
    tensor.load_dltensor()
    address = tensor._dltensor_wrapper.data_ptr
    _CALL.arrays[address] = array_at(address, (_span(tensor),), (1,), np.dtype(np.uint8))
    return former(tensor)


@in_session
def _init_tensor(
    session: Session, former: Former, self: Any, array: Any, *arguments: Any, **named: Any
) -> None:
    former(self, _OnGpu(array) if named.get("enable_tvm_ffi") else array, *arguments, **named)
    _as_global(self._dlpack_data)


@in_session
def _run(session: Session, former: Former, self: Any, exe_args: list[Any]) -> Any:
    with _raising():
        return former(self, exe_args)


@in_session
def _call_with_ffi(session: Session, former: Former, self: Any, *arguments: Any, **named: Any) -> Any:
    with _raising():
        named = {name: _on_gpu(value) for name, value in named.items()}
        return former(self, *(_on_gpu(argument) for argument in arguments), **named)


@in_session
def _load(session: Session, former: Former, self: Any) -> list[Any]:
    former(self)
    return []  # there is nothing to unload


@in_session
def _target(session: Session, former: Former, environment: Any) -> str:
    return session.target


def _clusters(hardware: Any, cluster_size: int, stream: Any = None) -> int:
    return _card().sms // cluster_size


def _patches(folder: str) -> list[Patch]:
    environment, info = env_manager.EnvironmentVarManager, hardware_info.HardwareInfo
    executor = cuda_jit_executor.CudaDialectJitCompiledFunction
    tensor, dsl = runtime._Tensor, CuTeDSL._get_dsl()
    new_cache = type(dsl.jit_cache)(max_elems=dsl.envar.jit_cache_max_elems)
    patches = [
        Patch(compiler.Compiler, "jit", _jit, "host code calls Python instead of the CUDA runtime"),
        Patch(
            compiler.CompileOptions,
            "apply_envar_settings",
            _settings(folder),
            "the PTX is kept, with its lines",
        ),
        Patch(environment, "arch", _target, "chip"),
        Patch(tensor, "__c_pointers__", _pointers, "arrays of the host are global memory of a launch"),
        Patch(tensor, "__init__", _init_tensor, "arrays of the host count as those of a GPU"),
        Patch(jit_executor.JitExecutor, "run_compiled_program", _run, "errors of a launch are raised"),
        Patch(executor, "num_devices", 1, "no driver is asked"),
        Patch(executor, "_load_cuda_library", _load, "nothing is loaded on a GPU, nor unloaded"),
        Patch(cutlass.cuda, "initialize_cuda_context", lambda device_id=0, flags=0: None, "there is none"),
        Patch(info, "__init__", lambda self, device_id=0: None, "these would ask the driver"),
        Patch(info, "get_max_active_clusters", _clusters, "chip"),
        Patch(info, "get_device_multiprocessor_count", lambda self: _card().sms, "chip"),
        Patch(info, "get_l2_cache_size_in_bytes", lambda self: _card().l2_bytes, "chip"),
        Patch(dsl, "jit_cache", new_cache, "functions that were compiled for a GPU are compiled again"),
    ]
    if find_spec("tvm_ffi") is not None:
        provider = import_module("cutlass.cutlass_dsl.tvm_ffi_provider")
        for name in ("TVMFFIJitCompiledFunction", "TVMFFIJitCompiledFunctionWithKwargs"):
            owner = getattr(provider, name)
            patches.append(Patch(owner, "__call__", _call_with_ffi, "it takes arrays directly"))
    return patches


def install() -> Callable[[], None]:
    """Let CuTe DSL launch on the simulator; returns a function that undoes it."""
    folder = tempfile.TemporaryDirectory(prefix="ptxlab-cute-")
    try:
        restore_attributes = install_patches(
            f"CuTe DSL {cutlass.__version__}", "4.8.1", _patches(folder.name)
        )
    except BaseException:
        folder.cleanup()
        raise

    def restore() -> None:
        restore_attributes()
        folder.cleanup()

    return restore


def _span(tensor: Any) -> int:
    """Bytes from the first element to the end of the last; strides are in elements."""
    bits = int(tensor.element_type.width)
    elements = 1 + sum((size - 1) * abs(step) for size, step in zip(tensor.shape, tensor.stride, strict=True))
    return int(-(-elements * bits // 8))
