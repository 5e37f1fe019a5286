"""ptxlab: edit a matrix, see the registers of every lane, run the tensor-core instruction, see why."""

from __future__ import annotations

from ._util import interrupts as _interrupts  # noqa: F401 - first, for an interrupt while the others load

# isort: split
try:
    import ml_dtypes as _ml_dtypes  # noqa: F401 - and NumPy, which it needs
except ModuleNotFoundError as error:
    raise ImportError(f"ptxlab needs {error.name}: pip install numpy ml_dtypes", name=error.name) from None
# isort: split
import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__
from .errors import PtxlabError
from .instruction import Instruction, Transfer, catalog, explore, instruction
from .isa.dtypes import DTYPES, dtype
from .isa.targets import TARGETS

if TYPE_CHECKING:
    from .course.progress_record import progress
    from .gemm.compressed import compress, prune
    from .gemm.matmul import matmul
    from .gpu.measure import measure
    from .gpu.records import measured
    from .isa.repack import repack
    from .judging import judge
    from .memory import tensor_map
    from .numerics import models
    from .shapes import walk
    from .simulation import kernel, simulating
    from .simulator.history.compare import compare
    from .simulator.history.invariant import invariant
    from .simulator.kernel import Kernel as Kernel

__all__ = [
    "DTYPES",
    "TARGETS",
    "Instruction",
    "PtxlabError",
    "Transfer",
    "catalog",
    "compare",
    "compress",
    "dtype",
    "explore",
    "instruction",
    "invariant",
    "judge",
    "kernel",
    "matmul",
    "measure",
    "measured",
    "models",
    "progress",
    "prune",
    "repack",
    "simulating",
    "tensor_map",
    "walk",
]

#: What loads its package when first used, so that `import ptxlab` needs NumPy and ml_dtypes only.
_FUNCTIONS = {
    "Kernel": "simulator.kernel",
    "compare": "simulator.history.compare",
    "compress": "gemm.compressed",
    "invariant": "simulator.history.invariant",
    "judge": "judging",
    "kernel": "simulation",
    "load_ipython_extension": "jupyter",  # %load_ext ptxlab
    "matmul": "gemm.matmul",
    "measure": "gpu.measure",
    "measured": "gpu.records",
    "models": "numerics",
    "progress": "course.progress_record",
    "prune": "gemm.compressed",
    "repack": "isa.repack",
    "simulating": "simulation",
    "tensor_map": "memory",
    "walk": "shapes",
}
#: Modules for users, and where they live.
_MODULES = {
    "figures": "figures",
    "gemm": "gemm",
    "gpu": "gpu",
    "inputs": "inputs",
    "lessons": "lessons",
    "memory": "memory",
    "sparsity": "isa.sparsity",
    "views": "views",
    "wmma": "wmma",
}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f".{_FUNCTIONS[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
