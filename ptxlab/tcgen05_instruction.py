"""The instructions of tcgen05 that users hold; `ptxlab.instruction` has the others and loads these."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .instruction import ExecutableForm, MatrixInstruction, ShownForm
from .isa.tcgen05 import Tcgen05Control, Tcgen05Mma, Tcgen05Transfer

__all__ = ["TensorControl", "TensorInstruction", "TensorTransfer"]


class TensorInstruction(MatrixInstruction, Tcgen05Mma):
    """One form of tcgen05.mma.

    An operand in shared memory (B, and A unless `a_space` is "tensor") is the matrix of its codes. One in
    tensor memory (C and D, the metadata, the scales) is 32-bit words, [..., 128 lanes, columns], or 256 lanes
    for a CTA pair, as its `pack` and `unpack` convert.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32, a="f16", b="f16", d="f32")
    >>> A, B, C = np.full((64, 16), 0.5), np.ones((16, 32)), np.full((64, 32), 3)
    >>> d = ins.emulate(ins.a.pack(A), ins.b.pack(B), ins.c.pack(C))
    >>> d.shape, ins.d.unpack(d)[0, :2]   # D of M = 64 leaves lanes 16 to 31 of every 32 free
    ((128, 32), array([11., 11.], dtype=float32))
    >>> ins(A, B, C)[0, :2]   # the same from whole matrices
    array([11., 11.], dtype=float32)
    >>> ins(A, B, C, enable_input_d=False)[0, :2]
    array([8., 8.], dtype=float32)
    """

    _TARGET = "sm_100a"


class TensorTransfer(ShownForm, Tcgen05Transfer):
    """An instruction that moves data to or from tensor memory: tcgen05.ld, .st, .cp or .shift.

    >>> import numpy as np, ptxlab
    >>> load = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> words = np.arange(128 * 8, dtype=np.uint32).reshape(128, 8)   # lanes by columns
    >>> load.emulate(words)[5]   # thread 5: lanes 1 and 9
    array([10, 11, 74, 75], dtype=uint32)
    """

    _TARGET = "sm_100a"

    def emulate(
        self, *arguments: Any, address: int = 0, split: int | None = None
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        """What the instruction does when all four warps of a warpgroup execute it.

        ld (words) -> registers [..., 128, registers]; ld.red -> those and their reduction, [..., 128];
        ld.spcompress -> metadata, kept values, and with .red the reduction; st (registers, words) -> words;
        cp (shared memory, descriptor, words) -> words; shift (words) -> words. Words are tensor memory from
        column 0 on, [..., 128, columns]; `address` is where the instruction begins there, `split` the
        `immHalfSplitoff` of 16x32bx2. What the PTX ISA leaves open, `assumptions` says.
        """
        from .numerics.tcgen05_transfer import emulate

        return emulate(self, arguments, address, split)

    def run(
        self, *arguments: Any, address: int = 0, split: int | None = None
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        """The same as `emulate`, on the GPU: 128 threads, and one launch for the whole batch."""
        from .gpu.runner import run_tensor_transfer

        return run_tensor_transfer(self, arguments, address, split)


class TensorControl(ExecutableForm, Tcgen05Control):
    """An instruction around those in tensor memory: tcgen05.alloc, .dealloc, .commit, .fence, .wait, ...

    >>> import ptxlab
    >>> ptxlab.instruction("tcgen05.wait::ld.sync.aligned").purpose
    'waits until tcgen05.ld or tcgen05.st is complete'
    """

    _TARGET = "sm_100a"
