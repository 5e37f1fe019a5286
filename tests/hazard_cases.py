"""Kernels with a hazard each, broken and fixed: for the tests, and for `tools.hazards`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab import PtxlabError
from ptxlab.kernels.kernel import Kernel

__all__ = ["FILE", "HAZARDS", "hazards_of", "launch_of", "variant"]

FILE = Path(__file__).parent / "kernels" / "hazards" / "hazards.cu"

#: Kernel -> the kind of its hazard.
HAZARDS = {
    "reverse": "race",
    "next_turn": "race",
    "warp_reverse": "race",
    "count_all": "race",
    "named": "race",
    "neighbours": "race",
    "unpublished": "race",
    "half_filled": "uninitialised memory",
    "stack": "uninitialised memory",
    "copy_unwaited": "missing wait",
    "copy_uncommitted": "missing wait",
    "copy_order": "race",
    "bulk_unwaited": "missing wait",
    "bulk_unfenced": "missing proxy fence",
    "bulk_reused": "missing wait",
    "divided": "divergent barrier",
}


@cache
def _compiled(fixed: bool) -> Kernel:
    options = ["-DFIXED"] if fixed else []
    return ptxlab.kernel(FILE.read_text(encoding="utf-8"), "reverse", "sm_90a", options)


def variant(name: str, fixed: bool) -> Kernel:
    """A kernel of the file; all are compiled at once."""
    first = _compiled(fixed)
    return Kernel(first.module, first.module.functions[name], first.target, first.ptx, first.source)


def launch_of(name: str) -> tuple[int, int, list[Any]]:
    """Blocks, threads, arguments."""
    count = len(variant(name, False).parameters)
    values = np.zeros(512, np.int32) if name == "unpublished" else np.arange(512, dtype=np.int32)
    return 2 if name == "neighbours" else 1, 64, [values.copy() for _ in range(count)]


def hazards_of(name: str, fixed: bool = False, check: bool | str = True) -> list[str]:
    """The sentences about a kernel: its hazards, or the error that ends it."""
    grid, block, arguments = launch_of(name)
    try:
        result = variant(name, fixed).simulate(grid, block, *arguments, check=check)
    except PtxlabError as error:
        return [str(error)]
    return [hazard.sentence for hazard in result.hazards]
