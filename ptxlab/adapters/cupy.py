"""CuPy's `RawKernel` on the simulator: launches inside `ptxlab.simulating`, and `ptxlab.kernel(raw_kernel)`.

Tried with CuPy 14.2, which needs no GPU to make a `RawKernel`; it is not imported here. A session replaces
`RawKernel.__call__`, so that it also covers kernels that were made before, and `RawModule.get_function`,
which would need a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._util.arguments import as_int, as_text, is_a
from ..errors import PtxlabError, quoted
from ..simulator.kernel import Kernel, build_kernel
from .framework_session import (
    Former,
    Patch,
    Session,
    current_session,
    in_session,
    install_patches,
    version_errors,
)
from .host_arrays import host_array, is_array


def raw_kernel(compiled: Any, target: str) -> Kernel:
    """A `RawKernel` from its CUDA C++, which NVRTC compiles again, with the same options, or from its PTX."""
    with version_errors("cupy"):
        code, name, options = compiled.code, compiled.name, compiled.options
        path: Any = getattr(compiled, "file_path", None)
    if code is None and is_a(path, str) and path.endswith(".ptx") and Path(path).is_file():
        code = Path(path).read_text(encoding="utf-8")
    if code is None:
        raise PtxlabError(
            f"the RawKernel {as_text(name, 'name')} was made from a file; it has no CUDA C++ to compile"
        )
    return build_kernel(code, name, target, options)


class _Function:
    """A kernel of a `RawModule`; of a `RawKernel`'s attributes it has the four that tell its source."""

    def __init__(self, module: Any, name: str, on_gpu: Callable[..., Any]) -> None:
        self.code, self.file_path, self.options = module.code, module.file_path, module.options
        self.name = as_text(name, "name")
        self._module, self._on_gpu = module, on_gpu

    def __call__(self, *arguments: Any, **named: Any) -> None:
        if current_session() is None:
            self._on_gpu(self._module, self.name)(*arguments, **named)
        else:
            _launch(self, *arguments, **named)


def _launch(
    kernel: Any, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any], *, shared_mem: int = 0
) -> None:
    """As a call of a `RawKernel`."""
    session = current_session()
    assert session is not None
    if not is_a(args, tuple, list):
        raise PtxlabError(f"args={quoted(args)}: {kernel.name} takes a tuple of arguments")
    key = ("cupy", kernel.code, kernel.file_path, kernel.name, kernel.options)
    if key not in session.adapter_cache:
        session.adapter_cache[key] = raw_kernel(kernel, session.target)
    arguments = [host_array(arg) if is_array(arg) else arg for arg in args]
    session.simulate(session.adapter_cache[key], grid, block, arguments, as_int(shared_mem, "shared_mem"))


@in_session
def _call(session: Session, former: Former, kernel: Any, *arguments: Any, **named: Any) -> None:
    _launch(kernel, *arguments, **named)


@in_session
def _get_function(session: Session, former: Former, module: Any, name: str) -> Any:
    return _Function(module, name, former)


def install() -> Callable[[], None]:
    """Let CuPy launch on the simulator; returns a function that undoes it."""
    cupy: Any = sys.modules["cupy"]
    patches = (
        Patch(cupy.RawKernel, "__call__", _call, "a launch"),
        Patch(cupy.RawModule, "get_function", _get_function, "the kernels of a module are launched, too"),
    )
    return install_patches(f"CuPy {getattr(cupy, '__version__', '?')}", "14.2.0", patches)
