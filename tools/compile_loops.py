"""python -m tools.compile_loops: let numba compile the loops of the emulator, for all processes of the tests.

It takes 18 seconds of a processor, which every worker and kernel would spend again if they began together.
"""

from __future__ import annotations

from ptxlab import PtxlabError
from ptxlab.instruction import mma_instructions
from ptxlab.numerics.compiled import backend
from ptxlab.numerics.emulate import emulate
from ptxlab.verify import inputs


def main() -> None:
    forms = {
        (ins.n, ins.a.dtype.bits, ins.a_type == "f16", ins.c_type, ins.d_type, ins.sparse, ins.kind): ins
        for ins in reversed(mma_instructions())
        if ins.n in (8, 64) and ins.a.dtype.is_float
    }
    try:
        with backend("numba"):
            for ins in forms.values():
                emulate(inputs.make(ins, inputs.categories(ins)[0], 2))
    except PtxlabError:
        pass  # numba is not installed: NumPy computes


if __name__ == "__main__":
    main()
