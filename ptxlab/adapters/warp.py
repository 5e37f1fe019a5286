"""Warp's kernels on the simulator: launches for `ptxlab.simulating`.

Tried with warp-lang 1.19.0. Without a GPU, Warp's device is the CPU, with its arrays; while a session is
open, `wp.launch`, and with it `wp.launch_tiled` and the backward pass of a tape, compile the module to PTX
with Warp's own compiler and simulate it instead of running host code. A device named "cuda" is the CPU,
unless there is a GPU. Products, solvers and Fourier transforms of tiles are Warp's own, without MathDx, which
does not generate PTX. Hash grids are those of the CPU; kernels cannot read meshes and volumes, and textures
need a GPU. A graph is captured and launched as on the CPU: Warp records its launches, copies and conditions
in order, and calls back for each launch.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp
from warp._src import codegen, context
from warp._src.apic.types import APICLaunchInfo

from ..errors import PtxlabError
from ..isa.targets import chip_number
from ..simulator.kernel import Kernel, build_kernel
from .framework_session import (
    Former,
    Patch,
    Session,
    attributes_replaced,
    current_session,
    in_session,
    install_patches,
    patches_of_importers,
)
from .host_arrays import HostMemory, array_at, host_array, is_array
from .python_source import generated_lines, python_text

_THREADS = 256  # threads of a block, by default
_WITHOUT_MATHDX = {f"enable_mathdx_{library}": False for library in ("gemm", "fft", "solver")}
_NOT_READ = (warp.Mesh, warp.Volume, warp.Bvh)
#: What is called of Warp's `context`; what is replaced is in `install`.
_CALLED = (
    "pack_arg",
    "compile_aot_module",
    "_normalize_launch_dim",
    "_build_launch_bounds_from_tuple",
    "_get_apic_capture_for_device",
)
_FAILURES: list[BaseException] = []  # of launches in the current graph
#: The type of function that Warp calls for a launch in a graph, with the addresses of bounds and arguments.
_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def _memory(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays of an argument, including those in structs, and their gradients."""
    if isinstance(value, warp.array):
        if value.ptr:
            steps = [(size - 1) * step for size, step in zip(value.shape, value.strides, strict=True)]
            size = warp.types.type_size_in_bytes(value.dtype) + sum(steps)
            yield array_at(int(value.ptr), (size,), (1,), np.dtype(np.uint8))
        if value.grad is not None and value.grad is not value:
            yield from _memory(value.grad)
    elif hasattr(value, "_cls") and hasattr(value._cls, "vars"):
        for name in value._cls.vars:
            yield from _memory(getattr(value, name))
    elif hasattr(value, "data") and hasattr(value, "indices"):  # an indexed array
        yield from _memory(value.data)
        for index in value.indices:
            yield from _memory(index)
    elif is_array(value):
        yield host_array(value)


class _HashGrid(ctypes.Structure):
    """HashGrid_t of Warp's hashgrid.h; the `id` of a `wp.HashGrid` is its address."""

    _fields_: ClassVar = [
        ("point_cells", ctypes.c_uint64),
        ("point_ids", ctypes.c_uint64),
        ("point_keys", ctypes.c_uint64),
        ("cell_starts", ctypes.c_uint64),
        ("cell_ends", ctypes.c_uint64),
        ("dimensions", ctypes.c_int32 * 3),
        ("points", ctypes.c_int32),
        ("most_points", ctypes.c_int32),
        ("most_keys", ctypes.c_int32),
        ("has_groups", ctypes.c_int32),
        ("context", ctypes.c_uint64),
    ]


def _grids(kernel: Any, values: Sequence[Any]) -> list[Any]:
    """The hash grids whose ids are among the arguments of a kernel; meshes and volumes are refused."""
    ids = {int(value) for value in values if isinstance(value, int | np.integer | warp.uint64)}
    if not any(number > 1 << 16 for number in ids):
        return []
    kinds = (warp.HashGrid, *_NOT_READ)
    grids = [candidate for candidate in gc.get_objects() if type(candidate) in kinds and candidate.id in ids]
    for grid in grids:
        if type(grid) in _NOT_READ:
            raise PtxlabError(
                f"{kernel.key} takes a wp.{type(grid).__name__}, which is not simulated: "
                "Warp keeps it in memory of its own"
            )
    return grids


def _grid_memory(grids: Sequence[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The current memory of hash grids; a build may move it."""
    for grid in grids:
        header = _HashGrid.from_address(grid.id)
        if tuple(header.dimensions) != (grid._dim_x, grid._dim_y, grid._dim_z):
            raise PtxlabError(f"hash grids of Warp {warp.__version__}: ptxlab knows those of 1.19.0")
        cells, points = 4 * math.prod(header.dimensions), 8 * header.most_points
        sizes = {
            grid.id: ctypes.sizeof(header) + 2 * warp.types.type_size_in_bytes(grid.dtype),
            header.point_cells: points,
            header.point_ids: points,
            header.point_keys: 16 * header.most_keys,
            header.cell_starts: cells,
            header.cell_ends: cells,
        }
        for address, size in sizes.items():
            if address and size:
                yield array_at(address, (size,), (1,), np.dtype(np.uint8))


def _compiled(session: Session, kernel: Any, block: int, backward: bool) -> tuple[Kernel, int]:
    """The kernel and its bytes of shared memory.

    Without a backward launch only the forward pass is compiled, which is faster.
    """
    module = kernel.module
    kernels = tuple(module.kernels.values())  # the objects, since ids of deleted ones are reused
    written = python_text(kernel.func)  # None for a kernel of `wp.map`
    key = ("warp", module, block, kernels, len(kernel.overloads), backward, written is None)
    if key not in session.adapter_cache:
        number = chip_number(session.target)
        with tempfile.TemporaryDirectory(prefix="ptxlab-warp-") as folder:
            options = {"block_dim": block, "enable_backward": backward, "lineinfo": True}
            changes = [(warp.config, "line_directives", written is not None), (codegen, "options", {})]
            with attributes_replaced(changes):
                former = dict(module.options)
                module.options |= options | _WITHOUT_MATHDX
                module.mark_modified()  # so that the options take effect
                try:
                    warp.compile_aot_module(module, arch=number, module_dir=folder, use_ptx=True)
                finally:
                    module.options.clear()
                    module.options.update(former)
                    module.mark_modified()
            (path,) = Path(folder).glob("*.ptx")
            sizes: dict[str, Any] = {}
            for metadata_file in Path(folder).glob("*.meta"):
                sizes |= json.loads(metadata_file.read_text(encoding="utf-8"))
            (generated,) = Path(folder).glob("*.cu")
            session.adapter_cache[key] = (
                *(source_file.read_text(encoding="utf-8") for source_file in (path, generated)),
                sizes,
            )
    ptx, generated_text, sizes = session.adapter_cache[key]
    ending = f"_cuda_kernel_{'backward' if backward else 'forward'}"
    names = re.findall(rf"\.entry ({re.escape(kernel.key)}(?:_[0-9a-f]{{8}})?{ending})\(", ptx)
    if len(names) != 1:
        names = [name for name in names if name == kernel.get_mangled_name() + ending]
    if not names:
        raise PtxlabError(f"Warp compiled no kernel {kernel.key}{ending}")
    chosen = (key, names[0])
    if chosen not in session.adapter_cache:
        session.adapter_cache[chosen] = build_kernel(
            ptx,
            names[0],
            origin=written or generated_text,
            title=kernel.key,
            language="Warp",
            remark="" if written else generated_lines("Warp"),
        )
    return session.adapter_cache[chosen], int(sizes.get(f"{names[0]}_smem_bytes", 0))


class _Command(context.Launch):  # type: ignore[misc]
    """The result of `wp.launch(record_cmd=True)`: a launch that can be repeated with other arguments."""

    def __init__(self, launch: Callable[..., Any], options: dict[str, Any]) -> None:
        self.kernel, self._launch = options["kernel"], launch
        self._launch_options = options | {
            "record_cmd": False,
            "record_tape": False,
            "outputs": [],
            "adj_outputs": [],
        }
        self._launch_options["inputs"] = [*options["inputs"], *options["outputs"]]
        self._launch_options["adj_inputs"] = [*options["adj_inputs"], *options["adj_outputs"]]

    def set_dim(self, dim: Any) -> None:
        """Set the number of threads of later launches."""
        self._launch_options["dim"] = dim

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Set an argument of later launches; Warp's other methods call this."""
        self._launch_options["adj_inputs" if adjoint else "inputs"][index] = value

    def set_param_at_index_from_ctype(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Refuse: the memory of an array in C is not known."""
        raise PtxlabError("an argument as ctypes is not simulated: set_param_at_index takes the value itself")

    def launch(self, stream: Any = None) -> None:
        """Repeat the launch."""
        self._launch(**self._launch_options | {"stream": stream})


def _record(
    capture: Any,
    kernel: Any,
    bounds: Any,
    launch: Callable[[Session], None],
) -> None:
    """Add a launch to the graph that is being captured, as a host function without parameters."""
    functions, conditions = _kept_with(context.runtime._apic_graph)

    def replay(*_addresses: object) -> None:
        session = current_session()  # not necessarily that of the capture
        if session is not None and not _FAILURES:
            try:
                return launch(session)
            except BaseException as error:  # Warp's native loop over the graph cannot propagate it
                _FAILURES.append(error)
        for condition in conditions:  # so that Warp's while loops end
            condition.zero_()
        if session is None:  # ctypes prints an exception that a callback raises
            raise PtxlabError("a graph that was captured in ptxlab.simulating can be launched only there")
        return None

    functions.append(_HOST_FUNCTION(replay))
    address = ctypes.cast(functions[-1], ctypes.c_void_p)
    name = f"ptxlab_{address.value}".encode()
    dimensions = kernel.adj.kernel_dim
    information = APICLaunchInfo(kernel_key=name, module_hash=b"", is_forward=1, kernel_dim=dimensions)
    core = context.runtime.core
    core.wp_apic_register_cpu_kernel(capture.apic_state, name, b"", address, None)
    core.wp_cpu_launch_kernel(address, ctypes.byref(bounds), None, None, ctypes.byref(information))


def _kept_with(graph: Any) -> tuple[list[Any], list[Any]]:
    """The functions that a graph calls, which must live as long as it, and the conditions of its loops."""
    kept: tuple[list[Any], list[Any]] = vars(graph).setdefault("_ptxlab_kept", ([], []))
    return kept


def _threads(block: int | None) -> int:
    return block if block is not None and block > 0 else _THREADS


@in_session
def _block_dim(session: Session, former: Former, device: Any, block: int | None) -> int:
    return _threads(block) if device.is_cpu else int(former(device, block))


@in_session
def _get_device(session: Session, former: Former, runtime: Any, name: Any = None) -> Any:
    absent = isinstance(name, str) and name.startswith("cuda") and not runtime.cuda_devices
    return runtime.cpu_device if absent else former(runtime, name)


@in_session
def _launch(session: Session, former: Former, *arguments: Any, **named: Any) -> Any:
    """`wp.launch` of a session: kernels run on the simulator, except those for a GPU that is there."""
    bound = inspect.signature(former).bind(*arguments, **named)
    bound.apply_defaults()
    options = bound.arguments
    warp.init()
    device = context.runtime.get_device(options["device"])
    if not device.is_cpu:
        return former(*arguments, **named)
    if options["record_cmd"]:
        return _Command(context.launch, options)
    kernel, block = options["kernel"], _threads(options["block_dim"])
    dimensions, size = context._normalize_launch_dim(options["dim"])
    forward, adjoint = (
        [*options["inputs"], *options["outputs"]],
        [*options["adj_inputs"], *options["adj_outputs"]],
    )
    if size:
        if kernel.is_generic:
            kernel = kernel._add_normalized_overload(kernel.infer_argument_types(forward))
        grids = _grids(kernel, forward)
        compiled, shared = _compiled(session, kernel, block, options["adjoint"])
        packed = [context._build_launch_bounds_from_tuple(dimensions, kernel.adj.kernel_dim)]
        for values, is_adjoint in ((forward, False), (adjoint, True)):
            packed += [
                context.pack_arg(kernel, argument.type, argument.label, value, device, is_adjoint)
                for argument, value in zip(kernel.adj.args, values, strict=False)
            ]
        contents = [
            ctypes.string_at(ctypes.addressof(value), variable.size)
            for value, variable in zip(packed, compiled.function.parameters, strict=True)
        ]
        blocks = -(-size // block)
        if options["max_blocks"] > 0:
            blocks = min(blocks, options["max_blocks"])

        def simulate(session: Session) -> None:
            arrays = [array for value in (*forward, *adjoint) for array in _memory(value)]
            arrays += _grid_memory(grids)  # alive in this list, where a grid's own pointers are looked up
            passed = HostMemory(arrays).arguments(compiled.function, contents)
            session.simulate(compiled, (blocks,), block, passed, shared)

        capture = context._get_apic_capture_for_device(device)
        if capture is None:
            simulate(session)
        else:
            _record(capture, kernel, packed[0], simulate)
    tape = context.runtime.tape
    if tape and options["record_tape"]:
        rest = (options["max_blocks"], options["inputs"], options["outputs"], device, block)
        tape.record_launch(
            kernel, dimensions, *rest, metadata={"caller": {"file": "", "lineno": 0, "func": ""}}
        )
    return None


@in_session
def _capture_launch(session: Session, former: Former, *arguments: Any, **named: Any) -> None:
    _FAILURES.clear()  # of an earlier launch that raised an error
    former(*arguments, **named)
    if _FAILURES:
        raise _FAILURES.pop()


@in_session
def _record_while(session: Session, former: Former, condition: Any, *arguments: Any, **named: Any) -> None:
    _kept_with(context.runtime._apic_graph)[1].append(condition)
    former(condition, *arguments, **named)


def install() -> Callable[[], None]:
    """Let Warp launch on the simulator; returns a function that undoes it."""
    title, called = f"Warp {warp.__version__}", [(context, name) for name in _CALLED]
    patches = [
        *patches_of_importers(context.launch, _launch, "a launch, also as the program has imported it"),
        *patches_of_importers(
            context.capture_launch, _capture_launch, "errors of launches in a graph are raised"
        ),
        Patch(context, "_resolve_launch_block_dim", _block_dim, "on the CPU a block would have one thread"),
        Patch(context, "_apic_record_capture_while", _record_while, "loops of a graph end after an error"),
        Patch(context.Runtime, "get_device", _get_device, "device='cuda' is the simulated one"),
    ]
    return install_patches(title, "1.19.0", patches, called)
