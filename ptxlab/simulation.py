"""Kernels for users: `ptxlab.kernel`, and results that are shown in a notebook and open in the Explorer.

As in `ptxlab.instruction`, methods import what they need when they are called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, overload

from .errors import PtxlabError, needs_lab
from .isa.operation import Operation
from .isa.tcgen05 import Tcgen05Mma
from .simulator import Result
from .simulator.kernel import Kernel, build_kernel
from .simulator.timing.launch_profile import LaunchProfile

if TYPE_CHECKING:
    from .adapters.numba import NumbaKernel
    from .adapters.session import Session
    from .adapters.triton import TritonKernel
    from .explorer import Explorer
    from .explorer.kernel_player import KernelPlayer

__all__ = ["Profile", "RecordedOperands", "Simulation", "kernel", "simulating"]


class RecordedOperands(Operation):
    """What a matrix instruction of a simulated kernel read; `explore` opens the Explorer on it."""

    def explore(self, **options: Any) -> Explorer:
        """The Explorer with these registers; `seed` and `height` as in `ptxlab.explore`."""
        from .explorer import explore

        form = self.ins if isinstance(self.ins, Tcgen05Mma) else self.mma
        return explore(form, operands=self, **options)


class Simulation(Result):
    """The result of `k.simulate(...)`; a notebook shows the source with counts and conflicts in its margin.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> result = ptxlab.kernel(source).simulate(2, 32, np.ones(32, np.float32))
    >>> result.counts["ld.global.f32"], result.bounds("H200")[0].resource
    (2, 'DRAM')
    """

    def operands(self, line: int | None = None, warp: int = 0, *, index: int = 0) -> RecordedOperands:
        """What a matrix instruction read in one warp, as `Result.operands`; `.explore()` shows it."""
        recorded = super().operands(line, warp, index=index)
        return RecordedOperands(**{each.name: getattr(recorded, each.name) for each in fields(recorded)})

    def player(self) -> KernelPlayer:
        """A widget with a slider through the steps of the warp that `simulate(..., trace=True)` followed."""
        with needs_lab("the player"):
            from .explorer.kernel_player import KernelPlayer
        return KernelPlayer(self)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The player, if a warp was traced; otherwise the page of `_repr_html_`."""
        if self.trace is None or not self.trace.steps:
            return {}
        try:
            return self.player()._repr_mimebundle_(**options)
        except PtxlabError:
            return {}

    def _ipython_display_(self) -> None:
        """Show the player, which saves the page of `_repr_html_` in the notebook's file."""
        if self.trace is None or not self.trace.steps:
            raise NotImplementedError  # IPython then uses `_repr_html_`
        try:
            player = self.player()
        except PtxlabError:
            raise NotImplementedError from None
        player._ipython_display_()

    def _repr_html_(self) -> str:
        from .views.annotated_source import profile_html

        return profile_html(self)

    @staticmethod
    def kernel_html(title: str, source: str, lines: Collection[int]) -> str:
        """A kernel in a notebook: its source with line numbers."""
        from .views.annotated_source import kernel_lines, source_html

        return source_html(source, title=title, part=kernel_lines(source, lines))

    @staticmethod
    def launch_profile(profile: LaunchProfile) -> Profile:
        """The profile in a form that notebooks and terminals show."""
        return Profile(**{each.name: getattr(profile, each.name) for each in fields(profile)})


class Profile(LaunchProfile):
    """The result of `k.profile(...)`; a notebook shows the source with cycles and stalls in its margin.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> profile = ptxlab.kernel(source).profile(2, 32, np.ones(64, np.float32))
    >>> str(profile).splitlines()[0].endswith("µs on an H200, predicted")
    True
    """

    def __str__(self) -> str:
        from .views.launch_profile import profile_text

        return profile_text(self)

    def _repr_html_(self) -> str:
        from .views.launch_profile import launch_html

        return launch_html(self)


@overload
def kernel(
    source: str,
    name: str | None = None,
    target: str = "sm_90a",
    options: Sequence[str] = (),
    *,
    link: Sequence[str] = (),
) -> Kernel[Simulation]: ...


@overload
def kernel(
    source: object, name: str | None = None, target: str = "sm_90a"
) -> Kernel[Simulation] | NumbaKernel[Simulation] | TritonKernel[Simulation]: ...


def kernel(
    source: object,
    name: str | None = None,
    target: str = "sm_90a",
    options: Sequence[str] = (),
    *,
    link: Sequence[str] = (),
) -> Kernel[Simulation] | NumbaKernel[Simulation] | TritonKernel[Simulation]:
    """A kernel from CUDA C++ (compiled by NVRTC, which needs no GPU), PTX text or another framework.

    `name` chooses among several; a C++ template is named with its arguments, ``"gemm<64, 64>"``. `options`
    are NVRTC's, e.g. ``["-DTILE=64", "--use_fast_math"]``. `link` are further PTX modules, whose functions
    and variables it uses. `k.simulate(...)` runs it without a GPU, `k.launch(...)` on one.

    From other frameworks it takes Triton's `CompiledKernel`, whose ``simulate(grid, *arguments)`` needs no
    block; Numba's dispatcher, for which `name` is a signature, ``"void(float32[::1], int32)"``, or None to
    follow the arguments; CuPy's `RawKernel`; and the bytes of a cubin that holds its PTX, as cuTile's do.

    >>> kernel('extern "C" __global__ void nothing(int* out, float x) {}')
    <kernel nothing(u64, f32) for sm_90a>
    """
    if isinstance(source, str) and issubclass(type(source), str):  # a proxy or a mock may claim to be one
        return build_kernel(Simulation, source, name, target, options, link)
    from .adapters import compiled_kernel

    return compiled_kernel(Simulation, source, name, target)


def simulating(
    chip: str = "H200",
    *,
    check: bool | str = True,
    show: bool | None = None,
    trace: bool | int = False,
    profile: bool = False,
) -> Session[Simulation]:
    """A context in which launches of other frameworks run on the simulator, unmodified.

    These are Triton, Gluon, Numba, CuTe DSL, Warp, TileLang, CuPy and cuTile. Arrays are NumPy's, torch's on
    the CPU, or any with `__array_interface__`; kernels write them in place. `session.results` has the result
    of each launch. Kernels are compiled for `chip`, e.g. "H200", "A100" or "B200"; `check`, `show` and
    `trace` are those of `Kernel.simulate`. With `profile` the session also has the predicted time of each
    launch (`session.profiles`), by which Triton's autotuner chooses. It affects all threads, since a
    framework has one driver for all of them: a launch belongs to the session that its thread opened last,
    or else to the newest. ::

        with ptxlab.simulating() as session:
            add[(8,)](x, y, out, 1000, BLOCK=128)
        session.results[0].hazards
    """
    from .adapters.session import Session

    return Session(Simulation, chip, check, show, trace, profile)
