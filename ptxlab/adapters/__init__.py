"""Kernels of other compilers on the simulator: a module for each, imported at use.

A new framework is a module here with an `install()`, and a row in `frameworks.py`, which says what else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._util.arguments import is_a
from ..errors import PtxlabError, quoted
from ..isa.targets import check_target, chip_number
from ..simulator.kernel import Kernel, build_kernel
from .cubin import embedded_ptx
from .framework_session import version_errors

if TYPE_CHECKING:
    from .numba import NumbaKernel
    from .triton import TritonKernel

__all__ = ["compiled_kernel"]


def compiled_kernel(compiled: Any, name: str | None, target: str) -> Kernel | NumbaKernel | TritonKernel:
    """A kernel from a framework's object, compiled or to be compiled; for Numba, `name` is a signature."""
    owners = {
        (base.__module__.partition(".")[0], base.__name__)
        for base in type.mro(type(compiled))
        if is_a(base.__module__, str)
    }
    if ("triton", "CompiledKernel") in owners:
        with version_errors("triton"):
            from .triton import TritonKernel
        return TritonKernel.of(compiled)
    if ("triton", "KernelInterface") in owners:
        raise PtxlabError(
            f"source: found {quoted(compiled)}, which is not compiled: pass what kernel.warmup(...) or "
            "triton.compile(...) gives, or launch it inside ptxlab.simulating()"
        )
    if ("numba", "CUDADispatcher") in owners:
        with version_errors("numba.cuda"):
            from .numba import NumbaKernel
        return NumbaKernel(compiled, name, divmod(chip_number(check_target(target)), 10))
    if ("cutlass", "JitCompiledFunction") in owners:
        with version_errors("cutlass"):
            from .cute_dsl import compiled_function
        return compiled_function(compiled, name)
    if ("cupy", "RawKernel") in owners:
        from .cupy import raw_kernel

        return raw_kernel(compiled, target)
    if isinstance(compiled, bytes | bytearray):
        return build_kernel(embedded_ptx(bytes(compiled)), name)
    raise PtxlabError(
        f"source: found {quoted(compiled)}; it takes CUDA C++ or PTX as text, Triton's CompiledKernel, "
        "Numba's CUDADispatcher, a function that cute.compile gives, CuPy's RawKernel or a cubin with its PTX"
    )
