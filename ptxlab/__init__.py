"""ptxlab: edit a matrix, see the registers of every lane, run the tensor-core instruction, see why."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .catalog import catalog
from .dtypes import DTYPES, dtype
from .errors import PtxlabError
from .instruction import TARGETS, Instruction
from .mnemonic import instruction

if TYPE_CHECKING:
    from .arithmetic import models
    from .lessons import progress
    from .tiles import matmul
    from .widgets import explore

__version__ = "0.1.0"
__all__ = ["DTYPES", "TARGETS", "Instruction", "PtxlabError", "catalog", "dtype", "explore", "instruction", "matmul", "models", "progress"]

#: Names that load their room when first used, so that `import ptxlab` needs NumPy and ml_dtypes only.
_LATE = {"explore": "widgets", "matmul": "tiles", "models": "arithmetic", "progress": "lessons"}
_ROOMS = (
    "arithmetic", "bar", "describe", "emulator", "figures", "gpu", "hunt", "inputs", "kernel", "lessons", "memory", "moves", "palette", "parallel",
    "sass", "sparsity", "tiles", "trace", "widgets", "wmma",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
