"""CuPy's `RawKernel` on the simulator: those made inside `ptxlab.simulating`, and kernels from others.

Read with CuPy 14.2, and tried with a stand-in of it; nothing of CuPy is imported. Its class is compiled, so
that only its name can be given to another: a `RawKernel` that was made before a session runs on a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._util.arguments import as_names, as_text, is_a
from ..errors import PtxlabError, quoted
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from .arrays import host_array, is_array
from .session import current_session, fitting, replaced

R = TypeVar("R", bound=Result)


def raw_kernel(result_type: type[R], compiled: Any, target: str) -> Kernel[R]:
    """A `RawKernel` from its CUDA C++, which NVRTC compiles again, with the same options."""
    with fitting("cupy"):
        code, name, options = compiled.code, compiled.name, compiled.options
    if code is None:
        raise PtxlabError(
            f"the RawKernel {as_text(name, 'name')} was made from a file; it has no CUDA C++ to compile"
        )
    return build_kernel(result_type, code, name, target, options)


def install() -> Callable[[], None]:
    """Let kernels that are made from now on launch on the simulator; the result undoes it."""
    cupy = sys.modules["cupy"]
    former = cupy.RawKernel

    class RawKernel:
        """As CuPy's, with arrays of the host."""

        def __init__(
            self, code: str | None, name: str, options: Sequence[str] = (), *rest: Any, **named: Any
        ) -> None:
            self.code = None if code is None else as_text(code, "code")
            self.name, self.options = as_text(name, "name"), as_names(options, "options")
            self._rest = rest, named

        def __call__(
            self, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any], *, shared_mem: int = 0
        ) -> None:
            session = current_session()
            if session is None:
                rest, named = self._rest
                compiled = former(self.code, self.name, self.options, *rest, **named)
                compiled(grid, block, args, shared_mem=shared_mem)
                return
            if not is_a(args, tuple, list):
                raise PtxlabError(f"args={quoted(args)}: {self.name} takes a tuple of arguments")
            key = ("cupy", self.code, self.name, self.options)
            if key not in session.kept:
                session.kept[key] = raw_kernel(session.result_type, self, session.target)
            arguments = [host_array(each) if is_array(each) else each for each in args]
            session.simulate(session.kept[key], grid, block, arguments, shared_mem)

    return replaced([(cupy, "RawKernel", RawKernel)])
