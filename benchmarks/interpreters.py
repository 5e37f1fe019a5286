"""python -m benchmarks.interpreters: the simulator beside TRITON_INTERPRET=1 and Numba's simulator.

One launch each of the same kernels, after a launch of one block that compiles them: in Triton a product of
512 x 512 x 512 (f16, sums in f32) and a softmax of 256 rows of 1000, in Numba smaller ones, since its
simulator starts a thread of Python for each thread. Each tool runs in a process of its own, as it reads its
settings when it is imported. Times are the processor's, of all threads, which other work on the machine
changes little. ptxlab checks for hazards all the while; the others look for none.

It needs Triton, numba-cuda and NVIDIA's compilers: pip install triton "numba-cuda[cu13]" nvidia-cuda-nvcc.
With --record it keeps the times for the documentation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .__main__ import keep, processor

#: Tools with what switches on their own interpreter.
TOOLS = {"triton": {"TRITON_INTERPRET": "1"}, "numba": {"NUMBA_ENABLE_CUDASIM": "1"}}
KERNELS = ("product", "softmax")
#: Sizes: of the products, and rows and columns of the softmax.
SIZES = {"triton": (512, (256, 1000)), "numba": (64, (32, 250))}
_TILE, _STEP = 64, 32  # of the product in Triton


class HostTensor:
    """A NumPy array as Triton's interpreter asks for tensors: of torch's, what it calls."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.dtype = str(array.dtype)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def untyped_storage(self) -> HostTensor:
        return self

    def cpu(self) -> HostTensor:
        return self

    def new_empty(self, *shape: int, device: str) -> HostTensor:
        return HostTensor(self.array)

    def set_(self, *place: object) -> None:
        """The interpreter's copy is this array."""

    def copy_(self, other: HostTensor) -> None:
        """Results are here already."""

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return tuple(int(length) for length in self.array.shape)

    def stride(self) -> tuple[int, ...]:
        return tuple(int(step) // self.array.itemsize for step in self.array.strides)


def _inputs(tool: str, kernel: str) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """The arrays of a kernel, the output last, and what is right."""
    random = np.random.default_rng(0)
    size, shape = SIZES[tool]
    if kernel == "softmax":
        x = random.standard_normal(shape).astype(np.float32)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return [x, np.zeros_like(x)], e / e.sum(axis=1, keepdims=True)
    dtype = np.float16 if tool == "triton" else np.float32
    a, b = random.standard_normal((2, size, size)).astype(dtype)
    return [a, b, np.zeros((size, size), np.float32)], a.astype(np.float32) @ b.astype(np.float32)


def _triton(kernel: str, arrays: list[Any], whole: bool) -> None:
    from . import interpreted_triton as kernels

    size, (rows, columns) = SIZES["triton"]
    if kernel == "product":
        count = size // _TILE if whole else 1
        kernels.product[count, count](*arrays, size, TILE=_TILE, STEP=_STEP)
    else:
        kernels.softmax[rows if whole else 1,](*arrays, columns, BLOCK=1024)


def _numba(kernel: str, arrays: list[Any], whole: bool) -> None:
    from . import interpreted_numba as kernels

    size, (rows, _) = SIZES["numba"]
    if kernel == "product":
        count = size // 16 if whole else 1
        kernels.product[(count, count), (16, 16)](*arrays)
    else:
        kernels.softmax[rows if whole else 1, kernels.THREADS](*arrays)


LAUNCHES: dict[str, Callable[[str, list[Any], bool], None]] = {"triton": _triton, "numba": _numba}


def seconds(tool: str, kernel: str, interpreted: bool) -> float:
    """The processor's time for the launch in this process; its results are checked."""
    arrays, right = _inputs(tool, kernel)
    arguments: list[Any] = [*arrays]
    if tool == "triton" and interpreted:
        arguments = [HostTensor(array) for array in arrays]
    context: Any = nullcontext()
    if not interpreted:
        import ptxlab

        context = ptxlab.simulating(show=False)
    with context:
        LAUNCHES[tool](kernel, arguments, False)
        start = time.process_time()
        LAUNCHES[tool](kernel, arguments, True)
        taken = time.process_time() - start
    np.testing.assert_allclose(arrays[-1], right, rtol=1e-3, atol=1e-3)
    return taken


def _in_a_process(tool: str, kernel: str, interpreted: bool) -> float:
    settings = TOOLS[tool] if interpreted else {}
    command = [sys.executable, "-m", "benchmarks.interpreters", tool, kernel, str(int(interpreted))]
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{tool}, {kernel}: {done.stderr.strip()[-2000:]}")
    return round(float(done.stdout), 3)


def main() -> None:
    if len(sys.argv) == 4:  # as `_in_a_process` calls it
        tool, kernel, interpreted = sys.argv[1:]
        print(seconds(tool, kernel, interpreted == "1"))
        return
    results: list[dict[str, Any]] = []
    for tool, settings in TOOLS.items():
        (setting,) = (f"{name}={value}" for name, value in settings.items())
        for kernel in KERNELS:
            size, (rows, columns) = SIZES[tool]
            what = f"{size} x {size} x {size}" if kernel == "product" else f"{rows} x {columns}"
            others, ours = (_in_a_process(tool, kernel, interpreted) for interpreted in (True, False))
            results.append({"kernel": f"{tool}, {kernel} of {what}", setting: others, "ptxlab": ours})
            print(
                f"{tool}, {kernel} of {what}: {others:.2f} s with {setting}, {ours:.2f} s in ptxlab, "
                f"{others / ours:.1f} times as fast",
                flush=True,
            )
    if "--record" in sys.argv:
        keep({"interpreters": {"on": processor(), "rows": results}})


if __name__ == "__main__":
    main()
