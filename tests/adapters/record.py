"""Records the PTX of the kernels here, for tests without the frameworks: python -m tests.adapters.record

It needs Triton, Numba, CuTe DSL, Warp, TileLang and cuTile, or records with those that are installed. Names
of folders, debug sections, variables that nobody uses and other entries are left out; PTX later than 9.0 is
marked as 9.0, and has no `.language`, so that drivers of CUDA 13.0 take it. With --gpu it runs the recorded
kernels on a GPU and keeps digests of their bytes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab.adapters.framework_session import Session
from tests.adapters.test_recorded import CASES, FOLDER, digest, launched


def _plain(ptx: str, entry: str = "") -> str:
    ptx = re.sub(r"\t\.section\s+\.debug_\w+\s*\{.*?\n\s*\}", "", ptx, flags=re.DOTALL)
    ptx = re.sub(r'(\.file\s+\d+ )".*?([^/"]+)"', r'\1"\2"', ptx)
    ptx = re.sub(r", function_name \$[^\n]*", "", ptx)  # names that stood in those sections
    ptx = re.sub(r"\.version 9\.[1-9]", ".version 9.0", ptx)
    ptx = re.sub(r"\.language \d+\n|\.nv_intermediate_source_section.*", "", ptx, flags=re.DOTALL)
    if entry:
        ptx = re.sub(rf"\.visible \.entry (?!{re.escape(entry)}\b)\w+\(.*?\n\}}", "", ptx, flags=re.DOTALL)
        variable = re.compile(r"^\.(?:visible )?\.?(?:global|const|shared) .*?(\w+)(?:\[\d*\])?(?: = .*)?;$")
        names = ((line, variable.match(line)) for line in ptx.splitlines())
        ptx = "\n".join(
            line for line, match in names if match is None or len(re.findall(rf"\b{match[1]}\b", ptx)) > 1
        )
    return "\n".join(line.rstrip() for line in ptx.splitlines()).rstrip("\n") + "\n"


def _triton(name: str) -> str:
    from tests.adapters import triton_kernels

    case = CASES[name]
    with ptxlab.simulating(show=False):
        given = [argument for argument in case.arguments() if argument is not None]
        compiled = getattr(triton_kernels, name).warmup(*given, *case.constants, grid=case.grid)
    assert (compiled.metadata.shared, 32 * compiled.metadata.num_warps) == (case.shared, case.block)
    return _plain(compiled.asm["ptx"])


def _numba() -> str:
    import numba
    from numba import cuda

    from tests.adapters import numba_kernels

    f32 = numba.float32[::1]
    types = (f32, f32, f32, numba.float32)
    return _plain(cuda.compile_ptx(numba_kernels.add.py_func, types, cc=(9, 0), lineinfo=True)[0])


def _cute_add() -> None:
    from cutlass.cute.runtime import from_dlpack

    from tests.adapters import cute_kernels

    arrays = (np.zeros(1000, np.float32) for _ in range(3))
    cute_kernels.add(*(from_dlpack(array).mark_layout_dynamic() for array in arrays))


def _cute_copy() -> None:
    from cutlass.cute.runtime import from_dlpack

    from tests.adapters import cute_kernels

    cute_kernels.copy(*(from_dlpack(np.zeros((32, 64), np.float32)) for _ in range(2)))


def _warp() -> None:
    import warp as wp

    from tests.adapters.test_warp import scaled_add

    wp.launch(scaled_add, dim=1000, inputs=[wp.zeros(1000, dtype=float), wp.zeros(1000, dtype=float), 2.0])


def _tilelang() -> None:
    import torch

    from tests.adapters.test_tilelang import product

    product(128, 64, 192)(torch.zeros(128, 192).half(), torch.zeros(192, 64).half())


def _cutile_add() -> None:
    import cuda.tile as ct

    from tests.adapters.test_cutile import add

    arrays = (np.zeros(1000, np.float32) for _ in range(3))
    ct.launch(None, (8,), add, (*arrays, 128))


def _launch_of(run: Callable[[], None], name: str) -> str:
    """The PTX of the only launch of a function, which is made as in `CASES`."""
    seen: list[tuple[Any, ...]] = []
    former = Session.simulate
    Session.simulate = lambda self, *launch: seen.append(launch)  # type: ignore[method-assign]
    try:
        with ptxlab.simulating(show=False):
            run()
    finally:
        Session.simulate = former  # type: ignore[method-assign]
    ((kernel, grid, block, _, shared, *_),) = seen
    case = CASES[name]
    assert (np.prod(grid), np.prod(block), shared) == (np.prod(case.grid), case.block, case.shared)
    return _plain(kernel.ptx, kernel.name)


_LAUNCHES = {
    "cute_add": ("cutlass", _cute_add),
    "cute_copy": ("cutlass", _cute_copy),
    "warp_scaled_add": ("warp", _warp),
    "tilelang_product": ("tilelang", _tilelang),
    "cutile_add": ("cuda.tile", _cutile_add),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--gpu", type=Path, metavar="FILE", help="write digests, e.g. tests/adapters/ptx/h200.json"
    )
    to = parser.parse_args().gpu
    if to is not None:
        to.write_text(json.dumps({name: digest(launched(name)) for name in CASES}, indent=1) + "\n")
        return
    for name in CASES:
        framework, run = _LAUNCHES.get(name, ("numba" if name == "numba_add" else "triton", None))
        try:
            installed = find_spec(framework) is not None
        except ModuleNotFoundError:  # its package
            installed = False
        if not installed:
            print(f"{name}: {framework} is not installed")
            continue
        if run is not None:
            ptx = _launch_of(run, name)
        else:
            ptx = _numba() if framework == "numba" else _triton(name)
        (FOLDER / f"{name}.ptx").write_text(ptx)


if __name__ == "__main__":
    main()
