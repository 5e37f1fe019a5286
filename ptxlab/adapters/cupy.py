"""CuPy's `RawKernel` -> a kernel for the simulator. Read with CuPy 14.2; nothing of CuPy is imported."""

from __future__ import annotations

from typing import Any, TypeVar

from ..errors import PtxlabError
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel

R = TypeVar("R", bound=Result)


def raw_kernel(result_type: type[R], compiled: Any, target: str) -> Kernel[R]:
    """A `RawKernel` from its CUDA C++, which NVRTC compiles again, with the same options."""
    code, name = compiled.code, compiled.name
    if code is None:
        raise PtxlabError(f"the RawKernel {name} was made from a file; it has no CUDA C++ to compile")
    return build_kernel(result_type, code, name, target, compiled.options)
