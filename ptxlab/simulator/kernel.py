"""Whole kernels, from CUDA C++ or PTX: simulated without a GPU, or launched on one."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from .._util.arguments import as_flag, as_int, as_text, check_bytes, is_a, is_name
from .._util.display import Displayed
from ..errors import PtxlabError, listing, quoted
from ..gpu.arrays import GpuArray, as_gpu_array, launch_stream, stream_handle
from ..gpu.compiler import SOURCE_NAME, compile_kernel, link_modules
from ..gpu.device import device_target
from ..gpu.kernel_launch import Members, Value, launch_kernel
from ..gpu.sass import counts_of_listing, disassemble
from ..isa.targets import GENERATIONS, TARGET_VERSIONS, TARGETS, PtxVersion, assembles_for, check_target
from ..memory import TensorMap
from .cuda_source import compile_cuda
from .device_memory import SHARED_START
from .distributed import simulate_on
from .events import Observer
from .hazard import HazardError, HazardLog
from .heap import HEAP_BYTES
from .launch_arguments import (
    Pointer,
    Struct,
    as_cluster,
    as_grid,
    as_launch,
    check_arguments,
    restored,
)
from .launch_record import RecordedLaunch, record
from .launch_threads import LaunchGrid
from .module_image import ModuleImage
from .peaks import PEAKS
from .ptx.linker import joined, read_modules
from .ptx.syntax import Function, Module, SourceLocation, plain_name
from .resident_blocks import ResidentBlocks
from .result import Result
from .simulate import Setup, simulate

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .debug import DebugSession
    from .history.run import Reduction, Run
    from .schedule import Schedule
    from .schedules.explore import Schedules
    from .timing.launch_profile import LaunchProfile, Occupancy

_DEFAULT_TARGET = "sm_90a"
_PTX = re.compile(r"^[^\S\n]*\.version\s+\d", re.MULTILINE)


class Kernel(Displayed):
    """A kernel; `ptxlab.kernel` makes one.

    `name` is its name in the PTX, `ptx` the text, `module` the text as data, `parameters` what it takes,
    `language` what its source is written in, `compiler` what made the PTX of CUDA C++, e.g. "Clang 22".
    Modules that it is linked with follow in `ptx`, and in `source` if that is PTX.
    """

    def __init__(
        self,
        module: Module,
        function: Function,
        target: str,
        ptx: str,
        source: str,
        options: tuple[str, ...] = (),
        expression: str | None = None,
        link: tuple[str, ...] = (),
        *,
        is_cuda: bool = True,
        language: str | None = None,
        remark: str = "",
        compiler: str = "",
    ) -> None:
        self.module = module
        self.function = function
        self.target = target
        self._texts = (ptx, *link)
        self.ptx = joined(self._texts) if link else ptx
        self.source = self.ptx if source is ptx else source
        self.options = options
        self._expression = expression  # the name as it is written in the source
        self.compiler = compiler
        self._is_cuda = is_cuda and self.source is not self.ptx  # `launch` compiles the source
        self.language = language or ("PTX" if self.source is self.ptx else "CUDA C++")
        self._remark = remark  # about lines, in reports
        self.argument_numbers: tuple[str, ...] = ()  # in messages, if they are not 1, 2, 3 ...
        self._image: ModuleImage | None = None
        self._machine_codes: dict[str, bytes] = {}  # by target; kept for the next launch

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_image": None}  # it contains functions; it is decoded again

    @property
    def name(self) -> str:
        """Its name in the PTX; C++ names are mangled there."""
        return self.function.name

    @property
    def title(self) -> str:
        """Its name in messages: the C++ name, without parameters."""
        return self._expression or plain_name(self.name)

    @property
    def parameters(self) -> tuple[str, ...]:
        """What it takes, in PTX's types; ``b8[128]`` is a struct."""
        return tuple(
            f"{parameter.type}[{parameter.count}]" if parameter.array else parameter.type
            for parameter in self.function.parameters
        )

    @property
    def cluster(self) -> tuple[int, int, int]:
        """Blocks of a cluster along x, y, z, as ``__cluster_dims__`` states them."""
        return as_cluster(None, self.function)

    @property
    def source_lines(self) -> frozenset[int]:
        """The lines of the source that became instructions."""
        return frozenset(instruction.source_line for instruction in self.function.instructions)

    def __repr__(self) -> str:
        compiled = f", compiled by {self.compiler}" if self.compiler.startswith("Clang") else ""
        return f"<kernel {self.title}({', '.join(self.parameters)}) for {self.target}{compiled}>"

    def simulate(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
        observers: Sequence[Observer] = (),
        show: bool | None = None,
        executor: Executor | None = None,
        check: bool | str = True,
        trace: bool | int = False,
        limit: int | None = None,
        assembled: bool = False,
        heap: int = HEAP_BYTES,
        schedule: Schedule | None = None,
    ) -> Result:
        """Run the kernel without a GPU, with the bits that an H200 gives.

        As in a launch: `grid` blocks of `block` threads, each one to three numbers. NumPy arrays are device
        memory and are written in place; the same array twice is the same memory. Scalars go by value,
        structs as bytes or as tuples of their members (an array is its address there), `ptxlab.tensor_map`
        as a tensor map. `shared` is dynamic shared memory in bytes; `cluster` is the number of blocks in a
        cluster, for a kernel that does not state it itself; `model` names the chip whose matrix arithmetic
        counts; `show` turns the progress bar on or off.
        `executor` is anything like those of `concurrent.futures`: blocks go to its workers, if they do not
        update each other's memory with atomic operations.

        `result.hazards` lists races, missing waits and the like, `result.notes` what PTX asks for and
        hardware has not been seen to need; with ``check="error"`` the first hazard is an error, with
        ``check=False`` nothing is checked, which takes less time. With an executor, blocks are compared only
        with others of the same worker. `limit` is the most instructions that warps may execute: a loop that
        never ends becomes an error.

        Where assemblers are known to make another value of the code than PTX says, a note has both values,
        and `assembled=True` goes on with the chip's.

        `heap` is how many bytes `malloc` may give out, 8 MiB as on a GPU whose `cudaLimitMallocHeapSize`
        nobody has changed. Each launch has a heap of its own, and so has each worker of an executor.

        `schedule` is a witness of `check`: warps, and asynchronous copies, run in that order. Hazards are
        then only looked for in kernels without asynchronous copies.

        `trace` is the number of a warp in the launch, or True for the first: `result.trace` has its every
        step. `debug` steps through a launch, forwards and backwards.

        >>> import numpy as np, ptxlab
        >>> text = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
        >>> x = np.arange(32, dtype=np.float32)
        >>> result = ptxlab.kernel(text).simulate(1, 32, x)
        >>> result.counts["mul.f32"] + result.counts["add.f32"]   # the compiler adds x to itself
        1
        >>> x[:4]
        array([0., 2., 4., 6.], dtype=float32)
        """
        shape = as_launch(self.function, grid, block, shared, cluster)
        image, setup = self._prepared(shape, arguments)
        if model is not None and not is_name(model, GENERATIONS):
            raise PtxlabError(f"model={quoted(model)}: there are {listing(GENERATIONS)}")
        as_check(check)
        if not is_a(observers, tuple, list) or not all(is_a(observer, Observer) for observer in observers):
            raise PtxlabError(f"observers={quoted(observers)}: it takes a list of ptxlab's Observer")
        limit = None if limit is None else as_int(limit, "limit")
        if limit is not None and limit < 0:
            raise PtxlabError(f"limit={quoted(limit)}: it is 0 or more")
        traced = None if trace is False else _traced_warp(shape, trace)
        heap = as_int(heap, "heap")
        if heap < 0:
            raise PtxlabError(f"heap={quoted(heap)}: it is 0 or more bytes")
        check_bytes(2 * heap, f"heap={heap}")
        variables = tuple(image.shared_variables(shape.shared))
        report = HazardLog(
            self.source, check == "error", variables, self.source is self.ptx, self.language, self._remark
        )
        setup = replace(
            setup,
            model=model,
            report=report if check else None,
            limit=limit,
            traced=traced,
            assembled=as_flag(assembled, "assembled"),
            heap=heap,
        )
        if schedule is not None:
            setup = self._scheduled(setup, schedule)
            if executor is not None:
                raise PtxlabError("a schedule is for one process; leave out the executor")
        options = {"shared": shared, "cluster": cluster, "model": model, "schedule": schedule}
        record(RecordedLaunch(self.debug, (self.title, self.name), (grid, block), arguments, options))
        try:
            if executor is None:
                if schedule is None:
                    setup = replace(setup, resident_blocks=self._resident_blocks(shape, image))
                outcome = simulate(image, setup, observers, show)
            elif observers:
                raise PtxlabError("observers follow blocks that run in this process; leave out the executor")
            else:
                outcome = simulate_on(executor, image, setup, show)
                report.extend(outcome.findings)
        except PtxlabError as error:
            _add_earlier_hazards(error, report)
            raise
        except MemoryError:
            raise PtxlabError(
                f"{self.title}: the simulation needs more memory than there is; fewer blocks, smaller arrays "
                "or check=False need less"
            ) from None
        return Result(
            profile=outcome.profile,
            footprint=outcome.touched.footprint,
            output=outcome.output,
            hazards=report.hazards,
            notes=report.notes,
            grid=setup.grid,
            trace=outcome.trace,
            source=self.source,
            ptx=self.ptx,
            name=self.title,
            _products=outcome.products,
        )

    def debug(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
        schedule: Schedule | None = None,
    ) -> DebugSession:
        """Step through a launch, forwards and backwards, and ask what is where; see `simulate`.

        The arrays hold what they hold at the session's position. Nothing is checked for hazards.

        >>> import numpy as np, ptxlab
        >>> text = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
        >>> x = np.ones(32, dtype=np.float32)
        >>> session = ptxlab.kernel(text).debug(1, 32, x)
        >>> session.run().stopped, float(x[0]), session.back(2).line, float(x[0])
        ('the end', 2.0, 1, 1.0)
        """
        from .debug import DebugSession

        shape = as_launch(self.function, grid, block, shared, cluster)
        image, setup = self._prepared(shape, arguments)
        if model is not None and not is_name(model, GENERATIONS):
            raise PtxlabError(f"model={quoted(model)}: there are {listing(GENERATIONS)}")
        resident_blocks = self._resident_blocks(shape, image)
        setup = replace(setup, model=model, resident_blocks=resident_blocks)
        if schedule is not None:
            setup = self._scheduled(setup, schedule)
        return DebugSession(self, image, setup)

    def check(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        schedules: str = "all",
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
        seconds: float = 60,
    ) -> Schedules:
        """Run every schedule of a launch: does another order give other bytes, or hang?

        The arguments are those of `simulate`; arrays stay as they are. Schedules that differ only in turns
        that commute are one class, which is run once. The result has a `proof`, a `witness` (a schedule for
        ``simulate(..., schedule=witness)`` and ``debug(..., schedule=witness)``), or a `bound`, where
        `seconds` were not enough or a hazard is left; it is true if it is a proof.

        >>> import numpy as np, ptxlab
        >>> text = '__global__ void last(int* x) { if (threadIdx.x % 32 == 0) *x = threadIdx.x / 32; }'
        >>> print(ptxlab.kernel(text).check(1, 64, np.zeros(1, np.int32)).witness)
        in this order argument 1[0] is 0, in the usual order 1 (1 of 1 elements differ)
          warp 1: ptxlab.cu:1 (st.global.u32), on to where it waits or ends
          warp 0: ptxlab.cu:1 (st.global.u32), on to where it waits or ends
        """
        from .schedules.explore import Explorer

        shape = as_launch(self.function, grid, block, shared, cluster)
        image, setup = self._prepared(shape, arguments)
        if schedules != "all":
            raise PtxlabError(f"schedules={quoted(schedules)}: it is 'all'")
        if model is not None and not is_name(model, GENERATIONS):
            raise PtxlabError(f"model={quoted(model)}: there are {listing(GENERATIONS)}")
        if not is_a(seconds, int, float) or not 0 < seconds < float("inf"):
            raise PtxlabError(f"seconds={quoted(seconds)}: it is a number above 0")
        variables = tuple(image.shared_variables(shape.shared))
        report = HazardLog(
            self.source, False, variables, self.source is self.ptx, self.language, self._remark
        )
        setup = replace(setup, model=model, report=report)
        return Explorer(self.title, image, setup, seconds).explore()

    def _scheduled(self, setup: Setup, schedule: Schedule) -> Setup:
        """The launch in the order of a schedule."""
        from .schedule import Schedule
        from .scheduled_machine import is_copy, visible_instructions

        if not isinstance(schedule, Schedule):
            raise PtxlabError(f"schedule={quoted(schedule)}: it is the witness of Kernel.check")
        if not schedule.stops:
            schedule = replace(schedule, stops=visible_instructions(self._decoded(setup.grid.shared)))
        copies = any(is_copy(instruction) for instruction in self.module.instructions)
        report = None if copies else setup.report
        return replace(setup, schedule=schedule, report=report, resident_blocks=None)

    def _prepared(self, shape: LaunchGrid, arguments: Sequence[object]) -> tuple[ModuleImage, Setup]:
        """The module, and a launch of it with these arguments."""
        values = check_arguments(self.function, arguments, self.title, self.argument_numbers)
        image = self._decoded(shape.shared)
        if any(instruction.parts[0] == "wgmma" for instruction in self.module.instructions):
            shape = replace(shape, unit=128)
        return image, Setup(shape, tuple(values))

    def _decoded(self, shared: int) -> ModuleImage:
        """The module, decoded at first use, for launches with that much dynamic shared memory."""
        if self._image is None:
            self._image = ModuleImage(self.module, self.function, self._texts)
        self._image.check_shared(shared)
        return self._image

    def launch(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        stream: object = None,
    ) -> None:
        """Run the kernel on the GPU, with the arguments of `simulate`; arrays are copied there and back.

        Arrays that are on the GPU (CuPy's, torch's, whatever has DLPack or `__cuda_array_interface__`) stay
        there, and the kernel runs on their library's current stream, or on `stream`: a stream of torch, CuPy
        or cuda.core, or its handle. If all are there, nothing waits for the kernel, as in CUDA; an error in
        it shows where the stream is synchronised. ::

            x = torch.ones(1024, device="cuda")
            ptxlab.kernel(source).launch(32, 32, x)
        """
        shape = as_launch(self.function, grid, block, shared, cluster)
        handle = None if stream is None else stream_handle(stream)
        host_values: list[object] = []
        on_gpu: dict[str, GpuArray] = {}
        for number, argument in enumerate(arguments, 1):
            host_values.append(self._on_host(argument, f"argument {number}", on_gpu))
        values = check_arguments(self.function, host_values, self.title)
        code = self.ptx.encode()
        if len(self._texts) > 1 or self._is_cuda:
            code = self._machine_code(device_target())
        passed = [
            Members(argument.size, [(offset, _passed(value)) for offset, value, _ in argument.members])
            if isinstance(argument, Struct)
            else _passed(argument)
            for argument in values
        ]
        if on_gpu:
            handle = launch_stream(on_gpu, handle)
        cooperative = self.module.reads_special("%envreg")  # as grid.sync() of cooperative groups does
        blocks = shape.blocks
        if "blocksareclusters" in self.function.directives:  # the driver is told how many clusters
            blocks = as_grid(grid, block, shared).blocks
        launch_kernel(
            code,
            self.name,
            blocks,
            shape.threads,
            shape.shared,
            passed,
            handle,
            cooperative,
            None if cluster is None else shape.cluster,
        )

    def profile(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        chip: str = "H200",
    ) -> LaunchProfile:
        """The predicted time of a launch on a chip, and where it goes; arrays stay as they are."""
        from .predict import WaitingError, profile
        from .timing.chip_timings import find_timing
        from .timing.kernel_code import machine_code

        timing = find_timing(chip)
        shape = as_launch(self.function, grid, block, shared, cluster)
        image, setup = self._prepared(shape, arguments)
        if self.module.debug:
            raise PtxlabError(
                f"the time of {self.name} cannot be predicted: it is compiled for a debugger (-G), without "
                "optimisation"
            )
        count = len(list(self.module.instructions))
        functions = tuple(name for name, function in self.module.functions.items() if not function.entry)
        code = machine_code(self._texts, self.name, timing.target, count, functions)
        ptx = self.source is self.ptx
        predict = partial(profile, image, setup, code, timing, name=self.title, ptx=ptx)
        try:
            with restored(setup.arguments):
                launch = predict()
        except (HazardError, WaitingError) as error:
            if isinstance(error, HazardError) and (error.hazard is None or error.hazard.kind != "deadlock"):
                raise
            with restored(setup.arguments):  # blocks may wait for others that are not in the sample
                launch = predict(together=True)
        return replace(launch, source=self.source)

    def run(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        output: object = None,
        rows: Mapping[int, int] | None = None,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
    ) -> Run:
        """A launch to compare with others, by the tree of operations that makes each element of an array.

        The arguments are those of `simulate`; the launch runs on the simulator when it is asked about, and
        arrays stay as they are. `output` is the array, or the number of its argument, from 1; it may be left
        out if the kernel writes only one. Elements of the arguments in `rows`, ``{number: length}``, are
        known by their place in a row of that length: two rows with the same tree then have the same
        fingerprint. `model` names the chip whose matrix arithmetic counts.

        >>> import numpy as np, ptxlab
        >>> text = '__global__ void twice(float* x) { x[threadIdx.x] += x[threadIdx.x]; }'
        >>> ptxlab.kernel(text).run(1, 32, np.ones(32, np.float32), rows={1: 1}).reduction()
        twice: 32 elements of argument 1, 1 tree; equal fingerprints mean equal bits for all inputs
        """
        from .history.run import Run

        shape = as_launch(self.function, grid, block, shared, cluster)
        image, setup = self._prepared(shape, arguments)
        if model is not None and not is_name(model, GENERATIONS):
            raise PtxlabError(f"model={quoted(model)}: there are {listing(GENERATIONS)}")
        variables = tuple(image.shared_variables(shape.shared))
        report = HazardLog(
            self.source, False, variables, self.source is self.ptx, self.language, self._remark
        )
        setup = replace(
            setup, model=model, resident_blocks=self._resident_blocks(shape, image), report=report
        )
        return Run(self.title, image, setup, output, rows)

    def reduction(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        output: object = None,
        rows: Mapping[int, int] | None = None,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
    ) -> Reduction:
        """The tree by which each element of an array is made, as a fingerprint; arguments as of `run`.

        Elements of two launches with equal fingerprints have equal bits for all inputs.

        >>> import numpy as np, ptxlab
        >>> text = '__global__ void total(const float* x, float* y) { *y = (x[0] + x[1]) + (x[2] + x[3]); }'
        >>> kernel, x, total = ptxlab.kernel(text), np.ones(4, np.float32), np.zeros(1, np.float32)
        >>> kernel.reduction(1, 1, x, total)
        total: 1 element of argument 2, 1 tree; equal fingerprints mean equal bits for all inputs
        """
        run = self.run(
            grid, block, *arguments,
            output=output, rows=rows, shared=shared, cluster=cluster, model=model,
        )  # fmt: skip
        return run.reduction()

    def occupancy(self, block: int | tuple[int, ...], *, shared: int = 0, chip: str = "H200") -> Occupancy:
        """How many blocks of `block` threads fit on an SM of a chip, and what limits that.

        >>> import ptxlab
        >>> str(ptxlab.kernel('extern "C" __global__ void nothing() {}').occupancy(256))
        '8 blocks of an SM, 64 warps of 64 (bound by threads)'
        """
        from .predict import occupancy
        from .timing.chip_timings import find_timing
        from .timing.kernel_code import registers

        timing = find_timing(chip)
        shape = as_launch(self.function, self.cluster, block, shared, None)
        image = self._decoded(shape.shared)
        used = image.dynamic_start - SHARED_START + shape.shared
        return occupancy(shape, registers(self._texts, self.name, timing.target), used, timing)

    def _resident_blocks(self, shape: LaunchGrid, image: ModuleImage) -> ResidentBlocks | None:
        """How many blocks of a launch run at a time on an H200; None for kernels of others, or if all do."""
        if self.target not in TARGETS or not assembles_for(self.target, _DEFAULT_TARGET):
            return None
        chip = PEAKS["H200"]
        if shape.block_count <= chip.sms:
            return None

        def fit(count: int | None) -> Occupancy:
            from .predict import occupancy
            from .timing.chip_timings import find_timing
            from .timing.kernel_code import registers

            timing = find_timing(chip.name)
            used = image.dynamic_start - SHARED_START + shape.shared
            count = registers(self._texts, self.name, timing.target) if count is None else count
            return occupancy(shape, count, used, timing)

        return ResidentBlocks(chip, shape, fit)

    def sass(self, target: str | None = None) -> str:
        """Its machine code (SASS), for its target or another; needs no GPU.

        Comments of nvdisasm, ``//## File "ptxlab.cu", line 3``, name the line of the source that the
        instructions after them come from.

        >>> import ptxlab
        >>> ptxlab.kernel('extern "C" __global__ void nothing() {}').sass().splitlines()[-1].split()
        ['/*0010*/', 'EXIT', ';']
        """
        target = self.target if target is None else check_target(target)
        return counts_of_listing(
            disassemble(self._machine_code(target), lines=True), target, self.name
        ).listing

    def _machine_code(self, target: str) -> bytes:
        if target not in self._machine_codes:
            if len(self._texts) > 1 or not self._is_cuda:
                self._machine_codes[target] = link_modules(self._texts, target)
            else:
                self._machine_codes[target], _ = compile_kernel(
                    self.source, target, self.options, self._expression
                )
        return self._machine_codes[target]

    def _on_host(self, argument: object, name: str, on_gpu: dict[str, GpuArray]) -> object:
        """The argument with addresses in place of arrays on the GPU, which are added to `on_gpu` by name."""
        if isinstance(argument, tuple):
            members = [
                self._on_host(member, f"{name}[{number}]", on_gpu) for number, member in enumerate(argument)
            ]
            return tuple(members)
        array = as_gpu_array(argument.array if isinstance(argument, TensorMap) else argument, name)
        if array is None:
            return argument
        on_gpu[name] = array
        return argument if isinstance(argument, TensorMap) else self._pointer(array, name)

    def _pointer(self, array: GpuArray, name: str) -> np.uint64:
        if not array.contiguous:
            raise PtxlabError(
                f"{name} of {self.title}: found an array on the GPU that is not contiguous; pass "
                "a contiguous copy (torch: .contiguous(), CuPy: cupy.ascontiguousarray)"
            )
        return np.uint64(array.pointer)


def build_kernel(
    source: str,
    name: str | None = None,
    target: str | None = None,
    options: Sequence[str] = (),
    link: Sequence[str] = (),
    file: str | None = None,
    *,
    origin: str | None = None,
    title: str | None = None,
    language: str | None = None,
    remark: str = "",
    compiler: str | None = None,
) -> Kernel:
    """A kernel from CUDA C++ or PTX text, as `ptxlab.kernel` makes it; messages call the source `file`.

    PTX is for the target that it names; another `target` must be one that the assembler takes it for. A
    `target` of None is the default, sm_90a.

    PTX from another compiler has an `origin`, the text that its lines (`.loc`) refer to, a `title`, the
    kernel's name there, and a `language`, whose names for instructions remedies use (`hazard.SPELLINGS`);
    reports add a `remark` about its lines. If the lines are those of a Python file or of a notebook's cell,
    the origin is read from there.

    >>> build_kernel('extern "C" __global__ void nothing(int* out, float x) {}')
    <kernel nothing(u64, f32) for sm_90a>
    """
    if not isinstance(source, str):
        raise PtxlabError(f"source: found {quoted(source)}; it takes CUDA C++ or PTX as text")
    text = source.removeprefix("\ufeff")  # the byte-order mark of files from Windows
    target = _DEFAULT_TARGET if target is None else check_target(target)
    linked = _as_modules(link)
    if _PTX.search(text):
        module = read_modules((text, *linked))
        if (
            target != _DEFAULT_TARGET
            and module.target in TARGETS
            and not assembles_for(module.target, target)
        ):
            raise PtxlabError(
                f"target={target!r}: the PTX says .target {module.target}, which the assembler does not take "
                f"for {target}"
            )
        since = TARGET_VERSIONS.get(module.target, PtxVersion(0, 0))
        if module.version < since:
            raise PtxlabError(
                f"the PTX says .version {PtxVersion(*module.version)}, and its target {module.target} came "
                f"with PTX {since}: state .version {since} or later"
            )
        function = _find_kernel(module, name)
        chip = module.target or target
        origin = origin or _python_origin(function)
        return Kernel(
            module,
            function,
            target=chip,
            ptx=text,
            source=origin or text,
            options=(),
            expression=title,
            link=linked,
            is_cuda=False,
            language=language,
            remark=remark,
        )
    flags = _as_options(options)
    if linked:
        flags = (*flags, "--relocatable-device-code=true")  # extern declarations remain
    expression = as_text(name, "name") if name is not None else None
    compiled = compile_cuda(text, target, flags, expression, file or SOURCE_NAME, compiler)
    module = _with_lines_of_traps(read_modules((compiled.ptx, *linked)), text, file or SOURCE_NAME)
    if not module.entries and re.search(r"\btemplate\s*<", text):
        raise PtxlabError(
            "there is no kernel in the source; a template becomes one when it is named with its arguments, "
            'as in ptxlab.kernel(source, "gemm<64>")'
        )
    function = _find_kernel(module, compiled.lowered_name or name)
    return Kernel(
        module,
        function,
        target=target,
        ptx=compiled.ptx,
        source=text,
        options=flags,
        expression=expression,
        link=linked,
        is_cuda=compiled.compiler.startswith("NVRTC"),
        compiler=compiled.compiler,
    )


def _with_lines_of_traps(module: Module, source: str, file: str) -> Module:
    """Where the compiler put nothing but a trap, it states no line: the trap gets that of its function."""
    functions = {}
    for name, function in module.functions.items():
        if not any(
            instruction.by_compiler and instruction.location is None for instruction in function.instructions
        ):
            continue
        begins = re.search(rf"\b{plain_name(name).rpartition('::')[2]}\s*\([^;{{}}]*\)\s*\{{", source)
        if begins is not None:
            location = SourceLocation(file, source.count("\n", 0, begins.start()) + 1, 0)
            functions[name] = replace(
                function,
                instructions=tuple(
                    replace(instruction, location=location)
                    if instruction.by_compiler and instruction.location is None
                    else instruction
                    for instruction in function.instructions
                ),
            )
    return replace(module, functions=module.functions | functions) if functions else module


def _python_origin(function: Function) -> str | None:
    """The text of the Python file or notebook cell that the lines of PTX refer to; None if not known."""
    places = [instruction.source for instruction in function.instructions if instruction.source is not None]
    files = {place.file for place in places}
    if len(files) != 1 or not (file := files.pop()).endswith(".py"):
        return None
    if file not in linecache.cache and not PurePath(file).is_absolute():  # linecache would search sys.path
        return None
    lines = linecache.getlines(file)
    return "".join(lines) if max(place.line for place in places) <= len(lines) else None


def _passed(value: Pointer | Value) -> Value:
    """An argument as `launch_kernel` takes it."""
    return value.memory if isinstance(value, Pointer) else value


def as_check(check: bool | str) -> bool | str:
    """A valid `check` of `simulate`: whether to look for hazards, or "error" to stop at the first."""
    if not isinstance(check, bool) and as_text(check, "check") != "error":
        raise PtxlabError(f"check={quoted(check)}: it is True, False or 'error'")
    return check


def _traced_warp(shape: LaunchGrid, trace: bool | int) -> tuple[int, int]:
    """The block, and the warp in it, that `simulate` is to trace."""
    number = 0 if trace is True else as_int(trace, "trace")
    warps = shape.block_count * shape.warps
    if not 0 <= number < warps:
        raise PtxlabError(f"trace={quoted(number)}: the launch has {warps} warps, from 0 on")
    return divmod(number, shape.warps)


def _add_earlier_hazards(error: PtxlabError, report: HazardLog) -> None:
    """Add the hazards found before an error to it, as notes."""
    earlier = [hazard for hazard in report.hazards if hazard.sentence != str(error)]
    for hazard in earlier[:5]:
        error.add_note(f"a hazard before: {hazard.sentence}")
    if isinstance(error, HazardError) and error.hazard is not None:
        error.hazard = report.with_text(error.hazard)
        error.hazards = [*earlier, error.hazard]


def _as_modules(link: object) -> tuple[str, ...]:
    """The texts of PTX modules."""
    if isinstance(link, str) or not isinstance(link, Sequence):
        raise PtxlabError(f"link={quoted(link)}: it is a list of PTX modules, as texts")
    for number, text in enumerate(link):
        if not isinstance(text, str) or not _PTX.search(text):
            raise PtxlabError(f"link[{number}]: found {quoted(text)}; it takes a PTX module as text")
    return tuple(link)


def _as_options(options: object) -> tuple[str, ...]:
    if isinstance(options, str) or not isinstance(options, Sequence):
        raise PtxlabError(f"options={quoted(options)}: they are a list of NVRTC's, such as ['-DTILE=64']")
    return tuple(as_text(option, "options") for option in options)


def _find_kernel(module: Module, name: str | None) -> Function:
    """The kernel of that name, or the only one."""
    entries = module.entries
    if not entries:
        raise PtxlabError(
            "there is no kernel in the source; a kernel is a __global__ function (.entry in PTX)"
        )
    if name is None:
        if len(entries) > 1:
            raise PtxlabError(f"the source has {len(entries)} kernels; name one of them: {listing(entries)}")
        return module.functions[entries[0]]
    text = as_text(name, "name")
    mangled = f"_Z{len(text)}{text}"  # how the mangled name of a function begins
    matching = [entry for entry in entries if entry == text or entry.startswith(mangled)]
    if len(matching) != 1:
        raise PtxlabError(f"name={quoted(text)}: the source has {listing(entries)}")
    return module.functions[matching[0]]
