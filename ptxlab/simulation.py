"""Kernels for users: `ptxlab.kernel` and `ptxlab.simulating`, which load the adapters of other frameworks.

`Simulation`, `Profile` and `RecordedOperands` are what `k.simulate`, `k.profile` and `result.operands` give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from .isa.operation import Operation as RecordedOperands
from .simulator import Result as Simulation
from .simulator.kernel import Kernel, build_kernel
from .simulator.timing.launch_profile import LaunchProfile as Profile

if TYPE_CHECKING:
    from .adapters.framework_session import Session
    from .adapters.numba import NumbaKernel
    from .adapters.triton import TritonKernel

__all__ = ["Profile", "RecordedOperands", "Simulation", "kernel", "simulating"]


@overload
def kernel(
    source: str,
    name: str | None = None,
    target: str = "sm_90a",
    options: Sequence[str] = (),
    *,
    link: Sequence[str] = (),
    compiler: str | None = None,
) -> Kernel: ...


@overload
def kernel(
    source: object, name: str | None = None, target: str = "sm_90a"
) -> Kernel | NumbaKernel | TritonKernel: ...


def kernel(
    source: object,
    name: str | None = None,
    target: str = "sm_90a",
    options: Sequence[str] = (),
    *,
    link: Sequence[str] = (),
    compiler: str | None = None,
) -> Kernel | NumbaKernel | TritonKernel:
    """A kernel from CUDA C++, PTX text or another framework. No compiler of CUDA C++ needs a GPU.

    `name` chooses among several; a C++ template is named with its arguments, ``"gemm<64, 64>"``. `options`
    are NVRTC's, e.g. ``["-DTILE=64", "--use_fast_math"]``. `link` are further PTX modules, whose functions
    and variables it uses. `compiler` is "nvrtc" (NVIDIA's NVRTC), "clang" (of PyPI's ziglang, on any system)
    or None: NVRTC where it is installed, else Clang. `k.simulate(...)` runs it without a GPU, `k.launch(...)`
    on one.

    From other frameworks it takes Triton's `CompiledKernel`, whose ``simulate(grid, *arguments)`` needs no
    block; Numba's dispatcher, for which `name` is a signature, ``"void(float32[::1], int32)"``, or None to
    follow the arguments; CuPy's `RawKernel`; and the bytes of a cubin that holds its PTX, as cuTile's do.

    >>> kernel('extern "C" __global__ void nothing(int* out, float x) {}')
    <kernel nothing(u64, f32) for sm_90a>
    """
    if isinstance(source, str) and issubclass(type(source), str):  # a proxy or a mock may claim to be one
        return build_kernel(source, name, target, options, link, compiler=compiler)
    from .adapters import compiled_kernel

    return compiled_kernel(source, name, target)


def simulating(
    chip: str = "H200",
    *,
    check: bool | str = True,
    show: bool | None = None,
    trace: bool | int = False,
    profile: bool = False,
    debug: bool = False,
) -> Session:
    """A context in which launches of other frameworks run on the simulator, unmodified.

    These are Triton, Gluon, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile. Arrays are NumPy's, torch's on
    the CPU, or any with `__array_interface__`; kernels write them in place. `session.results` has the result
    of each launch. Kernels are compiled for `chip`, e.g. "H200", "A100" or "B200"; `check`, `show` and
    `trace` are those of `Kernel.simulate`. With `profile` the session also has the predicted time of each
    launch (`session.profiles`), by which Triton's autotuner chooses. With `debug` it keeps the arrays as they
    were before each launch, and `session.debug(index)` steps through one. It affects all threads, since a
    framework has one driver for all of them: a launch belongs to the session that its thread opened last,
    or else to the newest. ::

        with ptxlab.simulating() as session:
            add[(8,)](x, y, out, 1000, BLOCK=128)
        session.results[0].hazards
    """
    from .adapters.framework_session import Session

    return Session(chip, check, show, trace, profile, debug)
