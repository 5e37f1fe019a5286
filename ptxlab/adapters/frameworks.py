"""The frameworks whose launches `ptxlab.simulating` takes, and the module of this package for each.

What else a new one needs is listed in CONTRIBUTING, "Adding a framework".
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from ..errors import PtxlabError

#: By the module that a program imports: the adapter, a module of this package with an `install()`.
ADAPTERS = {
    "triton": "triton",
    "numba.cuda": "numba",
    "cutlass.cute": "cute_dsl",
    "warp": "warp",
    "tilelang": "tilelang",
    "cupy": "cupy",
    "cuda.tile": "cutile",
}


def adapters_in_use() -> dict[str, str]:
    """The rows of `ADAPTERS` of frameworks that are imported, or else of those that are installed."""
    imported = {name: adapter for name, adapter in ADAPTERS.items() if name in sys.modules}
    if imported:
        return imported
    for name, adapter in ADAPTERS.items():
        if _is_installed(name):
            try:
                import_module(name)
            except Exception:  # a broken installation; a program that uses it imports it itself
                continue
            imported[name] = adapter
    if not imported:
        raise PtxlabError(
            "ptxlab.simulating: neither Triton nor Numba's CUDA target, CuTe DSL, Warp, TileLang, CuPy or "
            "cuTile is installed; pip install triton, numba-cuda, nvidia-cutlass-dsl, warp-lang, tilelang, "
            "cupy or cuda-tile[tileiras]"
        )
    return imported


def _is_installed(name: str) -> bool:
    """Whether a module can be found.

    A folder without __init__.py has no origin: it may be a framework's examples next to the program. So is
    NVIDIA's `cuda`, with which several packages share their modules.
    """
    spec = find_spec(name.partition(".")[0])
    if spec is not None and spec.origin is None and "." in name:
        spec = find_spec(name)
    return spec is not None and spec.origin is not None
