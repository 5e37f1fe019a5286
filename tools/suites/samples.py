"""Small collections: compute-sanitizer's samples, and kernels of Faial's tutorial and of GKLEE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptxlab

from .launches import device_part
from .runs import LIMIT, Run


class Sample(NamedTuple):
    """A kernel of a file, its launch, and what is wrong with it."""

    file: str
    kernel: str
    bug: str | None
    grid: int
    block: int
    arguments: Callable[[], list[Any]]
    remark: str = ""


def _ints(count: int) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.int32)


def _floats(count: int) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.float32)


def _velocities(spread: int) -> list[Any]:
    indices = (np.arange(4096) // spread).astype(np.uint32)
    return [indices, np.zeros((4096, 4), np.float32), np.ones(3, np.float32).tobytes(), _floats(4096)]


SAMPLES: dict[str, tuple[Sample, ...]] = {
    "compute-sanitizer samples": (
        Sample("Memcheck/memcheck_demo.cu", "unaligned_kernel", "misaligned", 1, 1, list),
        Sample("Memcheck/memcheck_demo.cu", "out_of_bounds_kernel", "out of bounds", 1, 1, list),
        Sample("Racecheck/block_error.cu", "sumKernel", "race", 1, 128, lambda: [_ints(128), _ints(1)]),
        Sample("Racecheck/warp_error.cu", "sumKernel", "race", 1, 64, lambda: [_ints(64), _ints(1)]),
        Sample("Synccheck/divergent_threads.cu", "myKernel", "divergent barrier", 1, 64,
               lambda: [_ints(1008), _ints(1)]),
        Sample("Synccheck/illegal_syncwarp.cu", "myKernel", "mask", 1, 32, lambda: [_ints(1)]),
        Sample("Initcheck/memset_error.cu", "vectorAdd", "uninitialised memory", 2, 32, lambda: [_ints(64)],
               "memory of cudaMalloc that was not written: an array of the caller counts as written"),
    ),
    "Faial's tutorial": (
        Sample("saxpy.cu", "saxpy", "", 2, 64, lambda: [128, np.float32(2), _floats(129), _floats(129)]),
        Sample("saxpy-buggy.cu", "saxpy", "race", 2, 64,
               lambda: [128, np.float32(2), _floats(129), _floats(129)]),
        Sample("command-line-options/racy-grid-level.cu", "saxpy", "race", 2, 64,
               lambda: [64, np.float32(2), _floats(129), _floats(129)]),
        Sample("adding-assumptions/read-index.cu", "read_index", "race", 2, 64, lambda: _velocities(2)),
        Sample("adding-assumptions/read-index-fixed.cu", "read_index", "", 2, 64, lambda: _velocities(1)),
    ),
    "GKLEE's kernels, with Simulee": (
        Sample("gklee-test-repair/barrier1.cu", "dl", "divergent barrier", 2, 32, lambda: [_ints(64)],
               "lanes that have ended do not count at a barrier, since Volta"),
        Sample("gklee-test-repair/barrier2.cu", "dl", "", 2, 32, lambda: [_ints(64)]),
        Sample("gklee-test-repair/barrier3.cu", "dl", "divergent barrier", 1, 64, lambda: [_ints(64)],
               "warps may meet at one barrier from different lines"),
        Sample("gklee-test-repair/conel.cu", "colonel", "race", 2, 128, lambda: [_ints(64)]),
    ),
}  # fmt: skip
_MACROS = """typedef unsigned int uint;
#define __assume(...)
#define __distinct_int(x)
__device__ float4 make_float4(float3 v, float w) { return make_float4(v.x, v.y, v.z, w); }
#line 1
"""


def runs(suite: str, folder: Path, words: str = "", clean: bool = False) -> Iterator[Run]:
    """Those of a collection, from a copy of its repository."""
    for sample in SAMPLES[suite]:
        name = f"{sample.file} {sample.kernel}"
        if words in name and not (clean and sample.bug):
            run = Run(suite, name, sample.bug, sample.remark)
            yield run.do(partial(_simulated, folder / sample.file, sample))


def _simulated(file: Path, sample: Sample) -> Any:
    source = _MACROS + device_part(file.read_text(encoding="utf-8", errors="replace"))
    kernel = ptxlab.kernel(source, sample.kernel)
    return kernel.simulate(sample.grid, sample.block, *sample.arguments(), limit=LIMIT, show=False)
