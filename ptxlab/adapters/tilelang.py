"""TileLang on the simulator: launches for `ptxlab.simulating`.

Tried with tilelang 0.1.15. TileLang generates CUDA C++ for a kernel and, for its NVRTC backend, a Python
function that sets up tensor maps and launches through the driver. While a session is open, kernels are
compiled for this backend and to PTX, and the driver functions that this function calls are replaced. A
session replaces in TileLang: `tilelang.jit.cached`, which compiles, `compile_cuda`, and loading in
`NVRTCLibraryGenerator`. For line numbers of Python in reports, TileLang generates `#line`; statements of its
own library get none (`set_stmt_span`), and copies keep theirs when warps are specialised. Persistent kernels
query the number of SMs (`get_cuda_device_properties`), `tilelang.autotune` the GPU (`auto_detect_target`):
the session answers.
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import tilelang
from tilelang.jit.adapter.nvrtc import adapter, is_nvrtc_available, libgen
from tilelang.jit.kernel import JITKernel

from ..errors import PtxlabError
from ..gpu.compiler import header_folders
from ..memory import TensorMap
from ..simulator.kernel import Kernel, build_kernel
from .framework_session import Former, Patch, Session, in_session, install_patches, open_session
from .host_arrays import MAP_TYPES, HostMemory, host_array, is_array, map_of_memory
from .python_source import PythonLines, generated_lines

if not is_nvrtc_available:
    raise PtxlabError("TileLang's kernels need its NVRTC backend: pip install cuda-python")
_DRIVER = libgen.cuda  # cuda.bindings.driver
_SUCCESS = _DRIVER.CUresult.CUDA_SUCCESS
_FIRST_LINE = "#include <tl_templates/cuda/nvrtc_std.h>\n"  # TileLang puts it before a kernel
_JIT = import_module("tilelang.jit")  # the package also has a function of this name
_MADE = "TileLang's CUDA C++"  # the name, in reports, of code without a line of Python
_PASSES = ("MaterializeWSSchedule", "ProducerConsumerWarpSpecialized")  # they create statements anew


def _target(session: Session) -> dict[str, str]:
    """The target that TileLang compiles for."""
    return {"kind": "cuda", "arch": session.target}


def _tensor_map(
    data_type: int,
    rank: int,
    address: int,
    sizes: list[int],
    strides: list[int],
    box: list[int],
    steps: list[int],
    interleave: int,
    swizzle: int,
    promotion: int,
    fill: int,
) -> tuple[Any, TensorMap]:
    """As cuTensorMapEncodeTiled; the innermost dimension comes first, and has no stride."""
    if int(interleave):
        raise PtxlabError("interleaved tensor maps are not simulated yet")
    name = MAP_TYPES[int(data_type)]
    return _SUCCESS, map_of_memory(name, address, sizes, strides, box, swizzle, fill, steps)


class _Library:
    """One compilation of TileLang: kernels by name, and the function that launches them."""

    def __init__(self, ptx: str, code: str, module: ModuleType) -> None:
        lines = PythonLines.of(code, _MADE)
        self._ptx = ptx if lines is None else lines.in_ptx(ptx)
        self._source = _FIRST_LINE + code if lines is None else "".join(linecache.getlines(lines.file))
        self._remark = generated_lines("TileLang") if lines is None else ""
        self.module = module
        self._kernels: dict[str, Kernel] = {}
        self._calls = threading.local()  # the memory of the call in each thread
        self._call = self.module.call
        self.module.__dict__.update(
            call=self.call,
            CUdevice=lambda index: index,
            cuKernelSetAttribute=lambda *_: (_SUCCESS,),
            cuTensorMapEncodeTiled=_tensor_map,
            cuLaunchKernelEx=self.launch,
        )

    def call(self, kernels: Any, *arguments: Any, stream: object = None) -> Any:
        """As the generated function; it notes the arrays of the call."""
        self._calls.memory = HostMemory(
            [host_array(argument) for argument in arguments if is_array(argument)]
        )
        return self._call(kernels, *arguments, stream=stream)

    def launch(self, config: Any, name: str, arguments: tuple[Any, Any], extra: object) -> tuple[Any]:
        """As cuLaunchKernelEx."""
        session = open_session("compiled")
        if name not in self._kernels:
            self._kernels[name] = build_kernel(
                self._ptx, name,
                origin=self._source, title=name, language="TileLang", remark=self._remark,
            )  # fmt: skip
        kernel = self._kernels[name]
        cluster = None
        for attribute in config.attrs[: config.numAttrs]:
            if attribute.id == _DRIVER.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                cluster = (
                    attribute.value.clusterDim.x,
                    attribute.value.clusterDim.y,
                    attribute.value.clusterDim.z,
                )
        contents = [
            value if isinstance(value, TensorMap) else bytes(kind(value))
            for value, kind in zip(*arguments, strict=True)
        ]
        session.simulate(
            kernel,
            (config.gridDimX, config.gridDimY, config.gridDimZ),
            (config.blockDimX, config.blockDimY, config.blockDimZ),
            self._calls.memory.arguments(kernel.function, contents),
            config.sharedMemBytes,
            cluster,
        )
        return (_SUCCESS,)


@in_session
def _set_stmt_span(session: Session, former: Former, statement: Any, span: Any) -> None:
    if not span.source_name.name.startswith(str(Path(tilelang.__file__).parent)):
        former(statement, span)


def _operations(module: Any) -> list[Any]:
    """Calls of `T.copy` and the like."""
    calls: list[Any] = []

    def visit(node: Any) -> None:
        name = getattr(getattr(getattr(node, "value", None), "op", None), "name", "")
        if type(node).__name__ == "Evaluate" and name.startswith("tl.tileop."):
            calls.append(node)

    for function in module.functions.values():
        tilelang.tvm.tirx.stmt_functor.post_order_visit(function.body, visit)
    return calls


def _line_patches() -> list[Patch]:
    """Rows that give statements lines of the program."""
    nodes, passes = sys.modules.get("tilelang.ir"), sys.modules.get("tilelang.cuda.transform")
    set_span = getattr(nodes, "set_stmt_span", None)
    if nodes is None or passes is None or set_span is None:
        return []

    def run(make_pass: Callable[..., Any], module: Any, *arguments: Any, **named: Any) -> Any:
        spans = [
            (operation.value.args[0], nodes.get_stmt_span(operation)) for operation in _operations(module)
        ]
        changed = make_pass(*arguments, **named)(module)
        for operation in _operations(changed):
            if nodes.get_stmt_span(operation) is not None:
                continue
            for argument, span in spans:
                if span is not None and operation.value.args[0].same_as(argument):
                    set_span(operation, span)
        return changed

    @in_session
    def keeping_lines(session: Session, make_pass: Former, *arguments: Any, **named: Any) -> Any:
        return lambda module: run(make_pass, module, *arguments, **named)

    why = "the pass loses the lines of calls"
    return [
        Patch(nodes, "set_stmt_span", _set_stmt_span, "lines of TileLang's own files are not the program's"),
        *(Patch(passes, name, keeping_lines, why, "0.1.15") for name in _PASSES),
    ]


@in_session
def _properties(session: Session, former: Former, device_id: int = 0) -> Any:
    major, minor = session.capability
    return SimpleNamespace(
        name=session.chip,
        major=major,
        minor=minor,
        multi_processor_count=session.peaks.sms,
        shared_memory_per_block=49152,  # without an attribute (CUDA C++ Programming Guide)
    )


@in_session
def _detect(session: Session, former: Former) -> Any:
    return _target(session)


@in_session
def _cached(session: Session, former: Former, func: Any = None, out_idx: Any = None, **named: Any) -> Any:
    has_lines = hasattr(tilelang.PassConfigKey, "TL_EMIT_LINE_DIRECTIVES")  # since 0.1.15
    line_config = {"tl.emit_line_directives": True} if has_lines else {}
    return JITKernel(
        func,
        out_idx,
        execution_backend="nvrtc",
        target=_target(session),
        pass_configs=(named.get("pass_configs") or {}) | line_config,
        compile_flags=named.get("compile_flags"),
    )


@in_session
def _to_ptx(
    session: Session,
    former: Former,
    code: str,
    target_format: str = "cubin",
    options: Any = (),
    **named: Any,
) -> bytes:
    major, minor = session.capability
    flags = [*options, *(f"-I{folder}" for folder in header_folders()), "-lineinfo"]
    lines = PythonLines.of(code, _MADE)
    code = code if lines is None else lines.code
    architecture = 10 * major + minor
    # With `verbose`, an error contains the compiler's message.
    return bytes(former(code, target_format="ptx", arch=architecture, options=flags, verbose=True))


@in_session
def _load_lib(session: Session, former: Former, generator: Any, lib_path: str | None = None) -> None:
    ptx = Path(generator.libpath).read_text().rstrip("\0")
    module = generator.import_from_file("kernel", generator.pypath)
    generator.pymodule = _Library(ptx, generator.lib_code, module).module


def install() -> Callable[[], None]:
    """Let TileLang launch on the simulator; returns a function that undoes it."""
    driver = sys.modules.get("tilelang.carver.arch.driver.cuda_driver")
    targets = sys.modules.get("tilelang.backend.target")
    kernels = SimpleNamespace(
        CUresult=_DRIVER.CUresult, cuLibraryGetKernel=lambda _, name: (_SUCCESS, name.decode())
    )
    patches = [
        *_line_patches(),
        Patch(driver, "get_cuda_device_properties", _properties, "chip", "where it is imported"),
        Patch(targets, "auto_detect_target", _detect, "chip", "where it is imported"),
        Patch(_JIT, "cached", _cached, "a kernel is compiled for NVRTC's backend"),
        Patch(libgen, "compile_cuda", _to_ptx, "and to PTX, with lines"),
        Patch(getattr(libgen, "NVRTCLibraryGenerator", None), "load_lib", _load_lib, "a launch"),
        Patch(adapter, "cuda", kernels, "the handle of a kernel is its name"),
    ]
    called = [(libgen, "NVRTCLibraryGenerator"), (adapter, "NVRTCKernelAdapter")]
    return install_patches(f"TileLang {tilelang.__version__}", "0.1.15", patches, called)
