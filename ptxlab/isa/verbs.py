"""The verbs of instructions: emulate, run, trace, figure, explore, kernel, sass, and a call with matrices.

A form declares what the PTX ISA says; what runs or draws it is in packages above, which a verb loads when it
is called. So `import ptxlab` needs only NumPy and ml_dtypes. The contracts in `pyproject.toml` name this
module and the two kinds of transfers as those that may import upwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numpy.typing import ArrayLike, NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError, quoted
from .form import Form
from .modifiers import Modifiers
from .operation import Operation
from .product_form import ProductForm

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..explorer import Explorer
    from ..gpu.sass import Sass
    from ..numerics.steps import Trace


class ExecutableForm(Form):
    """What every instruction of `ptxlab.instruction` has: its line of PTX, a kernel, and machine code.

    >>> import ptxlab
    >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x2.b16")
    >>> isinstance(ldmatrix, ExecutableForm), ldmatrix.ptx
    (True, 'ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%p];')
    """

    _TARGET: ClassVar[str] = "sm_90a"  # the default target of its code

    @property
    def kernel(self) -> str:
        """CUDA C++ source of the kernel that `run` compiles, with the one instruction in it.

        Lanes load registers, it runs, and lanes store registers; ldmatrix and other transfers read or write
        memory, and for tcgen05 words go to tensor memory and back.
        """
        from ..gpu.codegen import source

        return source(self)

    @property
    def ptx(self) -> str:
        """The instruction with its operand list, registers named as in the manual."""
        from ..gpu.codegen import ptx_line

        return ptx_line(self)

    def ptx_module(self, target: str | None = None) -> str:
        """A whole PTX module with the instruction: the `.version` that it needs, `.target`, loads, stores.

        The default target is sm_90a, and sm_100a for tcgen05.
        """
        from ..gpu.codegen import ptx_module

        return ptx_module(self, self._TARGET if target is None else target)

    def sass(self, target: str | None = None) -> Sass:
        """The machine code for a target: its tensor-core instructions, and how many others surround them.

        The default target is sm_90a, and sm_100a for tcgen05.

        >>> import ptxlab
        >>> print(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16").sass())
        native: 1 UTCHMMA.2CTA
        >>> print(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.shared.b16").sass())
        native: 1 LDSM.16.M88.4
        """
        from ..gpu.sass import sass

        return sass(self, self._TARGET if target is None else target)


class ShownForm(ExecutableForm):
    """What every instruction with matrices has: figures, and the Explorer.

    >>> import ptxlab
    >>> isinstance(ptxlab.instruction("movmatrix"), ShownForm)
    True
    >>> isinstance(ptxlab.instruction("tcgen05.wait::ld.sync.aligned"), ShownForm)
    False
    """

    def figure(self, what: str | None = None, *, title: bool = True, **options: Any) -> Any:
        """A Plotly figure of the product, of a matrix where it is, of metadata or scales, a lane, a trace.

        `what` is "product", "A", "B", "C", "D", "stored", "metadata", "scales", "lane" or "trace"; of
        tcgen05.mma also "E", "SFA", "SFB" and "descriptor". Of ldmatrix and other transfers it is their
        registers, as the manual draws them, or "lane"; of tcgen05.ld and .st the registers "R", of cp the
        lanes "T" that it writes. `ptxlab.figures.figure` lists the options; `title=False` leaves out title
        and notes, for papers.

        >>> import ptxlab
        >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
        >>> ldmatrix.figure("lane", lane=5).layout.meta["title"]
        'R in lane 5 of ldmatrix.sync.aligned.m8n8.x4.shared.b16'
        >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
        >>> ins.figure("D", colour="warp", marked=(20, 3)).layout.meta["title"]
        'D of tcgen05.mma.cta_group::1.kind::f16 m64n32k16'
        """
        from ..figures import figure

        return figure(self, what, title=title, **options)

    def explore(self, **options: Any) -> Explorer:
        """The Explorer widget on this instruction, as `ptxlab.explore` opens it."""
        from ..explorer import explore

        return explore(self, **options)


class MatrixInstruction(ShownForm, ProductForm):
    """The methods of every instruction that multiplies matrices: `Instruction` and `TensorInstruction`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
    >>> isinstance(ins, MatrixInstruction)
    True
    """

    def emulate(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        e: ArrayLike | None = None,
        *,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        model: str | None = None,
        executor: Executor | None = None,
        **modifiers: int | bool,
    ) -> NDArray[Any]:
        """Registers of D from registers of A, B, C, bit for bit as the chip `model` computes them.

        Operands of tcgen05.mma are words of tensor memory, or matrices of codes in shared memory.

        Any batch axes. `executor` is anything like those of `concurrent.futures`: a large batch goes to its
        workers, in processes or on other machines.

        The default model is "sm_90" if that chip has the instruction, and "sm_100" for tcgen05.mma. Modifiers
        (`selector`, `scale_d`, `enable_input_d`, ...) are those of `ptxlab.isa.modifiers.Modifiers`.
        """
        from ..numerics.emulate import emulate

        operation = Operation.of(self, a, b, c, e, scale_a, scale_b, Modifiers.from_keywords(modifiers))
        return emulate(operation, model=model, executor=executor)

    def run(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        e: ArrayLike | None = None,
        *,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        stream: object = None,
        **modifiers: int | bool,
    ) -> Any:
        """The same as `emulate`, on the GPU: one launch for the whole batch.

        Arrays that are there (CuPy's, torch's, any with DLPack or `__cuda_array_interface__`) are read where
        they are, on their library's current stream or on `stream`, and D is an array of the same library and
        type as `c`; nothing waits. For NumPy arrays D is one too. ::

            c = torch.zeros(1000, 32, 4, dtype=torch.int32, device="cuda")
            d = ins.run(a, b, c)   # a tensor of int32 beside them

        Operands of tcgen05.mma are words of tensor memory instead of registers.
        """
        from ..gpu import run
        from ..gpu.runner import run_arrays

        arrays = {"a": a, "b": b, "c": c, "e": e, "scale_a": scale_a, "scale_b": scale_b}
        chosen = Modifiers.from_keywords(modifiers)
        d = run_arrays(self, arrays, chosen, stream)
        return run(Operation.of(self, a, b, c, e, scale_a, scale_b, chosen)) if d is None else d

    def __call__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        on: Literal["emulator", "gpu"] = "emulator",
        model: str | None = None,
        **modifiers: int | bool,
    ) -> Any:
        """D = A B + C for whole matrices of values. A sparse instruction takes dense A and compresses it.

        With ``on="gpu"`` the matrices may be on the GPU already, as `ptxlab.matmul` takes them.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> ins(np.ones((16, 64)), np.ones((64, 8)))[0, :3]
        array([64, 64, 64], dtype=int32)
        """
        if not is_name(on, ("emulator", "gpu")):
            raise PtxlabError(f"on={quoted(on)}: it runs on 'emulator' or on 'gpu'")
        if on == "gpu" and model is not None:
            raise PtxlabError(
                f"model={quoted(model)}: only the emulator (on='emulator') has models to choose from"
            )
        if on == "gpu":
            from ..gpu.arrays import is_on_gpu

            if is_on_gpu(A):
                from ..gemm.matmul import multiply_on_gpu

                return multiply_on_gpu(self, A, B, C, scale_a, scale_b, modifiers)
        chosen = Modifiers.from_keywords(modifiers)
        operation = Operation.from_matrices(self, A, B, C, scale_a, scale_b, chosen)
        if on == "gpu":
            from ..gpu import run

            return self.d.unpack(run(operation))
        from ..numerics.emulate import emulate

        d = emulate(operation, model=model)
        return self.d.dtype.decode_array(self.d.from_registers(d))

    def trace(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None,
        row: int,
        col: int,
        *,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        model: str | None = None,
        **modifiers: int | bool,
    ) -> Trace:
        """Why D[row][col] has its bits: products, alignment, what is cut off, sum and rounding.

        Print it, or read its data.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> trace = ins.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), None, 0, 0)
        >>> trace.steps[0].top, trace.steps[0].grain, hex(trace.code)   # 25 bits are kept below 2^-3
        (-3, -28, '0x40999000')
        """
        from ..numerics.trace import trace

        chosen = Modifiers.from_keywords(modifiers)
        operation = Operation.from_matrices(self, A, B, C, scale_a, scale_b, chosen)
        return trace(operation, row, col, model=model)
