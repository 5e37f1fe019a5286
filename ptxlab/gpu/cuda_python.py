"""CUDA for Python (cuda.core and cuda.bindings), imported at first use.

Type checkers do not find its types, so protocols describe here what ptxlab uses.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Literal, Protocol, SupportsInt

from ..errors import PtxlabError

#: The command that installs NVRTC, the CUDA headers and CUDA for Python.
INSTALL = 'pip install "ptxlab[cuda13]" (or [cuda12])'
#: The command that installs Clang, on any system.
INSTALL_CLANG = 'pip install "ptxlab[clang]"'


def in_a_tab() -> bool:
    """Whether Python runs in a browser, where nothing of CUDA can be installed."""
    return sys.platform == "emscripten"


Module = Literal[
    "cuda.core",
    "cuda.core.utils",
    "cuda.bindings.driver",
    "cuda.bindings.nvrtc",
    "cuda.bindings.nvml",
    "cuda.bindings.nvjitlink",
]


def load(name: Module) -> ModuleType:
    """A module of CUDA for Python; if it is missing, the error says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError:
        # `gpu.status()` prints it, and a line of a notebook has room for 104 characters
        missing = f"CUDA for Python is not installed: {INSTALL}; the emulator needs none"
        if in_a_tab():
            missing = (
                "a browser's tab has neither a GPU nor CUDA's compiler: use Colab or a computer; "
                "the emulator needs none"
            )
        if sys.platform == "darwin":
            compiler = f"Clang compiles kernels there ({INSTALL_CLANG})"
            missing = f"a Mac has neither an NVIDIA GPU nor CUDA: {compiler}"
        raise PtxlabError(missing) from None


class DriverError(PtxlabError):
    """CUDA refused an action; after a fault of the GPU it refuses every one."""


def check(result: tuple[Any, ...], action: str) -> tuple[Any, ...]:
    """The results of a driver function without its error code; a code other than 0 is an error."""
    code, *values = result
    if int(code) != 0:
        raise DriverError(f"{action} failed: {code.name}")
    return tuple(values)


class CudaEvent(Protocol):
    """`cuda.core.Event`."""

    @property
    def is_done(self) -> bool: ...


class Stream(Protocol):
    """`cuda.core.Stream`."""

    @property
    def handle(self) -> SupportsInt: ...

    def record(self) -> CudaEvent: ...

    def sync(self) -> None: ...


class Buffer(Protocol):
    """`cuda.core.Buffer`."""

    @property
    def handle(self) -> SupportsInt: ...

    def copy_from(self, src: Buffer, *, stream: Stream) -> None: ...

    def copy_to(self, dst: Buffer, *, stream: Stream) -> Buffer: ...

    def close(self, stream: Stream) -> None: ...


class Device(Protocol):
    """`cuda.core.Device`."""

    @property
    def default_stream(self) -> Stream: ...

    def set_current(self) -> object: ...

    def allocate(self, size: int, *, stream: Stream) -> Buffer: ...
