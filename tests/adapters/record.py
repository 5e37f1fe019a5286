"""Records the PTX of the kernels here, for tests without the frameworks: python -m tests.adapters.record

It needs Triton and Numba. Names of folders and debug sections are left out; what NVVM 13.4 calls PTX 9.4 is
marked as 9.0, so that drivers of CUDA 13.0 take it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numba
from numba import cuda

import ptxlab
from tests.adapters import numba_kernels, triton_kernels
from tests.adapters.test_recorded import CASES

FOLDER = Path(__file__).parent / "ptx"


def _plain(ptx: str) -> str:
    ptx = re.sub(r"\t\.section\t\.debug_\w+\s*\{.*?\n\t\}", "", ptx, flags=re.DOTALL)
    ptx = re.sub(r'(\.file\s+\d+ )".*?([^/"]+)"', r'\1"\2"', ptx)
    ptx = ptx.replace(".version 9.4", ".version 9.0")
    return "\n".join(line.rstrip() for line in ptx.splitlines()).rstrip("\n") + "\n"


def main() -> None:
    for name, case in CASES.items():
        arguments = case.arguments()
        if name == "numba_add":
            f32 = numba.float32[::1]
            ptx, _ = cuda.compile_ptx(
                numba_kernels.add.py_func, (f32, f32, f32, numba.float32), cc=(9, 0), lineinfo=True
            )
        else:
            with ptxlab.simulating(show=False):
                given = [each for each in arguments if each is not None]
                compiled = getattr(triton_kernels, name).warmup(*given, *case.constants, grid=case.grid)
                ptx = compiled.asm["ptx"]
                assert (compiled.metadata.shared, 32 * compiled.metadata.num_warps) == (
                    case.shared,
                    case.block,
                )
        (FOLDER / f"{name}.ptx").write_text(_plain(ptx))


if __name__ == "__main__":
    main()
