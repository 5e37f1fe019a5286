"""python -m tools.compile_loops: let numba compile the loop of the emulator, for all processes of the tests.

It takes 8 seconds of a processor, which every worker and kernel would spend again if they began together.
"""

from __future__ import annotations

from ptxlab import PtxlabError, inputs
from ptxlab.instruction import mma_instruction
from ptxlab.numerics.emulate import emulate
from ptxlab.numerics.fused_dispatch import backend


def main() -> None:
    ins = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")  # as for all others
    try:
        with backend("numba"):
            emulate(inputs.make(ins, "moderate", 2))
    except PtxlabError:
        pass  # numba is not installed: NumPy computes


if __name__ == "__main__":
    main()
