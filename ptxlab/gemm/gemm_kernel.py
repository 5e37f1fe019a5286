"""What every GEMM kernel has, dense or sparse: its source, its machine code, and a simulated launch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..gpu.compiler import compile_kernel
from ..gpu.device import device_target
from ..isa.mma import MmaForm
from ..simulator import Result
from ..simulator.kernel import Kernel, kernel
from .call import H200_PROCESSORS, Call
from .catalog import Row
from .source import compose


@dataclass(frozen=True)
class GemmKernel(ABC):
    """A row of the table of kernels with an instruction, constants, and the type in which D is stored."""

    row: Row
    form: MmaForm
    constants: dict[str, int]
    result: str

    @property
    @abstractmethod
    def target(self) -> str:
        """The target that it is compiled for, unless it is launched on another."""

    @abstractmethod
    def call(
        self, A: Any, B: ArrayLike, C: ArrayLike | None = None, *, processors: int = H200_PROCESSORS
    ) -> Call:
        """A launch for these matrices: A [M, K], B [K, N], C [M, N], as values."""

    @cached_property
    def source(self) -> str:
        """The whole CUDA C++, headers included."""
        return compose(self.row.file, self.form, self.constants, self.result)

    @cached_property
    def kernel(self) -> Kernel[Result]:
        """The kernel, as `ptxlab.kernel` makes it."""
        return kernel(self.source, "gemm", self.target)

    @cached_property
    def code(self) -> bytes:
        """Its machine code for the GPU of this machine."""
        code, _ = compile_kernel(self.source, device_target(), (), "gemm")
        return code

    @property
    def b_by_rows(self) -> bool:
        """Whether it reads a B whose rows are contiguous, [K, N], not its columns."""
        return bool(self.constants.get("B_BY_ROWS", 0))

    def simulate(
        self,
        A: Any,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        processors: int = H200_PROCESSORS,
        **options: Any,
    ) -> tuple[NDArray[Any], Result]:
        """D and what the simulator saw; options are those of `kernel.simulate`."""
        call = self.call(A, B, C, processors=processors)
        return call.D, call.simulate(self.kernel, **options)
