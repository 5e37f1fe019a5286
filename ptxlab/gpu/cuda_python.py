"""CUDA for Python (cuda.core and cuda.bindings), imported at first use."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Literal

from ..errors import PtxlabError

__all__ = ["INSTALL", "load"]

#: What installs NVRTC, the CUDA headers and CUDA for Python.
INSTALL = 'pip install "ptxlab[cuda13]" (or [cuda12] for a CUDA 12 driver)'


def load(name: Literal["cuda.core", "cuda.bindings.driver", "cuda.bindings.nvrtc"]) -> ModuleType:
    """A module of CUDA for Python; where it is missing, the error says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise PtxlabError(f"CUDA for Python is not installed: {INSTALL}; the emulator needs none") from None
