"""The public instruction classes: forms of the ISA, with methods that emulate, run, trace and draw them.

The forms themselves (`ptxlab.isa`) are only declarations. The methods here load the package that does the
work when they are called, so `import ptxlab` needs only NumPy and ml_dtypes. This module and
`ptxlab/__init__.py` are the only ones that import upwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from numpy.typing import ArrayLike, NDArray

from ._util.arguments import is_name
from .errors import PtxlabError, quoted
from .isa import catalog as _catalog
from .isa.form import PUBLIC_CLASSES, Form
from .isa.mma import MmaForm
from .isa.modifiers import Modifiers
from .isa.operation import Operation
from .isa.parse import parse_any, parse_mma
from .isa.product_form import ProductForm
from .isa.transfer import TransferForm

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .explorer import Explorer
    from .gpu.sass import Sass
    from .memory import Conflicts
    from .tcgen05_instruction import TensorControl, TensorInstruction, TensorTransfer
    from .views import TraceView

__all__ = [
    "AnyInstruction",
    "ExecutableForm",
    "Instruction",
    "MatrixInstruction",
    "ShownForm",
    "Transfer",
    "catalog",
    "explore",
    "instruction",
    "mma_instruction",
    "mma_instructions",
    "register_instructions",
]


PUBLIC_CLASSES.update(
    MmaForm=(__name__, "Instruction"),
    TransferForm=(__name__, "Transfer"),
    Tcgen05Mma=("ptxlab.tcgen05_instruction", "TensorInstruction"),
    Tcgen05Transfer=("ptxlab.tcgen05_instruction", "TensorTransfer"),
    Tcgen05Control=("ptxlab.tcgen05_instruction", "TensorControl"),
)


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
        from .gpu.codegen import source

        return source(self)

    @property
    def ptx(self) -> str:
        """The instruction with its operand list, registers named as in the manual."""
        from .gpu.codegen import ptx_line

        return ptx_line(self)

    def ptx_module(self, target: str | None = None) -> str:
        """A whole PTX module with the instruction: the `.version` that it needs, `.target`, loads, stores.

        The default target is sm_90a, and sm_100a for tcgen05.
        """
        from .gpu.codegen import ptx_module

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
        from .gpu.sass import sass

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
        from .figures import figure

        return figure(self, what, title=title, **options)

    def explore(self, **options: Any) -> Explorer:
        """The Explorer widget on this instruction, as `ptxlab.explore` opens it."""
        from .explorer import explore

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
        from .numerics.emulate import emulate

        chosen = Modifiers.from_keywords(modifiers)
        operation = Operation.of(self, a, b, c, e, scale_a, scale_b, chosen)
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
        from .gpu import run
        from .gpu.runner import run_arrays

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
            from .gpu.arrays import is_on_gpu

            if is_on_gpu(A):
                return self._on_gpu(A, B, C, scale_a, scale_b, modifiers)
        operands = Operation.from_matrices(
            self, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers)
        )
        if on == "gpu":
            from .gpu import run

            return self.d.unpack(run(operands))
        from .numerics.emulate import emulate

        return self.d.dtype.decode_array(self.d.from_registers(emulate(operands, model=model)))

    def _on_gpu(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None,
        scale_a: ArrayLike | None,
        scale_b: ArrayLike | None,
        modifiers: dict[str, int | bool],
    ) -> Any:
        """D for matrices that are on the GPU: the product of just this size."""
        from .gemm.matmul import matmul

        if not isinstance(self, Instruction):
            raise PtxlabError(f"{self.mnemonic}: it takes no matrices that are on the GPU; pass NumPy arrays")
        if modifiers or self.mma_count > 1:
            raise PtxlabError(
                f"{self.mnemonic}: on matrices that are on the GPU it takes no modifiers, and not four "
                "products at once; pass NumPy arrays, or registers to ins.run"
            )
        for name, matrix, shape in (("A", A, (self.m, self.k)), ("B", B, (self.k, self.n))):
            actual = tuple(getattr(matrix, "shape", ()))
            if actual != shape:
                raise PtxlabError(
                    f"{name}: found shape {actual}; {self.mnemonic} takes {shape}, and ptxlab.matmul any size"
                )
        return matmul(A, B, C, self, scale_a=scale_a, scale_b=scale_b, on="gpu")

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
    ) -> TraceView:
        """Why D[row][col] has its bits: products, alignment, what is cut off, sum and rounding.

        Print it, or read its data.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> trace = ins.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), None, 0, 0)
        >>> trace.steps[0].top, trace.steps[0].grain, hex(trace.code)   # 25 bits are kept below 2^-3
        (-3, -28, '0x40999000')
        """
        from .numerics.trace import trace
        from .views import TraceView

        operands = Operation.from_matrices(
            self, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers)
        )
        return TraceView.of(trace(operands, row, col, model=model))


class Instruction(MatrixInstruction, MmaForm):
    """An instruction that multiplies matrices.

    Get one with `ptxlab.instruction(text)` or from `ptxlab.catalog()`.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> A = ins.prune(np.tile(np.arange(8), (16, 8)))   # 4:8 sparsity: pairs of 4, 5, 6, 7 stay
    >>> stored, nibbles = ins.compress(A)
    >>> B, C = np.ones((64, 8)), np.zeros((16, 8))
    >>> d = ins.emulate(ins.a.pack(stored), ins.b.pack(B), ins.c.pack(C), ins.e.pack_codes(nibbles))
    >>> ins.d.unpack(d)[0, :2]   # 8 * (4 + 5 + 6 + 7)
    array([176, 176], dtype=int32)
    >>> ins(A, np.ones((64, 8)))[0, :2]   # the same from whole matrices
    array([176, 176], dtype=int32)
    """


class Transfer(ShownForm, TransferForm):
    """An instruction that transfers a matrix: ldmatrix, stmatrix, movmatrix, wmma.load or wmma.store.

    >>> import numpy as np, ptxlab
    >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")
    >>> memory = np.arange(64, dtype=np.uint16)
    >>> [hex(register) for register in ldmatrix.emulate(memory, ldmatrix.addresses())[:5, 0]]
    ['0x10000', '0x30002', '0x50004', '0x70006', '0x90008']
    """

    def emulate(self, *arguments: ArrayLike, stride: int | None = None, offset: int = 0) -> NDArray[Any]:
        """What the instruction does, with any leading batch axes; `inputs` names its arguments.

        ldmatrix (memory, addresses) -> registers; stmatrix (registers, addresses, memory) -> memory;
        movmatrix (registers) -> registers; wmma.load (memory) -> registers and wmma.store (registers, memory)
        -> memory, whose matrix starts at the byte `offset` with `stride` elements from one row (column) to
        the next. Memory is an array [..., size] of bytes, or of elements as they lie there; addresses are
        bytes from its start, [..., 32].
        """
        from .numerics.transfer import emulate

        return emulate(self, arguments, stride, offset)

    def run(
        self, *arguments: ArrayLike, stride: int | None = None, offset: int = 0, code: str | None = None
    ) -> NDArray[Any]:
        """The same as `emulate`, on the GPU.

        `code` is a source that has this kernel among others, to compile many at once.
        """
        from .gpu import run_transfer

        return run_transfer(self, arguments, stride, offset, code)

    def conflicts(self, addresses: ArrayLike) -> Conflicts:
        """Bank conflicts of ldmatrix or stmatrix for these row addresses, [..., 32], in shared memory.

        >>> import ptxlab
        >>> ldmatrix = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
        >>> print(ldmatrix.conflicts(ldmatrix.addresses(stride=128)))   # rows of 128 bytes, no swizzle
        32 wavefronts where 4 would do: 8 lanes want 8 different words of bank 0.
        """
        from .memory.banks import transfer_conflicts

        if not self.address_lanes:
            raise PtxlabError(f"{self.mnemonic} takes no row addresses; ldmatrix and stmatrix do")
        return transfer_conflicts(self, addresses)


#: The type of what `instruction` returns.
AnyInstruction: TypeAlias = "Instruction | Transfer | TensorInstruction | TensorTransfer | TensorControl"


def instruction(text: str | Form, *, descriptor: int | None = None, **parts: object) -> AnyInstruction:
    """The instruction of that PTX spelling; a trailing operand list and stray white space do no harm.

    The shape and the types of tcgen05.mma are in its instruction descriptor: give its parts (`m`, `n`, `a`,
    `b`, `d`, ... of `InstructionDescriptor`) or, as `descriptor`, its 32 bits. What is left out is the
    plainest.

    >>> instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32").selectors
    (0, 1)
    >>> instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=256, a="f16", b="f16", d="f32")
    <tcgen05.mma.cta_group::1.kind::f16 m128n256k16.f32.f16.f16>
    """
    form = parse_any(text, descriptor=descriptor, **parts)
    if TYPE_CHECKING:
        assert isinstance(form, AnyInstruction)
    return form


def mma_instruction(text: str | Form) -> Instruction:
    """As `instruction`, for those that multiply matrices; ldmatrix and the other transfers are an error."""
    form = parse_mma(text)
    assert isinstance(form, Instruction)
    return form


def catalog(family: str | None = None, target: str | None = None) -> tuple[AnyInstruction, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    ``"tcgen05"`` stands for all of its families. A row of tcgen05.mma stands for its mnemonic and has the
    plainest descriptor; `shapes` has the others, `collectors` its hints.

    >>> [ins.mnemonic for ins in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    >>> catalog("movmatrix")
    (<movmatrix.sync.aligned.m8n8.trans.b16>,)
    >>> len(catalog(family="tcgen05.mma", target="sm_100a"))
    36
    """
    from . import tcgen05_instruction as tensor

    classes = Instruction, Transfer, tensor.TensorInstruction, tensor.TensorTransfer, tensor.TensorControl
    return tuple(form for form in _catalog.catalog(family, target) if isinstance(form, classes))


def register_instructions(
    family: str | None = None, target: str | None = None
) -> tuple[Instruction | Transfer, ...]:
    """Those of the catalogue with matrices in registers: all but tcgen05.

    >>> {ins.lanes for ins in register_instructions(target="sm_75")}
    {32}
    """
    rows = _catalog.register_forms(family, target)
    return tuple(form for form in rows if isinstance(form, Instruction | Transfer))


def mma_instructions(family: str | None = None, target: str | None = None) -> tuple[Instruction, ...]:
    """Those of the catalogue that multiply matrices.

    >>> {len(ins.operands) for ins in mma_instructions("mma")}   # A, B, C, D, and two block scales
    {4, 6}
    """
    return tuple(form for form in _catalog.mma_forms(family, target) if isinstance(form, Instruction))


def explore(
    ins: Instruction
    | Transfer
    | TensorInstruction
    | TensorTransfer
    | str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    **options: Any,
) -> Explorer:
    """The Explorer widget on an instruction, or on a link that somebody sent (`ex.link`).

    Edit matrices and registers, see D. Without an instruction it opens on mma m16n8k16 with f16 and f32.

    `A`, `B`, `C` are its first matrices; `seed` is that of its random fills. `height` is the number of pixels
    that it may take, to leave room for something else on the screen; otherwise it takes what the notebook
    shows at once. Of tcgen05.mma it takes parts of the descriptor, or all of it, as `instruction` does; of
    tcgen05.ld, .st, .cp and .shift, which read A and leave D, `address` and `split`, as `emulate` does.
    ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store read A and leave D, too: memory or registers.

    A name that says too little, such as "mma.m16n8k16.f16" or "tcgen05.mma", opens the picker with what it
    may mean; until one is chosen, `ex.instruction` is the first of these. `ptxlab.instruction` refuses it.

    >>> import numpy as np
    >>> name = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
    >>> ex = explore(name, A=np.ones((16, 64)), B=np.ones((64, 8)))
    >>> int(ex.D[0, 0])
    64
    >>> bool((explore(ex.link).D == ex.D).all())
    True
    """
    from .explorer import explore
    from .isa.instruction_descriptor import InstructionDescriptor

    names = {"descriptor", *InstructionDescriptor.__dataclass_fields__} - {"kind", "sparse"}
    parts = {name: options.pop(name) for name in names & options.keys()}
    return explore(parse_any(ins, **parts) if parts else ins, **options)
